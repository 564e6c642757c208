"""The private histogram of contributions: paid once, exact in law, and never a silent look at the data."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.engines.base import Contributing
from discreet.engines.reference import count_rows
from discreet.errors import InvalidInput, SourceFailed
from discreet.exact.rationals import exp_bounds
from discreet.release.contributions import Contributions, histogram_plan
from discreet.release.plan.plan import Plan
from discreet.release.tables import histogram as module
from discreet.unit import Unit
from support.command_line import run
from support.refusals import refused

SQL = "SELECT site, COUNT(*) FROM visits GROUP BY site"
ASK: dict = {"unit": "person", "domain": {"site": (1, 2, 3)}, "epsilon": 1}
ROWS = [("ann", 1)] * 4 + [("ann", 2), ("bob", 1), ("eve", 3), ("eve", 3), ("eve", 1), ("zoe", 9)]


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    file = tmp_path / "visits.csv"
    file.write_text("person,site\n" + "".join(f"{p},{s}\n" for p, s in ROWS), encoding="utf-8")
    return file


def ledger(folder: Path, epsilon: int = 1_000, **more) -> dc.Ledger:
    return dc.Ledger.create(folder / "visits.ledger", dataset="visits", unit="person", epsilon=epsilon, **more)


def planned(of: str = "groups", top: int = 10, **more) -> Plan:
    return histogram_plan(dc.plan_release(SQL, data="visits", **{**ASK, "max_groups": 1, **more}), of, top)


def counting_of(plan: Plan) -> Contributing:
    counting = plan.lead.counting(plan.protection, b"")
    assert isinstance(counting, Contributing)
    return counting


@pytest.mark.parametrize(("of", "expected"), [("groups", [1, 2, 0]), ("rows", [1, 1, 0, 1])])
def test_everybody_is_counted_once(of: str, expected: list[int], visits: Path, tmp_path: Path) -> None:
    """At a huge epsilon the noise is zero. Zoe has no row in a declared group."""
    histogram = dc.contributions(SQL, data=visits, ledger=ledger(tmp_path), of=of, top=4, **{**ASK, "epsilon": 500})
    assert list(histogram.counts) == expected


def test_the_ledger_pays_once_and_records_the_answer(visits: Path, tmp_path: Path) -> None:
    book = ledger(tmp_path, 2)
    first = dc.contributions(SQL, data=visits, ledger=book, **ASK)
    again = dc.contributions(SQL, data=visits, ledger=book, **ASK)
    assert first.fresh and not again.fresh and first.counts == again.counts and book.left().epsilon == 1
    assert dc.contributions(SQL, data=visits, ledger=book, of="rows", **ASK).fresh and book.left().epsilon == 0
    with pytest.raises(dc.errors.BudgetExceeded):
        dc.contributions(SQL, data=visits, ledger=book, of="rows", top=4, **ASK)
    (entry, _) = book.entries()
    assert entry.request["tables"][0]["contributions"] == {"of": "groups", "top": 3}
    assert json.dumps(entry.request).count("site")
    assert book.verify().passed and "SELECT site" in book.statement().describe()


@pytest.mark.parametrize("relation", ["add-remove", "substitution"])
@pytest.mark.parametrize("of", ["groups", "rows"])
def test_no_outcome_of_small_tables_exceeds_the_claim(of: str, relation: str) -> None:
    """All people with up to three rows in two groups, joined, left or replaced: the exact ratio of the noise."""
    histogram = planned(of, 3, relation=relation, domain={"site": (1, 2, 3)})
    ratio = histogram.lead.noise.shift_law.ratio  # type: ignore[union-attr]
    people = [rows for many in range(4) for rows in combinations_with_replacement((1, 2, 3), many)]

    def counts(own: tuple[int, ...]) -> np.ndarray:
        rows = [{"person": "eve", "site": 1}, *({"person": "zoe", "site": site} for site in own)]
        return count_rows(rows, counting_of(histogram))

    others = people if relation == "substitution" else [()]
    moved = {int(np.abs(counts(one) - counts(other)).sum()) for one, other in product(people, others)}
    bound = exp_bounds(histogram.cost.epsilon)[1]
    assert max(moved) == (2 if relation == "substitution" else 1)
    assert Fraction(99, 100) * bound < ratio ** -max(moved) <= bound


def test_a_histogram_that_is_priced_for_one_move_of_two_is_caught(monkeypatch) -> None:
    monkeypatch.setattr(module, "RELATIONS", {"substitution": module.RELATIONS["add-remove"]})
    histogram = planned(relation="substitution")
    ratio = histogram.lead.noise.shift_law.ratio  # type: ignore[union-attr]
    assert ratio**-2 > 2 * exp_bounds(histogram.cost.epsilon)[1]


def made(counts: tuple[int, ...], of: str = "groups", leave_out: str = "1/20") -> Contributions:
    zeros = (0,) * len(counts)
    cost = planned().cost
    return Contributions(
        of, counts, zeros, counts, Fraction(leave_out), SQL, Unit("person"), Fraction(19, 20), cost, True
    )


def test_the_suggestion_is_the_least_bound_that_leaves_out_few() -> None:
    assert made((90, 6, 4)).suggestion == 2 and made((90, 6, 4)).share_above(2) == Fraction(1, 25)
    assert made((96, 2, 2)).suggestion == 1 and made((50, 20, 30)).suggestion is None
    assert made((50, 20, 30), leave_out="3/10").suggestion == 2
    assert made((100, -3, -2)).suggestion == 1 and made((-5, 2, 1)).suggestion is None  # noise can be negative
    assert "max_rows" in made((90, 6, 4), "rows").sentence and "max_groups" in made((90, 6, 4)).sentence
    assert "top" in made((50, 20, 30)).sentence and "or more" in made((1, 2, 3)).describe()


REFUSED = {
    "row": (SQL, {"unit": "row"}, "unit"),
    "no epsilon": (SQL, {"epsilon": None}, "epsilon"),
    "conditions": ("SELECT site, COUNT_IF(site = 1) AS a FROM visits GROUP BY site", {}, "questions"),
    "two counts": ("SELECT site, COUNT(*), COUNT_IF(site = 1) AS a FROM visits GROUP BY site", {}, "questions"),
    "totals": ("SELECT site, COUNT(*) FROM visits GROUP BY ROLLUP (site)", {}, "questions"),
    "one group": ("SELECT COUNT(*) FROM visits", {"domain": None}, "of"),
    "of": (SQL, {"of": "people"}, "of"),
    "top": (SQL, {"top": 1}, "top"),
    "high top": (SQL, {"top": 1_001}, "top"),
    "leave out": (SQL, {"leave_out": 1}, "leave_out"),
    "max_groups": (SQL, {"max_groups": 2}, "max_groups"),
    "max_rows": (SQL, {"max_rows": 2}, "max_rows"),
    "discover": (SQL, {"discover": "site"}, "discover"),
    "no ledger": (SQL, {"ledger": None}, "ledger"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_histogram_is_refused_before_anything_is_spent(name: str, visits: Path, tmp_path: Path) -> None:
    sql, options, argument = REFUSED[name]
    book = ledger(tmp_path)
    with refused(InvalidInput, argument):
        dc.contributions(sql, data=visits, **{"ledger": book, **ASK, **options})
    assert book.left().epsilon == 1_000


def test_a_ledger_of_others_does_not_pay(visits: Path, tmp_path: Path) -> None:
    book = ledger(tmp_path, relation="substitution")
    with pytest.raises(InvalidInput):
        dc.contributions(SQL, data=visits, ledger=book, **ASK)
    assert dc.contributions(SQL, data=visits, ledger=book, relation="substitution", **ASK).cost.epsilon == 1


def test_a_failure_while_counting_withholds_its_cause(visits: Path, tmp_path: Path, monkeypatch) -> None:
    """The budget that was reserved stays spent, and neither the message nor a frame has a row or a count."""
    book = ledger(tmp_path)

    def fails(self, counts, bits):
        if np.any(counts):
            raise ValueError("ann has 4711 rows")
        return counts

    monkeypatch.setattr("discreet.release.noise.cells.CellNoise.draw", fails)
    with pytest.raises(SourceFailed) as caught:
        dc.contributions(SQL, data=visits, ledger=book, **ASK)
    assert "4711" not in str(caught.value) and caught.value.__context__ is None and caught.value.__cause__ is None
    assert not any("counts" in frame.frame.f_locals for frame in caught.traceback if "release" in str(frame.path))
    assert book.left().epsilon == 999


DECLARED = (
    'format = "discreet dataset"\ndataset = "visits"\nunit = "person"\nledger = "visits.ledger"\n'
    '[tables.visits]\ndata = "visits.csv"\n[columns]\nsite = "1..3"\n'
)


@pytest.fixture
def declared(visits: Path, monkeypatch) -> dc.Dataset:
    """A data set whose file is in the working folder."""
    monkeypatch.chdir(visits.parent)
    Path("visits.toml").write_text(DECLARED, encoding="utf-8")
    ledger(visits.parent, 3)
    return dc.Dataset.open("visits.toml")


def test_a_declared_data_set_has_the_same_histogram(declared: dc.Dataset) -> None:
    """The data, the unit, the values and the ledger are those of its file; the question has one answer."""
    plan = declared.plan_contributions(SQL, of="rows", epsilon=1)
    assert (plan.preview().verdict, plan.cost.epsilon, declared.budget.spent.epsilon) == ("paid", 1, 0)
    first = declared.contributions(SQL, of="rows", epsilon=1)
    again = dc.contributions(SQL, data="visits.csv", ledger="visits.ledger", of="rows", **ASK)
    assert first.fresh and not again.fresh and first.counts == again.counts
    assert plan.preview().verdict == "recorded" and declared.budget.left.epsilon == 2
    assert declared.plan_contributions(SQL, epsilon=3).preview().verdict == "refused"
    quarter = declared.with_data("visits.csv", edition="Q2")
    assert quarter.contributions(SQL, of="rows", epsilon=1).fresh
    with refused(InvalidInput, token="Q2"):  # the ledger binds an edition to its file
        Path("other.csv").write_text("person,site\nann,1\n", encoding="utf-8")
        declared.with_data("other.csv", edition="Q2").contributions(SQL, of="groups", epsilon="1/10")
    with refused(InvalidInput, "unit"):
        declared.contributions(SQL, epsilon=1, unit="person")
    with refused(InvalidInput, "epsilon"):
        declared.contributions(SQL)


def test_the_error_of_a_plan_is_that_of_its_noise(declared: dc.Dataset) -> None:
    plan = declared.plan_contributions(SQL, epsilon="1/2", level="0.9")
    law = planned(epsilon="1/2").lead.noise.shift_law
    assert law is not None
    within = sum(law.probability(z) for z in range(-plan.half_width, plan.half_width + 1))
    assert within >= Fraction(9, 10) > within - 2 * law.probability(plan.half_width)
    facts = [fact.value for fact in plan.report().facts]
    assert f"noise ± {plan.half_width}" in facts and "would be paid" in plan.describe()


def test_the_verb_finds_the_dataset_file_and_plans_without_paying(declared: dc.Dataset) -> None:
    shown = run("contributions", SQL, "--epsilon", "1", "--plan").stdout
    assert "epsilon 1" in shown and "would be paid" in shown and "nothing was spent" in shown
    costly = run("contributions", SQL, "--epsilon", "4", "--plan", "--json", "--dataset", "visits.toml", code=1)
    assert json.loads(costly.stdout)["decision"]["verdict"] == "refused"
    assert declared.budget.spent.epsilon == 0
    paid = run("contributions", SQL, "--epsilon", "1", "--json")
    assert json.loads(paid.stdout)["fresh"] and declared.budget.left.epsilon == 2
    for option in (["--unit", "person"], ["--ledger", "visits.ledger"]):
        assert "declared in visits.toml" in run("contributions", SQL, "--epsilon", "1", *option, code=2).stderr
    without = ["contributions", SQL, "--data", "visits.csv", "--unit", "person", "--domain", "site=1..3"]
    assert "noise" in run(*without, "--epsilon", "1", "--plan").stdout
    assert "--ledger" in run(*without, "--epsilon", "1", code=2).stderr


def test_the_verb_prints_what_python_returns(visits: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    book = ledger(tmp_path)
    options = ["--data", "visits.csv", "--unit", "person", "--domain", "site=1..3", "--epsilon", "1", "--ledger"]
    shown = run("contributions", SQL, *options, "visits.ledger", "--json")
    python = dc.contributions(SQL, data=visits, ledger=book, **{**ASK, "epsilon": 1})
    assert json.loads(shown.stdout) | {"fresh": False} == python.to_json() and not python.fresh


def test_the_counting_reads_everybody_and_bounds_nobody() -> None:
    counting = counting_of(planned("rows", 5))
    assert (counting.of, counting.top, counting.max_rows) == ("rows", 5, None)
    assert planned("groups", 10).cells == 3  # nobody is in more groups than there are


def test_its_bundle_verifies_with_its_ledger(declared: dc.Dataset) -> None:
    """What Python and the verb write is one bundle; the recorded answer is the one that is checked."""
    for of, top in (("groups", 10), ("rows", 4)):
        histogram = declared.contributions(SQL, of=of, top=top, epsilon=1, out=f"by_{of}", because="to choose a bound")
        report = dc.verify(f"by_{of}", ledger="visits.ledger")
        assert report.passed and report["ledger"].holds and report["counts"].holds
        assert [row["count"] for row in dc.open_bundle(f"by_{of}").rows()] == list(histogram.counts)
    run("contributions", SQL, "--epsilon", "1", "-o", "again", "--accept", _criteria("largest_error = 50"))
    assert Path("again/counts.csv").read_bytes() == Path("by_groups/counts.csv").read_bytes()
    assert declared.budget.left.epsilon == 1
    refused_plan = ["contributions", SQL, "--epsilon", "1/2", "--accept", _criteria("largest_error = 1")]
    run(*refused_plan, code=1)
    assert declared.budget.left.epsilon == 1


def _criteria(text: str) -> str:
    Path("criteria.toml").write_text(text + "\n", encoding="utf-8")
    return "criteria.toml"


def _line_twice(request: dict, lines: list[str]) -> None:
    lines.append(lines[-1])


def _other_number(request: dict, lines: list[str]) -> None:
    lines[-1] = lines[-1].replace("3 or more", "4 or more")


def _line_less(request: dict, lines: list[str]) -> None:
    lines.pop()


def _other_top(request: dict, lines: list[str]) -> None:
    request["tables"][0]["contributions"]["top"] = 4


def _counted_in_more_groups(request: dict, lines: list[str]) -> None:
    request["max_groups"] = 2


def _half_of_the_cost(request: dict, lines: list[str]) -> None:
    request["epsilon"] = "1/2"


FORGED = {
    "counts": (_line_twice, _other_number, _line_less),
    "request": (_other_top, _counted_in_more_groups, _half_of_the_cost),
}


@pytest.mark.parametrize("forge", [one for each in FORGED.values() for one in each])
def test_a_forged_histogram_is_refused(forge, declared: dc.Dataset) -> None:
    declared.contributions(SQL, epsilon=1, out="forged")
    request = json.loads(Path("forged/request.json").read_text(encoding="utf-8"))
    lines = Path("forged/counts.csv").read_text(encoding="utf-8").splitlines()
    forge(request, lines)
    Path("forged/request.json").write_text(json.dumps(request, indent=1) + "\n", encoding="utf-8")
    Path("forged/counts.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    report = dc.verify("forged")
    assert not report.passed and report[next(name for name, all_ in FORGED.items() if forge in all_)].holds is False
