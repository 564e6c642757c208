"""Requests of a device: to the one service it was told of, over TLS, and nowhere else."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol
from urllib.parse import SplitResult, urlsplit

from ...errors import DiscreetError, InvalidInput

#: Hosts that need no TLS.
THIS_COMPUTER = ("127.0.0.1", "localhost", "::1")

#: Larger answers than this are not read.
MOST_BYTES = 50_000_000

#: Seconds to wait before the same is asked again, at least, and the longest that a service may ask to wait.
WAITS, LONGEST_WAIT = (0.2, 1.0, 3.0), 30.0

#: Statuses of a service that has no time now: the same request may succeed in a moment.
BUSY = (429, 503)


class Answer(NamedTuple):
    """What a service answered, and after how many seconds it wants to be asked again."""

    status: int
    body: bytes
    retry_after: float = 0.0


class ServiceUnreachable(DiscreetError):
    """A service that does not answer now. What waits to be sent is kept."""


class Refused(DiscreetError):
    """A service that refuses a request and would refuse it again."""


class Transport(Protocol):
    """Whoever carries requests."""

    def ask(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        """One request; :class:`ServiceUnreachable` if no answer came."""


class Http:
    """Requests over HTTP. Redirects are not followed: a report goes where the person agreed to send it.

    Parameters
    ----------
    seconds
        How long an answer is waited for.
    context
        Of TLS; by default the certificates that the system trusts.
    """

    def __init__(self, seconds: float = 30.0, context: ssl.SSLContext | None = None) -> None:
        self._seconds, self._context = seconds, context

    def ask(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        place = urlsplit(url)
        connection = self._connection(place)
        try:
            connection.request(method, place.path, body, dict(headers))
            with connection.getresponse() as response:  # also closed when it is cut off
                return Answer(response.status, response.read(MOST_BYTES), _seconds(response.getheader("Retry-After")))
        except (OSError, http.client.HTTPException):
            raise ServiceUnreachable("the service does not answer.", "Try again later; nothing is lost.") from None
        finally:
            connection.close()

    def _connection(self, place: SplitResult) -> http.client.HTTPConnection:
        assert place.hostname is not None
        if place.scheme == "http":
            return http.client.HTTPConnection(place.hostname, place.port, timeout=self._seconds)
        context = self._context or ssl.create_default_context()
        return http.client.HTTPSConnection(place.hostname, place.port, timeout=self._seconds, context=context)


def _seconds(text: str | None) -> float:
    """Return how long a service wants to be left alone; 0 if it does not say, or says it by a date."""
    return float(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 9 else 0.0


def ask_patiently(ask: Callable[[], Answer], sleep: Callable[[float], None]) -> Answer:
    """Ask until the service has time, a few times at most; as long apart as it says. Returns the last answer."""
    answer = ask()
    for wait in WAITS:
        if answer.status not in BUSY or answer.retry_after > LONGEST_WAIT:
            break
        sleep(max(wait, answer.retry_after))
        answer = ask()
    return answer


def refusal(answer: Answer) -> Refused:
    """Return the refusal of what was to be fetched, in words that say what happened."""
    if answer.status == 429:
        problem = "Too many requests came from your network at once"
    elif answer.status == 503:
        problem = "The service is busy, or is being started"
    elif answer.status == 404:
        return Refused("the service has no such collection.", "Look at its name and at the service's address.")
    elif answer.status in (401, 403):
        return Refused("the service wants a token that permits this.", "Ask whoever runs it for one.")
    else:
        return Refused(f"the service failed (status {answer.status}).", "Try again later; nothing was sent.")
    wait = f"{answer.retry_after:.0f} seconds" if answer.retry_after else "a minute"
    return Refused(f"{problem}.", f"Try again in {wait}; nothing is lost.")


def read_service(address: str) -> str:
    """The address of a service without its last slash.

    >>> read_service("https://survey.example/")
    'https://survey.example'
    >>> read_service("http://survey.example")
    Traceback (most recent call last):
    discreet.errors.InvalidInput: reports to another computer need TLS. Write https://survey.example.
    """
    place = urlsplit(address)
    if place.scheme not in ("http", "https") or not place.hostname or place.query or place.fragment or place.username:
        raise InvalidInput.must_be("service", "an address like https://survey.example", address)
    if place.scheme == "http" and place.hostname not in THIS_COMPUTER:
        raise InvalidInput(
            "reports to another computer need TLS.", f"Write https://{place.netloc}{place.path}.", argument="service"
        )
    return address.rstrip("/")
