"""What the service needs of a database.

A store keeps collections, how often each report came in under each mechanism, a trace of every batch that was counted
(so that it is counted once), and hashes of tokens. Reports are added to counts at once: no row holds one report, and no
row joins a report with a batch, a token, an address or a time. A batch leaves the hash of its key, a digest of its body
under that key, and its day. The key is random and is not kept, so neither tells what the batch reported.

A database keeps more than its rows: in which transaction and in which order they were written. Joined, that tells which
counts grew with which batch. So a store is *settled* every few seconds: everything that came in since is written
anew in one transaction, in an order that says nothing (:meth:`ReportStore.settle`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, NamedTuple

from ...errors import InvalidInput

#: Up to so many traces of batches are all written anew when a store is settled; of more, those that came in since.
REWRITTEN = 50_000


class Outcome(Enum):
    """What became of a batch."""

    #: Counted now, durably.
    STORED = "stored"
    #: Counted before, under the same key and with the same body.
    REPEATED = "repeated"
    #: The key belongs to a batch with another body; nothing was counted.
    CONFLICT = "conflict"
    #: The key is older than the traces that are kept, so it is not known whether it was counted; nothing was counted.
    EXPIRED = "expired"


class Batch(NamedTuple):
    """Reports that came in together.

    Attributes
    ----------
    mechanism
        The number of the mechanism that made them, in this store.
    day
        The day that the key carries, as a proleptic Gregorian ordinal.
    key
        A hash of the key.
    digest
        A digest of the body under the key.
    reports
        The indices of the reports.
    """

    mechanism: int
    day: int
    key: bytes
    digest: bytes
    reports: Sequence[int]


@dataclass(frozen=True)
class StoredCollection:
    """A collection as a store keeps it.

    Attributes
    ----------
    name
        By which it is found.
    text
        What it is, as JSON; the store does not read it.
    mechanisms
        The numbers of its mechanisms in this store, in the order of the text.
    """

    name: str
    text: str
    mechanisms: tuple[int, ...]


@dataclass(frozen=True)
class StoredToken:
    """A token as a store keeps it: what it may do, and a hash of its secret.

    Attributes
    ----------
    name
        By which it is found; it is the first part of the token and no secret.
    secret_hash
        SHA-256 of the secret part.
    right
        "manage", "read" or "report".
    collection
        The one collection that it is for; None for all.
    """

    name: str
    secret_hash: bytes
    right: str
    collection: str | None


class NameTaken(InvalidInput):
    """A collection of this name exists already."""


class ReportStore(ABC):
    """A place that keeps the reports of many collections.

    ``add`` is called by one thread of a process at a time; everything else may be called by any thread. What a method
    wrote is durable when it returns. A store that cannot be reached raises
    :class:`~discreet.ledger.stores.base.StoreUnavailable`.
    """

    #: Whether several processes may write to it at once.
    several_writers: ClassVar[bool]

    @abstractmethod
    def __init__(self, address: str) -> None:
        """The store at an address; nothing is opened yet."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Where it is, as people write it."""

    @abstractmethod
    def open(self) -> None:
        """Open it for writing, and make it if there is none."""

    @abstractmethod
    def close(self) -> None:
        """Let it go; everything that was added is durable already."""

    @abstractmethod
    def add(self, batches: Sequence[Batch]) -> list[Outcome]:
        """Count batches in one durable transaction, each at most once; says what became of each, in order."""

    @abstractmethod
    def settle(self) -> None:
        """Remove what tells in which order batches came, and which counts grew with which batch.

        All counts are written anew in one transaction, in the order of their reports, and so are the traces of
        batches, in the order of the hashes of their keys. Until then the database itself can join a batch with
        its reports: whoever keeps a store open calls this every few seconds. Nothing is done if nothing came in.
        """

    @abstractmethod
    def forget_keys(self, before: int) -> int:
        """Delete the traces of batches of earlier days, and refuse such keys from now on; says how many there were."""

    @abstractmethod
    def create_collection(self, name: str, text: str, mechanisms: int) -> StoredCollection:
        """Keep a new collection with so many mechanisms; :class:`NameTaken` if there is one of this name."""

    @abstractmethod
    def collection(self, name: str) -> StoredCollection | None:
        """The collection of this name, if there is one."""

    @abstractmethod
    def collection_names(self) -> list[str]:
        """All names, in order."""

    @abstractmethod
    def histogram(self, mechanism: int) -> dict[int, int]:
        """How often each report was made under a mechanism: index -> times. Read from counts, whatever their sum."""

    @abstractmethod
    def add_token(self, token: StoredToken) -> None:
        """Keep a new token."""

    @abstractmethod
    def token(self, name: str) -> StoredToken | None:
        """The token of this name, if there is one."""

    @abstractmethod
    def remove_token(self, name: str) -> bool:
        """Forget a token; says whether there was one."""


def decide(batches: Sequence[Batch], known: Mapping[bytes, bytes], horizon: int) -> list[Outcome]:
    """What becomes of each batch of a group.

    Parameters
    ----------
    batches
        In the order in which they came.
    known
        The keys among them that were counted before -> the digests of their bodies.
    horizon
        The first day whose keys are kept.

    Examples
    --------
    >>> twice = [Batch(1, 700_000, b"key", b"body", [3]), Batch(1, 700_000, b"key", b"body", [3])]
    >>> [one.value for one in decide(twice, {}, 0)]
    ['stored', 'repeated']
    """
    seen = dict(known)
    outcomes = []
    for batch in batches:
        digest = seen.get(batch.key)
        if batch.day < horizon:
            outcomes.append(Outcome.EXPIRED)
        elif digest is None:
            seen[batch.key] = batch.digest
            outcomes.append(Outcome.STORED)
        else:
            outcomes.append(Outcome.REPEATED if digest == batch.digest else Outcome.CONFLICT)
    return outcomes


def stored(batches: Iterable[Batch], outcomes: Iterable[Outcome]) -> list[Batch]:
    """The batches that are counted now, ordered by key: workers that lock rows in one order never wait in a circle."""
    new = [batch for batch, outcome in zip(batches, outcomes, strict=True) if outcome is Outcome.STORED]
    return sorted(new, key=lambda batch: batch.key)


def increments(batches: Iterable[Batch]) -> list[tuple[int, int, int]]:
    """What batches add to the counts, in order: mechanism, report, how much more often it was made.

    >>> increments([Batch(1, 0, b"a", b"", [3, 3, 5]), Batch(1, 0, b"b", b"", [5])])
    [(1, 3, 2), (1, 5, 2)]
    """
    counts: dict[int, Counter[int]] = {}
    for batch in batches:
        counts.setdefault(batch.mechanism, Counter()).update(batch.reports)
    return [
        (mechanism, report, times)
        for mechanism in sorted(counts)
        for report, times in sorted(counts[mechanism].items())
    ]
