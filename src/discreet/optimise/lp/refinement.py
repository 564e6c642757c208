"""Linear programs solved to many digits: floats find the vertex, integers compute it.

A solver in floats finds *which* variables are zero at the optimum (the basis) long before it knows many digits of the
others: its tolerances are 1e-10 at best, and a delta of 1e-9 needs more. So

1. the equations of the basis are solved by iterative refinement: a float factorisation corrects, residuals are computed
   in integers, and every round adds about ten digits. The same factorisation gives the dual values;
2. if this vertex or its dual values are infeasible by some tiny amount, the program is moved to that vertex, magnified
   until the amount is visible in floats, and solved again from there (Gleixner, Steffy, Wolter 2016);
3. the dual values prove a lower bound of the optimum, independently of the solver.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...errors import Unsupported
from ...exact.arrays import FloatArray
from .highs import SMALL_COEFFICIENTS, TIGHT_TOLERANCES, Basis, Highs, LinearModel, SparseRows, Status

#: Bits after the point of computed values.
BITS = 320

#: Additional bits of residuals.
_GUARD_BITS = 32

#: Largest violation of an optimal vertex, in units of the size of each variable.
_OPTIMALITY_TOLERANCE = 1e-24

#: Maximum number of rounds of refinement; each adds at least ten bits unless the basis is nearly singular.
_MAX_ROUNDS = 40

#: Maximum number of magnifications of a vertex, and the largest factor from one to the next.
_MAX_MAGNIFICATIONS, _MAX_MAGNIFICATION_FACTOR = 6, 1e9


class InfeasibleProgram(Unsupported):
    """No choice of the variables satisfies all constraints."""

    def __init__(self) -> None:
        super().__init__("the linear program is infeasible: no choice satisfies all constraints.")


@dataclass(frozen=True)
class ExactSolution:
    """The best values of the variables, their cost, and a lower bound of the cost of all choices.

    Attributes
    ----------
    values
        The values of the variables: nonnegative multiples of 2^-BITS.
    cost
        The cost of these values.
    bound
        A proved lower bound of the cost of any choice with no variable above its upper bound.
    """

    values: tuple[Fraction, ...]
    cost: Fraction
    bound: Fraction


@dataclass(frozen=True)
class _Vertex:
    """A basis, its exact values and its exact dual values (one for each row)."""

    basis: Basis
    values: list[Fraction]
    duals: list[Fraction]
    reduced: list[Fraction]

    def primal_violation(self, sizes: list[float]) -> float:
        """Return the size of the most negative value."""
        return max((float(-x) / sizes[j] for j, x in enumerate(self.values) if x < 0), default=0.0)

    def dual_violation(self, sizes: list[float]) -> float:
        """Return the size of the most negative reduced cost."""
        return max((float(-d) * sizes[j] for j, d in enumerate(self.reduced) if d < 0), default=0.0)

    def violation(self, sizes: list[float]) -> float:
        return max(self.primal_violation(sizes), self.dual_violation(sizes))


class ExactProgram:
    """A linear program, min c x subject to equalities and upper bounds, x >= 0, with exact coefficients."""

    def __init__(self) -> None:
        self._sizes: list[float] = []
        self._upper: list[Fraction] = []
        self._rows: list[dict[int, Fraction]] = []
        self._sides: list[Fraction] = []
        self._loosest: dict[int, Fraction] = {}
        self._cost: dict[int, Fraction] = {}

    def variable(self, size: float = 1.0, upper: Fraction = Fraction(1)) -> int:
        """Add a variable, at least 0, and return its number.

        ``size`` is its approximate size at the optimum: floats work on multiples of it. ``upper`` is its upper bound;
        only the proved bound relies on it.
        """
        self._sizes.append(size)
        self._upper.append(upper)
        return len(self._sizes) - 1

    def equal(self, coefficients: Mapping[int, Any], side: Any = 0) -> None:
        self._rows.append({j: Fraction(a) for j, a in coefficients.items() if a})
        self._sides.append(Fraction(side))

    def at_most(self, coefficients: Mapping[int, Any], side: Any = 0, loosest: Any = None) -> None:
        """Limit a combination by ``side``. The proved bound also holds for choices within ``loosest``, if given."""
        size = max(abs(float(a)) * self._sizes[j] for j, a in coefficients.items())
        if loosest is not None:
            self._loosest[len(self._rows)] = Fraction(loosest)
        upper = abs(Fraction(side if loosest is None else loosest)) + sum(
            (abs(Fraction(a)) * self._upper[j] for j, a in coefficients.items()), Fraction(0)
        )
        slack = self.variable(size or 1.0, upper)
        self.equal({**coefficients, slack: 1}, side)

    def minimise(self, coefficients: Mapping[int, Any]) -> None:
        self._cost = {j: Fraction(a) for j, a in coefficients.items() if a}

    def equations(self) -> tuple[list[dict[int, Fraction]], list[Fraction], int]:
        """Return the rows with their slack variables, the right sides, and the number of variables."""
        return self._rows, self._sides, len(self._sizes)

    # ---------------------------------------------------------------- solving

    def solve(self) -> ExactSolution:
        """Return the optimum.

        Raises
        ------
        InfeasibleProgram
            If no choice satisfies all constraints.
        """
        floats = _Floats(self._rows, np.array(self._sizes))
        sizes = self._sizes
        cost = [self._cost.get(j, Fraction(0)) for j in range(len(sizes))]
        basis = floats.solve(cost, self._sides, [Fraction(0)] * len(sizes))
        vertex = best = self._vertex(floats, basis, cost)
        primal = dual = 1.0
        for _ in range(_MAX_MAGNIFICATIONS):
            if vertex.violation(sizes) <= _OPTIMALITY_TOLERANCE:
                break
            primal, dual = (
                min(1 / worst, before * _MAX_MAGNIFICATION_FACTOR) if worst else before
                for worst, before in ((vertex.primal_violation(sizes), primal), (vertex.dual_violation(sizes), dual))
            )
            near = [d * Fraction(dual) for d in vertex.reduced], [-x * Fraction(primal) for x in vertex.values]
            try:
                vertex = self._vertex(floats, floats.solve_near(*near, vertex.basis), cost)
            except Unsupported:  # keep the best vertex so far
                break
            best = min(best, vertex, key=lambda v: v.violation(sizes))
        vertex = best
        values = [max(x, Fraction(0)) for x in vertex.values]
        worth = sum((a * values[j] for j, a in self._cost.items()), Fraction(0))
        return ExactSolution(tuple(values), worth, self._bound(vertex))

    def _vertex(self, floats: _Floats, basis: Basis, cost: list[Fraction]) -> _Vertex:
        """Return the exact values and dual values that belong to a basis."""
        # the variables in the basis, and the rows that determine them
        columns, rows = np.flatnonzero(basis.columns).tolist(), np.flatnonzero(~basis.rows).tolist()
        column_place, row_place = {j: k for k, j in enumerate(columns)}, {i: k for k, i in enumerate(rows)}
        system: list[dict[int, Fraction]] = [{} for _ in rows]
        transposed: list[dict[int, Fraction]] = [{} for _ in columns]
        for i in rows:
            for j, a in self._rows[i].items():
                if j in column_place:
                    system[row_place[i]][column_place[j]] = a
                    transposed[column_place[j]][row_place[i]] = a
        sizes, scale = floats.sizes[columns], floats.scale[rows]
        unknowns = solve_exactly(system, [self._sides[i] for i in rows], scale, sizes)
        dual_values = solve_exactly(transposed, [cost[j] for j in columns], 1 / sizes, 1 / scale)
        if unknowns is None or dual_values is None:
            raise Unsupported("the linear program was not solved: its basis is singular in floats.")
        values, duals, reduced = [Fraction(0)] * len(self._sizes), [Fraction(0)] * len(self._rows), list(cost)
        for j, x in zip(columns, unknowns, strict=True):
            values[j] = x
        for i, y in zip(rows, dual_values, strict=True):
            duals[i] = y
            for j, a in self._rows[i].items():
                reduced[j] -= y * a
        for j in columns:
            reduced[j] = Fraction(0)  # up to the last bit
        return _Vertex(basis, values, duals, reduced)

    def _bound(self, vertex: _Vertex) -> Fraction:
        """Return b y + negative reduced costs times upper bounds of x: by weak duality a lower bound, for any y."""
        reduced = [self._cost.get(j, Fraction(0)) for j in range(len(self._sizes))]
        for i, y in enumerate(vertex.duals):
            for j, a in self._rows[i].items():
                reduced[j] -= y * a
        sides = [self._loosest.get(i, b) for i, b in enumerate(self._sides)]
        worth = sum((y * b for y, b in zip(vertex.duals, sides, strict=True)), Fraction(0))
        return worth + sum((d * self._upper[j] for j, d in enumerate(reduced) if d < 0), Fraction(0))


class _Floats:
    """The matrix in floats, with variables in units of their sizes and rows divided by their largest coefficients."""

    def __init__(self, rows: Sequence[Mapping[int, Fraction]], sizes: FloatArray) -> None:
        self.sizes = sizes
        starts = np.cumsum([0, *(len(row) for row in rows)])
        index = np.array([j for row in rows for j in row], np.int32)
        value = np.array([float(a) for row in rows for a in row.values()]) * sizes[index]
        self.scale = np.maximum.reduceat(np.abs(value), starts[:-1])
        self.rows = SparseRows.of(starts, index, value / np.repeat(self.scale, np.diff(starts)))

    def solve(
        self, cost: Sequence[Fraction], sides: Sequence[Fraction], lower: Sequence[Fraction], start: Basis | None = None
    ) -> Basis:
        """Return the optimal basis of min cost x, A x = sides, x >= lower, in floats, starting from ``start``."""
        scaled_cost = np.array([float(c) for c in cost]) * self.sizes
        right = np.array([float(b) for b in sides]) / self.scale
        solver = Highs({**SMALL_COEFFICIENTS, **TIGHT_TOLERANCES, "solver": "simplex"})
        solver.load(
            LinearModel(
                scaled_cost / (1.0 if start is not None else np.abs(scaled_cost).max() or 1.0),
                np.maximum(np.array([float(x) for x in lower]) / self.sizes, -1e12),
                np.full(len(self.sizes), np.inf),
                self.rows, right, right,
            )
        )  # fmt: skip
        if start is not None:
            solver.start_at(start)
        status = solver.run()
        if status is Status.INFEASIBLE and start is None:
            raise InfeasibleProgram()
        if status is not Status.OPTIMAL:
            raise Unsupported(f"the linear program was not solved: {solver.reason}.")
        return solver.basis()

    def solve_near(self, cost: Sequence[Fraction], lower: Sequence[Fraction], start: Basis) -> Basis:
        """Return the optimal basis of a program that was moved to a vertex, from its basis if possible."""
        sides = [Fraction(0)] * len(self.scale)
        try:
            return self.solve(cost, sides, lower, start)
        except Unsupported:
            return self.solve(cost, sides, lower)


def solve_exactly(
    system: list[dict[int, Fraction]], sides: list[Fraction], row_sizes: FloatArray, column_sizes: FloatArray
) -> list[Fraction] | None:
    """Return the solution of sparse equations to :data:`BITS` bits after the point; None if singular in floats.

    Parameters
    ----------
    system, sides
        The coefficients of each equation by unknown, and its right side.
    row_sizes, column_sizes
        The divisor of each equation, and the unit of each unknown, for the floats.
    """
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    size = len(system)
    if not size:
        return []
    i = np.array([k for k, row in enumerate(system) for _ in row])
    j = np.array([c for row in system for c in row])
    a = np.array([float(x) for row in system for x in row.values()])
    scaled = csc_array((a * column_sizes[j] / row_sizes[i], (i, j)), shape=(size, size))
    try:
        factors = splu(scaled)
    except RuntimeError:  # exactly singular
        return None
    # every equation in integers: residuals are then exact
    common = [
        math.lcm(b.denominator, *(x.denominator for x in row.values())) for row, b in zip(system, sides, strict=True)
    ]
    whole = [[(c, int(x * d)) for c, x in row.items()] for row, d in zip(system, common, strict=True)]
    target = [int(b * d) << BITS for b, d in zip(sides, common, strict=True)]
    # residuals in units of the size of their rows, so that none is lost next to another
    exponent = [_GUARD_BITS - math.frexp(s)[1] for s in row_sizes.tolist()]
    lift, drop = [max(e, 0) for e in exponent], [max(-e, 0) for e in exponent]
    weight = np.array([math.ldexp(1 / s, -e) for s, e in zip(row_sizes.tolist(), exponent, strict=True)])
    values = [0] * size
    before = None
    for _ in range(_MAX_ROUNDS):
        residual = [
            (b - sum(x * values[c] for c, x in row) << up) // (d << down)
            for row, b, d, up, down in zip(whole, target, common, lift, drop, strict=True)
        ]
        longest = max(abs(r).bit_length() for r in residual)
        if longest <= _GUARD_BITS or (before is not None and longest >= before):
            break
        before, shift = longest, max(0, longest - 60)
        correction = factors.solve(np.array([float(r >> shift) for r in residual]) * weight) * column_sizes
        if not np.isfinite(correction).all():
            return None
        for k, x in enumerate(correction.tolist()):
            numerator, denominator = x.as_integer_ratio()
            values[k] += (numerator << shift) // denominator
    return [Fraction(x, 1 << BITS) for x in values]
