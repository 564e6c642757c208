"""The collections of a store as a service uses them: read and proved once, then kept."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool

from ...errors import InvalidInput
from ...estimation.model.problem import MOST_TRUTHS
from ...report import Json
from ...strict_json import read_json
from ..collection import Collection, collection_from_text, read_collection
from ..stores.base import NameTaken, ReportStore, StoredCollection
from .problems import Problem


@dataclass(frozen=True, eq=False)
class Served:
    """A collection, the numbers of its mechanisms in the store, and its public description."""

    collection: Collection
    numbers: Mapping[str, int]
    description: Mapping[str, Json]


class Registry:
    """The collections of a store by name."""

    def __init__(self, store: ReportStore) -> None:
        self._store = store
        self._served: dict[str, Served] = {}
        self._proving = threading.Lock()
        self._under_way: dict[str, asyncio.Task[Served | None]] = {}

    async def served(self, name: str) -> Served | None:
        """Return the collection; concurrent requests for it share one thread."""
        if name in self._served:
            return self._served[name]
        task = self._under_way.get(name)
        if task is None:
            task = self._under_way[name] = asyncio.create_task(self._looked_up(name))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # the client may have left
        return await asyncio.shield(task)

    async def _looked_up(self, name: str) -> Served | None:
        try:
            return await run_in_threadpool(self.find, name)
        finally:
            del self._under_way[name]

    def find(self, name: str) -> Served | None:
        """Return the collection; one that another worker made is looked up in the store and proved."""
        if name not in self._served:
            kept = self._store.collection(name)
            if kept is None:
                return None
            with self._proving:  # each collection is proved once, also for concurrent requests
                if name not in self._served:
                    self._serve(kept, collection_from_text(name, kept.text))
        return self._served[name]

    def get(self, name: str) -> Served:
        """Return the collection, or raise the problem that it does not exist."""
        served = self.find(name)
        if served is None:
            raise Problem("not-found", "There is no collection of this name.")
        return served

    def create(self, name: str, content: object) -> tuple[Served, bool]:
        """Make a collection, or find the one with the same description; return it and whether it is new."""
        collection = read_collection(name, content)
        _refuse_inestimable(collection)
        text = collection.text()
        try:
            kept = self._store.create_collection(name, text, len(collection.mechanisms))
        except NameTaken:
            there = self._store.collection(name)
            assert there is not None
            if read_json(there.text, name) != read_json(text, name):
                raise Problem("name-taken", "A collection of this name was made from another description.") from None
            return self._serve(there, collection), False
        return self._serve(kept, collection), True

    def _serve(self, kept: StoredCollection, collection: Collection) -> Served:
        names = list(
            read_json(kept.text, kept.name)["mechanisms"]
        )  # in the order of the text, which the numbers are in
        served = Served(collection, dict(zip(names, kept.mechanisms, strict=True)), collection.to_json())
        self._served[kept.name] = served
        return served


def _refuse_inestimable(collection: Collection) -> None:
    """Refuse a collection that is too large to be estimated."""
    size = collection.space.size or 0
    if size > MOST_TRUTHS:
        raise InvalidInput(
            f"a collection may have {MOST_TRUTHS:,} true values; got {size:,}.",
            "Give a smaller range, or report in coarser steps.",
            argument="mechanisms",
        )
