"""Services of the tests' own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from running_service import RunningService, make_token
from survey_mechanisms import COUNTS

_NUMBERS = count()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningService, str]]:
    """A service for all tests of a file, and a token that manages it."""
    folder = tmp_path_factory.mktemp("service")
    token = make_token(str(folder / "reports.db"))
    made = RunningService(str(folder / "reports.db"), folder / "log", ("--rate", "0"))
    made.start()
    yield made, token
    made.stop()


@pytest.fixture
def service(running: tuple[RunningService, str]) -> RunningService:
    """The service, with a new collection of counts, which is the one that is meant."""
    made, token = running
    made.name = f"visits-{next(_NUMBERS)}"
    assert made.create(token, {"main": COUNTS}).status == 201
    return made


@pytest.fixture
def token(running: tuple[RunningService, str]) -> str:
    """Of whoever manages the service."""
    return running[1]


@dataclass(frozen=True)
class Own:
    """A service that a test may stop, and what manages it."""

    service: RunningService
    token: str


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Own]:
    """A service of one test alone, with a collection of counts."""
    token = make_token(str(tmp_path / "reports.db"))
    made = RunningService(str(tmp_path / "reports.db"), tmp_path / "log", ("--rate", "0"))
    made.start()
    assert made.create(token, {"main": COUNTS}).status == 201
    yield Own(made, token)
    made.stop()
