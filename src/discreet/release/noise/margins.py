"""Totals, differences and percentages of released cells, with intervals that cover for all true counts.

The cells of a table are drawn independently, so the error of a total is a sum of independent noises, far smaller than
the sum of the errors of the cells. Where reports are clamped the error depends on the truths, and only inequalities
hold for all of them. With the report r = clip(t + z) of a truth t,

    t <= r - z   unless r is the upper clamp, where t <= r;      t >= r - z   unless r is the lower clamp, where t >= 0,

so for a total R of reports, of which some lie at the upper clamp,

    T <= R + sum of max(-z, 0),    and    T <= R - sum of z + sum of max(z, 0) over the cells at the upper clamp.

The first is short when nearly all cells are clamped, the second when hardly any is. Both are computed, each with a part
of the probability to miss, and the smaller is used. Lower ends mirror this.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ...errors import InvalidInput
from ...exact.arrays import BoolArray, IntArray
from ...exact.laws import Law
from ...exact.rationals import float_down, float_up
from ...spaces import LARGEST_INTEGER
from ...wording import percent
from .accuracy import NO_END, UNCLAMPED_HIGH, UNCLAMPED_LOW, mirrored, quantile, read_level
from .cells import CellNoise
from .shares import balance_width, has_weighted_bounds, share_interval
from .sums import SumTerms, is_listed_by_outcome, sum_quantile

Mask = BoolArray

#: The status of a structural zero, and of a suppressed cell.
IMPOSSIBLE, SUPPRESSED = "M", "Q"


@dataclass(frozen=True)
class Combined:
    """A figure computed from released cells, with its interval.

    Attributes
    ----------
    estimate
        The figure from the released counts; None for a percentage of nothing.
    low, high
        The interval of the true figure; None for a missing end, because a count may lie beyond its bound.
    level
        The coverage of the interval, for all true counts.
    sd, bias_low, bias_high
        The largest standard deviation and the range of the mean error, over all true counts; None for percentages.
    cells
        Number of noisy cells in the figure.
    how
        A sentence on the method of the interval.
    is_percentage
        Whether the figures are in percent.
    """

    estimate: int | float | None
    low: int | float | None
    high: int | float | None
    level: Fraction
    sd: float | None
    bias_low: float | None
    bias_high: float | None
    cells: int
    how: str
    is_percentage: bool = False

    def __str__(self) -> str:
        estimate, low, high = (
            self._shown(figure, towards)
            for figure, towards in ((self.estimate, round), (self.low, math.floor), (self.high, math.ceil))
        )
        return f"{estimate} ({percent(self.level, 6)} interval {low} to {high})"

    def _shown(self, figure: int | float | None, towards: Callable[[Fraction], int]) -> str:
        unit = "%" if self.is_percentage else ""
        return "unknown" if figure is None else f"{_format(figure, _decimals(self), towards)}{unit}"


#: Largest number of decimals of a figure.
_MAX_DECIMALS = 6


def _decimals(figure: Combined) -> int:
    """Return the decimals that show two digits of the interval's length: its ends differ, the estimate is within."""
    figures = [one for one in (figure.estimate, figure.low, figure.high) if one is not None]
    length = None if figure.low is None or figure.high is None else figure.high - figure.low
    if length is None or length <= 0:
        return 0 if all(one == int(one) for one in figures) else 3
    return min(_MAX_DECIMALS, max(0, 1 - math.floor(math.log10(length))))


def _format(value: int | float, decimals: int, towards: Callable[[Fraction], int]) -> str:
    """Format a figure with this number of decimals, rounded in a direction; integers have none."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{towards(Fraction(value) * 10**decimals) / 10**decimals:,.{decimals}f}"


def total(
    reported: object, noise: CellNoise, status: object, chosen: object, level: object = Fraction(19, 20)
) -> Combined:
    """Return the total of the chosen cells.

    Parameters
    ----------
    reported, noise
        The released counts of all cells, and their noise.
    status
        The status of each cell; None if all are noisy counts ("A"). Structural zeros ("M") count 0 exactly, and a
        suppressed cell ("Q") leaves no total.
    chosen
        A mask of the cells to add up.
    level
        The coverage of the interval.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.release.noise.cells import cell_noise
    >>> figure = total(np.full(100, 50), cell_noise("geometric", epsilon=1), None, np.full(100, True))
    >>> figure.estimate, figure.low, figure.high
    (5000, 4973, 5027)
    """
    cells = ReleasedCells(reported, noise, status)
    plus = cells.read(chosen, "chosen")
    return _combine(cells, plus, np.zeros_like(plus), read_level(level))


def difference(
    reported: object, noise: CellNoise, status: object, first: object, second: object, level: object = Fraction(19, 20)
) -> Combined:
    """Return the total of the first cells minus that of the second; cells in both cancel.

    Examples
    --------
    >>> from discreet.release.noise.cells import cell_noise
    >>> figure = difference([50, 40], cell_noise("geometric", epsilon=1), None, [True, False], [False, True])
    >>> figure.estimate, figure.low, figure.high
    (10, 6, 14)
    """
    cells = ReleasedCells(reported, noise, status)
    plus, minus = cells.read(first, "first"), cells.read(second, "second")
    return _combine(cells, plus & ~minus, minus & ~plus, read_level(level))


def percentage(
    reported: object, noise: CellNoise, status: object, part: object, whole: object, level: object = Fraction(19, 20)
) -> Combined:
    """Return the total of the part as a percentage of the total of the whole.

    Of unclamped counts the interval inverts one test (:mod:`~.shares`). Otherwise the totals of the part and of the
    rest are enclosed together, and the interval is somewhat wider than necessary: ``P / (P + Q)`` is largest where P
    is largest and Q least.

    Examples
    --------
    >>> from discreet.release.noise.cells import cell_noise
    >>> figure = percentage([300, 700], cell_noise("geometric", epsilon=1), None, [True, False], [True, True])
    >>> figure.estimate, round(figure.low, 2), round(figure.high, 2)
    (30.0, 29.79, 30.21)
    """
    cells, coverage = ReleasedCells(reported, noise, status), read_level(level)
    inner, outer = cells.read(part, "part"), cells.read(whole, "whole")
    if (inner & ~outer).any():
        raise InvalidInput(
            "the part must lie within the whole: every cell of the part belongs in the whole too.", argument="part"
        )
    rest = outer & ~inner
    if cells.are_unclamped and inner.any() and rest.any():
        part_sum, rest_sum = ((cells.sum(mask), int(mask.sum())) for mask in (inner, rest))
        least, most = share_interval(cells.law, part_sum, rest_sum, 1 - coverage)
        how = "one test of the part minus a share of the whole"
    else:
        least, most = _share_of_enclosed(cells, inner, rest, (1 - coverage) / 4)
        how = "the totals of the part and of the rest enclosed together; wider than need be"
    reports, whole_report = cells.sum(inner), cells.sum(outer)
    estimate = None if whole_report <= 0 else 100.0 * min(max(reports / whole_report, 0.0), 1.0)
    return Combined(
        estimate,
        max(0.0, float_down(100 * least)),
        min(100.0, float_up(100 * most)),
        coverage,
        None,
        None,
        None,
        int(outer.sum()),
        how,
        is_percentage=True,
    )


def _share_of_enclosed(cells: ReleasedCells, part: Mask, rest: Mask, each: Fraction) -> tuple[Fraction, Fraction]:
    """Return the least and the largest share of the part, whose total and that of the rest are enclosed together."""
    none = np.zeros_like(part)
    low, high = -(_upper(cells, none, part, each) or 0), _upper(cells, part, none, each)
    rest_low, rest_high = -(_upper(cells, none, rest, each) or 0), _upper(cells, rest, none, each)
    least = Fraction(low, low + rest_high) if rest_high is not None and low > 0 else Fraction(0)
    most = Fraction(high, high + rest_low) if high is not None and high + rest_low > 0 else Fraction(1)
    return least, most


def balance(
    reported: object, noise: CellNoise, status: object, lower: object, upper: object, share: Fraction, miss: Fraction,
    *, joint: bool = True,
) -> tuple[Fraction, Fraction | None, Fraction | None]:  # fmt: skip
    """Return ``(1 - share)`` times a total minus ``share`` times another, with bounds; None for a missing bound.

    Each bound fails with probability at most ``miss``. The bounds are those of the joint law of all counts, unless the
    noise is too wide for the whole numbers that stand for the weights: then the two totals are enclosed together. So
    they are of clamped counts unless ``joint``, as in bundles of layouts before 5, except for a share of 1/2.

    Examples
    --------
    >>> from discreet.release.noise.cells import cell_noise
    >>> noise = cell_noise("geometric", epsilon=1)
    >>> one, other, half = [True, False], [False, True], Fraction(1, 2)
    >>> estimate, low, high = balance([50, 40], noise, None, one, other, half, Fraction(1, 40))
    >>> str(estimate), float(low), float(high)
    ('5', 3.0, 7.0)
    """
    cells = ReleasedCells(reported, noise, status)
    plus, minus = cells.read(lower, "lower"), cells.read(upper, "upper")
    estimate = (1 - share) * cells.sum(plus) - share * cells.sum(minus)
    weights = share.denominator - share.numerator, share.numerator
    if cells.are_unclamped and weights != (1, 1):
        width = balance_width(cells.law, int(plus.sum()), int(minus.sum()), share, 2 * miss)
        return estimate, estimate - width, estimate + width
    if weights == (1, 1) or (joint and _has_joint_bounds(cells, plus, minus, weights)):
        below, above = _upper(cells, minus, plus, miss, weights[::-1]), _upper(cells, plus, minus, miss, weights)
        low, high = (None if bound is None else Fraction(bound, share.denominator) for bound in (below, above))
        return estimate, None if low is None else -low, high
    none, each = np.zeros_like(plus), miss / 2
    least, most = -(_upper(cells, none, plus, each) or 0), _upper(cells, plus, none, each)
    rest_least, rest_most = -(_upper(cells, none, minus, each) or 0), _upper(cells, minus, none, each)
    low = None if rest_most is None else (1 - share) * least - share * rest_most
    high = None if most is None else (1 - share) * most - share * rest_least
    return estimate, low, high


def _has_joint_bounds(cells: ReleasedCells, plus: Mask, minus: Mask, weights: tuple[int, int]) -> bool:
    """Return whether :func:`_upper` has nearly tight bounds with these weights."""
    law = cells.noise.shift_law
    counts = int(plus.sum()), int(minus.sum())
    return law is None or is_listed_by_outcome(
        [SumTerms(law, n, weight=w) for n, w in zip(counts, weights, strict=True)]
    )


# ------------------------------------------------------------------------------------------------ the cells


class ReleasedCells:
    """Released cells and their public properties."""

    def __init__(self, reported: object, noise: CellNoise, status: object) -> None:
        self.noise = noise
        self.reported: IntArray = np.asarray(reported, np.int64).reshape(-1)
        size = self.reported.size
        self.status = None if status is None else np.asarray(status).reshape(-1)
        if self.status is not None and self.status.size != size:
            raise InvalidInput(f"there are {size} cells, and the status of {self.status.size}.", argument="status")
        self.largest = noise.largest(size)
        self.below, self.above = noise.clamp(size)
        self.bounded = noise.bounded(size)
        self.empty: Mask = (self.largest == 0) & ~self.bounded
        if self.status is not None:
            self.empty |= self.status == IMPOSSIBLE

    @property
    def are_unclamped(self) -> bool:
        """Whether every report is the truth plus noise whose weighted sums have bounds."""
        unclamped = bool((self.above >= UNCLAMPED_HIGH).all()) and self.below <= UNCLAMPED_LOW
        return has_weighted_bounds(self.noise.shift_law) and unclamped and not self.bounded.any()

    @property
    def law(self) -> Law:
        """The noise of each cell."""
        assert self.noise.shift_law is not None
        return self.noise.shift_law

    def read(self, chosen: object, what: str) -> Mask:
        """Check a mask of cells; return it without the cells that cannot have anybody in them."""
        mask = np.asarray(chosen)
        if mask.dtype.kind != "b" or mask.size != self.reported.size:
            raise InvalidInput(
                f"{what} must say True or False for each of the {self.reported.size} cells.", argument=what
            )
        mask = mask.reshape(-1)
        if self.status is not None and (mask & (self.status == SUPPRESSED)).any():
            raise InvalidInput(
                f"{what} holds a suppressed cell, so no total of them is known.",
                "Choose cells that were released.",
                argument=what,
            )
        return np.asarray(mask & ~self.empty)

    def sum(self, mask: Mask) -> int:
        """Return the exact sum of the reports of these cells."""
        return exact_sum(self.reported[mask])


def exact_sum(values: IntArray) -> int:
    """Return the sum of many integers, which may need more than 64 bits."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _combine(cells: ReleasedCells, plus: Mask, minus: Mask, coverage: Fraction) -> Combined:
    """Return the total of the plus cells minus that of the minus cells."""
    share = (1 - coverage) / 2
    below = _upper(cells, minus, plus, share)
    sd, bias_low, bias_high, _ = cells.noise.figures(cells.reported.size)
    used = plus | minus
    return Combined(
        cells.sum(plus) - cells.sum(minus),
        None if below is None else -below,
        _upper(cells, plus, minus, share),
        coverage,
        math.sqrt(float((sd[used] ** 2).sum())),
        float(bias_low[plus].sum() - bias_high[minus].sum()),
        float(bias_high[plus].sum() - bias_low[minus].sum()),
        int(used.sum()),
        _how(cells, int(used.sum())),
    )


def _how(cells: ReleasedCells, count: int) -> str:
    """Return a sentence on the method of the interval of this number of cells."""
    if count <= 1:
        return "the interval of the cell itself" if count else "no noisy cell is in it"
    if cells.noise.shift_law is None:
        return "each cell enclosed so tightly that all hold together; wider than need be"
    if cells.noise.output == "signed":
        return "the law of the sum of the cells' noises"
    return "the law of the sum of the cells' noises, and what clamping may have hidden; wider than need be"


# ------------------------------------------------------------------------------------------------ the bounds


def _upper(
    cells: ReleasedCells, plus: Mask, minus: Mask, share: Fraction, weights: tuple[int, int] = (1, 1)
) -> int | None:
    """Return a bound that the true plus total - minus total exceeds with probability at most ``share``, or None.

    Each of the two totals is multiplied by its weight.

    A count beyond its bound is treated as the bound, so no number will do if a plus cell may have such a count. If one
    has, its report shows it with probability 1 - share, which suffices; if none has, the rest of the argument holds.
    """
    law = cells.noise.shift_law
    if law is None:
        bound = _cell_by_cell(cells, plus, minus, share, weights)
    else:
        near = quantile(mirrored(law), share)
        if (plus & cells.bounded & (cells.reported >= cells.largest - near)).any():
            return None
        bound = weights[0] * cells.sum(plus) - weights[1] * cells.sum(minus)
        bound += _noise_above(cells, law, plus, minus, share, weights)
    if bound is None:
        return None
    if not (cells.largest[plus] >= LARGEST_INTEGER).any():
        bound = min(bound, weights[0] * exact_sum(cells.largest[plus]))
    if not (cells.largest[minus] >= LARGEST_INTEGER).any():
        bound = max(bound, -weights[1] * exact_sum(cells.largest[minus]))
    return bound


def _cell_by_cell(
    cells: ReleasedCells, plus: Mask, minus: Mask, share: Fraction, weights: tuple[int, int]
) -> int | None:
    """Return the bound from one interval for each cell: for tables, where nothing shorter holds for all truths."""
    count = int((plus | minus).sum())
    if not count:
        return 0
    low, high = cells.noise.intervals(cells.reported, 1 - 2 * share / count)
    if (high[plus] == NO_END).any():
        return None
    return weights[0] * exact_sum(high[plus]) - weights[1] * exact_sum(low[minus])


def _noise_above(
    cells: ReleasedCells, law: Law, plus: Mask, minus: Mask, share: Fraction, weights: tuple[int, int]
) -> int:
    """Return a bound that the weighted sum of truth - report exceeds with probability at most ``share``."""
    at_top = int((plus & (cells.reported >= cells.above)).sum())
    at_bottom = int((minus & (cells.reported <= cells.below)).sum())
    topped = bool((cells.above[plus] < UNCLAMPED_HIGH).any())
    return noise_above(
        NoisySide(law, int(plus.sum()), topped, at_top, weights[0]),
        NoisySide(law, int(minus.sum()), cells.below > UNCLAMPED_LOW, at_bottom, weights[1]),
        share,
    )


@dataclass(frozen=True)
class NoisySide:
    """The noisy cells of one side of a difference: their noise, and their clamped reports.

    Attributes
    ----------
    law
        The noise of each cell.
    cells
        Number of cells.
    clamped
        True if reports may be clamped at the end that hides truths further out: from above for cells that are added,
        from below for cells that are subtracted.
    at_clamp
        Number of reports at that end.
    weight
        The whole number by which each cell is multiplied.
    """

    law: Law
    cells: int
    clamped: bool
    at_clamp: int
    weight: int = 1


def noise_above(plus: NoisySide, minus: NoisySide, share: Fraction) -> int:
    """Return a bound that the true difference - reported difference exceeds with probability at most ``share``.

    Each side counts with its weight. The noises are independent. It is the smaller of the two bounds in the module's
    docstring.
    """
    up, down = mirrored(plus.law), minus.law
    clamped = (plus.clamped and plus.cells > 0, minus.clamped and minus.cells > 0)
    worst = (
        SumTerms(up, plus.cells, clamped[0], plus.weight),
        SumTerms(down, minus.cells, clamped[1], minus.weight),
    )
    count = plus.cells + minus.cells
    if count == 1:
        return sum_quantile(worst, share)
    same_law = plus.law.symmetric and plus.law == minus.law and plus.weight == minus.weight
    if same_law:
        free: tuple[SumTerms, ...] = (SumTerms(down, count, weight=plus.weight),)
    else:
        free = tuple(replace(terms, positive=False) for terms in worst)
    if not any(clamped):
        return sum_quantile(free, share)
    # most of the probability goes to the bound that is shorter when few cells are clamped; the other loses little
    each = share / 10 / count
    hidden = plus.weight * plus.at_clamp * quantile(plus.law, each)
    hidden += minus.weight * minus.at_clamp * quantile(mirrored(down), each)
    return min(sum_quantile(worst, share / 10), sum_quantile(free, share * 8 / 10) + hidden)
