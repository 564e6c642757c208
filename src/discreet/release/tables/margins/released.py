"""Released tables of some of the columns, which agree with each other, and the measurements that they follow from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ....errors import InvalidInput
from ....exact.arrays import Array, BoolArray, IntArray
from ....exact.rationals import float_down, float_up, text_up
from ....plots.counts import MAX_DRAWN_CELLS
from ....questions.groups import Groups
from ....wording import listed, percent, plural
from ...levels.quantiles import Balance
from ...marginals.decimals import MAX_ROUNDING_ERROR, agreeing_decimals, digits_of
from ...marginals.intervals import Form
from ...marginals.rounding import rounded_table, totals_of
from ...marginals.shares import margin_share_interval
from ...marginals.signed import Columns, subsets
from ...noise.margins import Combined
from ..columns import LAYOUT, NORMAL, ErrorColumn
from ..csv_text import csv_decimals, csv_integers, csv_label
from ..released import ReleasedTable, Row
from ..typed_columns import Column, error_type, group_column
from .names import MEASURED_FILE, TABLES_FILE

if TYPE_CHECKING:
    from .plan import MarginsTablePlan

#: Error columns of every count, in order.
TABLE_ERROR_COLUMNS = (
    ErrorColumn(
        "low", "low",
        "lower end of an interval that contains the true count at least as often as the stated level",
    ),
    ErrorColumn("high", "high", "upper end of that interval"),
    ErrorColumn("sd", "sd", "standard deviation of the count around the true count, or an upper bound of it",
                ROUND_CEILING),
)  # fmt: skip

#: Meaning of the column ``count``.
AGREEING_MEANING = (
    "the combined count: all measurements combined by least squares, as an exact decimal; all tables of the release "
    "agree wherever they overlap"
)


#: Heading of the rounded counts, and the meaning of columns that other kinds do not have.
ROUNDED_COLUMN = "rounded_count"
TABLE_MEANINGS = {
    "count": AGREEING_MEANING,
    ROUNDED_COLUMN: "the count made whole and not negative so that the table adds up; totals of two tables may differ, "
    "and small counts are biased upwards",
}


@dataclass(frozen=True, eq=False)
class MarginTable(ReleasedTable):
    """One of the tables. ``counts`` are whole numbers of units of its last decimal place."""

    plan: MarginsTablePlan
    table: Columns = ()

    extra_meanings: ClassVar[Mapping[str, str]] = TABLE_MEANINGS

    @property
    def columns(self) -> tuple[ErrorColumn, ...]:
        return TABLE_ERROR_COLUMNS

    @property
    def fixed_headings(self) -> tuple[str, ...]:
        return (ROUNDED_COLUMN, *super().fixed_headings)

    @property
    def headings(self) -> tuple[str, ...]:
        before = super().headings
        at = before.index("count") + 1
        return (*before[:at], ROUNDED_COLUMN, *before[at:])

    @cached_property
    def own_groups(self) -> Groups:
        """The groups of the table."""
        return self.plan.column_values.of(self.table)

    @property
    def groups(self) -> Groups:
        return self.own_groups

    @property
    def unit(self) -> int:
        """Number of units in one."""
        return int(10 ** digits_of(self.plan.margins))

    @property
    def cell_variance(self) -> Fraction:
        """The variance of each count, or an upper bound for discrete Gaussian noise."""
        return self.plan.table_variances[self.table]

    @cached_property
    def errors(self) -> dict[str, Array]:
        reach = math.ceil(self.plan.half_width(self.table, 1 - self.level) * self.unit)
        counts = self.counts.reshape(-1)
        low = np.array([max(-((reach - one) // self.unit), 0) for one in counts.tolist()], dtype=np.int64)
        high = np.array([max((one + reach) // self.unit, 0) for one in counts.tolist()], dtype=np.int64)
        return {"low": low, "high": high, "sd": np.full(counts.size, math.sqrt(self.cell_variance))}

    @property
    def texts(self) -> list[str]:
        """The counts as exact decimals."""
        digits = digits_of(self.plan.margins)
        return [_decimal(one, digits) for one in self.counts.reshape(-1).tolist()]

    def rows(self, most: int | None = None) -> list[Row]:
        return self._rows_of(self.counts.reshape(-1).tolist(), self.unit, most)

    @cached_property
    def rounded_counts(self) -> IntArray:
        """The counts as people see them: whole, not negative, and adding up in this table."""
        errors = {
            places: math.sqrt(self.plan.solver.variance(tuple(self.table[k] for k in places)))
            for places in totals_of(len(self.table))
        }
        return rounded_table(self.groups, self.counts.reshape(-1), self.unit, errors)

    def rows_for_people(self, most: int | None = None) -> list[Row]:
        return self._rows_of(self.rounded_counts.tolist(), 1, most)

    def _rows_of(self, counts: Sequence[int], unit: int, most: int | None) -> list[Row]:
        size = len(counts) if most is None else min(most, len(counts))
        labels = [self.groups.label(group) for group in range(size)]
        errors = {name: values[:size].tolist() for name, values in self.errors.items()}
        return [
            {
                **dict(zip(self.by, labels[k], strict=True)),
                "count": counts[k] if unit == 1 else _int_or_float(Fraction(counts[k], unit)),
                "status": NORMAL,
                **{name: values[k] for name, values in errors.items()},
            }
            for k in range(size)
        ]

    @property
    def chart_data(self) -> dict[str, object]:
        rows = self.rows_for_people(MAX_DRAWN_CELLS)
        cut = (f"The first {len(rows):,} of {self.counts.size:,} cells.",) if len(rows) < self.counts.size else ()
        return {"rows": rows, "by": self.by, "title": self.title, "sentences": cut, "level": percent(self.level, 6)}

    def csv_text(self) -> str:
        errors, none = self.errors, np.zeros(self.counts.size, dtype=bool)
        fields = [self.cell_names()] if self.has_names else []
        fields += [self.texts, list(map(str, self.rounded_counts.tolist())), self.flags.tolist()]
        for column in self.columns:
            values, way = errors[column.name], column.rounding
            fields.append(csv_integers(values, none) if way is None else csv_decimals(values, none, way))
        return "\n".join([",".join(map(csv_label, self.headings)), *map(",".join, zip(*fields, strict=True))]) + "\n"

    def typed_columns(self) -> list[Column]:
        rows = self.rows()
        columns = [Column("edition", "text", [self.edition] * len(rows))] if self.edition else []
        columns += [
            group_column(name, self.groups.kinds[k], [row[name] for row in rows]) for k, name in enumerate(self.by)
        ]
        columns.append(Column("count", "number", [row["count"] for row in rows]))
        columns.append(Column("status", "text", [row["status"] for row in rows]))
        return columns + [Column(one.name, error_type(one), [row[one.name] for row in rows]) for one in self.columns]

    # ---------------------------------------------------------------- sums

    def total(self, cells: Mapping[str, object] | None) -> Combined:
        return self._sum(self.select(cells).astype(np.int64), non_negative=True)

    def difference(self, first: Mapping[str, object] | None, second: Mapping[str, object] | None) -> Combined:
        return self._sum(self.select(first).astype(np.int64) - self.select(second).astype(np.int64), False)

    def percentage(self, part: Mapping[str, object] | None, whole: Mapping[str, object] | None) -> Combined:
        """Return a percentage; its interval has the shares that one test of part minus share times whole accepts."""
        inner, outer = self.select(part), self.select(whole)
        if (inner & ~outer).any():
            raise InvalidInput(
                "the part must lie within the whole: every cell of the part belongs in the whole too.", argument="part"
            )
        some, total = self._estimate(inner.astype(np.int64)), self._estimate(outer.astype(np.int64))
        if (inner == outer).all():
            least = most = Fraction(1)
        else:
            forms = self._form(inner.astype(np.int64)), self._form(outer.astype(np.int64))
            slack = MAX_ROUNDING_ERROR * int(outer.sum())
            least, most = margin_share_interval(self.plan.margin_errors, forms, (some, total), 1 - self.level, slack)
        estimate = None if total <= 0 else 100.0 * min(max(float(some / total), 0.0), 1.0)
        how = "one test of the part minus a share of the whole, by the law of the noise of all measurements"
        low, high = max(0.0, float_down(100 * least)), min(100.0, float_up(100 * most))
        return Combined(estimate, low, high, self.level, None, None, None, int(outer.sum()), how, is_percentage=True)

    def _form(self, weights: Array) -> Form:
        """Return weights of the counts as a weighted sum of cells of this table."""
        return {self.table: weights.reshape([self.plan.margins.sizes[column] for column in self.table])}

    def _balance(self, lower: BoolArray, upper: BoolArray, share: Fraction) -> Balance:
        weights = np.asarray(
            lower.astype(object) * (share.denominator - share.numerator) - upper.astype(object) * share.numerator
        )
        estimate = self._estimate(weights) / share.denominator
        width = Fraction(self._width(weights, 1 - self.level)) / share.denominator
        return Balance(estimate, estimate - width, estimate + width)

    def _estimate(self, weights: Array) -> Fraction:
        counts = self.counts.reshape(-1).tolist()
        return Fraction(sum(w * one for w, one in zip(weights.tolist(), counts, strict=True)), self.unit)

    def variance_of_sum(self, weights: Array) -> Fraction:
        """Return the variance of a weighted sum of the counts: exactly, from the variances of residuals."""
        margins, solver = self.plan.margins, self.plan.solver
        grid = np.asarray(weights, dtype=object).reshape([margins.sizes[column] for column in self.table])
        total = Fraction(0)
        for residual in subsets(self.table):
            part: Array = grid
            divisor = 1
            for axis, column in reversed(list(enumerate(self.table))):
                size = margins.sizes[column]
                summed = np.asarray(part, dtype=object).sum(axis=axis)
                divisor *= size
                part = summed if column not in residual else part * size - np.expand_dims(summed, axis)
            squares = sum(int(one) ** 2 for one in np.asarray(part, dtype=object).reshape(-1).tolist())
            total += solver.residual_variances[residual] * Fraction(squares, divisor**2)
        return total

    def _width(self, weights: Array, miss: Fraction) -> float:
        slack = float(MAX_ROUNDING_ERROR) * float(np.abs(weights.astype(np.float64)).sum())
        return self.plan.margin_errors.form_half_width(self._form(weights), miss) + slack

    def _sum(self, weights: IntArray, non_negative: bool) -> Combined:
        estimate, width = self._estimate(weights), Fraction(self._width(weights, 1 - self.level))
        low, high = math.ceil(estimate - width), math.floor(estimate + width)
        if non_negative:
            low, high = max(low, 0), max(high, 0)
        return Combined(
            _int_or_float(estimate), low, high, self.level, math.sqrt(self.variance_of_sum(weights)), 0.0, 0.0,
            int(np.count_nonzero(weights)), "the law of the noise of all measurements in the combined counts",
        )  # fmt: skip

    # ---------------------------------------------------------------- words

    def rounding_in_words(self, unrounded: str, rounded: str = "") -> str:
        return (
            f"The counts shown are made whole so that this table adds up; another table may differ by a few. The "
            f"unrounded counts of {unrounded} agree in all tables, exactly."
        )

    @property
    def error_sentence(self) -> str:
        sd = text_up(math.sqrt(self.cell_variance), 3)
        return (
            f"The counts are unbiased, with a standard deviation of at most {sd}. "
            "This holds whatever the true counts are."
        )


@dataclass(frozen=True, eq=False)
class MarginsRelease(ReleasedTable):
    """All released tables. ``counts`` are those of the measured signed marginals, one marginal after the other."""

    plan: MarginsTablePlan

    rank: ClassVar[int] = 2
    extra_meanings: ClassVar[Mapping[str, str]] = TABLE_MEANINGS

    @classmethod
    def from_measured(
        cls, plan: MarginsTablePlan, measured: IntArray, coverage: Fraction, edition: str, layout: int = LAYOUT
    ) -> MarginsRelease:
        """Return the tables that follow from these measurements."""
        flags = np.full((measured.size, 1), NORMAL, dtype="U1")
        return cls(plan, measured.reshape(-1, 1), flags, coverage, edition, layout)

    @property
    def columns(self) -> tuple[ErrorColumn, ...]:
        return TABLE_ERROR_COLUMNS

    @property
    def title(self) -> str:
        return f"Counts of {self.question.table} in {plural(len(self.plan.margins.tables), 'table')} that agree"

    @cached_property
    def measured(self) -> dict[Columns, IntArray]:
        """The measured signed marginals."""
        ends = np.cumsum(self.plan.sizes_of_measured)[:-1].tolist()
        parts = np.split(self.counts.reshape(-1), ends)
        return {
            one: part.reshape(self.plan.margins.shape(one))
            for one, part in zip(self.plan.division.parts, parts, strict=True)
        }

    @cached_property
    def parts(self) -> tuple[ReleasedTable, ...]:
        """The tables, in the order of their files."""
        combined = self.plan.solver.combine(self.measured)
        decimals = agreeing_decimals(self.plan.margins, combined)
        return tuple(
            MarginTable(
                self.plan, decimals[table].reshape(-1, 1), np.full((decimals[table].size, 1), NORMAL, dtype="U1"),
                self.level, self.edition, self.layout, table=table,
            )
            for table in self.plan.margins.tables
        )  # fmt: skip

    def part_files(self, name: str) -> list[str]:
        return self.plan.table_files

    def part(self, columns: Sequence[str]) -> ReleasedTable:
        names = [name.casefold() for name in self.groups.columns]
        places = sorted(names.index(name.casefold()) for name in columns if name.casefold() in names)
        if len(places) < len(columns) or tuple(places) not in self.plan.margins.tables:
            raise InvalidInput(
                f"there is no table by {listed(list(columns)) or 'no column'} in this release.",
                f"Its tables are {listed([self.plan.named(one) for one in self.plan.margins.tables[:12]])}.",
                argument="table",
            )
        return self.parts[self.plan.margins.tables.index(tuple(places))]

    @property
    def published_cells(self) -> int:
        return self.plan.cells

    @cached_property
    def errors(self) -> dict[str, Array]:
        parts = [one.errors for one in self.parts]
        return {column.name: np.concatenate([one[column.name] for one in parts]) for column in self.columns}

    @property
    def flags(self) -> NDArray[np.str_]:
        return np.full(self.published_cells, NORMAL, dtype="U1")

    def rows(self, most: int | None = None) -> list[Row]:
        """Return the rows of all tables; a column that a table does not have is missing."""
        rows: list[Row] = []
        for one in self.parts:
            rows += one.rows(None if most is None else most - len(rows))
            if most is not None and len(rows) >= most:
                break
        return rows

    def _no_one_table(self) -> InvalidInput:
        return InvalidInput(
            "this release has several tables.", "Say which one: table=['sex', 'age'].", argument="table"
        )

    def select(self, cells: Mapping[str, object] | None) -> BoolArray:
        raise self._no_one_table()

    def total(self, cells: Mapping[str, object] | None) -> Combined:
        raise self._no_one_table()

    def difference(self, first: Mapping[str, object] | None, second: Mapping[str, object] | None) -> Combined:
        raise self._no_one_table()

    def percentage(self, part: Mapping[str, object] | None, whole: Mapping[str, object] | None) -> Combined:
        raise self._no_one_table()

    def typed_columns(self) -> list[Column]:
        raise self._no_one_table()

    @property
    def chart_data(self) -> dict[str, object]:
        return self.parts[-1].chart_data

    # ---------------------------------------------------------------- what is published

    @property
    def measured_headings(self) -> tuple[str, ...]:
        """The headings of the file of measurements."""
        return ("columns", "signs", "cell", "measured")

    def measured_names(self) -> list[str]:
        """Return each line of the file of measurements up to the number."""
        margins, names, lines = self.plan.margins, self.groups.columns, []
        for one in self.plan.division.parts:
            axes = margins.axes(one)
            start = ",".join(csv_label("*".join(names[k] for k in some)) for some in (one, margins.signs(one)))
            groups = self.plan.column_values.of(axes)
            for cell in range(groups.size):
                lines.append(f"{start},{csv_label(' * '.join(map(str, groups.label(cell))))}")
        return lines

    def csv_text(self) -> str:
        """Return the file of measurements: signed marginals with their noise, as they were drawn."""
        lines = map(",".join, zip(self.measured_names(), map(str, self.counts.reshape(-1).tolist()), strict=True))
        return "\n".join([",".join(self.measured_headings), *lines]) + "\n"

    def files(self, name: str) -> Iterator[tuple[str, str]]:
        yield MEASURED_FILE, self.csv_text()
        yield TABLES_FILE, self.list_text()
        for file, one in zip(self.plan.table_files, self.parts, strict=True):
            yield file, one.csv_text()

    def list_text(self) -> str:
        """Return the list of tables: file, columns, cells, and the variance of each count as a fraction."""
        lines = ["file,columns,cells,variance,sd"]
        names = self.groups.columns
        for file, table in zip(self.plan.table_files, self.plan.margins.tables, strict=True):
            variance = self.plan.table_variances[table]
            columns = csv_label("*".join(names[k] for k in table))
            lines.append(
                f"{file},{columns},{self.plan.margins.cells(table)},{variance},{text_up(math.sqrt(variance), 6)}"
            )
        return "\n".join(lines) + "\n"

    def statement(self, file: str) -> dict[str, object]:
        """Return the fields of release.json on the tables and the measurements."""
        names = self.groups.columns
        return {
            "file": TABLES_FILE,
            "columns": ["file", "columns", "cells", "variance", "sd"],
            "cells": self.published_cells,
            "measured": {
                "file": MEASURED_FILE,
                "marginals": [
                    {"columns": [names[k] for k in one], "share": str(self.plan.division.share(one)),
                     "variance": str(self.plan.solver.variances[one])}
                    for one in self.plan.division.parts
                ],
            },
        }  # fmt: skip

    # ---------------------------------------------------------------- words

    def counts_in_words(self, bounded: str, negative: bool) -> str:
        return (
            f"Signed marginals were counted with random noise{bounded}, and are combined by least squares into tables "
            "that agree wherever they overlap. A count that is negative, or not whole, is not a mistake."
        )

    @property
    def sums_in_words(self) -> str:
        return (
            "For sums, differences and percentages use `release.total({...}, table=[...])`: its interval contains the "
            f"true figure at least {percent(self.level, 6)} of the time."
        )

    @property
    def post_processing(self) -> str:
        return f"{self.title}: the noisy signed marginals are combined by least squares, so that all tables agree."

    @property
    def error_sentence(self) -> str:
        worst = max(self.plan.table_variances.items(), key=lambda pair: pair[1])
        return (
            "The counts of all tables agree and are unbiased. Their standard deviation is at most "
            f"{text_up(math.sqrt(worst[1]), 3)} ({self.plan.named(worst[0])}). This holds whatever the true counts are."
        )


def _decimal(count: int, digits: int) -> str:
    """Format a number of units of ``10^-digits``."""
    if not digits:
        return str(count)
    whole, rest = divmod(abs(count), 10**digits)
    return f"{'-' if count < 0 else ''}{whole}.{rest:0{digits}d}"


def _int_or_float(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
