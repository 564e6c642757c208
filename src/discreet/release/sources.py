"""Tables to count from: CSV and Parquet files and DuckDB databases, read in process by DuckDB.

A source knows the names and kinds of its columns without reading a row, and counts. It fails because of the request
(a file, a table or a column that is not there), never because of rows:

- CSV is read by a fixed dialect (comma, or tab for ``.tsv``; quotes doubled inside quotes; UTF-8; a heading line),
  since guessing a dialect reads rows. Every column is text and an empty field is NULL. A record with fewer fields than
  the heading, a record longer than two million bytes, and a record where a field that is read is not UTF-8 vanish;
  fields beyond the heading's are ignored. A blank line is no record (in a file of one column it is a record with
  NULL). A field that begins with a quote ends at the next single quote, however far that is.
- In Parquet, bytes that are no UTF-8 are read as question marks.
- Rows are read as they are stored: a computed column of a DuckDB table is not offered, since computing it can fail.

Whatever the engine says when it stops is withheld: it quotes rows. It writes nothing to disk, loads no extensions and
opens nothing but the files it was given.
"""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from ..errors import InvalidInput, SourceFailed, UnreadableFile
from .counting import Counting, IntArray, count
from .expressions import quoted, text_literal

__all__ = ["Counting", "Source", "dataset_name", "open_source"]


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

    def count(self, countings: Sequence[Counting]) -> list[IntArray]:
        """The true counts of each counting, shape (groups, counts), all from one state of the data."""


def dataset_name(data: str | Path) -> str:
    """The name of a table's file: its stem, without what tells the format.

    >>> dataset_name("data/doctor_visits.csv.gz"), dataset_name("visits/"), dataset_name("visits-2024-*.parquet")
    ('doctor_visits', 'visits', 'visits-2024')
    """
    path = Path(data)
    if glob.has_magic(path.name) and not path.exists():
        name = path.name
        for mark in "*?[":
            name = name.split(mark)[0]
        name = name.rstrip("-_. ")
        return name or dataset_name(Path(*path.parts[:-1]).resolve())
    name = path.name or path.resolve().name
    for ending in (*_COMPRESSED, *_FORMATS):
        if name.lower().endswith(ending) and len(name) > len(ending):
            name = name[: -len(ending)]
    return name


def columns_of(data: str | Path) -> set[str] | None:
    """The names of all columns of all tables of a file, or None if there is no such file."""
    if not Path(data).exists() and not any(sign in str(data) for sign in "*?["):
        return None
    source = open_source(data)
    return {column for table in source.tables() for column in source.table(table)}


def open_source(data: str | Path) -> Source:
    """Open the data behind a path.

    ``.csv`` or ``.tsv`` (also ``.gz``, ``.zst``); ``.parquet``: a file, a folder of such files, or a pattern like
    ``visits_*.parquet``; ``.duckdb`` or ``.db``.

    >>> open_source("visits.xlsx")
    Traceback (most recent call last):
    discreet.errors.UnreadableFile: cannot read visits.xlsx: there is no such file.
    """
    path = Path(data)
    if path.is_dir():
        return _Parquet(dataset_name(path), _existing(path, sorted(path.rglob("*.parquet"))))
    if not path.exists() and glob.has_magic(str(path)):
        found = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
        return _Parquet(dataset_name(path), _existing(path, [name for name in found if _format(name) == ".parquet"]))
    if not path.is_file():
        raise UnreadableFile(f"cannot read {path}: there is no such file.")
    ending = _format(path)
    if ending is None:
        raise UnreadableFile(
            f"cannot read {path}: its name must end in {', '.join(_FORMATS)} (.csv and .tsv also .gz, .zst)."
        )
    return _FORMATS[ending](dataset_name(path), [path])


def _format(path: Path) -> str | None:
    name = path.name.lower()
    for packed in _COMPRESSED:
        if name.endswith(packed):
            name = name.removesuffix(packed)
            return next((ending for ending in (".csv", ".tsv") if name.endswith(ending)), None)
    return next((ending for ending in _FORMATS if name.endswith(ending)), None)


def _existing(path: Path, found: list[Path]) -> list[Path]:
    if not found:
        raise UnreadableFile(f"cannot read {path}: there is no file in it whose name ends in .parquet.")
    return found


# ------------------------------------------------------------------------------------------------ in common


class _Embedded(ABC):
    """Files that DuckDB reads in this process."""

    def __init__(self, dataset: str, files: Sequence[Path]) -> None:
        self.dataset = dataset
        self.files = [file.resolve() for file in files]
        self._schemas: dict[str, Mapping[str, str]] | None = None

    def __repr__(self) -> str:
        return f"<the data {self.dataset}>"

    @abstractmethod
    def _read_schemas(self) -> dict[str, Mapping[str, str]]:
        """Each table's columns and their kinds, without those whose name is not theirs alone."""

    @abstractmethod
    def _relation(self, table: str, columns: Sequence[str]) -> str:
        """SQL that stands after FROM and has these columns under their own names."""

    def tables(self) -> list[str]:
        return list(self._schema)

    def table(self, name: str) -> Mapping[str, str]:
        return self._schema[self.spelled(name)]

    def view(self, name: str) -> str | None:
        self.spelled(name)
        return None

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

    def _try_to_count(self, countings: Sequence[Counting]) -> list[IntArray] | None:
        try:
            before = self._states()
            with self._engine() as engine:
                counts = []
                for counting in countings:
                    name = self.spelled(counting.question.table)
                    counts.append(count(engine, counting, self._relation(name, counting.columns), self._schema[name]))
            return counts if self._states() == before else None
        except Exception:
            return None

    def _states(self) -> list[tuple[int, int, int]]:
        """What tells that a file was replaced or written to while it was read."""
        return [(state.st_ino, state.st_size, state.st_mtime_ns) for state in (file.stat() for file in self.files)]

    @property
    def _schema(self) -> dict[str, Mapping[str, str]]:
        if self._schemas is None:
            self._schemas = self._read_schemas()
        return self._schemas

    def spelled(self, name: str) -> str:
        """The table of that name: exactly, or the only one that differs in case."""
        if name in self._schema:
            return name
        alike = [table for table in self._schema if table.casefold() == name.casefold()]
        if len(alike) == 1:
            return alike[0]
        shown = ", ".join(sorted(self._schema)[:20]) or "none"
        raise InvalidInput(f"there is no table {name!r} in {self.dataset}; ask of one of: {shown}.")

    @contextmanager
    def _engine(self) -> Iterator[Any]:
        """A connection that can read these files, write nowhere and load nothing."""
        import duckdb

        engine = duckdb.connect(":memory:", config=_SETTINGS)
        try:
            self._admit(engine)
            engine.execute("SET enable_progress_bar = false")  # it would print beside our own output
            engine.execute("SET enable_external_access = false")
            engine.execute("SET lock_configuration = true")
            yield engine
        finally:
            engine.close()

    def _admit(self, engine: Any) -> None:
        """Open the files, before everything outside is closed."""
        names = dict.fromkeys(name for file in self.files for name in (str(file), glob.escape(str(file))))
        engine.execute(f"SET allowed_paths = [{', '.join(map(text_literal, names))}]")

    def _schema_rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The answer to a question about the schema; the engine's words are not passed on here either."""
        try:
            with self._engine() as engine:
                return list(engine.execute(sql).fetchall())
        except Exception:
            pass
        raise UnreadableFile(
            f"cannot read {self.dataset}: the engine does not take it for what its name says, or it is in use."
        )


#: No spilling to disk (rows would be in a file), no extensions, no variables of the calling program as tables.
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "temp_directory": "",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "preserve_insertion_order": "false",
    "enable_external_file_cache": "false",
    "allow_persistent_secrets": "false",
    "memory_limit": "50%",
}


def _own(columns: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The columns whose name no other has, in whatever case: the engine could not tell the others apart."""
    times = Counter(name.casefold() for name, _ in columns)
    return {name: kind for name, kind in columns if times[name.casefold()] == 1 and name and "\0" not in name}


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


# ------------------------------------------------------------------------------------------------ the formats


class _Csv(_Embedded):
    """A CSV file: columns are known by place, so that no name of the heading can disturb the reading."""

    delimiter = ","

    def _read_schemas(self) -> dict[str, Mapping[str, str]]:
        return {self.dataset: _own([(name, "text") for name in self._heading()])}

    def _heading(self) -> list[str]:
        file = self.files[0]
        names: list[str] | None = None
        try:
            if file.name.lower().endswith(".zst"):
                names = self._first_record_of_zst()
            else:
                opener = gzip.open if file.name.lower().endswith(".gz") else open
                # more than the heading is decoded, and what follows it may be no text
                with opener(file, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as lines:
                    names = next(csv.reader(lines, delimiter=self.delimiter), None)
        except (OSError, EOFError, ValueError, csv.Error):
            pass  # their words could quote what follows the heading
        if not names or any("\ud800" <= letter <= "\udfff" for name in names for letter in name):
            raise UnreadableFile(
                f"cannot read {file.name}: it must begin with a heading line of column names, in UTF-8."
            )
        return names

    def _first_record_of_zst(self) -> list[str] | None:
        """The heading of a file that Python's own library cannot unpack; it must be one line."""
        lines = _csv_call(self.files[0], 1, "\x1f", quote="", header=False)
        found = self._schema_rows(f"SELECT c0 FROM {lines} LIMIT 1")
        if not found or found[0][0] is None:
            return None
        text = str(found[0][0]).removeprefix(codecs.BOM_UTF8.decode())
        return next(csv.reader([text], delimiter=self.delimiter), None)

    def _relation(self, table: str, columns: Sequence[str]) -> str:
        heading = self._heading()
        places = ", ".join(f"c{heading.index(column)} AS {quoted(column)}" for column in columns) or "c0"
        return f"(SELECT {places} FROM {_csv_call(self.files[0], len(heading), self.delimiter)}) AS csv"


class _Tsv(_Csv):
    delimiter = "\t"


def _csv_call(file: Path, fields: int, delimiter: str, quote: str = '"', header: bool = True) -> str:
    """Reading a file by a fixed dialect, with nothing left to guess; a record that cannot be read vanishes.

    Two settings keep one person's row from deciding about others' rows. In strict mode a stray quote makes the records
    after it vanish. Read in parallel, a block that begins inside quotes is misread, and its records vanish.
    """
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(fields))
    packed = {".gz": "gzip", ".zst": "zstd"}.get(file.suffix.lower(), "none")
    return (
        f"read_csv({text_literal(glob.escape(str(file)))}, columns = {{{columns}}}, delim = {text_literal(delimiter)}, "
        f"quote = {text_literal(quote)}, escape = {text_literal(quote)}, header = {str(header).lower()}, "
        f"compression = '{packed}', auto_detect = false, "
        "ignore_errors = true, strict_mode = false, parallel = false, null_padding = false, "
        "encoding = 'utf-8', comment = '')"
    )


class _Parquet(_Embedded):
    """One Parquet file or several of the same columns."""

    def _read_schemas(self) -> dict[str, Mapping[str, str]]:
        first, *others = self.files
        described = self._describe(first)
        for other in others:
            if self._describe(other) != described:
                raise UnreadableFile(
                    f"the files of {self.dataset} must have the same columns of the same types in the same order; "
                    f"{other.name} differs from {first.name}."
                )
        return {self.dataset: _own([(name, _kind(stored)) for name, stored in described])}

    def _describe(self, file: Path) -> list[tuple[str, str]]:
        return [(row[0], row[1]) for row in self._schema_rows(f"DESCRIBE SELECT * FROM {_parquet_call([file])}")]

    def _relation(self, table: str, columns: Sequence[str]) -> str:
        return _parquet_call(self.files)


def _parquet_call(files: Sequence[Path]) -> str:
    listed = ", ".join(text_literal(glob.escape(str(file))) for file in files)
    return f"read_parquet([{listed}], hive_partitioning = false, union_by_name = false, utf8_validation = 'replace')"


class _Database(_Embedded):
    """A DuckDB database, opened for reading only; the tables and views of its schema ``main``."""

    def _admit(self, engine: Any) -> None:
        engine.execute(f"ATTACH {text_literal(str(self.files[0]))} AS data (READ_ONLY, TYPE duckdb)")

    def _read_schemas(self) -> dict[str, Mapping[str, str]]:
        tables: dict[str, list[tuple[str, str]]] = {}
        for table, column, stored, computed in self._schema_rows(
            "SELECT table_name, column_name, data_type, is_generated FROM duckdb_columns() "
            "WHERE database_name = 'data' AND schema_name = 'main' AND NOT internal ORDER BY table_name, column_index"
        ):
            columns = tables.setdefault(table, [])
            if not computed:
                columns.append((column, _kind(stored)))
        return {table: _own(columns) for table, columns in tables.items()}

    @cached_property
    def _views(self) -> dict[str, str]:
        sql = "SELECT view_name, sql FROM duckdb_views() WHERE database_name = 'data' AND schema_name = 'main'"
        return dict(self._schema_rows(sql))

    def view(self, name: str) -> str | None:
        return self._views.get(self.spelled(name))

    def _relation(self, table: str, columns: Sequence[str]) -> str:
        return f"data.main.{quoted(table)}"


_COMPRESSED = (".gz", ".zst")
_FORMATS: dict[str, type[_Embedded]] = {
    ".csv": _Csv, ".tsv": _Tsv, ".parquet": _Parquet, ".duckdb": _Database, ".db": _Database,
}  # fmt: skip
