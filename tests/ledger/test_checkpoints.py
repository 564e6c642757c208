"""Long ledgers: a use adds up what follows a checkpoint, the balance is always right, and ``verify`` reads it all."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, InvalidInput, UnreadableFile
from discreet.ledger import books as bookkeeping
from discreet.ledger.books import STRIDE, Books
from discreet.ledger.budget import Cost, Tally
from discreet.ledger.ledger import Ledger
from discreet.ledger.stores.sqlite import SqliteSession
from discreet.release.bundle.verify import verify_bundle
from support.ledgers import WHEN, fill, forged, hold, make, pay, rebuilt, rewrite, tamper
from support.paths import PUBLISHED
from support.refusals import refused

VERSION_2 = PUBLISHED / "format_2"


@pytest.fixture
def long(tmp_path: Path) -> Ledger:
    """Three hundred answered questions, 915 events, 14 of them checkpoints."""
    ledger = make(tmp_path)
    fill(ledger, 300)
    return ledger


# ------------------------------------------------------------------------------------------------ the same state


def test_every_64th_event_is_a_checkpoint_that_states_the_sum(long: Ledger) -> None:
    events = long.events()
    checkpoints = [event for event in events if event.kind == "checkpoint"]
    assert [event.number for event in checkpoints] == list(range(64, len(events) + 1, 64)) and len(events) == 915
    for event in checkpoints:
        before = [earlier.kind for earlier in events[: event.number]]
        spent = Fraction(before.count("reserve"), 1000)
        assert event.content["spent"] == Tally(spent, without_rho=before.count("reserve")).to_json()
        assert event.content["answered"] == before.count("commit") and event.content["first"] == events[0].hash
    assert checkpoints[12].content["earlier"] == [checkpoints[12 - step].hash for step in (1, 2, 4, 8)]
    assert long.verify().holds and long.spent().epsilon == Fraction(300, 1000)


def do_something(books: Books, session: SqliteSession, chance: random.Random) -> None:
    """One step of a random life: reserve, open, give back or commit something of whatever age."""
    idle = [number for number in books.reserved if number not in books.opened and number not in books.given_back]
    under_way = [number for number in books.opened if number not in books.answers()]
    under_way = [number for number in under_way if books.reserved[number].key not in books.committed]
    step = chance.choice(["reserve", "reserve", "opened", "release", "commit"])
    if step == "opened" and idle:
        books.append(session, "opened", {"reservation": chance.choice(idle)}, WHEN)
    elif step == "release" and idle:
        number = chance.choice(idle)
        cost = books.reserved[number].cost.to_json()
        books.append(session, "release", {"reservation": number, "because": "chance", "cost": cost}, WHEN)
    elif step == "commit" and under_way:
        number = chance.choice(under_way)
        said = {"key": books.reserved[number].key, "reservation": number, "answer": session.keep(b"7")}
        books.append(session, "commit", said, WHEN)
    else:
        rho = chance.choice([None, Fraction(1, chance.randrange(1, 9))])
        cost = Cost(Fraction(1, chance.randrange(50, 60)), Fraction(chance.randrange(2), 10**6), rho).to_json()
        key = f"question {chance.randrange(40)}"
        if key not in books.committed:
            books.append(session, "reserve", {"key": key, "request": session.keep(b"{}"), "cost": cost}, WHEN)


@pytest.mark.parametrize("seed", range(3))
def test_every_part_of_the_chain_adds_up_to_the_same(tmp_path: Path, seed: int, monkeypatch) -> None:
    """From whichever checkpoint one begins: the same sum, the same answers, and the same about later reservations."""
    monkeypatch.setattr(bookkeeping, "STRIDE", 4)
    ledger = make(tmp_path, delta="1/100")
    chance = random.Random(seed)
    with ledger._store.writing() as session:
        books = Books(session)
        for _ in range(100):
            do_something(books, session, chance)  # type: ignore[arg-type]
            whole = Books(session)
            assert (whole.problems, whole.accounts, whole.answered) == ([], books.accounts, books.answered)
            for since in (None, *chance.sample(range(1, len(whole.events) + 1), 3 if len(whole.events) > 3 else 0)):
                part = Books.recent(session, since)
                assert (part.problems, part.accounts, part.answered) == ([], whole.accounts, whole.answered)
                assert part.events == whole.events[part.start - 1 :] and (since is None or part.start < max(since, 2))
                for number in range(part.start, len(whole.events) + 1):
                    assert part.reserved.get(number) == whole.reserved.get(number)
                    assert part.opened.get(number) == whole.opened.get(number)
                    assert part.given_back.get(number) == whole.given_back.get(number)
            for key in {reservation.key for reservation in whole.reserved.values()}:
                assert part.answer_to(session, key) == whole.committed.get(key)
            number = chance.randrange(1, len(whole.events) + 1)
            assert part.event(session, number) == whole.events[number - 1]
    assert ledger.verify().holds and len(whole.events) > 80


def test_each_way_of_writing_meets_checkpoints_anywhere(tmp_path: Path) -> None:
    """One release after the other by the ledger's own methods, through three checkpoints."""
    ledger = make(tmp_path)
    for k in range(70):
        assert ledger.answer(f"q{k}", {}, Cost(Fraction(1, 100)), lambda: b"noisy").fresh
    assert len(ledger.events()) > 3 * STRIDE and ledger.verify().holds
    assert ledger.spent().epsilon == Fraction(70, 100) and not ledger.answer("q3", {}, Cost(1), pytest.fail).fresh


def test_an_old_reservation_can_be_opened_committed_and_given_back(long: Ledger) -> None:
    slow, stopped = hold(long, "slow", "1/4"), hold(long, "stopped", "1/2")
    fill(long, 100, "later")
    long.mark_opened(slow)
    fill(long, 100, "later still")
    assert long.commit(slow, b"at last").answer == b"at last"
    assert long.release(stopped.number, because="power cut") == Cost(Fraction(1, 2))
    for use, after_answer in (
        (long.mark_opened, "was opened"),
        (lambda paid: long.release(paid.number, because="again"), "was answered"),
    ):
        for paid, token in ((slow, after_answer), (stopped, "given back")):
            with refused(InvalidInput, token=token):
                use(paid)
    assert long.spent().epsilon == Fraction(500, 1000) + Fraction(1, 4) and long.verify().holds


def test_the_budget_is_spent_to_its_end_and_not_beyond(tmp_path: Path) -> None:
    ledger = make(tmp_path, epsilon="1/5")
    fill(ledger, 199)
    pay(ledger, "the last", "1/1000")
    with pytest.raises(BudgetExceeded):
        pay(ledger, "one more", "1/1000000")


# ------------------------------------------------------------------------------------------------ only the tail


@pytest.mark.parametrize("entries", [300, 3000])
def test_a_use_reads_a_few_events_however_many_there_are(tmp_path: Path, entries: int, monkeypatch) -> None:
    ledger = make(tmp_path, epsilon=10)
    fill(ledger, entries)
    read: list[int] = []
    rows = SqliteSession.rows

    def counted(session: SqliteSession, first: int = 1, last: int | None = None) -> list[object]:
        found = rows(session, first, last)
        read.append(len(found))
        return found  # type: ignore[return-value]

    monkeypatch.setattr(SqliteSession, "rows", counted)

    def events_read(use: Callable[[], object]) -> int:
        read.clear()
        use()
        return sum(read)

    assert events_read(lambda: Ledger.open(ledger.name)) <= STRIDE + 3
    assert events_read(ledger.left) <= STRIDE + 3
    assert events_read(lambda: ledger.recorded("filling 17")) <= 3 * STRIDE + 30
    assert events_read(lambda: ledger.recorded("never asked")) <= STRIDE + 3
    assert events_read(lambda: ledger.answer("new", {}, Cost(Fraction(1, 1000)), lambda: b"")) <= 6 * (2 * STRIDE + 3)
    assert events_read(ledger.verify) > 3 * entries  # and this one reads them all


# ------------------------------------------------------------------------------------------------ altered old entries

#: Alterations of entries before the last checkpoint that keep the head.
UNNOTICED = {
    "a lower cost": lambda ledger: rewrite(ledger, forged(ledger, 65, cost=Cost(Fraction(0)).to_json())),
    "a higher cost": lambda ledger: rewrite(ledger, forged(ledger, 65, cost=Cost(Fraction(9)).to_json())),
    "a cost edited without its hash": lambda ledger: tamper(
        ledger, "UPDATE events SET body = replace(body, '1/1000', '1/9999') WHERE number < 800"
    ),
    "removed reservations": lambda ledger: tamper(ledger, "DELETE FROM events WHERE number BETWEEN 65 AND 100"),
    "an older checkpoint": lambda ledger: rewrite(ledger, forged(ledger, 128, spent=Tally().to_json())),
    "a question listed under another key": lambda ledger: tamper(
        ledger, "UPDATE answers SET key = 'x' WHERE key = 'filling 30'"
    ),
}


@pytest.mark.parametrize("what", UNNOTICED)
def test_an_altered_old_entry_changes_no_balance_and_is_found_by_verify(long: Ledger, what: str) -> None:
    """What a release no longer notices; KNOWN_LIMITS.md says so."""
    spent, left = long.spent(), long.left()
    UNNOTICED[what](long)
    again = Ledger.open(long.name)
    assert (again.spent(), again.left()) == (spent, left)
    pay(again, "all that is left", left.epsilon)
    with pytest.raises(BudgetExceeded):
        pay(again, "one more", "1/1000000")
    assert not again.verify().holds
    if what != "a question listed under another key":
        with refused(UnreadableFile, token="altered"):
            again.entries()  # ledger show reads them all too


#: Alterations that could change a balance, or an answer.
NOTICED: dict[str, Callable[[Ledger], None]] = {
    "a larger budget": lambda ledger: rewrite(ledger, forged(ledger, 1, epsilon="9")),
    "a budget edited without its hash": lambda ledger: tamper(
        ledger, 'UPDATE events SET body = replace(body, \'"epsilon":"3"\', \'"epsilon":"9"\') WHERE number = 1'
    ),
    "an older version": lambda ledger: rewrite(ledger, forged(ledger, 1, version=2)),
    "no first event": lambda ledger: tamper(ledger, "DELETE FROM events WHERE number = 1"),
    "another key": lambda ledger: tamper(ledger, "UPDATE secret SET key = zeroblob(32)"),
    "a last checkpoint that forgets": lambda ledger: rewrite(ledger, forged(ledger, 896, spent=Tally().to_json())),
    "no last checkpoint": lambda ledger: tamper(ledger, "DELETE FROM events WHERE number = 896"),
    "an altered end": lambda ledger: tamper(
        ledger, "UPDATE events SET body = replace(body, 'Z', '') WHERE number > 914"
    ),
    "a removed answer in the list": lambda ledger: tamper(ledger, "DELETE FROM answers WHERE number = 4"),
    "an added answer in the list": lambda ledger: tamper(ledger, "INSERT INTO answers VALUES ('x', 9999)"),
}


@pytest.mark.parametrize("what", NOTICED)
def test_what_could_change_the_balance_is_noticed_before_anything_is_spent(long: Ledger, what: str) -> None:
    NOTICED[what](long)
    with refused(UnreadableFile, token="altered"):
        pay(Ledger.open(long.name), "new", "1/1000")
    assert not long.verify().holds


def test_a_checkpoint_that_is_the_head_is_checked_against_the_one_before(tmp_path: Path) -> None:
    ledger = make(tmp_path)
    fill(ledger, 41)
    hold(ledger, "a", "1/2")
    hold(ledger, "b", "1/2")
    assert ledger.events()[-1].number == 128 and ledger.events()[-1].kind == "checkpoint"
    rewrite(ledger, forged(ledger, 128, spent=Tally().to_json()))
    with refused(UnreadableFile, token="another sum"):
        ledger.left()


def test_a_given_back_reservation_never_opens_whatever_was_altered(long: Ledger) -> None:
    """What would spend without paying: the chain is read from before the reservation on."""
    stopped = hold(long, "stopped", "1/2")
    long.release(stopped.number, because="power cut")
    fill(long, 100, "later")
    gone = long.events()[stopped.number]
    assert gone.kind == "release"
    other = dict(gone.content, reservation=2)
    for alter in (
        lambda: rewrite(long, forged(long, gone.number, **other)),
        lambda: tamper(long, f"DELETE FROM events WHERE number = {gone.number}"),
    ):
        alter()
        with refused(UnreadableFile, token="altered"):
            long.mark_opened(stopped)


def test_no_more_is_given_back_than_was_reserved_whatever_was_altered(long: Ledger) -> None:
    stopped = hold(long, "stopped", "1/2")
    fill(long, 100, "later")
    rewrite(long, forged(long, stopped.number, cost=Cost(Fraction(5, 2)).to_json()))
    with refused(UnreadableFile, token="altered"):
        long.release(stopped.number, because="power cut")
    assert long.spent().epsilon == Fraction(400, 1000) + Fraction(1, 2)


@pytest.mark.parametrize("alter", ["answer", "reservation", "both", "list"])
def test_an_altered_old_answer_is_never_given_out(long: Ledger, alter: str) -> None:
    """An answer of before the last checkpoint is proven to stand before the head, with what was asked."""
    number = long.recorded("filling 30").number  # type: ignore[union-attr]
    with long._store.writing() as session:
        other = session.keep(b"another")
    if alter == "answer":
        rewrite(long, forged(long, number, answer=other))
    elif alter == "reservation":
        rewrite(long, forged(long, number - 2, request=other))
    elif alter == "both":  # and every event from there to the next checkpoint, with its hash
        events = long.events()
        chain = events[: number - 1]
        for event in events[number - 1 : -(-number // STRIDE) * STRIDE]:
            said = {**event.content, "answer": other} if event.number == number else event.content
            chain.append(bookkeeping.next_event(chain, event.kind, event.time, said))
        rewrite(long, *chain[number - 1 :])
    else:
        tamper(long, f"UPDATE answers SET number = {number}000 WHERE number = {number}")
    with refused(UnreadableFile, token="altered"):
        long.recorded("filling 30")
    with refused(UnreadableFile, token="altered"):
        long.answer("filling 30", {}, Cost(Fraction(1, 1000)), pytest.fail)
    assert not long.verify().holds


@pytest.mark.parametrize(
    ("number", "changes", "says"),
    [
        (64, {"spent": Tally().to_json()}, "states another sum"),
        (128, {"answered": 0}, "states another sum"),
        (128, {"first": "0" * 64}, "states another sum"),
        (128, {"earlier": ["0" * 64]}, "does not name the checkpoints before it"),
        (128, {"earlier": []}, "does not name the checkpoints before it"),
        (128, {"earlier": 7}, "lacks"),
        (128, {"more": 1}, "states another sum"),
    ],
    ids=str,
)
def test_verify_works_out_again_what_a_checkpoint_states(
    long: Ledger, number: int, changes: dict[str, object], says: str
) -> None:
    """Also in a chain that somebody wrote anew with correct hashes."""

    def change(place: int, kind: str, content: dict[str, object]) -> None:
        if place == number:
            content.update(changes)

    rebuilt(long, change)
    assert any(says in problem for problem in long.verify().problems), long.verify().problems


@pytest.mark.parametrize(
    ("number", "changes"),
    [(896, {"earlier": []}), (896, {"earlier": 7}), (384, {"earlier": None}), (95, {"reservation": "x"}),
     (95, {"reservation": 1}), (95, {"reservation": 90}), (95, {"reservation": 10**9}), (95, {"key": "another"})],
    ids=str,
)  # fmt: skip
def test_a_chain_written_anew_that_leads_nowhere_is_refused_in_words(
    long: Ledger, number: int, changes: dict[str, object]
) -> None:
    """Event 95 answers a question that was asked in 93; a release that is asked it again follows the links to both."""
    key = long.events()[94].content["key"]

    def change(place: int, kind: str, content: dict[str, object]) -> None:
        if place == number:
            content.update(changes)

    rebuilt(long, lambda *_: None)
    assert long.verify().holds and long.recorded(key) is not None  # a forger who knows the rule
    rebuilt(long, change)
    with refused(UnreadableFile, token="altered"):
        long.recorded(key)
    assert not long.verify().holds


# ------------------------------------------------------------------------------------------------ kills

#: Dies when the checkpoint is written, after the event before it in the same transaction.
DIE_AT_CHECKPOINT = """
import os, signal, sys
from fractions import Fraction
from discreet.ledger.ledger import Cost, Ledger
from discreet.ledger.stores.sqlite import SqliteSession
append = SqliteSession.append
def die(session, row):
    append(session, row)
    if row.number == 64:
        os.kill(os.getpid(), signal.SIGKILL)
SqliteSession.append = die
Ledger.open(sys.argv[1]).reserve("q", {}, Cost(Fraction(1)))
"""


def test_an_event_and_its_checkpoint_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    ledger = make(tmp_path)
    fill(ledger, 20)
    hold(ledger, "a", "1/2")
    before = ledger.events()
    assert len(before) == STRIDE - 2  # the next is the last before a checkpoint
    done = subprocess.run([sys.executable, "-c", DIE_AT_CHECKPOINT, ledger.name], capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    assert ledger.events() == before and ledger.verify().holds
    hold(ledger, "q")
    assert [event.kind for event in ledger.events()[62:]] == ["reserve", "checkpoint"] and ledger.verify().holds


# ------------------------------------------------------------------------------------------------ older ledgers


@pytest.fixture
def old(tmp_path: Path) -> Ledger:
    """A ledger of version 2 with 75 events and no checkpoint: answers, one given back, one opened, one reserved."""
    return Ledger.open(shutil.copy(VERSION_2 / "ledger.sqlite", tmp_path / "old.ledger"))


def test_a_ledger_without_checkpoints_still_holds_and_pays(old: Ledger) -> None:
    spent = old.spent().epsilon
    assert old.verify().holds and spent == Fraction(319, 200)
    assert verify_bundle(VERSION_2 / "by_site", ledger=old).holds
    got = old.answer("new", {}, Cost(Fraction(1)), lambda: b"noisy")
    assert got.fresh and old.verify().holds and old.spent().epsilon == spent + 1
    assert old.recorded("question 3").answer == b"3"  # type: ignore[union-attr]
    waiting = old.orphans()[-1]
    old.release(waiting.number, because="power cut")
    assert old.spent().epsilon == spent + 1 - Fraction(1, 8) and old.verify().holds
    kinds = {event.kind for event in old.events()}
    assert kinds == {"init", "reserve", "opened", "commit", "release"}  # what older programs read too


def test_a_ledger_without_checkpoints_is_read_whole_by_every_use(old: Ledger) -> None:
    rewrite(old, forged(old, 2, cost=Cost(Fraction(0)).to_json()))
    with refused(UnreadableFile, token="event 3"):
        pay(old, "new", "1/1000")
