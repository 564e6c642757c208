"""The page on which a person answers in a browser, and the files that it loads."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from ..collection import NAME
from ..service.problems import Problem
from ..service.registry import Registry
from ..service.routes import asked
from .assets import POLICY, answer_page, asset


class AnswerPage:
    """Serves ``/collections/NAME/answer`` and ``/browser/FILE``.

    Parameters
    ----------
    registry
        The collections of the service.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def router(self) -> APIRouter:
        """The routes; they are pages for people, so the description of the API leaves them out."""
        router = APIRouter()
        add = router.add_api_route
        add("/collections/{name}/answer", self.page, include_in_schema=False, response_class=Response)
        add("/browser/{name}", self.file, include_in_schema=False, response_class=Response)
        return router

    def page(self, name: Annotated[str, Path(pattern=f"^{NAME}$")]) -> Response:
        """The page of a collection."""
        collection = asked(lambda: self._registry.get(name)).collection
        return Response(answer_page(collection), media_type="text/html", headers={"Content-Security-Policy": POLICY})

    def file(self, name: str) -> Response:
        """A file that the page loads, or the test vectors."""
        found = asset(name)
        if found is None:
            raise Problem("not-found", "There is no file of this name.")
        return Response(found.content, media_type=found.media_type)
