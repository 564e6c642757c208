"""``make bench``: ratios of our times to others', each printed as soon as it is measured.

    python benchmarks/run.py                  # every part: every module in this folder that has ``lines``
    python benchmarks/run.py levels ledger    # these rooms
    python benchmarks/run.py --list           # their names
    python benchmarks/run.py --smoke          # every room at tiny sizes: shows that it works, measures nothing
    python benchmarks/run.py --page docs      # also write docs/benchmarks.md, each room as soon as it is measured

The run fails if a line missed its target (not in a smoke run, whose sizes mean nothing) or a room raised an error; the
rooms after it are measured all the same.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import time
import traceback
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from measure import FULL, SMOKE, Line
from record import RoomRecord, machine, printed, versions, write


def room_names() -> list[str]:
    """Return the names of the modules in this folder that have ``lines``."""
    files = Path(__file__).parent.glob("*.py")
    return sorted(file.stem for file in files if re.search(r"^def lines\(", file.read_text(encoding="utf-8"), re.M))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Measure our speed beside others', one line per ratio.")
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help="the rooms to run (all if none is given)")
    parser.add_argument("--list", action="store_true", help="list the rooms and stop")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, no downloads; targets are not judged")
    parser.add_argument("--page", type=Path, metavar="FOLDER", help="write benchmarks.md and benchmarks.json there")
    parser.add_argument("--note", default="", help="with --page: a sentence on the circumstances of the run")
    options = parser.parse_args(arguments)
    if options.smoke and options.page:
        parser.error("a smoke run measures nothing: leave out --page")
    names = room_names()
    if unknown := set(options.rooms) - set(names):
        parser.error(f"unknown room: {', '.join(sorted(unknown))} (choose from {', '.join(names)})")
    if options.list:
        print("\n".join(names))
        return 0
    scale = SMOKE if options.smoke else FULL
    run = RoomRecord(str(datetime.now(UTC).date()), machine(), versions(), options.note)
    measured, missed, failed = 0, 0, []
    for room in options.rooms or names:
        start, lines, problem = time.perf_counter(), list[Line](), ""
        try:
            for line in importlib.import_module(room).lines(scale):
                judged = replace(line, holds=line.holds or scale.smoke)
                print(printed(room, judged), flush=True)  # at once, also into a pipe
                lines.append(judged)
        except Exception as error:  # any error: the other parts are still measured
            traceback.print_exc()
            problem = f"{type(error).__name__}: {error}"
            print(f"{room:13} FAILED: {problem}", flush=True)
            failed.append(room)
        took = time.perf_counter() - start
        print(f"{room:13} took {took:.1f} s", flush=True)
        measured += len(lines)
        missed += sum(not line.holds for line in lines)
        if options.page and lines:
            write(options.page, {room: replace(run, seconds=took, error=problem, lines=lines)}, names)
    print(f"{measured} lines, {missed} missed their target; rooms that failed: {', '.join(failed) or 'none'}")
    return int(missed > 0 or bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
