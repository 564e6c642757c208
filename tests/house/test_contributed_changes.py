"""CONTRIBUTING's table of changes is true: in a copy, a field, a family and an estimator are three files each."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

import discreet
from support import tiers
from support.paths import ROOT, TESTS

#: What is replaced in a file by what; a new file replaces nothing.
Edits = Mapping[str, tuple[tuple[str, str], ...]]


class Change(NamedTuple):
    """A change of the table.

    Attributes
    ----------
    row
        Its first words in the table.
    edits
        The files that it touches.
    program
        What a program that runs beside the copy finds; it is given the folder of the copy.
    """

    row: str
    edits: Edits
    program: str


FIELD = Change(
    "a field of a request",
    {
        "release/plan/request.py": (
            ("\n    domain: Domain | None\n", "\n    remark: str | None\n    domain: Domain | None\n"),
            (
                "\n    domain: Domain | None = field(",
                "\n    remark: str | None = field(\n        default=None,\n        metadata=field_words(\n"
                '            "Remark of the curator",\n'
                "            f\"Your remark on this release, shown with its plan; it may mention {arg('edition')}.\",\n"
                '            TEXT,\n            "What the curator remarks.",\n        ),\n    )\n'
                "    domain: Domain | None = field(",
            ),
        ),
        "cli/release.py": (
            (
                "\n    domain: list[str] | None = None,",
                "\n    remark: str | None = None,\n    domain: list[str] | None = None,",
            ),
        ),
        "release/plan/planning.py": (
            (
                "\n    refuse_unnamed_selection(data, request.edition)",
                "\n    notes += filter(None, [request.remark])\n    refuse_unnamed_selection(data, request.edition)",
            ),
        ),
    },
    """
from discreet.release.plan.toml_text import FILE_WORDS
from support.request_schema import FILE, schema_text

sql, asked = "SELECT COUNT(*) FROM visits", dict(unit="row", epsilon=1, remark="checked by Ann")
assert str(FILE).startswith(sys.argv[1]) and FILE_WORDS["remark"].title == "Remark of the curator"

plan = dc.plan_release(sql, data="visits.csv", **asked)
assert "checked by Ann" in plan.notes, plan.notes

help = " ".join(run("release", "--help", env={"COLUMNS": "4000"}).stdout.split())
assert "--remark" in help and "shown with its plan; it may mention --edition." in help, help

file = folder / "request.toml"
options = ["--unit", "row", "--epsilon", 1, "--remark", "checked by Ann", "--data", "visits.csv"]
run("release", sql, *options, "--plan", "--write", file)
assert '# What the curator remarks.\\nremark = "checked by Ann"' in file.read_text()
assert dc.open_request(file).request.remark == "checked by Ann"
assert "checked by Ann" in run("release", file, "--plan").stdout

FILE.write_text(schema_text())  # python -m support.request_schema
described = json.loads(FILE.read_text())["properties"]["remark"]
assert described == {
    "description": "Your remark on this release, shown with its plan; it may mention edition.", "type": "string"
}, described
""",
)

FAMILY = Change(
    "a family of mechanisms",
    {
        "mechanisms/lottery.py": (
            (
                "",
                '"""The true count has 1/alpha times as many tickets as any other."""\n\n'
                "from ..exact.kernels import Response\nfrom ..exact.rationals import read_alpha\n"
                "from ..mechanism import finish, read_count\nfrom ..spaces import Counts\n\n\n"
                "def lottery(n, *, epsilon=None, alpha=None):\n"
                "    space, a = Counts(read_count(n)), read_alpha(alpha, epsilon)\n"
                "    kernel = Response(space.size, a.denominator, a.numerator)\n"
                '    parameters = {"n": space.n, "alpha": str(a)}\n'
                '    return finish("lottery", space, space, kernel, parameters, ratio=1 / a, closed_form=True)\n',
            ),
        ),
        "mechanisms/families.py": (
            (
                '\n        Family(\n            "explicit_fair",',
                '\n        Family(\n            "lottery", "lottery among the counts", "response",\n'
                '            ".mechanisms.lottery:lottery",\n'
                '            ("n", "privacy"), ("design", "known", "compare", "calibrate", "release", "reconstruct"),\n'
                '            short="LM", aliases=("raffle",), saved=("n", "alpha"),\n        ),'
                '\n        Family(\n            "explicit_fair",',
            ),
        ),
        "__init__.py": (
            ('\n    ".mechanisms.fair":', '\n    ".mechanisms.lottery": ("lottery",),\n    ".mechanisms.fair":'),
            ('\n    "explicit_fair",', '\n    "lottery", "explicit_fair",'),
        ),
    },
    """
m = dc.lottery(4, alpha="1/3")
assert "lottery" in dc.__all__ and m.certificate.ratio == 3
run("design", "--family", "raffle", "-n", 4, "--alpha", "1/3", "-o", folder / "m.json")
assert dc.load(folder / "m.json") == m and "kernel" not in json.loads((folder / "m.json").read_text())
assert "lottery among the counts" in run("compare", "-n", 4, "--epsilon", 1).stdout
assert dc.calibrate("lottery", 4, truth="1/2").mechanism.family == "lottery"
plan = dc.plan_release(
    "SELECT COUNT(*) FROM visits", data="visits.csv", unit="row", bound=9, epsilon=1, mechanism="lottery"
)
assert {one.family for one in plan.tables[0].noise.mechanisms} == {"lottery"}
for verb in ("design", "calibrate", "release"):
    assert "lottery" in run(verb, "--help", env={"COLUMNS": "4000"}).stdout, verb
""",
)

ESTIMATOR = Change(
    "an estimator",
    {
        "estimation/solvers/clipped.py": (
            (
                "",
                '"""The inverse of the mechanism without its negative entries."""\n\nimport numpy as np\n\n\n'
                "def clipped(p):\n    positive = np.maximum(p, 0)\n    return positive / positive.sum()\n",
            ),
        ),
        "estimation/methods.py": (
            ('"wavelet"]', '"wavelet", "clipped"]'),
            ("\nfrom .solvers.likelihood", "\nfrom .solvers.clipped import clipped\nfrom .solvers.likelihood"),
            (
                '        "inverse": lambda:',
                '        "clipped": lambda: _clipped(Likelihood(problem, tolerance)),\n        "inverse": lambda:',
            ),
            (
                "\ndef _inverse(",
                "\ndef _clipped(likelihood):\n    p = clipped(likelihood.inverse())\n    gap = likelihood.gap(p)\n"
                '    return finish(likelihood, SolverResult(p, gap, ((likelihood.mean_log(p), gap),)), "clipped", ())\n'
                "\n\ndef _inverse(",
            ),
        ),
        "estimation/method_table.py": (
            (
                '    "inverse": MethodInfo(',
                '    "clipped": MethodInfo("inverse without negative entries"),\n    "inverse": MethodInfo(',
            ),
        ),
    },
    """
import numpy as np

m, counts = dc.geometric(2, alpha="1/2"), [80, 5, 40]
inverse = dc.estimate(counts, m, method="inverse").distribution
assert inverse.min() < 0
found = dc.estimate(counts, m, method="clipped")
positive = np.maximum(inverse, 0)
assert np.allclose(found.distribution, positive / positive.sum()) and found.method == "clipped"
assert found.gap > dc.estimate(counts, m, method="mle").gap and found.interval("mean").low < found.mean()
m.save(folder / "m.json")
reports = "".join(f"{value}\\n" * count for value, count in enumerate(counts))
(folder / "reports.csv").write_text("report\\n" + reports)
shown = run("estimate", folder / "reports.csv", "--mechanism", folder / "m.json", "--method", "clipped").stdout
assert "inverse without negative entries" in shown, shown
assert "clipped" in run("estimate", "--help", env={"COLUMNS": "4000"}).stdout
""",
)

CHANGES = (FIELD, FAMILY, ESTIMATOR)

#: What comes before the program of each change.
BEFORE = """
import json, pathlib, sys, tempfile
import discreet as dc
from support.command_line import run

assert dc.__file__.startswith(sys.argv[1])
folder = pathlib.Path(tempfile.mkdtemp())
"""


@tiers.full
@pytest.mark.parametrize("change", CHANGES, ids=[change.row for change in CHANGES])
def test_a_change_touches_three_files(change: Change, tmp_path: Path) -> None:
    """Python, the command line and what follows from them know it after edits of the files that the table names."""
    assert len(change.edits) <= 3
    package = tmp_path / "discreet"
    shutil.copytree(Path(discreet.__file__).parent, package, ignore=shutil.ignore_patterns("vendor", "studies"))
    for file, replacements in change.edits.items():
        place = package / file
        text = place.read_text(encoding="utf-8") if place.exists() else ""
        for old, new in replacements:
            assert old in text, f"{file} does not have: {old}"
            text = text.replace(old, new, 1)
        place.write_text(text, encoding="utf-8")
    environment = {"PYTHONPATH": f"{tmp_path}:{TESTS}", "PATH": "", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", BEFORE + change.program, str(tmp_path)],
        capture_output=True, text=True, env=environment, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("change", CHANGES, ids=[change.row for change in CHANGES])
def test_the_table_names_these_files(change: Change) -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    row = next(line for line in guide.splitlines() if line.startswith(f"| {change.row} |"))
    named = set(re.findall(r"`([a-z_/A-Z]+\.py)`", row))
    for file in change.edits:
        new = str(Path(file).parent / "NAME.py")
        assert file in named or new in named, f"the table does not send contributors of {change.row} to {file}"


def test_a_change_that_is_not_made_is_noticed(tmp_path: Path) -> None:
    """Otherwise the programs would prove nothing."""
    environment = {"PYTHONPATH": f"{Path(discreet.__file__).parent.parent}:{TESTS}", "PATH": ""}
    program = BEFORE.replace("sys.argv[1]", "''") + FAMILY.program
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=240)
    assert done.returncode != 0 and "lottery" in done.stderr
