"""Tables that Spark counts, against a real Spark: what decides nothing, what is refused, what never shows."""

from __future__ import annotations

import gzip
import os
import random
import re
import shlex
import shutil
import sys
import traceback
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.engines.reference import count_rows, read_value
from discreet.engines.sources import open_source
from discreet.engines.spark import files
from discreet.engines.spark import session as sessions
from discreet.engines.spark.dialect import SPARK, SparkDialect
from discreet.engines.spark.files import SparkFiles
from discreet.engines.spark.plans import examine
from discreet.errors import DiscreetError, InvalidInput, SourceFailed, Unsupported
from support import awkward, independence
from support import engines as engine_registry
from support.awkward import rows_of_every_kind
from support.command_line import run_program
from support.countings import KEY, counting
from support.paths import DOCS
from support.refusals import refused
from support.spark_session import IN_ONE_PROCESS, MASTER, address, session
from support.tiers import batches

pytestmark = IN_ONE_PROCESS
NAN = float("nan")


@pytest.fixture(scope="module")
def spark() -> Any:
    return session()


def one(data: Any, condition: str, table: str = "t") -> int:
    """How many rows of a table match."""
    source = open_source(data)
    return int(source.count([counting(f"SELECT COUNT(*) FROM {table} WHERE {condition}")])[0].item())


def written(folder: Path, columns: Any, name: str = "t.parquet") -> str:
    """The address of a table of Arrow columns."""
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / name)
    return address(folder / name)


def refusal(data: Any, sql: str, unit: str = "row", **more: Any) -> str:
    """What a plan, which reads no row, is refused with."""
    with pytest.raises(DiscreetError) as refusal:
        dc.plan_release(sql, data=data, unit=unit, epsilon=1, max_groups=1, **more)
    return str(refusal.value)


# ------------------------------------------------------------------------------------------------ statistics of others


def test_statistics_of_other_rows_decide_nothing(spark: Any, tmp_path) -> None:
    """NaN is above every number, and statistics leave it out. Spark itself then counts 0 or all, by one row more."""
    for more, by_statistics, wanted in (([], 0, 40), ([250.0], 41, 41)):
        data = written(tmp_path / str(len(more)), {"x": [50.0] * 500 + [NAN] * 40 + more})
        theirs = spark.read.parquet(str(tmp_path / str(len(more)) / "t.parquet"))
        assert theirs.where("x > 200").count() == by_statistics
        assert one(data, "x > 200") == wanted


def test_cached_data_is_not_counted_by_its_statistics(spark: Any, tmp_path) -> None:
    """A cache is shared by all sessions of a cluster. What is in it is not what is read."""
    data = written(tmp_path, {"x": [50.0] * 500 + [NAN] * 40})
    cached = spark.read.parquet(str(tmp_path / "t.parquet")).cache()
    try:
        assert cached.count() == 540 and cached.where("x > 200").count() == 0
        assert one(data, "x > 200") == 40
        as_cached = sessions.own_session(spark).read.parquet(str(tmp_path / "t.parquet"))
        with refused(Unsupported, token="InMemoryTableScanExec"):
            examine(as_cached)
    finally:
        cached.unpersist()


def test_a_given_session_is_left_alone_and_ours_depends_on_none_of_its_settings(spark: Any) -> None:
    changed = {
        "spark.sql.parquet.filterPushdown": "true", "spark.sql.session.timeZone": "Asia/Tokyo",
        "spark.sql.ansi.enabled": "false", "spark.sql.files.ignoreCorruptFiles": "true",
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
    }  # fmt: skip
    before = {name: spark.conf.get(name) for name in changed}
    try:
        for name, value in changed.items():
            spark.conf.set(name, value)
        ours = sessions.own_session(spark)
        assert {name: ours.conf.get(name) for name in sessions.PINNED} == dict(sessions.PINNED)
        assert ours.conf.get("spark.sql.legacy.timeParserPolicy") != "LEGACY"
        assert {name: spark.conf.get(name) for name in changed} == changed
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@pytest.mark.parametrize("setting", ["spark.sql.parquet.filterPushdown", "spark.sql.session.timeZone"])
def test_a_session_that_lost_a_setting_counts_nothing(spark: Any, setting: str, tmp_path) -> None:
    source = open_source(written(tmp_path, {"x": [1, 2]}))
    source.session.conf.set(setting, {"spark.sql.session.timeZone": "Asia/Tokyo"}.get(setting, "true"))
    with refused(Unsupported, token="settings"):
        source.rehearse([counting("SELECT COUNT(*) FROM t WHERE x > 1")])


def test_no_condition_is_handed_to_the_reader_of_files(spark: Any, tmp_path, monkeypatch) -> None:
    """Written plainly, the same condition would be, and the plan is refused before it runs."""
    data = written(tmp_path, {"x": [1, 2], "person": ["a", "b"]})
    asked = [
        counting("SELECT COUNT(*) FROM t WHERE x > 1 AND person LIKE 'a%'"),
        counting("SELECT x, COUNT(*) FROM t WHERE x IS NOT NULL GROUP BY x", "person", 1, x=[1, 2, 7]),
    ]
    open_source(data).rehearse(asked)
    monkeypatch.setattr(SparkDialect, "row_test", lambda self, test: f"({test})")
    with refused(Unsupported, token="conditions"):
        open_source(data).rehearse(asked)


def test_a_cluster_with_extensions_of_its_planner_is_refused(spark: Any, monkeypatch) -> None:
    monkeypatch.setattr(sessions, "_STATIC", {"spark.app.name": (None,)})
    with refused(Unsupported, token="cluster"):
        sessions.own_session(spark)


def test_without_java_the_error_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(sessions.pyspark_driver().SparkSession, "getActiveSession", lambda: None)
    with refused(Unsupported, token="openjdk-17-jre-headless"):
        dc.plan_release("SELECT COUNT(*) FROM t", data="spark:local[9]?parquet=t", unit="row", epsilon=1)


def test_a_process_has_one_spark(spark: Any) -> None:
    with refused(InvalidInput, "data", token="local[2]"):
        sessions.start_session("local[9]")


# ------------------------------------------------------------------------------------------------ the whole path


def test_what_the_page_about_engines_says_happens(tmp_path, monkeypatch) -> None:
    """From the ledger to the bundle and its verification, in processes of its own, where Spark is started."""
    rows = {"person": [f"p{i % 50}" for i in range(600)], "city": [["Rome", "Oslo", "Bonn"][i % 3] for i in range(600)]}
    pq.write_table(pa.table(rows), tmp_path / "visits.parquet")
    page = (DOCS / "howto_engines.md").read_text(encoding="utf-8")
    (commands,) = re.findall(r"^```sh\n([^`]*spark:local.*?)^```$", page, re.S | re.M)
    monkeypatch.chdir(tmp_path)
    lines = [shlex.split(line.removeprefix("$ discreet ")) for line in commands.splitlines()]
    done = [run_program(*line) for line in lines]  # two of them start a Java process
    assert len(done) == 3 and "spent epsilon 1" in done[1].stdout and [each.stderr for each in done] == [""] * 3
    assert (tmp_path / "on_spark" / "index.html").is_file()


def test_a_given_session_is_counted_by_the_names_of_its_catalogue(spark: Any, tmp_path) -> None:
    spark.sql("CREATE DATABASE IF NOT EXISTS study")
    spark.sql("DROP TABLE IF EXISTS study.visits")
    spark.sql("CREATE TABLE study.visits (person STRING, city STRING, year INT) USING parquet PARTITIONED BY (year)")
    spark.sql(
        "INSERT INTO study.visits SELECT concat('p', id % 9), IF(id % 2 = 0, 'a', 'b'), 2020 + id % 3 FROM range(90)"
    )
    spark.sql("CREATE OR REPLACE VIEW study.late AS SELECT person AS who, city FROM study.visits WHERE year >= 2021")
    book = dc.Ledger.create(tmp_path / "l", dataset="study", unit="person", epsilon=200)
    ask: dict[str, Any] = {"data": spark, "unit": "person", "max_groups": 2, "epsilon": 40, "dataset": "study"}
    ask |= {"ledger": book}
    question = "SELECT city, COUNT(*) FROM study.visits GROUP BY city"
    released = dc.release_counts(question, domain={"city": ["a", "b"]}, **ask)
    assert [row["count"] for row in released.rows()] == [9, 9]
    source = open_source(spark, "study")
    assert source.view("study.late") is not None and source.table("study.visits")["year"] == "integer"
    about_late: dict[str, Any] = {"data": spark, "unit": "who", "epsilon": 1, "max_groups": 1}
    with refused(InvalidInput, "dataset"):
        dc.plan_release("SELECT COUNT(*) FROM study.late", **about_late)
    plan = dc.plan_release("SELECT COUNT(*) FROM study.late", dataset="study", **about_late)
    assert "study.visits" in plan.tables[0].question.text and "year >= 2021" in plan.tables[0].question.text
    asked = counting("SELECT year, COUNT(*) FROM study.visits WHERE year > 2020 GROUP BY year", year=[2020, 2021, 2022])
    assert source.count([asked])[0].tolist() == [[0], [30], [30]]


def test_orc_is_counted_like_parquet(spark: Any, tmp_path) -> None:
    frame = spark.createDataFrame([(NAN,), (50.0,), (None,), (250.0,)], "x double")
    frame.write.orc(str(tmp_path / "t.orc"))
    assert one(address(tmp_path / "t.orc"), "x > 200") == 2


def test_folders_name_partitions_which_are_texts(spark: Any, tmp_path) -> None:
    """Whether all values of a partition look like numbers is nobody's business: the type does not depend on them."""
    for year, rows in (("2020", 3), ("__HIVE_DEFAULT_PARTITION__", 2), ("007", 1)):
        (tmp_path / "t" / f"year={year}").mkdir(parents=True)
        pq.write_table(pa.table({"x": [1] * rows}), tmp_path / "t" / f"year={year}" / "a.parquet")
    data = address(tmp_path / "t")
    assert open_source(data).table("t") == {"x": "integer", "year": "text"}
    assert [one(data, f"year {test}") for test in ("= '2020'", "IS NULL", "= '007'", "= 7")] == [3, 2, 1, 1]


# ------------------------------------------------------------------------------------------------ one state of files


def test_many_files_are_listed_as_few_are(spark: Any, tmp_path, monkeypatch) -> None:
    for i in range(3):
        written(tmp_path / "t", {"x": [i]}, f"{i} é.parquet")
    own, place = sessions.own_session(spark), SparkFiles(str(tmp_path / "t"), "parquet")
    few = place.listed(own)
    monkeypatch.setattr(files, "_MAX_DIRECT_LISTINGS", 0)
    assert place.listed(own) == few and len(few) == 3


def test_files_that_change_meanwhile_are_not_released(spark: Any, tmp_path) -> None:
    data = written(tmp_path / "t", {"x": [1, 2]}, "a.parquet")
    data = address(tmp_path / "t")
    source = open_source(data)
    asked = counting("SELECT COUNT(*) FROM t")
    with source.snapshot() as snapshot:
        assert snapshot.count(asked).item() == 2 and snapshot.unchanged()
        pq.write_table(pa.table({"x": [3]}), tmp_path / "t" / "b.parquet")
        assert snapshot.count(asked).item() == 2  # the files as listed
        assert not snapshot.unchanged()
    assert source.count([asked])[0].item() == 3


def test_files_whose_columns_change_after_the_plan_are_not_counted(spark: Any, tmp_path) -> None:
    """Fields of CSV are told by their place, which the first line gives."""
    source = open_source(csv(tmp_path, "a,b\n1,2\n"))
    asked = counting("SELECT COUNT(*) FROM t WHERE a = 1")
    source.rehearse([asked])
    csv(tmp_path, "b,a\n1,2\n3,4\n")
    with refused(SourceFailed, token="t was altered"):
        source.rehearse([asked])
    with refused(SourceFailed, token="withheld"):
        source.count([asked])


def test_a_file_that_is_named_twice_is_refused(spark: Any, tmp_path) -> None:
    written(tmp_path / "t", {"x": [1, 2]}, "a.parquet")
    (tmp_path / "t" / "b.parquet").symlink_to(tmp_path / "t" / "a.parquet")
    assert "are one file, which would be read twice" in refusal(address(tmp_path / "t"), "SELECT COUNT(*) FROM t")


@pytest.mark.parametrize("name", ["a[1].parquet", "a{b}.parquet", "a*.parquet", "a?.parquet"])
def test_a_name_that_could_be_a_pattern_is_refused(spark: Any, tmp_path, name: str) -> None:
    """Spark would read some other files in its place, or the same ones twice."""
    written(tmp_path / "t", {"x": [1, 2]}, name)
    written(tmp_path / "t", {"x": [1, 2]}, "b.parquet")
    assert "pattern" in refusal(address(tmp_path / "t"), "SELECT COUNT(*) FROM t")
    source = open_source(address(tmp_path / "t" / name))
    with refused(InvalidInput, "data", token="a pattern"):
        source.table(source.dataset)


def test_names_with_blanks_and_percent_signs_are_names(spark: Any, tmp_path) -> None:
    written(tmp_path / "t", {"x": [1, 2]}, "a b%20c.parquet")
    written(tmp_path / "t", {"x": [3]}, "ü=1.parquet")
    assert one(address(tmp_path / "t"), "x > 1") == 2


def test_sparks_words_about_rows_are_withheld_and_the_release_fails_closed(spark: Any, tmp_path, capfd) -> None:
    data = written(tmp_path, {"x": [f"secret{i}" for i in range(5000)]})
    source = open_source(data)
    asked = counting("SELECT COUNT(*) FROM t WHERE x = 'nobody'")
    source.rehearse([asked])
    file = bytearray((tmp_path / "t.parquet").read_bytes())
    file[40:4000] = b"\x00" * 3960  # the pages; the footer stays
    (tmp_path / "t.parquet").write_bytes(file)
    with refused(SourceFailed, token="withheld") as failure:
        source.count([asked])
    said = "".join(traceback.format_exception(failure.value))
    assert failure.value.__context__ is None and "secret" not in said + "".join(capfd.readouterr())


# ------------------------------------------------------------------------------------------------ CSV


def csv(folder: Path, text: str, name: str = "t.csv") -> str:
    (folder / name).write_text(text, encoding="utf-8", newline="")
    return address(folder / name)


def test_one_line_of_csv_swallows_no_other(spark: Any, tmp_path) -> None:
    """A quote that is not closed ends with its line; short and long lines are rows too."""
    data = csv(tmp_path, 'a,b\n1,"open\n2,x\n3\n4,y,z\n\n"",""\n"say ""ah""",back\\slash\n')
    assert one(data, "b = 'x'") == 1 and one(data, "a = 2 OR a = 3 OR a = 4") == 3
    assert one(data, "a IS NULL AND b IS NULL") == 1 and one(data, "a = 'say \"ah\"' AND b = 'back\\slash'") == 1


def test_a_very_long_line_of_csv_does_not_stop_the_count(spark: Any, tmp_path) -> None:
    data = csv(tmp_path, "a,b\n1,2\n" + "," * 30_000 + "\n" + "x" * 200_000 + ",9\n")
    assert one(data, "a = 1") == 1


def test_files_of_csv_have_one_first_line(spark: Any, tmp_path) -> None:
    (tmp_path / "t.csv").mkdir()
    with gzip.open(tmp_path / "t.csv" / "a.csv.gz", "wt", encoding="utf-8") as packed:
        packed.write("person,x\nann,1\n")
    csv(tmp_path / "t.csv", "person,x\nbob,2\n", "b.csv")
    assert one(address(tmp_path / "t.csv"), "x > 0") == 2
    csv(tmp_path / "t.csv", "x,person\n2,bob\n", "c.csv")
    assert "have different first lines" in refusal(address(tmp_path / "t.csv"), "SELECT COUNT(*) FROM t")


def test_lines_that_repeat_the_first_line_are_no_records_also_in_partitions(spark: Any, tmp_path) -> None:
    for value, lines in (("7", "a,b\n1,2\na,b\n\t \n3,4\n"), ("8", "a,b\n5,6\n")):
        (tmp_path / "t.csv" / f"value={value}").mkdir(parents=True)
        csv(tmp_path / "t.csv" / f"value={value}", lines, "part.csv")
    data = address(tmp_path / "t.csv")
    assert open_source(data).table("t") == {"a": "text", "b": "text", "value": "text"}
    assert [one(data, test) for test in ("a IS NOT NULL", "value = 7", "value = 8 AND b = 6")] == [3, 2, 1]


@pytest.mark.parametrize("header", ["a,a", "a,", ""])
def test_a_first_line_names_every_column_once(spark: Any, tmp_path, header: str) -> None:
    assert "irst line" in refusal(csv(tmp_path, f"{header}\n1,2\n"), "SELECT COUNT(*) FROM t")


# ------------------------------------------------------------------------------------------------ refused by schema


@pytest.fixture(scope="module")
def odd(spark: Any) -> Any:
    """A catalogue with what is not a plain table."""
    spark.sql("CREATE DATABASE IF NOT EXISTS odd")
    for statement in (
        "CREATE TABLE odd.j (x INT) USING json",
        "CREATE TABLE odd.typed (x INT) USING csv OPTIONS (header 'true')",
        "CREATE TABLE odd.bare (x STRING) USING csv",
        "CREATE TABLE odd.fast (x STRING) USING csv OPTIONS (header 'true', mode 'FAILFAST')",
        "CREATE TABLE odd.plain (ci STRING COLLATE UNICODE_CI, lc STRING COLLATE UTF8_LCASE, c CHAR(5), v VARCHAR(5), "
        "m MAP<STRING, INT>, l ARRAY<INT>, s STRUCT<x: INT>, b BINARY, i INTERVAL DAY TO SECOND, "
        "f DOUBLE, t TIMESTAMP, n TIMESTAMP_NTZ, k DECIMAL(9, 2), p STRING) USING parquet",
        "CREATE OR REPLACE VIEW odd.joined AS SELECT a.p FROM odd.plain AS a JOIN odd.plain AS b ON a.p = b.p",
        "CREATE OR REPLACE VIEW odd.limited AS SELECT p FROM odd.plain LIMIT 3",
        "CREATE OR REPLACE TEMPORARY VIEW passing AS SELECT 1 AS x",
    ):
        spark.sql(statement.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))
    return spark


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("odd.j", "is stored by json"), ("odd.typed", "Declare its columns as STRING"),
        ("odd.bare", "has no header line"), ("odd.fast", "is read with the option mode"),
        ("odd.joined", "joins several"), ("odd.limited", "LIMIT"), ("passing", "is a temporary view"),
        ("global_temp.x", "is a temporary view"), ("odd.nothing", "there is no table"),
    ],
)  # fmt: skip
def test_what_is_no_plain_table_is_refused_by_name(odd: Any, table: str, words: str) -> None:
    assert words in refusal(odd, f"SELECT COUNT(*) FROM {table}", dataset="odd")


@pytest.mark.parametrize("column", ["ci", "lc", "c", "m", "l", "s", "b", "i"])
def test_columns_with_an_equality_or_text_of_their_own_are_refused_by_type(odd: Any, column: str) -> None:
    source = open_source(odd, "odd")
    with refused(InvalidInput, token=f"'{column}' of odd.plain"):
        source.check_column("odd.plain", column)


def test_a_unit_has_a_text_that_tells_its_values_apart(odd: Any) -> None:
    source = open_source(odd, "odd")
    for column in ("v", "n", "k", "p"):
        source.check_unit("odd.plain", column)
    for column in ("f", "t"):
        with refused(InvalidInput, token="cannot name people"):
            source.check_unit("odd.plain", column)


def test_the_text_of_a_float_is_refused_before_anything_is_read(spark: Any, tmp_path) -> None:
    source = open_source(written(tmp_path, {"f": [1e15]}))
    with refused(InvalidInput, token="floating-point"):
        source.rehearse([counting("SELECT COUNT(*) FROM t WHERE TRY_CAST(f AS VARCHAR) = '1'")])


# ------------------------------------------------------------------------------------------------ awkward values

TEXTS = [
    "", " ", "a", "A", "a ", " 7 ", "7", "+7", "-7", "007", "7.0", ".5", "5.", "1e3", "1E-3", "1e400", "-1e400",
    "1e-400", "1e99999", "-1e99999", "1e-99999", "0e99999", "1e0005", "4.9e-324", "2e-324", "1.7976931348623158e308",
    "1.7976931348623159e308", "nan", "NaN", "inf", "-Infinity", "+inf", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "2147483647", "2147483648", "9007199254740993", "true", "T",
    "0", "1", "false", "maybe", "2020-02-29", "2021-02-29", "1900-02-29", "2000-02-29", "2020-13-01", "2020-04-31",
    "0000-01-01", "1f", "1d", "0x1p3", "1_000", "\t7", "7\n", "1e999999999", "1e99999999999999",
    "2020-01-31 23:59:59", "2020-01-31 24:30:00", "9999-12-31", "0001-01-01", "é", "É", "ß", "日本", "o'hara",
    'say "ah"', "back\\slash", "per%cent", "under_score", "tab\t", "line\nend", "NULL", "x" * 6000, "9" * 400,
    "0." + "0" * 400 + "1", "🙂", "\x00", "now", "epoch", "2020", "12:30:00", "T12:30",
]  # fmt: skip


def test_texts_are_read_as_the_reference_reads_them_and_no_text_fails(spark: Any) -> None:
    """Where the reference has no answer, the reading still must not fail."""
    own = sessions.own_session(spark)
    own.createDataFrame([(text,) for text in TEXTS], "x STRING").createOrReplaceTempView("texts")
    types = ["DOUBLE", "BIGINT", "INTEGER", "BOOLEAN", "DATE", "TIMESTAMP", "VARCHAR"]
    rows = own.sql(f"SELECT {', '.join(SPARK.reading('x', type_, 'text') for type_ in types)} FROM texts").collect()
    for text, row in zip(TEXTS, rows, strict=True):
        for type_, found in zip(types, row, strict=True):
            try:
                wanted = read_value(text, type_)
            except Unsupported:
                continue
            assert repr(found) == repr(wanted), (text[:40], type_)
    by_text = dict(zip(TEXTS, rows, strict=True))
    assert all(by_text[text][0] is None for text in ("1f", "1d", "0x1p3", "1_000", "\t7", "7\n"))


@pytest.mark.parametrize("literal", ["'", "\\", "\\'", "\\u0041", "%", "é🙂", "\x00\x1f\x7f", '`"$', "line\nend"])
def test_a_text_in_a_question_is_that_text(spark: Any, literal: str) -> None:
    (row,) = sessions.own_session(spark).sql(f"SELECT {SPARK.text(literal)}").collect()
    assert row[0] == literal


def test_numbers_dates_and_moments_at_the_ends_of_their_types_fail_nowhere(spark: Any, tmp_path) -> None:
    days = pa.array([-(2**31), 2**31 - 1, -719529, 0, None], pa.int32()).cast(pa.date32())
    moments = pa.array([-(2**63), 2**63 - 1, -62198755200000000, 0, None], pa.int64()).cast(pa.timestamp("us"))
    columns = {
        "n": pa.array([Decimal(10**38 - 1), Decimal(1 - 10**38), Decimal(2**63), 0, None], pa.decimal128(38, 0)),
        "k": pa.array([Decimal("9.5"), Decimal("-9.5"), Decimal(0), Decimal(1), None], pa.decimal128(38, 30)),
        "f": pa.array([float("inf"), -float("inf"), 5e-324, NAN, -0.0]), "d": days, "m": moments,
        "z": moments.cast(pa.timestamp("us", "UTC")), "i": pa.array([2**63 - 1, -(2**63), 0, 1, 2]),
        "b": pa.array([True, False, None, True, False]),
    }  # fmt: skip
    source = open_source(written(tmp_path, columns))
    asked = [
        counting(f"SELECT COUNT(*) FROM t WHERE TRY_CAST({column} AS {type_}) = {literal}")
        for column in columns
        for type_, literal in (
            ("DOUBLE", "1"), ("BIGINT", "1"), ("INTEGER", "1"), ("BOOLEAN", "TRUE"), ("DATE", "DATE '2020-01-01'"),
            ("TIMESTAMP", "TIMESTAMP '2020-01-01 00:00:00'"), ("VARCHAR", "'a'"),
        )
        if (column, type_) != ("f", "VARCHAR")
    ]  # fmt: skip
    kinds = {name: source.relation("t").columns[name].kind for name in columns}
    tests = [SPARK.condition(each.question.where, kinds) for each in asked if each.question.where is not None]
    own = source.session
    own.read.parquet(str(tmp_path / "t.parquet")).createOrReplaceTempView("t")
    (row,) = own.sql(f"SELECT {', '.join(f'count_if({test})' for test in tests)} FROM t").collect()
    assert len(row) == len(asked) and all(count >= 0 for count in row)
    conditions = ["f > 1e308", "f = 0", "f < 0", "f IN (0, 7)", "TRY_CAST(d AS VARCHAR) = '0001-12-31 (BC)'", "i = 1"]
    counts = source.count([counting(f"SELECT COUNT(*) FROM t WHERE {condition}") for condition in conditions])
    assert [count.item() for count in counts] == [2, 1, 1, 1, 0, 1]


def test_groups_of_every_kind_are_those_of_the_reference(spark: Any, tmp_path) -> None:
    rows = rows_of_every_kind()
    schema = pa.schema({"p": pa.string(), "t": pa.string(), "n": pa.decimal128(10, 2), "b": pa.bool_(),
                        "d": pa.date32(), "q": pa.int64()})  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows, schema), tmp_path / "t.parquet")
    source = open_source(address(tmp_path / "t.parquet"))
    cases: list[tuple[str, int, str, dict[str, list[Any]]]] = [
        ("row", 1, "", {"t": ["a", "A", "", None, "it's", "missing"]}),
        ("p", 1, ", COUNT_IF(q > 0) AS h", {"t": [5, None]}),
        ("p", 2, "", {"n": [1, -2, 3, None]}),
        ("p", 2, ", COUNT_IF(q > 0) AS h", {"b": ["true", "false", None]}),
        ("p", 9, ", COUNT_IF(q > 0) AS h", {"b": [0, 1]}),
        ("p", 2, ", COUNT_IF(q > 0) AS h, COUNT_IF(b) AS i, COUNT_IF(t = 'a') AS j", {"d": ["2020-01-01", None]}),
        ("p", 1, ", COUNT_IF(q > 0) AS h, COUNT_IF(b) AS i", {"q": [1, None, 2**40, -5]}),
        ("p", 99, ", COUNT_IF(b) AS i", {"q": list(range(-5, 3)), "b": ["true", None], "t": ["a", "é", "%", None]}),
        ("p", 3, "", {"q": list(range(-5, 3)), "b": ["true", None], "t": ["a", "é", "%", None]}),
        ("p", 1, "", {"q": list(range(-5, 3)), "b": ["true", None], "t": ["a", "é", "%", None]}),
    ]  # fmt: skip
    for unit, k, more, domain in cases:
        by = ", ".join(domain)
        asked = counting(f"SELECT {by}, COUNT(*){more} FROM t GROUP BY {by}", unit, k, **domain)
        zeros = replace(asked, groups=replace(asked.groups, zeros=frozenset({0})))
        for each, counts in zip((asked, zeros), source.count([asked, zeros]), strict=True):
            np.testing.assert_array_equal(counts, count_rows(rows, each))
    listed = counting("SELECT q, t, COUNT(*) FROM t GROUP BY q, t", "p", 1, q=[1, None, 0], t=["a", None])
    listed = replace(listed, groups=replace(listed.groups, cells=np.array([[0, 0], [1, 1], [2, 0]])))
    for each in (listed, replace(listed, unit="row")):
        np.testing.assert_array_equal(source.count([each])[0], count_rows(rows, each))


def test_letters_are_compared_as_other_engines_do(spark: Any, tmp_path) -> None:
    letters = [*"éÉeZzaß日%_İΣς\\~🙂ǅ", "", "élan", "ÉLAN"]
    conditions = [
        "LOWER(x) = 'é'", "UPPER(x) = 'É'", "x ILIKE 'é%'", "x LIKE '_'", "x > 'z'", "x >= 'A'", "LOWER(x) = 'i'",
        "LOWER(x) = 'σ'", "UPPER(x) = 'Σ'", "LOWER(x) = 'ǆ'",
    ]  # fmt: skip
    source = open_source(written(tmp_path, {"x": letters}))
    counts = source.count([counting(f"SELECT COUNT(*) FROM t WHERE {condition}") for condition in conditions])
    with duckdb.connect() as other:
        other.register("t", pa.table({"x": letters}))
        for condition, count in zip(conditions, counts, strict=True):
            assert other.execute(f"SELECT count(*) FROM t WHERE {condition}").fetchone() == (count.item(),), condition


def test_moments_with_a_zone_are_read_in_utc(spark: Any, tmp_path) -> None:
    moments = pa.array([datetime(2020, 1, 31, 23, 30, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    data = written(tmp_path, {"m": moments})
    assert one(data, "m = TIMESTAMP '2020-01-31 23:30:00' AND m = DATE '2020-01-31'") == 1


def test_one_person_or_one_group_with_most_rows_changes_nothing(spark: Any, tmp_path) -> None:
    """Skew: one person has 200,000 rows, in all groups; one group has nearly all the rest."""
    person = np.concatenate([np.zeros(200_000, np.int64), np.arange(1, 50_001)])
    site = np.concatenate([np.arange(200_000) % 500, np.zeros(49_000, np.int64), np.arange(1000) % 500])
    data = written(tmp_path, {"person": person, "site": site})
    source = open_source(data)
    asked = [counting("SELECT site, COUNT(*) FROM t GROUP BY site", "person", k, site=range(500)) for k in (1, 3)]
    for k, counts in zip((1, 3), source.count(asked), strict=True):
        assert counts.sum() == 50_000 + k and counts[0] >= 49_002


# ------------------------------------------------------------------------------------------------ independence


def violations(seed: int, engine: engine_registry.Engine, questions: int) -> list[str]:
    """Where a table made from a seed breaks the promise that a row counts for itself."""
    chance = random.Random(seed)
    table = engine.random_table(chance)
    countings = engine.answered(table, awkward.random_countings(chance, questions, KEY))
    found = independence.violations(chance, table, countings, engine.counts, engine.counts(table, countings))
    return [f"seed {seed}, {words}" for words in found]


def test_the_suite_notices_an_engine_that_looks_at_other_rows(monkeypatch) -> None:
    """The negative control: a condition that holds only where the number of rows is even."""
    engine, original = engine_registry.ON_SPARK[0], SparkDialect.row_test
    schema = pa.schema({"person": pa.string(), "x": pa.float64()})
    table = awkward.Table.of([(b"ann", 5.0), (b"bob", 7.0)], schema, engine.writers[0])
    asked = [counting("SELECT COUNT(*) FROM t WHERE x > 1")]

    def noticed() -> list[str]:
        return independence.violations(random.Random(0), table, asked, engine.counts, engine.counts(table, asked))

    def looks_around(self: SparkDialect, test: str) -> str:
        return f"{original(self, test)} AND (SELECT count(*) FROM counted_rows0) % 2 = 0"

    assert noticed() == []
    monkeypatch.setattr(SparkDialect, "row_test", looks_around)
    assert noticed() != []


@pytest.mark.parametrize("engine", engine_registry.ON_SPARK, ids=str)
@pytest.mark.parametrize("batch", batches(full=1, long=24))
def test_a_row_counts_for_itself_alone_on_spark(engine: engine_registry.Engine, batch: int) -> None:
    """Ten cases a batch; five hundred in all."""
    seeds = range(1000 + batch, 1001 + batch)
    assert [words for seed in seeds for words in violations(seed, engine, 10)] == []


def test_where_spark_was_started_the_workers_have_this_python(spark: Any) -> None:
    assert spark.sparkContext.master == MASTER and os.environ["PYSPARK_PYTHON"] == sys.executable
