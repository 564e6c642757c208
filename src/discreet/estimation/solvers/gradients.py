"""The maximum of the likelihood by projected gradients, where it bends nearly alike in all directions.

Under projective response any two truths look alike: with u the chances of the reports, the second derivative of the
likelihood is ``A diag(q / u^2) A'``, and where u is nearly uniform that is a multiple of the identity, but for a
constant. So gradients point to the maximum, and a few steps reach it for a million values. A step projects onto the
distributions, its length is that of Barzilai and Borwein (1988), and the best point of its line is taken (Birgin,
Martinez, Raydan 2000, *Nonmonotone spectral projected gradient methods on convex sets*). A step costs two products with
the matrix, and the gap comes with the gradient.
"""

from __future__ import annotations

import math

import numpy as np

from ...exact.arrays import FloatArray
from ..interior import SolverResult
from .large import StructuredModel

#: Maximum number of steps, of steps times outputs, and of steps in a row without a lower gap.
MAX_STEPS, MAX_STEP_OUTPUTS, MAX_IDLE_STEPS = 300, 90_000_000, 40

#: Accuracy of the best point of a line, as a share of its length.
LINE_ACCURACY = 1e-3


def solve(
    model: StructuredModel, tolerance: float, costs: FloatArray | None = None, start: FloatArray | None = None
) -> SolverResult:
    """Maximise the likelihood to a gap of at most ``tolerance``, or as far as the steps go.

    Parameters
    ----------
    model, tolerance, costs
        As for :func:`..interior.solve`.
    start
        Shares near the answer, such as an unbiased estimate; the uniform distribution if not given.
    """
    c = np.ones(model.size) if costs is None else costs
    w = np.full(model.size, 1 / model.size) if start is None else project(c * start)  # of the cost: p = w / c
    u = model.forward(w / c)
    g = model.gradient(u) / c
    bend = _curvature(model, g - g.mean(), c, u)
    bends = [bend]
    trace = [(model.mean_log(u), _gap(g))]
    best, idle = (_gap(g), w), 0
    while best[0] > tolerance and idle < MAX_IDLE_STEPS and len(trace) <= most_steps(model):
        d = project(w + g / bend) - w
        along = model.forward(d / c)
        t = _best_on_line(model.q, u, along, float(d.sum()), _room(w, d))
        w, u = np.maximum(w + t * d, 0.0), u + t * along
        mass = float(w.sum())  # rounding adds up, and steps become shorter than it
        w, u = w / mass, u / mass
        before, g = g, model.gradient(u) / c
        square = float(d @ d)
        bends = [*bends[-2:], float(d @ (before - g)) / (t * square) if t > 0 and square > 0 else 2 * bend]
        bend = max(*bends, bend / 100)
        gap = _gap(g)
        trace.append((model.mean_log(u), gap))
        idle = 0 if gap < best[0] else idle + 1
        if gap < best[0]:
            best = gap, w
    p = best[1] / c
    p /= p.sum()
    u = model.forward(p)  # afresh, so that the certificate is that of p itself
    return SolverResult(p, max(0.0, math.log(float((model.gradient(u) / c).max()) * float(c @ p))), tuple(trace))


def most_steps(model: StructuredModel) -> int:
    """Return the largest number of steps."""
    return min(MAX_STEPS, MAX_STEP_OUTPUTS // len(model.q))


def project(v: FloatArray) -> FloatArray:
    """Return the distribution that is nearest to v: max(0, v - level), with the level that makes it add up to 1.

    >>> project(np.array([0.9, 0.5, -0.3])).round(3).tolist()
    [0.7, 0.3, 0.0]
    """
    falling = np.sort(v)[::-1]
    levels = (np.cumsum(falling) - 1) / np.arange(1, len(v) + 1)
    return np.asarray(np.maximum(v - levels[np.count_nonzero(falling > levels) - 1], 0.0))


def _gap(g: FloatArray) -> float:
    return max(0.0, math.log(float(g.max())))


def _curvature(model: StructuredModel, d: FloatArray, c: FloatArray, u: FloatArray) -> float:
    """Return how much the likelihood bends along d, per square of its length."""
    along = model.forward(d / c) / u
    return max(float(model.q @ along**2) / max(float(d @ d), 1e-300), 1e-12)


def _room(w: FloatArray, d: FloatArray) -> float:
    """Return the step along d at which an entry becomes negative; at least 1, which was projected."""
    falling = d < 0
    return max(1.0, float((w[falling] / -d[falling]).min())) if falling.any() else 1.0


def _best_on_line(q: FloatArray, u: FloatArray, along: FloatArray, more: float, most: float) -> float:
    """Find the t in [0, most] with the largest sum of q log(u + t along), by Newton steps that stay between bounds.

    ``more`` is what a step adds to the sum of the distribution: nothing but rounding, and yet more than the last steps
    gain. So the likelihood of the distribution divided by its sum is looked at.
    """
    low, high, t = 0.0, most, min(1.0, most)
    for _ in range(20):
        ratio = along / np.maximum(u + t * along, 1e-300)
        slope, bend = float(q @ ratio) - more / (1 + t * more), float(q @ ratio**2)
        low, high = (t, high) if slope > 0 else (low, t)
        if slope >= 0 and t >= most:
            return most
        if bend <= 0:
            break
        new = t + slope / bend
        new = new if low < new < high else (low + high) / 2 if new <= low or new < most else most
        if abs(new - t) <= LINE_ACCURACY * new:
            return new
        t = new
    return t
