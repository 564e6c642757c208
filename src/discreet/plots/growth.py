"""The picture of growth: the change of each count in percent, with its interval, which may be endless."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..errors import InvalidInput
from .chart import PALETTE, Chart, Spec, finish, printable
from .counts import label, label_extent
from .editions import DOT, INTERVAL, colours

#: Maximum number of groups in the chart, and of pairs of editions told apart by colour.
MAX_GROUPS, MAX_PAIRS = 30, len(PALETTE)

_WIDTH, _BAND_HEIGHT, _MAX_LABEL_LETTERS = 480, 14, 40

#: Largest percentage on the axis, where intervals reach further.
_MAX_PERCENT = 400.0


def growth(
    rows: Iterable[Mapping[str, object]], by: Sequence[str], title: str = "Growth", *sentences: str, level: str = "95%"
) -> Chart:
    """Draw the growth of counts between editions: a dot for each count and pair of editions, on its interval.

    An interval that ends beyond the axis, or is endless, has an arrow at the edge.

    Parameters
    ----------
    rows
        A mapping for each count and pair of editions: "group" (the values of ``by``), "from", "to", "growth",
        "growth_low" and "growth_high" in percent, as ``comparison.rows()`` gives them.
    by
        The columns that make the groups.
    title, sentences
        The title, and sentences before the one that explains the marks.
    level
        Coverage of the intervals, for the sentence that explains them.

    Examples
    --------
    >>> from discreet import plots
    >>> row = {"group": {"site": 1}, "from": "Q1", "to": "Q2", "growth": 20.0, "growth_low": 11.5, "growth_high": None}
    >>> plots.growth([row], by=["site"], title="Visits by site")
    <Chart: Visits by site>
    """
    cells = [row for row in rows if row["growth_low"] is not None]
    if not cells:
        raise InvalidInput("there is no growth to draw.", "Give at least one count that can grow.", argument="rows")
    names = [_name(row, by) for row in cells]
    shown = list(dict.fromkeys(names))[:MAX_GROUPS]
    pairs = list(dict.fromkeys(f"{label(row['from'], 24)} to {label(row['to'], 24)}" for row in cells))[:MAX_PAIRS]
    right = _right_end(cells)
    data = [
        datum
        for row, name in zip(cells, names, strict=True)
        if name in shown and (datum := _datum(row, name, right))["pair"] in pairs
    ]
    omitted = (f"The first {MAX_GROUPS} groups.",) if len(set(names)) > MAX_GROUPS else ()
    how = f"Dots are growth in percent; lines are its {level} intervals, with an arrow where they go on."
    height = max(80, len(shown) * (_BAND_HEIGHT * len(pairs) + 8))
    spec = {"data": {"values": data}, "width": _WIDTH, "height": height, **_marks(shown, pairs, right)}
    return finish(spec, label(title, 120), *map(printable, sentences), *omitted, how, width=_WIDTH)


def _name(row: Mapping[str, object], by: Sequence[str]) -> str:
    group = row["group"]
    assert isinstance(group, Mapping)
    return label(", ".join(label(group[column], 24) for column in by) or "all", _MAX_LABEL_LETTERS)


def _right_end(cells: Sequence[Mapping[str, object]]) -> float:
    ends = [end for row in cells for name in ("growth", "growth_high") if isinstance(end := row[name], int | float)]
    return min(1.1 * max([20.0, *ends]), _MAX_PERCENT)


def _datum(row: Mapping[str, object], name: str, right: float) -> Spec:
    low, high, estimate = (row[key] for key in ("growth_low", "growth_high", "growth"))
    assert isinstance(low, int | float)
    goes_on = not isinstance(high, int | float) or high > right
    datum: Spec = {
        "group": name,
        "pair": f"{label(row['from'], 24)} to {label(row['to'], 24)}",
        "low": min(low, right),
        "high": right if goes_on else high,
    }
    if goes_on:
        datum["goes on"] = right
    if isinstance(estimate, int | float) and estimate <= right:
        datum["growth"] = estimate
    return datum


def _marks(groups: Sequence[str], pairs: Sequence[str], right: float) -> Spec:
    x: Spec = {
        "type": "quantitative", "title": "growth in percent", "scale": {"domain": [-100, right], "nice": False},
    }  # fmt: skip
    y: Spec = {
        "field": "group", "type": "nominal", "sort": list(groups), "title": None,
        "axis": {"ticks": False, "domain": False, "labelLimit": 0, "minExtent": label_extent(groups)},
    }  # fmt: skip
    several = len(pairs) > 1
    colour = colours("pair", pairs, None, {"orient": "top", "labelLimit": 0} if several else None)
    offset: Spec = {"yOffset": {"field": "pair", "type": "nominal", "sort": list(pairs)}} if several else {}
    valid = "isValid(datum['{}'])".format
    return {
        "encoding": {"y": y, **offset, "color": colour},
        "layer": [
            {"mark": INTERVAL, "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}}},
            {"transform": [{"filter": valid("goes on")}],
             "mark": {"type": "point", "shape": "triangle-right", "filled": True, "size": 60, "opacity": 0.7},
             "encoding": {"x": {**x, "field": "goes on"}}},
            {"transform": [{"filter": valid("growth")}], "mark": DOT, "encoding": {"x": {**x, "field": "growth"}}},
        ],
    }  # fmt: skip
