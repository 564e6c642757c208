"""Intervals around an unbiased estimate, which may leave what is possible: how they are brought back."""

from __future__ import annotations


def reaching(found: tuple[float, float] | None, possible: tuple[float, float]) -> tuple[float, float] | None:
    """An interval that holds something possible; around an unbiased estimate it may not, and would become a point."""
    return None if found is None or found[0] >= possible[1] or found[1] <= possible[0] else found


def moved(found: tuple[float, float] | None, possible: tuple[float, float]) -> tuple[float, float] | None:
    """An interval that holds nothing possible is moved to the nearest end, and is half as long there.

    The estimate is off by more than half of it then, towards the outside; that a truth further inside than half of it
    should do so is rarer still.
    """
    if found is None or (found[0] < possible[1] and found[1] > possible[0]):
        return found
    half = (found[1] - found[0]) / 2
    return (possible[0], possible[0] + half) if found[1] <= possible[0] else (possible[1] - half, possible[1])


def within(found: tuple[float, float], possible: tuple[float, float], around: float) -> tuple[float, float, str]:
    """Without what no distribution has; the maximum likelihood estimate is never left out."""
    low, high = (min(max(end, possible[0]), possible[1]) for end in found)
    return min(low, around), max(high, around), "unbiased estimate"
