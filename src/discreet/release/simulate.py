"""Simulate a release: made-up counts with the noise of a plan. No source is opened and nothing is spent."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..exact.bits import seeded_bits
from ..plots.counts import MAX_DRAWN_CELLS
from ..report import Json, Prose, Report, Result, Section, stamped
from .bundle.report import MAX_TABLES, table_sections
from .made_up import MadeUpSizes
from .plan.plan import Plan
from .plan.report import plan_facts, question_in_words
from .quantile_rows import QuantileTable
from .tables.released import ReleasedTable, Row

#: The watermark of everything that was made up.
WATERMARK = "SIMULATED"

#: The sentence that comes first.
MADE_UP = (
    "Simulated: the counts behind this table are made up, and its noise is drawn from a seed. No row was read and "
    "nothing was spent. Do not publish it."
)


@dataclass(frozen=True, eq=False)
class SimulatedRelease(Result):
    """A table as a release would publish it, of made-up counts: :func:`simulate_release` returns it.

    It is not a release: it has no receipt of a ledger, cannot be saved as a bundle, and is marked as simulated
    everywhere.

    Attributes
    ----------
    plan
        The plan whose noise was drawn.
    tables
        One table for each question.
    seed
        The seed of the noise.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.plan_release(
    ...     "SELECT site, COUNT(*) FROM visits GROUP BY site", data="visits", unit="person",
    ...     domain={"site": range(1, 4)}, max_groups=1, epsilon=1,
    ... )
    >>> simulated = dc.simulate_release(plan, 500)
    >>> print(simulated.describe()[:45])
    Simulated: Counts of visits by site
    Simulated
    """

    plan: Plan
    tables: tuple[ReleasedTable, ...]
    seed: int

    @property
    def title(self) -> str:
        """The titles of its tables, marked as simulated."""
        return f"Simulated: {'; '.join(dict.fromkeys(table.title for table in self.tables))}"

    def rows(self, table: int = 0) -> list[Row]:
        """Return a mapping for each cell of a table, as those of a release."""
        return self.tables[table].rows()

    def quantiles(self, table: int = 0) -> list[dict[str, Json]]:
        """Return a mapping for each quantile that the plan asks for."""
        quantiles = self._quantile_table(table)
        return [] if quantiles is None else quantiles.rows()

    def _quantile_table(self, table: int) -> QuantileTable | None:
        requests = self.plan.quantiles_of(table)
        return QuantileTable(self.tables[table], requests) if requests else None

    def report(self, most: int = MAX_DRAWN_CELLS) -> Report:
        """Return a report with the tables, marked as simulated; ``most`` is the number of cells of each to show."""
        sections = [Section(parts=(Prose(MADE_UP, tone="lead"),))]
        for number, table in enumerate(self.tables):
            question = question_in_words(self.plan, table.plan)
            sections.append(Section(table.title if len(self.tables) > 1 else "", (Prose(question),)))
            quantiles = self._quantile_table(number)
            for one in table.parts[:MAX_TABLES]:
                first, *others = table_sections(one, quantiles, min(most, MAX_DRAWN_CELLS), "Simulated counts.")
                sections += [replace(first, title=one.title) if len(table.parts) > 1 else first, *others]
        return Report(
            self.title,
            kind=f"{WATERMARK}: not from the data",
            facts=plan_facts(self.plan),
            sections=tuple(sections),
            watermark=WATERMARK,
        )

    def to_json(self) -> dict[str, Json]:
        """Return the made-up tables for programs, marked as simulated."""
        tables: list[Json] = []
        for number, table in enumerate(self.tables):
            quantiles = self.quantiles(number)
            tables.append(
                {"title": table.title, "question": table.question.text, "rows": list[Json](table.rows())}
                | ({"quantiles": list[Json](quantiles)} if quantiles else {})
            )
        content: dict[str, Json] = {
            "simulated": True,
            "warning": MADE_UP,
            "dataset": self.plan.dataset,
            "cost": self.plan.cost.to_json(),
            "seed": self.seed,
            "level": str(self.plan.level),
            "tables": tables,
        }
        return stamped("simulated-release", 1, content)

    def _headline(self) -> str:
        return f"{self.title}, seed {self.seed}"

    def __str__(self) -> str:
        return self.describe()


def simulate_release(plan: Plan, sizes: MadeUpSizes | None = None, *, seed: int = 0) -> SimulatedRelease:
    """Return what a plan would publish if its true counts were these made-up ones. The data is not opened.

    Parameters
    ----------
    plan
        The plan of a release.
    sizes
        How many there are in all, which are spread unevenly over the groups; or the size of each group, as a CSV file
        with the group columns and ``size`` or as rows. Without it, counts within the public sizes of the request, or
        10,000 in all. Columns whose values are found in the data get made-up values.
    seed
        The seed of the noise, which has the law of the release. A release itself never takes a seed.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.plan_release(
    ...     "SELECT site, COUNT(*) FROM visits GROUP BY site", data="visits", unit="person",
    ...     domain={"site": range(1, 4)}, max_groups=1, epsilon=1,
    ... )
    >>> sizes = [{"site": 1, "size": 500}, {"site": 2, "size": 40}, {"site": 3, "size": 0}]
    >>> simulated = dc.simulate_release(plan, sizes, seed=1)
    >>> [row["site"] for row in simulated.rows()], simulated.report().watermark
    ([1, 2, 3], 'SIMULATED')
    """
    bits = seeded_bits(seed)
    tables = []
    for number, table in enumerate(plan.tables):
        record = table.answer(table.simulated_counts(sizes), bits.part(number))
        tables.append(table.from_record(record, table.to_json(), plan.level, plan.edition))
    return SimulatedRelease(plan, tuple(tables), seed)
