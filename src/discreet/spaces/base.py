"""The interface of every space, and the answers that follow from it.

A new space is one file here. It defines its values, their indices, their distances and its JSON; everything else has a
default that holds for any finite space, and that a space overrides where it knows better.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from types import new_class
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from ..errors import Unsupported, WrongType
from ..exact.arrays import Array, BoolArray, FloatArray, IntArray
from ..report import Json

if TYPE_CHECKING:
    from .grid import Grid

#: The description of a space in a file, before it is checked.
Description: TypeAlias = Mapping[str, Any]

#: Values of unbounded spaces stay within this distance of zero, so that adding noise cannot overflow 64 bits.
LARGEST_INTEGER = 2**62

#: Upper limit of units; its inverse is the lower one. Distances and epsilons per unit of distance are then doubles.
LARGEST_UNIT = 10**200

#: Roots of squared distances, which are integers, are rounded up to a multiple of one over this.
ROOT_DENOMINATOR = 10**6


class Space(ABC):
    """The values of a truth or a report. Kernels work with indices; people see values.

    Distances are kept exactly as ``unit * sqrt(k)`` with a rational ``unit`` and an integer ``k``, so that the judge
    can compare them without rounding.

    Examples
    --------
    A ring of five hours, where the distance is the shorter way round:

    >>> class Ring(Space):
    ...     name, noun, size = "ring", "hour", 5
    ...     def indices(self, values):
    ...         return np.asarray(values) % 5
    ...     def squared_distance(self, i, j):
    ...         steps = np.abs(np.asarray(i) - np.asarray(j))
    ...         return np.minimum(steps, 5 - steps) ** 2
    ...     def to_json(self):
    ...         return {"kind": self.name}
    >>> Ring().title, Ring().distance(0, 4), Ring().diameter, Ring().ends
    ('5 hours', 1.0, Fraction(2, 1), None)
    """

    #: The kind of space, as files name it.
    name: ClassVar[str]
    #: What one value is called in a sentence: "count", "cell", "label".
    noun: ClassVar[str]
    #: The length of one unit of ``sqrt(squared_distance)``.
    unit: Fraction = Fraction(1)

    # ---------------------------------------------------------------- values

    @property
    @abstractmethod
    def size(self) -> int | None:
        """The number of values; None if it is infinite."""

    @abstractmethod
    def indices(self, values: object) -> Array:
        """Return the indices of many values, as an integer array of the same shape."""

    def index(self, value: object) -> int:
        """Return the index of one value; refuses many."""
        indices = self.indices(value)
        if indices.ndim:
            raise WrongType(
                f"one value is needed here; got {type(value).__name__} with {indices.size} values.",
                "Give them one by one.",
            )
        return int(indices)

    def values(self, indices: Array) -> Array:
        """Return the values with these indices: the indices themselves, where values are numbered from 0."""
        return indices

    def value(self, index: int) -> Any:
        """Return the value with this index, as a plain Python object."""
        return int(index)

    @property
    def is_text(self) -> bool:
        """True if files hold the values as text."""
        return False

    # ---------------------------------------------------------------- distances

    @abstractmethod
    def squared_distance(self, i: Array, j: Array) -> IntArray:
        """Return the integer k for which the distance between indices i and j is ``unit * sqrt(k)``."""

    def exact_squared_distance(self, i: int, j: int) -> int:
        """Return the same of two indices, as a Python integer of any size."""
        return int(self.squared_distance(np.asarray(i), np.asarray(j)))

    def distance(self, a: object, b: object) -> float | Array:
        """Return the distance between values, elementwise."""
        distance = np.sqrt(self.squared_distance(self.indices(a), self.indices(b))) * float(self.unit)
        return float(distance) if np.ndim(distance) == 0 else np.asarray(distance)

    @property
    def has_lengths(self) -> bool:
        """True if some values are further apart than others, so that a guarantee per unit of distance says more."""
        return True

    @property
    def largest_squared_distance(self) -> int:
        """The largest ``squared_distance`` between two values."""
        if self.size is None:
            raise Unsupported(f"{self.noun}s without an end have no largest distance.", "Choose a range first.")
        first, second = np.triu_indices(self.size, 1)
        return int(self.squared_distance(first, second).max())

    @property
    def diameter(self) -> Fraction:
        """The largest distance between two values, rounded up."""
        squared = self.largest_squared_distance * ROOT_DENOMINATOR**2
        root = math.isqrt(squared)
        return self.unit * Fraction(root if root * root == squared else root + 1, ROOT_DENOMINATOR)

    def shares_distance(self, other: Space) -> bool:
        """Return whether there is a distance from a value here to a value of the other space."""
        return self == other

    def neighbours(self) -> tuple[Array, Array] | None:
        """Return all adjacent pairs of indices (i, j) with i < j, or None where adjacency is not defined."""
        return None

    def transport_cost(self, surplus: FloatArray) -> float | None:
        """Return the least mass times distance that evens out a surplus, where there is a formula; None elsewhere."""
        return None

    # ---------------------------------------------------------------- order and place

    #: True if values are whole numbers on a line: they have an order, differences, means and quantiles.
    is_line: ClassVar[bool] = False

    @property
    def has_numbers(self) -> bool:
        """True if values are numbers in rising order, whole or not: they have means and quantiles."""
        return self.is_line

    @property
    def ends(self) -> tuple[int | None, int | None] | None:
        """The least and the largest value of a line, None for an infinite end; None for other spaces."""
        return None

    @property
    def as_grid(self) -> Grid | None:
        """The same space where its values are the cells of a map; None for other spaces."""
        return None

    @property
    def axes(self) -> tuple[int, ...]:
        """The shape of the array that holds each value next to its neighbours; empty without such an array."""
        return ()

    def coordinates(self) -> tuple[FloatArray, ...]:
        """Return the coordinates at which to draw each value: one on a line, two on a map, none for other spaces."""
        return ()

    def neighbour_mean(self, p: FloatArray) -> FloatArray | None:
        """Return the mean of each value's neighbours (beyond a border, the value itself); None without neighbours."""
        if not self.axes:
            return None
        padded = np.pad(p.reshape(self.axes), 1, mode="edge")
        inside = (slice(1, -1),) * padded.ndim
        sides = [
            padded[(*inside[:axis], side, *inside[axis + 1 :])]
            for axis in range(padded.ndim)
            for side in (slice(None, -2), slice(2, None))
        ]
        return np.asarray(sum(sides[1:], start=sides[0]).ravel() / len(sides))

    def neighbour_maximum(self, x: Array) -> Array:
        """Return the largest of x at each value and its neighbours."""
        highest = x.reshape(self.axes) if self.axes else x
        for _ in self.axes:  # the largest of 3 in a line, then of 3 x 3; each line comes first once
            line, highest = highest, highest.copy()
            np.maximum(highest[1:], line[:-1], out=highest[1:])
            np.maximum(highest[:-1], line[1:], out=highest[:-1])
            highest = highest.T
        return highest.ravel()

    # ---------------------------------------------------------------- words and files

    #: The name of one unit of distance.
    length_noun: ClassVar[str] = "unit"
    #: The words for "d apart", and for where distances are measured if not between the values themselves.
    apart: ClassVar[str] = "d"
    measured: ClassVar[str] = ""
    #: Names of the parameter by which families of mechanisms take such a space.
    parameters: ClassVar[tuple[str, ...]] = ("space",)

    @property
    def title(self) -> str:
        """The values in a few words, for a title."""
        return f"{self.noun}s" if self.size is None else f"{self.size} {self.noun}s"

    @abstractmethod
    def to_json(self) -> dict[str, Json]:
        """Return the parameters, as plain JSON values."""


def is_space(value: object) -> bool:
    """Return whether this is a space: one of this package, or an object with all of its methods."""
    return isinstance(value, Space) or (not isinstance(value, type) and all(hasattr(value, name) for name in NEEDED))


#: The attributes that a look-alike needs.
NEEDED = (
    "name", "noun", "size", "unit", "index", "indices", "value", "values", "squared_distance", "distance",
    "neighbours", "to_json",
)  # fmt: skip


def completed(space: object) -> Space:
    """Return a space of this package as it is, and a look-alike with the missing methods of :class:`Space` added.

    Its own methods are kept. The judge uses few of them and checks every answer.
    """
    if isinstance(space, Space):
        return space
    names = [name for name in NEEDED if getattr(space, name, None) is not None]
    answers = {name: property(partial(_of_original, name)) for name in names}
    kind: type[Space] = new_class(type(space).__name__, (_LookAlike,), {}, lambda body: body.update(answers))
    return kind(space)  # type: ignore[call-arg]


def _of_original(name: str, space: _LookAlike) -> object:
    return getattr(space.original, name)


class _LookAlike(Space):
    """A user-defined space with the missing methods added; equal to the original."""

    def __init__(self, original: Any) -> None:
        self.original = original

    size = property(partial(_of_original, "size"))

    def indices(self, values: object) -> Array:
        return np.asarray(self.original.indices(values))

    def squared_distance(self, i: Array, j: Array) -> IntArray:
        return np.asarray(self.original.squared_distance(i, j))

    def to_json(self) -> dict[str, Json]:
        return dict(self.original.to_json())

    def __getattr__(self, name: str) -> object:
        if name == "original":  # missing while it is unpickled
            raise AttributeError(name)
        return getattr(self.original, name)

    def __repr__(self) -> str:
        return repr(self.original)

    def __eq__(self, other: object) -> bool:
        return bool(self.original == getattr(other, "original", other))

    def __hash__(self) -> int:
        return hash(self.original)

    def __reduce__(self) -> tuple[Callable[[object], Space], tuple[object]]:
        return completed, (self.original,)


def which(wrong: BoolArray) -> str:
    """Say which value is meant, without quoting it: a true value must not end up in a message or a log."""
    return "a value" if wrong.ndim == 0 else f"the value at position {int(np.flatnonzero(wrong.ravel())[0])}"
