"""Settings of a service; starting it, and stopping it without losing acknowledged reports."""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Literal, TypedDict

from ...errors import InvalidInput, MissingExtra, arg
from ...strict_json import read_json
from ..stores.open import report_store

#: Environment variable that passes the settings to workers.
VARIABLE = "DISCREET_SERVICE"


@dataclass(frozen=True)
class Settings:
    """Settings of a service.

    Attributes
    ----------
    store
        The address of the store of reports.
    host, port
        Host and port to listen on; by default on this computer only.
    workers
        Number of processes; more than one needs PostgreSQL.
    trusted_proxies
        Addresses of proxies whose forwarding headers are trusted, comma separated.
    requests_per_second
        Average number of requests per address; 0 for no limit.
    reports_per_second
        Average number of reports per address; 0 for no limit.
    bytes_per_second
        Average number of bytes in bodies per address; 0 for no limit.
    most_reports, most_bytes
        The largest batch, in reports and in bytes of its body.
    most_description_bytes
        The largest description of a collection, whose mechanisms may be tables.
    most_waiting
        Maximum number of batches waiting to be written; more are asked to come back later.
    shutdown_seconds
        Seconds for running requests to finish when the service is stopped.
    """

    store: str = "reports.db"
    host: str = "127.0.0.1"
    port: int = 8571
    workers: int = 1
    trusted_proxies: str = "127.0.0.1"
    requests_per_second: float = 100.0
    reports_per_second: float = 10_000.0
    bytes_per_second: float = 1_000_000.0
    most_reports: int = 10_000
    most_bytes: int = 1_000_000
    most_description_bytes: int = 20_000_000
    most_waiting: int = 10_000
    shutdown_seconds: int = 30

    def to_environment(self) -> dict[str, str]:
        """Return the settings for the environment of a worker. An address never holds a password."""
        return {VARIABLE: json.dumps(asdict(self))}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Return the settings in a worker's environment."""
        names = {field.name for field in fields(cls)}
        return cls(
            **{name: value for name, value in read_json(environment[VARIABLE], VARIABLE).items() if name in names}
        )


#: Import path of the application factory for workers.
APPLICATION = "discreet.collect.service.app:from_environment"


def serve(settings: Settings, application: str = APPLICATION) -> None:
    """Serve until SIGTERM or Ctrl-C; running requests are finished.

    Parameters
    ----------
    settings
        The settings of the service.
    application
        Import path of the application factory.

    Raises
    ------
    MissingExtra
        Without the extra ``server``.
    InvalidInput
        For several workers on a store that one process writes, or a port that another program has.
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn
    except ImportError as missing:
        raise MissingExtra(missing.name or "fastapi", "server") from None
    store = report_store(settings.store)
    if settings.workers > 1 and not store.several_writers:
        raise InvalidInput(
            f"a SQLite store has one writer; got {arg('workers', settings.workers)}.",
            "Take one worker, or keep reports in PostgreSQL: postgresql://user@host/study.",
        )
    refuse_taken_port(settings.host, settings.port)
    store.open()  # report its errors here, once
    store.close()
    os.environ.update(settings.to_environment())
    uvicorn.run(
        application,
        factory=True,
        workers=settings.workers if settings.workers > 1 else None,
        log_config=None,
        timeout_graceful_shutdown=settings.shutdown_seconds,
        **server_options(settings),
    )


def refuse_taken_port(host: str, port: int) -> None:
    """Refuse to listen where another program does, before anything is made; port 0 is any that is free."""
    if not port:
        return
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind, protocol) as probe:
                if os.name == "posix":  # as servers do: a port whose last connections are just ending is free
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind(address)
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            neighbour = port + 1 if port < 65535 else port - 1
            raise InvalidInput(
                f"port {port} is in use, perhaps by a service that runs already.",
                f"Stop that one, or take another port: {arg('port', neighbour)}.",
                argument="port", given=port,
            ) from None  # fmt: skip
        raise InvalidInput(
            f"cannot listen at port {port} of {host}: {problem.strerror or problem}.",
            f"Name an address of this computer, and a port from 1024 on: {arg('host', '127.0.0.1')}, "
            f"{arg('port', 8571)}.",
            argument="port", given=port,
        ) from None  # fmt: skip


class ServerOptions(TypedDict):
    """Options of the server below the service."""

    host: str
    port: int
    http: str
    access_log: bool
    server_header: bool
    proxy_headers: bool
    forwarded_allow_ips: str
    lifespan: Literal["on"]
    ws: Literal["none"]


def server_options(settings: Settings) -> ServerOptions:
    """Return the options of the server below the service: with limits, and without logging requests."""
    return {
        "host": settings.host,
        "port": settings.port,
        "http": "discreet.collect.service.limits:BoundedProtocol",
        "access_log": False,
        "server_header": False,
        "proxy_headers": True,
        "forwarded_allow_ips": settings.trusted_proxies,
        "lifespan": "on",
        "ws": "none",
    }
