"""A ledger, releases from made-up counts, and a bundle to tamper with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import discreet as dc
from support.bundles import ZEROS, answered


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
