"""The numbers that a person reads first: a few statistics with intervals, and the likeliest values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Unsupported
from ..spaces import Counts
from .intervals.questions import Answers, Interval, quantile_name

if TYPE_CHECKING:
    from .result import Estimate

#: Up to so many values a summary has intervals; they would take long.
MOST_VALUES = 5000

#: The same for the variance, whose interval takes thirty times as long.
MOST_FOR_VARIANCE = 500


@dataclass(frozen=True)
class Answer:
    """A statistic, its value by the method of the estimate, and an interval where that does not take long.

    Attributes
    ----------
    statistic
        What it is, in words.
    value
        Of the estimate itself; None for a quantile of an inverse with negative entries, which has none.
    interval
        Around the maximum of the likelihood, whatever the method.
    """

    statistic: str
    value: float | None
    interval: Interval | None


def answers(estimate: Answers, level: float) -> list[Answer]:
    """The statistics of a summary: mean, variance and quantiles of counts, otherwise the likeliest values."""
    return [_answer(estimate, words, statistic, level) for words, statistic in _statistics(estimate)]


def stratified_answers(estimate: Estimate, level: float) -> list[Answer]:
    """The same statistics by the stratified estimate, in the same order; empty where there is one group only."""
    if len(estimate.problem.groups) < 2:
        return []
    return [_answer(estimate.stratified, words, statistic, level) for words, statistic in _statistics(estimate)]


def intervals_json(found: Sequence[Answer]) -> list[dict[str, Any]]:
    """The statistics that have an interval, as plain JSON values."""
    return [
        {"statistic": one.statistic, "estimate": one.value, "low": one.interval.low, "high": one.interval.high}
        for one in found
        if one.interval is not None
    ]


def distribution_json(of: Answers) -> dict[str, Any]:
    """The values, the probability of each, and what follows for counts, as plain JSON values."""
    content: dict[str, Any] = {
        "people": of.people,
        "space": of.space.to_json(),
        "values": [of.space.value(k) for k in range(len(of.distribution))],
        "distribution": of.distribution.tolist(),
    }
    if isinstance(of.space, Counts):
        content |= {"mean": of.mean(), "variance": of.variance()}
        content["quantiles"] = {str(q): of.quantile(q) for q in (0.05, 0.25, 0.5, 0.75, 0.95)}
    return content


def _statistics(of: Answers) -> list[tuple[str, Any]]:
    """In words, and as what :meth:`Answers.interval` takes."""
    if isinstance(of.space, Counts):
        quantiles = [(quantile_name(q), ("quantile", q)) for q in (0.25, 0.5, 0.75)]
        return [("mean", "mean"), ("variance", "variance"), *quantiles]
    likeliest = np.argsort(-of.distribution, kind="stable")[:5].tolist()
    return [(f"P({value})", ("cell", value)) for value in (of.space.value(k) for k in likeliest)]


def _answer(of: Answers, words: str, statistic: object, level: float) -> Answer:
    value = _value(of, statistic)
    most = MOST_FOR_VARIANCE if statistic == "variance" else MOST_VALUES
    of_a_cell = isinstance(statistic, tuple) and statistic[0] == "cell"
    if len(of.distribution) > most and not (of_a_cell and of.cells_are_quick):
        return Answer(words, value, None)
    try:
        return Answer(words, value, of.interval(statistic, level))
    except Unsupported:  # groups that are solved by structure have no interval together
        return Answer(words, value, None)


def _value(of: Answers, statistic: Any) -> float | None:
    if statistic == "mean":
        mean = of.mean()
        assert isinstance(mean, float)  # counts have one; places, which have two, are not asked
        return mean
    if statistic == "variance":
        return of.variance()
    if statistic[0] == "quantile":
        return of.quantile(statistic[1]) if of.distribution.min() >= 0 else None
    return float(of.distribution[of.space.index(statistic[1])])


@dataclass(frozen=True)
class Likely:
    """A true value, by its number and as it is written, its probability, and the interval of that if there is one."""

    number: int
    value: Any
    probability: float
    interval: Interval | None


def likeliest(of: Answers, most: int, level: float) -> list[Likely]:
    """The likeliest values in the order of the space: all of them with intervals where they are at most so many.

    Where they are more, those whose probability would be shown as zero are left out.
    """
    p = of.distribution
    if len(p) <= most:
        values = [of.space.value(k) for k in range(len(p))]
        return [Likely(k, value, float(p[k]), of.interval(("cell", value), level)) for k, value in enumerate(values)]
    chosen = np.sort(np.argsort(-p, kind="stable")[:most]).tolist()
    least = 0.5 * 10.0 ** -decimals(of)
    return [Likely(k, of.space.value(k), float(p[k]), None) for k in chosen if abs(p[k]) >= least]


def decimals(of: Answers) -> int:
    """How many decimals of a probability to show: four, or more where the largest would have less than three digits."""
    largest = float(np.abs(of.distribution).max())
    return max(4, 2 - math.floor(math.log10(largest)))
