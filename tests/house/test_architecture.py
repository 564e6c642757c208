"""The house: which room may import which, read from the source itself."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from typing import NamedTuple

import pytest

from support.paths import DOCS, ROOT
from support.source import MODULES, PACKAGE, STUDIES, text, tree

# The sources are parsed once, not once in each process.
pytestmark = pytest.mark.xdist_group("source")

#: From top to bottom. A room imports only rooms above it. The documentation draws its picture from the same list. The
#: studies are another distribution, below all of them: they may import everything, and nothing may import them.
ROOMS = [*runpy.run_path(str(DOCS / "rooms.py"))["ORDER"], STUDIES]


def running_nodes(module: ast.AST) -> Iterator[ast.AST]:
    """Yield what is in a module, but not what is imported for types alone."""
    waiting = list(ast.iter_child_nodes(module))
    while waiting:
        node = waiting.pop()
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            yield node
            waiting += ast.iter_child_nodes(node)


def imports_among(nodes: Iterable[ast.AST], name: str) -> frozenset[str]:
    """Return what nodes of a module import from the package, as dotted names."""
    package = name.split(".") if MODULES[name].name == "__init__.py" else name.split(".")[:-1]
    targets: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            absolute = [alias.name for alias in node.names if alias.name.split(".")[0] in ("discreet", STUDIES)]
            targets |= {target if room(target) == STUDIES else target[len("discreet.") :] for target in absolute}
        if not isinstance(node, ast.ImportFrom):
            continue
        stem = (node.module or "").split(".")
        if node.level:
            stem = [*package[: len(package) - node.level + 1], *stem]
        elif stem[0] == "discreet":
            stem = stem[1:]
        elif stem[0] != STUDIES:
            continue
        target = ".".join(part for part in stem if part)
        # `from . import views` names modules; `from .views import View` names what is in one
        children = {f"{target}.{alias.name}".strip(".") for alias in node.names}
        targets |= {child for child in children if child in MODULES} or {target}
    return frozenset(targets)


class ModuleFacts(NamedTuple):
    """What the tests below ask of a module."""

    imports: frozenset[str]
    running_imports: frozenset[str]
    private_reads: list[str]
    uses_of_any: int
    refusals: int
    bare_refusals: list[int]


@cache
def facts(name: str) -> ModuleFacts:
    """Read a module once for all tests."""
    module = tree(MODULES[name])
    nodes = list(ast.walk(module))
    refusals = refusals_among(nodes)
    return ModuleFacts(
        imports_among(nodes, name),
        imports_among(running_nodes(module), name),
        private_reads(nodes),
        uses_of_any(nodes),
        len(refusals),
        [call.lineno for call in refusals if not _carries_parts(call)],
    )


def imports(name: str, for_types: bool = True) -> frozenset[str]:
    """Return what a module of the package imports from the package, anywhere in it."""
    return facts(name).imports if for_types else facts(name).running_imports


def room(name: str) -> str:
    return name.split(".")[0]


def test_the_reader_of_imports_reads_imports() -> None:
    """Otherwise everything below would hold of an empty set."""
    assert "privacy.views" in imports("privacy.pairs") and "exact.rationals" in imports("privacy.pairs")
    assert "privacy.certificate" in imports("mechanism") and "mechanisms.families" in imports("files")
    assert "exact.kernels" in imports("mechanisms.geometric")
    from_studies = imports(f"{STUDIES}.bounded.numbers")
    assert {"wording", f"{STUDIES}.claims"} <= from_studies and f"{STUDIES}.registry" in imports(f"{STUDIES}.running")
    assert len(MODULES) > 30


def out_of_order(order: Mapping[str, AbstractSet[str]]) -> list[str]:
    """Return the imports of a room below, and the rooms without a place; `order` maps modules to their imports."""
    unplaced = {room(name) for name in [*order, *(target for targets in order.values() for target in targets)]}
    unplaced -= {*ROOMS, ""}
    return [f"{name} has no place in the order: give it one" for name in sorted(unplaced)] + [
        f"{name} imports {target}, a room below it"
        for name, targets in order.items()
        for target in sorted(targets)
        if not {room(name), room(target)} & {"", *unplaced} and ROOMS.index(room(target)) > ROOMS.index(room(name))
    ]


def foreign_imports(of: str, allowed: set[str], order: Mapping[str, AbstractSet[str]]) -> list[str]:
    """Return what the modules of one room import beyond the rooms they may know."""
    return [
        f"{name} imports {target}"
        for name, targets in order.items()
        if room(name) == of
        for target in sorted(targets)
        if room(target) not in allowed
    ]


def circles(order: Mapping[str, AbstractSet[str]]) -> list[str]:
    """Return the names that import each other in circles, or what imports such names."""
    left = {name: targets & order.keys() - {name} for name, targets in order.items()}
    while ready := {name for name, targets in left.items() if not targets & left.keys()}:
        left = {name: targets for name, targets in left.items() if name not in ready}
    return sorted(left)


def every_import(for_types: bool = True) -> dict[str, frozenset[str]]:
    return {name: imports(name, for_types) for name in MODULES if name}


#: Rooms that the judge and the exact numbers may know.
JUDGE = {"errors", "wording", "lists", "report", "exact", "spaces", "privacy"}
EXACT = {"errors", "exact"}


def test_each_room_imports_only_rooms_above_it() -> None:
    assert out_of_order(every_import()) == []


def test_nothing_imports_in_circles() -> None:
    """An import inside a function counts too: it may wait until it is needed, but not cut a circle."""
    assert circles(every_import(for_types=False)) == []


def test_the_judge_shares_no_code_with_those_it_judges() -> None:
    assert foreign_imports("privacy", JUDGE, every_import()) == []


def test_exact_numbers_know_no_spaces() -> None:
    assert foreign_imports("exact", EXACT, every_import()) == []


def test_nothing_in_the_library_imports_the_studies() -> None:
    library = {name: targets for name, targets in every_import().items() if room(name) != STUDIES}
    assert [name for name, targets in library.items() if STUDIES in map(room, targets)] == []
    for line in (
        f"import {STUDIES}.laws",
        f"from {STUDIES} import laws",
        f"def f():\n    from {STUDIES}.laws import a",
    ):
        assert STUDIES in map(room, imports_among(ast.walk(ast.parse(line)), "exact.laws"))


def test_imports_in_the_wrong_direction_are_found() -> None:
    planted = {**every_import(), "exact.laws": {"privacy.views"}, "privacy.views": {"mechanism"}, "drawer.a": {"exact"}}
    assert out_of_order(planted) == [
        "drawer has no place in the order: give it one",
        "exact.laws imports privacy.views, a room below it",
        "privacy.views imports mechanism, a room below it",
    ]
    assert foreign_imports("exact", EXACT, planted) == ["exact.laws imports privacy.views"]
    assert foreign_imports("privacy", JUDGE, planted) == ["privacy.views imports mechanism"]
    assert circles({"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set()}) == ["a", "b", "c"]


def test_one_adapter_speaks_to_highs() -> None:
    """Options, statuses, bases and dual values are read in one place."""
    speakers = [name for name, path in MODULES.items() if "import highspy" in text(path)]
    assert speakers == ["optimise.lp.highs"]


def test_stores_connect_in_one_place() -> None:
    """Settings, withheld messages and steps done again are written once; locks and a device's diary are no stores."""
    speakers = {name for name, path in MODULES.items() if re.search(r"\b(sqlite3|driver)\.connect\(", text(path))}
    assert speakers == {"databases.postgres", "databases.sqlite", "system", "collect.reporting.diary"}


def test_errors_import_nothing() -> None:
    assert imports("errors") == set()


def test_no_room_is_a_drawer() -> None:
    forbidden = {"utils", "util", "helpers", "helper", "common", "misc", "tools", "shared"}
    assert [name for name in MODULES if forbidden & {part.strip("_") for part in name.split(".")}] == []


def parents(name: str) -> str:
    return name.rpartition(".")[0]


def test_sub_rooms_do_not_import_each_other_in_circles() -> None:
    """Rooms within a room, each taken as one; what stands beside them in the room counts module by module."""
    rooms = [name for name, path in MODULES.items() if path.name != "__init__.py"]
    group = {name: parents(name) if name.count(".") > 1 else name for name in rooms}
    order: dict[str, set[str]] = {}
    for name in rooms:
        targets = {group[target] for target in imports(name, for_types=False) if target in group}
        order.setdefault(group[name], set()).update(targets)
    assert circles(order) == [] and len(order) > 30


def test_a_room_has_about_a_dozen_modules() -> None:
    counts: dict[str, int] = {}
    for name, path in MODULES.items():
        if name and path.name != "__init__.py":
            counts[parents(name)] = counts.get(parents(name), 0) + 1
    crowded = {room: number for room, number in counts.items() if number > 14 and room not in ("", "privacy")}
    assert not crowded and counts["exact"] > 5


def private_reads(nodes: list[ast.AST]) -> list[str]:
    """Return the names with an underscore that a module takes from other modules of the package."""
    taken = [
        node
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("discreet"))
    ]
    names = [alias.name for node in taken for alias in node.names]
    modules = {alias.asname or alias.name for node in taken if node.level for alias in node.names}
    attributes = [
        f"{node.value.id}.{node.attr}"
        for node in nodes
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
        if isinstance(node.value, ast.Name) and node.value.id in modules
    ]
    return [name for name in names if name.startswith("_") and name != "__version__"] + attributes


def test_no_module_reads_what_another_room_keeps_to_itself() -> None:
    """Names that begin with an underscore are a room's own, as an import and as an attribute of a module."""
    assert {name: facts(name).private_reads for name in MODULES if facts(name).private_reads} == {}


def test_private_names_of_other_modules_are_found() -> None:
    imported = "from .views import _ends, View\nfrom . import pairs as p\nimport os\n"
    planted = ast.parse(imported + "p._hidden, p.shown, os._exit, p.__doc__")
    assert private_reads(list(ast.walk(planted))) == ["_ends", "p._hidden"]


def test_the_order_lists_the_rooms_there_are() -> None:
    assert set(ROOMS) == {room(name) for name in MODULES if name}


def test_a_settled_module_is_not_two_rooms() -> None:
    """A module of more than 550 lines should be two."""
    lengths = {name: len(text(path).splitlines()) for name, path in MODULES.items() if name}
    assert {name: length for name, length in lengths.items() if length > 550} == {}
    assert max(lengths.values()) > 300  # lines are counted


#: Where ``Any`` may stand, why, and how often at most. Our own data has types: ``Json``, ``Number``, ``Array``.
ANY = {
    "what somebody gives: arrays, data frames, lists, objects of their own": {
        "channels": 1, "checking": 2, "collect.client": 1, "collect.estimate_files": 2, "collect.readings": 7,
        "comparison.compare": 2, "lists": 2, "losses": 2,
        "engines.arrow.source": 3, "engines.arrow.tables": 20, "estimation.intervals.questions": 2,
        "estimation.groups": 7, "estimation.model.problem": 3, "estimation.model.reports": 3,
        "estimation.statistics": 1, "exact.integers": 2, "mechanisms.matrices": 7, "mechanisms.response": 1,
        "privacy.matrices": 6, "privacy.plan": 7, "properties": 6, "questions.declarations": 3,
        "release.plan.request": 6, "release.plan.request_file": 5, "spaces.metric": 1, "spaces.products": 3,
        "requirements": 2,
        "utility": 1, "datasets.columns": 1, "datasets.toml_domains": 1, "release.dataset": 1, "release.bound_plan": 1,
        "release.crosstab": 1,
    },
    "what a file or a request says, before it is checked; and what is kept of it": {
        "exact.products.kernel": 1, "exact.projective": 2, "exact.base": 1, "exact.kernels": 3, "exact.lattice": 2,
        "exact.tables": 1, "exact.laws": 5, "files": 4, "ledger.books": 4, "ledger.chain": 1, "ledger.terms": 1,
        "ledger.entries": 2, "ledger.ledger": 1, "ledger.statement": 2, "mechanism": 6, "mechanisms.build": 2,
        "privacy.certificate": 1, "privacy.witness": 4, "ptables.read": 1, "ptables.table": 2, "strict_json": 3,
        "questions.groups": 1, "questions.select": 1, "release.noise.cells": 5, "release.plan.plan": 2,
        "release.tables.discovery": 1, "release.tables.table": 1, "release.tables.levelled_counts": 4,
        "release.tables.released": 7, "release.bundle.verify": 16, "release.bundle.contents": 1,
        "release.bundle.released": 5, "release.bundle.report": 1, "report": 2, "spaces.base": 3, "spaces.grid": 2,
        "spaces.labels": 2, "verification": 2, "datasets.declaration": 4,
    },
    "objects of NumPy, SciPy, HiGHS, DuckDB, PostgreSQL, Spark's Java and Vega-Lite, whose types say no more": {
        "collect.spark.executors": 3, "collect.spark.source": 2, "collect.spark.tasks": 1, "collect.spark.write": 4,
        "engines.spark.catalogue": 1, "engines.spark.files": 1, "engines.spark.plans": 1, "engines.spark.session": 2,
        "collect.tables": 1, "engines.duckdb.counting": 1, "engines.postgres.catalogue": 7, "databases.postgres": 4,
        "engines.postgres.connection": 4, "engines.postgres.counting": 4, "engines.postgres.source": 4,
        "engines.reference": 5, "estimation.algebra": 1, "estimation.solvers.large": 2, "exact.arrays": 1,
        "exact.bits": 5, "exact.inversion": 1, "exact.sampling": 9, "ledger.stores.postgres": 8,
        "optimise.lp.bounds": 2, "optimise.lp.highs": 9, "optimise.lp.program": 1, "optimise.lp.refinement": 6,
        "optimise.lp.solver": 1, "pages.html": 2, "pages.pictures": 1, "release.outputs.workbook": 3,
        "release.bundle.frames": 4, "release.bundle.cross_frames": 5, "plots.chart": 6, "plots.counts": 4,
        "web.frame.rendering": 5, "plots.curves": 3, "plots.reconstruction": 1, "tabular": 2, "estimation.result": 1,
        "release.levels.overlapping": 2, "sources.engine": 4,
    },
    "options that are handed on, and rows of numbers that programs read": {
        "": 3, "cli.design": 10, "cli.estimate": 1, "cli.perturb": 2, "cli.main": 4, "cli.requests": 2,
        "cli.verify": 1, "demonstration": 1, "studies": 1, "estimation.fit": 1, "estimation.methods": 3,
        "estimation.simulation": 3, "estimation.strata": 1, "estimation.describing.summary": 6,
        "mechanisms.families": 1, "optimise.design.chooser": 1, "optimise.design.design": 11,
        "optimise.improve.calibration": 8, "optimise.improve.remapping": 1, "optimise.improve.structure": 2,
        "optimise.noise.bounded": 3, "discreet_studies.papers": 1, "optimise.noise.key_rounding": 1,
        "optimise.noise.ptable": 1, "optimise.noise.tradeoff": 6, "web.frame.jobs": 6, "web.pages.design": 2,
        "web.pages.release_form": 2, "web.pages.release": 1, "web.pages.tradeoff": 1,
    },
}  # fmt: skip


def uses_of_any(nodes: list[ast.AST]) -> int:
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes)


def test_any_stands_only_where_foreign_objects_come_in() -> None:
    allowed = {name: most for names in ANY.values() for name, most in names.items()}
    uses = {name: facts(name).uses_of_any for name in MODULES}
    # name the type, or say above why not
    assert {name or "discreet": n for name, n in uses.items() if n > allowed.get(name, 0)} == {}
    assert set(allowed) <= set(MODULES) and sum(allowed.values()) <= 445
    assert uses_of_any(list(ast.walk(ast.parse("def f(x: Any, y: list[Any]) -> int: ...")))) == 2


#: Errors of which a form and a program get the argument or what to do next, not a sentence alone.
REFUSALS = ("InvalidInput", "WrongType", "Unsupported")

#: Where such an error may be a sentence alone, why, and how often at most.
SENTENCES = {
    "what is wrong with an event: whoever reads the ledger says which event it is and what to do": {
        "ledger.accounts": 1, "ledger.books": 19, "ledger.budget": 6, "ledger.terms": 2,
    },
    "several numbers that do not go together: each family says it of its own arguments before": {
        "exact.kernels": 1, "exact.laws": 1, "exact.projective": 1,
    },
    "a linear program that no solver solved": {"optimise.lp.refinement": 2, "optimise.noise.programs": 1},
}  # fmt: skip


def test_every_refusal_carries_its_argument_or_its_advice() -> None:
    allowed = {name: most for names in SENTENCES.values() for name, most in names.items()}
    bare = {name: facts(name).bare_refusals for name in MODULES}
    # say the argument or the advice apart, in these lines
    assert {name: lines for name, lines in bare.items() if len(lines) > allowed.get(name, 0)} == {}
    assert set(allowed) <= set(MODULES) and sum(facts(name).refusals for name in MODULES) > 350


def refusals_among(nodes: list[ast.AST]) -> list[ast.Call]:
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in REFUSALS]


def _carries_parts(refusal: ast.Call) -> bool:
    """Whether an error states its advice or its argument, or mentions an argument in a way that readers can rewrite."""
    if len(refusal.args) > 1 or any(keyword.arg in ("argument", "advice") for keyword in refusal.keywords):
        return True
    calls = [node.func for node in ast.walk(refusal) if isinstance(node, ast.Call)]
    return any(isinstance(made, ast.Name) and made.id in ("arg", "named", "meant", "subject") for made in calls)


def test_a_refusal_in_one_sentence_is_found() -> None:
    for written, carries in {
        "InvalidInput('the matrix has 3 rows.')": False,
        "InvalidInput(f'{n} rows. Give two.', given=3)": False,
        "InvalidInput('the matrix has 3 rows.', 'Give two.')": True,
        "Unsupported(f'{named(\"n\")} is too large.')": True,
        "WrongType('a text is needed.', argument='n')": True,
    }.items():
        made = ast.parse(written, mode="eval").body
        assert isinstance(made, ast.Call) and _carries_parts(made) is carries


def test_the_files_that_contributors_are_sent_to_exist() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = guide[guide.index("| to add |") : guide.index("## To add a family")]
    files = [name for name in re.findall(r"`([a-z_/]+\.py)`", table) if "NAME" not in name]
    assert len(files) > 15
    assert [name for name in files if not any((folder / name).is_file() for folder in (PACKAGE, ROOT))] == []
