"""A service of the tests' own: a real process on a port of this computer, ended by its process id."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import discreet as dc
from discreet.collect.keys import new_key
from discreet.collect.service.tokens import new_token
from discreet.collect.stores.open import report_store
from support.ports import reserved_port
from support.waiting import LIMIT_SECONDS, wait_for


class Answer(NamedTuple):
    """What a service answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


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
    port
        Its port: kept from the first start to :meth:`stop`, however often it is killed in between.
    """

    store: str
    log: Path
    options: tuple[str, ...] = ()
    name: str = "visits"
    port: int = 0
    process: subprocess.Popen[bytes] = field(init=False)
    _reserved: ExitStack = field(init=False, default_factory=ExitStack)

    def start(self) -> None:
        """Start it, and wait until it answers; an AssertionError has its log if it ends instead."""
        if not self.port:
            self.port = self._reserved.enter_context(reserved_port())
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "discreet.cli", "serve", self.store, "--port", str(self.port), *self.options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        try:
            wait_for(self._answers, self.log.read_text)
        except BaseException:
            self.kill()
            self._give_port_back()
            raise

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        with suppress(OSError, http.client.HTTPException):
            return self.ask("GET", "/ready").status in (200, 429)  # refused by a limit it was given: it answers
        return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Stop it as an administrator does, and give its port back; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(LIMIT_SECONDS)
        self._give_port_back()
        return code

    def _give_port_back(self) -> None:
        self.port = 0
        self._reserved.close()

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request on a connection of its own; a body that is not bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_SECONDS)
        stated = {"Authorization": f"Bearer {token}"} if token else {}
        if body is not None:
            stated["Content-Type"] = "application/json"
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection.request(method, path, body, {**stated, **(headers or {})})
            with connection.getresponse() as response:
                return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
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


def is_sent_twice(value: int) -> bool:
    """Whether :func:`send_until_acknowledged` sends the batch of a value once more after it was acknowledged."""
    return value % 3 == 0


def send_until_acknowledged(service: RunningService, value: int, size: int, late: threading.Event) -> int:
    """Send one batch, again and again with the same bytes and key until it is acknowledged; says how often it was sent.

    After an acknowledgement some are sent once more, as a device does that did not hear it.
    """
    headers, body = {"Idempotency-Key": new_key()}, {"mechanism": "main", "reports": [value] * size}
    sent, again = 0, is_sent_twice(value)
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
