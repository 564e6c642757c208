"""Docstrings and pages, as far as Python alone can tell: examples are true, names and links lead somewhere."""

from __future__ import annotations

import doctest
import importlib
import inspect
import itertools
import pkgutil
import re
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import discreet as dc
import discreet_studies
from support.grids import every_case
from support.pages import README, blocks
from support.paths import DOCS, ROOT

PAGES = sorted(DOCS.glob("*.md"))
TUTORIALS = ("tutorial_curator", "tutorial_collector", "tutorial_researcher")

# ------------------------------------------------------------------------------------------------ public names

ROOMS = ("errors", "losses", "plots", "papers", "properties", "requirements", "utility")


def room_names(room: str) -> list[str]:
    module = getattr(dc, room)
    errors = [name for name, x in vars(module).items() if inspect.isclass(x) and issubclass(x, Exception)]
    return list(getattr(module, "__all__", errors))


PUBLIC = [*dc.__all__, "study", "StudyResult", *(f"{room}.{name}" for room in ROOMS for name in room_names(room))]


def find(name: str) -> Any:
    thing: Any = dc
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


def without_example(things: dict[str, Any]) -> list[str]:
    return [name for name, thing in things.items() if ">>> " not in (inspect.getdoc(thing) or "")]


def test_every_public_name_has_an_example() -> None:
    """Errors are one tree with one example, in the docstring of the module."""
    things = {name: find(name) for name in PUBLIC if not name.startswith("errors.")}
    things = {name: thing for name, thing in things.items() if callable(thing) or inspect.ismodule(thing)}
    assert without_example(things) == [] and len(things) > 100
    assert without_example({"planted": lambda: None, "geometric": dc.geometric}) == ["planted"]


def test_every_public_name_is_in_the_reference() -> None:
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    documented = {id(find(name)) for name in re.findall(r"(?:auto\w+|py:data):: discreet(?:_studies)?\.([\w.]+)", text)}
    assert [name for name in PUBLIC if id(find(name)) not in documented] == []
    assert id(doctest) not in documented and len(documented) > 100


# ------------------------------------------------------------------------------------------------ parameters

FUNCTIONS = {name: find(name) for name in [*dc.__all__, "study"] if inspect.isfunction(find(name))}


def undescribed(function: Any) -> list[str]:
    """Return the parameters of a function that have no entry in the Parameters section of its docstring."""
    lines = iter((inspect.getdoc(function) or "").splitlines())
    described: set[str] = set()
    for line in lines:
        if line == "Parameters":
            next(lines)
            for entry in itertools.takewhile(lambda one: not re.fullmatch("-{3,}", one), lines):
                if re.match(r"\*{0,2}\w", entry):  # an entry is not indented, its text is
                    described |= set(re.split(r",\s*", entry.replace("*", "")))
    return [name for name in inspect.signature(function).parameters if name not in described]


@every_case("name", FUNCTIONS)
def test_every_parameter_of_a_public_function_is_described(name: str) -> None:
    assert undescribed(FUNCTIONS[name]) == []


def test_a_parameter_without_words_is_noticed() -> None:
    def planted(a: int, b: int = 0) -> int:
        """Return a sum.

        Parameters
        ----------
        a
            A number.

        Examples
        --------
        b
        """
        return a + b

    assert undescribed(planted) == ["b"] and undescribed(lambda x: x) == ["x"]


# ------------------------------------------------------------------------------------------------ examples

MODULES = sorted(
    module.name
    for package in (dc, discreet_studies)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith("__main__")
)


def failing_examples(module: ModuleType) -> tuple[int, list[str]]:
    """Return the number of examples in the docstrings of a module, and what is reported of those that fail."""
    reports: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, module.__name__):
        runner.run(test, out=reports.append)
    return runner.tries, reports


# two parts, so that two processes share them
@pytest.mark.parametrize("part", [0, 1])
def test_the_examples_in_docstrings_are_true(part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = 0
    reports: list[str] = []
    for name in ["discreet", *MODULES][part::2]:
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        number, failures = failing_examples(importlib.import_module(name))
        examples += number
        reports += failures
    assert reports == [], "".join(reports)
    assert examples > 250


def test_an_example_that_is_not_true_is_reported() -> None:
    planted = ModuleType("planted", ">>> 1 + 1\n2\n>>> 1 + 1\n3\n>>> undefined\n4")
    number, reports = failing_examples(planted)
    assert number == 3 and len([report for report in reports if "Failed example" in report]) == 2


# ------------------------------------------------------------------------------------------------ pages


def unknown_targets(text: str, targets: Iterable[str]) -> set[str]:
    """Return the targets of make that a page names and that do not exist."""
    code = re.findall(r"`([^`]*)`", text) + re.findall(r"^ {4}(.*)$", text, flags=re.M)
    return {target for piece in code for target in re.findall(r"^make ([a-z-]+)", piece)} - set(targets)


def test_the_make_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    unknown = {page.name: unknown_targets(page.read_text(encoding="utf-8"), targets) for page in [README, *PAGES]}
    assert {page: names for page, names in unknown.items() if names} == {}
    assert unknown_targets("`make test`, `make it-so`\n\n    make nothing\n", targets) == {"it-so", "nothing"}


def test_there_is_a_tutorial_for_each_visitor() -> None:
    kinds = {name: {kind for kind, _, _ in blocks(DOCS / f"{name}.md")} for name in TUTORIALS}
    assert [name for name in TUTORIALS if not {"python", "pycon"} & kinds[name]] == []


def prose(page: Path) -> str:
    """Return a page without its blocks of code and its code in a line."""
    text = re.sub(r"^(```+|:::+).*?^\1$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    return re.sub(r"`[^`\n]*`", "code", text)


def anchors(page: Path) -> set[str]:
    """Return what a link to a page can point at: its labels, and its headings as Markdown names them."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#{1,3} (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M), flags=re.M)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, flags=re.M))


def broken_links(page: Path, labels: set[str]) -> list[str]:
    """Return the links of a page to files and headings that do not exist; `labels` are those of all pages."""
    broken = []
    for target in re.findall(r"(?:\]\(|<img src=\")([^)\s\"]+)", prose(page)):
        name, _, fragment = target.partition("#")
        file = page.parent / name if name else page
        if re.match(r"[a-z]+:|_generated/", target):
            continue  # elsewhere, and not ours to ask, or drawn when the pages are built, which fails without it
        if not file.exists() or (fragment and fragment not in anchors(file) | (set() if name else labels)):
            broken.append(f"{page.name}: {target}")
    return broken


def test_links_between_pages_lead_somewhere() -> None:
    labels = set().union(*map(anchors, PAGES))
    assert [link for page in [*ROOT.glob("*.md"), *PAGES] for link in broken_links(page, labels)] == []
    assert sum(prose(page).count(".md") for page in PAGES) > 50  # links are read


@every_case("target", ["nowhere.md", "limits.md#no-such-heading", "#no-such-label", "nowhere.png"])
def test_a_link_that_leads_nowhere_is_found(target: str, tmp_path: Path) -> None:
    (tmp_path / "limits.md").write_text("# Limits\n\n## What holds\n", encoding="utf-8")
    page = tmp_path / "page.md"
    good = "[a](limits.md) [b](limits.md#what-holds) [c](#label) [d](https://example.org/#x) [e](#own)\n\n# Own\n"
    link = f'<img src="{target}" width="9">' if target.endswith(".png") else f"[f]({target})"
    page.write_text(f"{good}\n{link}\n", encoding="utf-8")
    assert broken_links(page, {"label"}) == [f"page.md: {target}"]
