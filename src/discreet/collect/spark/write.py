"""Reports of a column on a Spark cluster, drawn on its executors and written there.

A DataFrame of Spark draws again whenever it is evaluated, and a second draw for the same person's value is a second
report of it. So reports are written once, to a folder that does not exist, and what is given out is read from there. No
task runs twice at a time (speculation is off). A task that fails and is run again draws again, and the files of its
first attempt are deleted unread: Spark's committer moves the files of one attempt of each task into place, all of them
when the last task is done, and writes ``_SUCCESS`` after that.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...engines.spark.session import logs_withheld
from ...errors import DiscreetError, InvalidInput, SourceFailed
from ...mechanism import Mechanism
from ...wording import plural
from ..columns import Devices, ProgressCallback
from .executors import check_executors
from .progress import report_progress
from .source import LOSSLESS, SparkSource, map_batches, refuse_settings
from .tasks import CountingTask, DrawingTask, schema_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Settings a session must have if they are set -> their values.
_COMMITTING = {
    "spark.speculation": "false",
    "spark.hadoop.outputCommitCoordination.enabled": "true",
    "spark.sql.sources.commitProtocolClass": (
        "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"
    ),
    "spark.sql.parquet.output.committer.class": "org.apache.parquet.hadoop.ParquetOutputCommitter",
    "spark.sql.sources.outputCommitterClass": "",
}

#: Files are moved into place when all tasks are done, not when each is: a task may still be run again.
_WRITING = {
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "true",
    "mapreduce.fileoutputcommitter.cleanup-failures.ignored": "false",
}

#: Names that Spark's committer leaves when it is done, and uses until then.
_DONE, _UNDONE = "_SUCCESS", "_temporary"

#: An empty file in a folder that a run is writing.
_CLAIM = "_writing"


@dataclass(frozen=True)
class SparkReports:
    """Reports on disk.

    Attributes
    ----------
    frame
        The reports, read back from disk: looking at them draws nothing.
    rows
        Number of reports.
    """

    frame: DataFrame
    rows: int


def perturb_on_spark(
    mechanism: Mechanism | Mapping[str, Mechanism],
    source: SparkSource,
    output: str | Path,
    on_progress: ProgressCallback | None = None,
) -> SparkReports:
    """Write one report for each value of a column: what each person's device would send.

    The output is a folder of Parquet files with the column ``report``, and the column of groups before it if there is
    one, in no particular order. A mistake in one true value leaves nothing behind, and the error says in how many rows
    there are mistakes.

    Parameters
    ----------
    mechanism
        The mechanism of the devices; one for each group, by its name, where the source has groups.
    source
        The true values.
    output
        A folder that does not exist yet, where the cluster can write and this process can read.
    on_progress
        Called with the share that is done, from 0 to 1.

    Examples
    --------
    ::

        source = SparkSource(spark.table("people"), "visits")
        reports = perturb_on_spark(dc.geometric(100, epsilon=1), source, "hdfs:///reports")
        reports.frame.count()
    """
    session, folder = source.session, _Folder(source.session, str(output))
    devices = Devices.of(mechanism, source.group)
    reading = source.reading(devices.truths)
    readings, names = [reading for _ in devices.names], [None] if source.group is None else devices.names
    rows = source.rows([devices.truths for _ in devices.names], readings, names)
    refuse_settings(session, {**_COMMITTING, **LOSSLESS})
    folder.refuse_unfit()
    check_executors(session)
    drawing = DrawingTask(rows, devices, session.sparkContext.accumulator(0))
    outcome = _write(source, drawing, folder, on_progress)
    if isinstance(outcome, DiscreetError):
        wrong = source.tally(CountingTask(rows, by_value=False)).wrong
        raise source.of_rows(wrong) if wrong else outcome
    return SparkReports(folder.read(drawing), outcome)


def _write(
    source: SparkSource, drawing: DrawingTask, folder: _Folder, on_progress: ProgressCallback | None
) -> int | DiscreetError:
    """Draw and write the reports; return their number, or the error, in which case nothing is left behind."""
    count, readable, is_complete = None, 0, False
    folder.claim()
    try:
        with report_progress(source.session, on_progress), logs_withheld():
            reports = map_batches(source.frame, drawing, drawing.schema)
            reports.write.mode("append").options(**_WRITING).parquet(folder.name)
        count = drawing.reports.value
        readable = folder.read(drawing).count() if folder.is_complete() else 0
        is_complete = 0 < count == readable
    except Exception:
        pass  # its message could quote a row
    finally:
        folder.leave() if is_complete else folder.delete()
    if count is None:
        return source.failed()
    if not count:
        return source.no_rows()
    if not is_complete:
        return SourceFailed(
            f"of {plural(count, 'report')}, {readable:,} could be read back from {folder.name}, and all were deleted. "
            "Name a folder that all executors and this process share."
        )
    return count


class _Folder:
    """A folder where the cluster writes, in any file system."""

    def __init__(self, session: SparkSession, name: str) -> None:
        context: Any = session.sparkContext  # its Java side has no types
        self.name, self._session, self._java = name, session, context._jvm
        try:
            self._folder: Any = self._java.org.apache.hadoop.fs.Path(name)
            self._system: Any = self._folder.getFileSystem(context._jsc.hadoopConfiguration())
            return
        except Exception:
            pass
        raise InvalidInput(f"cannot write to {name}: Spark does not know such a place.", argument="output")

    def _path(self, name: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(self._folder, name)

    def refuse_unfit(self) -> None:
        """Refuse a folder that exists, and a name that looks like a file of another kind."""
        if Path(self.name).suffix.lower() in (".csv", ".tsv", ".gz", ".duckdb", ".db"):
            raise InvalidInput.must_be(
                "output", "a new folder, for Parquet files", self.name, meaning="where reports go"
            )
        if self._system.exists(self._folder):
            raise self._exists()

    def claim(self) -> None:
        """Make the folder, so that of two runs at a time one writes."""
        self.refuse_unfit()
        created: bool | None = None
        with suppress(Exception):
            created = self._system.createNewFile(self._path(_CLAIM))
        if created is None:
            raise InvalidInput(
                f"cannot write to {self.name}: this user may not, or there is no room.", argument="output"
            )
        if not created:
            raise self._exists()

    def _exists(self) -> InvalidInput:
        is_unfinished = self._system.exists(self._path(_CLAIM))
        state = ": another run is writing it, or was stopped" if is_unfinished else "; it is not overwritten"
        return InvalidInput(
            f"{self.name} exists already{state}.", "Choose another name, or remove it.", argument="output"
        )

    def is_complete(self) -> bool:
        """Return whether the committer has moved all files into place."""
        return bool(self._system.exists(self._path(_DONE))) and not self._system.exists(self._path(_UNDONE))

    def read(self, drawing: DrawingTask) -> DataFrame:
        """Return the reports in the folder."""
        return self._session.read.schema(schema_sql(drawing.schema)).parquet(self.name)

    def leave(self) -> None:
        self._system.delete(self._path(_CLAIM), False)

    def delete(self) -> None:
        self._system.delete(self._folder, True)
