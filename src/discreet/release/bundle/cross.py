"""A table of two columns as readers expect it: one down, the other across, each count over its interval."""

from __future__ import annotations

from collections.abc import Mapping

from ...plots.counts import MAX_DRAWN_CELLS, label
from ...report import Table
from ..tables.columns import IMPOSSIBLE, SUPPRESSED
from ..tables.levelled_counts import TOTAL
from ..tables.released import ReleasedTable

#: So many values stand side by side; more are read better one under the other.
MOST_ACROSS = 12

#: Labels are cut after so many characters, down and across.
_LONGEST_DOWN, _LONGEST_ACROSS = 80, 30


#: What stands under a figure that is not noisy.
_WHY = {IMPOSSIBLE: "cannot exist", SUPPRESSED: "suppressed"}


def cross_table(table: ReleasedTable) -> Table | None:
    """The counts of a table with two group columns and one measure; None where they are read better in a list.

    What is shown how follows from the groups, which are public, and not from the counts.
    """
    if len(table.by) != 2 or len(table.measures) > 1 or table.counts.size > MAX_DRAWN_CELLS:
        return None
    sizes = [len(values) for values in table.groups.values]
    # the second goes across, as it is named last; the first where only that one fits
    across = 1 if sizes[1] <= MOST_ACROSS else 0
    if not 2 <= sizes[across] <= MOST_ACROSS or sizes[1 - across] < 2:
        return None
    down, beside = table.by[1 - across], table.by[across]
    cells = {tuple(_place(row, name, k, table) for k, name in ((1 - across, down), (across, beside))): figure(row)
             for row in table.rows()}  # fmt: skip
    if 2 * len(cells) < sizes[0] * sizes[1]:
        return None  # a list of groups with more holes than cells
    lines, columns = (
        [*table.groups.values[k], *([_SUM] if any(cell[at] is _SUM for cell in cells) else [])]
        for at, k in enumerate((1 - across, across))
    )
    rows = [(_label(line, _LONGEST_DOWN), *(cells.get((line, one), "\n") for one in columns)) for line in lines]
    headings = (label(down, _LONGEST_DOWN), *(_label(one, _LONGEST_ACROSS) for one in columns))
    return Table(headings, tuple(rows), numbers=tuple(range(1, len(headings))), over=label(beside, _LONGEST_DOWN))


#: The place of a count that is summed over a column.
_SUM = object()


def _place(row: Mapping[str, object], name: str, column: int, table: ReleasedTable) -> object:
    """The value of a count in a column, or that it is summed over it."""
    return _SUM if table.is_summed_over(row, column) else row[name]


def _label(value: object, most: int) -> str:
    return TOTAL if value is _SUM else label(value, most)


def figure(row: Mapping[str, object]) -> str:
    """A count, and under it what is known of it."""
    count, interval = count_and_interval(row)
    return f"{count}\n{_WHY.get(str(row['status']), interval)}"


def count_in_figures(row: Mapping[str, object]) -> str:
    """A count with the digits that its error warrants: one after the point where its standard deviation is below 3.

    From there on, rounding to whole numbers adds less than 1% to the variance.

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
    """A count as people read it, and its interval."""
    if row["status"] == IMPOSSIBLE:
        return "0", "exact"
    if row["status"] == SUPPRESSED:
        return "–", "–"
    low, high = row["low"], row["high"]
    return count_in_figures(row), f"{low:,} or more" if high is None else f"{low:,} to {high:,}"
