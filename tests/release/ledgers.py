"""Ledgers to try things on."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from discreet.ledger.budget import Cost
from discreet.ledger.ledger import Ledger, Reservation


def make(path: Path, **terms: object) -> Ledger:
    asked = {"dataset": "visits", "unit": "person", "epsilon": 3, **terms}
    return Ledger.create(path / "study.ledger", **asked)  # type: ignore[arg-type]


def pay(ledger: Ledger, key: str, epsilon: object = 1, **more: object) -> Reservation:
    """A reservation that is opened: what a release has done when it reads its first row."""
    paid = hold(ledger, key, epsilon, **more)
    ledger.mark_opened(paid)
    return paid


def hold(ledger: Ledger, key: str, epsilon: object = 1, **more: object) -> Reservation:
    """A reservation that is not opened: no row was read for it."""
    paid = ledger.reserve(key, {"question": f"SELECT {key}"}, Cost(epsilon, **more))  # type: ignore[arg-type]
    assert isinstance(paid, Reservation)
    return paid


def tamper(ledger: Ledger, *statements: str, guards: bool = True) -> None:
    """Alter the file as somebody with SQLite would, who takes care to put the guards back."""
    connection = sqlite3.connect(ledger.name, isolation_level=None)
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    for _, sql in triggers if guards else []:
        connection.execute(sql)
    connection.close()
