"""What people stumble over once: a second --data, names that need quotes, the unit as a group, a large delta."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import InvalidInput
from support.command_line import invoke, run
from support.refusals import refused

BY_SITE = "SELECT site, COUNT(*) FROM visits GROUP BY site"


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    file = tmp_path / "visits.csv"
    file.write_text("person,site\n" + "".join(f"p{k},{k % 3 + 1}\n" for k in range(60)), encoding="utf-8")
    return file


def options(data: Path) -> tuple[object, ...]:
    return ("--data", data, "--unit", "person", "--max-groups", 1, "--domain", "site=1..3", "--epsilon", 1)


def test_an_option_is_given_once_unless_it_takes_several(visits: Path) -> None:
    said = run("release", BY_SITE, *options(visits), "--data", "other.csv", "--plan", code=2)
    assert "'--data'" in said.stderr and "twice" in said.stderr
    asked = "SELECT site, person, COUNT(*) FROM visits GROUP BY site, person"
    assert run(
        "release", asked, *options(visits), "--domain", "person=p1,p2", "--plan"
    ).stdout  # --domain takes several


def test_a_plan_for_a_file_that_is_not_there_says_that_columns_were_not_checked(tmp_path: Path) -> None:
    text = run("release", BY_SITE, *options(tmp_path / "visits.csv"), "--plan").stdout
    assert "no file" in text and "columns" in text


@pytest.mark.parametrize("table", ["my-data-2024", "a-b"])
def test_a_table_that_needs_quotes_is_shown_in_quotes(tmp_path: Path, table: str) -> None:
    file = tmp_path / f"{table}.csv"
    file.write_text("person,site\nann,1\n", encoding="utf-8")
    with refused(InvalidInput, token=f'"{table}"'):
        dc.plan_release(BY_SITE.replace("visits", table), data=file, unit="row", domain={"site": [1]}, epsilon=1)
    with refused(InvalidInput, token=f'"{table}"'):
        dc.plan_release(BY_SITE, data=file, unit="row", domain={"site": [1]}, epsilon=1)
    quoted = BY_SITE.replace("visits", f'"{table}"')
    assert dc.plan_release(quoted, data=file, unit="row", domain={"site": [1]}, epsilon=1).cells == 1


def test_grouping_by_the_unit_is_questioned(visits: Path) -> None:
    sql = "SELECT person, COUNT(*) FROM visits GROUP BY person"
    plan = dc.plan_release(sql, data=visits, unit="Person", domain={"person": ["p1", "p2"]}, epsilon=1)
    assert any("each group" in note for note in plan.notes)
    other = dc.plan_release(BY_SITE, data=visits, unit="person", max_groups=1, domain={"site": [1]}, epsilon=1)
    assert not any("each group" in note for note in other.notes)


@pytest.mark.parametrize(("delta", "warned"), [("0.011", True), ("0.01", False)])
def test_a_large_delta_is_questioned(visits: Path, delta: str, warned: bool) -> None:
    ask = {"unit": "person", "max_groups": 1, "domain": {"site": range(1, 4)}, "mechanism": "discrete-gaussian"}
    plan = dc.plan_release(BY_SITE, data=visits, epsilon=1, delta=delta, **ask)
    assert any("may reveal everything" in note for note in plan.notes) == warned


def test_a_p_table_with_a_large_delta_is_questioned(visits: Path) -> None:
    table = dc.design_ptable(epsilon="1/2", reach=3, stay="1/2", keys=256)
    ask = {"unit": "person", "max_groups": 1, "domain": {"site": range(1, 4)}, "mechanism": table}
    plan = dc.plan_release(BY_SITE, data=visits, epsilon="1/2", **ask)
    assert plan.cost.delta > 0.01 and any("may reveal everything" in note for note in plan.notes)


# ------------------------------------------------------------------------------------------------ editions


def test_one_request_file_serves_every_edition(visits: Path, tmp_path: Path) -> None:
    file, book = tmp_path / "q.toml", tmp_path / "visits.ledger"
    dc.Ledger.create(book, dataset="visits", unit="person", epsilon=5)
    invoke("release", BY_SITE, *options(visits), "--ledger", book, "--plan", "--write", file)
    before = file.read_bytes()
    later = tmp_path / "visits_2026q2.csv"
    later.write_text("person,site\n" + "".join(f"p{k},1\n" for k in range(500)), encoding="utf-8")
    invoke("release", file, "-o", tmp_path / "first")
    with refused(InvalidInput, "edition"):
        invoke("release", file, "--data", later, "-o", tmp_path / "second")
    assert dc.Ledger.open(book).spent().epsilon == 1
    shown = invoke("release", file, "--data", later, "--edition", "2026-Q2", "--plan").stdout
    assert "edition 2026-Q2" in shown
    invoke("release", file, "--data", later, "--edition", "2026-Q2", "-o", tmp_path / "second")
    assert file.read_bytes() == before and dc.Ledger.open(book).spent().epsilon == 2
    second = json.loads((tmp_path / "second" / "release.json").read_text(encoding="utf-8"))
    assert (second["dataset"], second["edition"]) == ("visits", "2026-Q2")
    assert dc.verify_bundle(tmp_path / "second", book).passed
    with (tmp_path / "second" / "counts.csv").open(encoding="utf-8", newline="") as lines:
        assert int(next(csv.DictReader(lines))["count"]) > 400  # of the later file


def test_another_table_than_the_requests_is_still_refused(visits: Path, tmp_path: Path) -> None:
    later = tmp_path / "visits_2026q2.csv"
    later.write_text("person,site\np1,1\n", encoding="utf-8")
    asked = BY_SITE.replace("visits", "vists")
    with refused(InvalidInput, token="vists"):
        invoke("release", asked, *options(later), "--dataset", "visits", "--edition", "2", "--plan")
