"""Figure 1 of [F] and its section 4: what the two mechanisms report for 50, and how equally private they are."""

from __future__ import annotations

import math

import numpy as np

from discreet.exact.arrays import FloatArray
from discreet.mechanism import Mechanism
from discreet.optimise.improve.calibration import calibrate
from discreet.plots.chart import QUIET, STROKES, WIDTH, Chart, Spec, finish, series
from discreet.privacy.verify import verify
from discreet.wording import rounded

from ..claims import Claim, judge
from ..study import ExhibitResult, Row, Setting
from ..tables import significant
from .surveys import GEOMETRIC, LARGEST, RADIUS, RESPONSE, mechanisms

#: The true value of figure 1.
TRUTH = 50

#: How far a measured ratio may lie from the printed one: epsilons are rationals near the logarithms.
CLOSE = 1e-9

_PLACE = "[F] section 4"


def draw_likelihoods(setting: Setting) -> ExhibitResult:
    """Return what is reported for 50, and the largest likelihood ratio between truths at each distance."""
    by_name = mechanisms()
    ratios = {name: largest_ratios(m) for name, m in by_name.items()}
    reports: list[Row] = [
        {"mechanism": name, "report": y, "probability": significant(p)}
        for name, m in by_name.items()
        for y, p in enumerate(m.matrix[TRUTH].tolist())
    ]
    apart: list[Row] = [
        {"mechanism": name, "distance": d, "ratio": significant(ratio)}
        for name, line in ratios.items()
        for d, ratio in enumerate(line.tolist())
        if d
    ]
    return ExhibitResult(
        {"": _reports_chart(reports), "ratios": _ratios_chart(apart)},
        {"": reports, "ratios": apart},
        _claims(by_name, ratios),
    )


def largest_ratios(mechanism: Mechanism) -> FloatArray:
    """Return the largest P(y | x) / P(y | x') over all reports y and truths with |x - x'| = d, for each d."""
    matrix = mechanism.matrix
    ratios = np.ones(len(matrix))
    for d in range(1, len(matrix)):
        ratios[d] = max(float((matrix[d:] / matrix[:-d]).max()), float((matrix[:-d] / matrix[d:]).max()))
    return ratios


def _claims(by_name: dict[str, Mechanism], ratios: dict[str, FloatArray]) -> tuple[Claim, ...]:
    response, geometric = ratios[RESPONSE], ratios[GEOMETRIC]
    fit = calibrate("geometric", LARGEST, likelihood_ratio=2, within=RADIUS)
    everywhere = calibrate("geometric", LARGEST, likelihood_ratio=2)
    flat = everywhere.mechanism.matrix[TRUTH, 1:-1]
    metric = verify(by_name[GEOMETRIC], "metric")
    local = {name: float(verify(m, "local").ratio) for name, m in by_name.items()}
    steep = calibrate("geometric", LARGEST, likelihood_ratio=2, within=1).mechanism
    adjacent = largest_ratios(steep)
    return (
        Claim(
            "figure 1: bound of k-RR",
            _PLACE,
            "k-RR with epsilon ln 2 bounds the likelihood ratio by 2, and every pair of different values attains it.",
            f"The exact largest ratio is {rounded(local[RESPONSE])}; at distances 1 to {LARGEST} it lies between "
            f"{rounded(float(response[1:].min()))} and {rounded(float(response[1:].max()))}.",
            judge(local[RESPONSE] == 2 and bool(np.allclose(response[1:], 2, rtol=CLOSE, atol=0))),
            "The printed bound `epsilon^(ln 2)` is e^(ln 2).",
        ),
        Claim(
            "figure 1: radius 10",
            _PLACE,
            "The geometric mechanism with epsilon ln 2 / 10 bounds the ratio by 2 within a radius of 10.",
            f"The largest epsilon with a ratio of at most 2 within {RADIUS} is {rounded(fit.epsilon, 6)}; ln 2 / 10 "
            f"is {rounded(math.log(2) / RADIUS, 6)}.",
            judge(abs(float(fit.epsilon) * RADIUS / math.log(2) - 1) < 1e-6),
        ),
        Claim(
            "figure 1: the whole range",
            _PLACE,
            "A ratio of 2 on the whole range needs an epsilon 100 times smaller than ln 2, and a very flat curve.",
            f"The largest such epsilon is {rounded(everywhere.epsilon, 6)}, ln 2 / "
            f"{rounded(math.log(2) / everywhere.epsilon, 5)}; for the truth {TRUTH}, reports 1 to {LARGEST - 1} have "
            f"probabilities from {rounded(float(flat.min()))} to {rounded(float(flat.max()))}.",
            judge(abs(math.log(2) / float(everywhere.epsilon) - LARGEST) < 1e-3),
            "The two ends of the range collect what lies beyond them, and are far likelier than any other report.",
        ),
        Claim(
            "figure 1: bound and distance",
            _PLACE,
            "With epsilon ln 2 the bound of the geometric mechanism is 2 for adjacent values and smaller for values "
            "further away.",
            "At distances 1, 2, 5 and 10 the largest ratio is "
            f"{', '.join(rounded(float(adjacent[d]), 4) for d in (1, 2, 5, 10))}.",
            judge(bool(adjacent[2] <= adjacent[1])),
            "The bound e^(epsilon d) grows with the distance d. What falls with it is the probability of the report.",
        ),
        Claim(
            "figure 1: equal privacy",
            _PLACE,
            "So calibrated, the two mechanisms have the same level of privacy.",
            f"Within {RADIUS} both bound the ratio by {rounded(float(geometric[RADIUS]))} and "
            f"{rounded(float(response[RADIUS]))}; beyond, that of the geometric mechanism grows, to "
            f"{rounded(local[GEOMETRIC], 4)} between 0 and {LARGEST}, where k-RR has {rounded(local[RESPONSE])}.",
            judge(
                abs(float(geometric[RADIUS]) / 2 - 1) < CLOSE,
                corrected=local[GEOMETRIC] > local[RESPONSE] * (1 + CLOSE),
            ),
            "Equal within the radius only. As local differential privacy the geometric mechanism has epsilon "
            f"{rounded(math.log(local[GEOMETRIC]))}, ten times that of k-RR.",
        ),
        Claim(
            "proposition 1",
            "[F] proposition 1",
            "The truncated geometric mechanism is epsilon-d-private for the distance between integers.",
            f"The exact least epsilon per unit of distance is {rounded(metric.epsilon, 8)}; ln 2 / 10 is "
            f"{rounded(math.log(2) / RADIUS, 8)}.",
            judge(metric.epsilon <= math.log(2) / RADIUS * (1 + CLOSE)),
        ),
    )


def _reports_chart(rows: list[Row]) -> Chart:
    names = [GEOMETRIC, RESPONSE]
    data = [{**row, "name": row["mechanism"]} for row in rows]
    x = {"field": "report", "type": "quantitative", "title": "report", "scale": {"domain": [0, LARGEST]}}
    y = {"field": "probability", "type": "quantitative", "title": f"probability for the truth {TRUTH}"}
    spec: Spec = {
        "data": {"values": data},
        "mark": {"type": "line", "interpolate": "step", "strokeWidth": 1.6},
        "encoding": {"x": x, "y": y, **series(names, "color", "strokeDash", legend=STROKES)},
        "width": WIDTH,
        "height": 240,
    }
    return finish(
        spec,
        f"Two mechanisms, one truth: what is reported for {TRUTH}",
        "Geometric noise (epsilon ln 2 / 10) stays near the truth; k-RR (epsilon ln 2) reports any other value alike. "
        "At the ends, geometric noise collects what would lie beyond them.",
        width=WIDTH + 130,
    )


def _ratios_chart(rows: list[Row]) -> Chart:
    names = [GEOMETRIC, RESPONSE]
    data = [{**row, "name": row["mechanism"]} for row in rows]
    x = {
        "field": "distance",
        "type": "quantitative",
        "title": "distance between two truths",
        "scale": {"domain": [0, LARGEST]},
    }
    y = {
        "field": "ratio", "type": "quantitative", "title": "largest likelihood ratio",
        "scale": {"type": "log", "base": 2, "domain": [1, 1024]},
        "axis": {"values": [2**k for k in range(11)], "format": "~r"},
    }  # fmt: skip
    lines: Spec = {"mark": "line", "encoding": {"x": x, "y": y, **series(names, "color", "strokeDash", legend=STROKES)}}
    radius: Spec = {
        "data": {"values": [{"distance": RADIUS}]},
        "mark": {"type": "rule", "color": QUIET, "strokeDash": [3, 3]},
        "encoding": {"x": x},
    }
    spec: Spec = {"data": {"values": data}, "layer": [radius, lines], "width": WIDTH, "height": 240}
    return finish(
        spec,
        "Equally private within 10 only",
        "How much likelier one truth can make a report than another, by their distance. The bounds agree at distance "
        f"{RADIUS} (dashed); beyond, geometric noise tells more.",
        width=WIDTH + 130,
    )
