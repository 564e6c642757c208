"""Tables in PostgreSQL, against a real server: what is refused by schema, what a role needs, what never shows."""

from __future__ import annotations

import logging
import os
import random
import re
import shlex
import sys
import traceback
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pytest

import awkward
import discreet as dc
import engine_registry
import independence
from command_line import run
from discreet.addresses import read_address
from discreet.engines.base import Counting
from discreet.engines.postgres import connection as sessions
from discreet.engines.postgres.dialect import PostgresDialect
from discreet.engines.postgres.views import view_sql
from discreet.engines.reference import count_rows, read_value
from discreet.engines.sources import open_source
from discreet.errors import DiscreetError, InvalidInput, MissingExtra, SourceFailed, Unsupported
from discreet.questions.groups import TOTAL, groups_from
from discreet.questions.question import read_question
from postgres_server import Server, debian_programs, server, start

KEY = bytes(range(16))
VISITS = (
    "CREATE TABLE visits (person text, city text, age integer, seen date)",
    "INSERT INTO visits SELECT 'p' || i % 50, (ARRAY['Rome', 'Oslo', 'Bonn'])[1 + i % 3], i % 90, "
    "DATE '2020-01-01' + i FROM generate_series(1, 600) AS i",
)
CITIES = ["Rome", "Oslo", "Bonn"]


@pytest.fixture(scope="module")
def pg() -> Server:
    return server()


@pytest.fixture(scope="module")
def study(pg: Server) -> str:
    """The address of a database with one table, as its owner."""
    return pg.address(pg.database(*VISITS))


def counting(sql: str, unit: str = "row", k: int = 1, **domain: Any) -> Counting:
    question = read_question(sql, unit=unit)
    return Counting(question, groups_from(domain, question.by) if domain else TOTAL, unit, k, KEY)


def one(data: str, condition: str, table: str = "public.t") -> int:
    """How many rows of a table match."""
    source = open_source(data)
    asked = counting(f"SELECT COUNT(*) FROM {table} WHERE {condition}")
    source.rehearse([asked])
    return int(source.count([asked])[0].item())


def refusal(data: str, sql: str, unit: str = "row") -> str:
    """What a plan, which reads no row, is refused with."""
    with pytest.raises(DiscreetError) as refused:
        dc.plan_release(sql, data=data, unit=unit, epsilon=1, max_groups=1)
    return str(refused.value)


# ------------------------------------------------------------------------------------------------ the whole path


def test_a_release_from_postgres_is_verified_and_recorded_like_any_other(study: str, tmp_path) -> None:
    dataset = open_source(study).dataset
    book = dc.Ledger.create(tmp_path / "l", dataset=dataset, unit="person", epsilon=100)
    ask: dict[str, Any] = {"data": study, "unit": "person", "max_groups": 3, "domain": {"city": CITIES}, "epsilon": 90}
    question = "SELECT city, COUNT(*) FROM public.visits GROUP BY city"
    released = dc.release_counts(question, ledger=book, out=tmp_path / "out", **ask)
    assert [row["count"] for row in released.rows()] == [50, 50, 50]
    assert released.plan.tables[0].question.text == question
    again = dc.release_counts("select City, count(*) from PUBLIC.visits group by City", ledger=book, **ask)
    assert not again.fresh and again.rows() == released.rows()
    assert dc.verify_bundle(tmp_path / "out", ledger=tmp_path / "l").holds


def test_the_command_line_goes_from_init_to_verify(study: str, tmp_path) -> None:
    book, out = tmp_path / "study.ledger", tmp_path / "by_city"
    run("ledger", "init", book, "--data", study, "--unit", "PERSON", "--epsilon", "3")
    told = run(
        "release", "SELECT city, COUNT(*) FROM public.visits GROUP BY city", "--data", study, "--unit", "person",
        "--max-groups", "1", "--domain", "city=Rome,Oslo,Bonn", "--epsilon", "1", "--ledger", book, "-o", out,
    )  # fmt: skip
    assert "spent epsilon 1" in told.stdout
    run("verify", out, "--ledger", book)


def test_what_the_page_about_engines_says_happens(pg: Server, tmp_path, monkeypatch) -> None:
    """Its SQL is executed by the owner, its commands by the curator, with this server in the place of the example's."""
    page = (Path(__file__).parents[2] / "docs" / "howto_engines.md").read_text(encoding="utf-8")
    (grants,) = re.findall(r"^```sql\n(.*?)^```$", page, re.S | re.M)
    commands, *_ = re.findall(r"^```sh\n(.*?)^```$", page, re.S | re.M)
    name = pg.database(*VISITS, "DROP ROLE IF EXISTS curator", grants)
    monkeypatch.chdir(tmp_path)
    lines = [line.removeprefix("$ discreet ") for line in commands.splitlines()]
    assert len(lines) == 4
    for line in lines:
        run(*shlex.split(line.replace("postgresql://curator@db.example.org/study", pg.address(name, "curator"))))
    assert (tmp_path / "by_city" / "index.html").is_file()


def test_rows_written_meanwhile_are_not_counted_and_the_snapshot_holds(pg: Server) -> None:
    name = pg.database(*VISITS)
    source = open_source(pg.address(name))
    asked = counting("SELECT COUNT(*) FROM public.visits")
    source.rehearse([asked])
    with source.snapshot() as snapshot, pg.connect(name) as other:
        before = snapshot.count(asked).item()
        other.execute("INSERT INTO visits SELECT * FROM visits")
        assert snapshot.count(asked).item() == before == 600 and snapshot.unchanged()
        other.execute("SET lock_timeout = '50ms'")
        for statement in ("TRUNCATE visits", "ALTER TABLE visits ADD COLUMN x integer"):
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.execute(statement.encode())
    assert source.count([asked])[0].item() == 1200


def test_nothing_is_reserved_before_the_rehearsal_succeeded(pg: Server, tmp_path) -> None:
    """No permission, no server, and a table that was altered: the ledger has no event beyond its first."""
    name = pg.database(*VISITS, name="locked")
    with pg.connect(name) as base:
        base.execute("DROP ROLE IF EXISTS stranger")
        base.execute("CREATE ROLE stranger LOGIN")
    book = dc.Ledger.create(tmp_path / "l", dataset=name, unit="row", epsilon=5)
    ask: dict[str, Any] = {"unit": "row", "epsilon": 1, "ledger": book}
    question = "SELECT COUNT(*) FROM public.visits"
    with pytest.raises(DiscreetError, match=r"GRANT SELECT ON public\.visits TO stranger"):
        dc.release_counts(question, data=pg.address(name, "stranger"), **ask)
    with pytest.raises(SourceFailed, match="cannot connect to postgresql://owner@/nowhere"):
        dc.release_counts(question, data=pg.address("nowhere"), **ask)
    source = open_source(pg.address(name))
    source.table("public.visits")
    with pg.connect(name) as base:
        base.execute("ALTER TABLE visits ALTER COLUMN age TYPE bigint")
    with pytest.raises(SourceFailed, match=r"public\.visits was altered after it was planned for"):
        dc.release_counts(question, data=source, **ask)
    assert book.left().epsilon == 5 and len(list(book.events())) == 1


def test_a_role_that_can_only_select_suffices(pg: Server, tmp_path) -> None:
    name = pg.database(*VISITS, name="shared")
    with pg.connect(name) as base:
        base.execute("DROP ROLE IF EXISTS reader")
        base.execute("CREATE ROLE reader LOGIN")
        base.execute("GRANT USAGE ON SCHEMA public TO reader")
        base.execute("GRANT SELECT ON public.visits TO reader")
    assert one(pg.address(name, "reader"), "age > 17", "public.visits") > 0
    with pg.connect(name, "reader") as base, pytest.raises(psycopg.errors.InsufficientPrivilege):
        base.execute("DELETE FROM public.visits")


# ------------------------------------------------------------------------------------------------ passwords and words


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:hush@host/study", "postgresql://ann@host/study?password=hush", "postgres://ann:hush@/study",
        "postgresql://host/study?user=ann&password=hush", "postgresql://ann:hush%40x@host:5432/study?sslmode=require",
        "postgresql://ann@host/study?sslpassword=hush", "postgresql://ann:a/hush@host/study",
    ],
)  # fmt: skip
def test_a_password_in_the_address_is_refused_and_never_shown(address: str, tmp_path) -> None:
    asked = ["release", "SELECT COUNT(*) FROM public.t", "--data", address, "--unit", "row", "--epsilon", "1"]
    for more in (["--plan"], ["--ledger", tmp_path / "l", "--json"]):
        told = run(*asked, *more, code=2)
        assert "hush" not in told.stdout + told.stderr and "postgres" in told.stderr
    with pytest.raises(InvalidInput) as refused:
        open_source(address)
    stack = traceback.TracebackException.from_exception(refused.value, capture_locals=True).stack
    inside = [str(frame.locals) for frame in stack if "engines" in frame.filename]
    assert inside and not any("hush" in shown for shown in [*inside[1:], str(refused.value)])
    assert refused.value.__context__ is None
    assert "PGPASSFILE" in str(refused.value) and ".pgpass" in str(refused.value)


def test_a_password_from_a_file_opens_and_leaves_no_trace(pg: Server, tmp_path, monkeypatch, caplog) -> None:
    name = pg.database(*VISITS, name="secret")
    with pg.connect(name) as base:
        base.execute("DROP ROLE IF EXISTS locked")
        base.execute("CREATE ROLE locked LOGIN PASSWORD 'Q4711hushQ'")
        base.execute("GRANT SELECT ON public.visits TO locked")
        hba = pg.folder / "data" / "pg_hba.conf"
        kept = hba.read_text(encoding="utf-8")
        hba.write_text(f"local all locked scram-sha-256\n{kept}", encoding="utf-8")
        base.execute("SELECT pg_reload_conf()")
    caplog.set_level(logging.DEBUG)
    data = pg.address(name, "locked")
    with pytest.raises(SourceFailed, match="password") as refused:
        open_source(data).tables()
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"*:*:{name}:locked:Q4711hushQ\n", encoding="utf-8")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    book = dc.Ledger.create(tmp_path / "l", dataset=name, unit="row", epsilon=5)
    question = "SELECT COUNT(*) FROM public.visits"
    released = dc.release_counts(question, data=data, unit="row", epsilon=1, ledger=book, out=tmp_path / "out")
    written = b"".join(file.read_bytes() for file in [*(tmp_path / "out").rglob("*"), tmp_path / "l"] if file.is_file())
    for shown in (str(refused.value), repr(open_source(data)), str(released.to_json()), caplog.text, str(written)):
        assert "Q4711hushQ" not in shown
    assert str(pg.folder).encode() not in written  # where the data was is nobody's business


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("postgresql://ann@host", "names no database"),
        ("postgresql://ann@host/study?options=-csearch_path%3Devil", "may not set options"),
        ("postgresql://ann@host/study?nonsense=1", "cannot be read"),
        ("postgresql://ann@host/study?dbname=other", "names two databases"),
    ],
)
def test_an_address_says_where_the_data_is_and_nothing_else(address: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        open_source(address)


def test_a_database_is_named_as_it_is_called_whatever_the_address_must_write(pg: Server, tmp_path) -> None:
    name = pg.database(*VISITS, name="my study")
    data = pg.address(name.replace(" ", "%20"))
    assert open_source(data).dataset == read_address(data).dataset == name
    assert one(data, "age >= 0", "public.visits") == 600


def test_what_the_catalogue_cannot_give_is_an_error_and_no_traceback(study: str, monkeypatch) -> None:
    monkeypatch.setitem(sessions._SETTINGS, "work_mem", "nonsense")
    with pytest.raises(
        SourceFailed, match=r"the catalogue of postgresql://owner@/study_\d+.* cannot be read: InvalidParam"
    ):
        open_source(study).tables()


def test_without_the_driver_the_error_is_the_install_command(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"pip install 'discreet\[postgres\]'"):
        open_source("postgresql://ann@host/study")


def test_the_servers_words_about_a_row_are_withheld(pg: Server, monkeypatch, caplog, capfd) -> None:
    """A reading without its guard fails on the server, with the person's text in the message."""
    name = pg.database("CREATE TABLE t (x text)", "INSERT INTO t VALUES ('4711 of ann')")
    monkeypatch.setattr(PostgresDialect, "safe_cast", lambda self, x, kind, type_: f"CAST({x} AS float8)")
    source = open_source(pg.address(name))
    asked = counting("SELECT COUNT(*) FROM public.t WHERE x > 5")
    source.rehearse([asked])
    with pytest.raises(SourceFailed, match="withheld") as failure:
        source.count([asked])
    assert "4711 of ann" in pg.log and failure.value.__context__ is None
    report = "".join(traceback.TracebackException.from_exception(failure.value, capture_locals=True).format())
    assert "4711" not in report + caplog.text + "".join(capfd.readouterr())


def test_the_key_of_the_bounding_hash_is_a_parameter(pg: Server, study: str) -> None:
    asked = counting("SELECT city, COUNT(*) FROM public.visits GROUP BY city", "person", 1, city=CITIES)
    source = open_source(study)
    source.rehearse([asked])
    log = len(pg.log)
    source.count([asked])
    statements = [line for line in pg.log[log:].splitlines() if "DETAIL" not in line]
    assert any("md5(" in line for line in statements)
    assert not any(KEY.hex() in line or "Rome" in line for line in statements)


def test_a_session_depends_on_no_setting_of_role_database_or_environment(pg: Server, monkeypatch) -> None:
    name = pg.database("CREATE TABLE t (d date, m timestamptz, x text)", "CREATE SCHEMA evil", name="odd")
    with pg.connect(name) as base:
        base.execute("INSERT INTO t VALUES ('2020-01-31', '2020-01-31 23:30:00+00', 'a')")
        base.execute("CREATE FUNCTION evil.md5(text) RETURNS text LANGUAGE sql AS $$ SELECT 'ffff'::text $$")
        for setting in (
            "DateStyle = 'German'", "TimeZone = 'Asia/Tokyo'", "search_path = evil, pg_catalog", "row_security = on",
            "standard_conforming_strings = off", "transform_null_equals = on",
            "default_transaction_isolation = 'read committed'", "enable_seqscan = off", "client_encoding = 'LATIN1'",
        ):  # fmt: skip
            base.execute(f'ALTER DATABASE "{name}" SET {setting}'.encode())
    monkeypatch.setenv("PGTZ", "Asia/Tokyo")
    monkeypatch.setenv("PGOPTIONS", "-c extra_float_digits=-10 -c search_path=evil")
    data = pg.address(name)
    assert one(data, "m >= TIMESTAMP '2020-01-31 23:30:00' AND m = DATE '2020-01-31'") == 1
    assert one(data, "TRY_CAST(d AS VARCHAR) = '2020-01-31' AND x <> 'it''s'") == 1
    with open_source(data)._session() as session:  # type: ignore[attr-defined]
        for name_, value in sessions._SETTINGS.items():
            shown = session.execute(f"SHOW {name_}".encode()).fetchone()
            assert shown is not None and shown[0] == value, name_
        for name_, value in (("transaction_isolation", "repeatable read"), ("transaction_read_only", "on")):
            assert session.execute(f"SHOW {name_}".encode()).fetchone() == (value,)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            session.execute(b"CREATE TABLE public.u (x integer)")


# ------------------------------------------------------------------------------------------------ refused by schema


@pytest.fixture(scope="module")
def odd(pg: Server) -> str:
    """Relations and columns that are refused for what they are."""
    name = pg.database(
        *VISITS,
        "CREATE MATERIALIZED VIEW mat AS SELECT * FROM visits",
        "CREATE FOREIGN DATA WRAPPER nowhere", "CREATE SERVER far FOREIGN DATA WRAPPER nowhere",
        "CREATE FOREIGN TABLE remote (x integer) SERVER far",
        "CREATE TABLE safe (x integer)", "ALTER TABLE safe ENABLE ROW LEVEL SECURITY",
        "CREATE TABLE parts (x integer) PARTITION BY LIST (x)",
        "CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1)", "ALTER TABLE part_1 ENABLE ROW LEVEL SECURITY",
        "CREATE TABLE years (x integer) PARTITION BY LIST (x)",
        "CREATE FOREIGN TABLE year_1 PARTITION OF years FOR VALUES IN (1) SERVER far",
        "CREATE TYPE mood AS ENUM ('good', 'bad')", "CREATE TYPE pair AS (a integer, b integer)",
        "CREATE DOMAIN postcode AS text",
        'CREATE COLLATION coarse FROM "C"',
        "UPDATE pg_collation SET collisdeterministic = false WHERE collname = 'coarse'",
        'CREATE TABLE t (j json, a integer[], p pair, by bytea, m money, iv interval, tz timestamptz, f real, '
        'bare numeric, fixed numeric(10, 2), coarse text COLLATE coarse, mood mood, code postcode, c char(4), id uuid, '
        "twice integer GENERATED ALWAYS AS (1 / cardinality(a)) VIRTUAL)",
        name="odd",
    )  # fmt: skip
    return pg.address(name)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("mat", "public.mat is a materialised view"), ("remote", "public.remote is a foreign table"),
        ("safe", "public.safe has row-level security"), ("parts", "part_1, a part of public.parts, has row-level"),
        ("years", "year_1, a part of public.years, is a foreign table"),
        ("nothing", "there is no table 'public.nothing'"),
    ],
)  # fmt: skip
def test_what_is_no_plain_table_is_refused_by_name(odd: str, table: str, words: str) -> None:
    assert words in refusal(odd, f"SELECT COUNT(*) FROM public.{table}")


def test_a_ledger_is_made_for_a_database_that_also_holds_what_is_refused(odd: str, tmp_path) -> None:
    made = run("ledger", "init", tmp_path / "l", "--data", odd, "--unit", "PERSON", "--epsilon", "1", "--json")
    assert '"unit": "person"' in made.stdout
    told = run("ledger", "init", tmp_path / "m", "--data", odd, "--unit", "nobody", "--epsilon", "1", code=2)
    assert "has no column 'nobody'" in told.stderr


def test_functions_and_catalogues_are_no_tables(odd: str) -> None:
    assert "not a table's name" in refusal(odd, "SELECT COUNT(*) FROM generate_series(1, 3)")
    assert "there is no table" in refusal(odd, "SELECT COUNT(*) FROM pg_catalog.pg_authid")
    assert "name the schema of 'visits' too" in refusal(odd, "SELECT COUNT(*) FROM visits")


@pytest.mark.parametrize("column", ["j", "a", "p", "by", "m", "iv", "coarse", "twice"])
def test_columns_with_an_equality_or_text_of_their_own_are_refused_by_type(odd: str, column: str) -> None:
    assert f"'{column}' of public.t" in refusal(odd, f"SELECT COUNT(*) FROM public.t WHERE {column} = 'x'")
    assert f"'{column}' of public.t" in refusal(odd, f"SELECT COUNT({column}) FROM public.t")
    assert f"'{column}' of public.t" in refusal(odd, "SELECT COUNT(*) FROM public.t", column)


@pytest.mark.parametrize("column", ["f", "bare", "tz"])
def test_a_unit_has_a_text_that_tells_its_values_apart(odd: str, column: str) -> None:
    assert "cannot name people" in refusal(odd, "SELECT COUNT(*) FROM public.t", column)
    for fine in ("mood", "code", "c", "id", "fixed"):
        assert dc.plan_release("SELECT COUNT(*) FROM public.t", data=odd, unit=fine, epsilon=1).protection.unit == fine


def test_the_text_of_a_float_is_refused_before_anything_is_read(odd: str) -> None:
    with pytest.raises(InvalidInput, match="floating-point numbers, whose text differs"):
        open_source(odd).rehearse([counting("SELECT COUNT(*) FROM public.t WHERE TRY_CAST(f AS VARCHAR) = '5'")])


def test_other_encodings_and_old_servers_are_refused(pg: Server, study: str, monkeypatch) -> None:
    with pg.connect() as base:
        base.execute("DROP DATABASE IF EXISTS latin")
        base.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    with pytest.raises(Unsupported, match="encoded in LATIN1"):
        open_source(pg.address("latin")).tables()
    monkeypatch.setattr(sessions, "OLDEST", 99)
    with pytest.raises(Unsupported, match="version 99 or newer is needed"):
        open_source(study).tables()


def test_a_server_without_unicode_case_refuses_lower_upper_and_ilike(study: str, monkeypatch) -> None:
    monkeypatch.setattr("discreet.engines.postgres.source.case_collation", lambda connection: None)
    for condition in ("LOWER(city) = 'oslo'", "UPPER(city) = 'OSLO'", "city ILIKE 'o%'"):
        with pytest.raises(Unsupported, match="upper and lower case of ASCII letters only"):
            open_source(study).rehearse([counting(f"SELECT COUNT(*) FROM public.visits WHERE {condition}")])
    assert one(study, "TRIM(city) LIKE 'O%'", "public.visits") == 200


# ------------------------------------------------------------------------------------------------ views


def test_views_are_counted_through_their_table_as_the_server_would(pg: Server) -> None:
    name = pg.database(
        *VISITS, "ALTER TABLE visits ADD COLUMN code varchar(5), ADD COLUMN flag char(3), ADD COLUMN w numeric",
        "UPDATE visits SET code = left(city, 1), flag = left(person, 2), w = age / 4.0",
        "CREATE VIEW grown AS SELECT person AS who, city, age FROM visits WHERE age >= 18 AND code IN ('R', 'O') "
        "AND flag <> 'p1' AND city NOT IN ('Bonn', 'Paris') AND w <> -1.5 AND w < 20 AND seen > '2020-03-01' "
        "AND seen BETWEEN '2020-01-01' AND '2021-06-30' AND (city LIKE 'R%' OR city IS NOT NULL) AND NOT age = 3",
        "CREATE VIEW twice AS SELECT who FROM grown WHERE age < 60",
    )  # fmt: skip
    data = pg.address(name)
    for view in ("grown", "twice"):
        plan = dc.plan_release(f"SELECT COUNT(*) FROM public.{view}", data=data, unit="who", epsilon=1)
        assert plan.tables[0].question.table == "public.visits" and plan.protection.unit == "person"
        base = replace(counting("SELECT COUNT(*) FROM public.t"), question=plan.tables[0].question)
        with pg.connect(name) as other:
            wanted = other.execute(f"SELECT count(*) FROM {view}".encode()).fetchone()
        assert wanted is not None and open_source(data).count([base])[0].item() == wanted[0] > 0


@pytest.mark.parametrize(
    ("view", "words"),
    [
        ("SELECT DISTINCT city FROM visits", "DISTINCT"), ("SELECT city FROM visits LIMIT 3", "LIMIT"),
        ("SELECT city, count(*) FROM visits GROUP BY city", "grouped"),
        ("SELECT upper(city) AS city FROM visits", "upper"), ("SELECT a.city FROM visits a, visits b", "joins several"),
        ("SELECT city FROM visits WHERE age / 0 = 1", "refused"),
        ("SELECT city FROM visits WHERE random() < 0.5", "refused"),
        ("SELECT city FROM visits WHERE city > 'M'", "by size"),
        ("SELECT city FROM visits WHERE lower(city) = 'a'", "upper and lower case"),
        ("SELECT city FROM visits WHERE person::integer = 1", "refused"),
        ("SELECT city FROM visits WHERE city::varchar(2) = 'Ro'", "refused"),
        ("SELECT city FROM visits WHERE age = (SELECT max(age) FROM visits)", "refused"),
        ("SELECT city, row_number() OVER () AS n FROM visits", "computes"),
        ("SELECT city FROM visits UNION ALL SELECT city FROM visits", "not a plain SELECT"),
    ],
)  # fmt: skip
def test_views_that_mix_or_compute_are_refused(pg: Server, study: str, view: str, words: str) -> None:
    with pg.connect(open_source(study).dataset) as base:
        base.execute("DROP VIEW IF EXISTS public.v")
        base.execute(f"CREATE VIEW public.v AS {view}".encode())
    assert words in refusal(study, "SELECT COUNT(*) FROM public.v")


def test_a_view_that_is_replaced_after_the_plan_is_not_counted(pg: Server, tmp_path) -> None:
    name = pg.database(*VISITS, "CREATE VIEW v AS SELECT city FROM visits WHERE age > 5")
    source = open_source(pg.address(name))
    plan = dc.plan_release("SELECT COUNT(*) FROM public.v", data=source, unit="row", epsilon=1)
    asked = replace(counting("SELECT COUNT(*) FROM public.t"), question=plan.tables[0].question)
    source.rehearse([asked])
    with pg.connect(name) as base:
        base.execute("CREATE OR REPLACE VIEW v AS SELECT city FROM visits WHERE age > 50")
    with pytest.raises(SourceFailed, match=r"public\.v was altered"):
        source.rehearse([asked])
    with pytest.raises(SourceFailed, match="withheld"):
        source.count([asked])


def test_a_views_text_is_read_as_it_is_printed() -> None:
    listed = "((b)::text <> ALL ((ARRAY['q'::character varying, 'r'::character varying])::text[]))"
    plain = view_sql("v", f"SELECT a FROM s.t WHERE (a = '-3'::integer) AND {listed}")
    assert plain == "SELECT a FROM s.t WHERE (a = -3) AND (NOT b IN ('q', 'r'))"
    with pytest.raises(InvalidInput, match="the view v cannot be read"):
        view_sql("v", "SELECT FROM WHERE (((")


# ------------------------------------------------------------------------------------------------ awkward values

TEXTS = [
    "", " ", "a", "A", "a ", " 7 ", "7", "+7", "-7", "007", "7.0", ".5", "5.", "1e3", "1E-3", "1e400", "-1e400",
    "1e-400", "1e99999", "-1e99999", "1e-99999", "0e99999", "1e0005", "4.9e-324", "2e-324", "1.7976931348623158e308",
    "1.7976931348623159e308", "nan", "NaN", "inf", "-Infinity", "+inf", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "2147483647", "2147483648", "9007199254740993", "true", "T",
    "0", "1", "false", "maybe", "2020-02-29", "2021-02-29", "1900-02-29", "2000-02-29", "2020-13-01", "2020-04-31",
    "0000-01-01",
    "2020-01-31 23:59:59", "2020-01-31 24:30:00", "9999-12-31", "0001-01-01", "é", "É", "ß", "日本", "o'hara",
    'say "ah"', "back\\slash", "per%cent", "under_score", "tab\t", "line\nend", "NULL", "x" * 6000, "9" * 400,
    "0." + "0" * 400 + "1",
]  # fmt: skip


@pytest.mark.parametrize("version", [18, 16])
@pytest.mark.parametrize("type_", ["DOUBLE", "BIGINT", "INTEGER", "BOOLEAN", "DATE", "TIMESTAMP", "VARCHAR"])
def test_texts_are_read_as_the_reference_reads_them_and_no_text_fails(version: int, type_: str) -> None:
    """Where the reference has no answer, the reading still must not fail."""
    dialect = PostgresDialect("C.utf8")
    with server(version).connect() as base:
        base.execute("SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'")
        for text in TEXTS:
            sql = f"SELECT {dialect.reading('x', type_, 'text')} FROM (SELECT CAST(%s AS text) AS x) AS t"
            (found,) = base.execute(sql.replace("%", "%%").replace("%%s", "%s").encode(), [text]).fetchone()  # type: ignore[misc]
            try:
                wanted = read_value(text, type_)
            except Unsupported:
                continue
            if isinstance(wanted, float):
                assert repr(found) == repr(wanted), text[:40]
            else:
                assert found == wanted and type(found) is type(wanted), text[:40]


def test_numbers_dates_and_moments_at_the_ends_of_their_types_fail_nowhere(pg: Server) -> None:
    name = pg.database(
        "CREATE TABLE t (n numeric, f float8, d date, m timestamp, z timestamptz, i bigint, c char(4), b boolean)",
        "INSERT INTO t VALUES (1e400, 'Infinity', 'infinity', 'infinity', 'infinity', 9223372036854775807, 'a', true), "
        "(-1e400, '-Infinity', '-infinity', '-infinity', '-infinity', -9223372036854775808, 'a   ', false), "
        "(1e-400, 5e-324, '5874897-12-31', '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999+00', 0, '', "
        "NULL), "
        "('NaN', 'NaN', '4713-01-01 BC', '4713-01-01 BC', '4713-01-01 BC', 1, ' a', true), "
        "('Infinity', -0.0, '0044-03-15 BC', '0044-03-15 12:30:00 BC', now(), 2, NULL, NULL)",
    )  # fmt: skip
    data = pg.address(name)
    for column in ("n", "f", "d", "m", "z", "i", "c", "b"):
        for type_, literal in (
            ("DOUBLE", "1"), ("BIGINT", "1"), ("INTEGER", "1"), ("BOOLEAN", "TRUE"), ("DATE", "DATE '2020-01-01'"),
            ("TIMESTAMP", "TIMESTAMP '2020-01-01 00:00:00'"), ("VARCHAR", "'a'"),
        ):  # fmt: skip
            if (column, type_) != ("f", "VARCHAR"):
                assert one(data, f"TRY_CAST({column} AS {type_}) = {literal}") >= 0
    assert [one(data, f"n {test}") for test in ("> 1e308", "= 0", "< 0")] == [3, 1, 1]  # NaN is above every number
    assert [one(data, f"f {test}") for test in ("> 1e308", "= 0", "< 0")] == [2, 1, 1]
    assert [one(data, f"c {test}") for test in ("= 'a'", "= ''", "= ' a'", "LIKE 'a'", "IS NULL")] == [2, 1, 1, 2, 1]
    assert one(data, "TRY_CAST(d AS VARCHAR) = '0044-03-15 (BC)'") == 1
    assert one(data, "TRY_CAST(m AS VARCHAR) = '0044-03-15 (BC) 12:30:00'") == 1


def test_groups_of_every_kind_are_those_of_the_reference(pg: Server) -> None:
    rows: list[dict[str, Any]] = [
        {"p": f"p{i % 7}", "t": t, "n": n, "b": b, "d": d, "q": q}
        for i, (t, n, b, d, q) in enumerate(
            zip(
                ["a", "A", "", None, "a ", "it's", "5", " 5 ", "é", "%"] * 6,
                [Decimal("1.00"), Decimal("1.50"), None, Decimal("-2"), Decimal("3")] * 12,
                [True, False, None] * 20,
                [date(2020, 1, 1), None, date(1, 1, 1), date(9999, 12, 31)] * 15,
                [1, 2, None, -5, 2**40, 0] * 10,
                strict=True,
            )
        )
    ]
    name = pg.database("CREATE TABLE t (p text, t text, n numeric(10, 2), b boolean, d date, q bigint)")
    with pg.connect(name) as base, base.cursor() as cursor:
        cursor.executemany("INSERT INTO t VALUES (%(p)s, %(t)s, %(n)s, %(b)s, %(d)s, %(q)s)", rows)
    domains: list[dict[str, list[Any]]] = [
        {"t": ["a", "A", "", None, "it's", "missing"]}, {"t": [5, None]}, {"n": [1, -2, 3, None]},
        {"b": ["true", "false", None]}, {"b": [0, 1]}, {"d": ["2020-01-01", "0001-01-01", None]},
        {"q": [1, None, 2**40, -5]}, {"q": list(range(-5, 3)), "b": ["true", None], "t": ["a", "é", "%", None]},
    ]  # fmt: skip
    source = open_source(pg.address(name))
    for domain in domains:
        by = ", ".join(domain)
        for unit, k in (("row", 1), ("p", 1), ("p", 2), ("p", 9)):
            for more in (
                "",
                ", COUNT_IF(q > 0) AS h",
                ", COUNT_IF(q > 0) AS h, COUNT_IF(b) AS i, COUNT_IF(t = 'a') AS j",
            ):
                asked = counting(f"SELECT {by}, COUNT(*){more} FROM public.t GROUP BY {by}", unit, k, **domain)
                zeros = replace(asked, groups=replace(asked.groups, zeros=frozenset({0})))
                for each in (asked, zeros):
                    np.testing.assert_array_equal(source.count([each])[0], count_rows(rows, each))
    listed = counting("SELECT q, t, COUNT(*) FROM public.t GROUP BY q, t", "p", 1, q=[1, None, 0], t=["a", None])
    cells = np.array([[0, 0], [1, 1], [2, 0]])
    listed = replace(listed, groups=replace(listed.groups, cells=cells))
    for each in (listed, replace(listed, unit="row")):
        np.testing.assert_array_equal(source.count([each])[0], count_rows(rows, each))


@pytest.mark.parametrize(
    "condition", ["LOWER(x) = 'é'", "UPPER(x) = 'É'", "x ILIKE 'é%'", "x LIKE '_'", "x > 'z'", "x >= 'A'"]
)
@pytest.mark.parametrize("version", [18, 16])
def test_letters_are_compared_as_other_engines_do(version: int, condition: str) -> None:
    letters = ["é", "É", "e", "Z", "z", "a", "ß", "日", "%", "_", "", "İ", "Σ", "élan", "ÉLAN", "\\", "~"]
    where = server(version)
    data = where.address(where.database("CREATE TABLE t (x text)"))
    with where.connect(open_source(data).dataset) as base, base.cursor() as cursor:
        cursor.executemany("INSERT INTO t VALUES (%s)", [(letter,) for letter in letters])
    with duckdb.connect() as other:
        other.execute("CREATE TABLE t (x text)")
        other.executemany("INSERT INTO t VALUES (?)", [(letter,) for letter in letters])
        wanted = other.execute(f"SELECT count(*) FROM t WHERE {condition}").fetchone()
    assert wanted is not None and one(data, condition) == wanted[0]


def test_moments_with_a_zone_are_read_in_utc(pg: Server) -> None:
    name = pg.database("CREATE TABLE t (m timestamptz)")
    moment = datetime(2020, 1, 31, 23, 30, tzinfo=UTC)
    with pg.connect(name) as base:
        base.execute("INSERT INTO t VALUES (%s)", [moment])
    assert one(pg.address(name), "m = TIMESTAMP '2020-01-31 23:30:00' AND m = DATE '2020-01-31'") == 1


# ------------------------------------------------------------------------------------------------ independence


def violations(seed: int, engine: engine_registry.Engine) -> list[str]:
    """Where a table made from a seed breaks the promise that a row counts for itself; twenty questions are asked."""
    chance = random.Random(seed)
    table = engine.random_table(chance)
    countings = engine.answered(table, awkward.random_countings(chance, 20, KEY))
    found = independence.violations(chance, table, countings, engine.counts, engine.counts(table, countings))
    return [f"seed {seed}, {words}" for words in found]


POSTGRES = next(engine for engine in engine_registry.ENGINES if engine.name == "PostgreSQL 18")


def test_the_suite_notices_a_session_that_skips_rows_by_what_others_hold(monkeypatch) -> None:
    """The negative control: a condition that looks at other rows."""
    original = PostgresDialect.condition

    def looks_around(self: PostgresDialect, condition: Any, kinds: Any) -> str:
        return f"(({original(self, condition, kinds)}) AND (SELECT count(*) FROM public.t) % 2 = 0)"

    monkeypatch.setattr(PostgresDialect, "condition", looks_around)
    assert any(violations(seed, POSTGRES) for seed in range(4))


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(10))
def test_a_row_counts_for_itself_alone_in_two_thousand_cases_on_postgres(batch: int) -> None:
    seeds = range(1000 + batch * 10, 1010 + batch * 10)
    assert [words for seed in seeds for words in violations(seed, POSTGRES)] == []


# ------------------------------------------------------------------------------------------------ Debian's server


@pytest.fixture(scope="module")
def debian() -> Any:
    installed = debian_programs()
    if installed is None:
        if os.environ.get("CI") == "true" and "DISCREET_NO_SYSTEM_PACKAGES" not in os.environ:
            pytest.fail("CI needs Debian's PostgreSQL, which knows ICU and citext: apt-get install postgresql")
        pytest.skip("Debian's PostgreSQL is not installed: apt-get install postgresql")
    where = start(installed)
    yield where
    where.stop()


def test_citext_and_collations_that_ignore_case_are_refused_on_a_server_that_has_them(debian: Server) -> None:
    name = debian.database(
        "CREATE EXTENSION citext",
        "CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        'CREATE TABLE t (mail citext, name text COLLATE nocase, plain text COLLATE "de-x-icu", d text)',
        "INSERT INTO t VALUES ('A', 'A', 'A', 'A'), ('a', 'a', 'a', 'a')",
    )
    data = debian.address(name)
    assert "'mail' of public.t is stored as public.citext" in refusal(
        data, "SELECT COUNT(*) FROM public.t WHERE mail = 'a'"
    )
    assert "different texts are equal" in refusal(data, "SELECT COUNT(*) FROM public.t WHERE name = 'a'")
    for column in ("mail", "name"):
        assert f"'{column}' of public.t" in refusal(data, f"SELECT {column}, COUNT(*) FROM public.t GROUP BY {column}")
    assert [one(data, f"plain {test}") for test in ("= 'a'", "> 'Z'", "ILIKE 'A'")] == [1, 1, 2]
