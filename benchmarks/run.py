"""``make bench``: ratios of our times to others', each printed as soon as it is measured.

    python benchmarks/run.py                  # every part: every module in this folder that has ``lines``
    python benchmarks/run.py levels ledger    # these rooms
    python benchmarks/run.py --list           # their names
    python benchmarks/run.py --smoke          # every room at tiny sizes: shows that it works, measures nothing

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
from pathlib import Path

from measure import FULL, SMOKE, Line


def room_names() -> list[str]:
    """Return the names of the modules in this folder that have ``lines``."""
    files = Path(__file__).parent.glob("*.py")
    return sorted(file.stem for file in files if re.search(r"^def lines\(", file.read_text(encoding="utf-8"), re.M))


def show(room: str, line: Line, verdict: str) -> None:
    """Print one line, at once also into a pipe."""
    ratio = f"{line.ratio:>9.3g} {line.target:>12}"
    print(f"{room:13} {verdict:6} {ratio}  {line.what}: {line.ours} beside {line.theirs}", flush=True)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Measure our speed beside others', one line per ratio.")
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help="the rooms to run (all if none is given)")
    parser.add_argument("--list", action="store_true", help="list the rooms and stop")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, no downloads; targets are not judged")
    options = parser.parse_args(arguments)
    names = room_names()
    if unknown := set(options.rooms) - set(names):
        parser.error(f"unknown room: {', '.join(sorted(unknown))} (choose from {', '.join(names)})")
    if options.list:
        print("\n".join(names))
        return 0
    scale = SMOKE if options.smoke else FULL
    measured, missed, failed = 0, 0, []
    for room in options.rooms or names:
        start = time.perf_counter()
        try:
            for line in importlib.import_module(room).lines(scale):
                is_missed = not (line.holds or scale.smoke)
                show(room, line, "MISSED" if is_missed else "")
                measured += 1
                missed += is_missed
        except Exception as error:  # any error: the other parts are still measured
            traceback.print_exc()
            print(f"{room:13} FAILED: {type(error).__name__}: {error}", flush=True)
            failed.append(room)
        print(f"{room:13} took {time.perf_counter() - start:.1f} s", flush=True)
    print(f"{measured} lines, {missed} missed their target; rooms that failed: {', '.join(failed) or 'none'}")
    return int(missed > 0 or bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
