"""Files, counted by DuckDB in this process, which reads them.

A record of CSV that cannot be read vanishes: a release must not fail because of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, TypeVar

from ...addresses import Address
from ...errors import InvalidInput
from ...exact.arrays import IntArray
from ...sources.engine import Files
from ...sources.files import open_files
from ..base import Counting, DiscoveredGroups, Discovering, Snapshot, Source
from .counting import count, discover
from .dialect import DUCKDB, DuckDbDialect
from .marks import by_marked_columns, marked_rows
from .types import guarded_reading, guarded_rows, kind_of, refuse_as_unit, refuse_unreadable

if TYPE_CHECKING:
    import duckdb

_Counted = TypeVar("_Counted", bound=Counting)


def open_counted_files(address: Address, encoding: str | None = None) -> CountedFiles:
    """Open the files behind an address; CSV in the encoding that is declared, if one is."""
    return CountedFiles(open_files(address, skip_unreadable=True, encoding=encoding))


class CountedFiles(Source):
    """Files as :func:`discreet.sources.files.open_files` opens them."""

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

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        before = self._files.states()
        with self._files.decoded() as files, files.engine() as engine:
            yield _OpenFiles(self, files, engine, before)


class _OpenFiles(Snapshot):
    """Files with a connection that reads them; their state is one if none was replaced or written to meanwhile."""

    def __init__(self, source: Source, files: Files, engine: duckdb.DuckDBPyConnection, before: object) -> None:
        self._source = source
        self._files = files
        self._engine = engine
        self._before = before

    def prepare(self, countings: Sequence[Counting]) -> None:
        self._files.decode()

    def _guarded(self, rows: str, counting: Counting) -> str:
        stored = self._files.columns(self._source.spelled(counting.question.table))
        rows = guarded_rows(rows, {column: stored[column] for column in counting.columns})
        return marked_rows(rows, counting) if self._files.may_be_unreadable else rows

    def _counting(self, counting: _Counted) -> _Counted:
        return by_marked_columns(counting) if self._files.may_be_unreadable else counting

    def _kinds(self, counting: Counting) -> Mapping[str, str]:
        kinds = self._source.table(self._source.spelled(counting.question.table))
        return (
            {**kinds, **dict.fromkeys(self._counting(counting).question.by, "text")}
            if self._files.may_be_unreadable
            else kinds
        )

    def _rows(self, counting: Counting) -> str:
        name = self._source.spelled(counting.question.table)
        return self._guarded(self._files.relation(name, counting.columns), counting)

    def rehearse(self, counting: Counting) -> None:
        self._engine.execute(f"DESCRIBE SELECT * FROM {self._rows(counting)}").fetchall()
        name = self._source.spelled(counting.question.table)
        nobody = self._guarded(self._files.empty(name, counting.columns), counting)
        if isinstance(counting, Discovering):
            discover(self._engine, self._counting(counting), nobody, self._kinds(counting))
        else:
            count(self._engine, self._counting(counting), nobody, self._kinds(counting))

    def count(self, counting: Counting) -> IntArray:
        return count(self._engine, self._counting(counting), self._rows(counting), self._kinds(counting))

    def discover(self, counting: Discovering) -> DiscoveredGroups:
        return discover(self._engine, self._counting(counting), self._rows(counting), self._kinds(counting))

    def unchanged(self) -> bool:
        return self._files.states() == self._before
