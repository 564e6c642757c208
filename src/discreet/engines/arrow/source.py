"""A table in memory, copied once into a DuckDB of our own and counted there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import InvalidInput, SourceFailed
from ...exact.arrays import IntArray
from ...sources.engine import open_engine
from ...sources.sql import quoted
from ..base import Counting, DiscoveredGroups, Discovering, OccupiedGroups, Snapshot, Source
from ..duckdb.counting import count, discover, occupied, public_tables
from ..duckdb.dialect import DUCKDB, DuckDbDialect
from ..duckdb.types import guarded_reading, joined_kind_of, kind_of, refuse_as_unit
from ..relations.join import one_table
from .tables import TableInMemory

if TYPE_CHECKING:
    import duckdb


def open_table(table: TableInMemory, dataset: str) -> CountedTable:
    """Return the table under its ledger's name. Only the names and types of its columns are read."""
    return CountedTable(table, dataset)


@dataclass(frozen=True)
class _Column:
    """One column, judged by its type.

    Attributes
    ----------
    place
        Position of the column in the table.
    stored
        DuckDB's type of the copy.
    read
        SQL that reads the column off the stream, where it is called ``{0}``; None if it has no values.
    refusal
        Why it cannot be counted, and a remedy; None if it can.
    note
        A note for people about how it is read.
    hides_missing
        Whether its type has no missing values, so that something else, such as NaN, stands for them.
    """

    place: int
    stored: str
    read: str | None
    refusal: tuple[str, str] | None = None
    note: str | None = None
    hides_missing: bool = False


class CountedTable(Source):
    """A table of pandas, polars or pyarrow, which is called as its data set is.

    The rows are read once, when they are counted: all counts of a release come from one copy of the columns it reads. A
    plan and a rehearsal read types alone.
    """

    has_own_name = False

    def __init__(self, table: TableInMemory, dataset: str) -> None:
        self._memory = table
        self._dataset = dataset
        self._columns = _judged(table)

    @property
    def dataset(self) -> str:
        return self._dataset

    @property
    def dialect(self) -> DuckDbDialect:
        return DUCKDB

    def tables(self) -> list[str]:
        return [self._dataset]

    def table(self, name: str) -> Mapping[str, str]:
        self.spelled(name)
        return {column: kind_of(one.stored) for column, one in self._columns.items()}

    def view(self, name: str) -> str | None:
        self.spelled(name)
        return None

    def check_unit(self, table: str, column: str) -> None:
        self.check_column(table, column)
        refuse_as_unit(column, self._columns[column].stored)

    def joined_kind(self, table: str, unit: str) -> str:
        return joined_kind_of(self._columns[unit].stored)

    def check_column(self, table: str, column: str) -> None:
        refusal = self._columns[column].refusal
        if refusal is not None:
            what, instead = refusal
            raise InvalidInput(f"{column!r} of {table} {what}", instead)

    def column_notes(self, table: str, columns: Sequence[str]) -> list[str]:
        return [note for column in columns if (note := self._columns[column].note) is not None]

    def refuse_missing(self, table: str, column: str) -> None:
        if self._columns[column].hides_missing:
            raise InvalidInput(
                f"no value of {column!r} is missing: it is a float column of pandas, where NaN is a number and NULL "
                "would count nobody.",
                f"Give types that know missing values: frame = frame.astype({{{column!r}: 'Float64'}}).",
                argument="domain",
            )

    def check_whole(self) -> None:
        """Do nothing: a table in memory is whole."""

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        self.refuse_altered()
        with open_engine() as engine:
            yield _Copy(lambda table: self, engine)

    def refuse_altered(self) -> None:
        """Refuse a table whose columns are not those that were planned for."""
        if _judged(self._memory) != self._columns:
            raise SourceFailed(f"the columns of {self._dataset} were altered after it was planned for.", "Ask again.")

    def copy(self, engine: duckdb.DuckDBPyConnection, name: str, columns: Sequence[str], *, empty: bool) -> None:
        """Copy these columns into a table of an engine: all rows, or none of them."""
        columns_to_copy = {column: self._columns[column] for column in columns}
        places = [one.place for one in columns_to_copy.values() if one.read is not None]
        reads = [
            f"{'CAST(NULL AS VARCHAR)' if one.read is None else one.read.format(f'c{places.index(one.place)}')} "
            f"AS {quoted(column)}"
            for column, one in columns_to_copy.items()
        ]
        rows = f"range({0 if empty else self._memory.size()})"
        if places:
            rows = "given"
            engine.register(rows, self._memory.stream(places, empty=empty))
        engine.execute(f"CREATE TABLE {name} AS SELECT {', '.join(reads) or '0'} FROM {rows}")
        if places:
            engine.unregister(rows)


class TablesTogether(Source):
    """Tables in memory of the same people, each by its name, copied into one engine.

    Parameters
    ----------
    dataset
        The name that the ledger binds.
    sources
        The tables, by name.
    """

    has_own_name = False
    joins_tables = True

    def __init__(self, dataset: str, sources: Mapping[str, CountedTable]) -> None:
        self._dataset = dataset
        self._sources = dict(sources)

    @property
    def dataset(self) -> str:
        return self._dataset

    @property
    def dialect(self) -> DuckDbDialect:
        return DUCKDB

    def tables(self) -> list[str]:
        return list(self._sources)

    def table_source(self, name: str) -> CountedTable:
        """Return one table."""
        return self._sources[self.spelled(name)]

    def table(self, name: str) -> Mapping[str, str]:
        return self.table_source(name).table(self.spelled(name))

    def view(self, name: str) -> str | None:
        self.spelled(name)
        return None

    def check_unit(self, table: str, column: str) -> None:
        self.table_source(table).check_unit(table, column)

    def joined_kind(self, table: str, unit: str) -> str:
        return self.table_source(table).joined_kind(table, unit)

    def check_column(self, table: str, column: str) -> None:
        self.table_source(table).check_column(table, column)

    def column_notes(self, table: str, columns: Sequence[str]) -> list[str]:
        return self.table_source(table).column_notes(table, columns)

    def refuse_missing(self, table: str, column: str) -> None:
        self.table_source(table).refuse_missing(table, column)

    def check_whole(self) -> None:
        """Do nothing: tables in memory are whole."""

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        for source in self._sources.values():
            source.refuse_altered()
        with open_engine() as engine:
            yield _Copy(self.table_source, engine)


class _Copy(Snapshot):
    """A connection with a copy of the counted columns of each table, dropped when the connection is closed."""

    def __init__(self, source_of: Callable[[str], CountedTable], engine: duckdb.DuckDBPyConnection) -> None:
        self._source_of = source_of
        self._engine = engine
        #: The tables that were copied, by name -> the name of the copy.
        self._copies: dict[str, str] = {}

    def prepare(self, countings: Sequence[Counting]) -> None:
        columns: dict[str, set[str]] = {}
        for counting in countings:
            for table in counting.units:
                columns.setdefault(table, set()).update(
                    counting.question.stored_of(table) | counting.unit_columns(table)
                )
        for number, (table, names) in enumerate(columns.items()):
            self._copies[table] = f"held{number}"
            self._source_of(table).copy(self._engine, f"held{number}", sorted(names), empty=False)

    def _kinds(self, counting: Counting) -> Mapping[str, str]:
        return self._source_of(counting.question.table).table(counting.question.table)

    def _rows_of(self, counting: Counting) -> tuple[Counting, str, Mapping[str, str]]:
        return counting, self._copies[counting.question.table], self._kinds(counting)

    def rehearse(self, counting: Counting) -> None:
        names: list[str] = []

        def no_rows(one: Counting) -> tuple[Counting, str, Mapping[str, str]]:
            names.append(f"rehearsed{len(names)}")
            self._source_of(one.question.table).copy(self._engine, names[-1], one.columns, empty=True)
            return one, names[-1], self._kinds(one)

        if isinstance(counting, Discovering):
            discover(self._engine, *no_rows(counting))  # type: ignore[arg-type]
        else:
            counted = occupied if counting.sparse else count
            counted(self._engine, *one_table(counting, no_rows, DUCKDB, public_tables(self._engine)))
        for name in names:
            self._engine.execute(f"DROP TABLE {name}")

    def count(self, counting: Counting) -> IntArray:
        return count(self._engine, *one_table(counting, self._rows_of, DUCKDB, public_tables(self._engine)))

    def occupied(self, counting: Counting) -> OccupiedGroups:
        return occupied(self._engine, *one_table(counting, self._rows_of, DUCKDB, public_tables(self._engine)))

    def discover(self, counting: Discovering) -> DiscoveredGroups:
        return discover(self._engine, counting, self._copies[counting.question.table], self._kinds(counting))

    def unchanged(self) -> bool:
        return True  # a copy is


# ------------------------------------------------------------------------------------------------ judging columns

_INSTEAD = "Convert it to text, numbers, dates or moments in microseconds."


def _judged(table: TableInMemory) -> dict[str, _Column]:
    """Return the columns by name. A type that is not known to be safe is refused when a question reads the column."""
    names, kinds = _own_names(table.names()), table.types()
    safe = [place for place, kind in enumerate(kinds) if table.is_countable(kind) and not table.is_null(kind)]
    stored = _stored_types(table, safe)
    columns = {
        name: _Column(-1, "", None, ("is the index, which is not read.", "Make it a column: df.reset_index()."))
        for name in table.index_names()
    }
    for place, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        if place in stored:
            read, copied = guarded_reading(stored[place])
            columns[name] = _Column(
                place, copied, read, note=table.note(name, kind), hides_missing=table.hides_missing(kind)
            )
        elif table.is_null(kind):
            columns[name] = _Column(place, "VARCHAR", None)
        else:
            columns[name] = _Column(place, "", None, _refusal(name, kind))
    return columns


def _own_names(names: Sequence[Any]) -> list[str]:
    for name in names:
        if not isinstance(name, str) or not name or "\0" in name:
            raise InvalidInput(
                f"the columns of a table need names that are texts; got {name!r:.60}.",
                "Rename them: df.columns = ['person', 'site'].",
            )
    times = Counter(name.casefold() for name in names)
    shared_names = [name for name in names if times[name.casefold()] > 1]
    if shared_names:
        raise InvalidInput(
            f"several columns are called {shared_names[0]!r}(ignoring case), so that a question could mean either.",
            "Rename or drop all but one.",
        )
    return list(names)


def _refusal(name: str, kind: Any) -> tuple[str, str]:
    if str(kind) == "object":
        return (
            "is an object column, which can hold values of any kind.",
            f"Say which kind they are: df.astype({{{name!r}: 'string'}}).",
        )
    return f"is of the type {_short(kind)}, which is not counted here.", _INSTEAD


def _short(kind: Any) -> str:
    """Return a type without its parameters: categories and fields can be values of people."""
    text = str(kind)
    end = next((place for place, letter in enumerate(text) if not (letter.isalnum() or letter in "_.")), len(text))
    return text[:end] or text


def _stored_types(table: TableInMemory, places: Sequence[int]) -> dict[int, str]:
    """Return DuckDB's types of some columns, from a stream without rows; columns that it cannot read are left out."""
    if not places:
        return {}
    try:
        with open_engine() as engine:
            engine.register("given", table.stream(places, empty=True))
            rows = engine.execute("DESCRIBE SELECT * FROM given").fetchall()
    except Exception:
        if len(places) == 1:
            return {}
        return {place: kind for one in places for place, kind in _stored_types(table, [one]).items()}
    return {place: row[1] for place, row in zip(places, rows, strict=True)}
