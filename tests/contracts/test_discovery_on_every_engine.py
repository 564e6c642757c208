"""Every engine finds the groups that the plain reference finds, with its counts, and bounds people as it does."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines import discovery
from discreet.engines.base import DiscoveredGroups, Discovering, Source
from discreet.engines.reference import Row, discover_rows
from discreet.engines.sources import open_source
from discreet.errors import InvalidInput, SourceFailed
from discreet.questions.groups import TOTAL, Groups, groups_from
from discreet.questions.question import read_question
from discreet.release.plan.planning import plan_release
from support import awkward
from support.engines import ENGINES, KEY, Engine, every_engine
from support.refusals import refused

SCHEMA = pa.schema(
    {
        "person": pa.string(),
        "n": pa.int64(),
        "job": pa.string(),
        "code": pa.int64(),
        "area": pa.string(),
        "x": pa.int32(),
    }
)
JOBS = ["cook", "Cook", "cook ", "COOK", "köchin", "a:b", "a", "b", "b:a", "", "NULL", "'", "1", "01", "=1+1", None]
CODES = [0, 1, -1, 10, 2**53, -(2**53), 2**53 + 1, 2**62, None]
AREAS = ["north", "south", "North", None]


def random_rows(chance: random.Random, size: int) -> list[tuple[Any, ...]]:
    people = [None, *(f"p{i}" for i in range(8)), "1:2"]
    return [
        (
            chance.choice(people), chance.choice([None, 1, 2, 30]), chance.choice(JOBS), chance.choice(CODES),
            chance.choice(AREAS), chance.randrange(4),
        )
        for _ in range(size)
    ]  # fmt: skip


#: GROUP BY and what is counted, which columns are found, the domain of the others.
QUESTIONS: list[tuple[str, tuple[str, ...], dict[str, list[str]]]] = [
    ("SELECT job, COUNT(*) FROM t GROUP BY job", ("job",), {}),
    ("SELECT code, COUNT(*), COUNT_IF(x = 1) AS one FROM t WHERE x < 3 GROUP BY code", ("code",), {}),
    ("SELECT code, job, COUNT(*) FROM t GROUP BY code, job", ("code", "job"), {}),
    (
        "SELECT area, job, COUNT_IF(x = 0) AS a, COUNT_IF(x > 0) AS b, COUNT_IF(x > 1) AS c FROM t GROUP BY area, job",
        ("job",), {"area": ["south", "north"]},
    ),
    ("SELECT job, area, COUNT(*) FROM t GROUP BY job, area", ("job",), {"area": ["north"]}),
]  # fmt: skip


def discoverings(engine: Engine, source: Source) -> list[Discovering]:
    kinds = source.table(engine.table)
    made = []
    for sql, found, domain in QUESTIONS:
        for unit, most in (("row", 1), ("person", 1), ("person", 3), ("n", 2)):
            question = read_question(sql, unit=unit)
            rest = [column for column in question.by if column not in found]
            groups = groups_from({column: domain[column] for column in rest}, rest) if rest else TOTAL
            read = tuple("integer" if kinds[column] == "integer" else "text" for column in found)
            counting = Discovering(question, groups, unit, most, KEY, found, read)
            made.append(engine.asked(counting))
    return made


def as_mapping(found: DiscoveredGroups) -> dict[tuple[object, ...], list[int]]:
    rows = zip(found.declared.tolist(), *(label.tolist() for label in found.labels), strict=True)
    listed = list(rows)
    assert len(set(listed)) == len(listed)
    return dict(zip(listed, found.counts.tolist(), strict=True))


def stored(engine: Engine, folder: Path, rows: list[tuple[Any, ...]]) -> tuple[Source, list[Row]]:
    table = awkward.Table.of(rows, SCHEMA, engine.writers[0])
    return engine.open(table.write(folder, table)), engine.plain_rows(table)


@every_engine
def test_groups_and_counts_are_those_of_the_reference(engine: Engine, tmp_path: Path) -> None:
    source, rows = stored(engine, tmp_path, random_rows(random.Random(3), 150))
    asked = discoverings(engine, source)
    capped = [replace(one, max_rows=2) for one in asked if one.unit != "row" and one.max_groups > 1]
    asked = [*asked[1::5], *capped[1::6]] if engine.group == "spark" else [*asked[::3], *capped[::2]]
    bounded = 0
    for counting in asked:
        source.rehearse([counting])
        expected = discover_rows(rows, counting)
        assert as_mapping(source.discover(counting)) == expected, counting.question.text
        assert expected and min(min(counts) for counts in expected.values()) >= 0
        wide = discover_rows(rows, replace(counting, max_groups=1000))
        bounded += expected != wide
    assert bounded  # the bound leaves somebody out, so that the choice is compared


@every_engine
def test_a_person_moves_no_more_groups_than_the_bound_and_nobody_else(engine: Engine, tmp_path: Path) -> None:
    rows = random_rows(random.Random(7), 100)
    folders = [tmp_path / "with", tmp_path / "without"]
    for folder in folders:
        folder.mkdir()
    whole, _ = stored(engine, folders[0], rows)
    less, _ = stored(engine, folders[1], [row for row in rows if row[0] != "p3"])
    every = 0
    for counting in discoverings(engine, whole)[2 :: 16 if engine.group == "spark" else 4]:
        assert (counting.unit, counting.max_groups) == ("person", 3)
        one, other = (as_mapping(source.discover(counting)) for source in (whole, less))
        moved = [group for group in {*one, *other} if one.get(group) != other.get(group)]
        assert len(moved) <= 3
        every += len(moved)
        for group in moved:
            change = [a - b for a, b in zip(one[group], other.get(group, [0] * len(one[group])), strict=True)]
            assert set(change) <= {0, 1}
    assert every


@every_engine
def test_nobody_is_found_in_an_empty_table_or_where_values_are_missing(engine: Engine, tmp_path: Path) -> None:
    source, _ = stored(engine, tmp_path, [("p1", 1, None, None, None, 0), (None, None, "cook", 1, "north", 0)])
    question = read_question("SELECT job, COUNT(*) FROM t GROUP BY job", unit="person")
    counting = engine.asked(Discovering(question, TOTAL, "person", 1, KEY, ("job",), ("text",)))
    assert as_mapping(source.discover(counting)) == {}


@every_engine
def test_columns_whose_text_is_not_one_for_all_engines_are_refused_by_their_type(
    engine: Engine, tmp_path: Path
) -> None:
    if "CSV" in engine.name:
        return  # all of CSV is text
    schema = pa.schema({"person": pa.string(), "w": pa.float64()})
    source = engine.store(tmp_path, [("a", 0.0), ("b", -0.0), ("c", float("nan"))], schema)

    asked = f"SELECT w, COUNT(*) FROM {engine.table} GROUP BY w"
    with refused(InvalidInput, "discover"):
        plan_release(asked, data=source, unit="person", max_groups=1, discover="w", epsilon=1, delta=1e-6, edition="e")


# ------------------------------------------------------------------------------------------------ the suite notices


@pytest.mark.parametrize("fault", ["rank", "no_bound", "folded", "having"])
def test_the_suite_notices_another_rule(fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Planted: ties that are all taken, people without a bound, an equality of letters, a test of true counts."""
    plain = discovery.groups_sql

    def other(counting: Discovering, *rest: Any) -> str:
        sql = plain(counting, *rest)
        if fault == "rank":
            start = sql.index("row_number()")
            order = sql.index("ORDER BY", start)
            return f"{sql[:start]}rank() OVER (PARTITION BY unit ORDER BY 1){sql[sql.index(') AS place', order) + 1 :]}"
        if fault == "no_bound":
            return sql.replace(f"place <= {counting.max_groups}", "place <= 1000000")
        if fault == "folded":
            return sql.replace('("job" COLLATE "binary")', 'lower("job")')
        return f"{sql} HAVING count(*) > 1"

    import discreet.engines.duckdb.counting as counting_module

    monkeypatch.setattr(counting_module, "groups_sql", other)
    engine = ENGINES[1]
    source, rows = stored(engine, tmp_path, random_rows(random.Random(3), 150))
    asked = [counting for counting in discoverings(engine, source) if counting.unit == "person"]
    assert any(as_mapping(source.discover(counting)) != discover_rows(rows, counting) for counting in asked)


def test_the_choice_among_groups_is_even(tmp_path: Path) -> None:
    """Each of three groups is chosen by a third of 3,000 people (7 standard deviations); a control is in the rule."""
    rows: list[Row] = [{"person": f"p{i}", "job": job} for i in range(3000) for job in ("a", "b", "c")]
    question = read_question("SELECT job, COUNT(*) FROM t GROUP BY job", unit="person")
    chosen = discover_rows(rows, Discovering(question, TOTAL, "person", 1, KEY, ("job",), ("text",)))
    assert sum(count for (count,) in chosen.values()) == 3000
    assert all(abs(count - 1000) < 7 * (3000 * 2 / 9) ** 0.5 for (count,) in chosen.values())
    other = discover_rows(rows, Discovering(question, TOTAL, "person", 1, b"another", ("job",), ("text",)))
    assert chosen != other  # the key decides


@pytest.mark.parametrize("most", [1, 3])
def test_people_are_looked_at_in_parts_where_memory_is_short(
    most: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import duckdb

    import discreet.engines.duckdb.counting as counting_module

    plain = counting_module.groups_sql
    asked: list[str] = []

    def short(counting: Discovering, table: str, *rest: Any) -> str:
        asked.append(table)
        if len(asked) == 1:
            raise duckdb.OutOfMemoryException("so many groups")
        return plain(counting, table, *rest)

    monkeypatch.setattr(counting_module, "groups_sql", short)
    source, rows = stored(ENGINES[1], tmp_path, random_rows(random.Random(5), 150))
    for counting in discoverings(ENGINES[1], source):
        if (counting.unit, counting.max_groups) == ("person", most):
            asked.clear()
            assert as_mapping(source.discover(counting)) == discover_rows(rows, counting)
            assert len(asked) == 9


def test_what_an_engine_says_when_it_stops_is_withheld(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engine = ENGINES[1]
    source, _ = stored(engine, tmp_path, random_rows(random.Random(1), 10))

    def broken(*_: object) -> DiscoveredGroups:
        raise RuntimeError("the row of ann")

    monkeypatch.setattr("discreet.engines.duckdb.files.discover", broken)
    with refused(SourceFailed, token="withheld") as failure:
        source.discover(discoverings(engine, source)[0])
    assert "ann" not in str(failure.value) and failure.value.__context__ is None


def test_a_collation_of_the_table_makes_no_two_texts_one(tmp_path: Path) -> None:
    """Under NOCASE an engine would count 'a' and 'A' together, and publish one row's spelling."""
    import duckdb

    with duckdb.connect(str(tmp_path / "t.duckdb")) as engine:
        engine.execute("CREATE TABLE t (person VARCHAR COLLATE NOCASE, job VARCHAR COLLATE NOCASE)")
        engine.execute("INSERT INTO t VALUES ('p', 'a'), ('P', 'A'), ('q', 'A'), ('r', 'a ')")
        assert len(engine.execute("SELECT job FROM t GROUP BY job").fetchall()) == 2
    source = open_source(tmp_path / "t.duckdb")
    question = read_question("SELECT job, COUNT(*) FROM t GROUP BY job", unit="person")
    for unit, most in (("row", 1), ("person", 2)):
        counting = Discovering(question, TOTAL, unit, most, KEY, ("job",), ("text",))
        assert as_mapping(source.discover(counting)) == {(0, "a"): [1], (0, "A"): [2], (0, "a "): [1]}


def test_texts_that_cannot_be_published_are_dropped() -> None:
    question = read_question("SELECT job, COUNT(*) FROM t GROUP BY job", unit="row")
    counting = Discovering(question, TOTAL, "row", 1, KEY, ("job",), ("text",))
    import numpy as np

    columns = [np.zeros(4, np.int64), np.array(["a", "b\0c", "d", "e" * 1001], object), np.array([1, 2, 3, 4])]
    assert as_mapping(discovery.discovered_groups(counting, columns)) == {(0, "a"): [1], (0, "d"): [3]}
    rows: list[Row] = [{"job": "a"}, {"job": "b\0c"}, {"job": "e" * 1001}]
    assert discover_rows(rows, counting) == {(0, "a"): [1]}
    assert "count" not in repr(discovery.discovered_groups(counting, columns)).replace("counts", "")


def test_groups_that_are_declared_and_found_have_the_number_of_the_declared_part() -> None:
    groups: Groups = groups_from({"area": ["north", "south"]}, ["area"])
    question = read_question("SELECT area, job, COUNT(*) FROM t GROUP BY area, job", unit="row")
    rows: list[Row] = [{"area": area, "job": "cook"} for area in ("south", "south", "west", None, "north")]
    found = discover_rows(rows, Discovering(question, groups, "row", 1, KEY, ("job",), ("text",)))
    assert Counter({key: counts[0] for key, counts in found.items()}) == {(1, "cook"): 2, (0, "cook"): 1}
