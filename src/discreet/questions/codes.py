"""Tables of codes: rows of whole numbers located among others, a million at a time."""

from __future__ import annotations

import numpy as np

from ..errors import InvalidInput
from ..exact.arrays import IntArray


def _rank_rows(table: IntArray, lengths: list[int], others: IntArray | None = None) -> tuple[IntArray, IntArray]:
    """Return a number for each row of a table (equal for equal rows, below the number of rows) and for each other row.

    Other rows that are not in the table get -1.
    """
    mine = np.zeros(len(table), dtype=np.int64)
    others = table[:0] if others is None else others
    theirs = np.zeros(len(others), dtype=np.int64)
    span = 1  # all numbers are below it
    for column, other, length in zip(table.T, others.T, lengths, strict=True):
        if span * length >= 2**62:
            mine, theirs = _renumber(mine, theirs, span)
            span = len(table)
        theirs = np.where((theirs < 0) | (other < 0) | (other >= length), -1, theirs * length + other)
        mine = mine * length + column
        span *= length
    return _renumber(mine, theirs, span)


def _renumber(mine: IntArray, theirs: IntArray, span: int) -> tuple[IntArray, IntArray]:
    """Renumber numbers below ``span`` without gaps; theirs likewise, -1 where mine do not have them."""
    if span <= max(2**20, 16 * len(mine)):  # a table of all numbers is faster than sorting
        present = np.zeros(span, dtype=bool)
        present[mine] = True
        ranks = np.where(present, np.cumsum(present) - 1, -1)
        return ranks[mine], np.where(theirs < 0, -1, ranks[theirs])
    distinct, numbers = np.unique(mine, return_inverse=True)
    place = np.minimum(np.searchsorted(distinct, theirs), len(distinct) - 1)
    return numbers, np.where(distinct[place] == theirs, place, -1)


def find_rows(rows: IntArray, table: IntArray, lengths: list[int]) -> IntArray:
    """Return the place of each of these rows in a table of distinct rows, -1 if it is not there."""
    ranks, row_ranks = _rank_rows(table, lengths, rows)
    places = np.full(len(table) + 1, -1, dtype=np.int64)  # the last is what -1 looks up
    places[ranks] = np.arange(len(table))
    return places[row_ranks]


def find_repeated_row(table: IntArray, lengths: list[int]) -> int | None:
    """Return the number of the first row that repeats an earlier one."""
    ranks, _ = _rank_rows(table, lengths)
    distinct, first = np.unique(ranks, return_index=True)
    if len(distinct) == len(table):
        return None
    again = np.ones(len(table), dtype=bool)
    again[first] = False
    return int(np.flatnonzero(again)[0])


def combined_numbers(rows: IntArray, columns: list[int], lengths: list[int]) -> IntArray:
    """Return the numbers, among all combinations of codes, of those that have a row's codes in these columns.

    >>> combined_numbers(np.array([[1]]), [0], [2, 3]).tolist()
    [3, 4, 5]
    """
    numbers = np.zeros((len(rows), 1), dtype=np.int64)
    for column, length in enumerate(lengths):
        codes = rows[:, [columns.index(column)]] if column in columns else np.arange(length)[None, :]
        numbers = (numbers[:, :, None] * length + codes[:, None, :]).reshape(len(rows), -1)
    return numbers.reshape(-1)


def judged_cells(cells: IntArray, lengths: list[int]) -> IntArray:
    """Return the codes of listed groups; refuse codes outside the values, and a group that is listed twice."""
    cells = np.array(cells, dtype=np.int64, ndmin=2)
    if cells.ndim != 2 or cells.shape[1] != len(lengths) or not len(cells):
        raise InvalidInput("the groups need at least one row, with one code for each column.", argument="groups")
    if (cells < 0).any() or (cells >= np.array(lengths)).any():
        raise InvalidInput("a group has a code outside the positions of its column's values.", argument="groups")
    if (again := find_repeated_row(cells, lengths)) is not None:
        raise InvalidInput(
            f"row {again + 1} of the groups repeats an earlier row.", "Declare each group once.", argument="groups"
        )
    cells.setflags(write=False)
    return cells
