"""Templates of the pages, and reports within them, whose charts the browser draws."""

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
    """Render a template; all text is escaped."""
    from markupsafe import Markup

    return Markup(_environment().get_template(template).render(content))


def report_body(report: Report, prefix: str = "section") -> Markup:
    """Render the facts, sections and notes of a report, with its charts for the browser to draw."""
    charts: Iterator[Markup] = map(chart, pictures_of(report))
    return render("report.html", report=report, pictures=charts, prefix=prefix)


def chart(picture: Picture) -> Markup:
    """Render a picture with its caption."""
    return render("figure.html", picture=_chart(picture), caption=picture.caption)


def _chart(picture: Picture) -> Markup:
    """Return the element in which the browser draws a picture, or nothing if it cannot be drawn."""
    from markupsafe import Markup

    try:
        spec = chart_of(picture).spec
    except (ValueError, DiscreetError):
        return Markup("")
    return Markup('<div class="chart" role="img" aria-label="{}" data-chart="{}"></div>').format(
        chart_text(spec), json.dumps(drawable(_movable(without_title(spec))))
    )


def without_title(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a specification without its title and background, which the page has."""
    config = dict(spec.get("config", {})) | {"background": "transparent", "padding": 4}
    return {name: value for name, value in spec.items() if name != "title"} | {"config": config}


def _movable(spec: dict[str, Any], name: str = "view") -> dict[str, Any]:
    """Make maps (marks that reach from west to east) movable and zoomable."""
    for kind in ("hconcat", "vconcat", "concat", "layer"):
        if kind in spec:
            return spec | {kind: [_movable(one, f"{name}_{k}") for k, one in enumerate(spec[kind])]}
    if spec.get("encoding", {}).get("x2", {}).get("field") != "east":
        return spec
    zoom = {"name": name, "select": "interval", "bind": "scales"}
    return spec | {"params": [zoom], "mark": spec["mark"] | {"clip": True}}


def chart_text(spec: Mapping[str, Any]) -> str:
    """Return the text alternative of a chart: its title and the sentences below it."""
    title = spec.get("title", "")
    if isinstance(title, str):
        return title
    lines = title.get("subtitle", ())
    return " ".join([str(title.get("text", "")), *([lines] if isinstance(lines, str) else lines)])


def field_name(mention: Mention, titles: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return an argument as a form mentions it: by the title of its field.

    ``titles`` are the titles that only this form uses.
    """
    if mention.kind == "call":
        return f"`{mention.name}`"
    title = titles.get(mention.name) or TITLES.get(mention.name, mention.name.replace("_", " "))
    return f"“{title}” {mention.value}".strip() if mention.kind == "argument" and mention.value else f"“{title}”"


#: Python argument -> title of its field, where they differ. The request of a release has the titles of its fields.
TITLES = {name: words.title for name, words in FILE_WORDS.items()} | {
    "n": "Largest count", "prior": "Prior", "worst_case": "Worst case", "reach": "Largest noise",
    "stay": "Chance of the truth", "where": "Only rows where",
}  # fmt: skip


def refusal(problem: DiscreetError, field: str = "", is_incomplete: bool = False, **titles: str) -> Markup:
    """Render an error in the words of a form.

    Parameters
    ----------
    problem
        The error.
    field
        The name of the field that it is about, which the script of the pages marks; empty for none.
    is_incomplete
        True if nothing is wrong, and something is still to be filled in.
    titles
        The titles that only this form uses.
    """
    message = _sentence(problem.written(lambda mention: field_name(mention, titles)))
    return render("refusal.html", message=message, field=field, is_incomplete=is_incomplete)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


@cache
def _environment() -> Environment:
    templates = environment("discreet.web", bar_attribute="data-placed")
    templates.globals |= {"menu": MENU}
    return templates
