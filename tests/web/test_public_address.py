"""Pages behind a proxy that ends TLS, and sessions that end: in this process, with a clock that can be moved."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from discreet.collect.service.serve import Settings
from discreet.errors import InvalidInput
from discreet.web.frame.access import IDLE_SECONDS, MAX_SESSION_SECONDS
from discreet.web.frame.links import Announcement
from discreet.web.frame.settings import PageSettings, host_names, read_public_url
from discreet.web.serve import serve
from discreet.web.site import Site
from support.command_line import run
from support.refusals import refused
from support.running_service import Answer
from support.serving_pages import Entered, ask_site, quiet_site

PUBLIC = "https://survey.example"
BEHIND = "127.0.0.1:8571"


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    now: float = 1e9

    def __call__(self) -> float:
        return self.now


@dataclass
class Visit:
    """Pages in this process, and how they are asked."""

    public_url: str | None = PUBLIC
    host: str = BEHIND
    tokens: list[str] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)
    site: Site = field(init=False)

    def __post_init__(self) -> None:
        settings = PageSettings(host_names("127.0.0.1", 8571, self.public_url), public_url=self.public_url)
        self.site = quiet_site(settings, self.tokens.append, self.clock)

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        stated = {"host": self.host, **{name.replace("_", "-"): value for name, value in headers.items()}}
        return ask_site(self.site, method, path, body, stated)

    def post_token(self, origin: str) -> Answer:
        return self.ask("POST", "/session", self.tokens[-1].encode(), origin=origin)

    def enter(self) -> Entered:
        answer = self.post_token(self.public_url or f"http://{self.host}")
        assert answer.status == 204
        cookie = answer.headers["set-cookie"].partition(";")[0]
        page = self.ask("GET", "/", cookie=cookie).body.decode()
        return Entered(cookie, re.findall(r'name="discreet-word" content="([^"]+)"', page)[0])

    def status(self, who: Entered, path: str = "/design") -> int:
        return self.ask("GET", path, cookie=who.cookie).status


@pytest.mark.parametrize("host", [BEHIND, "survey.example", "survey.example:443"])
def test_pages_at_a_public_address_let_a_browser_in(host: str) -> None:
    """A proxy states its own name for the server, or passes the browser's on."""
    visit = Visit(host=host)
    answer = visit.post_token(PUBLIC)
    assert answer.status == 204
    flags = [flag.strip().lower() for flag in answer.headers["set-cookie"].split(";")]
    assert flags[0].startswith("__host-") and {"secure", "httponly", "samesite=strict", "path=/"} <= set(flags)
    assert not any(flag.startswith("domain") for flag in flags)


@pytest.mark.parametrize(
    "origin",
    ["http://survey.example", "https://evil.example", f"http://{BEHIND}", f"https://{BEHIND}", "null", ""],
)
def test_only_pages_of_the_public_address_change_something(origin: str) -> None:
    visit = Visit()
    assert visit.post_token(origin).status == 403
    assert visit.post_token(PUBLIC).status == 204  # and the token is still good


def test_without_a_public_address_only_the_name_that_was_asked_changes_something() -> None:
    visit = Visit(public_url=None)
    for origin in (PUBLIC, f"https://{BEHIND}", "http://localhost:8571"):
        assert visit.post_token(origin).status == 403
    answer = visit.post_token(f"http://{BEHIND}")
    assert answer.status == 204 and "secure" not in answer.headers["set-cookie"].lower()
    visit.host = "survey.example"
    assert visit.ask("GET", "/enter").status == 421


@pytest.mark.parametrize(
    "text",
    [
        "http://survey.example", "survey.example", "https://survey.example/pages", "https://ann@survey.example",
        "https://survey.example?x", "https://survey.example#x", "https://survey.example:99999", "https://",
        "https://a b", "https://a\nb", "https://a..b", "",
    ],
)  # fmt: skip
def test_a_public_address_is_an_origin_over_tls(text: str) -> None:
    with refused(InvalidInput, "public_url", given=text):
        read_public_url(text)


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://büro.example", "https://xn--bro-hoa.example"),
        ("https://STRAẞE.example/", "https://xn--strae-oqa.example"),
        ("https://faß.de:8443", "https://xn--fa-hia.de:8443"),
        ("https://βόλος.com", "https://xn--nxasmm1c.com"),
        ("https://βόλοσ.com", "https://xn--nxasmq6b.com"),
        ("https://ΒΌΛΟΣ.com", "https://xn--nxasmq6b.com"),
        ("https://例え。テスト", "https://xn--r8jz45g.xn--zckzah"),
        ("https://[::1]:8443", "https://[::1]:8443"),
    ],
)
def test_a_public_address_in_any_script_is_the_one_that_browsers_state(text: str, origin: str) -> None:
    """The examples of UTS #46 for letters that the rules of 2003 write as others."""
    assert read_public_url(text) == origin
    assert Visit(public_url=origin).post_token(origin).status == 204


def test_links_name_the_public_address_and_a_file_keeps_them_out_of_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = PageSettings((BEHIND,), public_url=PUBLIC)
    Announcement(settings)("secret")
    assert capsys.readouterr().out.split()[1] == f"{PUBLIC}/enter#token=secret"
    file = tmp_path / "pages.link"
    announce = Announcement(PageSettings((BEHIND,), public_url=PUBLIC, link_file=str(file)))
    for token in ("first", "second"):
        announce(token)
        assert file.read_text() == f"{PUBLIC}/enter#token={token}\n"
    printed = capsys.readouterr().out
    assert str(file) in printed and "first" not in printed and "second" not in printed
    assert file.stat().st_mode & 0o777 == 0o600
    with refused(InvalidInput, "link_file"):
        Announcement(PageSettings((BEHIND,), link_file=str(tmp_path / "nowhere" / "pages.link")))("third")


def test_settings_reach_the_server_unchanged() -> None:
    settings = PageSettings(
        (BEHIND, "localhost:1"), ("a.ledger",), ("v.csv",), "bundles", PUBLIC, "pages.link", ("v.toml",)
    )
    assert PageSettings.from_environment(settings.to_environment()) == settings


def test_a_session_ends_without_use_and_after_its_longest_time() -> None:
    visit = Visit()
    who = visit.enter()
    visit.clock.now += IDLE_SECONDS - 1
    assert visit.status(who) == 200  # which is a use
    visit.clock.now += IDLE_SECONDS - 1
    assert visit.status(who) == 200
    visit.clock.now += IDLE_SECONDS
    assert visit.status(who) == 403
    visit.clock.now -= IDLE_SECONDS
    assert visit.status(who) == 403  # what has ended does not come back
    who, began = visit.enter(), visit.clock.now
    while visit.clock.now + IDLE_SECONDS / 2 < began + MAX_SESSION_SECONDS:
        visit.clock.now += IDLE_SECONDS / 2
        assert visit.status(who) == 200
    visit.clock.now = began + MAX_SESSION_SECONDS
    assert visit.status(who) == 403


def test_a_clock_that_is_set_back_makes_no_session_longer() -> None:
    visit = Visit()
    who = visit.enter()
    visit.clock.now -= 2 * IDLE_SECONDS
    assert visit.status(who) == 403


def test_a_page_that_asks_by_itself_does_not_keep_a_session() -> None:
    """An open page of a collection asks every three seconds, whether or not anybody sits there."""
    visit = Visit()
    who = visit.enter()
    for _ in range(2):
        visit.clock.now += IDLE_SECONDS * 0.6
        answer = visit.ask("GET", "/collections/visits/now", cookie=who.cookie, hx_request="true")
    assert answer.status == 403 and answer.headers["hx-redirect"] == "/enter"  # nothing stays on the screen


def test_whoever_logs_out_is_out_and_nobody_else() -> None:
    visit = Visit()
    who, other = visit.enter(), visit.enter()
    right = {"cookie": who.cookie, "x_discreet_session": who.word, "origin": PUBLIC}
    for name in right:  # another site logs nobody out
        assert visit.ask("POST", "/log-out", **{k: v for k, v in right.items() if k != name}).status == 403
    assert visit.ask("GET", "/log-out", cookie=who.cookie).status == 405
    assert b'hx-post="/log-out"' in visit.ask("GET", "/", cookie=who.cookie).body
    answer = visit.ask("POST", "/log-out", **right)
    assert answer.status == 204 and answer.headers["hx-redirect"] == "/enter"
    gone = answer.headers["set-cookie"].lower()
    assert gone.startswith("__host-") and "max-age=0" in gone and "secure" in gone
    assert visit.status(who) == 403 and visit.status(other) == 200
    assert visit.ask("POST", "/log-out", **right).status == 403


def test_a_public_address_that_is_none_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with refused(InvalidInput, "public_url", given="http://survey.example"):
        serve(Settings(store=str(tmp_path / "reports.db")), public_url="http://survey.example")
    assert not (tmp_path / "reports.db").exists()


@pytest.mark.parametrize(
    ("words", "token"),
    [
        (("--data", "missing.csv"), "missing.csv"),
        (("--data", "missing_*.parquet"), "missing_*.parquet"),
        (("--data", "visits.csv", "--ledger", "missing.ledger"), "missing.ledger --data visits.csv"),
    ],
)
def test_missing_files_are_refused_before_anything_listens(
    words: tuple[str, ...], token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text("person,site\n1,2\n")
    assert token in run("serve", "reports.db", "--pages", *words, code=2).stderr
    assert [one.name for one in tmp_path.iterdir()] == ["visits.csv"]


@pytest.mark.parametrize("pages", ["--pages", "--no-pages"])
def test_a_port_in_use_is_refused_with_another_to_type(pages: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ended = run("serve", tmp_path / "reports.db", "--port", port, pages, code=2)
    assert f"port {port} is in use" in ended.stderr and "--port" in ended.stderr
    assert not list(tmp_path.iterdir())


def test_a_public_address_is_for_the_pages(tmp_path: Path) -> None:
    ended = run("serve", tmp_path / "reports.db", "--public-url", PUBLIC, "--no-pages", code=2)
    assert "--public-url is for the pages" in ended.stderr and not (tmp_path / "reports.db").exists()


@pytest.mark.parametrize(
    ("store", "words", "link_file"),
    [
        ("reports.db", (), "reports.db.link"),
        ("sqlite:other.db", (), "other.db.link"),
        ("postgresql://ann@localhost/study", (), "discreet-8571.link"),
        ("reports.db", ("--link-file", "mine"), "mine"),
    ],
)
def test_where_no_terminal_is_the_link_goes_to_a_file(
    monkeypatch: pytest.MonkeyPatch, store: str, words: tuple[str, ...], link_file: str
) -> None:
    started: list[tuple[object, ...]] = []
    monkeypatch.setattr("discreet.web.serve.serve", lambda *given: started.append(given))
    run("serve", store, "--pages", "--public-url", PUBLIC, *words)
    assert started[0][-3:-1] == (PUBLIC, link_file)
