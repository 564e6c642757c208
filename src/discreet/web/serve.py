"""Start the pages together with the service."""

from __future__ import annotations

import os
import socket
from dataclasses import replace

from ..addresses import read_address
from ..collect.service.serve import Settings
from ..collect.service.serve import serve as serve_application
from ..datasets.declaration import Declaration
from ..errors import InvalidInput, MissingExtra, arg
from ..ledger.ledger import Ledger
from ..sources.files import open_files
from .frame.settings import PageSettings, host_names, read_public_url


def serve(
    settings: Settings, ledgers: tuple[str, ...] = (), data: tuple[str, ...] = (), out: str = "releases",
    public_url: str | None = None, link_file: str | None = None, datasets: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Serve the pages and the service until the process is stopped.

    Parameters
    ----------
    settings
        The settings of the service.
    ledgers, data, out
        Ledgers that the pages show and spend from, data that may be queried, and the folder for bundles.
    public_url
        The address at which browsers see the pages, where a proxy ends TLS.
    link_file
        The file that holds the link; without one it is printed.
    datasets
        Files that declare datasets, which may be queried and whose ledgers pay.
    """
    public_url = None if public_url is None else read_public_url(public_url)
    if settings.workers > 1:
        raise InvalidInput(
            f"the pages need one worker; got {arg('workers', settings.workers)}.", f"Leave {arg('pages')} out."
        )
    try:
        import python_multipart  # noqa: F401
    except ImportError as missing:
        raise MissingExtra(missing.name or "python_multipart", "server") from None
    _refuse_missing(data, ledgers)
    for file in datasets:
        Declaration.open(file)  # refuse it now, not on a page
    settings = replace(settings, port=settings.port or _free_port(settings.host))
    hosts = host_names(settings.host, settings.port, public_url)
    pages = PageSettings(hosts, ledgers, data, out, public_url, link_file, datasets)
    os.environ.update(pages.to_environment())
    serve_application(settings, "discreet.web.site:from_environment")


def _refuse_missing(data: tuple[str, ...], ledgers: tuple[str, ...]) -> None:
    """Refuse files that do not exist; database servers are tried only when a page needs them."""
    for text in data:
        address = read_address(text)
        if address.in_files and not address.is_file:
            open_files(address, skip_unreadable=True)
    for text in ledgers:
        if read_address(text, "ledger").in_files:
            Ledger.open(text, hint={"data": data[0]} if data else {})


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
        listener.bind((host, 0))
        return int(listener.getsockname()[1])
