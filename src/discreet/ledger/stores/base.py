"""The interface between a ledger and a database.

A store keeps four things, and only adds to them: numbered events, the contents they name by digest, the ledger's secret
key, and the number of the event that answers each question.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from ...databases.failures import write_with_retries
from ...sources.packed import UnpackedTooLarge, unpack_zlib
from ..chain import EventRow, digest_of

T = TypeVar("T")

#: Maximum size of unpacked content in bytes, far above that of any release; larger claims are not believed.
MAX_CONTENT_BYTES = 2**31


class StoreSession(ABC):
    """A transaction on a store. All its reads see one moment."""

    @abstractmethod
    def rows(self, first: int = 1, last: int | None = None) -> list[EventRow]:
        """Return the events from ``first`` to ``last`` (inclusive), in order; by default all."""

    @abstractmethod
    def last_number(self) -> int:
        """Return the largest number of an event, without reading the others; 0 in an empty store."""

    @abstractmethod
    def append(self, row: EventRow) -> None:
        """Add an event; refuse an existing number or hash."""

    @abstractmethod
    def record_answer(self, key: str, number: int) -> None:
        """Record which event answers a question; refuse an existing key."""

    @abstractmethod
    def answer_number(self, key: str) -> int | None:
        """Return the number of the event that answers a question, without reading the others, or None."""

    @abstractmethod
    def answer_count(self) -> int:
        """Return the number of answered questions."""

    @abstractmethod
    def answer_numbers(self) -> dict[str, int]:
        """Return the number of the answering event, by the key of its question."""

    @abstractmethod
    def put_content(self, digest: str, size: int, packed: bytes) -> None:
        """Keep compressed bytes under their digest; an existing entry stays."""

    @abstractmethod
    def get_content(self, digest: str) -> tuple[object, object] | None:
        """Return the size and the compressed bytes under a digest, unchecked, or None."""

    @abstractmethod
    def secret(self) -> bytes:
        """Return the secret key; empty if the store has none."""

    def role(self) -> str | None:
        """Return the database role of the session; None in a store without roles."""
        return None

    def keep(self, content: bytes) -> str:
        """Keep a request or an answer; return its digest, by which an event names it."""
        digest = digest_of(content)
        self.put_content(digest, len(content), zlib.compress(content))
        return digest

    def content(self, digest: str) -> bytes | None:
        """Return the content under a digest, checked against it; None if it is missing or altered."""
        entry = self.get_content(digest)
        if entry is None:
            return None
        size, packed = entry
        if not isinstance(size, int) or not isinstance(packed, bytes):
            return None
        try:
            content = unpack_zlib(packed, min(max(size, 0), MAX_CONTENT_BYTES))  # at most the stated size
        except (zlib.error, UnpackedTooLarge):
            return None
        return content if digest_of(content) == digest else None


class Store(ABC):
    """A store of one ledger, for several processes and threads at once.

    ``writing`` must exclude other writers from its beginning to its end, and its writes must be durable when it ends;
    an exception inside it leaves the store unchanged. A store that cannot be reached raises
    :class:`~discreet.databases.failures.StoreUnavailable`, and one that is not a ledger ``UnreadableFile``.
    """

    @abstractmethod
    def __init__(self, address: str | Path) -> None:
        """Refer to a store by its address; nothing is opened yet."""

    @classmethod
    @abstractmethod
    def create(
        cls, address: str | Path, first: EventRow, secret: bytes, fill: Callable[[StoreSession], None] | None = None
    ) -> Store:
        """Make a store with its first event, in one step; if several processes try, one succeeds.

        ``fill`` adds more in the same step, so that an incomplete store never exists.
        """

    @property
    @abstractmethod
    def name(self) -> str:
        """Address of the store, as people write it."""

    @property
    @abstractmethod
    def folder(self) -> Path | None:
        """Folder that answers are stored in; None if it is not on this machine."""

    @abstractmethod
    def exists(self) -> bool:
        """Return whether something exists at its address."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[StoreSession]:
        """Begin a transaction that only reads."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[StoreSession]:
        """Begin a transaction that writes, and excludes other writers."""

    def write(self, step: Callable[[StoreSession], T]) -> T:
        """Run a step in a transaction that writes; return its result once it is durable.

        If the database rolls the transaction back because of another one, the step runs again, a few times with short
        waits; so a step must read and write through its session only. Other failures are not repeated, since the step
        may have been written.
        """

        def transaction() -> T:
            with self.writing() as session:
                return step(session)

        return write_with_retries(transaction)

    @abstractmethod
    def damage(self) -> list[str]:
        """Return the problems that the database's own check reports."""
