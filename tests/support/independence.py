"""The promise that a row counts for itself alone, as a check on any way of counting."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from discreet.engines.base import Counting
from support import awkward

#: From a table and countings to their counts.
Count = Callable[[awkward.Table, Sequence[Counting]], list[np.ndarray]]


def violations(
    chance: random.Random, table: awkward.Table, countings: Sequence[Counting], count: Count, whole: list[np.ndarray]
) -> list[str]:
    """Where one row more, or one person more, moves the counts by anything but what it counts alone.

    ``whole`` are the counts of all rows.
    """
    place, row = chance.choice(table.rows)
    theirs = {other for other, one in table.rows if one["person"] == row["person"]}
    found = []
    for unit, own in (("row", {place}), ("person", theirs)):
        asked = [(counting, counts) for counting, counts in zip(countings, whole, strict=True) if counting.unit == unit]
        if not asked:
            continue
        rest, alone = (
            count(some, [counting for counting, _ in asked]) for some in (table.without(own), table.only(own))
        )
        for (counting, all_rows), others, by_itself in zip(asked, rest, alone, strict=True):
            moved = all_rows - others
            told = f"{counting.question.text}, {unit}"
            if (moved != by_itself).any():
                found.append(f"{told}: one {unit} less is not what it counts alone")
            if (
                np.abs(moved).max(initial=0) > (counting.max_rows or 1)
                or (np.abs(moved).max(axis=1) > 0).sum() > counting.max_groups
            ):
                found.append(f"{told}: one {unit} less moves too much")
    return found
