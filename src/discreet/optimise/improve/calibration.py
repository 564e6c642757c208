"""Calibration: the epsilon at which a family of mechanisms just meets a target.

[A] is Alvim, Chatzikokolakis, Palamidessi, Pazii, *LDP on metric spaces: optimizing the trade-off with utility*; [F] is
Fernandes, Lefki, Palamidessi, *Utility-Preserving Privacy Mechanisms for Counting Queries*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from inspect import Parameter, signature
from types import SimpleNamespace
from typing import Any

from ...channels import Channel
from ...errors import InvalidInput, InWords, Unsupported, WrongType, arg
from ...exact.rationals import SMALLEST_EPSILON, Number, as_fraction, bound_up, simplest_between, text_up
from ...lists import read_list
from ...mechanism import Mechanism
from ...mechanisms.families import Family, resolve
from ...report import Fact, Json, Prose, Report, Result, Section, Terms, plain, stamped
from ...tabular import Columns, Tabular
from ...wording import nearest, rounded
from ..families import FAMILIES
from .targets import Target, read_target

#: Largest epsilon that is tried by default: beyond it a mechanism practically publishes the truth.
MAX_EPSILON = Fraction(64)

#: Relative distance of the neighbour that misses the target; larger if the family is too coarse.
NEIGHBOUR_GAP = Fraction(1, 2**20)

#: Number of much smaller (for privacy: larger) epsilons, by factors of 4, that are tried in case the family is not
#: monotone.
PROBES = 3


@dataclass(frozen=True)
class Trial:
    """An epsilon and the value of the family there."""

    epsilon: Fraction
    value: Fraction | float

    def __str__(self) -> str:
        near_one = 0 < 1 - self.value < 1e-9
        text = f"1 - {float(1 - self.value):.3g}" if near_one else f"{float(self.value):.9g}"
        return f"{text} at epsilon = {text_up(self.epsilon, 9)}"


@dataclass(frozen=True)
class Calibration(Tabular, Result):
    """The epsilon that just meets a target, the mechanism, and the evidence.

    Attributes
    ----------
    epsilon
        The exact epsilon for the family: the smallest that meets a target about the error, the largest that meets a
        target about privacy, to within one millionth (2^-20) of itself.
    mechanism
        The mechanism at that epsilon, with its certificate.
    family, target
        The name of the family and the target, in words.
    achieved
        The value of the mechanism: a Fraction if it is rational, else a float.
    next_smaller, next_larger
        The evidence that no better epsilon meets the target: the neighbouring epsilon and its value, which misses it.
        The other one is None.
    monotone
        True if the tried epsilons meet the target on one side only. If not, ``epsilon`` is the best one *found*: the
        far end of those that meet it.

    Examples
    --------
    >>> import discreet as dc
    >>> best = dc.calibrate("randomized_response", 2, truth="3/4")     # e^eps / (1 + e^eps) = 3/4
    >>> round(float(best.epsilon), 4), best.achieved >= 0.75, best.next_smaller.value < 0.75
    (1.0986, True, True)
    """

    epsilon: Fraction
    mechanism: Mechanism
    family: str
    target: str
    achieved: Fraction | float
    next_smaller: Trial | None
    next_larger: Trial | None
    monotone: bool = True

    @property
    def exact(self) -> bool:
        """True if ``achieved`` is exact. Otherwise floats decided, and their rounding error counted as a miss."""
        return isinstance(self.achieved, Fraction)

    def data_columns(self) -> Columns:
        """Return one row: the target, the epsilon, what it reaches, and the neighbour that misses the target."""
        missed = self.next_smaller or self.next_larger
        return {
            "family": [self.family],
            "target": [self.target],
            "epsilon": [bound_up(self.epsilon)],
            "achieved": [float(self.achieved)],
            "missed at": [None if missed is None else float(missed.epsilon)],
            "missed with": [None if missed is None else float(missed.value)],
        }

    def _headline(self) -> str:
        return f"{self.family}, epsilon = {text_up(self.epsilon, 9)}, {self.target}"

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values, as in ``schemas/calibration.json``."""
        neighbour = self.next_smaller or self.next_larger
        content: dict[str, Json] = {
            "family": self.family,
            "target": self.target,
            "epsilon": bound_up(self.epsilon),
            "exact_epsilon": str(self.epsilon),
            "achieved": float(self.achieved),
            "exact": self.exact,
            "missed_at": None if neighbour is None else float(neighbour.epsilon),
            "missed_with": None if neighbour is None else plain(float(neighbour.value)),
            "monotone": self.monotone,
            "certificate": self.mechanism.certificate.to_json(),
        }
        return stamped("calibration", 1, content)

    def report(self) -> Report:
        """Return the epsilon, its value, the neighbour that misses the target, and the proof."""
        which = "largest" if self.next_smaller is None else "smallest"
        how = "decided in rational numbers" if self.exact else "in floats, rounding error allowed for"
        terms = [("exactly", f"epsilon = {self.epsilon}")] if self.epsilon.denominator < 10**12 else []
        terms.append(("reached", f"{float(self.achieved):.9g} ({how})"))
        if self.next_smaller is not None:
            terms.append(("just below", f"the target is missed with {self.next_smaller}"))
        if self.next_larger is not None:
            terms.append(("just above", f"the target is missed with {self.next_larger}"))
        terms.append(("proved", str(self.mechanism.certificate)))
        once = "The family is not monotone: this is the best epsilon found, by bisection between a few."
        return Report(
            f"{self.family}: epsilon = {text_up(self.epsilon, 9)}",
            "Calibration",
            (
                Fact(text_up(self.epsilon, 3), f"epsilon: the {which} that meets the target"),
                Fact(rounded(self.achieved), f"reached: {self.target}"),
            ),
            (
                Section(parts=(Prose(f"This is the {which} for {self.target}.", tone="lead"), Terms(tuple(terms)))),
                *(section for section in self.mechanism.report().sections if section.depth != "everywhere"),
            ),
            () if self.monotone else (once,),
        )

    def __str__(self) -> str:
        return self.describe()


def calibrate(
    family: str | Callable[..., Mechanism],
    space: Any,
    *,
    distance: Number | None = None,
    mean_error: Number | None = None,
    truth: Any = None,
    within: Any = None,
    likelihood_ratio: Number | None = None,
    share_variance: Number | None = None,
    prior: Any = None,
    between: tuple[Any, Any] | None = None,
    **options: Any,
) -> Calibration:
    """Find the epsilon at which a family of mechanisms just meets a target.

    A target about the *error* (all but the last) is met by every epsilon that is large enough, and the answer is the
    **smallest** one: the most privacy at that error. A target about *privacy* (``likelihood_ratio``) is met by every
    epsilon that is small enough, and the answer is the **largest** one: the least noise at that privacy. Either way
    the answer meets the target, and an epsilon worse by one part in 2^20 misses it; both are decided in rational
    numbers where the values are rational.

    ::

        distance          sum_x prior(x) sum_y P(y | x) d(x, y) <= E                     [A] (2); uniform prior
        mean_error        max_x sum_y P(y | x) d(x, y) <= e              with a prior: the mean over it
        truth             min_x P(x | x) >= p                            with a prior: the mean over it
        within=(d, p)     min_x P(d(x, y) <= d | x) >= p                 with a prior: the mean over it
        share_variance    Q (1 - Q) / (P - Q)^2 <= v                     of randomised and projective response
        likelihood_ratio  P(y | x) <= r P(y | x') for all y and d(x, x') <= within       [F] section 4

    Parameters
    ----------
    family
        Called as ``family(space, epsilon=..., **options)``: a function such as ``dc.geometric``, or its name.
    space
        The first argument of the family: the largest count n, a space, for randomised response also the number of
        values.
    distance, mean_error, truth, within, share_variance, likelihood_ratio
        Exactly one target; ``share_variance`` is for surveys (:func:`discreet.share_variance`): the variance of an
        estimated share, times the number of people. ``likelihood_ratio`` takes a radius ``within``, or compares any
        two truths.
    prior
        The probability of each truth, or "uniform". Without it ``distance`` averages uniformly and the other targets
        are for the worst truth.
    between
        The range of epsilons to search. By default 1e-9 to 64; for maps, the range of their mechanisms.
    options
        Options for the family, such as ``border="normalise"``.

    Returns
    -------
    Calibration
        ``epsilon``, ``mechanism``, ``achieved``, and the neighbour that misses the target. Print it.

    Raises
    ------
    InvalidInput
        If no epsilon meets the target (the message names the closest), or every one does.

    Examples
    --------
    >>> best = calibrate("geometric", 100, likelihood_ratio=2, within=10)
    >>> round(float(best.epsilon), 6)                                          # ln(2) / 10
    0.069315
    >>> best.achieved <= 2 < best.next_larger.value
    True
    >>> round(float(calibrate("randomized_response", 101, truth=0.5).epsilon), 4)     # ln(100)
    4.6052
    """
    build = _read_family(family)
    name = str(getattr(build, "__name__", "this family"))
    _refuse_unknown_options(build, name, options)
    unit = Fraction(getattr(space, "unit", 1))
    family_entry = FAMILIES.built_by(build)
    lowest, highest = _read_range(between, family_entry, unit)
    start = min(max(1 / unit, lowest), highest)

    def propose(epsilon: Fraction) -> Channel:
        if family_entry is not None and family_entry.kernel:
            kernel = resolve(family_entry.kernel)(space, epsilon, **options)
            return Channel(space, space, SimpleNamespace(kernel=kernel, matrix=kernel.matrix()))
        return Channel.of(build(space, epsilon=epsilon, **options))

    limits = {
        "distance": distance, "mean_error": mean_error, "truth": truth, "share_variance": share_variance,
        "likelihood_ratio": likelihood_ratio,
    }  # fmt: skip
    target = read_target(propose(start), limits, within, prior)
    search = _Search(name, propose, target, lowest, highest)
    good, bad, monotone = search.bracket(start)
    best = search.narrow(good, bad)
    neighbour = search.neighbour(best)
    mechanism = build(space, epsilon=best, **options)
    achieved = target.value(Channel.of(mechanism))
    smaller, larger = (None, neighbour) if target.bounds_privacy else (neighbour, None)
    return Calibration(best, mechanism, name, target.sentence, achieved, smaller, larger, monotone)


def find_family(name: str) -> Family:
    """Return the family with this name among those that can be calibrated."""
    what, names = "a family that can be calibrated", ", ".join(FAMILIES.cli_names("calibrate"))
    return FAMILIES.find(name, "calibrate", what, shown=lambda family: family.name, listed=names)


def _read_family(family: object) -> Callable[..., Mechanism]:
    if isinstance(family, str):
        return find_family(family).function
    if not callable(family):
        raise WrongType.must_be(
            "family",
            "a function called as family(space, epsilon=...), such as dc.geometric, or a name "
            f"({', '.join(one.name for one in FAMILIES.offered('calibrate'))})",
            InWords(type(family).__name__),
        )
    build: Callable[..., Mechanism] = family
    return build


def _refuse_unknown_options(build: Callable[..., Mechanism], name: str, options: Mapping[str, object]) -> None:
    """Refuse options that the family does not have; a family of one's own may take any."""
    try:
        parameters = [*signature(build).parameters.values()]
    except (TypeError, ValueError):  # a callable that does not say what it takes
        return
    if any(one.kind is Parameter.VAR_KEYWORD for one in parameters):
        return
    known = [one.name for one in parameters[1:] if one.name not in ("epsilon", "alpha")]
    for option in options:
        if option not in known:
            near = nearest(option, [*known, *signature(calibrate).parameters])
            advice = f"Did you mean {near}? " if near else ""
            whose = f"Its options are {', '.join(known)}." if known else "It has no options."
            raise WrongType(f"{name} has no option {option}.", advice + whose, argument=option)


def _read_range(between: Any, family: Family | None, unit: Fraction) -> tuple[Fraction, Fraction]:
    if between is None:
        if family is None or not family.steps:
            return SMALLEST_EPSILON, MAX_EPSILON
        smallest, largest = resolve(family.steps)
        return smallest / unit, largest / unit
    ends = [as_fraction(end, "an end of between") for end in read_list(between, "between", "two epsilons")]
    if len(ends) != 2 or not 0 < ends[0] < ends[1]:
        raise InvalidInput.must_be("between", "a pair of epsilons, 0 < low < high", between)
    low, high = ends
    return low, high


@dataclass(frozen=True)
class _Search:
    """Bisection on exact rationals, in the direction of the target.

    "Worse" is the direction in which the target is eventually missed: smaller epsilons for targets about the error,
    larger ones for targets about privacy.
    """

    name: str
    propose: Callable[[Fraction], Channel]
    target: Target
    lowest: Fraction
    highest: Fraction

    @property
    def _worse(self) -> Fraction:
        return Fraction(2) if self.target.bounds_privacy else Fraction(1, 2)

    def _meets(self, epsilon: Fraction) -> bool:
        return self.target.is_met(self.propose(epsilon))

    def _move(self, epsilon: Fraction, factor: Fraction) -> tuple[Fraction, bool] | None:
        """Return the next epsilon and whether it meets the target; None at the end of the family's range."""
        neighbour = min(max(epsilon * factor, self.lowest), self.highest)
        if neighbour == epsilon:
            return None
        try:
            return neighbour, self._meets(neighbour)
        except (InvalidInput, Unsupported):  # beyond the limits of the family
            return None

    def bracket(self, start: Fraction) -> tuple[Fraction, Fraction, bool]:
        """Return an epsilon that meets the target, a worse one that does not, and whether all trials agree."""
        good, bad = self._walk(start)
        monotone, far = True, bad
        for _ in range(PROBES):
            step = self._move(far, self._worse**2)
            if step is None:
                break
            far, is_met = step
            if is_met:
                monotone = False
                good, bad = self._walk(far)
                far = bad
        return good, bad, monotone

    def _walk(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        is_met = self._meets(epsilon)
        factor = self._worse if is_met else 1 / self._worse
        while True:
            step = self._move(epsilon, factor)
            if step is None:
                raise self._trivial(epsilon) if is_met else self._impossible(epsilon)
            if step[1] != is_met:
                return (epsilon, step[0]) if is_met else (step[0], epsilon)
            epsilon = step[0]

    def narrow(self, good: Fraction, bad: Fraction) -> Fraction:
        """Return the simplest rational that meets the target, within a quarter of NEIGHBOUR_GAP of the threshold."""
        while abs(good - bad) > min(good, bad) * NEIGHBOUR_GAP / 4:
            middle = (good + bad) / 2
            good, bad = (middle, bad) if self._meets(middle) else (good, middle)
        better = good * (1 - NEIGHBOUR_GAP / 4 if self.target.bounds_privacy else 1 + NEIGHBOUR_GAP / 4)
        simple = simplest_between(*sorted((good, better)))
        inside = self.lowest <= simple <= self.highest
        return simple if inside and self._meets(simple) else good

    def neighbour(self, epsilon: Fraction) -> Trial | None:
        """Return the nearest worse epsilon that misses the target.

        Families round e^-epsilon to a simple fraction (by up to 2^-40), so at tiny epsilons neighbours can be alike.
        """
        gap = NEIGHBOUR_GAP
        while gap < 1:
            other = epsilon * (1 + gap if self.target.bounds_privacy else 1 - gap)
            other = min(max(other, self.lowest), self.highest)
            channel = self.propose(other)
            if not self.target.is_met(channel):
                return Trial(other, self.target.value(channel))
            gap *= 4
        return None  # pragma: no cover - the bracket has an epsilon that misses it

    def _impossible(self, epsilon: Fraction) -> InvalidInput:
        closest = Trial(epsilon, self.target.value(self.propose(epsilon)))
        return InvalidInput(
            f"no epsilon of {self.name} between {float(self.lowest):.3g} and {float(self.highest):.3g} gives "
            f"{self.target.sentence}. The closest possible is {closest}.",
            f"Ask for less, or give {arg('between')} to search elsewhere.",
        )

    def _trivial(self, epsilon: Fraction) -> InvalidInput:
        easiest = Trial(epsilon, self.target.value(self.propose(epsilon)))
        return InvalidInput(
            f"every epsilon of {self.name} gives {self.target.sentence}: even {easiest}. The target asks for nothing.",
            "Ask for more, or choose epsilon by other means.",
        )
