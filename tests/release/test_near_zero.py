"""The hint that all counts are within noise of zero: it follows from the noisy counts alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as dc
from discreet.release.bundle.released import Release
from discreet.release.bundle.report import NEAR_ZERO, near_zero_notes

SQL = "SELECT site, COUNT(*) FROM t GROUP BY site"


def released(folder: Path, sql: str = SQL, people: int = 300, **fields: object) -> Release:
    (folder / "t.csv").write_text("person,site,age\n" + "".join(f"{k},{k % 3},40\n" for k in range(people)))
    book = dc.Ledger.create(folder / "t.ledger", dataset="t", unit="person", epsilon=20)
    asked = {"unit": "person", "max_groups": 1, "epsilon": 5, "domain": {"site": [1, 2, 7]}} | fields
    return dc.release_counts(sql, data=folder / "t.csv", ledger=book, **asked)  # type: ignore[arg-type]


def test_nothing_is_said_where_a_count_is_above_its_noise(tmp_path) -> None:
    release = released(tmp_path)
    assert near_zero_notes(release) == () and NEAR_ZERO not in release.report().notes


@pytest.mark.parametrize("sql", [SQL, "SELECT site, COUNT(*) FROM t GROUP BY ROLLUP (site)"])
def test_it_is_said_where_every_interval_contains_zero(tmp_path, sql) -> None:
    """The chance that five or fewer intervals at one minus a millionth all contain zero is nearly one."""
    release = released(tmp_path, sql, domain={"site": [7, 8, 9]}, level="0.999999")
    assert near_zero_notes(release) == (NEAR_ZERO,)
    assert NEAR_ZERO in release.report().notes and "within noise of zero" in release.describe()


def test_totals_above_their_noise_silence_it(tmp_path) -> None:
    assert near_zero_notes(released(tmp_path, "SELECT site, COUNT(*) FROM t GROUP BY ROLLUP (site)")) == ()


def test_one_of_several_tables_is_enough_to_silence_it(tmp_path) -> None:
    sql = ["SELECT site, COUNT(*) FROM t WHERE age > 90 GROUP BY site", SQL]
    release = released(tmp_path, sql, level="0.999999")  # type: ignore[arg-type]
    assert near_zero_notes(release) == ()


def test_where_no_count_is_published_nothing_is_said(tmp_path) -> None:
    assert near_zero_notes(released(tmp_path, suppress_below=10_000)) == ()
