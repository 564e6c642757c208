"""Several groups of people: each estimated on its own, and a test of whether they have the same distribution.

The strata together are one problem: a truth is a pair of a group and a value, a report a pair of a group and an output,
and the mechanism is block-diagonal. Its maximum likelihood estimate is that of each group times the group's share of
the people, so that a statistic of the whole population, ``sum_s share_s f.p_s``, is linear in it, and its interval is
found as any other: costs ``1 + t (f - fhat)`` are the same in every group, which is the condition of the most likely
way to share a deviation among the groups. The shares are estimated too: the interval is for the population that all
were drawn from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Unsupported
from ..exact.arrays import FloatArray, IntArray
from ..report import Json, Prose, Report, Result, Section, Terms, stamped
from ..wording import rounded
from . import interior
from .describing.report import MOST_LINES, MOST_ROWS, stratified_report
from .describing.summary import answers, distribution_json, intervals_json
from .interior import Newton, NewtonModel, SolverResult
from .intervals.moments import Unbiased
from .intervals.questions import Answers, IntervalInputs
from .model.problem import Problem
from .solvers.large import StructuredModel
from .solvers.likelihood import Likelihood
from .statistics import read_share

if TYPE_CHECKING:
    from .result import Estimate


@dataclass(frozen=True)
class Homogeneity(Result):
    """The test of whether several groups of people have the same distribution.

    Attributes
    ----------
    statistic
        Twice the log-likelihood that separate distributions gain over a common one.
    p_value
        How often the common estimate alone would give at least this gain, by simulation.
    simulations
        How many simulations that was.

    Examples
    --------
    >>> import discreet as dc
    >>> careful, bold = (dc.randomized_response(3, epsilon=e) for e in (1, 3))
    >>> e = dc.estimate([([50, 30, 20], careful), ([10, 20, 70], bold)])
    >>> e.homogeneity(simulations=99).p_value
    0.01
    """

    statistic: float
    p_value: float
    simulations: int

    @property
    def differ(self) -> bool:
        """True if the groups seem to differ: a p-value of at most 5%."""
        return self.p_value <= 0.05

    def __str__(self) -> str:
        how = f"p = {self.p_value:.3g}, {self.simulations} simulations"
        if self.differ:
            return f"The groups seem to differ ({how}): use the stratified estimate."
        return f"No evidence that the groups differ ({how}). That does not prove that they are alike."

    def values(self) -> dict[str, Any]:
        """Return the numbers as plain JSON values, without the name of a format."""
        return {"statistic": self.statistic, "p_value": self.p_value, "simulations": self.simulations}

    def to_json(self) -> dict[str, Json]:
        """Return the numbers as plain JSON values."""
        return stamped("homogeneity", 1, self.values())

    def report(self) -> Report:
        """Report the finding, and the numbers behind it."""
        numbers = Terms(
            (
                ("statistic", rounded(self.statistic, 4)),
                ("p-value", rounded(self.p_value)),
                ("simulations", f"{self.simulations:,}"),
            )
        )
        title = "Test that all groups have the same distribution"
        return Report(title, "Homogeneity", sections=(Section(parts=(Prose(str(self)), numbers)),))


@dataclass(frozen=True, eq=False)
class Stratified(Answers, Result):
    """The estimates of several groups, each on its own, added up by their shares of the people.

    Unlike the common estimate it does not assume that people's choice of a mechanism says nothing about their value.
    It has intervals and bands of its own, longer than those of the common estimate.

    Attributes
    ----------
    strata
        The estimate of each group.

    Examples
    --------
    >>> import discreet as dc
    >>> careful, bold = (dc.randomized_response(2, epsilon=e) for e in (1, 3))
    >>> both = dc.estimate([([50, 50], careful), ([30, 70], bold)]).stratified
    >>> len(both.strata), both.people, both.distribution.round(2).tolist()
    (2, 200, [0.39, 0.61])
    >>> print(both.interval(("cell", 1)))
    P(1): 0.6105, 95% interval 0.4901 to 0.7271
    """

    strata: tuple[Estimate, ...] = field(repr=False)

    @cached_property
    def _interval_inputs(self) -> IntervalInputs:
        shares = tuple(one.people / self.people for one in self.strata)
        parts = [Likelihood(one.problem, one.tolerance) for one in self.strata]
        p = np.concatenate([share * one._top.p for share, one in zip(shares, self.strata, strict=True)])
        unbiased = tuple(Unbiased(one.problem, one._top.p) for one in self.strata)
        return IntervalInputs(SeparateLikelihoods(parts, shares), SolverResult(p, 0.0, ((0.0, 0.0),)), unbiased, shares)

    def to_json(self, level: float | None = None) -> dict[str, Json]:
        """Return the numbers as plain JSON values.

        Parameters
        ----------
        level
            With it, also intervals of the statistics of the summary.
        """
        groups = [{"people": one.people, "distribution": one.distribution.tolist()} for one in self.strata]
        content: dict[str, Json] = {**distribution_json(self), "groups": groups}
        if level is not None:
            content |= {"level": level, "intervals": intervals_json(answers(self, level))}
        return stamped("stratified", 1, content)

    def report(self, level: float = 0.95, *, most: int = MOST_ROWS) -> Report:
        """Return a few statistics with intervals, the likeliest values, and what the intervals cover.

        Parameters
        ----------
        level
            Of the intervals.
        most
            How many values to show.
        """
        return stratified_report(self, len(self.strata), read_share(level, "level", inside=True), most)

    def describe(self, level: float = 0.95, *, width: int = 100, most: int = MOST_LINES) -> str:
        """Return the report as text for a terminal of this width, with at most ``most`` values."""
        return self.report(level, most=most).text(width, most)

    @staticmethod
    def _surveys(surveys: int) -> int:
        if surveys:
            raise Unsupported(
                "intervals of a stratified estimate are not calibrated by surveys.",
                "Leave surveys out.",
                argument="surveys",
            )
        return 0


class SeparateLikelihoods:
    """The likelihood of the reports if every group has a distribution of its own, as a function of all of them."""

    def __init__(self, parts: Sequence[Likelihood], shares: Sequence[float]) -> None:
        self.problem = Problem(tuple(group for part in parts for group in part.problem.groups))
        self.tolerance = interior.tolerance_for(self.problem.people)
        self._parts, self._shares = parts, shares

    @cached_property
    def _model(self) -> Blocks:
        models = [part.model for part in self._parts]
        plain = [model for model in models if not isinstance(model, StructuredModel)]
        if len(plain) < len(models):
            raise Unsupported("a stratified estimate of so many values has no intervals.", "Ask each of its strata.")
        return Blocks(plain, self._shares)

    def mean_log(self, p: FloatArray) -> float:
        """Return the log-likelihood per report, up to a constant."""
        return float(self._model.q @ np.log(self._model.forward(p)))

    def maximise(self, costs: FloatArray | None = None, start: FloatArray | None = None) -> SolverResult:
        """Return the maximum for these costs."""
        return interior.solve(self._model, self.tolerance, costs)


class Blocks:
    """Models side by side that have nothing in common: a block-diagonal matrix."""

    def __init__(self, models: Sequence[NewtonModel], shares: Sequence[float]) -> None:
        self._models = models
        self.q = np.concatenate([share * model.q for share, model in zip(shares, models, strict=True)])
        self.seen: IntArray | slice = np.flatnonzero(self.q)
        self.size = sum(model.size for model in models)
        self._truths = np.cumsum([model.size for model in models])[:-1]
        self._reports = np.cumsum([len(model.q) for model in models])[:-1]

    def forward(self, p: FloatArray) -> FloatArray:
        parts = np.split(p, self._truths)
        return np.concatenate([model.forward(part) for model, part in zip(self._models, parts, strict=True)])

    def backward(self, v: FloatArray) -> FloatArray:
        parts = np.split(v, self._reports)
        return np.concatenate([model.backward(part) for model, part in zip(self._models, parts, strict=True)])

    def newton(self, weights: FloatArray, slacks: FloatArray) -> Newton:
        pairs = zip(np.split(weights, self._reports), np.split(slacks, self._truths), strict=True)
        solvers = [model.newton(*pair) for model, pair in zip(self._models, pairs, strict=True)]

        def solve(b: FloatArray) -> tuple[FloatArray, FloatArray]:
            parts = [one(part) for one, part in zip(solvers, np.split(b, self._truths), strict=True)]
            return np.concatenate([dp for dp, _ in parts]), np.concatenate([du for _, du in parts])

        return solve


def gain(likelihood: Likelihood, common: SolverResult | None = None) -> float:
    """Return twice the log-likelihood that a distribution for each group gains over a common one."""
    problem = likelihood.problem
    top = likelihood.maximum() if common is None else common
    apart = sum(
        one.log_likelihood(Likelihood(one).maximum().p) for one in (Problem((group,)) for group in problem.groups)
    )
    return 2 * (apart - problem.log_likelihood(top.p))
