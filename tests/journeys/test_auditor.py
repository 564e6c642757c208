"""An auditor holds what was published, and believes nothing that cannot be worked out again."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

import discreet as dc
from support.bundles import seal
from support.command_line import run
from support.journeys import assert_secret_stays, everybody, run_json, write_csv

SITES = [1, 2, 3]


def test_two_quarters_are_compared_and_a_tampered_one_is_found(tmp_path: Path) -> None:
    # Half of the people at site 1 left between the quarters. Both quarters are paid for from one ledger.
    first = write_csv(tmp_path / "people_q1.csv", everybody())
    second = write_csv(tmp_path / "people_q2.csv", everybody()[150:])
    ledger = tmp_path / "people.ledger"
    run("ledger", "init", ledger, "--data", "people", "--unit", "person", "--epsilon", 4)
    for quarter, data in (("Q1", first), ("Q2", second)):
        run(
            "release", f"SELECT site, COUNT(*) FROM {data.stem} GROUP BY site", "--data", data, "--dataset", "people",
            "--edition", quarter, "--unit", "person", "--max-groups", 1, "--domain", "site=1..3", "--epsilon", 2,
            "--ledger", ledger, "-o", tmp_path / quarter,
        )  # fmt: skip

    # What changed? Site 1 lost more people than the noise explains: 150, up to noise beyond 40 (probability 1e-33).
    comparison = run_json("editions", tmp_path / "Q1", tmp_path / "Q2")
    changes = {change["group"]["site"]: change for change in comparison["tables"][0]["changes"]}
    assert list(changes) == SITES
    assert changes[1]["high"] < 0 and abs(changes[1]["difference"] + 150) < 40
    assert all(abs(changes[site]["difference"]) < 40 for site in (2, 3))
    same = dc.compare_editions([tmp_path / "Q1", tmp_path / "Q2"])
    assert [row["difference"] for row in same.rows()] == [changes[site]["difference"] for site in SITES]

    # May these counts be trusted? Opened with the ledger, the bundle gives those that are published in its file.
    assert run_json("verify", tmp_path / "Q2", "--ledger", ledger)["holds"] is True
    published = [int(row["count"]) for row in read_counts(tmp_path / "Q2")]
    assert [row["count"] for row in dc.open_bundle(tmp_path / "Q2", ledger).rows()] == published

    # Somebody improves one count and renews the checksums. The bundle no longer holds, and cannot be opened.
    improved = tmp_path / "improved"
    shutil.copytree(tmp_path / "Q2", improved)
    rows = read_counts(improved)
    write_counts(improved, rows)
    assert run_json("verify", improved)["holds"] is True  # as long as the numbers are the same
    write_counts(improved, [rows[0] | {"count": str(published[0] + 5)}, *rows[1:]])
    verdict = run_json("verify", improved, code=1)
    assert verdict["holds"] is False and any(check["holds"] is False for check in verdict["checks"])
    with pytest.raises(dc.errors.DiscreetError):
        dc.open_bundle(improved)

    # A cleverer one draws again with another ledger. That bundle holds by itself, but not against the ledger.
    other = dc.Ledger.create(tmp_path / "other.ledger", dataset="people", unit="person", epsilon=2)
    dc.release_counts(
        "SELECT site, COUNT(*) FROM people_q2 GROUP BY site", data=second, dataset="people", edition="Q2",
        unit="person", max_groups=1, domain={"site": SITES}, epsilon=2, ledger=other, out=tmp_path / "redrawn",
    )  # fmt: skip
    assert dc.verify_bundle(tmp_path / "redrawn").holds
    assert run_json("verify", tmp_path / "redrawn", "--ledger", ledger, code=1)["holds"] is False
    assert_secret_stays(tmp_path / "Q1", tmp_path / "Q2", tmp_path / "redrawn")


def read_counts(bundle: Path) -> list[dict[str, str]]:
    """Read the published table of a bundle as a spreadsheet does."""
    with open(bundle / "counts.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_counts(bundle: Path, rows: list[dict[str, str]]) -> None:
    """Replace the published table of a bundle, and the checksums with it."""
    with open(bundle / "counts.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    seal(bundle)
