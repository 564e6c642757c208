"""CSV and Parquet files and DuckDB databases, opened by DuckDB in this process: the one way to read people's data.

The names and types of columns are known without reading a row. Later packages use the rows: a release counts them, a
collector replaces them by reports.

- CSV is read by a fixed dialect (comma, or tab for ``.tsv``; quotes doubled inside quotes; UTF-8 unless another
  encoding is declared; a heading line), since guessing a dialect reads rows. Every column is text and an empty field
  is NULL. Fields beyond the heading's are ignored. A line ends with LF, CR or both. A blank line is not a record (in a
  file of one column a missing value is written as two quotes). A field that begins with a quote ends at the next
  single quote, however far that is. A record with fewer fields than the heading, a record longer than two million
  bytes (of UTF-8), and a record where a field that is read is not UTF-8 cannot be read: either such records vanish,
  or the reading stops (``skip_unreadable``).
- Files opened by :meth:`Files.decoded` hold ``encodings.UNREADABLE`` where bytes are invalid in the encoding, so that
  one field is unreadable and not its record; in ``.zst`` files such records vanish.
- In Parquet, bytes that are not UTF-8 are read as question marks.
- A file that is named twice, by a pattern, a link or another name of the same file, is read once.
- Rows are read as they are stored: a computed column of a DuckDB table is not offered, since computing it can fail.

The engine's error messages are withheld, also from the chain of exceptions: they quote rows. The engine writes nothing
to disk, loads no extensions and opens nothing but the files it was given.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..addresses import PACKED_ENDINGS, Address, no_engine, read_address
from ..errors import InvalidInput, UnreadableFile
from .csv_files import Csv, Tsv
from .encodings import UTF8
from .engine import Files
from .formats import refuse_foreign_format, refuse_table_with_a_log
from .parquet import annotations_sql, unsafe_columns
from .sql import quoted, text_literal

if TYPE_CHECKING:
    import duckdb


def open_files(data: str | Path | Address, *, skip_unreadable: bool, encoding: str | None = None) -> Files:
    """Open the data behind an address, to be read.

    Parameters
    ----------
    data
        ``.csv`` or ``.tsv`` (also ``.gz``, ``.zst``); ``.parquet``: a file, a folder of such files, or a pattern like
        ``visits_*.parquet``; ``.duckdb`` or ``.db``, or any name behind ``duckdb:``.
    skip_unreadable
        True if a record of CSV that cannot be read vanishes; otherwise it stops the reading.
    encoding
        The encoding of a CSV file (one of ``encodings.ENCODINGS``); None where it was not declared.

    Examples
    --------
    >>> open_files("visits.xlsx", skip_unreadable=True)
    Traceback (most recent call last):
    discreet.errors.UnreadableFile: cannot read visits.xlsx: there is no such file.
    """
    address = read_address(data)
    if not address.in_files:
        raise no_engine(address)
    path, name = address.path, address.dataset
    if encoding is not None:
        refuse_encoding(address, encoding)
    if address.is_folder:
        refuse_table_with_a_log(path)
        paths = [file for file in path.rglob("*") if not _set_aside(file.relative_to(path))]
        return _Parquet(name, _parquet_files(path, paths), skip_unreadable)
    if address.is_pattern:
        paths = [Path(file) for file in glob.glob(str(path), recursive=True)]
        if not path.name.startswith("_"):
            paths = [file for file in paths if not file.name.startswith("_")]
        return _Parquet(name, _parquet_files(path, paths), skip_unreadable)
    if not address.is_file:
        raise UnreadableFile(f"cannot read {path}: there is no such file.")
    if address.scheme == "duckdb":
        return _Database(name, [path], skip_unreadable)
    ending = _format(path)
    refuse_foreign_format(path, ending, tuple(_FORMATS), encoding or UTF8)
    files = _FORMATS[ending or ""](name, [path], skip_unreadable)
    if encoding is not None:
        files.encoding = encoding
    return files


def is_csv(address: Address) -> bool:
    """Return whether an address names a CSV file, which alone has an encoding."""
    return address.in_files and address.scheme != "duckdb" and _format(address.path) in (".csv", ".tsv")


def refuse_encoding(address: Address, encoding: str) -> None:
    """Refuse an encoding for anything but a CSV file that can be decoded."""
    if not is_csv(address):
        raise InvalidInput(
            f"only CSV files have an encoding, and {address} is not one.", "Leave the encoding out.",
            argument="encoding",
        )  # fmt: skip
    if encoding != UTF8 and address.path.suffix.lower() == ".zst":
        raise InvalidInput(
            f"{address.path.name} is packed by zstd, and only UTF-8 is read from such files.", "Pack it by gzip.",
            argument="encoding",
        )  # fmt: skip


def _format(path: Path) -> str | None:
    name = path.name.lower()
    for packed_ending in PACKED_ENDINGS:
        if name.endswith(packed_ending):
            name = name.removesuffix(packed_ending)
            return next((ending for ending in (".csv", ".tsv") if name.endswith(ending)), None)
    return next((ending for ending in _FORMATS if name.endswith(ending)), None)


def _set_aside(path: Path) -> bool:
    """Return whether a file in a folder is not part of the table by its name (as in Hive, Spark and Arrow)."""
    return any(part.startswith(("_", ".")) for part in path.parts)


def _parquet_files(path: Path, paths: Iterable[Path]) -> list[Path]:
    """Return the Parquet files among those found, in order and each once, whatever links and patterns name it."""
    files = sorted(name for name in paths if _format(name) == ".parquet" and name.is_file())
    if not files:
        raise UnreadableFile(f"cannot read {path}: it contains no file whose name ends in .parquet.")
    distinct: dict[tuple[int, int], Path] = {}
    for name in files:
        state = name.stat()
        distinct.setdefault((state.st_dev, state.st_ino), name)
    return list(distinct.values())


# ------------------------------------------------------------------------------------------------ the formats


class _Parquet(Files):
    """One Parquet file or several of the same columns."""

    def _read_schemas(self) -> dict[str, Mapping[str, str]]:
        first, *others = self.files
        columns = self._describe(first)
        for other in others:
            if self._describe(other) != columns:
                raise UnreadableFile(
                    f"the files of {self.name} must have the same columns of the same types in the same order; "
                    f"{other.name} differs from {first.name}."
                )
        return {self.name: self._own(columns)}

    def _describe(self, file: Path) -> list[tuple[str, str]]:
        rows = self._schema_rows(f"DESCRIBE SELECT * FROM {_parquet_call([file])}", file)
        return [(row[0], row[1]) for row in rows]

    def relation(self, table: str, columns: Sequence[str]) -> str:
        return _parquet_call(self.files)

    def may_stop_at(self, table: str, column: str) -> str | None:
        self.spelled(table)
        return self._unsafe_columns.get(column)

    @cached_property
    def _unsafe_columns(self) -> dict[str, str]:
        annotations = []
        for file in self.files:
            annotations += self._schema_rows(annotations_sql(text_literal(glob.escape(str(file)))), file)
        return unsafe_columns(annotations)


def _parquet_call(files: Sequence[Path]) -> str:
    listed = ", ".join(text_literal(glob.escape(str(file))) for file in files)
    return f"read_parquet([{listed}], hive_partitioning = false, union_by_name = false, utf8_validation = 'replace')"


class _Database(Files):
    """A DuckDB database, opened for reading only; the tables and views of its schema ``main``."""

    named_tables = True

    def readable_files(self) -> Sequence[Path]:
        return ()

    def attach(self, engine: duckdb.DuckDBPyConnection) -> None:
        engine.execute(f"ATTACH {text_literal(str(self.files[0]))} AS data (READ_ONLY, TYPE duckdb)")

    def _read_schemas(self) -> dict[str, Mapping[str, str]]:
        tables: dict[str, list[tuple[str, str]]] = {}
        for table, column, stored, computed in self._schema_rows(
            "SELECT table_name, column_name, data_type, is_generated FROM duckdb_columns() "
            "WHERE database_name = 'data' AND schema_name = 'main' AND NOT internal ORDER BY table_name, column_index"
        ):
            columns = tables.setdefault(table, [])
            if not computed:
                columns.append((column, stored))
        return {table: self._own(columns) for table, columns in tables.items()}

    @cached_property
    def _views(self) -> dict[str, str]:
        sql = "SELECT view_name, sql FROM duckdb_views() WHERE database_name = 'data' AND schema_name = 'main'"
        return dict(self._schema_rows(sql))

    def view(self, name: str) -> str | None:
        return self._views.get(self.spelled(name))

    def relation(self, table: str, columns: Sequence[str]) -> str:
        return f"data.main.{quoted(table)}"


#: One for each of ``addresses.ENDINGS``.
_FORMATS: dict[str, type[Files]] = {
    ".csv": Csv, ".tsv": Tsv, ".parquet": _Parquet, ".duckdb": _Database, ".db": _Database,
}  # fmt: skip
