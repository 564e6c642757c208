"""Wavelets: the unbiased estimate at finer and finer scales, of which what is within its noise is set to zero.

The wavelets of a scale are continuous and piecewise linear between knots, each scale has twice the knots of the one
before, and all are orthonormal (Battle and Lemarie, on an interval). A coefficient has an unbiased estimate, a weighted
mean of the reports, with a standard error of its own (the vaguelettes of Donoho). Coefficients below
``sqrt(2 log n)`` standard errors are set to zero, and the rest makes the nearest distribution.

References
----------
Donoho 1995, *Nonlinear solution of linear inverse problems by wavelet-vaguelette decomposition*; Donoho and Johnstone
1994 (the threshold).
"""

from __future__ import annotations

import math

import numpy as np

from ...exact.arrays import FloatArray
from ..algebra import eigenvectors, left_times, product, times
from ..interior import SolverResult
from .gradients import project
from .likelihood import Likelihood


def spline_wavelets(size: int) -> FloatArray:
    """Return orthonormal wavelets in rows: the straight lines, then the scales from the coarsest to single values.

    >>> H = spline_wavelets(9)
    >>> bool(np.allclose(H @ H.T, np.eye(9)))
    True
    """
    x = np.arange(size)
    rows = np.linalg.qr(np.stack([np.ones(size), x]).T)[0].T
    knots = np.array([0, size - 1])
    while len(knots) < size:
        new = np.setdiff1d((knots[1:] + knots[:-1]) // 2, knots)
        knots = np.union1d(knots, new)
        hats = np.stack([np.interp(x, knots, knots == knot) for knot in new])
        hats -= product(product(hats, np.ascontiguousarray(rows.T)), rows)
        squares, directions = eigenvectors(product(hats, np.ascontiguousarray(hats.T)))
        root = product(directions / np.sqrt(squares), np.ascontiguousarray(directions.T))
        rows = np.concatenate([rows, product(root, hats)])
    return rows


def solve(likelihood: Likelihood, weights: FloatArray, shares: FloatArray) -> SolverResult:
    """Return the distribution of the wavelets that exceed their noise.

    Parameters
    ----------
    likelihood
        Of the reports.
    weights, shares
        The weights of the outputs, a row for each value, whose mean over the reports is an unbiased estimate of its
        probability; and the shares of the outputs among the reports.
    """
    size, people = len(weights), likelihood.problem.people
    H = spline_wavelets(size)
    mixed = product(H, np.ascontiguousarray(weights))
    coefficients = times(mixed, shares)
    errors = np.sqrt(np.maximum(times(mixed**2, shares) - coefficients**2, 0.0) / people)
    kept = np.abs(coefficients) >= math.sqrt(2 * math.log(size)) * errors
    kept[:2] = True  # the straight lines, and with them the sum
    p = project(left_times(np.where(kept, coefficients, 0.0), H))
    p = (p + 1e-12 / size) / (1 + 1e-12)  # no report is impossible
    gap = likelihood.gap(p)
    return SolverResult(p, gap, ((likelihood.mean_log(p), gap),))
