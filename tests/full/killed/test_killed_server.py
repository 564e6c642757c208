"""PostgreSQL killed under a release and started again: the ledger is whole, nothing is out that it does not hold."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dc
from discreet.release.bundle.verify import verify_bundle
from support.postgres_server import Server, programs, start
from support.waiting import LIMIT_SECONDS

pytestmark = pytest.mark.xdist_group("postgres")

PRICE = Fraction(1, 1000)

#: Waits for a line, then releases one edition after the other until one fails; says which, and waits again.
CHILD = """
import sys
import discreet as dc
import discreet.release.counts, discreet.plots.counts, psycopg, sqlglot, rich.table
data, book, out = sys.argv[1:]
edition = 0
print("ready", flush=True)
for line in sys.stdin:
    while True:
        try:
            release = dc.release_counts(
                "SELECT site, COUNT(*) FROM public.visits GROUP BY site", data=data, unit="person", max_groups=1,
                domain={"site": range(1, 7)}, epsilon="1/1000", ledger=book, edition=str(edition),
                out=f"{out}/{edition}",
            )
        except dc.errors.DiscreetError as problem:
            print("failed", edition, type(problem).__name__, " ".join(str(problem).split()), flush=True)
            break
        print("done", edition, "fresh" if release.fresh else "recorded", flush=True)
        edition += 1
        if line == "once\\n":
            break
"""

#: What a person is told when the server goes. While it is planned: that it cannot be reached. From the rehearsal on:
#: that nothing was spent, that what was reserved stays spent, or where to see which.
WORDS = re.compile(
    "cannot connect to|cannot be reached|catalogue of .* cannot be read|nothing was spent|stays spent"
    "|see discreet ledger show"
)


@pytest.fixture
def own() -> Iterator[Server]:
    """A server that is killed; what it has said is committed is in the system's files, which a kill leaves."""
    server = start(programs(18), synchronous_commit="on", full_page_writes="on")
    yield server
    server.stop()


def fill(server: Server) -> str:
    return server.database(
        "CREATE TABLE public.visits (person text, site integer)",
        "INSERT INTO public.visits SELECT 'p' || i % 5000, i % 6 + 1 FROM generate_series(1, 20000) s(i)",
        name="visits",
    )


class Killing:
    """One child that releases, and a server that is killed under it again and again."""

    def __init__(self, server: Server, ledger: str, folder: Path) -> None:
        self.server, self.out = server, folder / "out"
        self.out.mkdir()
        name = fill(server)
        in_file = ledger == "file"
        self.book = str(folder / "visits.ledger") if in_file else server.address(server.database(name="accounts"))
        self.book += "" if in_file else "&ledger=visits"
        dc.Ledger.create(self.book, dataset=name, unit="person", epsilon=100)
        self.told: list[str] = []
        self.checked: set[str] = set()
        given = [server.address(name), self.book, str(self.out)]
        self.child = subprocess.Popen(
            [sys.executable, "-c", CHILD, *given], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.line() == "ready"

    def line(self) -> str:
        assert self.child.stdout is not None
        return self.child.stdout.readline().strip()

    def send(self, words: str) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(words + "\n")
        self.child.stdin.flush()

    def round(self, releases: int, seconds: float) -> None:
        """Kill the server so many releases and a moment after the child was told to begin."""
        self.send("go")
        for _ in range(releases):
            self.told.append(self.line())
            assert self.told[-1].startswith("done"), self.told[-1]
        time.sleep(seconds)  # any moment will do
        self.server.kill()
        self.read_until_failure()
        self.server.start()
        self.examine()

    def read_until_failure(self) -> None:
        while True:
            self.told.append(self.line())
            assert self.told[-1], "the child ended by another error than ours"
            if self.told[-1].startswith("failed"):
                assert WORDS.search(self.told[-1]), self.told[-1]
                return

    def examine(self) -> None:
        ledger = dc.Ledger.open(self.book)
        report = ledger.verify()  # every event of the chain
        assert report.holds, report.problems
        entries = ledger.entries()
        committed = Counter(entry.reservation.key for entry in entries if entry.committed)
        assert max(committed.values(), default=0) <= 1  # no question was answered twice
        assert ledger.spent().epsilon == len(entries) * PRICE  # and none was paid twice by one reservation
        bundles = {folder.name for folder in self.out.iterdir() if folder.name.isdigit()}
        finished = {line.split()[1] for line in self.told if line.startswith("done")}
        assert finished <= bundles and len(bundles) <= len(committed)  # nothing is out that the ledger does not hold
        for name in bundles - self.checked:
            assert verify_bundle(self.out / name, ledger=self.book).holds
        self.checked |= bundles

    def end(self) -> None:
        """The release that failed last succeeds when it is asked again."""
        failed = self.told[-1].split()[1]
        self.send("once")
        assert self.line().startswith(f"done {failed} ")
        assert verify_bundle(self.out / failed, ledger=self.book).holds
        self.child.communicate(timeout=LIMIT_SECONDS)
        assert self.child.returncode == 0


def kill_in_rounds(server: Server, ledger: str, folder: Path, rounds: int, seed: int) -> None:
    chance, killing = random.Random(seed), Killing(server, ledger, folder)
    try:
        for k in range(rounds):
            killing.round(k % 3, chance.uniform(0, 0.4))
        killing.end()
    finally:
        killing.child.kill()
        killing.child.communicate()
    assert any(line.startswith("done") for line in killing.told)  # it was killed under releases, not before them
    assert sum(line.startswith("failed") for line in killing.told) == rounds


@pytest.mark.parametrize("ledger", ["file", "server"])
@pytest.mark.parametrize("kills", [10, pytest.param(30, marks=pytest.mark.long)])
def test_a_server_killed_again_and_again_loses_and_doubles_nothing(
    own: Server, ledger: str, kills: int, tmp_path: Path
) -> None:
    kill_in_rounds(own, ledger, tmp_path, kills, seed=kills)
