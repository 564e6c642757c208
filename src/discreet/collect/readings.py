"""Conversion of values in files to values of a space: whole numbers, labels, places on a map.

Whole numbers are read where they are exactly whole, ``3`` and ``3.0``, under any type of the column: other programs
write the latter once a value was missing. An engine's own cast takes ``3.7`` for 4, ``0x10`` for 16 and ``1e2`` for
100.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DiscreetError, ForeignValue, InvalidInput, WrongType
from ..exact.arrays import IntArray
from ..sources.sql import quoted, text_literal
from ..spaces import Grid, Labels, Range, Space
from .places import coordinates

Row = tuple[Any, ...]
Columns = Sequence[Any]

#: Sentinel for a value that is not a whole number. No space has it: values lie within 2^62 of zero.
_UNREADABLE = -(2**63)

#: Sentinel for the name of the column in place of a value.
_HEADING = _UNREADABLE + 1

_EXACT = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_LONGER = re.compile(r"UBIGINT|HUGEINT|UHUGEINT|DECIMAL\(\d+,0\)")
_FLOATS = ("FLOAT", "DOUBLE", "REAL")
_DECIMALS = re.compile(r"DECIMAL.*")


def reading_of(space: Space, columns: Sequence[str], kinds: Sequence[str], has_types: bool, source: str) -> Reading:
    """Return how these columns are read as values of a space; refused where their types forbid it.

    Parameters
    ----------
    space
        The space of the values.
    columns, kinds
        The column, or the two of a place, and their DuckDB types.
    has_types
        True if the file has types; otherwise everything is text.
    source
        The column and the file, for messages.
    """
    grid = space.as_grid
    if grid is not None:
        in_order = coordinates(grid, columns, kinds)
        if len(columns) == 2:
            return _MapReading(grid, in_order, kinds, has_types, source)
    if len(columns) != 1:
        number = "one column" + ("" if grid is None else f", or two for {_place(grid)}")
        raise InvalidInput(
            f"this mechanism takes {number}; got {len(columns)}: {', '.join(columns)}.", argument="column"
        )
    if isinstance(space, Labels):
        return _LabelReading(space, columns[0], kinds[0], has_types)
    if isinstance(space, Range) and space.is_text:  # numbers with a decimal point
        return _RangeReading(space, columns[0], kinds[0], has_types, source)
    return _IntegerReading(space, columns[0], kinds[0], has_types, source)


def _place(grid: Grid) -> str:
    """Return a description of the two columns of a place."""
    return "how far east and north a place is" if grid.box is None else "the latitude and the longitude of a place"


class Reading(ABC):
    """A conversion of rows to indices in a space."""

    expressions: Sequence[str]

    @abstractmethod
    def indices(self, columns: Columns) -> IntArray | None:
        """Return the indices of many rows, given by columns; None if one of them cannot be read."""

    @abstractmethod
    def wrong(self, row: Row) -> DiscreetError | None:
        """Return the error of a row, in words that do not quote it; None without one."""

    @abstractmethod
    def value(self, row: Row) -> Any:
        """Return the value of a row without errors."""

    def first_wrong(self, rows: Sequence[Row]) -> tuple[int, DiscreetError]:
        """Return the first row with an error, and the error."""
        for number, row in enumerate(rows):
            problem = self.wrong(row)
            if problem is not None:
                return number, problem
        raise AssertionError("no row is wrong")


def _missing_value() -> WrongType:
    return WrongType("the value is missing.", "Drop such rows, or decide what they are.")


def _repeated_heading() -> WrongType:
    return WrongType("it repeats the name of the column, as files joined with their headings do.", "Drop such rows.")


def _fractions(name: str, kind: str) -> str | None:
    """Return SQL of a number with a decimal point as a whole one; None for a column of another type."""
    is_missing = f"isnan({name})" if kind in _FLOATS else "false"  # other programs write missing values as NaN
    if kind not in _FLOATS and not _DECIMALS.fullmatch(kind):
        return None
    return (
        f"CASE WHEN {name} IS NULL OR {is_missing} THEN NULL "
        f"WHEN {name} = trunc({name}) THEN coalesce(TRY_CAST({name} AS BIGINT), {_UNREADABLE}) ELSE {_UNREADABLE} END"
    )


class _IntegerReading(Reading):
    """Counts and cell numbers."""

    def __init__(self, space: Space, column: str, kind: str, has_types: bool, source: str) -> None:
        self._space = space
        name = quoted(column)
        number = f"coalesce(TRY_CAST({name} AS BIGINT), {_UNREADABLE})"
        if not has_types or kind == "VARCHAR":
            heading = "" if has_types else f"WHEN {name} = {text_literal(column)} THEN {_HEADING} "
            # the first test settles nearly all rows, and is twice as fast as the second
            sql = (
                f"CASE WHEN CAST(TRY_CAST({name} AS BIGINT) AS VARCHAR) = {name} THEN TRY_CAST({name} AS BIGINT) "
                rf"WHEN regexp_full_match({name}, '\s*[+-]?[0-9]+(\.0*)?\s*') THEN {number} "
                f"{heading}WHEN {name} IS NOT NULL THEN {_UNREADABLE} END"
            )
        elif kind in _EXACT:
            sql = name
        elif _LONGER.fullmatch(kind):
            sql = f"CASE WHEN {name} IS NOT NULL THEN {number} END"
        else:
            number_sql = _fractions(name, kind)
            if number_sql is None:
                raise WrongType(
                    f"{source} holds {kind}; whole numbers are needed.", "Convert it first.", argument="column"
                )
            sql = number_sql
        self.expressions = [sql]

    def indices(self, columns: Columns) -> IntArray | None:
        try:
            return np.asarray(self._space.indices(np.asarray(columns[0], np.int64)))
        except (DiscreetError, TypeError):  # None is not a number
            return None

    def wrong(self, row: Row) -> DiscreetError | None:
        if row[0] is None:
            return _missing_value()
        if row[0] == _HEADING:
            return _repeated_heading()
        if row[0] == _UNREADABLE:
            return WrongType(
                "the value is not a whole number of at most 64 bits, such as 3 or 3.0. Other numbers are not "
                "rounded, and text is not guessed at.",
                "Convert them deliberately first.",
            )
        return _refusal(self._space, row[0])

    def value(self, row: Row) -> Any:
        return int(row[0])


class _LabelReading(Reading):
    """Labels, by their text."""

    def __init__(self, space: Labels, column: str, kind: str, has_types: bool) -> None:
        self._space, self._heading = space, None if has_types else column
        self._labels = {str(label): label for label in space.labels}
        if len(self._labels) < space.size:
            raise InvalidInput(
                "some labels have the same text in a file, such as 1 and '1'.",
                argument="labels",
            )
        self._indices = {text: space.index(label) for text, label in self._labels.items()}
        whole = None if space.is_text else _fractions(quoted(column), kind)
        self.expressions = [f"CAST({whole or quoted(column)} AS VARCHAR)"]

    def indices(self, columns: Columns) -> IntArray | None:
        indices = np.fromiter((self._indices.get(text, -1) for text in columns[0]), np.int64, len(columns[0]))
        return None if indices.size and indices.min() < 0 else indices

    def wrong(self, row: Row) -> DiscreetError | None:
        if row[0] is None:
            return _missing_value()
        if row[0] in self._labels:
            return None
        return _repeated_heading() if row[0] == self._heading else _refusal(self._space, None)

    def value(self, row: Row) -> Any:
        return self._labels[row[0]]


class _RangeReading(Reading):
    """The numbers of a range."""

    def __init__(self, space: Range, column: str, kind: str, has_types: bool, source: str) -> None:
        self._space = space
        if has_types and kind != "VARCHAR" and not _is_number(kind):
            raise WrongType(f"{source} holds {kind}; numbers are needed.", "Convert it first.", argument="column")
        name = quoted(column)
        self.expressions = [
            f"CASE WHEN {name} IS NOT NULL THEN coalesce(TRY_CAST({name} AS DOUBLE), CAST('nan' AS DOUBLE)) END"
        ]

    def indices(self, columns: Columns) -> IntArray | None:
        try:
            return np.asarray(self._space.indices(np.asarray(columns[0], float)))  # None is NaN: no space has it
        except DiscreetError:
            return None

    def wrong(self, row: Row) -> DiscreetError | None:
        if row[0] is None:
            return _missing_value()
        if np.isnan(row[0]):
            return WrongType("the value is not a number.", "Write it with a decimal point, without a unit.")
        return _refusal(self._space, row[0])

    def value(self, row: Row) -> Any:
        return self._space.value(self._space.index(row[0]))


def _is_number(kind: str) -> bool:
    return bool(kind in (*_EXACT, *_FLOATS) or _LONGER.fullmatch(kind) or _DECIMALS.fullmatch(kind))


class _MapReading(Reading):
    """Places on a map, by their distances east and north of its south-west corner, or by latitude and longitude."""

    def __init__(self, grid: Grid, columns: Sequence[str], kinds: Sequence[str], has_types: bool, source: str) -> None:
        self._grid = grid
        for kind in kinds:
            if has_types and not _is_number(kind):
                unit = "in the unit of the map's cells" if grid.box is None else "in degrees"
                raise WrongType(f"{source} holds {kind}; numbers are needed, {unit}.", argument="column")
        self.expressions = [
            f"CASE WHEN {name} IS NOT NULL THEN coalesce(TRY_CAST({name} AS DOUBLE), CAST('nan' AS DOUBLE)) END"
            for name in map(quoted, columns)
        ]

    def indices(self, columns: Columns) -> IntArray | None:
        first, second = (np.asarray(column, float) for column in columns)  # None is NaN, which lies outside
        try:
            return np.asarray(self._grid.locate(first, second))
        except DiscreetError:
            return None

    def wrong(self, row: Row) -> DiscreetError | None:
        if None in row[:2]:
            return _missing_value()
        if any(np.isnan(row[:2])):
            return WrongType("a coordinate is not a number.", "Write it with a decimal point, without a unit.")
        try:
            self._grid.locate(*row[:2])
        except DiscreetError as problem:
            error = ForeignValue.because("", problem)  # without frames that hold the place
        else:
            return None
        return error

    def value(self, row: Row) -> Any:
        return int(self._grid.locate(*row[:2]))


def _refusal(space: Space, value: object) -> DiscreetError | None:
    """Return why a value is not one of a space, without the chain of exceptions, whose frames hold it."""
    try:
        space.index(value)
    except DiscreetError as problem:
        kind = type(problem) if isinstance(problem, ForeignValue | WrongType) else InvalidInput
        error = kind.because("", problem)
    else:
        return None
    return error
