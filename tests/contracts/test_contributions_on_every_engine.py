"""The histogram of contributions on every engine: everybody in exactly one cell, by their own rows alone."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines import events
from discreet.engines.base import Contributing
from discreet.engines.duckdb import counting as duckdb_counting
from discreet.engines.reference import count_rows
from discreet.errors import InvalidInput, Unsupported
from discreet.questions.groups import groups_from, with_zeros
from discreet.questions.question import read_question
from support import awkward
from support.engines import EMBEDDED, KEY, SMALL, Engine, every_engine
from support.refusals import refused
from support.tiers import batches

SCHEMA = pa.schema({"person": pa.string(), "site": pa.int32(), "x": pa.int32()})
ROWS = [(None if i % 11 == 0 else f"p{i % 13}", i * i % 6, i % 3) for i in range(70)] + [("many", 1, 1)] * 20


def asked(of: str, top: int, where: str = "", by: str = "site") -> Contributing:
    question = read_question(f"SELECT {by}, COUNT(*) FROM t{where} GROUP BY {by}", unit="person")
    groups = with_zeros(groups_from({"site": range(5)}, question.by), [{"site": 3}])
    return Contributing(question, groups, "person", 1, KEY, of=of, top=top)


@every_engine
def test_everybody_is_in_one_cell(engine: Engine, tmp_path: Path) -> None:
    source = engine.store(tmp_path, ROWS, SCHEMA)
    many = [
        asked(of, top, where) for of in ("groups", "rows") for top in (1, 2, 4, 30) for where in ("", " WHERE x > 0")
    ]
    plain = [dict(zip(SCHEMA.names, row, strict=True)) for row in ROWS]
    people = {row["person"] for row in plain if row["person"] and row["site"] in (0, 1, 2, 4)}
    for counting, counts in zip(many, source.count(list(map(engine.asked, many))), strict=True):
        np.testing.assert_array_equal(counts, count_rows(plain, counting), str(counting))  # type: ignore[arg-type]
        assert counts.shape == (counting.top, 1)
        if counting.question.where is None:
            assert counts.sum() == len(people)
    assert source.count([engine.asked(asked("rows", 30))])[0][19, 0] == 1
    (nobody := tmp_path / "empty").mkdir()
    empty = engine.store(nobody, [], SCHEMA)
    empty.rehearse([engine.asked(many[0])])
    assert not empty.count([engine.asked(many[0])])[0].any()


def violations(seeds: list[int] | range, least: int = 0) -> list[str]:
    """Where histograms of awkward tables differ from the reference, or one person moves anything but one cell."""
    found, compared = [], 0
    for seed in seeds:
        engine, chance = EMBEDDED[seed % len(EMBEDDED)], random.Random(seed)
        table = engine.random_table(chance, SMALL)
        countings = [
            Contributing(
                replace(one.question, aggregates=one.question.aggregates[:1]), one.groups, "person", 1, KEY,
                of=("groups", "rows")[j % 2], top=1 + j % 4,
            )
            for j, one in enumerate(awkward.random_countings(chance, 12, KEY))
            if one.unit == "person"
        ]  # fmt: skip
        countings = engine.answered(table, countings)  # type: ignore[assignment]
        whole = engine.counts(table, countings)
        _, row = chance.choice(table.rows)
        theirs = {place for place, one in table.rows if one["person"] == row["person"]}
        rest, alone = (engine.counts(some, countings) for some in (table.without(theirs), table.only(theirs)))
        for counting, counts, others, one in zip(countings, whole, rest, alone, strict=True):
            if (counts - others != one).any() or np.abs(counts - others).sum() > 1:
                found.append(f"seed {seed}: {counting.question.text}: one person moves more than one cell")
            try:
                expected = count_rows(engine.plain_rows(table), counting)
            except Unsupported:  # engines may differ here, such as on the text of a float
                continue
            compared += 1
            if (counts != expected).any():
                found.append(f"seed {seed}: {counting.question.text}, {counting.of}")
    assert compared >= least
    return found


@pytest.mark.parametrize("batch", batches(fast=1, full=4, long=60))
def test_histograms_of_awkward_tables_are_those_of_the_reference(batch: int) -> None:
    assert violations(range(8 * batch, 8 * batch + 8), least=8) == []


def a_cell_for_each_group(counting, rows):
    """A person is counted once in each cell up to theirs."""
    place = f"least(row_number() OVER (PARTITION BY unit ORDER BY v), {counting.top}) - 1 AS cell"
    groups = f"SELECT {place} FROM (SELECT DISTINCT unit, v FROM ({rows}) AS r) AS s"
    return f"SELECT cell, count(*) AS n FROM ({groups}) AS placed GROUP BY cell"


def closed_above(counting, rows):
    """People beyond the last cell are left out."""
    sql = events.histogram_sql(replace(counting, top=counting.top + 1), rows)
    return f"SELECT * FROM ({sql}) AS s WHERE cell < {counting.top}"


@pytest.mark.parametrize("fault", [a_cell_for_each_group, closed_above])
def test_a_planted_fault_in_a_histogram_is_noticed(fault, monkeypatch) -> None:
    monkeypatch.setattr(duckdb_counting, "histogram_sql", fault)
    assert any(violations([seed]) for seed in range(24))


def test_only_all_rows_of_people_make_a_histogram() -> None:
    counting = asked("groups", 3)
    for wrong in ({"unit": "row"}, {"max_rows": 2}):
        with refused(InvalidInput, token="COUNT(*)" if "max_rows" in wrong else ""):
            replace(counting, **wrong)  # type: ignore[arg-type]
    for wrong, argument in (({"of": "people"}, "of"), ({"top": 0}, "top")):
        with refused(InvalidInput, argument):
            replace(counting, **wrong)  # type: ignore[arg-type]
