"""Very many declared groups above a threshold, from the request to the bundle: planned, refused, published, checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import InvalidInput
from discreet.release.bundle.verify import verify_bundle
from discreet.release.plan.plan import plan_from_request
from discreet.release.tables import draft
from discreet.release.tables.sparse import plan as sparse_plan
from support.bundles import seal
from support.refusals import refused

SQL = "SELECT country, page, COUNT(*), COUNT_IF(x = 1) AS one FROM views GROUP BY country, page"
ALONE = "SELECT country, page, COUNT(*) FROM views GROUP BY country, page"
#: 100 million groups, in an order that is not the canonical one.
HUGE = {"country": [f"c{k}" for k in range(99, -1, -1)], "page": range(1_000_000)}
ASK: dict[str, Any] = {"unit": "device", "max_groups": 2, "epsilon": 100, "suppress_below": 40}
ZEROS = [{"country": "c2", "page": 3}]


def views() -> pd.DataFrame:
    """Return 1,000 devices: 75 in each of eleven groups and of a structural zero, 8 or so in each of twelve others."""
    numbers = np.arange(1000)
    countries = [f"c{k}" for k in numbers % 3 + 4 * (numbers < 100)]
    frame = pd.DataFrame({"device": [f"d{k}" for k in numbers], "country": countries, "x": numbers % 2})
    frame["page"] = numbers % 4 * 1000 + 3
    return frame


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("views")
    views().to_parquet(folder / "views.parquet")
    dc.Ledger.create(folder / "views.ledger", dataset="views", unit="device", epsilon=10_000)
    release(folder, ALONE, out=folder / "out")
    return folder


def release(folder: Path, sql: str, **options: Any) -> dc.Release:
    options = {"domain": HUGE, "zeros": ZEROS, **ASK, **options}
    return dc.release_counts(sql, data=folder / "views.parquet", ledger=folder / "views.ledger", **options)


@pytest.mark.parametrize("sql", [ALONE, SQL])
def test_it_publishes_the_lines_that_a_dense_table_does_not_withhold(
    paid: Path, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With hardly any noise the two tables are equal; the small domain is drawn either way."""
    small = {"country": [f"c{k}" for k in range(21, -1, -1)], "page": [3003, *range(3, 3000, 100), 4]}
    dense = release(paid, sql, domain=small, zeros=[{"country": "c2", "page": 3}])
    monkeypatch.setattr(sparse_plan, "MAX_DRAWN_CELLS", 10)
    monkeypatch.setattr(draft, "MAX_DRAWN_CELLS", 10)
    sparse = release(paid, sql, domain=small, zeros=[{"country": "c2", "page": 3}], edition="sparse")
    measures = len(dense.table().measures)
    rows = dense.rows()
    groups = [rows[k : k + measures] for k in range(0, len(rows), measures)]
    kept = [row for group in groups if any(row["status"] == "A" for row in group) for row in group]
    assert kept
    assert sparse.rows() == kept
    assert len(sparse.rows()) < len(rows)


def test_the_bundle_has_published_lines_alone_and_holds(paid: Path) -> None:
    report = verify_bundle(paid / "out", paid / "views.ledger")
    assert report.holds, str(report)
    lines = (paid / "out" / "counts.csv").read_text().splitlines()
    assert 1 < len(lines) < 50
    assert all(",A," in line for line in lines[1:])
    assert not any(line.startswith("c2,3,") for line in lines)
    record = (paid / "views.ledger").read_bytes()
    assert len(record) < 200_000


def test_another_order_of_the_groups_is_the_same_question(paid: Path) -> None:
    again = release(paid, ALONE, domain={**HUGE, "country": HUGE["country"][::-1]})
    first = release(paid, ALONE)
    assert not again.fresh
    assert {tuple(row.values()) for row in again.rows()} == {tuple(row.values()) for row in first.rows()}
    assert [row["country"] for row in again.rows()] != [row["country"] for row in first.rows()]


@pytest.mark.parametrize(
    "forge",
    [
        lambda lines: [lines[0], *lines[1:][::-1]],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [lines[0], lines[1].replace(lines[1].split(",")[1], "1000003", 1), *lines[2:]],
        lambda lines: [lines[0], lines[1].replace(lines[1].split(",")[2], "39", 1), *lines[2:]],
        lambda lines: [*lines[:1], "c2,3," + lines[1].split(",", 2)[2]],
        lambda lines: lines[:-1],
    ],
    ids=["another order", "a line twice", "not declared", "below the threshold", "a structural zero", "a line less"],
)
def test_a_forged_line_is_refuted(paid: Path, tmp_path: Path, forge: Any) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    for file in (paid / "out").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    lines = (folder / "counts.csv").read_text().splitlines()
    (folder / "counts.csv").write_text("\n".join(forge(lines)) + "\n")
    seal(folder)
    assert not verify_bundle(folder, paid / "views.ledger").holds


def plan(sql: str = ALONE, **options: Any) -> dc.Plan:
    return dc.plan_release(sql, data="views", **{"domain": HUGE, **ASK, **options})


def test_the_plan_states_the_expected_number_of_empty_cells() -> None:
    made = plan(mechanism="discrete-gaussian", epsilon=1, delta="1e-6", max_groups=10, suppress_below=70)
    law = made.tables[0].noise.shift_law
    assert law is not None
    expected = 1e8 * law.float_tail(70)
    assert f"{expected:.3g} empty cells" in str(made)
    assert made.to_json()["tables"][0]["noise"]["expected_empty_cells"] == f"{expected:.3g}"
    json.dumps(made.to_json())
    assert plan_from_request(made.request).request == made.request
    simulated = dc.simulate_release(made, 1_000_000, seed=1)
    assert all(row["count"] >= 70 for row in simulated.rows())


def test_what_cannot_be_released_so_is_refused_before_anything_is_paid() -> None:
    for options in (
        {"suppress_below": None}, {"suppress_below": 0}, {"epsilon": "1/1000"},
        {"domain": {"country": range(10_000), "page": range(1_000_000)}}, {"totals": ["country"]},
    ):  # fmt: skip
        with pytest.raises(InvalidInput):
            plan(**options)
    with pytest.raises(InvalidInput):
        plan([ALONE, SQL])


def test_counts_above_a_threshold_do_not_add_up(paid: Path) -> None:
    with refused(InvalidInput, token="add up"):
        release(paid, ALONE).total()
