"""Search for the point where a simulated error meets the target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

#: Relative distance from the target that is close enough; simulations are not more precise.
TOLERANCE = 0.015

#: Maximum number of evaluations.
MAX_TRIES = 14

#: Maximum factor by which one step changes x.
MAX_STEP = 8.0

#: Range of the powers of x with which the error falls.
SLOPES = (-3.0, -0.1)


def find(
    error_at: Callable[[float], float], start: float, target: float, ends: tuple[float, float], slope: float
) -> float | None:
    """Return the smallest x whose error is at most the allowed one, within the precision of simulations.

    Errors are nearly powers of x, so that lines through two logarithms are good guesses; a bracket keeps them in
    bounds.

    Parameters
    ----------
    error_at
        The error, which falls with x.
    start
        The starting point.
    target
        The error to meet.
    ends
        The least and the largest x. If the error is small enough at the least, that is the answer; if it is too large
        at the largest, None is returned.
    slope
        The power of x that the error falls with, as a first guess.

    Examples
    --------
    >>> round(find(lambda x: 3 / x**0.5, 10, 0.3, (1, 1e6), -0.25))
    100
    """
    bad, good = 0.0, math.inf
    evaluations: list[tuple[float, float]] = []
    x = min(max(start, ends[0]), ends[1])
    for _ in range(MAX_TRIES):
        miss = math.log(error_at(x) / target)
        if abs(miss) <= TOLERANCE:
            return x
        if (miss > 0 and x >= ends[1]) or (miss < 0 and x <= ends[0]):
            return None if miss > 0 else x
        bad, good = (max(bad, x), good) if miss > 0 else (bad, min(good, x))
        if good <= bad * 1.005:
            return good
        evaluations.append((math.log(x), miss))
        steepness = _steepness(evaluations, slope)
        step = max(-math.log(MAX_STEP), min(math.log(MAX_STEP), -miss / steepness))
        next_x = x * math.exp(step)
        if not bad < next_x < good:
            next_x = math.sqrt(bad * good) if bad > 0 and good < math.inf else (good / 2 if bad == 0 else bad * 2)
        x = min(max(next_x, ends[0]), ends[1])
    return good if good < math.inf else None


def _steepness(evaluations: Iterable[tuple[float, float]], slope: float) -> float:
    """Return the power from the last two evaluations that are far enough apart; before that, the first guess."""
    (*earlier, (x, miss)) = evaluations
    for at, earlier_miss in reversed(earlier):
        if abs(at - x) > 0.02:
            power = (miss - earlier_miss) / (x - at)
            return max(SLOPES[0], min(SLOPES[1], power))
    return slope
