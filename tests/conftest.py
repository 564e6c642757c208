"""Settings and fixtures that every test shares."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support.numerical import is_numerical
from support.paths import GOLDEN
from support.tiers import EXAMPLES, LONG, tier
from support.visits import book, visits

__all__ = ["book", "visits"]

pytest_plugins = ("support.times",)

# The same examples everywhere, no clock: a test either holds or it does not. `make test-long` tries ten times as many.
settings.register_profile(
    "fast",
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("long", settings.get_profile("fast"), max_examples=EXAMPLES * LONG)
settings.load_profile("fast")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if (mark := tier(item.path)) is not None:
            item.add_marker(mark)
        if is_numerical(item.path):
            item.add_marker("numerical")


def pytest_sessionfinish() -> None:
    """Servers stop here: a worker of xdist may be ended before it does what is left to its end."""
    if (servers := sys.modules.get("support.postgres_server")) is not None:
        servers.stop_all()


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of reference values, computed independently of this project."""
    return GOLDEN


@pytest.fixture(scope="session")
def outside_data() -> Path:
    """The folder named by DISCREET_DATA, with the data sets that are not ours to ship (Adult, Gowalla)."""
    folder = os.environ.get("DISCREET_DATA")
    if folder and Path(folder).is_dir():
        return Path(folder)
    if os.environ.get("CI") == "true":
        pytest.fail("DISCREET_DATA must name the folder with adult.csv.gz and gowalla_paris_grid.csv in CI")
    pytest.skip("DISCREET_DATA does not name a folder with the data sets that may not be shipped")
