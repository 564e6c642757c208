"""Randomised response: the maximum of the likelihood in closed form."""

from __future__ import annotations

import numpy as np

from ...exact.arrays import FloatArray


def maximum(q: FloatArray, b: float) -> FloatArray:
    """Return the maximum likelihood estimate under randomised response, in O(k log k).

    With b = 1 / (e^eps - 1), the chance of report j is proportional to p_j + b. Where p_j > 0 the optimality conditions
    make q_j / (p_j + b) the same for all, so that ``p_j = max(0, q_j kappa - b)``. The support is the m largest shares,
    for the largest m with ``q_(m) (1 + m b) > b S_m``, S_m their sum, and ``kappa = (1 + m b) / S_m``.

    Parameters
    ----------
    q
        The shares of the reports.
    b
        The probability of one false report over the probability that the report is kept on purpose: other / gain.

    References
    ----------
    The same closed form was found independently by Pinzón, Palamidessi et al. (AAAI 2026, arXiv 2601.08603).
    """
    falling = np.sort(q)[::-1]
    sums = np.cumsum(falling)
    m = np.arange(1, len(q) + 1)
    # from one m to the next the difference of the two sides never grows: those that fulfil it come first
    size = int(np.count_nonzero(falling * (1 + m * b) > b * sums))
    kappa = (1 + size * b) / sums[size - 1]
    return np.asarray(np.maximum(0.0, q * kappa - b))
