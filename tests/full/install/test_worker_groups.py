"""Tests that share a costly fixture run in one process, with the versions of pytest and xdist that are installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_tests_of_one_group_run_in_one_process(tmp_path: Path) -> None:
    """Two processes would start Spark twice. A version of pytest was met under which groups went unseen."""
    (tmp_path / "test_group.py").write_text(
        "import os, pathlib, pytest\n"
        "@pytest.mark.xdist_group('one')\n"
        "@pytest.mark.parametrize('k', range(8))\n"
        "def test(k): pathlib.Path(os.environ['PYTEST_XDIST_WORKER']).touch()\n",
        encoding="utf-8",
    )
    words = ["-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider", "test_group.py"]
    others = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    subprocess.run([sys.executable, *words], cwd=tmp_path, env=others, check=True, capture_output=True)
    assert len(list(tmp_path.glob("gw*"))) == 1
