"""Acceptance criteria: checked against the plan before anything is reserved; the key of the question stays the same."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import discreet as dc
from discreet.errors import InvalidInput, NotAccepted, UnreadableFile, Unsupported, WrongType
from discreet.release.acceptance import accept_plan, read_criteria
from discreet.release.noise.accuracy import NO_END
from support.command_line import run
from support.refusals import refused

SQL = "SELECT site, COUNT(*) FROM visits GROUP BY site"
ASK: dict = {"unit": "person", "domain": {"site": (1, 2, 3)}, "max_groups": 1, "epsilon": 1}


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    file = tmp_path / "visits.csv"
    file.write_text("person,site\nann,1\nbob,2\nann,2\neve,3\n", encoding="utf-8")
    return file


@pytest.fixture
def book(tmp_path: Path) -> dc.Ledger:
    return dc.Ledger.create(tmp_path / "visits.ledger", dataset="visits", unit="person", epsilon=10)


def planned(sql: str = SQL, **more):
    return dc.plan_release(sql, data="visits", **{**ASK, **more})


def risk(at_least: int, probability: object) -> dict:
    return {"at_least": at_least, "probability": probability}


def tail(least: int) -> Fraction:
    """P(Z >= least) = alpha^least / (1 + alpha) of the noise of the plan, in a closed form."""
    alpha = Fraction(str(planned().lead.noise.mechanisms[0].parameters["alpha"]))
    return alpha**least / (1 + alpha)


def cases() -> list[tuple[dict, dict]]:
    """Criteria that the plan meets with nothing to spare, and the same a little narrower."""
    less = Fraction(1, 10**30)
    risks = [(name, least) for name in ("false_zeros", "spurious_counts") for least in (1, 5)]
    return [
        ({"largest_error": 3}, {"largest_error": 2}),
        ({"interval_width": 6}, {"interval_width": 5}),
        ({"largest_error": 4, "level": "0.99"}, {"largest_error": 3, "level": "0.99"}),
        *(({name: risk(least, tail(least))}, {name: risk(least, tail(least) - less)}) for name, least in risks),
    ]


@pytest.mark.parametrize("number", range(7))
def test_each_criterion_is_met_exactly_at_its_value(number: int) -> None:
    met, unmet = cases()[number]
    assert planned().acceptance(met).passed
    failed = planned().acceptance(unmet)
    (result,) = failed.results
    assert not failed.passed and not result.passed and result.value > result.limit


def test_nothing_is_reserved_or_spent_where_a_criterion_is_not_met(
    visits: Path, book: dc.Ledger, tmp_path: Path
) -> None:
    """The ledger stays the same byte for byte, also for an answer that is recorded; with the criterion met it pays."""
    file, out = tmp_path / "visits.ledger", tmp_path / "out"
    before = file.read_bytes()
    ask = {**ASK, "data": visits, "ledger": book, "out": out, "because": "a reason"}
    with refused(NotAccepted, "accept", token="largest_error"):
        dc.release_counts(SQL, accept={"largest_error": 2}, **ask)
    assert file.read_bytes() == before and not out.exists()
    first = dc.release_counts(SQL, accept={"largest_error": 3}, **ask)
    paid = file.read_bytes()
    assert paid != before and dc.verify_bundle(out, ledger=book).passed
    with refused(NotAccepted, "accept", token="largest_error"):
        dc.release_counts(SQL, accept={"largest_error": 2}, **ask)
    assert file.read_bytes() == paid
    again = dc.release_counts(SQL, **{**ask, "out": None})
    assert not again.fresh and again.rows() == first.rows() and again.plan.key == first.plan.key
    assert "accept" not in json.dumps(again.plan.request)


def test_the_error_names_every_unmet_criterion_and_what_to_do() -> None:
    criteria = {"largest_error": 2, "interval_width": 6, "false_zeros": risk(1, "1%")}
    with pytest.raises(NotAccepted) as caught:
        accept_plan(planned(), criteria)
    message = str(caught.value)
    assert "largest_error" in message and "false_zeros" in message and "interval_width" not in message
    assert "epsilon=..." in message and "± 3" in message and "at most 2" in message and "26.9%" in message


def test_the_interval_of_a_chosen_bound_has_no_end() -> None:
    (result,) = planned(bound=100).acceptance({"interval_width": 10**6}).results
    assert result.value is None and not result.passed and result.to_json()["value"] is None


def test_a_withheld_count_is_no_zero() -> None:
    """Counts below 3 are withheld: no zero is published, and a group of none appears only from 3 on."""
    zeros, spurious = (
        planned(suppress_below=3).acceptance({"false_zeros": risk(1, 0), "spurious_counts": risk(1, tail(3))}).results
    )
    assert zeros.passed and spurious.value == tail(3)
    (zeros,) = planned(suppress_below=0, counts="signed").acceptance({"false_zeros": risk(1, tail(1))}).results
    assert zeros.passed and zeros.value == tail(1)


def test_the_worst_table_decides() -> None:
    """Two tables share epsilon 1 as 1/2 each, or by their shares: the one with less of it has the larger error."""
    plan = planned([SQL, SQL.replace("site", "year", 1).replace("BY site", "BY year")], split=[3, 1],
                   domain={"site": (1, 2, 3), "year": (1, 2)})  # fmt: skip
    (result,) = plan.acceptance({"largest_error": 3}).results
    assert result.value == max(one.half_width for one in plan.expected) > min(one.half_width for one in plan.expected)


# ------------------------------------------------------------------------------------------------ kinds of tables


def test_a_discovered_group_is_never_a_zero() -> None:
    """The count that names a group lies above the threshold; further measures have zeros and spurious counts."""
    plan = planned(discover="site", domain=None, delta="1e-6")
    zeros, spurious = plan.acceptance({"false_zeros": risk(1, 0), "spurious_counts": risk(1, 0)}).results
    assert zeros.passed and spurious.passed
    more = planned(SQL.replace("COUNT(*)", "COUNT(*), COUNT_IF(ill = 1) AS ill"), discover="site", domain=None,
                   delta="1e-6")  # fmt: skip
    alpha = Fraction(str(more.lead.noise.mechanisms[1].parameters["alpha"]))
    zeros, spurious = more.acceptance({"false_zeros": risk(2, 0), "spurious_counts": risk(2, 0)}).results
    assert zeros.value == spurious.value == alpha**2 / (1 + alpha) and not zeros.passed


def test_the_widest_interval_of_a_discovered_group_is_that_of_some_count() -> None:
    plan = planned(discover="site", domain=None, delta="1e-6")
    noise = plan.lead.noise
    reports = np.arange(noise.reach + 1, 5 * noise.reach)
    low, high = noise.intervals(reports, plan.level)
    (result,) = plan.acceptance({"interval_width": 1}).results
    assert result.value == (high - low).max()


@pytest.mark.parametrize("criterion", ["false_zeros", "spurious_counts"])
def test_risks_of_combined_counts_are_refused(criterion: str) -> None:
    with refused(Unsupported, "accept", token=criterion):
        planned(totals=["all"]).acceptance({criterion: risk(5, "1%")})


def test_no_published_interval_with_totals_is_wider(visits: Path, book: dc.Ledger) -> None:
    plan = planned(totals=["all"])
    (result,) = plan.acceptance({"interval_width": 10**6}).results
    released = dc.release_counts(SQL, data=visits, ledger=book, totals=["all"], **ASK)
    errors = released.tables[0].errors
    widest = int((errors["high"] - errors["low"]).max())
    assert (errors["high"] < NO_END).all() and widest <= result.value <= 2 * plan.expected[0].half_width + 1


# ------------------------------------------------------------------------------------------------ files


def test_a_file_is_read_as_its_mapping(tmp_path: Path) -> None:
    file = tmp_path / "criteria.toml"
    file.write_text(
        "level = 0.9\nlargest_error = 10\ninterval_width = 20.5\n"
        'false_zeros = { at_least = 5, probability = 0.01 }\nspurious_counts = { at_least = 1, probability = "30%" }\n'
    )
    content = {"level": "0.9", "largest_error": 10, "interval_width": "20.5", "false_zeros": risk(5, "1/100"),
               "spurious_counts": risk(1, "0.3")}  # fmt: skip
    assert read_criteria(file) == read_criteria(str(file)) == read_criteria(content)


@pytest.mark.parametrize(
    ("content", "kind", "parts"),
    [
        ("largest_eror = 3", UnreadableFile, {"argument": "accept", "token": "largest_error"}),
        ("", UnreadableFile, {"argument": "accept", "token": "criteria"}),
        ("level = 0.9", UnreadableFile, {"argument": "accept", "token": "criteria"}),
        ("largest_error = true", UnreadableFile, {"argument": "largest_error"}),
        ("largest_error = -1", UnreadableFile, {"argument": "largest_error", "given": -1}),
        ("largest_error = [3]", UnreadableFile, {"argument": "largest_error"}),
        ("level = 2\nlargest_error = 3", UnreadableFile, {"argument": "level", "given": 2}),
        ("false_zeros = 0.1", UnreadableFile, {"argument": "false_zeros", "given": "0.1"}),
        ("false_zeros = { at_least = 5 }", UnreadableFile, {"argument": "false_zeros"}),
        ("false_zeros = { at_least = 0, probability = 0.1 }", UnreadableFile, {"argument": "at_least", "given": 0}),
        ("false_zeros = { at_least = 2.5, probability = 0.1 }", UnreadableFile, {"argument": "at_least"}),
        ("false_zeros = { at_least = 5, probability = 2 }", UnreadableFile, {"argument": "probability", "given": 2}),
        ("false_zeros = { at_least = 5, probability = 0.1, x = 1 }", UnreadableFile, {"argument": "accept"}),
        ("person,site", UnreadableFile, {"argument": "accept", "token": "TOML"}),
    ],
)
def test_a_file_that_is_not_criteria_is_refused(content: str, kind: type, parts: dict, tmp_path: Path) -> None:
    file = tmp_path / "criteria.toml"
    file.write_text(content)
    with refused(kind, **parts):
        planned().acceptance(file)


def test_what_is_no_criteria_is_refused(visits: Path, book: dc.Ledger) -> None:
    with refused(UnreadableFile, "accept"):
        planned().acceptance("missing.toml")
    with refused(WrongType, "accept"):
        planned().acceptance(3)
    with refused(InvalidInput, "accept"):
        dc.release_counts(SQL, data=visits, ledger=book, accept={}, **ASK)
    assert book.left().epsilon == 10


# ------------------------------------------------------------------------------------------------ datasets, verbs


def declared(visits: Path) -> Path:
    run("dataset", "new", "visits.csv", "--unit", "person", "--budget", "10", "--domain", "site=1..3", "--yes",
        cwd=visits.parent)  # fmt: skip
    return visits.parent / "visits.toml"


def test_a_plan_of_a_dataset_takes_criteria(visits: Path) -> None:
    dataset = dc.Dataset.open(declared(visits))
    plan = dataset.plan(SQL, max_groups=1, epsilon=1)
    assert plan.acceptance({"largest_error": 3}).passed
    with refused(NotAccepted, "accept", token="largest_error"):
        plan.release(accept={"largest_error": 2})
    assert dataset.ledger.left().epsilon == 10
    assert plan.release(accept={"largest_error": 3}).fresh


@pytest.mark.parametrize("with_dataset", [False, True])
def test_the_command_line_shows_each_criterion_and_releases_only_if_all_are_met(
    with_dataset: bool, visits: Path
) -> None:
    folder = visits.parent
    (folder / "met.toml").write_text("largest_error = 3")
    (folder / "unmet.toml").write_text("largest_error = 3\ninterval_width = 5")
    if with_dataset:
        declared(visits)
        line = ["release", SQL, "--max-groups", "1", "--epsilon", "1", "--accept"]
    else:
        dc.Ledger.create(folder / "visits.ledger", dataset="visits", unit="person", epsilon=10)
        line = ["release", SQL, "--data", "visits.csv", "--unit", "person", "--domain", "site=1..3", "--max-groups",
                "1", "--epsilon", "1", "--ledger", "visits.ledger", "--accept"]  # fmt: skip
    before = (folder / "visits.ledger").read_bytes()
    shown = run(*line, "unmet.toml", "--plan", code=1, cwd=folder).stdout
    assert "NOT MET" in shown and "largest_error" in shown and "interval_width" in shown
    content = json.loads(run(*line, "unmet.toml", "--plan", "--json", code=1, cwd=folder).stdout)
    assert [one["holds"] for one in content["acceptance"]["criteria"]] == [True, False]
    assert not content["acceptance"]["passed"]
    if not with_dataset:
        schema = Path(dc.__file__).parent / "schemas" / "plan.json"
        Draft202012Validator(json.loads(schema.read_text())).validate(content)
    ended = run(*line, "unmet.toml", "-o", "out", "--yes", code=1, cwd=folder)
    assert "--epsilon" in ended.stderr and (folder / "visits.ledger").read_bytes() == before
    assert not (folder / "out").exists()
    assert "NOT MET" not in run(*line, "met.toml", "--plan", "--write", "ask.toml", cwd=folder).stdout
    assert "accept" not in (folder / "ask.toml").read_text()
    run("release", "ask.toml", "-o", "out", "--yes", "--accept", "unmet.toml", code=1, cwd=folder)
    assert (folder / "visits.ledger").read_bytes() == before
    run(*line, "met.toml", "--simulate", "100", code=2, cwd=folder)
    run(*line, "met.toml", "-o", "out", "--yes", cwd=folder)
    assert (folder / "out" / "counts.csv").is_file()
