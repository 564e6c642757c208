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
from ..base import ROW, Contributing, Counting, DiscoveredGroups, Discovering, OccupiedGroups
from ..bounding import choose_in_sets, fits_in_a_word, group_of_rank, missed_sql, number_bits, rank_sql
from ..counted_cells import counts_of_cells, occupied_of_cells
from ..discovery import discovered_groups, groups_sql
from ..events import events_sql, histogram_sql
from ..grouping import coded_rows, rows_by_group, rows_of_people
from ..hashed_choice import hash_input_sql, one_row_in_each_group
from ..margins.counting import CountingTables, cells_sql, chosen_records_sql, in_chunks
from ..relations.join import RowsOf, one_table
from ..relations.lookup import looked_up
from .dialect import PostgresDialect

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

#: Number of sets of columns in one SELECT: the server takes at most 4,096.
_SETS_AT_ONCE = 1000


@dataclass
class _Statement:
    """SQL that is being written, and the values of its parameters."""

    values: list[Any] = field(default_factory=list)

    def given(self, value: Any, type_: str) -> str:
        """Return a parameter that has a value."""
        self.values.append(value)
        return f"CAST(${len(self.values)} AS {type_})"

    def declared(self, name: str, columns: Mapping[str, Sequence[object]], texts: frozenset[str]) -> str:
        """Return a table of declared values, which the server unnests."""
        arrays = [
            self.given(list(values), "text[]" if column in texts else "int8[]") for column, values in columns.items()
        ]
        return f"unnest({', '.join(arrays)}) AS {name}({', '.join(columns)})"


def count(
    connection: Connection,
    counting: Counting,
    rows_of: RowsOf,
    dialect: PostgresDialect,
) -> IntArray:
    """Return the true counts, of shape (groups, counts). They go to the noise and nowhere else.

    Parameters
    ----------
    connection
        A session of ``connection.connected``.
    counting
        The counts to make.
    rows_of
        What is read of one table: SQL that stands after FROM and has the columns of a counting under their own names,
        and the kind of each column in the dialect.
    dialect
        The dialect of this server.
    """
    return counts_of_cells(_cells(connection, counting, rows_of, dialect), counting, choose_in_sets)


def occupied(connection: Connection, counting: Counting, rows_of: RowsOf, dialect: PostgresDialect) -> OccupiedGroups:
    """Return the groups with somebody in them and their true counts; the parameters are those of :func:`count`."""
    return occupied_of_cells(_cells(connection, counting, rows_of, dialect), counting, choose_in_sets)


def _cells(
    connection: Connection, counting: Counting, rows_of: RowsOf, dialect: PostgresDialect
) -> Sequence[Sequence[int]]:
    sql, values = statement(counting, rows_of, dialect)
    return connection.execute(sql.encode(), values, binary=True).fetchall()


def statement(counting: Counting, rows_of: RowsOf, dialect: PostgresDialect) -> tuple[str, Sequence[Any]]:
    """Return the one statement that counts, and the values of its parameters."""
    parts = _Statement()
    counting, table, kinds = one_table(counting, rows_of, dialect, parts.declared)
    table, kinds = looked_up(counting, table, kinds, dialect, parts.declared)
    if isinstance(counting, CountingTables):
        sql = _tables(counting, coded_rows(counting, table, kinds, dialect, parts.declared), dialect, parts)
    elif counting.unit == ROW:
        sql = rows_by_group(counting, table, kinds, dialect, parts.declared)
    else:
        choose = _events if counting.max_rows is not None else _sets if fits_in_a_word(counting) else _ranked
        rows = rows_of_people(counting, table, kinds, dialect, parts.declared)
        if isinstance(counting, Contributing):
            sql = histogram_sql(counting, rows)
        else:
            sql = choose(counting, rows, dialect, parts)
    return sql, parts.values


def discover(
    connection: Connection,
    counting: Discovering,
    table: str,
    kinds: Mapping[str, str],
    dialect: PostgresDialect,
) -> DiscoveredGroups:
    """Return the groups in the data and their true counts; the parameters are those of :func:`count`."""
    sql, values = discovering_statement(counting, table, kinds, dialect)
    rows = connection.execute(sql.encode(), values, binary=True).fetchall()
    wide = 2 + len(counting.label_columns) + len(counting.conditions)
    columns = list(zip(*rows, strict=True)) if rows else [()] * wide
    return discovered_groups(counting, [np.array(column, dtype=object) for column in columns])


def discovering_statement(
    counting: Discovering, table: str, kinds: Mapping[str, str], dialect: PostgresDialect
) -> tuple[str, Sequence[object]]:
    """Return the one statement that finds groups, and the values of its parameters."""
    parts = _Statement()

    def hashed(text: str) -> str:
        return dialect.hash_with(text, parts.given(counting.key.hex(), "text"))

    table, kinds = looked_up(counting, table, kinds, dialect, parts.declared)
    return groups_sql(counting, table, kinds, dialect, parts.declared, hashed), parts.values


def _tables(counting: CountingTables, coded: str, dialect: PostgresDialect, parts: _Statement) -> str:
    def hashed(text: str) -> str:
        return dialect.hash_with(text, parts.given(counting.key.hex(), "text"))

    records = chosen_records_sql(counting, coded, hashed, "text")
    cells = [cells_sql(counting, sets, "records") for sets in in_chunks(counting.sets, _SETS_AT_ONCE)]
    return f"WITH records AS MATERIALIZED ({records}) {' UNION ALL '.join(cells)}"


# ------------------------------------------------------------------------------------------------ people are the units


def _events(counting: Counting, rows: str, dialect: PostgresDialect, parts: _Statement) -> str:
    def hashed(text: str) -> str:
        return dialect.hash_with(text, parts.given(counting.key.hex(), "text"))

    return events_sql(counting, rows, hashed, "text")


def _sets(counting: Counting, rows: str, dialect: PostgresDialect, parts: _Statement) -> str:
    size = counting.groups.size
    start = "CAST(0 AS int8)"  # where every group is taken, the order does not matter
    if counting.max_groups < size:
        h = dialect.hash_with("unit", parts.given(counting.key.hex(), "text"))
        start = f"CASE WHEN held & (held - 1) = 0 THEN 0 ELSE {h} % {size} END"  # one bit needs no choice, no hash
    people = f"SELECT unit, bit_or(CAST(1 AS int8) << CAST(v AS int4)) AS held FROM ({rows}) AS r GROUP BY unit"
    return f"SELECT held, {start} AS start, count(*) AS n FROM ({people}) AS people GROUP BY 1, 2"


def _ranked(counting: Counting, rows: str, dialect: PostgresDialect, parts: _Statement) -> str:
    """Return each person's distinct numbers in one array, which is no longer than the list of declared groups."""
    if counting.uses_hashed_choice:
        return _evenly(counting, rows, dialect, parts)
    people = f"SELECT unit, array_agg(DISTINCT v ORDER BY v) AS held FROM ({rows}) AS r GROUP BY unit"
    h = dialect.hash_with("unit", parts.given(counting.key.hex(), "text"))
    hashed = f"SELECT held, CASE WHEN cardinality(held) = 1 THEN 0 ELSE {h} END AS h FROM ({people}) AS people"
    chosen = _in_order(counting, hashed) if not counting.conditions else _by_rank(counting, hashed)
    return f"SELECT v, count(*) AS n FROM ({chosen}) AS chosen GROUP BY v"


def _evenly(counting: Counting, rows: str, dialect: PostgresDialect, parts: _Statement) -> str:
    """Return the group of the smallest hash (``hashed_choice``) for each person."""
    size, c, key = counting.groups.size, len(counting.conditions), parts.given(counting.key.hex(), "text")
    if c > 1:
        turn = f"CAST({dialect.hash_with('unit', key)} / {size} % {c} AS int4)"
        rows = f"SELECT unit, v, {turn} AS turn FROM ({rows}) AS numbered"
    each = one_row_in_each_group(counting, rows, missed_sql(counting, "BIGINT"))
    h = dialect.hash_with(hash_input_sql("unit", "g", "text"), key)
    hashed = f"SELECT unit, g, v, {h} AS h FROM ({each}) AS each"
    chosen = f"SELECT DISTINCT ON (unit) v FROM ({hashed}) AS hashed ORDER BY unit, h, g"
    return f"SELECT v, count(*) AS n FROM ({chosen}) AS chosen GROUP BY v"


def _in_order(counting: Counting, hashed: str) -> str:
    """Return the first groups after the start in a sorted array, going round; here numbers are groups."""
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
