"""The ledger: a budget that is spent before noise is drawn, and that refuses what it does not cover.

A ledger binds a data set, the privacy unit, the neighbour relation and a budget. Every release first *reserves* its
cost; it is *opened* before the first row can be read, and *committed* with its answer. If the program is killed, a
reservation that was opened and not committed stays spent: its noise may have been seen. One that was not opened can be
given back (:meth:`Ledger.release`), after which it can never open.

How costs add up, and why that is valid for questions that depend on earlier answers, is in :mod:`.filters`. A ledger
by period has an account for each period (:mod:`.accounts`).

The hash chain reveals alterations to anyone with the file, and a restored old copy to anyone with a bundle that was
published since: its head is then unknown. The chain is not a signature: someone who can write the file, while no bundle
has been published, can write a new chain.

Paying, opening, committing, giving back and looking up an answer read the end of the chain, as :mod:`.books` explains.
:meth:`Ledger.verify`, :meth:`Ledger.events`, :meth:`Ledger.entries`, :meth:`Ledger.orphans` and
:meth:`Ledger.contains` read all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import BudgetExceeded, InvalidInput, InWords, UnreadableFile, WrongType, arg
from ..strict_json import read_json
from .accounts import Charge
from .books import EXTENDED_VERSION, RETURNED, VERSION, Books, has_provenance, verify_store
from .budget import Cost, read_name
from .chain import Event, canonical_json, digest_of, next_event
from .copy import close_and_copy
from .entries import LedgerEntry, LedgerReport, RecordedAnswer, Reservation
from .provenance import Provenance, read_reason
from .statement import LedgerStatement, release_line
from .stores.base import Store, StoreSession
from .stores.open import create_store, open_store
from .terms import LedgerTerms, init_line, proposal

__all__ = [
    "Charge",
    "Cost",
    "LedgerEntry",
    "Event",
    "Ledger",
    "LedgerReport",
    "LedgerStatement",
    "RecordedAnswer",
    "Reservation",
    "LedgerTerms",
    "init_line",
    "release_line",
]


class Ledger:
    """A budget for one data set, which several processes may spend from and none can overspend.

    Examples
    --------
    >>> import tempfile
    >>> from fractions import Fraction
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.create(f"{folder}/study.ledger", dataset="visits", unit="person", epsilon=3)
    ...     paid = ledger.reserve("question 1", {"question": "SELECT COUNT(*) FROM visits"}, Cost(Fraction(1)))
    ...     ledger.mark_opened(paid)  # from here on rows may be read
    ...     kept = ledger.commit(paid, b"the noisy answer")
    ...     ledger.recorded("question 1").answer, ledger.left().epsilon, ledger.verify().holds
    (b'the noisy answer', Fraction(2, 1), True)
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.reading() as session:
            books = Books.recent(session)
        self._terms, self._version = books.checked_terms(store.name), books.version

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        dataset: str,
        unit: str,
        relation: str = "add-remove",
        epsilon: object,
        delta: object = 0,
        filter: str = "sum",
        per: str | None = None,
        own_delta: object = 0,
    ) -> Ledger:
        """Make a new ledger; refuse an existing file.

        Parameters
        ----------
        path
            The file to make, or an address.
        dataset, unit, relation
            The data set, the privacy unit ("row" or a column), and the neighbour relation.
        epsilon, delta
            The budget; with ``per``, that of each period.
        filter
            How costs add up: "sum" (epsilons, deltas), "zcdp" (rho), or "either" (what the two sums allow together).
        per
            The granularity of the periods that have an account each: "day", "week", "month", "quarter" or "year".
        own_delta
            With the filter "either": the part of delta for releases with a delta of their own, such as discovery.
        """
        terms = LedgerTerms.new(dataset, unit, relation, epsilon, delta, filter, per=per, own_delta=own_delta)
        version = EXTENDED_VERSION if terms.is_extended else VERSION
        # the digest binds the secret key to the chain without revealing it
        content = {**terms.to_json(), "version": version, "key_sha256": digest_of(terms.key)}
        first = next_event([], "init", _now(), content)
        return cls(create_store(path, first.row, terms.key))

    @classmethod
    def open(cls, path: str | Path, *, hint: Mapping[str, object] | None = None) -> Ledger:
        """Open a ledger that exists.

        ``hint`` holds known options of ``discreet ledger init`` (data, dataset, unit, relation, epsilon, delta,
        filter, per), and the ``cost`` of the release that needs a ledger: for the error of a missing ledger, which
        shows the command to type.
        """
        store = open_store(path)
        if not store.exists():
            raise UnreadableFile(f"there is no ledger {path}.", proposal(path, hint or {}))
        return cls(store)

    @property
    def terms(self) -> LedgerTerms:
        return self._terms

    @property
    def version(self) -> int:
        """The version that the ledger states in its first event."""
        return self._version

    @property
    def name(self) -> str:
        """Address of the ledger."""
        return self._store.name

    @property
    def folder(self) -> Path | None:
        """Folder that answers are stored in; None if it is not on this machine."""
        return self._store.folder

    def __repr__(self) -> str:
        return f"<Ledger {self.name} of {self._terms.dataset!r}, unit {self._terms.unit!r}>"

    def check_terms(self, dataset: str, unit: str, relation: str, per: str | None = None) -> None:
        """Refuse a question about another data set, unit, granularity or neighbour relation than the ledger has."""
        terms = self._terms
        if per != terms.per:
            raise InvalidInput(
                f"{self.name} is a ledger {_per_in_words(terms.per)}, and the question is {_per_in_words(per)}.",
                f"The two never mix: use a ledger of the same kind, or make one with {arg('per', per)}."
                if per is not None
                else "The two never mix: use a ledger of the same kind.",
                argument="ledger",
            )
        if dataset != terms.dataset:
            raise InvalidInput(
                f"the ledger {self.name} is for the data set {terms.dataset!r}, and the question is about {dataset!r}.",
                f"If these are the same people, they share this budget: ask with {arg('dataset', terms.dataset)} and "
                f"{arg('edition', dataset)}.",
            )
        for what, given, known in (("unit", unit, terms.unit), ("relation", relation, terms.relation)):
            if given != known:
                raise InvalidInput(
                    f"the ledger {self.name} is bound to the {what} {known!r}, and the question has {given!r}.",
                    f"Costs add up for one {what} only: ask with {arg(what, known)}.",
                )

    # -------------------------------------------------------------------------------------------- the budget

    def spent(self, period: str | None = None) -> Cost:
        """Return what is spent, including reservations without an answer.

        Where rho adds up, epsilon is what rho implies at the budget's delta, rounded up. In a ledger by period it is
        what is spent of this period; without one, of the period with the highest sums.
        """
        return self._read().accounts.spent(self._terms.rule, self._only(period))

    def left(self, period: str | None = None) -> Cost:
        """Return the maximum cost of one more release.

        Where rho adds up, it has the remaining rho, and the largest pure epsilon that rho pays for, rounded down. In a
        ledger by period it is the maximum for this period; without one, for a release that reads all periods.
        """
        return self._read().accounts.left(self._terms.rule, self._only(period))

    def _only(self, period: str | None) -> tuple[str, ...] | None:
        return None if period is None else self._terms.read_periods([period])

    def quote(self, cost: Cost, periods: Sequence[str] | None = None) -> tuple[Cost, Cost | None]:
        """Return what would be left after reserving this cost, and None; or what is left, and what is missing.

        ``periods`` are those whose rows the release reads, in a ledger by period; None is all periods.
        """
        return self.quote_each([Charge(cost, self._terms.read_periods(periods))])[0]

    def quote_each(self, charges: Sequence[Charge | Cost]) -> list[tuple[Cost, Cost | None]]:
        """Return the answer of :meth:`quote` for each of these costs, after those before it that can be paid."""
        rule, accounts = self._terms.rule, self._read().accounts
        quotes: list[tuple[Cost, Cost | None]] = []
        for one in charges:
            cost, periods = one if isinstance(one, Charge) else Charge(one)
            after = accounts.plus(rule.charge(cost.recordable()), periods)
            missing = after.missing(rule, periods)
            accounts = after if missing is None else accounts
            quotes.append((accounts.left(rule, periods), missing))
        return quotes

    def quote_by_period(self, charges: Sequence[Charge]) -> dict[str | None, tuple[Cost, Cost | None]]:
        """Return, for each period, what is left now and what the budget lacks for all of these together.

        None stands for every period that neither these nor the ledger name; without periods it is the only key.
        """
        rule, now = self._terms.rule, self._read().accounts
        after = now
        for cost, periods in charges:
            after = after.plus(rule.charge(cost.recordable()), periods)
        return {
            name: (rule.left(now.of(name)), None if rule.allow(spent) else rule.missing(spent))
            for name, spent in after.charged(None)
        }

    def check_reason(self, because: object) -> str | None:
        """Read the reason for a question; None stays None, and a ledger that keeps no reasons refuses one."""
        if because is None:
            return None
        reason = read_reason(because, "you ask")
        if not has_provenance(self._version):
            raise InvalidInput(
                f"{self.name} is of version {self._version}, which keeps no reasons.",
                f"Leave {arg('because')} out, or note the reason elsewhere.",
                argument="because",
            )
        return reason

    def reserve(
        self, key: str, request: Mapping[str, object], cost: Cost, *,
        periods: Sequence[str] | None = None, because: str | None = None, bundle: str | Path | None = None,
    ) -> Reservation | RecordedAnswer:  # fmt: skip
        """Spend the cost of a question, before anything is read or drawn.

        If the same key has been committed, return the recorded answer and spend nothing. The cost is recorded exactly,
        or rounded up where its fractions are very long. In a ledger by period it is charged to each of the ``periods``
        that the question reads, or to all periods (None), and spent only if each of them can pay. The entry names the
        database role or the system user, the reason ``because`` and the folder of the ``bundle``; none of them is ever
        published.

        Raises
        ------
        BudgetExceeded
            When the remaining budget does not pay for it; nothing is spent.
        """
        read_name(key, "key")
        request_text = canonical_json(dict(request), floats=True).encode()
        cost, reason = cost.recordable(), self.check_reason(because)
        names = self._terms.read_periods(periods)
        charge = self._terms.charge(cost)

        def step(session: StoreSession) -> Reservation | RecordedAnswer:
            books = self._sound(session)
            recorded = self._recorded(session, books, key)
            if recorded is not None:
                return recorded
            books.refuse_closed(self.name)
            books.refuse_lost_answers(session)
            for period, spent in books.accounts.plus(charge, names).charged(names):
                if not self._terms.allow(spent):
                    raise BudgetExceeded(
                        f"not enough budget in {self.name}{'' if period is None else f' for {period}'}: "
                        f"{self._terms.rule.refusal(books.accounts.of(period), charge)}. Nothing was spent; a "
                        "question that was answered before is free."
                    )
            content = {"key": key, "request": session.keep(request_text), "cost": cost.to_json()}
            if names is not None:
                content["periods"] = list(names)
            if has_provenance(books.version):
                content["provenance"] = Provenance.of(session, reason, bundle).to_json()
            event = books.append(session, "reserve", content, _now())
            return Reservation(self._terms.ledger, event.number, key, cost, event.hash, event.time, names)

        return self._store.write(step)

    def commit(self, reservation: Reservation, answer: bytes) -> RecordedAnswer:
        """Record the answer of a reservation; return the answer to publish.

        If the same key was answered meanwhile, return that answer and discard this one, since a question has one
        answer. The reservation stays spent.
        """
        if not isinstance(answer, bytes):
            raise WrongType.must_be("answer", "bytes", InWords(type(answer).__name__))

        def step(session: StoreSession) -> RecordedAnswer:
            books = self._own(session, reservation, "commit")
            if books.version > 1 and reservation.number not in books.opened:
                raise InvalidInput(
                    f"reservation {reservation.number} of {self.name} was not opened, so its answer is not recorded.",
                    "Call mark_opened before the first row is read.",
                )
            first = books.answer_to(session, reservation.key) is None
            if first:
                content = {"key": reservation.key, "reservation": reservation.number, "answer": session.keep(answer)}
                books.append(session, "commit", content, _now())
            recorded = self._recorded(session, books, reservation.key)
            assert recorded is not None
            return replace(recorded, fresh=first, paid=True)

        return self._store.write(step)

    def mark_opened(self, reservation: Reservation) -> None:
        """Record, before the first row can be read, that a reservation is in use: from then on it stays spent.

        Raises
        ------
        InvalidInput
            When the reservation was given back, or was opened before: nothing may be read for it.
        """

        def step(session: StoreSession) -> None:
            books = self._own(session, reservation, "open")
            if books.version == 1:  # version 1 has no such events: every reservation stays spent
                return
            if reservation.number in books.given_back:
                raise InvalidInput(
                    f"reservation {reservation.number} of {self.name} was given back before any row was read, so "
                    "nothing is read for it now.",
                    "Ask again; what it reserved is not spent.",
                )
            books.refuse_used(reservation.number, "opened")
            books.append(session, "opened", {"reservation": reservation.number}, _now())

        self._store.write(step)

    def release(self, number: int, *, because: str) -> Cost:
        """Give back a reservation for which no row was read; it can never open or commit afterwards.

        Parameters
        ----------
        number
            The number of the reservation in :meth:`entries` and ``discreet ledger show``.
        because
            The reason, which the chain keeps.

        Returns
        -------
        Cost
            The cost that is no longer spent.

        Raises
        ------
        InvalidInput
            When the reservation was opened (rows may have been read), answered or given back, or when the ledger is of
            version 1, which does not record openings.
        """
        reason = read_reason(because, RETURNED)

        def step(session: StoreSession) -> Cost:
            books = self._sound(session, number if isinstance(number, int) else 1)
            books.refuse_closed(self.name)
            reservation = books.reserved.get(number)
            if reservation is None:
                raise InvalidInput(
                    f"{self.name} has no reservation {number!r}.",
                    "See its numbers with: discreet ledger show.",
                    argument="number",
                    given=number,
                )
            why = None
            if number in books.answers():
                why = f"of {self.name} was answered, so it stays spent."
            elif books.version == 1:
                why = f"stays spent: {self.name} is of version 1, which does not record whether rows were read."
            elif number in books.opened:
                why = f"of {self.name} was opened: its rows may have been read and its noise seen, so it stays spent."
            if why is not None:
                raise InvalidInput(f"reservation {number} {why}", argument="number")
            books.refuse_used(number, "given back")
            content = {"reservation": number, "because": reason}
            if books.version > 2:
                content["cost"] = reservation.cost.to_json()
            if reservation.periods is not None:
                content["periods"] = list(reservation.periods)
            books.append(session, "release", content, _now())
            return reservation.cost

        return self._store.write(step)

    def answer(
        self, key: str, request: Mapping[str, object], cost: Cost, draw: Callable[[], bytes], *,
        periods: Sequence[str] | None = None, because: str | None = None, bundle: str | Path | None = None,
    ) -> RecordedAnswer:  # fmt: skip
        """Return the recorded answer to a question, or a new one, reserved and opened before ``draw`` is called.

        ``fresh`` and ``paid`` of the result tell which.
        """
        entry = self.reserve(key, request, cost, periods=periods, because=because, bundle=bundle)
        if isinstance(entry, RecordedAnswer):
            return entry
        try:
            self.mark_opened(entry)
        except UnreadableFile as problem:
            raise type(problem)(
                f"opening failed: {problem.message} No row was read.",
                f"Give the reservation back with:\n  {release_line(self.name, entry.number)}",
            ) from None
        answer = draw()
        try:
            return self.commit(entry, answer)
        except UnreadableFile as problem:
            raise type(problem)(
                f"recording failed: {problem.message} The answer was not kept; reservation {entry.number} stays spent."
            ) from None

    # -------------------------------------------------------------------------------------------- the books

    def recorded(self, key: str) -> RecordedAnswer | None:
        """Return the recorded answer to a question, at no cost, or None."""
        with self._store.reading() as session:
            return self._recorded(session, self._sound(session), key)

    def events(self) -> list[Event]:
        """Return every event, in order."""
        return self._read_whole().events

    def entries(self) -> list[LedgerEntry]:
        """Return every reservation, in order."""
        with self._store.reading() as session:
            return self._entries(session, self._sound(session, 1))

    def _entries(self, session: StoreSession, books: Books) -> list[LedgerEntry]:
        answers = books.answers()
        return [
            LedgerEntry(
                entry,
                self._request(session, books.events[number - 1]),
                answers.get(number),
                books.opened.get(number),
                books.given_back.get(number),
                books.version > 1,
                books.provenance_of(books.events[number - 1]),
            )
            for number, entry in books.reserved.items()
        ]

    def statement(self) -> LedgerStatement:
        """Return the budget, what is spent and left, and every entry, at one moment."""
        with self._store.reading() as session:
            books = self._sound(session, 1)
            entries = tuple(self._entries(session, books))
        return LedgerStatement(self.name, self._terms, books.accounts, entries, books.version)

    def copy_to(self, address: str | Path) -> Ledger:
        """Move the ledger to another place, such as from a file to PostgreSQL, and close this one for good.

        The copy has the same spending, answers and published heads. If the copying stops half-way, this ledger is
        closed and no other exists; the same call continues.
        """
        return Ledger(close_and_copy(self._store, address, _now()))

    def orphans(self) -> tuple[Reservation, ...]:
        """Return reservations that are spent and have no answer: abandoned, or in progress in another process."""
        return self._read_whole().orphans()

    def contains(self, head: str) -> bool:
        """Return whether this ledger has an event with this hash, such as the head in a bundle."""
        return any(event.hash == head for event in self._read_whole().events)

    def verify(self, heads: Sequence[str] = ()) -> LedgerReport:
        """Check the store, the whole chain, its sums, the contents, and that the chain has these published heads."""
        return verify_store(self._store, heads)

    def _read(self) -> Books:
        """Read the books from the last checkpoint on."""
        with self._store.reading() as session:
            return self._sound(session)

    def _read_whole(self) -> Books:
        with self._store.reading() as session:
            return self._sound(session, 1)

    def _sound(self, session: StoreSession, since: int | None = None) -> Books:
        """Read the books from the last checkpoint on, or the last before an event; refuse an invalid ledger."""
        books = Books.recent(session, since)
        if books.checked_terms(self.name) != self._terms:
            raise UnreadableFile(f"{self.name} was replaced by another ledger while it was in use.")
        return books

    def _own(self, session: StoreSession, reservation: Reservation, verb: str) -> Books:
        """Read the books of a reservation from its checkpoint on; refuse a reservation of another ledger."""
        books = self._sound(session, reservation.number)
        books.refuse_closed(self.name)
        if books.reserved.get(reservation.number) != reservation:
            raise InvalidInput(f"this is not a reservation of the ledger {self.name}.", f"Reserve first, then {verb}.")
        return books

    def _recorded(self, session: StoreSession, books: Books, key: str) -> RecordedAnswer | None:
        event = books.answer_to(session, key)
        if event is None:
            return None
        reservation = books.reserved_for(session, event)
        request = self._request(session, reservation)
        answer = self._content(session, event, "answer")
        cost = Cost.from_json(reservation.content["cost"])
        return RecordedAnswer(key, request, answer, event.number, event.hash, event.time, cost)

    def _request(self, session: StoreSession, event: Event) -> Mapping[str, Any]:
        content = self._content(session, event, "request")
        try:
            request = read_json(content, "the request")
        except UnreadableFile:
            request = None
        if not isinstance(request, dict):
            raise UnreadableFile(f"the request of event {event.number} in {self.name} is not one that was reserved.")
        return request

    def _content(self, session: StoreSession, event: Event, what: str) -> bytes:
        content = session.content(event.content[what])
        if content is None:
            raise UnreadableFile(f"the {what} of event {event.number} in {self.name} is missing or was altered.")
        return content


def _per_in_words(per: str | None) -> str:
    return "without periods" if per is None else f"by {per}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
