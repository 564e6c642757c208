"""Tables of more declared cells than can be drawn one by one: only noisy counts from a threshold on are published.

The law is that of a table that draws every cell and withholds the small counts (``release/noise/sparse.py``). What is
kept, recorded and published are the groups with a published count; work and memory grow with the groups that hold
somebody and with those that are published, and not with the declared ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ....engines.base import Counting, OccupiedGroups
from ....errors import InvalidInput, arg
from ....exact.arrays import IntArray
from ....exact.bits import Bits
from ....exact.integers import is_integer
from ....questions.groups import Groups
from ....questions.orders import canonical, numbers_in
from ....questions.question import Question
from ....report import Fact, Json
from ....wording import rounded
from ...made_up import USUAL_TOTAL, MadeUpSizes, parts_of, read_total, spread
from ...noise.cells import CellNoise
from ...noise.sparse import SparseNoise
from ...protection import Protection
from ..columns import LAYOUT, NORMAL, SUPPRESSED
from ..csv_lines import Refuted
from ..draft import MAX_DRAWN_CELLS
from ..plain import PlainDraft, PlainTablePlan, declared_in_words
from ..released import ReleasedTable
from ..table import Counted, Entry, TablePlan
from .published import published_groups, read_published

if TYPE_CHECKING:
    from ....engines.sources import Source

#: Largest number of empty cells that a release may be expected to publish.
MAX_EMPTY_CELLS = 1_000_000

#: Number of groups in which a simulation puts somebody.
_MADE_UP_GROUPS = 1_000


@dataclass(frozen=True)
class SparseTablePlan(PlainTablePlan):
    """A table of declared groups that publishes noisy counts of at least ``suppress_below`` and nothing on the others.

    Attributes
    ----------
    declared
        The declared groups, once ``groups`` are the published ones; None before.
    """

    declared: Groups | None = None

    stands_alone: ClassVar[bool] = True
    lines_in_words: ClassVar[str] = (
        "every line is a declared group that can exist, once and in order, with a noisy count from the threshold on."
    )
    public_facts: ClassVar[tuple[str, ...]] = (
        *PlainTablePlan.public_facts,
        "How long the release took may depend on how many groups have somebody in them. It is not hidden from who runs "
        "it.",
    )

    @classmethod
    def describes(cls, entry: Entry, question: Question) -> bool:
        return "sparse" in entry

    @classmethod
    def from_json(cls, entry: Entry, question: Question, groups: Groups, protection: Protection) -> SparseTablePlan:
        if entry["sparse"] is not True or entry["suppress_below"] is None or entry["share"] != "1" or question.tables:
            raise InvalidInput("this request leaves out groups in a way that no release does.", argument="request")
        table = cls.of_plain(PlainTablePlan.from_json(entry, question, groups, protection))
        table.sparse_noise  # noqa: B018 - refuses noise that is not the same for all cells
        return table

    @classmethod
    def of_plain(cls, table: PlainTablePlan) -> SparseTablePlan:
        """Return the same table without what is below its threshold."""
        return cls(
            table.question, table.groups, table.noise, table.share, table.sensitivity, table.suppress_below,
            table.max_rows,
        )  # fmt: skip

    # ---------------------------------------------------------------- size and noise

    @property
    def declared_groups(self) -> Groups:
        """The declared groups, before and after the release."""
        return self.groups if self.declared is None else self.declared

    @property
    def domain_cells(self) -> int:
        """Number of declared cells."""
        return self.declared_groups.size * len(self.question.aggregates)

    @property
    def published_from(self) -> int:
        """The smallest count that is published."""
        assert self.suppress_below is not None
        return self.suppress_below

    @property
    def sparse_noise(self) -> SparseNoise:
        """The noise of all declared cells."""
        return SparseNoise(self.noise, self.published_from, self.domain_cells)

    @property
    def known_cells(self) -> int | None:
        return None if self.declared is None else super().known_cells

    @property
    def canonical(self) -> TablePlan:
        groups = canonical(self.groups)
        return self if groups is self.groups else replace(self, groups=groups)

    def refuse_unreasonable(self) -> None:
        noise = self.sparse_noise
        if noise.expects_more_than(MAX_EMPTY_CELLS):
            raise InvalidInput(
                f"about {rounded(Fraction(noise.expected_empty))} empty cells would be published: noise alone often "
                f"reaches {self.published_from:,}.",
                f"Raise the threshold: {arg('suppress_below', 2 * self.published_from)}.",
                argument="suppress_below",
                given=self.published_from,
            )

    # ---------------------------------------------------------------- counting, drawing, recording

    def counting(self, protection: Protection, key: bytes) -> Counting:
        return replace(super().counting(protection, key), sparse=True)

    @staticmethod
    def count(source: Source, countings: Sequence[Counting]) -> Sequence[Counted]:
        return source.occupied(countings)

    def answer(self, counted: Counted, bits: Bits) -> dict[str, Json]:
        """Draw the counts; return the published groups by their numbers, and their noisy counts."""
        assert isinstance(counted, OccupiedGroups)
        measures = len(self.question.aggregates)
        occupied = self._cells_of(counted.groups)
        impossible = self._cells_of(np.array(sorted(self.groups.zeros), dtype=np.int64))
        cells, noisy = self.sparse_noise.draw(occupied, counted.counts.reshape(-1), impossible, bits)
        groups, places = np.unique(cells // measures, return_inverse=True)
        counts = np.zeros((groups.size, measures), dtype=np.int64)
        counts[places.reshape(-1), cells % measures] = noisy  # 0 is below the threshold: a withheld measure
        values: list[Json] = [value or None for value in counts.reshape(-1).tolist()]
        return {"groups": list[Json](groups.tolist()), "counts": values}

    def _cells_of(self, groups: IntArray) -> IntArray:
        """Return the cells of some groups: one for each measure."""
        measures = len(self.question.aggregates)
        return np.asarray((groups[:, None] * measures + np.arange(measures)).reshape(-1), dtype=np.int64)

    def simulated_counts(self, sizes: MadeUpSizes | None) -> Counted:
        if sizes is not None and not is_integer(sizes):
            raise InvalidInput(
                "the sizes of so many groups are not listed.",
                f"Give the number in all: {arg('sizes', USUAL_TOTAL)}.",
                argument="sizes",
            )
        groups = np.unique(np.linspace(0, self.groups.size - 1, _MADE_UP_GROUPS).astype(np.int64))
        groups = groups[~np.isin(groups, np.array(sorted(self.groups.zeros), dtype=np.int64))]
        total = USUAL_TOTAL if sizes is None else read_total(sizes)
        return OccupiedGroups(groups, parts_of(spread(total, groups.size), self.question))

    def rehearse(self, bits: Bits) -> None:
        nobody = np.zeros(0, dtype=np.int64)
        self.sparse_noise.draw(nobody, nobody, nobody, bits)

    def from_record(self, record: Entry, request: Entry, coverage: Fraction, edition: str) -> ReleasedTable:
        recorded = np.array(record["groups"], dtype=np.int64)
        numbers = numbers_in(Groups.from_json(request["groups"]), self.groups, recorded)
        order = np.argsort(numbers)
        shape = (numbers.size, len(self.question.aggregates))
        withheld = np.array([value is None for value in record["counts"]], dtype=bool).reshape(shape)[order]
        counts = np.array([value or 0 for value in record["counts"]], dtype=np.int64).reshape(shape)[order]
        status = np.where(withheld, SUPPRESSED, NORMAL).astype("U1")
        return self.published(numbers[order]).released(counts, status, coverage, edition)

    def published(self, numbers: IntArray) -> SparseTablePlan:
        """Return the table with its published groups, by their declared numbers in ascending order."""
        return replace(self, groups=published_groups(self.groups, numbers), declared=self.groups)

    def released(
        self, counts: IntArray, status: NDArray[np.str_], coverage: Fraction, edition: str, layout: int = LAYOUT
    ) -> ReleasedTable:
        return SparseTable(self, counts, status, coverage, edition, layout)

    # ---------------------------------------------------------------- files

    def to_json(self) -> dict[str, Json]:
        return {"sparse": True, **super().to_json()}

    def read(self, text: str, name: str, coverage: Fraction, edition: str, layout: int) -> ReleasedTable:
        """Read the table with the groups that the file lists."""
        has_edition = bool(edition) and layout > 1
        numbers = read_published(text, name, self.groups, len(self.question.aggregates), has_edition)
        table = PlainTablePlan.read(self.published(numbers), text, name, coverage, edition, layout)
        if not (table.status == NORMAL).any(axis=1).all():
            raise Refuted(f"{name} has a group without a published count.")
        return table

    # ---------------------------------------------------------------- words

    @property
    def shape_text(self) -> str:
        sizes = self._sizes_text if self.declared is None else replace(self, groups=self.declared)._sizes_text
        return f"{self.domain_cells:,} declared ({sizes}), published from a noisy count of {self.published_from:,} on"

    @property
    def noise_lines(self) -> list[tuple[str, str]]:
        return [*super().noise_lines, ("empty cells", self.empty_in_words)]

    @property
    def empty_in_words(self) -> str:
        """The number of empty cells that are expected to be published, from public numbers."""
        return (
            f"about {self._expected} empty cells are published on average: {self.domain_cells:,} declared x "
            f"P(noise >= {self.published_from:,})"
        )

    @property
    def _expected(self) -> str:
        return rounded(Fraction(self.sparse_noise.expected_empty))

    def noise_json(self) -> dict[str, Json]:
        return {**super().noise_json(), "expected_empty_cells": self._expected}

    def group_sentences(self, protection: Protection) -> Sequence[str]:
        return [
            *declared_in_words(self.declared_groups),
            f"Of {self.domain_cells:,} declared counts, those with a noisy count of {self.published_from:,} or more "
            "are published. How many are withheld because their noisy count is smaller, and how many hold nobody, is "
            "not published.",
            f"On average at most about {self._expected} declared counts of nobody are published, by chance.",
        ]

    @staticmethod
    def number_in_words(cells: int) -> str:
        return "counts from a threshold on"

    @staticmethod
    def audited_in_words(cells: int) -> str:
        return "its groups were declared"

    def size_fact(self, cells: int) -> Fact:
        return Fact(f">= {self.published_from:,}", f"noisy count that is published, of {self.domain_cells:,} declared")

    @staticmethod
    def composition_in_words(tables: Sequence[TablePlan], cells: int, delta: Fraction) -> str:
        if delta:
            return "Composition of the counts that one unit can change, with an upper bound of delta"
        return "Basic composition of the counts that one unit can change"


@dataclass(frozen=True, eq=False)
class SparseTable(ReleasedTable):
    """A released table of the declared groups with a noisy count from the threshold on."""

    plan: SparseTablePlan

    @property
    def noisy_cells(self) -> tuple[IntArray, CellNoise, NDArray[np.str_]]:
        raise InvalidInput(
            "these counts do not add up to a total: all counts below the threshold are withheld.",
            "Ask for the total in a question of its own, with fewer groups.",
        )

    def has_counts_of(self, other: ReleasedTable) -> bool:
        return self.groups == other.groups and super().has_counts_of(other)

    def refuse_comparison(self, edition: str) -> None:
        """Refuse counts that were selected by their size."""
        raise InvalidInput(
            f"{edition} publishes only groups above a threshold, which differ from edition to edition.",
            "Declare fewer groups to compare editions.",
            argument="editions",
        )

    @property
    def sums_in_words(self) -> str:
        return (
            "Do not add these counts up: groups with small counts are missing, and small counts that are published are "
            "too high on average. Ask for a total in a question of its own."
        )

    def statement(self, file: str) -> Mapping[str, object]:  # type: ignore[override]
        return {
            "declared_cells": self.plan.domain_cells,
            "declared_structural_zeros": len(self.plan.declared_groups.zeros) * len(self.measures),
            "expected_empty_cells": rounded(Fraction(self.plan.sparse_noise.expected_empty)),
        }


@dataclass
class SparseDraft(PlainDraft):
    """A question with a threshold before its noise is chosen; with few declared groups it becomes a plain table."""

    @property
    def is_sparse(self) -> bool:
        return self.declared_cells > MAX_DRAWN_CELLS and (self.request.suppress_below or 0) >= 1

    def refuse_groups(self) -> None:
        if not self.is_sparse:
            return
        cells = f"with {self.declared_cells:,} declared cells,"
        if len(self.request.questions) > 1:
            raise InvalidInput(f"{cells} a question is released alone.", "Ask the others apart.", argument="domain")
        if self.request.sizes is not None:
            raise InvalidInput(f"{cells} public sizes are not listed.", "Leave them out.", argument="sizes")
        if self.question.tables:
            raise InvalidInput(f"{cells} tables are not joined.", "Join them beforehand.", argument="domain")

    def counting(self, protection: Protection) -> Counting:
        return replace(super().counting(protection), sparse=self.is_sparse)

    def table(self, noise: CellNoise) -> PlainTablePlan:
        table = super().table(noise)
        return SparseTablePlan.of_plain(table) if self.is_sparse else table
