"""Intervals of shares of combined counts, also across tables, from one test of a weighted sum of all noises.

For the total P of a part and T of the whole, the estimate of the balance ``P - rho T`` is, at the true share rho, a
weighted sum of noises with a known law: the errors of P and T have many noises in common, and are subtracted before the
law is computed. :mod:`..noise.shares` inverts the test.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...exact.rationals import float_down
from ..noise.shares import CELL_PART, kept_shares, reuse_nearby
from .intervals import Form, MarginErrors


def margin_share_interval(
    errors: MarginErrors, forms: tuple[Form, Form], totals: tuple[Fraction, Fraction], miss: Fraction,
    rounding: Fraction = Fraction(0),
) -> tuple[Fraction, Fraction]:  # fmt: skip
    """Return an interval that misses the true share of the part with probability at most ``miss``.

    Parameters
    ----------
    errors
        The errors of the combined counts.
    forms
        The part and the whole as sums of cells, of any tables.
    totals
        The combined totals of the part and of the whole.
    miss
        The probability to miss the share.
    rounding
        The largest error of either total by rounding of published counts.
    """
    part, whole = totals
    terms = errors.noise_weights(forms)
    slope = Fraction(errors.noises(terms, np.array([0.0, 1.0])).half_width(miss * CELL_PART)) + rounding

    def bound(share: Fraction, part_of_miss: Fraction, is_rough: bool) -> Fraction:
        noises = errors.noises(terms, np.array([1.0, -float(share)]))
        width = noises.chernoff(float_down(part_of_miss)) if is_rough else noises.half_width(part_of_miss)
        return Fraction(width) + 2 * rounding

    return kept_shares(part, whole - part, reuse_nearby(bound, slope), slope, miss)
