"""The queries that count a table in PostgreSQL: one statement for each table of counts, and only cells come back.

Everything declared travels as parameters, in arrays that the server unnests; the key of the bounding hash as well, so
that no list of running queries shows it. Where each row is a unit, rows are counted by the columns as they are and
the groups numbered afterwards. Where people are, each row is numbered, and either what a person's rows hold is a word
of bits, or it is an array that is ranked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...exact.arrays import IntArray
from ..base import ROW, Counting
from ..bounding import (
    add_chosen,
    choose_in_sets,
    consecutive,
    fits_in_a_word,
    group_of_rank,
    number_bits,
    number_sql,
    rank_sql,
)
from .dialect import PostgresDialect

if TYPE_CHECKING:
    import psycopg


@dataclass
class _Statement:
    """SQL that is being written, and the values of its parameters."""

    values: list[Any] = field(default_factory=list)

    def given(self, value: Any, type_: str) -> str:
        """A parameter that has a value."""
        self.values.append(value)
        return f"CAST(${len(self.values)} AS {type_})"


def count(
    connection: psycopg.Connection[Any],
    counting: Counting,
    table: str,
    kinds: Mapping[str, str],
    dialect: PostgresDialect,
) -> IntArray:
    """The true counts, of shape (groups, counts). They go to the noise and nowhere else.

    Parameters
    ----------
    connection
        A session of ``connection.connected``.
    counting
        What to count.
    table
        SQL that stands after FROM and has the columns of the counting under their own names.
    kinds
        What each column is, as the dialect tells them apart.
    dialect
        How this server writes it.
    """
    sql, values = statement(counting, table, kinds, dialect)
    found = connection.execute(sql.encode(), values, binary=True).fetchall()
    counts = np.zeros((counting.groups.size, len(counting.question.aggregates)), dtype=np.int64)
    if not found:
        return counts
    columns = list(np.array(found, dtype=np.int64).T)
    if counting.unit == ROW:
        _add_rows(counts, counting, *columns)
    elif fits_in_a_word(counting):
        add_chosen(counts, counting, choose_in_sets(counting, *columns))
    else:
        add_chosen(counts, counting, (columns[0], columns[1]))
    return counts


def statement(
    counting: Counting, table: str, kinds: Mapping[str, str], dialect: PostgresDialect
) -> tuple[str, Sequence[Any]]:
    """The one statement that counts, and the values of its parameters."""
    parts = _Statement()
    if counting.unit == ROW:
        sql = _rows_by_group(counting, table, kinds, dialect, parts)
    else:
        choose = _sets if fits_in_a_word(counting) else _ranked
        sql = choose(counting, _numbered(counting, table, kinds, dialect, parts), dialect, parts)
    return sql, parts.values


# ------------------------------------------------------------------------------------------------ rows to group numbers


@dataclass(frozen=True)
class _Keys:
    """How the group of a row is told: what is read of it, and how its number follows from that."""

    reads: list[str]
    names: list[str]
    joins: list[str]
    wanted: list[str]
    number: str


def _keys(counting: Counting, kinds: Mapping[str, str], dialect: PostgresDialect, parts: _Statement) -> _Keys:
    groups = counting.groups
    reads, names, joins, wanted, codes = [], [], [], [], []
    for j, (column, kind, values) in enumerate(zip(counting.question.by, groups.kinds, groups.values, strict=True)):
        read = (
            dialect.reading(column, "VARCHAR", kinds[column])
            if kind == "text"
            else dialect.whole_number(column, kinds[column])
        )
        reads.append(f"{read} AS k{j}")
        names.append(f"k{j}")
        span = consecutive(values)
        if span is not None:
            wanted.append(f"k{j} BETWEEN {span[0]} AND {span[-1]}")
            codes.append(f"(k{j} - ({span[0]}))")
            continue
        known = [(value, code) for code, value in enumerate(values) if value is not None]
        type_, same = ("text[]", 'COLLATE "C" ') if kind == "text" else ("int8[]", "")
        declared = parts.given([value for value, _ in known], type_)
        numbers = parts.given([code for _, code in known], "int8[]")
        outer = "LEFT " if None in values else ""
        joins.append(f"{outer}JOIN unnest({declared}, {numbers}) AS d{j}(v, code) ON d{j}.v {same}= k{j}")
        code = f"d{j}.code"
        if None in values:
            reads.append(f"({dialect.quoted(column)} IS NULL) AS m{j}")
            names.append(f"m{j}")
            code = f"CASE WHEN m{j} THEN {list(values).index(None)} ELSE {code} END"
            wanted.append(f"({code}) IS NOT NULL")
        codes.append(code)
    if groups.cells is not None:
        arrays = [parts.given(column, "int8[]") for column in (*groups.cells.T.tolist(), list(range(groups.size)))]
        listed = ", ".join([*(f"c{j}" for j in range(len(codes))), "g"])
        same = " AND ".join(f"cells.c{j} = {code}" for j, code in enumerate(codes))
        joins.append(f"JOIN unnest({', '.join(arrays)}) AS cells({listed}) ON {same}")
        return _Keys(reads, names, joins, wanted, "cells.g")
    number = "CAST(0 AS int8)"
    for code, values in zip(codes, groups.values, strict=True):
        number = f"({number} * {len(values)} + {code})"
    return _Keys(reads, names, joins, wanted, number)


def _where(wanted: Sequence[str]) -> str:
    return f" WHERE {' AND '.join(f'({test})' for test in wanted)}" if wanted else ""


def _conditions(counting: Counting, kinds: Mapping[str, str], dialect: PostgresDialect) -> list[str]:
    return [dialect.condition(condition, kinds) for condition in counting.conditions]


# ------------------------------------------------------------------------------------------------ each row is a unit


def _rows_by_group(
    counting: Counting, table: str, kinds: Mapping[str, str], dialect: PostgresDialect, parts: _Statement
) -> str:
    keys = _keys(counting, kinds, dialect, parts)
    question = counting.question
    counted = ["count(*) AS n"]
    counted += [f"count(*) FILTER (WHERE {sql}) AS n{i}" for i, sql in enumerate(_conditions(counting, kinds, dialect))]
    where = _where([] if question.where is None else [dialect.condition(question.where, kinds)])
    by = f" GROUP BY {', '.join(map(str, range(1, len(keys.reads) + 1)))}" if keys.reads else ""
    # OFFSET 0 keeps the planner from testing every row for what is tested of few groups afterwards
    by_key = f"SELECT {', '.join([*keys.reads, *counted])} FROM {table}{where}{by} OFFSET 0"
    results = ", ".join([f"{keys.number} AS g", "n", *(f"n{i}" for i in range(len(counted) - 1))])
    return f"SELECT {results} FROM ({by_key}) AS counted {' '.join(keys.joins)}{_where(keys.wanted)}"


def _add_rows(counts: IntArray, counting: Counting, group: IntArray, rows: IntArray, *met: IntArray) -> None:
    by_condition = iter(met)
    for j, aggregate in enumerate(counting.question.aggregates):
        np.add.at(counts[:, j], group, rows if aggregate.condition is None else next(by_condition))
    counts[sorted(counting.groups.zeros)] = 0


# ------------------------------------------------------------------------------------------------ people are the units


def _numbered(
    counting: Counting, table: str, kinds: Mapping[str, str], dialect: PostgresDialect, parts: _Statement
) -> str:
    """A row for each row of a person in a declared group: ``unit`` and the number ``v`` of what it holds."""
    keys = _keys(counting, kinds, dialect, parts)
    kind = kinds[counting.unit]
    # whole numbers are told apart as they are, all else by its text
    unit = dialect.quoted(counting.unit) if kind == "integer" else dialect.reading(counting.unit, "VARCHAR", kind)
    met = [f"h{i}" for i in range(len(counting.conditions))]
    conditions = _conditions(counting, kinds, dialect)
    reads = [*keys.reads, *(f"({sql}) AS {name}" for sql, name in zip(conditions, met, strict=True)), f"{unit} AS unit"]
    wanted = [f"{dialect.quoted(counting.unit)} IS NOT NULL"]
    if counting.question.where is not None:
        wanted.append(dialect.condition(counting.question.where, kinds))
    read = f"SELECT {', '.join(reads)} FROM {table}{_where(wanted)}"
    located = f"SELECT {', '.join([f'{keys.number} AS g', 'unit', *met])} FROM ({read}) AS read {' '.join(keys.joins)}"
    located += _where(keys.wanted)
    zeros = ""
    if counting.groups.zeros:
        listed = parts.given(sorted(counting.groups.zeros), "int8[]")
        zeros = f" WHERE NOT EXISTS (SELECT FROM unnest({listed}) AS zeros(z) WHERE zeros.z = located.g)"
    return f"SELECT unit, {number_sql(counting)} AS v FROM ({located}) AS located{zeros}"


def _sets(counting: Counting, rows: str, dialect: PostgresDialect, parts: _Statement) -> str:
    size = counting.groups.size
    start = "CAST(0 AS int8)"  # where every group is taken, the order is no matter
    if counting.max_groups < size:
        start = f"{dialect.hash_with('unit', parts.given(counting.key.hex(), 'text'))} % {size}"
    people = f"SELECT unit, bit_or(CAST(1 AS int8) << CAST(v AS int4)) AS held FROM ({rows}) AS r GROUP BY unit"
    return f"SELECT held, {start} AS start, count(*) AS n FROM ({people}) AS people GROUP BY 1, 2"


def _ranked(counting: Counting, rows: str, dialect: PostgresDialect, parts: _Statement) -> str:
    """Each person's numbers in one array, each number once, so that the array is no longer than what was declared."""
    people = f"SELECT unit, array_agg(DISTINCT v ORDER BY v) AS held FROM ({rows}) AS r GROUP BY unit"
    h = dialect.hash_with("unit", parts.given(counting.key.hex(), "text"))
    hashed = f"SELECT held, CASE WHEN cardinality(held) = 1 THEN 0 ELSE {h} END AS h FROM ({people}) AS people"
    chosen = _in_order(counting, hashed) if not counting.conditions else _by_rank(counting, hashed)
    return f"SELECT v, count(*) AS n FROM ({chosen}) AS chosen GROUP BY v"


def _in_order(counting: Counting, hashed: str) -> str:
    """Without conditions, numbers are groups: those that follow the start in a sorted array, going round."""
    size = counting.groups.size
    first = f"width_bucket(h % {size} - 1, held)"  # how many lie before the start
    turned = f"SELECT held, cardinality(held) AS n, {first} AS w FROM ({hashed}) AS hashed"
    steps = f"LATERAL generate_series(0, least({min(counting.max_groups, size)}, n) - 1) AS step"
    return f"SELECT held[(w + step) % n + 1] AS v FROM ({turned}) AS turned, {steps}"


def _by_rank(counting: Counting, hashed: str) -> str:
    size, c, k = counting.groups.size, len(counting.conditions), min(counting.max_groups, counting.groups.size)
    turn = f", CAST(h / {size} % {c} AS int4) AS turn" if c > 1 else ""
    turned = f"SELECT held, CAST(h % {size} AS int4) AS start{turn} FROM ({hashed}) AS hashed"
    ranks = f"SELECT {rank_sql(counting, 'BIGINT')} AS rank FROM unnest(held) AS numbers(v)"
    if k == 1:
        best = f"SELECT min(rank) AS rank FROM ({ranks}) AS ranks"
    else:
        by_group = f"SELECT min(rank) AS rank FROM ({ranks}) AS each GROUP BY rank >> {group_of_rank(counting)}"
        best = f"SELECT rank FROM ({by_group}) AS ranks ORDER BY rank LIMIT {k}"
    number = f"best.rank & {(1 << number_bits(counting)) - 1}"
    return f"SELECT {number} AS v FROM ({turned}) AS turned, LATERAL ({best}) AS best"
