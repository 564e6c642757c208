"""Totals, differences and percentages of released cells, with intervals that cover whatever the truths are.

The cells of a table are drawn independently, so the error of a total is a sum of independent noises, far smaller than
the sum of the cells' own errors. Where reports are clamped the error depends on the truths, and only inequalities hold
for all of them. With the report r = clip(t + z) of a truth t,

    t <= r - z   unless r is the upper clamp, where t <= r;      t >= r - z   unless r is the lower clamp, where t >= 0,

so that for a total R of reports, of which some lie at the upper clamp,

    T <= R + sum of max(-z, 0),    and    T <= R - sum of z + sum of max(z, 0) over the cells at the upper clamp.

The first is short when nearly all cells are clamped, the second when hardly any is. Both are worked out, each with its
part of the probability to miss, and the smaller counts. Lower ends mirror this.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...errors import InvalidInput
from ...exact.arrays import BoolArray, IntArray
from ...exact.laws import Law
from ...exact.rationals import float_down, float_up
from ...spaces import LARGEST_INTEGER
from ...wording import percent, rounded
from .accuracy import FREE_ABOVE, FREE_BELOW, NO_END, mirrored, quantile, read_level
from .cells import CellNoise
from .sums import Part, sum_quantile

Mask = BoolArray

#: The status of a cell that cannot have anybody in it, and of one that was withheld.
STRUCTURAL_ZERO, SUPPRESSED = "M", "Q"


@dataclass(frozen=True)
class Combined:
    """A figure worked out from released cells.

    Attributes
    ----------
    estimate
        The figure from the released counts; None for a percentage of nothing.
    low, high
        The interval of the true figure; None where it has no end, because a count may lie beyond its bound.
    level
        How often the interval covers, at least, whatever the truths are.
    sd, bias_low, bias_high
        The largest standard deviation and the range of the mean error, over all truths; None for percentages.
    cells
        How many noisy cells are in it.
    how
        How the interval was made, in a sentence.
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

    def __str__(self) -> str:
        shown, low, high = (_shown(value) for value in (self.estimate, self.low, self.high))
        return f"{shown} ({percent(self.level, 6)} interval {low} to {high})"


def _shown(value: int | float | None) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, int):
        return f"{value:,}"
    return rounded(value) if abs(value) < 100 else f"{value:,.1f}"  # a combined count may be large and not whole


def total(
    reported: object, noise: CellNoise, status: object, chosen: object, level: object = Fraction(19, 20)
) -> Combined:
    """The total of the chosen cells.

    Parameters
    ----------
    reported, noise
        The released counts of all cells, and what was done to them.
    status
        The status of each cell, if any is not plain "A": structural zeros ("M") count 0 exactly, and with a suppressed
        cell ("Q") there is no total. None if all are plain.
    chosen
        Which cells: True or False for each.
    level
        How often the interval shall cover.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.release.noise.cells import cell_noise
    >>> found = total(np.full(100, 50), cell_noise("geometric", epsilon=1), None, np.full(100, True))
    >>> found.estimate, found.low, found.high
    (5000, 4973, 5027)
    """
    cells = Cells(reported, noise, status)
    plus = cells.read(chosen, "chosen")
    return _combination(cells, plus, np.zeros_like(plus), read_level(level))


def difference(
    reported: object, noise: CellNoise, status: object, first: object, second: object, level: object = Fraction(19, 20)
) -> Combined:
    """The total of the first cells minus that of the second; what is in both falls out.

    Examples
    --------
    >>> from discreet.release.noise.cells import cell_noise
    >>> found = difference([50, 40], cell_noise("geometric", epsilon=1), None, [True, False], [False, True])
    >>> found.estimate, found.low, found.high
    (10, 6, 14)
    """
    cells = Cells(reported, noise, status)
    plus, minus = cells.read(first, "first"), cells.read(second, "second")
    return _combination(cells, plus & ~minus, minus & ~plus, read_level(level))


def percentage(
    reported: object, noise: CellNoise, status: object, part: object, whole: object, level: object = Fraction(19, 20)
) -> Combined:
    """What the cells of the part are of those of the whole, in percent.

    The totals of the part and of the rest are enclosed together; ``P / (P + Q)`` is largest where P is largest and Q
    least. The interval is somewhat wider than need be.

    Examples
    --------
    >>> from discreet.release.noise.cells import cell_noise
    >>> found = percentage([300, 700], cell_noise("geometric", epsilon=1), None, [True, False], [True, True])
    >>> found.estimate, round(found.low, 2), round(found.high, 2)
    (30.0, 29.6, 30.4)
    """
    cells, share = Cells(reported, noise, status), read_level(level)
    inner, outer = cells.read(part, "part"), cells.read(whole, "whole")
    if (inner & ~outer).any():
        raise InvalidInput(
            "the part must lie within the whole: every cell of the part belongs in the whole too.", argument="part"
        )
    none, each = np.zeros_like(inner), (1 - share) / 4
    rest = outer & ~inner
    low, high = -(_upper(cells, none, inner, each) or 0), _upper(cells, inner, none, each)
    rest_low, rest_high = -(_upper(cells, none, rest, each) or 0), _upper(cells, rest, none, each)
    least = Fraction(low, low + rest_high) if rest_high is not None and low > 0 else Fraction(0)
    most = Fraction(high, high + rest_low) if high is not None and high + rest_low > 0 else Fraction(1)
    reports, whole_report = cells.sum(inner), cells.sum(outer)
    estimate = None if whole_report <= 0 else 100.0 * min(max(reports / whole_report, 0.0), 1.0)
    how = "the totals of the part and of the rest enclosed together; wider than need be"
    return Combined(
        estimate,
        max(0.0, float_down(100 * least)),
        min(100.0, float_up(100 * most)),
        share,
        None,
        None,
        None,
        int(outer.sum()),
        how,
    )


# ------------------------------------------------------------------------------------------------ the cells


class Cells:
    """The released cells, and what is public about them."""

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
            self.empty |= self.status == STRUCTURAL_ZERO

    def read(self, chosen: object, what: str) -> Mask:
        """The chosen cells that may have anybody in them."""
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
        return exact_sum(self.reported[mask])


def exact_sum(values: IntArray) -> int:
    """The sum of many integers, which may need more than 64 bits."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _combination(cells: Cells, plus: Mask, minus: Mask, level: Fraction) -> Combined:
    share = (1 - level) / 2
    below = _upper(cells, minus, plus, share)
    sd, bias_low, bias_high, _ = cells.noise.figures(cells.reported.size)
    used = plus | minus
    return Combined(
        cells.sum(plus) - cells.sum(minus),
        None if below is None else -below,
        _upper(cells, plus, minus, share),
        level,
        math.sqrt(float((sd[used] ** 2).sum())),
        float(bias_low[plus].sum() - bias_high[minus].sum()),
        float(bias_high[plus].sum() - bias_low[minus].sum()),
        int(used.sum()),
        _how(cells, int(used.sum())),
    )


def _how(cells: Cells, count: int) -> str:
    if count <= 1:
        return "the interval of the cell itself" if count else "no noisy cell is in it"
    if cells.noise.shift_law is None:
        return "each cell enclosed so tightly that all hold together; wider than need be"
    if cells.noise.output == "signed":
        return "the law of the sum of the cells' noises"
    return "the law of the sum of the cells' noises, and what clamping may have hidden; wider than need be"


# ------------------------------------------------------------------------------------------------ the bounds


def _upper(cells: Cells, plus: Mask, minus: Mask, share: Fraction) -> int | None:
    """What the true plus total less the true minus total exceeds with probability at most ``share``.

    None if there is no such number: a count beyond its bound is taken as the bound, and one of the plus cells may be
    there. If one is, its report shows it with probability 1 - share, and that one is enough; if none is, the rest of
    the argument holds.
    """
    law = cells.noise.shift_law
    if law is None:
        found = _cell_by_cell(cells, plus, minus, share)
    else:
        near = quantile(mirrored(law), share)
        if (plus & cells.bounded & (cells.reported >= cells.largest - near)).any():
            return None
        found = cells.sum(plus) - cells.sum(minus) + _noise_above(cells, law, plus, minus, share)
    if found is None:
        return None
    if not (cells.largest[plus] >= LARGEST_INTEGER).any():
        found = min(found, exact_sum(cells.largest[plus]))
    if not (cells.largest[minus] >= LARGEST_INTEGER).any():
        found = max(found, -exact_sum(cells.largest[minus]))
    return found


def _cell_by_cell(cells: Cells, plus: Mask, minus: Mask, share: Fraction) -> int | None:
    """Every cell enclosed with its part of the probability: for tables, where nothing better holds for all truths."""
    count = int((plus | minus).sum())
    if not count:
        return 0
    low, high = cells.noise.intervals(cells.reported, 1 - 2 * share / count)
    if (high[plus] == NO_END).any():
        return None
    return exact_sum(high[plus]) - exact_sum(low[minus])


def _noise_above(cells: Cells, law: Law, plus: Mask, minus: Mask, share: Fraction) -> int:
    """What the truths exceed the reports by, all together, with probability at most ``share``."""
    at_top = int((plus & (cells.reported >= cells.above)).sum())
    at_bottom = int((minus & (cells.reported <= cells.below)).sum())
    topped = bool((cells.above[plus] < FREE_ABOVE).any())
    return noise_above(
        Side(law, int(plus.sum()), topped, at_top),
        Side(law, int(minus.sum()), cells.below > FREE_BELOW, at_bottom),
        share,
    )


@dataclass(frozen=True)
class Side:
    """The noisy cells of one side of a difference: their noise, and where their reports may be clamped.

    Attributes
    ----------
    law
        The noise of each.
    cells
        How many there are.
    clamped
        Whether reports may be clamped at the end that hides how far the truths lie beyond: from above for those that
        are added, from below for those that are taken off.
    at_clamp
        How many reports lie at that end.
    """

    law: Law
    cells: int
    clamped: bool
    at_clamp: int


def noise_above(plus: Side, minus: Side, share: Fraction) -> int:
    """What true plus less true minus exceeds the reported one by, with probability at most ``share``.

    The noises are independent. The two bounds of the module's first lines, each with its part of the probability.
    """
    up, down = mirrored(plus.law), minus.law
    clamped = (plus.clamped and plus.cells > 0, minus.clamped and minus.cells > 0)
    worst = (Part(up, plus.cells, clamped[0]), Part(down, minus.cells, clamped[1]))
    if plus.cells + minus.cells == 1:
        return sum_quantile(worst, share)
    alike = plus.law.symmetric and plus.law == minus.law
    free = (Part(down, plus.cells + minus.cells),) if alike else (Part(up, plus.cells), Part(down, minus.cells))
    if not any(clamped):
        return sum_quantile(free, share)
    # nearly all of the probability where it helps when few cells are clamped; quantiles move little with the rest
    each = share / 10 / (plus.cells + minus.cells)
    hidden = plus.at_clamp * quantile(plus.law, each) + minus.at_clamp * quantile(mirrored(down), each)
    return min(sum_quantile(worst, share / 10), sum_quantile(free, share * 8 / 10) + hidden)
