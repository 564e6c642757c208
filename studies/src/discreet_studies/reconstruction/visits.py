"""The claims of [F] on real data that comes with the package: visits to the doctor."""

from __future__ import annotations

import math

import numpy as np

from discreet.exact.arrays import IntArray
from discreet.plots.chart import DARK, PALE, STROKES, WIDTH, Chart, Spec, finish, series

from ..claims import Claim, judge
from ..means import Mean
from ..study import ExhibitResult, Row, Setting
from ..tables import significant
from .surveys import DEFAULT, ESTIMATES, GEOMETRIC, MAXIMUM, RESPONSE, UPDATES, Surveys, mechanisms, repeat

#: Largest number of visits in charts; few people have more.
MAX_VISITS_IN_CHART = 30

_PLACE = "[F] section 4.1, on other data"


def first_year(setting: Setting) -> IntArray:
    """Return how many people had 0, 1, 2, ... visits in their first year: one row for each person."""
    table = setting.datasets.doctor_visits()
    visits = [int(v) for v, year in zip(table["doctor_visits"], table["year"], strict=True) if year == "1"]
    return np.bincount(visits, minlength=max(map(int, table["doctor_visits"])) + 1)


def draw_visits(setting: Setting) -> ExhibitResult:
    """Draw three reconstructions of the same people, who report repeatedly."""
    counts, repeats = first_year(setting), setting.pick(4, 20)
    truth = counts / counts.sum()
    surveys = {
        name: repeat(setting, m, truth, counts, repeats, "visits") for name, m in mechanisms(len(counts) - 1).items()
    }
    means = {
        (name, which): Mean.of(one.distances(which, truth)) for name, one in surveys.items() for which in ESTIMATES
    }
    distances: list[Row] = [
        {
            "mechanism": name,
            "people": int(counts.sum()),
            "estimate": which,
            "repeats": repeats,
            **mean.columns("kantorovich"),
        }
        for (name, which), mean in means.items()
    ]
    curves: list[Row] = [
        {
            "mechanism": name, "visits": k, "truth": significant(float(truth[k])),
            "reports": significant(float(one.reports[one.typical, k] / one.people)),
            **{which: significant(float(one.estimates(which)[one.typical, k])) for which in ESTIMATES},
        }
        for name, one in surveys.items()
        for k in range(len(counts))
    ]  # fmt: skip
    choices = (
        "The data is not the paper's: visits to the doctor in the first year of the RAND Health Insurance Experiment, "
        f"{counts.sum():,} people with one value each, 0 to {len(counts) - 1}.",
        "Both mechanisms are calibrated as in the paper: a ratio of 2 within 10 visits, and everywhere.",
    )
    claims = _claims(means, int(counts.sum()))
    return ExhibitResult({"": _chart(surveys)}, {"": distances, "curves": curves}, claims, choices)


def _claims(means: dict[tuple[str, str], Mean], people: int) -> tuple[Claim, ...]:
    ratios = {which: means[RESPONSE, which] / means[GEOMETRIC, which] for which in ESTIMATES}
    holds = means[GEOMETRIC, UPDATES].below(means[RESPONSE, UPDATES])
    parts = "; ".join(
        f"{which}: geometric {means[GEOMETRIC, which]}, k-RR {means[RESPONSE, which]}" for which in ESTIMATES
    )
    return (
        Claim(
            "visits: geometric is nearer",
            _PLACE,
            "The mean Kantorovich distance is lower for the geometric mechanism than for k-RR.",
            f"Visits of {people:,} people. {parts}. The ratio is {ratios[UPDATES]}, {ratios[MAXIMUM]} and "
            f"{ratios[DEFAULT]}.",
            judge(holds),
        ),
    )


def _chart(surveys: dict[str, Surveys]) -> Chart:
    highest = max(float(one.estimates(which)[one.typical].max()) for one in surveys.values() for which in ESTIMATES)
    top = math.ceil(10 * highest) / 10
    panels: list[Spec] = []
    for name, one in surveys.items():
        bars = [{"visits": k, "probability": float(f"{one.population[k]:.6g}")} for k in range(MAX_VISITS_IN_CHART + 1)]
        lines = [
            {"visits": k, "name": which, "probability": float(f"{one.estimates(which)[one.typical, k]:.6g}")}
            for which in ESTIMATES
            for k in range(MAX_VISITS_IN_CHART + 1)
        ]
        x = {
            "field": "visits",
            "type": "quantitative",
            "title": "visits",
            "scale": {"domain": [0, MAX_VISITS_IN_CHART], "nice": False},
        }
        y = {
            "field": "probability",
            "type": "quantitative",
            "title": "probability",
            "scale": {"domain": [0, top]},
        }
        truth: Spec = {
            "data": {"values": bars},
            "mark": {"type": "bar", "color": PALE, "width": 8, "stroke": DARK, "strokeWidth": 0.3},
            "encoding": {"x": x, "y": y},
        }
        layer: Spec = {
            "data": {"values": lines},
            "mark": {"type": "line", "strokeWidth": 1.5, "clip": True},
            "encoding": {"x": x, "y": y, **series(ESTIMATES, "color", "strokeDash", legend=STROKES)},
        }
        panels.append({"title": {"text": name, "fontSize": 13}, "layer": [truth, layer], "width": WIDTH, "height": 190})
    return finish(
        {"vconcat": panels, "spacing": 24},
        "Visits to the doctor: geometric noise leaves their shape, k-RR hardly anything",
        f"Bars: the true distribution of {surveys[GEOMETRIC].people:,} people. Lines: a typical run; the maximum of "
        "the likelihood is a comb, the default estimate is not. Each person has one value, so this protects a person.",
        width=WIDTH + 200,
    )
