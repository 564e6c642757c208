"""Small multiples: the same lines over the same axes, one panel for each setting, with error bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .chart import OWN_SHAPE, SHAPES, STROKES, Chart, Spec, finish, series


def small_multiples(
    rows: Sequence[Mapping[str, object]],
    title: str,
    *sentences: str,
    x: str,
    y: str,
    across: str,
    down: str | None = None,
    x_title: str | None = None,
    y_title: str | None = None,
    size: tuple[int, int] = (170, 150),
    log_x: bool = False,
    log_y: bool = False,
    zero: bool = False,
) -> Chart:
    """Lines by name in a panel for each value of ``across`` and ``down``; ``low`` and ``high`` are the error bars.

    Parameters
    ----------
    rows
        With the columns named here, ``name``, and ``low`` and ``high`` where there is an error bar. Names, and the
        values of ``across`` and ``down``, come in the order in which they appear first.
    title, sentences
        Of the chart.
    x, y
        The columns of the axes.
    across, down
        The columns that tell panels apart.
    x_title, y_title
        Of the axes; the columns' names if not given.
    size
        Width and height of a panel.
    log_x, log_y
        Whether the axes are logarithmic.
    zero
        Whether the vertical axis begins at 0.
    """
    names = list(dict.fromkeys(str(row["name"]) for row in rows))
    horizontal: Spec = {
        "field": x,
        "type": "quantitative",
        "title": x_title or x,
        "scale": {"zero": False, "nice": True},
    }
    vertical: Spec = {"field": y, "type": "quantitative", "title": y_title or y, "scale": {"zero": zero, "nice": True}}
    for axis, logarithmic in ((horizontal, log_x), (vertical, log_y)):
        if logarithmic:
            axis["scale"] = {"type": "log"}
    color, dash = series(names, "color", legend=STROKES), series(names, "strokeDash", legend=STROKES)
    layers: list[Spec] = [
        {"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": {"y": vertical, **color, **dash}},
        {"mark": {"type": "point", "size": 28}, "encoding": {"y": vertical, **color, **OWN_SHAPE}},
    ]
    if any("low" in row for row in rows):
        bars = {"y": {**vertical, "field": "low"}, "y2": {"field": "high"}, **color}
        layers.append({"mark": {"type": "rule", "strokeWidth": 1.2}, "encoding": bars})
    facet = {"column": _facet(rows, across)} | ({} if down is None else {"row": _facet(rows, down)})
    width, height = size
    columns = len(dict.fromkeys(str(row[across]) for row in rows))
    spec: Spec = {
        "data": {"values": [{**row, "shape": SHAPES[names.index(str(row["name"]))]} for row in rows]},
        "facet": facet,
        "spec": {"width": width, "height": height, "encoding": {"x": horizontal}, "layer": layers},
    }
    return finish(spec, title, *sentences, width=width * columns + 140)


def _facet(rows: Sequence[Mapping[str, object]], field: str) -> Spec:
    return {
        "field": field, "type": "nominal", "title": None,
        "sort": list(dict.fromkeys(row[field] for row in rows)),
    }  # fmt: skip
