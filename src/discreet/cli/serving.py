"""Verbs of a service that collects: serve, collect token, collect repair, collect create, collect estimate."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .output import FormerTarget, Json, Page, print_json, refuse_unwritable, say, target_option

if TYPE_CHECKING:
    from ..collect.collector import Collector

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
    from ..collect.service.running import Settings
    from ..collect.service.running import serve as run
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
    from ..web.running import serve as run_with_pages

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


def token(
    store: Store = "reports.db",
    right: Annotated[
        str, typer.Option(help="manage (everything), read (estimates and counts) or report (to closed collections).")
    ] = "manage",
    collection: Annotated[str | None, typer.Option(help="The only collection it is valid for; by default all.")] = None,
    json: Json = False,
) -> None:
    """Make a token for a service. It is shown once; the store keeps a hash of it.

    A SQLite store must not be in use by a service meanwhile; a running service makes tokens at POST /v1/tokens.

    Example: `discreet collect token reports.db --right read --collection visits`
    """
    from ..collect.service.tokens import new_token
    from ..collect.stores.opening import report_store

    text, record = new_token(right, collection)
    opened = report_store(store)
    opened.open()
    try:
        opened.add_token(record)
    finally:
        opened.close()
    if json:
        print_json({"name": record.name, "token": text})
    else:
        say(text)


def repair(
    store: Store = "reports.db",
    counted_until: Annotated[
        str | None,
        typer.Option(help="The last day on which reports were counted, such as 2026-11-16; by default today."),
    ] = None,
    json: Json = False,
) -> None:
    """Repair a store that refuses reports because the service once ran with its clock ahead.

    Keys of that day and of the next one stay refused, so that nothing is counted twice. A SQLite store must not be in
    use by a service meanwhile.

    Example: `discreet collect repair reports.db --counted-until 2026-11-16`
    """
    from ..collect.stores.repair import repair as repair_store

    result = repair_store(store, counted_until)
    if json:
        print_json({"before": str(result.before), "after": str(result.after)})
    else:
        say(result.describe())


Service = Annotated[str, typer.Option(help="The service's address.")]
TokenFile = Annotated[
    Path | None,
    typer.Option(help="A file with the token; by default the environment variable DISCREET_TOKEN has it."),
]
CollectionName = Annotated[str, typer.Argument(help="The collection's name.")]

_LOCAL_SERVICE = "http://127.0.0.1:8571"

#: Seconds to wait for a service that is still starting.
START_TIMEOUT_SECONDS = 15.0


def create(
    name: CollectionName,
    mechanism: Annotated[
        list[str],
        typer.Option(help="The mechanism of the devices (.json); for several to choose from, NAME=FILE each."),
    ],
    question: Annotated[str, typer.Option(help="The question that people answer.")],
    title: Annotated[str | None, typer.Option(help="A title; by default the question.")] = None,
    target_error: Annotated[
        str | None, typer.Option(help='The error allowed: "±2 points", "mean ±0.5". +-2 is read as ±2.')
    ] = None,
    minimum_reports: Annotated[
        int | None, typer.Option(help="Instead of --target-error: estimates from fewer reports are not shown.")
    ] = None,
    former_target: FormerTarget = None,
    by_token: Annotated[bool, typer.Option("--by-token", help="Only holders of a token may report.")] = False,
    service: Service = _LOCAL_SERVICE,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """Make a collection at a service.

    Example: `discreet collect create smoking --question "Do you smoke?" --mechanism m.json --target-error "±2 points"`
    """
    from ..files import load
    from .collector import named_mechanisms

    mechanisms = load(mechanism[0]) if len(mechanism) == 1 else named_mechanisms(mechanism)
    description = _collector(service, token_file).create(
        name, mechanisms, question=question, title=title, target_error=target_option(target_error, former_target),
        minimum_reports=minimum_reports, reporting="token" if by_token else "open",
    )  # fmt: skip
    if json:
        print_json(description)
        return
    say(f"{name}: estimates are shown from {description['minimum_reports']:,} reports on.")
    for guarantee in description["mechanisms"]:  # type: ignore[union-attr]
        say(f"{guarantee['name']:<10}{' '.join(guarantee['guarantee'])}")  # type: ignore[index,arg-type,call-overload]
    say(f"{'answer':<10}{service.rstrip('/')}/collections/{name}/answer")


def estimate(
    name: CollectionName,
    level: Annotated[float, typer.Option(help="The coverage of the intervals.", min=0.5, max=0.9999)] = 0.95,
    service: Service = _LOCAL_SERVICE,
    token_file: TokenFile = None,
    page: Page = None,
    json: Json = False,
) -> None:
    """Estimate the distribution behind the reports of a collection, with intervals.

    Example: `discreet collect estimate smoking --page smoking.html`
    """
    refuse_unwritable(page, (".html",), "a page")
    result = _collector(service, token_file).estimate(name)
    if page is not None:
        result.save(page, level)
    if json:
        print_json(result.to_json(level))
        return
    say(result.describe(level))
    if page is not None:
        say(f"page      {page}")


def _collector(service: str, token_file: Path | None) -> Collector:
    from ..collect.collector import Collector
    from ..errors import InvalidInput

    if token_file is not None:
        try:
            text = token_file.read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            raise InvalidInput(
                f"there is no token in {token_file}.", "Make one: discreet collect token.", argument="token_file"
            ) from None
        return Collector(service, text, patience=START_TIMEOUT_SECONDS)
    text = os.environ.get("DISCREET_TOKEN", "")
    if not text:
        raise InvalidInput(
            "this needs a token of the service.",
            "Name the file that has it by --token-file, or set DISCREET_TOKEN; discreet collect token makes one.",
            argument="token_file",
        )
    return Collector(service, text, patience=START_TIMEOUT_SECONDS)
