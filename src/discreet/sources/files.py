"""CSV and Parquet files and DuckDB databases, opened by DuckDB in this process: the one way to read people's data.

The names and types of columns are known without reading a row. What is done with the rows is up to the rooms below:
a release counts them, a collector replaces them by reports.

- CSV is read by a fixed dialect (comma, or tab for ``.tsv``; quotes doubled inside quotes; UTF-8; a heading line),
  since guessing a dialect reads rows. Every column is text and an empty field is NULL. Fields beyond the heading's are
  ignored. A line ends with LF, CR or both. A blank line is not a record (in a file of one column a missing value is
  written as two quotes). A field that begins with a quote ends at the next single quote, however far that is. A
  record with fewer fields than the heading, a record longer than two million bytes, and a record where a field that
  is read is not UTF-8 cannot be read: either such records vanish, or the reading stops (``skip_unreadable``).
- In Parquet, bytes that are no UTF-8 are read as question marks.
- A file that is named twice, by a pattern, a link or another name of the same file, is read once.
- Rows are read as they are stored: a computed column of a DuckDB table is not offered, since computing it can fail.

Whatever the engine says when it stops is withheld, also from the chain of exceptions: it quotes rows. It writes nothing
to disk, loads no extensions and opens nothing but the files it was given.
"""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ..addresses import PACKED_ENDINGS, Address, no_engine, read_address
from ..errors import UnreadableFile
from ..names import find_table
from .formats import refuse_foreign_format, refuse_other_separators, refuse_table_with_a_log
from .packed import check_whole
from .sql import quoted, text_literal

if TYPE_CHECKING:
    import duckdb


def open_files(data: str | Path | Address, *, skip_unreadable: bool) -> Files:
    """Open the data behind an address, to be read.

    Parameters
    ----------
    data
        ``.csv`` or ``.tsv`` (also ``.gz``, ``.zst``); ``.parquet``: a file, a folder of such files, or a pattern like
        ``visits_*.parquet``; ``.duckdb`` or ``.db``, or any name behind ``duckdb:``.
    skip_unreadable
        Whether a record of CSV that cannot be read vanishes; otherwise it stops the reading.

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
    if address.is_folder:
        refuse_table_with_a_log(path)
        found = [file for file in path.rglob("*") if not _set_aside(file.relative_to(path))]
        return _Parquet(name, _parquet_files(path, found), skip_unreadable)
    if address.is_pattern:
        found = [Path(file) for file in glob.glob(str(path), recursive=True)]
        if not path.name.startswith("_"):
            found = [file for file in found if not file.name.startswith("_")]
        return _Parquet(name, _parquet_files(path, found), skip_unreadable)
    if not address.is_file:
        raise UnreadableFile(f"cannot read {path}: there is no such file.")
    if address.scheme == "duckdb":
        return _Database(name, [path], skip_unreadable)
    ending = _format(path)
    refuse_foreign_format(path, ending, tuple(_FORMATS))
    return _FORMATS[ending or ""](name, [path], skip_unreadable)


def _format(path: Path) -> str | None:
    name = path.name.lower()
    for packed in PACKED_ENDINGS:
        if name.endswith(packed):
            name = name.removesuffix(packed)
            return next((ending for ending in (".csv", ".tsv") if name.endswith(ending)), None)
    return next((ending for ending in _FORMATS if name.endswith(ending)), None)


def _set_aside(path: Path) -> bool:
    """Whether a name in a folder says that the file is not part of the table (as Hive, Spark and Arrow have it)."""
    return any(part.startswith(("_", ".")) for part in path.parts)


def _parquet_files(path: Path, found: Iterable[Path]) -> list[Path]:
    """The Parquet files among those found, in order and each once, whatever links and patterns name it."""
    files = sorted(name for name in found if _format(name) == ".parquet" and name.is_file())
    if not files:
        raise UnreadableFile(f"cannot read {path}: it contains no file whose name ends in .parquet.")
    distinct: dict[tuple[int, int], Path] = {}
    for name in files:
        state = name.stat()
        distinct.setdefault((state.st_dev, state.st_ino), name)
    return list(distinct.values())


# ------------------------------------------------------------------------------------------------ in common


class Files(ABC):
    """Files that DuckDB reads in this process.

    Attributes
    ----------
    name
        The stem of the file, the folder or the pattern.
    files
        Where they are.
    skip_unreadable
        Whether a record of CSV that cannot be read vanishes.
    typed
        Whether columns have types of their own; all of CSV is text.
    named_tables
        Whether tables have names of their own; elsewhere there is one, called after the file.
    shared_names
        Names that several columns of a table have, in whatever case (here in one). Those columns are not offered.
    """

    typed = True
    named_tables = False

    def __init__(self, name: str, files: Sequence[Path], skip_unreadable: bool) -> None:
        self.name = name
        self.files = [file.resolve() for file in files]
        self.skip_unreadable = skip_unreadable
        self.shared_names: set[str] = set()

    def __repr__(self) -> str:
        return f"<the data {self.name}>"

    @abstractmethod
    def _read_schemas(self) -> dict[str, Mapping[str, str]]:
        """Each table's columns and their types, without those whose name is not theirs alone."""

    @abstractmethod
    def relation(self, table: str, columns: Sequence[str]) -> str:
        """SQL that stands after FROM and has these columns under their own names."""

    def _own(self, columns: Sequence[tuple[str, str]]) -> dict[str, str]:
        """The columns whose name no other has, in whatever case: the engine could not tell the others apart."""
        times = Counter(name.casefold() for name, _ in columns)
        self.shared_names |= {name for name, several in times.items() if several > 1}
        return {name: stored for name, stored in columns if times[name.casefold()] == 1 and name and "\0" not in name}

    @cached_property
    def _schemas(self) -> dict[str, Mapping[str, str]]:
        return self._read_schemas()

    def tables(self) -> list[str]:
        """The names of the tables and views."""
        return list(self._schemas)

    def spelled(self, name: str) -> str:
        """The table of that name: exactly, or the only one that differs in case."""
        return find_table(name, self._schemas, self.name)

    def columns(self, table: str) -> Mapping[str, str]:
        """The columns of a table or view and DuckDB's type of each; no row is read."""
        return self._schemas[self.spelled(table)]

    def view(self, name: str) -> str | None:
        """The definition of a view; None for a table."""
        self.spelled(name)
        return None

    def may_stop_at(self, table: str, column: str) -> str | None:
        """Return why the engine could stop at a value of a column, by how the column is stored; None if it cannot."""
        self.spelled(table)
        return None

    def empty(self, table: str, columns: Sequence[str]) -> str:
        """SQL that stands after FROM: no rows, with these columns of the same names and types."""
        kinds = self.columns(table)
        listed = ", ".join(f"CAST(NULL AS {kinds[column]}) AS {quoted(column)}" for column in columns)
        return f"(SELECT {listed or '0'} LIMIT 0) AS empty"

    def check_whole(self) -> None:
        """Refuse compressed files that are damaged or cut off."""
        for file in self.files:
            check_whole(file)

    def last_changed(self) -> float:
        """When one of the files was last written to, in seconds since 1970."""
        return max(file.stat().st_mtime for file in self.files)

    def states(self) -> list[tuple[int, int, int]]:
        """What changes when a file is replaced or written to while it is read."""
        return [(state.st_ino, state.st_size, state.st_mtime_ns) for state in (file.stat() for file in self.files)]

    @contextmanager
    def engine(self, *, ordered: bool = False, watched: bool = False, memory: str = "50%") -> Iterator[Any]:
        """A connection that can read these files, write nowhere and load nothing.

        Parameters
        ----------
        ordered
            Whether rows come in the order they are stored in.
        watched
            Whether the engine keeps account of how far it is, for ``query_progress()``.
        memory
            The most memory it takes, of the machine's or in bytes.
        """
        with open_engine(self._admit, ordered=ordered, watched=watched, memory=memory) as engine:
            yield engine

    def _admit(self, engine: duckdb.DuckDBPyConnection) -> None:
        """Open the files, before everything outside is closed."""
        names = dict.fromkeys(name for file in self.files for name in (str(file), glob.escape(str(file))))
        engine.execute(f"SET allowed_paths = [{', '.join(map(text_literal, names))}]")

    def _schema_rows(self, sql: str, file: Path | None = None) -> list[tuple[Any, ...]]:
        """The answer to a question about the schema, of one file or all; the engine's words are withheld here too."""
        try:
            with self.engine() as engine:
                return list(engine.execute(sql).fetchall())
        except Exception as problem:
            reason = _reason(problem)
        file = file or (self.files[0] if len(self.files) == 1 else None)
        raise UnreadableFile(f"cannot read {file.name if file else self.name}: {reason}")


#: No spilling to disk (rows would be in a file), no extensions, no variables of the calling program as tables.
_SETTINGS: dict[str, str] = {
    "temp_directory": "",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "enable_external_file_cache": "false",
    "allow_persistent_secrets": "false",
}


@contextmanager
def open_engine(
    admit: Callable[[Any], None] = lambda engine: None,
    *,
    ordered: bool = False,
    watched: bool = False,
    memory: str = "50%",
) -> Iterator[Any]:
    """A DuckDB connection in memory that writes nowhere, loads nothing and acts on no statistics of rows.

    Parameters
    ----------
    admit
        Opens what the connection may read, before everything outside is closed.
    ordered, watched, memory
        As for :meth:`Files.engine`.
    """
    import duckdb

    own = {"preserve_insertion_order": str(ordered).lower(), "memory_limit": memory}
    engine = duckdb.connect(":memory:", config={**_SETTINGS, **own})
    try:
        admit(engine)
        _switch_off_what_reads_statistics(engine)
        _set_progress(engine, watched)
        engine.execute("SET enable_external_access = false")
        engine.execute("SET lock_configuration = true")
        yield engine
    finally:
        engine.close()


def _set_progress(engine: duckdb.DuckDBPyConnection, watched: bool) -> None:
    """Let the engine count how far it is, or not; it prints nothing beside our own output.

    In a notebook these settings need ipywidgets, and the engine refuses even to keep them as they are without it. So
    they are left alone unless they must change; without them nobody is told how far it is.
    """
    import duckdb

    (counting,) = engine.execute("SELECT current_setting('enable_progress_bar')").fetchall()[0]
    if bool(counting) != watched:
        with suppress(duckdb.InvalidInputException):
            engine.execute("SET enable_progress_bar_print = false")
            engine.execute(f"SET enable_progress_bar = {str(watched).lower()}")


#: The rules of the engine's optimiser that stay on: they choose columns and expressions, and look at nothing else.
_HARMLESS_RULES = ("unused_columns", "column_lifetime", "common_subexpressions")


def _switch_off_what_reads_statistics(engine: duckdb.DuckDBPyConnection) -> None:
    """Let no row's answer depend on the least, largest or missing values among *other* rows.

    The optimiser prunes and folds conditions by the statistics of a file or table, which leave NaN out, compare raw
    bytes where rows are read as text, and count NULLs wrongly: with 50.0 five thousand times and NaN two hundred
    times, one row of 250.0 turns ``x > 200`` from 0 rows into 201. So every rule is switched off but those known to
    read none, also the rules of versions to come. Keys of one byte are counted in an array, for which no statistics
    are needed.
    """
    rules = [name for (name,) in engine.execute("SELECT name FROM duckdb_optimizers()").fetchall()]
    engine.execute(f"SET disabled_optimizers = {text_literal(','.join(set(rules) - set(_HARMLESS_RULES)))}")
    engine.execute("SET perfect_ht_threshold = 20")


#: What the engine says when it cannot open a file -> what the message says instead.
_REASONS = {
    "lock on file": "another program has it open for writing. Close it there, or read a copy.",
    "permission denied": "this user may not read it.",
    "with version number": "another version of DuckDB wrote it. Export it there to Parquet, or with EXPORT DATABASE.",
}


def _reason(problem: Exception) -> str:
    said = str(problem).lower()
    for sign, words in _REASONS.items():
        if sign in said:
            return words
    return "its content does not fit its name. It may be damaged, or of another format."


# ------------------------------------------------------------------------------------------------ the formats


class _Csv(Files):
    """A CSV file: columns are known by place, so that no name of the heading can disturb the reading."""

    delimiter = ","
    typed = False

    def _read_schemas(self) -> dict[str, Mapping[str, str]]:
        # a name with a line end may be rows, behind a quote that was never closed: it is not offered, and so not shown
        return {self.name: self._own([(name, "VARCHAR") for name in self._heading() if name.isprintable()])}

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
                    names = next(csv.reader(_first_lines(lines), delimiter=self.delimiter), None)
        except UnreadableFile:
            raise
        except (OSError, EOFError, ValueError, csv.Error):
            pass  # their words could quote what follows the heading
        if not names or any("\ud800" <= letter <= "\udfff" for name in names for letter in name):
            raise UnreadableFile(
                f"cannot read {file.name}: it must begin with a heading line of column names, in UTF-8."
            )
        refuse_other_separators(file, names, self.delimiter)
        return names

    def _first_record_of_zst(self) -> list[str] | None:
        """The heading of a file that Python's own library cannot unpack; it must be one line."""
        lines = _csv_call(self.files[0], 1, "\x1f", quote="", header=False, skip_unreadable=False)
        found = self._schema_rows(f"SELECT c0 FROM {lines} LIMIT 1")
        if not found or found[0][0] is None:
            return None
        text = str(found[0][0]).removeprefix(codecs.BOM_UTF8.decode())
        if text.count('"') % 2:
            raise UnreadableFile(
                f"cannot read {self.files[0].name}: its heading goes on after the first line.",
                "Pack it by gzip, or give the columns names of one line.",
            )
        return next(csv.reader([text], delimiter=self.delimiter), None)

    def relation(self, table: str, columns: Sequence[str]) -> str:
        heading = self._heading()
        call = _csv_call(self.files[0], len(heading), self.delimiter, skip_unreadable=self.skip_unreadable)
        if len(heading) == 1:  # here a blank line would be a record; unlike an empty field in quotes it is NULL
            return f"(SELECT nullif(c0, '') AS {quoted(heading[0])} FROM {call} WHERE c0 IS NOT NULL) AS csv"
        places = ", ".join(f"c{heading.index(column)} AS {quoted(column)}" for column in columns) or "c0"
        return f"(SELECT {places} FROM {call}) AS csv"


class _Tsv(_Csv):
    delimiter = "\t"


#: The longest record of CSV, and how much is read at once, in bytes. A record that is longer than a buffer can take
#: others with it; one that is longer than a record may be, and shorter than that, vanishes alone.
_CSV_RECORD = 2_000_000
_CSV_BUFFER = 128 * _CSV_RECORD


def _first_lines(lines: TextIO) -> Iterator[str]:
    """Yield lines until they have as many letters as a record may have; few packed bytes can hold an endless one."""
    left = _CSV_RECORD
    while line := lines.readline(left + 1):
        left -= len(line)
        if left < 0:
            raise ValueError("a heading is longer than a record may be")
        yield line


def _csv_call(
    file: Path, fields: int, delimiter: str, quote: str = '"', header: bool = True, skip_unreadable: bool = True
) -> str:
    """Reading a file by a fixed dialect, with nothing left to guess.

    Three settings keep one person's row from deciding about others' rows. In strict mode a stray quote makes the
    records after it vanish. Read in parallel, a block that begins inside quotes is misread, and its records vanish.
    With any line end but ``\\n`` (which stands for CR as well, the second of two being a blank line) a blank line at
    the end of a buffer is misread, and its CR or LF becomes part of the next record.
    """
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(fields))
    packed = {".gz": "gzip", ".zst": "zstd"}.get(file.suffix.lower(), "none")
    return (
        f"read_csv({text_literal(glob.escape(str(file)))}, columns = {{{columns}}}, delim = {text_literal(delimiter)}, "
        f"quote = {text_literal(quote)}, escape = {text_literal(quote)}, header = {str(header).lower()}, "
        f"compression = '{packed}', auto_detect = false, ignore_errors = {str(skip_unreadable).lower()}, "
        "strict_mode = false, parallel = false, null_padding = false, encoding = 'utf-8', comment = '', "
        f"new_line = '\\n', allow_quoted_nulls = {str(fields > 1).lower()}, "
        f"buffer_size = {_CSV_BUFFER}, max_line_size = {_CSV_RECORD})"
    )


class _Parquet(Files):
    """One Parquet file or several of the same columns."""

    def _read_schemas(self) -> dict[str, Mapping[str, str]]:
        first, *others = self.files
        described = self._describe(first)
        for other in others:
            if self._describe(other) != described:
                raise UnreadableFile(
                    f"the files of {self.name} must have the same columns of the same types in the same order; "
                    f"{other.name} differs from {first.name}."
                )
        return {self.name: self._own(described)}

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
        """The columns that the engine converts while it reads them, which fails at values beyond its own range."""
        annotations: dict[str, str] = {}
        for file in self.files:
            name = text_literal(glob.escape(str(file)))
            sql = f"SELECT name, concat_ws(' ', converted_type, logical_type) FROM parquet_schema({name})"
            for column, annotation in self._schema_rows(sql, file):
                for pattern, reason in _UNSAFE_ANNOTATIONS.items():
                    if re.search(pattern, annotation):
                        annotations[column] = reason
        return annotations


#: What a Parquet file states about a column -> why the engine could stop at one of its values.
_UNSAFE_ANNOTATIONS = {
    r"TIMESTAMP_MILLIS|TimestampType\(.*MILLIS=Milli": (
        "holds moments in milliseconds, and the engine would stop at one beyond the year 294,000"
    ),
    r"TIME_MILLIS|TIME_MICROS|TimeType\(": (
        "holds times of day, and the engine would stop at one that is longer than a day"
    ),
}


def _parquet_call(files: Sequence[Path]) -> str:
    listed = ", ".join(text_literal(glob.escape(str(file))) for file in files)
    return f"read_parquet([{listed}], hive_partitioning = false, union_by_name = false, utf8_validation = 'replace')"


class _Database(Files):
    """A DuckDB database, opened for reading only; the tables and views of its schema ``main``."""

    named_tables = True

    def _admit(self, engine: duckdb.DuckDBPyConnection) -> None:
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
    ".csv": _Csv, ".tsv": _Tsv, ".parquet": _Parquet, ".duckdb": _Database, ".db": _Database,
}  # fmt: skip
