"""Charts of an estimated distribution: next to the raw reports, with a band, and of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..exact.arrays import FloatArray
from .chart import ACCENT, DARK, INK, PALE, WIDTH, Chart, Spec, band, finish

#: Maximum number of values that are drawn one by one; more are drawn in bins.
MAX_BARS = 300


def binned(values: Sequence[object], *columns: FloatArray) -> tuple[list[Any], list[FloatArray], int]:
    """Sum runs of values, so that at most MAX_BARS remain; return first values, sums and the length of a run."""
    width = -(-len(values) // MAX_BARS)
    starts = np.arange(0, len(values), width)
    return [values[k] for k in starts.tolist()], [np.add.reduceat(column, starts) for column in columns], width


def bars(
    values: Sequence[object],
    noun: str,
    estimate: FloatArray,
    reports: FloatArray | None,
    limits: tuple[FloatArray, FloatArray] | None,
    title: str,
    *sentences: str,
) -> Chart:
    """Draw the probability of each true value as bars, intervals as whiskers, shares of the raw reports as dots.

    Parameters
    ----------
    values, noun
        The true values, and the word for one.
    estimate, reports
        The probability of each value, and its share of the reports (None if reports are other values).
    limits
        Lower and upper ends of an interval for each value, or None.
    title, sentences
        The title, and sentences about what to see.
    """
    zeros = np.zeros(len(values))
    bin_values, (p, q), width = binned(values, estimate, zeros if reports is None else reports)
    step = min(40.0, 1.25 * WIDTH / len(bin_values))
    x = band("value", f"{noun}" + (f" (bins of {width}, named by their first)" if width > 1 else ""), bin_values, step)
    x["scale"]["paddingInner"] = 0.12 if step > 4 else 0
    rows: list[Spec] = [
        {"value": v, "probability": float(f"{a:.6g}")} for v, a in zip(bin_values, p.tolist(), strict=True)
    ]
    names = ["estimate"]
    if limits is not None and width == 1:
        names.append("interval")
        for row, low, high in zip(rows, *(limit.tolist() for limit in limits), strict=True):
            row |= {"low": float(f"{low:.6g}"), "high": float(f"{high:.6g}")}
    if reports is not None:
        names.append("raw reports")
        for row, share in zip(rows, q.tolist(), strict=True):
            row["reports"] = float(f"{share:.6g}")
    colours = {"estimate": PALE, "interval": DARK, "raw reports": ACCENT}
    scale = {"domain": names, "range": [colours[name] for name in names]}
    legend = {"title": None, "symbolType": "square"}

    def layer(mark: Spec, name: str, **channels: object) -> Spec:
        colour = {"datum": name, "type": "nominal", "scale": scale, "legend": legend}
        return {"mark": {**mark, "tooltip": True}, "encoding": {"x": x, "color": colour, **channels}}

    axis = {"type": "quantitative", "title": "probability"}
    layers = [layer({"type": "bar"}, "estimate", y={"field": "probability", **axis})]
    if "interval" in names:
        ends = {"y": {"field": "low", **axis}, "y2": {"field": "high"}}
        layers.append(layer({"type": "rule", "strokeWidth": 1.5 if step > 6 else 1}, "interval", **ends))
    if "raw reports" in names:
        dot = {"type": "point", "size": 28 if step > 6 else 10, "filled": True}
        layers.append(layer(dot, "raw reports", y={"field": "reports", **axis}))
    spec: Spec = {"data": {"values": rows}, "layer": layers, "width": step * len(bin_values), "height": 220}
    return finish(spec, title, *sentences, width=step * len(bin_values) + 130)


def cumulative(
    estimate: FloatArray,
    limits: tuple[FloatArray, FloatArray] | None,
    title: str,
    *sentences: str,
    other: FloatArray | None = None,
    values: FloatArray | None = None,
    noun: str = "count",
) -> Chart:
    """Draw the cumulative probability of every number as steps, in a band.

    Parameters
    ----------
    estimate
        The cumulative probability of each number.
    limits
        The lower and the upper limits of the band, or None.
    title, sentences
        The title, and sentences about what to see.
    other
        Another cumulative probability, drawn thin.
    values, noun
        The numbers, if they are not 0, 1, 2, ...; and the word for one.
    """
    positions = np.unique(np.linspace(0, len(estimate) - 1, min(len(estimate), 400)).round().astype(int))
    rows: list[Spec] = [
        {"count": k if values is None else _number(values[k]), "probability": float(f"{estimate[k]:.6g}")}
        for k in positions.tolist()
    ]
    if limits is not None:
        for row, k in zip(rows, positions.tolist(), strict=True):
            row |= {"low": float(f"{limits[0][k]:.6g}"), "high": float(f"{limits[1][k]:.6g}")}
    x = {"field": "count", "type": "quantitative", "title": noun, "scale": {"nice": False}}
    y = {
        "field": "probability",
        "type": "quantitative",
        "title": "probability of at most this",
        "scale": {"domain": [0, 1]},
    }
    layers: list[Spec] = []
    if limits is not None:
        area = {"type": "area", "interpolate": "step-after", "color": PALE, "opacity": 0.5}
        layers.append({"mark": area, "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}})
    if other is not None:
        for row, k in zip(rows, positions.tolist(), strict=True):
            row["other"] = float(f"{other[k]:.6g}")
        thin = {"type": "line", "interpolate": "step-after", "color": ACCENT, "strokeWidth": 0.8}
        layers.append({"mark": thin, "encoding": {"x": x, "y": {**y, "field": "other"}}})
    line = {"type": "line", "interpolate": "step-after", "color": INK, "tooltip": True}
    layers.append({"mark": line, "encoding": {"x": x, "y": y}})
    spec: Spec = {"data": {"values": rows}, "layer": layers, "width": 1.25 * WIDTH, "height": 220}
    return finish(spec, title, *sentences, width=1.25 * WIDTH)


def _number(value: float) -> int | float:
    """Return a whole number as an integer: files of charts stay the same for counts."""
    return int(value) if float(value).is_integer() else float(value)


def cumulative_lines(
    lines: Mapping[str, FloatArray],
    title: str,
    *sentences: str,
    values: FloatArray | None = None,
    noun: str = "count",
) -> Chart:
    """Draw the cumulative probability of every number in several groups, by their names."""
    size = max(map(len, lines.values()))
    positions = np.unique(np.linspace(0, size - 1, min(size, 400)).round().astype(int)).tolist()
    rows: list[Spec] = [
        {"count": k if values is None else _number(values[k]), "group": name, "probability": float(f"{line[k]:.6g}")}
        for name, line in lines.items()
        for k in positions
    ]
    encoding = {
        "x": {"field": "count", "type": "quantitative", "title": noun, "scale": {"nice": False}},
        "y": {
            "field": "probability",
            "type": "quantitative",
            "title": "probability of at most this",
            "scale": {"domain": [0, 1]},
        },
        "color": _by_group(list(lines)),
    }
    mark = {"type": "line", "interpolate": "step-after", "tooltip": True}
    spec: Spec = {"data": {"values": rows}, "mark": mark, "encoding": encoding, "width": 1.25 * WIDTH, "height": 260}
    return finish(spec, title, *sentences, width=1.25 * WIDTH + 130)


def share_dots(rows: Sequence[tuple[str, str, float, float, float]], title: str, *sentences: str) -> Chart:
    """Draw shares of single values in several groups: rows of group, value, share, low and high."""
    names = list(dict.fromkeys(row[0] for row in rows))
    values = list(dict.fromkeys(row[1] for row in rows))
    data: list[Spec] = [
        {"group": group, "value": value, "share": share, "low": low, "high": high}
        for group, value, share, low, high in rows
    ]
    y = {"field": "value", "type": "nominal", "title": None, "sort": values}
    offset = {"field": "group", "sort": names}
    colour = _by_group(names)
    axis = {"type": "quantitative", "title": "probability"}
    line = {"x": {"field": "low", **axis}, "x2": {"field": "high"}, "y": y, "yOffset": offset, "color": colour}
    dot = {"x": {"field": "share", **axis}, "y": y, "yOffset": offset, "color": colour}
    layers: list[Spec] = [
        {"mark": {"type": "rule", "strokeWidth": 1.5}, "encoding": line},
        {"mark": {"type": "point", "filled": True, "size": 40, "tooltip": True}, "encoding": dot},
    ]
    spec: Spec = {"data": {"values": data}, "layer": layers, "width": WIDTH, "height": {"step": 14}}
    return finish(spec, title, *sentences, width=WIDTH + 200)


def _by_group(names: Sequence[str]) -> Spec:
    return {"field": "group", "type": "nominal", "title": None, "sort": list(names)}
