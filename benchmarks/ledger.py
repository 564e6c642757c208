"""Cost of a long ledger for a release: one cell, with 10,000 entries in the ledger and with none."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import discreet as dc
import measure
from discreet.ledger.books import Books
from discreet.ledger.budget import Cost
from discreet.ledger.stores.open import open_store
from measure import FULL, Line, Scale


def lines(scale: Scale = FULL) -> Iterator[Line]:
    entries = scale.pick(10_000, 50)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "visits.csv"
        table.write_text("person,site\n" + "".join(f"{person},{person % 3}\n" for person in range(100)))
        short, long = _ledger(table, "short.ledger", 0), _ledger(table, "long.ledger", entries)
        for what, ask in {"a release of 1 cell": _new, "a recorded answer": _again}.items():
            none, many = measure.in_turn(ask(table, short), ask(table, long), rounds=scale.pick(5, 1))
            ours, theirs = f"{many * 1e3:.0f} ms", f"with none {none * 1e3:.0f} ms"
            what = f"{what}, {entries:,} entries in the ledger: seconds more (not a ratio)"
            yield measure.at_most(what, ours, theirs, many - none, 0.2)


def _ledger(table: Path, name: str, entries: int) -> str:
    """Make a ledger with one release and then ``entries`` questions and answers, written in one transaction."""
    book = dc.Ledger.create(table.parent / name, dataset="visits", unit="person", epsilon=1000)
    _ask(table, book.name, "the first")
    cost, when = Cost(Fraction(1, 1000)).to_json(), "2026-01-01T00:00:00Z"
    with open_store(book.name).writing() as session:
        books = Books(session)
        for k in range(entries):
            request = {"key": f"{k:064x}", "request": session.keep(b'{"k":%d}' % k), "cost": cost}
            number = books.append(session, "reserve", request, when).number
            books.append(session, "opened", {"reservation": number}, when)
            answer = {"key": request["key"], "reservation": number, "answer": session.keep(b"%d" % k)}
            books.append(session, "commit", answer, when)
    return book.name


def _ask(table: Path, ledger: str, edition: str) -> Any:
    return dc.release_counts(
        "SELECT COUNT(*) FROM visits", data=table, unit="person", epsilon="1/1000", ledger=ledger, edition=edition
    )


def _new(table: Path, ledger: str) -> Callable[[], Any]:
    editions = itertools.count()
    return lambda: _ask(table, ledger, f"edition {next(editions)}")


def _again(table: Path, ledger: str) -> Callable[[], Any]:
    return lambda: _ask(table, ledger, "the first")
