"""How many reports a second the service stores durably, beside the same route that stores nothing, in one run.

Batches of 100 come as JSON over HTTP on this computer alone, from one process with many connections, each of which
waits for its answer before it sends the next batch. Beside that, the time of an estimate from many stored reports.
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
from typing import cast

import numpy as np
import uvloop

import discreet as dc
import measure
from discreet.collect.keys import new_key
from discreet.collect.service.app import Service
from discreet.collect.service.running import Settings, server_options
from discreet.collect.service.tokens import new_token
from discreet.collect.stores.base import Batch, Outcome
from discreet.collect.stores.opening import report_store
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

    settings = Settings(store=store, port=port, requests_per_second=0, reports_per_second=0, bytes_per_second=0)
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
    found = connection.getresponse()
    content = json.loads(found.read())
    connection.close()
    return found.status, content


def lines(scale: Scale = FULL) -> Iterator[Line]:
    rounds, warmup, batches, connections = scale.pick((3, 500, 15_000, 256), (1, 5, 20, 4))
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/reports.db"
        text, kept = new_token("manage")
        place = report_store(store)
        place.open()
        place.add_token(kept)
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
        shown = f"{durable:,.0f}/s"
        yield measure.at_least("durable reports in batches of 100", shown, "300,000/s", durable / 300_000, 1.0)
        yield measure.at_least("beside a route that stores nothing", shown, f"{nothing:,.0f}/s", durable / nothing, 0.8)
        yield _estimate(f"{folder}/many.db", scale)


def _estimate(store: str, scale: Scale) -> Line:
    """Measure the time within which 49 of 50 estimates are there, while reports come in."""
    stored, estimates = scale.pick((10_000_000, 50), (20_000, 3))
    text, kept = new_token("manage")
    place = report_store(store)
    place.open()
    place.add_token(kept)
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


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), sys.argv[3])
