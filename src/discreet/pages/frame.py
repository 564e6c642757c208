"""A page for people that needs no network and no script: its frame, its look, and the pieces that pages share.

Nothing is loaded and nothing runs, whatever a label says; light and dark, on paper and on a telephone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from ..errors import MissingExtra
from ..plots.chart import Chart, printable


def text(value: object) -> str:
    """A value as text and nothing else.

    >>> text("<b>")
    '&lt;b&gt;'
    """
    return escape(printable(str(value)))


def page(title: str, eyebrow: str, head: str, body: str) -> str:
    """The whole page.

    Parameters
    ----------
    title
        What it is about, as plain text.
    eyebrow
        A few words above it: what kind of page this is.
    head, body
        HTML below the title, and the sections.
    """
    heading = f"<header><p class=eyebrow>{text(eyebrow)}</p><h1>{text(title)}</h1>{head}</header>"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        # nothing is loaded and nothing runs, whatever a label says
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{heading}<main>{body}</main>\n</body>\n</html>\n"
    )


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """The three or four numbers to take home, each with what it is."""
    items = "".join(f"<div><b>{text(number)}</b><span>{text(words)}</span></div>" for number, words in pairs)
    return f"<div class=facts>{items}</div>"


def drawing(chart: Chart, number: int = 0) -> str:
    """A chart as SVG without its title, which the page has; empty where it cannot be drawn.

    Parameters
    ----------
    chart
        The chart.
    number
        Of the picture on its page: two pictures must not share the names of their parts.
    """
    spec = {name: value for name, value in chart.spec.items() if name != "title"}
    spec["config"] = spec["config"] | {"background": None, "padding": 4}
    try:
        svg = Chart(spec).svg()
    except (MissingExtra, ValueError):  # no drawing program, or one that trips over a label: the table has bars too
        return ""
    return re.sub(r'(id="|url\(#)(gradient_|clip)', rf"\g<1>p{number}_\g<2>", svg)


@dataclass(frozen=True)
class Ruler:
    """Bars with intervals, all of one scale."""

    left: float
    right: float

    def bar(self, value: float, low: float | None, high: float | None) -> str:
        """A bar from zero to a value, and a line over its interval if it has one."""
        drawn = f'<i style="left:{self._share(min(0, value) - self.left)};width:{self._share(abs(value))}"></i>'
        if low is not None and high is not None:
            drawn += f'<b style="left:{self._share(low - self.left)};width:{self._share(abs(high - low))}"></b>'
        return f"<div class=bar>{drawn}</div>"

    def _share(self, length: float) -> str:
        return f"{length / (self.right - self.left) * 100:.2f}%"


STYLE = """
:root{--paper:#fdfdfb;--card:#fff;--ink:#222;--soft:#5a5f66;--line:#e3e3de;--hue:#0072B2;--tint:#0072b21f}
@media(prefers-color-scheme:dark){:root{--paper:#15181b;--card:#1c2024;--ink:#e8e6e1;--soft:#a3a8ad;--line:#33383d;
--hue:#58b1e4;--tint:#58b1e42b}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.6 system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,
"Noto Sans","Liberation Sans",sans-serif;-webkit-text-size-adjust:100%}
header,main{max-width:60rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:3rem}
.eyebrow{margin:0;color:var(--hue);font-weight:600;font-size:.8rem;letter-spacing:.09em;text-transform:uppercase}
h1{margin:.2rem 0 1.4rem;font-size:clamp(1.6rem,4.5vw,2.5rem);line-height:1.18;letter-spacing:-.018em;
overflow-wrap:anywhere}
h2{margin:0 0 .7rem;font-size:1.3rem;line-height:1.25;letter-spacing:-.01em;overflow-wrap:anywhere}
section{margin:2.6rem 0}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));gap:.8rem}
.facts div{background:var(--card);border:1px solid var(--line);border-radius:.7rem;padding:.8rem 1rem}
.facts b{display:block;font-size:1.55rem;line-height:1.2;letter-spacing:-.01em;font-variant-numeric:tabular-nums}
.facts span{display:block;margin-top:.2rem;color:var(--soft);font-size:.86rem;line-height:1.35}
.question{font-size:1.12rem;margin:.2rem 0 1.1rem;overflow-wrap:anywhere}
.note,figcaption,.quiet{color:var(--soft);font-size:.9rem}
figure{margin:0 0 1.5rem;padding:1rem;background:var(--card);border:1px solid var(--line);border-radius:.7rem;
overflow-x:auto}
figure svg{display:block;max-width:100%;height:auto;margin:0 auto}
figcaption{margin-top:.6rem;text-align:center}
table{width:100%;border-collapse:collapse;font-size:.93rem;font-variant-numeric:tabular-nums}
.small{width:auto;margin-top:.4rem}
.scroll{max-height:40rem;overflow:auto;border:1px solid var(--line);border-radius:.7rem;padding:0 .8rem .4rem}
.across{overflow-x:auto}
.scroll thead th{position:sticky;top:0;background:var(--paper);z-index:1}
th{padding:.5rem .6rem;text-align:left;font-weight:600;border-bottom:2px solid var(--line);white-space:nowrap}
td{padding:.28rem .6rem;border-bottom:1px solid var(--line);max-width:22rem;overflow-wrap:anywhere}
th.n,td.n{text-align:right;white-space:nowrap}
.wide{width:34%;min-width:8rem}
.bar{position:relative;height:16px}
.bar i{position:absolute;top:2px;bottom:2px;background:var(--hue);opacity:.38;border-radius:2px}
.bar b{position:absolute;top:7px;height:2px;min-width:2px;background:var(--ink);border-radius:1px}
ul{padding-left:1.2rem}li{margin:.35rem 0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.3rem 1.1rem;margin:.8rem 0}
dt{font-weight:600}dd{margin:0;overflow-wrap:anywhere}
pre{background:var(--tint);border-radius:.5rem;padding:.8rem 1rem;overflow-x:auto;white-space:pre-wrap}
code{font:.9em/1.5 ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace}
details{margin-top:.6rem}summary{cursor:pointer;color:var(--soft);font-size:.9rem}
@media(prefers-color-scheme:dark){
figure [fill="#222222" i],figure [fill="#000000" i],figure [fill="#000" i]{fill:var(--ink)}
figure [fill="#888888" i]{fill:var(--soft)}
figure [stroke="#222222" i],figure [stroke="#000000" i]{stroke:var(--ink)}
figure [stroke="#EEEEEE" i],figure [stroke="#DDDDDD" i],figure [stroke="#888888" i]{stroke:var(--line)}
figure [stroke="#00436B" i]{stroke:var(--ink)}figure [fill="#00436B" i]{fill:var(--ink)}
figure [fill="#555555" i]{fill:var(--soft)}
figure [fill="#0072B2" i]{fill:#3d9bd8}figure [stroke="#0072B2" i]{stroke:#3d9bd8}}
@media(max-width:40rem){body{font-size:15px}.wide,td:has(.bar){display:none}dl{grid-template-columns:1fr}dd{margin-bottom:.5rem}
figure svg{max-width:none}}
@media print{.scroll{max-height:none;overflow:visible}body{background:#fff}section{break-inside:auto}}
"""
