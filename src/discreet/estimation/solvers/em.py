"""Expectation maximisation: the iterative Bayesian update of the papers, and its early stopping.

[F] is Fernandes, Lefki, Palamidessi, *Utility-Preserving Privacy Mechanisms for Counting Queries*; [A] is Alvim,
Chatzikokolakis, Palamidessi, Pazii, *LDP on metric spaces*.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...exact.arrays import FloatArray
from ..interior import Products, Solution


def update(model: Products, p: FloatArray) -> tuple[FloatArray, float, float]:
    """One iterative Bayesian update, ``p_i <- p_i sum_j A_ij q_j / u_j`` with u = p A ([F] definition 1).

    Returns the new distribution, and the mean log-likelihood and the gap of the *old* one, which cost nothing more.
    """
    u = model.forward(p)
    g = model.backward(model.q / u)
    return p * g, float(model.q @ np.log(u)), max(0.0, math.log(float(g.max())))


def iterate(model: Products, iterations: int, start: FloatArray | None = None) -> Solution:
    """A fixed number of updates from a distribution with full support (uniform if none is given), as in the papers."""
    p = np.full(model.size, 1 / model.size) if start is None else start
    trace = []
    for _ in range(iterations):
        p, log_likelihood, gap = update(model, p)
        trace.append((log_likelihood, gap))
    p = p / p.sum()
    _, log_likelihood, gap = update(model, p)
    return Solution(p, gap, (*trace, (log_likelihood, gap)))


def path(model: Products, grid: list[int]) -> Iterator[FloatArray]:
    """The distributions after the numbers of updates in ``grid``, which must grow."""
    p, done = np.full(model.size, 1 / model.size), 0
    for target in grid:
        for _ in range(target - done):
            u = model.forward(p)
            # a fold may leave out all reports of a value, and then nothing need make it likely
            p = p * model.backward(np.divide(model.q, u, out=np.zeros_like(u), where=model.q > 0))
        done = target
        yield p
