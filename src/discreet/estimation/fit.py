"""Whether the reports look like what the mechanism makes of the estimate.

The maximum of the likelihood is a maximum under any mechanism, also under one that did not make the reports; how far it
leaves the reports behind tells. With q the shares of the reports and u their chances under the estimate, the statistic
is ``G = 2 N sum_j q_j log(q_j / u_j)``. The estimate fits its own sample better than the population's distribution
does, so surveys drawn from the estimate, *without* estimating again, have larger G: a test by them raises the alarm
too rarely rather than too often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exact.arrays import FloatArray
from ..report import Json, Prose, Report, Result, Section, Terms, stamped
from ..wording import rounded
from .model.problem import Problem

#: How many surveys are simulated where the statistic is remarkable; none of them may be as bad for an alarm.
SURVEYS, SEED = 99, 0

#: With more outputs than this, a survey takes long, and no more are drawn once so many are as bad: their share is then
#: the p-value (Besag and Clifford 1991).
MANY_OUTPUTS, ENOUGH = 100_000, 5


@dataclass(frozen=True)
class Fit(Result):
    """Whether the reports look like what the mechanism makes of the estimate.

    Attributes
    ----------
    statistic
        Twice the log-likelihood that the very shares of the reports have over the estimate.
    expected
        About what it is for many reports of each output: the number of outputs that occurred, less the groups.
    p_value
        How often surveys drawn from the estimate are as far from it, at most; 1 where the statistic is so small that
        none were drawn.
    groups
        How many groups of people there are, who are taken to have the same distribution.

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
    groups: int = 1

    @property
    def plausible(self) -> bool:
        """Whether some survey in a hundred would be as far from the estimate."""
        return self.p_value > 1 / (SURVEYS + 1)

    def __str__(self) -> str:
        if self.plausible:
            return "The reports are consistent with this mechanism."
        groups = ", and that all groups have the same distribution" if self.groups > 1 else ""
        return (
            f"THE REPORTS DO NOT FIT this mechanism: of {SURVEYS} surveys simulated from the estimate, none is as far "
            "from it. Check that this mechanism made the reports, and that all true values are in its range; the "
            f"estimate assumes both{groups}."
        )

    def values(self) -> dict[str, Any]:
        """The numbers as plain JSON values, without the name of a format."""
        return {
            "statistic": self.statistic,
            "expected": self.expected,
            "p_value": self.p_value,
            "plausible": self.plausible,
        }

    def to_json(self) -> dict[str, Json]:
        """The numbers as plain JSON values."""
        return stamped("fit", 1, self.values())

    def report(self) -> Report:
        """Whether they fit, and the numbers that say so."""
        numbers = [("statistic", f"{rounded(self.statistic, 4)}, where about {self.expected} is expected")]
        if self.p_value < 1:
            numbers.append(("p-value", f"at most {rounded(self.p_value)}"))
        parts = (Prose(str(self)), Terms(tuple(numbers)))
        return Report("Fit of the reports", "Fit", sections=(Section(parts=parts),))


def examine(problem: Problem, p: FloatArray) -> Fit:
    """How well the reports fit this distribution of the truths."""
    statistic = _statistic(problem, p)
    expected = sum(len(group.reports) - 1 for group in problem.groups)
    if statistic <= expected + 2 * np.sqrt(2 * expected):
        return Fit(statistic, expected, 1.0, len(problem.groups))
    rng = np.random.default_rng(SEED)
    enough = ENOUGH if expected > MANY_OUTPUTS else SURVEYS + 1
    as_far = 0
    for drawn in range(1, SURVEYS + 1):
        as_far += _statistic(problem.redrawn(p, rng), p) >= statistic
        if as_far == enough:
            return Fit(statistic, expected, as_far / drawn, len(problem.groups))
    return Fit(statistic, expected, (1 + as_far) / (1 + SURVEYS), len(problem.groups))


def _statistic(problem: Problem, p: FloatArray) -> float:
    shares = np.concatenate([group.counts / group.people for group in problem.groups])
    chances = np.maximum(problem.chances(p), 1e-300)
    return max(0.0, 2 * float(problem.counts @ np.log(shares / chances)))
