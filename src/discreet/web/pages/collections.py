"""The pages of collections: what has come in, and the distribution behind it."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...collect.service.answers import EstimateAnswers
from ...collect.service.problems import Problem
from ...collect.service.registry import Registry, Served
from ...collect.stores.base import ReportStore
from ...errors import DiscreetError
from ..frame.answers import page, piece
from ..frame.rendering import refusal, render, report_body


class CollectionsPage:
    """``/collections``, ``/collections/NAME`` and its part that is brought up to date.

    Parameters
    ----------
    store, registry, answers
        Those of the service.
    """

    def __init__(self, store: ReportStore, registry: Registry, answers: EstimateAnswers) -> None:
        self._store, self._registry, self._answers = store, registry, answers

    def routes(self) -> list[Route]:
        return [
            Route("/collections", self.list),
            Route("/collections/{name}", self.page),
            Route("/collections/{name}/now", self.now),
        ]

    def list(self, request: Request) -> Response:
        """All of them, with how many reports each has."""
        entries = []
        for name in self._store.collection_names():
            served = self._registry.get(name)
            entries.append((served.collection, self._reports(served)))
        return page(
            request, "collections.html", title="Collections", eyebrow="Collections", here="/collections",
            entries=entries,
        )  # fmt: skip

    async def page(self, request: Request) -> Response:
        """One of them."""
        served = await self._served(request)
        if served is None:
            return page(
                request, "message.html", title="There is no such collection", eyebrow="Collections",
                here="/collections", status=404, lines=("`discreet collect create` makes one.",),
            )  # fmt: skip
        body, reports = await self._state(served)
        return page(
            request, "collection.html", title=served.collection.title, eyebrow=f"Collection {served.collection.name}",
            here="/collections", charts=True, collection=served.collection, body=body, reports=reports,
            guarantees=served.description["mechanisms"],
        )  # fmt: skip

    async def now(self, request: Request) -> Response:
        """What changed since so many reports; nothing where nothing did."""
        served = await self._served(request)
        if served is None:
            return Response(status_code=404)
        body, reports = await self._state(served)
        if str(reports) == request.query_params.get("since"):
            return Response(status_code=204)
        return piece("collection_now.html", collection=served.collection, body=body, reports=reports)

    async def _served(self, request: Request) -> Served | None:
        return await run_in_threadpool(self._registry.find, request.path_params["name"])

    def _reports(self, served: Served) -> int:
        return sum(sum(one.values()) for one in self._answers.counts(served).values())

    async def _state(self, served: Served) -> tuple[str, int]:
        """What the page shows of a collection as it stands, and the number of reports that it is about."""
        try:
            fit = await self._answers.fit(served)
        except Problem as problem:
            reports = await run_in_threadpool(self._reports, served)
            few = problem.kind == "too-few-reports"
            return render("collection_waiting.html", collection=served.collection, reports=reports, few=few), reports
        except DiscreetError as problem:
            return refusal(problem), -1
        return await run_in_threadpool(lambda: report_body(fit.report())), fit.people
