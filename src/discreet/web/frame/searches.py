"""What is looked for beside a page: started, watched, cancelled, and kept once it was found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...errors import DiscreetError, InvalidInput
from .answers import piece
from .jobs import Job, Jobs, Work
from .rendering import refusal

#: So many answers are kept, so that their files can be downloaded.
MOST_FOUND = 20

Fields = TypeVar("Fields")
Found = TypeVar("Found")


class Searches(Generic[Fields, Found]):
    """Searches for what the fields of a page ask for.

    Parameters
    ----------
    jobs
        Where they run.
    at
        The path of their pieces.
    read
        The fields that an address holds.
    work
        The search, step by step.
    shown
        What was found for some fields, as a piece of the page.
    address
        The address of the page with these fields.
    """

    def __init__(
        self, jobs: Jobs, at: str, read: Callable[[QueryParams], Fields], work: Work,
        shown: Callable[[Fields], str], address: Callable[[Fields], str],
    ) -> None:  # fmt: skip
        self._jobs, self._at, self._read, self._work, self._shown = jobs, at, read, work, shown
        self._address = address
        self._found: dict[Fields, Found] = {}

    def routes(self) -> list[Route]:
        return [
            Route(self._at, self._start, methods=["POST"]),
            Route(f"{self._at}/{{name}}", self._watch),
            Route(f"{self._at}/{{name}}/cancel", self._cancel, methods=["POST"]),
        ]

    def get(self, fields: Fields) -> Found | None:
        """What was found for these fields, if it was."""
        return self._found.get(fields)

    def _start(self, request: Request) -> Response:
        return self.begin(self._read(request.query_params), request)

    def begin(self, fields: Fields, request: Request) -> Response:
        """Look for what these fields ask for; gives the piece that shows how far it is."""
        try:
            return self._piece(self._jobs.start(self._work, fields, self._owner(request)))
        except DiscreetError as problem:
            return piece("as_it_is.html", content=refusal(problem))

    def _watch(self, request: Request) -> Response:
        return self._piece(self._jobs.find(request.path_params["name"], self._owner(request)))

    def _cancel(self, request: Request) -> Response:
        return self._piece(self._jobs.cancel(request.path_params["name"], self._owner(request)))

    def _owner(self, request: Request) -> str:
        return f"{self._at} {request.state.session.cookie}"

    def _piece(self, job: Job | None) -> Response:
        """How far it is, or what was found."""
        if job is None:
            forgotten = InvalidInput("this work is no longer known.", "Start again.")
            return piece("as_it_is.html", content=refusal(forgotten))
        if job.problem is not None:
            return piece("as_it_is.html", content=refusal(job.problem))
        if job.found is None:
            return piece("waiting.html", job=job, at=self._at)
        while len(self._found) >= MOST_FOUND:
            del self._found[next(iter(self._found))]
        self._found[job.asked] = job.found
        return piece("as_it_is.html", self._address(job.asked), content=self._shown(job.asked))
