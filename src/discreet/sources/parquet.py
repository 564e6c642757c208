"""Columns of Parquet files that DuckDB converts while it reads them, which fails at values beyond its own range."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Annotations of Parquet columns -> why the engine could stop at one of their values.
_UNSAFE_ANNOTATIONS = {
    re.compile(r"TIMESTAMP_MILLIS|TimestampType\(.*MILLIS=Milli"): (
        "holds moments in milliseconds, and the engine would stop at one beyond the year 294,000"
    ),
    re.compile(r"TIME_MILLIS|TIME_MICROS|TimeType\("): (
        "holds times of day, and the engine would stop at one that is not within a day"
    ),
}


def annotations_sql(file: str) -> str:
    """Return SQL of the name and annotation of each column of a file. No row is read."""
    return f"SELECT name, concat_ws(' ', converted_type, logical_type) FROM parquet_schema({file})"


def unsafe_columns(annotations: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the columns at whose values the engine could stop, and why.

    >>> sorted(unsafe_columns([("born", "DATE"), ("seen", "TIMESTAMP_MILLIS")]))
    ['seen']
    """
    return {
        column: reason
        for column, annotation in annotations
        for pattern, reason in _UNSAFE_ANNOTATIONS.items()
        if pattern.search(annotation)
    }
