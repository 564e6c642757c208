"""What can be asked of a distribution over the values of a space: mean, variance, quantiles, probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInput, InWords, Unsupported, WrongType, meant
from ..exact.arrays import FloatArray, as_floats
from ..spaces import Space

#: Accuracy of cumulative sums: solvers leave traces where there is nothing.
SUM_ACCURACY = 1e-9


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """A distribution over true values, and how many people it speaks of.

    Attributes
    ----------
    space
        The true values.
    distribution
        The probability of each of them, in their order (read-only).
    people
        How many reports it was made from.
    """

    space: Space
    distribution: FloatArray = field(repr=False)
    people: int

    def mean(self) -> float | tuple[float, float]:
        """Return the mean true value; on a map the mean place (x, y), or (latitude, longitude) on a map of a box."""
        if self.space.as_grid is not None:
            x, y = self.space.coordinates()
            return float(self.distribution @ x), float(self.distribution @ y)
        return float(self.distribution @ numbers(self.space, "a mean"))

    def variance(self) -> float:
        """Return the variance of the true values."""
        x = numbers(self.space, "a variance")
        mean = float(self.distribution @ x)
        return float(self.distribution @ (x - mean) ** 2)

    def cdf(self) -> FloatArray:
        """Return, for each number, the probability of a true value of at most this."""
        numbers(self.space, "a cumulative distribution")
        return np.asarray(np.cumsum(self.distribution))

    def quantile(self, q: float) -> int | float:
        """Return the smallest number with a probability of at least q of a true value of at most this.

        Where some entries are negative, the cumulative sums are replaced by the closest ones that never fall.
        """
        level = read_share(q, meant("q", "the order of a quantile"))
        sums = self.cdf() if self.distribution.min() >= 0 else never_falling(self.cdf())
        reached = np.flatnonzero(sums >= level - SUM_ACCURACY)
        place = int(reached[0]) if reached.size else len(self.distribution) - 1
        number: int | float = self.space.value(place)
        return number

    def probability(self, low: object, high: object) -> float:
        """Return the probability of a true value from ``low`` to ``high``, both included."""
        return float(self.distribution @ indicator(self.space, ("range", low, high)))

    def expected_counts(self) -> FloatArray:
        """Return the expected number of people with each true value."""
        return np.asarray(self.people * self.distribution)


def never_falling(values: FloatArray) -> FloatArray:
    """Return the closest sequence, in squares, that never falls: neighbours in the wrong order share their mean."""
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(values).x)


def numbers(space: Space, what: str) -> FloatArray:
    """Return the numbers of a space as floats; refuse values that are not numbers."""
    if not space.has_numbers:
        raise Unsupported(
            f"{what} is for counts and other numbers; these values are {space.noun}s.",
            "Ask for the probability of some of them: interval(('among', [...])) or weights of your own.",
        )
    return space.coordinates()[0]


def read_share(value: object, what: str, inside: bool = False) -> float:
    """Read a number between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise WrongType.must_be(what, "a number between 0 and 1", value)
    if not (0 < value < 1 if inside else 0 <= value <= 1):
        raise InvalidInput.must_be(what, f"{'strictly ' * inside}between 0 and 1", value)
    return float(value)


def indicator(space: Space, statistic: tuple[Any, ...]) -> FloatArray:
    """Return 1 for the values that are meant, 0 for the others."""
    kind, *rest = statistic
    size = space.size
    assert size is not None
    chosen = np.zeros(size)
    if kind == "cell" and len(rest) == 1:
        chosen[space.index(rest[0])] = 1.0
    elif kind == "among" and len(rest) == 1 and isinstance(rest[0], Iterable) and not isinstance(rest[0], str):
        chosen[np.asarray(space.indices(list(rest[0])))] = 1.0
    elif kind == "cdf" and len(rest) == 1:
        numbers(space, "a cumulative probability")
        chosen[: space.index(rest[0]) + 1] = 1.0
    elif kind == "range" and len(rest) == 2:
        numbers(space, "a range")
        low, high = (space.index(value) for value in rest)
        if low > high:
            raise InvalidInput(
                f"a range goes from its smaller to its larger end; got {rest[0]!r} to {rest[1]!r}.",
                argument="statistic",
            )
        chosen[low : high + 1] = 1.0
    else:
        raise unknown(statistic)
    return chosen


def unknown(statistic: object) -> InvalidInput:
    return InvalidInput(
        f"there is no statistic {statistic!r}.",
        "Ask for 'mean', 'variance', ('cdf', x), ('quantile', q), ('range', a, b), ('cell', value), ('among', "
        "[values]), or give weights, one number for each true value.",
        argument="statistic",
    )


def read_weights(values: ArrayLike, size: int) -> FloatArray:
    """Read the weights of a linear statistic: a number for each true value."""
    try:
        weights = as_floats(values)
    except (TypeError, ValueError):
        raise unknown(values) from None
    if weights.shape != (size,):
        raise InvalidInput.must_be(
            "weights", f"one number for each of the {size} true values", InWords(f"an array of shape {weights.shape}")
        )
    if not np.isfinite(weights).all():
        raise InvalidInput.must_be("weights", "finite numbers", InWords("NaN or infinity"))
    return weights


def at_most(k: int, size: int) -> FloatArray:
    """Return 1 for the first values up to number k, and 0 for those after it."""
    return (np.arange(size) <= k).astype(float)
