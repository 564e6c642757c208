"""``make bench`` works: every room runs at tiny sizes, and one that fails does not take the others with it."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT
from support.spark_session import IN_ONE_PROCESS

BENCHMARKS = ROOT / "benchmarks"


def bench(folder: Path, *arguments: str, code: int = 0) -> str:
    """Run the benchmarks of a folder and return what they print (errors go to stderr)."""
    done = subprocess.run([sys.executable, folder / "run.py", *arguments], capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def modules_with_lines() -> set[str]:
    """Return the names of the benchmark modules that define ``lines``, read from their syntax trees."""
    return {
        file.stem
        for file in BENCHMARKS.glob("*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == "lines"
    }


def rooms_that_printed(output: str) -> set[str]:
    """Return the rooms that printed a measured line: their name, a ratio and its target."""
    return set(re.findall(r"^(\w+) +(?:MISSED)? +[\d.e+-]+ +(?:[<>]=|\d)", output, re.M))


@IN_ONE_PROCESS
def test_every_room_runs_and_prints_a_line() -> None:
    modules = modules_with_lines()
    assert len(modules) > 15
    output = bench(BENCHMARKS, "--smoke")
    assert rooms_that_printed(output) == modules
    assert "rooms that failed: none" in output and "MISSED" not in output


ROOMS = {
    "works": "yield measure.at_most('a call', '1 s', 'theirs 2 s', 0.5, 1)",
    "misses": "yield measure.at_most('a call', '2 s', 'theirs 1 s', 2.0, 1)",
    "breaks": "yield measure.at_least('a call', '1 s', 'theirs 2 s', 2.0, 1)\n    raise ValueError('a cable is loose')",
}


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """The runner with three small rooms: one works, one misses its target, one breaks after its first line."""
    for name in ("run.py", "measure.py"):
        shutil.copy(BENCHMARKS / name, tmp_path)
    for name, body in ROOMS.items():
        (tmp_path / f"{name}.py").write_text(f"import measure\n\ndef lines(scale):\n    {body}\n")
    return tmp_path


@pytest.mark.parametrize("options", [(), ("--smoke",)])
def test_a_room_that_breaks_is_reported_and_the_others_still_run(planted: Path, options: tuple[str, ...]) -> None:
    output = bench(planted, *options, code=1)
    assert rooms_that_printed(output) == set(ROOMS)
    assert re.search(r"^breaks +FAILED: ValueError: a cable is loose$", output, re.M)
    assert output.index("breaks ") < output.index("works ")
    assert output.endswith("rooms that failed: breaks\n")


def test_a_missed_target_fails_the_run_but_not_a_smoke_run(planted: Path) -> None:
    assert re.search(r"^misses +MISSED", bench(planted, "works", "misses", code=1), re.M)
    assert "MISSED" not in bench(planted, "works", "misses", "--smoke")


def test_rooms_can_be_listed_and_chosen(planted: Path) -> None:
    assert set(bench(BENCHMARKS, "--list").split()) == modules_with_lines()
    assert rooms_that_printed(bench(planted, "works")) == {"works"}
    assert bench(planted, "works", "garden", code=2) == ""  # nothing is measured


def test_each_line_is_printed_as_soon_as_it_is_measured(planted: Path) -> None:
    output = planted / "output"
    (planted / "reads.py").write_text(
        "import measure\n\ndef lines(scale):\n    yield measure.at_most('a call', '1 s', 'theirs 2 s', 0.5, 1)\n"
        f"    assert 'a call' in open({str(output)!r}).read()\n"
    )
    command = [sys.executable, planted / "run.py", "reads"]
    buffered = {**os.environ, "PYTHONUNBUFFERED": ""}  # else every print is at once, flushed or not
    with output.open("w") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, env=buffered)
    assert done.returncode == 0, done.stderr.decode()
