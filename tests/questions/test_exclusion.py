"""How many conditions one row can meet: a bound that no row exceeds, and that is reached."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from discreet.questions.exclusion import most_together
from support.grids import every_case
from support.random_conditions import COMPARE, TABLE, read, wishes
from support.tiers import examples


@every_case(
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


@examples(80)
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
