"""Files that DuckDB opens in this process, and the connection that reads them: it writes nowhere and loads nothing."""

from __future__ import annotations

import glob
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UnreadableFile
from ..wording import find_table
from .encodings import UTF8
from .packed import check_whole
from .sql import quoted, text_literal

if TYPE_CHECKING:
    import duckdb


class Files(ABC):
    """Files that DuckDB reads in this process.

    Attributes
    ----------
    name
        The stem of the file, the folder or the pattern.
    files
        Their paths.
    skip_unreadable
        True if a record of CSV that cannot be read vanishes.
    typed
        True if columns have types of their own; all of CSV is text.
    named_tables
        True if tables have names of their own; otherwise there is one, named after the file.
    shared_names
        Names that several columns of a table have, in whatever case (here in one). Those columns are not offered.
    encoding
        The encoding of a CSV file.
    """

    typed = True
    named_tables = False
    encoding = UTF8

    def __init__(self, name: str, files: Sequence[Path], skip_unreadable: bool) -> None:
        self.name = name
        self.files = [file.resolve() for file in files]
        self.skip_unreadable = skip_unreadable
        self.shared_names: set[str] = set()

    def __repr__(self) -> str:
        return f"<the data {self.name}>"

    @abstractmethod
    def _read_schemas(self) -> dict[str, Mapping[str, str]]:
        """Return each table's columns and their types, without those whose name is not theirs alone."""

    @abstractmethod
    def relation(self, table: str, columns: Sequence[str]) -> str:
        """Return a FROM item that has these columns under their own names."""

    def _own(self, columns: Sequence[tuple[str, str]]) -> dict[str, str]:
        """Return the columns whose name no other has, in whatever case: the engine could not tell the others apart."""
        times = Counter(name.casefold() for name, _ in columns)
        self.shared_names |= {name for name, several in times.items() if several > 1}
        return {name: stored for name, stored in columns if times[name.casefold()] == 1 and name and "\0" not in name}

    @cached_property
    def _schemas(self) -> dict[str, Mapping[str, str]]:
        return self._read_schemas()

    def tables(self) -> list[str]:
        """Return the names of the tables and views."""
        return list(self._schemas)

    def spelled(self, name: str) -> str:
        """Return the table of that name: exactly, or the only one that differs in case."""
        return find_table(name, self._schemas, self.name)

    def columns(self, table: str) -> Mapping[str, str]:
        """Return the columns of a table or view and DuckDB's type of each; no row is read."""
        return self._schemas[self.spelled(table)]

    def view(self, name: str) -> str | None:
        """Return the definition of a view; None for a table."""
        self.spelled(name)
        return None

    def may_stop_at(self, table: str, column: str) -> str | None:
        """Return why the engine could stop at a value of a column, by how the column is stored; None if it cannot."""
        self.spelled(table)
        return None

    def empty(self, table: str, columns: Sequence[str]) -> str:
        """Return a FROM item without rows, with these columns of the same names and types."""
        kinds = self.columns(table)
        listed = ", ".join(f"CAST(NULL AS {kinds[column]}) AS {quoted(column)}" for column in columns)
        return f"(SELECT {listed or '0'} LIMIT 0) AS empty"

    def check_whole(self) -> None:
        """Refuse compressed files that are damaged or cut off."""
        for file in self.files:
            check_whole(file)

    def last_changed(self) -> float:
        """Return when one of the files was last written to, in seconds since 1970."""
        return max(file.stat().st_mtime for file in self.files)

    def states(self) -> list[tuple[int, int, int]]:
        """Return what identifies the state of each file: it changes when a file is replaced or written to."""
        return [(state.st_ino, state.st_size, state.st_mtime_ns) for state in (file.stat() for file in self.files)]

    @contextmanager
    def decoded(self) -> Iterator[Files]:
        """Yield these files as the engine can read them all; :meth:`decode` reads their text."""
        yield self

    def decode(self) -> None:
        """Read text that the engine cannot read as it stands, and keep it as UTF-8 in a private file."""
        return

    @property
    def may_be_unreadable(self) -> bool:
        """True if values may hold ``encodings.UNREADABLE``."""
        return False

    @contextmanager
    def engine(self, *, ordered: bool = False, watched: bool = False, memory: str = "50%") -> Iterator[Any]:
        """Yield a connection that can read these files, write nowhere and load nothing.

        Parameters
        ----------
        ordered
            True if rows must come in stored order.
        watched
            True if the engine must track its progress, for ``query_progress()``.
        memory
            Maximum memory, as a share of the machine's or in bytes.
        """
        with open_engine(self._admit, ordered=ordered, watched=watched, memory=memory) as engine:
            yield engine

    def readable_files(self) -> Sequence[Path]:
        """Return the files that the engine opens by their names."""
        return self.files

    def attach(self, engine: duckdb.DuckDBPyConnection) -> None:
        """Open what is not opened by the name of a file."""
        return

    def _admit(self, engine: duckdb.DuckDBPyConnection) -> None:
        """Open the files, before everything outside is closed."""
        admit(engine, [self])

    def _schema_rows(self, sql: str, file: Path | None = None) -> list[tuple[Any, ...]]:
        """Return the answer to a question about the schema of one file or all; the engine's words are withheld."""
        try:
            with self.engine() as engine:
                return list(engine.execute(sql).fetchall())
        except Exception as problem:
            reason = _reason(problem)
        file = file or (self.files[0] if len(self.files) == 1 else None)
        raise UnreadableFile(f"cannot read {file.name if file else self.name}: {reason}")


def admit(engine: duckdb.DuckDBPyConnection, several: Sequence[Files]) -> None:
    """Open files of one kind or several, before everything outside is closed."""
    for files in several:
        files.attach(engine)
    if paths := [path for files in several for path in files.readable_files()]:
        allow_files(engine, paths)


def allow_files(engine: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> None:
    """Let an engine open these files, once everything else is closed."""
    names = dict.fromkeys(name for file in files for name in (str(file), glob.escape(str(file))))
    engine.execute(f"SET allowed_paths = [{', '.join(map(text_literal, names))}]")


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
    """Yield a DuckDB connection in memory that writes nowhere, loads nothing and acts on no statistics of rows.

    Parameters
    ----------
    admit
        Opens what the connection may read, before everything outside is closed.
    ordered, watched, memory
        As for :meth:`Files.engine`.
    """
    import duckdb

    settings = {"preserve_insertion_order": str(ordered).lower(), "memory_limit": memory}
    engine = duckdb.connect(":memory:", config={**_SETTINGS, **settings})
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
    """Switch the engine's progress counter on or off; it prints nothing into our own output.

    In a notebook these settings need ipywidgets, without which the engine refuses to set them, even unchanged. So they
    are set only if they must change; otherwise progress is unknown.
    """
    import duckdb

    (counting,) = engine.execute("SELECT current_setting('enable_progress_bar')").fetchall()[0]
    if bool(counting) != watched:
        with suppress(duckdb.InvalidInputException):
            engine.execute("SET enable_progress_bar_print = false")
            engine.execute(f"SET enable_progress_bar = {str(watched).lower()}")


#: Optimiser rules that stay on: they choose columns and expressions, and use no statistics.
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


#: Parts of the engine's messages about files it cannot open -> the reason shown instead.
_REASONS = {
    "lock on file": "another program has it open for writing. Close it there, or read a copy.",
    "permission denied": "this user may not read it.",
    "with version number": "another version of DuckDB wrote it. Export it there to Parquet, or with EXPORT DATABASE.",
}


def _reason(problem: Exception) -> str:
    message = str(problem).lower()
    for sign, words in _REASONS.items():
        if sign in message:
            return words
    return "its content does not fit its name. It may be damaged, or of another format."
