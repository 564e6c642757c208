"""True counts from the few cells that a query returned: of all declared groups, or of those with somebody in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..exact.arrays import IntArray
from .base import ROW, Contributing, Counting, OccupiedGroups
from .bounding import Chosen, add_chosen, fits_in_a_word
from .events import add_cells
from .grouping import add_measures, add_rows
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
    if counts_rows(counting):
        add_rows(counts, counting, *columns)
    else:
        add_chosen(counts, counting, _choices(columns, counting, choose))
    return counts


def occupied_of_cells(
    cells: Sequence[Sequence[int]], counting: Counting, choose: Callable[..., Chosen]
) -> OccupiedGroups:
    """Return what :func:`counts_of_cells` does for the groups with somebody in them."""
    if not cells:
        return occupied_of_parts([], counting)
    columns = list(np.array(cells, dtype=np.int64).T)
    if counts_rows(counting):
        return occupied_by_rows(counting, *columns)
    return occupied_by_choice(counting, _choices(columns, counting, choose))


def counts_rows(counting: Counting) -> bool:
    """Return True if a query counts the rows of each group, and False if it chooses groups of people."""
    return counting.unit == ROW or counting.max_rows is not None


def _choices(columns: Sequence[IntArray], counting: Counting, choose: Callable[..., Chosen]) -> Chosen:
    return choose(counting, *columns) if fits_in_a_word(counting) else (columns[0], columns[1])


def occupied_by_choice(counting: Counting, choices: Chosen) -> OccupiedGroups:
    """Return the chosen groups of people."""
    numbers, people = choices
    c = len(counting.conditions)
    groups, places = np.unique(numbers >> c, return_inverse=True)
    counts = np.zeros((groups.size, len(counting.question.aggregates)), dtype=np.int64)
    add_chosen(counts, counting, (places.reshape(-1) << c | numbers & ((1 << c) - 1), people))
    return OccupiedGroups(groups, counts)


def occupied_by_rows(counting: Counting, group: IntArray, rows: IntArray, *matches: IntArray) -> OccupiedGroups:
    """Return the groups of rows, without structural zeros."""
    groups, places = np.unique(group, return_inverse=True)
    counts = np.zeros((groups.size, len(counting.question.aggregates)), dtype=np.int64)
    add_measures(counts, counting, places.reshape(-1), rows, *matches)
    possible = ~np.isin(groups, np.array(sorted(counting.groups.zeros), dtype=np.int64))
    return OccupiedGroups(groups[possible], counts[possible])


def occupied_of_parts(parts: Sequence[OccupiedGroups], counting: Counting) -> OccupiedGroups:
    """Return the occupied groups of several parts of the people as one."""
    if len(parts) == 1:
        return parts[0]
    every = [np.zeros(0, dtype=np.int64), *(part.groups for part in parts)]
    groups, places = np.unique(np.concatenate(every), return_inverse=True)
    counts = np.zeros((groups.size, len(counting.question.aggregates)), dtype=np.int64)
    if parts:
        np.add.at(counts, places.reshape(-1), np.concatenate([part.counts for part in parts]))
    return OccupiedGroups(groups, counts)
