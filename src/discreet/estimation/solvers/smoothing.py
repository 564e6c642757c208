"""Early stopping: how many updates to make, chosen by cross-validation.

The maximum of the likelihood puts spikes into a smooth population; updates that begin at the uniform distribution reach
the smooth part first. Five times a fifth of the reports is held back, and the number of updates that makes the reports
held back most likely, on average, is the one to use on all. The maximum itself is among the candidates, so that sparse
populations, where it is best, are served as well (on maps of up to 20,000 cells; on larger ones it takes minutes).

On maps updates have momentum, and a large map with many reports is served by one fold: there are reports enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...exact.arrays import FloatArray, IntArray
from ...spaces import Space
from ..interior import Products, SolverResult
from . import em
from .likelihood import Likelihood

FOLDS = 5

#: Number of reports from which on NumPy cannot deal folds of an exact size.
MAX_EXACTLY_DEALT = 10**9


@dataclass(frozen=True)
class Search:
    """The numbers of updates that are tried, and the kind of updates.

    Attributes
    ----------
    growth, most
        Candidates grow by this factor, up to this many updates.
    patience
        Number of candidates in a row, all worse than the best, after which the search ends.
    path, run
        The distributions after growing numbers of updates; the solution after a fixed number.
    noun
        What the updates are called.
    """

    growth: float
    most: int
    patience: int
    path: Callable[[Products, list[int]], Iterator[FloatArray]]
    run: Callable[[Products, int], SolverResult]
    noun: str

    def candidates(self) -> list[int]:
        """Return the numbers of updates to try: 1, 2, 3, 4, 6, 8, ... for a growth of 1.3."""
        grid, value = [1], 1.0
        while grid[-1] < self.most:
            value *= self.growth
            if round(value) > grid[-1]:
                grid.append(min(round(value), self.most))
        return grid


#: Search by plain updates, for values in a line and for labels.
PLAIN_SEARCH = Search(1.3, 20_000, 8, em.path, em.iterate, "updates")

#: Searches by updates with momentum, for maps: as near the truth as plain updates (a test compares them), with far
#: fewer of them. A step takes long on large maps.
MAP_SEARCH = Search(1.15, 600, 4, em.accelerated_path, em.accelerate, "updates with momentum")
LARGE_MAP_SEARCH = replace(MAP_SEARCH, most=150)

#: Number of cells above which a map is large, and number of reports from which on one fold is enough there.
LARGE_MAP_CELLS, ONE_FOLD_REPORTS = 20_000, 100_000


def is_large_map(space: Space) -> bool:
    """Return whether this is a map with more cells than the maximum of the likelihood is worked out for."""
    return space.as_grid is not None and space.as_grid.size > LARGE_MAP_CELLS


def search_for(space: Space) -> Search:
    """Return the search for the number of updates that suits these values."""
    if is_large_map(space):
        return LARGE_MAP_SEARCH
    return PLAIN_SEARCH if space.as_grid is None else MAP_SEARCH


#: Maximum number of pairs of halves that are compared, and of values that are updated in all (one pair at least).
MAX_HALF_PAIRS, MAX_UPDATED_VALUES = 16, 8_000_000


class _Part:
    """The model with other shares: some of the reports."""

    def __init__(self, model: Products, q: FloatArray) -> None:
        self.q, self.size = q, model.size
        self.forward, self.backward = model.forward, model.backward


def deal(counts: IntArray, seed: int) -> list[IntArray]:
    """Deal the reports at random into five equal folds; each by itself if they are too many for NumPy."""
    rng = np.random.default_rng(seed)
    if counts.sum() >= MAX_EXACTLY_DEALT:
        return list(rng.multinomial(counts, np.full(FOLDS, 1 / FOLDS)).T)
    rest, folds = counts.copy(), []
    for left in range(FOLDS, 1, -1):
        size = int(rest.sum()) // left
        fold = rng.multivariate_hypergeometric(rest, size, method="marginals")
        folds.append(fold)
        rest = rest - fold
    return [*folds, rest]


def choose(likelihood: Likelihood, seed: int) -> tuple[SolverResult, str]:
    """Return the distribution after the best number of updates, and a sentence with that number."""
    model, problem = likelihood.model, likelihood.problem
    search, large = search_for(problem.truths), is_large_map(problem.truths)
    counts = np.rint(model.q * problem.people).astype(np.int64)
    folds = deal(counts, seed)[: 1 if large and problem.people >= ONE_FOLD_REPORTS else FOLDS]
    parts = [_Part(model, (counts - fold) / max(1, (counts - fold).sum())) for fold in folds]
    grid = search.candidates()
    paths = [search.path(part, grid) for part in parts]
    best, score, worse = 1, -math.inf, 0
    for times in grid:
        now = sum(_score(model, next(path), fold) for path, fold in zip(paths, folds, strict=True))
        worse = 0 if now > score else worse + 1
        if now > score:
            best, score = times, now
        if worse >= search.patience:
            break
    if worse < search.patience and not large:  # updates were still improving: perhaps their limit is better
        limits = [likelihood.of_part(counts - fold).maximum().p for fold in folds]
        if sum(_score(model, p, fold) for p, fold in zip(limits, folds, strict=True)) > score:
            return likelihood.maximum(), "Cross-validation chose the maximum likelihood estimate."
    return search.run(model, best), f"Cross-validation chose {best:,} {search.noun}."


def survey_differences(likelihood: Likelihood, updates: int) -> FloatArray:
    """Return differences between halves of the reports, in rows: how the estimate varies from survey to survey.

    The reports are dealt into two halves and each is estimated alone, with the same number of updates. Each half has
    twice the variance of the whole, so half of their difference has that of the whole. What smoothing blurs away is in
    both halves alike and does not show.

    Parameters
    ----------
    likelihood
        Of all reports.
    updates
        How many were made.
    """
    model, problem = likelihood.model, likelihood.problem
    counts = np.rint(model.q * problem.people).astype(np.int64)
    search = search_for(problem.truths)
    pairs = int(np.clip(MAX_UPDATED_VALUES // (2 * updates * problem.size), 1, MAX_HALF_PAIRS))
    rng = np.random.default_rng(0)
    differences = []
    for _ in range(pairs):
        half = rng.binomial(counts, 0.5)
        ends = [_estimate_part(model, search, part, updates) for part in (half, counts - half)]
        differences.append((ends[0] - ends[1]) / 2)
    return np.array(differences)


def _estimate_part(model: Products, search: Search, part: IntArray, updates: int) -> FloatArray:
    """Return the estimate from some of the reports; without any, the uniform distribution it begins with."""
    if not part.any():
        return np.full(model.size, 1 / model.size)
    return next(search.path(_Part(model, part / part.sum()), [updates]))


def _score(model: Products, p: FloatArray, fold: IntArray) -> float:
    seen = fold > 0
    # reports that the other folds make impossible say nothing about the number of updates: all numbers pay alike
    return float(fold[seen] @ np.log(np.maximum(model.forward(p)[seen], 1e-300)))
