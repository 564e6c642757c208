"""A column that is called row is never taken for the rows themselves."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from discreet.errors import InvalidInput
from discreet.release.plan.planning import plan_release
from support.proposals import BY_SITE
from support.refusals import refused


@pytest.fixture
def table_with_a_column_called_row(tmp_path: Path) -> Path:
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as engine:
        engine.execute('CREATE TABLE visits ("row" VARCHAR, site INTEGER)')
        engine.execute("INSERT INTO visits SELECT 'ann', 1 FROM range(1000)")
        engine.execute('CREATE VIEW people AS SELECT "row" AS person, site FROM visits')
    return path


@pytest.mark.parametrize(("table", "unit"), [("visits", "Row"), ("visits", "ROW"), ("people", "person")])
def test_a_column_called_row_is_never_taken_for_the_rows(
    table_with_a_column_called_row: Path, table: str, unit: str
) -> None:
    """The name of the unit was looked up and became "row", so that nobody's contributions were bounded."""
    with refused(InvalidInput, "unit"):
        plan_release(
            BY_SITE.replace("visits", table),
            data=table_with_a_column_called_row,
            unit=unit,
            domain={"site": range(3)},
            epsilon=1,
        )
