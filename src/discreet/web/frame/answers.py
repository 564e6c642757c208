"""Responses of the pages: a whole page in its frame, or a piece that htmx puts into one."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse

from .rendering import render


def page(
    request: Request, template: str, *, title: str, eyebrow: str, tab: str, charts: bool = False, status: int = 200,
    **content: object,
) -> HTMLResponse:  # fmt: skip
    """Return a whole page.

    Parameters
    ----------
    request
        The request, whose session the page carries.
    template
        The template of its content.
    title, eyebrow, tab
        The heading, the words above it, and the entry of the menu that is marked.
    charts
        True if it draws charts.
    """
    session = request.state.session
    token = "" if session is None else session.csrf_token
    text = render(template, title=title, eyebrow=eyebrow, tab=tab, charts=charts, csrf_token=token, **content)
    return HTMLResponse(text, status)


def piece(template: str, address: str | None = None, **content: object) -> HTMLResponse:
    """Return a piece of a page, which gets ``address`` as its own if that is given."""
    headers = {} if address is None else {"HX-Replace-Url": address}
    return HTMLResponse(render(template, **content), headers=headers)
