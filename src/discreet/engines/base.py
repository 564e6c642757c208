"""The contract of every engine: state its schema, write SQL in its dialect, hold one state of the data, and count it.

An engine is not trusted to be private, only to be tested: ``tests/contracts/test_every_engine.py`` holds each of them
to this contract, with the plain counter of ``reference.py`` as the oracle.

**The rule of bounding**, when the unit is a column. In this order: rows without a unit vanish; rows that do not meet
WHERE vanish; rows outside the declared groups, or in a structural zero, vanish. Then each person is bounded, by their
own rows and a secret key alone. Let ``H`` be the first 15 hexadecimal digits of
``md5(hex(key) || ':' || the unit as text)`` as a number, ``S`` the number of declared groups, ``c`` the number of
counts that have a condition.

- *One row in each group.* Going round the conditions from number ``(H div S) mod c``, a row that meets the first one
  goes before a row that does not; among equals the next condition decides, and so on. So a row that meets some
  condition goes before a row that meets none.
- *At most k groups.* Going round the declared groups from number ``H mod S``, the first k where the person has rows.
  With k = 1 and a banded column (:attr:`Counting.uses_hashed_choice`), instead, the group ``g`` of the smallest
  ``md5(hex(key) || ':' || the unit as text || ':' || g)``, so that each of the person's groups is as likely as any
  other (``hashed_choice``).

- *Periods* (:attr:`Counting.per`): the unit is a period of a person, such as a month. Its text is the name of the
  row's period, a colon and the person as text (``2025-03:ann``), which no other pair has, since all names of a
  granularity have one length. A row without a period (``periods``) vanishes as one without a person does. Joined
  tables have a date column each, and their rows meet where these texts are the same.

- *Events* (:attr:`Counting.max_rows`): no row is chosen. In each of the k groups, every count has all rows of the
  person that meet its own condition, but at most ``max_rows`` of them. Each count is cut off apart from the others.
  Of joined tables, the rows are joined rows: each combination of rows of the person that the join has.

The rule needs nothing but ``md5`` and whole numbers, so that every engine makes the same choice, in any order of rows.

**Groups.** A group column is read as a whole number or as text, as it was declared. What cannot be read so is in no
group. A declared NULL stands for rows without a value in the column, not for values that cannot be read. The rest,
where it is declared, stands for all other values, including missing ones and those that cannot be read: it is
decided column by column and row by row, before anything is bounded, and a structural zero is not part of it. A banded
column is in the band of its value (``questions.bands``).

**Bytes that are invalid in the encoding of a CSV file** make one value unreadable: it cannot be a unit, it is missing
in a condition, and its only possible group is the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ..errors import DiscreetError, InvalidInput, SourceFailed, Unsupported, arg
from ..exact.arrays import Array, IntArray
from ..periods import DATED_KINDS, Per
from ..questions.conditions import Condition
from ..questions.groups import Groups
from ..questions.joins.clauses import periods_of_tables, refuse_other_periods
from ..questions.question import Question
from ..sources.encodings import UTF8
from ..unit import ROW as ROW
from ..wording import find_table
from .dialect import Dialect

_Read = TypeVar("_Read")
#: Maximum of groups times combinations of conditions: a rank holds two such numbers in one 64-bit integer.
MAX_COMBINATIONS = 2**30
#: Kinds of columns by which tables of people are joined: those whose values have one text each, the same everywhere.
JOINED_KINDS = frozenset({"integer", "text", "date", "uuid"})
#: Hexadecimal digits of md5 that the rule of bounding uses: 60 bits, a positive number in every engine.
HASH_DIGITS = 15


def refuse_period() -> InvalidInput:
    """Return the error for a period of a unit that is a row."""
    return InvalidInput(
        f"{arg('unit', ROW)} protects each row by itself, so a period adds nothing to it.",
        f"Leave {arg('per')} out, or name the person's column with {arg('unit', 'COLUMN')}.",
        argument="per",
    )


@dataclass(frozen=True)
class Counting:
    """One table of counts to be made: the question, its public groups, and how much one unit may contribute.

    Parameters
    ----------
    question
        Bound to the columns of the source.
    groups
        The declared groups, in their order.
    unit
        ``"row"``, or the column that names the person.
    max_groups
        Maximum number of groups in which one person counts; without effect when the unit is the row.
    key
        The secret of the bounding hash, from the ledger.
    max_rows
        Maximum number of rows of one person that a count has in a group; None to count people.
    sparse
        True if only groups with somebody in them come back (:meth:`Source.occupied`), as of very many declared ones.
    per
        The period that is part of the unit; None if the unit is the whole person.
    """

    question: Question
    groups: Groups
    unit: str
    max_groups: int
    key: bytes = field(repr=False)
    max_rows: int | None = field(default=None, kw_only=True)
    sparse: bool = field(default=False, kw_only=True)
    per: Per | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.question.joins:
            raise InvalidInput(
                f"{self.question.joins[0].table!r} is not a declared look-up.", "Ask the data set that declares it."
            )
        if self.max_groups < 1:
            raise InvalidInput.must_be("max_groups", "at least 1", self.max_groups)
        if self.per is not None and self.unit == ROW:
            raise refuse_period()
        refuse_other_periods(self.question, self.per)
        if self.max_rows is not None and (self.unit == ROW or self.max_rows < 1):
            raise InvalidInput.must_be("max_rows", "at least 1, with a unit that is a column", self.max_rows)
        most = MAX_COMBINATIONS // self.groups.size
        if self.unit != ROW and 2 ** len(self.conditions) > most:
            raise InvalidInput(
                f"{len(self.conditions)} counts with a condition are too many for {self.groups.size} groups of people.",
                f"Ask at most {most.bit_length() - 1} of them at once, and the rest in another question.",
            )

    @property
    def conditions(self) -> list[Condition]:
        """The conditions of those counts that have one, in order."""
        return [aggregate.condition for aggregate in self.question.aggregates if aggregate.condition is not None]

    @property
    def units(self) -> dict[str, str]:
        """Its tables, and the column of each that names people."""
        return {self.question.table: self.unit, **{one.join.table: one.join.key for one in self.question.tables}}

    @property
    def periods(self) -> dict[str, Per]:
        """Its tables, and the period of each by its own date column; empty if the unit is the whole person."""
        return periods_of_tables(self.question, self.per)

    @property
    def uses_hashed_choice(self) -> bool:
        """True if a person's one group is chosen by ``hashed_choice``, which only questions with bands do."""
        return self.unit != ROW and self.max_groups == 1 and bool(self.groups.bands)

    @property
    def counted(self) -> Counting:
        """The same counts, made as those of people where at most one row of a person counts in a group."""
        return replace(self, max_rows=None) if self.max_rows == 1 and not self.conditions else self

    @property
    def multiplicity(self) -> str | None:
        """The column that says how many events a row stands for, at most ``max_rows``; None where each is one."""
        return None

    @property
    def columns(self) -> list[str]:
        """The stored columns that are read."""
        return sorted(self.question.stored_columns | self.unit_columns(self.question.table))

    def unit_columns(self, table: str) -> set[str]:
        """Return the stored columns of a table that say which unit a row belongs to."""
        dates = {per.column for name, per in self.periods.items() if name == table}
        return ({self.units[table]} - {ROW}) | dates


@dataclass(frozen=True)
class Discovering(Counting):
    """A table of counts whose groups are discovered in the data: the rule is in ``engines/discovery.py``.

    ``groups`` are the declared groups of those GROUP BY columns that are declared, one total if none is.

    Parameters
    ----------
    label_columns
        The columns whose values are discovered.
    kinds
        The reading of each: ``"integer"`` or ``"text"``.
    """

    label_columns: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contributing(Counting):
    """A histogram of people by what they contribute; the rule is in ``engines/events.py``.

    The question counts all rows (COUNT(*)), and ``max_groups`` has no effect.

    Parameters
    ----------
    of
        ``"groups"``: the number of groups where a person has rows. ``"rows"``: their largest number of rows in a group.
    top
        Number of cells: 1, 2, ... and the last for that number or more.
    """

    of: str = field(default="groups", kw_only=True)
    top: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.question.tables:
            raise InvalidInput(
                "what people contribute is counted in one table.", "Join the tables beforehand, into one table."
            )
        if self.of not in ("groups", "rows"):
            raise InvalidInput.must_be("of", "groups or rows", self.of)
        if self.unit == ROW or len(self.question.aggregates) != 1 or self.conditions or self.max_rows is not None:
            raise InvalidInput(
                "people are counted by all their rows.", "Ask for COUNT(*) alone, with a unit that is a column."
            )
        if self.top < 1:
            raise InvalidInput.must_be("top", "at least 1", self.top)


@dataclass(frozen=True)
class DiscoveredGroups:
    """All groups with somebody in them, and their true counts: these go to the noise and nowhere else.

    Attributes
    ----------
    labels
        For each column that was discovered, the values of all groups.
    declared
        The number of each group's declared part.
    counts
        A row for each group and a column for each measure.
    """

    labels: tuple[Array, ...] = field(repr=False)
    declared: IntArray = field(repr=False)
    counts: IntArray = field(repr=False)


@dataclass(frozen=True)
class OccupiedGroups:
    """The declared groups with somebody in them, and their true counts: these go to the noise and nowhere else.

    Attributes
    ----------
    groups
        The numbers of the groups, each once and ascending; none is a structural zero.
    counts
        A row for each of them and a column for each measure.
    """

    groups: IntArray = field(repr=False)
    counts: IntArray = field(repr=False)


class Snapshot(ABC):
    """One state of the data, open for reading: all counts of one release come from it."""

    def prepare(self, countings: Sequence[Counting]) -> None:
        """Get ready for all countings before the first one; an engine that copies rows does it here."""
        return

    @abstractmethod
    def rehearse(self, counting: Counting) -> None:
        """Do what :meth:`count` does, by the same code, on an empty table of the same columns. No row is read."""

    @abstractmethod
    def count(self, counting: Counting) -> IntArray:
        """Return the true counts, of shape (groups, counts), by the rule of bounding."""

    def occupied(self, counting: Counting) -> OccupiedGroups:
        """Return what :meth:`count` does for the groups with somebody in them, without a list of all groups."""
        raise Unsupported("this engine counts in lists of all declared groups.", "Declare fewer groups.")

    def discover(self, counting: Discovering) -> DiscoveredGroups:
        """Return the groups in the data, by the rule of ``engines/discovery.py``, with their true counts."""
        raise Unsupported("this engine does not find groups.", "Declare them.")

    @abstractmethod
    def unchanged(self) -> bool:
        """Return whether the data is still in the state that was opened; with transactions it always is."""


class Source(ABC):
    """One or more tables that can be counted.

    An engine provides the abstract part. It may fail because of the request (such as a missing column), never because
    of rows. The engine's own error messages are withheld here, for every engine alike.

    Attributes
    ----------
    has_own_name
        True if the data set takes its name from the data; a table in memory takes it from the request.
    """

    has_own_name = True

    #: True if questions may join several of its tables.
    joins_tables = False

    #: True if the definition of a view can be read as the join that it is.
    expands_joined_views = False

    @property
    def encoding(self) -> str:
        """The encoding of a CSV file; UTF-8 for all other data."""
        return UTF8

    def __repr__(self) -> str:
        return f"<the data {self.dataset}>"

    # ---------------------------------------------------------------------------------------- provided by an engine

    @property
    @abstractmethod
    def dataset(self) -> str:
        """The name that a ledger binds: the stem of the file, folder or pattern, or the name of the database."""

    @property
    @abstractmethod
    def dialect(self) -> Dialect:
        """The dialect in which this engine's queries are written."""

    @abstractmethod
    def tables(self) -> list[str]:
        """Return the names of the tables and views."""

    @abstractmethod
    def table(self, name: str) -> Mapping[str, str]:
        """Return the columns of a table or view and the kind of each (one of ``expressions.KINDS``); no row is read."""

    @abstractmethod
    def view(self, name: str) -> str | None:
        """Return the definition of a view, to be judged and replaced by its table; None for a table."""

    @abstractmethod
    def check_unit(self, table: str, column: str) -> None:
        """Refuse a column that cannot name people: two people must never have one text, nor one person two.

        Floats and timestamps with a time zone never can: each engine writes them in its own way.
        """

    @abstractmethod
    def check_whole(self) -> None:
        """Refuse data that is damaged, truncated or not permitted, as far as that shows without reading a row."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Hold one state of the data, with every optimisation off that uses statistics of other people's rows."""

    # ---------------------------------------------------------------------------------------- in common

    def check_column(self, table: str, column: str) -> None:
        """Refuse a column of a type that this engine could read or compare differently from the others."""
        return

    def check_period(self, table: str, column: str) -> None:
        """Refuse a column that dates no row: a day is read of dates, moments without a time zone, and texts."""
        if self.table(table)[column] not in DATED_KINDS:
            raise InvalidInput(
                f"{column!r} of {table} holds no dates.",
                "Name a column of dates, of moments without a time zone, or of texts such as 2025-03-14.",
                argument="per",
            )

    def column_notes(self, table: str, columns: Sequence[str]) -> list[str]:
        """Return notes for people about how this engine reads some columns, by their types alone."""
        return []

    def refuse_missing(self, table: str, column: str) -> None:
        """Refuse a group of missing values of a column whose type has none, by that type alone."""
        return

    def column_names(self) -> set[str]:
        """Return the names of all columns of all tables and views."""
        return {column for table in self.tables() for column in self.table(table)}

    def last_changed(self) -> float | None:
        """Return when the data was last written to, in seconds since 1970; None where the engine does not know."""
        return None

    def call_table(self, name: str) -> Source:
        """Return the data with its one table renamed, where tables have no names of their own; else unchanged."""
        return self

    def unnamed_columns(self, table: str) -> bool:
        """Return whether some columns are not offered because their names are blank or shared."""
        return False

    def spelled(self, name: str) -> str:
        """Return the table's own spelling of its name."""
        return find_table(name, self.tables(), self.dataset)

    def rehearse(self, countings: Sequence[Counting]) -> None:
        """Find and report every error that can occur before a row is read.

        The data is opened, compressed files are checked for damage, and each counting runs by the same code
        on an empty table of the same columns.
        """
        for counting in countings:
            self._check(counting)
        self.check_whole()
        try:
            with self.snapshot() as snapshot:
                for counting in countings:
                    snapshot.rehearse(counting.counted)
        except DiscreetError:
            raise
        except Exception as problem:  # no row has been read, so its message may be shown
            raise SourceFailed(
                f"{self.dataset} cannot be counted here, and nothing was spent: {type(problem).__name__}: {problem}"
            ) from problem

    def count(self, countings: Sequence[Counting]) -> list[IntArray]:
        """Return the true counts of each counting, shape (groups, counts), all from one state of the data."""
        for counting in countings:
            self._check(counting)
        counts = self._try_to_read(countings, lambda snapshot: [snapshot.count(one.counted) for one in countings])
        if counts is None:  # raised here, where neither the engine's message nor a count is in reach
            raise self._unreadable()
        return counts

    def occupied(self, countings: Sequence[Counting]) -> list[OccupiedGroups]:
        """Return the groups with somebody in them and their true counts, for each counting, from one state."""
        for counting in countings:
            self._check(counting)
        occupied = self._try_to_read(countings, lambda snapshot: [snapshot.occupied(one.counted) for one in countings])
        if occupied is None:
            raise self._unreadable()
        return occupied

    def discover(self, counting: Discovering) -> DiscoveredGroups:
        """Return the groups in the data and their true counts."""
        return self.discover_all([counting])[0]

    def discover_all(self, countings: Sequence[Discovering]) -> list[DiscoveredGroups]:
        """Return the groups in the data and their true counts for each counting, all from one state of the data."""
        for counting in countings:
            self._check(counting)
        groups = self._try_to_read(countings, lambda snapshot: [snapshot.discover(one) for one in countings])
        if groups is None:
            raise self._unreadable()
        return groups

    def _unreadable(self) -> SourceFailed:
        return SourceFailed(
            f"the data {self.dataset} could not be read to its end. What the engine said is withheld, because it "
            "could quote a row.",
            "Check the data with the engine's own tools, where only you see it.",
        )

    def _check(self, counting: Counting) -> None:
        question = counting.question
        if question.tables:
            self.check_join(counting.units)
        for table, unit in counting.units.items():
            self._check_table(table, unit, sorted(question.stored_of(table) | counting.unit_columns(table)))
        for table, per in counting.periods.items():
            self.check_period(table, per.column)

    def _check_table(self, table: str, unit: str, columns: Sequence[str]) -> None:
        if self.view(table) is not None:
            raise InvalidInput("a view is counted through its table.", "Expand the question first.")
        known = self.table(table)
        for column in columns:
            if column not in known:
                raise InvalidInput(
                    f"the table {table} has no column {column!r} of its own.", "Name a column of the table."
                )
            self.check_column(table, column)
        if unit != ROW:
            self.check_unit(table, unit)

    def check_join(self, units: Mapping[str, str]) -> None:
        """Refuse a join of tables, each with its unit, whose units could be compared otherwise than by their texts."""
        if not self.joins_tables:
            raise Unsupported("tables cannot be joined in this data.", "Join them beforehand, into one table.")
        for table in units:
            if self.view(table) is not None:
                raise InvalidInput(f"{table!r} is a view, and is not joined.", "Join the table behind it.")
        kinds = {self.joined_kind(table, unit) for table, unit in units.items()}
        if len(kinds) == 1 and not kinds <= JOINED_KINDS:
            raise InvalidInput(
                "columns of this type name people, and are not compared.",
                "Store both as text, whole numbers, dates or UUIDs.",
            )
        if len(kinds) > 1 or ROW in units.values():
            raise InvalidInput(
                "the columns that name people are not of one kind in all joined tables.",
                "Store all as text or all as whole numbers: '007' is not 7.",
            )

    def joined_kind(self, table: str, unit: str) -> str | None:
        """Return the kind of a column that names people, as joins compare it: one of :data:`JOINED_KINDS`, or other."""
        return self.table(table).get(unit)

    def _try_to_read(self, countings: Sequence[Counting], read: Callable[[Snapshot], _Read]) -> _Read | None:
        try:
            with self.snapshot() as snapshot:
                snapshot.prepare(countings)
                counts = read(snapshot)
                return counts if snapshot.unchanged() else None
        except Exception:
            return None
