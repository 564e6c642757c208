"""Synthetic check-ins, which replace Gowalla where its file is missing.

They are drawn from a seed, and nothing in them is taken from a real check-in: the constants below are round numbers
that were chosen by hand so that the set is about as large, as clustered and as uneven as published summaries of such
data say. People, popular places and quarters are invented.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.exact.arrays import FloatArray

from ..datasets import Checkins

#: The mean radius of the earth in metres.
EARTH = 6_371_008.8

#: How many check-ins and people there are; about seven in eight check-ins lie in the square.
CHECKINS, PEOPLE = 9_000, 1_000

#: Check-ins lie within this distance of the middle, in metres from west to east and from south to north.
REACH = 2_600.0

#: Quarters in which popular places lie, and how far places lie from their middle, in metres (standard deviation).
QUARTERS, QUARTER_SPREAD = 6, 400.0

#: Popular places; the k-th one attracts people in proportion to 1/(k + 2).
PLACES, OFFSET = 150, 2

#: Shares of check-ins at a popular place, near the person's own corner, and anywhere.
AT_PLACE, NEAR_CORNER = 0.55, 0.25

#: How far a person's check-ins lie from their own corner, in metres (standard deviation).
CORNER_SPREAD = 250.0

#: How unequal people are: the standard deviation of the logarithm of how often they check in.
INEQUALITY = 1.3

#: The check-ins in a sentence, for charts and notes.
DESCRIPTION = (
    f"{CHECKINS:,} check-ins of {PEOPLE:,} invented people: {AT_PLACE:.0%} at one of {PLACES} popular places in "
    f"{QUARTERS} quarters, {NEAR_CORNER:.0%} near the person's own corner, the rest anywhere."
)


def synthetic_checkins(rng: np.random.Generator, latitude: float, longitude: float) -> Checkins:
    """Draw the check-ins around a point.

    Parameters
    ----------
    rng
        Where random numbers come from.
    latitude, longitude
        The middle, in degrees.

    Examples
    --------
    >>> found = synthetic_checkins(np.random.default_rng(1), 48.8583, 2.3478)
    >>> len(found.user), len(set(found.user.tolist())) > 800
    (9000, True)
    """
    often = np.exp(INEQUALITY * rng.standard_normal(PEOPLE))
    user = rng.choice(PEOPLE, CHECKINS, p=often / often.sum())
    quarters = rng.uniform(-REACH / 2, REACH / 2, (QUARTERS, 2))
    places = quarters[rng.integers(QUARTERS, size=PLACES)] + QUARTER_SPREAD * rng.standard_normal((PLACES, 2))
    attraction = 1.0 / (np.arange(PLACES) + OFFSET)
    corners = rng.uniform(-REACH, REACH, (PEOPLE, 2))
    kind = rng.random((CHECKINS, 1))
    where: FloatArray = rng.uniform(-REACH, REACH, (CHECKINS, 2))
    near = corners[user] + CORNER_SPREAD * rng.standard_normal((CHECKINS, 2))
    popular = places[rng.choice(PLACES, CHECKINS, p=attraction / attraction.sum())]
    where = np.where(kind < AT_PLACE + NEAR_CORNER, near, where)
    where = np.clip(np.where(kind < AT_PLACE, popular, where), -REACH, REACH)
    lat = latitude + np.degrees(where[:, 1] / EARTH)
    lon = longitude + np.degrees(where[:, 0] / (EARTH * math.cos(math.radians(latitude))))
    return Checkins(user, lat, lon)
