"""Metric privacy on maps, as evidence for a verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ..exact.base import Kernel
from ..exact.lattice import Lattice
from ..exact.tables import Table
from ..spaces import Grid
from .evidence import Bounds, RowPairs
from .lattice import TOLERANCE, MetricBounds, metric_lattice, metric_table
from .pairs import distance_groups, grouped_delta, grouped_event
from .views import whole
from .witness import Witness

#: Maximum number of cells whose interval is as narrow as doubles allow; on larger maps it is wider, for speed.
MAX_PRECISE_CELLS = 10_000


@dataclass(frozen=True)
class MapEvidence:
    """The comparison of all pairs of cells, per unit of distance: an interval that contains the least epsilon."""

    kernel: Kernel
    grid: Grid

    @cached_property
    def _bounds(self) -> MetricBounds:
        if isinstance(self.kernel, Lattice):
            return metric_lattice(self.kernel, self.grid, 0.0 if self.grid.size <= MAX_PRECISE_CELLS else TOLERANCE)
        return metric_table(self.kernel.table(), self.grid)

    @property
    def tight(self) -> bool:
        """True if the interval is so narrow that its upper end may be called the least epsilon."""
        return self._bounds.upper <= self._bounds.lower * (1 + 1e-9)

    def epsilon_bounds(self) -> Bounds | None:
        if math.isinf(self._bounds.upper):
            return None
        return Fraction(self._bounds.lower), Fraction(self._bounds.upper)

    def ratio_witness(self) -> Witness:
        truth, other, report = self._bounds.witness
        p, q = self.kernel.probability(truth, report), self.kernel.probability(other, report)
        return Witness(truth, other, (report,), p, q, self.grid.noun)

    def ratio_bounds(self) -> Bounds | None:
        ratio = self.ratio_witness().ratio
        return (ratio, ratio) if isinstance(ratio, Fraction) else None

    def holds(self, epsilon: Fraction) -> bool:
        return self._bounds.upper <= epsilon

    @cached_property
    def _table(self) -> Table:
        return self.kernel.table()

    @cached_property
    def _groups(self) -> list[tuple[int, RowPairs]]:
        return distance_groups(whole(self._table), self.grid)

    def delta_bounds(self, epsilon: Fraction, bits: int = 128) -> tuple[Bounds, Witness | None]:
        return grouped_delta(self._groups, self.grid.unit, epsilon, bits)

    def single_event_bounds(self, epsilon: Fraction) -> Bounds:
        return grouped_event(self._groups, self.grid.unit, epsilon)
