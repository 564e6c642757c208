"""The default estimate against 5,000 updates, EMS and early stopping, on populations it was tuned on and others."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.special import stdtrit

from discreet.estimation.methods import PAPER_ITERATIONS, Method, estimate
from discreet.exact.arrays import FloatArray
from discreet.mechanism import Mechanism
from discreet.plots.chart import INK, WIDTH, Chart, Spec, finish, series
from discreet.report import Json
from discreet.spaces import Counts
from discreet.utility import kantorovich
from discreet.wording import rounded

from ..claims import Claim, judge
from ..study import ExhibitResult, Setting
from ..tables import number, shortened
from .populations import N, mechanisms, not_tuned_on, shares, tuned_on

#: Of the seven mechanisms, those whose reports are compared here; the whole battery is benchmarks/battery.py.
MECHANISMS = ("geometric 0.1", "k-RR 4")

#: The populations of a quick run.
FEW = ("visits", "four points", "heaped", "six points")

#: The estimates that the default is compared with: the papers' updates, EMS (Li et al. 2020), our own early stopping.
UPDATES, EMS, STOPPED = "5,000 updates", "EMS", "early stopping"
METHODS: Mapping[str, Method] = {UPDATES: "ibu", EMS: "ems", STOPPED: "smoothed"}

#: Number of digits on which estimates of different processors agree.
AGREED = 6

#: Coverage of the intervals.
LEVEL = 0.95


def draw(setting: Setting) -> ExhibitResult:
    """Draw the ratio of the two errors for each population, mechanism and number of reports."""
    surveys, people = setting.pick((3, (5_000,)), (8, (500, 5_000, 100_000)))
    populations = {
        **{name: ("tuned on", truth) for name, truth in tuned_on().items()},
        **{name: ("not tuned on", truth) for name, truth in not_tuned_on().items()},
    }
    cases = [(m, size, name) for m in MECHANISMS for size in people for name in setting.pick(FEW, tuple(populations))]
    rows: list[dict[str, Json]] = []
    for m, size, name in setting.progress(cases, "surveys"):
        kind, truth = populations[name]
        errors = _errors(setting, m, size, name, truth, surveys)
        setting_of: dict[str, Json] = {"mechanism": m, "people": size, "population": name, "kind": kind}
        rows += [{**setting_of, "other": other, **_ratio(errors[:, [0, k]])} for k, other in enumerate(METHODS, 1)]
    to_updates = [row for row in rows if row["other"] == UPDATES]
    sentence = (
        f"Kantorovich error of the default estimate over that of {PAPER_ITERATIONS:,} updates on the same reports; "
        f"left of 1 the default is nearer to the truth. Bars: 95% of the chance of {surveys} surveys, cut off at the "
        "frame."
    )
    return ExhibitResult({"": _chart(to_updates, sentence)}, {"": shortened(rows, AGREED)}, _claims(rows, surveys))


def _quantile(degrees: float) -> float:
    """Return the quantile of Student's distribution: few surveys know their own spread poorly."""
    return float(stdtrit(degrees, (1 + LEVEL) / 2))


def _errors(setting: Setting, name: str, people: int, population: str, truth: FloatArray, surveys: int) -> FloatArray:
    """Return the Kantorovich distance from the truth, of the default and of each other method, survey by survey."""
    mechanism: Mechanism = mechanisms()[name]
    chances = shares(mechanism.forward(truth))
    distances = []
    for survey in range(surveys):
        counts = setting.generator("battery", name, people, population, survey).multinomial(people, chances)
        estimates = [
            estimate(counts, mechanism, method=method, seed=survey if method == "smoothed" else None)
            for method in ("auto", *METHODS.values())
        ]
        distances.append([kantorovich(one.distribution, truth, Counts(N)) for one in estimates])
    return np.array(distances)


def _ratio(errors: FloatArray) -> dict[str, Json]:
    """Return the ratio of the mean errors, and its 95% interval by the jackknife on the logarithm."""
    total = errors.sum(axis=0)
    ratio = float(total[0] / total[1])
    others = np.log((total - errors)[:, 0] / (total - errors)[:, 1])
    spread = math.sqrt(float((len(errors) - 1) / len(errors) * ((others - others.mean()) ** 2).sum()))
    reach = math.exp(_quantile(len(errors) - 1) * spread)
    return {
        "error": float(total[0]) / len(errors), "error_of_other": float(total[1]) / len(errors), "ratio": ratio,
        "log_error": spread, "low": ratio / reach, "high": ratio * reach,
    }  # fmt: skip


def _chart(rows: list[dict[str, Json]], sentence: str) -> Chart:
    """Draw a dot with its bar for each population, a panel for each number of reports."""
    names = list(dict.fromkeys(str(row["mechanism"]) for row in rows))
    populations = list(dict.fromkeys(str(row["population"]) for row in rows))
    points: list[Spec] = [{**row, "name": row["mechanism"]} for row in rows]
    ratios = [row["ratio"] for row in points]
    domain = [0.8 * min(ratios), max(3.5, 1.25 * max(ratios))]
    scale = {"type": "log", "domain": domain, "nice": False}
    marks = [v for v in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10) if domain[0] <= v <= domain[1]]
    x = {"type": "quantitative", "scale": scale, "title": "ratio of errors", "axis": {"values": marks, "format": "~g"}}
    y = {"field": "population", "type": "nominal", "title": None, "sort": populations}
    offset = {"yOffset": {"field": "name", "type": "nominal", "sort": names, "scale": {"domain": names}}}
    panels = []
    for size in dict.fromkeys(row["people"] for row in points):
        here = [row for row in points if row["people"] == size]
        one: Spec = {"mark": {"type": "rule", "color": INK, "strokeDash": [3, 3]}, "encoding": {"x": {"datum": 1}}}
        bars = {"mark": {"type": "rule", "clip": True, "strokeWidth": 1.5}}
        bars["encoding"] = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y, **offset}
        dots: Spec = {"mark": {"type": "point", "tooltip": True}}
        dots["encoding"] = {"x": {**x, "field": "ratio"}, "y": y, **offset, **series(names, "shape", legend={})}
        for layer in (bars, dots):
            layer["encoding"] |= series(names, "color", legend={})
        head = {"text": f"{size:,} reports", "fontSize": 12, "fontWeight": "normal", "offset": 6}
        layers = {"layer": [one, bars, dots], "data": {"values": here}}
        panels.append({**layers, "title": head, "width": round(0.6 * WIDTH), "height": {"step": 11 * len(names)}})
    width = (0.6 * WIDTH + 100) * len(panels)
    spec: Spec = {"concat": panels, "columns": 3, "spacing": 28}
    return finish(spec, "The default estimate is nearer to the truth than the papers' updates", sentence, width=width)


def together(rows: list[dict[str, Json]], surveys: int) -> tuple[float, float, float]:
    """Return the geometric mean of the ratios, and its 95% interval from the chance of the surveys (Satterthwaite)."""
    logs = [math.log(number(row, "ratio")) for row in rows]
    variances = [number(row, "log_error") ** 2 for row in rows]
    degrees = (surveys - 1) * sum(variances) ** 2 / max(sum(v * v for v in variances), 1e-300)
    reach = _quantile(max(degrees, 1.0)) * math.sqrt(sum(variances)) / len(rows)
    middle = sum(logs) / len(logs)
    return math.exp(middle), math.exp(middle - reach), math.exp(middle + reach)


def between_populations(rows: list[dict[str, Json]]) -> tuple[float, float]:
    """Return the 95% interval of the geometric mean from the variation between populations: for others like these."""
    names = dict.fromkeys(str(row["population"]) for row in rows)
    means = [np.mean([math.log(number(row, "ratio")) for row in rows if row["population"] == name]) for name in names]
    reach = _quantile(len(means) - 1) * float(np.std(means, ddof=1)) / math.sqrt(len(means))
    return math.exp(float(np.mean(means)) - reach), math.exp(float(np.mean(means)) + reach)


def _claims(rows: list[dict[str, Json]], surveys: int) -> tuple[Claim, ...]:
    claims = []
    for kind in ("tuned on", "not tuned on"):
        some = [row for row in rows if row["kind"] == kind and row["other"] == UPDATES]
        mean, low, high = together(some, surveys)
        least, most = between_populations(some)
        worst = max(some, key=lambda row: number(row, "ratio"))
        nearer, further = _beyond_chance(some)
        claims.append(
            Claim(
                f"estimate: populations {kind}", "[R] default estimate",
                f"On populations it was {kind}, the default estimate is nearer to the truth on average than the "
                "papers' updates.",
                f"Geometric mean of the ratio of Kantorovich errors {rounded(mean)} (95%: {rounded(low)} to "
                f"{rounded(high)} for these populations, {rounded(least)} to {rounded(most)} for others like them), "
                f"{len(some)} settings, {surveys} surveys each. Nearer beyond chance in {nearer}, further off in "
                f"{further}; the largest ratio is {rounded(number(worst, 'ratio'))} (95%: "
                f"{rounded(number(worst, 'low'))} to {rounded(number(worst, 'high'))}; {worst['population']}, "
                f"{worst['mechanism']}, {worst['people']:,} reports).",
                judge(high < 1),
            )
        )  # fmt: skip
    return (*claims, *(_beside(rows, surveys, other) for other in (EMS, STOPPED)))


#: The other methods in a sentence.
_IN_FULL = {
    EMS: "EMS (Li et al., SIGMOD 2020)",
    STOPPED: 'our own early stopping by cross-validation, `method="smoothed"`',
}


def _beside(rows: list[dict[str, Json]], surveys: int, other: str) -> Claim:
    """Judge the default against another method on both kinds of populations."""
    every = [row for row in rows if row["other"] == other]
    parts = {
        kind: together([row for row in every if row["kind"] == kind], surveys) for kind in ("tuned on", "not tuned on")
    }
    texts = [f"{rounded(m)} (95%: {rounded(low)} to {rounded(high)}) {kind}" for kind, (m, low, high) in parts.items()]
    worst = max(every, key=lambda row: number(row, "ratio"))
    nearer, further = _beyond_chance(every)
    holds = all(high < 1 for _, _, high in parts.values())
    return Claim(
        f"estimate: {other}", "[R] default estimate",
        f"The default estimate is nearer to the truth on average than {_IN_FULL[other]}.",
        f"Geometric mean of the ratio of errors {', '.join(texts)}. Nearer beyond chance in {nearer}, further off in "
        f"{further} of {len(every)} settings; the largest ratio is {rounded(number(worst, 'ratio'))} "
        f"({worst['population']}, {worst['mechanism']}, {worst['people']:,} reports).",
        judge(holds),
        "" if holds else "The interval of one of the two kinds of populations reaches 1.",
    )  # fmt: skip


def _beyond_chance(rows: list[dict[str, Json]]) -> tuple[int, int]:
    """Count the settings in which the default is nearer, and further off, beyond the chance of the surveys."""
    return sum(number(row, "high") < 1 for row in rows), sum(number(row, "low") > 1 for row in rows)
