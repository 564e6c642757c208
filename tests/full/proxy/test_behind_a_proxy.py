"""Behind a proxy that ends TLS, as the documentation sets it up."""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from discreet.collect import Client
from discreet.collect.reporting.transport import Http, ServiceUnreachable
from support.needs import need
from support.paths import DOCS
from support.ports import reserved_port
from support.running_service import Answer, RunningService
from support.waiting import LIMIT_SECONDS, wait_for

DOCUMENTED = DOCS / "howto_service.md"


def configuration(port: int, service_port: int, folder: Path) -> str:
    """nginx as the documentation sets it up, with ports and certificates of the test's own."""
    (server,) = re.findall(r"^```text\n(server \{.*?)^```$", DOCUMENTED.read_text("utf-8"), re.M | re.S)
    own = {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "survey.example": "localhost",
        "/etc/ssl/survey.pem": str(folder / "cert.pem"),
        "/etc/ssl/survey.key": str(folder / "key.pem"),
        "127.0.0.1:8571": f"127.0.0.1:{service_port}",
    }
    for documented, here in own.items():
        assert documented in server, documented
        server = server.replace(documented, here)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    return (
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors; events {{}}\n"
        f"http {{ access_log {folder}/access; {folders}\n{server}\n}}"
    )


@contextmanager
def tls_proxy(service_port: int, folder: Path) -> Iterator[tuple[int, ssl.SSLContext]]:
    """nginx in front of the service at a port; its own port, and a context that trusts it."""
    nginx, openssl = need("nginx"), need("openssl")
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost", "-days", "2", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    with reserved_port() as port:
        (folder / "nginx.conf").write_text(configuration(port, service_port, folder))
        process = subprocess.Popen([nginx, "-p", folder, "-e", folder / "errors", "-c", folder / "nginx.conf"])

        def answers() -> bool:
            assert process.poll() is None, (folder / "errors").read_text()
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), LIMIT_SECONDS):
                return True
            return False

        try:
            wait_for(answers)
            yield port, ssl.create_default_context(cafile=str(folder / "cert.pem"))
        finally:
            process.terminate()
            process.wait(LIMIT_SECONDS)


def test_a_client_reports_over_tls_and_to_no_one_it_does_not_trust(service, token, tmp_path: Path) -> None:
    with tls_proxy(service.port, tmp_path) as (port, trusting):
        address = f"https://localhost:{port}"
        client = Client(address, tmp_path / "diary", maximum=100, transport=Http(context=trusting))
        offer = client.offer(service.name, person="ann", about="visits")
        assert client.report(offer, 4, consent=True) == "counted"
        stranger = Client(address, tmp_path / "diary", maximum=100)
        with pytest.raises(ServiceUnreachable):
            stranger.offer(service.name, person="ann", about="visits")
    assert sum(service.counts(token)["main"].values()) == 1
    written = "".join(one.read_text() for one in (tmp_path / "access", tmp_path / "errors") if one.exists())
    assert "127.0.0.1" not in written  # nothing tells who reported


def ask_over_tls(
    port: int, trusting: ssl.SSLContext, method: str, path: str, body: bytes = b"", **headers: str
) -> Answer:
    connection = http.client.HTTPSConnection("localhost", port, context=trusting, timeout=LIMIT_SECONDS)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


@contextmanager
def pages_behind_tls(folder: Path, knows_its_address: bool = True) -> Iterator[tuple[str, ssl.SSLContext]]:
    """The pages behind nginx as it is documented; the address that browsers see, and a context that trusts it."""
    (folder / "proxy").mkdir()
    with reserved_port() as port, tls_proxy(port, folder / "proxy") as (public, trusting):
        origin = f"https://localhost:{public}"
        options = ("--pages", "--public-url", f"{origin}/") if knows_its_address else ("--pages",)
        pages = RunningService(str(folder / "reports.db"), folder / "log", options, port=port)
        pages.start()
        try:
            yield origin, trusting
        finally:
            pages.stop()


def read_token(folder: Path) -> str:
    return (folder / "reports.db.link").read_text().strip().partition("/enter#token=")[2]


def test_a_curator_enters_works_and_logs_out_over_tls(tmp_path: Path) -> None:
    with pages_behind_tls(tmp_path) as (origin, trusting):
        assert (tmp_path / "reports.db.link").read_text().startswith(f"{origin}/enter#token=")

        def ask(method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
            return ask_over_tls(int(origin.rpartition(":")[2]), trusting, method, path, body, **headers)

        token = read_token(tmp_path)
        assert ask("GET", "/enter").status == 200
        assert ask("GET", "/design").status == 403
        for wrong in (origin.replace("https", "http"), "https://evil.example", "http://127.0.0.1:8571"):
            assert ask("POST", "/session", token.encode(), Origin=wrong).status == 403
        entered = ask("POST", "/session", token.encode(), Origin=origin)
        assert entered.status == 204 and "secure" in entered.headers["set-cookie"].lower()
        cookie = entered.headers["set-cookie"].partition(";")[0]
        page = ask("GET", "/", Cookie=cookie)
        assert page.status == 200
        (word,) = re.findall(r'name="discreet-word" content="([^"]+)"', page.body.decode())
        allowed = {"Cookie": cookie, "X_Discreet_Session": word, "Origin": origin}
        assert ask("POST", "/design/job?n=3&epsilon=1", **allowed).status == 200
        assert ask("POST", "/log-out", **allowed).status == 204
        assert ask("GET", "/design", Cookie=cookie).status == 403
        unused = read_token(tmp_path)
        for file in (tmp_path / "log", *(tmp_path / "proxy").iterdir()):
            if file.is_file():
                assert token not in file.read_text() and unused not in file.read_text(), file


@pytest.mark.xdist_group("browser")
def test_a_browser_takes_the_link_over_tls(chromium: Browser, tmp_path: Path) -> None:
    with pages_behind_tls(tmp_path) as (origin, _):
        context = chromium.new_context(ignore_https_errors=True)  # the certificate is the test's own
        page = context.new_page()
        page.goto((tmp_path / "reports.db.link").read_text().strip())
        page.get_by_role("button", name="Log out").wait_for()
        (cookie,) = context.cookies()
        assert cookie["secure"] and cookie["httpOnly"] and cookie["name"].startswith("__Host-")
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("heading", name="Open the link from the terminal")).to_be_visible()
        assert context.cookies() == []
        page.goto(f"{origin}/design")
        expect(page.get_by_role("heading", name="Open the link from the terminal")).to_be_visible()
        context.close()


def test_pages_that_do_not_know_their_address_say_how_to_tell_them(chromium: Browser, tmp_path: Path) -> None:
    with pages_behind_tls(tmp_path, knows_its_address=False) as (origin, _):
        page = chromium.new_page(ignore_https_errors=True)
        page.goto(f"{origin}/enter#token={read_token(tmp_path)}")
        expect(page.get_by_text(f"--public-url {origin}")).to_be_visible()
        page.close()


@pytest.mark.parametrize(("trusted", "refused"), [("127.0.0.1", False), ("192.0.2.1", True)])
def test_the_rate_is_that_of_the_address_a_trusted_proxy_states(tmp_path: Path, trusted: str, refused: bool) -> None:
    options = ("--rate", "0.0001", "--trusted-proxies", trusted)  # one request of an address, and no other for hours
    service = RunningService(str(tmp_path / "reports.db"), tmp_path / "log", options)
    service.start()  # which is a request of 127.0.0.1
    try:

        def status(address: str) -> int:
            return service.ask("GET", "/health", headers={"X-Forwarded-For": address}).status

        first = [status(f"198.51.100.{k}") for k in range(3)]
        assert first == ([429] * 3 if refused else [200] * 3)
        assert status("198.51.100.2") == 429
    finally:
        service.stop()
