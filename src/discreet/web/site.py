"""The pages and the service under one address: the pages for the curator, the service for devices."""

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
from .frame.answers import page
from .frame.assets import asset
from .frame.guarding import Guard, Sessions
from .frame.jobs import Jobs
from .frame.links import Announcement
from .frame.rendering import field_name, render
from .frame.settings import PageSettings
from .pages.collections import CollectionsPage
from .pages.datasets import DatasetsPage
from .pages.designing import DesignPage
from .pages.ledgers import LedgersPage
from .pages.ptables import PTablePage
from .pages.release_data import AddressedData, AvailableData, DeclaredData
from .pages.releasing import ReleasePage
from .pages.tradeoff import TradeoffPage
from .pages.verifying import VerifyPage

#: Why a request is not answered -> a heading, and what to do.
REFUSED = {
    "no session": (
        "Open the link from the terminal",
        (
            "`discreet serve` printed a link that lets one browser in, or the name of the file that holds it.",
            "It works once; then there is a new one. A browser is let out after half an hour without use.",
        ),
    ),
    "another site": ("This was not sent by a page of this server", ("Open the page again, and try once more.",)),
    "another name": ("This server does not answer to that name", ("Use the address that `discreet serve` printed.",)),
    "too large": ("That is too large", ("At most 20 MB can be looked at here; the command line takes more.",)),
    "not found": ("There is no such page", ("The menu has them all.",)),
}

#: Why a link lets nobody in.
USED_LINK = "This link was used before, or is of an earlier start. Where discreet serve runs, there is a new one."

#: The first parts of the pages' paths; all others are the service's.
OWN = (
    "", "enter", "session", "log-out", "assets", "release", "design", "verify", "trade-off", "collections", "ledgers",
    "datasets",
)  # fmt: skip

#: What is shown without a session.
OPENED = ("/enter", "/session", "/assets/")


class Site:
    """The pages before a service: what is not a page is the service's.

    Parameters
    ----------
    service
        Answers all other paths.
    settings
        What the pages are started with.
    announce
        Is told each new one-time token.
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
        self._cookie = f"__Host-{cookie}" if self._secure else cookie  # which browsers take over TLS alone
        self._sessions = Sessions(announce, clock)
        self._jobs = Jobs()
        self._out = Path(settings.out)
        names = _by_name((*settings.data, *settings.datasets))
        self._datasets = {name: place for name, place in names.items() if place in settings.datasets}
        self._data = {name: place for name, place in names.items() if place not in self._datasets.values()}
        self._ledgers = _by_name(_all_ledgers(settings))
        self._dataset_pages = DatasetsPage(self._datasets)
        self._guarded = Guard(
            self._pages(), self._sessions, self._cookie, settings.hosts, settings.public_url, OPENED, _unattended,
            _refused,
        )  # fmt: skip

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            try:
                await self._service(scope, receive, send)
            finally:
                self._jobs.close()  # the server stops
            return
        first, last = scope["path"].split("/")[1:2], scope["path"].rpartition("/")[2]
        answers = first == ["collections"] and last == "answer"  # the page for everybody
        await (self._guarded if first and first[0] in OWN and not answers else self._service)(scope, receive, send)

    def _pages(self) -> Starlette:
        available: dict[str, AvailableData] = {name: DeclaredData(file) for name, file in self._datasets.items()}
        available |= {name: AddressedData(place, self._ledgers) for name, place in self._data.items()}
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
        return Starlette(routes=routes, exception_handlers={404: _missing, DiscreetError: _unable, Exception: _failed})

    def _home(self, request: Request) -> Response:
        datasets = self._dataset_pages.cards()
        return page(request, "home.html", title="Private counts", eyebrow="discreet", here="/", datasets=datasets)

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
    """Addresses by the names that pages show: those of the files, or all of it where two files have one name."""
    shown = {where: str(read_address(where)) for where in addresses}
    short = {where: name.rpartition("/")[2] or name for where, name in shown.items()}
    names = list(short.values())
    return {short[where] if names.count(short[where]) == 1 else shown[where]: where for where in shown}


def _all_ledgers(settings: PageSettings) -> list[str]:
    """Return the ledgers that were named, and those of the data sets, each once."""
    declared = (Declaration.open(file).ledger_address for file in settings.datasets)
    places: dict[str, str] = {}
    for place in (*settings.ledgers, *declared):
        if place is not None:
            places.setdefault(_whole_place(place), place)
    return list(places.values())


def _whole_place(ledger: str) -> str:
    """Return the address of a ledger as it is from anywhere."""
    address = read_address(ledger, "ledger")
    return str(address.path.resolve()) if address.in_files else ledger


def _entrance(_: Request) -> Response:
    return _refused(200, "no session")


def _unattended(path: str) -> bool:
    """Return whether an open page asks for this by itself: what brings a collection up to date."""
    return path.startswith("/collections/") and path.endswith("/now")


def _asset(request: Request) -> Response:
    found = asset(request.path_params["name"])
    if found is None:
        return Response(status_code=404)
    return Response(found.content, media_type=found.media_type, headers={"Cache-Control": "no-cache"})


def _missing(request: Request, _: Exception) -> Response:
    title, lines = REFUSED["not found"]
    return page(request, "message.html", title=title, eyebrow="discreet", here="", status=404, lines=lines)


def _unable(request: Request, problem: Exception) -> Response:
    """What the library refuses, where a page did not expect it."""
    assert isinstance(problem, DiscreetError)
    return _said(request, 409, "This cannot be shown", (problem.written(field_name),))


def _failed(request: Request, _: Exception) -> Response:
    """A mistake of the program: its words could quote what it was about, and are in the log alone, without them."""
    return _said(request, 500, "Something went wrong", ("This should not have happened; please report it.",))


def _said(request: Request, status: int, title: str, lines: tuple[str, ...]) -> Response:
    """A page that says so, or the piece of one where a piece was asked for."""
    if "hx-request" in request.headers:
        return HTMLResponse(render("refusal.html", message=" ".join((f"{title}.", *lines))), 200)
    return page(request, "message.html", title=title, eyebrow="discreet", here="", status=status, lines=lines)


def _refused(status: int, kind: str) -> Response:
    title, lines = REFUSED[kind]
    return HTMLResponse(render("enter.html", title=title, lines=lines), status)


def from_environment() -> Site:
    """The pages and the service, by the settings that they were handed."""
    pages = PageSettings.from_environment(os.environ)
    service = service_from_environment()

    return Site(service, pages, Announcement(pages), f"discreet_{service.settings.port}")
