"""``discreet demo``: the whole path of a release on real data, never a true count."""

from __future__ import annotations

import re

import discreet as dc
from discreet.demonstration import DOMAIN, QUESTION
from discreet.engines.sources import open_source
from discreet.exact.bits import SeededBits
from discreet.release.counts import _release
from discreet.release.plan.planning import plan_release
from support.command_line import run
from support.paths import VISITS


def counts(output: str) -> list[int]:
    """The counts of the cross-table: a line for each site, each count before its interval."""
    lines = re.findall(r"^[1-6]\s.* to .*$", output, flags=re.M)
    return [int(n) for line in lines for n in re.findall(r"(\d+)\s+\d+ to \d+", line)]


def test_the_demo_shows_the_whole_path(tmp_path) -> None:
    printed = run("demo", "--data", VISITS, "--out", tmp_path / "demo").stdout
    assert "exactly 1084483/398959" in printed  # e^epsilon as the rational that is proved
    assert "73.2%" in printed
    assert len(counts(printed)) == 24
    assert "the same numbers; left 0.5" in printed
    assert "refused: " in printed and "0.5 of 1.5" in printed
    bundle = tmp_path / "demo" / "health_by_site"
    assert str(bundle / "index.html") in printed and (bundle / "index.html").is_file()
    run("verify", bundle, "--ledger", tmp_path / "demo" / "study.ledger")


def test_the_demo_reads_the_real_data(tmp_path) -> None:
    """With next to no noise the counts are those of the data's README: 17, 9, 6, 6, 19, 35 in poor health."""
    book = dc.Ledger.create(tmp_path / "b.ledger", dataset="doctor_visits", unit="person", epsilon=200)
    plan = plan_release(QUESTION, data=VISITS, unit="person", max_groups=1, domain=DOMAIN, epsilon=200)
    released = _release(plan, open_source(VISITS), book, None, SeededBits(1))
    assert [row["count"] for row in released.rows() if row["health"] == "poor"] == [17, 9, 6, 6, 19, 35]
    assert "at most 5" in run("demo", "--data", VISITS, "--epsilon", "200", code=2).stderr


def test_the_demo_never_prints_the_same_counts_for_long() -> None:
    seen = {tuple(counts(run("demo", "--data", VISITS, "--epsilon", "0.05").stdout)) for _ in range(2)}
    assert len(seen) == 2


def test_a_mistake_is_a_message_and_not_a_traceback() -> None:
    for options in (["--data", "no such file"], ["--data", VISITS, "--epsilon", "0"]):
        done = run("demo", *options, code=2)
        assert done.stderr.startswith("discreet: ")
        assert done.stdout == ""
