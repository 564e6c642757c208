"""Verbs of a service that collects: serve, collect token."""

from __future__ import annotations

from typing import Annotated

import typer

from .output import Json, print_json, say

Store = Annotated[
    str, typer.Argument(help="Where reports are kept: a file (SQLite), or postgresql://user@host/database.")
]


def serve(
    store: Store = "reports.db",
    host: Annotated[
        str, typer.Option(help="The address to listen on: this computer only, unless you say otherwise.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port.", min=0, max=65535)] = 8571,
    workers: Annotated[int, typer.Option(help="How many processes answer; several need PostgreSQL.", min=1)] = 1,
    rate: Annotated[
        float, typer.Option(help="Requests a second from one address, on average; 0 for any number.", min=0)
    ] = 100.0,
    trusted_proxies: Annotated[
        str, typer.Option(help="Addresses of proxies that say where a request came from, comma separated.")
    ] = "127.0.0.1",
) -> None:
    """Collect reports over HTTP: each person's device adds the noise, and this service counts and estimates.

    Make a token first, to create collections: `discreet collect token reports.db`.

    Examples: `discreet serve` · `discreet serve postgresql://ann@localhost/study --workers 2`
    """
    from ..collect.service.running import Settings
    from ..collect.service.running import serve as run

    run(
        Settings(
            store=store, host=host, port=port, workers=workers, requests_per_second=rate,
            trusted_proxies=trusted_proxies,
        )
    )  # fmt: skip


def token(
    store: Store = "reports.db",
    right: Annotated[
        str, typer.Option(help="manage (everything), read (estimates and counts) or report (to closed collections).")
    ] = "manage",
    collection: Annotated[str | None, typer.Option(help="The one collection it is for; by default all.")] = None,
    json: Json = False,
) -> None:
    """Make a token for a service. It is shown once; the store keeps a hash of it.

    A SQLite store must not be in use by a service meanwhile; a running service makes tokens at POST /v1/tokens.

    Example: `discreet collect token reports.db --right read --collection visits`
    """
    from ..collect.service.tokens import new_token
    from ..collect.stores.opening import report_store

    text, kept = new_token(right, collection)
    place = report_store(store)
    place.open()
    try:
        place.add_token(kept)
    finally:
        place.close()
    if json:
        print_json({"name": kept.name, "token": text})
    else:
        say(text)
