"""One table of several editions in one order of the groups, and what changed between two of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...exact.arrays import FloatArray, IntArray
from ..noise.changes import Changes, Enclosed, changes, enclosed_changes, total_change
from ..noise.margins import Cells, Combined

if TYPE_CHECKING:
    from .released import ReleasedTable


@dataclass(frozen=True, eq=False)
class Aligned(ABC):
    """One table of one edition, its groups in the order of the first edition.

    Attributes
    ----------
    table
        As it was released, in its own order.
    counts, status
        In the order of the first edition, one after the other.
    order
        Where each of these counts stands in the table.
    """

    table: ReleasedTable
    counts: IntArray | FloatArray
    status: NDArray[np.str_]
    order: IntArray

    @abstractmethod
    def changes(self, later: Aligned, level: Fraction) -> Changes:
        """What changed from this edition to a later one, with intervals that each cover so often."""

    @property
    def totaled_measures(self) -> tuple[str, ...]:
        """The measures whose total is worked out beside the counts."""
        return ()

    def total_change(self, later: Aligned, measure: int, level: Fraction) -> Combined | None:
        """The change of all counts of a measure together; None where it is unknown or stands among the counts."""
        return None


@dataclass(frozen=True, eq=False)
class AlignedCells(Aligned):
    """Cells whose noises are independent."""

    cells: Cells

    def changes(self, later: Aligned, level: Fraction) -> Changes:
        assert isinstance(later, AlignedCells)
        return changes(self.cells, later.cells, level)

    @property
    def totaled_measures(self) -> tuple[str, ...]:
        return self.table.measures

    def total_change(self, later: Aligned, measure: int, level: Fraction) -> Combined | None:
        assert isinstance(later, AlignedCells)
        chosen = np.arange(self.counts.size) % len(self.table.measures) == measure
        return total_change(self.cells, later.cells, chosen, level)


@dataclass(frozen=True, eq=False)
class AlignedLevels(Aligned):
    """Counts that are combined over levels, which come with intervals of their own; totals are among them."""

    def changes(self, later: Aligned, level: Fraction) -> Changes:
        assert isinstance(later, AlignedLevels)
        each = (1 + level) / 2  # so that both hold together
        return enclosed_changes(self._enclosed(each), later._enclosed(each))

    def _enclosed(self, level: Fraction) -> Enclosed:
        """The counts with their own intervals, each of which covers so often."""
        ends = replace(self.table, level=level).errors
        return Enclosed(self.counts.astype(float), ends["low"][self.order], ends["high"][self.order])
