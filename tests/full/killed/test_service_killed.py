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

import discreet as dc
from support.postgres_server import Server, programs, start
from support.running_service import RunningService, is_sent_twice, make_token, send_until_acknowledged
from support.waiting import LIMIT_SECONDS, wait_for

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

    def some_were_cut_off() -> bool:
        """Whether a batch was sent more often than it is where nothing fails."""
        return any(times > (2 if is_sent_twice(value) else 1) for value, times in list(sent.items()))

    chance, disturbances = random.Random(1), 0
    while disturbances < rounds or not some_were_cut_off():
        assert disturbances < 20 * rounds, "nobody noticed"
        disturbances += 1
        goal = len(sent) + CLIENTS
        wait_for(lambda goal=goal: failures or len(sent) >= goal)  # it answers again
        time.sleep(chance.uniform(0, 0.2))  # any moment will do
        disturb()
    stop.set()
    timer = threading.Timer(LIMIT_SECONDS, late.set)  # a machine may stand still for a while
    timer.start()
    for thread in threads:
        thread.join()
    timer.cancel()
    assert not failures, (
        failures,
        [line for line in service.log.read_text().splitlines() if "error" in line.lower()][-20:],
    )
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


@pytest.mark.parametrize("kills", [12, pytest.param(50, marks=pytest.mark.long)])
def test_killed_with_sqlite_every_acknowledged_batch_is_counted_once(tmp_path: Path, kills: int) -> None:
    killed_again_and_again(tmp_path, kills)


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
        wait_for(lambda: len(workers_of(service)) == 2)

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


@pytest.mark.parametrize(("kills", "restarts"), [(12, 4), pytest.param(50, 10, marks=pytest.mark.long)])
def test_killed_workers_and_a_killed_database_lose_and_double_no_batch(
    tmp_path: Path, kills: int, restarts: int
) -> None:
    with_two_workers(tmp_path, kills, restarts)
