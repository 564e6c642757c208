"""The square of [A]: 4.5 km of Paris in 30 x 30 cells, and the check-ins in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.exact.arrays import FloatArray, IntArray
from discreet.spaces import Grid

from ..datasets import Checkins
from ..study import Setting
from .synthetic import EARTH, synthetic_checkins

#: 5 Boulevard de Sébastopol, in degrees.
LATITUDE, LONGITUDE = 48.8583, 2.3478

#: Names of the two sets of check-ins.
GOWALLA, SYNTHETIC = "Gowalla", "synthetic"

#: The cells of [A].
GRID = Grid(30, 30, cell=150.0)

#: How the check-ins were put on the map, which the paper does not say.
CHOICES = (
    f"The middle of the square is taken as {LATITUDE} N, {LONGITUDE} E, and degrees are as many metres everywhere as "
    f"they are there, on a sphere of radius {EARTH / 1000:,.4f} km.",
)

#: Whom the noise protects; charts and claims say it.
EVENT_LEVEL = "Each check-in is protected, not each person"
EVENTS = f"{EVENT_LEVEL}: a person who checks in ten times is protected ten times less."


@dataclass(frozen=True, eq=False)
class Square:
    """Check-ins in the square.

    Attributes
    ----------
    cells, users
        The cell and the person of each check-in, in the file's order.
    in_file
        How many check-ins the file has.
    source
        Their name: "Gowalla" or "synthetic".
    """

    cells: IntArray
    users: IntArray
    in_file: int
    source: str = GOWALLA

    @property
    def counts(self) -> IntArray:
        """How many check-ins each cell has."""
        return np.bincount(self.cells, minlength=GRID.size)

    @property
    def distribution(self) -> FloatArray:
        """Their shares."""
        return self.counts / len(self.cells)

    @property
    def by_person(self) -> IntArray:
        """How many check-ins each person has who has any."""
        return np.unique(self.users, return_counts=True)[1]


def square(setting: Setting) -> Square:
    """Return the check-ins in the square: those of Gowalla, or synthetic ones where its file is missing."""
    if setting.datasets.has("gowalla"):
        return in_square(setting.datasets.gowalla(), GOWALLA)
    return in_square(synthetic_checkins(setting.generator("synthetic check-ins"), LATITUDE, LONGITUDE), SYNTHETIC)


def in_square(checkins: Checkins, source: str) -> Square:
    """Return those of some check-ins that lie in the square."""
    half = float(GRID.unit) * GRID.rows / 2
    x = EARTH * math.cos(math.radians(LATITUDE)) * np.radians(checkins.lon - LONGITUDE)
    y = EARTH * np.radians(checkins.lat - LATITUDE)
    inside = (x >= -half) & (x < half) & (y >= -half) & (y < half)
    cells = GRID.locate(x[inside] + half, y[inside] + half)
    return Square(np.asarray(cells), checkins.user[inside], len(x), source)
