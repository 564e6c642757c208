"""A contribution bound of any size is counted."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from discreet.engines.sources import Counting, open_source
from discreet.release.plan.planning import plan_release
from support.proposals import BY_SITE


@pytest.fixture
def everywhere(tmp_path: Path) -> Path:
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as engine:
        engine.execute("CREATE TABLE visits AS SELECT i % 2 AS person, i // 2 AS site FROM range(400) AS r(i)")
    return path


def counted(path: Path, max_groups: int) -> list[int]:
    source = open_source(path)
    plan = plan_release(BY_SITE, data=source, unit="person", max_groups=1, domain={"site": range(200)}, epsilon=1)
    table = plan.tables[0]
    (counts,) = source.count([Counting(table.question, table.groups, "person", max_groups, b"key")])
    return [int(number) for number in counts.reshape(-1)]


@pytest.mark.parametrize("max_groups", [10**6, 2**70])
def test_a_large_max_groups_is_counted(everywhere: Path, max_groups: int) -> None:
    """The engine's own limit of a million made the release fail after its budget was spent."""
    assert counted(everywhere, max_groups) == [2] * 200
