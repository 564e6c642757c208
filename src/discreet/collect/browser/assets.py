"""The files that a browser loads, and the page on which a person answers."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from ..collection import Collection

if TYPE_CHECKING:
    from jinja2 import Template

#: Content security policy: the page loads its own module and style and talks to its own service; nothing else runs.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)

#: Name of a file -> its media type.
MEDIA_TYPES = {
    "discreet.js": "text/javascript",
    "answer.js": "text/javascript",
    "style.css": "text/css",
    "icon.svg": "image/svg+xml",
    "vectors.json": "application/json",
}


class BrowserFile(NamedTuple):
    """A file as it is sent to a browser."""

    content: str
    media_type: str


@cache
def asset(name: str) -> BrowserFile | None:
    """Return a file by its name; None for any other name.

    >>> asset("discreet.js").media_type, asset("../client.py")
    ('text/javascript', None)
    """
    if name not in MEDIA_TYPES:
        return None
    if name == "style.css":  # as every page, with what the form needs
        content = (files("discreet.pages") / "templates" / "style.css").read_text("utf-8") + _read("answer.css")
    else:
        content = _read(name)
    return BrowserFile(content, MEDIA_TYPES[name])


def answer_page(collection: Collection) -> str:
    """Return the page on which a person answers; all texts of the collection are escaped."""
    return _template().render(collection=collection) + "\n"


def _read(name: str) -> str:
    return (files("discreet.collect.browser") / name).read_text("utf-8")


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    return Environment(autoescape=True, undefined=StrictUndefined).from_string(_read("answer.html"))
