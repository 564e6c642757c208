"""A released table: noisy counts, the error of each, and what every cell's flag means.

Everything here is a function of the noisy counts and of public parameters. :class:`ReleasedTable` is a table of
declared groups; other kinds differ from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput, InWords
from ...exact.arrays import Array, BoolArray, IntArray
from ...exact.rationals import Number, text_down, text_up
from ...pages.pictures import chart_of
from ...plots.chart import Chart
from ...plots.counts import MAX_DRAWN_CELLS, label
from ...questions.bands import Edge
from ...questions.domains import REST, has_rest
from ...questions.groups import Groups, Value
from ...questions.orders import places_in
from ...questions.question import Question
from ...report import Picture
from ...wording import listed, percent
from ..levels.quantiles import Balance, Quantile, find_quantile, read_share
from ..noise import margins
from ..noise.accuracy import NO_END
from ..noise.cells import OUTPUT_IN_WORDS, CellNoise
from ..noise.margins import Cells, Combined
from .aligned import Aligned, AlignedCells
from .columns import ERRORS, IMPOSSIBLE, LAYOUT, NORMAL, SUPPRESSED, ErrorColumn
from .csv_text import distinct_rows, integers, rounded, written
from .typed_columns import Column, error_type, group_column

if TYPE_CHECKING:
    from .table import TablePlan


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

    #: Where a release has tables of several kinds, the one with the highest rank explains the counts of all.
    rank: ClassVar[int] = 0
    #: What those columns mean that other kinds do not have.
    own_meanings: ClassVar[Mapping[str, str]] = {}

    @property
    def columns(self) -> tuple[ErrorColumn, ...]:
        """What is said of every count in its layout, in the order of the columns."""
        return tuple(column for column in (*ERRORS, *self._own_columns) if column.since <= self.layout)

    @property
    def _own_columns(self) -> tuple[ErrorColumn, ...]:
        return ()

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

    @property
    def flags(self) -> NDArray[np.str_]:
        """The flag of each count in the order of the rows."""
        return self.status.reshape(-1)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that tell the counts apart."""
        return (*self.by, *(["measure"] if len(self.measures) > 1 else []))

    def is_summed_over(self, row: Mapping[str, object], column: int) -> bool:
        """Whether a count is a sum over a group column."""
        return False

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
        return self.counts.reshape(-1), self.plan.noise, self.status.reshape(-1)

    @property
    def drawing(self) -> dict[str, Any]:
        """What a picture of the counts with their intervals needs; of a large table its first 500 cells."""
        rows = self.rows(MAX_DRAWN_CELLS)
        cut = (f"The first {len(rows):,} of {self.counts.size:,} cells.",) if len(rows) < self.counts.size else ()
        said = {"title": self.title, "sentences": cut, "level": percent(self.level, 6)}
        return {"rows": rows, "by": self.by, **said}

    def chart(self) -> Chart:
        """The counts with their intervals, as a picture; of a large table its first 500 cells."""
        return chart_of(Picture("counts", self.drawing))

    # ---------------------------------------------------------------- what is published

    def files(self, name: str) -> Iterator[tuple[str, str]]:
        """The CSV files of the table, by name; the first has this one."""
        yield name, self.csv_text()

    def statement(self, file: str) -> dict[str, object]:
        """What release.json says of the table beside what it says of every one."""
        return {}

    def csv_text(self) -> str:
        """The published table: a line for each count."""
        flags = self.status.reshape(-1)
        columns = [self.counts.reshape(-1), flags, *self.errors.values()]
        first, alike = distinct_rows(columns)
        unseen = flags[first] == SUPPRESSED
        said = [integers(columns[0][first], unseen), flags[first].tolist()]
        for column in self.columns:
            values = self.errors[column.name][first]
            if column.rounding is None:
                said.append(integers(values, unseen | (values == NO_END)))
            else:
                said.append(rounded(values, unseen, column.rounding))
        tails = ["," * self.has_names + tail for tail in map(",".join, zip(*said, strict=True))]
        lines: Iterable[str] = map(tails.__getitem__, alike.tolist())
        if self.has_names:
            lines = map(add, self.cell_names(), lines)
        return "\n".join([",".join(map(written, self.headings)), *lines]) + "\n"

    def cell_names(self) -> list[str]:
        """What stands before the count in each line: the edition if it has a name, the group's values, and the measure
        where there are several."""
        groups, names = self.groups, [written(name) for name in self.measures]
        edition = [[written(self.edition)]] if self.edition else []
        texts = [list(map(str, one)) if isinstance(one, range) else list(map(written, one)) for one in groups.values]
        measures = [names] if len(names) > 1 else []
        if groups.cells is None:
            return list(map(",".join, product(*edition, *texts, *measures)))
        columns = [np.array(own, dtype=object)[groups.cells[:, k]].tolist() for k, own in enumerate(texts)]
        columns = [*(own * groups.size for own in edition), *columns]
        lines = map(",".join, zip(*columns, strict=True))
        return [f"{line},{name}" for line in lines for name in names] if measures else list(lines)

    @property
    def has_names(self) -> bool:
        """Whether anything stands before the counts: a single total of an edition without a name has none."""
        return bool(self.edition or self.groups.columns) or len(self.measures) > 1

    def typed_columns(self) -> list[Column]:
        """The columns with the type of their values, as the CSV file has them."""
        many, size = len(self.measures), self.counts.size
        flags = self.status.reshape(-1)
        unseen = flags == SUPPRESSED
        columns = [Column("edition", "text", [self.edition] * size)] if self.edition else []
        for k, name in enumerate(self.by):
            labels = np.repeat(np.array(self.groups.labels(k), dtype=object), many).tolist()
            columns.append(group_column(name, self.groups.kinds[k], labels))
        if many > 1:
            columns.append(Column("measure", "text", list(self.measures) * self.groups.size))
        columns.append(Column("count", "integer", _known(self.counts.reshape(-1), unseen)))
        columns.append(Column("status", "text", flags.tolist()))
        for column in self.columns:
            values = self.errors[column.name]
            missing = unseen | (values == NO_END) if column.rounding is None else unseen
            columns.append(Column(column.name, error_type(column), _known(values, missing)))
        return columns

    # ---------------------------------------------------------------- beside other releases

    def has_counts_of(self, other: ReleasedTable) -> bool:
        """Whether another table has the same counts and flags."""
        return np.array_equal(self.counts, other.counts) and np.array_equal(self.status, other.status)

    def refuse_comparison(self, edition: str) -> None:
        """Refuse counts that cannot be held against those of another edition."""

    def aligned(self, first: ReleasedTable) -> Aligned:
        """The counts in the order of another edition of the table."""
        many = len(self.measures)
        places = places_in(first.groups, self.groups) if first.groups.columns else np.zeros(1, dtype=np.int64)
        order = (places[:, None] * many + np.arange(many)).reshape(-1)
        counts, status = self.counts.reshape(-1)[order], self.status.reshape(-1)[order]
        return AlignedCells(self, counts, status, order, Cells(counts, self.plan.noise.rearranged(order), status))

    # ---------------------------------------------------------------- words

    @property
    def error_sentence(self) -> str:
        """What is known of the error of every count."""
        seen = self.status.reshape(-1) == NORMAL
        if not seen.any():
            return "No noisy count is published."
        errors = {name: values[seen] for name, values in self.errors.items()}
        low, high = float(errors["bias_low"].min()), float(errors["bias_high"].max())
        # less than this is the floats', not the noise's
        parts = [f"{text_up(size, 3)} too {way}" for size, way in ((high, "high"), (-low, "low")) if size > 1e-9]
        bias = f"On average a count is at most {' and at most '.join(parts)}." if parts else "The counts are unbiased."
        exact = text_down(100 * Fraction(float(errors["exact_probability"].min())), 3)
        return (
            f"The noise of a count has a standard deviation of at most {text_up(float(errors['sd'].max()), 3)}. {bias} "
            f"The noise is zero at least {exact}% of the time. This holds whatever the true counts are."
        )

    def counts_in_words(self, bounded: str, negative: bool) -> str:
        """What a count is, and what of it is not a mistake.

        ``bounded`` says that contributions were, ``negative`` whether any table has counts below zero.
        """
        odd = "A negative count, or a total" if negative else "A total"
        return (
            f"Each count is the true count{bounded and f'{bounded},'} plus random noise. {odd} that differs from the "
            f"sum of its parts{',' if negative else ''} comes from the noise and is not a mistake."
        )

    @property
    def sums_in_words(self) -> str:
        """How the counts are added up."""
        return (
            "For sums, differences and percentages use `release.total({...})`: its interval contains the true figure "
            f"at least {percent(self.level, 6)} of the time. The ends of the counts' intervals added up need not, and "
            "are often wider."
        )

    @property
    def post_processing(self) -> str:
        """What was done to the noisy counts; empty if nothing."""
        output = self.plan.noise.output
        return "" if output == "signed" else f"{self.title}: {OUTPUT_IN_WORDS[output]}."


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


def _known(values: Array, missing: BoolArray) -> list[Any]:
    known = values.astype(object)
    known[missing] = None
    return list(known.tolist())
