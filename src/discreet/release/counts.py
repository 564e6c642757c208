"""Release counts: reserve the budget, read, add noise, commit, publish, in this order and in no other.

The true counts live in one expression of :func:`_answer`, between the source and the noise. A failure before the
reservation costs nothing. A failure after it names its step: opening (no row was read; the reservation can be given
back), counting, drawing or recording (the budget stays spent).
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
from ..ledger.budget import Cost, amount_text
from ..ledger.chain import time_text
from ..ledger.ledger import Ledger, RecordedAnswer
from ..report import Json, Report, Result, Section, Terms
from ..sources.encodings import UTF8
from .acceptance import Accept, accept_plan
from .bundle.recorded import recorded_answer, release_from_record
from .bundle.released import Release
from .bundle.write import refuse_occupied, refuse_without_room
from .charging import bind_account, refuse_other_account
from .plan.plan import Plan
from .plan.planning import plan_request, refuse_unnamed_selection
from .plan.request import ReleaseRequest, RequestFields, read_request


def release_counts(
    questions: str | Sequence[str] | ReleaseRequest, *, data: Data, ledger: str | Path | Ledger | None = None,
    out: str | Path | None = None, because: str | None = None, accept: Accept | None = None,
    **fields: Unpack[RequestFields],
) -> Release:  # fmt: skip
    """Release private counts from a table.

    Parameters
    ----------
    questions, data, fields
        As for :func:`discreet.plan_release`: ``unit``, ``domain`` or ``groups``, ``epsilon`` or ``error``,
        ``max_groups`` and the other fields of a :class:`discreet.ReleaseRequest`; or that request itself.
    ledger
        The ledger that pays, made by ``discreet ledger init`` for this data set, unit and relation.
    out
        A folder to write the bundle into; it must not exist.
    because
        Your reason for asking. The ledger keeps it with your user name or database role; neither is ever published.
    accept
        A TOML file with acceptance criteria, or its content as a mapping: ``{"largest_error": 10}``. A plan that does
        not meet them is not released, and costs nothing (:class:`discreet.errors.NotAccepted`).

    Returns
    -------
    Release
        The noisy counts with their error, the guarantee and the ledger's receipt. The same question for the same
        edition returns the recorded answer and costs nothing (``release.fresh`` is False). For a new answer, name
        another edition.

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
        raise missing_ledger(data, request.unit)
    refuse_unnamed_selection(data, request.edition)
    source = open_source(data, request.dataset)
    plan = plan_request(request, source)
    book = ledger if isinstance(ledger, Ledger) else open_ledger(ledger, plan)
    return release_plan(plan, source, book, out, because=because, accept=accept)


def missing_ledger(data: Data, unit: str) -> InvalidInput:
    """Return the error of a release without a ledger: how to make one."""
    data_option = f"--data {shlex.quote(str(data))} " if isinstance(data, str | Path) else ""
    how = call(
        f"dc.Ledger.create(path, dataset=name, unit={unit!r}, epsilon=total)",
        f"discreet ledger init PATH {data_option}--unit {shlex.quote(unit)} --epsilon TOTAL",
    )
    preview = call("dc.plan_release shows the cost", "with --plan you see the cost")
    return InvalidInput(
        f"a release needs the ledger that pays for it: {arg('ledger', 'PATH')}.",
        f"Make one with: {how}; {preview} first.",
    )


def open_ledger(path: str | Path, plan: Plan) -> Ledger:
    """Open the ledger of a plan; if it does not exist, the error is the line that makes it."""
    return Ledger.open(
        path,
        hint={
            "dataset": plan.dataset,
            "unit": plan.protection.unit,
            "relation": plan.protection.relation,
            "per": plan.protection.granularity,
            "cost": plan.cost,
        },
    )


@dataclass(frozen=True)
class LedgerDecision(Result):
    """The decision of a ledger about a plan, before anything is spent: :func:`preview_release` returns it.

    Attributes
    ----------
    verdict
        "paid", "refused" (the budget does not suffice) or "recorded" (the recorded answer costs nothing).
    left
        The budget left afterwards.
    missing
        The cost that the budget lacks; None unless refused.
    since
        The time when the answer was recorded; None unless recorded.
    ledger
        The name of the ledger.
    """

    verdict: str
    left: Cost
    missing: Cost | None = None
    since: str | None = None
    ledger: str = ""

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        missing = None if self.missing is None else self.missing.to_json()
        return {"verdict": self.verdict, "left": self.left.to_json(), "missing": missing, "recorded_at": self.since}

    def report(self) -> Report:
        """Report the decision in one sentence."""
        return Report("", sections=(Section(parts=(Terms((("decision", str(self)),)),)),))

    def __str__(self) -> str:
        left = f"{amount_text(self.left)} is left in {self.ledger}"
        if self.since is not None:
            return f"recorded already, on {time_text(self.since)}: free; {left}"
        if self.missing is None:
            return f"would be paid; {left} afterwards"
        return f"would be refused: {amount_text(self.missing, up=True)} is missing; {left}"


#: A function that returns the recorded answer to the question of a plan, or None.
Lookup: TypeAlias = Callable[[Plan, Ledger], RecordedAnswer | None]


def preview_release(
    plan: Plan, source: Source, book: Ledger, out: str | Path | None = None, lookup: Lookup | None = None
) -> LedgerDecision:
    """Return what the ledger would decide about this plan; a plan that would fail for another reason fails here."""
    refuse_other_account(plan, book)
    recorded = (lookup or recorded_answer)(plan, book)
    if out is not None:
        refuse_occupied(out, plan.key if recorded else None)
        refuse_without_room(out, plan.cells)
    if recorded is not None:
        return LedgerDecision("recorded", book.left(), since=recorded.time, ledger=book.name)
    _rehearse(plan.canonical, source, book)
    left, missing = book.quote(plan.cost, plan.periods)
    return LedgerDecision("paid" if missing is None else "refused", left, missing, ledger=book.name)


def release_plan(
    plan: Plan, source: Source, book: Ledger, out: str | Path | None = None,
    bind: Callable[[], None] = lambda: None, lookup: Lookup | None = None, because: str | None = None,
    accept: Accept | None = None,
) -> Release:  # fmt: skip
    """Release the counts of a plan, paid by this ledger, which keeps the reason.

    ``bind`` records facts about the data in the ledger; it is called after every check that can refuse. ``lookup`` is
    for callers that have looked up the recorded answer; the reservation notices an answer that was recorded since.
    ``accept`` are acceptance criteria, also for a recorded answer.
    """
    return _release(plan, source, book, out, SecureBits(), bind, lookup, because, accept)


def _release(
    plan: Plan, source: Source, book: Ledger, out: str | Path | None, bits: Bits,
    bind: Callable[[], None] = lambda: None, lookup: Lookup | None = None, because: str | None = None,
    accept: Accept | None = None,
) -> Release:  # fmt: skip
    """Release a plan; every release takes this path. Tests pass bits from a seed."""
    accept_plan(plan, accept)
    refuse_other_account(plan, book)
    book.check_reason(because)
    recorded = (lookup or recorded_answer)(plan, book)
    if out is not None:
        refuse_occupied(out, plan.key if recorded else None)
        refuse_without_room(out, plan.cells)
    if recorded is None:
        canonical = plan.canonical
        _rehearse(canonical, source, book)
        if book.quote(plan.cost, plan.periods)[1] is None:
            bind_account(plan, book)
            bind()
        # every check that needs no row has passed; the next line reserves the budget
        recorded = book.answer(
            plan.key, canonical.request, plan.cost, lambda: _answer_or_error(canonical, source, book.terms.key, bits),
            periods=plan.periods, because=because, bundle=out,
        )  # fmt: skip
    else:
        bind_account(plan, book)
        bind()
    release = release_from_record(plan, recorded, book)
    if out is not None:
        release.save(out)
    return release


def _rehearse(plan: Plan, source: Source, book: Ledger) -> None:
    """Run the whole release on a table without rows, so that it fails on this machine before it costs anything."""
    encoding = getattr(source, "encoding", UTF8)  # a source that users write may lack it
    if encoding != plan.encoding:
        raise InvalidInput(
            f"the plan is for data in {plan.encoding}, and this data is read as {encoding}.",
            "Plan and release by the same dataset file.",
        )
    if book.folder is not None:
        refuse_without_room(book.folder, plan.cells)
    source.rehearse(countings(plan, book.terms.key))
    try:
        for table in plan.tables:
            table.rehearse(SecureBits())
    except Exception as problem:  # drawn for zeros, so the message cannot quote data
        raise SourceFailed(
            f"noise cannot be drawn here, and nothing was spent: {type(problem).__name__}: {problem}"
        ) from problem


@dataclass
class _Progress:
    """The current step of an answer, which is all that a failure may reveal."""

    step: str = "counting"


#: Steps between the opening and the recording -> advice when one fails. No text comes from the engine.
_FAILURES = {
    "counting": "Counting failed: the table could not be read to its end. Check the file with the engine's own tools, "
    "where only you see it.",
    "drawing": "Drawing the noise failed after the table was read. Please report it, with the plan that --plan shows.",
}


def _answer_or_error(plan: Plan, source: Source, key: bytes, bits: Bits) -> bytes:
    """Return the answer; if anything fails, raise an error that names the step and withholds the cause."""
    progress = _Progress()
    try:
        return _answer(plan, source, key, bits, progress)
    except Exception:  # its message, and those of its causes, could quote a person's row
        pass
    raise SourceFailed(
        f"{_FAILURES[progress.step]} The cause is withheld, because it could quote a row; the budget that was reserved "
        "stays spent."
    )


def countings(plan: Plan, key: bytes) -> list[Counting]:
    """Return what the source must count, for each table of a plan."""
    return [table.counting(plan.protection, key) for table in plan.tables]


def _answer(plan: Plan, source: Source, key: bytes, bits: Bits, progress: _Progress) -> bytes:
    """Return the noisy counts of every table, as the ledger keeps them. True counts exist in this function only."""
    from .. import __version__

    counts = plan.lead.count(source, countings(plan, key))
    progress.step = "drawing"
    answers = [table.answer(cells, bits) for table, cells in zip(plan.tables, counts, strict=True)]
    del counts

    content = {"version": __version__, **{part: [answer[part] for answer in answers] for part in answers[0]}}
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
