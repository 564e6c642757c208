"""A guarantee in plain words: its meaning for one person in odds, in beliefs and in the power of a test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from .errors import InvalidInput, InWords, Unsupported, WrongType, named
from .exact.integers import positive_integer
from .exact.rationals import Number, as_fraction, bound_up, claimed, exp_bounds, float_up, text_up
from .mechanism import Mechanism
from .privacy.certificate import Certificate
from .privacy.verify import verify
from .report import Bullets, Code, Fact, Json, Prose, Report, Result, Section, plain, stamped
from .spaces import Space, completed
from .wording import percent

_TESTS = (
    "A test that accepts 5% false alarms detects the person with the probability below at most (Wasserman and Zhou "
    "2010; Kairouz, Oh and Viswanath 2015)."
)
_DETECTION = "detection     <=  min(0.05 e^epsilon + delta, 1 - (0.95 - delta) e^-epsilon)"

#: The bound on beliefs: Bayes' rule gives one only if no report has a larger ratio, so without a delta.
_BELIEFS = "Bayes' rule multiplies odds by a ratio of probabilities, and no ratio is above e^epsilon."
_BELIEF = "belief p     ->  p e^epsilon / (1 - p + p e^epsilon)"
_NO_BELIEFS = "Without an epsilon that holds for every single report no bound on a belief follows."

#: The reader for whom odds are bounded. A count is about others too: a reader who does not know them may learn about
#: one person from them.
_READER = {
    "central": "For someone who knows everyone else's data",
    "local": "Whatever someone knew before",
    "metric": "Whatever someone knew before",
}

#: Largest epsilon for which an odds ratio is shown.
_MAX_SHOWN_EPSILON = 60.0


@dataclass(frozen=True)
class Explanation(Result):
    """A guarantee in words. ``str()`` returns all sentences.

    Attributes
    ----------
    epsilon, delta
        The guarantee.
    odds_ratio
        e^epsilon: the largest factor of a report on the odds of a statement about one person (rounded up).
    prior, posterior
        Someone who believed the statement with probability ``prior`` believes it with at most ``posterior`` afterwards.
    sentences
        The sentences, in reading order.

    Examples
    --------
    >>> import discreet as dc
    >>> words = dc.explain(dc.geometric(8, alpha="1/3"), prior="1/10")
    >>> words.odds_ratio, words.prior, words.posterior
    (3.0, 0.1, 0.25)
    """

    epsilon: float
    delta: float
    odds_ratio: float
    prior: float
    posterior: float
    sentences: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        """Return the figures and the sentences, as plain JSON values; an infinite number is written "infinity"."""
        content: dict[str, Json] = {
            "epsilon": plain(self.epsilon),
            "delta": self.delta,
            "odds_ratio": plain(self.odds_ratio),
            "prior": self.prior,
            "posterior_at_most": self.posterior,
            "sentences": list(self.sentences),
        }
        return stamped("explanation", 1, content)

    def report(self) -> Report:
        """Return the sentences; on a page also the key figures and the formulas."""
        with_delta = f", with δ = {text_up(self.delta, 3)}" if self.delta else ""
        facts = [Fact(f"ε = {text_up(self.epsilon, 4)}", f"privacy{with_delta}")]
        if math.isfinite(self.odds_ratio) and not self.delta:
            believed = f"at most, for somebody who believed {percent(self.prior)} before"
            facts.append(Fact(f"× {fold(self.odds_ratio)}", "the most that odds can change"))
            facts.append(Fact(f"{text_up(100 * self.posterior, 3)}%", f"belief afterwards, {believed}"))
        return Report(
            "What the guarantee means",
            "Explanation",
            tuple(facts),
            (
                Section(parts=(Bullets(self.sentences),)),
                Section("The formulas", self._formulas(), "folded"),
            ),
        )

    def _formulas(self) -> tuple[Prose, Code]:
        """Return the formulas that apply: those for beliefs need an epsilon that holds for every report."""
        if self.delta or math.isinf(self.epsilon):
            return Prose(f"{_NO_BELIEFS} {_TESTS}"), Code(_DETECTION)
        return Prose(f"{_BELIEFS} {_TESTS}"), Code(f"{_BELIEF}\n{_DETECTION}")

    def describe(self) -> str:
        """Return the sentences, one on each line."""
        return str(self)

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def explain(
    subject: Mechanism | Certificate, *, prior: object = "1/2", people: int = 1, distance: Number | None = None
) -> Explanation:
    """Explain in plain words what a mechanism guarantees.

    Parameters
    ----------
    subject
        A mechanism, or its certificate.
    prior
        The probability that an attacker assigns beforehand to a statement about one person.
    people
        The largest change of the count by one person, or the number of people acting together: the guarantee is
        ``people * epsilon``.
    distance
        For the metric notion: the distance between the two values; the guarantee is ``distance * epsilon``. By default
        the distance between two neighbouring cells, or one.

    Notes
    -----
    By Bayes' rule the odds of any statement about one person's contribution to the count are multiplied by at most
    e^epsilon, for a reader who knows the other people's data, so a belief p becomes at most
    ``p e^eps / (1 - p + p e^eps)``. A test that raises a false alarm with probability 5% detects the person with
    probability at most ``min(.05 e^eps + delta, 1 - (.95 - delta) e^-eps)`` (Wasserman and Zhou 2010; Kairouz, Oh,
    Viswanath 2015). With delta > 0 no bound on a single belief follows: ``posterior`` is then 1.

    Examples
    --------
    >>> import discreet as dc
    >>> print(explain(dc.geometric(8, alpha="1/3")).sentences[1])  # doctest: +ELLIPSIS
    For someone who knows everyone else's data, ... multiplies the odds of any statement about that person by at most 3.
    """
    certificate = subject.certificate if isinstance(subject, Mechanism) else subject
    if not isinstance(certificate, Certificate):
        raise WrongType.must_be("what is explained", "a mechanism or a certificate", InWords(type(subject).__name__))
    space = subject.inputs if isinstance(subject, Mechanism) else None
    belief = as_fraction(prior, "prior")
    if not 0 < belief < 1:
        raise InvalidInput.must_be("prior", "a belief strictly between 0 and 1", prior)
    times = _times(certificate, space, positive_integer(people, "people"), distance)
    odds = _odds(certificate, times)
    posterior = 1.0
    if odds < math.inf and not certificate.delta:
        posterior = float_up(belief * Fraction(odds) / (1 - belief + belief * Fraction(odds)))
    epsilon = math.inf if math.isinf(certificate.epsilon) else _stands_for(as_fraction(certificate.epsilon) * times)
    delta = _group_delta(certificate, times)
    who = "those people" if certificate.notion == "central" and times > 1 else "that person"
    sentences = [
        _protected(certificate.notion, space, times),
        *_meaning(epsilon, delta, odds, belief, posterior, who, certificate.notion),
    ]
    if isinstance(subject, Mechanism) and math.isinf(certificate.epsilon):
        sentences.append(_how_rare(subject))
    if isinstance(subject, Mechanism) and (more := local_use(subject)):
        sentences.append(more)
    return Explanation(epsilon, delta, odds, float(belief), posterior, tuple(sentences))


def _stands_for(epsilon: Fraction) -> float:
    """Return the double that stands for this epsilon as if typed; rounded up if none does."""
    near = float(epsilon)
    return near if as_fraction(near) >= epsilon else bound_up(epsilon)


def _times(certificate: Certificate, space: Space | None, people: int, distance: Number | None) -> Fraction:
    """Return the factor of epsilon: the number of people who act together, or of units of distance."""
    if certificate.notion != "metric":
        if distance is not None:
            raise InvalidInput(
                f"{named('distance')} is for the metric notion; this guarantee is {certificate.notion}.",
                f"Give {named('people')} instead.",
            )
        return Fraction(people)
    if people != 1:
        raise InvalidInput(
            f"{named('people')} is for counts.", f"On a metric guarantee give {named('distance')} instead."
        )
    if distance is None:
        return Fraction(1) if space is None else space.unit
    times = as_fraction(distance, "distance")
    if times <= 0:
        raise InvalidInput.must_be("distance", "positive", distance)
    return times


def _group_delta(certificate: Certificate, times: Fraction) -> float:
    """Return delta for k people: delta (1 + e^eps + ... + e^((k-1) eps)), at most 1 (Dwork and Roth 2014, 2.3)."""
    if not certificate.delta or times == 1:
        return certificate.delta
    one = exp_bounds(claimed(certificate.epsilon))[1]
    total, power = Fraction(0), claimed(certificate.delta)
    for _ in range(math.ceil(times)):
        total += power
        power *= one
        if total >= 1:
            return 1.0
    return bound_up(total)


def _odds(certificate: Certificate, times: Fraction) -> float:
    """Return e^(epsilon times), rounded up."""
    if certificate.epsilon * float(times) > _MAX_SHOWN_EPSILON:
        return math.inf
    if certificate.ratio is not None and certificate.notion != "metric":
        return float_up(certificate.ratio ** int(times))
    return float_up(exp_bounds(claimed(certificate.epsilon) * times)[1])


def _protected(notion: str, space: Space | None, times: Fraction) -> str:
    if notion == "central":
        who = "one person adds to the count" if times == 1 else f"{times} people add to the count together"
        return f"This protects what {who}: true counts that differ by {times} are hard to tell apart."
    if notion == "local":
        return "This protects each person's whole answer: any two true values are hard to tell apart."
    measured = "" if space is None else completed(space).measured
    return (
        "This protects nearby values from being told apart, the nearer the better: what follows is for two that "
        f"are {float(times):g} apart{measured}."
    )


def _meaning(
    epsilon: float, delta: float, odds: float, belief: Fraction, posterior: float, who: str, notion: str
) -> list[str]:
    if math.isinf(epsilon):
        return ["No finite odds ratio holds for every report."]
    if odds == math.inf:
        words = text_up(epsilon, 4)
        return [f"Epsilon = {words} protects next to nothing: the odds may be multiplied by e^{words}."]
    power = min(1.0, 0.05 * odds + delta, 1 - (0.95 - delta) / odds)
    test = f"An attacker who accepts 5% false alarms detects {who} at most {text_up(100 * power, 3)}% of the time."
    if delta:
        # (epsilon, delta) bounds sets of reports, not single beliefs: claim no more
        return [
            f"No set of reports becomes more than {text_up(odds, 3)} times as likely, plus {text_up(delta, 3)}.",
            test,
        ]
    return [
        f"{_READER[notion]}, seeing the report multiplies the odds of any statement about {who} by at most "
        f"{fold(odds)}.",
        f"Someone who believed it with probability {percent(belief)} believes it with at most "
        f"{text_up(100 * posterior, 3)}% afterwards.",
        test,
    ]


def fold(odds: float) -> str:
    """Return a ratio of odds for people, rounded up: three digits of its excess over 1.

    >>> fold(2.7182818), fold(1.010050167), fold(math.inf)
    ('2.72', '1.0101', 'infinity')
    """
    beyond = min(max(odds - 1, 1e-12), 1.0)
    return text_up(odds, 3 + max(0, math.ceil(-math.log10(beyond))))


def _how_rare(mechanism: Mechanism) -> str:
    """Return the sentence for a mechanism without a finite epsilon: its delta at epsilon = 1."""
    verdict = verify(mechanism, mechanism.certificate.notion)
    delta = verdict.delta(1)
    settled = verdict.witness.other_probability == 0
    what = (
        "Some reports settle a statement about a person." if settled else "The rarer the report, the larger its ratio."
    )
    rho = mechanism.certificate.details.get("zcdp_rho")
    concentrated = f" Its zero-concentrated privacy is rho = {rho}." if rho else ""
    return (
        f"{what}{concentrated} At epsilon = 1, no set of reports becomes more than 2.72 times as likely, plus "
        f"{text_up(delta, 3)} (delta): {verdict.delta_witness(1)}."
    )


def local_use(mechanism: Mechanism) -> str | None:
    """Return the warning for a mechanism for counts that is used on a person's value; None if it needs none.

    A count mechanism hides one person in a count: true values that differ by one. Used on a person's value, say 0 or
    100 visits, it must hide any two values, with epsilon ``m.local_epsilon``.
    """
    if mechanism.certificate.notion != "central" or math.isinf(mechanism.certificate.epsilon):
        return None
    try:
        between = _short(mechanism.local_epsilon)
    except Unsupported:  # the discrete Gaussian: not offered between any two values
        between = "larger"
    size = mechanism.inputs.size
    pair = "any two values" if size is None else f"0 from {size - 1}"
    return (
        f"Used on a person's own value instead of on a count, this mechanism must hide {pair}: there epsilon is "
        f"{between}, not {_short(mechanism.certificate.epsilon)}."
    )


@dataclass(frozen=True)
class LocalGuarantee:
    """The guarantee of a mechanism on people's values: the epsilon between any two values, or None, and sentences."""

    epsilon: float | None
    sentences: tuple[str, ...]


def local_guarantee(mechanism: Mechanism) -> LocalGuarantee:
    """Return the guarantee of a mechanism on people's values: between any two, and per unit of distance."""
    epsilon: float | None = None
    try:
        epsilon = mechanism.local_epsilon
        between = f"Between any two true values epsilon is {_short(epsilon)}."
    except Unsupported:
        between = "Between any two true values no epsilon is offered for this mechanism."
    space = mechanism.inputs
    if not space.has_lengths:
        return LocalGuarantee(epsilon, (between,))
    try:
        near = verify(mechanism, "metric").epsilon
    except Unsupported:
        return LocalGuarantee(epsilon, (between,))
    grid = space.as_grid
    if epsilon is None and grid is not None:  # too many pairs of cells to compare
        epsilon = near * float(grid.distance(0, grid.size - 1)) * (1 + 2.0**-50)
        between = (
            f"Between any two true values epsilon is at most {_short(epsilon)}, that of opposite corners of the map."
        )
    per = f"Per {space.length_noun} it is {_short(near)}: "
    per += f"between values {space.apart} apart, epsilon is at most d times that."
    return LocalGuarantee(epsilon, (between, per))


def _short(epsilon: float) -> str:
    return "infinite" if math.isinf(epsilon) else f"{text_up(epsilon, 4)}"
