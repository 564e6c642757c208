"""Cross tables: one group column down, the other across, each count above its interval."""

from __future__ import annotations

from collections.abc import Mapping

from ...plots.counts import MAX_DRAWN_CELLS, label
from ...report import Table
from ..tables.columns import IMPOSSIBLE, SUPPRESSED
from ..tables.levelled_counts import TOTAL_LABEL
from ..tables.released import ReleasedTable

#: Largest number of columns of a cross table.
MAX_COLUMNS = 12

#: Characters after which the labels of lines and of columns are cut.
_MAX_LINE_LABEL, _MAX_COLUMN_LABEL = 80, 30

#: Flag of a count without noise -> the remark under it.
_REMARKS = {IMPOSSIBLE: "cannot exist", SUPPRESSED: "suppressed"}


def cross_table(table: ReleasedTable) -> Table | None:
    """Return the cross table of two group columns and one measure, or None where a list is easier to read.

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
    cells = {tuple(_value(row, name, k, table) for k, name in ((1 - across, down), (across, over))): figure(row)
             for row in table.rows()}  # fmt: skip
    if 2 * len(cells) < sizes[0] * sizes[1]:
        return None  # a list of groups with more holes than cells
    lines, columns = (
        [*table.groups.values[k], *([_SUM] if any(cell[at] is _SUM for cell in cells) else [])]
        for at, k in enumerate((1 - across, across))
    )
    rows = [(_label(line, _MAX_LINE_LABEL), *(cells.get((line, one), "\n") for one in columns)) for line in lines]
    headings = (label(down, _MAX_LINE_LABEL), *(_label(one, _MAX_COLUMN_LABEL) for one in columns))
    return Table(headings, tuple(rows), numbers=tuple(range(1, len(headings))), over=label(over, _MAX_LINE_LABEL))


#: The value of a count in a column that it is summed over.
_SUM = object()


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


def count_in_figures(row: Mapping[str, object]) -> str:
    """Format a count with the decimals that its error warrants: one if its standard deviation is below 3.

    From a standard deviation of 3 on, rounding to whole numbers adds less than 1% to the variance.

    >>> count_in_figures({"count": 24717.3921, "sd": 2.8}), count_in_figures({"count": 24717.3921, "sd": 4.5})
    ('24,717.4', '24,717')
    >>> count_in_figures({"count": -0.0312, "sd": 2.8}), count_in_figures({"count": 24717, "sd": 2.8})
    ('0.0', '24,717')
    """
    count, sd = row["count"], row["sd"]
    if isinstance(count, int):
        return f"{count:,}"
    assert isinstance(count, float) and isinstance(sd, float)
    digits = 1 if sd < 3 else 0
    return f"{round(count, digits) + 0.0:,.{digits}f}"  # no minus before zero


def count_and_interval(row: Mapping[str, object]) -> tuple[str, str]:
    """Format a count and its interval."""
    if row["status"] == IMPOSSIBLE:
        return "0", "exact"
    if row["status"] == SUPPRESSED:
        return "–", "–"
    low, high = row["low"], row["high"]
    return count_in_figures(row), f"{low:,} or more" if high is None else f"{low:,} to {high:,}"
