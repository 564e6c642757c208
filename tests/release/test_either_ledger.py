"""Releases that are paid from a ledger whose filter is either: their bundles state and verify its budget."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import InvalidInput
from discreet.ledger.budget import Cost
from discreet.release.bundle.verify import _is_implied
from support.paths import VISITS
from support.refusals import refused

ASK = {"data": VISITS, "unit": "person", "max_groups": 1}
BY_SEX = "SELECT sex, COUNT(*) FROM doctor_visits WHERE year = 1 GROUP BY sex"


def make(path: Path, **terms: object) -> dc.Ledger:
    given = {"epsilon": 3, "delta": "1e-6", "filter": "either", "own_delta": "5e-7", **terms}
    return dc.Ledger.create(path, dataset="doctor_visits", unit="person", **given)  # type: ignore[arg-type]


def test_discovered_groups_are_paid_from_what_was_set_aside(tmp_path: Path) -> None:
    ledger = make(tmp_path / "aside.ledger")
    question = {"discover": ["health"], "epsilon": "0.5", "delta": "1e-7", **ASK}
    sql = "SELECT health, COUNT(*) FROM doctor_visits WHERE year = 1 GROUP BY health"
    released = dc.release_counts(sql, ledger=ledger.name, out=tmp_path / "out", **question)  # type: ignore[arg-type]
    assert released.budget == Cost(3, "1e-6") and 0 < ledger.left().delta < Cost(0, "5e-7").delta
    assert dc.verify_bundle(tmp_path / "out", ledger=ledger.name).holds
    without = make(tmp_path / "without.ledger", own_delta=0)
    with refused(InvalidInput, token="own_delta"):
        dc.release_counts(sql, ledger=without.name, out=tmp_path / "none", **question)  # type: ignore[arg-type]
    assert len(without.events()) == 1


@pytest.mark.parametrize("delta", ["1e-9", "1e-4"])
def test_gaussian_noise_whose_own_delta_is_another_verifies_by_its_rho(tmp_path: Path, delta: str) -> None:
    ledger = make(tmp_path / "it.ledger", epsilon="1.2")
    epsilon = {"1e-9": "1.3", "1e-4": "0.5"}[delta]  # each above the budget in epsilon or in delta
    domain = {"sex": ["female", "male"]}
    released = dc.release_counts(
        BY_SEX, mechanism="discrete-gaussian", epsilon=epsilon, delta=delta, domain=domain, ledger=ledger.name,
        out=tmp_path / "out", **ASK,
    )  # type: ignore[arg-type]  # fmt: skip
    assert released.budget is not None and released.budget.rho is None
    assert released.cost.epsilon > released.budget.epsilon or released.cost.delta > released.budget.delta
    assert dc.verify_bundle(tmp_path / "out", ledger=ledger.name).holds


def test_a_rho_that_implies_another_budget_pays_for_none() -> None:
    budget = Cost(1, "1e-6")
    assert _is_implied(Cost(2, "1e-12", "0.02"), budget) and not _is_implied(Cost(2, "1e-12", "0.03"), budget)
    assert not _is_implied(Cost("0.1", "0.1"), budget) and not _is_implied(Cost(1, "1e-9", "0.001"), Cost(1))
