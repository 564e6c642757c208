"""A release: the tables of noisy counts, the guarantee, and the ledger's receipt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...errors import InvalidInput
from ...exact.rationals import Number
from ...ledger.budget import Cost, short
from ...ledger.chain import time_text
from ...pages.html import TEMPLATE
from ...plots.chart import Chart
from ...plots.counts import MAX_DRAWN_CELLS
from ...report import Json, Report, Result, stamped
from ...wording import listed, plural
from ..levels.quantiles import Quantile
from ..noise.margins import Combined
from ..plan.plan import Plan
from ..quantile_rows import QuantileTable
from ..tables.columns import LAYOUT
from ..tables.released import ReleasedTable
from . import frames
from .report import release_report
from .write import write_bundle


@dataclass(frozen=True, eq=False)
class Release(Result):
    """Released counts: the tables, their cost and guarantee, and the ledger's receipt.

    Attributes
    ----------
    plan
        The questions and their noise; ``plan.request`` is enough to rebuild it.
    tables
        One table for each question.
    ledger
        The receipt: the ledger's id, the number of the entry, the head of its chain, the time.
    version
        The version of the program that drew the noise.
    fresh, paid
        True if this call drew the noise, and if it spent budget; both are False for the recorded answer to an earlier
        question.
    budget
        The total budget of the ledger that paid; None for bundles of layouts before 4, which do not state it.
    layout, template
        The versions of the layout of the bundle and of the template of its page.

    Examples
    --------
    >>> import discreet as dc, os, pathlib, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> table, book = os.path.join(folder, "visits.csv"), os.path.join(folder, "visits.ledger")
    >>> _ = pathlib.Path(table).write_text("person,site\\nann,1\\nbob,2\\n")
    >>> _ = dc.Ledger.create(book, dataset="visits", unit="person", epsilon=2)
    >>> release = dc.release_counts(
    ...     "SELECT site, COUNT(*) FROM visits GROUP BY site", data=table, unit="person",
    ...     domain={"site": range(1, 4)}, max_groups=1, epsilon=1, ledger=book, zeros=[{"site": 3}],
    ... )
    >>> release
    <Release: Counts of visits by site, 3 cells, epsilon 1>
    >>> [row["status"] for row in release.rows()], release.rows()[2]["count"]
    (['A', 'A', 'M'], 0)
    >>> release.total({"site": 3}).estimate
    0
    """

    plan: Plan
    tables: tuple[ReleasedTable, ...]
    ledger: Mapping[str, Any]
    version: str
    fresh: bool = True
    paid: bool = True
    budget: Cost | None = None
    layout: int = LAYOUT
    template: int = TEMPLATE

    @property
    def edition(self) -> str:
        """Your name for the state of the data; empty without one."""
        return self.plan.edition

    @property
    def request(self) -> Mapping[str, Any]:
        """The public request as JSON."""
        return self.plan.request

    @property
    def cost(self) -> Cost:
        return self.plan.cost

    @property
    def guarantee(self) -> tuple[str, ...]:
        """The guarantee in sentences."""
        return self.plan.guarantee

    @property
    def title(self) -> str:
        """The curator's title, or what is counted."""
        if self.plan.publication.title:
            return self.plan.publication.title
        if len(self.tables) == 1:
            return self.tables[0].title
        sources = listed(list(dict.fromkeys(table.question.table for table in self.tables)))
        return f"Counts of {sources}, {len(self.tables)} tables"

    def rows(self, table: int | str | Sequence[str] = 0) -> list[dict[str, Any]]:
        """Return a mapping for each cell of a table: group columns, count, status and error columns."""
        return self.table(table).rows()

    def table(self, number: int | str | Sequence[str] = 0) -> ReleasedTable:
        """Return a table by its number, from 0; of tables released at once by its columns: ``["sex", "age"]``."""
        if isinstance(number, str) or (isinstance(number, Sequence) and all(isinstance(one, str) for one in number)):
            return self.tables[0].part(number.split("*") if isinstance(number, str) else number)
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(self.tables):
            raise InvalidInput.must_be("number", f"that of a table, from 0 to {len(self.tables) - 1}", number)
        return self.tables[number]

    def total(self, cells: Mapping[str, object] | None = None, *, table: int | str | Sequence[str] = 0) -> Combined:
        """Return the sum of the selected cells, with a confidence interval.

        ``cells`` selects by group columns, ``{"site": 1, "health": ["good", "poor"]}``, with ``...`` for the group of
        all other values; None selects all cells. With several measures it names one: ``{"measure": "count"}``.
        """
        return self.table(table).total(cells)

    def difference(
        self, first: Mapping[str, object] | None, second: Mapping[str, object] | None, *, table: int = 0
    ) -> Combined:
        """Return the sum of some cells minus that of others, with a confidence interval."""
        return self.table(table).difference(first, second)

    def percentage(
        self, part: Mapping[str, object] | None, whole: Mapping[str, object] | None = None, *, table: int = 0
    ) -> Combined:
        """Return the sum of some cells as a percentage of that of others (by default all), with an interval."""
        return self.table(table).percentage(part, whole)

    def to_pandas(self, table: int | str | Sequence[str] = 0) -> Any:
        """Return a table as a DataFrame of pandas, with nullable types."""
        return frames.to_pandas(self.table(table))

    def to_polars(self, table: int | str | Sequence[str] = 0) -> Any:
        """Return a table as a DataFrame of polars."""
        return frames.to_polars(self.table(table))

    def quantile(
        self, column: str, share: Number = Fraction(1, 2), cells: Mapping[str, object] | None = None, *, table: int = 0
    ) -> Quantile:
        """Return a quantile of a column of whole numbers, the median by default, with a confidence interval.

        ``cells`` selects as for :meth:`total`. People without a value are not counted. In a table with totals the
        counts of all levels are used, which shortens the interval.
        """
        return self.table(table).quantile(column, share, cells)

    def quantile_table(self, table: int = 0) -> QuantileTable | None:
        """Return the quantiles that the release was asked for, of a table by its number; None without any."""
        requests = self.plan.quantiles_of(table)
        return QuantileTable(self.table(table), requests) if requests else None

    def quantiles(self, table: int = 0) -> list[dict[str, Json]]:
        """Return a mapping for each quantile that the release was asked for: group columns, value, low and high."""
        quantiles = self.quantile_table(table)
        return [] if quantiles is None else quantiles.rows()

    def chart(self, table: int | str | Sequence[str] = 0) -> Chart:
        """Draw the counts of a table with their intervals."""
        return self.table(table).chart()

    def report(self, most: int = MAX_DRAWN_CELLS) -> Report:
        """Return a report with the tables, the guarantee, and how to read and check them.

        ``most`` is the number of cells of each table to show, at most 500.
        """
        return release_report(self, most)

    def describe(self, most: int = 40, width: int = 100) -> str:
        """Return the report as text for a terminal of this width."""
        return self.report(most).text(width, most)

    @property
    def payment(self) -> str:
        """Words on what this call spent, and on the record if the answer was drawn before."""
        spent = f"spent epsilon {short(self.cost.epsilon, up=True)}" if self.paid else "nothing was spent"
        if self.fresh:
            return spent
        edition = f"edition {self.edition}" if self.edition else "the edition without a name"
        return f"the recorded answer of {time_text(str(self.ledger['time']))}, for {edition}: {spent}"

    def to_json(self) -> dict[str, Json]:
        """Return the counts, their errors and the guarantee as JSON values."""
        content: dict[str, Json] = {
            "title": self.title,
            "dataset": self.plan.dataset,
            "edition": self.edition,
            "recorded": not self.fresh,
            "cost": self.cost.to_json(),
            "level": str(self.plan.level),
            "tables": [
                {"title": table.title, "question": table.question.text, "rows": table.rows(), **self._quantiles_json(k)}
                for k, table in enumerate(self.tables)
            ],
            "guarantee": list(self.guarantee),
            "ledger": dict(self.ledger),
            "program": {"name": "discreet", "version": self.version},
        }
        return stamped("counts", 1, content)

    def _quantiles_json(self, table: int) -> dict[str, Json]:
        """Return the quantiles of a table as JSON, if the release was asked for some."""
        rows = self.quantiles(table)
        return {"quantiles": list(rows)} if rows else {}

    def save(self, folder: str | Path) -> Path:
        """Write the bundle: a folder to publish, which ``discreet verify`` checks."""
        return write_bundle(self, folder)

    def __str__(self) -> str:
        return self.describe()

    def __repr__(self) -> str:
        cells = sum(table.published_cells for table in self.tables)
        return f"<Release: {self.title}, {plural(cells, 'cell')}, epsilon {float(self.cost.epsilon):.6g}>"
