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
from ..interior import Products, Solution
from . import em
from .likelihood import Likelihood

FOLDS = 5

#: NumPy deals fewer reports than this into folds of an exact size.
MOST_DEALT = 10**9


@dataclass(frozen=True)
class Search:
    """Which numbers of updates are tried, and how the updates are made.

    Attributes
    ----------
    growth, most
        Candidates grow by this factor, up to this many updates.
    patience
        Looking ends when so many candidates in a row were worse than the best.
    path, run
        The distributions after growing numbers of updates; the solution after a fixed number.
    noun
        What the updates are called.
    """

    growth: float
    most: int
    patience: int
    path: Callable[[Products, list[int]], Iterator[FloatArray]]
    run: Callable[[Products, int], Solution]
    noun: str

    def candidates(self) -> list[int]:
        """Numbers of updates to try: 1, 2, 3, 4, 6, 8, ... for a growth of 1.3."""
        grid, value = [1], 1.0
        while grid[-1] < self.most:
            value *= self.growth
            if round(value) > grid[-1]:
                grid.append(min(round(value), self.most))
        return grid


#: Plain updates for values in a line and for labels.
PLAIN = Search(1.3, 20_000, 8, em.path, em.iterate, "updates")

#: On maps, momentum: as near the truth as plain updates (a test compares them), with far fewer of them. A step takes
#: long on large maps.
MAPS = Search(1.15, 600, 4, em.accelerated_path, em.accelerate, "updates with momentum")
LARGE_MAPS = replace(MAPS, most=150)

#: Maps with more cells than this are large; from so many reports on, one fold of them says enough there.
LARGE_MAP, MANY_REPORTS = 20_000, 100_000


def is_large_map(space: Space) -> bool:
    """Whether this is a map of so many cells that the maximum of the likelihood takes minutes."""
    return space.as_grid is not None and space.as_grid.size > LARGE_MAP


def search_for(space: Space) -> Search:
    """How the number of updates is looked for."""
    if is_large_map(space):
        return LARGE_MAPS
    return PLAIN if space.as_grid is None else MAPS


#: Differences of halves are found from at most so many pairs, and updates of values in all; from one pair at least.
MOST_PAIRS, MOST_VALUES_UPDATED = 16, 8_000_000


class _Part:
    """The model with other shares: some of the reports."""

    def __init__(self, model: Products, q: FloatArray) -> None:
        self.q, self.size = q, model.size
        self.forward, self.backward = model.forward, model.backward


def deal(counts: IntArray, seed: int) -> list[IntArray]:
    """The reports dealt at random into five equal folds; so many that NumPy cannot, each by itself."""
    rng = np.random.default_rng(seed)
    if counts.sum() >= MOST_DEALT:
        return list(rng.multinomial(counts, np.full(FOLDS, 1 / FOLDS)).T)
    rest, folds = counts.copy(), []
    for left in range(FOLDS, 1, -1):
        size = int(rest.sum()) // left
        fold = rng.multivariate_hypergeometric(rest, size, method="marginals")
        folds.append(fold)
        rest = rest - fold
    return [*folds, rest]


def choose(likelihood: Likelihood, seed: int) -> tuple[Solution, str]:
    """The distribution after the best number of updates, and a sentence that says which number."""
    model, problem = likelihood.model, likelihood.problem
    search, large = search_for(problem.truths), is_large_map(problem.truths)
    counts = np.rint(model.q * problem.people).astype(np.int64)
    folds = deal(counts, seed)[: 1 if large and problem.people >= MANY_REPORTS else FOLDS]
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


def survey_differences(likelihood: Likelihood, updates: int, seed: int = 0) -> FloatArray:
    """How the estimate varies from survey to survey: rows of differences with its variance at every value.

    The reports are dealt into two halves and each is estimated alone, with the same number of updates. Each half has
    twice the variance of the whole, so half of their difference has that of the whole. What smoothing blurs away is in
    both halves alike and does not show.

    Parameters
    ----------
    likelihood
        Of all reports.
    updates
        How many were made.
    seed
        Where the dealing begins.
    """
    model, problem = likelihood.model, likelihood.problem
    counts = np.rint(model.q * problem.people).astype(np.int64)
    search = search_for(problem.truths)
    pairs = int(np.clip(MOST_VALUES_UPDATED // (2 * updates * problem.size), 1, MOST_PAIRS))
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(pairs):
        half = rng.binomial(counts, 0.5)
        ends = [_estimate_part(model, search, part, updates) for part in (half, counts - half)]
        found.append((ends[0] - ends[1]) / 2)
    return np.array(found)


def _estimate_part(model: Products, search: Search, part: IntArray, updates: int) -> FloatArray:
    """Return the estimate from some of the reports; where there are none, the uniform distribution it begins with."""
    if not part.any():
        return np.full(model.size, 1 / model.size)
    return next(search.path(_Part(model, part / part.sum()), [updates]))


def _score(model: Products, p: FloatArray, fold: IntArray) -> float:
    seen = fold > 0
    # reports that the other folds make impossible say nothing about the number of updates: all numbers pay alike
    return float(fold[seen] @ np.log(np.maximum(model.forward(p)[seen], 1e-300)))
