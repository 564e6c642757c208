"""How the documentation is built: offline, warnings are errors, pictures made from the code."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import discreet  # noqa: E402

import rooms  # noqa: E402

project = "discreet"
author = "the discreet authors"
version = release = discreet.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
mathjax_path = "mathjax-tex-svg.js"  # vendored, so that pages work offline
exclude_patterns = ["_build", "_generated"]
nitpicky = False

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "discreet"
html_static_path = ["_static"]
html_theme_options = {"source_repository": "", "top_of_page_buttons": []}

(HERE / "_generated").mkdir(exist_ok=True)
(HERE / "_generated" / "rooms.svg").write_text(rooms.picture(), encoding="utf-8")
