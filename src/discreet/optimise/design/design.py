"""``dc.design``: the best mechanism with the required properties, proved exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from ...exact.tables import MAX_TABLE_ENTRIES, Table
from ...lists import read_list
from ...mechanism import Mechanism, read_count
from ...privacy.certificate import Certificate, certify
from ...progress import with_bar
from ...spaces import Counts, Space, completed, is_space
from ..lp.bounds import figures_of_cost
from ..lp.certification import CertifiedTable
from ..lp.program import Request
from ..lp.rays import by_report, solve_by_rays
from ..lp.search import CertifiedDesign, search
from ..lp.solver import InfeasibleDesign, SolverFailed
from .closed import ClosedForm, closed_form
from .conflicts import conflict, is_proved_infeasible
from .members import cheapest_member
from .on_spaces import design_on_space, read_delta
from .weights import read_weights

#: Largest n of a linear program; closed forms, and requests that are solved report by report, go further.
MAX_PROGRAM_N = 400

#: Maximum number of counts of a design that a closed form answers: a prior has a fraction for each.
MAX_DESIGN_COUNTS = 10**6

#: Least n, and least n (1 - a), for which requests that can be solved report by report are solved by rays: the noise is
#: narrow compared with the range. For wide noise columns are sums of many rays, and the linear program is faster.
MIN_RAYS_N, MIN_RAYS_RATE = 100, 8


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
    """Return the mechanism with the least expected loss among all private ones with the required properties.

    The answer is exact: a table of rational numbers whose privacy and properties were checked in integers by the judge
    and by :func:`discreet.check`, and whose cost exceeds that of the best possible one by at most the stated gap. The
    same request gives the same mechanism everywhere: among equally good ones, symmetric ones come first, then row
    monotone ones, then those with the least mean absolute error, then a fixed generic weighting decides.

    Parameters
    ----------
    n
        The largest count, or a ``Counts`` space; or any other finite space, such as ``Grid``, ``Graph`` or ``Labels``.
    alpha, epsilon
        The privacy; exactly one of them, alpha = e^-epsilon.
    delta
        0 for pure privacy. Otherwise ``sum_j max(0, P[i, j] - e^epsilon P[k, j]) <= delta`` for neighbours i and k:
        the true delta, over all sets of reports. Under the local and the metric notion it holds for every pair, each at
        its own distance, as deltas along a path do not add up to less.
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
        A mechanism of the family "designed". ``certificate.details`` has ``cost`` (exact), ``least`` (a lower bound of
        the cost for this request), ``gap`` (their largest difference) and ``certified``: "closed form", "rational
        vertex" (the exact optimum of the linear program), "mixed and rounded" or "rounded inside the cone" (a table
        slightly inside all inequalities). If the solver fails it is "known mechanism": the cheapest closed form that
        meets the request (``form`` names it), whose gap can be large.

    Raises
    ------
    Conflict
        If no mechanism meets the request; it names a smallest set of requirements that clash.

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
    ('metric', 71.0, True)
    """
    space = _space_of(n, notion, outputs)
    if space is None and (dilation is not None or (notion == "metric" and read_delta(delta))):
        space = Counts(read_count(n))  # adjacent counts decide about all pairs only without a delta
    if space is not None:
        return design_on_space(
            space, notion=notion, alpha=alpha, epsilon=epsilon, delta=delta, loss=loss, properties=properties,
            prior=prior, worst_case=worst_case, outputs=outputs, dilation=dilation,
        )  # fmt: skip
    made = _design_for_counts(
        n, alpha=alpha, epsilon=epsilon, delta=delta, loss=loss, properties=properties, prior=prior,
        worst_case=worst_case,
    )  # fmt: skip
    if notion != "metric":
        return made
    # steps are adjacent counts
    certificate = certify(made.kernel, made.inputs, "metric", details=made.certificate.details)
    return replace(made, certificate=certificate)


def _space_of(n: object, notion: str | None, outputs: object) -> Space | None:
    """Return the space of a design on any space; None for adjacent counts, which have a program of their own."""
    if is_space(n) and not getattr(n, "is_line", False):
        return completed(n)
    if outputs is not None or notion not in (None, "central", "metric"):
        return Counts(read_count(n))
    return None


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
    request, certified_epsilon = read_request(
        n, alpha=alpha, epsilon=epsilon, delta=delta, loss=loss, properties=properties, prior=prior,
        worst_case=worst_case,
    )  # fmt: skip
    closed = closed_form(request)
    if closed is not None:
        return _from_closed(request, closed)
    if by_report(request) and _prefers_rays(request):
        answer = solve_by_rays(request, certified_epsilon)
        return _designed(request, answer.certified, answer.bound)
    return _searched(request, certified_epsilon, None)[0]


def design_each(
    n: Any,
    *,
    alphas: Iterable[Number] | None = None,
    epsilons: Iterable[Number] | None = None,
    loss: Any = "L0",
    properties: Any = (),
    prior: Any = None,
    worst_case: bool = False,
    notion: str | None = None,
    outputs: Any = None,
    progress: bool | None = None,
) -> Iterator[Mechanism]:
    """Yield the designs for several alphas or epsilons; for counts, each is solved from the solution before.

    Neighbouring alphas have neighbouring answers, so for counts this is much faster than asking for each alone. The
    mechanisms are the same.

    Parameters
    ----------
    n
        The largest count, or a space.
    alphas, epsilons
        The privacy of each; exactly one of them, alpha = e^-epsilon.
    loss, properties, prior, worst_case, notion, outputs
        As for :func:`discreet.design`, the same for all.
    progress
        Whether to show a bar; by default only on a terminal.

    Examples
    --------
    >>> [m.certificate.details["cost"] for m in design_each(2, alphas=["1/2", "3/4"], loss="L1", properties="CM")]
    ['5/9', '92/123']
    >>> [round(m.certificate.epsilon, 3) for m in design_each(2, epsilons=[0.5, 1])]
    [0.5, 1.0]
    """
    if (alphas is None) == (epsilons is None):
        raise InvalidInput(f"give exactly one of {arg('alphas')} and {arg('epsilons')}.")
    name, numbers = ("alpha", alphas) if epsilons is None else ("epsilon", epsilons)
    each = [{"alpha": None, "epsilon": None, name: number} for number in read_list(numbers, f"{name}s", "numbers")]
    shared = {"loss": loss, "properties": properties, "prior": prior, "worst_case": worst_case}
    if _space_of(n, notion, outputs) is not None or notion == "metric":
        options = {**shared, "notion": notion, "outputs": outputs}
        return (design(n, **privacy, **options) for privacy in with_bar(each, "designs", progress))
    requests = [read_request(n, **privacy, delta=0, **shared) for privacy in each]
    return _design_each(requests, progress)


def _design_each(requests: Sequence[tuple[Request, Fraction]], progress: bool | None) -> Iterator[Mechanism]:
    last: CertifiedDesign | None = None
    for request, certified_epsilon in with_bar(requests, "designs", progress):
        closed = closed_form(request)
        if closed is not None:
            yield _from_closed(request, closed)
            continue
        mechanism, last = _searched(request, certified_epsilon, last)
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
    """Return the request in exact numbers, and the epsilon of the certificate (at least log(1/alpha))."""
    size = read_count(n) + 1
    if size > MAX_DESIGN_COUNTS:
        raise InvalidInput.must_be("n", f"below {MAX_DESIGN_COUNTS:,} for a design", n, meaning="the largest count")
    a = read_alpha(alpha, epsilon)
    allowed_delta = read_delta(delta)
    utility.refuse_prior_for_worst_case(worst_case, prior)
    required = requirements.resolve(properties)
    codes = [p.code for p in required]
    repeat = next((code for code in codes if codes.count(code) > 1), None)
    if repeat is not None:
        raise InvalidInput(
            f"{repeat!r} is asked for more than once.", "Name each requirement once.", argument="properties"
        )
    space = Counts(size - 1)
    loss_object = losses.resolve(loss).on(space, space)
    if not loss_object.nondecreasing or not loss_object.symmetric:
        loss_object.levels(space, space)  # a matrix of losses must fit; refused before any work
    weights = None if worst_case else read_weights(prior, space)
    certified_epsilon = read_epsilon(epsilon) if epsilon is not None else log_bounds(1 / a)[1]
    privacy_given = f"alpha = {alpha}" if epsilon is None else f"epsilon = {epsilon}"
    return Request(size - 1, a, loss_object, weights, required, allowed_delta, privacy_given), certified_epsilon


def _prefers_rays(request: Request) -> bool:
    narrow = request.n * (1 - request.alpha) >= MIN_RAYS_RATE
    return request.n > MAX_PROGRAM_N or (request.n > MIN_RAYS_N and narrow)


def _searched(
    request: Request, epsilon: Fraction, start: CertifiedDesign | None
) -> tuple[Mechanism, CertifiedDesign | None]:
    """Return the answer of the linear program, and the solver's last state; a known mechanism if the solver fails."""
    if request.n > MAX_PROGRAM_N:
        raise Unsupported(
            f"a linear program over {(request.n + 1) ** 2:,} probabilities is too large (n up to {MAX_PROGRAM_N}).",
            "Larger n are possible for L0 without column properties, and for properties among S, RM and WH.",
            argument="n",
        )
    try:
        solution = search(request, epsilon, start)
        return _designed(request, solution.certified, solution.bound), solution
    except (InfeasibleDesign, SolverFailed) as problem:
        member = cheapest_member(request, epsilon)
        if member is not None:
            name, table = member
            return _designed(request, table, _bound_without_search(request), form=name), None
        if isinstance(problem, InfeasibleDesign) or is_proved_infeasible(request, private=True):
            raise conflict(request) from None
        raise


def _bound_without_search(request: Request) -> float:
    """Return a lower bound of the cost: from the least loss of each truth, or from the request without requirements."""
    losses_by_code, codes = request.loss.levels(Counts(request.n), Counts(request.n))
    least = [min(as_fraction(losses_by_code[c]) for c in set(row)) for row in codes.tolist()]
    weights = request.weights
    bound = max(least) if weights is None else sum(map(mul, weights, least), Fraction(0))
    free = closed_form(replace(request, requirements=()))
    return float_down(bound if free is None else max(bound, Fraction(free.cost)))


# ------------------------------------------------------------------------------------------------ certificates


def _from_closed(request: Request, closed: ClosedForm) -> Mechanism:
    """Return the mechanism of a closed form, with a certificate from the judge; a theorem proves it optimal."""
    space = Counts(request.n)
    if request.requirements and (request.n + 1) ** 2 <= MAX_TABLE_ENTRIES:
        _refuse_unmet(request, Channel(space, space, _KernelWithSpaces(space, closed.kernel)))
    cost = closed.cost if isinstance(closed.cost, Fraction) else Fraction(closed.cost)
    details = {"certified": "closed form", "form": closed.name, **figures_of_cost(cost, cost)}
    certificate = certify(closed.kernel, space, ratio=1 / request.alpha, details=details)
    return _mechanism(request, closed.kernel, certificate)


class _KernelWithSpaces:
    """A kernel with its spaces, as the checks of properties need it."""

    def __init__(self, space: Counts, kernel: Kernel) -> None:
        self.inputs, self.outputs, self.kernel = space, space, kernel

    @property
    def matrix(self) -> Any:
        return self.kernel.matrix()


def _refuse_unmet(request: Request, channel: Channel) -> None:
    for code, result in check(channel, request.requirements).items():
        if not result.holds:  # pragma: no cover - a theorem would be false
            raise NotCertified(f"the closed form does not have {code}: {result.where}.")


def _designed(request: Request, certified: CertifiedTable, bound: float, form: str | None = None) -> Mechanism:
    cost = exact_cost(certified.table, request)
    least = min(Fraction(bound), cost)
    details = {"certified": certified.how, **({} if form is None else {"form": form}), **figures_of_cost(cost, least)}
    if certified.mixing:
        details["mixing"] = float_up(certified.mixing)
        details["rounded_to_bits"] = certified.table.totals[0].bit_length() - 1
    proof = certified.certificate
    certificate = Certificate(proof.notion, proof.epsilon, proof.delta, proof.ratio, proof.how, proof.tight, details)
    return _mechanism(request, certified.table, certificate)


def exact_cost(table: Table, request: Request) -> Fraction:
    """Return the cost of a table; irrational losses are taken as the doubles nearest to them."""
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
