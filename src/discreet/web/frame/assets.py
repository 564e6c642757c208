"""The files that the pages load: ours, and those of other projects as published."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

#: File name extension -> media type.
MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

#: The files that are served.
NAMES = (
    "icon.svg", "style.css", "pages.js", "enter.js", "vendor/htmx.min.js", "vendor/vega.min.js",
    "vendor/vega-lite.min.js", "vendor/vega-embed.min.js",
)  # fmt: skip


class Asset(NamedTuple):
    """A file as it is served."""

    content: bytes
    media_type: str


@cache
def asset(name: str) -> Asset | None:
    """Return a file by its name, or None for any other name.

    >>> asset("pages.js").media_type, asset("../guarding.py")
    ('text/javascript', None)
    """
    if name not in NAMES:
        return None
    media_type = MEDIA_TYPES[name[name.rindex(".") :]]
    static = files("discreet.web") / "static"
    if name == "style.css":  # the style of every report, and what forms need
        templates = files("discreet.pages") / "templates"
        common = b"".join((templates / style).read_bytes() for style in ("style.css", "watermark.css"))
        return Asset(common + (static / "site.css").read_bytes(), media_type)
    return Asset((static / name).read_bytes(), media_type)
