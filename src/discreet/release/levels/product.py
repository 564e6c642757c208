"""Least squares on a cross product, in closed form: any levels, also overlapping ones such as those of CUBE.

Let x be the leaves, ``Q_S`` the sums of level S and ``y_S = Q_S x + noise`` its measurements, all with variance
``v_S``. The normal matrix is ``A = sum_S Q_S' Q_S / v_S``. With ``n(U)`` the number of combinations of the columns in U
and ``U^c`` the columns that are not in it, ``Q_S' Q_S = n(S^c) P_S``, where ``P_S`` replaces each leaf by the mean over
the leaves with the same values of S. These projections commute, and ``P_S P_T = P_(S and T)``. On the family F of all
intersections of levels, ``E_C = P_C - sum of E_D over D in F below C`` are orthogonal projections, and

    A = sum_C lambda_C E_C,    lambda_C = sum over S above C of n(S^c) / v_S,

so that ``A^-1 = sum_C E_C / lambda_C = sum_C kappa_C P_C``. Everything is rational where the variances are. This is the
analysis of variance of a balanced design (Scheffe 1959), with known variances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm, prod

import numpy as np

from ...exact.arrays import Array, FloatArray
from .shape import Shape

Set = frozenset[int]


@dataclass(frozen=True, eq=False)
class ProductLeastSquares:
    """Least squares for the levels of a cross product without structural zeros.

    Attributes
    ----------
    shape
        The groups and their levels.
    variances
        The variance of a measurement of each level.
    """

    shape: Shape
    variances: tuple[Fraction, ...]

    @cached_property
    def _levels(self) -> list[Set]:
        return [frozenset(columns) for columns in self.shape.levels]

    @cached_property
    def family(self) -> list[Set]:
        """All intersections of levels, those with fewer columns first."""
        family = set(self._levels)
        while True:
            more = {one & other for one in family for other in family} - family
            if not more:
                return sorted(family, key=lambda one: (len(one), sorted(one)))
            family |= more

    def number(self, left_out: Set) -> int:
        """n(U^c): how many combinations of the columns that are not in U there are."""
        return prod(length for k, length in enumerate(self.shape.lengths) if k not in left_out)

    def moebius(self, top: Set) -> dict[Set, int]:
        """``E_C`` as a sum of means: the factors of ``P_D`` for all D in the family that are not above C."""
        found = {top: 1}
        for below in sorted((one for one in self.family if one < top), key=len, reverse=True):
            found[below] = -sum(value for one, value in found.items() if below < one)
        return found

    @cached_property
    def _means(self) -> dict[Set, Fraction]:
        """kappa_C: the inverse of the normal matrix as a sum of means."""
        weights = dict(zip(self._levels, self.variances, strict=True))
        inverse = {
            one: 1 / sum((self.number(level) / v for level, v in weights.items() if one <= level), Fraction(0))
            for one in self.family
        }
        kappa = {one: Fraction(0) for one in self.family}
        for top in self.family:
            for one, value in self.moebius(top).items():
                kappa[one] += value * inverse[top]
        return kappa

    @cached_property
    def coefficients(self) -> dict[tuple[Set, int], Fraction]:
        """``g[R, S]``: what the sum of a measured level S over the cells with the same values of R adds to a leaf."""
        found: dict[tuple[Set, int], Fraction] = {}
        for k, level in enumerate(self._levels):
            for one, kappa in self._means.items():
                both = one & level
                share = kappa * Fraction(self.number(one | level), self.number(one)) / self.variances[k]
                found[both, k] = found.get((both, k), Fraction(0)) + share
        return {place: value for place, value in found.items() if value}

    def level_variances(self) -> list[Fraction]:
        """The variance of every combined count of each level."""
        found = []
        for level in self._levels:
            terms = (
                kappa * Fraction(self.number(level) * self.number(level | one), self.number(one))
                for one, kappa in self._means.items()
            )
            found.append(sum(terms, Fraction(0)))
        return found

    def node_variances(self) -> list[FloatArray]:
        """The same for each node, as doubles."""
        return [np.full(size, float(v)) for size, v in zip(self.shape.sizes, self.level_variances(), strict=True)]

    def leaves(self, measured: Sequence[Array]) -> tuple[Array, int]:
        """The combined leaves as integers over one denominator, exactly."""
        common = lcm(*(value.denominator for value in self.coefficients.values()))
        whole = {place: int(value * common) for place, value in self.coefficients.items()}
        return self._applied(measured, whole, exact=True), common

    def float_leaves(self, measured: Sequence[FloatArray]) -> FloatArray:
        """The combined leaves in doubles."""
        floats = {place: float(value) for place, value in self.coefficients.items()}
        return self._applied(measured, floats, exact=False)

    def _applied(
        self, measured: Sequence[Array], coefficients: dict[tuple[Set, int], int] | dict[tuple[Set, int], float],
        exact: bool,
    ) -> Array:  # fmt: skip
        lengths, rest = self.shape.lengths, measured[0].shape[1:]
        grids: dict[Set, Array] = {}
        for (kept, k), weight in coefficients.items():
            own = [length if column in self._levels[k] else 1 for column, length in enumerate(lengths)]
            grid = measured[k].reshape(*own, *rest)
            axes = tuple(column for column in self._levels[k] if column not in kept)
            summed = grid.sum(axis=axes, keepdims=True) if axes else grid
            part = (summed.astype(object) if exact else summed) * weight
            grids[kept] = grids[kept] + part if kept in grids else part
        total: Array = np.zeros((1,) * len(lengths) + (1,) * len(rest), dtype=object if exact else np.float64)
        for kept in sorted(grids, key=len):  # small ones first, so that leaves are added to once
            total = total + grids[kept]
        return np.broadcast_to(total, (*lengths, *rest)).reshape(self.shape.groups.size, *rest)
