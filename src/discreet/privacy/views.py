"""Finite views of kernels: small tables that give away exactly as much as the kernel does.

A kernel may be infinite, or have a million truths. For adjacent truths almost all of it repeats. A *view* is a finite
table with some of the truths and with some reports merged, chosen so that nothing is lost:

**Lemma (merging).** If P(y | x) / P(y | x') is the same for every report y of a set, then merging the set into one
report changes neither the largest ratio nor any hockey-stick divergence between x and x'.

- Geometric tails: beyond the body of the noise each report has ratio exactly ``ratio`` or ``1 / ratio`` between
  adjacent truths, so each tail is one merged report.
- Finite noise: beyond its reach both probabilities are zero.
- Shift invariance: adjacent truths further than twice the body from every landmark (the ends of the range, the ends of
  the clamp, the last truth with a law of its own) all look alike, so the truths near landmarks are enough.
- Response: every report other than the two truths has ratio 1.

Tests compare views with brute-force tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..errors import Unsupported
from ..exact.kernels import Noise, Response
from ..exact.laws import Finite, GeometricTails
from ..exact.tables import Table


@dataclass(frozen=True, eq=False)
class View:
    """A finite table and what its rows and columns stand for."""

    table: Table
    truths: Sequence[int]
    reports: Sequence[int]
    #: Whether the first (last) column stands for its report and everything below (above).
    at_most: bool = False
    at_least: bool = False


def whole(table: Table) -> View:
    """A table as it stands."""
    return View(table, range(table.shape[0]), range(table.shape[1]))


def of_response(kernel: Response) -> View:
    """Two truths and three reports: the one, the other, and all the rest merged."""
    rest = [(kernel.size - 2) * kernel.other] if kernel.size > 2 else []
    rows = [[kernel.stay, kernel.other, *rest], [kernel.other, kernel.stay, *rest]]
    return View(Table.from_rows(rows), (0, 1), (0, 1, 2)[: 2 + len(rest)])


def of_noise(kernel: Noise) -> list[View]:
    """Tables of the truths near each landmark, for the central notion."""
    body = _body(kernel)
    low, high = kernel.truths
    landmarks = {v for v in (*kernel.truths, *kernel.clamp) if v is not None}
    if kernel.own:
        assert low is not None
        landmarks.add(low + len(kernel.own))
    views = []
    for mark in sorted(landmarks or {0}):
        first = mark - 2 * body - 2 if low is None else max(low, mark - 2 * body - 2)
        last = mark + 2 * body + 2 if high is None else min(high, mark + 2 * body + 2)
        view = of_noise_range(kernel, first, last)
        if view is not None:
            views.append(view)
    return views


def of_noise_range(kernel: Noise, first: int, last: int) -> View | None:
    """A table of the truths first..last, with the reports outside the body merged; None if nothing can differ."""
    body = _body(kernel)
    low, high = kernel.clamp
    bottom = first - body - 1 if low is None else max(low, first - body - 1)
    top = last + body + 1 if high is None else min(high, last + body + 1)
    if last <= first or bottom >= top:
        return None
    rows = []
    for x in range(first, last + 1):
        law = kernel.law_at(x)
        middle = [law.probability(y - x) for y in range(bottom + 1, top)]
        rows.append([1 - law.upper(bottom + 1 - x), *middle, law.upper(top - x)])
    denominator = math.lcm(*{p.denominator for row in rows for p in row})
    integers = [[p.numerator * (denominator // p.denominator) for p in row] for row in rows]
    return View(
        Table.from_rows(integers),
        range(first, last + 1),
        range(bottom, top + 1),
        at_most=low is None or bottom > low,
        at_least=high is None or top < high,
    )


def _body(kernel: Noise) -> int:
    """Beyond this distance from zero the noise is zero or has geometric tails."""
    body = 1
    for law in (kernel.law, *kernel.own):
        if isinstance(law, Finite):
            body = max(body, 1 - law.low, law.high + 1)
        elif not isinstance(law, GeometricTails):
            raise Unsupported(f"the {law.name} has neither finite reach nor geometric tails.")
    return body


def all_pairs(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Every pair i < j of this many truths."""
    return np.triu_indices(size, 1)


def as_fractions(view: View, row: int) -> list[Fraction]:
    """One row of a view as probabilities."""
    total = view.table.totals[row]
    return [Fraction(w, total) for w in view.table.row(row)]
