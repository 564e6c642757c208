"""Intervals around the unbiased estimate of a linear statistic.

If weights g of the *reports* have ``A g = f``, then the mean of g over the reports has expectation f.p for every
distribution p of the truths: nothing is assumed about zeros, and the textbook's quantile (chi-squared with one degree
of freedom) holds for many reports. The interval is by the likelihood of the reports' own distribution u, over all
outputs that the mechanism has:

    { g.u :  2 N sum_j q_j log(q_j / u_j) <= quantile },   u_j = q_j / (1 + t (g_j - g.q)), divided by its sum,

which for a share is the binomial likelihood interval (Owen, *Empirical likelihood*, 2001; here outputs that did not
occur are among those that could have). What it does not use is that no truth has a negative probability. Where noise is
wide, g is large and so is the interval; there the profile likelihood (:mod:`.intervals`) is shorter by far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...exact.arrays import FloatArray
from ...exact.base import Probabilities
from ..algebra import NumericalFailure, cholesky, gram, inverse, left_solve, left_times, single_threaded_blas, times
from ..model.models import GeometricModel
from ..model.problem import Problem
from . import intervals

#: Maximum number of entries of a matrix that is solved for weights.
MAX_SOLVED_ENTRIES = 1_000_000

#: Number of reports below which an unbiased estimate is not normal enough for the textbook's quantile; share, over
#: their number, by which it is raised above.
MIN_NORMAL_REPORTS, QUANTILE_RISE = 20, 2.0

#: Share of the largest weight by which weights differ that are the same up to rounding.
SAME_WEIGHT_SHARE = 1e-12

#: Number of halvings that find the ends of many intervals at once.
HALVINGS = 44

#: Accuracy with which weights give the statistic back, as a share of its largest value.
WEIGHT_ACCURACY = 1e-7


@dataclass(frozen=True, eq=False)
class SingleShares:
    """Shares of single values that rest on one event each: that the report is in the value's hyperplane.

    Attributes
    ----------
    hits
        The share of the reports in the hyperplane of each value.
    chances
        What it would be under a distribution.
    hit, other
        The probability of a report in the hyperplane of the truth, and of another value.
    """

    hits: FloatArray
    chances: FloatArray
    hit: float
    other: float

    def outcomes(self, f: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Return, for a multiple of one share, how often its event came and did not, the weights, and the chances."""
        places = np.flatnonzero(f)
        if len(places) != 1:
            return None
        h, u, factor = (float(values[places[0]]) for values in (self.hits, self.chances, f))
        weights = factor * (np.array([1.0, 0.0]) - self.other) / (self.hit - self.other)
        return np.array([h, 1 - h]), weights, np.array([u, 1 - u])

    def ends(self, people: int, level: float) -> tuple[FloatArray, FloatArray]:
        """Return both ends of the interval of every share: as :func:`ends`, all at once by halving."""
        least = np.full(len(self.hits), math.inf)
        for share in (self.hits, self.chances):
            spread = share * (1 - share)
            np.minimum(least, people * spread / ((1 - share) ** 2 + share**2) ** 2, out=least)
        many = intervals.quantile(level, 1) * np.sqrt(1 + QUANTILE_RISE / np.maximum(least, MIN_NORMAL_REPORTS))
        goals = np.where(least < MIN_NORMAL_REPORTS, quantile(level, 0.0), many)
        limits = []
        for border in (0.0, 1.0):
            inside, outside = self.hits.copy(), np.full(len(self.hits), border)
            for _ in range(HALVINGS):
                middle = (inside + outside) / 2
                near = 2 * people * _divergence(self.hits, middle) <= goals**2
                inside, outside = np.where(near, middle, inside), np.where(near, outside, middle)
            limits.append((inside - self.other) / (self.hit - self.other))
        return limits[0], limits[1]

    def limits(self, people: int, level: float, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the interval of every share, moved by :mod:`.possible` into [0, 1]; p always stays inside."""
        least, most = self.ends(people, level)
        high = np.where(most <= 0, (most - least) / 2, np.minimum(most, 1.0))
        low = np.where(least >= 1, 1 - (most - least) / 2, np.maximum(least, 0.0))
        return np.minimum(low, p), np.maximum(high, p)


def _divergence(h: FloatArray, theta: FloatArray) -> FloatArray:
    """Return h log(h / theta) + (1 - h) log((1 - h) / (1 - theta)), with 0 log 0 = 0."""
    from scipy.special import rel_entr

    return np.asarray(rel_entr(h, theta) + rel_entr(1 - h, 1 - theta))


class Unbiased:
    """Weights of reports whose mean is an unbiased estimate of a statistic of the truths.

    Parameters
    ----------
    problem
        What was reported, by which mechanisms.
    p
        A distribution, for choosing the weights with the least variance where there are several (more outputs than
        truths, or several groups).
    """

    def __init__(self, problem: Problem, p: FloatArray) -> None:
        self._problem, self._p = problem, p

    @cached_property
    def shares(self) -> FloatArray:
        """The share of every output among all reports, all groups one after the other."""
        return np.concatenate([group.whole() for group in self._problem.groups]) / self._problem.people

    @cached_property
    def chances(self) -> FloatArray:
        """The chance of every output under the distribution given, as a share of all reports."""
        people = self._problem.people
        parts = [group.people / people * group.kernel.forward(self._p) for group in self._problem.groups]
        return np.maximum(np.concatenate(parts), 0.0)

    @cached_property
    def possible(self) -> bool:
        """True if weights can be looked for: finitely many outputs, and not too many."""
        groups = self._problem.groups
        if any(group.outputs.size is None for group in groups):
            return False
        simple = len(groups) == 1 and (groups[0].alpha is not None or groups[0].kernel.scatters)
        if len(groups) == 1 and groups[0].kernel.factor_sizes:
            return all(truths * reports <= MAX_SOLVED_ENTRIES for truths, reports in groups[0].kernel.factor_sizes)
        return simple or sum(group.size * int(group.outputs.size or 0) for group in groups) <= MAX_SOLVED_ENTRIES

    def weights(self, f: FloatArray) -> FloatArray | None:
        """Return g with A g = f, or None if the reports alone do not determine the statistic."""
        if not self.possible:
            return None
        if len(self._problem.groups) > 1:
            return self._solved(f)
        group = self._problem.groups[0]
        if group.alpha is not None:
            model = GeometricModel(group.alpha, self.shares)
            return np.asarray(model.unfold(f) / model.factors)
        weights = group.kernel.unbiased_weights(f)
        if weights is not None:
            return weights
        return _of_product(group.kernel, f) if group.kernel.factor_sizes else self._solved(f)

    @cached_property
    def cells(self) -> SingleShares | None:
        """What the share of each single value rests on, under projective response; None for other mechanisms."""
        group = self._problem.groups[0]
        if len(self._problem.groups) > 1 or group.kernel.hit_chances is None:
            return None
        hit, other = group.kernel.hit_chances
        hits = np.clip(group.kernel.hit_shares(self.shares), 0.0, 1.0)
        return SingleShares(hits, other + (hit - other) * self._p, hit, other)

    @cached_property
    def _matrix(self) -> FloatArray:
        people = self._problem.people
        return np.concatenate([group.people / people * group.table() for group in self._problem.groups], axis=1)

    def _solved(self, f: FloatArray) -> FloatArray | None:
        A = self._matrix
        rows, columns = A.shape
        if columns < rows:
            return None
        with single_threaded_blas(A.size):
            try:
                if rows == columns:
                    g = left_solve(A.T, f)
                else:  # of all g with A g = f, the one with the least mean square: D A' (A D A')^-1 f, D = 1 / chances
                    chances = np.maximum(left_times(self._p, A), 1e-300)
                    g = left_times(cholesky(gram(A / np.sqrt(chances)), 0.0)(f), A) / chances
            except NumericalFailure:
                return None
            return g if np.isfinite(g).all() and _gives_back(f, times(A, g)) else None


def _of_product(kernel: Probabilities, f: FloatArray) -> FloatArray | None:
    """Return weights from those of the parts: an inverse of each part's matrix, the shortest if there are several."""
    g = f.reshape([truths for truths, _ in kernel.factor_sizes])
    for axis, (part, (truths, reports)) in enumerate(zip(kernel.factors, kernel.factor_sizes, strict=True)):
        if reports < truths:
            return None
        A = part.block(np.arange(truths), np.arange(reports))
        with single_threaded_blas(A.size):
            try:
                unfolded = inverse(A) if truths == reports else A.T @ inverse(A @ A.T)
            except NumericalFailure:
                return None
            g = np.moveaxis(np.moveaxis(g, axis, -1) @ unfolded.T, -1, axis)
    g = g.ravel()
    return np.asarray(g) if np.isfinite(g).all() and _gives_back(f, kernel.backward(g)) else None


def _gives_back(f: FloatArray, back: FloatArray) -> bool:
    """Return whether weights give the statistic f back."""
    return bool(np.abs(back - f).max() <= WEIGHT_ACCURACY * max(float(np.abs(f).max()), 1e-300))


def effective(u: FloatArray, g: FloatArray, people: int) -> float:
    """Return the number of reports that the mean of g rests on, if the outputs have these chances.

    ``N (E off^2)^3 / (E |off|^3)^2`` with off = g - g.u: a mean is as far from normal as one over the root of this
    (Berry and Esseen). For a rare share it is about the number of reports that are counted.
    """
    off = np.abs(g - float(g @ u))
    largest = float(off.max())
    if not largest > 0:
        return math.inf
    off = off / largest
    third = float(u @ off**3)
    return people * (float(u @ off**2) / third) ** 2 * float(u @ off**2) if third > 0 else math.inf


def quantile(level: float, reports: float) -> float:
    """Return the root of the quantile of the deviance of a mean that rests on this many reports.

    Chi-squared with one degree of freedom, and a little more because reports are counted in whole numbers: with it, a
    share that 20 reports or more are expected to show is held with probability 0.94 to 0.97 at a level of 0.95 (by
    adding up the binomial distribution). Fewer reports than that are not normal enough: three degrees of freedom.
    """
    if reports < MIN_NORMAL_REPORTS:
        return intervals.quantile(level, intervals.DEGREES)
    return intervals.quantile(level, 1) * math.sqrt(1 + QUANTILE_RISE / reports)


def ends(q: FloatArray, g: FloatArray, people: int, goal: float) -> tuple[float, float]:
    """Return both ends of the interval of every share: as :func:`ends`, all at once by halving."""
    return _lower(q, g, people, goal), -_lower(q, -g, people, goal)


def _lower(q: FloatArray, g: FloatArray, people: int, goal: float) -> float:
    seen = q > 0
    share, centre, least = q[seen], float(g @ q), float(g.min())
    off = g[seen] - centre
    rounding = SAME_WEIGHT_SHARE * max(1.0, float(np.abs(g).max()))
    if centre - least <= rounding:
        return least
    unseen = float(off.min()) + centre - least > rounding
    most = 1 / (centre - least if unseen else -float(off.min()))

    def point(t: float) -> tuple[float, float]:
        """Return the mean of g at t, and the root of the deviance."""
        u = share / (1 + t * off)
        total = float(u.sum())
        deviance = 2 * people * (float(share @ np.log1p(t * off)) + math.log(total))
        return centre + float(off @ u) / total, math.sqrt(max(0.0, deviance))

    if unseen:  # an output that did not occur may still have a chance
        value, root = point(most)
        if root <= goal:
            rest = -math.expm1(-(goal * goal - root * root) / (2 * people))
            return (1 - rest) * value + rest * least
    # the root of the deviance is nearly proportional to t, so that lines through the origin are good guesses
    low, high = 0.0, most
    t = min(goal / math.sqrt(people * float(share @ off**2)), most / 2)
    for _ in range(100):
        value, root = point(t)
        if abs(root - goal) <= 1e-9 * goal or high - low <= 1e-15 * most:
            break
        low, high = (t, high) if root < goal else (low, t)
        guess = t * goal / max(root, 1e-300)
        t = guess if low < guess < high else (low + high) / 2
    return value
