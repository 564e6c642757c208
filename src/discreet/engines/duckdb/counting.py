"""The queries that count a table in DuckDB: a row is one unit, or people are bounded by the rule of ``engines.base``.

Group columns are turned into group numbers by arithmetic (ranges), as an ENUM (short lists of texts)
or by a join with the declared values, so that memory depends on what was declared and not on what else the rows hold.
Where the groups and the condition fit in a word of bits, one pass over the rows collects each person's set and the
choice is made on sets. Otherwise one pass lists what each person's rows hold, and the lists are ranked. Where memory
does not hold them, equal rows of a person are first made one, and a part of the people is counted at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...exact.arrays import IntArray
from ...questions.domains import Values
from ..base import ROW, Counting
from .dialect import DUCKDB

#: A person's set of groups is the bits of one BIGINT.
_BITS_OF_A_SET = 62
_MOST_PASSES = 4096
#: Texts up to this many are an ENUM, which is read and grouped faster than they are joined.
_MOST_ENUM_VALUES = 1000


def count(engine: Any, counting: Counting, table: str, kinds: Mapping[str, str]) -> IntArray:
    """The true counts, of shape (groups, counts). They go to the noise and nowhere else.

    Parameters
    ----------
    engine
        A DuckDB connection. Temporary tables of declared values are made in it.
    counting
        What to count.
    table
        SQL that stands after FROM and has the columns of the counting under their own names.
    kinds
        What each column is.
    """
    rows = _declared_rows(engine, counting, table, kinds)
    if counting.unit == ROW:
        return _count_rows(engine, counting, rows)
    conditions = len(counting.conditions)
    few = conditions <= 1 and counting.groups.size << conditions <= _BITS_OF_A_SET
    return _count_people(engine, counting, rows.numbered(), _choose_in_sets if few else _choose_in_lists)


# ------------------------------------------------------------------------------------------------ rows to group numbers


@dataclass(frozen=True)
class _Rows:
    """The rows that are in a declared group, in SQL.

    ``keys`` tell the group of a row, ``number`` is its number in terms of their names ``k0, k1, ...``, ``others`` are
    ``h0, h1, ...`` (the conditions met) and ``unit``, and ``source`` is what follows FROM.
    """

    keys: list[str]
    number: str
    others: list[str]
    source: str
    zeros: bool

    @property
    def named(self) -> list[str]:
        return [f"{key} AS k{j}" for j, key in enumerate(self.keys)]

    def numbered(self) -> str:
        """One row for each row: ``g``, the number of its group, and the others; none in a structural zero."""
        inner = f"SELECT {', '.join([*self.named, *self.others])} FROM {self.source}"
        rows = f"SELECT {', '.join([f'CAST({self.number} AS INTEGER) AS g', *self.others])} FROM ({inner}) AS keyed"
        return f"SELECT * FROM ({rows}) AS declared ANTI JOIN zeros USING (g)" if self.zeros else rows


def _declared_rows(engine: Any, counting: Counting, table: str, kinds: Mapping[str, str]) -> _Rows:
    question, groups = counting.question, counting.groups
    reads, joins, wanted, keys, codes = [], [], [], [], []
    for j, (column, kind, values) in enumerate(zip(question.by, groups.kinds, groups.values, strict=True)):
        read = (
            DUCKDB.reading(column, "VARCHAR", kinds[column])
            if kind == "text"
            else DUCKDB.whole_number(column, kinds[column])
        )
        span = _span(values)
        if span is not None:
            if span[0] >= -128 and span[-1] <= 127:  # one byte: counted in an array, without hashing
                read = f"TRY_CAST({read} AS TINYINT)"
            wanted.append(f"x{j} BETWEEN {span[0]} AND {span[-1]}")
            keys.append(f"x{j}")
            codes.append(f"(CAST(k{j} AS BIGINT) - ({span[0]}))")
        elif kind == "text" and None not in values and len(values) <= _MOST_ENUM_VALUES:
            read = f"TRY_CAST({read} AS ENUM ({', '.join(DUCKDB.text(str(value)) for value in values)}))"
            wanted.append(f"x{j} IS NOT NULL")
            keys.append(f"x{j}")
            codes.append(f"CAST(enum_code(k{j}) AS BIGINT)")
        else:
            same = f"x{j} = values{j}.v"
            if None in values:
                reads.append(f"{DUCKDB.quoted(column)} IS NULL AS missing{j}")
                same = f"x{j} IS NOT DISTINCT FROM values{j}.v AND missing{j} = values{j}.missing"
            _make_table(engine, f"values{j}", _column(kind, values))
            joins.append(f"JOIN values{j} ON {same}")
            keys.append(f"values{j}.code")
            codes.append(f"k{j}")
        reads.append(f"{read} AS x{j}")
    others = [f"h{i}" for i in range(len(counting.conditions))]
    reads += [f"({DUCKDB.condition(condition, kinds)}) AS h{i}" for i, condition in enumerate(counting.conditions)]
    if counting.unit != ROW:
        kind = kinds[counting.unit]
        unit = DUCKDB.quoted(counting.unit) if kind == "integer" else DUCKDB.reading(counting.unit, "VARCHAR", kind)
        reads.append(f"{unit} AS unit")
        wanted.append("unit IS NOT NULL")
        others.append("unit")
    where = "" if question.where is None else f" WHERE {DUCKDB.condition(question.where, kinds)}"
    source = f"(SELECT {', '.join(reads) or '0'} FROM {table}{where}) AS read {' '.join(joins)}"
    source += f" WHERE {' AND '.join(wanted)}" if wanted else ""
    if groups.zeros:
        _make_table(engine, "zeros", {"g": np.array(sorted(groups.zeros), dtype=np.int64)})
    if groups.cells is None:
        number = "0"
        for code, values in zip(codes, groups.values, strict=True):
            number = f"({number} * {len(values)} + {code})"
        return _Rows(keys, number, others, source, bool(groups.zeros))
    listed = {f"code{j}": groups.cells[:, j] for j in range(len(codes))}
    _make_table(engine, "cells", {"g": np.arange(groups.size), **listed})
    coded = ", ".join([*(f"{code} AS code{j}" for j, code in enumerate(codes)), *others])
    named = ", ".join([*(f"{key} AS k{j}" for j, key in enumerate(keys)), *others])
    joined = f"(SELECT {coded} FROM (SELECT {named} FROM {source}) AS keyed) AS coded JOIN cells USING "
    joined += f"({', '.join(listed)})"
    return _Rows(["cells.g"], "k0", others, joined, bool(groups.zeros))


def _span(values: Values) -> range | None:
    """The values as a range of step one, if they are."""
    if isinstance(values, range):
        return values if values.step == 1 else None
    first = values[0]
    if not isinstance(first, int) or values != tuple(range(first, first + len(values))):
        return None
    return range(first, first + len(values))


def _column(kind: str, values: Values) -> dict[str, NDArray[Any]]:
    """The declared values of a column as a table to join with: value, whether it stands for NULL, position."""
    columns: dict[str, NDArray[Any]] = {"code": np.arange(len(values))}
    if kind == "integer":
        columns["v"] = np.array([0 if value is None else value for value in values], dtype=np.int64)
    else:
        columns["v"] = np.array(["" if value is None else value for value in values], dtype=object)
    columns["missing"] = np.array([value is None for value in values])
    return columns


def _make_table(engine: Any, name: str, columns: Mapping[str, NDArray[Any]]) -> None:
    """A temporary table of public values, in memory."""
    engine.register("given", dict(columns))
    value = " REPLACE (CASE WHEN NOT missing THEN v END AS v)" if "missing" in columns else ""
    engine.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT *{value} FROM given")
    engine.unregister("given")


# ------------------------------------------------------------------------------------------------ each row is a unit


def _count_rows(engine: Any, counting: Counting, rows: _Rows) -> IntArray:
    """Count by the keys as they are, and number the groups afterwards, of which there are few."""
    met = [f"count(*) FILTER (h{i}) AS n{i}" for i in range(len(counting.conditions))]
    by_key = f"SELECT {', '.join([*rows.named, 'count(*) AS n', *met])} FROM {rows.source} GROUP BY ALL"
    wanted = ["n", *(f"n{i}" for i in range(len(counting.conditions))), f"CAST({rows.number} AS INTEGER) AS g"]
    found = engine.execute(f"SELECT {', '.join(wanted)} FROM ({by_key}) AS counted").fetchnumpy()
    by_condition = iter([found[f"n{i}"] for i in range(len(counting.conditions))])
    counts = np.zeros((counting.groups.size, len(counting.question.aggregates)), dtype=np.int64)
    for j, aggregate in enumerate(counting.question.aggregates):
        counts[found["g"], j] = found["n"] if aggregate.condition is None else next(by_condition)
    counts[sorted(counting.groups.zeros)] = 0
    return counts


# ------------------------------------------------------------------------------------------------ people are the units

#: What was chosen, as numbers (the group times 2^c, plus the conditions its row meets as bits, the first highest), and
#: how many people it was chosen for. A number may come up more than once.
Chosen = tuple[IntArray, IntArray]


def _count_people(
    engine: Any, counting: Counting, rows: str, choose: Callable[[Any, Counting, str], Chosen]
) -> IntArray:
    """Count people by what was chosen for each; in passes over a part of the people each, if memory is short.

    How many passes it takes changes the time and nothing else: a choice depends on one person's rows.
    """
    import duckdb

    passes = 1
    while True:
        counts = np.zeros((counting.groups.size, len(counting.question.aggregates)), dtype=np.int64)
        try:
            for number in range(passes):
                part = f"SELECT DISTINCT * FROM ({rows}) AS everyone WHERE hash(unit) % {passes} = {number}"
                _add(counts, counting, choose(engine, counting, part if passes > 1 else rows))
            return counts
        except duckdb.OutOfMemoryException:
            if passes == _MOST_PASSES:
                raise
        passes *= 8


def _add(counts: IntArray, counting: Counting, chosen: Chosen) -> None:
    numbers, people = chosen
    bit = len(counting.conditions)
    group = numbers >> bit
    for j, aggregate in enumerate(counting.question.aggregates):
        if aggregate.condition is None:
            np.add.at(counts[:, j], group, people)
        else:
            bit -= 1
            np.add.at(counts[:, j], group, people * (numbers >> bit & 1))


def _number(counting: Counting) -> str:
    """SQL of a row's group and conditions as one number, an INTEGER: there are at most ``MOST_COMBINATIONS``."""
    c = len(counting.conditions)
    bits = [f"CASE WHEN h{i} THEN {1 << (c - 1 - i)} ELSE 0 END" for i in range(c)]
    return " + ".join([f"g * {1 << c}", *bits])


def _choose_in_sets(engine: Any, counting: Counting, rows: str) -> Chosen:
    """The choice when what a person's rows hold is a set in one word: one pass over the rows, then bits."""
    size, c, k = counting.groups.size, len(counting.conditions), counting.max_groups
    start = (
        f"{DUCKDB.bounding_hash('unit', counting.key)} % {size}" if k < size else "0"
    )  # where every group is taken, the order does not matter
    found = engine.execute(
        f"""
        WITH people AS (SELECT unit, bit_or(CAST(1 AS BIGINT) << ({_number(counting)})) AS held FROM ({rows}) AS r
                        GROUP BY unit)
        SELECT held, {start} AS start, count(*) AS n FROM people GROUP BY ALL
        """
    ).fetchnumpy()
    held, start_, people = (np.asarray(found[name], dtype=np.int64) for name in ("held", "start", "n"))
    numbers, counted = [], []
    for g in _going_round(_groups_of(held, size, c), start_, size, k):
        some = g >= 0
        g = g[some]
        met = held[some] >> (2 * g + 1) & 1 if c else 0
        numbers.append((g << c) + met)
        counted.append(people[some])
    return np.concatenate(numbers), np.concatenate(counted)


def _groups_of(held: IntArray, size: int, c: int) -> IntArray:
    """From bits for (group, condition) to bits for groups."""
    if c == 0:
        return held
    either = held | held >> 1  # bit 2g: some row is in group g
    groups = np.zeros_like(held)
    for g in range(size):
        groups |= (either >> 2 * g & 1) << g
    return groups


def _going_round(sets: IntArray, start: IntArray, size: int, k: int) -> Iterator[IntArray]:
    """The first, second, ... k-th member of each set met going round from its start; -1 where there are no more."""
    rest = (sets >> start) | (sets & (np.int64(1) << start) - 1) << (size - start)
    for _ in range(min(k, size)):
        lowest = rest & -rest
        place = np.frexp(lowest.astype(np.float64))[1] - 1  # powers of two are exact; 0 gives -1
        yield np.where(rest != 0, (place + start) % size, -1)
        rest &= rest - 1


def _choose_in_lists(engine: Any, counting: Counting, rows: str) -> Chosen:
    """The choice in general: one pass over the rows lists what each person's rows hold, then each list is ranked.

    A rank is the place of the group going round, then the conditions not met going round, then, to be read off the
    smallest one, the number that stands for both. Somebody with one row needs no choice, and no hash.
    """
    size, c, k = counting.groups.size, len(counting.conditions), min(counting.max_groups, counting.groups.size)
    every, width = (1 << c) - 1, (size << c).bit_length()
    whole = "INTEGER" if 2 * (width + c) <= 31 else "BIGINT"  # narrow ranks make narrow lists
    rank = f"(CAST(((v >> {c}) - start + {size}) % {size} AS {whole}) << {width + c}) + v"
    if c:
        met = f"CAST(v & {every} AS {whole})"  # turned round by up to c places, it needs twice as many
        if c > 1:
            met = f"((({met} << turn) | ({met} >> ({c} - turn))) & {every})"
        rank += f" + (({every} - {met}) << {width})"
    turn = f", CAST(h // {size} % {c} AS INTEGER) AS turn" if c > 1 else ""
    ranks, best = f"list_transform(held, lambda v: {rank})", "list_min(ranks)"
    if k > 1:
        ranks, group = f"list_sort({ranks})", f">> {width + c}"
        first = f"list_filter(ranks, lambda r, i: i = 1 OR r {group} <> ranks[i - 1] {group})"  # one row in each group
        best = f"unnest(list_slice({first}, 1, {k}))"
    # nested, since tables of a WITH are kept whole
    people = f"SELECT unit, list({_number(counting)}) AS held FROM ({rows}) AS r GROUP BY unit"
    h = DUCKDB.bounding_hash("unit", counting.key)
    hashed = f"SELECT held, CASE WHEN len(held) = 1 THEN 0 ELSE {h} END AS h FROM ({people}) AS people"
    turned = f"SELECT held, CAST(h % {size} AS INTEGER) AS start{turn} FROM ({hashed}) AS hashed"
    chosen = f"SELECT {best} AS rank FROM (SELECT {ranks} AS ranks FROM ({turned}) AS turned) AS ranked"
    found = engine.execute(
        f"SELECT rank & {(1 << width) - 1} AS v, count(*) AS n FROM ({chosen}) AS chosen GROUP BY ALL"
    ).fetchnumpy()
    return np.asarray(found["v"], dtype=np.int64), np.asarray(found["n"], dtype=np.int64)
