"""What a ledger says: its reservations and answers, an entry for each, and what was found when it was read whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..report import Check, Json, Report, Result, Section, Terms, stamped
from ..wording import plural
from .budget import Cost, short
from .chain import Event


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
class LedgerReport(Check, Result):
    """What :meth:`Ledger.verify` found. ``problems`` is empty when the ledger holds.

    Attributes
    ----------
    problems
        What is wrong, in sentences.
    events, head
        How many events could be read, and the hash of the last.
    spent, left, orphans
        What they add up to, and the reservations that are spent and not answered.
    name
        Where the ledger is kept.
    heads
        The published heads that were looked for.
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
        """Plain JSON values."""
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
        """Whether the ledger holds, what is wrong, and what it adds up to."""
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
