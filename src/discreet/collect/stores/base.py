"""The interface of a store of reports.

A store keeps collections, the count of each report under each mechanism, a trace of every counted batch (so that it is
counted once), and hashes of tokens. Reports are added to counts immediately: no row holds one report, and no
row joins a report with a batch, a token, an address or a time. A batch leaves the hash of its key, a digest of its body
under that key, and its day. The key is random and is not kept, so neither reveals the reports.

A database keeps more than its rows: the transaction and the order in which they were written. Together these reveal
which counts grew with which batch. So a store is *settled* every few seconds: all recent rows are rewritten
in one transaction, in an order that reveals nothing (:meth:`ReportStore.settle`).
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

#: Maximum number of traces for which settling rewrites all of them; beyond it, only the new ones.
MAX_REWRITTEN_TRACES = 50_000

#: Maximum number of days by which forgetting keys moves the horizon: it bounds the harm of a wrong clock.
MAX_DAYS_FORGOTTEN = 2

#: The first day of a counted key where no key was counted: a day after all others.
NO_DAY = 4_000_000


class Outcome(Enum):
    """The outcome of a batch."""

    #: Counted now, durably.
    STORED = "stored"
    #: Counted earlier, under the same key and with the same body.
    REPEATED = "repeated"
    #: The key belongs to a batch with another body; nothing was counted.
    CONFLICT = "conflict"
    #: The key is older than the stored traces, so it may have been counted; nothing was counted.
    EXPIRED = "expired"
    #: The day of the key is not accepted now. The key was not counted and never will be: its batch may be sent
    #: under a new key.
    WRONG_DAY = "wrong day"
    #: The horizon is ahead of the clock, so one of the two is wrong; nothing was counted. Once it is repaired, the same
    #: batch may be sent again under its key.
    POSTPONED = "postponed"


class Batch(NamedTuple):
    """Reports that arrived together.

    Attributes
    ----------
    mechanism
        The number of their mechanism in this store.
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
        Its identifier.
    text
        Its description as JSON, which the store does not read.
    mechanisms
        The numbers of its mechanisms in this store, in the order of the text.
    """

    name: str
    text: str
    mechanisms: tuple[int, ...]


@dataclass(frozen=True)
class StoredToken:
    """A token as a store keeps it: its right, and a hash of its secret.

    Attributes
    ----------
    name
        Its identifier: the first part of the token, which is public.
    secret_hash
        SHA-256 of the secret part.
    right
        "manage", "read" or "report".
    collection
        The only collection that it is valid for; None for all.
    """

    name: str
    secret_hash: bytes
    right: str
    collection: str | None


class NameTaken(InvalidInput):
    """An error: a collection of this name exists already."""


class ReportStore(ABC):
    """A store of the reports of many collections.

    ``add`` is called by one thread of a process at a time; everything else may be called by any thread. What a method
    wrote is durable when it returns. A store that cannot be reached raises
    :class:`~discreet.databases.failures.StoreUnavailable`.
    """

    #: True if several processes may write to it at a time.
    several_writers: ClassVar[bool]

    @abstractmethod
    def __init__(self, address: str) -> None:
        """Prepare the store at an address, without opening it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The address as people write it."""

    @abstractmethod
    def open(self) -> None:
        """Open it for writing; create it if it does not exist."""

    @abstractmethod
    def close(self) -> None:
        """Close it; everything that was added is durable already."""

    @abstractmethod
    def add(self, batches: Sequence[Batch]) -> list[Outcome]:
        """Count batches in one durable transaction, each at most once, and return their outcomes in order."""

    @abstractmethod
    def settle(self) -> None:
        """Remove the order in which batches arrived, and the link between counts and the batches they grew with.

        One transaction rewrites all counts in the order of their reports, and the traces of batches in the order of
        the hashes of their keys. Until then the database itself can join a batch with its reports, so the process that
        keeps a store open calls this every few seconds. Without new batches it does nothing.
        """

    @abstractmethod
    def key_days(self) -> KeyDays:
        """Return the days by which keys are judged now."""

    @abstractmethod
    def forget_keys(self) -> int:
        """Delete the traces of old batches, refuse keys of their days from now on, and return the number of traces.

        :func:`next_horizon` bounds the move of the horizon, whatever time the clock shows.
        """

    @abstractmethod
    def lower_horizon(self, day: int) -> None:
        """Accept keys from this day on again; called by :func:`~discreet.collect.stores.repair.repair`."""

    @abstractmethod
    def check_writable(self) -> None:
        """Write without changing anything, to raise the errors that writing a batch would raise."""

    @abstractmethod
    def create_collection(self, name: str, text: str, mechanisms: int) -> StoredCollection:
        """Keep a new collection with this number of mechanisms; raise :class:`NameTaken` if the name exists."""

    @abstractmethod
    def collection(self, name: str) -> StoredCollection | None:
        """Return the collection of this name, or None."""

    @abstractmethod
    def collection_names(self) -> list[str]:
        """Return all names, in order."""

    @abstractmethod
    def histogram(self, mechanism: int) -> dict[int, int]:
        """Return the count of each report (by its index) under a mechanism, read from counts."""

    @abstractmethod
    def add_token(self, token: StoredToken) -> None:
        """Keep a new token."""

    @abstractmethod
    def token(self, name: str) -> StoredToken | None:
        """Return the token of this name, or None."""

    @abstractmethod
    def remove_token(self, name: str) -> bool:
        """Delete a token; return True if it existed."""


class KeyDays(NamedTuple):
    """The days by which a store judges keys, as ordinals.

    Attributes
    ----------
    horizon
        The first day whose traces are complete: an earlier key may have been counted and forgotten.
    first
        The earliest day of any counted key: no earlier key was counted.
    clock
        The current day by the store's clock.
    """

    horizon: int
    first: int
    clock: int

    @property
    def today(self) -> int:
        """The current day: the clock's, or the horizon if the clock is behind it."""
        return max(self.clock, self.horizon)

    @property
    def is_spoilt(self) -> bool:
        """True if the horizon is too far ahead to accept a key of the clock's day: one of the two is wrong."""
        return self.horizon > self.clock + MAX_DAYS_AHEAD + 1

    def judge(self, day: int) -> Outcome:
        """Return the outcome of a new key of a day.

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
    """Return the next horizon, from the oldest and the newest day of a stored trace.

    Traces are kept for one day longer than their keys are accepted, for batches on their way. A clock that is ahead
    would forget needed traces: so the horizon never passes the newest trace, and moves by at most
    :data:`MAX_DAYS_FORGOTTEN` days at a time.

    >>> next_horizon(KeyDays(0, 90, 120), 90, 120), next_horizon(KeyDays(100, 90, 500), 101, 101)
    (77, 101)
    """
    if oldest is None or newest is None:
        return days.horizon
    start = days.horizon or oldest - KEY_DAYS - 1  # before the first move: the horizon of the oldest trace
    return max(days.horizon, min(days.today - KEY_DAYS - 1, newest, start + MAX_DAYS_FORGOTTEN))


def decide(
    batches: Sequence[Batch], known: Mapping[bytes, bytes], refused: Collection[bytes], days: KeyDays
) -> list[Outcome]:
    """Return the outcome of each batch of a group.

    A counted key stays known, whatever its day; one that was refused for its day stays refused. Otherwise a delayed
    copy of the request could be counted in addition to the same batch under a new key.

    Parameters
    ----------
    batches
        The batches in order of arrival.
    known
        Key that was counted earlier -> digest of its body.
    refused
        Keys that were refused for their day.
    days
        The days by which new keys are judged.

    Examples
    --------
    >>> twice = [Batch(1, 700_000, b"key", b"body", [3]), Batch(1, 700_000, b"key", b"body", [3])]
    >>> [one.value for one in decide(twice, {}, (), KeyDays(0, 0, 700_000))]
    ['stored', 'repeated']
    """
    digests, rejected = dict(known), set(refused)
    outcomes = []
    for batch in batches:
        outcome, digest = days.judge(batch.day), digests.get(batch.key)
        if digest is not None and batch.day >= days.horizon:
            outcome = Outcome.REPEATED if digest == batch.digest else Outcome.CONFLICT
        elif outcome is Outcome.STORED and batch.key in rejected:
            outcome = Outcome.WRONG_DAY
        elif outcome is Outcome.STORED:
            digests[batch.key] = batch.digest
        elif outcome is Outcome.WRONG_DAY:
            rejected.add(batch.key)
        outcomes.append(outcome)
    return outcomes


def refused_keys(batches: Iterable[Batch], outcomes: Iterable[Outcome], horizon: int) -> list[tuple[bytes, int]]:
    """Return the keys to keep as refused, ordered, with their days: those that a later clock could accept.

    They are kept until the horizon has passed their day, not for a time after the refusal: the clock was wrong then.
    """
    pairs = zip(batches, outcomes, strict=True)
    return sorted({(b.key, b.day) for b, outcome in pairs if outcome is Outcome.WRONG_DAY and b.day >= horizon})


def batches_to_count(batches: Iterable[Batch], outcomes: Iterable[Outcome]) -> list[Batch]:
    """Return the batches to count now, ordered by key: workers that lock rows in one order cannot deadlock."""
    new = [batch for batch, outcome in zip(batches, outcomes, strict=True) if outcome is Outcome.STORED]
    return sorted(new, key=lambda batch: batch.key)


def increments(batches: Iterable[Batch]) -> list[tuple[int, int, int]]:
    """Return the increments of the counts, in order: mechanism, report, and the number to add.

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
