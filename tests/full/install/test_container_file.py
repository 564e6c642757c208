"""The container file builds from the project alone: what it copies is enough to install the package."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile

from support.paths import ROOT

TEXT = (ROOT / "Containerfile").read_text()
COPIED = [name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", TEXT, re.M) for name in line.split()]


def test_what_it_copies_is_there_and_is_not_ignored():
    assert {"pyproject.toml", "src"} <= set(COPIED) and all((ROOT / name).exists() for name in COPIED)
    assert {f"!{name}" for name in COPIED} <= set((ROOT / ".dockerignore").read_text().splitlines())


def test_what_it_copies_builds_the_package_with_all_its_files(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for name in COPIED:
        place = ROOT / name
        if place.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(place, source / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(place, source / name)
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(tmp_path)]
    done = subprocess.run([*build, str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        inside = set(content.namelist())
    needed = {"collect/browser/discreet.js", "schemas/plan.json", "collect/service/app.py"}
    assert {f"discreet/{name}" for name in needed} <= inside


def test_it_starts_a_verb_that_exists():
    (command,) = re.findall(r"^CMD (.+)$", TEXT, re.M)
    words = json.loads(command)
    helped = subprocess.run([sys.executable, "-m", "discreet.cli", words[0], "--help"], capture_output=True, text=True)
    assert helped.returncode == 0 and all(word in helped.stdout for word in words if word.startswith("--"))
