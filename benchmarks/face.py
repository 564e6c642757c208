"""Time to a first answer: the command line against a bare interpreter, and a picture."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import discreet as dc
import measure
from measure import FULL, Line, Scale


def lines(scale: Scale = FULL) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "m.json"
        dc.explicit_fair(8, alpha="10/11").save(file)
        program = [sys.executable, "-m", "discreet.cli"]
        bare, numpy, usage, verdict = measure.in_turn(
            lambda: _run([sys.executable, "-c", "pass"]),
            lambda: _run([sys.executable, "-c", "import numpy"]),
            lambda: _run([*program, "--help"]),
            lambda: _run([*program, "verify", str(file)]),
            rounds=scale.pick(7, 1),
        )
        peer = f"bare interpreter {bare:.3g} s"
        yield measure.at_most("discreet --help", f"{usage:.3g} s", peer, usage / bare, 0.4 / bare)
        peer = f"interpreter and numpy {numpy:.3g} s"
        yield measure.at_most("discreet verify m.json (n=8)", f"{verdict:.3g} s", peer, verdict / numpy, 0.8 / numpy)
        picture = Path(folder) / "m.png"
        size = scale.pick(101, 11)
        wide = dc.explicit_fair(size - 1, epsilon="0.1")
        code = "import vl_convert; vl_convert.vegalite_to_png({'mark': 'bar', 'data': {'values': [1]}})"
        start = measure.seconds(lambda: _run([sys.executable, "-c", code]))
        took = measure.seconds(lambda: dc.plots.heatmap(wide).save(picture))
        peer = f"an empty picture in a fresh process {start:.3g} s"
        yield measure.at_most(
            f"{size} x {size} heat map to PNG, the first one", f"{took:.3g} s", peer, took / start, 2 / start
        )


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)
