"""Events on every engine: up to so many rows of a person in each count, by the rule, whatever the other rows are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines import events
from discreet.engines.base import Counting
from discreet.engines.duckdb import counting as duckdb_counting
from discreet.engines.reference import count_rows
from discreet.engines.sources import open_source
from discreet.errors import InvalidInput, Unsupported
from discreet.questions.bands import BAND, read_bands
from discreet.questions.groups import Groups, groups_from, with_zeros
from discreet.questions.question import read_question
from support import awkward, independence, lookups
from support.engines import EMBEDDED, KEY, SMALL, Engine, every_engine
from support.refusals import refused
from support.tiers import batches

SCHEMA = pa.schema({"person": pa.string(), "site": pa.int32(), "x": pa.int32()})

#: People with one to nine rows, up to six of them alike, some without a name, outside the groups or without a value.
ROWS = [
    (None if i % 11 == 0 else f"p{i % 7}", (i * i + i // 7) % 6, None if i % 5 == 4 else i % 3)
    for i in range(60)
] + [("many", 1, 1)] * 6  # fmt: skip


def asked(conditions: int, k: int, most: int, values: Sequence[int | None] = (0, 1, 2, 3)) -> Counting:
    counted = ["COUNT(*)", "COUNT_IF(x = 1) AS a", "COUNT_IF(x <> 1) AS b"][: 1 + conditions]
    question = read_question(f"SELECT site, {', '.join(counted)} FROM t GROUP BY site", unit="person")
    groups = with_zeros(groups_from({"site": values}, question.by), [{"site": 3}])
    return Counting(question, groups, "person", k, KEY, max_rows=most)


def plain(rows: Sequence[tuple[object, ...]]) -> list[dict[str, object]]:
    return [dict(zip(SCHEMA.names, row, strict=True)) for row in rows]


@every_engine
def test_rows_of_people_are_counted_up_to_the_cap(engine: Engine, tmp_path: Path) -> None:
    source = engine.store(tmp_path, ROWS, SCHEMA)
    many = [asked(conditions, k, most) for conditions in (0, 1, 2) for k in (1, 2, 9) for most in (1, 2, 5, 10_000)]
    many.append(replace(many[0], groups=groups_from({"site": [*range(3), None]}, many[0].question.by)))
    for counting, counts in zip(many, source.count(list(map(engine.asked, many))), strict=True):
        np.testing.assert_array_equal(counts, count_rows(plain(ROWS), counting), str(counting))


@every_engine
def test_one_group_in_bands_is_chosen_by_its_hash(engine: Engine, tmp_path: Path) -> None:
    bands = read_bands("x", "0,1,2,3")
    question = read_question("SELECT x, COUNT(*) FROM t GROUP BY x", unit="person")
    groups = Groups(("x",), (BAND,), (bands.values(),), bands=(bands.bands,))
    source = engine.store(tmp_path, ROWS, SCHEMA)
    for most in (1, 3):
        counting = Counting(question, groups, "person", 1, KEY, max_rows=most)
        assert counting.uses_hashed_choice
        (counts,) = source.count([engine.asked(counting)])
        np.testing.assert_array_equal(counts, count_rows(plain(ROWS), counting))


@every_engine
def test_a_rehearsal_counts_no_row_and_an_empty_table_has_none(engine: Engine, tmp_path: Path) -> None:
    source = engine.store(tmp_path, [], SCHEMA)
    counting = asked(2, 1, 3)
    source.rehearse([engine.asked(counting)])
    assert not source.count([engine.asked(counting)])[0].any()


@every_engine
@pytest.mark.parametrize("batch", batches(fast=1, full=2, long=20))
def test_rows_are_counted_by_what_is_looked_up_for_them(engine: Engine, batch: int) -> None:
    """Events by columns of a public look-up and by CASE, of awkward tables: the reference, and a row less or more."""
    chance = random.Random(7000 + batch)
    table = engine.random_table(chance, SMALL)
    people = [one for one in lookups.random_countings(chance, 2 * engine.questions, KEY) if one.unit == "person"]
    capped = [replace(one, max_rows=1 + place % 3) for place, one in enumerate(people[: engine.questions])]
    countings = engine.answered(table, capped)
    whole = engine.counts(table, countings)
    assert independence.violations(chance, table, countings, engine.counts, whole) == []
    compared = 0
    for counting, counts in zip(countings, whole, strict=True):
        try:
            expected = count_rows(engine.plain_rows(table), counting)
        except Unsupported:  # engines may differ here, such as on the text of a float
            continue
        compared += 1
        np.testing.assert_array_equal(counts, expected, counting.question.text)
    assert compared > 0


# ------------------------------------------------------------------------------------------------ random tables


def violations(seeds: Sequence[int], least: int = 0) -> list[str]:
    """Where events of random awkward tables differ from the reference, or from what one person counts alone.

    At least so many counts are compared with the reference.
    """
    found, compared = [], 0
    for seed in seeds:
        engine, chance = EMBEDDED[seed % len(EMBEDDED)], random.Random(seed)
        table = engine.random_table(chance, SMALL)
        people = [one for one in awkward.random_countings(chance, 12, KEY) if one.unit == "person"]
        countings = engine.answered(table, [replace(one, max_rows=1 + j % 3) for j, one in enumerate(people)])
        whole = engine.counts(table, countings)
        found += independence.violations(chance, table, countings, engine.counts, whole)
        for counting, counts in zip(countings, whole, strict=True):
            try:
                expected = count_rows(engine.plain_rows(table), counting)
            except Unsupported:  # engines may differ here, such as on the text of a float
                continue
            compared += 1
            if (counts != expected).any():
                found.append(f"seed {seed}: {counting.question.text}, {counting.max_rows}")
    assert compared >= least
    return found


@pytest.mark.parametrize("batch", batches(fast=1, full=4, long=60))
def test_events_of_awkward_tables_are_those_of_the_reference(batch: int) -> None:
    assert violations(range(8 * batch, 8 * batch + 8), least=8) == []


def one_row_too_many(counting, rows, hashed, text):
    return events.events_sql(replace(counting, max_rows=counting.max_rows + 1), rows, hashed, text)


def equal_rows_once(counting, rows, hashed, text):
    return events.events_sql(counting, f"SELECT DISTINCT unit, v FROM ({rows}) AS r", hashed, text)


def one_group_too_many(counting, rows, hashed, text):
    return events.events_sql(replace(counting, max_groups=counting.max_groups + 1), rows, hashed, text)


def capped_together(counting, rows, hashed, text):
    """The first rows of a person in a group, whatever they meet, instead of a cap for each count."""
    numbered = f"SELECT *, row_number() OVER (PARTITION BY unit, v >> {len(counting.conditions)}) AS place"
    return events.events_sql(
        counting, f"SELECT unit, v FROM ({numbered} FROM ({rows}) AS r) AS s WHERE place <= 1", hashed, text
    )


def groups_of_all_people(counting, rows, hashed, text):
    """The groups with most rows of everybody are kept: other people decide."""
    sql = events.events_sql(counting, rows, hashed, text)
    return f"SELECT * FROM ({sql}) AS s ORDER BY n DESC, g LIMIT 1"


@pytest.mark.parametrize(
    "fault", [one_row_too_many, equal_rows_once, one_group_too_many, capped_together, groups_of_all_people]
)
def test_a_planted_fault_in_counting_rows_is_noticed(fault, monkeypatch) -> None:
    monkeypatch.setattr(duckdb_counting, "events_sql", fault)
    assert any(violations([seed]) for seed in range(24))


def test_memory_for_a_part_of_the_people_is_enough(tmp_path: Path, monkeypatch) -> None:
    """Counting in parts keeps equal rows of a person apart."""
    import duckdb

    source = EMBEDDED[0].store(tmp_path, ROWS, SCHEMA)
    right, tries = events.events_sql, []

    def short_of_memory(counting, rows, hashed, text):
        tries.append(rows)
        if len(tries) == 1:
            raise duckdb.OutOfMemoryException("planted")
        return right(counting, rows, hashed, text)

    monkeypatch.setattr(duckdb_counting, "events_sql", short_of_memory)
    counting = asked(2, 2, 3)
    (counts,) = source.count([counting])
    assert len(tries) == 9
    np.testing.assert_array_equal(counts, count_rows(plain(ROWS), counting))


def test_a_row_is_no_person_with_events() -> None:
    question = read_question("SELECT COUNT(*) FROM t", unit="row")
    with refused(InvalidInput, "max_rows"):
        Counting(question, groups_from({}, ()), "row", 1, KEY, max_rows=2)


def test_a_person_with_most_rows_counts_as_the_cap(tmp_path: Path) -> None:
    """One person with most of the rows moves each count by the cap, and nobody else's counts."""
    from duckdb import connect

    path = tmp_path / "t.parquet"
    with connect() as engine:
        rows = "SELECT CASE WHEN i < 400000 THEN 'many' ELSE 'p' || i END AS person, i % 2 AS site, 1 AS x"
        engine.execute(f"COPY ({rows} FROM range(400100) AS r(i)) TO '{path}' (FORMAT parquet)")
    (counts,) = open_source(path).count([asked(0, 4, 7, (0, 1, 3))])
    assert counts.tolist() == [[57], [57], [0]]
