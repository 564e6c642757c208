"""How much one address may ask, and how long and large a request may be.

Addresses are kept in memory alone, and only while they ask.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ...system import max_open_files

#: The most bytes of a request before its body: its first line and its headers.
MOST_HEADER_BYTES = 32_768

#: How long a request may take to arrive, with its body, in seconds.
ARRIVING = 20.0

#: How many connections are open at once, and the share of the files that the process may open.
MOST_CONNECTIONS, SHARE_OF_FILES = 2000, 0.5

#: How many seconds' worth of requests an address may make at once.
BURST_SECONDS = 10.0

#: How many addresses are remembered; the one that has not asked for longest is forgotten first.
MOST_ADDRESSES = 20_000


class RateLimit:
    """A bucket of permits for each address, which fills steadily.

    A request takes one permit, or as many as it says. It is allowed while the bucket has so many, or is full: what it
    takes beyond that has to come in before the next one is.

    Parameters
    ----------
    per_second
        How fast it fills; 0 for no limit.
    clock
        Seconds, from some moment on.

    Examples
    --------
    >>> limit = RateLimit(0.1, clock=lambda: 0.0)
    >>> limit.wait("a"), limit.wait("a"), limit.wait("b")
    (0.0, 10.0, 0.0)
    >>> limit = RateLimit(10, clock=lambda: 0.0)
    >>> limit.wait("a", 500), limit.wait("a", 1)
    (0.0, 40.1)
    """

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = per_second, clock
        self._most = max(1.0, per_second * BURST_SECONDS)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, address: str, wanted: int = 1) -> float:
        """Take permits; 0 if there were so many, otherwise how many seconds it takes until there are."""
        if self._rate <= 0:
            return 0.0
        now = self._clock()
        permits, since = self._buckets.get(address, (self._most, now))
        permits = min(self._most, permits + (now - since) * self._rate)
        enough = min(wanted, self._most)
        allowed = permits >= enough
        self._buckets[address] = (permits - wanted if allowed else permits, now)
        self._buckets.move_to_end(address)
        if len(self._buckets) > MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (enough - permits) / self._rate


class BoundedProtocol(HttpToolsProtocol):
    """The server's protocol, with bounds that it does not have: on headers, on time, and on connections.

    A request that has not arrived as a whole after :data:`ARRIVING` seconds is cut off, whether its headers or its body
    are slow, and so is a connection that asks nothing. Between requests the server's own limit holds.
    """

    _in_headers, _header_bytes, _began_now = True, 0, False
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            self._refuse(b"503 Service Unavailable", b"retry-after: 1\r\n")
            return
        self._deadline = self.loop.call_later(ARRIVING, self._cut_off)

    def connection_lost(self, exc: Exception | None) -> None:
        self._keep()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._began_now = False
        super().data_received(data)
        if self._in_headers and not self._began_now:  # headers that began before and go on
            self._header_bytes += len(data)
            if self._header_bytes > MOST_HEADER_BYTES and not self.transport.is_closing():
                self._refuse(b"431 Request Header Fields Too Large")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_headers, self._header_bytes, self._began_now = True, 0, True
        self._keep()
        self._deadline = self.loop.call_later(ARRIVING, self._cut_off)

    def on_headers_complete(self) -> None:
        self._in_headers = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._keep()
        super().on_message_complete()

    def _keep(self) -> None:
        """Let the connection live on."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _cut_off(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self._refuse(b"408 Request Timeout")

    def _refuse(self, status: bytes, header: bytes = b"") -> None:
        answering = self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        if not answering:  # otherwise half an answer is on its way
            self.transport.write(b"HTTP/1.1 %b\r\n%bcontent-length: 0\r\nconnection: close\r\n\r\n" % (status, header))
        self.transport.close()


def most_connections() -> int:
    """How many connections are open at once: a store needs files, too."""
    files = max_open_files()
    return MOST_CONNECTIONS if files is None else min(MOST_CONNECTIONS, int(files * SHARE_OF_FILES))
