"""A ledger, releases from made-up counts, and a bundle to tamper with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import discreet as dc
from support.bundles import ZEROS, answered


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


@pytest.fixture
def make(book):
    return lambda *places, **options: answered(book, *places, **options)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A bundle with cells of all three kinds, beside its ledger."""
    folder = tmp_path_factory.mktemp("original")
    book = dc.Ledger.create(folder / "paid.ledger", dataset="visits", unit="person", epsilon=1000)
    release = answered(book, folder / "out", zeros=ZEROS, suppress_below=50, counts="clamped")
    assert {"A", "M", "Q"} == {row["status"] for row in release.rows()}
    return folder


@pytest.fixture
def out(tmp_path, original):
    """A copy of that bundle, to be tampered with."""
    return Path(shutil.copytree(original / "out", tmp_path / "out"))


@pytest.fixture
def paid(original):
    return original / "paid.ledger"
