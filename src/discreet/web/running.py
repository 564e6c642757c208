"""Starting the pages with the service, and the link that lets a browser in."""

from __future__ import annotations

import os
import socket
from dataclasses import replace

from ..collect.service.running import Settings
from ..collect.service.running import serve as serve_application
from ..errors import InvalidInput, MissingExtra, arg
from .frame.settings import PageSettings, host_names


def serve(settings: Settings, ledgers: tuple[str, ...] = (), data: tuple[str, ...] = (), out: str = "releases") -> None:
    """Answer with pages and service until the process is told to stop."""
    if settings.workers > 1:
        raise InvalidInput(
            f"the pages need one worker; got {arg('workers', settings.workers)}.", f"Leave {arg('pages')} out."
        )
    try:
        import python_multipart  # noqa: F401
    except ImportError as missing:
        raise MissingExtra(missing.name or "python_multipart", "server") from None
    settings = replace(settings, port=settings.port or _free_port(settings.host))
    pages = PageSettings(host_names(settings.host, settings.port), ledgers, data, (out,))
    os.environ.update(pages.to_environment())
    serve_application(settings, "discreet.web.site:from_environment")


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as one:
        one.bind((host, 0))
        return int(one.getsockname()[1])
