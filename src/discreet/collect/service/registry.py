"""The collections of a store in use by a service: read and proved once, then cached."""

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
from .problems import ApiError


@dataclass(frozen=True, eq=False)
class ActiveCollection:
    """A collection, the numbers of its mechanisms in the store, and its public description."""

    collection: Collection
    numbers: Mapping[str, int]
    description: Mapping[str, Json]


class Registry:
    """The collections of a store by name."""

    def __init__(self, store: ReportStore) -> None:
        self._store = store
        self._active: dict[str, ActiveCollection] = {}
        self._proof_lock = threading.Lock()
        self._lookups: dict[str, asyncio.Task[ActiveCollection | None]] = {}

    async def find_async(self, name: str) -> ActiveCollection | None:
        """Return the collection; concurrent requests for it share one thread."""
        if name in self._active:
            return self._active[name]
        task = self._lookups.get(name)
        if task is None:
            task = self._lookups[name] = asyncio.create_task(self._look_up(name))
            task.add_done_callback(lambda future: future.cancelled() or future.exception())  # the client may have left
        return await asyncio.shield(task)

    async def _look_up(self, name: str) -> ActiveCollection | None:
        try:
            return await run_in_threadpool(self.find, name)
        finally:
            del self._lookups[name]

    def find(self, name: str) -> ActiveCollection | None:
        """Return the collection; one that another worker made is looked up in the store and proved."""
        if name not in self._active:
            stored = self._store.collection(name)
            if stored is None:
                return None
            with self._proof_lock:  # each collection is proved once, also for concurrent requests
                if name not in self._active:
                    self._activate(stored, collection_from_text(name, stored.text))
        return self._active[name]

    def get(self, name: str) -> ActiveCollection:
        """Return the collection, or raise the problem that it does not exist."""
        active = self.find(name)
        if active is None:
            raise ApiError("not-found", "There is no collection of this name.")
        return active

    def create(self, name: str, content: object) -> tuple[ActiveCollection, bool]:
        """Make a collection, or find the one with the same description; return it and whether it is new."""
        collection = read_collection(name, content)
        _refuse_inestimable(collection)
        text = collection.text()
        try:
            stored = self._store.create_collection(name, text, len(collection.mechanisms))
        except NameTaken:
            existing = self._store.collection(name)
            assert existing is not None
            if read_json(existing.text, name) != read_json(text, name):
                raise ApiError("name-taken", "A collection of this name was made from another description.") from None
            return self._activate(existing, collection), False
        return self._activate(stored, collection), True

    def _activate(self, stored: StoredCollection, collection: Collection) -> ActiveCollection:
        names = list(read_json(stored.text, stored.name)["mechanisms"])  # the numbers follow the order of the text
        active = ActiveCollection(collection, dict(zip(names, stored.mechanisms, strict=True)), collection.to_json())
        self._active[stored.name] = active
        return active


def _refuse_inestimable(collection: Collection) -> None:
    """Refuse a collection that is too large to be estimated."""
    size = collection.space.size or 0
    if size > MOST_TRUTHS:
        raise InvalidInput(
            f"a collection may have {MOST_TRUTHS:,} true values; got {size:,}.",
            "Give a smaller range, or report in coarser steps.",
            argument="mechanisms",
        )
