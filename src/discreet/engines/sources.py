"""Tables to count from, behind a small interface; here those in files, counted in process by DuckDB.

A source knows the names and kinds of its columns without reading a row, and counts. It fails because of the request
(a file, a table or a column that is not there), never because of rows: a record that cannot be read vanishes. Whatever
the engine says when it stops is withheld.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

from ..errors import InvalidInput, SourceFailed, WrongType
from ..sources.files import Files, open_files
from .counting import ROW, Counting, IntArray, count

__all__ = ["Counting", "Source", "open_source"]


class Source(Protocol):
    """A table, or several, that can be counted."""

    @property
    def dataset(self) -> str:
        """What a ledger binds: the stem of the file, the folder or the pattern."""

    def tables(self) -> list[str]:
        """The names of the tables and views."""

    def spelled(self, name: str) -> str:
        """The table's own spelling of its name."""

    def table(self, name: str) -> Mapping[str, str]:
        """The columns of a table or view and the kind of each; no row is read."""

    def view(self, name: str) -> str | None:
        """The definition of a view, to be judged and replaced by its table; None for a table."""

    def check_unit(self, table: str, column: str) -> None:
        """Refuse a column that cannot name people: two people must never have one text, nor one person two."""

    def rehearse(self, countings: Sequence[Counting]) -> None:
        """Find out whatever can go wrong before a row is read, and raise it in full words.

        Files are opened, compressed ones looked through for damage, and each counting is done by the same code on an
        empty table of the same columns.
        """

    def count(self, countings: Sequence[Counting]) -> list[IntArray]:
        """The true counts of each counting, shape (groups, counts), all from one state of the data."""


def open_source(data: object) -> Source:
    """Open the data behind a path; a source passes as it is.

    ``.csv`` or ``.tsv`` (also ``.gz``, ``.zst``); ``.parquet``: a file, a folder of such files, or a pattern like
    ``visits_*.parquet``; ``.duckdb`` or ``.db``.

    >>> open_source("visits.xlsx")
    Traceback (most recent call last):
    discreet.errors.UnreadableFile: cannot read visits.xlsx: there is no such file.
    """
    if isinstance(data, str | Path):
        return _CountedFiles(open_files(data, skip_unreadable=True))
    _refuse_in_memory(data)
    return cast(Source, data)


def _refuse_in_memory(data: object) -> None:
    """Refuse a table that is in memory: a release is bound to a file, by the name that its ledger has.

    >>> _refuse_in_memory([1, 2])
    Traceback (most recent call last):
    discreet.errors.WrongType: data must be a file; got a list. Save it as .csv or .parquet, and give data='people.csv'.
    """
    if hasattr(data, "rehearse"):
        return
    saved = next((line for method, line in _SAVED.items() if hasattr(data, method)), None)
    advice = "Save it as .csv or .parquet, and give data='people.csv'."
    if saved is not None:
        advice = f"Save it, and give that file: {saved}"
    raise WrongType(f"data must be a file; got a {type(data).__name__}. {advice}")


#: How tables in memory are saved, by a method that tells them apart: polars (all of it at once, or as a query), pandas,
#: Arrow.
_SAVED = {
    "sink_parquet": "df.sink_parquet('people.parquet')",
    "write_parquet": "df.write_parquet('people.parquet')",
    "to_csv": "df.to_csv('people.csv', index=False)",
    "to_pandas": "pyarrow.parquet.write_table(table, 'people.parquet')",
}


class _CountedFiles:
    """Files, counted by the engine that reads them."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def __repr__(self) -> str:
        return repr(self._files)

    @property
    def dataset(self) -> str:
        return self._files.name

    def tables(self) -> list[str]:
        return self._files.tables()

    def spelled(self, name: str) -> str:
        return self._files.spelled(name)

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

    def rehearse(self, countings: Sequence[Counting]) -> None:
        for counting in countings:
            self._judge(counting)
        self._files.check_whole()
        try:
            with self._files.engine() as engine:
                for counting in countings:
                    name = self.spelled(counting.question.table)
                    engine.execute(f"DESCRIBE SELECT * FROM {self._files.relation(name, counting.columns)}").fetchall()
                    count(engine, counting, self._files.empty(name, counting.columns), self.table(name))
        except Exception as problem:  # no row has been read, so that its words can be passed on
            raise SourceFailed(
                f"{self.dataset} cannot be counted here, and nothing was spent: {type(problem).__name__}: {problem}"
            ) from problem

    def count(self, countings: Sequence[Counting]) -> list[IntArray]:
        for counting in countings:
            self._judge(counting)
        counts = self._try_to_count(countings)
        if counts is None:  # raised here, where neither the engine's words nor a count is in reach
            raise SourceFailed(
                f"the data {self.dataset} could not be read to its end. What the engine said is withheld, because it "
                "could quote a row. Check the file with the engine's own tools, where only you see it."
            )
        return counts

    def _judge(self, counting: Counting) -> None:
        if self.view(counting.question.table) is not None:
            raise InvalidInput("a view is counted through its table; expand the question first.")
        known = self.table(counting.question.table)
        for column in counting.columns:
            if column not in known:
                raise InvalidInput(f"the table {counting.question.table} has no column {column!r} of its own.")
        if counting.unit != ROW:
            self.check_unit(counting.question.table, counting.unit)

    def _try_to_count(self, countings: Sequence[Counting]) -> list[IntArray] | None:
        try:
            before = self._files.states()
            with self._files.engine() as engine:
                counts = []
                for counting in countings:
                    name = self.spelled(counting.question.table)
                    rows = self._files.relation(name, counting.columns)
                    counts.append(count(engine, counting, rows, self.table(name)))
            return counts if self._files.states() == before else None
        except Exception:
            return None


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
