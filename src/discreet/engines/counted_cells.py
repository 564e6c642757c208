"""True counts from the few cells that a query returned."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..exact.arrays import IntArray
from .base import ROW, Contributing, Counting
from .bounding import Chosen, add_chosen, fits_in_a_word
from .events import add_cells
from .grouping import add_rows
from .margins.counting import CountingTables


def counts_of_cells(cells: Sequence[Sequence[int]], counting: Counting, choose: Callable[..., Chosen]) -> IntArray:
    """Return the true counts, of shape (groups, counts). They go to the noise and nowhere else.

    Parameters
    ----------
    cells
        Rows of whole numbers: of groups; of sets of groups that people have; of chosen groups; or of events.
    counting
        The counts to make.
    choose
        Chooses the groups of people, where a set of them fits into a word.
    """
    if isinstance(counting, Contributing):
        histogram = np.zeros((counting.top, 1), dtype=np.int64)
        add_cells(histogram, list(np.array(cells, dtype=np.int64).T) if cells else [])
        return histogram
    if isinstance(counting, CountingTables):
        counts = counting.no_counts()
        if cells:
            counting.signatures.add(counts, *np.array(cells, dtype=np.int64).T)
        return counts
    counts = np.zeros((counting.groups.size, len(counting.question.aggregates)), dtype=np.int64)
    if not cells:
        return counts
    columns = list(np.array(cells, dtype=np.int64).T)
    if counting.unit == ROW or counting.max_rows is not None:
        add_rows(counts, counting, *columns)
    elif fits_in_a_word(counting):
        add_chosen(counts, counting, choose(counting, *columns))
    else:
        add_chosen(counts, counting, (columns[0], columns[1]))
    return counts
