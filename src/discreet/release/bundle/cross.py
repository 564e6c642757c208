"""Cross tables: one group column down, the other across, each count above its interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...plots.counts import MAX_DRAWN_CELLS, label
from ...report import TextTable
from ..tables.columns import IMPOSSIBLE, SUPPRESSED
from ..tables.levelled_counts import TOTAL_LABEL
from ..tables.released import ReleasedTable

#: Largest number of columns of a cross table.
MAX_COLUMNS = 12

#: Characters after which the labels of lines and of columns are cut.
_MAX_LINE_LABEL, _MAX_COLUMN_LABEL = 80, 30

#: The value of a count in a column that it is summed over.
_SUM = object()

#: Flag of a count without noise -> the remark under it.
_REMARKS = {IMPOSSIBLE: "cannot exist", SUPPRESSED: "suppressed"}


@dataclass(frozen=True)
class Crossing:
    """The counts of two group columns, by line and column.

    Attributes
    ----------
    down, over
        The headings of the column whose values are the lines, and of the one whose values are the columns.
    lines, columns
        The labels of the lines and of the columns, cut.
    cells
        For each line a row of the table for each column, as people see it; None where no count is published.
    total_lines, total_columns
        The number of lines, and of columns, that are sums: the last ones.
    """

    down: str
    over: str
    lines: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Mapping[str, object] | None, ...], ...]
    total_lines: int
    total_columns: int


def crossing(table: ReleasedTable) -> Crossing | None:
    """Return the counts of two group columns and one measure crossed, or None where a list is easier to read.

    The choice and the form depend on the groups, which are public, and not on the counts.
    """
    if len(table.by) != 2 or len(table.measures) > 1 or table.counts.size > MAX_DRAWN_CELLS:
        return None
    sizes = [len(values) for values in table.groups.values]
    # the second column goes across, or the first if only that fits
    across = 1 if sizes[1] <= MAX_COLUMNS else 0
    if not 2 <= sizes[across] <= MAX_COLUMNS or sizes[1 - across] < 2:
        return None
    down, over = table.by[1 - across], table.by[across]
    rows = {tuple(_value(row, name, k, table) for k, name in ((1 - across, down), (across, over))): row
            for row in table.rows_for_people()}  # fmt: skip
    if 2 * len(rows) < sizes[0] * sizes[1]:
        return None  # a list of groups with more holes than cells
    lines, columns = (
        [*table.groups.values[k], *([_SUM] if any(cell[at] is _SUM for cell in rows) else [])]
        for at, k in enumerate((1 - across, across))
    )
    return Crossing(
        label(down, _MAX_LINE_LABEL), label(over, _MAX_LINE_LABEL),
        tuple(_label(line, _MAX_LINE_LABEL) for line in lines),
        tuple(_label(column, _MAX_COLUMN_LABEL) for column in columns),
        tuple(tuple(rows.get((line, column)) for column in columns) for line in lines),
        int(_SUM in lines), int(_SUM in columns),
    )  # fmt: skip


def cross_table(table: ReleasedTable) -> TextTable | None:
    """Return the cross table for a page or a terminal, or None where a list is easier to read."""
    crossed = crossing(table)
    if crossed is None:
        return None
    cells = [["\n" if row is None else figure(row) for row in line] for line in crossed.cells]
    rows = tuple((name, *line) for name, line in zip(crossed.lines, cells, strict=True))
    headings = (crossed.down, *crossed.columns)
    return TextTable(headings, rows, numbers=tuple(range(1, len(headings))), over=crossed.over)


def _value(row: Mapping[str, object], name: str, column: int, table: ReleasedTable) -> object:
    """Return the value of a count in a column, or _SUM."""
    return _SUM if table.is_summed_over(row, column) else row[name]


def _label(value: object, most: int) -> str:
    """Return the label of a value, cut after this number of characters."""
    return TOTAL_LABEL if value is _SUM else label(value, most)


def figure(row: Mapping[str, object]) -> str:
    """Return a count with its interval or a remark under it."""
    count, interval = count_and_interval(row)
    return f"{count}\n{_REMARKS.get(str(row['status']), interval)}"


def count_and_interval(row: Mapping[str, object]) -> tuple[str, str]:
    """Format a count, which is whole, and its interval."""
    if row["status"] == IMPOSSIBLE:
        return "0", "exact"
    if row["status"] == SUPPRESSED:
        return "–", "–"
    low, high = row["low"], row["high"]
    return f"{row['count']:,}", f"{low:,} or more" if high is None else f"{low:,} to {high:,}"
