"""What was measured, kept in ``benchmarks.json`` and written as the page ``benchmarks.md`` of the documentation.

Every room keeps its own date, versions and machine, so that a run of some rooms replaces these and no others.
``run.py --page FOLDER`` writes both files. A run whose output was kept can be written later, on the same machine and in
the same environment:

    python benchmarks/record.py LOG docs --date 2026-11-19 --note "other programs ran at the same time"
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from measure import Line

HERE = Path(__file__).parent

#: Packages whose versions matter to what is measured; those of peers are read in the environment of the peers.
PACKAGES = (
    "discreet", "numpy", "scipy", "highspy", "duckdb", "psycopg", "pyspark", "dp-accounting", "uvicorn",
    "vl-convert-python",
)  # fmt: skip
PEERS = ("opendp", "qif", "pure-ldp", "multi-freq-ldpy")

#: Target of a line that is shown for comparison and not judged.
NO_TARGET = ">= 0"


@dataclass(frozen=True)
class RoomRecord:
    """One room as it was last measured: when, with what, on what, and its lines."""

    date: str
    machine: str
    versions: dict[str, str]
    note: str = ""
    #: Seconds that the room took; None if it was measured only in part.
    seconds: float | None = None
    #: The error that ended the room early.
    error: str = ""
    lines: list[Line] = field(default_factory=list)

    @property
    def run(self) -> tuple[str, str, str, str]:
        """The day, machine, versions and note of the run; rooms of one run are described once."""
        used = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return self.date, self.machine, used, self.note


# ------------------------------------------------------------------------------------------------ the run


def versions() -> dict[str, str]:
    """Return the versions of Python, of the packages and of the peers, as far as they are installed."""
    found = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | _peer_versions()


def _peer_versions() -> dict[str, str]:
    python = HERE / ".peers" / "bin" / "python"
    if not python.exists():
        return {}
    code = (
        "import json, sys\nfrom importlib.metadata import version, distributions\n"
        "names = {one.metadata['Name'].lower() for one in distributions()}\n"
        "print(json.dumps({name: version(name) for name in sys.argv[1:] if name in names}))"
    )
    done = subprocess.run([python, "-c", code, *PEERS], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def machine() -> str:
    """Return the kind of machine: processor, cores, memory and system, without a name of any computer."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{platform.machine()}, {cores} cores, {memory:.0f} GiB of memory, {platform.system()}"


# ------------------------------------------------------------------------------------------------ what was printed


def printed(room: str, line: Line) -> str:
    """Return the line of a terminal for one measurement."""
    verdict = "" if line.holds else "MISSED"
    return f"{room:13} {verdict:6} {line.ratio:>9.3g} {line.target:>12}  {line.what}: {line.ours} beside {line.theirs}"


_MEASURED = re.compile(r"^(\w+) +(MISSED)? +(\S+) +((?:[<>]= )?\S+(?: ms)?|\S+ to \S+)  (.*): (.*?) beside (.*)$")
_TOOK = re.compile(r"^(\w+) +took ([\d.]+) s$")
_FAILED = re.compile(r"^(\w+) +FAILED: (.*)$")


def read_output(text: str, rooms: Iterable[str], run: RoomRecord) -> dict[str, RoomRecord]:
    """Return the rooms whose lines a run printed; ``run`` has the date, versions, machine and note of all of them."""
    names = set(rooms)
    lines: dict[str, list[Line]] = {}
    seconds: dict[str, float] = {}
    errors: dict[str, str] = {}
    for row in text.splitlines():
        if (match := _MEASURED.match(row)) and match[1] in names:
            line = Line(match[5], match[6], match[7], float(match[3]), match[4], match[2] is None)
            lines.setdefault(match[1], []).append(line)
        elif (match := _TOOK.match(row)) and match[1] in names:
            seconds[match[1]] = float(match[2])
        elif (match := _FAILED.match(row)) and match[1] in names:
            errors[match[1]] = match[2]
    return {
        name: replace(run, seconds=seconds.get(name), error=errors.get(name, ""), lines=measured)
        for name, measured in lines.items()
    }


# ------------------------------------------------------------------------------------------------ the files


def read(folder: Path) -> dict[str, RoomRecord]:
    """Return the rooms that ``benchmarks.json`` in a folder has; none if there is no such file."""
    file = folder / "benchmarks.json"
    if not file.exists():
        return {}
    kept = {}
    for name, room in json.loads(file.read_text(encoding="utf-8")).items():
        kept[name] = RoomRecord(**{**room, "lines": [Line(**line) for line in room["lines"]]})
    return kept


def write(folder: Path, measured: dict[str, RoomRecord], rooms: Iterable[str]) -> None:
    """Replace the rooms that were measured in ``benchmarks.json`` and write the page of all of ``rooms`` from it."""
    names = sorted(rooms)
    kept = {name: room for name, room in sorted((read(folder) | measured).items()) if name in names}
    text = json.dumps({name: asdict(room) for name, room in kept.items()}, indent=1, ensure_ascii=False)
    (folder / "benchmarks.json").write_text(text + "\n", encoding="utf-8")
    (folder / "benchmarks.md").write_text("\n".join(page(kept, names)) + "\n", encoding="utf-8")


HEAD = """\
# Benchmarks

`make bench` measures and writes this page; nothing on it is typed by hand. `python benchmarks/run.py ROOM --page docs`
measures some parts again and replaces these. [benchmarks.json](benchmarks.json) has the same for programs.

**How to read it.** Where two programs are timed, they run in turn, so that both meet the same machine. The *ratio* is
what the target is about: mostly ours divided by theirs, so that small is good where the target is an upper bound, and
large is good where it is a lower one. The targets are ours, set in `benchmarks/`; a line that misses its target is
marked. Where the other side is only a number of seconds or gigabytes, it is a limit that we set, not a program. Times
depend on the machine; ratios depend on it less."""

GROWTH = """\
## How counting grows with the rows

![Seconds over rows for DuckDB and Spark, from one to a hundred million rows.](_static/growth.png)

`python benchmarks/growth.py` draws it again; [growth.csv](_static/growth.csv) has its figures."""


def page(kept: dict[str, RoomRecord], names: list[str]) -> Iterator[str]:
    """Give the page line by line: the runs, then every room with its lines, then what was not measured."""
    yield HEAD
    lines = [line for room in kept.values() for line in room.lines]
    judged = [line for line in lines if line.target != NO_TARGET]
    missed = [line for line in judged if not line.holds]
    yield f"\n{len(lines)} lines, of which {len(judged)} have a target; {len(missed)} missed it.\n"
    if partial := [f"`{name}`" for name in names if name not in kept]:
        yield f"Not measured yet: {', '.join(partial)}.\n"
    yield "## Runs\n"
    for run in dict.fromkeys(room.run for room in kept.values()):
        parts = ", ".join(f"`{name}`" for name, room in kept.items() if room.run == run)
        day, kind, used, note = run
        yield f"- **{day}**: {parts}. {_text(kind)}; {_text(used)}.{' ' + _text(note) if note else ''}"
    yield ""
    yield GROWTH
    for name, room in kept.items():
        yield from _section(name, room)


def _section(name: str, room: RoomRecord) -> Iterator[str]:
    yield f"\n## {name}\n"
    yield f"{_text(_summary(name))}\n"
    took = "Measured only in part" if room.seconds is None else f"Took {room.seconds:,.0f} s"
    yield f"{took}, on {room.date}.{f' It ended early: {_text(room.error)}.' if room.error else ''}\n"
    yield "| what | ours | compared with | ratio | target |\n| --- | --- | --- | ---: | ---: |"
    for line in room.lines:
        target = "" if line.target == NO_TARGET else _text(line.target)
        mark = "" if line.holds else " **missed**"
        yield f"| {_text(line.what)} | {_text(line.ours)} | {_text(line.theirs)} | {line.ratio:.3g} | {target}{mark} |"


def _summary(name: str) -> str:
    """Return the first sentence of the room's docstring."""
    file = HERE / f"{name}.py"
    doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) if file.exists() else None
    return (doc or "").partition("\n\n")[0].replace("\n", " ").replace("``", "")


def _text(words: str) -> str:
    """Return words as Markdown shows them, within a table too."""
    return re.sub(r"([\\|*_`<>\[\]$])", r"\\\1", words)


def main(arguments: list[str]) -> int:
    from run import room_names

    parser = argparse.ArgumentParser(description="Write the page of a run from what it printed.")
    parser.add_argument("output", type=Path, help="what run.py printed")
    parser.add_argument("folder", type=Path, help="the folder of benchmarks.json and benchmarks.md")
    parser.add_argument("--date", type=date.fromisoformat, default=datetime.now(UTC).date(), help="the day of the run")
    parser.add_argument("--note", default="", help="a sentence on the circumstances of the run")
    options = parser.parse_args(arguments)
    run = RoomRecord(str(options.date), machine(), versions(), options.note)
    measured = read_output(options.output.read_text(encoding="utf-8"), room_names(), run)
    write(options.folder, measured, room_names())
    print(f"{sum(len(room.lines) for room in measured.values())} lines of {len(measured)} rooms written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
