"""Where a service has the page on which a person answers in a browser, and the files that it loads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Response

from ..collection import NAME, Collection
from .assets import POLICY, answer_page, asset


class AnswerPage:
    """Serves ``/collections/NAME/answer`` and ``/browser/FILE``.

    Parameters
    ----------
    find
        Gives the collection of a name, or refuses.
    """

    def __init__(self, find: Callable[[str], Collection]) -> None:
        self._find = find

    def router(self) -> APIRouter:
        """The routes; they are pages for people, so the description of the API leaves them out."""
        router = APIRouter()
        add = router.add_api_route
        add("/collections/{name}/answer", self.page, include_in_schema=False, response_class=Response)
        add("/browser/{name}", self.file, include_in_schema=False, response_class=Response)
        return router

    def page(self, name: Annotated[str, Path(pattern=f"^{NAME}$")]) -> Response:
        """The page of a collection."""
        text = answer_page(self._find(name))
        return Response(text, media_type="text/html", headers={"Content-Security-Policy": POLICY})

    def file(self, name: str) -> Response:
        """A file that the page loads, or the test vectors."""
        found = asset(name)
        if found is None:
            raise HTTPException(404)
        return Response(found.content, media_type=found.media_type)
