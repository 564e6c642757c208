"""Timing: the best of several runs, ours and theirs taken in turn so that both meet the same machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def in_turn(*functions: Callable[[], Any], rounds: int = 9) -> list[float]:
    """The best time of each function over several rounds, one call of each per round."""
    best = [float("inf")] * len(functions)
    for function in functions:
        function()  # what is built on first use is not what is measured
    for _ in range(rounds):
        for k, function in enumerate(functions):
            best[k] = min(best[k], seconds(function))
    return best


@dataclass(frozen=True)
class Line:
    """One line of the table: a ratio, and what is wanted of it."""

    what: str
    ours: str
    theirs: str
    ratio: float
    wanted: str
    holds: bool


def at_least(what: str, ours: str, theirs: str, ratio: float, wanted: float) -> Line:
    return Line(what, ours, theirs, ratio, f">= {wanted:g}", ratio >= wanted)


def at_most(what: str, ours: str, theirs: str, ratio: float, wanted: float) -> Line:
    return Line(what, ours, theirs, ratio, f"<= {wanted:g}", ratio <= wanted)
