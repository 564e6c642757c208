"""The column behind an address, opened where it is kept: in files, or on a Spark cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..addresses import read_address
from ..mechanism import Mechanism
from ..spaces import Space
from .columns import Tell
from .spark.source import SparkSource
from .spark.writing import perturb_on_spark
from .tables import Source, perturb_column


def open_column(
    data: str | Path,
    column: str | Sequence[str] | None = None,
    table: str | None = None,
    *,
    group: str | None = None,
    values: Space | None = None,
) -> Source | SparkSource:
    """Open a column, or the two columns of a place.

    Parameters
    ----------
    data
        A file (.csv, .parquet, .duckdb), or an address of Spark: ``spark://host:7077?table=visits``.
    column, table, group, values
        As for :class:`~discreet.collect.tables.Source`.
    """
    address = read_address(data)
    if address.scheme == "spark":
        return SparkSource(address, column, table, group=group)
    return Source(data, column, table, group=group, values=values)


def write_reports(
    mechanism: Mechanism | Mapping[str, Mechanism],
    source: Source | SparkSource,
    output: str | Path,
    tell: Tell | None = None,
) -> int:
    """Write one report for each value of a column, where the column is. Returns how many."""
    if isinstance(source, SparkSource):
        return perturb_on_spark(mechanism, source, output, tell).rows
    return perturb_column(mechanism, source, output, tell)
