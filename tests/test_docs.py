"""What the documentation says, happens: every block of code and every command in it runs, and it builds offline.

The convention for the pages in ``docs/`` and the README. Blocks of one page run from top to bottom in one namespace, in
a temporary folder that holds a copy of ``data/``:

- ``python``: executed;
- ``pycon``: a session with ``>>>``; what is printed must be what the page shows;
- ``console``: lines that begin with ``$`` are commands, run by a shell that finds the installed ``discreet``. They must
  succeed, or leave with N where the line ends in ``# exit N``. Where the page shows output, it must be that.

In shown output ``...`` stands for anything, and runs of blanks and line breaks are alike: pages fold long lines.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import discreet as dc

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
TUTORIALS = ("tutorial_curator", "tutorial_collector", "tutorial_researcher")
README = ROOT / "README.md"

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_BLOCK = re.compile(r"^```(python|pycon|console|bash)\n(.*?)^```$", flags=re.S | re.M)


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """Every block that runs: its kind, its text and the line it begins at."""
    text = page.read_text(encoding="utf-8")
    return [(m[1], m[2], text.count("\n", 0, m.start(2)) + 1) for m in _BLOCK.finditer(text)]


def commands(block: str) -> list[tuple[str, int, str]]:
    """The commands of a console block: what to run, how it must end, and the output shown for it."""
    parts = re.split(r"^\$ ", block, flags=re.M)[1:]
    found = []
    for part in parts:
        line, _, shown = part.partition("\n")
        line, _, code = line.partition("  # exit ")
        found.append((line, int(code or 0), shown))
    return found


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "120"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )


# ------------------------------------------------------------------------------------------------ pages


def _run_commands(block: str, where: str, folder: Path) -> None:
    for command, code, shown in commands(block):
        done = run(command, folder)
        right = done.returncode == code and "Traceback" not in done.stdout
        assert right, f"{where}: {command} left with {done.returncode}\n{done.stdout}"
        if shown.strip() and not doctest.OutputChecker().check_output(shown.strip() + "\n", done.stdout, FLAGS):
            pytest.fail(f"{where}: {command}\nshown:\n{shown}\ngot:\n{done.stdout}")


def _run_session(block: str, where: str, namespace: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block, namespace, where, where, 0)
    test.globs = namespace  # shared with the blocks before and after
    report: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=report.append, clear_globs=False)
    assert not report, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_everything_on_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    try:
        for kind, block, line in blocks(page):
            where = f"{page.name}:{line}"
            if kind == "python":
                exec(compile("\n" * (line - 1) + block, str(page), "exec"), namespace)
            elif kind == "pycon":
                _run_session(block, where, namespace)
            else:
                _run_commands(block, where, tmp_path)
    finally:  # a page that stops halfway leaves no service behind
        for started in tmp_path.glob("*.pid"):
            with suppress(ProcessLookupError):
                os.kill(int(started.read_text()), signal.SIGTERM)


def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    """Its Python is run by test_readme.py."""
    shutil.copytree(ROOT / "data", tmp_path / "data")
    for kind, block, line in blocks(README):
        if kind in ("console", "bash"):
            prompted = re.sub(r"^(?=discreet )", "$ ", block, flags=re.M)
            _run_commands(prompted, f"README.md:{line}", tmp_path)


def test_the_make_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    for page in [README, *PAGES]:
        text = page.read_text(encoding="utf-8")
        code = re.findall(r"`([^`]*)`", text) + re.findall(r"^ {4}(.*)$", text, flags=re.M)
        named = {target for piece in code for target in re.findall(r"^make ([a-z-]+)", piece)}
        assert named <= targets, f"{page.name} names {named - targets}"


def test_there_is_a_tutorial_for_each_visitor() -> None:
    for name in TUTORIALS:
        assert {"python", "pycon"} & {kind for kind, _, _ in blocks(DOCS / f"{name}.md")}, name


# ------------------------------------------------------------------------------------------------ public names

ROOMS = ("errors", "losses", "papers", "plots", "properties", "requirements", "utility")


def room_names(room: str) -> list[str]:
    module = getattr(dc, room)
    errors = [name for name, x in vars(module).items() if inspect.isclass(x) and issubclass(x, Exception)]
    return list(getattr(module, "__all__", errors))


PUBLIC = [*dc.__all__, *(f"{room}.{name}" for room in ROOMS for name in room_names(room))]


def find(name: str) -> Any:
    thing: Any = dc
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


@pytest.mark.parametrize(
    "name",
    # errors are one tree with one example, in the docstring of the module
    [x for x in PUBLIC if (callable(find(x)) or inspect.ismodule(find(x))) and not x.startswith("errors.")],
)
def test_every_public_name_has_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(find(name)) or ""), f"the docstring of {name} has no example"


def test_every_public_name_is_in_the_reference() -> None:
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    documented = {id(find(name)) for name in re.findall(r"(?:auto\w+|py:data):: discreet\.([\w.]+)", text)}
    assert [name for name in PUBLIC if id(find(name)) not in documented] == []


MODULES = sorted(
    found.name for found in pkgutil.walk_packages(dc.__path__, "discreet.") if not found.name.endswith("__main__")
)


@pytest.mark.parametrize("name", ["discreet", *MODULES])
def test_the_examples_in_docstrings_are_true(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS).failed == 0


# ------------------------------------------------------------------------------------------------ the built pages


class _Loads(HTMLParser):
    """What a browser fetches for a page, and the pictures on it."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.pictures: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "img":
            self.pictures.append(given)
        fetched = given.get("href") if tag == "link" else given.get("src") if tag != "a" else None
        if fetched:
            self.loads.append(fetched)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx", reason="the docs extra is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", str(folder / "cache")]
    done = subprocess.run([*command, str(DOCS), str(folder / "html")], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.mark.xdist_group("site")
def test_the_site_builds_without_a_warning(site: Path) -> None:
    assert {page.stem for page in PAGES} <= {page.stem for page in site.glob("*.html")}


@pytest.mark.xdist_group("site")
def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for page in site.glob("*.html"):
        parser = _Loads()
        parser.feed(page.read_text(encoding="utf-8"))
        for address in parser.loads:
            assert not re.match(r"(https?:)?//", address), f"{page.name} loads {address}"
            assert address.startswith(("data:", "#")) or (site / address.split("?")[0].split("#")[0]).exists(), address
    for sheet in site.glob("_static/**/*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet


@pytest.mark.xdist_group("site")
def test_every_picture_has_words_for_those_who_cannot_see_it(site: Path) -> None:
    seen = 0
    for page in site.glob("*.html"):
        parser = _Loads()
        parser.feed(page.read_text(encoding="utf-8"))
        for picture in parser.pictures:
            if str(picture.get("src")).startswith("_images/"):  # and not Sphinx's own
                assert len(picture.get("alt") or "") > 20, f"{page.name}: {picture.get('src')}"
                seen += 1
    assert seen >= 5
