"""Several values of one person together: the space of pairs, triples and so on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from math import prod
from typing import Any, ClassVar

import numpy as np

from ..errors import ForeignValue, InvalidInput, InWords, Unsupported, WrongType, arg
from ..exact.arrays import Array, IntArray
from ..exact.integers import to_numpy
from ..lists import read_list
from ..report import Json
from .base import Description, Space
from .kinds import space_from as single_space_from
from .metric import common_unit, whole_roots

#: Maximum number of tuples in a product space: they are numbered by 64-bit integers.
MAX_COMBINATIONS = 2**31

_NO_DISTANCE = "tuples have no common distance: their parts are measured in different units."

#: Norms by which the distances of the parts make the distance of tuples.
NORMS = ("l1", "l2", "linf")


class Combination(tuple[Any, ...]):
    """A tuple of values that people read without quotation marks.

    >>> str(Combination(("yes", 3))), Combination(("yes", 3)) == ("yes", 3)
    ('(yes, 3)', True)
    """

    __slots__ = ()

    def __str__(self) -> str:
        return f"({', '.join(map(str, self))})"


@dataclass(frozen=True)
class ProductSpace(Space):
    """Tuples with one value of each part: the answers of one person to several questions.

    The last part changes fastest in the order of the tuples. Without a norm tuples have no common distance, and no two
    of them are adjacent: what is proved holds between any two.

    Parameters
    ----------
    parts
        The finite spaces of the single values, two or more.
    norm
        How the distances of the parts make the distance of two tuples: their sum ("l1"), the root of the sum of their
        squares ("l2") or the largest of them ("linf"). Measure the parts in units that can be compared.

    Examples
    --------
    >>> from discreet.spaces import Counts, Labels
    >>> space = ProductSpace((Labels(["yes", "no"]), Counts(2)))
    >>> space.size, space.index(("no", 1)), space.value(5)
    (6, 4, ('no', 2))
    >>> ProductSpace((Counts(3), Counts(4)), norm="l2").distance((0, 0), (3, 4))
    5.0
    """

    parts: tuple[Space, ...]
    norm: str | None = None
    unit: Fraction = field(init=False, repr=False, compare=False, default=Fraction(1))
    name: ClassVar[str] = "product"
    noun: ClassVar[str] = "combination"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(read_list(self.parts, "parts", "spaces")))
        if len(self.parts) < 2:
            raise InvalidInput.must_be("parts", "two spaces or more", len(self.parts))
        infinite = next((one for one in self.parts if one.size is None), None)
        if infinite is not None:
            raise Unsupported(f"a product needs finitely many values; {infinite!r} has no end.", "Use m.on(Counts(n)).")
        if prod(self.shape) > MAX_COMBINATIONS:
            raise Unsupported(
                f"a product of {prod(self.shape):,} combinations is too large; at most 2**31.", argument="parts"
            )
        if self.norm is not None:
            self._measure()

    def _measure(self) -> None:
        """Choose the unit of distances; refuse those that have none."""
        if self.norm not in NORMS:
            raise InvalidInput.must_be("norm", f"one of {', '.join(NORMS)}", self.norm)
        if any(isinstance(one, ProductSpace) and one.norm is None for one in self.parts):
            raise InvalidInput("a part of this product has no distance.", "Give that part a norm.", argument="parts")
        object.__setattr__(self, "unit", common_unit(one.unit for one in self.parts))
        diameter = int(self._join_distances([np.asarray(one.largest_squared_distance) for one in self.parts]))
        if diameter >= 2**62:
            raise Unsupported("distances in this product have too many digits.", "Choose coarser units or parts.")

    @property
    def _scales(self) -> list[int]:
        return [int(one.unit / self.unit) for one in self.parts]

    def _join_distances(self, squares: Sequence[Array]) -> Array:
        """Return the squared distance of tuples, in squared units, from those of their parts."""
        if self.norm == "l1":
            roots = [scale * _root(square) for scale, square in zip(self._scales, squares, strict=True)]
            total = sum(roots[1:], start=roots[0])
            return total * total
        scaled = [scale * scale * square for scale, square in zip(self._scales, squares, strict=True)]
        return reduce(np.maximum, scaled) if self.norm == "linf" else sum(scaled[1:], start=scaled[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each part."""
        return tuple(one.size or 0 for one in self.parts)

    @property
    def size(self) -> int:
        return prod(self.shape)

    def split(self, indices: Array) -> tuple[Array, ...]:
        """Return, for each part, the indices of its values in these tuples."""
        return tuple(np.unravel_index(np.asarray(indices, np.int64), self.shape))

    def join(self, indices: Sequence[Array]) -> Array:
        """Return the indices of the tuples with these indices of their values."""
        return np.asarray(np.ravel_multi_index(tuple(np.asarray(one, np.int64) for one in indices), self.shape))

    def index(self, value: object) -> int:
        if not isinstance(value, tuple | list) or len(value) != len(self.parts):
            raise ForeignValue(f"a value here is a tuple of {len(self.parts)} values, one of each part.")
        return int(self.join([np.asarray(one.index(v)) for one, v in zip(self.parts, value, strict=True)]))

    def indices(self, values: object) -> Array:
        """Return the indices of many tuples, or of one.

        Parameters
        ----------
        values
            One tuple; a list or an array of tuples; a table with a column for each part (a data frame or an array of
            two dimensions); or a tuple of columns.
        """
        if isinstance(values, tuple) and len(values) == len(self.parts) and not any(map(_is_column, values)):
            return np.asarray(self.index(values))
        columns = self._columns(values)
        parts = [np.asarray(one.indices(column)) for one, column in zip(self.parts, columns, strict=True)]
        if len({one.shape for one in parts}) > 1:
            raise InvalidInput.must_be(
                "columns", "of the same length", InWords(", ".join(str(len(one)) for one in parts)), argument="values"
            )
        return self.join(parts)

    def _columns(self, values: Any) -> list[Any]:
        """Return a column for each part."""
        number = len(self.parts)
        if hasattr(values, "columns") and hasattr(values, "shape"):  # a data frame
            names = list(getattr(values, "column_names", values.columns))
            if len(names) != number:
                raise WrongType(
                    f"a table here has {number} columns, one for each part; got {len(names)}.", argument="values"
                )
            return [values[name] for name in names]
        if isinstance(values, tuple) and len(values) == number and all(map(_is_column, values)):
            return list(values)
        plain = to_numpy(values) if hasattr(values, "to_numpy") else values
        if isinstance(plain, np.ndarray) and plain.ndim == 2 and plain.shape[1] == number:
            return [plain[:, k] for k in range(number)]
        rows = list(plain) if isinstance(plain, list | np.ndarray) else None
        if rows is None or any(not isinstance(row, tuple | list | np.ndarray) or len(row) != number for row in rows):
            raise WrongType(
                f"values here are tuples of {number} values each.", f"Give a list of them, or {number} columns."
            )
        return [[row[k] for row in rows] for k in range(number)]

    def values(self, indices: Array) -> Array:
        """Return the tuples with these indices, as an array of objects."""
        array = np.asarray(indices)
        columns = [one.values(part).ravel().tolist() for one, part in zip(self.parts, self.split(array), strict=True)]
        tuples = np.empty(array.size, dtype=object)
        tuples[:] = list(zip(*columns, strict=True))
        return tuples.reshape(array.shape)

    def value(self, index: int) -> Combination:
        parts = self.split(np.asarray(index))
        return Combination(one.value(int(k)) for one, k in zip(self.parts, parts, strict=True))

    def squared_distance(self, i: Array, j: Array) -> IntArray:
        self._refuse_without_norm()
        pairs = zip(self.parts, self.split(i), self.split(j), strict=True)
        return np.asarray(self._join_distances([one.squared_distance(a, b) for one, a, b in pairs]))

    @property
    def has_lengths(self) -> bool:
        return self.norm is not None

    def distance(self, a: object, b: object) -> float | Array:
        self._refuse_without_norm()
        return super().distance(a, b)

    def _refuse_without_norm(self) -> None:
        if self.norm is None:
            raise Unsupported(
                _NO_DISTANCE, f"Measure the parts one by one, or make the space with {arg('norm', 'l1')}."
            )

    def neighbours(self) -> tuple[Array, Array] | None:
        """Return under l1, the tuples that differ in one part, by adjacent values of it."""
        ends = [one.neighbours() for one in self.parts]
        if self.norm != "l1" or any(pairs is None for pairs in ends):
            return None
        first, second = [], []
        places = np.arange(self.size).reshape(self.shape)
        for axis, pairs in enumerate(ends):
            assert pairs is not None
            first.append(np.take(places, pairs[0], axis).ravel())
            second.append(np.take(places, pairs[1], axis).ravel())
        return np.concatenate(first), np.concatenate(second)

    def to_json(self) -> dict[str, Json]:
        plain: dict[str, Json] = {"kind": self.name, "parts": [one.to_json() for one in self.parts]}
        return plain if self.norm is None else {**plain, "norm": self.norm}

    @classmethod
    def from_json(cls, description: Description) -> ProductSpace:
        """Return the space with this description."""
        if description.get("kind") != cls.name or not isinstance(description.get("parts"), list):
            raise InvalidInput(f"not the description of a product of spaces: {description!r}.", argument="description")
        return cls(tuple(space_from(one) for one in description["parts"]), description.get("norm"))


def space_from(description: Description) -> Space:
    """Return the space with this description (the inverse of ``to_json``)."""
    if isinstance(description, Mapping) and description.get("kind") == ProductSpace.name:
        return ProductSpace.from_json(description)
    return single_space_from(description)


def _root(square: Array) -> IntArray:
    """Return the square root of a whole number, or of each in an array; refused where one is irrational."""
    roots = whole_roots(square)
    if roots is None:
        raise Unsupported(
            "l1 distances need parts with rational distances; those of a part are irrational.",
            f"Use {arg('norm', 'l2')} or {arg('norm', 'linf')}.",
        )
    return roots


def _is_column(value: object) -> bool:
    return not isinstance(value, str) and (hasattr(value, "__len__") or hasattr(value, "to_numpy"))
