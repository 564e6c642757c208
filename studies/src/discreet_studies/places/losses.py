"""Figure 2 of [A]: the loss of utility for data sets that grow, calibrated to 450 m."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from discreet.exact.arrays import FloatArray
from discreet.plots.chart import STROKES, WIDTH, Chart, Spec, finish, series
from discreet.wording import rounded

from ..claims import Claim, judge
from ..means import Mean
from ..study import ExhibitResult, Row, Setting
from ..tables import significant
from .checkins import MENTIONED
from .checkins import PRINTED as PRINTED_NUMBER
from .growing import DEFAULT, INVERSE, MAXIMUM, Losses, chart, grow, measure, table
from .mechanisms import CHOICES, DISTANCE, GEOMETRIC, LAPLACE, NAMES, PRINTED, RESPONSE, at_distance, at_epsilon
from .square import CHOICES as SQUARE_CHOICES
from .square import EVENT_LEVEL, EVENTS, square

#: The sizes at which losses are repeated; the two readings of the paper's 750 are among them.
SIZES = (10, 30, 100, 250, PRINTED_NUMBER, 2_000, 4_000, 10 * PRINTED_NUMBER)
QUICK_SIZES = (100, PRINTED_NUMBER, 10 * PRINTED_NUMBER)

#: Steps, in check-ins, by which data sets grow.
STEP = 10

#: The picture of one run ends here, in metres: only the smallest data sets lie above.
HIGHEST = 500

_PLACE = "[A] section VI, figure 2"


def draw_losses(setting: Setting) -> ExhibitResult:
    """Draw mean losses with intervals, and one run that grows by ten."""
    area = square(setting)
    sizes, repeats = setting.pick(QUICK_SIZES, SIZES), setting.pick(5, 12)
    calibrated = {name: at_distance(name, area.distribution).mechanism for name in NAMES}
    losses = measure(setting, area, calibrated, sizes, repeats)
    readings = (PRINTED_NUMBER, 10 * PRINTED_NUMBER)
    printed = {name: at_epsilon(name, PRINTED[name]) for name in NAMES}
    as_printed = measure(setting, area, printed, readings, repeats, (MAXIMUM,))
    paths = {}
    for name in setting.progress(NAMES, "growing data sets"):
        growth = grow(setting, area, calibrated[name], name, 0)
        paths[name] = {size: growth.loss(size, MAXIMUM) for size in _steps(setting)}
    path_rows: list[Row] = [
        {"mechanism": name, "checkins": size, "metres": significant(loss)}
        for name, path in paths.items()
        for size, loss in path.items()
    ]
    charts = {
        "": chart(
            losses,
            f"Calibrated to {DISTANCE} m, k-RR comes nearer by EM, opposite to the paper",
            "Distance between the check-ins and what is reconstructed from their reports: means with 95% intervals "
            f"over {repeats} random orders. The paper's 750 is read as 750 and as 7,500. {EVENTS}",
        ),
        "path": _path_chart(paths),
    }
    tables = {"": table(losses), "printed-epsilons": table(as_printed), "path": path_rows}
    choices = (
        *SQUARE_CHOICES,
        *CHOICES,
        "Each data set is compared with what is reconstructed from its own reports, which grow with it.",
        f"Epsilons are those that give {DISTANCE} m on the whole square; one table has the losses at the printed ones.",
        "Negative entries of an inverse are set to 0.",
    )
    return ExhibitResult(charts, tables, _claims(losses, as_printed, paths), choices)


def _steps(setting: Setting) -> list[int]:
    """Return the sizes of one run: by ten as in the paper, and above 2,000 by fifty."""
    if setting.quick:
        return list(range(STEP, 310, STEP))
    return [*range(STEP, MENTIONED, STEP), *range(MENTIONED, 10 * PRINTED_NUMBER + 1, 5 * STEP)]


def order_claim(losses: Losses, key: str, place: str, calibration: str, why: str) -> Claim:
    """Judge the claim that geometric and Laplace noise do much better than k-RR, at every size."""
    sizes = list(dict.fromkeys(size for _, _, size in losses))
    means = {(name, size): Mean.of(losses[name, MAXIMUM, size]) for name in NAMES for size in sizes}
    noisy = (GEOMETRIC, LAPLACE)
    better = [size for size in sizes if all(means[name, size].below(means[RESPONSE, size]) for name in noisy)]
    worse = [size for size in sizes if all(means[RESPONSE, size].below(means[name, size]) for name in noisy)]
    lower = sum(max(means[name, size].value for name in noisy) < means[RESPONSE, size].value for size in sizes)
    printed_sizes = [size for size in sizes if size in (PRINTED_NUMBER, 10 * PRINTED_NUMBER)]
    means_text = _by_size({(name, size): means[name, size] for size in printed_sizes for name in NAMES})
    return Claim(
        key,
        place,
        "The geometric and the Laplace mechanism lose much less utility than k-RR.",
        f"{calibration}, with EM converged, {means_text}. Both are better than k-RR at {lower} of "
        f"{len(sizes)} sizes, beyond the 95% intervals at {len(better)}; both are worse, beyond them, at {len(worse)}.",
        judge(lower == len(sizes) and 2 * len(better) > len(sizes)),
        f"{why} {EVENTS}",
    )


def slow_claim(losses: Losses, key: str, place: str, why: str) -> Claim:
    """Judge that the loss of k-RR diminishes very slowly: more slowly than one over the root of the check-ins."""
    few, many = PRINTED_NUMBER, 10 * PRINTED_NUMBER
    usual = math.sqrt(few / many)
    shrunk = {name: Mean.of(losses[name, MAXIMUM, many]) / Mean.of(losses[name, MAXIMUM, few]) for name in NAMES}
    return Claim(
        key,
        place,
        "The loss of k-RR diminishes very slowly as check-ins are added.",
        f"From {few} to {many:,} check-ins it falls to "
        + ", ".join(f"{ratio} times ({name})" for name, ratio in shrunk.items())
        + f"; one over the root of their number falls to {rounded(usual)}.",
        judge(shrunk[RESPONSE].low > usual),
        why,
    )


def _claims(losses: Losses, as_printed: Losses, paths: Mapping[str, Mapping[int, float]]) -> tuple[Claim, ...]:
    steps = {name: Mean.of(_jumps(path)) for name, path in paths.items()}
    sizes = list(dict.fromkeys(size for _, _, size in losses))
    similar = [Mean.of(losses[GEOMETRIC, MAXIMUM, n]) / Mean.of(losses[LAPLACE, MAXIMUM, n]) for n in sizes]
    ratios = [ratio.value for ratio in similar]
    return (
        Claim(
            "figure 2: geometric and Laplace",
            _PLACE,
            "The geometric and the discretized Laplace mechanism have similar utility.",
            f"The ratio of their losses is between {rounded(min(ratios))} and {rounded(max(ratios))} over the sizes.",
            judge(True, vague=True),
            "“Similar” has no number.",
        ),
        order_claim(
            losses,
            "figure 2: better than k-RR",
            _PLACE,
            f"Calibrated to {DISTANCE} m",
            "An expected distance of 450 m leaves most reports of k-RR true, which the reconstruction uses. "
            + _at_printed(as_printed)
            + " Calibrated to a likelihood ratio within a radius, the order is the paper's.",
        ),
        slow_claim(
            losses,
            "figure 2: k-RR diminishes slowly",
            _PLACE,
            "So calibrated, k-RR gains most from more check-ins, as much as a plain sample would.",
        ),
        Claim(
            "figure 2: k-RR is unstable",
            _PLACE,
            f"For less than {MENTIONED:,} check-ins the loss of k-RR is extremely unstable.",
            f"In one run the loss changes, from each data set to the next one with {STEP} more check-ins, by "
            + ", ".join(f"{mean} m ({name})" for name, mean in steps.items())
            + f" on average below {min(MENTIONED, max(paths[RESPONSE])):,} check-ins.",
            judge(steps[GEOMETRIC].below(steps[RESPONSE]), vague=True),
            "Judged by whether k-RR changes more than the geometric mechanism, beyond the 95% intervals; “extremely” "
            "has no number.",
        ),
        _inversion_claim(losses),
    )


def _at_printed(losses: Losses) -> str:
    means = {(name, size): Mean.of(values) for (name, _, size), values in losses.items()}
    return f"At the printed epsilons: {_by_size(means)}."


def _by_size(means: Mapping[tuple[str, int], Mean]) -> str:
    """Return the losses of the mechanisms for each number of check-ins, in words."""
    return "; ".join(
        f"{size:,} check-ins: " + ", ".join(f"{name} {means[name, size]} m" for name in NAMES)
        for size in dict.fromkeys(size for _, size in means)
    )


def _jumps(path: Mapping[int, float]) -> FloatArray:
    """Return changes of the loss between consecutive data sets, below the number that the paper mentions."""
    return np.array([abs(path[n + STEP] - loss) for n, loss in path.items() if n + STEP in path and n < MENTIONED])


def _inversion_claim(losses: Losses) -> Claim:
    """Judge EM against inversion, on the same reports."""
    keys = [(name, size) for name, method, size in losses if method == MAXIMUM]
    gains = {(name, size): Mean.of(losses[name, INVERSE, size] - losses[name, MAXIMUM, size]) for name, size in keys}
    better, worse = sum(gain.low > 0 for gain in gains.values()), sum(gain.high < 0 for gain in gains.values())
    largest = max(size for _, size in keys)
    means_text = ", ".join(
        f"{name} {Mean.of(losses[name, MAXIMUM, largest])} by EM, {Mean.of(losses[name, INVERSE, largest])} by "
        f"inversion, {Mean.of(losses[name, DEFAULT, largest])} by the default estimate"
        for name in NAMES
    )
    return Claim(
        "section II: EM and inversion",
        "[A] section II",
        "EM significantly outperforms the inversion of the matrix.",
        f"With {largest:,} check-ins, in metres: {means_text}. On the same reports EM is better, beyond the 95% "
        f"intervals, in {better} of {len(keys)} settings, and worse in {worse}.",
        judge(all(gains[name, largest].low > 0 for name in (GEOMETRIC, LAPLACE)), corrected=better < len(keys)),
        "For k-RR at such a large epsilon the two hardly differ, and with few check-ins inversion is no worse.",
    )


def _path_chart(paths: Mapping[str, Mapping[int, float]]) -> Chart:
    rows = [
        {"name": name, "checkins": size, "metres": float(f"{loss:.6g}")}
        for name, path in paths.items()
        for size, loss in path.items()
    ]
    spec: Spec = {
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 1.2, "clip": True},
        "encoding": {
            "x": {"field": "checkins", "type": "quantitative", "title": "check-ins", "axis": {"format": ",.0f"}},
            "y": {
                "field": "metres",
                "type": "quantitative",
                "title": "Kantorovich distance, metres",
                "scale": {"domain": [0, HIGHEST]},
            },
            **series(NAMES, "color", "strokeDash", legend=STROKES),
        },
        "width": WIDTH,
        "height": 260,
    }
    return finish(
        spec,
        "One run, drawn as in the paper",
        f"Data sets grow by {STEP} check-ins; EM converged; epsilons that give {DISTANCE} m. One random order without "
        f"repetition: the other chart has intervals. {EVENT_LEVEL}.",
        width=WIDTH + 130,
    )
