"""Whether an answer was drawn now or recorded before: what the ledger says, whatever other processes do meanwhile."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import discreet as dc
from discreet.release import counts as releasing
from support.command_line import run

BY_SITE = "SELECT site, COUNT(*) FROM visits GROUP BY site"


def asked(visits: Path, book: dc.Ledger) -> dict[str, Any]:
    domain = {"site": list(range(4))}
    return {"data": visits, "unit": "person", "max_groups": 1, "domain": domain, "epsilon": 1, "ledger": book.name}


def by_the_command_line(visits: Path, book: dc.Ledger) -> dict[str, Any]:
    """Ask the same question by ``discreet release --json``."""
    options = ("--unit", "person", "--max-groups", 1, "--domain", "site=0..3", "--epsilon", 1, "--ledger", book.name)
    answer: dict[str, Any] = json.loads(run("release", BY_SITE, "--data", visits, *options, "--json").stdout)
    return answer


#: Spends a little for every line it reads, and writes a line when it has.
SPENDER = """
import sys
from fractions import Fraction
from discreet.ledger.ledger import Cost, Ledger
ledger = Ledger.open(sys.argv[1])
for line in sys.stdin:
    ledger.reserve(f"another question {line.strip()}", {}, Cost(Fraction(1, 10**6)))
    print(line, end="", flush=True)
"""


@contextmanager
def another_spender(book: dc.Ledger) -> Iterator[Callable[[], None]]:
    """Start another process, and yield a function that makes it spend from the same ledger."""
    command, numbers = [sys.executable, "-c", SPENDER, book.name], count()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None

        def spend() -> None:
            line = f"{next(numbers)}\n"
            print(line, end="", file=process.stdin, flush=True)
            assert process.stdout is not None and process.stdout.readline() == line

        try:
            yield spend
        finally:
            process.kill()


def test_a_recorded_answer_is_recorded_while_another_process_spends(visits: Path, book, monkeypatch) -> None:
    """A balance that fell meanwhile says "fresh", and is wrong."""
    first = dc.release_counts(BY_SITE, **asked(visits, book))
    recall = releasing.release_from_record
    with another_spender(book) as spend:

        def recall_after_spending(*given: Any) -> Any:
            spend()
            return recall(*given)

        monkeypatch.setattr(releasing, "release_from_record", recall_after_spending)
        before = book.left()
        said = by_the_command_line(visits, book)
        again = dc.release_counts(BY_SITE, **asked(visits, book))
    assert len(book.entries()) == 3  # the first answer, and what was spent during each of the others
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
