"""HiGHS, the solver of linear programs, behind one adapter: the only module that imports ``highspy``.

It passes numbers on as they are. What is solved, with which options, and what to do where a run fails is for those who
call it: :mod:`.solver` (designs), :mod:`.rays` (large n), :mod:`.refinement` (many digits) and
:mod:`discreet.optimise.noise.key_search` (whole numbers).
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

#: Quiet, and on one core, so that the same program has the same answer everywhere.
COMMON_OPTIONS: Mapping[str, Any] = {"output_flag": False, "threads": 1}

#: Coefficients below 1e-12 of their row's largest are noise, those above it are not (the default would drop 1e-9).
SMALL_COEFFICIENTS: Mapping[str, Any] = {"small_matrix_value": 1e-12}

#: HiGHS's own tolerances, which are quick to reach, and the tightest it takes.
LOOSE_TOLERANCES: Mapping[str, Any] = {"primal_feasibility_tolerance": 1e-7, "dual_feasibility_tolerance": 1e-7}
TIGHT_TOLERANCES: Mapping[str, Any] = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}

#: Refactorisations (steps without a pivot) that a healthy run may need: so many, and one for so many pivots. Runs that
#: end well need one for about a hundred; where the numbers have gone bad there are several for every pivot, each slow.
HEALTHY_REFACTORISATIONS, PIVOTS_EACH = 200, 10


class Status(Enum):
    """How a run ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNSOLVED = "unsolved"


@dataclass(frozen=True, eq=False)
class Rows:
    """A sparse matrix row by row: where each row starts, the columns of its coefficients, and the coefficients."""

    starts: NDArray[np.int32]
    columns: NDArray[np.int32]
    coefficients: FloatArray

    @classmethod
    def of(cls, starts: object, columns: object, coefficients: FloatArray) -> Rows:
        """With indices in the 32 bits that HiGHS takes."""
        return cls(np.asarray(starts, dtype=np.int32), np.asarray(columns, dtype=np.int32), coefficients)


@dataclass(frozen=True, eq=False)
class Model:
    """Minimise ``cost x`` with ``lower <= x <= upper`` and ``row_lower <= A x <= row_upper``."""

    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    rows: Rows
    row_lower: FloatArray
    row_upper: FloatArray


@dataclass(frozen=True, eq=False)
class Basis:
    """For each column and each row, whether it is basic (free to move) or at a bound."""

    #: HiGHS's own object, to start another run from, and what it calls basic.
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
    """The last run's answer: values of the columns, dual values of the rows, reduced costs, and the objective."""

    values: FloatArray
    duals: FloatArray
    reduced_costs: FloatArray
    objective: float


@dataclass(frozen=True, eq=False)
class IntegerPoint:
    """What branch and bound found: values of the columns (None if it found none) and a lower bound of the objective."""

    values: list[float] | None
    bound: float


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
        event.interrupt(self.stalled)  # said at every step: the solver remembers the answer of an earlier run


class Highs:
    """One instance of HiGHS with one model, which may be changed and solved again from where the last run ended.

    Parameters
    ----------
    options
        Options by the names HiGHS gives them, beside :data:`COMMON_OPTIONS`.
    watched
        Whether runs that stall are interrupted (:class:`StallWatch`).
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

    def load(self, model: Model) -> None:
        """Replace the model."""
        own = self._highspy.HighsLp()
        own.num_col_, own.num_row_ = len(model.cost), len(model.row_lower)
        own.col_cost_, own.col_lower_, own.col_upper_ = model.cost, model.lower, model.upper
        own.row_lower_, own.row_upper_ = model.row_lower, model.row_upper
        own.a_matrix_.format_ = self._highspy.MatrixFormat.kRowwise
        own.a_matrix_.start_, own.a_matrix_.index_ = model.rows.starts, model.rows.columns
        own.a_matrix_.value_ = model.rows.coefficients
        self._solver.passModel(own)

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
        """Replace cost and bounds of all columns, and say which are whole numbers."""
        count, kinds = len(cost), self._highspy.HighsVarType
        everything = np.arange(count, dtype=np.int32)
        self._solver.changeColsCost(count, everything, cost)
        self._solver.changeColsBounds(count, everything, lower, upper)
        integrality = np.where(whole, int(kinds.kInteger), int(kinds.kContinuous)).astype(np.uint8)
        self._solver.changeColsIntegrality(count, everything, integrality)

    # ---------------------------------------------------------------- running

    def start_at(self, basis: Basis) -> None:
        """Begin the next run at this basis."""
        self._solver.setBasis(basis.native)

    def start_with(self, values: Sequence[float]) -> None:
        """Begin the next branch and bound with this point."""
        known = self._highspy.HighsSolution()
        known.col_value = list(values)
        self._solver.setSolution(known)

    def forget(self) -> None:
        """Begin the next run afresh: without basis and solution."""
        self._solver.clearSolver()

    def run(self, *, seconds: float | None = None) -> Status:
        """Solve, for this many seconds at most if any are given."""
        if seconds is not None:  # the solver's clock goes on from run to run
            self.set_options(time_limit=self._solver.getRunTime() + seconds)
        self._watch.reset()
        self._solver.run()
        self._ended = self._solver.getModelStatus()
        statuses = self._highspy.HighsModelStatus
        known = {statuses.kOptimal: Status.OPTIMAL, statuses.kInfeasible: Status.INFEASIBLE}
        return known.get(self._ended, Status.UNSOLVED)

    @property
    def reason(self) -> str:
        """How the last run ended, in the solver's words."""
        return str(self._solver.modelStatusToString(self._ended))

    @property
    def stalled(self) -> bool:
        """Whether the last run was interrupted because it got nowhere."""
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
        """The dual ray of an infeasible program (a Farkas certificate), one number for each row, if there is one."""
        _, found, ray = self._solver.getDualRay()
        return np.array(ray) if found else None
