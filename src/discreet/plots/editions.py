"""The picture of several editions: each count over time, with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..errors import InvalidInput
from .chart import PALETTE, Chart, Spec, finish, printable
from .counts import label

#: Maximum number of lines in a panel, and of panels.
MAX_LINES, MAX_PANELS = len(PALETTE), 12

#: Marks of an interval, and of the count or percentage on it.
INTERVAL: Spec = {"type": "rule", "strokeWidth": 4, "opacity": 0.4, "strokeCap": "round"}
DOT: Spec = {"type": "point", "size": 40, "tooltip": True}

_TOTAL_WIDTH, _MAX_LABEL_LETTERS = 560, 24


def editions(
    rows: Iterable[Mapping[str, object]], by: Sequence[str], title: str = "Counts", *sentences: str, level: str = "95%"
) -> Chart:
    """Draw the counts of several editions: a line for each group, a dot for each edition on its interval.

    The last column of the groups with at most eight values is shown by colour, the others by panels, of which there are
    at most twelve.

    Parameters
    ----------
    rows
        A mapping for each count and edition, in order of time: "group" (the values of ``by``), "edition", "count",
        "low", "high" and "status", as ``comparison.series()`` gives them.
    by
        The columns that make the groups.
    title, sentences
        The title, and sentences before the one that explains the marks.
    level
        Coverage of the intervals, for the sentence that explains them.

    Examples
    --------
    >>> from discreet import plots
    >>> plots.editions(
    ...     [
    ...         {"group": {"site": 1}, "edition": "Q1", "count": 12, "low": 8, "high": 16, "status": "A"},
    ...         {"group": {"site": 1}, "edition": "Q2", "count": 19, "low": 15, "high": 23, "status": "A"},
    ...     ],
    ...     by=["site"],
    ...     title="Visits by site",
    ... )
    <Chart: Visits by site>
    """
    cells = list(rows)
    if not cells:
        raise InvalidInput("there are no counts to draw.", "Give at least one.", argument="rows")
    groups = [tuple(cell["group"][column] for column in by) for cell in cells]  # type: ignore[index]
    colour = _colour_column(by, groups)
    table = [_datum(cell, group, by, colour) for cell, group in zip(cells, groups, strict=True)]
    panels = list(dict.fromkeys(row["panel"] for row in table))
    omission = (f"The first {MAX_PANELS} of {len(panels)} panels.",) if len(panels) > MAX_PANELS else ()
    panels = panels[:MAX_PANELS]
    table = [row for row in table if row["panel"] in panels]
    hues = list(dict.fromkeys(row["hue"] for row in table))
    names = list(dict.fromkeys(row["edition"] for row in table))
    across = 1 if len(panels) == 1 else 2 if len(panels) in (2, 4) else 3
    width = _TOTAL_WIDTH if across == 1 else (_TOTAL_WIDTH + 120) // across - 30
    spec = _lines(names, hues, "" if colour is None else by[colour], width, 300 if across == 1 else 170)
    body: Spec = {"data": {"values": table}}
    if len(panels) > 1:
        header = {"title": None, "labelLimit": 0, "labelAnchor": "start", "labelFontWeight": "bold"}
        body |= {
            "facet": {"field": "panel", "type": "nominal", "sort": panels, "header": header},
            "columns": across, "spacing": 24, "spec": spec,
        }  # fmt: skip
    else:
        body |= spec
    how = f"Dots are the released counts; lines through them are their {level} intervals."
    return finish(body, label(title, 120), *map(printable, sentences), *omission, how, width=across * (width + 30))


def colours(field: str, names: Sequence[str], title: str | None, legend: Spec | None) -> Spec:
    """Return the encoding that gives each of these values of a field a colour."""
    scale = {"domain": list(names), "range": list(PALETTE[: len(names)])}
    return {"field": field, "type": "nominal", "title": title, "sort": None, "scale": scale, "legend": legend}


def _colour_column(by: Sequence[str], groups: Sequence[tuple[object, ...]]) -> int | None:
    """Return the number of the last column with few enough values, or None."""
    few = [k for k in range(len(by)) if 1 < len({group[k] for group in groups}) <= MAX_LINES]
    return few[-1] if few else None


def _datum(cell: Mapping[str, object], group: tuple[object, ...], by: Sequence[str], colour: int | None) -> Spec:
    panel = [f"{label(by[k], 20)}: {label(value, _MAX_LABEL_LETTERS)}" for k, value in enumerate(group) if k != colour]
    datum: Spec = {
        "edition": label(cell["edition"], _MAX_LABEL_LETTERS),
        "hue": "" if colour is None else label(group[colour], 40),
        "panel": ", ".join(panel),
    }
    if cell["status"] == "Q":
        return datum
    return datum | {name: cell[name] for name in ("count", "low", "high") if cell[name] is not None}


def _lines(names: Sequence[str], hues: Sequence[str], colour_title: str, width: int, height: int) -> Spec:
    is_turned = max(map(len, names)) * 6.5 > width / len(names)
    x: Spec = {
        "field": "edition", "type": "ordinal", "title": None, "sort": None,
        "scale": {"type": "point", "domain": list(names), "padding": 0.4},
        "axis": {"labelAngle": -30 if is_turned else 0, "grid": False, "ticks": False, "labelLimit": 0},
    }  # fmt: skip
    axis = {"tickMinStep": 1, "tickCount": 5, "domain": False, "ticks": False, "format": ",~d"}
    y: Spec = {"field": "count", "type": "quantitative", "title": "count", "axis": axis}
    legend: Spec = {
        "orient": "top", "direction": "horizontal", "symbolType": "circle", "titleOrient": "left", "labelLimit": 0,
        "columns": max(1, min(len(hues), 90 // (max(map(len, hues)) + 5))), "offset": 14, "titlePadding": 12,
    }  # fmt: skip
    colour: Spec = {"value": PALETTE[0]}
    if colour_title:
        colour = colours("hue", hues, label(colour_title, 40), legend)
    offset: Spec = {}
    if len(hues) > 1:  # next to each other, so that intervals do not overlap
        step = min(9.0, width / len(names) / (len(hues) + 2))
        reach = [(k - (len(hues) - 1) / 2) * step for k in range(len(hues))]
        offset = {"xOffset": {"field": "hue", "type": "nominal", "sort": None, "legend": None,
                              "scale": {"type": "ordinal", "domain": list(hues), "range": reach}}}  # fmt: skip
    ends = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
    return {
        "width": width,
        "height": height,
        "encoding": {"x": x, **offset, "color": colour},
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.55}, "encoding": {"y": y}},
            {
                "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
                "mark": INTERVAL,
                "encoding": ends,
            },
            {"mark": DOT, "encoding": {"y": y}},
        ],
    }
