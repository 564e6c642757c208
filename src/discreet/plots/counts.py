"""The picture of released counts: each count with its interval, arranged by group."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any
from unicodedata import east_asian_width

from ..errors import InvalidInput, Unsupported
from .chart import INK, QUIET, Chart, Spec, finish, printable

#: Maximum number of cells in a legible picture; the table has them all.
MAX_DRAWN_CELLS = 500

#: The palette in another order: for filled areas, hues of similar weight first and black last.
FILLS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#777777", "#000000")

_TOTAL_WIDTH = 640

#: Pixels between two panels.
_PANEL_GAP = 24

#: Panels in a row, or columns of a long list -> the width of each, in pixels.
_LIST_WIDTHS = {1: 460, 2: 250, 3: 165}

_MAX_BARS, _MAX_PANELS, _MAX_COLUMN_ROWS = 40, 12, 64

#: Share of the largest count below which the widest interval cannot be seen: six pixels of a chart.
MIN_VISIBLE_SHARE = 0.02

#: Width of a letter of a label in a wide font, in pixels: the reader's font may be wider than the drawing program's.
_LETTER_WIDTH, _BOLD_LETTER_WIDTH = 6.8, 7.6

#: Status of a cell without a count (impossible, suppressed) -> its mark.
_STATUS_MARKS = {"M": "×", "Q": "?"}


@dataclass(frozen=True)
class _Layout:
    """The columns along the axis, the column shown by colour, and those shown by panels."""

    along: tuple[str, ...]
    colour: str | None
    panels: tuple[str, ...]


def counts(
    rows: Iterable[Mapping[str, object]], by: Sequence[str], title: str = "Counts", *sentences: str, level: str = "95%"
) -> Chart:
    """Draw released counts with their intervals: few as bars, many as dots on lines.

    The first column runs along the axis; the last one with at most eight values is shown by colour, the others by
    panels. A cross marks a cell that cannot exist, a question mark one that was suppressed.

    Parameters
    ----------
    rows
        A mapping for each cell with the columns of ``by``, "count", "low", "high", "status" ("A", "M" or "Q") and,
        where a table has several, "measure": what ``release.rows()`` gives. At most 500 of them.
    by
        The columns that make the groups.
    title, sentences
        What the picture is about, and what should be said before how it is read.
    level
        Coverage of the intervals, for the legend's sentence.

    Examples
    --------
    >>> from discreet import plots
    >>> plots.counts(
    ...     [
    ...         {"site": 1, "count": 12, "low": 8, "high": 16, "status": "A"},
    ...         {"site": 2, "count": 0, "low": 0, "high": 0, "status": "M"},
    ...     ],
    ...     by=["site"],
    ...     title="Visits by site",
    ... )
    <Chart: Visits by site>
    """
    cells = list(rows)
    if not cells:
        raise InvalidInput("there are no cells to draw.", "Give at least one.", argument="rows")
    if len(cells) > MAX_DRAWN_CELLS:
        raise Unsupported(
            f"{len(cells)} cells do not fit in a picture; it shows at most {MAX_DRAWN_CELLS}.",
            "Give fewer.",
            argument="rows",
        )
    columns = [*by, "measure"] if len({cell.get("measure") for cell in cells}) > 1 else list(by)
    most = 40 if len(cells) <= 2 * _MAX_COLUMN_ROWS else 24
    names = {column: _labels((cell[column] for cell in cells), most) for column in columns}
    layout = _arrange(columns, names)
    if len(layout.panels) == 1:  # each title fits over its panel
        (column,) = layout.panels
        room = _LIST_WIDTHS[_across(len(names[column]))]
        names[column] = _labels(names[column], min(most, int(room / _BOLD_LETTER_WIDTH)))
    table = [_datum(cell, layout, names) for cell in cells]
    along = list(dict.fromkeys(row["along"] for row in table))
    panels = list(dict.fromkeys(row["panel"] for row in table))
    hues = list(names[layout.colour].values()) if layout.colour else [""]
    numeric = len(layout.along) == 1 and all(type(cell[layout.along[0]]) is int for cell in cells)
    axis_title = " · ".join(label(column, 60) for column in layout.along)
    if along != [""] and len(along) * len(hues) <= _MAX_BARS and _fits(along, hues, len(panels)):
        drawing = _bars(table, along, hues, axis_title, len(panels))
    elif numeric and len(along) > 12:
        drawing = _points(table, axis_title, len(panels))
    else:
        drawing = _lines(table, along, hues, axis_title, panels)
        panels = list(dict.fromkeys(row["panel"] for row in table))
    spec, form, width = drawing
    spec["encoding"] |= _colour(layout.colour, hues)
    body: Spec = {"data": {"values": table}}
    if layout.panels:
        title_of_panels = label(layout.panels[0], 60) if len(layout.panels) == 1 else None
        header = {"title": title_of_panels, "labelLimit": 0, "labelAnchor": "start", "labelFontWeight": "bold"}
        facet = {"field": "panel", "type": "nominal", "sort": panels, "header": header}
        body |= {"facet": facet, "columns": _across(len(panels)), "spacing": _PANEL_GAP, "spec": spec}
        width = _across(len(panels)) * (width + _PANEL_GAP)
    elif len(panels) > 1:
        body |= {"hconcat": [_column(spec, table, panel) for panel in panels], "spacing": 24}
        body["resolve"] = {"scale": {"x": "shared"}}
        width = len(panels) * (width + 100)
    else:
        body |= spec
    return finish(
        body, label(title, 120), *map(printable, sentences), *_how_to_read(form, level, table), width=max(width, 440)
    )


def label(value: object, most: int = 80) -> str:
    """Return a value of a group for people, cut to ``most`` letters (wide ones count twice).

    The missing value is NULL, and the text "NULL" is quoted.
    """
    text = "NULL" if value is None else printable("'NULL'" if value == "NULL" else str(value))
    if _width(text) <= most:
        return text
    while text and _width(text) >= most:
        text = text[: most - 1] if len(text) >= most else text[:-1]
    return f"{text}…"


def _width(text: str) -> int:
    return len(text) if text.isascii() else sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def label_extent(labels: Sequence[str]) -> int:
    """Return the room of the longest label in pixels, in the widest of the fonts that may draw it."""
    return round(_LETTER_WIDTH * max(map(_width, labels)))


def _labels(values: Iterable[object], most: int) -> dict[Any, str]:
    """Return a label for each distinct value, in their order; labels that are equal when cut are numbered.

    The drawing program does not cut them, as it would split letters of two code units.
    """
    names: dict[Any, str] = {}
    labels: set[str] = set()
    for value in dict.fromkeys(values):
        name = label(value, most)
        for number in count(2):
            if name not in labels:
                break
            name = f"{label(value, most - 4)} ({number})"
        labels.add(name)
        names[value] = name
    return names


def _arrange(columns: list[str], values: Mapping[str, Mapping[object, str]]) -> _Layout:
    if not columns:
        return _Layout((), None, ())
    # a column with one value distinguishes no groups
    varied = [column for column in columns if len(values[column]) > 1] or columns[:1]
    first, others = varied[0], varied[1:]
    colour = next((column for column in reversed(others) if len(values[column]) <= len(FILLS)), None)
    panels = tuple(column for column in others if column != colour)
    if math.prod(len(values[column]) for column in panels) > _MAX_PANELS:
        if len(panels) == 1 and len(values[first]) <= _MAX_PANELS:
            return _Layout(panels, colour, (first,))
        return _Layout((first, *panels), colour, ())
    return _Layout((first,), colour, panels)


def _datum(cell: Mapping[str, Any], layout: _Layout, names: Mapping[str, Mapping[Any, str]]) -> Spec:
    status = str(cell["status"])
    datum: Spec = {
        "along": " · ".join(names[column][cell[column]] for column in layout.along),
        "hue": names[layout.colour][cell[layout.colour]] if layout.colour else "",
        "panel": _panel_title(cell, layout.panels, names),
        "status": status,
    }
    if status == "A":
        figures = {name: cell[name] for name in ("count", "low", "high")}
        return datum | {
            name: round(value) for name, value in figures.items() if value is not None and math.isfinite(value)
        }
    return datum | {"mark": _STATUS_MARKS.get(status, "?"), "zero": 0}


def _panel_title(cell: Mapping[str, object], panels: Sequence[str], names: Mapping[str, Mapping[object, str]]) -> str:
    """Return the values of a panel, with their columns if there are several."""
    if len(panels) == 1:
        return names[panels[0]][cell[panels[0]]]
    return ", ".join(f"{label(column, 20)}: {names[column][cell[column]]}" for column in panels)


def _across(panels: int) -> int:
    """Return the number of panels in a row."""
    return panels if panels <= 3 else 2 if panels == 4 else 3


def _room(panels: int) -> float:
    """Return the width of one panel."""
    return _TOTAL_WIDTH if panels == 1 else (_TOTAL_WIDTH + 80) / _across(panels) - 24


def _fits(labels: list[str], hues: list[str], panels: int) -> bool:
    """Return True if the bars are wide enough to be next to each other, with their labels under them."""
    step = _room(panels) / len(labels)
    return step / len(hues) >= 7 and max(map(_width, labels)) * 6.5 <= step


# ------------------------------------------------------------------------------------------------ three forms


def _bars(table: list[Spec], along: list[str], hues: list[str], title: str, panels: int) -> tuple[Spec, str, float]:
    """Draw vertical bars, in groups."""
    step = min(64.0 if len(hues) == 1 else 150.0, _room(panels) / len(along))
    width = round(step * len(along))
    x: Spec = {
        "field": "along", "type": "ordinal", "title": title or None, "sort": None,
        "scale": {"domain": along, "paddingInner": 0.28 if len(hues) > 1 else 0.34, "paddingOuter": 0.2},
        "axis": {"labelAngle": 0, "ticks": False, "domain": False, "grid": False, "labels": bool(title),
                 "labelOverlap": True, "labelLimit": 0},
    }  # fmt: skip
    offset: Spec = {"field": "hue", "type": "nominal", "sort": None, "scale": {"domain": hues, "paddingInner": 0.08}}
    side = step * 0.7 / len(hues)
    layers: list[Spec] = [
        _bar("y", side),
        _whisker("y", {"stroke": INK, "strokeWidth": 1.6 if side > 8 else 1}),
        _absent("y", {"baseline": "bottom", "dy": -2}),
    ]
    height = 300 if panels == 1 else 170
    if side >= 22:
        layers.append(_numbers("y", {"baseline": "bottom", "dy": -4}, _reach(table, height, 22)))
    encoding = {"x": x} | ({"xOffset": offset} if len(hues) > 1 else {})
    return {"layer": layers, "encoding": encoding, "width": width, "height": height}, "bars", width


def _points(table: list[Spec], title: str, panels: int) -> tuple[Spec, str, float]:
    """Draw dots along a numeric axis, each on its interval."""
    width, height = round(_room(panels)), 300 if panels == 1 else 180
    for row in table:
        row["along"] = int(row["along"])
    positions = [row["along"] for row in table]
    gap = width / (max(positions) - min(positions) + 1)
    domain = [min(positions) - 0.5, max(positions) + 0.5]
    x: Spec = {
        "field": "along", "type": "quantitative", "title": title,
        "scale": {"domain": domain, "nice": False, "zero": False},
        "axis": {"grid": False, "format": "d", "tickMinStep": 1},
    }  # fmt: skip
    layers = [
        _whisker("y", {"strokeWidth": min(4.0, max(1.0, gap / 3)), "opacity": 0.35}),
        {"mark": {"type": "point", "size": 24 if gap > 5 else 9, "tooltip": True}, "encoding": _count("y", "count")},
        _absent("y", {"baseline": "middle", "fontSize": 9}),
    ]
    return {"layer": layers, "encoding": {"x": x}, "width": width, "height": height}, "dots", width


def _lines(
    table: list[Spec], along: list[str], hues: list[str], title: str, panels: list[str]
) -> tuple[Spec, str, float]:
    """Draw a line of text for each group, followed by its dots; long lists continue in further columns."""
    bars = len(panels) == 1 and len(along) * len(hues) <= _MAX_BARS
    step = max(26, 16 * len(hues) + 8) if bars else max(15, 7 * len(hues) + 5)
    columns = 1
    if len(panels) == 1:
        columns = min(3, math.ceil(len(along) * step / (_MAX_COLUMN_ROWS * 15)))
        length = math.ceil(len(along) / columns)
        part = {name: k // length for k, name in enumerate(along)}
        for row in table:
            row["panel"] = str(part[row["along"]])
    width = _LIST_WIDTHS[columns if len(panels) == 1 else _across(len(panels))]
    y: Spec = {
        "field": "along", "type": "ordinal", "title": title or None if columns == 1 else None, "sort": along,
        "scale": {"paddingInner": 0.2, "paddingOuter": 0.1},
        "axis": {"ticks": False, "domain": False, "grid": not bars, "labels": bool(title),
                 "labelLimit": 0, "minExtent": label_extent(along) if title else 0,
                 "labelFontSize": 11 if step > 20 else 10, "titleAngle": 0, "titleAlign": "right",
                 "titleAnchor": "start", "titleY": -10, "titleX": -6},
    }  # fmt: skip
    offset: Spec = {"field": "hue", "type": "nominal", "sort": None, "scale": {"domain": hues, "paddingInner": 0.1}}
    if bars:
        layers = [
            _bar("x", 16),
            _whisker("x", {"stroke": INK, "strokeWidth": 1.6}),
            _absent("x", {"align": "left", "dx": 3, "baseline": "middle"}),
            _numbers("x", {"align": "left", "dx": 5, "baseline": "middle"}, _reach(table, width, _longest(table))),
        ]
    else:
        layers = [
            _whisker("x", {"strokeWidth": 3.5, "opacity": 0.35, "strokeCap": "round"}),
            {"mark": {"type": "point", "size": 30, "tooltip": True}, "encoding": _count("x", "count")},
            _absent("x", {"baseline": "middle", "fontSize": 11}),
        ]
    encoding = {"y": y} | ({"yOffset": offset} if len(hues) > 1 else {})
    # a step and not a height, so that columns of different length have the same spacing
    spec: Spec = {"layer": layers, "encoding": encoding, "width": width, "height": {"step": step, "for": "position"}}
    return spec, "bars" if bars else "dots", width


def _column(spec: Spec, table: list[Spec], panel: str) -> Spec:
    """Return one column of a long list."""
    groups = list(dict.fromkeys(row["along"] for row in table if row["panel"] == panel))
    encoding = spec["encoding"] | {"y": spec["encoding"]["y"] | {"sort": groups}}
    return spec | {"transform": [{"filter": {"field": "panel", "equal": panel}}], "encoding": encoding}


# ------------------------------------------------------------------------------------------------ parts of them


#: Format of each figure by itself: a common unit would label an axis to 1,000 with 0.2k, 0.4k, ...
_FIGURE_FORMAT = "format(datum.value, abs(datum.value) >= 1e6 ? '~s' : ',~d')"


def _count(channel: str, field: str) -> Spec:
    axis = {
        "labelExpr": _FIGURE_FORMAT, "tickMinStep": 1, "tickCount": 5, "domain": False, "ticks": False, "grid": True,
        "labelOverlap": True, "labelSeparation": 8,
    }  # fmt: skip
    return {channel: {"field": field, "type": "quantitative", "title": "count", "stack": None, "axis": axis}}


def _bar(channel: str, side: float) -> Spec:
    mark = {"type": "bar", "cornerRadiusEnd": min(3.0, side / 5), "opacity": 0.85, "tooltip": True}
    return {"mark": mark, "encoding": _count(channel, "count")}


def _whisker(channel: str, look: Spec) -> Spec:
    bounds: Spec = _count(channel, "low") | {f"{channel}2": {"field": "high"}}
    encoding = bounds | ({"color": {"value": look["stroke"]}} if "stroke" in look else {})
    mark = {"type": "rule", **{name: value for name, value in look.items() if name != "stroke"}}
    return {"transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}], "mark": mark, "encoding": encoding}


def _absent(channel: str, look: Spec) -> Spec:
    return {
        "transform": [{"filter": "datum.status !== 'A'"}],
        "mark": {"type": "text", "fontSize": 13, **look},
        "encoding": _count(channel, "zero") | {"text": {"field": "mark"}, "color": {"value": QUIET}},
    }


def _reach(table: list[Spec], pixels: float, figure: float) -> float | None:
    """Return the end of an axis on which a figure beyond the longest interval does not touch the frame."""
    ends = [max(row.get("high", row["count"]), row["count"]) for row in table if row["status"] == "A"]
    lowest = min([0, *(min(row.get("low", 0), row["count"]) for row in table if row["status"] == "A")])
    highest = max([0, *ends])
    if highest == lowest:
        return None
    return float(f"{highest + (highest - lowest) * figure / (pixels - figure):.3g}")


def _longest(table: list[Spec]) -> float:
    """Return the width of the longest figure, in pixels, with room on either side."""
    return 12 + 6.5 * max([1, *(len(f"{row['count']:,}") for row in table if row["status"] == "A")])


def _numbers(channel: str, look: Spec, reach: float | None) -> Spec:
    """Draw the count in figures beyond the end of its interval, on an axis that ends at ``reach``."""
    position = _count(channel, "above")
    if reach is not None:
        position[channel]["scale"] = {"domainMax": reach}
    return {
        "transform": [{"filter": "datum.status === 'A'"}, {"calculate": "max(datum.high, datum.count)", "as": "above"}],
        "mark": {"type": "text", "fontSize": 11, **look},
        "encoding": position | {"text": {"field": "count", "format": ",d"}, "color": {"value": INK}},
    }


def _colour(column: str | None, hues: list[str]) -> Spec:
    if column is None:
        return {"color": {"value": FILLS[0]}}
    columns = max(1, min(len(hues), round(80 / (max(map(_width, hues)) + 5))))
    return {
        "color": {
            "field": "hue", "type": "nominal", "title": label(column, 40), "sort": None,
            "scale": {"domain": hues, "range": list(FILLS[: len(hues)])},
            "legend": {"orient": "top", "direction": "horizontal", "symbolType": "circle", "columns": columns,
                       "offset": 18, "titleOrient": "left", "titlePadding": 12, "labelLimit": 0, "titleLimit": 0,
                       "symbolOpacity": 1},
        }
    }  # fmt: skip


def invisible_half_width(cells: Iterable[Spec]) -> int | None:
    """Return the largest half width of the intervals if even the widest is too short to see in the chart, else None.

    >>> near, far = ({"status": "A", "count": count, "low": count - 3, "high": count + 3} for count in (7, 7000))
    >>> invisible_half_width([near, far]), invisible_half_width([near])
    (3, None)
    """
    noisy = [cell for cell in cells if cell["status"] == "A"]
    ends = [(cell.get("low"), cell.get("high")) for cell in noisy]
    widths = [math.inf if low is None or high is None else high - low for low, high in ends]
    reach = max([0, *(abs(cell["count"]) for cell in noisy)])
    widest = max(widths, default=0)
    return math.ceil(widest / 2) if widest < MIN_VISIBLE_SHARE * reach else None


def _how_to_read(form: str, level: str, table: list[Spec]) -> list[str]:
    marks = {row["status"] for row in table}
    shapes, half_width = "Bars" if form == "bars" else "Dots", invisible_half_width(table)
    words = [f"{shapes} are the released counts; lines are their {level} intervals."]
    if half_width is not None:
        words = [
            f"{shapes} are the released counts. Their {level} intervals are too short to see: at most ± {half_width:,}."
        ]
    words += ["× cannot exist."] if "M" in marks else []
    words += ["? was suppressed."] if "Q" in marks else []
    return [" ".join(words)]
