"""Releasing counts: reserve the budget, read, add noise, commit, publish, in this order and in no other.

The true counts live in one expression of :func:`_answer`, between the source and the noise. Whatever goes wrong before
the reservation costs nothing. What goes wrong after it names its step: opening (no row was read; the reservation can be
given back), counting, drawing or recording (it stays spent).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, Unpack

from ..engines.sources import Counting, Data, Source, open_source
from ..errors import InvalidInput, SourceFailed, arg, call
from ..exact.bits import Bits, SecureBits
from ..ledger.bindings import bind_unit_name, refuse_other_unit_name
from ..ledger.budget import Cost, amount_text
from ..ledger.chain import time_text
from ..ledger.ledger import Ledger, Recorded
from ..report import Json, Report, Result, Section, Terms
from ..sources.encodings import UTF8
from .bundle.recorded import recorded_answer, release_from_record
from .bundle.released import Release
from .bundle.write import refuse_occupied, refuse_without_room
from .plan.plan import Plan
from .plan.planning import plan_request, refuse_unnamed_selection
from .plan.request import ReleaseRequest, RequestFields, read_request


def release_counts(
    questions: str | Sequence[str] | ReleaseRequest, *, data: Data, ledger: str | Path | Ledger | None = None,
    out: str | Path | None = None, **fields: Unpack[RequestFields],
) -> Release:  # fmt: skip
    """Release private counts from a table.

    Parameters
    ----------
    questions, data, fields
        As for :func:`discreet.plan_release`: ``unit``, ``domain`` or ``groups``, ``epsilon`` or ``error``,
        ``max_groups`` and all else that a :class:`discreet.ReleaseRequest` has; or that request itself.
    ledger
        The ledger that pays, made by ``discreet ledger init`` for this data set, unit and relation.
    out
        A folder to write the bundle into; it must not exist.

    Returns
    -------
    Release
        The noisy counts with their error, the guarantee and the ledger's receipt. The same question for the same
        edition returns the recorded answer and costs nothing (``release.fresh`` is False): name another edition to ask
        anew.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> table, book = folder / "visits.csv", folder / "visits.ledger"
    >>> _ = table.write_text("person,site\\nann,1\\nbob,2\\nann,2\\n")
    >>> _ = dc.Ledger.create(book, dataset="visits", unit="person", epsilon=2)
    >>> ask = dict(data=table, unit="person", max_groups=1, domain={"site": range(1, 4)}, epsilon=1, ledger=book)
    >>> first = dc.release_counts("SELECT site, COUNT(*) FROM visits GROUP BY site", **ask)
    >>> again = dc.release_counts("select site, count(*) from visits group by site", **ask)
    >>> len(first.rows()), first.rows() == again.rows(), str(dc.Ledger.open(book).left().epsilon)
    (3, True, '1')
    """
    request = read_request(questions, **fields)
    if ledger is None:
        raise without_ledger(data, request.unit)
    refuse_unnamed_selection(data, request.edition)
    source = open_source(data, request.dataset)
    plan = plan_request(request, source)
    book = ledger if isinstance(ledger, Ledger) else open_ledger(ledger, plan)
    return release_plan(plan, source, book, out)


def without_ledger(data: Data, unit: str) -> InvalidInput:
    """The error of a release that nothing pays for: how a ledger is made."""
    of = f"--data {shlex.quote(str(data))} " if isinstance(data, str | Path) else ""
    made = call(
        f"dc.Ledger.create(path, dataset=name, unit={unit!r}, epsilon=total)",
        f"discreet ledger init PATH {of}--unit {shlex.quote(unit)} --epsilon TOTAL",
    )
    first = call("dc.plan_release shows the cost", "with --plan you see the cost")
    return InvalidInput(
        f"a release needs the ledger that pays for it: {arg('ledger', 'PATH')}.",
        f"Make one with: {made}; {first} first.",
    )


def open_ledger(path: str | Path, plan: Plan) -> Ledger:
    """The ledger of a plan; if there is none, the error is the line that makes one."""
    return Ledger.open(
        path,
        hint={
            "dataset": plan.dataset,
            "unit": plan.protection.unit,
            "relation": plan.protection.relation,
            "cost": plan.cost,
        },
    )


@dataclass(frozen=True)
class Outlook(Result):
    """What a ledger would say to a plan now: :func:`foresee` finds it without spending anything.

    Attributes
    ----------
    verdict
        "paid", "refused" (the budget does not pay for it) or "recorded" (the answer is there and costs nothing).
    left
        What is left after it: unchanged unless it would be paid.
    missing
        What the budget lacks; None unless it would be refused.
    since
        When the answer was recorded; None unless it was.
    ledger
        Which ledger.
    """

    verdict: str
    left: Cost
    missing: Cost | None = None
    since: str | None = None
    ledger: str = ""

    def to_json(self) -> dict[str, Json]:
        """Plain JSON values."""
        missing = None if self.missing is None else self.missing.to_json()
        return {"verdict": self.verdict, "left": self.left.to_json(), "missing": missing, "recorded_at": self.since}

    def report(self) -> Report:
        """The decision in one sentence."""
        return Report("", sections=(Section(parts=(Terms((("decision", str(self)),)),)),))

    def __str__(self) -> str:
        left = f"{amount_text(self.left)} is left in {self.ledger}"
        if self.since is not None:
            return f"recorded already, on {time_text(self.since)}: free; {left}"
        if self.missing is None:
            return f"would be paid; {left} afterwards"
        return f"would be refused: {amount_text(self.missing, up=True)} is missing; {left}"


#: Finds the recorded answer to the question of a plan, if there is one.
Lookup: TypeAlias = Callable[[Plan, Ledger], Recorded | None]


def foresee(
    plan: Plan, source: Source, book: Ledger, out: str | Path | None = None, lookup: Lookup | None = None
) -> Outlook:
    """What a release of this plan would do to its ledger. Whatever would be refused for another reason is refused."""
    _refuse_other_terms(plan, book)
    recorded = (lookup or recorded_answer)(plan, book)
    if out is not None:
        refuse_occupied(out, plan.key if recorded else None)
        refuse_without_room(out, plan.cells)
    if recorded is not None:
        return Outlook("recorded", book.left(), since=recorded.time, ledger=book.name)
    _rehearse(plan.canonical, source, book)
    left, missing = book.quote(plan.cost)
    return Outlook("paid" if missing is None else "refused", left, missing, ledger=book.name)


def release_plan(
    plan: Plan, source: Source, book: Ledger, out: str | Path | None = None,
    bind: Callable[[], None] = lambda: None, lookup: Lookup | None = None,
) -> Release:  # fmt: skip
    """Release the counts of a plan, paid by this ledger.

    ``bind`` keeps what the ledger is to know of the data; it is called when nothing else can be refused. ``lookup`` is
    for who knows the recorded answer already: of an answer that was recorded since, the reservation tells.
    """
    return _release(plan, source, book, out, SecureBits(), bind, lookup)


def _release(
    plan: Plan, source: Source, book: Ledger, out: str | Path | None, bits: Bits,
    bind: Callable[[], None] = lambda: None, lookup: Lookup | None = None,
) -> Release:  # fmt: skip
    """The one path of every release; tests give it bits from a seed."""
    _refuse_other_terms(plan, book)
    recorded = (lookup or recorded_answer)(plan, book)
    if out is not None:
        refuse_occupied(out, plan.key if recorded else None)
        refuse_without_room(out, plan.cells)
    if recorded is None:
        counted = plan.canonical
        _rehearse(counted, source, book)
        if book.quote(plan.cost)[1] is None:
            bind_unit_name(book, plan.protection.unit_name)
            bind()
        # everything that can be known without a row is known here: from the next line on it costs
        recorded = book.answer(
            plan.key, counted.request, plan.cost, draw=lambda: _silenced(counted, source, book.terms.key, bits)
        )
    else:
        bind_unit_name(book, plan.protection.unit_name)
        bind()
    release = release_from_record(plan, recorded, book)
    if out is not None:
        release.save(out)
    return release


def _refuse_other_terms(plan: Plan, book: Ledger) -> None:
    book.check_terms(plan.dataset, plan.protection.unit, plan.protection.relation)
    refuse_other_unit_name(book, plan.protection.unit_name)


def _rehearse(plan: Plan, source: Source, book: Ledger) -> None:
    """Do all of it once on a table without rows, so that what is missing here is missed before it costs anything."""
    encoding = getattr(source, "encoding", UTF8)  # a source of one's own may not state one
    if encoding != plan.encoding:
        raise InvalidInput(
            f"the plan is for data in {plan.encoding}, and this data is read as {encoding}.",
            "Plan and release by the same dataset file.",
        )
    if book.folder is not None:
        refuse_without_room(book.folder, plan.cells)
    source.rehearse(countings_of(plan, book.terms.key))
    try:
        for table in plan.tables:
            table.rehearse(SecureBits())
    except Exception as problem:  # of zeros that stand for no table
        raise SourceFailed(
            f"noise cannot be drawn here, and nothing was spent: {type(problem).__name__}: {problem}"
        ) from problem


@dataclass
class _Progress:
    """How far an answer has come; the only thing that is known of one that failed."""

    step: str = "counting"


#: The steps between the opening and the recording -> what to do when one fails. Nothing in it comes from the engine.
_FAILURES = {
    "counting": "Counting failed: the table could not be read to its end. Check the file with the engine's own tools, "
    "where only you see it.",
    "drawing": "Drawing the noise failed after the table was read. Please report it, with the plan that --plan shows.",
}


def _silenced(plan: Plan, source: Source, key: bytes, bits: Bits) -> bytes:
    """The answer; or, if anything fails on the way to it, an error that names the step and tells nothing about why."""
    progress = _Progress()
    try:
        return _answer(plan, source, key, bits, progress)
    except Exception:  # its words, and those of what it was raised from, could quote a person's row
        pass
    raise SourceFailed(
        f"{_FAILURES[progress.step]} The cause is withheld, because it could quote a row; the budget that was reserved "
        "stays spent."
    )


def countings_of(plan: Plan, key: bytes) -> list[Counting]:
    """What the source is asked to count for each table of a plan."""
    return [table.counting(plan.protection, key) for table in plan.tables]


def _answer(plan: Plan, source: Source, key: bytes, bits: Bits, progress: _Progress) -> bytes:
    """The noisy counts of every table, as the ledger keeps them. The true ones exist in this function only."""
    from .. import __version__

    counted = plan.lead.count(source, countings_of(plan, key))
    progress.step = "drawing"
    answers = [table.answer(counts, bits) for table, counts in zip(plan.tables, counted, strict=True)]
    del counted

    content = {"version": __version__, **{part: [answer[part] for answer in answers] for part in answers[0]}}
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
