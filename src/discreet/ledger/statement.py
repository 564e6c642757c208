"""The statement of a ledger: its budget, its spending, and what to do about unanswered reservations."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..privacy.relations import RELATIONS
from ..report import Bar, Code, Json, Part, Prose, Report, Result, Section, Terms, TextTable, stamped
from ..unit import Unit
from .accounts import Accounts
from .books import VERSION
from .budget import Cost, Tally, short
from .chain import Event, time_text
from .entries import LedgerEntry
from .filters import EitherFilter
from .terms import LedgerTerms

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
    accounts
        What is spent, by period where the ledger has periods.
    entries
        Every reservation with the events about it.
    version
        The version of the ledger.
    """

    name: str
    terms: LedgerTerms
    accounts: Accounts
    entries: tuple[LedgerEntry, ...]
    version: int = VERSION

    @property
    def spent(self) -> Cost:
        """What is spent; in a ledger by period, of the period with the highest sums."""
        return self.accounts.spent(self.terms.rule)

    @property
    def left(self) -> Cost:
        """The maximum cost of one more release; in a ledger by period, of one that reads all periods."""
        return self.accounts.left(self.terms.rule)

    def to_json(self) -> dict[str, Json]:
        """Return everything but the secret key, with exact fractions."""
        content: dict[str, Json] = {
            "file": self.name,
            "ledger_version": self.version,
            **self.terms.to_json(),
            "spent": self.spent.to_json(),
            "left": self.left.to_json(),
            **self._pays_json(),
            **self._periods_json(),
            "entries": [_entry_as_json(entry, self.terms) for entry in self.entries],
            "orphans": [one.reservation.number for one in self.entries if not (one.committed or one.given_back)],
        }
        return stamped("ledger-statement", 2, content)

    def report(self) -> Report:
        """Report the budget, the entries, and the meaning of unanswered states."""
        rule = self.terms.rule
        parts: list[Part] = [Terms(terms_in_words(self.terms))]
        parts.append(self._budget() if self.terms.per is None else self._by_period(self.terms.per))
        if self.terms.filter != "sum":
            spent, delta = (short(value, up=True) for value in (self.spent.epsilon, self.spent.delta))
            left = short(self.left.epsilon, up=False)
            sofar = f"So far epsilon is {spent} at delta {delta}."
            parts.append(Prose(f"{sofar} What is left pays for one release with a pure epsilon of {left}."))
        if isinstance(rule, EitherFilter) and self.terms.per is None:
            parts.append(Prose(_payer_in_words(rule.pays(self.accounts.all))))
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
        rule, spent = self.terms.rule, self.accounts.all
        rows, bars = [], []
        for what in rule.measures():
            total, used = rule.budget_of(what), _sum_of(spent, what)
            rows.append((what, short(total, up=False), *_used_and_left(total, used)))
            share = 1.0 if used is None else min(float(used / total), 1.0)
            bars.append(Bar(share, share, 1.0))
        return TextTable(("", "budget", "spent", "left"), tuple(rows), numbers=(1, 2, 3), bars=tuple(bars))

    def _by_period(self, per: str) -> TextTable:
        """Tabulate what is spent and left of each period that was named, and of every other one."""
        rule = self.terms.rule
        measures = rule.measures()
        rows = []
        for name in [*sorted(self.accounts.by_period), None]:
            spent = self.accounts.of(name)
            sums = [_used_and_left(rule.budget_of(what), _sum_of(spent, what)) for what in measures]
            payer = [" or ".join(rule.pays(spent))] if isinstance(rule, EitherFilter) else []
            rows.append((name or f"every other {per}", *(text for pair in sums for text in pair), *payer))
        headings = [f"{what} {state}" for what in measures for state in ("spent", "left")]
        pays = ["pays now"] if isinstance(rule, EitherFilter) else []
        numbers = tuple(range(1, 1 + len(headings)))
        return TextTable((per, *headings, *pays), tuple(rows), numbers=numbers, total=len(rows))

    def _pays_json(self) -> dict[str, Json]:
        """Return the sums that pay, with the filter either; in a ledger by period they stand with each period."""
        rule = self.terms.rule
        if not isinstance(rule, EitherFilter) or self.terms.per is not None:
            return {}
        return {"pays": list(rule.pays(self.accounts.all))}

    def _periods_json(self) -> dict[str, Json]:
        """Return what is spent and left of each period that was named, and of all others (null)."""
        if self.terms.per is None:
            return {}
        rule, rows = self.terms.rule, list[Json]()
        for name in [*sorted(self.accounts.by_period), None]:
            spent = self.accounts.of(name)
            row: dict[str, Json] = {
                "period": name, "spent": rule.spent(spent).to_json(), "left": rule.left(spent).to_json(),
            }  # fmt: skip
            rows.append({**row, "pays": list(rule.pays(spent))} if isinstance(rule, EitherFilter) else row)
        return {"periods": rows}

    def _listed(self) -> Section:
        if not self.entries:
            return Section(parts=(Prose("There are no entries yet."),))
        costs = self.terms.rule.measures()
        editions, per = any(map(_edition, self.entries)), self.terms.per
        periods = [] if per is None else [f"{per}s"]
        table = TextTable(
            ("no.", "time (UTC)", *costs, *periods, "state", *["edition"] * editions, "question"),
            tuple(self._line(entry, editions) for entry in self.entries),
            numbers=(0, *range(2, 2 + len(costs))),
        )
        return Section(parts=(table,))

    def _line(self, entry: LedgerEntry, editions: bool) -> tuple[str, ...]:
        reserved = entry.reservation
        charge = self.terms.charge(reserved.cost)
        sums = [_sum_of(charge, what) for what in self.terms.rule.measures()]
        return (
            str(reserved.number),
            time_text(reserved.time).removesuffix(" UTC"),
            *("-" if value is None else short(value, up=True) for value in sums),
            *([] if self.terms.per is None else [periods_in_words(reserved.periods)]),
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
    if terms.per is not None:
        budget += f" in each {terms.per}"
    if terms.rho is not None and terms.filter == "zcdp":
        budget += f", added up as rho = {short(terms.rho, up=False)} (filter zcdp)"
    relation = RELATIONS[terms.relation]
    protected, change = Unit(terms.unit).protected, relation.change
    if terms.per is not None:  # each table has its own date column, which its first release binds
        dated = f"rows with the same {terms.unit} and {terms.per} of their date"
        protected = f"one {terms.per} of one {Unit(terms.unit).one} ({dated})"
        change += "" if relation.hides_presence else f" of the same {terms.per}"
    return (
        ("data", terms.dataset),
        ("protects", f"{protected}, {change}"),
        ("budget", budget),
        *_either_in_words(terms),
    )


def _either_in_words(terms: LedgerTerms) -> Iterator[tuple[str, str]]:
    """Yield what the filter either pays for, as labelled lines; nothing for other filters."""
    if terms.filter != "either" or terms.rho is None:
        return
    epsilon, rho, own = (short(value, up=False) for value in (terms.epsilon, terms.rho, terms.own_delta))
    yield "pays", f"if epsilons add up to at most {epsilon}, or rho to at most {rho} (filter either)"
    aside = f"{own} of delta is for releases" if terms.own_delta else "no delta is set aside for releases"
    yield "aside", f"{aside} with a delta of their own, such as discovery"


def periods_in_words(periods: Sequence[str] | None) -> str:
    """Put the periods of a release in words: all, their names, or the first, the last and their number.

    >>> periods_in_words(None), periods_in_words(["2026-03"]), periods_in_words([f"2026-0{k}" for k in range(1, 7)])
    ('all', '2026-03', '2026-01 ... 2026-06 (6)')
    """
    if periods is None:
        return "all"
    return ", ".join(periods) if len(periods) < 4 else f"{periods[0]} ... {periods[-1]} ({len(periods)})"


def release_line(path: str | Path, number: int) -> str:
    """Return the command that gives a reservation back.

    >>> release_line("my study.ledger", 4)
    "discreet ledger release 'my study.ledger' 4 --because 'the program was stopped'"
    """
    return shlex.join(["discreet", "ledger", "release", str(path), str(number), "--because", "the program was stopped"])


def _sum_of(spent: Tally, what: str) -> Fraction | None:
    """Return a sum; None for epsilon where releases without a certain epsilon are in it."""
    sums = {"epsilon": spent.epsilon, "delta": spent.delta, "rho": spent.rho}
    return None if what == "epsilon" and spent.without_epsilon else sums[what]


def _used_and_left(total: Fraction, used: Fraction | None) -> tuple[str, str]:
    if used is None:
        return "-", "0"
    return short(used, up=True), short(max(total - used, Fraction(0)), up=False)


def _payer_in_words(payers: Sequence[str]) -> str:
    """Say which of the two sums pays now."""
    if len(payers) > 1:
        return "Both sums are within the budget now; a release is paid while one of them is."
    return f"Only the sum of {'epsilons' if payers == ['epsilon'] else 'rho'} is within the budget now, and pays."


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


def _entry_as_json(entry: LedgerEntry, terms: LedgerTerms) -> dict[str, Any]:
    back = entry.given_back
    periods = {} if terms.per is None else {"periods": entry.reservation.periods and list(entry.reservation.periods)}
    return {
        "number": entry.reservation.number,
        "time": entry.reservation.time,
        "key": entry.reservation.key,
        "cost": entry.reservation.cost.to_json(),
        **periods,
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
