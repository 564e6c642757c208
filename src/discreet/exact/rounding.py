"""Mixing and rounding: any table to integer rows over 2^w, with its privacy kept.

Rounding a private mechanism alone breaks its privacy: a tail rounds to 0 next to a 1, and the ratio is infinite.
Mixing in a little of the uniform distribution first leaves room for the rounding:

    Q = (1 - t) P + t / m,    Q - E Q' = (1 - t)(P - E P') - t (E - 1)/m.

With tau >= 0 the largest P - E P' over the pairs compared, and each entry moved by less than 2^-w, the right side is at
most -(1 + E) 2^-w, so that every rounded entry satisfies q <= E q' exactly, when

    t = (tau + (1 + E) 2^-w) / (tau + (E - 1)/m).

Largest-remainder rounding moves each entry by at most one unit. What is symmetric stays symmetric: a row that is the
mirror image of another is rounded to its mirror image, and a row that is its own to one that is.
The judge decides in the end; these formulas only give a starting point.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..errors import InvalidInput, InWords
from .rationals import exp_bounds
from .tables import Table

#: Bits to which rows are rounded, so that sums stay below the largest 64-bit integer.
WIDTH = 62

#: Epsilon above which a larger one needs no less noise: e to this is far beyond ``2**WIDTH``.
MAX_EXPONENT = Fraction(10_000)


def mixing_weight(outcomes: int, epsilon: Fraction, excess: Fraction, width: int = WIDTH) -> Fraction:
    """Return the share of uniform noise that makes rounding to ``2**-width`` keep epsilon, rounded up to 64 bits."""
    low, high = exp_bounds(min(epsilon, MAX_EXPONENT))
    less = max(low - 1, epsilon)  # both are at most e^eps - 1; the second is positive however small epsilon is
    exact = ((high + 1) / 2**width + excess) / (less / outcomes + excess)
    return Fraction(-(-exact.numerator * 2**64 // exact.denominator), 2**64)


def mix_and_round(table: Table, mixing: Fraction, width: int = WIDTH) -> Table:
    """Return ``(1 - mixing) P + mixing * uniform``, rounded to rows of integers that add up to ``2**width``."""
    if not 0 <= mixing <= 1:
        raise InvalidInput.must_be(
            "mixing", "between 0 and 1", InWords(f"{float(mixing):.6g}"), meaning="the share of uniform noise"
        )
    rows, outcomes = table.shape
    scale = 1 << width
    keep, blend = mixing.denominator - mixing.numerator, mixing.numerator
    rounded = np.empty((rows, outcomes), np.int64)
    for i in range(rows):
        mirror = rows - 1 - i
        mirrored = table.totals[i] == table.totals[mirror] and np.array_equal(table.codes[i], table.codes[mirror, ::-1])
        if mirrored and mirror < i:
            rounded[i] = rounded[mirror, ::-1]
            continue
        total = table.totals[i]
        denominator = total * mixing.denominator * outcomes
        floors, remainders = [], []
        for weight in table.row(i):
            numerator = (weight * keep * outcomes + blend * total) * scale
            floor, remainder = divmod(numerator, denominator)
            floors.append(floor)
            remainders.append(remainder)
        missing = scale - sum(floors)
        share = _in_pairs if mirrored and mirror == i else _in_order
        for k in share(remainders, missing):
            floors[k] += 1
        rounded[i] = floors
    return Table.from_array(rounded)


def _in_order(remainders: list[int], missing: int) -> list[int]:
    """Return the indices of the largest remainders."""
    return sorted(range(len(remainders)), key=remainders.__getitem__, reverse=True)[:missing]


def _in_pairs(remainders: list[int], missing: int) -> list[int]:
    """Return the indices for a row that is its own mirror image: both of a pair, or neither; an odd one is central."""
    size = len(remainders)
    pairs = _in_order(remainders[: size // 2], missing // 2)
    odd = [size // 2] if missing % 2 else []
    return [*pairs, *(size - 1 - k for k in pairs), *odd]
