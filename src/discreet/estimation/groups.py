"""Groups of people who report by one mechanism, each estimated on its own, and how much they differ.

Groups are independent samples, so an interval for a difference follows from one for each (Zou and Donner 2008): with
estimates a, b and intervals (la, ua), (lb, ub),

    a - b - sqrt((a - la)^2 + (ub - b)^2)   to   a - b + sqrt((ua - a)^2 + (b - lb)^2).

It assumes nothing of the distributions that the two intervals do not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInput, InWords, arg, named
from ..exact.arrays import as_floats
from ..plots import Chart
from ..plots.counts import label
from ..plots.reconstruction import cumulative_lines, share_dots
from ..report import Fact, Json, Picture, Prose, Report, Result, Section, Terms, TextTable, stamped
from ..tabular import Columns, Tabular
from ..wording import listed, noun, percent, plural, rounded
from .describing.report import MOST_LINES, protection
from .describing.summary import distribution_json, value_of
from .intervals.questions import COVERS, Interval
from .methods import Estimator, Method, estimate
from .model.problem import Problem
from .result import Estimate, of_problem
from .statistics import read_share
from .strata import Homogeneity

#: A statistic as :meth:`Estimate.interval` takes it.
Statistic = str | tuple[object, ...] | Sequence[float]

#: Number of samples that the test of equal distributions draws.
SIMULATIONS = 99

#: Statistics of counts that are compared; number of likeliest values that are compared otherwise.
COMPARED_OF_COUNTS, COMPARED_VALUES = (("mean", "mean"), ("median", ("quantile", 0.5)), ("share of 0", ("cell", 0))), 5


@dataclass(frozen=True)
class Difference:
    """The difference between two groups in a statistic.

    Attributes
    ----------
    statistic
        What it is, in words.
    first, second
        The groups.
    value
        The difference by the method of the estimates.
    low, high
        An interval for it, from the intervals of both.

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.randomized_response(["no", "yes"], epsilon=2)
    >>> found = dc.estimate_by({"women": [600, 400], "men": [500, 500]}, m).differences()[0]
    >>> found.statistic, found.first, found.second, found.found
    ('P(no)', 'men', 'women', True)
    """

    statistic: str
    first: str
    second: str
    value: float
    low: float
    high: float

    @property
    def found(self) -> bool:
        """True if the interval leaves no doubt which of the two is larger."""
        return self.low > 0 or self.high < 0

    def values(self) -> dict[str, Json]:
        """Return the difference as plain JSON values."""
        return {
            "statistic": self.statistic,
            "first": self.first,
            "second": self.second,
            "difference": self.value,
            "low": self.low,
            "high": self.high,
        }


@dataclass(frozen=True, eq=False)
class GroupEstimates(Tabular, Result):
    """The estimate of each of several groups of people, and how much they differ. Made by :func:`estimate_by`.

    Attributes
    ----------
    estimates
        By the name of the group.
    column
        What the groups are by: the name of a column, or empty.

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.randomized_response(["no", "yes"], epsilon=2)
    >>> both = dc.estimate_by({"women": [600, 400], "men": [500, 500]}, m, column="sex")
    >>> both.largest, both.people, both["men"].distribution.round(2).tolist()
    ('women', 2000, [0.5, 0.5])
    """

    estimates: Mapping[str, Estimate] = field(repr=False)
    column: str = ""

    def data_columns(self) -> Columns:
        """Return a row for each group and true value, with its probability there."""
        values = {name: one.data_columns() for name, one in self.estimates.items()}
        names = [name for name, columns in values.items() for _ in columns["value"]]
        rest = ("value", "probability")
        return {self.column or "group": names} | {
            one: [v for columns in values.values() for v in columns[one]] for one in rest
        }

    def _headline(self) -> str:
        by = f" by {self.column}" if self.column else ""
        return f"{len(self.estimates)} groups{by}, {self.people:,} reports"

    def __getitem__(self, name: str) -> Estimate:
        if name not in self.estimates:
            raise InvalidInput(
                f"there is no group {name!r}; the groups are {listed(list(self.estimates), 'and')}.", argument="name"
            )
        return self.estimates[name]

    @property
    def people(self) -> int:
        """The number of people who reported, in all groups."""
        return sum(one.people for one in self.estimates.values())

    @property
    def largest(self) -> str:
        """The group with most reports, which the others are compared with."""
        return max(self.estimates, key=lambda name: self.estimates[name].people)

    @cached_property
    def homogeneity(self) -> Homogeneity:
        """The test of whether all groups have the same distribution."""
        everybody = Problem(tuple(group for one in self.estimates.values() for group in one.problem.groups))
        return of_problem(everybody).homogeneity(SIMULATIONS)

    def difference(self, first: str, second: str, statistic: Statistic = "mean", level: float = 0.95) -> Difference:
        """Return how much larger a statistic is in the first group than in the second.

        Parameters
        ----------
        first, second
            The names of two groups.
        statistic
            As for :meth:`Estimate.interval`: "mean", ("quantile", q), ("cell", value), ("range", a, b), ...
        level
            Of the interval.

        Examples
        --------
        >>> import discreet as dc
        >>> m = dc.randomized_response(["no", "yes"], epsilon=2)
        >>> both = dc.estimate_by({"women": [600, 400], "men": [500, 500]}, m)
        >>> d = both.difference("men", "women", ("cell", "yes"))
        >>> print(f"{d.value:.2f}, from {d.low:.2f} to {d.high:.2f}")
        0.13, from 0.07 to 0.19
        """
        level = read_share(level, "level", inside=True)
        if first == second:
            raise InvalidInput(f"a difference is between two groups; got {first!r} twice.", argument="second")
        one, other = (self[name].interval(statistic, level) for name in (first, second))
        low, high = _ends(one, other)
        if isinstance(statistic, str | tuple):
            value = float(value_of(self[first], statistic) or 0) - float(value_of(self[second], statistic) or 0)
        else:
            weights = as_floats(statistic)
            value = float(weights @ (self[first].distribution - self[second].distribution))
        return Difference(one.statistic, first, second, value, low, high)

    def differences(self, level: float = 0.95) -> list[Difference]:
        """Return the differences of all other groups from the largest one, in the statistics of the summary."""
        others = [name for name in self.estimates if name != self.largest]
        return [self.difference(name, self.largest, what, level) for name in others for _, what in self._compared]

    @cached_property
    def _compared(self) -> list[tuple[str, Statistic]]:
        space = next(iter(self.estimates.values())).space
        if space.has_numbers:
            return list(COMPARED_OF_COUNTS if space.is_line else COMPARED_OF_COUNTS[:2])
        together = np.sum([one.people * one.distribution for one in self.estimates.values()], axis=0)
        best = np.argsort(-together, kind="stable")[:COMPARED_VALUES].tolist()
        return [(f"P({space.value(k)})", ("cell", space.value(k))) for k in best]

    # ------------------------------------------------------------------------------------------------ words

    def __str__(self) -> str:
        return self.describe()

    def to_json(self, level: float = 0.95) -> dict[str, Json]:
        """Return the findings as plain JSON values, with intervals of this level."""
        level = read_share(level, "level", inside=True)
        groups = [{"name": name, **distribution_json(one)} for name, one in self.estimates.items()]
        content: dict[str, Json] = {
            "column": self.column,
            "level": level,
            "groups": groups,
            "differences": [one.values() for one in self.differences(level)],
            "homogeneity": self.homogeneity.values(),
        }
        return stamped("group-estimates", 1, content)

    def report(self, level: float = 0.95) -> Report:
        """Return each group's numbers, how much the groups differ, and what is protected."""
        level = read_share(level, "level", inside=True)
        first = next(iter(self.estimates.values()))
        test = self.homogeneity
        finding = "The groups differ" if test.differ else "No evidence that the groups differ"
        parts = [
            Prose(str(one.fit), f"Group {label(name, 80)}:")
            for name, one in self.estimates.items()
            if not one.fit.plausible
        ]
        sentence = f"{finding} (p = {rounded(test.p_value)}, {test.simulations} simulations)."
        sections = [
            Section(parts=(*parts, Prose(sentence))),
            Section(parts=(Picture("plot", {"of": self, "options": {"level": level}}, self._seen(level)),)),
            Section("Each group", (self._table(level),)),
            Section(f"Differences from {label(self.largest, 80)}", (_table_of(self.differences(level), level),)),
            Section(
                "What the intervals cover",
                (Prose(f"{COVERS} Each interval is for one number by itself; of many, some miss."),),
            ),
            Section("How it was computed", (Terms(tuple(self._how())),)),
            Section("What is protected", (Prose(self._protected()),)),
        ]
        facts = (
            Fact(f"{len(self.estimates)}", noun(len(self.estimates), "group")),
            Fact(f"{self.people:,}", noun(self.people, "report")),
            *protection(first),
        )
        title = f"{len(first.distribution):,} true {first.space.noun}s in {plural(len(self.estimates), 'group')}"
        by = f" by {self.column}" if self.column else ""
        return Report(
            f"Distribution of {title}{by}, from {plural(self.people, 'report')}",
            "Estimated from private reports",
            facts,
            tuple(sections),
        )

    def describe(self, level: float = 0.95, *, width: int = 100) -> str:
        """Return the report as text for a terminal of this width."""
        return self.report(level).text(width, MOST_LINES)

    def plot(self, level: float = 0.95, title: str | None = None) -> Chart:
        """Draw the cumulative probabilities of counts, or the likeliest values with their intervals, of each group."""
        first = next(iter(self.estimates.values()))
        heading = title or f"{len(self.estimates)} groups, {self.people:,} reports"
        if first.space.has_numbers:
            lines = {name: one.cdf() for name, one in self.estimates.items()}
            largest = max((one.space for one in self.estimates.values()), key=lambda space: space.size or 0)
            places = largest.coordinates()[0]
            return cumulative_lines(lines, heading, self._seen(level), values=places, noun=largest.noun)
        rows = [
            (name, label(what[1], 40), float(value_of(one, what) or 0), *one.interval(what, level))
            for name, one in self.estimates.items()
            for _, what in self._compared
        ]
        return share_dots(rows, heading, self._seen(level))

    def save(self, path: str | Path, level: float = 0.95) -> Path:
        """Write a report: .html (self-contained), .png or .svg, or .json with the numbers."""
        file = Path(path)
        ending = file.suffix.lower()
        if ending == ".json":
            file.write_text(json.dumps(self.to_json(level), indent=1) + "\n", encoding="utf-8")
        elif ending == ".html":
            self.report(level).save(file)
        else:
            self.plot(level).save(file)
        return file

    def _seen(self, level: float) -> str:
        if next(iter(self.estimates.values())).space.has_numbers:
            return "Each line is the cumulative probability in one group."
        return f"Dots are the estimates, lines their {percent(level)} intervals, each by itself."

    def _table(self, level: float) -> TextTable:
        headings = (
            "group",
            "reports",
            *(cell for words, _ in self._compared for cell in (words, f"{percent(level)} interval")),
        )
        rows = []
        for name, one in self.estimates.items():
            cells = [label(name, 80), f"{one.people:,}"]
            for _, what in self._compared:
                cells += [rounded(float(value_of(one, what) or 0), 4), one.interval(what, level).ends]
            rows.append(tuple(cells))
        return TextTable(
            headings, tuple(rows), tuple(range(1, len(headings))), strong=tuple(range(2, len(headings), 2))
        )

    def _how(self) -> Iterator[tuple[str, str]]:
        for name, one in self.estimates.items():
            yield label(name, 80), " ".join(one.notes[:1]) or one.method

    def _protected(self) -> str:
        column = f"The column {self.column}" if self.column else "Which group somebody is in"
        return (
            f"Noise protects what each person reported. {column} is in clear: it is not protected, and whoever has the "
            "reports can read it."
        )


def _ends(one: Interval, other: Interval) -> tuple[float, float]:
    a, b = one.estimate, other.estimate
    low = a - b - math.hypot(a - one.low, other.high - b)
    return low, a - b + math.hypot(one.high - a, b - other.low)


def _table_of(differences: Sequence[Difference], level: float) -> TextTable:
    headings = ("group", "statistic", "difference", f"{percent(level)} interval", "")
    rows = tuple(
        (
            label(one.first, 80),
            one.statistic,
            f"{one.value:+.4g}",
            f"{rounded(one.low, 4)} to {rounded(one.high, 4)}",
            ("larger" if one.low > 0 else "smaller") if one.found else "no difference found",
        )
        for one in differences
    )
    return TextTable(headings, rows, (2, 3), strong=(2,))


def estimate_by(
    counts: Mapping[str, Any] | None = None,
    mechanism: Any = None,
    *,
    reports: Any = None,
    by: Any = None,
    column: str = "",
    method: Method | Estimator = "auto",
    **options: Any,
) -> GroupEstimates:
    """Estimate the distribution of true values in each of several groups, and how much the groups differ.

    Parameters
    ----------
    counts
        For each group by its name, how often each output was reported, as for :func:`discreet.estimate`.
    mechanism
        The mechanism that made all reports.
    reports, by
        Instead of counts, the raw reports and the group of each.
    column
        What the groups are by, for titles.
    method, options
        As for :func:`discreet.estimate`.

    Notes
    -----
    The group of a person is taken as it is given, in clear: it is not protected. Where it is sensitive too, perturb it
    as well and estimate both at once.

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.geometric(20, epsilon=1)
    >>> truths = [2, 3, 4, 5] * 200 + [6, 7, 8, 9] * 200
    >>> e = dc.estimate_by(reports=m.simulate(truths, seed=1), by=["young"] * 800 + ["old"] * 800, mechanism=m)
    >>> e.difference("old", "young").found
    True
    """
    if method == "inverse":
        raise InvalidInput.must_be(
            "method", "one that gives distributions", method, "An inverse may have negative entries, and no quantiles."
        )
    given = counts
    if counts is None:
        if reports is None or by is None:
            raise InvalidInput(f"give counts of each group, or {arg('reports')} with {arg('by')}.")
        given = _split(reports, by)
    elif reports is not None or by is not None:
        raise InvalidInput(f"{named('reports')} and {named('by')} go without counts. Give one or the other.")
    if not isinstance(given, Mapping):
        raise InvalidInput.must_be("counts", "counts of each group by its name", given)
    if len(given) < 2:
        raise InvalidInput(
            f"a comparison needs at least two groups; got {len(given)}.", argument="by" if counts is None else "counts"
        )
    key = "counts" if counts is not None else "reports"
    estimates = {}
    for name, some in given.items():
        estimates[str(name)] = estimate(mechanism=mechanism, method=method, **{key: some}, **options)
    return GroupEstimates(estimates, column)


def _split(reports: Any, by: Any) -> dict[str, list[object]]:
    """Return the reports of each group, in the order in which groups come up; a group that is missing has no name."""
    values = reports.tolist() if hasattr(reports, "tolist") else list(reports)
    groups = by.tolist() if hasattr(by, "tolist") else list(by)
    if len(values) != len(groups):
        raise InvalidInput.must_be("by", "one group for each report", InWords(f"{len(groups):,} for {len(values):,}"))
    reports_of: dict[str, list[object]] = {}
    for value, group in zip(values, groups, strict=True):
        if group is None or group != group:
            raise InvalidInput(f"{named('by')} has missing groups. Give them a name, or leave these people out.")
        reports_of.setdefault(str(group), []).append(value)
    return reports_of
