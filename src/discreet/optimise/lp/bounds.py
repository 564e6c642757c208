"""How far from optimal a design can be: a lower bound of the cost of every mechanism that meets the request.

Give each requirement a dual value (the solver's, made nonnegative) and pay the mechanism back for what it must keep.
For pure privacy what remains falls apart by report: within one column of the matrix the probabilities are tied only to
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

#: By how much less totals are paid, as a share of the largest dual value.
TOTAL_DISCOUNTS = (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-8)

#: Inequalities between neighbours in one column: kept exactly by the pass over columns, so they need no dual value.
ROWS_BY_COLUMN = (PRIVACY, "RM")


@dataclass(frozen=True, eq=False)
class Chain:
    """Neighbouring entries of a column, going away from the diagonal, have ratios between ``low`` and ``high``."""

    low: float
    high: float

    def cheapest(self, cost: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """For each report, the least cost of its column per unit of the diagonal entry (that entry's own excluded).

        Parameters
        ----------
        cost, error
            For each (truth, report), the cost per unit of probability and how wrong it may be.
        """
        size = len(cost)
        total, slack = np.zeros(size), np.zeros(size)
        for sign in (-1, 1):
            best, wrong = np.zeros(size), np.zeros(size)
            for d in range(size - 1, 0, -1):
                # The reports that have a truth d below (or above) them, in order.
                part = slice(0, size - d) if sign < 0 else slice(d, size)
                own, own_error = np.diagonal(cost, sign * d), np.diagonal(error, sign * d)
                stepped, stepped_error = self._step(best[part], wrong[part])
                best[part] = own + stepped
                wrong[part] = own_error + stepped_error + UNIT * np.abs(best[part])
            stepped, stepped_error = self._step(best, wrong)
            total += stepped
            slack += stepped_error + UNIT * np.abs(total)
        return total, slack

    def _step(self, best: FloatArray, wrong: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What comes beyond this place costs ``best`` per unit of the entry there: choose that entry's ratio."""
        certainly_positive = best > wrong
        stepped = np.where(best >= 0, self.low, self.high) * best
        error = np.where(certainly_positive, self.low, self.high) * wrong + 2 * UNIT * np.abs(stepped)
        return stepped, error


def lower_bound(program: Program, duals: FloatArray, row_sizes: FloatArray, objective: float) -> float:
    """A number that the objective of no mechanism meeting the request is less than.

    Parameters
    ----------
    duals
        The solver's dual values of the rows it was handed.
    row_sizes
        What each of those rows was divided by.
    objective
        What the solver found, to stop looking for better bounds once one is close.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        true = duals / row_sizes
        true[~np.isfinite(true)] = 0.0
    # Rounding may leave a place that should cost nothing just below zero, and far from the diagonal that counts many
    # times; paying a little less for the totals lifts all places. Far out the dual values of other inequalities drown
    # in rounding altogether: leaving some of them out may be better. Every such choice gives a true bound.
    best = -math.inf
    unit = float(np.abs(true[-len(program.rows) :]).max(initial=0))
    reaches = sorted({min(program.request.n, int(program.reach * share)) for share in (1, 0.8, 0.6, 0.4)}, reverse=True)
    # Far from the diagonal one pass over a column multiplies errors by 1/alpha at every step; there it may be better to
    # take the dual values of privacy as they are, and look at each truth by itself.
    private = any(block.label == PRIVACY for block in program.pairs)
    ways = (True, False) if private and not program.request.delta else (False,)
    for by_column, reach, less in itertools.product(ways, reaches, TOTAL_DISCOUNTS):
        best = max(best, _bound(program, true, reach, less * unit, by_column=by_column))
        if objective - best <= 1e-11 * max(abs(objective), 1e-3):
            break
    return best


def impossible(program: Program, duals: FloatArray, row_sizes: FloatArray) -> bool:
    """Whether these dual values prove that the request is infeasible (Farkas): a cost of zero would be positive.

    Parameters
    ----------
    duals, row_sizes
        As for :func:`lower_bound`; a combination of the rows that contradicts itself (Farkas), as found by the solver.
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
        mine = duals[start : start + len(block)]
        start += len(block)
        if block.preferred or (by_column and block.label in ROWS_BY_COLUMN):  # what is only preferred has no dual value
            continue
        apart = np.abs(block.first // size - block.first % size)
        mine = np.where(apart <= reach, np.maximum(mine, 0) if block.sense == ">=" else mine, 0.0)
        ratio = float(block.factor * program.request.alpha**block.power)
        _subtract_many(cost, error, block.first, mine)
        _subtract_many(cost, error, block.second, -ratio * mine)
    for row, dual in zip(program.rows, duals[start:].tolist(), strict=True):
        paid = max(dual, 0.0) if row.sense == ">=" else dual
        if row.label == "total":
            paid -= less
        if not paid:
            continue
        _subtract(cost, error, row.places, paid * np.array([float(a) for a in row.coefficients]))
        gain += paid * float(row.right)
        gain_error += 4 * UNIT * (abs(paid * float(row.right)) + abs(gain))
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
    """Subtract amounts, known to two units, at places that may repeat: k terms err by k units of their sizes' sum."""
    times = np.bincount(places, minlength=len(cost))
    total = np.bincount(places, weights=amount, minlength=len(cost))
    sizes = np.bincount(places, weights=np.abs(amount), minlength=len(cost)) * (1 + 1e-9)
    cost -= total
    error += UNIT * ((times + 4) * sizes + np.abs(cost) * (times > 0))


def _auxiliary(program: Program, cost: FloatArray, error: FloatArray) -> float:
    """What auxiliary variables can lower the cost by: they are at most of the size they were given."""
    most = np.array(program.auxiliary_size) * (1 + 1e-12)
    return float((np.minimum(cost - error, 0) * most).sum())


def _truths(program: Program, cost: FloatArray) -> float:
    """The cheapest distributions of all truths; diagonal entries that must be equal are decided together.

    With m the least cost off the diagonal and c that on it, a truth costs at least m + (c - m) P[i, i].
    """
    size = program.size
    # what is never reported costs nothing, whatever its dual value: the highest other one, and nobody would choose it
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
    """The cheapest columns, diagonal entries at most 1; entries that must be equal are decided together."""
    size = program.size
    alpha = float(program.request.alpha)
    chain = Chain(alpha, 1.0 if "RM" in program.request.codes else 1 / alpha)
    beyond, wrong = chain.cheapest(cost, error)
    own = np.diagonal(cost) + beyond - wrong - np.diagonal(error)
    own = own - 4 * UNIT * np.abs(own)
    diagonal = program.variable[np.arange(size) * (size + 1)]
    # one zero in a column: all are, and with its diagonal entry those that must be equal to it
    own[np.isin(diagonal, diagonal[zero.any(axis=0)])] = 0.0
    classes = np.bincount(diagonal, weights=own)
    return float(np.minimum(classes, 0).sum() - 4 * size * UNIT * np.abs(own).sum())


def gap_of(cost: Fraction, bound: float) -> Fraction:
    """How much more than the bound a cost is, at most; never negative."""
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
