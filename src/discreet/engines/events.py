"""Events: the rows of people instead of people, in one query that all SQL engines share.

The rule is in ``base``. A person's rows in a group are counted and cut off for each count apart, before anything of two
people is added; the groups are chosen among all that the person has, however many rows are there.

**How many groups, or rows, people have** (:class:`~.base.Contributing`). Rows vanish as in ``base``: without a unit,
outside WHERE, outside the declared groups, in a structural zero. Each person who is left is in exactly one cell: by the
number of groups where they have rows, or by the largest number of rows they have in any one group. The last cell is
open: it has everybody with that number or more. Nothing is bounded or chosen, since one person is in one cell whatever
their rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..exact.arrays import IntArray
from .base import Contributing, Counting
from .hashed_choice import hash_input_sql


def events_sql(counting: Counting, rows: str, hashed: Callable[[str], str], text: str) -> str:
    """Return SQL of the counts of rows: ``g``, ``n`` and ``n0, n1, ...`` for the conditions.

    Parameters
    ----------
    counting
        The counts to make.
    rows
        SQL of ``unit`` and the number ``v`` (``bounding``), for each row of a person in a declared group; and of ``m``,
        the number of events that it stands for, if the counting has multiplicities.
    hashed
        Returns SQL of the hash ``H`` of a text.
    text
        The engine's text type.
    """
    size, c, most = counting.groups.size, len(counting.conditions), counting.max_rows
    names = ["n", *(f"n{i}" for i in range(c))]
    met = [f"(v & {1 << (c - 1 - i)}) = 0" for i in range(c)]
    capped = capped_counts(met, most, counting.multiplicity is not None)
    chosen = f"SELECT unit, v >> {c} AS g, {capped} FROM ({rows}) AS r GROUP BY unit, v >> {c}"
    if counting.max_groups < size:
        if counting.uses_hashed_choice:
            order = f"{hashed(hash_input_sql('unit', 'g', text))}, g"
        else:
            order = f"(g - {hashed('unit')} % {size} + {size}) % {size}"
        columns = ", ".join(["g", *names, f"row_number() OVER (PARTITION BY unit ORDER BY {order}) AS place"])
        chosen = f"SELECT {columns} FROM ({chosen}) AS each"
        chosen = f"SELECT * FROM ({chosen}) AS ordered WHERE place <= {counting.max_groups}"
    sums = ", ".join(f"CAST(sum({name}) AS BIGINT) AS {name}" for name in names)
    return f"SELECT g, {sums} FROM ({chosen}) AS chosen GROUP BY g"


def capped_counts(conditions: Sequence[str], most: int | None, multiple: bool = False) -> str:
    """Return SQL of the number of rows, and of those that meet each condition, up to ``most``: ``n, n0, n1, ...``.

    If multiple, a row stands for ``m`` of them.
    """
    if multiple:
        counts = ["sum(m)", *(f"sum(CASE WHEN {condition} THEN m ELSE 0 END)" for condition in conditions)]
    else:
        counts = ["count(*)", *(f"count(CASE WHEN {condition} THEN 1 END)" for condition in conditions)]
    names = ["n", *(f"n{i}" for i in range(len(conditions)))]
    return ", ".join(f"least({count}, {most}) AS {name}" for count, name in zip(counts, names, strict=True))


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
