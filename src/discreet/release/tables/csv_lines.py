"""Read the CSV file of a table line by line, checking that each begins with the expected cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .csv_text import csv_label


class Refuted(Exception):
    """A check that fails, with a sentence that explains it."""


def read_lines(
    text: str, name: str, headings: Sequence[str], cells: Sequence[str], has_names: bool = True
) -> Iterator[str]:
    """Yield the rest of each line after its cell; refuse other headings, other cells or another order."""
    heading = ",".join(map(csv_label, headings)) + "\n"
    if not text.startswith(heading):
        raise Refuted(f"{name} has another heading than its question.")
    position = len(heading)
    for line, cell in enumerate(cells, 2):
        start = f"{cell}," if has_names else ""
        end = text.find("\n", position + len(start))
        if not text.startswith(start, position) or end < 0:
            raise Refuted(f"{name}: cell {line - 1} is not the group that was declared there.")
        yield text[position + len(start) : end]
        position = end + 1
    if position != len(text):
        raise Refuted(f"{name} has more lines than its question has cells.")
