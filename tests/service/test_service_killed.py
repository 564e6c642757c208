"""A service that is killed under clients that retry: every acknowledged batch is counted exactly once."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from running_service import RunningService, make_token, send_until_acknowledged

import discreet as dc
from postgres_server import Server, programs, start

#: Every batch reports a value of its own, so that each can be found in the counts.
MECHANISM = dc.geometric(100_000, epsilon=1)
SIZE, CLIENTS = 20, 6


def assert_all_counted_once(service: RunningService, token: str, disturb: Callable[[], None], rounds: int) -> None:
    """Clients send batches while the service is disturbed; at the end each batch counts once."""
    late, stop, sent = threading.Event(), threading.Event(), {}
    failures: list[BaseException] = []

    def send(client: int) -> None:
        value = client
        try:
            while not stop.is_set():
                sent[value] = send_until_acknowledged(service, value, SIZE, late)
                value += CLIENTS
        except BaseException as problem:
            failures.append(problem)

    threads = [threading.Thread(target=send, args=(client,)) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    chance = random.Random(1)
    for _ in range(rounds):
        time.sleep(chance.uniform(0.1, 0.5))
        disturb()
    time.sleep(0.3)
    stop.set()
    timer = threading.Timer(300, late.set)  # a machine may stand still for a while
    timer.start()
    for thread in threads:
        thread.join()
    timer.cancel()
    assert not failures, failures
    assert len(sent) > CLIENTS * 2 and max(sent.values()) > 1  # some were cut off
    assert service.counts(token)["main"] == dict.fromkeys(sorted(sent), SIZE)


def killed_again_and_again(folder: Path, rounds: int) -> None:
    token = make_token(str(folder / "reports.db"))
    service = RunningService(str(folder / "reports.db"), folder / "log", ("--rate", "0"))
    service.start()
    try:
        assert service.create(token, {"main": MECHANISM}).status == 201

        def disturb() -> None:
            service.kill()
            service.start()

        assert_all_counted_once(service, token, disturb, rounds)
    finally:
        service.stop()


@pytest.mark.slow
def test_killed_fifty_times_with_sqlite_every_acknowledged_batch_is_counted_once(tmp_path: Path) -> None:
    killed_again_and_again(tmp_path, 50)


def workers_of(service: RunningService) -> list[int]:
    """The processes that answer: children of the one that was started, which run the same program."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(file.read_text().rpartition(")")[2].split()[1]) == service.process.pid:
                line = (file.parent / "cmdline").read_bytes()
                if b"spawn_main" in line:
                    found.append(int(file.parent.name))
    return found


def with_two_workers(folder: Path, rounds: int, restarts: int) -> None:
    """A database of its own, whose log is written as in production: it is killed too."""
    database: Server = start(programs(18))
    address = database.address(database.database(name="reports"))
    token = make_token(address)
    service = RunningService(address, folder / "log", ("--rate", "0", "--workers", "2"))
    service.start()
    try:
        assert service.create(token, {"main": MECHANISM}).status == 201
        assert len(workers_of(service)) == 2

        def disturb() -> None:
            workers = workers_of(service)
            if workers:
                with suppress(ProcessLookupError):
                    os.kill(random.choice(workers), signal.SIGKILL)

        assert_all_counted_once(service, token, disturb, rounds)

        def restart() -> None:
            database.kill()
            database.start()

        service.create(token, {"main": MECHANISM}, "again")
        service.name = "again"
        assert_all_counted_once(service, token, restart, restarts)
    finally:
        service.stop()
        database.stop()


@pytest.mark.slow
def test_two_workers_on_postgresql_are_killed_fifty_times_and_the_database_ten(tmp_path: Path) -> None:
    with_two_workers(tmp_path, 50, 10)
