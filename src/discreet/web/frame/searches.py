"""Searches for a page: started, watched, cancelled, and their results kept."""

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

#: Maximum number of results kept, so that their files can be downloaded.
MAX_KEPT_RESULTS = 20

Fields = TypeVar("Fields")
Answer = TypeVar("Answer")


class Searches(Generic[Fields, Answer]):
    """The searches of one page.

    Parameters
    ----------
    jobs
        The jobs in which they run.
    path
        The path of their pieces.
    read_fields
        Reads the fields of an address.
    work
        The search, step by step.
    show
        Renders the result for some fields as a piece of the page.
    address
        Returns the address of the page with some fields.
    """

    def __init__(
        self, jobs: Jobs, path: str, read_fields: Callable[[QueryParams], Fields], work: Work,
        show: Callable[[Fields], str], address: Callable[[Fields], str],
    ) -> None:  # fmt: skip
        self._jobs, self._path, self._read_fields, self._work, self._show = jobs, path, read_fields, work, show
        self._address = address
        self._results: dict[Fields, Answer] = {}

    def routes(self) -> list[Route]:
        return [
            Route(self._path, self._start, methods=["POST"]),
            Route(f"{self._path}/{{name}}", self._watch),
            Route(f"{self._path}/{{name}}/cancel", self._cancel, methods=["POST"]),
        ]

    def get(self, fields: Fields) -> Answer | None:
        """Return the result for these fields, or None."""
        return self._results.get(fields)

    def _start(self, request: Request) -> Response:
        return self.begin(self._read_fields(request.query_params), request)

    def begin(self, fields: Fields, request: Request) -> Response:
        """Start the search for these fields, and return the piece that shows its progress."""
        try:
            return self._piece(self._jobs.start(self._work, fields, self._owner(request)))
        except DiscreetError as problem:
            return piece("as_it_is.html", content=refusal(problem))

    def _watch(self, request: Request) -> Response:
        return self._piece(self._jobs.find(request.path_params["name"], self._owner(request)))

    def _cancel(self, request: Request) -> Response:
        return self._piece(self._jobs.cancel(request.path_params["name"], self._owner(request)))

    def _owner(self, request: Request) -> str:
        return f"{self._path} {request.state.session.cookie}"

    def _piece(self, job: Job | None) -> Response:
        """Return a piece with the progress, the result or the error."""
        if job is None:
            problem = InvalidInput("this work is no longer known.", "Start again.")
            return piece("as_it_is.html", content=refusal(problem))
        if job.problem is not None:
            return piece("as_it_is.html", content=refusal(job.problem))
        if job.result is None:
            return piece("waiting.html", job=job, path=self._path)
        while len(self._results) >= MAX_KEPT_RESULTS:
            del self._results[next(iter(self._results))]
        self._results[job.fields] = job.result
        return piece("as_it_is.html", self._address(job.fields), content=self._show(job.fields))
