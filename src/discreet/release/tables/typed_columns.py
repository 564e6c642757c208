"""The columns of a released table with the types of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...questions.groups import Value
from .columns import ErrorColumn

#: Type of a column -> its name in pandas, polars and Arrow.
COLUMN_TYPES = {
    "integer": ("Int64", "Int64", "int64"),
    "text": ("string", "String", "string"),
    "number": ("Float64", "Float64", "float64"),
}


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a released table.

    Attributes
    ----------
    name
        The heading in the CSV file.
    type
        One of :data:`COLUMN_TYPES`.
    values
        One value for each count; None if missing.
    """

    name: str
    type: str
    values: Sequence[Value | float]


def group_column(name: str, kind: str, labels: Sequence[Value]) -> Column:
    """Return a column of integers if all labels are; the group of all other values has a text as its label."""
    whole = kind == "integer" and all(value is None or type(value) is int for value in labels)
    return Column(name, "integer", labels) if whole else Column(name, "text", list(map(_text, labels)))


def _text(value: Value) -> str | None:
    """Return a label as text; None stays None."""
    return None if value is None else str(value)


def error_type(column: ErrorColumn) -> str:
    """Return the type of an error column."""
    return "integer" if column.rounding is None else "number"
