"""Medians and other quantiles of a column from its released counts, with intervals that hold.

Let the values of a column be ``v_1 < v_2 < ...``, ``C_k`` the number of people with a value of at most ``v_k`` and N
that of all. The quantile at q is the first ``v_k`` whose balance ``B_k = (1 - q) C_k - q (N - C_k)`` is not negative.
Whatever it is, ``B_k >= 0`` there and ``B_(k-1) < 0`` before it; each of the two is tested with half of the probability
to miss, and the values that pass both are an interval that holds (Neyman 1937): no more than these two tests can fail
for the true one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from ...errors import InvalidInput
from ...exact.rationals import Number, as_fraction
from ...wording import percent


class Balance(NamedTuple):
    """A balance from noisy counts, and the ends that the true one exceeds with half of the probability to miss each."""

    estimate: Fraction
    low: Fraction | None
    high: Fraction | None


@dataclass(frozen=True)
class Quantile:
    """A quantile of a column.

    Attributes
    ----------
    column, share
        Of which column, and which: 1/2 is the median.
    value
        The quantile of the released counts; None if they say that nobody is there.
    low, high
        The interval of the true quantile.
    level
        How often the interval covers, at least.
    places
        The numbers of value, low and high among the column's values in ascending order.
    """

    column: str
    share: Fraction
    value: int | None
    low: int
    high: int
    level: Fraction
    places: tuple[int | None, int, int]

    def between(self, edges: Sequence[Number]) -> tuple[Fraction, Fraction]:
        """The interval where values are numbers of bands: from the lower edge of the first to the upper of the last.

        >>> Quantile("band", Fraction(1, 2), 1, 0, 1, Fraction(19, 20), (1, 0, 1)).between([0, 18, 65])
        (Fraction(0, 1), Fraction(65, 1))
        """
        read = [as_fraction(edge, "an edge") for edge in edges]
        if read != sorted(set(read)) or len(read) < self.places[2] + 2:
            raise InvalidInput.must_be("edges", "ascending, one more than there are bands", list(edges))
        return read[self.places[1]], read[self.places[2] + 1]

    def __str__(self) -> str:
        shown = "unknown" if self.value is None else f"{self.value:,}"
        return f"{shown} ({percent(self.level, 6)} interval {self.low:,} to {self.high:,})"


def read_share(share: Number) -> Fraction:
    """Which quantile: a share between 0 and 1.

    >>> read_share("0.25")
    Fraction(1, 4)
    """
    value = as_fraction(share, "share")
    if not 0 < value < 1:
        raise InvalidInput.must_be("share", "between 0 and 1, such as 0.5 for the median", share)
    return value


def find_quantile(
    column: str, share: Fraction, values: Sequence[int], balance: Callable[[int], Balance], level: Fraction
) -> Quantile:
    """The quantile and its interval.

    Parameters
    ----------
    column, share
        Of which column, and which.
    values
        The values in ascending order.
    balance
        The balance of the value with this number.
    level
        How often the interval shall cover.
    """
    found = [balance(k) for k in range(len(values) - 1)]  # at the last one it is not negative, whatever the counts are
    estimate = next((k for k, one in enumerate(found) if one.estimate >= 0), len(values) - 1)
    may_reach = [one.high is None or one.high >= 0 for one in found] + [True]
    may_be_after = [True] + [one.low is None or one.low < 0 for one in found]
    passed = [k for k in range(len(values)) if may_reach[k] and may_be_after[k]] or [estimate]
    first, last = min(passed), max(passed)
    return Quantile(column, share, values[estimate], values[first], values[last], level, (estimate, first, last))
