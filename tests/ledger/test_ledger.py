"""The ledger: what it binds, remembers and refuses, and several users at once."""

from __future__ import annotations

import os
import pickle
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.databases.failures import StoreUnavailable
from discreet.errors import BudgetExceeded, InvalidInput, WrongType
from discreet.ledger.budget import (
    Cost,
)
from discreet.ledger.ledger import Ledger, RecordedAnswer, Reservation
from discreet.ledger.stores import sqlite as ledger_store
from support.ledgers import make, pay
from support.refusals import Parts, refused

MILLIONTH = Fraction(1, 10**6)


# ------------------------------------------------------------------------------------------------ what it remembers


def test_a_new_ledger_has_its_whole_budget(ledger: Ledger) -> None:
    assert ledger.spent() == Cost(Fraction(0), Fraction(0), Fraction(0))
    assert ledger.left() == Cost(Fraction(3))
    terms = ledger.terms
    assert (terms.dataset, terms.unit, terms.relation, terms.filter) == ("visits", "person", "add-remove", "sum")
    assert len(terms.key) == 32 and re.fullmatch("[0-9a-f]{32}", terms.ledger)


def test_what_was_committed_is_returned_to_the_same_question(used: Ledger) -> None:
    again = Ledger.open(used.name)
    answer = again.recorded("a")
    assert answer is not None
    assert (answer.answer, answer.request, answer.cost) == (b"seven", {"question": "SELECT a"}, Cost(Fraction(1, 3)))
    assert again.contains(answer.head) and again.events()[answer.number - 1].hash == answer.head
    assert again.recorded("orphan") is None and again.recorded("never asked") is None
    assert answer.time.endswith("Z")


def test_reserving_an_answered_question_spends_nothing(used: Ledger) -> None:
    before = used.spent()
    known = used.reserve("a", {}, Cost(Fraction(1)))
    assert isinstance(known, RecordedAnswer) and known.answer == b"seven"
    assert used.spent() == before


def test_the_first_answer_is_the_only_one(ledger: Ledger) -> None:
    """Two processes ask the same at once: both have paid, and both publish what was committed first."""
    first, second = pay(ledger, "q"), pay(ledger, "q")
    kept = ledger.commit(second, b"second")
    assert ledger.commit(first, b"first") == kept and kept.answer == b"second"
    assert ledger.commit(second, b"third") == kept
    assert [event.kind for event in ledger.events()] == ["init", *["reserve", "opened"] * 2, "commit"]
    assert ledger.spent().epsilon == 2 and ledger.orphans() == (first,)


def test_answer_pays_before_it_draws_and_draws_once(ledger: Ledger) -> None:
    seen = []

    def draw() -> bytes:
        seen.append(ledger.spent().epsilon)
        return b"noise"

    kept = ledger.answer("q", {}, Cost(Fraction(2)), draw)
    assert ledger.answer("q", {}, Cost(Fraction(2)), draw) == kept
    assert seen == [Fraction(2)]
    with pytest.raises(BudgetExceeded):
        ledger.answer("r", {}, Cost(Fraction(2)), draw)
    assert seen == [Fraction(2)]


def test_an_orphan_stays_spent_and_is_shown(used: Ledger) -> None:
    assert used.spent().epsilon == Fraction(1, 3) + Fraction(1, 2) + 1
    assert [orphan.key for orphan in used.orphans()] == ["orphan"]
    report = used.verify()
    assert report.holds and [orphan.key for orphan in report.orphans] == ["orphan"]
    assert "1 spent and not answered" in str(report)
    assert [(entry.reservation.key, entry.committed is not None) for entry in used.entries()] == [
        ("a", True),
        ("orphan", False),
        ("b", True),
    ]


def test_an_orphan_can_still_be_committed(used: Ledger) -> None:
    """A slow process, not a dead one. Its reservation survives being sent to another process."""
    (orphan,) = used.orphans()
    assert used.commit(pickle.loads(pickle.dumps(orphan)), b"late").answer == b"late"
    assert used.orphans() == ()


def test_answers_of_every_size_come_back(ledger: Ledger) -> None:
    for k, answer in enumerate([b"", b"\0" * 100, os.urandom(3_000_000)]):
        assert ledger.commit(pay(ledger, f"q{k}", MILLIONTH), answer).answer == answer
    assert ledger.verify().holds


def test_requests_come_back_as_they_were(ledger: Ledger) -> None:
    request = {
        "name": "Ärzte 'or' \"\u2028😀",
        "deep": [[1, None, True, {"x": []}]],
        "big": 10**400,
        "f": 0.1,
    }
    paid = ledger.reserve("q", request, Cost(Fraction(1)))
    assert isinstance(paid, Reservation)
    ledger.mark_opened(paid)
    ledger.commit(paid, b"")
    assert ledger.recorded("q").request == request  # type: ignore[union-attr]


# ------------------------------------------------------------------------------------------------ what it refuses


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        ({"epsilon": 0}, Parts(argument="epsilon", token="above 0")),
        ({"epsilon": -1}, Parts(argument="epsilon", token="above 0")),
        ({"epsilon": 10**9}, Parts(argument="epsilon", given="1000000000")),
        ({"epsilon": float("nan")}, Parts(argument="epsilon", token="finite")),
        ({"epsilon": "lots"}, Parts(argument="epsilon", given="lots")),
        ({"delta": 1}, Parts(argument="delta", given="1")),
        ({"delta": -1}, Parts(argument="delta", given="-1")),
        ({"relation": "swap"}, Parts(argument="relation", given="swap")),
        ({"filter": "moments"}, Parts(argument="filter", given="moments")),
        ({"filter": "zcdp"}, Parts(argument="delta", token="delta above")),
        ({"dataset": ""}, Parts(argument="dataset", token="printable")),
        ({"dataset": "a\x1b[2Jb"}, Parts(argument="dataset", token="printable")),
        (
            {"unit": "x" * 201},
            Parts(argument="unit", given="'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
        ),
    ],
    ids=str,
)
def test_terms_that_make_no_sense_are_refused_before_a_file_is_made(
    tmp_path: Path, terms: dict[str, object], says: Parts
) -> None:
    with refused(InvalidInput, **says):
        make(tmp_path, **terms)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_never_overwritten(used: Ledger) -> None:
    before = Path(used.name).read_bytes()
    with refused(InvalidInput, token="exists"):
        make(Path(used.name).parent)
    assert Path(used.name).read_bytes() == before


def test_a_question_about_something_else_is_refused_naming_both(ledger: Ledger) -> None:
    ledger.check_terms("visits", "person", "add-remove")
    for terms in [
        ("other", "person", "add-remove"),
        ("visits", "row", "add-remove"),
        ("visits", "person", "substitution"),
    ]:
        with pytest.raises(InvalidInput) as problem:
            ledger.check_terms(*terms)
        (given_,) = set(terms) - {"visits", "person", "add-remove"}
        (bound,) = {"visits", "person", "add-remove"} - set(terms)
        assert repr(given_) in str(problem.value) and repr(bound) in str(problem.value)


@pytest.mark.parametrize(
    "cost",
    [lambda: Cost(Fraction(-1)), lambda: Cost(Fraction(1), Fraction(-1)), lambda: Cost(Fraction(1), rho=Fraction(-1))],
)
def test_a_negative_cost_is_refused(cost: Callable[[], Cost]) -> None:
    with refused(InvalidInput, token="negative"):
        cost()


def test_costs_that_cannot_be_are_refused(ledger: Ledger) -> None:
    with refused(InvalidInput, "delta"):
        pay(ledger, "a", 1, delta=Fraction(1))
    with refused(InvalidInput, token="rho = 0"):
        pay(ledger, "a", 1, rho=Fraction(0))
    pay(ledger, "noise that ignores the data", 0)


@pytest.mark.parametrize("request_", [{"x": float("nan")}, {1: "x"}, {"x": {1, 2}}, {"x": b"bytes"}], ids=str)
def test_a_request_that_is_not_json_is_refused(ledger: Ledger, request_: dict[str, object]) -> None:
    with pytest.raises(WrongType):
        ledger.reserve("q", request_, Cost(Fraction(1)))
    assert ledger.spent().epsilon == 0


def test_an_endless_request_is_refused(ledger: Ledger) -> None:
    request: dict[str, object] = {}
    request["again"] = request
    with refused(InvalidInput, "content"):
        ledger.reserve("q", request, Cost(Fraction(1)))


def test_only_bytes_are_answers(ledger: Ledger) -> None:
    with refused(WrongType, "answer", given="str"):
        ledger.commit(pay(ledger, "q"), "text")  # type: ignore[arg-type]


def test_a_reservation_of_another_ledger_is_refused(tmp_path: Path, ledger: Ledger) -> None:
    other = Ledger.create(tmp_path / "other", dataset="visits", unit="person", epsilon=3)
    pay(other, "q")
    with refused(InvalidInput, token="not a reservation"):
        other.commit(pay(ledger, "q"), b"")


# ------------------------------------------------------------------------------------------------ several at once


def test_threads_of_one_process_cannot_overspend(ledger: Ledger) -> None:
    gate = threading.Barrier(6)

    def spend(k: int) -> bool:
        gate.wait()
        try:
            pay(ledger, str(k), 1)
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(6) as threads:
        assert sum(threads.map(spend, range(6))) == 3
    assert ledger.verify().holds and ledger.left().epsilon == 0


def test_of_many_who_make_the_same_ledger_one_succeeds(tmp_path: Path) -> None:
    gate = threading.Barrier(8)

    def create(k: int) -> str | None:
        gate.wait()
        try:
            return Ledger.create(tmp_path / "x", dataset=f"d{k}", unit="row", epsilon=1).terms.dataset
        except InvalidInput:
            return None

    with ThreadPoolExecutor(8) as threads:
        made = [name for name in threads.map(create, range(8)) if name is not None]
    assert [Ledger.open(tmp_path / "x").terms.dataset] == made


def test_a_forked_child_may_use_its_parents_ledger(used: Ledger) -> None:
    """In an interpreter of its own, whose only thread forks."""
    script = (
        "import os, sys; from fractions import Fraction; from discreet.ledger.ledger import Cost, Ledger\n"
        "ledger = Ledger.open(sys.argv[1])\n"
        "if os.fork() == 0:\n"
        "    ledger.reserve('child', {}, Cost(Fraction(1, 10))); os._exit(0)\n"
        "ledger.reserve('parent', {}, Cost(Fraction(1, 10))); assert os.wait()[1] == 0\n"
        "assert {'child', 'parent'} <= {o.key for o in ledger.orphans()} and ledger.verify().holds"
    )
    subprocess.run([sys.executable, "-c", script, used.name], check=True)


def test_a_writer_that_takes_too_long_is_reported(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_store, "LOCK_SECONDS", 0.05)
    other = sqlite3.connect(ledger.name, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    for use in (lambda: pay(ledger, "q"), ledger.verify):  # being in use is nothing against a ledger
        with refused(StoreUnavailable, token="60 seconds"):
            use()
    other.close()
    pay(ledger, "q")


def test_a_ledger_in_write_ahead_mode_is_brought_back(used: Ledger) -> None:
    """Two writers in that mode can lose data in some versions of SQLite."""
    connection = sqlite3.connect(used.name, isolation_level=None)
    assert connection.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    connection.close()
    pay(used, "c", "0.1")
    connection = sqlite3.connect(used.name)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()
    assert used.verify().holds


def test_a_failed_write_leaves_the_ledger_as_it_was(used: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    before = used.events()
    monkeypatch.setattr(ledger_store.SqliteSession, "append", fail)
    with pytest.raises(KeyboardInterrupt):
        pay(used, "c")
    monkeypatch.undo()
    assert used.events() == before and used.verify().holds
