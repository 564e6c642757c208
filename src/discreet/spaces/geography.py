"""Boxes of latitudes and longitudes as flat maps in metres.

A box is projected by the *local equirectangular* projection: a degree of latitude and a degree of longitude are as many
metres everywhere as they are at the latitude in the middle of the box, on the ellipsoid of GPS (WGS84). That is exact
in the middle and off by little at the edges; how much is computed (:attr:`Box.error`), and boxes where it is more than
a hundredth are refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

from ..errors import InvalidInput, InWords
from ..exact.arrays import FloatArray, as_float
from ..exact.rationals import as_fraction
from ..report import Json

#: The ellipsoid of WGS84: its equatorial radius in metres, and the square of its eccentricity.
EQUATOR, FLATTENING = 6_378_137.0, 1 / 298.257223563
ECCENTRICITY_SQUARED = FLATTENING * (2 - FLATTENING)

#: Boxes with a larger error of distances than this are refused.
LARGEST_ERROR = 0.01

#: The order in which a box is given.
ORDER = "south, west, north, east, in degrees: 48.80, 2.25, 48.92, 2.45"


def metres_per_degree(latitude: float) -> tuple[float, float]:
    """How many metres a degree of latitude and a degree of longitude are at a latitude, on the ellipsoid of WGS84.

    With s = sin(latitude): ``M = a (1 - e^2) / (1 - e^2 s^2)^(3/2)`` and ``N cos(latitude)``,
    ``N = a / sqrt(1 - e^2 s^2)``, times pi / 180.

    >>> [round(m) for m in metres_per_degree(48.86)]
    [111207, 73377]
    """
    phi = math.radians(latitude)
    shrink = 1 - ECCENTRICITY_SQUARED * math.sin(phi) ** 2
    north = EQUATOR * (1 - ECCENTRICITY_SQUARED) / shrink**1.5
    east = EQUATOR / math.sqrt(shrink) * math.cos(phi)
    return math.radians(north), math.radians(east)


@dataclass(frozen=True)
class Box:
    """The places between two latitudes and two longitudes, in degrees.

    >>> paris = Box(48.80, 2.25, 48.92, 2.45)
    >>> f"{paris.error:.2%}"
    '0.12%'
    """

    south: float
    west: float
    north: float
    east: float

    def __post_init__(self) -> None:
        for side in fields(self):
            object.__setattr__(self, side.name, as_float(as_fraction(getattr(self, side.name), side.name)))
        for name in ("south", "north"):
            self._within(name, 90, "a latitude")
        for name in ("west", "east"):
            self._within(name, 180, "a longitude")
        if not self.south < self.north:
            raise InvalidInput.must_be("south", f"below north ({self.north:g})", self.south, f"The order is {ORDER}.")
        if not self.west < self.east:
            raise InvalidInput.must_be(
                "west",
                f"less than east ({self.east:g})",
                self.west,
                f"The order is {ORDER}. A box cannot cross the 180th meridian.",
            )
        if self.error > LARGEST_ERROR:
            raise InvalidInput.must_be(
                "a box",
                f"small enough for a flat map, with distances right to {LARGEST_ERROR:.0%}",
                InWords(f"an error of {self.error:.1%} between latitudes {self.south:g} and {self.north:g}"),
                "Make it lower, or several maps of it.",
                argument="north",
            )

    def _within(self, name: str, limit: int, what: str) -> None:
        value = getattr(self, name)
        if not abs(value) <= limit:
            raise InvalidInput.must_be(name, f"{what} between -{limit} and {limit}", value, f"The order is {ORDER}.")

    @property
    def _scale(self) -> tuple[float, float]:
        """Metres for a degree of latitude and of longitude on the whole map."""
        return metres_per_degree((self.south + self.north) / 2)

    @property
    def height(self) -> float:
        """From south to north, in metres of the map."""
        return (self.north - self.south) * self._scale[0]

    @property
    def width(self) -> float:
        """From west to east, in metres of the map."""
        return (self.east - self.west) * self._scale[1]

    @property
    def error(self) -> float:
        """The largest relative error of a distance between two places of the box, against the shortest way on WGS84.

        At latitude phi a metre of the map is ``s(phi) = N(phi) cos(phi) / (N(mid) cos(mid))`` metres to the east and
        ``M(phi) / M(mid)`` to the north. The way along a line of the map is at most ``max s`` times as long as the
        line, and any way at least ``min s`` times: ::

            max(1 / min s - 1, 1 - 1 / max s)

        over all latitudes that a shortest way between two places reaches: of the box, and beyond its edge towards the
        pole, where ways bulge, ``tan(phi') = tan(phi) / cos((east - west) / 2)``.
        """
        width = self.east - self.west
        if width >= 180:
            return 1.0  # a shortest way leads over the pole
        latitudes = [self.south, self.north, _bulge(self.south, width), _bulge(self.north, width)]
        if self.south < 0 < self.north:
            latitudes.append(0.0)  # the widest degree of longitude
        north, east = self._scale
        there = [metres_per_degree(one) for one in latitudes]
        scales = [ratio for one in there for ratio in (one[0] / north, one[1] / east)]
        return max(1 / min(scales) - 1, 1 - 1 / max(scales)) if min(scales) > 0.5 else 1.0

    def metres(self, latitude: FloatArray, longitude: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How far east and how far north of the south-west corner places are, in metres of the map."""
        north, east = self._scale
        return (longitude - self.west) * east, (latitude - self.south) * north

    def degrees(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The latitude and the longitude of places so far east and north of the south-west corner."""
        north, east = self._scale
        return self.south + y / north, self.west + x / east

    def to_json(self) -> dict[str, Json]:
        """The four sides, as plain JSON values."""
        return {side.name: getattr(self, side.name) for side in fields(self)}

    @classmethod
    def from_json(cls, description: Mapping[str, float]) -> Box:
        """The box with these sides."""
        return cls(**{side.name: description[side.name] for side in fields(cls)})


def _bulge(latitude: float, width: float) -> float:
    """The latitude nearest to the pole on the shortest way between two places of one latitude and ``width`` apart."""
    return math.degrees(math.atan(math.tan(math.radians(latitude)) / math.cos(math.radians(width) / 2)))
