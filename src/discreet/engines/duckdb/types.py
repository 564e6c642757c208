"""DuckDB's types of columns: how each is read so that no value fails, what kind it is, whether it can name people."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...errors import InvalidInput
from ...sources.sql import quoted

#: The types that are read as they are: no reading of any of their values fails, nor does their text.
_READ_AS_STORED = re.compile(
    r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL\([0-9, ]+\)|BIGNUM|BOOLEAN|VARCHAR|JSON|UUID"
    r"|BLOB|BIT|ENUM\(.*\)|DATE|INTERVAL|TIMESTAMP_NS"
    r"|TIMESTAMP WITH TIME ZONE|TIMESTAMPTZ(_NS)?|TIME WITH TIME ZONE|TIMETZ",
    re.DOTALL,
)
#: Nested types are read as they are too, but for those that can hold a moment or a time of day.
_NESTED = re.compile(r"(?!.*(TIME|VARIANT|GEOMETRY))((STRUCT|MAP|UNION)\(.*\)|.*\[[0-9]*\])", re.DOTALL)

#: The first moment that has a text, before which there is only -infinity.
_FIRST_MOMENT = "TIMESTAMP '290309-12-22 (BC) 00:00:00'"
_MOMENT = f"CASE WHEN {{0}} >= {_FIRST_MOMENT} OR {{0}} = TIMESTAMP '-infinity' THEN {{0}} END"
_TIME = "CASE WHEN {{0}} BETWEEN CAST('00:00:00' AS {0}) AND CAST('24:00:00' AS {0}) THEN {{0}} END"

#: How columns of other types are read, and as which type. A value that the engine cannot write counts as missing, since
#: every reading would stop at it later.
_GUARDED = {
    "TIMESTAMP_S": (_MOMENT.format("TRY_CAST({0} AS TIMESTAMP)"), "TIMESTAMP"),
    "TIMESTAMP_MS": (_MOMENT.format("TRY_CAST({0} AS TIMESTAMP)"), "TIMESTAMP"),
    "TIMESTAMP": (_MOMENT, "TIMESTAMP"),
    "TIME": (_TIME.format("TIME"), "TIME"),
    "TIME_NS": (_TIME.format("TIME_NS"), "TIME_NS"),
}


def guarded_reading(stored: str) -> tuple[str, str]:
    """Return SQL that reads a stored value, called ``{0}`` in it, and the type that it is read as.

    >>> guarded_reading("INTEGER")
    ('{0}', 'INTEGER')
    """
    return _GUARDED.get(stored.upper(), ("{0}", stored))


def guarded_rows(rows: str, columns: Mapping[str, str]) -> str:
    """Return SQL that stands after FROM: the rows behind such SQL, with some columns read so that no value can fail.

    Parameters
    ----------
    rows
        SQL that stands after FROM.
    columns
        The columns that are read, and the type that each is stored as.
    """
    if not any(stored.upper() in _GUARDED for stored in columns.values()):
        return rows
    reads = (f"{guarded_reading(stored)[0].format(quoted(name))} AS {quoted(name)}" for name, stored in columns.items())
    return f"(SELECT {', '.join(reads)} FROM {rows}) AS guarded"


def refuse_unreadable(table: str, column: str, stored: str) -> None:
    """Refuse a column of a type of which a value could make a reading fail."""
    if stored.upper() in _GUARDED or _READ_AS_STORED.fullmatch(stored.upper()) or _NESTED.fullmatch(stored.upper()):
        return
    raise InvalidInput(
        f"{column!r} of {table} is stored as {stored}: the engine could stop at one of its values.",
        "Store it as text, numbers, dates or moments in microseconds.",
    )


#: The types whose text tells any two values apart and is the same whenever the values are: not floats (0.0 and -0.0,
#: NaN), not moments with a time zone (written in the reader's zone), nothing nested, no UNION or VARIANT.
_NAMES_PEOPLE = re.compile(
    r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|VARCHAR|BOOLEAN|DATE|TIMESTAMP(_S|_MS|_NS)?|UUID"
    r"|DECIMAL\([0-9, ]+\)|ENUM\(.*\)",
    re.DOTALL,
)


def refuse_as_unit(column: str, stored: str) -> None:
    """Refuse a column of a type that cannot name people."""
    if not _NAMES_PEOPLE.fullmatch(stored.upper()):
        raise InvalidInput(
            f"{column!r} is stored as {stored} and cannot name people: two values may have one text, or one value two.",
            "Store it as text or whole numbers (of a pandas column of numbers: .astype('Int64')).",
        )


def kind_of(stored: str) -> str:
    """Return the kind of a DuckDB type (one of ``expressions.KINDS``)."""
    stored = stored.upper()
    if stored in _KINDS:
        return _KINDS[stored]
    return "number" if stored.startswith("DECIMAL") and stored.endswith(")") else "other"


def joined_kind_of(stored: str) -> str:
    """Return the kind of a column that names people, as joins compare it."""
    return "uuid" if stored.upper() == "UUID" else kind_of(guarded_reading(stored)[1])


_KINDS = {
    **dict.fromkeys(
        ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
        "integer",
    ),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "number"),
    "TIMESTAMP": "timestamp",  # finer ones are read through their text: the engine rounds when it casts
    "VARCHAR": "text",
    "BOOLEAN": "boolean",
    "DATE": "date",
}
