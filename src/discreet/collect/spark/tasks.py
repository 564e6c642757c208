"""Tasks that run on the executors: from Arrow batches of rows to reports or counts.

Values are read by the very expressions that read files, on a DuckDB connection of each task's own. A task draws secure
bits where it runs (:class:`~discreet.exact.bits.SecureBits`): nothing random is shipped to it. Every error is one
sentence that reveals nothing about a row, because Spark writes it to its logs and sends it to the driver.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...errors import SourceFailed
from ...sources.engine import open_engine
from ...spaces import Space
from ..columns import REPORT, Devices, RowBatch, ValueCounts
from ..readings import Reading

if TYPE_CHECKING:
    import duckdb
    from pyarrow import RecordBatch, Table
    from pyspark import Accumulator

    Batches = Iterator[RecordBatch]

T = TypeVar("T")

#: The name under which a connection finds the rows of a batch.
BATCH = "batch"

#: Names of columns and Spark's types of them.
Schema = tuple[tuple[str, str], ...]

#: Columns of a tally: a group's number and a value as JSON, or the class of an error and its message.
TALLY: Schema = (
    ("number", "int"), ("value", "string"), ("kind", "string"), ("problem", "string"), ("rows", "bigint"),
)  # fmt: skip

#: Minimum number of rows for a query, which takes a millisecond even for few.
_QUERY_ROWS = 100_000

#: Memory limit of a connection, which reads one table of that many rows.
_MEMORY = "256MB"


def schema_sql(schema: Schema) -> str:
    """Return columns in Spark's words.

    >>> schema_sql((("a`b", "int"), ("rows", "bigint")))
    '`a``b` int, `rows` bigint'
    """
    return ", ".join(f"{spark_name(name)} {kind}" for name, kind in schema)


def spark_name(name: str) -> str:
    """Return a column's name as Spark's SQL writes it."""
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True)
class RowReader:
    """The reader of the rows of a batch.

    Attributes
    ----------
    sql
        SQL of the values, and of the name of the group if there are groups, from :data:`BATCH`.
    spaces, readings
        The space and the reading of each group's values.
    names
        The names of the groups; None without groups.
    group
        The column of group names.
    direct
        Columns of a batch that are used unchanged, where no expression reads them; empty if there are expressions.
    """

    sql: str
    spaces: tuple[Space, ...]
    readings: tuple[Reading, ...]
    names: tuple[str | None, ...]
    group: str | None
    direct: tuple[str, ...] = ()

    def batch(self, engine: duckdb.DuckDBPyConnection, table: Table) -> RowBatch | None:
        """Return rows as indices and numbers of groups; None if one of them cannot be read."""
        if self.direct:
            rows = table.select(list(self.direct))
        else:
            with _registered(engine, table):
                rows = engine.sql(self.sql).to_arrow_table()
        if any(column.null_count for column in rows.columns):
            return None
        values = [column.combine_chunks().to_numpy(zero_copy_only=False) for column in rows.columns]
        if self.group is None:
            indices = self.readings[0].indices(values)
            return None if indices is None else RowBatch(indices, None)
        by_name = {name: number for number, name in enumerate(self.names)}
        numbers = np.fromiter((by_name.get(name, -1) for name in values.pop()), np.int64, rows.num_rows)
        if numbers.size and numbers.min() < 0:
            return None
        joint = np.empty(rows.num_rows, np.int64)
        for number, reading in enumerate(self.readings):
            mine = np.flatnonzero(numbers == number)
            indices = reading.indices([column[mine] for column in values])
            if indices is None:
                return None
            joint[mine] = indices
        return RowBatch(joint, numbers)


@dataclass(frozen=True)
class CountingTask:
    """A task that counts the rows of a partition: by value, or only the wrong ones where values must not leave.

    Attributes
    ----------
    rows
        The reader of the rows.
    by_value
        True to count each value; false for true values, which must not leave.
    """

    rows: RowReader
    by_value: bool

    def __call__(self, batches: Batches) -> Batches:
        tally = ValueCounts()
        with _connect() as engine:
            for table in _gathered(batches):
                _guarded(partial(self._add, tally), engine, table)
        yield self._to_batch(tally)

    def _add(self, tally: ValueCounts, engine: duckdb.DuckDBPyConnection, table: Table) -> None:
        batch = self.rows.batch(engine, table)
        if batch is None:
            with _registered(engine, table):
                distinct = engine.execute(f"SELECT *, count(*) FROM ({self.rows.sql}) AS t GROUP BY ALL").fetchall()
            tally.add(distinct, self.rows.readings, self.rows.names, self.rows.group)
            return
        if not self.by_value:
            tally.counts[0, None] += len(batch.indices)
            return
        for number, space in enumerate(self.rows.spaces):
            mine = batch.indices if batch.groups is None else batch.indices[batch.groups == number]
            for index, rows in zip(*np.unique(mine, return_counts=True), strict=True):
                tally.counts[number, space.value(int(index))] += int(rows)

    def _to_batch(self, tally: ValueCounts) -> RecordBatch:
        """Return the rows of :data:`TALLY`."""
        lines: list[tuple[object, ...]] = [
            (number, json.dumps(value) if self.by_value else None, None, None, rows)
            for (number, value), rows in tally.counts.items()
        ]
        lines += [(None, None, kind.__name__, words, rows) for (kind, words), rows in tally.wrong.items()]
        return _record_batch(TALLY, list(zip(*lines, strict=True)) or [()] * len(TALLY))


@dataclass(frozen=True)
class DrawingTask:
    """A task that replaces the true values of a partition by reports.

    Attributes
    ----------
    rows
        The reader of the true values.
    devices
        The mechanisms of people's devices as they were proved, with their exact numbers.
    reports
        The number of reports. Spark counts each task once, however often it was tried.
    """

    rows: RowReader
    devices: Devices
    reports: Accumulator[int]

    @property
    def schema(self) -> Schema:
        """The columns of the output."""
        report = (REPORT, "string" if self.devices.text else "bigint")
        return (report,) if self.rows.group is None else ((self.rows.group, "string"), report)

    def __call__(self, batches: Batches) -> Batches:
        with _connect() as engine:
            for table in _gathered(batches):
                yield _guarded(self._reports, engine, table)

    def _reports(self, engine: duckdb.DuckDBPyConnection, table: Table) -> RecordBatch:
        batch = self.rows.batch(engine, table)
        if batch is None:
            raise SourceFailed  # the job fails, and another one counts what is wrong, for the message
        names = [] if batch.groups is None else [np.array(self.devices.names, object)[batch.groups]]
        self.reports.add(len(batch.indices))
        return _record_batch(self.schema, [*names, self.devices.reports(batch)])


def _record_batch(schema: Schema, columns: Sequence[Any]) -> RecordBatch:
    import pyarrow

    kinds = {"int": pyarrow.int32(), "bigint": pyarrow.int64(), "string": pyarrow.string()}
    arrays = [pyarrow.array(column, kinds[kind]) for column, (_, kind) in zip(columns, schema, strict=True)]
    return pyarrow.RecordBatch.from_arrays(arrays, [name for name, _ in schema])


def _connect() -> AbstractContextManager[duckdb.DuckDBPyConnection]:
    return open_engine(lambda engine: engine.execute("SET threads = 1"), ordered=True, memory=_MEMORY)


def _gathered(batches: Batches) -> Iterator[Table]:
    """Yield tables of several batches that are worth a query."""
    import pyarrow

    pending: list[RecordBatch] = []
    for batch in batches:
        pending.append(batch)
        if sum(part.num_rows for part in pending) >= _QUERY_ROWS:
            yield pyarrow.Table.from_batches(pending)
            pending = []
    if pending:
        yield pyarrow.Table.from_batches(pending)


@contextmanager
def _registered(engine: duckdb.DuckDBPyConnection, table: Table) -> Iterator[None]:
    """Register some rows as the table :data:`BATCH` of a connection."""
    engine.register(BATCH, table)
    yield
    engine.unregister(BATCH)


def _guarded(
    work: Callable[[duckdb.DuckDBPyConnection, Table], T], engine: duckdb.DuckDBPyConnection, table: Table
) -> T:
    """Do work on some rows; raise its errors where neither the rows nor the message are in reach."""
    try:
        return work(engine, table)
    except Exception:
        pass  # its message could quote a row
    del table
    raise SourceFailed("a task could not read its rows. What went wrong is withheld, because it could quote values.")
