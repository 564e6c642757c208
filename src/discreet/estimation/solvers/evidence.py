"""A distribution of counts as smooth as the reports allow, by empirical Bayes.

The maximum of the likelihood of a smooth population is a comb. Here the distribution is ``p = softmax(theta)`` with
theta normal, mean 0, and a covariance of three parts:

* a smooth one, ``sigma^2`` times that of a curve whose second differences are small: with D1 and D2 the differences of
  first and second order, the inverse of ``P = D2'D2 + (10 / n^2) D1'D1``, scaled to a mean variance of 1;
* ``single``, a variance that each value has for itself: few points, heaps, the spike at 40 hours;
* an atom: the value 0 may be as frequent as it likes (people without any visit).

For each kind of prior (:data:`KINDS`) sigma runs over a grid, and theta is the maximum of likelihood times prior, by
Fisher scoring. What a prior is worth is its evidence, the probability of the reports, by Laplace's approximation

    E = l(theta) - theta' Sigma^-1 theta / 2 - log det(I + S' F S) / 2,   Sigma = S S',   F the information about theta.

The prior of most evidence, less a price for what is not smooth, makes the estimate. In the coordinates ``z``,
``theta = S z``, the prior is the sum of squares of z, and directions of hardly any variance are left out.

The price is 1, and for single deviations that of one parameter more, ``log(N) / 2`` for N reports (Schwarz 1978). Under
noise so wide that a smooth population and few points explain the reports alike, Laplace's approximation overrates few
points: a value between two of them has a flat posterior at its peak and a cliff next to it. At a price of 1, smooth
populations became combs (48 in 664 surveys); at this one, few do. Populations of few points are smoothed in return
where reports are few (``docs/result_estimate.md`` has both). With the curvature at the peak instead of the Fisher
information, the evidence of the largest single deviations falls 5 to 7 nats short instead, as their posterior has many
peaks, and the battery came no nearer.

Large deviations and many reports make the entries of ``S' F S`` exceed 6e13, where rounding exceeds the added 1 and the
factor is wrong or missing. A pivot below 1 shows it, as all pivots of the exact factor exceed 1. The search leaves a
kind of prior there, at deviations that are usually far beyond the best one, and a note mentions it.

References
----------
Good and Gaskins 1971 (smoothness as a prior); Schwarz 1978 (price); MacKay 1992 (evidence); Efron 2016 (deconvolution).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...exact.arrays import FloatArray
from ..algebra import NumericalFailure, cholesky_factor, gram_of_columns, left_times, product, times
from ..model.problem import Problem
from . import curves

#: Maximum number of values with a probability of their own; more are put into bins, and the reports into twice as many.
MAX_BINS = 200

#: Deviations of the smooth part that are tried, from nearly uniform to nearly free.
DEVIATIONS = tuple(10.0 ** (k / 2) for k in range(-5, 13))

#: Number of the smallest deviations that are tried for smooth priors alone.
SMOOTH_ONLY_DEVIATIONS = 2

#: Fall of the evidence below its best after which a kind of prior is left.
MAX_EVIDENCE_FALL = 12.0

#: Price of what is not smooth, in units of log evidence; single deviations pay that of a parameter as well.
PRICE = 1.0

#: Deviation above which larger ones are expected less, a priori, in proportion to their root.
EXPECTED_DEVIATION = 0.3

#: Variance of the atom's deviation.
ATOM_VARIANCE = 30.0

#: Least pivot of the Cholesky factor of I + S'FS. Exact ones are at least 1; below this, rounding took their digits.
LEAST_PIVOT = 0.9

#: Prior variance, as a share of what one report tells, below which a direction is left out.
NEGLIGIBLE_VARIANCE = 1e-3

#: Gain in log-likelihood below which steps end: while priors are compared, and for the chosen one.
ROUGH_GAIN, FINE_GAIN = 1e-3, 1e-9

#: Longest step in the log of a ratio of probabilities, shortest as a share of it, and maximum number of steps.
MAX_LOG_STEP, MIN_STEP_SHARE, MAX_STEPS = 4.0, 1e-6, 100


@dataclass(frozen=True)
class Kind:
    """A kind of prior.

    Attributes
    ----------
    single
        The variance that each value has for itself.
    atom
        True if the value 0 has a term of its own.
    """

    single: float = 0.0
    atom: bool = False

    def price(self, people: float) -> float:
        """Return the fall in log evidence that this kind must outweigh, for this many reports."""
        return PRICE * (self.atom or self.single > 0) + math.log(people) / 2 * (self.single > 0)


KINDS = (Kind(), Kind(0.3), Kind(3.0), Kind(30.0), Kind(atom=True))


@dataclass(frozen=True)
class Smoothed:
    """An estimate, and the prior that made it.

    Attributes
    ----------
    p
        The distribution.
    kind, deviation
        The kind of prior, and the standard deviation of its smooth part.
    score
        Its evidence less its price.
    bins
        The number of values or bins that have a probability of their own.
    unfinished
        The number of kinds of prior that were left because rounding made larger deviations meaningless.
    """

    p: FloatArray
    kind: Kind
    deviation: float
    score: float
    bins: int
    unfinished: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """The choice and its reason, and what could not be tried, for people."""
        if not self.unfinished:
            return (self.sentence,)
        return (
            self.sentence,
            f"Rounding ended the search early for {self.unfinished} of the {len(KINDS)} kinds of prior: their largest "
            "deviations were not tried.",
        )

    @property
    def sentence(self) -> str:
        """The choice and its reason, for people."""
        likeliest = "a smooth curve makes"
        if self.kind.atom:
            likeliest = "a smooth curve with a zero that stands on its own makes"
        elif self.kind.single:
            likeliest = "single values that stand out from a smooth curve make"
        into = f", in {self.bins} bins" if self.bins < len(self.p) else ""
        return f"Smoothed as far as the reports allow{into}: {likeliest} these reports likeliest."


def smooth(problem: Problem) -> Smoothed:
    """Return the estimate of most evidence, for reports about counts.

    Raises
    ------
    NumericalFailure
        If no prior at all could be worked out.
    """
    reports = _Reports(problem)
    candidates: list[_Peak] = []
    unfinished = 0
    for kind in KINDS if problem.truths.is_line else KINDS[:-1]:  # people without any are the count 0
        try:
            for candidate in _along(reports, kind):
                candidates.append(candidate)  # those before a failure are kept
        except NumericalFailure:
            unfinished += 1
    if not candidates:
        raise NumericalFailure("double precision does not suffice to smooth these reports.")
    best = max(candidates, key=lambda one: one.score)
    try:
        p = _climb(reports, _prior(reports, best.kind, best.deviation), best.z, FINE_GAIN).p
    except NumericalFailure:
        p = best.p  # as near as the comparison of priors needs it
    return Smoothed(reports.spread(p, best.kind), best.kind, best.deviation, best.score, reports.size, unfinished)


# ------------------------------------------------------------------------------------------------ reports and bins


class _Reports:
    """The counts of the reports, and their probabilities under each value or bin."""

    def __init__(self, problem: Problem) -> None:
        self._whole = problem.size
        width = math.ceil((problem.size - 1) / (MAX_BINS - 1)) if problem.size > MAX_BINS else 1
        # 0 keeps a bin to itself: that is where people without any are
        self._edges = np.array([0, *range(1, problem.size, width)])
        self._widths = np.diff([*self._edges, problem.size])
        counts = problem.counts.astype(float)
        rows = problem.block() if width == 1 else np.stack([problem.chances(p) for p in self._bins()])
        if len(counts) > 2 * MAX_BINS:
            starts = np.linspace(0, len(counts), 2 * MAX_BINS, endpoint=False).astype(int)
            rows, counts = np.add.reduceat(rows, starts, axis=1), np.add.reduceat(counts, starts)
        self.A = np.ascontiguousarray(np.maximum(rows, 0.0))  # Fourier transforms leave traces of nothing
        self.columns = np.ascontiguousarray(self.A.T)
        self.counts, self.people = counts, float(counts.sum())
        self.size = len(self._edges)
        truths = problem.truths
        self.curves = curves.of_line(self.size) if truths.has_numbers else curves.of_graph(truths)

    def _bins(self) -> Iterator[FloatArray]:
        for first, wide in zip(self._edges, self._widths, strict=True):
            p = np.zeros(self._whole)
            p[first : first + wide] = 1 / wide
            yield p

    def chances(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return the distribution, the chance of each report, and the log-likelihood."""
        weights = np.exp(theta - theta.max())
        p = weights / weights.sum()
        u = left_times(p, self.A)
        with np.errstate(divide="ignore"):
            return p, u, float(self.counts @ np.log(u))

    def spread(self, p: FloatArray, kind: Kind) -> FloatArray:
        """Return the distribution of the values from that of the bins: log-linear between the middles of bins."""
        if self.size == self._whole:
            return p
        each = p / self._widths
        if kind.single:
            return np.repeat(each, self._widths)
        middles = self._edges + (self._widths - 1) / 2
        inner = np.exp(np.interp(np.arange(1, self._whole), middles[1:], np.log(np.maximum(each[1:], 1e-300))))
        return np.concatenate([p[:1], (1 - p[0]) * inner / inner.sum()])


# ------------------------------------------------------------------------------------------------ priors


@dataclass(frozen=True)
class _Prior:
    """Columns S with theta = S z: those of the curves, and one for an atom at the end."""

    S: FloatArray
    kept: FloatArray
    atom: float


@dataclass(frozen=True)
class _Peak:
    """The end of a climb, and what the prior is worth there."""

    z: FloatArray
    theta: FloatArray
    p: FloatArray
    score: float
    kind: Kind = Kind()
    deviation: float = 0.0


def _prior(reports: _Reports, kind: Kind, deviation: float) -> _Prior:
    vectors, of_curve = reports.curves
    variances = deviation**2 * of_curve + kind.single
    variances[0] = 1.0  # adding a constant to theta changes nothing
    kept = variances * reports.people > NEGLIGIBLE_VARIANCE
    S = vectors[:, kept] * np.sqrt(variances[kept])
    if kind.atom:
        atom = np.zeros((reports.size, 1))
        atom[0] = math.sqrt(ATOM_VARIANCE)
        S = np.concatenate([S, atom], axis=1)
    return _Prior(
        np.ascontiguousarray(S), np.where(kept, np.sqrt(variances), 0.0), math.sqrt(ATOM_VARIANCE) * kind.atom
    )


def _along(reports: _Reports, kind: Kind) -> Iterator[_Peak]:
    """Yield the estimates of one kind of prior, from nearly uniform on, each begun where the last one ended."""
    vectors, _ = reports.curves
    theta, atom, top = np.zeros(reports.size), 0.0, -math.inf
    for deviation in DEVIATIONS[SMOOTH_ONLY_DEVIATIONS * (kind != Kind()) :]:
        prior = _prior(reports, kind, deviation)
        curve = theta.copy()
        curve[0] -= atom
        kept = prior.kept > 0
        z = left_times(curve, vectors)[kept] / prior.kept[kept]
        if kind.atom:
            z = np.append(z, atom / prior.atom)
        candidate = _climb(reports, prior, z, ROUGH_GAIN)
        theta, atom = candidate.theta, float(candidate.z[-1]) * prior.atom
        evidence = candidate.score
        top = max(top, evidence)
        score = (
            evidence - kind.price(reports.people) - math.log(max(deviation, EXPECTED_DEVIATION) ** 2 + kind.single) / 4
        )
        yield _Peak(candidate.z, theta, candidate.p, score, kind, deviation)
        if evidence < top - MAX_EVIDENCE_FALL:
            return


def _climb(reports: _Reports, prior: _Prior, z: FloatArray, enough: float) -> _Peak:
    """Climb by Fisher scoring from z until a step gains no more than this; the score is the evidence.

    Raises
    ------
    NumericalFailure
        If rounding has taken the digits of the factor that the evidence needs.
    """
    S, A, people = prior.S, reports.A, reports.people
    theta = times(S, z)
    p, u, log_likelihood = reports.chances(theta)
    value = log_likelihood - float(z @ z) / 2
    for _ in range(MAX_STEPS):
        gradient = left_times(p * (times(A, reports.counts / u) - people), S) - z
        moved = product(reports.columns, p[:, None] * S) - np.outer(u, left_times(p, S))
        factor, solve = cholesky_factor(gram_of_columns(moved * np.sqrt(people / u)[:, None]), 1.0)
        step = solve(gradient)
        gain = float(gradient @ step)
        if gain < enough:
            break
        direction = times(S, step)
        share = min(1.0, MAX_LOG_STEP / max(float(np.abs(direction).max()), 1e-300))
        while share > MIN_STEP_SHARE:
            there = z + share * step
            p_there, u_there, log_there = reports.chances(theta + share * direction)
            value_there = log_there - float(there @ there) / 2
            if value_there >= value + 5e-5 * share * gain:
                break
            share /= 2
        else:
            break
        z, theta, p, u, value = there, theta + share * direction, p_there, u_there, value_there
    if not float(factor.diagonal().min()) >= LEAST_PIVOT:
        raise NumericalFailure
    evidence = value + max(gain, 0.0) / 2 - float(np.log(factor.diagonal()).sum())
    return _Peak(z, theta, p, evidence)
