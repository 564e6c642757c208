"""Sessions, and the checks that every request passes.

The link that ``discreet serve`` prints holds a one-time token after ``#``, which a browser does not send: it is in no
request line, log or Referer. A script of the page posts it, and gets a session in a cookie that scripts cannot
read and other sites cannot send. The first use ends the token, and the terminal prints the next one. A session
ends when its browser logs out, after half an hour without use, and after twelve hours at the latest.

The server answers only to the host names it was started for, so that no other name can be pointed at it. A request
that changes something must come from a page of this server (Origin) and carry the CSRF token of its session, which no
other site knows. Behind a proxy that ends TLS, only pages of the public address may send it. Bodies are bounded.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Lock

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: The header that carries the CSRF token of a session.
CSRF_HEADER = "x-discreet-session"

#: Content security policy: pages load only files of this server, even if a label holds markup.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

SECURITY_HEADERS = {
    b"content-security-policy": CONTENT_POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
    b"cache-control": b"no-store",
}

#: Largest body of a request, in bytes: enough for a bundle to verify.
MAX_BODY_BYTES = 20_000_000

#: Maximum number of sessions; a further one ends the oldest.
MAX_SESSIONS = 100

#: Seconds after which a session ends: without use, and in any case.
IDLE_SECONDS, MAX_SESSION_SECONDS = 30 * 60.0, 12 * 3600.0

_READING_METHODS = ("GET", "HEAD")


@dataclass
class BrowserSession:
    """A session of one browser: its cookie, the CSRF token of its pages, and when it started and was last used."""

    started_at: float
    used_at: float
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    csrf_token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def is_over(self, now: float) -> bool:
        """Return True if it has ended, or if the clock was set back too far to tell."""
        return abs(now - self.used_at) >= IDLE_SECONDS or abs(now - self.started_at) >= MAX_SESSION_SECONDS


class Sessions:
    """The one-time token, and the sessions that began with one.

    Parameters
    ----------
    announce
        Called with each new token, to show the link that holds it.
    clock
        The time in seconds; it continues while the computer sleeps.

    Examples
    --------
    >>> tokens = []
    >>> sessions = Sessions(tokens.append)
    >>> entered = sessions.enter(tokens[0])
    >>> sessions.enter(tokens[0]) is None, sessions.find(entered.cookie) == entered, len(tokens)
    (True, True, 2)
    """

    def __init__(self, announce: Callable[[str], None], clock: Callable[[], float] = time.time) -> None:
        self._announce, self._clock, self._lock = announce, clock, Lock()
        self._sessions: dict[str, BrowserSession] = {}
        self._token = ""
        self._renew()

    def _renew(self) -> None:
        token = secrets.token_urlsafe(32)
        self._announce(token)  # if this fails, the previous token stays valid
        self._token = token

    def enter(self, token: str) -> BrowserSession | None:
        """Start a session and end the token, or return None if ``token`` is not the valid one."""
        with self._lock:
            if not secrets.compare_digest(token.encode(), self._token.encode()):
                return None
            now = self._clock()
            session = BrowserSession(now, now)
            while len(self._sessions) >= MAX_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            self._renew()
            self._sessions[session.cookie] = session
            return session

    def find(self, cookie: str, in_use: bool = True) -> BrowserSession | None:
        """Return the session of a cookie, or None if it has ended.

        Parameters
        ----------
        cookie
            Its value as the browser sent it.
        in_use
            True if a person asked, not a page that polls; only that prolongs the session.
        """
        with self._lock:
            session, now = self._sessions.get(cookie), self._clock()
            if session is None:
                return None
            if session.is_over(now):
                del self._sessions[cookie]
                return None
            if in_use:
                session.used_at = now
            return session

    def leave(self, session: BrowserSession) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(session.cookie, None)


class BodyTooLarge(Exception):
    """A body that is too large."""


class Guard:
    """Middleware that refuses requests and adds the security headers to every response.

    Parameters
    ----------
    app
        The pages. They find the session in ``request.state.session``.
    sessions
        The sessions.
    cookie
        The name of the cookie; browsers share cookies among the ports of a computer.
    hosts
        The host names, with ports, that this server answers to.
    public_url
        The address at which browsers see the pages behind a proxy: only its pages may change something. Without one,
        pages under the requested host name may.
    public_prefixes
        Beginnings of the paths that need no session.
    is_polling
        Tells whether pages request a path by themselves, from time to time.
    refusal
        Makes the page of a refused request, from a status and a kind.
    """

    def __init__(
        self, app: ASGIApp, sessions: Sessions, cookie: str, hosts: Iterable[str], public_url: str | None,
        public_prefixes: tuple[str, ...], is_polling: Callable[[str], bool], refusal: Callable[[int, str], Response],
    ) -> None:  # fmt: skip
        self._app, self._sessions, self._cookie = app, sessions, cookie
        self._hosts, self._public_url = frozenset(hosts), public_url
        self._public_prefixes, self._is_polling, self._refusal = public_prefixes, is_polling, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._find_refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, _add_headers(send))
            return
        try:
            await self._app(scope, _limit_body(receive), _add_headers(send))
        except BodyTooLarge:
            await self._refusal(413, "too large")(scope, receive, _add_headers(send))

    def _find_refusal(self, scope: Scope) -> Response | None:
        headers, method, path = Headers(scope=scope), scope["method"], scope["path"]
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return self._refusal(421, "another name")
        if method not in (*_READING_METHODS, "POST"):
            return self._refusal(405, "not found")
        if method == "POST" and headers.get("origin", "").lower() != (self._public_url or f"http://{host}"):
            return self._refusal(403, "another site")
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > MAX_BODY_BYTES:
            return self._refusal(413, "too large")
        cookie = cookie_parser(headers.get("cookie", "")).get(self._cookie, "")
        session = self._sessions.find(cookie, in_use=not self._is_polling(path))
        scope.setdefault("state", {})["session"] = session
        if path.startswith(self._public_prefixes):
            return None
        if session is None:
            refusal = self._refusal(403, "no session")
            if "hx-request" in headers:  # so that no content stays on the screen
                refusal.headers["HX-Redirect"] = "/enter"
            return refusal
        token = headers.get(CSRF_HEADER, "")
        if method == "POST" and not secrets.compare_digest(token.encode(), session.csrf_token.encode()):
            return self._refusal(403, "another site")
        return None


def _add_headers(send: Send) -> Send:
    """Add the security headers that a response does not have."""

    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            missing = [header for header in SECURITY_HEADERS.items() if header[0] not in present]
            message = {**message, "headers": [*message["headers"], *missing]}
        await send(message)

    return add


def _limit_body(receive: Receive) -> Receive:
    """Refuse a body that is too large, even if its header states a smaller length."""
    total = 0

    async def take() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > MAX_BODY_BYTES:
            raise BodyTooLarge
        return message

    return take
