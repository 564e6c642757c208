"""Bounds of epsilon on maps by comparison with an exponential law, from one look at each weight.

For any positive measure mu on the plane, the law with weights ``integral of e^(-k |v|) d mu(v)`` over the displacements
v that lead to a report is k-metric-private, k per step of the grid: by the triangle inequality every term changes by at
most e^(k d) when the truth moves by d, and so does every sum of terms, clamped reports included. If all weights of a
lattice lie within factors e^low and e^high of such a law, its epsilon is at most ``k + high - low``, because two
different truths are at least one step apart.

The judge takes nothing from the builder of the lattice: it reads k off the weights and sums up the comparison here.
For other laws the factors differ, so that the bound is wide; then :func:`~discreet.privacy.lattice.metric_lattice`
looks at steps one by one.
"""

from __future__ import annotations

import math

import numpy as np

from ..exact.arrays import FloatArray
from ..exact.lattice import Lattice

#: Largest relative error of ``math.log`` of an integer of any length, and of a product or sum of a few doubles.
ROUNDING = 2.0**-50

#: Sums over the lattice end where terms have fallen to about e^-REACH of the first; the rest is bounded.
REACH = 32.0

#: Smallest rate per step of a law that is compared: with a smaller one the sums would be long.
SMALLEST_RATE = 1 / 250

#: Maximum number of terms in memory at a time.
TERMS_PER_BLOCK = 1 << 20


def mixture_bound(kernel: Lattice) -> float | None:
    """Return an upper bound of epsilon per step of the grid, from the comparison with ``e^(-k distance)``.

    Parameters
    ----------
    kernel
        A lattice with border ``"remap"``.

    Returns
    -------
    float or None
        None if the comparison does not apply: a map of fewer than three rows or columns, weights of zero, or weights
        that hardly fall along the first row.
    """
    rows, cols = kernel.rows, kernel.cols
    if kernel.border != "remap" or min(rows, cols) < 3 or min(kernel.palette) == 0:
        return None
    logs = np.array([math.log(w) for w in kernel.palette])[kernel.codes]
    longest = cols - 2  # the longest displacement that is not merged with others
    rate = float(logs[0, 0] - logs[0, longest]) / longest
    if not rate > SMALLEST_RATE:
        return None
    reference, error, missing = _reference(rows, cols, rate)
    factors = logs - reference
    error += 1 + float(np.abs(logs).max())
    spread = float(factors.max()) - float(factors.min()) + 2 * ROUNDING * error + missing
    return (rate + spread) * (1 + 2.0**-46)


def _reference(rows: int, cols: int, rate: float) -> tuple[FloatArray, float, float]:
    """Return the logarithms of the weights of e^(-rate distance); the last row and column include all beyond.

    Returns them, their largest error in multiples of ROUNDING, and the largest share that the sums leave out.
    """
    distance = np.hypot.outer(np.arange(rows), np.arange(cols))
    longest = float(distance[-1, -1]) + REACH / rate
    down, right = (np.arange(n - 1, math.ceil(longest) + 1, dtype=np.float64) for n in (rows, cols))
    logs = -rate * distance
    missing = 0.0
    for edge, across, along in ((logs[:-1, -1], rows, right), (logs[-1, :-1], cols, down)):
        sums, beyond = _sums(np.arange(across - 1, dtype=np.float64), along, rate)
        edge += np.log(sums)
        missing = max(missing, float((beyond / sums).max()))
    sums, beyond = _sums(down, right, rate)
    ends = np.hypot(down, cols - 1.0)
    first = np.exp(-rate * (ends - ends[0]))
    corner = float(first @ sums)
    logs[-1, -1] += math.log(corner)
    # rows beyond the last: the distance lies above its tangent plane there
    slopes = rate / ends[-1] * np.array([down[-1], cols - 1.0])
    below = float(first[-1]) / (math.expm1(slopes[0]) * -math.expm1(-slopes[1]))
    missing = max(missing, (float(first @ beyond) + below) / corner)
    terms = (len(down) + len(right)) / 8  # a sum errs by 2^-53 for each of its terms at most
    return logs, 2 + terms + rate * math.hypot(down[-1], right[-1]), missing


def _sums(across: FloatArray, along: FloatArray, rate: float) -> tuple[FloatArray, FloatArray]:
    """Return, for each point across, the sum over the points along of e^(-rate (distance - that of the first)).

    Returns also a bound of the omitted rest: from the last term on, each shrinks by at least the ratio of the last two.
    """
    sums, last = np.empty(len(across)), np.empty(len(across))
    height = max(1, TERMS_PER_BLOCK // len(along))
    squares = along**2
    for start in range(0, len(across), height):
        part = slice(start, start + height)
        terms = np.sqrt(across[part, None] ** 2 + squares)
        terms -= terms[:, :1].copy()
        terms *= -rate
        np.exp(terms, out=terms)
        sums[part], last[part] = terms.sum(1), terms[:, -1]
    return sums, last / np.expm1(rate * along[-1] / np.hypot(across, along[-1]))
