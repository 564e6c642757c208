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
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, NamedTuple

from ...errors import InvalidInput
from ..keys import KEY_DAYS, MAX_DAYS_AHEAD

#: Up to so many traces of batches are all written anew when a store is settled; of more, those that came in since.
REWRITTEN = 50_000

#: Days by which the horizon moves at most when keys are forgotten: a clock that is wrong for a while does little harm.
MAX_DAYS_FORGOTTEN = 2

#: A day after all others: the first day of a counted key where none was counted.
NO_DAY = 4_000_000


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
    #: The day of the key is not one that is taken now. The key was not counted and never will be: its batch may be sent
    #: under a new key.
    WRONG_DAY = "wrong day"
    #: The horizon is ahead of the clock, so one of the two is wrong; nothing was counted. Once it is repaired, the same
    #: batch may be sent again under its key.
    POSTPONED = "postponed"


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
    :class:`~discreet.databases.failures.StoreUnavailable`.
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
    def key_days(self) -> KeyDays:
        """Return the days by which keys are judged now."""

    @abstractmethod
    def forget_keys(self) -> int:
        """Delete the traces of old batches, refuse keys of their days from now on, and return how many there were.

        The horizon moves as :func:`next_horizon` says, whatever the clock says.
        """

    @abstractmethod
    def lower_horizon(self, day: int) -> None:
        """Take keys from this day on again; for :func:`~discreet.collect.stores.repair.repair`, which knows which."""

    @abstractmethod
    def check_writable(self) -> None:
        """Write something that changes nothing; raises what writing a batch would raise."""

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


class KeyDays(NamedTuple):
    """The days by which a store judges keys, as ordinals.

    Attributes
    ----------
    horizon
        The first day whose traces are all kept: an earlier key may have been counted and forgotten.
    first
        The first day of any key that was ever counted: an earlier key was certainly not.
    clock
        The day it is by the clock of the store.
    """

    horizon: int
    first: int
    clock: int

    @property
    def today(self) -> int:
        """The day it is: by the clock, or the horizon where the clock is behind it."""
        return max(self.clock, self.horizon)

    @property
    def is_spoilt(self) -> bool:
        """Whether the horizon is so far ahead that no key of the clock's day is taken: one of the two is wrong."""
        return self.horizon > self.clock + MAX_DAYS_AHEAD + 1

    def judge(self, day: int) -> Outcome:
        """Return what becomes of a new key of a day.

        >>> [KeyDays(100, 90, 120).judge(day).value for day in (120, 121, 122, 105, 99, 89)]
        ['stored', 'stored', 'wrong day', 'wrong day', 'expired', 'wrong day']
        >>> KeyDays(485, 0, 120).judge(120).value
        'postponed'
        """
        if day >= self.horizon:
            return Outcome.STORED if self.today - KEY_DAYS <= day <= self.today + MAX_DAYS_AHEAD else Outcome.WRONG_DAY
        if day < self.first:
            return Outcome.WRONG_DAY
        is_taken_by_the_clock = self.clock - KEY_DAYS <= day <= self.clock + MAX_DAYS_AHEAD
        return Outcome.POSTPONED if self.is_spoilt and is_taken_by_the_clock else Outcome.EXPIRED


def next_horizon(days: KeyDays, oldest: int | None, newest: int | None) -> int:
    """Return the day before which traces are forgotten next, from the oldest and the newest day of a stored trace.

    Traces are kept for one day longer than their keys are taken, for batches on their way. A clock that is ahead would
    forget what is still needed: so the horizon never passes the newest trace, and moves by
    :data:`MAX_DAYS_FORGOTTEN` days at a time.

    >>> next_horizon(KeyDays(0, 90, 120), 90, 120), next_horizon(KeyDays(100, 90, 500), 101, 101)
    (77, 101)
    """
    if oldest is None or newest is None:
        return days.horizon
    reached = days.horizon or oldest - KEY_DAYS - 1  # where it would be if something had been forgotten so far
    return max(days.horizon, min(days.today - KEY_DAYS - 1, newest, reached + MAX_DAYS_FORGOTTEN))


def decide(
    batches: Sequence[Batch], known: Mapping[bytes, bytes], refused: Collection[bytes], days: KeyDays
) -> list[Outcome]:
    """Return what becomes of each batch of a group.

    A key that was counted is known whatever its day is now; one that was refused for its day stays refused, so that
    no copy of the request that is still on its way is counted beside the same batch under a new key.

    Parameters
    ----------
    batches
        In the order in which they came.
    known
        The keys among them that were counted before -> the digests of their bodies.
    refused
        The keys among them that were refused for their day.
    days
        By which new keys are judged.

    Examples
    --------
    >>> twice = [Batch(1, 700_000, b"key", b"body", [3]), Batch(1, 700_000, b"key", b"body", [3])]
    >>> [one.value for one in decide(twice, {}, (), KeyDays(0, 0, 700_000))]
    ['stored', 'repeated']
    """
    seen, never = dict(known), set(refused)
    outcomes = []
    for batch in batches:
        outcome, digest = days.judge(batch.day), seen.get(batch.key)
        if digest is not None and batch.day >= days.horizon:
            outcome = Outcome.REPEATED if digest == batch.digest else Outcome.CONFLICT
        elif outcome is Outcome.STORED and batch.key in never:
            outcome = Outcome.WRONG_DAY
        elif outcome is Outcome.STORED:
            seen[batch.key] = batch.digest
        elif outcome is Outcome.WRONG_DAY:
            never.add(batch.key)
        outcomes.append(outcome)
    return outcomes


def refused_keys(batches: Iterable[Batch], outcomes: Iterable[Outcome], horizon: int) -> list[tuple[bytes, int]]:
    """Return the keys to keep as refused, with the days they name, ordered: those that a clock could let in later.

    They are kept until the horizon has passed their own day. When they were refused says nothing: that clock was wrong.
    """
    pairs = zip(batches, outcomes, strict=True)
    return sorted({(one.key, one.day) for one, outcome in pairs if outcome is Outcome.WRONG_DAY and one.day >= horizon})


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
