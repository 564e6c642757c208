"""The source of discreet and its studies as text and as syntax trees, each file read once per run."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import discreet
import discreet_studies

PACKAGE = Path(discreet.__file__).parent

#: The package of the studies, a distribution of its own.
STUDIES = discreet_studies.__name__


def _modules(package: Path, above: tuple[str, ...] = ()) -> dict[str, Path]:
    """Return the files of a package by their dotted names below it."""
    files = {}
    for path in sorted(package.rglob("*.py")):
        parts = (*above, *path.relative_to(package).with_suffix("").parts)
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return files


#: The files of the library by their dotted names below it, where the package itself is ''; then those of the studies.
MODULES = _modules(PACKAGE) | _modules(Path(discreet_studies.__file__).parent, (STUDIES,))


def import_name(name: str) -> str:
    """Return the name by which a module is imported, from its name in MODULES."""
    return name if name.split(".")[0] == STUDIES else f"discreet.{name}".rstrip(".")


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def tree(path: Path) -> ast.Module:
    """Return the parsed module. Keep what you read from it, not the tree: all of them fill half a gigabyte."""
    return ast.parse(text(path))
