"""The queries that count a table in DuckDB: a row is one unit, or people are bounded by the rule of ``engines.base``.

Group columns are turned into group numbers by arithmetic (ranges), as an ENUM (short lists of texts)
or by a join with the declared values, so that memory depends on what was declared and not on what else the rows hold.
Where the groups and the condition fit in one or two words of bits, one pass over the rows collects each person's set
and the choice is made on sets. Otherwise one pass lists what each person's rows hold, and the lists are ranked. Where
memory does not hold them, equal rows of a person are first made one, and a part of the people is counted at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...exact.arrays import Array, IntArray
from ...questions.bands import BAND
from ...questions.domains import Values, has_rest, listed_values
from ..banding import BandSql
from ..base import ROW, Contributing, Counting, DiscoveredGroups, Discovering, OccupiedGroups
from ..bounding import (
    WORD_BITS,
    Chosen,
    add_chosen,
    choose_in_sets,
    consecutive,
    fits_in_a_word,
    missed_sql,
    number_bits,
    number_sql,
)
from ..counted_cells import counts_rows, occupied_by_choice, occupied_by_rows, occupied_of_parts
from ..discovery import discovered_groups, groups_sql, merge
from ..events import add_cells, events_sql, histogram_sql
from ..grouping import Declared, add_rows, unit_sql
from ..hashed_choice import hash_input_sql, one_row_in_each_group
from ..margins.blocks import BlockCounts
from ..margins.counting import CountingTables, chosen_records_sql
from ..relations.lookup import looked_up
from .dialect import DUCKDB

if TYPE_CHECKING:
    import duckdb

#: A person's set of groups is the bits of one BIGINT, or of one HUGEINT.
_HUGEINT_BITS = 126
_MAX_PASSES = 4096
#: Number of records of tables at once that are fetched at a time.
_RECORDS_AT_ONCE = 1 << 19
#: Maximum number of texts read as an ENUM, which is faster than a join.
_MAX_ENUM_VALUES = 1000


def count(engine: duckdb.DuckDBPyConnection, counting: Counting, table: str, kinds: Mapping[str, str]) -> IntArray:
    """Return the true counts, of shape (groups, counts). They go to the noise and nowhere else.

    Parameters
    ----------
    engine
        A DuckDB connection. Temporary tables of declared values are made in it.
    counting
        The counts to make.
    table
        SQL that stands after FROM and has the columns of the counting under their own names.
    kinds
        The kind of each column.
    """
    if isinstance(counting, CountingTables):
        table, kinds = looked_up(counting, table, kinds, DUCKDB, public_tables(engine))
        return _count_tables(engine, counting, _declared_rows(engine, counting, table, kinds).coded())
    counts = _no_counts(counting)

    def add(part: Sequence[IntArray]) -> None:
        if isinstance(counting, Contributing):
            add_cells(counts, part)
        elif counts_rows(counting):
            add_rows(counts, counting, *part)
        else:
            add_chosen(counts, counting, (part[0], part[1]))

    def begin() -> None:
        counts[:] = 0

    _count_cells(engine, counting, table, kinds, begin, add)
    return counts


def occupied(
    engine: duckdb.DuckDBPyConnection, counting: Counting, table: str, kinds: Mapping[str, str]
) -> OccupiedGroups:
    """Return the groups with somebody in them and their true counts; the parameters are those of :func:`count`."""
    parts: list[OccupiedGroups] = []

    def add(part: Sequence[IntArray]) -> None:
        by_rows = counts_rows(counting)
        parts.append(occupied_by_rows(counting, *part) if by_rows else occupied_by_choice(counting, (part[0], part[1])))
        parts[:] = [occupied_of_parts(parts, counting)]

    _count_cells(engine, counting, table, kinds, parts.clear, add)
    return occupied_of_parts(parts, counting)


def _count_cells(
    engine: duckdb.DuckDBPyConnection, counting: Counting, table: str, kinds: Mapping[str, str],
    begin: Callable[[], None], add: Callable[[Sequence[IntArray]], None],
) -> None:  # fmt: skip
    """Give the counted cells to ``add``, those of a part of the people at a time; ``begin`` comes before the first."""
    table, kinds = looked_up(counting, table, kinds, DUCKDB, public_tables(engine))
    rows = _declared_rows(engine, counting, table, kinds)
    if counting.unit == ROW:
        begin()
        add(_cells_of_rows(engine, counting, rows))
        return
    cells = (
        _contributions if isinstance(counting, Contributing)
        else _events if counting.max_rows is not None
        else _chosen_groups
    )  # fmt: skip
    _in_passes(rows.numbered(), begin, lambda part, whole: add(cells(engine, counting, part, whole)))


def discover(
    engine: duckdb.DuckDBPyConnection, counting: Discovering, table: str, kinds: Mapping[str, str]
) -> DiscoveredGroups:
    """Return the groups in the data and their true counts; the parameters are those of :func:`count`.

    Where memory is short, a part of the people is processed at a time, as in counting.
    """
    import duckdb

    declared = public_tables(engine)
    table, kinds = looked_up(counting, table, kinds, DUCKDB, declared)

    def hashed(text: str) -> str:
        return DUCKDB.bounding_hash(text, counting.key)

    def discover_in(rows: str) -> DiscoveredGroups:
        sql = groups_sql(counting, rows, kinds, DUCKDB, declared, hashed)
        return discovered_groups(counting, list(engine.execute(sql).fetchnumpy().values()))

    passes = 1
    while True:
        try:
            if passes == 1:
                return discover_in(table)
            unit = DUCKDB.quoted(counting.unit)
            some = f"(SELECT * FROM {table} WHERE hash({unit}) % {passes} = {{}}) AS part"
            return merge([discover_in(some.format(number)) for number in range(passes)])
        except duckdb.OutOfMemoryException:
            if passes == _MAX_PASSES or counting.unit == ROW:
                raise
        passes *= 8


def public_tables(engine: duckdb.DuckDBPyConnection) -> Declared:
    """Return a function that makes temporary tables of public values."""

    def declared(name: str, columns: Mapping[str, Sequence[object]], texts: frozenset[str]) -> str:
        types = {column: object if column in texts else np.int64 for column in columns}
        _make_table(engine, name, {column: np.array(values, types[column]) for column, values in columns.items()})
        return name

    return declared


# ------------------------------------------------------------------------------------------------ rows to group numbers


@dataclass(frozen=True)
class _GroupedRows:
    """The rows that are in a declared group, in SQL.

    ``keys`` tell the group of a row, ``number`` is its number in terms of their names ``k0, k1, ...``, ``others`` are
    ``h0, h1, ...`` (the conditions met), ``unit`` and ``m`` (the events that a row stands for, if it says so),
    ``source`` is what follows FROM, and ``codes`` the number of each column's value.
    """

    keys: list[str]
    number: str
    others: list[str]
    source: str
    zeros: bool
    codes: list[str]

    @property
    def named(self) -> list[str]:
        return [f"{key} AS k{j}" for j, key in enumerate(self.keys)]

    def coded(self) -> str:
        """Return one row for each row: ``c0, c1, ...``, the number of each value, and the others."""
        inner = f"SELECT {', '.join([*self.named, *self.others])} FROM {self.source}"
        codes = [f"{code} AS c{j}" for j, code in enumerate(self.codes)]
        return f"SELECT {', '.join([*codes, *self.others])} FROM ({inner}) AS keyed"

    def numbered(self) -> str:
        """Return one row for each row: ``g``, the number of its group, and the others; none in a structural zero."""
        inner = f"SELECT {', '.join([*self.named, *self.others])} FROM {self.source}"
        rows = f"SELECT {', '.join([f'{self.number} AS g', *self.others])} FROM ({inner}) AS keyed"
        return f"SELECT * FROM ({rows}) AS declared ANTI JOIN zeros USING (g)" if self.zeros else rows


def _declared_rows(
    engine: duckdb.DuckDBPyConnection, counting: Counting, table: str, kinds: Mapping[str, str]
) -> _GroupedRows:
    question, groups = counting.question, counting.groups
    reads, joins, tests, keys, codes = [], [], [], [], []
    for j, (column, kind, values) in enumerate(zip(question.by, groups.kinds, groups.values, strict=True)):
        other = len(values) - 1 if has_rest(values) else None
        if kind == BAND:
            bands = groups.bands[j]
            assert bands is not None  # Groups have bands for a column of this kind
            banded = BandSql(bands, column, kinds[column], DUCKDB)
            missing = None
            if None in values:
                reads.append(f"{DUCKDB.quoted(column)} IS NULL AS missing{j}")
                missing = f"missing{j}", list(values).index(None)
            reads.append(f"{banded.reading} AS x{j}")
            if other is None:
                tests.append(f"({'' if missing is None else f'missing{j} OR '}{banded.inside(f'x{j}')})")
            keys.append(banded.code_of(f"x{j}", missing, other))
            codes.append(f"CAST(k{j} AS BIGINT)")
            continue
        read = (
            DUCKDB.reading(column, "VARCHAR", kinds[column])
            if kind == "text"
            else DUCKDB.whole_number(column, kinds[column])
        )
        span = consecutive(values)
        if span is not None:
            if counting.unit == ROW and span[0] >= -128 and span[-1] <= 127:  # a byte: counted in an array, not hashed
                read = f"TRY_CAST({read} AS TINYINT)"
            tests.append(f"x{j} BETWEEN {span[0]} AND {span[-1]}")
            keys.append(f"x{j}")
            codes.append(f"(CAST(k{j} AS BIGINT) - ({span[0]}))" if span[0] else f"CAST(k{j} AS BIGINT)")
        elif kind == "text" and None not in values and len(values) <= _MAX_ENUM_VALUES:
            enum_values = ", ".join(DUCKDB.text(str(value)) for value in listed_values(values))
            read = f"TRY_CAST({read} AS ENUM ({enum_values}))"
            tests += [f"x{j} IS NOT NULL"] if other is None else []
            keys.append(f"x{j}")
            code = f"CAST(enum_code(k{j}) AS BIGINT)"
            codes.append(code if other is None else f"CASE WHEN k{j} IS NULL THEN {other} ELSE {code} END")
        else:
            same = f"x{j} = values{j}.v"
            if None in values:
                reads.append(f"{DUCKDB.quoted(column)} IS NULL AS missing{j}")
                same = f"x{j} IS NOT DISTINCT FROM values{j}.v AND missing{j} = values{j}.missing"
            _make_table(engine, f"values{j}", _column(kind, listed_values(values)))
            joins.append(f"{'' if other is None else 'LEFT '}JOIN values{j} ON {same}")
            keys.append(f"values{j}.code" if other is None else f"COALESCE(values{j}.code, {other})")
            codes.append(f"k{j}")
        reads.append(f"{read} AS x{j}")
    others = [f"h{i}" for i in range(len(counting.conditions))]
    reads += [f"({DUCKDB.condition(condition, kinds)}) AS h{i}" for i, condition in enumerate(counting.conditions)]
    if counting.unit != ROW:
        reads.append(f"{unit_sql(counting, kinds, DUCKDB).sql} AS unit")
        tests.append("unit IS NOT NULL")
        others.append("unit")
    if counting.multiplicity is not None:
        reads.append(f"{DUCKDB.quoted(counting.multiplicity)} AS m")
        others.append("m")
    where = "" if question.where is None else f" WHERE {DUCKDB.condition(question.where, kinds)}"
    source = f"(SELECT {', '.join(reads) or '0'} FROM {table}{where}) AS read {' '.join(joins)}"
    source += f" WHERE {' AND '.join(tests)}" if tests else ""
    if groups.zeros:
        _make_table(engine, "zeros", {"g": np.array(sorted(groups.zeros), dtype=np.int64)})
    if groups.cells is None:
        number = codes[0] if codes else "0"  # the engine folds no constants here: everything written is computed
        for code, values in zip(codes[1:], groups.values[1:], strict=True):
            number = f"({number} * {len(values)} + {code})"
        return _GroupedRows(keys, number, others, source, bool(groups.zeros), codes)
    places = {f"code{j}": groups.cells[:, j] for j in range(len(codes))}
    _make_table(engine, "cells", {"g": np.arange(groups.size), **places})
    coded = ", ".join([*(f"{code} AS code{j}" for j, code in enumerate(codes)), *others])
    named = ", ".join([*(f"{key} AS k{j}" for j, key in enumerate(keys)), *others])
    joined = f"(SELECT {coded} FROM (SELECT {named} FROM {source}) AS keyed) AS coded JOIN cells USING "
    joined += f"({', '.join(places)})"
    return _GroupedRows(["cells.g"], "k0", others, joined, bool(groups.zeros), [])


def _column(kind: str, values: Values) -> dict[str, Array]:
    """Return the declared values of a column as a table to join with: value, whether it stands for NULL, position."""
    columns: dict[str, Array] = {"code": np.arange(len(values))}
    if kind == "integer":
        columns["v"] = np.array([0 if value is None else value for value in values], dtype=np.int64)
    else:
        columns["v"] = np.array(["" if value is None else value for value in values], dtype=object)
    columns["missing"] = np.array([value is None for value in values])
    return columns


def _make_table(engine: duckdb.DuckDBPyConnection, name: str, columns: Mapping[str, Array]) -> None:
    """Make a temporary table of public values, in memory."""
    engine.register("given", dict(columns))
    value = " REPLACE (CASE WHEN NOT missing THEN v END AS v)" if "missing" in columns else ""
    engine.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT *{value} FROM given")
    engine.unregister("given")


# ------------------------------------------------------------------------------------------------ many tables at once


def _count_tables(engine: duckdb.DuckDBPyConnection, counting: CountingTables, coded: str) -> IntArray:
    """Count one record of each person: records are copied once, and counted in blocks of columns."""

    def hashed(text: str) -> str:
        return DUCKDB.bounding_hash(text, counting.key)

    counts = counting.no_counts()

    def begin() -> None:
        counts[:] = 0

    def add(part: str, whole: bool) -> None:
        records = chosen_records_sql(counting, part, hashed, "VARCHAR")
        narrow = ", ".join(
            f"CAST(c{column} AS {'UTINYINT' if size <= 256 else 'INTEGER'}) AS c{column}"
            for column, size in enumerate(counting.sizes)
        )
        engine.execute(f"CREATE OR REPLACE TEMP TABLE records AS SELECT {narrow} FROM ({records}) AS records")
        blocks = BlockCounts(counting)
        (size,) = engine.execute("SELECT count(*) FROM records").fetchone() or (0,)
        for start in range(0, size, _RECORDS_AT_ONCE):
            some = f"SELECT * FROM records WHERE rowid >= {start} AND rowid < {start + _RECORDS_AT_ONCE}"
            blocks.add(engine.execute(some).fetchnumpy())
        engine.execute("DROP TABLE records")
        counts[:] += blocks.result()

    if counting.unit == ROW:
        add(coded, True)
    else:
        _in_passes(coded, begin, add)
    return counts


# ------------------------------------------------------------------------------------------------ each row is a unit


def _cells_of_rows(engine: duckdb.DuckDBPyConnection, counting: Counting, rows: _GroupedRows) -> Sequence[IntArray]:
    """Count by the keys as they are, and number the groups afterwards, of which there are few."""
    names = ["n", *(f"n{i}" for i in range(len(counting.conditions)))]
    condition_counts = [f"count(*) FILTER (h{i}) AS n{i}" for i in range(len(counting.conditions))]
    by_key = f"SELECT {', '.join([*rows.named, 'count(*) AS n', *condition_counts])} FROM {rows.source} GROUP BY ALL"
    selected = [f"CAST({rows.number} AS INTEGER) AS g", *names]
    columns = engine.execute(f"SELECT {', '.join(selected)} FROM ({by_key}) AS counted").fetchnumpy()
    return [np.asarray(columns[name], dtype=np.int64) for name in ("g", *names)]


# ------------------------------------------------------------------------------------------------ people are the units

Choose = Callable[[Any, Counting, str], Chosen]


def _way_to_choose(counting: Counting) -> Choose:
    """Choose by sets where they fit, else by lists; with two conditions rows are not ordered by their numbers."""
    if counting.uses_hashed_choice:
        return _choose_evenly
    if counting.max_groups == 1 and fits_in_a_word(counting, _HUGEINT_BITS):
        return _choose_first_in_sets
    return _choose_in_sets if fits_in_a_word(counting) else _choose_in_lists


def _chosen_groups(engine: duckdb.DuckDBPyConnection, counting: Counting, part: str, whole: bool) -> Chosen:
    """Count people by the choice made for each, which depends on one person's rows."""
    distinct = part if whole else f"SELECT DISTINCT * FROM ({part}) AS part"
    return _way_to_choose(counting)(engine, counting, distinct)


def _events(engine: duckdb.DuckDBPyConnection, counting: Counting, part: str, whole: bool) -> Sequence[IntArray]:
    """Count the rows of people by ``engines.events``; equal rows of a person are several events and stay apart."""

    def hashed(text: str) -> str:
        return DUCKDB.bounding_hash(text, counting.key)

    many = "" if counting.multiplicity is None else ", m"
    numbered = f"SELECT unit, {number_sql(counting)} AS v{many} FROM ({part}) AS located"
    cells = engine.execute(events_sql(counting, numbered, hashed, "VARCHAR")).fetchnumpy().values()
    return [np.asarray(column, dtype=np.int64) for column in cells]


def _contributions(engine: duckdb.DuckDBPyConnection, counting: Counting, part: str, whole: bool) -> Sequence[IntArray]:
    """Count people by their groups or rows (``engines.events``)."""
    assert isinstance(counting, Contributing)
    numbered = f"SELECT unit, g AS v FROM ({part}) AS located"
    cells = engine.execute(histogram_sql(counting, numbered)).fetchnumpy().values()
    return [np.asarray(column, dtype=np.int64) for column in cells]


def _no_counts(counting: Counting) -> IntArray:
    size = counting.top if isinstance(counting, Contributing) else counting.groups.size
    return np.zeros((size, len(counting.question.aggregates)), dtype=np.int64)


def _in_passes(rows: str, begin: Callable[[], None], add: Callable[[str, bool], None]) -> None:
    """Have all people counted at once by ``add``, or a part of them at a time if memory is short.

    The number of passes changes nothing but the time.
    """
    import duckdb

    passes = 1
    while True:
        begin()
        try:
            for number in range(passes):
                part = f"SELECT * FROM ({rows}) AS everyone WHERE hash(unit) % {passes} = {number}"
                add(part if passes > 1 else rows, passes == 1)
            return
        except duckdb.OutOfMemoryException:
            if passes == _MAX_PASSES:
                raise
        passes *= 8


def _sets(counting: Counting, rows: str, word: str) -> str:
    """Return SQL of the people: ``unit``, and ``held``, the numbers of their rows as the bits of a word."""
    bit = f"CAST(1 AS {word}) << CAST({number_sql(counting)} AS {word})"
    return f"SELECT unit, bit_or({bit}) AS held FROM ({rows}) AS r GROUP BY unit"


def _start(counting: Counting) -> str:
    """Return SQL of the group at which going round starts; where every group is taken, the order does not matter."""
    size = counting.groups.size
    return f"{DUCKDB.bounding_hash('unit', counting.key)} % {size}" if counting.max_groups < size else "0"


def _times(whole: str, factor: int) -> str:
    return f"({whole}) * {factor}" if factor > 1 else whole


def _choose_first_in_sets(engine: duckdb.DuckDBPyConnection, counting: Counting, rows: str) -> Chosen:
    """Return the choice of one group when what a person's rows hold is a set in one or two words.

    The choice is the lowest bit from the start on, else the lowest of all: of two rows in a group, the one that
    meets the condition has the lower number.
    """
    c = len(counting.conditions)
    word = "BIGINT" if counting.groups.size << c <= WORD_BITS else "HUGEINT"
    start = f"CAST(1 AS {word}) << CAST({_times(_start(counting), 1 << c)} AS {word})"
    later = f"CASE WHEN held & (held - 1) = 0 THEN held ELSE held & -({start}) END"  # one bit needs no choice, no hash
    people = f"SELECT held, {later} AS later FROM ({_sets(counting, rows, word)}) AS people"
    first = f"SELECT CASE WHEN later = 0 THEN held & -held ELSE later & -later END AS bit FROM ({people}) AS turned"
    choices = engine.execute(f"SELECT bit, count(*) AS n FROM ({first}) AS chosen GROUP BY bit").fetchall()
    numbers = np.array([bit.bit_length() - 1 for bit, _ in choices], dtype=np.int64)
    return numbers, np.array([people for _, people in choices], dtype=np.int64)


def _choose_in_sets(engine: duckdb.DuckDBPyConnection, counting: Counting, rows: str) -> Chosen:
    """Return the choice when what a person's rows hold is a set in one word: one pass over the rows, then bits."""
    people = _sets(counting, rows, "BIGINT")
    start = f"CASE WHEN held & (held - 1) = 0 THEN 0 ELSE {_start(counting)} END"  # one bit needs no choice, no hash
    sets = engine.execute(
        f"SELECT held, {start} AS start, count(*) AS n FROM ({people}) AS people GROUP BY ALL"
    ).fetchnumpy()
    return choose_in_sets(counting, *(np.asarray(sets[name], dtype=np.int64) for name in ("held", "start", "n")))


def _choose_in_lists(engine: duckdb.DuckDBPyConnection, counting: Counting, rows: str) -> Chosen:
    """Return the choice in general: one pass over the rows makes a list for each person, then each list is ranked.

    A rank is a row's number less that of the start, modulo a power of two, so that what is before the start comes last;
    with several conditions, those not met are turned round. The number is read off the rank by the way back. Somebody
    with one row needs no choice, and no hash.
    """
    size, c, k = counting.groups.size, len(counting.conditions), min(counting.max_groups, counting.groups.size)
    every, width = (1 << c) - 1, ((size << c) - 1).bit_length()
    modulus = (1 << width) - 1
    whole = "SMALLINT" if width <= 15 else "INTEGER"  # narrow numbers make narrow lists
    rank, number = f"(v - start) & {modulus}", f"(CAST(rank AS INTEGER) + start) & {modulus}"
    if c > 1:
        rank = f"((v - start) & {modulus - every}) | {_turned_round(f'(v & {every})', 'turn', c)}"
        back = _turned_round(f"(rank & {every})", f"({c} - turn)", c)
        number = f"(({number}) & {modulus - every}) | {back}"
    turn = f", CAST(h // {size} % {c} AS INTEGER) AS turn" if c > 1 else ""
    ranks, best = f"list_transform(held, lambda v: {rank})", "list_min(ranks)"
    if k > 1:
        ranks, group = f"list_sort({ranks})", f">> {c}"
        first = f"list_filter(ranks, lambda r, i: i = 1 OR r {group} <> ranks[i - 1] {group})"  # one row in each group
        best = f"unnest(list_slice({first}, 1, {k}))"
    # nested, since tables of a WITH are kept whole
    people = f"SELECT unit, list(CAST({number_sql(counting)} AS {whole})) AS held FROM ({rows}) AS r GROUP BY unit"
    h = DUCKDB.bounding_hash("unit", counting.key)
    hashed = f"SELECT held, CASE WHEN len(held) = 1 THEN 0 ELSE {h} END AS h FROM ({people}) AS people"
    start = _times(f"h % {size}", 1 << c)
    turned = f"SELECT held, CAST({start} AS {whole}) AS start{turn} FROM ({hashed}) AS hashed"
    chosen = (
        f"SELECT * EXCLUDE (ranks), {best} AS rank FROM (SELECT *, {ranks} AS ranks FROM ({turned}) AS turned) AS r"
    )
    choices = engine.execute(f"SELECT {number} AS v, count(*) AS n FROM ({chosen}) AS chosen GROUP BY ALL").fetchnumpy()
    return np.asarray(choices["v"], dtype=np.int64), np.asarray(choices["n"], dtype=np.int64)


def _choose_evenly(engine: duckdb.DuckDBPyConnection, counting: Counting, rows: str) -> Chosen:
    """Return the choice of one group by ``hashed_choice``: the smallest hash, followed by the number."""
    size, c = counting.groups.size, len(counting.conditions)
    numbered = f"SELECT unit, {number_sql(counting)} AS v FROM ({rows}) AS r"
    if c > 1:
        h = DUCKDB.bounding_hash("unit", counting.key)
        numbered = f"SELECT *, CAST({h} // {size} % {c} AS INTEGER) AS turn FROM ({numbered}) AS n"
    each = one_row_in_each_group(counting, numbered, missed_sql(counting, "BIGINT"))
    h = DUCKDB.bounding_hash(hash_input_sql("unit", "g", "VARCHAR"), counting.key)
    rank = f"(CAST({h} AS HUGEINT) << {number_bits(counting)}) + v"
    best = f"SELECT min({rank}) AS best FROM ({each}) AS each GROUP BY unit"
    number = f"CAST(best & {(1 << number_bits(counting)) - 1} AS BIGINT)"
    choices = engine.execute(f"SELECT {number} AS v, count(*) AS n FROM ({best}) AS chosen GROUP BY ALL").fetchnumpy()
    return np.asarray(choices["v"], dtype=np.int64), np.asarray(choices["n"], dtype=np.int64)


def _turned_round(bits: str, places: str, c: int) -> str:
    """Return SQL of c bits turned round to the left by 0 to c places; nothing on the way is longer than c bits."""
    return f"((({bits} & ((1 << ({c} - {places})) - 1)) << {places}) | ({bits} >> ({c} - {places})))"
