"""The pages (for the curator) and the service (for devices) under one address."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ..addresses import read_address
from ..collect.service.app import Service
from ..collect.service.app import from_environment as service_from_environment
from ..datasets.declaration import Declaration
from ..errors import DiscreetError
from .frame.access import Guard, Sessions
from .frame.answers import page
from .frame.assets import asset
from .frame.jobs import Jobs
from .frame.links import Announcement
from .frame.rendering import field_name, render
from .frame.settings import PageSettings
from .pages.collections import CollectionsPage
from .pages.datasets import DatasetsPage
from .pages.design import DesignPage
from .pages.ledgers import LedgersPage
from .pages.ptables import PTablePage
from .pages.release import ReleasePage
from .pages.release_data import AddressedData, AvailableData, DeclaredData
from .pages.tradeoff import TradeoffPage
from .pages.verify import VerifyPage

#: Reason for a refusal -> heading, and advice.
REFUSALS = {
    "no session": (
        "Open the link from the terminal",
        (
            "`discreet serve` printed a link that lets one browser in, or the name of the file that holds it.",
            "It works once; then there is a new one. A session ends after half an hour without use.",
        ),
    ),
    "another site": ("This was not sent by a page of this server", ("Open the page again, and try once more.",)),
    "another name": ("This server does not answer to that name", ("Use the address that `discreet serve` printed.",)),
    "too large": ("That is too large", ("Pages accept at most 20 MB; the command line accepts more.",)),
    "not found": ("There is no such page", ("The menu has them all.",)),
}

#: The answer to a token that is not valid.
USED_LINK = "This link was already used, or the server has restarted. The terminal of `discreet serve` shows a new one."

#: First segments of the paths of pages; all other paths belong to the service.
PAGE_SEGMENTS = (
    "", "enter", "session", "log-out", "assets", "release", "design", "verify", "trade-off", "collections", "ledgers",
    "datasets",
)  # fmt: skip

#: Beginnings of the paths that need no session.
PUBLIC_PREFIXES = ("/enter", "/session", "/assets/")


class Site:
    """The pages in front of a service.

    Parameters
    ----------
    service
        Answers all other paths.
    settings
        The settings of the pages.
    announce
        Called with each new one-time token.
    cookie
        The name of the session's cookie.
    clock
        The time in seconds, by which sessions end.
    """

    def __init__(
        self, service: Service, settings: PageSettings, announce: Callable[[str], None], cookie: str = "discreet",
        clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self._service, self._secure = service, settings.public_url is not None
        self._cookie = f"__Host-{cookie}" if self._secure else cookie  # a prefix that browsers accept only over TLS
        self._sessions = Sessions(announce, clock)
        self._jobs = Jobs()
        self._out = Path(settings.out)
        names = _by_name((*settings.data, *settings.datasets))
        self._datasets = {name: address for name, address in names.items() if address in settings.datasets}
        self._data = {name: address for name, address in names.items() if address not in self._datasets.values()}
        self._ledgers = _by_name(_all_ledgers(settings))
        self._dataset_pages = DatasetsPage(self._datasets)
        self._guard = Guard(
            self._pages(), self._sessions, self._cookie, settings.hosts, settings.public_url, PUBLIC_PREFIXES,
            _is_polling, _refusal,
        )  # fmt: skip

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            try:
                await self._service(scope, receive, send)
            finally:
                self._jobs.close()  # the server stops
            return
        first, last = scope["path"].split("/")[1:2], scope["path"].rpartition("/")[2]
        is_public = first == ["collections"] and last == "answer"  # open to everybody
        is_page = first and first[0] in PAGE_SEGMENTS and not is_public
        await (self._guard if is_page else self._service)(scope, receive, send)

    def _pages(self) -> Starlette:
        available: dict[str, AvailableData] = {name: DeclaredData(file) for name, file in self._datasets.items()}
        available |= {name: AddressedData(address, self._ledgers) for name, address in self._data.items()}
        routes = [
            Route("/", self._home),
            Route("/enter", _entrance),
            Route("/session", self._enter, methods=["POST"]),
            Route("/log-out", self._log_out, methods=["POST"]),
            Route("/assets/{name:path}", _asset),
            *ReleasePage(available, self._ledgers, self._out).routes(),
            *self._dataset_pages.routes(),
            *PTablePage(self._jobs).routes(),
            *DesignPage(self._jobs).routes(),
            *VerifyPage(self._jobs, self._ledgers).routes(),
            *TradeoffPage().routes(),
            *LedgersPage(self._ledgers).routes(),
            *CollectionsPage(self._service.store, self._service.registry, self._service.answers).routes(),
        ]
        handlers = {404: _not_found, DiscreetError: _refuse, Exception: _fail}
        return Starlette(routes=routes, exception_handlers=handlers)

    def _home(self, request: Request) -> Response:
        datasets = self._dataset_pages.cards()
        return page(request, "home.html", title="Private counts", eyebrow="discreet", tab="/", datasets=datasets)

    async def _enter(self, request: Request) -> Response:
        token = (await request.body())[:200].decode("ascii", "replace")
        session = self._sessions.enter(token)
        if session is None:
            return PlainTextResponse(USED_LINK, 403)
        answer = Response(status_code=204)
        answer.set_cookie(self._cookie, session.cookie, httponly=True, samesite="strict", path="/", secure=self._secure)
        return answer

    def _log_out(self, request: Request) -> Response:
        self._sessions.leave(request.state.session)
        answer = Response(status_code=204, headers={"HX-Redirect": "/enter"})
        answer.delete_cookie(self._cookie, httponly=True, samesite="strict", path="/", secure=self._secure)
        return answer


def _by_name(addresses: Iterable[str]) -> dict[str, str]:
    """Name addresses for pages: by the name of the file, or by the whole address if two files share a name."""
    full = {address: str(read_address(address)) for address in addresses}
    short = {address: name.rpartition("/")[2] or name for address, name in full.items()}
    names = list(short.values())
    return {short[address] if names.count(short[address]) == 1 else full[address]: address for address in full}


def _all_ledgers(settings: PageSettings) -> list[str]:
    """Return the ledgers of the settings and those of the datasets, each once."""
    declared = (Declaration.open(file).ledger_address for file in settings.datasets)
    places: dict[str, str] = {}
    for address in (*settings.ledgers, *declared):
        if address is not None:
            places.setdefault(_whole_place(address), address)
    return list(places.values())


def _whole_place(ledger: str) -> str:
    """Return the absolute address of a ledger."""
    address = read_address(ledger, "ledger")
    return str(address.path.resolve()) if address.in_files else ledger


def _entrance(_: Request) -> Response:
    return _refusal(200, "no session")


def _is_polling(path: str) -> bool:
    """Return True if an open page requests this path by itself, to bring a collection up to date."""
    return path.startswith("/collections/") and path.endswith("/now")


def _asset(request: Request) -> Response:
    file = asset(request.path_params["name"])
    if file is None:
        return Response(status_code=404)
    return Response(file.content, media_type=file.media_type, headers={"Cache-Control": "no-cache"})


def _not_found(request: Request, _: Exception) -> Response:
    title, lines = REFUSALS["not found"]
    return page(request, "message.html", title=title, eyebrow="discreet", tab="", status=404, lines=lines)


def _refuse(request: Request, problem: Exception) -> Response:
    """Show an error of the library that a page did not expect."""
    assert isinstance(problem, DiscreetError)
    return _message(request, 409, "This cannot be shown", (problem.written(field_name),))


def _fail(request: Request, _: Exception) -> Response:
    """Report a bug of the program without its message, which could quote data."""
    return _message(request, 500, "Something went wrong", ("This should not have happened; please report it.",))


def _message(request: Request, status: int, title: str, lines: tuple[str, ...]) -> Response:
    """Return a page with a message, or a piece if htmx asked for one."""
    if "hx-request" in request.headers:
        return HTMLResponse(
            render("refusal.html", message=" ".join((f"{title}.", *lines)), field="", is_incomplete=False), 200
        )
    return page(request, "message.html", title=title, eyebrow="discreet", tab="", status=status, lines=lines)


def _refusal(status: int, kind: str) -> Response:
    title, lines = REFUSALS[kind]
    return HTMLResponse(render("enter.html", title=title, lines=lines), status)


def from_environment() -> Site:
    """Return the pages and the service, with the settings in the environment."""
    pages = PageSettings.from_environment(os.environ)
    service = service_from_environment()

    return Site(service, pages, Announcement(pages), f"discreet_{service.settings.port}")
