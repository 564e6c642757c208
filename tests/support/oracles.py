"""General-purpose solvers that tests compare the product with. Each proves its own answer, or fails.

A solver's word that it converged is no proof: whether it does can depend on the processor (SLSQP said "successfully"
far from the minimum under some OpenBLAS kernels). So every answer here is shown to be feasible, and to be optimal by a
bound from the other side. Tests call these and not scipy's own; ``house/test_oracles.py`` reads the sources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, optimize, sparse

FloatArray = NDArray[np.float64]

#: How far a constraint may be missed, relative to its largest number.
FEASIBLE = 1e-7


class NotSolved(AssertionError):
    """The solver failed, and says nothing about the product."""


def _require(holds: bool, words: str) -> None:
    if not holds:
        raise NotSolved(words)


def convex_minimum(
    slopes: FloatArray,
    inside: FloatArray,
    equal: tuple[FloatArray, FloatArray],
    concave: Callable[[FloatArray], tuple[float, FloatArray]],
    tolerance: float,
) -> float:
    """The least ``slopes.x`` over x >= 0 with A x = b and c(x) >= 0 for a concave c, within the tolerance.

    By supporting hyperplanes (Veinott 1967): a linear program gives a lower bound and a point; where the segment from
    a point inside to it leaves c >= 0, the tangent of c is a new constraint, and the place itself a feasible point, so
    an upper bound. It ends when the two meet, and nothing else is believed.

    Parameters
    ----------
    slopes
        What is minimised.
    inside
        A point with A x = b and c(x) > 0.
    equal
        A and b.
    concave
        c and its gradient at a point.
    tolerance
        How far the bounds may be apart.
    """
    A, b = equal
    _require(bool(np.abs(A @ inside - b).max() <= FEASIBLE) and concave(inside)[0] > 0, "the point is not inside")
    cuts: list[FloatArray] = []
    sides: list[float] = []
    upper = float(slopes @ inside)
    for _ in range(400):
        lower, x = _solved_linear(
            slopes, A_ub=np.array(cuts) if cuts else None, b_ub=np.array(sides) if cuts else None, A_eq=A, b_eq=b
        )
        near, far = 0.0, 1.0  # shares of the way to x: c >= 0 at the first
        for _ in range(60):
            middle = (near + far) / 2
            near, far = (middle, far) if concave(inside + middle * (x - inside))[0] >= 0 else (near, middle)
        place = inside + near * (x - inside)
        upper = min(upper, float(slopes @ place))
        if upper - lower <= tolerance:
            return upper
        value, slope = concave(place)
        scale = float(np.abs(slope).max())
        cuts.append(-slope / scale)
        sides.append((value - float(slope @ place)) / scale)
    raise NotSolved(f"the minimum is only known to be between {lower} and {upper}")


def linear_minimum(cost: Any, *, A_ub: Any = None, b_ub: Any = None, A_eq: Any = None, b_eq: Any = None) -> float:
    """The least ``cost.x`` over x >= 0 with ``A_ub x <= b_ub`` and ``A_eq x = b_eq``: feasible, and proved by its dual.

    Both are checked in plain arithmetic: the point within the constraints, the prices with the right signs and no
    reduced cost below 0, and no gap between the two costs.
    """
    return _solved_linear(cost, A_ub=A_ub, b_ub=b_ub, A_eq=A_eq, b_eq=b_eq)[0]


def linear_minimum_if_any(
    cost: Any, *, A_ub: Any, b_ub: Any, A_eq: Any, b_eq: Any, tolerance: float = 1e-7
) -> float | None:
    """The same, or None where no x is feasible: proved by the least shortage, which is above 0 by its own dual.

    ``min t`` with ``A_ub x - t <= b_ub`` and ``-t <= A_eq x - b_eq <= t`` always has a solution.
    """
    A, b, E, e = (sparse.csr_array(A_ub), np.asarray(b_ub, float), sparse.csr_array(A_eq), np.asarray(b_eq, float))
    if optimize.linprog(cost, A, b, E, e, method="highs", options=_options(tolerance)).status != 2:
        return _solved_linear(cost, A_ub=A, b_ub=b, A_eq=E, b_eq=e, tolerance=tolerance)[0]
    rows = sparse.vstack([A, E, -E])
    short = sparse.hstack([rows, -np.ones((rows.shape[0], 1))]).tocsr()
    least = np.zeros(short.shape[1])
    least[-1] = 1.0
    sides = np.concatenate([b, e, -e])
    shortage = _solved_linear(least, A_ub=short, b_ub=sides, A_eq=None, b_eq=None)[0]
    _require(shortage > FEASIBLE, f"the solver found nothing, and only {shortage} is lacking")
    return None


def whole_minimum_if_any(cost: Any, whole: Any, *, A_ub: Any, b_ub: Any, A_eq: Any, b_eq: Any) -> float | None:
    """The least ``cost.x`` over x >= 0, some of them whole numbers; None if the search ended without any.

    The point is checked in plain arithmetic, and the search must have closed its own gap.
    """
    side, limit = np.asarray(b_eq, float), np.asarray(b_ub, float)
    constraints = [optimize.LinearConstraint(A_eq, side, side), optimize.LinearConstraint(A_ub, -np.inf, limit)]
    found = optimize.milp(cost, integrality=whole, options={"mip_rel_gap": 1e-9}, constraints=constraints)
    _require(found.status in (0, 2), f"the search did not end: {found.message}")
    if found.status == 2:
        return None
    x, unit = found.x, 1e-6 * max(1.0, float(np.abs(side).max()), float(np.abs(limit).max()))
    met = max(float(np.abs(A_eq @ x - side).max()), float((A_ub @ x - limit).max()), -float(x.min())) <= unit
    _require(met and float(np.abs((x - np.round(x))[np.asarray(whole) > 0]).max()) <= 1e-6, "a constraint is not met")
    _require(found.mip_gap <= 1e-9, f"the search left a gap of {found.mip_gap}")
    return float(found.fun)


def _options(tolerance: float) -> dict[str, float]:
    tight = min(tolerance, 1e-7)  # scipy's own default
    return {"primal_feasibility_tolerance": tight, "dual_feasibility_tolerance": tight}


def _solved_linear(
    cost: Any, *, A_ub: Any, b_ub: Any, A_eq: Any, b_eq: Any, tolerance: float = 1e-7
) -> tuple[float, FloatArray]:
    """The minimum and a point that has it; see :func:`linear_minimum`."""
    c = np.asarray(cost, float)
    found = optimize.linprog(c, A_ub, b_ub, A_eq, b_eq, method="highs", options=_options(tolerance))
    _require(found.status == 0 and found.success, f"the linear program was not solved: {found.message}")
    x = found.x
    reduced, dual = c.copy(), 0.0
    _require(bool(x.min() >= -FEASIBLE), "x is negative")
    for A, b, prices, equation in (
        (A_ub, b_ub, found.ineqlin.marginals, False),
        (A_eq, b_eq, found.eqlin.marginals, True),
    ):
        if A is None:
            continue
        A, b = A if sparse.issparse(A) else np.asarray(A, float), np.asarray(b, float)
        unit = FEASIBLE * max(1.0, float(np.abs(b).max()))
        over = A @ x - b
        _require(bool((np.abs(over) if equation else over).max() <= unit), "a constraint is not met")
        _require(equation or bool(prices.max() <= FEASIBLE), "a price has the wrong sign")
        reduced -= prices @ A
        dual += float(prices @ b)
    scale = max(1.0, float(np.abs(c).max()))
    _require(bool(reduced.min() >= -FEASIBLE * scale), "a reduced cost is negative")
    _require(abs(float(found.fun) - dual) <= 1e-9 * max(1.0, abs(dual)), "there is a gap to the dual")
    return float(found.fun), x


def plane_integral(
    density: Callable[[float, float], float], x: Sequence[float], y: Sequence[float], relative: float
) -> float:
    """The integral of a positive density over a rectangle, with an error below this share of it."""
    total, error = integrate.dblquad(density, *x, *y, epsabs=0, epsrel=relative)
    _require(np.isfinite(total) and total > 0 and error <= 10 * relative * total, f"{total} is known to {error} only")
    return float(total)
