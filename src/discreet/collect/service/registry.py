"""The collections of a store as a service uses them: read and proved once, then kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import InvalidInput
from ...estimation.model.problem import MOST_TRUTHS
from ...report import Json
from ...strict_json import read_json
from ..collection import Collection, collection_from_text, read_collection
from ..stores.base import NameTaken, ReportStore, StoredCollection
from .problems import Problem


@dataclass(frozen=True)
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

    def known(self, name: str) -> Served | None:
        """The collection, if it was used before in this process."""
        return self._served.get(name)

    def find(self, name: str) -> Served | None:
        """The collection, looked up in the store if it is not known yet: another worker may have made it."""
        if name not in self._served:
            kept = self._store.collection(name)
            if kept is None:
                return None
            self._serve(kept, collection_from_text(name, kept.text))
        return self._served[name]

    def get(self, name: str) -> Served:
        """The collection, or the problem that there is none."""
        found = self.find(name)
        if found is None:
            raise Problem("not-found", "There is no collection of this name.")
        return found

    def create(self, name: str, content: object) -> tuple[Served, bool]:
        """Make a collection, or find the one that was made from the same description; says whether it is new."""
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
    """Refuse a collection of which no estimate could ever be made."""
    size = collection.space.size or 0
    if size > MOST_TRUTHS:
        raise InvalidInput(
            f"a collection may have {MOST_TRUTHS:,} true values; got {size:,}.",
            "Give a smaller range, or report in coarser steps.",
            argument="mechanisms",
        )
