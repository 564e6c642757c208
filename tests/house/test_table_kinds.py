"""What kind a table is, only :mod:`discreet.release.tables` asks: a new kind comes in as a file there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from discreet.release.noise.discovered import DiscoveredNoise
from discreet.release.plan import kinds
from discreet.release.tables.aligned import Aligned, AlignedCells, AlignedIntervals, AlignedLevels
from discreet.release.tables.discovered import DiscoveredTable
from discreet.release.tables.draft import Draft
from discreet.release.tables.histogram import HistogramTable
from discreet.release.tables.levelled_counts import LevelledTable
from discreet.release.tables.margins.released import MarginsRelease, MarginTable
from discreet.release.tables.released import ReleasedTable
from discreet.release.tables.sparse.plan import SparseTable
from discreet.release.tables.table import TablePlan
from support.source import MODULES, PACKAGE, text, tree

pytestmark = pytest.mark.xdist_group("source")

#: What every kind of table has -> the kinds of it.
CONTRACTS: dict[type, tuple[type, ...]] = {
    TablePlan: kinds.KINDS,
    ReleasedTable: (LevelledTable, DiscoveredTable, SparseTable, HistogramTable, MarginsRelease, MarginTable),
    Draft: (kinds.PlainDraft, kinds.SparseDraft, kinds.LevelledDraft, kinds.DiscoveredDraft, kinds.MarginsDraft),
    Aligned: (AlignedCells, AlignedIntervals, AlignedLevels),
}

#: Classes that tell the kinds apart.
CLASSES = {kind.__name__ for own in CONTRACTS.values() for kind in own} | {DiscoveredNoise.__name__}

#: Names of attributes that some kinds alone have, and that mean something else elsewhere.
AMBIGUOUS = {
    "unit",  # of a request and of a protection: whose data it is
    "cells",  # of groups: those that are listed
    "order", "rounded", "released", "table",
}  # fmt: skip

#: The rooms in which a table is shown, checked or handed on.
ROOMS = {"release", "cli", "web", "pages", "plots", "datasets", "verification", "demonstration"}


def own_attributes(kind: type, contract: type) -> set[str]:
    """Return the public names that a kind has and its contract has not."""
    fields = set(getattr(kind, "__dataclass_fields__", ())) - set(getattr(contract, "__dataclass_fields__", ()))
    return {name for name in {*dir(kind), *fields} - {*dir(contract)} if not name.startswith("_")} - {
        *getattr(contract, "__dataclass_fields__", ())
    }


#: Attributes that tell the kinds apart; ``open`` and ``discover`` were, or are what asks for a kind.
ATTRIBUTES = {
    name for contract, own in CONTRACTS.items() for kind in own for name in own_attributes(kind, contract)
} - AMBIGUOUS | {"open", "discover"}


def decisions(module: ast.AST) -> Iterator[ast.expr]:
    """Yield every expression that decides what is done next."""
    for node in ast.walk(module):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            yield node.test
        elif isinstance(node, ast.BoolOp):
            yield from node.values
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.Match):
            yield node.subject


def branches_on_kind(module: ast.AST) -> set[str]:
    """Return the places where a module asks which kind a table is, as its lines and what they ask."""
    questions = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            asked = [one.value for one in node.args[1:2] if isinstance(one, ast.Constant)]
            if node.func.id in ("getattr", "hasattr") and ATTRIBUTES & {str(name) for name in asked}:
                questions.add(f"{node.lineno}: {ast.unparse(node)}")
            named = {one.id for argument in node.args[1:] for one in ast.walk(argument) if isinstance(one, ast.Name)}
            if node.func.id in ("isinstance", "issubclass") and CLASSES & named:
                questions.add(f"{node.lineno}: {ast.unparse(node)}")
        if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name) and node.cls.id in CLASSES:
            questions.add(f"{node.lineno}: case {ast.unparse(node.cls)}")
    for test in decisions(module):
        called = {id(node.func) for node in ast.walk(test) if isinstance(node, ast.Call)}
        for node in ast.walk(test):
            if isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES and id(node) not in called:
                questions.add(f"{node.lineno}: {ast.unparse(node)}")
            if isinstance(node, ast.Name) and node.id in CLASSES:
                questions.add(f"{node.lineno}: {node.id}")
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Constant) and node.left.value in ATTRIBUTES:
                questions.add(f"{node.lineno}: {ast.unparse(node)}")
    return questions


def test_only_its_own_package_asks_which_kind_a_table_is() -> None:
    asked = {
        name: sorted(questions)
        for name, path in MODULES.items()
        if name.split(".")[0] in ROOMS
        and not name.startswith(("release.tables", "release.levels", "release.plan.kinds"))
        if (questions := branches_on_kind(tree(path)))
    }
    assert asked == {}


#: A decision of a template of a page.
_DECISION = re.compile(r"\{%-?\s*(?:el)?if\b(.*?)%\}")


def questions_of_template(page: str) -> list[str]:
    """Return the decisions of a template that ask which kind a table is."""
    names = "|".join(sorted(ATTRIBUTES))
    return [test for test in _DECISION.findall(page) if re.search(rf"\.({names})\b(?!\()", test)]


def test_no_page_asks_which_kind_a_table_is() -> None:
    templates = list(PACKAGE.rglob("*.html"))
    assert {
        path.name: questions_of_template(text(path)) for path in templates if questions_of_template(text(path))
    } == {}
    assert len(templates) > 10 and questions_of_template("{% if not plan.open %} counts{% endif %}") == [
        " not plan.open "
    ]


@pytest.mark.parametrize(
    "code",
    [
        "if table.levels: pass",
        "x = 1 if plan.open else 2",
        "y = [t for t in plan.tables if t.discovery is not None]",
        "isinstance(table, LevelledTable)",
        "isinstance(table.noise, (CellNoise, DiscoveredNoise))",
        "z = getattr(table, 'discovery', None)",
        "if 'levels' in entry: pass",
        "if type(table) is DiscoveredTable: pass",
        "match table:\n    case LevelledTablePlan(): pass",
    ],
)
def test_such_a_question_is_found(code: str) -> None:
    assert branches_on_kind(ast.parse(code))


def test_what_asks_nothing_is_let_through() -> None:
    assert not branches_on_kind(ast.parse("with path.open() as f: pass\nif table.groups.zeros: f(table.levels)"))


def test_there_are_attributes_that_tell_kinds_apart() -> None:
    assert {"levels", "discovery", "combination", "groupings"} <= ATTRIBUTES and len(CLASSES) > 6
    assert all(issubclass(kind, contract) for contract, own in CONTRACTS.items() for kind in own)
