"""Split the budget among levels so that the largest error of the combined counts is small.

The variances of combined counts follow from the shape and from the noise of each level, so the split is chosen before
any data is read. The search moves thousandths of the budget from one level to another. It minimises the 16th power mean
of the levels' errors, a smooth stand-in for the largest. It ends where no single move helps, and every level keeps a
minimum share, so another split can be a few per cent better.

A request can name what is to be small: the largest variance of a count, or the sum of the variances of all counts. With
discrete Gaussian noise in a cross product without relative errors that is a convex program (:func:`convex_split`),

    variance of the counts of level l = sum over A of U_lA / (M w)_A,    w the shares,

whose solution states how far it can be from the best. Other noise and shapes are searched as above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from ...exact.arrays import FloatArray, IntArray
from .combining import least_squares
from .least_sum import least_sum, sum_and_gap
from .product import ProductLeastSquares
from .shape import Shape

#: Number of equal parts that the budget is divided into.
BUDGET_PARTS = 1_000

#: Number of equal parts of a convex split, and the least share of a level.
_CONVEX_PARTS, _LEAST_SHARE = 100_000, 1e-3

#: The gap at which the search for the least largest variance ends, and the most weightings that it tries.
_LARGEST_GAP, _MAX_WEIGHTINGS = 1e-3, 400

#: Leaves up to which the errors of an irregular tree are exact; a larger one is approximated by its mean branching.
MAX_EXACT_LEAVES = 2_000

#: The variance of a measurement of a level, from the level's index and its share of the budget.
NoiseVariance = Callable[[int, float], float]

#: Exponent of the power mean, and the relative gain below which a move is not made.
_POWER_MEAN, _MIN_GAIN = 16, 1e-9

#: Number of levels up to which the search also starts from splits that favour one level.
_MAX_LEVELS_TO_FAVOUR = 8


@dataclass(frozen=True)
class LevelSplit:
    """The share of each level.

    Attributes
    ----------
    shares
        The shares, which add up to 1.
    gap
        The largest relative excess of the variance over that of the best split; None where it is not known.
    """

    shares: tuple[Fraction, ...]
    gap: float | None


def convex_split(shape: Shape, costs: Sequence[float], objective: str) -> LevelSplit:
    """Return the split with the least largest variance, or the least sum of variances, of a cross product.

    The variance of a measurement of level l is in proportion to ``costs[l]`` over its share. Structural zeros are
    published as 0, and are in no sum.

    Examples
    --------
    >>> from discreet.questions.groups import read_domain
    >>> shape = Shape(read_domain("site=1..10", ["site"]), ((0,), ()))
    >>> split = convex_split(shape, [1, 1], "sum")
    >>> [round(float(share), 3) for share in split.shares], split.gap < 1e-4
    ([0.812, 0.188], True)
    """
    whole = shape if shape.regular else Shape(replace(shape.groups, cells=None, zeros=frozenset()), shape.levels)
    inner, outer = _product_matrices(whole)
    matrix, outer = csr_array(inner / np.asarray(costs, float)), np.maximum(outer, 0.0)
    live = np.array([float(one.sum()) for one in shape.live_nodes])

    def variances(weights: FloatArray) -> FloatArray:
        return np.asarray(outer @ (1 / (matrix @ weights)))

    def bound(importance: FloatArray, weights: FloatArray) -> float:
        """Return a lower bound of the least sum of variances with these weights of the levels."""
        gap = sum_and_gap(matrix, importance @ outer, weights)[1]
        return float(importance @ variances(weights)) * (1 - max(gap, 0.0))

    if objective == "sum":
        weights = least_sum(matrix, live @ outer)
        least = bound(live, weights)
    else:
        weights, least = _least_largest(matrix, outer, variances, bound)
    parts = np.maximum(np.round(weights * _CONVEX_PARTS), _LEAST_SHARE * _CONVEX_PARTS).astype(np.int64)
    shares = parts / parts.sum()
    reached = float(live @ variances(shares)) if objective == "sum" else float(variances(shares).max())
    return LevelSplit(tuple(Fraction(int(part), int(parts.sum())) for part in parts), max(reached / least - 1, 0.0))


def _least_largest(
    matrix: csr_array,
    outer: FloatArray,
    variances: Callable[[FloatArray], FloatArray],
    bound: Callable[[FloatArray, FloatArray], float],
) -> tuple[FloatArray, float]:
    """Return the shares with about the least largest variance, and a lower bound of it.

    The least weighted mean of the variances is a lower bound for every weighting of the levels; levels with a larger
    variance get more weight, until the largest variance is near the bound.
    """
    importance = np.full(len(outer), 1 / len(outer))
    weights = best = np.full(matrix.shape[1], 1 / matrix.shape[1])
    reached, least = float(variances(best).max()), 0.0
    for _ in range(_MAX_WEIGHTINGS):
        weights = least_sum(matrix, importance @ outer, np.maximum(weights, 1e-12))
        now = variances(weights)
        least = max(least, bound(importance, weights))
        if now.max() < reached:
            best, reached = weights, float(now.max())
        if reached <= least * (1 + _LARGEST_GAP):
            break
        importance = importance * now
        importance /= importance.sum()
    return best, least


def best_split(
    shape: Shape, noise: NoiseVariance, sizes: IntArray | None = None, objective: str = "largest"
) -> tuple[Fraction, ...]:
    """Return the share of each level, chosen so that the largest standard error is small.

    Parameters
    ----------
    shape
        The groups and their levels.
    noise
        The variance of a measurement, from the index of its level and the level's share of the budget.
    sizes
        The public size of each leaf; if given, errors are relative to the sizes of the nodes.
    objective
        "largest", or "sum" for a small sum of the variances of all counts.

    Examples
    --------
    >>> from discreet.questions.groups import read_domain
    >>> shape = Shape(read_domain("site=1..10", ["site"]), ((0,), ()))
    >>> best_split(shape, lambda level, share: 2 / share**2)
    (Fraction(251, 500), Fraction(249, 500))
    """
    errors = _error_function(shape, sizes)
    count = len(shape.levels)
    live = np.array([float(one.sum()) for one in shape.live_nodes])

    def worst(parts: IntArray) -> float:
        variances = errors(np.array([noise(level, float(part) / BUDGET_PARTS) for level, part in enumerate(parts)]))
        if objective == "sum":
            return float(variances @ live)
        top = float(variances.max())
        return float(top * np.mean((variances / top) ** _POWER_MEAN) ** (1 / _POWER_MEAN))

    starts = [_whole_parts(np.ones(count))]
    if count <= _MAX_LEVELS_TO_FAVOUR:
        starts += [_whole_parts(np.where(np.arange(count) == level, count, 1)) for level in range(count)]
    best = min((_move_parts(start, worst) for start in starts), key=worst)
    return tuple(Fraction(int(part), BUDGET_PARTS) for part in best)


def _whole_parts(weights: FloatArray) -> IntArray:
    """Return whole parts in about these proportions."""
    parts: IntArray = np.floor(weights / weights.sum() * BUDGET_PARTS).astype(np.int64)
    parts[0] += BUDGET_PARTS - int(parts.sum())
    return parts


def _move_parts(parts: IntArray, worst: Callable[[IntArray], float]) -> IntArray:
    """Move parts from one level to another as long as that reduces the error."""
    count = len(parts)
    best, min_part = worst(parts), max(1, BUDGET_PARTS // count // 10)  # every level keeps a useful measurement
    step = 1 << max(0, (BUDGET_PARTS // count // 2).bit_length() - 1)
    while step:
        moved = False
        for giver in range(count):
            for taker in range(count):
                if giver == taker or parts[giver] < step + min_part:
                    continue
                parts[giver] -= step
                parts[taker] += step
                error = worst(parts)
                if error < best * (1 - _MIN_GAIN):
                    best, moved = error, True
                else:
                    parts[giver] += step
                    parts[taker] -= step
        step = step if moved else step // 2
    return parts


def _error_function(shape: Shape, sizes: IntArray | None) -> Callable[[FloatArray], FloatArray]:
    """Return a function of the levels' noise variances: each level's largest variance, relative to squared sizes."""
    totals = [np.ones(size) for size in shape.sizes]
    if sizes is not None:
        totals = [np.maximum(one, 1) for one in shape.sums(sizes.astype(np.float64))]
    least = np.array([one[live].min() for one, live in zip(totals, shape.live_nodes, strict=True)])
    if not shape.regular and shape.is_tree:
        if shape.groups.size > MAX_EXACT_LEAVES:
            live = [int(one.sum()) for one in shape.live_nodes]
            return lambda v: _mean_tree_variances(v, live) / least**2
        return lambda v: _tree_variances(shape, v, totals)
    whole = shape if shape.regular else Shape(replace(shape.groups, cells=None, zeros=frozenset()), shape.levels)
    inner, outer = _product_matrices(whole)
    return lambda v: outer @ (1 / (inner @ (1 / v))) / least**2


def _tree_variances(shape: Shape, variances: FloatArray, totals: Sequence[FloatArray]) -> FloatArray:
    """Return each level's largest variance relative to squared totals, exactly."""
    nodes = least_squares(shape, tuple(map(Fraction, variances.tolist()))).node_variances()
    return np.array([(one / total**2).max() for one, total in zip(nodes, totals, strict=True)])


def _mean_tree_variances(variances: FloatArray, sizes: Sequence[int]) -> FloatArray:
    """Return each level's variance in a tree whose nodes have the mean number of children of their level."""
    t, sums = [float(variances[0])], []
    for level in range(1, len(sizes)):
        sums.append(t[-1] * sizes[level - 1] / sizes[level])
        t.append(float(variances[level]) * sums[-1] / (float(variances[level]) + sums[-1]))
    combined = [t[-1]]
    for level in range(len(sizes) - 2, -1, -1):
        combined.insert(0, t[level] - (t[level] / sums[level]) ** 2 * (sums[level] - combined[0]))
    return np.array(combined)


def _product_matrices(shape: Shape) -> tuple[FloatArray, FloatArray]:
    """Return matrices with ``variances = outer (1 / (inner (1 / v)))``, the closed form of a cross product."""
    count = len(shape.levels)
    solver = ProductLeastSquares(shape, (Fraction(1),) * count)
    family = solver.family
    number = solver.size_without
    sets = [frozenset(columns) for columns in shape.levels]
    inner = np.array([[float(number(level)) if one <= level else 0.0 for level in sets] for one in family])
    means = np.array([[float(number(level) * number(level | one)) / number(one) for one in family] for level in sets])
    moebius = np.array([[float(solver.moebius(top).get(one, 0)) for top in family] for one in family])
    return inner, means @ moebius
