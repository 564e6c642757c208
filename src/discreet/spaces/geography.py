"""Boxes of latitudes and longitudes as flat maps in metres.

A box is projected by the *local equirectangular* projection: a degree of latitude and a degree of longitude have the
same length everywhere, that at the middle latitude of the box, on the ellipsoid of GPS (WGS84). The projection is exact
in the middle. The error at the edges is computed (:attr:`Box.error`), and boxes with an error above 1% are refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

from ..errors import InvalidInput, InWords
from ..exact.arrays import FloatArray, as_float
from ..exact.rationals import as_fraction
from ..report import Json

#: The equatorial radius in metres of the WGS84 ellipsoid, and its flattening.
EQUATOR, FLATTENING = 6_378_137.0, 1 / 298.257223563
ECCENTRICITY_SQUARED = FLATTENING * (2 - FLATTENING)

#: Largest relative error of distances in a box that is not refused.
LARGEST_ERROR = 0.01

#: The order of the sides of a box, with an example.
ORDER = "south, west, north, east, in degrees: 48.80, 2.25, 48.92, 2.45"


def metres_per_degree(latitude: float) -> tuple[float, float]:
    """Return the metres in a degree of latitude and in one of longitude, at a latitude on the WGS84 ellipsoid.

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
    """The area between two latitudes and two longitudes, in degrees.

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
        """The metres in a degree of latitude and of longitude on the whole map."""
        return metres_per_degree((self.south + self.north) / 2)

    @property
    def height(self) -> float:
        """The metres of the map from south to north."""
        return (self.north - self.south) * self._scale[0]

    @property
    def width(self) -> float:
        """The metres of the map from west to east."""
        return (self.east - self.west) * self._scale[1]

    @property
    def error(self) -> float:
        """The largest relative error of a distance between two points of the box, against the shortest way on WGS84.


        At latitude phi a metre of the map is ``s(phi) = N(phi) cos(phi) / (N(mid) cos(mid))`` metres to the east and
        ``M(phi) / M(mid)`` to the north. The way along a line of the map is at most ``max s`` times as long as the
        line, and any way at least ``min s`` times: ::

            max(1 / min s - 1, 1 - 1 / max s)

        over all latitudes that a shortest way between two points reaches: those of the box, and beyond its edge towards
        the pole, where ways bulge, ``tan(phi') = tan(phi) / cos((east - west) / 2)``.
        """
        width = self.east - self.west
        if width >= 180:
            return 1.0  # a shortest way leads over the pole
        latitudes = [self.south, self.north, _bulge(self.south, width), _bulge(self.north, width)]
        if self.south < 0 < self.north:
            latitudes.append(0.0)  # the widest degree of longitude
        north, east = self._scale
        degrees = map(metres_per_degree, latitudes)
        scales = [ratio for up, right in degrees for ratio in (up / north, right / east)]
        return max(1 / min(scales) - 1, 1 - 1 / max(scales)) if min(scales) > 0.5 else 1.0

    def metres(self, latitude: FloatArray, longitude: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the metres of the map that locations are east and north of the south-west corner."""
        north, east = self._scale
        return (longitude - self.west) * east, (latitude - self.south) * north

    def degrees(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the latitudes and longitudes of locations x metres east and y metres north of the corner."""
        north, east = self._scale
        return self.south + y / north, self.west + x / east

    def to_json(self) -> dict[str, Json]:
        """Return the four sides, as plain JSON values."""
        return {side.name: getattr(self, side.name) for side in fields(self)}

    @classmethod
    def from_json(cls, description: Mapping[str, float]) -> Box:
        """Return the box with these sides."""
        return cls(**{side.name: description[side.name] for side in fields(cls)})


def _bulge(latitude: float, width: float) -> float:
    """Return the latitude nearest to the pole on the shortest way between points ``width`` apart on one latitude."""
    return math.degrees(math.atan(math.tan(math.radians(latitude)) / math.cos(math.radians(width) / 2)))
