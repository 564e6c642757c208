"""The browser's module draws what Python draws: replayed bits, thresholds, the law, and what tables give away."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import discreet as dc
from discreet.collect.browser.assets import asset
from discreet.collect.browser.vectors import tables, text, threshold_draws
from discreet.exact.bits import ReplayBits
from discreet.exact.tables import Table
from discreet.mechanism import Mechanism
from support.paths import ROOT
from support.tabs import open_page

pytestmark = pytest.mark.xdist_group("browser")

FILES = ROOT / "src" / "discreet" / "collect" / "browser"

#: Counts vectors that the module does not reproduce, with the truths moved on by so many rows.
REPLAY = """
(vectors, moved) => {
  let wrong = 0, drawn = 0;
  for (const one of vectors.tables) {
    const table = module.readTable(one);
    for (const [truth, main, deep, report] of one.draws) {
      const bits = new module.ReplayBits(main, deep);
      drawn++;
      try {
        const found = module.drawReport(table, (truth + moved) % table.codes.length, bits);
        if (found !== report || bits.left !== 0) wrong++;
      } catch { wrong++; }
    }
  }
  return [drawn, wrong];
}
"""

#: For each table: whether the stated epsilon holds, whether one just below it does, and the epsilon that is charged.
EPSILONS = """
(vectors) => vectors.tables.map((one) => {
  const ratio = module.largestRatio(module.readTable(one));
  if (ratio === null) return null;
  const holds = (epsilon) => module.ratioHolds(ratio, module.units(epsilon));
  const below = one.local_epsilon * (1 - 2 ** -51);
  return [holds(one.local_epsilon), holds(below), module.fromUnits(module.epsilonOf(ratio))];
})
"""

DRAW_MANY = """
(content, truth, times) => {
  reseed(7);
  const table = module.readTable(content), bits = new module.SecureBits();
  return Array.from({ length: times }, () => module.drawReport(table, truth, bits));
}
"""

READ = """
(content) => { try { module.readTable(content); return "taken"; } catch (problem) { return problem.message; } }
"""

SIZE = """
(space) => {
  try {
    return module.sizeOf(space);
  } catch (problem) {
    return problem instanceof module.Refused ? "refused" : String(problem);
  }
}
"""

WITHIN = """
(content, grid, radius) => {
  const epsilon = module.epsilonWithin(module.readTable(content), grid, radius);
  return epsilon === null ? null : module.fromUnits(epsilon);
}
"""


@pytest.fixture(scope="module")
def run(site, chromium) -> Callable[..., Any]:
    """Runs a function of the tests' in the browser with the service's module, on a page under its policy."""
    tab = open_page(chromium, site.answer_page("visits"), seed=7)
    tab.page.evaluate("import('/browser/discreet.js').then((found) => { globalThis.module = found; })")

    def called(function: str, *arguments: Any) -> Any:
        return tab.page.evaluate(f"(given) => ({function})(...given)", list(arguments))

    return called


def published() -> Any:
    return json.loads((FILES / "vectors.json").read_text(encoding="utf-8"))


def test_the_published_vectors_are_what_python_draws_now() -> None:
    assert (FILES / "vectors.json").read_text(encoding="utf-8") == text()
    for one in published()["tables"]:
        sampler = Table.from_codes([int(w) for w in one["palette"]], np.array(one["codes"])).sampler()
        for truth, main, deep, report in one["draws"]:
            bits = ReplayBits(bytes.fromhex(main), deep=bytes.fromhex(deep))
            assert sampler.draw_one(truth, bits) == report
            assert bits.left == {"main": 0, "extra": 0, "deep": 0}


@pytest.mark.parametrize("name", [name for name, table in tables().items() if table.shape[1] < 4096])
def test_the_vectors_have_every_threshold_and_both_sides_of_it(name: str) -> None:
    table = tables()[name]
    shift = max(1, (table.shape[1] - 1).bit_length())
    free = 32 - shift
    drawn = {(i, int.from_bytes(bytes.fromhex(main), "little")): r for i, main, _, r in threshold_draws(table)}
    for truth in range(table.shape[0]):
        own, alias, height = table.sampler().split(truth)
        for column in range(1 << shift):
            if alias[column] == column:
                continue
            first = (own[column] << free) // height
            for low, report in ((first - 1, column), (first, None), (first + 1, alias[column])):
                if 0 <= low < 1 << free:
                    found = drawn[truth, (column << free) | low]
                    assert report is None or found == report


def test_the_module_gives_the_published_reports_in_chromium(run) -> None:
    drawn, wrong = run(REPLAY, published(), 0)
    assert (drawn > 1000, wrong) == (True, 0)
    assert run(REPLAY, published(), 1)[1] > 100  # other rows give other reports


def test_the_module_gives_the_published_reports_in_node(tmp_path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no Node here, and Chromium runs the same vectors")
    (tmp_path / "discreet.mjs").write_text((FILES / "discreet.js").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "replay.mjs").write_text(
        "import * as module from './discreet.mjs'; import { readFileSync } from 'fs';"
        f"console.log(JSON.stringify(({REPLAY})(JSON.parse(readFileSync(process.argv[2])), 0)));",
        encoding="utf-8",
    )
    done = subprocess.run(
        [node, str(tmp_path / "replay.mjs"), str(FILES / "vectors.json")], capture_output=True, check=True, timeout=60
    )
    drawn, wrong = json.loads(done.stdout)
    assert (drawn > 1000, wrong) == (True, 0)


def test_the_service_gives_the_vectors_and_the_module_as_published(site) -> None:
    for name in ("vectors.json", "discreet.js"):
        found = asset(name)
        assert found is not None
        assert site.service.ask("GET", f"/browser/{name}").body.decode() == found.content
    assert site.service.ask("GET", "/browser/answer.html").status == 404


def test_epsilon_between_any_two_values_is_recomputed_exactly(run) -> None:
    checked = 0
    for one, found in zip(published()["tables"], run(EPSILONS, published()), strict=True):
        stated = one["local_epsilon"]
        if stated == "infinity":
            assert found is None
            continue
        holds, holds_below, charged = found
        assert holds
        assert stated <= charged <= stated * (1 + 1e-12)
        if stated:
            assert not holds_below
            checked += 1
    assert checked >= 6


def _nearest_points(one: int, other: int) -> float:
    """How far apart places in two cells of 100 metres are at least, on a map of three columns."""
    (row, col), (other_row, other_col) = divmod(one, 3), divmod(other, 3)
    return 100 * math.hypot(max(abs(row - other_row) - 1, 0), max(abs(col - other_col) - 1, 0))


@pytest.mark.parametrize(
    "grid", [*({"cell": cell} for cell in ("x", 0, -100, "1/0", None)), {"rows": -2, "cols": -2}, {"rows": 0.5}]
)
def test_a_map_that_makes_no_sense_is_refused(run, grid: dict[str, object]) -> None:
    """Or it would cost nothing: no two places of it would be near each other."""
    whole = {"kind": "grid", "rows": 2, "cols": 2, "cell": 100.0}
    assert run(SIZE, whole) == 4
    assert run(SIZE, {**whole, **grid}) == "refused"


@pytest.mark.parametrize("radius", [1.0, 99.0, 100.0, 150.0, 320.0, 1000.0])
@pytest.mark.parametrize("border", ["remap", "normalise"])
def test_epsilon_between_near_places_is_that_of_the_worst_pair(run, radius: float, border: str) -> None:
    grid = dc.Grid(4, 3, cell=100.0)
    mechanism = dc.planar_geometric(grid, epsilon="1/100", border=border)  # type: ignore[arg-type]
    table = mechanism.kernel.table()
    worst = max(
        math.log(table.probability(i, j) / table.probability(k, j))
        for i in range(12)
        for k in range(12)
        for j in range(12)
        if _nearest_points(i, k) <= radius
    )
    charged = run(WITHIN, table.to_json(), grid.to_json(), radius)
    assert worst <= charged <= worst + 1e-9


def test_no_epsilon_holds_where_a_report_rules_a_place_out(run) -> None:
    weights = Table.from_rows([[1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]])
    assert run(WITHIN, weights.to_json(), dc.Grid(2, 2, cell=100.0).to_json(), 100.0) is None


BROKEN: dict[str, dict[str, Any]] = {
    "a negative weight": {"palette": ["1", "-1"]},
    "a weight that is not whole": {"palette": ["1", "1.5"]},
    "a weight that is a number": {"palette": ["1", 2]},
    "a code beyond the palette": {"codes": [[0, 2]]},
    "a code that is not whole": {"codes": [[0, 0.5]]},
    "rows of different lengths": {"codes": [[0, 1], [0]]},
    "no rows": {"codes": []},
    "a row of zeros": {"palette": ["0", "1"], "codes": [[0, 0]]},
    "totals that are not the sums": {"totals": ["4"]},
    "another kernel": {"kernel": "noise"},
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_table_is_refused(run, what: str) -> None:
    whole = {"kernel": "table", "palette": ["1", "2"], "codes": [[0, 1]], "totals": ["3"]}
    assert run(READ, whole) == "taken"
    assert run(READ, {**whole, **BROKEN[what]}) != "taken"


LAWS: dict[str, tuple[Mechanism, int, Mechanism]] = {
    "counts": (dc.geometric(6, epsilon=1), 2, dc.geometric(6, epsilon="13/10")),
    "labels": (dc.randomized_response(3, epsilon=1), 0, dc.randomized_response(3, epsilon="13/10")),
    "places": (
        dc.planar_geometric(dc.Grid(3, 3, cell=100.0), epsilon="1/100"),
        4,
        dc.planar_geometric(dc.Grid(3, 3, cell=100.0), epsilon="13/1000"),
    ),
}


def p_value(reports: list[int], table: Table, truth: int) -> float:
    law = np.array([float(Fraction(w, table.totals[truth])) for w in table.row(truth)])
    counts = np.bincount(reports, minlength=len(law))
    return float(chisquare(counts, law / law.sum() * len(reports)).pvalue)


@pytest.mark.parametrize("name", LAWS)
def test_drawn_reports_have_the_law_and_not_one_that_is_30_percent_off(run, name: str) -> None:
    mechanism, truth, other = LAWS[name]
    table = mechanism.kernel.table()
    reports = run(DRAW_MANY, table.to_json(), truth, 20_000)
    assert p_value(reports, table, truth) > 1e-3
    assert p_value(reports, other.kernel.table(), truth) < 1e-6


@pytest.mark.parametrize("name", LAWS)
def test_many_drawn_reports_have_the_law_for_every_true_value(run, name: str) -> None:
    table = LAWS[name][0].kernel.table()
    for truth in range(table.shape[0]):
        assert p_value(run(DRAW_MANY, table.to_json(), truth, 300_000), table, truth) > 1e-4
