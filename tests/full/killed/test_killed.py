"""A release killed at any moment: the ledger is intact, nothing is out that it does not hold, nothing is twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

import discreet as dc
from discreet.release.bundle.verify import verify_bundle

#: Releases one edition after the other, each into a folder of its own, until it is killed.
CHILD = """
import sys
import discreet as dc
import discreet.release.counts, discreet.plots.counts, duckdb, sqlglot, rich.table
table, book, out = sys.argv[1:]
print("ready", flush=True)
for edition in range(10_000):
    dc.release_counts(
        "SELECT site, COUNT(*) FROM visits GROUP BY site", data=table, unit="person", max_groups=1,
        domain={"site": range(1, 7)}, epsilon="1/1000", ledger=book, edition=str(edition), out=f"{out}/{edition}",
    )
    print(edition, flush=True)
"""


def run_and_kill(table, book, out, releases, seconds):
    """Run the child, and kill it so many releases and a moment after it began."""
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(table), str(book), str(out)], stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"ready\n"
        for _ in range(releases):
            assert child.stdout.readline(), "the child ended by itself"
        time.sleep(seconds)  # any moment will do
        os.kill(child.pid, signal.SIGKILL)
    finally:
        child.kill()
        child.communicate()


def rounds(tmp_path, number, seed):
    table, book, out = tmp_path / "visits.csv", tmp_path / "visits.ledger", tmp_path / "out"
    out.mkdir()
    table.write_text("person,site\n" + "".join(f"{person},{person % 6 + 1}\n" for person in range(60)))
    dc.Ledger.create(book, dataset="visits", unit="person", epsilon=100)
    chance = random.Random(seed)
    for k in range(number):
        run_and_kill(table, book, out, k % 3, chance.uniform(0, 0.4))
        yield table, book, out


def examine(book, out):
    ledger = dc.Ledger.open(book)
    assert ledger.verify().holds
    entries = ledger.entries()
    heads = Counter(entry.reservation.key for entry in entries if entry.committed)
    assert max(heads.values(), default=0) <= 1  # no question was answered twice
    assert ledger.spent().epsilon == len(entries) * dc.Ledger.open(book).terms.epsilon / 100_000
    bundles = [folder for folder in out.iterdir() if folder.name.isdigit()]
    for folder in bundles:
        assert verify_bundle(folder, ledger=book).holds
    assert len(bundles) <= len(heads)
    return len(bundles), len(entries)


def check(tmp_path, number, seed):
    bundles = reserved = 0
    for _, book, out in rounds(tmp_path, number, seed):
        bundles, reserved = examine(book, out)
    assert 0 < bundles <= reserved  # it was killed between releases, not before them


@pytest.mark.parametrize("kills", [12, pytest.param(50, marks=pytest.mark.long)])
def test_a_release_killed_at_any_moment_leaves_nothing_half_done(tmp_path, kills):
    check(tmp_path, kills, seed=kills)


def test_what_was_committed_but_not_written_is_returned_again_for_nothing(tmp_path, monkeypatch):
    """Killed between the commit and the files: asking again writes the same answer."""
    from discreet.release.bundle import released

    table, book = tmp_path / "visits.csv", tmp_path / "visits.ledger"
    table.write_text("person,site\n1,1\n2,2\n")
    dc.Ledger.create(book, dataset="visits", unit="person", epsilon=1)
    question = "SELECT site, COUNT(*) FROM visits GROUP BY site"
    ask = {
        "data": table,
        "unit": "person",
        "max_groups": 1,
        "domain": {"site": range(1, 3)},
        "epsilon": 1,
        "ledger": book,
    }
    with monkeypatch.context() as patch:
        patch.setattr(released, "write_bundle", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            dc.release_counts(question, out=tmp_path / "out", **ask)
    assert not (tmp_path / "out").exists() and dc.Ledger.open(book).left().epsilon == 0
    again = dc.release_counts(question, out=tmp_path / "out", **ask)
    assert verify_bundle(tmp_path / "out", ledger=book).holds
    assert again.rows() == dc.release_counts(question, **ask).rows()
