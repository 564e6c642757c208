"""Simulated surveys: people drawn from a guess report through a mechanism, and the reports are estimated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...estimation.intervals.precision import Precision
from ...estimation.intervals.questions import Interval
from ...estimation.methods import estimate
from ...estimation.result import Estimate
from ...exact.arrays import FloatArray
from ...mechanism import Mechanism
from ...utility import kantorovich
from .target import Statistic, TargetError

#: Maximum number of values, evenly spread, among which the hardest are sought when the target is every value.
MAX_SCREENED_VALUES = 32

#: Share of the largest variance from which a value counts as hardest, and maximum number of those to measure.
HARDEST_SHARE, MAX_MEASURED = 0.99, 8


@dataclass(frozen=True)
class SurveyTrial:
    """The result of simulated surveys with a given number of people.

    Attributes
    ----------
    people
        Number of people in each survey.
    error
        The mean over the surveys of the target's error.
    standard_error
        Its standard error over the surveys.
    surveys
        Number of surveys.
    covered
        The share of the intervals that contained the truth; None for a map.
    off
        The root mean square error of the default estimate; None where it was not measured.
    """

    people: int
    error: float
    standard_error: float
    surveys: int
    covered: float | None = None
    off: float | None = None


class Surveys:
    """Surveys with one mechanism, for one target error.

    Parameters
    ----------
    mechanism
        The mechanism of the devices.
    guess
        The distribution of the truths.
    target
        The statistic and its target error.
    level
        Coverage of the intervals.
    """

    def __init__(self, mechanism: Mechanism, guess: FloatArray, target: TargetError, level: float) -> None:
        self.mechanism, self._guess, self._target, self._level = mechanism, guess, target, level
        self._precision = Precision(mechanism, guess)
        self._chances = np.maximum(mechanism.forward(guess), 0.0)
        self._chances /= self._chances.sum()
        self._statistics: list[Statistic] = []
        self._variance = math.nan
        if target.kind != "map":
            self._statistics, self._variance = self._hardest()

    def _hardest(self) -> tuple[list[Statistic], float]:
        """Return the statistics to measure, and the variance of the hardest per person."""
        space, target = self.mechanism.inputs, self._target
        if target.statistic is not None:
            return [target.statistic], self._precision.variance(target.weights(space))
        size = space.size or 0
        evenly = np.linspace(0, size - 1, min(size, MAX_SCREENED_VALUES)).round().astype(int)
        candidates = np.unique([*evenly, int(self._guess.argmax()), int(self._guess.argmin())]).tolist()
        variances = [self._precision.variance(np.eye(1, size, k)[0]) for k in candidates]
        largest = max(variances)
        hardest = [k for k, one in zip(candidates, variances, strict=True) if one >= HARDEST_SHARE * largest]
        measured = [hardest[k] for k in np.unique(np.linspace(0, len(hardest) - 1, MAX_MEASURED).round().astype(int))]
        return [("cell", space.value(k)) for k in measured], largest

    @property
    def variance(self) -> float:
        """The variance of the efficient estimate per person, by the Fisher information; not a number for a map."""
        return self._variance

    def sampling_variance(self) -> float:
        """Return the part of the variance that remains without any noise."""
        return max(self._precision.sampling_variance(self._weights(one)) for one in self._statistics)

    def _weights(self, statistic: Statistic) -> FloatArray:
        return TargetError(self._target.kind, 1.0, "", statistic).weights(self.mechanism.inputs)

    def simulate(self, people: int, surveys: int, seed: int, *, by_default: int = 0) -> SurveyTrial:
        """Simulate surveys and measure their errors.

        Parameters
        ----------
        people, surveys, seed
            Number of people in each survey, number of surveys, and seed of the random numbers.
        by_default
            Number of surveys in which the default estimate is measured too. Intervals do not depend on the method, and
            for them the maximum of the likelihood takes least time.
        """
        rng = np.random.default_rng(seed)
        errors: list[float] = []
        errors_by_default: list[float] = []
        coverage: list[bool] = []
        for number in range(surveys):
            counts = rng.multinomial(people, self._chances)
            if self._target.kind == "map":
                p = np.maximum(estimate(counts, self.mechanism).distribution, 0)
                errors.append(kantorovich(p / p.sum(), self._guess, self.mechanism.inputs))
                continue
            fit = estimate(counts, self.mechanism, method="mle")
            errors.append(float(np.mean([self._margin(fit, one, coverage) for one in self._statistics])))
            if number < by_default:
                difference = estimate(counts, self.mechanism).distribution - self._guess
                errors_by_default += [float(self._weights(one) @ difference) for one in self._statistics]
        deviation = float(np.std(errors, ddof=1) / math.sqrt(surveys)) if surveys > 1 else math.nan
        share = float(np.mean(coverage)) if coverage else None
        return SurveyTrial(
            people, float(np.mean(errors)), deviation, surveys, share,
            float(np.sqrt(np.mean(np.square(errors_by_default)))) if errors_by_default else None,
        )  # fmt: skip

    def _margin(self, fit: Estimate, statistic: Statistic, coverage: list[bool]) -> float:
        """Return the error that an interval states, and append to ``coverage`` whether it contains the truth."""
        weights = self._weights(statistic)
        truth, interval = float(weights @ self._guess), fit.interval(statistic, self._level)
        coverage.append(interval.low <= truth <= interval.high)
        return margin(interval, (float(weights.min()), float(weights.max())))


def margin(interval: Interval, possible: Sequence[float]) -> float:
    """Return half the length of an interval, or its remaining arm where it is cut off at a possible extreme.

    >>> whole_and_cut = Interval(0.1, 0.3, 0.25, 0.95, "P(yes)"), Interval(0.0, 0.3, 0.1, 0.95, "P(yes)")
    >>> [round(margin(one, (0.0, 1.0)), 3) for one in whole_and_cut]
    [0.1, 0.2]
    """
    is_cut = [interval.low <= possible[0], interval.high >= possible[1]]
    if any(is_cut) and not all(is_cut):
        return interval.high - interval.estimate if is_cut[0] else interval.estimate - interval.low
    return (interval.high - interval.low) / 2
