"""Durably stored reports per second, against the same route without storing, in one run.

Batches of 100 come as JSON over HTTP on this computer alone, from one process with many connections, each of which
waits for its answer before it sends the next batch. Beside that, the time of an estimate from many stored reports, and
how long others wait while one address does the worst that it is allowed.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import cycle
from typing import cast

import numpy as np
import uvloop

import discreet as dc
import measure
from discreet.collect.keys import new_key
from discreet.collect.service.app import Service
from discreet.collect.service.serve import Settings, server_options
from discreet.collect.service.tokens import new_token
from discreet.collect.stores.base import Batch, Outcome
from discreet.collect.stores.open import report_store
from measure import FULL, Line, Scale

MECHANISM = dc.geometric(100, epsilon=1)
BATCH = 100

#: Seconds that a round may take.
LONGEST = 20.0


class StoreNothing:
    """A writer that takes batches that were parsed and checked, and forgets them."""

    waiting = 0

    def submit(self, batch: Batch) -> asyncio.Future[Outcome]:
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        outcome.set_result(Outcome.STORED)
        return outcome

    def close(self) -> None:
        pass


def serve(kind: str, port: int, store: str) -> None:
    """Run the process that answers."""
    import uvicorn

    settings = Settings(store=store, port=port)
    if kind != "limited":
        settings = replace(settings, requests_per_second=0, reports_per_second=0, bytes_per_second=0)
    service = Service(settings, writer=StoreNothing if kind == "nothing" else None)
    uvicorn.run(service, log_level="warning", **server_options(settings))


# ------------------------------------------------------------------------------------------------ the load


class _Client(asyncio.Protocol):
    """One connection: sends a batch, waits for its answer, sends the next."""

    def __init__(self, requests: Iterator[bytes], done: asyncio.Future[None]) -> None:
        self._requests, self._done = requests, done
        self._answer, self.acknowledged = b"", 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._send()

    def _send(self) -> None:
        request = next(self._requests, None)
        if request is not None:
            self._transport.write(request)
        elif not self._done.done():
            self._transport.close()
            self._done.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._answer += data
        if not self._answer.endswith(b"}"):  # the end of every answer
            return
        if not self._answer.startswith(b"HTTP/1.1 201"):
            self._done.set_exception(RuntimeError(self._answer.decode()))
        self._answer = b""
        self.acknowledged += 1
        self._send()


async def _load(port: int, requests: list[bytes], connections: int) -> tuple[int, float]:
    """Return how many batches were acknowledged, and in how many seconds."""
    loop = asyncio.get_running_loop()
    waiting, began = iter(requests), time.perf_counter()

    def in_time() -> Iterator[bytes]:
        for request in waiting:
            if time.perf_counter() - began > LONGEST:
                return
            yield request

    shared, clients, ends = in_time(), [], []
    for _ in range(connections):
        end: asyncio.Future[None] = loop.create_future()
        _, client = await loop.create_connection(lambda end=end: _Client(shared, end), "127.0.0.1", port)
        clients.append(client)
        ends.append(end)
    await asyncio.gather(*ends)
    return sum(one.acknowledged for one in clients), time.perf_counter() - began


def _run(port: int, batches: int, connections: int) -> tuple[int, float]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(asyncio.wait_for(_load(port, _requests(batches), connections), 3 * LONGEST))


def _requests(number: int) -> list[bytes]:
    reports = MECHANISM.simulate(np.arange(BATCH * 50) % 101, seed=1).reshape(-1, BATCH).tolist()
    bodies = [json.dumps({"mechanism": "main", "reports": one}).encode() for one in reports]
    return [
        b"POST /v1/collections/bench/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Idempotency-Key: %b\r\nContent-Length: %d\r\n\r\n%b" % (new_key().encode(), len(body), body)
        for body in (bodies[k % len(bodies)] for k in range(number))
    ]


# ------------------------------------------------------------------------------------------------ a run


@contextmanager
def _service(kind: str, store: str, token: str) -> Iterator[int]:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    command = [sys.executable, __file__, kind, str(port), store]
    process = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        described = {
            "title": "Bench", "question": "How many?", "minimum_reports": 10,
            "mechanisms": {"main": MECHANISM.to_json()},
        }  # fmt: skip
        for _ in range(200):
            with suppress(OSError):
                assert ask(port, "PUT", "/v1/collections/bench", token, described)[0] in (200, 201)
                break
            time.sleep(0.05)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def ask(port: int, method: str, path: str, token: str, body: object = None) -> tuple[int, object]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, None if body is None else json.dumps(body), {"Authorization": f"Bearer {token}"})
    response = connection.getresponse()
    content = json.loads(response.read())
    connection.close()
    return response.status, content


def lines(scale: Scale = FULL) -> Iterator[Line]:
    rounds, warmup, batches, connections = scale.pick((3, 500, 15_000, 256), (1, 5, 20, 4))
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/reports.db"
        text, record = new_token("manage")
        place = report_store(store)
        place.open()
        place.add_token(record)
        place.close()
        best = {"durable": 0.0, "nothing": 0.0}
        total = 0
        for _ in range(rounds):
            for kind in best:
                with _service(kind, store, text) as port:
                    _run(port, warmup, connections)  # what is built on first use is not what is measured
                    number, seconds = _run(port, batches, connections)
                    best[kind] = max(best[kind], number * BATCH / seconds)
                    total += (number + warmup) * BATCH if kind == "durable" else 0
        with _service("durable", store, text) as port:
            _, content = ask(port, "GET", "/v1/collections/bench/counts", text)
            assert isinstance(content, dict)
            assert sum(times for _, times in content["counts"]["main"]) == total, "a batch was lost, or counted twice"
        durable, nothing = best["durable"], best["nothing"]
        speed = f"{durable:,.0f}/s"
        yield measure.at_least("durable reports in batches of 100", speed, "300,000/s", durable / 300_000, 1.0)
        yield measure.at_least(
            "against a route that stores nothing", speed, f"{nothing:,.0f}/s", durable / nothing, 0.8
        )
        yield _estimate(f"{folder}/many.db", scale)
        yield _under_attack(f"{folder}/attacked.db", scale)


def _estimate(store: str, scale: Scale) -> Line:
    """Measure the time within which 49 of 50 estimates are there, while reports come in."""
    stored, estimates = scale.pick((10_000_000, 50), (20_000, 3))
    text, record = new_token("manage")
    place = report_store(store)
    place.open()
    place.add_token(record)
    place.close()
    with _service("durable", store, text) as port:
        rng = np.random.default_rng(1)
        truths = np.clip(rng.normal(40, 15, stored // 100).round(), 0, 100).astype(int)
        reports = np.tile(MECHANISM.simulate(truths, seed=1), 100)
        times = []
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for chunk in np.array_split(reports, stored // 10_000):
            body = json.dumps({"mechanism": "main", "reports": chunk.tolist()})
            headers = {"Idempotency-Key": new_key(), "Content-Type": "application/json"}
            connection.request("POST", "/v1/collections/bench/reports", body, headers)
            connection.getresponse().read()
        for _ in range(estimates):
            body = json.dumps({"mechanism": "main", "reports": [50] * 10_000})
            headers = {"Idempotency-Key": new_key(), "Content-Type": "application/json"}
            connection.request("POST", "/v1/collections/bench/reports", body, headers)
            connection.getresponse().read()
            times.append(measure.seconds(lambda: ask(port, "GET", "/v1/collections/bench/estimate", text)))
    within = sorted(times)[-2]
    what = f"{estimates - 1} of {estimates} estimates from {stored:.0e} reports within"
    return measure.at_most(what, f"{1000 * within:.0f} ms", "50 ms", within / 0.05, 1.0)


#: Addresses of this computer: of the one that does its worst, and of the first of the others.
ATTACKER, OTHERS = "127.0.0.2", "127.0.1.1"


def _under_attack(store: str, scale: Scale) -> Line:
    """Measure the time within which 99 of 100 batches of other addresses are stored, idle and during an attack.

    The attacker has a hundred connections, each of which sends the next request as soon as the last one was answered or
    refused: bodies of a megabyte that are hard to parse, requests for tables, for pages and for names that are not
    there. All that its limits let in is in the time, with the burst at the start, and so is refusing the rest.
    """
    seconds, connections, rounds = scale.pick((8.0, 100, 2), (0.5, 4, 1))
    text, record = new_token("manage")
    place = report_store(store)
    place.open()
    place.add_token(record)
    place.close()
    ratios = []
    for _ in range(rounds):
        with _service("limited", store, text) as port, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_waits(port, seconds / 4))  # what is built on first use is not what is measured
            idle = runner.run(_waits(port, seconds))
            attacker = subprocess.Popen([sys.executable, __file__, "attack", str(port), str(connections)])
            try:
                attacked = runner.run(_waits(port, seconds))
            finally:
                attacker.terminate()
                attacker.wait()
            ratios.append((_within(attacked) / _within(idle), _within(attacked), _within(idle)))
    ratio, slow, alone = min(ratios)
    what = "99 of 100 batches of others while one address does its worst within"
    return measure.at_most(what, f"{1000 * slow:.1f} ms", f"{1000 * alone:.1f} ms", ratio, 5.0)


def _within(waits: list[float]) -> float:
    return sorted(waits)[int(0.99 * len(waits))]


async def _waits(port: int, seconds: float) -> list[float]:
    """Send batches of one report from eight addresses, ten times a second each; return how long each took."""
    waits: list[float] = []
    end = time.perf_counter() + seconds

    async def person(number: int) -> None:
        address = OTHERS[:-1] + str(number)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
        while time.perf_counter() < end:
            body = b'{"mechanism": "main", "reports": [%d]}' % number
            began = time.perf_counter()
            writer.write(
                b"POST /v1/collections/bench/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Idempotency-Key: %b\r\nContent-Length: %d\r\n\r\n%b" % (new_key().encode(), len(body), body)
            )
            answer = await reader.readuntil(b"}")
            if not answer.startswith(b"HTTP/1.1 201"):
                raise RuntimeError(answer.decode())
            waits.append(time.perf_counter() - began)
            await asyncio.sleep(0.1)
        writer.close()

    await asyncio.gather(*(person(number) for number in range(1, 9)))
    return waits


async def _attack(port: int, connections: int) -> None:
    """Do the worst for half a minute at most, from one address."""
    head = b"Host: localhost\r\nContent-Type: application/json\r\n"
    bodies = (b"[" + b"[]," * 330_000 + b"[]]", b'{"mechanism": "main", "reports": [%b]}' % b",".join([b"1"] * 10_000))
    posts = [
        b"POST /v1/collections/bench/reports HTTP/1.1\r\n%bIdempotency-Key: %b\r\nContent-Length: %d\r\n\r\n%b"
        % (head, new_key().encode(), len(body), body)
        for body in bodies
    ]
    paths = (
        b"/v1/collections/bench/mechanisms/main/table", b"/v1/collections/none", b"/docs", b"/ready",
        b"/browser/vectors.json", b"/collections/bench/answer",
    )  # fmt: skip
    requests = cycle([*posts, *(b"GET %b HTTP/1.1\r\n%b\r\n" % (path, head) for path in paths)])
    end = time.perf_counter() + 30

    async def connection() -> None:
        while time.perf_counter() < end:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(ATTACKER, 0))
                try:
                    for request in requests:
                        writer.write(request)
                        answer = await reader.readuntil(b"\r\n\r\n")
                        length = answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                        await reader.readexactly(int(length or b"0"))
                        if b" 429 " in answer[:20]:
                            await asyncio.sleep(0.05)
                finally:
                    writer.close()

    await asyncio.gather(*(connection() for _ in range(connections)))


if __name__ == "__main__" and sys.argv[1] == "attack":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as attack:
        attack.run(_attack(int(sys.argv[2]), int(sys.argv[3])))
elif __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), sys.argv[3])
