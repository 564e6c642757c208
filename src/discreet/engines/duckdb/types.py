"""DuckDB's types of columns: what kind each is, and whether it can name people."""

from __future__ import annotations

import re

from ...errors import InvalidInput

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
    """What a column of a DuckDB type is, as far as reading it matters (one of ``expressions.KINDS``)."""
    stored = stored.upper()
    if stored in _KINDS:
        return _KINDS[stored]
    return "number" if stored.startswith("DECIMAL") and stored.endswith(")") else "other"


_KINDS = {
    **dict.fromkeys(
        ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
        "integer",
    ),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "number"),
    "TIMESTAMP": "timestamp",  # coarser and finer ones are read through their text: the engine rounds when it casts
    "VARCHAR": "text",
    "BOOLEAN": "boolean",
    "DATE": "date",
}
