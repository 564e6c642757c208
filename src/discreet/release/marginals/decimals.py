"""Combined tables as decimals of a few digits that still agree with each other exactly.

Tables that agree are given by some of their cells: for each set of columns those in which no column has its first
value. These are rounded, and all others follow by subtraction from the tables of fewer columns. So every count is a
decimal, all sums are those of the smaller tables, and a count differs from the exact one by at most half a unit for
each cell of its table.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import prod

import numpy as np

from ...exact.arrays import Array
from .combine import CombinedTable
from .signed import Columns, Margins

#: The largest difference of a published count from the exact combination.
MAX_ROUNDING_ERROR = Fraction(1, 200)


def digits_of(margins: Margins) -> int:
    """Return the number of decimal places with which no count of a table is rounded by more than allowed.

    >>> digits_of(Margins.up_to(2, [10, 10]))
    4
    """
    cells, digits = max(map(margins.cells, margins.tables)), 0
    while Fraction(cells, 2 * 10**digits) > MAX_ROUNDING_ERROR:
        digits += 1
    return digits


def agreeing_decimals(margins: Margins, combined: Mapping[Columns, CombinedTable]) -> dict[Columns, Array]:
    """Return each table in units of its last decimal place, as Python integers."""
    unit = 10 ** digits_of(margins)
    larger: dict[Columns, Columns] = {}
    for table in sorted(margins.tables, key=lambda one: -prod(margins.sizes[column] for column in one)):
        for part in margins.parts_of(table):
            larger[part] = table  # the smallest that has it
    whole: dict[Columns, Array] = {}
    for part in margins.residuals:
        table = larger[part]
        one = combined[table]
        summed = tuple(k for k, column in enumerate(table) if column not in part)
        numerators: Array = np.asarray(one.numerators, dtype=object).sum(axis=summed) if summed else one.numerators
        corner = np.asarray(numerators, dtype=object)[(slice(1, None),) * len(part)]
        whole[part] = _completed(part, (2 * unit * corner + one.denominator) // (2 * one.denominator), whole)
    return {table: whole[table] for table in margins.tables}


def _completed(columns: Columns, corner: Array, smaller: Mapping[Columns, Array]) -> Array:
    """Return a table from the cells without first values, and from the tables of one column less."""
    table = corner
    for axis in range(len(columns)):
        fewer = smaller[columns[:axis] + columns[axis + 1 :]]
        known = (slice(None),) * axis + (slice(1, None),) * (len(columns) - axis - 1)
        first = np.asarray(fewer[known], dtype=object) - np.asarray(table, dtype=object).sum(axis=axis)
        table = np.concatenate([np.expand_dims(np.asarray(first, dtype=object), axis), table], axis=axis)
    return np.asarray(table, dtype=object)
