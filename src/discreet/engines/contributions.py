"""How many people have how many groups, or rows: the histogram from which contribution bounds are chosen.

**The rule.** Rows vanish as in ``base``: without a unit, outside WHERE, outside the declared groups, in a structural
zero. Each person who is left is in exactly one cell: by the number of groups where they have rows, or by the largest
number of rows they have in any one group. The last cell is open: it has everybody with so many or more. Nothing is
bounded or chosen, since one person is in one cell whatever their rows are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..exact.arrays import IntArray
from .base import Contributing


def histogram_sql(counting: Contributing, rows: str) -> str:
    """Return SQL of ``cell``, from 0, and ``n``, the number of its people.

    Parameters
    ----------
    counting
        The counts to make.
    rows
        SQL of ``unit`` and the number of the group ``v`` (``bounding``), for each row of a person in a declared group.
    """
    groups = f"SELECT unit, v, count(*) AS n FROM ({rows}) AS r GROUP BY unit, v"
    contribution = "count(*)" if counting.of == "groups" else "max(n)"
    people = f"SELECT least({contribution}, {counting.top}) - 1 AS cell FROM ({groups}) AS grouped GROUP BY unit"
    return f"SELECT cell, count(*) AS n FROM ({people}) AS people GROUP BY cell"


def add_cells(counts: IntArray, cells: Sequence[IntArray]) -> None:
    """Add the columns of :func:`histogram_sql` to counts of shape (cells, 1)."""
    if cells:
        np.add.at(counts[:, 0], cells[0], cells[1])
