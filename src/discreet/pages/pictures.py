"""The charts of reports, drawn as SVG: each kind says which chart its numbers make."""

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

#: What can be drawn, by the kind of a picture.
KINDS: Mapping[str, Callable[[Mapping[str, Any]], Chart]] = {
    "vega-lite": lambda numbers: Chart(dict(numbers)),
    "probabilities": lambda numbers: plots.heatmap(numbers["mechanism"], witness=numbers.get("witness", True)),
    "error": lambda numbers: plots.error(numbers["mechanisms"], numbers.get("measure", "L1")),
    "plot": lambda numbers: numbers["of"].plot(**numbers.get("options", {})),  # of a result that draws itself
    "counts": lambda numbers: plots.counts(
        numbers["rows"], numbers["by"], numbers["title"], *numbers["sentences"], level=numbers["level"]
    ),
    "editions": lambda numbers: plots.editions(
        numbers["rows"], numbers["by"], numbers["title"], *numbers["sentences"], level=numbers["level"]
    ),
    "delta": lambda numbers: plots.delta_curve(numbers["subjects"]),
    "bars": lambda numbers: plots.comparison(numbers["rows"]),
    "noise by size": lambda numbers: plots.noise_by_size(numbers["half_widths"], numbers["level"]),
    "noise trade-off": lambda numbers: plots.tradeoff(numbers["data"]),
}


#: What is said to draw the pictures where no drawing program is installed, and what then stands for each.
NO_PROGRAM = "none"
NOT_DRAWN = f"<!--picture {NO_PROGRAM}--><!--/picture-->"


def chart_of(picture: Picture) -> Chart:
    """The chart that a picture stands for."""
    return KINDS[picture.kind](picture.numbers)


def drawn(picture: Picture, number: int | str = 0) -> str:
    """A picture as SVG between marks that say what drew it, without its title, which the page has.

    Parameters
    ----------
    picture
        What to draw.
    number
        Of the picture where it is shown: two pictures must not share the names of their parts.
    """
    return f"<!--picture {drawing_program()}-->{_svg(picture, number)}<!--/picture-->"


def pictures_in(page: str) -> list[str]:
    """The pictures that stand in a page, between their marks."""
    return re.findall(r"<!--picture [^>]*-->.*?<!--/picture-->", page, flags=re.DOTALL)


#: What a drawing is made of; anything else could load, run or cover something.
_SVG = {
    "svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "defs",
    "linearGradient", "radialGradient", "stop", "clipPath", "title", "desc",
}  # fmt: skip
_NOT_IN_SVG = re.compile(r"<!|<\?|&(?!(amp|lt|gt|quot|apos|#\d+|#x[0-9a-fA-F]+);)")


def is_plain_svg(picture: str) -> bool:
    """Whether a picture between its marks is a drawing and nothing else, or nothing at all.

    >>> is_plain_svg("<!--picture x--><svg><rect width='1'/></svg><!--/picture-->")
    True
    >>> is_plain_svg("<!--picture x--><svg><a href='x'/></svg><!--/picture-->")
    False
    """
    inside = re.sub(r"^<!--picture [^>]*-->|<!--/picture-->$", "", picture)
    if not inside:
        return True
    if _NOT_IN_SVG.search(inside):
        return False
    try:
        root = ElementTree.fromstring(inside)
    except ElementTree.ParseError:
        return False
    return root.tag.rpartition("}")[2] == "svg" and all(map(_draws, root.iter()))


def _draws(element: ElementTree.Element) -> bool:
    names = [name.rpartition("}")[2].lower() for name in element.attrib]
    loads = any("url(" in value.replace("url(#", "") for value in element.attrib.values())
    steers = any(name.startswith("on") or name in ("href", "src") for name in names)
    return element.tag.rpartition("}")[2] in _SVG and not loads and not steers


def drawing_program() -> str:
    """What draws the pictures, with its version: two of them need not draw the same."""
    try:
        return f"vl-convert {version('vl-convert-python')}"
    except PackageNotFoundError:
        return NO_PROGRAM


def _svg(picture: Picture, number: int | str) -> str:
    """Empty where it cannot be drawn: the numbers stand in the tables."""
    try:
        chart = chart_of(picture)
        spec = {name: value for name, value in chart.spec.items() if name != "title"}
        spec["config"] = spec.get("config", {}) | {"background": None, "padding": 4}
        svg = Chart(spec).svg()
    except (MissingExtra, ValueError, DiscreetError):  # no drawing program, or one that trips over a label
        return ""
    return re.sub(r'(id="|url\(#)(gradient_|clip)', rf"\g<1>p{number}_\g<2>", svg)
