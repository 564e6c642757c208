"""What a ledger needs of a database.

A store keeps four things, and only ever adds to them: numbered events, the contents they name by digest, the ledger's
secret key, and the place of every recorded answer by the key of its question.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from ...databases.failures import write_patiently
from ...sources.packed import TooLarge, unpack_zlib
from ..chain import Row, digest_of

T = TypeVar("T")

#: The largest content that is unpacked, in bytes: far above that of any release, whatever a ledger says it holds.
MAX_CONTENT_BYTES = 2**31


class Session(ABC):
    """One transaction on a store. All that is read in it belongs to one moment."""

    @abstractmethod
    def rows(self, first: int = 1, last: int | None = None) -> list[Row]:
        """The events from one number to another, both included, in order; by default all of them."""

    @abstractmethod
    def last_number(self) -> int:
        """The largest number of an event; 0 if there is none. Found without reading the others."""

    @abstractmethod
    def append(self, row: Row) -> None:
        """Add an event; a number or a hash that is there already is refused."""

    @abstractmethod
    def record_answer(self, key: str, number: int) -> None:
        """Remember which event answers a question, to find it again; a key that is there already is refused."""

    @abstractmethod
    def answer_number(self, key: str) -> int | None:
        """The event that answers a question; None if there is none. Found without reading the others."""

    @abstractmethod
    def answer_count(self) -> int:
        """How many questions are answered."""

    @abstractmethod
    def answer_numbers(self) -> dict[str, int]:
        """Every answered question and the event that answers it."""

    @abstractmethod
    def put_content(self, digest: str, size: int, packed: bytes) -> None:
        """Keep compressed bytes under their digest; one that is there already is left as it is."""

    @abstractmethod
    def get_content(self, digest: str) -> tuple[object, object] | None:
        """The size and the compressed bytes under a digest, unchecked; None if there are none."""

    @abstractmethod
    def secret(self) -> bytes:
        """The secret key; empty if there is none."""

    def keep(self, content: bytes) -> str:
        """Keep a request or an answer; returns its digest, by which an event names it."""
        digest = digest_of(content)
        self.put_content(digest, len(content), zlib.compress(content))
        return digest

    def content(self, digest: str) -> bytes | None:
        """What was kept under this digest, checked against it; None if it is missing or altered."""
        kept = self.get_content(digest)
        if kept is None:
            return None
        size, packed = kept
        if not isinstance(size, int) or not isinstance(packed, bytes):
            return None
        try:
            content = unpack_zlib(packed, min(max(size, 0), MAX_CONTENT_BYTES))  # no more than it says it is
        except (zlib.error, TooLarge):
            return None
        return content if digest_of(content) == digest else None


class Store(ABC):
    """A place that keeps one ledger, for several processes and threads at once.

    ``writing`` must exclude every other writer from its beginning to its end, and what was written must be durable when
    it ends; an exception inside it leaves the store as it was. A store that cannot be reached raises
    :class:`~discreet.databases.failures.StoreUnavailable`, and one that holds something else than a ledger
    ``UnreadableFile``.
    """

    @abstractmethod
    def __init__(self, address: str | Path) -> None:
        """The store at an address; nothing is opened yet."""

    @classmethod
    @abstractmethod
    def create(
        cls, address: str | Path, first: Row, secret: bytes, fill: Callable[[Session], None] | None = None
    ) -> Store:
        """Make a store with its first event, in one step; of several processes that try, one succeeds.

        ``fill`` writes what else belongs to that one step: a store that is not whole is never there.
        """

    @property
    @abstractmethod
    def name(self) -> str:
        """Where it is, as people write it: an address that opens it again."""

    @property
    @abstractmethod
    def folder(self) -> Path | None:
        """The folder whose disk an answer takes room on; None if it is not on this machine."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is something at its address."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Session]:
        """A transaction that only reads."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Session]:
        """A transaction that writes, alone."""

    def write(self, step: Callable[[Session], T]) -> T:
        """Do a step in a transaction that writes, and return what it returns when it is durable.

        Where the database undid the transaction because of another one, the step is done again in a new one, a few
        times with short waits. So a step reads and writes through its session alone. Whatever else fails is not
        repeated: whether it was written may not be known.
        """

        def transaction() -> T:
            with self.writing() as session:
                return step(session)

        return write_patiently(transaction)

    @abstractmethod
    def damage(self) -> list[str]:
        """What the database itself finds wrong with what it keeps."""
