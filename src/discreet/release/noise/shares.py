"""Intervals of shares, and bounds of balances, from one test of a weighted sum of unclamped counts.

The counts of a table with totals are weighted sums of the noisy counts of all levels; :mod:`..levels.shares` has their
bounds.

For totals P of a part and Q of the rest, the true share rho = P / (P + Q) has the balance

    B(rho) = (1 - rho) P - rho Q = 0,

so its estimate from noisy counts is the noise W(rho) = (1 - rho) Z_P - rho Z_Q. A share is rejected if the estimate is
beyond a bound that ``|W(rho)|`` exceeds with probability at most ``miss``, and the interval has every share that is not
(Fieller 1940, Neyman 1937). One test replaces two intervals, for P and for Q, that must hold together.

All shares of a cell [m - h, m + h] are rejected at once: there |W(rho)| <= |W(m)| + h |Z_P + Z_Q|, and a part of the
probability to miss pays for the second term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from ...exact.laws import Gaussian, GeometricTails, Law
from ...exact.rationals import float_down
from .weighted import WeightedTerms, chernoff, half_width

#: The part of the probability to miss that pays for the width of a cell.
CELL_PART = Fraction(1, 100)

#: A cell is not divided further once its width adds less than this part of the bound to the bound and to the estimate.
_FINE = Fraction(1, 100)

#: Part of a bound up to which it is taken for a share nearby too, enlarged by the largest change between them.
_NEAR = Fraction(1, 100)

#: Largest number of divisions of the range of shares.
_MAX_DIVISIONS = 40


def has_weighted_bounds(law: Law | None) -> bool:
    """Return whether weighted sums of this noise have bounds: for symmetric geometric and discrete Gaussian noise."""
    return isinstance(law, GeometricTails | Gaussian) and law.symmetric


def balance_width(law: Law, lower: int, upper: int, share: Fraction, miss: Fraction) -> Fraction:
    """Return a bound that the error of ``(1 - share) L - share U`` exceeds with probability at most ``miss``.

    Parameters
    ----------
    law
        The noise of each count, which has weighted bounds.
    lower, upper
        Numbers of noisy counts in L and in U.
    share
        The share.
    miss
        The probability, of both signs of the error together.
    """
    terms = _terms(law, lower, upper, share)
    return Fraction(half_width(terms, miss)) if terms else Fraction(0)


def _rough_width(law: Law, lower: int, upper: int, share: Fraction, miss: Fraction) -> Fraction:
    """Return a larger bound than :func:`balance_width`, which is faster to compute."""
    terms = _terms(law, lower, upper, share)
    return Fraction(chernoff(terms, float_down(miss))) if terms else Fraction(0)


def _terms(law: Law, lower: int, upper: int, share: Fraction) -> tuple[WeightedTerms, ...]:
    terms = (WeightedTerms(law, float(1 - share), lower), WeightedTerms(law, float(share), upper))
    return tuple(one for one in terms if one.count and one.weight)


def share_interval(law: Law, part: tuple[int, int], rest: tuple[int, int], miss: Fraction) -> tuple[Fraction, Fraction]:
    """Return an interval that misses the true share of the part with probability at most ``miss``.

    Parameters
    ----------
    law
        The noise of each count, which has weighted bounds.
    part, rest
        The sum of the noisy counts of the part and of the rest, and the number of noisy counts in each.
    miss
        The probability to miss the share.

    Examples
    --------
    >>> law = GeometricTails(Fraction(1, 3), Fraction(1, 2))
    >>> low, high = share_interval(law, (300, 1), (700, 1), Fraction(1, 20))
    >>> round(float(low), 3), round(float(high), 3)
    (0.297, 0.303)
    """

    def width(share: Fraction, part_of_miss: Fraction, is_rough: bool) -> Fraction:
        law_width = _rough_width if is_rough else balance_width
        return law_width(law, part[1], rest[1], share, part_of_miss)

    slope = balance_width(law, part[1] + rest[1], 0, Fraction(0), miss * CELL_PART)
    return kept_shares(Fraction(part[0]), Fraction(rest[0]), width, slope, miss)


def reuse_nearby(
    bound: Callable[[Fraction, Fraction, bool], Fraction], slope: Fraction
) -> Callable[[Fraction, Fraction, bool], Fraction]:
    """Return the width function of :func:`kept_shares` that takes bounds of shares nearby, to be quick.

    Between two shares, ``|W(share)| <= |W(near)| + |share - near| |Z_P + Z_Q|``.

    Parameters
    ----------
    bound
        A function of a share, a probability, and whether to be quick: a bound that the error of the estimated balance
        exceeds with at most that probability.
    slope
        As for :func:`kept_shares`.
    """
    known: dict[bool, dict[Fraction, Fraction]] = {True: {}, False: {}}

    def width(share: Fraction, miss: Fraction, is_rough: bool) -> Fraction:
        for near, wide in known[is_rough].items():
            between = abs(share - near) * slope
            if between <= _NEAR * wide:
                return wide + between
        known[is_rough][share] = bound(share, miss, is_rough)
        return known[is_rough][share]

    return width


def kept_shares(
    part: Fraction, rest: Fraction, width: Callable[[Fraction, Fraction, bool], Fraction], slope: Fraction,
    miss: Fraction,
) -> tuple[Fraction, Fraction]:  # fmt: skip
    """Return the least and the largest share that the test does not reject.

    Parameters
    ----------
    part, rest
        The estimates of the totals of the part and of the rest.
    width
        A function of a share, a probability, and whether to be quick: a bound that the error of the estimated balance
        exceeds with at most that probability.
    slope
        A bound that the error of the estimated total of both exceeds with probability at most ``CELL_PART`` of the
        probability to miss.
    miss
        The probability to miss the share.
    """

    def balance(share: Fraction) -> Fraction:
        return (1 - share) * part - share * rest

    def bound(share: Fraction, is_rough: bool) -> Fraction:
        return width(share, miss * (1 - CELL_PART), is_rough)

    lowest = next(_kept_cells(balance, bound, slope, reverse=False), None)
    highest = next(_kept_cells(balance, bound, slope, reverse=True), None)
    if lowest is None or highest is None:  # no share fits: the nearest one
        nearest = Fraction(int(balance(Fraction(1, 2)) > 0))
        return nearest, nearest
    return lowest[0], highest[1]


def _kept_cells(
    balance: Callable[[Fraction], Fraction],
    width: Callable[[Fraction, bool], Fraction],
    slope: Fraction,
    reverse: bool,
) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield cells of shares that are not rejected, from the lowest on, or from the highest."""
    steepest = max(slope, abs(balance(Fraction(0)) - balance(Fraction(1))))
    waiting = [(Fraction(0), Fraction(1), 0)]
    while waiting:
        left, right, divisions = waiting.pop()
        middle, half = (left + right) / 2, (right - left) / 2
        ends = balance(left), balance(right)
        least = max(min(ends), -max(ends))  # the least size of the balance in the cell; negative where its sign changes
        rough = width(middle, True)
        if least > rough + half * slope:
            continue
        if least > rough / 2 and least > width(middle, False) + half * slope:
            continue
        if divisions == _MAX_DIVISIONS or half * steepest <= _FINE * rough:
            yield left, right
            continue
        halves = [(left, middle, divisions + 1), (middle, right, divisions + 1)]
        waiting += halves if reverse else halves[::-1]
