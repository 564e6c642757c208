"""Charts of bounded noise: the cost of a higher probability of the truth."""

from __future__ import annotations

import math

from ..errors import InvalidInput
from ..optimise.noise.tradeoff import NoiseTradeoff
from .chart import OWN_SHAPE, PALETTE, SHAPES, STROKES, WIDTH, Chart, Spec, finish, series

_KIND_TITLES = {
    "optimal": "least true delta, counts from D on",
    "sadeghi": "true delta of the noise of Sadeghi et al., counts from D on",
    "all-counts": "least true delta, every count",
}


def tradeoff(data: NoiseTradeoff, title: str | None = None) -> Chart:
    """Draw delta and variance of bounded noise against the probability of the truth, with the knee of each curve.

    Parameters
    ----------
    data
        What :func:`discreet.noise_tradeoff` gives, with at most eight pairs of epsilon and reach.
    title
        Instead of "What more truth costs".

    Examples
    --------
    >>> import discreet as dc
    >>> tradeoff(dc.noise_tradeoff(2.2, [4, 8]))
    <Chart: What more truth costs>
    """
    several = len({row["epsilon"] for row in data.rows}) > 1

    def label(row: dict[str, object]) -> str:
        return f"D = {row['reach']}" + (f", epsilon {row['epsilon']:g}" if several else "")

    names = list(dict.fromkeys(label(row) for row in data.knees))
    if len(names) > len(PALETTE):
        raise InvalidInput(f"a picture can distinguish up to {len(PALETTE)} curves; got {len(names)}.", argument="data")
    rows = [{"name": label(row), **{key: row[key] for key in ("stay", "delta", "variance")}} for row in data.rows]
    marks = [
        {"name": label(knee), "stay": knee["stay"], "delta": knee["delta"], "shape": SHAPES[names.index(label(knee))]}
        for knee in data.knees
    ]
    least = min(row["delta"] for row in [*data.rows, *data.knees])
    floor = 10.0 ** math.floor(math.log10(least))
    stays = [row["stay"] for row in data.rows]
    x = {
        "field": "stay", "type": "quantitative", "title": "probability of publishing the truth",
        "scale": {"domain": [min(stays), max(stays)], "nice": False}, "axis": {"format": ".2~f"},
    }  # fmt: skip
    powers = [10.0**k for k in range(round(math.log10(floor)), 1)]
    ticks = powers[:: -(-len(powers) // 12)]
    y = {
        "field": "delta", "type": "quantitative", "title": "delta",
        "scale": {"type": "log", "domain": [floor, 1]},
        "axis": {"values": ticks, "labelExpr": "datum.value === 1 ? '1' : format(datum.value, '~e')"},
    }  # fmt: skip
    lines: Spec = {
        "data": {"values": sorted([*rows, *marks], key=lambda row: row["stay"])},
        "mark": {"type": "line", "clip": True},
        "encoding": series(names, "strokeDash", legend=STROKES),
    }
    knees: Spec = {
        "data": {"values": marks},
        "mark": {"type": "point", "filled": True, "size": 110, "tooltip": True},
        "encoding": OWN_SHAPE,
    }
    colour = series(names, "color", legend=STROKES)
    upper = {"layer": [lines, knees], "encoding": {"x": x, "y": y, **colour}, "width": WIDTH, "height": 280}
    variance_axis = {"field": "variance", "type": "quantitative", "title": "variance", "axis": {"tickCount": 5}}
    lower = {
        "data": {"values": rows},
        "mark": {"type": "line", "clip": True},
        "encoding": {"x": x, "y": variance_axis, **colour, **series(names, "strokeDash", legend=STROKES)},
        "width": WIDTH,
        "height": 160,
    }
    where = "" if several else f" at epsilon {data.rows[0]['epsilon']:g}"
    words = f"Bounded noise{where}: {_KIND_TITLES[data.kind]}. More truth costs no delta up to the knee, much beyond."
    return finish({"vconcat": [upper, lower], "spacing": 20}, title or "What more truth costs", words, width=WIDTH)
