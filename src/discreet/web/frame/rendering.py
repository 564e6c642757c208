"""Templates of the pages, and reports within them: the same words and pictures as everywhere, drawn by the browser."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...errors import DiscreetError, Mention
from ...pages.html import environment, pictures_of
from ...pages.pictures import chart_of
from ...plots.chart import drawable
from ...release.plan.toml_text import FILE_WORDS
from ...report import Picture, Report

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

#: The pages by their address, in the order of the menu.
MENU = (
    ("/release", "Release"),
    ("/design", "Design"),
    ("/verify", "Verify"),
    ("/trade-off", "Trade-off"),
    ("/collections", "Collections"),
    ("/ledgers", "Ledgers"),
)


def render(template: str, **content: object) -> Markup:
    """A template with its content; all that is text is escaped."""
    from markupsafe import Markup

    return Markup(_environment().get_template(template).render(content))


def report_body(report: Report, prefix: str = "section") -> Markup:
    """The facts, sections and notes of a report, with its charts for the browser to draw."""
    charts: Iterator[Markup] = map(chart, pictures_of(report))
    return render("report.html", report=report, pictures=charts, prefix=prefix)


def chart(picture: Picture) -> Markup:
    """One picture with its caption."""
    return render("figure.html", picture=_chart(picture), caption=picture.caption)


def _chart(picture: Picture) -> Markup:
    """Where the browser draws a picture; empty where it cannot be made: the numbers stand in the tables."""
    from markupsafe import Markup

    try:
        spec = chart_of(picture).spec
    except (ValueError, DiscreetError):
        return Markup("")
    return Markup('<div class="chart" role="img" aria-label="{}" data-chart="{}"></div>').format(
        chart_text(spec), json.dumps(drawable(_movable(without_title(spec))))
    )


def without_title(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A specification for a page, which has its title and background itself."""
    config = dict(spec.get("config", {})) | {"background": "transparent", "padding": 4}
    return {name: value for name, value in spec.items() if name != "title"} | {"config": config}


def _movable(spec: dict[str, Any], name: str = "view") -> dict[str, Any]:
    """Maps that can be moved and enlarged: those whose marks reach from west to east."""
    for kind in ("hconcat", "vconcat", "concat", "layer"):
        if kind in spec:
            return spec | {kind: [_movable(one, f"{name}_{k}") for k, one in enumerate(spec[kind])]}
    if spec.get("encoding", {}).get("x2", {}).get("field") != "east":
        return spec
    moved = {"name": name, "select": "interval", "bind": "scales"}
    return spec | {"params": [moved], "mark": spec["mark"] | {"clip": True}}


def chart_text(spec: Mapping[str, Any]) -> str:
    """What a chart says to those who do not see it: its title and the sentences below it."""
    title = spec.get("title", "")
    if isinstance(title, str):
        return title
    lines = title.get("subtitle", ())
    return " ".join([str(title.get("text", "")), *([lines] if isinstance(lines, str) else lines)])


def field_name(mention: Mention, titles: Mapping[str, str] = MappingProxyType({})) -> str:
    """How a form writes an argument that a message mentions: by the title of its field.

    ``titles`` are those that a form has for itself.
    """
    if mention.kind == "call":
        return f"`{mention.name}`"
    title = titles.get(mention.name) or TITLES.get(mention.name, mention.name.replace("_", " "))
    return f"“{title}” {mention.value}".strip() if mention.kind == "argument" and mention.value else f"“{title}”"


#: Arguments of Python -> the titles of fields where they differ. Those of a release are stated by its request.
TITLES = {name: words.title for name, words in FILE_WORDS.items()} | {
    "n": "Largest count", "prior": "Prior", "worst_case": "Worst case", "reach": "Largest noise",
    "stay": "Chance of the truth", "where": "Only rows where",
}  # fmt: skip


def refusal(problem: DiscreetError, **titles: str) -> Markup:
    """An error in the words of a form, with the titles that its fields have there alone."""
    return render("refusal.html", message=_sentence(problem.written(lambda mention: field_name(mention, titles))))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


@cache
def _environment() -> Environment:
    made = environment("discreet.web", placed="data-placed")
    made.globals |= {"menu": MENU}
    return made
