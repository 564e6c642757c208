"""A lower bound of the cost of every mechanism that meets a request, from dual values.

Give each requirement a dual value (the solver's, made nonnegative) and add its product with the requirement to the
cost. For pure privacy the rest separates by report: within one column of the matrix the probabilities are tied only to
their neighbours, ``P[i+1, j] / P[i, j]`` lying between alpha and 1/alpha (or 1, where rows are monotone), and the
cheapest column with a given diagonal entry is found by one pass from the ends to the diagonal. Any dual values give a
true bound; good ones give a tight one. (Lagrangian duality; this is also how columns are priced in :mod:`.rays`.)

Floats with a running error bound: the result is below the true bound by construction.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ...exact.arrays import BoolArray, FloatArray
from ...exact.rationals import float_down, float_up, written_out
from ...report import Json
from .program import PRIVACY, Program

#: Twice the largest relative error of one operation on doubles.
UNIT = 2.0**-52

#: Reductions of the dual values of totals that are tried, as shares of the largest dual value.
TOTAL_DISCOUNTS = (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-8)

#: Labels of inequalities between neighbours in a column: the pass over columns keeps them without a dual value.
ROWS_BY_COLUMN = (PRIVACY, "RM")


@dataclass(frozen=True, eq=False)
class Chain:
    """The range of ratios of neighbouring entries of a column, going away from the diagonal: ``low`` to ``high``."""

    low: float
    high: float

    def cheapest(self, cost: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least cost of each report's column per unit of the diagonal entry, without that entry's cost.

        Parameters
        ----------
        cost, error
            The cost per unit of probability of each (truth, report), and its largest error.
        """
        size = len(cost)
        total, slack = np.zeros(size), np.zeros(size)
        for sign in (-1, 1):
            best, slack_here = np.zeros(size), np.zeros(size)
            for d in range(size - 1, 0, -1):
                # The reports that have a truth d below (or above) them, in order.
                part = slice(0, size - d) if sign < 0 else slice(d, size)
                entry_cost, entry_error = np.diagonal(cost, sign * d), np.diagonal(error, sign * d)
                stepped, stepped_error = self._step(best[part], slack_here[part])
                best[part] = entry_cost + stepped
                slack_here[part] = entry_error + stepped_error + UNIT * np.abs(best[part])
            stepped, stepped_error = self._step(best, slack_here)
            total += stepped
            slack += stepped_error + UNIT * np.abs(total)
        return total, slack

    def _step(self, best: FloatArray, wrong: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the cost of all further entries, ``best`` per unit of the next one, at that entry's best ratio."""
        certainly_positive = best > wrong
        stepped = np.where(best >= 0, self.low, self.high) * best
        error = np.where(certainly_positive, self.low, self.high) * wrong + 2 * UNIT * np.abs(stepped)
        return stepped, error


def lower_bound(program: Program, duals: FloatArray, row_sizes: FloatArray, objective: float) -> float:
    """Return a lower bound of the objective for all mechanisms that meet the request.

    Parameters
    ----------
    duals
        The solver's dual values of its rows.
    row_sizes
        The divisor of each of those rows.
    objective
        The solver's objective, to stop the search for better bounds once one is close.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        true = duals / row_sizes
        true[~np.isfinite(true)] = 0.0
    # Rounding may leave a cost that should be zero slightly negative, and far from the diagonal that counts many times;
    # slightly smaller dual values of the totals lift all costs. Far out the dual values of other inequalities are lost
    # in rounding: leaving some of them out may be better. Every such choice gives a true bound.
    best = -math.inf
    unit = float(np.abs(true[-len(program.rows) :]).max(initial=0))
    reaches = sorted({min(program.request.n, int(program.reach * share)) for share in (1, 0.8, 0.6, 0.4)}, reverse=True)
    # Far from the diagonal one pass over a column multiplies errors by 1/alpha at every step; there it may be better to
    # use the dual values of privacy unchanged, and bound each truth separately.
    private = any(block.label == PRIVACY for block in program.pairs)
    ways = (True, False) if private and not program.request.delta else (False,)
    for by_column, reach, less in itertools.product(ways, reaches, TOTAL_DISCOUNTS):
        best = max(best, _bound(program, true, reach, less * unit, by_column=by_column))
        if objective - best <= 1e-11 * max(abs(objective), 1e-3):
            break
    return best


def impossible(program: Program, duals: FloatArray, row_sizes: FloatArray) -> bool:
    """Return whether these dual values are a Farkas certificate that the request is infeasible.

    Parameters
    ----------
    duals, row_sizes
        As for :func:`lower_bound`; a combination of the rows that contradicts itself, from the solver.
    """
    unit = float(np.abs(duals).max(initial=0))
    if not 0 < unit < math.inf:
        return False
    free = replace(program, cost=np.zeros_like(program.cost), cost_scale=1)
    return lower_bound(free, duals / unit, row_sizes, objective=1e-6) > 0


def _bound(program: Program, duals: FloatArray, reach: int, less: float, *, by_column: bool) -> float:
    size, places = program.size, program.size**2
    cost = np.array([c / program.cost_scale for c in program.cost.tolist()])
    error = UNIT * np.abs(cost)
    gain, gain_error, start = 0.0, 0.0, 0
    for block in program.pairs:
        block_duals = duals[start : start + len(block)]
        start += len(block)
        if block.preferred or (by_column and block.label in ROWS_BY_COLUMN):  # preferences have no dual value
            continue
        apart = np.abs(block.first // size - block.first % size)
        block_duals = np.where(apart <= reach, np.maximum(block_duals, 0) if block.sense == ">=" else block_duals, 0.0)
        ratio = float(block.factor * program.request.alpha**block.power)
        _subtract_many(cost, error, block.first, block_duals)
        _subtract_many(cost, error, block.second, -ratio * block_duals)
    for row, dual in zip(program.rows, duals[start:].tolist(), strict=True):
        value = max(dual, 0.0) if row.sense == ">=" else dual
        if row.label == "total":
            value -= less
        if not value:
            continue
        _subtract(cost, error, row.places, value * np.array([float(a) for a in row.coefficients]))
        gain += value * float(row.right)
        gain_error += 4 * UNIT * (abs(value * float(row.right)) + abs(gain))
    bound = gain - gain_error + _auxiliary(program, cost[places:], error[places:])
    by_truth, errors = cost[:places].reshape(size, size), error[:places].reshape(size, size)
    if program.mirrored:
        by_truth, errors = (by_truth + by_truth[::-1, ::-1]) / 2, (errors + errors[::-1, ::-1]) / 2
    errors = errors + UNIT * np.abs(by_truth)
    zero = program.zero[program.variable[:places]].reshape(size, size)
    if by_column:
        return float(bound + _columns(program, by_truth, errors, zero))
    return float(bound + _truths(program, np.where(zero, np.inf, by_truth - errors)))


def _subtract(cost: FloatArray, error: FloatArray, places: Any, amount: FloatArray) -> None:
    """Subtract amounts, known to two units, at places that are all different."""
    assert len(np.unique(places)) == len(places)
    cost[places] -= amount
    error[places] += 4 * UNIT * (np.abs(amount) + np.abs(cost[places]))


def _subtract_many(cost: FloatArray, error: FloatArray, places: Any, amount: FloatArray) -> None:
    """Subtract amounts, known to two units, at places that may repeat: k terms err by k units of their total size."""
    times = np.bincount(places, minlength=len(cost))
    total = np.bincount(places, weights=amount, minlength=len(cost))
    sizes = np.bincount(places, weights=np.abs(amount), minlength=len(cost)) * (1 + 1e-9)
    cost -= total
    error += UNIT * ((times + 4) * sizes + np.abs(cost) * (times > 0))


def _auxiliary(program: Program, cost: FloatArray, error: FloatArray) -> float:
    """Return the largest reduction of the cost by auxiliary variables, which are at most of their stated sizes."""
    largest = np.array(program.auxiliary_size) * (1 + 1e-12)
    return float((np.minimum(cost - error, 0) * largest).sum())


def _truths(program: Program, cost: FloatArray) -> float:
    """Return the cheapest distributions of all truths; diagonal entries that must be equal are decided together.

    With m the least cost off the diagonal and c that on it, a truth costs at least m + (c - m) P[i, i].
    """
    size = program.size
    # a report that is never made costs nothing: give it the highest other cost, which the minimum ignores
    highest = np.where(np.isfinite(cost), cost, -np.inf).max(axis=1, keepdims=True)
    cost = np.where(np.isfinite(cost), cost, np.where(np.isfinite(highest), highest, 0.0))
    off = cost.copy()
    off[np.arange(size), np.arange(size)] = np.inf
    least = off.min(axis=1)
    diagonal = program.variable[np.arange(size) * (size + 1)]
    each = np.diagonal(cost) - least
    total = least.sum() + np.minimum(np.bincount(diagonal, weights=each), 0).sum()
    return float(total - 8 * size * UNIT * (np.abs(least).sum() + np.abs(each).sum()))


def _columns(program: Program, cost: FloatArray, error: FloatArray, zero: BoolArray) -> float:
    """Return the cheapest columns, diagonal entries at most 1; entries that must be equal are decided together."""
    size = program.size
    alpha = float(program.request.alpha)
    chain = Chain(alpha, 1.0 if "RM" in program.request.codes else 1 / alpha)
    beyond, slack = chain.cheapest(cost, error)
    column_cost = np.diagonal(cost) + beyond - slack - np.diagonal(error)
    column_cost = column_cost - 4 * UNIT * np.abs(column_cost)
    diagonal = program.variable[np.arange(size) * (size + 1)]
    # one zero makes a whole column zero, and all columns whose diagonal entries must equal its own
    column_cost[np.isin(diagonal, diagonal[zero.any(axis=0)])] = 0.0
    classes = np.bincount(diagonal, weights=column_cost)
    return float(np.minimum(classes, 0).sum() - 4 * size * UNIT * np.abs(column_cost).sum())


def gap_of(cost: Fraction, bound: float) -> Fraction:
    """Return the largest excess of a cost over its bound; never negative."""
    return max(cost - Fraction(bound), Fraction(0))


def figures_of_cost(cost: Fraction, least: Fraction) -> dict[str, Json]:
    """What a certificate says about the cost."""
    shown = written_out(cost)
    return {
        **({"cost": shown} if shown is not None else {}),
        "cost_about": float(cost),
        "least": float_down(least) + 0.0,  # not -0.0
        "gap": float_up(gap_of(cost, float(least))) if cost != least else 0.0,
    }
