"""Behind a proxy that ends TLS, as the documentation sets it up."""

from __future__ import annotations

import http.client
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from running_service import RunningService, make_token
from survey_mechanisms import COUNTS

from discreet.collect import Client
from discreet.collect.reporting.transport import Http, ServiceUnreachable

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")


@contextmanager
def tls_proxy(port: int, folder: Path) -> Iterator[tuple[int, ssl.SSLContext]]:
    """A proxy that ends TLS and says where requests came from; its port, and a context that trusts it."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost", "-days", "2", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name: value for name, value in self.headers.items() if name.lower() != "x-forwarded-for"}
            headers |= {"X-Forwarded-For": self.client_address[0], "X-Forwarded-Proto": "https"}
            behind = http.client.HTTPConnection("127.0.0.1", port)
            behind.request(self.command, self.path, body, headers)
            found = behind.getresponse()
            content = found.read()
            behind.close()
            self.send_response(found.status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = handle_one  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1], ssl.create_default_context(cafile=str(folder / "cert.pem"))
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


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


@pytest.mark.parametrize(("trusted", "refused"), [("127.0.0.1", False), ("192.0.2.1", True)])
def test_the_rate_is_that_of_the_address_a_trusted_proxy_states(tmp_path: Path, trusted: str, refused: bool) -> None:
    token = make_token(str(tmp_path / "reports.db"))
    service = RunningService(
        str(tmp_path / "reports.db"), tmp_path / "log", ("--rate", "1", "--trusted-proxies", trusted)
    )
    service.start()
    try:
        assert service.create(token, {"main": COUNTS}).status in (201, 429)
        found = {
            service.ask("GET", "/health", headers={"X-Forwarded-For": f"198.51.100.{k}"}).status for k in range(30)
        }
        assert (429 in found) is refused
        same = {service.ask("GET", "/health", headers={"X-Forwarded-For": "203.0.113.9"}).status for _ in range(30)}
        assert 429 in same
    finally:
        service.stop()
