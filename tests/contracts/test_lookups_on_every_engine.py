"""Every engine x public look-ups: the counts of the reference, and a row that still counts for itself alone."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from discreet.engines.base import Counting
from discreet.engines.duckdb.dialect import DUCKDB
from discreet.engines.reference import count_rows
from discreet.engines.relations import lookup
from discreet.errors import Unsupported
from support import awkward, independence, lookups
from support.engines import EMBEDDED, KEY, SMALL, Engine, every_engine
from support.tiers import batches


def _random_case(engine: Engine, seed: int) -> tuple[random.Random, awkward.Table, list[Counting]]:
    chance = random.Random(seed)
    table = engine.random_table(chance, SMALL)
    asked = lookups.random_countings(chance, engine.questions, KEY)
    return chance, table, engine.answered(table, asked)


def differences(engine: Engine, seeds: Sequence[int]) -> list[str]:
    """Where random questions with look-ups have other counts than the reference."""
    found, compared = [], 0
    for seed in seeds:
        _, table, countings = _random_case(engine, seed)
        rows = engine.plain_rows(table)
        for counting, counts in zip(countings, engine.counts(table, countings), strict=True):
            try:
                expected = count_rows(rows, counting)
            except Unsupported:  # engines may differ here, such as on the text of a float
                continue
            compared += 1
            if (counts != expected).any():
                found.append(f"seed {seed}: {counting.question.text}, {counting.groups.values}, {counting.unit}")
    assert compared > len(seeds)
    return found


def violations(engine: Engine, seed: int) -> list[str]:
    chance, table, countings = _random_case(engine, seed)
    whole = engine.counts(table, countings)
    found = independence.violations(chance, table, countings, engine.counts, whole)
    return [f"seed {seed}, {words}" for words in found]


@every_engine
@pytest.mark.parametrize("batch", batches(fast=1, full=3, long=20))
def test_looked_up_columns_have_the_counts_of_the_reference(engine: Engine, batch: int) -> None:
    assert differences(engine, range(2 * batch, 2 * batch + min(2, engine.tables))) == []


@every_engine
@pytest.mark.parametrize("batch", batches(fast=1, full=3, long=40))
def test_a_row_with_looked_up_columns_counts_for_itself_alone(engine: Engine, batch: int) -> None:
    assert violations(engine, 1000 + batch) == []


def test_the_suite_notices_a_look_up_with_two_rows_for_a_key(monkeypatch) -> None:
    join = lookup._join

    def doubled(side, name, columns, *rest):
        return join(side, name, {part: [*values, *values] for part, values in columns.items()}, *rest)

    monkeypatch.setattr(lookup, "_join", doubled)
    assert any("moves too much" in words for seed in range(6) for words in violations(EMBEDDED[0], seed))


def test_the_suite_notices_a_look_up_that_reads_its_column_otherwise(monkeypatch) -> None:
    def length(self, column: str, kind: str) -> str:
        return f'length(CAST("{column}" AS VARCHAR))'

    monkeypatch.setattr(type(DUCKDB), "whole_number", length)
    assert any(differences(EMBEDDED[1], [seed]) for seed in range(6))
