"""What the plan of a release shows besides its report: one line on all choices, and the table for made-up counts."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ...errors import DiscreetError, InvalidInput
from ...explanation import fold
from ...ledger.budget import short
from ...plots.counts import label
from ...questions.question import QuantileRequest
from ...release.made_up import MadeUpSizes
from ...release.plan.plan import Plan
from ...release.plan.report import cost_in_words, dataset_in_words, explain_cost
from ...release.simulate import SimulatedRelease, simulate_release
from ...wording import listed, plural
from ..frame.fields import whole_number
from ..frame.rendering import report_body
from .release_form import ReleaseForm

#: Maximum number of cells of a preview: it is drawn with each change of the form.
MAX_CELLS = 5_000

#: Maximum number of groups whose made-up sizes can be edited.
MAX_EDITED_GROUPS = 400

#: Number in all that the form states at first.
TOTAL = "10000"

#: Epsilon from which a note says how much a reader may learn.
_LARGE_EPSILON = 5


def summary(form: ReleaseForm, plan: Plan) -> tuple[str, ...]:
    """Return all choices of a form in a few words each."""
    who, most, rows = plan.protection.who, plan.protection.max_groups, plan.protection.max_rows
    columns = listed([label(column.name, 40) for column in form.by])
    by = f"by {columns}" if form.by else "one count"
    if form.has_many_tables:
        by = f"{form.tables_in_words} of {columns}"
    totals = ", with totals" if any(table.measured_levels for table in plan.tables) else ""
    quantiles = _quantiles_in_words([request for table in plan.quantiles for request in table])
    groups = "" if who.is_row or not form.by or form.has_many_tables else f", in {plural(most, 'group')} at most"
    capped = "" if rows is None else f", with {plural(rows, 'row')}{' in each' if groups else ''} at most"
    return (
        dataset_in_words(plan),
        f"protects one {who.one}{groups}{capped}",
        f"{by}{totals}",
        *([f"where {form.where}"] if form.where else []),
        *quantiles,
        cost_in_words(plan.cost),
    )


def _quantiles_in_words(requests: Sequence[QuantileRequest]) -> list[str]:
    """Return the quantiles of each column in a few words."""
    shares: dict[str, list[Fraction]] = {}
    for column, share in requests:
        shares.setdefault(column, []).append(share)
    return [
        f"{'median' if column_shares == [Fraction(1, 2)] else 'quantiles'} of {label(column, 40)}"
        for column, column_shares in shares.items()
    ]


def large_epsilon_note(plan: Plan) -> tuple[str, ...]:
    """Return a note on a large epsilon: how far the odds about one unit can change."""
    if plan.cost.epsilon < _LARGE_EPSILON:
        return ()
    odds = explain_cost(plan.cost).odds_ratio
    return (
        f"epsilon {short(plan.cost.epsilon, up=True)} protects weakly: the odds about one {plan.protection.who.one} "
        f"can change {fold(odds)}-fold.",
    )


@dataclass(frozen=True)
class Preview:
    """The table of a plan for made-up counts, or the reason why there is none.

    Attributes
    ----------
    simulated
        The simulated release; None if it is too large, or its sizes cannot be read.
    problem
        The error in the sizes, or None.
    sizes
        The made-up size of each group as CSV, to edit; empty where it cannot be edited.
    """

    simulated: SimulatedRelease | None = None
    problem: DiscreetError | None = None
    sizes: str = ""

    @property
    def body(self) -> str:
        """The tables as a piece of a page."""
        assert self.simulated is not None
        report = self.simulated.report()
        introduction = 2 if len(self.simulated.tables) == 1 else 1  # the page itself says what is made up and asked
        return report_body(replace(report, facts=(), sections=report.sections[introduction:]), "preview")


def preview_of(plan: Plan, form: ReleaseForm) -> Preview:
    """Simulate the release of a form. Neither the data nor the ledger is opened."""
    if plan.cells > MAX_CELLS:
        return Preview()
    try:
        sizes = _sizes(form.preview)
        simulated = simulate_release(plan, sizes, seed=_seed(form.preview["draw"]))
    except DiscreetError as problem:
        return Preview(problem=problem)
    return Preview(simulated, sizes="" if form.has_many_tables else _sizes_text(plan, sizes))


def _seed(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 0


def _sizes(fields: Mapping[str, str]) -> MadeUpSizes | None:
    """Return the made-up sizes of the form: those of each group if they are typed, or the number in all."""
    if not fields["sizes"]:
        return whole_number("total", fields["total"]) if fields["total"] else None
    rows = list(csv.reader(io.StringIO(fields["sizes"])))
    heading = [name.strip() for name in rows[0]]
    lines: list[dict[str, object]] = []
    for number, row in enumerate(rows[1:], 2):
        if not row:
            continue
        if len(row) != len(heading):
            raise InvalidInput(
                f"line {number} of the sizes has {plural(len(row), 'value')}, and the first has {len(heading)}.",
                f"Write {', '.join(heading)} on each line, with commas.",
                argument="sizes",
            )
        values = [None if value.strip() == "NULL" else value.strip() for value in row]
        lines.append(dict(zip(heading, values, strict=True)))
    return lines


def _sizes_text(plan: Plan, sizes: MadeUpSizes | None) -> str:
    """Return the made-up sizes of one table of declared groups as CSV; empty for any other plan."""
    table = plan.lead
    groups = table.groups
    if len(plan.tables) > 1 or table.known_cells is None or not groups.columns or groups.size > MAX_EDITED_GROUPS:
        return ""
    counts = np.asarray(table.simulated_counts(sizes)).reshape(groups.size, -1)[:, 0]
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*groups.columns, "size"])
    for group, count in enumerate(counts.tolist()):
        names = ["NULL" if value is None else value for value in groups.label(group)]
        lines.writerow([*names, count])
    return text.getvalue()
