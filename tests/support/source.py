"""The source of discreet as text and as syntax trees, each file read once per run."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import discreet

PACKAGE = Path(discreet.__file__).parent


def _modules() -> dict[str, Path]:
    """Return the files of the package by their dotted names below it; the package itself is ''."""
    files = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return files


MODULES = _modules()


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def tree(path: Path) -> ast.Module:
    """Return the parsed module. Keep what you read from it, not the tree: all of them fill half a gigabyte."""
    return ast.parse(text(path))
