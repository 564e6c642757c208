"""What a release holds: noisy counts, the error of each, the guarantee, and the ledger's receipt.

Everything here is a function of the noisy counts and of public parameters. Three kinds of cells are told apart by the
flags of SDMX (code list CL_OBS_STATUS): a noisy count, a cell that cannot exist, and one that was suppressed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...exact.arrays import BoolArray, IntArray
from ...plots.chart import printable
from ...plots.counts import MOST_CELLS, label
from ...wording import listed, percent, plural
from ..noise.accuracy import NO_END

if TYPE_CHECKING:
    from ...ledger.budget import Cost
    from ...plots import Chart
    from ...questions.groups import Groups, Value
    from ...questions.question import Question
    from ..noise.cells import CellNoise
    from ..noise.margins import Combined
    from ..plan.plan import Plan, TablePlan


#: The flags of SDMX's CL_OBS_STATUS that are used, and what they mean here.
STATUS_MEANING = {
    "A": "a noisy count",
    "M": "the cell cannot exist (a structural zero, declared as a public fact): its count is 0 without noise",
    "Q": "suppressed: the noisy count was below the threshold and is not published",
}
NORMAL, IMPOSSIBLE, SUPPRESSED = STATUS_MEANING

#: What is said of every count, in the order of the columns.
ERROR_COLUMNS = ("low", "high", "sd", "bias_low", "bias_high", "exact_probability")
_OWN = ("measure", "count", "status", *ERROR_COLUMNS)

#: The version of a bundle's files. Version 1 has no edition in the tables.
LAYOUT = 2


@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """One table of a release.

    Attributes
    ----------
    plan
        The question, the groups and the noise.
    counts
        Noisy counts, a row for each group and a column for each measure; 0 where there is none to see.
    status
        "A" (a noisy count), "M" (the cell cannot exist) or "Q" (suppressed) for each count.
    level
        The coverage of the intervals, whatever the true counts are.
    edition
        The state of the data that was counted, by name; a column of the published table unless it is empty.
    """

    plan: TablePlan
    counts: IntArray
    status: NDArray[np.str_]
    level: Fraction
    edition: str = ""

    @property
    def question(self) -> Question:
        return self.plan.question

    @property
    def groups(self) -> Groups:
        return self.plan.groups

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(aggregate.name for aggregate in self.question.aggregates)

    @property
    def title(self) -> str:
        """A few words: what was counted, in which table, by what."""
        by = f" by {listed(self.groups.columns)}" if self.groups.columns else ""
        return f"Counts of {self.question.table}{by}"

    @property
    def by(self) -> tuple[str, ...]:
        """The headings of the group columns; one that reads like a heading of ours is told apart by ``group_``."""
        own = (*_OWN, "edition") if self.edition else _OWN
        taken = {*own, *self.groups.columns}
        headings = []
        for column in self.groups.columns:
            heading = column
            while heading in own or (heading != column and heading in taken):
                heading = f"group_{heading}"
            taken.add(heading)
            headings.append(heading)
        return tuple(headings)

    @property
    def headings(self) -> tuple[str, ...]:
        """The columns of the published table."""
        measure = ("measure",) if len(self.measures) > 1 else ()
        edition = ("edition",) if self.edition else ()
        return (*edition, *self.by, *measure, "count", "status", *ERROR_COLUMNS)

    @cached_property
    def errors(self) -> dict[str, NDArray[Any]]:
        """The error columns, one value for each count in the order of the rows: functions of the noisy counts alone.

        What cannot exist is known to be 0. Of what is suppressed nothing is said: skip it by its status. ``high`` is
        :data:`~.accuracy.NO_END` where there is no upper end.
        """
        found = self.plan.noise.accuracy(self.counts.reshape(-1), self.level)
        columns = (found.low, found.high, found.sd, found.bias_low, found.bias_high, found.exact)
        errors = {name: np.array(values) for name, values in zip(ERROR_COLUMNS, columns, strict=True)}
        impossible = self.status.reshape(-1) == IMPOSSIBLE
        for name, values in errors.items():
            values[impossible] = name == "exact_probability"
        return errors

    @property
    def open(self) -> BoolArray:
        """Which intervals have no upper end: the true count may lie beyond the bound."""
        return np.asarray(self.errors["high"] == NO_END)

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """A mapping for each count, in the order of the groups: group columns, count, status and error columns.

        A suppressed count and what is said of it are None, and so is a bound that does not exist. ``most`` stops early.
        """
        many = len(self.measures)
        size = self.counts.size if most is None else min(most, self.counts.size)
        groups = -(-size // many)
        labels = [_first(self.groups, k, groups) for k in range(len(self.groups.columns))]
        errors = {name: self.errors[name][:size].tolist() for name in ERROR_COLUMNS}
        errors["high"] = [None if high == NO_END else high for high in errors["high"]]
        counts, flags = self.counts.reshape(-1)[:size].tolist(), self.status.reshape(-1)[:size].tolist()
        rows = []
        for k in range(size):
            row: dict[str, Any] = {name: labels[c][k // many] for c, name in enumerate(self.by)}
            if many > 1:
                row["measure"] = self.measures[k % many]
            seen = flags[k] != SUPPRESSED
            row |= {"count": counts[k] if seen else None, "status": flags[k]}
            row |= {name: values[k] if seen else None for name, values in errors.items()}
            rows.append(row)
        return rows

    def select(self, cells: Mapping[str, Any] | None) -> BoolArray:
        """Which counts are meant by ``{"site": 1, "health": ["good", "poor"]}``, as a mask in the order of the rows."""
        groups, many = self.groups, len(self.measures)
        chosen = np.ones((groups.size, many), dtype=bool)
        if cells is not None and not isinstance(cells, Mapping):
            raise InvalidInput(
                f"select cells by their group columns, such as {{'site': 1}}; got {type(cells).__name__}."
            )
        wanted = dict(cells or {})
        if many > 1:
            if "measure" not in wanted:
                raise InvalidInput(
                    f"say which measure is meant: {{'measure': {self.measures[0]!r}}}, of {', '.join(self.measures)}."
                )
            chosen &= np.isin(self.measures, _several(wanted.pop("measure"), "measure", self.measures))
        codes = groups.codes() if wanted else None
        for name, value in wanted.items():
            if name not in self.by:
                raise InvalidInput(f"{name!r} is not a column of the groups; they are {', '.join(self.by) or 'none'}.")
            column = self.by.index(name)
            known = groups.values[column]
            numbers = [known.index(one) for one in _several(value, name, known)]
            assert codes is not None
            chosen &= np.isin(codes[:, column], numbers)[:, None]
        if not chosen.any():
            raise InvalidInput("no declared group is selected: this combination is not among the public groups.")
        return chosen.reshape(-1)

    @property
    def drawn(self) -> tuple[IntArray, CellNoise, NDArray[np.str_]]:
        """The noisy counts in the order of the rows, what was done to them, and their flags."""
        return self.counts.reshape(-1), self.plan.noise, self.status.reshape(-1)

    def chart(self) -> Chart:
        """The counts with their intervals, as a picture; of a large table its first 500 cells."""
        from ...plots import counts

        rows = self.rows(MOST_CELLS)
        cut = (f"The first {len(rows):,} of {self.counts.size:,} cells.",) if len(rows) < self.counts.size else ()
        return counts(rows, self.by, self.title, *cut, level=percent(self.level, 6))


def _first(groups: Groups, column: int, most: int) -> list[Value]:
    """The values of one column for the first groups; of a million groups not all are made."""
    if most >= groups.size:
        return groups.labels(column)
    return [groups.label(group)[column] for group in range(most)]


def _several(value: Any, name: str, known: Sequence[Any]) -> list[Any]:
    """One value or a list of them, each of which is declared."""
    one = value is None or isinstance(value, str | int) or not isinstance(value, Iterable)
    values = [value] if one else list(value)
    for given in values:
        # True == 1 in Python, and is not the number of a site
        if isinstance(given, bool | float) or given not in known:
            shown = ", ".join(label(one) for one in known[:8]) + (", ..." if len(known) > 8 else "")
            raise InvalidInput(f"{given!r} is not a declared value of {name!r}; those are {shown}.")
    return values


# ------------------------------------------------------------------------------------------------ the release


@dataclass(frozen=True, eq=False)
class Release:
    """Released counts: the tables, what they cost and guarantee, and where the ledger recorded them.

    Attributes
    ----------
    plan
        What was asked and how it is protected; ``plan.request`` is enough to rebuild it.
    tables
        One for each question.
    ledger
        The receipt: the ledger's id, the number of the entry, the head of its chain, the time.
    version
        The version of the program that drew the noise.
    fresh, paid
        Whether this call drew the noise, and whether it spent anything; the recorded answer to a question that was
        asked before is neither.
    layout
        The version of the bundle's files.

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
    layout: int = LAYOUT

    @property
    def edition(self) -> str:
        """Your name for the state of the data; empty if none was given."""
        return self.plan.edition

    @property
    def request(self) -> Mapping[str, Any]:
        """Everything public that was asked, as JSON."""
        return self.plan.request

    @property
    def cost(self) -> Cost:
        return self.plan.cost

    @property
    def guarantee(self) -> tuple[str, ...]:
        """What is protected and how well, in plain words."""
        return self.plan.guarantee

    @property
    def title(self) -> str:
        if len(self.tables) == 1:
            return self.tables[0].title
        sources = listed(list(dict.fromkeys(table.question.table for table in self.tables)))
        return f"Counts of {sources}, {len(self.tables)} tables"

    def rows(self, table: int = 0) -> list[dict[str, Any]]:
        """A mapping for each cell of a table: group columns, count, status, and what is known of its error."""
        return self.table(table).rows()

    def table(self, number: int = 0) -> ReleasedTable:
        """A table by its number, from 0."""
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(self.tables):
            raise InvalidInput(f"the tables are numbered from 0 to {len(self.tables) - 1}; got {number!r}.")
        return self.tables[number]

    def total(self, cells: Mapping[str, Any] | None = None, *, table: int = 0) -> Combined:
        """The sum of the selected cells, with an interval that covers the true sum whatever it is.

        ``cells`` selects by group columns, ``{"site": 1, "health": ["good", "poor"]}``; None is all of them. In a table
        with several measures it says which: ``{"measure": "count"}``.
        """
        from ..noise import margins

        chosen = self.table(table)
        return margins.total(*chosen.drawn, chosen.select(cells), chosen.level)

    def difference(
        self, first: Mapping[str, Any] | None, second: Mapping[str, Any] | None, *, table: int = 0
    ) -> Combined:
        """The sum of some cells minus that of others, with an interval that covers the true difference."""
        from ..noise import margins

        chosen = self.table(table)
        return margins.difference(*chosen.drawn, chosen.select(first), chosen.select(second), chosen.level)

    def percentage(
        self, part: Mapping[str, Any] | None, whole: Mapping[str, Any] | None = None, *, table: int = 0
    ) -> Combined:
        """The sum of some cells as a percentage of that of others (by default all), with an interval that covers it."""
        from ..noise import margins

        chosen = self.table(table)
        return margins.percentage(*chosen.drawn, chosen.select(part), chosen.select(whole), chosen.level)

    def chart(self, table: int = 0) -> Chart:
        """The counts of a table with their intervals, as a picture."""
        return self.table(table).chart()

    def describe(self, most: int = 40, width: int = 100) -> str:
        """The tables for a terminal, with bars and intervals, and the guarantee under them."""
        words = (fill(sentence, width, subsequent_indent="  ") for sentence in map(printable, self.guarantee))
        return "\n\n".join([*(_as_text(table, most, width) for table in self.tables), "\n".join(words)])

    def as_json(self) -> dict[str, Any]:
        """The counts and what is known of them, as plain JSON values."""
        return {
            "title": self.title,
            "dataset": self.plan.dataset,
            "edition": self.edition,
            "recorded": not self.fresh,
            "cost": self.cost.describe(),
            "level": str(self.plan.level),
            "tables": [
                {"title": table.title, "question": table.question.text, "rows": table.rows()} for table in self.tables
            ],
            "guarantee": list(self.guarantee),
            "ledger": dict(self.ledger),
            "version": self.version,
        }

    def save(self, folder: str | Path) -> Path:
        """Write the bundle: a folder that can be published and re-checked with ``discreet verify``."""
        from .bundle import write_bundle

        return write_bundle(self, folder)

    def __str__(self) -> str:
        return self.describe()

    def __repr__(self) -> str:
        cells = sum(table.counts.size for table in self.tables)
        return f"<Release: {self.title}, {plural(cells, 'cell')}, epsilon {float(self.cost.epsilon):.6g}>"


# ------------------------------------------------------------------------------------------------ for a terminal

_BAR = 28
_EIGHTHS = ("", *"▏▎▍▌▋▊▉")


def _as_text(table: ReleasedTable, most: int, width: int) -> str:
    """A table with a bar for each count: solid to where the truth surely is, fading to where it may still be."""
    from io import StringIO

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = table.rows(most)
    ends = [row[end] for row in rows for end in ("low", "high", "count") if row[end] is not None]
    left, right = min([0, *ends]), max([1, *ends])
    drawn = Table(box=None, pad_edge=False, header_style="bold", title=None)
    for heading in table.by:
        drawn.add_column(Text(printable(heading)), overflow="fold")
    if len(table.measures) > 1:
        drawn.add_column("measure", overflow="fold")
    drawn.add_column("count", justify="right")
    drawn.add_column(f"{percent(table.level, 6)} interval", justify="right")
    drawn.add_column("", no_wrap=True)
    for row in rows:
        labels = [Text(label(row[name])) for name in table.by]
        labels += [Text(printable(row["measure"]))] if len(table.measures) > 1 else []
        drawn.add_row(*labels, *_drawn(row, left, right))
    page = StringIO()
    Console(file=page, width=width, highlight=False, color_system=None, force_terminal=False).print(drawn)
    edition = f", edition {printable(table.edition)}" if table.edition else ""
    lines = [printable(table.title) + edition, *(line.rstrip() for line in page.getvalue().rstrip("\n").splitlines())]
    if len(rows) < table.counts.size:
        lines.append(f"... the first {len(rows):,} of {table.counts.size:,} cells.")
    return "\n".join(lines)


def _drawn(row: Mapping[str, Any], left: float, right: float) -> tuple[str, str, str]:
    if row["status"] == IMPOSSIBLE:
        return "0", "cannot exist", ""
    if row["status"] == SUPPRESSED:
        return "-", "suppressed", ""
    interval = f"{row['low']:,} or more" if row["high"] is None else f"{row['low']:,} to {row['high']:,}"

    scale = _BAR / (right - left)
    start, count = (0 - left) * scale, (row["count"] - left) * scale
    first, last = (row["low"] - left) * scale, (_BAR if row["high"] is None else (row["high"] - left) * scale)
    if last - first < 2 and left == 0:  # too short to be shaded: the end of the bar says more
        bar = "█" * int(count) + _EIGHTHS[int(count % 1 * 8)]
    else:
        bar = "".join(_shade(k + 0.5, (first, last), (min(start, count), max(start, count))) for k in range(_BAR))
    return f"{row['count']:,}", interval, bar.rstrip()


def _shade(place: float, interval: tuple[float, float], filled: tuple[float, float]) -> str:
    inside = filled[0] <= place < filled[1]
    if interval[0] <= place < interval[1]:
        return "▓" if inside else "░"
    return "█" if inside else " "
