"""What can be asked with an error bar: intervals of a statistic, and bands.

There are two ways to an interval, and the shorter one is taken. Where the reports determine a statistic well, that is
the one around its unbiased estimate (:mod:`.moments`), which assumes nothing of the population. Where noise is wide, it
is the profile likelihood (:mod:`.intervals`), which knows that no probability is negative.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np

from ...errors import InvalidInput, meant
from ...exact.arrays import FloatArray
from ...report import Json, Prose, Report, Result, Section, Terms, TextTable, stamped
from ...spaces import Space
from ...wording import percent, rounded
from ..interior import SolverResult
from ..statistics import SUM_ACCURACY, Reconstruction, at_most, indicator, numbers, read_share, read_weights, unknown
from . import intervals, moments
from .intervals import Profiled
from .moments import SingleShares, Unbiased
from .possible import moved, reaching, within

#: Maximum number of counts at which a cumulative band is worked out; between them it follows, as it never falls.
MAX_BAND_POINTS = 41

#: Factor by which a profile's interval must be shorter to be used for tables, which may report far values as well as
#: near ones.
PROFILE_ADVANTAGE = 2.0

#: Share of a rough length of the profile's interval that its true length exceeds.
SURE_SHARE = 0.85

#: Maximum number of values at which a report shows a band; ``to_json()`` has them all.
MAX_BAND_ROWS = 200

#: The coverage of an interval, in words.
COVERS = (
    "Intervals are about the population that these people were drawn from at random; they contain the value among "
    "these very people at least as often. How often is measured, not proved: see the coverage table in the "
    "documentation."
)


def quantile_name(q: float) -> str:
    """Name a quantile in words.

    >>> quantile_name(0.25), quantile_name(0.5), quantile_name(0.999)
    ('25% quantile', 'median', '99.9% quantile')
    """
    return "median" if q == 0.5 else f"{percent(q, 4)} quantile"


@dataclass(frozen=True)
class Interval(Result):
    """An interval for a statistic, and the estimate it belongs to.

    Attributes
    ----------
    low, high
        The ends.
    estimate
        The maximum likelihood estimate of the statistic, which lies between them.
    level
        How often such intervals are meant to contain the true value.
    statistic
        What it is an interval of, in words.
    by
        How it was found: "profile likelihood", "calibrated profile likelihood" or "unbiased estimate".
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
    by: str = "profile likelihood"
    covers: str = COVERS

    def __iter__(self) -> Any:
        return iter((self.low, self.high))

    @property
    def ends(self) -> str:
        """Both ends, for people.

        >>> Interval(5.8371, 6.02749, 5.9, 0.95, "mean").ends
        '5.837 to 6.027'
        """
        return f"{rounded(self.low, 4)} to {rounded(self.high, 4)}"

    def _headline(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"{self.statistic}: {rounded(self.estimate, 4)}, {percent(self.level)} interval {self.ends}"

    def to_json(self) -> dict[str, Json]:
        """Return the numbers as plain JSON values."""
        ends: dict[str, Json] = {"estimate": self.estimate, "low": self.low, "high": self.high, "level": self.level}
        return stamped("interval", 1, {"statistic": self.statistic, **ends, "by": self.by, "covers": self.covers})

    def report(self) -> Report:
        """Return the estimate, the ends, how they were found and what they cover."""
        numbers_shown = Terms(
            (
                ("estimate", rounded(self.estimate, 4)),
                (f"{percent(self.level)} interval", self.ends),
                ("found by", self.by),
            )
        )
        title = self.statistic[:1].upper() + self.statistic[1:]
        return Report(title, "Interval", sections=(Section(parts=(numbers_shown, Prose(self.covers))),))


@dataclass(frozen=True, eq=False)
class Band(Result):
    """Lower and upper limits of the cumulative probability of every count, or of the probability of every value.

    Attributes
    ----------
    low, high
        One number for each value.
    level
        How often the band is meant to contain the truth: at each value, or at all of them if ``simultaneous``.
    simultaneous
        Whether the level is for all values at once.
    of
        "cdf" for cumulative probabilities, "cells" for those of single values.
    space
        The values.

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
    of: str
    space: Space

    @property
    def covers(self) -> str:
        """Whose values it covers, and how that is known."""
        noun = "count" if self.of == "cdf" else "value"
        where = f"holds at all {noun}s at once" if self.simultaneous else f"holds at each {noun} by itself"
        return f"The level of {percent(self.level)} {where}. {COVERS}"

    def to_json(self) -> dict[str, Json]:
        """Return the limits as plain JSON values."""
        return stamped(
            "band",
            1,
            {
                "of": self.of,
                "level": self.level,
                "simultaneous": self.simultaneous,
                "values": [self.space.value(k) for k in range(len(self.low))],
                "low": self.low.tolist(),
                "high": self.high.tolist(),
                "covers": self.covers,
            },
        )

    def report(self) -> Report:
        """Return the limits at the first values, and what they cover."""
        what = "cumulative probabilities" if self.of == "cdf" else "probabilities of single values"
        shown = range(min(len(self.low), MAX_BAND_ROWS))
        rows = tuple((str(self.space.value(k)), f"{self.low[k]:.4f}", f"{self.high[k]:.4f}") for k in shown)
        table = TextTable((self.space.noun, "low", "high"), rows, (1, 2), total=len(self.low), compact=True)
        parts = (Prose(self.covers), table)
        return Report(f"{percent(self.level)} band for {what}", "Band", sections=(Section(parts=parts),))


@dataclass(frozen=True)
class IntervalInputs:
    """The inputs of all intervals of an estimate.

    Attributes
    ----------
    likelihood, top
        The likelihood and its maximum.
    unbiased
        For weights of reports, one of each stratum (or one for all).
    shares
        Of the people in each stratum.
    """

    likelihood: Profiled
    top: SolverResult
    unbiased: tuple[Unbiased, ...]
    shares: tuple[float, ...] = (1.0,)

    @property
    def people(self) -> int:
        return self.likelihood.problem.people

    def everywhere(self, f: FloatArray) -> FloatArray:
        """Return a statistic of the values as one of the values in every stratum."""
        return np.tile(f, len(self.shares)) if len(self.shares) > 1 else f

    def interval(self, f: FloatArray, level: float, surveys: int) -> tuple[float, float, str]:
        """Return the ends of an interval of f.p, and how they were found."""
        tiled, around = self.everywhere(f), float(self.everywhere(f) @ self.top.p)
        if surveys:
            low, high = intervals.ends(self.likelihood, self.top, tiled, level, surveys)
            return low, high, "calibrated profile likelihood"
        possible = (float(f.min()), float(f.max()))
        unbiased = self._unbiased(f, level)
        unbiased = moved(unbiased, possible) if self.cells is not None else reaching(unbiased, possible)
        if unbiased is not None and self._unbiased_is_shorter(unbiased, tiled, level):
            return within(unbiased, possible, around)
        low, high = intervals.ends(self.likelihood, self.top, tiled, level, 0)
        if unbiased is not None and unbiased[1] - unbiased[0] <= self.margin * (high - low):
            return within(unbiased, possible, around)
        return low, high, "profile likelihood"

    def profiled(self, f: FloatArray, level: float, surveys: int) -> bool:
        """Return whether an interval of f.p is always the profile's, so that its ends can be found one by one."""
        unbiased = None if surveys else self._unbiased(f, level)
        return unbiased is None or self._profile_is_shorter(unbiased, f)

    def profile_end(self, f: FloatArray, level: float, surveys: int, side: int) -> float:
        """Return the lower end (side = 1) or the upper (side = -1) of the profile's interval."""
        return intervals.calibrated(self.likelihood, self.top, self.everywhere(f), level, side, surveys)

    def variance(self, x: FloatArray, level: float, surveys: int) -> tuple[float, float, str]:
        """Return the ends of an interval of the variance of x, and how they were found.

        The unbiased estimate is of the mean square around the estimated mean; the variance is smaller by the square of
        the error of that mean, which is of second order.
        """
        tiled = self.everywhere(x)
        mean = float(tiled @ self.top.p)
        around = float((tiled - mean) ** 2 @ self.top.p)

        centre = None if surveys else self._estimated(x)
        possible = (0.0, float(np.ptp(x)) ** 2 / 4)
        unbiased = None if centre is None else reaching(self._unbiased((x - centre) ** 2, level), possible)
        if unbiased is not None and self._unbiased_is_shorter(unbiased, (tiled - mean) ** 2, level):
            return within(unbiased, possible, around)
        ends = intervals.variance_ends(self.likelihood, self.top, tiled, level, surveys)
        if unbiased is not None and unbiased[1] - unbiased[0] <= self.margin * (ends[1] - ends[0]):
            return within(unbiased, possible, around)
        low, high, _ = within(ends, possible, around)
        return low, high, "calibrated profile likelihood" if surveys else "profile likelihood"

    @cached_property
    def margin(self) -> float:
        """How many times longer than the profile's an interval may be to be preferred.

        Profiles are trusted where noise stays near the truth, and not at all under randomised response (where they
        held the truth in as few as 79% of the surveys).
        """
        kernels = [part for group in self.likelihood.problem.groups for part in group.kernel.factors]
        if all(kernel.scatters for kernel in kernels):
            return math.inf
        return 1.0 if all(kernel.stays_near for kernel in kernels) else PROFILE_ADVANTAGE

    @property
    def cells(self) -> SingleShares | None:
        """For one group with projective response, whose profiles take long: what single shares rest on."""
        return self.unbiased[0].cells if len(self.unbiased) == 1 else None

    def _unbiased_is_shorter(self, unbiased: tuple[float, float], f: FloatArray, level: float) -> bool:
        """Return whether the profile's interval is longer, as far as is known without working it out."""
        if math.isinf(self.margin):
            return True
        if self._profile_is_shorter(unbiased, f):
            return False
        rough = intervals.rough_length(self.likelihood, self.top, f, level)
        return unbiased[1] - unbiased[0] <= SURE_SHARE * self.margin * rough

    def _profile_is_shorter(self, unbiased: tuple[float, float], f: FloatArray) -> bool:
        """Return whether the profile's interval is the shorter one at its longest."""
        return unbiased[1] - unbiased[0] > self.margin * float(np.ptp(f))

    def _weights(self, f: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return the share of every output, and weights of the outputs whose mean is unbiased."""
        parts = [one.weights(f) for one in self.unbiased]
        if any(part is None for part in parts):
            return None
        shares = [share * one.shares for share, one in zip(self.shares, self.unbiased, strict=True)]
        return np.concatenate(shares), np.concatenate(parts)  # type: ignore[arg-type]

    def _estimated(self, f: FloatArray) -> float | None:
        unbiased = self._weights(f)
        return None if unbiased is None else float(unbiased[0] @ unbiased[1])

    def _unbiased(self, f: FloatArray, level: float) -> tuple[float, float] | None:
        alone = None if self.cells is None else self.cells.outcomes(f)
        if alone is not None:
            return self._around(*alone, level)
        unbiased = self._weights(f)
        if unbiased is None:
            return None
        u = np.concatenate([share * one.chances for share, one in zip(self.shares, self.unbiased, strict=True)])
        return self._around(*unbiased, u, level)

    def _around(self, q: FloatArray, g: FloatArray, u: FloatArray, level: float) -> tuple[float, float]:
        # outputs that did not occur count in the one, and those that should not have in the other
        reports = min(moments.effective(chances, g, self.people) for chances in (q, u))
        return moments.ends(q, g, self.people, moments.quantile(level, reports))


@dataclass(frozen=True, eq=False)
class Answers(Reconstruction):
    """A reconstruction that can be asked for intervals and bands."""

    @property
    def _interval_inputs(self) -> IntervalInputs:
        raise NotImplementedError

    _surveys = staticmethod(intervals.read_surveys)

    @property
    def cells_are_quick(self) -> bool:
        """True if an interval for one share takes no longer where there are many values."""
        return self._interval_inputs.cells is not None

    def interval(self, statistic: Any = "mean", level: float = 0.95, *, surveys: int = 0) -> Interval:
        """Return an interval for something that follows from the distribution.

        It is around the unbiased estimate or by profile likelihood, whichever is shorter (``by`` says which it was).
        Under randomised response it is always the former. With every method of estimation, intervals come from
        the reports and the mechanism alone.

        Parameters
        ----------
        statistic
            "mean", "variance", ("cdf", x): P(at most x), ("quantile", q), ("range", a, b): P(a to b, both included),
            ("cell", value): P(value), ("among", [values]), ("count", value): the expected number of people with that
            value; or weights f, one number for each true value, for the sum of f_i p_i.
        level
            How often such intervals are meant to contain the true value.
        surveys
            With 19 or more: take the profile likelihood, and the quantile of its deviance from this many simulated
            surveys instead of from a table. A hundred times slower.

        Examples
        --------
        >>> import discreet as dc
        >>> e = dc.estimate([60, 25, 15, 30], dc.geometric(3, epsilon=1))
        >>> print(e.interval(("cdf", 1)))
        P(at most 1): 0.7247, 95% interval 0.5702 to 0.872
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
            order = read_share(statistic[1], meant("q", "the order of a quantile"), inside=True)
            return self._quantile(order, level, times)
        if kind == "count" and len(statistic) == 2:
            chosen = self.people * indicator(self.space, ("cell", statistic[1]))
            return self._linear(chosen, level, times, f"expected number of people with {statistic[1]!r}")
        words = {
            "cdf": "P(at most {1})", "range": "P({1} to {2})", "cell": "P({1})", "among": "P(one of {1})",
        }  # fmt: skip
        chosen = indicator(self.space, statistic)
        return self._linear(chosen, level, times, words[str(kind)].format(*statistic))

    def _linear(self, f: FloatArray, level: float, surveys: int, words: str) -> Interval:
        inputs = self._interval_inputs
        low, high, by = inputs.interval(f, level, surveys)
        return Interval(low, high, float(inputs.everywhere(f) @ inputs.top.p), level, words, by)

    def _variance(self, level: float, surveys: int) -> Interval:
        x = numbers(self.space, "an interval for the variance")
        low, high, by = self._interval_inputs.variance(x, level, surveys)
        x, p = self._interval_inputs.everywhere(x), self._interval_inputs.top.p
        return Interval(low, high, float(p @ (x - p @ x) ** 2), level, "variance", by)

    def _quantile(self, q: float, level: float, surveys: int) -> Interval:
        """Return the numbers whose interval for P(at most x) leaves q possible, and for P(less than x) less than q."""
        size = len(numbers(self.space, "an interval for a quantile"))

        inputs = self._interval_inputs
        interval = cache(lambda k: inputs.interval(at_most(k, size), level, surveys))

        def limit(k: int, side: int) -> float:
            if k == size - 1:
                return 1.0
            if inputs.profiled(at_most(k, size), level, surveys):
                return inputs.profile_end(at_most(k, size), level, surveys, side)
            least, most, _ = interval(k)
            return least if side > 0 else most

        low = bisect_left(range(size - 1), True, key=lambda k: limit(k, -1) >= q)
        high = bisect_left(range(size - 1), True, key=lambda k: limit(k, 1) >= q)
        # ends around unbiased estimates may fall from one count to the next: look one further
        while low > 1 and limit(low - 2, -1) >= q:
            low -= 2
        while high < size - 1 and limit(high + 1, 1) < q:
            high += 2
        p = inputs.top.p.reshape(-1, size).sum(axis=0)
        centre = int(np.flatnonzero(np.cumsum(p) >= q - SUM_ACCURACY)[0])
        by = interval(min(high, size - 2))[2] if size > 1 else "profile likelihood"
        least, most, middle = (self.space.value(place) for place in (min(low, centre), max(high, centre), centre))
        return Interval(least, most, middle, level, quantile_name(q), by)

    def band(
        self,
        level: float = 0.95,
        *,
        simultaneous: bool = False,
        points: int = MAX_BAND_POINTS,
        surveys: int = 0,
        of: Literal["cdf", "cells"] = "cdf",
    ) -> Band:
        """Return limits of the cumulative probability of every count, or of the probability of every value.

        Parameters
        ----------
        level
            How often the band is meant to contain the truth: at each value, or, with ``simultaneous``, at all at once.
        simultaneous
            Share the error among the places the band is worked out at (Bonferroni). Between them a cumulative one
            holds because cumulative probabilities never fall.
        points
            At how many counts to work out a cumulative band. Fewer give a simultaneous band that is narrower at these
            counts and wider between them.
        surveys
            As for :meth:`interval`.
        of
            "cdf": P(at most x) of every count x. "cells": P(x) of every value x, one interval for each.

        Examples
        --------
        >>> import discreet as dc
        >>> e = dc.estimate([60, 25, 15, 30], dc.geometric(3, epsilon=1))
        >>> bool((e.band().low <= e.cdf() + 1e-12).all())
        True
        """
        level = read_share(level, "level", inside=True)
        times = self._surveys(surveys)
        if of not in ("cdf", "cells"):
            raise InvalidInput.must_be("of", "'cdf' (cumulative) or 'cells' (single values)", of)
        if points < 2:
            raise InvalidInput.must_be("points", "at least 2 for a band", points)
        if of == "cells":
            return self._cells(level, simultaneous, times)
        size = len(numbers(self.space, "a cumulative band"))
        places = self._spread(size, points)
        each = 1 - (1 - level) / len(places) if simultaneous and places else level
        ends = [self._interval_inputs.interval(at_most(k, size), each, times)[:2] for k in places]
        low, high = np.array([(0.0, 0.0), *ends, (1.0, 1.0)]).T
        if simultaneous:  # all of them hold at once, so that each may use the others
            low, high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
        edges, counts = [-1, *places, size - 1], np.arange(size)
        below, above = np.searchsorted(edges, counts, side="right") - 1, np.searchsorted(edges, counts)
        return Band(low[below], high[above], level, simultaneous, "cdf", self.space)

    def _cells(self, level: float, simultaneous: bool, surveys: int) -> Band:
        size = len(self.distribution)
        each = 1 - (1 - level) / size if simultaneous else level
        inputs = self._interval_inputs
        if inputs.cells is not None and not surveys:
            low, high = inputs.cells.limits(self.people, each, inputs.top.p)
            return Band(low, high, level, simultaneous, "cells", self.space)
        ends = [self._interval_inputs.interval(row, each, surveys)[:2] for row in np.eye(size)]
        low, high = np.array(ends).T
        return Band(low, high, level, simultaneous, "cells", self.space)

    def _spread(self, size: int, points: int) -> list[int]:
        """Return counts spread evenly, half of them over the range and half over the probability."""
        if size - 1 <= points:
            return list(range(size - 1))
        evenly = np.linspace(0, size - 2, points // 2).round().astype(int)
        total = np.cumsum(self._interval_inputs.top.p.reshape(-1, size).sum(axis=0))
        likely = np.searchsorted(total, np.linspace(0.01, 0.99, points - points // 2))
        return sorted({int(k) for k in [*evenly, *np.minimum(likely, size - 2)]})
