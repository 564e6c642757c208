"""Signed marginals: what is measured so that many tables can be put together from it.

Let column i have ``n_i`` declared values. The *signed marginal* of a set B of columns is a table over the columns of B
with more than two values, in which a person counts +1 or -1: the sign changes with each binary column of B in which
they have the second value. A person is in one cell and counts one, so the sensitivity of a signed marginal is that of a
plain table of counts.

Write ``r_A`` (the *residual* of A) for the part of the data that is centred in every column of A and summed over all
others. The residuals of different sets are orthogonal, and a cell of the table B is

    sum over A within B of r_A / product of n_j over B - A.

The signed marginal of B, with binary columns P, measures ``r_A`` for each A between P and B. With noise of variance s
the covariance of that measurement is ``sigma^2`` times the centring projection of A, with

    1 / sigma^2 = 2^|P| / (s * product of n_j over B - A).

So least squares is an average with inverse variances for each residual alone. The best matrix mechanism for marginals,
with continuous noise, is ResidualPlanner (arXiv 2305.08175), which measures the residuals themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np

from ...exact.arrays import Array, IntArray

#: A set of columns: their indices in ascending order.
Columns = tuple[int, ...]


def subsets(columns: Columns, size: int | None = None) -> list[Columns]:
    """Return all subsets, smallest first, or those of one size.

    >>> subsets((0, 2))
    [(), (0,), (2,), (0, 2)]
    """
    sizes = range(len(columns) + 1) if size is None else (size,)
    return [subset for count in sizes for subset in combinations(columns, count)]


@dataclass(frozen=True)
class Margins:
    """The tables that are wanted of some columns.

    Attributes
    ----------
    sizes
        The number of declared values of each column, at least two.
    tables
        The columns of each table.
    weights
        The public weight of each table in the sum of variances that the split makes small.

    Examples
    --------
    >>> margins = Margins.up_to(2, [2, 3, 5])
    >>> len(margins.tables), margins.residuals
    (7, [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
    >>> margins.shape((0, 1)), margins.signs((0, 1))
    ((3,), (0,))
    """

    sizes: tuple[int, ...]
    tables: tuple[Columns, ...]
    weights: tuple[Fraction, ...]

    @classmethod
    def up_to(cls, order: int, sizes: Sequence[int]) -> Margins:
        """Return all tables of up to ``order`` columns, with equal weights."""
        every = tuple(range(len(sizes)))
        tables = [table for count in range(order + 1) for table in subsets(every, count)]
        return cls(tuple(sizes), tuple(tables), (Fraction(1),) * len(tables))

    @cached_property
    def residuals(self) -> list[Columns]:
        """The sets within any of the tables, smallest first: residuals that are needed, and marginals to measure."""
        return sorted({part for table in self.tables for part in subsets(table)}, key=lambda one: (len(one), one))

    def signs(self, columns: Columns) -> Columns:
        """Return the binary ones of these columns, which give a signed marginal its signs."""
        return tuple(column for column in columns if self.sizes[column] == 2)

    def axes(self, columns: Columns) -> Columns:
        """Return the larger ones of these columns, which a signed marginal is a table of."""
        return tuple(column for column in columns if self.sizes[column] > 2)

    def shape(self, columns: Columns) -> tuple[int, ...]:
        """Return the dimensions of a signed marginal."""
        return tuple(self.sizes[column] for column in self.axes(columns))

    def measured_by(self, columns: Columns) -> list[Columns]:
        """Return the residuals that the signed marginal of these columns measures."""
        signs = self.signs(columns)
        return [tuple(sorted(signs + axes)) for axes in subsets(self.axes(columns))]

    def precision(self, columns: Columns, residual: Columns) -> Fraction:
        """Return how precisely a signed marginal with noise of variance one measures a residual: 1 / sigma^2."""
        summed = set(columns) - set(residual)
        return Fraction(2 ** len(self.signs(columns)), prod(self.sizes[column] for column in summed))

    def residual_variance(self, residual: Columns) -> Fraction:
        """Return the variance of an entry of a residual with ``sigma^2 = 1``: the diagonal of the projection."""
        return prod((Fraction(self.sizes[column] - 1, self.sizes[column]) for column in residual), start=Fraction(1))

    def variance_share(self, table: Columns, residual: Columns) -> Fraction:
        """Return what ``sigma^2`` of a residual is multiplied by in the variance of a cell of a table."""
        others = set(table) - set(residual)
        return self.residual_variance(residual) / prod(self.sizes[column] for column in others) ** 2

    def cells(self, table: Columns) -> int:
        """Return the number of cells of a table."""
        return prod(self.sizes[column] for column in table)

    def spread(self, part: Array, residual: Columns, table: Columns) -> Array:
        """Return a residual, given on its larger columns, with its signs and in the dimensions of a table."""
        signed = part.reshape([self.sizes[column] if column in self.axes(residual) else 1 for column in table])
        for axis, column in enumerate(table):
            if column in residual and self.sizes[column] == 2:
                signed = np.concatenate([signed, -signed], axis=axis)
        return signed

    def parts_of(self, table: Columns) -> list[Columns]:
        """Return the sets within a table, smallest first."""
        return subsets(table)

    @cached_property
    def largest(self) -> tuple[Columns, ...]:
        """The tables that are within no other: all signed marginals follow from their counts."""
        inner = {part for table in self.tables for part in subsets(table) if part != table}
        return tuple(dict.fromkeys(table for table in self.tables if table not in inner))

    def signed(self, counts: IntArray, columns: Columns, within: Columns | None = None) -> IntArray:
        """Return the signed marginal of a table of counts of the columns ``within``, by default of all columns."""
        axes = tuple(range(len(self.sizes))) if within is None else within
        table = counts.sum(axis=tuple(k for k, column in enumerate(axes) if column not in columns))
        for place in reversed(range(len(columns))):
            if self.sizes[columns[place]] == 2:
                table = table.take(0, axis=place) - table.take(1, axis=place)
        return np.asarray(table)
