"""A ledger that moves: everything goes along, and at no moment two can be spent from."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import BudgetExceeded, InvalidInput, UnreadableFile
from discreet.ledger.budget import Cost
from discreet.ledger.stores.open import open_store
from support.command_line import run
from support.postgres_server import server
from support.refusals import refused

pytestmark = pytest.mark.xdist_group("postgres")


@pytest.fixture(params=["file", "postgresql"])
def to(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return (
        str(tmp_path / "new.ledger") if request.param == "file" else server().address(server().database(name="moved"))
    )


def used(path: Path, answers: int) -> dc.Ledger:
    ledger = dc.Ledger.create(path, dataset="visits", unit="person", epsilon=10)
    for k in range(answers):
        ledger.answer(f"q{k}", {"k": k}, Cost(Fraction(1, 100)), lambda k=k: b"%d" % k)
    return ledger


@pytest.mark.parametrize("answers", [0, 1, 20, 21, 45])
def test_everything_goes_along_and_the_old_one_is_closed(tmp_path: Path, to: str, answers: int) -> None:
    """With 20 and 21 answers the events about a checkpoint are moved and written."""
    old = used(tmp_path / "old.ledger", answers)
    heads = [event.hash for event in old.events()]
    new = old.copy_to(to)
    assert new.terms == old.terms and new.spent() == old.spent() and new.verify(heads).holds
    assert all(new.recorded(f"q{k}") == old.recorded(f"q{k}") for k in range(answers))
    new.answer("later", {}, Cost(Fraction(1, 100)), lambda: b"later")
    assert dc.Ledger.open(to).verify().holds and new.events()[len(heads)].kind == "copied"
    with refused(InvalidInput, token="closed"):
        old.reserve("later", {}, Cost(Fraction(1, 100)))
    assert old.verify().holds  # closed, and whole
    for k in range(answers):
        assert old.answer(f"q{k}", {}, Cost(Fraction(1, 100)), lambda: b"never drawn").answer == b"%d" % k


def test_what_is_under_way_is_spent_in_the_copy_and_not_recorded_in_the_closed_one(tmp_path: Path, to: str) -> None:
    old = used(tmp_path / "old.ledger", 1)
    paid = old.reserve("slow", {}, Cost(Fraction(1)))
    old.mark_opened(paid)
    new = old.copy_to(to)
    with refused(InvalidInput, token="closed"):
        old.commit(paid, b"too late")
    assert new.spent().epsilon == Fraction(101, 100)
    assert [one.number for one in new.orphans()] == [paid.number]


def test_a_ledger_goes_to_one_place_only_and_never_over_another(tmp_path: Path, to: str) -> None:
    old = used(tmp_path / "old.ledger", 2)
    other = used(tmp_path / "other.ledger", 1)
    with refused(InvalidInput, token="exists"):
        old.copy_to(tmp_path / "other.ledger")
    assert old.left() and other.verify().holds
    new = old.copy_to(to)
    assert old.copy_to(to).spent() == new.spent()  # once more is nothing more
    with refused(InvalidInput, token="copied"):
        old.copy_to(tmp_path / "third.ledger")
    assert not (tmp_path / "third.ledger").exists()


#: Copies, and is killed after the old ledger was closed, or while the new one is filled.
KILLED = """
import os, signal, sys
import discreet as dc
from discreet.ledger import copy
from discreet.ledger.stores.base import StoreSession
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[3] == "closed":
    copy.create_store = die
else:
    StoreSession.keep = die
dc.Ledger.open(sys.argv[1]).copy_to(sys.argv[2])
"""


@pytest.mark.parametrize("when", ["closed", "filling"])
def test_killed_on_the_way_neither_can_be_spent_and_the_same_line_goes_on(tmp_path: Path, to: str, when: str) -> None:
    old = used(tmp_path / "old.ledger", 3)
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "old.ledger"), to, when])
    assert done.returncode == -signal.SIGKILL
    with refused(InvalidInput, token="closed"):
        old.reserve("q", {}, Cost(Fraction(1)))
    if os.path.exists(to):  # an empty file is left, which is no ledger
        with refused(UnreadableFile, token="empty"):
            dc.Ledger.open(to)
        os.unlink(to)
    assert not open_store(to).exists()
    assert old.copy_to(to).spent() == old.spent()


def test_a_damaged_ledger_is_not_closed(tmp_path: Path, to: str) -> None:
    old = used(tmp_path / "old.ledger", 2)
    with sqlite3.connect(tmp_path / "old.ledger") as base:
        base.execute("DROP TRIGGER no_delete_of_contents")
        base.execute("DELETE FROM contents")
        base.execute(
            "CREATE TRIGGER no_delete_of_contents BEFORE DELETE ON contents "
            "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
        )
    with refused(UnreadableFile, token="event 2"):
        old.copy_to(to)
    assert all(event.kind != "closed" for event in old.events()) and not open_store(to).exists()


def test_the_command_line_moves_a_ledger_and_says_where_it_went(tmp_path: Path, to: str) -> None:
    used(tmp_path / "old.ledger", 1)
    out = run("ledger", "copy", tmp_path / "old.ledger", to).stdout
    assert "closed" in out and "9.99" in out
    refused = run("ledger", "release", tmp_path / "old.ledger", 2, "--because", "x", code=2).stderr
    assert "is closed" in refused
    run("ledger", "verify", to)
    with pytest.raises(BudgetExceeded):
        dc.Ledger.open(to).reserve("too much", {}, Cost(Fraction(10)))
