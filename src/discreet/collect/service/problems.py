"""What the service refuses, as problem details (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import DiscreetError
from ...report import Json

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True)
class Kind:
    """A kind of problem: its HTTP status, and what it is in a few words."""

    status: int
    title: str


#: Every kind of problem the service states, by the end of its type.
KINDS: dict[str, Kind] = {
    "bad-request": Kind(400, "The request cannot be read"),
    "bad-key": Kind(400, "The idempotency key cannot be used"),
    "no-token": Kind(401, "A token is needed"),
    "not-permitted": Kind(403, "The token does not permit this"),
    "not-found": Kind(404, "There is nothing here"),
    "method-not-allowed": Kind(405, "This method is not offered here"),
    "name-taken": Kind(409, "Another collection has this name"),
    "key-of-another-batch": Kind(409, "The idempotency key belongs to another batch"),
    "too-few-reports": Kind(409, "There are too few reports for an estimate"),
    "not-tabular": Kind(409, "This mechanism has no table of integers"),
    "expired-key": Kind(410, "The idempotency key has expired"),
    "too-large": Kind(413, "The request is too large"),
    "not-json": Kind(415, "The body must be JSON"),
    "invalid": Kind(422, "The request cannot be used"),
    "too-many-requests": Kind(429, "Too many requests"),
    "error": Kind(500, "The service failed"),
    "unavailable": Kind(503, "The service cannot store reports now"),
    "busy": Kind(503, "The service is busy"),
}


class Problem(Exception):
    """A refusal.

    Parameters
    ----------
    kind
        One of :data:`KINDS`.
    detail
        What was wrong here, in a sentence. Never a report, a token or an address.
    headers
        Headers of the answer.
    more
        Further members of the problem.
    """

    def __init__(
        self,
        kind: str,
        detail: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Json] | None = None,
    ) -> None:
        super().__init__(detail or KINDS[kind].title)
        self.kind, self.detail, self.headers, self.more = kind, detail, dict(headers or {}), dict(more or {})

    @property
    def status(self) -> int:
        return KINDS[self.kind].status

    def body(self) -> bytes:
        """The problem as JSON.

        >>> Problem("expired-key", "The key is 20 days old.").body().decode()[:56]
        '{"type": "urn:discreet:problem:expired-key", "title": "T'
        """
        content: dict[str, Json] = {
            "type": f"urn:discreet:problem:{self.kind}",
            "title": KINDS[self.kind].title,
            "status": self.status,
        }
        if self.detail:
            content["detail"] = self.detail
        return json.dumps({**content, **self.more}).encode()


def busy(detail: str) -> Problem:
    """The store cannot be written now: the same batch may be sent again under its key."""
    return Problem("unavailable", detail, headers={"Retry-After": "1"})


def store_away() -> Problem:
    """The store cannot be reached now."""
    return busy("The store cannot be reached now. Try again.")


def invalid(problem: DiscreetError) -> Problem:
    """A refusal of the library: which field it is about and what to do."""
    said = problem.form_field(lambda mention: mention.name)
    more: dict[str, Json] = {"field": problem.argument} if problem.argument else {}
    return Problem("invalid", str(said["message"]), more=more)
