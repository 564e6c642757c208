"""Several tables of the same people in one data set: what is counted, refused, recorded and checked again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas
import pytest

import discreet as dc
from discreet.engines.base import Counting, Source
from discreet.engines.duckdb.files import CountedFiles, FilesTogether
from discreet.engines.sources import open_source, open_tables_in_memory
from discreet.errors import InvalidInput, SourceFailed, Unsupported
from discreet.questions.groups import groups_from
from discreet.questions.joins.clauses import RelatedTable
from discreet.questions.question import read_question
from discreet.questions.resolve.bind import bind_joins
from discreet.sources.engine import open_engine
from support.bundles import edit, edit_json
from support.postgres_server import INSTALLED, server
from support.refusals import refused

VISITS = "person,site,year\nann,1,1\nann,2,1\nbob,2,1\neve,3,2\nzoe,9,1\n007,1,1\n"
PEOPLE = "id,sex,county\nann,f,1\nbob,m,2\neve,f,3\neve,f,3\nmax,m,1\n7,m,2\n"
STAYS = "person,ward\nann,a\nann,b\nbob,a\n"
BY_SEX = "SELECT sex, COUNT(*) FROM visits JOIN people ON visits.person = people.id GROUP BY sex"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A data set with three tables and a look-up, and epsilon 1000."""
    for name, text in (("visits", VISITS), ("people", PEOPLE), ("stays", STAYS)):
        (tmp_path / f"{name}.csv").write_text(text)
    (tmp_path / "regions.csv").write_text("county,region\n1,North\n2,North\n3,South\n")
    (tmp_path / "study.toml").write_text(
        'format = "discreet dataset"\ndataset = "visits"\nunit = "person"\nledger = "visits.ledger"\n'
        '[tables.visits]\ndata = "visits.csv"\n[tables.people]\ndata = "people.csv"\nunit = "id"\n'
        '[tables.stays]\ndata = "stays.csv"\n[lookups.regions]\ndata = "regions.csv"\nkey = "county"\n'
        '[columns]\nsite = "1..3"\nsex = ["f", "m"]\nward = ["a", "b"]\n'
    )
    dc.Ledger.create(tmp_path / "visits.ledger", dataset="visits", unit="person", epsilon=1000)
    return tmp_path / "study.toml"


def counts(file: Path, sql: str, **fields: Any) -> list[int | None]:
    """The counts of a release whose noise is zero at epsilon 40."""
    plan = dc.Dataset.open(file).plan(sql, **{"max_groups": 1, "epsilon": 40, **fields})
    return [row["count"] for row in plan.release().rows()]


def test_groups_and_conditions_come_from_all_tables(file: Path) -> None:
    assert counts(file, BY_SEX) == [2, 1]
    both = "SELECT sex, COUNT(*) FROM visits v JOIN people p ON p.id = v.person WHERE v.year = 1 GROUP BY p.sex"
    assert counts(file, both) == [1, 1]
    left = "SELECT sex, COUNT(*) FROM visits LEFT JOIN people ON visits.person = people.id GROUP BY sex"
    assert counts(file, left, domain={"sex": ["f", "m", None]}) == [2, 1, 2]
    three = (
        "SELECT ward, sex, COUNT(*) FROM visits JOIN people ON visits.person = people.id "
        "JOIN stays ON people.id = stays.person WHERE site = 2 OR sex = 'f' GROUP BY ward, sex"
    )
    assert counts(file, three, max_groups=4) == [1, 1, 1, 0]


def test_events_of_joined_tables_are_joined_rows(file: Path) -> None:
    """Ann has two visits, and eve one visit and two rows of people: four joined rows of women in all."""
    assert [counts(file, BY_SEX, max_rows=most, epsilon=30 * most) for most in (1, 2, 5)] == [[2, 1], [4, 1], [4, 1]]
    left = "SELECT sex, COUNT(*) FROM visits LEFT JOIN people ON visits.person = people.id GROUP BY sex"
    assert counts(file, left, domain={"sex": ["f", "m", None]}, max_rows=2, epsilon=60) == [4, 1, 2]
    three = (
        "SELECT COUNT(*), COUNT_IF(site = 1) AS first FROM visits JOIN people ON visits.person = people.id "
        "JOIN stays ON people.id = stays.person"
    )
    assert counts(file, three, max_rows=5, epsilon=300) == [5, 2]  # ann's two visits with two stays, and bob's


def test_the_plan_and_the_guarantee_say_that_events_are_joined_rows(file: Path) -> None:
    plan = dc.Dataset.open(file).plan(BY_SEX, max_groups=1, max_rows=2, epsilon=1)
    assert "joined rows, at most 2 of one `person` in each count of a group" in plan.describe()
    sentence = "Rows are joined rows: each row of visits counts with each row of people that has the same `person`."
    assert sentence in plan.guarantee
    people = dc.Dataset.open(file).plan(BY_SEX, max_groups=1, epsilon=1)
    assert not any("joined rows" in text for text in (*people.guarantee, people.describe()))
    assert plan.key != people.key


def test_a_column_of_a_joined_table_is_looked_up(file: Path) -> None:
    sql = (
        "SELECT region, COUNT(*) FROM visits JOIN people ON visits.person = people.id "
        "LEFT JOIN regions ON people.county = regions.county GROUP BY region"
    )
    assert counts(file, sql) == [2, 1]
    case = "CASE WHEN county IN (1, 3) THEN 'odd' WHEN county = 2 THEN 'even' END AS part"
    recoded = f"SELECT {case}, COUNT(*) FROM visits JOIN people ON visits.person = people.id GROUP BY part"
    assert counts(file, recoded) == [2, 1]


def test_units_are_equal_where_their_texts_are(file: Path) -> None:
    """'007' of visits is not '7' of people, and 'ann ' is not 'ann'."""
    known = "SELECT COUNT(*) FROM visits JOIN people ON visits.person = people.id WHERE sex = 'm'"
    assert counts(file, known) == [1]
    (file.parent / "people.csv").write_text("id,sex,county\nann ,m,1\nANN,m,1\n 007,m,1\n07,m,1\n")
    assert counts(file, known, edition="blanks") == [0]


def test_tables_in_memory_are_joined(tmp_path: Path) -> None:
    frames = {
        "visits": pandas.DataFrame({"person": [1, 1, 2, 3], "site": [1, 2, 2, 3]}),
        "people": pandas.DataFrame({"id": [1, 2, 3, 3], "sex": ["f", "m", "f", "f"]}).astype({"sex": "string"}),
    }
    book = dc.Ledger.create(tmp_path / "study.ledger", dataset="study", unit="person", epsilon=100)
    data = dc.Dataset(
        name="study", data=frames, unit={"visits": "person", "people": "id"}, ledger=book, columns={"sex": ["f", "m"]}
    )
    assert [row["count"] for row in data.plan(BY_SEX, max_groups=1, epsilon=40).release().rows()] == [2, 1]
    with refused(InvalidInput, "unit"):
        dc.Dataset(name="study", data=frames, unit={"visits": "person"})


def test_tables_of_a_database_and_a_file_are_joined(file: Path) -> None:
    with duckdb.connect(str(file.parent / "study.duckdb")) as base:
        base.execute(f"CREATE TABLE people AS SELECT * FROM read_csv('{file.parent}/people.csv', all_varchar = true)")
        base.execute(f"CREATE TABLE visits AS SELECT * FROM read_csv('{file.parent}/visits.csv', all_varchar = true)")
    text = file.read_text()
    file.write_text(text.replace('"people.csv"', '"study.duckdb"'))
    assert counts(file, BY_SEX) == [2, 1]


def test_tables_of_one_database_are_joined(file: Path) -> None:
    with duckdb.connect(str(file.parent / "study.duckdb")) as base:
        for name in ("visits", "people"):
            rows = f"read_csv('{file.parent}/{name}.csv', all_varchar = true)"
            base.execute(f"CREATE TABLE {name} AS SELECT * FROM {rows}")
    file.write_text(
        file.read_text().replace('"people.csv"', '"study.duckdb"').replace('"visits.csv"', '"study.duckdb"')
    )
    assert counts(file, BY_SEX.replace("people", "People")) == [2, 1]


DAYS = ["DATE '2020-02-29'", "DATE '0044-03-15 (BC)'", "DATE '2020-03-01'", "DATE 'infinity'"]
IDS = [f"'{i}1111111-aAaa-1111-1111-111111111111'::UUID" for i in "0129"]


@pytest.mark.parametrize("people", [DAYS, IDS], ids=["dates", "UUIDs"])
@pytest.mark.parametrize("place", ["a database", "files", "memory"])
def test_people_are_named_by_dates_and_uuids_in_every_table(tmp_path: Path, people: list[str], place: str) -> None:
    """The third person has no visit, and the fourth is in no second table."""
    data: dict[str, Any] = {}
    with duckdb.connect(str(tmp_path / "study.duckdb")) as base:
        for name, unit, rows in (("visits", "person", [0, 0, 1, 3]), ("people", "id", [0, 1, 1, 2])):
            values = ", ".join(f"({people[row]}, {'mf'[row == 0]!r})" for row in rows)
            base.execute(f"CREATE TABLE {name} AS SELECT * FROM (VALUES {values}) AS t({unit}, sex)")
            base.execute(f"ALTER TABLE {name} RENAME COLUMN sex TO {'site' if name == 'visits' else 'sex'}")
            if place == "files":
                base.execute(f"COPY {name} TO '{tmp_path}/{name}.parquet' (FORMAT parquet)")
            data[name] = base.sql(f"FROM {name}").to_arrow_table()
    book = dc.Ledger.create(tmp_path / "study.ledger", dataset="study", unit="person", epsilon=100)
    units = {"visits": "person", "people": "id"}
    study = dc.Dataset(name="study", data=data, unit=units, ledger=book, columns={"sex": ["f", "m"]})
    if place != "memory":
        text = 'format = "discreet dataset"\ndataset = "study"\nunit = "person"\nledger = "study.ledger"\n'
        for name, unit in units.items():
            file = "study.duckdb" if place == "a database" else f"{name}.parquet"
            text += f'[tables.{name}]\ndata = "{file}"\nunit = "{unit}"\n'
        (tmp_path / "study.toml").write_text(f'{text}[columns]\nsex = ["f", "m"]\n')
        study = dc.Dataset.open(tmp_path / "study.toml")
    plan = study.plan(BY_SEX, max_groups=1, epsilon=40, **({} if place == "memory" else {"edition": "now"}))
    assert [row["count"] for row in plan.release().rows()] == [1, 1]


@pytest.mark.parametrize(
    "types", [("UUID", "VARCHAR"), ("DATE", "VARCHAR"), ("BLOB", "BLOB"), ("TIMESTAMP", "TIMESTAMP")]
)
def test_people_are_not_joined_by_other_types(tmp_path: Path, types: tuple[str, str]) -> None:
    with duckdb.connect(str(tmp_path / "study.duckdb")) as base:
        base.execute(f"CREATE TABLE visits (person {types[0]}); CREATE TABLE people (id {types[1]}, sex VARCHAR)")
    text = 'format = "discreet dataset"\ndataset = "study"\nunit = "person"\n[tables.visits]\ndata = "study.duckdb"\n'
    (tmp_path / "study.toml").write_text(f'{text}[tables.people]\ndata = "study.duckdb"\nunit = "id"\n')
    with refused(InvalidInput, token="text"):
        dc.Dataset.open(tmp_path / "study.toml").plan(BY_SEX, domain={"sex": ["f"]}, max_groups=1, epsilon=1)


def test_a_table_that_loses_a_column_after_the_plan_is_not_counted(file: Path) -> None:
    data = dc.Dataset.open(file)
    plan = data.plan(BY_SEX, max_groups=1, epsilon=40)
    (file.parent / "people.csv").write_text("id,county\nann,1\n")
    with refused(SourceFailed, token="'sex'"):
        plan.release()
    assert data.budget.left.epsilon == 1000


def test_tables_of_a_postgresql_database_are_joined(tmp_path: Path) -> None:
    where = server(max(INSTALLED))
    name = where.database(name="study")
    with where.connect(name) as base:
        base.execute(
            "CREATE TABLE public.visits (person text, site int); CREATE TABLE public.people (id text, sex text)"
        )
        base.execute("INSERT INTO visits VALUES ('ann', 1), ('bob', 2), ('eve', 1)")
        base.execute("INSERT INTO people VALUES ('ann', 'f'), ('bob', 'm'), ('zoe', 'f'), ('eve ', 'f')")
    tables = "".join(
        f'[tables."public.{table}"]\ndata = "{where.address(name)}"\nunit = "{unit}"\n'
        for table, unit in (("visits", "person"), ("people", "id"))
    )
    text = f'format = "discreet dataset"\ndataset = "{name}"\nunit = "person"\nledger = "study.ledger"\n{tables}'
    (tmp_path / "study.toml").write_text(f'{text}[columns]\nsex = ["f", "m"]\n')
    dc.Ledger.create(tmp_path / "study.ledger", dataset=name, unit="person", epsilon=100)
    sql = "SELECT sex, COUNT(*) FROM public.visits JOIN public.people ON visits.person = people.id GROUP BY sex"
    plan = dc.Dataset.open(tmp_path / "study.toml").plan(sql, max_groups=1, epsilon=40)
    assert [row["count"] for row in plan.release(tmp_path / "out").rows()] == [1, 1]
    assert dc.verify_bundle(tmp_path / "out", tmp_path / "study.ledger").holds


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("join", "token"),
    [
        ("JOIN people ON visits.site = people.county", "visits.person"),
        ("JOIN people ON visits.person = people.sex", "people.id"),
        ("JOIN people USING (person)", "people.id"),
        ("JOIN nobody ON visits.person = nobody.person", "[tables.nobody]"),
        ("LEFT JOIN people ON visits.person = people.id JOIN stays ON people.id = stays.person", "stays.person"),
    ],
)
def test_joins_on_other_columns_are_refused_with_the_reason(file: Path, join: str, token: str) -> None:
    with refused(InvalidInput, token=token):
        dc.Dataset.open(file).plan(f"SELECT COUNT(*) FROM visits {join}", epsilon=1)


def test_a_row_that_is_its_own_unit_is_not_joined(file: Path) -> None:
    file.write_text(file.read_text().replace('unit = "person"', 'unit = "row"').replace('ledger = "visits.ledger"', ""))
    with refused(InvalidInput, token="own unit"):
        dc.Dataset.open(file).plan("SELECT COUNT(*) FROM visits JOIN people ON visits.person = people.id", epsilon=1)


@pytest.mark.parametrize(
    ("data", "unit", "argument"), [({}, {}, "data"), ({}, "person", "data"), ("a.csv", {}, "unit")]
)
def test_no_tables_or_units_are_refused(data: Any, unit: Any, argument: str) -> None:
    with refused(InvalidInput, argument):
        dc.Dataset(name="study", data=data, unit=unit)


def test_units_of_different_kinds_are_refused_by_their_types(tmp_path: Path) -> None:
    frames = {
        "visits": pandas.DataFrame({"person": ["007"]}).astype("string"),
        "people": pandas.DataFrame({"id": [7], "sex": [1]}),
    }
    data = dc.Dataset(name="study", data=frames, unit={"visits": "person", "people": "id"})
    with refused(InvalidInput, token="'007'"):
        data.plan("SELECT COUNT(*) FROM visits JOIN people ON visits.person = people.id", epsilon=1)


@pytest.mark.parametrize(
    ("sql", "token"),
    [
        (
            "SELECT COUNT(*) FROM visits JOIN stays USING (person) WHERE person = 'ann'",
            "visits.person",
        ),
        (
            "SELECT COUNT(*) FROM visits JOIN people ON visits.person = people.id "
            "WHERE TRY_CAST(year AS DOUBLE) < TRY_CAST(county AS DOUBLE)",
            "two tables",
        ),
        (
            "SELECT COUNT(*) FROM visits v LEFT JOIN people p ON v.person = p.id WHERE COALESCE(sex, 'f') = 'f'",
            "COALESCE",
        ),
        (
            "SELECT COUNT(*) FROM visits LEFT JOIN people ON visits.person = people.id "
            "JOIN regions ON people.county = regions.county",
            "LEFT JOIN",
        ),
    ],
)
def test_what_has_no_plain_meaning_is_refused_before_it_is_priced(file: Path, sql: str, token: str) -> None:
    with refused(InvalidInput, token=token):
        dc.Dataset.open(file).plan(sql, epsilon=1)


def test_groups_are_not_discovered_in_joined_tables(file: Path) -> None:
    with refused(InvalidInput, token="joined tables"):
        dc.Dataset.open(file).plan(BY_SEX, discover="sex", max_groups=1, epsilon=1, delta="1e-6")


def test_data_that_joins_nothing_refuses_before_anything_is_spent(file: Path) -> None:
    source = open_source(file.parent / "visits.csv")
    source.joins_tables = False  # type: ignore[misc]
    with refused(Unsupported):
        source.check_join({"visits": "person", "people": "id"})


def test_a_view_is_not_joined(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "study.duckdb")) as base:
        base.execute("CREATE TABLE visits AS SELECT 'ann' AS person; CREATE TABLE p AS SELECT 'ann' AS id, 'f' AS sex")
        base.execute("CREATE VIEW people AS SELECT * FROM p")
    text = 'format = "discreet dataset"\ndataset = "study"\nunit = "person"\n'
    text += '[tables.visits]\ndata = "study.duckdb"\n[tables.people]\ndata = "study.duckdb"\nunit = "id"\n'
    (tmp_path / "study.toml").write_text(text)
    with refused(InvalidInput, token="view"):
        sql = "SELECT COUNT(*) FROM visits JOIN people ON visits.person = people.id WHERE sex = 'f'"
        dc.Dataset.open(tmp_path / "study.toml").plan(sql, epsilon=1)


def test_a_view_that_hides_a_column_of_another_table_is_refused(tmp_path: Path) -> None:
    """The view's condition, or its column, would read the column of that name in the joined table."""
    with duckdb.connect(str(tmp_path / "study.duckdb")) as base:
        base.execute("CREATE TABLE rows AS SELECT 'ann' AS person, 'f' AS sex, 1 AS county")
        base.execute("CREATE TABLE people AS SELECT 'ann' AS id, 'm' AS sex")
        base.execute("CREATE VIEW women AS SELECT person, county FROM rows WHERE sex = 'f'")
        base.execute("CREATE VIEW renamed AS SELECT person, sex AS said, county FROM rows")
    (tmp_path / "places.csv").write_text("county,sex\n1,x\n")
    text = 'format = "discreet dataset"\ndataset = "study"\nunit = "person"\n'
    text += "".join(f'[tables.{name}]\ndata = "study.duckdb"\n' for name in ("women", "renamed", "people"))
    text += 'unit = "id"\n[lookups.places]\ndata = "places.csv"\nkey = "county"\n'
    (tmp_path / "study.toml").write_text(text)
    study = dc.Dataset.open(tmp_path / "study.toml")
    for sql in (
        "SELECT COUNT(*) FROM women JOIN people ON women.person = people.id WHERE sex = 'm'",
        "SELECT COUNT(*) FROM renamed JOIN people ON renamed.person = people.id WHERE sex = 'm' AND said = 'f'",
        "SELECT COUNT(*) FROM women LEFT JOIN places ON women.county = places.county WHERE sex = 'x'",
        "SELECT COUNT(*) FROM renamed WHERE sex = 'x' AND said = 'f'",
        "SELECT CASE WHEN county IN (1, 3) THEN 'a' END AS sex, COUNT(*) FROM women GROUP BY sex",
        "SELECT CASE WHEN said = 'f' THEN 'a' END AS sex, COUNT(*) FROM renamed GROUP BY sex",
    ):
        with refused(InvalidInput, token="'sex'"):
            study.plan(sql, max_groups=1, epsilon=1)
    plan = study.plan("SELECT COUNT(*) FROM women JOIN people ON women.person = people.id", epsilon=1)
    assert plan.request["tables"][0]["question"].endswith("WHERE sex = 'f'")


# ------------------------------------------------------------------------------------------------ one person, many rows


def test_a_person_with_a_hundred_thousand_rows_in_each_table_is_counted(tmp_path: Path) -> None:
    """Joined row by row they would have ten thousand million rows, and the release would not end."""
    many = 100_000
    with duckdb.connect() as base:
        for name, unit, column in (("visits", "person", "amount"), ("people", "id", "size")):
            base.execute(
                f"COPY (SELECT 'ann' AS {unit}, i AS {column}, 'g' || i AS g{name[0]} "
                f"FROM range({many}) AS r(i)) TO '{tmp_path}/{name}.parquet' (FORMAT parquet)"
            )
    sources = {}
    for name in ("visits", "people"):
        source = open_source(tmp_path / f"{name}.parquet")
        assert isinstance(source, CountedFiles)
        sources[name] = source
    together = FilesTogether("visits", sources)
    sql = (
        "SELECT gv, gp, COUNT(*), COUNT_IF(amount > 5 OR size > 7) AS large FROM visits "
        "JOIN people ON visits.person = people.id GROUP BY gv, gp"
    )
    related = {"people": RelatedTable("people", "id", together.table("people"))}
    question = bind_joins(read_question(sql, unit="person"), {}, together.table("visits"), related, "person")
    groups = groups_from({"gv": ["g1", "g9", ...], "gp": ["g3", ...]}, question.by)
    (cells,) = together.count([Counting(question, groups, "person", 6, b"key")])
    assert cells.tolist() == [[1, 0]] + [[1, 1]] * 5  # visit 1 and stay 3 are small


#: Rows of ann, a hundred thousand in each table, and one of bob.
LARGE = {
    "visits": "SELECT 'ann' AS person, i AS amount FROM {series} UNION ALL SELECT 'bob', 0",
    "people": "SELECT 'ann' AS id, i AS size, 'a' AS kind FROM {series} UNION ALL SELECT 'bob', 9, 'b'",
}


def large_in_files(folder: Path) -> Source:
    sources = {}
    with duckdb.connect() as base:
        for name, sql in LARGE.items():
            rows = sql.format(series="range(1, 100001) AS r(i)")
            base.execute(f"COPY ({rows}) TO '{folder}/{name}.parquet' (FORMAT parquet)")
            source = open_source(folder / f"{name}.parquet")
            assert isinstance(source, CountedFiles)
            sources[name] = source
    return FilesTogether("visits", sources)


def large_in_memory(folder: Path) -> Source:
    rows = {name: sql.format(series="range(1, 100001) AS r(i)") for name, sql in LARGE.items()}
    with duckdb.connect() as base:
        return open_tables_in_memory({name: base.sql(sql).to_arrow_table() for name, sql in rows.items()}, "visits")


def large_in_postgres(folder: Path) -> Source:
    where = server(max(INSTALLED))
    name = where.database(name="large")
    with where.connect(name) as base:
        for table, sql in LARGE.items():
            rows = sql.format(series="generate_series(1, 100000) AS r(i)")
            base.execute(f"CREATE TABLE public.{table} AS {rows}".encode())
    return open_source(where.address(name))


@pytest.mark.parametrize("opened", [large_in_files, large_in_memory, large_in_postgres])
def test_events_of_a_person_with_a_hundred_thousand_rows_in_each_table_are_counted(tmp_path: Path, opened: Any) -> None:
    """Of ten thousand million joined rows in a group, the cap is left; bob's one joined row stays one."""
    together = opened(tmp_path)
    visits, people = ("public.visits", "public.people") if opened is large_in_postgres else ("visits", "people")
    sql = (
        f"SELECT kind, COUNT(*), COUNT_IF(amount > 5 AND size > 7) AS large, COUNT_IF(amount = 1) AS first "
        f"FROM {visits} JOIN {people} ON visits.person = people.id GROUP BY kind"
    )
    related = {people: RelatedTable(people, "id", together.table(people))}
    question = bind_joins(read_question(sql, unit="person"), {}, together.table(visits), related, "person")
    groups = groups_from({"kind": ["a", "b"]}, question.by)
    (cells,) = together.count([Counting(question, groups, "person", 2, b"key", max_rows=10_000)])
    assert cells.tolist() == [[10_000, 10_000, 10_000], [1, 0, 0]]


def test_the_engine_acts_on_no_statistics_of_joined_tables() -> None:
    """Rules of the optimiser that fold what they learned of one table into the other are off, also in joins."""
    with open_engine() as engine:
        (disabled,) = engine.execute("SELECT current_setting('disabled_optimizers')").fetchall()[0]
    rules = {"join_filter_pushdown", "join_order", "build_side_probe_side", "statistics_propagation", "filter_pushdown"}
    assert rules <= set(disabled.split(","))


# ------------------------------------------------------------------------------------------------ the audit


@pytest.fixture
def bundle(file: Path) -> Path:
    dc.Dataset.open(file).plan(BY_SEX, max_groups=1, epsilon=40).release(file.parent / "out")
    return file.parent / "out"


def test_the_request_states_every_table_and_its_unit(bundle: Path) -> None:
    report = dc.verify_bundle(bundle, bundle.parent / "visits.ledger")
    assert report.holds
    assert report.release is not None
    (table,) = report.release.request["tables"]
    assert table["joined"] == {"people": {"unit": "id", "columns": ["sex"]}}
    assert any({"visits", "people"} <= set(sentence.split()) for sentence in report.release.guarantee)


@pytest.mark.parametrize(
    "change",
    [{"people": {"unit": "sex", "columns": ["sex"]}}, {"people": {"unit": "id", "columns": []}}, {}, {"people": None}],
)
def test_a_forged_statement_about_a_join_is_noticed(bundle: Path, change: dict[str, Any]) -> None:
    edit_json(bundle, "request.json", lambda request: request["tables"][0].update(joined=change))
    assert dc.verify_bundle(bundle, bundle.parent / "visits.ledger").holds is False


@pytest.mark.parametrize(
    ("old", "new"),
    [("visits.person = ", "visits.site = "), ("= people.id", "= people.sex"), ('"unit": "person"', '"unit": "row"')],
)
def test_a_forged_join_on_other_columns_is_refused(bundle: Path, old: str, new: str) -> None:
    edit(bundle, "request.json", old, new)
    assert dc.verify_bundle(bundle)["request"].holds is False


def test_an_edition_binds_the_file_of_every_table(file: Path) -> None:
    plan = dc.Dataset.open(file).plan(BY_SEX, max_groups=1, epsilon=40, edition="2026")
    plan.release()
    moved = file.parent / "other.csv"
    moved.write_text(PEOPLE)
    file.write_text(file.read_text().replace('"people.csv"', '"other.csv"'))
    with refused(InvalidInput, token="other.csv"):
        dc.Dataset.open(file).plan(BY_SEX, max_groups=1, epsilon=41, edition="2026").release()


def test_the_key_of_a_question_without_joins_is_as_before() -> None:
    plan = dc.plan_release("SELECT COUNT(*) FROM visits", data="visits.csv", unit="person", epsilon=1)
    assert set(plan.request["tables"][0]) == {"question", "groups", "noise", "share", "suppress_below"}
