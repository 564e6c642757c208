"""Curves in panels: the same few series over one axis, a panel for each setting."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .chart import OWN_SHAPE, PALETTE, SHAPES, STROKES, WIDTH, Chart, Spec, finish, series

#: The height of a panel over its width.
_SHAPE = 0.72

#: Legends of several panels stand below them: beside them they would make the picture too wide for a page.
BELOW: Spec = {"orient": "bottom", "columns": 2}

#: Logarithmic axes over more powers of ten than this name every second or third of them.
_MOST_POWERS = 8


@dataclass(frozen=True)
class Axis:
    """An axis of all panels.

    Attributes
    ----------
    title
        What it measures.
    domain
        From where to where; None leaves it to the data.
    log
        Whether steps of the same length are factors.
    values
        Where labels stand; None leaves it to the drawing program (a logarithmic axis with a domain: at powers of ten).
    """

    title: str
    domain: tuple[float, float] | None = None
    log: bool = False
    values: Sequence[float] | None = None

    def shows(self, value: object) -> bool:
        """Whether a number lies between the ends of the axis."""
        if self.domain is None:
            return True
        return isinstance(value, int | float) and self.domain[0] <= value <= self.domain[1]

    def channel(self, field: str) -> Spec:
        """The position channel of Vega-Lite."""
        scale: Spec = {"type": "log"} if self.log else {"type": "linear", "zero": False}
        scale["nice"] = self.domain is None
        axis: Spec = {"format": ".4~g"}
        if self.domain is not None:
            scale["domain"] = list(self.domain)
        if self.values is not None:
            axis["values"] = list(self.values)
        elif self.log and self.domain is not None:
            low, high = (math.log10(end) for end in self.domain)
            powers = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
            axis["values"] = [10.0**k for k in powers if k % -(-len(powers) // _MOST_POWERS) == 0]
            form = "datum.value < 0.001 || datum.value > 1e6 ? '~e' : datum.value >= 1 ? ',' : '~g'"
            axis["labelExpr"] = f"format(datum.value, {form})"
        else:
            axis["tickCount"] = 6
        return {"field": field, "type": "quantitative", "title": self.title, "scale": scale, "axis": axis}


def panels(
    curves: Mapping[str, Sequence[Mapping[str, object]]],
    x: Axis,
    y: Axis,
    title: str,
    *sentences: str,
    columns: int = 2,
    dots: Collection[str] = (),
    marked: bool = False,
) -> Chart:
    """Curves in panels, with one legend for all of them.

    Parameters
    ----------
    curves
        By the title of each panel, its points: ``name`` of the series, ``x`` and ``y``. At most eight names in all.
        What is not positive is left out on a logarithmic axis.
    x, y
        The axes.
    title, sentences
        What the picture is about, and what to see in it.
    columns
        How many panels stand side by side.
    dots
        The series that are drawn as dots instead of lines.
    marked
        Whether lines have a dot at each point.

    Examples
    --------
    >>> points = [{"name": "one", "x": 1, "y": 0.1}, {"name": "one", "x": 2, "y": 0.01}]
    >>> panels({"": points}, Axis("epsilon"), Axis("delta", log=True), "A curve", columns=1)
    <Chart: A curve>
    """
    named = list(dict.fromkeys(str(row["name"]) for rows in curves.values() for row in rows))
    names = [*(name for name in named if name not in dots), *(name for name in named if name in dots)]
    width = WIDTH if columns == 1 else round(0.62 * WIDTH)
    shown = []
    for head, rows in curves.items():
        layers = _layers(_drawable_rows(rows, names, x, y), names, x, y, dots, marked, BELOW if columns > 1 else {})
        encoding = {"x": x.channel("x"), "y": y.channel("y")}
        panel: Spec = {"layer": layers, "encoding": encoding, "width": width, "height": round(_SHAPE * width)}
        if head:
            panel["title"] = {"text": head, "fontSize": 12, "fontWeight": "normal", "offset": 6}
        shown.append(panel)
    if list(curves) == [""]:
        return finish(shown[0], title, *sentences, width=width)
    spec = {"concat": shown, "columns": columns, "spacing": 28}
    return finish(spec, title, *sentences, width=(width + 60) * columns)


def _drawable_rows(
    rows: Sequence[Mapping[str, object]], names: Sequence[str], x: Axis, y: Axis
) -> list[dict[str, object]]:
    """What a logarithmic axis can show, with the shape of each series."""
    positive = [field for field, axis in (("x", x), ("y", y)) if axis.log]
    return [
        {**row, "shape": SHAPES[names.index(str(row["name"]))]}
        for row in rows
        if all(isinstance(number := row[field], int | float) and number > 0 for field in positive)
    ]


def _layers(
    rows: list[dict[str, object]],
    names: Sequence[str],
    x: Axis,
    y: Axis,
    dots: Collection[str],
    marked: bool,
    legend: Spec,
) -> list[Spec]:
    """Lines, dots on them, and the series of dots alone, which have a legend of their own."""
    lines = [name for name in names if name not in dots]
    lined = [row for row in rows if row["name"] in lines]
    inside = [row for row in rows if all(axis.shows(row[field]) for field, axis in (("x", x), ("y", y)))]
    points: Spec = {"type": "point", "tooltip": True}
    colours = series(lines, "color", legend=STROKES | legend)
    layers: list[Spec] = []
    if lined:
        encoding = colours | series(lines, "strokeDash", legend=STROKES | legend)
        layers.append({"data": {"values": lined}, "mark": {"type": "line", "clip": True}, "encoding": encoding})
    if marked:
        own = [row for row in inside if row["name"] in lines]
        layers.append({"data": {"values": own}, "mark": points, "encoding": colours | OWN_SHAPE})
    if alone := [row for row in inside if row["name"] in dots]:
        layers.append({"data": {"values": alone}, "mark": points, "encoding": _dots(names, dots, legend)})
    return layers


def _dots(names: Sequence[str], dots: Collection[str], legend: Spec) -> Spec:
    """Fill and shape of the series that are dots. Fill and not colour: so lines and dots have a legend each."""
    places = [k for k, name in enumerate(names) if name in dots]
    ranges: dict[str, Sequence[str]] = {"fill": PALETTE, "shape": SHAPES}
    return {
        channel: {
            "field": "name", "type": "nominal", "sort": None,
            "legend": {"title": None, "symbolStrokeWidth": 0, **legend},
            "scale": {"domain": [names[k] for k in places], "range": [looks[k] for k in places]},
        }
        for channel, looks in ranges.items()
    } | {"stroke": {"value": None}}  # fmt: skip
