"""Charts of this study: costs as lines over n or alpha, and answers on a grid."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.plots import Chart
from discreet.plots.chart import ON_CELLS, OWN_SHAPE, RAMP, SHAPES, STROKES, Spec, finish, series

from ..study import Row

#: Width of a panel next to others, in nominal pixels.
PANEL, HEIGHT = 300, 240


def lines(
    rows: Sequence[Row],
    names: Sequence[str],
    *,
    x: str,
    y: str,
    x_title: str,
    y_title: str,
    title: str,
    sentences: Sequence[str] = (),
    width: int = PANEL,
    zero: bool = False,
    dots: bool = True,
    marked: Sequence[tuple[float, str]] = (),
    marked_at: float = 0,
    logarithmic: bool = False,
) -> Chart:
    """Draw a line for each name.

    Parameters
    ----------
    rows
        With "name" and the columns ``x`` and ``y``.
    zero
        Whether the vertical axis begins at zero.
    marked
        Places on the horizontal axis that get a dotted line, each with a word.
    marked_at
        How far from the top the words stand, as a share of the height.
    logarithmic
        Whether the horizontal axis is.
    """
    data = [{"name": row["name"], x: row[x], y: row[y], "shape": SHAPES[names.index(str(row["name"]))]} for row in rows]
    across = {
        "field": x, "type": "quantitative", "title": x_title, "scale": {"zero": False, "nice": False, "padding": 8},
        "axis": {"tickCount": 6, "format": ".3~g"},
    }  # fmt: skip
    if logarithmic:
        across["scale"] = {"type": "log", "base": 2, "nice": False, "padding": 8}
        across["axis"] = {"format": "d"}
    up = {
        "field": y, "type": "quantitative", "title": y_title,
        "scale": {"zero": True} if zero else {"zero": False, "nice": False, "padding": 12},
        "axis": {"tickCount": 6, "format": ".4~g"},
    }  # fmt: skip
    colour = series(names, "color", legend=STROKES)
    layers: list[Spec] = []
    places = [float(str(row[x])) for row in rows]
    for place, word in marked:
        layers.append(_marked(place, word, across, marked_at * HEIGHT, place > 0.2 * min(places) + 0.8 * max(places)))
    layers.append(
        {"mark": {"type": "line"}, "encoding": {"x": across, "y": up, **colour,
         **series(names, "strokeDash", legend=STROKES)}}
    )  # fmt: skip
    if dots:
        layers.append({"mark": {"type": "point", "tooltip": True, "size": 30},
                       "encoding": {"x": across, "y": up, **colour, **OWN_SHAPE}})  # fmt: skip
    spec: Spec = {"data": {"values": data}, "layer": layers, "width": width, "height": HEIGHT}
    return finish(spec, title, *sentences, width=width + 160)


def _marked(place: float, word: str, across: Spec, height: float, left: bool) -> Spec:
    """Draw a dotted line upright, with a word at its top, left or right of it."""
    rule = {"mark": {"type": "rule", "strokeDash": [2, 3], "color": "#777777"}}
    text = {
        "mark": {"type": "text", "align": "right" if left else "left", "baseline": "top", "dx": -4 if left else 4,
                 "dy": 2, "fontSize": 11,
                 "color": "#555555"},
        "encoding": {"y": {"value": height}, "text": {"value": word}},
    }  # fmt: skip
    position = {"x": {**across, "field": "place"}}
    return {"data": {"values": [{"place": place}]}, "encoding": position, "layer": [rule, text]}


def grid(
    rows: Sequence[Row],
    *,
    x: str,
    y: str,
    colour: str,
    x_title: str,
    y_title: str,
    title: str,
    sentences: Sequence[str] = (),
    text: str | None = None,
    domain: Sequence[float] | None = None,
    legend: str | None = None,
    names: Sequence[str] = (),
    palette: Sequence[str] = (),
    step: tuple[int, int] = (46, 30),
    descending: bool = False,
    x_order: Sequence[str] | None = None,
) -> Chart:
    """Draw cells in two directions, coloured by a number or by a name, with words in them where there is room.

    Parameters
    ----------
    colour
        The column that colours: numbers on ``domain``, or ``names`` with the colours of ``palette``.
    text
        The column with the words in the cells; None for none.
    legend
        The title of the legend; None for no legend.
    descending
        Whether the rows run from the largest down.
    x_order
        The order of the columns, where it is not that of the data.
    """
    positions = {
        channel: {
            "field": field, "type": "ordinal", "title": heading, "sort": order,
            "axis": {"labelAngle": 0, "domain": False, "ticks": False, "grid": False, "labelLimit": 220},
        }
        for channel, field, heading, order in (
            ("x", x, x_title, None if x_order is None else list(x_order)),
            ("y", y, y_title, "descending" if descending else None),
        )
    }  # fmt: skip
    scale: Spec = (
        {"domain": list(names), "range": list(palette)}
        if names
        else {"type": "linear", "domain": list(domain or (0, 1)), "range": list(RAMP[:6]), "interpolate": "lab"}
    )
    paint = {
        "field": colour, "type": "nominal" if names else "quantitative", "scale": scale,
        "legend": None if legend is None else {"title": legend or None, "symbolType": "square"},
    }  # fmt: skip
    layers: list[Spec] = [
        {"mark": {"type": "rect", "tooltip": True, "stroke": "white", "strokeWidth": 1},
         "encoding": {**positions, "color": paint}}
    ]  # fmt: skip
    if text is not None:
        middle = {"field": colour, "type": "quantitative"}
        bright: Spec = {"value": ON_CELLS}
        if not names:
            low, high = (domain or (0, 1))[0], (domain or (0, 1))[-1]
            bright = {
                "condition": {"test": f"datum['{middle['field']}'] > {low + 0.75 * (high - low)}", "value": "white"},
                "value": ON_CELLS,
            }
        layers.append({"mark": {"type": "text", "fontSize": 11},
                       "encoding": {**positions, "text": {"field": text}, "color": bright}})  # fmt: skip
    columns = len({row[x] for row in rows})
    spec: Spec = {
        "data": {"values": [dict(row) for row in rows]},
        "layer": layers,
        "width": {"step": step[0]},
        "height": {"step": step[1]},
    }
    return finish(spec, title, *sentences, width=step[0] * columns + 60)
