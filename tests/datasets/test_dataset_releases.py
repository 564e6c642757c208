"""``discreet release`` finds the data set that declares the table, and lets nobody replace what it fixes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import typer

import discreet as dc
from datasets.conftest import SQL, write_people
from discreet.cli import dataset as verbs
from discreet.errors import BudgetExceeded, InvalidInput
from support.command_line import invoke, run
from support.refusals import refused

ASK = ("release", SQL, "--max-groups", 1, "--epsilon", 1)
OPTIONS = ("--data", "data/visits.csv", "--unit", "person", "--domain", "site=1..3", "--domain", "health=good,poor")


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def test_a_declared_table_is_planned_released_and_verified(here: Path) -> None:
    plan = run(*ASK, "--plan")
    assert "visits.toml" in plan.stdout and "would be paid" in plan.stdout
    done = run(*ASK, "-o", "out")
    assert "epsilon 9" in done.stdout and "visits.toml" in done.stdout
    run("verify", "out")


def test_the_key_is_that_of_todays_options(here: Path) -> None:
    keys = [json.loads(run(*ASK, "--plan", "--json", *more).stdout)["key"] for more in ((), OPTIONS)]
    assert keys[0] == keys[1]


def test_two_that_declare_it_are_an_error_and_links_out_of_the_folder_are_not_followed(here: Path) -> None:
    (here / "copy.toml").write_text((here / "visits.toml").read_text())
    with refused(InvalidInput, "dataset", token="copy.toml ... visits.toml"):
        invoke(*ASK, "--plan")
    run(*ASK, "--plan", "--dataset", "copy.toml")
    (here / "inner").mkdir()
    os.symlink(here / "visits.toml", here / "inner" / "visits.toml")
    os.chdir(here / "inner")
    with refused(InvalidInput, "data"):
        invoke(*ASK, "--plan")


def test_what_the_file_fixes_cannot_be_given(here: Path) -> None:
    for option, value, argument in (
        ("--unit", "row", "unit"), ("--ledger", "x", "ledger"), ("--relation", "substitution", "relation"),
        ("--data", "data/visits.csv", "edition"),
    ):  # fmt: skip
        with refused(InvalidInput, argument):
            invoke(*ASK, "--plan", "--dataset", "visits.toml", option, value)
    with refused(InvalidInput, "data", token="people"):
        invoke("release", "SELECT COUNT(*) FROM people", "--epsilon", 1, "--plan")


def test_another_edition_is_released_from_its_own_file(here: Path) -> None:
    write_people(here / "visits_q2.csv", 60)
    line = (*ASK, "--dataset", "visits.toml", "--data", "visits_q2.csv", "--edition", "Q2")
    assert "visits_q2.csv" in run(*line, "--plan").stdout
    run(*line, "-o", "Q2")
    run("verify", "Q2")


@pytest.mark.parametrize("answer", [True, False])
def test_a_person_is_asked_before_anything_is_spent(answer: bool, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verbs, "on_terminal", lambda: True)
    monkeypatch.setattr(typer, "confirm", lambda _: answer)
    assert "would be paid" in invoke(*ASK, "-o", "out").stdout
    assert bool(dc.Dataset.open("visits.toml").budget.spent.epsilon) is answer


def test_the_question_names_what_the_ledger_counts(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rho of geometric noise is not spent from a budget of epsilon."""
    questions: list[str] = []
    monkeypatch.setattr(verbs, "on_terminal", lambda: True)
    monkeypatch.setattr(typer, "confirm", lambda question: bool(questions.append(question)))
    invoke(*ASK, "-o", "out")
    assert len(questions) == 1 and "epsilon 1" in questions[0] and "rho" not in questions[0]


def test_nobody_is_asked_about_a_release_that_would_be_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verbs, "on_terminal", lambda: True)
    monkeypatch.setattr(typer, "confirm", lambda _: pytest.fail("asked"))
    with pytest.raises(BudgetExceeded):
        invoke("release", SQL, "--max-groups", 1, "--epsilon", 11, "-o", "out")


def test_what_is_fixed_is_named_as_it_was_typed(here: Path) -> None:
    for option in ("--unit", "--ledger", "--unit-name", "--relation"):
        said = run(*ASK, "--plan", option, "x", code=2).stderr
        assert f" {option} " in said and "visits.toml" in said


def test_a_name_without_data_is_told_from_the_file(here: Path) -> None:
    with refused(InvalidInput, "dataset", token="visits.toml"):
        invoke(*ASK, "--plan", "--dataset", "visits")
    json.loads(run(*ASK, *OPTIONS, "--dataset", "visits", "--edition", "1", "--plan", "--json").stdout)


def test_the_nearest_table_of_the_folder_is_named(here: Path) -> None:
    with refused(InvalidInput, "data", token="mean visits"):
        invoke("release", "SELECT COUNT(*) FROM visit", "--epsilon", 1, "--plan")


def test_every_form_of_a_plan_says_what_is_left(here: Path) -> None:
    assert json.loads(run(*ASK, "--plan", "--json").stdout)["left"]["epsilon"] == "9"
    os.rename(here / "data", here / "elsewhere")
    plan = run(*ASK, "--plan").stdout
    assert "checked" in plan and "epsilon 10" in plan


def test_a_file_that_changed_after_its_answer_is_pointed_out(here: Path) -> None:
    run(*ASK, "-o", "first")
    os.utime(here / "data" / "visits.csv", (4e9, 4e9))
    again = run(*ASK, "-o", "second")
    assert "was changed on" in again.stderr and "--edition NAME" in again.stdout


def test_another_edition_of_a_request_file_is_asked_for_as_an_option(here: Path) -> None:
    run("release", SQL, *ASK[2:], *OPTIONS, "--plan", "--write", "request.toml")
    write_people(here / "visits_q2.csv", 60)
    said = run("release", "request.toml", "--data", "visits_q2.csv", "--plan", code=2).stderr
    assert "Name it: --edition 2026-Q2" in said
