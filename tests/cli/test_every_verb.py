"""Every verb once, in a process of its own, as it is installed; what each verb does is tested in process elsewhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import discreet as dc
from discreet.cli import app
from discreet.ledger.ledger import Cost, Reservation
from support.bundles import answered
from support.command_line import run_program
from support.paths import VISITS
from support.running_service import RunningService, make_token

LABELS = dc.randomized_response(["yes", "no"], epsilon=1)
BY_SITE = "SELECT site, COUNT(*) FROM visits GROUP BY site"
GROUPS = ("--unit", "person", "--max-groups", 1, "--domain", "site=1..3")
ACCOUNT = ("--data", "visits", "--unit", "person", "--epsilon", 3)

#: Verbs -> their arguments, in the folder below, and a fact that they print. A verb that is missing here fails a test.
CALLS: dict[str, tuple[tuple[object, ...], str]] = {
    "demo": (("--data", VISITS, "--epsilon", "0.5", "--out", "demo"), "demo/health_by_site/index.html"),
    "design": (("-n", 3, "--alpha", "1/2", "--properties", "WH", "-o", "designed.json"), "e^epsilon = 2 exactly"),
    "verify": (("m.json",), "exactly 2"),
    "check": (("m.json", "--require", "S"), "symmetric"),
    "explain": (("m.json",), "66.7%"),
    "compare": (("m.json", "--families", "EM", "--alpha", "1/2"), "explicit fair"),
    "calibrate": (("--family", "geometric", "-n", 4, "--truth", "0.5"), "epsilon = 1.09861"),
    "release": (
        (BY_SITE, "--data", "visits.csv", "--ledger", "visits.ledger", "-o", "by_site", "--epsilon", 1, *GROUPS),
        "by_site/index.html",
    ),
    "contributions": (
        (
            BY_SITE,
            "--data",
            "visits.csv",
            "--ledger",
            "visits.ledger",
            "--epsilon",
            "0.1",
            "--unit",
            "person",
            "--domain",
            "site=1..3",
        ),
        "3 or more",
    ),
    "editions": (("q1", "q2"), "q2"),
    "export": (("q1", "--to", "q1.parquet"), "q1.parquet"),
    "dataset new": (
        ("people.csv", "--unit", "row", "--budget", 3, "--domain", "visits=0..4", "-o", "fresh.toml", "--yes"),
        "fresh.toml",
    ),
    "dataset show": (("visits.toml",), "epsilon 3"),
    "dataset check": (("visits.toml",), "holds"),
    "dataset add-column": (("added.toml", "--domain", "site=1..3"), "epsilon 3"),
    "ledger init": (("new.ledger", *ACCOUNT, "--dataset", "births"), "epsilon = 3"),
    "ledger show": (("shown.ledger",), "an abandoned question"),
    "ledger release": (("abandoned.ledger", "2", "--because", "a power cut"), "left        epsilon = 3"),
    "ledger plan": (("year.toml",), "all would be paid"),
    "ledger verify": (("shown.ledger",), "holds"),
    "ledger copy": (("moved.ledger", "to.ledger"), "to.ledger"),
    "perturb": (("visits", "--data", "people.csv", "--mechanism", "m.json", "-o", "new.csv"), "5 reports"),
    "estimate": (("reports.csv", "--mechanism", "m.json"), "5 reports"),
    "collect plan": (
        ("--labels", "yes,no", "--target-error", "±10 points", "--epsilon", 2, "--surveys", 2),
        "2 labels, epsilon 2",
    ),
    "collect token": (("tokens.db", "--right", "read"), "discreet_"),
    "collect repair": (("repaired.db", "--counted-until", "2026-11-16"), "Nothing to repair"),
    "study": (("bounded", "--figure", "numbers", "--quick", "--formats", "json"), "studies/bounded/index.html"),
}

#: Verbs that ask a running service.
ASKING: dict[str, tuple[tuple[object, ...], str]] = {
    "collect create": (
        ("made", "--mechanism", "labels.json", "--question", "Do you?", "--minimum-reports", 20),
        "/collections/made/answer",
    ),
    "collect estimate": (("smoking",), "12 reports"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the calls read; no two of them change the same file."""
    place = tmp_path_factory.mktemp("verbs")
    dc.geometric(4, alpha="1/2").save(place / "m.json")
    LABELS.save(place / "labels.json")
    make_token(str(place / "repaired.db"))
    (place / "visits.csv").write_text("person,site\n" + "".join(f"{k},{k % 3 + 1}\n" for k in range(12)))
    (place / "people.csv").write_text("visits\n0\n1\n2\n3\n4\n")
    (place / "reports.csv").write_text("report\n0\n1\n2\n2\n4\n")
    terms: dict[str, Any] = {"dataset": "visits", "unit": "person", "epsilon": 3}
    books = {
        name: dc.Ledger.create(place / f"{name}.ledger", **terms) for name in ("visits", "moved", "bundles", "declared")
    }
    declared = 'format = "discreet dataset"\ndataset = "visits"\nunit = "person"\nledger = "declared.ledger"\n'
    for name in ("visits", "added"):
        (place / f"{name}.toml").write_text(declared + '[tables.visits]\ndata = "visits.csv"\n')
    plan = 'format = "discreet budget plan"\nledger = "declared.ledger"\n[[releases]]\nepsilon = 1\n'
    (place / "year.toml").write_text(plan)
    for name in ("shown", "abandoned"):
        book = dc.Ledger.create(place / f"{name}.ledger", **terms)
        request = {"tables": [{"question": "an abandoned question"}]}
        assert isinstance(paid := book.reserve("key", request, Cost(Fraction(1))), Reservation) and paid.number == 2
    for edition in ("q1", "q2"):
        answered(books["bundles"], place / edition, edition=edition)
    return place


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[RunningService]:
    """Run ``discreet serve`` in a process of its own, with a collection of twelve reports."""
    store, token = str(folder / "reports.db"), make_token(str(folder / "reports.db"))
    (folder / "token.txt").write_text(token)
    running = RunningService(store, folder / "log", name="smoking")
    running.start()
    try:
        yield running
    finally:
        running.stop()


@pytest.mark.parametrize("verb", CALLS)
def test_every_verb_works_in_a_process_of_its_own(verb: str, folder: Path) -> None:
    arguments, fact = CALLS[verb]
    done = run_program(*verb.split(), *arguments, cwd=folder)
    assert fact in done.stdout and done.stderr == ""


def test_a_service_is_started_and_asked_by_its_verbs(folder: Path, service: RunningService) -> None:
    assert service.ask("GET", "/ready").status == 200
    token = (folder / "token.txt").read_text()
    assert service.create(token, {"main": LABELS}).status == 201
    assert service.report(["yes"] * 12).status == 201
    for verb, (arguments, fact) in ASKING.items():
        where = ("--service", f"http://127.0.0.1:{service.port}", "--token-file", "token.txt")
        assert fact in run_program(*verb.split(), *arguments, *where, cwd=folder).stdout


def test_no_verb_is_without_such_a_test() -> None:
    def verbs(command: Any, words: tuple[str, ...] = ()) -> Iterator[str]:
        inner = getattr(command, "commands", None)
        if inner is None:
            yield " ".join(words)
        else:
            for name, one in inner.items():
                yield from verbs(one, (*words, name))

    assert sorted(verbs(get_command(app))) == sorted([*CALLS, *ASKING, "serve"])


def test_the_package_is_the_program() -> None:
    """``python -m discreet`` once said that a package cannot be run."""
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "calibrate", "--family", "geometric", "-n", "4", "--truth", "0.5"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and "epsilon = 1.09861" in done.stdout
