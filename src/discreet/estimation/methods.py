"""``dc.estimate``: the distribution of true values behind noisy reports."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInput, Unsupported, arg, named
from ..exact.arrays import FloatArray, IntArray
from ..exact.integers import positive_integer
from ..spaces import Counts
from ..utility import read_prior
from ..wording import listed
from . import automatic
from .algebra import NumericalFailure, single_threaded_blas
from .interior import SolverResult
from .intervals.moments import Unbiased
from .method_table import METHODS, custom_name
from .model.problem import Problem, read
from .result import Estimate, finish, of_problem
from .solvers import em, ems, gmodel, smoothing, wavelets
from .solvers.likelihood import Likelihood

#: A named method.
Method = Literal["auto", "empirical-bayes", "mle", "smoothed", "ibu", "inverse", "ems", "g-model", "wavelet"]

#: A method of one's own: from the probabilities of the outputs (a row for each true value) and their counts to the
#: distribution of true values.
Estimator = Callable[[FloatArray, IntArray], ArrayLike]

#: Maximum number of entries of a matrix that a method of one's own, or the g-model, is given.
MAX_DENSE_ENTRIES = 50_000_000

#: Range of numbers of values that wavelets and splines are fitted to, and accuracy of a sum of probabilities.
MIN_CURVE_VALUES, MAX_WAVELET_VALUES, SUM_TOLERANCE = 8, 512, 1e-6

#: Number of updates that [F] makes.
PAPER_ITERATIONS = 5000


def estimate(
    counts: Any = None,
    mechanism: Any = None,
    *,
    reports: Any = None,
    over: Counts | None = None,
    method: Method | Estimator = "auto",
    tolerance: float | None = None,
    iterations: int | None = None,
    start: ArrayLike | None = None,
    seed: int | None = None,
) -> Estimate:
    """Estimate the distribution of true values from the reports that people's devices sent.

    Parameters
    ----------
    counts
        How often each output was reported, in the order of the mechanism's outputs; or a mapping from values to
        counts. Raw reports belong in ``reports``: as many of them as there are outputs look like counts, and are read
        as such; a note on the estimate warns of lists that could be either. For people who used different
        mechanisms, a list of pairs ``(counts, mechanism)`` instead of both arguments; the estimate then assumes that
        the choice says nothing about the value, and ``e.stratified`` and ``e.homogeneity()`` test this.
    mechanism
        The mechanism that made the reports; also an exact table, or a matrix whose rows are true values.
    reports
        Instead of counts, the raw reports: one for each person (or a list of pairs).
    over
        For unbounded mechanisms: the possible true values, ``Counts(n)``.
    method
        ``"auto"``: for counts and other values with distances a distribution as smooth as the reports allow
        (``"empirical-bayes"``), for maps ``"smoothed"``, for labels ``"mle"``; what was chosen and why is the first of
        the notes. ``"mle"``: the maximum likelihood estimate, with a certified gap; for a smooth population it is a
        comb. ``"smoothed"``: updates stopped early, after a number of them that cross-validation chooses.
        ``"ibu"``: a fixed number of iterative Bayesian updates, as in the papers; at times far from the maximum, as
        the gap shows. ``"inverse"``: q A^-1, unbiased, with negative entries. For comparison with the field: ``"ems"``
        (updates with averages; Li et al. 2020), ``"g-model"`` (Efron 2016, as in deconvolveR) and ``"wavelet"``
        (Donoho 1995).
        Or a function of your own: it takes the probabilities of the outputs (a row for each true value, a column for
        each output, or for each report that occurred where outputs have no end) and the counts of these outputs, and
        returns the probability of each true value. Intervals, the test of fit and reports work as for named methods.
    tolerance
        The gap to stop at; by default a thousandth of a unit of log-likelihood in all, between 1e-12 and 1e-8.
    iterations, start
        For ``"ibu"``: how many updates (5000 if not given, as in [F]), and a distribution without zeros to begin from.
    seed
        For ``"smoothed"`` and ``"auto"``: how the reports are dealt into five folds; 0 if not given.

    Notes
    -----
    With q the shares of the reports and A the mechanism, the estimate maximises ``sum_j q_j log (p A)_j``. Randomised
    response and inverses without negative entries are closed forms; truncated geometric noise takes a banded interior
    point method, O(n) a step; other mechanisms a dense one; large maps Fourier transforms and Newton steps on the
    support. Where two distributions give all reports the same chances, the reports cannot tell them apart: one of
    them is returned, and intervals are as wide as that.

    References
    ----------
    [F] definition 1, proposition 3; [A] section II. The closed form for randomised response is also in Pinzón,
    Palamidessi et al. (AAAI 2026, arXiv 2601.08603).

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.randomized_response(["never", "sometimes", "often"], epsilon=2)
    >>> e = dc.estimate({"never": 447, "sometimes": 311, "often": 242}, m)
    >>> e.distribution.round(2).tolist()
    [0.5, 0.3, 0.2]
    >>> e.gap < 1e-12
    True

    A method of one's own, here least squares:

    >>> def least_squares(matrix, counts):
    ...     p = np.linalg.lstsq(matrix.T, counts / counts.sum(), rcond=None)[0].clip(0)
    ...     return p / p.sum()
    >>> own = dc.estimate({"never": 447, "sometimes": 311, "often": 242}, m, method=least_squares)
    >>> own.method, own.distribution.round(2).tolist()
    ('custom:least_squares', [0.5, 0.3, 0.2])
    """
    if not callable(method) and method not in METHODS:
        named_methods = ", ".join(map(repr, METHODS))
        raise InvalidInput.must_be("method", f"one of {named_methods}, or a function", method)
    for name, value in (("iterations", iterations), ("start", start), ("seed", seed)):
        if value is not None and (callable(method) or name not in METHODS[method].takes):
            owners = listed([arg("method", one) for one, info in METHODS.items() if name in info.takes], "or")
            raise InvalidInput(f"{named(name)} goes with {owners}. Leave it out, or choose that method.")
    if tolerance is not None and not (isinstance(tolerance, float) and 0 < tolerance < 1):
        raise InvalidInput.must_be("tolerance", "a float between 0 and 1", tolerance, meaning="the gap to stop at")
    problem = read(counts, mechanism, reports, over)
    fold_seed = 0 if seed is None else _seed(seed)
    times = PAPER_ITERATIONS if iterations is None else positive_integer(iterations, "iterations")
    begin = _full_support(start, problem.size)
    if callable(method):
        return _by_function(problem, tolerance, method)
    runs: dict[str, Callable[[], Estimate]] = {
        "auto": lambda: automatic.estimate(problem, tolerance, fold_seed),
        "empirical-bayes": lambda: automatic.smooth_values(problem, tolerance),
        "mle": lambda: of_problem(problem, tolerance),
        "smoothed": lambda: _stop_early(problem, tolerance, fold_seed),
        "ibu": lambda: _updated(Likelihood(problem, tolerance), times, begin),
        "inverse": lambda: _inverse(Likelihood(problem, tolerance)),
        "ems": lambda: _averaged(problem, tolerance),
        "g-model": lambda: _spline(problem, tolerance),
        "wavelet": lambda: _wavelets(problem, tolerance),
    }
    try:
        return runs[method]()
    except NumericalFailure:
        why = f'The method "{method}" failed: double precision does not suffice for it.'
        return automatic.maximum(problem, tolerance, why)


def _updated(likelihood: Likelihood, times: int, start: FloatArray | None) -> Estimate:
    """Return the distribution after a fixed number of updates."""
    with single_threaded_blas(likelihood.problem.places):
        solution = em.iterate(likelihood.model, times, start)
    note = f"{times:,} updates did not reach the maximum of the likelihood; the gap bounds what is missing."
    return finish(likelihood, solution, "ibu", () if solution.gap <= likelihood.tolerance else (note,))


def _stop_early(problem: Problem, tolerance: float | None, seed: int) -> Estimate:
    """Return the distribution after the number of updates that cross-validation chooses."""
    if problem.people < smoothing.FOLDS:
        raise InvalidInput(
            f"cross-validation needs at least {smoothing.FOLDS} reports; got {problem.people}. Use "
            f"{arg('method', 'mle')}."
        )
    return automatic.stop_early(Likelihood(problem, tolerance), seed)


def _seed(seed: object) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput.must_be("seed", "a whole number that is not negative", seed)
    return int(seed)


def _full_support(start: ArrayLike | None, size: int) -> FloatArray | None:
    if start is None:
        return None
    distribution = read_prior(start, size)
    if distribution.min() <= 0:
        raise InvalidInput(
            f"start must have full support: updates never revive a zero, and value number {distribution.argmin()} has "
            "none.",
            "Mix it with a little of the uniform distribution.",
            argument="start",
        )
    return distribution


def _inverse(likelihood: Likelihood) -> Estimate:
    problem = likelihood.problem
    p = likelihood.inverse()
    if p is None or not np.isfinite(p).all():
        raise Unsupported(
            "there is no inverse: the method needs one mechanism with as many outputs as true values, and a matrix "
            f"that is not singular. Use {arg('method', 'mle')}, which needs neither."
        )
    negative = p < 0
    if not negative.any():
        gap = likelihood.gap(p / p.sum())
        return finish(likelihood, SolverResult(p, gap, ((likelihood.mean_log(p), gap),)), "inverse", ())
    note = (
        f"{int(negative.sum())} of the {problem.size} entries are negative and add up to {p[negative].sum():.4g}: this "
        "is not a distribution, though sums over many values are unbiased."
    )
    return finish(likelihood, SolverResult(p, math.nan, ((math.nan, math.nan),)), "inverse", (note,))


def _averaged(problem: Problem, tolerance: float | None) -> Estimate:
    """Return the distribution at which updates with averages of neighbours end."""
    if not ems.has_neighbours(problem.truths):
        raise Unsupported(f"these {problem.truths.noun}s have no neighbours to average. Use {arg('method', 'mle')}.")
    with single_threaded_blas(problem.places):
        return finish(*_solved(problem, tolerance, ems.solve), "ems", ())


def _spline(problem: Problem, tolerance: float | None) -> Estimate:
    """Return the distribution whose log is a natural spline."""
    if not problem.truths.is_line or problem.size < MIN_CURVE_VALUES or problem.places > MAX_DENSE_ENTRIES:
        raise Unsupported(
            f"the g-model fits at least {MIN_CURVE_VALUES} counts, and {MAX_DENSE_ENTRIES:,} probabilities of reports "
            f"at most. Use {arg('method', 'auto')}."
        )
    with single_threaded_blas(problem.places):
        return finish(*_solved(problem, tolerance, gmodel.solve), "g-model", ())


def _wavelets(problem: Problem, tolerance: float | None) -> Estimate:
    """Return the distribution of the wavelets that exceed their noise."""
    likelihood = Likelihood(problem, tolerance)
    if problem.truths.is_line and MIN_CURVE_VALUES <= problem.size <= MAX_WAVELET_VALUES:
        unbiased = Unbiased(problem, np.full(problem.size, 1 / problem.size))
        with single_threaded_blas(problem.places):
            rows = [unbiased.weights(row) for row in np.eye(problem.size)]
            if all(row is not None for row in rows):
                result = wavelets.solve(likelihood, np.array(rows), unbiased.shares)
                return finish(likelihood, result, "wavelet", ())
    raise Unsupported(
        f"wavelets need {MIN_CURVE_VALUES} to {MAX_WAVELET_VALUES} counts, and reports that determine them (finitely "
        f"many outputs, a matrix that is not singular). Use {arg('method', 'auto')}."
    )


def _solved(
    problem: Problem, tolerance: float | None, solve: Callable[[Likelihood], SolverResult]
) -> tuple[Likelihood, SolverResult]:
    likelihood = Likelihood(problem, tolerance)
    return likelihood, solve(likelihood)


def _by_function(problem: Problem, tolerance: float | None, function: Estimator) -> Estimate:
    """Return the estimate by a method of one's own, after checking that it is one."""
    entries = problem.size * sum(group.outputs.size or len(group.reports) for group in problem.groups)
    if entries > MAX_DENSE_ENTRIES:
        raise Unsupported(
            f"a function as method is given all {entries:,} probabilities; at most {MAX_DENSE_ENTRIES:,} are written "
            f"out. Use {arg('method', 'auto')}."
        )
    matrix, counts = problem.all_outputs()
    p = np.array(function(matrix, counts), dtype=float)
    if p.shape != (problem.size,) or not np.isfinite(p).all() or abs(p.sum() - 1) > SUM_TOLERANCE:
        raise InvalidInput(
            f"the function given as method must return {problem.size} finite numbers that add up to 1; it returned an "
            f"array of shape {p.shape} with the sum {p.sum():.6g}.",
            argument="method",
        )
    likelihood = Likelihood(problem, tolerance)
    gap, value, notes = math.nan, math.nan, tuple[str, ...]()
    if p.min() >= 0 and np.isfinite(value_here := likelihood.mean_log(p)):
        gap, value = likelihood.gap(p), value_here
    else:
        notes = ("Some entries are negative, or some report is impossible under this estimate: it has no likelihood.",)
    return finish(likelihood, SolverResult(p, gap, ((value, gap),)), custom_name(function), notes)
