"""Split the budget among signed marginals so that the sum of the tables' variances is small.

With a share ``w_B`` of the budget the noise of a signed marginal has a variance in proportion to ``c_B / w_B``, where
``c_B`` is the squared sensitivity. The sum of the variances of all cells is

    f(w) = sum over A of v_A / (M w)_A,    M_AB = precision of r_A in S_B / c_B,

which is convex. It is minimised by multiplicative updates, ``w <- w sqrt(g / f)`` with ``g = M' (v / (M w)^2)``, as
optimal designs are. As ``f`` is convex and ``sum w g = f``, no split has a smaller sum than ``2 f - max g``, so
``max(g) / f - 1`` bounds how far the split is from the best. The split is computed from the declaration alone, and
rounded to fractions whose sum is at most one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from ...exact.arrays import FloatArray
from ...privacy.relations import Relation
from .signed import Columns, Margins, subsets

#: Number of equal parts that the budget is divided into.
BUDGET_PARTS = 1 << 30

#: The smallest share of the budget that a measurement is made with.
MIN_SHARE = 1e-6

#: The duality gap at which the search ends, and the largest number of updates.
GAP, MAX_UPDATES = 1e-6, 20_000


@dataclass(frozen=True)
class Split:
    """The shares of the budget of the signed marginals that are measured.

    Attributes
    ----------
    shares
        The share of each measured set; their sum is at most one.
    gap
        An upper bound on the relative distance of the sum of variances from that of the best split.
    """

    shares: dict[Columns, Fraction]
    gap: float


def squared_sensitivity(margins: Margins, columns: Columns, relation: Relation) -> int:
    """Return the squared Euclidean sensitivity of a signed marginal.

    If a person is added or removed, one cell moves by one. If they are replaced by another, two cells move by one, or
    one cell by two where a sign can change; the number of people, the marginal of no column, is public.

    >>> from discreet.privacy.relations import RELATIONS
    >>> margins = Margins.up_to(2, [2, 3])
    >>> [squared_sensitivity(margins, one, RELATIONS["substitution"]) for one in margins.residuals]
    [0, 4, 2, 4]
    """
    if relation.hides_presence:
        return 1
    return 4 if margins.signs(columns) else 2 if columns else 0


def split_budget(margins: Margins, relation: Relation) -> Split:
    """Return the split that makes the weighted sum of variances small, with its duality gap.

    >>> from discreet.privacy.relations import RELATIONS
    >>> split = split_budget(Margins.up_to(1, [3]), RELATIONS["add-remove"])
    >>> {columns: round(float(share), 3) for columns, share in split.shares.items()}, split.gap < 1e-6
    ({(): 0.25, (0,): 0.75}, True)
    """
    free = {one for one in margins.residuals if not squared_sensitivity(margins, one, relation)}
    needed = [one for one in margins.residuals if one not in free]
    matrix, values = _program(margins, needed, relation)
    weights = _search(matrix, values)
    parts = np.floor(weights * BUDGET_PARTS).astype(np.int64)
    parts[weights < MIN_SHARE] = 0
    if not ((matrix @ parts) > 0).all():  # a residual that hardly matters keeps its measurement
        parts = np.maximum(np.floor(weights * (BUDGET_PARTS - len(needed))).astype(np.int64), 1)
    shares = {one: Fraction(int(part), BUDGET_PARTS) for one, part in zip(needed, parts, strict=True) if part}
    _, gap = _sum_and_gap(matrix, values, parts / BUDGET_PARTS)
    return Split(shares, gap)


def _program(margins: Margins, needed: list[Columns], relation: Relation) -> tuple[csr_array, FloatArray]:
    """Return M and v: rows are residuals, columns are signed marginals."""
    index = {one: k for k, one in enumerate(needed)}
    rows, columns, entries = [], [], []
    for measured, k in index.items():
        cost = squared_sensitivity(margins, measured, relation)
        for residual in margins.measured_by(measured):
            if residual in index:
                rows.append(index[residual])
                columns.append(k)
                entries.append(float(margins.precision(measured, residual)) / cost)
    matrix = csr_array((entries, (rows, columns)), shape=(len(needed), len(needed)))
    values = np.zeros(len(needed))
    for table, weight in zip(margins.tables, margins.weights, strict=True):
        for residual in _within(table, index):
            values[index[residual]] += float(weight * margins.cells(table) * margins.variance_share(table, residual))
    return matrix, values


def _within(table: Columns, index: dict[Columns, int]) -> list[Columns]:
    """Return the sets of the index that are within a table."""
    return [one for one in subsets(table) if one in index]


def _sum_and_gap(matrix: csr_array, values: FloatArray, weights: FloatArray) -> tuple[FloatArray, float]:
    """Return the factors of the next update, and the duality gap for the budget that is used."""
    precision = matrix @ weights
    gradient = matrix.T @ (values / precision**2)
    total = float((values / precision).sum())
    return gradient / total, float(gradient.max() / total) - 1


def _search(matrix: csr_array, values: FloatArray) -> FloatArray:
    """Return shares near the best ones."""
    weights = np.full(len(values), 1 / len(values))
    for _ in range(MAX_UPDATES):
        factors, gap = _sum_and_gap(matrix, values, weights)
        if gap <= GAP:
            break
        weights = weights * np.sqrt(factors)
        weights /= weights.sum()
    return weights
