"""The columns of a released table with the type that their values have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...questions.groups import Value
from .columns import ErrorColumn

#: The types of columns, and what each is called in pandas, polars and Arrow.
TYPES = {
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
        Its heading in the CSV file.
    type
        One of :data:`TYPES`.
    values
        One for each count; None where there is none.
    """

    name: str
    type: str
    values: Sequence[Value | float]


def group_column(name: str, kind: str, labels: Sequence[Value]) -> Column:
    """Return numbers where all are numbers: the group of all other values has a name among them."""
    whole = kind == "integer" and all(value is None or type(value) is int for value in labels)
    return Column(name, "integer", labels) if whole else Column(name, "text", list(map(_text, labels)))


def _text(value: Value) -> str | None:
    return None if value is None else str(value)


def error_type(column: ErrorColumn) -> str:
    return "integer" if column.rounding is None else "number"
