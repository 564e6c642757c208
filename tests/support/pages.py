"""The code and the commands on pages of documentation."""

from __future__ import annotations

import re
from pathlib import Path

from support.paths import ROOT

README = ROOT / "README.md"

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.S | re.M)

#: Kinds of blocks that the tests of the pages run; those in R have a test of their own.
_KINDS = ("python", "pycon", "console", "bash")


def blocks(page: Path, kinds: tuple[str, ...] = _KINDS) -> list[tuple[str, str, int]]:
    """Every block that runs: its kind, its text and the line it begins at."""
    text = page.read_text(encoding="utf-8")
    found = [(m[1], m[2], text.count("\n", 0, m.start(2)) + 1) for m in _BLOCK.finditer(text)]
    return [block for block in found if block[0] in kinds]


def commands(block: str) -> list[tuple[str, int, str]]:
    """The commands of a console block: what to run, how it must end, and the output shown for it."""
    parts = re.split(r"^\$ ", block, flags=re.M)[1:]
    found = []
    for part in parts:
        line, _, shown = part.partition("\n")
        line, _, code = line.partition("  # exit ")
        found.append((line, int(code or 0), shown))
    return found
