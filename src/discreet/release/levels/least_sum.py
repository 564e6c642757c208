"""The convex program of a split: the shares with the least sum of variances, by multiplicative updates.

With precisions ``M w`` for shares w, the sum ``f(w) = sum of v_A / (M w)_A`` is convex. The updates are
``w <- w sqrt(g / f)`` with ``g = M' (v / (M w)^2)``, as optimal designs are made. As ``sum w g = f``, no shares have a
smaller sum than ``2 f - max g``.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ...exact.arrays import FloatArray

#: The duality gap at which the search ends, and the largest number of updates.
GAP, MAX_UPDATES = 1e-6, 20_000


def sum_and_gap(matrix: csr_array, values: FloatArray, weights: FloatArray) -> tuple[FloatArray, float]:
    """Return the factors of the next update, and the duality gap for the budget that is used.

    No weights with this sum have less than ``1 - gap`` times the sum of these.
    """
    precision = matrix @ weights
    gradient = matrix.T @ (values / precision**2)
    total = float((values / precision).sum())
    return gradient / total, float(gradient.max() / total) - 1


def least_sum(matrix: csr_array, values: FloatArray, start: FloatArray | None = None) -> FloatArray:
    """Return shares near those with the least ``sum of values / (matrix shares)``, the search from ``start`` on."""
    weights = np.full(matrix.shape[1], 1 / matrix.shape[1]) if start is None else start
    for _ in range(MAX_UPDATES):
        factors, gap = sum_and_gap(matrix, values, weights)
        if gap <= GAP:
            break
        weights = weights * np.sqrt(factors)
        weights /= weights.sum()
    return weights
