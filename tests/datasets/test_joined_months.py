"""Tables joined by person and month: each by its own date, charged by the date of the counted table alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import InvalidInput
from discreet.periods import Per
from discreet.release.plan.plan import plan_from_request
from support.refusals import refused

VISITS = """person,site,visit_date
ann,1,2025-01-05
ann,2,2025-01-20
ann,1,2025-02-03
bob,1,2025-01-09
eve,3,2025-02-11
zoe,1,soon
"""
#: Ann has a bill of January only, bob one of another month, and eve one without a month.
BILLS = "id,kind,billed\nann,low,2025-01-31\nann,low,2025-03-01\nbob,high,2025-02-01\neve,high,\nzoe,low,soon\n"
JOIN = "visits JOIN bills ON visits.person = bills.id"
BY_KIND = f"SELECT kind, COUNT(*) FROM {JOIN} GROUP BY kind"
JANUARY = "visit_date >= DATE '2025-01-01' AND visit_date < DATE '2025-02-01'"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A data set of two tables by month, and epsilon 1000 for each month."""
    (tmp_path / "visits.csv").write_text(VISITS)
    (tmp_path / "bills.csv").write_text(BILLS)
    (tmp_path / "people.csv").write_text("id,sex\nann,f\n")
    (tmp_path / "study.toml").write_text(
        'format = "discreet dataset"\ndataset = "visits"\nunit = "person"\nper = "month:visit_date"\n'
        'ledger = "visits.ledger"\n[tables.visits]\ndata = "visits.csv"\n'
        '[tables.bills]\ndata = "bills.csv"\nunit = "id"\nper = "month:billed"\n'
        '[tables.people]\ndata = "people.csv"\nunit = "id"\n'
        '[columns]\nsite = "1..3"\nkind = ["low", "high"]\nsex = ["f", "m"]\n'
    )
    dc.Ledger.create(tmp_path / "visits.ledger", dataset="visits", unit="person", per="month", epsilon=1000)
    return tmp_path / "study.toml"


def counts(file: Path, sql: str, **fields: Any) -> list[int | None]:
    """The counts of a release whose noise is zero at epsilon 40."""
    plan = dc.Dataset.open(file).plan(sql, **{"max_groups": 1, "epsilon": 40, **fields})
    return [row["count"] for row in plan.release().rows()]


def test_rows_meet_in_the_same_month_only(file: Path) -> None:
    assert counts(file, BY_KIND) == [1, 0]
    left = BY_KIND.replace("JOIN", "LEFT JOIN")
    assert counts(file, left, domain={"kind": ["low", "high", None]}) == [1, 0, 3]
    assert counts(file, BY_KIND, max_rows=5, epsilon=300) == [2, 0]


def test_the_months_that_are_charged_follow_from_the_counted_table(file: Path) -> None:
    study = dc.Dataset.open(file)
    wheres = [JANUARY, JANUARY.replace("visit_date", "billed"), f"{JANUARY} AND kind = 'low'", f"{JANUARY} OR site = 1"]
    plans = [study.plan(f"SELECT COUNT(*) FROM {JOIN} WHERE {where}", epsilon=1) for where in wheres]
    assert [plan.periods for plan in plans] == [("2025-01",), None, ("2025-01",), None]


@pytest.mark.parametrize("join", ["JOIN", "LEFT JOIN"])
def test_a_date_of_the_same_name_in_another_table_limits_nothing(join: str, tmp_path: Path) -> None:
    tables = {
        name: pa.table({"person": ["ann", "ann"], "d": pa.array(["2025-01-01", "2025-02-01"]).cast(pa.date32())})
        for name in ("visits", "bills")
    }
    book = dc.Ledger.create(tmp_path / "v.ledger", dataset="v", unit="person", per="month", epsilon=9)
    data = dc.Dataset(name="v", data=tables, unit="person", per="month:d", ledger=book)
    sql = f"SELECT COUNT(*) FROM visits {join} bills ON visits.person = bills.person WHERE %s.d < DATE '2025-02-01'"
    sql += " AND %s.d >= DATE '2025-01-01'"
    charged = [data.plan(sql % (name, name), epsilon=1).periods for name in ("visits", "bills")]
    assert charged == [("2025-01",), None]


def test_the_plan_the_request_and_the_guarantee_state_both_dates(file: Path, tmp_path: Path) -> None:
    study = dc.Dataset.open(file)
    plan = study.plan(BY_KIND, max_groups=1, epsilon=1)
    (entry,) = plan.request["tables"]
    assert entry["joined"] == {"bills": {"unit": "id", "columns": ["kind"], "per": "month:billed"}}
    dates = "visits.person in the month of visits.visit_date = bills.id in the month of bills.billed"
    assert dates in " ".join(str(plan).split())
    assert any(dates in sentence for sentence in plan.guarantee)
    plan.release().save(tmp_path / "bundle")
    assert dc.verify_bundle(tmp_path / "bundle", study.ledger).holds
    assert plan_from_request(plan.request).tables[0].question == plan.tables[0].question


@pytest.mark.parametrize("per", [None, "week:billed", "month:"])
def test_a_request_whose_tables_have_other_periods_is_refused(file: Path, per: str | None) -> None:
    request = dc.Dataset.open(file).plan(BY_KIND, max_groups=1, epsilon=1).request
    (entry,) = request["tables"]
    joined = {key: value for key, value in entry["joined"]["bills"].items() if key != "per"}
    forged = {**entry, "joined": {"bills": joined if per is None else {**joined, "per": per}}}
    with refused(InvalidInput, argument="per"):
        plan_from_request({**request, "tables": [forged]})


def test_a_table_without_a_date_is_refused_with_what_to_do(file: Path) -> None:
    sql = "SELECT sex, COUNT(*) FROM visits JOIN people ON visits.person = people.id GROUP BY sex"
    with refused(InvalidInput, argument="per", token="[tables.people]"):
        dc.Dataset.open(file).plan(sql, max_groups=1, epsilon=1)
    assert dc.Dataset.open(file).ledger.entries() == []


def test_a_joined_date_column_without_days_is_refused(tmp_path: Path) -> None:
    days = pa.array(["2025-01-01"]).cast(pa.date32())
    tables = {"visits": pa.table({"person": ["ann"], "d": days}), "bills": pa.table({"person": ["ann"], "d": [1.5]})}
    data = dc.Dataset(name="v", data=tables, unit="person", per="month:d")
    with refused(InvalidInput, argument="per"):
        data.plan("SELECT COUNT(*) FROM visits JOIN bills ON visits.person = bills.person", epsilon=1)


def test_the_first_release_fixes_the_date_of_every_joined_table(file: Path) -> None:
    counts(file, BY_KIND)
    (file.parent / "bills.csv").write_text(BILLS.replace("billed", "paid"))
    file.write_text(file.read_text().replace("month:billed", "month:paid"))
    with refused(InvalidInput, argument="per"):
        counts(file, BY_KIND, epsilon=41)


def test_the_key_of_a_join_without_periods_says_nothing_of_them() -> None:
    related = dc.Dataset(
        name="v", unit="person",
        data={name: pa.table({"person": ["ann"], "d": ["2025-01-01"]}) for name in ("visits", "bills")},
    )  # fmt: skip
    plan = related.plan("SELECT COUNT(*) FROM visits JOIN bills ON visits.person = bills.person", epsilon=1)
    assert plan.request["tables"][0]["joined"] == {"bills": {"unit": "person", "columns": []}}
    (table,) = plan.tables[0].question.tables
    assert replace(table, per=Per("month", "d")).to_json()["per"] == "month:d"
