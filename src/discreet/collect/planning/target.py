"""The target error of a survey: "±2 points", "mean ±0.5", "map 200 m"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from ...errors import InvalidInput, Unsupported, warn_renamed
from ...estimation.statistics import indicator
from ...exact.arrays import FloatArray
from ...spaces import Space
from ...wording import percent, rounded

#: Examples of target errors, for messages.
EXAMPLES = '"±2 points", "share of yes ±2 points", "share of 0..3 ±2 points", "mean ±0.5" or "map 200 m"'

_MARGIN = r"(?:±|\+/-|\+-)\s*(?P<margin>\d*\.?\d+)"
_SHARE = r"(?:(?:a |each |every )?share(?: of (?P<values>.+?))? )?"
_POINTS = re.compile(rf"{_SHARE}{_MARGIN}\s*(?:percentage )?(?:points?|pp|%)")
_MEAN = re.compile(rf"mean {_MARGIN}")
_MAP = re.compile(r"map (?P<margin>\d*\.?\d+)\s*(?P<unit>m|km|metres?|meters?)?")


#: A statistic as :meth:`discreet.Estimate.interval` takes it.
Statistic: TypeAlias = "str | tuple[object, ...]"


@dataclass(frozen=True)
class TargetError:
    """A statistic and the error that is allowed.

    Attributes
    ----------
    kind
        "share", "mean" or "map".
    error
        The margin: a share between 0 and 1, a number of counts, or a distance in the unit of the map.
    text
        The text as typed.
    statistic
        The statistic for :meth:`discreet.Estimate.interval`; None for a map, and if the target is every value.
    """

    kind: Literal["share", "mean", "map"]
    error: float
    text: str
    statistic: Statistic | None = None

    def show(self, error: float, digits: int = 3) -> str:
        """Return an error in the unit of the target."""
        if self.kind == "share":
            return f"±{rounded(100 * error, digits)} points"
        return f"{rounded(error, digits)} m" if self.kind == "map" else f"±{rounded(error, digits)}"

    def meaning(self, level: float) -> str:
        """Return an explanation of the error."""
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
        """Return the statistic as a sum: a number for each true value."""
        if self.kind == "mean":
            return np.arange(space.size or 0, dtype=float)
        assert isinstance(self.statistic, tuple)
        return indicator(space, self.statistic)


def current_target(target_error: str | None, former: str | None) -> str | None:
    """Return the target error; accept its former name ``wanted`` with a warning."""
    if former is None:
        return target_error
    warn_renamed("wanted", "target_error", stacklevel=4)
    return former if target_error is None else target_error


def read_target(text: object, space: Space, argument: str = "target_error") -> TargetError:
    """Read a target error as people write it; ``argument`` is its name in errors.

    >>> from discreet.spaces import Counts, Labels
    >>> read_target("±2 points", Labels(["yes", "no"])).error
    0.02
    >>> read_target("share of 0..3 ±1.5 points", Counts(100)).statistic
    ('range', 0, 3)
    >>> read_target("mean +-0.5", Counts(100)).kind
    'mean'
    """
    if not isinstance(text, str):
        raise InvalidInput.must_be(argument, EXAMPLES, text)
    phrase = " ".join(text.lower().split())
    if match := _MEAN.fullmatch(phrase):
        if not space.is_line:
            raise Unsupported(f"a mean is for counts, and these values are {space.noun}s.", f"Ask for {EXAMPLES}.")
        return TargetError("mean", _margin(match["margin"], text, argument), text, "mean")
    if match := _MAP.fullmatch(phrase):
        if space.as_grid is None:
            raise Unsupported(f"a map needs a grid, and these values are {space.noun}s.", f"Ask for {EXAMPLES}.")
        metres = 1000 if match["unit"] == "km" else 1
        return TargetError("map", _margin(match["margin"], text, argument) * metres, text)
    if match := _POINTS.fullmatch(phrase):
        margin = _margin(match["margin"], text, argument) / 100
        if margin >= 0.5:
            raise InvalidInput(
                f"±{rounded(100 * margin)} points allows every share from 0% to 100%.",
                "Ask for less.",
                argument=argument,
            )
        as_typed = _POINTS.fullmatch(" ".join(text.split()))  # labels in their own case
        values = None if match["values"] is None else (as_typed or match)["values"]
        return TargetError("share", margin, text, None if values is None else _of(values, space))
    raise InvalidInput.must_be(argument, EXAMPLES, text)


def _margin(number: str, text: str, argument: str) -> float:
    if float(number) <= 0:
        raise InvalidInput.must_be(argument, "an error above 0", text)
    return float(number)


def _of(values: str, space: Space) -> tuple[object, ...]:
    """Read one value, or a range of counts."""
    ends = re.fullmatch(r"(\d+)\s*(?:\.\.|-|to)\s*(\d+)", values)
    if ends is not None and space.is_line:
        statistic: tuple[object, ...] = ("range", int(ends[1]), int(ends[2]))
        indicator(space, statistic)
        return statistic
    value: object = int(values) if values.isdigit() and not _is_label(values, space) else values
    space.index(value)
    return ("cell", value)


def _is_label(value: str, space: Space) -> bool:
    return value in getattr(space, "labels", ())
