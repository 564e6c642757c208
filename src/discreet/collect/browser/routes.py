"""Routes of the page on which a person answers in a browser, and of the files that it loads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request, Response
from starlette.types import Scope

from ..collection import NAME
from ..encoded import EncodedAnswer, encode, respond
from .assets import MEDIA_TYPES, POLICY, asset


class AnswerPage:
    """The routes ``/collections/NAME/answer`` and ``/browser/FILE``.

    Parameters
    ----------
    page_of
        Returns the page of a collection by its name, or refuses.
    """

    def __init__(self, page_of: Callable[[str], Awaitable[EncodedAnswer]]) -> None:
        self._page_of = page_of

    @staticmethod
    def takes(scope: Scope) -> bool:
        """Return whether a request is for a page or its files."""
        path: str = scope["path"]
        return path.startswith("/browser/") or (path.startswith("/collections/") and path.endswith("/answer"))

    def router(self) -> APIRouter:
        """Return the routes; they are pages for people, so the API description omits them."""
        router = APIRouter()
        add = router.add_api_route
        add("/collections/{name}/answer", self.page, include_in_schema=False, response_class=Response)
        add("/browser/{name}", self.file, include_in_schema=False, response_class=Response)
        return router

    async def page(self, name: Annotated[str, Path(pattern=f"^{NAME}$")], request: Request) -> Response:
        """Return the page of a collection."""
        return respond(request, await self._page_of(name), {"Content-Security-Policy": POLICY})

    async def file(self, name: str, request: Request) -> Response:
        """Return a file that the page loads, or the test vectors."""
        answer = _known_files().get(name)
        if answer is None:
            raise HTTPException(404)
        return respond(request, answer)


@cache
def _known_files() -> dict[str, EncodedAnswer]:
    """Return the files as they are sent, each read once."""
    files = {name: asset(name) for name in MEDIA_TYPES}
    return {name: encode(file.content.encode(), _media_type(file.media_type)) for name, file in files.items() if file}


def _media_type(kind: str) -> str:
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
