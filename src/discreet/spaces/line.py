"""Counts and integers: whole numbers on a line, whose distance is the absolute difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import ForeignValue, InvalidInput, Unsupported, WrongType, meant
from ..exact.arrays import Array, FloatArray, IntArray
from ..exact.integers import is_integer, positive_integer, read_integers
from ..report import Json
from .base import LARGEST_INTEGER, Description, Space, which


class _Line(Space):
    """Whole numbers that are their own indices, at the absolute difference as distance."""

    noun: ClassVar[str] = "count"
    parameters: ClassVar[tuple[str, ...]] = ("n", "space")
    is_line: ClassVar[bool] = True

    def squared_distance(self, i: Array, j: Array) -> IntArray:
        gap = np.asarray(i, np.int64) - np.asarray(j, np.int64)
        if gap.size and max(-int(gap.min()), int(gap.max())) >= 1 << 31:
            raise Unsupported(
                "values more than 2**31 apart have squared distances beyond 64 bits.", "Use distance(a, b)."
            )
        return np.asarray(gap * gap)

    def exact_squared_distance(self, i: int, j: int) -> int:
        return (int(i) - int(j)) ** 2  # 64 bits are too few for 2^62 squared

    def distance(self, a: object, b: object) -> float | Array:
        x, y = self.indices(a).astype(np.int64), self.indices(b).astype(np.int64)
        # values lie within 2^62 of zero, so that a difference has at most 64 bits, without a sign
        with np.errstate(over="ignore"):
            gap = (np.maximum(x, y) - np.minimum(x, y)).view(np.uint64)
        return float(gap) if gap.ndim == 0 else gap.astype(float)

    def shares_distance(self, other: Space) -> bool:
        return other.is_line


@dataclass(frozen=True)
class Counts(_Line):
    """The counts 0, 1, ..., n: answers to "how many of these n?".

    >>> Counts(4).size
    5
    """

    n: int
    name: ClassVar[str] = "counts"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", positive_integer(self.n, meant("n", "the largest count")))
        if self.n > LARGEST_INTEGER:
            raise InvalidInput.must_be("n", "at most 2**62", self.n, meaning="the largest count")

    @property
    def size(self) -> int:
        return self.n + 1

    def index(self, value: object) -> int:
        if not is_integer(value):
            return super().index(value)
        number = int(value)  # type: ignore[call-overload]
        if 0 <= number <= self.n:
            return int(number)
        raise self._foreign("a value")

    def indices(self, values: object) -> Array:
        array = read_integers(values, "counts")
        if array.size:
            largest = array
            if array.dtype.kind == "i" and self.n < 1 << (8 * array.itemsize - 1):
                # one pass: a negative number read as unsigned is larger than n
                largest = array.view(array.dtype.str.replace("i", "u"))
            if int(largest.max()) > self.n or (largest is array and int(array.min()) < 0):
                raise self._foreign(which((array > self.n) | (array < 0)))
        return array

    def _foreign(self, which: str) -> ForeignValue:
        return ForeignValue(
            f"{which} is not a count in 0..{self.n}.", "Give values in that range, or build for a larger n."
        )

    @property
    def ends(self) -> tuple[int, int]:
        return 0, self.n

    @property
    def axes(self) -> tuple[int, ...]:
        return (self.size,)

    def coordinates(self) -> tuple[FloatArray, ...]:
        return (np.arange(self.size, dtype=float),)

    @property
    def largest_squared_distance(self) -> int:
        return self.n * self.n

    def transport_cost(self, surplus: FloatArray) -> float:
        return float(np.abs(np.cumsum(surplus)[:-1]).sum())

    @property
    def title(self) -> str:
        return f"counts 0 to {self.n}"

    def neighbours(self) -> tuple[Array, Array]:
        lower = np.arange(self.n)
        return lower, lower + 1

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.name, "n": self.n}

    @classmethod
    def from_json(cls, description: Description) -> Counts:
        """Return the counts with this description."""
        return cls(description["n"])


@dataclass(frozen=True)
class Integers(_Line):
    """The integers, or those from ``low`` on: counts without a known largest one.

    >>> Integers(low=0).size is None
    True
    """

    low: int | None = None
    name: ClassVar[str] = "integers"

    def __post_init__(self) -> None:
        if self.low is not None and not is_integer(self.low):
            raise WrongType.must_be("low", "an integer or None", self.low)
        if self.low is not None:
            object.__setattr__(self, "low", int(self.low))
            if abs(self.low) >= LARGEST_INTEGER:
                raise InvalidInput.must_be("low", "within 2**62 of zero", self.low)

    @property
    def size(self) -> None:
        return None

    def indices(self, values: object) -> Array:
        array = read_integers(values, "counts")
        if array.size:
            low = -LARGEST_INTEGER if self.low is None else self.low
            least, largest = int(array.min()), int(array.max())
            if least < low or largest > LARGEST_INTEGER:
                position = which((array < low) | (array > LARGEST_INTEGER))
                raise ForeignValue(
                    f"{position} is not in this space: integers from {low} to 2**62.", "Give values in that range."
                )
        return array

    @property
    def ends(self) -> tuple[int | None, None]:
        return self.low, None

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.name, "low": self.low}

    @classmethod
    def from_json(cls, description: Description) -> Integers:
        """Return the integers with this description."""
        return cls(description["low"])
