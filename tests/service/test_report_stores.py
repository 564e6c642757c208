"""Every kind of store that reports can be kept in, and every promise that the service relies on."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from datetime import date
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.collect import keys
from discreet.collect.keys import KEY_DAYS, today
from discreet.collect.stores import postgres
from discreet.collect.stores.base import (
    MAX_DAYS_FORGOTTEN,
    Batch,
    KeyDays,
    NameTaken,
    Outcome,
    ReportStore,
    StoredToken,
    decide,
)
from discreet.collect.stores.open import STORES, report_store
from discreet.collect.stores.postgres import TODAY_SQL as SERVER_TODAY
from discreet.collect.stores.repair import repair
from discreet.collect.stores.sqlite import SqliteReports
from discreet.databases.failures import StoreUnavailable
from discreet.errors import InvalidInput, UnreadableFile
from support.postgres_server import server
from support.refusals import refused
from support.running_service import make_token
from support.store_places import empty_place
from support.tiers import examples

DAY = today()


def put_clock(monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    """Put the clocks by which stores judge keys so many days ahead: of this computer, and of PostgreSQL's server."""
    monkeypatch.setattr(keys, "today", lambda: DAY + days)
    monkeypatch.setattr(postgres, "TODAY_SQL", f"({SERVER_TODAY} + {days})")


@pytest.fixture(params=sorted(STORES))
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store of this kind can be made; nothing is there yet."""
    return empty_place(request.param, tmp_path, "reports.db", "reports")


@pytest.fixture
def store(address: str):
    made = report_store(address)
    made.open()
    yield made
    made.close()


def batch(mechanism: int, key: bytes, reports: list[int], digest: bytes = b"same", day: int = DAY) -> Batch:
    return Batch(mechanism, day, key, digest, reports)


def test_a_collection_comes_back_under_its_name_with_numbers_of_its_own(store: ReportStore) -> None:
    first, second = store.create_collection("a", "Ärzte 'or' 😀", 2), store.create_collection("b", "{}", 1)
    assert store.collection("a") == first and first.text == "Ärzte 'or' 😀" and store.collection("c") is None
    assert len({*first.mechanisms, *second.mechanisms}) == 3 and store.collection_names() == ["a", "b"]
    with refused(NameTaken, token="'a'"):
        store.create_collection("a", "other", 1)
    assert store.collection("a") == first


def test_batches_are_added_up_and_each_is_counted_once(store: ReportStore) -> None:
    one, two = store.create_collection("a", "", 2).mechanisms
    group = [batch(one, b"k1", [1, 1, 5]), batch(two, b"k2", [1]), batch(one, b"k3", [5]), batch(one, b"k3", [5])]
    assert [made.value for made in store.add(group)] == ["stored", "stored", "stored", "repeated"]
    assert {made.value for made in store.add(group)} == {"repeated"}
    assert store.histogram(one) == {1: 2, 5: 2} and store.histogram(two) == {1: 1} and store.histogram(99) == {}


def test_a_key_belongs_to_one_body(store: ReportStore) -> None:
    (one,) = store.create_collection("a", "", 1).mechanisms
    store.add([batch(one, b"k", [1])])
    again = [batch(one, b"k", [2], b"other"), batch(one, b"n", [3]), batch(one, b"n", [4], b"other")]
    assert [made.value for made in store.add(again)] == ["conflict", "stored", "conflict"]
    assert store.histogram(one) == {1: 1, 3: 1}


# ------------------------------------------------------------------------------------------------ clocks


def forget_all(store: ReportStore) -> int:
    """Forget keys as often as a service does in a month; returns how many there were."""
    return sum(store.forget_keys() for _ in range(120))


def test_forgotten_keys_are_refused_whatever_the_clock_says_later(
    store: ReportStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = store.create_collection("a", "", 1).mechanisms
    old, new = batch(one, b"old", [1]), batch(one, b"new", [2], day=DAY + 1)
    store.add([old, new])
    assert store.forget_keys() == 0
    put_clock(monkeypatch, KEY_DAYS + 2)
    assert forget_all(store) == 1
    put_clock(monkeypatch, 0)
    assert store.forget_keys() == 0
    late = batch(one, b"late", [3])
    for days in (0, KEY_DAYS + 2):
        put_clock(monkeypatch, days)
        assert [made.value for made in store.add([old, new, late])] == ["expired", "repeated", "expired"]
    assert store.histogram(one) == {1: 1, 2: 1}


@pytest.mark.parametrize("ahead", [40, 365, -365])
def test_a_clock_that_was_wrong_for_a_while_ends_no_collection(
    store: ReportStore, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    (one,) = store.create_collection("a", "", 1).mechanisms
    first = [batch(one, b"%d" % k, [1], day=DAY - k) for k in range(KEY_DAYS)]
    store.add(first)
    put_clock(monkeypatch, ahead)
    forget_all(store)
    assert store.key_days().horizon <= DAY
    put_clock(monkeypatch, 0)
    assert store.add([batch(one, b"new", [2])]) == [Outcome.STORED]
    assert Outcome.STORED not in store.add(first)  # what was forgotten is refused, and nothing is counted twice
    assert store.histogram(one) == {1: KEY_DAYS, 2: 1}


def test_the_horizon_moves_by_two_days_at_a_time_however_far_the_clock_jumps(
    store: ReportStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = store.create_collection("a", "", 1).mechanisms
    store.add([batch(one, b"old", [1], day=DAY - KEY_DAYS), batch(one, b"new", [1])])
    put_clock(monkeypatch, 400)
    store.add([batch(one, b"ahead", [1], day=DAY + 400)])
    horizons = []
    for _ in range(5):
        store.forget_keys()
        horizons.append(store.key_days().horizon)
    assert horizons[0] == DAY - KEY_DAYS - KEY_DAYS - 1 + MAX_DAYS_FORGOTTEN
    assert all(after - before <= MAX_DAYS_FORGOTTEN for before, after in pairwise(horizons))


@pytest.mark.parametrize("days", [2, 30, 4000, -KEY_DAYS - 1, -4000])
def test_a_key_refused_for_its_day_is_never_counted(
    store: ReportStore, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    """So its batch may be sent under a new key: no copy that is still on its way is counted beside it."""
    (one,) = store.create_collection("a", "", 1).mechanisms
    wrong = batch(one, b"wrong", [1], day=DAY + days)
    assert store.add([batch(one, b"good", [2]), wrong, wrong]) == [Outcome.STORED] + [Outcome.WRONG_DAY] * 2
    put_clock(monkeypatch, days)  # the copy arrives by a clock under which its day is taken
    assert store.add([wrong])[0] in (Outcome.WRONG_DAY, Outcome.EXPIRED)
    assert store.histogram(one) == {2: 1}


@pytest.mark.parametrize(("refused_at", "forgotten_at", "copied_at"), [(-365, 0, 0), (-2, 40, -1), (0, 4000, 2)])
def test_a_refused_key_is_not_forgotten_by_a_clock_that_was_wrong(
    store: ReportStore, monkeypatch: pytest.MonkeyPatch, refused_at: int, forgotten_at: int, copied_at: int
) -> None:
    (one,) = store.create_collection("a", "", 1).mechanisms
    copied = batch(one, b"copied", [1], day=DAY + max(refused_at + 2, copied_at))
    put_clock(monkeypatch, refused_at)
    assert store.add([copied]) == [Outcome.WRONG_DAY]
    assert store.add([batch(one, b"new", [1], day=DAY + refused_at)]) == [Outcome.STORED]
    put_clock(monkeypatch, forgotten_at)
    forget_all(store)
    put_clock(monkeypatch, copied_at)
    assert store.add([copied])[0] in (Outcome.WRONG_DAY, Outcome.EXPIRED)
    assert store.histogram(one) == {1: 1}


def test_a_counted_key_is_known_by_whatever_clock_it_comes_again(
    store: ReportStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was counted by a clock that was ahead: refusing it for its day would count its batch under a new key, too."""
    (one,) = store.create_collection("a", "", 1).mechanisms
    put_clock(monkeypatch, 365)
    ahead = batch(one, b"ahead", [1], day=DAY + 365)
    assert store.add([ahead]) == [Outcome.STORED]
    for days in (0, -365, 365):
        put_clock(monkeypatch, days)
        assert store.add([ahead]) == [Outcome.REPEATED]
    assert store.histogram(one) == {1: 1}


def test_a_key_older_than_all_that_were_counted_is_known_to_be_new(
    store: ReportStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device whose clock begins in 1970 is told so; of a key that may have been forgotten nobody knows."""
    (one,) = store.create_collection("a", "", 1).mechanisms
    store.add([batch(one, b"old", [1]), batch(one, b"new", [1], day=DAY + 1)])
    put_clock(monkeypatch, 20)
    store.add([batch(one, b"newer", [1], day=DAY + 20)])
    forget_all(store)
    assert store.key_days().horizon > DAY
    of_1970, forgotten = batch(one, b"1970", [1], day=719_163), batch(one, b"old", [1])
    assert store.add([of_1970, forgotten]) == [Outcome.WRONG_DAY, Outcome.EXPIRED]


def test_workers_take_the_day_of_the_server_and_not_of_their_own_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    name = server().database(name="reports")
    ahead, right = (report_store(server().address(name)) for _ in range(2))
    ahead.open()
    right.open()
    (one,) = ahead.create_collection("a", "", 1).mechanisms
    right.add([batch(one, b"%d" % k, [1], day=DAY - k) for k in range(3)])
    monkeypatch.setattr(keys, "today", lambda: DAY + 31)
    forget_all(ahead)
    days = ahead.key_days()
    assert days.clock in (DAY, DAY + 1) and days.horizon == days.clock - KEY_DAYS - 1  # midnight may pass
    assert ahead.add([batch(one, b"from the worker ahead", [1])]) == [Outcome.STORED]
    assert right.add([batch(one, b"from the other", [1])]) == [Outcome.STORED]
    ahead.close()
    right.close()


def test_a_store_that_a_clock_has_spoilt_keeps_reports_waiting_until_it_is_repaired(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an earlier version left it: all traces are gone, and the horizon is a year ahead."""
    spoilt = report_store(address)
    spoilt.open()
    (one,) = spoilt.create_collection("a", "", 1).mechanisms
    counted = batch(one, b"counted", [1], day=DAY - 3)
    spoilt.add([counted])
    _spoil(address, DAY + 350)
    assert spoilt.add([counted, batch(one, b"new", [2])]) == [Outcome.POSTPONED] * 2
    spoilt.close()
    done = repair(address, date.fromordinal(DAY - 3).isoformat())
    assert done.after == date.fromordinal(DAY - 1) and done.before == date.fromordinal(DAY + 350)
    assert str(done.after) in done.describe()
    spoilt.open()
    # what may have been counted and forgotten stays refused
    assert spoilt.add([counted, batch(one, b"new", [2])]) == [Outcome.EXPIRED, Outcome.STORED]
    spoilt.close()
    again = repair(address, date.fromordinal(DAY - 10))  # it takes keys of today: what it refuses, it has forgotten
    assert again.before == again.after == done.after and "Nothing" in again.describe()


def _spoil(address: str, horizon: int) -> None:
    if address.startswith("postgresql"):
        with server().connect(urlsplit(address).path[1:]) as base:
            for table in ("arrivals", "batches"):
                base.execute(f"DELETE FROM discreet_reports.{table}".encode())
            base.execute(b"UPDATE discreet_reports.horizon SET first = 0, day = %d" % horizon)
        return
    with sqlite3.connect(address.removeprefix("sqlite:")) as base:
        base.execute("DELETE FROM batches")
        base.execute("UPDATE horizon SET first = 0, day = ?", (horizon,))


def test_a_repair_makes_no_store(tmp_path: Path) -> None:
    with refused(UnreadableFile, token="mistyped.db"):
        repair(tmp_path / "mistyped.db")
    assert not list(tmp_path.iterdir())


def test_a_repair_takes_a_day_that_has_come(tmp_path: Path) -> None:
    make_token(str(tmp_path / "reports.db"))
    for wrong in ("yesterday", date.fromordinal(DAY + 2)):
        with refused(InvalidInput, "counted_until"):
            repair(tmp_path / "reports.db", wrong)


def test_stores_of_earlier_versions_are_opened_and_their_keys_are_known(tmp_path: Path) -> None:
    """SQLite files of format 1, and PostgreSQL's tables of version 2."""
    name = server().database(name="reports")
    for address in (str(tmp_path / "reports.db"), server().address(name)):
        store = report_store(address)
        store.open()
        (one,) = store.create_collection("a", "", 1).mechanisms
        store.add([batch(one, b"k", [1])])
        store.close()
    with sqlite3.connect(tmp_path / "reports.db") as base:
        for statement in ("DROP TABLE refused", "ALTER TABLE horizon DROP COLUMN first", "PRAGMA user_version = 1"):
            base.execute(statement)
    with server().connect(name) as base:
        base.execute(b"DROP TABLE discreet_reports.refused")
        base.execute(b"ALTER TABLE discreet_reports.horizon DROP COLUMN first")
        base.execute(b"UPDATE discreet_reports.format SET version = 2")
    for address in (str(tmp_path / "reports.db"), server().address(name)):
        store = report_store(address)
        store.open()
        assert store.key_days().first == 0  # which keys were counted is not known
        assert store.add([batch(one, b"k", [1]), batch(one, b"n", [1])]) == [Outcome.REPEATED, Outcome.STORED]
        store.close()


def test_a_store_that_can_be_written_is_checked_by_writing(store: ReportStore) -> None:
    before = store.key_days()
    store.check_writable()
    assert store.key_days() == before


def test_a_file_that_became_read_only_is_noticed(tmp_path: Path) -> None:
    store = report_store(tmp_path / "reports.db")
    store.open()
    assert isinstance(store, SqliteReports) and store._connection is not None
    store._connection.execute("PRAGMA query_only = ON")  # as on a disk that was mounted anew
    assert store.collection_names() == []
    with refused(StoreUnavailable, token="reports.db ... read-only"):
        store.check_writable()
    store._connection.execute("PRAGMA query_only = OFF")
    store.close()


# ------------------------------------------------------------------------------------------------ batches


def test_reports_below_zero_and_of_any_size_are_counted(store: ReportStore) -> None:
    (one,) = store.create_collection("a", "", 1).mechanisms
    store.add([batch(one, b"k", [-(2**62), 2**62, 0])])
    assert store.histogram(one) == {-(2**62): 1, 2**62: 1, 0: 1}


def test_a_large_group_is_counted(store: ReportStore) -> None:
    (one,) = store.create_collection("a", "", 1).mechanisms
    group = [batch(one, b"%d" % k, [k % 7] * 3, day=DAY - k % 3) for k in range(1500)]
    assert set(store.add(group)) == {Outcome.STORED} and set(store.add(group)) == {Outcome.REPEATED}
    assert sum(store.histogram(one).values()) == 4500


def test_what_was_added_is_there_after_the_store_was_closed(store: ReportStore, address: str) -> None:
    (one,) = store.create_collection("a", "text", 1).mechanisms
    store.add([batch(one, b"k", [3])])
    store.close()
    again = report_store(address)
    again.open()
    assert again.histogram(one) == {3: 1} and again.add([batch(one, b"k", [3])]) == [Outcome.REPEATED]
    again.close()


def test_a_token_comes_back_until_it_is_removed(store: ReportStore) -> None:
    for token in (StoredToken("a", bytes(32), "manage", None), StoredToken("b", b"\xff" * 32, "read", "visits")):
        store.add_token(token)
        assert store.token(token.name) == token
    assert store.remove_token("a") and store.token("a") is None and not store.remove_token("a")


def test_writers_at_once_count_every_batch_once(store: ReportStore, address: str) -> None:
    """Several stores on one database where it allows that, otherwise several threads on one store."""
    (one,) = store.create_collection("a", "", 1).mechanisms
    stores = [report_store(address) for _ in range(4)] if store.several_writers else [store] * 4
    outcomes: list[Outcome] = []

    def add(own: ReportStore, start: int) -> None:
        for k in range(20):
            group = [batch(one, b"%d" % ((start + k + j) % 25), [(j * start) % 5, k % 5][:1] * 2) for j in range(4)]
            outcomes.extend(own.add(group))

    threads = [threading.Thread(target=add, args=(own, 7 * k)) for k, own in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for own in stores:
        if own is not store:
            own.close()
    assert len(outcomes) == 4 * 20 * 4  # no writer stopped on the way
    assert outcomes.count(Outcome.STORED) == 25 and sum(store.histogram(one).values()) == 50


def test_a_closed_file_and_a_foreign_one_are_refused_in_words(tmp_path: Path) -> None:
    store = report_store(tmp_path / "reports.db")
    with refused(StoreUnavailable, token="closed"):
        store.add([])
    (tmp_path / "text").write_text("not a database at all, but long enough to look at" * 20)
    for foreign in (tmp_path / "text", tmp_path):
        with pytest.raises((UnreadableFile, InvalidInput)):
            report_store(foreign).open()
    with refused(InvalidInput, token="names data"):
        report_store("duckdb:x.db")


def test_one_process_alone_opens_a_file(tmp_path: Path) -> None:
    first, second = report_store(tmp_path / "reports.db"), report_store(tmp_path / "reports.db")
    first.open()
    with refused(StoreUnavailable, token="another process"):
        second.open()
    first.close()
    second.open()
    second.close()


@examples(200)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 2)), max_size=12))
def test_of_each_key_the_first_body_is_stored_and_no_other(made: list[tuple[int, int, int]]) -> None:
    batches = [batch(1, b"%d%d" % (key, day), [0], b"%d" % body, 101 + day) for key, body, day in made]
    outcomes = decide(batches, {b"01": b"0", b"02": b"0"}, {b"12"}, KeyDays(102, 0, 117))
    first: dict[bytes, bytes] = {b"01": b"0", b"02": b"0"}
    for one, outcome in zip(batches, outcomes, strict=True):
        if one.day < 102:
            expected = Outcome.EXPIRED
        elif one.key not in first and (one.day == 102 or one.key == b"12"):
            expected = Outcome.WRONG_DAY
        elif one.key in first:
            expected = Outcome.REPEATED if first[one.key] == one.digest else Outcome.CONFLICT
        else:
            expected, first[one.key] = Outcome.STORED, one.digest
        assert outcome is expected


# ------------------------------------------------------------------------------------------------ what a store tells

#: Batches of one report each, in the order in which they come.
SINGLES = [(bytes([7 * k % 256, k]) * 8, k * 13 % 21) for k in range(40)]


def add_singles(store: ReportStore, mechanism: int, singles: list[tuple[bytes, int]] = SINGLES) -> None:
    for key, report in singles:
        assert store.add([batch(mechanism, key, [report], key[::-1])]) == [Outcome.STORED]


def test_a_settled_store_counts_as_before(store: ReportStore, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = store.create_collection("a", "", 2).mechanisms
    for start in range(0, 40, 10):
        add_singles(store, one, SINGLES[start : start + 10])
        store.settle()
        store.add([batch(two, b"second" + bytes([start]), [start] * 3)])
        store.settle()
        store.settle()
    again = [batch(one, key, [report], key[::-1]) for key, report in SINGLES]
    assert set(store.add(again)) == {Outcome.REPEATED}
    assert store.add([batch(one, SINGLES[3][0], [0], b"other")]) == [Outcome.CONFLICT]
    expected = Counter(report for _, report in SINGLES)
    assert store.histogram(one) == expected and store.histogram(two) == {0: 3, 10: 3, 20: 3, 30: 3}
    assert store.add([batch(one, b"later", [20], day=DAY + 1)]) == [Outcome.STORED]
    put_clock(monkeypatch, KEY_DAYS + 2)
    assert forget_all(store) == 44


def test_batches_come_in_while_a_store_is_settled(store: ReportStore, address: str) -> None:
    """Of three writers that send the same batches while a fourth settles, one counts each."""
    (one,) = store.create_collection("a", "", 1).mechanisms
    stores = [report_store(address) for _ in range(3)] if store.several_writers else [store] * 3
    outcomes: list[Outcome] = []
    done = threading.Event()

    def settle() -> None:
        while not done.is_set():
            store.settle()

    def add(own: ReportStore) -> None:
        for key, report in SINGLES * 2:
            outcomes.extend(own.add([batch(one, key, [report], key[::-1])]))

    settling = threading.Thread(target=settle)
    threads = [threading.Thread(target=add, args=(own,)) for own in stores]
    for thread in [settling, *threads]:
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    settling.join()
    for own in stores:
        if own is not store:
            own.close()
    assert Counter(outcomes) == {Outcome.STORED: 40, Outcome.REPEATED: 200}
    assert store.histogram(one) == Counter(report for _, report in SINGLES)


@pytest.mark.parametrize("end", ["settle", "close"])
def test_postgresql_joins_no_key_with_a_report_by_what_it_keeps_of_transactions(end: str) -> None:
    name = server().database(name="reports")
    store = report_store(server().address(name))
    store.open()
    (one,) = store.create_collection("a", "", 1).mechanisms
    add_singles(store, one)
    tables = "discreet_reports.arrivals b JOIN discreet_reports.counts c"
    with server().connect(name) as base:
        joined = base.execute(f"SELECT b.key, c.report FROM {tables} ON b.xmin = c.xmin".encode()).fetchall()
        assert len(joined) == 21 and set(joined) <= set(SINGLES)  # what has to go: the last batch of each report
        getattr(store, end)()
        assert base.execute(b"SELECT FROM discreet_reports.arrivals").rowcount == 0
        # every key is joined with every report: by chance
        tables = tables.replace("arrivals", "batches")
        joined = base.execute(f"SELECT b.key, c.report FROM {tables} ON b.xmin = c.xmin".encode()).fetchall()
        assert len(joined) in (0, 40 * 21)
        for table, order in (("batches", "key"), ("counts", "report")):
            sql = f"SELECT {order} FROM discreet_reports.{table} ORDER BY ctid"
            placed = [row[0] for row in base.execute(sql.encode())]
            assert placed == sorted(placed)
            written = base.execute(f"SELECT DISTINCT xmin::text FROM discreet_reports.{table}".encode())
            assert written.rowcount == 1
    store.close()


def test_postgresql_settles_what_a_killed_process_left(tmp_path: Path) -> None:
    name = server().database(name="reports")
    killed, next_one = (report_store(server().address(name)) for _ in range(2))
    killed.open()
    (one,) = killed.create_collection("a", "", 1).mechanisms
    add_singles(killed, one)
    next_one.open()
    next_one.settle()
    with server().connect(name) as base:
        assert base.execute(b"SELECT FROM discreet_reports.arrivals").rowcount == 0
    next_one.close()
    killed.close()


def test_more_batches_than_are_written_anew_leave_no_trace_in_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.collect.stores.postgres.MAX_REWRITTEN_TRACES", 10)
    name = server().database(name="reports")
    store = report_store(server().address(name))
    store.open()
    (one,) = store.create_collection("a", "", 1).mechanisms
    for start in range(0, 40, 10):
        add_singles(store, one, SINGLES[start : start + 10])
        store.settle()
    with server().connect(name) as base:
        assert base.execute(b"SELECT DISTINCT xmin::text FROM discreet_reports.counts").rowcount == 1
        assert base.execute(b"SELECT DISTINCT xmin::text FROM discreet_reports.batches").rowcount == 3
    assert store.histogram(one) == Counter(report for _, report in SINGLES)
    store.close()


def rows_of(path: Path) -> bytes:
    """The pages of a SQLite file after its first, which counts transactions."""
    return path.read_bytes()[4096:]


@pytest.mark.parametrize("end", ["settle", "close"])
def test_a_sqlite_file_is_the_same_in_whatever_order_batches_came(tmp_path: Path, end: str) -> None:
    """Byte for byte, and its log is empty: no copy of the two tells an order, or which counts grew together."""
    files, logs = [], []
    for name, singles in {"as-they-came.db": SINGLES, "backwards.db": SINGLES[::-1]}.items():
        store = report_store(tmp_path / name)
        store.open()
        (one,) = store.create_collection("a", "", 1).mechanisms
        add_singles(store, one, singles)
        log = tmp_path / f"{name}-wal"
        assert log.stat().st_size > 40 * 4096  # what has to go: every batch with its report
        getattr(store, end)()
        logs.append(log.stat().st_size if log.exists() else 0)
        files.append(rows_of(tmp_path / name))
        store.close()
    assert logs == [0, 0] and files[0] == files[1]


def test_a_long_reader_does_not_keep_batches_waiting_and_the_log_is_emptied_after_it(tmp_path: Path) -> None:
    store = report_store(tmp_path / "reports.db")
    store.open()
    (one,) = store.create_collection("a", "", 1).mechanisms
    add_singles(store, one, SINGLES[:20])
    reader = sqlite3.connect(tmp_path / "reports.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM counts").fetchall()
    store.settle()
    add_singles(store, one, SINGLES[20:])
    reader.execute("COMMIT")
    reader.close()
    store.settle()
    assert (tmp_path / "reports.db-wal").stat().st_size == 0
    assert store.histogram(one) == Counter(report for _, report in SINGLES)
    store.close()
