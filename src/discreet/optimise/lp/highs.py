"""HiGHS, the solver of linear programs, behind one adapter: the only module that imports ``highspy``.

It passes numbers on unchanged. Its callers choose the model and the options, and handle failed runs: :mod:`.solver`
(designs), :mod:`.rays` (large n), :mod:`.refinement` (many digits) and :mod:`discreet.optimise.noise.key_search` (whole
numbers).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...exact.arrays import BoolArray, FloatArray

#: Options of all runs: quiet, and on one core, so that the same program has the same answer everywhere.
COMMON_OPTIONS: Mapping[str, Any] = {"output_flag": False, "threads": 1}

#: The size, relative to the largest of their row, below which coefficients are dropped (the default would be 1e-9).
SMALL_COEFFICIENTS: Mapping[str, Any] = {"small_matrix_value": 1e-12}

#: HiGHS's default tolerances, which are quick to reach, and the tightest possible ones.
LOOSE_TOLERANCES: Mapping[str, Any] = {"primal_feasibility_tolerance": 1e-7, "dual_feasibility_tolerance": 1e-7}
TIGHT_TOLERANCES: Mapping[str, Any] = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}

#: Refactorisations (steps without a pivot) that a healthy run may need: a constant, and one per this many pivots. Runs
#: that end well need one per about a hundred pivots; ill-conditioned ones need several per pivot, each of them slow.
HEALTHY_REFACTORISATIONS, PIVOTS_PER_REFACTORISATION = 200, 10


class Status(Enum):
    """How a run ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNSOLVED = "unsolved"


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A sparse matrix by rows: the start of each row, the columns of its coefficients, and the coefficients."""

    starts: NDArray[np.int32]
    columns: NDArray[np.int32]
    coefficients: FloatArray

    @classmethod
    def of(cls, starts: object, columns: object, coefficients: FloatArray) -> SparseRows:
        """Return the matrix with indices of 32 bits, as HiGHS needs them."""
        return cls(np.asarray(starts, dtype=np.int32), np.asarray(columns, dtype=np.int32), coefficients)


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A linear program: minimise ``cost x`` with ``lower <= x <= upper`` and ``row_lower <= A x <= row_upper``."""

    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    rows: SparseRows
    row_lower: FloatArray
    row_upper: FloatArray


@dataclass(frozen=True, eq=False)
class Basis:
    """The basis of a vertex: which columns and rows are basic (free to move); the others are at a bound."""

    #: HiGHS's object, from which another run can start, and its value for "basic".
    native: Any = field(repr=False)
    _basic: Any = field(repr=False)

    @cached_property
    def columns(self) -> BoolArray:
        return self._are_basic(self.native.col_status)

    @cached_property
    def rows(self) -> BoolArray:
        return self._are_basic(self.native.row_status)

    def _are_basic(self, statuses: Sequence[object]) -> BoolArray:
        return np.fromiter((status == self._basic for status in statuses), bool, len(statuses))


@dataclass(frozen=True, eq=False)
class Point:
    """The answer of a run: values of the columns, dual values of the rows, reduced costs, and the objective."""

    values: FloatArray
    duals: FloatArray
    reduced_costs: FloatArray
    objective: float


@dataclass(frozen=True, eq=False)
class IntegerPoint:
    """The answer of branch and bound: values of the columns (None without any) and a lower bound of the objective."""

    values: list[float] | None
    bound: float


class StallWatch:
    """The interruption of a simplex run that refactorises instead of pivoting: it would take minutes without an answer.

    It counts steps, not seconds, so that the same program ends the same way on every machine.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Restart the count for another run."""
        self._pivots, self._refactorisations = -1, 0
        self.stalled = False

    def __call__(self, event: Any) -> None:
        pivots = event.data_out.simplex_iteration_count
        if pivots != self._pivots:
            self._pivots = pivots
        else:
            self._refactorisations += 1
        self.stalled = self._refactorisations > HEALTHY_REFACTORISATIONS + pivots // PIVOTS_PER_REFACTORISATION
        event.interrupt(self.stalled)  # set at every step: the solver remembers the value from an earlier run


class Highs:
    """One instance of HiGHS with one model, which may be changed and solved again from where the last run ended.

    Parameters
    ----------
    options
        Options by their names in HiGHS, in addition to :data:`COMMON_OPTIONS`.
    watched
        True to interrupt runs that stall (:class:`StallWatch`).
    """

    def __init__(self, options: Mapping[str, object], *, watched: bool = False) -> None:
        import highspy

        self._highspy: Any = highspy
        self._solver = self._highspy.Highs()
        self._ended: Any = self._highspy.HighsModelStatus.kNotset
        self._watch = StallWatch()
        self.set_options(**COMMON_OPTIONS, **options)
        if watched:
            self._solver.cbSimplexInterrupt.subscribe(self._watch)

    def set_options(self, **options: object) -> None:
        """Set options for all runs from here on."""
        for option, value in options.items():
            self._solver.setOptionValue(option, value)

    # ---------------------------------------------------------------- the model

    def load(self, model: LinearModel) -> None:
        """Replace the model."""
        program = self._highspy.HighsLp()
        program.num_col_, program.num_row_ = len(model.cost), len(model.row_lower)
        program.col_cost_, program.col_lower_, program.col_upper_ = model.cost, model.lower, model.upper
        program.row_lower_, program.row_upper_ = model.row_lower, model.row_upper
        program.a_matrix_.format_ = self._highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_, program.a_matrix_.index_ = model.rows.starts, model.rows.columns
        program.a_matrix_.value_ = model.rows.coefficients
        self._solver.passModel(program)

    def add_row(self, lower: float, upper: float) -> None:
        """Add a row without coefficients, for columns that are added later."""
        self._solver.addRow(lower, upper, 0, np.array([], dtype=np.int32), np.array([], dtype=np.float64))

    def add_columns(self, cost: FloatArray, dense: FloatArray) -> None:
        """Add columns that are at least 0; each is a row of ``dense``, which holds its coefficient in every row."""
        filled = dense != 0
        starts = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])[:-1]
        index = np.nonzero(filled)[1]
        count = len(cost)
        self._solver.addCols(
            count, cost, np.zeros(count), np.full(count, np.inf), len(index),
            starts.astype(np.int32), index.astype(np.int32), dense[filled],
        )  # fmt: skip

    def add_surpluses(self, rows: Collection[int]) -> None:
        """Give each of these rows a column of its own, at least 0, with coefficient and cost 1."""
        for row in rows:
            self._solver.addCol(1.0, 0.0, np.inf, 1, np.array([row], dtype=np.int32), np.array([1.0]))

    def change_columns(self, cost: FloatArray, lower: FloatArray, upper: FloatArray, whole: BoolArray) -> None:
        """Replace the cost and the bounds of all columns, and the mask of those that are whole numbers."""
        count, kinds = len(cost), self._highspy.HighsVarType
        everything = np.arange(count, dtype=np.int32)
        self._solver.changeColsCost(count, everything, cost)
        self._solver.changeColsBounds(count, everything, lower, upper)
        integrality = np.where(whole, int(kinds.kInteger), int(kinds.kContinuous)).astype(np.uint8)
        self._solver.changeColsIntegrality(count, everything, integrality)

    # ---------------------------------------------------------------- running

    def start_at(self, basis: Basis) -> None:
        """Start the next run from this basis."""
        self._solver.setBasis(basis.native)

    def start_with(self, values: Sequence[float]) -> None:
        """Start the next branch and bound from this point."""
        solution = self._highspy.HighsSolution()
        solution.col_value = list(values)
        self._solver.setSolution(solution)

    def forget(self) -> None:
        """Start the next run without a basis or a solution."""
        self._solver.clearSolver()

    def run(self, *, seconds: float | None = None) -> Status:
        """Solve, within this many seconds if a limit is given."""
        if seconds is not None:  # the solver's clock adds up all runs
            self.set_options(time_limit=self._solver.getRunTime() + seconds)
        self._watch.reset()
        self._solver.run()
        self._ended = self._solver.getModelStatus()
        statuses = self._highspy.HighsModelStatus
        outcomes = {statuses.kOptimal: Status.OPTIMAL, statuses.kInfeasible: Status.INFEASIBLE}
        return outcomes.get(self._ended, Status.UNSOLVED)

    @property
    def reason(self) -> str:
        """The status of the last run, in the solver's words."""
        return str(self._solver.modelStatusToString(self._ended))

    @property
    def stalled(self) -> bool:
        """True if the last run was interrupted because it stalled."""
        return self._watch.stalled

    # ---------------------------------------------------------------- answers

    def point(self) -> Point:
        """Return the answer of the last run."""
        solution = self._solver.getSolution()
        return Point(
            np.array(solution.col_value),
            np.array(solution.row_dual),
            np.array(solution.col_dual),
            self._solver.getInfo().objective_function_value,
        )

    def integer_point(self) -> IntegerPoint:
        """Return the answer of the last branch and bound."""
        info = self._solver.getInfo()
        feasible = info.primal_solution_status == self._highspy.SolutionStatus.kSolutionStatusFeasible
        return IntegerPoint(
            list(self._solver.getSolution().col_value) if feasible else None, float(info.mip_dual_bound)
        )

    def basis(self) -> Basis:
        """Return the basis at which the last run ended."""
        return Basis(self._solver.getBasis(), self._highspy.HighsBasisStatus.kBasic)

    def dual_ray(self) -> FloatArray | None:
        """Return the dual ray of an infeasible program (a Farkas certificate), with a number for each row, or None."""
        _, has_ray, ray = self._solver.getDualRay()
        return np.array(ray) if has_ray else None
