"""How the budget is split among levels: a split with a small largest error of the combined counts.

The variances of combined counts follow from the shape and from the noise of each level, so that a split is chosen
before any data is read. It is searched on a grid of thousandths, by moving parts of the budget from one level to
another; the error is taken as the 16-th power mean over levels, which is the largest one nearly and has no corners.
The search ends where no single move helps, and every level keeps a least part, so that another split can be better by
some per cent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...exact.arrays import FloatArray, IntArray
from .combining import least_squares
from .product import ProductLeastSquares
from .shape import Shape

#: Parts of the budget are multiples of one over this.
PARTS = 1_000

#: Irregular trees up to so many leaves are taken as they are, larger ones with their mean numbers of children.
MOST_LEAVES = 2_000

#: The variance of a measurement of a level with a share of the budget.
NoiseVariance = Callable[[int, float], float]

_POWER, _GAIN = 16, 1e-9

#: With so many levels at most, the search starts from several splits.
_MOST_STARTS = 8


def best_split(shape: Shape, noise: NoiseVariance, sizes: IntArray | None = None) -> tuple[Fraction, ...]:
    """Return shares of the levels with a small largest standard error, as far as the search gets.

    Parameters
    ----------
    shape
        The groups and their levels.
    noise
        The variance of a measurement of a level, by its number, with a share of the budget.
    sizes
        The public size of each leaf: errors are then taken relative to the sizes of their nodes.

    Examples
    --------
    >>> from discreet.questions.groups import read_domain
    >>> shape = Shape(read_domain("site=1..10", ["site"]), ((0,), ()))
    >>> best_split(shape, lambda level, share: 2 / share**2)
    (Fraction(251, 500), Fraction(249, 500))
    """
    errors = _errors(shape, sizes)
    count = len(shape.levels)

    def worst(parts: IntArray) -> float:
        found = errors(np.array([noise(level, float(part) / PARTS) for level, part in enumerate(parts)]))
        top = float(found.max())
        return float(top * np.mean((found / top) ** _POWER) ** (1 / _POWER))

    starts = [_shared(np.ones(count))]
    if count <= _MOST_STARTS:
        starts += [_shared(np.where(np.arange(count) == level, count, 1)) for level in range(count)]
    best = min((_improved(start, worst) for start in starts), key=worst)
    return tuple(Fraction(int(part), PARTS) for part in best)


def _shared(weights: FloatArray) -> IntArray:
    """Whole parts in about these proportions."""
    parts: IntArray = np.floor(weights / weights.sum() * PARTS).astype(np.int64)
    parts[0] += PARTS - int(parts.sum())
    return parts


def _improved(parts: IntArray, worst: Callable[[IntArray], float]) -> IntArray:
    """Parts moved from one level to another as long as that makes the error less."""
    count = len(parts)
    least, least_part = worst(parts), max(1, PARTS // count // 10)  # so that every measurement says something
    step = 1 << max(0, (PARTS // count // 2).bit_length() - 1)
    while step:
        moved = False
        for giver in range(count):
            for taker in range(count):
                if giver == taker or parts[giver] < step + least_part:
                    continue
                parts[giver] -= step
                parts[taker] += step
                tried = worst(parts)
                if tried < least * (1 - _GAIN):
                    least, moved = tried, True
                else:
                    parts[giver] += step
                    parts[taker] -= step
        step = step if moved else step // 2
    return parts


def _errors(shape: Shape, sizes: IntArray | None) -> Callable[[FloatArray], FloatArray]:
    """The largest variance of each level's combined counts, relative to squared sizes if there are any."""
    totals = [np.ones(size) for size in shape.sizes]
    if sizes is not None:
        totals = [np.maximum(one, 1) for one in shape.sums(sizes.astype(np.float64))]
    least = np.array([one[live].min() for one, live in zip(totals, shape.live_nodes, strict=True)])
    if not shape.regular and shape.is_tree:
        if shape.groups.size > MOST_LEAVES:
            live = [int(one.sum()) for one in shape.live_nodes]
            return lambda v: _mean_tree(v, live) / least**2
        return lambda v: _tree(shape, v, totals)
    whole = shape if shape.regular else Shape(replace(shape.groups, cells=None, zeros=frozenset()), shape.levels)
    inner, outer = _product_matrices(whole)
    return lambda v: outer @ (1 / (inner @ (1 / v))) / least**2


def _tree(shape: Shape, variances: FloatArray, totals: Sequence[FloatArray]) -> FloatArray:
    found = least_squares(shape, tuple(map(Fraction, variances.tolist()))).node_variances()
    return np.array([(one / total**2).max() for one, total in zip(found, totals, strict=True)])


def _mean_tree(variances: FloatArray, sizes: Sequence[int]) -> FloatArray:
    """Variances of a tree whose nodes have the mean number of children of their level."""
    t, sums = [float(variances[0])], []
    for level in range(1, len(sizes)):
        sums.append(t[-1] * sizes[level - 1] / sizes[level])
        t.append(float(variances[level]) * sums[-1] / (float(variances[level]) + sums[-1]))
    found = [t[-1]]
    for level in range(len(sizes) - 2, -1, -1):
        found.insert(0, t[level] - (t[level] / sums[level]) ** 2 * (sums[level] - found[0]))
    return np.array(found)


def _product_matrices(shape: Shape) -> tuple[FloatArray, FloatArray]:
    """Matrices with ``variances = outer (1 / (inner (1 / v)))``: the closed form of a cross product, for many v."""
    count = len(shape.levels)
    solver = ProductLeastSquares(shape, (Fraction(1),) * count)
    family = solver.family
    number = solver.number
    sets = [frozenset(columns) for columns in shape.levels]
    inner = np.array([[float(number(level)) if one <= level else 0.0 for level in sets] for one in family])
    means = np.array([[float(number(level) * number(level | one)) / number(one) for one in family] for level in sets])
    moebius = np.array([[float(solver.moebius(top).get(one, 0)) for top in family] for one in family])
    return inner, means @ moebius
