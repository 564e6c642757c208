"""Small linear programs of mechanisms with structural properties, a delta, or the worst case as their objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...exact.arrays import FloatArray, IntArray
from ...properties import Rows as PropertyRows
from .blocks import ROUNDING, BlockProgram
from .highs import SMALL_COEFFICIENTS, TIGHT_TOLERANCES, Highs, LinearModel, SparseRows, Status
from .solver import SolverFailed


@dataclass(frozen=True, eq=False)
class SolvedMechanism:
    """Probabilities, a row for each truth, and what no mechanism of the program costs less than."""

    matrix: FloatArray
    least: float


class _SparseRowBuilder:
    """Rows of a sparse program, one after the other."""

    def __init__(self) -> None:
        self.starts, self.columns, self.values = [0], [np.zeros(0, np.int64)], [np.zeros(0)]
        self.lower: list[FloatArray] = []
        self.upper: list[FloatArray] = []

    def add(self, columns: IntArray, values: FloatArray, lower: float, upper: float) -> None:
        """Add rows of equally many places: a row of ``columns`` for each."""
        each = columns.shape[1]
        self.starts += (self.starts[-1] + each * np.arange(1, len(columns) + 1)).tolist()
        self.columns.append(columns.ravel())
        self.values.append(np.broadcast_to(values, columns.shape).ravel().astype(float))
        self.lower.append(np.full(len(columns), lower))
        self.upper.append(np.full(len(columns), upper))


def solve_with_rows(
    program: BlockProgram, losses: FloatArray | None, rows: Sequence[PropertyRows], delta: float = 0.0
) -> SolvedMechanism:
    """Solve a program with rows of properties; with ``losses``, for the largest expected loss of any truth.

    With a delta each pair has an excess ``t(y) >= v_y(tail) - factor v_y(head)`` for each report, and they add up to at
    most delta. The bound follows from the dual values by weak duality, with every rounding accounted for: probabilities
    and excesses are between 0 and 1, and the largest loss is between 0 and the largest of all.
    """
    truths, reports = program.cost.shape
    size, number = program.size, program.cost.size
    extra = (size - truths) * reports
    excesses = len(program.tail) * reports if delta else 0
    count = number + extra + excesses + (losses is not None)
    most = np.ones(count)
    built = _SparseRowBuilder()
    here = np.arange(number).reshape(truths, reports)
    built.add(here, np.ones(1), 1.0, 1.0)
    report = np.arange(reports)
    place = np.arange(size)[:, None] * reports + report  # auxiliary variables come after the probabilities
    first_excess = number + extra
    for tail, head, log in zip(program.tail.tolist(), program.head.tolist(), program.log_factor.tolist(), strict=True):
        factor = float(np.exp(log)) * (1 + ROUNDING * (1 + log))
        if not delta:
            built.add(np.stack([place[head], place[tail]], axis=1), np.array([factor, -1.0]), 0.0, np.inf)
            continue
        excess = first_excess + report
        first_excess += reports
        built.add(np.stack([place[head], place[tail], excess], axis=1), np.array([factor, -1.0, 1.0]), 0.0, np.inf)
        built.add(excess[None, :], -np.ones(1), -delta * (1 + ROUNDING), np.inf)
    for one in rows:
        right = float(one.right)
        built.add(one.places, np.asarray(one.coefficients, float), right, right if one.sense == "==" else np.inf)
    cost = np.zeros(count)
    if losses is None:
        cost[:number] = program.cost.ravel()
    else:
        cost[-1], most[-1] = 1.0, float(losses.max())
        columns = np.concatenate([np.full((truths, 1), count - 1), here], axis=1)
        built.add(columns, np.concatenate([np.ones((truths, 1)), -losses], axis=1), 0.0, np.inf)
    starts, columns, values = np.array(built.starts), np.concatenate(built.columns), np.concatenate(built.values)
    lower, upper = np.concatenate(built.lower), np.concatenate(built.upper)
    solver = Highs({**SMALL_COEFFICIENTS, **TIGHT_TOLERANCES})
    solver.load(LinearModel(cost, np.zeros(count), most, SparseRows.of(starts, columns, values), lower, upper))
    if solver.run() is not Status.OPTIMAL:
        raise SolverFailed(f"the linear program was not solved: {solver.reason}.", "Ask for fewer values.")
    point = solver.point()
    duals = np.where(np.isinf(upper), np.maximum(point.duals, 0), point.duals)
    row = np.repeat(np.arange(len(lower)), np.diff(starts))
    terms = duals[row] * values
    pulled = np.bincount(columns, terms, count)
    sizes = np.bincount(columns, np.abs(terms), count)
    longest = int(np.bincount(columns, minlength=count).max()) + 8
    rest = np.minimum(cost - pulled - longest * 2.0**-52 * (np.abs(cost) + sizes), 0) * most
    paid = duals * np.where(np.isinf(upper), lower, upper)
    total = float(paid.sum() + rest.sum())
    spread = float(np.abs(paid).sum() + np.abs(rest).sum())
    least = total - (count + len(lower)) * 2.0**-52 * spread
    return SolvedMechanism(point.values[:number].reshape(truths, reports), least)
