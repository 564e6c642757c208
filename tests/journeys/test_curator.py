"""A curator has a table of people and publishes how many there are in each group.

These stories use the product as people do, through its commands and its public names. They say what must keep working
however it is built inside.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from support.command_line import run
from support.journeys import (
    COLUMNS,
    SECRET_PERSON,
    TRUE_COUNTS,
    assert_secret_stays,
    everybody,
    run_json,
    write_csv,
)
from support.postgres_server import server

BY_SITE_AND_HEALTH = "SELECT site, health, COUNT(*) FROM people GROUP BY site, health"
GROUPS = ("--domain", "site=1..3", "--domain", "health=good,fair,poor")
PROTECTION = ("--unit", "person", "--max-groups", 1)

#: Noise beyond this has a probability below 1e-11 where a count has epsilon 1. The smallest group is larger, so a group
#: that was not counted shows.
FAR = 25


def by_group(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], Any]:
    """Return the counts of a table by site and health."""
    return {(row["site"], row["health"]): row["count"] for row in rows}


def test_a_table_in_a_file_becomes_a_bundle_within_its_budget(tmp_path: Path) -> None:
    data, ledger = write_csv(tmp_path / "people.csv", everybody()), tmp_path / "people.ledger"
    question = (BY_SITE_AND_HEALTH, "--data", data, *PROTECTION, *GROUPS, "--epsilon", 0.1, "--ledger", ledger)

    # Once, for good: how much may ever be released about these people.
    run("ledger", "init", ledger, "--data", data, "--unit", "person", "--epsilon", 1)

    # What would it cost, and how large is the noise? Looking is free.
    plan = run_json("release", *question, "--plan")
    assert plan["cells"] == 9 and plan["cost"]["epsilon"] == "1/10" and plan["tables"][0]["error"]["half_width"] > 10
    assert plan["decision"]["verdict"] == "paid"
    assert run_json("ledger", "show", ledger)["entries"] == []

    # Release it. The counts are noisy: nine exact counts in a row have a probability of 2e-12.
    counts = by_group(run_json("release", *question, "-o", tmp_path / "bundle")["tables"][0]["rows"])
    assert counts.keys() == TRUE_COUNTS.keys() and counts != TRUE_COUNTS
    assert all(isinstance(count, int) and count >= 0 for count in counts.values())
    with open(tmp_path / "bundle" / "counts.csv", newline="", encoding="utf-8") as file:
        published = {(int(row["site"]), row["health"]): int(row["count"]) for row in csv.DictReader(file)}
    assert published == counts

    # Anyone can check it. With the ledger they also see that these very counts were drawn and paid for.
    assert run_json("verify", tmp_path / "bundle", "--ledger", ledger)["holds"] is True

    # The same question again, however it is spelled, has the same answer and costs nothing.
    again = ("select site, health, count(*) from people group by site, health", *question[1:])
    assert run_json("release", *again, "--plan")["decision"]["verdict"] == "recorded"
    repetition = run_json("release", *again, "-o", tmp_path / "again")
    assert repetition["recorded"] is True and by_group(repetition["tables"][0]["rows"]) == counts

    # Another one that the budget cannot pay for is refused, before anything is read or spent.
    expensive = ("SELECT COUNT(*) FROM people", "--data", data, "--unit", "person", "--epsilon", 0.95)
    refusal = run_json("release", *expensive, "--ledger", ledger, "-o", tmp_path / "refused", code=1)
    assert refusal["kind"] == "BudgetExceeded" and not (tmp_path / "refused").exists()

    # The ledger agrees: one release was paid for, and one tenth is spent.
    statement = run_json("ledger", "show", ledger)
    assert [entry["state"] for entry in statement["entries"]] == ["answered"]
    assert statement["spent"]["epsilon"] == "1/10" and statement["left"]["epsilon"] == "9/10"
    assert run_json("ledger", "verify", ledger, "--bundle", tmp_path / "bundle")["holds"] is True
    assert_secret_stays(tmp_path / "bundle", tmp_path / "again", ledger)


def test_a_frame_in_memory_is_counted_and_answers_carry_intervals(tmp_path: Path) -> None:
    # The people are in a notebook already, in a frame of one library or another.
    pandas = pd.DataFrame(everybody(), columns=list(COLUMNS)).astype({"person": "string", "health": "string"})
    frames = {"pandas": pandas, "polars": pl.from_pandas(pandas), "pyarrow": pa.Table.from_pandas(pandas)}
    ledger = dc.Ledger.create(tmp_path / "people.ledger", dataset="people", unit="person", epsilon=3)

    def release(frame: object, edition: str) -> dc.Release:
        return dc.release_counts(
            BY_SITE_AND_HEALTH, data=frame, dataset="people", edition=edition, unit="person", max_groups=1, epsilon=1,
            domain={"site": range(1, 4), "health": ["good", "fair", "poor"]}, ledger=ledger,
        )  # fmt: skip

    for name, frame in frames.items():
        counts = by_group(release(frame, edition=name).rows())
        assert counts.keys() == TRUE_COUNTS.keys()
        assert all(abs(counts[group] - truth) <= FAR for group, truth in TRUE_COUNTS.items()), name
    assert ledger.left().epsilon == 0

    # Running the notebook again is free, and returns the recorded counts.
    first, second = release(frames["pandas"], edition="pandas"), release(frames["polars"], edition="pandas")
    assert not first.fresh and first.rows() == second.rows() and ledger.left().epsilon == 0

    # Sums and percentages are what readers ask for next. Intervals of sums are shorter than sums of intervals.
    poor = first.total({"health": "poor"})
    parts = [row for row in first.rows() if row["health"] == "poor"]
    assert poor.cells == 3 and poor.low <= poor.estimate <= poor.high and abs(poor.estimate - 150) <= 60
    assert poor.high - poor.low < sum(row["high"] - row["low"] for row in parts)
    share = first.percentage({"health": "good"})
    assert share.low <= share.estimate <= share.high and abs(share.estimate - 50) < 10
    site = first.difference({"site": 1}, {"site": 3})
    assert site.low > 0 and abs(site.estimate - 180) <= 60
    assert_secret_stays(str(first), first.to_pandas().to_csv())


@pytest.mark.xdist_group("postgres")  # with the tests that use the same server
def test_data_and_ledger_both_live_in_postgresql(tmp_path: Path) -> None:
    # The hospital keeps its table in a database, and its account in another, which several machines share.
    postgres = server()
    hospital = postgres.database("CREATE TABLE people (person text, site integer, health text, age integer)")
    with postgres.connect(hospital) as base, base.cursor() as cursor:
        cursor.executemany("INSERT INTO people VALUES (%s, %s, %s, %s)", everybody())
    data, ledger = postgres.address(hospital), postgres.address(postgres.database(name="accounts"))

    run("ledger", "init", ledger, "--data", data, "--unit", "person", "--epsilon", 5)
    question = ("SELECT site, health, COUNT(*) FROM public.people GROUP BY site, health", "--data", data, *PROTECTION)
    release = run_json("release", *question, *GROUPS, "--epsilon", 4, "--ledger", ledger, "-o", tmp_path / "bundle")
    counts = by_group(release["tables"][0]["rows"])
    assert counts.keys() == TRUE_COUNTS.keys()
    assert all(abs(counts[group] - truth) <= FAR for group, truth in TRUE_COUNTS.items())

    assert run_json("verify", tmp_path / "bundle", "--ledger", ledger)["holds"] is True
    assert run_json("ledger", "show", ledger)["left"]["epsilon"] == "1"
    refusal = run_json(
        "release", *question, *GROUPS, "--epsilon", 2, "--ledger", ledger, "-o", tmp_path / "refused", code=1
    )
    assert refusal["kind"] == "BudgetExceeded"
    assert run_json("ledger", "verify", ledger, "--bundle", tmp_path / "bundle")["holds"] is True
    assert_secret_stays(tmp_path / "bundle")


def test_a_reviewed_request_file_gives_bands_totals_and_a_workbook(tmp_path: Path) -> None:
    data, ledger = write_csv(tmp_path / "people.csv", everybody()), tmp_path / "people.ledger"
    run("ledger", "init", ledger, "--data", data, "--unit", "person", "--epsilon", 8)

    # Ages in bands, every other health in a group of its own, and totals; written down for a colleague to review.
    bundle, request = tmp_path / "by_age", tmp_path / "by_age.toml"
    run(
        "release", "SELECT age, health, COUNT(*) FROM people GROUP BY age, health", "--data", data, *PROTECTION,
        "--bands", "age=20,40,60,80", "--domain", "health=good,*", "--totals", "all", "--epsilon", 8,
        "--ledger", ledger, "-o", bundle, "--plan", "--write", request,
    )  # fmt: skip
    assert request.is_file() and not bundle.exists()
    assert dc.open_request(request).request.epsilon == 8

    # The colleague agrees, and the file is run as it stands.
    rows = run_json("release", request)["tables"][0]["rows"]
    assert run_json("verify", bundle, "--ledger", ledger)["holds"] is True
    assert len(rows) == (3 + 1) * (2 + 1)
    groups = [row for row in rows if row["grouping"] == 0]
    total = next(row for row in rows if row["grouping"] == 3)
    # The star counts the secret person too, without naming their health. The published counts add up.
    assert len(groups) == 6 and abs(total["count"] - 601) < 60
    assert total["count"] == pytest.approx(sum(row["count"] for row in groups), abs=0.01)
    assert len({row["age"] for row in groups}) == 3

    # Others want a workbook and a Parquet file. Both hold the published counts.
    workbook, parquet = tmp_path / "by_age.xlsx", tmp_path / "by_age.parquet"
    run("export", bundle, "--ledger", ledger, "--to", workbook, "--to", parquet)
    sheets = [list(sheet.iter_rows(values_only=True)) for sheet in openpyxl.load_workbook(workbook).worksheets]
    _, heading, *lines = sheets[1]
    counts = [row["count"] for row in rows]
    assert [line[heading.index("count")] for line in lines] == pytest.approx(counts)
    assert pq.read_table(parquet).column("count").to_pylist() == pytest.approx(counts)
    assert_secret_stays(bundle, request, str(sheets), str(pq.read_table(parquet).to_pylist()))


def test_groups_nobody_listed_are_found_and_a_lone_person_is_not_named(tmp_path: Path) -> None:
    # Nobody has a list of all illnesses. A group may be named only if it is large enough not to betray anybody.
    data, ledger = write_csv(tmp_path / "people.csv", everybody()), tmp_path / "people.ledger"
    run("ledger", "init", ledger, "--data", data, "--unit", "person", "--epsilon", 4, "--delta", 1e-9)
    question = ("SELECT health, COUNT(*) FROM people GROUP BY health", "--data", data, *PROTECTION)
    discovery = (*question, "--discover", "health", "--epsilon", 2, "--ledger", ledger)

    # Without a delta there is no such guarantee, and nothing is released.
    assert run_json("release", *discovery, "-o", tmp_path / "refused", code=2)["kind"] == "InvalidInput"
    assert run_json("ledger", "show", ledger)["entries"] == []

    release = run_json("release", *discovery, "--delta", 1e-9, "-o", tmp_path / "bundle")
    rows = release["tables"][0]["rows"]
    assert [row["health"] for row in rows] == ["fair", "good", "poor"]
    for row, truth in zip(rows, (150, 300, 150), strict=True):
        assert row["certain_low"] <= truth <= row["certain_high"]
    # The lone person is not named: that has a probability of at most 1e-9, which the ledger pays for.
    assert_secret_stays(tmp_path / "bundle")
    assert SECRET_PERSON[2] in data.read_text(encoding="utf-8")  # the value was there to be found
    spent = run_json("ledger", "show", ledger)["spent"]
    assert spent["epsilon"] == "2" and spent["delta"] != "0"
    assert run_json("verify", tmp_path / "bundle", "--ledger", ledger)["holds"] is True
