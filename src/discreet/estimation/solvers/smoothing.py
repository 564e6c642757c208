"""Early stopping: how many updates to make, chosen by cross-validation.

The maximum of the likelihood puts spikes into a smooth population; updates that begin at the uniform distribution reach
the smooth part first. Five times a fifth of the reports is held back, and the number of updates that makes the reports
held back most likely, on average, is the one to use on all. The maximum itself is among the candidates, so that sparse
populations, where it is best, are served as well.
"""

from __future__ import annotations

import math

import numpy as np

from ...exact.arrays import FloatArray, IntArray
from ..interior import Products, Solution
from . import em
from .likelihood import Likelihood

FOLDS = 5

#: NumPy deals fewer reports than this into folds of an exact size.
MOST_DEALT = 10**9

#: Candidates grow by this factor up to this many updates.
GROWTH, MOST_UPDATES = 1.3, 20_000

#: Stop looking when so many candidates in a row were worse than the best.
PATIENCE = 8


class _Part:
    """The model with other shares: some of the reports."""

    def __init__(self, model: Products, q: FloatArray) -> None:
        self.q, self.size = q, model.size
        self.forward, self.backward = model.forward, model.backward


def candidates() -> list[int]:
    """Numbers of updates to try: 1, 2, 3, 4, 6, 8, ... up to 20,000."""
    grid, value = [1], 1.0
    while grid[-1] < MOST_UPDATES:
        value *= GROWTH
        if round(value) > grid[-1]:
            grid.append(min(round(value), MOST_UPDATES))
    return grid


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
    model = likelihood.model
    counts = np.rint(model.q * likelihood.problem.people).astype(np.int64)
    folds = deal(counts, seed)
    parts = [_Part(model, (counts - fold) / max(1, (counts - fold).sum())) for fold in folds]
    grid = candidates()
    paths = [em.path(part, grid) for part in parts]
    best, score, worse = 1, -math.inf, 0
    for times in grid:
        now = sum(_score(model, next(path), fold) for path, fold in zip(paths, folds, strict=True))
        worse = 0 if now > score else worse + 1
        if now > score:
            best, score = times, now
        if worse >= PATIENCE:
            break
    if worse < PATIENCE:  # updates were still improving: perhaps their limit is better
        limits = [likelihood.of_part(counts - fold).maximum().p for fold in folds]
        if sum(_score(model, p, fold) for p, fold in zip(limits, folds, strict=True)) > score:
            return likelihood.maximum(), "Cross-validation chose the maximum likelihood estimate."
    return em.iterate(model, best), f"Cross-validation chose {best:,} updates."


def _score(model: Products, p: FloatArray, fold: IntArray) -> float:
    seen = fold > 0
    # reports that the other folds make impossible say nothing about the number of updates: all numbers pay alike
    return float(fold[seen] @ np.log(np.maximum(model.forward(p)[seen], 1e-300)))
