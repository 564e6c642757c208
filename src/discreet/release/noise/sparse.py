"""Noisy counts above a threshold, for more cells than can be drawn one by one.

An empty cell is published with the same probability ``p = P(Z >= least)`` wherever it is, because all cells have the
same noise Z. So cells that hold somebody get their noise as always, and the others are found by walking over **all**
cells: from one published empty cell to the next it is a geometric number of steps. What the walk meets in a cell that
holds somebody, or in one that cannot exist, is discarded; every other cell it meets gets a value from the law of Z
given Z >= least. The published cells and counts have exactly the law of drawing every cell, and neither time nor memory
depends on how many cells are empty.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from ...errors import InvalidInput
from ...exact.arrays import IntArray
from ...exact.bits import Bits
from ...exact.laws import Interval, Law
from ...exact.sampling import TailSampler, WaitingTimes
from .cells import CellNoise

#: Maximum number of steps that are drawn at a time.
_STEPS_PER_BATCH = 1 << 16


class _Draws(Protocol):
    def draw(self, size: int, bits: Bits) -> IntArray: ...


class SparseNoise:
    """The noise of many cells of which only those with a noisy count of at least ``least`` are published.

    Parameters
    ----------
    noise
        The noise of every cell: one law for all of them.
    least
        The threshold, at least 1.
    size
        Number of cells, from 1.
    """

    def __init__(self, noise: CellNoise, least: int, size: int) -> None:
        law = noise.shift_law
        if law is None or noise.size is not None:
            raise InvalidInput(
                "the noise is not the same for all cells, so empty ones cannot be skipped.",
                "Leave sizes out, or declare fewer groups.",
                argument="mechanism",
            )
        if least < 1:
            raise InvalidInput.must_be("suppress_below", "at least 1", least)
        self.noise, self.least, self.size = noise, least, size
        self._law: Law = law
        self._top = int(noise.clamp(1)[1][0])
        if self._top < least:
            raise InvalidInput(
                f"no count reaches the threshold {least:,}: counts are at most {self._top:,}.",
                "Lower the threshold.",
                argument="suppress_below",
            )

    # ---------------------------------------------------------------- expectations, from public numbers

    @property
    def expected_empty(self) -> float:
        """Number of empty cells that are published on average if all cells are empty."""
        return self.size * self._law.float_tail(self.least)

    def expects_more_than(self, most: int) -> bool:
        """Return True unless :attr:`expected_empty` is proved to be at most this number."""
        high = self._law.tail(self.least, 128)[1]
        return Fraction(high * self.size, 1 << 128) > most

    # ---------------------------------------------------------------- drawing

    def draw(self, occupied: IntArray, counts: IntArray, impossible: IntArray, bits: Bits) -> tuple[IntArray, IntArray]:
        """Return the published cells, ascending, and their noisy counts.

        Parameters
        ----------
        occupied, counts
            The cells that hold somebody, each once and ascending, and their true counts.
        impossible
            The cells that cannot exist, ascending; nobody is in them.
        bits
            The source of randomness.
        """
        noisy = self.noise.draw(counts, bits)
        kept = noisy >= self.least
        empty = self._empty(occupied, impossible, bits)
        values = np.minimum(self._tail.draw(empty.size, bits), self._top)
        cells = np.concatenate([occupied[kept], empty])
        order = np.argsort(cells, kind="stable")
        return cells[order], np.concatenate([noisy[kept], values])[order]

    def _empty(self, occupied: IntArray, impossible: IntArray, bits: Bits) -> IntArray:
        """Return the empty cells that are published, ascending."""
        high = self._law.support[1]
        if high is not None and high < self.least:
            return np.zeros(0, np.int64)
        hits = self._hits(bits)
        return hits[~(_is_among(hits, occupied) | _is_among(hits, impossible))]

    def _hits(self, bits: Bits) -> IntArray:
        """Return the cells at which the walk over all cells stops."""
        stops, last = [], -1
        while True:
            ahead = (self.size - last) * self._law.float_tail(self.least)
            batch = min(int(1.2 * ahead) + 8, _STEPS_PER_BATCH)
            cells = last + np.cumsum(self._waiting_times.draw(batch, bits) + 1)
            inside = cells[cells < self.size]
            stops.append(inside)
            if inside.size < cells.size:
                return np.concatenate(stops)
            last = int(cells[-1])

    @cached_property
    def _waiting_times(self) -> _Draws:
        """The sampler of the number of cells that are passed between two stops."""
        return WaitingTimes(self._not_published, self._law.float_tail(self.least), self.size)

    def _not_published(self, bits: int) -> Interval:
        """Return bounds of 2^bits P(Z < least)."""
        low, high = self._law.tail(self.least, bits)
        return (1 << bits) - high, (1 << bits) - low

    @cached_property
    def _tail(self) -> _Draws:
        return TailSampler(self._law, self.least)


def _is_among(cells: IntArray, others: IntArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return a mask of the cells that are among others, which are ascending."""
    if not others.size:
        return np.zeros(cells.size, bool)
    places = np.minimum(np.searchsorted(others, cells), others.size - 1)
    return np.asarray(others[places] == cells)
