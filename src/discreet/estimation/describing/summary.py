"""The numbers that a person reads first: a few statistics with intervals, and the distribution in lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import Unsupported
from ..intervals.questions import Answers, Interval, quantile_name
from ..statistics import indicator

if TYPE_CHECKING:
    from ..result import Estimate

#: Maximum number of values for which a summary works out intervals.
MAX_INTERVAL_VALUES = 5000

#: Maximum number of labels, and of places, that have simultaneous intervals, by which they are ranked.
MAX_RANKED_LABELS, MAX_RANKED_PLACES = 200, 30

#: Share of the people whose largest counts a long table joins into one range.
TAIL_SHARE = 0.001

#: Maximum number of values for which the variance (thirty times slower) and the ranges of a table (many) have
#: intervals.
MAX_VARIANCE_VALUES = 500


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
        Around the maximum of the likelihood, with every method.
    """

    statistic: str
    value: float | None
    interval: Interval | None


def answers(estimate: Answers, level: float) -> list[Answer]:
    """Return the statistics of a summary: mean, variance and quantiles of counts, otherwise the likeliest values."""
    return [_answer(estimate, words, statistic, level) for words, statistic in _statistics(estimate)]


def stratified_answers(estimate: Estimate, level: float) -> list[Answer]:
    """Return the same statistics by the stratified estimate, in the same order; none where there is one group."""
    if len(estimate.problem.groups) < 2:
        return []
    return [_answer(estimate.stratified, words, statistic, level) for words, statistic in _statistics(estimate)]


def intervals_json(statistics: Sequence[Answer]) -> list[dict[str, Any]]:
    """Return the statistics that have an interval, as plain JSON values."""
    return [
        {"statistic": one.statistic, "estimate": one.value, "low": one.interval.low, "high": one.interval.high}
        for one in statistics
        if one.interval is not None
    ]


def distribution_json(of: Answers) -> dict[str, Any]:
    """Return the values, the probability of each, and what follows for counts, as plain JSON values."""
    content: dict[str, Any] = {
        "people": of.people,
        "space": of.space.to_json(),
        "values": [of.space.value(k) for k in range(len(of.distribution))],
        "distribution": of.distribution.tolist(),
    }
    if of.space.has_numbers:
        content |= {"mean": of.mean(), "variance": of.variance()}
        content["quantiles"] = {str(q): of.quantile(q) for q in (0.05, 0.25, 0.5, 0.75, 0.95)}
    return content


def _statistics(of: Answers) -> list[tuple[str, Any]]:
    """Return the statistics in words, and as :meth:`Answers.interval` takes them."""
    if of.space.has_numbers:
        quantiles = [(quantile_name(q), ("quantile", q)) for q in (0.25, 0.5, 0.75)]
        return [("mean", "mean"), ("variance", "variance"), *quantiles]
    likeliest = np.argsort(-of.distribution, kind="stable")[:5].tolist()
    return [(f"P({value})", ("cell", value)) for value in (of.space.value(k) for k in likeliest)]


def _answer(of: Answers, words: str, statistic: object, level: float) -> Answer:
    value = value_of(of, statistic)
    most = MAX_VARIANCE_VALUES if statistic == "variance" else MAX_INTERVAL_VALUES
    of_a_cell = isinstance(statistic, tuple) and statistic[0] == "cell"
    if len(of.distribution) > most and not (of_a_cell and of.cells_are_quick):
        return Answer(words, value, None)
    try:
        return Answer(words, value, of.interval(statistic, level))
    except Unsupported:  # groups that are solved by structure have no interval together
        return Answer(words, value, None)


def value_of(of: Answers, statistic: Any) -> float | None:
    """Return a statistic of the estimate itself; None for a quantile of an inverse with negative entries."""
    if statistic == "mean":
        mean = of.mean()
        assert isinstance(mean, float)  # counts have one; places, which have two, are not asked
        return mean
    if statistic == "variance":
        return of.variance()
    if statistic[0] == "quantile":
        return of.quantile(statistic[1]) if of.distribution.min() >= 0 else None
    return float(of.distribution @ indicator(of.space, statistic))


@dataclass(frozen=True)
class Likely:
    """A line of the distribution: a true value or a range of counts.

    Attributes
    ----------
    first, last
        The numbers of the values that it stands for.
    value
        As it is written.
    probability
        Of all of them together.
    interval
        Of that, if there is one: by itself for counts, at once with all others for labels and places.
    place
        For labels and places: the best and the worst place that the value may have among all; None if unknown.
    """

    first: int
    last: int
    value: Any
    probability: float
    interval: tuple[float, float] | None = None
    place: tuple[int, int] | None = None


def distribution_lines(of: Answers, most: int, level: float) -> list[Likely]:
    """Return the distribution in at most ``most`` lines: counts in order, in ranges where they are many; all else by
    probability, the likeliest first, with the places that they may have."""
    return _in_order(of, most, level) if of.space.has_numbers else likeliest(of, most, level)


def _in_order(of: Answers, most: int, level: float) -> list[Likely]:
    size = len(of.distribution)
    body = size
    if size > most:
        # the last line holds all counts that hardly anybody has
        body = min(size, 1 + int(np.searchsorted(np.cumsum(of.distribution), 1 - TAIL_SHARE)))
    width = -(-body // (most if body == size else most - 1))
    starts = [*range(0, body, width), *([body] if body < size else [])]
    lines = []
    for first, after in zip(starts, [*starts[1:], size], strict=True):
        last = after - 1
        low, high = of.space.value(first), of.space.value(last)
        ends = of.interval(("range", low, high), level) if size <= MAX_VARIANCE_VALUES else None
        text = f"{low} to {high}" if last > first else low
        probability = float(of.distribution[first:after].sum())
        lines.append(Likely(first, last, text, probability, None if ends is None else (ends.low, ends.high)))
    return lines


def likeliest(of: Answers, most: int, level: float) -> list[Likely]:
    """Return the likeliest values, the first one first, with intervals that hold for all values at once.

    A value may be at any place that the intervals leave: better than another if its interval is above the other's.
    Where values are many, intervals take long and are left out.
    """
    p = of.distribution
    least = 0.5 * 10.0 ** -decimals(of)
    chosen = [k for k in np.argsort(-p, kind="stable")[:most].tolist() if len(p) <= most or abs(p[k]) >= least]
    most_ranked = MAX_RANKED_LABELS if of.space.as_grid is None else MAX_RANKED_PLACES
    if len(p) > most_ranked and not of.cells_are_quick:
        return [Likely(k, k, of.space.value(k), float(p[k])) for k in chosen]
    try:
        band = of.band(level, simultaneous=True, of="cells")
    except Unsupported:  # groups that are solved by structure have no interval together
        return [Likely(k, k, of.space.value(k), float(p[k])) for k in chosen]
    lows, highs = np.sort(band.low), np.sort(band.high)
    lines = []
    for k in chosen:
        low, high = float(band.low[k]), float(band.high[k])
        best = 1 + len(p) - int(np.searchsorted(lows, high, side="right"))
        worst = len(p) - int(np.searchsorted(highs, low, side="right"))  # others that may be above, and this one
        lines.append(Likely(k, k, of.space.value(k), float(p[k]), (low, high), (best, max(best, worst))))
    return lines


def decimals(of: Answers) -> int:
    """Return the number of decimals of a probability: four, or more where the largest would have under three digits."""
    largest = float(np.abs(of.distribution).max())
    return max(4, 2 - math.floor(math.log10(largest)))
