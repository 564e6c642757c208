"""Counting tables of records in arrays: columns are joined into blocks, each of which has the cells of many tables.

A pass over the records for each table would read them thousands of times. A block of four columns with ten values has
ten thousand cells and the counts of six tables of two columns, at the price of one. No block has more cells than a
small cross-table, and its counts are summed into the tables that are wanted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from ...exact.arrays import Array, IntArray
from .counting import CountingTables

#: Maximum number of cells of a block that has the counts of several tables.
MAX_BLOCK_CELLS = 1 << 16

#: Number of records that are counted at once: their numbers stay in the cache.
RECORDS_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class BlockCounts:
    """The counts of blocks of columns while records are added.

    Attributes
    ----------
    counting
        The counts to make.
    counts
        The counts of each block, by its groups of columns.
    """

    counting: CountingTables
    counts: dict[tuple[int, ...], IntArray] = field(default_factory=dict)

    @cached_property
    def groups(self) -> list[list[int]]:
        """Columns that are joined to one number: neighbours, as long as a block of them stays small."""
        order = max(map(len, self.counting.sets), default=0) or 1
        most = max(2, int(MAX_BLOCK_CELLS ** (1 / order)))
        groups: list[list[int]] = []
        for column, size in enumerate(self.counting.sizes):
            if groups and self.counting.cells([*groups[-1], column]) <= most and size <= most:
                groups[-1].append(column)
            else:
                groups.append([column])
        return groups

    @cached_property
    def blocks(self) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
        """For each block, the groups of columns that it joins, the tables that it has the counts of."""
        group_of = {column: k for k, group in enumerate(self.groups) for column in group}
        blocks: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for one in self.counting.sets:
            blocks.setdefault(tuple(sorted({group_of[column] for column in one})), []).append(one)
        return blocks

    def add(self, codes: Mapping[str, Array]) -> None:
        """Add records: for each column ``c0, c1, ...`` the numbers of their values."""
        total = len(next(iter(codes.values()))) if codes else 0
        for start in range(0, total, RECORDS_AT_ONCE):
            self._add(codes, slice(start, min(start + RECORDS_AT_ONCE, total)), total)

    def _add(self, codes: Mapping[str, Array], part: slice, total: int) -> None:
        sizes = [self.counting.cells(group) for group in self.groups]
        joined = []
        for group in self.groups:
            number: Array = np.asarray(codes[f"c{group[0]}"][part], dtype=np.intp)
            for column in group[1:]:
                number = number * self.counting.sizes[column] + codes[f"c{column}"][part]
            joined.append(number)
        for block in self.blocks:
            number = np.zeros(part.stop - part.start, dtype=np.intp) if not block else joined[block[0]]
            for k in block[1:]:
                number = number * sizes[k] + joined[k]
            counted = np.bincount(number, minlength=prod(sizes[k] for k in block))
            if block in self.counts:
                self.counts[block] += counted
            else:
                self.counts[block] = counted

    def result(self) -> IntArray:
        """Return the counts of all tables, one after the other, shape (cells, 1)."""
        tables: dict[tuple[int, ...], IntArray] = {}
        for block, sets in self.blocks.items():
            columns = [column for k in block for column in self.groups[k]]
            shape = [self.counting.sizes[column] for column in columns]
            cells = self.counts.get(block, np.zeros(prod(shape), dtype=np.int64)).reshape(shape)
            for one in sets:
                summed = tuple(axis for axis, column in enumerate(columns) if column not in one)
                tables[one] = np.asarray(cells.sum(axis=summed)).reshape(-1)
        every: Sequence[IntArray] = [tables[one] for one in self.counting.sets]
        return np.concatenate(every).astype(np.int64)[:, None]
