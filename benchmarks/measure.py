"""Timing: the best of several runs, ours and theirs taken in turn so that both meet the same machine."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Scale:
    """The size of a run: the sizes that the targets are stated for, or tiny ones that show that every room works."""

    smoke: bool = False

    def pick(self, full: T, smoke: T) -> T:
        """Return the size, number of rounds or list of cases for this run."""
        return smoke if self.smoke else full


FULL, SMOKE = Scale(), Scale(smoke=True)


def seconds(function: Callable[[], Any]) -> float:
    """Return the seconds of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def in_turn(*functions: Callable[[], Any], rounds: int) -> list[float]:
    """Return the best time of each function over several rounds, one call of each per round."""
    best = [float("inf")] * len(functions)
    for function in functions:
        function()  # what is built on first use is not what is measured
    for _ in range(rounds):
        for k, function in enumerate(functions):
            best[k] = min(best[k], seconds(function))
    return best


# getrusage would count what the parent held before the process began
_REPORT = """
import json
print(json.dumps([result, 1024 * int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])]))
"""


def apart(code: str) -> tuple[Any, int]:
    """Run code in a process of its own, in this folder; return its variable ``result`` and its peak memory in bytes."""
    command, here = [sys.executable, "-c", code + _REPORT], Path(__file__).parent
    process = subprocess.run(command, capture_output=True, text=True, cwd=here)
    if process.returncode:
        raise RuntimeError(f"a process failed: {process.stderr.strip()}")
    result, peak = json.loads(process.stdout.splitlines()[-1])
    return result, peak


@dataclass(frozen=True)
class Line:
    """One line of the table: a ratio, and its target."""

    what: str
    ours: str
    theirs: str
    ratio: float
    target: str
    holds: bool


def at_least(what: str, ours: str, theirs: str, ratio: float, target: float) -> Line:
    return Line(what, ours, theirs, ratio, f">= {target:g}", ratio >= target)


def at_most(what: str, ours: str, theirs: str, ratio: float, target: float) -> Line:
    return Line(what, ours, theirs, ratio, f"<= {target:g}", ratio <= target)
