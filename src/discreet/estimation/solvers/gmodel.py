"""Efron's g-model: the log of the distribution is a natural spline with few degrees of freedom.

``p = exp(Q a) / sum`` with Q a basis of natural splines, centred and of norm 1, and a that maximises
``log-likelihood - |a|``. Basis, degrees and penalty are the defaults of Narasimhan and Efron's package deconvolveR.

References
----------
Efron 2016, *Empirical Bayes deconvolution estimates*; Narasimhan and Efron 2020, *deconvolveR*.
"""

from __future__ import annotations

import math

import numpy as np

from ...exact.arrays import FloatArray
from ..algebra import NumericalFailure, cholesky, left_times, product, times
from ..interior import SolverResult
from .likelihood import Likelihood

#: Degrees of freedom of the spline, and the factor of the penalty.
DEGREES, PENALTY = 5, 1.0

#: Maximum number of Newton steps; gain below which a step needs no line search, and length at which steps end.
MAX_STEPS, SURE_GAIN, LAST_STEP = 200, 1e-6, 1e-12


def natural_splines(size: int) -> FloatArray:
    """Return the basis at 0, ..., size - 1: cubic between knots at the quantiles, linear beyond the ends."""
    from scipy.interpolate import BSpline

    x = np.arange(size, dtype=float)
    inner = np.quantile(x, np.arange(1, DEGREES) / DEGREES)
    knots = np.concatenate([np.full(4, x[0]), inner, np.full(4, x[-1])])
    splines = BSpline(knots, np.eye(len(knots) - 4), 3)
    bends = splines(x[[0, -1]], 2)[:, 1:]  # the first spline is the constant's
    natural = splines(x)[:, 1:] @ np.linalg.qr(bends.T, mode="complete")[0][:, 2:]
    natural -= natural.mean(axis=0)
    return np.asarray(natural / np.sqrt((natural**2).sum(axis=0)))


def solve(likelihood: Likelihood) -> SolverResult:
    """Return the distribution whose spline maximises the penalised likelihood, by Newton steps."""
    problem = likelihood.problem
    A, counts, people = np.ascontiguousarray(problem.block()), problem.counts.astype(float), problem.people
    columns, Q = np.ascontiguousarray(A.T), natural_splines(problem.size)

    def at(a: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        weights = np.exp(times(Q, a) - times(Q, a).max())
        p = weights / weights.sum()
        u = np.maximum(left_times(p, A), 1e-300)
        return p, u, float(counts @ np.log(u)) - PENALTY * math.sqrt(float(a @ a))

    p, u, value = at(np.zeros(DEGREES))
    slope = left_times(p * (times(A, counts / u) - people), Q)
    if float(slope @ slope) <= PENALTY**2:  # no spline gains as much as it pays: uniform
        return SolverResult(p, likelihood.gap(p), ((value / people, math.nan),))
    a, trace = np.ones(DEGREES), list[tuple[float, float]]()
    p, u, value = at(a)
    for _ in range(MAX_STEPS):
        norm = math.sqrt(float(a @ a))
        of_theta = p * (times(A, counts / u) - people)
        gradient = left_times(of_theta, Q) - PENALTY * a / norm
        moved = product(columns, p[:, None] * Q) - np.outer(u, left_times(p, Q))
        penalty = PENALTY / norm * (np.eye(DEGREES) - np.outer(a, a) / norm**2)
        cross = np.outer(left_times(of_theta, Q), left_times(p, Q))
        bend = cross + cross.T - product(np.ascontiguousarray(Q.T), of_theta[:, None] * Q)
        try:  # the curvature there; far from the maximum it may not be positive, and the Fisher information is
            step = cholesky(_weighted(moved, counts / u**2) + bend + penalty, 0.0)(gradient)
        except NumericalFailure:
            step = cholesky(_weighted(moved, people / u) + penalty, 1e-9 * people)(gradient)
        gain, share = float(gradient @ step), 1.0
        new = at(a + step)
        while gain > SURE_GAIN and new[2] < value + 1e-4 * share * gain and share > 1e-9:
            share /= 2
            new = at(a + share * step)
        a, (p, u, value) = a + share * step, new
        trace.append((value / people, math.nan))
        if float(np.abs(share * step).max()) <= LAST_STEP * max(1.0, norm):
            break
    return SolverResult(p, likelihood.gap(p), tuple(trace))


def _weighted(moved: FloatArray, weights: FloatArray) -> FloatArray:
    return product(np.ascontiguousarray(moved.T), weights[:, None] * moved)
