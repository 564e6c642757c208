"""Whether an answer was drawn now or recorded before: what the ledger says, whatever other processes do meanwhile."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

import discreet as dc

BY_SITE = "SELECT site, COUNT(*) FROM visits GROUP BY site"


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    table = tmp_path / "visits.csv"
    table.write_text("person,site\n" + "".join(f"{person},{person % 4}\n" for person in range(40)))
    return table


@pytest.fixture
def book(tmp_path: Path) -> dc.Ledger:
    return dc.Ledger.create(tmp_path / "visits.ledger", dataset="visits", unit="person", epsilon=10)


def asked(visits: Path, book: dc.Ledger) -> dict[str, Any]:
    domain = {"site": list(range(4))}
    return {"data": visits, "unit": "person", "max_groups": 1, "domain": domain, "epsilon": 1, "ledger": book.name}


def by_the_program(visits: Path, book: dc.Ledger) -> dict[str, Any]:
    """The same question as a process of its own: ``discreet release --json``."""
    command = [
        sys.executable, "-m", "discreet.cli", "release", BY_SITE, "--data", str(visits), "--unit", "person",
        "--max-groups", "1", "--domain", "site=0..3", "--epsilon", "1", "--ledger", book.name, "--json",
    ]  # fmt: skip
    said: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return said


#: Spends a little again and again, until it is ended.
SPENDER = """
import sys, time
from fractions import Fraction
from discreet.ledger.ledger import Cost, Ledger
ledger, k = Ledger.open(sys.argv[1]), 0
while True:
    k += 1
    ledger.reserve(f"another question {k}", {}, Cost(Fraction(1, 10**6)))
    print(k, flush=True)
    time.sleep(0.02)
"""


@contextmanager
def spending(book: dc.Ledger) -> Iterator[None]:
    """Meanwhile another process spends from the same ledger."""
    process = subprocess.Popen([sys.executable, "-c", SPENDER, book.name], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "1\n"  # it is at work
    try:
        yield
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


def test_a_recorded_answer_is_recorded_while_another_process_spends(visits: Path, book) -> None:
    """A balance that fell meanwhile says "fresh", and is wrong."""
    first = dc.release_counts(BY_SITE, **asked(visits, book))
    with spending(book):
        before = book.left()
        said = by_the_program(visits, book)
        again = dc.release_counts(BY_SITE, **asked(visits, book))
    assert said["left"] != before.to_json()  # what an answer that is paid for would look like
    assert said["recorded"] is True and said["ledger"] == dict(first.ledger)
    assert not again.fresh and not again.paid and again.rows() == first.rows()


def ask_at_once(visits: Path, paths: list[str], gate: Barrier, results: Any) -> None:
    """Ask one question of every ledger, at the same moment as the other process does."""
    for path in paths:
        book = dc.Ledger.open(path)
        before = book.left()
        gate.wait(300)
        released = dc.release_counts(BY_SITE, **asked(visits, book))
        gate.wait(300)
        fell = book.left() != before
        results.put((path, released.fresh, released.paid, fell, [row["count"] for row in released.rows()]))


def test_of_two_processes_that_ask_the_same_at_once_one_answer_is_fresh(visits: Path, tmp_path: Path) -> None:
    """The balance fell for both; only the ledger knows whose answer was kept, and who has paid."""
    names = [tmp_path / f"{k}.ledger" for k in range(3)]
    books = [dc.Ledger.create(name, dataset="visits", unit="person", epsilon=10) for name in names]
    context = multiprocessing.get_context("spawn")
    gate, results = context.Barrier(2), context.Queue()
    given = (visits, [book.name for book in books], gate, results)
    processes = [context.Process(target=ask_at_once, args=given) for _ in range(2)]
    for process in processes:
        process.start()
    found = [results.get(timeout=300) for _ in range(2 * len(books))]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    for book in books:
        (fresh, paid, fell, counts), (other_fresh, other_paid, other_fell, other_counts) = (
            said for path, *said in found if path == book.name
        )
        assert fell and other_fell  # by the balance both would be fresh
        assert fresh != other_fresh and counts == other_counts
        assert paid + other_paid == len(book.entries()) and book.left().epsilon == 10 - len(book.entries())
