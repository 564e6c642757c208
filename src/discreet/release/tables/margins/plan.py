"""All tables at once: signed marginals are measured, and combined into tables that agree with each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ....engines.base import Counting
from ....engines.margins.counting import CountingTables
from ....errors import InvalidInput, Unsupported
from ....exact.arrays import IntArray
from ....exact.bits import Bits
from ....exact.integers import is_integer
from ....exact.rationals import as_fraction, claimed, text_up
from ....ledger.budget import Cost
from ....privacy.relations import RELATIONS
from ....questions.groups import ColumnValues, Groups
from ....questions.orders import canonical
from ....questions.question import Question
from ....report import Fact, Json
from ....wording import listed, noun, percent, plural
from ...made_up import USUAL_TOTAL, MadeUpSizes, read_total, spread
from ...marginals.combine import MarginLeastSquares
from ...marginals.decimals import MAX_ROUNDING_ERROR, digits_of
from ...marginals.intervals import MarginErrors
from ...marginals.optimum import ratio_to_optimum
from ...marginals.signed import Columns, Margins
from ...marginals.split import absolute_sensitivity, gap_of_parts, split_budget, squared_sensitivity
from ...noise.accuracy import Expected
from ...noise.cells import CellNoise, cell_noise
from ...noise.weighted import law_variance
from ...pricing import composition
from ...protection import Change, Protection
from ..csv_lines import Refuted, read_lines
from ..plain import declared_in_words
from ..table import Counted, Entry, TablePlan, law_in_words, names_fit
from .names import MEASURED_FILE, TABLES_FILE, table_file_names
from .released import MarginsRelease

if TYPE_CHECKING:
    from ....engines.sources import Source
    from ..released import ReleasedTable

#: The families of noise, and the parameter that a share of the budget gives.
GAUSSIAN = "discrete_gaussian"
GEOMETRIC = "geometric"
LAWS = (GAUSSIAN, GEOMETRIC)


@dataclass(frozen=True)
class SplitBudget:
    """The budget of all measurements, and its division.

    Attributes
    ----------
    law
        ``"discrete_gaussian"``, whose budget is rho, or ``"geometric"``, whose budget is epsilon.
    budget
        The budget.
    parts
        The part of each measured set of columns, as whole numbers: its share is the part over their sum.
    """

    law: str
    budget: Fraction
    parts: Mapping[Columns, int]

    def share(self, columns: Columns) -> Fraction:
        """Return the share of a measured set."""
        return Fraction(self.parts[columns], self.total)

    @cached_property
    def total(self) -> int:
        """The sum of the parts."""
        return sum(self.parts.values())


@dataclass(frozen=True, kw_only=True)
class MarginsTablePlan(TablePlan):
    """Tables of some of the columns, measured as signed marginals.

    Attributes
    ----------
    margins
        The tables.
    division
        The split of the budget.
    noises
        The noise of each measured set.
    adjacency
        The neighbour relation, which the sensitivities follow from.
    """

    margins: Margins
    division: SplitBudget
    noises: Mapping[Columns, CellNoise]
    adjacency: str

    stands_alone: ClassVar[bool] = True
    lines_in_words: ClassVar[str] = "every signed marginal has its measured cells once, in order."
    public_facts: ClassVar[tuple[str, ...]] = (
        "The question, the declared values and the list of tables are public. They are not protected.",
    )
    public_in_words: ClassVar[str] = "the question, the declared values and the list of tables"

    @classmethod
    def from_split(
        cls, question: Question, groups: ColumnValues, margins: Margins, split: SplitBudget, protection: Protection
    ) -> MarginsTablePlan:
        """Return the plan with the noise that the split of the budget gives."""
        relation = RELATIONS[protection.relation]
        made: dict[Fraction, CellNoise] = {}
        noises = {}
        for one in split.parts:
            share = split.budget * split.share(one)
            if split.law == GAUSSIAN:
                parameter = squared_sensitivity(margins, one, relation) / (2 * share)
            else:
                parameter = share / absolute_sensitivity(margins, one, relation)
            if parameter not in made:
                field = "sigma2" if split.law == GAUSSIAN else "epsilon"
                made[parameter] = cell_noise(split.law, **{field: parameter}, output="signed")  # type: ignore[arg-type]
            noises[one] = made[parameter]
        sensitivity = sum(absolute_sensitivity(margins, one, relation) for one in split.parts)
        first = noises[next(iter(split.parts))]
        return cls(
            question, groups, first, Fraction(1), sensitivity, margins=margins, division=split, noises=noises,
            adjacency=protection.relation,
        )  # fmt: skip

    @classmethod
    def describes(cls, entry: Entry, question: Question) -> bool:
        """Return whether an entry of a request describes tables at once."""
        return "margins" in entry

    @classmethod
    def from_json(cls, entry: Entry, question: Question, groups: Groups, protection: Protection) -> MarginsTablePlan:
        """Rebuild the tables that a request describes, checking them again."""
        problem = InvalidInput("the tables of this request do not fit its question.", argument="request")
        content = entry["margins"]
        if not isinstance(groups, ColumnValues) or not names_fit(groups, question.by) or question.levels:
            raise problem
        if len(question.aggregates) != 1 or question.aggregates[0].condition is not None or question.tables:
            raise problem
        if protection.max_groups != 1 or protection.max_rows is not None or as_fraction(entry["share"]) != 1:
            raise problem
        if min(map(len, groups.values), default=0) < 2 or content["law"] not in LAWS:
            raise problem
        tables = tuple(_columns(one, len(groups.values)) for one in content["tables"])
        weights = tuple(map(as_fraction, content.get("weights", [1] * len(tables))))
        if len(set(tables)) < len(tables) or len(weights) != len(tables) or min(weights, default=0) <= 0:
            raise problem
        if list(tables) != sorted(tables, key=lambda one: (len(one), one)):
            raise problem
        margins = Margins(tuple(map(len, groups.values)), tables, weights)
        parts = dict(zip(margins.residuals, content["parts"], strict=True))
        if not all(is_integer(part) and part >= 0 for part in parts.values()):
            raise problem
        split = SplitBudget(
            content["law"], as_fraction(content["budget"]), {one: part for one, part in parts.items() if part}
        )
        covered = {residual for one in split.parts for residual in margins.measured_by(one)}
        if split.budget <= 0 or not set(margins.residuals) <= covered:
            raise problem
        return cls.from_split(question, groups, margins, split, protection)

    def to_json(self) -> dict[str, Json]:
        """Return the tables as JSON in a request; the noise follows from the parts of the budget."""
        weights: dict[str, Json] = {"weights": [str(weight) for weight in self.margins.weights]}
        content: dict[str, Json] = {
            "tables": [list(table) for table in self.margins.tables],
            **(weights if set(self.margins.weights) != {1} else {}),
            "law": self.division.law,
            "budget": str(self.division.budget),
            "parts": [self.division.parts.get(one, 0) for one in self.margins.residuals],
        }
        return {
            "question": self.question.text,
            "groups": self.groups.to_json(),
            "share": "1",
            "margins": content,
            **self._lookups_json(),
        }

    # ---------------------------------------------------------------- size and noise

    @property
    def column_values(self) -> ColumnValues:
        """The declared values of each column."""
        assert isinstance(self.groups, ColumnValues)
        return self.groups

    @property
    def known_cells(self) -> int | None:
        return sum(map(self.margins.cells, self.margins.tables))

    @property
    def measured_levels(self) -> int:
        return len(self.division.parts)

    @cached_property
    def changes(self) -> tuple[tuple[CellNoise, Change], ...]:
        relation = RELATIONS[self.adjacency]
        together: dict[int, tuple[CellNoise, int, int]] = {}
        for one, noise in self.noises.items():
            _, l1, l2 = together.get(id(noise), (noise, 0, 0))
            l1 += absolute_sensitivity(self.margins, one, relation)
            together[id(noise)] = (noise, l1, l2 + squared_sensitivity(self.margins, one, relation))
        return tuple((noise, Change(l1, l2)) for noise, l1, l2 in together.values())

    @cached_property
    def canonical(self) -> MarginsTablePlan:
        """The same tables with the values of each column in canonical order."""
        columns = ColumnValues.together(
            [canonical(self.column_values.of((k,))) for k in range(len(self.margins.sizes))]
        )
        return self if columns == self.groups else replace(self, groups=columns)

    @cached_property
    def solver(self) -> MarginLeastSquares:
        """The least squares, with an upper bound of the variance of each measurement."""
        variances = {}
        for one, noise in self.noises.items():
            assert noise.shift_law is not None
            variances[one] = law_variance(noise.shift_law)
        return MarginLeastSquares(self.margins, variances)

    @cached_property
    def gap(self) -> float:
        """How far the sum of variances is from that of the best split at most; NaN where no bound is known."""
        if self.division.law != GAUSSIAN:
            return math.nan
        relation = RELATIONS[self.adjacency]
        return gap_of_parts(self.margins, relation, split_budget(self.margins, relation), self.division.parts)

    @cached_property
    def digits(self) -> int:
        """Number of decimal places of published counts."""
        return digits_of(self.margins)

    @cached_property
    def margin_errors(self) -> MarginErrors:
        """The errors of combined counts, from the laws of all measurements."""
        laws = {one: noise.shift_law for one, noise in self.noises.items()}
        return MarginErrors(self.solver, {one: law for one, law in laws.items() if law is not None})

    def half_width(self, table: Columns, miss: Fraction) -> Fraction:
        """Return a bound that the error of a published count exceeds with probability at most ``miss``."""
        return Fraction(self.margin_errors.half_width(table, miss)) + MAX_ROUNDING_ERROR

    @cached_property
    def worst_table(self) -> Columns:
        """The table with the largest variance."""
        return max(self.table_variances, key=lambda one: self.table_variances[one])

    @cached_property
    def table_variances(self) -> dict[Columns, Fraction]:
        """The variance of each cell of each table, or an upper bound for discrete Gaussian noise."""
        return {table: self.solver.variance(table) for table in self.margins.tables}

    def expected(self, coverage: Fraction) -> Expected:
        width = self.half_width(self.worst_table, 1 - coverage)
        sd = math.sqrt(self.table_variances[self.worst_table])
        return ExpectedTables(coverage, math.ceil(width), sd, 0.0, 0.0, 0.0)

    def widest_interval(self, coverage: Fraction) -> int | None:
        return math.floor(2 * self.half_width(self.worst_table, 1 - coverage))

    def false_zeros(self, least: int) -> Fraction:
        raise _unknown_risk("false_zeros")

    def spurious_counts(self, least: int) -> Fraction:
        raise _unknown_risk("spurious_counts")

    @staticmethod
    def price(tables: Sequence[TablePlan], protection: Protection, epsilon: Fraction | None, delta: Fraction) -> Cost:
        """Return the cost: the sum of epsilons, or the conversion of the sum of rhos."""
        (table,) = tables
        assert isinstance(table, MarginsTablePlan) and epsilon is not None
        gaussian = table.division.law == GAUSSIAN
        together = composition(tables, "zcdp" if gaussian else "basic")
        needed = min(delta, claimed(together.delta(epsilon))) if gaussian else Fraction(0)
        if not together.holds(epsilon, needed):
            raise InvalidInput(
                f"this noise does not give epsilon = {float(epsilon):g} with delta = {float(delta):g}; the least "
                f"epsilon that is proved is {text_up(together.epsilon(delta))}.",
                "Ask for that, or for more noise.",
                argument="epsilon",
            )
        rho = sum(
            (change.squared_l2 / (2 * noise.mechanisms[0].kernel.noise.law.sigma2) for noise, change in table.changes),  # type: ignore[union-attr]
            Fraction(0),
        ) if gaussian else None  # fmt: skip
        return Cost(epsilon, needed, rho)

    # ---------------------------------------------------------------- counting, drawing, recording

    def counting(self, protection: Protection, key: bytes) -> Counting:
        return CountingTables(
            self.question, self.groups, protection.unit, 1, key, sets=self.margins.largest, per=protection.per
        )

    @staticmethod
    def count(source: Source, countings: Sequence[Counting]) -> Sequence[Counted]:
        return source.count(countings)

    def signed(self, counts: IntArray) -> dict[Columns, IntArray]:
        """Return the signed marginals that are measured, from the counts of the largest tables."""
        largest, start = {}, 0
        for table in self.margins.largest:
            size = self.margins.cells(table)
            shape = [self.margins.sizes[column] for column in table]
            largest[table] = counts.reshape(-1)[start : start + size].reshape(shape)
            start += size
        within = {part: table for table in largest for part in self.margins.parts_of(table)}
        return {one: self.margins.signed(largest[within[one]], one, within[one]) for one in self.division.parts}

    def answer(self, counted: Counted, bits: Bits) -> dict[str, Json]:
        assert isinstance(counted, np.ndarray)
        return {"counts": self.draw(counted, bits).tolist()}

    def draw(self, counts: IntArray, bits: Bits) -> IntArray:
        """Draw the noise of all signed marginals, and add it to their true values."""
        signed = self.signed(counts)
        cells = {one: marginal.reshape(-1) for one, marginal in signed.items()}
        noisy = dict(cells)
        for noise, _ in self.changes:  # the noise of counts of zero, since a signed count may be negative
            several = [one for one in cells if self.noises[one] is noise]
            drawn = noise.draw(np.zeros(sum(cells[one].size for one in several), dtype=np.int64), bits)
            ends = np.cumsum([cells[one].size for one in several])[:-1].tolist()
            noisy |= {one: cells[one] + part for one, part in zip(several, np.split(drawn, ends), strict=True)}
        return np.concatenate([noisy[one] for one in self.division.parts])

    def simulated_counts(self, sizes: MadeUpSizes | None) -> Counted:
        total = USUAL_TOTAL if sizes is None else read_total(sizes)
        return np.concatenate([spread(total, self.margins.cells(table)) for table in self.margins.largest])[:, None]

    def rehearse(self, bits: Bits) -> None:
        self.draw(np.zeros((sum(map(self.margins.cells, self.margins.largest)), 1), dtype=np.int64), bits)

    @property
    def sizes_of_measured(self) -> list[int]:
        """Number of cells of each measured signed marginal."""
        return [math.prod(self.margins.shape(one)) for one in self.division.parts]

    def from_record(self, record: Entry, request: Entry, coverage: Fraction, edition: str) -> ReleasedTable:
        counts, order = np.array(record["counts"], dtype=np.int64), Groups.from_json(request["groups"])
        if counts.size != sum(self.sizes_of_measured) or order.columns != self.groups.columns:
            raise InvalidInput(
                "the ledger's recorded answer does not fit this question.", "Check it with: discreet ledger verify"
            )
        if order != self.groups:
            counts = self._reordered(counts, order)
        return MarginsRelease.from_measured(self, counts, coverage, edition)

    def _reordered(self, counts: IntArray, order: Groups) -> IntArray:
        """Return measurements made with the values of columns in another order."""
        parts = []
        places = [
            [list(theirs).index(value) for value in ours]
            for ours, theirs in zip(self.groups.values, order.values, strict=True)
        ]
        ends = np.cumsum(self.sizes_of_measured)[:-1].tolist()
        for one, part in zip(self.division.parts, np.split(counts, ends), strict=True):
            table = part.reshape(self.margins.shape(one))
            for axis, column in enumerate(self.margins.axes(one)):
                table = table.take(places[column], axis=axis)
            swapped = sum(places[column] == [1, 0] for column in self.margins.signs(one))
            parts.append((-table if swapped % 2 else table).reshape(-1))
        return np.concatenate(parts)

    # ---------------------------------------------------------------- files

    @property
    def table_files(self) -> list[str]:
        """The name of the CSV file of each table."""
        return table_file_names([[self.groups.columns[k] for k in table] for table in self.margins.tables])

    def recorded_file(self, name: str) -> str:
        return MEASURED_FILE

    def file_names(self, name: str) -> list[str]:
        return [MEASURED_FILE, TABLES_FILE, *self.table_files]

    def read(self, text: str, name: str, coverage: Fraction, edition: str, layout: int) -> ReleasedTable:
        """Read the measurements; an audit computes all else and compares it."""
        empty = MarginsRelease.from_measured(
            self, np.zeros(sum(self.sizes_of_measured), np.int64), coverage, edition, layout
        )
        lines = list(read_lines(text, name, empty.measured_headings, empty.measured_names()))
        numbers = list(map(int, lines))
        if list(map(str, numbers)) != lines:
            raise Refuted(f"{name} has a count that is not written as a plain whole number.")
        return MarginsRelease.from_measured(self, np.array(numbers, dtype=np.int64), coverage, edition, layout)

    # ---------------------------------------------------------------- words

    @property
    def shape_text(self) -> str:
        columns = zip(self.groups.columns, self.margins.sizes, strict=True)
        sizes = ", ".join(f"{name} {size}" for name, size in list(columns)[:12])
        more = f", and {len(self.margins.sizes) - 12} more columns" if len(self.margins.sizes) > 12 else ""
        tables = plural(len(self.margins.tables), "table")
        return f"{self.cells:,} in {tables} that agree (values of {sizes}{more})"

    @property
    def noise_text(self) -> str:
        return f"{self.noise.mechanisms[0]!r}; {plural(len(self.changes), 'mechanism')} for signed marginals"

    @property
    def noise_lines(self) -> list[tuple[str, str]]:
        """The measurements, and what each order and each column costs."""
        law = law_in_words(self.noise, "signed count")
        lines = [
            ("noise", f"{plural(len(self.division.parts), 'signed marginal')}, with {law} and other scales; signed")
        ]
        lines += [("order", text) for text in self._costs_of_orders()]
        lines += [("column", text) for text in self._costs_of_columns()[:20]]
        lines += [("table", text) for text in self._errors_of_tables()[:40]]
        if not math.isnan(self.gap):
            lines.append(("optimum", f"the sum of variances is at most {text_up(100 * max(self.gap, 0), 2)}% above the "
                                     "least that any split reaches"))  # fmt: skip
            if RELATIONS[self.adjacency].hides_presence:
                above = max(ratio_to_optimum(self.solver, float(self.division.budget)) - 1, 0)
                lines.append(("optimum", f"the root mean squared error is {text_up(100 * above, 2)}% above that of the "
                                         "best matrix mechanism"))  # fmt: skip
        else:
            lines.append(("optimum", "the split is the best of several searches: a local optimum"))
        return lines

    def _costs_of_orders(self) -> list[str]:
        """Return what marginals of each number of columns cost."""
        shares: dict[int, Fraction] = {}
        for one in self.division.parts:
            shares[len(one)] = shares.get(len(one), Fraction(0)) + self.division.share(one)
        words = {0: "the total", 1: "single columns"}
        return [
            f"{words.get(order, f'sets of {order} columns')}: {percent(share, 4)} of the budget"
            for order, share in sorted(shares.items())
        ]

    def _costs_of_columns(self) -> list[str]:
        """Return the part of the budget of the marginals that have each column, largest first."""
        shares = [
            (sum((self.division.share(one) for one in self.division.parts if k in one), Fraction(0)), name)
            for k, name in enumerate(self.groups.columns)
        ]
        return [
            f"{name}: {percent(share, 4)} of the budget goes to marginals with it"
            for share, name in sorted(shares, key=lambda pair: (-pair[0], pair[1]))
        ]

    def _errors_of_tables(self) -> list[str]:
        """Return the standard deviation of a cell of each table, largest first."""
        pairs = sorted(self.table_variances.items(), key=lambda pair: (-pair[1], pair[0]))
        return [
            f"{self.named(table)}: standard deviation {text_up(math.sqrt(variance), 3)}" for table, variance in pairs
        ]

    def named(self, table: Columns) -> str:
        """Return a table by its columns."""
        return f"by {listed([self.groups.columns[k] for k in table], 'and')}" if table else "the total"

    @property
    def by_in_words(self) -> str:
        return f", in {plural(len(self.margins.tables), 'table')} of some of these columns"

    def noise_json(self) -> dict[str, Json]:
        tables: list[Json] = [
            {"columns": [self.groups.columns[k] for k in table], "cells": self.margins.cells(table),
             "variance": str(variance)}
            for table, variance in self.table_variances.items()
        ]  # fmt: skip
        gap = None if math.isnan(self.gap) else self.gap
        return {**super().noise_json(), "tables": tables, "gap": gap}

    def bound_sentences(self, protection: Protection, groups: int, tables: int) -> tuple[str, ...]:
        who = protection.who
        sentences = protection.sentences(1, 1)
        if who.is_row:
            return (*sentences, "A row with an undeclared value in any of the columns is in no table.")
        choice = (
            f"If {who.a} has several different records, a secret key and {who.their} own rows choose one, and "
            "nothing else; it counts in all tables."
        )
        left_out = "A record with an undeclared value in any of the columns is in no table, so that all tables agree."
        return (
            f"Each {who.one} is counted once, with the same record in all tables.",
            *sentences[1:],
            choice,
            left_out,
        )

    def group_sentences(self, protection: Protection) -> Sequence[str]:
        return declared_in_words(self.groups)

    def size_fact(self, cells: int) -> Fact:
        return Fact(f"{cells:,}", f"{noun(cells, 'count')} in {plural(len(self.margins.tables), 'table')}")

    @staticmethod
    def composition_in_words(tables: Sequence[TablePlan], cells: int, delta: Fraction) -> str:
        measured = sum(table.measured_levels for table in tables)
        what = f"Composition of {plural(measured, 'signed marginal')}"
        return f"{what}, with an upper bound of delta" if delta else f"Basic c{what[1:]}"


class ExpectedTables(Expected):
    """The worst case over all combined counts."""

    def __str__(self) -> str:
        return (
            f"combined counts ± {self.half_width:,} or less, {percent(self.level, 6)} of the time, standard deviation "
            f"at most {text_up(self.sd, 3)}, unbiased"
        )


def _columns(entry: object, columns: int) -> Columns:
    """Read the columns of a table from a request."""
    numbers = tuple(entry) if isinstance(entry, list) else (-1,)
    if any(not is_integer(one) for one in numbers) or list(numbers) != sorted({*numbers} & {*range(columns)}):
        raise InvalidInput("a table of this request names columns that it does not have.", argument="request")
    return numbers


def _unknown_risk(criterion: str) -> Unsupported:
    """Return the error of a criterion on probabilities that have no closed form."""
    return Unsupported(
        f"{criterion} cannot be stated for tables at once: their counts are combined from several measurements.",
        f"Leave {criterion} out of the criteria.",
        argument="accept",
    )
