"""The data behind a name, opened to be counted by the engine that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from ..addresses import FILE, Address, no_engine, read_address
from ..errors import WrongType, arg
from .base import Counting, Source
from .duckdb.files import open_counted_files
from .postgres.source import open_database
from .spark.source import open_session, open_spark

__all__ = ["Counting", "Source", "columns_of", "open_source"]


#: The schemes of data -> how its engine opens it.
OPENERS: Mapping[str, Callable[[Address], Source]] = {
    FILE: open_counted_files,
    "duckdb": open_counted_files,
    "postgresql": open_database,
    "spark": open_spark,
}


def open_source(data: object) -> Source:
    """Open the data behind an address (``addresses.py``); a source passes as it is.

    ``.csv`` or ``.tsv`` (also ``.gz``, ``.zst``); ``.parquet``: a file, a folder of such files, or a pattern like
    ``visits_*.parquet``; ``.duckdb`` or ``.db``, or any name behind ``duckdb:``; ``postgresql://user@host/study``;
    ``spark://host:7077?table=visits``.

    >>> open_source("visits.xlsx")
    Traceback (most recent call last):
    discreet.errors.UnreadableFile: cannot read visits.xlsx: there is no such file.
    """
    if isinstance(data, str | Path | Address):
        address = read_address(data)
        if address.scheme not in OPENERS:
            raise no_engine(address)
        return OPENERS[address.scheme](address)
    if _is_spark_session(data):
        return open_session(data)  # type: ignore[arg-type]
    _refuse_in_memory(data)
    return cast(Source, data)


def columns_of(data: str | Path | Address) -> set[str] | None:
    """The names of all columns of all tables of some data, or None if there is no such file."""
    address = read_address(data)
    if not address.may_be_opened:
        return None
    return open_source(address).column_names()


def _is_spark_session(data: object) -> bool:
    """Whether this is a session of Spark, which was imported if there is one."""
    return type(data).__name__ == "SparkSession" and type(data).__module__.startswith("pyspark.sql.")


def _refuse_in_memory(data: object) -> None:
    """Refuse a table that is in memory: a release is bound to a file, by the name that its ledger has.

    >>> _refuse_in_memory([1, 2])
    Traceback (most recent call last):
    discreet.errors.WrongType: data must be a file; got a list. Save it as .csv or .parquet, and give data='people.csv'.
    """
    if hasattr(data, "rehearse"):
        return
    saved = next((line for method, line in _SAVED.items() if hasattr(data, method)), None)
    advice = f"Save it as .csv or .parquet, and give {arg('data', 'people.csv')}."
    if saved is not None:
        advice = f"Save it, and give that file: {saved}"
    raise WrongType(f"data must be a file; got a {type(data).__name__}. {advice}")


#: How tables in memory are saved, by a method that tells them apart: polars (all of it at once, or as a query), pandas,
#: Arrow.
_SAVED = {
    "sink_parquet": "df.sink_parquet('people.parquet')",
    "write_parquet": "df.write_parquet('people.parquet')",
    "to_csv": "df.to_csv('people.csv', index=False)",
    "to_pandas": "pyarrow.parquet.write_table(table, 'people.parquet')",
}
