"""Files, counted by DuckDB in this process, which reads them.

A record of CSV that cannot be read vanishes: a release must not fail because of rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...addresses import Address
from ...errors import InvalidInput
from ...exact.arrays import IntArray
from ...sources.files import Files, open_files
from ..base import Counting, Snapshot, Source
from .counting import count
from .dialect import DUCKDB, DuckDbDialect

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
        return {column: _kind(stored) for column, stored in self._files.columns(name).items()}

    def view(self, name: str) -> str | None:
        return self._files.view(name)

    def check_unit(self, table: str, column: str) -> None:
        stored = self._files.columns(table)[column]
        if not _NAMES_PEOPLE.fullmatch(stored.upper()):
            raise InvalidInput(
                f"{column!r} is stored as {stored} and cannot name people: two values may have one text, or one value "
                "two. Store it as text or whole numbers (of a pandas column of numbers: .astype('Int64'))."
            )

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
        count(self._engine, counting, self._files.empty(name, counting.columns), self._source.table(name))

    def count(self, counting: Counting) -> IntArray:
        name = self._source.spelled(counting.question.table)
        rows = self._files.relation(name, counting.columns)
        return count(self._engine, counting, rows, self._source.table(name))

    def unchanged(self) -> bool:
        return self._files.states() == self._before


#: The types whose text tells any two values apart and is the same whenever the values are: not floats (0.0 and -0.0,
#: NaN), not moments with a time zone (written in the reader's zone), nothing nested, no UNION or VARIANT.
_NAMES_PEOPLE = re.compile(
    r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|VARCHAR|BOOLEAN|DATE|TIMESTAMP(_S|_MS|_NS)?|UUID"
    r"|DECIMAL\([0-9, ]+\)|ENUM\(.*\)",
    re.DOTALL,
)


def _kind(stored: str) -> str:
    """What a column of a DuckDB type is, as far as reading it matters (one of ``expressions.KINDS``)."""
    stored = stored.upper()
    if stored in _KINDS:
        return _KINDS[stored]
    return "number" if stored.startswith("DECIMAL") and stored.endswith(")") else "other"


_KINDS = {
    **dict.fromkeys(
        ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
        "integer",
    ),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "number"),
    "TIMESTAMP": "timestamp",  # coarser and finer ones are read through their text: the engine rounds when it casts
    "VARCHAR": "text",
    "BOOLEAN": "boolean",
    "DATE": "date",
}
