"""Solving a design: HiGHS (:mod:`.highs`) finds a vertex of the scaled program.

A solve has stages, so that a request has one answer on every path of the solver. After the first stage, all constraints
with a nonzero dual value are fixed (the optimal face); the next stages minimise other objectives on that face: the
preferences of :mod:`.search`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import NotCertified
from ...exact.arrays import BoolArray, FloatArray
from .highs import LOOSE_TOLERANCES, SMALL_COEFFICIENTS, TIGHT_TOLERANCES, Basis, Highs, LinearModel, SparseRows, Status
from .program import Program

#: Maximum number of inequalities for the simplex method; beyond it interior points with a crossover are faster.
MAX_SIMPLEX_ROWS = 8_000

#: Options that are tried in turn until there is an answer: the solver's choice, without presolve, primal simplex.
SOLVER_OPTIONS: tuple[dict[str, Any], ...] = (
    {"presolve": "choose", "simplex_strategy": 1},
    {"presolve": "off", "simplex_strategy": 1},
    {"presolve": "off", "simplex_strategy": 4},
)

#: Share of the largest dual value below which a dual value counts as zero.
ZERO_DUAL_SHARE = 1e-10


class SolverFailed(NotCertified):
    """The solver gave up, or its answer could not be proved."""


class InfeasibleDesign(Exception):
    """No mechanism meets all inequalities; a signal between modules, never shown to people."""


@dataclass(frozen=True, eq=False)
class Vertex:
    """A vertex from the solver, in scaled numbers, with the columns and rows at their bounds."""

    values: FloatArray
    duals: FloatArray
    reduced: FloatArray
    objective: float
    #: True for each variable and each row that is basic (free to move), not at a bound.
    basic_columns: BoolArray
    basic_rows: BoolArray
    basis: Basis | None = field(repr=False, default=None)

    @property
    def unique(self) -> bool:
        """True if every tight bound has a dual value: then no other point is as good."""
        return not (self.free_columns.any() or self.free_rows.any())

    @property
    def free_columns(self) -> BoolArray:
        return np.asarray(~self.basic_columns & (np.abs(self.reduced) <= ZERO_DUAL_SHARE * self._unit))

    @property
    def free_rows(self) -> BoolArray:
        return np.asarray(~self.basic_rows & (np.abs(self.duals) <= ZERO_DUAL_SHARE * self._unit))

    @property
    def _unit(self) -> float:
        return max(float(np.abs(self.duals).max(initial=0)), 1e-300)


class SolverSession:
    """One program in one solver. Solves start from the last vertex, or from one of a neighbouring problem."""

    def __init__(self, program: Program, start: Vertex | None = None) -> None:
        self.program = program
        self._solver = Highs(SMALL_COEFFICIENTS, watched=True)
        self._rows, self.lower, self.upper, self.row_sizes = assemble(program)
        self.column_upper = np.where(program.zero, 0.0, np.inf)
        self._preferred = np.concatenate(
            [np.full(len(block), block.preferred) for block in program.pairs]
            + [np.zeros(len(program.rows), dtype=bool)]
        ).astype(bool)
        self.lower[self._preferred] = -np.inf
        self._last = start
        #: True for a program without tied tails: others have an alternative, which is faster than more attempts.
        self._last_resort = program.reach == program.request.n

    @property
    def rows(self) -> int:
        return len(self.lower)

    @property
    def stalled(self) -> bool:
        """True if the last run was interrupted because it stalled."""
        return self._solver.stalled

    def minimise(self, cost: FloatArray) -> Vertex:
        """Return the best vertex for this cost per unit of each variable."""
        if self._last is None:
            self._last = self._run(cost, LOOSE_TOLERANCES)
        try:
            self._last = self._run(cost, TIGHT_TOLERANCES)
        except SolverFailed:
            if not self._last_resort:
                raise
            # some programs cannot be solved as tightly; the answer is certified afterwards in any case
            self._last = self._run(cost, LOOSE_TOLERANCES)
        return self._last

    def hold(self, vertex: Vertex) -> None:
        """Restrict further solves to points as good as this vertex: fix every constraint with a dual value."""
        self.upper = np.where(~vertex.basic_rows & ~vertex.free_rows, self.lower, self.upper)
        self.column_upper = np.where(~vertex.basic_columns & ~vertex.free_columns, 0.0, self.column_upper)
        self._last = vertex

    def prefer(self, cost: FloatArray) -> Vertex | None:
        """Return the best vertex that also meets the preferred inequalities; None, with no change, if none does."""
        before, last = self.lower.copy(), self._last
        self.lower[self._preferred] = 0.0
        try:
            return self.minimise(cost)
        except (InfeasibleDesign, SolverFailed):
            self.lower, self._last = before, last
            return None

    def farkas_certificate(self) -> FloatArray | None:
        """Return a Farkas certificate (a dual ray) after :class:`InfeasibleDesign`, or None.

        It needs a check by :func:`.bounds.impossible`.
        """
        solver = self._solver
        solver.set_options(solver="simplex", **SOLVER_OPTIONS[1])
        solver.forget()
        solver.run()
        return solver.dual_ray()

    def shortage(self) -> FloatArray | None:
        """Return the dual values of the phase-one program, which minimises the total shortage of the rows.

        That program is always feasible (all variables zero, full shortage), so the solver succeeds. If the least
        shortage is above zero, its dual values are a Farkas certificate (:func:`.bounds.impossible`).
        """
        solver = self._solver
        self._load(np.zeros(self.program.count))
        solver.add_surpluses(np.flatnonzero(self.lower > 0).tolist())
        solver.set_options(solver="simplex")
        return solver.point().duals if solver.run() is Status.OPTIMAL else None

    def _load(self, cost: FloatArray) -> None:
        nothing = np.zeros(len(cost))
        self._solver.load(LinearModel(cost, nothing, self.column_upper, self._rows, self.lower, self.upper))

    def _run(self, cost: FloatArray, tolerances: Mapping[str, object]) -> Vertex:
        solver = self._solver
        solver.set_options(**tolerances)
        self._load(cost)
        basis = self._last.basis if self._last is not None else None
        solver.set_options(solver="simplex" if basis is not None or len(self.lower) <= MAX_SIMPLEX_ROWS else "ipm")
        if basis is not None:
            solver.start_at(basis)
        for options in SOLVER_OPTIONS if self._last_resort else SOLVER_OPTIONS[:1]:
            solver.set_options(**options)
            status = solver.run()
            # a program on which the solver stalled is better tried in another form than with other options
            if status is not Status.UNSOLVED or self.stalled:
                break
            solver.forget()
        solver.set_options(**SOLVER_OPTIONS[0])
        if self.stalled:
            solver.forget()
        if status is Status.INFEASIBLE:
            raise InfeasibleDesign
        if status is not Status.OPTIMAL:
            reason = "it got nowhere" if self.stalled else solver.reason
            raise SolverFailed(
                f"the linear solver stopped without an answer ({reason}). Ask for fewer "
                "requirements, a smaller n, or a privacy parameter further from the ends of its range."
            )
        return self._vertex()

    def _vertex(self) -> Vertex:
        point, basis = self._solver.point(), self._solver.basis()
        return Vertex(point.values, point.duals, point.reduced_costs, point.objective, basis.columns, basis.rows, basis)


def assemble(program: Program) -> tuple[SparseRows, FloatArray, FloatArray, FloatArray]:
    """Return the program's rows, their lower and upper sides, and the divisor of each row.

    Pairs are inequalities between variables, so that the powers of alpha cancel; rows are divided by their largest
    coefficient. Auxiliary variables are in units of their size.
    """
    log_alpha = program.log_alpha
    index, values, widths, lower, upper, sizes = [], [], [], [], [], []
    for block in program.pairs:
        ratio = float(block.factor) * np.exp(program.powers(block) * log_alpha)
        largest = np.maximum(1.0, ratio)
        index.append(program.variable[np.stack([block.first, block.second], axis=1)].ravel())
        values.append(np.stack([1 / largest, -ratio / largest], axis=1).ravel())
        widths.append(np.full(len(block), 2))
        lower.append(np.zeros(len(block)))
        upper.append(np.full(len(block), 0.0 if block.sense == "==" else np.inf))
        sizes.append(largest * np.exp(program.exponent[block.first] * log_alpha))
    scales = place_scales(program)
    for row in program.rows:
        factors = np.array([float(a) for a in row.coefficients]) * scales[row.places]
        variables, where = np.unique(program.variable[row.places], return_inverse=True)
        merged = np.bincount(where, weights=factors)
        largest_one = float(np.abs(merged).max()) or 1.0
        index.append(variables)
        values.append(merged / largest_one)
        widths.append(np.array([len(variables)]))
        right = float(row.right) / largest_one
        lower.append(np.array([right]))
        upper.append(np.array([right if row.sense == "==" else np.inf]))
        sizes.append(np.array([largest_one]))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(widths))])
    return (
        SparseRows.of(starts, np.concatenate(index), np.concatenate(values)),
        np.concatenate(lower), np.concatenate(upper), np.concatenate(sizes),
    )  # fmt: skip


def place_scales(program: Program) -> FloatArray:
    """Return the value at each place of one unit of its variable."""
    auxiliary = np.array(program.auxiliary_size)
    probabilities = np.exp(program.exponent[: program.size**2] * program.log_alpha)
    return np.concatenate([probabilities, auxiliary])


def variable_cost(program: Program, cost: FloatArray | None = None) -> FloatArray:
    """Return a cost by place (the program's own if none is given) as a cost per unit of each variable, in floats."""
    if cost is None:
        cost = np.array([c / program.cost_scale for c in program.cost.tolist()])
    summed = np.bincount(program.variable, weights=cost * place_scales(program), minlength=program.count)
    return summed.astype(np.float64)
