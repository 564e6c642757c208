"""From rows to the numbers of their declared groups, shared by all SQL engines.

Declared values are joined with the rows, so that memory depends on the declaration and not on other values in the rows.
Each engine passes a function that makes a table of declared values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..exact.arrays import IntArray
from ..questions.bands import BAND
from ..questions.domains import Values, has_rest, listed_values
from .banding import BandSql
from .base import ROW, Counting
from .bounding import consecutive, number_sql
from .dialect import Dialect

#: A function from a name, columns, and the names of text columns (others are whole numbers) to a FROM item.
Declared = Callable[[str, Mapping[str, Sequence[object]], frozenset[str]], str]


_NO_TEXTS: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Keys:
    """The SQL parts from which the group of a row follows.

    Attributes
    ----------
    reads
        Expressions read from a row, with their names: ``... AS k0``.
    joins
        Joins with tables of declared values.
    tests
        Tests that hold for declared groups only.
    number
        The number of the group.
    codes
        The number of each column's value.
    """

    reads: list[str]
    joins: list[str]
    tests: list[str]
    number: str
    codes: list[str]


def group_keys(counting: Counting, kinds: Mapping[str, str], dialect: Dialect, declared: Declared) -> Keys:
    """Return how rows get the numbers of their groups."""
    groups = counting.groups
    reads, joins, tests, codes = [], [], [], []
    for j, (column, kind, values) in enumerate(zip(counting.question.by, groups.kinds, groups.values, strict=True)):
        other = len(values) - 1 if has_rest(values) else None
        if kind == BAND:
            bands = groups.bands[j]
            assert bands is not None  # Groups have bands for a column of this kind
            missing = list(values).index(None) if None in values else None
            banded = BandSql(bands, column, kinds[column], dialect)
            if not dialect.equal_values_read_alike:  # rows are counted by the numbers of their bands
                reads.append(f"{banded.code(missing, other)} AS k{j}")
                tests += [f"k{j} IS NOT NULL"] if other is None else []
                codes.append(f"k{j}")
                continue
            reads.append(f"{banded.reading} AS k{j}")
            reads += [f"({dialect.quoted(column)} IS NULL) AS m{j}"] if missing is not None else []
            codes.append(banded.code_of(f"k{j}", None if missing is None else (f"m{j}", missing), other))
            inside = [banded.inside(f"k{j}"), *([f"m{j}"] if missing is not None else [])]
            tests += [f"({' OR '.join(inside)})"] if other is None else []
            continue
        read = (
            dialect.reading(column, "VARCHAR", kinds[column])
            if kind == "text"
            else dialect.whole_number(column, kinds[column])
        )
        reads.append(f"{read} AS k{j}")
        span = consecutive(values)
        if span is not None:
            tests.append(f"k{j} BETWEEN {span[0]} AND {span[-1]}")
            codes.append(f"(k{j} - ({span[0]}))")
            continue
        if kind == "text" and None not in values and len(values) <= dialect.max_inline_texts:
            texts = [str(value) for value in listed_values(values)]
            is_listed, place = f"k{j} IN ({', '.join(map(dialect.text, texts))})", dialect.place_in_list(f"k{j}", texts)
            tests += [is_listed] if other is None else []
            codes.append(place if other is None else f"CASE WHEN {is_listed} THEN {place} ELSE {other} END")
            continue
        outer = "LEFT " if None in values or other is not None else ""
        values_table = declared(f"d{j}", _by_code(values), frozenset({"v"} if kind == "text" else ()))
        value = dialect.as_text(f"d{j}.v", "text") if kind == "text" else f"d{j}.v"
        joins.append(f"{outer}JOIN {values_table} ON {value} = k{j}")
        code = f"d{j}.code"
        if None in values:
            reads.append(f"({dialect.quoted(column)} IS NULL) AS m{j}")
            code = f"CASE WHEN m{j} THEN {list(values).index(None)} ELSE {code} END"
            tests += [f"({code}) IS NOT NULL"] if other is None else []
        code = code if other is None else f"COALESCE({code}, {other})"
        codes.append(code)
    if groups.cells is not None:
        cells = {f"c{j}": column for j, column in enumerate(groups.cells.T.tolist())}
        same = " AND ".join(f"cells.c{j} = {code}" for j, code in enumerate(codes))
        joins.append(f"JOIN {declared('cells', {**cells, 'g': range(groups.size)}, _NO_TEXTS)} ON {same}")
        return Keys(reads, joins, tests, "cells.g", codes)
    number = "CAST(0 AS BIGINT)"
    for code, values in zip(codes, groups.values, strict=True):
        number = f"({number} * {len(values)} + {code})"
    return Keys(reads, joins, tests, number, codes)


def _by_code(values: Values) -> dict[str, Sequence[object]]:
    numbered_values = [(value, code) for code, value in enumerate(listed_values(values)) if value is not None]
    return {"v": [value for value, _ in numbered_values], "code": [code for _, code in numbered_values]}


def where_sql(tests: Sequence[str], dialect: Dialect) -> str:
    """Return a WHERE that holds where all tests do; empty without any."""
    return f" WHERE {' AND '.join(map(dialect.row_test, tests))}" if tests else ""


def conditions_sql(counting: Counting, kinds: Mapping[str, str], dialect: Dialect) -> list[str]:
    """Return the conditions of the counts that have one."""
    return [dialect.condition(condition, kinds) for condition in counting.conditions]


def rows_by_group(
    counting: Counting, table: str, kinds: Mapping[str, str], dialect: Dialect, declared: Declared
) -> str:
    """Return SQL of the counts of rows: ``g``, ``n`` and ``n0, n1, ...`` for the conditions.

    Rows are counted by the columns as read (or as stored, where equal values are read alike), and the few groups are
    numbered afterwards.
    """
    keys = group_keys(counting, kinds, dialect, declared)
    question = counting.question
    conditions = conditions_sql(counting, kinds, dialect)
    counts = ["count(*)", *(f"count(*) FILTER (WHERE {sql})" for sql in conditions)]
    names = ["n", *(f"n{i}" for i in range(len(conditions)))]
    where = where_sql([] if question.where is None else [dialect.condition(question.where, kinds)], dialect)
    if dialect.equal_values_read_alike:
        columns = [dialect.quoted(name) for name in question.by]
        longer = "_" * max(map(len, question.by), default=0)  # than any column's name: no count is called like one
        by = f" GROUP BY {', '.join(columns)}" if columns else ""
        raw = f"SELECT {', '.join([*columns, *_named(counts, names, longer)])} FROM {table}{where}{by}"
        again = _named([f"{name}{longer}" for name in names], names)
        by_key = f"SELECT {', '.join([*keys.reads, *again])} FROM ({raw}) AS raw"
        # a test of a count cannot be made earlier, on every row
        where_declared = f" WHERE CASE WHEN {' AND '.join(keys.tests)} THEN n ELSE 0 END > 0" if keys.tests else ""
    else:
        by = f" GROUP BY {', '.join(map(str, range(1, len(keys.reads) + 1)))}" if keys.reads else ""
        by_key = f"SELECT {', '.join([*keys.reads, *_named(counts, names)])} FROM {table}{where}{by}{dialect.barrier}"
        where_declared = where_sql(keys.tests, dialect)
    columns_out = ", ".join([f"{keys.number} AS g", *names])
    return f"SELECT {columns_out} FROM ({by_key}) AS counted {' '.join(keys.joins)}{where_declared}"


def _named(expressions: Sequence[str], names: Sequence[str], ending: str = "") -> list[str]:
    return [f"{sql} AS {name}{ending}" for sql, name in zip(expressions, names, strict=True)]


def add_rows(counts: IntArray, counting: Counting, group: IntArray, rows: IntArray, *matches: IntArray) -> None:
    """Add what :func:`rows_by_group` gave to counts of shape (groups, counts)."""
    add_measures(counts, counting, group, rows, *matches)
    counts[sorted(counting.groups.zeros)] = 0


def add_measures(counts: IntArray, counting: Counting, place: IntArray, rows: IntArray, *matches: IntArray) -> None:
    """Add the numbers of rows, and of those that meet each condition, to counts at these places."""
    by_condition = iter(matches)
    for j, aggregate in enumerate(counting.question.aggregates):
        np.add.at(counts[:, j], place, rows if aggregate.condition is None else next(by_condition))


@dataclass(frozen=True)
class UnitSql:
    """SQL of the unit of a row, and what must hold of a row that has one.

    Attributes
    ----------
    sql
        The unit: a whole number where the column holds such, otherwise a text.
    kind
        ``"integer"`` or ``"text"``.
    tests
        Tests that hold for rows with a unit.
    """

    sql: str
    kind: str
    tests: list[str]


def unit_sql(counting: Counting, kinds: Mapping[str, str], dialect: Dialect) -> UnitSql:
    """Return the unit of a row: whole numbers are compared as numbers, all else by its text.

    With a period it is the name of the period, a colon and the person as text, which no other pair has.
    """
    kind, name = kinds[counting.unit], dialect.quoted(counting.unit)
    if counting.per is None:
        sql = name if kind == "integer" else dialect.reading(counting.unit, "VARCHAR", kind)
        return UnitSql(sql, "integer" if kind == "integer" else "text", [f"{name} IS NOT NULL"])
    column = counting.per.column
    period = dialect.period(column, kinds[column], counting.per.granularity)
    person = dialect.reading(counting.unit, "VARCHAR", kind)
    sql = f"({period} || {dialect.text(':')} || {person})"
    return UnitSql(sql, "text", [f"{name} IS NOT NULL", f"({period}) IS NOT NULL"])


def rows_of_people(
    counting: Counting, table: str, kinds: Mapping[str, str], dialect: Dialect, declared: Declared
) -> str:
    """Return SQL of ``unit`` and the number ``v``, for each row of a person in a declared group.

    If the counting has multiplicities, ``m`` is the number of events that the row stands for.
    """
    keys = group_keys(counting, kinds, dialect, declared)
    unit = unit_sql(counting, kinds, dialect)
    names = [f"h{i}" for i in range(len(counting.conditions))]
    conditions = conditions_sql(counting, kinds, dialect)
    reads = [*keys.reads, *(f"({sql}) AS {h}" for sql, h in zip(conditions, names, strict=True)), f"{unit.sql} AS unit"]
    many = [] if counting.multiplicity is None else ["m"]
    reads += [f"{dialect.quoted(counting.multiplicity)} AS m"] if counting.multiplicity is not None else []
    tests = list(unit.tests)
    if counting.question.where is not None:
        tests.append(dialect.condition(counting.question.where, kinds))
    read = f"SELECT {', '.join(reads)} FROM {table}{where_sql(tests, dialect)}"
    columns = ", ".join([f"{keys.number} AS g", "unit", *names, *many])
    located_rows = f"SELECT {columns} FROM ({read}) AS read {' '.join(keys.joins)}"
    located_rows += where_sql(keys.tests, dialect)
    zeros = ""
    if counting.groups.zeros:
        zeros_table = declared("zeros", {"z": sorted(counting.groups.zeros)}, _NO_TEXTS)
        zeros = f" WHERE NOT EXISTS (SELECT 1 FROM {zeros_table} WHERE zeros.z = located.g)"
    columns = ", ".join(["unit", f"{number_sql(counting)} AS v", *many])
    return f"SELECT {columns} FROM ({located_rows}) AS located{zeros}"


def coded_rows(counting: Counting, table: str, kinds: Mapping[str, str], dialect: Dialect, declared: Declared) -> str:
    """Return SQL of ``c0, c1, ...``, the number of each value, and ``unit``, for each row with declared values."""
    keys = group_keys(counting, kinds, dialect, declared)
    reads, tests = list(keys.reads), []
    codes = [f"{code} AS c{j}" for j, code in enumerate(keys.codes)]
    if counting.unit != ROW:
        unit = unit_sql(counting, kinds, dialect)
        reads.append(f"{unit.sql} AS unit")
        tests += unit.tests
        codes.append("unit")
    if counting.question.where is not None:
        tests.append(dialect.condition(counting.question.where, kinds))
    read = f"SELECT {', '.join(reads)} FROM {table}{where_sql(tests, dialect)}"
    return f"SELECT {', '.join(codes)} FROM ({read}) AS read {' '.join(keys.joins)}{where_sql(keys.tests, dialect)}"
