"""EMS: iterative Bayesian updates, each followed by an average of neighbouring values.

The field's usual estimate of a distribution from locally private reports of numbers. Its smoothness is fixed, whatever
the number of reports: on many reports a peaked population stays too flat.

References
----------
Silverman, Jones, Wilson and Nychka 1990; Li, Wang, Lopuhaä-Zwakenberg, Skoric and Li, *Estimating numerical
distributions under local differential privacy* (SIGMOD 2020), whose weights, stop and start are used here.
"""

from __future__ import annotations

import numpy as np

from ...exact.arrays import FloatArray
from ...spaces import Space
from ..interior import SolverResult
from . import em
from .likelihood import Likelihood

#: Change of the log-likelihood of all reports below which updates end, and maximum number of updates.
LEAST_CHANGE, MAX_UPDATES = 1e-3, 10_000


def solve(likelihood: Likelihood) -> SolverResult:
    """Return the distribution at which updates with averages change the likelihood no more."""
    model, problem = likelihood.model, likelihood.problem
    p, before = np.full(problem.size, 1 / problem.size), -np.inf
    trace: list[tuple[float, float]] = []
    for _ in range(MAX_UPDATES):
        new, value, gap = em.update(model, p)
        trace.append((value, gap))
        if problem.people * abs(value - before) < LEAST_CHANGE:
            break
        p, before = smoothed(new, problem.truths), value
    return SolverResult(p, likelihood.gap(p), tuple(trace))


def has_neighbours(space: Space) -> bool:
    """Return whether the values have neighbours to average: on a line or a map, or by edges."""
    return bool(space.axes) or (space.has_lengths and space.neighbours() is not None)


def smoothed(p: FloatArray, space: Space) -> FloatArray:
    """Average each value (weight 2) with its neighbours (weight 1), along each axis or over the edges."""
    ends = space.neighbours()
    if space.axes or ends is None:
        return average(p, space.axes)
    sums, weights = 2 * p, np.full(len(p), 2.0)
    for here, there in (ends, ends[::-1]):
        np.add.at(sums, here, p[there])
        np.add.at(weights, here, 1.0)
    return np.asarray(sums / weights / (sums / weights).sum())


def average(p: FloatArray, axes: tuple[int, ...]) -> FloatArray:
    """Average each value (weight 2) with its neighbours (weight 1) along each axis, and divide by the sum.

    >>> average(np.array([0.0, 0.0, 1.0, 0.0, 0.0]), (5,)).tolist()
    [0.0, 0.25, 0.5, 0.25, 0.0]
    """
    table = p.reshape(axes)
    for axis in range(len(axes)):
        line = np.moveaxis(table, axis, 0)
        sums, weights = 2 * line, np.full((len(line), *[1] * (line.ndim - 1)), 2.0)
        for here, there in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
            sums[here] += line[there]
            weights[here] += 1
        table = np.moveaxis(sums / weights, 0, axis)
    return np.asarray(table.ravel() / table.sum())
