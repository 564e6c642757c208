"""Changes between two releases of the same cells, with intervals that cover for all true counts.

The noises of two releases are independent. With reports r, r' of truths t, t', the error of the change r' - r has the
law of z' - z, with the bounds of :mod:`~.margins` where reports are clamped: one convolution for each kind of pair,
for any number of cells. Where noise depends on the count (tables), both counts are enclosed together.

Counts that were combined over levels come with intervals: each has half of the probability to miss, so the interval of
the change is valid and wider than necessary.

Growth is 100 (t'/t - 1) percent. Its interval is given for every cell that can have anybody in it, endless where the
earlier count may be zero: by a test of both reports together (:mod:`~.growth`), or, where noise depends on the count or
counts were combined, from both counts enclosed together, each with half of the probability to miss.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ...exact.arrays import BoolArray, FloatArray, IntArray
from ...exact.laws import Law
from ...spaces import LARGEST_INTEGER
from .accuracy import NO_END, UNCLAMPED_HIGH, UNCLAMPED_LOW, mirrored, quantile
from .growth import ratio_ends
from .margins import SUPPRESSED, Combined, NoisySide, ReleasedCells, exact_sum, noise_above

#: Relative amount by which the ends of percentages, which are doubles, are moved outward.
_OUTWARD_SLACK = 1e-14


@dataclass(frozen=True, eq=False)
class Changes:
    """The changes of all cells: later minus earlier.

    Attributes
    ----------
    difference
        The difference of the released counts; 0 where one of them is suppressed.
    low, high
        The interval of the true difference; ± :data:`~.accuracy.NO_END` where it has no end, because a count may lie
        beyond its bound.
    growth, growth_low, growth_high
        The growth in percent of the earlier count: its estimate, which is NaN where the earlier released count is not
        positive, and its interval, with infinity for a missing upper end. All are NaN where the earlier count is known
        to be zero.
    comparable
        True where both counts are released; the other entries have no meaning.
    """

    difference: IntArray | FloatArray
    low: IntArray
    high: IntArray
    growth: FloatArray
    growth_low: FloatArray
    growth_high: FloatArray
    comparable: BoolArray

    @property
    def determined(self) -> BoolArray:
        """Mask of the cells whose growth has an interval: all but those whose earlier count is known to be zero."""
        return np.asarray(self.comparable & ~np.isnan(self.growth_low))

    @property
    def beyond_noise(self) -> BoolArray:
        """Mask of the cells whose interval excludes 0: the noise alone does not explain the difference."""
        return np.asarray(self.comparable & ((self.low > 0) | (self.high < 0)))


class Growth(NamedTuple):
    """Growth in percent, and the ends of its intervals."""

    growth: FloatArray
    low: FloatArray
    high: FloatArray


def changes(earlier: ReleasedCells, later: ReleasedCells, coverage: Fraction, *, growth: bool = True) -> Changes:
    """Return the change of every cell between two releases of the same cells.

    Parameters
    ----------
    earlier, later
        The cells of both, in the same order.
    coverage
        The coverage of each interval.
    growth
        Whether to work out growth too.

    Examples
    --------
    >>> from discreet.release.noise.cells import cell_noise
    >>> noise = cell_noise("geometric", epsilon=1)
    >>> change = changes(ReleasedCells([50, 3], noise, None), ReleasedCells([60, 9], noise, None), Fraction(19, 20))
    >>> change.difference.tolist(), change.low.tolist(), change.high.tolist()
    ([10, 6], [6, 2], [14, 10])
    >>> change.growth.round(1).tolist(), change.growth_low.round(1).tolist(), change.growth_high.round(1).tolist()
    ([20.0, 200.0], [11.5, 40.0], [29.2, inf])
    """
    comparable = _released(earlier) & _released(later)
    share = (1 - coverage) / 2
    first, second = _enclosed(earlier, 1 - share), _enclosed(later, 1 - share)
    if earlier.noise.shift_law is None or later.noise.shift_law is None:
        low = np.where(first.high == NO_END, -NO_END, second.low - first.high)
        high = np.where(second.high == NO_END, NO_END, second.high - first.low)
    else:
        below, high = _upper_each(earlier, later, share), _upper_each(later, earlier, share)
        low = np.where(below == NO_END, -NO_END, -below)
    difference = np.where(comparable, second.counts - first.counts, 0)
    if not growth:
        rates = _unknown_growth(comparable)
    elif earlier.noise.shift_law is None or later.noise.shift_law is None:
        rates = _growth_between(first, second, comparable)
    else:
        rates = _growth_by_test(earlier, later, comparable, share)
    return Changes(difference, low, high, *rates, comparable)


class EnclosedCounts(NamedTuple):
    """Counts with given intervals, such as those combined over levels."""

    counts: IntArray | FloatArray
    low: IntArray
    high: IntArray


def enclosed_changes(earlier: EnclosedCounts, later: EnclosedCounts, *, growth: bool = True) -> Changes:
    """Return the change of every count, from intervals that each have half of the probability to miss.

    Examples
    --------
    >>> before = EnclosedCounts(np.array([100.25]), np.array([98]), np.array([102]))
    >>> after = EnclosedCounts(np.array([150.75]), np.array([148]), np.array([153]))
    >>> change = enclosed_changes(before, after)
    >>> change.difference.tolist(), change.low.tolist(), change.high.tolist(), change.growth_low.round(1).tolist()
    ([50.5], [46], [55], [45.1])
    """
    comparable = np.ones(earlier.counts.shape, dtype=bool)
    rates = _growth_between(earlier, later, comparable) if growth else _unknown_growth(comparable)
    # counts have three decimals; the rounding error of doubles is far smaller
    difference = np.round(later.counts - earlier.counts, 9)
    return Changes(difference, later.low - earlier.high, later.high - earlier.low, *rates, comparable)


def total_change(earlier: ReleasedCells, later: ReleasedCells, which: BoolArray, coverage: Fraction) -> Combined | None:
    """Return the change of the sum of the chosen cells, or None if one of them is suppressed.

    Examples
    --------
    >>> from discreet.release.noise.cells import cell_noise
    >>> noise = cell_noise("geometric", epsilon=1)
    >>> before, after = ReleasedCells([50, 30], noise, None), ReleasedCells([60, 39], noise, None)
    >>> change = total_change(before, after, np.full(2, True), Fraction(9, 10))
    >>> change.estimate, change.low, change.high
    (19, 15, 23)
    """
    if not (_released(earlier) & _released(later))[which].all():
        return None
    share = (1 - coverage) / 2
    plus, minus = which & ~later.empty, which & ~earlier.empty
    below = _upper_sum(earlier, minus, later, plus, share)
    figures = [cells.noise.figures(cells.reported.size) for cells in (later, earlier)]
    spread = [(one[0][mask] ** 2).sum() for one, mask in zip(figures, (plus, minus), strict=True)]
    return Combined(
        exact_sum(later.reported[plus]) - exact_sum(earlier.reported[minus]),
        None if below is None else -below,
        _upper_sum(later, plus, earlier, minus, share),
        coverage,
        float(np.sqrt(sum(spread))),
        float(figures[0][1][plus].sum() - figures[1][2][minus].sum()),
        float(figures[0][2][plus].sum() - figures[1][1][minus].sum()),
        int(plus.sum() + minus.sum()),
        "the law of the sum of the cells' noises in both releases",
    )


# ------------------------------------------------------------------------------------------------ each cell


def _released(cells: ReleasedCells) -> BoolArray:
    """Return a mask of the cells that are not suppressed."""
    if cells.status is None:
        return np.ones(cells.reported.shape, dtype=bool)
    return np.asarray(cells.status != SUPPRESSED)


def _counts(cells: ReleasedCells) -> IntArray:
    """Return the reported counts, 0 for cells that cannot have anybody in them."""
    return np.where(cells.empty, 0, cells.reported)


def _enclosed(cells: ReleasedCells, coverage: Fraction) -> EnclosedCounts:
    """Return the reported counts with their intervals, all 0 for cells that cannot have anybody in them."""
    low, high = cells.noise.intervals(cells.reported, coverage)
    return EnclosedCounts(_counts(cells), np.where(cells.empty, 0, low), np.where(cells.empty, 0, high))


def _upper_each(plus: ReleasedCells, minus: ReleasedCells, share: Fraction) -> IntArray:
    """Return for each pair of cells a bound that true plus - true minus exceeds with probability at most ``share``."""
    up, down = plus.noise.shift_law, minus.noise.shift_law
    assert up is not None and down is not None
    kinds = np.stack(
        [
            ~plus.empty,
            plus.above < UNCLAMPED_HIGH,
            plus.reported >= plus.above,
            ~minus.empty,
            minus.reported <= minus.below,
        ]
    ).astype(np.int64)
    codes = (kinds * (1 << np.arange(len(kinds)))[:, None]).sum(axis=0)
    bound = _counts(plus) - _counts(minus)
    for code in np.unique(codes).tolist():
        plus_noisy, topped, at_top, minus_noisy, at_bottom = (bool(code >> bit & 1) for bit in range(len(kinds)))
        sides = (
            NoisySide(up, int(plus_noisy), topped, int(plus_noisy and at_top)),
            NoisySide(down, int(minus_noisy), minus.below > UNCLAMPED_LOW, int(minus_noisy and at_bottom)),
        )
        bound = np.where(codes == code, bound + noise_above(*sides, share), bound)
    bound = np.where(plus.largest < LARGEST_INTEGER, np.minimum(bound, plus.largest), bound)
    bound = np.where(minus.largest < LARGEST_INTEGER, np.maximum(bound, -minus.largest), bound)
    return np.where(_may_be_beyond(plus, up, share), NO_END, bound)


def _may_be_beyond(cells: ReleasedCells, law: Law, share: Fraction) -> BoolArray:
    """Return a mask of the cells whose true count may exceed their bound, so that it has no upper end."""
    near = quantile(mirrored(law), share)
    return np.asarray(~cells.empty & cells.bounded & (cells.reported >= cells.largest - near))


def _growth_by_test(earlier: ReleasedCells, later: ReleasedCells, comparable: BoolArray, share: Fraction) -> Growth:
    """Return the growth of cells with the same noise for every truth, by one test of both reports together."""
    before, after = earlier.noise.shift_law, later.noise.shift_law
    assert before is not None and after is not None
    low, high = ratio_ends(earlier.reported, later.reported, before, after, share)
    earlier_top, earlier_bottom = _at_clamps(earlier)
    later_top, later_bottom = _at_clamps(later)
    low = np.where(later_bottom | earlier_top | _may_be_beyond(earlier, before, share), 0.0, low)
    high = np.where(earlier_bottom | later_top | _may_be_beyond(later, after, share), np.inf, high)
    low, high = np.where(later.empty, 0.0, low), np.where(later.empty, 0.0, high)
    return _percent(_counts(earlier), _counts(later), low, high, comparable & ~earlier.empty)


def _at_clamps(cells: ReleasedCells) -> tuple[BoolArray, BoolArray]:
    """Return masks of the reports at their upper and lower clamps: the report without a clamp may be beyond."""
    top = (cells.above < UNCLAMPED_HIGH) & (cells.reported >= cells.above)
    return np.asarray(top), np.asarray((cells.below > UNCLAMPED_LOW) & (cells.reported <= cells.below))


def _growth_between(earlier: EnclosedCounts, later: EnclosedCounts, comparable: BoolArray) -> Growth:
    """Return the growth from intervals of both counts: t'/t is largest where t' is largest and t least."""
    (before, first, last), (after, least, most) = earlier, later
    enclosed = (last > 0) & (last < NO_END)
    low = np.where(enclosed, np.maximum(least, 0) / np.where(enclosed, last, 1), 0.0)
    ended = (first > 0) & (most < NO_END)
    high = np.where(ended, most / np.where(ended, first, 1), np.inf)
    return _percent(before, after, low, high, comparable & (last > 0))


def _percent(
    before: IntArray | FloatArray, after: IntArray | FloatArray, low: FloatArray, high: FloatArray, known: BoolArray
) -> Growth:
    """Return growth and its ends in percent; NaN where the earlier count is known to be zero."""
    positive = known & (before > 0)
    growth = np.where(positive, 100.0 * after / np.where(positive, before, 1) - 100.0, np.nan)
    # ratios are doubles, so a tiny step outward keeps the ends on the safe side
    low = np.maximum(100.0 * low * (1 - _OUTWARD_SLACK) - 100.0 * (1 + _OUTWARD_SLACK), -100.0)
    high = 100.0 * high * (1 + _OUTWARD_SLACK) - 100.0 * (1 - _OUTWARD_SLACK)
    return Growth(growth, *(np.where(known, ends, np.nan) for ends in (low, high)))


def _unknown_growth(comparable: BoolArray) -> Growth:
    """Return growth that was not worked out."""
    unknown = np.full(comparable.shape, np.nan)
    return Growth(unknown, unknown, unknown)


# ------------------------------------------------------------------------------------------------ sums


def _upper_sum(
    plus: ReleasedCells, chosen: BoolArray, minus: ReleasedCells, subtracted: BoolArray, share: Fraction
) -> int | None:
    """Return a bound that the true plus sum - minus sum exceeds with probability at most ``share``, or None."""
    up, down = plus.noise.shift_law, minus.noise.shift_law
    if up is None or down is None:
        count = int(chosen.sum() + subtracted.sum())
        coverage = 1 - 2 * share / max(count, 1)
        high, low = plus.noise.intervals(plus.reported, coverage)[1], minus.noise.intervals(minus.reported, coverage)[0]
        return None if (high[chosen] == NO_END).any() else exact_sum(high[chosen]) - exact_sum(low[subtracted])
    if (chosen & _may_be_beyond(plus, up, share)).any():
        return None
    topped = bool((plus.above[chosen] < UNCLAMPED_HIGH).any())
    at_top, at_bottom = plus.reported >= plus.above, minus.reported <= minus.below
    sides = (
        NoisySide(up, int(chosen.sum()), topped, int((chosen & at_top).sum())),
        NoisySide(down, int(subtracted.sum()), minus.below > UNCLAMPED_LOW, int((subtracted & at_bottom).sum())),
    )
    return exact_sum(plus.reported[chosen]) - exact_sum(minus.reported[subtracted]) + noise_above(*sides, share)
