"""Pictures of what was repeated: means with their intervals, over sizes, in panels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.plots.chart import OWN_SHAPE, SHAPES, STROKES, Chart, Spec, finish, series

#: Means of different lines at the same size stand this factor apart.
ASIDE = 1.06


@dataclass(frozen=True)
class MeanPoint:
    """A mean with its interval, and where it is drawn.

    Attributes
    ----------
    name
        The line it belongs to.
    size
        Where it stands from left to right.
    mean, low, high
        The mean and the ends of its interval.
    across, down
        The panel, by its column and by its row.
    """

    name: str
    size: float
    mean: float
    low: float
    high: float
    across: str = ""
    down: str = ""


def mean_lines(
    points: Sequence[MeanPoint],
    sizes: str,
    values: str,
    title: str,
    *sentences: str,
    width: int = 200,
    height: int = 180,
    logarithmic: bool = True,
    even: bool = False,
) -> Chart:
    """Draw lines of means over sizes, with intervals, in a panel for each column and row that the points name.

    Sizes are drawn on a logarithmic axis unless they are even, and means too unless they are asked for as they are. An
    interval that reaches below a fifth of the smallest mean is cut there.

    Parameters
    ----------
    points
        The means; lines, columns and rows are drawn in the order in which they first come.
    sizes, values
        What the sizes and the means are.
    title, sentences
        The title, and sentences about what to see.
    width, height
        Of each panel.
    logarithmic
        Whether means are drawn on a logarithmic axis.
    even
        Whether sizes are drawn on an even axis; means that are drawn as they are then need not begin at 0.
    """
    names = list(dict.fromkeys(point.name for point in points))
    across = list(dict.fromkeys(point.across for point in points))
    down = list(dict.fromkeys(point.down for point in points))
    floor = max(min(p.mean for p in points) / 5, 0.8 * min(p.low for p in points)) if logarithmic else 0.0
    top = max(max(point.high, point.mean) for point in points)
    rows: list[Spec] = [
        {
            "name": point.name, "size": point.size, "mean": float(f"{point.mean:.6g}"),
            "low": float(f"{max(point.low, floor):.6g}"), "high": float(f"{point.high:.6g}"),
            # a little to the side, so that intervals do not hide each other
            "at": point.size if even else _beside(point.size, names.index(point.name), len(names)),
            "across": point.across, "down": point.down, "shape": SHAPES[names.index(point.name)],
        }
        for point in points
    ]  # fmt: skip
    ticks = sorted({point.size for point in points})
    x: Spec = {"field": "at", "type": "quantitative", "title": sizes}
    if even:
        x |= {"scale": {"zero": False, "nice": False, "padding": 8}, "axis": {"grid": False, "tickCount": 5}}
    else:
        x["scale"] = {"type": "log", "domain": [ticks[0] / 1.4, ticks[-1] * 1.4], "nice": False}
        x["axis"] = {
            "grid": False, "format": "~s" if ticks[-1] >= 10_000 else ",.0f",
            "values": ticks if len(ticks) <= 4 else _powers(ticks[0], ticks[-1], (1,)),
        }  # fmt: skip
    scale: Spec = {"type": "log", "domain": [floor, 1.2 * top], "nice": False} if logarithmic else {"zero": not even}
    axis: Spec = {"format": ",.3~r", "tickCount": 5}
    if logarithmic:
        axis["values"] = _powers(floor, 1.2 * top, (1, 3) if top > 30 * floor else (1, 2, 5))
    y = {"type": "quantitative", "title": values, "scale": scale, "axis": axis}
    colour = series(names, "color", legend=STROKES)
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 1.5, "clip": True},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, **colour},
        },
        {
            "mark": {"type": "line", "strokeWidth": 1.5},
            "encoding": {
                "x": x,
                "y": {**y, "field": "mean"},
                **colour,
                **series(names, "strokeDash", legend=STROKES),
            },
        },
        {
            "mark": {"type": "point", "tooltip": True, "size": 40},
            "encoding": {"x": x, "y": {**y, "field": "mean"}, **colour, **OWN_SHAPE},
        },
    ]
    panel: Spec = {"layer": layers, "width": width, "height": height}
    facet: Spec = {}
    if across != [""]:
        facet["column"] = {"field": "across", "type": "nominal", "sort": across, "title": None}
    if down != [""]:
        facet["row"] = {
            "field": "down",
            "type": "nominal",
            "sort": down,
            "title": None,
            "header": {"labelFontWeight": "bold"},
        }
    spec: Spec = (
        {"data": {"values": rows}, "facet": facet, "spec": panel} if facet else {"data": {"values": rows}, **panel}
    )
    return finish(spec, title, *sentences, width=len(across) * (width + 20) + 130)


def _beside(size: float, number: int, names: int) -> float:
    """Return the position of a mean on a logarithmic axis, next to those of other lines."""
    return float(f"{size * ASIDE ** (number - (names - 1) / 2):.6g}")


def _powers(low: float, high: float, leading: Sequence[int]) -> list[float]:
    """Round numbers within a range: powers of ten times these."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [k * 10.0**power for power in powers for k in leading if low <= k * 10.0**power <= high]
