"""Where values live: the spaces of true and of reported values.

A space knows its values, numbers them (value <-> index), measures the distance between two of them and says which
two are *adjacent*: how far the answer to "how many?" can move when one person joins, leaves or changes.

========================  ==================  =======================  =========================
space                     values              distance                 adjacent
========================  ==================  =======================  =========================
``Counts(n)``             0, 1, ..., n        \\|x - y\\|                differ by one
``Integers(low=None)``    all integers >= low \\|x - y\\|                differ by one
``Grid(rows, cols, c)``   cell numbers        between centres, metres  not defined (use a metric)
``Labels([...])``         the labels          0 or 1                   any two
========================  ==================  =======================  =========================

Distances are kept exactly as ``unit * sqrt(k)`` with a rational ``unit`` and an integer ``k``, so that the judge can
compare them without rounding.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from .errors import ForeignValue, InvalidInput, InWords, Unsupported, WrongType, meant
from .exact.arrays import Array, BoolArray, IntArray
from .exact.integers import is_integer, positive_integer, read_integers, refuse_masked, to_numpy
from .exact.rationals import as_fraction
from .geography import Box
from .report import Json

#: Values of unbounded spaces stay within this distance of zero, so that adding noise cannot overflow 64 bits.
LARGEST_INTEGER = 2**62


@runtime_checkable
class Space(Protocol):
    """What every space answers. Indices are what kernels work with; values are what people see."""

    name: ClassVar[str]
    #: What one value is called in a sentence: "count", "cell", "label".
    noun: ClassVar[str]

    @property
    def size(self) -> int | None:
        """The number of values, or None when there is no end to them."""

    @property
    def unit(self) -> Fraction:
        """The length that one unit of ``sqrt(squared_distance)`` stands for."""

    def index(self, value: object) -> int:
        """The index of one value."""

    def indices(self, values: object) -> Array:
        """The indices of many values, as an integer array of the same shape."""

    def values(self, indices: Array) -> Array:
        """The values with these indices."""

    def value(self, index: int) -> Any:
        """The value with this index, as a plain Python object."""

    def squared_distance(self, i: Array, j: Array) -> IntArray:
        """The integer k for which the distance between indices i and j is ``unit * sqrt(k)``."""

    def distance(self, a: object, b: object) -> float | Array:
        """The distance between values, elementwise."""

    def neighbours(self) -> tuple[Array, Array] | None:
        """All adjacent pairs of indices (i, j) with i < j, or None where adjacency is not defined."""

    def to_json(self) -> dict[str, Json]:
        """The parameters, as plain JSON values."""


def _single(indices: Array, value: object) -> int:
    """The index of one value; refuses many."""
    if indices.ndim:
        raise WrongType(
            f"one value is needed here; got {type(value).__name__} with {indices.size} values.", "Give them one by one."
        )
    return int(indices)


def _first(wrong: BoolArray) -> str:
    """Which value is meant, without quoting it: a true value must not end up in a message or a log."""
    return "a value" if wrong.ndim == 0 else f"the value at position {int(np.flatnonzero(wrong.ravel())[0])}"


class _Line:
    """What counts and integers share: values are their own indices and distance is the absolute difference."""

    noun: ClassVar[str] = "count"
    unit: ClassVar[Fraction] = Fraction(1)

    def values(self, indices: Array) -> Array:
        return indices

    def value(self, index: int) -> int:
        return int(index)

    def squared_distance(self, i: Array, j: Array) -> IntArray:
        gap = np.asarray(i, np.int64) - np.asarray(j, np.int64)
        if gap.size and max(-int(gap.min()), int(gap.max())) >= 1 << 31:
            raise Unsupported(
                "values more than 2**31 apart have squared distances beyond 64 bits.", "Use distance(a, b)."
            )
        return np.asarray(gap * gap)

    def indices(self, values: object) -> Array:
        raise NotImplementedError

    def distance(self, a: object, b: object) -> float | Array:
        x, y = self.indices(a).astype(np.int64), self.indices(b).astype(np.int64)
        # values lie within 2^62 of zero, so that a difference has at most 64 bits, without a sign
        with np.errstate(over="ignore"):
            gap = (np.maximum(x, y) - np.minimum(x, y)).view(np.uint64)
        return float(gap) if gap.ndim == 0 else gap.astype(float)


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
            return _single(self.indices(value), value)
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
                raise self._foreign(_first((array > self.n) | (array < 0)))
        return array

    def _foreign(self, which: str) -> ForeignValue:
        return ForeignValue(
            f"{which} is not a count in 0..{self.n}.", "Give values in that range, or build for a larger n."
        )

    def neighbours(self) -> tuple[Array, Array]:
        lower = np.arange(self.n)
        return lower, lower + 1

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.name, "n": self.n}


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

    def index(self, value: object) -> int:
        return _single(self.indices(value), value)

    def indices(self, values: object) -> Array:
        array = read_integers(values, "counts")
        if array.size:
            low = -LARGEST_INTEGER if self.low is None else self.low
            least, largest = int(array.min()), int(array.max())
            if least < low or largest > LARGEST_INTEGER:
                which = _first((array < low) | (array > LARGEST_INTEGER))
                raise ForeignValue(
                    f"{which} is not in this space: integers from {low} to 2**62.", "Give values in that range."
                )
        return array

    def neighbours(self) -> None:
        return None

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.name, "low": self.low}


@dataclass(frozen=True)
class Grid:
    """Square cells of a map: ``rows`` by ``cols`` cells whose sides are ``cell`` long (in metres, say).

    A value is a cell number ``row * cols + col``, with row 0 the southern and column 0 the western edge. The origin of
    coordinates is the south-west corner. Distances are between centres.

    >>> grid = Grid(30, 30, cell=150.0)
    >>> grid.locate(160.0, 10.0)
    1
    >>> grid.centre(1)
    (225.0, 75.0)

    A grid :meth:`from_box` covers a box of latitudes and longitudes, and takes and gives places in degrees.
    """

    rows: int
    cols: int
    cell: float = field(default=1.0, compare=False)
    unit: Fraction = field(init=False)
    box: Box | None = None
    name: ClassVar[str] = "grid"
    noun: ClassVar[str] = "cell"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", positive_integer(self.rows, "rows"))
        object.__setattr__(self, "cols", positive_integer(self.cols, "cols"))
        if not 2 <= self.rows * self.cols <= 2**31:
            raise InvalidInput.must_be(
                "a grid", "of 2 to 2**31 cells", InWords(f"{self.rows} x {self.cols}"), argument="rows"
            )
        unit = as_fraction(self.cell, meant("cell", "the side of a cell"))
        if unit <= 0:
            raise InvalidInput.must_be("cell", "positive", InWords(self.cell), meaning="the side of a cell")
        object.__setattr__(self, "unit", unit)
        if self.box is not None and (self.rows, self.cols) != _covering(self.box, unit):
            raise InvalidInput(
                f"{self.rows} x {self.cols} cells of {float(unit):g} m do not cover this box of degrees as "
                "Grid.from_box does.",
                "Make the grid with Grid.from_box.",
                argument="rows",
            )

    @classmethod
    def from_box(cls, south: float, west: float, north: float, east: float, cell: float) -> Grid:
        """The grid of square cells that covers a box of latitudes and longitudes.

        The box is made flat by the local equirectangular projection: a degree is as many metres everywhere as in the
        middle of the box (:class:`~discreet.geography.Box`). ``grid.box.error`` is the largest relative error of a
        distance in it; boxes where that is above 1% are refused. Epsilon is per metre of the flat map: per metre on the
        ground it is larger by that share at most.

        Places go in and come out as (latitude, longitude), in degrees: ``locate(latitude, longitude)``,
        ``centre(cell)``. The last row and column may reach beyond the northern and the eastern edge.

        Parameters
        ----------
        south, west, north, east
            The edges of the box in degrees (WGS84, as GPS gives them). It must not cross the 180th meridian.
        cell
            The side of a cell in metres.

        Examples
        --------
        >>> paris = Grid.from_box(48.80, 2.25, 48.92, 2.45, cell=150)
        >>> paris.rows, paris.cols
        (89, 98)
        >>> paris.locate(48.8584, 2.2945)
        4235
        >>> [round(degree, 4) for degree in paris.centre(4235)]
        [48.8587, 2.294]
        """
        unit = as_fraction(cell, meant("cell", "the side of a cell"))
        if unit <= 0:
            raise InvalidInput.must_be("cell", "positive", InWords(cell), meaning="the side of a cell")
        box = Box(south, west, north, east)
        return cls(*_covering(box, unit), cell, box)

    def __repr__(self) -> str:
        if self.box is None:
            return f"Grid(rows={self.rows}, cols={self.cols}, cell={self.cell!r})"
        sides = ", ".join(repr(side) for side in self.box.to_json().values())
        return f"Grid.from_box({sides}, cell={self.cell!r})"

    @property
    def size(self) -> int:
        return self.rows * self.cols

    def index(self, value: object) -> int:
        return _single(self.indices(value), value)

    def indices(self, values: object) -> Array:
        array = read_integers(values, "cell numbers")
        if array.size and (int(array.min()) < 0 or int(array.max()) >= self.size):
            which = _first((array >= self.size) | (array < 0))
            place = "x, y" if self.box is None else "latitude, longitude"
            raise ForeignValue(
                f"{which} is not a cell number in 0..{self.size - 1} (row * {self.cols} + col).",
                f"Use grid.locate({place}) to find the cell of a place.",
            )
        return array

    def values(self, indices: Array) -> Array:
        return indices

    def value(self, index: int) -> int:
        return int(index)

    def locate(self, x: object, y: object) -> Any:
        """The cell number of a place.

        Parameters
        ----------
        x, y
            How far to the east and to the north of the south-west corner the place is. On a grid from a box, its
            latitude and its longitude instead.
        """
        refuse_masked(x, "places")
        refuse_masked(y, "places")
        east, north = np.asarray(x, float), np.asarray(y, float)
        if self.box is not None:
            east, north = self.box.metres(east, north)
        col, row = np.floor(east / float(self.unit)), np.floor(north / float(self.unit))
        inside = (col >= 0) & (col < self.cols) & (row >= 0) & (row < self.rows)
        if not np.all(inside):
            raise ForeignValue(
                f"a place lies outside the grid, which spans {self._span}.", "Drop or move such places first."
            )
        cells = (row * self.cols + col).astype(np.int64)
        return int(cells) if cells.ndim == 0 else cells

    @property
    def _span(self) -> str:
        if self.box is not None:
            box = self.box
            return f"latitudes {box.south:g} to {box.north:g} and longitudes {box.west:g} to {box.east:g}"
        return f"0..{self.cols * float(self.unit):g} east and 0..{self.rows * float(self.unit):g} north"

    def centre(self, cells: object) -> Any:
        """The coordinates (x, y) of the centres of these cells; on a grid from a box, (latitude, longitude)."""
        index = self.indices(cells).astype(np.int64)
        x = np.asarray((index % self.cols + 0.5) * float(self.unit), np.float64)
        y = np.asarray((index // self.cols + 0.5) * float(self.unit), np.float64)
        if self.box is not None:
            x, y = self.box.degrees(x, y)
        return (float(x), float(y)) if index.ndim == 0 else (x, y)

    def squared_distance(self, i: Array, j: Array) -> IntArray:
        i, j = np.asarray(i, np.int64), np.asarray(j, np.int64)
        rows, cols = i // self.cols - j // self.cols, i % self.cols - j % self.cols
        return np.asarray(rows * rows + cols * cols)

    def distance(self, a: object, b: object) -> float | Array:
        far = np.sqrt(self.squared_distance(self.indices(a), self.indices(b))) * float(self.unit)
        return float(far) if np.ndim(far) == 0 else np.asarray(far)

    def neighbours(self) -> None:
        return None

    def to_json(self) -> dict[str, Json]:
        plain: dict[str, Json] = {"kind": self.name, "rows": self.rows, "cols": self.cols, "cell": str(self.unit)}
        return plain if self.box is None else {**plain, "box": self.box.to_json()}


def _covering(box: Box, unit: Fraction) -> tuple[int, int]:
    """How many rows and columns of cells cover a box."""
    return math.ceil(box.height / float(unit)), math.ceil(box.width / float(unit))


@dataclass(frozen=True)
class Labels:
    """A finite set of names without order: blood groups, postcodes, answers to a question.

    >>> Labels(["a", "b", "ab", "o"]).index("ab")
    2
    """

    labels: tuple[int | str, ...]
    _position: dict[Hashable, int] = field(init=False, repr=False, compare=False)
    name: ClassVar[str] = "labels"
    noun: ClassVar[str] = "label"
    unit: ClassVar[Fraction] = Fraction(1)

    def __init__(self, labels: Iterable[Hashable]) -> None:
        if isinstance(labels, str | bytes):
            raise WrongType.must_be(
                "labels", "a list of labels", InWords(f"the text {labels!r}"), f"Write [{labels!r}, ...]."
            )
        values = tuple(labels)
        for label in values:
            if label is None or isinstance(label, float) or not isinstance(label, str | int | np.integer | np.str_):
                raise WrongType.must_be("a label", "text or an integer", label, argument="labels")
        plain = tuple(_plain_label(v) for v in values)
        position = {label: k for k, label in enumerate(plain)}
        if len(position) != len(plain):
            twice = next(v for k, v in enumerate(plain) if position[v] != k)
            raise InvalidInput(f"every label must be given once; {twice!r} is given twice.", argument="labels")
        if len(plain) < 2:
            raise InvalidInput.must_be("labels", "at least two", len(plain))
        object.__setattr__(self, "labels", plain)
        object.__setattr__(self, "_position", position)

    @property
    def size(self) -> int:
        return len(self.labels)

    def index(self, value: object) -> int:
        plain = _plain_label(value)
        try:
            number = self._position[plain]
        except (KeyError, TypeError):
            number = -1
        # 1, 1.0 and True are equal to Python, and to nobody else
        if number < 0 or type(self.labels[number]) is not type(plain):
            shown = ", ".join(repr(v) for v in self.labels[:5]) + (", ..." if self.size > 5 else "")
            raise ForeignValue(f"a value is not one of the {self.size} labels ({shown}).")
        return number

    def indices(self, values: object) -> Array:
        refuse_masked(values, "labels")
        if isinstance(values, str | int) or np.ndim(values) == 0:  # type: ignore[arg-type]
            return np.asarray(self.index(values.item() if isinstance(values, np.ndarray) else values))
        items = to_numpy(values) if hasattr(values, "to_numpy") else values
        listed = np.asarray(items, dtype=object)
        return np.fromiter((self.index(v) for v in listed.ravel()), np.int64, listed.size).reshape(listed.shape)

    def values(self, indices: Array) -> Array:
        table = np.empty(self.size, dtype=object)
        table[:] = self.labels
        return np.asarray(table[indices])

    def value(self, index: int) -> Hashable:
        return self.labels[int(index)]

    def squared_distance(self, i: Array, j: Array) -> IntArray:
        return np.asarray(np.asarray(i) != np.asarray(j)).astype(np.int64)

    def distance(self, a: object, b: object) -> float | Array:
        far = self.squared_distance(self.indices(a), self.indices(b))
        return float(far) if far.ndim == 0 else far.astype(float)

    def neighbours(self) -> tuple[Array, Array]:
        return np.triu_indices(self.size, 1)

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.name, "labels": list(self.labels)}


def _plain_label(value: Any) -> Any:
    """A label as Python's own text or integer (booleans stay what they are)."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return str(value)
    return int(value) if is_integer(value) else value


def space_from(description: dict[str, Any]) -> Counts | Integers | Grid | Labels:
    """The space with this description (the inverse of ``describe``)."""
    try:
        kind = description["kind"]
        if kind == Counts.name:
            return Counts(description["n"])
        if kind == Integers.name:
            return Integers(description["low"])
        if kind == Grid.name:
            box = None if description.get("box") is None else Box.from_json(description["box"])
            return Grid(description["rows"], description["cols"], as_fraction(description["cell"], "cell"), box)  # type: ignore[arg-type]
        if kind == Labels.name:
            return Labels(description["labels"])
    except (KeyError, TypeError) as problem:
        raise InvalidInput(
            f"not the description of a space: {description!r} ({problem}).", argument="description"
        ) from None
    raise InvalidInput(
        f"{kind!r} is not a kind of space.", "The kinds are counts, integers, grid, labels.", argument="kind"
    )
