"""Noise of limited reach: a report says something about the truths near it alone, and linear systems are banded.

Discrete Gaussian noise gives a report some probability under every truth, but under most of them so little that it can
be left out. Let the largest entry of each column of A be 1 (columns may be scaled), leave out entries below d, and call
B what is left. Then for every distribution p, wherever a solver is, with u = p B, J reports and g = B (q / u),

    max A (q / p A)  <=  max (B + d 11') (q / u)  =  max g + d sum_j q_j / u_j  <=  (1 + d J) max g,

because u <= p A, and because the truth i at which column j is 1 has g_i >= q_j / u_j. So the gap computed with B is
that of A but for log(1 + d J), and d is so small that doubles do not see that: the certificate needs no other products.
(With costs c the bound is d J max c / min c.)

The truths that matter for a report are a window. Reports whose windows begin within a few truths of each other make a
*sheet*, a dense matrix with a row for each of them; all sheets are of one size. Each adds a small dense matrix to
H = A W A' + Z, in place, where LAPACK wants it for a banded Cholesky factorisation. With n truths and windows of at
most w, a step takes O(n w^2), and memory O(n w).
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg.blas import dsyrk

from ...exact.arrays import FloatArray, IntArray
from ...exact.kernels import MAX_RANGE_WIDTH, Noise
from ..algebra import banded_cholesky
from ..interior import Newton
from ..model.problem import Group, Problem

#: d J: the share by which the largest of A (q / u) may be too small. The rounding of its sums is larger.
LEFT_OUT = 1e-16

#: Distance in truths, and as a part of the widest window, within which windows share a sheet: fewer calls, a wider
#: band.
SHEET_SPAN, SHEET_PART = 16, 16

#: Number of truths below which dense matrices are as fast, and factor in operations below which they are (measured
#: for 50 to 1600 truths and windows of a twentieth to four fifths of them).
MIN_TRUTHS, MIN_ADVANTAGE = 200, 2.0

#: Maximum number of operations of a step (half a minute), and of doubles in memory (2 GiB).
MAX_STEP_WORK, MAX_DOUBLES = 1e12, 1 << 28

_SMALLEST = 5e-324


def fitting(problem: Problem) -> BandedModel | None:
    """Return the banded model of a problem; None where it has none, or where other models are faster."""
    if problem.size < MIN_TRUTHS or not all(map(_has_windows, problem.groups)):
        return None
    model = BandedModel(problem)
    n, reports = problem.size, len(model.q)
    some, others = (reports, n) if 4 * reports < 3 * n else (n, reports)
    dense = some * some * (others + some / 3)
    if not model.possible or model.work > min(dense / MIN_ADVANTAGE, MAX_STEP_WORK) or model.places > MAX_DOUBLES:
        return None
    return model


def _has_windows(group: Group) -> bool:
    noise = group.kernel.noise
    if noise is None or noise.truths[0] not in (None, 0):
        return False
    return int(group.reports[-1]) - int(group.reports[0]) + group.size <= MAX_RANGE_WIDTH


class _Columns:
    """The columns of one group's reports: their largest entries, their windows, and the entries themselves.

    Parameters
    ----------
    group
        Reports with noise, in order.
    least
        Entries below this share of the largest of their column are left out.
    """

    def __init__(self, group: Group, least: float) -> None:
        kernel = group.kernel.noise
        assert kernel is not None
        self._size, self._reports, self._least = group.size, group.reports, least
        first_laws = kernel.first_laws[: self._size]
        self._own = [self._row(i, law.low, law.floats(*law.support)) for i, law in enumerate(first_laws)]
        self._shared = self._size - len(self._own)
        # P(noise), from that of the largest report at truth 0 to that of the least report at the largest truth
        falling = kernel.law.floats(int(self._reports[0]) - (self._size - 1), int(self._reports[-1]))[::-1]
        self._by_truth = np.concatenate([falling, np.zeros(self._size)])
        #: Where the column of each report begins in that.
        self._offsets = self._reports[-1] - self._reports
        self.largest = self._largest(falling)
        self.first, self.last = self._windows(falling)
        ends = [j for j, report in enumerate(self._reports.tolist()) if report in kernel.clamp]
        self._ends = {j: self._end(kernel, j) for j in ends}

    def _row(self, i: int, low: int, chances: FloatArray) -> tuple[slice, FloatArray]:
        """Return the reports that a truth with a law of its own can give, and how likely they are."""
        start, stop = np.searchsorted(self._reports, (i + low, i + low + len(chances))).tolist()
        return slice(start, stop), chances[self._reports[start:stop] - i - low]

    def _largest(self, law: FloatArray) -> FloatArray:
        """Return the largest entry of each column, but for reports at the ends of a clamped range."""
        largest = np.zeros(len(self._reports))
        if self._shared:
            start, peak = self._offsets + len(self._own), int(law.argmax())
            largest[:] = law[peak]
            for j in np.flatnonzero((peak < start) | (peak >= start + self._shared)).tolist():
                largest[j] = law[start[j] : start[j] + self._shared].max()
        for where, entries in self._own:
            np.maximum(largest[where], entries, out=largest[where])
        return largest

    def _windows(self, law: FloatArray) -> tuple[IntArray, IntArray]:
        """Return the first and the last truth that matter for each report."""
        first, last = np.full(len(self._reports), self._size), np.full(len(self._reports), -1)
        bound = np.maximum(self._least * self.largest, _SMALLEST)
        if self._shared:
            start, peak = self._offsets + len(self._own), int(law.argmax())
            rising, falling = (np.maximum.accumulate(side) for side in (law[: peak + 1], law[::-1][: len(law) - peak]))
            low = np.maximum(np.searchsorted(rising, bound), start)
            high = np.minimum(len(law) - 1 - np.searchsorted(falling, bound), start + self._shared - 1)
            some = low <= high
            first[some], last[some] = (low - self._offsets)[some], (high - self._offsets)[some]
        for i, (where, entries) in enumerate(self._own):
            some = entries >= bound[where]
            first[where] = np.where(some, np.minimum(first[where], i), first[where])
            last[where] = np.where(some, np.maximum(last[where], i), last[where])
        return first, last

    def _end(self, kernel: Noise, j: int) -> FloatArray:
        """Return the entries in the window of a report that holds everything beyond it, which grow towards its side."""
        report, row_laws = int(self._reports[j]), len(self._own)
        entries = {i: kernel.approximate(i, report) for i in range(row_laws)}
        largest = max(entries.values(), default=0.0)
        inwards = range(row_laws, self._size)
        for i in inwards if report == kernel.clamp[0] else reversed(inwards):
            entries[i] = kernel.approximate(i, report)
            largest = max(largest, entries[i])
            if entries[i] < max(self._least * largest, _SMALLEST):
                break
        kept = [i for i, entry in entries.items() if entry >= max(self._least * largest, _SMALLEST)]
        first, last = min(kept, default=self._size), max(kept, default=-1)
        self.largest[j], self.first[j], self.last[j] = largest, first, last
        return np.array([entries.get(i, 0.0) for i in range(first, last + 1)])

    def fill(self, sheet: FloatArray, chosen: IntArray, start: int) -> None:
        """Write the entries of the chosen reports for truths start, start + 1, ... into the rows of a sheet."""
        rows, width, row_laws = sheet[: len(chosen)], sheet.shape[1], len(self._own)
        rows[:] = sliding_window_view(self._by_truth, width)[self._offsets[chosen] + start]
        rows[:, max(0, self._size - start) :] = 0.0
        rows[:, : max(0, row_laws - start)] = 0.0
        for i in range(start, min(row_laws, start + width)):
            where, entries = self._own[i]
            given = (chosen >= where.start) & (chosen < where.stop)
            rows[given, i - start] = entries[chosen[given] - where.start]
        for k, j in enumerate(chosen.tolist()):
            if j in self._ends:
                entries, before = self._ends[j], int(self.first[j]) - start
                rows[k] = 0.0
                rows[k, before : before + len(entries)] = entries
        rows /= self.largest[chosen, None]


class BandedModel:
    """Reports with noise in one dimension, by one law or several; each says something about the truths near it.

    Parameters
    ----------
    problem
        Groups of reports with :class:`~discreet.exact.kernels.Noise`, spread over at most ``MAX_RANGE_WIDTH`` values.
    """

    def __init__(self, problem: Problem) -> None:
        self.size, self.q = problem.size, problem.counts / problem.people
        self.seen: IntArray | slice = slice(None)
        self._parts = [_Columns(group, LEFT_OUT / len(self.q)) for group in problem.groups]
        first = np.concatenate([part.first for part in self._parts])
        last = np.concatenate([part.last for part in self._parts])
        #: Whether every report has a truth that can give it, as far as doubles can tell.
        self.possible = bool((first <= last).all())
        widest = int((last - first).max()) + 1
        #: How many truths apart sheets are, and how many truths each holds.
        self.span = max(SHEET_SPAN, widest // SHEET_PART)
        self.width = min(self.size, widest + self.span - 1)
        self._share(first // self.span)

    def _share(self, blocks: IntArray) -> None:
        """Share the reports out between sheets: as many as each block of truths needs, hardly any of them empty."""
        ends = np.cumsum([0, *(len(part.first) for part in self._parts)])
        groups = [blocks[start:stop] for start, stop in pairwise(ends.tolist())]
        self._rows = min(self.span, -(-len(blocks) // sum(len(np.unique(group)) for group in groups)))
        sheets: list[tuple[int, int, IntArray]] = []
        for k, group in enumerate(groups):
            order = np.argsort(group, kind="stable")
            for here in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
                block = int(group[here[0]])
                sheets += [(block, k, here[at : at + self._rows]) for at in range(0, len(here), self._rows)]
        sheets.sort(key=lambda sheet: sheet[0])
        self._chosen = [(k, chosen) for _, k, chosen in sheets]
        self._slots = np.empty(len(blocks), np.int64)
        for s, (k, chosen) in enumerate(self._chosen):
            self._slots[ends[k] + chosen] = s * self._rows + np.arange(len(chosen))
        self._block = np.array([block for block, _, _ in sheets])
        self._blocks, self._firsts = np.unique(self._block, return_index=True)
        #: The number of blocks, with room for the whole of the last sheet.
        self._room = int(self._block[-1]) + 1 + -(-max(self.size, self.width) // self.span)

    @property
    def work(self) -> float:
        """The operations of a step, about."""
        return float((len(self._chosen) * self._rows + self.size) * self.width**2)

    @property
    def places(self) -> int:
        """The doubles that a step holds in memory."""
        return len(self._chosen) * self._rows * self.width + self._length

    @property
    def _length(self) -> int:
        """The places of H, column by column from the diagonal on, with room for the whole of the last sheet."""
        return max(self.size * (self.width + 1), int(self._block[-1]) * self.span * (self.width + 1) + self.width**2)

    @cached_property
    def _sheets(self) -> FloatArray:
        sheets = np.zeros((len(self._chosen), self._rows, self.width))
        for sheet, (k, chosen), block in zip(sheets, self._chosen, self._block.tolist(), strict=True):
            self._parts[k].fill(sheet, chosen, block * self.span)
        return sheets

    def _spread(self, v: FloatArray) -> FloatArray:
        """Return one number for each report, as they lie on the sheets."""
        spread = np.zeros((len(self._chosen), self._rows))
        spread.ravel()[self._slots] = v
        return spread

    def forward(self, p: FloatArray) -> FloatArray:
        padded = np.zeros(self._room * self.span)
        padded[: self.size] = p
        windows = sliding_window_view(padded, self.width)[self._block * self.span]
        return np.asarray(np.einsum("srw,sw->sr", self._sheets, windows).ravel()[self._slots])

    def backward(self, v: FloatArray) -> FloatArray:
        sums = np.add.reduceat(np.einsum("sr,srw->sw", self._spread(v), self._sheets), self._firsts, axis=0)
        total = np.zeros((self._room, self.span))
        for k, start in enumerate(range(0, self.width, self.span)):
            part = sums[:, start : start + self.span]
            total[self._blocks + k, : part.shape[1]] += part
        return total.ravel()[: self.size]

    def newton(self, weights: FloatArray, slacks: FloatArray) -> Newton:
        """Factorise H as LAPACK wants it: each column from its diagonal on, in ``width + 1`` places.

        Entry (i, k) then stands at i + k width. So a square of ``width`` rows around the diagonal is a matrix of its
        own in the same memory, as far as its lower triangle goes, and that is where a sheet adds to.
        """
        width, step = self.width, self.span * (self.width + 1)
        line = np.zeros(self._length)
        roots = self._spread(np.sqrt(weights))[:, :, None]
        for sheet, root, block in zip(self._sheets, roots, self._block.tolist(), strict=True):
            square = line[block * step : block * step + width * width].reshape((width, width), order="F")
            dsyrk(1.0, (sheet * root).T, beta=1.0, c=square, lower=1, overwrite_c=1)
        band = line[: self.size * (width + 1)].reshape((width + 1, self.size), order="F")
        band[0] += slacks
        system = banded_cholesky(band)

        def solve(b: FloatArray) -> tuple[FloatArray, FloatArray]:
            dp = system(b)
            return dp, self.forward(dp)

        return solve
