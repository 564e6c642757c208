"""The table of visits and its ledger, as fixtures of every folder."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as dc


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """Return the file of ninety people, thirty at each of three sites, half of each in poor health."""
    path = tmp_path / "visits.csv"
    rows = [(person, person % 3 + 1, ("good", "poor")[person % 2]) for person in range(90)]
    path.write_text("person,site,health\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    return path


@pytest.fixture
def book(tmp_path: Path) -> dc.Ledger:
    """Return a new ledger for those visits, with an epsilon of 100."""
    return dc.Ledger.create(tmp_path / "visits.ledger", dataset="visits", unit="person", epsilon=100)
