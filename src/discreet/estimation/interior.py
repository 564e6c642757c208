"""The maximum of the likelihood by a primal-dual interior point method.

Given the shares q of the observed reports and A, the probability of each of them for each truth, the method solves

    maximise  sum_j q_j log u_j - c.p   over  p >= 0,  u = p A

with costs c > 0. With c = 1 the solution adds up to 1 and is the maximum likelihood estimate; other costs trace the
profile likelihood of a statistic (:mod:`.intervals`). The optimality conditions are

    u = p A,   A nu + z = c,   u nu = q,   p z = 0,   p, z, nu >= 0,

and nu is kept as a variable of its own: Newton's method on -log u alone fails in one of ten random problems. Steps are
Mehrotra's predictor and corrector (Mehrotra 1992). What the method believes of itself is not used: it stops when the
*gap* is small, and the gap bounds what is missing from the maximum whatever p is (:func:`gap_of`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..exact.arrays import FloatArray, IntArray
from .algebra import NumericalFailure

#: Longest step, as a share of the way to the border.
MAX_STEP_SHARE = 0.995

#: Maximum number of steps, far more than any problem needs; the tests hold the method to 30.
MAX_ITERATIONS = 100

#: Number of updates to begin with (they cost as much as one step or two, and save four), and share of the uniform
#: distribution that is mixed into their result: far less of it would be too near the border, where steps are short.
UPDATES, SHARE_OF_UNIFORM, TRACE_OF_UNIFORM = 28, 1e-2, 1e-9

#: Addition to the diagonal of a system that is singular to doubles, as a share of the largest weight.
RIDGE = 1e-13

#: Number of steps without a lower gap after which a method has reached what doubles can resolve.
MAX_IDLE_STEPS = 12


class Products(Protocol):
    """The inputs of every method: the shares of the observed reports, and the products with A."""

    #: The number of truths.
    size: int
    #: The shares of the reports; none is negative, and they add up to 1.
    q: FloatArray

    def forward(self, p: FloatArray, /) -> FloatArray:
        """Return p A: how likely each report is (up to a factor of its own that stays the same)."""

    def backward(self, v: FloatArray, /) -> FloatArray:
        """Return A v: for each truth, the mean of v over its reports."""


class NewtonModel(Products, Protocol):
    """The inputs of the interior point method: products, and the linear systems of its steps."""

    #: Where q is positive; elsewhere nu stays 0.
    seen: IntArray | slice

    def newton(self, weights: FloatArray, slacks: FloatArray) -> Newton:
        """Solve (A diag(weights) A' + diag(slacks)) dp = b: a function from b to dp and dp A."""


Newton = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class SolverResult:
    """A distribution, the gap that certifies it, and how it was reached: a gap and a log-likelihood per iteration."""

    p: FloatArray
    gap: float
    trace: tuple[tuple[float, float], ...]

    @property
    def iterations(self) -> int:
        return len(self.trace) - 1


def tolerance_for(people: int) -> float:
    """Return the gap to stop at: a thousandth of a unit of log-likelihood in all, but at least what doubles resolve."""
    return float(np.clip(1e-3 / people, 1e-12, 1e-8))


def gap_of(model: Products, p: FloatArray, u: FloatArray | None = None) -> float:
    """Return how much log-likelihood per report is missing at most: log max_i g_i with g = A (q / u), u = p A.

    By Jensen's inequality, for any other distribution r, ``sum_j q_j log((r A)_j / u_j) <= log sum_i r_i g_i``, and
    that is at most ``log max_i g_i``. It costs one product, and nobody needs to trust the solver.
    """
    u = model.forward(p) if u is None else u
    return max(0.0, math.log(float(model.backward(model.q / u).max()) * float(p.sum())))


def solve(model: NewtonModel, tolerance: float, costs: FloatArray | None = None) -> SolverResult:
    """Maximise the likelihood to a gap of at most ``tolerance``, or as far as doubles go.

    Parameters
    ----------
    model
        The reports and the mechanism.
    tolerance
        The gap to stop at.
    costs
        c, one positive number for each truth; 1 if not given. The answer is divided by its sum.
    """
    n, q = model.size, model.q
    c = np.ones(n) if costs is None else costs
    p = _beginning(model, c)
    u = model.forward(p)
    nu = q / u
    scale = 1.1 * float((model.backward(nu) / c).max())
    p, u, nu = p * scale, u * scale, nu / scale
    z = c - model.backward(nu)
    best, least, idle = p, math.inf, 0
    trace: list[tuple[float, float]] = []
    for _ in range(MAX_ITERATIONS):
        mass = float(c @ p)
        g = model.backward(q / u)
        gap = max(0.0, math.log(float((g / c).max()) * mass))
        trace.append((float(q @ np.log(u)) - math.log(mass), gap))
        idle = 0 if gap < least else idle + 1
        if gap < least:
            best, least = p, gap
        if least <= tolerance or idle > MAX_IDLE_STEPS:
            break
        try:
            step = _step(model, g - c, p, u, nu, z)
        except NumericalFailure:
            break
        if step is None:
            break
        p, nu, z = step
        u = model.forward(p)
    return SolverResult(best / best.sum(), least, tuple(trace))


def _beginning(model: Products, c: FloatArray) -> FloatArray:
    """Make some updates from the uniform distribution and mix in a little of it; this costs less than it saves."""
    n, q = model.size, model.q
    p = np.full(n, 1 / n)
    for _ in range(UPDATES):
        g = model.backward(q / model.forward(p))
        g *= p
        g /= c
        g += TRACE_OF_UNIFORM / n  # no zeros: u divides
        p = g
    return p + SHARE_OF_UNIFORM / n


def _step(
    model: NewtonModel, slope: FloatArray, p: FloatArray, u: FloatArray, nu: FloatArray, z: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Make one predictor and corrector; None where its numbers are not finite.

    ``slope`` is A (q / u) - c. Nothing else of the conditions' errors is left on the right hand side once nu and z are
    eliminated: what A nu + z = c misses now, and what u nu = q does, enter with opposite signs.
    """
    q, seen = model.q, model.seen
    weights, slacks = nu / u, z / p
    mu = float(p @ z) / model.size
    error = q / u - nu
    newton = _system(model, weights, slacks)
    dp, du = newton(slope)
    dz = -z - slacks * dp
    dnu = error - weights * du
    ahead, dual = _reach(p, dp), min(_reach(z, dz), _reach(nu[seen], dnu[seen]))
    sigma = min(1.0, float((p + ahead * dp) @ (z + dual * dz)) / model.size / mu) ** 3
    push = (sigma * mu - dp * dz) / p
    bend = du * dnu / u
    dp, du = newton(slope + push - model.backward(bend))
    dz = push - z - slacks * dp
    dnu = error - bend - weights * du
    if not math.isfinite(dp.sum() + dnu.sum()):
        return None
    ahead = min(1.0, MAX_STEP_SHARE * _reach(p, dp))
    dual = min(1.0, MAX_STEP_SHARE * min(_reach(z, dz), _reach(nu[seen], dnu[seen])))
    return p + ahead * dp, nu + dual * dnu, z + dual * dz


def _system(model: NewtonModel, weights: FloatArray, slacks: FloatArray) -> Newton:
    """Return the linear system of a step, with a ridge where reports cannot tell some truths apart."""
    try:
        return model.newton(weights, slacks)
    except NumericalFailure:
        return model.newton(weights, slacks + RIDGE * float(weights.max()))


def _reach(x: FloatArray, dx: FloatArray) -> float:
    """Return the largest step at which x + step dx has no negative entry (at most 1e6)."""
    worst = float((dx / x).min())
    return 1e6 if worst >= -1e-6 else -1 / worst
