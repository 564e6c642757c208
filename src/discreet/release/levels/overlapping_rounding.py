"""Round the groups of a table whose totals overlap in three or more ways, such as a cube of three columns.

No rounding that is next to every total need exist there, nor non-negative groups with the same totals. So a total may
move within its standard error:

1. *Cyclic projections* (Bregman 1965): the groups of each total that is further away from its combined count than
   ``NEAR`` standard errors, or that has a negative group, are projected onto the simplex of the nearest total that is
   not, the finest totals first and the grand total, which stays, last. This approaches groups that satisfy all totals
   where such groups exist.
2. Each group is rounded up or down in turn, whichever leaves the smaller sum of squares of the deviations of all totals
   (greedy vector balancing), until no single change makes it smaller.

All arithmetic is in integers, so that every reader finds the same counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...exact.arrays import Array, FloatArray, IntArray
from .shape import Shape

#: Standard errors by which projections leave a total away from its combined count, and by which it may be away when
#: they end: first narrow, so that one standard error also has room for the rounding, then wide.
NARROW, WIDE = (0.75, 0.8), (0.9, 0.95)

#: Largest number of cyclic projections of each width, and of those times groups times levels.
_MAX_SWEEPS, _MAX_SWEPT = 200, 25_000_000

#: Largest number of groups that are rounded in turn; of more, the cumulative sums are rounded.
MAX_ROUNDED_IN_TURN = 300_000

#: Largest number of times that every group is looked at again after it was rounded, and of those times groups.
_MAX_PASSES, _MAX_LOOKS = 6, 500_000


@dataclass(frozen=True, eq=False)
class LevelTotals:
    """The totals of one level.

    Attributes
    ----------
    nodes
        The total that each group belongs to.
    combined
        The combined counts, raised to zero where they are negative, in units.
    errors
        Their standard errors, in units.
    """

    nodes: IntArray
    combined: Array
    errors: FloatArray

    def sums(self, values: Array) -> Array:
        """Return the totals of values of the groups."""
        return _sums(values, self.nodes, len(self.combined))

    def ends(self, share: float) -> tuple[Array, Array]:
        """Return the totals that are this share of the standard errors below and above the combined counts."""
        width = np.rint(self.errors * share).astype(np.int64)
        return np.maximum(self.combined - width, 0), self.combined + width


def margins_of(shape: Shape, leaves: Array, unit: int, errors: Sequence[FloatArray]) -> list[LevelTotals]:
    """Return the margins of the groups that can exist, the finest first; the grand total is whole and has no error.

    Parameters
    ----------
    errors
        The standard error of each count of each level, in counts.
    """
    margins = []
    live = np.flatnonzero(shape.live)
    for level in range(1, len(shape.levels)):
        combined, spread = np.maximum(shape.level_sums(leaves, level), 0), errors[level] * unit
        if not shape.levels[level]:
            combined, spread = (2 * combined + unit) // (2 * unit) * unit, np.zeros(1)
        margins.append(LevelTotals(shape.node_of_leaf[level][live], combined, spread))
    return margins


def rounded_groups(values: Array, margins: Sequence[LevelTotals], unit: int) -> Array:
    """Return whole, non-negative numbers near ``values / unit`` whose totals are near those of the margins."""
    values = _project(values, margins)
    if len(values) <= MAX_ROUNDED_IN_TURN:
        return _round_in_turn(values, margins, unit)
    sums = (2 * np.cumsum(values) + unit) // (2 * unit)
    return np.diff(sums, prepend=sums[:1] * 0)


def _project(values: Array, margins: Sequence[LevelTotals]) -> Array:
    """Return non-negative values, in units, whose totals are near the combined counts."""
    most = max(1, min(_MAX_SWEEPS, _MAX_SWEPT // (len(values) * len(margins))))
    for near, near_enough in (NARROW, WIDE):
        ends = [(margin.ends(near), margin.ends(near_enough)) for margin in margins]
        for _ in range(most):
            moved = False
            for margin, (nearest, enough) in zip(margins, ends, strict=True):
                sums = margin.sums(values)
                outside = (sums < enough[0]) | (sums > enough[1] + len(values))  # a projection stays that many above
                outside[margin.nodes[values < 0]] = True
                if outside.any():
                    moved = True
                    chosen = outside[margin.nodes]
                    values = values.copy()
                    values[chosen] = _nearest(values[chosen], margin.nodes[chosen], np.clip(sums, *nearest))
            if not moved:
                return values
    return values


def _nearest(values: Array, nodes: IntArray, totals: Array) -> Array:
    """Return the nearest non-negative values with these totals, or above them by less than one unit for each value.

    Within a total, all values are lowered by one amount, and none below zero (Michelot 1986).
    """
    positive, rest, places = np.arange(len(values)), values, nodes
    while True:
        excess = _sums(rest, places, len(totals)) - totals
        lowered_by = excess // np.maximum(np.bincount(places, minlength=len(totals)), 1)
        lowered = rest - lowered_by[places]
        stays = lowered > 0
        if stays.all():
            break
        positive, rest, places = positive[stays], rest[stays], places[stays]
    nearest: Array = np.zeros_like(values)
    nearest[positive] = lowered
    return nearest


def _sums(values: Array, nodes: IntArray, size: int) -> Array:
    """Return the exact sum of the values of each node."""
    sums: Array = np.zeros(size, dtype=values.dtype)
    np.add.at(sums, nodes, values)
    return sums


class _Rounding:
    """Values that are being rounded one by one, with the deviation of every total, in units."""

    def __init__(self, values: Array, margins: Sequence[LevelTotals], unit: int) -> None:
        self.unit = unit
        self.part: list[int] = (values % unit).tolist()
        self.raised = [False] * len(values)
        self.totals = list(zip(*(margin.nodes.tolist() for margin in margins), strict=True))
        self.deviations: list[list[int]] = [[0] * len(margin.combined) for margin in margins]

    def add(self, at: int, step: int) -> None:
        """Add a step to the deviations of the totals of a group."""
        for deviation, total in zip(self.deviations, self.totals[at], strict=True):
            deviation[total] += step

    def gain(self, at: int) -> int:
        """Return by how much the sum of squares falls if this group is rounded the other way."""
        part, unit = self.part[at], self.unit
        step, deviation = (-unit, unit - part) if self.raised[at] else (unit, -part)
        for deviations, total in zip(self.deviations, self.totals[at], strict=True):
            deviation += deviations[total]
        return -step * (2 * deviation + step * (1 + len(self.deviations)))

    def turn(self, at: int) -> None:
        """Round this group the other way."""
        self.add(at, -self.unit if self.raised[at] else self.unit)
        self.raised[at] = not self.raised[at]


def _round_in_turn(values: Array, margins: Sequence[LevelTotals], unit: int) -> Array:
    """Round each value up or down so that the totals deviate little, and the sum of all values least."""
    rounding = _Rounding(values, margins, unit)
    fractional = [at for at, part in enumerate(rounding.part) if part]
    for at in fractional:
        rounding.add(at, -rounding.part[at])
        if rounding.gain(at) > 0:
            rounding.turn(at)
    for _ in range(max(1, min(_MAX_PASSES, _MAX_LOOKS // max(len(fractional), 1)))):
        turned = 0
        for at in fractional:
            if rounding.gain(at) > 0:
                rounding.turn(at)
                turned += 1
        if not turned:
            break
    _round_sum(rounding, fractional)
    return np.asarray(values // unit + np.array(rounding.raised, dtype=np.int64))


def _round_sum(rounding: _Rounding, fractional: Sequence[int]) -> None:
    """Round the sum of all values to the nearest whole number, by the changes that cost least."""
    unit = rounding.unit
    excess = sum(unit - rounding.part[at] if rounding.raised[at] else -rounding.part[at] for at in fractional)
    while 2 * abs(excess) > unit:
        candidates = [at for at in fractional if rounding.raised[at] == (excess > 0)]
        rounding.turn(max(candidates, key=rounding.gain))
        excess -= unit if excess > 0 else -unit
