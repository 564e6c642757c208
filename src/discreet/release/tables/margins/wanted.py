"""The tables that a request names: all of up to some columns, or a list of them, with public weights."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from ....errors import DiscreetError, InvalidInput, arg
from ....exact.integers import is_integer
from ....exact.rationals import as_fraction
from ....questions.question import find_column
from ...marginals.signed import Columns, Margins, subsets

#: Maximum number of tables, and of columns of one of them.
MAX_TABLES, MAX_TABLE_COLUMNS = 100_000, 12

#: What a list of tables may be, for refusals.
_FORMS = "the largest number of columns of a table, such as 2, or tables, such as sex*age,age*job=3; 0 is the total"

#: A column of a table: in quotes, or without a separator.
_COLUMN = r'\s*(?:"(?:[^"]|"")*"|[^*,="]+)\s*'
_TABLE = re.compile(rf"({_COLUMN}(?:\*{_COLUMN})*)(?:=\s*([0-9./]+)\s*)?(?:,|$)")


def read_tables(tables: object) -> tuple[str, ...]:
    """Read the tables of a request: a number, a text with commas, a list, or a mapping from tables to weights.

    >>> read_tables(2), read_tables("sex*age, age*job=3"), read_tables([["sex", "age"], "2"])
    (('2',), ('sex*age', 'age*job=3'), ('sex*age', '2'))
    """
    items = list(_items(tables))
    if not items:
        raise InvalidInput.must_be("tables", _FORMS, tables)
    return tuple(dict.fromkeys(items))


def _items(tables: object) -> Iterable[str]:
    """Yield the tables, each as a text in its normal form."""
    if is_integer(tables):
        yield str(tables)
    elif isinstance(tables, str):
        place = 0
        while place < len(tables):
            match = _TABLE.match(tables, place)
            if match is None:
                raise InvalidInput.must_be("tables", _FORMS, tables)
            weight = f"={match[2]}" if match[2] else ""
            number = match[1].strip()
            yield number if number.isdecimal() else table_text(_columns(match[1])) + weight
            place = match.end()
    elif isinstance(tables, Mapping):
        for table, weight in tables.items():
            for one in _items([table]):
                yield f"{one}={weight}"
    elif isinstance(tables, Sequence):
        for table in tables:
            if isinstance(table, Sequence) and not isinstance(table, str):
                if not table or not all(isinstance(name, str) and name for name in table):
                    raise InvalidInput.must_be("tables", _FORMS, tables)
                yield table_text(table)
            else:
                yield from _items(table)
    else:
        raise InvalidInput.must_be("tables", _FORMS, tables)


def table_text(columns: Sequence[str]) -> str:
    """Write the table of these columns as a request names it; without columns, the total.

    >>> table_text(["sex", "2024"]), table_text([])
    ('sex*"2024"', '0')
    """
    return "*".join(map(_written, columns)) or "0"


def _columns(text: str) -> list[str]:
    """Return the names of the columns of one table."""
    names = [one.strip() for one in re.findall(_COLUMN, text)]
    return [name[1:-1].replace('""', '"') if name.startswith('"') else name for name in names]


def _written(name: str) -> str:
    """Write a name, in quotes where it needs them."""
    return '"' + name.replace('"', '""') + '"' if re.search(r'[*,="]|^\s|\s$|^[0-9]+$', name) else name


def columns_of_tables(tables: Iterable[str]) -> list[str]:
    """Return the columns that tables name, each once."""
    names = [name for text in tables if not text.isdecimal() for name in _columns(text.partition("=")[0])]
    return list({name.casefold(): name for name in reversed(names)}.values())[::-1]


def margins_of(tables: Sequence[str], by: Sequence[str], sizes: Sequence[int]) -> Margins:
    """Return the tables of these columns of the question, each with its weight.

    >>> margins_of(["1", "sex*age=3"], ["age", "sex"], [4, 2]).tables
    ((), (0,), (1,), (0, 1))
    >>> margins_of(["0", "sex", "age"], ["age", "sex"], [4, 2]).tables
    ((), (0,), (1,))
    """
    weights: dict[Columns, Fraction] = {}
    for text in tables:
        if text.isdecimal():
            _add_order(weights, int(text), len(by))
    for text in tables:
        if text.isdecimal():
            continue
        match = _TABLE.match(text)
        assert match is not None
        places = [by.index(find_column(name, by)) for name in _known(_columns(match[1]), by)]
        if len(set(places)) < len(places) or len(places) > MAX_TABLE_COLUMNS:
            raise InvalidInput(f"the table {text!r} names a column twice, or too many.", "Name each column once.",
                               argument="tables")  # fmt: skip
        weights[tuple(sorted(places))] = _weight(match[2])
    if len(weights) > MAX_TABLES:
        raise InvalidInput(f"that is more than {MAX_TABLES:,} tables.", "Ask for fewer columns.", argument="tables")
    ordered = sorted(weights, key=lambda one: (len(one), one))
    if unused := [name for place, name in enumerate(by) if not any(place in one for one in ordered)]:
        raise InvalidInput(
            f"{unused[0]!r} is in no table, and would leave people out of all.", "Leave it out of the columns.",
            argument="tables",
        )  # fmt: skip
    for name, size in zip(by, sizes, strict=True):
        if size < 2:
            raise InvalidInput(
                f"{name!r} has one declared value.", "Leave the column out, or declare * for all other values.",
                argument="tables",
            )  # fmt: skip
    return Margins(tuple(sizes), tuple(ordered), tuple(weights[one] for one in ordered))


def _add_order(weights: dict[Columns, Fraction], order: int, columns: int) -> None:
    """Add all tables of up to so many columns."""
    if not 0 <= order <= min(columns, MAX_TABLE_COLUMNS):
        raise InvalidInput.must_be("tables", f"a number of columns from 0 to {min(columns, MAX_TABLE_COLUMNS)}", order)
    for size in range(order + 1):
        for one in subsets(tuple(range(columns)), size):
            weights[one] = Fraction(1)
            if len(weights) > MAX_TABLES:
                raise InvalidInput(
                    f"that is more than {MAX_TABLES:,} tables.", "Ask for fewer columns.", argument="tables"
                )


def _known(names: Sequence[str], by: Sequence[str]) -> Sequence[str]:
    """Return the names; refuse one that is no column of the question."""
    known = {column.casefold() for column in by}
    for name in names:
        if name.casefold() not in known:
            raise InvalidInput(
                f"a table has {name!r}, which is not a column of the question; those are {', '.join(by)}.",
                f"Name it there too, or leave it out of {arg('tables')}.",
                argument="tables",
            )
    return names


def _weight(text: str | None) -> Fraction:
    """Read the public weight of a table."""
    try:
        weight = Fraction(1) if text is None else as_fraction(text, "the weight of a table")
    except DiscreetError:
        weight = Fraction(0)
    if not Fraction(1, 10**6) <= weight <= 10**6:
        raise InvalidInput.must_be("the weight of a table", "a positive number, such as 3", text, argument="tables")
    return weight
