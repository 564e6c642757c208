"""The statement of a ledger: its budget, its spending, and what to do about unanswered reservations."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..privacy.relations import RELATIONS
from ..report import Bar, Code, Json, Part, Prose, Report, Result, Section, Terms, TextTable, stamped
from ..unit import Unit
from .books import VERSION
from .budget import NOTHING, Cost, LedgerTerms, short
from .chain import Event, time_text
from .entries import LedgerEntry

#: Maximum characters of a question and of an edition; the rest is cut.
_QUESTION_WIDTH, _EDITION_WIDTH = 70, 60

#: States of reservations without an answer -> their meaning.
_MEANING_OF_STATE = {
    "opened": "Rows may have been read, so this stays spent. The release is under way now, or its program was stopped.",
    "not answered": "This ledger is of version 1 and does not record whether rows were read, so this stays spent.",
    "reserved": "No row was read. The release is about to begin, or its program was stopped; then give it back with:",
}


@dataclass(frozen=True)
class LedgerStatement(Result):
    """The state of a ledger, as ``discreet ledger show`` prints it.

    Attributes
    ----------
    name
        The address of the ledger.
    terms
        Its terms.
    spent, left
        What is spent, and the maximum cost of one more release.
    entries
        Every reservation with the events about it.
    version
        The version of the ledger.
    """

    name: str
    terms: LedgerTerms
    spent: Cost
    left: Cost
    entries: tuple[LedgerEntry, ...]
    version: int = VERSION

    def to_json(self) -> dict[str, Json]:
        """Return everything but the secret key, with exact fractions."""
        content: dict[str, Json] = {
            "file": self.name,
            "ledger_version": self.version,
            **self.terms.to_json(),
            "spent": self.spent.to_json(),
            "left": self.left.to_json(),
            "entries": [_entry_as_json(entry) for entry in self.entries],
            "orphans": [one.reservation.number for one in self.entries if not (one.committed or one.given_back)],
        }
        return stamped("ledger-statement", 2, content)

    def report(self) -> Report:
        """Report the budget, the entries, and the meaning of unanswered states."""
        parts: list[Part] = [Terms(terms_in_words(self.terms)), self._budget()]
        if self.terms.filter == "zcdp":
            spent, delta = short(self.spent.epsilon, up=True), short(self.terms.delta, up=True)
            left = short(self.left.epsilon, up=False)
            parts.append(
                Prose(
                    f"So far epsilon is {spent} at delta {delta}. What is left pays for one release with a pure "
                    f"epsilon of {left}."
                )
            )
        return Report(
            f"The ledger {self.name}",
            kind=f"The budget of {self.terms.dataset}",
            sections=(Section(parts=tuple(parts)), self._listed(), *self._provenance(), *self._unanswered()),
        )

    def describe(self) -> str:
        """Return the report as text, with every entry."""
        return self.report().text(most=max(40, len(self.entries)))

    def __str__(self) -> str:
        return self.describe()

    def _budget(self) -> TextTable:
        rows, bars = [], []
        for what in currencies(self.terms):
            total, used, rest = (_amount(cost, what) for cost in (self.terms, self.spent, self.left))
            rows.append((what, short(total, up=False), short(used, up=True), short(rest, up=False)))
            share = float(used / total)
            bars.append(Bar(share, share, 1.0))
        return TextTable(("", "budget", "spent", "left"), tuple(rows), numbers=(1, 2, 3), bars=tuple(bars))

    def _listed(self) -> Section:
        if not self.entries:
            return Section(parts=(Prose("There are no entries yet."),))
        costs = currencies(self.terms)
        editions = any(map(_edition, self.entries))
        table = TextTable(
            ("no.", "time (UTC)", *costs, "state", *["edition"] * editions, "question"),
            tuple(self._line(entry, editions) for entry in self.entries),
            numbers=(0, *range(2, 2 + len(costs))),
        )
        return Section(parts=(table,))

    def _line(self, entry: LedgerEntry, editions: bool) -> tuple[str, ...]:
        reserved = entry.reservation
        cost = self.terms.add(NOTHING, reserved.cost)
        return (
            str(reserved.number),
            time_text(reserved.time).removesuffix(" UTC"),
            *(short(_amount(cost, what), up=True) for what in currencies(self.terms)),
            entry.state,
            *[_edition(entry)] * editions,
            _question(entry),
        )

    def _provenance(self) -> Iterator[Section]:
        """List who asked, why, and where each bundle was to be written, in ledgers that record it."""
        known = [entry for entry in self.entries if entry.provenance.by]
        if known:
            rows = [
                (str(entry.reservation.number), one.by, one.because or "", one.bundle or "")
                for entry, one in ((entry, entry.provenance) for entry in known)
            ]
            table = TextTable(("no.", "asked by", "because", "bundle"), tuple(rows), numbers=(0,), total=len(rows))
            yield Section("Who asked (never published)", (table,))

    def _unanswered(self) -> Iterator[Section]:
        """Explain the states of reservations without an answer, and what to type."""
        for state, sentence in _MEANING_OF_STATE.items():
            numbers = [entry.reservation.number for entry in self.entries if entry.state == state]
            if numbers:
                lines = [release_line(self.name, number) for number in numbers if state == "reserved"]
                explanation = Prose(f"{state}: {', '.join(map(str, numbers))}. {sentence}")
                yield Section(parts=(explanation, *([Code("\n".join(lines))] if lines else [])))


def terms_in_words(terms: LedgerTerms) -> tuple[tuple[str, str], ...]:
    """Return the terms of a ledger as labelled lines."""
    budget = f"epsilon = {short(terms.epsilon, up=False)}"
    if terms.delta:
        budget += f", delta = {short(terms.delta, up=False)}"
    if terms.rho is not None:
        budget += f", added up as rho = {short(terms.rho, up=False)} (filter zcdp)"
    return (
        ("data", terms.dataset),
        ("protects", f"{Unit(terms.unit).protected}, {RELATIONS[terms.relation].change}"),
        ("budget", budget),
    )


def release_line(path: str | Path, number: int) -> str:
    """Return the command that gives a reservation back.

    >>> release_line("my study.ledger", 4)
    "discreet ledger release 'my study.ledger' 4 --because 'the program was stopped'"
    """
    return shlex.join(["discreet", "ledger", "release", str(path), str(number), "--because", "the program was stopped"])


def currencies(terms: LedgerTerms) -> list[str]:
    """Return the measures that add up under the terms."""
    if terms.filter == "zcdp":
        return ["rho"]
    return ["epsilon", "delta"] if terms.delta else ["epsilon"]


def _amount(of: Cost | LedgerTerms, what: str) -> Fraction:
    value = getattr(of, what)
    assert isinstance(value, Fraction)
    return value


def _edition(entry: LedgerEntry) -> str:
    """Return the edition of an entry in printable characters; empty if it has none."""
    text = entry.request.get("edition")
    return "".join(c if c.isprintable() else " " for c in text)[:_EDITION_WIDTH] if isinstance(text, str) else ""


def _question(entry: LedgerEntry) -> str:
    """Return the question of an entry on one line of printable characters; its key if the request has no text."""
    text = " · ".join(_texts(entry.request)) or entry.reservation.key
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= _QUESTION_WIDTH else text[: _QUESTION_WIDTH - 1] + "…"


def _texts(request: Mapping[str, object]) -> Iterator[str]:
    tables = request.get("tables")
    for part in [request, *(tables if isinstance(tables, list) else [])]:
        if isinstance(part, dict) and isinstance(part.get("question"), str):
            yield part["question"]


def _entry_as_json(entry: LedgerEntry) -> dict[str, Any]:
    back = entry.given_back
    return {
        "number": entry.reservation.number,
        "time": entry.reservation.time,
        "key": entry.reservation.key,
        "cost": entry.reservation.cost.to_json(),
        "question": list(_texts(entry.request)),
        "edition": _edition(entry),
        "state": entry.state,
        **entry.provenance.all_json(),
        "opened": None if entry.opened is None else _place(entry.opened),
        "given_back": None if back is None else {**_place(back), "because": back.content["because"]},
        "committed": None if entry.committed is None else _place(entry.committed),
    }


def _place(event: Event) -> dict[str, Any]:
    return {"number": event.number, "time": event.time, "head": event.hash}
