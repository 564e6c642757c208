"""Grids: the cells of a map."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ..errors import ForeignValue, InvalidInput, InWords, WrongType, meant
from ..exact.arrays import Array, FloatArray, IntArray, as_floats
from ..exact.integers import positive_integer, read_integers, refuse_masked
from ..exact.rationals import as_fraction
from ..report import Json
from .base import LARGEST_UNIT, Description, Space, which
from .geography import Box


@dataclass(frozen=True)
class Grid(Space):
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
    length_noun: ClassVar[str] = "metre"
    apart: ClassVar[str] = "d metres (cells, by their centres)"
    measured: ClassVar[str] = ", measured between the centres of cells"
    parameters: ClassVar[tuple[str, ...]] = ("grid", "space")

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", positive_integer(self.rows, "rows"))
        object.__setattr__(self, "cols", positive_integer(self.cols, "cols"))
        if not 2 <= self.rows * self.cols <= 2**31:
            raise InvalidInput.must_be(
                "a grid", "of 2 to 2**31 cells", InWords(f"{self.rows} x {self.cols}"), argument="rows"
            )
        unit = _read_unit(self.cell)
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
        """Return the grid of square cells that covers a box of latitudes and longitudes.

        The box is made flat by the local equirectangular projection: a degree is as many metres everywhere as in the
        middle of the box (:class:`~discreet.spaces.Box`). ``grid.box.error`` is the largest relative error of a
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
        unit = _read_unit(cell)
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

    def indices(self, values: object) -> Array:
        array = read_integers(values, "cell numbers")
        if array.size and (int(array.min()) < 0 or int(array.max()) >= self.size):
            position = which((array >= self.size) | (array < 0))
            place = "x, y" if self.box is None else "latitude, longitude"
            raise ForeignValue(
                f"{position} is not a cell number in 0..{self.size - 1} (row * {self.cols} + col).",
                f"Use grid.locate({place}) to find the cell of a place.",
            )
        return array

    def locate(self, x: object, y: object) -> Any:
        """Return the cell number of a location.

        Parameters
        ----------
        x, y
            The metres east and north of the south-west corner. On a grid from a box, latitude and longitude instead.
        """
        east, north = _read_places(x, "x"), _read_places(y, "y")
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
        """Return the coordinates (x, y) of the centres of these cells; on a grid from a box, (latitude, longitude)."""
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

    @property
    def largest_squared_distance(self) -> int:
        return (self.rows - 1) ** 2 + (self.cols - 1) ** 2

    @property
    def as_grid(self) -> Grid:
        return self

    @property
    def axes(self) -> tuple[int, ...]:
        return self.rows, self.cols

    def coordinates(self) -> tuple[FloatArray, ...]:
        x, y = self.centre(np.arange(self.size))
        return x, y

    def to_json(self) -> dict[str, Json]:
        description: dict[str, Json] = {"kind": self.name, "rows": self.rows, "cols": self.cols, "cell": str(self.unit)}
        return description if self.box is None else {**description, "box": self.box.to_json()}

    @classmethod
    def from_json(cls, description: Description) -> Grid:
        """Return the grid with this description."""
        box = None if description.get("box") is None else Box.from_json(description["box"])
        return cls(description["rows"], description["cols"], as_fraction(description["cell"], "cell"), box)  # type: ignore[arg-type]


def _read_unit(cell: object) -> Fraction:
    """Read the side of a cell; distances between its multiples must be doubles."""
    unit = as_fraction(cell, meant("cell", "the side of a cell"))
    if unit <= 0:
        raise InvalidInput.must_be("cell", "positive", InWords(cell), meaning="the side of a cell")
    if not Fraction(1, LARGEST_UNIT) <= unit <= LARGEST_UNIT:
        raise InvalidInput.must_be(
            "cell", "between 1e-200 and 1e200", InWords("another number"), "Measure distances in another unit.",
            meaning="the side of a cell",
        )  # fmt: skip
    return unit


def _read_places(values: object, what: str) -> FloatArray:
    refuse_masked(values, "places")
    try:
        return as_floats(values)
    except (TypeError, ValueError):
        raise WrongType.must_be(what, "a number, or numbers", InWords(type(values).__name__)) from None


def _covering(box: Box, unit: Fraction) -> tuple[int, int]:
    """Return the numbers of rows and columns of cells that cover a box."""
    return math.ceil(box.height / float(unit)), math.ceil(box.width / float(unit))
