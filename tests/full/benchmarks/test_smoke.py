"""``make bench`` works: every room runs at tiny sizes, and one that fails does not take the others with it."""

from __future__ import annotations

import ast
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.grids import every_case
from support.paths import ROOT
from support.spark_session import IN_ONE_PROCESS

BENCHMARKS = ROOT / "benchmarks"


def bench(folder: Path, *arguments: str, code: int = 0) -> str:
    """Run the benchmarks of a folder and return what they print (errors go to stderr)."""
    done = subprocess.run([sys.executable, folder / "run.py", *arguments], capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def record() -> Any:
    """The module that keeps what was measured."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        import record

        yield record


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
def test_every_room_runs_and_prints_a_line(record: Any) -> None:
    modules = modules_with_lines()
    assert len(modules) > 15
    output = bench(BENCHMARKS, "--smoke")
    assert rooms_that_printed(output) == modules
    assert "rooms that failed: none" in output and "MISSED" not in output
    read = record.read_output(output, modules, record.RoomRecord("2026-11-19", "", {}))
    number = int(re.findall(r"^(\d+) lines, ", output, re.M)[0])
    assert sum(len(room.lines) for room in read.values()) == number  # a page can be made of all that is printed
    assert all(room.seconds is not None for room in read.values())


ROOMS = {
    "works": "yield measure.at_most('a call', '1 s', 'theirs 2 s', 0.5, 1)",
    "misses": "yield measure.at_most('a call', '2 s', 'theirs 1 s', 2.0, 1)",
    "breaks": "yield measure.at_least('a call', '1 s', 'theirs 2 s', 2.0, 1)\n    raise ValueError('a cable is loose')",
}


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """The runner with three small rooms: one works, one misses its target, one breaks after its first line."""
    for name in ("run.py", "measure.py", "record.py"):
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


def page_of(folder: Path) -> str:
    return (folder / "benchmarks.md").read_text(encoding="utf-8")


def test_a_run_of_some_rooms_replaces_these_on_the_page_and_no_others(planted: Path, tmp_path: Path) -> None:
    bench(planted, "--page", str(tmp_path), code=1)
    first, kept = page_of(tmp_path), json.loads((tmp_path / "benchmarks.json").read_text())
    assert set(kept) == set(ROOMS) and re.findall(r"^(\d+) lines,.* (\d+) have .* (\d+) missed", first, re.M) == [
        ("3", "3", "1")
    ]
    assert "| a call | 2 s | theirs 1 s | 2 | \\<= 1 **missed** |" in first
    assert "a cable is loose" in first and "Not measured yet" not in first
    (planted / "works.py").write_text(
        "import measure\n\ndef lines(scale):\n    yield measure.at_most('a | b_c', '3 s', 'theirs 4 s', 0.75, 1)\n"
    )
    bench(planted, "works", "--page", str(tmp_path), "--note", "Nothing else ran.")
    second, again = page_of(tmp_path), json.loads((tmp_path / "benchmarks.json").read_text())
    assert {name for name in kept if kept[name] != again[name]} == {"works"}
    assert r"| a \| b\_c | 3 s |" in second and "Nothing else ran." in second
    assert second.count("\n- **") == 2  # runs


def test_a_page_names_no_computer_and_no_folder(planted: Path, tmp_path: Path) -> None:
    bench(planted, "works", "--page", str(tmp_path))
    written = page_of(tmp_path) + (tmp_path / "benchmarks.json").read_text()
    assert platform.node() not in written and str(Path.home()) not in written and str(tmp_path) not in written
    assert "Not measured yet: `breaks`, `misses`." in written


def test_a_smoke_run_writes_no_page(planted: Path, tmp_path: Path) -> None:
    assert bench(planted, "--smoke", "--page", str(tmp_path), code=2) == ""
    assert not (tmp_path / "benchmarks.md").exists()


def test_the_page_of_a_kept_output_is_that_of_the_run(planted: Path, tmp_path: Path) -> None:
    output = bench(planted, "--page", str(tmp_path), code=1)
    (planted / "output").write_text(output)
    other = tmp_path / "other"
    other.mkdir()
    command = [sys.executable, planted / "record.py", planted / "output", other]
    subprocess.run(command, check=True, capture_output=True)
    told = [re.sub(r"(Took \d+|on \d{4}-\d\d-\d\d)", "", page_of(folder)) for folder in (tmp_path, other)]
    assert told[0] == told[1]


@every_case(
    ("what", "ours", "theirs", "target"),
    [
        ("plan: shares of 3", "0.0502 (9,000)", "0.05 wanted", "0.9 to 1.1"),
        ("a page, first view", "120 ms", "bare 10 ms", "<= 500 ms"),
        ("worst: geometric 0.1, four points", "1.45", "5,000 updates", ">= 0"),
        ("k-RR k=8, N=1e6", "1 s", "pure-ldp: 2 s", "<= 1"),
    ],
)
def test_a_printed_line_is_read_as_it_was_measured(record: Any, what: str, ours: str, theirs: str, target: str) -> None:
    line = record.Line(what, ours, theirs, 0.25, target, False)
    read = record.read_output(record.printed("room", line), ["room"], record.RoomRecord("2026-11-19", "", {}))
    assert read["room"].lines == [line]
