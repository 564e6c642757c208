"""The draft of a table of a plan: its question during planning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol

from ...engines.base import ROW, Counting
from ...exact.arrays import IntArray
from ...questions.bands import DeclaredBands
from ...questions.groups import TOTAL, Groups
from ...questions.joins.clauses import RelatedTable
from ...questions.joins.lookups import PublicTable
from ...questions.question import Question, find_column
from ...questions.resolve.bind import bind_joins
from ..noise.cells import CellNoise
from ..protection import NO_CHANGE, Change, Protection
from .table import TablePlan

if TYPE_CHECKING:
    from ...engines.sources import Source
    from ..plan.request import ReleaseRequest


#: Maximum number of cells of a release for which noise is drawn one by one; more are a mistake in a domain.
MAX_DRAWN_CELLS = 10_000_000


def joined_kinds(question: Question, source: Source) -> dict[str, str]:
    """Return the columns of joined tables that a question uses, and the kind of each."""
    return {column: source.table(table)[column] for column, table in question.joined_columns.items()}


class CellRequest(Protocol):
    """The noise that a request asks for."""

    def cells(self, epsilon: Fraction | None = None, sigma2: Fraction | None = None) -> CellNoise: ...

    def signed(self, epsilon: Fraction | None = None, sigma2: Fraction | None = None) -> CellNoise: ...

    def tables(self, drafts: Sequence[Draft]) -> Sequence[TablePlan]: ...


@dataclass
class Draft:
    """One question of a request during planning; each step of planning fills in a part.

    Attributes
    ----------
    request
        The request it belongs to.
    original
        The question of the request, with the bands in its text.
    question
        The question by columns alone, bound to its table or view, with its totals.
    base
        The same question to the table behind a view.
    stored
        The kind of each column of its table or view; empty if unknown.
    bands
        The bands of its group columns.
    groups
        The declared groups.
    share
        Its part of epsilon.
    change
        The largest change of its counts by one unit.
    max_rows
        Maximum number of rows of one unit that a count has in a group; None to count units.
    split_note
        A note on the split of its levels; empty if the request does not ask for one.
    """

    request: ReleaseRequest
    original: Question
    question: Question = field(init=False)
    base: Question = field(init=False)
    stored: Mapping[str, str] = field(default_factory=dict)
    bands: Mapping[str, DeclaredBands] = field(default_factory=dict)
    groups: Groups = TOTAL
    share: Fraction = Fraction(1)
    change: Change = NO_CHANGE
    max_rows: int | None = None
    split_note: str = ""

    #: True if the split of a request may list the parts of its levels.
    has_levels: ClassVar[bool] = False

    #: False if small groups are left out, so that no quantile can be found in the counts.
    counts_every_group: ClassVar[bool] = True

    #: True if each unit is counted once in all, so that no contribution bound is asked for.
    counts_once: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.question = self.base = self.original.plain

    def bind_joins(
        self, public: Mapping[str, PublicTable], related: Mapping[str, RelatedTable], source: Source | None
    ) -> None:
        """Bind the joins of the question to the declared look-ups and tables of the same people."""
        kinds = {} if source is None else source.table(self.question.table)
        unit = self.request.unit if not kinds or self.request.unit == ROW else find_column(self.request.unit, kinds)
        self.question = self.base = bind_joins(self.question, public, kinds, related, unit)
        if source is None:
            self.stored = self.question.looked_up

    def bind(self, source: Source) -> None:
        """Bind the question to the columns of its table or view."""
        stored = source.table(self.question.table)
        self.question = self.base = self.question.bind(stored, source.spelled(self.question.table))
        self.stored = {**stored, **self.question.looked_up, **joined_kinds(self.question, source)}

    def refuse_misfits(self) -> None:
        """Refuse options of the request that this kind of table does not have."""

    def add_totals(self) -> None:
        """Add the totals that the request asks for."""

    def inspect_columns(self, source: Source | None) -> None:
        """Read what this kind of table needs to know about its columns, from the source if there is one."""

    # ---------------------------------------------------------------- groups

    @property
    def declared_columns(self) -> tuple[str, ...]:
        """The group columns whose values are declared."""
        return self.question.by

    @property
    def declarations(self) -> Sequence[Draft]:
        """The drafts whose groups are declared each by itself: this one, or one for each column."""
        return (self,)

    def declare(self, groups: Sequence[Groups]) -> None:
        """Take the declared groups of each of the declarations."""
        (self.groups,) = groups

    def name_groups(self) -> None:
        """Call declared groups by the columns of the table behind a view, of which the request states its question."""
        names = {typed.casefold(): stored for typed, stored in zip(self.question.by, self.base.by, strict=True)}
        bands = self.groups.bands or (None,) * len(self.groups.columns)
        columns = [
            name if cuts is not None else names.get(name.casefold(), name)
            for name, cuts in zip(self.groups.columns, bands, strict=True)
        ]
        if self.question.by != self.base.by:
            self.groups = replace(self.groups, columns=tuple(columns))

    def refuse_domain(self) -> None:
        """Refuse a domain that does not go with this kind of table."""

    @property
    def is_sparse(self) -> bool:
        """True if it has too many declared cells to draw noise for each, and publishes few."""
        return False

    def refuse_groups(self) -> None:
        """Refuse declared groups that do not go with this kind of table."""

    def group_notes(self, protection: Protection) -> list[str]:
        """Return notes for the user on the declared groups."""
        return []

    @property
    def declared_cells(self) -> int:
        """Number of declared cells."""
        return self.groups.size * len(self.question.aggregates)

    def counting(self, protection: Protection) -> Counting:
        """Return the count to ask of the source; refuse what cannot be counted, before anything is spent."""
        return protection.counting(self.base, self.groups, b"")

    # ---------------------------------------------------------------- noise

    def measure(self, protection: Protection, sizes: IntArray | None) -> None:
        """Compute the largest change by one unit."""
        self.change, self.max_rows = protection.change(self.base, self.groups), protection.max_rows

    def tables(self, drafts: Sequence[Draft], protection: Protection, noise: CellRequest) -> Sequence[TablePlan]:
        """Return the tables of a release whose first draft this is, with the noise of the request."""
        raise NotImplementedError

    def pure(self, noise: CellRequest, epsilon: Fraction) -> TablePlan:
        """Return the table with its share of epsilon, divided equally among the cells that one unit can move."""
        raise NotImplementedError

    def gaussian(self, noise: CellRequest, rho: Fraction) -> TablePlan:
        """Return the table with its share of rho: ``squared L2 change / (2 sigma2) = share rho``."""
        raise NotImplementedError

    def table(self, noise: CellNoise) -> TablePlan:
        """Return the table with this noise."""
        raise NotImplementedError
