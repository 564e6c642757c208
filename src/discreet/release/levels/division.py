"""Divide whole totals among their parts: the nearest non-negative parts, made whole by largest remainders."""

from __future__ import annotations

import numpy as np

from ...exact.arrays import Array, IntArray


def divide_totals(values: Array, parent: IntArray, totals: Array, unit: int) -> Array:
    """Return whole numbers near ``values / unit`` that add up to each parent's total, adjacent where possible."""
    order = np.lexsort((-values, parent))
    ordered, group = values[order], parent[order]
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    starts = np.repeat(begins, np.diff(np.append(begins, len(ordered))))
    sums = np.cumsum(ordered)
    sums = sums - (sums[starts] - ordered[starts])
    rank = (np.arange(len(ordered)) - starts + 1).astype(ordered.dtype)
    excess = sums - totals[group] * unit
    positive = ordered * rank > excess  # a prefix of each group stays above zero, the largest always
    positive |= rank == 1
    last = starts + np.add.reduceat(positive.astype(np.int64), begins)[np.searchsorted(begins, starts)] - 1
    divisor, lowered_by = rank[last], excess[last]
    raised = np.maximum(ordered, 0)
    least, most = (np.add.reduceat(one, begins) for one in (raised // unit, -(-raised // unit)))
    adjacent = (least <= totals[group[begins]]) & (totals[group[begins]] <= most)  # adjacent numbers can add up
    adjacent = np.repeat(adjacent.astype(bool), np.diff(np.append(begins, len(ordered))))
    divisor, lowered_by = np.where(adjacent, 1, divisor), np.where(adjacent, 0, lowered_by)
    scaled = np.maximum(ordered * divisor - lowered_by, 0)
    floor, remainder = scaled // (divisor * unit), scaled % (divisor * unit)
    missing = totals[group[begins]] - np.add.reduceat(floor, begins)
    by_remainder = np.lexsort((-remainder, group))
    position = np.empty(len(ordered), np.int64)
    position[by_remainder] = np.arange(len(ordered)) - starts
    floor = floor + (position < np.repeat(missing, np.diff(np.append(begins, len(ordered)))))
    whole: Array = np.zeros(len(ordered), dtype=ordered.dtype)
    whole[order] = floor
    return whole
