"""The public groups, in the order they are published in: declared beforehand, or named by a private selection.

A group is one value for each GROUP BY column. Either every combination is a group (a cross product of domains), or
the groups are listed. A whole number v matches a row whose column, read as a number, equals v; a text matches a row
whose column, read as text, equals it letter for letter; None matches a row where the column is NULL. So no row is in
two groups. A column may have one more group for all its other values (``domains.REST``), or be banded (``bands``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..errors import InvalidInput, InWords, WrongType, arg
from ..exact.arrays import IntArray
from ..report import Json
from .bands import BAND, Bands, check_banded
from .codes import find_repeated_row, find_rows, judged_cells
from .declarations import (
    combined_zeros,
    declared_columns,
    declared_table,
    declared_values,
    encode_column,
    kind_of,
    positions_of,
)
from .domains import (
    INTEGER,
    MAX_COMBINED_GROUPS,
    MAX_GROUPS,
    REST,
    Values,
    domain_values,
    has_rest,
    listed_values,
    parse_whole,
    read_table,
    read_values,
    values_as_range,
)
from .domains import Value as Value
from .domains import blanks_removed as blanks_removed
from .domains import split_domain as split_domain
from .expressions import LARGEST_WHOLE
from .question import find_column


@dataclass(frozen=True, eq=False)
class Groups:
    """The public groups, in declared order.

    Parameters
    ----------
    columns
        The GROUP BY columns, in that order.
    kinds
        ``"integer"``, ``"text"`` or ``"band"`` for each column.
    values
        The distinct values of each column, in declared order.
    cells
        None: every combination, the last column fastest. Otherwise one row of positions in ``values`` for each group.
    zeros
        The numbers of the groups that cannot have rows (structural zeros, public facts).
    bands
        The bands of each column, None for one that has none; empty if no column has.

    Examples
    --------
    >>> groups = read_domain(["site=1..2", "health=good,poor"], ["site", "health"])
    >>> groups.size, groups.labels(0), groups.labels(1)
    (4, [1, 1, 2, 2], ['good', 'poor', 'good', 'poor'])
    """

    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    values: tuple[Values, ...]
    cells: IntArray | None = None
    zeros: frozenset[int] = frozenset()
    bands: tuple[Bands | None, ...] = ()

    #: Maximum number of groups.
    max_size: ClassVar[float] = MAX_GROUPS

    def __post_init__(self) -> None:
        if not len(self.columns) == len(self.kinds) == len(self.values):
            raise InvalidInput("groups need one kind and one list of values for each column.", argument="values")
        if len({column.casefold() for column in self.columns}) < len(self.columns):
            raise InvalidInput.must_be(
                "each group column", "declared once", InWords(", ".join(self.columns)), argument="columns"
            )
        if self.is_empty:
            return
        for column, kind, values in zip(self.columns, self.kinds, self.values, strict=True):
            _judge_values(column, kind, values)
        check_banded(self.columns, self.kinds, self.values, self.bands)
        if self.cells is not None:
            object.__setattr__(self, "cells", judged_cells(self.cells, [len(values) for values in self.values]))
        most = MAX_COMBINED_GROUPS if self.cells is None else MAX_GROUPS
        if self.size > max(most, self.max_size):
            raise InvalidInput(f"{self.size} groups are too many.", f"Declare at most {most}.")
        if self.zeros and not (min(self.zeros) >= 0 and max(self.zeros) < self.size):
            raise InvalidInput("a structural zero is the number of a declared group.", argument="zeros")
        if len(self.zeros) == self.size:
            raise InvalidInput("every group is a structural zero: nothing is left to count.", argument="zeros")

    @property
    def is_empty(self) -> bool:
        """True if no group was found; groups that are declared are at least one, and list no empty cells."""
        return self.cells is not None and not len(self.cells) and not any(map(len, self.values)) and not self.zeros

    @cached_property
    def size(self) -> int:
        """The number of groups."""
        return prod(len(values) for values in self.values) if self.cells is None else len(self.cells)

    @property
    def live(self) -> int:
        """The number of groups that can have rows."""
        return self.size - len(self.zeros)

    def codes(self) -> IntArray:
        """Return for each group the position of its value among ``values`` of each column; shape (size, columns)."""
        if self.cells is not None:
            return self.cells
        return self.codes_of(np.arange(self.size, dtype=np.int64))

    def codes_of(self, groups: IntArray) -> IntArray:
        """Return the codes of some groups by their numbers, without those of all; shape (groups, columns)."""
        if self.cells is not None:
            return self.cells[groups]
        codes = np.empty((len(groups), len(self.columns)), dtype=np.int64)
        rest = groups
        for k in reversed(range(len(self.columns))):
            rest, codes[:, k] = np.divmod(rest, len(self.values[k]))
        return codes

    def index(self, codes: IntArray) -> IntArray:
        """Return the number of the group of each row of codes; -1 where it is not declared.

        Parameters
        ----------
        codes
            Shape (rows, columns), positions in ``values``; -1 stands for any other value.
        """
        codes = np.asarray(codes, dtype=np.int64)
        lengths = [len(values) for values in self.values]
        is_declared = ((codes >= 0) & (codes < np.array(lengths, dtype=np.int64))).all(axis=1)
        if self.cells is None:
            number = np.zeros(len(codes), dtype=np.int64)
            for column, length in zip(codes.T, lengths, strict=True):
                number = number * length + column
        else:
            number = find_rows(codes, self.cells, lengths)
        return np.where(is_declared, number, -1)

    def labels(self, column: int) -> list[Value]:
        """Return the value of each group in one column."""
        values = list(self.values[column])
        return list(map(values.__getitem__, self.codes()[:, column].tolist()))

    def label(self, group: int) -> tuple[Value, ...]:
        """Return the values of one group."""
        if self.cells is not None:
            codes = self.cells[group].tolist()
        else:
            codes = [int(code) for code in np.unravel_index(group, [len(values) for values in self.values])]
        return tuple(values[code] for values, code in zip(self.values, codes, strict=True))

    def to_json(self) -> dict[str, Json]:
        """Return everything as JSON, the same for equal groups however they were declared.

        Numbers at equal steps are a range (first, last, step), and cells that are the whole product are not listed.
        Bands, and which columns have a group for the rest, are stated where there are any.
        """
        rest: dict[str, Json] = {"rest": [has_rest(values) for values in self.values]}
        return {
            "columns": list(self.columns),
            "kinds": list(self.kinds),
            "values": [values_as_range(values) or list(values) for values in map(listed_values, self.values)],
            "cells": None if self._is_product else self.codes().T.tolist(),
            "zeros": sorted(self.zeros),
            **(rest if any(map(has_rest, self.values)) else {}),
            **({"bands": [None if one is None else one.to_json() for one in self.bands]} if self.bands else {}),
        }

    @property
    def _is_product(self) -> bool:
        if self.cells is None:
            return True
        if self.is_empty:
            return False
        lengths = [len(values) for values in self.values]
        if prod(lengths) != self.size:
            return False
        return bool(np.array_equal(self.cells, np.stack(np.unravel_index(np.arange(self.size), lengths), axis=1)))

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Groups:
        """Make groups from what ``to_json`` gave, checked again from the start.

        >>> groups = read_domain(["site=1..6"], ["site"])
        >>> Groups.from_json(groups.to_json()) == groups
        True
        """
        try:
            rest = content.get("rest", [False] * len(content["values"]))
            value_lists = map(read_values, content["values"])
            values = tuple((*one, REST) if star else one for one, star in zip(value_lists, rest, strict=True))
            bands = tuple(None if one is None else Bands.from_json(one) for one in content.get("bands", ()))
            cells = content["cells"]
            zeros = content["zeros"]
            for numbers in (zeros, *(() if cells is None else cells)):
                if set(map(type, numbers)) - {int}:
                    raise TypeError
            cells = None if cells is None else np.array(cells, dtype=np.int64).T
            columns, kinds = tuple(content["columns"]), tuple(content["kinds"])
            if not all(isinstance(text, str) for text in (*columns, *kinds)) or set(map(type, rest)) - {bool}:
                raise TypeError
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            raise InvalidInput(
                "the description of groups is damaged; it is written by Groups.to_json().", argument="content"
            ) from None
        kind = ColumnValues if content.get("separate") is True else Groups
        return kind(columns, kinds, values, cells, frozenset(zeros), bands)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Groups):
            return NotImplemented
        mine, others = (
            (groups.columns, groups.kinds, tuple(map(tuple, groups.values)), groups.zeros, groups.bands)
            for groups in (self, other)
        )
        if list(map(has_rest, self.values)) != list(map(has_rest, other.values)):
            return False
        if mine != others or self.size != other.size:
            return False
        both = self.cells is None and other.cells is None
        return both or bool(np.array_equal(self.codes(), other.codes()))

    def __hash__(self) -> int:
        return hash((self.columns, self.kinds, self.size, self.zeros))

    def __repr__(self) -> str:
        return f"Groups({', '.join(self.columns)}: {self.size} groups, {len(self.zeros)} structural zeros)"


@dataclass(frozen=True, eq=False, repr=False)
class ColumnValues(Groups):
    """The declared values of each column, for tables of a few of the columns: there may be any number of combinations.

    >>> columns = ColumnValues(("sex", "site"), ("text", "integer"), (("f", "m"), range(1, 7)))
    >>> columns.of((1,)).labels(0)
    [1, 2, 3, 4, 5, 6]
    """

    max_size: ClassVar[float] = math.inf

    @staticmethod
    def together(columns: Iterable[Groups]) -> ColumnValues:
        """Return the values of columns that were declared each by itself."""
        parts = list(columns)
        if any(len(part.columns) != 1 or part.cells is not None or part.zeros for part in parts):
            raise InvalidInput("tables at once need values for each column.", f"Give them by {arg('domain')}.")
        bands = tuple(part.bands[0] if part.bands else None for part in parts)
        return ColumnValues(
            tuple(part.columns[0] for part in parts), tuple(part.kinds[0] for part in parts),
            tuple(part.values[0] for part in parts), bands=bands if any(bands) else (),
        )  # fmt: skip

    def of(self, columns: Sequence[int]) -> Groups:
        """Return the groups of some of the columns: every combination of their values."""
        bands = tuple(self.bands[column] for column in columns) if self.bands else ()
        return Groups(
            tuple(self.columns[column] for column in columns), tuple(self.kinds[column] for column in columns),
            tuple(self.values[column] for column in columns), bands=bands if any(bands) else (),
        )  # fmt: skip

    def to_json(self) -> dict[str, Json]:
        return {**super().to_json(), "separate": True}


#: One group: the whole table.
TOTAL = Groups((), (), ())


def domain_column(text: str) -> str:
    """Return the column that a domain such as ``site=1..6`` is for.

    >>> domain_column("site=1..6"), domain_column('"a=b"=1,2')
    ('site', 'a=b')
    """
    return split_domain(text)[0]


def read_domain(texts: str | Sequence[str], by: Sequence[str]) -> Groups:
    """Return every combination of the values declared for each column.

    Parameters
    ----------
    texts
        For each column, or the text of the only one: ``site=1..6``, ``health=good,poor``, ``county=@counties.txt`` (a
        value on each line). Quotes, single or double, keep commas and blanks (``job='cook, chef'``) and make a number
        or NULL a text. NULL stands for the rows without a value, * for all other values. Values are whole numbers if
        all of them are written as such, else texts.
    by
        The GROUP BY columns.

    Examples
    --------
    >>> read_domain(["plan=1,2,NULL", "county=01,02"], ["county", "plan"]).values
    (('01', '02'), (1, 2, None))
    """
    domains: dict[str, Values] = {}
    for text in [texts] if isinstance(texts, str) else texts:
        name, body = split_domain(text)
        column = _group_column(name, by)
        if column in domains:
            raise InvalidInput(f"the domain of {column!r} is given twice.", "Give it once.", argument="domain")
        domains[column] = domain_values(column, body)
    return _product(domains, by)


def groups_from(groups: Mapping[str, Iterable[object]] | Iterable[object], by: Sequence[str]) -> Groups:
    """Make groups from Python: values for each column (every combination), or one row for each group.

    Parameters
    ----------
    groups
        ``{"site": range(1, 7), "health": ["good", "poor"]}``, or a list of rows, each a tuple in the order of ``by``
        or a mapping from column to value. Whole numbers, texts and None (rows without a value); ``...`` as the last
        value of a column stands for all its other values.
    by
        The GROUP BY columns.

    Examples
    --------
    >>> groups_from([(1, "good"), (2, "poor")], ["site", "health"]).size
    2
    """
    if isinstance(groups, Mapping):
        domains: dict[str, Values] = {}
        for name, values in groups.items():
            column = _group_column(name, by)
            if isinstance(values, str | bytes) or not isinstance(values, Iterable):
                raise WrongType.must_be(
                    f"the domain of {column!r}", "a list of values or a range", values, argument="domain"
                )
            domains[column] = values if isinstance(values, range) else declared_values(values, column)
        return _product(domains, by)
    return _groups_of_columns(*declared_columns(groups, by), by)


def read_groups(path: str | Path, by: Sequence[str]) -> Groups:
    """Read groups from a CSV file (.tsv: with tabs): a heading of GROUP BY columns, and a row for each group.

    A column is of whole numbers if all its values are written as such, else of texts. NULL stands for the rows
    without a value; a text that reads NULL can only be declared in Python or by ``--domain``.
    """
    heading, columns, size = read_table(path)
    order = positions_of(heading, by, path)
    if sorted(order) != list(range(len(heading))):
        raise InvalidInput(
            f"{path} needs exactly the columns {', '.join(by)}; its heading is {', '.join(heading)}.", argument="groups"
        )
    return _groups_of_columns([columns[place] for place in order], size, by, as_texts=True)


def with_zeros(groups: Groups, zeros: str | Path | Iterable[object]) -> Groups:
    """Return the same groups, some of which cannot have rows: these are published as 0 without noise.

    Parameters
    ----------
    groups
        The declared groups.
    zeros
        A CSV file (or rows, as mappings) of combinations: all group columns, or some of them, in which case every
        group that has these values is a structural zero. This is a public fact, never something seen in the data.
    """
    where = str(zeros) if isinstance(zeros, str | Path) else "the structural zeros"
    heading, columns, size = declared_table(zeros, groups.columns)
    if not size:
        return groups
    if groups.size > MAX_GROUPS:
        positions, table = _codes_in(groups, heading, columns, size, where)
        return replace(
            groups, zeros=groups.zeros | combined_zeros(table, positions, list(map(len, groups.values)), where)
        )
    matching_row = _match(groups, heading, columns, size, where)
    is_matched = np.zeros(size, dtype=bool)
    is_matched[matching_row[matching_row >= 0]] = True
    if not is_matched.all():
        raise InvalidInput(
            f"{where}, row {int(np.argmin(is_matched)) + 1} is not a declared group; a structural zero is one of the "
            "declared groups.",
            "Declare the group, or leave the row out.",
            argument="zeros",
        )
    return replace(groups, zeros=groups.zeros | frozenset(np.flatnonzero(matching_row >= 0).tolist()))


def read_sizes(path: str | Path | Iterable[object], groups: Groups) -> IntArray:
    """Read the public size of each group from a CSV file (or mappings): some or all group columns, and ``size``.

    Each group takes the size of the row that has its values; every group needs one. Rows of other groups are ignored.
    """
    where = str(path) if isinstance(path, str | Path) else "the sizes"
    heading, columns, size = declared_table(path, (*groups.columns, "size"))
    place = positions_of(heading, ["size"], where)[0]
    size_texts, codes = encode_column(columns.pop(place), size)
    for code, value in enumerate(size_texts):
        if not INTEGER.fullmatch(str(value)) or not 0 <= int(str(value)) <= LARGEST_WHOLE:
            row = int(np.argmax(codes == code)) + 1
            raise InvalidInput.must_be(
                f"{where}, row {row}: a size", "a whole number from 0", str(value)[:40], argument="sizes"
            )
    sizes = np.array([int(str(value)) for value in size_texts], dtype=np.int64)[codes]
    matching_row = _match(groups, [*heading[:place], *heading[place + 1 :]], columns, size, where)
    if (missing := np.flatnonzero(matching_row < 0)).size:
        raise InvalidInput(
            f"{where} has no size for the group "
            f"{groups.label(int(missing[0]))!r}{f' and {missing.size - 1} others' if missing.size > 1 else ''}.",
            "Give one for every group.",
            argument="sizes",
        )
    return sizes[matching_row]


def _judge_values(column: str, kind: str, values: Values) -> None:
    if not values:
        raise InvalidInput(f"the domain of {column!r} is empty.", "Declare at least one value.", argument="domain")
    if isinstance(values, range):
        if kind != "integer" or max(abs(values[0]), abs(values[-1])) > LARGEST_WHOLE:
            raise InvalidInput(
                f"the range of {column!r} must be of whole numbers between -2^53 and 2^53.", argument="domain"
            )
        return
    if not isinstance(values, tuple) or kind not in ("integer", "text", BAND):
        raise InvalidInput(
            f"the domain of {column!r} is a range or a tuple, of kind 'integer', 'text' or 'band'.", argument="domain"
        )
    value_type = int if kind == "integer" else str
    if others := set(map(type, listed_values(values))) - {value_type, type(None)}:
        raise WrongType(
            f"the domain of {column!r} is {kind}, but one of its values is {others.pop().__name__}.", argument="domain"
        )
    known = [value for value in listed_values(values) if value is not None]
    if kind == "integer" and known and max(map(abs, known)) > LARGEST_WHOLE:  # type: ignore[arg-type]
        raise InvalidInput(
            f"the domain of {column!r} has a whole number beyond 2^53, which is not exact when a column is read as a "
            "number.",
            "Write it in quotes, to be compared as text.",
            argument="domain",
        )
    if kind != "integer" and re.search("[\0\ud800-\udfff]", "".join(known)):  # type: ignore[arg-type]
        raise InvalidInput(f"the domain of {column!r} has a text with an invalid character.", argument="domain")
    if len(set(values)) < len(values):
        seen: set[Value] = set()
        twice = next(value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value]
        raise InvalidInput(
            f"the domain of {column!r} has {twice!r} twice.", "Declare each value once.", argument="domain"
        )


def _group_column(name: str, by: Sequence[str]) -> str:
    if not by:
        raise InvalidInput(
            f"{name!r} is declared, but the question has no GROUP BY.", f"Add GROUP BY {name}, or leave it out."
        )
    if name not in by and not any(name.casefold() == column.casefold() for column in by):
        raise InvalidInput(
            f"{name!r} is declared, but the question groups by {', '.join(by)}.", "Declare only what it groups by."
        )
    return find_column(name, by)


def _product(domains: Mapping[str, Values], by: Sequence[str]) -> Groups:
    for column in by:
        if column not in domains:
            raise InvalidInput(
                f"the groups of {column!r} are not declared.", f"Add {arg('domain', [f'{column}=...'])}."
            )
    kinds = tuple(kind_of(domains[column], column) for column in by)
    return Groups(tuple(by), kinds, tuple(domains[column] for column in by))


def _groups_of_columns(columns: list[Sequence[Value]], size: int, by: Sequence[str], as_texts: bool = False) -> Groups:
    """Make groups from one column of values for each of ``by``; texts may stand for numbers."""
    if not by or not size:
        raise InvalidInput("a list of groups needs GROUP BY columns and at least one group.", argument="groups")
    values, codes = [], np.empty((size, len(by)), dtype=np.int64)
    for k, column in enumerate(columns):
        distinct, codes[:, k] = encode_column(column, size)
        values.append(tuple(parse_whole(distinct) if as_texts else distinct))
    kinds = tuple(kind_of(distinct, column) for distinct, column in zip(values, by, strict=True))
    return Groups(tuple(by), kinds, tuple(values), codes)


def _match(groups: Groups, heading: list[str], columns: list[Sequence[Value]], size: int, where: str) -> IntArray:
    """Return for each group the row that has its values in the columns of the heading; -1 if none has."""
    positions, table = _codes_in(groups, heading, columns, size, where)
    lengths = [len(groups.values[column]) for column in positions]
    usable = np.flatnonzero((table >= 0).all(axis=1))
    if not usable.size:
        return np.full(groups.size, -1, dtype=np.int64)
    if (again := find_repeated_row(table[usable], lengths)) is not None:
        raise InvalidInput(
            f"{where}, row {int(usable[again]) + 1} repeats the values of a row before it.", "Leave it out."
        )
    rows = find_rows(groups.codes()[:, positions], table[usable], lengths)
    return np.where(rows < 0, -1, usable[rows])


def _codes_in(
    groups: Groups, heading: list[str], columns: list[Sequence[Value]], size: int, where: str
) -> tuple[list[int], IntArray]:
    """Return the group columns of a heading, and the codes of its rows in them; -1 where a value is not declared."""
    for name in heading:
        if not any(name.casefold() == column.casefold() for column in groups.columns):
            raise InvalidInput(
                f"{where} has a column {name!r}, which is not a group column ({', '.join(groups.columns)}).",
                "Leave it out.",
            )
    positions = [groups.columns.index(find_column(name, groups.columns)) for name in heading]
    if len(set(positions)) < len(positions):
        raise InvalidInput(
            f"{where} names a column twice; its columns are {', '.join(heading)}.", "Name each column once."
        )
    table = np.empty((size, len(positions)), dtype=np.int64)
    for k, column in enumerate(positions):
        order = {value: code for code, value in enumerate(groups.values[column])}
        distinct, codes = encode_column(columns[k], size)
        if groups.kinds[column] == "integer":
            distinct = [int(v) if isinstance(v, str) and INTEGER.fullmatch(v) else v for v in distinct]
        table[:, k] = np.array([order.get(value, -1) for value in distinct], dtype=np.int64)[codes]
    return positions, table
