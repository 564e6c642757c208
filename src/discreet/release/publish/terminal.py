"""A released table for a terminal: counts, intervals and bars."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...plots.chart import printable
from ...plots.counts import label
from ...wording import percent
from .tables import IMPOSSIBLE, SUPPRESSED, ReleasedTable

_BAR = 28
_EIGHTHS = ("", *"▏▎▍▌▋▊▉")


def as_text(table: ReleasedTable, most: int, width: int) -> str:
    """A table with a bar for each count: solid up to the interval, shaded within it."""
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
