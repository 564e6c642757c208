"""A ledger in PostgreSQL: several machines, roles, altered tables, and a server that dies."""

from __future__ import annotations

import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.errors import RaiseException, SerializationFailure

import discreet as dc
from discreet.databases import failures
from discreet.databases.failures import StoreUnavailable, WriteConflict
from discreet.errors import BudgetExceeded, InvalidInput, UnreadableFile
from discreet.ledger.budget import Cost
from discreet.ledger.chain import canonical_json, digest_of
from discreet.ledger.ledger import Reservation
from discreet.ledger.stores.postgres import PostgresSession, PostgresStore
from support.command_line import run
from support.postgres_server import Server
from support.refusals import refused
from support.waiting import LIMIT_SECONDS, wait_for

pytestmark = pytest.mark.xdist_group("postgres")


@pytest.fixture
def address(pg: Server) -> str:
    return pg.address(pg.database(name="ledgers"))


def make(address: str, epsilon: object = 2) -> dc.Ledger:
    return dc.Ledger.create(address, dataset="visits", unit="person", epsilon=epsilon)


def database_of(address: str) -> str:
    return address.split("/")[3].split("?")[0]


def test_several_ledgers_live_in_one_database_by_name(address: str) -> None:
    births = f"{address}&ledger=births"
    make(address, 1), make(births, 2)
    assert dc.Ledger.open(address).terms.epsilon == 1 and dc.Ledger.open(births).terms.epsilon == 2
    assert dc.Ledger.open(dc.Ledger.open(births).name).terms.epsilon == 2
    with refused(InvalidInput, token="exists"):
        make(births)
    for wrong in ("Births", "1x", "a-b", 'x";DROP', "x" * 41):
        with refused(InvalidInput, token="?ledger=births"):
            dc.Ledger.open(f"{address}&ledger={wrong}")


def test_a_password_in_the_address_is_refused_and_not_shown(pg: Server) -> None:
    with refused(InvalidInput, token="PGPASSFILE") as refusal:
        dc.Ledger.open(f"postgresql://ann:hidden@host/study?host={pg.folder}")
    assert "hidden" not in str(refusal.value)


def test_a_missing_database_server_or_ledger_is_said_plainly(pg: Server, address: str) -> None:
    with refused(UnreadableFile, token="no ledger"):
        dc.Ledger.open(address)
    with refused(StoreUnavailable, token="reached"):
        dc.Ledger.open(pg.address("no_such_database"))
    with refused(StoreUnavailable, token="reached"):
        dc.Ledger.open("postgresql://nobody@/study?host=/no/such/folder")


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE {}.events DISABLE TRIGGER only_added_to",
        "DROP TRIGGER only_added_to ON {}.answers",
        "ALTER TABLE {}.events DROP CONSTRAINT events_hash_key",
        "ALTER TABLE {}.events ADD COLUMN note text",
        "CREATE OR REPLACE FUNCTION {}.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TABLE {}.more (x integer)",
        "CREATE RULE quiet AS ON INSERT TO {}.events DO INSTEAD NOTHING",
        "ALTER TABLE {}.events ENABLE ROW LEVEL SECURITY",
    ],
)
def test_altered_tables_are_refused_before_anything_is_spent(pg: Server, address: str, change: str) -> None:
    ledger = make(address)
    with pg.connect(database_of(address)) as base:
        base.execute(change.replace("{}", "discreet_main").encode())
    with refused(UnreadableFile, token="triggers"):
        ledger.reserve("q", {}, Cost(Fraction(1)))
    assert not ledger.verify().holds


@pytest.mark.parametrize("change", ["UPDATE {}.events SET body = ''", "DELETE FROM {}.events", "TRUNCATE {}.contents"])
def test_the_tables_are_only_added_to(pg: Server, address: str, change: str) -> None:
    make(address)
    with pg.connect(database_of(address)) as base, pytest.raises(RaiseException, match="only added to"):
        base.execute(change.replace("{}", "discreet_main").encode())


def test_a_changed_event_breaks_the_chain_here_too(pg: Server, address: str) -> None:
    ledger = make(address)
    ledger.reserve("q", {}, Cost(Fraction(1)))
    with pg.connect(database_of(address)) as base:
        base.execute(b"SET session_replication_role = replica")  # the owner of the server, past the triggers
        base.execute(b"UPDATE discreet_main.events SET body = replace(body, '1', '0') WHERE number = 2")
    report = ledger.verify()
    assert not report.holds and "event 2 was altered" in report.problems[0]
    with refused(UnreadableFile, token="event 2"):
        ledger.left()


def test_another_role_cannot_read_the_secret(pg: Server, address: str) -> None:
    make(address)
    with pg.connect() as base:
        base.execute(b"DROP ROLE IF EXISTS curious")
        base.execute(b"CREATE ROLE curious LOGIN")
    with refused(StoreUnavailable, token="permission"):
        dc.Ledger.open(address.replace("owner@", "curious@"))


def test_a_role_with_the_documented_grants_can_spend_and_alter_nothing(pg: Server, address: str) -> None:
    make(address)
    with pg.connect(database_of(address)) as base:
        base.execute(b"DROP ROLE IF EXISTS spender")
        base.execute(b"CREATE ROLE spender LOGIN")
        base.execute(b"GRANT USAGE ON SCHEMA discreet_main TO spender")
        base.execute(b"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA discreet_main TO spender")
        base.execute(b"GRANT UPDATE ON discreet_main.events TO spender")
    ledger = dc.Ledger.open(address.replace("owner@", "spender@"))
    assert ledger.answer("q", {}, Cost(Fraction(1)), lambda: b"x").fresh and ledger.left().epsilon == 1
    with pg.connect(database_of(address), user="spender") as base, pytest.raises(RaiseException, match="only added to"):
        base.execute(b"UPDATE discreet_main.events SET body = ''")
    with pg.connect(database_of(address)) as base:
        base.execute(b"DROP OWNED BY spender")
        base.execute(b"DROP ROLE spender")


#: Spends as often as it can, and says how often it was paid.
RACER = """
import sys
from fractions import Fraction
from pathlib import Path
import discreet as dc
from discreet.errors import BudgetExceeded
from discreet.ledger.budget import Cost
ledger, paid = dc.Ledger.open(sys.argv[1]), 0
for k in range(40):
    try:
        ledger.answer(f"{sys.argv[2]}-{k}", {}, Cost(Fraction(1, 10)), lambda: b"x")
        paid += 1
    except BudgetExceeded:
        break
print(paid)
"""


@pytest.mark.parametrize("processes", [3, pytest.param(8, marks=pytest.mark.full)])
def test_processes_of_two_roles_that_race_for_the_last_budget_win_exactly_what_fits(
    pg: Server, address: str, processes: int
) -> None:
    make(address, 2)
    with pg.connect() as base:
        base.execute(b"DROP ROLE IF EXISTS second")
        base.execute(b"CREATE ROLE second LOGIN SUPERUSER")
    addresses = [address, address.replace("owner@", "second@")]
    racers = [
        subprocess.Popen([sys.executable, "-c", RACER, addresses[k % 2], str(k)], stdout=subprocess.PIPE, text=True)
        for k in range(processes)
    ]
    paid = [int(racer.communicate(timeout=LIMIT_SECONDS)[0]) for racer in racers]
    assert sum(paid) == 20 and [racer.returncode for racer in racers] == [0] * processes
    ledger = dc.Ledger.open(address)
    assert ledger.left().epsilon == 0 and ledger.verify().holds
    with pytest.raises(BudgetExceeded):
        ledger.reserve("one more", {}, Cost(Fraction(1, 1000)))


# ------------------------------------------------------------------------------------------------ undone by the server


@pytest.fixture
def tried(monkeypatch) -> list[str]:
    """One entry for each writing transaction: how it ended."""
    ends: list[str] = []
    writing = PostgresStore.writing

    @contextmanager
    def watched(self: PostgresStore) -> Iterator[Any]:
        try:
            with writing(self) as session:
                yield session
            ends.append("written")
        except Exception as problem:
            ends.append(type(problem).__name__)
            raise

    monkeypatch.setattr(PostgresStore, "writing", watched)
    return ends


def keep_first(other: psycopg.Connection[Any], content: bytes) -> None:
    """Begin to keep a content that a ledger is about to keep, so that its writer waits for this transaction."""
    other.execute(b"BEGIN")
    values = [digest_of(content), len(content), zlib.compress(content)]
    other.execute(b"INSERT INTO discreet_main.contents VALUES (%s, %s, %s)", values)


def wait_until_it_waits(pg: Server, number: int = 1) -> None:
    """Wait until so many sessions of the server wait for a lock."""
    sql = b"SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with pg.connect() as base:
        wait_for(lambda: base.execute(sql).fetchone() == (number,))


REQUEST = {"question": "which"}
ASKED = canonical_json(REQUEST, floats=True).encode()


def test_a_reservation_that_the_server_undoes_is_made_once_all_the_same(pg: Server, address: str, tried) -> None:
    """SQLSTATE 40001 from a real server: what the writer would keep was kept by another one meanwhile."""
    ledger, before = make(address), pg.log.count("could not serialize access")
    with pg.connect(database_of(address)) as other, ThreadPoolExecutor() as pool:
        keep_first(other, ASKED)
        paid = pool.submit(ledger.reserve, "q", REQUEST, Cost(Fraction(1)))
        wait_until_it_waits(pg)
        other.execute(b"COMMIT")
        reservation = paid.result(timeout=LIMIT_SECONDS)
    assert tried == ["WriteConflict", "written"] and pg.log.count("could not serialize access") == before + 1
    assert isinstance(reservation, Reservation) and [e.reservation for e in ledger.entries()] == [reservation]
    assert ledger.left().epsilon == 1 and ledger.verify().holds


def test_a_reservation_that_loses_a_deadlock_is_made_once_all_the_same(
    pg: Server, address: str, tried, monkeypatch
) -> None:
    """SQLSTATE 40P01: the other one waits for the events, which the writer has locked."""
    ledger, has_locked, may_go_on = make(address), threading.Event(), threading.Event()
    keep = PostgresSession.keep

    def keep_when_told(session: PostgresSession, content: bytes) -> str:
        has_locked.set()
        assert may_go_on.wait(LIMIT_SECONDS)
        return keep(session, content)

    monkeypatch.setattr(PostgresSession, "keep", keep_when_told)
    with pg.connect(database_of(address)) as other, ThreadPoolExecutor() as pool:
        other.execute(b"SET deadlock_timeout = '1h'")  # so that the writer, who comes last, finds it
        keep_first(other, ASKED)
        paid = pool.submit(ledger.reserve, "q", REQUEST, Cost(Fraction(1)))
        assert has_locked.wait(LIMIT_SECONDS)
        locked = pool.submit(other.execute, b"LOCK TABLE discreet_main.events IN EXCLUSIVE MODE")
        wait_until_it_waits(pg)
        may_go_on.set()
        locked.result(timeout=LIMIT_SECONDS)
        other.execute(b"ROLLBACK")
        paid.result(timeout=LIMIT_SECONDS)
    assert tried == ["WriteConflict", "written"] and "deadlock detected" in pg.log
    assert len(ledger.entries()) == 1 and ledger.left().epsilon == 1 and ledger.verify().holds


def test_an_answer_that_the_server_undoes_is_drawn_once_and_recorded(pg: Server, address: str, tried) -> None:
    """The noise was seen by nobody when the transaction was undone, and it is not drawn anew."""
    ledger, drawn = make(address), []
    with pg.connect(database_of(address)) as other, ThreadPoolExecutor() as pool:

        def draw() -> bytes:
            drawn.append(True)
            keep_first(other, b"noisy")
            return b"noisy"

        answer = pool.submit(ledger.answer, "q", {}, Cost(Fraction(1)), draw)
        wait_for(lambda: drawn)
        wait_until_it_waits(pg)
        other.execute(b"COMMIT")
        assert answer.result(timeout=LIMIT_SECONDS).answer == b"noisy"
    assert tried == ["written", "written", "WriteConflict", "written"] and len(drawn) == 1
    assert ledger.left().epsilon == 1 and ledger.verify().holds


def test_a_step_that_is_undone_again_and_again_is_given_up_in_words(address: str, monkeypatch) -> None:
    ledger, begun = make(address), []

    @contextmanager
    def conflicting(self: PostgresStore) -> Iterator[Any]:
        begun.append(True)
        with self._place.withheld(self.name):
            raise SerializationFailure()
        yield

    with monkeypatch.context() as patch:
        patch.setattr(failures, "RETRY_DELAYS_SECONDS", (0.0, 0.0))
        patch.setattr(PostgresStore, "writing", conflicting)
        with refused(WriteConflict, token=f"{ledger.name} ... by others ... Nothing was written"):
            ledger.reserve("q", {}, Cost(Fraction(1)))
    assert len(begun) == 3 and ledger.entries() == []


def test_what_may_have_been_written_is_not_done_again(pg: Server, address: str, tried) -> None:
    """The connection is ended while the writer waits: no answer came back, so nothing is repeated."""
    ledger = make(address)
    with pg.connect(database_of(address)) as other, ThreadPoolExecutor() as pool:
        keep_first(other, ASKED)
        paid = pool.submit(ledger.reserve, "q", REQUEST, Cost(Fraction(1)))
        wait_until_it_waits(pg)
        other.execute(b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        with refused(StoreUnavailable, token="discreet ledger show"):
            paid.result(timeout=LIMIT_SECONDS)
        other.execute(b"ROLLBACK")
    assert tried == ["StoreUnavailable"] and ledger.entries() == []


def test_the_command_line_makes_spends_and_shows_it(address: str, tmp_path) -> None:
    table = tmp_path / "visits.csv"
    table.write_text("person,site\n" + "".join(f"p{k},{k % 3}\n" for k in range(60)))
    run("ledger", "init", address, "--data", table, "--unit", "person", "--epsilon", 2)
    asked = ["release", "SELECT site, COUNT(*) FROM visits GROUP BY site", "--data", table, "--unit", "person"]
    asked += ["--max-groups", 1, "--domain", "site=0..2", "--epsilon", 1, "--ledger", address, "-o", tmp_path / "out"]
    assert "left in postgresql://" in run(*asked).stdout
    assert "answered" in run("ledger", "show", address).stdout
    assert "holds" in run("ledger", "verify", address, "--bundle", tmp_path / "out").stdout
    run("verify", tmp_path / "out", "--ledger", address)


def test_a_ledger_by_period_keeps_its_accounts_on_a_server_and_in_a_copy(address: str, tmp_path: Path) -> None:
    ledger = dc.Ledger.create(
        address, dataset="visits", unit="person", epsilon=1, delta="1e-6", filter="either", per="week", own_delta="1e-7"
    )
    for number in range(40):
        ledger.answer(f"small {number}", {}, Cost(Fraction(1, 40)), lambda: b"noisy", periods=["2026-W09"])
    held = ledger.reserve("large", {}, Cost(Fraction(1)), periods=["2026-W10", "2026-W11"])
    assert isinstance(held, Reservation)
    ledger = dc.Ledger.open(address)
    with refused(BudgetExceeded, token="2026-W10"):
        ledger.reserve("another", {}, Cost(Fraction(1, 2)), periods=["2026-W10"])
    assert ledger.release(held.number, because="stopped").epsilon == 1
    assert ledger.left("2026-W10").epsilon == 1 > ledger.left("2026-W09").epsilon and ledger.verify().holds
    for copied in (ledger.copy_to(tmp_path / "copy.ledger"), dc.Ledger.open(tmp_path / "copy.ledger")):
        assert copied.terms == ledger.terms and copied.verify().holds
        assert copied.left("2026-W09") == ledger.left("2026-W09")
