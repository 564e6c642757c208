"""What a ledger finds when somebody altered it, and the chain it finds it by."""

from __future__ import annotations

import json
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UnreadableFile, WrongType
from discreet.ledger.budget import (
    exact_text,
)
from discreet.ledger.chain import (
    NO_EVENT,
    Event,
    EventRow,
    canonical_json,
    digest_of,
    next_event,
    read_chain,
)
from discreet.ledger.ledger import Ledger
from support.ledgers import make, pay, rebuilt, tamper
from support.refusals import refused

# ------------------------------------------------------------------------------------------------ alterations


ALTERATIONS = {
    "an edited budget": 'UPDATE events SET body = replace(body, \'"epsilon":"3"\', \'"epsilon":"9"\') WHERE number = 1',
    "an edited cost": "UPDATE events SET body = replace(body, '\"1/3\"', '\"1/9\"') WHERE number = 2",
    "an edited hash": "UPDATE events SET hash = 'x' || hash WHERE number = 3",
    "an edited last event": "UPDATE events SET body = replace(body, 'Z', '') WHERE number = 6",
    "a removed orphan": "DELETE FROM events WHERE number = 4",
    "a removed beginning": "DELETE FROM events WHERE number = 1",
    "everything removed": "DELETE FROM events",
    "another number": "UPDATE events SET number = 60 WHERE number = 6",
    "another answer": "UPDATE contents SET packed = x'789c03000000000001' WHERE size = 5",
    "a removed answer": "DELETE FROM contents WHERE size = 4",
    "another size": "UPDATE contents SET size = 1",
    "another key": "UPDATE secret SET key = zeroblob(32)",
    "no key": "DELETE FROM secret",
    "text that is no JSON": "UPDATE events SET body = 'null' WHERE number = 3",
    "a blob for a text": "UPDATE events SET body = x'ff00' WHERE number = 3",
}


@pytest.mark.parametrize("what", ALTERATIONS)
def test_an_alteration_is_found_and_nothing_more_is_spent(used: Ledger, what: str) -> None:
    assert used.verify().holds
    before = Path(used.name).read_bytes()
    tamper(used, ALTERATIONS[what])
    assert Path(used.name).read_bytes() != before
    report = used.verify()
    assert not report.holds and "DOES NOT HOLD" in str(report)
    if "answer" in what or "size" in what:
        assert used.spent().epsilon > 0  # the account is intact, an answer is not
        with refused(UnreadableFile, token="of event ... missing"):
            used.recorded("a"), used.recorded("b")
    else:
        for use in (used.spent, lambda: pay(used, "new", "0.1"), lambda: Ledger.open(used.name)):
            with refused(UnreadableFile, token="was altered ... discreet ledger verify"):
                use()


def test_two_events_that_changed_places_are_found(used: Ledger) -> None:
    swap = [f"UPDATE events SET number = {new} WHERE number = {old}" for old, new in ((2, 99), (4, 2), (99, 4))]
    tamper(used, *swap)
    (problem,) = used.verify().problems
    assert "event 2" in problem


def test_missing_guards_are_found(used: Ledger) -> None:
    tamper(used, guards=False)
    assert "triggers" in used.verify().problems[0]
    with refused(UnreadableFile, token="triggers"):
        pay(used, "c")


def test_an_added_trigger_is_found(used: Ledger) -> None:
    tamper(used, "CREATE TRIGGER sly AFTER INSERT ON events BEGIN DELETE FROM contents; END")
    with refused(UnreadableFile, token="triggers"):
        pay(used, "c")


@pytest.mark.parametrize("table", ["events", "contents", "secret", "answers"])
@pytest.mark.parametrize("statement", ["DELETE FROM {}", "UPDATE {0} SET rowid = rowid + 1"])
def test_the_file_itself_refuses_changes(used: Ledger, table: str, statement: str) -> None:
    connection = sqlite3.connect(used.name)
    with pytest.raises(sqlite3.IntegrityError, match="only added to"):
        connection.execute(statement.format(table))
    connection.close()
    assert used.verify().holds


def test_an_old_copy_put_back_is_found_by_a_bundle_only(tmp_path: Path, ledger: Ledger) -> None:
    first = ledger.commit(pay(ledger, "a"), b"one")
    shutil.copy(ledger.name, tmp_path / "backup")
    second = ledger.commit(pay(ledger, "b"), b"two")
    assert ledger.verify([first.head, second.head]).holds
    shutil.copy(tmp_path / "backup", ledger.name)
    assert ledger.verify().holds and ledger.verify([first.head]).holds
    assert ledger.contains(first.head) and not ledger.contains(second.head)
    report = ledger.verify([first.head, second.head])
    assert not report.holds and "an older copy was restored" in report.problems[0]


def test_a_removed_end_is_found_by_a_bundle_only(used: Ledger) -> None:
    last = used.recorded("b")
    assert last is not None
    tamper(used, "DELETE FROM events WHERE number > 4")
    assert "list of recorded answers" in used.verify().problems[0]
    tamper(used, "DELETE FROM answers WHERE number > 4")  # by somebody who knows of the list
    assert used.verify().holds and not used.verify([last.head]).holds


def test_a_ledger_that_was_replaced_is_noticed_by_who_has_it_open(tmp_path: Path, ledger: Ledger) -> None:
    other = Ledger.create(tmp_path / "other", dataset="visits", unit="person", epsilon=300)
    shutil.copy(other.name, ledger.name)
    with refused(UnreadableFile, token="replaced"):
        pay(ledger, "q")


def test_a_forged_chain_is_known_by_a_bundle_only(used: Ledger) -> None:
    head = used.recorded("a").head  # type: ignore[union-attr]

    def change(number: int, kind: str, content: dict[str, object]) -> None:
        if kind == "init":
            content["epsilon"] = "9"

    rebuilt(used, change)
    assert used.verify().holds and not used.verify([head]).holds


@pytest.mark.parametrize(
    ("number", "changes", "says"),
    [
        (2, {"cost": {"epsilon": "3", "delta": "0", "rho": None}}, "costs more than was left"),
        (2, {"cost": {"epsilon": "-3", "delta": "0", "rho": None}}, "none is negative"),
        (2, {"cost": {"epsilon": "1/0", "delta": "0", "rho": None}}, "denominator"),
        (2, {"cost": {"epsilon": "1e9", "delta": "0", "rho": None}}, "numbers as text"),
        (2, {"cost": "free"}, "lacks"),
        (4, {"reservation": 7}, "event 4 is not valid: it is a commit without a reservation"),
        (4, {"reservation": 3}, "it is a commit without a reservation"),
        (9, {"reservation": 2}, "not the one answer"),
        (9, {"reservation": 2, "key": "a"}, "not the one answer"),
        (9, {"reservation": [2]}, "lacks"),
        (3, {"reservation": 4}, "event 4 is not a reservation"),
        (6, {"reservation": 2}, "reservation 2 was opened"),
        (3, {"reservation": [2]}, "is not a reservation"),
        (1, {"version": 1}, "a ledger of version 1 has no 'opened' event"),
        (1, {"version": 6}, "reads 1 to 5"),
        (1, {"version": "2"}, "reads 1 to 5"),
        (2, {"provenance": {"user": 7}}, "not printable text"),
        (2, {"provenance": {"user": "a\x1b"}}, "not printable text"),
        (2, {"provenance": {"password": "x"}}, "another form"),
        (2, {"provenance": "ann"}, "another form"),
        (1, {"filter": "free"}, "sum, zcdp, either"),
        (1, {"rho": "100"}, "if and only if"),
        (1, {"filter": "zcdp", "delta": "1/10", "rho": "100", "order": "2"}, "does not follow"),
        (1, {"filter": "zcdp", "delta": "1/10", "rho": "1/100", "order": "1"}, "does not follow"),
    ],
    ids=str,
)
def test_a_forged_chain_must_still_add_up(used: Ledger, number: int, changes: dict[str, object], says: str) -> None:
    def change(place: int, kind: str, content: dict[str, object]) -> None:
        if place == number:
            content.update(changes)

    rebuilt(used, change)
    assert any(re.search(says, problem) for problem in used.verify().problems), used.verify().problems


@pytest.mark.parametrize("content", [b"[]", b"{", b"\xff", b"[" * 100_000], ids=["list", "cut", "bytes", "deep"])
def test_a_forged_request_is_refused(used: Ledger, content: bytes) -> None:
    with used._store.writing() as session:
        digest = session.keep(content)

    def change(place: int, kind: str, said: dict[str, object]) -> None:
        if place == 2:
            said["request"] = digest

    rebuilt(used, change)
    for use in (lambda: used.recorded("a"), used.entries):
        with refused(UnreadableFile, token="event 2"):
            use()


def test_a_forged_rho_budget_is_found(tmp_path: Path) -> None:
    ledger = make(tmp_path, delta="1e-6", filter="zcdp")

    def change(place: int, kind: str, content: dict[str, object]) -> None:
        content["rho"] = exact_text(ledger.terms.rho * Fraction(101, 100))  # type: ignore[operator]

    rebuilt(ledger, change)
    assert "does not follow" in ledger.verify().problems[0]


def test_a_damaged_byte_is_found_or_changes_nothing(used: Ledger) -> None:
    """No damage makes the ledger forget what was spent, or fail with anything but a message."""
    path, chance = Path(used.name), random.Random(7)
    content, spent, answer = path.read_bytes(), used.spent(), used.recorded("a")
    found = 0
    for _ in range(300):
        place = chance.randrange(len(content))
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :])
        found += not used.verify().holds
        try:
            assert used.spent() == spent
            assert used.recorded("a") == answer
        except UnreadableFile:
            assert not used.verify().holds
    assert found > 5  # most of so small a file is unused


FULL = """
import resource, sys
from discreet.errors import UnreadableFile
from discreet.ledger.ledger import Ledger
ledger = Ledger.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    ledger.commit(ledger.orphans()[0], __import__("os").urandom(1_000_000))
except UnreadableFile as problem:
    print(problem)
"""


def test_a_full_disk_stops_a_commit_and_breaks_nothing(used: Ledger) -> None:
    before = used.events()
    done = subprocess.run([sys.executable, "-c", FULL, used.name], capture_output=True, text=True, check=True)
    assert "cannot be" in done.stdout and "disk" in done.stdout
    assert used.events() == before and used.verify().holds
    assert used.commit(used.orphans()[0], b"later").answer == b"later"


# ------------------------------------------------------------------------------------------------ the chain


def test_the_chain_is_the_documented_one(used: Ledger) -> None:
    """SHA-256 of canonical JSON that names the hash before it, checked here without any code of ours."""
    import hashlib

    connection = sqlite3.connect(used.name)
    previous = NO_EVENT
    for number, body, claimed in connection.execute("SELECT number, body, hash FROM events ORDER BY number"):
        said = json.loads(body, parse_float=lambda text: pytest.fail(f"a float: {text}"))
        assert json.dumps(said, sort_keys=True, separators=(",", ":")) == body
        assert (said["number"], said["previous"]) == (number, previous)
        assert hashlib.sha256(body.encode()).hexdigest() == claimed
        previous = claimed
    connection.close()
    assert previous == used.events()[-1].hash != NO_EVENT  # the loop reached the last event


names = st.text(max_size=8)
contents = st.dictionaries(
    names, st.recursive(st.none() | st.booleans() | st.integers() | names, lambda inner: st.lists(inner), max_leaves=5)
)


@given(st.lists(contents, min_size=1, max_size=6), st.data())
def test_any_single_change_breaks_a_chain(said: list[dict[str, object]], data: st.DataObject) -> None:
    events: list[Event] = []
    for content in said:
        events.append(next_event(events, "reserve", "2026-01-01T00:00:00Z", content))
    rows = [event.row for event in events]
    assert read_chain(rows) == (events, [])
    k = data.draw(st.integers(0, len(rows) - 1))
    place = data.draw(st.integers(0, len(rows[k].body) - 1))
    other = data.draw(st.characters(min_codepoint=32, max_codepoint=126).filter(lambda c: c != rows[k].body[place]))
    body = rows[k].body[:place] + other + rows[k].body[place + 1 :]
    for changed in (
        EventRow(rows[k].number, body, rows[k].hash),
        EventRow(rows[k].number, body, digest_of(body.encode())),
    ):
        found, problems = read_chain([*rows[:k], changed, *rows[k + 1 :]])
        if k < len(rows) - 1 or changed.hash == rows[k].hash:
            assert problems and len(found) <= k + 1
    if k < len(rows) - 1:
        assert read_chain([*rows[:k], *rows[k + 1 :]])[1]
        assert read_chain([*rows[:k], rows[k + 1], rows[k], *rows[k + 2 :]])[1]


def test_canonical_json_is_one_spelling() -> None:
    assert canonical_json({"b": 1, "a": [True, "é"]}) == canonical_json({"a": (True, "é"), "b": 1})
    with refused(WrongType, "content"):
        canonical_json({"a": [1.0]})
