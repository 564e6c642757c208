"""Released tables as data frames of pandas, polars and Arrow: each column with the type that its values have.

Whole numbers are whole numbers also where some are missing (a suppressed count, an interval without an end, rows
without a value), texts are texts, and no column holds Python objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ...errors import MissingExtra
from ...exact.arrays import Array, BoolArray
from ...questions.groups import Value
from ..noise.accuracy import NO_END
from .levelled import LevelledTable
from .tables import SUPPRESSED, ErrorColumn, ReleasedTable

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


def columns(table: ReleasedTable) -> list[Column]:
    """The columns of a released table, as its CSV file has them.

    A column that a count is summed over reads "Total", so that such columns are texts; ``grouping`` tells it from a
    value of that name.
    """
    if isinstance(table, LevelledTable):
        return _levelled(table)
    many, size = len(table.measures), table.counts.size
    flags = table.status.reshape(-1)
    unseen = flags == SUPPRESSED
    found = [Column("edition", "text", [table.edition] * size)] if table.edition else []
    for k, name in enumerate(table.by):
        labels = np.repeat(np.array(table.groups.labels(k), dtype=object), many).tolist()
        found.append(_group_column(name, table.groups.kinds[k], labels))
    if many > 1:
        found.append(Column("measure", "text", list(table.measures) * table.groups.size))
    found.append(Column("count", "integer", _known(table.counts.reshape(-1), unseen)))
    found.append(Column("status", "text", flags.tolist()))
    for column in table.columns:
        values = table.errors[column.name]
        missing = unseen | (values == NO_END) if column.rounding is None else unseen
        found.append(Column(column.name, _error_type(column), _known(values, missing)))
    return found


def _levelled(table: LevelledTable) -> list[Column]:
    rows = table.rows()
    found = [Column("edition", "text", [table.edition] * len(rows))] if table.edition else []
    found.append(Column("grouping", "integer", [row["grouping"] for row in rows]))
    for k, name in enumerate(table.by):
        found.append(_group_column(name, table.groups.kinds[k], [row[name] for row in rows]))
    if len(table.measures) > 1:
        found.append(Column("measure", "text", [row["measure"] for row in rows]))
    found.append(Column("count", "number", [row["count"] for row in rows]))
    found.append(Column("status", "text", [row["status"] for row in rows]))
    found += [Column(one.name, _error_type(one), [row[one.name] for row in rows]) for one in table.columns]
    return found


def _group_column(name: str, kind: str, labels: Sequence[Value]) -> Column:
    """Numbers where all are numbers: the group of all other values has a name among them."""
    whole = kind == "integer" and all(value is None or type(value) is int for value in labels)
    return Column(name, "integer", labels) if whole else Column(name, "text", list(map(_text, labels)))


def _text(value: Value) -> str | None:
    return None if value is None else str(value)


def _error_type(column: ErrorColumn) -> str:
    return "integer" if column.rounding is None else "number"


def _known(values: Array, missing: BoolArray) -> list[Any]:
    found = values.astype(object)
    found[missing] = None
    return list(found.tolist())


def to_pandas(table: ReleasedTable) -> Any:
    """The table as a ``pandas.DataFrame``: nullable types, so that a missing count does not make counts floats."""
    pandas = _package("pandas")
    return pandas.DataFrame({one.name: pandas.array(one.values, dtype=TYPES[one.type][0]) for one in columns(table)})


def to_polars(table: ReleasedTable) -> Any:
    """The table as a ``polars.DataFrame``."""
    polars = _package("polars")
    return polars.DataFrame(
        [polars.Series(one.name, one.values, dtype=getattr(polars, TYPES[one.type][1])) for one in columns(table)]
    )


def to_arrow(table: ReleasedTable) -> Any:
    """The table as a ``pyarrow.Table``."""
    arrow = _package("pyarrow")
    return arrow.table(
        {one.name: arrow.array(one.values, type=getattr(arrow, TYPES[one.type][2])()) for one in columns(table)}
    )


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra(name, "frames") from None
