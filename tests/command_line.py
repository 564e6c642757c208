"""The command line, run as a person does: in a process of its own."""

from __future__ import annotations

import subprocess
import sys


def run(*arguments: object, code: int = 0, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """Run ``discreet`` with these arguments; it must leave with this exit code, and never with a traceback."""
    command = [sys.executable, "-m", "discreet.cli", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done
