"""Progress bars: on a terminal while long work runs, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def with_bar(items: Sequence[T], words: str, progress: bool | None) -> Iterator[T]:
    """Yield the items, with a bar on the error stream.

    Parameters
    ----------
    items
        One for each step of the work.
    words
        What stands before the bar.
    progress
        Whether to show it; by default only on a terminal.

    Examples
    --------
    >>> list(with_bar([1, 2], "designs", False))
    [1, 2]
    """
    if not (sys.stderr.isatty() if progress is None else progress):
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, words, len(items), console=Console(stderr=True), transient=True)
