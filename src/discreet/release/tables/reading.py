"""Reading the CSV file of a table line by line: each begins with the cell that belongs there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .csv_text import written


class Refuted(Exception):
    """A check that does not hold, with the sentence that says why."""


def read_lines(
    text: str, name: str, headings: Sequence[str], cells: Sequence[str], named: bool = True
) -> Iterator[str]:
    """What stands behind the name of each cell, in a file that has exactly these headings and cells in this order."""
    heading = ",".join(map(written, headings)) + "\n"
    if not text.startswith(heading):
        raise Refuted(f"{name} has another heading than its question.")
    place = len(heading)
    for line, cell in enumerate(cells, 2):
        start = f"{cell}," if named else ""
        end = text.find("\n", place + len(start))
        if not text.startswith(start, place) or end < 0:
            raise Refuted(f"{name}: cell {line - 1} is not the group that was declared there.")
        yield text[place + len(start) : end]
        place = end + 1
    if place != len(text):
        raise Refuted(f"{name} has more lines than its question has cells.")
