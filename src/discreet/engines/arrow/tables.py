"""Tables in memory as three libraries hold them: their columns, by type alone, and their rows as a stream of Arrow.

None of the libraries is imported before a table of theirs is given: then they are there. Polars and pyarrow hand their
columns over themselves; columns of pandas become Arrow through pyarrow.
"""

from __future__ import annotations

import codecs
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ...errors import MissingExtra


class ArrowStream(Protocol):
    """An object with Arrow's stream of record batches, such as a table of pandas, polars or pyarrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a capsule with the stream."""


class RowStream:
    """An object that offers only a stream, so that the engine does not recognise its library's class."""

    def __init__(self, rows: ArrowStream) -> None:
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)


class TableInMemory(ABC):
    """A table of one library. The table itself is kept, not a copy of it."""

    def __init__(self, table: Any) -> None:
        self._table = table

    @abstractmethod
    def names(self) -> list[object]:
        """Return the names of the columns, which need not be texts, in their order."""

    @abstractmethod
    def types(self) -> list[Any]:
        """Return the types of the columns in the library's own words."""

    @abstractmethod
    def is_countable(self, kind: Any) -> bool:
        """Return whether a column of that type is read here. No value is looked at."""

    @abstractmethod
    def size(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def stream(self, places: Sequence[int], *, empty: bool) -> RowStream:
        """Return the columns at these places as ``c0, c1, ...``: all rows, or none of them."""

    def is_null(self, kind: Any) -> bool:
        """Return whether a type has no values, so that every row of the column is missing."""
        return str(kind).casefold() == "null"

    def index_names(self) -> list[str]:
        """Return names of an index or other extras that are not read as columns."""
        return []

    def note(self, name: str, kind: Any) -> str | None:
        """Return what a person should know about how a column of that type is read."""
        return None

    def hides_missing(self, kind: object) -> bool:
        """Return whether a type has no missing values, so that something else, such as NaN, stands for them."""
        return False


def table_in_memory(data: object) -> TableInMemory | None:
    """Return the table if it is one of the three libraries'; None for a query or an unread stream."""
    for (library, name), adapter in _ADAPTERS.items():
        kind = getattr(sys.modules.get(library), name, None)
        if kind is not None and isinstance(data, kind):
            return adapter(data)
    return None


# ------------------------------------------------------------------------------------------------ pyarrow

#: Types of Arrow as pyarrow writes them. Moments with a time zone in seconds or milliseconds are not among them: the
#: engine would stop at one that is too far away.
_PLAIN = r"u?int(8|16|32|64)|(large_)?string|string_view"
_ARROW = re.compile(
    rf"{_PLAIN}|float|double|bool|date32\[day\]|timestamp\[(s|ms|us|ns)\]|timestamp\[(us|ns), tz=.*\]"
    rf"|decimal(32|64|128)\(\d+, \d+\)|null|extension<arrow\.uuid>"
    rf"|dictionary<values=({_PLAIN}), indices=u?int\d+, ordered=[01]>"
)


def _mark_unreadable(problem: UnicodeError) -> tuple[str, int]:
    """Replace each byte that is not UTF-8 by a question mark, as in Parquet files."""
    assert isinstance(problem, UnicodeDecodeError)
    return "?" * (problem.end - problem.start), problem.end


codecs.register_error("discreet.question_marks", _mark_unreadable)


class _ArrowTable(TableInMemory):
    def names(self) -> list[object]:
        return list(self._table.schema.names)

    def types(self) -> list[Any]:
        return list(self._table.schema.types)

    def is_countable(self, kind: Any) -> bool:
        return _ARROW.fullmatch(str(kind)) is not None

    def size(self) -> int:
        return int(self._table.num_rows)

    def stream(self, places: Sequence[int], *, empty: bool) -> RowStream:
        part = self._table.select(list(places))
        return _arrow_rows([part.column(place) for place in range(len(places))], empty=empty)


def _arrow_rows(columns: Sequence[Any], *, empty: bool) -> RowStream:
    import pyarrow

    valid_columns = [column.slice(0, 0) if empty else _mended(column) for column in columns]
    return RowStream(pyarrow.table(valid_columns, names=[f"c{place}" for place in range(len(columns))]))


def _mended(column: Any) -> Any:
    """Return a column whose texts are valid UTF-8, which Arrow does not promise and the engine insists on."""
    import pyarrow

    if "string" not in str(column.type):
        return column
    try:
        column.validate(full=True)
        return column
    except pyarrow.ArrowInvalid:
        pass
    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
        column = column.cast(kind)
    raw = column.cast(pyarrow.binary_view() if kind == pyarrow.string_view() else pyarrow.large_binary())
    texts = [None if value is None else value.decode("utf-8", "discreet.question_marks") for value in raw.to_pylist()]
    return pyarrow.array(texts, pyarrow.large_string())


# ------------------------------------------------------------------------------------------------ polars

_POLARS = re.compile(
    r"U?Int(8|16|32|64)|Float(32|64)|String|Boolean|Date|Datetime\(time_unit='(ms|us|ns)', time_zone=None\)"
    r"|Datetime\(time_unit='(us|ns)', time_zone='.*'\)|Decimal\(precision=\w+, scale=\d+\)|Categorical(\(.*\))?"
    r"|Enum\(.*\)|Null",
    re.DOTALL,
)


class _PolarsFrame(TableInMemory):
    def names(self) -> list[object]:
        return list(self._table.columns)

    def types(self) -> list[Any]:
        return list(self._table.dtypes)

    def is_countable(self, kind: Any) -> bool:
        return _POLARS.fullmatch(str(kind)) is not None

    def size(self) -> int:
        return int(self._table.height)

    def stream(self, places: Sequence[int], *, empty: bool) -> RowStream:
        names = self._table.columns
        part = self._table.select([names[place] for place in places])
        return RowStream((part.clear() if empty else part).rename(lambda name: f"c{part.columns.index(name)}"))


# ------------------------------------------------------------------------------------------------ pandas


class _PandasFrame(TableInMemory):
    """A frame of pandas. Its index is not read.

    NaN in a column of NumPy's floats is a value, as in Arrow: the type cannot tell it from a missing one. In the types
    that can (``Float64``, ``double[pyarrow]``) what is missing is missing.
    """

    def __init__(self, table: Any) -> None:
        super().__init__(table)
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise MissingExtra("pyarrow", "frames") from None

    def names(self) -> list[object]:
        return list(self._table.columns)

    def types(self) -> list[Any]:
        return list(self._table.dtypes)

    def index_names(self) -> list[str]:
        return [name for name in self._table.index.names if isinstance(name, str)]

    def is_countable(self, kind: Any) -> bool:
        if isinstance(kind, np.dtype):
            return kind.isnative and kind.kind in "biufM" and str(kind) not in ("float16", "float128", "datetime64")
        classes = {one.__name__ for one in type(kind).__mro__}
        if "CategoricalDtype" in classes:
            # categories are part of the type; earlier versions of pandas keep texts among them as objects
            values = str(kind.categories.dtype)
            texts = values == "object" and all(isinstance(one, str) for one in kind.categories)
            return texts or _PLAIN_CATEGORIES.fullmatch(values) is not None
        if "DatetimeTZDtype" in classes:
            return kind.unit in ("us", "ns")
        if "ArrowDtype" in classes:
            return _ARROW.fullmatch(str(kind.pyarrow_dtype)) is not None
        return bool(classes & {"StringDtype", "BaseMaskedDtype"})

    def is_null(self, kind: Any) -> bool:
        categories = getattr(kind, "categories", None)
        return str(kind) == "null[pyarrow]" or (categories is not None and not len(categories))

    def note(self, name: str, kind: Any) -> str | None:
        if not _is_float(kind):
            return None
        return (
            f"`{name}` is a float column of pandas: NaN counts as a value there, larger than every number. If it "
            f"stands for missing values, give a type that knows them: df.astype({{{name!r}: 'Float64'}})."
        )

    def hides_missing(self, kind: object) -> bool:
        return _is_float(kind)

    def size(self) -> int:
        return len(self._table)

    def stream(self, places: Sequence[int], *, empty: bool) -> RowStream:
        rows = self._table.iloc[:0] if empty else self._table
        return _arrow_rows([_pandas_column(rows.iloc[:, place]) for place in places], empty=empty)


_PLAIN_CATEGORIES = re.compile(r"u?int(8|16|32|64)|str|string")


def _is_float(kind: object) -> bool:
    return isinstance(kind, np.dtype) and kind.kind == "f"


def _pandas_column(series: Any) -> Any:
    import pyarrow

    if _is_float(series.dtype):
        return pyarrow.chunked_array([pyarrow.array(series.to_numpy())])
    try:
        column = pyarrow.Array.from_pandas(series)
    except UnicodeEncodeError:  # texts of Python can hold halves of characters; the engine stops at one
        texts = [value.encode("utf-8", "replace").decode() if isinstance(value, str) else None for value in series]
        column = pyarrow.array(texts, pyarrow.string())
    return column if isinstance(column, pyarrow.ChunkedArray) else pyarrow.chunked_array([column])


#: The classes that are tables in memory.
_ADAPTERS: dict[tuple[str, str], type[TableInMemory]] = {
    ("pyarrow", "Table"): _ArrowTable,
    ("polars", "DataFrame"): _PolarsFrame,
    ("pandas", "DataFrame"): _PandasFrame,
}
