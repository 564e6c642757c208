"""An estimate in words: how it was made, how good it is, and what it says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Unsupported
from ..exact.rationals import text_up
from ..spaces import Counts
from ..wording import plural, rounded
from . import spikes
from .intervals.questions import COVERS, Interval

if TYPE_CHECKING:
    from .result import Estimate
    from .strata import Stratified

#: Up to so many values a summary has intervals; they would take long.
MOST_VALUES = 5000

#: The same for the variance, whose interval takes thirty times as long.
MOST_FOR_VARIANCE = 500

#: What it is, its value by the method asked for, and an interval where that does not take long.
Answer = tuple[str, float, Interval | None]

_METHODS = {
    "mle": "maximum likelihood",
    "smoothed": "iterative Bayesian updates stopped where cross-validation says",
    "ibu": "iterative Bayesian updates",
    "inverse": "the inverse of the mechanism",
}


def title(estimate: Estimate) -> str:
    """What was estimated from what, in one line."""
    size, groups = len(estimate.distribution), len(estimate.problem.groups)
    of = f" of {groups} groups" if groups > 1 else ""
    return f"distribution of {size:,} true {estimate.space.noun}s, from {plural(estimate.people, 'report')}{of}"


def header(estimate: Estimate) -> list[str]:
    """How it was made and how good it is, in a few lines."""
    steps, how = estimate.iterations, _METHODS[estimate.method]
    if steps:
        how += f", {plural(steps, 'iteration')}"
    elif estimate.method == "mle":
        how += ", in closed form"
    lines = [
        title(estimate),
        f"method          {how}",
    ]
    if not math.isnan(estimate.gap):
        means = "the maximum" if estimate.converged else "not the maximum"
        below = f"the log-likelihood is below its largest value by {text_up(estimate.gap, 2)} per report at most"
        lines.append(f"gap             {below}: {means} of the likelihood")
    if math.isfinite(estimate.log_likelihood):
        lines.append(f"log-likelihood  {estimate.log_likelihood:.6f}")
    else:
        lines.append("log-likelihood  none: some report would have a chance of 0 or less")
    lines.append(f"fit             {estimate.fit}")
    if estimate.spikes:
        lines.append(f"spiky           {spikes.MEANING} {spikes.ADVICE}")
    return lines


def answers(estimate: Estimate, level: float) -> list[Answer]:
    """What follows from the distribution, in a few numbers: mean, variance and quantiles, or the likeliest values.

    The value is that of the estimate; the interval is around the maximum of the likelihood, whatever the method.
    """
    return [_answer(estimate, words, statistic, level) for words, statistic in _asked(estimate)]


def stratified_answers(estimate: Estimate, level: float) -> list[Answer]:
    """The same numbers by the stratified estimate, in the same order; empty where there is one group only."""
    if len(estimate.problem.groups) < 2:
        return []
    return [_answer(estimate.stratified, words, statistic, level) for words, statistic in _asked(estimate)]


def with_stratified(
    estimate: Estimate, headings: Sequence[str], cells: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """The table of an estimate with the stratified probabilities beside its own, where there are several groups."""
    if len(estimate.problem.groups) < 2:
        return list(headings), [list(line) for line in cells]
    # the rows of the table: the likeliest values, in their order
    chosen = np.sort(np.argsort(-estimate.distribution, kind="stable")[: len(cells)]).tolist()
    other = [f"{estimate.stratified.distribution[k]:.4f}" for k in chosen]
    wider = [[*line[:2], p, *line[2:]] for line, p in zip(cells, other, strict=True)]
    return [*headings[:2], "stratified", *headings[2:]], wider


def _asked(estimate: Estimate) -> list[tuple[str, Any]]:
    """What is told of an estimate, in words and as a statistic."""
    if not isinstance(estimate.space, Counts):
        likeliest = np.argsort(-estimate.distribution, kind="stable")[:5].tolist()
        values = [estimate.space.value(k) for k in likeliest]
        return [(f"P({value})", ("cell", value)) for value in values]
    found: list[tuple[str, Any]] = [("mean", "mean"), ("variance", "variance")]
    if estimate.distribution.min() >= 0:  # an inverse with negative entries has no quantiles
        found += _quantiles()
    return found


def _quantiles() -> list[tuple[str, Any]]:
    return [(f"{q:.4g}-quantile", ("quantile", q)) for q in (0.25, 0.5, 0.75)]


def _answer(of: Estimate | Stratified, words: str, statistic: Any, level: float) -> Answer:
    value: Any
    if statistic == "mean":
        value = of.mean()
    elif statistic == "variance":
        value = of.variance()
    elif statistic[0] == "quantile":
        value = of.quantile(statistic[1])
    else:
        value = float(of.distribution[of.space.index(statistic[1])])
    if len(of.distribution) > (MOST_FOR_VARIANCE if statistic == "variance" else MOST_VALUES):
        return words, value, None
    try:
        return words, value, of.interval(statistic, level)
    except Unsupported:  # groups that are solved by structure have no interval together
        return words, value, None


def sentences(estimate: Estimate, level: float) -> list[str]:
    """The summary, line by line."""
    lines = header(estimate)
    lines += [words.ljust(16) + _with(value, interval) for words, value, interval in answers(estimate, level)]
    if isinstance(estimate.space, Counts) and estimate.distribution.min() < 0:
        lines += [_only_interval(estimate, words, statistic, level) for words, statistic in _quantiles()]
    lines.append(f"intervals       in brackets, at level {level:g}. {COVERS}")
    if estimate.method != "mle":
        lines.append(
            "                They come from the reports and the mechanism, not from this method, so that an estimate "
            "may lie outside of its own."
        )
    lines += [f"note            {note}" for note in estimate.notes]
    return lines


def _only_interval(estimate: Estimate, words: str, statistic: Any, level: float) -> str:
    """What an inverse with negative entries has of a quantile."""
    _, _, found = _answer(estimate, words, statistic, level)
    return words.ljust(16) + "none, because of negative entries" + ("" if found is None else f" ({_ends(found)})")


def _with(value: Any, interval: Interval | None) -> str:
    return rounded(value, 4) + ("" if interval is None else f" ({_ends(interval)})")


def _ends(interval: Interval) -> str:
    return f"{rounded(interval.low, 4)} to {rounded(interval.high, 4)}"


def table(estimate: Estimate, most: int, level: float) -> tuple[list[str], list[list[str]]]:
    """Headings and cells, as text: the likeliest values in their order, with intervals where there are few."""
    chosen = np.sort(np.argsort(-estimate.distribution, kind="stable")[:most])
    few = len(estimate.distribution) <= most
    limits = [f"low ({level:g})", f"high ({level:g})"] if few else []
    headings = [estimate.space.noun, "probability", *limits, "expected number"]
    cells = []
    for k in chosen.tolist():
        value, p = estimate.space.value(k), float(estimate.distribution[k])
        ends = [f"{end:.4f}" for end in estimate.interval(("cell", value), level)] if few else []
        cells.append([str(value), f"{p:.4f}", *ends, f"{estimate.people * p:.1f}"])
    return headings, cells
