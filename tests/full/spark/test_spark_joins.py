"""Tables of the same people that Spark joins: the counts of the reference, a person who counts alone, and refusals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.engines.base import Counting, Source
from discreet.engines.sources import open_source, open_tables
from discreet.engines.spark import counting as spark_counting
from discreet.engines.spark.source import CountedSpark
from discreet.errors import InvalidInput
from discreet.questions.groups import groups_from
from discreet.questions.joins.clauses import RelatedTable
from discreet.questions.question import read_question
from discreet.questions.resolve.bind import bind_joins
from support import joined_months
from support.joins import ON_SPARK, JoiningEngine, differences, violations_of_seed
from support.refusals import refused
from support.spark_session import IN_ONE_PROCESS, address, session
from support.tiers import batches

pytestmark = IN_ONE_PROCESS
every_storage = pytest.mark.parametrize("engine", [pytest.param(one, id=str(one)) for one in ON_SPARK])

JOIN = "visits JOIN people ON visits.person = people.id"
BY_SEX = f"SELECT sex, COUNT(*) FROM {JOIN} GROUP BY sex"
VISITS = {"person": ["ann", "ann", "bob", "eve", "zoe", "007"], "site": [1, 2, 2, 3, 9, 1]}
PEOPLE = {"id": ["ann", "bob", "eve", "eve", "max", "7"], "sex": ["f", "m", "f", "f", "m", "m"]}


@pytest.fixture(scope="module")
def spark() -> Any:
    return session()


def written(folder: Path, visits: Any = None, people: Any = None) -> dict[str, tuple[str, None]]:
    """The places of two tables of files."""
    tables = {"visits": pa.table(VISITS if visits is None else visits)}
    tables["people"] = pa.table(PEOPLE if people is None else people)
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    return {name: (address(folder / f"{name}.parquet"), None) for name in tables}


def asked(source: Source, sql: str, k: int = 1, **domain: Any) -> Counting:
    """The counting of a question of visits and people."""
    related = {"people": RelatedTable("people", "id", source.table("people"))}
    question = bind_joins(read_question(sql, unit="person"), {}, source.table("visits"), related, "person")
    return Counting(question, groups_from(domain, question.by), "person", k, b"key")


# ------------------------------------------------------------------------------------------------ the contract


@every_storage
@pytest.mark.parametrize("batch", batches(full=1, long=10))
def test_joined_rows_have_the_counts_of_the_reference_on_spark(engine: JoiningEngine, batch: int) -> None:
    assert differences(engine, [batch], 8) == []


@every_storage
@pytest.mark.parametrize("batch", batches(full=1, long=40))
def test_a_person_in_two_tables_counts_for_themselves_alone_on_spark(engine: JoiningEngine, batch: int) -> None:
    """Eight questions a batch."""
    assert violations_of_seed(engine, 4000 + batch, 8) == []


@every_storage
@pytest.mark.parametrize("batch", batches(full=1, long=10))
def test_events_of_joined_tables_are_those_of_the_reference_on_spark(engine: JoiningEngine, batch: int) -> None:
    assert differences(engine, [9000 + batch], 5, events=True) == []


@every_storage
@pytest.mark.parametrize("batch", batches(long=10))
def test_events_of_a_person_in_two_tables_count_for_themselves_alone_on_spark(
    engine: JoiningEngine, batch: int
) -> None:
    assert violations_of_seed(engine, 9500 + batch, 5, events=True) == []


@every_storage
def test_rows_of_the_same_person_and_month_are_joined_on_spark(engine: JoiningEngine, tmp_path: Path) -> None:
    assert joined_months.differences(engine, 1, tmp_path) == []


def test_one_month_of_one_person_in_two_tables_counts_for_itself_on_spark(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("whole", "rest", "alone")]
    for folder in folders:
        folder.mkdir()
    assert joined_months.violations(ON_SPARK[0], 2, folders) == []


def moves_others(folder: Path) -> bool:
    """Whether somebody who leaves both tables moves the counts by anything but what they count alone."""
    counts = []
    for keeps in (lambda who: True, lambda who: who != "ann", lambda who: who == "ann"):
        kept = [
            pa.table(table).filter(pa.array([keeps(who) for who in table[unit]]))
            for table, unit in ((VISITS, "person"), (PEOPLE, "id"))
        ]
        source = open_tables(written(folder, *kept))
        counts += source.count([asked(source, BY_SEX, 2, sex=["f", "m"])])
    whole, rest, alone = counts
    return bool((whole - rest != alone).any())


def test_units_that_spark_compares_by_less_than_their_text_are_noticed(tmp_path, monkeypatch) -> None:
    """Stands for any equality that is not that of the whole text: a cast, padding, a collation."""
    assert not moves_others(tmp_path)
    one_table = spark_counting.one_table

    def padded(*arguments):
        counting, rows, kinds = one_table(*arguments)
        left, on, _ = rows.rpartition(" ON ")
        return counting, f"{left}{on}left(p0.u, 0) = left(p1.u, 0)) AS j", kinds

    monkeypatch.setattr(spark_counting, "one_table", padded)
    assert moves_others(tmp_path)


def test_a_person_with_a_hundred_thousand_rows_in_each_table_is_counted_on_spark(tmp_path) -> None:
    many = 100_000
    numbers = list(range(many))
    tables = [
        {unit: ["ann"] * many, column: numbers, group: [f"g{i}" for i in numbers]}
        for unit, column, group in (("person", "amount", "gv"), ("id", "size", "gp"))
    ]
    source = open_tables(written(tmp_path, *tables))
    sql = f"SELECT gv, gp, COUNT(*), COUNT_IF(amount > 5 OR size > 7) AS large FROM {JOIN} GROUP BY gv, gp"
    (cells,) = source.count([asked(source, sql, 6, gv=["g1", "g9", ...], gp=["g3", ...])])
    assert cells.tolist() == [[1, 0]] + [[1, 1]] * 5


# ------------------------------------------------------------------------------------------------ what decides nothing


def test_no_table_prunes_filters_or_broadcasts_another(spark: Any, tmp_path) -> None:
    """In a user's session, the same join reads only the partitions of people who meet the condition."""
    for name, table in (("visits", VISITS), ("people", PEOPLE)):
        unit = "person" if name == "visits" else "id"
        folder = tmp_path / name
        spark.createDataFrame(pa.table(table).to_pylist()).write.partitionBy(unit).parquet(str(folder))
    theirs = spark.read.parquet(str(tmp_path / "visits")).join(
        spark.read.parquet(str(tmp_path / "people")).where("sex = 'f'"), on=[_same("person", "id")]
    )
    assert "dynamicpruning" in _plan(theirs) and "Broadcast" in _plan(theirs)
    source = open_tables(
        {name: (address(tmp_path / name / ".").replace("/.", ""), None) for name in ("visits", "people")}
    )
    assert isinstance(source, CountedSpark)
    sql = f"SELECT COUNT(*) FROM {JOIN} WHERE sex = 'f' AND site < 9"
    (cells,) = source.count([asked(source, sql)])
    assert cells.item() == 2
    with source.snapshot() as snapshot:
        ours = _plan(spark_counting.query(snapshot._rows, asked(source, sql)))
    assert not re.search("dynamicpruning|bloom|might_contain|Broadcast", ours, re.I) and "SortMergeJoin" in ours


def _same(left: str, right: str) -> Any:
    from pyspark.sql.functions import expr

    return expr(f"{left} = {right}")


def _plan(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.adaptive.enabled": "false"},
        {"spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "1", "spark.sql.shuffle.partitions": "7"},
        {
            "spark.sql.ansi.enabled": "false",
            "spark.sql.session.timeZone": "Asia/Tokyo",
            "spark.sql.caseSensitive": "false",
        },
    ],
    ids=["not adaptive", "skewed", "other meanings"],
)
def test_settings_of_the_users_session_change_no_count(spark: Any, settings: dict[str, str], tmp_path) -> None:
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        source = open_tables(written(tmp_path))
        left = JOIN.replace("JOIN", "LEFT JOIN")
        sql = f"SELECT sex, COUNT(*), COUNT_IF(site = 2 OR sex = 'f') AS n FROM {left} GROUP BY sex"
        (cells,) = source.count([asked(source, sql, sex=["f", "m", None])])
        assert cells.tolist() == [[2, 2], [1, 1], [2, 0]]  # eve, ann; bob; zoe, 007
    finally:
        for name, value in before.items():
            spark.conf.set(name, value) if value is not None else spark.conf.unset(name)


def test_units_of_moments_and_numbers_are_not_compared(tmp_path) -> None:
    people = {"id": [7, 8], "sex": ["f", "m"]}
    source = open_tables(written(tmp_path, None, people))
    with refused(InvalidInput, token="'007'"):
        asked(source, BY_SEX, sex=["f", "m"])


# ------------------------------------------------------------------------------------------------ the whole path


def declared(folder: Path, tables: dict[str, tuple[str, str]], dataset: str = "visits") -> Path:
    """A dataset file of tables, each with its address and its unit, whose ledger has epsilon 200."""
    text = f'format = "discreet dataset"\ndataset = "{dataset}"\nunit = "person"\nledger = "study.ledger"\n'
    for name, (data, unit) in tables.items():
        text += f'[tables."{name}"]\ndata = "{data}"\nunit = "{unit}"\n'
    folder.mkdir(exist_ok=True)
    (folder / "study.toml").write_text(f'{text}[columns]\nsex = ["f", "m"]\n')
    dc.Ledger.create(folder / "study.ledger", dataset=dataset, unit="person", epsilon=200)
    return folder / "study.toml"


def test_files_that_spark_reads_are_joined_released_and_checked(tmp_path) -> None:
    places = written(tmp_path)
    tables = {"visits": (places["visits"][0], "person"), "people": (places["people"][0], "id")}
    file = declared(tmp_path, tables)
    plan = dc.Dataset.open(file).plan(BY_SEX, max_groups=1, epsilon=40)
    assert [row["count"] for row in plan.release(tmp_path / "out").rows()] == [2, 1]
    assert dc.verify_bundle(tmp_path / "out", tmp_path / "study.ledger").holds
    by_duckdb = open_tables({name: (str(tmp_path / f"{name}.parquet"), None) for name in tables})
    on_spark = open_tables(places)
    both = [source.count([asked(source, BY_SEX, sex=["f", "m", None])])[0] for source in (by_duckdb, on_spark)]
    np.testing.assert_array_equal(*both)


def test_tables_of_a_catalogue_are_joined(spark: Any, tmp_path) -> None:
    spark.sql("CREATE DATABASE IF NOT EXISTS joined")
    for name, table in (("visits", VISITS), ("people", PEOPLE)):
        spark.sql(f"DROP TABLE IF EXISTS joined.{name}")
        spark.createDataFrame(pa.table(table).to_pylist()).write.saveAsTable(f"joined.{name}", format="parquet")
    spark.sql("CREATE OR REPLACE VIEW joined.some AS SELECT id, sex FROM joined.people")
    units = {"joined.visits": "person", "joined.people": "id", "joined.some": "id"}
    book = dc.Ledger.create(tmp_path / "study.ledger", dataset="study", unit="person", epsilon=200)
    study = dc.Dataset(
        name="study", data=dict.fromkeys(units, spark), unit=units, ledger=book, columns={"sex": ["f", "m"]}
    )
    sql = "SELECT sex, COUNT(*) FROM joined.visits JOIN joined.people ON visits.person = people.id GROUP BY sex"
    released = study.plan(sql, max_groups=1, epsilon=40, edition="2026").release()
    assert [row["count"] for row in released.rows()] == [2, 1]
    with refused(InvalidInput, token="view"):
        study.plan(sql.replace("people", "some"), max_groups=1, epsilon=40, edition="2026")
    named = {name: (f"spark:{spark.sparkContext.master}?table={name}", unit) for name, unit in units.items()}
    plan = dc.Dataset.open(declared(tmp_path / "named", named, "joined.visits")).plan(sql, max_groups=1, epsilon=40)
    assert [row["count"] for row in plan.release().rows()] == [2, 1]


def test_tables_at_several_clusters_or_engines_are_not_joined(tmp_path) -> None:
    places = written(tmp_path)
    elsewhere = places["people"][0].replace("local[2]", "local[3]")
    with refused(InvalidInput, "data", token="local[3]"):
        open_tables({**places, "people": (elsewhere, None)})
    with refused(InvalidInput, "data", token="cluster"):
        open_tables({**places, "people": (str(tmp_path / "people.parquet"), None)})


def test_a_file_of_spark_is_called_as_it_is_declared(tmp_path) -> None:
    source = open_source(written(tmp_path)["visits"][0])
    assert source.call_table("Stays").tables() == ["Stays"] and source.call_table("Stays").dataset == "visits"
