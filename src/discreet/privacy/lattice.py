"""The judge for maps: the least epsilon per metre.

A mechanism is epsilon-metric-private when P(y | x) <= e^(epsilon d(x, x')) P(y | x') for all cells x, x' and all
reports y. The least such epsilon is a maximum of log-ratios over distances. Two ways to find it:

- :func:`metric_table` looks at all pairs and all reports of any table.
- :func:`metric_lattice` needs only the integers of a :class:`~discreet.exact.lattice.Lattice`, and works on maps whose
  table would be too large. It assumes nothing about the law, geometric or Laplace, and takes no hint.

Both screen in doubles with an error bound, decide zeros exactly, and return an enclosure ``lower <= epsilon <= upper``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..exact.arrays import Array, FloatArray
from ..exact.lattice import Lattice
from ..exact.rationals import float_down, float_up, log_bounds
from ..exact.tables import Table
from ..spaces import Grid, Space
from .mixtures import mixture_bound

Step = tuple[int, int]
Triple = tuple[int, int, int]

#: Largest relative width of the interval of :func:`metric_lattice`; a positive one is for speed.
TOLERANCE = 2.0**-25

#: ``math.log`` of an integer of any length errs by less than LOG_ERROR * (1 + |log|): eight units in the last place,
#: where a correct C library and CPython's treatment of long integers together need less than four.
LOG_ERROR = 2.0**-50

#: Factor on a computed bound that covers the few roundings of its arithmetic.
OUTWARD = 1 + 2.0**-46

#: Number of entries of table rows that are compared at a time, so that a block stays in the processor's cache.
BLOCK = 1 << 16

#: Maximum number of near-ties that are decided in rational arithmetic; with more, the screening's enclosure is used.
MAX_EXACT_TIES = 300


class MetricBounds(NamedTuple):
    """An enclosure of the least metric epsilon (per unit of distance), and where it is reached.

    ``witness`` is (x, x', y): true cells x and x' and the report y with log(P(y|x) / P(y|x')) >= lower * d(x, x').
    """

    upper: float
    lower: float
    witness: Triple


# ------------------------------------------------------------------------------------------------ tables


def metric_table(table: Table, space: Space) -> MetricBounds:
    """Return the least metric epsilon of a table: the maximum of log(P(j|i) / P(j|i')) / d(i, i') over i != i' and j.

    A column with both zero and positive entries makes it infinite; a column of zeros says nothing.
    """
    if table.shape[0] != space.size:
        raise InvalidInput(
            f"the table has {table.shape[0]} rows but the space has {space.size} values.", argument="space"
        )
    zero = (np.array([w == 0 for w in table.palette]))[table.codes]
    mixed = np.flatnonzero(zero.any(0) & ~zero.all(0))
    if mixed.size:
        j = int(mixed[0])
        return MetricBounds(math.inf, math.inf, (int(np.argmin(zero[:, j])), int(np.argmax(zero[:, j])), j))
    columns = np.flatnonzero(~zero.any(0))
    weights, totals = table.log_weights(), np.array([math.log(t) for t in table.totals])
    logs = weights[table.codes[:, columns]] - totals[:, None]
    size = max(float(np.abs(weights[np.isfinite(weights)]).max()), float(totals.max()))
    error = 5 * LOG_ERROR * (1 + size)  # two weights, two totals, and the roundings of their differences
    rises, steps = _all_pairs(logs, space)
    low = np.fmax((rises - error) / steps, 0.0)
    best = float(np.nanmax(low))
    pairs = np.argwhere((rises + error) / steps >= best)  # the diagonal is nan: never chosen
    settled = _settle(table, space, logs, pairs, columns, 2 * error)
    if settled is not None:
        return settled
    i, other = (int(k) for k in np.unravel_index(np.nanargmax(low), low.shape))
    j = int(columns[np.argmax(logs[i] - logs[other])])
    high = float(np.nanmax((rises + error) / steps)) * OUTWARD
    return MetricBounds(_per_unit(high, space, up=True), _per_unit(best / OUTWARD, space, up=False), (i, other, j))


def _all_pairs(logs: FloatArray, space: Space) -> tuple[FloatArray, FloatArray]:
    """Return max over j of logs[i, j] - logs[k, j] for all pairs (i, k), and their distances; nan for i = k."""
    n = len(logs)
    rises = np.full((n, n), np.nan)
    height = max(1, BLOCK // logs.shape[1])
    buffer = np.empty((height, logs.shape[1]))
    for start in range(0, n, height):
        block = logs[start : start + height]
        for i in range(min(n, start + height)):
            later = block[max(0, i + 1 - start) :]
            if len(later):
                gaps = np.subtract(logs[i], later, out=buffer[: len(later)])
                part = slice(start + len(block) - len(later), start + len(block))
                rises[i, part], rises[part, i] = gaps.max(1), -gaps.min(1)
    index = np.arange(n)
    steps = np.sqrt(space.squared_distance(index[:, None], index[None, :]).astype(np.float64))
    np.fill_diagonal(steps, np.nan)
    return rises, steps


def _settle(
    table: Table, space: Space, logs: FloatArray, pairs: Array, columns: Array, slack: float
) -> MetricBounds | None:
    """Return the enclosure from rational bounds of all near-ties, or None when there are too many."""
    if len(pairs) > 16 * MAX_EXACT_TIES:
        return None
    ties: dict[tuple[Fraction, int], tuple[int, int, int]] = {}
    for i, other in pairs.tolist():
        gaps = logs[i] - logs[other]
        squared = int(space.squared_distance(np.array(i), np.array(other)))
        for j in columns[np.flatnonzero(gaps >= gaps.max() - slack)].tolist():
            ties.setdefault((table.probability(i, j) / table.probability(other, j), squared), (i, other, j))
            if len(ties) > MAX_EXACT_TIES:
                return None
    bounds = [(*_exact_rate(ratio, squared, space.unit), triple) for (ratio, squared), triple in ties.items()]
    low, _, witness = max(bounds, key=lambda bound: bound[0])
    return MetricBounds(float_up(max(high for _, high, _ in bounds)), float_down(low), witness)


def _exact_rate(ratio: Fraction, squared: int, unit: Fraction) -> tuple[Fraction, Fraction]:
    """Return rational bounds of ``log(ratio) / (unit * sqrt(squared))``."""
    low, high = log_bounds(ratio, 96)
    root = math.isqrt(squared << 192)
    short, long = Fraction(root, 1 << 96) * unit, Fraction(root + 1, 1 << 96) * unit
    return low / (long if low > 0 else short), high / (short if high > 0 else long)


def _per_unit(rate: float, space: Space, up: bool) -> float:
    """Return a rate per step of the grid as a rate per metre, rounded outward."""
    if math.isinf(rate):
        return rate
    return float_up(Fraction(rate) / space.unit) if up else float_down(Fraction(rate) / space.unit)


# ------------------------------------------------------------------------------------------------ lattices


def metric_lattice(kernel: Lattice, grid: Grid, tolerance: float = TOLERANCE) -> MetricBounds:
    """Return the least metric epsilon of a lattice, from its integer weights alone.

    The *rise* L(s) of a step s is the largest log(P(y|x) / P(y|x + s)) over all true cells x and reports y; reflecting
    the map turns any step into one of the first quadrant. Epsilon is the maximum of L(s) / \\|s\\|. Since P depends on
    y - x (at an edge, on how far x is from it), one rise takes as long as one look at the map.

    Not all steps need a look. All cells between x and x + s + t are on the map, so L(s + t) <= L(s) + L(t). Hence only
    coprime steps matter, and two steps s and t bound all steps m s + n t between them: with the vector l for which
    l.s = L(s) and l.t = L(t), ::

        L(m s + n t) / |m s + n t|  <=  l.(m s + n t) / |m s + n t|  <=  |l|

    The coprime steps of a quadrant form the Stern-Brocot tree; a branch is left when its \\|l\\| exceeds the best found
    by no more than ``tolerance`` (relative). So ``upper <= (1 + tolerance) * lower``, up to the error of doubles.

    With a positive tolerance the comparison of :mod:`.mixtures` comes first: it needs one look at each weight.
    """
    if (kernel.rows, kernel.cols) != (grid.rows, grid.cols):
        raise InvalidInput(
            f"the lattice is for {kernel.rows} x {kernel.cols} cells, the grid has {grid.rows} x {grid.cols}.",
            argument="grid",
        )
    if tolerance:
        bounds = _compared(kernel, grid, tolerance)
        if bounds is not None:
            return bounds
    view = _Clamped(kernel) if kernel.border == "remap" else _Normalised(kernel)
    for field in view.fields:
        if np.isneginf(field.logs).any():
            return MetricBounds(math.inf, math.inf, _cells(field, grid, *_adjacent_zero(field.logs)))
    transposable = kernel.rows == kernel.cols and np.array_equal(kernel.codes, kernel.codes.T)
    upper, step = _steepest(view.rise, (grid.rows - 1, grid.cols - 1), transposable, tolerance)
    i, other, j = view.witness(step, grid)
    ratio = kernel.probability(i, j) / kernel.probability(other, j)
    lower = _exact_rate(ratio, step[0] ** 2 + step[1] ** 2, grid.unit)[0]
    return MetricBounds(_per_unit(upper, grid, up=True), float_down(lower), (i, other, j))


def _compared(kernel: Lattice, grid: Grid, tolerance: float) -> MetricBounds | None:
    """Return the enclosure from a comparison with e^(-k distance), if it is within the tolerance."""
    bound = mixture_bound(kernel)
    if bound is None:
        return None
    middle = grid.cols + 1  # not at an edge: two truths side by side, and the report of the first
    witness = (middle, middle + 1, middle)
    ratio = kernel.probability(middle, middle) / kernel.probability(middle + 1, middle)
    lower, upper = float_down(_exact_rate(ratio, 1, grid.unit)[0]), _per_unit(bound, grid, up=True)
    return MetricBounds(upper, lower, witness) if upper <= lower * (1 + tolerance) else None


def _steepest(rise: Callable[[Step], float], box: Step, transposable: bool, tolerance: float) -> tuple[float, Step]:
    """Return an upper bound of rise(s) / \\|s\\| over all steps s of the box, and the steepest step examined.

    If exchanging rows and columns changes nothing, half of the quadrant is enough.
    """
    slopes: dict[Step, float] = {}

    def look(step: Step) -> float:
        slopes[step] = rise(step) / math.hypot(*step) * OUTWARD
        return slopes[step]

    ends = ((1, 0), (1, 1)) if transposable else ((1, 0), (1, 1), (0, 1))
    corners = [step for step in ends if step[0] <= box[0] and step[1] <= box[1]]
    best = upper = max(look(step) for step in corners)
    cones = list(pairwise(corners))
    while cones:
        one, two = cones.pop()
        middle = one[0] + two[0], one[1] + two[1]
        if middle[0] > box[0] or middle[1] > box[1]:
            continue
        bound = _cone(one, two, slopes[one], slopes[two])
        if bound <= best * (1 + tolerance):
            upper = max(upper, bound)
        else:
            best = max(best, look(middle))
            cones += [(one, middle), (middle, two)]
    return max(upper, best), max(slopes, key=slopes.__getitem__)


def _cone(one: Step, two: Step, g: float, h: float) -> float:
    """Return the length of the vector with slope g along one step and h along the other, if it points between them.

    With the angle phi between the steps it is the root of (g - h)^2 / sin^2 phi + 2 g h / (1 + cos phi), and sin phi is
    exactly 1 / (\\|s\\| \\|t\\|) for neighbours in the tree. If it points elsewhere, the larger slope is the bound.
    """
    lengths = math.hypot(*one) * math.hypot(*two)
    cosine = (one[0] * two[0] + one[1] * two[1]) / lengths
    if min(g, h) < max(g, h) * cosine * (1 - 2.0**-40):  # in doubt it does point between them
        return max(g, h)
    return max(g, h, math.hypot((g - h) * lengths, math.sqrt(2 * g * h / (1 + cosine)))) * OUTWARD


# ------------------------------------------------------------------------------------------------ what is compared


@dataclass(frozen=True)
class _Field:
    """Logarithms of probabilities by true cell; the meaning of a coordinate on each axis is its *kind*.

    ``inside``: truth minus report, for a report that only one displacement leads to.
    ``whole``: the same, for any report.
    ``lower``, ``upper``: the true coordinate itself, for a report at that edge.
    ``one``: the only coordinate.
    """

    logs: FloatArray
    kinds: tuple[str, str]

    def differences(self, step: Step) -> FloatArray:
        """Return the value at every entry minus the value one step further."""
        (a, b), (rows, cols) = step, self.logs.shape
        return self.logs[: rows - a, : cols - b] - self.logs[a:, b:]

    def largest_difference(self, step: Step) -> float:
        """Return the largest difference in either direction; block by block, which is three times as fast."""
        (a, b), (rows, cols) = step, self.logs.shape
        near, far, width = self.logs[: rows - a, : cols - b], self.logs[a:, b:], cols - b
        height = max(1, BLOCK // width)
        buffer = np.empty((height, width))
        largest = 0.0
        for start in range(0, rows - a, height):
            part = near[start : start + height]
            gaps = np.subtract(part, far[start : start + height], out=buffer[: len(part)])
            largest = max(largest, float(gaps.max()), -float(gaps.min()))
        return largest


def _logs(weights: NDArray[np.object_]) -> FloatArray:
    return np.array([[math.log(w) if w else -math.inf for w in row] for row in weights.tolist()])


def _mirror(logs: FloatArray, *axes: int) -> FloatArray:
    """Return logarithms for displacements -(n-1)..n-1 along these axes, from those for 0..n-1."""
    for axis in axes:
        n = logs.shape[axis]
        logs = np.take(logs, np.abs(np.arange(1 - n, n)), axis)
    return logs


class _Clamped:
    """The comparisons of a lattice with border "remap", up to reflections."""

    def __init__(self, kernel: Lattice) -> None:
        self.fields: list[_Field] = []
        for down in self._kinds(kernel.rows):
            part = self._reports(kernel.weights, down)
            for right in self._kinds(kernel.cols):
                logs = _logs(self._reports(part.T, right).T)
                if np.isneginf(logs).all():
                    continue  # no truth leads to such a report
                logs = _mirror(logs, *(axis for axis, kind in enumerate((down, right)) if kind == "inside"))
                self.fields.append(_Field(logs, (down, right)))
                if down == right == "lower":  # two neighbouring corners: the others are reflections of these
                    self.fields.append(_Field(logs[:, ::-1], (down, "upper")))
        self._error = _error(self.fields)

    @staticmethod
    def _kinds(n: int) -> tuple[str, ...]:
        return ("one",) if n == 1 else ("lower",) if n == 2 else ("inside", "lower")

    @staticmethod
    def _reports(weights: NDArray[np.object_], kind: str) -> NDArray[np.object_]:
        """Return the weights, along the first axis, of single displacements or of all at least as long."""
        if kind == "lower":
            return np.asarray(np.add.accumulate(weights[::-1])[::-1])
        return weights[:-1] if kind == "inside" else weights

    def rise(self, step: Step) -> float:
        return max(field.largest_difference(step) for field in self.fields) + self._error

    def witness(self, step: Step, grid: Grid) -> Triple:
        field = max(self.fields, key=lambda field: float(np.abs(field.differences(step)).max()))
        gaps = field.differences(step)
        row, col = divmod(int(np.abs(gaps).argmax()), gaps.shape[1])
        near, far = (row, col), (row + step[0], col + step[1])
        return _cells(field, grid, near, far) if gaps[near] > 0 else _cells(field, grid, far, near)


class _Normalised:
    """The comparisons of a lattice with border "normalise"; the totals are computed again here."""

    def __init__(self, kernel: Lattice) -> None:
        self._field = _Field(_mirror(_logs(kernel.weights), 0, 1), ("whole", "whole"))
        self.fields = [self._field]
        totals = kernel.weights
        for _ in (0, 1):
            n = len(totals)
            sums = np.add.accumulate(np.concatenate([totals[:0:-1], totals]))  # over displacements from 1-n on
            totals = sums[n - 1 :][::-1].copy()
            totals[:-1] -= sums[: n - 1][::-1]
            totals = totals.T
        self._totals = _Field(_logs(totals), ("cell", "cell"))
        self._error = _error(self.fields) + _error([self._totals])

    def _by_truth(self, step: Step) -> FloatArray:
        """Return the largest log(P(y|x) / P(y|x + step)) for each true cell x from which the step stays on the map."""
        gaps = self._field.differences(step)  # by x - y, which for given x is any of x-(n-1)..x
        for n in self._totals.logs.shape:
            middle = n - 1
            up = np.maximum.accumulate(gaps[middle:])
            down = np.maximum.accumulate(gaps[middle::-1])[::-1][: len(up)]
            gaps = np.maximum(up, down).T
        return np.asarray(gaps - self._totals.differences(step))

    def rise(self, step: Step) -> float:
        return float(self._by_truth(step).max()) + self._error

    def witness(self, step: Step, grid: Grid) -> Triple:
        rises = self._by_truth(step)
        row, col = divmod(int(rises.argmax()), rises.shape[1])
        gaps = self._field.differences(step)[row : row + grid.rows, col : col + grid.cols][::-1, ::-1]
        return row * grid.cols + col, (row + step[0]) * grid.cols + col + step[1], int(gaps.argmax())


def _error(fields: list[_Field]) -> float:
    """Return a bound on the error of a difference of two computed logarithms."""
    return 3 * LOG_ERROR * (1 + max(float(np.abs(field.logs).max()) for field in fields))


# ------------------------------------------------------------------------------------------------ witnesses


def _cells(field: _Field, grid: Grid, one: Step, two: Step) -> Triple:
    """Return two true cells and a report that have these two coordinates in a field."""
    axes = zip(field.kinds, (grid.rows, grid.cols), one, two, strict=True)
    (row, row2, to_row), (col, col2, to_col) = (_coordinates(*axis) for axis in axes)
    return row * grid.cols + col, row2 * grid.cols + col2, to_row * grid.cols + to_col


def _coordinates(kind: str, n: int, one: int, two: int) -> tuple[int, int, int]:
    if kind in ("lower", "upper", "one"):
        return one, two, n - 1 if kind == "upper" else 0
    reach, least = (n - 2, 1) if kind == "inside" else (n - 1, 0)
    report = max(least, reach - min(one, two))
    return report + one - reach, report + two - reach, report


def _adjacent_zero(logs: FloatArray) -> tuple[Step, Step]:
    """Return two adjacent entries, the first positive and the second zero: any rectangle with both has such a pair."""
    zero = np.isneginf(logs)
    for a, b in ((1, 0), (0, 1)):
        entries = np.argwhere(zero[: zero.shape[0] - a, : zero.shape[1] - b] != zero[a:, b:])
        if len(entries):
            row, col = entries[0].tolist()
            near, far = (row, col), (row + a, col + b)
            return (far, near) if zero[near] else (near, far)
    raise AssertionError("zero and positive entries are side by side somewhere")
