"""A report as HTML: one frame for every page, by a template that escapes whatever it is given.

Nothing is loaded and nothing runs, whatever a label says; light and dark, on paper and on a telephone.
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
from .pictures import drawn

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from markupsafe import Markup

#: The version of the frame. A bundle states it: its page is compared word for word where the frame is the same.
TEMPLATE = 2


def page(report: Report, pictures: Sequence[str] | None = None) -> str:
    """The report as a whole page.

    Parameters
    ----------
    report
        What to show.
    pictures
        What :func:`~discreet.pages.pictures.drawn` gives for its pictures in order, if they are there already.
    """
    svg = [drawn(picture, k) for k, picture in enumerate(pictures_of(report))] if pictures is None else pictures
    return _template("page.html").render(_content(report, svg), style=_style(), prefix="section") + "\n"


def fragment(report: Report) -> str:
    """The report as a piece of HTML that looks the same wherever it is put."""
    own = hashlib.sha256(repr((report.title, report.facts, report.sections)).encode()).hexdigest()[:12]
    svg = [drawn(picture, f"{own}_{k}_") for k, picture in enumerate(pictures_of(report))]
    return _template("fragment.html").render(_content(report, svg), style=_scoped(_style()), prefix=f"section-{own}")


def pictures_of(report: Report) -> list[Picture]:
    """The pictures of a report, in order."""
    return [part for section in report.sections for part in section.parts if isinstance(part, Picture)]


def _content(report: Report, pictures: Sequence[str]) -> dict[str, Any]:
    from markupsafe import Markup

    # the drawing program escapes what it draws, and an audit accepts drawings only
    drawings = [Markup(text) for text in pictures]
    return {"report": report, "pictures": iter(drawings)}


def environment(*packages: str, placed: str = "style") -> Environment:
    """Templates of these packages, and of this one where they have none; all text is escaped.

    Parameters
    ----------
    packages
        Each has a folder ``templates``.
    placed
        The attribute that says where a bar is: a page that forbids styles within has its script read another one.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in (*packages, "discreet.pages")]), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_seen,
    )  # fmt: skip
    made.filters |= {"coded": _coded, "share": _share, "kind": _kind}
    made.globals |= {"next": next, "placed": placed}
    return made


@cache
def _environment() -> Environment:
    return environment()


def _template(name: str) -> Template:
    return _environment().get_template(name)


@cache
def _style() -> Markup:
    from markupsafe import Markup

    return Markup((files("discreet.pages") / "templates" / "style.css").read_text(encoding="utf-8"))


def _scoped(style: Markup) -> Markup:
    """The style for a piece of a page that is not ours: what is said of the whole page is left out."""
    from markupsafe import Markup

    kept = re.sub(r"(?m)^(\*|body|header,main|header)\{[^}]*\}\n", "", style)
    return Markup(kept.replace(":root{", ":scope{"))


def _seen(value: object) -> Any:
    """Text that a page can bear; what is markup already stays."""
    return value if hasattr(value, "__html__") else printable(str(value))


def _coded(text: str) -> Markup:
    """Words between backticks as code; everything else as text."""
    from markupsafe import Markup, escape

    pieces = re.split(r"`([^`]+)`", printable(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if k % 2 else escape(piece) for k, piece in enumerate(pieces)
    )


def _share(length: float, scale: tuple[float, float]) -> str:
    return f"{length / (scale[1] - scale[0]) * 100:.2f}%"


def _kind(part: Part) -> str:
    return type(part).__name__
