"""The maximum of the likelihood where the matrix is too large to write out: maps of many cells, long ranges.

The maximum has far fewer true values with positive probability than there are values. So: some accelerated updates
find roughly where they are; then Newton steps on these values alone, with new ones added where the gradient demands it,
until the gap closes. Only products with the whole matrix (Fourier transforms, filters) and rows of chosen truths are
needed. The Newton steps may use a rounded matrix (entries that hardly matter are dropped): gradient, step length and
certificate do not, so the answer is the same.

The outer steps are those of Wang (2007), *On fast computation of the non-parametric maximum likelihood estimate of a
mixing distribution*; the acceleration is SQUAREM (Varadhan and Roland 2008).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...exact.arrays import BoolArray, FloatArray, IntArray
from ...spaces import Space
from ..algebra import NumericalFailure, cholesky, gram, symmetric_times
from ..interior import MAX_IDLE_STEPS, SolverResult
from ..model.problem import Problem

#: Number of cycles of accelerated updates before the support is looked for; maximum number of Newton steps after
#: them.
SQUAREM_CYCLES, MAX_NEWTON_STEPS = 10, 200

#: Share of the largest (weighted) entry of a row below which Newton steps drop entries.
DROPPED_ENTRY_SHARE = 1e-3

#: Share of entries left above which rows are multiplied as dense ones.
MAX_SPARSE_SHARE = 0.05

#: Maximum number of values added in one step, and of matrix entries held at once.
MAX_NEW_VALUES, CHUNK_ENTRIES = 1000, 1 << 24

#: Maximum number of entries of a matrix that is held whole.
MAX_WHOLE_ENTRIES = 4_000_000


class StructuredModel:
    """A problem seen through its products alone."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.size, self.q = problem.size, problem.counts / problem.people
        self._shares = [group.people / problem.people for group in problem.groups]
        self._ends = np.cumsum([len(group.reports) for group in problem.groups])[:-1]

    def forward(self, p: FloatArray) -> FloatArray:
        if len(self._shares) == 1:
            return self.problem.groups[0].forward(p)
        parts = [share * g.forward(p) for share, g in zip(self._shares, self.problem.groups, strict=True)]
        return np.concatenate(parts)

    def backward(self, v: FloatArray) -> FloatArray:
        if len(self._shares) == 1:
            return self.problem.groups[0].backward(v)
        total = np.zeros(self.size)
        for share, group, part in zip(self._shares, self.problem.groups, np.split(v, self._ends), strict=True):
            total += share * group.backward(part)
        return total

    def gradient(self, u: FloatArray) -> FloatArray:
        return self.backward(self.q / u)

    def mean_log(self, u: FloatArray) -> float:
        return float(self.q @ np.log(u))


def solve(
    model: StructuredModel, tolerance: float, costs: FloatArray | None = None, start: FloatArray | None = None
) -> SolverResult:
    """Maximise the likelihood to a gap of at most ``tolerance``, or as far as doubles go.

    Parameters
    ----------
    model, tolerance, costs
        As for :func:`.interior.solve`.
    start
        A distribution near the answer, whose support is taken as a first guess; found by updates if not given.
    """
    space = model.problem.truths
    c = np.ones(model.size) if costs is None else costs
    trace: list[tuple[float, float]] = []
    first = start is None
    p, u, g = _accelerate(model, c, trace) if start is None else (start, model.forward(start), np.empty(0))
    if first:
        gap = max(0.0, math.log(float((g / c).max()) * float(c @ p)))
        if gap <= tolerance:  # hardly any noise: every value that was reported is in the support
            trace.append((model.mean_log(u) - math.log(float(c @ p)), gap))
            return SolverResult(p / p.sum(), gap, tuple(trace))
        active = np.flatnonzero((_peaks(p, space) & (p > 1e-9)) | (_peaks(g / c, space) & (g > c)))
        weights = np.zeros(len(active))
    else:
        active = np.flatnonzero(p)
        weights = p[active]
        g = model.gradient(u)
    rows = _Rows(model, u)
    best, idle = (math.inf, p), 0
    for _ in range(MAX_NEWTON_STEPS):
        active, weights, u = _newton(model, rows, c, active, weights, u, g, first)
        first = False
        g = model.gradient(u)
        mass = float(c[active] @ weights)
        gap = max(0.0, math.log(float((g / c).max()) * mass))
        trace.append((model.mean_log(u) - math.log(mass), gap))
        idle = 0 if gap < best[0] else idle + 1
        if gap < best[0]:
            p = np.zeros(model.size)
            p[active] = weights / weights.sum()
            best = (gap, p)
        if gap <= tolerance or idle > MAX_IDLE_STEPS:  # products by Fourier transform may resolve no more
            break
        candidates = _peaks(g / c, space)
        if model.problem.places <= MAX_WHOLE_ENTRIES:  # more values a step, for fewer steps: pays while a step is cheap
            candidates |= space.neighbour_maximum(np.isin(np.arange(model.size), active))
        new = np.flatnonzero(candidates & (g * mass > c * (1 + tolerance / 4)))
        new = np.setdiff1d(new[np.argsort(-g[new] / c[new])][:MAX_NEW_VALUES], active)
        active = np.concatenate([active, new])
        order = np.argsort(active)  # upper triangles stay so
        active, weights = active[order], np.concatenate([weights, np.zeros(len(new))])[order]
    return SolverResult(best[1], best[0], tuple(trace))


# ------------------------------------------------------------------------------------------------ updates


def _accelerate(
    model: StructuredModel, c: FloatArray, trace: list[tuple[float, float]]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Run SQUAREM: two updates, and a leap along what they have in common. Leaps that lower the likelihood are undone.

    Updates never reach zero, and leaps must not: what is zero once stays so.
    """
    p = np.full(model.size, 1 / model.size)
    for _ in range(SQUAREM_CYCLES):
        u = model.forward(p)
        g = model.gradient(u) / c
        trace.append((model.mean_log(u), max(0.0, math.log(float(g.max()) * float(c @ p)))))
        one = p * g
        u = model.forward(one)
        before = model.mean_log(u) - float(c @ one)
        two = one * model.gradient(u) / c
        step, bend = one - p, two - 2 * one + p
        length = math.sqrt(float(step @ step) / max(float(bend @ bend), 1e-300))
        leap = p + 2 * max(1.0, length) * step + max(1.0, length) ** 2 * bend
        leap = np.maximum(leap, two * 1e-3)
        leap /= float(c @ leap)
        u = model.forward(leap)
        p = leap * model.gradient(u) / c if model.mean_log(u) - 1 >= before else two
    u = model.forward(p)
    return p, u, model.gradient(u)


def _peaks(x: FloatArray, space: Space) -> BoolArray:
    """Return where x is at least as large as at all neighbours: everywhere for labels, which have no neighbours."""
    return np.asarray(x >= space.neighbour_maximum(x))


# ------------------------------------------------------------------------------------------------ Newton steps


class _Rows:
    """Rows of A, rounded and kept, so that a truth that stays is looked up once."""

    def __init__(self, model: StructuredModel, u: FloatArray) -> None:
        self._model = model
        self._whole = model.problem.block() if model.problem.places <= MAX_WHOLE_ENTRIES else None
        self._weight = np.sqrt(model.q) / u
        self._kept: dict[int, tuple[NDArray[np.int32], FloatArray]] = {}

    def matrix(self, truths: IntArray) -> Any:
        """Return the rounded rows of these truths as a sparse matrix; for small problems, exact and dense."""
        if self._whole is not None:
            return self._whole[truths]
        from scipy.sparse import csr_array

        missing = np.array([i for i in truths.tolist() if i not in self._kept], np.int64)
        step = max(1, CHUNK_ENTRIES // len(self._weight))
        for start in range(0, len(missing), step):
            chosen = missing[start : start + step]
            block = self._model.problem.block(chosen)
            for i, row in zip(chosen.tolist(), block, strict=True):
                counted = row * self._weight
                keep = np.flatnonzero(counted >= DROPPED_ENTRY_SHARE * counted.max()).astype(np.int32)
                self._kept[i] = (keep, row[keep])
        stay = set(truths.tolist())
        self._kept = {i: kept for i, kept in self._kept.items() if i in stay}
        places = [self._kept[i][0] for i in truths.tolist()]
        entries = [self._kept[i][1] for i in truths.tolist()]
        starts = np.concatenate([[0], np.cumsum([len(place) for place in places])])
        shape = (len(truths), len(self._weight))
        return csr_array((np.concatenate(entries), np.concatenate(places), starts), shape=shape)


def _newton(
    model: StructuredModel,
    rows: _Rows,
    c: FloatArray,
    active: IntArray,
    weights: FloatArray,
    u: FloatArray,
    g: FloatArray,
    first: bool,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Make one step on the active truths: the quadratic model's best nonnegative weights, then a line search.

    At weights w the log-likelihood minus the cost is, to second order, ``-x'Hx/2 + x'(H w + g - c)`` in the new weights
    x, with H = A diag(q / u^2) A'. The first time the weights are those of the updates, on all truths, and H w = g.
    """
    H = _curvature(rows.matrix(active), np.sqrt(model.q) / u)
    now, cost = g[active], c[active]
    passive = weights > 0 if weights.any() else now > 0
    target = nonnegative(H, now + (now if first else symmetric_times(H, weights)) - cost, passive)
    p = np.zeros(model.size)
    p[active] = target
    aim = model.forward(p)
    if first:
        stay = target > 0
        return active[stay], target[stay], aim
    step = _search(model, u, aim, float(cost @ (target - weights)))
    weights = (1 - step) * weights + step * target
    stay = weights > 0
    return active[stay], weights[stay], (1 - step) * u + step * aim


def _curvature(A: Any, scale: FloatArray) -> FloatArray:
    """Return A diag(scale^2) A', dense (its upper triangle)."""
    if isinstance(A, np.ndarray):
        return gram(A * scale)
    if A.nnz <= MAX_SPARSE_SHARE * A.shape[0] * A.shape[1]:
        scaled = A * scale[None, :]
        return np.asarray((scaled @ scaled.T).toarray())
    H = np.zeros((A.shape[0], A.shape[0]))
    columns = A.tocsc()
    step = max(1, CHUNK_ENTRIES // A.shape[0])
    for start in range(0, A.shape[1], step):
        H += gram(np.ascontiguousarray(columns[:, start : start + step].toarray()) * scale[start : start + step])
    return H


def _search(model: StructuredModel, u: FloatArray, aim: FloatArray, dearer: float) -> float:
    """Return a step between 0 and 1 with enough gain (the slope is positive by construction)."""
    ratio = (aim - u) / u
    slope = float(model.q @ ratio) - dearer
    step = 1.0
    while step > 1e-10:
        if (1 + step * ratio).min() > 0:
            gain = float(model.q @ np.log1p(step * ratio)) - step * dearer
            if gain >= 0.1 * step * slope or (step == 1.0 and abs(slope) < 1e-13):
                return step
        step /= 2
    return step


def nonnegative(H: FloatArray, b: FloatArray, passive: BoolArray) -> FloatArray:
    """Find the x >= 0 with the least ``x'Hx/2 - b'x``, by block principal pivoting (Portugal, Judice, Vicente 1994).

    Guess which entries are positive, solve for them, move all that turn out wrong at once; when that does not lower
    their number, one at a time, which always ends.
    """
    n = len(b)
    ridge = 1e-13 * float(np.trace(H)) / n
    fewest, patience = n + 1, 5
    passive = passive.copy()
    for _ in range(50 + 5 * n):
        chosen = np.flatnonzero(passive)
        x, y = np.zeros(n), -b
        if chosen.size:
            try:
                x[chosen] = cholesky(H.take(chosen, 0).take(chosen, 1), ridge)(b[chosen])
            except NumericalFailure:
                ridge *= 100
                continue
            y = symmetric_times(H, x) - b
            y[chosen] = 0.0
        wrong = np.flatnonzero((x < 0) | (y < -1e-14))
        if not wrong.size:
            break
        if wrong.size < fewest:
            fewest, patience = wrong.size, 5
        elif patience:
            patience -= 1
        else:
            wrong = wrong[-1:]
        passive[wrong] ^= True
    return np.maximum(x, 0.0)
