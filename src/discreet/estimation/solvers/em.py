"""Expectation maximisation: the iterative Bayesian update of the papers, its early stopping, and updates with momentum.

On a map the update is the deconvolution of Richardson and Lucy. Momentum (Nesterov 1983, here in logarithms, so that
nothing becomes negative) gets as far in k updates as plain ones in about k^2 / 6, along nearly the same way: what an
early stop leaves smooth is smooth here too.

[F] is Fernandes, Lefki, Palamidessi, *Utility-Preserving Privacy Mechanisms for Counting Queries*; [A] is Alvim,
Chatzikokolakis, Palamidessi, Pazii, *LDP on metric spaces*.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count

import numpy as np

from ...exact.arrays import FloatArray
from ..algebra import product
from ..interior import Products, SolverResult

#: Maximum factor by which momentum multiplies or divides a probability.
MAX_LEAP = 5.0


def update(model: Products, p: FloatArray) -> tuple[FloatArray, float, float]:
    """Make one iterative Bayesian update, ``p_i <- p_i sum_j A_ij q_j / u_j`` with u = p A ([F] definition 1).

    Returns the new distribution, and the mean log-likelihood and the gap of the *old* one, which cost nothing more.
    """
    u = model.forward(p)
    g = model.backward(model.q / u)
    return p * g, float(model.q @ np.log(u)), max(0.0, math.log(float(g.max())))


def iterate(model: Products, iterations: int, start: FloatArray | None = None) -> SolverResult:
    """Make a fixed number of updates from a distribution with full support (uniform if not given), as in the papers."""
    p = np.full(model.size, 1 / model.size) if start is None else start
    trace = []
    for _ in range(iterations):
        p, log_likelihood, gap = update(model, p)
        trace.append((log_likelihood, gap))
    p = p / p.sum()
    _, log_likelihood, gap = update(model, p)
    return SolverResult(p, gap, (*trace, (log_likelihood, gap)))


def iterate_each(A: FloatArray, shares: FloatArray, iterations: int) -> tuple[FloatArray, FloatArray]:
    """Make a fixed number of updates from the uniform distribution for several sets of reports by one mechanism.

    Parameters
    ----------
    A
        How likely each report is for each truth; a row for each truth.
    shares
        The shares of the reports; a row for each set.
    iterations
        How many updates.

    Returns
    -------
    tuple
        The distribution of each set, in rows; and how much log-likelihood per report each lacks at most (its gap).
    """
    p = np.full((len(shares), len(A)), 1 / len(A))
    back = np.ascontiguousarray(A.T)
    for _ in range(iterations):
        p = p * product(shares / product(p, A), back)
    p = p / p.sum(axis=1, keepdims=True)
    factors = product(shares / product(p, A), back)
    return p, np.maximum(0.0, np.log(factors.max(axis=1)))


def path(model: Products, grid: list[int]) -> Iterator[FloatArray]:
    """Yield the distributions after the numbers of updates in ``grid``, which must grow."""
    p, done = np.full(model.size, 1 / model.size), 0
    for target in grid:
        for _ in range(target - done):
            p = _step(model, p)[0]
        done = target
        yield p


def accelerated_path(model: Products, grid: list[int]) -> Iterator[FloatArray]:
    """Yield the distributions after the numbers of updates with momentum in ``grid``, which must grow."""
    steps, done = _accelerated(model), 0
    for target in grid:
        for _ in range(target - done):
            p, _, _ = next(steps)
        done = target
        yield p


def accelerate(model: Products, iterations: int) -> SolverResult:
    """Make a fixed number of updates with momentum from the uniform distribution."""
    steps, trace = _accelerated(model), []
    for _ in range(iterations):
        p, u, g = next(steps)
        trace.append((float(model.q @ np.log(u)), max(0.0, math.log(float(g.max())))))
    _, log_likelihood, gap = update(model, p)
    return SolverResult(p, gap, (*trace, (log_likelihood, gap)))


def _step(model: Products, p: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the update of p, the chances of the reports under p, and the factors of the update."""
    u = model.forward(p)
    # a fold may leave out all reports of a value, and then nothing need make it likely
    g = model.backward(np.divide(model.q, u, out=np.zeros_like(u), where=model.q > 0))
    return p * g, u, g


def _accelerated(model: Products) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Make each update where the last two point to: at ``p (p / before)^a`` with a = (k - 1) / (k + 3).

    Yields the new distribution, and the chances and factors at the place where the update was made.
    """
    p = before = np.full(model.size, 1 / model.size)
    for k in count():
        ahead = p
        if k > 1:
            ratio = np.divide(p, before, out=np.ones_like(p), where=before > 0)
            ahead = p * np.clip(ratio, 1 / MAX_LEAP, MAX_LEAP) ** ((k - 1) / (k + 3))
            ahead /= ahead.sum()
        new, u, g = _step(model, ahead)
        before, p = p, new / new.sum()
        yield p, u, g
