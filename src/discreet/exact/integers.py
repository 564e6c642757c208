"""Reading whole numbers: a single one, or a column of an array, a list, pandas, polars or Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import ForeignValue, InvalidInput, InWords, WrongType
from .arrays import Array


def is_integer(value: object) -> bool:
    """Return whether this is a single integer: a Python int or a NumPy integer, not a boolean."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _refuse_kind(kind: str, what: str) -> WrongType:
    advice = {
        "float": "Convert them first, for instance with .astype(int) after checking that nothing is lost.",
        "boolean": "Convert them first, for instance with int(...).",
    }.get(kind, "Give whole numbers.")
    return WrongType(f"{what} must be integers; got {kind} values.", advice)


def read_integers(values: object, what: str = "values") -> Array:
    """Read a scalar, list, NumPy array, or pandas/polars/Arrow column as an integer array, copying only if needed.

    Floats (even 3.0), NaN, booleans, masked or missing values, and objects that only resemble numbers are refused: all
    of them can change counts silently.
    """
    refuse_masked(values, what)
    if isinstance(values, np.ndarray):
        array = np.asarray(values)  # subclasses have shapes of their own
    elif isinstance(values, list | tuple | range):
        array = _read_sequence(values, what)
    elif is_integer(values):
        array = _as_array(int(values), what)  # type: ignore[call-overload]
    elif isinstance(
        values, bool | float | complex | str | bytes | bytearray | np.generic | None | dict | set | frozenset
    ):
        raise _refuse_kind(_kind_of(values), what)
    else:
        array = _read_column(values, what)
    if array.dtype.kind in "iu":
        return array
    if array.dtype.kind == "O":
        sequence = _read_sequence(array.ravel().tolist(), what)
        if sequence.ndim != 1:
            raise _refuse_kind("lists as single", what)
        return sequence.reshape(array.shape)
    if array.size == 0 and array.dtype.kind == "f":  # np.asarray([]) is float
        return array.astype(np.int64)
    kinds = {"f": "float", "b": "boolean", "c": "complex", "U": "text", "S": "text", "M": "date", "m": "time"}
    raise _refuse_kind(kinds.get(array.dtype.kind, str(array.dtype)), what)


def refuse_masked(values: object, what: str) -> None:
    if isinstance(values, np.ma.MaskedArray):
        raise WrongType(
            f"{what} must not be masked; got a masked array.", "Drop the masked entries, or decide what they are."
        )


def _kind_of(value: object) -> str:
    if value is None:
        return "missing"
    for types, kind in (
        ((bool, np.bool_), "boolean"),
        ((float, np.floating), "float"),
        ((str, bytes, bytearray), "text"),
    ):
        if isinstance(value, types):
            return kind
    return type(value).__name__


def _as_array(values: object, what: str) -> Array:
    try:
        return np.asarray(values, dtype=np.int64)
    except OverflowError:
        raise ForeignValue(f"{what} must fit in 64 bits; got an integer beyond that.") from None


def _read_sequence(values: Sequence[Any], what: str) -> Array:
    if isinstance(values, range):
        return _as_array(values, what)
    kinds = set(map(type, values))
    if kinds & {list, tuple, range, np.ndarray}:
        rows = [read_integers(row, what) for row in values]
        if len({row.shape for row in rows}) > 1:
            raise InvalidInput(
                f"{what} must form a full array; got rows of different lengths.", "Give rows of one length."
            )
        return np.stack(rows)
    for kind in kinds:
        if not issubclass(kind, int | np.integer) or issubclass(kind, bool):
            example = next(v for v in values if type(v) is kind)
            raise _refuse_kind(_kind_of(example), what)
    return _as_array(values if kinds <= {int} else [int(v) for v in values], what)


def _read_column(values: object, what: str) -> Array:
    """Read a pandas, polars or Arrow column, recognised by its methods, so that none of them is imported here."""
    nulls = getattr(values, "null_count", None)  # an attribute in Arrow, a method in polars
    missing = nulls() if callable(nulls) else nulls
    if missing is not None and not is_integer(missing):  # a polars table counts by column
        raise WrongType.must_be(what, "one column", InWords(f"a whole {type(values).__name__}"), "Choose a column.")
    if missing is None and hasattr(values, "isna"):
        missing = int(np.asarray(values.isna()).sum())
    if missing:
        raise WrongType(
            f"{what} must not be missing; the column has missing entries.", "Drop them, or decide what they are."
        )
    if hasattr(values, "to_numpy"):
        dtype = str(getattr(values, "dtype", ""))
        if dtype.startswith(("Int", "UInt")) and hasattr(values, "isna"):  # pandas' nullable integers
            return np.asarray(values.to_numpy(dtype=np.int64 if dtype.startswith("Int") else np.uint64))
        return to_numpy(values)
    if hasattr(values, "__array__"):
        return np.asarray(values)
    if isinstance(values, Iterable):
        return _read_sequence(list(values), what)
    raise _refuse_kind(type(values).__name__, what)


def to_numpy(column: Any) -> Array:
    try:
        return np.asarray(column.to_numpy(zero_copy_only=False))  # Arrow
    except TypeError:
        return np.asarray(column.to_numpy())


def positive_integer(value: object, what: str, least: int = 1) -> int:
    """Read one integer parameter that must be at least ``least``."""
    if not is_integer(value):
        raise WrongType.must_be(what, "an integer", value)
    number = int(value)  # type: ignore[call-overload]
    if number < least:
        raise InvalidInput.must_be(what, f"at least {least}", number)
    return int(number)
