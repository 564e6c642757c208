"""A released table: noisy counts, the error of each, and what every cell's flag means.

Everything here is a function of the noisy counts and of public parameters. Three kinds of cells are told apart by the
flags of SDMX (code list CL_OBS_STATUS): a noisy count, a cell that cannot exist, and one that was suppressed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engines.base import ROW
from ...errors import InvalidInput, InWords
from ...exact.arrays import Array, BoolArray, IntArray
from ...exact.rationals import Number
from ...pages.pictures import chart_of
from ...plots.chart import Chart
from ...plots.counts import MOST_CELLS, label
from ...questions.bands import Edge
from ...questions.domains import REST, has_rest
from ...questions.groups import Groups, Value
from ...questions.question import Question
from ...report import Picture
from ...wording import listed, percent
from ..levels.quantiles import Balance, Quantile, find_quantile, read_share
from ..noise import margins
from ..noise.accuracy import NO_END
from ..noise.cells import CellNoise
from ..noise.margins import Combined
from ..plan.plan import TablePlan

#: The flags of SDMX's CL_OBS_STATUS that are used, and what they mean here.
STATUS_MEANING = {
    "A": "a noisy count",
    "M": "the cell cannot exist (a structural zero, declared as a public fact): its count is 0 without noise",
    "Q": "suppressed: the noisy count was below the threshold and is not published",
}
NORMAL, IMPOSSIBLE, SUPPRESSED = STATUS_MEANING


@dataclass(frozen=True)
class ErrorColumn:
    """A column of what is known about the error of every count.

    Attributes
    ----------
    name
        Its heading.
    figure
        Which figure of :class:`~discreet.release.noise.accuracy.Accuracy` it shows.
    meaning
        What it is, for people and for release.json.
    rounding
        For a worst case: how it is rounded so that it stays true. None for whole numbers.
    of_a_cell_that_cannot_exist
        Its value there: such a count is known.
    since
        The first layout that has it. Bundles of earlier layouts, which are published, are checked without it.
    """

    name: str
    figure: str
    meaning: str
    rounding: str | None = None
    of_a_cell_that_cannot_exist: int = 0
    since: int = 1


#: What is said of every count, in the order of the columns.
ERRORS = (
    ErrorColumn(
        "low", "low",
        "lower end of an interval that contains the true count at least as often as the stated level",
    ),
    ErrorColumn("high", "high", "upper end of that interval; an empty end means there is no bound"),
    ErrorColumn("sd", "sd", "standard deviation of the noisy count, the largest over true counts", ROUND_CEILING),
    ErrorColumn(
        "bias_low", "bias_low",
        "mean of noisy minus true count, the least over true counts up to the bound, if there is one", ROUND_FLOOR,
    ),
    ErrorColumn(
        "bias_high", "bias_high",
        "mean of noisy minus true count, the largest over true counts up to the bound, if there is one", ROUND_CEILING,
    ),
    ErrorColumn(
        "exact_probability", "exact",
        "probability that the noisy count is the true one, the least over true counts", ROUND_FLOOR, 1,
    ),
)  # fmt: skip

#: What is said beside of a count whose group was found in the data.
CERTAIN = (
    ErrorColumn("certain_low", "certain_low", "the true count is never below this"),
    ErrorColumn("certain_high", "certain_high", "the true count is never above this; empty if there is no such bound"),
)


def error_meanings(columns: Iterable[ErrorColumn], unit: str) -> dict[str, str]:
    """What the columns mean for this unit: contributions of people are bounded, a row is in one group only.

    >>> error_meanings(CERTAIN[:1], "row")
    {'certain_low': 'the true count is never below this'}
    """
    bounded = "" if unit == ROW else "; the true count is the one after the contribution bound"
    return {one.name: f"{one.meaning}{bounded if one.name == 'low' else ''}" for one in columns}


#: The version of a bundle's files. Version 1 has no edition in the tables; version 3 states the template of the page.
LAYOUT = 3


@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """One table of a release.

    Attributes
    ----------
    plan
        The question, the groups and the noise.
    counts
        Noisy counts, a row for each group and a column for each measure; 0 where there is none to see.
    status
        "A" (a noisy count), "M" (the cell cannot exist) or "Q" (suppressed) for each count.
    level
        The coverage of the intervals, whatever the true counts are.
    edition
        The state of the data that was counted, by name; a column of the published table unless it is empty.
    layout
        The version of the bundle it is in, which says which columns it has.
    """

    plan: TablePlan
    counts: IntArray
    status: NDArray[np.str_]
    level: Fraction
    edition: str = ""
    layout: int = LAYOUT

    @property
    def columns(self) -> tuple[ErrorColumn, ...]:
        """What is said of every count in its layout, in the order of the columns."""
        own = CERTAIN if self.plan.discovery is not None else ()
        return tuple(column for column in (*ERRORS, *own) if column.since <= self.layout)

    @property
    def question(self) -> Question:
        return self.plan.question

    @property
    def groups(self) -> Groups:
        return self.plan.groups

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(aggregate.name for aggregate in self.question.aggregates)

    @property
    def title(self) -> str:
        """A few words: what was counted, in which table, by what."""
        by = f" by {listed(self.groups.columns)}" if self.groups.columns else ""
        return f"Counts of {self.question.table}{by}"

    @property
    def own_headings(self) -> tuple[str, ...]:
        """Headings that are not those of group columns."""
        edition = ("edition",) if self.edition else ()
        return ("measure", "count", "status", *(column.name for column in self.columns), *edition)

    @property
    def by(self) -> tuple[str, ...]:
        """The headings of the group columns; one that reads like a heading of ours is told apart by ``group_``."""
        own = self.own_headings
        taken = {*own, *self.groups.columns}
        headings = []
        for column in self.groups.columns:
            heading = column
            while heading in own or (heading != column and heading in taken):
                heading = f"group_{heading}"
            taken.add(heading)
            headings.append(heading)
        return tuple(headings)

    @property
    def headings(self) -> tuple[str, ...]:
        """The columns of the published table."""
        measure = ("measure",) if len(self.measures) > 1 else ()
        edition = ("edition",) if self.edition else ()
        return (*edition, *self.by, *measure, "count", "status", *(column.name for column in self.columns))

    @cached_property
    def errors(self) -> dict[str, Array]:
        """The error columns, one value for each count in the order of the rows: functions of the noisy counts alone.

        What cannot exist is known to be 0. Of what is suppressed nothing is said: skip it by its status. ``high`` is
        :data:`~.accuracy.NO_END` where there is no upper end.
        """
        found = self.plan.noise.accuracy(self.counts.reshape(-1), self.level)
        errors = {column.name: np.array(getattr(found, column.figure)) for column in self.columns}
        impossible = self.status.reshape(-1) == IMPOSSIBLE
        for column in self.columns:
            errors[column.name][impossible] = column.of_a_cell_that_cannot_exist
        return errors

    @property
    def open(self) -> BoolArray:
        """Which intervals have no upper end: the true count may lie beyond the bound."""
        return np.asarray(self.errors["high"] == NO_END)

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """A mapping for each count, in the order of the groups: group columns, count, status and error columns.

        A suppressed count and what is said of it are None, and so is a bound that does not exist. ``most`` stops early.
        """
        many = len(self.measures)
        size = self.counts.size if most is None else min(most, self.counts.size)
        groups = -(-size // many)
        labels = [_first(self.groups, k, groups) for k in range(len(self.groups.columns))]
        errors = {name: values[:size].tolist() for name, values in self.errors.items()}
        for name in ("high", "certain_high"):
            if name in errors:
                errors[name] = [None if high == NO_END else high for high in errors[name]]
        counts, flags = self.counts.reshape(-1)[:size].tolist(), self.status.reshape(-1)[:size].tolist()
        rows = []
        for k in range(size):
            row: dict[str, Any] = {name: labels[c][k // many] for c, name in enumerate(self.by)}
            if many > 1:
                row["measure"] = self.measures[k % many]
            seen = flags[k] != SUPPRESSED
            row |= {"count": counts[k] if seen else None, "status": flags[k]}
            row |= {name: values[k] if seen else None for name, values in errors.items()}
            rows.append(row)
        return rows

    def select(self, cells: Mapping[str, object] | None) -> BoolArray:
        """Which counts are meant by ``{"site": 1, "health": ["good", "poor"]}``, as a mask in the order of the rows.

        ``...`` is the group of all other values, where a domain has one.
        """
        groups, many = self.groups, len(self.measures)
        chosen = np.ones((groups.size, many), dtype=bool)
        if cells is not None and not isinstance(cells, Mapping):
            raise InvalidInput.must_be(
                "cells", "chosen by their group columns, such as {'site': 1}", InWords(type(cells).__name__)
            )
        wanted = dict(cells or {})
        if many > 1:
            if "measure" not in wanted:
                raise InvalidInput(
                    f"say which measure is meant: {{'measure': {self.measures[0]!r}}}, of {', '.join(self.measures)}.",
                    argument="cells",
                )
            chosen &= np.isin(self.measures, _several(wanted.pop("measure"), "measure", self.measures))
        codes = groups.codes() if wanted else None
        for name, value in wanted.items():
            if name not in self.by:
                raise InvalidInput(
                    f"{name!r} is not a column of the groups; they are {', '.join(self.by) or 'none'}.",
                    argument="cells",
                )
            column = self.by.index(name)
            known = groups.values[column]
            numbers = [known.index(one) for one in _several(value, name, known)]
            assert codes is not None
            chosen &= np.isin(codes[:, column], numbers)[:, None]
        if not chosen.any():
            raise InvalidInput(
                "no declared group is selected: this combination is not among the public groups.", argument="cells"
            )
        return chosen.reshape(-1)

    def total(self, cells: Mapping[str, object] | None) -> Combined:
        """The sum of the selected counts: see :meth:`~.released.Release.total`."""
        return margins.total(*self.drawn, self.select(cells), self.level)

    def difference(self, first: Mapping[str, object] | None, second: Mapping[str, object] | None) -> Combined:
        """The sum of some counts minus that of others."""
        return margins.difference(*self.drawn, self.select(first), self.select(second), self.level)

    def percentage(self, part: Mapping[str, object] | None, whole: Mapping[str, object] | None) -> Combined:
        """The sum of some counts as a percentage of that of others."""
        return margins.percentage(*self.drawn, self.select(part), self.select(whole), self.level)

    def quantile(self, column: str, share: Number, cells: Mapping[str, object] | None = None) -> Quantile:
        """A quantile of a column of whole numbers: see :meth:`~.released.Release.quantile`."""
        if column not in self.by:
            raise InvalidInput(
                f"{column!r} is not a column of the groups; they are {', '.join(self.by)}.", argument="column"
            )
        place, which = self.by.index(column), read_share(share)
        ordered, edges = _in_order(self.groups, place)
        if not ordered:
            raise InvalidInput(
                f"{column!r} has texts, which have no quantiles.", "Ask for a column of whole numbers, or of bands."
            )
        rank: dict[object, int] = {value: k for k, value in enumerate(ordered)}
        ranks = np.array([rank.get(value, -1) for value in self.groups.values[place]])[self.groups.codes()[:, place]]
        ranks = np.repeat(ranks, len(self.measures))
        chosen = self.select(cells) & (ranks >= 0)

        def balance(k: int) -> Balance:
            return self._balance(chosen & (ranks <= k), chosen & (ranks > k), which)

        return find_quantile(column, which, ordered, balance, self.level, edges)

    def _balance(self, lower: BoolArray, upper: BoolArray, share: Fraction) -> Balance:
        """``(1 - share)`` times the lower counts less ``share`` times the upper ones; both enclosed together."""
        level = (1 + self.level) / 2
        below, above = (margins.total(*self.drawn, mask, level) for mask in (lower, upper))
        least, most = (None if one is None else Fraction(one) for one in (below.low, below.high))
        rest_least, rest_most = (None if one is None else Fraction(one) for one in (above.low, above.high))
        estimate = (1 - share) * Fraction(below.estimate or 0) - share * Fraction(above.estimate or 0)
        low = None if rest_most is None else (1 - share) * (least or 0) - share * rest_most
        high = None if most is None else (1 - share) * most - share * (rest_least or 0)
        return Balance(estimate, low, high)

    @property
    def drawn(self) -> tuple[IntArray, CellNoise, NDArray[np.str_]]:
        """The noisy counts in the order of the rows, what was done to them, and their flags."""
        if self.plan.discovery is not None:
            raise InvalidInput(
                "counts of discovered groups do not add up to a total: small groups are withheld, and those that are "
                "named are too high on average.",
                "Ask for the total in a question of its own, without the discovered column.",
            )
        return self.counts.reshape(-1), self.plan.noise, self.status.reshape(-1)

    @property
    def drawing(self) -> dict[str, Any]:
        """What a picture of the counts with their intervals needs; of a large table its first 500 cells."""
        rows = self.rows(MOST_CELLS)
        cut = (f"The first {len(rows):,} of {self.counts.size:,} cells.",) if len(rows) < self.counts.size else ()
        said = {"title": self.title, "sentences": cut, "level": percent(self.level, 6)}
        return {"rows": rows, "by": self.by, **said}

    def chart(self) -> Chart:
        """The counts with their intervals, as a picture; of a large table its first 500 cells."""
        return chart_of(Picture("counts", self.drawing))


def _in_order(groups: Groups, column: int) -> tuple[list[int | str], tuple[Edge | None, ...]]:
    """The values of a column of numbers or bands in ascending order, without NULL and the rest; the edges of bands."""
    bands = groups.bands[column] if groups.bands else None
    values = groups.values[column]
    if bands is not None:
        edges = (*((None,) if bands.below else ()), *bands.edges, *((None,) if bands.above else ()))
        return [str(value) for value in list(values)[: bands.size]], edges
    return sorted(value for value in values if isinstance(value, int)), ()


def _first(groups: Groups, column: int, most: int) -> list[Value]:
    """The values of one column for the first groups; of a million groups not all are made."""
    if most >= groups.size:
        return groups.labels(column)
    return [groups.label(group)[column] for group in range(most)]


def _several(value: Any, name: str, known: Sequence[Any]) -> list[Any]:
    """One value or a list of them, each of which is declared; ``...`` for the rest."""
    one = value is None or isinstance(value, str | int) or not isinstance(value, Iterable)
    values = [value] if one else list(value)
    if has_rest(known):
        values = [REST if given is ... else given for given in values]
    for given in values:
        # True == 1 in Python, and is not the number of a site
        if isinstance(given, bool | float) or given not in known:
            shown = ", ".join(label(one) for one in known[:8]) + (", ..." if len(known) > 8 else "")
            meant = "..." if given is ... else repr(given)
            raise InvalidInput(f"{meant} is not a declared value of {name!r}; those are {shown}.", argument="cells")
    return values
