"""Means over repetitions, with their uncertainty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from discreet.exact.arrays import FloatArray
from discreet.wording import rounded

from .tables import significant

#: How sure intervals are.
LEVEL = 0.95


def grouped(value: float) -> str:
    """Return a number with three significant digits, thousands set apart.

    >>> grouped(1049.2), grouped(0.12345), grouped(57931.0)
    ('1,050', '0.123', '57,900')
    """
    return f"{float(f'{value:.3g}'):,.0f}" if abs(value) >= 1000 else rounded(value)


@dataclass(frozen=True)
class Mean:
    """A mean over independent repetitions, or a ratio of two, and how far off it may be.

    Attributes
    ----------
    value
        The mean.
    half_width
        Half of the length of its 95% interval (Student's t).

    Examples
    --------
    >>> str(Mean.of([9.0, 10.0, 11.0]))
    '10 ± 2.5'
    >>> str(Mean.of([9.0, 10.0, 11.0]) / Mean(5.0, 0.0))
    '2 ± 0.5'
    """

    value: float
    half_width: float

    @classmethod
    def of(cls, values: Sequence[float] | FloatArray) -> Mean:
        """Return the mean of at least two repetitions."""
        array = np.asarray(values, dtype=np.float64)
        error = float(array.std(ddof=1)) / math.sqrt(len(array))
        return cls(float(array.mean()), float(stdtrit(len(array) - 1, (1 + LEVEL) / 2)) * error)

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.value - self.half_width

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.value + self.half_width

    def below(self, other: Mean) -> bool:
        """Return True if this mean is smaller than another one of other repetitions, beyond the uncertainty of both."""
        return self.value + math.hypot(self.half_width, other.half_width) < other.value

    def __truediv__(self, other: Mean) -> Mean:
        """Return the ratio of two means of different repetitions; its uncertainty to first order."""
        ratio = self.value / other.value
        spread = math.hypot(self.half_width / self.value, other.half_width / other.value) if self.value else 0.0
        return Mean(ratio, abs(ratio) * spread)

    def columns(self, name: str) -> dict[str, float]:
        """Return the mean and the ends of its interval, as columns of a table."""
        ends = {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}
        return {column: significant(value) for column, value in ends.items()}

    def __str__(self) -> str:
        return f"{grouped(self.value)} ± {grouped(float(f'{self.half_width:.2g}'))}"
