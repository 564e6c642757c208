"""EMS: iterative Bayesian updates with a smoothing step after each, as Li et al. (SIGMOD 2020) use them."""

from __future__ import annotations

import numpy as np

from discreet.exact.arrays import FloatArray, IntArray
from discreet.mechanism import Mechanism

#: Updates end when all reports together gain less log-likelihood than this, or after so many.
LEAST_GAIN, MOST_UPDATES = 1e-3, 10_000


def smoothed_updates(counts: IntArray, mechanism: Mechanism) -> FloatArray:
    """Return the distribution after EMS, which smooths each update with the weights 1/4, 1/2, 1/4 (2/3, 1/3 at an end).

    Parameters
    ----------
    counts
        How often each value was reported.
    mechanism
        What reported it.

    Examples
    --------
    >>> from discreet.mechanisms.geometric import geometric
    >>> made = geometric(20, epsilon=1)
    >>> p = smoothed_updates(np.full(21, 50), made)
    >>> round(float(p.sum()), 9), float(p.min()) > 0
    (1.0, True)
    """
    matrix = np.ascontiguousarray(mechanism.matrix)
    p, last = np.full(len(matrix), 1 / len(matrix)), -np.inf
    for _ in range(MOST_UPDATES):
        u = p @ matrix
        p = smooth(p * (matrix @ (counts / u)))
        gained = float(counts[counts > 0] @ np.log((p @ matrix)[counts > 0]))
        if abs(gained - last) < LEAST_GAIN:
            break
        last = gained
    return p


def smooth(weights: FloatArray) -> FloatArray:
    """Return the weights smoothed and divided by their sum.

    >>> smooth(np.array([0.0, 4.0, 0.0])).round(4).tolist()
    [0.2857, 0.4286, 0.2857]
    """
    inside = (weights[:-2] + 2 * weights[1:-1] + weights[2:]) / 4
    ends = (2 * weights[0] + weights[1]) / 3, (2 * weights[-1] + weights[-2]) / 3
    whole = np.concatenate([[ends[0]], inside, [ends[1]]])
    return np.asarray(whole / whole.sum())
