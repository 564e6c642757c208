"""Distributions that several papers draw people from."""

from __future__ import annotations

import math

import numpy as np

from discreet.exact.arrays import FloatArray


def binomial(n: int, p: float) -> FloatArray:
    """Return the probabilities of 0 to n among n people of whom each has the bit with probability p.

    >>> binomial(2, 0.5).tolist()
    [0.25, 0.5, 0.25]
    """
    return np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])
