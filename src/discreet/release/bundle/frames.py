"""Released tables as data frames of pandas, polars and Arrow, with typed columns.

Integers stay integers where some are missing (a suppressed count, an interval without an end, rows without a value),
texts stay texts, and no column holds Python objects.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...errors import MissingExtra
from ..tables.released import ReleasedTable
from ..tables.typed_columns import COLUMN_TYPES


def to_pandas(table: ReleasedTable) -> Any:
    """Return the table as a ``pandas.DataFrame`` with nullable types, so that missing counts do not make floats."""
    pandas = load_package("pandas")
    columns = table.typed_columns()
    return pandas.DataFrame({one.name: pandas.array(one.values, dtype=COLUMN_TYPES[one.type][0]) for one in columns})


def to_polars(table: ReleasedTable) -> Any:
    """Return the table as a ``polars.DataFrame``."""
    polars = load_package("polars")
    columns = table.typed_columns()
    return polars.DataFrame(
        [polars.Series(one.name, one.values, dtype=getattr(polars, COLUMN_TYPES[one.type][1])) for one in columns]
    )


def to_arrow(table: ReleasedTable) -> Any:
    """Return the table as a ``pyarrow.Table``."""
    arrow = load_package("pyarrow")
    columns = table.typed_columns()
    return arrow.table(
        {one.name: arrow.array(one.values, type=getattr(arrow, COLUMN_TYPES[one.type][2])()) for one in columns}
    )


def load_package(name: str) -> Any:
    """Import an optional package, or say which extra installs it."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra(name, "frames") from None
