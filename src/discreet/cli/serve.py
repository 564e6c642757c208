"""The verb serve."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

Store = Annotated[
    str, typer.Argument(help="Where reports are kept: a file (SQLite), or postgresql://user@host/database.")
]


def serve(
    store: Store = "reports.db",
    host: Annotated[
        str, typer.Option(help="The address to listen on; by default only this computer can connect.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port.", min=0, max=65535)] = 8571,
    workers: Annotated[int, typer.Option(help="Number of processes; several need PostgreSQL.", min=1)] = 1,
    rate: Annotated[
        float,
        typer.Option(
            help="Requests a second from one address, on average, however many reports; 0 for any number.", min=0
        ),
    ] = 100.0,
    report_rate: Annotated[
        float, typer.Option(help="Reports a second from one address, on average; 0 for any number.", min=0)
    ] = 10_000.0,
    byte_rate: Annotated[
        float, typer.Option(help="Bytes a second in the bodies of one address, on average; 0 for any number.", min=0)
    ] = 1_000_000.0,
    trusted_proxies: Annotated[
        str, typer.Option(help="Addresses of proxies whose X-Forwarded-For header is trusted, comma separated.")
    ] = "127.0.0.1",
    data: Annotated[
        list[str] | None,
        typer.Option(help="Data that the pages may query: a file, a folder or an address; may be repeated."),
    ] = None,
    ledger: Annotated[
        list[str] | None, typer.Option(help="A ledger that the pages show and spend from; may be repeated.")
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="A dataset file whose tables the pages may query: FILE.toml; may be repeated."),
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder that the pages write bundles into.")] = Path(
        "releases"
    ),
    pages: Annotated[
        bool | None,
        typer.Option(
            help="Serve pages for the curator; by default if only this computer can connect, and a terminal shows the "
            "link or --dataset, --data or --ledger is given."
        ),
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(help="The https address at which browsers see the pages, where a proxy ends TLS before them."),
    ] = None,
    link_file: Annotated[
        Path | None,
        typer.Option(
            help="A file for the link that lets a browser in, instead of the terminal; without a terminal, by default "
            "next to the store (reports.db.link)."
        ),
    ] = None,
) -> None:
    """Open the pages in a browser, and collect reports over HTTP: each person's device adds the noise.

    The printed link lets one browser in. Make a token to create collections: `discreet collect token
    reports.db`.

    Examples: `discreet serve` · `discreet serve --dataset visits.toml` ·
    `discreet serve --data visits.csv --ledger study.ledger` ·
    `discreet serve postgresql://ann@localhost/study --workers 2` ·
    `discreet serve --data visits.csv --ledger study.ledger --public-url https://survey.example`
    """
    from ..collect.service.serve import Settings
    from ..collect.service.serve import serve as run
    from ..errors import InvalidInput

    settings = Settings(
        store=store, host=host, port=port, workers=workers, requests_per_second=rate,
        reports_per_second=report_rate, bytes_per_second=byte_rate, trusted_proxies=trusted_proxies,
    )  # fmt: skip
    from ..web.frame.settings import is_loopback

    # a service that another program starts has no use for a link
    has_use = bool(data or dataset or ledger or sys.stdout.isatty())
    with_pages = has_use and is_loopback(host) and workers == 1 if pages is None else pages
    if (ledger or data or dataset) and not with_pages:
        raise InvalidInput(
            "--dataset, --data and --ledger are for the pages.", "Add --pages, or leave them out.", argument="data"
        )
    if public_url is not None and not with_pages:
        raise InvalidInput(
            "--public-url is for the pages.", "Add --pages, or leave it out.", argument="public_url", given=public_url
        )
    if not with_pages:
        run(settings)
        return
    from ..web.serve import serve as run_with_pages

    if link_file is None and not sys.stdout.isatty():  # printed lines go into a log
        link_file = _default_link_file(store, port)
    run_with_pages(
        settings, tuple(ledger or ()), tuple(data or ()), str(out), public_url,
        None if link_file is None else str(link_file), tuple(dataset or ()),
    )  # fmt: skip


def _default_link_file(store: str, port: int) -> Path:
    """Return the file for the link: next to a store that is a file, else in the current folder."""
    from ..addresses import read_address

    address = read_address(store, "reports")
    return Path(f"{address.path}.link") if address.in_files else Path(f"discreet-{port}.link")
