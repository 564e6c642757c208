"""How far a smoothed estimate is from the maximum of the likelihood, and whether chance explains it.

The distance of a distribution p is ``D = 2 N (L* - L(p))``, twice the log-likelihood that it lacks. The maximum L* is
not known, but bounded: by that of the maximum likelihood estimate and its certified gap. Chance explains the distance
where surveys drawn from p, whose truth *is* p, leave p as far from their own maximum. They are drawn until one does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...exact.arrays import FloatArray
from ...report import Json
from ...wording import plural, rounded
from ..interior import Solution
from .likelihood import Likelihood

#: How many surveys are drawn at most. Where p is farther off than in all of them, it does not fit.
SURVEYS, SEED = 99, 0


@dataclass(frozen=True)
class Distance:
    """How far an estimate is from the maximum of the likelihood.

    Attributes
    ----------
    deviance
        Twice the log-likelihood that it lacks, at most.
    surveys
        How many surveys were drawn from the estimate.
    as_far
        How many of them are as far from their own maximum: one, or none.

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.geometric(30, epsilon=1)
    >>> e = dc.estimate(reports=m.simulate([3, 4, 5, 5, 6, 7, 8] * 300, seed=1), mechanism=m)
    >>> e.distance.explained
    True
    """

    deviance: float
    surveys: int
    as_far: int

    @property
    def explained(self) -> bool:
        """Whether chance explains the distance."""
        return self.as_far > 0

    def __str__(self) -> str:
        if self.explained:
            drawn = "the first survey" if self.surveys == 1 else f"one of {self.surveys} surveys"
            explained = f"chance explains it: {drawn} drawn from the estimate is as far from its own maximum"
        else:
            explained = f"none of {plural(self.surveys, 'survey')} drawn from the estimate is as far from its maximum"
        return f"Twice the log-likelihood is at most {rounded(self.deviance, 3)} below the maximum; {explained}."

    def values(self) -> dict[str, Json]:
        """The numbers as plain JSON values."""
        return {
            "deviance": self.deviance,
            "surveys": self.surveys,
            "as_far": self.as_far,
            "explained": self.explained,
        }


def lacking(likelihood: Likelihood, top: Solution, p: FloatArray) -> float:
    """The log-likelihood per report that p lacks from the maximum, at most."""
    problem = likelihood.problem
    found = (problem.log_likelihood(top.p) - problem.log_likelihood(p)) / problem.people
    return max(0.0, found) + top.gap


def measure(likelihood: Likelihood, top: Solution, p: FloatArray) -> Distance:
    """How far p is from the maximum, which ``top`` is."""
    problem = likelihood.problem
    deviance = 2 * problem.people * lacking(likelihood, top, p)
    rng = np.random.default_rng(SEED)
    for drawn in range(1, SURVEYS + 1):
        survey = problem.redrawn(p, rng)
        best = Likelihood(survey, likelihood.tolerance).maximum()
        if 2 * (survey.log_likelihood(best.p) - survey.log_likelihood(p)) >= deviance:
            return Distance(deviance, drawn, 1)
    return Distance(deviance, SURVEYS, 0)
