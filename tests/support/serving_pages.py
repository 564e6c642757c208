"""The pages of the tests' own: a real process with data and a ledger, entered by the link that it prints."""

from __future__ import annotations

import asyncio
import html
import re
import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import discreet as dc
from discreet.web.frame.settings import PageSettings
from discreet.web.site import Site
from support.running_service import Answer, RunningService, make_token

#: Names that would run as a script, or break out of their place, if they were not escaped.
HOSTILE = ['<img src=x onerror="alert(1)">', '"><script>alert(2)</script>', "{{ 7 * 7 }}", "javascript:alert(3)"]


#: A number of the three sites of the visits (137, 89 and 85 people), or of all people in them.
_TRUE_COUNT = re.compile(r"(?<![\d.#])(137|89|85|311)(?![\d%])")


def true_counts(body: str, folder: Path) -> list[str]:
    """Return the true counts of the visits that a page shows; the folder's name, tokens and charts are not read."""
    without_head = re.sub(r"(?s)<head>.*?</head>", "", body.replace(str(folder), ""))
    return _TRUE_COUNT.findall(re.sub(r'data-chart="[^"]*"|data-chart=\S.*', "", without_head))


#: The declaration of a data set like that of the visits.
CLINIC = """format = "discreet dataset"
dataset = "clinic"
unit = "person"
unit_name = "person"
ledger = "clinic.ledger"

[tables.clinic]
data = "clinic.csv"

[columns]
site = "1..3"
"""


@dataclass(frozen=True)
class Entered:
    """A browser without a browser: the cookie it was given, and the word that its pages carry."""

    cookie: str
    word: str


class RunningPages(RunningService):
    """``discreet serve`` with data and a ledger."""

    folder: Path
    token: str

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def link(self) -> str:
        """Return the link that lets the next browser in."""
        return Path(f"{self.store}.link").read_text("ascii").strip()

    def enter(self) -> Entered:
        """Use the link."""
        answer = self.ask("POST", "/session", self.link().partition("#token=")[2].encode(), headers=self.here())
        assert answer.status == 204
        cookie = answer.headers["set-cookie"].partition(";")[0]
        page = self.ask("GET", "/", headers={"Cookie": cookie})
        return Entered(cookie, re.findall(r'name="discreet-word" content="([^"]+)"', page.body.decode())[0])

    def here(self) -> dict[str, str]:
        return {"Origin": self.origin}

    def look(self, who: Entered, path: str) -> Answer:
        return self.ask("GET", path, headers={"Cookie": who.cookie})

    def post(self, who: Entered, path: str, fields: list[tuple[str, str]] | None = None) -> Answer:
        body = urllib.parse.urlencode(fields or []).encode()
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        headers = {"Cookie": who.cookie, "X-Discreet-Session": who.word, **self.here(), **kind}
        return self.ask("POST", path, body, headers=headers)


def start_pages(folder: Path) -> RunningPages:
    """The pages over a small table of visits, one of hostile names, a ledger each, and a declared data set."""
    hostile = HOSTILE[1]
    rows = "".join(f"p{k},{1 + (k >= 137) + (k >= 226)},{20 + k % 50}\n" for k in range(311))
    (folder / "visits.csv").write_text(f"person,site,age\n{rows}")
    (folder / "odd.csv").write_text(f'person,"{hostile.replace(chr(34), chr(34) * 2)}"\nann,1\nbob,2\n')
    for name in ("visits", "odd"):
        dc.Ledger.create(folder / f"{name}.ledger", dataset=name, unit="person", epsilon=4)
    (folder / "clinic.csv").write_text(f"person,site,age\n{rows}")
    (folder / "clinic.toml").write_text(CLINIC)
    dc.Ledger.create(folder / "clinic.ledger", dataset="clinic", unit="person", epsilon=4)
    token = make_token(str(folder / "reports.db"))
    data = [word for name in ("visits", "odd") for word in ("--data", str(folder / f"{name}.csv"))]
    ledgers = [word for name in ("visits", "odd") for word in ("--ledger", str(folder / f"{name}.ledger"))]
    made = RunningPages(
        str(folder / "reports.db"),
        folder / "log",
        ("--rate", "0", *data, *ledgers, "--dataset", str(folder / "clinic.toml"), "-o", str(folder / "released")),
    )
    made.folder, made.token = folder, token
    made.start()
    return made


class _EmptyRegistry:
    """No collections."""

    def find(self, _: str) -> None:
        return None


class _QuietService:
    """A service that answers nothing and stops at once."""

    store = answers = None
    registry = _EmptyRegistry()

    async def __call__(self, *_: object) -> None:
        return


def quiet_site(
    settings: PageSettings, announce: Callable[[str], None] = lambda _: None, clock: Callable[[], float] = time.time
) -> Site:
    """Return the pages alone, in this process."""
    return Site(_QuietService(), settings, announce, clock=clock)  # type: ignore[arg-type]


def ask_site(
    site: Site, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None, query: str = ""
) -> Answer:
    """Ask pages in this process, without a connection."""
    fields = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    scope = {
        "type": "http", "http_version": "1.1", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "root_path": "", "scheme": "http", "headers": fields,
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
    }  # fmt: skip
    sent: list[Any] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    with ThreadPoolExecutor(1) as pool:  # a loop of its own
        pool.submit(lambda: asyncio.run(site(scope, receive, send))).result()
    stated = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], stated, b"".join(one.get("body", b"") for one in sent[1:]))


#: The form of a release of the table of visits by site.
BY_SITE = [
    ("table", "visits"), ("unit", "person"), ("by", "site"), ("how:site", "values"), ("values:site", "1..3"),
    ("max_groups", "1"), ("epsilon", "1"),
]  # fmt: skip


def release_form(pages: RunningPages, folder: str, **changed: str) -> list[tuple[str, str]]:
    """The form with the data, the ledger and a name for the bundle."""
    fields = dict(BY_SITE) | {
        "data": "visits.csv", "ledger": "visits.ledger", "folder": folder,
        **changed,
    }  # fmt: skip
    return list(fields.items())


class QuietPages:
    """Pages in this process, entered by one browser."""

    def __init__(self, settings: PageSettings) -> None:
        self._host, tokens = settings.hosts[0], list[str]()
        self._site = quiet_site(settings, tokens.append)
        here = {"Host": self._host, "Origin": f"http://{self._host}"}
        entered = ask_site(self._site, "POST", "/session", tokens[-1].encode(), here)
        self._headers = here | {"Cookie": entered.headers["set-cookie"].partition(";")[0]}
        word = re.findall(r'name="discreet-word" content="([^"]+)"', self.look("/"))[0]
        self._headers |= {"X-Discreet-Session": word, "Content-Type": "application/x-www-form-urlencoded"}

    def ask(self, path: str, fields: Mapping[str, str] | Sequence[tuple[str, str]] | None = None) -> Answer:
        """Ask for a page; with fields, send a form."""
        path, _, query = path.partition("?")
        pairs = list(fields.items()) if isinstance(fields, Mapping) else fields
        method, body = ("GET", b"") if pairs is None else ("POST", urllib.parse.urlencode(pairs))
        return ask_site(
            self._site, method, path, body.encode() if isinstance(body, str) else body, self._headers, query
        )

    def look(self, path: str) -> str:
        """Return a page as text."""
        return self.ask(path).body.decode()

    def post(self, path: str, fields: Mapping[str, str] | Sequence[tuple[str, str]]) -> str:
        """Return the piece that answers a form, as text."""
        return html.unescape(self.ask(path, fields).body.decode())

    def release(self, fields: Mapping[str, str] | Sequence[tuple[str, str]]) -> str:
        """Confirm a release, and return the page of its bundle."""
        pairs = list(fields.items()) if isinstance(fields, Mapping) else list(fields)
        key = re.findall(r'"key": "([0-9a-f]+)"', self.post("/release/review", pairs))[0]
        return self.look(self.ask("/release/run", [*pairs, ("key", key)]).headers["hx-redirect"])
