"""Intervals around an unbiased estimate, which may leave what is possible: how they are brought back."""

from __future__ import annotations


def reaching(interval: tuple[float, float] | None, possible: tuple[float, float]) -> tuple[float, float] | None:
    """Return the interval if it holds something possible; around an unbiased estimate it may not."""
    return None if interval is None or interval[0] >= possible[1] or interval[1] <= possible[0] else interval


def moved(interval: tuple[float, float] | None, possible: tuple[float, float]) -> tuple[float, float] | None:
    """Move an interval that holds nothing possible to the nearest end, where it is half as long.

    The estimate is off by more than half of it then, towards the outside; that a truth further inside than half of it
    should do so is rarer still.
    """
    if interval is None or (interval[0] < possible[1] and interval[1] > possible[0]):
        return interval
    half = (interval[1] - interval[0]) / 2
    return (possible[0], possible[0] + half) if interval[1] <= possible[0] else (possible[1] - half, possible[1])


def within(interval: tuple[float, float], possible: tuple[float, float], around: float) -> tuple[float, float, str]:
    """Leave out what no distribution has; the maximum likelihood estimate always stays inside."""
    low, high = (min(max(end, possible[0]), possible[1]) for end in interval)
    return min(low, around), max(high, around), "unbiased estimate"
