"""The charts of reports, drawn as SVG."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from xml.etree import ElementTree

from .. import plots
from ..errors import DiscreetError, MissingExtra
from ..plots.chart import Chart
from ..report import Picture

#: Kind of a picture -> function from its numbers to its chart.
KINDS: Mapping[str, Callable[[Mapping[str, Any]], Chart]] = {
    "vega-lite": lambda numbers: Chart(dict(numbers)),
    "probabilities": lambda numbers: plots.heatmap(numbers["mechanism"], witness=numbers.get("witness", True)),
    "error": lambda numbers: plots.error(numbers["mechanisms"], numbers.get("measure", "L1")),
    "plot": lambda numbers: numbers["of"].plot(**numbers.get("options", {})),  # a result with its own chart
    "counts": lambda numbers: plots.counts(
        numbers["rows"], numbers["by"], numbers["title"], *numbers["sentences"], level=numbers["level"]
    ),
    "editions": lambda numbers: plots.editions(
        numbers["rows"], numbers["by"], numbers["title"], *numbers["sentences"], level=numbers["level"]
    ),
    "growth": lambda numbers: plots.growth(
        numbers["rows"], numbers["by"], numbers["title"], *numbers["sentences"], level=numbers["level"]
    ),
    "delta": lambda numbers: plots.delta_curve(numbers["subjects"]),
    "bars": lambda numbers: plots.comparison(numbers["rows"]),
    "noise by size": lambda numbers: plots.noise_by_size(numbers["half_widths"], numbers["level"]),
    "noise trade-off": lambda numbers: plots.tradeoff(numbers["data"]),
}


#: Name of the drawing program where none is installed, and the text of each picture then.
NO_PROGRAM = "none"
NOT_DRAWN = f"<!--picture {NO_PROGRAM}--><!--/picture-->"


def chart_of(picture: Picture) -> Chart:
    """Return the chart of a picture."""
    return KINDS[picture.kind](picture.numbers)


def draw_picture(picture: Picture, number: int | str = 0) -> str:
    """Draw a picture as SVG between marks that name the drawing program, without its title, which the page has.

    Parameters
    ----------
    picture
        The picture.
    number
        Its number on the page: pictures must not share the names of their parts.
    """
    return f"<!--picture {drawing_program()}-->{_svg(picture, number)}<!--/picture-->"


def pictures_in(page: str) -> list[str]:
    """Return the pictures of a page, with their marks."""
    return re.findall(r"<!--picture [^>]*-->.*?<!--/picture-->", page, flags=re.DOTALL)


#: Elements allowed in a drawing; others could load, run or cover something.
_SVG = {
    "svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "defs",
    "linearGradient", "radialGradient", "stop", "clipPath", "title", "desc",
}  # fmt: skip
_NOT_IN_SVG = re.compile(r"<!|<\?|&(?!(amp|lt|gt|quot|apos|#\d+|#x[0-9a-fA-F]+);)")


def is_plain_svg(picture: str) -> bool:
    """Return True if a picture, between its marks, is only a drawing, or empty.

    >>> is_plain_svg("<!--picture x--><svg><rect width='1'/></svg><!--/picture-->")
    True
    >>> is_plain_svg("<!--picture x--><svg><a href='x'/></svg><!--/picture-->")
    False
    """
    svg = re.sub(r"^<!--picture [^>]*-->|<!--/picture-->$", "", picture)
    if not svg:
        return True
    if _NOT_IN_SVG.search(svg):
        return False
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError:
        return False
    return root.tag.rpartition("}")[2] == "svg" and all(map(_draws, root.iter()))


def _draws(element: ElementTree.Element) -> bool:
    names = [name.rpartition("}")[2].lower() for name in element.attrib]
    loads = any("url(" in value.replace("url(#", "") for value in element.attrib.values())
    steers = any(name.startswith("on") or name in ("href", "src") for name in names)
    return element.tag.rpartition("}")[2] in _SVG and not loads and not steers


def drawing_program() -> str:
    """Return the drawing program with its version, on which the drawings depend."""
    try:
        return f"vl-convert {version('vl-convert-python')}"
    except PackageNotFoundError:
        return NO_PROGRAM


def _svg(picture: Picture, number: int | str) -> str:
    """Draw a picture; return nothing if it cannot be drawn, as tables have its numbers."""
    try:
        chart = chart_of(picture)
        spec = {name: value for name, value in chart.spec.items() if name != "title"}
        spec["config"] = spec.get("config", {}) | {"background": None, "padding": 4}
        svg = Chart(spec).svg()
    except (MissingExtra, ValueError, DiscreetError):  # no drawing program, or one that trips over a label
        return ""
    return re.sub(r'(id="|url\(#)(gradient_|clip)', rf"\g<1>p{number}_\g<2>", svg)
