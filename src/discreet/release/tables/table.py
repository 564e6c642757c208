"""What every kind of table knows of itself: how it is counted, drawn, recorded, read back, priced, and put into words.

A kind is a subclass of :class:`TablePlan`, in a file of its own, and has its place in :mod:`.kinds`. Nothing outside
this package asks which kind a table is.
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

from ...engines.base import Counting, DiscoveredGroups
from ...exact.arrays import IntArray
from ...exact.bits import Bits
from ...exact.rationals import as_fraction, text_up
from ...ledger.budget import Cost
from ...mechanism import Mechanism
from ...optimise.families import FAMILIES
from ...questions.groups import Groups
from ...questions.orders import canonical, places_in
from ...questions.question import Question
from ...report import Fact, Json, plain
from ...wording import plural, rounded
from ..noise.accuracy import Expected
from ..noise.cells import OUTPUT_IN_WORDS, CellNoise
from ..protection import Change, Protection
from .released import ReleasedTable

if TYPE_CHECKING:
    from ...engines.sources import Source

#: What the noise is told after the source has counted.
Counted = IntArray | DiscoveredGroups

#: A table as a request or a record says it, before it is checked.
Entry: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class TablePlan(ABC):
    """One table of a plan: its question, its cells and their noise.

    Attributes
    ----------
    question, groups
        What is asked, and the public groups it is asked for.
    noise
        What is done to each cell.
    share
        The part of the epsilon that this table gets.
    sensitivity
        The most cells of this table that one unit can move, each by one.
    suppress_below
        Reported counts below this are withheld; None to publish all.
    """

    question: Question
    groups: Groups
    noise: CellNoise
    share: Fraction
    sensitivity: int
    suppress_below: int | None = None

    #: Whether a release of this kind of table has no other table.
    stands_alone: ClassVar[bool] = False
    #: What an audit says of a table whose lines are all as they must be.
    lines_in_words: ClassVar[str]
    #: What a release of such tables does not protect, and what does not protect it.
    public_facts: ClassVar[tuple[str, ...]]
    #: What is public of its questions, for a registry.
    public_in_words: ClassVar[str]

    # ---------------------------------------------------------------- size and noise

    @property
    @abstractmethod
    def known_cells(self) -> int | None:
        """How many cells are published; None while nobody knows."""

    @property
    def cells(self) -> int:
        """How many cells are published, as far as it is known."""
        return self.known_cells or 0

    @property
    def measured_levels(self) -> int:
        """How many levels of groups are measured apart; 0 where the groups are measured alone."""
        return 0

    @property
    @abstractmethod
    def changes(self) -> tuple[tuple[CellNoise, Change], ...]:
        """What one unit can change, with the noise that hides it."""

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """All mechanisms that its counts are drawn by."""
        return tuple(one for noise, _ in self.changes for one in noise.mechanisms)

    @cached_property
    def canonical(self) -> TablePlan:
        """The same table with its groups in their canonical order, noise and structural zeros along with them."""
        groups = canonical(self.groups)
        if groups is self.groups:
            return self
        measures = len(self.question.aggregates)
        order = places_in(groups, self.groups)[:, None] * measures + np.arange(measures)
        return replace(self, groups=groups, noise=self.noise.rearranged(order.reshape(-1)))

    @abstractmethod
    def expected(self, level: Fraction) -> Expected:
        """The error of the counts in the worst case, before any row is read."""

    @staticmethod
    @abstractmethod
    def price(tables: Sequence[TablePlan], protection: Protection, epsilon: Fraction | None, delta: Fraction) -> Cost:
        """What tables of this kind and those that may stand beside it cost together."""

    # ---------------------------------------------------------------- counting, drawing, recording

    @abstractmethod
    def counting(self, protection: Protection, key: bytes) -> Counting:
        """What the source is asked to count."""

    @staticmethod
    @abstractmethod
    def count(source: Source, countings: Sequence[Counting]) -> Sequence[Counted]:
        """The true counts of all tables of a release: these go to the noise and nowhere else."""

    @abstractmethod
    def answer(self, counted: Counted, bits: Bits) -> dict[str, Json]:
        """The noisy counts as a ledger records them: by the name of each part of the record."""

    @abstractmethod
    def rehearse(self, bits: Bits) -> None:
        """Draw noise for zeros that stand for no table."""

    @abstractmethod
    def recall(self, recorded: Entry, asked: Entry, level: Fraction, edition: str) -> ReleasedTable:
        """The table from what :meth:`answer` recorded for a request that asked for these groups in some order."""

    # ---------------------------------------------------------------- files

    def to_json(self) -> dict[str, Json]:
        """The table in a request."""
        return {
            "question": self.question.text,
            "groups": self.groups.to_json(),
            "noise": self.noise.to_json(),
            "share": str(self.share),
            "suppress_below": self.suppress_below,
        }

    @abstractmethod
    def file_names(self, name: str) -> list[str]:
        """The CSV files of its released table; the first has this name."""

    @abstractmethod
    def read(self, text: str, name: str, level: Fraction, edition: str, layout: int) -> ReleasedTable:
        """The counts and flags of a CSV file that has exactly the lines that this table has.

        Raises
        ------
        Refuted
            When it has others.
        """

    # ---------------------------------------------------------------- words

    @property
    @abstractmethod
    def shape_text(self) -> str:
        """How many cells and why, in words."""

    @property
    def noise_text(self) -> str:
        """The mechanism with its parameters, and what its reports look like."""
        first = self.noise.mechanisms[0]
        more = f" and {len(self.noise.mechanisms) - 1} more for other sizes" if len(self.noise.mechanisms) > 1 else ""
        return f"{first!r}{more}; {OUTPUT_IN_WORDS[self.noise.output]}"

    @property
    def noise_sentence(self) -> str:
        """The law of the noise, its privacy for each count, and what the counts look like."""
        return noise_in_words(self.noise)

    @property
    def noise_lines(self) -> list[tuple[str, str]]:
        """The noise in the lines of a plan."""
        return [("noise", self.noise_sentence)]

    def noise_json(self) -> dict[str, Json]:
        """The noise for programs: its form, each mechanism by its parameters and its privacy, and all in words."""
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
        """What is counted beside the groups, after their names."""
        return ""

    @abstractmethod
    def bound_sentences(self, protection: Protection, groups: int, tables: int) -> tuple[str, ...]:
        """Whom the release protects and how contributions are bounded, with so many groups in the largest table."""

    def group_sentences(self, protection: Protection) -> Sequence[str]:
        """What a group of the table is."""
        return ()

    def total_sentences(self, protection: Protection) -> Sequence[str]:
        """What a total of the table is."""
        return ()

    @staticmethod
    def number_in_words(cells: int) -> str:
        """How many counts a release has."""
        return plural(cells, "count")

    @staticmethod
    def audited_in_words(cells: int) -> str:
        """How many cells an audit saw."""
        return f"{cells:,} cells"

    @abstractmethod
    def size_fact(self, cells: int) -> Fact:
        """The number to take home about the size of a release."""

    @property
    def naming_in_words(self) -> str:
        """How names come from the data; nothing where all groups are declared."""
        return ""

    @staticmethod
    @abstractmethod
    def composition_in_words(tables: Sequence[TablePlan], cells: int, delta: Fraction) -> str:
        """How the privacy of the counts is added up."""


def law_in_words(noise: CellNoise) -> str:
    """The law of the first mechanism, and its privacy for each count."""
    first = noise.mechanisms[0]
    title = FAMILIES[first.family].title if first.family in FAMILIES else first.family.replace("_", " ")
    privacy = first.certificate
    if math.isinf(privacy.epsilon):
        variance = first.parameters.get("sigma2")
        return title if variance is None else f"{title} with variance {rounded(as_fraction(variance))}"
    delta = f", delta {text_up(privacy.delta, 3)}" if privacy.delta else ""
    return f"{title} with epsilon {text_up(privacy.epsilon)}{delta} for each count"


def noise_in_words(noise: CellNoise) -> str:
    """The law of the noise, its privacy for each count, and what the counts look like."""
    more = len(noise.mechanisms) - 1
    sizes = f", and {plural(more, 'other mechanism')} for other sizes" if more else ""
    return f"{law_in_words(noise)}{sizes}; {OUTPUT_IN_WORDS[noise.output]}"


def names_fit(groups: Groups, columns: Sequence[str]) -> bool:
    """Whether groups are called by the columns they are of; bands may have a name of their own."""
    if len(groups.columns) != len(columns):
        return False
    bands = groups.bands or (None,) * len(columns)
    named = zip(groups.columns, columns, bands, strict=True)
    return all(own is not None or one.casefold() == other.casefold() for one, other, own in named)
