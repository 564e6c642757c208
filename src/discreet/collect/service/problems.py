"""Refusals of the service as problem details (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import DiscreetError
from ...report import Json

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True)
class ProblemKind:
    """A kind of problem: its HTTP status and its title."""

    status: int
    title: str


#: All kinds of problems, by the end of their type.
KINDS: dict[str, ProblemKind] = {
    "bad-request": ProblemKind(400, "The request cannot be read"),
    "bad-key": ProblemKind(400, "The idempotency key cannot be used"),
    "no-token": ProblemKind(401, "A token is needed"),
    "not-permitted": ProblemKind(403, "The token does not permit this"),
    "not-found": ProblemKind(404, "There is nothing here"),
    "method-not-allowed": ProblemKind(405, "This method is not offered here"),
    "name-taken": ProblemKind(409, "Another collection has this name"),
    "key-of-another-batch": ProblemKind(409, "The idempotency key belongs to another batch"),
    "too-few-reports": ProblemKind(409, "There are too few reports for an estimate"),
    "not-tabular": ProblemKind(409, "This mechanism has no table of integers"),
    "expired-key": ProblemKind(410, "The idempotency key has expired"),
    "too-large": ProblemKind(413, "The request is too large"),
    "not-json": ProblemKind(415, "The body must be JSON"),
    "invalid": ProblemKind(422, "The request cannot be used"),
    "too-many-requests": ProblemKind(429, "Too many requests"),
    "error": ProblemKind(500, "The service failed"),
    "unavailable": ProblemKind(503, "The service cannot store reports now"),
    "busy": ProblemKind(503, "The service is busy"),
}


class ApiError(Exception):
    """A refusal.

    Parameters
    ----------
    kind
        One of :data:`KINDS`.
    detail
        One sentence about this case. Never a report, a token or an address.
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
        """Return the problem as JSON.

        >>> ApiError("expired-key", "The key is 20 days old.").body().decode()[:56]
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


def busy(detail: str) -> ApiError:
    """Return the problem of a store that cannot be written now: the same batch may be sent again under its key."""
    return ApiError("unavailable", detail, headers={"Retry-After": "1"})


def store_away() -> ApiError:
    """Return the problem of a store that cannot be reached now."""
    return busy("The store cannot be reached now. Try again.")


def invalid(problem: DiscreetError) -> ApiError:
    """Return an error of the library as a problem: its field, and what to do."""
    message = problem.form_field(lambda mention: mention.name)
    more: dict[str, Json] = {"field": problem.argument} if problem.argument else {}
    return ApiError("invalid", str(message["message"]), more=more)
