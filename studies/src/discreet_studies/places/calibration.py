"""The calibration of [A]: an expected distance of 450 m, and how private that is."""

from __future__ import annotations

import math

import numpy as np

from discreet.exact.arrays import FloatArray
from discreet.mechanism import Mechanism
from discreet.optimise.improve.calibration import Calibration
from discreet.plots.chart import DARK, QUIET, STROKES, WIDTH, Chart, Spec, finish, series
from discreet.utility import probability_of_truth
from discreet.wording import percent, rounded

from ..claims import Basis, Claim, judge
from ..study import ExhibitResult, Row, Setting
from ..tables import significant
from .checkins import PRINTED as PRINTED_NUMBER
from .mechanisms import (
    CHOICES,
    DISTANCE,
    GEOMETRIC,
    LAPLACE,
    NAMES,
    PRINTED,
    RESPONSE,
    at_distance,
    at_epsilon,
    distances_by_cell,
)  # fmt: skip
from .square import CHOICES as SQUARE_CHOICES
from .square import EVENT_LEVEL, EVENTS, GRID, Square, square

_PLACE = "[A] section VI"


def draw_calibration(setting: Setting) -> ExhibitResult:
    """Draw expected distances at the printed epsilons, the epsilons at 450 m, and what they reveal."""
    area = square(setting)
    printed = {name: at_epsilon(name, epsilon) for name, epsilon in PRINTED.items()}
    by_cell = {name: distances_by_cell(m) for name, m in printed.items()}
    samples = setting.pick(200, 2_000)
    spreads = {name: _over_samples(setting, area, line, samples) for name, line in by_cell.items()}
    fitted = {name: at_distance(name, area.distribution) for name in NAMES}
    rows: list[Row] = [
        {
            "mechanism": name,
            "printed_epsilon": PRINTED[name],
            "metres_at_printed_epsilon": significant(float(by_cell[name] @ area.distribution)),
            "metres_low": significant(float(spreads[name][0])),
            "metres_high": significant(float(spreads[name][1])),
            "epsilon_at_450_m": significant(float(fitted[name].epsilon)),
            "metres_reached": significant(float(fitted[name].achieved)),
            "truth_reported": significant(_truth(fitted[name].mechanism, area)),
            "verified_epsilon": significant(fitted[name].mechanism.certificate.epsilon),
        }
        for name in NAMES
    ]
    ratios = {name: largest_logs(fitted[name].mechanism) for name in NAMES}
    apart: list[Row] = [
        {"mechanism": name, "metres": significant(metres), "log_ratio": significant(value)}
        for name, line in ratios.items()
        for metres, value in line
    ]
    charts = {"": _distances_chart(rows), "ratios": _ratios_chart(apart)}
    claims = _claims(area, rows, printed, fitted, ratios)
    choices = (
        *SQUARE_CHOICES,
        *CHOICES,
        f"The sample that the paper calibrates on is lost: {samples:,} others of {PRINTED_NUMBER} were drawn.",
    )
    return ExhibitResult(charts, {"": rows, "ratios": apart}, claims, choices)


def _over_samples(setting: Setting, area: Square, by_cell: FloatArray, samples: int) -> tuple[float, float]:
    """Return where the expected distance lies in 95% of random samples of 750 check-ins."""
    rng, metres = setting.generator("samples"), by_cell[area.cells]
    means = [float(metres[rng.choice(len(metres), PRINTED_NUMBER, replace=False)].mean()) for _ in range(samples)]
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def _truth(mechanism: Mechanism, area: Square) -> float:
    """Return how often the true cell is reported."""
    return float(np.asarray(probability_of_truth(mechanism), dtype=np.float64) @ area.distribution)


def largest_logs(mechanism: Mechanism) -> list[tuple[float, float]]:
    """Return, for distances along a row through the middle, the largest log-likelihood ratio over reports and truths.

    Truths lie as many cells apart, in the same row, wherever that row is.
    """
    logs = np.log(mechanism.matrix).reshape(GRID.rows, GRID.cols, GRID.size)
    lines = []
    for k in range(1, GRID.cols):
        lines.append((k * float(GRID.unit), float(np.abs(logs[:, k:] - logs[:, :-k]).max())))
    return lines


def _claims(
    area: Square,
    rows: list[Row],
    printed: dict[str, Mechanism],
    fitted: dict[str, Calibration],
    ratios: dict[str, list[tuple[float, float]]],
) -> tuple[Claim, ...]:
    by_name = {str(row["mechanism"]): row for row in rows}

    def number(name: str, column: str) -> float:
        return float(str(by_name[name][column]))

    claims = []
    for name in NAMES:
        reached, low, high = (number(name, key) for key in ("metres_at_printed_epsilon", "metres_low", "metres_high"))
        unit = "" if name == RESPONSE else " per metre"
        claims.append(
            Claim(
                f"calibration: {name}",
                _PLACE,
                f"An expected distance of {DISTANCE} m gives epsilon {PRINTED[name]:g}{unit} for {_ARTICLES[name]} "
                "mechanism.",
                f"At that epsilon the expected distance on the square is {rounded(reached)} m, and in 95% of samples "
                f"of {PRINTED_NUMBER} check-ins between {rounded(low)} and {rounded(high)} m. {DISTANCE} m need "
                f"epsilon {rounded(fitted[name].epsilon, 4)}{unit}.",
                judge(low <= DISTANCE <= high),
                ""
                if low <= DISTANCE <= high
                else "The paper's sample is lost; no random sample of this square explains the difference.",
            )
        )
    near = ratios[GEOMETRIC][0][1], ratios[RESPONSE][0][1]
    crossing = next(
        (metres for (metres, log), (_, flat) in zip(ratios[GEOMETRIC], ratios[RESPONSE], strict=True) if log >= flat),
        None,
    )
    where = "at no distance on the square" if crossing is None else f"from {crossing:,.0f} m on"
    truths = {name: number(name, "truth_reported") for name in NAMES}
    factors = {name: printed[name].certificate.epsilon / PRINTED[name] for name in (GEOMETRIC, LAPLACE)}
    apart = float(np.abs(fitted[GEOMETRIC].mechanism.matrix - fitted[LAPLACE].mechanism.matrix).sum(axis=1).max()) / 2
    return (
        *claims,
        Claim(
            "calibration: equal protection",
            "[A] section III, (2)",
            "The same expected distance means the same protection of privacy.",
            f"At {DISTANCE} m k-RR reports the true cell with probability {percent(truths[RESPONSE])}, the geometric "
            f"mechanism with {percent(truths[GEOMETRIC])}. Between neighbouring cells the likelihood ratio is up to "
            f"e^{rounded(near[1])} for k-RR and e^{rounded(near[0])} for the geometric mechanism; it is as large for "
            f"the latter {where}.",
            judge(truths[RESPONSE] <= 2 * truths[GEOMETRIC] and near[1] <= 2 * near[0]),
            "Equal distance on average is not equal privacy. k-RR hides little of most check-ins and sends a few far "
            "away. " + EVENTS,
        ),
        Claim(
            "calibration: geometric and Laplace",
            "[A] section IV",
            "The discretized Laplace mechanism is very similar to the geometric mechanism, but not identical.",
            f"At {DISTANCE} m the largest total variation distance between their reports, over true cells, is "
            f"{percent(apart)}.",
            judge(apart > 0, vague=True),
            "That they are not identical holds; “very similar” has no number.",
        ),
        Claim(
            "calibration: normalised privacy",
            "[A] section IV",
            "Noise proportional to e^(-epsilon d), normalised for each true cell, is epsilon-d-private.",
            f"At the printed epsilons the verified epsilon per metre is {rounded(factors[GEOMETRIC], 4)} times the "
            f"nominal one (geometric) and {rounded(factors[LAPLACE], 4)} times (Laplace).",
            judge(max(factors.values()) <= 1 + 1e-6),
            "The factor that makes up for reports outside the square depends on the true cell and gives some of it "
            "away; at most twice. Reports "
            'moved to the nearest cell (border="remap") keep the nominal epsilon.',
            Basis.MATHEMATICS,
        ),
    )


_ARTICLES = {RESPONSE: "the flat (k-RR)", GEOMETRIC: "the geometric", LAPLACE: "the discretized Laplace"}


def _distances_chart(rows: list[Row]) -> Chart:
    y = {"field": "mechanism", "type": "nominal", "title": None, "sort": list(NAMES)}
    scale = {"domain": [400, 500], "zero": False}
    x = {"type": "quantitative", "title": "expected distance between truth and report, metres", "scale": scale}
    layers: list[Spec] = [
        {
            "data": {"values": [{"target": DISTANCE}]},
            "mark": {"type": "rule", "color": QUIET, "strokeDash": [4, 3]},
            "encoding": {"x": {**x, "field": "target"}},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 2, "color": DARK},
            "encoding": {"x": {**x, "field": "metres_low"}, "x2": {"field": "metres_high"}, "y": y},
        },
        {
            "mark": {"type": "point", "size": 70, "color": DARK, "tooltip": True},
            "encoding": {"x": {**x, "field": "metres_at_printed_epsilon"}, "y": y},
        },
    ]
    return finish(
        {"data": {"values": rows}, "layer": layers, "width": WIDTH, "height": {"step": 36}},
        "The printed epsilons do not give 450 m",
        "Expected distance at the epsilons of the paper: on the whole square (dots) and in 95% of random samples of "
        f"{PRINTED_NUMBER} check-ins (lines). Dashed: {DISTANCE} m. {EVENT_LEVEL}.",
        width=WIDTH,
    )


def _ratios_chart(rows: list[Row]) -> Chart:
    data = [
        {
            "name": row["mechanism"],
            "metres": row["metres"],
            "ratio": float(f"{math.exp(float(str(row['log_ratio']))):.6g}"),
        }
        for row in rows
    ]
    x = {"field": "metres", "type": "quantitative", "title": "metres between two true places"}
    y = {
        "field": "ratio", "type": "quantitative", "title": "largest likelihood ratio", "scale": {"type": "log"},
        "axis": {"tickCount": 6, "format": "~s"},
    }  # fmt: skip
    spec: Spec = {
        "data": {"values": data},
        "mark": {"type": "line", "strokeWidth": 1.8},
        "encoding": {"x": x, "y": y, **series(NAMES, "color", "strokeDash", legend=STROKES)},
        "width": WIDTH,
        "height": 250,
    }
    return finish(
        spec,
        "Equal expected distance is not equal privacy",
        f"How much likelier one true cell can make a report than another in the same row, when reports lie {DISTANCE} "
        f"m from the truth on average. k-RR tells neighbours apart as well as any two places. {EVENT_LEVEL}.",
        width=WIDTH + 130,
    )
