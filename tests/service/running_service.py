"""A service of the tests' own: a real process on a port of this computer, ended by its process id."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import discreet as dc
from discreet.collect.keys import new_key
from discreet.collect.service.tokens import new_token
from discreet.collect.stores.opening import report_store


class Answer(NamedTuple):
    """What a service answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def make_token(store: str, right: str = "manage", collection: str | None = None) -> str:
    text, kept = new_token(right, collection)
    place = report_store(store)
    place.open()
    place.add_token(kept)
    place.close()
    return text


@dataclass(eq=False)
class RunningService:
    """A service in a process.

    Attributes
    ----------
    store
        The address of its store.
    log
        The file with what it wrote to standard error.
    options
        Of ``discreet serve``.
    name
        The collection that is meant where none is named.
    """

    store: str
    log: Path
    options: tuple[str, ...] = ()
    name: str = "visits"
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "discreet.cli", "serve", self.store, "--port", str(self.port), *self.options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        for _ in range(600):
            with suppress(OSError, http.client.HTTPException):
                if self.ask("GET", "/ready").status == 200:
                    return
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request on a connection of its own; a body that is not bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        stated = {"Authorization": f"Bearer {token}"} if token else {}
        if body is not None:
            stated["Content-Type"] = "application/json"
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection.request(method, path, body, {**stated, **(headers or {})})
            found = connection.getresponse()
            return Answer(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read())
        finally:
            connection.close()

    def create(self, token: str, given: Mapping[str, dc.Mechanism], name: str | None = None, **more: object) -> Answer:
        described = {
            "title": "Visits", "question": "How often did you see a doctor?", "minimum_reports": 10,
            "mechanisms": {one: mechanism.to_json() for one, mechanism in given.items()}, **more,
        }  # fmt: skip
        return self.ask("PUT", f"/v1/collections/{name or self.name}", described, token)

    def report(
        self, reports: object, key: str | None = None, mechanism: str = "main", name: str | None = None, **more: Any
    ) -> Answer:
        headers = {"Idempotency-Key": key or new_key()}
        body = {"mechanism": mechanism, "reports": reports}
        return self.ask("POST", f"/v1/collections/{name or self.name}/reports", body, headers=headers, **more)

    def counts(self, token: str, name: str | None = None) -> dict[str, dict[Any, int]]:
        found = self.ask("GET", f"/v1/collections/{name or self.name}/counts", token=token).json["counts"]
        return {mechanism: dict(rows) for mechanism, rows in found.items()}


def send_until_acknowledged(service: RunningService, value: int, size: int, late: threading.Event) -> int:
    """Send one batch, again and again with the same bytes and key until it is acknowledged; says how often it was sent.

    After an acknowledgement it is sent once more, as a device does that did not hear it.
    """
    headers, body = {"Idempotency-Key": new_key()}, {"mechanism": "main", "reports": [value] * size}
    sent, again = 0, value % 3 == 0
    while not late.is_set():
        sent += 1
        try:
            found = service.ask("POST", f"/v1/collections/{service.name}/reports", body, headers=headers)
        except (OSError, http.client.HTTPException):
            time.sleep(0.02)
            continue
        if found.status in (200, 201):
            if not again:
                return sent
            again = False
        else:
            assert found.status == 503, found
            time.sleep(0.05)
    raise AssertionError(f"batch {value} was never acknowledged")
