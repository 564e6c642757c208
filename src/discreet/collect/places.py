"""Columns that are a place on a map; columns that hold something else are refused.

A map from a box of degrees takes a latitude and a longitude. Any other takes how far east and how far north of its
south-west corner a place is, in the unit of its cells. Latitudes and longitudes are small numbers, so on a map in
metres all of them fall into the corner, and nothing looks wrong. What is decided here follows from the names and the
types of columns alone, so that a refusal tells nothing about anybody; with one exception, :class:`Corner`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import InvalidInput
from ..exact.arrays import IntArray
from ..spaces import Grid
from ..wording import listed

_LATITUDE = {"lat", "lats", "latitude", "latitudes"}
_LONGITUDE = {"lon", "lons", "lng", "lngs", "long", "longitude", "longitudes"}
_DEGREES = {"deg", "degs", "degree", "degrees", "wgs"}
_NORTH, _EAST = {"north", "northing", "northings", "y"}, {"east", "easting", "eastings", "x"}

#: Degrees around the earth, and an upper bound on the width of a cell in degrees.
_CIRCUMFERENCE, _WIDEST_CELL = 360, 1

#: Largest distance from the corner of degrees mistaken for metres; the number of places from which this is checked; the
#: width in metres from which maps are checked.
_DEGREES_REACH, _MIN_PLACES, _MIN_WIDTH = 180, 100, 2000

_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")

#: Minimum number of decimals, and maximum number of digits before them, of a column declared for degrees.
_DECIMALS, _DIGITS = 4, 3


def coordinates(grid: Grid, columns: Sequence[str], kinds: Sequence[str]) -> tuple[str, ...]:
    """Return the columns in the order of :meth:`~discreet.spaces.Grid.locate`; refused if their names contradict it.

    A grid from a box of degrees takes a latitude and a longitude, in either order if their names tell them apart, and
    otherwise the latitude first. Other grids take east, then north.

    Parameters
    ----------
    grid
        The map.
    columns, kinds
        The column of cell numbers, or the two of a place, and DuckDB's types of them.
    """
    if grid.box is not None:
        return _in_box(columns)
    degrees = [name for name, kind in zip(columns, kinds, strict=True) if _is_degrees(name, kind, len(columns))]
    if degrees and not in_degrees(grid):
        raise _misread(grid, degrees)
    if len(columns) == 2:
        first, second = (_parts(name) for name in columns)
        if (first & _NORTH and second & _EAST) or (first & _LATITUDE and second & _LONGITUDE):
            raise InvalidInput(
                "a place is given as east, then north.", f"Type: {columns[1]} {columns[0]}", argument="column"
            )
    return tuple(columns)


@dataclass
class Corner:
    """A check whether all places of a file are in the corner of a map in metres, where degrees would put them.

    The result is known when all rows have been read, and only the holder of the file learns it: nothing is written.
    A map of a box of degrees, a small one, and a file of few places are never refused.

    Attributes
    ----------
    grid
        The map.
    count
        Number of places seen.
    all_inside
        True if all of them were in the corner.
    """

    grid: Grid
    count: int = 0
    all_inside: bool = True

    def add(self, cells: IntArray) -> None:
        """Look at the cells of some more places."""
        self.count += len(cells)
        if self.all_inside and len(cells):
            furthest = _DEGREES_REACH // self.grid.unit
            self.all_inside = bool(
                (cells // self.grid.cols).max() <= furthest and (cells % self.grid.cols).max() <= furthest
            )

    def refusal(self) -> InvalidInput | None:
        """Return the refusal if the places are degrees, else None."""
        is_wide = min(self.grid.rows, self.grid.cols) * self.grid.unit >= _MIN_WIDTH
        if self.grid.box is not None or not is_wide or not self.all_inside or self.count < _MIN_PLACES:
            return None
        return InvalidInput(
            f"all {self.count:,} places lie within {_DEGREES_REACH} metres of the map's south-west corner, where "
            "degrees would put them.",
            f"Make the map of a box of degrees: {_box(self.grid)}",
        )


def _in_box(columns: Sequence[str]) -> tuple[str, ...]:
    """Return a latitude and a longitude, in this order; a single column is of cell numbers."""
    parts = [_parts(name) for name in columns]
    if len(columns) == 1 and parts[0] & (_LATITUDE | _LONGITUDE | _DEGREES):
        raise InvalidInput(
            f"a place has a latitude and a longitude; only {columns[0]!r} was given.",
            "Give both columns.",
            argument="column",
        )
    metres = [name for name, words in zip(columns, parts, strict=True) if words & (_NORTH | _EAST)]
    if len(columns) == 2 and metres:
        raise InvalidInput(
            f"these columns look like metres: {listed([repr(name) for name in metres])}; this map takes a latitude and "
            "a longitude.",
            "Give those columns (or rename these, if they are degrees).",
            argument="column",
        )
    if len(columns) == 2 and (parts[0] & _LONGITUDE or parts[1] & _LATITUDE):
        return columns[1], columns[0]
    return tuple(columns)


def in_degrees(grid: Grid) -> bool:
    """Return whether a map may be in degrees: cells narrower than one degree, and not wider than the earth in total."""
    return grid.unit < _WIDEST_CELL and max(grid.rows, grid.cols) * grid.unit <= _CIRCUMFERENCE


def _parts(name: str) -> set[str]:
    """Return the words of a name.

    >>> sorted(_parts("homeLat_deg"))
    ['deg', 'home', 'lat']
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return set(re.findall(r"[^\W\d_]+", apart.casefold()))


def _is_degrees(name: str, kind: str, columns: int) -> bool:
    if _parts(name) & (_LATITUDE | _LONGITUDE | _DEGREES):
        return True
    decimal = _DECIMAL.fullmatch(kind)
    return (
        columns == 2
        and decimal is not None
        and int(decimal[2]) >= _DECIMALS
        and int(decimal[1]) - int(decimal[2]) <= _DIGITS
    )


def _misread(grid: Grid, degrees: Sequence[str]) -> InvalidInput:
    """Return the refusal of degrees on a map in metres."""
    names = listed([repr(name) for name in degrees])
    cell = f"{float(grid.unit):g}"
    return InvalidInput(
        f"these columns look like degrees: {names}; this map takes metres east and north of its south-west corner, in "
        f"cells of {cell} x {cell}.",
        f"Make the map of a box of degrees (or rename the columns, if they are metres):\n{_box(grid)}",
        argument="column",
    )


def _box(grid: Grid) -> str:
    """Return example code for a map of a box."""
    cell = f"{float(grid.unit):g}"
    return f"dc.Grid.from_box(south, west, north, east, cell={cell})   or   --grid SOUTH,WEST,NORTH,EASTx{cell}"
