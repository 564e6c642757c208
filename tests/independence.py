"""The promise that a row counts for itself alone, as a check on any way of counting."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

import awkward
from discreet.engines.base import Counting

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
    by_unit = {
        "row": (count(table.without({place}), countings), count(table.only({place}), countings)),
        "person": (count(table.without(theirs), countings), count(table.only(theirs), countings)),
    }
    found = []
    for j, counting in enumerate(countings):
        rest, alone = (kind[j] for kind in by_unit[counting.unit])
        moved = whole[j] - rest
        told = f"{counting.question.text}, {counting.unit}"
        if (moved != alone).any():
            found.append(f"{told}: one {counting.unit} less is not what it counts alone")
        if np.abs(moved).max(initial=0) > 1 or (np.abs(moved).max(axis=1) > 0).sum() > counting.max_groups:
            found.append(f"{told}: one {counting.unit} less moves too much")
    return found
