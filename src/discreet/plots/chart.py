"""The chart, and the style that all pictures share.

Light grid, legend on the right, a title and one or two sentences about what to see; colours that colour-blind
people can tell apart, with dashes and shapes so that they survive a grey printer.
"""

from __future__ import annotations

import base64
import html
import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from ..errors import InvalidInput, InWords, MissingExtra, WrongType
from ..mechanism import Mechanism
from ..spaces import Space

Spec = dict[str, Any]

#: Okabe and Ito's colours, ordered so that neighbours differ; grey replaces yellow, which is too pale on paper.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#E69F00", "#56B4E9", "#777777")
DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [14, 4], [4, 2, 1, 2, 1, 2], [1, 3], [3, 6])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")

#: Pale to dark in equal steps of lightness (CIELAB 95 to 14), so it reads the same in colour, to colour-blind eyes, and
#: in grey. It does not begin at white, which is the colour of zero.
RAMP = ("#F9F1CB", "#BADFA3", "#65CB95", "#01B09C", "#039197", "#007388", "#065774", "#023C60", "#0A234A")

INK, QUIET, PALE, DARK, ACCENT = "#222222", "#888888", "#8FBCDB", "#00436B", "#D55E00"

#: Colour of digits on a coloured cell: not ink, which a dark page turns light while the cells keep their colour.
ON_CELLS = "#010101"

#: Width of a plot with lines or bars, in nominal pixels.
WIDTH = 440

#: Invisible characters that join letters in Persian, Indic scripts and emoji.
_JOINERS = "\u200c\u200d"

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

_TEXT = {"titleFontSize": 12, "titleFontWeight": "normal", "titleColor": INK, "labelFontSize": 11, "labelColor": INK}

CONFIG: Spec = {
    "font": "Arial, Helvetica, Liberation Sans, DejaVu Sans, sans-serif",
    "background": "white",
    "padding": 12,
    "view": {"stroke": "#DDDDDD"},
    "title": {
        "anchor": "start", "frame": "group", "fontSize": 15, "fontWeight": "bold", "color": INK, "offset": 12,
        "subtitleFontSize": 12, "subtitleColor": "#555555", "subtitlePadding": 6, "subtitleLineHeight": 16,
    },
    "axis": {
        **_TEXT, "titlePadding": 8, "labelPadding": 5, "labelFlush": False, "gridColor": "#EEEEEE",
        "domainColor": QUIET, "tickColor": QUIET,
    },
    "legend": {
        **_TEXT, "orient": "right", "offset": 16, "labelLimit": 280, "rowPadding": 5, "symbolSize": 90,
        "layout": {"bottom": {"anchor": "start", "direction": "vertical", "margin": 6}},
    },
    "header": {"labelFontSize": 12, "labelColor": INK, "labelPadding": 4},
    "line": {"strokeWidth": 2},
    "point": {"filled": True, "size": 45, "opacity": 1},
}  # fmt: skip


@dataclass(frozen=True)
class Chart:
    """A picture: a Vega-Lite specification that can be shown and saved.

    Attributes
    ----------
    spec
        The Vega-Lite v6 specification, a plain dict with the data inside.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet import plots
    >>> chart = plots.heatmap(dc.geometric(3, epsilon=1))
    >>> chart.spec["$schema"]
    'https://vega.github.io/schema/vega-lite/v6.json'
    >>> chart.png()[1:4]
    b'PNG'
    """

    spec: Spec

    def png(self, scale: float = 2) -> bytes:
        """Return the picture as PNG, with ``scale`` pixels for each nominal one."""
        return bytes(_converter().vegalite_to_png(drawable(self.spec), scale=scale))

    def svg(self) -> str:
        """Return the picture as SVG."""
        text = _converter().vegalite_to_svg(drawable(self.spec))
        # the converter numbers gradients across pictures; number them within one, so that files are reproducible
        numbers: dict[str, int] = {}
        return re.sub(
            r'(id="|url\(#)(gradient_|clip)(\d+)',
            lambda m: m[1] + m[2] + str(numbers.setdefault(m[3], len(numbers))),
            text,
        )

    def pdf(self) -> bytes:
        """Return the picture as a PDF page of its size."""
        return bytes(_converter().vegalite_to_pdf(drawable(self.spec)))

    def html(self) -> str:
        """Return a page that draws the picture, with every script inside: it needs no network."""
        # vl-convert has such a page too, but a label that contains "</script>" breaks out of it.
        spec = json.dumps(self.spec).replace("<", "\\u003c")
        return _PAGE.format(title=html.escape(self._title), scripts=_converter().javascript_bundle(), spec=spec)

    def save(self, path: str | Path, scale: float = 3) -> Path:
        """Write the picture to a file; the ending decides: .png, .svg, .pdf, .html or .json (the specification).

        Parameters
        ----------
        path
            The file.
        scale
            For PNG: pixels for each nominal one; 3 is sharp in print.

        Returns
        -------
        Path
            The file.
        """
        path = Path(path)
        match path.suffix.lower():
            case ".png":
                path.write_bytes(self.png(scale))
            case ".svg":
                path.write_text(self.svg(), encoding="utf-8")
            case ".pdf":
                path.write_bytes(self.pdf())
            case ".html":
                path.write_text(self.html(), encoding="utf-8")
            case ".json":
                path.write_text(json.dumps(self.spec) + "\n", encoding="utf-8")
            case _:
                raise InvalidInput.must_be(
                    "path", "a .png, .svg, .pdf, .html or .json file for a picture", InWords(f"the name {path.name!r}")
                )
        return path

    @property
    def _title(self) -> str:
        return str(self.spec["title"]["text"])

    def __repr__(self) -> str:
        return f"<Chart: {self._title}>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """Return the specification for notebooks, and pixels for those that cannot draw it."""
        bundle = {"application/vnd.vegalite.v6+json": self.spec, "text/plain": repr(self)}
        with suppress(MissingExtra):
            bundle["image/png"] = base64.b64encode(self.png()).decode()
        return bundle


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="UTF-8"><title>{title}</title></head>
<body>
<div id="chart"></div>
<script>{scripts}</script>
<script>
vegaEmbed("#chart", {spec}, {{
  renderer: "svg", actions: {{export: true, source: false, compiled: false, editor: false}}
}});
</script>
</body>
</html>
"""


def refuse_undrawable() -> None:
    """Refuse, before any work, if the drawing program (the ``plots`` extra) is not installed."""
    if find_spec("vl_convert") is None:
        raise MissingExtra("vl-convert-python", "plots")


def _converter() -> Any:
    try:
        return import_module("vl_convert")
    except ImportError:
        raise MissingExtra("vl-convert-python", "plots") from None


def printable(text: str) -> str:
    """Replace characters that a terminal, a page or the drawing program cannot show; any white space becomes a blank.

    An escape recolours a terminal, and a character that XML forbids crashes the drawing program.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in _JOINERS else " " if one.isspace() else "\ufffd" for one in text)


def drawable(part: object) -> Any:
    """Return a specification with printable texts only: others crash the drawing program and this process."""
    if isinstance(part, str):
        return printable(part)
    if isinstance(part, Mapping):
        return {drawable(name): drawable(value) for name, value in part.items()}
    return [drawable(one) for one in part] if isinstance(part, list | tuple) else part


def beside(charts: Iterable[Chart], title: str, subtitle: str = "", *, columns: int = 2) -> Chart:
    """Return several charts in one picture, row by row. Heat maps share one colour scale, so that they can be compared.

    Parameters
    ----------
    charts
        The charts, in reading order.
    title, subtitle
        The title, and a sentence about what to see.
    columns
        Number of charts in a row.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet import plots
    >>> mechanisms = [dc.geometric(4, alpha="9/10"), dc.explicit_fair(4, alpha="9/10")]
    >>> beside(map(plots.heatmap, mechanisms), "Two mechanisms")
    <Chart: Two mechanisms>
    """
    parts = [{k: v for k, v in chart.spec.items() if k not in ("$schema", "config")} for chart in charts]
    parts = [part | {"title": part["title"] | {"fontSize": 13}} for part in parts]
    if not parts:
        raise InvalidInput("there are no charts to put beside each other.", "Give at least one.", argument="charts")
    return finish({"concat": parts, "columns": columns, "spacing": 40}, title, subtitle, width=WIDTH * columns)


# ------------------------------------------------------------------------------------------------ for all pictures


def finish(spec: Spec, title: str, *sentences: str, width: float) -> Chart:
    """Add the style, the title, and the sentences under it, wrapped to the width of the picture."""
    characters = max(56, round(width / 5.7))  # a letter of the subtitle is about 5.7 pixels wide
    lines = [line for sentence in sentences for line in textwrap.wrap(sentence, characters)]
    heading: Spec = {"text": title} | ({"subtitle": lines} if lines else {})
    return Chart({"$schema": SCHEMA, "title": heading, **spec, "config": CONFIG})


def describe(subject: object, space: Space) -> str:
    """Describe a mechanism in a few words, for a title."""
    if isinstance(subject, Mechanism):
        return subject.title
    return f"Mechanism, {space.title}"


def read_named(subjects: object) -> dict[str, Any]:
    """Read one subject, named by an empty text, or several by name."""
    if not isinstance(subjects, Mapping):
        return {"": subjects}
    if not 1 <= len(subjects) <= len(PALETTE):
        raise InvalidInput(
            f"a picture can distinguish 1 to {len(PALETTE)} named mechanisms; got {len(subjects)}.", argument="subjects"
        )
    bad_name = next((name for name in subjects if not isinstance(name, str)), None)
    if bad_name is not None:
        raise WrongType.must_be("names of mechanisms", "text", bad_name, argument="subjects")
    return dict(subjects)


def values_of(space: Space) -> list[int | str]:
    """Return all values of a finite space as numbers or text."""
    assert space.size is not None
    values = (space.value(i) for i in range(space.size))
    return [value if type(value) is int else str(value) for value in values]


def band(field: str, title: str, values: Sequence[object], step: float, across: bool = True) -> Spec:
    """Return a position channel with ``step`` pixels for each value; labels are thinned or turned until they fit."""
    longest = max(len(str(value)) for value in values)
    axis: Spec = {"grid": False, "domain": False, "labelAngle": 0, "labelLimit": 140, "labelOverlap": step < 12}
    if isinstance(values[0], str):
        if across and 6.5 * longest > step:
            axis["labelAngle"] = -40 if step >= 20 else -90
    elif 7 * longest + 8 > step:
        every = next(k * 10**e for e in range(9) for k in (1, 2, 5) if k * 10**e * step >= 34)
        axis["values"] = list(values[::every])
    else:
        axis["ticks"] = False
    return {
        "field": field,
        "type": "ordinal",
        "title": title,
        "sort": None,
        "scale": {"domain": list(values)},
        "axis": axis,
    }


def series(
    names: Iterable[str], *channels: Literal["color", "strokeDash", "shape"], legend: Spec | None = None
) -> Spec:
    """Return channels of colour, dash or shape by name, in this order; a single nameless series has no legend."""
    domain = list(names)
    ranges: dict[str, Sequence[Any]] = {"color": PALETTE, "strokeDash": DASHES, "shape": SHAPES}
    if legend is not None:
        legend = None if domain == [""] else {"title": None, **legend}
    return {
        channel: {
            "field": "name", "type": "nominal", "sort": None, "legend": legend,
            "scale": {"domain": domain, "range": list(ranges[channel][: len(domain)])},
        }
        for channel in channels
    }  # fmt: skip


#: A legend of dashes, and a shape from the data without a legend: a legend of both is unreadable.
STROKES: Spec = {"symbolType": "stroke", "symbolSize": 700, "symbolStrokeWidth": 2}
OWN_SHAPE: Spec = {"shape": {"field": "shape", "type": "nominal", "scale": None, "legend": None}}
