"""Before the first row an opening is recorded; what was not opened can be given back, and then never draws."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.main import app
from discreet.databases.failures import StoreUnavailable
from discreet.errors import InvalidInput, SourceFailed
from discreet.ledger.budget import Cost
from discreet.ledger.ledger import Ledger, Reservation
from discreet.release import counts as releasing
from discreet.release.bundle.verify import verify_bundle
from support.ledgers import hold, make, pay
from support.paths import PUBLISHED
from support.refusals import refused
from support.waiting import LIMIT_SECONDS

BEFORE = PUBLISHED / "format_1"

# ------------------------------------------------------------------------------------------------ the order of events


def test_the_opening_is_in_the_chain_before_anything_is_drawn(ledger: Ledger) -> None:
    seen = []

    def draw() -> bytes:
        seen.extend(event.kind for event in Ledger.open(ledger.name).events())  # as another process sees it
        return b"noisy"

    got = ledger.answer("q", {}, Cost(Fraction(1)), draw)
    assert seen == ["init", "reserve", "opened"]
    assert got.fresh and got.paid
    again = ledger.answer("q", {}, Cost(Fraction(1)), draw)
    assert again == got and not again.fresh and not again.paid


def test_what_was_not_opened_is_given_back_with_a_reason(ledger: Ledger) -> None:
    paid = hold(ledger, "q", 2)
    assert ledger.left().epsilon == 1 and [entry.state for entry in ledger.entries()] == ["reserved"]
    assert ledger.release(paid.number, because="power cut") == Cost(Fraction(2))
    assert ledger.left().epsilon == 3 and ledger.orphans() == () and ledger.verify().holds
    (entry,) = ledger.entries()
    assert entry.state == "given back" and entry.given_back is not None
    cost = Cost(Fraction(2)).to_json()  # said again, so that sums need not go back to the reservation
    assert entry.given_back.content == {"reservation": paid.number, "because": "power cut", "cost": cost}
    ledger.commit(pay(ledger, "q", 3), b"7")  # the whole budget, under the same key
    assert ledger.left().epsilon == 0 and ledger.verify().holds


def test_what_was_given_back_neither_opens_nor_commits_nor_is_given_back_again(ledger: Ledger) -> None:
    paid = hold(ledger, "q")
    ledger.release(paid.number, because="power cut")
    for use, token in (
        (lambda: ledger.mark_opened(paid), "given back"),
        (lambda: ledger.commit(paid, b"7"), "not opened"),
        (lambda: ledger.release(paid.number, because="again"), "given back"),
    ):
        with refused(InvalidInput, token=token):
            use()
    assert [event.kind for event in ledger.events()] == ["init", "reserve", "release"]


def test_what_was_opened_or_answered_stays_spent(ledger: Ledger) -> None:
    opened, answered = pay(ledger, "o"), pay(ledger, "a")
    ledger.commit(answered, b"7")
    for paid, says in ((opened, "was opened"), (answered, "was answered")):
        with refused(InvalidInput, "number", token=says):
            ledger.release(paid.number, because="I want it back")
    assert ledger.left().epsilon == 1 and [entry.state for entry in ledger.entries()] == ["opened", "answered"]


def test_an_answer_without_an_opening_is_refused(ledger: Ledger) -> None:
    with refused(InvalidInput, token="not opened"):
        ledger.commit(hold(ledger, "q"), b"7")
    assert ledger.recorded("q") is None


def test_it_opens_once(ledger: Ledger) -> None:
    """Two processes that hold the same reservation (one was copied) cannot both draw from it."""
    paid = pay(ledger, "q")
    with refused(InvalidInput, token="was opened"):
        ledger.mark_opened(paid)


@pytest.mark.parametrize("number", [1, 3, 99, "2", None])
def test_only_a_reservation_is_given_back(ledger: Ledger, number: object) -> None:
    hold(ledger, "q")
    with refused(InvalidInput, "number"):
        ledger.release(number, because="x")  # type: ignore[arg-type]


@pytest.mark.parametrize("reason", ["", "  ", "a\nb", "x" * 501, None, 7])
def test_a_reason_is_a_text(ledger: Ledger, reason: object) -> None:
    paid = hold(ledger, "q")
    with refused(InvalidInput, "because"):
        ledger.release(paid.number, because=reason)  # type: ignore[arg-type]
    assert ledger.spent().epsilon == 1


def test_under_zcdp_rho_is_given_back(tmp_path: Path) -> None:
    ledger = make(tmp_path, delta="1e-6", filter="zcdp")
    before = ledger.left()
    paid = hold(ledger, "q", "1/2")
    assert ledger.left() != before
    ledger.release(paid.number, because="power cut")
    assert ledger.left() == before and ledger.verify().holds


# ------------------------------------------------------------------------------------------------ processes

#: A release that stops itself, by a signal, at a named step; it says when it draws.
CHILD = """
import os, signal, sys
from fractions import Fraction
from discreet.ledger import ledger as ledgers
from discreet.ledger.ledger import Cost, Ledger
path, step, how = sys.argv[1:]
ledger = Ledger.open(path)
def stop(): os.kill(os.getpid(), getattr(signal, how))
def after(name):
    whole = getattr(Ledger, name)
    def stopped(self, *rest, **options):
        result = whole(self, *rest, **options)
        stop()
        return result
    setattr(Ledger, name, stopped)
if step in ("reserve", "mark_opened", "commit"):
    after(step)
def draw():
    print("drawn", flush=True)
    if step == "draw": stop()
    return b"noisy"
if step == "nothing": stop()
ledger.answer("q", {"question": "SELECT q"}, Cost(Fraction(1)), draw)
print("answered", flush=True)
"""


def child(ledger: Ledger, step: str, how: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, ledger.name, step, how],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_until_stopped(process: subprocess.Popen[str]) -> None:
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), "the child ended before it was stopped"


def test_a_process_that_was_paused_after_reserving_draws_nothing_once_that_was_given_back(ledger: Ledger) -> None:
    """The guarantee behind giving back: it is for good, whoever is still holding the reservation."""
    process = child(ledger, "reserve", "SIGSTOP")
    try:
        wait_until_stopped(process)
        (entry,) = ledger.entries()
        assert entry.state == "reserved"
        done = CliRunner().invoke(
            app, ["ledger", "release", ledger.name, str(entry.reservation.number), "--because", "it hangs"]
        )
        assert done.exit_code == 0, done.output
        os.kill(process.pid, signal.SIGCONT)
        out, err = process.communicate(timeout=LIMIT_SECONDS)
    finally:
        process.kill()
    assert process.returncode == 1 and "was given back" in err
    assert out == ""  # neither drawn nor answered
    assert ledger.left().epsilon == 3 and ledger.recorded("q") is None and ledger.verify().holds


def test_a_process_that_was_paused_after_opening_goes_on(ledger: Ledger) -> None:
    process = child(ledger, "mark_opened", "SIGSTOP")
    try:
        wait_until_stopped(process)
        (entry,) = ledger.entries()
        with refused(InvalidInput, "number"):
            ledger.release(entry.reservation.number, because="it hangs")
        os.kill(process.pid, signal.SIGCONT)
        out, _ = process.communicate(timeout=LIMIT_SECONDS)
    finally:
        process.kill()
    assert process.returncode == 0 and out == "drawn\nanswered\n" and ledger.left().epsilon == 2


@pytest.mark.parametrize(
    ("step", "state", "left"),
    [
        ("nothing", None, 3),
        ("reserve", "reserved", 2),
        ("mark_opened", "opened", 2),
        ("draw", "opened", 2),
        ("commit", "answered", 2),
    ],
)
def test_killed_after_each_step_the_ledger_says_what_can_be_given_back(
    ledger: Ledger, step: str, state: str | None, left: int
) -> None:
    process = child(ledger, step, "SIGKILL")
    out, _ = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == -signal.SIGKILL
    assert ("drawn" in out) == (step in ("draw", "commit"))
    assert ledger.verify().holds and ledger.left().epsilon == left
    assert [entry.state for entry in ledger.entries()] == ([] if state is None else [state])
    for entry in ledger.entries():
        number = entry.reservation.number
        if state == "reserved":
            ledger.release(number, because="killed")
            assert ledger.left().epsilon == 3
        else:
            with refused(InvalidInput, "number"):
                ledger.release(number, because="killed")
            assert ledger.left().epsilon == left


# ------------------------------------------------------------------------------------------------ the command line


def show(ledger: Ledger) -> str:
    done = CliRunner().invoke(app, ["ledger", "show", ledger.name])
    assert done.exit_code == 0
    return done.output


def test_show_says_the_state_of_each_reservation_and_what_to_type(ledger: Ledger) -> None:
    ledger.commit(pay(ledger, "a", "1/10"), b"")
    pay(ledger, "o", "1/10")
    held, given = hold(ledger, "r", "1/10"), hold(ledger, "g", "1/10")
    ledger.release(given.number, because="power cut")
    out = show(ledger)
    states = [line.split()[4:6] for line in out.splitlines() if "SELECT" in line]
    assert [state[0] for state in states] == ["answered", "opened", "reserved", "given"]
    assert "opened: 5." in out
    line = f"discreet ledger release {ledger.name} {held.number} --because 'the program was stopped'"
    assert line in out and out.count("ledger release") == 1
    said = json.loads(CliRunner().invoke(app, ["ledger", "show", ledger.name, "--json"]).output)
    assert [entry["state"] for entry in said["entries"]] == ["answered", "opened", "reserved", "given back"]
    assert said["entries"][3]["given_back"]["because"] == "power cut"
    assert said["orphans"] == [5, held.number]


def test_giving_back_needs_a_reason_and_says_what_is_left(ledger: Ledger) -> None:
    paid = hold(ledger, "q")
    assert CliRunner().invoke(app, ["ledger", "release", ledger.name, str(paid.number)]).exit_code == 2
    assert ledger.left().epsilon == 2
    done = CliRunner().invoke(app, ["ledger", "release", ledger.name, str(paid.number), "--because", "x", "--json"])
    assert json.loads(done.output)["left"]["epsilon"] == "3"


# ------------------------------------------------------------------------------------------------ what failed


@pytest.fixture
def asked(tmp_path: Path) -> dict[str, object]:
    table = tmp_path / "visits.csv"
    table.write_text("person,site\n1,1\n2,2\n")
    return {"data": table, "unit": "person", "epsilon": 1, "ledger": make(tmp_path)}


TOTAL = "SELECT COUNT(*) FROM visits"


def test_an_opening_that_fails_says_so_and_can_be_given_back(asked, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise StoreUnavailable("the disk is full.")

    monkeypatch.setattr(Ledger, "mark_opened", full)
    monkeypatch.setattr(releasing, "_answer", lambda *_: pytest.fail("a row was read"))
    book = asked["ledger"]
    with refused(StoreUnavailable, token="opening failed ... disk is full") as refusal:
        dc.release_counts(TOTAL, **asked)
    assert f"discreet ledger release {book.name} 2 --because" in str(refusal.value)
    assert book.left().epsilon == 2
    book.release(2, because="disk full")
    assert book.left().epsilon == 3


@pytest.mark.parametrize("step", ["counting", "drawing"])
def test_a_failure_after_the_opening_names_its_step_and_quotes_nothing(asked, monkeypatch, step: str) -> None:
    from discreet.engines.duckdb import files
    from discreet.release.noise import cells as noise

    def fail(*_: object) -> None:
        raise RuntimeError("person 1 lives at site 1")

    place = (files.CountedFiles, "count") if step == "counting" else (noise.CellNoise, "draw")
    monkeypatch.setattr(releasing, "_rehearse", lambda *_: None)  # which would have found it
    monkeypatch.setattr(*place, fail)
    with refused(SourceFailed, token=f"{step.capitalize()} ... failed ... stays spent") as failure:
        dc.release_counts(TOTAL, **asked)
    assert "person 1" not in str(failure.value) and failure.value.__cause__ is None
    assert failure.value.__context__ is None
    assert [entry.state for entry in asked["ledger"].entries()] == ["opened"]


@pytest.mark.parametrize(
    "where", ["discreet.engines.duckdb.files.count", "discreet.release.noise.cells.CellNoise.draw"]
)
def test_what_is_missing_here_is_missed_before_anything_is_reserved(asked, monkeypatch, where: str) -> None:
    def missing(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'something'")

    monkeypatch.setattr(where, missing)
    with refused(SourceFailed, token="nothing was spent ... 'something'"):
        dc.release_counts(TOTAL, **asked)
    assert asked["ledger"].entries() == []


def test_a_disk_without_room_is_said_before_anything_is_reserved(asked, monkeypatch, tmp_path) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage._replace(free=10_000))
    with refused(dc.errors.InvalidInput, token="3 MB ... 0 MB"):
        dc.release_counts(TOTAL, out=tmp_path / "bundle", **asked)
    assert asked["ledger"].entries() == []


def test_a_recording_that_fails_says_so(asked, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise StoreUnavailable("the disk is full.")

    monkeypatch.setattr(Ledger, "commit", full)
    with refused(StoreUnavailable, token="disk is full ... reservation 2"):
        dc.release_counts(TOTAL, **asked)


# ------------------------------------------------------------------------------------------------ older ledgers


@pytest.fixture
def old(tmp_path: Path) -> Ledger:
    """A ledger that a program without openings wrote: an answer and a reservation that was never committed."""
    return Ledger.open(shutil.copy(BEFORE / "ledger.sqlite", tmp_path / "old.ledger"))


def test_a_ledger_without_openings_still_holds_and_pays(old: Ledger) -> None:
    assert old.verify().holds and old.spent().epsilon == Fraction(3, 2)
    assert verify_bundle(BEFORE / "by_site", ledger=old).holds
    got = old.answer("new", {}, Cost(Fraction(1)), lambda: b"noisy")
    assert got.fresh and old.verify().holds and old.spent().epsilon == Fraction(5, 2)
    assert {event.kind for event in old.events()} == {"init", "reserve", "commit"}  # what older programs read too


def test_there_a_reservation_cannot_be_told_apart_and_stays_spent(old: Ledger) -> None:
    (orphan,) = old.orphans()
    with refused(InvalidInput, "number"):
        old.release(orphan.number, because="power cut")
    assert isinstance(orphan, Reservation) and old.spent().epsilon == Fraction(3, 2)
    assert [entry.state for entry in old.entries()] == ["answered", "not answered"]
    out = show(old)
    assert "not answered: 4. This ledger is of version 1" in out and "ledger release" not in out
