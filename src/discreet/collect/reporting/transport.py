"""Requests of a device: to its one service, over TLS, and nowhere else."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol
from urllib.parse import SplitResult, urlsplit

from ...errors import DiscreetError, InvalidInput

#: Hosts that need no TLS.
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")

#: Maximum size of an answer in bytes.
MAX_ANSWER_BYTES = 50_000_000

#: Seconds to wait before each retry, and the longest wait that a service may request.
RETRY_SECONDS, MAX_RETRY_SECONDS = (0.2, 1.0, 3.0), 30.0

#: Statuses of a busy service: the same request may succeed in a moment.
BUSY_STATUSES = (429, 503)


class ServiceResponse(NamedTuple):
    """An answer of a service, and the seconds after which it wants a retry."""

    status: int
    body: bytes
    retry_after: float = 0.0


class ServiceUnreachable(DiscreetError):
    """A service that does not answer now. Waiting reports are kept."""


class Refused(DiscreetError):
    """A service that refuses a request and would refuse it again."""


class Transport(Protocol):
    """A carrier of requests."""

    def ask(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> ServiceResponse:
        """Send one request; raise :class:`ServiceUnreachable` if no answer came."""


class Http:
    """Requests over HTTP. Redirects are not followed: a report goes where the person agreed to send it.

    Parameters
    ----------
    seconds
        Seconds to wait for an answer.
    context
        The TLS context; by default the certificates that the system trusts.
    """

    def __init__(self, seconds: float = 30.0, context: ssl.SSLContext | None = None) -> None:
        self._seconds, self._context = seconds, context

    def ask(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> ServiceResponse:
        place = urlsplit(url)
        connection = self._connection(place)
        try:
            connection.request(method, place.path, body, dict(headers))
            with connection.getresponse() as response:  # also closed when it is cut off
                wait = _seconds(response.getheader("Retry-After"))
                return ServiceResponse(response.status, response.read(MAX_ANSWER_BYTES), wait)
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
    """Return the seconds for which a service wants no request; 0 without a number."""
    return float(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 9 else 0.0


def ask_patiently(ask: Callable[[], ServiceResponse], sleep: Callable[[float], None]) -> ServiceResponse:
    """Repeat a request to a busy service a few times, at the intervals it asks for; return the last answer."""
    answer = ask()
    for wait in RETRY_SECONDS:
        if answer.status not in BUSY_STATUSES or answer.retry_after > MAX_RETRY_SECONDS:
            break
        sleep(max(wait, answer.retry_after))
        answer = ask()
    return answer


def refusal(answer: ServiceResponse) -> Refused:
    """Return the error for a request that was not answered with content."""
    if answer.status == 429:
        problem = "Too many requests came from your network at once"
    elif answer.status == 503:
        problem = "The service is busy, or is being started"
    elif answer.status == 404:
        return Refused("the service has no such collection.", "Look at its name and at the service's address.")
    elif answer.status in (401, 403):
        return Refused("the service wants a token that permits this.", "Ask its operator for one.")
    else:
        return Refused(f"the service failed (status {answer.status}).", "Try again later; nothing was sent.")
    wait = f"{answer.retry_after:.0f} seconds" if answer.retry_after else "a minute"
    return Refused(f"{problem}.", f"Try again in {wait}; nothing is lost.")


def read_service(address: str) -> str:
    """Return the address of a service without its last slash.

    >>> read_service("https://survey.example/")
    'https://survey.example'
    >>> read_service("http://survey.example")
    Traceback (most recent call last):
    discreet.errors.InvalidInput: reports to another computer need TLS. Write https://survey.example.
    """
    place = urlsplit(address)
    if place.scheme not in ("http", "https") or not place.hostname or place.query or place.fragment or place.username:
        raise InvalidInput.must_be("service", "an address like https://survey.example", address)
    if place.scheme == "http" and place.hostname not in LOOPBACK_HOSTS:
        raise InvalidInput(
            "reports to another computer need TLS.", f"Write https://{place.netloc}{place.path}.", argument="service"
        )
    return address.rstrip("/")
