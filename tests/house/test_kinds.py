"""Kernels and spaces answer for themselves: nothing but the judge asks which kind one is."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from support.source import MODULES, tree

pytestmark = pytest.mark.xdist_group("source")

#: The kinds of kernels and of spaces, by the package that they are imported from.
KINDS = {
    "exact": {"Kernel", "Lattice", "Noise", "Product", "Probabilities", "Projective", "Response", "Table"},
    "spaces": {
        "Counts", "Graph", "Grid", "Integers", "Labels", "MetricSpace", "ProductSpace", "Range", "Ring", "Space",
        "Tree",
    },
}  # fmt: skip

#: The packages that define the kinds, and the judge, which tells them apart on purpose.
EXEMPT = ("exact", "spaces", "privacy")

#: How often the rest of the package may ask: where somebody hands in one of several things, and where the values of
#: labels or the parts of tuples are what is asked for. It can only fall.
MOST_QUESTIONS = 23


def imported_kinds(module: ast.AST) -> set[str]:
    """Return the names by which a module knows kernels and spaces."""
    return {
        alias.asname or alias.name
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        for package, kinds in KINDS.items()
        if package in (node.module or "").split(".") and alias.name in kinds
    }


def questions(module: ast.AST) -> list[int]:
    """Return the lines that ask which kind a kernel or a space is: isinstance, type(...) and match."""
    kinds = imported_kinds(module)

    def names(node: ast.AST) -> bool:
        return any(isinstance(part, ast.Name) and part.id in kinds for part in ast.walk(node))

    lines = []
    for node in ast.walk(module):
        called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if isinstance(node, ast.Call) and called in ("isinstance", "issubclass"):
            asks = names(node.args[1])
        elif isinstance(node, ast.pattern):
            asks = isinstance(node, ast.MatchClass) and names(node.cls)
        else:
            asks = isinstance(node, ast.Compare | ast.Subscript) and names(node) and _reads_type(node)
        if asks:
            lines.append(node.lineno)
    return sorted(lines)


def _reads_type(node: ast.AST) -> bool:
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call) and len(part.args) == 1]
    return any(isinstance(call.func, ast.Name) and call.func.id == "type" for call in calls)


@cache
def every_question() -> dict[str, list[int]]:
    asked = {name: questions(tree(path)) for name, path in MODULES.items() if name.split(".")[0] not in EXEMPT}
    return {name: lines for name, lines in asked.items() if lines}


def test_hardly_anything_asks_which_kind_a_kernel_or_a_space_is() -> None:
    number = sum(map(len, every_question().values()))
    assert number <= MOST_QUESTIONS, every_question()  # let the kernel or the space answer
    assert number == MOST_QUESTIONS, "lower MOST_QUESTIONS"


def test_estimation_asks_no_kernel_what_it_is() -> None:
    """Solvers, intervals and models go by what a kernel answers; reading what was handed in is another matter."""
    kernels = KINDS["exact"] - {"Table"}
    modules = {name: tree(path) for name, path in MODULES.items() if name.startswith("estimation")}
    calls = [
        (name, node.lineno)
        for name, module in modules.items()
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        if {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)} & kernels & imported_kinds(module)
    ]
    assert calls == []


def test_questions_are_found_however_they_are_written() -> None:
    planted = ast.parse(
        "from ..exact.kernels import Noise, Response as Other\n"
        "from ..spaces import Grid\n"
        "from ..report import Table\n"
        "isinstance(x, Noise)\n"
        "isinstance(x, Other | int)\n"
        "type(x) is Grid\n"
        "{Grid: 1}[type(x)]\n"
        "match x:\n"
        "    case Grid(): pass\n"
        "isinstance(x, Table), Grid(2, 2), x == Grid(2, 2)\n"
    )
    assert questions(planted) == [4, 5, 6, 7, 9]
