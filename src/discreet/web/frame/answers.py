"""Answers of the pages: a whole page in its frame, or the piece of one that htmx puts in its place."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse

from .rendering import render


def page(
    request: Request, template: str, *, title: str, eyebrow: str, here: str, charts: bool = False, status: int = 200,
    **content: object,
) -> HTMLResponse:  # fmt: skip
    """A whole page.

    Parameters
    ----------
    request
        Whose session the page carries.
    template
        What is inside.
    title, eyebrow, here
        The heading, the words above it, and the entry of the menu that is marked.
    charts
        Whether it draws charts.
    """
    session = request.state.session
    word = "" if session is None else session.word
    text = render(template, title=title, eyebrow=eyebrow, here=here, charts=charts, word=word, **content)
    return HTMLResponse(text, status)


def piece(template: str, address: str | None = None, **content: object) -> HTMLResponse:
    """A piece of a page; ``address`` becomes that of the page."""
    headers = {} if address is None else {"HX-Replace-Url": address}
    return HTMLResponse(render(template, **content), headers=headers)
