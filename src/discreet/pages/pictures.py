"""The charts of reports, drawn as SVG: each kind says which chart its numbers make."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .. import plots
from ..errors import DiscreetError, MissingExtra
from ..plots.chart import Chart
from ..report import Picture

#: What can be drawn, by the kind of a picture.
KINDS: Mapping[str, Callable[[Mapping[str, Any]], Chart]] = {
    "vega-lite": lambda numbers: Chart(dict(numbers)),
    "probabilities": lambda numbers: plots.heatmap(numbers["mechanism"], witness=numbers.get("witness", True)),
    "error": lambda numbers: plots.error(numbers["mechanisms"], numbers.get("measure", "L1")),
    "plot": lambda numbers: numbers["of"].plot(**numbers.get("options", {})),  # of a result that draws itself
    "counts": lambda numbers: plots.counts(
        numbers["rows"], numbers["by"], numbers["title"], *numbers["sentences"], level=numbers["level"]
    ),
    "delta": lambda numbers: plots.delta_curve(numbers["subjects"]),
    "bars": lambda numbers: plots.comparison(numbers["rows"]),
    "noise trade-off": lambda numbers: plots.tradeoff(numbers["data"]),
}


def chart_of(picture: Picture) -> Chart:
    """The chart that a picture stands for."""
    return KINDS[picture.kind](picture.numbers)


def drawn(picture: Picture, number: int = 0) -> str:
    """A picture as SVG between marks that say what drew it, without its title, which the page has.

    Parameters
    ----------
    picture
        What to draw.
    number
        Of the picture on its page: two pictures must not share the names of their parts.
    """
    return f"<!--picture {drawing_program()}-->{_svg(picture, number)}<!--/picture-->"


def pictures_in(page: str) -> list[str]:
    """The pictures that stand in a page, between their marks."""
    return re.findall(r"<!--picture [^>]*-->.*?<!--/picture-->", page, flags=re.DOTALL)


def drawing_program() -> str:
    """What draws the pictures, with its version: two of them need not draw the same."""
    try:
        return f"vl-convert {version('vl-convert-python')}"
    except PackageNotFoundError:
        return "none"


def _svg(picture: Picture, number: int) -> str:
    """Empty where it cannot be drawn: the numbers stand in the tables."""
    try:
        chart = chart_of(picture)
        spec = {name: value for name, value in chart.spec.items() if name != "title"}
        spec["config"] = spec["config"] | {"background": None, "padding": 4}
        svg = Chart(spec).svg()
    except (MissingExtra, ValueError, DiscreetError):  # no drawing program, or one that trips over a label
        return ""
    return re.sub(r'(id="|url\(#)(gradient_|clip)', rf"\g<1>p{number}_\g<2>", svg)
