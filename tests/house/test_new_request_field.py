"""A new field of a request touches three files: it is declared, given as an option, and acted upon."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import discreet
from support import tiers
from support.paths import TESTS

#: The three files, and what is added where in each: before the first line that begins so.
EDITS = {
    "release/plan/request.py": (
        ("    domain: Domain | None\n", "    remark: str | None\n"),
        (
            "    domain: Domain | None = field(",
            '    remark: str | None = field(\n        default=None,\n        metadata=field_words(\n'
            '            "Remark of the curator",\n'
            '            f"Your remark on this release, shown with its plan; it may mention {arg(\'edition\')}.",\n'
            '            TEXT,\n            "What the curator remarks.",\n        ),\n    )\n',
        ),
    ),
    "cli/release.py": (("    domain: list[str] | None = None,", "    remark: str | None = None,\n"),),
    "release/plan/planning.py": (
        ("    refuse_unnamed_selection(data, request.edition)", "    notes += filter(None, [request.remark])\n"),
    ),
}  # fmt: skip

#: What a program finds after that, run beside the copy.
PROGRAM = """
import json, pathlib, sys, tempfile
import discreet as dc
from discreet.release.plan.toml_text import FILE_WORDS
from support.command_line import run
from support.request_schema import FILE, schema_text

sql, asked = "SELECT COUNT(*) FROM visits", dict(unit="row", epsilon=1, remark="checked by Ann")
folder = pathlib.Path(tempfile.mkdtemp())
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
"""


@tiers.full
def test_a_new_field_touches_three_files(tmp_path: Path) -> None:
    """Python, the option with its help, the request file, the form's title and the schema know it after three edits."""
    package = tmp_path / "discreet"
    shutil.copytree(Path(discreet.__file__).parent, package, ignore=shutil.ignore_patterns("vendor", "studies"))
    for file, additions in EDITS.items():
        text = (package / file).read_text(encoding="utf-8")
        for line, added in additions:
            assert f"\n{line}" in text, f"{file} has no line that begins so: {line}"
            text = text.replace(f"\n{line}", f"\n{added}{line}", 1)
        (package / file).write_text(text, encoding="utf-8")
    environment = {"PYTHONPATH": f"{tmp_path}:{TESTS}", "PATH": "", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert len(EDITS) == 3
