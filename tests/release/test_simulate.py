"""A simulated release: the table as it would be published, of made-up counts, and nothing is opened or spent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidInput
from discreet.release.made_up import MADE_UP_VALUES, spread
from discreet.release.simulate import MADE_UP, WATERMARK
from support.command_line import run
from support.refusals import refused

SQL = "SELECT site, health, COUNT(*) FROM visits GROUP BY site, health"
DOMAIN = {"site": range(1, 5), "health": ["good", "poor"]}


def plan(sql: str = SQL, **fields: Any) -> dc.Plan:
    asked = {"unit": "person", "domain": DOMAIN, "max_groups": 1, "epsilon": 1} | fields
    return dc.plan_release(sql, data="visits", **{name: value for name, value in asked.items() if value is not None})


def sizes(**counts: int) -> list[dict[str, object]]:
    return [{"site": k, "health": health, "size": size} for k in range(1, 5) for health, size in counts.items()]


#: The kinds of tables: plain, with measures, with totals, with quantiles, with discovered groups, with public sizes.
KINDS: dict[str, Callable[[], dc.Plan]] = {
    "plain": plan,
    "measures": lambda: plan(
        "SELECT site, COUNT(*), COUNT_IF(age > 17) FROM visits GROUP BY site", domain=["site=1..4"]
    ),
    "totals": lambda: plan(totals="all"),
    "gaussian": lambda: plan(mechanism="discrete-gaussian", delta="1e-6"),
    "quantiles": lambda: plan(
        "SELECT health, age, COUNT(*) FROM visits GROUP BY health, age", domain={"health": ["good", "poor"]},
        bands={"age": [0, 18, 65, 100]}, quantile="age:0.5",
    ),
    "discovered": lambda: plan(domain={"site": range(1, 5)}, discover="health", delta="1e-6"),
    "sizes": lambda: plan(sizes=sizes(good=400, poor=90)),
    "withheld": lambda: plan(suppress_below=10),
    "zeros": lambda: plan(zeros=[{"site": 4, "health": "poor"}]),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_is_simulated_and_marked_everywhere(kind: str) -> None:
    made = KINDS[kind]()
    simulated = dc.simulate_release(made, seed=3)
    assert simulated.rows() and all("count" in row for row in simulated.rows())
    assert bool(simulated.quantiles()) == (kind == "quantiles")
    report, content = simulated.report(), simulated.to_json()
    assert report.watermark == WATERMARK and report.title.startswith("Simulated")
    assert WATERMARK in report.kind and content["simulated"] is True
    page = report.page()
    assert page.count(f'data-word="{WATERMARK}"') > 100 and page.count(
        f'data-word="{WATERMARK}"'
    ) == simulated.report().html().count(f'data-word="{WATERMARK}"')
    assert " ".join(MADE_UP.split()) in " ".join(simulated.describe().split())
    assert not hasattr(simulated, "save") and not hasattr(simulated, "ledger")


def test_a_page_of_a_release_has_no_watermark() -> None:
    assert "watermark" not in plan().report().page()


def test_the_noise_is_that_of_the_plan() -> None:
    """Many draws of one cell have the law of the plan; a plan with another epsilon does not."""
    made = plan("SELECT COUNT(*) FROM visits", domain=None, counts="signed", epsilon="1/2")
    noise = [dc.simulate_release(made, 1000, seed=seed).rows()[0]["count"] - 1000 for seed in range(1500)]
    for epsilon, fits in ((0.5, True), (1.0, False)):
        alpha = np.exp(-epsilon)
        variance = 2 * alpha / (1 - alpha) ** 2
        assert (abs(np.var(noise) / variance - 1) < 0.25) == fits
    assert abs(np.mean(noise)) < 4 * np.sqrt(2 * 0.607 / 0.393**2 / 1500)


def test_listed_sizes_are_the_counts_behind_the_noise() -> None:
    made = plan(epsilon=60)  # hardly any noise
    listed = sizes(good=500, poor=7)
    assert [row["count"] for row in dc.simulate_release(made, listed).rows()] == [500, 7] * 4
    total = dc.simulate_release(made, 5000).rows()
    assert sum(row["count"] for row in total) == 5000 and len({row["count"] for row in total}) > 4
    again = dc.simulate_release(made, 5000, seed=9).rows()
    assert [row["count"] for row in again] == [row["count"] for row in total]  # the seed is that of the noise


def test_public_sizes_bound_the_made_up_counts() -> None:
    made = plan(sizes=sizes(good=400, poor=90), epsilon=60)
    counts = [row["count"] for row in dc.simulate_release(made).rows()]
    assert all(0 < count < size for count, size in zip(counts, [400, 90] * 4, strict=True))


def test_totals_add_up_and_cells_that_cannot_exist_stay_zero() -> None:
    rows = dc.simulate_release(plan(zeros=[{"site": 4, "health": "poor"}])).rows()
    assert [row["count"] for row in rows if row["status"] == "M"] == [0]
    people = dc.simulate_release(plan(totals="all")).tables[0].rows_for_people()
    finest = [row["count"] for row in people if row["grouping"] == 0]
    total = [row["count"] for row in people if row["grouping"] == 3]
    assert len(people) == 15 and len(finest) == 8 and [sum(finest)] == total


def test_discovered_groups_have_made_up_names_and_small_ones_are_missing() -> None:
    many = dc.simulate_release(plan(domain={"site": range(1, 5)}, discover="health", delta="1e-6"), 10**6).rows()
    few = dc.simulate_release(plan(domain={"site": range(1, 5)}, discover="health", delta="1e-6"), 1000).rows()
    assert len(many) == 4 * MADE_UP_VALUES > len(few) > 0
    assert all(str(row["health"]).startswith("health ") for row in many)


def test_the_same_seed_gives_the_same_table_and_tables_of_one_release_differ() -> None:
    assert dc.simulate_release(plan(), seed=4).rows() == dc.simulate_release(plan(), seed=4).rows()
    assert dc.simulate_release(plan(), seed=4).rows() != dc.simulate_release(plan(), seed=5).rows()
    questions = [
        "SELECT site, COUNT(*) FROM visits GROUP BY site",
        "SELECT site, COUNT(*) FROM visits WHERE age > 1 GROUP BY site",
    ]
    both = dc.simulate_release(plan(questions, domain=["site=1..4"], counts="signed"), 100)  # type: ignore[arg-type]
    assert both.rows(0) != both.rows(1)


@pytest.mark.parametrize("parts", [0, 1, 7, 1000])
def test_a_total_is_spread_exactly(parts: int) -> None:
    for total in (0, 1, 10**6, 10**12):
        counts = spread(total, parts)
        assert len(counts) == parts and (not parts or (counts.sum() == total and counts.min() >= 0))


@pytest.mark.parametrize("given", [-1, 10**13, 2.5, True])
def test_a_number_that_is_none_is_refused(given: Any) -> None:
    with refused(InvalidInput, "sizes", given=given):
        dc.simulate_release(plan(), given)


def test_sizes_that_do_not_fit_are_refused() -> None:
    with refused(InvalidInput, "sizes", token="poor"):
        dc.simulate_release(plan(), sizes(good=3))
    with refused(InvalidInput, "sizes"):
        dc.simulate_release(KINDS["discovered"](), sizes(good=3))


def test_a_bound_plan_is_simulated_without_data_and_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both exist, and nobody opens them: whoever tries fails."""
    table = tmp_path / "visits.csv"
    table.write_text("person,site\nann,1\n")
    book = dc.Ledger.create(tmp_path / "visits.ledger", dataset="visits", unit="person", epsilon=3)
    data = dc.Dataset(name="visits", data=table, unit="person", columns={"site": range(1, 4)}, ledger=book)
    bound = data.plan(by=["site"], max_groups=1, epsilon=1)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("opened")

    for name in ("builtins.open", "discreet.release.dataset.open_source", "discreet.release.counts.open_source"):
        monkeypatch.setattr(name, refuse)
    for method in ("open", "answer", "quote", "recorded", "spent", "left"):
        monkeypatch.setattr(dc.Ledger, method, refuse)
    monkeypatch.setattr(type(bound.source), "open", refuse, raising=False)
    monkeypatch.setattr(type(bound.source), "count", refuse)
    simulated = bound.simulate(300)
    monkeypatch.undo()
    assert [row["site"] for row in simulated.rows()] == [1, 2, 3] and not book.entries()


def test_the_command_line_simulates_and_spends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text("person,site\nann,1\n")
    book = dc.Ledger.create("visits.ledger", dataset="visits", unit="person", epsilon=3)
    asked = [
        "release", "SELECT site, COUNT(*) FROM visits GROUP BY site", "--data", "visits.csv", "--unit", "person",
        "--domain", "site=1..3", "--max-groups", "1", "--epsilon", "1", "--ledger", "visits.ledger", "-o", "out",
    ]  # fmt: skip
    shown = run(*asked, "--simulate", "5000", "--page", "page.html")
    assert "Simulated" in shown.stdout and WATERMARK in Path("page.html").read_text()
    content = json.loads(run(*asked, "--simulate", "5000", "--json").stdout)
    assert content["simulated"] is True and len(content["tables"][0]["rows"]) == 3
    Path("sizes.csv").write_text("site,size\n1,400\n2,20\n3,0\n")
    assert json.loads(run(*asked, "--simulate", "sizes.csv", "--json").stdout)["tables"][0]["rows"][0]["count"] > 300
    assert "--simulate must be" in run(*asked, "--simulate", "9" * 15, code=2).stderr
    run(*asked, "--simulate", "5", "--plan", code=2)
    assert not Path("out").exists() and not book.entries()
