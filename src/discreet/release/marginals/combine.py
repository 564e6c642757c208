"""Combine noisy signed marginals into tables that agree with each other, exactly.

Each residual is the average of its measurements with inverse variances. Parts of one measurement in different residuals
are uncorrelated, so this is least squares (Gauss-Markov). All numbers are rational: a table is an array of integers
over one denominator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm, prod

import numpy as np

from ...exact.arrays import Array, IntArray
from .signed import Columns, Margins, subsets


@dataclass(frozen=True)
class CombinedTable:
    """The combined counts of a table.

    Attributes
    ----------
    numerators
        An array of Python integers, an axis for each column.
    denominator
        What all of them are divided by.
    variance
        The variance of each cell, or an upper bound if the variances of the measurements are upper bounds.
    """

    numerators: Array
    denominator: int
    variance: Fraction


@dataclass(frozen=True, eq=False)
class MarginLeastSquares:
    """Least squares for signed marginals.

    Attributes
    ----------
    margins
        The tables.
    variances
        The variance of the noise of each measured signed marginal; zero for one that is known.
    """

    margins: Margins
    variances: Mapping[Columns, Fraction]

    @cached_property
    def _precisions(self) -> dict[Columns, dict[Columns, Fraction]]:
        """For each residual that is not known, the precision of its measurement by each marginal."""
        precisions: dict[Columns, dict[Columns, Fraction]] = {
            one: {} for one in self.margins.residuals if self.variances.get(one) != 0
        }
        for measured, variance in self.variances.items():
            for residual in self.margins.measured_by(measured):
                if variance and residual in precisions:
                    precisions[residual][measured] = self.margins.precision(measured, residual) / variance
        return precisions

    @cached_property
    def residual_variances(self) -> dict[Columns, Fraction]:
        """``sigma^2`` of each combined residual; zero for one that is known."""
        combined = {one: 1 / sum(parts.values(), Fraction(0)) for one, parts in self._precisions.items()}
        return {one: combined.get(one, Fraction(0)) for one in self.margins.residuals}

    def weights(self, residual: Columns) -> dict[Columns, Fraction]:
        """Return the weight of each measurement in the combined residual; their sum is one."""
        if residual not in self._precisions:
            return {residual: Fraction(1)}
        variance = self.residual_variances[residual]
        return {measured: precision * variance for measured, precision in self._precisions[residual].items()}

    def variance(self, table: Columns) -> Fraction:
        """Return the variance of a cell of a table."""
        return sum(
            (self.residual_variances[one] * self.margins.variance_share(table, one) for one in subsets(table)),
            Fraction(0),
        )

    def combine(self, measured: Mapping[Columns, IntArray]) -> dict[Columns, CombinedTable]:
        """Return the tables that these noisy signed marginals make.

        Parameters
        ----------
        measured
            The noisy counts of each signed marginal, in the dimensions of ``Margins.shape``.
        """
        residuals = {one: self._residual(one, measured) for one in self.margins.residuals}
        return {table: self._table(table, residuals) for table in self.margins.tables}

    def _residual(self, residual: Columns, measured: Mapping[Columns, IntArray]) -> tuple[Array, int]:
        """Return a residual on its larger columns without its signs, as integers over a denominator."""
        axes = self.margins.axes(residual)
        weights = self.weights(residual)
        denominator = lcm(*(weight.denominator for weight in weights.values()))
        total: Array = np.zeros(self.margins.shape(residual), dtype=object)
        for columns, weight in weights.items():
            places = [k for k, column in enumerate(self.margins.axes(columns)) if column not in axes]
            part = measured[columns].sum(axis=tuple(places)).astype(object)
            total = total + part * int(weight * denominator)
        for axis, column in enumerate(axes):  # n times the centring projection, in integers
            total = total * self.margins.sizes[column] - total.sum(axis=axis, keepdims=True)
        sizes = prod(self.margins.sizes[column] for column in axes)
        return np.asarray(total, dtype=object), denominator * sizes * 2 ** len(self.margins.signs(residual))

    def _table(self, table: Columns, residuals: Mapping[Columns, tuple[Array, int]]) -> CombinedTable:
        """Return the combined counts of one table."""
        parts = subsets(table)
        divisors = [
            residuals[one][1] * prod(self.margins.sizes[column] for column in set(table) - set(one)) for one in parts
        ]
        common = lcm(*divisors)
        total: Array = np.zeros([self.margins.sizes[column] for column in table], dtype=object)
        for one, divisor in zip(parts, divisors, strict=True):
            spread = self.margins.spread(residuals[one][0], one, table)
            total = total + spread * (common // divisor)
        return CombinedTable(np.asarray(total, dtype=object), common, self.variance(table))
