"""Tables of declared groups: each cell is counted and has independent noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...engines.base import Counting
from ...errors import InvalidInput
from ...exact.arrays import IntArray
from ...exact.bits import Bits
from ...exact.integers import is_integer
from ...exact.rationals import as_fraction
from ...ledger.budget import Cost
from ...questions.bands import Bands, in_words
from ...questions.domains import REST, has_rest
from ...questions.groups import Groups, Value
from ...questions.orders import places_in
from ...questions.question import Question
from ...report import Fact, Json
from ...wording import noun, plural
from ..made_up import USUAL_TOTAL, MadeUpSizes, made_up_counts, parts_within
from ..noise import worst_cases
from ..noise.accuracy import Expected
from ..noise.cells import CellNoise
from ..pricing import price
from ..protection import Change, Protection
from .columns import IMPOSSIBLE, LAYOUT, NORMAL, STATUS_MEANING, SUPPRESSED
from .csv_lines import Refuted, read_lines
from .draft import CellRequest, Draft
from .released import ReleasedTable
from .table import Counted, Entry, TablePlan, names_fit

if TYPE_CHECKING:
    from ...engines.sources import Source


@dataclass(frozen=True)
class PlainTablePlan(TablePlan):
    """A table of declared groups."""

    lines_in_words: ClassVar[str] = (
        "every declared group is there once, in order, with a count in range and a fitting status."
    )
    public_facts: ClassVar[tuple[str, ...]] = (
        "The question, the groups and which cells cannot exist are public. They are not protected.",
    )
    public_in_words: ClassVar[str] = "the questions and the groups"

    @classmethod
    def describes(cls, entry: Entry, question: Question) -> bool:
        """Return True: an entry that no other kind claims describes a plain table."""
        return True

    @classmethod
    def from_json(cls, entry: Entry, question: Question, groups: Groups, protection: Protection) -> PlainTablePlan:
        """Rebuild the table that a request describes, checking it again."""
        table = cls._read(entry, question, groups, protection)
        if any(one.unused for one, _ in table.changes):
            raise InvalidInput("the noise of this request has a mechanism that no cell has.", argument="request")
        return table

    @classmethod
    def _read(cls, entry: Entry, question: Question, groups: Groups, protection: Protection) -> PlainTablePlan:
        """Rebuild the table, without the checks that depend on its kind."""
        if not names_fit(groups, question.by):
            raise InvalidInput(
                "the groups of this request do not fit the columns its question groups by.", argument="request"
            )
        noise = CellNoise.from_json(entry["noise"])
        if noise.size not in (None, groups.size * len(question.aggregates)):
            raise InvalidInput(
                "the noise of this request is for another number of cells than its question has.", argument="request"
            )
        withheld = entry["suppress_below"]
        if withheld is not None and not is_integer(withheld):
            raise InvalidInput("suppress_below of this request is not a whole number.", argument="request")
        if protection.max_rows is not None and noise.known:
            raise InvalidInput("the sizes of this request bound units, and it counts rows.", argument="request")
        change = protection.change(question, groups)
        return PlainTablePlan(
            question, groups, noise, as_fraction(entry["share"]), change.l1, withheld, protection.max_rows
        )

    # ---------------------------------------------------------------- size and noise

    @property
    def known_cells(self) -> int | None:
        return sum(groups.size for groups in self.noisy_groups) * len(self.question.aggregates)

    @property
    def noisy_groups(self) -> Sequence[Groups]:
        """The lists of groups for which noisy counts are drawn."""
        return (self.groups,)

    @property
    def changes(self) -> tuple[tuple[CellNoise, Change], ...]:
        return ((self.noise, Change.uniform(self.moved_cells, self.max_rows)),)

    def expected(self, coverage: Fraction) -> Expected:
        return self.noise.expected(coverage)

    def widest_interval(self, coverage: Fraction) -> int | None:
        return worst_cases.widest_interval(self.noise, coverage)

    def false_zeros(self, least: int) -> Fraction:
        """Return the probability as declared; a count that is withheld is not published as 0."""
        withholds_zeros = self.suppress_below is not None and self.suppress_below > 0
        return Fraction(0) if withholds_zeros else worst_cases.false_zeros(self.noise, least)

    def spurious_counts(self, least: int) -> Fraction:
        return worst_cases.spurious_counts(self.noise, max(least, self.suppress_below or 0))

    @staticmethod
    def price(tables: Sequence[TablePlan], protection: Protection, epsilon: Fraction | None, delta: Fraction) -> Cost:
        return price(tables, epsilon, delta)

    # ---------------------------------------------------------------- counting, drawing, recording

    def counting(self, protection: Protection, key: bytes) -> Counting:
        return protection.counting(self.question, self.groups, key)

    @staticmethod
    def count(source: Source, countings: Sequence[Counting]) -> Sequence[Counted]:
        return source.count(countings)

    def answer(self, counted: Counted, bits: Bits) -> dict[str, Json]:
        assert isinstance(counted, np.ndarray)
        return {"counts": self._published(self.draw(counted, bits))}

    def draw(self, counts: IntArray, bits: Bits) -> IntArray:
        """Draw a noisy count for each true count of the groups."""
        return self.noise.draw(counts.reshape(-1), bits)

    def _published(self, noisy: IntArray) -> list[Json]:
        """Return the counts to record: 0 for structural zeros, None for suppressed counts, which are kept nowhere."""
        values: list[Json] = noisy.tolist()
        if (least := self.suppress_below) is not None:
            values = [None if value < least else value for value in noisy.tolist()]
        measures, start = len(self.question.aggregates), 0
        for groups in self.noisy_groups:
            for group in groups.zeros:
                values[start + group * measures : start + (group + 1) * measures] = [0] * measures
            start += groups.size * measures
        return values

    def simulated_counts(self, sizes: MadeUpSizes | None) -> Counted:
        if sizes is None and self.noise.known:
            shape = (self.groups.size, len(self.question.aggregates))
            return parts_within(np.broadcast_to(np.asarray(self.noise.high), (self.cells,))).reshape(shape)
        return made_up_counts(USUAL_TOTAL if sizes is None else sizes, self.groups, self.question)

    def rehearse(self, bits: Bits) -> None:
        self.draw(np.zeros((self.groups.size, len(self.question.aggregates)), dtype=np.int64), bits)

    def from_record(self, record: Entry, request: Entry, coverage: Fraction, edition: str) -> ReleasedTable:
        values, order = record["counts"], Groups.from_json(request["groups"])
        shape = (self.groups.size, len(self.question.aggregates))
        counts = np.array([0 if value is None else value for value in values], dtype=np.int64).reshape(shape)
        withheld = np.array([value is None for value in values], dtype=bool).reshape(shape)
        if order != self.groups:
            indices = places_in(self.groups, order)
            counts, withheld = counts[indices], withheld[indices]
        status = np.where(withheld, SUPPRESSED, NORMAL).astype("U1")
        status[sorted(self.groups.zeros)] = IMPOSSIBLE
        return self.released(counts, status, coverage, edition)

    def released(
        self, counts: IntArray, status: NDArray[np.str_], coverage: Fraction, edition: str, layout: int = LAYOUT
    ) -> ReleasedTable:
        """Return the released table with these counts and flags, in a bundle of this layout."""
        return ReleasedTable(self, counts, status, coverage, edition, layout)

    # ---------------------------------------------------------------- files

    def file_names(self, name: str) -> list[str]:
        return [name]

    def read(self, text: str, name: str, coverage: Fraction, edition: str, layout: int) -> ReleasedTable:
        edition = edition if layout > 1 else ""
        empty = self.released(np.zeros((0, 0), np.int64), np.zeros((0, 0), "U1"), coverage, edition, layout)
        counts, flags = [], []
        for line in read_lines(text, name, empty.headings, empty.cell_names(), empty.has_names):
            count, _, rest = line.partition(",")
            flags.append(rest.partition(",")[0])
            counts.append(count)
        return self._with_counts(empty, name, counts, flags)

    def _with_counts(self, empty: ReleasedTable, name: str, counts: list[str], flags: list[str]) -> ReleasedTable:
        """Return the released table with the counts and flags of a file; refuse those that this plan cannot produce."""
        if not set(flags) <= set(STATUS_MEANING):
            raise Refuted(f"{name} has an unknown status; the known ones are {', '.join(STATUS_MEANING)}.")
        status = np.array(flags)
        suppressed = status == SUPPRESSED
        numbers = [0 if hidden else int(count) for count, hidden in zip(counts, suppressed.tolist(), strict=True)]
        texts = ["" if hidden else str(number) for number, hidden in zip(numbers, suppressed.tolist(), strict=True)]
        if texts != counts:
            raise Refuted(f"{name} has a count that is not written as a plain whole number, or one that is suppressed.")
        values = np.array(numbers, dtype=np.int64)
        shape = (self.groups.size, len(self.question.aggregates))
        zeros = np.zeros(shape, dtype=bool)
        zeros[sorted(self.groups.zeros)] = True
        impossible = status == IMPOSSIBLE
        if not np.array_equal(impossible, zeros.reshape(-1)):
            raise Refuted(f"{name}: the cells marked {IMPOSSIBLE} are not those declared as structural zeros.")
        if values[impossible].any():
            raise Refuted(f"{name}: a cell that cannot exist has a count.")
        below, above = self.noise.clamp(values.size)
        normal = status == NORMAL
        if ((values < below) | (values > above))[normal].any():
            raise Refuted(f"{name} has a count outside the range of its noise.")
        least = self.suppress_below
        if (least is None and suppressed.any()) or (least is not None and (values[normal] < least).any()):
            raise Refuted(f"{name}: what is suppressed does not follow the stated rule.")
        return replace(empty, counts=values.reshape(shape), status=status.reshape(shape))

    # ---------------------------------------------------------------- words

    @property
    def shape_text(self) -> str:
        return f"{self.cells:,} ({self._sizes_text})"

    @property
    def _sizes_text(self) -> str:
        """How the number of cells arises."""
        if not self.groups.columns:
            sizes = "one total"
        elif self.groups.cells is None:
            columns = zip(self.groups.values, self.groups.columns, self.groups.kinds, strict=True)
            sizes = " x ".join(f"{len(values)} {name}: {_first_values(values, kind)}" for values, name, kind in columns)
        else:
            sizes = f"{self.groups.size:,} listed groups of {', '.join(self.groups.columns)}"
        measures = f" x {len(self.question.aggregates)} measures" if len(self.question.aggregates) > 1 else ""
        if self.measured_levels:
            sizes = f"{sizes}; {plural(self.measured_levels, 'level')}"
        zeros = f", {len(self.groups.zeros):,} of the groups structural zeros" if self.groups.zeros else ""
        return f"{sizes}{measures}{zeros}"

    def bound_sentences(self, protection: Protection, groups: int, tables: int) -> tuple[str, ...]:
        return protection.sentences(groups, tables)

    def group_sentences(self, protection: Protection) -> Sequence[str]:
        return declared_in_words(self.groups)

    def size_fact(self, cells: int) -> Fact:
        return Fact(f"{cells:,}", noun(cells, "count"))

    @staticmethod
    def composition_in_words(tables: Sequence[TablePlan], cells: int, delta: Fraction) -> str:
        levels = sum(table.measured_levels for table in tables)
        counts = f"{plural(cells, 'count')}{f' on {levels} levels' if levels else ''}"
        return f"Composition of {counts}, with an upper bound of delta" if delta else f"Basic composition of {counts}"


@dataclass
class PlainDraft(Draft):
    """A table of declared groups before its noise is chosen."""

    def group_notes(self, protection: Protection) -> list[str]:
        return _rest_notes(self.question.by, self.groups, protection)

    def tables(self, drafts: Sequence[Draft], protection: Protection, noise: CellRequest) -> Sequence[TablePlan]:
        return noise.tables(drafts)

    def pure(self, noise: CellRequest, epsilon: Fraction) -> PlainTablePlan:
        return self.table(noise.cells(epsilon=epsilon * self.share / self.change.l1))

    def gaussian(self, noise: CellRequest, rho: Fraction) -> PlainTablePlan:
        return self.table(noise.cells(sigma2=self.change.squared_l2 / (2 * rho * self.share)))

    def table(self, noise: CellNoise) -> PlainTablePlan:
        threshold = self.request.suppress_below
        return PlainTablePlan(self.base, self.groups, noise, self.share, self.change.l1, threshold, self.max_rows)


def _first_values(values: Sequence[Value], kind: str) -> str:
    """Return the first values of a column, texts in quotes, so that a slip in a domain is noticed."""
    texts = [
        "NULL" if value is None else repr(value) if kind == "text" and value is not REST else str(value)
        for value in values[:6]
    ]
    if kind == "integer" and len(values) > 6:
        return f"{texts[0]} to {values[-1]}"
    return ", ".join(texts) + (", ..." if len(values) > 6 else "")


def declared_in_words(groups: Groups) -> list[str]:
    """Return the published sentences on bands and on the group of all other values."""
    bands: Sequence[Bands | None] = groups.bands or (None,) * len(groups.columns)
    sentences = []
    for column, values, cuts in zip(groups.columns, groups.values, bands, strict=True):
        if cuts is not None:
            sentences.append(in_words(column, cuts, values))
        if has_rest(values):
            missing = "but not missing ones" if None in values else "missing ones included"
            sentences.append(f"{REST} of {column} counts all values that are not listed, {missing}.")
    return sentences


def _rest_notes(by: Sequence[str], groups: Groups, protection: Protection) -> list[str]:
    """Return notes on rows with other values: whether they are counted, and what a group for them changes."""
    without = [
        column
        for column, kind, values in zip(by, groups.kinds, groups.values, strict=True)
        if kind == "text" and not has_rest(values) and groups.cells is None
    ]
    starless = [
        column for column, values in zip(by, groups.values, strict=True) if "*" in values and not has_rest(values)
    ]
    notes = [
        f"'*' is a text of its own in the domain of {column}; for all other values write * without quotes, or ... in "
        "Python."
        for column in starless
    ]
    if without:
        notes.append(
            f"rows with any other value of {' or '.join(without)}, such as a misspelt one, are not counted: add * to "
            "the domain to count them together."
        )
    starred = [column for column, values in zip(by, groups.values, strict=True) if has_rest(values)]
    who, most = protection.who, protection.max_groups
    if starred and not who.is_row and most < groups.live:
        notes.append(
            f"{REST} of {' and '.join(starred)} takes part in the choice of groups: {who.a} with rows there and in "
            f"listed groups is still counted in {most} at most."
        )
    return notes
