"""The pages of collections: the number of reports, and the distribution estimated from them."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...collect.service.answers import EstimateAnswers
from ...collect.service.problems import ApiError
from ...collect.service.registry import ActiveCollection, Registry
from ...collect.stores.base import ReportStore
from ...errors import DiscreetError
from ..frame.answers import page, piece
from ..frame.rendering import refusal, render, report_body


class CollectionsPage:
    """``/collections``, ``/collections/NAME`` and the part of it that is refreshed.

    Parameters
    ----------
    store, registry, answers
        The store, registry and answers of the service.
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
        """List all collections with their numbers of reports."""
        entries = []
        for name in self._store.collection_names():
            active = self._registry.get(name)
            entries.append((active.collection, self._reports(active)))
        return page(
            request, "collections.html", title="Collections", eyebrow="Collections", tab="/collections",
            entries=entries,
        )  # fmt: skip

    async def page(self, request: Request) -> Response:
        """Show a collection."""
        active = await self._find(request)
        if active is None:
            return page(
                request, "message.html", title="There is no such collection", eyebrow="Collections",
                tab="/collections", status=404, lines=("`discreet collect create` makes one.",),
            )  # fmt: skip
        body, reports = await self._content(active)
        return page(
            request, "collection.html", title=active.collection.title, eyebrow=f"Collection {active.collection.name}",
            tab="/collections", charts=True, collection=active.collection, body=body, reports=reports,
            guarantees=active.description["mechanisms"],
        )  # fmt: skip

    async def now(self, request: Request) -> Response:
        """Return the current state, or nothing if there are as many reports as ``since`` says."""
        active = await self._find(request)
        if active is None:
            return Response(status_code=404)
        body, reports = await self._content(active)
        if str(reports) == request.query_params.get("since"):
            return Response(status_code=204)
        return piece("collection_now.html", collection=active.collection, body=body, reports=reports)

    async def _find(self, request: Request) -> ActiveCollection | None:
        return await run_in_threadpool(self._registry.find, request.path_params["name"])

    def _reports(self, active: ActiveCollection) -> int:
        return sum(sum(one.values()) for one in self._answers.counts(active).values())

    async def _content(self, active: ActiveCollection) -> tuple[str, int]:
        """Return the current content of a collection's page, and the number of reports it is from."""
        try:
            fit = await self._answers.fit(active)
        except ApiError as problem:
            reports = await run_in_threadpool(self._reports, active)
            few = problem.kind == "too-few-reports"
            return render("collection_waiting.html", collection=active.collection, reports=reports, few=few), reports
        except DiscreetError as problem:
            return refusal(problem), -1
        return await run_in_threadpool(lambda: report_body(fit.report())), fit.people
