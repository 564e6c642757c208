"""Metric spaces: named values with any distance between two of them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import InvalidInput, InWords, Unsupported, WrongType
from ..exact.arrays import Array, FloatArray, IntArray
from ..exact.rationals import as_fraction
from ..report import Json
from .base import Description, Space
from .labels import Labels

#: Maximum number of values whose distances are all kept (a matrix of 200 MB).
MAX_VALUES = 5000

#: Maximum number of values of a matrix of distances, each of which is compared with every way over a third value.
MAX_MATRIX = 1600

#: Distances are at most this many units, so that their squares have 64 bits.
MAX_STEPS = 2**31 - 1

#: Rounded distances have at least this many units between the two values that are furthest apart.
_LEAST_ROUNDED_STEPS = 2**27

#: Largest relative excess of a distance over a way round it: distances given as floats are rounded.
_TRIANGLE_TOLERANCE = 1e-6


class MetricSpace(Labels):
    """Named values with a distance between any two of them.

    Distances are read once and kept as whole multiples of a rational unit. Numbers whose common denominator would be
    too large, such as most floats, are rounded down to a multiple of a decimal unit, less than 1e-8 of the largest
    distance: a guarantee for a smaller distance holds for the larger one.

    Parameters
    ----------
    labels
        The values: texts or integers.
    distance
        A symmetric matrix, or a function of two labels. Numbers, Fractions or texts such as "1/3"; zero on the diagonal
        and positive elsewhere; no distance is longer than a way over a third value.
    edges
        Pairs of labels whose distances generate all others as shortest paths, if they are known. They are checked.

    Examples
    --------
    >>> space = MetricSpace(["home", "work", "gym"], distance=[[0, 2, 3], [2, 0, "3/2"], [3, "3/2", 0]])
    >>> space.distance("work", "gym"), space.unit, space.diameter
    (1.5, Fraction(1, 2), Fraction(3, 1))
    """

    name: ClassVar[str] = "metric"
    noun: ClassVar[str] = "value"
    _squares: IntArray
    _edges: tuple[IntArray, IntArray] | None

    def __init__(
        self, labels: Iterable[Hashable], distance: object, *, edges: Iterable[tuple[Hashable, Hashable]] | None = None
    ) -> None:
        super().__init__(labels)
        refuse_many(self.size, MAX_MATRIX)
        if callable(distance):
            distance = [[distance(a, b) for b in self.labels] for a in self.labels]
        steps, unit = _read_distances(distance, self.size)
        self._keep(steps * steps, unit, None if edges is None else self._read_edges(edges))
        if self._edges is not None and (pair := not_generated(self.steps, *self._edges)) is not None:
            a, b = (self.value(k) for k in pair)
            raise InvalidInput(
                f"the edges do not generate the distance: no path between {a!r} and {b!r} is that short.",
                "Add an edge, or leave the edges out.",
                argument="edges",
            )

    @classmethod
    def from_points(cls, points: Mapping[Hashable, Iterable[object]]) -> MetricSpace:
        """Return the values at these points, with the straight-line distance between two of them, exactly.

        Parameters
        ----------
        points
            For each label its coordinates: numbers, Fractions or texts.

        Examples
        --------
        >>> MetricSpace.from_points({"a": (0, 0), "b": (3, 4), "c": (1, 1)}).distance("a", "b")
        5.0
        """
        if not isinstance(points, Mapping):
            raise WrongType.must_be(
                "points", "a mapping from labels to coordinates", InWords(type(points).__name__),
                "Write {'a': (0, 0), 'b': (3, 4)}.",
            )  # fmt: skip
        space = cls.__new__(cls)
        Labels.__init__(space, list(points))
        refuse_many(space.size)
        places = [[as_fraction(x, "a coordinate") for x in place] for place in points.values()]
        if len({len(place) for place in places}) != 1:
            raise InvalidInput("every point needs the same number of coordinates.", argument="points")
        unit = common_unit(x for place in places for x in place) or Fraction(1)
        whole = [[int(x / unit) for x in place] for place in places]
        largest = max(sum((max(axis) - min(axis)) ** 2 for axis in zip(*whole, strict=True)), 1)
        if largest >= 2**62 or max(abs(x) for place in whole for x in place) >= 2**62:
            raise InvalidInput(
                "the coordinates have too many digits for exact distances.", "Round them.", argument="points"
            )
        array = np.array(whole, np.int64)
        squares = sum((axis[:, None] - axis[None, :]) ** 2 for axis in array.T)
        space._keep(np.asarray(squares), unit, None)
        _refuse_twins(space)
        return space

    def _keep(self, squares: IntArray, unit: Fraction, edges: tuple[IntArray, IntArray] | None) -> None:
        """Freeze the squared distances, in squared units, and the edges."""
        kept = np.array(squares, np.int64)
        kept.flags.writeable = False
        object.__setattr__(self, "_squares", kept)
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "_edges", edges)

    def _read_edges(self, edges: Iterable[object]) -> tuple[IntArray, IntArray]:
        pairs = set()
        for edge in edges:
            if not isinstance(edge, tuple | list) or len(edge) != 2:
                raise WrongType.must_be("an edge", "a pair of labels", InWords(repr(edge)), argument="edges")
            first, second = sorted((self.index(edge[0]), self.index(edge[1])))
            if first != second:
                pairs.add((first, second))
        if not pairs:
            raise InvalidInput.must_be("edges", "one or more pairs of different labels", InWords("none"))
        ends = np.array(sorted(pairs), np.int64).T
        return ends[0], ends[1]

    # ---------------------------------------------------------------- distances

    def squared_distance(self, i: Array, j: Array) -> IntArray:
        return np.asarray(self._squares[np.asarray(i), np.asarray(j)])

    @cached_property
    def steps(self) -> IntArray | None:
        """All distances as whole multiples of the unit; None where some are irrational."""
        return whole_roots(self._squares)

    @property
    def has_lengths(self) -> bool:
        return True

    @property
    def largest_squared_distance(self) -> int:
        return int(self._squares.max())

    def neighbours(self) -> tuple[Array, Array] | None:  # type: ignore[override]
        return self._edges

    def neighbour_mean(self, p: FloatArray) -> FloatArray | None:
        ends = self.neighbours()
        if ends is None:
            return None
        total, number = np.zeros(self.size), np.zeros(self.size)
        for here, there in (ends, ends[::-1]):
            np.add.at(total, here, p[there])
            np.add.at(number, here, 1.0)
        return np.where(number > 0, total / np.maximum(number, 1), p)

    def transport_cost(self, surplus: FloatArray) -> float | None:  # type: ignore[override]
        return None  # the formula of labels does not hold

    # ---------------------------------------------------------------- words and files

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.labels, self.unit, self._squares.tobytes()))

    def _identity(self) -> tuple[object, ...]:
        edges = None if self._edges is None else tuple(end.tobytes() for end in self._edges)
        return self.labels, self.unit, self._squares.tobytes(), edges

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size} values)"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).from_json, (self.to_json(),)

    def to_json(self) -> dict[str, Json]:
        content: dict[str, Json] = {"kind": self.name, "labels": list(self.labels), "unit": str(self.unit)}
        steps = self.steps
        kept = self._squares if steps is None else steps
        content["squares" if steps is None else "steps"] = [kept[i, :i].tolist() for i in range(1, self.size)]
        if self._edges is not None:
            content["edges"] = np.stack(self._edges, axis=1).tolist()
        return content

    @classmethod
    def from_json(cls, description: Description) -> Self:
        """Return the space with this description."""
        if "distance" in description:  # as people write it
            return cls(description["labels"], description["distance"], edges=description.get("edges"))
        space = cls.__new__(cls)
        Labels.__init__(space, description["labels"])
        refuse_many(space.size)
        unit = as_fraction(description["unit"], "unit")
        if unit <= 0:
            raise InvalidInput.must_be("unit", "positive", unit)
        root = "steps" in description
        rows = description["steps" if root else "squares"]
        largest = MAX_STEPS if root else 2**62
        full = np.zeros((space.size, space.size), np.int64)
        if len(rows) != space.size - 1:
            raise InvalidInput(
                "a metric space needs a row of distances for each value after the first.", argument="description"
            )
        for i, row in enumerate(rows, 1):
            if len(row) != i or any(type(k) is not int or not 0 < k <= largest for k in row):
                raise InvalidInput(
                    f"row {i} of the distances must hold {i} positive whole numbers.", argument="description"
                )
            full[i, :i] = row
        full += full.T
        edges = description.get("edges")
        labels = space.labels
        read = None if edges is None else space._read_edges([(labels[i], labels[j]) for i, j in edges])
        space._keep(full * full if root else full, unit, read)
        if space.size <= MAX_MATRIX:
            _refuse_detours(np.sqrt(space._squares.astype(float)), space)
        return space


def refuse_many(size: int, most: int = MAX_VALUES) -> None:
    """Refuse a space whose distances would fill the memory, or take minutes to check."""
    if size > most:
        raise Unsupported(
            f"the distances between {size:,} values are too many to check and keep.", f"Use at most {most:,} values."
        )


def common_unit(lengths: Iterable[Fraction]) -> Fraction:
    """Return the largest rational of which all lengths are whole multiples; 0 if all are 0.

    >>> common_unit([Fraction(3, 2), Fraction(1, 3)])
    Fraction(1, 6)
    """
    distinct = {length for length in lengths if length}
    denominator = math.lcm(*(length.denominator for length in distinct))
    whole = (int(length * denominator) for length in distinct)
    return Fraction(reduce(math.gcd, whole, 0), denominator)


def whole_roots(squares: IntArray) -> IntArray | None:
    """Return the square roots where all of them are whole numbers; None otherwise."""
    roots: IntArray = np.rint(np.sqrt(squares.astype(float))).astype(np.int64)
    return roots if np.array_equal(roots * roots, squares) else None


def not_generated(steps: IntArray | None, first: IntArray, second: IntArray) -> tuple[int, int] | None:
    """Return a pair whose distance no path along these edges has; None if they generate every distance."""
    if steps is None:
        return int(first[0]), int(second[0])
    reached = np.eye(len(steps), dtype=bool)
    for here, there in zip(np.r_[first, second].tolist(), np.r_[second, first].tolist(), strict=True):
        reached[here] |= steps[here, there] + steps[there] == steps[here]
    if reached.all():
        return None
    i, j = np.argwhere(~reached)[0]
    return int(i), int(j)


def _read_distances(distance: Any, size: int) -> tuple[IntArray, Fraction]:
    """Return the distances as whole multiples of a unit, and the unit."""
    values = distance.to_numpy() if hasattr(distance, "to_numpy") else distance
    if isinstance(values, np.ma.MaskedArray):
        raise WrongType("a matrix of distances must not be masked.", "Fill in the missing distances.")
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidInput("a matrix of distances needs rows of one length.", argument="distance") from None
    if array.shape != (size, size):
        raise InvalidInput.must_be(
            "distance", f"a matrix with {size} rows and columns, one for each value", InWords(f"shape {array.shape}")
        )
    if array.dtype.kind not in "iufOUS":
        raise WrongType.must_be("distance", "a matrix of numbers", InWords(f"{array.dtype} values"))
    fraction: dict[object, Fraction] = {}
    codes = np.empty(array.shape, np.int64)
    number: dict[Fraction, int] = {}
    for place, value in enumerate(array.ravel().tolist()):
        if value not in fraction:
            fraction[value] = as_fraction(value, "a distance")
        codes.flat[place] = number.setdefault(fraction[value], len(number))
    _refuse_odd(array, codes, list(number))
    steps, unit = _whole_steps(list(number))
    matrix = np.array(steps, np.int64)[codes]
    _refuse_detours(matrix.astype(float))
    return matrix, unit


def _refuse_odd(array: Array, codes: IntArray, lengths: list[Fraction]) -> None:
    """Refuse numbers that cannot be distances: not symmetric, not zero on the diagonal, not positive elsewhere."""
    if not np.array_equal(codes, codes.T):
        i, j = np.argwhere(codes != codes.T)[0]
        raise InvalidInput(
            f"distances must be symmetric; row {i}, column {j} is {array[i, j]}, the other way it is {array[j, i]}.",
            argument="distance",
        )
    positive = np.array([length > 0 for length in lengths])[codes]
    zero = np.array([length == 0 for length in lengths])[codes]
    odd = ~positive
    np.fill_diagonal(odd, ~np.diag(zero))
    if odd.any():
        i, j = np.argwhere(odd)[0]
        allowed = "0 from a value to itself" if i == j else "positive between two values"
        raise InvalidInput(
            f"distances must be {allowed}; row {i}, column {j} is {array[i, j]}.",
            "" if i == j else "Make one value of two that nobody needs to distinguish.",
            argument="distance",
        )


def _whole_steps(lengths: list[Fraction]) -> tuple[list[int], Fraction]:
    """Return the lengths as multiples of a unit: exactly where the numbers stay small, else rounded down."""
    unit, largest = common_unit(lengths), max(lengths)
    if largest / unit > MAX_STEPS:
        decimals = math.floor(math.log10(float(largest) / _LEAST_ROUNDED_STEPS))
        unit = Fraction(10) ** decimals
    steps = [math.floor(length / unit) for length in lengths]
    if any(length and not step for length, step in zip(lengths, steps, strict=True)):
        raise InvalidInput(
            "the smallest distance is less than 1e-8 of the largest one.", "Give distances that are closer in size."
        )
    return steps, unit


def _refuse_detours(far: FloatArray, space: Space | None = None) -> None:
    """Refuse distances that are longer than a way over a third value."""
    for k in range(len(far)):
        excess = far - (far[:, k, None] + far[None, k, :]) * (1 + _TRIANGLE_TOLERANCE)
        if excess.max() > 0:
            i, j = np.unravel_index(int(excess.argmax()), far.shape)
            a, b, c = (k if space is None else space.value(k) for k in (int(i), k, int(j)))
            raise InvalidInput(
                f"the distance from value {a} to value {c} is longer than the way over value {b}.",
                "Use dc.Graph for the lengths of paths, or correct it.",
                argument="distance",
            )


def _refuse_twins(space: MetricSpace) -> None:
    twins = np.argwhere(np.triu(space._squares == 0, 1))
    if len(twins):
        a, b = (space.value(k) for k in twins[0].tolist())
        raise InvalidInput(f"{a!r} and {b!r} are the same point.", "Make one value of them.", argument="points")
