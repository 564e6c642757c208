"""Finite views of kernels: small tables with exactly the privacy of the kernel.

A kernel may be infinite, or have a million truths. For adjacent truths almost all of it repeats. A *view* is a finite
table with some of the truths and with some reports merged, chosen so that nothing is lost:

**Lemma (merging).** If P(y | x) / P(y | x') is the same for every report y of a set, then merging the set into one
report changes neither the largest ratio nor any hockey-stick divergence between x and x'.

- Geometric tails: beyond the body of the noise each report has ratio exactly ``ratio`` or ``1 / ratio`` between
  adjacent truths, so each tail is one merged report.
- Finite noise: beyond its reach both probabilities are zero.
- Shift invariance: adjacent truths further than the body from every landmark (the ends of the range, the ends of the
  clamp, the truths with laws of their own) all look alike, so the truths near landmarks are enough.
- Response: every report other than the two truths has ratio 1.
- Projective response: two truths are two distinct points, whose hyperplanes have s points each and share r. So there
  are four kinds of reports, in both, in either one alone and in none, as many for any two truths.

A merged report is not a single report. The single reports of a merged tail give away less than the report next to it,
so they can be skipped. Tests compare views with brute-force tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from ..errors import Unsupported
from ..exact.arrays import FloatArray
from ..exact.kernels import Noise, Response
from ..exact.laws import Finite, GeometricTails
from ..exact.projective import Projective
from ..exact.tables import Table


@dataclass(frozen=True, eq=False)
class View:
    """A finite table, and the truths and reports of its rows and columns."""

    table: Table
    truths: Sequence[int]
    reports: Sequence[int]
    #: True if the first (last) column is its report together with all reports below (above).
    at_most: bool = False
    at_least: bool = False
    #: The columns that are checked as single reports.
    single: slice = field(default_factory=lambda: slice(None))
    #: The number of reports merged into each column, not counting its own.
    merged: Sequence[int] = ()

    @cached_property
    def logs(self) -> FloatArray:
        """The logarithms of the probabilities, shared by all pairs of rows that are compared."""
        return log_probabilities(self.table)

    @cached_property
    def matrix(self) -> FloatArray:
        """The probabilities as doubles."""
        return self.table.matrix()


def log_probabilities(table: Table) -> FloatArray:
    """Return log P(y | x) of every entry; minus infinity for zeros."""
    return np.asarray(table.log_weights()[table.codes] - np.array([[math.log(t)] for t in table.totals]))


def whole(table: Table) -> View:
    """Return the view of a whole table."""
    return View(table, range(table.shape[0]), range(table.shape[1]))


def of_response(kernel: Response) -> View:
    """Return the view of two truths and three reports: the one, the other, and all the rest merged."""
    rest = [(kernel.size - 2) * kernel.other] if kernel.size > 2 else []
    rows = [[kernel.stay, kernel.other, *rest], [kernel.other, kernel.stay, *rest]]
    return View(Table.from_rows(rows), (0, 1), (0, 1, 2)[: 2 + len(rest)])


def of_projective(kernel: Projective) -> View:
    """Return the first two truths, (0, ..., 0, 1) and (0, ..., 1, 0): one report of either alone, the rest merged.

    The numbers of the points follow from the field and the dimension, and are recomputed here: K in all, s with one
    coordinate zero, r with two.
    """
    q, t, high, low = kernel.q, kernel.t, kernel.inside, kernel.outside
    points, one_zero, two_zeros = (sum(q**k for k in range(t - zeros)) for zeros in range(3))
    alone = one_zero - two_zeros
    # the number of reports, the weight under either truth, and one of them: (.., 1, 0), (.., 0, 1), (.., 1, 1, 0),
    # (.., 1, 0, 1), (.., 1, 0, 0), (.., 1, 1)
    kinds = [
        (1, high, low, 1),
        (1, low, high, 0),
        (alone - 1, high, low, 2 * q + 1),
        (alone - 1, low, high, q + 2),
        (two_zeros, high, high, q + 1),
        (points - 2 * alone - two_zeros, low, low, 2),
    ]
    kinds = [kind for kind in kinds if kind[0]]
    rows = [[kind[0] * kind[side] for kind in kinds] for side in (1, 2)]
    reports, merged = tuple(kind[3] for kind in kinds), tuple(kind[0] - 1 for kind in kinds)
    return View(Table.from_rows(rows), (0, 1), reports, single=slice(0, 2), merged=merged)


def of_noise(kernel: Noise, steps: int = 1) -> list[View]:
    """Return tables of the truths near each landmark, for pairs of truths that are at most ``steps`` apart."""
    low, high = kernel.truths
    if (low, high, *kernel.clamp) == (None,) * 4 and isinstance(kernel.law, Finite):
        return [of_noise_range(kernel, 0, steps)]  # no landmark at all: any two truths as far apart look alike
    margin = 2 * _body(kernel) + 1 + steps
    landmarks = [(v, v) for v in (*kernel.truths, *kernel.clamp) if v is not None] or [(0, 0)]
    if kernel.first_laws:
        assert low is not None
        landmarks.append((low, low + len(kernel.first_laws)))  # each of these laws may be unlike any other
    spans: list[tuple[int, int]] = []
    for first, last in sorted((first - margin, last + margin) for first, last in landmarks):
        if spans and first <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], last)
        else:
            spans.append((first, last))
    if low is not None:
        spans = [(max(first, low), last) for first, last in spans]
    if high is not None:
        spans = [(first, min(last, high)) for first, last in spans]
    return [of_noise_range(kernel, first, last) for first, last in spans if first < last]


def of_noise_range(kernel: Noise, first: int, last: int) -> View:
    """Return a table of the truths first..last, with the reports outside the body merged."""
    body = _body(kernel)
    low, high = kernel.clamp
    bottom, top = first - body - 1, last + body + 1
    if low is not None:
        top = max(top, low + 2)
    if high is not None:  # room for one report that is not merged, where all these truths lie beyond the clamp
        bottom, top = min(bottom, high - 2), min(top, high)
    if low is not None:
        bottom = max(bottom, low)
    palette: dict[Fraction, int] = {}

    def code(p: Fraction) -> int:
        return palette.setdefault(p, len(palette))

    by_noise: dict[int, int] = {}  # the codes of the shared law, each probability worked out once
    codes = np.empty((last - first + 1, top - bottom + 1), np.int32)
    for x in range(first, last + 1):
        law = kernel.law_at(x)
        if law is not kernel.law:
            codes[x - first, 1:-1] = [code(law.probability(y - x)) for y in range(bottom + 1, top)]
        else:
            for z in range(bottom + 1 - x, top - x):
                if z not in by_noise:
                    by_noise[z] = code(law.probability(z))
            codes[x - first, 1:-1] = [by_noise[z] for z in range(bottom + 1 - x, top - x)]
        codes[x - first, 0] = code(1 - law.upper(bottom + 1 - x))
        codes[x - first, -1] = code(law.upper(top - x))
    at_most, at_least = low is None or bottom > low, high is None or top < high
    # the single report of a clamped end is looked at near that end, unless no truth is
    least, largest = kernel.truths
    reaches_low = low is None or least is None or least <= low
    reaches_high = high is None or largest is None or largest >= high
    denominator = math.lcm(*(p.denominator for p in palette))
    weights = [p.numerator * (denominator // p.denominator) for p in palette]
    return View(
        Table.from_codes(weights, codes),
        range(first, last + 1),
        range(bottom, top + 1),
        at_most=at_most,
        at_least=at_least,
        single=slice(1 if at_most and reaches_low else 0, -1 if at_least and reaches_high else None),
    )


def _body(kernel: Noise) -> int:
    """Return the distance from zero beyond which the noise is zero or has geometric tails."""
    body = 1
    for law in (kernel.law, *kernel.first_laws):
        if isinstance(law, Finite):
            body = max(body, 1 - law.low, law.high + 1)
        elif not isinstance(law, GeometricTails):
            raise Unsupported(f"the {law.name} has neither finite reach nor geometric tails.", argument="mechanism")
    return body
