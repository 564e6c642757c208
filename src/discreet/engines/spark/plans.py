"""A query's physical plan, examined before it runs: only Spark's own file scans, without pushed-down conditions.

Everything else is refused: cached data, other sources, scans that may skip rows by statistics.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...errors import Unsupported
from .session import is_pinned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SCAN = "org.apache.spark.sql.execution.FileSourceScanExec"
_READERS = frozenset({
    "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat",
    "org.apache.spark.sql.execution.datasources.orc.OrcFileFormat",
    "org.apache.spark.sql.execution.datasources.text.TextFileFormat",  # lines of CSV
})  # fmt: skip
_INDEX = "org.apache.spark.sql.execution.datasources.InMemoryFileIndex"

#: Plan nodes of tables made here: declared values, and the empty table of a rehearsal.
_MADE_HERE = frozenset({
    "org.apache.spark.sql.execution.LocalTableScanExec",
    "org.apache.spark.sql.execution.RDDScanExec",
    "org.apache.spark.sql.execution.EmptyRelationExec",
})  # fmt: skip


def examine(query: DataFrame) -> None:
    """Refuse a query that would read anything but files as they are.

    Raises
    ------
    Unsupported
        If the settings of the session were changed, or the plan reads in a way that is not known here.
    """
    if not is_pinned(query.sparkSession):
        raise Unsupported("the settings of the session were changed after it was opened.", "Open the data again.")
    for leaf in leaves(query):
        kind = str(leaf.getClass().getName())
        if kind in _MADE_HERE:
            continue
        if kind != _SCAN:
            raise _refusal(f"by {kind.rpartition('.')[2]}")
        reader = str(leaf.relation().fileFormat().getClass().getName())
        if reader not in _READERS or str(leaf.relation().location().getClass().getName()) != _INDEX:
            raise _refusal(f"by {reader.rpartition('.')[2]}")
        pushed = leaf.metadata().get("PushedFilters")
        if pushed.isDefined() and pushed.get() != "[]":
            raise _refusal("with conditions handed to the reader of files, which may skip rows by statistics of others")


def leaves(query: DataFrame) -> Iterator[Any]:
    """Yield the leaves of a query's physical plan."""
    nodes = query._jdf.queryExecution().sparkPlan().collectLeaves()
    for place in range(nodes.size()):
        yield nodes.apply(place)


def _refusal(how: str) -> Unsupported:
    return Unsupported(f"Spark would read the data {how}.", "Use files that Spark reads itself: Parquet, ORC or CSV.")
