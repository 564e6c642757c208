"""``dc.bounded_noise``: unbiased integer noise of at most D, with the least true delta.

[S] is Sadeghi, Asoodeh, Calmon, *Differentially Private Mechanisms for Count Queries*. The closed forms are in
:mod:`discreet.mechanisms.bounded`; where they do not hold, the linear programs of :mod:`.programs` decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ...errors import InvalidInput, InWords, NotPrivate, arg, named
from ...exact.base import Kernel
from ...exact.integers import positive_integer
from ...exact.kernels import Noise
from ...exact.laws import Finite
from ...exact.rationals import Number, as_fraction, bound_up, float_down, read_epsilon, simplest_between, text_down
from ...exact.tables import Table
from ...mechanism import Mechanism, finish, read_count
from ...mechanisms.bounded import (
    PaperFormulas,
    closed_form_holds,
    moment,
    read_reach,
    read_stay,
    truncated_geometric_law,
    zeros_bound,
)
from ...privacy.verify import verify
from ...spaces import Counts, Integers, Space
from ...wording import find_name, listed
from ..lp.refinement import InfeasibleProgram
from .programs import NoiseLaws, NoiseRequirements, largest_stay, least_delta

KINDS = ("all-counts", "optimal", "sadeghi", "single-event")

#: Largest public lower bound of counts: with a larger one the noise would be the same.
MAX_LEAST = 100

#: Largest reach + js of the programs for small counts, which grow with the fourth power of the reach.
MAX_PROGRAM_REACH = 20

#: Upper limit of variances; its inverse is the lower one. Linear programs in doubles can then distinguish them.
MAX_VARIANCE = 10**18

#: Relative distance below the optimum at which the largest stay probability is taken, to have short numbers.
_DELTA_ROOM = Fraction(1, 2**30)


def bounded_noise(
    epsilon: Number,
    stay: Number | None = None,
    reach: Number | None = None,
    kind: str = "all-counts",
    *,
    variance: Number | None = None,
    delta: Number | None = None,
    js: int = 0,
    shared_from: int | None = None,
    least: int | None = None,
    largest: object = None,
    overshoot: bool = True,
    keep_zeros: bool = False,
) -> Mechanism:
    """Return unbiased integer noise of at most D, with a limit on its size.

    Reports are not negative, the mean error is zero and no error exceeds D; P(report = n | n) is eta for every count,
    or the variance has a limit. As the noise is bounded, some report exceeds epsilon; the certificate states epsilon
    and the delta at it, rounded up.

    Parameters
    ----------
    epsilon
        The epsilon at which delta is least.
    stay
        The probability eta of reporting the truth, the same for every count. Or give ``variance`` (eta then differs by
        count) or ``delta`` (eta is then as large as possible), or ``stay`` and ``variance``.
    reach
        The largest error D.
    kind
        "all-counts": one mechanism for every count from 0 on, own noise for counts below ``shared_from``, least true
        delta of all such noise. A count of 0 can only move up, so it alone is biased.
        "optimal": one law for counts from D on, least true delta. Closed form where it holds, else a linear program.
        "sadeghi": one law for counts from D on, that of [S] Definition 2.
        "single-event": separate noise for each of the counts 1..``largest``, the least delta of [S] (9)-(13), which
        considers one report at a time.
    variance
        The largest mean square error of every count. Without ``stay`` and ``delta`` the truth may be rare: a small
        count may be published as another number most of the time (``m.probability(1, 1)``).
    delta
        The largest true delta; eta is then as large as possible.
    js
        Reports 1..js never occur; counts 1..js then have no probability of the truth. For "all-counts".
    shared_from
        For "all-counts": the count from which on counts share one law, which is symmetric if that costs no delta. By
        default it is 2D (with ``js`` 2D + js + 1), and at least D (D + js + 1). A larger one can lower delta by some
        tenths of a percent.
    least
        For "optimal" and "sadeghi": a public lower bound of the counts, at least D, and D by default. Counts below it
        are raised to it, so that the guarantee holds for every count. It must be known without looking at the data:
        choosing this noise because a true count is large leaks that count.
    largest, overshoot
        For "single-event": the largest count N, and whether reports may exceed it (by up to D). If they may not, the
        count N, which can only move down, is biased. A count of 0 is treated as 1.
    keep_zeros
        True is refused, as zeros cannot be published unchanged: the message states the delta of that.

    Returns
    -------
    Mechanism
        Its certificate has this epsilon, the true delta at it, and in ``details`` the delta of single reports, the
        variance and the stay probability of the shared law, the proved lower bound of delta for all noise that meets
        the requirements (with one law from ``shared_from`` on), and for "sadeghi" delta* and the paper's (2D+1) delta*.

    References
    ----------
    [S]; the corrections are on the page of formulas.

    Examples
    --------
    >>> paper = bounded_noise(2.18, 0.8, 6, kind="sadeghi")
    >>> best = bounded_noise(2.5, 0.8, 6, kind="optimal")
    >>> every = bounded_noise(2.5, 0.8, 6)
    >>> [float(f"{m.certificate.delta:.4g}") for m in (paper, best, every)]
    [0.01537, 3.421e-07, 3.573e-07]
    >>> every.probability(0, 0), every.probability(9, 16)
    (Fraction(4, 5), Fraction(0, 1))
    """
    kind = find_name(kind, KINDS, "a kind of bounded noise", argument="kind")
    eps, D = read_epsilon(epsilon), read_reach(reach)
    eta = None if stay is None else read_stay(stay)
    limit, target = read_variance(variance), _read_delta(delta)
    gap = positive_integer(js, "js", least=0)
    _refuse_options(kind, eta, limit, target, gap, shared_from, least, largest, overshoot)
    refuse_hopeless_js(gap, D)
    if D + gap > MAX_PROGRAM_REACH and kind in ("all-counts", "single-event"):
        raise InvalidInput(
            f"{arg('kind', kind)} solves a linear program with about 10 (reach + js)^2 variables, for reach + js up to "
            f"{MAX_PROGRAM_REACH}; got {D + gap}. A larger reach hardly lowers delta further."
        )
    if keep_zeros:
        refuse_exact_zeros(eta or Fraction(0), D, gap)
    parameters: dict[str, Any] = {"epsilon": str(eps), "reach": D, "kind": kind}
    for name, value in (("stay", eta), ("variance", limit), ("delta", target)):
        if value is not None:
            parameters[name] = str(value)
    if gap:
        parameters["js"] = gap
    if kind == "single-event":
        top = read_count(largest)
        return _single_event(eps, eta, D, top, overshoot, parameters | {"largest": top, "overshoot": overshoot})
    if kind == "all-counts":
        shared = read_shared_from(shared_from, D, gap)
        if shared_from is not None:
            parameters["shared_from"] = shared
        stay_varies = eta is None and target is None  # without a requirement the stay may differ between counts
        return _all_counts(NoiseRequirements(eps, D, 0, shared, eta, stay_varies, limit, gap), target, parameters)
    floor = _read_least(least, D)
    return _large_counts(
        kind, NoiseRequirements(eps, D, D, D, eta, variance=limit), target, floor, parameters | {"least": floor}
    )


# ------------------------------------------------------------------------------------------------ arguments


def read_variance(variance: object) -> Fraction | None:
    """Read a limit of the variance, or None."""
    if variance is None:
        return None
    value = as_fraction(variance, "variance")
    if value <= 0:
        raise InvalidInput.must_be("variance", "positive", variance)
    if not Fraction(1, MAX_VARIANCE) <= value <= MAX_VARIANCE:
        raise InvalidInput.must_be("variance", "between 1e-18 and 1e18", InWords("another number"))
    return value


def _read_delta(delta: object) -> Fraction | None:
    if delta is None:
        return None
    value = as_fraction(delta, "delta")
    if not 0 < value < 1:
        raise InvalidInput.must_be(
            "delta",
            "strictly between 0 and 1",
            delta,
            "Bounded noise has no delta of zero: its largest report is impossible for the count below.",
        )
    return value


def _read_least(least: int | None, reach: int) -> int:
    if least is None:
        return reach
    value = positive_integer(least, "least", least=1)
    if not reach <= value <= MAX_LEAST:
        raise InvalidInput.must_be(
            "least",
            f"from reach = {reach} to {MAX_LEAST}",
            value,
            "The noise is the same for every bound from reach on; for smaller counts take "
            f"{arg('kind', 'all-counts')}.",
            meaning="the public lower bound of the counts",
        )
    return value


def _refuse_options(
    kind: str,
    stay: object,
    variance: object,
    delta: object,
    js: int,
    shared_from: object,
    least: object,
    largest: object,
    overshoot: bool,
) -> None:
    """Refuse options that would be ignored, and options that leave the noise undetermined."""
    if delta is not None and stay is not None:
        raise InvalidInput(f"give {arg('stay')}, or {arg('delta')} (stay is then as large as it can be), not both.")
    if stay is None and variance is None and delta is None:
        raise InvalidInput(
            f"give {arg('stay')} (the probability of the truth), {arg('variance')} or {arg('delta')}: something must "
            "limit the noise."
        )
    if kind in ("sadeghi", "single-event") and (stay is None or variance is not None):
        raise InvalidInput(f"{arg('kind', kind)} is determined by epsilon, stay and reach alone.")
    if js and kind != "all-counts":
        raise InvalidInput(
            f"{named('js')}, reports that are never given, is for {arg('kind', 'all-counts')}; got {arg('kind', kind)}."
        )
    if shared_from is not None and kind != "all-counts":
        raise InvalidInput(f"{named('shared_from')} is for {arg('kind', 'all-counts')}; got {arg('kind', kind)}.")
    if least is not None and kind not in ("optimal", "sadeghi"):
        raise InvalidInput(
            f"{named('least')} is for the kinds 'optimal' and 'sadeghi'; {kind!r} serves small counts as they are."
        )
    if (largest is None) == (kind == "single-event"):
        raise InvalidInput(
            f"{named('largest')}, the largest count N, goes with {arg('kind', 'single-event')} and with no other."
        )
    if not overshoot and kind != "single-event":
        raise InvalidInput(
            f"{arg('overshoot', False)} goes with {arg('kind', 'single-event')}, which knows a largest count."
        )


def read_shared_from(shared_from: int | None, reach: int, js: int) -> int:
    """Return the count from which on all counts share one law."""
    gap = js + 1 if js else 0
    if shared_from is None:
        return 2 * reach + gap
    value = positive_integer(shared_from, "shared_from", least=1)
    low, high = reach + gap, 4 * (reach + gap)
    if not low <= value <= high:
        raise InvalidInput.must_be(
            "shared_from", f"from {low}, below which a count has less room to move down, to {high}", value
        )
    return value


def refuse_hopeless_js(js: int, reach: int) -> None:
    """Refuse a gap that small counts cannot cross: 0 must reach js + 1, or it would get no noise."""
    if js >= reach:
        raise InvalidInput.must_be("js", f"below reach = {reach}, so that a count of 0 can leave the gap", js)


def refuse_exact_zeros(stay: Fraction, reach: int, js: int = 0) -> None:
    """Refuse to publish zeros without noise, with the delta of that in the message."""
    bound = zeros_bound(Fraction(0) if js else stay, reach)
    raise NotPrivate(
        f"zeros cannot be published as they are: delta would be at least {text_down(bound)} at every epsilon, (1 + D "
        "eta)/(D + 1). A count of 1 with unbiased noise is published as something above 0 at least that often, and "
        "a count of 0 never.",
        f"Leave {named('keep_zeros')} out: a count of 0 then gets noise of its own.",
    )


# ------------------------------------------------------------------------------------------------ the kinds


def solve(requirements: NoiseRequirements, delta: Fraction | None) -> tuple[NoiseLaws, NoiseRequirements]:
    """Return the laws, and their requirements with the largest stay for a delta filled in."""
    limit = requirements.variance
    try:
        solution, requirements = (
            (least_delta(requirements), requirements) if delta is None else _largest_stay(requirements, delta)
        )
    except InfeasibleProgram:
        raise impossible(requirements, delta) from None
    if limit is not None and any(moment(law, 2) > limit for law in solution.laws):
        raise impossible(requirements, delta)  # by an amount below the precision of floats
    return solution, requirements


def _largest_stay(requirements: NoiseRequirements, delta: Fraction) -> tuple[NoiseLaws, NoiseRequirements]:
    """Return the noise with the largest stay for this delta, reduced slightly until the delta truly holds."""
    best = largest_stay(requirements, delta * (1 - _DELTA_ROOM))
    for room in (_DELTA_ROOM, _DELTA_ROOM * 2**10, _DELTA_ROOM * 2**18):
        stay = simplest_between(best * (1 - room), best * (1 - room / 2)) if best > 0 else Fraction(0)
        if not 0 < stay < 1:
            break
        solution = least_delta(replace(requirements, stay=stay))
        if solution.value <= delta:
            return solution, replace(requirements, stay=stay)
    raise InfeasibleProgram()


def impossible(requirements: NoiseRequirements, delta: Fraction | None, where: str = "") -> InvalidInput:
    """Return the error when no noise meets the requirements; ``where`` begins the sentence."""
    limits = [f"reach = {requirements.reach}", f"epsilon = {float(requirements.epsilon):g}"]
    if requirements.stay is not None and delta is None:
        limits.append(f"stay = {float(requirements.stay):g}")
    if requirements.variance is not None:
        limits.append(f"variance = {float(requirements.variance):g}")
    if requirements.js:
        limits.append(f"js = {requirements.js}")
    if delta is not None:
        limits.append(f"delta = {float(delta):g}")
    hint = "a larger variance" if requirements.variance is not None else "a larger delta or a larger reach"
    return InvalidInput(f"{where}no unbiased noise meets {listed(limits)} together.", f"Allow {hint}.")


def _figures(kernel: Kernel, inputs: Space, epsilon: Fraction, law: Finite) -> dict[str, Any]:
    """Return the figures of every kind other than its true delta."""
    subject = _Subject(kernel, inputs)
    return {
        "single_event_delta": verify(subject, "central").single_event_delta(epsilon),
        "variance": float(moment(law, 2)),
        "stay": float(law.probability(0)),
    }


@dataclass(frozen=True)
class _Subject:
    """A kernel and its truths, for the judge."""

    kernel: Kernel
    inputs: Space


def _all_counts(requirements: NoiseRequirements, delta: Fraction | None, parameters: dict[str, object]) -> Mechanism:
    solution, requirements = solve(requirements, delta)
    space = Integers(low=0)
    *small_counts, law = solution.laws
    kernel = Noise(law, (0, None), (0, None), tuple(small_counts))
    details = _figures(kernel, space, requirements.epsilon, law) | {"lower_bound": abs(float_down(solution.bound))}
    eps = requirements.epsilon
    return finish("bounded_noise", space, space, kernel, parameters, epsilon=eps, with_delta=True, details=details)


def _large_counts(
    kind: str, requirements: NoiseRequirements, delta: Fraction | None, least: int, parameters: dict[str, object]
) -> Mechanism:
    eps, D, eta = requirements.epsilon, requirements.reach, requirements.stay
    details: dict[str, Any] = {}
    if kind == "sadeghi":
        assert eta is not None
        paper = PaperFormulas(eps, eta, D)
        law = paper.law
        details = {
            "delta_star": bound_up(paper.delta_star),
            "printed_delta_star": bound_up(paper.printed_delta_star),
            "paper_bound": bound_up(paper.bound),
            "k": paper.k,
        }
    elif eta is not None and requirements.variance is None and closed_form_holds(eps, eta, D):
        law = truncated_geometric_law(eps, eta, D)
        details = {"closed_form": True}
    else:
        solution, requirements = solve(requirements, delta)
        law = solution.laws[-1]
        details = {"closed_form": False, "lower_bound": abs(float_down(solution.bound))}
    # a count below the bound is raised to it: its noise is the shared law, moved up
    small_counts = tuple(Finite(law.low + least - n, law.weights) for n in range(least))
    space = Integers(low=0)
    kernel = Noise(law, (0, None), (0, None), small_counts)
    details = _figures(kernel, space, eps, law) | details
    return finish("bounded_noise", space, space, kernel, parameters, epsilon=eps, with_delta=True, details=details)


def _single_event(
    epsilon: Fraction, stay: Fraction | None, reach: int, top: int, overshoot: bool, parameters: dict[str, object]
) -> Mechanism:
    if top < 2:
        raise InvalidInput.must_be("largest", "at least 2: a mechanism for one count has nothing to hide", top)
    ceiling = None if overshoot else top
    requirements = NoiseRequirements(epsilon, reach, 1, top, stay, largest=True, ceiling=ceiling, single_event=True)
    solution, requirements = solve(requirements, None)
    reports = top + reach if overshoot else top
    scale = max(law.total for law in solution.laws)
    rows = []
    for n, law in enumerate(solution.laws, 1):
        rows.append([0] * (n + law.low) + [w * (scale // law.total) for w in law.weights])
        rows[-1] += [0] * (reports + 1 - len(rows[-1]))
    kernel = Table.from_rows([rows[0], *rows])  # a count of 0 is treated as if it were 1
    inputs, outputs = Counts(top), Counts(reports)
    middle = solution.laws[len(solution.laws) // 2]
    details = _figures(kernel, inputs, epsilon, middle) | {"delta_star": bound_up(solution.value)}
    return finish(
        "bounded_noise", inputs, outputs, kernel, parameters, epsilon=epsilon, with_delta=True, details=details
    )
