"""A condition that is accepted means what is stated on every kind of value, and fails on no row."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from discreet.engines.duckdb.dialect import DUCKDB
from discreet.questions.exclusion import most_together
from discreet.questions.expressions import READINGS
from support.grids import every_case
from support.random_conditions import KINDS, KNOWN, ROWS, TABLE, quoted, read, value_of, wishes
from support.tiers import examples


@every_case("type_", READINGS)
@every_case("column", TABLE)
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


@examples(100)
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


@examples(80)
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
        assert engine.execute(f"WITH t AS (SELECT 1 AS {quoted(text)}) SELECT {sql} FROM t")


def test_a_collation_of_the_column_does_not_make_exclusive_conditions_overlap(engine):
    """Without care, 'a' = 'A' in a column declared NOCASE, and one row would count twice where once was promised."""
    conditions = [read("folded = 'abc'"), read("folded = 'ABC'"), read("folded IN ('ABC', 'x')")]
    assert most_together(conditions[:2]) == 1
    sums = " + ".join(f"CAST(({DUCKDB.condition(c, KINDS)}) AS INTEGER)" for c in conditions[:2])
    assert engine.execute(f"SELECT MAX({sums}) FROM rows").fetchone()[0] == 1
    assert engine.execute("SELECT COUNT(*) FROM rows WHERE folded = 'abc' AND folded = 'ABC'").fetchone()[0] > 0


@examples(80)
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
