"""Files that Spark reads: listed once, with sizes and times, and read as listed."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ...errors import InvalidInput, SourceFailed
from .dialect import SPARK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.types import StructType

#: An object of Spark's own, which has no types here.
JavaObject: TypeAlias = Any

#: Characters by which Hadoop recognises patterns. A name with one of them could match other files.
_PATTERN = re.compile(r"[*?\[\]{}\\]")

#: Maximum number of files whose states are read one by one; more are listed by the executors.
_MAX_DIRECT_LISTINGS = 100
_BYTE_ORDER_MARK = "\ufeff"

#: Maximum length of a CSV line in bytes, as in DuckDB: longer lines vanish.
_MAX_LINE_BYTES = 2_000_000

#: Options of the CSV parser: each line is one record, quotes are doubled, and all is text. The parser stops at a line
#: with more fields than its limit, so the limit is more than a line can have.
_CSV = {
    "sep": ",", "quote": '"', "escape": '"', "mode": "PERMISSIVE", "maxColumns": str(_MAX_LINE_BYTES + 1),
    "maxCharsPerColumn": "-1", "nullValue": "", "emptyValue": "",
}  # fmt: skip

#: Why a column is refused whose values Spark converts while it reads them.
_MILLISECONDS = "holds moments in milliseconds, and Spark would stop at one beyond the year 294,000"
_ORC_MOMENTS = "holds moments of ORC, and Spark would stop at some of those before 1970"


@dataclass(frozen=True)
class File:
    """A file in one state: its length in bytes, and when it was last written to, in milliseconds since 1970."""

    path: str
    length: int
    modified: int


@dataclass(frozen=True)
class SparkFiles:
    """A file or folder of one format.

    Attributes
    ----------
    root
        Its path.
    format
        One of ``session.FORMATS``.
    options
        Format options of a table in the catalogue, beyond the defaults.
    """

    root: str
    format: str
    options: Mapping[str, str] = field(default_factory=dict)

    def listed(self, session: SparkSession) -> tuple[File, ...]:
        """Return the files there are now. Their contents are not read.

        Raises
        ------
        InvalidInput
            Without any files, or if one would be read differently from what its name says.
        """
        if _PATTERN.search(self.root):
            raise InvalidInput(
                f"{self.root} is a pattern.", "Name a file or a folder, without any of * ? [ ] { }.", argument="data"
            )
        one = self._status(session)
        states = [_state(one)] if one is not None else _states(session.read.format("binaryFile").load(self.root))
        shown = [file for file in states if not os.path.basename(file.path).startswith((".", "_"))]  # as Spark does
        files = tuple(sorted(shown, key=lambda file: file.path))
        for file in files:
            if _PATTERN.search(file.path):
                raise InvalidInput(f"{file.path} has a sign of patterns in its name.", "Rename the file.")
        _refuse_links(files)
        return files

    def schema(self, session: SparkSession, files: Sequence[File]) -> StructType:
        """Return the columns, from footers or from the first lines. No row is read.

        Raises
        ------
        InvalidInput
            If files do not agree.
        """
        from pyspark.sql.types import StringType, StructField, StructType

        if not files:
            raise InvalidInput(f"{self.root} has no files.", argument="data")
        if self.format == "csv":
            partitions = session.read.format("binaryFile").load(self.root).columns[4:]
            names = [*_headings(session, self, files), *partitions]
            return StructType([StructField(name, StringType()) for name in names])
        reader = self._reader(session).option("mergeSchema", "true")
        return reader.load([file.path for file in files]).schema

    def unsafe_columns(self, session: SparkSession, schema: StructType, files: Sequence[File]) -> dict[str, str]:
        """Return the columns at whose values Spark could stop, by how they are stored, and why. No row is read."""
        from pyspark.sql.types import TimestampNTZType, TimestampType

        moments = [field.name for field in schema if isinstance(field.dataType, (TimestampType, TimestampNTZType))]
        if self.format == "orc":  # a moment without a zone is stored as a whole number
            return {name: _ORC_MOMENTS for name in moments if isinstance(schema[name].dataType, TimestampType)}
        if self.format != "parquet" or not moments:
            return {}
        footers = [_footer_schema(session, file.path) for file in files if file.length > 0]
        return {name: _MILLISECONDS for name in moments if any(_is_in_milliseconds(one, name) for one in footers)}

    def rows(self, session: SparkSession, schema: StructType, files: Sequence[File]) -> DataFrame:
        """Return the rows of listed files."""
        from pyspark.sql.types import StringType, StructField, StructType

        present = [file.path for file in files if file.length > 0]
        if not present:
            return empty(session, schema)
        line = "_" * (1 + max(map(len, schema.names)))  # longer than any column's name
        stored = StructType([StructField(line, StringType())]) if self.format == "csv" else schema
        rows = self._reader(session).schema(stored).load(present)
        if _index(rows).rootPaths().size() != len(present):
            raise SourceFailed(f"{self.root} would be read as other files than it has, and nothing was spent.")
        if self.format == "csv":
            return self._parsed(rows, schema, _first_line(session, present[0]))
        return rows

    def _parsed(self, lines: DataFrame, schema: StructType, heading: str) -> DataFrame:
        """Return the records of lines of CSV; no record is a line that is blank, too long, or the heading.

        Spark's own reader of CSV stops at a line with more fields than it takes. Here a line is measured before it is
        parsed, by the expression that passes it to the parser, so that no planner can parse another line.
        """
        from pyspark.sql.functions import col, expr, from_csv, lit, nullif

        line, *partitions = (SPARK.quoted(name) for name in lines.columns)
        file_columns = schema.names[: len(schema.names) - len(partitions)]
        short = f"octet_length({line}) <= {_MAX_LINE_BYTES}"
        is_record = (
            f"{short} AND {line} RLIKE '[^\\\\x00-\\\\x20]' "
            f"AND make_valid_utf8({line}) <> {SPARK.text(heading.removeprefix(_BYTE_ORDER_MARK))}"
        )
        types = ", ".join(f"{SPARK.quoted(name)} STRING" for name in file_columns)
        parsed = from_csv(expr(f"CASE WHEN {short} THEN {line} END"), types, {**_CSV, **self.options})
        records = lines.where(SPARK.row_test(is_record)).select(parsed.alias("record"), *map(col, partitions))
        # an empty field is a missing one, in quotes as well
        fields = [nullif(col(f"record.{SPARK.quoted(name)}"), lit("")).alias(name) for name in file_columns]
        return records.select(*fields, *map(col, partitions))

    def _reader(self, session: SparkSession) -> DataFrameReader:
        """Return the partitions that folders below the root name, such as ``year=2024``."""
        reader = session.read.format("text" if self.format == "csv" else self.format)
        return reader if self._status(session) is not None else reader.option("basePath", self.root)

    def _status(self, session: SparkSession) -> JavaObject:
        """Return the file system's entry for a single file; None for a folder or a missing file."""
        java: JavaObject = session._jvm
        where = java.org.apache.hadoop.fs.Path(self.root)
        with suppress(Exception):  # Spark reports missing files in its own way
            status = where.getFileSystem(session._jsc.hadoopConfiguration()).getFileStatus(where)
            return status if status.isFile() else None
        return None


def empty(session: SparkSession, schema: StructType) -> DataFrame:
    """Return a table of the same columns without rows."""
    return session.createDataFrame(session.sparkContext.emptyRDD(), schema)


def _index(frame: DataFrame) -> JavaObject:
    """Return Spark's own list of the files of a frame just loaded, without making a plan."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    if leaves.size() != 1:
        raise SourceFailed("Spark would read other files than were named, and nothing was spent.")
    return leaves.apply(0).relation().location()


def _states(listed: DataFrame) -> list[File]:
    """Ask for few files one by one, which is faster than the executors that list many."""
    files = _index(listed).allFiles()
    if files.size() > _MAX_DIRECT_LISTINGS:
        return [File(*row) for row in listed.selectExpr("path", "length", "unix_millis(modificationTime)").collect()]
    return [_state(files.apply(place)) for place in range(files.size())]


def _state(status: JavaObject) -> File:
    return File(str(status.getPath().toString()), int(status.getLen()), int(status.getModificationTime()))


def _refuse_links(files: Sequence[File]) -> None:
    """Refuse a file that two links name; only files of this computer can be checked."""
    seen: dict[tuple[int, int], str] = {}
    for file in files:
        if not file.path.startswith("file:"):
            continue
        path = re.sub("^file:/*", "/", file.path)
        with suppress(OSError):  # a cluster's files may be of other computers
            state = os.stat(path)
            if (other := seen.setdefault((state.st_dev, state.st_ino), path)) != path:
                raise InvalidInput(
                    f"{path} and {other} are one file, which would be read twice.", "Remove one of them."
                )


def _headings(session: SparkSession, place: SparkFiles, files: Sequence[File]) -> list[str]:
    """Return the names in the first lines of files of CSV, which must be the same."""
    lines = {_first_line(session, file.path): file.path for file in files if file.length > 0}
    if len(lines) > 1:
        one, other, *_ = lines.values()
        raise InvalidInput(f"{one} and {other} have different first lines.", "Give all files the same columns.")
    if not lines:
        raise InvalidInput(f"the files of {place.root} are empty.", "Their first lines must name the columns.")
    (line,) = lines
    names = next(csv.reader([line.removeprefix(_BYTE_ORDER_MARK)], delimiter=place.options.get("sep", ",")), [])
    if not names or "" in names or len(set(names)) < len(names):
        raise InvalidInput(
            f"the first line of {place.root} must name every column, each with a name of its own.", argument="data"
        )
    return names


def _footer_schema(session: SparkSession, path: str) -> JavaObject:
    """Return the columns as a Parquet file states them."""
    java: JavaObject = session._jvm
    where = java.org.apache.hadoop.fs.Path(path)
    footer = java.org.apache.parquet.hadoop.ParquetFileReader.readFooter(session._jsc.hadoopConfiguration(), where)
    return footer.getFileMetaData().getSchema()


def _is_in_milliseconds(footer: JavaObject, name: str) -> bool:
    """Return whether a file states that a column, if it has it, is counted in milliseconds."""
    return footer.containsField(name) and "MILLIS" in str(footer.getType(name).getLogicalTypeAnnotation())


def _first_line(session: SparkSession, path: str) -> str:
    """Return the first line of a file, unpacked."""
    java: JavaObject = session._jvm
    settings = session._jsc.hadoopConfiguration()
    where = java.org.apache.hadoop.fs.Path(path)
    stream = where.getFileSystem(settings).open(where)
    codec = java.org.apache.hadoop.io.compress.CompressionCodecFactory(settings).getCodec(where)
    if codec is not None:
        stream = codec.createInputStream(stream)
    reader = java.java.io.BufferedReader(java.java.io.InputStreamReader(stream, "UTF-8"))
    try:
        return reader.readLine() or ""
    finally:
        reader.close()
