"""How many groups, or rows, people have: a private histogram from which contribution bounds are chosen.

Each person is in exactly one cell, so one person moves one count by one (two under substitution), whatever the
contribution bounds will be. It is a release of its own: the ledger pays for it, and the same question has one answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Unpack

import numpy as np

from ..engines.base import ROW, Contributing
from ..engines.sources import Data, Source, open_source
from ..errors import InvalidInput, SourceFailed, arg
from ..exact.arrays import IntArray
from ..exact.bits import Bits, SecureBits
from ..exact.integers import positive_integer
from ..exact.rationals import Number, as_fraction, text_up
from ..ledger.budget import Cost
from ..ledger.ledger import Ledger
from ..privacy.relations import RELATIONS
from ..report import Fact, Json, Prose, Report, Result, Section, Terms, TextTable, stamped
from ..strict_json import read_json
from ..unit import Unit
from ..wording import find_name, percent
from .bound_plan import BoundPlan
from .charging import bind_account, refuse_other_account
from .counts import LedgerDecision, missing_ledger, open_ledger
from .noise.cells import CellNoise, cell_noise
from .plan.plan import Plan
from .plan.planning import plan_request
from .plan.report import cost_in_words
from .plan.request import ReleaseRequest, RequestFields, read_request
from .pricing import price
from .protection import Change

#: Format and version of the request that the ledger records.
FORMAT, VERSION = "discreet contributions", 1

#: The bounds that can be chosen -> the option that sets each.
_BOUNDS = {"groups": "max_groups", "rows": "max_rows"}

#: Fields of a request that say whose contributions are counted, and what for.
_FIELDS = frozenset(
    {"unit", "unit_name", "per"}
    | {"domain", "groups", "zeros", "bands", "epsilon", "relation", "edition", "dataset", "level"}
)

#: Largest number of cells.
_MAX_CELLS = 1_000


@dataclass(frozen=True)
class Contributions(Result):
    """A private histogram of people by their number of groups, or by their largest number of rows in a group.

    Attributes
    ----------
    of
        "groups" or "rows".
    counts
        The noisy number of people with 1, 2, ... of them; the last with that number or more. Unbiased, so some may be
        negative.
    low, high
        An interval of each true number of people, at the coverage ``level``.
    leave_out
        The share of people that the suggested bound may affect.
    question, unit, level, cost, fresh
        The question, whose rows they are, the coverage of the intervals, what it cost, and whether it is a new answer.

    Examples
    --------
    >>> from fractions import Fraction
    >>> histogram = Contributions(
    ...     "groups", (90, 6, 4), (87, 3, 1), (93, 9, 7), Fraction(1, 20), "SELECT ...", Unit("person"),
    ...     Fraction(19, 20), Cost(Fraction(1)), True,
    ... )
    >>> histogram.suggestion, float(histogram.share_above(2))
    (2, 0.04)
    """

    of: str
    counts: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    leave_out: Fraction
    question: str
    unit: Unit
    level: Fraction
    cost: Cost
    fresh: bool

    @property
    def option(self) -> str:
        """The contribution bound that it is about: max_groups or max_rows."""
        return _BOUNDS[self.of]

    def share_above(self, bound: int) -> Fraction | None:
        """Return the estimated share of people with more than this many; None where it cannot be estimated."""
        total = sum(self.counts)
        if total <= 0 or not 0 <= bound < len(self.counts):
            return None
        return min(max(Fraction(sum(self.counts[bound:]), total), Fraction(0)), Fraction(1))

    @property
    def suggestion(self) -> int | None:
        """The least bound that affects at most ``leave_out`` of the people, as estimated; None if none here does."""
        for bound in range(1, len(self.counts)):
            share = self.share_above(bound)
            if share is not None and share <= self.leave_out:
                return bound
        return None

    @property
    def sentence(self) -> str:
        """The suggested bound, and what it leaves out."""
        bound, several = self.suggestion, self.unit.several
        if bound is None:
            return (
                f"No bound below {len(self.counts)} affects at most {percent(self.leave_out, 3)} of the {several}, as "
                "estimated. Ask again with more cells (top), or accept that more are affected."
            )
        share = self.share_above(bound)
        assert share is not None  # a bound without a share is not suggested
        what = (
            "in more groups are missing from the rest" if self.of == "groups" else "with more rows in a group lose some"
        )
        return (
            f"{self.option} = {bound}: about {percent(share, 3)} of the {several}, those {what}. This is estimated "
            "from the noisy counts."
        )

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        share = None if self.suggestion is None else self.share_above(self.suggestion)
        content: dict[str, Json] = {
            "question": self.question,
            "of": self.of,
            "counts": list(self.counts),
            "low": list(self.low),
            "high": list(self.high),
            "level": str(self.level),
            "cost": self.cost.to_json(),
            "fresh": self.fresh,
            "suggestion": {self.option: self.suggestion, "share_above": None if share is None else float(share)},
        }
        return stamped("contributions", 1, content)

    def report(self) -> Report:
        """Report the histogram and the suggested bound."""
        top = len(self.counts)
        labels = [*map(str, range(1, top)), f"{top} or more"]
        rows = tuple(
            (label, f"{count:,}", f"{low:,} to {high:,}")
            for label, count, low, high in zip(labels, self.counts, self.low, self.high, strict=True)
        )
        heading = "groups" if self.of == "groups" else "rows in one group"
        who = self.unit
        headings = (heading, who.several, f"{percent(self.level, 6)} interval")
        title = "groups" if self.of == "groups" else "rows in a group"
        epsilon = text_up(self.cost.epsilon, 4)
        lines = (
            ("question", self.question),
            ("protects", f"{who.protected}: each is in one of these counts"),
            ("paid", f"epsilon {epsilon}" if self.fresh else f"nothing: recorded before, for epsilon {epsilon}"),
        )
        return Report(
            f"How many {title} one {who.one} has",
            "Contributions",
            (Fact(f"ε = {epsilon}", "privacy of this histogram"),),
            (
                Section(parts=(Prose(self.sentence, tone="lead"),)),
                Section(parts=(TextTable(headings, rows, numbers=(1,), compact=True),)),
                Section(parts=(Terms(lines),)),
            ),
        )


@dataclass(frozen=True)
class _Histogram:
    """The request of a histogram: the checked question, its cells, their noise and the cost."""

    plan: Plan
    of: str
    top: int
    noise: CellNoise
    cost: Cost

    @property
    def request(self) -> dict[str, Json]:
        """The public request as JSON, which the ledger records."""
        whole = self.plan.canonical.request
        table = {name: value for name, value in whole["tables"][0].items() if name not in _OF_RELEASES}
        kept = ("dataset", "edition", "unit", "unit_name", "per", "relation", "epsilon", "encoding")
        return {
            "format": FORMAT,
            "version": VERSION,
            **{name: whole[name] for name in kept if name in whole},
            "of": self.of,
            "top": self.top,
            "noise": self.noise.to_json(),
            "tables": [table],
        }

    @property
    def key(self) -> str:
        """The digest of the request: the same question has the same answer."""
        fields = {name: value for name, value in self.request.items() if name != "unit_name"}
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def counting(self) -> Contributing:
        """Return what the source must count."""
        table = self.plan.canonical.tables[0]
        unit, per = self.plan.protection.unit, self.plan.protection.per
        return Contributing(table.question, table.groups, unit, 1, b"", of=self.of, top=self.top, per=per)


#: Fields of a table of a release that a histogram does not have.
_OF_RELEASES = ("noise", "share", "suppress_below")


@dataclass(frozen=True)
class _PricedCells:
    """The cells of a histogram as pricing sees them."""

    noise: CellNoise
    changes: tuple[tuple[CellNoise, Change], ...]


class ContributionsPlan(Result):
    """A histogram of contributions that is checked and priced: its cost and its error, before a row is read.

    Attributes
    ----------
    cost, level
        What it will cost, and the coverage of its intervals.
    """

    def __init__(
        self, histogram: _Histogram, source: Source, book: Ledger | None, leave_out: Fraction,
        bind: Callable[[], None] = lambda: None, notes: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self._histogram, self._source, self._book, self._leave_out = histogram, source, book, leave_out
        self._bind, self._notes = bind, notes
        self.cost, self.level = histogram.cost, histogram.plan.level

    @property
    def has_ledger(self) -> bool:
        """Whether a ledger can pay; without one, a plan is only looked at."""
        return self._book is not None

    @property
    def ledger(self) -> Ledger:
        """The ledger that pays."""
        if self._book is None:
            raise InvalidInput("no ledger pays for this histogram.", "Declare one in the dataset file, or give it.")
        return self._book

    def _headline(self) -> str:
        return f"a histogram of contributions, {self.cost}"

    @property
    def half_width(self) -> int:
        """How far a count is from the truth at most, at the coverage ``level``."""
        return self._histogram.noise.expected(self.level).half_width

    def preview(self) -> LedgerDecision:
        """Return the decision of the ledger; nothing is spent. What would fail for another reason fails here."""
        histogram, book = self._histogram, self.ledger
        refuse_other_account(histogram.plan, book)
        record = book.recorded(histogram.key)
        if record is not None:
            return LedgerDecision("recorded", book.left(), since=record.time, ledger=book.name)
        self._source.rehearse([histogram.counting()])
        left, missing = book.quote(self.cost, histogram.plan.periods)
        return LedgerDecision("paid" if missing is None else "refused", left, missing, ledger=book.name)

    def release(self) -> Contributions:
        """Count, add noise and return the histogram; the ledger pays, once for the same question."""
        return _released(self._histogram, self._source, self.ledger, self._leave_out, SecureBits(), self._bind)

    def to_json(self, outlook: LedgerDecision | None = None) -> dict[str, Json]:
        """Return plain JSON values, with the ledger's decision: ``outlook``, or by default the present one."""
        decision = self._decision(outlook)
        content: dict[str, Json] = {
            "question": self._histogram.plan.tables[0].question.text,
            "of": self._histogram.of,
            "cells": self._histogram.top,
            "level": str(self.level),
            "half_width": self.half_width,
            "cost": self.cost.to_json(),
            "decision": None if decision is None else decision.to_json(),
        }
        return stamped("contributions-plan", 1, content)

    def _decision(self, outlook: LedgerDecision | None) -> LedgerDecision | None:
        return self.preview() if outlook is None and self.has_ledger else outlook

    def report(self, outlook: LedgerDecision | None = None) -> Report:
        """Report the cost, the error and the decision of the ledger: ``outlook``, or by default the present one."""
        decision = self._decision(outlook)
        plan, top = self._histogram.plan, self._histogram.top
        who, what = plan.protection.who, "groups" if self._histogram.of == "groups" else "rows in one group"
        expected = self._histogram.noise.expected(self.level)
        lines = (
            ("question", plan.tables[0].question.text),
            ("counts", f"{who.several} by their number of {what}: 1, 2, ... and {top} or more"),
            ("protects", f"{who.protected}: each is in one of these counts"),
            ("noise", f"± {expected.half_width:,} {expected.how_often}"),
            ("cost", cost_in_words(self.cost)),
            *((("decision", str(decision)),) if decision is not None else ()),
        )
        facts = (
            Fact(f"ε = {text_up(self.cost.epsilon, 4)}", "privacy of this histogram"),
            Fact(f"noise ± {expected.half_width:,}", expected.how_often),
        )
        sections = (Section(parts=(Terms(lines),)),)
        return Report(f"A plan: how many {what} one {who.one} has", "Contributions", facts, sections, notes=self._notes)


def contributions(
    question: str, *, data: Data, ledger: str | Path | Ledger | None = None, of: str = "groups", top: int = 10,
    leave_out: Number = Fraction(1, 20), **fields: Unpack[RequestFields],
) -> Contributions:  # fmt: skip
    """Count privately how many groups people have, or how many rows, to choose ``max_groups`` or ``max_rows``.

    Parameters
    ----------
    question
        The question whose bound is chosen: groups, WHERE and COUNT(*). Its groups are declared as for a release.
    data, ledger
        As for :func:`discreet.release_counts`. The ledger pays ``epsilon``.
    of
        ``"groups"``: in how many groups a person has rows. ``"rows"``: their largest number of rows in any group.
    top
        Number of cells: 1, 2, ..., and the last for that number or more.
    leave_out
        The share of people that the suggested bound may affect.
    fields
        ``unit`` and ``epsilon`` (required), ``domain``, ``groups``, ``zeros``, ``bands``, ``relation``, ``edition``,
        ``dataset``, ``unit_name`` and ``level``, as for :func:`discreet.plan_release`.

    A data set that is declared has its unit, its values and its ledger: :meth:`discreet.Dataset.contributions`.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> table, book = folder / "visits.csv", folder / "visits.ledger"
    >>> _ = table.write_text("person,site\\nann,1\\nbob,2\\nann,2\\n")
    >>> _ = dc.Ledger.create(book, dataset="visits", unit="person", epsilon=2)
    >>> histogram = dc.contributions(
    ...     "SELECT site, COUNT(*) FROM visits GROUP BY site", data=table, unit="person",
    ...     domain={"site": range(1, 4)}, epsilon="1/10", ledger=book,
    ... )
    >>> len(histogram.counts), str(dc.Ledger.open(book).left().epsilon)
    (3, '19/10')
    """
    refuse_other_fields(fields)
    options: RequestFields = {**fields, "max_groups": 1}
    request = read_request(question, **options)
    if ledger is None:
        raise missing_ledger(data, request.unit)
    return plan_contributions(request, data=data, ledger=ledger, of=of, top=top, leave_out=leave_out).release()


def refuse_other_fields(fields: Mapping[str, object]) -> None:
    """Refuse fields of a release that a histogram does not have."""
    for name in fields:
        if name not in _FIELDS:
            raise InvalidInput(
                f"{arg(name)} does not belong to a histogram of contributions.", "Leave it out.", argument=name
            )


def plan_contributions(
    request: ReleaseRequest, *, data: Data, ledger: str | Path | Ledger | None, of: str = "groups", top: int = 10,
    leave_out: Number = Fraction(1, 20),
) -> ContributionsPlan:  # fmt: skip
    """Check and price the histogram of a request; no row is read. Without a ledger it can only be looked at."""
    source = open_source(data, request.dataset)
    histogram = _planned(request, source, of, top)
    share = _read_share(leave_out)
    if ledger is None or isinstance(ledger, Ledger):
        return ContributionsPlan(histogram, source, ledger, share)
    return ContributionsPlan(histogram, source, open_ledger(ledger, histogram.plan), share)


def contributions_of(
    bound: BoundPlan, *, of: str = "groups", top: int = 10, leave_out: Number = Fraction(1, 20)
) -> ContributionsPlan:
    """Return the histogram of a declared data set, from the plan of its question with one group for each person."""
    epsilon = bound.plan.request.get("epsilon")
    cells = _read_cells(of, top, bound.plan.protection.unit, epsilon)
    histogram = _histogram(bound.plan, as_fraction(str(epsilon)), *cells)
    share = _read_share(leave_out)
    if bound.dataset_object.ledger_is_missing:
        return ContributionsPlan(histogram, bound.source, None, share, notes=bound.origin)
    book = bound.checked_ledger()
    return ContributionsPlan(histogram, bound.source, book, share, lambda: bound.bind_edition(book), bound.origin)


def _read_share(leave_out: Number) -> Fraction:
    share = as_fraction(leave_out, "leave_out")
    if not 0 < share < 1:
        raise InvalidInput.must_be("leave_out", "a share between 0 and 1, such as 0.05", leave_out)
    return share


def _planned(request: ReleaseRequest, data: Data, of: str, top: int) -> _Histogram:
    """Check the question as that of a release, and price the histogram."""
    cells = _read_cells(of, top, request.unit, request.epsilon)
    plan = plan_request(request, data)
    assert request.epsilon is not None  # or it was refused
    return _histogram(plan, request.epsilon, *cells)


def _read_cells(of: str, top: int, unit: str, epsilon: object) -> tuple[str, int]:
    """Return what is counted, and the number of cells; refuse a unit or a cost that a histogram cannot have."""
    of = find_name(of, tuple(_BOUNDS), "what people contribute", argument="of")
    cells = positive_integer(top, "top", least=2)
    if cells > _MAX_CELLS:
        raise InvalidInput.must_be("top", f"a whole number from 2 to {_MAX_CELLS:,}", top)
    if unit == ROW:
        raise InvalidInput(
            "each row is a unit of its own, in one group.", f"Name the person's column: {arg('unit', 'COLUMN')}.",
            argument="unit",
        )  # fmt: skip
    if epsilon is None:
        raise InvalidInput(f"say what the histogram may cost: {arg('epsilon', '1/10')}.")
    return of, cells


def _histogram(plan: Plan, epsilon: Fraction, of: str, cells: int) -> _Histogram:
    """Price the histogram of a planned question."""
    table = plan.tables[0]
    plain = len(plan.tables) == 1 and not any(plan.quantiles) and not table.measured_levels
    if not plain or len(table.question.aggregates) != 1 or table.question.aggregates[0].condition is not None:
        raise InvalidInput(
            "contributions are counted for one question with groups and COUNT(*).",
            "Leave out other counts and totals; put a condition into WHERE.",
            argument="questions",
        )
    if of == "groups":
        cells = min(cells, table.groups.live)
        if cells < 2:
            raise InvalidInput(
                "everybody is in the one group of this question.", "Ask for rows, or for a question with more groups.",
                argument="of",
            )  # fmt: skip
    protection = plan.protection
    moved = min(RELATIONS[protection.relation].moves, cells)
    noise = cell_noise("geometric", epsilon=epsilon / moved, output="signed")
    cost = price([_PricedCells(noise, ((noise, Change(moved, moved)),))], epsilon, Fraction(0))
    return _Histogram(plan, of, cells, noise, cost)


def _released(
    histogram: _Histogram, source: Source, book: Ledger, leave_out: Fraction, bits: Bits,
    bind: Callable[[], None] = lambda: None,
) -> Contributions:  # fmt: skip
    """Return the recorded histogram, or a new one that the ledger pays for. ``bind`` records facts about the data."""
    plan = histogram.plan
    refuse_other_account(plan, book)
    record = book.recorded(histogram.key)
    if record is None:
        counting = histogram.counting()
        source.rehearse([counting])
        histogram.noise.draw(np.zeros(histogram.top, dtype=np.int64), bits)
        if book.quote(histogram.cost, plan.periods)[1] is None:
            bind_account(plan, book)
            bind()
        record = book.answer(
            histogram.key,
            histogram.request,
            histogram.cost,
            lambda: _answer_or_error(histogram, source, counting, bits),
            periods=plan.periods,
        )
    counts: IntArray = np.array(read_json(record.answer, "the recorded answer")["counts"], dtype=np.int64)
    if counts.shape != (histogram.top,):
        raise InvalidInput(
            "the ledger's recorded answer does not fit this question.", "Check it with: discreet ledger verify"
        )
    low, high = histogram.noise.intervals(counts, plan.level)
    return Contributions(
        histogram.of, tuple(counts.tolist()), tuple(np.maximum(low, 0).tolist()), tuple(np.maximum(high, 0).tolist()),
        leave_out, plan.tables[0].question.text, plan.protection.who, plan.level, histogram.cost, record.fresh,
    )  # fmt: skip


def _answer_or_error(histogram: _Histogram, source: Source, counting: Contributing, bits: Bits) -> bytes:
    """Return the answer; if anything fails, raise an error that withholds the cause."""
    try:
        return _answer(histogram, source, counting, bits)
    except Exception:  # its message, and those of its causes, could quote a person's row
        pass
    raise SourceFailed(
        "Counting failed: the table could not be read to its end. The cause is withheld, because it could quote a row; "
        "the budget that was reserved stays spent.",
        "Check the file with the engine's own tools, where only you see it.",
    )


def _answer(histogram: _Histogram, source: Source, counting: Contributing, bits: Bits) -> bytes:
    """Return the noisy histogram, as the ledger keeps it. True counts exist in this function only."""
    from .. import __version__

    (counts,) = source.count([counting])
    noisy = histogram.noise.draw(counts.reshape(-1), bits).tolist()
    del counts
    return json.dumps({"version": __version__, "counts": noisy}, separators=(",", ":")).encode()
