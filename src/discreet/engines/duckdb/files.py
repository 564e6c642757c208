"""Files, counted by DuckDB in this process, which reads them.

A record of CSV that cannot be read vanishes: a release must not fail because of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...addresses import Address
from ...exact.arrays import IntArray
from ...sources.files import Files, open_files
from ..base import Counting, Discovering, Found, Snapshot, Source
from .counting import count, discover
from .dialect import DUCKDB, DuckDbDialect
from .types import kind_of, refuse_as_unit

if TYPE_CHECKING:
    import duckdb


def open_counted_files(address: Address) -> CountedFiles:
    """The files behind an address."""
    return CountedFiles(open_files(address, skip_unreadable=True))


class CountedFiles(Source):
    """Files as :func:`discreet.sources.files.open_files` opens them."""

    def __init__(self, files: Files) -> None:
        self._files = files

    @property
    def dataset(self) -> str:
        return self._files.name

    @property
    def dialect(self) -> DuckDbDialect:
        return DUCKDB

    def tables(self) -> list[str]:
        return self._files.tables()

    def table(self, name: str) -> Mapping[str, str]:
        return {column: kind_of(stored) for column, stored in self._files.columns(name).items()}

    def view(self, name: str) -> str | None:
        return self._files.view(name)

    def check_unit(self, table: str, column: str) -> None:
        refuse_as_unit(column, self._files.columns(table)[column])

    def check_whole(self) -> None:
        self._files.check_whole()

    def last_changed(self) -> float:
        return self._files.last_changed()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        before = self._files.states()
        with self._files.engine() as engine:
            yield _OpenFiles(self, self._files, engine, before)


class _OpenFiles(Snapshot):
    """Files with a connection that reads them; they are in one state if none was replaced or written to meanwhile."""

    def __init__(self, source: Source, files: Files, engine: duckdb.DuckDBPyConnection, before: object) -> None:
        self._source = source
        self._files = files
        self._engine = engine
        self._before = before

    def rehearse(self, counting: Counting) -> None:
        name = self._source.spelled(counting.question.table)
        rows = self._files.relation(name, counting.columns)
        self._engine.execute(f"DESCRIBE SELECT * FROM {rows}").fetchall()
        nobody, kinds = self._files.empty(name, counting.columns), self._source.table(name)
        if isinstance(counting, Discovering):
            discover(self._engine, counting, nobody, kinds)
        else:
            count(self._engine, counting, nobody, kinds)

    def count(self, counting: Counting) -> IntArray:
        name = self._source.spelled(counting.question.table)
        rows = self._files.relation(name, counting.columns)
        return count(self._engine, counting, rows, self._source.table(name))

    def discover(self, counting: Discovering) -> Found:
        name = self._source.spelled(counting.question.table)
        rows = self._files.relation(name, counting.columns)
        return discover(self._engine, counting, rows, self._source.table(name))

    def unchanged(self) -> bool:
        return self._files.states() == self._before
