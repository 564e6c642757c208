"""How many groups, or rows, people have: a private histogram from which contribution bounds are chosen.

It is an ordinary release of one table, :mod:`~.tables.histogram`; here are the suggested bound and its words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Unpack

import numpy as np

from ..engines.sources import Data, open_source
from ..errors import InvalidInput, arg
from ..exact.rationals import Number, as_fraction, text_up
from ..ledger.budget import Cost
from ..ledger.ledger import Ledger
from ..report import Fact, Json, Prose, Report, Result, Section, Terms, TextTable, stamped
from ..unit import Unit
from ..wording import percent
from .acceptance import Accept
from .bound_plan import BoundPlan
from .bundle.released import Release
from .counts import LedgerDecision, missing_ledger, open_ledger, preview_release, release_plan
from .noise.cells import cell_noise
from .plan.plan import Plan
from .plan.planning import plan_request
from .plan.request import ReleaseRequest, RequestFields, read_request
from .tables.histogram import HistogramTablePlan

#: The bounds that can be chosen -> the option that sets each.
_BOUNDS = {"groups": "max_groups", "rows": "max_rows"}

#: Fields of a request that say whose contributions are counted, and what for.
_FIELDS = frozenset(
    {"unit", "unit_name", "per"}
    | {"domain", "groups", "zeros", "bands", "epsilon", "relation", "edition", "dataset", "level"}
)


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
    release
        The release of the histogram, which :meth:`~discreet.Release.save` writes as a bundle.

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
    release: Release | None = field(default=None, compare=False, repr=False)

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


class ContributionsPlan(Result):
    """A histogram of contributions that is checked and priced: its cost and its error, before a row is read.

    Attributes
    ----------
    plan
        The plan of its release, which can be simulated and checked against acceptance criteria.
    cost, level
        What it will cost, and the coverage of its intervals.
    """

    def __init__(
        self, plan: Plan, of: str, leave_out: Fraction, release: Callable[..., Release],
        preview: Callable[..., LedgerDecision] | None, notes: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.plan, self.cost, self.level = plan, plan.cost, plan.level
        self._of, self._leave_out, self._release, self._preview, self._notes = of, leave_out, release, preview, notes

    @property
    def has_ledger(self) -> bool:
        """Whether a ledger can pay; without one, a plan is only looked at."""
        return self._preview is not None

    def _headline(self) -> str:
        return f"a histogram of contributions, {self.cost}"

    @property
    def half_width(self) -> int:
        """How far a count is from the truth at most, at the coverage ``level``."""
        return self.plan.expected[0].half_width

    def preview(self, out: str | Path | None = None) -> LedgerDecision:
        """Return the decision of the ledger; nothing is spent. What would fail for another reason fails here."""
        if self._preview is None:
            raise _no_ledger()
        return self._preview(out=out)

    def release(
        self, out: str | Path | None = None, *, because: str | None = None, accept: Accept | None = None
    ) -> Contributions:
        """Count, add noise and return the histogram; the ledger pays, once for the same question.

        ``out`` is a folder for the bundle; ``because`` and ``accept`` are those of :func:`discreet.release_counts`.
        """
        if self._preview is None:
            raise _no_ledger()
        return _of_release(self._release(out=out, because=because, accept=accept), self._of, self._leave_out)

    def to_json(self, outlook: LedgerDecision | None = None) -> dict[str, Json]:
        """Return plain JSON values, with the ledger's decision: ``outlook``, or by default the present one."""
        decision = self._decision(outlook)
        content: dict[str, Json] = {
            "question": self.plan.lead.question.text,
            "of": self._of,
            "cells": self.plan.cells,
            "level": str(self.level),
            "half_width": self.half_width,
            "cost": self.cost.to_json(),
            "decision": None if decision is None else decision.to_json(),
        }
        return stamped("contributions-plan", 1, content)

    def _decision(self, outlook: LedgerDecision | None) -> LedgerDecision | None:
        return self.preview() if outlook is None and self.has_ledger else outlook

    def report(self, outlook: LedgerDecision | None = None) -> Report:
        """Report the plan and the decision of the ledger: ``outlook``, or by default the present one."""
        report, decision = self.plan.report(), self._decision(outlook)
        sections = () if decision is None else decision.report().sections
        return replace(report, sections=(*report.sections, *sections), notes=(*report.notes, *self._notes))


def _no_ledger() -> InvalidInput:
    return InvalidInput("no ledger pays for this histogram.", "Declare one in the dataset file, or give it.")


def _of_release(release: Release, of: str, leave_out: Fraction) -> Contributions:
    """Return the histogram of a release."""
    (table,), plan = release.tables, release.plan
    low, high = (tuple(np.maximum(table.errors[end], 0).tolist()) for end in ("low", "high"))
    return Contributions(
        of, tuple(table.counts.reshape(-1).tolist()), low, high, leave_out, table.question.text, plan.protection.who,
        plan.level, release.cost, release.fresh, release,
    )  # fmt: skip


def contributions(
    question: str, *, data: Data, ledger: str | Path | Ledger | None = None, of: str = "groups", top: int = 10,
    leave_out: Number = Fraction(1, 20), out: str | Path | None = None, because: str | None = None,
    accept: Accept | None = None, **fields: Unpack[RequestFields],
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
    out, because, accept
        A folder for the bundle, which ``discreet verify`` checks; your reason for asking; acceptance criteria.
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
        raise missing_ledger(data, request.unit, request.per)
    return plan_contributions(request, data=data, ledger=ledger, of=of, top=top, leave_out=leave_out).release(
        out, because=because, accept=accept
    )


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
    _refuse_without_epsilon(request.epsilon)
    source = open_source(data, request.dataset)
    plan = histogram_plan(plan_request(request, source), of, top)
    share = _read_share(leave_out)
    book = ledger if ledger is None or isinstance(ledger, Ledger) else open_ledger(ledger, plan)
    if book is None:
        return ContributionsPlan(plan, of, share, release_plan, None)
    common = (plan, source, book)
    return ContributionsPlan(plan, of, share, partial(release_plan, *common), partial(preview_release, *common))


def contributions_of(
    bound: BoundPlan, *, of: str = "groups", top: int = 10, leave_out: Number = Fraction(1, 20)
) -> ContributionsPlan:
    """Return the histogram of a declared data set, from the plan of its question with one group for each person."""
    plan = histogram_plan(bound.plan, of, top)
    share, bound = _read_share(leave_out), bound.with_plan(plan)
    preview = None if bound.dataset_object.ledger_is_missing else bound.preview
    return ContributionsPlan(plan, of, share, bound.release, preview, bound.origin)


def _read_share(leave_out: Number) -> Fraction:
    share = as_fraction(leave_out, "leave_out")
    if not 0 < share < 1:
        raise InvalidInput.must_be("leave_out", "a share between 0 and 1, such as 0.05", leave_out)
    return share


def _refuse_without_epsilon(epsilon: object) -> None:
    if epsilon is None:
        raise InvalidInput(f"say what the histogram may cost: {arg('epsilon', '1/10')}.")


def histogram_plan(plan: Plan, of: str, top: int) -> Plan:
    """Return the plan of a histogram of contributions, from that of its question with one group for each person.

    The whole epsilon goes to the one count that a person moves, or the two under substitution.
    """
    epsilon, protection = plan.cost.epsilon, plan.protection
    if len(plan.tables) > 1 or any(plan.quantiles):
        raise InvalidInput(
            "contributions are counted for one question with groups and COUNT(*).", "Leave the others out.",
            argument="questions",
        )  # fmt: skip
    table = HistogramTablePlan.of_plain(plan.lead, protection, of, top)
    noise = cell_noise("geometric", epsilon=epsilon / table.sensitivity, output="signed")
    table = replace(table, noise=noise, share=Fraction(1))
    cost = table.price([table], protection, epsilon, Fraction(0))
    return replace(plan, tables=(table,), cost=cost, quantiles=(), notes=(), other_caps=())
