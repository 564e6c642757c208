"""Fixtures of a service that many tests share, for the ``conftest.py`` of each folder that uses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from support.running_service import RunningService, make_token
from support.survey_mechanisms import COUNTS

_NUMBERS = count()


class Managed(NamedTuple):
    """A service, and a token that manages it."""

    service: RunningService
    token: str


@contextmanager
def managed_service(folder: Path) -> Iterator[Managed]:
    """Run a service that keeps its reports in a folder."""
    token = make_token(str(folder / "reports.db"))
    service = RunningService(str(folder / "reports.db"), folder / "log", ("--rate", "0"))
    service.start()
    yield Managed(service, token)
    service.stop()


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Managed]:
    """Start one service for all tests of this process that do not stop it."""
    with managed_service(tmp_path_factory.mktemp("service")) as managed:
        yield managed


@pytest.fixture
def service(running: Managed) -> RunningService:
    """The shared service, with a new collection of counts, which is the one that is meant."""
    running.service.name = f"visits-{next(_NUMBERS)}"
    assert running.service.create(running.token, {"main": COUNTS}).status == 201
    return running.service


@pytest.fixture
def token(running: Managed) -> str:
    """A token that manages the shared service."""
    return running.token
