"""The estimate as one page for people: picture, numbers with intervals, what they cover, how good they are, privacy."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exact.rationals import text_up
from ..explanation import explain, local_guarantee
from ..mechanism import Mechanism
from ..pages import Ruler, drawing, facts, page, text
from ..plots.counts import label
from ..privacy.certificate import Certificate
from ..spaces import Counts, Grid
from . import pictures
from .describing import MOST_FOR_VARIANCE, MOST_VALUES
from .questions import COVERS, Interval
from .statistics import show

if TYPE_CHECKING:
    from .result import Estimate

#: The distribution is shown at this many values; the .json report has them all.
MOST_ROWS = 60

#: Beyond this epsilon, odds say no more than that there is next to no protection.
LARGEST_IN_ODDS = 7

#: What it is, its value by the method asked for, and an interval where that does not take long.
Answer = tuple[str, float, Interval | None]


def answers(estimate: Estimate, level: float) -> list[Answer]:
    """What follows from the distribution, in a few numbers: mean, variance and quantiles, or the likeliest values.

    The value is that of the estimate; the interval is around the maximum of the likelihood, whatever the method.
    """
    size = len(estimate.distribution)

    def one(words: str, statistic: Any, value: float, most: int = MOST_VALUES) -> Answer:
        return words, value, estimate.interval(statistic, level) if size <= most else None

    if not isinstance(estimate.space, Counts):
        likeliest = np.argsort(-estimate.distribution, kind="stable")[:5].tolist()
        values = [(estimate.space.value(k), float(estimate.distribution[k])) for k in likeliest]
        return [one(f"P({value})", ("cell", value), p) for value, p in values]
    mean = estimate.mean()
    assert isinstance(mean, float)
    found = [one("mean", "mean", mean), one("variance", "variance", estimate.variance(), MOST_FOR_VARIANCE)]
    if estimate.distribution.min() >= 0:  # an inverse with negative entries has no quantiles
        found += [one(f"{q:.4g}-quantile", ("quantile", q), estimate.quantile(q)) for q in (0.25, 0.5, 0.75)]
    return found


def page_html(estimate: Estimate, level: float) -> str:
    """The page as one HTML text.

    Parameters
    ----------
    estimate
        What to show.
    level
        Of the intervals.
    """
    heading, *lines = estimate.header()
    told = answers(estimate, level)
    body = "".join(
        (
            _findings(estimate, told, level),
            _covers(estimate, level),
            _quality(estimate, lines),
            _groups(estimate),
            _privacy(estimate),
            _about(),
        )
    )
    return page(
        heading[:1].upper() + heading[1:], "Estimated from private reports", _facts(estimate, told, level), body
    )


def _facts(estimate: Estimate, told: list[Answer], level: float) -> str:
    words, value, interval = told[0]
    reach = "" if interval is None else f", {level:.4g} interval {show(interval.low)} to {show(interval.high)}"
    first = "the mean true count" if words == "mean" else f"{label(words, 60)}, the likeliest value"
    found = [(show(value), f"{first}{reach}"), (f"{estimate.people:,}", "reports")]
    found += _protection_fact(estimate)
    if not math.isnan(estimate.gap):
        most = f"≤ {text_up(estimate.gap, 2)}" if estimate.gap > 0 else "0"
        found.append((most, "log-likelihood per report missing from the best estimate"))
    return facts(found)


def _protection_fact(estimate: Estimate) -> list[tuple[str, str]]:
    """Epsilon between any two values, of the group that has the least privacy; none where there is none to state."""
    words = [local_guarantee(one) for one in _mechanisms(estimate)]
    known = [one.epsilon for one in words if one.epsilon is not None and math.isfinite(one.epsilon)]
    if not words or len(known) < len(words):
        return []
    whose = ", in the group with the least privacy" if len(words) > 1 else ""
    return [(f"ε = {text_up(max(known), 4)}", f"each person's privacy, between any two true values{whose}")]


def _mechanisms(estimate: Estimate) -> list[Mechanism]:
    return [group.subject for group in estimate.problem.groups if isinstance(group.subject, Mechanism)]


# ------------------------------------------------------------------------------------------------ sections


def _findings(estimate: Estimate, told: list[Answer], level: float) -> str:
    svg = drawing(pictures.drawn(estimate, level))
    figure = ""
    if svg:
        figure = f"<figure>{svg}<figcaption>{text(_caption(estimate))}</figcaption></figure>"
    return f"<section>{figure}{_summary(told, level)}</section><section>{_distribution(estimate, level)}</section>"


def _caption(estimate: Estimate) -> str:
    what = "The reports are flatter than the truth, because of their noise; the estimate undoes that."
    if isinstance(estimate.space, Grid):
        return f"{what} Darker cells have more people."
    return f"{what} Bars are the estimate, lines its intervals, dots the raw reports, where they are drawn."


def _summary(told: list[Answer], level: float) -> str:
    head = f"<th></th><th class=n>estimate</th><th class=n>interval ({level:g})</th>"
    rows = []
    for words, value, interval in told:
        ends = "–" if interval is None else f"{show(interval.low)} to {show(interval.high)}"
        rows.append(
            f"<tr><td><bdi>{text(label(words, 200))}</bdi></td><td class=n><strong>{text(show(value))}</strong></td>"
            f"<td class=n>{text(ends)}</td></tr>"
        )
    return f"<table class=small><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _distribution(estimate: Estimate, level: float) -> str:
    headings, cells = estimate.table(most=MOST_ROWS, level=level)
    size = len(estimate.distribution)
    cut = ""
    if size > MOST_ROWS:
        cells = [line for line in cells if float(line[1])]
        cut = (
            f"<p class=note>Shown are the {len(cells)} likeliest of {size:,} values; the .json report has them all.</p>"
        )
    numbers = [
        [float(cell) for cell in line[1:-1]] for line in cells
    ]  # the probability, and its interval if it has one
    ends = [end for line in numbers for end in line]
    ruler = Ruler(min(0.0, *ends), max(1e-9, *ends))
    head = f"<th>{text(headings[0])}</th>" + "".join(f"<th class=n>{text(name)}</th>" for name in headings[1:])
    rows = []
    for line, (p, *interval) in zip(cells, numbers, strict=True):
        low, high = interval or (None, None)
        values = "".join(f"<td class=n>{text(cell)}</td>" for cell in line[1:])
        name = text(label(line[0], 200))
        rows.append(f"<tr><td><bdi>{name}</bdi></td>{values}<td>{ruler.bar(p, low, high)}</td></tr>")
    box = " class=scroll" if len(rows) > 40 else " class=across"
    return (
        f"<h2>The distribution of true {estimate.space.noun}s</h2>{cut}<div{box}><table><thead><tr>{head}"
        f"<th class=wide></th></tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _covers(estimate: Estimate, level: float) -> str:
    words = [f"Intervals are at level {level:g}: so often they are meant to hold the true value. {COVERS}"]
    if estimate.method != "mle":
        words.append(
            "They come from the reports and the mechanism, not from this method, so that an estimate may lie outside "
            "of its own interval."
        )
    words.append("Each is for one number by itself. Of many, some miss.")
    return f"<section><h2>What the intervals cover</h2>{''.join(f'<p>{text(line)}</p>' for line in words)}</section>"


def _quality(estimate: Estimate, lines: list[str]) -> str:
    """The certificate: how far this can be from the best explanation of the reports."""
    gap = text_up(estimate.gap, 2) if estimate.gap > 0 else "0"
    if math.isnan(estimate.gap):
        sentence = "The inverse of the mechanism is no distribution here, so there is no gap to state."
    elif estimate.converged:
        sentence = (
            f"No distribution of true values explains these reports better than this one by more than {gap} in "
            "log-likelihood for each report. The bound follows from the estimate itself, whatever found it."
        )
    else:
        sentence = (
            "This is not the distribution that explains the reports best: another may be better, by up to "
            f"{gap} in log-likelihood for each report."
        )
    pairs = [re.split(r"\s{2,}", line, maxsplit=1) for line in lines]
    items = "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in pairs)
    notes = "".join(f"<dt>note</dt><dd>{text(note)}</dd>" for note in estimate.notes)
    return f"<section><h2>How good the estimate is</h2><p>{text(sentence)}</p><dl>{items}{notes}</dl></section>"


def _groups(estimate: Estimate) -> str:
    if len(estimate.problem.groups) < 2:
        return ""
    return (
        "<section><h2>Several groups</h2><p>People used different mechanisms. One distribution for all of them assumes "
        "that the choice says nothing about the true value. A test of that:</p>"
        f"<p>{text(str(estimate.homogeneity()))}</p></section>"
    )


def _privacy(estimate: Estimate) -> str:
    mechanisms = _mechanisms(estimate)
    if not mechanisms:
        return ""
    many = len(mechanisms) > 1
    parts = []
    for number, mechanism in enumerate(mechanisms):
        people = estimate.problem.groups[number].people
        title = f"<p>Group {number + 1}, {people:,} people:</p>" if many else ""
        parts.append(f"{title}<ul>{''.join(f'<li>{text(line)}</li>' for line in _guarantee(mechanism))}</ul>")
    return (
        "<section><h2>What is protected</h2><p>Noise was added to each person's value before it was collected. What "
        f"follows holds for every single report, also against whoever collects them.</p>{''.join(parts)}</section>"
    )


def _guarantee(mechanism: Mechanism) -> list[str]:
    """What a person has, in epsilon, and in odds where it is small enough for odds to mean something."""
    words = local_guarantee(mechanism)
    lines = list(words.sentences)
    if words.epsilon is not None and words.epsilon <= LARGEST_IN_ODDS:
        certificate = Certificate("local", words.epsilon, 0.0, None, "stated", False)
        lines += explain(certificate).sentences[1:]
    return lines


def _about() -> str:
    from .. import __version__

    return (
        "<section><h2>How to use it</h2><p>The estimate is about the population, never about one person. It cannot be "
        "turned back into anybody's value, and what is worked out from it or from the reports costs no further privacy."
        f"</p><dl><dt>program</dt><dd>discreet {text(__version__)}</dd></dl></section>"
    )
