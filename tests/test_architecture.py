"""The house: which room may import which, read from the source itself."""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet

ROOT = Path(discreet.__file__).parent

#: From top to bottom. A room imports only rooms above it. The documentation draws its picture from the same list.
ROOMS = list(runpy.run_path(str(Path(__file__).parent.parent / "docs" / "rooms.py"))["ORDER"])


def modules() -> dict[str, Path]:
    """Dotted names below the package -> files."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def nodes(tree: ast.AST, for_types: bool) -> Iterator[ast.AST]:
    """All that is in a module, or all but what is imported for types alone."""
    for child in ast.iter_child_nodes(tree):
        if for_types or not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield child
            yield from nodes(child, for_types)


def imports(name: str, for_types: bool = True) -> set[str]:
    """What a module of the package imports from the package, anywhere in it, as dotted names."""
    path = MODULES[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in nodes(tree, for_types):
        if isinstance(node, ast.Import):
            absolute = [alias.name for alias in node.names if alias.name.split(".")[0] == "discreet"]
            found |= {target.removeprefix("discreet").strip(".") for target in absolute}
        if not isinstance(node, ast.ImportFrom):
            continue
        stem = (node.module or "").split(".")
        if node.level:
            stem = [*package[: len(package) - node.level + 1], *stem]
        elif stem[0] == "discreet":
            stem = stem[1:]
        else:
            continue
        target = ".".join(part for part in stem if part)
        # `from . import views` names modules; `from .views import View` names what is in one
        children = {f"{target}.{alias.name}".strip(".") for alias in node.names}
        found |= {child for child in children if child in MODULES} or {target}
    return found


def room(name: str) -> str:
    return name.split(".")[0]


def test_the_reader_of_imports_reads_imports():
    """Otherwise everything below would hold of an empty set."""
    assert "privacy.views" in imports("privacy.pairs") and "exact.rationals" in imports("privacy.pairs")
    assert "privacy.certificate" in imports("mechanism") and "mechanisms.families" in imports("files")
    assert "exact.kernels" in imports("mechanisms.geometric")
    assert len(MODULES) > 30


@pytest.mark.parametrize("name", [name for name in MODULES if name])
def test_each_room_imports_only_rooms_above_it(name):
    assert room(name) in ROOMS, f"{room(name)} has no place in the order: give it one"
    own = ROOMS.index(room(name))
    for target in imports(name):
        if not target:
            continue  # the package itself, for its version
        assert room(target) in ROOMS, f"{name} imports {target}, which has no place in the order"
        assert ROOMS.index(room(target)) <= own, f"{name} imports {target}, a room below it"


def test_nothing_imports_in_circles():
    """An import inside a function counts too: it may wait until it is needed, but not cut a circle."""
    order = {name: imports(name, for_types=False) - {name, ""} for name in MODULES if name}
    done: set[str] = set()
    while len(done) < len(order):
        ready = {name for name, targets in order.items() if name not in done and targets & set(order) <= done}
        assert ready, f"a circle among {sorted(set(order) - done)}"
        done |= ready


@pytest.mark.parametrize("name", [name for name in MODULES if room(name) == "privacy"])
def test_the_judge_shares_no_code_with_those_it_judges(name):
    assert {room(target) for target in imports(name)} <= {
        "errors",
        "wording",
        "report",
        "exact",
        "spaces",
        "products",
        "privacy",
    }


@pytest.mark.parametrize("name", [name for name in MODULES if room(name) == "exact"])
def test_exact_numbers_know_no_spaces(name):
    assert {room(target) for target in imports(name)} <= {"errors", "exact"}


def test_one_adapter_speaks_to_highs():
    """Options, statuses, bases and dual values are read in one place."""
    speakers = [name for name, path in MODULES.items() if "import highspy" in path.read_text(encoding="utf-8")]
    assert speakers == ["optimise.lp.highs"]


def test_errors_import_nothing():
    assert imports("errors") == set()


def test_no_room_is_a_drawer():
    forbidden = {"utils", "util", "helpers", "helper", "common", "misc", "tools", "shared"}
    for name in MODULES:
        assert not forbidden & {part.strip("_") for part in name.split(".")}, name


def parents(name: str) -> str:
    return name.rpartition(".")[0]


def test_sub_rooms_do_not_import_each_other_in_circles():
    """Rooms within a room, each taken as one; what stands beside them in the room counts module by module."""
    rooms = {name if MODULES[name].name != "__init__.py" else None for name in MODULES} - {None}
    group = {name: parents(name) if name.count(".") > 1 else name for name in rooms}
    order: dict[str, set[str]] = {}
    for name in rooms:
        targets = {group[target] for target in imports(name, for_types=False) if target in group}
        order.setdefault(group[name], set()).update(targets - {group[name]})
    done: set[str] = set()
    while len(done) < len(order):
        ready = {name for name, targets in order.items() if name not in done and targets <= done}
        assert ready, f"a circle among {sorted(set(order) - done)}"
        done |= ready


def test_a_room_has_about_a_dozen_modules():
    counts: dict[str, int] = {}
    for name, path in MODULES.items():
        if name and path.name != "__init__.py":
            counts[parents(name)] = counts.get(parents(name), 0) + 1
    crowded = {room: number for room, number in counts.items() if number > 14 and room not in ("", "privacy")}
    assert not crowded and counts["exact"] > 5


def test_no_module_reads_what_another_room_keeps_to_itself():
    """Names that begin with an underscore are a room's own, as an import and as an attribute of a module."""
    for name, path in MODULES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("discreet")):
                names = [alias.name for alias in node.names]
                own = [own for own in names if own.startswith("_") and own != "__version__"]
                assert not own, f"{name} imports {own}"
        modules = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.level
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
                owner = node.value.id if isinstance(node.value, ast.Name) else ""
                assert owner not in modules, f"{name} reads {owner}.{node.attr}"


def test_the_order_lists_the_rooms_there_are():
    assert set(ROOMS) == {room(name) for name in MODULES if name}


@pytest.mark.parametrize("name", [name for name in MODULES if name])
def test_a_settled_module_is_not_two_rooms(name):
    """500 lines ask for a second room."""
    assert len(MODULES[name].read_text(encoding="utf-8").splitlines()) <= 500


#: Where ``Any`` may stand, why, and how often at most. Our own data has types: ``Json``, ``Number``, ``Array``.
ANY = {
    "what somebody gives: arrays, data frames, lists, objects of their own": {
        "channels": 1, "checking": 2, "collect.client": 1, "collect.readings": 9, "comparison": 1,
        "engines.arrow.source": 3, "engines.arrow.tables": 21,
        "estimation.intervals.questions": 2, "estimation.groups": 7, "estimation.model.problem": 6,
        "estimation.statistics": 1,
        "exact.integers": 2, "mechanisms.matrices": 7, "mechanisms.response": 1, "privacy.matrices": 5,
        "privacy.plan": 7, "products": 4, "properties": 6, "questions.declarations": 4, "release.plan.request": 6,
        "release.plan.request_file": 6,
        "requirements": 2, "utility": 1,
    },
    "what a file or a request says, before it is checked; and what is kept of it": {
        "exact.products.kernel": 1, "exact.projective": 2,
        "exact.kernels": 4, "exact.lattice": 2, "exact.tables": 1, "exact.laws": 5, "files": 4, "ledger.books": 4,
        "ledger.budget": 1, "ledger.chain": 1, "ledger.entries": 2, "ledger.ledger": 1, "ledger.statement": 2,
        "mechanism": 6,
        "mechanisms.building": 2, "privacy.certificate": 1, "privacy.witness": 4, "ptables.reading": 1,
        "ptables.table": 2, "questions.groups": 1, "questions.selecting": 1, "release.noise.cells": 5,
        "release.plan.discovery": 1,
        "release.plan.plan": 2, "release.plan.levels": 1, "release.publish.levelled": 4,
        "release.auditing.audit": 15, "release.publish.contents": 1,
        "release.publish.released": 5, "release.publish.report": 1, "release.publish.tables": 6, "report": 1,
        "spaces": 6, "verification": 2,
    },
    "objects of NumPy, SciPy, HiGHS, DuckDB, PostgreSQL, Spark's Java and Vega-Lite, whose types say no more": {
        "collect.spark.executors": 3, "collect.spark.source": 2, "collect.spark.tasks": 4, "collect.spark.writing": 4,
        "engines.spark.catalogue": 1, "engines.spark.files": 2, "engines.spark.plans": 1, "engines.spark.session": 2,
        "collect.tables": 5, "engines.duckdb.counting": 1, "engines.postgres.catalogue": 7,
        "engines.postgres.connection": 7, "engines.postgres.counting": 5, "engines.postgres.source": 4,
        "engines.reference": 5, "estimation.algebra": 1, "estimation.solvers.large": 2, "exact.arrays": 1,
        "exact.bits": 5, "exact.inversion": 1, "exact.sampling": 9, "ledger.stores.postgres": 9,
        "optimise.lp.bounds": 2, "optimise.lp.highs": 9, "optimise.lp.program": 1, "optimise.lp.refinement": 6,
        "optimise.lp.solver": 1, "pages.html": 2, "pages.pictures": 1,
        "release.outputs.excel": 4, "release.publish.frames": 6, "plots.chart": 6, "plots.counts": 4,
        "web.frame.rendering": 5,
        "plots.curves": 3, "plots.reconstruction": 1, "release.levels.overlapping": 2, "sources.files": 4,
    },
    "options that are handed on, and rows of numbers that programs read": {
        "": 3, "cli.collector": 6, "cli.design": 12, "cli.judge": 1, "cli.main": 1, "cli.ptable": 1, "cli.release": 3,
        "demonstration": 1, "estimation.fit": 1, "estimation.methods": 3, "estimation.simulation": 3,
        "estimation.strata": 1, "estimation.describing.summary": 6, "mechanisms.families": 1,
        "optimise.design.chooser": 1,
        "optimise.design.designing": 11, "optimise.improve.calibration": 8, "optimise.improve.remapping": 1,
        "optimise.improve.structure": 2, "optimise.noise.bounded": 3, "optimise.noise.figures": 5,
        "optimise.noise.key_rounding": 1, "optimise.noise.ptable": 1, "optimise.noise.tradeoff": 6,
        "web.frame.jobs": 6, "web.pages.designing": 2, "web.pages.release_form": 2, "web.pages.releasing": 1,
        "web.pages.tradeoff": 1,
    },
}  # fmt: skip


def test_any_stands_only_where_foreign_objects_come_in():
    allowed = {name: most for names in ANY.values() for name, most in names.items()}
    for name, path in MODULES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found = sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))
        assert found <= allowed.get(name, 0), f"{name or 'discreet'} has {found}: name the type, or say here why not"
    assert set(allowed) <= set(MODULES) and sum(allowed.values()) < 440


#: Errors of which a form and a program get the argument or what to do next, not a sentence alone.
REFUSALS = ("InvalidInput", "WrongType", "Unsupported")

#: Where such an error may be a sentence alone, why, and how often at most.
SENTENCES = {
    "what is wrong with an event: whoever reads the ledger says which event it is and what to do": {
        "ledger.books": 17, "ledger.budget": 8,
    },
    "several numbers that do not go together: each family says it of its own arguments before": {
        "exact.kernels": 1, "exact.laws": 1, "exact.projective": 1,
    },
    "a linear program that no solver solved": {"optimise.lp.refinement": 2, "optimise.noise.programs": 1},
}  # fmt: skip


def test_every_refusal_carries_its_argument_or_its_advice():
    allowed = {name: most for names in SENTENCES.values() for name, most in names.items()}
    checked = 0
    for name, path in MODULES.items():
        calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
        refusals = [made for made in calls if isinstance(made.func, ast.Name) and made.func.id in REFUSALS]
        alone = [made.lineno for made in refusals if not _carries_parts(made)]
        checked += len(refusals)
        assert len(alone) <= allowed.get(name, 0), f"{name}, lines {alone}: say the argument or the advice apart"
    assert set(allowed) <= set(MODULES) and checked > 350


def _carries_parts(refusal: ast.Call) -> bool:
    """Whether an error states its advice or its argument, or mentions an argument in a way that readers can rewrite."""
    if len(refusal.args) > 1 or any(keyword.arg in ("argument", "advice") for keyword in refusal.keywords):
        return True
    calls = [node.func for node in ast.walk(refusal) if isinstance(node, ast.Call)]
    return any(isinstance(made, ast.Name) and made.id in ("arg", "named", "meant", "subject") for made in calls)


def test_a_refusal_in_one_sentence_is_found():
    for written, carries in {
        "InvalidInput('the matrix has 3 rows.')": False,
        "InvalidInput(f'{n} rows. Give two.', given=3)": False,
        "InvalidInput('the matrix has 3 rows.', 'Give two.')": True,
        "Unsupported(f'{named(\"n\")} is too large.')": True,
        "WrongType('a text is needed.', argument='n')": True,
    }.items():
        made = ast.parse(written, mode="eval").body
        assert isinstance(made, ast.Call) and _carries_parts(made) is carries


def test_the_files_that_contributors_are_sent_to_exist():
    source = Path(discreet.__file__).parent
    root = Path(__file__).parent.parent
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text[text.index("| to add |") : text.index("## To add a family")]
    files = [name for name in re.findall(r"`([a-z_/]+\.py)`", table) if "NAME" not in name]
    assert len(files) > 15
    for name in files:
        assert (source / name).is_file() or (root / name).is_file(), name


def test_tests_of_one_group_run_in_one_process(tmp_path):
    """Two processes would start Spark twice. A version of pytest was met under which groups went unseen."""
    (tmp_path / "test_group.py").write_text(
        "import os, pathlib, pytest\n"
        "@pytest.mark.xdist_group('one')\n"
        "@pytest.mark.parametrize('k', range(8))\n"
        "def test(k): pathlib.Path(os.environ['PYTEST_XDIST_WORKER']).touch()\n",
        encoding="utf-8",
    )
    words = ["-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider", "test_group.py"]
    others = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    subprocess.run([sys.executable, *words], cwd=tmp_path, env=others, check=True, capture_output=True)
    assert len(list(tmp_path.glob("gw*"))) == 1
