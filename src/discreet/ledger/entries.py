"""The reservations, answers and entries of a ledger, and the report of its check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..report import Check, Json, Report, Result, Section, Terms, stamped
from ..wording import plural
from .budget import Cost, short
from .chain import Event
from .provenance import UNKNOWN, Provenance


@dataclass(frozen=True)
class Reservation:
    """A reserved cost, the event that records it, and the periods whose rows are read (None: all)."""

    ledger: str
    number: int
    key: str
    cost: Cost
    head: str
    time: str
    periods: tuple[str, ...] | None = None


@dataclass(frozen=True)
class RecordedAnswer:
    """The committed answer to a question.

    Attributes
    ----------
    key, request, answer, cost
        The question's key, its request, its answer, and the cost of the first release.
    number, head, time
        The number, hash and time of the event with the answer. A bundle publishes ``head``.
    fresh, paid
        Whether the call that returned this drew the answer, and whether it spent budget. If two processes ask the same
        new question at once, both pay, and the answer of one is fresh.
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
class LedgerEntry:
    """A reservation with its request, and the later events about it; None where there is no such event.

    Attributes
    ----------
    opened
        The event from which on rows may have been read.
    committed
        The event that recorded the answer.
    given_back
        The event that gave the reservation back, so that its cost is no longer spent.
    opening_recorded
        Whether this ledger records openings; if not, any reservation may have been opened.
    provenance
        Who asked, why, and where the bundle was to be written.
    """

    reservation: Reservation
    request: Mapping[str, Any]
    committed: Event | None
    opened: Event | None = None
    given_back: Event | None = None
    opening_recorded: bool = True
    provenance: Provenance = UNKNOWN

    @property
    def state(self) -> str:
        """One of "answered", "given back", "opened", "reserved" (no row was read) and "not answered" (unknown)."""
        if self.committed is not None:
            return "answered"
        if self.given_back is not None:
            return "given back"
        if self.opened is not None:
            return "opened"
        return "reserved" if self.opening_recorded else "not answered"


@dataclass(frozen=True)
class LedgerReport(Check, Result):
    """The report of :meth:`Ledger.verify`. ``problems`` is empty when the ledger holds.

    Attributes
    ----------
    problems
        The problems, in sentences.
    events, head
        The number of readable events, and the hash of the last.
    spent, left, orphans
        Their sums, and the reservations that are spent and not answered.
    name
        The address of the ledger.
    heads
        The published heads that were compared.
    """

    problems: tuple[str, ...]
    events: int
    head: str
    spent: Cost | None
    left: Cost | None
    orphans: tuple[Reservation, ...]
    name: str = ""
    heads: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.problems

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        content: dict[str, Json] = {
            "file": self.name,
            "holds": self.holds,
            "problems": list(self.problems),
            "events": self.events,
            "head": self.head or None,
            "spent": None if self.spent is None else self.spent.to_json(),
            "left": None if self.left is None else self.left.to_json(),
            "orphans": [orphan.number for orphan in self.orphans],
            "heads": list(self.heads),
        }
        return stamped("ledger-report", 1, content)

    def report(self) -> Report:
        """Report whether the ledger holds, its problems, and its sums."""
        lines = [("problem", problem) for problem in self.problems]
        if self.events:
            read = "" if self.holds else " could be read"
            lines.append(("chain", f"{plural(self.events, 'event')}{read}, head {self.head[:16]}"))
        if self.spent is not None and self.left is not None:
            left = short(self.left.epsilon, up=False)
            lines.append(("spent", f"epsilon = {short(self.spent.epsilon, up=True)}, left {left}"))
        if self.orphans:
            numbers = ", ".join(str(orphan.number) for orphan in self.orphans)
            lines.append(("orphans", f"spent and not answered: {numbers}; see: discreet ledger show"))
        if self.heads and self.holds:
            lines.append(("bundles", f"{len(self.heads)} known to the ledger"))
        restored = "A restored old copy looks intact too: compare with a published bundle by --bundle FOLDER."
        return Report(
            f"{self.name}: {'holds' if self.holds else 'DOES NOT HOLD'}",
            kind="A ledger, checked",
            sections=(Section(parts=(Terms(tuple(lines)),)),),
            notes=() if self.heads else (restored,),
        )

    def __str__(self) -> str:
        if self.problems:
            return "the ledger DOES NOT HOLD: " + " ".join(self.problems)
        orphans = f"; {len(self.orphans)} spent and not answered" * bool(self.orphans)
        return f"the ledger holds: {self.events} events in an unbroken chain, sums within the budget{orphans}."
