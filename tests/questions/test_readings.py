"""What is said, before a row is read, about comparisons that the types of columns make doubtful or impossible."""

from __future__ import annotations

from pathlib import Path

import discreet as dc
from discreet.errors import InvalidInput
from discreet.questions.question import read_question
from discreet.questions.readings import reading_notes, undeclared_notes
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


DECLARED = {"health": ["good", "poor", None], "site": range(1, 7)}


@every_case(
    ("condition", "odd"),
    [
        ("health = 'bad'", ["'bad'"]),
        ("health <> 'bad'", ["'bad'"]),
        ("site = 9", ["9"]),
        ("site IN (1, 9, 10)", ["9", "10"]),
        ("NOT site IN (9)", ["9"]),
        ("health = 'bad' OR (site = 9 AND age = 3)", ["'bad'", "9"]),
        ("health = 'good' AND site IN (1, 6)", []),
        ("site = '6'", []),
        ("age = 200", []),
        ("LOWER(health) = 'bad'", []),
        ("site > 9", []),
        ("health IS NULL", []),
        ("health LIKE 'b%'", []),
    ],
)
def test_a_constant_that_is_not_declared_is_told(condition: str, odd: list[str]) -> None:
    question = read_question(f"SELECT COUNT(*) FROM v WHERE {condition}", unit="row")
    told = undeclared_notes(question, DECLARED.get)
    assert [note.partition(" compares with ")[2].partition(", which")[0] for note in told] == odd
    counted = read_question(f"SELECT COUNT_IF({condition}) FROM v", unit="row")
    assert len(undeclared_notes(counted, DECLARED.get)) == len(odd)


def test_the_plan_of_a_data_set_tells_constants_that_it_does_not_declare(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("person,site,health\nann,1,good\n")
    columns = {"site": range(1, 7), "health": ["good", "poor"], "person": ["ann", ...]}
    data = dc.Dataset(name="v", data=tmp_path / "v.csv", unit="row", columns=columns)

    def told(where: str, **fields: object) -> list[str]:
        plan = data.plan(by=["site"], where=where, epsilon=1, **fields)  # type: ignore[arg-type]
        return [note for note in plan.notes if "declared values" in note]

    assert len(told("health = 'bad'")) == len(told("SITE = 9")) == 1
    assert told("health = 'good' AND site = 6") == told("person = 'eve'") == []
    assert told("site = 9", domain={"site": range(1, 12)}) == []
    plans = [data.plan(by=["site"], where=f"health = '{value}'", epsilon=1) for value in ("bad", "bad")]
    assert plans[0].key == plans[1].key and "notes" not in plans[0].request
