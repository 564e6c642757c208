"""The server of these tests, and a database in it."""

from __future__ import annotations

import pytest

from support.postgres_fixtures import pg
from support.postgres_questions import VISITS
from support.postgres_server import Server

__all__ = ["pg", "study"]


@pytest.fixture(scope="module")
def study(pg: Server) -> str:
    """The address of a database with one table, as its owner."""
    return pg.address(pg.database(*VISITS))
