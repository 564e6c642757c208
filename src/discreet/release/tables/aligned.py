"""Tables of several editions in the same order of groups, and the changes between two of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...exact.arrays import FloatArray, IntArray
from ..noise.changes import Changes, EnclosedCounts, changes, enclosed_changes, total_change
from ..noise.margins import Combined, ReleasedCells

if TYPE_CHECKING:
    from .released import ReleasedTable


@dataclass(frozen=True, eq=False)
class Aligned(ABC):
    """One table of one edition, its groups in the order of the first edition.

    Attributes
    ----------
    table
        The released table, in its original order.
    counts, status
        The counts and flags in the order of the first edition, in one dimension.
    order
        The index of each of these counts in the table.
    """

    table: ReleasedTable
    counts: IntArray | FloatArray
    status: NDArray[np.str_]
    order: IntArray

    @abstractmethod
    def changes(self, later: Aligned, coverage: Fraction, *, growth: bool = True) -> Changes:
        """Return the changes from this edition to a later one, with intervals that each have this coverage."""

    @property
    def counts_for_people(self) -> IntArray | FloatArray:
        """The counts as people see them, in the order of the first edition."""
        return self.counts

    @property
    def totaled_measures(self) -> tuple[str, ...]:
        """The measures for which a change of the total is computed."""
        return ()

    def total_change(self, later: Aligned, measure: int, coverage: Fraction) -> Combined | None:
        """Return the change of the total of a measure; None if it is unknown or among the counts."""
        return None


@dataclass(frozen=True, eq=False)
class AlignedCells(Aligned):
    """A table whose cells have independent noise."""

    cells: ReleasedCells

    def changes(self, later: Aligned, coverage: Fraction, *, growth: bool = True) -> Changes:
        assert isinstance(later, AlignedCells)
        return changes(self.cells, later.cells, coverage, growth=growth)

    @property
    def totaled_measures(self) -> tuple[str, ...]:
        return self.table.measures

    def total_change(self, later: Aligned, measure: int, coverage: Fraction) -> Combined | None:
        assert isinstance(later, AlignedCells)
        chosen = np.arange(self.counts.size) % len(self.table.measures) == measure
        return total_change(self.cells, later.cells, chosen, coverage)


@dataclass(frozen=True, eq=False)
class AlignedIntervals(Aligned):
    """A table whose counts are compared by their intervals: discovered groups, which both editions name.

    The interval of a count holds given that its group is named. The editions have independent noise, so the intervals
    of both hold together given that both name the group.
    """

    def changes(self, later: Aligned, coverage: Fraction, *, growth: bool = True) -> Changes:
        assert isinstance(later, AlignedIntervals)
        each = (1 + coverage) / 2  # so that both intervals hold together
        return enclosed_changes(self._enclosed(each), later._enclosed(each), growth=growth)

    @property
    def _numbers(self) -> IntArray | FloatArray:
        """The counts that are compared."""
        return self.counts

    def _enclosed(self, coverage: Fraction) -> EnclosedCounts:
        """Return the counts with intervals of this coverage."""
        ends = replace(self.table, level=coverage).errors
        return EnclosedCounts(self._numbers, ends["low"][self.order], ends["high"][self.order])


@dataclass(frozen=True, eq=False)
class AlignedLevels(AlignedIntervals):
    """A table with totals: its counts are combined over levels and have intervals of their own.

    Attributes
    ----------
    rounded
        The rounded counts in the order of the first edition.
    """

    rounded: IntArray

    @property
    def counts_for_people(self) -> IntArray | FloatArray:
        return self.rounded

    @property
    def _numbers(self) -> IntArray | FloatArray:
        return self.counts.astype(float)
