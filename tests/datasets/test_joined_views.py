"""Views that join tables of the same people: counted as the join that they are, or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import discreet as dc
from discreet.errors import InvalidInput, SourceFailed
from support.postgres_server import INSTALLED, server
from support.refusals import refused
from support.tiers import full

TABLES = (
    "CREATE TABLE visits (person varchar(9), site int, year int)",
    "CREATE TABLE people (id varchar(9), sex text, year int)",
    "CREATE TABLE stays (person varchar(9), ward text)",
    "CREATE TABLE doctors (person varchar(9), name text)",
    "INSERT INTO visits VALUES ('ann', 1, 1), ('ann', 2, 1), ('bob', 2, 1), ('eve', 3, 2), ('zoe', 1, 1), (NULL, 1, 1)",
    "INSERT INTO people VALUES ('ann', 'f', 5), ('bob', 'm', 6), ('eve', 'f', 5), ('eve', 'f', 6), ('max', 'm', 5)",
    "INSERT INTO stays VALUES ('ann', 'a'), ('ann', 'b'), ('bob', 'a')",
)
JOIN = "visits v JOIN people p ON v.person = p.id"
VIEWS = {
    "plain": f"SELECT v.person, v.site, p.sex, v.year FROM {JOIN}",
    "named": f"SELECT p.id AS who, p.sex AS gender, v.site AS place, p.year AS born FROM {JOIN} WHERE v.year = 1",
    "kept": "SELECT v.person, v.site, p.sex FROM visits v LEFT JOIN people p ON p.id = v.person",
    "three": f"SELECT v.person, p.sex, s.ward FROM {JOIN} LEFT JOIN stays s ON s.person = v.person WHERE p.year < 6",
    "using_one": "SELECT person, site, ward FROM visits JOIN stays USING (person)",
}
DECLARED = {"visits": "person", "people": "id", "stays": "person", **dict.fromkeys(VIEWS, "person"), "named": "who"}


class Study:
    """A data set in a database of an engine, with these views declared."""

    def __init__(self, folder: Path, prefix: str, data: str, dataset: str, run: Callable[[str], None]) -> None:
        self.folder, self.prefix, self.data, self.dataset, self.run = folder, prefix, data, dataset, run
        for sql in (*TABLES, *(f"CREATE VIEW {name} AS {sql}" for name, sql in VIEWS.items())):
            run(sql)
        dc.Ledger.create(folder / "study.ledger", dataset=dataset, unit="person", epsilon=5000)

    def plan(self, sql: str, declared: dict[str, str] = DECLARED, **fields: Any) -> Any:
        """A plan whose noise is zero; {x} in the question is the table x."""
        tables = "".join(
            f'[tables."{self.prefix}{name}"]\ndata = "{self.data}"\nunit = "{unit}"\n'
            for name, unit in declared.items()
        )
        text = f'format = "discreet dataset"\ndataset = "{self.dataset}"\nunit = "person"\nledger = "study.ledger"\n'
        columns = 'sex = ["f", "m"]\ngender = ["f", "m"]\nward = ["a", "b"]\nsite = "1..3"\n'
        (self.folder / "study.toml").write_text(f"{text}{tables}[columns]\n{columns}")
        sql = sql.format(**{name: self.prefix + name for name in declared})
        return dc.Dataset.open(self.folder / "study.toml").plan(sql, **{"max_groups": 3, "epsilon": 120, **fields})

    def counts(self, sql: str, **fields: Any) -> list[int | None]:
        return [row["count"] for row in self.plan(sql, **fields).release().rows()]


def in_duckdb(folder: Path) -> Study:
    def run(sql: str) -> None:
        with duckdb.connect(str(folder / "study.duckdb")) as base:
            base.execute(sql)

    return Study(folder, "", "study.duckdb", "study", run)


def in_postgres(folder: Path) -> Study:
    where = server(max(INSTALLED))
    name = where.database(name="study")

    def run(sql: str) -> None:
        with where.connect(name) as base:
            base.execute(sql.encode())

    return Study(folder, "public.", str(where.address(name)), name, run)


@pytest.fixture(params=[in_duckdb, pytest.param(in_postgres, marks=full)])
def study(tmp_path: Path, request: pytest.FixtureRequest) -> Study:
    opened: Study = request.param(tmp_path)
    return opened


#: A question of a view, the same question of the tables, and its counts by hand.
PAIRS = [
    (
        "SELECT sex, COUNT(*) FROM {plain} GROUP BY sex",
        "SELECT sex, COUNT(*) FROM {visits} JOIN {people} ON visits.person = people.id GROUP BY sex",
        [2, 1],
    ),
    (
        "SELECT sex, COUNT(*) FROM {plain} WHERE year = 1 GROUP BY sex",
        "SELECT sex, COUNT(*) FROM {visits} JOIN {people} ON visits.person = people.id WHERE visits.year = 1 "
        "GROUP BY sex",
        [1, 1],
    ),
    (
        "SELECT gender, COUNT(*) FROM {named} WHERE place > 1 GROUP BY gender",
        "SELECT sex, COUNT(*) FROM {visits} JOIN {people} ON visits.person = people.id "
        "WHERE year = 1 AND site > 1 GROUP BY sex".replace("year", "visits.year"),
        [1, 1],
    ),
    (
        "SELECT site, COUNT(*), COUNT_IF(sex = 'f') AS women FROM {kept} GROUP BY site",
        "SELECT site, COUNT(*), COUNT_IF(sex = 'f') AS women FROM {visits} LEFT JOIN {people} "
        "ON visits.person = people.id GROUP BY site",
        [2, 1, 2, 1, 1, 1],
    ),
    (
        "SELECT sex, ward, COUNT(*) FROM {three} GROUP BY sex, ward",
        "SELECT sex, ward, COUNT(*) FROM {visits} JOIN {people} ON visits.person = people.id "
        "LEFT JOIN {stays} ON visits.person = stays.person WHERE people.year < 6 GROUP BY sex, ward",
        [1, 1, 0, 0],
    ),
    (
        "SELECT ward, COUNT(*) FROM {using_one} WHERE site = 2 GROUP BY ward",
        "SELECT ward, COUNT(*) FROM {visits} JOIN {stays} ON visits.person = stays.person WHERE site = 2 GROUP BY ward",
        [2, 1],
    ),
]


def test_a_view_that_joins_is_counted_and_recorded_as_the_join(study: Study) -> None:
    """The request states the tables, not the view; where the view renames nothing it has the key of the join."""
    for view, tables, expected in PAIRS:
        through, typed = study.plan(view), study.plan(tables)
        assert study.counts(view) == expected
        assert through.request["tables"][0]["question"] == typed.request["tables"][0]["question"]
        assert through.request["tables"][0]["joined"] == typed.request["tables"][0]["joined"]
        assert through.request == typed.request


def test_events_of_a_view_are_its_rows(study: Study) -> None:
    """Ann has two visits, and eve one visit with two rows of people."""
    assert study.counts("SELECT sex, COUNT(*) FROM {plain} GROUP BY sex", max_rows=3, epsilon=400) == [4, 1]


def test_a_released_view_is_verified(study: Study) -> None:
    study.plan(PAIRS[2][0]).release(study.folder / "out")
    assert dc.verify_bundle(study.folder / "out", study.folder / "study.ledger").holds


def test_what_is_left_counts_as_if_a_person_had_never_been_there(study: Study) -> None:
    """Removed from all tables at once, ann takes only herself from each count."""
    for table, unit in (("visits", "person"), ("people", "id"), ("stays", "person")):
        study.run(f"DELETE FROM {table} WHERE {unit} = 'ann'")
    left = [[1, 1], [0, 1], [0, 1], [1, 0, 1, 0, 1, 1], [0, 0, 0, 0], [1, 0]]
    assert [study.counts(view, edition="left") for view, _, _ in PAIRS] == left


def test_other_views_that_join_are_refused(study: Study) -> None:
    refusals = {
        f"SELECT v.person, v.site FROM {JOIN} LIMIT 3": "LIMIT",
        f"SELECT DISTINCT v.person FROM {JOIN}": "DISTINCT",
        f"SELECT v.person, v.site + p.year AS n FROM {JOIN}": "computes",
        f"SELECT v.person, count(*) AS n FROM {JOIN} GROUP BY v.person": "grouped",
        "SELECT v.person FROM visits v, people p WHERE v.person = p.id": "condition",
        "SELECT v.person FROM visits v JOIN people p ON v.year = p.year": "people.id",
        "SELECT v.person FROM visits v JOIN people p ON v.person = p.id AND v.year = p.year": "pair",
        "SELECT v.person FROM visits v JOIN people p ON lower(v.person) = p.id": "",
        "SELECT v.person FROM visits v JOIN people p ON CAST(v.site AS varchar) = p.id": "'",
        "SELECT v.person FROM visits v RIGHT JOIN people p ON v.person = p.id": "RIGHT",
        "SELECT v.person FROM visits v FULL JOIN people p ON v.person = p.id": "FULL",
        "SELECT v.person FROM visits v JOIN doctors d ON v.person = d.person": "doctors",
        "SELECT w.person FROM plain w JOIN people p ON w.person = p.id": "plain",
        "SELECT v.person FROM visits v JOIN plain p ON v.person = p.person": "plain",
        "SELECT v.person FROM visits v JOIN visits w ON v.person = w.person": "twice",
        "SELECT v.person FROM visits v JOIN (SELECT id FROM people) p ON v.person = p.id": "subquery",
        "SELECT v.site FROM visits v JOIN people p ON v.person = p.id": "column 'person'",
        "SELECT p.sex AS person FROM visits v JOIN people p ON v.person = p.id": "people.sex",
        "SELECT p.id AS person FROM visits v LEFT JOIN people p ON v.person = p.id": "people.id",
    }
    for view, token in refusals.items():
        study.run("DROP VIEW IF EXISTS other")
        study.run(f"CREATE VIEW other AS {view}")
        with refused(InvalidInput, token=token):
            study.plan("SELECT COUNT(*) FROM {other}", {**DECLARED, "other": "person"})


def test_a_question_keeps_to_the_columns_of_the_view(study: Study) -> None:
    with refused(InvalidInput, token="ward"):
        study.plan("SELECT ward, COUNT(*) FROM {plain} GROUP BY ward")
    study.run(f"CREATE VIEW twofold AS SELECT v.person, v.year, p.year AS born FROM {JOIN}")
    declared = {**DECLARED, "twofold": "person"}
    with refused(InvalidInput, token="'year'"):
        study.plan("SELECT COUNT(*) FROM {twofold} WHERE year = 1 AND born = 5", declared)
    assert [
        row["count"] for row in study.plan("SELECT COUNT(*) FROM {twofold} WHERE born = 5", declared).release().rows()
    ] == [2]


def test_the_tables_behind_a_view_are_declared(study: Study) -> None:
    asked = "SELECT sex, COUNT(*) FROM {plain} GROUP BY sex"
    with refused(InvalidInput, token="people"):
        study.plan(asked, {"visits": "person", "plain": "person"})
    for declared in ({"people": "sex"}, {"people": "row"}, {"visits": "site"}, {"plain": "sex"}):
        with refused(InvalidInput, token="person"):
            study.plan(asked, {**DECLARED, **declared})


@full
def test_a_view_that_is_replaced_after_the_plan_is_not_counted(tmp_path: Path) -> None:
    study = in_postgres(tmp_path)
    plan = study.plan(PAIRS[0][0])
    study.run(f"CREATE OR REPLACE VIEW plain AS {VIEWS['plain']} WHERE p.sex = 'm'")
    with refused(SourceFailed, token="public.plain was altered"):
        plan.release()
