"""A table of two columns as readers expect it: one down, the other across, each count over its interval."""

from __future__ import annotations

from collections.abc import Mapping

from ...plots.counts import MOST_CELLS, label
from ...questions.groups import Value
from ...report import Table
from .levelled import TOTAL, LevelledTable
from .tables import IMPOSSIBLE, SUPPRESSED, ReleasedTable

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
    if len(table.by) != 2 or len(table.measures) > 1 or table.counts.size > MOST_CELLS:
        return None
    sizes = [len(values) for values in table.groups.values]
    # the second goes across, as it is named last; the first where only that one fits
    across = 1 if sizes[1] <= MOST_ACROSS else 0
    if not 2 <= sizes[across] <= MOST_ACROSS or sizes[1 - across] < 2:
        return None
    down, beside = table.by[1 - across], table.by[across]
    if isinstance(table, LevelledTable):
        return _with_totals(table, across)
    cells = {(row[down], row[beside]): figure(row) for row in table.rows()}
    if 2 * len(cells) < sizes[0] * sizes[1]:
        return None  # a list of groups with more holes than cells
    lines, columns = (list(table.groups.values[k]) for k in (1 - across, across))
    rows = [(label(line, _LONGEST_DOWN), *(cells.get((line, one), "\n") for one in columns)) for line in lines]
    headings = (label(down, _LONGEST_DOWN), *(label(one, _LONGEST_ACROSS) for one in columns))
    return Table(headings, tuple(rows), numbers=tuple(range(1, len(headings))), over=label(beside, _LONGEST_DOWN))


def _with_totals(table: LevelledTable, across: int) -> Table | None:
    """The same for a table with totals, which stand first as in offices' tables."""
    names = table.by
    cells: dict[tuple[tuple[bool, Value], ...], str] = {}
    for row in table.rows():
        summed = [bool(int(str(row["grouping"])) >> 1), bool(int(str(row["grouping"])) & 1)]
        cells[tuple((one, None if one else row[name]) for one, name in zip(summed, names, strict=True))] = figure(row)
    places = [[(False, value) for value in table.groups.values[k]] for k in (0, 1)]
    for k in (0, 1):
        if any(place[k][0] for place in cells):
            places[k].insert(0, (True, None))
    lines, columns = places[1 - across], places[across]

    def cell(line: tuple[bool, Value], one: tuple[bool, Value]) -> str:
        return cells.get((line, one) if across else (one, line), "\n")

    rows = [(_named(line, _LONGEST_DOWN), *(cell(line, one) for one in columns)) for line in lines]
    headings = (label(names[1 - across], _LONGEST_DOWN), *(_named(one, _LONGEST_ACROSS) for one in columns))
    return Table(
        headings, tuple(rows), numbers=tuple(range(1, len(headings))), over=label(names[across], _LONGEST_DOWN)
    )


def _named(place: tuple[bool, Value], longest: int) -> str:
    summed, value = place
    return TOTAL if summed else label(value, longest)


def figure(row: Mapping[str, object]) -> str:
    """A count, and under it what is known of it."""
    count, interval = count_and_interval(row)
    return f"{count}\n{_WHY.get(str(row['status']), interval)}"


def count_and_interval(row: Mapping[str, object]) -> tuple[str, str]:
    """A count as people read it, and its interval."""
    if row["status"] == IMPOSSIBLE:
        return "0", "exact"
    if row["status"] == SUPPRESSED:
        return "–", "–"
    low, high = row["low"], row["high"]
    return f"{row['count']:,}", f"{low:,} or more" if high is None else f"{low:,} to {high:,}"
