"""The base class of all kinds of tables: counting, drawing, recording, reading back, pricing and wording.

A kind is a subclass of :class:`TablePlan` in a file of its own, listed in :mod:`...plan.kinds`. Nothing outside this
package asks which kind a table is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from ...engines.base import Counting, DiscoveredGroups, OccupiedGroups
from ...exact.arrays import IntArray
from ...exact.bits import Bits
from ...exact.rationals import as_fraction, text_up
from ...ledger.budget import Cost
from ...mechanism import Mechanism
from ...optimise.families import FAMILIES
from ...questions.groups import Groups
from ...questions.joins.clauses import dates_in_words
from ...questions.orders import canonical, places_in
from ...questions.question import Question
from ...report import Fact, Json, plain
from ...wording import listed, plural, rounded
from ..made_up import MadeUpSizes
from ..noise.accuracy import Expected
from ..noise.cells import OUTPUT_IN_WORDS, CellNoise
from ..protection import Change, Protection
from .released import ReleasedTable

if TYPE_CHECKING:
    from ...engines.sources import Source

#: True counts as the source returns them.
Counted = IntArray | DiscoveredGroups | OccupiedGroups

#: A table in the JSON of a request or a record, before it is checked.
Entry: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class TablePlan(ABC):
    """One table of a plan: its question, its cells and their noise.

    Attributes
    ----------
    question, groups
        The question and its public groups.
    noise
        The noise of the cells.
    share
        The part of epsilon for this table.
    sensitivity
        The largest change of all cells of this table together by one unit: the number of cells that it can move, each
        by one or by ``max_rows``.
    suppress_below
        The threshold below which noisy counts are suppressed; None to publish all.
    max_rows
        Maximum number of rows of one unit that a count has in a group; None to count units.
    """

    question: Question
    groups: Groups
    noise: CellNoise
    share: Fraction
    sensitivity: int
    suppress_below: int | None = None
    max_rows: int | None = None

    #: True if a release with this kind of table has no table of another kind.
    stands_alone: ClassVar[bool] = False
    #: The sentence of an audit on a table whose lines are all correct.
    lines_in_words: ClassVar[str]
    #: Sentences on what a release of such tables does not protect.
    public_facts: ClassVar[tuple[str, ...]]
    #: The public parts of its questions, for a registry.
    public_in_words: ClassVar[str]

    # ---------------------------------------------------------------- size and noise

    @property
    @abstractmethod
    def known_cells(self) -> int | None:
        """Number of published cells; None while it is unknown."""

    @property
    def moved_cells(self) -> int:
        """The largest number of cells that one unit can move."""
        return self.sensitivity // (self.max_rows or 1)

    @property
    def cells(self) -> int:
        """Number of published cells; 0 while it is unknown."""
        return self.known_cells or 0

    @property
    def measured_levels(self) -> int:
        """Number of measured levels of groups; 0 where only the groups are measured."""
        return 0

    @property
    @abstractmethod
    def changes(self) -> tuple[tuple[CellNoise, Change], ...]:
        """The changes that one unit can make, each with the noise that hides it."""

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """All mechanisms of its noise."""
        return tuple(one for noise, _ in self.changes for one in noise.mechanisms)

    @cached_property
    def canonical(self) -> TablePlan:
        """The same table with its groups, noise and structural zeros in canonical order."""
        groups = canonical(self.groups)
        if groups is self.groups:
            return self
        measures = len(self.question.aggregates)
        order = places_in(groups, self.groups)[:, None] * measures + np.arange(measures)
        return replace(self, groups=groups, noise=self.noise.rearranged(order.reshape(-1)))

    @abstractmethod
    def expected(self, coverage: Fraction) -> Expected:
        """Return the error of the counts in the worst case, known before any row is read."""

    @abstractmethod
    def widest_interval(self, coverage: Fraction) -> int | None:
        """Return the largest width (high - low) of a published interval; None if one may have no upper end."""

    @abstractmethod
    def false_zeros(self, least: int) -> Fraction:
        """Return the largest probability that a true count of ``least`` or more is published as 0 or less."""

    @abstractmethod
    def spurious_counts(self, least: int) -> Fraction:
        """Return the largest probability that a true count of 0 is published as ``least`` or more."""

    @staticmethod
    @abstractmethod
    def price(tables: Sequence[TablePlan], protection: Protection, epsilon: Fraction | None, delta: Fraction) -> Cost:
        """Return the cost of the tables of a release, this kind among them."""

    def refuse_unreasonable(self) -> None:
        """Refuse a table that nobody could use, before anything is spent; public numbers alone decide."""
        return

    # ---------------------------------------------------------------- counting, drawing, recording

    @abstractmethod
    def counting(self, protection: Protection, key: bytes) -> Counting:
        """Return the count to ask of the source."""

    @staticmethod
    @abstractmethod
    def count(source: Source, countings: Sequence[Counting]) -> Sequence[Counted]:
        """Return the true counts of all tables of a release, which go to the noise and nowhere else."""

    @abstractmethod
    def answer(self, counted: Counted, bits: Bits) -> dict[str, Json]:
        """Draw the noisy counts; return them as the ledger records them, by the name of each part."""

    @abstractmethod
    def simulated_counts(self, sizes: MadeUpSizes | None) -> Counted:
        """Return made-up counts in the form of true ones; without sizes, within public sizes or of a usual total."""

    @abstractmethod
    def rehearse(self, bits: Bits) -> None:
        """Draw noise for zeros, without reading data."""

    @abstractmethod
    def from_record(self, record: Entry, request: Entry, coverage: Fraction, edition: str) -> ReleasedTable:
        """Rebuild the released table from a record of :meth:`answer`, whose request may order its groups otherwise."""

    # ---------------------------------------------------------------- files

    def to_json(self) -> dict[str, Json]:
        """Return the table as JSON in a request."""
        return {
            "question": self.question.text,
            "groups": self.groups.to_json(),
            "noise": self.noise.to_json(),
            "share": str(self.share),
            "suppress_below": self.suppress_below,
            **self._lookups_json(),
            **self._joined_json(),
        }

    def _joined_json(self) -> dict[str, Json]:
        """Return the joined tables of the same people by name, for a request; nothing without any."""
        tables: dict[str, Json] = {one.join.table: one.to_json() for one in self.question.tables}
        return {"joined": {name: tables[name] for name in sorted(tables)}} if tables else {}

    def _lookups_json(self) -> dict[str, Json]:
        """Return the look-ups in public files by name, for a request; nothing without any."""
        files = {one.join.table: one.to_json() for one in self.question.lookups if one.join is not None}
        entry: dict[str, Json] = {"lookups": {name: files[name] for name in sorted(files)}}
        return entry if files else {}

    @abstractmethod
    def file_names(self, name: str) -> list[str]:
        """Return the names of the CSV files of the released table; the first is this name."""

    def recorded_file(self, name: str) -> str:
        """Return the name of the file from which an audit reads the counts and computes all others."""
        return name

    @abstractmethod
    def read(self, text: str, name: str, coverage: Fraction, edition: str, layout: int) -> ReleasedTable:
        """Read the counts and flags of a CSV file.

        Raises
        ------
        Refuted
            When its lines are not exactly those of this table.
        """

    # ---------------------------------------------------------------- words

    @property
    @abstractmethod
    def shape_text(self) -> str:
        """The number of cells and how it arises, in words."""

    @property
    def noise_text(self) -> str:
        """The mechanism with its parameters, and the range of its reports."""
        first = self.noise.mechanisms[0]
        more = f" and {len(self.noise.mechanisms) - 1} more for other sizes" if len(self.noise.mechanisms) > 1 else ""
        return f"{first!r}{more}; {OUTPUT_IN_WORDS[self.noise.output]}"

    @property
    def noise_sentence(self) -> str:
        """The law of the noise, its privacy for each count, and the range of the counts."""
        return noise_in_words(self.noise, self.counted)

    @property
    def counted(self) -> str:
        """The noun for which the privacy of the noise is stated: each count, or each row of one."""
        return "count" if self.max_rows is None else "row of a count"

    @property
    def noise_lines(self) -> list[tuple[str, str]]:
        """The lines of a plan on the noise."""
        return [("noise", self.noise_sentence)]

    def noise_json(self) -> dict[str, Json]:
        """Return the noise as JSON: its output, its mechanisms with parameters and privacy, and a sentence."""
        mechanisms = [
            {
                "family": one.family,
                "parameters": dict(one.parameters),
                "epsilon": plain(one.certificate.epsilon),
                "delta": one.certificate.delta,
            }
            for one in self.noise.mechanisms
        ]
        return {"output": self.noise.output, "mechanisms": mechanisms, "sentence": self.noise_sentence}

    @property
    def by_in_words(self) -> str:
        """An addition to the names of the group columns."""
        return ""

    @abstractmethod
    def bound_sentences(self, protection: Protection, groups: int, tables: int) -> tuple[str, ...]:
        """Return sentences on the unit and its contribution bound; ``groups`` are those of the largest table."""

    def group_sentences(self, protection: Protection) -> Sequence[str]:
        """Return sentences on the meaning of a group."""
        return ()

    def join_sentences(self, protection: Protection) -> list[str]:
        """Return sentences on joined tables, and on the columns that come from public files."""
        sentences = []
        if self.question.tables:
            names = [self.question.table, *(one.join.table for one in self.question.tables)]
            dates = "" if protection.per is None else f" ({dates_in_words(self.question, protection.per)})"
            sentences.append(
                f"{listed(names, 'and')} are joined on the columns that name {protection.who.several}{dates}; the "
                f"guarantee covers all rows of {protection.who.a} in all of them."
            )
            if protection.max_rows is not None:
                sentences.append(
                    f"Rows are joined rows: each row of {self.question.table} counts with each row of "
                    f"{listed(names[1:], 'and')} that has the same {protection.who.one}."
                )
        for one in self.question.lookups:
            if one.join is not None and one.columns:
                names = [column.name for column in one.columns]
                sentences.append(
                    f"{listed(names)} {'comes' if len(names) == 1 else 'come'} from the public "
                    f"look-up {one.join.table}, by {one.column}; the look-up is not protected."
                )
        return sentences

    def total_sentences(self, protection: Protection) -> Sequence[str]:
        """Return sentences on the meaning of a total."""
        return ()

    @staticmethod
    def number_in_words(cells: int) -> str:
        """Return the number of counts of a release, in words."""
        return plural(cells, "count")

    @staticmethod
    def audited_in_words(cells: int) -> str:
        """Return the number of cells that an audit checked, in words."""
        return f"{cells:,} cells"

    @abstractmethod
    def size_fact(self, cells: int) -> Fact:
        """Return the key fact about the size of a release."""

    @property
    def naming_in_words(self) -> str:
        """A sentence on names that come from the data; empty where all groups are declared."""
        return ""

    @staticmethod
    @abstractmethod
    def composition_in_words(tables: Sequence[TablePlan], cells: int, delta: Fraction) -> str:
        """Return how the privacy of the counts is composed."""


def law_in_words(noise: CellNoise, counted: str = "count") -> str:
    """Return the law of the first mechanism, and its privacy for each count, or for each row of one."""
    first = noise.mechanisms[0]
    title = FAMILIES[first.family].title if first.family in FAMILIES else first.family.replace("_", " ")
    privacy = first.certificate
    if math.isinf(privacy.epsilon):
        variance = first.parameters.get("sigma2")
        return title if variance is None else f"{title} with variance {rounded(as_fraction(variance))}"
    delta = f", delta {text_up(privacy.delta, 3)}" if privacy.delta else ""
    return f"{title} with epsilon {text_up(privacy.epsilon)}{delta} for each {counted}"


def noise_in_words(noise: CellNoise, counted: str = "count") -> str:
    """Return the law of the noise, its privacy for each count, and the range of the counts."""
    more = len(noise.mechanisms) - 1
    sizes = f", and {plural(more, 'other mechanism')} for other sizes" if more else ""
    return f"{law_in_words(noise, counted)}{sizes}; {OUTPUT_IN_WORDS[noise.output]}"


def names_fit(groups: Groups, columns: Sequence[str]) -> bool:
    """Return True if groups are named after these columns; columns with bands may have other names."""
    if len(groups.columns) != len(columns):
        return False
    bands = groups.bands or (None,) * len(columns)
    pairs = zip(groups.columns, columns, bands, strict=True)
    return all(cuts is not None or one.casefold() == other.casefold() for one, other, cuts in pairs)
