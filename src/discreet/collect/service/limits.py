"""Limits: on requests per address, and on the time and size of a request.

Addresses are kept in memory only, and only while they send requests.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import lru_cache
from weakref import WeakKeyDictionary

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from ...system import max_open_files

#: Maximum number of bytes of a request before its body: its first line and its headers.
MAX_HEADER_BYTES = 32_768

#: Seconds within which a request must arrive with its body.
REQUEST_TIMEOUT_SECONDS = 20.0

#: Seconds a connection may leave an answer unread, beyond what the system buffers.
UNREAD_SECONDS = 20.0

#: Share of all connections that one address may have open. A trusted proxy carries those of many people.
ADDRESS_SHARE = 0.25

#: Maximum number of open connections, and their share of the files that the process may open.
MAX_CONNECTIONS, OPEN_FILES_SHARE = 2000, 0.5

#: Seconds' worth of requests that an address may make at once.
BURST_SECONDS = 10.0

#: Maximum number of remembered addresses; the least recent one is forgotten first.
MAX_ADDRESSES = 20_000


@lru_cache(maxsize=4096)
def address_group(address: str) -> str:
    """Return the group of an address for limits: an IPv4 address, or the /64 of an IPv6 one, which one line has.

    >>> address_group("2001:db8:1:2:3:4:5:6"), address_group("::ffff:192.0.2.7"), address_group("192.0.2.7")
    ('2001:db8:1:2::/64', '192.0.2.7', '192.0.2.7')
    """
    try:
        read = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(read, ipaddress.IPv4Address):
        return str(read)
    return str(read.ipv4_mapped or ipaddress.ip_network((read, 64), strict=False))


@lru_cache(maxsize=4096)
def is_trusted(address: str, proxies: str) -> bool:
    """Return whether an address is one of the proxies, by their addresses or networks, comma separated.

    >>> is_trusted("10.0.0.7", "127.0.0.1, 10.0.0.0/8"), is_trusted("192.0.2.7", "127.0.0.1")
    (True, False)
    """
    for one in proxies.split(","):
        try:
            if one.strip() in ("*", address) or ipaddress.ip_address(address) in ipaddress.ip_network(one.strip()):
                return True
        except ValueError:
            continue
    return False


class RateLimit:
    """A bucket of permits for each address, which fills steadily.

    A request takes one or more permits. It is allowed while the bucket has that many or is full; permits taken beyond
    that must be refilled before the next request.

    Parameters
    ----------
    per_second
        Permits per second; 0 for no limit.
    clock
        A clock in seconds.

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

    def wait(self, address: str, amount: int = 1) -> float:
        """Take permits; return 0 if there were enough, otherwise the seconds until there are."""
        if self._rate <= 0:
            return 0.0
        now = self._clock()
        permits, since = self._buckets.get(address, (self._most, now))
        permits = min(self._most, permits + (now - since) * self._rate)
        enough = min(amount, self._most)
        is_allowed = permits >= enough
        self._buckets[address] = (permits - amount if is_allowed else permits, now)
        self._buckets.move_to_end(address)
        if len(self._buckets) > MAX_ADDRESSES:
            self._buckets.popitem(last=False)
        return 0.0 if is_allowed else (enough - permits) / self._rate


#: Server -> number of open connections of each address.
_OPEN: WeakKeyDictionary[ServerState, Counter[str]] = WeakKeyDictionary()


class BoundedProtocol(HttpToolsProtocol):
    """The server's protocol with additional bounds: on headers, on time, and on connections.

    A request that has not completely arrived after :data:`REQUEST_TIMEOUT_SECONDS` is cut off, whether its headers or
    its body are slow, and so is a connection that sends nothing, and one that does not read its answer. Between
    requests the server's own limit holds.
    """

    _in_headers, _header_bytes, _began_now = True, 0, False
    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _group = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > max_connections() or not self._has_room():
            self._refuse(b"503 Service Unavailable", b"retry-after: 1\r\n")
            return
        self._deadline = self.loop.call_later(REQUEST_TIMEOUT_SECONDS, self._cut_off)

    def connection_lost(self, exc: Exception | None) -> None:
        self._keep()
        self._is_read()
        counts = _OPEN.get(self.server_state)
        if self._group and counts is not None:
            counts[self._group] -= 1
            if not counts[self._group]:
                del counts[self._group]
        super().connection_lost(exc)

    def _has_room(self) -> bool:
        """Count the connection, unless it is a trusted proxy's; return whether its address may have one more."""
        address = self.client[0] if self.client else ""
        if is_trusted(address, _as_text(self.config.forwarded_allow_ips)):
            return True
        self._group = address_group(address)
        counts = _OPEN.setdefault(self.server_state, Counter())
        counts[self._group] += 1
        return counts[self._group] <= max(1, int(max_connections() * ADDRESS_SHARE))

    # ---------------------------------------------------------------- answers that are not read

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(UNREAD_SECONDS, self._give_up)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._is_read()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.flow.write_paused:
            self._is_read()
            if self.transport.get_write_buffer_size():  # a small rest, also when the connection is closed
                self._unread = self.loop.call_later(UNREAD_SECONDS, self._give_up)

    def _is_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _give_up(self) -> None:
        self._unread = None
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    # ---------------------------------------------------------------- requests that do not arrive

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._began_now = False
        super().data_received(data)
        if self._in_headers and not self._began_now:  # headers that began before and go on
            self._header_bytes += len(data)
            if self._header_bytes > MAX_HEADER_BYTES and not self.transport.is_closing():
                self._refuse(b"431 Request Header Fields Too Large")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_headers, self._header_bytes, self._began_now = True, 0, True
        self._keep()
        self._deadline = self.loop.call_later(REQUEST_TIMEOUT_SECONDS, self._cut_off)

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
        if not answering:  # otherwise a partial answer is on its way
            self.transport.write(b"HTTP/1.1 %b\r\n%bcontent-length: 0\r\nconnection: close\r\n\r\n" % (status, header))
        self.transport.close()


def _as_text(addresses: list[str] | str | None) -> str:
    return ",".join(addresses) if isinstance(addresses, list) else addresses or ""


def max_connections() -> int:
    """Return the maximum number of open connections: a store needs files too."""
    files = max_open_files()
    return MAX_CONNECTIONS if files is None else min(MAX_CONNECTIONS, int(files * OPEN_FILES_SHARE))
