"""No file gets the recorded answer of another, and no answer a second name of its unit, whatever is edited."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import discreet as dc
from discreet.datasets.create import check_dataset
from discreet.errors import InvalidInput
from support.refusals import refused

SQL = "SELECT site, COUNT(*) FROM visits GROUP BY site"
ASK = {"max_groups": 1, "epsilon": 1}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with two files of the same columns and a ledger."""
    monkeypatch.chdir(tmp_path)
    for folder, people, names in (("a", 300, ("2026", "visits", "Q2")), ("b", 60, ("2027", "visits", "Q2"))):
        Path(folder).mkdir()
        for name in names:
            rows = "".join(f"{k},{1 if folder == 'a' else 2}\n" for k in range(people))
            Path(folder, f"{name}.csv").write_text("person,site\n" + rows, encoding="utf-8")
    dc.Ledger.create("visits.ledger", dataset="visits", unit="person", epsilon=20)
    return tmp_path


def declared(data: str, more: str = "") -> dc.Dataset:
    text = f'format = "discreet dataset"\ndataset = "visits"\nunit = "person"\n{more}\nledger = "visits.ledger"\n'
    text += f'[tables.visits]\ndata = "{data}"\n[columns]\nsite = "1..2"\n'
    Path("visits.toml").write_text(text, encoding="utf-8")
    return dc.Dataset.open("visits.toml")


def test_the_name_of_a_file_is_not_the_edition_of_another(here: Path) -> None:
    declared("a/2026.csv").plan(SQL, **ASK).release()
    with refused(InvalidInput, token="a/2026.csv ... b/2027.csv"):
        declared("b/2027.csv").plan(SQL, edition="2026", **ASK).release()


def test_an_edition_is_not_the_name_of_another_file(here: Path) -> None:
    declared("a/visits.csv").plan(SQL, edition="Q2", **ASK).release()
    with refused(InvalidInput, token="a/visits.csv ... b/Q2.csv"):
        declared("b/Q2.csv").plan(SQL, **ASK).release()


def release_without_a_dataset(edition: str = "E") -> None:
    dc.release_counts(
        SQL, data="a/visits.csv", unit="person", domain={"site": [1, 2]}, edition=edition, ledger="visits.ledger", **ASK
    )


def test_an_edition_that_was_answered_unbound_is_refused(here: Path) -> None:
    release_without_a_dataset()
    with refused(InvalidInput, token="'E'"):
        declared("b/visits.csv").plan(SQL, edition="E", **ASK).release()


def test_a_preview_does_not_hide_what_was_recorded_since(here: Path) -> None:
    plan = declared("b/visits.csv").plan(SQL, edition="E", **ASK)
    assert plan.preview().verdict == "paid"
    release_without_a_dataset()
    with refused(InvalidInput, token="'E'"):
        plan.release()
    assert "b/visits.csv" not in dc.Ledger.open("visits.ledger").statement().describe()


@pytest.mark.parametrize("place", ["lnk/../a/2026.csv", "latest.csv"])
def test_a_link_is_the_file_it_leads_to(here: Path, place: str) -> None:
    Path("x/y").mkdir(parents=True)
    Path("x/a").mkdir()
    Path("x/a/2026.csv").write_bytes(Path("b/2027.csv").read_bytes())
    Path("lnk").symlink_to("x/y")
    Path("latest.csv").symlink_to("a/2026.csv")
    declared("a/2026.csv" if "lnk" in place else "latest.csv").plan(SQL, edition="1", **ASK).release()
    Path("latest.csv").unlink()
    Path("latest.csv").symlink_to("b/2027.csv")
    with refused(InvalidInput, token="'1'"):
        declared(place).plan(SQL, edition="1", **ASK).release()


def test_a_free_answer_keeps_the_first_name_of_the_unit(here: Path) -> None:
    """Neither the recorded answer nor the check of a bundle takes another name than the ledger has."""
    for name, out in ((None, "plain"), ("household", "named")):
        more = "" if name is None else f'unit_name = "{name}"'
        assert declared("a/visits.csv", more).plan(SQL, **ASK).release(out).plan.protection.unit_name == name
        assert dc.verify_bundle(out, ledger="visits.ledger").holds
    other = declared("a/visits.csv", 'unit_name = "person"')
    with refused(InvalidInput, token="'household'"):
        other.plan(SQL, **ASK).release()
    assert any("household" in problem for problem in check_dataset(other.declaration))


@pytest.mark.parametrize("name", [None, "household"])
def test_a_bundle_that_calls_the_unit_otherwise_than_its_ledger_fails(here: Path, name: str | None) -> None:
    more = "" if name is None else f'unit_name = "{name}"'
    release = declared("a/visits.csv", more).plan(SQL, **ASK).release("honest")
    protection = replace(release.plan.protection, unit_name="person")
    replace(release, plan=replace(release.plan, protection=protection)).save("forged")
    report = dc.verify_bundle("forged", ledger="visits.ledger")
    assert not report.holds and report["ledger"].holds is False and dc.verify_bundle("forged").passed
    assert dc.verify_bundle("honest", ledger="visits.ledger").holds


def test_a_plan_without_a_ledger_is_shown_and_not_released(here: Path) -> None:
    made = dc.Dataset(name="visits", data="a/visits.csv", unit="person", columns={"site": [1, 2]})
    plan = made.plan(SQL, **ASK)
    assert "no ledger is declared" in str(plan)
    with refused(InvalidInput, "ledger", token="dc.Ledger.create"):
        plan.release()
