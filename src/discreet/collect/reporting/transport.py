"""Requests of a device: to the one service it was told of, over TLS, and nowhere else."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from typing import NamedTuple, Protocol
from urllib.parse import SplitResult, urlsplit

from ...errors import DiscreetError, InvalidInput

#: Hosts that need no TLS.
THIS_COMPUTER = ("127.0.0.1", "localhost", "::1")

#: Larger answers than this are not read.
MOST_BYTES = 50_000_000


class Answer(NamedTuple):
    """What a service answered."""

    status: int
    body: bytes


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
            found = connection.getresponse()
            return Answer(found.status, found.read(MOST_BYTES))
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
