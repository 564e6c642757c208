"""Intervals of shares of a table with totals, from one test of a weighted sum of the noise of all levels.

The combined totals P of a part and Q of the rest are weighted sums of the measurements of all levels, so that the
estimate of the balance ``(1 - rho) P - rho Q`` is, at the true share rho, a weighted sum of independent noises whose
law is known. :mod:`..noise.shares` inverts the test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from ...exact.arrays import BoolArray, FloatArray
from ...exact.laws import Law
from ...exact.rationals import float_down
from ..noise.shares import CELL_PART, kept_shares, reuse_nearby
from ..noise.weighted import QUICK_SMOOTHNESS, SMOOTHNESS, WeightedTerms, chernoff, half_width
from .combining import MAX_ROUNDING_ERROR, LevelCombination, distinct_terms

#: Number of distinct weights above which bounds may be a few per cent wider, to be quick.
_MAX_SMOOTH_TERMS = 100


def level_share_interval(
    combination: LevelCombination, masks: tuple[BoolArray, BoolArray], totals: tuple[Fraction, Fraction], miss: Fraction
) -> tuple[Fraction, Fraction]:
    """Return an interval that misses the true share of the part with probability at most ``miss``.

    Parameters
    ----------
    combination
        The combination of the levels.
    masks
        Masks of the leaves of the part and of the whole, a column for each measure.
    totals
        The combined totals of the part and of the rest.
    miss
        The probability to miss the share.
    """
    part, whole = masks
    columns = [k for k in range(whole.shape[1]) if whole[:, k].any()]  # different measures have independent noise
    weights = [[combination.measurement_weights(one[:, k].astype(float)) for one in (part, whole)] for k in columns]
    differences = [_difference_terms(combination.laws, *pair) for pair in weights]
    terms = tuple(term for _, of_whole in weights for term in distinct_terms(combination.laws, of_whole))
    slope = Fraction(half_width(terms, miss * CELL_PART, QUICK_SMOOTHNESS)) if terms else Fraction(0)

    def bound(share: Fraction, part_of_miss: Fraction, is_rough: bool) -> Fraction:
        terms = tuple(term for difference in differences for term in difference(float(share)))
        if terms and is_rough:
            return MAX_ROUNDING_ERROR + Fraction(chernoff(terms, float_down(part_of_miss)))
        if terms:
            smoothness = SMOOTHNESS if len(terms) <= _MAX_SMOOTH_TERMS else QUICK_SMOOTHNESS
            return MAX_ROUNDING_ERROR + Fraction(half_width(terms, part_of_miss, smoothness))
        return MAX_ROUNDING_ERROR

    return kept_shares(*totals, reuse_nearby(bound, slope), slope, miss)


def _difference_terms(
    laws: Sequence[Law], first: Sequence[FloatArray], second: Sequence[FloatArray]
) -> Callable[[float], tuple[WeightedTerms, ...]]:
    """Return a function of x that gives the noises in the sum with weights ``first - x second`` on each level.

    The size of x is at most 1. Measurements whose weights agree to 40 binary digits are counted together.
    """
    pairs, counts = [], []
    for one, other in zip(first, second, strict=True):
        unit = 2.0**-40 * max(float(np.abs(one).max(initial=0.0)), float(np.abs(other).max(initial=0.0)), 1e-300)
        distinct, number = np.unique(np.round(np.stack([one, other]) / unit), axis=1, return_counts=True)
        pairs.append(distinct * unit)
        counts.append(number)
    return lambda x: distinct_terms(laws, [pair[0] - x * pair[1] for pair in pairs], counts)
