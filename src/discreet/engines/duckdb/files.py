"""Files, counted by DuckDB in this process, which reads them.

A record of CSV that cannot be read vanishes: a release must not fail because of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from typing import TYPE_CHECKING, TypeVar

from ...addresses import Address
from ...errors import InvalidInput
from ...exact.arrays import IntArray
from ...sources.engine import Files, admit, open_engine
from ...sources.files import open_files
from ..base import Counting, DiscoveredGroups, Discovering, OccupiedGroups, Snapshot, Source
from ..relations.join import one_table
from .counting import count, discover, occupied, public_tables
from .dialect import DUCKDB, DuckDbDialect
from .marks import by_marked_columns, marked_rows
from .types import guarded_reading, guarded_rows, joined_kind_of, kind_of, refuse_as_unit, refuse_unreadable

if TYPE_CHECKING:
    import duckdb

_Counted = TypeVar("_Counted", bound=Counting)


def open_counted_files(address: Address, encoding: str | None = None) -> CountedFiles:
    """Open the files behind an address; CSV in the encoding that is declared, if one is."""
    return CountedFiles(open_files(address, skip_unreadable=True, encoding=encoding))


class CountedFiles(Source):
    """Files as :func:`discreet.sources.files.open_files` opens them."""

    joins_tables = True
    expands_joined_views = True

    def __init__(self, files: Files, dataset: str | None = None) -> None:
        self._files = files
        self._dataset = files.name if dataset is None else dataset

    @property
    def dataset(self) -> str:
        return self._dataset

    @property
    def dialect(self) -> DuckDbDialect:
        return DUCKDB

    @property
    def encoding(self) -> str:
        return self._files.encoding

    def tables(self) -> list[str]:
        return self._files.tables()

    def table(self, name: str) -> Mapping[str, str]:
        return {column: kind_of(guarded_reading(stored)[1]) for column, stored in self._files.columns(name).items()}

    def view(self, name: str) -> str | None:
        return self._files.view(name)

    def check_column(self, table: str, column: str) -> None:
        if (reason := self._files.may_stop_at(table, column)) is not None:
            raise InvalidInput(f"{column!r} of {table} {reason}.", "Store it in microseconds, or as text.")
        refuse_unreadable(table, column, self._files.columns(table)[column])

    def check_unit(self, table: str, column: str) -> None:
        refuse_as_unit(column, self._files.columns(table)[column])

    def joined_kind(self, table: str, unit: str) -> str:
        return joined_kind_of(self._files.columns(table)[unit])

    def check_whole(self) -> None:
        self._files.check_whole()

    def call_table(self, name: str) -> CountedFiles:
        if self._files.named_tables or name == self._files.name:
            return self
        files = copy(self._files)
        files.name = name
        files.__dict__.pop("_schemas", None)  # which has the former name
        return CountedFiles(files, self._dataset)

    def unnamed_columns(self, table: str) -> bool:
        return self._files.columns(table) is not None and bool(self._files.shared_names)

    def last_changed(self) -> float:
        return self._files.last_changed()

    def files_of(self, table: str) -> Files:
        """Return the files that hold a table."""
        return self._files

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        before = self._files.states()
        with self._files.decoded() as files, files.engine() as engine:
            yield _OpenFiles(self, [files], lambda table: files, engine, [before])


class FilesTogether(Source):
    """Tables of the same people in several files, read by one connection.

    Parameters
    ----------
    dataset
        The name that the ledger binds.
    sources
        The files of each table, by its name.
    """

    joins_tables = True

    def __init__(self, dataset: str, sources: Mapping[str, CountedFiles]) -> None:
        self._dataset = dataset
        self._sources = dict(sources)
        databases = {source.files_of(name) for name, source in sources.items() if source.files_of(name).named_tables}
        if len(databases) > 1:
            raise InvalidInput(
                "the tables are in several DuckDB databases.", "Put them into one, or export them to Parquet."
            )

    @property
    def dataset(self) -> str:
        return self._dataset

    @property
    def dialect(self) -> DuckDbDialect:
        return DUCKDB

    def _source(self, table: str) -> CountedFiles:
        return self._sources[self.spelled(table)]

    def tables(self) -> list[str]:
        return list(self._sources)

    def table(self, name: str) -> Mapping[str, str]:
        return self._source(name).table(self.spelled(name))

    def view(self, name: str) -> str | None:
        return self._source(name).view(self.spelled(name))

    def check_column(self, table: str, column: str) -> None:
        self._source(table).check_column(table, column)

    def check_unit(self, table: str, column: str) -> None:
        self._source(table).check_unit(table, column)

    def joined_kind(self, table: str, unit: str) -> str:
        return self._source(table).joined_kind(table, unit)

    def check_whole(self) -> None:
        for source in self._sources.values():
            source.check_whole()

    def last_changed(self) -> float:
        return max(source.last_changed() for source in self._sources.values())

    @property
    def encoding(self) -> str:
        return next(iter(self._sources.values())).encoding

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        of_table = {name: source.files_of(name) for name, source in self._sources.items()}
        files = list({id(one): one for one in of_table.values()}.values())
        before = [one.states() for one in files]
        with ExitStack() as stack:
            decoded = [stack.enter_context(one.decoded()) for one in files]
            engine = stack.enter_context(open_engine(lambda engine: admit(engine, decoded)))
            places = {name: decoded[files.index(one)] for name, one in of_table.items()}
            yield _OpenFiles(self, decoded, lambda table: places[self.spelled(table)], engine, before)


class _OpenFiles(Snapshot):
    """Files with a connection that reads them; their state is one if none was replaced or written to meanwhile."""

    def __init__(
        self, source: Source, files: Sequence[Files], files_of: Callable[[str], Files],
        engine: duckdb.DuckDBPyConnection, before: Sequence[object],
    ) -> None:  # fmt: skip
        self._source = source
        self._files = files
        self._files_of = files_of
        self._engine = engine
        self._before = before

    def prepare(self, countings: Sequence[Counting]) -> None:
        for files in self._files:
            files.decode()

    def _guarded(self, rows: str, counting: Counting) -> str:
        name = self._source.spelled(counting.question.table)
        files = self._files_of(name)
        stored = files.columns(name)
        rows = guarded_rows(rows, {column: stored[column] for column in counting.columns})
        return marked_rows(rows, counting) if files.may_be_unreadable else rows

    def _counting(self, counting: _Counted) -> _Counted:
        return by_marked_columns(counting) if self._files_of(counting.question.table).may_be_unreadable else counting

    def _kinds(self, counting: Counting) -> Mapping[str, str]:
        kinds = self._source.table(self._source.spelled(counting.question.table))
        return (
            {**kinds, **dict.fromkeys(self._counting(counting).question.by, "text")}
            if self._files_of(counting.question.table).may_be_unreadable
            else kinds
        )

    def _rows(self, counting: Counting) -> str:
        name = self._source.spelled(counting.question.table)
        return self._guarded(self._files_of(name).relation(name, counting.columns), counting)

    def _no_rows(self, counting: Counting) -> str:
        name = self._source.spelled(counting.question.table)
        return self._guarded(self._files_of(name).empty(name, counting.columns), counting)

    def _one_table(
        self, counting: Counting, rows: Callable[[Counting], str]
    ) -> tuple[Counting, str, Mapping[str, str]]:
        def rows_of(one: Counting) -> tuple[Counting, str, Mapping[str, str]]:
            return self._counting(one), rows(one), self._kinds(one)

        return one_table(counting, rows_of, DUCKDB, public_tables(self._engine))

    def rehearse(self, counting: Counting) -> None:
        whole = self._one_table(counting, self._rows)[1]
        self._engine.execute(f"DESCRIBE SELECT * FROM {whole}").fetchall()
        if isinstance(counting, Discovering):
            discover(self._engine, self._counting(counting), self._no_rows(counting), self._kinds(counting))
        else:
            counted = occupied if counting.sparse else count
            counted(self._engine, *self._one_table(counting, self._no_rows))

    def count(self, counting: Counting) -> IntArray:
        return count(self._engine, *self._one_table(counting, self._rows))

    def occupied(self, counting: Counting) -> OccupiedGroups:
        return occupied(self._engine, *self._one_table(counting, self._rows))

    def discover(self, counting: Discovering) -> DiscoveredGroups:
        return discover(self._engine, self._counting(counting), self._rows(counting), self._kinds(counting))

    def unchanged(self) -> bool:
        return [files.states() for files in self._files] == self._before
