"""A report as HTML: one frame for every page, from templates that escape all text.

Pages load nothing and run nothing, whatever a label contains. They suit light and dark screens, paper and telephones.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..plots.chart import printable
from ..report import Part, Picture, Report
from .pictures import draw_picture

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from markupsafe import Markup

#: Version of the frame, which a bundle states: an audit compares pages word for word if the versions are equal.
TEMPLATE = 3


def page(report: Report, pictures: Sequence[str] | None = None, files: Sequence[str] = ()) -> str:
    """Render the report as a whole page.

    Parameters
    ----------
    report
        The report.
    pictures
        Its pictures in order, as :func:`~discreet.pages.pictures.draw_picture` draws them, if they exist already.
    files
        Names of the files in the folder of the page: where the text names one as code, it becomes a link.
    """
    svgs = [draw_picture(picture, k) for k, picture in enumerate(pictures_of(report))] if pictures is None else pictures
    text = _template("page.html").render(_content(report, svgs), style=_style(), prefix="section") + "\n"
    for name in files:
        code = f"<code>{name}</code>"  # all other text is escaped, so this is a name between backticks
        text = text.replace(code, f'<a href="{name}">{code}</a>')
    return text


def fragment(report: Report) -> str:
    """Render the report as a piece of HTML that looks the same on every page."""
    key = hashlib.sha256(repr((report.title, report.facts, report.sections)).encode()).hexdigest()[:12]
    svgs = [draw_picture(picture, f"{key}_{k}_") for k, picture in enumerate(pictures_of(report))]
    return _template("fragment.html").render(_content(report, svgs), style=_scoped(_style()), prefix=f"section-{key}")


def pictures_of(report: Report) -> list[Picture]:
    """Return the pictures of a report, in order."""
    return [part for section in report.sections for part in section.parts if isinstance(part, Picture)]


def _content(report: Report, pictures: Sequence[str]) -> dict[str, Any]:
    from markupsafe import Markup

    # the drawing program escapes text, and an audit accepts only drawings
    drawings = [Markup(text) for text in pictures]
    return {"report": report, "pictures": iter(drawings), "watermark_style": _style("watermark.css")}


def environment(*packages: str, bar_attribute: str = "style") -> Environment:
    """Return the templates of these packages and of this one, which escape all text.

    Parameters
    ----------
    packages
        Packages with a folder ``templates``, searched in this order.
    bar_attribute
        The attribute with the position of a bar: ``style``, or one for a script of pages that forbid inline styles.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in (*packages, "discreet.pages")]), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_printable,
    )  # fmt: skip
    templates.filters |= {"coded": _with_code, "share": _length_percent, "kind": _kind}
    templates.globals |= {"next": next, "placed": bar_attribute}
    return templates


@cache
def _environment() -> Environment:
    return environment()


def _template(name: str) -> Template:
    return _environment().get_template(name)


@cache
def _style(name: str = "style.css") -> Markup:
    from markupsafe import Markup

    return Markup((files("discreet.pages") / "templates" / name).read_text(encoding="utf-8"))


def _scoped(style: Markup) -> Markup:
    """Return the style for a piece within another page: without the rules of a whole page."""
    from markupsafe import Markup

    rules = re.sub(r"(?m)^(\*|body|header,main|header)\{[^}]*\}\n", "", style)
    return Markup(rules.replace(":root{", ":scope{"))


def _printable(value: object) -> Any:
    """Return printable text; markup stays as it is."""
    return value if hasattr(value, "__html__") else printable(str(value))


def _with_code(text: str) -> Markup:
    """Render words between backticks as code, everything else as text."""
    from markupsafe import Markup, escape

    pieces = re.split(r"`([^`]+)`", printable(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if k % 2 else escape(piece) for k, piece in enumerate(pieces)
    )


def _length_percent(length: float, scale: tuple[float, float]) -> str:
    return f"{length / (scale[1] - scale[0]) * 100:.2f}%"


def _kind(part: Part) -> str:
    return type(part).__name__
