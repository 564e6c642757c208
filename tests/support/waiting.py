"""Waiting for a condition: how long it takes depends on the machine, whether it comes true does not."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: Seconds after which a wait is given up: far more than anything takes, so that a busy machine is slow and no more.
LIMIT_SECONDS = 300.0

#: Seconds between two looks at a condition.
INTERVAL_SECONDS = 0.02


def wait_for(condition: Callable[[], T], problem: Callable[[], str] = lambda: "waited too long") -> T:
    """Return the first true value of a condition; fail with the words of ``problem`` when none comes."""
    end = time.monotonic() + LIMIT_SECONDS
    while not (value := condition()):
        assert time.monotonic() < end, problem()
        time.sleep(INTERVAL_SECONDS)
    return value
