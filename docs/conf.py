"""How the documentation is built: offline, warnings are errors, pictures made from the code."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import families  # noqa: E402
import numpy as np  # noqa: E402
import rooms  # noqa: E402

import discreet as dc  # noqa: E402
from discreet import plots  # noqa: E402
from discreet.collect.reporting.repetition import repetition_chart  # noqa: E402

project = "discreet"
author = "the discreet authors"
version = release = dc.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
mathjax_path = "mathjax-tex-svg.js"  # vendored, so that pages work offline
exclude_patterns = ["_build", "_generated"]
nitpicky = False

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"  # people are handed objects; how they are constructed is not the point
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_attr_annotations = False

html_theme = "furo"
html_title = "discreet"
html_static_path = ["_static"]
html_show_sourcelink = False
html_show_copyright = False
html_copy_source = False
html_theme_options = {"top_of_page_buttons": []}


# ------------------------------------------------------------------------------------------------ docstrings


def keep_bars(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """In docstrings a bare |i-j| is a distance and not, as Sphinx would have it, something to be substituted."""
    for k, line in enumerate(lines):
        parts = line.split("``")  # every other part is code
        parts[::2] = [re.sub(r"(?<!\\)\|(\w-\w)\|", r"\|\1\|", part) for part in parts[::2]]
        lines[k] = "``".join(parts)


def keep_sentences(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Napoleon takes what stands before a colon in the docstring of a property for its type: put it back."""
    kinds = [line for line in lines if line.startswith(":type: ")]
    if what in ("property", "attribute", "data") and kinds:
        lines.remove(kinds[0])
        lines[0] = f"{kinds[0].removeprefix(':type: ')}: {lines[0]}"


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", keep_bars)
    app.connect("autodoc-process-docstring", keep_sentences, priority=900)


# ------------------------------------------------------------------------------------------------ pictures


def draw(folder: Path) -> None:
    """Every picture of the documentation, made by the library itself, and the table of families."""
    folder.mkdir(exist_ok=True)
    (folder / "families.md").write_text(families.table(), encoding="utf-8")
    # A browser draws a file with "currentColor" in black on any page, so it gets a white background.
    house = rooms.picture().replace(">", '><rect width="100%" height="100%" fill="white"/>', 1)
    (folder / "rooms.svg").write_text(house, encoding="utf-8")

    for n, columns, name in ((5, 2, "two_mechanisms"), (8, 1, "two_mechanisms_8")):  # as wide as a page
        pair = {"Geometric": dc.geometric(n, alpha="10/11"), "Explicit fair": dc.explicit_fair(n, alpha="10/11")}
        maps = [plots.heatmap(m, witness=False, title=title, scale="linear") for title, m in pair.items()]
        title = f"Two mechanisms for the counts 0 to {n}, equally private (alpha = 10/11)"
        seen = "The geometric one flees to the ends. The fair one reports every truth equally often."
        plots.beside(maps, title, seen, columns=columns).save(folder / f"{name}.svg")

    small = {"geometric": dc.geometric(20, epsilon=1), "explicit fair": dc.explicit_fair(20, epsilon=1)}
    plots.error(small, ["L1", "bias"]).save(folder / "error.svg")

    curves = {
        "geometric, epsilon 1": dc.geometric(20, epsilon=1),
        "discrete Gaussian, sigma2 = 4": dc.discrete_gaussian(sigma2=4),
        "random rounding to base 3": dc.random_rounding(20, base=3),
        "random rounding to base 5": dc.random_rounding(20, base=5),
        "suppression below 5": dc.suppression(20, below=5),
    }
    plots.delta_curve(curves).save(folder / "delta_curve.svg")

    place = dc.planar_geometric(dc.Grid(30, 30, cell=150.0), epsilon=0.004)
    plots.report_map(place, 435).save(folder / "map.svg")

    some = dc.geometric(20, epsilon="0.5")
    visits = np.random.default_rng(1).binomial(20, 0.3, 5000)
    dc.estimate(reports=some.simulate(visits, seed=2), mechanism=some).plot().save(folder / "estimate.svg")

    plots.heatmap(dc.random_rounding(9, base=3)).save(folder / "rounding.svg")

    plots.tradeoff(dc.noise_tradeoff(2.2, [4, 6, 8])).save(folder / "tradeoff.svg")

    repetition_chart(dc.geometric(6, epsilon="1/10")).save(folder / "repetition.svg")

    for key, result in dc.study("results", quick=True).results.items():
        for chart in result.charts.values():
            chart.save(folder / f"result_{key}.svg")


draw(HERE / "_generated")
