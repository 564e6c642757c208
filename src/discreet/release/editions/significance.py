"""Judge all changes of a table together: which of them noise does not explain."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ...exact.arrays import BoolArray
from ..noise.changes import Changes
from ..tables.aligned import Aligned


def changes_beyond_noise(
    editions: Sequence[Aligned], pairs: Sequence[tuple[int, int]], level: Fraction
) -> list[BoolArray]:
    """Return for each pair of editions a mask of the changes that noise does not explain.

    The probability that one or more of them is noise alone is at most ``1 - level``, whatever the true counts are and
    however many changes there are. With m changes, each is first judged by an interval that misses with probability
    ``(1 - level)/m``; those that are marked no longer count, and the rest are judged again (Holm 1979). The changes
    may depend on each other: two pairs share an edition.
    """
    tests = sum(int((one.comparable & (one.low < one.high)).sum()) for one in _changes(editions, pairs, level))
    marked = 0
    while True:
        changes = _changes(editions, pairs, 1 - (1 - level) / max(tests - marked, 1))
        now = sum(int(one.beyond_noise.sum()) for one in changes)
        if now <= marked:
            return [one.beyond_noise for one in changes]
        marked = now


def _changes(editions: Sequence[Aligned], pairs: Sequence[tuple[int, int]], coverage: Fraction) -> list[Changes]:
    return [editions[a].changes(editions[b], coverage, growth=False) for a, b in pairs]
