"""A data set in Python: declared once, asked many times; plans are bound, releases are not."""

from __future__ import annotations

import pickle
from pathlib import Path

import pandas as pd
import pytest

import discreet as dc
from datasets.conftest import SQL, write_people
from discreet.datasets.editions import edition_file
from discreet.errors import BudgetExceeded, InvalidInput, UnreadableFile, WrongType
from support.refusals import refused

ASKED = {"max_groups": 1, "epsilon": 1}
DOMAIN = ["site=1..3", "health=good,poor"]


@pytest.fixture
def visits(folder: Path) -> dc.Dataset:
    return dc.Dataset.open(folder / "visits.toml")


def test_the_same_question_has_the_same_key_in_every_form(visits: dc.Dataset, folder: Path) -> None:
    today = dc.plan_release(SQL, data=folder / "data" / "visits.csv", unit="person", domain=DOMAIN, **ASKED).key
    assert visits.plan(SQL, **ASKED).key == today
    assert visits.plan(by=["site", "health"], **ASKED).key == today
    assert visits.plan(SQL, domain=["health=poor,good"], **ASKED).key == today
    edition = dc.plan_release(
        SQL, data=folder / "data" / "visits.csv", unit="person", domain=DOMAIN, edition="Q1", **ASKED
    ).key
    assert visits.plan(SQL, edition="Q1", **ASKED).key == edition != today


def test_columns_that_are_not_grouped_by_are_not_used(visits: dc.Dataset) -> None:
    assert visits.plan(by=["site"], where="age > 30", **ASKED).cells == 3
    assert visits.plan("SELECT COUNT(*) FROM visits", **ASKED).cells == 1
    assert visits.plan(by="site", domain={"site": [1, 2]}, **ASKED).overrides == ("domain of site",)
    with refused(InvalidInput, "domain", token="age"):
        visits.plan(by=["age"], **ASKED)
    with refused(InvalidInput, "domain", token="dataset add-column ... visits.toml"):
        visits.plan(by=["age"], **ASKED)
    with refused(InvalidInput, "domain", token="add-column"):  # also where another column is declared
        visits.plan(by=["site", "age"], **ASKED)
    in_memory = dc.Dataset(name="visits", data=pd.DataFrame({"person": ["a"], "age": [3]}), unit="person")
    with refused(InvalidInput, token="columns"):  # there is no file to add to
        in_memory.plan(by=["age"], **ASKED)
    assert visits.plan(by=["age"], bands={"age": [20, 40, 70]}, **ASKED).cells == 2


def test_a_plan_is_shown_with_the_ledgers_decision_and_then_released(visits: dc.Dataset, folder: Path) -> None:
    plan = visits.plan(SQL, **ASKED)
    assert repr(plan).startswith("<BoundPlan: 6 counts of visits") and "\n" not in repr(plan)
    assert "would be paid" in str(plan) and "visits.toml" in str(plan) and "would be paid" in plan._repr_html_()
    assert plan.preview().verdict == "paid" and plan.to_json()["declared_in"] == "visits.toml"
    released = plan.release(folder / "out")
    assert dc.verify_bundle(folder / "out", ledger=folder / "visits.ledger").holds
    assert [str(one.epsilon) for one in visits.budget] == ["10", "1", "9"]
    assert str(visits.budget) == "epsilon 9 left of epsilon 10" and str(visits.budget.spent) == "epsilon 1"
    assert plan.preview().verdict == "recorded" and plan.release().rows() == released.rows()


def test_a_release_keeps_the_plan_alone(visits: dc.Dataset, folder: Path) -> None:
    plan = visits.plan(SQL, **ASKED)
    with refused(WrongType, token=".plan"):
        pickle.dumps(plan)
    released = plan.release()
    kept = pickle.dumps(released)
    assert type(released.plan) is dc.Plan
    assert str(folder).encode() not in kept and b"visits.csv" not in kept and b"Source" not in kept
    assert pickle.loads(kept).rows() == released.rows()


def test_other_data_needs_an_edition_which_is_bound_to_its_file(visits: dc.Dataset, folder: Path) -> None:
    second, third = folder / "visits_q2.csv", folder / "visits_q3.csv"
    for file in (second, third):
        write_people(file, 60)
    with refused(InvalidInput, "edition"):
        visits.with_data(second, edition="")
    first = visits.plan(SQL, **ASKED).release()
    later = visits.with_data(second, edition="Q2")
    released = later.plan(SQL, **ASKED).release()
    assert released.fresh and first.plan.key != released.plan.key
    assert not later.plan(SQL, **ASKED).release().fresh
    other = visits.with_data(third, edition="Q2").plan(SQL, **ASKED)
    with refused(InvalidInput, "edition", token="visits_q2.csv"):
        other.release()
    with refused(InvalidInput, "edition", token="visits_q2.csv"):
        other.preview()
    assert visits.with_data(third, edition="Q3").plan(SQL, **ASKED).release().fresh
    assert str(visits.budget.spent.epsilon) == "3" and visits.ledger.verify().holds


def test_a_declaration_that_names_another_file_does_not_get_the_old_answer(visits: dc.Dataset, folder: Path) -> None:
    visits.plan(SQL, **ASKED).release()
    write_people(folder / "data" / "visits_q2.csv")
    file = folder / "visits.toml"
    file.write_text(file.read_text().replace("data/visits.csv", "data/visits_q2.csv"))
    changed = dc.Dataset.open(file)
    plan = changed.plan(SQL, **ASKED)
    with refused(InvalidInput, "edition", token="visits_q2.csv"):
        plan.preview()
    with refused(InvalidInput, "edition", token="visits_q2.csv"):
        plan.release()
    assert plan.edition == "visits_q2" and changed.plan(SQL, **ASKED, edition="Q2").release().fresh


def test_the_declaration_fixes_unit_relation_and_name(visits: dc.Dataset) -> None:
    for name, value in (("unit", "row"), ("relation", "substitution"), ("dataset", "other")):
        with refused(InvalidInput, name, token="visits.toml"):
            visits.plan(SQL, **ASKED, **{name: value})
    with refused(InvalidInput, token="people"):
        visits.plan("SELECT COUNT(*) FROM people", **ASKED)
    with refused(InvalidInput, "by"):
        visits.plan(SQL, by=["site"], **ASKED)


def test_a_table_in_memory_is_a_data_set_too(folder: Path) -> None:
    frame = pd.read_csv(folder / "data" / "visits.csv")
    columns = {"site": range(1, 4), "age": {"bands": [20, 40, 70]}}
    visits = dc.Dataset(
        name="visits", data=frame, unit="person", columns=columns, ledger=dc.Ledger.open(folder / "visits.ledger")
    )
    assert len(visits.plan(by=["site", "age"], **ASKED).release().rows()) == 6
    with refused(InvalidInput, "data"):
        visits.save(folder / "memory.toml")
    other = dc.Dataset(name="visits", data=folder / "data/visits.csv", unit="row", ledger=folder / "visits.ledger")
    with refused(InvalidInput, "ledger", token="unit"):
        other.plan("SELECT COUNT(*) FROM visits", epsilon=1)


def test_a_data_set_is_saved_and_opened_again(folder: Path) -> None:
    made = dc.Dataset(
        name="visits", data=folder / "data/visits.csv", unit="person",
        columns={"site": range(1, 4), "health": ["good", "poor"]}, ledger=folder / "visits.ledger",
    )  # fmt: skip
    again = dc.Dataset.open(made.save(folder / "again.toml"))
    assert again.plan(SQL, **ASKED).key == made.plan(SQL, **ASKED).key


def test_data_that_is_missing_is_planned_for_and_not_released(visits: dc.Dataset, folder: Path) -> None:
    (folder / "data" / "visits.csv").unlink()
    plan = visits.plan(SQL, **ASKED)
    assert plan.cells == 6 and "not be checked" in str(plan)
    with refused(UnreadableFile, token="visits.csv"):
        plan.release()
    assert not visits.budget.spent.epsilon


def test_what_is_refused_binds_no_file(visits: dc.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger learns which file an edition is after the rehearsal, and only if the budget pays."""
    book, plan = visits.ledger, visits.plan(SQL, edition="E", **ASKED)
    before = len(book.entries())
    with monkeypatch.context() as broken:
        broken.setattr("discreet.release.counts._rehearse", _without_room)
        with refused(InvalidInput, "out"):
            plan.release()
    with refused(BudgetExceeded, token="50"):
        visits.plan(SQL, edition="E", max_groups=1, epsilon=50).release()
    assert edition_file(book, "visits", "E") is None and len(book.entries()) == before
    plan.release()
    assert edition_file(book, "visits", "") == "data/visits.csv"


def _without_room(*_: object) -> None:
    raise InvalidInput("there is no room.", argument="out")


def test_a_condition_is_read_by_itself(visits: dc.Dataset) -> None:
    """A remark once swallowed the GROUP BY behind it, and the refusal spoke of columns that are not grouped by."""
    plain = visits.plan(by=["site"], where="age > 30", **ASKED)
    for where in ("age > 30 -- adults", "age > 30 /* adults */", "(age > 30)", "age > 30 --\n"):
        assert visits.plan(by=["site"], where=where, **ASKED).key == plain.key
    assert visits.plan(by=["site"], where="health <> '--'", **ASKED).cells == 3
    assert visits.plan(by=["site"], where="age > -1 AND health = 'a/b#c'", **ASKED).cells == 3


@pytest.mark.parametrize(
    "where",
    ["age > 30) OR (age < 5", "age > 30) GROUP BY (health", "age > 30; SELECT 1", "age >", "", "age > 30 LIMIT 5",
     "age > 30) -- (", "age > 30 /*", 5],
)  # fmt: skip
def test_what_is_not_one_condition_is_refused(visits: dc.Dataset, where: object) -> None:
    with refused(InvalidInput):
        visits.plan(by=["site"], where=where, **ASKED)  # type: ignore[arg-type]
