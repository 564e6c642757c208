"""What an estimate says, once: numbers with intervals, what they cover, how good they are, what is protected."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...exact.arrays import FloatArray
from ...exact.rationals import text_up
from ...explanation import explain, local_guarantee
from ...mechanism import Mechanism
from ...optimise.families import FAMILIES
from ...plots.counts import label
from ...privacy.certificate import Certificate
from ...privacy.notions import BETWEEN
from ...report import Bar, Bullets, Fact, Part, Picture, Prose, Report, Section, Terms, TextTable
from ...wording import noun, percent, plural, rounded
from .. import spikes
from ..intervals.questions import COVERS, Answers
from ..method_table import method_info
from ..solvers import curves
from .summary import Answer, answers, decimals, distribution_lines, stratified_answers

if TYPE_CHECKING:
    from ..result import Estimate
    from ..strata import Homogeneity

#: Maximum number of values that a page shows, and a terminal.
MOST_ROWS, MOST_LINES = 60, 40

#: Maximum number of counts for which a cumulative band is drawn unless asked for.
MAX_BAND_COUNTS = 2000

#: Epsilon above which odds only say that there is hardly any protection.
MAX_EPSILON_IN_ODDS = 7


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


def title(of: Answers, groups: int) -> str:
    """Say in one line what was estimated from what."""
    where = f" in {groups} groups" if groups > 1 else ""
    return f"Distribution of {len(of.distribution):,} true {of.space.noun}s, from {plural(of.people, 'report')}{where}"


def estimate_report(
    estimate: Estimate, level: float, most: int, origin: Origin | None = None, *, pages: bool = True
) -> Report:
    """Return the report of an estimate.

    Parameters
    ----------
    estimate
        What to show.
    level
        Of the intervals.
    most
        How many values to show.
    origin
        The names of the files and groups, where they are known.
    pages
        Whether to work out what only pages show, such as what is protected between any two values.
    """
    statistics, stratified = answers(estimate, level), stratified_answers(estimate, level)
    test = estimate.homogeneity() if stratified else None
    origin = origin or Origin()
    sections = [
        Section(parts=tuple(_warnings(estimate, test))),
        Section(parts=(_picture(estimate, level), _statistics(statistics, stratified, level))),
        _distribution(estimate, most, level, _others(estimate, bool(stratified), pages)),
        _coverage(level, estimate.method),
        _quality(estimate),
    ]
    if test is not None:
        sections.append(_groups(test))
    sections.append(_protected(estimate, origin))
    if pages:
        sections += [*_privacy(estimate, origin), _use(origin)]
    return Report(
        title(estimate, len(estimate.problem.groups)),
        "Estimated from private reports",
        tuple(_facts(estimate, statistics, stratified, level)) if pages else (),
        tuple(section for section in sections if section.parts),
        estimate.notes,
    )


def _others(estimate: Estimate, stratified: bool, pages: bool) -> list[tuple[str, FloatArray]]:
    """Return further estimates for the table, each with its heading."""
    others = [("stratified", estimate.stratified.distribution)] if stratified else []
    if estimate.method == "empirical-bayes" and pages:
        others.append(("maximum likelihood", estimate.maximum))
    return others


def stratified_report(stratified: Answers, groups: int, level: float, most: int) -> Report:
    """Return the report of a stratified estimate."""
    statistics = answers(stratified, level)
    sections = (
        Section(parts=(Prose(_STRATIFIED),)),
        Section(parts=(_statistics(statistics, [], level),)),
        _distribution(stratified, most, level),
        _coverage(level),
    )
    kind = "Stratified estimate from private reports"
    return Report(title(stratified, groups), kind, (_first_fact(statistics[0], "", level),), sections)


# ------------------------------------------------------------------------------------------------ to take home


def _facts(estimate: Estimate, summary: Sequence[Answer], stratified: Sequence[Answer], level: float) -> Iterator[Fact]:
    yield _first_fact(summary[0], "", level)
    if stratified:
        yield _first_fact(stratified[0], "the same by the stratified estimate", level)
    by_name = {one.statistic: one for one in summary}
    if "variance" in by_name:
        yield _spread(by_name["variance"], level)
        yield _first_fact(by_name["median"], "the median true count", level)
    yield Fact(f"{estimate.people:,}", noun(estimate.people, "report"))
    yield from protection(estimate)


def _first_fact(answer: Answer, words: str, level: float) -> Fact:
    mean = "the mean true count"
    what = words or (mean if answer.statistic == "mean" else f"{label(answer.statistic, 60)}, the likeliest value")
    reach = "" if answer.interval is None else f", {percent(level)} interval {answer.interval.ends}"
    return Fact(_number(answer), f"{what}{reach}")


def _spread(variance: Answer, level: float) -> Fact:
    """Return the standard deviation, whose ends are the roots of those of the variance."""
    root = "not defined (negative entries)" if (variance.value or 0) < 0 else rounded(math.sqrt(variance.value or 0), 4)
    reach = ""
    if variance.interval is not None:
        low, high = (rounded(math.sqrt(max(end, 0.0)), 4) for end in variance.interval)
        reach = f", {percent(level)} interval {low} to {high}"
    return Fact(root, f"the spread: the standard deviation of true counts{reach}")


def _number(answer: Answer) -> str:
    return "not defined (negative entries)" if answer.value is None else rounded(answer.value, 4)


def protection(estimate: Estimate) -> Iterator[Fact]:
    """Return the epsilon between any two values in the group with the least privacy; nothing for matrices."""
    words = [local_guarantee(one) for one in _mechanisms(estimate)]
    known = [one.epsilon for one in words if one.epsilon is not None and math.isfinite(one.epsilon)]
    if words and len(known) < len(words):
        yield Fact("no bound", "on the privacy loss between any two true values; see what is protected")
    elif words:
        whose = ", in the group with the least privacy" if len(words) > 1 else ""
        yield Fact(
            f"ε = {text_up(max(known), 4)}", f"the privacy loss of each report, between any two true values{whose}"
        )


def _mechanisms(estimate: Estimate) -> list[Mechanism]:
    return [group.subject for group in estimate.problem.groups if isinstance(group.subject, Mechanism)]


def _warnings(estimate: Estimate, test: Homogeneity | None) -> Iterator[Prose]:
    """Return the warnings that belong before all numbers."""
    if not estimate.fit.plausible:
        yield Prose("", str(estimate.fit))
    if test is not None and test.differ:
        yield Prose("The common estimate assumes that all groups have the same distribution.", str(test))
    if estimate.spikes:
        few = len(estimate.distribution) < curves.MIN_SMOOTHED_VALUES
        yield Prose(spikes.ADVICE_FOR_FEW if few else spikes.ADVICE, spikes.MEANING)


# ------------------------------------------------------------------------------------------------ numbers


def band_level(estimate: Estimate, level: float) -> float | bool:
    """Return the level of the band in a picture; False where there are too many counts to draw one unasked."""
    return level if len(estimate.distribution) <= MAX_BAND_COUNTS else False


def _picture(estimate: Estimate, level: float) -> Picture:
    what = "Noise moves reports away from the truth; the estimate undoes that on average."
    if estimate.space.as_grid is not None:
        seen = "Darker cells have more people. An estimate of 0 does not mean that nobody is there."
    else:
        seen = "Bars show the estimate, lines its intervals and dots the raw reports, where they are drawn."
    return Picture("plot", {"of": estimate, "options": {"band": band_level(estimate, level)}}, f"{what} {seen}")


def _statistics(statistics: Sequence[Answer], stratified: Sequence[Answer], level: float) -> TextTable:
    """Return a table of statistics with their intervals; by the stratified estimate too, if there is one."""
    columns = [("estimate", statistics), *([("stratified", stratified)] if stratified else [])]
    headings = ["", *(heading for name, _ in columns for heading in (name, f"{percent(level)} interval"))]
    rows = [
        (label(line[0].statistic, 200), *(cell for one in line for cell in (_number(one), _ends(one))))
        for line in zip(*(column for _, column in columns), strict=True)
    ]
    numbers = tuple(range(1, len(headings)))
    return TextTable(tuple(headings), tuple(rows), numbers, strong=numbers[::2], compact=True)


def _ends(answer: Answer) -> str:
    return "–" if answer.interval is None else answer.interval.ends


def table(of: Answers, most: int, level: float, others: Sequence[tuple[str, FloatArray]] = ()) -> TextTable:
    """Return the distribution in at most ``most`` lines: counts in their order, all else by probability.

    Parameters
    ----------
    of, most, level
        The estimate, how many lines to show, and the level of intervals.
    others
        Other distributions over the same values, with what they are called.
    """
    shown, digits = distribution_lines(of, most, level), decimals(of)
    with_ends = any(one.interval is not None for one in shown)
    ranked = any(one.place is not None for one in shown)
    headings = [of.space.noun, "probability", *(name for name, _ in others)]
    headings += [f"{percent(level)} interval"] * with_ends + ["place"] * ranked + ["expected people"]
    rows, bars = [], []
    for one in shown:
        cells = [label(one.value, 200), f"{one.probability:.{digits}f}"]
        cells += [f"{float(other[one.first : one.last + 1].sum()):.{digits}f}" for _, other in others]
        if with_ends:
            cells.append("–" if one.interval is None else "{:.{d}f} to {:.{d}f}".format(*one.interval, d=digits))
        if ranked:
            cells.append("–" if one.place is None else _place(*one.place))
        rows.append((*cells, f"{of.people * one.probability:,.1f}"))
        bars.append(Bar(one.probability, *(one.interval or (None, None))))
    return TextTable(tuple(headings), tuple(rows), tuple(range(1, len(headings))), bars=tuple(bars))


def _place(best: int, worst: int) -> str:
    return f"{best}" if best == worst else f"{best} to {worst}"


def _distribution(of: Answers, most: int, level: float, others: Sequence[tuple[str, FloatArray]] = ()) -> Section:
    made, size = table(of, most, level, others), len(of.distribution)
    parts: list[Part] = []
    if of.space.has_numbers:
        if size > most:
            parts.append(Prose("In ranges; a report saved as .json has every value.", tone="note"))
    else:
        if size > len(made.rows):
            cut = f"The {len(made.rows)} likeliest of {size:,} values; a report saved as .json has them all."
            parts.append(Prose(cut, tone="note"))
        if "place" in made.headings:
            parts.append(Prose(_RANKED.format(percent(level)), tone="note"))
    return Section(f"The distribution of true {of.space.noun}s", (*parts, made))


_RANKED = (
    "The likeliest first. The intervals hold for all values at once in {} of all surveys, and so do the places that "
    "they leave to each value."
)


# ------------------------------------------------------------------------------------------------ what it is worth


def _coverage(level: float, method: str = "mle") -> Section:
    sentences = [f"A {percent(level)} interval is meant to contain the true value in {percent(level)} of all surveys."]
    sentences.append(COVERS)
    if method != "mle":
        sentences.append(
            "They come from the reports and the mechanism, not from this method, so an estimate can lie outside its "
            "interval."
        )
    sentences.append("Each interval is for one number by itself; of many, some miss.")
    return Section("What the intervals cover", (Prose(" ".join(sentences)),))


def _quality(estimate: Estimate) -> Section:
    """Return the method, and how far the estimate can be from the distribution that explains the reports best."""
    how = method_info(estimate.method).title
    if estimate.iterations:
        how += f", {plural(estimate.iterations, 'iteration')}"
    elif estimate.method == "mle":
        how += ", in closed form"
    terms = [("method", how)]
    if not math.isnan(estimate.gap):
        below = f"at most {text_up(estimate.gap, 2)} in log-likelihood per report below the maximum"
        terms.append(("gap", below if estimate.gap > 0 else "0: exactly the maximum"))
    if math.isfinite(estimate.log_likelihood):
        terms.append(("log-likelihood", f"{estimate.log_likelihood:,.2f}"))
    else:
        terms.append(("log-likelihood", "not defined: some report would have a probability of 0 or less"))
    if estimate.fit.plausible:  # otherwise it was said at the top
        terms.append(("fit", str(estimate.fit)))
    return Section("How it was computed", (Prose(_verdict(estimate)), Terms(tuple(terms))))


def _verdict(estimate: Estimate) -> str:
    if math.isnan(estimate.gap):
        return "Some entries are negative or some report is impossible, so this cannot be compared with the best one."
    if estimate.converged:
        return (
            "No other distribution explains these reports better, up to the gap below. The gap is computed from the "
            "estimate itself, so it holds whatever the solver did."
        )
    if method_info(estimate.method).smooths:
        return (
            "Smoothed on purpose: fits the reports slightly less well than the maximum of the likelihood, which is a "
            f"comb where the population is smooth.{f' {estimate.distance}' if estimate.distance is not None else ''}"
        )
    return (
        "This is not the maximum of the likelihood: another distribution may explain the reports better, up to the gap."
    )


_STRATIFIED = (
    "The stratified estimate treats each group separately and adds them up by their shares of the people. It does not "
    "assume that the choice of a mechanism says nothing about the true value."
)


def _groups(test: Homogeneity) -> Section:
    why = (
        "People used different mechanisms. The common estimate assumes that their choice says nothing about the true "
        "value."
    )
    first = () if test.differ else (Prose(str(test)),)  # otherwise it was said at the top
    return Section("Several groups", (*first, Prose(why), Prose(_STRATIFIED)))


def _protected(estimate: Estimate, origin: Origin) -> Section:
    """Return the proven guarantee of each mechanism, known without work whatever its size."""
    groups, terms = estimate.problem.groups, list[tuple[str, str]]()
    for number, group in enumerate(groups):
        if isinstance(group.subject, Mechanism):
            name = label(origin.group(number), 80) if len(groups) > 1 else "privacy"
            terms.append((name, f"each report has {_stated(group.subject.certificate)}"))
    return Section("What is protected", (Terms(tuple(terms)),) if terms else ())


def _stated(certificate: Certificate) -> str:
    if math.isinf(certificate.epsilon):
        return "no finite epsilon"
    delta = f", delta {text_up(certificate.delta, 4)}" if certificate.delta else ""
    return f"epsilon {text_up(certificate.epsilon, 4)} {BETWEEN[certificate.notion]}{delta}"


# ------------------------------------------------------------------------------------------------ for pages


def _privacy(estimate: Estimate, origin: Origin) -> Iterator[Section]:
    groups, parts = estimate.problem.groups, list[Part]()
    for number, group in enumerate(groups):
        if not isinstance(group.subject, Mechanism):
            continue
        people = plural(group.people, "person", "people")
        who = f"{label(origin.group(number), 80)}, {people}: mechanism" if len(groups) > 1 else "Mechanism:"
        parts.append(Prose(f"{FAMILIES.title(group.subject.family)}.", who))
        parts.append(Bullets(tuple(_guarantee(group.subject))))
    if parts:
        first = Prose(
            "Noise was added to each person's value before it was collected. The guarantee holds for every single "
            "report, also against whoever collects the reports."
        )
        yield Section(parts=(first, *parts), depth="pages")


def _guarantee(mechanism: Mechanism) -> list[str]:
    """Return a person's guarantee in epsilon, and in odds where it is small enough for odds to mean something."""
    words = local_guarantee(mechanism)
    lines = list(words.sentences)
    if words.epsilon is not None and words.epsilon <= MAX_EPSILON_IN_ODDS:
        certificate = Certificate("local", words.epsilon, 0.0, None, "stated", False)
        lines += explain(certificate).sentences[1:]
    return lines


def _use(origin: Origin) -> Section:
    from ... import __version__

    first = Prose(
        "The estimate describes the population, not any one person. Whatever is computed from it or from the reports "
        "costs no further privacy."
    )
    files = tuple(("reports" if not k else "", label(name, 200)) for k, name in enumerate(origin.files))
    return Section("How to use it", (first, Terms((*files, ("program", f"discreet {__version__}")))), "pages")
