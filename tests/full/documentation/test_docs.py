"""What the documentation says, happens: every block of code and every command in it runs, and it builds offline.

The convention for the pages in ``docs/`` and the README. Blocks of one page run from top to bottom in one namespace, in
a temporary folder that holds a copy of ``data/``:

- ``python``: executed;
- ``pycon``: a session with ``>>>``; what is printed must be what the page shows;
- ``console``: lines that begin with ``$`` are commands, run by a shell that finds the installed ``discreet``. They must
  succeed, or leave with N where the line ends in ``# exit N``. Where the page shows output, it must be that.

In shown output ``...`` stands for anything, and runs of blanks and line breaks are alike: pages fold long lines.

Docstrings, the reference and links between pages are checked in ``tests/house/test_docstrings.py``.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import nullcontext, suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from support.pages import README, blocks, commands
from support.paths import DOCS, ROOT
from support.ports import documented_ports

PAGES = sorted(DOCS.glob("*.md"))

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


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


def _run_page(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the blocks of a page from top to bottom, in one folder and one namespace."""
    shutil.copytree(ROOT / "data", folder / "data")
    monkeypatch.chdir(folder)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    try:
        for kind, block, line in blocks(page):
            where = f"{page.name}:{line}"
            if kind == "python":
                exec(compile("\n" * (line - 1) + block, str(page), "exec"), namespace)
            elif kind == "pycon":
                _run_session(block, where, namespace)
            else:
                _run_commands(block, where, folder)
    finally:  # a page that stops halfway leaves no service behind
        for started in folder.glob("*.pid"):
            with suppress(ProcessLookupError):
                os.kill(int(started.read_text()), signal.SIGTERM)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_everything_on_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with documented_ports() if "discreet serve " in page.read_text(encoding="utf-8") else nullcontext():
        _run_page(page, tmp_path, monkeypatch)


def test_everything_in_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = [block for kind, block, _ in blocks(README) if kind == "python"]
    assert len(examples) == 3  # one for each visitor
    _run_page(README, tmp_path, monkeypatch)
    assert "would be refused" not in (shown := capsys.readouterr().out) and "recorded already" in shown


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
    # pictures are drawn beside the pages: another run draws its own
    sources = shutil.copytree(DOCS, folder / "project" / "docs", ignore=shutil.ignore_patterns("_build", "_generated"))
    for beside in ROOT.iterdir():
        if beside != DOCS and not beside.name.startswith("."):
            copy = folder / "project" / beside.name
            if beside.is_dir():
                copy.symlink_to(beside)
            else:  # a page that another includes: its links are read from where it is
                shutil.copyfile(beside, copy)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", str(folder / "cache")]
    done = subprocess.run([*command, str(sources), str(folder / "html")], capture_output=True, text=True, timeout=300)
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
