"""A released table with totals: counts of all levels that add up, with the measurement of each beside.

The measurements are what was drawn; the counts are the least-squares combination of all of them (:mod:`...levels`),
worked out again by whoever reads the table.
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
from ...wording import listed, percent
from ..levels.combining import ROUNDING, Combination
from ..levels.quantiles import Balance
from ..levels.rounding import rounded_leaves
from ..noise.margins import Combined
from ..noise.weighted import chernoff, half_width, law_variance
from .aligned import Aligned, AlignedLevels
from .columns import IMPOSSIBLE, ErrorColumn
from .csv_text import integers, rounded, written
from .released import ReleasedTable
from .typed_columns import Column, error_type, group_column

if TYPE_CHECKING:
    from .levelled import LevelledTablePlan

#: What stands in a column that was summed over; the column ``grouping`` tells it from a value that reads the same.
TOTAL = "Total"

#: What is said of every count, in the order of the columns.
LEVEL_ERRORS = (
    ErrorColumn(
        "low", "low",
        "lower end of an interval that contains the true count at least as often as the stated level",
    ),
    ErrorColumn("high", "high", "upper end of that interval"),
    ErrorColumn("sd", "sd", "standard deviation of the count around the true count", ROUND_CEILING),
    ErrorColumn("measured", "measured", "the noisy count as it was drawn, before all levels were combined"),
)  # fmt: skip

#: What the rounded counts beside a table with totals are.
ROUNDED_MEANING = (
    "the counts made whole and not negative so that they still add up: each next to the count itself, unless negative "
    "counts were raised to 0 or more than two totals overlap. They are biased, small counts upwards: work with the "
    "counts of the table itself"
)

GROUPING_MEANING = (
    "which columns a count is summed over, as SQL's GROUPING of all group columns: a bit for each, the last one "
    f"lowest; 0 is a group, and a column that is summed over reads {TOTAL}"
)


@dataclass(frozen=True, eq=False)
class LevelledTable(ReleasedTable):
    """One table of a release with totals. ``counts`` and ``status`` have the measurements of the finest level first."""

    plan: LevelledTablePlan

    rank: ClassVar[int] = 1
    own_meanings: ClassVar[Mapping[str, str]] = {"grouping": GROUPING_MEANING}

    @property
    def columns(self) -> tuple[ErrorColumn, ...]:
        return LEVEL_ERRORS

    @property
    def combination(self) -> Combination:
        return self.plan.combination

    @property
    def title(self) -> str:
        return f"{super().title}, with totals"

    @property
    def own_headings(self) -> tuple[str, ...]:
        return ("grouping", *super().own_headings)

    @property
    def headings(self) -> tuple[str, ...]:
        at = 1 if self.edition else 0
        before = super().headings
        return (*before[:at], "grouping", *before[at:])

    @cached_property
    def measured(self) -> tuple[IntArray, ...]:
        """The noisy counts of each level as they were drawn, a row for each node and a column for each measure."""
        ends = np.cumsum(self.combination.shape.sizes)
        return tuple(np.split(self.counts, ends[:-1].tolist()))

    @property
    def unit(self) -> int:
        """Combined counts are whole multiples of one over this."""
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
        """Counts of each level that are whole, not negative, and add up; they are biased."""
        shape = self.combination.shape
        return tuple(shape.sums(rounded_leaves(shape, self.leaves, self.unit)))

    @cached_property
    def order(self) -> IntArray:
        """The cells in the order of the rows: the coarsest level first."""
        starts = np.cumsum([0, *(level.size for level in self.measured)])
        return np.concatenate([np.arange(starts[k], starts[k + 1]) for k in reversed(range(len(self.measured)))])

    @cached_property
    def groupings(self) -> tuple[int, ...]:
        """What GROUPING says of each level, the finest first."""
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
        """Read ``grouping``, which has a bit for each column."""
        grouping = row["grouping"]
        assert isinstance(grouping, int)
        return bool(grouping >> (len(self.by) - 1 - column) & 1)

    @property
    def texts(self) -> list[str]:
        """The combined counts as decimals that lose nothing, in the order of the rows."""
        counts = np.concatenate([one.reshape(-1) for one in self.combined])[self.order]
        return [_decimal(int(count), self.combination.digits) for count in counts.tolist()]

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """A mapping for each count, the coarsest level first: ``grouping``, group columns, count, status, errors.

        A column that was summed over reads "Total"; ``grouping`` tells it from a value that reads the same.
        """
        return self._level_rows(range(len(self.measured)), most)

    def _level_rows(self, levels: range, most: int | None) -> list[dict[str, Any]]:
        shape, many = self.combination.shape, len(self.measures)
        size = self.counts.size if most is None else min(most, self.counts.size)
        flags = self.flags.tolist()
        counts = np.concatenate([one.reshape(-1) for one in self.combined])[self.order]
        place = 0
        rows: list[dict[str, Any]] = []
        for level in reversed(range(len(self.measured))):
            nodes = shape.nodes[level]
            if level not in levels:
                place += nodes.size * many
                continue
            for node in range(min(nodes.size, -(-(size - len(rows)) // many))):
                values = dict(zip(self.question.levels[level], nodes.label(node), strict=True))
                for measure in self.measures:
                    row: dict[str, object] = {"grouping": self.groupings[level]}
                    row |= {name: values.get(k, TOTAL) for k, name in enumerate(self.by)}
                    if many > 1:
                        row["measure"] = measure
                    row |= {"count": _plain(int(counts[place]), self.unit), "status": flags[place]}
                    row |= {name: values[place].item() for name, values in self.errors.items()}
                    rows.append(row)
                    place += 1
            if len(rows) >= size:
                return rows[:size]
        return rows

    @property
    def drawing(self) -> dict[str, Any]:
        """The groups of the finest level, without totals."""
        leaves = self.measured[0].size
        rows = self._level_rows(range(1), MAX_DRAWN_CELLS)
        cut = (f"The first {len(rows):,} of {leaves:,} groups.",) if len(rows) < leaves else ()
        return {"rows": rows, "by": self.by, "title": self.title, "sentences": cut, "level": percent(self.level, 6)}

    # ---------------------------------------------------------------- sums of combined counts

    def total(self, cells: Mapping[str, object] | None) -> Combined:
        chosen = self.select(cells)
        return self._combined(chosen.astype(np.int64), non_negative=True)

    def difference(self, first: Mapping[str, object] | None, second: Mapping[str, object] | None) -> Combined:
        return self._combined(
            self.select(first).astype(np.int64) - self.select(second).astype(np.int64), non_negative=False
        )

    def percentage(self, part: Mapping[str, object] | None, whole: Mapping[str, object] | None) -> Combined:
        inner, outer = self.select(part), self.select(whole)
        if (inner & ~outer).any():
            raise InvalidInput(
                "the part must lie within the whole: every cell of the part belongs in the whole too.", argument="part"
            )
        share = (1 + self.level) / 2  # of each of the two, so that both hold together
        mine, rest = (self._combined(mask.astype(np.int64), True, share) for mask in (inner, outer & ~inner))
        assert mine.low is not None and mine.high is not None and rest.low is not None and rest.high is not None
        least = Fraction(mine.low) / Fraction(mine.low + rest.high) if mine.low > 0 else Fraction(0)
        most = Fraction(mine.high) / Fraction(mine.high + rest.low) if mine.high + rest.low > 0 else Fraction(1)
        total = self._estimate(outer.astype(np.int64))
        estimate = (
            None if total <= 0 else 100.0 * min(max(float(self._estimate(inner.astype(np.int64)) / total), 0.0), 1.0)
        )
        how = "the totals of the part and of the rest enclosed together; wider than need be"
        low, high = max(0.0, float_down(100 * least)), min(100.0, float_up(100 * most))
        return Combined(estimate, low, high, self.level, None, None, None, int(outer.sum()), how)

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
        leaves = self.leaves.reshape(-1)
        chosen = np.flatnonzero(weights)
        return Fraction(sum(int(w) * int(x) for w, x in zip(weights[chosen], leaves[chosen], strict=True)), self.unit)

    def weighted_half_width(self, weights: FloatArray, share: Fraction, quick: bool = False) -> float:
        """What the error of a weighted sum of the combined leaves exceeds with probability ``share`` at most."""
        grid = weights.reshape(self.groups.size, -1)
        terms = [
            term for column in grid.T if column.any() for term in self.combination.terms(column.astype(np.float64))
        ]
        slack = float(ROUNDING) * max(1.0, float(np.abs(weights).max(initial=0.0)))
        if not terms:
            return 0.0
        return slack + (chernoff(tuple(terms), float(share)) if quick else half_width(tuple(terms), share))

    def _combined(self, weights: IntArray, non_negative: bool, level: Fraction | None = None) -> Combined:
        level = self.level if level is None else level
        estimate = self._estimate(weights)
        width = Fraction(self.weighted_half_width(weights.astype(np.float64), 1 - level))
        low, high = math.ceil(estimate - width), math.floor(estimate + width)
        if non_negative:
            low, high = max(low, 0), max(high, 0)
        grid = weights.reshape(self.groups.size, -1)
        variances = [self._variance(column) for column in grid.T]
        return Combined(
            _plain_fraction(estimate), low, high, level, math.sqrt(sum(variances)), 0.0, 0.0,
            int(np.count_nonzero(weights)), "the law of the noise of all levels in the combined counts",
        )  # fmt: skip

    def _variance(self, weights: IntArray) -> float:
        terms = self.combination.terms(weights.astype(np.float64)) if weights.any() else ()
        return sum(term.count * term.weight**2 * float(law_variance(term.law)) for term in terms)

    # ---------------------------------------------------------------- what is published

    def files(self, name: str) -> Iterator[tuple[str, str]]:
        yield from super().files(name)
        yield rounded_file(name), self.rounded_text()

    def statement(self, file: str) -> dict[str, object]:
        """What release.json says of the levels."""
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
        """The published table: the coarsest level first."""
        flags = self.flags.tolist()
        none = np.zeros(len(flags), dtype=bool)
        said = [self.cell_names(), self.texts, flags]
        for column in self.columns:
            values = self.errors[column.name]
            said.append(integers(values, none) if column.rounding is None else rounded(values, none, column.rounding))
        return "\n".join([",".join(map(written, self.headings)), *map(",".join, zip(*said, strict=True))]) + "\n"

    def rounded_text(self) -> str:
        """The counts made whole and not negative so that they still add up."""
        counts = np.concatenate([one.reshape(-1) for one in self.rounded])[self.order]
        headings = self.headings[: self.headings.index("count")]
        lines = map(",".join, zip(self.cell_names(), map(str, counts.tolist()), strict=True))
        return "\n".join([",".join([*map(written, headings), "rounded_count"]), *lines]) + "\n"

    def cell_names(self) -> list[str]:
        """What stands before the count in each line: edition, grouping, values, measure."""
        edition = [written(self.edition)] if self.edition else []
        measures = [[written(name)] if len(self.measures) > 1 else [] for name in self.measures]
        lines: list[str] = []
        for level in reversed(range(len(self.groupings))):
            nodes, own = self.combination.shape.nodes[level], self.question.levels[level]
            columns = [
                list(map(written, nodes.labels(own.index(k)))) if k in own else [TOTAL] * nodes.size
                for k in range(len(self.groups.columns))
            ]
            before = [*edition, str(self.groupings[level])]
            starts = [",".join([*before, *values]) for values in zip(*columns, strict=True)]
            lines += [",".join([start, *measure]) for start in starts for measure in measures]
        return lines

    def typed_columns(self) -> list[Column]:
        """The columns with the type of their values. One that counts are summed over reads "Total", and so is text."""
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

    def aligned(self, first: ReleasedTable) -> Aligned:
        rows = self.rows()
        at = {tuple(row[key] for key in self.keys): k for k, row in enumerate(rows)}
        order = np.array([at[tuple(row[key] for key in self.keys)] for row in first.rows()], dtype=np.int64)
        counts, status = (np.array([row[name] for row in rows])[order] for name in ("count", "status"))
        return AlignedLevels(self, counts, status, order)

    # ---------------------------------------------------------------- words

    def counts_in_words(self, bounded: str, negative: bool) -> str:
        return (
            f"Every group and every total was counted with random noise of its own{bounded}. The counts combine all of "
            "these by least squares, so that they add up. Here they are shown rounded; the CSV files have all digits. "
            "A negative count, or one that is not whole, comes from this and is not a mistake; counts_rounded.csv has "
            "whole counts that are not negative, with a bias."
        )

    @property
    def post_processing(self) -> str:
        return (
            f"{self.title}: the noisy counts of all levels are combined by least squares, so that they add up. Beside "
            f"them: {ROUNDED_MEANING}."
        )

    @property
    def error_sentence(self) -> str:
        """What is known of the error of the counts of each level."""
        parts = []
        names = zip(self.question.levels, self.combination.standard_errors, strict=True)
        for columns, errors in names:
            parts.append(f"{text_up(float(errors.max()), 3)} {level_in_words(columns, self.groups.columns)}")
        return (
            f"The counts of all levels add up and are unbiased. The standard deviation of a count is at most "
            f"{listed(parts)}. This holds whatever the true counts are."
        )


def rounded_file(name: str) -> str:
    """The name of the file of rounded counts beside a table with totals."""
    return f"{name.removesuffix('.csv')}_rounded.csv"


def level_in_words(columns: tuple[int, ...], names: tuple[str, ...]) -> str:
    """Which counts a level has."""
    if not columns:
        return "for the total"
    kept = listed([names[k] for k in columns])
    return f"by {kept}" if len(columns) == len(names) else f"for totals by {kept}"


def _ends(counts: Array, widths: FloatArray, unit: int) -> tuple[IntArray, IntArray]:
    """Whole ends of the intervals, none below zero."""
    reach = np.ceil((widths + float(ROUNDING)) * unit)
    if counts.dtype == object or (reach.size and reach.max() > 2**61):
        counts, reach = counts.astype(object), np.array([int(one) for one in reach], dtype=object)
    else:
        reach = reach.astype(np.int64)
    low, high = -((reach - counts) // unit), (counts + reach) // unit
    return np.maximum(low, 0).astype(np.int64), np.maximum(high, 0).astype(np.int64)


def _decimal(count: int, digits: int) -> str:
    whole, rest = divmod(abs(count), 10**digits)
    return f"{'-' if count < 0 else ''}{whole}.{rest:0{digits}d}"


def _plain(count: int, unit: int) -> int | float:
    return _plain_fraction(Fraction(count, unit))


def _plain_fraction(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
