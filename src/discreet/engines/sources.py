"""The data behind a name, opened to be counted by the engine that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias, cast

from ..addresses import FILE, Address, no_engine, read_address
from ..errors import InvalidInput, arg
from ..sources.files import refuse_encoding
from .arrow.foreign import not_a_table
from .arrow.source import TablesTogether, open_table
from .arrow.tables import ArrowStream, table_in_memory
from .base import Counting, Source
from .duckdb.files import CountedFiles, FilesTogether, open_counted_files
from .postgres.source import open_database
from .spark.session import AnySparkSession, is_spark_session
from .spark.source import CountedSpark, open_session, open_spark, read_together

__all__ = ["Counting", "Data", "Source", "columns_of", "open_source"]

#: Data for a release: an address, a table in memory, a session of Spark, or an open source.
Data: TypeAlias = str | Path | Source | ArrowStream | AnySparkSession

#: Schemes of data -> the function by which its engine opens it.
OPENERS: Mapping[str, Callable[[Address], Source]] = {
    FILE: open_counted_files,
    "duckdb": open_counted_files,
    "postgresql": open_database,
    "spark": open_spark,
}


def open_source(data: object, dataset: str | None = None, encoding: str | None = None) -> Source:
    """Open the data behind an address (``addresses.py``), or a table in memory; a source passes as it is.

    ``.csv`` or ``.tsv`` (also ``.gz``, ``.zst``); ``.parquet``: a file, a folder of such files, or a pattern like
    ``visits_*.parquet``; ``.duckdb`` or ``.db``, or any name behind ``duckdb:``; ``postgresql://user@host/study``;
    ``spark://host:7077?table=visits``. A DataFrame of pandas or polars, a table of pyarrow and the catalogue of a Spark
    session are called as ``dataset`` says. A CSV file is read in its ``encoding``, which is UTF-8 where none is given.

    >>> open_source("visits.xlsx")
    Traceback (most recent call last):
    discreet.errors.UnreadableFile: cannot read visits.xlsx: there is no such file.
    """
    if isinstance(data, str | Path | Address):
        address = read_address(data)
        if address.scheme not in OPENERS:
            raise no_engine(address)
        if encoding is not None:
            refuse_encoding(address, encoding)
            return open_counted_files(address, encoding)
        return OPENERS[address.scheme](address)
    if hasattr(data, "rehearse"):
        return cast(Source, data)
    table = table_in_memory(data)
    if table is not None:
        return open_table(table, _named(dataset, "a table in memory"))
    if is_spark_session(data):
        return open_session(data, _named(dataset, "a session of Spark"))
    raise not_a_table(data)


def open_tables(places: Mapping[str, tuple[str, str | None]]) -> Source:
    """Open tables of the same people, which questions may join: files, one database, or one cluster of Spark.

    ``places`` are the address and the encoding of each table, by its name; the data set is called as the first.
    """
    if len({place for place, _ in places.values()}) == 1:
        return open_source(next(iter(places.values()))[0])
    opened: dict[str, Source] = {}
    files: dict[str, CountedFiles] = {}
    on_spark: dict[str, CountedSpark] = {}
    for name, (place, encoding) in places.items():
        source = opened.setdefault(place, open_source(place, encoding=encoding)).call_table(name)
        if isinstance(source, CountedFiles):
            files[name] = source
        elif isinstance(source, CountedSpark):
            on_spark[name] = source
    dataset = next(iter(opened.values())).dataset
    if len(on_spark) == len(places):
        return read_together(on_spark, dataset)
    if len(files) < len(places):
        raise InvalidInput(
            "the tables of a question are in different databases.",
            "Join files with files, and tables of one database or cluster with each other.",
            argument="data",
        )
    return FilesTogether(dataset, files)


def open_tables_in_memory(tables: Mapping[str, object], dataset: str) -> Source:
    """Open tables of the same people that are not in files, by name, as one data set.

    Each is a table in memory, or each is the same session of Spark, whose catalogue has them under these names.
    """
    first = next(iter(tables.values()))
    if is_spark_session(first) and all(data is first for data in tables.values()):
        return open_session(first, dataset)
    sources = {}
    for name, data in tables.items():
        table = table_in_memory(data)
        if table is None:
            raise not_a_table(data)
        sources[name] = open_table(table, name)
    return TablesTogether(dataset, sources)


def _named(dataset: str | None, what: str) -> str:
    if dataset is None:
        raise InvalidInput(
            f"{what} has no name of its own.", f"Name the data set, as its ledger does: {arg('dataset', 'visits')}."
        )
    return dataset


def columns_of(data: str | Path | Address) -> set[str] | None:
    """Return the names of all columns of all tables of some data, or None if there is no such file."""
    address = read_address(data)
    if not address.may_be_opened:
        return None
    return open_source(address).column_names()
