"""A released table with totals: counts of all levels that add up, each with its measurement.

The measurements are the noisy counts as drawn. The counts are their least-squares combination (:mod:`...levels`), which
every reader of the table can recompute.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...exact.arrays import Array, BoolArray, FloatArray, IntArray
from ...exact.rationals import float_down, float_up, text_up
from ...plots.counts import MAX_DRAWN_CELLS
from ...questions.levels import grouping_number
from ...wording import listed, percent, plural
from ..levels.combining import MAX_ROUNDING_ERROR, LevelCombination
from ..levels.quantiles import Balance
from ..levels.rounding import has_adjacent_rounding, rounded_leaves
from ..levels.shares import level_share_interval
from ..noise.margins import Combined
from ..noise.weighted import chernoff, half_width, law_variance
from .aligned import Aligned, AlignedLevels
from .columns import IMPOSSIBLE, ErrorColumn
from .csv_text import csv_decimals, csv_integers, csv_label, rounded_file
from .released import ReleasedTable, Row
from .typed_columns import Column, error_type, group_column

if TYPE_CHECKING:
    from .levelled import LevelledTablePlan

#: Label in a column that is summed over; the column ``grouping`` distinguishes it from an equal value of the data.
TOTAL_LABEL = "Total"

#: Error columns of every count of a table with totals, in order.
LEVEL_ERROR_COLUMNS = (
    ErrorColumn(
        "low", "low",
        "lower end of an interval that contains the true count at least as often as the stated level",
    ),
    ErrorColumn("high", "high", "upper end of that interval"),
    ErrorColumn("sd", "sd", "standard deviation of the count around the true count", ROUND_CEILING),
    ErrorColumn("measured", "measured", "the noisy count as it was drawn, before all levels were combined"),
)  # fmt: skip

#: Heading of the rounded counts.
ROUNDED_COLUMN = "rounded_count"

#: Meaning of the rounded counts.
ROUNDED_MEANING = (
    "the counts made whole and not negative so that they still add up: each next to the count itself, unless negative "
    "counts were raised to 0 or more than two totals overlap. They are biased, small counts upwards: work with the "
    "counts of the table itself"
)

#: Meaning of the column ``count``.
COMBINED_MEANING = (
    "the noisy count; in a table with totals the unrounded combined count, for programs: all measurements combined by "
    "least squares"
)

#: Meaning of the column ``grouping``.
GROUPING_MEANING = (
    "which columns a count is summed over, as SQL's GROUPING of all group columns: a bit for each, the last one "
    f"lowest; 0 is a group, and a column that is summed over reads {TOTAL_LABEL}"
)


@dataclass(frozen=True, eq=False)
class LevelledTable(ReleasedTable):
    """A released table with totals. ``counts`` and ``status`` are those of the measurements, the finest level first."""

    plan: LevelledTablePlan

    rank: ClassVar[int] = 1
    extra_meanings: ClassVar[Mapping[str, str]] = {"grouping": GROUPING_MEANING, "count": COMBINED_MEANING}

    @property
    def columns(self) -> tuple[ErrorColumn, ...]:
        return LEVEL_ERROR_COLUMNS

    @property
    def combination(self) -> LevelCombination:
        return self.plan.combination

    @property
    def title(self) -> str:
        return f"{super().title}, with totals"

    @property
    def fixed_headings(self) -> tuple[str, ...]:
        return ("grouping", *super().fixed_headings)

    @property
    def headings(self) -> tuple[str, ...]:
        at = 1 if self.edition else 0
        before = super().headings
        return (*before[:at], "grouping", *before[at:])

    @cached_property
    def measured(self) -> tuple[IntArray, ...]:
        """The noisy counts of each level as drawn, a row for each node and a column for each measure."""
        ends = np.cumsum(self.combination.shape.sizes)
        return tuple(np.split(self.counts, ends[:-1].tolist()))

    @property
    def unit(self) -> int:
        """Number of units in one; combined counts are whole numbers of units."""
        return int(10**self.combination.digits)

    @cached_property
    def leaves(self) -> Array:
        """The combined counts of the groups, in units."""
        return self.combination.leaves(self.measured)

    @cached_property
    def combined(self) -> tuple[Array, ...]:
        """The combined counts of each level, in units: sums of the leaves."""
        return tuple(self.combination.shape.sums(self.leaves))

    @cached_property
    def rounded(self) -> tuple[IntArray, ...]:
        """The rounded counts of each level: whole, non-negative, adding up, and biased."""
        shape = self.combination.shape
        errors = self.combination.standard_errors if self.layout > 4 else None
        return tuple(shape.sums(rounded_leaves(shape, self.leaves, self.unit, errors)))

    @property
    def rounded_counts(self) -> IntArray:
        """The rounded counts in the order of the rows."""
        return np.concatenate([one.reshape(-1) for one in self.rounded])[self.order]

    @cached_property
    def order(self) -> IntArray:
        """The indices of the cells in the order of the rows, the coarsest level first."""
        starts = np.cumsum([0, *(level.size for level in self.measured)])
        return np.concatenate([np.arange(starts[k], starts[k + 1]) for k in reversed(range(len(self.measured)))])

    @cached_property
    def groupings(self) -> tuple[int, ...]:
        """SQL's GROUPING number of each level, the finest first."""
        return tuple(grouping_number(level, len(self.groups.columns)) for level in self.question.levels)

    @cached_property
    def errors(self) -> dict[str, Array]:
        many = len(self.measures)
        widths = np.concatenate([np.repeat(one, many) for one in self.combination.half_widths(self.level)])
        spread = np.concatenate([np.repeat(one, many) for one in self.combination.standard_errors])
        counts = np.concatenate([one.reshape(-1) for one in self.combined])
        low, high = _ends(counts, widths, self.unit)
        errors = {"low": low, "high": high, "sd": spread, "measured": self.counts.reshape(-1).copy()}
        impossible = self.status.reshape(-1) == IMPOSSIBLE
        for values in errors.values():
            values[impossible] = 0
        return {name: values[self.order] for name, values in errors.items()}

    @property
    def flags(self) -> NDArray[np.str_]:
        return self.status.reshape(-1)[self.order]

    @property
    def keys(self) -> tuple[str, ...]:
        return ("grouping", *super().keys)

    def is_summed_over(self, row: Mapping[str, object], column: int) -> bool:
        """Return the bit of this column in ``grouping``."""
        grouping = row["grouping"]
        assert isinstance(grouping, int)
        return bool(grouping >> (len(self.by) - 1 - column) & 1)

    @property
    def texts(self) -> list[str]:
        """The combined counts as exact decimals, in the order of the rows."""
        counts = np.concatenate([one.reshape(-1) for one in self.combined])[self.order]
        return [_decimal(int(count), self.combination.digits) for count in counts.tolist()]

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return a mapping for each count, coarsest level first: ``grouping``, group columns, count, status, errors.

        A column that is summed over reads "Total"; ``grouping`` distinguishes it from an equal value of the data.
        """
        return self._level_rows(range(len(self.measured)), most, self.combined, self.unit)

    def rows_for_people(self, most: int | None = None) -> list[Row]:
        return self._level_rows(range(len(self.measured)), most, self.rounded, 1)

    def _level_rows(
        self, levels: range, most: int | None, figures: tuple[Array, ...], unit: int
    ) -> list[dict[str, Any]]:
        """Return the rows of these levels, at most this many, with the counts ``figures`` in units of ``1/unit``."""
        shape, many = self.combination.shape, len(self.measures)
        size = self.counts.size if most is None else min(most, self.counts.size)
        flags = self.flags.tolist()
        counts = np.concatenate([one.reshape(-1) for one in figures])[self.order]
        position = 0
        rows: list[dict[str, Any]] = []
        for level in reversed(range(len(self.measured))):
            nodes = shape.nodes[level]
            if level not in levels:
                position += nodes.size * many
                continue
            for node in range(min(nodes.size, -(-(size - len(rows)) // many))):
                values = dict(zip(self.question.levels[level], nodes.label(node), strict=True))
                for measure in self.measures:
                    row: dict[str, object] = {"grouping": self.groupings[level]}
                    row |= {name: values.get(k, TOTAL_LABEL) for k, name in enumerate(self.by)}
                    if many > 1:
                        row["measure"] = measure
                    row |= {
                        "count": _int_or_float(Fraction(int(counts[position]), unit)),
                        "status": flags[position],
                    }
                    row |= {name: values[position].item() for name, values in self.errors.items()}
                    rows.append(row)
                    position += 1
            if len(rows) >= size:
                return rows[:size]
        return rows

    @property
    def chart_data(self) -> dict[str, Any]:
        """The data for a chart of the finest level, without totals."""
        leaves = self.measured[0].size
        rows = self._level_rows(range(1), MAX_DRAWN_CELLS, self.rounded, 1)
        cut = (f"The first {len(rows):,} of {leaves:,} groups.",) if len(rows) < leaves else ()
        return {"rows": rows, "by": self.by, "title": self.title, "sentences": cut, "level": percent(self.level, 6)}

    # ---------------------------------------------------------------- sums of combined counts

    def total(self, cells: Mapping[str, object] | None) -> Combined:
        chosen = self.select(cells)
        return self._sum(chosen.astype(np.int64), non_negative=True)

    def difference(self, first: Mapping[str, object] | None, second: Mapping[str, object] | None) -> Combined:
        return self._sum(self.select(first).astype(np.int64) - self.select(second).astype(np.int64), non_negative=False)

    def percentage(self, part: Mapping[str, object] | None, whole: Mapping[str, object] | None) -> Combined:
        inner, outer = self.select(part), self.select(whole)
        if (inner & ~outer).any():
            raise InvalidInput(
                "the part must lie within the whole: every cell of the part belongs in the whole too.", argument="part"
            )
        possible = np.repeat(self.combination.shape.live, len(self.measures))
        inner, outer = inner & possible, outer & possible
        some, total = (self._estimate(mask.astype(np.int64)) for mask in (inner, outer))
        if not inner.any():
            least, most = Fraction(0), Fraction(int(not outer.any()))
        elif (inner == outer).all():
            least = most = Fraction(1)
        else:
            masks = inner.reshape(self.groups.size, -1), outer.reshape(self.groups.size, -1)
            least, most = level_share_interval(self.combination, masks, (some, total - some), 1 - self.level)
        estimate = None if total <= 0 else 100.0 * min(max(float(some / total), 0.0), 1.0)
        how = "one test of the part minus a share of the whole, by the law of the noise of all levels"
        low, high = max(0.0, float_down(100 * least)), min(100.0, float_up(100 * most))
        return Combined(estimate, low, high, self.level, None, None, None, int(outer.sum()), how, is_percentage=True)

    def _balance(self, lower: BoolArray, upper: BoolArray, share: Fraction) -> Balance:
        weights = (
            lower.astype(np.int64) * (share.denominator - share.numerator) - upper.astype(np.int64) * share.numerator
        )
        estimate = self._estimate(weights) / share.denominator
        floats = weights / share.denominator
        width = self.weighted_half_width(floats, 1 - self.level, quick=True)
        if abs(estimate) <= width:
            width = self.weighted_half_width(floats, 1 - self.level)
        return Balance(estimate, estimate - Fraction(width), estimate + Fraction(width))

    def _estimate(self, weights: IntArray) -> Fraction:
        """Return a weighted sum of the combined leaves, exactly."""
        leaves = self.leaves.reshape(-1)
        chosen = np.flatnonzero(weights)
        return Fraction(sum(int(w) * int(x) for w, x in zip(weights[chosen], leaves[chosen], strict=True)), self.unit)

    def weighted_half_width(self, weights: FloatArray, share: Fraction, quick: bool = False) -> float:
        """Return a bound that the error of a weighted sum of leaves exceeds with probability at most ``share``."""
        grid = weights.reshape(self.groups.size, -1)
        terms = [
            term for column in grid.T if column.any() for term in self.combination.terms(column.astype(np.float64))
        ]
        slack = float(MAX_ROUNDING_ERROR) * max(1.0, float(np.abs(weights).max(initial=0.0)))
        if not terms:
            return 0.0
        return slack + (chernoff(tuple(terms), float(share)) if quick else half_width(tuple(terms), share))

    def _sum(self, weights: IntArray, non_negative: bool, coverage: Fraction | None = None) -> Combined:
        """Return a weighted sum of the combined leaves with its interval."""
        coverage = self.level if coverage is None else coverage
        estimate = self._estimate(weights)
        width = Fraction(self.weighted_half_width(weights.astype(np.float64), 1 - coverage))
        low, high = math.ceil(estimate - width), math.floor(estimate + width)
        if non_negative:
            low, high = max(low, 0), max(high, 0)
        grid = weights.reshape(self.groups.size, -1)
        variances = [self._variance(column) for column in grid.T]
        return Combined(
            _int_or_float(estimate), low, high, coverage, math.sqrt(sum(variances)), 0.0, 0.0,
            int(np.count_nonzero(weights)), "the law of the noise of all levels in the combined counts",
        )  # fmt: skip

    def _variance(self, weights: IntArray) -> float:
        """Return the variance of a weighted sum of the combined leaves of one measure."""
        terms = self.combination.terms(weights.astype(np.float64)) if weights.any() else ()
        return sum(term.count * term.weight**2 * float(law_variance(term.law)) for term in terms)

    # ---------------------------------------------------------------- what is published

    def files(self, name: str) -> Iterator[tuple[str, str]]:
        yield from super().files(name)
        yield rounded_file(name), self.rounded_text()

    def statement(self, file: str) -> dict[str, object]:
        """Return the fields of release.json on the levels and the rounded counts."""
        sizes, names = self.combination.shape.sizes, self.groups.columns
        levels = zip(self.groupings, self.question.levels, sizes, self.plan.levels, strict=True)
        return {
            "levels": [
                {"grouping": number, "columns": [names[k] for k in columns], "groups": size, "share": str(level.share)}
                for number, columns, size, level in levels
            ],
            "rounded": {"file": rounded_file(file), "meaning": ROUNDED_MEANING},
        }

    def csv_text(self) -> str:
        """Return the published table, the coarsest level first."""
        flags = self.flags.tolist()
        none = np.zeros(len(flags), dtype=bool)
        fields = [self.cell_names(), self.texts, flags]
        for column in self.columns:
            values = self.errors[column.name]
            way = column.rounding
            fields.append(csv_integers(values, none) if way is None else csv_decimals(values, none, way))
        return "\n".join([",".join(map(csv_label, self.headings)), *map(",".join, zip(*fields, strict=True))]) + "\n"

    def rounded_text(self) -> str:
        """Return the file of rounded counts."""
        headings = self.headings[: self.headings.index("count")]
        lines = map(",".join, zip(self.cell_names(), map(str, self.rounded_counts.tolist()), strict=True))
        return "\n".join([",".join([*map(csv_label, headings), ROUNDED_COLUMN]), *lines]) + "\n"

    def cell_names(self) -> list[str]:
        """Return each line up to the count: edition, grouping, values, measure."""
        edition = [csv_label(self.edition)] if self.edition else []
        measures = [[csv_label(name)] if len(self.measures) > 1 else [] for name in self.measures]
        lines: list[str] = []
        for level in reversed(range(len(self.groupings))):
            nodes, kept = self.combination.shape.nodes[level], self.question.levels[level]
            columns = [
                list(map(csv_label, nodes.labels(kept.index(k)))) if k in kept else [TOTAL_LABEL] * nodes.size
                for k in range(len(self.groups.columns))
            ]
            before = [*edition, str(self.groupings[level])]
            starts = [",".join([*before, *values]) for values in zip(*columns, strict=True)]
            lines += [",".join([start, *measure]) for start in starts for measure in measures]
        return lines

    def typed_columns(self) -> list[Column]:
        """Return the columns with the types of their values; one that is summed over reads "Total", and is text."""
        rows = self.rows()
        columns = [Column("edition", "text", [self.edition] * len(rows))] if self.edition else []
        columns.append(Column("grouping", "integer", [row["grouping"] for row in rows]))
        for k, name in enumerate(self.by):
            columns.append(group_column(name, self.groups.kinds[k], [row[name] for row in rows]))
        if len(self.measures) > 1:
            columns.append(Column("measure", "text", [row["measure"] for row in rows]))
        columns.append(Column("count", "number", [row["count"] for row in rows]))
        columns.append(Column("status", "text", [row["status"] for row in rows]))
        return columns + [Column(one.name, error_type(one), [row[one.name] for row in rows]) for one in self.columns]

    def columns_with_rounded(self) -> list[Column]:
        columns = self.typed_columns()
        at = [column.name for column in columns].index("count")
        return [*columns[:at], Column(ROUNDED_COLUMN, "integer", self.rounded_counts.tolist()), *columns[at:]]

    def aligned(self, first: ReleasedTable) -> Aligned:
        rows = self.rows()
        at = {tuple(row[key] for key in self.keys): k for k, row in enumerate(rows)}
        order = np.array([at[tuple(row[key] for key in self.keys)] for row in first.rows()], dtype=np.int64)
        counts, status = (np.array([row[name] for row in rows])[order] for name in ("count", "status"))
        return AlignedLevels(self, counts, status, order, self.rounded_counts[order])

    # ---------------------------------------------------------------- words

    def counts_in_words(self, bounded: str, negative: bool) -> str:
        return (
            f"Every group and every total was counted with random noise of its own{bounded}. The counts combine all of "
            "these by least squares, so that they add up. People see whole numbers that are not negative and still add "
            "up, which biases small counts upwards; programs read the unrounded ones. An unrounded count that "
            "is negative, or not whole, is not a mistake."
        )

    def rounding_in_words(self, unrounded: str, rounded: str = "") -> str:
        where = f" ({rounded})" if rounded else ""
        shown = (
            f"The counts shown are the combined counts made whole so that they still add up{where}; "
            f"the unrounded combined counts, with their standard deviations, are data for programs ({unrounded})."
        )
        if has_adjacent_rounding(self.combination.shape, self.leaves.size):
            return shown
        return f"{shown} {self._distances_in_words()}"

    def _distances_in_words(self) -> str:
        """State how far rounded totals are from their combined counts, where no rounding need be next to all."""
        lead = "A rounding next to every total of such a table need not exist"
        total = sum(int(live.sum()) for live in self.combination.shape.live_nodes[1:]) * len(self.measures)
        far, largest = 0, Fraction(0)
        levels = zip(self.rounded, self.combined, self.combination.standard_errors, strict=True)
        for rounded, combined, errors in list(levels)[1:]:
            distances = abs(rounded.astype(object) * self.unit - np.maximum(combined, 0).astype(object))
            far += int((distances > np.ceil(errors * self.unit).astype(object)[:, None]).sum())
            largest = max(largest, Fraction(int(distances.max()), self.unit))
        if not far:
            return f"{lead}; here each total is within one standard deviation of its combined count."
        return (
            f"{lead}; here {far:,} of the {plural(total, 'total')} differ from their combined counts by more than one "
            f"standard deviation, the furthest by {text_up(largest, 3)}."
        )

    @property
    def post_processing(self) -> str:
        return (
            f"{self.title}: the noisy counts of all levels are combined by least squares, so that they add up. Beside "
            f"them: {ROUNDED_MEANING}."
        )

    @property
    def error_sentence(self) -> str:
        """A sentence on the error of the counts of each level."""
        parts = []
        names = zip(self.question.levels, self.combination.standard_errors, strict=True)
        for columns, errors in names:
            parts.append(f"{text_up(float(errors.max()), 3)} {level_in_words(columns, self.groups.columns)}")
        return (
            f"The combined counts of all levels add up and are unbiased. Their standard deviation is at most "
            f"{listed(parts)}. This holds whatever the true counts are."
        )


def level_in_words(columns: tuple[int, ...], names: tuple[str, ...]) -> str:
    """Describe the counts of a level."""
    if not columns:
        return "for the total"
    kept = listed([names[k] for k in columns])
    return f"by {kept}" if len(columns) == len(names) else f"for totals by {kept}"


def _ends(counts: Array, widths: FloatArray, unit: int) -> tuple[IntArray, IntArray]:
    """Return the ends of the intervals, as whole numbers that are not negative."""
    reach = np.ceil((widths + float(MAX_ROUNDING_ERROR)) * unit)
    if counts.dtype == object or (reach.size and reach.max() > 2**61):
        counts, reach = counts.astype(object), np.array([int(one) for one in reach], dtype=object)
    else:
        reach = reach.astype(np.int64)
    low, high = -((reach - counts) // unit), (counts + reach) // unit
    return np.maximum(low, 0).astype(np.int64), np.maximum(high, 0).astype(np.int64)


def _decimal(count: int, digits: int) -> str:
    """Format a number of units of ``10^-digits``."""
    whole, rest = divmod(abs(count), 10**digits)
    return f"{'-' if count < 0 else ''}{whole}.{rest:0{digits}d}"


def _int_or_float(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
