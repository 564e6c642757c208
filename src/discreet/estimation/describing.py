"""An estimate in words: how it was made, how good it is, and what it says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exact.rationals import text_up
from ..spaces import Counts
from .questions import COVERS, Interval
from .statistics import show

if TYPE_CHECKING:
    from .result import Estimate

#: Up to so many values a summary has intervals; they would take long.
MOST_VALUES = 5000

#: The same for the variance, whose interval takes thirty times as long.
MOST_FOR_VARIANCE = 500

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


def plural(number: int, noun: str) -> str:
    """So many of something.

    >>> plural(1, "report"), plural(20190, "report")
    ('1 report', '20,190 reports')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def header(estimate: Estimate) -> list[str]:
    """How it was made and how good it is, in a few lines."""
    steps, how = estimate.iterations, _METHODS[estimate.method]
    if steps:
        how += f", {steps:,} iteration{'s' * (steps > 1)}"
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
    return lines


def sentences(estimate: Estimate, level: float) -> list[str]:
    """The summary, line by line."""
    lines = header(estimate)
    if isinstance(estimate.space, Counts):
        lines.append(f"mean            {_with(estimate.mean(), _quietly(estimate, 'mean', level))}")
        spread = _quietly(estimate, "variance", level, MOST_FOR_VARIANCE)
        lines.append(f"variance        {_with(estimate.variance(), spread)}")
        lines += [_quantile(estimate, q, level) for q in (0.25, 0.5, 0.75)]
    else:
        for k in np.argsort(-estimate.distribution, kind="stable")[:5].tolist():
            value = estimate.space.value(k)
            shown = _with(float(estimate.distribution[k]), _quietly(estimate, ("cell", value), level))
            lines.append(f"P({value})".ljust(16) + shown)
    lines.append(f"intervals       in brackets, at level {level:g}. {COVERS}")
    if estimate.method != "mle":
        lines.append(
            "                They come from the reports and the mechanism, not from this method, so that an estimate "
            "may lie outside of its own."
        )
    lines += [f"note            {note}" for note in estimate.notes]
    return lines


def _quantile(estimate: Estimate, q: float, level: float) -> str:
    found = _quietly(estimate, ("quantile", q), level)
    start = f"{q:.0%} quantile".ljust(16)
    if estimate.distribution.min() >= 0:
        return start + _with(estimate.quantile(q), found)
    return start + "none, because of negative entries" + ("" if found is None else f" ({_ends(found)})")


def _quietly(estimate: Estimate, statistic: Any, level: float, most: int = MOST_VALUES) -> Interval | None:
    """An interval for a summary; none where it would take long."""
    return None if len(estimate.distribution) > most else estimate.interval(statistic, level)


def _with(value: Any, interval: Interval | None) -> str:
    return show(value) + ("" if interval is None else f" ({_ends(interval)})")


def _ends(interval: Interval) -> str:
    return f"{show(interval.low)} to {show(interval.high)}"


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
