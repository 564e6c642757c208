"""Reports as text for a terminal, as HTML for a notebook, and as pages that need no network and no script."""

from __future__ import annotations

from .html import TEMPLATE, fragment, page
from .text import text

__all__ = ["TEMPLATE", "fragment", "page", "text"]
