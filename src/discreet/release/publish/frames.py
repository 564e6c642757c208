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
from ...questions.domains import has_rest
from ...questions.groups import Value
from .levelled import LevelledTable
from .tables import SUPPRESSED, ReleasedTable

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
    """The columns of a released table, as its CSV file has them."""
    if isinstance(table, LevelledTable):
        return _with_totals(table)
    many, size = len(table.measures), table.counts.size
    flags = table.status.reshape(-1)
    unseen = flags == SUPPRESSED
    found = [Column("edition", "text", [table.edition] * size)] if table.edition else []
    for k, name in enumerate(table.by):
        labels = np.repeat(np.array(table.groups.labels(k), dtype=object), many).tolist()
        whole = table.groups.kinds[k] == "integer" and not has_rest(table.groups.values[k])
        if not whole:  # names of bands and of all other values are texts
            labels = [None if one is None else str(one) for one in labels]
        found.append(Column(name, "integer" if whole else "text", labels))
    if many > 1:
        found.append(Column("measure", "text", list(table.measures) * table.groups.size))
    found.append(Column("count", "integer", _known(table.counts.reshape(-1), unseen)))
    found.append(Column("status", "text", flags.tolist()))
    for column in table.columns:
        missing = unseen | table.open if column.name == "high" else unseen
        kind = "integer" if column.rounding is None else "number"
        found.append(Column(column.name, kind, _known(table.errors[column.name], missing)))
    return found


def _with_totals(table: LevelledTable) -> list[Column]:
    """The columns of a table with totals: values of groups are texts, among which "Total" may stand."""
    rows = table.rows()
    types = {"grouping": "integer", "count": "number", "sd": "number", "low": "integer", "high": "integer"}
    found = [Column("edition", "text", [table.edition] * len(rows))] if table.edition else []
    for name in table.headings[len(found) :]:
        kind = types.get(name, "integer" if name == "measured" else "text")
        values = [row[name] for row in rows]
        found.append(Column(name, kind, [one if one is None or kind != "text" else str(one) for one in values]))
    return found


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
