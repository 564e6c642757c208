"""The test of whether the reports look like what the mechanism makes of the estimate.

The maximum of the likelihood is a maximum under any mechanism, also under one that did not make the reports; how far it
leaves the reports behind tells. With q the shares of the reports and u their chances under the estimate, the statistic
is ``G = 2 N sum_j q_j log(q_j / u_j)``. The estimate fits its own sample better than the population's distribution
does, so surveys drawn from the estimate, *without* estimating again, have larger G: a test by them raises the alarm
too rarely rather than too often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exact.arrays import FloatArray
from ..report import Json, Prose, Report, Result, Section, Terms, stamped
from ..wording import rounded
from .model.problem import Problem

#: Number of surveys simulated where the statistic is remarkable (an alarm needs all of them to be nearer), and their
#: seed.
SURVEYS, SEED = 99, 0

#: Number of outputs above which surveys take long, and number of surveys as far off after which no more are
#: simulated there: their share is then the p-value (Besag and Clifford 1991).
MANY_OUTPUTS, ENOUGH_AS_FAR = 20_000, 5


@dataclass(frozen=True)
class Fit(Result):
    """The test of whether the reports look like what the mechanism makes of the estimate.

    Attributes
    ----------
    statistic
        Twice the log-likelihood that the very shares of the reports have over the estimate.
    expected
        About what it is for many reports of each output: the number of outputs that occurred, less the groups.
    p_value
        How often surveys drawn from the estimate are as far from it, at most; 1 where the statistic is so small that
        none were drawn.

    Examples
    --------
    >>> import discreet as dc
    >>> noise, response = dc.geometric(9, epsilon=1), dc.randomized_response(10, epsilon=1)
    >>> reports = noise.simulate([2] * 5000, seed=1)
    >>> right, wrong = (dc.estimate(reports=reports, mechanism=m).fit for m in (noise, response))
    >>> right.plausible, wrong.plausible
    (True, False)
    """

    statistic: float
    expected: int
    p_value: float

    @property
    def plausible(self) -> bool:
        """True if some survey in a hundred would be as far from the estimate."""
        return self.p_value > 1 / (SURVEYS + 1)

    def __str__(self) -> str:
        if self.plausible:
            return "The reports are consistent with this mechanism."
        return (
            f"THE REPORTS DO NOT FIT this mechanism: of {SURVEYS} surveys simulated from the estimate, none is as far "
            "from it. Check that this mechanism made the reports, and that all true values are in its range; the "
            "estimate assumes both."
        )

    def values(self) -> dict[str, Any]:
        """Return the numbers as plain JSON values, without the name of a format."""
        return {
            "statistic": self.statistic,
            "expected": self.expected,
            "p_value": self.p_value,
            "plausible": self.plausible,
        }

    def to_json(self) -> dict[str, Json]:
        """Return the numbers as plain JSON values."""
        return stamped("fit", 1, self.values())

    def report(self) -> Report:
        """Return the finding, and the numbers behind it."""
        numbers = [("statistic", f"{rounded(self.statistic, 4)}, where about {self.expected} is expected")]
        if self.p_value < 1:
            numbers.append(("p-value", f"at most {rounded(self.p_value)}"))
        parts = (Prose(str(self)), Terms(tuple(numbers)))
        return Report("Fit of the reports", "Fit", sections=(Section(parts=parts),))


def examine(problem: Problem, apart: Sequence[FloatArray]) -> Fit:
    """Test how well the reports of each group fit the distribution of the truths in it.

    Parameters
    ----------
    problem
        What was reported.
    apart
        A distribution for each group: that groups differ is a finding about people, and no misfit.
    """
    groups = [Problem((group,)) for group in problem.groups]
    statistic = _statistic(groups, apart)
    expected = sum(len(group.reports) - 1 for group in problem.groups)
    if statistic <= expected + 2 * np.sqrt(2 * expected):
        return Fit(statistic, expected, 1.0)
    rng = np.random.default_rng(SEED)
    enough = ENOUGH_AS_FAR if expected > MANY_OUTPUTS else SURVEYS + 1
    as_far = 0
    for number in range(1, SURVEYS + 1):
        survey = [group.redrawn(p, rng) for group, p in zip(groups, apart, strict=True)]
        as_far += _statistic(survey, apart) >= statistic
        if as_far == enough:
            return Fit(statistic, expected, as_far / number)
    return Fit(statistic, expected, (1 + as_far) / (1 + SURVEYS))


def _statistic(groups: Sequence[Problem], apart: Sequence[FloatArray]) -> float:
    total = 0.0
    for problem, p in zip(groups, apart, strict=True):
        chances = np.maximum(problem.chances(p), 1e-300)
        total += 2 * float(problem.counts @ np.log(problem.counts / problem.people / chances))
    return max(0.0, total)
