"""Intervals of the growth of counts, for every cell and every truth: endless where the earlier count may be zero.

With reports r = t + z and r' = t' + z', the ratio rho = t'/t makes ``r' - rho r = z' - rho z``, whose law is known.
The interval has every rho that neither one-sided test of that law rejects. With t = r - z,

    P(z' - rho z >= r' - rho r) = sum over t of P(z = r - t) P(z' >= r' - rho t),

which increases with rho wherever t >= 0. Terms with t < 0 are replaced by a bound that does not depend on rho, so that
each end is found by bisection and lies on the safe side (Fieller 1954, with the noise that was drawn for its normal
law). No cell is left out because of its noise, so the intervals shown cover as often as they state.

A report at its clamp bounds t + z from one side only; the end that this bound says nothing about is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from ...exact.arrays import BoolArray, FloatArray, IntArray
from ...exact.laws import Law
from .accuracy import mirrored, quantile

#: Part of the probability to miss beyond which the tail of a law is bounded by its sum.
_TAIL_PART = Fraction(1, 1000)

#: Largest number of groups of noise values, and of entries (cells times groups) that are worked out at once.
_MAX_GROUPS, _MAX_ENTRIES = 512, 4_000_000

#: Least number of groups of noise values, for the largest tables; fewer groups make longer intervals.
_MIN_GROUPS = 32

#: Ratio below which an end is 0, and number of bisections of its logarithm.
_LEAST_RATIO, _BISECTIONS = 1e-12, 36

#: Relative slack of thresholds and of probabilities for rounding in doubles.
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class _Tail:
    """Upper bounds of P(Z >= k) in doubles, for k from ``first`` on; 1 before, the last one after."""

    first: int
    bounds: FloatArray

    @classmethod
    def of(cls, law: Law, share: Fraction) -> _Tail:
        last, first = quantile(law, share) + 1, -quantile(mirrored(law), share) - 1
        beyond = law.float_tail(last + 1)
        sums = np.cumsum(law.floats(first, last)[::-1])[::-1] + beyond
        return cls(first, np.minimum(np.concatenate([[1.0], sums[1:]]) * (1 + _SLACK), 1.0))

    def at(self, threshold: FloatArray) -> FloatArray:
        """Return a bound of P(Z >= threshold) for real thresholds."""
        number = np.ceil(np.clip(threshold - self.first, 0, self.bounds.size - 1)).astype(np.int64)
        return np.asarray(self.bounds[number])


@dataclass(frozen=True, eq=False)
class _Grouped:
    """A law in groups of neighbouring values: the ends of each group, its mass, and the mass beyond each side."""

    low: IntArray
    high: IntArray
    mass: FloatArray
    below: float
    above: float

    @classmethod
    def of(cls, law: Law, share: Fraction, groups: int) -> _Grouped:
        first, last = -quantile(mirrored(law), share), quantile(law, share)
        width = ceil((last - first + 1) / groups)
        low = np.arange(first, last + 1, width)
        mass = np.add.reduceat(law.floats(first, last), low - first)
        below = mirrored(law).float_tail(-first + 1)
        return cls(low, np.minimum(low + width - 1, last), mass, below, law.float_tail(last + 1))


def ratio_ends(
    earlier: IntArray, later: IntArray, earlier_law: Law, later_law: Law, share: Fraction
) -> tuple[FloatArray, FloatArray]:
    """Return ends of later / earlier true counts, each missed with probability at most ``share``; inf if endless.

    Parameters
    ----------
    earlier, later
        The reports of each cell, which are its true count plus noise.
    earlier_law, later_law
        The laws of the noise.
    share
        The largest probability that the ratio lies below the interval, and that it lies above.

    Examples
    --------
    >>> from discreet.release.noise.cells import cell_noise
    >>> law = cell_noise("geometric", epsilon=1).shift_law
    >>> low, high = ratio_ends(np.array([400, 2]), np.array([500, 9]), law, law, Fraction(1, 40))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([1.239, 1.75], [1.261, inf])
    """
    groups = int(np.clip(_MAX_ENTRIES // max(earlier.size, 1), _MIN_GROUPS, _MAX_GROUPS))
    part = share * _TAIL_PART
    noise = _Grouped.of(earlier_law, part, groups)
    up, down = _Tail.of(later_law, part), _Tail.of(mirrored(later_law), part)
    lows, highs = np.zeros(earlier.shape), np.full(earlier.shape, np.inf)
    step = max(_MAX_ENTRIES // noise.mass.size, 1)
    for start in range(0, earlier.size, step):
        cells = slice(start, start + step)
        before, after = (reports[cells].astype(float)[:, None] for reports in (earlier, later))
        lows[cells] = _low_ends(before, after, noise, up, float(share))
        highs[cells] = _high_ends(before, after, noise, down, float(share))
    return lows, np.maximum(lows, highs)


def _low_ends(before: FloatArray, after: FloatArray, noise: _Grouped, tail: _Tail, share: float) -> FloatArray:
    """Return the largest ratios that are rejected, with all smaller ones, as too small; 0 if none is."""
    truths = np.maximum(before - noise.low, 0.0)  # the largest of each group, which bounds its probability

    def rejected(ratio: FloatArray) -> BoolArray:
        products = ratio[:, None] * truths
        slack = _SLACK * (1 + np.abs(after) + products)
        chance = noise.below + tail.at(after - products - slack) @ noise.mass + noise.above
        return np.asarray(chance * (1 + _SLACK) <= share)

    last = _saturating(after, tail)
    low, _ = _bisected(rejected, last)
    least = np.full(last.shape, _LEAST_RATIO)
    return np.where(rejected(least) & ~rejected(last), low, 0.0)


def _high_ends(before: FloatArray, after: FloatArray, noise: _Grouped, tail: _Tail, share: float) -> FloatArray:
    """Return the least ratios that are rejected, with all larger ones, as too large; infinity if none is."""
    truths = before - noise.high  # the least of each group, which bounds its probability
    negative = truths < 0

    def rejected(ratio: FloatArray) -> BoolArray:
        products = ratio[:, None] * np.maximum(truths, 0.0)
        slack = _SLACK * (1 + np.abs(after) + products)
        chances = np.where(negative, 1.0, tail.at(products - after - slack))
        return np.asarray((noise.above + chances @ noise.mass + noise.below) * (1 + _SLACK) <= share)

    last = _saturating(after, tail)
    _, high = _bisected(lambda ratio: ~rejected(ratio), last)
    return np.where(rejected(last), high, np.inf)


def _saturating(after: FloatArray, tail: _Tail) -> FloatArray:
    """Return ratios beyond which no test changes: then a count of 1 makes any noise too small."""
    return np.asarray(np.maximum(after[:, 0], 0.0) + abs(tail.first) + tail.bounds.size + 2.0)


def _bisected(holds: Callable[[FloatArray], BoolArray], last: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ratios around the place up to which a condition holds."""
    low, high = np.full(last.shape, np.log(_LEAST_RATIO)), np.log(last)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        inside = holds(np.exp(middle))
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.exp(low), np.exp(high)
