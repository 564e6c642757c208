"""The estimate: a distribution, the certificate of how good it is, and intervals for what follows from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput, Unsupported
from ..exact.kernels import Response
from ..plots import Chart
from ..spaces import Counts
from . import intervals, pictures
from .interior import Solution
from .likelihood import Likelihood
from .problem import Problem
from .statistics import DUST, Reconstruction, indicator, numbers, read_share, read_weights, show, unknown

FloatArray = NDArray[np.float64]

#: A band is worked out at this many counts at most; between them it follows from the cumulative sums' being monotone.
MOST_POINTS = 41

#: How many surveys are simulated for the quantile of an interval under randomised response, where chi-squared is far
#: off (measured), and the most true values that is done for unasked.
SURVEYS, MOST_CALIBRATED = 39, 1000

#: What an interval covers, in words.
COVERS = (
    "It is for the population that the people were drawn from at random, and holds the value of these very people at "
    "least as often. How often it does is measured, not proved: see the table of coverage in the documentation."
)


class Step(NamedTuple):
    """One iteration: the log-likelihood of all reports, and how much of it per report is missing at most."""

    log_likelihood: float
    gap: float


@dataclass(frozen=True)
class Interval:
    """An interval by profile likelihood, and the estimate it belongs to.

    Attributes
    ----------
    low, high
        The ends.
    estimate
        The maximum likelihood estimate of the statistic, which lies between them.
    level
        How often such intervals are meant to hold the true value.
    statistic
        What it is an interval of, in words.
    covers
        Whose value it covers, and how that is known.

    Examples
    --------
    >>> import discreet as dc
    >>> e = dc.estimate([60, 25, 15], dc.randomized_response(3, epsilon=2))
    >>> interval = e.interval(("cell", 0))
    >>> interval.low < interval.estimate < interval.high
    True
    """

    low: float
    high: float
    estimate: float
    level: float
    statistic: str
    covers: str = COVERS

    def __iter__(self) -> Any:
        return iter((self.low, self.high))

    def __str__(self) -> str:
        return (
            f"{self.statistic}: {show(self.estimate)}, {self.level:.4g} interval {show(self.low)} to {show(self.high)}"
        )


@dataclass(frozen=True, eq=False)
class Band:
    """Lower and upper limits of the cumulative probability of every count.

    Attributes
    ----------
    low, high
        One number for each count.
    level
        How often the band is meant to hold the true value: at each count, or at all of them if ``simultaneous``.
    simultaneous
        Whether the level is for all counts at once.

    Examples
    --------
    >>> import discreet as dc
    >>> band = dc.estimate([60, 25, 15], dc.geometric(2, epsilon=1)).band(level=0.9)
    >>> bool((band.low <= band.high).all()), band.level, band.simultaneous
    (True, 0.9, False)
    """

    low: FloatArray
    high: FloatArray
    level: float
    simultaneous: bool

    @property
    def covers(self) -> str:
        """Whose values it covers, and how that is known."""
        where = "at all counts at once" if self.simultaneous else "at each count by itself"
        return f"A band at level {self.level:.4g} {where}. {COVERS}"


@dataclass(frozen=True)
class Homogeneity:
    """Whether several groups of people seem to have the same distribution.

    Attributes
    ----------
    statistic
        Twice the log-likelihood that separate distributions gain over a common one.
    p_value
        How often the common estimate alone would give so large a gain, by simulation.
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

    def __str__(self) -> str:
        verdict = (
            "The groups seem to differ: use the stratified estimate."
            if self.p_value <= 0.05
            else "No sign that the groups differ (which is no proof that they do not)."
        )
        return f"same distribution in all groups: p = {self.p_value:.3g} ({self.simulations} simulations). {verdict}"


@dataclass(frozen=True, eq=False)
class Stratified(Reconstruction):
    """The estimates of several groups, each on its own, added up by their shares of the people.

    Unlike the common estimate it does not assume that people's choice of a mechanism says nothing about their value.

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
    """

    strata: tuple[Estimate, ...] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Estimate(Reconstruction):
    """The distribution of the truths behind noisy reports. ``str()`` is a summary.

    Made by :func:`discreet.estimate`.

    Attributes
    ----------
    space, distribution, people
        The true values, the probability of each (read-only), and how many people reported.
    method
        How it was made: "mle", "smoothed", "ibu" or "inverse".
    gap
        How much log-likelihood per report is missing from the maximum at most; a bound that needs no trust in the
        solver. Not a number for an inverse with negative entries, which is no distribution.
    iterations
        How many steps were made; 0 for closed forms.
    tolerance
        The gap that was asked for.
    notes
        What one should know about this estimate.

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.geometric(2, alpha="1/2")
    >>> e = dc.estimate([60, 25, 40], m)
    >>> e.converged, e.quantile(0.5), e.distribution.round(3).tolist()
    (True, 0, [0.56, 0.2, 0.24])
    """

    method: str
    gap: float
    iterations: int
    tolerance: float
    notes: tuple[str, ...] = ()
    _likelihood: Likelihood = field(repr=False, default=None)  # type: ignore[assignment]
    _solution: Solution = field(repr=False, default=None)  # type: ignore[assignment]

    @property
    def converged(self) -> bool:
        """Whether the gap is at most what was asked for: whether this is the maximum likelihood estimate."""
        return self.gap <= self.tolerance

    @property
    def problem(self) -> Problem:
        """What was reported, by which mechanisms."""
        return self._likelihood.problem

    @cached_property
    def log_likelihood(self) -> float:
        """The log of the probability of the reports if truths have this distribution: sum of count * log chance."""
        return self.problem.log_likelihood(self.distribution)

    @cached_property
    def trace(self) -> tuple[Step, ...]:
        """The log-likelihood and the gap, before the first iteration and after each."""
        # solvers drop constant factors of the chances: put them back
        constant = self.log_likelihood / self.people - self._likelihood.mean_log(self.distribution)
        return tuple(Step(self.people * (value + constant), gap) for value, gap in self._solution.trace)

    @cached_property
    def _top(self) -> Solution:
        """The maximum of the likelihood, which intervals are built around whatever the method."""
        return self._solution if self.method == "mle" else self._likelihood.maximum()

    # ------------------------------------------------------------------------------------------------ intervals

    def interval(self, statistic: Any = "mean", level: float = 0.95, *, surveys: int | None = None) -> Interval:
        """An interval for something that follows from the distribution, by calibrated profile likelihood.

        Parameters
        ----------
        statistic
            "mean", "variance", ("cdf", x): P(at most x), ("quantile", q), ("range", a, b): P(a to b, both included),
            ("cell", value): P(value), ("among", [values]), ("count", value): the expected number of people with that
            value; or weights f, one number for each true value, for the sum of f_i p_i.
        level
            How often such intervals are meant to hold the true value.
        surveys
            How many surveys to simulate for the quantile of the deviance; with 0 it is the chi-squared one, a hundred
            times faster. By default 39 under randomised response with at most 1,000 true values, where the
            chi-squared quantile gives intervals that are far too short, and 0 otherwise.

        Examples
        --------
        >>> import discreet as dc
        >>> e = dc.estimate([60, 25, 15, 30], dc.geometric(3, epsilon=1))
        >>> print(e.interval(("cdf", 1), surveys=0))
        P(at most 1): 0.7247, 0.95 interval 0.5338 to 0.8571
        """
        level = read_share(level, "level", inside=True)
        times = self._surveys(surveys)
        kind = statistic[0] if isinstance(statistic, tuple) and statistic and isinstance(statistic[0], str) else None
        if isinstance(statistic, str):
            if statistic == "mean":
                return self._linear(numbers(self.space, "an interval for the mean"), level, times, "mean")
            if statistic == "variance":
                return self._variance(level, times)
            raise unknown(statistic)
        if kind is None:
            return self._linear(read_weights(statistic, len(self.distribution)), level, times, "weighted sum")
        if kind == "quantile" and len(statistic) == 2:
            return self._quantile(read_share(statistic[1], "q, the order of a quantile,", inside=True), level, times)
        if kind == "count" and len(statistic) == 2:
            chosen = self.people * indicator(self.space, ("cell", statistic[1]))
            return self._linear(chosen, level, times, f"expected number of people with {statistic[1]!r}")
        words = {
            "cdf": "P(at most {1})", "range": "P({1} to {2})", "cell": "P({1})", "among": "P(one of {1})",
        }  # fmt: skip
        chosen = indicator(self.space, statistic)
        return self._linear(chosen, level, times, words[str(kind)].format(*statistic))

    def _surveys(self, wanted: int | None) -> int:
        if wanted is None:
            response = any(isinstance(group.kernel, Response) for group in self.problem.groups)
            return SURVEYS if response and len(self.distribution) <= MOST_CALIBRATED else 0
        if isinstance(wanted, bool) or wanted < 0 or 0 < wanted < 19:
            raise InvalidInput(f"surveys must be 0, or at least 19 (better 99 or more); got {wanted!r}.")
        return wanted

    def _linear(self, f: FloatArray, level: float, surveys: int, words: str) -> Interval:
        low, high = intervals.ends(self._likelihood, self._top, f, level, surveys)
        return Interval(low, high, float(f @ self._top.p), level, words)

    def _variance(self, level: float, surveys: int) -> Interval:
        x = numbers(self.space, "an interval for the variance")
        low, high = intervals.variance_ends(self._likelihood, self._top, x, level, surveys)
        p = self._top.p
        return Interval(low, high, float(p @ (x - p @ x) ** 2), level, "variance")

    def _quantile(self, q: float, level: float, surveys: int) -> Interval:
        """The counts k whose interval for P(at most k) leaves q possible."""
        size = len(numbers(self.space, "an interval for a quantile"))

        def reached(side: int) -> Callable[[int], bool]:
            return lambda k: k == size - 1 or self._end(k, level, side, 0) >= q

        # calibrated ends lie further out: from where the others are, a few steps are left to go
        low = intervals.first_reaching(reached(-1), size)
        while surveys and low > 0 and self._end(low - 1, level, -1, surveys) >= q:
            low -= 1
        high = intervals.first_reaching(reached(1), size)
        while surveys and high < size - 1 and self._end(high, level, 1, surveys) < q:
            high += 1
        centre = int(np.flatnonzero(np.cumsum(self._top.p) >= q - DUST)[0])
        return Interval(low, high, centre, level, f"{q:.4g}-quantile")

    def _end(self, k: int, level: float, side: int, surveys: int) -> float:
        f = (np.arange(len(self.distribution)) <= k).astype(float)
        return intervals.calibrated(self._likelihood, self._top, f, level, side, surveys)

    def band(
        self, level: float = 0.95, *, simultaneous: bool = False, points: int = MOST_POINTS, surveys: int = 0
    ) -> Band:
        """Limits of the cumulative probability of every count.

        Parameters
        ----------
        level
            How often the band is meant to hold the truth: at each count, or, with ``simultaneous``, at all at once.
        simultaneous
            Share the error among the counts the band is worked out at (Bonferroni). Between them it holds because
            cumulative probabilities never fall.
        points
            At how many counts to work it out. Fewer give a simultaneous band that is narrower at these counts and
            wider between them.
        surveys
            As for :meth:`interval`; none if not given, because a band takes many ends.

        Examples
        --------
        >>> import discreet as dc
        >>> e = dc.estimate([60, 25, 15, 30], dc.geometric(3, epsilon=1))
        >>> bool((e.band().low <= e.cdf() + 1e-12).all())
        True
        """
        level = read_share(level, "level", inside=True)
        size = len(numbers(self.space, "a band"))
        if points < 2:
            raise InvalidInput(f"a band needs at least 2 points; got {points}.")
        places = self._spread(size, points)
        times = self._surveys(surveys)
        each = 1 - (1 - level) / len(places) if simultaneous else level
        low, high = np.zeros(size), np.ones(size)
        for k in places:
            low[k:] = np.maximum(low[k:], self._end(k, each, 1, times))
            high[: k + 1] = np.minimum(high[: k + 1], self._end(k, each, -1, times))
        low[-1] = 1.0
        return Band(low, high, level, simultaneous)

    def _spread(self, size: int, points: int) -> list[int]:
        """Counts spread evenly, half of them over the range and half over the probability."""
        if size - 1 <= points:
            return list(range(size - 1))
        evenly = np.linspace(0, size - 2, points // 2).round().astype(int)
        likely = np.searchsorted(np.cumsum(self._top.p), np.linspace(0.01, 0.99, points - points // 2))
        return sorted({int(k) for k in [*evenly, *np.minimum(likely, size - 2)]})

    # ------------------------------------------------------------------------------------------------ groups

    @cached_property
    def stratified(self) -> Stratified:
        """Each group estimated on its own, added up by their shares: what to use if the choice may tell something."""
        from .methods import of_problem

        strata = tuple(of_problem(Problem((group,)), self.tolerance) for group in self.problem.groups)
        shares = [one.people / self.people for one in strata]
        total = np.sum([share * one.distribution for share, one in zip(shares, strata, strict=True)], axis=0)
        return Stratified(self.space, total, self.people, strata)

    def homogeneity(self, simulations: int = 199, seed: int = 0) -> Homogeneity:
        """Test whether all groups have the same distribution, which the common estimate assumes.

        The gain in log-likelihood of separate distributions over a common one is compared with its gain in samples
        drawn from the common estimate. (Tables of chi-squared do not apply: estimates have zeros.)

        Parameters
        ----------
        simulations
            How many samples to draw; the p-value is a multiple of 1 / (simulations + 1).
        seed
            Where the samples start: the same seed gives the same answer.
        """
        if len(self.problem.groups) < 2:
            raise Unsupported("there is one group of people only; a test of homogeneity compares several.")
        if simulations < 1:
            raise InvalidInput(f"simulations must be at least 1; got {simulations}.")
        observed = _gain(self._likelihood, self._top)
        rng = np.random.default_rng(seed)
        as_large = sum(
            _gain(Likelihood(self.problem.redrawn(self._top.p, rng))) >= observed - 1e-9 for _ in range(simulations)
        )
        return Homogeneity(observed, (1 + as_large) / (1 + simulations), simulations)

    # ------------------------------------------------------------------------------------------------ words

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def header(self) -> list[str]:
        """How it was made and how good it is, in a few lines."""
        names = {
            "mle": "maximum likelihood", "smoothed": "early-stopped updates, chosen by cross-validation",
            "ibu": "iterative Bayesian updates", "inverse": "the inverse of the mechanism",
        }  # fmt: skip
        groups = len(self.problem.groups)
        lines = [
            f"distribution of {len(self.distribution)} true {self.space.noun}s, from {self.people:,} reports"
            + (f" of {groups} groups" if groups > 1 else ""),
            f"method          {names[self.method]}"
            + (f", {self.iterations} iterations" if self.iterations else ", in closed form" * (self.method == "mle")),
        ]
        if not math.isnan(self.gap):
            means = "the maximum" if self.converged else "not the maximum"
            lines.append(f"gap             {self.gap:.2g} per report at most: {means} of the likelihood")
        lines.append(f"log-likelihood  {self.log_likelihood:.6f}")
        return lines

    def sentences(self, level: float = 0.95) -> list[str]:
        """The summary, line by line."""
        lines = self.header()
        if isinstance(self.space, Counts):
            lines.append(f"mean            {_with(self.mean(), self._quietly('mean', level))}")
            lines.append(f"variance        {show(self.variance())}")
            for q in (0.25, 0.5, 0.75):
                lines.append(f"{q:.0%} quantile    {_with(self.quantile(q), self._quietly(('quantile', q), level))}")
        else:
            for k in np.argsort(-self.distribution, kind="stable")[:5].tolist():
                value = self.space.value(k)
                shown = _with(self.distribution[k], self._quietly(("cell", value), level))
                lines.append(f"P({value})".ljust(16) + shown)
        lines.append(f"intervals       level {level:g}. {COVERS}")
        lines += [f"note            {note}" for note in self.notes]
        return lines

    def _quietly(self, statistic: Any, level: float) -> Interval | None:
        """An interval for a summary; none where it would take long."""
        return None if len(self.distribution) > 5000 else self.interval(statistic, level)

    def describe(self) -> None:
        """Print a readable summary: how good the estimate is, mean and quantiles with intervals, and what they cover.

        Examples
        --------
        >>> import discreet as dc
        >>> dc.estimate([60, 25, 40], dc.geometric(2, alpha="1/2")).describe()  # doctest: +ELLIPSIS
        distribution of 3 true counts, from 125 reports
        method          maximum likelihood, in closed form
        gap             ... per report at most: the maximum of the likelihood
        log-likelihood  -129.851470
        mean            0.68 (0.3069 to 1.071)
        variance        0.6976
        25% quantile    0 (0 to 1)
        50% quantile    0 (0 to 2)
        75% quantile    1 (0 to 2)
        intervals       level 0.95. It is for the population ...
        """
        print(self)

    def table(self, most: int = 40, level: float = 0.95) -> tuple[list[str], list[list[str]]]:
        """Headings and cells, as text: the likeliest values in their order, with intervals where there are few."""
        chosen = np.sort(np.argsort(-self.distribution, kind="stable")[:most])
        few = len(self.distribution) <= most
        headings = [
            self.space.noun,
            "probability",
            *([f"low ({level:g})", f"high ({level:g})"] if few else []),
            "expected number",
        ]
        cells = []
        for k in chosen.tolist():
            value, p = self.space.value(k), float(self.distribution[k])
            ends = [f"{end:.4f}" for end in self.interval(("cell", value), level)] if few else []
            cells.append([str(value), f"{p:.4f}", *ends, f"{self.people * p:.1f}"])
        return headings, cells

    def to_json(self) -> dict[str, Any]:
        """The findings as plain JSON values."""
        values = [self.space.value(k) for k in range(len(self.distribution))]
        content: dict[str, Any] = {
            "method": self.method,
            "people": self.people,
            "gap": None if math.isnan(self.gap) else self.gap,
            "tolerance": self.tolerance,
            "converged": self.converged,
            "iterations": self.iterations,
            "log_likelihood": self.log_likelihood,
            "space": self.space.describe(),
            "values": values,
            "distribution": self.distribution.tolist(),
            "notes": list(self.notes),
        }
        if isinstance(self.space, Counts):
            content |= {"mean": self.mean(), "variance": self.variance()}
            content["quantiles"] = {str(q): self.quantile(q) for q in (0.05, 0.25, 0.5, 0.75, 0.95)}
        return content

    def plot(self, title: str | None = None, *, band: bool | float = True) -> Chart:
        """Draw the estimate, its intervals and the raw reports; a map where the values are the cells of a grid.

        Parameters
        ----------
        title
            Instead of a description.
        band
            Whether to draw an interval for each value (by default where there are at most 60) and a
            band, or their level.
        """
        return pictures.draw(self, title, band)

    def save(self, path: str | Path, level: float = 0.95) -> Path:
        """Write a report: .html (self-contained, with tables), .png or .svg, or .json with the numbers.

        Parameters
        ----------
        path
            Where to, with the ending that says what.
        level
            Of the intervals in pictures and tables.
        """
        return pictures.save(self, Path(path), read_share(level, "level", inside=True))


def _with(value: Any, interval: Interval | None) -> str:
    return show(value) + ("" if interval is None else f" ({show(interval.low)} to {show(interval.high)})")


def _gain(likelihood: Likelihood, common: Solution | None = None) -> float:
    """Twice the log-likelihood that a distribution for each group gains over a common one."""
    problem = likelihood.problem
    top = likelihood.maximum() if common is None else common
    apart = sum(
        one.log_likelihood(Likelihood(one).maximum().p) for one in (Problem((group,)) for group in problem.groups)
    )
    return 2 * (apart - problem.log_likelihood(top.p))
