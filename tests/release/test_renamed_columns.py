"""A view may rename the columns that a question groups by: its release is verified from the bundle alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import discreet as dc

BY_GENDER = "SELECT gender, COUNT(*) FROM adults GROUP BY gender"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "people.duckdb")) as engine:
        engine.execute("CREATE TABLE people AS SELECT 'ann' AS person, 'f' AS sex, 40 AS age")
        engine.execute("CREATE VIEW adults AS SELECT person, sex AS gender FROM people WHERE age >= 18")
    dc.Ledger.create(tmp_path / "people.ledger", dataset="people", unit="person", epsilon=10)
    return tmp_path


@pytest.mark.parametrize("fields", [{}, {"totals": "all"}, {"tables": 1}, {"zeros": [{"gender": "m"}]}], ids=str)
def test_a_release_by_a_renamed_column_holds(folder: Path, fields: dict[str, Any]) -> None:
    release = dc.release_counts(
        BY_GENDER, data=folder / "people.duckdb", unit="person", domain={"gender": ["f", "m"]}, max_groups=1,
        epsilon=1, ledger=folder / "people.ledger", out=folder / "out", **fields,
    )  # fmt: skip
    (table,) = release.request["tables"]
    assert "GROUP BY" not in table["question"] or "gender" not in table["question"]
    assert table["groups"]["columns"] == ["sex"]  # as the question that the bundle states
    assert dc.verify_bundle(folder / "out", folder / "people.ledger").holds
