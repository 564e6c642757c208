"""Columns of files, a batch at a time: CSV, Parquet and DuckDB files larger than memory.

True values are read in batches, replaced by reports, and never written: the reading connection may not spill to disk,
and what is written holds reports alone. The engine's own messages are withheld, because they quote what they could not
read.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DiscreetError, ForeignValue, InvalidInput, UnreadableFile, WrongType
from ..mechanism import Mechanism
from ..release.expressions import quoted, text_literal
from ..spaces import Labels, Space

#: How many rows are held at once.
BATCH = 250_000

#: The name of the column of reports.
REPORT = "report"

_READERS = {".csv": "read_csv", ".tsv": "read_csv", ".txt": "read_csv", ".gz": "read_csv", ".parquet": "read_parquet"}
_DATABASES = (".duckdb", ".db")
_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}


@contextmanager
def _engine(path: Path) -> Iterator[None]:
    """The engine's errors, without their text: it may quote values."""
    import duckdb

    try:
        yield
    except duckdb.Error as problem:
        raise UnreadableFile(
            f"{path}: the database engine cannot read it ({type(problem).__name__}; its message is withheld, because "
            "it may quote values)."
        ) from None


class Source:
    """One column of a file.

    Parameters
    ----------
    path
        A CSV, Parquet or DuckDB file.
    column
        The column's name; may be left out where there is one only.
    table
        For DuckDB files: the table's name; may be left out where there is one only.
    """

    def __init__(self, path: str | Path, column: str | None = None, table: str | None = None) -> None:
        import duckdb

        self.path = Path(path)
        kind = self.path.suffix.lower()
        if not self.path.is_file():
            raise UnreadableFile(f"there is no file {self.path}.")
        if kind not in _READERS and kind not in _DATABASES:
            raise InvalidInput(f"data is read from .csv, .parquet and .duckdb files; got {self.path.name!r}.")
        # nothing that was read may end up on disk
        self._connection = duckdb.connect(config={"temp_directory": "", "autoinstall_known_extensions": False})
        with _engine(self.path):
            if kind in _DATABASES:
                self._connection.execute(f"ATTACH {text_literal(str(self.path))} AS source (READ_ONLY)")
                self._from = f"source.{quoted(self._table(table))}"
            else:
                if table is not None:
                    raise InvalidInput("a table is named for DuckDB files only.")
                # one file, whatever its name looks like: no patterns, no columns from the names of folders
                self._from = f"{_READERS[kind]}({text_literal(escape(str(self.path)))}, hive_partitioning = false)"
            described = self._connection.execute(f"DESCRIBE SELECT * FROM {self._from}").fetchall()
        kinds = {str(name): str(kind) for name, kind, *_ in described}
        self.column = self._choose(column, list(kinds))
        self.kind = kinds[self.column]

    def _table(self, wanted: str | None) -> str:
        query = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'source' ORDER BY 1"
        names = [str(name) for (name,) in self._connection.execute(query).fetchall()]
        if wanted is not None:
            if wanted not in names:
                raise InvalidInput(f"{self.path} has no table {wanted!r}; its tables are {', '.join(names)}.")
            return wanted
        if len(names) != 1:
            raise InvalidInput(f"{self.path} has {len(names)} tables; name one: {', '.join(names)}.")
        return names[0]

    def _choose(self, wanted: str | None, names: list[str]) -> str:
        if wanted is not None:
            if wanted not in names:
                raise InvalidInput(f"{self.path} has no column {wanted!r}; its columns are {', '.join(names)}.")
            return wanted
        if len(names) == 1:
            return names[0]
        raise InvalidInput(f"{self.path} has {len(names)} columns; name one: {', '.join(names)}.")

    def _expression(self, space: Space) -> str:
        """The column as the space wants it: labels that are text as text, everything else as whole numbers."""
        name = quoted(self.column)
        if isinstance(space, Labels) and all(isinstance(label, str) for label in space.labels):
            return f"CAST({name} AS VARCHAR)"
        if self.kind not in _WHOLE and not isinstance(space, Labels):
            with _engine(self.path):
                some = self._connection.execute(f"SELECT 1 FROM {self._from} LIMIT 1").fetchone()
            if some is None:  # a column of nothing passes for text
                raise InvalidInput(f"column {self.column!r} of {self.path} has no rows.")
            raise WrongType(
                f"column {self.column!r} of {self.path} holds {self.kind}; whole numbers are needed. Convert it first."
            )
        return name

    def batches(self, space: Space) -> Iterator[tuple[int, NDArray[Any]]]:
        """The indices of the values in a space, a batch at a time, with the number of rows before it."""
        with _engine(self.path):
            rows = self._connection.execute(f"SELECT {self._expression(space)} FROM {self._from}")
        done = 0
        while True:
            with _engine(self.path):
                batch = [value for (value,) in rows.fetchmany(BATCH)]
            if not batch:
                return
            yield done, self._indices(batch, space, done)
            done += len(batch)

    def _indices(self, batch: list[Any], space: Space, done: int) -> NDArray[Any]:
        try:
            return np.asarray(space.indices(batch))
        except DiscreetError:
            for k, value in enumerate(batch):
                if value is None:
                    raise WrongType(
                        f"row {done + k + 1} of column {self.column!r} is missing. Drop such rows, or decide what "
                        "they are."
                    ) from None
                try:
                    space.index(value)
                except DiscreetError as problem:
                    kind = type(problem) if isinstance(problem, ForeignValue | WrongType) else InvalidInput
                    raise kind(f"row {done + k + 1} of column {self.column!r}: {problem}") from None
            raise

    def counts(self, space: Space) -> dict[Any, int]:
        """How often each value occurs. Made by the engine: only the distinct values reach this process."""
        expression = self._expression(space)
        query = f"SELECT {expression} AS value, count(*) FROM {self._from} GROUP BY value"
        with _engine(self.path):
            found = self._connection.execute(query).fetchall()
        missing = sum(int(count) for value, count in found if value is None)
        if missing:
            raise WrongType(
                f"column {self.column!r} of {self.path} has missing reports ({missing}). Drop them, or decide what "
                "they are."
            )
        return {value: int(count) for value, count in found}

    def close(self) -> None:
        self._connection.close()


def perturb_column(mechanism: Mechanism, source: Source, output: str | Path) -> int:
    """Write one report for each value of a column: what each person's device would send. Returns how many.

    The output has one column, ``report``, in the order of the rows. It is written when all rows have been read, so that
    a mistake in the last row leaves no file behind.
    """
    import duckdb

    file = Path(output)
    kind = file.suffix.lower()
    if kind not in (".parquet", ".csv", *_DATABASES):
        raise InvalidInput(f"reports are written to .parquet, .csv or .duckdb files; got {file.name!r}.")
    if file.exists():
        raise InvalidInput(f"{file} exists already; it is not overwritten. Choose another name, or remove it.")
    if not file.parent.is_dir():
        raise InvalidInput(f"there is no folder {file.parent} to write {file.name} to.")
    outputs = mechanism.outputs
    text = isinstance(outputs, Labels) and not all(type(label) is int for label in outputs.labels)
    total = 0
    with tempfile.TemporaryDirectory(dir=file.parent or None, prefix=".discreet-") as folder:
        made = Path(folder) / f"reports{kind if kind in _DATABASES else '.duckdb'}"
        with duckdb.connect(str(made)) as store:
            store.execute(f"CREATE TABLE reports ({REPORT} {'VARCHAR' if text else 'BIGINT'})")
            for _, indices in source.batches(mechanism.inputs):
                reports = mechanism.release(mechanism.inputs.values(indices))
                column = np.array([str(r) for r in reports], object) if text else np.asarray(reports, np.int64)
                store.register("batch", {REPORT: column})
                store.execute(f"INSERT INTO reports SELECT {REPORT} FROM batch")
                store.unregister("batch")
                total += len(column)
            if not total:
                raise InvalidInput(f"column {source.column!r} of {source.path} has no rows.")
            if kind not in _DATABASES:
                made = Path(folder) / f"reports{kind}"
                options = "FORMAT parquet" if kind == ".parquet" else "FORMAT csv, HEADER"
                store.execute(f"COPY reports TO {text_literal(str(made))} ({options})")
        made.replace(file)
    return total
