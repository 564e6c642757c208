"""Declared groups as columns of values, from rows of Python or of a CSV file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInput, InWords, WrongType
from ..exact.arrays import IntArray
from ..lists import read_list
from .codes import combined_numbers
from .domains import MAX_GROUPS, REST, Rest, Value, Values, listed_values, read_table


def declared_table(
    rows: str | Path | Iterable[object], columns: Sequence[str]
) -> tuple[list[str], list[Sequence[Value]], int]:
    """Return the heading, the columns and the number of rows of a CSV file, or of rows as in ``groups_from``."""
    if isinstance(rows, str | Path):
        return read_table(rows)
    row_list = read_list(rows, "groups", "rows")
    heading = list(row_list[0]) if row_list and isinstance(row_list[0], Mapping) else list(columns)
    return heading, *declared_columns(row_list, heading)


def declared_columns(rows: Iterable[Any], names: Sequence[str]) -> tuple[list[Sequence[Value]], int]:
    """Return columns from rows: mappings, tuples in the order of the names, or bare values of a single column."""
    row_list = read_list(rows, "groups", "rows")
    if set(map(type, row_list)) - {tuple, list}:
        row_list = [_row(row, names) for row in row_list]
    if set(map(len, row_list)) - {len(names)}:
        number = next(number for number, row in enumerate(row_list, 1) if len(row) != len(names))
        raise InvalidInput(
            f"row {number} needs one value for each of {', '.join(names)}.",
            "Give it as a tuple in this order, or as a mapping.",
        )
    columns: list[Sequence[Value]] = []
    for place, name in enumerate(names):
        column = list(map(itemgetter(place), row_list))
        plain = not set(map(type, column)) - {int, str, type(None)}
        columns.append(column if plain else [declared_value(value, name) for value in column])
    return columns, len(row_list)


def _row(row: object, names: Sequence[str]) -> Sequence[Any]:
    """Return a row in the order of the names; empty if it is a mapping of others."""
    if isinstance(row, Mapping):
        return [row[name] for name in names] if set(row) == set(names) else []
    return list(row) if isinstance(row, Sequence | np.ndarray) and not isinstance(row, str) else [row]


def declared_value(value: Any, column: str) -> Value:
    """Return a declared value as int, str or None; others are refused (1, True and 1.0 are one key in Python)."""
    if value is None or type(value) in (int, str):
        return value  # type: ignore[no-any-return]
    if isinstance(value, np.integer) or (isinstance(value, int) and not isinstance(value, bool)):
        return int(value)
    if isinstance(value, str):
        return str(value)
    raise WrongType.must_be(
        f"a group of {column!r}",
        "a whole number, a text, or None for rows without a value",
        InWords(f"a {type(value).__name__}"),
    )


def declared_values(values: Iterable[object], column: str) -> Values:
    """Return the values of one column as Python declares them; a final ``...`` or REST stands for all others."""
    items = read_list(values, f"the values of {column!r}", "values", "domain")
    ends_with_rest = bool(items) and (items[-1] is ... or isinstance(items[-1], Rest))
    named_values = tuple(declared_value(value, column) for value in (items[:-1] if ends_with_rest else items))
    if ends_with_rest and not named_values:
        raise InvalidInput(f"the domain of {column!r} has ... alone.", "List its values before it.", argument="domain")
    return (*named_values, REST) if ends_with_rest else named_values


def encode_column(column: Sequence[Value], size: int) -> tuple[list[Value], IntArray]:
    """Return the distinct values in order of appearance, and the place of each row's value among them."""
    order = {value: code for code, value in enumerate(dict.fromkeys(column))}
    return list(order), np.fromiter(map(order.__getitem__, column), dtype=np.int64, count=size)


def kind_of(values: Values, column: str) -> str:
    if isinstance(values, range):
        return "integer"
    kinds = {type(value) for value in listed_values(values) if value is not None}
    if len(kinds) > 1:
        raise WrongType(f"the values of {column!r} mix numbers and texts.", "Write all as numbers or all as texts.")
    return "integer" if int in kinds else "text"


def positions_of(heading: Sequence[str], columns: Sequence[str], where: object) -> list[int]:
    positions = []
    for column in columns:
        alike = [k for k, name in enumerate(heading) if name == column] or [
            k for k, name in enumerate(heading) if name.casefold() == column.casefold()
        ]
        if len(alike) != 1:
            raise InvalidInput(
                f"{where} needs one column {column!r}; its columns are {', '.join(heading)}.", "Name it in the heading."
            )
        positions.append(alike[0])
    return positions


def combined_zeros(table: IntArray, positions: list[int], lengths: list[int], where: str) -> frozenset[int]:
    """Return the structural zeros among all combinations of values, without a list of all of them.

    ``table`` has the codes of each declared row in the columns at these positions, -1 for undeclared values.
    """
    if (table < 0).any():
        row = int(np.argmax((table < 0).any(axis=1))) + 1
        raise InvalidInput(
            f"{where}, row {row} is not a declared group; a structural zero is one of the declared groups.",
            "Declare the group, or leave the row out.",
            argument="zeros",
        )
    zeros = len(table) * prod(length for column, length in enumerate(lengths) if column not in positions)
    if zeros > MAX_GROUPS:
        raise InvalidInput(
            f"{where} has {zeros:,} structural zeros.", f"Declare at most {MAX_GROUPS:,}.", argument="zeros"
        )
    return frozenset(combined_numbers(table, positions, lengths).tolist())
