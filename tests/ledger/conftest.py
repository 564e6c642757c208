"""Ledgers for the tests of this room."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.ledger.ledger import Ledger
from support.ledgers import make, pay
from support.postgres_fixtures import pg

__all__ = ["ledger", "pg", "used"]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return make(tmp_path)


@pytest.fixture
def used(ledger: Ledger) -> Ledger:
    """Two answers and one orphan."""
    ledger.commit(pay(ledger, "a", "1/3"), b"seven")
    pay(ledger, "orphan", "1/2")
    ledger.commit(pay(ledger, "b", 1), b"nine")
    return ledger
