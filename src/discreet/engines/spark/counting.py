"""The queries that count a table in Spark: one for each table of counts. Executors count and choose; cells come back.

Nothing is collected for a person: either what a person's rows hold is a word of bits, or each row has a rank of which
the smallest is kept. So one person with a million rows, or one group with most of them, is merged where it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...exact.arrays import IntArray
from ..base import ROW, Contributing, Counting, DiscoveredGroups, Discovering, OccupiedGroups
from ..bounding import Chosen, fits_in_a_word, group_of_rank, missed_sql, number_bits, rank_sql
from ..counted_cells import counts_of_cells, occupied_of_cells
from ..discovery import discovered_groups, groups_sql
from ..events import events_sql, histogram_sql
from ..grouping import coded_rows, rows_by_group, rows_of_people
from ..hashed_choice import hash_input_sql, one_row_in_each_group
from ..margins.counting import CountingTables, cells_sql, chosen_records_sql
from ..relations.join import one_table
from ..relations.lookup import looked_up
from .dialect import SPARK
from .plans import examine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: What the rows are called in a query.
_ROWS = "counted_rows"


#: A function from a table's name to its rows, in a session of ``session.own_session``, and the kinds of its columns.
Tables = Callable[[str], "tuple[DataFrame, Mapping[str, str]]"]


def count(tables: Tables, counting: Counting) -> IntArray:
    """Return the true counts, of shape (groups, counts). They go to the noise and nowhere else.

    Parameters
    ----------
    tables
        The tables.
    counting
        The counts to make.
    """
    return counts_of_cells(_cells(tables, counting), counting, _numbers_of_bits)


def occupied(tables: Tables, counting: Counting) -> OccupiedGroups:
    """Return the groups with somebody in them and their true counts; the parameters are those of :func:`count`."""
    return occupied_of_cells(_cells(tables, counting), counting, _numbers_of_bits)


def _cells(tables: Tables, counting: Counting) -> list[tuple[int, ...]]:
    return [tuple(row) for row in query(tables, counting).collect()]  # NumPy reads tuples faster than rows


def discover(tables: Tables, counting: Discovering) -> DiscoveredGroups:
    """Return the groups that are there and their true counts; the parameters are those of :func:`count`."""
    cells = [tuple(row) for row in query(tables, counting).collect()]
    wide = 2 + len(counting.label_columns) + len(counting.conditions)
    columns = list(zip(*cells, strict=True)) if cells else [()] * wide
    return discovered_groups(counting, [np.array(column, dtype=object) for column in columns])


def query(tables: Tables, counting: Counting) -> DataFrame:
    """Return the one query that counts, or finds groups. It has been examined and not been run."""
    names = list(counting.units)
    session = tables(names[0])[0].sparkSession

    def declared(name: str, columns: Mapping[str, Sequence[object]], texts: frozenset[str]) -> str:
        types = ", ".join(f"{column} {'STRING' if column in texts else 'BIGINT'}" for column in columns)
        made = session.createDataFrame(list(zip(*columns.values(), strict=True)), types)
        made.hint("broadcast").createOrReplaceTempView(name)
        return name

    def rows_of(one: Counting) -> tuple[Counting, str, Mapping[str, str]]:
        rows, kinds = tables(one.question.table)
        view = f"{_ROWS}{names.index(one.question.table)}"
        rows.createOrReplaceTempView(view)
        return one, view, kinds

    counting, table, kinds = one_table(counting, rows_of, SPARK, declared)
    table, kinds = looked_up(counting, table, kinds, SPARK, declared)
    if isinstance(counting, Discovering):
        sql = groups_sql(counting, table, kinds, SPARK, declared, lambda text: SPARK.bounding_hash(text, counting.key))
    elif isinstance(counting, CountingTables):
        sql = _tables(counting, coded_rows(counting, table, kinds, SPARK, declared))
    elif counting.unit == ROW:
        sql = rows_by_group(counting, table, kinds, SPARK, declared)
    else:
        people = rows_of_people(counting, table, kinds, SPARK, declared)
        choose = _events if counting.max_rows is not None else _sets if fits_in_a_word(counting) else _ranked
        sql = histogram_sql(counting, people) if isinstance(counting, Contributing) else choose(counting, people)
    made = session.sql(sql)
    examine(made)
    return made


def _tables(counting: CountingTables, coded: str) -> str:
    records = chosen_records_sql(counting, coded, lambda text: SPARK.bounding_hash(text, counting.key), "STRING")
    return cells_sql(counting, counting.sets, f"({records}) AS records")


# ------------------------------------------------------------------------------------------------ people are the units


def _events(counting: Counting, rows: str) -> str:
    return events_sql(counting, rows, lambda text: SPARK.bounding_hash(text, counting.key), "STRING")


def _sets(counting: Counting, rows: str) -> str:
    """Return a bit for each chosen group, whether a condition was missed there, and the number of people.

    A person's rows are a word of bits. Of these, the lowest one from the start on is taken, or the lowest of
    all otherwise, k times. (After a bare ARRAY, Spark's parser reads no >> any more; STACK does the same.)
    """
    size, c, k = counting.groups.size, len(counting.conditions), counting.max_groups
    people = f"SELECT unit, bit_or(CAST(1 AS BIGINT) << CAST(v AS INT)) AS held FROM ({rows}) AS r GROUP BY unit"
    firsts = [1 << (g << c) for g in range(size)]
    groups = f"((held | held >> 1) & {sum(firsts)})" if c else "held"
    if k >= size:
        chosen, bits = (
            f"SELECT held, {groups} AS rest FROM ({people}) AS people",
            ", ".join(f"{bit}L" for bit in firsts),
        )
        picked = f"SELECT held, bit FROM (SELECT held, rest, stack({size}, {bits}) AS bit FROM ({chosen}) AS a) AS b "
        picked += "WHERE rest & bit <> 0"
    else:
        start = f"CAST(({SPARK.bounding_hash('unit', counting.key)} % {size}) * {1 << c} AS INT)"
        chosen = f"SELECT held, {groups} AS rest, -(CAST(1 AS BIGINT) << {start}) AS mask FROM ({people}) AS people"
        chosen = f"SELECT held, rest, rest & mask AS later FROM ({chosen}) AS masked"
        for i in range(k):
            kept = ["held", *(f"b{j}" for j in range(i))]
            bit = "CASE WHEN later <> 0 THEN later & -later ELSE rest & -rest END"
            chosen = f"SELECT {', '.join(kept)}, rest, later, {bit} AS b{i} FROM ({chosen}) AS p{i}"
            kept += [f"b{i}", f"rest & ~b{i} AS rest", f"later & ~b{i} AS later"]
            chosen = f"SELECT {', '.join(kept)} FROM ({chosen}) AS q{i}"
        bits = ", ".join(f"b{i}" for i in range(k))
        picked = f"SELECT held, bit FROM (SELECT held, stack({k}, {bits}) AS bit FROM ({chosen}) AS a) AS b "
        picked += "WHERE bit <> 0"
    missed = "CASE WHEN held & bit = 0 THEN 1 ELSE 0 END" if c else "0"
    return f"SELECT bit, {missed} AS missed, count(*) AS n FROM ({picked}) AS picked GROUP BY 1, 2"


def _numbers_of_bits(counting: Counting, bits: IntArray, missed: IntArray, people: IntArray) -> Chosen:
    return np.array([int(bit).bit_length() - 1 for bit in bits], dtype=np.int64) + missed, people


def _ranked(counting: Counting, rows: str) -> str:
    """Return the numbers of smallest rank of each person, one in a group, with the number of people."""
    size, c, k = counting.groups.size, len(counting.conditions), min(counting.max_groups, counting.groups.size)
    if counting.uses_hashed_choice:
        return _evenly(counting, rows)
    h = SPARK.bounding_hash("unit", counting.key) if k < size or c > 1 else "CAST(0 AS BIGINT)"
    turn = f", CAST(h DIV {size} % {c} AS INT) AS turn" if c > 1 else ""
    hashed = f"SELECT unit, v, {h} AS h FROM ({rows}) AS r"
    turned = f"SELECT unit, v, CAST(h % {size} AS INT) AS start{turn} FROM ({hashed}) AS hashed"
    ranks = f"SELECT unit, {rank_sql(counting, 'BIGINT')} AS rank FROM ({turned}) AS turned"
    if k == 1:
        best = f"SELECT min(rank) AS rank FROM ({ranks}) AS ranks GROUP BY unit"
    else:
        place = f"rank >> {group_of_rank(counting)}"
        best = f"SELECT unit, min(rank) AS rank FROM ({ranks}) AS ranks GROUP BY unit, {place}"
        if k < size:
            order = "row_number() OVER (PARTITION BY unit ORDER BY rank)"
            best = (
                f"SELECT rank FROM (SELECT rank, {order} AS place FROM ({best}) AS each) AS ordered WHERE place <= {k}"
            )
    number = f"rank & {(1 << number_bits(counting)) - 1}"
    return f"SELECT {number} AS v, count(*) AS n FROM ({best}) AS best GROUP BY 1"


def _evenly(counting: Counting, rows: str) -> str:
    """Return the group of the smallest hash (``hashed_choice``) for each person, with the number of people."""
    size, c = counting.groups.size, len(counting.conditions)
    if c > 1:
        turn = f"CAST({SPARK.bounding_hash('unit', counting.key)} DIV {size} % {c} AS INT)"
        rows = f"SELECT unit, v, {turn} AS turn FROM ({rows}) AS numbered"
    each = one_row_in_each_group(counting, rows, missed_sql(counting, "BIGINT"))
    h = SPARK.bounding_hash(hash_input_sql("unit", "g", "STRING"), counting.key)
    # not STRUCT: after that bare word, as after ARRAY, the parser reads no >> in the rest of a query
    first = f"min(named_struct('h', {h}, 'g', g, 'v', v)).v"
    best = f"SELECT {first} AS v FROM ({each}) AS each GROUP BY unit"
    return f"SELECT v, count(*) AS n FROM ({best}) AS best GROUP BY v"
