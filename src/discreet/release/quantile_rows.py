"""The quantiles that a release was asked for: their rows, their CSV file and their columns.

They are found in the released counts alone, so they cost nothing, and an audit finds them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from ..questions.domains import REST
from ..questions.groups import Value
from ..questions.question import QuantileRequest
from ..report import Json
from ..wording import percent
from .levels.quantiles import Quantile
from .tables.csv_text import csv_label
from .tables.released import ReleasedTable
from .tables.typed_columns import Column, group_column

#: Column of the quantiles -> its meaning.
QUANTILE_MEANING = {
    "column": "the column whose quantile it is",
    "share": "the share of people with at most this value: 1/2 for the median",
    "value": "the quantile of the released counts; of a column with bands, the band that contains it",
    "low": "the first value, or band, of the interval",
    "high": "the last value, or band, of the interval; it contains the true quantile as often as the level "
    "says, or more often",
}

#: The share of the median, as text.
_MEDIAN = "1/2"


@dataclass(frozen=True, eq=False)
class QuantileTable:
    """The quantiles of a released table, by the columns of which none was asked for.

    Attributes
    ----------
    table
        The released table.
    requests
        The column and the share of each quantile.
    """

    table: ReleasedTable
    requests: tuple[QuantileRequest, ...]

    @property
    def group_places(self) -> tuple[int, ...]:
        """The places of the group columns of which no quantile was asked for."""
        measured = {column for column, _ in self.requests}
        return tuple(k for k, name in enumerate(self.table.groups.columns) if name not in measured)

    @property
    def group_headings(self) -> tuple[str, ...]:
        """The headings of the group columns; one that equals a heading of the quantiles gets ``group_`` before it."""
        headings: list[str] = []
        for place in self.group_places:
            heading = self.table.by[place]
            while heading in QUANTILE_MEANING or heading in headings or heading == "edition":
                heading = f"group_{heading}"
            headings.append(heading)
        return tuple(headings)

    @property
    def has_measures(self) -> bool:
        """Whether the table has several measures, each with quantiles of its own."""
        return len(self.table.measures) > 1

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings of the CSV file."""
        edition = ("edition",) if self.table.edition else ()
        measure = ("measure",) if self.has_measures else ()
        return (*edition, *self.group_headings, *measure, *QUANTILE_MEANING)

    @cached_property
    def found(self) -> tuple[tuple[tuple[Value, ...], str, Quantile], ...]:
        """The values of each group, the measure, and the quantile."""
        return tuple(self._find())

    def _find(self) -> Iterator[tuple[tuple[Value, ...], str, Quantile]]:
        table, places = self.table, self.group_places
        headings = table.by
        for values in product(*(table.groups.values[k] for k in places)):
            cells: dict[str, object] = {
                headings[k]: ... if value is REST else value for k, value in zip(places, values, strict=True)
            }
            if not self._exists(places, values):
                continue
            for measure in table.measures:
                chosen = {**cells, "measure": measure} if self.has_measures else cells
                for column, share in self.requests:
                    heading = headings[table.groups.columns.index(column)]
                    yield values, measure, table.quantile(heading, share, chosen)

    def _exists(self, places: Sequence[int], values: Sequence[Value]) -> bool:
        """Return whether a group is declared: a list of groups may leave combinations out."""
        groups = self.table.groups
        if groups.cells is None:
            return True
        numbers = [list(groups.values[k]).index(value) for k, value in zip(places, values, strict=True)]
        return bool((groups.cells[:, list(places)] == numbers).all(axis=1).any())

    def rows(self) -> list[dict[str, Json]]:
        """Return a mapping for each quantile: group columns, column, share, value, low, high."""
        return [
            {
                **dict(zip(self.group_headings, values, strict=True)),
                **({"measure": measure} if self.has_measures else {}),
                "column": one.column,
                "share": str(one.share),
                "value": one.value,
                "low": one.low,
                "high": one.high,
            }
            for values, measure, one in self.found
        ]

    def csv_text(self) -> str:
        """Return the CSV file, a line for each quantile."""
        edition = {"edition": self.table.edition} if self.table.edition else {}
        lines = [",".join(csv_label((edition | row)[name]) for name in self.headings) for row in self.rows()]
        return "\n".join([",".join(map(csv_label, self.headings)), *lines]) + "\n"

    def typed_columns(self) -> list[Column]:
        """Return the columns with the types of their values."""
        groups, quantiles = self.table.groups, [one for _, _, one in self.found]
        columns = [
            group_column(name, groups.kinds[place], [values[k] for values, _, _ in self.found])
            for k, (name, place) in enumerate(zip(self.group_headings, self.group_places, strict=True))
        ]
        if self.has_measures:
            columns.append(Column("measure", "text", [measure for _, measure, _ in self.found]))
        columns.append(Column("column", "text", [one.column for one in quantiles]))
        columns.append(Column("share", "text", [str(one.share) for one in quantiles]))
        whole = all(isinstance(one.value, int) for one in quantiles)
        for name in ("value", "low", "high"):
            figures = [getattr(one, name) for one in quantiles]
            columns.append(Column(name, "integer" if whole else "text", figures if whole else list(map(str, figures))))
        return columns

    @property
    def title(self) -> str:
        """A title with the columns."""
        names = " and ".join(dict.fromkeys(column for column, _ in self.requests))
        only_medians = all(str(share) == _MEDIAN for _, share in self.requests)
        by = f" by {' and '.join(self.group_headings)}" if self.group_headings else ""
        return f"{'Median' if only_medians else 'Quantiles'} of {names}{by}"

    @property
    def sentence(self) -> str:
        """A sentence on the intervals."""
        return (
            f"Each interval contains the true quantile at least {percent(self.table.level, 6)} of the time. Quantiles "
            "are found in the released counts, so they cost nothing more. People whose value is missing, or in none of "
            "the bands, are not counted."
        )


def quantile_file(name: str) -> str:
    """Return the name of the file of quantiles of the table with this file.

    >>> quantile_file("counts.csv"), quantile_file("counts_2.csv")
    ('quantiles.csv', 'quantiles_2.csv')
    """
    return name.replace("counts", "quantiles", 1)
