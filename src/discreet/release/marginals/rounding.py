"""Whole, non-negative counts for people, table by table, and what no longer adds up.

Each table is rounded alone, so that its own cells and totals add up: with one column by largest remainders, with two by
controlled rounding, which moves every cell and every total to an adjacent whole number, with more as
:mod:`..levels.rounding` does. Where negative counts are raised to zero, others move further. Two tables that share
columns are rounded apart, so their totals over the other columns may differ: no rounding of all tables that agrees is
sought, as it need not exist without the full cross-table. The combined counts agree; these are for reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...exact.arrays import Array, IntArray
from ...questions.groups import Groups
from ...questions.levels import Levels
from ..levels.rounding import rounded_leaves
from ..levels.shape import Shape
from .signed import Columns, subsets


def totals_of(columns: int) -> Levels:
    """Return the table by so many columns and all its totals, the finest first.

    >>> totals_of(2)
    ((0, 1), (0,), (1,), ())
    """
    return tuple(sorted(subsets(tuple(range(columns))), key=lambda one: (-len(one), one)))


def rounded_table(groups: Groups, values: Array, unit: int, errors: Mapping[Columns, float]) -> IntArray:
    """Return whole, non-negative counts of a table whose totals are rounded as well.

    Parameters
    ----------
    groups
        The groups of the table.
    values
        The combined counts in units of ``1/unit``, in the order of the groups.
    unit
        Number of units in one.
    errors
        The standard error of each count of the table and of its totals, by the places of their columns.

    Examples
    --------
    >>> from discreet.questions.groups import read_domain
    >>> groups = read_domain(["site=1..2", "sex=f,m"], ["site", "sex"])
    >>> rounded_table(groups, np.array([14, 14, 14, 14]), 10, dict.fromkeys(totals_of(2), 1.0)).tolist()
    [1, 2, 2, 1]
    """
    if not groups.columns:
        return np.asarray(np.maximum((2 * values + unit) // (2 * unit), 0), dtype=np.int64)
    shape = Shape(groups, totals_of(len(groups.columns)))
    spread = [np.full(size, errors[level]) for level, size in zip(shape.levels, shape.sizes, strict=True)]
    return rounded_leaves(shape, values.reshape(-1, 1), unit, spread).reshape(-1)


def largest_disagreements(tables: Mapping[Columns, Array]) -> dict[Columns, int]:
    """Return, for each set of columns that several tables have, by how much their counts of it differ at most.

    Parameters
    ----------
    tables
        The rounded counts of each table, an axis for each column.

    Examples
    --------
    >>> largest_disagreements({(0,): np.array([3, 4]), (0, 1): np.array([[1, 2], [4, 1]])})
    {(): 1, (0,): 1}
    """
    counts: dict[Columns, list[Array]] = {}
    for table, cells in tables.items():
        for part in subsets(table):
            summed = tuple(axis for axis, column in enumerate(table) if column not in part)
            counts.setdefault(part, []).append(np.asarray(cells.sum(axis=summed)))
    shared = sorted(((part, each) for part, each in counts.items() if len(each) > 1), key=lambda one: _order(one[0]))
    return {part: int(np.ptp(np.stack(each), axis=0).max()) for part, each in shared}


def disagreement_in_words(disagreements: Sequence[int]) -> str:
    """Return a sentence on what does not add up.

    >>> disagreement_in_words([0, 2, 1])
    'Each table is rounded by itself: the same total differs by up to 2 between tables.'
    """
    largest = max(disagreements, default=0)
    rounded = "Each table is rounded by itself"
    if largest:
        return f"{rounded}: the same total differs by up to {largest:,} between tables."
    return f"{rounded}; all of them agree here."


def _order(columns: Columns) -> tuple[int, Columns]:
    return len(columns), columns
