"""The counts themselves: the bounding rule beside the plain one, on every engine, in any order, one person less."""

from __future__ import annotations

import csv
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet.engines.duckdb.counting as counting_module
from discreet.engines.base import Counting, Source
from discreet.engines.reference import count_rows
from discreet.engines.sources import open_source
from discreet.errors import InvalidInput
from discreet.questions.groups import TOTAL, Groups
from discreet.questions.question import read_question
from support.engines import EMBEDDED, ENGINES, KEY, ON_SPARK, Engine
from support.refusals import refused
from support.tiers import examples, full

CSV_ONLY = ENGINES[:1]
ONE_OF_EACH = (ENGINES[0], next(engine for engine in ENGINES if engine.name.startswith("PostgreSQL")))
Row = tuple[str | None, int | None, str | None, int | None]  # person, site, health, visits
SCHEMA = pa.schema({"person": pa.string(), "site": pa.int32(), "health": pa.string(), "visits": pa.int16()})
COUNTS = (
    "COUNT(*)", "COUNT_IF(visits > 1)", "COUNT(visits)", "COUNT_IF(health = 'good')", "COUNT_IF(visits IN (0, 2))",
)  # fmt: skip


def ask(
    counts: Sequence[int], groups: Groups, *, unit: str = "person", k: int = 1, where: bool = False, key: bytes = KEY
) -> Counting:
    by = "".join(f"{column}, " for column in groups.columns)
    sql = f"SELECT {by}{', '.join(f'{COUNTS[i]} AS n{j}' for j, i in enumerate(counts))} FROM t"
    sql += " WHERE visits <> 3" if where else ""
    sql += f" GROUP BY {', '.join(groups.columns)}" if groups.columns else ""
    return Counting(read_question(sql, unit=unit), groups, unit, k, key)


def reference(rows: Sequence[Row], counting: Counting) -> np.ndarray:
    return count_rows([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], counting)


def write(folder: Path, rows: Sequence[Row], engines: Sequence[Engine] = ENGINES) -> list[Source]:
    """The same rows as a source of each engine."""
    return [engine.store(Path(tempfile.mkdtemp(dir=folder)), rows, SCHEMA) for engine in engines]


HEALTH = ("good", "poor", None)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", "01", "1", None]),
        st.sampled_from([1, 2, 3, 7, None]),
        st.sampled_from(["good", "poor", "Good", "unheard of", None]),
        st.sampled_from([0, 1, 2, 3, None]),
    ),
    max_size=25,
)


@st.composite
def declared(draw: st.DrawFn) -> Groups:
    """Groups: a total, a range, a list with NULL, a product, chosen combinations; some with structural zeros."""
    sites = draw(st.sampled_from([range(1, 4), (1, 2, 3), (3, 1), (2, None, 1), range(1, 80)]))
    healths = draw(st.sampled_from([("good", "poor"), HEALTH, ("poor",)]))
    shape = draw(st.integers(0, 3))
    if shape == 0:
        return TOTAL
    if shape == 1:
        return Groups(("site",), ("integer",), (sites,))
    size = len(sites) * len(healths)
    if shape == 2:
        zeros = draw(st.frozensets(st.integers(0, size - 1), max_size=min(3, size - 1)))
        return Groups(("site", "health"), ("integer", "text"), (sites, healths), zeros=zeros)
    every = [(i, j) for i in range(len(sites)) for j in range(len(healths))]
    cells = draw(st.lists(st.sampled_from(every[:30]), unique=True, min_size=2, max_size=10))
    zeros = draw(st.frozensets(st.integers(0, len(cells) - 1), max_size=1))
    return Groups(("site", "health"), ("integer", "text"), (sites, healths), np.array(cells), zeros)


@st.composite
def questions(draw: st.DrawFn) -> Counting:
    counts = draw(st.lists(st.integers(0, len(COUNTS) - 1), min_size=1, max_size=4))
    unit = draw(st.sampled_from(["row", "person", "person", "person"]))
    return ask(counts, draw(declared()), unit=unit, k=draw(st.integers(1, 3)), where=draw(st.booleans()))


def check_against_the_plain_rule(
    engines: Sequence[Engine], folder: Path, rows: list[Row], asked: list[Counting]
) -> None:
    for engine, source in zip(engines, write(folder, rows, engines), strict=True):
        for found, one in zip(source.count(list(map(engine.asked, asked))), asked, strict=True):
            np.testing.assert_array_equal(found, reference(rows, one))


@examples(12)
@given(ROWS, st.lists(questions(), min_size=1, max_size=6))
def test_counts_are_those_of_the_plain_rule(tmp_path_factory, rows, asked) -> None:
    check_against_the_plain_rule(EMBEDDED, tmp_path_factory.getbasetemp(), rows, asked)


@pytest.mark.full
@pytest.mark.xdist_group("spark")
@examples(5)
@given(ROWS, st.lists(questions(), min_size=1, max_size=2))
def test_counts_are_those_of_the_plain_rule_on_spark(tmp_path_factory, rows, asked) -> None:
    check_against_the_plain_rule(ON_SPARK, tmp_path_factory.getbasetemp(), rows, asked)


@examples(20)
@given(ROWS, questions(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(tmp_path_factory, rows, asked, chance: random.Random) -> None:
    shuffled = list(rows)
    chance.shuffle(shuffled)
    folder = tmp_path_factory.getbasetemp()
    first, second = (write(folder, some, CSV_ONLY)[0].count([asked])[0] for some in (rows, shuffled))
    np.testing.assert_array_equal(first, second)


@examples(40)
@given(ROWS.filter(bool), questions(), st.data())
def test_one_unit_less_changes_at_most_the_stated_number_of_counts_each_by_one(
    tmp_path_factory, rows, counting, data
) -> None:
    if counting.unit == "row":
        gone = data.draw(st.integers(0, len(rows) - 1))
        fewer, most = rows[:gone] + rows[gone + 1 :], counting.question.most_at_once
    else:
        person = data.draw(st.sampled_from([row[0] for row in rows]))
        fewer = [row for row in rows if row[0] != person]
        most = counting.max_groups * counting.question.most_at_once
    folder = tmp_path_factory.getbasetemp()
    many, few = (write(folder, some, CSV_ONLY)[0].count([counting])[0] for some in (rows, fewer))
    change = many - few
    assert change.min() >= 0 and change.max() <= 1
    assert change.sum() <= most


@pytest.mark.parametrize(
    "size",
    [5, 31, 32, 62, 63, 64, 126, 127, *(pytest.param(n, marks=full) for n in (4096, 16384, 16385, 32768, 32769))],
)
def test_sets_and_ranks_make_the_choice_of_the_rule_on_larger_tables(tmp_path, size) -> None:
    """Sizes on both sides of one and two words of bits and of narrow numbers; people with one row, and with many."""
    chance = random.Random(size)
    rows: list[Row] = [
        (f"p{int(chance.paretovariate(0.5)) % 97}", chance.randrange(size + 3), "good", chance.randrange(4))
        for _ in range(800)
    ]
    groups = Groups(("site",), ("integer",), (range(size),))
    asked = [ask(counts, groups, k=k) for counts in ([0], [1], [0, 1], [1, 3], [1, 2, 4, 0]) for k in (1, 2, 70)]
    check_against_the_plain_rule(ONE_OF_EACH, tmp_path, rows, asked)


@pytest.mark.parametrize(
    ("c", "size"),
    [
        *((2, 4), (15, 1), (16, 4), (28, 4), (30, 1)),
        *(pytest.param(c, size, marks=full) for c, size in ((13, 4), (17, 3), (20, 4), (27, 4))),
    ],
)
@pytest.mark.parametrize("k", [1, 2])
def test_many_conditions_overflow_for_nobody(tmp_path, c, size, k) -> None:
    """Whether a number is too large must not depend on one person's rows: that would show in a failure."""
    chance = random.Random(c)
    rows = [
        (f"p{i % 150}", chance.randrange(size), chance.choice(HEALTH), chance.choice([0, 1, 2, 3])) for i in range(600)
    ]
    asked = ask([1 + j % 4 for j in range(c)], Groups(("site",), ("integer",), (range(size),)), unit="person", k=k)
    check_against_the_plain_rule(EMBEDDED, tmp_path, rows, [asked])


@pytest.mark.full
@pytest.mark.xdist_group("spark")
def test_many_conditions_overflow_for_nobody_on_spark(tmp_path) -> None:
    rows = [(f"p{i % 150}", i % 3, HEALTH[i % len(HEALTH)], i % 4) for i in range(600)]
    few = Groups(("site",), ("integer",), (range(3),))
    check_against_the_plain_rule(ON_SPARK, tmp_path, rows, [ask([1 + j % 4 for j in range(28)], few, k=2)])


def test_another_key_chooses_otherwise(tmp_path) -> None:
    """Were the key ignored, everyone who knows the rule could tell which of a person's rows counts."""
    rows: list[Row] = [(f"p{i}", site, "good", 1) for i in range(40) for site in range(1, 11)]
    (source,) = write(tmp_path, rows, CSV_ONLY)
    groups = Groups(("site",), ("integer",), (range(1, 11),))
    first, second = (source.count([ask([0], groups, key=key)])[0] for key in (b"one", b"two"))
    assert first.sum() == second.sum() == 40
    assert (first != second).any()


def test_golden_choice(tmp_path) -> None:
    """md5('6b6579:ann') begins with d0278d1e2ef5c2c, so that ann starts at 0 of 10 groups and at 80 of 100."""
    for size, start in ((10, 0), (100, 80)):
        groups = Groups(("site",), ("integer",), (range(size),))
        (source,) = write(tmp_path, [("ann", site, None, None) for site in range(size)], CSV_ONLY)
        counts = source.count([ask([0], groups, k=2, key=b"key")])[0][:, 0]
        assert np.flatnonzero(counts).tolist() == sorted([start, (start + 1) % size])


def test_several_countings_come_in_one_call(tmp_path) -> None:
    rows: list[Row] = [("a", 1, "good", 2), ("a", 2, "poor", 0), ("b", 2, None, None)]
    site = Groups(("site",), ("integer",), ((1, 2),))
    asked = [ask([0, 1], site, k=2), ask([0], TOTAL), ask([0], site, unit="row")]
    check_against_the_plain_rule(EMBEDDED, tmp_path, rows, asked)


def test_numbers_are_read_as_numbers_and_texts_letter_for_letter(tmp_path) -> None:
    (tmp_path / "t.csv").write_text(
        "n,t\n1,1\n01,01\n1.0,1.0\n 1, 1\n1.5,1.5\n1e0,x\nnan,x\ninf,x\n1e300,x\n,\n", "utf-8"
    )
    source = open_source(tmp_path / "t.csv")

    def counts(column: str, kind: str, values: Any) -> list[int]:
        question = read_question(f"SELECT {column}, COUNT(*) FROM t GROUP BY {column}", unit="row")
        return source.count([Counting(question, Groups((column,), (kind,), (values,)), "row", 1, KEY)])[0][
            :, 0
        ].tolist()

    assert counts("n", "integer", (1, 2, None)) == [5, 0, 1]
    assert counts("n", "integer", range(1, 3)) == [5, 0]
    assert counts("t", "text", ("1", "01", " 1", "X", None)) == [1, 1, 1, 0, 1]


def test_integers_of_every_width_and_at_their_ends(tmp_path) -> None:
    types = [
        "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "UBIGINT", "UHUGEINT", "DOUBLE", "FLOAT",
        "DECIMAL(38, 3)", "BOOLEAN", "DATE", "TIMESTAMPTZ", "BLOB", "UUID", "INTEGER[]", "ENUM('1', '2')",
    ]  # fmt: skip
    with duckdb.connect(str(tmp_path / "wide.duckdb")) as base:
        base.execute("BEGIN")
        for j, stored in enumerate(types):
            base.execute(f"CREATE TABLE t{j} (v {stored})")
            base.execute(f"INSERT INTO t{j} VALUES (NULL)")
            if j < 12:
                base.execute(f"INSERT INTO t{j} VALUES (1)")
            if j < 8:
                bits = [7, 15, 31, 63, 127, 8, 64, 128][j]
                base.execute(f"INSERT INTO t{j} VALUES ('{2**bits - 1}'), ('{-(2**bits) if j < 5 else 0}')")
        base.execute("COMMIT")
    source = open_source(tmp_path / "wide.duckdb")
    low, high = -(2**53) + 1, 2**53 - 1
    for j, stored in enumerate(types):
        question = read_question(f"SELECT v, COUNT(*) FROM t{j} GROUP BY v", unit="row")
        domains = [range(low, low + 3), range(1, 3), (1, 5, None), (high, 1)]
        names_people = stored not in ("DOUBLE", "FLOAT", "TIMESTAMPTZ", "BLOB", "INTEGER[]")
        asked = [(values, unit) for values in domains for unit in (("row", "v") if names_people else ("row",))]
        countings = [
            Counting(question, Groups(("v",), ("integer",), (values,)), unit, 1, KEY) for values, unit in asked
        ]
        for (values, unit), counts in zip(asked, source.count(countings), strict=True):
            # a NULL is no person, but it is a row
            wanted = [int(j < 12) if value == 1 else int(value is None and unit == "row") for value in values]
            assert counts[:, 0].tolist() == wanted, (stored, values, unit)


def test_names_of_our_own_queries_are_no_trouble_as_columns(tmp_path) -> None:
    names = ["g", "unit", "x0", "h0", "v", "n", "read", "rank", 'a"b', "select", "données", "a,b", "'; DROP TABLE x"]
    with open(tmp_path / "odd.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *([str(j)] * len(names) for j in (1, 2, 2, 3))])
    source = open_source(tmp_path / "odd.csv")
    assert list(source.table("odd")) == names
    for name in names:
        column = '"' + name.replace('"', '""') + '"'
        sql = f"SELECT {column}, COUNT_IF({column} <> '3') AS found FROM odd WHERE {column} > 0 GROUP BY {column}"
        question = read_question(sql, unit="unit")
        for size in (9, 90):
            groups = Groups((name,), ("integer",), (range(1, 1 + size),))
            counts = source.count([Counting(question, groups, unit, 1, KEY) for unit in ("row", "unit")])
            assert [found[:4, 0].tolist() for found in counts] == [[1, 2, 0, 0], [1, 1, 0, 0]]


def test_short_memory_takes_more_passes_and_changes_nothing(tmp_path, monkeypatch) -> None:
    rows: list[Row] = [(f"p{i % 300}", i % 90, "good", i % 4) for i in range(2000)]
    asked = ask([0, 1], Groups(("site",), ("integer",), (range(90),)), k=2)
    choose, calls = counting_module._choose_in_lists, []

    def scarce(engine: Any, counting: Counting, part: str) -> Any:
        calls.append(part)
        if len(calls) in (1, 3):  # the only pass, then the second of eight
            raise duckdb.OutOfMemoryException("planted")
        return choose(engine, counting, part)

    monkeypatch.setattr(counting_module, "_choose_in_lists", scarce)
    (source,) = write(tmp_path, rows, CSV_ONLY)
    np.testing.assert_array_equal(source.count([asked])[0], reference(rows, asked))
    assert len(calls) == 3 + 64


def test_somebody_with_more_rows_than_memory_holds_is_counted() -> None:
    """One person has ten million rows, the others three each; a list of those rows alone is more than there is."""
    question = read_question("SELECT site, COUNT(*) FROM t GROUP BY site", unit="person")
    groups = Groups(("site",), ("integer",), (range(1000),))
    table = "(SELECT greatest(i - 9999999, 0) // 3 AS person, i % 1000 AS site FROM range(10003002) AS r(i)) AS t"
    asked = Counting(question, groups, "person", 3, KEY)
    answers = []
    for memory in ("2GB", "32MB"):
        with duckdb.connect(config={"memory_limit": memory, "threads": "2", "temp_directory": ""}) as engine:
            if memory == "32MB":
                with pytest.raises(duckdb.OutOfMemoryException):
                    counting_module._choose_in_lists(engine, asked, f"SELECT person AS unit, site AS g FROM {table}")
            answers.append(counting_module.count(engine, asked, table, {"person": "integer", "site": "integer"}))
    np.testing.assert_array_equal(*answers)
    assert answers[0].sum() == 3 * 1001


def test_requests_that_cannot_be_counted_are_refused() -> None:
    question = read_question(f"SELECT {', '.join(f'COUNT_IF(v = {i}) AS c{i}' for i in range(31))} FROM t", unit="p")
    with refused(InvalidInput, token="at most 30"):
        Counting(question, TOTAL, "p", 1, KEY)
    assert Counting(question, TOTAL, "row", 1, KEY).columns == ["v"]
    with refused(InvalidInput, "max_groups", given=0):
        Counting(question, TOTAL, "row", 0, KEY)


def test_the_key_is_not_shown() -> None:
    question = read_question("SELECT COUNT(*) FROM t", unit="p")
    assert "secret" not in repr(Counting(question, TOTAL, "p", 1, b"secret")) and b"secret".hex() not in repr(
        Counting(question, TOTAL, "p", 1, b"secret")
    )
