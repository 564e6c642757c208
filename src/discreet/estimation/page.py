"""The estimate as one page for people: picture, numbers with intervals, what they cover, how good they are, privacy."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..exact.rationals import text_up
from ..explanation import explain, local_guarantee
from ..mechanism import Mechanism
from ..pages.frame import Ruler, drawing, facts, page, text
from ..plots.counts import label
from ..privacy.certificate import Certificate
from ..spaces import Grid
from ..wording import noun, plural, rounded
from . import pictures, spikes
from .describing import Answer, answers, stratified_answers, title, with_stratified
from .intervals.questions import COVERS, Interval

if TYPE_CHECKING:
    from .result import Estimate
    from .strata import Homogeneity

#: The distribution is shown at this many values; the .json report has them all.
MOST_ROWS = 60

#: Beyond this epsilon, odds say no more than that there is next to no protection.
LARGEST_IN_ODDS = 7


@dataclass(frozen=True)
class Origin:
    """Where the reports came from.

    Attributes
    ----------
    files
        The names of the files.
    groups
        What the groups are called, in their order; empty where they have numbers only.
    """

    files: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def group(self, number: int) -> str:
        return f"Group {self.groups[number] if self.groups else number + 1}"


def page_html(estimate: Estimate, level: float, origin: Origin | None = None) -> str:
    """The page as one HTML text.

    Parameters
    ----------
    estimate
        What to show.
    level
        Of the intervals.
    origin
        The names of the files and groups, where they are known.
    """
    heading, lines, origin = title(estimate), estimate.header()[1:], origin or Origin()
    told, stratified = answers(estimate, level), stratified_answers(estimate, level)
    test = estimate.homogeneity() if stratified else None
    body = "".join(
        (
            _findings(estimate, told, stratified, level),
            _covers(estimate, level),
            _quality(estimate, lines),
            _groups(test),
            _privacy(estimate, origin),
            _about(origin),
        )
    )
    head = _facts(estimate, told, stratified, level) + _misfit(estimate) + _spiky(estimate) + _warning(test)
    return page(heading[:1].upper() + heading[1:], "Estimated from private reports", head, body)


def _facts(estimate: Estimate, told: list[Answer], stratified: list[Answer], level: float) -> str:
    words, value, interval = told[0]
    first = "the mean true count" if words == "mean" else f"{label(words, 60)}, the likeliest value"
    found = [(rounded(value, 4), f"{first}{_reach(interval, level)}")]
    if stratified:
        _, value, interval = stratified[0]
        found.append((rounded(value, 4), f"the same by the stratified estimate{_reach(interval, level)}"))
    found.append((f"{estimate.people:,}", noun(estimate.people, "report")))
    found += _protection_fact(estimate)
    if not math.isnan(estimate.gap):
        most = f"≤ {text_up(estimate.gap, 2)}" if estimate.gap > 0 else "0"
        found.append((most, "log-likelihood per report missing from the best estimate"))
    return facts(found)


def _reach(interval: Interval | None, level: float) -> str:
    return (
        "" if interval is None else f", {level:.4g} interval {rounded(interval.low, 4)} to {rounded(interval.high, 4)}"
    )


def _misfit(estimate: Estimate) -> str:
    """Beside the headline: that the reports do not look like the mechanism's."""
    return "" if estimate.fit.plausible else f"<p><strong>{text(str(estimate.fit))}</strong></p>"


def _spiky(estimate: Estimate) -> str:
    """Beside the headline: that single bars mean little."""
    if not estimate.spikes:
        return ""
    return f"<p><strong>{text(spikes.MEANING)}</strong> {text(spikes.ADVICE)} (In a terminal: --method smoothed.)</p>"


def _warning(test: Homogeneity | None) -> str:
    """Beside the headline: which of the two estimates to use, if it matters."""
    if test is None or test.p_value > 0.05:
        return ""
    return (
        f"<p><strong>The groups seem to differ (p = {test.p_value:.3g}): use the stratified estimate.</strong> The "
        "common one assumes that all groups have the same distribution.</p>"
    )


def _protection_fact(estimate: Estimate) -> list[tuple[str, str]]:
    """Epsilon between any two values, of the group that has the least privacy; none where there is none to state."""
    words = [local_guarantee(one) for one in _mechanisms(estimate)]
    known = [one.epsilon for one in words if one.epsilon is not None and math.isfinite(one.epsilon)]
    if not words:
        return []
    if len(known) < len(words):
        return [("no bound", "on epsilon between any two true values; see what is protected")]
    whose = ", in the group with the least privacy" if len(words) > 1 else ""
    return [(f"ε = {text_up(max(known), 4)}", f"each person's privacy, between any two true values{whose}")]


def _mechanisms(estimate: Estimate) -> list[Mechanism]:
    return [group.subject for group in estimate.problem.groups if isinstance(group.subject, Mechanism)]


# ------------------------------------------------------------------------------------------------ sections


def _findings(estimate: Estimate, told: list[Answer], stratified: list[Answer], level: float) -> str:
    svg = drawing(pictures.drawn(estimate, level))
    figure = ""
    if svg:
        figure = f"<figure>{svg}<figcaption>{text(_caption(estimate))}</figcaption></figure>"
    numbers = _summary(told, stratified, level)
    return f"<section>{figure}{numbers}</section><section>{_distribution(estimate, level)}</section>"


def _caption(estimate: Estimate) -> str:
    what = "Noise moves reports away from the truth; the estimate undoes that on average."
    if isinstance(estimate.space, Grid):
        return f"{what} Darker cells have more people. An estimate of 0 does not say that nobody is there."
    return f"{what} Bars are the estimate, lines its intervals, dots the raw reports, where they are drawn."


def _summary(told: list[Answer], stratified: list[Answer], level: float) -> str:
    columns = [("estimate", told), *([("stratified", stratified)] if stratified else [])]
    head = "<th></th>" + "".join(f"<th class=n>{name}</th><th class=n>interval ({level:g})</th>" for name, _ in columns)
    rows = []
    for line in zip(*(column for _, column in columns), strict=True):
        cells = f"<td><bdi>{text(label(line[0][0], 200))}</bdi></td>"
        for _, value, interval in line:
            ends = "–" if interval is None else f"{rounded(interval.low, 4)} to {rounded(interval.high, 4)}"
            cells += f"<td class=n><strong>{text(rounded(value, 4))}</strong></td><td class=n>{text(ends)}</td>"
        rows.append(f"<tr>{cells}</tr>")
    return f"<table class=small><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _distribution(estimate: Estimate, level: float) -> str:
    headings, cells = with_stratified(estimate, *estimate.table(most=MOST_ROWS, level=level))
    size = len(estimate.distribution)
    cut = ""
    if size > MOST_ROWS:
        cells = [line for line in cells if float(line[1])]
        cut = (
            f"<p class=note>Shown are the {len(cells)} likeliest of {size:,} values; the .json report has them all.</p>"
        )
    drawn = [k for k, name in enumerate(headings) if k and name not in ("stratified", "expected number")]
    numbers = [[float(line[k]) for k in drawn] for line in cells]  # the probability, and its interval if it has one
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


def _groups(test: Homogeneity | None) -> str:
    if test is None:
        return ""
    return (
        "<section><h2>Several groups</h2><p>People used different mechanisms. One distribution for all of them assumes "
        "that the choice says nothing about the true value. A test of that:</p>"
        f"<p>{text(str(test))}</p><p>The stratified estimate does not assume it: each group is estimated on its own, "
        "and they are added up by their shares of the people.</p></section>"
    )


def _privacy(estimate: Estimate, origin: Origin) -> str:
    groups = estimate.problem.groups
    parts = []
    for number, group in enumerate(groups):
        if not isinstance(group.subject, Mechanism):
            continue
        family = group.subject.family.replace("_", " ")
        people = plural(group.people, "person", "people")
        who = f"{label(origin.group(number), 80)}, {people}: mechanism" if len(groups) > 1 else "Mechanism:"
        lines = "".join(f"<li>{text(line)}</li>" for line in _guarantee(group.subject))
        parts.append(f"<p>{text(who)} <strong>{text(family)}</strong>.</p><ul>{lines}</ul>")
    if not parts:
        return ""
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


def _about(origin: Origin) -> str:
    from .. import __version__

    files = "".join(f"<dt>reports</dt><dd><bdi>{text(label(name, 200))}</bdi></dd>" for name in origin.files)

    return (
        "<section><h2>How to use it</h2><p>The estimate is about the population, never about one person. It cannot be "
        "turned back into anybody's value, and what is worked out from it or from the reports costs no further privacy."
        f"</p><dl>{files}<dt>program</dt><dd>discreet {text(__version__)}</dd></dl></section>"
    )


def save(estimate: Estimate, path: Path, level: float) -> Path:
    """The numbers as .json, a page as .html, or the picture."""
    if path.suffix.lower() == ".json":
        path.write_text(json.dumps(estimate.to_json(), indent=1) + "\n", encoding="utf-8")
    elif path.suffix.lower() == ".html":
        path.write_text(page_html(estimate, level), encoding="utf-8")
    else:
        pictures.drawn(estimate, level).save(path)
    return path
