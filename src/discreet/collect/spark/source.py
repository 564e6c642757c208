"""A column on a Spark cluster, counted there."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import errors
from ...addresses import Address
from ...engines.spark.session import TABLE, logs_withheld, own_session, pyspark_driver, read_place, start_session
from ...errors import InvalidInput, InWords, SourceFailed, UnreadableFile, Unsupported, WrongType, arg
from ...sources.engine import open_engine
from ...sources.sql import quoted
from ...spaces import Space
from ...strict_json import read_json
from ..columns import ColumnSource, ProgressCallback, ValueCounts
from ..readings import Reading
from .executors import check_executors
from .progress import report_progress
from .tasks import BATCH, TALLY, CountingTask, RowReader, Schema, schema_sql, spark_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Number of rows in a batch that is passed to a task.
_BATCH_ROWS = "100000"

#: Settings under which rows would be lost -> their required values if they are set.
LOSSLESS = {"spark.sql.files.ignoreCorruptFiles": "false", "spark.sql.files.ignoreMissingFiles": "false"}


class SparkSource(ColumnSource):
    """One column on a Spark cluster, or the two columns of a place, and perhaps a column that names a group.

    Rows are read and counted on the executors, whose Python must have this package (see :mod:`.executors`).

    Parameters
    ----------
    data
        An address (``spark://host:7077?table=visits``, ``spark:local[*]?parquet=visits``), a ``DataFrame`` of Spark, or
        a ``SparkSession`` with the name of a table.
    column
        The column's name, or the names of two; may be left out where there is one column only.
    table
        With a session: the table's name.
    group
        The column that determines the mechanism of each row, where there are several.
    """

    def __init__(
        self,
        data: Address | DataFrame | SparkSession,
        column: str | Sequence[str] | None = None,
        table: str | None = None,
        *,
        group: str | None = None,
    ) -> None:
        frame, place = _open(data, table)
        names = Counter(name.casefold() for name in frame.columns)
        unique = [name for name in frame.columns if names[name.casefold()] == 1]
        super().__init__(place, unique, [name for name, times in names.items() if times > 1], column, group)
        # by number, because Spark takes a dot in a name for a part of it
        self.frame = frame.selectExpr(*(f"{spark_name(name)} AS c{k}" for k, name in enumerate(self.columns_to_read)))
        self.kinds = self._read_kinds()[: len(self.columns)]

    @property
    def session(self) -> SparkSession:
        """The session that reads it."""
        return self.frame.sparkSession

    def _read_kinds(self) -> tuple[str, ...]:
        """Return DuckDB's types of the columns as tasks will see them, from a table without rows."""
        try:
            empty = self.frame.limit(0).toArrow()
            with open_engine() as engine:
                engine.register(BATCH, empty)
                return tuple(row[1] for row in engine.execute(f"DESCRIBE SELECT * FROM {BATCH}").fetchall())
        except Exception:
            pass
        kinds = ", ".join(kind for _, kind in self.frame.dtypes)
        raise WrongType(
            f"{self.place}: columns of these types cannot be read: {kinds}.", "Convert them first.", argument="column"
        )

    def rows(self, spaces: Sequence[Space], readings: Sequence[Reading], groups: Sequence[str | None]) -> RowReader:
        """Return the reader of rows for tasks."""
        aliased = ", ".join(f"c{k} AS {quoted(name)}" for k, name in enumerate(self.columns_to_read))
        sql = self.select(readings[0], f"(SELECT {aliased} FROM {BATCH}) AS named")
        is_unconverted = self.group is None and list(readings[0].expressions) == list(map(quoted, self.columns_to_read))
        direct = tuple(f"c{k}" for k in range(len(self.columns_to_read))) if is_unconverted else ()
        return RowReader(sql, tuple(spaces), tuple(readings), tuple(groups), self.group, direct)

    def _distinct_groups(self, most: int) -> list[str | None]:
        group = self.frame.selectExpr(f"CAST(c{len(self.columns)} AS STRING) AS name")
        with logs_withheld():
            return [row[0] for row in group.distinct().limit(most).collect()]

    def _tally(
        self, spaces: Sequence[Space], readings: Sequence[Reading], groups: Sequence[str | None],
        on_progress: ProgressCallback | None,
    ) -> ValueCounts:  # fmt: skip
        check_executors(self.session)
        return self.tally(CountingTask(self.rows(spaces, readings, groups), by_value=True), on_progress)

    def tally(self, counting: CountingTask, on_progress: ProgressCallback | None = None) -> ValueCounts:
        """Count on the executors and add up the sums here."""
        refuse_settings(self.session, LOSSLESS)
        failure, lines = None, list[Any]()
        try:
            with report_progress(self.session, on_progress), logs_withheld():
                sums = map_batches(self.frame, counting, TALLY).groupBy(*(name for name, _ in TALLY[:-1])).sum("rows")
                lines = sums.collect()
        except Exception:
            failure = self.failed()
        if failure is not None:
            raise failure
        tally = ValueCounts()
        for number, value, kind, problem, rows in lines:
            if kind is not None:
                tally.wrong[getattr(errors, kind), problem] += rows
            else:
                tally.counts[number, None if value is None else read_json(value, "a report")] += rows
        return tally

    def failed(self) -> SourceFailed:
        """Return the error for a cluster that stopped while it read."""
        return SourceFailed(
            f"the cluster could not read {self.place} to its end. What it said is withheld, because it could quote "
            "values."
        )


def map_batches(frame: DataFrame, task: Any, schema: Schema) -> DataFrame:
    """Return a frame whose batches go through a task on the executors."""
    with warnings.catch_warnings():
        # of the version of pandas, which mapInArrow asks for and these tasks do not use
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        return frame.mapInArrow(task, schema_sql(schema))


def refuse_settings(session: SparkSession, settings: dict[str, str]) -> None:
    """Refuse a session with other values of these settings; unset ones are right."""
    cluster = session.sparkContext.getConf()
    for name, value in settings.items():
        actual = next(
            (one for one in (session.conf.get(name, None), cluster.get(name)) if one not in (None, value)), None
        )
        if actual is not None:
            raise Unsupported(
                f"the session has {name} = {actual}, and {value} is needed.",
                "Give a session with that setting.",
                argument="data",
            )


def _open(data: object, table: str | None) -> tuple[DataFrame, str]:
    """Return the table as a frame, and its name in messages."""
    driver = pyspark_driver()
    if isinstance(data, Address):
        if table is not None:
            raise InvalidInput(
                f"an address names its table itself, as in spark://host:7077?table=visits; drop {arg('table')}"
            )
        place = read_place(data)
        if place.kind == "csv":
            raise Unsupported(
                f"{data}: on Spark, true values and reports are read from Parquet, ORC and tables.",
                "Without Spark, .csv files are read as they are.",
                argument="data",
            )
        return _read(start_session(place.master), place.kind, place.name, str(data)), str(data)
    if isinstance(data, driver.SparkSession):
        if table is None:
            raise InvalidInput(f"name the table of the session with {arg('table')}")
        return _read(own_session(data), TABLE, table, f"table {table!r}"), f"table {table!r}"
    if not isinstance(data, driver.DataFrame):
        raise WrongType.must_be(
            "data", "an address, a DataFrame or a SparkSession of Spark", InWords(f"a {type(data).__name__}")
        )
    if not hasattr(data, "_jdf"):
        raise Unsupported(
            "a DataFrame of Spark Connect is not supported.", "Give one of a session of this process.", argument="data"
        )
    if data.isStreaming:
        raise Unsupported(
            "a streaming DataFrame has no end.", "Give a table that does not grow while it is read.", argument="data"
        )
    return data, "the DataFrame"


def _read(session: SparkSession, kind: str, name: str, place: str) -> DataFrame:
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", _BATCH_ROWS)
    reason: str | None = None
    try:
        return session.table(name) if kind == TABLE else session.read.format(kind).load(name)
    except Exception as problem:  # no row has been read
        condition = getattr(problem, "getCondition", lambda: None)()
        reason = "" if condition is None else f" ({condition})"
    raise UnreadableFile(
        f"cannot read {place}: Spark finds no such data there, or may not read it{reason}.", argument="data"
    )
