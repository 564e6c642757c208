"""Peers: other people's libraries, in an environment of their own, measured in the same run.

They never become dependencies of the project. One that cannot be installed is reported and left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

from measure import Scale

HERE = Path(__file__).parent
FOLDER = HERE / ".peers"
PYTHON = FOLDER / "bin" / "python"


def available(scale: Scale, package: str, module: str | None = None) -> bool:
    """Return whether the peer can be imported (as ``module``), after installing it unless this is a smoke run."""
    check = [PYTHON, "-c", f"import {module or package}"]
    if PYTHON.exists() and subprocess.run(check, capture_output=True).returncode == 0:
        return True
    if scale.smoke:
        print(f"peer not installed: {package}", flush=True)
        return False
    if not PYTHON.exists():
        venv.create(FOLDER, with_pip=True)
    command = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        print(f"peer {package} could not be installed: {process.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
    return process.returncode == 0


def run(script: str, *arguments: str) -> dict[str, Any]:
    """Run a script of this folder in the peers' environment; it prints one JSON object."""
    process = subprocess.run([PYTHON, HERE / script, *arguments], capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(process.stdout)
    return result
