"""The repaired table: a nearly optimal matrix moved slightly inside all inequalities, then rounded.

Rounding breaks inequalities that hold with equality. Mixing in a share ``2^-k`` of a mechanism Q for which every
inequality holds with a margin makes room for the rounding. Uniform and explicit fair mechanisms have ties, so they do
not serve. This one has none, for privacy and all seven properties at once, and is exactly symmetric and fair:
with d = |i-j|, m = min(i, n-i), e = d for d <= m and (d+m)/2 beyond, g = e + (floor(n/2) - m)/(2n) off the
diagonal and 0 on it,

    Q[i, j] = (1 + theta (mean_i(g) - g[i, j])) / (n+1),    theta = min((1-a)/4, 1/(2 max g)).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ...exact.tables import Table

#: Bits of the totals of a repaired table beyond the mixing exponent (and a few for n).
ROOM_BITS = 40


def interior(n: int, alpha: Fraction) -> tuple[list[list[int]], int]:
    """Return the strictly interior mechanism Q, as integers over one denominator."""
    size = n + 1
    i, j = np.arange(size)[:, None], np.arange(size)[None, :]
    d, m = np.abs(i - j), np.minimum(i, n - i)
    # everything times 4n, so that halves and 2n-ths are whole
    g = np.where(d <= m, 4 * n * d, 2 * n * (d + m)) + 2 * (n // 2 - m)
    g[np.arange(size), np.arange(size)] = 0
    theta = min((1 - alpha) / 4, Fraction(4 * n, 2 * int(g.max())))
    total = g.sum(axis=1)
    base = theta.denominator * 4 * n * size
    weights = [
        [base + theta.numerator * (int(total[k]) - size * int(v)) for v in row] for k, row in enumerate(g.tolist())
    ]
    return weights, base * size


def repaired(places: list[list[int]], bits: int, alpha: Fraction, mixing: int, *, mirrored: bool, fair: bool) -> Table:
    """Mix a matrix in units of ``2**-bits`` with ``2**-mixing`` of Q, and round to integers with one total.

    Off the diagonal every entry is rounded down, and the rest of the total is added to the diagonal. If the diagonal
    must stay equal for all truths, the rest is spread over the other entries, symmetrically from both ends.
    """
    n = len(places) - 1
    inner, denominator = interior(n, alpha)
    width = mixing + ROOM_BITS + 2 * n.bit_length() + max(0, -math.floor(math.log2(float(1 - alpha))))
    keep, shift = (1 << mixing) - 1, bits + mixing - width

    def rounded(p: int, q: int) -> int:
        mixed = keep * max(p, 0) * denominator + (q << bits)
        return (mixed >> shift) // denominator if shift >= 0 else (mixed << -shift) // denominator

    rows = [[rounded(p, q) for p, q in zip(*both, strict=True)] for both in zip(places, inner, strict=True)]
    total = 1 << width
    shared = min(row[k] for k, row in enumerate(rows)) & ~1
    for i, row in enumerate(rows):
        if mirrored and 2 * i > n:
            rows[i] = rows[n - i][::-1]
            continue
        if mirrored and 2 * i == n:
            row[i + 1 :] = row[:i][::-1]
        if fair:
            row[i] = shared
            _spread(row, i, total - sum(row))
        else:
            row[i] += total - sum(row)
    return Table.from_rows(rows)


def _spread(row: list[int], middle: int, missing: int) -> None:
    """Add ``missing`` units to the entries off the diagonal as evenly as possible, nearest first.

    Both sides of the diagonal are filled together, so a symmetric row stays symmetric: all totals are even, and so is
    the number of missing units in the middle row of a symmetric table.
    """
    others = sorted((k for k in range(len(row)) if k != middle), key=lambda k: (abs(k - middle), k))
    each, left = divmod(missing, len(others))
    for position, k in enumerate(others):
        row[k] += each + (1 if position < left else 0)
