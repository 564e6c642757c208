"""What changed between two releases of the same cells, with intervals that cover whatever the truths are.

The noises of two releases are independent. With reports r, r' of truths t, t', the change t' - t exceeds r' - r with
the law of z - z', or what :mod:`~.margins` says of it where reports are clamped: one convolution for each kind of pair,
whatever the number of cells. Where noise depends on the count (tables), both counts are enclosed together.

Counts that were combined over levels come with their own intervals: each is enclosed with half of the probability to
miss, which holds and is wider than need be.

Growth is 100 (t'/t - 1) percent. Both counts are enclosed together, each with half of the probability to miss, and
``t'/t`` is largest where t' is largest and t least. It says something only where t is known well enough: where the
lower end of its interval is at least half of the released count.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...exact.arrays import BoolArray, FloatArray, IntArray
from ...exact.laws import Law
from ...spaces import LARGEST_INTEGER
from .accuracy import FREE_ABOVE, FREE_BELOW, NO_END, mirrored, quantile
from .margins import SUPPRESSED, Cells, Combined, Side, exact_sum, noise_above

#: Percentages are doubles: their ends are moved outward by this part of what they were worked out from.
_OUTWARD = 1e-14


@dataclass(frozen=True, eq=False)
class Changes:
    """Later less earlier, for every cell.

    Attributes
    ----------
    difference
        Of the released counts; 0 where one of them is suppressed.
    low, high
        The interval of the true difference: -:data:`~.accuracy.NO_END` and :data:`~.accuracy.NO_END` where it has no
        end, because a count may lie beyond its bound.
    growth, growth_low, growth_high
        In percent of the earlier count: NaN where it is undetermined, infinity where there is no upper end.
    seen
        Whether both counts are released. Of the others nothing is said.
    """

    difference: IntArray | FloatArray
    low: IntArray
    high: IntArray
    growth: FloatArray
    growth_low: FloatArray
    growth_high: FloatArray
    seen: BoolArray

    @property
    def determined(self) -> BoolArray:
        """Where growth says something."""
        return np.asarray(self.seen & ~np.isnan(self.growth))

    @property
    def beyond_noise(self) -> BoolArray:
        """Where the interval excludes 0: the counts differ by more than the noise explains."""
        return np.asarray(self.seen & ((self.low > 0) | (self.high < 0)))


def changes(earlier: Cells, later: Cells, level: Fraction) -> Changes:
    """The change of every cell between two releases of the same cells.

    Parameters
    ----------
    earlier, later
        The cells of both, in the same order.
    level
        How often each interval covers, at least, whatever the truths are.

    Examples
    --------
    >>> from discreet.release.noise.cells import cell_noise
    >>> noise = cell_noise("geometric", epsilon=1)
    >>> found = changes(Cells([50, 3], noise, None), Cells([60, 9], noise, None), Fraction(19, 20))
    >>> found.difference.tolist(), found.low.tolist(), found.high.tolist()
    ([10, 6], [6, 2], [14, 10])
    >>> found.growth.round(1).tolist(), found.growth_low.round(1).tolist(), found.growth_high.round(1).tolist()
    ([20.0, nan], [3.7, nan], [39.1, nan])
    """
    seen = _released(earlier) & _released(later)
    share = (1 - level) / 2
    if earlier.noise.shift_law is None or later.noise.shift_law is None:
        first, second = _enclosed(earlier, 1 - share), _enclosed(later, 1 - share)
        low = np.where(first[1] == NO_END, -NO_END, second[0] - first[1])
        high = np.where(second[1] == NO_END, NO_END, second[1] - first[0])
    else:
        below, high = _upper_each(earlier, later, share), _upper_each(later, earlier, share)
        low = np.where(below == NO_END, -NO_END, -below)
    difference = np.where(seen, _counts(later) - _counts(earlier), 0)
    return Changes(difference, low, high, *_growth(earlier, later, 1 - share, seen), seen)


@dataclass(frozen=True, eq=False)
class Enclosed:
    """Counts that come with intervals of their own, such as those combined over levels: counts, and both ends."""

    counts: FloatArray
    low: IntArray
    high: IntArray


def enclosed_changes(earlier: Enclosed, later: Enclosed) -> Changes:
    """The change of every count between two releases, from intervals that each miss half as often as these may.

    Examples
    --------
    >>> before = Enclosed(np.array([100.25]), np.array([98]), np.array([102]))
    >>> after = Enclosed(np.array([150.75]), np.array([148]), np.array([153]))
    >>> found = enclosed_changes(before, after)
    >>> found.difference.tolist(), found.low.tolist(), found.high.tolist(), found.growth_low.round(1).tolist()
    ([50.5], [46], [55], [45.1])
    """
    seen = np.ones(earlier.counts.shape, dtype=bool)
    growth = _growth_between((earlier.counts, earlier.low, earlier.high), (later.counts, later.low, later.high), seen)
    # counts have three decimals; what doubles add to a difference is far below
    difference = np.round(later.counts - earlier.counts, 9)
    return Changes(difference, later.low - earlier.high, later.high - earlier.low, *growth, seen)


def total_change(earlier: Cells, later: Cells, chosen: BoolArray, level: Fraction) -> Combined | None:
    """The change of the sum of the chosen cells; None where one of them is suppressed.

    Examples
    --------
    >>> from discreet.release.noise.cells import cell_noise
    >>> noise = cell_noise("geometric", epsilon=1)
    >>> before, after = Cells([50, 30], noise, None), Cells([60, 39], noise, None)
    >>> found = total_change(before, after, np.full(2, True), Fraction(9, 10))
    >>> found.estimate, found.low, found.high
    (19, 15, 23)
    """
    if not (_released(earlier) & _released(later))[chosen].all():
        return None
    share = (1 - level) / 2
    plus, minus = chosen & ~later.empty, chosen & ~earlier.empty
    below = _upper_sum(earlier, minus, later, plus, share)
    figures = [cells.noise.figures(cells.reported.size) for cells in (later, earlier)]
    spread = [(one[0][mask] ** 2).sum() for one, mask in zip(figures, (plus, minus), strict=True)]
    return Combined(
        exact_sum(later.reported[plus]) - exact_sum(earlier.reported[minus]),
        None if below is None else -below,
        _upper_sum(later, plus, earlier, minus, share),
        level,
        float(np.sqrt(sum(spread))),
        float(figures[0][1][plus].sum() - figures[1][2][minus].sum()),
        float(figures[0][2][plus].sum() - figures[1][1][minus].sum()),
        int(plus.sum() + minus.sum()),
        "the law of the sum of the cells' noises in both releases",
    )


# ------------------------------------------------------------------------------------------------ each cell


def _released(cells: Cells) -> BoolArray:
    if cells.status is None:
        return np.ones(cells.reported.shape, dtype=bool)
    return np.asarray(cells.status != SUPPRESSED)


def _counts(cells: Cells) -> IntArray:
    return np.where(cells.empty, 0, cells.reported)


def _enclosed(cells: Cells, level: Fraction) -> tuple[IntArray, IntArray]:
    low, high = cells.noise.intervals(cells.reported, level)
    return np.where(cells.empty, 0, low), np.where(cells.empty, 0, high)


def _upper_each(plus: Cells, minus: Cells, share: Fraction) -> IntArray:
    """What true plus less true minus exceeds with probability at most ``share``, for each pair of cells."""
    up, down = plus.noise.shift_law, minus.noise.shift_law
    assert up is not None and down is not None
    kinds = np.stack(
        [
            ~plus.empty,
            plus.above < FREE_ABOVE,
            plus.reported >= plus.above,
            ~minus.empty,
            minus.reported <= minus.below,
        ]
    ).astype(np.int64)
    codes = (kinds * (1 << np.arange(len(kinds)))[:, None]).sum(axis=0)
    found = _counts(plus) - _counts(minus)
    for code in np.unique(codes).tolist():
        own, topped, at_top, other, at_bottom = (bool(code >> bit & 1) for bit in range(len(kinds)))
        sides = (
            Side(up, int(own), topped, int(own and at_top)),
            Side(down, int(other), minus.below > FREE_BELOW, int(other and at_bottom)),
        )
        found = np.where(codes == code, found + noise_above(*sides, share), found)
    found = np.where(plus.largest < LARGEST_INTEGER, np.minimum(found, plus.largest), found)
    found = np.where(minus.largest < LARGEST_INTEGER, np.maximum(found, -minus.largest), found)
    return np.where(_may_be_beyond(plus, up, share), NO_END, found)


def _may_be_beyond(cells: Cells, law: Law, share: Fraction) -> BoolArray:
    """Where a count beyond its bound could be reported so: it has no upper end then."""
    near = quantile(mirrored(law), share)
    return np.asarray(~cells.empty & cells.bounded & (cells.reported >= cells.largest - near))


def _growth(
    earlier: Cells, later: Cells, level: Fraction, seen: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    first, second = ((_counts(cells), *_enclosed(cells, level)) for cells in (earlier, later))
    return _growth_between(first, second, seen)


#: Counts, and the lower and upper ends of their intervals.
_Ends = tuple[IntArray | FloatArray, IntArray, IntArray]


def _growth_between(earlier: _Ends, later: _Ends, seen: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    (before, first, last), (after, least, most) = earlier, later
    known = seen & (first > 0) & (2 * first >= before)
    # exact to the last digit or two, so that a tiny step outward keeps the ends on the safe side
    base, ends = (np.where(known, values, 1).astype(float) for values in (first, last))
    growth = 100.0 * after / np.where(known, before, 1) - 100.0
    low, high = 100.0 * least / ends * (1 - _OUTWARD), 100.0 * most / base * (1 + _OUTWARD)
    low = np.where(last == NO_END, -100.0, np.maximum(low - 100.0 * (1 + _OUTWARD), -100.0))
    high = np.where(most == NO_END, np.inf, high - 100.0 * (1 - _OUTWARD))
    growth, low, high = (np.where(known, values, np.nan) for values in (growth, low, high))
    return growth, low, high


# ------------------------------------------------------------------------------------------------ sums


def _upper_sum(plus: Cells, chosen: BoolArray, minus: Cells, taken: BoolArray, share: Fraction) -> int | None:
    """What the true sum of the plus cells less that of the minus cells exceeds with probability at most ``share``."""
    up, down = plus.noise.shift_law, minus.noise.shift_law
    if up is None or down is None:
        count = int(chosen.sum() + taken.sum())
        level = 1 - 2 * share / max(count, 1)
        high, low = plus.noise.intervals(plus.reported, level)[1], minus.noise.intervals(minus.reported, level)[0]
        return None if (high[chosen] == NO_END).any() else exact_sum(high[chosen]) - exact_sum(low[taken])
    if (chosen & _may_be_beyond(plus, up, share)).any():
        return None
    topped = bool((plus.above[chosen] < FREE_ABOVE).any())
    at_top, at_bottom = plus.reported >= plus.above, minus.reported <= minus.below
    sides = (
        Side(up, int(chosen.sum()), topped, int((chosen & at_top).sum())),
        Side(down, int(taken.sum()), minus.below > FREE_BELOW, int((taken & at_bottom).sum())),
    )
    return exact_sum(plus.reported[chosen]) - exact_sum(minus.reported[taken]) + noise_above(*sides, share)
