"""A class name has one meaning in the library."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable

import pytest

from support.source import MODULES, STUDIES, tree

# The sources are parsed once, not once in each process.
pytestmark = pytest.mark.xdist_group("source")


def repeated_class_names(modules: Iterable[tuple[str, ast.AST]]) -> list[str]:
    """Return the class names with more than one definition, each with the modules that define it."""
    places = defaultdict(list)
    for name, module in modules:
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(name)
    return [f"{name}: {', '.join(where)}" for name, where in sorted(places.items()) if len(where) > 1]


def test_no_class_name_is_used_twice() -> None:
    library = ((name, tree(path)) for name, path in MODULES.items() if name.split(".")[0] != STUDIES)
    assert repeated_class_names(library) == []


def test_a_class_name_used_twice_is_noticed() -> None:
    first, second = "class Table:\n    pass", "def f():\n    class Table:\n        pass\n\nclass Rows:\n    pass"
    modules = [("report", ast.parse(first)), ("exact.tables", ast.parse(second))]
    assert repeated_class_names(modules) == ["Table: report, exact.tables"]
