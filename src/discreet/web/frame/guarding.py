"""Who may see the pages, and what a request may be.

The link that ``discreet serve`` prints holds a one-time token after ``#``, which a browser keeps to itself: it is in no
request line, no log and no Referer. A script of the page posts it, and gets a session in a cookie that scripts cannot
read and other sites cannot send. Whoever uses the token ends it; the next one is printed on the terminal. A session
ends when its browser logs out, after a while without use, and after a day's work at the latest.

A request is answered only under a name this server was started for, so that no other name can be pointed at it. One
that changes something must come from a page of this server (Origin) and carry the session's own word, which no other
site knows. Behind a proxy that ends TLS, the public address is the one whose pages may do so. Bodies are bounded.
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

#: The header that carries a session's own word.
WORD_HEADER = "x-discreet-session"

#: Nothing but the pages' own files, whatever a label says.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

SECURITY = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}

#: The largest body of a request, in bytes: a bundle that is checked again may be this large.
MOST_BYTES = 20_000_000

#: So many browsers may be signed in; the one that signed in first leaves.
MOST_SESSIONS = 100

#: Seconds without use after which a session ends, and seconds after which it ends in any case.
IDLE_SECONDS, MAX_SESSION_SECONDS = 30 * 60.0, 12 * 3600.0

_SAFE = ("GET", "HEAD")


@dataclass
class Session:
    """A browser that was let in: what its cookie holds, the word its pages carry, when it began and was last used."""

    began: float
    used: float
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    word: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def is_over(self, now: float) -> bool:
        """Return whether it has ended; also where the clock was set back by so much that nobody can tell."""
        return abs(now - self.used) >= IDLE_SECONDS or abs(now - self.began) >= MAX_SESSION_SECONDS


class Sessions:
    """The one-time token, and the browsers that used one.

    Parameters
    ----------
    announce
        Is told each new token, to show the link that holds it.
    clock
        The time in seconds; it goes on while the computer sleeps.

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
        self._sessions: dict[str, Session] = {}
        self._token = ""
        self._renew()

    def _renew(self) -> None:
        token = secrets.token_urlsafe(32)
        self._announce(token)  # where this fails, the one before still lets somebody in
        self._token = token

    def enter(self, token: str) -> Session | None:
        """A new session for whoever knows the token, which ends with that; None for all others."""
        with self._lock:
            if not secrets.compare_digest(token.encode(), self._token.encode()):
                return None
            now = self._clock()
            session = Session(now, now)
            while len(self._sessions) >= MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            self._renew()
            self._sessions[session.cookie] = session
            return session

    def find(self, cookie: str, in_use: bool = True) -> Session | None:
        """Return the session of a cookie, or None if there is none any more.

        Parameters
        ----------
        cookie
            What the browser sent.
        in_use
            Whether somebody asked, and not a page by itself: only that keeps the session from ending.
        """
        with self._lock:
            session, now = self._sessions.get(cookie), self._clock()
            if session is None:
                return None
            if session.is_over(now):
                del self._sessions[cookie]
                return None
            if in_use:
                session.used = now
            return session

    def leave(self, session: Session) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(session.cookie, None)


class TooLarge(Exception):
    """A body above the bound."""


class Guard:
    """Lets through what may be answered; adds the security headers to every answer.

    Parameters
    ----------
    app
        The pages. The session is in the state of the request, as ``session``.
    sessions
        Who was let in.
    cookie
        The cookie's name; browsers share cookies among the ports of a computer.
    hosts
        The names, with ports, that this server answers to.
    public_url
        The address at which browsers see the pages, where a proxy stands before them: only its pages may change
        something. Without one, those of the name that was asked.
    opened
        What is shown without a session, by the beginning of its path.
    unattended
        Whether a page asks for a path by itself, from time to time.
    refused
        Makes the page for a request that is not answered, from a status and a kind.
    """

    def __init__(
        self, app: ASGIApp, sessions: Sessions, cookie: str, hosts: Iterable[str], public_url: str | None,
        opened: tuple[str, ...], unattended: Callable[[str], bool], refused: Callable[[int, str], Response],
    ) -> None:  # fmt: skip
        self._app, self._sessions, self._cookie = app, sessions, cookie
        self._hosts, self._public_url = frozenset(hosts), public_url
        self._opened, self._unattended, self._refused = opened, unattended, refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._judge(scope)
        if refusal is not None:
            await refusal(scope, receive, _secured(send))
            return
        try:
            await self._app(scope, _bounded(receive), _secured(send))
        except TooLarge:
            await self._refused(413, "too large")(scope, receive, _secured(send))

    def _judge(self, scope: Scope) -> Response | None:
        headers, method, path = Headers(scope=scope), scope["method"], scope["path"]
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return self._refused(421, "another name")
        if method not in (*_SAFE, "POST"):
            return self._refused(405, "not found")
        if method == "POST" and headers.get("origin", "").lower() != (self._public_url or f"http://{host}"):
            return self._refused(403, "another site")
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > MOST_BYTES:
            return self._refused(413, "too large")
        cookie = cookie_parser(headers.get("cookie", "")).get(self._cookie, "")
        session = self._sessions.find(cookie, in_use=not self._unattended(path))
        scope.setdefault("state", {})["session"] = session
        if path.startswith(self._opened):
            return None
        if session is None:
            refusal = self._refused(403, "no session")
            if "hx-request" in headers:  # what the page shows should not stay on the screen
                refusal.headers["HX-Redirect"] = "/enter"
            return refusal
        carried = headers.get(WORD_HEADER, "")
        if method == "POST" and not secrets.compare_digest(carried.encode(), session.word.encode()):
            return self._refused(403, "another site")
        return None


def _secured(send: Send) -> Send:
    """Adds the security headers that an answer does not state itself."""

    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            stated = {name.lower() for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in SECURITY.items() if name.encode() not in stated]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return add


def _bounded(receive: Receive) -> Receive:
    """Ends a body that is larger than it may be, whatever it said of itself."""
    total = 0

    async def take() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > MOST_BYTES:
            raise TooLarge
        return message

    return take
