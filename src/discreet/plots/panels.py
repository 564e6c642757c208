"""Curves in panels: a few series over a common axis, with a panel for each setting."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .chart import OWN_SHAPE, PALETTE, SHAPES, STROKES, WIDTH, Chart, Spec, finish, series

#: Ratio of a panel's height to its width.
_HEIGHT_RATIO = 0.72

#: Legend below several panels: to their right it would make the picture too wide for a page.
BELOW: Spec = {"orient": "bottom", "columns": 2}

#: Maximum number of labelled powers of ten on a logarithmic axis; of more, every second or third has a label.
_MAX_POWER_LABELS = 8


@dataclass(frozen=True)
class Axis:
    """An axis of all panels.

    Attributes
    ----------
    title
        Its title.
    domain
        Its ends; None to fit the data.
    log
        True if it is logarithmic.
    values
        Positions of labels; None for the drawing program's (or powers of ten, on a logarithmic axis with a domain).
    """

    title: str
    domain: tuple[float, float] | None = None
    log: bool = False
    values: Sequence[float] | None = None

    def shows(self, value: object) -> bool:
        """Return True if a number lies between the ends of the axis."""
        if self.domain is None:
            return True
        return isinstance(value, int | float) and self.domain[0] <= value <= self.domain[1]

    def channel(self, field: str) -> Spec:
        """Return the position channel of Vega-Lite."""
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
            axis["values"] = [10.0**k for k in powers if k % -(-len(powers) // _MAX_POWER_LABELS) == 0]
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
    with_dots: bool = False,
) -> Chart:
    """Draw curves in panels, with one legend for all of them.

    Parameters
    ----------
    curves
        Title of a panel -> its points: ``name`` of the series, ``x`` and ``y``. At most eight names in total.
        Numbers that are not positive are omitted on a logarithmic axis.
    x, y
        The axes.
    title, sentences
        The title, and sentences about what to see.
    columns
        Number of panels in a row.
    dots
        The series that are drawn as dots instead of lines.
    with_dots
        True if lines have a dot at each point.

    Examples
    --------
    >>> points = [{"name": "one", "x": 1, "y": 0.1}, {"name": "one", "x": 2, "y": 0.01}]
    >>> panels({"": points}, Axis("epsilon"), Axis("delta", log=True), "A curve", columns=1)
    <Chart: A curve>
    """
    all_names = list(dict.fromkeys(str(row["name"]) for rows in curves.values() for row in rows))
    names = [*(name for name in all_names if name not in dots), *(name for name in all_names if name in dots)]
    width = WIDTH if columns == 1 else round(0.62 * WIDTH)
    drawings = []
    for head, rows in curves.items():
        layers = _layers(_drawable_rows(rows, names, x, y), names, x, y, dots, with_dots, BELOW if columns > 1 else {})
        encoding = {"x": x.channel("x"), "y": y.channel("y")}
        panel: Spec = {"layer": layers, "encoding": encoding, "width": width, "height": round(_HEIGHT_RATIO * width)}
        if head:
            panel["title"] = {"text": head, "fontSize": 12, "fontWeight": "normal", "offset": 6}
        drawings.append(panel)
    if list(curves) == [""]:
        return finish(drawings[0], title, *sentences, width=width)
    spec = {"concat": drawings, "columns": columns, "spacing": 28}
    return finish(spec, title, *sentences, width=(width + 60) * columns)


def _drawable_rows(
    rows: Sequence[Mapping[str, object]], names: Sequence[str], x: Axis, y: Axis
) -> list[dict[str, object]]:
    """Return the rows that a logarithmic axis can show, with the shape of each series."""
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
    with_dots: bool,
    legend: Spec,
) -> list[Spec]:
    """Draw lines, dots on them, and the series of dots alone, which have their own legend."""
    lines = [name for name in names if name not in dots]
    line_rows = [row for row in rows if row["name"] in lines]
    inside = [row for row in rows if all(axis.shows(row[field]) for field, axis in (("x", x), ("y", y)))]
    points: Spec = {"type": "point", "tooltip": True}
    colours = series(lines, "color", legend=STROKES | legend)
    layers: list[Spec] = []
    if line_rows:
        encoding = colours | series(lines, "strokeDash", legend=STROKES | legend)
        layers.append({"data": {"values": line_rows}, "mark": {"type": "line", "clip": True}, "encoding": encoding})
    if with_dots:
        dotted = [row for row in inside if row["name"] in lines]
        layers.append({"data": {"values": dotted}, "mark": points, "encoding": colours | OWN_SHAPE})
    if dot_rows := [row for row in inside if row["name"] in dots]:
        layers.append({"data": {"values": dot_rows}, "mark": points, "encoding": _dots(names, dots, legend)})
    return layers


def _dots(names: Sequence[str], dots: Collection[str], legend: Spec) -> Spec:
    """Return fill (not colour, so that lines and dots have separate legends) and shape of the series of dots."""
    positions = [k for k, name in enumerate(names) if name in dots]
    ranges: dict[str, Sequence[str]] = {"fill": PALETTE, "shape": SHAPES}
    return {
        channel: {
            "field": "name", "type": "nominal", "sort": None,
            "legend": {"title": None, "symbolStrokeWidth": 0, **legend},
            "scale": {"domain": [names[k] for k in positions], "range": [values[k] for k in positions]},
        }
        for channel, values in ranges.items()
    } | {"stroke": {"value": None}}  # fmt: skip
