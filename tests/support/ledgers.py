"""Ledgers to try things on."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from discreet.ledger.books import STRIDE, Books
from discreet.ledger.budget import Cost
from discreet.ledger.chain import Event, next_event
from discreet.ledger.ledger import Ledger, Reservation

WHEN = "2026-01-01T00:00:00Z"


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
    connection.execute("BEGIN")
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    for _, sql in triggers if guards else []:
        connection.execute(sql)
    connection.execute("COMMIT")
    connection.close()


def fill(ledger: Ledger, entries: int, name: str = "filling", epsilon: str | int | Fraction = "1/1000") -> None:
    """Add questions with their answers, three events each, in one transaction: a long ledger in no time."""
    cost = Cost(Fraction(epsilon)).to_json()
    with ledger._store.writing() as session:
        books = Books(session)
        for k in range(entries):
            key = f"{name} {k}"
            asked = {"key": key, "request": session.keep(b'{"k":%d}' % k), "cost": cost}
            number = books.append(session, "reserve", asked, WHEN).number
            books.append(session, "opened", {"reservation": number}, WHEN)
            answer = session.keep(f"answer to {key}".encode())
            books.append(session, "commit", {"key": key, "reservation": number, "answer": answer}, WHEN)


def rewrite(ledger: Ledger, *events: Event) -> None:
    """Put other events in the places of those with the same numbers."""
    statements = [
        f"UPDATE events SET body = '{event.row.body}', hash = '{event.hash}' WHERE number = {event.number}"
        for event in events
    ]
    tamper(ledger, *statements)


def rebuilt(ledger: Ledger, change: Callable[[int, str, dict[str, object]], None]) -> None:
    """Rewrite the whole chain with changed contents and correct hashes, as a forger who knows the rule."""
    events: list[Event] = []
    for event in ledger.events():
        content = json.loads(json.dumps(event.content))
        if event.kind == "checkpoint":
            steps = [STRIDE << step for step in range(20)]
            earlier = [events[event.number - step - 1].hash for step in steps if step < event.number]
            content |= {"first": events[0].hash, "earlier": earlier}
        change(event.number, event.kind, content)
        events.append(next_event(events, event.kind, event.time, content))
    rewrite(ledger, *events)


def forged(ledger: Ledger, number: int, **changes: object) -> Event:
    """An event with other contents and its own correct hash; those after it do not name that hash."""
    events = ledger.events()
    event = events[number - 1]
    return next_event(events[: number - 1], event.kind, event.time, {**event.content, **changes})
