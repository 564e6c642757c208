"""Services of the tests' own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.running_service import RunningService, make_token
from support.service_fixtures import Managed, running, service, token
from support.survey_mechanisms import COUNTS

__all__ = ["own", "running", "service", "token"]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Managed]:
    """A service that one test may stop, with a collection of counts."""
    secret = make_token(str(tmp_path / "reports.db"))
    alone = RunningService(str(tmp_path / "reports.db"), tmp_path / "log", ("--rate", "0"))
    alone.start()
    assert alone.create(secret, {"main": COUNTS}).status == 201
    yield Managed(alone, secret)
    alone.stop()
