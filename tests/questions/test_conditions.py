"""Conditions: what is refused, what each means on every kind of value, and that none can fail on a row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from discreet.engines.duckdb.dialect import DUCKDB
from discreet.errors import InvalidInput
from support.grids import every_case
from support.random_conditions import read
from support.refusals import refused

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


@every_case(("written", "normal"), NORMAL.items())
def test_the_normalised_text_is_the_same_for_the_same_condition(written, normal):
    assert read(written).text == normal
    assert read(normal) == read(written)


@every_case(
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
    swapped = read("a = 1 AND b = 2 AND TRY_CAST(a AS DATE) < TRY_CAST(b AS DATE)").rename({"a": "b", "b": "a"}.get)
    assert swapped == read("b = 1 AND a = 2 AND TRY_CAST(b AS DATE) < TRY_CAST(a AS DATE)")
    assert read("a = 1 AND A = 1").rename(str.lower) == read("a = 1")


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
    "abs(x) = 2": "tests",
    "CAST(x AS INTEGER) = 1": "TRY_CAST",
    "x::INTEGER = 1": "TRY_CAST",
    "x = 1::BIGINT": "TRY_CAST",
    "x = DATE '2020-02-30'": "not a date",
    "x = DATE '20-1-1'": "not a date",
    "x = TIMESTAMP '2020-01-01 25:00'": "not a timestamp",
    "x = TIMESTAMP '2020-01-01 10:00:00.1234567'": "not a timestamp",
    "x = TIMESTAMPTZ '2020-01-01'": "cast",
    "x = date('2020-01-01')": "tests",
    "random() < 0.5": "another answer",
    "x = now()": "changes",
    "x < current_date": "changes",
    "x < today()": "changes",
    "x = uuid()": "changes",
    "x = nextval('s')": "tests",
    "x = getenv('HOME')": "tests",
    "x = read_text('/etc/passwd')": "tests",
    "pg_sleep(1)": "tests",
    "error('a')": "tests",
    "x = (SELECT 1)": "subquery",
    "x IN (SELECT y FROM t)": "list values",
    "EXISTS (SELECT 1)": "subquery",
    "x = ANY ([1])": "tests",
    "x IN y": "list values",
    "x IN (y)": "not a literal",
    "x IN (1, 'a')": "mixes",
    "x IN (1, TRUE)": "mixes",
    "x IN (1, NULL)": "IS NULL",
    "x NOT IN ('a', NULL)": "IS NULL",
    "x = NULL": "IS NULL",
    "x <> NULL": "IS NULL",
    "x LIKE NULL": "not a text",
    "x = y": "TRY_CAST",
    "TRY_CAST(x AS DOUBLE) = y": "TRY_CAST",
    "TRY_CAST(x AS DOUBLE) = TRY_CAST(y AS DATE)": "one type",
    "TRY_CAST(x AS DOUBLE) IS DISTINCT FROM TRY_CAST(y AS DOUBLE)": "two columns",
    "LOWER(x) = LOWER(y)": "TRY_CAST",
    "x LIKE y": "text in quotes",
    "x LIKE 'a\\'": "backslash",
    "x LIKE '\\%'": "backslash",
    "x LIKE 'a' ESCAPE 'b'": "ESCAPE",
    "x LIKE ANY ('a', 'b')": "text in quotes",
    "x ~ 'a'": "regular expression",
    "x SIMILAR TO 'a'": "regular expression",
    "x GLOB 'a*'": "tests",
    "regexp_matches(x, 'a')": "regular expression",
    "x = 9007199254740992": "2^53",
    "x = -9007199254740992": "2^53",
    "x = 9223372036854775808": "2^53",
    "x = 99999999999999999999999999999999": "quotes",
    "x = 1e999": "too large",
    "x = -1e999": "too large",
    "x = 1e-999": "too small",
    "x = 1e": "not a number",
    "TRY_CAST(x AS BIGINT) = 9223372036854775808": "cannot hold",
    "TRY_CAST(x AS INTEGER) = 2147483648": "cannot hold",
    "TRY_CAST(x AS INTEGER) = 1.5": "cannot hold",
    "TRY_CAST(x AS INTEGER) = '1'": "type",
    "TRY_CAST(x AS VARCHAR) = 1": "type",
    "TRY_CAST(x AS DATE) = '2020-01-01'": "type",
    "TRY_CAST(x AS BLOB) = 'a'": "not accepted",
    "TRY_CAST(x AS DECIMAL(10, 2)) = 1": "not",
    "TRY_CAST(x AS FLOAT) = 1": "not accepted",
    "TRY_CAST(x AS TIMESTAMPTZ) = 1": "not accepted",
    "TRY_CAST(x AS INTEGER[]) = 1": "not",
    "TRY_CAST(x AS STRUCT(a INTEGER)) = 1": "not",
    "TRY_CAST(TRY_CAST(x AS DATE) AS VARCHAR) = 'a'": "already read",
    "TRY_CAST('1' AS INTEGER) = 1": "is a literal",
    "LOWER(TRY_CAST(x AS DATE)) = 'a'": "as text",
    "TRIM(x, 'a') = 'b'": "not accepted",
    "TRIM(BOTH 'a' FROM x) = 'b'": "not accepted",
    "LOWER('A') = 'a'": "is a literal",
    "LOWER(x)": "alone",
    "COALESCE(x, y) = 1": "one literal",
    "COALESCE(x, y, 0) = 1": "one literal",
    "COALESCE(x, 0) = 'a'": "type",
    "COALESCE(x, NULL) = 1": "NULL",
    "COALESCE(TRY_CAST(x AS INTEGER), 1.5) = 1": "cannot hold",
    "LOWER(x) = 1": "type",
    "x < TRUE": "truth values",
    "x BETWEEN SYMMETRIC 1 AND 2": "not accepted",
    "x BETWEEN 1 AND y": "TRY_CAST",
    "1 = 1": "column",
    "TRUE": "constant",
    "NULL": "tests",
    "1": "tests",
    "'a'": "tests",
    "x IS 1": "IS NULL",
    "(x = 1) = TRUE": "refused",
    "(x = 1) IS NULL": "refused",
    "(x, y) = (1, 2)": "tests",
    "x[1] = 1": "tests",
    "x.y = 1": "question",
    "a.b.c = 1": "not accepted",
    "x = ?": "parameter",
    "x = $1": "parameter",
    "x = :p": "parameter",
    "x = E'a'": "tests",
    "x = $$a$$": "tests",
    "x = 'a' 'b'": "one text",
    "x || 'a' = 'b'": "tests",
    "x COLLATE NOCASE = 'a'": "tests",
    "CASE WHEN x THEN TRUE END": "CASE",
    "x = INTERVAL 1 DAY": "tests",
    "COUNT(*) > 1": "tests",
    "ROW_NUMBER() OVER () = 1": "window",
    "x = 1 AND y / 0 = 1": "division",
    "NOT (x = 1 OR length(y) = 1)": "tests",
    '"" = 1': "empty",
}  # fmt: skip


@every_case(("written", "reason"), REFUSED.items())
def test_what_can_fail_or_change_or_is_unclear_is_refused_with_the_reason(written, reason):
    with refused(InvalidInput, token=reason):
        read(written)


def test_unknown_columns_and_kinds_are_refused():
    with refused(InvalidInput, token="'y'"):
        DUCKDB.condition(read("x = 1 AND y = 1"), {"x": "integer"})
    with refused(InvalidInput, "kind", given="varchar"):
        DUCKDB.condition(read("x = 'a'"), {"x": "varchar"})


def test_a_condition_knows_its_columns():
    assert read("x = 1 AND (LOWER(y) = 'a' OR TRY_CAST(a AS DATE) < TRY_CAST(b AS DATE))").columns == set("xyab")


def test_a_condition_nested_so_deeply_that_its_text_could_not_be_read_again_is_refused():
    text = "x = 1"
    for k in range(30):
        text = f"({text}) {('AND', 'OR')[k % 2]} y = {k}"
    with refused(InvalidInput, token="deeply"):
        read(text)
