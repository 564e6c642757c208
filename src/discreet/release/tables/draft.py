"""A question on its way to a table of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol

from ...engines.base import Counting
from ...exact.arrays import IntArray
from ...questions.bands import DeclaredBands
from ...questions.groups import TOTAL, Groups
from ...questions.question import Question
from ..noise.cells import CellNoise
from ..protection import Protection
from .table import TablePlan

if TYPE_CHECKING:
    from ...engines.sources import Source
    from ..plan.request import ReleaseRequest


class CellRequest(Protocol):
    """The noise that a request asks for, for the cells of one table."""

    def cells(self, epsilon: Fraction | None = None, sigma2: Fraction | None = None) -> CellNoise: ...

    def signed(self, epsilon: Fraction | None = None, sigma2: Fraction | None = None) -> CellNoise: ...

    def tables(self, drafts: Sequence[Draft]) -> Sequence[TablePlan]: ...


@dataclass
class Draft:
    """One question of a request, from its first reading to its table. Each step of planning fills in its part.

    Attributes
    ----------
    request
        What it belongs to.
    written
        The question as it was written, with the bands in its text.
    asked
        The question by columns alone, bound to what it names, with its totals.
    base
        The same question to the table behind a view.
    stored
        What each column of what it names holds; empty if that is not known.
    bands
        The bands of those of its group columns that have some.
    groups
        Its declared groups.
    share
        The part of epsilon that it gets.
    sensitivity
        The most that one unit can change in its counts.
    """

    request: ReleaseRequest
    written: Question
    asked: Question = field(init=False)
    base: Question = field(init=False)
    stored: Mapping[str, str] = field(default_factory=dict)
    bands: Mapping[str, DeclaredBands] = field(default_factory=dict)
    groups: Groups = TOTAL
    share: Fraction = Fraction(1)
    sensitivity: int = 0

    #: Whether a split of the request may name the parts of its levels.
    has_levels: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.asked = self.base = self.written.plain

    def bind(self, source: Source) -> None:
        """Bind the question to the columns of what it names."""
        self.stored = source.table(self.asked.table)
        self.asked = self.base = self.asked.bind(self.stored, source.spelled(self.asked.table))

    def refuse_misfits(self) -> None:
        """Refuse what the request asks for and this kind of table has not."""

    def add_totals(self) -> None:
        """Add the totals that the request asks for."""

    def look_at(self, source: Source | None) -> None:
        """Learn what this kind of table must know of the columns of its source, if it is there."""

    # ---------------------------------------------------------------- groups

    @property
    def declared_columns(self) -> tuple[str, ...]:
        """The group columns whose values are declared."""
        return self.asked.by

    def refuse_domain(self) -> None:
        """Refuse a domain that does not go with this kind of table."""

    def refuse_groups(self) -> None:
        """Refuse declared groups that do not go with this kind of table."""

    def group_notes(self, protection: Protection) -> list[str]:
        """What a person should know of the declared groups."""
        return []

    @property
    def declared_cells(self) -> int:
        """How many cells its groups declare."""
        return self.groups.size * len(self.asked.aggregates)

    def counting(self, protection: Protection) -> Counting:
        """What its source will be asked to count. Refuses what cannot be counted, before anything is spent."""
        return Counting(self.base, self.groups, protection.unit, protection.max_groups, b"")

    # ---------------------------------------------------------------- noise

    def measure(self, protection: Protection, sizes: IntArray | None) -> None:
        """Work out what one unit can change in the counts."""
        self.sensitivity = protection.sensitivity(self.base, self.groups)

    def tables(self, drafts: Sequence[Draft], protection: Protection, noise: CellRequest) -> Sequence[TablePlan]:
        """The tables of a release whose first draft this is, with the noise that was asked for."""
        raise NotImplementedError

    def pure(self, noise: CellRequest, epsilon: Fraction) -> TablePlan:
        """The table with its share of epsilon, of which each cell that a unit can move gets an equal part."""
        raise NotImplementedError

    def gaussian(self, noise: CellRequest, rho: Fraction) -> TablePlan:
        """The table with its share of rho: ``sensitivity / (2 sigma2) = share rho``."""
        raise NotImplementedError

    def table(self, noise: CellNoise) -> TablePlan:
        """The table with this noise for every cell."""
        raise NotImplementedError
