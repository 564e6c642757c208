"""Conditions: what is refused, what each means on every kind of value, and that none can fail on a row."""

from __future__ import annotations

import itertools
import math
import operator
import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import parse_one

from discreet.engines.duckdb.dialect import DUCKDB
from discreet.errors import InvalidInput
from discreet.questions.conditions import Condition, read_condition
from discreet.questions.exclusion import most_together
from discreet.questions.expressions import READINGS


def read(text: str) -> Condition:
    # inside a question: at the start of a text a name such as "load" would be read as a statement
    return read_condition(parse_one(f"SELECT 1 WHERE {text}", read="duckdb").args["where"].this)


NORMAL = {
    "x=1": "x = 1",
    "(x) = ((1))": "x = 1",
    "1 = x": "x = 1",
    "1 < x": "x > 1",
    "x == 1.0": "x = 1",
    "x = 1e0": "x = 1",
    "x = 0.50": "x = 0.5",
    "x = .5": "x = 0.5",
    "x = -0.0": "x = 0",
    "x != -1": "x <> -1",
    "x = 1_000": "x = 1000",
    "x = 1e18": "x = 1e+18",
    "x = 9007199254740992.0": "x = 9007199254740992.0",
    "NOT x = 1": "x <> 1",
    "not not x < 1": "x < 1",
    "x between 1 and 5": "x >= 1 AND x <= 5",
    "x NOT BETWEEN 1 AND 5": "x < 1 OR x > 5",
    "x in (2, 1, 2)": "x IN (1, 2)",
    "x in (1)": "x = 1",
    "not (x in ('b','a'))": "x NOT IN ('a', 'b')",
    "x IS NOT NULL": "x IS NOT NULL",
    "x ISNULL": "x IS NULL",
    "x IS NOT DISTINCT FROM NULL": "x IS NULL",
    "x is distinct from 1": "x IS DISTINCT FROM 1",
    "x IS TRUE": "x IS NOT DISTINCT FROM TRUE",
    "x IS NOT FALSE": "x IS DISTINCT FROM FALSE",
    "x": "x = TRUE",
    "NOT x": "x <> TRUE",
    "x = 'it''s'": "x = 'it''s'",
    "x NOT LIKE 'a%'": "x NOT LIKE 'a%'",
    "NOT x ILIKE 'a_'": "x NOT ILIKE 'a_'",
    "lower( trim(x) ) = 'a'": "LOWER(TRIM(x)) = 'a'",
    "coalesce(x, 0) > 1": "COALESCE(x, 0) > 1",
    "ifnull(x, 'a') = 'a'": "COALESCE(x, 'a') = 'a'",
    "try_cast(x as int) = 3": "TRY_CAST(x AS INTEGER) = 3",
    "TRY_CAST(x AS BIGINT) = 9223372036854775807": "TRY_CAST(x AS BIGINT) = 9223372036854775807",
    "TRY_CAST(x AS text) = 'a'": "TRY_CAST(x AS VARCHAR) = 'a'",
    "TRY_CAST(x AS DOUBLE) < TRY_CAST(y AS DOUBLE)": "TRY_CAST(x AS DOUBLE) < TRY_CAST(y AS DOUBLE)",
    "x = '2020-01-31'::DATE": "x = DATE '2020-01-31'",
    "x >= TIMESTAMP '2020-01-31 10:00'": "x >= TIMESTAMP '2020-01-31 10:00:00'",
    "x = TIMESTAMP '2020-01-31T10:00:00.5'": "x = TIMESTAMP '2020-01-31 10:00:00.500000'",
    "x=1 and y=2 and z=3": "x = 1 AND y = 2 AND z = 3",
    "x=1 and (y=2 and z=3)": "x = 1 AND y = 2 AND z = 3",
    "x=1 or y=2 and z=3": "x = 1 OR (y = 2 AND z = 3)",
    "NOT (x=1 or y=2)": "x <> 1 AND y <> 2",
    '"a b" = 1 and "select" = 2 and "Ü" = 3': '"a b" = 1 AND "select" = 2 AND "Ü" = 3',
    'x /* why */ = -- because\n 1': "x = 1",
}  # fmt: skip


@pytest.mark.parametrize(("written", "normal"), NORMAL.items())
def test_the_normalised_text_is_the_same_for_the_same_condition(written, normal):
    assert read(written).text == normal
    assert read(normal) == read(written)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1 AND y = 2", "y = 2 AND x = 1"),
        ("x = 1 OR y = 2", "y = 2 OR x = 1"),
        ("z = 1 AND (y = 1 OR x = 1)", "(x = 1 OR y = 1) AND z = 1"),
        ("NOT (x = 1 AND y = 1)", "y <> 1 OR x <> 1"),
        ("x = 1 AND y = 2 AND x = 1", "y = 2 AND x = 1"),
        ("x = 1 AND x = 1", "x = 1"),
        ("x >= 1 AND x <= 5", "x BETWEEN 1 AND 5"),
        ("x <= 5 AND x >= 1", "x BETWEEN 1 AND 5"),
        ("x = 'a' AND x = 1 AND x IS NULL", "x IS NULL AND x = 1 AND x = 'a'"),
        ("TRY_CAST(x AS DOUBLE) < TRY_CAST(y AS DOUBLE)", "TRY_CAST(y AS DOUBLE) > TRY_CAST(x AS DOUBLE)"),
        ("TRY_CAST(x AS DATE) = TRY_CAST(y AS DATE)", "TRY_CAST(y AS DATE) = TRY_CAST(x AS DATE)"),
    ],
)  # fmt: skip
def test_the_order_of_parts_and_repetition_make_no_other_condition(one, other):
    assert read(one) == read(other) and read(one).text == read(other).text
    assert read(read(one).text) == read(one)


@given(st.permutations(["x = 1", "y = 2", "z = 'a'", "x IS NULL", "(x = 2 AND y = 3)", "z LIKE 'a%'", "w"]))
def test_every_order_of_many_parts_is_one_condition(parts):
    for word in (" OR ", " AND "):
        assert read(word.join(parts)).text == read(word.join(sorted(parts))).text


def test_renaming_columns_keeps_the_normal_form():
    swapped = read("a = 1 AND b = 2 AND TRY_CAST(a AS DATE) < TRY_CAST(b AS DATE)").renamed({"a": "b", "b": "a"}.get)
    assert swapped == read("b = 1 AND a = 2 AND TRY_CAST(b AS DATE) < TRY_CAST(a AS DATE)")
    assert read("a = 1 AND A = 1").renamed(str.lower) == read("a = 1")


DIFFERENT = [
    "x = 1 AND y = 2", "x = 2 AND y = 1", "x = 1 OR y = 2", "y = 1 AND (x = 1 OR z = 1)", "x = 1 AND y <> 2",
    "TRY_CAST(x AS DATE) < TRY_CAST(y AS DATE)", "TRY_CAST(y AS DATE) < TRY_CAST(x AS DATE)",
    "TRY_CAST(x AS DATE) <= TRY_CAST(y AS DATE)",
    "x = 1", "x = '1'", "x = TRUE", "x = 'TRUE'", "X = 1", '"x " = 1', "x <> 1", "x IS DISTINCT FROM 1", "x = 'é'",
    "x = 'e\u0301'", "x = 'É'", "x LIKE 'é'", "x ILIKE 'é'", "x = DATE '2020-01-01'", "x = '2020-01-01'",
    "x = TIMESTAMP '2020-01-01'", "TRY_CAST(x AS DOUBLE) = 1", "TRY_CAST(x AS INTEGER) = 1", "COALESCE(x, 1) = 1",
    "x = 0.1", "x = 0.10000000000000002", "x IS NULL", "x = 'NULL'", "x = ''", "x = ' '", "x = ''''",
    "x = 'a'' OR x = ''b'", "x = 'a' OR x = 'b'", "(x = 1 OR y = 1) AND z = 1", "x = 1 OR (y = 1 AND z = 1)",
]  # fmt: skip


def test_different_conditions_have_different_texts():
    texts = [read(written).text for written in DIFFERENT]
    assert len(set(texts)) == len(texts)


REFUSED = {
    "x / 2 = 1": "division",
    "x % 2 = 1": "division",
    "x // 2 = 1": "division",
    "x + 1 = 2": "overflow",
    "x - 1 = 2": "overflow",
    "x * 2 = 2": "overflow",
    "-x = 2": "overflow",
    "x = - -1": "overflow",
    "abs(x) = 2": "not known",
    "CAST(x AS INTEGER) = 1": "TRY_CAST",
    "x::INTEGER = 1": "TRY_CAST",
    "x = 1::BIGINT": "TRY_CAST",
    "x = DATE '2020-02-30'": "no date",
    "x = DATE '20-1-1'": "no date",
    "x = TIMESTAMP '2020-01-01 25:00'": "no timestamp",
    "x = TIMESTAMP '2020-01-01 10:00:00.1234567'": "no timestamp",
    "x = TIMESTAMPTZ '2020-01-01'": "cast",
    "x = date('2020-01-01')": "not known",
    "random() < 0.5": "volatile",
    "x = now()": "volatile",
    "x < current_date": "volatile",
    "x < today()": "volatile",
    "x = uuid()": "volatile",
    "x = nextval('s')": "not known",
    "x = getenv('HOME')": "not known",
    "x = read_text('/etc/passwd')": "not known",
    "pg_sleep(1)": "not known",
    "error('a')": "not known",
    "x = (SELECT 1)": "subquery",
    "x IN (SELECT y FROM t)": "no list",
    "EXISTS (SELECT 1)": "subquery",
    "x = ANY ([1])": "not known",
    "x IN y": "no list",
    "x IN (y)": "no literal",
    "x IN (1, 'a')": "mixes",
    "x IN (1, TRUE)": "mixes",
    "x IN (1, NULL)": "IS NULL",
    "x NOT IN ('a', NULL)": "IS NULL",
    "x = NULL": "IS NULL",
    "x <> NULL": "IS NULL",
    "x LIKE NULL": "no text",
    "x = y": "TRY_CAST",
    "TRY_CAST(x AS DOUBLE) = y": "TRY_CAST",
    "TRY_CAST(x AS DOUBLE) = TRY_CAST(y AS DATE)": "one type",
    "TRY_CAST(x AS DOUBLE) IS DISTINCT FROM TRY_CAST(y AS DOUBLE)": "two columns",
    "LOWER(x) = LOWER(y)": "TRY_CAST",
    "x LIKE y": "no text in quotes",
    "x LIKE 'a\\'": "backslash",
    "x LIKE '\\%'": "backslash",
    "x LIKE 'a' ESCAPE 'b'": "ESCAPE",
    "x LIKE ANY ('a', 'b')": "no text in quotes",
    "x ~ 'a'": "regular expression",
    "x SIMILAR TO 'a'": "regular expression",
    "x GLOB 'a*'": "not known",
    "regexp_matches(x, 'a')": "regular expression",
    "x = 9007199254740992": "2^53",
    "x = -9007199254740992": "2^53",
    "x = 9223372036854775808": "2^53",
    "x = 99999999999999999999999999999999": "quotes",
    "x = 1e999": "too large",
    "x = -1e999": "too large",
    "x = 1e-999": "too small",
    "x = 1e": "no number",
    "TRY_CAST(x AS BIGINT) = 9223372036854775808": "none",
    "TRY_CAST(x AS INTEGER) = 2147483648": "none",
    "TRY_CAST(x AS INTEGER) = 1.5": "none",
    "TRY_CAST(x AS INTEGER) = '1'": "literal of that type",
    "TRY_CAST(x AS VARCHAR) = 1": "literal of that type",
    "TRY_CAST(x AS DATE) = '2020-01-01'": "literal of that type",
    "TRY_CAST(x AS BLOB) = 'a'": "not accepted",
    "TRY_CAST(x AS DECIMAL(10, 2)) = 1": "not",
    "TRY_CAST(x AS FLOAT) = 1": "not accepted",
    "TRY_CAST(x AS TIMESTAMPTZ) = 1": "not accepted",
    "TRY_CAST(x AS INTEGER[]) = 1": "not",
    "TRY_CAST(x AS STRUCT(a INTEGER)) = 1": "not",
    "TRY_CAST(TRY_CAST(x AS DATE) AS VARCHAR) = 'a'": "already read",
    "TRY_CAST('1' AS INTEGER) = 1": "stands where a column",
    "LOWER(TRY_CAST(x AS DATE)) = 'a'": "as text",
    "TRIM(x, 'a') = 'b'": "not understood",
    "TRIM(BOTH 'a' FROM x) = 'b'": "not understood",
    "LOWER('A') = 'a'": "stands where a column",
    "LOWER(x)": "alone",
    "COALESCE(x, y) = 1": "one literal",
    "COALESCE(x, y, 0) = 1": "one literal",
    "COALESCE(x, 0) = 'a'": "literal of that type",
    "COALESCE(x, NULL) = 1": "NULL",
    "COALESCE(TRY_CAST(x AS INTEGER), 1.5) = 1": "none",
    "LOWER(x) = 1": "literal of that type",
    "x < TRUE": "truth values",
    "x BETWEEN SYMMETRIC 1 AND 2": "not understood",
    "x BETWEEN 1 AND y": "TRY_CAST",
    "1 = 1": "column",
    "TRUE": "constant",
    "NULL": "not known",
    "1": "not known",
    "'a'": "not known",
    "x IS 1": "IS NULL",
    "(x = 1) = TRUE": "refused",
    "(x = 1) IS NULL": "refused",
    "(x, y) = (1, 2)": "not known",
    "x[1] = 1": "not known",
    "x.y = 1": "not in the question",
    "a.b.c = 1": "not understood",
    "x = ?": "parameter",
    "x = $1": "parameter",
    "x = :p": "parameter",
    "x = E'a'": "not known",
    "x = $$a$$": "not known",
    "x = 'a' 'b'": "one text",
    "x || 'a' = 'b'": "not known",
    "x COLLATE NOCASE = 'a'": "not known",
    "CASE WHEN x THEN TRUE END": "CASE",
    "x = INTERVAL 1 DAY": "not known",
    "COUNT(*) > 1": "not known",
    "ROW_NUMBER() OVER () = 1": "window",
    "x = 1 AND y / 0 = 1": "division",
    "NOT (x = 1 OR length(y) = 1)": "not known",
    '"" = 1': "empty",
}  # fmt: skip


@pytest.mark.parametrize(("written", "reason"), REFUSED.items())
def test_what_can_fail_or_change_or_is_unclear_is_refused_with_the_reason(written, reason):
    with pytest.raises(InvalidInput, match=re.escape(reason)):
        read(written)


def test_unknown_columns_and_kinds_are_refused():
    with pytest.raises(InvalidInput, match="'y'"):
        DUCKDB.condition(read("x = 1 AND y = 1"), {"x": "integer"})
    with pytest.raises(InvalidInput, match="kind"):
        DUCKDB.condition(read("x = 'a'"), {"x": "varchar"})


def test_a_condition_knows_its_columns():
    assert read("x = 1 AND (LOWER(y) = 'a' OR TRY_CAST(a AS DATE) < TRY_CAST(b AS DATE))").columns == set("xyab")


def test_a_condition_nested_so_deeply_that_its_text_could_not_be_read_again_is_refused():
    text = "x = 1"
    for k in range(30):
        text = f"({text}) {('AND', 'OR')[k % 2]} y = {k}"
    with pytest.raises(InvalidInput, match="deeply"):
        read(text)


# ---------------------------------------------------------------------------------------------------------------
# The meaning, written a second time: what each value reads as, and three-valued logic over it.

NAN, INF = math.nan, math.inf
FAR, LONG_AGO = (1, "far"), (-1, "long ago")  # dates that Python cannot hold


def day(text: str) -> tuple[int, date]:
    return (0, date.fromisoformat(text))


def moment(text: str) -> tuple[int, datetime]:
    return (0, datetime.fromisoformat(text))


#: kind of column -> its type in DuckDB and, for each value in SQL, what it reads as. What is not named is NULL.
TABLE: dict[str, tuple[str, str, dict[str, dict[str, Any]]]] = {
    "t": ("text", "VARCHAR", {
        "''": {}, "'abc'": {}, "'ABC'": {}, "' a '": {}, "'a%b'": {}, "'a\\'": {}, "'it''s'": {}, "'é'": {}, "'É'": {},
        "'e\u0301'": {}, "'NULL'": {}, "'1,5'": {}, "'2020-02-30'": {},
        "'1'": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
        "'0'": {"DOUBLE": 0.0, "BIGINT": 0, "INTEGER": 0, "BOOLEAN": False},
        "'01'": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1},
        "' 1 '": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1},
        "'1.5'": {"DOUBLE": 1.5, "BIGINT": 2, "INTEGER": 2},
        "'nan'": {"DOUBLE": NAN}, "'1e400'": {"DOUBLE": INF},
        "'inf'": {"DOUBLE": INF, "DATE": FAR, "TIMESTAMP": FAR},
        "'3000000000'": {"DOUBLE": 3e9, "BIGINT": 3000000000},
        "'9007199254740993'": {"DOUBLE": 9007199254740992.0, "BIGINT": 9007199254740993},
        "'99999999999999999999'": {"DOUBLE": 1e20},
        "'2020-02-29'": {"DATE": day("2020-02-29"), "TIMESTAMP": moment("2020-02-29")},
        "'2020-02-29 10:00:00.5'": {"DATE": day("2020-02-29"), "TIMESTAMP": moment("2020-02-29 10:00:00.500000")},
        "'10000-01-01'": {"DATE": FAR, "TIMESTAMP": FAR},
        "'true'": {"BOOLEAN": True}, "'No'": {"BOOLEAN": False},
    }),
    "folded": ("text", "VARCHAR COLLATE NOCASE", {"'a'": {}, "'A'": {}, "'abc'": {}, "'ABC'": {}, "'É'": {}}),
    "i": ("integer", "BIGINT", {
        "0": {"DOUBLE": 0.0, "BIGINT": 0, "INTEGER": 0, "BOOLEAN": False},
        "1": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
        "-1": {"DOUBLE": -1.0, "BIGINT": -1, "INTEGER": -1, "BOOLEAN": True},
        "3000000000": {"DOUBLE": 3e9, "BIGINT": 3000000000, "BOOLEAN": True},
        "9007199254740993": {"DOUBLE": 9007199254740992.0, "BIGINT": 9007199254740993, "BOOLEAN": True},
        "9223372036854775807": {"DOUBLE": 2.0**63, "BIGINT": 2**63 - 1, "BOOLEAN": True},
        "-9223372036854775808": {"DOUBLE": -(2.0**63), "BIGINT": -(2**63), "BOOLEAN": True},
    }),
    "small": ("integer", "UTINYINT", {
        "1": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
        "255": {"DOUBLE": 255.0, "BIGINT": 255, "INTEGER": 255, "BOOLEAN": True},
    }),
    "unsigned": ("integer", "UBIGINT", {
        "1": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
        "18446744073709551615": {"DOUBLE": 2.0**64, "BOOLEAN": True},
    }),
    "huge": ("integer", "HUGEINT", {
        "1": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
        "170141183460469231731687303715884105727": {"DOUBLE": 2.0**127, "BOOLEAN": True},
        "-170141183460469231731687303715884105728": {"DOUBLE": -(2.0**127), "BOOLEAN": True},
    }),
    "d": ("number", "DOUBLE", {
        "0.0": {"DOUBLE": 0.0, "BIGINT": 0, "INTEGER": 0, "BOOLEAN": False},
        "'-0.0'": {"DOUBLE": 0.0, "BIGINT": 0, "INTEGER": 0, "BOOLEAN": False},
        "1.0": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
        "1.5": {"DOUBLE": 1.5, "BIGINT": 2, "INTEGER": 2, "BOOLEAN": True},
        "'nan'": {"DOUBLE": NAN, "BOOLEAN": True},
        "'inf'": {"DOUBLE": INF, "BOOLEAN": True, "DATE": FAR, "TIMESTAMP": FAR},
        "'-inf'": {"DOUBLE": -INF, "BOOLEAN": True, "DATE": LONG_AGO, "TIMESTAMP": LONG_AGO},
        "1e300": {"DOUBLE": 1e300, "BOOLEAN": True, "VARCHAR": "1e+300"},
    }),
    "decimal": ("number", "DECIMAL(38,3)", {
        "1": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True, "VARCHAR": "1.000"},
        "99999999999999999999999999999999999.999": {"DOUBLE": 1e35, "BOOLEAN": True},
    }),
    "b": ("boolean", "BOOLEAN", {
        "true": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
        "false": {"DOUBLE": 0.0, "BIGINT": 0, "INTEGER": 0, "BOOLEAN": False},
    }),
    "day": ("date", "DATE", {
        "'2020-02-29'": {"DATE": day("2020-02-29"), "TIMESTAMP": moment("2020-02-29")},
        "'0001-01-01'": {"DATE": day("0001-01-01"), "TIMESTAMP": moment("0001-01-01")},
        "'infinity'": {"DATE": FAR, "TIMESTAMP": FAR, "DOUBLE": INF},
        "'5881580-07-10'": {"DATE": FAR},
        "'5877642-06-25 (BC)'": {"DATE": LONG_AGO},
    }),
    "moment": ("timestamp", "TIMESTAMP", {
        "'2020-02-29 10:00:00'": {"DATE": day("2020-02-29"), "TIMESTAMP": moment("2020-02-29 10:00:00")},
        "'infinity'": {"DATE": FAR, "TIMESTAMP": FAR, "DOUBLE": INF},
        "'294247-01-10 04:00:54.775806'": {"DATE": FAR, "TIMESTAMP": FAR},
        "'290309-12-22 (BC) 00:00:00'": {"DATE": LONG_AGO, "TIMESTAMP": LONG_AGO},
    }),
    "unsigned_huge": ("other", "UHUGEINT", {
        "1": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
        "340282366920938463463374607431768211455": {"DOUBLE": 2.0**128},
    }),
    "list": ("other", "INTEGER[]", {"[1, 2]": {"VARCHAR": "[1, 2]"}, "[]": {"VARCHAR": "[]"}}),
    "struct": ("other", "STRUCT(a INTEGER)", {"{'a': 1}": {"VARCHAR": "{'a': 1}"}}),
    "blob": ("other", "BLOB", {"'\\xAA\\x00'::BLOB": {"VARCHAR": "\\xAA\\x00"}, "''::BLOB": {"VARCHAR": ""}}),
    "interval": ("other", "INTERVAL", {"INTERVAL 1 DAY": {"VARCHAR": "1 day"}}),
    "bits": ("other", "BIT", {"'101'": {"DOUBLE": 101.0, "BIGINT": 101, "INTEGER": 101}}),
    "choice": ("other", "ENUM('abc', '1')", {
        "'abc'": {}, "'1'": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
    }),
}  # fmt: skip
KINDS = {column: kind for column, (kind, _, _) in TABLE.items()}


@pytest.fixture(scope="module")
def engine():
    """A table with one column of each type and every awkward value of it, each beside every other sometime.

    And the same without NULLs: the optimiser knows of such columns that they have none, and must not conclude that
    their readings have none.
    """
    connection = duckdb.connect()
    for table, rows in (("rows", ROWS), ("known", KNOWN)):
        columns = [f'"{column}" {type_}' for column, (_, type_, _) in TABLE.items()]
        connection.execute(f"CREATE TABLE {table} ({', '.join(columns)}, n INTEGER)")
        for n, row in enumerate(rows):
            values = [f"CAST({row[c]} AS {type_.split(' COLLATE')[0]})" for c, (_, type_, _) in TABLE.items()]
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join(values)}, {n})")
    yield connection
    connection.close()


def _rows() -> list[dict[str, str]]:
    number = max(len(values) for _, _, values in TABLE.values()) + 1
    spelled = {c: [*values, "NULL"] for c, (_, _, values) in TABLE.items()}
    return [
        {c: options[(n + 3 * k) % len(options)] for k, (c, options) in enumerate(spelled.items())}
        for n in range(2 * number)
    ]


ROWS = _rows()
KNOWN = [
    {c: next(iter(TABLE[c][2])) if value == "NULL" else value for c, value in row.items()} for row in ROWS
]  # fmt: skip


def value_of(column: str, written: str, type_: str) -> Any:
    """What the table above says a value reads as."""
    if written == "NULL":
        return None
    readings = TABLE[column][2][written]
    if type_ == "VARCHAR" and "VARCHAR" not in readings:
        return written[1:-1].replace("''", "'") if written.startswith("'") else written
    return readings.get(type_)


@pytest.mark.parametrize("type_", READINGS)
@pytest.mark.parametrize("column", TABLE)
def test_every_value_of_every_type_reads_as_stated(engine, column, type_):
    expression = DUCKDB.reading(column, type_, KINDS[column])
    found = [row[0] for row in engine.execute(f"SELECT CAST({expression} AS VARCHAR) FROM rows ORDER BY n").fetchall()]
    for row, text in zip(ROWS, found, strict=True):
        value = value_of(column, row[column], type_)
        assert (text is None) == (value is None), (row[column], text)
        if type_ in ("BIGINT", "INTEGER", "VARCHAR") and value is not None:
            assert text == str(value)
        if type_ == "DOUBLE" and value is not None:
            assert float(text) == value or (math.isnan(value) and text == "nan")


COMPARE = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True)
class Wish:
    """A random condition: how it may be written, and whether it is true, false or None for a row."""

    sql: str
    holds: Any

    def __repr__(self) -> str:
        return self.sql


def key(value: Any) -> Any:
    """Doubles are in total order, with NaN on top."""
    return (1, 0.0) if isinstance(value, float) and math.isnan(value) else (0, value)


def compared(op: str, value: Any, literal: Any) -> bool | None:
    if op in ("IS DISTINCT FROM", "IS NOT DISTINCT FROM"):
        same = value is not None and key(value) == key(literal)
        return same == (op == "IS NOT DISTINCT FROM")
    return None if value is None else COMPARE[op](key(value), key(literal))


def like(pattern: str, folded: bool, value: str | None) -> bool | None:
    if value is None:
        return None
    spelled = "".join({"%": ".*", "_": "."}.get(letter, re.escape(letter)) for letter in pattern)
    if folded:
        spelled, value = spelled.lower(), value.lower()
    return re.fullmatch(spelled, value, re.DOTALL) is not None


TEXTS = ["", "abc", "ABC", "a", " a ", "1", "1.5", "it's", "é", "e\u0301", "NULL", "true", "[1, 2]", "2020-02-29", "b"]
LITERALS: dict[str, list[tuple[str, Any]]] = {
    "VARCHAR": [("'" + text.replace("'", "''") + "'", text) for text in TEXTS],
    "DOUBLE": [
        ("0", 0), ("1", 1), ("-1", -1), ("2", 2), ("1.5", 1.5), ("0.1", 0.1), ("9007199254740991", 2.0**53 - 1),
        ("-9007199254740991", 1 - 2.0**53), ("9007199254740992.0", 2.0**53), ("1e300", 1e300), ("3e9", 3e9),
        ("255", 255), ("300", 300), ("101", 101), ("1e20", 1e20), ("-0.0", 0), ("1.7e308", 1.7e308),
    ],
    "BIGINT": [("0", 0), ("1", 1), ("2", 2), ("-1", -1), ("9223372036854775807", 2**63 - 1), ("3000000000", 3 * 10**9)],
    "INTEGER": [("0", 0), ("1", 1), ("2", 2), ("2147483647", 2**31 - 1), ("-2147483648", -(2**31))],
    "BOOLEAN": [("TRUE", True), ("false", False)],
    "DATE": [("DATE '2020-02-29'", day("2020-02-29")), ("DATE '0001-01-01'", day("0001-01-01")),
             ("CAST('9999-12-31' AS DATE)", day("9999-12-31")), ("'2020-03-01'::date", day("2020-03-01"))],
    "TIMESTAMP": [("TIMESTAMP '2020-02-29 10:00'", moment("2020-02-29 10:00")),
                  ("timestamp '2020-02-29 10:00:00.500'", moment("2020-02-29 10:00:00.500000")),
                  ("TIMESTAMP '9999-12-31'", moment("9999-12-31"))],
}  # fmt: skip


@st.composite
def terms(draw) -> tuple[str, str | None, Any]:
    """(SQL, its type or None for a bare column, the value for a row and a type)."""
    column = draw(st.sampled_from(list(TABLE)))
    name = f'"{column}"'

    def plain(row: Any, type_: str) -> Any:
        return value_of(column, row[column], type_)

    shape = draw(st.sampled_from(["bare"] * 3 + ["text", "cast", "cast text", "default", "default cast"]))
    if shape == "bare":
        return name, None, plain
    if shape in ("text", "cast text"):
        word, change = draw(
            st.sampled_from([("LOWER", str.lower), ("upper", str.upper), ("Trim", lambda x: x.strip(" "))])
        )

        def changed(row: Any, type_: str) -> Any:
            value = plain(row, "VARCHAR")
            return None if value is None else change(value)

        return f"{word}({name})", "VARCHAR", changed
    type_ = draw(st.sampled_from(list(READINGS)))
    if shape == "cast":
        return f"try_cast({name} AS {type_})", type_, lambda row, _: plain(row, type_)
    if shape == "default cast":
        written, value = draw(st.sampled_from(LITERALS[type_]))
        return (
            f"COALESCE(TRY_CAST({name} AS {type_}), {written})", type_,
            lambda row, _: value if plain(row, type_) is None else plain(row, type_),
        )  # fmt: skip
    type_ = draw(st.sampled_from(["VARCHAR", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP"]))
    written, value = draw(st.sampled_from(LITERALS[type_]))
    return (
        f"coalesce({name}, {written})", type_,
        lambda row, _: value if plain(row, type_) is None else plain(row, type_),
    )  # fmt: skip


@st.composite
def simple(draw) -> Wish:
    sql, type_, value = draw(terms())
    form = draw(st.sampled_from(["compare"] * 4 + ["in", "null", "like", "between", "bare", "pair"]))
    if form == "null":
        word = draw(st.sampled_from(["IS NULL", "IS NOT NULL", "IS DISTINCT FROM NULL"]))
        if type_ is None:  # of the column itself: every value that is there is there
            column = sql[1:-1]
            return Wish(f"{sql} {word}", lambda row: (row[column] == "NULL") == (word == "IS NULL"))
        return Wish(f"{sql} {word}", lambda row: (value(row, type_) is None) == (word == "IS NULL"))
    if form == "pair":
        one, two = draw(st.sampled_from(list(TABLE))), draw(st.sampled_from(list(TABLE)))
        chosen, op = draw(st.sampled_from(list(READINGS))), draw(st.sampled_from(list(COMPARE)))

        def both(row: Any) -> bool | None:
            left, right = value_of(one, row[one], chosen), value_of(two, row[two], chosen)
            if FAR in (left, right) or LONG_AGO in (left, right):
                return "unknown"  # type: ignore[return-value]
            return None if left is None or right is None else COMPARE[op](key(left), key(right))

        return Wish(f'TRY_CAST("{one}" AS {chosen}) {op} TRY_CAST("{two}" AS {chosen})', both)
    if form == "bare" and type_ is None:
        return Wish(sql, lambda row: value(row, "BOOLEAN"))
    if form == "like" and type_ in (None, "VARCHAR"):
        word = draw(st.sampled_from(["LIKE", "ILIKE", "NOT LIKE", "not ilike"]))
        pattern = draw(st.sampled_from(["%", "", "a%", "_", "%B%", "abc", "AB_", "%'%", "É", "[%", "a.c"]))
        negated, folded = word.upper().startswith("NOT"), "I" in word.upper().replace("LIKE", "")
        quoted = pattern.replace("'", "''")
        return Wish(
            f"{sql} {word} '{quoted}'",
            lambda row: negate(negated, like(pattern, folded, value(row, "VARCHAR"))),
        )
    chosen = type_ or draw(st.sampled_from(["VARCHAR", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP"]))
    if form == "in":
        picked = draw(st.lists(st.sampled_from(LITERALS[chosen]), min_size=1, max_size=4))
        word = draw(st.sampled_from(["IN", "not in"]))

        def inside(row: Any) -> bool | None:
            found = value(row, chosen)
            return None if found is None else (key(found) in [key(v) for _, v in picked]) == (word == "IN")

        return Wish(f"{sql} {word} ({', '.join(written for written, _ in picked)})", inside)
    if form == "between" and chosen != "BOOLEAN":
        (low, least), (high, most) = draw(st.sampled_from(LITERALS[chosen])), draw(st.sampled_from(LITERALS[chosen]))
        return Wish(
            f"{sql} BETWEEN {low} AND {high}",
            lambda row: kleene(
                all, [compared(">=", value(row, chosen), least), compared("<=", value(row, chosen), most)]
            ),
        )
    ops = ["=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"] + (
        [] if chosen == "BOOLEAN" else ["<", "<=", ">", ">="]
    )
    op, (written, literal) = draw(st.sampled_from(ops)), draw(st.sampled_from(LITERALS[chosen]))
    return Wish(f"{sql} {op} {written}", lambda row: compared(op, value(row, chosen), literal))


def negate(really: bool, truth: Any) -> Any:
    return not truth if really and isinstance(truth, bool) else truth


def kleene(all_or_any: Any, truths: list[Any]) -> Any:
    decisive = all_or_any is any
    if decisive in truths:
        return decisive
    if "unknown" in truths:
        return "unknown"
    return None if None in truths else not decisive


def combined(inner: st.SearchStrategy[Wish]) -> st.SearchStrategy[Wish]:
    def both(word: str, parts: list[Wish]) -> Wish:
        rule = all if word.strip().upper() == "AND" else any
        return Wish(
            word.join(f"({part.sql})" for part in parts), lambda row: kleene(rule, [p.holds(row) for p in parts])
        )

    return st.one_of(
        st.builds(both, st.sampled_from([" AND ", " or ", "  OR\n"]), st.lists(inner, min_size=2, max_size=3)),
        st.builds(lambda part: Wish(f"NOT ({part.sql})", lambda row: negate(True, part.holds(row))), inner),
    )


wishes = st.recursive(simple(), combined, max_leaves=6)


@settings(max_examples=400)
@given(wish=wishes)
def test_an_accepted_condition_fails_on_no_row_and_means_what_is_stated(engine, wish):
    condition = read(wish.sql)
    sql = DUCKDB.condition(condition, KINDS)
    for table, rows in (("rows", ROWS), ("known", KNOWN)):
        found = [row[0] for row in engine.execute(f"SELECT ({sql}) FROM {table} ORDER BY n").fetchall()]
        for row, truth in zip(rows, found, strict=True):
            expected = wish.holds(row)
            if expected != "unknown":
                assert truth is expected, (wish.sql, sql, {c: row[c] for c in condition.columns})
        counts = engine.execute(f"SELECT COUNT(*), COUNT(*) FILTER (WHERE NOT ({sql})) FROM {table}").fetchone()
        (counted,) = engine.execute(f"SELECT COUNT(*) FROM {table} WHERE {sql}").fetchone()
        assert counted == sum(truth is True for truth in found)
        assert counts == (len(rows), sum(truth is False for truth in found))


@settings(max_examples=300)
@given(one=wishes, two=wishes)
def test_equal_texts_are_equal_conditions_and_read_again_as_themselves(one, two):
    first, second = read(one.sql), read(two.sql)
    assert read(first.text) == first
    assert (first.text == second.text) == (first == second)
    if first == second:
        rows = [(one.holds(row), two.holds(row)) for row in ROWS]
        assert all(a == b or "unknown" in (a, b) for a, b in rows)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_the_same_double_in_python_and_in_duckdb(engine, value):
    (literal,) = [read(f"x = {value!r}").test.right]
    assert engine.execute(f"SELECT {DUCKDB.literal(literal)}, typeof({DUCKDB.literal(literal)})").fetchone() == (
        value,
        "DOUBLE",
    )


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12))
def test_any_text_and_any_name_survive(engine, text):
    condition = read("x = '" + text.replace("'", "''") + "'")
    assert condition.test.right.value == text and read(condition.text) == condition
    assert engine.execute(f"SELECT {DUCKDB.literal(condition.test.right)}").fetchone()[0] == text
    if text:
        named = read('"' + text.replace('"', '""') + '" = 1')
        assert named.columns == {text} and read(named.text) == named
        sql = DUCKDB.condition(named, {text: "integer"})
        assert engine.execute(f"WITH t AS (SELECT 1 AS {_quoted(text)}) SELECT {sql} FROM t")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def test_a_collation_of_the_column_does_not_make_exclusive_conditions_overlap(engine):
    """Without care, 'a' = 'A' in a column declared NOCASE, and one row would count twice where once was promised."""
    conditions = [read("folded = 'abc'"), read("folded = 'ABC'"), read("folded IN ('ABC', 'x')")]
    assert most_together(conditions[:2]) == 1
    sums = " + ".join(f"CAST(({DUCKDB.condition(c, KINDS)}) AS INTEGER)" for c in conditions[:2])
    assert engine.execute(f"SELECT MAX({sums}) FROM rows").fetchone()[0] == 1
    assert engine.execute("SELECT COUNT(*) FROM rows WHERE folded = 'abc' AND folded = 'ABC'").fetchone()[0] > 0


# ---------------------------------------------------------------------------------------------------------------
# How many can hold at once


@pytest.mark.parametrize(
    ("written", "where", "most"),
    [
        (["h = 'good'", "h = 'poor'"], None, 1),
        (["h = 'good'", "h = 'good'"], None, 2),
        (["h = 'good'", "h <> 'good'"], None, 1),
        (["h = 'good'", "LOWER(h) = 'poor'"], None, 2),
        (["h IN ('a', 'b')", "h IN ('b', 'c')", "h = 'd'"], None, 2),
        (["x < 1", "x >= 1"], None, 1),
        (["x < 1", "x > 0"], None, 2),
        (["x <= 1", "x >= 1"], None, 2),
        (["x < 18", "x BETWEEN 18 AND 64", "x > 64"], None, 1),
        (["x = 1", "y = 1"], None, 2),
        (["x = 1 AND y = 1", "x = 1 AND y = 2", "x = 2"], None, 1),
        (["x = 1", "x IS NULL"], None, 1),
        (["x IS NULL", "x IS NOT NULL"], None, 1),
        (["x IS DISTINCT FROM 1", "x = 1", "x IS NULL"], None, 2),
        (["COALESCE(x, 1) = 1", "x IS NULL"], None, 2),
        (["x = 1", "x = '1'"], None, 2),
        (["x = 1", "x = 1.0"], None, 2),
        (["x = 1", "x > 1.5"], None, 1),
        (["x", "NOT x"], None, 1),
        (["x LIKE 'a%'", "x NOT LIKE 'a%'"], None, 1),
        (["x LIKE 'a%'", "x LIKE 'b%'"], None, 2),
        (["x NOT LIKE 'a%'", "x LIKE 'b%'"], None, 2),
        (["x NOT LIKE 'a'", "x ILIKE 'a'"], None, 2),
        (["TRY_CAST(x AS DATE) < TRY_CAST(y AS DATE)", "TRY_CAST(x AS DATE) >= TRY_CAST(y AS DATE)"], None, 1),
        (["x = 1 OR y = 1", "x = 2 OR y = 2", "x = 3 OR y = 3"], None, 2),
        (["x > 1", "x > 2", "x > 3"], "x < 3", 2),
        (["x > 1", "x > 2", "x > 3"], "x < 3 AND z = 1", 2),
        (["x > 1", "x > 2", "x > 3"], "x < 3 OR z = 1", 3),
        ([None, "x = 1", "x = 2"], None, 2),
        ([None], None, 1),
    ],
)
def test_how_many_conditions_can_hold_at_once(written, where, most):
    conditions = [None if text is None else read(text) for text in written]
    assert most_together(conditions, None if where is None else read(where)) == most


@settings(max_examples=300)
@given(st.lists(wishes, min_size=1, max_size=5), st.none() | wishes)
def test_no_row_meets_more_conditions_than_said(engine, several, where):
    """Against every combination of the awkward values of the columns concerned."""
    conditions = [read(wish.sql) for wish in several]
    bound = most_together(conditions, None if where is None else read(where.sql))
    columns = sorted(frozenset().union(*(condition.columns for condition in conditions)))
    if where is not None:
        columns = sorted({*columns, *read(where.sql).columns})
    options = [["NULL", *TABLE[column][2]] for column in columns]
    for values in itertools.islice(itertools.product(*options), 1000):
        row = dict(zip(columns, values, strict=True))
        if where is None or where.holds(row) is True:
            assert sum(wish.holds(row) is True for wish in several) <= bound


@given(
    st.lists(
        st.tuples(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.integers(-3, 3), st.sampled_from("xy")),
        min_size=1, max_size=6,
    )
)  # fmt: skip
def test_the_bound_is_reached_where_the_line_has_no_holes(several):
    """Comparisons of two columns with numbers: the best point is among the literals and the halves between."""
    bound = most_together([read(f"{column} {op} {number}") for op, number, column in several])
    points = [k / 2 for k in range(-8, 9)]
    assert bound == max(
        sum(COMPARE[op]({"x": x, "y": y}[column], number) for op, number, column in several)
        for x in points for y in points
    )  # fmt: skip


def test_too_many_combinations_are_taken_to_go_together():
    several = [read(" OR ".join(f"x{k} = {n}" for k in range(25))) for n in range(3)]
    assert most_together(several) == 3


@settings(max_examples=200)
@given(st.lists(st.tuples(
    st.sampled_from(["AND", "OR", "AND NOT", "OR NOT", "AND NOT NOT"]),
    st.sampled_from([
        "x = 1", "y <> 2", "z IS NULL", "z IS NOT NULL", "x BETWEEN 1 AND 2", "y NOT BETWEEN 1 AND 2", "x IN (1, 3)",
        "z NOT IN (1, 2)", "x IS DISTINCT FROM 1", "1 < y", "-1 < z", "w LIKE 'a%'", "w NOT LIKE 'a%'", "b",
        "b IS NOT TRUE",
        "COALESCE(z, 2) >= 2", "w ILIKE 'A%'", "lower(w) = 'ab'", "b IS FALSE", "z = 1.5", "w > 'a'",
    ]),
), min_size=1, max_size=6))  # fmt: skip
def test_words_bind_as_they_do_in_duckdb(engine, parts):
    """Without parentheses, on columns whose types already fit, the meaning is DuckDB's own."""
    sql = " ".join(["b IS NULL", *(f"{word} {atom}" for word, atom in parts)])
    kinds = {"x": "integer", "y": "integer", "z": "integer", "w": "text", "b": "boolean"}
    table = (
        "(SELECT * FROM (VALUES (1), (2), (3)) AS p(x), (VALUES (0), (2), (5)) AS q(y), "
        "(VALUES (1), (2), (NULL)) AS r(z), (VALUES ('ab'), ('AB'), (''), (NULL)) AS s(w), "
        "(VALUES (TRUE), (FALSE), (NULL)) AS u(b)) AS small"
    )
    (different,) = engine.execute(
        f"SELECT COUNT(*) FROM {table} WHERE ({sql}) IS DISTINCT FROM ({DUCKDB.condition(read(sql), kinds)})"
    ).fetchone()
    assert different == 0
