"""Every kind of store that reports can be kept in, and every promise that the service relies on."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.collect.stores.base import Batch, NameTaken, Outcome, ReportStore, StoredToken, decide
from discreet.collect.stores.opening import STORES, report_store
from discreet.errors import InvalidInput, UnreadableFile
from discreet.ledger.stores.base import StoreUnavailable
from support.postgres_server import server
from support.refusals import refused
from support.tiers import examples

DAY = 739_000


@pytest.fixture(params=sorted(STORES))
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store of this kind can be made; nothing is there yet."""
    places = {
        "file": lambda: f"{tmp_path / 'reports.db'}",
        "sqlite": lambda: f"sqlite:{tmp_path / 'reports.db'}",
        "postgresql": lambda: server().address(server().database(name="reports")),
    }
    return places[request.param]()


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
    with refused(NameTaken):
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


def test_forgotten_keys_are_refused_whatever_the_clock_says_later(store: ReportStore) -> None:
    (one,) = store.create_collection("a", "", 1).mechanisms
    old, new = batch(one, b"old", [1]), batch(one, b"new", [2], day=DAY + 1)
    store.add([old, new])
    assert store.forget_keys(DAY + 1) == 1 and store.forget_keys(DAY - 100) == 0
    late = batch(one, b"late", [3])
    assert [made.value for made in store.add([old, new, late])] == ["expired", "repeated", "expired"]
    assert store.histogram(one) == {1: 1, 2: 1}


def test_reports_below_zero_and_of_any_size_are_counted(store: ReportStore) -> None:
    (one,) = store.create_collection("a", "", 1).mechanisms
    store.add([batch(one, b"k", [-(2**62), 2**62, 0])])
    assert store.histogram(one) == {-(2**62): 1, 2**62: 1, 0: 1}


def test_a_large_group_is_counted(store: ReportStore) -> None:
    (one,) = store.create_collection("a", "", 1).mechanisms
    group = [batch(one, b"%d" % k, [k % 7] * 3, day=DAY + k % 3) for k in range(1500)]
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
    batches = [batch(1, b"%d" % key, [0], b"%d" % body, day) for key, body, day in made]
    outcomes = decide(batches, {b"0": b"0"}, 1)
    first: dict[bytes, bytes] = {b"0": b"0"}
    for one, outcome in zip(batches, outcomes, strict=True):
        if one.day < 1:
            expected = Outcome.EXPIRED
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


def test_a_settled_store_counts_as_before(store: ReportStore) -> None:
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
    assert store.forget_keys(DAY + 1) == 44


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
    monkeypatch.setattr("discreet.collect.stores.postgres.REWRITTEN", 10)
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
