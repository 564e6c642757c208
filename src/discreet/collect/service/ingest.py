"""The one route that must be quick: batches of reports.

It is parsed by hand, beside the framework that answers everything else; :mod:`.openapi` describes it. In order: the
rate of the address, the key, the body, the collection, the token if one is needed, every report, the rate of reports.
Nothing of a batch is stored unless all of it can be.
"""

from __future__ import annotations

import json
import re
from typing import TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from ...errors import DiscreetError
from ..collection import NAME
from ..keys import KEPT, body_digest, is_ahead, is_expired, read_key
from ..stores.base import Batch, Outcome
from .limits import RateLimit
from .metrics import Metrics
from .problems import MEDIA_TYPE, Problem
from .registry import Registry, Served
from .running import Settings
from .tokens import Tokens, permits
from .writing import Writer

Headers: TypeAlias = "list[tuple[bytes, bytes]]"

PREFIX, SUFFIX = "/v1/collections/", "/reports"

#: Headers of every answer. Answers are not pages: whatever they hold, a browser runs and frames nothing of it.
SECURITY: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]

#: What is answered to a batch that was counted, now or before.
_STATUS = {Outcome.STORED: 201, Outcome.REPEATED: 200}

_COLLECTION = re.compile(NAME)


class Ingest:
    """Takes batches of reports.

    Parameters
    ----------
    settings
        Limits of a batch.
    registry, tokens, writer, limit, metrics
        What the service has.
    """

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        tokens: Tokens,
        writer: Writer,
        limit: RateLimit,
        metrics: Metrics,
    ) -> None:
        self._settings, self._registry, self._tokens = settings, registry, tokens
        self._writer, self._limit, self._metrics = writer, limit, metrics
        self._report_limit = RateLimit(settings.reports_per_second)
        self._changed: set[str] = set()

    @staticmethod
    def takes(scope: Scope) -> bool:
        """Whether a request is for this route."""
        path: str = scope["path"]
        return scope["method"] == "POST" and path.startswith(PREFIX) and path.endswith(SUFFIX) and path.count("/") == 4

    def changed(self) -> list[str]:
        """The collections that batches came in for since this was asked last."""
        changed, self._changed = sorted(self._changed), set()
        return changed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            outcome, reports = await self._take(scope, receive)
        except Problem as problem:
            headers = [(name.lower().encode(), value.encode()) for name, value in problem.headers.items()]
            await self._answer(send, problem.status, problem.body(), MEDIA_TYPE.encode(), headers)
            return
        content = b'{"outcome": "%b", "reports": %d}' % (outcome.value.encode(), reports)
        await self._answer(send, _STATUS[outcome], content, b"application/json", [])

    async def _answer(self, send: Send, status: int, body: bytes, kind: bytes, headers: Headers) -> None:
        self._metrics.answered(status)
        stated = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *SECURITY, *headers]
        await send({"type": "http.response.start", "status": status, "headers": stated})
        await send({"type": "http.response.body", "body": body})

    async def _take(self, scope: Scope, receive: Receive) -> tuple[Outcome, int]:
        refuse_haste(self._limit, scope)
        headers = dict(scope["headers"])
        if sum(name == b"idempotency-key" for name, _ in scope["headers"]) > 1:
            raise Problem("bad-key", "Send one Idempotency-Key.")
        key = headers.get(b"idempotency-key", b"").decode("latin-1")
        found = read_key(key)
        if found is None:
            raise Problem("bad-key", "Send Idempotency-Key: the day (UTC), a point and 32 random hexadecimal digits.")
        if is_ahead(found.day):
            raise Problem("bad-key", "The day of the key has not come yet. Set the clock, and send it under a new key.")
        if is_expired(found.day):
            raise _expired()
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            raise Problem("not-json", "Send Content-Type: application/json.")
        body = await read_body(headers, receive, self._settings.most_bytes)
        name: str = scope["path"][len(PREFIX) : -len(SUFFIX)]
        served = await self._served(name)
        if served.collection.reporting == "token":
            await self._refuse_unpermitted(headers, name)
        mechanism, reports = _read_batch(body, self._settings.most_reports)
        number = served.numbers.get(mechanism)
        if number is None:
            raise Problem("invalid", "The collection has no mechanism of this name.", more={"field": "mechanism"})
        try:
            indices = served.collection.readers[mechanism](reports)
        except DiscreetError as problem:
            raise Problem("invalid", str(problem), more={"field": "reports"}) from None
        refuse_haste(self._report_limit, scope, len(reports))
        batch = Batch(number, found.day, found.hash, body_digest(key, name, body), indices)
        outcome = await self._writer.submit(batch)
        self._metrics.batch(outcome, len(reports))
        self._changed.add(name)
        if outcome is Outcome.EXPIRED:
            raise _expired()
        if outcome is Outcome.CONFLICT:
            raise Problem("key-of-another-batch", "Make a new key for each batch, and send a batch unchanged.")
        return outcome, len(reports)

    async def _served(self, name: str) -> Served:
        served = self._registry.known(name)
        if served is None and _COLLECTION.fullmatch(name):
            served = await run_in_threadpool(self._registry.find, name)
        if served is None:
            raise Problem("not-found", "There is no collection of this name.")
        return served

    async def _refuse_unpermitted(self, headers: dict[bytes, bytes], name: str) -> None:
        text = bearer(headers)
        token = self._tokens.remembered(text) or await run_in_threadpool(self._tokens.find, text)
        if token is None:
            raise no_token()
        if not permits(token, "report", name):
            raise Problem("not-permitted", "This token does not permit reports to this collection.")


def refuse_haste(limit: RateLimit, scope: Scope, wanted: int = 1) -> None:
    """Refuse a request of an address that made too many, or sent too many reports."""
    client = scope.get("client")
    wait = limit.wait(client[0] if client else "", wanted)
    if wait:
        raise Problem("too-many-requests", "Slow down.", headers={"Retry-After": str(int(wait) + 1)})


def bearer(headers: dict[bytes, bytes]) -> str:
    """The token of a request; empty if there is none."""
    scheme, _, text = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


def no_token() -> Problem:
    return Problem("no-token", "Send Authorization: Bearer TOKEN.", headers={"WWW-Authenticate": "Bearer"})


async def read_body(headers: dict[bytes, bytes], receive: Receive, most: int) -> bytes:
    """The body of a request, refused as soon as it is known to be too long."""
    stated = headers.get(b"content-length", b"0")
    too_large = Problem("too-large", f"A body may have {most:,} bytes.")
    if not stated.isdigit() or len(stated) > 12 or int(stated) > most:
        raise too_large
    parts, length = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem("bad-request", "The body is not complete.")
        part: bytes = message.get("body", b"")
        length += len(part)
        if length > most:
            raise too_large
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts) if len(parts) > 1 else part


def read_json(body: bytes) -> object:
    """A body as JSON: in UTF-8, and with each key of an object once (RFC 8259)."""
    try:
        return _JSON.decode(body.decode())
    except (ValueError, RecursionError):
        raise Problem("bad-request", "The body is not JSON in UTF-8, or names a key of an object twice.") from None


def _keys_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


_JSON = json.JSONDecoder(object_pairs_hook=_keys_once)


def _read_batch(body: bytes, most: int) -> tuple[str, list[object]]:
    """The mechanism's name and the reports, which are not looked at yet."""
    content = read_json(body)
    if not isinstance(content, dict) or content.keys() != {"mechanism", "reports"}:
        raise Problem("invalid", 'A batch is {"mechanism": NAME, "reports": [...]}.')
    mechanism, reports = content["mechanism"], content["reports"]
    if not isinstance(mechanism, str):
        raise Problem("invalid", "The mechanism is given by its name.", more={"field": "mechanism"})
    if not isinstance(reports, list) or not 1 <= len(reports) <= most:
        raise Problem("invalid", f"A batch has 1 to {most:,} reports, in a list.", more={"field": "reports"})
    return mechanism, reports


def _expired() -> Problem:
    return Problem(
        "expired-key",
        f"Keys are taken for {KEPT} days. Whether this batch was counted is no longer known: do not send it again.",
    )
