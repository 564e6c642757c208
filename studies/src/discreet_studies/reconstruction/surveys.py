"""The surveys of [F] section 4.1: two shapes, two mechanisms, one sample perturbed again and again, three estimates.

Reports are the same on every machine. What is reconstructed from them agrees to seven digits; the default estimate,
whose steps end at a tolerance, to four.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.estimation.algebra import single_threaded_blas
from discreet.estimation.methods import PAPER_ITERATIONS, estimate
from discreet.estimation.solvers import em
from discreet.exact.arrays import FloatArray, IntArray
from discreet.mechanism import Mechanism
from discreet.mechanisms.geometric import geometric
from discreet.mechanisms.response import randomized_response
from discreet.spaces import Counts
from discreet.utility import kantorovich

from ..laws import binomial
from ..study import Setting

#: The values of [F]: 0 to 100.
LARGEST = 100

#: Two truths within this distance have likelihoods within a factor of two, in both mechanisms ([F] section 4).
RADIUS = 10

#: The four points and their probabilities: drawn once at random, since [F] does not print its own.
FOUR_POINTS = {13: 0.23, 36: 0.11, 58: 0.41, 87: 0.25}

BINOMIAL, POINTS = "binomial", "4 points"
GEOMETRIC, RESPONSE = "geometric", "k-RR"

#: What is reconstructed, in the order in which it is shown.
UPDATES, MAXIMUM, DEFAULT = "5,000 updates, as in the paper", "certified maximum likelihood", "default estimate"
ESTIMATES = (UPDATES, MAXIMUM, DEFAULT)

#: What the paper leaves open.
CHOICES = (
    "The binomial distribution is that of 100 trials with probability 1/2.",
    "The four points and their probabilities, drawn once at random: "
    + ", ".join(f"{value} ({share:.0%})" for value, share in FOUR_POINTS.items())
    + ".",
    "The updates begin at the uniform distribution.",
)


def points(shares: Mapping[int, float], n: int = LARGEST) -> FloatArray:
    """Return a distribution on a few of the values 0..n."""
    p = np.zeros(n + 1)
    p[list(shares)] = list(shares.values())
    return p


def shapes() -> dict[str, FloatArray]:
    """Return the two populations by name."""
    return {BINOMIAL: binomial(LARGEST, 0.5), POINTS: points(FOUR_POINTS)}


def mechanisms(n: int = LARGEST) -> dict[str, Mechanism]:
    """Return the two mechanisms of [F], calibrated as it does: a ratio of 2 within the radius, and everywhere."""
    return {
        GEOMETRIC: geometric(n, epsilon=math.log(2) / RADIUS),
        RESPONSE: randomized_response(Counts(n), alpha="1/2"),
    }


@dataclass(frozen=True, eq=False)
class Surveys:
    """One sample of people, reported again and again through one mechanism, and what is reconstructed each time.

    Attributes
    ----------
    mechanism
        What people report with.
    population, sample
        The distribution that people were drawn from, and that of the people who were drawn.
    reports
        How often each value was reported: a row for each repetition.
    updates
        How many iterative Bayesian updates are made for ``UPDATES``.
    """

    mechanism: Mechanism
    population: FloatArray
    sample: FloatArray
    reports: IntArray
    updates: int = PAPER_ITERATIONS

    @property
    def people(self) -> int:
        """How many people report."""
        return int(self.reports[0].sum())

    @cached_property
    def _updated(self) -> tuple[FloatArray, FloatArray]:
        matrix = np.ascontiguousarray(self.mechanism.matrix)
        with single_threaded_blas(matrix.size):
            return em.iterate_each(matrix, self.reports / self.people, self.updates)

    @property
    def gaps(self) -> FloatArray:
        """How much log-likelihood per report the updates lack at most, in each repetition."""
        return self._updated[1]

    def estimates(self, which: str) -> FloatArray:
        """Return what one of ``ESTIMATES`` gives in each repetition, in rows."""
        if which == UPDATES:
            return self._updated[0]
        return self._maximum if which == MAXIMUM else self._default

    @cached_property
    def _maximum(self) -> FloatArray:
        return np.array([estimate(counts, self.mechanism, method="mle").distribution for counts in self.reports])

    @cached_property
    def _default(self) -> FloatArray:
        return np.array([estimate(counts, self.mechanism).distribution for counts in self.reports])

    @cached_property
    def typical(self) -> int:
        """The repetition in the middle, by the total variation distance from the population after the updates."""
        return int(np.argsort(self.variations(UPDATES, self.population), kind="stable")[len(self.reports) // 2])

    def distances(self, which: str, truth: FloatArray) -> FloatArray:
        """Return the Kantorovich distance of each reconstruction from a distribution."""
        return np.array([kantorovich(p, truth, self.mechanism.inputs) for p in self.estimates(which)])

    def variations(self, which: str, truth: FloatArray) -> FloatArray:
        """Return the total variation distance of each reconstruction from a distribution."""
        return np.asarray(np.abs(self.estimates(which) - truth).sum(axis=1) / 2)


def draw(
    setting: Setting, mechanism: Mechanism, population: FloatArray, people: int, repeats: int, *names: object
) -> Surveys:
    """Draw people once, and let them report again and again.

    Parameters
    ----------
    setting
        Where random numbers start.
    mechanism, population
        What people report with, and the distribution that they are drawn from.
    people, repeats
        How many people, and how often they report.
    names
        What the shape is called. The same people report through every mechanism.
    """
    counts = setting.generator("sample", *names, people).multinomial(people, population)
    return repeat(setting, mechanism, population, counts, repeats, *names)


def repeat(
    setting: Setting, mechanism: Mechanism, population: FloatArray, counts: IntArray, repeats: int, *names: object
) -> Surveys:
    """Let people report repeatedly; ``counts`` people have each value."""
    rng = setting.generator("reports", mechanism.family, *names, int(counts.sum()))
    values = np.repeat(np.arange(len(counts)), counts)
    reports = [
        np.bincount(mechanism.simulate(values, seed=int(rng.integers(2**63))), minlength=len(counts))
        for _ in range(repeats)
    ]
    return Surveys(mechanism, population, counts / counts.sum(), np.array(reports))
