"""Events end to end: planned, priced, released, recorded, published, and checked from the bundle alone."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.engines.reference import count_rows
from discreet.errors import InvalidInput
from discreet.release.plan.plan import plan_from_request
from discreet.release.protection import Change, Protection
from support.command_line import run
from support.refusals import refused

ROWS = [("ann", 1, 1)] * 4 + [("ann", 2, 0)] + [("bob", 1, 0)] * 2 + [("eve", 3, 1), ("eve", 3, 0), ("eve", 1, 1)]
SQL = "SELECT site, COUNT(*), COUNT_IF(ill = 1) AS ill FROM visits GROUP BY site"
ASK: dict = {"unit": "person", "domain": {"site": (1, 2, 3)}, "max_groups": 2, "max_rows": 2, "epsilon": 1}


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    file = tmp_path / "visits.csv"
    file.write_text("person,site,ill\n" + "".join(f"{p},{s},{i}\n" for p, s, i in ROWS), encoding="utf-8")
    return file


def ledger(folder: Path, epsilon: object = 1_000) -> dc.Ledger:
    return dc.Ledger.create(folder / "visits.ledger", dataset="visits", unit="person", epsilon=epsilon)  # type: ignore[arg-type]


def planned(sql: str = SQL, **more):
    return dc.plan_release(sql, data="visits", **{**ASK, **more})


@pytest.mark.parametrize("totals", [False, True])
def test_a_release_of_events_counts_rows_up_to_the_cap(totals: bool, visits: Path, tmp_path: Path) -> None:
    """At a huge epsilon the noise is zero, so the counts are those of the reference."""
    sql = SQL.replace("GROUP BY site", "GROUP BY ROLLUP (site)") if totals else SQL
    book = ledger(tmp_path)
    released = dc.release_counts(sql, data=visits, ledger=book, out=tmp_path / "out", **{**ASK, "epsilon": 500})
    table = released.tables[0].plan
    rows = [dict(zip(("person", "site", "ill"), row, strict=True)) for row in ROWS]
    expected = count_rows(rows, table.counting(released.plan.protection, book.terms.key))
    leaves = [row for row in released.rows() if row.get("grouping", 0) == 0]
    counts = np.array([row["count"] for row in leaves]).reshape(3, 2)
    np.testing.assert_allclose(counts, expected, atol=1e-6)
    assert counts.max() == 5 and counts[0].tolist() == [5 if expected[0, 0] == 5 else 6, expected[0, 1]]
    assert dc.verify_bundle(tmp_path / "out", ledger=book).passed
    request, stated = (json.loads((tmp_path / "out" / name).read_text()) for name in ("request.json", "release.json"))
    assert request["max_rows"] == 2 and stated["max_rows"] == 2
    assert book.left().epsilon == 500


def test_an_audit_notices_another_cap(visits: Path, tmp_path: Path) -> None:
    """Planted: a bundle that states one row less than was paid for, or than its noise hides."""
    dc.release_counts(SQL, data=visits, ledger=ledger(tmp_path), out=tmp_path / "out", **ASK)
    file = tmp_path / "out" / "request.json"
    request = json.loads(file.read_text())
    assert plan_from_request(request).protection.max_rows == 2
    with refused(InvalidInput, token="epsilon"):
        plan_from_request({**request, "max_rows": 3})
    assert plan_from_request({**request, "max_rows": 1}).key != plan_from_request(request).key
    for forged in (0, "2", 2.0, None, True, 10_001):
        with pytest.raises(InvalidInput):
            plan_from_request({**request, "max_rows": forged})
    with pytest.raises(InvalidInput):
        plan_from_request({**request, "unit": "row", "max_groups": 1})
    file.write_text(json.dumps({**request, "max_rows": 1}))
    assert not dc.verify_bundle(tmp_path / "out").passed


def test_a_request_without_a_cap_keeps_its_key() -> None:
    people = planned(max_rows=None)
    assert "max_rows" not in people.request and "other_caps" not in people.to_json()
    keys = {plan.key for plan in (people, planned(max_rows=1), planned(max_rows=2))}
    assert len(keys) == 3


def test_each_count_is_priced_at_the_cap_also_where_conditions_exclude_each_other() -> None:
    sql = "SELECT site, COUNT_IF(ill = 1) AS ill, COUNT_IF(ill = 0) AS well FROM visits GROUP BY site"
    assert planned(sql, max_rows=None).tables[0].sensitivity == 2
    plan = planned(sql)
    assert plan.tables[0].changes[0][1] == Change(8, 16, 4) and plan.tables[0].sensitivity == 8
    assert planned(sql, relation="substitution").tables[0].changes[0][1] == Change(12, 24, 6)  # all cells, not 8
    assert plan.cost.epsilon == 1 and float(plan.tables[0].mechanisms[0].certificate.epsilon) == pytest.approx(1 / 8)


@pytest.mark.parametrize(("k", "c"), [(1, 1), (1, 5), (2, 3), (3, 2)])
@pytest.mark.parametrize("relation", ["add-remove", "substitution"])
def test_a_total_moves_by_the_product_of_both_bounds(k: int, c: int, relation: str) -> None:
    plan = planned(
        "SELECT site, COUNT(*) FROM visits GROUP BY ROLLUP (site)", max_groups=k, max_rows=c, relation=relation
    )
    changes = [change for _, change in plan.tables[0].changes]
    moves = 2 if relation == "substitution" else 1
    assert changes[0] == Change(c * min(moves * k, 3), c * c * min(moves * k, 3))
    both = k * c if relation == "add-remove" else min(2 * k * c, 3 * c)
    assert changes[1].l1 == min(both, k * c)
    assert changes[1].squared_l2 == (k * c) ** 2


def test_gaussian_noise_grows_with_the_cap_and_pays_its_square() -> None:
    gaussian = {"mechanism": "discrete-gaussian", "delta": "1e-6", "max_groups": 1}
    sql = "SELECT site, COUNT(*) FROM visits GROUP BY site"
    one, five = (planned(sql, max_rows=c, **gaussian) for c in (1, 5))
    sigmas = [plan.tables[0].mechanisms[0].kernel.law.sigma2 for plan in (one, five)]  # type: ignore[union-attr]
    assert five.cost.rho == Fraction(25) / (2 * sigmas[1]) and 20 < sigmas[1] / sigmas[0] < 30


def test_several_questions_share_the_cap() -> None:
    plan = dc.plan_release(
        ["SELECT site, COUNT(*) FROM visits GROUP BY site", "SELECT COUNT(*) FROM visits WHERE ill = 1"],
        data="visits", **ASK,
    )  # fmt: skip
    assert [table.sensitivity for table in plan.tables] == [4, 2]
    assert "2 + 1 = 3" in plan.sensitivity_text


def test_the_plan_shows_the_error_of_other_caps() -> None:
    plan = planned()
    for cap in plan.other_caps:
        other = planned(max_rows=cap.max_rows)
        assert (cap.half_width, cap.epsilon) == (other.expected[0].half_width, other.cost.epsilon)
    assert [cap.max_rows for cap in plan.other_caps] == [1, 3, 5]
    assert plan.to_json()["other_caps"][0]["max_rows"] == 1  # type: ignore[index,call-overload]
    by_error = planned(epsilon=None, error=20)
    assert [cap.epsilon for cap in by_error.other_caps] == [
        planned(epsilon=None, error=20, max_rows=cap).cost.epsilon for cap in (1, 3, 5)
    ]
    assert "other caps" in plan.describe() and "epsilon" in by_error.describe().partition("other caps")[2]


def test_a_plan_says_whether_it_counts_people_or_rows() -> None:
    lines = {
        c: next(line for line in planned(max_rows=c).describe().splitlines() if line.startswith("counted"))
        for c in (None, 2)
    }
    assert "not rows" in lines[None] and "max_rows" in lines[None] and "rows, at most 2" in lines[2]
    alone = dc.plan_release("SELECT COUNT(*) FROM visits", data="visits", unit="row", epsilon=1)
    assert not any(line.startswith("counted") for line in alone.describe().splitlines())


BY_SITE = "SELECT site, COUNT(*) FROM visits GROUP BY site"
REFUSED = {
    "row": ({"unit": "row", "max_groups": None}, SQL),
    "sizes": ({"sizes": [(1, 5), (2, 5), (3, 5)]}, SQL),
    "quantile": ({"quantile": "site", "max_groups": 1}, BY_SITE),
    "distinct": ({}, "SELECT site, COUNT(DISTINCT person) FROM visits GROUP BY site"),
    "distinct if": ({}, "SELECT site, COUNT(DISTINCT Person) FILTER (WHERE ill = 1) FROM visits GROUP BY site"),
    "none": ({"max_rows": 0}, SQL),
    "many": ({"max_rows": 10_001}, SQL),
    "a fraction": ({"max_rows": 2.0}, SQL),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_go_with_a_cap_is_refused_before_anything_is_spent(
    name: str, visits: Path, tmp_path: Path
) -> None:
    options, sql = REFUSED[name]
    book = ledger(tmp_path)
    with refused(InvalidInput, "max_rows"):
        dc.release_counts(sql, data=visits, ledger=book, **{**ASK, **options})
    assert book.left().epsilon == 1_000


def test_a_row_cannot_be_capped() -> None:
    with refused(InvalidInput, "max_rows"):
        Protection("row", "add-remove", 1, None, 2)


def test_editions_with_other_caps_are_not_compared(visits: Path, tmp_path: Path) -> None:
    book = ledger(tmp_path)
    one, other = (
        dc.release_counts(
            SQL, data=visits, ledger=book, **{**ASK, "max_rows": cap, "edition": str(cap), "dataset": "visits"}
        )
        for cap in (1, 2)
    )
    with refused(InvalidInput, token="max_rows"):
        dc.compare_editions([one, other])


def test_a_cap_is_an_option_and_a_key_of_request_files(visits: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = [
        "--data",
        "visits.csv",
        "--unit",
        "person",
        "--max-groups",
        "2",
        "--max-rows",
        "2",
        "--domain",
        "site=1..3",
    ]
    asked = run("release", SQL, *options, "--epsilon", "1", "--plan", "--write", "q.toml")
    assert "rows, at most 2" in asked.stdout and "max_rows = 2" in (tmp_path / "q.toml").read_text()
    request = dc.open_request(tmp_path / "q.toml")
    assert dc.plan_release(request.request, data=visits).key == planned().key
