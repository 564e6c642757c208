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
CLOSE = 1e-4

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

    The root of the deviance is close to linear in t, so that a secant with a bracket needs few solutions.
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
    low, high = (0.0, -goal, centre), (most, math.inf, least)  # t, root of the deviance minus goal, value
    tried_most = False
    for _ in range(60):
        value, root = point(t)
        off = root - goal
        if abs(off) <= CLOSE * goal:
            return value
        if off < 0:
            if tried_most:
                return least
            slope = (off - low[1]) / (t - low[0])
            low = (t, off, value)
        else:
            slope = (off - low[1]) / (t - low[0])
            high = (t, off, value)
        if high[0] - low[0] <= 1e-12 * high[0]:
            break
        t = low[0] - low[1] / slope if slope > 0 else (low[0] + high[0]) / 2
        if math.isinf(high[1]):
            tried_most = t >= most
            t = min(max(t, 1.2 * low[0]), most)
        else:
            margin = 0.02 * (high[0] - low[0])
            t = min(max(t, low[0] + margin), high[0] - margin)
    return high[2]


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
