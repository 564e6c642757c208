"""The events of a ledger added up: what was reserved, opened, answered and given back, and everything found wrong.

A reservation is *reserved*, then *opened* (from then on rows may have been read), then *committed* with its answer. One
that was never opened may be given back by a *release*; after that its number neither opens nor commits. Ledgers of
version 1 do not record openings: there a reservation that was not committed stays spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import DiscreetError, InvalidInput, UnreadableFile
from .budget import NOTHING, Cost, Terms, read_name
from .store import Event, Session, digest_of, read_chain

#: What the first event of a new ledger says it keeps: openings are recorded. Version 1, which says nothing, has none.
VERSION = 2


@dataclass(frozen=True)
class Reservation:
    """A cost that is spent, and the place in the ledger where that is written."""

    ledger: str
    number: int
    key: str
    cost: Cost
    head: str
    time: str


@dataclass(frozen=True)
class Recorded:
    """The committed answer to a question.

    Attributes
    ----------
    key, request, answer, cost
        What was asked and answered, and what that cost when it was new.
    number, head, time
        Where in the chain the answer stands, and since when. A bundle publishes ``head``.
    fresh, paid
        Whether the call that returned this drew the answer, and whether it spent anything. Of two processes that ask
        the same new question at once both have paid, and the answer of one is fresh.
    """

    key: str
    request: Mapping[str, Any]
    answer: bytes = field(repr=False)
    number: int
    head: str
    time: str
    cost: Cost
    fresh: bool = field(default=False, compare=False)
    paid: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Entry:
    """A reservation with what was asked, and the events that followed it; None where there is none (yet).

    Attributes
    ----------
    opened
        From here on rows may have been read.
    committed
        The answer was recorded.
    given_back
        It was released, and what it reserved is no longer spent.
    opening_recorded
        Whether this ledger records openings; if not, a reservation without one may have been opened.
    """

    reservation: Reservation
    request: Mapping[str, Any]
    committed: Event | None
    opened: Event | None = None
    given_back: Event | None = None
    opening_recorded: bool = True

    @property
    def state(self) -> str:
        """One of "answered", "given back", "opened", "reserved" (no row was read) and "not answered" (nobody knows)."""
        if self.committed is not None:
            return "answered"
        if self.given_back is not None:
            return "given back"
        if self.opened is not None:
            return "opened"
        return "reserved" if self.opening_recorded else "not answered"


@dataclass(frozen=True)
class LedgerReport:
    """What :meth:`Ledger.verify` found. ``problems`` is empty when the ledger holds."""

    problems: tuple[str, ...]
    events: int
    head: str
    spent: Cost | None
    left: Cost | None
    orphans: tuple[Reservation, ...]

    @property
    def holds(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        if self.problems:
            return "the ledger DOES NOT HOLD: " + " ".join(self.problems)
        orphans = f"; {len(self.orphans)} spent and not answered" * bool(self.orphans)
        return f"the ledger holds: {self.events} events in an unbroken chain, sums within the budget{orphans}."


class Books:
    """The events of a ledger added up, and everything found wrong on the way."""

    def __init__(self, session: Session) -> None:
        self.events, self.problems = read_chain(session.rows())
        self.terms: Terms | None = None
        self.total = NOTHING
        self.version = 1
        self.reserved: dict[int, Reservation] = {}
        self.opened: dict[int, Event] = {}
        self.given_back: dict[int, Event] = {}
        self.committed: dict[str, Event] = {}
        for event in self.events:
            try:
                self._enter(event, session)
            except (DiscreetError, KeyError, TypeError, ValueError) as problem:
                why = str(problem) if isinstance(problem, DiscreetError) else "it lacks what such an event says."
                self.problems.append(f"event {event.number} cannot be: {why}")
                break
        if self.terms is None and not self.problems:
            self.problems.append("there is no event that opens the ledger.")

    def _enter(self, event: Event, session: Session) -> None:
        said = event.content
        if event.kind == "init" and self.terms is None:
            secret = session.secret()
            if digest_of(secret) != said["key_sha256"]:
                raise InvalidInput("the secret key is not the one the ledger was opened with.")
            self.version = read_version(said)
            self.terms = Terms.from_description(said, secret)
        elif event.kind == "reserve" and self.terms is not None:
            cost, key = Cost.from_description(said["cost"]), read_name(said["key"], "key")
            total = self.terms.add(self.total, cost)
            if not self.terms.allow(total):
                raise InvalidInput("it costs more than was left.")
            self.total = total
            self.reserved[event.number] = Reservation(
                self.terms.ledger, event.number, key, cost, event.hash, event.time
            )
        elif event.kind == "opened" and self.version > 1:
            self.refuse_used(said["reservation"], "opened")
            self.opened[said["reservation"]] = event
        elif event.kind == "release" and self.version > 1:
            read_reason(said["because"])
            self.refuse_used(said["reservation"], "given back")
            self.given_back[said["reservation"]] = event
            self.total = self._spent()
        elif event.kind == "commit":
            reservation = self.reserved[said["reservation"]]
            if self.version > 1 and reservation.number not in self.opened:
                raise InvalidInput(f"it answers reservation {reservation.number}, which was not opened.")
            if reservation.key != said["key"] or said["key"] in self.committed:
                raise InvalidInput("it is not the one answer to what was reserved.")
            self.committed[reservation.key] = event
        else:
            raise InvalidInput("no such event belongs here.")

    def refuse_used(self, number: object, verb: str) -> None:
        """Refuse to open or give back what is not a reservation that only stands there."""
        if not isinstance(number, int) or number not in self.reserved:
            raise InvalidInput(f"event {number} is not a reservation, so it cannot be {verb}.")
        if number in self.given_back:
            raise InvalidInput(f"reservation {number} was given back, so it cannot be {verb}.")
        if number in self.opened:
            raise InvalidInput(f"reservation {number} was opened, so it cannot be {verb}.")

    def _spent(self) -> Cost:
        """The sum of what was reserved and not given back; the numbers are exact, so their order does not matter."""
        assert self.terms is not None
        total = NOTHING
        for number, reservation in self.reserved.items():
            if number not in self.given_back:
                total = self.terms.add(total, reservation.cost)
        return total

    def sound(self, name: str) -> Terms:
        """The terms; refuses books with anything wrong in them."""
        if self.problems or self.terms is None:
            raise UnreadableFile(f"{name} was altered or is damaged: {self.problems[0]} See: discreet ledger verify.")
        return self.terms

    def answers(self) -> dict[int, Event]:
        """The events that committed, by the number of what they committed."""
        return {event.content["reservation"]: event for event in self.committed.values()}

    def orphans(self) -> tuple[Reservation, ...]:
        done = {*self.answers(), *self.given_back}
        return tuple(entry for number, entry in self.reserved.items() if number not in done)

    def lost_contents(self, session: Session) -> list[str]:
        """Requests and answers that events name and the store no longer has as they were."""
        return [
            f"the {what} of event {event.number} is missing or was altered."
            for event in self.events
            for what in ("request", "answer")
            if what in event.content and session.content(str(event.content[what])) is None
        ]


def read_version(said: Mapping[str, Any]) -> int:
    """The version of a ledger, from its first event."""
    version = said.get("version", 1)
    if type(version) is not int or version not in (1, VERSION):
        raise UnreadableFile(f"the ledger is of version {version!r}; this program reads 1 and {VERSION}.")
    return version


def read_reason(text: object) -> str:
    """Why a reservation is given back, in words that can be shown on any terminal."""
    if not isinstance(text, str) or not text.strip() or len(text) > 500 or not text.isprintable():
        raise InvalidInput("say why it is given back: because='...', a text of 1 to 500 printable characters.")
    return text
