"""Public answers that are encoded once: bytes with an ETag, sent in pieces as fast as they are read."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

#: Maximum number of bytes in the cache of encoded answers.
MAX_CACHED_BYTES = 64_000_000

#: Bytes passed to a connection at once, which bounds the memory that a client can hold by not reading.
PIECE_BYTES = 65_536


class EncodedAnswer(NamedTuple):
    """An encoded answer."""

    body: bytes
    media_type: str
    etag: str


def encode(body: bytes, media_type: str) -> EncodedAnswer:
    """Return an answer with the ETag of its bytes.

    >>> encode(b"{}", "application/json").etag
    '"44136fa355b3678a1146ad16f7e8649e"'
    """
    return EncodedAnswer(body, media_type, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


class PieceResponse(Response):
    """A response whose body goes out piece by piece."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        body = bytes(self.body)
        for start in range(0, max(1, len(body)), PIECE_BYTES):
            end = start + PIECE_BYTES
            await send({"type": "http.response.body", "body": body[start:end], "more_body": end < len(body)})


def respond(request: Request, answer: EncodedAnswer, headers: dict[str, str] | None = None) -> Response:
    """Return the response with an answer, or 304 if the client has it already."""
    all_headers = {"ETag": answer.etag, "Cache-Control": "no-cache", **(headers or {})}
    tags = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if answer.etag in tags or "*" in tags:
        return Response(status_code=304, headers=all_headers)
    return PieceResponse(answer.body, headers=all_headers, media_type=answer.media_type)


class EncodedAnswers:
    """A cache of answers by key; concurrent requests for the same key make it once.

    Parameters
    ----------
    max_bytes
        Maximum size of all answers together; the least recently used one is dropped first.
    """

    def __init__(self, max_bytes: int = MAX_CACHED_BYTES) -> None:
        self._max, self._bytes = max_bytes, 0
        self._cache: OrderedDict[tuple[str, ...], EncodedAnswer] = OrderedDict()
        self._under_way: dict[tuple[str, ...], asyncio.Task[EncodedAnswer]] = {}

    async def get(self, key: tuple[str, ...], make: Callable[[], EncodedAnswer]) -> EncodedAnswer:
        """Return the answer of a key; ``make`` works it out, in another thread."""
        if key in self._cache:
            self._cache.move_to_end(key)
            return self._cache[key]
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.create_task(self._make(key, make))
            task.add_done_callback(lambda future: future.cancelled() or future.exception())  # the client may have left
        return await asyncio.shield(task)

    async def _make(self, key: tuple[str, ...], make: Callable[[], EncodedAnswer]) -> EncodedAnswer:
        try:
            answer = await run_in_threadpool(make)
        finally:
            del self._under_way[key]
        self._cache[key] = answer
        self._bytes += len(answer.body)
        while self._bytes > self._max and len(self._cache) > 1:
            _, oldest = self._cache.popitem(last=False)
            self._bytes -= len(oldest.body)
        return answer
