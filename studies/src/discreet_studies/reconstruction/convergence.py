"""Figure 4 of [F]: the log-likelihood after each update, and what is missing from its certified maximum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from discreet.estimation.methods import PAPER_ITERATIONS, estimate
from discreet.exact.arrays import FloatArray
from discreet.plots.chart import STROKES, Chart, Spec, finish, series
from discreet.utility import kantorovich
from discreet.wording import percent, rounded

from ..claims import Claim, judge
from ..laws import binomial
from ..means import Mean
from ..study import ExhibitResult, Row, Setting
from ..tables import significant
from .surveys import (
    BINOMIAL,
    CHOICES,
    GEOMETRIC,
    LARGEST,
    POINTS,
    RESPONSE,
    UPDATES,
    Surveys,
    draw,
    mechanisms,
    shapes,
)

PEOPLE = 100_000

#: How many updates the paper says are enough.
PRINTED = 10

#: A distribution lacks more than chance explains if it lacks this much log-likelihood in all: half of the 95% quantile
#: of chi-square with one degree of freedom, the least that a likelihood ratio test could hold against it.
NOTICEABLE = 1.92

#: A gap of at most this proves a maximum of the likelihood.
CERTIFIED = 1e-8

_PLACE = "[F] section 4.1, figure 4"


@dataclass(frozen=True)
class EarlyStop:
    """What ten updates reach, over several perturbations of the same people.

    Attributes
    ----------
    missing
        The log-likelihood of all reports that is missing from the certified maximum.
    share
        Which part of the rise from the uniform distribution to the maximum was made.
    distance
        The Kantorovich distance from the truth.
    runs, inverses
        How many perturbations there were, and in how many of them q G^-1 has no negative entry.
    """

    missing: Mean
    share: Mean
    distance: Mean
    runs: int
    inverses: int


@dataclass(frozen=True, eq=False)
class Climb:
    """The log-likelihood of all reports after each update of one run, its certified maximum, and several short runs.

    Attributes
    ----------
    heights
        The log-likelihood after 0, 1, 2, ... updates.
    top, gap
        The largest log-likelihood, and how much more of it there is at most.
    early
        Several runs of ten updates.
    late_distance
        The Kantorovich distance from the truth after all updates, over the same reports.
    """

    heights: FloatArray
    top: float
    gap: float
    early: EarlyStop
    late_distance: Mean

    @property
    def missing(self) -> FloatArray:
        """What is missing from the maximum after each update, in all reports together."""
        return np.maximum(self.top - self.heights, 0.0)

    def share(self, updates: int) -> float:
        """Return which part of the whole rise from the uniform distribution to the maximum these updates make."""
        return float(1 - self.missing[updates] / self.missing[0])

    def needed(self, missing: float) -> int | None:
        """Return the number of updates after which at most this share is missing, or None."""
        enough = np.flatnonzero(self.missing <= missing)
        return int(enough[0]) if len(enough) else None


def draw_convergence(setting: Setting) -> ExhibitResult:
    """Draw one long run for each shape and mechanism, and several short ones."""
    times, repeats = PAPER_ITERATIONS, setting.pick(5, 20)
    climbs: dict[tuple[str, str], Climb] = {}
    for shape, population in shapes().items():
        for name, m in mechanisms().items():
            climbs[shape, name] = _climb(draw(setting, m, population, PEOPLE, repeats, shape), times)
    grid = _grid(times)
    table: list[Row] = [
        {
            "distribution": shape, "mechanism": name, "updates": k,
            "log_likelihood_per_report": significant(float(climb.heights[k]) / PEOPLE),
            "missing_in_all": significant(float(climb.missing[k])),
            "share_of_the_rise": significant(climb.share(k)),
        }
        for (shape, name), climb in climbs.items()
        for k in grid
    ]  # fmt: skip
    charts = {"": _heights_chart(climbs), "missing": _missing_chart(climbs, grid)}
    return ExhibitResult(
        charts,
        {"": table},
        _claims(climbs, times),
        (
            *CHOICES,
            f"{PEOPLE:,} people. The charts show one run for each shape and mechanism; claims rest on {repeats}.",
        ),
    )


def _climb(surveys: Surveys, times: int) -> Climb:
    mechanism = surveys.mechanism
    run = estimate(surveys.reports[0], mechanism, method="ibu", iterations=times)
    best = estimate(surveys.reports[0], mechanism, method="mle")
    return Climb(
        heights=np.array([step.log_likelihood for step in run.trace]),
        top=best.log_likelihood,
        gap=best.gap * PEOPLE,
        early=_stop_early(surveys),
        late_distance=Mean.of(surveys.distances(UPDATES, surveys.population)),
    )


def _stop_early(surveys: Surveys) -> EarlyStop:
    missing, shares, distances, inverses = [], [], [], 0
    mechanism = surveys.mechanism
    for counts in surveys.reports:
        few = estimate(counts, mechanism, method="ibu", iterations=PRINTED)
        top = estimate(counts, mechanism, method="mle").log_likelihood
        missing.append(top - few.log_likelihood)
        shares.append(1 - missing[-1] / (top - few.trace[0].log_likelihood))
        distances.append(kantorovich(few.distribution, surveys.population, mechanism.inputs))
        inverses += int(estimate(counts, mechanism, method="inverse").distribution.min() >= 0)
    return EarlyStop(Mean.of(missing), Mean.of(shares), Mean.of(distances), len(surveys.reports), inverses)


def _grid(times: int) -> list[int]:
    """Return the numbers 0 to 10, then about twenty numbers for each power of ten."""
    further = np.unique(np.geomspace(PRINTED, times, round(20 * math.log10(times / PRINTED))).round().astype(int))
    return [*range(PRINTED), *further.tolist()]


def _claims(climbs: Mapping[tuple[str, str], Climb], times: int) -> tuple[Claim, ...]:
    def describe(name: str) -> str:
        return "; ".join(
            f"{shape}: {percent(climb.early.share.value)} of the rise, {climb.early.missing} units of "
            f"log-likelihood still missing, and less than the {NOTICEABLE:g} that a test can notice only after "
            f"{_after(climb, times)}"
            for (shape, one), climb in climbs.items()
            if one == name
        )

    geometric = [climb for (_, name), climb in climbs.items() if name == GEOMETRIC]
    response = [climb for (_, name), climb in climbs.items() if name == RESPONSE]
    close = all(climb.early.missing.low <= NOTICEABLE for climb in geometric)
    moves = "; ".join(
        f"{shape} {climb.early.distance}, then {climb.late_distance}"
        for (shape, name), climb in climbs.items()
        if name == GEOMETRIC
    )
    # a straight line through the first ten updates, against what the climb does
    bent = [
        float(climb.missing[0] - climb.missing[1]) / float(climb.missing[0] - climb.missing[PRINTED])
        for climb in response
    ]
    rising = all(
        float(np.diff(climb.heights).min()) >= -1e-9 * abs(float(climb.heights[0])) for climb in climbs.values()
    )
    below = all(float(climb.heights.max()) <= climb.top + climb.gap + 1e-6 for climb in climbs.values())
    runs = sum(climb.early.runs for climb in climbs.values())
    inverses = sum(climb.early.inverses for climb in climbs.values())
    invertible, gap = _inverse_as_estimate()
    return (
        Claim(
            "figure 4: within ten updates",
            _PLACE,
            "For the geometric mechanism the updates come close to the maximum of the likelihood within 10 iterations.",
            f"After {PRINTED} updates, {describe(GEOMETRIC)}. Kantorovich distance from the truth after {PRINTED} and "
            f"after {times:,}: {moves}.",
            judge(close),
            "The first updates make most of the rise, which is what the eye sees in the figure; what is left is far "
            "more than chance explains.",
        ),
        Claim(
            "figure 4: k-RR is almost flat",
            _PLACE,
            "For k-RR the convergence is linear and almost flat.",
            f"The first update makes {', '.join(percent(one) for one in bent)} of the rise of the first ten (a "
            f"straight line: 10%). After {PRINTED} updates, {describe(RESPONSE)}. The whole rise is "
            + ", ".join(f"{rounded(float(climb.missing[0]) / PEOPLE)}" for climb in response)
            + " per report, against "
            + ", ".join(f"{rounded(float(climb.missing[0]) / PEOPLE)}" for climb in geometric)
            + " for the geometric mechanism.",
            judge(
                max(climb.missing[0] for climb in response) < min(climb.missing[0] for climb in geometric),
                corrected=not all(0.05 <= one <= 0.2 for one in bent),
            ),
            "Flat, because reports of k-RR hold so little information that the whole rise is small.",
        ),
        Claim(
            "theorem 1",
            "[F] theorem 1",
            "The updates converge, and their limit is the maximum likelihood estimate.",
            "No update lowers the log-likelihood, and none exceeds the certified maximum." if rising and below else
            "An update lowers the log-likelihood, or exceeds the certified maximum.",
            judge(rising and below),
            f"The limit is far away: after {times:,} updates between "
            f"{rounded(min(float(c.missing[-1]) for c in climbs.values()))} and "
            f"{rounded(max(float(c.missing[-1]) for c in climbs.values()))} units of log-likelihood are missing.",
        ),
        Claim(
            "proposition 3",
            "[F] proposition 3",
            "If q G^-1 is a probability distribution, it is the maximum likelihood estimate.",
            "For reports in the very shares that half a binomial and half a uniform population make likely, q G^-1 is "
            f"a distribution, and its certificate says that it lacks at most {rounded(max(gap, 1e-12))} log-likelihood "
            f"per report. At the paper's setting it is one in {inverses} of {runs} runs; in the others it has negative "
            "entries.",
            judge(invertible and gap <= CERTIFIED, corrected=inverses == 0),
            "True, and of no use at this setting: chance in the shares of the reports makes entries negative.",
        ),
    )  # fmt: skip


def _inverse_as_estimate() -> tuple[bool, float]:
    """Return reports whose inverse is a distribution: whether it is, and the gap of its likelihood."""
    mechanism = mechanisms()[GEOMETRIC]
    population = (binomial(LARGEST, 0.5) + 1 / (LARGEST + 1)) / 2
    counts = np.rint(1e12 * mechanism.forward(population)).astype(np.int64)
    inverse = estimate(counts, mechanism, method="inverse")
    return bool(inverse.distribution.min() >= 0), inverse.gap


def _after(climb: Climb, times: int) -> str:
    needed = climb.needed(NOTICEABLE)
    return f"more than {times:,} updates" if needed is None else f"{needed:,} updates"


def _heights_chart(climbs: Mapping[tuple[str, str], Climb]) -> Chart:
    most = 50
    rows = [
        {
            "name": name,
            "shape": shape,
            "updates": k,
            "height": float(f"{(climb.heights[k] - climb.heights[0]) / PEOPLE:.6g}"),
        }
        for (shape, name), climb in climbs.items()
        for k in range(most + 1)
    ]
    x = {"field": "updates", "type": "quantitative", "title": "updates"}
    y = {
        "field": "height",
        "type": "quantitative",
        "title": "log-likelihood per report, gained",
        "axis": {"tickCount": 5},
    }
    panel: Spec = {
        "mark": "line",
        "encoding": {"x": x, "y": y, **series((GEOMETRIC, RESPONSE), "color", "strokeDash", legend=STROKES)},
        "width": 260,
        "height": 200,
    }
    facet = {"column": {"field": "shape", "type": "nominal", "title": None, "sort": [BINOMIAL, POINTS]}}
    return finish(
        {"data": {"values": rows}, "facet": facet, "spec": panel, "resolve": {"scale": {"y": "independent"}}},
        "The first updates make most of the rise",
        f"Log-likelihood per report above that of the uniform distribution, over the first {most} updates, {PEOPLE:,} "
        "people. For k-RR the whole rise is small.",
        width=2 * 280 + 130,
    )


def _missing_chart(climbs: Mapping[tuple[str, str], Climb], grid: list[int]) -> Chart:
    rows = [
        {"name": name, "shape": shape, "updates": k, "missing": float(f"{climb.missing[k]:.6g}")}
        for (shape, name), climb in climbs.items()
        for k in grid
        if k > 0 and climb.missing[k] > max(climb.gap, 1e-4)
    ]
    x = {
        "field": "updates", "type": "quantitative", "title": "updates", "scale": {"type": "log", "nice": False},
        "axis": {"values": [10**k for k in range(4)], "format": ",~r"},
    }  # fmt: skip
    y = {
        "field": "missing", "type": "quantitative", "title": "log-likelihood missing, all reports",
        "scale": {"type": "log"}, "axis": {"values": [10**k for k in range(-2, 6)], "format": ",~r"},
    }  # fmt: skip
    line: Spec = {
        "mark": "line",
        "encoding": {"x": x, "y": y, **series((GEOMETRIC, RESPONSE), "color", "strokeDash", legend=STROKES)},
    }
    limit: Spec = {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "color": "#888888", "strokeDash": [3, 3]},
        "encoding": {"y": {"datum": NOTICEABLE, "type": "quantitative"}},
    }
    facet = {"column": {"field": "shape", "type": "nominal", "title": None, "sort": [BINOMIAL, POINTS]}}
    return finish(
        {"data": {"values": rows}, "facet": facet, "spec": {"layer": [line, limit], "width": 260, "height": 200}},
        "Ten updates are far from the maximum",
        f"What is missing from the certified maximum of the log-likelihood of all {PEOPLE:,} reports. Below the dashed "
        f"line ({NOTICEABLE:g}) a likelihood ratio test cannot tell the two apart.",
        width=2 * 280 + 130,
    )
