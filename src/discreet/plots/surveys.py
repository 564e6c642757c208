"""Charts of survey plans: the error against the number of people."""

from __future__ import annotations

from collections.abc import Iterable

from .chart import ACCENT, DARK, INK, WIDTH, Chart, Spec, finish


def errors_by_people(
    formula: Iterable[tuple[int, float]],
    simulated: Iterable[tuple[int, float]],
    target_error: float,
    axis: str,
    title: str,
    *sentences: str,
) -> Chart:
    """Draw the error of a survey against the number of people, both on logarithmic axes, and the target error.

    Parameters
    ----------
    formula, simulated
        Pairs of people and error: a line, and dots. Either may be empty.
    target_error
        The target error.
    axis
        The title of the error's axis.
    title, sentences
        The title, and sentences about what to see.
    """
    kinds = {"by the formula": list(formula), "simulated": list(simulated)}
    names = [name for name, points in kinds.items() if points]
    scale = {"domain": names, "range": [{"by the formula": DARK, "simulated": ACCENT}[name] for name in names]}
    people = [n for points in kinds.values() for n, _ in points]
    x: Spec = {
        "field": "people", "type": "quantitative", "title": "people",
        "scale": {"type": "log", "domain": [min(people), max(people)], "nice": False}, "axis": {"format": "~s"},
    }  # fmt: skip
    y: Spec = {
        "field": "error", "type": "quantitative", "title": axis, "scale": {"type": "log", "zero": False, "nice": False},
        "axis": {"format": ".3~g"},
    }  # fmt: skip
    layers: list[Spec] = [
        {
            "data": {"values": [{"error": target_error}]},
            "mark": {"type": "rule", "strokeDash": [4, 3], "color": INK},
            "encoding": {"y": {**y}},
        }
    ]
    for name in names:
        rows = [{"people": n, "error": float(f"{error:.5g}")} for n, error in kinds[name]]
        mark: Spec = {"type": "line"} if name != "simulated" else {"type": "line", "point": True, "strokeDash": [2, 2]}
        colour = {"datum": name, "type": "nominal", "scale": scale, "legend": {"title": None}}
        layers.append(
            {"data": {"values": rows}, "mark": {**mark, "tooltip": True}, "encoding": {"x": x, "y": y, "color": colour}}
        )
    spec: Spec = {"layer": layers, "width": WIDTH, "height": 260}
    return finish(spec, title, *sentences, width=WIDTH)
