"""What the noise of cells can do in the worst case over all true counts, computed before any row is read.

Probabilities come from the exact law of the noise: they are exact, or upper bounds that are at most 2^-160 too large.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from ...exact.arrays import IntArray
from ...exact.laws import Law
from ...mechanism import Mechanism
from .accuracy import NO_END, Behaviour, mirrored
from .cells import CellNoise

#: Largest argument up to which a rational tail is computed as an exact fraction.
_MAX_EXACT_TAIL = 1024

#: Binary digits of other tails, which are rounded up.
_BITS = 160


def widest_interval(noise: CellNoise, coverage: Fraction) -> int | None:
    """Return the largest width (high - low) of an interval over all reports; None if one has no upper end."""
    widest = 0
    for behaviour, _, largest, below, above, top in _ranges(noise):
        if top > largest:
            return None  # a count at the bound is reported for every larger one
        reports = _widest_at(behaviour, largest, below, above, coverage)
        tops, ends = np.full(reports.shape, largest), np.full(reports.shape, above)
        low, high = behaviour.intervals(reports, tops, below, ends, coverage)
        assert int(high.max()) < NO_END
        widest = max(widest, int((high - low).max()))
    return widest


def false_zeros(noise: CellNoise, least: int) -> Fraction:
    """Return the largest P(report <= 0) over all true counts from ``least`` on."""
    worst = Fraction(0)
    for behaviour, mechanism, largest, below, above, top in _ranges(noise):
        if least > top or below > 0:
            continue  # no group is that large, or no report that small
        first = min(least, largest)
        rows = len(behaviour.rows)
        # the tail of one law falls as the count grows, so its smallest count is the worst
        truths = [*range(first, min(rows, largest + 1)), *([max(first, rows)] if largest >= rows else [])]
        worst = max(worst, *(_zero_or_less(mechanism, truth) if above > 0 else Fraction(1) for truth in truths))
    return worst


def spurious_counts(noise: CellNoise, least: int) -> Fraction:
    """Return the largest P(report >= ``least``) over all cells whose true count is 0."""
    worst = Fraction(0)
    for _, mechanism, _, below, above, _ in _ranges(noise):
        if least <= above:
            worst = max(worst, Fraction(1) if least <= below else _at_least(mechanism, least))
    return worst


def _ranges(noise: CellNoise) -> Iterator[tuple[Behaviour, Mechanism, int, int, int, int]]:
    """Yield each mechanism with each range of its cells.

    A range is the largest count that the mechanism distinguishes, the ends to which reports are clamped, and the
    largest true count.
    """
    size = 1 if noise.size is None else noise.size
    below, above = noise.clamp(size)
    which = np.zeros(size, np.int64) if noise.which is None else noise.which
    beyond = np.asarray(noise.high if noise.known else NO_END, np.int64)
    tops = np.where(noise.bounded(size), beyond, noise.largest(size))
    cells = np.stack([which, noise.largest(size), above, tops], axis=1)
    for number, largest, end, top in np.unique(cells[which >= 0], axis=0).tolist():
        yield noise.behaviours[number], noise.mechanisms[number], largest, below, end, top


def _widest_at(behaviour: Behaviour, largest: int, below: int, above: int, coverage: Fraction) -> IntArray:
    """Return reports of which one has the widest interval.

    Between the clamps, the width for one law of noise is a concave function of the report, linear between these points;
    reports of separate laws are all listed.
    """
    shift, rows = behaviour.windows(coverage).shift, behaviour.rows
    reports = {below, below + 1, above - 1, above}
    if shift is not None:
        reports |= {shift[1] + len(rows), largest + shift[0]}
    if rows:
        reports |= set(range(min(row.start for row in rows), max(row.start + len(row.weights) for row in rows) + 1))
    return np.unique(np.clip(np.array(sorted(reports), np.int64), below, above))


def _zero_or_less(mechanism: Mechanism, truth: int) -> Fraction:
    """Return P(report <= 0) for a true count, without clamps."""
    noise = mechanism.kernel.noise
    return _rows(mechanism, truth, 1) if noise is None else _tail(mirrored(noise.law_at(truth)), truth)


def _at_least(mechanism: Mechanism, report: int) -> Fraction:
    """Return P(report >= ``report``) for the true count 0, without clamps."""
    noise = mechanism.kernel.noise
    return 1 - _rows(mechanism, 0, report) if noise is None else _tail(noise.law_at(0), report)


def _rows(mechanism: Mechanism, truth: int, end: int) -> Fraction:
    """Return P(report < ``end``) in a table."""
    reports = range(min(end, mechanism.matrix.shape[1]))
    return sum((Fraction(mechanism.probability(truth, report)) for report in reports), Fraction(0))


def _tail(law: Law, z: int) -> Fraction:
    """Return P(Z >= z), or an upper bound."""
    if law.rational and abs(z) <= _MAX_EXACT_TAIL:
        return law.upper(z)
    return Fraction(law.tail(z, _BITS)[1], 1 << _BITS)
