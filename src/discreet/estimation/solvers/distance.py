"""The distance of a smoothed estimate from the maximum of the likelihood, and whether chance explains that.

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
from ..interior import SolverResult
from .likelihood import Likelihood

#: Maximum number of surveys drawn, and their seed. An estimate that is farther off than in all of them does not fit.
SURVEYS, SEED = 99, 0


@dataclass(frozen=True)
class Distance:
    """The distance of an estimate from the maximum of the likelihood.

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
        """True if chance explains the distance."""
        return self.as_far > 0

    def __str__(self) -> str:
        if self.explained:
            which = "the first survey" if self.surveys == 1 else f"one of {self.surveys} surveys"
            explained = f"chance explains it: {which} drawn from the estimate is as far from its own maximum"
        else:
            explained = f"none of {plural(self.surveys, 'survey')} drawn from the estimate is as far from its maximum"
        return f"Twice the log-likelihood is at most {rounded(self.deviance, 3)} below the maximum; {explained}."

    def values(self) -> dict[str, Json]:
        """Return the numbers as plain JSON values."""
        return {
            "deviance": self.deviance,
            "surveys": self.surveys,
            "as_far": self.as_far,
            "explained": self.explained,
        }


def lacking(likelihood: Likelihood, top: SolverResult, p: FloatArray) -> float:
    """Return a bound on the log-likelihood per report that p lacks from the maximum."""
    problem = likelihood.problem
    difference = (problem.log_likelihood(top.p) - problem.log_likelihood(p)) / problem.people
    return max(0.0, difference) + top.gap


def measure(likelihood: Likelihood, top: SolverResult, p: FloatArray) -> Distance:
    """Measure how far p is from the maximum ``top``."""
    problem = likelihood.problem
    deviance = 2 * problem.people * lacking(likelihood, top, p)
    rng = np.random.default_rng(SEED)
    for number in range(1, SURVEYS + 1):
        survey = problem.redrawn(p, rng)
        best = Likelihood(survey, likelihood.tolerance).maximum()
        if 2 * (survey.log_likelihood(best.p) - survey.log_likelihood(p)) >= deviance:
            return Distance(deviance, number, 1)
    return Distance(deviance, SURVEYS, 0)
