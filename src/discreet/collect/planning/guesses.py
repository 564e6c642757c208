"""Guesses of the truth: the distribution that a plan assumes before anybody was asked."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import InvalidInput, InWords, UnreadableFile, Unsupported
from ...estimation.statistics import Reconstruction
from ...exact.arrays import FloatArray, as_float, as_floats
from ...sources.encodings import read_text_file
from ...spaces import Grid, Labels, Space
from ...strict_json import read_json

#: The default for a map: for each centre the share of people, its place and its width, in sides of the map.
CENTRES = ((0.4, 0.3, 0.35, 0.1), (0.3, 0.7, 0.65, 0.1))

#: Maximum number of true values of a simulated survey: each has a share, a double.
MAX_VALUES = 10**7


@dataclass(frozen=True, eq=False)
class Guess:
    """An assumed distribution of the true values, and its origin in words."""

    distribution: FloatArray
    origin: str


def read_guess(guess: object, space: Space) -> Guess:
    """Read a guess from nothing, numbers, a mapping, an earlier estimate or a file.

    Parameters
    ----------
    guess
        None for the default; "uniform"; a number for each value; a mapping from values to numbers; an estimate; or the
        path of a file: .json (numbers, a mapping, or what an estimate saved) or .csv (a number on each line, or a value
        and a number). Numbers are divided by their sum.
    space
        The true values.
    """
    size = space.size or 0
    if size > MAX_VALUES:
        raise Unsupported(
            f"a survey is simulated over all true values, and {size:,} are too many.",
            f"Plan for at most {MAX_VALUES:,}.",
        )
    if guess is None and space.as_grid is not None:
        shares = _two_centres(space.as_grid)
        return Guess(shares, "40% and 30% of the people live around two centres, the others anywhere")
    if guess is None or (isinstance(guess, str) and guess == "uniform"):
        return Guess(np.full(size, 1 / size), f"all {size:,} values are equally frequent")
    if isinstance(guess, Reconstruction):
        if guess.space != space:
            raise InvalidInput(f"the estimate is for {guess.space!r}, and the plan for {space!r}.", argument="guess")
        return Guess(
            _shares(np.maximum(guess.distribution, 0), size),
            f"shares are those estimated from {guess.people:,} reports",
        )
    if isinstance(guess, str | Path):
        return Guess(_of_content(_from_file(Path(guess)), space), f"shares are those in {Path(guess).name}")
    return Guess(_of_content(guess, space), "shares are as given")


def _of_content(content: object, space: Space) -> FloatArray:
    size = space.size or 0
    if isinstance(content, Mapping):
        weights = np.zeros(size)
        for value, weight in content.items():
            weights[_index(value, space)] += _number(weight)
        return _shares(weights, size)
    try:
        numbers = as_floats(content)
    except (TypeError, ValueError):
        raise _wrong(size, InWords(type(content).__name__)) from None
    return _shares(numbers, size)


def _index(value: object, space: Space) -> int:
    """Return the number of a value; a file writes counts as text."""
    is_number = isinstance(value, str) and value.isdigit()
    as_count = is_number and (not isinstance(space, Labels) or value not in space.labels)
    return space.index(int(value) if as_count else value)  # type: ignore[call-overload]


def _number(weight: object) -> float:
    try:
        return as_float(weight)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InvalidInput.must_be("every number of the guess", "a number", weight, argument="guess") from None


def _shares(weights: FloatArray, size: int) -> FloatArray:
    if weights.shape != (size,):
        raise _wrong(size, InWords(f"shape {weights.shape}"))
    if not (np.isfinite(weights).all() and weights.min() >= 0 and weights.max() > 0):
        raise _wrong(size, InWords("negative numbers, NaN or nothing but zeros"))
    relative = weights / weights.max()  # a sum of doubles may be beyond them
    return np.asarray(relative / relative.sum())


def _wrong(size: int, content: InWords) -> InvalidInput:
    return InvalidInput.must_be("guess", f"{size:,} numbers that are not negative, one for each true value", content)


def _from_file(path: Path) -> object:
    text = read_text_file(path, "guess")
    if path.suffix.lower() == ".json":
        content = read_json(text, f"the guess in {path}", argument="guess")
        if isinstance(content, dict) and "distribution" in content:  # a saved estimate
            return [max(0.0, _number(one)) for one in content["distribution"]]
        return content
    rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if any(map(str.strip, row))]
    if len(rows) > 1 and not _is_number(rows[0][-1]):
        del rows[0]  # the headings
    if all(len(row) == 1 for row in rows):
        return [_number(row[0]) for row in rows]
    if any(len(row) != 2 for row in rows):
        raise UnreadableFile(
            f"Cannot read the guess in {path}: each line holds a number, or a value and a number.", argument="guess"
        )
    return dict(rows)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _two_centres(grid: Grid) -> FloatArray:
    """Smooth hills around two centres on an even ground."""
    cells = np.arange(grid.size)
    x, y = (cells % grid.cols + 0.5) / grid.cols, (cells // grid.cols + 0.5) / grid.rows
    p = np.full(grid.size, (1 - sum(share for share, *_ in CENTRES)) / grid.size)
    for share, east, north, width in CENTRES:
        hill = np.exp(-((x - east) ** 2 + (y - north) ** 2) / (2 * width**2))
        p += share * hill / hill.sum()
    return np.asarray(p)
