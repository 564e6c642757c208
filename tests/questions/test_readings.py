"""What is said, before a row is read, about comparisons that the types of columns make doubtful or impossible."""

from __future__ import annotations

from pathlib import Path

import discreet as dc
from discreet.errors import InvalidInput
from discreet.questions.question import read_question
from discreet.questions.readings import reading_notes
from support.grids import every_case
from support.refusals import refused

KINDS = {"t": "text", "n": "integer", "x": "number", "b": "boolean", "d": "date", "m": "timestamp", "o": "other"}


def notes(condition: str) -> tuple[str, ...]:
    return reading_notes(read_question(f"SELECT COUNT(*) FROM v WHERE {condition}", unit="row"), KINDS)


@every_case(
    ("condition", "words"),
    [
        ("t > 10", "t is stored as text; values that are not numbers are ignored by t > 10"),
        ("t IN (1, 2)", "not numbers"),
        ("COALESCE(t, 0) > 1", "not numbers"),
        ("t >= DATE '2020-01-31'", "not dates"),
        ("t < TIMESTAMP '2020-01-31 10:00'", "not moments"),
        ("t", "not truth values"),
        ("n = '10'", "leave the quotes out"),
        ("n > '10'", "leave the quotes out"),
        ("t > '10'", "leave the quotes out"),
        ("b = 'TRUE'", "write b = TRUE"),
    ],
)  # fmt: skip
def test_a_doubtful_comparison_is_told(condition: str, words: str) -> None:
    (told,) = notes(condition)
    assert words in told


@every_case(
    "condition",
    [
        "t = 'a'", "t > 'm'", "n > 10", "x > 1.5", "b", "b = 1", "d > DATE '2020-01-31'",
        "m > DATE '2020-01-31'", "d = '2020-01-31'", "TRY_CAST(t AS DOUBLE) > 10", "LOWER(t) = 'a'", "t IS NULL",
        "t LIKE '1%'", "o = 1", "TRY_CAST(t AS DOUBLE) < TRY_CAST(n AS DOUBLE)",
    ],
)  # fmt: skip
def test_nothing_is_told_of_what_fits(condition: str) -> None:
    assert notes(condition) == ()


@every_case(
    ("condition", "instead"),
    [
        ("d > 1980", "DATE '2020-01-31'"), ("m = 2020", "DATE"), ("n > DATE '2020-01-31'", "Write a number"),
        ("x = TIMESTAMP '2020-01-31 10:00'", "Write a number"), ("d", "DATE"), ("t = 'a' OR d IN (1, 2)", "DATE"),
        ("n = '5' OR n = 'abc'", "n = 5"),
    ],
)  # fmt: skip
def test_a_comparison_that_no_row_can_meet_is_refused(condition: str, instead: str) -> None:
    with refused(InvalidInput, token=f"no row can ... {instead}"):
        notes(condition)


def test_each_column_is_told_once_and_counts_are_looked_at_too() -> None:
    question = read_question("SELECT COUNT_IF(t > 1 OR t > 2), COUNT_IF(n > '3') FROM v", unit="row")
    assert [note.split(" is stored")[0].split(" compares")[0] for note in reading_notes(question, KINDS)] == [
        "t", "n > '3'",
    ]  # fmt: skip


def test_the_plan_says_it_and_the_key_of_the_question_stays_the_same(tmp_path: Path) -> None:
    file = tmp_path / "v.csv"
    file.write_text("health,age\npoor,7\n", encoding="utf-8")
    asked = {"data": file, "unit": "row", "epsilon": 1}
    plan = dc.plan_release("SELECT COUNT(*) FROM v WHERE health > 10", **asked)
    assert "health is stored as text" in str(plan) and plan.to_json()["notes"] == list(plan.notes)
    absent = dc.plan_release("SELECT COUNT(*) FROM v WHERE health > 10", **{**asked, "data": tmp_path / "no" / "v.csv"})
    assert absent.notes == () and absent.key == plan.key
