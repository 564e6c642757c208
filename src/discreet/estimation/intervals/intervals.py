"""Intervals by profile likelihood.

For a linear statistic f.p (a mean, a probability), the interval holds the values whose likelihood, maximised over all
distributions with that value, is within a chi-squared quantile of the maximum:

    { phi :  2 N (L* - max of L(p) over p with f.p = phi) <= quantile of chi-squared with three degrees of freedom }

Points of that profile come from the same solver with costs ``c_i = 1 + t (f_i - fhat)``; t > 0 lowers the statistic and
t < 0 raises it, and every value strictly between the least and the largest f is reached by some t with all costs
positive. The ends are where the deviance meets the quantile; if it never does, the least or the largest f.

The textbook has one degree of freedom, for populations without zeros. Of a population with zeros (on the border of the
simplex) the maximum takes too much of a value with a large share away, to its neighbours on either side: two degrees
more. Measured for noise that stays near the truth, from 2,000 to 2,000,000 people, the 0.95 quantile of the root of the
deviance was 2.9 at most (three degrees: 2.8; two: 2.45), and 2.0 for the mean. It does not bound noise that reports
any other value alike (randomised response: up to 3.5); there the unbiased estimate has shorter intervals that hold
(:mod:`.moments`).

The quantile can also be *calibrated*: at the end of the interval, surveys are simulated from the very distribution that
the end belongs to, the deviance of its value is computed in each, and their quantile takes the place of the
chi-squared one (with one degree) if it is larger; then the end moves, and once more. No theorem proves this
either; the documentation has a table of measured coverage.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...errors import InvalidInput
from ...exact.arrays import FloatArray
from ..interior import SolverResult
from ..model.problem import Problem
from ..solvers.likelihood import Likelihood

#: Accuracy of ends, as a share of the distance on the scale of the root of the deviance.
DEVIANCE_TOLERANCE = 5e-4

#: Share by which t stays away from where a cost would be zero.
COST_MARGIN = 1e-9

#: Maximum number of rounds that simulate surveys for a quantile of the deviance, their seed, and the accuracy of
#: their deviances.
MAX_CALIBRATIONS, SEED, SIMULATED_ACCURACY = 3, 0, 0.02

#: Degrees of freedom of the chi-squared quantile: one for the statistic, the rest for what zeros do (measured).
DEGREES = 3

#: Distance of values of log t that count as the same; solutions that differ there jump.
SAME_LOG_T = 1e-9

#: The golden section.
GOLDEN = (math.sqrt(5) - 1) / 2

#: Number of sections; they leave a fiftieth of the range, and at the bottom of a valley a square of that.
GOLDEN_SECTIONS = 8


def quantile(level: float, degrees: int) -> float:
    """Return the root of the chi-squared quantile: for 0.95, 1.96 with one degree of freedom, 2.80 with three."""
    from scipy.special import gammaincinv

    return math.sqrt(2 * float(gammaincinv(degrees / 2, level)))


class Profiled(Protocol):
    """What a profile needs: points of it, and their likelihood."""

    tolerance: float
    problem: Problem

    def mean_log(self, p: FloatArray, /) -> float:
        """Return the log-likelihood per report, up to a constant."""

    def maximise(self, costs: FloatArray | None = None, start: FloatArray | None = None) -> SolverResult:
        """Return the maximum for these costs."""


@dataclass(frozen=True)
class End:
    """An end of an interval, and the distribution that it belongs to (None where it is the least or largest f)."""

    value: float
    p: FloatArray | None = None
    #: How fast the statistic falls with t, on the way there.
    slope: float = 0.0


def ends(likelihood: Profiled, top: SolverResult, f: FloatArray, level: float, surveys: int) -> tuple[float, float]:
    """Return both ends of the profile interval of f.p, calibrated with simulated surveys (0: not at all)."""
    return tuple(calibrated(likelihood, top, f, level, side, surveys) for side in (1, -1))  # type: ignore[return-value]


def calibrated(likelihood: Profiled, top: SolverResult, f: FloatArray, level: float, side: int, surveys: int) -> float:
    """Return one end of the interval of f.p: the lower for side = 1, the upper for side = -1."""
    if side < 0:
        return -calibrated(likelihood, top, -f, level, 1, surveys)
    goal = quantile(level, 1 if surveys else DEGREES)
    limit = end(likelihood, top, f, goal)
    for _ in range(MAX_CALIBRATIONS if surveys else 0):
        if limit.p is None:
            break
        needed = critical(likelihood, limit, f, level, surveys)
        if needed <= 1.03 * goal:
            break
        goal = needed
        limit = end(likelihood, top, f, goal)
    return limit.value


def critical(likelihood: Profiled, at: End, f: FloatArray, level: float, surveys: int) -> float:
    """Return the quantile of the root of the deviance of the true value, in surveys simulated from one distribution."""
    assert at.p is not None
    problem = likelihood.problem
    rng = np.random.default_rng(SEED)
    roots = np.empty(surveys)
    for k in range(surveys):
        part = Likelihood(problem.redrawn(at.p, rng), max(likelihood.tolerance, SIMULATED_ACCURACY / problem.people))
        roots[k] = profile_root(part, part.maximum(), f, float(f @ at.p), at.slope)
    # the order statistic above the one that a value with the same law exceeds with probability 1 - level
    return float(np.sort(roots)[min(surveys - 1, math.ceil(level * (surveys + 1)))])


def profile_root(likelihood: Profiled, top: SolverResult, f: FloatArray, value: float, slope: float) -> float:
    """Return the root of the deviance at f.p = value: least over t of max_p (L(p) - log c.p), c = 1 + t (f - value).

    The dual function is convex in t, with derivative -(f - value).p / c.p; its least value is found by secants.
    """
    d, people, best = f - value, likelihood.problem.people, likelihood.mean_log(top.p)
    left, right = -(1 - COST_MARGIN) / float(d.max()), (1 - COST_MARGIN) / -float(d.min())
    begin = float(d @ top.p)  # minus the derivative; where it is 0, the dual is least
    near, far = (0.0, begin), None
    dual, t = best, begin / max(slope, 1e-300)
    for _ in range(25):
        t = min(max(t, left), right)
        c = 1 + t * d
        p = likelihood.maximise(c, top.p).p
        mass = float(c @ p)
        now, dual = float(d @ p) / mass, min(dual, likelihood.mean_log(p) - math.log(mass))
        if abs(now) <= 0.02 * abs(begin) or (t in (left, right) and now * begin > 0):
            break
        before = near
        near, far = ((t, now), far) if now * begin > 0 else (near, (t, now))
        if far is not None:
            if 2 * people * min(abs(near[1]), abs(far[1])) * abs(far[0] - near[0]) < SIMULATED_ACCURACY:
                break
            share = near[1] / (near[1] - far[1])
            t = near[0] + min(max(share, 0.1), 0.9) * (far[0] - near[0])
        else:  # further out along the line through the last two, and a little more, to be on the other side
            fallen = before[1] / near[1]  # over the last step
            t *= min(10.0, 1.2 * fallen / (fallen - 1)) if fallen > 1.01 else 10.0
    return math.sqrt(max(0.0, 2 * people * (best - dual)))


def end(likelihood: Profiled, top: SolverResult, f: FloatArray, goal: float) -> End:
    """Return the lower end of the profile interval of f.p: where the root of the deviance is ``goal``.

    The root of the deviance is close to a power of t, so that lines through their logarithms need few solutions.
    """
    centre, least = float(f @ top.p), float(f.min())
    if centre - least <= 1e-15 * max(1.0, abs(centre), float(np.abs(f).max())):
        return End(least)
    best = likelihood.mean_log(top.p)
    most = (1 - COST_MARGIN) / (centre - least)
    t = _first(likelihood, top, f, goal)
    low: tuple[float, float] | None = None  # logarithms of t and of the root of the deviance over its goal
    high: tuple[float, float] | None = None
    inside, outside = top.p, top.p
    side_before, p = 0, top.p
    for _ in range(60):
        p, root = _point(likelihood, top, f, best, t)
        if abs(root - goal) <= DEVIANCE_TOLERANCE * goal:
            break
        if root < goal and t >= most:
            return End(least)
        here = (math.log(t), math.log(max(root, 1e-8) / goal))
        now = 1 if here[1] > 0 else -1
        low, high = (low, here) if now > 0 else (here, high)
        inside, outside = (inside, p) if now > 0 else (p, outside)
        if low is not None and high is not None:
            if high[0] - low[0] <= SAME_LOG_T:
                p = _between(likelihood, best, inside, outside, goal)
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
    else:
        if low is not None and high is not None:
            p = _between(likelihood, best, inside, outside, goal)
    value = float(f @ p)
    return End(value, p, (centre - value) / t)


def _between(likelihood: Profiled, best: float, inside: FloatArray, outside: FloatArray, goal: float) -> FloatArray:
    """Return the point between two at which the root of the deviance is ``goal``.

    With few reports the solution jumps at some t: there all points between the two are solutions, and the end of the
    interval is one of them.
    """
    low, high, p = 0.0, 1.0, inside
    for _ in range(60):
        share = (low + high) / 2
        p = (1 - share) * inside + share * outside
        root = _root(likelihood, best, p)
        if abs(root - goal) <= DEVIANCE_TOLERANCE * goal:
            break
        low, high = (share, high) if root < goal else (low, share)
    return p


def _first(likelihood: Profiled, top: SolverResult, f: FloatArray, goal: float) -> float:
    """Return the t to try first: where the deviance would be the goal if people reported the truth."""
    off = f - float(f @ top.p)
    spread = math.sqrt(max(float(off**2 @ top.p), 1e-300))
    return min((1 - COST_MARGIN) / (-2 * float(off.min())), goal / (math.sqrt(likelihood.problem.people) * spread))


def _point(likelihood: Profiled, top: SolverResult, f: FloatArray, best: float, t: float) -> tuple[FloatArray, float]:
    """Return the point of the profile at t, and the root of its deviance."""
    p = likelihood.maximise(1 + t * (f - float(f @ top.p)), top.p).p
    return p, _root(likelihood, best, p)


def _root(likelihood: Profiled, best: float, p: FloatArray) -> float:
    return math.sqrt(max(0.0, 2 * likelihood.problem.people * (best - likelihood.mean_log(p))))


def rough_length(likelihood: Profiled, top: SolverResult, f: FloatArray, level: float) -> float:
    """Estimate the length of a profile interval by a point on either side (the root of the deviance is near-linear)."""
    goal, best = quantile(level, DEGREES), likelihood.mean_log(top.p)
    length = 0.0
    for g in (f, -f):
        centre, least = float(g @ top.p), float(g.min())
        if centre - least > 1e-15 * max(1.0, float(np.abs(g).max())):
            p, root = _point(likelihood, top, g, best, _first(likelihood, top, g, goal))
            length += min(centre - least, (centre - float(g @ p)) * goal / max(root, 1e-300))
    return length


def variance_ends(
    likelihood: Profiled, top: SolverResult, x: FloatArray, level: float, surveys: int
) -> tuple[float, float]:
    """Return the profile interval of the variance of x: what the variance can be where the likelihood is high enough.

    The variance is ``min_a E[(x - a)^2]``, linear in p for each a. So its least value is a minimum over p and a; and
    its largest is ``max_p min_a = min_a max_p``, because it is linear in p and convex in a. Both times the best a is
    the mean of the best p, so it lies in the interval of the mean.
    """
    goal = quantile(level, 1 if surveys else DEGREES)
    low, high = end(likelihood, top, x, goal).value, -end(likelihood, top, -x, goal).value

    def squares(a: float) -> FloatArray:
        return np.asarray((x - a) ** 2)

    lower = _least(lambda a: end(likelihood, top, squares(a), goal).value, low, high)
    upper = _least(lambda a: -end(likelihood, top, -squares(a), goal).value, low, high)
    if not surveys:
        return lower[1], upper[1]
    # the profile of the squares around the best a touches that of the variance there: calibrate it
    most = float(np.ptp(x)) ** 2 / 4  # of any distribution: half at either end
    return (
        min(lower[1], calibrated(likelihood, top, squares(lower[0]), level, 1, surveys)),
        min(most, max(upper[1], calibrated(likelihood, top, squares(upper[0]), level, -1, surveys))),
    )


def _least(function: Callable[[float], float], left: float, right: float) -> tuple[float, float]:
    """Find where a function with one valley is least, and its value there, by golden sections."""
    if right <= left:
        return left, function(left)
    a, b = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    at_a, at_b = function(a), function(b)
    for _ in range(GOLDEN_SECTIONS):
        if at_a <= at_b:
            right, b, at_b = b, a, at_a
            a = right - GOLDEN * (right - left)
            at_a = function(a)
        else:
            left, a, at_a = a, b, at_b
            b = left + GOLDEN * (right - left)
            at_b = function(b)
    return (a, at_a) if at_a <= at_b else (b, at_b)


def read_surveys(surveys: int) -> int:
    """Return the number of surveys to simulate; refuse too few to say anything about a quantile."""
    if isinstance(surveys, bool) or surveys < 0 or 0 < surveys < 19:
        raise InvalidInput.must_be("surveys", "0, or at least 19 (better 99 or more)", surveys)
    return surveys
