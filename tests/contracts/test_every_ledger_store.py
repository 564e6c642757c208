"""Every kind of store a ledger can be kept in, and every promise that a ledger relies on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import pytest

from discreet.addresses import SCHEMES, Scheme
from discreet.errors import DiscreetError, InvalidInput, UnreadableFile
from discreet.ledger.chain import Event, EventRow, digest_of, next_event
from discreet.ledger.ledger import Cost, Ledger, RecordedAnswer
from discreet.ledger.stores.base import Store, StoreSession
from discreet.ledger.stores.open import STORES, create_store, open_store
from support.refusals import refused
from support.store_places import empty_place

WHEN = "2026-01-01T00:00:00Z"
SECRET = b"a secret of 32 bytes in the test"


@pytest.fixture(params=sorted(STORES))
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store of this kind can be made; nothing is there yet."""
    return empty_place(request.param, tmp_path, "one.ledger", "ledgers")


@pytest.fixture
def chain() -> list[Event]:
    events: list[Event] = []
    for k in range(5):
        events.append(next_event(events, "init" if not k else "reserve", WHEN, {"k": k}))
    return events


@pytest.fixture
def store(address: str, chain: list[Event]) -> Store:
    made = create_store(address, chain[0].row, SECRET)
    with made.writing() as session:
        for event in chain[1:]:
            session.append(event.row)
    return made


def rows(store: Store) -> list[EventRow]:
    with store.reading() as session:
        return session.rows()


# ------------------------------------------------------------------------------------------------ making and finding


def test_its_name_opens_it_again(store: Store, chain: list[Event]) -> None:
    assert rows(open_store(store.name)) == rows(store) and len(rows(store)) == len(chain)


def test_a_store_is_there_once_it_was_made(address: str, chain: list[Event]) -> None:
    assert not open_store(address).exists()
    create_store(address, chain[0].row, SECRET)
    again = open_store(address)
    assert again.exists() and rows(again) == [chain[0].row] and again.damage() == []
    with again.reading() as session:
        assert session.secret() == SECRET
    assert again.name and (again.folder is None or again.folder.is_dir())


def test_a_store_is_never_made_twice(store: Store, address: str, chain: list[Event]) -> None:
    before = rows(store)
    with refused(InvalidInput, token="exists"):
        create_store(address, chain[0].row, b"another")
    assert rows(store) == before


def test_of_many_who_make_the_same_store_one_succeeds(address: str, chain: list[Event]) -> None:
    gate, made = threading.Barrier(6), []

    def make(k: int) -> None:
        gate.wait()
        try:
            create_store(address, chain[0].row, bytes([k]) * 32)
            made.append(bytes([k]) * 32)
        except DiscreetError:
            pass

    threads = [threading.Thread(target=make, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_store(address).reading() as session:
        assert [session.secret()] == made


# ------------------------------------------------------------------------------------------------ events


def test_events_come_back_by_number(store: Store, chain: list[Event]) -> None:
    expected = [event.row for event in chain]
    with store.reading() as session:
        assert session.rows() == expected and session.last_number() == 5
        assert session.rows(3) == expected[2:] and session.rows(1, 1) == expected[:1]
        assert session.rows(2, 4) == expected[1:4] and session.rows(6) == [] and session.rows(4, 2) == []


def test_an_event_of_any_text_and_length_comes_back(store: Store, chain: list[Event]) -> None:
    text = "Ärzte \u2028 'or' \\ \" 😀" + "x" * 1_000_000
    row = next_event(chain, "reserve", WHEN, {"text": text}).row
    with store.writing() as session:
        session.append(row)
    assert rows(store)[-1] == row


@pytest.mark.parametrize("again", ["number", "hash"])
def test_no_event_takes_the_place_of_another(store: Store, chain: list[Event], again: str) -> None:
    last = chain[-1].row
    row = EventRow(5, "{}", digest_of(b"{}")) if again == "number" else EventRow(6, last.body, last.hash)
    before = rows(store)
    with pytest.raises(DiscreetError), store.writing() as session:
        session.append(row)
    assert rows(store) == before


# ------------------------------------------------------------------------------------------------ contents, answers


@pytest.mark.parametrize("content", [b"", b"\0" * 100, os.urandom(100_000)], ids=["none", "zeros", "random"])
def test_contents_come_back_by_their_digest(store: Store, content: bytes) -> None:
    with store.writing() as session:
        digest = session.keep(content)
        assert session.keep(content) == digest == digest_of(content)
    with store.reading() as session:
        assert session.content(digest) == content and session.content("0" * 64) is None


@pytest.mark.parametrize("packed", [b"", b"no such bytes", zlib.compress(b"another")], ids=["none", "foreign", "other"])
def test_a_content_that_is_not_that_of_its_digest_is_none(store: Store, packed: bytes) -> None:
    with store.writing() as session:
        session.put_content(digest_of(b"what was kept"), 13, packed)
        assert session.content(digest_of(b"what was kept")) is None


def test_answers_are_found_by_key_and_listed_once(store: Store) -> None:
    with store.writing() as session:
        session.record_answer("a", 4)
        session.record_answer("ä 'b'", 5)
    with store.reading() as session:
        assert (session.answer_number("a"), session.answer_number("A"), session.answer_number("ä 'b'")) == (4, None, 5)
        assert session.answer_count() == 2 and session.answer_numbers() == {"a": 4, "ä 'b'": 5}
    for key, number in (("a", 6), ("c", 4)):
        with pytest.raises(DiscreetError), store.writing() as session:
            session.record_answer(key, number)
    with store.reading() as session:
        assert session.answer_numbers() == {"a": 4, "ä 'b'": 5}


# ------------------------------------------------------------------------------------------------ transactions


def test_what_fails_on_the_way_leaves_nothing(store: Store, chain: list[Event]) -> None:
    before = rows(store)

    def write_and_fail() -> None:
        with store.writing() as session:
            session.append(next_event(chain, "reserve", WHEN, {}).row)
            session.keep(b"content")
            session.record_answer("a", 6)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and_fail()
    with store.reading() as session:
        assert session.rows() == before and session.content(digest_of(b"content")) is None
        assert session.answer_count() == 0


def test_writers_take_turns_from_their_beginning_on(store: Store, address: str, chain: list[Event]) -> None:
    """Each reads the last number and writes the next: two at once would write the same."""

    def write(times: int) -> None:
        mine = open_store(address)
        for _ in range(times):
            with mine.writing() as session:
                number = session.last_number() + 1
                session.append(EventRow(number, f"{number}", digest_of(b"%d" % number)))

    threads = [threading.Thread(target=write, args=(5,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row.number for row in rows(store)] == list(range(1, 26))


#: Writes an event, and is killed before the transaction ends, or just after it.
KILLED = """
import os, signal, sys
from discreet.ledger.chain import EventRow, digest_of
from discreet.ledger.stores.open import open_store
with open_store(sys.argv[1]).writing() as session:
    session.append(EventRow(6, "6", digest_of(b"6")))
    if sys.argv[2] == "inside":
        os.kill(os.getpid(), signal.SIGKILL)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("when", "kept"), [("inside", 5), ("after", 6)])
def test_what_was_written_stays_and_what_was_not_finished_does_not(
    store: Store, address: str, when: str, kept: int
) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, address, when])
    assert done.returncode == -signal.SIGKILL
    assert len(rows(store)) == kept and store.damage() == []


# ------------------------------------------------------------------------------------------------ a ledger on it


def live(address: str) -> None:
    """A ledger from its making on: reserve, open, commit, give back, look up, beyond the first checkpoint."""
    with refused(UnreadableFile, token="no ledger"):
        Ledger.open(address)
    ledger = Ledger.create(address, dataset="visits", unit="person", epsilon=2)
    stopped = ledger.reserve("stopped", {}, Cost(Fraction(1, 2)))
    for k in range(25):
        assert ledger.answer(f"q{k}", {"k": k}, Cost(Fraction(1, 100)), lambda k=k: b"%d" % k).fresh
    assert not isinstance(stopped, RecordedAnswer)
    ledger.release(stopped.number, because="the program was stopped")
    again = Ledger.open(address)
    assert again.spent().epsilon == Fraction(1, 4) and again.verify().holds
    assert [again.recorded(f"q{k}").answer for k in (0, 12, 24)] == [b"0", b"12", b"24"]  # type: ignore[union-attr]
    assert again.terms == ledger.terms and len(again.events()) > 64


def test_a_ledger_lives_its_life_on_it(address: str) -> None:
    live(address)


def test_an_entry_names_the_role_of_a_database_or_else_the_user(address: str) -> None:
    ledger = Ledger.create(address, dataset="visits", unit="person", epsilon=2)
    ledger.answer("q", {}, Cost(Fraction(1)), lambda: b"x", because="a reason", bundle="out")
    (entry,) = Ledger.open(address).entries()
    one = entry.provenance
    with open_store(address).reading() as session:
        role = session.role()
    assert one.role == role and (one.user is None) == (role is not None)
    assert role is None or f"//{role}@" in address
    assert one.by and one.because == "a reason" and one.bundle == str(Path("out").absolute())


@dataclass
class Shelf:
    """Everything that one store keeps."""

    rows: list[EventRow]
    key: bytes
    contents: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    answers: dict[str, int] = field(default_factory=dict)


class ShelfSession(StoreSession):
    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf

    def rows(self, first: int = 1, last: int | None = None) -> list[EventRow]:
        return self.shelf.rows[first - 1 : last]

    def last_number(self) -> int:
        return len(self.shelf.rows)

    def append(self, row: EventRow) -> None:
        self.shelf.rows.append(row)

    def record_answer(self, key: str, number: int) -> None:
        self.shelf.answers[key] = number

    def answer_number(self, key: str) -> int | None:
        return self.shelf.answers.get(key)

    def answer_count(self) -> int:
        return len(self.shelf.answers)

    def answer_numbers(self) -> dict[str, int]:
        return dict(self.shelf.answers)

    def put_content(self, digest: str, size: int, packed: bytes) -> None:
        self.shelf.contents[digest] = size, packed

    def get_content(self, digest: str) -> tuple[object, object] | None:
        return self.shelf.contents.get(digest)

    def secret(self) -> bytes:
        return self.shelf.key


class ShelfStore(Store):
    """A store in memory: all that a new kind has to write."""

    shelves: ClassVar[dict[str, Shelf]] = {}
    folder = None

    name = ""

    def __init__(self, address: str | Path) -> None:
        self.name = str(address)

    @classmethod
    def create(
        cls, address: str | Path, first: EventRow, secret: bytes, fill: Callable[[StoreSession], None] | None = None
    ) -> ShelfStore:
        shelf = Shelf([first], secret)
        if fill is not None:
            fill(ShelfSession(shelf))
        cls.shelves[str(address)] = shelf
        return cls(address)

    def exists(self) -> bool:
        return self.name in self.shelves

    @contextmanager
    def reading(self) -> Iterator[StoreSession]:
        yield ShelfSession(self.shelves[self.name])

    writing = reading

    def damage(self) -> list[str]:
        return []


def test_a_new_kind_of_store_is_one_class_and_two_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger itself knows nothing of files or databases: a scheme of addresses, and the store it names."""
    monkeypatch.setitem(SCHEMES, "shelf", Scheme("shelf:one", frozenset({"ledger"}), in_files=False))
    monkeypatch.setitem(STORES, "shelf", ShelfStore)
    live("shelf:one")
    assert list(ShelfStore.shelves) == ["one"]
