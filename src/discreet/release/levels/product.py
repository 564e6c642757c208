"""Least squares on a cross product, in closed form: any levels, also overlapping ones such as those of CUBE.

Let x be the leaves, ``Q_S`` the sums of level S and ``y_S = Q_S x + noise`` its measurements, each with variance
``v_S``. The normal matrix is ``A = sum_S Q_S' Q_S / v_S``. With ``n(U)`` the number of combinations of the columns in U
and ``U^c`` the columns that are not in it, ``Q_S' Q_S = n(S^c) P_S``, where ``P_S`` replaces each leaf by the mean over
the leaves with the same values of S. These projections commute, and ``P_S P_T = P_(S and T)``. On the family F of all
intersections of levels, ``E_C = P_C - sum of E_D over D in F below C`` are orthogonal projections, and

    A = sum_C lambda_C E_C,    lambda_C = sum over S above C of n(S^c) / v_S,

so ``A^-1 = sum_C E_C / lambda_C = sum_C kappa_C P_C``. Rational variances give a rational solution. This is the
analysis of variance of a balanced design (Scheffe 1959) with known variances.
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
        """All intersections of levels, by ascending number of columns."""
        family = set(self._levels)
        while True:
            more = {one & other for one in family for other in family} - family
            if not more:
                return sorted(family, key=lambda one: (len(one), sorted(one)))
            family |= more

    def size_without(self, columns: Set) -> int:
        """Return n(U^c), the number of combinations of the columns that are not in U."""
        return prod(length for k, length in enumerate(self.shape.lengths) if k not in columns)

    def moebius(self, top: Set) -> dict[Set, int]:
        """Return the factors of the means ``P_D`` in ``E_C``, for all D in the family within C."""
        factors = {top: 1}
        for below in sorted((one for one in self.family if one < top), key=len, reverse=True):
            factors[below] = -sum(value for one, value in factors.items() if below < one)
        return factors

    @cached_property
    def _means(self) -> dict[Set, Fraction]:
        """kappa_C: the factors of the means in the inverse of the normal matrix."""
        weights = dict(zip(self._levels, self.variances, strict=True))
        inverse = {
            one: 1 / sum((self.size_without(level) / v for level, v in weights.items() if one <= level), Fraction(0))
            for one in self.family
        }
        kappa = {one: Fraction(0) for one in self.family}
        for top in self.family:
            for one, value in self.moebius(top).items():
                kappa[one] += value * inverse[top]
        return kappa

    @cached_property
    def coefficients(self) -> dict[tuple[Set, int], Fraction]:
        """``g[R, S]``: the weight in a leaf of the sum of level S over the cells with the leaf's values of R."""
        weights: dict[tuple[Set, int], Fraction] = {}
        for k, level in enumerate(self._levels):
            for one, kappa in self._means.items():
                both = one & level
                share = kappa * Fraction(self.size_without(one | level), self.size_without(one)) / self.variances[k]
                weights[both, k] = weights.get((both, k), Fraction(0)) + share
        return {key: value for key, value in weights.items() if value}

    def level_variances(self) -> list[Fraction]:
        """Return the variance of a combined count of each level."""
        variances = []
        for level in self._levels:
            terms = (
                kappa * Fraction(self.size_without(level) * self.size_without(level | one), self.size_without(one))
                for one, kappa in self._means.items()
            )
            variances.append(sum(terms, Fraction(0)))
        return variances

    def node_variances(self) -> list[FloatArray]:
        """Return the variance of the combined count of each node, as doubles."""
        return [np.full(size, float(v)) for size, v in zip(self.shape.sizes, self.level_variances(), strict=True)]

    def leaves(self, measured: Sequence[Array]) -> tuple[Array, int]:
        """Return the exact combined leaves, as integers and their common denominator."""
        common = lcm(*(value.denominator for value in self.coefficients.values()))
        weights = {key: int(value * common) for key, value in self.coefficients.items()}
        return self._weighted_sum(measured, weights, exact=True), common

    def float_leaves(self, measured: Sequence[FloatArray]) -> FloatArray:
        """Return the combined leaves in doubles."""
        weights = {key: float(value) for key, value in self.coefficients.items()}
        return self._weighted_sum(measured, weights, exact=False)

    def _weighted_sum(
        self, measured: Sequence[Array], coefficients: dict[tuple[Set, int], int] | dict[tuple[Set, int], float],
        exact: bool,
    ) -> Array:  # fmt: skip
        """Return the leaves that these coefficients make of the measurements."""
        lengths, rest = self.shape.lengths, measured[0].shape[1:]
        grids: dict[Set, Array] = {}
        for (kept, k), weight in coefficients.items():
            dimensions = [length if column in self._levels[k] else 1 for column, length in enumerate(lengths)]
            grid = measured[k].reshape(*dimensions, *rest)
            axes = tuple(column for column in self._levels[k] if column not in kept)
            summed = grid.sum(axis=axes, keepdims=True) if axes else grid
            part = (summed.astype(object) if exact else summed) * weight
            grids[kept] = grids[kept] + part if kept in grids else part
        total: Array = np.zeros((1,) * len(lengths) + (1,) * len(rest), dtype=object if exact else np.float64)
        for kept in sorted(grids, key=len):  # smallest first, so that the full array is added to once
            total = total + grids[kept]
        return np.broadcast_to(total, (*lengths, *rest)).reshape(self.shape.groups.size, *rest)
