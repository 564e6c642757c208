"""Columns of files, a batch at a time: true values are replaced as devices would do it, and reports are counted.

True values are read in batches, replaced by reports, and never written: the reading connection may not spill to disk,
and what is written holds reports alone. An error names a row by its number, never by its value, and is raised where
neither the rows nor the engine's message are in reach.
"""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DiscreetError, InvalidInput, UnreadableFile, arg
from ..exact.arrays import Array
from ..mechanism import Mechanism
from ..sources.files import open_files
from ..sources.sql import quoted, text_literal
from ..spaces import Labels, Space
from ..wording import first_of
from .columns import REPORT, ColumnSource, Devices, ProgressCallback, RowBatch, ValueCounts, no_mechanism
from .places import Corner
from .readings import Reading, Row

if TYPE_CHECKING:
    import duckdb

#: Maximum number of rows in memory.
BATCH_ROWS = 250_000

#: Memory limit of the engine, which keeps what it has read of a CSV file until the limit.
MAX_MEMORY = "1GB"


class FileColumn(ColumnSource):
    """One column of a table in a file, or the two columns of a place, and perhaps a column that names a group.

    Parameters
    ----------
    path
        A CSV, Parquet or DuckDB file; a folder of Parquet files.
    column
        The column's name, or the names of two, how far east and north a place is; may be left out where there is one
        column only.
    table
        For DuckDB files: the table's name; may be left out where there is one only.
    group
        The column that says by which mechanism a row is reported, where there are several.
    values
        The space of the values, if it is known already: a first row of such values is not taken for a heading, and no
        message quotes it.
    """

    def __init__(
        self,
        path: str | Path,
        column: str | Sequence[str] | None = None,
        table: str | None = None,
        *,
        group: str | None = None,
        values: Space | None = None,
    ) -> None:
        self.path = Path(path)
        self._labels = _label_texts(values)
        self._files = open_files(path, skip_unreadable=False)
        self.has_types = self._files.typed
        self._table = self._find_table(table)
        kinds = self._files.columns(self._table)
        super().__init__(str(self.path), list(kinds), self._files.shared_names, column, group)
        self._is_named = bool(column)
        self.kinds = tuple(kinds[name] for name in self.columns)

    def _refuse_data_as_heading(self, names: Sequence[str], problem: str = "") -> None:
        """Refuse a first line with numbers or labels as somebody's row, without quoting it."""
        names = [*names, *self._files.shared_names]
        if not self._files.typed and any(_NUMBER.fullmatch(name) or name.casefold() in self._labels for name in names):
            raise self._no_heading(problem)

    def _refuse_value_as_heading(self, space: Space) -> None:
        """Refuse a label in place of a heading, unless the column was named so."""
        if not self._is_named and not self._files.typed and self.columns[0].casefold() in _label_texts(space):
            raise self._no_heading()

    def _no_heading(self, problem: str = "") -> InvalidInput:
        return InvalidInput(
            f"{self.path}{problem}: the first line must be a heading, the names of the columns; this one looks like a "
            "row of values, which are not shown.",
            "Put a heading above it; if it is one, name the column.",
            argument="column",
        )

    def _find_table(self, name: str | None) -> str:
        names = self._files.tables()
        if name is not None:
            if not self._files.named_tables:
                raise InvalidInput(f"a table is named for DuckDB files only; drop {arg('table')}")
            return self._files.spelled(name)
        tables = [table for table in names if self._files.view(table) is None]
        if len(tables) != 1:
            raise InvalidInput(
                f"{self.path} has {len(tables)} tables; name one with {arg('table')}: {first_of(names)}."
            )
        return tables[0]

    def reading(self, space: Space) -> Reading:
        self._refuse_value_as_heading(space)
        return super().reading(space)

    def _values(self, reading: Reading) -> str:
        return self.select(reading, self._files.relation(self._table, list(dict.fromkeys(self.columns_to_read))))

    def batches(
        self, space: Space, groups: Sequence[str] = (), on_progress: ProgressCallback | None = None
    ) -> Iterator[RowBatch | DiscreetError]:
        """Yield the values as indices in a space, a batch at a time, in the order of the rows.

        A failure is yielded last as an error that is not raised yet: it must be raised where no rows are held.

        Parameters
        ----------
        space
            The space of the values.
        groups
            The names of the groups, in the order of their numbers.
        on_progress
            Called with the share that has been read.
        """
        import duckdb

        reading = self.reading(space)
        try:
            yield from self._batches(reading, {name: k for k, name in enumerate(groups)}, on_progress)
            return
        except duckdb.Error as problem:
            failure = self._failure(problem)
        yield failure

    def _batches(
        self, reading: Reading, groups: Mapping[str, int], on_progress: ProgressCallback | None
    ) -> Iterator[RowBatch | DiscreetError]:
        by_rows = self._files.typed and on_progress is not None
        by_engine = on_progress is not None and not by_rows
        with self._files.engine(ordered=True, watched=by_engine, memory=MAX_MEMORY) as engine:
            sql = f"SELECT count(*) FROM ({self._values(reading)}) AS t"
            total = engine.execute(sql).fetchone()[0] if by_rows else 0
            rows, position = engine.execute(self._values(reading)), 0
            while batch := rows.fetchmany(BATCH_ROWS):
                numbers = None
                if self.group is not None:
                    numbers = np.fromiter((groups.get(row[-1], -1) for row in batch), np.int64, len(batch))
                    if numbers.min() < 0:
                        yield self._at(position + int(numbers.argmin()), no_mechanism(self.group, groups))
                        return
                indices = reading.indices([[row[k] for row in batch] for k in range(len(self.columns))])
                if indices is None:
                    place, problem = reading.first_wrong(batch)
                    yield self._at(position + place, problem)
                    return
                yield RowBatch(indices, numbers)
                position += len(batch)
                if on_progress is not None:
                    on_progress(position / max(total, position) if by_rows else max(0.0, engine.query_progress() / 100))

    def _at(self, place: int, problem: DiscreetError) -> DiscreetError:
        """Return a problem with a row, named by the row's number."""
        below = "" if self._files.typed else " (the heading is not counted)"
        return type(problem).because(f"row {place + 1:,} of column {self.column!r}{below}", problem)

    def _failure(self, problem: Exception) -> UnreadableFile:
        """Return the part of the engine's message that may be shown: the rest quotes rows."""
        import duckdb

        withheld = "The engine's own message is withheld, because it may quote values."
        line = re.match(r"Invalid Input Error: CSV Error on Line: (\d+)\n", str(problem))
        if line is not None:
            return UnreadableFile(
                f"{self.path}: line {int(line[1]):,} (line ends inside quotes not counted) cannot be read: it has "
                f"fewer fields than the heading, is not UTF-8, or is longer than two million bytes. {withheld}"
            )
        if isinstance(problem, duckdb.OutOfMemoryException):
            return UnreadableFile(
                f"{self.path}: the engine needs more memory than {MAX_MEMORY} for it. It does not spill to a disk, "
                "where true values would be left.",
                "Name a table instead of a view, or split the file.",
            )
        return UnreadableFile(f"{self.path}: the engine could not read it to its end; it may be damaged. {withheld}")

    def _distinct_groups(self, most: int) -> list[str | None]:
        import duckdb

        assert self.group is not None
        rows = self._files.relation(self._table, [self.group])
        query = f"SELECT DISTINCT CAST({quoted(self.group)} AS VARCHAR) FROM {rows} LIMIT {most}"
        try:
            with self._files.engine(memory=MAX_MEMORY) as engine:
                return [row[0] for row in engine.execute(query).fetchall()]
        except duckdb.Error as problem:
            failure = self._failure(problem)
        raise failure

    def _tally(
        self, spaces: Sequence[Space], readings: Sequence[Reading], groups: Sequence[str | None],
        on_progress: ProgressCallback | None,
    ) -> ValueCounts:  # fmt: skip
        values = self._count_values(readings[0], on_progress)
        if isinstance(values, DiscreetError):
            raise values
        tally = ValueCounts()
        tally.add(values, readings, groups, self.group)
        return tally

    def _count_values(self, reading: Reading, on_progress: ProgressCallback | None) -> list[Row] | DiscreetError:
        import duckdb

        query = f"SELECT *, count(*) FROM ({self._values(reading)}) AS t GROUP BY ALL"
        try:
            opening = self._files.engine(watched=on_progress is not None, memory=MAX_MEMORY)
            with opening as engine, _report_progress(engine, on_progress):
                return list(engine.execute(query).fetchall())
        except duckdb.Error as problem:
            return self._failure(problem)


@contextmanager
def _report_progress(engine: duckdb.DuckDBPyConnection, on_progress: ProgressCallback | None) -> Iterator[None]:
    """Report the engine's progress from another thread while it works."""
    if on_progress is None:
        yield
        return
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.1):
            on_progress(max(0.0, engine.query_progress() / 100))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        watcher.join()


#: Pattern of a number, which is an unlikely column name.
_NUMBER = re.compile(r"\s*[+-]?\d+([.,]\d*)?\s*")


def _label_texts(space: Space | None) -> set[str]:
    """Return labels as a file may have them, in one case."""
    return {str(label).casefold() for label in space.labels} if isinstance(space, Labels) else set()


# ------------------------------------------------------------------------------------------------ writing reports

_COPY_OPTIONS = {
    ".parquet": "FORMAT parquet",
    ".csv": "FORMAT csv, HEADER",
    ".csv.gz": "FORMAT csv, HEADER, COMPRESSION gzip",
    ".tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
    ".tsv.gz": "FORMAT csv, HEADER, DELIMITER '\t', COMPRESSION gzip",
    ".duckdb": "",
    ".db": "",
}


def perturb_column(
    mechanism: Mechanism | Mapping[str, Mechanism],
    source: FileColumn,
    output: str | Path,
    on_progress: ProgressCallback | None = None,
) -> int:
    """Write one report for each value of a column, as each person's device would, and return their number.

    The output has the column ``report``, in the order of the rows, and the column of groups before it if there is one.
    It is written when all rows have been read, so that a mistake in the last row leaves no file behind.

    Parameters
    ----------
    mechanism
        The mechanism of the devices; one for each group, by its name, where the source has groups.
    source
        The true values.
    output
        A file that does not exist yet: .parquet, .csv, .tsv (also .gz) or .duckdb.
    on_progress
        Called with the share that has been read.
    """
    import duckdb

    file = Path(output)
    ending = next((ending for ending in _COPY_OPTIONS if file.name.lower().endswith(ending)), None)
    if ending is None:
        raise InvalidInput.must_be(
            "output", "a .parquet, .csv, .tsv (.gz) or .duckdb file", file.name, meaning="where reports go"
        )
    if file.exists():
        raise InvalidInput(
            f"{file} exists already; it is not overwritten.", "Choose another name, or remove it.", argument="output"
        )
    if not file.parent.is_dir():
        raise InvalidInput(f"cannot write {file.name}: there is no folder {file.parent}.", argument="output")
    devices = Devices.of(mechanism, source.group)
    with tempfile.TemporaryDirectory(dir=file.parent or None, prefix=".discreet-") as folder:
        path = Path(folder) / f"reports{ending if not _COPY_OPTIONS[ending] else '.duckdb'}"
        with duckdb.connect(str(path)) as store:
            outcome = _fill(store, source, devices, on_progress)
            if isinstance(outcome, DiscreetError):
                raise outcome
            if _COPY_OPTIONS[ending]:
                path = Path(folder) / f"reports{ending}"
                store.execute(f"COPY reports TO {text_literal(str(path))} ({_COPY_OPTIONS[ending]})")
        path.replace(file)
    return outcome


def _fill(
    store: Any, source: FileColumn, devices: Devices, on_progress: ProgressCallback | None
) -> int | DiscreetError:
    """Draw reports into a table; return their number, or the error, to be raised elsewhere."""
    kind = "VARCHAR" if devices.text else "BIGINT"
    group_column = "" if source.group is None else f"{quoted(source.group)} VARCHAR, "
    store.execute(f"CREATE TABLE reports ({group_column}{REPORT} {kind})")
    total = 0
    truths = devices.truths
    grid = truths.as_grid
    corner = Corner(grid) if grid is not None and len(source.columns) == 2 else None
    for batch in source.batches(truths, devices.names, on_progress):
        if isinstance(batch, DiscreetError):
            return batch
        if corner is not None:
            corner.add(batch.indices)
        columns: dict[str, Array] = {}
        if batch.groups is not None:
            columns["g"] = np.array(devices.names, object)[batch.groups]
        columns["r"] = devices.reports(batch)
        store.register("batch", columns)
        store.execute(f"INSERT INTO reports SELECT {', '.join(columns)} FROM batch")
        store.unregister("batch")
        total += len(batch.indices)
    misread = None if corner is None else corner.refusal()
    return misread or total or source.no_rows()
