"""Several planned releases against what is left: what is paid is decided for all of them together."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.errors import DiscreetError, InvalidInput, UnreadableFile, WrongType
from discreet.ledger.ledger import Cost
from support.command_line import run
from support.grids import every_case
from support.refusals import Parts, refused

HEAD = 'format = "discreet budget plan"\nledger = "visits.ledger"\n'
SQL = "SELECT site, COUNT(*) FROM visits GROUP BY site"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text("person,site\nann,1\nbob,2\n", encoding="utf-8")
    dc.Ledger.create(tmp_path / "visits.ledger", dataset="visits", unit="person", epsilon=2)
    dc.write_request(
        tmp_path / "by_site.toml", SQL, data=tmp_path / "visits.csv", unit="person", domain={"site": [1, 2]},
        max_groups=1, epsilon="0.5",
    )  # fmt: skip
    return tmp_path


def planned(folder: Path, text: str, **options: Any) -> dc.BudgetPlan:
    (folder / "year.toml").write_text(HEAD + text, encoding="utf-8")
    return dc.plan_budget(folder / "year.toml", **options)


def verdicts(plan: dc.BudgetPlan) -> list[str]:
    return [release.verdict for release in plan.releases]


def test_two_plans_of_one_and_a_half_are_not_both_paid_from_two(folder: Path) -> None:
    plan = planned(folder, "[[releases]]\nepsilon = 1.5\n[[releases]]\nepsilon = 1.5\n")
    assert verdicts(plan) == ["paid", "refused"] and not plan.fits
    assert (plan.together.epsilon, plan.left.epsilon) == (3, 2) and plan.missing == Cost(Fraction(1))
    assert [release.left.epsilon for release in plan.releases] == [Fraction(1, 2)] * 2


def test_what_exactly_exhausts_the_budget_is_paid(folder: Path) -> None:
    plan = planned(folder, "[[releases]]\nepsilon = 0.1\ntimes = 20\n")
    assert plan.fits and len(plan.releases) == 20 and plan.releases[-1].left.epsilon == 0
    assert not planned(folder, '[[releases]]\nepsilon = 0.1\ntimes = 20\n[[releases]]\nepsilon = "1e-9"').fits


def test_a_smaller_release_after_a_refused_one_is_paid_but_not_all_fit(folder: Path) -> None:
    plan = planned(folder, "[[releases]]\nepsilon = 3\n[[releases]]\nepsilon = 1\nname = 'small'\n")
    assert verdicts(plan) == ["refused", "paid"] and not plan.fits and plan.releases[1].name == "small"


def test_a_request_costs_what_it_says_for_every_edition_and_is_free_again(folder: Path) -> None:
    text = '[[releases]]\nrequest = "by_site.toml"\neditions = ["Q1", "Q2", "Q3", "Q1"]\n'
    plan = planned(folder, text)
    assert verdicts(plan) == ["paid"] * 3 + ["recorded"] and plan.together.epsilon == Fraction(3, 2)
    asked = dc.open_request(folder / "by_site.toml", edition="Q2")
    dc.release_counts(asked.request, data=folder / "visits.csv", ledger=folder / "visits.ledger")
    after = planned(folder, text)
    assert verdicts(after) == ["paid", "recorded", "paid", "recorded"] and after.together.epsilon == 1
    assert after.left.epsilon == Fraction(3, 2) and after.fits


def test_a_plan_says_what_the_releases_then_do(folder: Path) -> None:
    """Carried out in its order, each release is paid or refused as the plan said."""
    editions = [f"Q{k}" for k in range(5)]
    plan = planned(folder, f'[[releases]]\nrequest = "by_site.toml"\neditions = {editions}\n')
    book = dc.Ledger.open(folder / "visits.ledger")
    for release in plan.releases:
        asked = dc.open_request(folder / "by_site.toml", edition=release.edition)
        try:
            dc.release_counts(asked.request, data=folder / "visits.csv", ledger=book)
        except dc.errors.BudgetExceeded:
            assert release.verdict == "refused"
        else:
            assert release.verdict == "paid" and book.left() == release.left
    assert verdicts(plan) == ["paid"] * 4 + ["refused"]


def test_a_request_of_a_dataset_is_planned_by_its_file(folder: Path) -> None:
    data = dc.Dataset(
        name="visits", data=folder / "visits.csv", unit="person", columns={"site": [1, 2]},
        ledger=folder / "visits.ledger",
    )  # fmt: skip
    data.save(folder / "visits.toml")
    dc.write_request(folder / "asked.toml", SQL, dataset=str(folder / "visits.toml"), max_groups=1, epsilon=1)
    plan = planned(folder, '[[releases]]\nrequest = "asked.toml"\neditions = ["a", "b"]\n')
    assert plan.fits and plan.releases[-1].left.epsilon == 0


def test_data_that_does_not_exist_yet_can_be_planned(folder: Path) -> None:
    (folder / "visits.csv").unlink()
    assert planned(folder, '[[releases]]\nrequest = "by_site.toml"\n').fits


def test_rho_adds_up_in_a_ledger_of_that_kind(folder: Path) -> None:
    book = dc.Ledger.create(
        folder / "rho.ledger", dataset="visits", unit="person", epsilon=1, delta="1e-6", filter="zcdp"
    )
    plans = {n: planned(folder, f"[[releases]]\nepsilon = 0.05\ntimes = {n}\n", ledger=book) for n in (19, 20)}
    assert (
        plans[19].fits and not plans[20].fits
    )  # 20 times 0.05 fits an epsilon of 1 by sum, and 0.025 not a rho of 0.0244
    with refused(InvalidInput, token="zcdp"):
        planned(folder, '[[releases]]\nepsilon = 1\ndelta = "1e-9"\n', ledger=book)


def test_nothing_is_spent_and_nothing_reserved(folder: Path) -> None:
    planned(folder, '[[releases]]\nrequest = "by_site.toml"\n')
    assert not dc.Ledger.open(folder / "visits.ledger").entries()


REFUSALS: dict[str, tuple[str, type[DiscreetError], Parts]] = {
    "no releases": ("", InvalidInput, {"argument": "releases"}),
    "neither": ("[[releases]]\nname = 'x'\n", InvalidInput, {"token": "release 1"}),
    "both": ("[[releases]]\nepsilon = 1\nrequest = 'by_site.toml'\n", InvalidInput, {"token": "release 1"}),
    "an unknown key": ("[[releases]]\nepsilonn = 1\nepsilon = 1\n", InvalidInput, {"token": "epsilon?"}),
    "times": ("[[releases]]\nepsilon = 1\ntimes = 0\n", InvalidInput, {"argument": "times", "given": 0}),
    "no number": ("[[releases]]\nepsilon = 'much'\n", InvalidInput, {}),
    "nothing": ("[[releases]]\nepsilon = 0\n", InvalidInput, {"argument": "epsilon"}),
    "negative": ("[[releases]]\nepsilon = -1\n", InvalidInput, {}),
    "a missing request": ("[[releases]]\nrequest = 'nix.toml'\n", UnreadableFile, {"token": "nix.toml"}),
    "a number as request": ("[[releases]]\nrequest = 1\n", WrongType, {"argument": "request"}),
    "one edition": ("[[releases]]\nrequest = 'by_site.toml'\neditions = 'Q1'\n", WrongType, {}),
    "another key": ("title = 'x'\n[[releases]]\nepsilon = 1\n", InvalidInput, {"token": "'title'"}),
}


@every_case("name", REFUSALS)
def test_mistakes_in_a_plan_are_named_with_their_place(name: str, folder: Path) -> None:
    text, kind, parts = REFUSALS[name]
    with refused(kind, **parts):
        planned(folder, text)


def test_a_request_of_other_people_is_refused(folder: Path) -> None:
    dc.Ledger.create(folder / "other.ledger", dataset="births", unit="person", epsilon=2)
    with refused(InvalidInput, token="'births'"):
        planned(folder, '[[releases]]\nrequest = "by_site.toml"\n', ledger=folder / "other.ledger")


@every_case("text", ["", "format = 'discreet dataset'", "epsilon = ", 'format = "discreet budget plan"\nversion = 2'])
def test_another_file_is_refused(text: str, folder: Path) -> None:
    (folder / "year.toml").write_text(text, encoding="utf-8")
    with refused(UnreadableFile, token="year.toml"):
        dc.plan_budget(folder / "year.toml")


def test_the_command_ends_with_1_if_not_all_fit(folder: Path) -> None:
    planned(folder, "[[releases]]\nepsilon = 1.5\ntimes = 2\n")
    shown = run("ledger", "plan", "year.toml", code=1, cwd=folder)
    assert "epsilon 1 is missing" in shown.stdout
    planned(folder, "[[releases]]\nepsilon = 1.5\n")
    assert "all would be paid" in run("ledger", "plan", "year.toml", code=0, cwd=folder).stdout
