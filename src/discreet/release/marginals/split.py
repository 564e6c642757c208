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

import math
from collections.abc import Mapping
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

#: The largest whole part of a split, the ratio of two distinct ones less one, and the most updates of a local search.
_LARGEST_PART, _RATIO, _LOCAL_UPDATES = 10**6, 0.01, 2000

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
    one cell by two where a sign can change. The total moves by one even then: the other person may have an undeclared
    value, and count in no table.

    >>> from discreet.privacy.relations import RELATIONS
    >>> margins = Margins.up_to(2, [2, 3])
    >>> [squared_sensitivity(margins, one, RELATIONS["substitution"]) for one in margins.residuals]
    [1, 4, 2, 4]
    """
    if relation.hides_presence:
        return 1
    return 4 if margins.signs(columns) else 2 if columns else 1


def absolute_sensitivity(margins: Margins, columns: Columns, relation: Relation) -> int:
    """Return the sensitivity of a signed marginal in the sum of absolute values: two cells by one, or one by two."""
    return 2 if columns and not relation.hides_presence else 1


def split_budget(margins: Margins, relation: Relation) -> Split:
    """Return the split that makes the weighted sum of variances small, with its duality gap.

    >>> from discreet.privacy.relations import RELATIONS
    >>> split = split_budget(Margins.up_to(1, [3]), RELATIONS["add-remove"])
    >>> {columns: round(float(share), 3) for columns, share in split.shares.items()}, split.gap < 1e-6
    ({(): 0.25, (0,): 0.75}, True)
    """
    needed = margins.residuals
    matrix, values = _program(margins, needed, relation)
    weights = _search(matrix, values)
    parts = np.floor(weights * BUDGET_PARTS).astype(np.int64)
    parts[weights < MIN_SHARE] = 0
    if not ((matrix @ parts) > 0).all():  # a residual that hardly matters keeps its measurement
        parts = np.maximum(np.floor(weights * (BUDGET_PARTS - len(needed))).astype(np.int64), 1)
    shares = {one: Fraction(int(part), BUDGET_PARTS) for one, part in zip(needed, parts, strict=True) if part}
    _, gap = _sum_and_gap(matrix, values, parts / BUDGET_PARTS)
    return Split(shares, gap)


def _program(
    margins: Margins, needed: list[Columns], relation: Relation, squared: bool = True
) -> tuple[csr_array, FloatArray]:
    """Return M and v: rows are residuals, columns are signed marginals; M is divided by squared sensitivities."""
    index = {one: k for k, one in enumerate(needed)}
    rows, columns, entries = [], [], []
    for measured, k in index.items():
        cost = squared_sensitivity(margins, measured, relation) if squared else 1
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


def coarse_parts(margins: Margins, relation: Relation, split: Split) -> tuple[dict[Columns, int], float]:
    """Return the split as whole parts of their sum, a few distinct ones (1% apart), with the gap of these.

    Equal parts have one law of noise, so that a release of thousands of marginals has few mechanisms.
    """
    largest = max(split.shares.values())
    steps = {one: round(math.log(share / largest) / math.log1p(_RATIO)) for one, share in split.shares.items()}
    parts = {one: max(1, round(_LARGEST_PART * (1 + _RATIO) ** step)) for one, step in steps.items()}
    return parts, gap_of_parts(margins, relation, split, parts)


def gap_of_parts(margins: Margins, relation: Relation, split: Split, parts: Mapping[Columns, int]) -> float:
    """Return an upper bound on the relative distance of these parts from the best split.

    No split has a smaller sum of variances than ``f (1 - gap)``, where ``f`` is that of a split with its own gap.
    """
    matrix, values = _program(margins, margins.residuals, relation)
    searched, whole = (
        np.array([float(shares.get(one, 0)) for one in margins.residuals]) for shares in (split.shares, parts)
    )
    least = float((values / (matrix @ searched)).sum()) * (1 - split.gap)
    return float((values / (matrix @ (whole / whole.sum()))).sum()) / least - 1


def split_for_geometric(margins: Margins, relation: Relation, epsilon: float) -> dict[Columns, int]:
    """Return whole parts of epsilon for geometric noise: a local optimum, as this program is not convex.

    A measurement with ``epsilon_B`` has the variance ``1 / (2 sinh(epsilon_B / 2)^2)``. Several starts are improved by
    multiplicative updates as far as the sum of variances falls, and the best one is taken.
    """
    matrix, values = _program(margins, margins.residuals, relation, squared=False)
    steps = np.array([absolute_sensitivity(margins, one, relation) for one in margins.residuals])
    sizes = np.array([len(one) for one in margins.residuals])

    def objective(shares: FloatArray) -> tuple[float, FloatArray]:
        half = np.maximum(epsilon * shares / steps / 2, 1e-300)
        small = np.minimum(half, 300.0)
        precision = matrix @ (2 * np.sinh(small) ** 2)
        ratio = values / precision
        gradient = (matrix.T @ (ratio / precision)) * 2 * np.sinh(2 * small) * epsilon / steps / 2
        return float(ratio.sum()), gradient

    best, least = np.full(len(values), 1 / len(values)), math.inf
    convex = split_budget(margins, relation).shares
    first = np.array([float(convex.get(one, MIN_SHARE)) for one in margins.residuals])
    largest = np.array([any(one == table for table in margins.tables) for one in margins.residuals]) + 1e-3
    for start in (first, np.sqrt(first), np.ones_like(first), largest, first * largest, 4.0**sizes):
        shares = start / start.sum()
        total, gradient = objective(shares)
        power = 0.5
        for _ in range(_LOCAL_UPDATES):
            moved = shares * (gradient / (gradient @ shares)) ** power
            moved /= moved.sum()
            after, next_gradient = objective(moved)
            if not after <= total:
                power /= 2
                if power < 1e-3:
                    break
                continue
            done = total - after <= 1e-9 * total
            shares, total, gradient = moved, after, next_gradient
            if done:
                break
        if total < least:
            best, least = shares, total
    best = np.where(best < MIN_SHARE, 0, best)
    if not (matrix @ best > 0).all():
        best = best + MIN_SHARE
    shares_of = {one: Fraction(share) for one, share in zip(margins.residuals, best.tolist(), strict=True) if share}
    return coarse_parts(margins, relation, Split(shares_of, math.nan))[0]


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
