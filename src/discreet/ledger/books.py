"""The events of a ledger added up: reservations, openings, answers, returned budget, and everything that is wrong.

A reservation is *reserved*, then *opened* (from then on rows may have been read), then *committed* with its answer. One
that was never opened may be given back by a *release*; after that it can neither open nor commit. Ledgers of version 1
do not record openings: there a reservation that was not committed stays spent.

From version 3 on every 64th event is a *checkpoint*. It states what all events before it add up to, so that a release
adds up only what follows the last one. It names the first event, which holds the budget, and earlier checkpoints at
distances 1, 2, 4, 8 and so on. By these links any older event is found and proven to stand before the head in a few
steps. A ledger is only ever written from a state that was added up from a checkpoint before everything it depends on:
who opens or gives back an old reservation adds up from the checkpoint before that reservation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..databases.failures import StoreUnavailable
from ..errors import DiscreetError, InvalidInput, UnreadableFile
from .accounts import Accounts, Charge
from .budget import Cost, read_name
from .chain import Event, digest_of, next_event, read_chain
from .entries import LedgerReport, Reservation
from .provenance import UNKNOWN, Provenance, read_reason
from .stores.base import Store, StoreSession
from .terms import LedgerTerms

#: Version of new ledgers, in their first event. Version 2 added openings, version 3 checkpoints, version 4 provenance.
VERSION = 4

#: Version of new ledgers with accounts by period or the filter "either", which programs of version 4 do not know.
EXTENDED_VERSION = 5

#: Number of events from one checkpoint to the next; the numbers of checkpoints are its multiples.
STRIDE = 64


#: What the reason of a release is for.
RETURNED = "it is given back"


class Books:
    """The events of a ledger added up, and the problems among them.

    Attributes
    ----------
    start
        The number of the first event that was read: 1, or that of a checkpoint. Reservations before it are known only
        by later events about them.
    accounts
        The sums of what all events of the ledger spend, by period where it has periods.
    answered
        The number of answered questions in the whole ledger.
    """

    def __init__(self, session: StoreSession, start: int = 1) -> None:
        self.start = start
        self.events, self.problems = read_chain(session.rows(start), start)
        self.first: Event | None = None
        self.terms: LedgerTerms | None = None
        self.accounts = Accounts()
        self.answered = 0
        self.version = 1
        self.reserved: dict[int, Reservation] = {}
        self.opened: dict[int, Event] = {}
        self.given_back: dict[int, Event] = {}
        self.committed: dict[str, Event] = {}
        self.closed: Event | None = None
        for event in self.events:
            try:
                if event.number == start > 1:
                    self._resume(event, session)
                elif event.number == 1:
                    self._begin(event, session)
                else:
                    self._enter(event)
            except (DiscreetError, KeyError, TypeError, ValueError) as problem:
                why = str(problem) if isinstance(problem, DiscreetError) else "it lacks what such an event says."
                self.problems.append(f"event {event.number} is not valid: {why}")
                break
        if self.terms is None and not self.problems:
            self.problems.append("there is no event that opens the ledger.")

    @classmethod
    def recent(cls, session: StoreSession, since: int | None = None) -> Books:
        """Read the books from the last checkpoint on, or from the last one before event ``since``.

        A checkpoint that is the last event is checked against the one before it. A ledger without checkpoints is read
        whole.
        """
        first, _ = read_chain(session.rows(1, 1))
        if not first or not _has_checkpoints(first[0].content.get("version", 1)):
            return cls(session)
        last = session.last_number()
        place = last if since is None else min(since, last)
        return cls(session, max((place - 1) // STRIDE * STRIDE, 1))

    # -------------------------------------------------------------------------------------------- adding up

    def _begin(self, event: Event, session: StoreSession) -> None:
        """Read the terms from the first event."""
        if event.kind != "init":
            raise InvalidInput("it is not the event that opens a ledger.")
        secret = session.secret()
        if digest_of(secret) != event.content["key_sha256"]:
            raise InvalidInput("the secret key is not the one the ledger was opened with.")
        self.version = read_version(event.content)
        self.terms = LedgerTerms.from_json(event.content, secret)
        if self.terms.is_extended and self.version < EXTENDED_VERSION:
            raise InvalidInput(f"a ledger of version {self.version} has no periods, and no filter either.")
        self.first = event

    def _resume(self, checkpoint: Event, session: StoreSession) -> None:
        """Begin with the sums that a checkpoint states."""
        content = checkpoint.content
        first, problems = read_chain(session.rows(1, 1))
        if checkpoint.kind != "checkpoint" or problems or not first or first[0].hash != content["first"]:
            raise InvalidInput("it is not a checkpoint that names the first event of this ledger.")
        self._begin(first[0], session)
        self.accounts = Accounts.from_json(content["spent"])
        self.answered = int(content["answered"])

    def _enter(self, event: Event) -> None:
        content = event.content
        if self.closed is not None and event.kind != "checkpoint":
            raise InvalidInput("it comes after the event that closed the ledger.")
        if _has_checkpoints(self.version) and (event.kind == "checkpoint") != (event.number % STRIDE == 0):
            raise InvalidInput(f"every {STRIDE}th event is a checkpoint, and no other.")
        if event.kind == "reserve" and self.terms is not None:
            cost, key = Cost.from_json(content["cost"]), read_name(content["key"], "key")
            self.provenance_of(event)
            periods = self._periods(content)
            accounts = self.accounts.plus(self.terms.charge(cost), periods)
            if not all(self.terms.allow(spent) for _, spent in accounts.charged(periods)):
                raise InvalidInput("it costs more than was left.")
            self.accounts = accounts
            self.reserved[event.number] = Reservation(
                self.terms.ledger, event.number, key, cost, event.hash, event.time, periods
            )
        elif event.kind == "opened" and self.version > 1:
            self.refuse_used(content["reservation"], "opened")
            self.opened[content["reservation"]] = event
        elif event.kind == "release" and self.version > 1 and self.terms is not None:
            read_reason(content["because"], RETURNED)
            self.refuse_used(content["reservation"], "given back")
            charge = self._returned_charge(content)
            self.accounts = self.accounts.minus(self.terms.charge(charge.cost), charge.periods)
            self.given_back[content["reservation"]] = event
        elif event.kind == "commit":
            self._refuse_answer(content)
            self.committed[content["key"]] = event
            self.answered += 1
        elif event.kind == "checkpoint" and _has_checkpoints(self.version):
            self._compare(event)
        elif event.kind == "closed":
            read_name(content["to"], "address")
            self.closed = event
        elif event.kind == "copied":
            read_name(content["from"], "address")
        else:
            kind = str(event.kind)[:40]
            raise InvalidInput(f"a ledger of version {self.version} has no {kind!r} event after its first.")

    def refuse_closed(self, name: str) -> None:
        """Refuse to write to a ledger that was copied elsewhere."""
        if self.closed is not None:
            raise InvalidInput(f"{name} is closed: it was copied to {self.closed.content['to']}.", "Use that one.")

    def refuse_used(self, number: object, verb: str) -> None:
        """Refuse to open or give back anything but an unopened reservation."""
        if not isinstance(number, int) or not (self._is_older(number) or number in self.reserved):
            raise InvalidInput(f"event {number} is not a reservation, so it cannot be {verb}.")
        if number in self.given_back:
            raise InvalidInput(f"reservation {number} was given back, so it cannot be {verb}.")
        if number in self.opened:
            raise InvalidInput(f"reservation {number} was opened, so it cannot be {verb}.")

    def _periods(self, content: Mapping[str, object]) -> tuple[str, ...] | None:
        """Return the periods that an event names, or None for all; refuse another spelling than a ledger's."""
        if "periods" not in content:
            return None
        assert self.terms is not None
        periods = self.terms.read_periods(content["periods"])
        if list(periods or ()) != content["periods"]:
            raise InvalidInput("it does not name its periods in their order, each once.")
        return periods

    def _returned_charge(self, content: Mapping[str, Any]) -> Charge:
        """Return the charge that a release gives back: from version 3 on it states the charge, which must match."""
        reservation = self.reserved.get(content["reservation"])
        if reservation is not None and not _has_checkpoints(self.version):
            return Charge(reservation.cost)
        charge = Charge(Cost.from_json(content["cost"]), self._periods(content))
        if reservation is not None and charge != (reservation.cost, reservation.periods):
            raise InvalidInput(f"it gives back another cost than reservation {reservation.number} has.")
        return charge

    def _refuse_answer(self, content: Mapping[str, Any]) -> None:
        """Refuse a commit that is not the only answer to an opened reservation."""
        key, number = read_name(content["key"], "key"), content["reservation"]
        if not self._is_older(number):
            reservation = self.reserved.get(number)
            if reservation is None:
                raise InvalidInput("it is a commit without a reservation.")
            if self.version > 1 and number not in self.opened:
                raise InvalidInput(f"it answers reservation {number}, which was not opened.")
            if reservation.key != key:
                raise InvalidInput("it is not the one answer to what was reserved.")
        if key in self.committed:
            raise InvalidInput("it is not the one answer to what was reserved.")

    def _is_older(self, number: object) -> bool:
        """Return whether an event is older than those that were read."""
        return isinstance(number, int) and 1 <= number < self.start

    def provenance_of(self, reservation: Event) -> Provenance:
        """Return who reserved, and why: all unknown in ledgers before version 4."""
        known = has_provenance(self.version)
        return Provenance.from_json(reservation.content.get("provenance", {})) if known else UNKNOWN

    # -------------------------------------------------------------------------------------------- checkpoints

    def _state(self, earlier: Sequence[str]) -> dict[str, Any]:
        """Return the content of a checkpoint after these events."""
        assert self.first is not None
        spent = self.accounts.to_json()
        return {"first": self.first.hash, "spent": spent, "answered": self.answered, "earlier": list(earlier)}

    def _compare(self, checkpoint: Event) -> None:
        """Refuse a checkpoint whose sums are not those of the events before it."""
        links = checkpoint.content["earlier"]
        numbers = _linked_checkpoints(checkpoint.number)
        # hashes of checkpoints that were read; older ones cannot be compared here
        hashes = {number: self.events[number - self.start].hash for number in numbers if number >= self.start}
        if len(links) != len(numbers) or any(
            hashes.get(number, link) != link for number, link in zip(numbers, links, strict=True)
        ):
            raise InvalidInput("it does not name the checkpoints before it.")
        if checkpoint.content != self._state(links):
            raise InvalidInput("it states another sum than the events before it add up to.")

    def append(self, session: StoreSession, kind: str, content: Mapping[str, Any], time: str) -> Event:
        """Add an event to the ledger, and the checkpoint that is due after it."""
        event = self._append(session, kind, content, time)
        if kind == "commit" and _has_checkpoints(self.version):
            session.record_answer(content["key"], event.number)
        if _has_checkpoints(self.version) and (event.number + 1) % STRIDE == 0:
            links = [self.event(session, number).hash for number in _linked_checkpoints(event.number + 1)]
            self._append(session, "checkpoint", self._state(links), time)
        return event

    def _append(self, session: StoreSession, kind: str, content: Mapping[str, object], time: str) -> Event:
        event = next_event(self.events, kind, time, content)
        self._enter(event)
        self.events.append(event)
        session.append(event.row)
        return event

    def event(self, session: StoreSession, number: int) -> Event:
        """Return an event by its number; an event older than those read is proven to be in the chain.

        Links lead from checkpoint to checkpoint, each halving the distance, and from the first checkpoint after the
        event back to it.
        """
        if not isinstance(number, int) or not 1 <= number < self.start + len(self.events):
            raise _broken_link(number)
        if number >= self.start:
            return self.events[number - self.start]
        place, checkpoint = self.start, self.events[0]
        goal = -(-number // STRIDE) * STRIDE
        while place > goal:
            step = ((place - goal) // STRIDE).bit_length() - 1
            place -= STRIDE << step
            links = checkpoint.content.get("earlier")
            if not isinstance(links, list) or step >= len(links):
                raise _broken_link(number)
            checkpoint = _read_by_link(session, place, place, links[step])
        return _read_by_link(session, number, place, checkpoint.hash)

    # -------------------------------------------------------------------------------------------- answers

    def answer_to(self, session: StoreSession, key: str) -> Event | None:
        """Return the event that answers a question, or None."""
        if key in self.committed or self.start == 1:
            return self.committed.get(key)
        number = session.answer_number(key)
        if number is None:
            return None
        event = self.event(session, number)
        if not self._is_older(number) or event.kind != "commit" or event.content.get("key") != key:
            raise _wrong_list("it names an event that does not answer the question.")
        return event

    def reserved_for(self, session: StoreSession, commit: Event) -> Event:
        """Return the event of the reservation that a commit answers."""
        event = self.event(session, commit.content["reservation"])
        if event.kind != "reserve" or event.content.get("key") != commit.content["key"]:
            raise _broken_link(event.number)
        return event

    def refuse_lost_answers(self, session: StoreSession) -> None:
        """Refuse a store whose list of answers has another length: a question could be paid for twice."""
        if self.start > 1 and session.answer_count() != self.answered:
            raise _wrong_list("it has another length.")

    def answers(self) -> dict[int, Event]:
        """Return the commits by the number of their reservation."""
        return {event.content["reservation"]: event for event in self.committed.values()}

    # -------------------------------------------------------------------------------------------- what is wrong

    def checked_terms(self, name: str) -> LedgerTerms:
        """Return the terms; refuse books with problems."""
        if self.problems or self.terms is None:
            raise UnreadableFile(
                f"{name} was altered or is damaged: {self.problems[0]}", "See: discreet ledger verify."
            )
        return self.terms

    def orphans(self) -> tuple[Reservation, ...]:
        finished = {*self.answers(), *self.given_back}
        return tuple(entry for number, entry in self.reserved.items() if number not in finished)

    def lost_contents(self, session: StoreSession) -> list[str]:
        """Return problems with requests and answers that events name: missing in the store, or altered."""
        problems = [
            f"the {what} of event {event.number} is missing or was altered."
            for event in self.events
            for what in ("request", "answer")
            if what in event.content and session.content(str(event.content[what])) is None
        ]
        if _has_checkpoints(self.version) and not self.problems:
            committed = {key: event.number for key, event in self.committed.items()}
            if session.answer_numbers() != committed:
                problems.append("the list of recorded answers is not that of the events.")
        return problems


def _has_checkpoints(version: object) -> bool:
    return isinstance(version, int) and version >= 3


def _linked_checkpoints(number: int) -> list[int]:
    """Return the earlier checkpoints that a checkpoint names: those at distances 1, 2, 4, 8 and so on.

    >>> _linked_checkpoints(5 * STRIDE) == [4 * STRIDE, 3 * STRIDE, STRIDE]
    True
    """
    return [number - (STRIDE << step) for step in range(number.bit_length()) if number > STRIDE << step]


def _read_by_link(session: StoreSession, first: int, last: int, head: str) -> Event:
    """Read some events whose last has a known hash; return the first."""
    events, problems = read_chain(session.rows(first, last), first)
    if problems or not events or (events[-1].number, events[-1].hash) != (last, head):
        raise _broken_link(first)
    return events[0]


def _broken_link(number: object) -> UnreadableFile:
    return UnreadableFile(
        f"the ledger was altered or is damaged: event {number} is missing, or the chain does not lead to it.",
        "See: discreet ledger verify.",
    )


def _wrong_list(why: str) -> UnreadableFile:
    return UnreadableFile(
        f"the ledger was altered or is damaged: its list of recorded answers is not that of the events; {why}",
        "See: discreet ledger verify.",
    )


def read_version(content: Mapping[str, object]) -> int:
    """Read the version of a ledger from its first event."""
    version = content.get("version", 1)
    if type(version) is not int or not 1 <= version <= EXTENDED_VERSION:
        raise UnreadableFile(
            f"the ledger is of version {version!r}; this program reads 1 to {EXTENDED_VERSION}.", "Upgrade discreet."
        )
    return version


def has_provenance(version: int) -> bool:
    """Return whether ledgers of a version record who asked a question, and why."""
    return version >= 4


def verify_store(store: Store, heads: Sequence[str] = ()) -> LedgerReport:
    """Check a store in any state, even a damaged one; see :meth:`~discreet.ledger.ledger.Ledger.verify`."""
    try:
        problems = store.damage()
        with store.reading() as session:
            books = Books(session)
            problems += [*books.problems, *books.lost_contents(session)]
    except StoreUnavailable:
        raise
    except DiscreetError as problem:
        return LedgerReport((str(problem),), 0, "", None, None, (), store.name, tuple(heads))
    hashes = {event.hash for event in books.events}
    problems += [
        f"the published head {head[:16]} is not in it: an older copy was restored, or this is another ledger."
        for head in heads
        if head not in hashes
    ]
    head = books.events[-1].hash if books.events else ""
    if books.terms is None:
        return LedgerReport(tuple(problems), len(books.events), head, None, None, (), store.name, tuple(heads))
    spent, left = (compute(books.terms.rule) for compute in (books.accounts.spent, books.accounts.left))
    orphans = books.orphans()
    return LedgerReport(tuple(problems), len(books.events), head, spent, left, orphans, store.name, tuple(heads))
