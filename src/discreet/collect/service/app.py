"""The service as an ASGI application."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TypeVar

from anyio import to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from ...databases.failures import StoreUnavailable
from ...errors import DiscreetError
from ..browser.routes import AnswerPage
from ..encoded import EncodedAnswer, encode, respond
from ..stores.base import ReportStore
from ..stores.open import report_store
from .answers import MAX_CACHED_COLLECTIONS, EstimateAnswers
from .group_commit import GroupCommit, Writer
from .ingest import PREFIX, SECURITY, SUFFIX, Ingest, check_rate_limit
from .limits import RateLimit
from .logs import LOGGER, log, start_logging
from .metrics import Metrics
from .openapi import DESCRIPTION, SCHEMAS, TITLE, as_report, reports_route
from .problems import MEDIA_TYPE, ApiError
from .registry import Registry
from .routes import PlainJson, Routes, json_bytes
from .serve import Settings
from .tokens import Tokens

T = TypeVar("T")

#: Seconds a worker waits at its start for an unreachable database.
STORE_TIMEOUT_SECONDS = 120.0

#: Seconds before traces of old batches are first deleted, and between deletions (of two days each at most). So the
#: horizon of keys reaches the current day only after two weeks with a wrong clock.
FORGET_KEYS_SECONDS = 20 * 3600.0

#: Number of threads that answer requests next to the event loop, which waits for its turn among them.
REQUEST_THREADS = 8

#: Requests for pages and their files that an address may make per other request: a page loads several files, and a
#: crowd behind one address loads many pages.
PAGE_RATIO = 10.0

#: Seconds between settlements of the store, and their maximum share of time. Until then the database can join a batch
#: with its reports.
SETTLE_SECONDS, SETTLE_SHARE = 10.0, 0.1

#: Seconds between estimates in advance for collections with new reports, their maximum share of time, and the longest
#: pause in seconds.
PREPARE_SECONDS, PREPARE_SHARE, MAX_REST_SECONDS = 1.0, 0.1, 10.0

#: Seconds without a report after which an estimate is made from all reports.
QUIET_SECONDS = 3.0

#: Seconds a thread keeps others waiting: estimates must not slow down requests.
THREAD_SWITCH_SECONDS = 0.001

#: The page for people has a style of its own, and nothing else.
_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"

_BY_STATUS = {404: "not-found", 405: "method-not-allowed", 400: "bad-request"}


class Service:
    """The ASGI application: a fast route of its own for reports, the framework for everything else.

    Parameters
    ----------
    settings
        The settings of the service.
    store
        The store of reports; by default the one in the settings. It is opened when the service starts.
    writer
        A factory of the batch writer; by default groups are committed to the store.
    clock
        A clock in seconds, for the age of estimates and the time since the last report.
    """

    def __init__(
        self,
        settings: Settings,
        store: ReportStore | None = None,
        writer: Callable[[], Writer] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings, self._clock = settings, clock
        self.store = report_store(settings.store) if store is None else store
        self.metrics = Metrics()
        self.registry, self._tokens = Registry(self.store), Tokens(self.store)
        self.answers = EstimateAnswers(self.store, self.metrics, clock)
        self._limit = RateLimit(settings.requests_per_second)
        self._page_limit = RateLimit(settings.requests_per_second * PAGE_RATIO)
        self._byte_limit = RateLimit(settings.bytes_per_second)
        self._make_writer = writer or (lambda: GroupCommit(self.store, settings.most_waiting, self.metrics))
        self._writer: Writer | None = None
        self._ingest: Ingest | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._ingest is not None and Ingest.takes(scope):
            try:
                await self._ingest(scope, receive, send)
            except Exception:
                LOGGER.exception("a batch failed")
                await _send(ApiError("error"), send)
            return
        if scope["type"] != "http":
            await self.framework(scope, receive, send)
            return
        try:
            check_rate_limit(self._page_limit if AnswerPage.takes(scope) else self._limit, scope)
        except ApiError as problem:
            await _send(problem, send)
            return
        await self.framework(scope, receive, self._secured(send))

    def _secured(self, send: Send) -> Send:
        """Add the security headers that an answer does not state itself."""

        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(one for one in SECURITY if one[0] not in names)]
                self.metrics.answered(message["status"])
            await send(message)

        return add

    # ---------------------------------------------------------------- the framework

    @cached_property
    def framework(self) -> FastAPI:
        """Everything but reports."""
        app = FastAPI(
            title=TITLE, description=DESCRIPTION, version="1", lifespan=self._lifespan, docs_url=None, redoc_url=None,
            default_response_class=PlainJson, openapi_url=None,
        )  # fmt: skip
        routes = Routes(
            self.settings, self.store, self.registry, self._tokens, self.answers, self.metrics,
            self._written_by, self._byte_limit,
        )  # fmt: skip
        app.include_router(routes.router())
        app.include_router(AnswerPage(routes.answer_page).router())
        app.add_api_route("/openapi.json", self._openapi, include_in_schema=False, response_class=Response)
        app.add_api_route("/docs", self._page, include_in_schema=False, response_class=Response)
        app.add_exception_handler(ApiError, _refuse)
        app.add_exception_handler(RequestValidationError, _refuse)
        app.add_exception_handler(HTTPException, _refuse)
        app.add_exception_handler(Exception, _fail)
        return app

    @cached_property
    def description(self) -> dict[str, object]:
        """The API as OpenAPI states it."""
        app = self.framework
        openapi: dict[str, dict[str, dict[str, object]]] = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        openapi["paths"][f"{PREFIX}{{name}}{SUFFIX}"] = {"post": reports_route(self.settings)}
        openapi.setdefault("components", {}).setdefault("schemas", {}).update(SCHEMAS)
        return dict(openapi)

    @cached_property
    def _pages(self) -> dict[str, EncodedAnswer]:
        """The description for programs, and the page about it."""
        paths = self.description["paths"]
        assert isinstance(paths, dict)
        return {
            "openapi": encode(json_bytes(self.description), PlainJson.media_type),
            "docs": encode(as_report(paths).page().encode(), "text/html; charset=utf-8"),
        }

    async def _openapi(self, request: Request) -> Response:
        return respond(request, self._pages["openapi"], {"Cache-Control": "no-store"})

    async def _page(self, request: Request) -> Response:
        headers = {"Content-Security-Policy": _PAGE_POLICY, "Cache-Control": "no-store"}
        return respond(request, self._pages["docs"], headers)

    # ---------------------------------------------------------------- from start to stop

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        sys.setswitchinterval(THREAD_SWITCH_SECONDS)
        gc.freeze()  # collecting garbage among all imports would stop every thread for a moment
        to_thread.current_default_thread_limiter().total_tokens = REQUEST_THREADS
        await self._open_store()
        await run_in_threadpool(lambda: self._pages)  # before the first request, and outside the event loop
        self._writer = self._make_writer()
        self._ingest = Ingest(
            self.settings, self.store, self.registry, self._tokens, self._writer, self._limit, self._byte_limit,
            self.metrics,
        )  # fmt: skip
        loops = (self._forget_keys(), self._settle(), self._prepare_answers(self._ingest))
        tasks = [asyncio.create_task(one) for one in loops]
        log("started", store=self.store.name)
        try:
            yield
        finally:
            for one in tasks:
                one.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.answers.close()
            await _log_failures("the parser did not end", run_in_threadpool(self._ingest.close))
            await _log_failures("the writer did not end", run_in_threadpool(self._writer.close))  # accepted batches
            await _log_failures("the store was not closed", run_in_threadpool(self.store.close))
            log("stopped")

    async def _open_store(self) -> None:
        """Open the store, waiting for an unreachable database: a failing worker would stop all workers."""
        end = time.monotonic() + STORE_TIMEOUT_SECONDS
        while True:
            try:
                await run_in_threadpool(self.store.open)
                days = await run_in_threadpool(self.store.key_days)
                if days.is_spoilt:
                    LOGGER.error("the store refuses reports: run discreet collect repair, or put the clock right")
                return
            except StoreUnavailable as problem:
                if not self.store.several_writers or time.monotonic() > end:
                    raise
                LOGGER.warning("the store cannot be reached yet", extra={"figures": {"why": str(problem)}})
            await asyncio.sleep(1)

    async def _forget_keys(self) -> None:
        while True:
            await asyncio.sleep(FORGET_KEYS_SECONDS)
            await _log_failures("old keys were not forgotten", run_in_threadpool(self.store.forget_keys))

    async def _settle(self) -> None:
        """Remove the database's own traces of batches, at the start and every few seconds."""
        while True:
            began = time.monotonic()
            await _log_failures("the store was not settled", run_in_threadpool(self.store.settle))
            await asyncio.sleep(max(SETTLE_SECONDS, (time.monotonic() - began) / SETTLE_SHARE))

    async def _prepare_answers(self, ingest: Ingest) -> None:
        """Compute estimates in advance: at the start, as reports come in, and after the last report."""
        names = await _log_failures("collections were not listed", run_in_threadpool(self.store.collection_names)) or []
        came = dict.fromkeys(names[:MAX_CACHED_COLLECTIONS], 0.0)  # collection -> when reports came in last
        retry_times: dict[str, float] = {}  # collection -> when it may be worked out again
        while True:
            began = self._clock()
            came |= dict.fromkeys(ingest.take_changed(), began)
            for name, last in [one for one in came.items() if began >= retry_times.get(one[0], 0.0)]:
                quiet, start = began - last >= QUIET_SECONDS, self._clock()
                await _log_failures("an estimate was not prepared", self._prepare_answer(name, quiet))
                end = self._clock()
                retry_times[name] = end + (end - start) / PREPARE_SHARE
                if quiet:
                    del came[name], retry_times[name]
            await asyncio.sleep(max(PREPARE_SECONDS, min(MAX_REST_SECONDS, (self._clock() - began) / PREPARE_SHARE)))

    async def _prepare_answer(self, name: str, all_reports: bool) -> None:
        active = await run_in_threadpool(self.registry.get, name)
        await self.answers.prepare(active, all_reports=all_reports)

    def _written_by(self) -> Writer:
        assert self._writer is not None  # requests come after the start
        return self._writer


async def _log_failures(failure: str, step: Awaitable[T]) -> T | None:
    """Run a step of background work; log a failure, so that the next step is not affected."""
    try:
        return await step
    except (DiscreetError, ApiError) as problem:
        LOGGER.warning(failure, extra={"figures": {"why": str(problem)}})
    except Exception:
        LOGGER.exception(failure)  # the log has its class and place, and not its message
    return None


async def _send(problem: ApiError, send: Send) -> None:
    body = problem.body()
    headers = [(name.lower().encode(), value.encode()) for name, value in problem.headers.items()]
    headers += [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode()), *SECURITY]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _refuse(_: Request, problem: Exception) -> Response:
    """Return a refusal of the framework as a problem, without repeating the input."""
    if isinstance(problem, RequestValidationError):
        fields = [str(part) for one in problem.errors()[:1] for part in one["loc"][1:]]
        problem = ApiError("invalid", problem.errors()[0]["msg"], more={"field": ".".join(fields)})
    elif isinstance(problem, HTTPException):
        kind = _BY_STATUS.get(problem.status_code, "bad-request" if problem.status_code < 500 else "error")
        problem = ApiError(kind, headers=dict(problem.headers or {}))
    assert isinstance(problem, ApiError)
    return Response(problem.body(), problem.status, problem.headers, MEDIA_TYPE)


async def _fail(_: Request, problem: Exception) -> Response:
    LOGGER.error("a request failed", exc_info=problem)
    return Response(ApiError("error").body(), 500, media_type=MEDIA_TYPE)


def from_environment() -> Service:
    """Return the service of a worker, with the settings in its environment."""
    start_logging()
    return Service(Settings.from_environment(os.environ))
