"""Awkward values in PostgreSQL: no value fails, each is read as the reference reads it, rows count for themselves."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import duckdb
import numpy as np
import pytest

from discreet.engines.postgres.dialect import PostgresDialect
from discreet.engines.reference import count_rows, read_value
from discreet.engines.sources import open_source
from discreet.errors import Unsupported
from support import engines as engine_registry
from support.awkward import rows_of_every_kind
from support.countings import KEY, counting
from support.postgres_questions import one
from support.postgres_server import Server, server
from support.tiers import batches

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
    dialect, compared = PostgresDialect("C.utf8"), 0
    with server(version).connect() as base:
        base.execute("SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'")
        for text in TEXTS:
            sql = f"SELECT {dialect.reading('x', type_, 'text')} FROM (SELECT CAST(%s AS text) AS x) AS t"
            (found,) = base.execute(sql.replace("%", "%%").replace("%%s", "%s").encode(), [text]).fetchone()  # type: ignore[misc]
            try:
                wanted = read_value(text, type_)
            except Unsupported:
                continue
            compared += wanted is not None
            if isinstance(wanted, float):
                assert repr(found) == repr(wanted), text[:40]
            else:
                assert found == wanted and type(found) is type(wanted), text[:40]
    assert compared > 3  # some texts have a value of this type


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
    rows = rows_of_every_kind()
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


POSTGRES = next(engine for engine in engine_registry.ENGINES if engine.name == "PostgreSQL 18")


def test_the_suite_notices_a_session_that_skips_rows_by_what_others_hold(monkeypatch) -> None:
    """The negative control: a condition that looks at other rows."""
    original = PostgresDialect.condition

    def looks_around(self: PostgresDialect, condition: Any, kinds: Any) -> str:
        return f"(({original(self, condition, kinds)}) AND (SELECT count(*) FROM public.t) % 2 = 0)"

    monkeypatch.setattr(PostgresDialect, "condition", looks_around)
    assert any(POSTGRES.violations(seed, KEY) for seed in range(4))


@pytest.mark.parametrize("batch", batches(full=3, long=17))
def test_a_row_counts_for_itself_alone_on_postgres(batch: int) -> None:
    """A hundred cases a batch; two thousand in all."""
    seeds = range(1000 + batch * 5, 1005 + batch * 5)
    assert [words for seed in seeds for words in POSTGRES.violations(seed, KEY)] == []
