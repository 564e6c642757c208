"""``dc.design``: the best mechanism with the properties asked for, proved exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import mul
from typing import Any

from ... import losses, requirements, utility
from ...channels import Channel
from ...checking import check
from ...errors import InvalidInput, NotCertified, Unsupported, arg
from ...exact.base import Kernel
from ...exact.rationals import (
    Number,
    as_fraction,
    float_down,
    float_up,
    log_bounds,
    read_alpha,
    read_epsilon,
)
from ...exact.tables import MOST_PLACES, Table
from ...mechanism import Mechanism, read_count
from ...privacy.certificate import Certificate, certify
from ...spaces import Counts, Space, completed, is_space
from ..improve.targets import exact_weights
from ..lp.bounds import figures_of_cost
from ..lp.certification import Proved
from ..lp.program import Request
from ..lp.rays import by_report, solve_by_rays
from ..lp.search import ProvedDesign, search
from ..lp.solver import InfeasibleDesign, SolverFailed
from .closed import Closed, closed_form
from .conflicts import conflict, is_proved_infeasible
from .members import cheapest_member
from .on_spaces import design_on_space
from .weights import read_weights

#: Linear programs are solved up to this n; closed forms, and what looks at one report at a time, go further.
LARGEST_PROGRAM = 400

#: From this n on, what looks at one report at a time is solved by rays, where noise is narrow beside the range:
#: n (1 - a) at least this. Where it is wide, columns are sums of many rays, and the program is quicker while it fits.
RAYS_FROM, NARROW = 100, 8


def design(
    n: object,
    *,
    alpha: Number | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
    loss: object = "L0",
    properties: object = (),
    prior: object = None,
    worst_case: bool = False,
    notion: str | None = None,
    outputs: object = None,
    dilation: Number | None = None,
) -> Mechanism:
    """The mechanism with the least expected loss among all that are private and have the properties asked for.

    The answer is exact: a table of rational numbers whose privacy and properties were checked in integers by the judge
    and by :func:`discreet.check`, and whose cost exceeds that of the best possible one by at most the stated gap. The
    same request gives the same mechanism everywhere: among equally good ones a symmetric one is taken, then a row
    monotone one where there is one, then the least mean absolute error, then a fixed generic weighting.

    Parameters
    ----------
    n
        The largest count, or a ``Counts`` space; or any other finite space, such as ``Grid``, ``Graph`` or ``Labels``.
    alpha, epsilon
        The privacy; exactly one of them, alpha = e^-epsilon.
    delta
        0 for pure privacy. Otherwise ``sum_j max(0, P[i, j] - e^epsilon P[k, j]) <= delta`` for neighbours i and k:
        the true delta, over all sets of reports.
    loss
        "L0", "L1", "L2", a :class:`~discreet.losses.Loss`, or a matrix.
    properties
        Codes of the seven (S RH RM CH CM F WH), requirements such as "bias<=0" (see :mod:`discreet.requirements`), or
        objects; a list, or text such as "WH+CM". On values without an order RH, CH, F and WH make sense.
    prior
        How likely each truth is; uniform if not given. A mapping from values to weights, probabilities, or counts.
    worst_case
        Minimise the largest expected loss of any truth instead.
    notion
        "central" (adjacent values; the default for counts), "local" (any two; the default for labels) or "metric" (per
        unit of distance; the default for maps and other distances).
    outputs
        What is reported, if not true values: a list of some of them, or another space with a matrix of losses.
    dilation
        Under the metric notion: 1 protects every pair for itself, the default up to 100 values. A larger one protects
        the edges of a spanner, whose paths are at most that many times as long as the distance, at epsilon over that;
        1.1 is the default beyond. The same edges at epsilon bound the least cost from below.

    Returns
    -------
    Mechanism
        Of the family "designed". ``certificate.details`` has ``cost`` (exact), ``least`` (no mechanism that meets the
        request costs less), ``gap`` (their difference at most) and ``certified``: "closed form", "rational vertex" (the
        exact optimum of the linear program), "mixed and rounded" or "rounded inside the cone" (a table a hair's breadth
        inside all inequalities). Where the solver fails it is "known mechanism": the cheapest closed form that meets
        the request (``form`` names it), whose gap can be large.

    Raises
    ------
    Conflict
        When no mechanism meets the request; it names a smallest set of requirements that clash.

    References
    ----------
    [C] sections III and IV. Bordenabe, Chatzikokolakis, Palamidessi 2014, for geo-indistinguishability.

    Examples
    --------
    >>> m = design(4, alpha="10/11", properties=["WH", "CM"])
    >>> m.certificate.details["cost"], m.certificate.details["certified"], m.certificate.ratio
    ('969/1250', 'rational vertex', Fraction(11, 10))
    >>> from discreet.spaces import Grid
    >>> m = design(Grid(2, 3, cell=100), epsilon="0.01", loss="L1")
    >>> m.certificate.notion, round(m.certificate.details["cost_about"], 2), m.certificate.details["gap"] < 1e-4
    ('metric', 82.11, True)
    """
    space: Space | None
    if is_space(n) and not getattr(n, "is_line", False):
        space = completed(n)
    elif outputs is not None or dilation is not None or notion not in (None, "central", "metric"):
        space = Counts(read_count(n))
    else:
        space = None
    if space is not None:
        if as_fraction(delta, "delta"):
            raise Unsupported(
                "designs with a delta are for adjacent counts.", f"Leave {arg('delta')} out.", argument="delta"
            )
        return design_on_space(
            space, notion=notion, alpha=alpha, epsilon=epsilon, loss=loss, properties=properties, prior=prior,
            worst_case=worst_case, outputs=outputs, dilation=dilation,
        )  # fmt: skip
    if prior is not None and not worst_case:
        prior = read_weights(prior, Counts(read_count(n)))
    made = _design_for_counts(
        n, alpha=alpha, epsilon=epsilon, delta=delta, loss=loss, properties=properties, prior=prior,
        worst_case=worst_case,
    )  # fmt: skip
    if notion != "metric":
        return made
    judged = certify(made.kernel, made.inputs, "metric", details=made.certificate.details)  # steps are adjacent counts
    return replace(made, certificate=judged)


def _design_for_counts(
    n: object,
    *,
    alpha: Number | None,
    epsilon: Number | None,
    delta: Number,
    loss: object,
    properties: object,
    prior: object,
    worst_case: bool,
) -> Mechanism:
    """The design for adjacent counts, for which there are closed forms and exact vertices."""
    request, stated = read_request(
        n, alpha=alpha, epsilon=epsilon, delta=delta, loss=loss, properties=properties, prior=prior,
        worst_case=worst_case,
    )  # fmt: skip
    closed = closed_form(request)
    if closed is not None:
        return _from_closed(request, closed)
    if by_report(request) and _prefers_rays(request):
        answer = solve_by_rays(request, stated)
        return _proved(request, answer.proved, answer.bound)
    return _searched(request, stated, None)[0]


def design_each(
    n: Any,
    *,
    alphas: Sequence[Any],
    loss: Any = "L0",
    properties: Any = (),
    prior: Any = None,
    worst_case: bool = False,
) -> Iterator[Mechanism]:
    """The designs for several alphas, each solved from where the one before ended.

    Neighbouring alphas have neighbouring answers, so this is much faster than asking for each alone. The mechanisms are
    the same.

    Examples
    --------
    >>> [m.certificate.details["cost"] for m in design_each(2, alphas=["1/2", "3/4"], loss="L1", properties="CM")]
    ['5/9', '92/123']
    """
    last: ProvedDesign | None = None
    for alpha in alphas:
        request, stated = read_request(
            n, alpha=alpha, epsilon=None, delta=0, loss=loss, properties=properties, prior=prior, worst_case=worst_case
        )
        closed = closed_form(request)
        if closed is not None:
            yield _from_closed(request, closed)
            continue
        mechanism, last = _searched(request, stated, last)
        yield mechanism


def read_request(
    n: Any,
    *,
    alpha: Number | None,
    epsilon: Number | None,
    delta: Number,
    loss: Any,
    properties: Any,
    prior: Any,
    worst_case: bool,
) -> tuple[Request, Fraction]:
    """The request in exact numbers, and the epsilon to state with a delta (at least log(1/alpha))."""
    size = read_count(n) + 1
    a = read_alpha(alpha, epsilon)
    allowed = as_fraction(delta, "delta")
    if not 0 <= allowed < 1:
        raise InvalidInput.must_be("delta", "a probability below 1", delta, "0 asks for pure privacy.")
    if worst_case and prior is not None:
        raise InvalidInput(
            "the worst case over all truths needs no prior.",
            f"Give either {arg('prior')} or {arg('worst_case', True)}.",
        )
    wanted = requirements.resolve(properties)
    codes = [p.code for p in wanted]
    twice = next((code for code in codes if codes.count(code) > 1), None)
    if twice is not None:
        raise InvalidInput(
            f"{twice!r} is asked for more than once.", "Name each requirement once.", argument="properties"
        )
    resolved = losses.resolve(loss)
    space = Counts(size - 1)
    if not resolved.nondecreasing or not resolved.symmetric:
        resolved.levels(space, space)  # a matrix of losses must fit; refused before any work
    weights = None if worst_case else exact_weights(prior, size)
    stated = read_epsilon(epsilon) if epsilon is not None else log_bounds(1 / a)[1]
    given = f"alpha = {alpha}" if epsilon is None else f"epsilon = {epsilon}"
    return Request(size - 1, a, resolved, weights, wanted, allowed, given), stated


def _prefers_rays(request: Request) -> bool:
    narrow = request.n * (1 - request.alpha) >= NARROW
    return request.n > LARGEST_PROGRAM or (request.n > RAYS_FROM and narrow)


def _searched(request: Request, stated: Fraction, start: ProvedDesign | None) -> tuple[Mechanism, ProvedDesign | None]:
    """The answer of the linear program, and where the solver ended; a known mechanism where the solver fails."""
    if request.n > LARGEST_PROGRAM:
        raise Unsupported(
            f"a linear program over {(request.n + 1) ** 2:,} probabilities is too large (n up to {LARGEST_PROGRAM}).",
            "Larger n are possible for L0 without column properties, and for properties among S, RM and WH.",
            argument="n",
        )
    try:
        found = search(request, stated, start)
        return _proved(request, found.proved, found.bound), found
    except (InfeasibleDesign, SolverFailed) as problem:
        known = cheapest_member(request, stated)
        if known is not None:
            name, proved = known
            return _proved(request, proved, _bound_without_search(request), form=name), None
        if isinstance(problem, InfeasibleDesign) or is_proved_infeasible(request, private=True):
            raise conflict(request) from None
        raise


def _bound_without_search(request: Request) -> float:
    """What no mechanism costs less than, whatever it meets: the least loss of each truth, or without requirements."""
    levels, codes = request.loss.levels(Counts(request.n), Counts(request.n))
    least = [min(as_fraction(levels[c]) for c in set(row)) for row in codes.tolist()]
    weights = request.weights
    bound = max(least) if weights is None else sum(map(mul, weights, least), Fraction(0))
    free = closed_form(replace(request, requirements=()))
    return float_down(bound if free is None else max(bound, Fraction(free.cost)))


# ------------------------------------------------------------------------------------------------ handing over


def _from_closed(request: Request, closed: Closed) -> Mechanism:
    """A closed form, judged like everything else; the theorem says that nothing is better."""
    space = Counts(request.n)
    if request.requirements and (request.n + 1) ** 2 <= MOST_PLACES:
        _refuse_unmet(request, Channel(space, space, _Handed(space, closed.kernel)))
    cost = closed.cost if isinstance(closed.cost, Fraction) else Fraction(closed.cost)
    details = {"certified": "closed form", "form": closed.name, **figures_of_cost(cost, cost)}
    certificate = certify(closed.kernel, space, ratio=1 / request.alpha, details=details)
    return _mechanism(request, closed.kernel, certificate)


class _Handed:
    """A kernel with its spaces, as the checks of properties want it."""

    def __init__(self, space: Counts, kernel: Kernel) -> None:
        self.inputs, self.outputs, self.kernel = space, space, kernel

    @property
    def matrix(self) -> Any:
        return self.kernel.matrix()


def _refuse_unmet(request: Request, channel: Channel) -> None:
    for code, result in check(channel, request.requirements).items():
        if not result.holds:  # pragma: no cover - a theorem would be false
            raise NotCertified(f"the closed form does not have {code}: {result.where}.")


def _proved(request: Request, proved: Proved, bound: float, form: str | None = None) -> Mechanism:
    cost = exact_cost(proved.table, request)
    least = min(Fraction(bound), cost)
    details = {"certified": proved.how, **({} if form is None else {"form": form}), **figures_of_cost(cost, least)}
    if proved.mixing:
        details["mixing"] = float_up(proved.mixing)
        details["rounded_to_bits"] = proved.table.totals[0].bit_length() - 1
    judged = proved.certificate
    certificate = Certificate(
        judged.notion, judged.epsilon, judged.delta, judged.ratio, judged.how, judged.tight, details
    )
    return _mechanism(request, proved.table, certificate)


def exact_cost(table: Table, request: Request) -> Fraction:
    """The cost of a table; irrational losses are taken as the doubles nearest to them."""
    prior = None if request.weights is None else list(request.weights)
    worst = request.weights is None
    try:
        return utility.cost(table, request.loss, prior, worst, exact=True)
    except Unsupported:
        return Fraction(utility.cost(table, request.loss, prior, worst))


def _mechanism(request: Request, kernel: Kernel, certificate: Certificate) -> Mechanism:
    space = Counts(request.n)
    parameters: dict[str, Any] = {
        "n": request.n,
        "alpha": str(request.alpha),
        "loss": request.loss.name,
        "properties": list(request.codes),
        "prior": "worst case" if request.weights is None else "uniform" if request.uniform else "given",
    }
    if request.delta:
        parameters["delta"] = str(request.delta)
    return Mechanism(space, space, kernel, certificate, "designed", parameters)
