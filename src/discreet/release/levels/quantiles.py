"""Medians and other quantiles of a column from its released counts, with confidence intervals.

Let the values of a column be ``v_1 < v_2 < ...``, ``C_k`` the number of people with a value of at most ``v_k`` and N
that of all. The quantile at q is the first ``v_k`` whose balance ``B_k = (1 - q) C_k - q (N - C_k)`` is not negative:
``B_k >= 0`` there and ``B_(k-1) < 0`` before it. Each of the two is tested with half of the probability to miss, and
the values that pass both tests form the interval (Neyman 1937): the true quantile fails one of the tests with at most
that probability.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from ...errors import InvalidInput
from ...exact.rationals import Number, as_fraction
from ...questions.bands import Edge
from ...wording import percent


class Balance(NamedTuple):
    """A balance from noisy counts, with bounds. The true one passes each with half of the probability to miss."""

    estimate: Fraction
    low: Fraction | None
    high: Fraction | None


@dataclass(frozen=True)
class Quantile:
    """A quantile of a column.

    Attributes
    ----------
    column
        The column.
    share
        The share of people with at most this value: 1/2 for the median.
    value
        The quantile of the released counts; for bands, the band that contains it.
    low, high
        The interval of the true quantile; for bands, the first and the last band.
    level
        The coverage of the interval.
    places
        The ranks of value, low and high among the column's values, from 0.
    edges
        The edges of bands; None for the outer edge of an open band.
    """

    column: str
    share: Fraction
    value: int | str
    low: int | str
    high: int | str
    level: Fraction
    places: tuple[int, int, int]
    edges: tuple[Edge | None, ...] = ()

    @property
    def bounds(self) -> tuple[Edge | None, Edge | None]:
        """For bands, the ends of the interval as values of the column; None for the outer edge of an open band."""
        return (self.edges[self.places[1]], self.edges[self.places[2] + 1]) if self.edges else (None, None)

    def between(self, edges: Sequence[Number]) -> tuple[Fraction, Fraction]:
        """Return the interval as values where the column numbers the bands with these edges.

        >>> Quantile("band", Fraction(1, 2), 1, 0, 1, Fraction(19, 20), (1, 0, 1)).between([0, 18, 65])
        (Fraction(0, 1), Fraction(65, 1))
        """
        fractions = [as_fraction(edge, "an edge") for edge in edges]
        if fractions != sorted(set(fractions)) or len(fractions) < self.places[2] + 2:
            raise InvalidInput.must_be("edges", "ascending, one more than there are bands", list(edges))
        return fractions[self.places[1]], fractions[self.places[2] + 1]

    def __str__(self) -> str:
        shown = [f"{one:,}" if isinstance(one, int) else one for one in (self.value, self.low, self.high)]
        return f"{shown[0]} ({percent(self.level, 6)} interval {shown[1]} to {shown[2]})"


def read_share(share: Number) -> Fraction:
    """Read the share of a quantile, between 0 and 1.

    >>> read_share("0.25")
    Fraction(1, 4)
    """
    value = as_fraction(share, "share")
    if not 0 < value < 1:
        raise InvalidInput.must_be("share", "between 0 and 1, such as 0.5 for the median", share)
    return value


def find_quantile(
    column: str, share: Fraction, values: Sequence[int | str], balance: Callable[[int], Balance], coverage: Fraction,
    edges: tuple[Edge | None, ...] = (),
) -> Quantile:  # fmt: skip
    """Return the quantile and its interval.

    Parameters
    ----------
    column, share
        As in :class:`Quantile`.
    values
        The values in ascending order.
    balance
        A function that gives the balance at a rank.
    coverage
        The coverage of the interval.
    edges
        The edges of bands.
    """
    balances = [balance(k) for k in range(len(values) - 1)]  # at the last value it is never negative
    estimate = next((k for k, one in enumerate(balances) if one.estimate >= 0), len(values) - 1)
    may_reach = [one.high is None or one.high >= 0 for one in balances] + [True]
    may_exceed = [True] + [one.low is None or one.low < 0 for one in balances]
    candidates = [k for k in range(len(values)) if may_reach[k] and may_exceed[k]] or [estimate]
    ranks = estimate, min(candidates), max(candidates)
    value, low, high = (values[k] for k in ranks)
    return Quantile(column, share, value, low, high, coverage, ranks, edges)
