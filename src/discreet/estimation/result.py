"""The estimate: a distribution, the certificate of how good it is, and intervals for what follows from it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidInput, Unsupported
from ..exact.arrays import FloatArray
from ..plots import Chart
from ..report import Json, Report, Result, stamped
from ..tabular import Columns, Tabular, as_latex, as_pandas
from . import spikes
from .describing import pictures
from .describing.report import MOST_LINES, MOST_ROWS, Origin, band_level, estimate_report, table
from .describing.summary import answers, distribution_json, intervals_json, stratified_answers
from .fit import Fit, examine
from .interior import SolverResult
from .intervals.joint import Joint, Margin
from .intervals.moments import Unbiased
from .intervals.questions import Answers, IntervalInputs
from .method_table import method_info
from .model.problem import Problem
from .solvers.distance import Distance
from .solvers.likelihood import Likelihood
from .solvers.smoothing import is_large_map, survey_differences
from .spikes import Spikes
from .statistics import read_share
from .strata import Homogeneity, Stratified, gain

#: Number of values from which on a note explains the bias of likelihood in shares.
MANY_VALUES = 100


class Step(NamedTuple):
    """One iteration: the log-likelihood of all reports, and how much of it per report is missing at most."""

    log_likelihood: float
    gap: float


@dataclass(frozen=True, eq=False)
class Estimate(Answers, Tabular, Result):
    """The distribution of the truths behind noisy reports. ``str()`` is what ``describe()`` says.

    Made by :func:`discreet.estimate`.

    Attributes
    ----------
    space, distribution, people
        The true values, the probability of each (read-only), and how many people reported.
    method
        The method that made it, such as "empirical-bayes" or "mle"; "custom:NAME" for a function of your own.
    gap
        How much log-likelihood per report is missing from the maximum at most; a bound that needs no trust in the
        solver. Not a number for an inverse with negative entries, which is not a distribution.
    iterations
        How many steps were made; 0 for closed forms.
    tolerance
        The gap that was asked for.
    notes
        What one should know about this estimate: what was chosen and why comes first.
    distance
        For "empirical-bayes": how far it is from the maximum of the likelihood, and whether chance explains that; also
        where it was not explained, so that the maximum is shown. None for other methods.
    origin
        Names of the files and groups that the reports came from, for pages; None if they were not read from files.

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
    distance: Distance | None = None
    origin: Origin | None = field(repr=False, default=None)
    _maximum: SolverResult | None = field(repr=False, default=None)
    _likelihood: Likelihood = field(repr=False, default=None)  # type: ignore[assignment]
    _solution: SolverResult = field(repr=False, default=None)  # type: ignore[assignment]

    @property
    def converged(self) -> bool:
        """True if the gap is at most the tolerance, so that this is the maximum likelihood estimate."""
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
    def fit(self) -> Fit:
        """The test of whether the reports look like what the mechanism makes of the maximum likelihood estimate.

        On a large map, whose maximum takes minutes, of the smoothed estimate itself.
        """
        if len(self.problem.groups) > 1:
            return examine(self.problem, [one._top.p for one in self.stratified.strata])
        quick = self.method == "smoothed" and is_large_map(self.space)
        return examine(self.problem, [self.distribution if quick else self._top.p])

    @cached_property
    def spikes(self) -> Spikes | None:
        """The finding whether this is a comb though a smoother distribution fits as well; true in a condition if so.

        None for methods that smooth or invert, and where values have no neighbours.
        """
        return spikes.examine(self._likelihood, self.distribution) if method_info(self.method).unsmoothed else None

    @cached_property
    def _top(self) -> SolverResult:
        """The maximum of the likelihood, which intervals are built around with every method."""
        if self.method == "mle":
            return self._solution
        return self._likelihood.maximum() if self._maximum is None else self._maximum

    @property
    def maximum(self) -> FloatArray:
        """The maximum likelihood estimate, also with other methods."""
        return self._top.p

    @property
    def cells_are_quick(self) -> bool:
        """True if an interval for one share takes no longer where there are many values; known at once."""
        groups = self.problem.groups
        return len(groups) == 1 and groups[0].kernel.reports_are_sets

    @cached_property
    def _interval_inputs(self) -> IntervalInputs:
        return IntervalInputs(self._likelihood, self._top, (Unbiased(self.problem, self._top.p),))

    # ------------------------------------------------------------------------------------------------ several answers

    @cached_property
    def joint(self) -> Joint:
        """Several answers of one person together, for reports of a product of mechanisms: how they go together."""
        return Joint(self)

    def margin(self, part: int) -> Margin:
        """Return the distribution of one of several answers, with intervals, for reports of a product of mechanisms."""
        return self.joint.margin(part)

    # ------------------------------------------------------------------------------------------------ groups

    @cached_property
    def stratified(self) -> Stratified:
        """Each group estimated on its own, added up by their shares: for choices that may depend on the value."""
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
            raise Unsupported(
                "there is one group of people only.",
                "A test of homogeneity compares several: dc.estimate([(counts, mechanism), ...]).",
            )
        if simulations < 1:
            raise InvalidInput.must_be("simulations", "at least 1", simulations)
        if (simulations, seed) not in self._tested:
            observed = gain(self._likelihood, self._top)
            rng = np.random.default_rng(seed)
            as_large = sum(
                gain(Likelihood(self.problem.redrawn(self._top.p, rng))) >= observed - 1e-9 for _ in range(simulations)
            )
            self._tested[simulations, seed] = Homogeneity(observed, (1 + as_large) / (1 + simulations), simulations)
        return self._tested[simulations, seed]

    @cached_property
    def _tested(self) -> dict[tuple[int, int], Homogeneity]:
        """Tests of homogeneity that were made: a page, a terminal and a file ask for the same one."""
        return {}

    # ------------------------------------------------------------------------------------------------ words

    def data_columns(self, level: float | None = None) -> Columns:
        """Return a row for each true value: its probability, and with a level the ends of a band for all at once."""
        columns: dict[str, list[object]] = {
            "value": [self.space.value(k) for k in range(len(self.distribution))],
            "probability": self.distribution.tolist(),
        }
        if level is not None:
            band = self.band(read_share(level, "level", inside=True), simultaneous=True, of="cells")
            columns |= {"low": band.low.tolist(), "high": band.high.tolist()}
        return columns

    def to_pandas(self, level: float | None = None) -> Any:
        """Return values and probabilities as a ``pandas.DataFrame``.

        Parameters
        ----------
        level
            With it, also the ends of intervals that contain all true probabilities at once this often.
        """
        return as_pandas(self.data_columns(level))

    def to_latex(self, *, caption: str = "", label: str = "", digits: int = 4, level: float | None = None) -> str:
        """Return values and probabilities as a LaTeX table (:meth:`discreet.Comparison.to_latex`).

        Parameters
        ----------
        caption, label, digits
            As for comparisons.
        level
            As for :meth:`to_pandas`.
        """
        return as_latex(self.data_columns(level), caption=caption, label=label, digits=digits)

    def _headline(self) -> str:
        return f"{self.people:,} reports of {self.space.title}, {self.method}"

    def __str__(self) -> str:
        return self.describe()

    def report(self, level: float = 0.95, *, most: int = MOST_ROWS, origin: Origin | None = None) -> Report:
        """Report the numbers with intervals, what these cover, how good the estimate is, and what is protected.

        Parameters
        ----------
        level
            Of the intervals.
        most
            How many values to show.
        origin
            The names of the files and groups that the reports came from; by default its own.
        """
        return estimate_report(self, read_share(level, "level", inside=True), most, origin or self.origin)

    def describe(self, level: float = 0.95, *, width: int = 100, most: int = MOST_LINES) -> str:
        """Return the report as text for a terminal of this width, with at most ``most`` values.

        Examples
        --------
        >>> import discreet as dc
        >>> print(dc.estimate([60, 25, 40], dc.geometric(2, alpha="1/2")).describe())  # doctest: +ELLIPSIS
        Distribution of 3 true counts, from 125 reports
                      estimate      95% interval
        mean              0.68  0.3758 to 0.9958
        ...
        """
        level = read_share(level, "level", inside=True)
        return estimate_report(self, level, most, pages=False).text(width, most)

    def table(self, most: int = 40, level: float = 0.95) -> tuple[list[str], list[list[str]]]:
        """Return headings and cells as text: counts in order, in ranges if they are many; all else by probability."""
        made = table(self, most, read_share(level, "level", inside=True))
        return list(made.headings), [list(row) for row in made.rows]

    def to_json(self, level: float | None = None) -> dict[str, Json]:
        """Return the findings as plain JSON values.

        Parameters
        ----------
        level
            With it, also intervals of the statistics of the summary; for several groups also the stratified estimate
            and the test of homogeneity, which takes longer.
        """
        content: dict[str, Json] = {
            "method": self.method,
            "gap": None if math.isnan(self.gap) else self.gap,
            "tolerance": self.tolerance,
            "converged": self.converged,
            "iterations": self.iterations,
            "log_likelihood": self.log_likelihood if math.isfinite(self.log_likelihood) else None,
            "fit": self.fit.values(),
            "spiky": bool(self.spikes),
            "distance": None if self.distance is None else self.distance.values(),
            **distribution_json(self),
            "notes": list(self.notes),
        }
        if level is not None:
            level = read_share(level, "level", inside=True)
            content |= {"level": level, "intervals": intervals_json(answers(self, level))}
        if level is not None and len(self.problem.groups) > 1:
            statistics = stratified_answers(self, level)
            content["homogeneity"] = self.homogeneity().values()
            content["stratified"] = {
                "distribution": self.stratified.distribution.tolist(),
                **{one.statistic: one.value for one in statistics if one.statistic in ("mean", "variance")},
                "intervals": intervals_json(statistics),
            }
        return stamped("estimate", 2, content)

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

    def map_errors(self) -> FloatArray | None:
        """Return how much a smoothed map varies from survey to survey: a standard error of the people in each square.

        Squares are those that :meth:`plot` draws, at most 100 a side, in rows from the south. Detail that smoothing has
        blurred is not in it: intervals of single cells are wider. None where the estimate is not a smoothed map.
        """
        grid = self.space.as_grid
        if grid is None or self.method != "smoothed" or self.converged:
            return None
        return pictures.map_errors(self, grid, self._survey_differences)

    @cached_property
    def _survey_differences(self) -> FloatArray:
        return survey_differences(self._likelihood, self.iterations)

    def save(self, path: str | Path, level: float = 0.95, *, origin: Origin | None = None) -> Path:
        """Write a report: .html (self-contained, with tables), .png or .svg, or .json with the numbers.

        Parameters
        ----------
        path
            Where to, with the ending that says what.
        level
            Of the intervals in pictures and tables.
        origin
            The names of the files and groups that the reports came from, for a page; by default its own.
        """
        file, level = Path(path), read_share(level, "level", inside=True)
        ending = file.suffix.lower()
        if ending == ".json":
            file.write_text(json.dumps(self.to_json(level), indent=1) + "\n", encoding="utf-8")
        elif ending == ".html":
            self.report(level, origin=origin).save(file)
        else:
            self.plot(band=band_level(self, level)).save(file)
        return file


def of_problem(problem: Problem, tolerance: float | None = None) -> Estimate:
    """Return the maximum likelihood estimate of a problem that was read already."""
    likelihood = Likelihood(problem, tolerance)
    return of_maximum(likelihood, likelihood.maximum())


def of_maximum(likelihood: Likelihood, solution: SolverResult) -> Estimate:
    """Return the estimate that the maximum of a likelihood is, with notes on what was not reached."""
    problem = likelihood.problem
    notes: tuple[str, ...] = ()
    if solution.gap > likelihood.tolerance:
        why = "was not reached: steps take long here, and the gap below bounds what is missing."
        if not likelihood.stopped_early(solution):
            why = "is smaller than floating-point numbers resolve here."
        notes = (f"The gap asked for, {likelihood.tolerance:.2g}, {why}",)
    if problem.size > MANY_VALUES and any(group.kernel.reports_are_sets for group in problem.groups):
        notes += (
            "Noise makes some of the many rare values look frequent, and what they get is missing from the others. "
            'Intervals are around the unbiased estimate of each share, which the method "inverse" gives.',
        )
    return finish(likelihood, solution, "mle", notes)


def finish(likelihood: Likelihood, solution: SolverResult, method: str, notes: tuple[str, ...]) -> Estimate:
    """Return the estimate that a solution is."""
    distribution = solution.p.copy()
    distribution.flags.writeable = False
    problem = likelihood.problem
    return Estimate(
        problem.truths,
        distribution,
        problem.people,
        method,
        solution.gap,
        solution.iterations,
        likelihood.tolerance,
        (*notes, *problem.notes),
        _likelihood=likelihood,
        _solution=solution,
    )
