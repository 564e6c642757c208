"""Everything but reports: collections, mechanisms, estimates, tokens, health and metrics."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from ...databases.failures import StoreUnavailable
from ...errors import DiscreetError, InvalidInput, InWords, Unsupported
from ...mechanism import Mechanism
from ...report import Json, stamped
from ..browser.assets import answer_page
from ..collection import NAME
from ..encoded import EncodedAnswer, EncodedAnswers, PieceResponse, encode, respond
from ..stores.base import ReportStore
from .answers import DEFAULT_LEVEL, EstimateAnswers
from .group_commit import Writer
from .ingest import no_token, read_body
from .limits import RateLimit
from .metrics import Metrics
from .openapi import json_body, problem_responses
from .parsing import read_json
from .problems import ApiError, invalid, store_away
from .registry import ActiveCollection, Registry
from .serve import Settings
from .tokens import Right, Tokens, new_token, permits

T = TypeVar("T")

#: Range of confidence levels that a request may choose.
MIN_LEVEL, MAX_LEVEL = 0.5, 0.999

#: Seconds for which the result of a write test of the store is trusted.
READY_SECONDS = 2.0

#: Maximum number of entries in a table that is sent.
MAX_TABLE_ENTRIES = 250_000

_BEARER = HTTPBearer(auto_error=False, scheme_name="token")
Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]
Name = Annotated[str, Path(pattern=f"^{NAME}$")]
Level = Annotated[float, Query(ge=MIN_LEVEL, le=MAX_LEVEL, description="Of the intervals: 0.95 for 95%.")]


class PlainJson(Response):
    """JSON in ASCII, so that an answer with any text can be sent."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return json_bytes(content)


def json_bytes(content: object) -> bytes:
    """Return an object as JSON in ASCII."""
    return json.dumps(content, separators=(",", ":")).encode()


@contextmanager
def as_problems() -> Iterator[None]:
    """Raise errors of the library as problems."""
    try:
        yield
    except StoreUnavailable:
        raise store_away() from None
    except DiscreetError as problem:
        raise invalid(problem) from None


def as_problem(step: Callable[[], T]) -> T:
    """Run a step, and raise errors of the library as problems."""
    with as_problems():
        return step()


class Routes:
    """The handlers of the routes."""

    def __init__(
        self,
        settings: Settings,
        store: ReportStore,
        registry: Registry,
        tokens: Tokens,
        answers: EstimateAnswers,
        metrics: Metrics,
        writer: Callable[[], Writer],
        byte_limit: RateLimit,
    ) -> None:
        self._settings, self._store, self._registry, self._tokens = settings, store, registry, tokens
        self._answers, self._metrics, self._writer, self._byte_limit = answers, metrics, writer, byte_limit
        self._encoded = EncodedAnswers()
        self._trial: tuple[float, asyncio.Task[None]] | None = None

    def router(self) -> APIRouter:
        router = APIRouter(default_response_class=PlainJson)
        add = router.add_api_route
        private = problem_responses("no-token", "not-permitted", "not-found", "invalid", "unavailable")
        public = problem_responses("not-found", "invalid", "unavailable")
        creation = problem_responses(
            "bad-request", "no-token", "not-permitted", "name-taken", "too-large", "invalid", "unavailable"
        )
        add(
            "/v1/collections/{name}", self.create, methods=["PUT"], status_code=201, tags=["collections"],
            summary="Make a collection", responses={200: {"description": "It had been made before"}, **creation},
            openapi_extra=json_body("NewCollection"),
        )  # fmt: skip
        add("/v1/collections", self.names, tags=["collections"], summary="List all collections", responses=private)
        add("/v1/collections/{name}", self.describe, tags=["collections"], summary="Read the public description",
            responses=public)  # fmt: skip
        add("/v1/collections/{name}/mechanisms/{mechanism}", self.mechanism, tags=["collections"],
            summary="Fetch a mechanism, with its certificate", responses=public)  # fmt: skip
        add("/v1/collections/{name}/mechanisms/{mechanism}/table", self.table, tags=["collections"],
            summary="Fetch the integers that devices sample from",
            responses={**public, **problem_responses("not-tabular")})  # fmt: skip
        add("/v1/collections/{name}/estimate", self.estimate, tags=["answers"],
            summary="Estimate the distribution, with intervals",
            responses={**private, **problem_responses("too-few-reports", "unavailable", "busy")})  # fmt: skip
        add("/v1/collections/{name}/counts", self.counts, tags=["answers"],
            summary="Export how often each report was made", responses=private)  # fmt: skip
        add("/v1/tokens", self.make_token, methods=["POST"], status_code=201, tags=["tokens"],
            summary="Make a token, shown once", responses=creation, openapi_extra=json_body("NewToken"))  # fmt: skip
        add("/v1/tokens/{token}", self.remove_token, methods=["DELETE"], status_code=204, tags=["tokens"],
            summary="Remove a token", responses=private, response_class=Response)  # fmt: skip
        add("/health", self.health, tags=["operation"], summary="Whether the service runs")
        add("/ready", self.ready, tags=["operation"], summary="Whether reports can be stored",
            responses=problem_responses("unavailable"))  # fmt: skip
        add("/metrics", self.metrics, tags=["operation"], summary="Figures for Prometheus", response_class=Response,
            responses={200: {"content": {"text/plain": {}}, "description": "Figures"},
                       **problem_responses("no-token", "not-permitted", "unavailable")})  # fmt: skip
        return router

    # ---------------------------------------------------------------- collections

    async def create(self, name: Name, request: Request, token: Credentials) -> Response:
        """Make a collection from a description with its mechanisms, each of which is proved again.

        Repeating the same description changes nothing; another one under the same name is refused.
        """
        await run_in_threadpool(self._permit, token, "manage", None)
        content = await self._body(request, self._settings.most_description_bytes)
        active, new = await run_in_threadpool(as_problem, lambda: self._registry.create(name, content))
        return await _encoded_response(active.description, 201 if new else 200)

    def names(self, token: Credentials) -> Response:
        """List the names of all collections."""
        self._permit(token, "manage", None)
        return PlainJson(stamped("collections", 1, {"names": as_problem(self._store.collection_names)}))

    async def describe(self, name: Name, request: Request) -> Response:
        """Return the question, the mechanisms, and their guarantees between any two values."""
        active = await self._active(name)
        return await self._public(request, (name,), lambda: json_bytes(active.description))

    async def mechanism(self, name: Name, mechanism: Name, request: Request) -> Response:
        """Return the mechanism as ``dc.load`` reads and proves it."""
        choice = await self._mechanism(name, mechanism)
        return await self._public(request, (name, mechanism), lambda: json_bytes(choice.to_json()))

    async def table(self, name: Name, mechanism: Name, request: Request) -> Response:
        """Return the weights of all reports for all true values, as exact integers: a palette, and positions in it.

        The chance of a report is its weight over the sum of its row.
        """
        choice = await self._mechanism(name, mechanism)
        return await self._public(request, (name, mechanism, "table"), lambda: json_bytes(_table(choice)))

    async def answer_page(self, name: str) -> EncodedAnswer:
        """Return the encoded page on which people answer."""
        active = await self._active(name)
        key = (name, "", "page")
        return await self._encoded.get(
            key, lambda: encode(answer_page(active.collection).encode(), "text/html; charset=utf-8")
        )

    async def _public(self, request: Request, key: tuple[str, ...], make: Callable[[], bytes]) -> Response:
        """Answer with public content, encoded once: a collection never changes."""
        answer = await self._encoded.get(key, lambda: encode(make(), PlainJson.media_type))
        return respond(request, answer)

    # ---------------------------------------------------------------- answers

    async def estimate(self, name: Name, token: Credentials, level: Level = DEFAULT_LEVEL) -> Response:
        """Estimate the distribution of true values behind the reports so far, and the effect of fake reports on it."""
        with as_problems():
            answer = await self._answers.answer(lambda: self._readable(name, token), level)
        return await _encoded_response(answer)

    def counts(self, name: Name, token: Credentials) -> Response:
        """Return for each mechanism the count of every report."""
        active = self._readable(name, token)
        counts = as_problem(lambda: self._answers.counts(active))
        mechanisms: dict[str, Json] = {}
        for mechanism, times in counts.items():
            value = active.collection.mechanisms[mechanism].outputs.value
            mechanisms[mechanism] = [[value(k), times[k]] for k in sorted(times)]
        return PlainJson(stamped("collected counts", 1, {"collection": name, "counts": mechanisms}))

    # ---------------------------------------------------------------- tokens

    async def make_token(self, request: Request, token: Credentials) -> Response:
        """Make a token for reading estimates or for reporting, in one collection or in all, or for managing all."""
        await run_in_threadpool(self._permit, token, "manage", None)
        text, name = await run_in_threadpool(self._new_token, await self._body(request, 10_000))
        return await _encoded_response(stamped("token", 1, {"name": name, "token": text}), 201)

    def _new_token(self, content: object) -> tuple[str, str]:
        def make() -> tuple[str, str]:
            if not isinstance(content, dict) or not content.keys() <= {"right", "collection"}:
                raise InvalidInput.must_be("a token", '{"right": ...}', InWords("something else"), argument="body")
            right, collection = content.get("right"), content.get("collection")
            if not isinstance(right, str):
                raise InvalidInput.must_be("right", "a text", right)
            if collection is not None and (
                not isinstance(collection, str) or not collection.isascii() or "\0" in collection
            ):
                raise InvalidInput.must_be("collection", "the name of a collection", InWords("something else"))
            text, record = new_token(right, collection)
            self._store.add_token(record)
            return text, record.name

        return as_problem(make)

    def remove_token(self, token: Annotated[str, Path(pattern="^[0-9a-f]{12}$")], bearer: Credentials) -> Response:
        """Remove a token, which stops working within ten seconds."""
        self._permit(bearer, "manage", None)
        if not as_problem(lambda: self._store.remove_token(token)):
            raise ApiError("not-found", "There is no token of this name.")
        return Response(status_code=204)

    # ---------------------------------------------------------------- operation

    async def health(self) -> dict[str, str]:
        """Confirm that the process answers."""
        return {"status": "running"}

    async def ready(self) -> dict[str, str]:
        """Confirm that the process answers and the store can be written, which is tried every few seconds at most."""
        now = time.monotonic()
        if self._trial is None or (self._trial[1].done() and now - self._trial[0] > READY_SECONDS):
            task = asyncio.create_task(run_in_threadpool(as_problem, self._store.check_writable))
            task.add_done_callback(lambda future: future.cancelled() or future.exception())  # the client may have left
            self._trial = now, task
        await asyncio.shield(self._trial[1])
        return {"status": "ready"}

    def metrics(self, token: Credentials) -> Response:
        """Return counters of this process, for a token that reads all collections: they reveal when people report."""
        self._permit(token, "read", None)
        return Response(self._metrics.text(self._writer().waiting), media_type="text/plain; version=0.0.4")

    # ---------------------------------------------------------------- what they share

    async def _active(self, name: str) -> ActiveCollection:
        with as_problems():
            active = await self._registry.find_async(name)
        if active is None:
            raise ApiError("not-found", "There is no collection of this name.")
        return active

    def _readable(self, name: str, token: HTTPAuthorizationCredentials | None) -> ActiveCollection:
        """Return the collection if the token may read its estimates and counts; not for the event loop."""
        self._permit(token, "read", name)
        return as_problem(lambda: self._registry.get(name))

    async def _mechanism(self, name: str, mechanism: str) -> Mechanism:
        mechanisms = (await self._active(name)).collection.mechanisms
        if mechanism not in mechanisms:
            raise ApiError("not-found", "The collection has no mechanism of this name.")
        return mechanisms[mechanism]

    def _permit(self, credentials: HTTPAuthorizationCredentials | None, right: Right, collection: str | None) -> None:
        """Refuse a request without a token that permits it."""
        text = "" if credentials is None else credentials.credentials
        token = as_problem(lambda: self._tokens.find(text)) if text else None
        if token is None:
            raise no_token()
        if not permits(token, right, collection):
            raise ApiError("not-permitted", "Ask for a token that does.")

    async def _body(self, request: Request, most: int) -> object:
        body = await read_body(request.scope, request.receive, most, self._byte_limit)
        return await run_in_threadpool(read_json, body)


async def _encoded_response(content: object, status: int = 200) -> Response:
    """Return the response with an object, encoded in another thread."""
    return PieceResponse(await run_in_threadpool(json_bytes, content), status, media_type=PlainJson.media_type)


def _table(mechanism: Mechanism) -> dict[str, Json]:
    """Return the integers that devices sample from."""
    refusal = ApiError("not-tabular", "It has too many values and reports, or its chances are not rational.")
    if (mechanism.inputs.size or 0) * (mechanism.outputs.size or 0) > MAX_TABLE_ENTRIES:
        raise refusal
    try:
        kernel = mechanism.kernel.table()
    except Unsupported:
        raise refusal from None
    spaces = {"inputs": mechanism.inputs.to_json(), "outputs": mechanism.outputs.to_json()}
    return stamped("sampling table", 1, {**spaces, **kernel.to_json()})
