"""Ranges: numbers in equal steps, such as ages in years or energy in steps of half a kilowatt-hour."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from ..errors import DiscreetError, ForeignValue, InvalidInput, InWords, WrongType
from ..exact.arrays import Array, FloatArray, IntArray
from ..exact.integers import refuse_masked, to_numpy
from ..exact.rationals import as_fraction
from ..report import Json
from .base import Description, Space, which

#: Maximum number of steps of a range.
MAX_STEPS = 10**6


class Range(Space):
    """The numbers low, low + step, ..., high, whose distance is the absolute difference.

    Parameters
    ----------
    low, high
        The ends: numbers, Fractions or texts such as "0.5".
    step
        The distance between two adjacent values; 1 by default. ``high - low`` is a multiple of it.

    Examples
    --------
    >>> energy = Range(0, 20, step="0.5")
    >>> energy.size, energy.index(1.5), energy.value(3), energy.distance(0, 20)
    (41, 3, 1.5, 20.0)
    """

    name: ClassVar[str] = "range"
    noun: ClassVar[str] = "value"

    def __init__(self, low: object, high: object, step: object = 1) -> None:
        self.low, self.high = as_fraction(low, "low"), as_fraction(high, "high")
        self.unit = as_fraction(step, "step")
        if self.unit <= 0:
            raise InvalidInput.must_be("step", "positive", step)
        steps = (self.high - self.low) / self.unit
        if steps.denominator != 1:
            raise InvalidInput.must_be("high - low", "a multiple of the step", self.high - self.low, argument="step")
        if not 1 <= steps <= MAX_STEPS:
            raise InvalidInput.must_be(
                "a range",
                f"of 1 to {MAX_STEPS:,} steps",
                InWords(f"{int(steps)} steps"),
                "Give low, then high.",
                argument="high",
            )
        self._size = int(steps) + 1
        self._whole = self.low.denominator == self.unit.denominator == 1

    @property
    def size(self) -> int:
        return self._size

    @property
    def has_numbers(self) -> bool:
        return True

    @property
    def is_text(self) -> bool:
        return not self._whole

    def index(self, value: object) -> int:
        if isinstance(value, bool | np.bool_) or value is None:
            raise WrongType.must_be("a value", "a number of the range", InWords(type(value).__name__))
        try:
            steps = (as_fraction(value, "a value") - self.low) / self.unit
        except DiscreetError:
            if isinstance(value, list | tuple | np.ndarray):
                return super().index(value)
            steps = Fraction(1, 2)
        if steps.denominator != 1 or not 0 <= steps < self._size:
            raise self._foreign("a value")
        return int(steps)

    def indices(self, values: object) -> Array:
        refuse_masked(values, "values")
        items = to_numpy(values) if hasattr(values, "to_numpy") else values
        array = np.asarray(items)
        if array.ndim == 0 and not isinstance(items, np.ndarray):
            return np.asarray(self.index(values))
        if array.dtype.kind == "b":
            raise WrongType.must_be("values", "numbers of the range", InWords("booleans"))
        if array.dtype.kind not in "iuf":
            listed = array.astype(object).ravel()
            return np.fromiter((self.index(v) for v in listed), np.int64, listed.size).reshape(array.shape)
        distinct, codes = np.unique(array, return_inverse=True)
        if len(distinct) > self._size or (array.dtype.kind == "f" and not np.isfinite(distinct).all()):
            raise self._foreign("a value")
        places = np.full(len(distinct), -1, np.int64)
        for k, value in enumerate(distinct.tolist()):
            steps = (as_fraction(value, "a value") - self.low) / self.unit
            if steps.denominator == 1 and 0 <= steps < self._size:
                places[k] = int(steps)
        indices = places[codes].reshape(array.shape)
        if indices.size and indices.min() < 0:
            raise self._foreign(which(indices < 0))
        return indices

    def _foreign(self, position: str) -> ForeignValue:
        return ForeignValue(
            f"{position} is not a value of this space: {self.low} to {self.high} in steps of {self.unit}.",
            "Round values to the nearest step first.",
        )

    def values(self, indices: Array) -> Array:
        numbers = np.asarray(indices, np.int64)
        if self._whole:
            return np.asarray(int(self.low) + int(self.unit) * numbers)
        distinct, codes = np.unique(numbers, return_inverse=True)
        return np.array([self.value(int(k)) for k in distinct])[codes].reshape(numbers.shape)

    def value(self, index: int) -> int | float:
        number = self.low + self.unit * int(index)
        return int(number) if self._whole else float(number)

    def squared_distance(self, i: Array, j: Array) -> IntArray:
        gap = np.asarray(i, np.int64) - np.asarray(j, np.int64)
        return np.asarray(gap * gap)

    @property
    def largest_squared_distance(self) -> int:
        return (self._size - 1) ** 2

    def neighbours(self) -> tuple[Array, Array]:
        lower = np.arange(self._size - 1)
        return lower, lower + 1

    def transport_cost(self, surplus: FloatArray) -> float:
        return float(np.abs(np.cumsum(surplus)[:-1]).sum() * float(self.unit))

    @property
    def axes(self) -> tuple[int, ...]:
        return (self._size,)

    def coordinates(self) -> tuple[FloatArray, ...]:
        return (np.array([float(self.low + self.unit * k) for k in range(self._size)]),)

    @property
    def title(self) -> str:
        return f"{self.low} to {self.high} in steps of {self.unit}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Range) and (self.low, self.high, self.unit) == (other.low, other.high, other.unit)

    def __hash__(self) -> int:
        return hash((self.name, self.low, self.high, self.unit))

    def __repr__(self) -> str:
        return f"Range({self.low}, {self.high}, step={self.unit})"

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.name, "low": str(self.low), "high": str(self.high), "step": str(self.unit)}

    @classmethod
    def from_json(cls, description: Description) -> Range:
        """Return the range with this description."""
        return cls(description["low"], description["high"], description["step"])
