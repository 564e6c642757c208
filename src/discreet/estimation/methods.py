"""``dc.estimate``: the distribution of true values behind noisy reports."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInput, Unsupported, arg, named
from ..exact.arrays import FloatArray
from ..exact.integers import positive_integer
from ..spaces import Counts
from ..utility import read_prior
from ..wording import listed
from . import automatic
from .algebra import NumericalFailure, single_threaded_blas
from .interior import SolverResult
from .method_table import METHODS
from .model.problem import Problem, read
from .result import Estimate, finish, of_problem
from .solvers import em, smoothing
from .solvers.likelihood import Likelihood

Method = Literal["auto", "empirical-bayes", "mle", "smoothed", "ibu", "inverse"]

#: Number of updates that [F] makes.
PAPER_ITERATIONS = 5000


def estimate(
    counts: Any = None,
    mechanism: Any = None,
    *,
    reports: Any = None,
    over: Counts | None = None,
    method: Method = "auto",
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
        ``"auto"``: for counts a distribution as smooth as the reports allow (``"empirical-bayes"``), for places
        ``"smoothed"``, for labels ``"mle"``; what was chosen and why is the first of the notes. ``"mle"``: the maximum
        likelihood estimate, with a certified gap; for a smooth population it is a comb. ``"smoothed"``: updates stopped
        early, after a number of them that cross-validation chooses.
        ``"ibu"``: a fixed number of iterative Bayesian updates, as in the papers; at times far from the maximum, as
        the gap shows. ``"inverse"``: q A^-1, unbiased, with negative entries.
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
    """
    if method not in METHODS:
        raise InvalidInput.must_be("method", f"one of {', '.join(map(repr, METHODS))}", method)
    for name, value in (("iterations", iterations), ("start", start), ("seed", seed)):
        if value is not None and name not in METHODS[method].takes:
            owners = listed([arg("method", one) for one, info in METHODS.items() if name in info.takes], "or")
            raise InvalidInput(f"{named(name)} goes with {owners}. Leave it out, or choose that method.")
    if tolerance is not None and not (isinstance(tolerance, float) and 0 < tolerance < 1):
        raise InvalidInput.must_be("tolerance", "a float between 0 and 1", tolerance, meaning="the gap to stop at")
    problem = read(counts, mechanism, reports, over)
    fold_seed = 0 if seed is None else _seed(seed)
    times = PAPER_ITERATIONS if iterations is None else positive_integer(iterations, "iterations")
    begin = _full_support(start, problem.size)
    runs: dict[str, Callable[[], Estimate]] = {
        "auto": lambda: automatic.estimate(problem, tolerance, fold_seed),
        "empirical-bayes": lambda: automatic.smooth_counts(problem, tolerance),
        "mle": lambda: of_problem(problem, tolerance),
        "smoothed": lambda: _stop_early(problem, tolerance, fold_seed),
        "ibu": lambda: _updated(Likelihood(problem, tolerance), times, begin),
        "inverse": lambda: _inverse(Likelihood(problem, tolerance)),
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
