"""Intervals by profile likelihood.

For a linear statistic f.p (a mean, a probability), the interval holds the values whose likelihood, maximised over all
distributions with that value, is within a chi-squared quantile of the maximum:

    { phi :  2 N (L* - max of L(p) over p with f.p = phi) <= chi2_level }

Points of that profile come from the same solver with costs ``c_i = 1 + t (f_i - fhat)``; t > 0 lowers the statistic and
t < 0 raises it, and every value strictly between the least and the largest f is reached by some t with all costs
positive. The ends are where the deviance meets the quantile; if it never does, the least or the largest f.

There is no theorem that such an interval covers with the stated probability when the true distribution has zeros (it
lies on the border of the simplex); the documentation has a table of measured coverage.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .interior import Solution
from .likelihood import Likelihood

FloatArray = NDArray[np.float64]

#: Ends are found to this share of the distance on the scale of the root of the deviance.
CLOSE = 5e-4

#: t stays this share away from where a cost would be zero.
SHORT = 1e-9

#: The golden section.
GOLDEN = (math.sqrt(5) - 1) / 2


def quantile(level: float) -> float:
    """The root of the chi-squared quantile with one degree of freedom: 1.96 for a level of 0.95."""
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def ends(likelihood: Likelihood, top: Solution, f: FloatArray, level: float) -> tuple[float, float]:
    """Both ends of the profile interval of f.p."""
    return end(likelihood, top, f, level, 1), end(likelihood, top, f, level, -1)


def end(likelihood: Likelihood, top: Solution, f: FloatArray, level: float, side: int) -> float:
    """One end of the profile interval of f.p: the lower for side = 1, the upper for side = -1.

    The root of the deviance is close to a power of t, so that lines through their logarithms need few solutions.
    """
    if side < 0:
        return -end(likelihood, top, -f, level, 1)
    centre, least = float(f @ top.p), float(f.min())
    if centre - least <= 1e-15 * max(1.0, abs(centre), float(np.abs(f).max())):
        return least
    people, best = likelihood.problem.people, likelihood.mean_log(top.p)
    goal = quantile(level)
    most = (1 - SHORT) / (centre - least)

    def point(t: float) -> tuple[float, float]:
        """The value of the statistic at t, and the root of the deviance."""
        p = likelihood.maximise(1 + t * (f - centre), top.p).p
        return float(f @ p), math.sqrt(max(0.0, 2 * people * (best - likelihood.mean_log(p))))

    spread = math.sqrt(max(float(((f - centre) ** 2) @ top.p), 1e-300))
    t = min(most / 2, goal / (math.sqrt(people) * spread))
    low: tuple[float, float] | None = None  # logarithms of t and of the root of the deviance over its goal
    high: tuple[float, float] | None = None
    side_before, value = 0, centre
    for _ in range(60):
        value, root = point(t)
        if abs(root - goal) <= CLOSE * goal:
            break
        if root < goal and t >= most:
            return least
        here = (math.log(t), math.log(max(root, 1e-8) / goal))
        now = 1 if here[1] > 0 else -1
        low, high = (low, here) if now > 0 else (here, high)
        if low is not None and high is not None:
            if high[0] - low[0] <= 1e-12:
                break
            # a line between them; an end that stays too long counts for half (the Illinois rule)
            if side_before == now > 0:
                low = (low[0], low[1] / 2)
            elif side_before == now < 0:
                high = (high[0], high[1] / 2)
            t = math.exp(low[0] - low[1] * (high[0] - low[0]) / (high[1] - low[1]))
        else:  # the root grows with t, and more slowly the further out
            step = -here[1] * (1.6 if now > 0 else 1.2)
            t = math.exp(here[0] + min(max(step, -4.6), 4.6) + (-0.3 if now > 0 else 0.2))
        side_before, t = now, min(t, most)
    return value


def variance_ends(likelihood: Likelihood, top: Solution, x: FloatArray, level: float) -> tuple[float, float]:
    """The profile interval of the variance of x: what the variance can be where the likelihood is high enough.

    The variance is ``min_a E[(x - a)^2]``, linear in p for each a. So its least value is a minimum over p and a; and
    its largest is ``max_p min_a = min_a max_p``, because it is linear in p and convex in a.
    """
    low, high = ends(likelihood, top, x, level)

    def at(a: float, side: int) -> float:
        return end(likelihood, top, (x - a) ** 2, level, side)

    lower = _least(lambda a: at(a, 1), low, high)  # the best a is the mean of the best p, and lies in its interval
    upper = _least(lambda a: at(a, -1), low, high)
    return lower, upper


def _least(function: Callable[[float], float], left: float, right: float) -> float:
    """The least value of a function with one valley, by golden sections."""
    if right <= left:
        return function(left)
    a, b = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    at_a, at_b = function(a), function(b)
    for _ in range(12):
        if at_a <= at_b:
            right, b, at_b = b, a, at_a
            a = right - GOLDEN * (right - left)
            at_a = function(a)
        else:
            left, a, at_a = a, b, at_b
            b = left + GOLDEN * (right - left)
            at_b = function(b)
    return min(at_a, at_b)


def first_reaching(reaches: Callable[[int], bool], size: int) -> int:
    """The smallest of 0..size-1 that reaches something, if larger ones do too; the last one must."""
    low, high = 0, size - 1
    while low < high:
        middle = (low + high) // 2
        if reaches(middle):
            high = middle
        else:
            low = middle + 1
    return low
