"""What a survey is to find out, and how precisely: "±2 points", "mean ±0.5", "map 200 m"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from ...errors import InvalidInput, Unsupported
from ...estimation.statistics import indicator
from ...exact.arrays import FloatArray
from ...spaces import Space
from ...wording import percent, rounded

#: What may be written.
EXAMPLES = '"±2 points", "share of yes ±2 points", "share of 0..3 ±2 points", "mean ±0.5" or "map 200 m"'

_MARGIN = r"(?:±|\+/-|\+-)\s*(?P<margin>\d*\.?\d+)"
_SHARE = r"(?:(?:a |each |every )?share(?: of (?P<values>.+?))? )?"
_POINTS = re.compile(rf"{_SHARE}{_MARGIN}\s*(?:percentage )?(?:points?|pp|%)")
_MEAN = re.compile(rf"mean {_MARGIN}")
_MAP = re.compile(r"map (?P<margin>\d*\.?\d+)\s*(?P<unit>m|km|metres?|meters?)?")


#: What :meth:`discreet.Estimate.interval` takes.
Statistic: TypeAlias = "str | tuple[object, ...]"


@dataclass(frozen=True)
class Wanted:
    """A statistic and the error that is allowed.

    Attributes
    ----------
    kind
        "share", "mean" or "map".
    error
        The margin: a share between 0 and 1, a number of counts, or a distance in the unit of the map.
    text
        As it was written.
    statistic
        What :meth:`discreet.Estimate.interval` takes; None for a map, and where every single value is meant.
    """

    kind: Literal["share", "mean", "map"]
    error: float
    text: str
    statistic: Statistic | None = None

    def show(self, error: float, digits: int = 3) -> str:
        """An error in the unit of the wish."""
        if self.kind == "share":
            return f"±{rounded(100 * error, digits)} points"
        return f"{rounded(error, digits)} m" if self.kind == "map" else f"±{rounded(error, digits)}"

    def meaning(self, level: float) -> str:
        """What the error is."""
        if self.kind == "map":
            return (
                "The error is the mean Kantorovich distance between the estimated map and the population: how far "
                "people would have to be moved on average to turn one into the other."
            )
        of = {"mean": "the mean", "share": "a share"}[self.kind]
        ends = {"mean": "0 or the largest count", "share": "0% or 100%"}[self.kind]
        each = " Every value by itself meets it, also the one that is hardest to estimate." * (self.statistic is None)
        return (
            f"± is half the length of the {percent(level)} interval that the estimate reports for {of}. Where the "
            f"interval is cut off at {ends}, it is the arm that is left.{each}"
        )

    @property
    def axis(self) -> str:
        """The error as the title of an axis."""
        return {"share": "error, ± points", "mean": "error, ± counts", "map": "mean distance of the map, metres"}[
            self.kind
        ]

    def weights(self, space: Space) -> FloatArray:
        """The statistic as a sum: a number for each true value."""
        if self.kind == "mean":
            return np.arange(space.size or 0, dtype=float)
        assert isinstance(self.statistic, tuple)
        return indicator(space, self.statistic)


def read_wanted(text: object, space: Space) -> Wanted:
    """A wish as people write it.

    >>> from discreet.spaces import Counts, Labels
    >>> read_wanted("±2 points", Labels(["yes", "no"])).error
    0.02
    >>> read_wanted("share of 0..3 ±1.5 points", Counts(100)).statistic
    ('range', 0, 3)
    >>> read_wanted("mean +-0.5", Counts(100)).kind
    'mean'
    """
    if not isinstance(text, str):
        raise InvalidInput.must_be("wanted", EXAMPLES, text)
    written = " ".join(text.lower().split())
    if found := _MEAN.fullmatch(written):
        if not space.is_line:
            raise Unsupported(f"a mean is for counts, and these values are {space.noun}s.", f"Ask for {EXAMPLES}.")
        return Wanted("mean", _margin(found["margin"], text), text, "mean")
    if found := _MAP.fullmatch(written):
        if space.as_grid is None:
            raise Unsupported(f"a map needs a grid, and these values are {space.noun}s.", f"Ask for {EXAMPLES}.")
        return Wanted("map", _margin(found["margin"], text) * (1000 if found["unit"] == "km" else 1), text)
    if found := _POINTS.fullmatch(written):
        margin = _margin(found["margin"], text) / 100
        if margin >= 0.5:
            raise InvalidInput(
                f"±{rounded(100 * margin)} points allows every share from 0% to 100%.",
                "Ask for less.",
                argument="wanted",
            )
        named = _POINTS.fullmatch(" ".join(text.split()))  # labels as they are written
        values = None if found["values"] is None else (named or found)["values"]
        return Wanted("share", margin, text, None if values is None else _of(values, space))
    raise InvalidInput.must_be("wanted", EXAMPLES, text)


def _margin(number: str, text: str) -> float:
    if float(number) <= 0:
        raise InvalidInput.must_be("wanted", "an error above 0", text)
    return float(number)


def _of(values: str, space: Space) -> tuple[object, ...]:
    """One value, or a range of counts."""
    ends = re.fullmatch(r"(\d+)\s*(?:\.\.|-|to)\s*(\d+)", values)
    if ends is not None and space.is_line:
        found: tuple[object, ...] = ("range", int(ends[1]), int(ends[2]))
        indicator(space, found)
        return found
    value: object = int(values) if values.isdigit() and not _is_label(values, space) else values
    space.index(value)
    return ("cell", value)


def _is_label(value: str, space: Space) -> bool:
    return value in getattr(space, "labels", ())
