"""Tables and questions that were made to break it: they get noise or a refusal, never a crash, never a row."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import discreet as dc
from discreet.exact.bits import SeededBits
from discreet.release.counts import _release
from discreet.release.plan.planning import plan_release
from support.made_sources import Ready


def book_for(tmp_path, dataset, unit="person", epsilon=50):
    return dc.Ledger.create(tmp_path / f"{abs(hash(dataset))}.ledger", dataset=dataset, unit=unit, epsilon=epsilon)


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


NAMES = [
    'site"; DROP TABLE visits; --',
    "site'",
    "сайт",
    "サイト 1",
    "select",
    "a.b",
    "x" * 300,
    "back\\slash",
    "%s{0}$1",
]


@pytest.mark.parametrize("name", NAMES)
def test_hostile_column_names_are_names(name, tmp_path):
    table = write(tmp_path / "visits.csv", [["person", name], *([str(k), "1"] for k in range(200))])
    quoted = '"' + name.replace('"', '""') + '"'
    released = dc.release_counts(
        f"SELECT {quoted}, COUNT(*) FROM visits GROUP BY {quoted}",
        data=table, unit="person", max_groups=1, domain={name: [1, 2]}, epsilon=40, ledger=book_for(tmp_path, "visits"),
        out=tmp_path / "out",
    )  # fmt: skip
    assert [row["count"] for row in released.rows()] == [200, 0]


@pytest.mark.parametrize(
    "value", ["'); DROP TABLE visits; --", "=1+1", "naïve ☃", "", " ", "NULL", "<script>", "a,b", '"']
)
def test_hostile_values_are_values(value, tmp_path):
    table = write(tmp_path / "visits.csv", [["person", "place"], *([str(k), value] for k in range(300))])
    groups = [{"place": value}] if value else [{"place": "x"}]
    released = dc.release_counts(
        "SELECT place, COUNT(*) FROM visits GROUP BY place",
        data=table, unit="person", max_groups=1, groups=groups, epsilon=40,
        ledger=book_for(tmp_path, "visits"), out=tmp_path / "out",
    )  # fmt: skip
    assert released.rows()[0]["count"] == (300 if value else 0)
    assert "<script>" not in (tmp_path / "out" / "index.html").read_text()


@pytest.mark.parametrize("rows", [[], [["", ""]] * 20, [["1"], ["2", "1", "9"], []]])
def test_tables_with_nothing_in_them_get_noise(rows, tmp_path):
    table = write(tmp_path / "visits.csv", [["person", "site"], *rows])
    released = dc.release_counts(
        "SELECT site, COUNT(*) FROM visits GROUP BY site",
        data=table, unit="person", max_groups=1, domain={"site": range(1, 100)}, epsilon="0.1", counts="signed",
        ledger=book_for(tmp_path, "visits"),
    )  # fmt: skip
    reports = [row["count"] for row in released.rows()]
    assert len(set(reports)) > 3 and min(reports) < 0 < max(reports)


def test_ten_thousand_columns(tmp_path):
    names = [f"c{k}" for k in range(10_000)]
    table = write(tmp_path / "wide.csv", [["person", *names], ["ann", *["1"] * 10_000]])
    released = dc.release_counts(
        "SELECT c9999, COUNT(*) FROM wide WHERE c5 = 1 GROUP BY c9999",
        data=table, unit="person", max_groups=1, domain={"c9999": [1, 2]}, epsilon=40,
        ledger=book_for(tmp_path, "wide"),
    )  # fmt: skip
    assert [row["count"] for row in released.rows()] == [1, 0]


class Huge(Ready):
    """A source whose counts are as large as they come."""

    dataset = "huge"

    def spelled(self, name):
        return name

    def table(self, name):
        return {"person": "integer", "site": "integer"}

    def view(self, name):
        return None

    def count(self, countings):
        return [np.array([[2**62], [2**62 - 1], [0]], dtype=np.int64)]


@pytest.mark.parametrize("counts", ["signed", "clamped"])
def test_huge_counts(counts, tmp_path):
    plan = plan_release(
        "SELECT site, COUNT(*) FROM huge GROUP BY site",
        data=Huge(), unit="person", max_groups=1, domain={"site": [1, 2, 3]}, epsilon=40, counts=counts,
    )  # fmt: skip
    released = _release(plan, Huge(), book_for(tmp_path, "huge"), tmp_path / "out", SeededBits(1))
    assert [row["count"] for row in released.rows()] == [2**62, 2**62 - 1, 0]


def test_counts_beyond_the_bound_are_cut_off(tmp_path):
    plan = plan_release(
        "SELECT site, COUNT(*) FROM huge GROUP BY site",
        data=Huge(), unit="person", max_groups=1, domain={"site": [1, 2, 3]}, epsilon=40, bound=10,
    )  # fmt: skip
    released = _release(plan, Huge(), book_for(tmp_path, "huge"), None, SeededBits(1))
    assert [row["count"] for row in released.rows()] == [10, 10, 0]
    assert released.rows()[0]["high"] is None  # who reports the bound may have any number beyond it
