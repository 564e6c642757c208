"""The likelihood of what was reported: which solver fits it, its maximum, and its certificate."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...exact.arrays import FloatArray, IntArray
from .. import interior
from ..algebra import NumericalFailure, left_solve, single_threaded_blas
from ..interior import NewtonModel, SolverResult, gap_of
from ..model.models import DenseModel, GeometricModel, ResponseModel
from ..model.problem import Problem
from . import banded, gradients, large, response
from .banded import BandedModel
from .large import StructuredModel

#: Work of one dense step (truths x reports x the smaller of them) above which structure is used: in one dimension
#: where dense steps take minutes (it wins for narrow noise, and is far slower for wide noise: measured); on maps,
#: where the support is small, much earlier.
MAX_DENSE_WORK, MAX_DENSE_WORK_ON_MAPS = 30_000_000_000, 50_000_000

#: The same for projective response, whose likelihood bends nearly alike in all directions, so that gradients need
#: few steps.
MAX_DENSE_WORK_ON_POINTS = 200_000_000


class Likelihood:
    """The likelihood of a problem as a function of the distribution of truths, and the solvers for it.

    Parameters
    ----------
    problem
        What was reported, by which mechanisms.
    tolerance
        The gap at which solvers stop; by default a thousandth of a unit of log-likelihood in all, within [1e-12, 1e-8].
    """

    def __init__(self, problem: Problem, tolerance: float | None = None) -> None:
        self.problem = problem
        self.tolerance = interior.tolerance_for(problem.people) if tolerance is None else tolerance

    @cached_property
    def model(self) -> NewtonModel | StructuredModel:
        """The products, and the linear algebra if there is any, that fit the mechanism."""
        problem = self.problem
        if len(problem.groups) == 1:
            group = problem.groups[0]
            if group.alpha is not None:
                return GeometricModel(group.alpha, group.whole() / problem.people)
            if group.kernel.response is not None:
                return ResponseModel(*group.kernel.response, group.whole() / problem.people)
        narrow = banded.fitting(problem)
        if narrow is not None:
            return narrow
        reports = sum(len(group.reports) for group in problem.groups)
        work = problem.size * reports * min(problem.size, reports)
        if all(group.kernel.reports_are_sets for group in problem.groups):
            limit = MAX_DENSE_WORK_ON_POINTS
        elif problem.truths.as_grid is not None and all(group.kernel.stays_near for group in problem.groups):
            limit = MAX_DENSE_WORK_ON_MAPS
        else:
            limit = MAX_DENSE_WORK
        structured = all(group.kernel.has_structure for group in problem.groups)
        return StructuredModel(problem) if structured and work > limit else self._dense()

    def _dense(self) -> DenseModel:
        return DenseModel(self.problem.block(), self.problem.counts / self.problem.people)

    def of_part(self, counts: IntArray) -> Likelihood:
        """Return the likelihood of some of the reports: counts in the order of the model's q."""
        model, groups = self.model, self.problem.groups
        seen = counts[groups[0].reports] if isinstance(model, GeometricModel | ResponseModel) else counts
        return Likelihood(self.problem.with_counts(seen), self.tolerance)

    def mean_log(self, p: FloatArray) -> float:
        """Return the model's log-likelihood per report, up to a constant that depends on the reports alone."""
        seen = self.model.q > 0  # what nobody reported adds nothing, also where it is impossible
        with np.errstate(divide="ignore"):
            return float(self.model.q[seen] @ np.log(self.model.forward(p)[seen]))

    def gap(self, p: FloatArray) -> float:
        """Return a bound on what is missing from the largest log-likelihood per report."""
        return gap_of(self.model, p)

    def maximise(self, costs: FloatArray | None = None, start: FloatArray | None = None) -> SolverResult:
        """Return the maximum, or the point of the profile that belongs to these costs (:mod:`.interior`).

        A ``start`` near the answer saves time on large maps; interior points gain nothing by it (measured).
        """
        places = self.model.width**2 if isinstance(self.model, BandedModel) else self.problem.places
        with single_threaded_blas(places):
            return self._maximise(costs, start)

    def _maximise(self, costs: FloatArray | None, start: FloatArray | None) -> SolverResult:
        model = self.model
        if isinstance(model, StructuredModel):
            if all(group.kernel.reports_are_sets for group in self.problem.groups):
                solution = gradients.solve(model, self.tolerance, costs, self.inverse() if start is None else start)
            else:
                solution = large.solve(model, self.tolerance, costs, start)
            if solution.gap <= self.tolerance or self.problem.places > large.MAX_WHOLE_ENTRIES:
                return solution
            return interior.solve(self._dense(), self.tolerance, costs)
        solution = interior.solve(model, self.tolerance, costs)
        if solution.gap > self.tolerance and isinstance(model, DenseModel) and model.by_reports:
            model.by_reports = False
            solution = min(solution, interior.solve(model, self.tolerance, costs), key=lambda one: one.gap)
        return solution

    def maximum(self) -> SolverResult:
        """Return the maximum likelihood estimate, in closed form where there is one; its gap is computed afresh."""
        known = self._closed_form()
        if known is not None:
            u = self.model.forward(known)
            gap = gap_of(self.model, known, u)
            if gap <= self.tolerance:
                return SolverResult(known, gap, ((float(self.model.q @ np.log(u)), gap),))
        solution = self.maximise()
        return SolverResult(*self._zero_tiny_entries(solution), solution.trace)

    def stopped_early(self, solution: SolverResult) -> bool:
        """Return whether a solution has the largest number of steps, where each takes long."""
        return isinstance(self.model, StructuredModel) and solution.iterations >= gradients.most_steps(self.model)

    def _zero_tiny_entries(self, solution: SolverResult) -> tuple[FloatArray, float]:
        """Return the distribution with tiny entries of interior points set to zero if the gap allows, and its gap."""
        p = solution.p
        cleaned = np.where(p < self.tolerance, 0.0, p)
        cleaned /= cleaned.sum()
        u = self.model.forward(cleaned)
        if u[self.model.q > 0].min() > 0:
            gap = gap_of(self.model, cleaned, np.maximum(u, 1e-300))
            if gap <= self.tolerance:
                return cleaned, gap
        return p, solution.gap

    def _closed_form(self) -> FloatArray | None:
        model = self.model
        if isinstance(model, ResponseModel):
            return response.maximum(model.q, model.other / model.gain)
        if isinstance(model, BandedModel | StructuredModel):
            return None  # noise that has an inverse without negatives is hardly any: steps are cheaper than to try
        if isinstance(model, DenseModel) and model.A.shape != (self.problem.size, self.problem.groups[0].outputs.size):
            return None  # a report that did not occur has chance 0 under the inverse, and hardly ever under a truth
        inverse = self.inverse()
        return inverse / inverse.sum() if inverse is not None and inverse.min() >= 0 else None

    def inverse(self) -> FloatArray | None:
        """Return q A^-1, the maximum if no entry is negative ([F] proposition 3), or None without an inverse."""
        model, group = self.model, self.problem.groups[0]
        if len(self.problem.groups) == 1 and group.kernel.hit_chances is not None:
            hit, other = group.kernel.hit_chances
            hits = group.kernel.hit_shares(group.whole() / group.people)
            return np.asarray((hits - other) / (hit - other))
        if len(self.problem.groups) > 1 or group.outputs.size != group.size:
            return None
        if isinstance(model, GeometricModel):
            return model.unfold(model.q / model.factors)
        if isinstance(model, ResponseModel):
            return np.asarray((model.q - model.other) / model.gain)
        if isinstance(model, StructuredModel | BandedModel) and group.size**3 > MAX_DENSE_WORK:
            return None
        with single_threaded_blas(self.problem.places):
            try:
                if isinstance(model, DenseModel) and model.A.shape == (group.size, group.size):
                    return model.unfold(model.q)
                everything = np.arange(group.size)
                return left_solve(group.kernel.block(everything, everything), group.whole() / group.people)
            except NumericalFailure:
                return None
