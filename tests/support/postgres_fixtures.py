"""The PostgreSQL server of this process, as a fixture for the ``conftest.py`` of each folder that uses it."""

from __future__ import annotations

import pytest

from support.postgres_server import Server, server


@pytest.fixture(scope="session")
def pg() -> Server:
    """Return the server, started when it is first asked for."""
    return server()
