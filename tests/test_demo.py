"""``discreet demo``: the question, the proof and noisy counts, never a true one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import discreet as dc
from discreet.demonstration import LARGEST_COUNT, _noisy_counts

DATA = Path(__file__).parent.parent / "data" / "doctor_visits.csv.gz"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "discreet.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def counts(output: str) -> list[int]:
    return [int(n) for n in re.findall(r"^[1-6]\s+(\d+)\s+", output, flags=re.M)]


def test_the_demo_shows_the_proof_and_six_noisy_counts() -> None:
    done = run("demo", "--data", str(DATA))
    assert done.returncode == 0, done.stderr
    assert "exactly 1084483/398959" in done.stdout  # e^epsilon as the rational that is proved
    assert "at most 73%" in done.stdout
    assert len(counts(done.stdout)) == 6


def test_the_demo_reads_the_real_data() -> None:
    """With next to no noise the counts are those of the data's README: 17, 9, 6, 6, 19, 35 in poor health."""
    assert _noisy_counts(DATA, dc.explicit_fair(LARGEST_COUNT, epsilon=200)) == [17, 9, 6, 6, 19, 35]
    assert "at most 5" in run("demo", "--data", str(DATA), "--epsilon", "200").stderr


def test_the_demo_never_prints_the_same_counts_for_long() -> None:
    seen = {tuple(counts(run("demo", "--data", str(DATA), "--epsilon", "0.05").stdout)) for _ in range(3)}
    assert len(seen) == 3


def test_a_mistake_is_a_message_and_not_a_traceback() -> None:
    for arguments in (["demo", "--data", "no such file"], ["demo", "--data", str(DATA), "--epsilon", "0"]):
        done = run(*arguments)
        assert done.returncode == 2
        assert done.stderr.startswith("discreet: ")
        assert "Traceback" not in done.stderr
        assert done.stdout == ""
