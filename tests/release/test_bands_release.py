"""Releases by bands and with the rest: planned, priced, recorded, published and checked again."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dc
from discreet.engines.sources import open_source
from discreet.errors import DiscreetError, InvalidInput, UnreadableFile
from discreet.release.bundle.frames import to_arrow
from discreet.release.counts import countings
from discreet.release.plan.plan import plan_from_request
from discreet.release.plan.planning import plan_release
from discreet.release.plan.request_file import open_request
from support.command_line import run
from support.refusals import Parts, refused

SQL = "SELECT age, sex, COUNT(*) FROM people GROUP BY age, sex"
ASK: dict[str, Any] = {"unit": "person", "max_groups": 1, "epsilon": 1}
BANDS, DOMAIN = {"age": [18, 30, 65]}, {"sex": ["Female", "Male", ...]}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Ann is counted twice at most, in one band; the others have one row."""
    path = tmp_path / "people.csv"
    rows = [
        "ann,18,Female",
        "ann,40,Female",
        "bob,29,male",
        "cem,30,Male",
        "dan,65,Male",
        "eve,,Female",
        "fay,many,Male",
    ]
    path.write_text("person,age,sex\n" + "\n".join(rows) + "\n")
    return path


def test_a_text_counts_on_the_day_that_is_written_in_it_whatever_its_zone(tmp_path: Path) -> None:
    moments = ["2009-09-30T23:46:31-05:00", "2009-09-22T08:46:31Z", "2009-11-01T01:00:00+05:00"]  # October in UTC: two
    (tmp_path / "visits.csv").write_text("visit\n" + "\n".join(moments * 200) + "\n")
    book = dc.Ledger.create(tmp_path / "visits.ledger", dataset="visits", unit="row", epsilon=5)
    released = dc.release_counts(
        "SELECT visit, COUNT(*) FROM visits GROUP BY visit", data=tmp_path / "visits.csv", unit="row", epsilon=5,
        bands={"visit": "month:2009-09..2009-11"}, ledger=book,
    )  # fmt: skip
    assert [round(row["count"], -2) for row in released.rows()] == [400, 0, 200]


def test_a_release_by_bands_is_published_in_order_recorded_and_checked_again(people: Path, tmp_path: Path) -> None:
    book = dc.Ledger.create(tmp_path / "people.ledger", dataset="people", unit="person", epsilon=5)
    ask = {**ASK, "data": people, "ledger": book}
    release = dc.release_counts(SQL, bands=BANDS, domain=DOMAIN, out=tmp_path / "out", **ask)
    groups = [(row["age"], row["sex"]) for row in release.rows()]
    assert groups == [(age, sex) for age in ("18-29", "30-64") for sex in ("Female", "Male", "(all others)")]
    with (tmp_path / "out" / "counts.csv").open() as file:
        assert [(row["age"], row["sex"]) for row in csv.DictReader(file)] == groups
    assert dc.verify(tmp_path / "out", ledger=book).holds
    page = (tmp_path / "out" / "index.html").read_text()
    assert page.index("18-29") < page.index("30-64")
    assert "Other values and missing ones are not counted." in page and "missing ones included" in page

    again = dc.release_counts(SQL, bands=["AGE=18,30,65"], domain=["sex=Male,Female,*"], **ask)  # another order
    assert not again.fresh and dict(zip(groups, [row["count"] for row in release.rows()], strict=True)) == {
        (row["age"], row["sex"]): row["count"] for row in again.rows()
    }
    assert str(book.left().epsilon) == "4"
    assert dc.release_counts(SQL, bands={"age": [18, 31, 65]}, domain=DOMAIN, **ask).fresh  # other edges
    assert dc.release_counts(SQL, bands=BANDS, domain={"sex": ["Female", "Male"]}, **ask).fresh  # no rest


def test_the_rows_that_are_counted(people: Path) -> None:
    """By hand: bob is misspelt and so in the rest; dan, eve and fay are in no band; ann counts once."""
    plan = plan_release(SQL, data=people, bands=BANDS, domain=DOMAIN, **ASK)
    (counts,) = open_source(people).count(countings(plan.canonical, bytes(16)))
    young_female, _, young_rest, old_female, old_male, old_rest = counts[:, 0].tolist()
    assert young_female + old_female == 1 and (young_rest, old_male, old_rest) == (1, 1, 0)
    missing = plan_release(SQL, data=people, bands={"age": "18,30,65,NULL,*"}, domain=DOMAIN, **ASK)
    (counts,) = open_source(people).count(countings(missing.canonical, bytes(16)))
    assert counts[6:, 0].tolist() == [1, 0, 0, 0, 2, 0]  # eve is missing, dan and fay are the rest


def test_the_plan_rebuilt_from_its_request_is_the_same(people: Path) -> None:
    plan = plan_release(SQL, data=people, bands={"age": "..18,30,65..,NULL,*"}, domain=DOMAIN, **ASK)
    again = plan_from_request(json.loads(json.dumps(plan.request)))
    assert again.tables[0].groups == plan.tables[0].groups
    assert again.key == plan.key and again.guarantee == plan.guarantee
    assert [one.uses_hashed_choice for one in countings(again, b"k")] == [True]


@pytest.mark.parametrize(
    "damage",
    [
        {"bands": [{"type": "DOUBLE", "edges": ["18", "30"], "below": False, "above": False}, None]},
        {"bands": [None, None]},
    ],
)
def test_a_forged_description_of_bands_is_refused(people: Path, damage: dict[str, Any]) -> None:
    with refused(InvalidInput, "bands"):
        plan_from_request(with_groups(people, damage)[1])


@pytest.mark.parametrize("rest", [[True, False], [False, False]])
def test_a_forged_rest_is_another_request(people: Path, rest: list[bool]) -> None:
    plan, request = with_groups(people, {"rest": rest})
    assert plan_from_request(request).key != plan.key


def with_groups(people: Path, damage: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return a plan by bands, and its request with another description of the groups."""
    plan = plan_release(SQL, data=people, bands=BANDS, domain=DOMAIN, **ASK)
    request = json.loads(json.dumps(plan.request))
    request["tables"][0]["groups"].update(damage)
    return plan, request


def test_requests_of_before_have_the_keys_of_before() -> None:
    """Digests that ledgers hold: they name the recorded answers."""
    plan = plan_release(
        "SELECT site, health, COUNT(*) FROM visits GROUP BY site, health", data="visits.csv", unit="person",
        max_groups=1, domain=["site=1..6", "health=good,poor"], epsilon=1,
    )  # fmt: skip
    assert plan.key == "93aaedacf70495d08ff96f4b7ea48e9702cfe9463706d35036ea106aadc7272b"


def test_the_plan_recommends_the_rest_and_says_what_it_changes() -> None:
    sql, ask = "SELECT sex, COUNT(*) FROM t GROUP BY sex", {"data": "t", "epsilon": 1}
    (note,) = plan_release(sql, domain={"sex": ["f", "m"]}, unit="row", **ask).notes
    assert "misspelt" in note and "add *" in note
    assert plan_release(sql, domain={"sex": ["f", "m", ...]}, unit="row", **ask).notes == ()
    assert plan_release(sql, domain={"sex": range(3)}, unit="row", **ask).notes == ()
    note, _ = plan_release(sql, domain={"sex": ["f", "*"]}, unit="row", **ask).notes
    assert "a text of its own" in note
    (note,) = plan_release(sql, domain={"sex": ["f", "m", ...]}, unit="p", max_groups=1, **ask).notes
    assert "takes part in the choice" in note
    assert plan_release(sql, domain={"sex": ["f", "m", ...]}, unit="p", max_groups=3, **ask).notes == ()


COLUMNS: dict[str, tuple[pa.DataType, str]] = {
    "i": (pa.int32(), "numbers"), "f": (pa.float64(), "numbers"), "d": (pa.date32(), "dates"),
    "t": (pa.timestamp("us"), "dates"), "s": (pa.string(), "both"), "b": (pa.bool_(), "neither"),
    "z": (pa.timestamp("us", tz="UTC"), "neither"), "n": (pa.timestamp("ns"), "neither"),
}  # fmt: skip


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(("kind", "edges"), [("numbers", "18,30"), ("dates", "month:2024-01")])
def test_columns_that_cannot_be_banded_are_refused_by_their_type(column: str, kind: str, edges: str) -> None:
    stored, suits = COLUMNS[column]
    table = pa.table({column: pa.array([], stored)})
    sql = f"SELECT {column}, COUNT(*) FROM t GROUP BY {column}"
    ask = {"data": table, "dataset": "t", "unit": "row", "epsilon": 1, "bands": {column: edges}}
    if suits in (kind, "both"):
        plan = plan_release(sql, **ask)
        fractions = "18 to under 30" if column == "f" else "18-29"
        assert plan.tables[0].groups.values == ((fractions if kind == "numbers" else "2024-01",),)
        assert any("stored as text" in note for note in plan.notes) == (column == "s")
    else:
        with pytest.raises(InvalidInput) as refusal:
            plan_release(sql, **ask)
        assert refusal.value.argument == "bands" and refusal.value.advice


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            {"bands": {"age": [18, 30]}, "domain": {"age": [1], "sex": ["f"]}},
            Parts(argument="domain", token="domain and bands"),
        ),
        ({"bands": {"age": [18, 30]}}, Parts(argument="domain", token="declare the groups")),
        (
            {"bands": {"age": [18, 30], "AGE": [1, 2]}, "domain": {"sex": ["f"]}},
            Parts(argument="bands", token="given twice"),
        ),
        ({"bands": {"agee": [18, 30]}, "domain": {"sex": ["f"]}}, Parts(argument="bands", token="question groups")),
        ({"bands": {"age": [18, 30]}, "groups": [(1, "f")]}, Parts(argument="groups", token="lists whole groups")),
        ({"bands": ["age"], "domain": {"sex": ["f"]}}, Parts(argument="bands", given="age")),
        ({"bands": 5, "domain": {"sex": ["f"]}}, Parts(argument="bands", given=5)),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_read(more: dict[str, Any], says: Parts) -> None:
    with refused(DiscreetError, **says):
        plan_release(SQL, data="people", **ASK, **more)


def test_bands_on_the_command_line(people: Path, tmp_path: Path) -> None:
    book = tmp_path / "people.ledger"
    dc.Ledger.create(book, dataset="people", unit="person", epsilon=2)
    asked = [
        "release", "SELECT CASE WHEN age < 30 THEN 'young' WHEN age >= 30 THEN 'old' END AS who, sex, COUNT(*) "
        "FROM people GROUP BY who, sex", "--data", people, "--unit", "person", "--max-groups", 1,
        "--domain", "sex=Female,Male,*", "--epsilon", 1, "--ledger", book,
    ]  # fmt: skip
    plan = run(*asked, "--plan").stdout
    assert "2 who: young, old x 3 sex: 'Female', 'Male', (all others)" in plan
    assert "begin at 30" in plan
    run(*asked, "-o", tmp_path / "out")
    assert dc.verify(tmp_path / "out", ledger=book).holds


def test_request_files_hold_bands_and_stars(people: Path, tmp_path: Path) -> None:
    """What is written and read again is the same question."""
    (tmp_path / "sexes.txt").write_text("Female\nMale\n")
    asked = [
        {"bands": {"age": [-math.inf, 18, 65, None, ...]}, "domain": {"sex": ["Female", "Male", ...]}},
        {"bands": ["age=..18,65,NULL,*"], "domain": ["sex=Female,Male,*"]},
        {"bands": {"age": "..18,65,NULL,*"}, "domain": [f"sex=@{tmp_path}/sexes.txt,*"]},
    ]
    keys = set()
    for number, fields in enumerate(asked):
        file = dc.write_request(tmp_path / f"{number}.toml", SQL, data=people, **ASK, **fields)
        request = dc.ReleaseRequest(questions=(SQL,), **ASK, **fields)
        keys |= {plan_release(one, data=people).key for one in (request, open_request(file).request)}
    assert len(keys) == 1


def test_a_star_that_ends_a_list_of_a_request_file_is_the_rest(people: Path, tmp_path: Path) -> None:
    def asked(values: str) -> Any:
        file = tmp_path / "r.toml"
        file.write_text(
            'questions = "SELECT sex, COUNT(*) FROM people GROUP BY sex"\n'
            f'unit = "person"\nmax_groups = 1\nepsilon = 1\n[domain]\nsex = {values}\n'
        )
        return dc.plan_release(open_request(file).request, data=people)

    starred = asked('["Female", "Male", "*"]')
    assert starred.key == asked('"Female,Male,*"').key != asked('["Female", "Male"]').key
    star = asked("\"Female,Male,'*'\"")
    assert (
        star.key == asked('["*", "Female", "Male"]').key != starred.key
    )  # the text, of which a list says nothing else
    with refused(UnreadableFile, "domain", token="'*'"):
        asked('["*"]')
    # what Python means is what the file says
    sql = "SELECT sex, COUNT(*) FROM people GROUP BY sex"
    for k, values in enumerate((["Female", "Male", "*"], ["*"], ["Female", ...])):
        file = dc.write_request(tmp_path / f"{k}.toml", sql, domain={"sex": values}, **ASK)
        written, direct = open_request(file).request, dc.plan_release(sql, data=people, domain={"sex": values}, **ASK)
        assert dc.plan_release(written, data=people).key == direct.key


def test_the_rest_is_selected_by_three_dots(people: Path, tmp_path: Path) -> None:
    book = dc.Ledger.create(tmp_path / "people.ledger", dataset="people", unit="person", epsilon=1000)
    sql = "SELECT sex, COUNT(*) FROM people GROUP BY sex"
    ask = {**ASK, "data": people, "ledger": book, "epsilon": 50}  # so much that there is no noise
    same = dc.release_counts(sql, domain={"sex": ["Male", "Female", ...]}, **ask)
    counts = [row["count"] for row in same.rows()]
    assert [same.total({"sex": one}).estimate for one in ("Male", "Female", ...)] == counts == [3, 2, 1]
    assert same.total({"sex": ["Female", ...]}).estimate == 3 and same.difference({"sex": ...}, None).estimate == -5
    one = dc.release_counts(sql, domain={"sex": ["Female", ...]}, **ask)
    assert one.total({"sex": "(all others)"}).estimate == one.total({"sex": ...}).estimate == 4
    without = dc.release_counts(sql, domain={"sex": ["Female", "Male"]}, **ask)
    with refused(InvalidInput, "cells"):
        without.total({"sex": ...})


def test_totals_frames_and_numbers_with_a_rest(people: Path, tmp_path: Path) -> None:
    book = dc.Ledger.create(tmp_path / "people.ledger", dataset="people", unit="person", epsilon=9)
    ask = {**ASK, "data": people, "ledger": book}
    totals = dc.release_counts(SQL.replace("BY age, sex", "BY ROLLUP(age, sex)"), bands=BANDS, domain=DOMAIN, **ask)
    assert {row["age"] for row in totals.rows()} == {"Total", "18-29", "30-64"}
    plain = dc.release_counts(
        "SELECT age, COUNT(*) FROM people GROUP BY age", domain={"age": [18, 40, None, ...]}, **ask
    )
    assert plain.to_pandas()["age"].fillna("none").tolist() == ["18", "40", "none", "(all others)"]
    assert plain.to_polars()["age"].to_list() == ["18", "40", None, "(all others)"]
    banded = dc.release_counts(SQL, bands=BANDS, domain=DOMAIN, **ask)
    assert banded.to_polars()["age"].to_list()[:3] == ["18-29"] * 3
    assert to_arrow(banded.table(0))["sex"].to_pylist()[:3] == ["Female", "Male", "(all others)"]


def test_editions_with_other_edges_under_the_same_names_are_not_compared(people: Path, tmp_path: Path) -> None:
    book = dc.Ledger.create(tmp_path / "people.ledger", dataset="people", unit="person", epsilon=9)
    bands = "CASE WHEN age < {0} THEN 'young' WHEN age >= {0} THEN 'old' END AS who"
    sql = f"SELECT {bands}, COUNT(*) FROM people GROUP BY who"
    found = [
        dc.release_counts(sql.format(edge), data=people, ledger=book, edition=edition, **ASK)
        for edge, edition in ((30, "a"), (30, "b"), (40, "c"))
    ]
    assert dc.compare_editions(found[:2]).rows()
    with refused(InvalidInput, "editions"):
        dc.compare_editions(found[1:])
