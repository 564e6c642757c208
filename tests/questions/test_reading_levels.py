"""ROLLUP, CUBE and GROUPING SETS: what they mean, their normal form, and what is refused."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput
from discreet.questions.levels import MAX_LEVELS, grouping_number, is_chain, levels_text, order_levels, with_totals
from discreet.questions.question import read_question
from discreet.questions.resolve.views import expand_view
from support.grids import every_case
from support.refusals import refused

ASKED = {
    "GROUP BY ROLLUP (a, b)": (((0, 1), (0,), ()), "ROLLUP (a, b)"),
    "GROUP BY CUBE (a, b)": (((0, 1), (0,), (1,), ()), "CUBE (a, b)"),
    "GROUP BY a, ROLLUP (b)": (((0, 1), (0,)), "GROUPING SETS ((a, b), (a))"),
    "GROUP BY ROLLUP (a), ROLLUP (b)": (((0, 1), (0,), (1,), ()), "CUBE (a, b)"),
    "GROUP BY ROLLUP ((a, b))": (((0, 1), ()), "GROUPING SETS ((a, b), ())"),
    "GROUP BY GROUPING SETS ((b, a), (b), b, ())": (((0, 1), (0,), ()), "ROLLUP (b, a)"),
    "GROUP BY GROUPING SETS (CUBE (a, b), (a))": (((0, 1), (0,), (1,), ()), "CUBE (a, b)"),
    "GROUP BY GROUPING SETS ((a, b))": ((), "a, b"),
    "GROUP BY GROUPING SETS (b, (), (a))": (((0,), (1,), ()), "GROUPING SETS ((b), (a), ())"),
    "GROUP BY (a), b": ((), "a, b"),
}


@every_case("clause", ASKED)
def test_levels_are_read_and_written_in_one_form(clause: str) -> None:
    levels, text = ASKED[clause]
    question = read_question(f"SELECT a, b, GROUPING(a, b), COUNT(*) FROM t {clause}" if levels else
                             f"SELECT a, b, COUNT(*) FROM t {clause}", unit="row")  # fmt: skip
    assert question.levels == levels
    assert question.text.endswith(f"FROM t GROUP BY {text}") and "GROUPING(" not in question.text
    assert read_question(question.text, unit="row") == question


def test_sets_without_one_of_all_columns_are_separate_tables() -> None:
    sql = "SELECT a, b, c, COUNT(*) FROM t GROUP BY {}"
    assert read_question(sql.format("GROUPING SETS ((a, b), (c))"), unit="row").asks_separate_tables
    for clause in ("GROUPING SETS ((a, b, c), ())", "ROLLUP (a, b, c)", "a, b, c"):
        assert not read_question(sql.format(clause), unit="row").asks_separate_tables


REFUSED = {
    "SELECT a, GROUPING(a), COUNT(*) FROM t GROUP BY a": "no totals",
    "SELECT a, b, COUNT(*) FROM t GROUP BY a, b WITH ROLLUP": "ROLLUP (region, county)",
    "SELECT a, COUNT(*) FROM t GROUP BY ROLLUP (a, b)": "not selected",
    "SELECT a, COUNT(*) FROM t GROUP BY ROLLUP (a + 1)": "by a column",
    "SELECT a,b,c,d,e,f,g, COUNT(*) FROM t GROUP BY CUBE (a,b,c,d,e,f,g)": f"{MAX_LEVELS} levels",
}


@every_case("sql", REFUSED)
def test_what_cannot_be_answered_is_refused_with_advice(sql: str) -> None:
    with refused(InvalidInput, token=REFUSED[sql]):
        read_question(sql, unit="row")


@given(st.integers(1, 4), st.data())
def test_every_set_of_levels_has_one_text_that_means_it(columns: int, data: st.DataObject) -> None:
    everything = [one for size in range(columns + 1) for one in combinations(range(columns), size)]
    some = data.draw(st.lists(st.sampled_from(everything)))
    levels = order_levels([tuple(range(columns)), *some])
    names = list("abcd")[:columns]
    if levels:
        text = levels_text(levels, names)
        again = read_question(f"SELECT {', '.join(names)}, COUNT(*) FROM t GROUP BY {text}", unit="row")
        assert sorted(tuple(sorted(names.index(again.by[k]) for k in level)) for level in again.levels) == sorted(
            levels
        )


def test_totals_over_columns_are_all_combinations_of_them() -> None:
    assert with_totals("abc", "ac", str) == ((0, 1, 2), (0, 1), (1, 2), (1,))
    assert is_chain(((0, 1), (0,), ())) and not is_chain(((0, 1), (0,), (1,)))


def test_grouping_is_that_of_sql() -> None:
    import duckdb

    rows = duckdb.sql(
        "SELECT GROUPING(a, b), a, b FROM (VALUES (1, 2)) t(a, b) GROUP BY CUBE (a, b) ORDER BY 1"
    ).fetchall()
    own = {grouping_number(level, 2): level for level in ((0, 1), (0,), (1,), ())}
    assert [tuple(k for k, value in enumerate(row[1:]) if value is not None) for row in rows] == [
        own[k] for k in range(4)
    ]


def test_levels_survive_binding_and_views() -> None:
    question = read_question("SELECT Sex, age, COUNT(*) FROM v GROUP BY ROLLUP (Sex, age)", unit="row")
    assert question.bind(["sex", "age"]).text.endswith("ROLLUP (sex, age)")
    behind = expand_view(question, "CREATE VIEW v AS SELECT gender AS sex, age FROM people")
    assert behind.text == "SELECT gender, age, COUNT(*) FROM people GROUP BY ROLLUP (gender, age)"
