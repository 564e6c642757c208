"""What PostgreSQL holds and is refused, by its schema alone: relations, types, views, collations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import discreet as dc
from discreet.engines.postgres import connection as sessions
from discreet.engines.postgres.views import view_sql
from discreet.engines.sources import open_source
from discreet.errors import InvalidInput, SourceFailed, Unsupported
from support.command_line import run
from support.countings import counting
from support.needs import need
from support.postgres_questions import VISITS, one, refusal
from support.postgres_server import Server, start
from support.refusals import refused

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
    assert "public.visits" in refusal(odd, "SELECT COUNT(*) FROM visits")


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
    with refused(InvalidInput, token='"f" ... floating-point'):
        open_source(odd).rehearse([counting("SELECT COUNT(*) FROM public.t WHERE TRY_CAST(f AS VARCHAR) = '5'")])


def test_other_encodings_and_old_servers_are_refused(pg: Server, study: str, monkeypatch) -> None:
    with pg.connect() as base:
        base.execute("DROP DATABASE IF EXISTS latin")
        base.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    with refused(Unsupported, token="encoded in LATIN1"):
        open_source(pg.address("latin")).tables()
    monkeypatch.setattr(sessions, "OLDEST", 99)
    with refused(Unsupported, token="version 99"):
        open_source(study).tables()


def test_a_server_without_unicode_case_refuses_lower_upper_and_ilike(study: str, monkeypatch) -> None:
    monkeypatch.setattr("discreet.engines.postgres.source.case_collation", lambda connection: None)
    for condition in ("LOWER(city) = 'oslo'", "UPPER(city) = 'OSLO'", "city ILIKE 'o%'"):
        with refused(Unsupported, token="ASCII"):
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
    with refused(SourceFailed, token="public.v was altered"):
        source.rehearse([asked])
    with refused(SourceFailed, token="withheld"):
        source.count([asked])


def test_a_views_text_is_read_as_it_is_printed() -> None:
    listed = "((b)::text <> ALL ((ARRAY['q'::character varying, 'r'::character varying])::text[]))"
    plain = view_sql("v", f"SELECT a FROM s.t WHERE (a = '-3'::integer) AND {listed}")
    assert plain == "SELECT a FROM s.t WHERE (a = -3) AND (NOT b IN ('q', 'r'))"
    with refused(InvalidInput, token="view v"):
        view_sql("v", "SELECT FROM WHERE (((")


# ------------------------------------------------------------------------------------------------ Debian's server


@pytest.fixture(scope="module")
def debian() -> Any:
    where = start(need("debian postgres"))
    yield where
    where.stop()


@pytest.mark.full
def test_citext_and_collations_that_ignore_case_are_refused_on_a_server_that_has_them(debian: Server) -> None:
    name = debian.database(
        "CREATE EXTENSION citext",
        "CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        'CREATE TABLE t (mail citext, name text COLLATE nocase, plain text COLLATE "de-x-icu", d text)',
        "INSERT INTO t VALUES ('A', 'A', 'A', 'A'), ('a', 'a', 'a', 'a')",
    )
    data = debian.address(name)
    assert "public.citext" in refusal(data, "SELECT COUNT(*) FROM public.t WHERE mail = 'a'")
    assert "different texts are equal" in refusal(data, "SELECT COUNT(*) FROM public.t WHERE name = 'a'")
    for column in ("mail", "name"):
        assert f"'{column}' of public.t" in refusal(data, f"SELECT {column}, COUNT(*) FROM public.t GROUP BY {column}")
    assert [one(data, f"plain {test}") for test in ("= 'a'", "> 'Z'", "ILIKE 'A'")] == [1, 1, 2]
