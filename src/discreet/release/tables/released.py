"""A released table: noisy counts, the error of each, and the flag of each cell.

Everything here is a function of the noisy counts and of public parameters. :class:`ReleasedTable` is a table of
declared groups, and the base class of the other kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

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
from ..noise.margins import Combined, ReleasedCells
from .aligned import Aligned, AlignedCells
from .columns import ERROR_COLUMNS, IMPOSSIBLE, LAYOUT, NORMAL, SUPPRESSED, ErrorColumn
from .csv_text import csv_decimals, csv_integers, csv_label, distinct_rows
from .typed_columns import Column, error_type, group_column

if TYPE_CHECKING:
    from .table import TablePlan


#: Heading -> value of one count.
Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """One table of a release.

    Attributes
    ----------
    plan
        The question, the groups and the noise.
    counts
        Noisy counts, a row for each group and a column for each measure; 0 for suppressed counts.
    status
        "A" (a noisy count), "M" (a structural zero) or "Q" (suppressed) for each count.
    level
        The coverage of the intervals, for all true counts.
    edition
        The name of the state of the data; a column of the published table unless it is empty.
    layout
        The version of the layout of its bundle, which determines its columns.
    """

    plan: TablePlan
    counts: IntArray
    status: NDArray[np.str_]
    level: Fraction
    edition: str = ""
    layout: int = LAYOUT

    #: In a release with several kinds of tables, the one with the highest rank explains the counts of all.
    rank: ClassVar[int] = 0
    #: Column that other kinds do not have -> its meaning.
    extra_meanings: ClassVar[Mapping[str, str]] = {}

    @property
    def columns(self) -> tuple[ErrorColumn, ...]:
        """The error columns of its layout, in order."""
        return tuple(column for column in (*ERROR_COLUMNS, *self._extra_columns) if column.since <= self.layout)

    @property
    def _extra_columns(self) -> tuple[ErrorColumn, ...]:
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
        """A title with the table and the group columns."""
        by = f" by {listed(self.groups.columns)}" if self.groups.columns else ""
        return f"Counts of {self.question.table}{by}"

    @property
    def fixed_headings(self) -> tuple[str, ...]:
        """The headings that are not those of group columns."""
        edition = ("edition",) if self.edition else ()
        return ("measure", "count", "status", *(column.name for column in self.columns), *edition)

    @property
    def by(self) -> tuple[str, ...]:
        """The headings of the group columns, with ``group_`` in front of one that equals a fixed heading."""
        fixed = self.fixed_headings
        taken = {*fixed, *self.groups.columns}
        headings = []
        for column in self.groups.columns:
            heading = column
            while heading in fixed or (heading != column and heading in taken):
                heading = f"group_{heading}"
            taken.add(heading)
            headings.append(heading)
        return tuple(headings)

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings of the published table."""
        measure = ("measure",) if len(self.measures) > 1 else ()
        edition = ("edition",) if self.edition else ()
        return (*edition, *self.by, *measure, "count", "status", *(column.name for column in self.columns))

    @cached_property
    def errors(self) -> dict[str, Array]:
        """The error columns, one value for each count in the order of the rows: functions of the noisy counts alone.

        Structural zeros are exactly 0. Values for suppressed counts have no meaning: skip them by their status.
        ``high`` is :data:`~.accuracy.NO_END` for a missing upper end.
        """
        accuracy = self.plan.noise.accuracy(self.counts.reshape(-1), self.level)
        errors = {column.name: np.array(getattr(accuracy, column.figure)) for column in self.columns}
        impossible = self.status.reshape(-1) == IMPOSSIBLE
        for column in self.columns:
            errors[column.name][impossible] = column.of_a_cell_that_cannot_exist
        return errors

    @property
    def open(self) -> BoolArray:
        """Mask of the intervals without an upper end: the true count may lie beyond the bound."""
        return np.asarray(self.errors["high"] == NO_END)

    @property
    def flags(self) -> NDArray[np.str_]:
        """The flag of each count in the order of the rows."""
        return self.status.reshape(-1)

    @property
    def keys(self) -> tuple[str, ...]:
        """The headings that identify a count."""
        return (*self.by, *(["measure"] if len(self.measures) > 1 else []))

    def is_summed_over(self, row: Mapping[str, object], column: int) -> bool:
        """Return True if a count is a sum over a group column."""
        return False

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return a mapping for each count, in the order of the groups: group columns, count, status and error columns.

        A suppressed count and its errors are None, and so is a missing upper end. ``most`` limits the number of rows.
        """
        many = len(self.measures)
        size = self.counts.size if most is None else min(most, self.counts.size)
        groups = -(-size // many)
        labels = [_first_labels(self.groups, k, groups) for k in range(len(self.groups.columns))]
        errors = {name: values[:size].tolist() for name, values in self.errors.items()}
        for name in ("high", "certain_high"):
            if name in errors:
                errors[name] = [None if high == NO_END else high for high in errors[name]]
        counts, flags = self.counts.reshape(-1)[:size].tolist(), self.status.reshape(-1)[:size].tolist()
        rows = []
        for k in range(size):
            row: Row = {name: labels[c][k // many] for c, name in enumerate(self.by)}
            if many > 1:
                row["measure"] = self.measures[k % many]
            visible = flags[k] != SUPPRESSED
            row |= {"count": counts[k] if visible else None, "status": flags[k]}
            row |= {name: values[k] if visible else None for name, values in errors.items()}
            rows.append(row)
        return rows

    def rows_for_people(self, most: int | None = None) -> list[Row]:
        """Return the rows with the counts that people see: whole numbers."""
        return self.rows(most)

    def rounding_in_words(self, unrounded: str, rounded: str = "") -> str:
        """Return a sentence on the counts that people see and the unrounded ones, with their places; empty if equal."""
        return ""

    def select(self, cells: Mapping[str, object] | None) -> BoolArray:
        """Return a mask, in the order of the rows, of the counts in ``{"site": 1, "health": ["good", "poor"]}``.

        ``...`` selects the group of all other values, where a domain has one.
        """
        groups, many = self.groups, len(self.measures)
        chosen = np.ones((groups.size, many), dtype=bool)
        if cells is not None and not isinstance(cells, Mapping):
            raise InvalidInput.must_be(
                "cells", "chosen by their group columns, such as {'site': 1}", InWords(type(cells).__name__)
            )
        selection = dict(cells or {})
        if many > 1:
            if "measure" not in selection:
                raise InvalidInput(
                    f"say which measure is meant: {{'measure': {self.measures[0]!r}}}, of {', '.join(self.measures)}.",
                    argument="cells",
                )
            chosen &= np.isin(self.measures, _several(selection.pop("measure"), "measure", self.measures))
        codes = groups.codes() if selection else None
        for name, value in selection.items():
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
        """Return the sum of the selected counts: see :meth:`~.released.Release.total`."""
        return margins.total(*self.noisy_cells, self.select(cells), self.level)

    def difference(self, first: Mapping[str, object] | None, second: Mapping[str, object] | None) -> Combined:
        """Return the sum of some counts minus that of others."""
        return margins.difference(*self.noisy_cells, self.select(first), self.select(second), self.level)

    def percentage(self, part: Mapping[str, object] | None, whole: Mapping[str, object] | None) -> Combined:
        """Return the sum of some counts as a percentage of that of others."""
        return margins.percentage(*self.noisy_cells, self.select(part), self.select(whole), self.level)

    def quantile(self, column: str, share: Number, cells: Mapping[str, object] | None = None) -> Quantile:
        """Return a quantile of a column of whole numbers: see :meth:`~.released.Release.quantile`."""
        if column not in self.by:
            raise InvalidInput(
                f"{column!r} is not a column of the groups; they are {', '.join(self.by)}.", argument="column"
            )
        index, fraction = self.by.index(column), read_share(share)
        ordered, edges = _in_order(self.groups, index)
        if not ordered:
            raise InvalidInput(
                f"{column!r} has texts, which have no quantiles.", "Ask for a column of whole numbers, or of bands."
            )
        rank: dict[object, int] = {value: k for k, value in enumerate(ordered)}
        ranks = np.array([rank.get(value, -1) for value in self.groups.values[index]])[self.groups.codes()[:, index]]
        ranks = np.repeat(ranks, len(self.measures))
        chosen = self.select(cells) & (ranks >= 0)

        def balance(k: int) -> Balance:
            return self._balance(chosen & (ranks <= k), chosen & (ranks > k), fraction)

        return find_quantile(column, fraction, ordered, balance, self.level, edges)

    def _balance(self, lower: BoolArray, upper: BoolArray, share: Fraction) -> Balance:
        """Return ``(1 - share)`` times the lower counts minus ``share`` times the upper ones, with bounds."""
        miss = (1 - self.level) / 2
        return Balance(*margins.balance(*self.noisy_cells, lower, upper, share, miss, joint=self.layout > 4))

    @property
    def noisy_cells(self) -> tuple[IntArray, CellNoise, NDArray[np.str_]]:
        """The noisy counts in the order of the rows, their noise, and their flags."""
        return self.counts.reshape(-1), self.plan.noise, self.status.reshape(-1)

    @property
    def chart_data(self) -> dict[str, Any]:
        """The data for a chart of the counts with their intervals; for a large table, of its first 500 cells."""
        rows = self.rows_for_people(MAX_DRAWN_CELLS)
        cut = (f"The first {len(rows):,} of {self.counts.size:,} cells.",) if len(rows) < self.counts.size else ()
        return {"rows": rows, "by": self.by, "title": self.title, "sentences": cut, "level": percent(self.level, 6)}

    def chart(self) -> Chart:
        """Draw the counts with their intervals; for a large table, its first 500 cells."""
        return chart_of(Picture("counts", self.chart_data))

    # ---------------------------------------------------------------- what is published

    @property
    def parts(self) -> tuple[ReleasedTable, ...]:
        """The tables that are published: this one, or several that were released at once."""
        return (self,)

    def part_files(self, name: str) -> list[str]:
        """Return the name of the file of each of the tables."""
        return [name]

    def part(self, columns: Sequence[str]) -> ReleasedTable:
        """Return the table by these columns, of several that were released at once."""
        raise InvalidInput.must_be("number", "that of a table: this release has no tables by columns", columns)

    @property
    def published_cells(self) -> int:
        """Number of published cells."""
        return int(self.counts.size)

    def files(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield the CSV files of the table by name; the first has this name."""
        yield name, self.csv_text()

    def statement(self, file: str) -> dict[str, object]:
        """Return the fields of the table in release.json that not all kinds have."""
        return {}

    def csv_text(self) -> str:
        """Return the published table, a line for each count."""
        flags = self.status.reshape(-1)
        columns = [self.counts.reshape(-1), flags, *self.errors.values()]
        first, which = distinct_rows(columns)
        suppressed = flags[first] == SUPPRESSED
        fields = [csv_integers(columns[0][first], suppressed), flags[first].tolist()]
        for column in self.columns:
            values = self.errors[column.name][first]
            if column.rounding is None:
                fields.append(csv_integers(values, suppressed | (values == NO_END)))
            else:
                fields.append(csv_decimals(values, suppressed, column.rounding))
        tails = ["," * self.has_names + tail for tail in map(",".join, zip(*fields, strict=True))]
        lines: Iterable[str] = map(tails.__getitem__, which.tolist())
        if self.has_names:
            lines = map(add, self.cell_names(), lines)
        return "\n".join([",".join(map(csv_label, self.headings)), *lines]) + "\n"

    def cell_names(self) -> list[str]:
        """Return each line up to the count: edition if named, values of the group, measure if there are several."""
        groups, names = self.groups, [csv_label(name) for name in self.measures]
        edition = [[csv_label(self.edition)]] if self.edition else []
        texts = [list(map(str, one)) if isinstance(one, range) else list(map(csv_label, one)) for one in groups.values]
        measures = [names] if len(names) > 1 else []
        if groups.cells is None:
            return list(map(",".join, product(*edition, *texts, *measures)))
        columns = [np.array(labels, dtype=object)[groups.cells[:, k]].tolist() for k, labels in enumerate(texts)]
        columns = [*(name * groups.size for name in edition), *columns]
        lines = map(",".join, zip(*columns, strict=True))
        return [f"{line},{name}" for line in lines for name in names] if measures else list(lines)

    @property
    def has_names(self) -> bool:
        """False if lines begin with the count: for a single total of an edition without a name."""
        return bool(self.edition or self.groups.columns) or len(self.measures) > 1

    def typed_columns(self) -> list[Column]:
        """Return the columns of the CSV file with the types of their values."""
        many, size = len(self.measures), self.counts.size
        flags = self.status.reshape(-1)
        suppressed = flags == SUPPRESSED
        columns = [Column("edition", "text", [self.edition] * size)] if self.edition else []
        for k, name in enumerate(self.by):
            labels = np.repeat(np.array(self.groups.labels(k), dtype=object), many).tolist()
            columns.append(group_column(name, self.groups.kinds[k], labels))
        if many > 1:
            columns.append(Column("measure", "text", list(self.measures) * self.groups.size))
        columns.append(Column("count", "integer", _with_none(self.counts.reshape(-1), suppressed)))
        columns.append(Column("status", "text", flags.tolist()))
        for column in self.columns:
            values = self.errors[column.name]
            missing = suppressed | (values == NO_END) if column.rounding is None else suppressed
            columns.append(Column(column.name, error_type(column), _with_none(values, missing)))
        return columns

    def columns_with_rounded(self) -> list[Column]:
        """Return the typed columns, and the whole counts that people see where they are others."""
        return self.typed_columns()

    # ---------------------------------------------------------------- comparison with other releases

    def has_counts_of(self, other: ReleasedTable) -> bool:
        """Return True if another table has the same counts and flags."""
        return np.array_equal(self.counts, other.counts) and np.array_equal(self.status, other.status)

    def shared_with(self, editions: Sequence[ReleasedTable]) -> ReleasedTable:
        """Return the part of the table that can be compared with these editions of it."""
        return self

    def aligned(self, first: ReleasedTable) -> Aligned:
        """Return the table with its counts in the order of another edition."""
        many = len(self.measures)
        indices = places_in(first.groups, self.groups) if first.groups.columns else np.zeros(1, dtype=np.int64)
        order = (indices[:, None] * many + np.arange(many)).reshape(-1)
        counts, status = self.counts.reshape(-1)[order], self.status.reshape(-1)[order]
        cells = ReleasedCells(counts, self.plan.noise.rearranged(order), status)
        return AlignedCells(self, counts, status, order, cells)

    # ---------------------------------------------------------------- words

    @property
    def error_sentence(self) -> str:
        """A sentence on the error of every count."""
        noisy = self.status.reshape(-1) == NORMAL
        if not noisy.any():
            return "No noisy count is published."
        errors = {name: values[noisy] for name, values in self.errors.items()}
        low, high = float(errors["bias_low"].min()), float(errors["bias_high"].max())
        # a smaller bias is a rounding error of the floats
        parts = [f"{text_up(size, 3)} too {way}" for size, way in ((high, "high"), (-low, "low")) if size > 1e-9]
        bias = f"On average a count is at most {' and at most '.join(parts)}." if parts else "The counts are unbiased."
        exact = text_down(100 * Fraction(float(errors["exact_probability"].min())), 3)
        return (
            f"The noise of a count has a standard deviation of at most {text_up(float(errors['sd'].max()), 3)}. {bias} "
            f"The noise is zero at least {exact}% of the time. This holds whatever the true counts are."
        )

    def counts_in_words(self, bounded: str, negative: bool) -> str:
        """Return sentences on the meaning of a count, and on what is not a mistake.

        ``bounded`` says that contributions were bounded; ``negative`` is True if a table may have counts below zero.
        """
        odd = "A negative count, or a total" if negative else "A total"
        return (
            f"Each count is the true count{bounded and f'{bounded},'} plus random noise. {odd} that differs from the "
            f"sum of its parts{',' if negative else ''} comes from the noise and is not a mistake."
        )

    @property
    def sums_in_words(self) -> str:
        """Sentences on adding up counts."""
        return (
            "For sums, differences and percentages use `release.total({...})`: its interval contains the true figure "
            f"at least {percent(self.level, 6)} of the time. The ends of the counts' intervals added up need not, and "
            "are often wider."
        )

    @property
    def post_processing(self) -> str:
        """The post-processing of the noisy counts; empty without any."""
        output = self.plan.noise.output
        return "" if output == "signed" else f"{self.title}: {OUTPUT_IN_WORDS[output]}."


def _in_order(groups: Groups, column: int) -> tuple[list[int | str], tuple[Edge | None, ...]]:
    """Return the values of a numeric column in ascending order, without NULL and the rest; for bands also the edges."""
    bands = groups.bands[column] if groups.bands else None
    values = groups.values[column]
    if bands is not None:
        edges = (*((None,) if bands.below else ()), *bands.edges, *((None,) if bands.above else ()))
        return [str(value) for value in list(values)[: bands.size]], edges
    return sorted(value for value in values if isinstance(value, int)), ()


def _first_labels(groups: Groups, column: int, most: int) -> list[Value]:
    """Return the values of one column for the first groups, without making those of all groups."""
    if most >= groups.size:
        return groups.labels(column)
    return [groups.label(group)[column] for group in range(most)]


def _several(value: Any, name: str, known: Sequence[Any]) -> list[Any]:
    """Return one value or several as a list, and ``...`` as the rest; refuse values that are not declared."""
    one = value is None or isinstance(value, str | int) or not isinstance(value, Iterable)
    values = [value] if one else list(value)
    if has_rest(known):
        values = [REST if given is ... else given for given in values]
    for given in values:
        # True equals 1 in Python, but does not select site 1
        if isinstance(given, bool | float) or given not in known:
            shown = ", ".join(label(one) for one in known[:8]) + (", ..." if len(known) > 8 else "")
            text = "..." if given is ... else repr(given)
            raise InvalidInput(f"{text} is not a declared value of {name!r}; those are {shown}.", argument="cells")
    return values


def _with_none(values: Array, missing: BoolArray) -> list[Any]:
    """Return values as a list, with None where they are missing."""
    objects = values.astype(object)
    objects[missing] = None
    return list(objects.tolist())
