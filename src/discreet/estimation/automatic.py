"""The default estimate: which method serves which values, with the reason in one sentence."""

from __future__ import annotations

from dataclasses import replace

from ..errors import Unsupported, arg
from .algebra import single_threaded_blas
from .interior import SolverResult
from .model.problem import Problem
from .result import Estimate, finish, of_maximum, of_problem
from .solvers import curves, distance, evidence, smoothing
from .solvers.likelihood import Likelihood

#: Least sum, over the cells of a map, of their squared signal-to-noise ratios, at which the closed-form maximum under
#: randomised response serves better than early stopping (measured on 10 x 10 to 30 x 30 cells).
LEAST_SIGNAL = 20.0

#: Range of numbers of values that are smoothed: fewer are hardly a curve, and bins of more would take long.
MIN_SMOOTHED_VALUES, MAX_SMOOTHED_VALUES = curves.MIN_SMOOTHED_VALUES, 50_000

#: Maximum number of values without an order whose updates are stopped early where a graph is too large for curves.
MAX_STOPPED_VALUES = 1_000


def estimate(problem: Problem, tolerance: float | None, seed: int) -> Estimate:
    """Return the estimate by the method that serves these values best."""
    size = problem.size
    if problem.truths.as_grid is not None:
        if _signal(problem) >= LEAST_SIGNAL:
            return maximum(problem, tolerance, "Randomised response keeps cells apart, and the reports suffice.")
        if problem.people >= smoothing.FOLDS:
            return stop_early(Likelihood(problem, tolerance), seed)
        return maximum(problem, tolerance, "There are too few reports to smooth the map.")
    if not problem.truths.has_lengths or any(one.kernel.reports_are_sets for one in problem.groups):
        # projective response is for names, also where these are numbered
        return maximum(problem, tolerance, "These values have no order, so there is nothing to smooth.")
    if size < MIN_SMOOTHED_VALUES:
        return maximum(problem, tolerance, f"With {size} values there is nothing to smooth.")
    if not problem.truths.has_numbers and curves.MAX_GRAPH_VALUES < size <= MAX_STOPPED_VALUES:
        if problem.people >= smoothing.FOLDS:
            return stop_early(Likelihood(problem, tolerance), seed)
        return maximum(problem, tolerance, "There are too few reports to smooth.")
    if size > (MAX_SMOOTHED_VALUES if problem.truths.has_numbers else curves.MAX_GRAPH_VALUES):
        return maximum(problem, tolerance, f"With {size:,} values, smoothing would take long.")
    return smooth_values(problem, tolerance)


def _signal(problem: Problem) -> float:
    """Return N gain^2 under randomised response that keeps the truth with probability gain more than any other value.

    The number of reports of a cell with share p has mean N (other + gain p) and about that variance. So the squared
    signal-to-noise ratios (N gain p)^2 / (N (other + gain p)) add up to at least N gain^2, reached by equal shares.
    Under other mechanisms, and for several groups, 0.
    """
    response = problem.groups[0].kernel.response if len(problem.groups) == 1 else None
    return 0.0 if response is None else problem.people * response[1] ** 2


def smooth_values(problem: Problem, tolerance: float | None) -> Estimate:
    """Return the empirical Bayes estimate, or the maximum of the likelihood if chance does not explain the distance.

    Raises
    ------
    Unsupported
        If no values are nearer to each other than others, or if they are too few or too many.
    NumericalFailure
        If no prior could be worked out in double precision.
    """
    truths = problem.truths
    if not truths.has_numbers and not curves.has_graph(truths):
        raise Unsupported(
            f"empirical Bayes smooths numbers, and up to {curves.MAX_GRAPH_VALUES} values with distances other than "
            f"cells of a map; these are {problem.size:,} {truths.noun}s. Use {arg('method', 'auto')}, which chooses "
            "what serves them."
        )
    if not MIN_SMOOTHED_VALUES <= problem.size <= MAX_SMOOTHED_VALUES:
        raise Unsupported(
            f"empirical Bayes smooths {MIN_SMOOTHED_VALUES} to {MAX_SMOOTHED_VALUES:,} values; these are "
            f"{problem.size:,} {truths.noun}s. Use {arg('method', 'auto')}, which chooses what serves them."
        )
    likelihood = Likelihood(problem, tolerance)
    with single_threaded_blas(evidence.MAX_BINS**2):
        smoothed = evidence.smooth(problem)
    top = likelihood.maximum()
    how_far = distance.measure(likelihood, top, smoothed.p)
    if not how_far.explained:
        why = (
            f"No smooth distribution fits the reports: {how_far.surveys} surveys "
            "simulated from the best one are all nearer to their maximum."
        )
        made = _with_reason(of_maximum(likelihood, top), why)
        return replace(made, notes=(*made.notes, *smoothed.notes[1:]), distance=how_far)
    gap = distance.lacking(likelihood, top, smoothed.p)
    solution = SolverResult(smoothed.p, gap, ((likelihood.mean_log(smoothed.p), gap),))
    made = finish(likelihood, solution, "empirical-bayes", smoothed.notes)
    return replace(made, distance=how_far, _maximum=top)


def stop_early(likelihood: Likelihood, seed: int) -> Estimate:
    """Return the distribution after the number of updates that cross-validation chooses."""
    with single_threaded_blas(likelihood.problem.places):
        solution, note = smoothing.choose(likelihood, seed)
    return finish(likelihood, solution, "smoothed", (note,))


def maximum(problem: Problem, tolerance: float | None, why: str) -> Estimate:
    """Return the maximum likelihood estimate, with a first note on why it is the one to show."""
    return _with_reason(of_problem(problem, tolerance), why)


def _with_reason(estimate: Estimate, why: str) -> Estimate:
    return replace(estimate, notes=(f"{why} This is the maximum likelihood estimate.", *estimate.notes))
