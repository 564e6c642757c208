"""The one route that must be fast: batches of reports.

It is parsed by hand, outside the framework that answers everything else; :mod:`.openapi` describes it. In order: the
rate of the address, the key, the rate of bytes, the body, the collection, the token if one is needed, every report, the
rate of reports. Nothing of a batch is stored unless all of it can be.

Bodies are parsed in a thread of their own (:mod:`.parsing`), so that the event loop never waits for one.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from ...databases.failures import StoreUnavailable
from ..collection import NAME
from ..keys import KEY_DAYS, read_key
from ..stores.base import Outcome, ReportStore
from .group_commit import Writer
from .limits import RateLimit, address_group
from .metrics import Metrics
from .parsing import BatchBody, Parser
from .problems import MEDIA_TYPE, ApiError, busy, store_away
from .registry import ActiveCollection, Registry
from .serve import Settings
from .tokens import Tokens, permits

Headers: TypeAlias = "list[tuple[bytes, bytes]]"

PREFIX, SUFFIX = "/v1/collections/", "/reports"

#: Headers of every answer. Answers are not pages: a browser must not run or frame their content.
SECURITY: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]

#: Statuses of batches that were counted, now or before.
_STATUS = {Outcome.STORED: 201, Outcome.REPEATED: 200}

_COLLECTION = re.compile(NAME)


class Ingest:
    """The route that takes batches of reports.

    Parameters
    ----------
    settings
        Limits of a batch.
    store, registry, tokens, writer, metrics
        The parts of the service.
    limit, byte_limit
        Rate limits of requests, and of bytes in them, per address.
    """

    def __init__(
        self,
        settings: Settings,
        store: ReportStore,
        registry: Registry,
        tokens: Tokens,
        writer: Writer,
        limit: RateLimit,
        byte_limit: RateLimit,
        metrics: Metrics,
    ) -> None:
        self._settings, self._store, self._registry, self._tokens = settings, store, registry, tokens
        self._writer, self._limit, self._byte_limit, self._metrics = writer, limit, byte_limit, metrics
        self._parser = Parser(settings.most_reports, settings.most_waiting)
        self._report_limit = RateLimit(settings.reports_per_second)
        self._changed_names: set[str] = set()

    @staticmethod
    def takes(scope: Scope) -> bool:
        """Return whether a request is for this route."""
        path: str = scope["path"]
        return scope["method"] == "POST" and path.startswith(PREFIX) and path.endswith(SUFFIX) and path.count("/") == 4

    def take_changed(self) -> list[str]:
        """Return the collections with new batches since the last call."""
        names, self._changed_names = sorted(self._changed_names), set()
        return names

    def close(self) -> None:
        """End the thread that parses."""
        self._parser.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            outcome, reports = await self._take(scope, receive)
        except (ApiError, StoreUnavailable) as problem:
            refusal = problem if isinstance(problem, ApiError) else store_away()
            headers = [(name.lower().encode(), value.encode()) for name, value in refusal.headers.items()]
            await self._answer(send, refusal.status, refusal.body(), MEDIA_TYPE.encode(), headers)
            return
        content = b'{"outcome": "%b", "reports": %d}' % (outcome.value.encode(), reports)
        await self._answer(send, _STATUS[outcome], content, b"application/json", [])

    async def _answer(self, send: Send, status: int, body: bytes, kind: bytes, headers: Headers) -> None:
        self._metrics.answered(status)
        all_headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *SECURITY, *headers]
        await send({"type": "http.response.start", "status": status, "headers": all_headers})
        await send({"type": "http.response.body", "body": body})

    async def _take(self, scope: Scope, receive: Receive) -> tuple[Outcome, int]:
        check_rate_limit(self._limit, scope)
        headers = dict(scope["headers"])
        if sum(name == b"idempotency-key" for name, _ in scope["headers"]) > 1:
            raise ApiError("bad-key", "Send one Idempotency-Key.")
        text = headers.get(b"idempotency-key", b"").decode("latin-1")
        key = read_key(text)
        if key is None:
            raise ApiError("bad-key", "Send Idempotency-Key: the day (UTC), a point and 32 random hexadecimal digits.")
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            raise ApiError("not-json", "Send Content-Type: application/json.")
        body = await read_body(scope, receive, self._settings.most_bytes, self._byte_limit)
        name: str = scope["path"][len(PREFIX) : -len(SUFFIX)]
        active = await self._active(name)
        if active.collection.reporting == "token":
            await self._refuse_unpermitted(headers, name)
        batch = await self._parser.submit(BatchBody(active, text, key, body))
        reports = len(batch.reports)
        check_rate_limit(self._report_limit, scope, reports)
        outcome = await self._writer.submit(batch)
        self._metrics.batch(outcome, reports)
        self._changed_names.add(name)
        if outcome is Outcome.CONFLICT:
            raise ApiError("key-of-another-batch", "Make a new key for each batch, and send a batch unchanged.")
        if outcome is Outcome.WRONG_DAY:
            raise await run_in_threadpool(self._wrong_day)
        if outcome is Outcome.POSTPONED:
            raise busy("The clock of this service was wrong, and is being repaired. Send the same batch again later.")
        if outcome is Outcome.EXPIRED:
            raise ApiError(
                "expired-key",
                f"Keys are valid for {KEY_DAYS} days. This batch may have been counted already: do not send it again.",
            )
        return outcome, reports

    def _wrong_day(self) -> ApiError:
        """Return the refusal of a key for its day, which states the day for a new one."""
        today = date.fromordinal(self._store.key_days().today).isoformat()
        return ApiError(
            "bad-key",
            f"This key was not counted and never will be: its day is too far from {today}. "
            "Send the same batch under a new key of that day.",
            more={"today": today},
        )

    async def _active(self, name: str) -> ActiveCollection:
        active = await self._registry.find_async(name) if _COLLECTION.fullmatch(name) else None
        if active is None:
            raise ApiError("not-found", "There is no collection of this name.")
        return active

    async def _refuse_unpermitted(self, headers: dict[bytes, bytes], name: str) -> None:
        text = bearer(headers)
        token = self._tokens.find_cached(text) or await run_in_threadpool(self._tokens.find, text)
        if token is None:
            raise no_token()
        if not permits(token, "report", name):
            raise ApiError("not-permitted", "This token does not permit reports to this collection.")


def check_rate_limit(limit: RateLimit, scope: Scope, amount: int = 1) -> None:
    """Refuse a request of an address that made too many, or sent too many bytes or reports."""
    client = scope.get("client")
    wait = limit.wait(address_group(client[0]) if client else "", amount)
    if wait:
        raise ApiError(
            "too-many-requests",
            "Too much came from this address at once. Wait, and send the same again.",
            headers={"Retry-After": str(int(wait) + 1)},
        )


def bearer(headers: dict[bytes, bytes]) -> str:
    """Return the token of a request, or an empty text."""
    scheme, _, text = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


def no_token() -> ApiError:
    return ApiError("no-token", "Send Authorization: Bearer TOKEN.", headers={"WWW-Authenticate": "Bearer"})


async def read_body(scope: Scope, receive: Receive, most: int, limit: RateLimit) -> bytes:
    """Return the body of a request; refuse it as soon as it is too long, or beyond the rate of its address.

    Every byte is charged before it is parsed: all at once where the request states their number.
    """
    header = dict(scope["headers"]).get(b"content-length")
    too_large = ApiError("too-large", f"A body may have {most:,} bytes.")
    if header is not None:
        if not header.isdigit() or len(header) > 12 or int(header) > most:
            raise too_large
        check_rate_limit(limit, scope, int(header))
    parts, length = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ApiError("bad-request", "The body is not complete.")
        part: bytes = message.get("body", b"")
        length += len(part)
        if length > most:
            raise too_large
        if header is None:
            check_rate_limit(limit, scope, len(part))
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts) if len(parts) > 1 else part
