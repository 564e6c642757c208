"""The column behind an address, opened where it is kept: in files, or on a Spark cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..addresses import read_address
from ..mechanism import Mechanism
from ..spaces import Space
from .columns import ProgressCallback
from .spark.source import SparkSource
from .spark.write import perturb_on_spark
from .tables import FileColumn, perturb_column


def open_column(
    data: str | Path,
    column: str | Sequence[str] | None = None,
    table: str | None = None,
    *,
    group: str | None = None,
    values: Space | None = None,
) -> FileColumn | SparkSource:
    """Open a column, or the two columns of a place.

    Parameters
    ----------
    data
        A file (.csv, .parquet, .duckdb), or an address of Spark: ``spark://host:7077?table=visits``.
    column, table, group, values
        As for :class:`~discreet.collect.tables.FileColumn`.
    """
    address = read_address(data)
    if address.scheme == "spark":
        return SparkSource(address, column, table, group=group)
    return FileColumn(data, column, table, group=group, values=values)


def write_reports(
    mechanism: Mechanism | Mapping[str, Mechanism],
    source: FileColumn | SparkSource,
    output: str | Path,
    on_progress: ProgressCallback | None = None,
) -> int:
    """Write one report for each value of a column, where the column is, and return their number."""
    if isinstance(source, SparkSource):
        return perturb_on_spark(mechanism, source, output, on_progress).rows
    return perturb_column(mechanism, source, output, on_progress)
