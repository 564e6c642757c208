"""The picture of released counts: every count with the interval that covers the truth, arranged by its group."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any
from unicodedata import east_asian_width

from ..errors import InvalidInput, Unsupported
from .chart import INK, QUIET, Chart, Spec, finish, printable

#: A picture with more cells than this is a wall; the table has them all.
MOST_CELLS = 500

#: The colours of all pictures in another order: filled areas want hues of one weight first, and black last.
FILLS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#777777", "#000000")

_WIDE = 640
_MOST_BARS, _MOST_PANELS, _MOST_ROWS_IN_A_COLUMN = 40, 12, 64

#: The width of a letter of a label, in pixels: of a wide font, as the reader's may be wider than the drawing program's.
_LETTER = 6.8

#: What stands where no count is: a cell that cannot exist, and one that was held back.
_MARKS = {"M": "×", "Q": "?"}


@dataclass(frozen=True)
class _Layout:
    """Which column goes where: along the axis, to colours, to panels."""

    along: tuple[str, ...]
    colour: str | None
    panels: tuple[str, ...]


def counts(
    rows: Iterable[Mapping[str, object]], by: Sequence[str], title: str = "Counts", *sentences: str, level: str = "95%"
) -> Chart:
    """Released counts with their intervals: bars where there are few, dots on lines where there are many.

    The first column runs along the axis; the last one with at most eight values is shown by colour, the others by
    panels. A cross stands for a cell that cannot exist, a question mark for one that was suppressed.

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
        How sure the intervals are, for the sentence that says so.

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
    if len(cells) > MOST_CELLS:
        raise Unsupported(
            f"{len(cells)} cells do not fit in a picture; it shows at most {MOST_CELLS}.",
            "Give fewer.",
            argument="rows",
        )
    columns = [*by, "measure"] if len({cell.get("measure") for cell in cells}) > 1 else list(by)
    most = 40 if len(cells) <= 2 * _MOST_ROWS_IN_A_COLUMN else 24
    names = {column: _named((cell[column] for cell in cells), most) for column in columns}
    layout = _arrange(columns, names)
    table = [_datum(cell, layout, names) for cell in cells]
    along = list(dict.fromkeys(row["along"] for row in table))
    panels = list(dict.fromkeys(row["panel"] for row in table))
    hues = list(names[layout.colour].values()) if layout.colour else [""]
    numeric = len(layout.along) == 1 and all(type(cell[layout.along[0]]) is int for cell in cells)
    heading = " · ".join(label(column, 60) for column in layout.along)
    if along != [""] and len(along) * len(hues) <= _MOST_BARS and _fits(along, hues, len(panels)):
        drawn = _bars(table, along, hues, heading, len(panels))
    elif numeric and len(along) > 12:
        drawn = _points(table, heading, len(panels))
    else:
        drawn = _lines(table, along, hues, heading, panels)
        panels = list(dict.fromkeys(row["panel"] for row in table))
    spec, form, width = drawn
    spec["encoding"] |= _colour(layout.colour, hues)
    body: Spec = {"data": {"values": table}}
    if layout.panels:
        header = {"title": None, "labelLimit": 0, "labelAnchor": "start", "labelFontWeight": "bold"}
        facet = {"field": "panel", "type": "nominal", "sort": panels, "header": header}
        body |= {"facet": facet, "columns": _across(len(panels)), "spacing": 24, "spec": spec}
        width = _across(len(panels)) * (width + 24)
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
    """A value of a group as a person reads it, cut to so many letters (wide ones count twice).

    The missing value is NULL, and a text that reads so is quoted.
    """
    text = "NULL" if value is None else printable("'NULL'" if value == "NULL" else str(value))
    if _width(text) <= most:
        return text
    while text and _width(text) >= most:
        text = text[: most - 1] if len(text) >= most else text[:-1]
    return f"{text}…"


def _width(text: str) -> int:
    return len(text) if text.isascii() else sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _named(values: Iterable[object], most: int) -> dict[Any, str]:
    """A label for each different value, in their order; those that read alike when they are cut short are numbered.

    Cutting is not left to the drawing program: it would cut letters in two that have two code units.
    """
    names: dict[Any, str] = {}
    taken: set[str] = set()
    for value in dict.fromkeys(values):
        name = label(value, most)
        for number in count(2):
            if name not in taken:
                break
            name = f"{label(value, most - 4)} ({number})"
        taken.add(name)
        names[value] = name
    return names


def _arrange(columns: list[str], values: Mapping[str, Mapping[object, str]]) -> _Layout:
    if not columns:
        return _Layout((), None, ())
    # a column with one value tells nothing apart
    telling = [column for column in columns if len(values[column]) > 1] or columns[:1]
    first, rest = telling[0], telling[1:]
    colour = next((column for column in reversed(rest) if len(values[column]) <= len(FILLS)), None)
    panels = tuple(column for column in rest if column != colour)
    if math.prod(len(values[column]) for column in panels) > _MOST_PANELS:
        if len(panels) == 1 and len(values[first]) <= _MOST_PANELS:
            return _Layout(panels, colour, (first,))
        return _Layout((first, *panels), colour, ())
    return _Layout((first,), colour, panels)


def _datum(cell: Mapping[str, Any], layout: _Layout, names: Mapping[str, Mapping[Any, str]]) -> Spec:
    status = str(cell["status"])
    datum: Spec = {
        "along": " · ".join(names[column][cell[column]] for column in layout.along),
        "hue": names[layout.colour][cell[layout.colour]] if layout.colour else "",
        "panel": ", ".join(f"{label(column, 20)}: {names[column][cell[column]]}" for column in layout.panels),
        "status": status,
    }
    if status == "A":
        shown = {name: cell[name] for name in ("count", "low", "high")}
        return datum | {
            name: round(value) for name, value in shown.items() if value is not None and math.isfinite(value)
        }
    return datum | {"mark": _MARKS.get(status, "?"), "zero": 0}


def _across(panels: int) -> int:
    """How many panels stand side by side."""
    return panels if panels <= 3 else 2 if panels == 4 else 3


def _room(panels: int) -> float:
    """The width of one panel."""
    return _WIDE if panels == 1 else (_WIDE + 80) / _across(panels) - 24


def _fits(labels: list[str], hues: list[str], panels: int) -> bool:
    """Whether bars are wide enough to stand side by side, with their labels under them."""
    step = _room(panels) / len(labels)
    return step / len(hues) >= 7 and max(map(_width, labels)) * 6.5 <= step


# ------------------------------------------------------------------------------------------------ three forms


def _bars(table: list[Spec], along: list[str], hues: list[str], heading: str, panels: int) -> tuple[Spec, str, float]:
    """Bars that stand, in groups."""
    step = min(64.0 if len(hues) == 1 else 150.0, _room(panels) / len(along))
    width = round(step * len(along))
    x: Spec = {
        "field": "along", "type": "ordinal", "title": heading or None, "sort": None,
        "scale": {"domain": along, "paddingInner": 0.28 if len(hues) > 1 else 0.34, "paddingOuter": 0.2},
        "axis": {"labelAngle": 0, "ticks": False, "domain": False, "grid": False, "labels": bool(heading),
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


def _points(table: list[Spec], heading: str, panels: int) -> tuple[Spec, str, float]:
    """Dots along an axis of numbers, each on its interval."""
    width, height = round(_room(panels)), 300 if panels == 1 else 180
    for row in table:
        row["along"] = int(row["along"])
    places = [row["along"] for row in table]
    gap = width / (max(places) - min(places) + 1)
    domain = [min(places) - 0.5, max(places) + 0.5]
    x: Spec = {
        "field": "along", "type": "quantitative", "title": heading,
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
    table: list[Spec], along: list[str], hues: list[str], heading: str, panels: list[str]
) -> tuple[Spec, str, float]:
    """A line of text for each group, its dots beside it; long lists go on in further columns."""
    bars = len(panels) == 1 and len(along) * len(hues) <= _MOST_BARS
    step = max(26, 16 * len(hues) + 8) if bars else max(15, 7 * len(hues) + 5)
    columns = 1
    if len(panels) == 1:
        columns = min(3, math.ceil(len(along) * step / (_MOST_ROWS_IN_A_COLUMN * 15)))
        each = math.ceil(len(along) / columns)
        part = {name: k // each for k, name in enumerate(along)}
        for row in table:
            row["panel"] = str(part[row["along"]])
    width = {1: 460, 2: 250, 3: 165}[columns if len(panels) == 1 else _across(len(panels))]
    y: Spec = {
        "field": "along", "type": "ordinal", "title": heading or None if columns == 1 else None, "sort": along,
        "scale": {"paddingInner": 0.2, "paddingOuter": 0.1},
        "axis": {"ticks": False, "domain": False, "grid": not bars, "labels": bool(heading),
                 "labelLimit": 0, "minExtent": round(_LETTER * max(map(_width, along))) if heading else 0,
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
    # a step and not a height: columns of different length keep one rhythm
    spec: Spec = {"layer": layers, "encoding": encoding, "width": width, "height": {"step": step, "for": "position"}}
    return spec, "bars" if bars else "dots", width


def _column(spec: Spec, table: list[Spec], panel: str) -> Spec:
    """The part of a long list that stands in one column."""
    own = list(dict.fromkeys(row["along"] for row in table if row["panel"] == panel))
    encoding = spec["encoding"] | {"y": spec["encoding"]["y"] | {"sort": own}}
    return spec | {"transform": [{"filter": {"field": "panel", "equal": panel}}], "encoding": encoding}


# ------------------------------------------------------------------------------------------------ parts of them


#: Each figure by itself: an axis to 1,000 whose steps were all given in thousands would read 0.2k, 0.4k, ...
_FIGURES = "format(datum.value, abs(datum.value) >= 1e6 ? '~s' : ',~d')"


def _count(channel: str, field: str) -> Spec:
    axis = {
        "labelExpr": _FIGURES, "tickMinStep": 1, "tickCount": 5, "domain": False, "ticks": False, "grid": True,
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
    """How far the axis must go so that a figure beyond the longest interval does not touch the frame."""
    ends = [max(row.get("high", row["count"]), row["count"]) for row in table if row["status"] == "A"]
    lowest = min([0, *(min(row.get("low", 0), row["count"]) for row in table if row["status"] == "A")])
    highest = max([0, *ends])
    if highest == lowest:
        return None
    return float(f"{highest + (highest - lowest) * figure / (pixels - figure):.3g}")


def _longest(table: list[Spec]) -> float:
    """The width of the longest figure, in pixels, with room on either side."""
    return 12 + 6.5 * max([1, *(len(f"{row['count']:,}") for row in table if row["status"] == "A")])


def _numbers(channel: str, look: Spec, reach: float | None) -> Spec:
    """The count in figures beyond the end of its interval, on an axis that goes this far."""
    place = _count(channel, "above")
    if reach is not None:
        place[channel]["scale"] = {"domainMax": reach}
    return {
        "transform": [{"filter": "datum.status === 'A'"}, {"calculate": "max(datum.high, datum.count)", "as": "above"}],
        "mark": {"type": "text", "fontSize": 11, **look},
        "encoding": place | {"text": {"field": "count", "format": ",d"}, "color": {"value": INK}},
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


def _how_to_read(form: str, level: str, table: list[Spec]) -> list[str]:
    marks = {row["status"] for row in table}
    words = [f"{'Bars' if form == 'bars' else 'Dots'} are the released counts; lines are their {level} intervals."]
    words += ["× cannot exist."] if "M" in marks else []
    words += ["? was suppressed."] if "Q" in marks else []
    return [" ".join(words)]
