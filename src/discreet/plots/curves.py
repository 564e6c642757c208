"""Charts of figures derived from the probabilities: error by true value, privacy curves, comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import losses, utility
from ..channels import Channel
from ..errors import InvalidInput, Unsupported, WrongType
from ..exact.rationals import as_fraction
from ..losses import Loss
from ..privacy.verify import Verdict, verify
from .chart import (
    INK,
    OWN_SHAPE,
    PALE,
    SHAPES,
    STROKES,
    WIDTH,
    Chart,
    Spec,
    band,
    finish,
    read_named,
    series,
    values_of,
)

#: Smallest delta that is drawn: once in a billion.
MIN_DELTA = 1e-9

#: Range of epsilon for the end of a curve whose delta is never zero.
_MIN_END, _MAX_END = 2.0**-10, 50.0

#: Maximum number of true values for which a line has a dot at each.
MAX_DOTS = 31

# ------------------------------------------------------------------------------------------------ error

_MEASURE_TITLES = {"L0": "probability of a wrong report", "L1": "mean absolute error", "L2": "mean squared error"}


def _measure(measure: object) -> tuple[str, str, Callable[[Channel], Any]]:
    """Return a measure of error in words, advice for reading it, and its function of a channel."""
    if measure == "bias":
        return "mean of report minus truth", "Zero is unbiased.", utility.bias
    if measure == "variance":
        return "variance of the report", "Lower is steadier.", utility.variance
    loss = losses.resolve(measure)
    beyond = f"probability of being off by more than {loss.name[3:]}" if loss.name.startswith("L0_") else None
    words = beyond or _MEASURE_TITLES.get(loss.name, f"expected loss ({loss.sentence})")
    return words, "Lower is better.", lambda channel: utility.expected_loss(channel, loss)


def error(mechanisms: object, measure: str | Loss | Sequence[str | Loss] = "L1", title: str | None = None) -> Chart:
    """Draw the error for every true value: lines over counts, dots over labels, for one mechanism or several by name.

    Parameters
    ----------
    mechanisms
        A mechanism (or Table, or matrix), or a mapping from names to at most eight of them.
    measure
        A loss as for :func:`discreet.cost`: "L0" (probability of a wrong report), "L1" (mean absolute error), "L2"
        (mean squared error), "L0_2" (probability of being off by more than 2), or any Loss; or "bias" or "variance".
        A list of them gives a panel for each.
    title
        Instead of "Error by true count".

    Examples
    --------
    >>> import discreet as dc
    >>> error({"geometric": dc.geometric(8, epsilon=1), "fair": dc.explicit_fair(8, epsilon=1)}, ["L0", "L1"])
    <Chart: Error by true count>
    """
    channels = {name: Channel.of(subject) for name, subject in read_named(mechanisms).items()}
    largest = max((channel.inputs for channel in channels.values()), key=lambda space: space.size or 0)
    if largest.as_grid is not None or len({channel.inputs.noun for channel in channels.values()}) > 1:
        raise Unsupported(
            "error is drawn over counts or over labels.",
            "For a map there is plots.report_map(m, cell).",
            argument="mechanisms",
        )
    measures = [measure] if isinstance(measure, str | Loss) else list(measure)
    if not measures:
        raise InvalidInput(
            "there is no measure to draw.", "Give one, such as 'L1' or ['L0', 'bias'].", argument="measure"
        )
    truths = values_of(largest)
    counts = largest.is_line
    x = band("truth", f"true {largest.noun}", truths, WIDTH / len(truths))
    if counts:
        x = {"field": "truth", "type": "quantitative", "title": x["title"], "scale": {"domain": [0, truths[-1]]}}
        x["axis"] = {"tickMinStep": 1, "format": "d"}
    legend: Spec = STROKES if counts else {}
    dots = not counts or len(truths) <= MAX_DOTS
    panels, hints = [], []
    for words, hint, compute in map(_measure, measures):
        table = [
            {
                "name": name,
                "truth": values_of(channel.inputs),
                "value": np.asarray(compute(channel)).tolist(),
                "shape": shape,
            }
            for (name, channel), shape in zip(channels.items(), SHAPES, strict=False)
        ]
        layers: list[Spec] = []
        if counts:
            layers.append({"mark": "line", "encoding": series(channels, "strokeDash", legend=legend)})
        if dots:
            shapes = OWN_SHAPE if counts else series(channels, "shape", legend=legend)
            layers.append({"mark": {"type": "point", "tooltip": True}, "encoding": shapes})
        y = {"field": "value", "type": "quantitative", "title": words, "axis": {"format": ".4~g", "tickCount": 6}}
        encoding = {"x": x, "y": y, **series(channels, "color", legend=legend)}
        panel = {"data": {"values": table}, "transform": [{"flatten": ["truth", "value"]}], "encoding": encoding}
        panels.append(panel | {"layer": layers, "width": WIDTH, "height": 240})
        hints.append(hint)
    spec = panels[0] if len(panels) == 1 else {"vconcat": panels, "spacing": 24}
    return finish(spec, title or f"Error by true {largest.noun}", " ".join(dict.fromkeys(hints)), width=WIDTH)


# ------------------------------------------------------------------------------------------------ privacy curves


def delta_curve(subjects: object, epsilons: Iterable[object] | None = None, title: str | None = None) -> Chart:
    """Draw delta against epsilon, on a logarithmic axis, with the least epsilon at which delta is zero.

    Parameters
    ----------
    subjects
        A mechanism, a matrix or a :class:`~discreet.Verdict`, or a mapping from names to at most eight of them.
    epsilons
        Where delta is evaluated: by default from 0 to a little beyond the largest least epsilon (or to where delta
        falls below 1e-9, if it is never zero), closer together before each least epsilon. Give few for a large map,
        where each takes seconds.
    title
        Instead of "Privacy curve".

    Examples
    --------
    >>> import discreet as dc
    >>> delta_curve({"geometric": dc.geometric(8, epsilon=1), "Gaussian": dc.discrete_gaussian(sigma2=4)})
    <Chart: Privacy curve>
    """
    verdicts = {name: s if isinstance(s, Verdict) else verify(s) for name, s in read_named(subjects).items()}
    if len({verdict.notion for verdict in verdicts.values()}) > 1:
        raise InvalidInput(
            "curves of different notions of privacy cannot be compared.",
            "Draw a picture for each notion.",
            argument="subjects",
        )
    if epsilons is None:
        grid = np.linspace(0, 1.08 * (max(map(_end, verdicts.values())) or 1), 81).tolist()
    else:
        grid = sorted(as_fraction(epsilon, "epsilon") for epsilon in epsilons)
        if len(grid) < 2:
            raise InvalidInput(f"a curve needs at least two epsilons; got {len(grid)}.", argument="epsilons")
    first, last = float(grid[0]), float(grid[-1])
    labels = {name: f"{name} ({_zero_from(verdict)})" if name else "" for name, verdict in verdicts.items()}
    curves, ends = [], []
    for (name, verdict), shape in zip(verdicts.items(), SHAPES, strict=False):
        tight = verdict.epsilon
        at = grid
        if epsilons is None and math.isfinite(tight):  # the line falls steeply there
            at = sorted([*grid, *(tight * (1 - 10.0 ** (-k / 2)) for k in range(1, 19))])
        points = [(float(e), delta) for e, delta in zip(at, verdict.curve(at).tolist(), strict=True) if delta > 0]
        curves.append({"name": labels[name], "epsilon": [p[0] for p in points], "delta": [p[1] for p in points]})
        if first <= tight <= last:
            ends.append({"name": labels[name], "epsilon": tight, "delta": MIN_DELTA, "shape": shape})
    notion = next(iter(verdicts.values())).notion
    x = {
        "field": "epsilon", "type": "quantitative", "title": _EPSILON_TITLES[notion],
        "scale": {"domain": [first, last], "nice": False}, "axis": {"tickCount": 8, "format": ".4~g"},
    }  # fmt: skip
    powers = [10.0**-k for k in range(10)]
    y = {
        "field": "delta", "type": "quantitative", "title": "delta", "scale": {"type": "log", "domain": [MIN_DELTA, 1]},
        "axis": {"values": powers, "labelExpr": "datum.value === 1 ? '1' : format(datum.value, '~e')"},
    }  # fmt: skip
    curve: Spec = {
        "data": {"values": curves},
        "transform": [{"flatten": ["epsilon", "delta"]}],
        "mark": {"type": "line", "clip": True},
        "encoding": series(labels.values(), "strokeDash", legend=STROKES),
    }
    marks: Spec = {
        "data": {"values": ends},
        "mark": {"type": "point", "filled": False, "strokeWidth": 2, "size": 110, "tooltip": True},
        "encoding": OWN_SHAPE,
    }
    spec = {
        "layer": [curve, marks] if ends else [curve],
        "encoding": {"x": x, "y": y, **series(labels.values(), "color", legend=STROKES)},
        "width": WIDTH,
        "height": 280,
    }
    sentence = "Delta: the most probability that escapes the limit set by epsilon."
    if "" in verdicts:
        sentence += f" It is {_zero_from(verdicts[''])}."
    elif ends:
        sentence += " From the mark on the axis on, none does."
    return finish(spec, title or "Privacy curve", sentence, width=WIDTH)


_EPSILON_TITLES = {
    "central": "epsilon (adjacent truths)",
    "local": "epsilon (any two truths)",
    "metric": "epsilon (per unit of distance)",
}


def _zero_from(verdict: Verdict) -> str:
    return f"0 from epsilon {verdict.epsilon:.4g}" if math.isfinite(verdict.epsilon) else "never 0"


def _end(verdict: Verdict) -> float:
    """Return the end of a curve: the least epsilon, or the one at which delta falls below the floor of the picture."""
    if math.isfinite(verdict.epsilon):
        return verdict.epsilon
    epsilon = _MIN_END
    while verdict.delta(epsilon) > MIN_DELTA:
        epsilon *= 1.25
        if epsilon > _MAX_END:
            return 5.0  # delta never vanishes: show the usual range
    return epsilon


# ------------------------------------------------------------------------------------------------ comparisons


def comparison(
    results: Iterable[Mapping[str, object]], title: str = "Comparison", subtitle: str = "", *, columns: int = 3
) -> Chart:
    """Draw bars with their numbers: a panel for each measure and a bar for each name, in order of appearance.

    Parameters
    ----------
    results
        Rows with "name", "measure" and "value" each. A name may lack a measure.
    title, subtitle
        The title, and a sentence about what to see.
    columns
        Number of panels in a row.

    Examples
    --------
    >>> import discreet as dc
    >>> mechanisms = {"geometric": dc.geometric(8, epsilon=1), "fair": dc.explicit_fair(8, epsilon=1)}
    >>> comparison(
    ...     {"name": name, "measure": loss, "value": dc.cost(m, loss)}
    ...     for name, m in mechanisms.items()
    ...     for loss in ("L0", "L1", "L2")
    ... )
    <Chart: Comparison>
    """
    table = [_read_result(row) for row in results]
    if not table:
        raise InvalidInput(
            "there is nothing to compare.", "Give rows with name, measure and value.", argument="results"
        )
    names = list(dict.fromkeys(row["name"] for row in table))
    panels = []
    for k, measure in enumerate(dict.fromkeys(row["measure"] for row in table)):
        values = [row for row in table if row["measure"] == measure]
        low, high = min(0.0, *(row["value"] for row in values)), max(0.0, *(row["value"] for row in values))
        room = 0.3 * ((high - low) or 1)  # for the numbers at the ends of the bars
        scale = {"domain": [low - room if low < 0 else 0, high + room if high > 0 or low == 0 else 0], "nice": False}
        x = {"field": "value", "type": "quantitative", "title": None, "scale": scale}
        x["axis"] = {"tickCount": 3, "format": ".4~g", "grid": False}
        y: Spec = {"field": "name", "type": "nominal", "title": None, "sort": None, "scale": {"domain": names}}
        y["axis"] = {"labelLimit": 280, "ticks": False, "labels": k % columns == 0}
        bars = {"mark": {"type": "bar", "color": PALE, "tooltip": True}, "encoding": {"x": x, "y": y}}
        layers = [bars]
        for side, align, dx in ((">=", "left", 4), ("<", "right", -4)):
            text = {"type": "text", "align": align, "dx": dx, "color": INK, "fontSize": 11}
            encoding = {"x": x, "y": y, "text": {"field": "value", "format": ".4~g"}}
            layers.append({"transform": [{"filter": f"datum.value {side} 0"}], "mark": text, "encoding": encoding})
        panel_title = {"text": measure, "fontSize": 12, "fontWeight": "normal", "offset": 6}
        panels.append(
            {"title": panel_title, "data": {"values": values}, "layer": layers, "width": 190, "height": {"step": 26}}
        )
    spec = {"concat": panels, "columns": columns, "spacing": 24}
    return finish(spec, title, subtitle, width=214 * min(columns, len(panels)))


def _read_result(row: Mapping[str, Any]) -> dict[str, Any]:
    try:
        name, measure, value = str(row["name"]), str(row["measure"]), float(row["value"])
    except (KeyError, TypeError, ValueError):
        raise WrongType(
            f"a row to compare needs name, measure and a number as value; got {row!r}.", argument="results"
        ) from None
    if not math.isfinite(value):
        raise InvalidInput(
            f"a bar needs a finite number; {name!r} has {value} as {measure!r}.",
            "Leave that row out.",
            argument="results",
        )
    return {"name": name, "measure": measure, "value": value}
