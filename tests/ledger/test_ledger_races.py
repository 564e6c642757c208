"""Several processes on one ledger, and processes that are killed: never overspent, never broken, nothing double."""

from __future__ import annotations

import multiprocessing
import random
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BudgetExceeded, UnreadableFile
from discreet.ledger.ledger import Cost, Ledger, LedgerTerms, RecordedAnswer
from support.refusals import refused
from support.waiting import LIMIT_SECONDS

SHARE = Fraction(1, 3)


# ------------------------------------------------------------------------------------------------ races


def racer(me: int, gate: Barrier, results: Any, paths: list[str], careless: bool) -> None:
    """Reserve once from every ledger, each at the same moment as the others; and commit every second one."""
    won = []
    for k, path in enumerate(paths):
        ledger = Ledger.open(path)
        if careless:  # a ledger that looks before it locks, and not again
            assert ledger.left().epsilon >= SHARE
            LedgerTerms.allow = lambda *_: True  # type: ignore[method-assign]
        gate.wait(LIMIT_SECONDS)
        try:
            paid = ledger.reserve(f"question of {me}", {"who": me}, Cost(SHARE))
        except BudgetExceeded:
            continue
        assert not isinstance(paid, RecordedAnswer)
        if me % 2:
            ledger.mark_opened(paid)
            ledger.commit(paid, f"answer of {me}".encode())
        won.append(k)
    results.put((me, won))


def race(paths: list[str], racers: int, careless: bool = False) -> dict[int, list[int]]:
    """Who won in which rounds."""
    return results_of(racer, racers, paths, careless)


def results_of(target: Callable[..., None], processes: int, *arguments: object) -> dict[int, Any]:
    """Run ``target(number, gate, results, *arguments)`` in some processes; return their results by number."""
    context = multiprocessing.get_context("spawn")
    gate, results = context.Barrier(processes), context.Queue()
    started = [context.Process(target=target, args=(me, gate, results, *arguments)) for me in range(processes)]
    for process in started:
        process.start()
    by_number = dict(results.get(timeout=LIMIT_SECONDS) for _ in started)
    for process in started:
        process.join()
        assert process.exitcode == 0
    return by_number


@pytest.mark.parametrize(
    ("racers", "rounds"),
    [
        pytest.param(3, 5),
        pytest.param(8, 30, marks=pytest.mark.full),
        pytest.param(8, 200, marks=pytest.mark.long),
    ],
)
def test_as_many_win_the_last_budget_as_fit(tmp_path: Path, racers: int, rounds: int) -> None:
    room = [k % (racers + 2) for k in range(rounds)]  # how many fit: from none to more than there are
    paths = []
    for k, fits in enumerate(room):
        ledger = Ledger.create(tmp_path / f"{k}.ledger", dataset="d", unit="row", epsilon=1 + fits * SHARE)
        ledger.reserve("earlier", {}, Cost(Fraction(9, 10)))
        paths.append(ledger.name)
    won = race(paths, racers)
    for k, path in enumerate(paths):
        ledger = Ledger.open(path)
        winners = [me for me in won if k in won[me]]
        assert len(winners) == min(room[k], racers), f"round {k}"
        assert ledger.spent().epsilon == Fraction(9, 10) + len(winners) * SHARE <= ledger.terms.epsilon
        names = {f"question of {me}" for me in winners}
        assert {entry.reservation.key for entry in ledger.entries()} == names | {"earlier"}
        assert all(ledger.recorded(f"question of {me}") for me in winners if me % 2)
        assert ledger.verify().holds


def test_a_ledger_that_looks_before_it_locks_loses_the_race(tmp_path: Path) -> None:
    """The control: without the check inside the lock both win where one fits, so the races above can fail."""
    ledger = Ledger.create(tmp_path / "x", dataset="d", unit="row", epsilon=SHARE)
    won = race([ledger.name], 2, careless=True)
    assert won == {0: [0], 1: [0]}
    assert "costs more than was left" in ledger.verify().problems[0]


def spend_it_all(me: int, gate: Barrier, results: Any, path: str) -> None:
    """Release one question after the other until the budget is spent."""
    ledger, done = Ledger.open(path), 0
    gate.wait(LIMIT_SECONDS)
    while True:
        try:
            ledger.answer(f"question {done} of {me}", {}, Cost(SHARE), lambda: b"noisy")
        except BudgetExceeded:
            break
        done += 1
    results.put((me, done))


def test_processes_that_spend_it_all_through_several_checkpoints_spend_exactly_that(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "x.ledger", dataset="d", unit="row", epsilon=60 * SHARE)
    done = results_of(spend_it_all, 4, ledger.name)
    assert sum(done.values()) == 60 and ledger.left().epsilon == 0 and ledger.orphans() == ()
    assert [event.number for event in ledger.events() if event.kind == "checkpoint"] == [64, 128]
    somebody = max(done, key=done.__getitem__)
    assert ledger.verify().holds and not ledger.answer(f"question 0 of {somebody}", {}, Cost(SHARE), pytest.fail).fresh


# ------------------------------------------------------------------------------------------------ kills

#: Reserves and commits for ever, and says what is done only after it is done.
WORKER = """
import sys
from fractions import Fraction
from discreet.ledger.ledger import Cost, Ledger
ledger, name = Ledger.open(sys.argv[1]), sys.argv[2]
k = 0
while k < int(sys.argv[3]):
    k += 1
    paid = ledger.reserve(f"{name} {k}", {"k": k}, Cost(Fraction(1, 1000)))
    print("reserved", paid.number, f"{name} {k}", sep="|", flush=True)
    ledger.mark_opened(paid)
    print("opened", paid.number, f"{name} {k}", sep="|", flush=True)
    kept = ledger.commit(paid, f"answer {name} {k}".encode() * 1000)
    print("committed", kept.number, f"{name} {k}", sep="|", flush=True)
"""


def worker(path: str, name: str, times: int = 10**9) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKER, path, name, str(times)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def kill_at_random(path: str, name: str, chance: random.Random) -> list[tuple[str, int, str]]:
    """Run a worker, kill it after some lines and a moment, and return what it had said was done."""
    process = worker(path, name)
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(chance.randrange(1, 12))]
    time.sleep(chance.random() * 0.02)
    process.kill()
    said += process.stdout.readlines()
    process.stdout.close()
    process.wait()
    lines = [line.rstrip("\n").split("|") for line in said if line.endswith("\n")]
    return [(kind, int(number), key) for kind, number, key in lines]


def check(ledger: Ledger, said: list[tuple[str, int, str]]) -> None:
    """Intact; what was said to be done is there; sums are those of the reservations; nothing is there twice."""
    assert ledger.verify().holds, ledger.verify().problems
    events = ledger.events()
    for kind, number, key in said:
        assert events[number - 1].content["key"] == key
        assert events[number - 1].kind == ("commit" if kind == "committed" else "reserve")
    opened = {event.content["reservation"] for event in events if event.kind == "opened"}
    assert {number for kind, number, _ in said if kind == "opened"} <= opened
    reserved = [event for event in events if event.kind == "reserve"]
    committed = [event.content["key"] for event in events if event.kind == "commit"]
    assert ledger.spent().epsilon == Fraction(len(reserved), 1000)
    assert len(set(committed)) == len(committed)
    assert len(ledger.orphans()) == len(reserved) - len(committed)
    for key in (key for kind, _, key in said if kind == "committed"):
        assert ledger.recorded(key).answer == f"answer {key}".encode() * 1000  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "kills",
    [3, pytest.param(15, marks=pytest.mark.full), pytest.param(100, marks=pytest.mark.long)],
)
def test_killed_processes_leave_the_ledger_intact(tmp_path: Path, kills: int) -> None:
    chance = random.Random(kills)
    ledger = Ledger.create(tmp_path / "x.ledger", dataset="d", unit="row", epsilon=1000)
    said = []
    for k in range(kills):
        said.append(kill_at_random(ledger.name, f"round {k}", chance))
        check(ledger, said[-1])
    check(ledger, [line for lines in said for line in lines])
    assert len(ledger.orphans()) <= kills  # one process is killed between two steps at most once


def test_who_works_beside_a_killed_process_goes_on(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "x.ledger", dataset="d", unit="row", epsilon=1000)
    beside = worker(ledger.name, "beside", times=15)
    said = kill_at_random(ledger.name, "killed", random.Random(4))
    lines, _ = beside.communicate(timeout=LIMIT_SECONDS)
    assert beside.returncode == 0 and lines.count("committed") == 15
    check(ledger, said)


#: Writes a half transaction, as a process would that is killed while it writes its pages, and dies.
DIE_INSIDE = """
import os, signal, sys
from discreet.ledger.stores import sqlite as ledger_store
from discreet.ledger.ledger import Cost, Ledger
from fractions import Fraction
ledger = Ledger.open(sys.argv[1])
append = ledger_store.SqliteSession.append
def die(session, row):
    append(session, row)
    session._connection.execute("PRAGMA cache_spill = 1")
    os.kill(os.getpid(), signal.SIGKILL)
ledger_store.SqliteSession.append = die
paid = ledger.orphans()
if sys.argv[2] == "reserve":
    ledger.reserve("q", {}, Cost(Fraction(1)))
elif sys.argv[2] == "open":
    ledger.mark_opened(paid[0])
elif sys.argv[2] == "release":
    ledger.release(paid[0].number, because="a test")
else:
    ledger.commit(paid[0], os.urandom(20_000_000))  # more than the page cache holds: pages reach the file, then the end
"""


@pytest.mark.parametrize("step", ["reserve", "open", "release", "commit"])
def test_a_process_killed_inside_a_transaction_has_done_nothing(tmp_path: Path, step: str) -> None:
    ledger = Ledger.create(tmp_path / "x.ledger", dataset="d", unit="row", epsilon=3)
    paid = ledger.reserve("p", {}, Cost(Fraction(1)))
    if step == "commit":
        ledger.mark_opened(paid)  # type: ignore[arg-type]
    before = ledger.events()
    done = subprocess.run([sys.executable, "-c", DIE_INSIDE, ledger.name, step], capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    if step == "commit":
        assert (tmp_path / "x.ledger-journal").exists()  # the next who reads restores the file from it
    assert ledger.events() == before and ledger.verify().holds
    assert not (tmp_path / "x.ledger-journal").exists() or step != "commit"
    (orphan,) = ledger.orphans()
    if step != "commit":
        ledger.mark_opened(orphan)
    assert ledger.commit(orphan, b"after all").answer == b"after all"


def test_a_creation_that_was_killed_is_no_ledger(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from discreet.ledger import ledger\n"
        "from discreet.ledger.stores import sqlite as ledger_store\n"
        "ledger_store.SqliteSession.append = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "ledger.Ledger.create(sys.argv[1], dataset='d', unit='row', epsilon=1)"
    )
    path = tmp_path / "x.ledger"
    assert subprocess.run([sys.executable, "-c", script, path]).returncode == -9
    with refused(UnreadableFile, token="empty ... discreet ledger init"):
        Ledger.open(path)
