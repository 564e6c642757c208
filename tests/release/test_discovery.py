"""Groups not known in advance, from the request to the bundle: asked, refused, published, recalled, re-checked."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import discreet as dc
from discreet.errors import InvalidInput, SourceFailed, WrongType
from discreet.pages.html import page
from discreet.questions.orders import canonical
from discreet.release.bundle.verify import verify_bundle
from discreet.release.noise.discovered import DiscoveredNoise
from discreet.release.noise.naming import BoundedNaming, GaussianNaming, discovered_noise
from discreet.release.plan.plan import Plan, plan_from_request
from discreet.release.tables.columns import LAYOUT
from discreet.release.tables.discovered import DiscoveredTablePlan
from support.bundles import seal
from support.command_line import run
from support.refusals import Parts, refused
from support.tiers import examples

SQL = "SELECT job, COUNT(*) FROM visits GROUP BY job"
AREA = "SELECT area, job, COUNT(*), COUNT_IF(x = 1) AS one FROM visits GROUP BY area, job"
ASK: dict[str, Any] = {"unit": "person", "max_groups": 1, "epsilon": 1, "delta": "1e-6", "discover": "job"}

#: Large groups are named for certain, one person's is not (up to delta); labels that a spreadsheet would misread.
SIZES = {"cook": 200, "=smith": 150, "a,b": 120, "NULL": 110, "zoo keeper of one": 1}


def rows() -> list[tuple[str, str, str, int]]:
    found, number = [], 0
    for job, size in SIZES.items():
        for _ in range(size):
            number += 1
            found.append((f"p{number}", job, "north" if number % 2 else "south", number % 3))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("visits")
    pd.DataFrame(rows(), columns=["person", "job", "area", "x"]).to_parquet(place / "visits.parquet")
    return place


@pytest.fixture
def data(folder: Path) -> Path:
    return folder / "visits.parquet"


@pytest.fixture
def ledger(tmp_path: Path) -> dc.Ledger:
    return dc.Ledger.create(tmp_path / "v.ledger", dataset="visits", unit="person", epsilon=50, delta=Fraction(1, 100))


def named(release: dc.Release) -> dict[str, int]:
    return {row["job"]: row["count"] for row in release.rows()}


# ------------------------------------------------------------------------------------------------ releases


def test_large_groups_are_named_and_one_persons_value_is_not(data: Path, ledger: dc.Ledger, tmp_path: Path) -> None:
    release = dc.release_counts(SQL, data=data, ledger=ledger, out=tmp_path / "out", **ASK)
    assert list(named(release)) == sorted(set(SIZES) - {"zoo keeper of one"})
    noise = release.tables[0].plan.noise
    assert isinstance(noise, DiscoveredNoise)
    for row in release.rows():
        assert row["count"] > noise.reach and row["status"] == "A"
        assert row["certain_low"] <= SIZES[row["job"]] <= row["certain_high"] == row["count"] + noise.reach
        assert row["certain_low"] <= row["low"] <= row["count"] <= row["high"] <= row["certain_high"]
    report = verify_bundle(tmp_path / "out", ledger)
    assert report.holds and not report.undecided
    published = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    assert b"cook" in published["counts.csv"]  # a large group is named, so a small one would be seen
    assert [name for name, content in published.items() if b"zoo keeper" in content] == []
    assert ledger.left().delta == Fraction(1, 100) - release.cost.delta > Fraction(1, 100) - Fraction("1e-6")


def test_the_same_question_is_answered_once_and_recalled(data: Path, ledger: dc.Ledger, tmp_path: Path) -> None:
    first = dc.release_counts(SQL, data=data, ledger=ledger, **ASK)
    again = dc.release_counts(
        SQL.lower(), data=data, ledger=ledger, out=tmp_path / "out", **{**ASK, "discover": ["JOB"]}
    )
    assert first.fresh and not again.fresh and first.rows() == again.rows()
    assert verify_bundle(tmp_path / "out", ledger).holds
    other = dc.release_counts(SQL, data=data, ledger=ledger, **{**ASK, "level": 0.8})
    assert not other.fresh and named(other) == named(first)


def test_declared_and_discovered_columns_and_further_measures(data: Path, ledger: dc.Ledger, tmp_path: Path) -> None:
    ask = {**ASK, "domain": {"area": ["south", "north", "west"]}, "epsilon": 4}
    release = dc.release_counts(AREA, data=data, ledger=ledger, out=tmp_path / "out", **ask)
    assert release.tables[0].plan.sensitivity == 2
    cells = {(row["area"], row["job"], row["measure"]): row for row in release.rows()}
    assert ("north", "cook", "count") in cells and ("north", "cook", "one") in cells
    assert not any(area == "west" for area, _, _ in cells)
    further = cells["south", "cook", "one"]
    assert further["certain_low"] == 0 and further["certain_high"] is None
    assert verify_bundle(tmp_path / "out", ledger).holds
    turned = dc.release_counts(
        AREA, data=data, ledger=ledger, **{**ask, "domain": {"area": ["west", "north", "south"]}}
    )
    assert not turned.fresh and turned.rows() == release.rows()


@pytest.mark.parametrize("domain", [None, {"area": ["west", "east"]}])
def test_a_release_that_names_no_group_is_a_release(domain: Any, data: Path, ledger: dc.Ledger, tmp_path: Path) -> None:
    sql = SQL.replace("GROUP", "WHERE x = 77 GROUP") if domain is None else AREA
    release = dc.release_counts(sql, data=data, ledger=ledger, out=tmp_path / "out", **{**ASK, "domain": domain})
    assert release.rows() == [] and "so none is named" in release.describe()
    assert verify_bundle(tmp_path / "out", ledger).holds


def test_whole_numbers_are_found_as_numbers(ledger: dc.Ledger) -> None:
    table = pd.DataFrame({"person": range(300), "code": pd.array([7, 10] * 149 + [None, 2**60], "Int64")})
    sql = "SELECT code, COUNT(*) FROM visits GROUP BY code"
    ask = {**ASK, "discover": "code", "dataset": "visits"}
    release = dc.release_counts(sql, data=table, ledger=ledger, **ask)
    assert [row["code"] for row in release.rows()] == [7, 10]


def test_views_are_discovered_through_their_table(tmp_path: Path, ledger: dc.Ledger) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "visits.duckdb")) as engine:
        engine.execute("CREATE TABLE people AS SELECT i AS person, 'cook' AS work FROM range(300) AS r(i)")
        engine.execute("CREATE VIEW visits AS SELECT person, work AS job FROM people")
    release = dc.release_counts(SQL, data=tmp_path / "visits.duckdb", ledger=ledger, out=tmp_path / "out", **ASK)
    assert list(named(release)) == ["cook"] and release.tables[0].headings[0] == "job"
    assert verify_bundle(tmp_path / "out", ledger).holds


def test_sums_of_selected_counts_are_refused(data: Path, ledger: dc.Ledger) -> None:
    release = dc.release_counts(SQL, data=data, ledger=ledger, **ASK)
    for ask in (release.total, lambda: release.percentage({"job": "cook"}), lambda: release.difference(None, None)):
        with refused(InvalidInput, token="add up"):
            ask()
    assert release.chart().spec["data"]  # the picture has all of them
    assert "Do not add these counts up" in page(release.report())


def test_json_is_what_the_published_schemas_describe(data: Path, ledger: dc.Ledger) -> None:
    release = dc.release_counts(SQL, data=data, ledger=ledger, **ASK)
    for name, content in (("plan", release.plan.to_json()), ("counts", release.to_json())):
        schema = json.loads((Path(dc.__file__).parent / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
        Draft202012Validator(schema).validate(json.loads(json.dumps(content)))


# ------------------------------------------------------------------------------------------------ the plan


def test_the_plan_says_what_discovery_means_and_reads_no_row(tmp_path: Path) -> None:
    plan = dc.plan_release(SQL, data=tmp_path / "visits.csv", **{**ASK, "max_groups": 2, "delta": "1e-8"})
    noise = plan.tables[0].noise
    assert isinstance(noise, BoundedNaming) and noise.reach == 36 and plan.known_cells is None
    words = plan.describe()
    assert "noisy count is above 36" in words
    assert "probability at most 3.74e-09" in words
    assert "73 `person` values or more" in words
    assert "by up to 36" in words and "person or job" in words
    assert "unbiased, zero at least" not in words  # that is the noise before groups are selected
    assert "never exceeds ± 36" in words
    assert "± 36at most; ± 6, 95% of the time, in groups of 73 or more" in page(plan.report()).replace("</b><span>", "")
    error: Any = plan.to_json()["tables"][0]["error"]  # type: ignore[index, call-overload]
    assert (error["half_width"], error["bias_high"], error["exact"], error["half_width_when_unbiased"]) == (
        36,
        36,
        0,
        6,
    )
    assert plan.to_json()["cells"] is None and plan.cost.delta <= Fraction(1, 10**8)
    assert dc.plan_release(SQL, data="visits.csv", **{**ASK, "relation": "substitution"}).tables[0].sensitivity == 2


def test_with_several_groups_the_noise_with_the_lower_threshold_is_taken() -> None:
    """Five groups: discrete Gaussian noise, above 68, where truncated noise would need 89; in two, truncated noise."""
    asked = {**ASK, "delta": "1e-8"}
    plan = dc.plan_release(SQL, data="visits.csv", **{**asked, "max_groups": 5})
    (noise,) = (table.noise for table in plan.tables)
    assert isinstance(noise, GaussianNaming) and (noise.threshold, noise.reach) == (69, 68)
    assert discovered_noise(Fraction(1, 5), Fraction(1, 10**8), draws=5, measures=1).reach == 89
    assert plan.cost.delta == Fraction(1, 10**8) and plan.cost.rho is None
    words = plan.describe()
    for number in ("variance 130;", "above 68", "1.61e-09 (8.05e-09", "104 `person`", "99.9%"):
        assert number in words
    assert "never exceeds" not in words and "always named" not in words
    again = plan_from_request(json.loads(json.dumps(plan.request)))
    assert again.request == plan.request and again.guarantee == plan.guarantee and again.cost == plan.cost
    for groups, threshold in ((10, 99), (50, 228)):
        other = dc.plan_release(SQL, data="visits.csv", **{**asked, "max_groups": groups})
        assert other.tables[0].noise.reach == threshold - 1  # type: ignore[attr-defined]


def test_forged_thresholds_and_variances_are_refused() -> None:
    """The judge proves delta from the variance, the threshold, the groups, the rows and the relation alone."""
    asked = {**ASK, "delta": "1e-8", "max_groups": 10}
    plan = dc.plan_release(SQL, data="visits.csv", **asked)
    noise = plan.request["tables"][0]["noise"]
    less = dc.plan_release(SQL, data="visits.csv", **{**asked, "max_groups": 9}).request["tables"][0]["noise"]
    assert plan_from_request(forged(plan, noise={**noise, "threshold": 100})).lead.noise.reach == 99  # type: ignore[attr-defined]
    for changes in (
        {"noise": {**noise, "threshold": 98}}, {"noise": {**noise, "threshold": 93}}, {"noise": less},
        {"noise": {**less, "threshold": 200}}, {"noise": {**noise, "threshold": True}},
        {"noise": {**noise, "threshold": 10**9}}, {"noise": {**noise, "measures": 2}}, {"max_groups": 11},
        {"relation": "substitution"}, {"epsilon": "99/100"}, {"delta": "9/1000000000"},
    ):  # fmt: skip
        with pytest.raises(InvalidInput):
            plan_from_request(forged(plan, **changes))
    with pytest.raises(InvalidInput):
        plan_from_request({**forged(plan), "max_rows": 2})


def test_a_release_with_gaussian_noise_is_recalled_and_verified(data: Path, ledger: dc.Ledger, tmp_path: Path) -> None:
    ask = {**ASK, "max_groups": 6, "domain": {"area": ["south", "north", "west"]}, "epsilon": 3}
    release = dc.release_counts(AREA, data=data, ledger=ledger, out=tmp_path / "out", **ask)
    noise = release.tables[0].plan.noise
    assert isinstance(noise, GaussianNaming) and release.rows()
    for row in release.rows():
        assert row["certain_high"] is None and row["certain_low"] == (row["measure"] == "count")
        assert row["measure"] != "count" or row["count"] > noise.reach
    assert verify_bundle(tmp_path / "out", ledger).holds
    assert not dc.release_counts(AREA, data=data, ledger=ledger, **ask).fresh
    assert "never exceeds" not in release.describe() and "standard deviation" in release.describe()


def test_several_questions_discover_their_groups_from_one_budget(data: Path, ledger: dc.Ledger, tmp_path: Path) -> None:
    """They have one noise and one threshold: a person makes the draws of all of them."""
    ask = {**ASK, "discover": "job", "domain": {"area": ["south", "north"]}, "epsilon": 2}
    release = dc.release_counts([SQL, AREA], data=data, ledger=ledger, out=tmp_path / "out", **ask)
    first, second = (table.plan.noise for table in release.tables)
    assert isinstance(first, DiscoveredNoise) and isinstance(second, DiscoveredNoise) and first.reach == second.reach
    alone = dc.plan_release(SQL, data="visits.csv", **{**ASK, "epsilon": 2})
    assert first.reach > alone.tables[0].noise.reach  # type: ignore[attr-defined]
    assert [table.plan.share for table in release.tables] == [Fraction(1, 2)] * 2
    assert all(table.rows() for table in release.tables)
    assert verify_bundle(tmp_path / "out", ledger).holds
    assert not dc.release_counts([SQL, AREA], data=data, ledger=ledger, **ask).fresh
    plan = release.plan
    other = forged(plan)
    other["tables"][1]["noise"] = dc.plan_release(AREA, data="visits.csv", **{**ask, "delta": "1e-3"}).request[
        "tables"
    ][0]["noise"]
    with pytest.raises(InvalidInput):
        plan_from_request(other)
    with refused(InvalidInput, "split"):
        dc.plan_release([SQL, AREA], data="visits.csv", **{**ask, "split": [1, 2]})


def test_groups_are_named_by_rows_up_to_a_cap(ledger: dc.Ledger, tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"person": [f"p{i % 150}" for i in range(900)], "job": ["cook" if i % 150 else "judge" for i in range(900)]}
    )
    ask = {**ASK, "dataset": "visits", "max_rows": 3}
    release = dc.release_counts(SQL, data=table, ledger=ledger, out=tmp_path / "out", **ask)
    noise = release.tables[0].plan.noise
    assert isinstance(noise, DiscoveredNoise)
    ((job, count),) = named(release).items()
    assert job == "cook" and abs(count - 3 * 149) <= noise.reach
    assert release.tables[0].plan.sensitivity == 3 and verify_bundle(tmp_path / "out", ledger).holds
    with pytest.raises(InvalidInput):
        plan_from_request(forged(release.plan, max_rows=4))  # it is in the request
    people = dc.plan_release(SQL, data="visits.csv", **ASK).tables[0].noise
    assert noise.reach > people.reach  # type: ignore[attr-defined]


def test_the_threshold_does_not_depend_on_how_many_groups_are_declared(tmp_path: Path) -> None:
    """A person makes k draws, never fewer because few groups are known."""
    sql = "SELECT area, job, COUNT(*) FROM visits GROUP BY area, job"
    reaches = {
        dc.plan_release(sql, data="visits.csv", **{**ASK, "max_groups": 3, "domain": {"area": areas}})
        .tables[0]
        .noise.reach  # type: ignore[attr-defined]
        for areas in (["a"], ["a", "b", "c", "d"])
    }
    assert len(reaches) == 1


def test_requests_without_discovery_have_the_keys_they_had() -> None:
    plan = dc.plan_release(
        "SELECT site, COUNT(*) FROM visits GROUP BY site", data="visits", unit="person",
        domain={"site": range(1, 7)}, max_groups=1, epsilon=1,
    )  # fmt: skip
    assert plan.key == "7d345ce1b730d024690412a75fa08561d64f31147fe00442f2b1037ae0f8406a"
    assert "discover" not in json.dumps(plan.request)


def test_a_request_is_rebuilt_from_its_json() -> None:
    plan = dc.plan_release(AREA, data="visits.csv", **{**ASK, "domain": {"area": ["a", "b"]}})
    again = plan_from_request(json.loads(json.dumps(plan.request)))
    assert isinstance(again, Plan) and again.request == plan.request and again.key == plan.key
    assert again.guarantee == plan.guarantee and again.cost == plan.cost


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"delta": 0}, Parts(argument="delta", token="need a delta")),
        ({"epsilon": None}, Parts(argument="epsilon", token="whole release")),
        ({"max_groups": None}, Parts(argument="max_groups", token="many groups")),
        ({"unit": "row", "max_groups": None}, Parts(argument="unit", token="certain")),
        ({"one_row_each": True}, Parts(argument="one_row_each", token="goes with")),
        ({"discover": "town"}, Parts(argument="discover", token="groups by job")),
        ({"discover": ["job", "Job"]}, Parts(argument="discover", token="discovered twice")),
        ({"discover": "", "domain": {"job": ["a"]}, "one_row_each": True}, Parts(argument="discover", given="")),
        (
            {"discover": None, "domain": {"job": ["a"]}, "one_row_each": True},
            Parts(argument="one_row_each", token="found"),
        ),
        ({"domain": {"job": ["a"]}}, Parts(argument="domain", token="discovered")),
        ({"bands": {"age": [18, 30]}}, Parts(argument="bands", token="cuts")),
        ({"totals": "all"}, Parts(argument="totals", token="which some")),
        ({"domain": {"town": ["a"]}}, Parts(argument="domain", token="which no question")),
        ({"groups": [("a",)]}, Parts(argument="groups", token="lists the groups")),
        ({"zeros": [("a",)]}, Parts(argument="zeros", token="names groups")),
        ({"bound": 10}, Parts(argument="bound", token="tables")),
        ({"sizes": [("a", 3)], "relation": None}, Parts(argument="sizes", token="sizes of groups")),
        ({"error": 5, "epsilon": None}, Parts(argument="error", token="has no epsilon")),
        ({"suppress_below": 0}, Parts(argument="suppress_below", token="withholds counts")),
        ({"suppress_below": 10}, Parts(argument="suppress_below", token="withholds counts")),
        ({"properties": "WH"}, Parts(argument="properties", token="design")),
        ({"mechanism": "discrete-gaussian"}, Parts(argument="mechanism", token="by its threshold")),
        ({"counts": "signed"}, Parts(argument="counts", token="never negative")),
        ({"epsilon": "1/10000"}, Parts(argument="epsilon", token="Raise epsilon")),
    ],
)
def test_what_has_no_meaning_is_refused_before_anything_is_read(change: dict[str, Any], words: Parts) -> None:
    with refused((InvalidInput, WrongType), **words):
        dc.plan_release(SQL, data="visits.csv", **{**ASK, **change})


@pytest.mark.parametrize("domain", [["area=N,S,*"], {"area": ["N", "S", ...]}])
def test_a_rest_is_refused_beside_discovered_columns(domain: Any) -> None:
    by_both = "SELECT area, job, COUNT(*) FROM visits GROUP BY area, job"
    with refused(InvalidInput, "domain"):
        dc.plan_release(by_both, data="visits.csv", **{**ASK, "domain": domain})
    assert dc.plan_release(by_both, data="visits.csv", **{**ASK, "domain": {"area": ["N", "S"]}}).known_cells is None


@pytest.mark.parametrize(
    ("grouped", "parts"),
    [
        ("floor(age / 10) * 10", Parts(argument=None, token="bands")),
        ("ROLLUP (job)", Parts(argument="discover", token="totals")),
    ],
)
def test_bands_and_levels_in_sql_are_refused_with_discovery(grouped: str, parts: Parts) -> None:
    selected = "job" if "job" in grouped else grouped
    sql = f"SELECT {selected}, COUNT(*) FROM visits GROUP BY {grouped}"
    with refused(InvalidInput, **parts):
        dc.plan_release(sql, data="visits.csv", **{**ASK, "discover": "age" if "age" in grouped else "job"})


def test_more_refusals(data: Path) -> None:
    with refused(InvalidInput, "discover"):
        dc.plan_release("SELECT COUNT(*) FROM visits", data="visits.csv", **ASK)
    with refused(InvalidInput, "domain"):
        dc.plan_release(AREA, data="visits.csv", **ASK)
    by = "SELECT person, COUNT(*) FROM visits GROUP BY person"
    with refused(InvalidInput, "discover"):
        dc.plan_release(by, data=data, **{**ASK, "discover": "person"})


def forged(plan: Plan, **changes: Any) -> dict[str, Any]:
    request = json.loads(json.dumps(plan.request))
    for name, value in changes.items():
        if name in request:
            request[name] = value
        else:
            request["tables"][0][name] = value
    return request


def test_forged_requests_are_refused() -> None:
    """A lower threshold, another noise, fewer draws than the people make, a bound that is not charged."""
    plan = dc.plan_release(SQL, data="visits.csv", **{**ASK, "max_groups": 2})
    weaker = dc.plan_release(SQL, data="visits.csv", **{**ASK, "max_groups": 2, "delta": "1e-3"})
    noise, low = (one.request["tables"][0]["noise"] for one in (plan, weaker))
    assert plan_from_request(forged(plan, noise=noise)).key == plan.key
    discover = plan.request["tables"][0]["discover"]
    for changes in (
        {"noise": low}, {"max_groups": 3}, {"epsilon": "1/2"}, {"relation": "substitution"}, {"delta": "1e-9"},
        {"noise": {**noise, "measures": 2}}, {"noise": {**noise, "output": "signed", "low": None}},
        {"discover": {**discover, "places": [1]}}, {"discover": {**discover, "kinds": ["float"]}},
        {"discover": {**discover, "one_row_each": True}}, {"suppress_below": 3}, {"share": "1/2"},
    ):  # fmt: skip
        with pytest.raises(InvalidInput):
            plan_from_request(forged(plan, **changes))


# ------------------------------------------------------------------------------------------------ bundles


@pytest.fixture
def bundle(data: Path, ledger: dc.Ledger, tmp_path: Path) -> Path:
    dc.release_counts(SQL, data=data, ledger=ledger, out=tmp_path / "out", **ASK)
    return tmp_path / "out"


def below_the_threshold(text: str) -> str:
    first, second, *rest = text.split("\n")
    cells = second.split(",")
    cells[1] = "3"
    return "\n".join([first, ",".join(cells), *rest])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (below_the_threshold, "whose noisy count is not above"),
        (lambda text: "\n".join([*text.split("\n")[:1], *reversed(text.split("\n")[1:-1]), ""]), "in their order"),
        (lambda text: text.replace("cook,", "cooks,"), None),
        (lambda text: "\n".join([*text.split("\n")[:-2], ""]), None),
        (lambda text: text.replace("\n'NULL,", "\n'NULL,1,A\n'NULL,"), None),
    ],
)
def test_a_table_that_was_tampered_with_does_not_hold(
    change: Any, words: str | None, bundle: Path, ledger: dc.Ledger
) -> None:
    file = bundle / "counts.csv"
    text = file.read_text(encoding="utf-8")
    assert change(text) != text
    file.write_text(change(text), encoding="utf-8")
    seal(bundle)
    report = verify_bundle(bundle, ledger)
    assert not report.holds
    assert words is None or words in str(report["counts"].sentence)


LABELS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@given(
    st.sets(st.one_of(LABELS, st.sampled_from(["NULL", "'", '"', "=1", "a\nb", "\r", " ", "'NULL", ","])), max_size=6)
)
@examples(60)
def test_whatever_is_named_can_be_read_back(labels: set[str]) -> None:
    plan = dc.plan_release(AREA, data="visits.csv", **{**ASK, "domain": {"area": ["b", "a", "NULL", "'"]}})
    (table,) = plan.tables
    assert isinstance(table, DiscoveredTablePlan)
    found = np.array(sorted(labels), dtype=object)
    parts = np.arange(found.size) % 4
    groups = (
        canonical(table.discovery.published_groups(table.question, table.groups, [found], parts)) if labels else None
    )
    groups = groups or table.discovery.published_groups(table.question, table.groups, [found], parts)
    counts = np.full((groups.size, 2), table.noise.reach + 1)
    status = np.full((groups.size, 2), "A")
    shown = replace(table, groups=groups).released(counts, status, plan.level, "")
    again = table.read(shown.csv_text(), "counts.csv", plan.level, plan.edition, LAYOUT)
    assert again.groups == groups and (again.counts == counts).all()


def test_a_group_that_was_renamed_everywhere_shows_with_the_ledger_alone(
    bundle: Path, ledger: dc.Ledger, tmp_path: Path
) -> None:
    release = verify_bundle(bundle).release
    assert release is not None
    (table,) = release.tables
    values = tuple("cooks" if value == "cook" else value for value in table.groups.values[0])
    other = replace(table, plan=replace(table.plan, groups=replace(table.groups, values=(values,))))
    forged_release = replace(release, tables=(other,))
    forged_release.save(tmp_path / "forged")
    alone = verify_bundle(tmp_path / "forged")
    assert alone.holds and alone["ledger"].holds is None
    assert verify_bundle(tmp_path / "forged", ledger)["ledger"].holds is False
    assert verify_bundle(bundle, ledger)["ledger"].holds is True


def test_nothing_of_the_data_is_in_a_failure(data: Path, ledger: dc.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault between reading and recording names its step and nothing else; the reservation stays."""

    def broken(*_: object) -> None:
        raise ValueError("cook")

    monkeypatch.setattr("discreet.release.tables.discovered.name_groups", broken)
    with refused(SourceFailed, token="noise failed") as failure:
        dc.release_counts(SQL, data=data, ledger=ledger, **ASK)
    assert "cook" not in str(failure.value) and failure.value.__context__ is None


def test_a_group_of_one_is_named_with_probability_delta(data: Path) -> None:
    """10^5 groups of one person at a delta of 1/100: as many are named as the law says (7 standard deviations)."""
    from discreet.exact.bits import SeededBits

    noise = discovered_noise(Fraction(1), Fraction(1, 100), draws=1, measures=1)
    share, groups = float(noise.delta), 100_000
    chosen, reports = noise.name_groups(np.ones((groups, 1), np.int64), SeededBits(5))
    assert abs(len(chosen) - share * groups) < 7 * (groups * share * (1 - share)) ** 0.5
    assert (reports == noise.reach + 1).all()
    assert not len(noise.name_groups(np.zeros((groups, 1), np.int64), SeededBits(6))[0])


# ------------------------------------------------------------------------------------------------ the command line


def test_the_command_line_discovers(data: Path, tmp_path: Path) -> None:
    book, out = tmp_path / "c.ledger", tmp_path / "out"
    run("ledger", "init", book, "--data", data, "--unit", "row", "--epsilon", 4, "--delta", "1e-5")
    asked = ["release", SQL, "--data", data, "--discover", "job", "--epsilon", 1, "--delta", "1e-6", "--unit", "row"]
    assert "--one-row-each" in run(*asked, "--plan", code=2).stderr
    made = run(*asked, "--one-row-each", "--ledger", book, "-o", out).stdout
    assert "cook" in made and "zoo keeper" not in made
    run("verify", out, "--ledger", book)


def test_editions_are_compared_where_both_name_a_group(ledger: dc.Ledger, tmp_path: Path) -> None:
    """Given that both name it, the interval of the change contains the true one at the stated level."""

    def edition(name: str, sizes: dict[str, int], **ask: Any) -> dc.Release:
        people = [job for job, size in sizes.items() for _ in range(size)]
        table = pd.DataFrame({"person": [f"{name}{i}" for i in range(len(people))], "job": people})
        return dc.release_counts(SQL, data=table, ledger=ledger, **{**ASK, "dataset": "visits", "edition": name, **ask})

    first = edition("q1", {"cook": 300, "baker": 200, "nurse": 150})
    second = edition("q2", {"nurse": 250, "actor": 120, "cook": 300}, epsilon=2)
    comparison = dc.compare_editions([first, second])
    rows = {row["group"]["job"]: row for row in comparison.rows()}  # type: ignore[index, call-overload]
    assert list(rows) == ["cook", "nurse"]
    counts = [named(one) for one in (first, second)]
    for job, change in (("cook", 0), ("nurse", 100)):
        row: Any = rows[job]
        assert row["difference"] == counts[1][job] - counts[0][job] and abs(row["difference"] - change) < 40
        assert row["low"] <= row["difference"] <= row["high"]
        ends = [[one for one in release.rows() if one["job"] == job][0] for release in (first, second)]
        assert row["low"] <= ends[1]["low"] - ends[0]["high"] <= ends[1]["high"] - ends[0]["low"] <= row["high"]
    assert rows["nurse"]["beyond_noise"] and not rows["cook"]["beyond_noise"]
    assert comparison.to_json()["tables"][0]["totals"] == [] and "baker" not in comparison.report().text()  # type: ignore[index, call-overload]
    other = edition("q3", {"pilot": 200})
    with refused(InvalidInput, "editions", token="no group"):
        dc.compare_editions([first, other])
    ask = {"discover": None, "delta": 0, "domain": {"job": ["cook", "nurse"]}}
    with refused(InvalidInput, "editions"):
        dc.compare_editions([first, edition("q4", {"cook": 200}, **ask)])
