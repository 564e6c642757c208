"""A folder with a table of ninety people and its declaration."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command_line import run

SQL = "SELECT site, health, COUNT(*) FROM visits GROUP BY site, health"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with ``data/visits.csv``, ``visits.toml`` and ``visits.ledger`` (epsilon 10)."""
    (tmp_path / "data").mkdir()
    write_people(tmp_path / "data" / "visits.csv")
    domains = ("--domain", "site=1..3", "--domain", "health=good,poor")
    run("dataset", "new", "data/visits.csv", "--unit", "person", "--budget", 10, *domains, "--yes", cwd=tmp_path)
    return tmp_path


def write_people(file: Path, number: int = 90) -> None:
    """Write people at three sites, half of each in poor health."""
    rows = [(person, person % 3 + 1, ("good", "poor")[person % 2], 20 + person % 50) for person in range(number)]
    file.write_text("person,site,health,age\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
