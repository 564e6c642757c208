"""Every engine that joins x tables of the same people: the counts of the reference, and a person who counts alone."""

from __future__ import annotations

import random
from dataclasses import replace

import pyarrow as pa
import pytest

from discreet.engines.base import Counting
from discreet.engines.duckdb import counting as counting_in_duckdb
from discreet.engines.reference import count_rows
from discreet.engines.relations import join
from discreet.engines.sources import open_tables_in_memory
from discreet.questions.groups import TOTAL, groups_from
from discreet.questions.joins.clauses import RelatedTable
from discreet.questions.question import read_question
from discreet.questions.resolve.bind import bind_joins
from support import joins
from support.joins import ENGINES, JoiningEngine, differences, violations_of_seed
from support.tiers import batches

every_engine = pytest.mark.parametrize("engine", [pytest.param(one, id=str(one)) for one in ENGINES])
FILES = ENGINES[0]


@every_engine
@pytest.mark.parametrize("batch", batches(fast=1, full=4, long=40))
def test_joined_rows_have_the_counts_of_the_reference(engine: JoiningEngine, batch: int) -> None:
    assert differences(engine, range(2 * batch, 2 * batch + 2)) == []


@every_engine
@pytest.mark.parametrize("batch", batches(fast=1, full=4, long=100))
def test_a_person_in_two_tables_counts_for_themselves_alone(engine: JoiningEngine, batch: int) -> None:
    assert violations_of_seed(engine, 500 + batch) == []


@pytest.mark.parametrize("batch", batches(fast=1, full=4, long=200))
def test_a_person_in_two_tables_of_files_counts_for_themselves_alone(batch: int) -> None:
    """A hundred questions a batch; twenty thousand in all."""
    assert [
        words for seed in range(5 * batch, 5 * batch + 5) for words in violations_of_seed(FILES, 2000 + seed, 20)
    ] == []


@every_engine
@pytest.mark.parametrize("batch", batches(fast=1, full=3, long=40))
def test_events_of_joined_tables_are_those_of_the_reference(engine: JoiningEngine, batch: int) -> None:
    assert differences(engine, range(9000 + batch, 9001 + batch), events=True) == []


@every_engine
@pytest.mark.parametrize("batch", batches(fast=1, full=2, long=50))
def test_events_of_a_person_in_two_tables_count_for_themselves_alone(engine: JoiningEngine, batch: int) -> None:
    assert violations_of_seed(engine, 9500 + batch, events=True) == []


# ------------------------------------------------------------------------------------------------ planted faults


def test_the_suite_notices_people_who_are_bounded_before_the_join(monkeypatch) -> None:
    coded = join._coded

    def bounded(counting, part, *rest, **options):
        sql, kind = coded(counting, part, *rest, **options)
        return f"SELECT DISTINCT ON (u) * FROM ({sql}) AS every ORDER BY ALL", kind

    monkeypatch.setattr(join, "_coded", bounded)
    assert any(differences(FILES, [seed]) for seed in range(8))


def test_the_suite_notices_units_that_are_compared_by_their_first_letter(monkeypatch) -> None:
    """Stands for any equality that is not that of the whole text: a cast, padding, a collation."""
    table = join.one_table

    def padded(counting, rows_of, dialect, declared):
        counting, rows, kinds = table(counting, rows_of, dialect, declared)
        left, on, _ = rows.rpartition(" ON ")
        nothing = " = ".join(f"left(CAST(p{k}.u AS VARCHAR), 0)" for k in (0, 1))
        return counting, f"{left}{on}{nothing}) AS j", kinds

    monkeypatch.setattr("discreet.engines.duckdb.files.one_table", padded)
    assert any(violations_of_seed(FILES, seed) for seed in range(8))


def test_the_suite_notices_a_reduction_that_forgets_a_condition(monkeypatch) -> None:
    coded = join._coded

    def forgetful(counting, part, *rest, **options):
        sql, kind = coded(counting, part, *rest, **options)
        group = ["min(g) AS g"] if part.places else []
        columns = ", ".join(["u", *group, *(f"max({name}) AS {name}" for name in part.tests)])
        return f"SELECT {columns} FROM ({sql}) AS every GROUP BY u", kind

    monkeypatch.setattr(join, "_coded", forgetful)
    assert any(differences(FILES, [seed]) for seed in range(8))


PLAIN = [
    "SELECT COUNT(*), COUNT_IF(site = 1) AS n1 FROM t JOIN p ON t.person = p.id",
    "SELECT kind, COUNT(*), COUNT_IF(site = 1 OR size = 1) AS n1 FROM t LEFT JOIN p ON t.person = p.id GROUP BY kind",
    "SELECT site, kind, COUNT(*) FROM t JOIN p ON t.person = p.id WHERE size < 2 GROUP BY site, kind",
]


def plain_differences(seed: int) -> list[str]:
    """Where events of small tables, with many equal rows, have other counts than the reference."""
    chance = random.Random(seed)
    t = [{"person": chance.randrange(5), "site": chance.randrange(3)} for _ in range(chance.randint(5, 15))]
    p = [
        {"id": chance.randrange(5), "kind": chance.randrange(2), "size": chance.randrange(3)}
        for _ in range(chance.randint(5, 15))
    ]
    source = open_tables_in_memory({"t": pa.Table.from_pylist(t), "p": pa.Table.from_pylist(p)}, "t")
    related, kinds = {"p": RelatedTable("p", "id", source.table("p"))}, source.table("t")
    values = {"kind": [0, 1, None], "site": range(3)}
    nobody = dict.fromkeys(p[0])
    countings, expected = [], []
    for sql in PLAIN:
        question = bind_joins(read_question(sql, unit="person"), {}, kinds, related, "person")
        groups = groups_from({name: values[name] for name in question.by}, question.by) if question.by else TOTAL
        rows = []
        for row in t:
            theirs = [other for other in p if other["id"] == row["person"]]
            rows += [{**row, **other} for other in theirs or ([nobody] if "LEFT" in sql else [])]
        for most in (1, 2, 3, 5, 9):
            countings.append(Counting(question, groups, "person", 2, joins.KEY, max_rows=most))
            expected.append(count_rows(rows, countings[-1]))
    return [
        f"seed {seed}, cap {counting.max_rows}: {counting.question.text}"
        for counting, counts, right in zip(countings, source.count(countings), expected, strict=True)
        if (counts != right).any()
    ]


@pytest.mark.parametrize("batch", batches(fast=1, full=2, long=20))
def test_events_of_equal_rows_in_both_tables_are_those_of_the_reference(batch: int) -> None:
    assert [words for seed in range(10 * batch, 10 * batch + 10) for words in plain_differences(seed)] == []


def _forgets_multiplicities(monkeypatch) -> None:
    coded = join._coded

    def once(counting, part, *rest, **options):
        sql, kind = coded(counting, part, *rest, **options)
        counted = options["distinct"] and options["most"] is not None
        return (f"SELECT * REPLACE (1 AS m) FROM ({sql}) AS every" if counted else sql), kind

    monkeypatch.setattr(join, "_coded", once)


def _joins_one_row_of_equal_ones(monkeypatch) -> None:
    """The counted table, too, is reduced to distinct rows, without its multiplicities."""
    product = join._saturated_product
    monkeypatch.setattr(join, "_MAX_FACTOR", 0)
    monkeypatch.setattr(join, "_saturated_product", lambda factors, most: product(factors[1:], most))


def _caps_tables_before_the_join(monkeypatch) -> None:
    """Each table keeps one row less than the cap, as if the rest was shared out before the join."""
    coded = join._coded

    def capped(counting, part, *rest, most=None, **options):
        return coded(counting, part, *rest, most=None if most is None else max(most - 1, 1), **options)

    monkeypatch.setattr(join, "_coded", capped)


def _adds_instead_of_multiplying(monkeypatch) -> None:
    monkeypatch.setattr(join, "_saturated_product", lambda factors, most: f"least({' + '.join(factors)}, {most})")
    monkeypatch.setattr(join, "_MAX_FACTOR", 0)


def _has_one_row_too_many(monkeypatch) -> None:
    product = join._saturated_product
    monkeypatch.setattr(join, "_saturated_product", lambda factors, most: f"{product(factors, most)} + 1")


FAULTS = [
    _forgets_multiplicities, _joins_one_row_of_equal_ones, _caps_tables_before_the_join, _adds_instead_of_multiplying,
    _has_one_row_too_many,
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_the_suite_notices_wrong_multiplicities(monkeypatch, fault) -> None:
    fault(monkeypatch)
    assert any(map(plain_differences, range(10)))


def test_the_suite_notices_a_cap_that_is_one_row_too_high(monkeypatch) -> None:
    sql = counting_in_duckdb.events_sql

    def higher(counting, *rest):
        return sql(replace(counting, max_rows=counting.max_rows + 1), *rest)

    monkeypatch.setattr(counting_in_duckdb, "events_sql", higher)
    assert any(map(plain_differences, range(10)))


def test_events_are_the_same_whether_the_counted_table_is_reduced_or_not(monkeypatch) -> None:
    monkeypatch.setattr(join, "_MAX_FACTOR", 0)
    assert [words for seed in range(100, 105) for words in plain_differences(seed)] == []
