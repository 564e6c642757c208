"""The solver: HiGHS, handed the scaled program, asked for a vertex.

A solve goes in stages, so that the same request has one answer whatever path the solver takes. After the first stage,
everything whose price is not zero is held where it is (the optimal face); the next stages minimise other objectives on
that face: the preferences of :mod:`.designing`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import NotCertified
from .program import Program

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: Beyond this many inequalities the interior point method with a crossover to a vertex beats the simplex method.
SIMPLEX_ROWS = 8_000

#: Coefficients below 1e-12 of their row's largest are noise, those above it are not (the default would drop 1e-9).
OPTIONS = {"output_flag": False, "small_matrix_value": 1e-12, "threads": 1}

#: A first answer is found with the solver's own tolerances, which is quick; then these, from that answer.
LOOSE = {"primal_feasibility_tolerance": 1e-7, "dual_feasibility_tolerance": 1e-7}
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}

#: Ways to solve, each tried where those before gave no answer: as the solver likes, without presolve, primal simplex.
WAYS: tuple[dict[str, Any], ...] = (
    {"presolve": "choose", "simplex_strategy": 1},
    {"presolve": "off", "simplex_strategy": 1},
    {"presolve": "off", "simplex_strategy": 4},
)

#: Refactorisations (steps without a pivot) that a healthy run may need: so many, and one for so many pivots. Runs that
#: end well need one for about a hundred; where the numbers have gone bad there are several for every pivot, each slow.
HEALTHY_REFACTORISATIONS, PIVOTS_EACH = 200, 10

#: A price below this share of the largest one counts as zero.
FREE = 1e-10


class SolverFailed(NotCertified):
    """The solver gave up, or what it found could not be proved."""


class Infeasible(Exception):
    """No mechanism meets all inequalities; a signal between modules, never shown to people."""


@dataclass(frozen=True, eq=False)
class Vertex:
    """What the solver found, in scaled numbers, and where it is: which columns and rows are at their bounds."""

    values: FloatArray
    prices: FloatArray
    reduced: FloatArray
    objective: float
    #: For each variable and each row, whether it is basic (free to move) or at a bound.
    basic_columns: BoolArray
    basic_rows: BoolArray
    basis: Any = field(repr=False, default=None)

    @property
    def unique(self) -> bool:
        """Whether every bound that holds has a price: then no other point is as good."""
        return not (self.free_columns.any() or self.free_rows.any())

    @property
    def free_columns(self) -> BoolArray:
        return np.asarray(~self.basic_columns & (np.abs(self.reduced) <= FREE * self._unit))

    @property
    def free_rows(self) -> BoolArray:
        return np.asarray(~self.basic_rows & (np.abs(self.prices) <= FREE * self._unit))

    @property
    def _unit(self) -> float:
        return max(float(np.abs(self.prices).max(initial=0)), 1e-300)


class StallWatch:
    """Interrupts a simplex run that refactorises instead of pivoting: it would take minutes and end without an answer.

    It counts steps, not seconds, so that the same program ends the same way on every machine.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin to count anew, for another run."""
        self._pivots, self._refactorisations = -1, 0
        self.stalled = False

    def __call__(self, event: Any) -> None:
        pivots = event.data_out.simplex_iteration_count
        if pivots != self._pivots:
            self._pivots = pivots
        else:
            self._refactorisations += 1
        self.stalled = self._refactorisations > HEALTHY_REFACTORISATIONS + pivots // PIVOTS_EACH
        event.interrupt(self.stalled)  # said at every step: the solver remembers what it was told in an earlier run


class Session:
    """One program in one solver. Solves start from the last vertex, or from one of a neighbouring problem."""

    def __init__(self, program: Program, start: Vertex | None = None) -> None:
        import highspy

        self.program = program
        self._highspy: Any = highspy
        self._solver = self._highspy.Highs()
        for option, value in OPTIONS.items():
            self._solver.setOptionValue(option, value)
        self._watch = StallWatch()
        self._solver.cbSimplexInterrupt.subscribe(self._watch)
        self._starts, self._index, self._values, self.lower, self.upper, self.row_sizes = assemble(program)
        self.column_upper = np.where(program.zero, 0.0, np.inf)
        self._preferred = np.concatenate(
            [np.full(len(block), block.preferred) for block in program.pairs]
            + [np.zeros(len(program.rows), dtype=bool)]
        ).astype(bool)
        self.lower[self._preferred] = -np.inf
        self._last = start
        #: Programs with tied tails have others to fall back on, which is quicker than to insist.
        self._last_resort = program.reach == program.request.n

    @property
    def rows(self) -> int:
        return len(self.lower)

    @property
    def stalled(self) -> bool:
        """Whether the last run was given up because it got nowhere."""
        return self._watch.stalled

    def minimise(self, cost: FloatArray) -> Vertex:
        """The best vertex for this cost per unit of each variable."""
        if self._last is None:
            self._last = self._run(cost, LOOSE)
        try:
            self._last = self._run(cost, TIGHT)
        except SolverFailed:
            if not self._last_resort:
                raise
            # some programs cannot be solved so closely; what comes of it is proved, or not, anyway
            self._last = self._run(cost, LOOSE)
        return self._last

    def hold(self, vertex: Vertex) -> None:
        """From now on, consider only what is as good as this vertex was: everything with a price stays where it is."""
        self.upper = np.where(~vertex.basic_rows & ~vertex.free_rows, self.lower, self.upper)
        self.column_upper = np.where(~vertex.basic_columns & ~vertex.free_columns, 0.0, self.column_upper)
        self._last = vertex

    def prefer(self, cost: FloatArray) -> Vertex | None:
        """The best vertex that also meets the preferred inequalities; None, and as before, if there is none."""
        before, last = self.lower.copy(), self._last
        self.lower[self._preferred] = 0.0
        try:
            return self.minimise(cost)
        except (Infeasible, SolverFailed):
            self.lower, self._last = before, last
            return None

    def contradiction(self) -> FloatArray | None:
        """After :class:`Infeasible`: prices of the rows that make doing nothing cost something, if the solver has them.

        (A dual ray, Farkas. What it proves is for :func:`.bounds.impossible` to say.)
        """
        solver = self._solver
        for option, value in {"solver": "simplex", **WAYS[1]}.items():
            solver.setOptionValue(option, value)
        solver.clearSolver()
        self._watch.reset()
        solver.run()
        _, found, prices = solver.getDualRay()
        return np.array(prices) if found else None

    def shortage(self) -> FloatArray | None:
        """Dual values of the least shortage: what must be given to rows that nothing at all would not meet.

        That program can always be met, by nothing and full gifts, so the solver does not lose its way. Where the least
        shortage is above zero its dual values are a Farkas certificate; :func:`.bounds.impossible` says what it proves.
        """
        solver = self._solver
        self._pass_model(np.zeros(self.program.count))
        for row in np.flatnonzero(self.lower > 0).tolist():
            solver.addCol(1.0, 0.0, self._highspy.kHighsInf, 1, np.array([row], dtype=np.int32), np.array([1.0]))
        solver.setOptionValue("solver", "simplex")
        self._watch.reset()
        solver.run()
        if solver.getModelStatus() != self._highspy.HighsModelStatus.kOptimal:
            return None
        return np.array(solver.getSolution().row_dual)

    def _pass_model(self, cost: FloatArray) -> None:
        highspy = self._highspy
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = self.program.count, len(self.lower)
        model.col_cost_, model.col_lower_, model.col_upper_ = cost, np.zeros(len(cost)), self.column_upper
        model.row_lower_, model.row_upper_ = self.lower, self.upper
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = self._starts, self._index, self._values
        self._solver.passModel(model)

    def _run(self, cost: FloatArray, tolerances: dict[str, float]) -> Vertex:
        highspy, solver = self._highspy, self._solver
        for option, value in tolerances.items():
            solver.setOptionValue(option, value)
        self._pass_model(cost)
        warm = self._last is not None and self._last.basis is not None
        solver.setOptionValue("solver", "simplex" if warm or len(self.lower) <= SIMPLEX_ROWS else "ipm")
        if warm:
            assert self._last is not None
            solver.setBasis(self._last.basis)
        statuses = highspy.HighsModelStatus
        for way in WAYS if self._last_resort else WAYS[:1]:
            for option, value in way.items():
                solver.setOptionValue(option, value)
            self._watch.reset()
            solver.run()
            status = solver.getModelStatus()
            # a program on which the solver got lost is better tried in another form than in another way
            if status in (statuses.kOptimal, statuses.kInfeasible) or self.stalled:
                break
            solver.clearSolver()
        for option, value in WAYS[0].items():
            solver.setOptionValue(option, value)
        if self.stalled:
            solver.clearSolver()
        if status == statuses.kInfeasible:
            raise Infeasible
        if status != statuses.kOptimal:
            reason = "it got nowhere" if self.stalled else solver.modelStatusToString(status)
            raise SolverFailed(
                f"the linear solver stopped without an answer ({reason}). Ask for fewer "
                "requirements, a smaller n, or a privacy parameter further from the ends of its range."
            )
        return self._vertex()

    def _vertex(self) -> Vertex:
        solver, basic = self._solver, self._highspy.HighsBasisStatus.kBasic
        solution, basis = solver.getSolution(), solver.getBasis()
        return Vertex(
            np.array(solution.col_value),
            np.array(solution.row_dual),
            np.array(solution.col_dual),
            solver.getInfo().objective_function_value,
            np.fromiter((status == basic for status in basis.col_status), bool, len(solution.col_value)),
            np.fromiter((status == basic for status in basis.row_status), bool, len(solution.row_dual)),
            basis,
        )


def assemble(program: Program) -> tuple[IntArray, IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """The program row by row: starts, indices, values, lower and upper sides, and what each row was divided by.

    Pairs are written between variables, so that the powers of alpha cancel; rows are divided by their largest
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
        starts.astype(np.int32), np.concatenate(index).astype(np.int32), np.concatenate(values),
        np.concatenate(lower), np.concatenate(upper), np.concatenate(sizes),
    )  # fmt: skip


def place_scales(program: Program) -> FloatArray:
    """What one unit of its variable is worth at each place."""
    auxiliary = np.array(program.auxiliary_size)
    probabilities = np.exp(program.exponent[: program.size**2] * program.log_alpha)
    return np.concatenate([probabilities, auxiliary])


def variable_cost(program: Program, cost: FloatArray | None = None) -> FloatArray:
    """A cost by place (the program's own if none is given) as a cost per unit of each variable, in floats."""
    if cost is None:
        cost = np.array([c / program.cost_scale for c in program.cost.tolist()])
    summed = np.bincount(program.variable, weights=cost * place_scales(program), minlength=program.count)
    return summed.astype(np.float64)
