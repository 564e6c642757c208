"""Histograms of contributions: people by their number of groups, or by their largest number of rows in a group.

Each person is in exactly one cell, so one person moves one count by one (two under substitution), whatever the
contribution bounds of other releases are. The cells are 1, 2, ... and the last for that number or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...engines.base import ROW, Contributing, Counting
from ...errors import InvalidInput, arg
from ...exact.arrays import IntArray
from ...exact.integers import positive_integer
from ...privacy.relations import RELATIONS
from ...questions.groups import TOTAL, Groups
from ...questions.orders import canonical
from ...questions.question import Question
from ...report import Fact, Json
from ...wording import find_name, listed
from ..noise.cells import CellNoise
from ..protection import Protection
from .columns import LAYOUT, NORMAL
from .plain import PlainTablePlan
from .released import ReleasedTable
from .table import Entry, TablePlan

#: What is counted of each person -> the words for it, after a number.
_COUNTED = {"groups": "number of groups", "rows": "largest number of rows in a group"}

#: Largest number of cells.
_MAX_CELLS = 1_000


@dataclass(frozen=True)
class HistogramTablePlan(PlainTablePlan):
    """A histogram of people by what they contribute to the groups of a question.

    Attributes
    ----------
    contributed
        What is counted of each person: "groups" or "rows".
    declared
        The declared groups of the question; ``groups`` are the cells of the histogram.
    """

    contributed: str = "groups"
    declared: Groups = TOTAL

    stands_alone: ClassVar[bool] = True
    lines_in_words: ClassVar[str] = "every number is there once, in order, with a count in range."
    public_facts: ClassVar[tuple[str, ...]] = ("The question and its groups are public. They are not protected.",)

    @classmethod
    def describes(cls, entry: Entry, question: Question) -> bool:
        return "contributions" in entry

    @classmethod
    def from_json(cls, entry: Entry, question: Question, groups: Groups, protection: Protection) -> HistogramTablePlan:
        plain = PlainTablePlan.from_json(entry, question, groups, protection)
        asked: Entry = entry["contributions"]
        table = cls.of_plain(plain, protection, asked["of"], asked["top"], plain.noise)
        if plain.noise.size is not None or entry["share"] != "1" or table.to_json() != entry:
            raise InvalidInput("this histogram of contributions is not one that a release has.", argument="request")
        return table

    @classmethod
    def of_plain(
        cls, table: TablePlan, protection: Protection, of: str, top: int, noise: CellNoise | None = None
    ) -> HistogramTablePlan:
        """Return the histogram of the question of a table, with other noise if it is given; refuse one without."""
        of = find_name(of, tuple(_COUNTED), "what people contribute", argument="of")
        cells = positive_integer(top, "top", least=2)
        if cells > _MAX_CELLS:
            raise InvalidInput.must_be("top", f"a whole number from 2 to {_MAX_CELLS:,}", top)
        if protection.unit == ROW:
            raise InvalidInput(
                "each row is a unit of its own, in one group.", f"Name the person's column: {arg('unit', 'COLUMN')}.",
                argument="unit",
            )  # fmt: skip
        aggregates = table.question.aggregates
        plain = not table.measured_levels and not table.stands_alone and table.suppress_below is None
        plain = plain and protection.max_groups == 1 and protection.max_rows is None
        if not plain or len(aggregates) != 1 or aggregates[0].condition is not None:
            raise InvalidInput(
                "contributions are counted for one question with groups and COUNT(*).",
                "Leave out other counts and totals; put a condition into WHERE.",
                argument="questions",
            )
        if of == "groups":
            cells = min(cells, table.groups.live)
            if cells < 2:
                raise InvalidInput(
                    "everybody is in the one group of this question.",
                    "Ask for rows, or for a question with more groups.",
                    argument="of",
                )
        texts = (*map(str, range(1, cells)), f"{cells} or more")
        moved = RELATIONS[protection.relation].moves
        return cls(
            table.question, Groups((of,), ("text",), (texts,)), noise or table.noise, table.share, moved,
            contributed=of, declared=table.groups,
        )  # fmt: skip

    @cached_property
    def canonical(self) -> TablePlan:
        declared = canonical(self.declared)
        return self if declared is self.declared else replace(self, declared=declared)

    def counting(self, protection: Protection, key: bytes) -> Counting:
        return Contributing(
            self.question, self.declared, protection.unit, 1, b"", of=self.contributed, top=self.groups.size,
            per=protection.per,
        )  # fmt: skip

    def from_record(self, record: Entry, request: Entry, coverage: Fraction, edition: str) -> ReleasedTable:
        counts = np.array(record["counts"], dtype=np.int64).reshape(self.groups.size, 1)
        return self.released(counts, np.full(counts.shape, NORMAL), coverage, edition)

    def released(
        self, counts: IntArray, status: NDArray[np.str_], coverage: Fraction, edition: str, layout: int = LAYOUT
    ) -> ReleasedTable:
        return HistogramTable(self, counts, status, coverage, edition, layout)

    def to_json(self) -> dict[str, Json]:
        asked: dict[str, Json] = {"of": self.contributed, "top": self.groups.size}
        return {**super().to_json(), "groups": self.declared.to_json(), "contributions": asked}

    # ---------------------------------------------------------------- words

    @property
    def counted_in_words(self) -> str:
        """What is counted of each person."""
        by = f" by {listed(self.declared.columns)}" if self.declared.columns else ""
        return f"{_COUNTED[self.contributed]}{by}"

    @property
    def shape_text(self) -> str:
        return f"{self.groups.size:,}, by the {self.counted_in_words}: 1, 2, ... and {self.groups.size:,} or more"

    @property
    def by_in_words(self) -> str:
        return f", each in one count by the {_COUNTED[self.contributed]}"

    def bound_sentences(self, protection: Protection, groups: int, tables: int) -> tuple[str, ...]:
        who = protection.who
        first = f"The counts are of {who.several} by the {self.counted_in_words} of each; no group is left out."
        return (first, *protection.sentences(1))

    def group_sentences(self, protection: Protection) -> Sequence[str]:
        return PlainTablePlan.group_sentences(replace(self, groups=self.declared), protection)

    def size_fact(self, cells: int) -> Fact:
        return Fact(f"1 to {cells:,}", f"{self.contributed} counted; the last count is of all with more too")


@dataclass(frozen=True, eq=False)
class HistogramTable(ReleasedTable):
    """A released histogram of contributions."""

    plan: HistogramTablePlan

    @property
    def title(self) -> str:
        return f"Counts of {self.question.table} by the {self.plan.counted_in_words}"

    def counts_in_words(self, bounded: str, negative: bool) -> str:
        return super().counts_in_words("", negative)
