"""How far a released count may be from the truth, computed without the truth.

The spread of a clamped count depends on where the truth lies, so publishing "the" standard deviation of a cell would
give the truth away. Everything here is a function of the *reported* count and of public parameters, or the worst case
over all truths the cell may have.

Intervals invert the mechanism (Neyman 1937): every truth t has a *window* A(t) of reports with
``P(report in A(t) | t) >= coverage``, and the interval of a report r is ``{t : r in A(t)}``, or the gap-free range
around it. For every truth, the interval misses it with probability at most 1 - coverage. Windows of noise are decided
in exact numbers; windows of tables in doubles, with more than the rounding error on the safe side.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...errors import InvalidInput, Unsupported
from ...exact.arrays import BoolArray, FloatArray, IntArray
from ...exact.laws import Finite, GeometricTails, Law, float_log
from ...exact.rationals import as_fraction, float_up, text_down, text_up
from ...mechanism import Mechanism
from ...spaces import LARGEST_INTEGER
from ...wording import percent

#: The upper end of an interval without one: the true count may lie beyond the bound of the mechanism.
NO_END = int(np.iinfo(np.int64).max)

#: Ends of a clamp that changes nothing: beyond every report, and near enough that differences fit in 64 bits.
UNCLAMPED_LOW, UNCLAMPED_HIGH = -(2**61), 2**62 + 2**60

#: Largest true count up to which the standard deviation is maximised over each truth; beyond, it is bounded.
MAX_ENUMERATED_TRUTH = 1024


@dataclass(frozen=True, eq=False)
class Accuracy:
    """The accuracy of each released count, as far as it is known without the truth.

    Attributes
    ----------
    level
        The coverage of the intervals.
    low, high
        The interval of each true count; ``high`` is :data:`NO_END` for a missing upper end, because a count beyond the
        bound is reported like the bound itself.
    sd
        The largest standard deviation of the report over all truths in range.
    bias_low, bias_high
        The least and the largest mean of report minus truth over all truths in range.
    exact
        The least probability that the report equals the truth, over all truths in range.
    """

    level: Fraction
    low: IntArray
    high: IntArray
    sd: FloatArray
    bias_low: FloatArray
    bias_high: FloatArray
    exact: FloatArray

    @property
    def open(self) -> BoolArray:
        """Mask of the intervals without an upper end."""
        return np.asarray(self.high == NO_END)


@dataclass(frozen=True)
class Expected:
    """The accuracy that is known before the data is read: the worst case over cells and truths.

    ``half_width`` is the least whole number with P(\\|report - truth\\| <= half_width) >= level for every truth; the
    other figures are those of :class:`Accuracy`.
    """

    level: Fraction
    half_width: int
    sd: float
    bias_low: float
    bias_high: float
    exact: float

    @property
    def how_often(self) -> str:
        """The coverage of ``half_width``, worded to follow that number."""
        return f"or less, {percent(self.level, 6)} of the time"

    def __str__(self) -> str:
        bias = max(abs(self.bias_low), abs(self.bias_high))
        about = "unbiased" if bias < 1e-9 else f"bias at most {text_up(bias, 2)}"
        return (
            f"noise ± {self.half_width:,}, {percent(self.level, 6)} of the time, standard deviation at most "
            f"{text_up(self.sd, 3)}, {about}, zero at least {text_down(100 * Fraction(self.exact), 3)}% of the time"
        )


def read_level(level: object) -> Fraction:
    """Read the coverage of intervals, a share from 1/2 to 1 - 1e-9."""
    value = as_fraction(level, "level")
    if not Fraction(1, 2) <= value <= 1 - Fraction(1, 10**9):
        raise InvalidInput.must_be(
            "level", "from 0.5 to below 1, such as 0.95", level, meaning="how often an interval covers"
        )
    return value


# ------------------------------------------------------------------------------------------------ laws of noise


def mirrored(law: Law) -> Law:
    """Return the law of -Z."""
    if law.symmetric:
        return law
    assert isinstance(law, Finite)  # all other laws are symmetric
    return Finite(-law.high, law.weights[::-1])


def exceeds_at_most(law: Law, z: int, share: Fraction) -> bool:
    """Return True if P(Z > z) <= share is proved, and False otherwise, also where it takes too many digits."""
    low, high = law.tail(z + 1, 160)
    if high * share.denominator <= share.numerator << 160:
        return True
    if low * share.denominator > share.numerator << 160 or not law.rational:
        return False
    digits = z * law.ratio.denominator.bit_length() if isinstance(law, GeometricTails) else 0
    return digits < 1 << 16 and law.upper(z + 1) <= share


def quantile(law: Law, share: Fraction) -> int:
    """Return the least z >= 0 with P(Z > z) <= share."""
    above = 0
    while not exceeds_at_most(law, above, share):
        above = 2 * above + 1
    first = (above - 1) // 2 + 1  # the last candidate that failed, plus one
    return first + bisect_left(range(first, above), True, key=lambda z: exceeds_at_most(law, z, share))


def noise_window(law: Law, coverage: Fraction) -> tuple[int, int]:
    """Return the shortest range of values that has at least this probability."""
    if law.symmetric:
        half = quantile(law, (1 - coverage) / 2)
        return -half, half
    assert isinstance(law, Finite)
    sums = [0]
    for weight in law.weights:
        sums.append(sums[-1] + weight)
    best, last = (0, len(law.weights)), 0
    for first in range(len(law.weights)):
        while last < len(law.weights) and sums[last] - sums[first] < coverage * law.total:
            last += 1
        if sums[last] - sums[first] >= coverage * law.total and last - first < best[1] - best[0]:
            best = (first, last)
    return law.low + best[0], law.low + best[1] - 1


class SideMoments:
    """The moments of one side of a law, for clamped noise.

    ``mean(m) = sum_(k=1..m) P(Z >= k)`` is the mean of min(Z+, m), and ``square(m) = sum (2k-1) P(Z >= k)`` the mean of
    its square: the error of a count whose report is clamped m above it.
    """

    def __init__(self, law: Law) -> None:
        self._law = law

    @cached_property
    def _sums(self) -> tuple[FloatArray, FloatArray]:
        law = self._law
        reach = max(law.high, 0) if isinstance(law, Finite) else quantile(law, Fraction(1, 2**60))
        tails = np.cumsum(law.floats(1, reach)[::-1])[::-1]
        odd = 2.0 * np.arange(1, reach + 1) - 1
        return np.concatenate([[0.0], np.cumsum(tails)]), np.concatenate([[0.0], np.cumsum(odd * tails)])

    def mean(self, m: IntArray) -> FloatArray:
        if isinstance(self._law, GeometricTails):
            side, ratio = float(self._law.side), self._law.ratio
            return np.asarray(side * -np.expm1(_decay(ratio, m)) / float(1 - ratio))
        return np.asarray(self._sums[0][np.minimum(m, len(self._sums[0]) - 1)])

    def square(self, m: IntArray) -> FloatArray:
        if isinstance(self._law, GeometricTails):
            side, ratio, gap = float(self._law.side), self._law.ratio, float(1 - self._law.ratio)
            whole = float((1 + ratio) / (1 - ratio) ** 2)
            return np.asarray(side * (-np.expm1(_decay(ratio, m)) * whole - np.exp(_decay(ratio, m)) * 2 * m / gap))
        return np.asarray(self._sums[1][np.minimum(m, len(self._sums[1]) - 1)])


def _decay(ratio: Fraction, m: IntArray) -> FloatArray:
    """Return log ratio^m, cut off where the power is negligible next to one."""
    return np.asarray(np.maximum(np.asarray(m, float) * float_log(ratio), -700.0))


# ------------------------------------------------------------------------------------------------ windows


class ReportRow(NamedTuple):
    """The probabilities of the reports start, start + 1, ... of one truth."""

    start: int
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class Windows:
    """The window of every truth: ``low[t]`` to ``high[t]`` for the first truths, ``shift`` added to all others."""

    low: IntArray
    high: IntArray
    shift: tuple[int, int] | None


def row_window(row: ReportRow, truth: int, coverage: Fraction) -> tuple[int, int]:
    """Return the shortest range of reports with at least this probability; of several, the one nearest to the truth."""
    size = len(row.weights)
    sums = np.concatenate([[0.0], np.cumsum(row.weights)])
    # each weight is within 2^-51 of its value, relatively, and a sum of them loses at most 2^-53 a term
    needed = float_up(coverage) + (size + 16) * 2.0**-50
    ends = np.searchsorted(sums, sums[:-1] + needed)
    lengths = ends - np.arange(size)
    if not (ends <= size).any():
        return row.start, row.start + size - 1
    lengths[ends > size] = size + 1
    shortest = np.flatnonzero(lengths == lengths.min())
    distance = np.abs(2 * (row.start + shortest) + lengths.min() - 1 - 2 * truth)
    first = int(shortest[distance.argmin()])
    return row.start + first, row.start + int(ends[first]) - 1


# ------------------------------------------------------------------------------------------------ one mechanism


@dataclass(frozen=True, eq=False)
class Behaviour:
    """The reports of one mechanism: rows of probabilities for the first truths, one law of noise for all later ones.

    Tables have only rows, noise has only a law, and noise with separate laws for the smallest counts has both.

    Attributes
    ----------
    rows
        The reports of the truths 0, 1, ..., before they are clamped.
    law
        The noise added to the truths from ``len(rows)`` on; None for a table.
    largest
        The largest truth the mechanism accepts.
    clamp
        The range to which the mechanism clamps its reports.
    """

    rows: tuple[ReportRow, ...]
    law: Law | None
    largest: int
    clamp: tuple[int, int]
    _windows: dict[Fraction, Windows] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, mechanism: Mechanism) -> Behaviour:
        """Read a mechanism whose truths and reports are counts."""
        if not (mechanism.inputs.is_line and mechanism.outputs.is_line):
            raise Unsupported(
                f"released cells are counts; {mechanism.family} takes {mechanism.inputs.noun}s and reports "
                f"{mechanism.outputs.noun}s.",
                "Choose a mechanism for counts.",
            )
        kernel = mechanism.kernel.noise
        if kernel is None:
            rows = tuple(ReportRow(0, weights) for weights in mechanism.matrix)
            return cls(rows, None, len(rows) - 1, (UNCLAMPED_LOW, UNCLAMPED_HIGH))
        least, largest = kernel.truths
        if (least or 0) > 0 or (kernel.first_laws and least != 0):
            raise Unsupported(
                f"{mechanism.family} begins at a count of {least}, but a released cell may have any count from 0 on.",
                "Build it from 0 on.",
            )
        low, high = kernel.clamp
        return cls(
            tuple(ReportRow(t + law.low, law.floats(*law.support)) for t, law in enumerate(kernel.first_laws)),
            kernel.law,
            LARGEST_INTEGER if largest is None else largest,
            (UNCLAMPED_LOW if low is None else low, UNCLAMPED_HIGH if high is None else high),
        )

    @property
    def shifts(self) -> bool:
        """True if every truth gets the same noise."""
        return not self.rows

    @cached_property
    def _upper(self) -> SideMoments:
        assert self.law is not None
        return SideMoments(self.law)

    @cached_property
    def _lower(self) -> SideMoments:
        assert self.law is not None
        return SideMoments(mirrored(self.law))

    def windows(self, coverage: Fraction) -> Windows:
        """Return the windows that have this coverage."""
        if coverage not in self._windows:
            ends = [row_window(row, truth, coverage) for truth, row in enumerate(self.rows)]
            low, high = np.array(ends, np.int64).reshape(-1, 2).T
            self._windows[coverage] = Windows(low, high, None if self.law is None else noise_window(self.law, coverage))
        return self._windows[coverage]

    def intervals(
        self, reported: IntArray, largest: IntArray, below: int, above: IntArray, coverage: Fraction
    ) -> tuple[IntArray, IntArray]:
        """Return the least and the largest truth whose window contains the report, for each cell.

        Parameters
        ----------
        reported
            The reports, clamped to ``below`` and ``above``.
        largest
            The largest truth of each cell.
        """
        windows = self.windows(coverage)
        bottom, top = reported <= below, reported >= above
        low, high = np.full(reported.shape, NO_END), np.full(reported.shape, -1)
        if windows.shift is not None:
            # clip(t + z) <= r iff t + z <= r or r is the upper clamp; likewise below
            first, last = windows.shift
            least = np.maximum(np.where(bottom, 0, reported - last), len(self.rows))
            most = np.minimum(np.where(top, largest, reported - first), largest)
            inside = least <= most
            low, high = np.where(inside, least, low), np.where(inside, most, high)
        for truth in range(len(self.rows)):
            inside = (truth <= largest) & ((windows.low[truth] <= reported) | top)
            inside &= (windows.high[truth] >= reported) | bottom
            low, high = np.where(inside & (truth < low), truth, low), np.where(inside & (truth > high), truth, high)
        nearest = np.clip(reported, 0, largest)  # for a report outside every window
        outside = high < 0
        return np.where(outside, nearest, low), np.where(outside, nearest, high)

    def half_width(self, largest: int, below: int, above: int, coverage: Fraction) -> int:
        """Return the least h with every window of a truth up to ``largest`` within truth ± h."""
        windows, width = self.windows(coverage), 0
        if windows.shift is not None and largest >= len(self.rows):
            width = max(0, min(-windows.shift[0], largest - below), min(windows.shift[1], above))
        for truth in range(min(len(self.rows), largest + 1)):
            low, high = np.clip([windows.low[truth], windows.high[truth]], below, above).tolist()
            width = max(width, truth - low, high - truth)
        return width

    # ---------------------------------------------------------------- worst cases over truths

    def figures(self, largest: IntArray, below: int, above: IntArray) -> tuple[FloatArray, ...]:
        """Return the largest sd, least and largest bias and least probability of the truth, for each range."""
        sd, bias_low, bias_high, exact = self._noise_figures(largest, below, above)
        if self.rows:
            # a clamp above the last report of all rows does not change them
            reach = max(row.start + len(row.weights) for row in self.rows)
            truths, ends = np.minimum(largest, len(self.rows) - 1), np.minimum(above, reach)
            pairs, which = np.unique(np.stack([truths, ends], axis=1), axis=0, return_inverse=True)
            rows = np.array([self._row_figures(int(truth), below, int(end)) for truth, end in pairs])[which.reshape(-1)]
            sd, bias_low = np.maximum(sd, rows[:, 0]), np.minimum(bias_low, rows[:, 1])
            bias_high, exact = np.maximum(bias_high, rows[:, 2]), np.minimum(exact, rows[:, 3])
        return sd, bias_low, bias_high, exact

    def _row_figures(self, largest: int, below: int, above: int) -> tuple[float, float, float, float]:
        sd, bias_low, bias_high, exact = 0.0, math.inf, -math.inf, 1.0
        for truth, row in enumerate(self.rows[: largest + 1]):
            errors = np.clip(np.arange(row.start, row.start + len(row.weights)), below, above) - truth
            bias = float(row.weights @ errors)
            sd = max(sd, math.sqrt(float(row.weights @ (errors - bias) ** 2)))
            bias_low, bias_high = min(bias_low, bias), max(bias_high, bias)
            exact = min(exact, float(row.weights[errors == 0].sum()))
        return sd, bias_low, bias_high, exact

    def _noise_figures(self, largest: IntArray, below: int, above: IntArray) -> tuple[FloatArray, ...]:
        """Return the figures of the law: its bias falls as the truth rises, as more is clamped from above."""
        shape, first = largest.shape, len(self.rows)
        if self.law is None:
            return np.zeros(shape), np.full(shape, np.inf), np.full(shape, -np.inf), np.ones(shape)
        start = np.full(shape, first, np.int64)
        highest = self._upper.mean(above - start) - self._lower.mean(start - below)
        lowest = self._upper.mean(above - largest) - self._lower.mean(largest - below)
        inner = np.maximum(first, below + 1) <= np.minimum(largest, above - 1)
        at_ends = min(1.0, self.law.float_tail(0), mirrored(self.law).float_tail(0))
        exact = np.where(inner, float(self.law.floats(0, 0)[0]), np.where(above > below, at_ends, 1.0))
        sd = self._largest_sd(largest, below, above)
        absent = largest < first
        return (
            np.where(absent, 0.0, sd),
            np.where(absent, np.inf, lowest),
            np.where(absent, -np.inf, highest),
            np.where(absent, 1.0, exact),
        )

    def _largest_sd(self, largest: IntArray, below: int, above: IntArray) -> FloatArray:
        """Return the largest sd: clamping only shrinks distances, so it is at most that of the noise, and range / 2."""
        no_clamp = np.array([UNCLAMPED_HIGH])
        mean = self._upper.mean(no_clamp) - self._lower.mean(no_clamp)
        unclamped = float(np.sqrt(self._upper.square(no_clamp) + self._lower.square(no_clamp) - mean**2)[0])
        sd = np.minimum(unclamped, (above - below) / 2)
        for k in np.flatnonzero(largest <= MAX_ENUMERATED_TRUTH).tolist():
            truths = np.arange(len(self.rows), int(largest[k]) + 1)
            up, down = int(above[k]) - truths, truths - below
            bias = self._upper.mean(up) - self._lower.mean(down)
            squares = self._upper.square(up) + self._lower.square(down)
            sd[k] = math.sqrt(max(0.0, float((squares - bias**2).max(initial=0.0))))
        return sd
