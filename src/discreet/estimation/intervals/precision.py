"""How well one report determines a statistic: the variance of the estimate, before any report is in."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from ...exact.arrays import FloatArray
from ...mechanism import Mechanism
from ..model.problem import read
from .moments import Unbiased


class Precision:
    """The variance of estimates from the reports of a mechanism, for truths with a given distribution.

    With A the mechanism, p the distribution and u = p A that of the reports, the Fisher information of one report is
    ``J = A diag(1/u) A'``. No unbiased estimate of f.p from N reports has less variance than
    ``(f' J^-1 f - (f.p)^2) / N``. Weights g of the reports with ``A g = f`` reach it, where there is one such g or
    where they are the ones of least variance; :mod:`.moments` builds its intervals on them.

    Parameters
    ----------
    mechanism
        With finitely many true values and reports.
    distribution
        Of the truths.
    """

    def __init__(self, mechanism: Mechanism, distribution: FloatArray) -> None:
        self._mechanism, self._p = mechanism, distribution

    @cached_property
    def _unbiased(self) -> Unbiased:
        everything = np.ones(self._mechanism.outputs.size or 0, np.int64)
        return Unbiased(read(everything, self._mechanism, None, None), self._p)

    def variance(self, f: FloatArray) -> float:
        """Return the variance of the estimate of f.p, times the number of reports; infinite if they leave it open.

        >>> from discreet import randomized_response
        >>> coin = Precision(randomized_response(["yes", "no"], alpha="1/3"), np.array([0.5, 0.5]))
        >>> round(coin.variance(np.array([1.0, 0.0])), 6)                 # (1/4) / (3/4 - 1/4)^2
        1.0
        """
        cells = self._unbiased.cells
        alone = None if cells is None else cells.outcomes(f)
        if alone is not None:
            _, weights, chances = alone
        else:
            unbiased, chances = self._unbiased.weights(f), self._unbiased.chances
            if unbiased is None:
                return math.inf
            weights = unbiased
        mean = float(chances @ weights)
        return float(chances @ (weights - mean) ** 2)

    def sampling_variance(self, f: FloatArray) -> float:
        """Return the variance without any noise, because people are drawn at random, times their number."""
        return float(self._p @ (f - float(self._p @ f)) ** 2)
