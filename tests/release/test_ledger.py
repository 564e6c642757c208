"""The ledger: what it binds, adds up, refuses, remembers, and what it finds when somebody altered it."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import random
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BudgetExceeded, InvalidInput, UnreadableFile, WrongType
from discreet.privacy.bounds import concentrated_delta
from discreet.release import ledger_store
from discreet.release.budget import (
    Cost,
    Terms,
    epsilon_of,
    exact_text,
    largest_rho,
    pure_epsilon,
    read_exact,
    rho_of,
    rho_within,
    round_down,
    round_up,
    short,
)
from discreet.release.ledger import Ledger, Recorded, Reservation, init_line, verify_store
from discreet.release.ledger_store import (
    NO_EVENT,
    Row,
    SqliteStore,
    canonical_json,
    digest_of,
    next_event,
    read_chain,
)

MILLIONTH = Fraction(1, 10**6)


def make(path: Path, **terms: object) -> Ledger:
    asked = {"dataset": "visits", "unit": "person", "epsilon": 3, **terms}
    return Ledger.create(path / "study.ledger", **asked)  # type: ignore[arg-type]


def pay(ledger: Ledger, key: str, epsilon: object = 1, **more: object) -> Reservation:
    paid = ledger.reserve(key, {"question": f"SELECT {key}"}, Cost(epsilon, **more))  # type: ignore[arg-type]
    assert isinstance(paid, Reservation)
    return paid


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return make(tmp_path)


@pytest.fixture
def used(ledger: Ledger) -> Ledger:
    """Two answers and one orphan."""
    ledger.commit(pay(ledger, "a", "1/3"), b"seven")
    pay(ledger, "orphan", "1/2")
    ledger.commit(pay(ledger, "b", 1), b"nine")
    return ledger


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
    assert isinstance(known, Recorded) and known.answer == b"seven"
    assert used.spent() == before


def test_the_first_answer_is_the_only_one(ledger: Ledger) -> None:
    """Two processes ask the same at once: both have paid, and both publish what was committed first."""
    first, second = pay(ledger, "q"), pay(ledger, "q")
    kept = ledger.commit(second, b"second")
    assert ledger.commit(first, b"first") == kept and kept.answer == b"second"
    assert ledger.commit(second, b"third") == kept
    assert [event.kind for event in ledger.events()] == ["init", "reserve", "reserve", "commit"]
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
    assert "1 reserved and never committed" in str(report)
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
    ledger.commit(ledger.reserve("q", request, Cost(Fraction(1))), b"")  # type: ignore[arg-type]
    assert ledger.recorded("q").request == request  # type: ignore[union-attr]


# ------------------------------------------------------------------------------------------------ the sum filter


def test_the_last_of_the_budget_can_be_spent_exactly(ledger: Ledger) -> None:
    for k in range(9):
        pay(ledger, str(k), Fraction(1, 3))
    assert ledger.left().epsilon == 0
    with pytest.raises(BudgetExceeded):
        pay(ledger, "more", Fraction(1, 10**40))


def test_a_refusal_says_spent_asked_and_left_and_spends_nothing(used: Ledger) -> None:
    events = used.events()
    with pytest.raises(BudgetExceeded) as problem:
        pay(used, "c", "1.2")
    # 11/6 spent (rounded up), 7/6 left (rounded down)
    assert "of epsilon = 3, 1.83334 is spent, 1.2 is asked and 1.16666 is left" in str(problem.value)
    assert used.events() == events


def test_delta_adds_up_beside_epsilon(tmp_path: Path) -> None:
    ledger = make(tmp_path, delta="1e-6")
    pay(ledger, "a", 1, delta=MILLIONTH / 2)
    with pytest.raises(BudgetExceeded, match=r"of delta = 1e-06, 5e-07 is spent, 6e-07 is asked and 5e-07 is left"):
        pay(ledger, "b", 1, delta=MILLIONTH * Fraction(6, 10))
    pay(ledger, "b", 1, delta=MILLIONTH / 2)
    assert ledger.left() == Cost(Fraction(1), Fraction(0))


def test_a_budget_without_delta_pays_for_none(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded, match="of delta = 0"):
        pay(ledger, "a", 1, delta=Fraction(1, 10**30))


@given(st.lists(st.fractions(min_value=Fraction(1, 50), max_value=2, max_denominator=60), max_size=12))
def test_the_sum_filter_accepts_exactly_what_fits(costs: list[Fraction]) -> None:
    terms = Terms.new("d", "row", "add-remove", 3, 0, "sum")
    total, plain = Cost(Fraction(0)), Fraction(0)
    for cost in costs:
        after = terms.add(total, Cost(cost))
        assert terms.allow(after) is (plain + cost <= 3)
        if terms.allow(after):
            total, plain = after, plain + cost
    assert terms.left(total).epsilon == 3 - plain


def test_very_long_fractions_are_rounded_up_and_never_down(ledger: Ledger) -> None:
    long = Fraction(10**90 + 1, 3 * 10**90)
    paid = pay(ledger, "a", long)
    assert paid.cost.epsilon >= long and paid.cost.epsilon - long < Fraction(1, 10**29)
    short_enough = Fraction(1, 2**150 + 1)
    assert pay(ledger, "b", short_enough).cost.epsilon == short_enough


# ------------------------------------------------------------------------------------------------ the zcdp filter


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "3", "17.14", "200"])
@pytest.mark.parametrize("delta", ["0.1", "1e-6", "1e-10", "1e-60"])
def test_the_rho_of_a_budget_implies_it_and_hardly_a_larger_one_does(epsilon: str, delta: str) -> None:
    """Against the judge's conversion, which searches delta where this one searches rho."""
    eps, chance = Fraction(epsilon), Fraction(delta)
    rho, order = largest_rho(eps, chance)
    assert concentrated_delta(rho, eps) <= float(chance) * (1 + 1e-9)
    assert concentrated_delta(rho * Fraction(1001, 1000), eps) > float(chance)
    assert rho <= rho_within(eps, chance, order)
    back = epsilon_of(rho, chance)
    assert eps * Fraction(999, 1000) <= back <= eps + Fraction(1, 10**10)


def test_the_conversion_meets_known_values() -> None:
    # Canonne, Kamath, Steinke 2020, Corollary 13, by the judge's own search over orders
    assert abs(float(epsilon_of(Fraction(256, 100), Fraction("1.05e-10"))) - 17.14) < 0.005
    # Bun and Steinke 2016, Proposition 1.3: never more than rho + 2 sqrt(rho log(1/delta))
    assert epsilon_of(Fraction(1, 10), MILLIONTH) < Fraction(1, 10) + 2 * Fraction(1.17539)


@given(st.fractions(min_value=Fraction(1, 1000), max_value=50))
def test_pure_epsilon_and_rho_are_inverse_in_the_safe_direction(rho: Fraction) -> None:
    epsilon = pure_epsilon(rho)
    assert rho_of(epsilon) <= rho
    assert rho_of(epsilon * Fraction(100001, 100000)) > rho


def test_rho_adds_up_to_the_budget_and_no_further(tmp_path: Path) -> None:
    ledger = make(tmp_path, delta="1e-6", filter="zcdp")
    rho = ledger.terms.rho
    assert rho is not None
    pay(ledger, "a", 1, delta=MILLIONTH, rho=rho / 2)
    assert ledger.left().rho == rho / 2
    with pytest.raises(BudgetExceeded, match=r"of rho = .* is spent, .* is asked and .* is left \(a pure epsilon of"):
        pay(ledger, "b", 1, delta=MILLIONTH, rho=rho / 2 + Fraction(1, 10**40))
    pay(ledger, "b", 1, delta=MILLIONTH, rho=rho / 2)
    assert ledger.left() == Cost(Fraction(0), Fraction(0), Fraction(0))
    spent = ledger.spent()
    assert spent.rho == rho and Fraction(2999, 1000) < spent.epsilon <= 3 and spent.delta == MILLIONTH
    assert ledger.verify().holds


def test_many_small_pure_releases_last_longer_under_zcdp(tmp_path: Path) -> None:
    ledger = make(tmp_path, delta="1e-6", filter="zcdp")
    total, number = Cost(Fraction(0), Fraction(0), Fraction(0)), 0
    while ledger.terms.allow(ledger.terms.add(total, Cost(Fraction(1, 100)))):
        total, number = ledger.terms.add(total, Cost(Fraction(1, 100))), number + 1
    assert number > 2000 > 300  # the sum filter pays for 300
    assert ledger.left().epsilon > Fraction(1, 2)


def test_what_is_left_can_be_spent_under_zcdp(tmp_path: Path) -> None:
    ledger = make(tmp_path, delta="1e-6", filter="zcdp")
    pay(ledger, "a", "0.3")
    pay(ledger, "b", ledger.left().epsilon)
    with pytest.raises(BudgetExceeded):
        pay(ledger, "c", "0.01")


def test_a_cost_without_rho_is_refused_by_zcdp(tmp_path: Path) -> None:
    ledger = make(tmp_path, delta="1e-6", filter="zcdp")
    with pytest.raises(InvalidInput, match="a delta and no rho"):
        pay(ledger, "a", 1, delta=MILLIONTH)
    assert len(ledger.events()) == 1


def test_a_pure_cost_is_priced_by_the_least_rho_known() -> None:
    assert Cost(Fraction(4), rho=Fraction(8)).concentrated() == rho_of(Fraction(4)) < 4
    assert Cost(Fraction(4), rho=Fraction(1, 8)).concentrated() == Fraction(1, 8)
    assert Cost(Fraction(4), MILLIONTH, Fraction(8)).concentrated() == 8
    assert Cost(Fraction(400)).concentrated() == 400


# ------------------------------------------------------------------------------------------------ what it refuses


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        ({"epsilon": 0}, "above 0"),
        ({"epsilon": -1}, "above 0"),
        ({"epsilon": 10**9}, "at most 10000"),
        ({"epsilon": float("nan")}, "finite"),
        ({"epsilon": "lots"}, "finite number"),
        ({"delta": 1}, "below 1"),
        ({"delta": -1}, "at least 0"),
        ({"relation": "swap"}, "add-remove, substitution"),
        ({"filter": "moments"}, "sum, zcdp"),
        ({"filter": "zcdp"}, "needs a delta above 0"),
        ({"dataset": ""}, "printable"),
        ({"dataset": "a\x1b[2Jb"}, "printable"),
        ({"unit": "x" * 201}, "1 to 200"),
    ],
    ids=str,
)
def test_terms_that_make_no_sense_are_refused_before_a_file_is_made(
    tmp_path: Path, terms: dict[str, object], says: str
) -> None:
    with pytest.raises(InvalidInput, match=says):
        make(tmp_path, **terms)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_never_overwritten(used: Ledger) -> None:
    before = Path(used.name).read_bytes()
    with pytest.raises(InvalidInput, match="exists already"):
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
    with pytest.raises(InvalidInput, match="never given back"):
        cost()


def test_costs_that_cannot_be_are_refused(ledger: Ledger) -> None:
    with pytest.raises(InvalidInput, match="delta = 1"):
        pay(ledger, "a", 1, delta=Fraction(1))
    with pytest.raises(InvalidInput, match="rho = 0"):
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
    with pytest.raises(InvalidInput, match="50 deep"):
        ledger.reserve("q", request, Cost(Fraction(1)))


def test_only_bytes_are_answers(ledger: Ledger) -> None:
    with pytest.raises(WrongType, match="got str"):
        ledger.commit(pay(ledger, "q"), "text")  # type: ignore[arg-type]


def test_a_reservation_of_another_ledger_is_refused(tmp_path: Path, ledger: Ledger) -> None:
    other = Ledger.create(tmp_path / "other", dataset="visits", unit="person", epsilon=3)
    pay(other, "q")
    with pytest.raises(InvalidInput, match="not a reservation"):
        other.commit(pay(ledger, "q"), b"")


# ------------------------------------------------------------------------------------------------ files that are none


def test_a_missing_ledger_is_refused_with_the_line_to_type(tmp_path: Path) -> None:
    path = tmp_path / "my study.ledger"
    with pytest.raises(UnreadableFile) as problem:
        Ledger.open(path, hint={"data": "data/visits.csv", "unit": "person", "epsilon": Fraction(3, 2), "delta": 0})
    line = f"discreet ledger init '{path}' --data data/visits.csv --unit person --epsilon 3/2"
    assert str(problem.value).endswith(line)
    assert not path.exists()


def test_the_line_to_type_names_what_is_unusual() -> None:
    hint = {"dataset": "v", "relation": "substitution", "delta": "1e-6", "filter": "zcdp"}
    assert init_line("l", hint) == (
        "discreet ledger init l --data v --unit COLUMN --epsilon 1 --delta 1e-6 --relation substitution --filter zcdp"
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"site,count\n1,2\n" * 100, "is not a ledger"),
        (b"SQLite format 3\0", "not a ledger|damaged"),
    ],
    ids=["empty", "csv", "cut"],
)
def test_a_file_that_is_not_a_ledger_is_refused_and_left_alone(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "x.ledger"
    file.write_bytes(content)
    with pytest.raises(UnreadableFile, match=says):
        Ledger.open(file)
    assert not verify_store(SqliteStore(file)).holds
    assert file.read_bytes() == content and list(tmp_path.iterdir()) == [file]


def test_another_database_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute("CREATE TABLE events (number, body, hash)")
    connection.close()
    with pytest.raises(UnreadableFile, match="a SQLite database, but not a ledger"):
        Ledger.open(tmp_path / "x.db")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="is a folder"):
        Ledger.open(tmp_path)


def test_a_newer_format_asks_for_an_upgrade(used: Ledger) -> None:
    tamper(used, f"PRAGMA user_version = {ledger_store.FORMAT + 1}")
    for read in (lambda: Ledger.open(used.name), used.spent, lambda: pay(used, "c")):
        with pytest.raises(UnreadableFile, match=r"format 2; this program reads format 1. Upgrade discreet"):
            read()


def test_a_cut_file_is_refused(used: Ledger) -> None:
    content = Path(used.name).read_bytes()
    Path(used.name).write_bytes(content[: len(content) // 2])
    assert not used.verify().holds
    with pytest.raises(UnreadableFile):
        pay(used, "c")


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """As root, whom permissions do not stop, act as somebody else for a while."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder below which others may look, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="ledger-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o555), (0o444, 0o777), (0o666, 0o555)])
def test_a_read_only_ledger_can_be_read_and_not_spent(open_folder: Path, file_mode: int, folder_mode: int) -> None:
    ledger = make(open_folder)
    paid = pay(ledger, "a")
    ledger.commit(paid, b"seven")
    Path(ledger.name).chmod(file_mode)
    open_folder.chmod(folder_mode)
    with unprivileged():
        assert Ledger.open(ledger.name).recorded("a").answer == b"seven"  # type: ignore[union-attr]
        assert ledger.verify().holds
        with pytest.raises(UnreadableFile, match=r"read-only|permissions"):
            pay(ledger, "b")
    open_folder.chmod(0o755)
    assert ledger.spent().epsilon == 1


def test_a_ledger_cannot_be_made_where_nothing_can_be_written(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    with unprivileged(), pytest.raises(UnreadableFile, match=r"cannot create .*Permission denied"):
        make(open_folder)
    with pytest.raises(UnreadableFile, match=r"cannot create .*No such file"):
        make(open_folder / "no such folder")


def test_a_creation_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_store, "_GUARDS", ("CREATE nonsense",))
    with pytest.raises(UnreadableFile):
        make(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_odd_names_of_files_work(tmp_path: Path) -> None:
    for name in ["a b", "q?mode=memory", "50%25", "#1", "it's", "naïve ☃", ":memory:", "file:x"]:
        path = tmp_path / name
        ledger = Ledger.create(path, dataset="visits", unit="row", epsilon=1)
        pay(ledger, "q")
        assert path.is_file() and Ledger.open(path).spent().epsilon == 1


# ------------------------------------------------------------------------------------------------ the secret


def test_only_the_owner_may_read_a_ledger(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        ledger = make(tmp_path)
    finally:
        os.umask(before)
    pay(ledger, "q")
    assert stat.S_IMODE(Path(ledger.name).stat().st_mode) == 0o600


def test_the_key_is_random_kept_and_never_shown(tmp_path: Path, used: Ledger) -> None:
    key = used.terms.key
    other = Ledger.create(tmp_path / "other", dataset="visits", unit="person", epsilon=3)
    assert Ledger.open(used.name).terms.key == key != other.terms.key
    shown = [repr(used), repr(used.terms), json.dumps(used.terms.describe()), repr(used.events()), repr(used.entries())]
    shown += [repr(used.verify()), str(used.recorded("a"))]
    for text in shown:
        assert key.hex() not in text and repr(key)[2:-1] not in text


# ------------------------------------------------------------------------------------------------ alterations


def tamper(ledger: Ledger, *statements: str, guards: bool = True) -> None:
    """Alter the file as somebody with SQLite would, who takes care to put the guards back."""
    connection = sqlite3.connect(ledger.name, isolation_level=None)
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    for _, sql in triggers if guards else []:
        connection.execute(sql)
    connection.close()


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
        with pytest.raises(UnreadableFile, match="missing or was altered"):
            used.recorded("a"), used.recorded("b")
    else:
        for use in (used.spent, lambda: pay(used, "new", "0.1"), lambda: Ledger.open(used.name)):
            with pytest.raises(UnreadableFile, match="was altered"):
                use()


def test_two_events_that_changed_places_are_found(used: Ledger) -> None:
    swap = [f"UPDATE events SET number = {new} WHERE number = {old}" for old, new in ((2, 99), (4, 2), (99, 4))]
    tamper(used, *swap)
    (problem,) = used.verify().problems
    assert "event 2" in problem


def test_missing_guards_are_found(used: Ledger) -> None:
    tamper(used, guards=False)
    assert "triggers" in used.verify().problems[0]
    with pytest.raises(UnreadableFile, match="triggers"):
        pay(used, "c")


def test_an_added_trigger_is_found(used: Ledger) -> None:
    tamper(used, "CREATE TRIGGER sly AFTER INSERT ON events BEGIN DELETE FROM contents; END")
    with pytest.raises(UnreadableFile, match="triggers"):
        pay(used, "c")


@pytest.mark.parametrize("table", ["events", "contents", "secret"])
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
    assert used.verify().holds and not used.verify([last.head]).holds


def test_a_ledger_that_was_replaced_is_noticed_by_who_has_it_open(tmp_path: Path, ledger: Ledger) -> None:
    other = Ledger.create(tmp_path / "other", dataset="visits", unit="person", epsilon=300)
    shutil.copy(other.name, ledger.name)
    with pytest.raises(UnreadableFile, match="replaced"):
        pay(ledger, "q")


def rebuilt(ledger: Ledger, change: Callable[[int, str, dict[str, object]], None]) -> None:
    """Rewrite the whole chain with changed contents and correct hashes, as a forger who knows the rule."""
    events: list[ledger_store.Event] = []
    for event in ledger.events():
        content = json.loads(json.dumps(event.content))
        change(event.number, event.kind, content)
        events.append(next_event(events, event.kind, event.time, content))
    updates = [
        f"UPDATE events SET body = '{event.row.body}', hash = '{event.hash}' WHERE number = {event.number}"
        for event in events
    ]
    tamper(ledger, *updates)


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
        (3, {"reservation": 6}, "lacks"),
        (3, {"reservation": 4}, "lacks"),
        (6, {"reservation": 2}, "not the one answer"),
        (6, {"reservation": 2, "key": "a"}, "not the one answer"),
        (6, {"reservation": [2]}, "lacks"),
        (1, {"filter": "free"}, "sum, zcdp"),
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
        with pytest.raises(UnreadableFile, match="not one that was reserved"):
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
from discreet.release.ledger import Ledger
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


names = st.text(max_size=8)
contents = st.dictionaries(
    names, st.recursive(st.none() | st.booleans() | st.integers() | names, lambda inner: st.lists(inner), max_leaves=5)
)


@given(st.lists(contents, min_size=1, max_size=6), st.data())
def test_any_single_change_breaks_a_chain(said: list[dict[str, object]], data: st.DataObject) -> None:
    events: list[ledger_store.Event] = []
    for content in said:
        events.append(next_event(events, "reserve", "2026-01-01T00:00:00Z", content))
    rows = [event.row for event in events]
    assert read_chain(rows) == (events, [])
    k = data.draw(st.integers(0, len(rows) - 1))
    place = data.draw(st.integers(0, len(rows[k].body) - 1))
    other = data.draw(st.characters(min_codepoint=32, max_codepoint=126).filter(lambda c: c != rows[k].body[place]))
    body = rows[k].body[:place] + other + rows[k].body[place + 1 :]
    for changed in (Row(rows[k].number, body, rows[k].hash), Row(rows[k].number, body, digest_of(body.encode()))):
        found, problems = read_chain([*rows[:k], changed, *rows[k + 1 :]])
        if k < len(rows) - 1 or changed.hash == rows[k].hash:
            assert problems and len(found) <= k + 1
    if k < len(rows) - 1:
        assert read_chain([*rows[:k], *rows[k + 1 :]])[1]
        assert read_chain([*rows[:k], rows[k + 1], rows[k], *rows[k + 2 :]])[1]


def test_canonical_json_is_one_spelling() -> None:
    assert canonical_json({"b": 1, "a": [True, "é"]}) == canonical_json({"a": (True, "é"), "b": 1})
    with pytest.raises(WrongType, match="no floats"):
        canonical_json({"a": [1.0]})


# ------------------------------------------------------------------------------------------------ numbers


@given(st.fractions(), st.integers(1, 20))
def test_rounding_goes_the_way_it_says(value: Fraction, digits: int) -> None:
    low, high = round_down(value, digits), round_up(value, digits)
    assert low <= value <= high
    assert high - low <= abs(value) * Fraction(10) ** (1 - digits) * Fraction(1001, 1000)


@given(st.fractions(min_value=0, max_value=10**6))
def test_printed_numbers_are_on_the_safe_side(value: Fraction) -> None:
    assert Fraction(short(value, up=False)) <= value <= Fraction(short(value, up=True))


@given(st.fractions(min_value=0))
def test_fractions_as_text_are_lossless(value: Fraction) -> None:
    assert read_exact(exact_text(value)) == value


def test_fractions_of_any_length_are_lossless() -> None:
    value = Fraction(7**20_000, 2**60_000)
    assert read_exact(exact_text(value)) == value
    cost = Cost(value, MILLIONTH, Fraction(1, 3))
    assert Cost.from_description(json.loads(json.dumps(cost.describe()))) == cost


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
        "import os, sys; from fractions import Fraction; from discreet.release.ledger import Cost, Ledger\n"
        "ledger = Ledger.open(sys.argv[1])\n"
        "if os.fork() == 0:\n"
        "    ledger.reserve('child', {}, Cost(Fraction(1, 10))); os._exit(0)\n"
        "ledger.reserve('parent', {}, Cost(Fraction(1, 10))); assert os.wait()[1] == 0\n"
        "assert {'child', 'parent'} <= {o.key for o in ledger.orphans()} and ledger.verify().holds"
    )
    subprocess.run([sys.executable, "-c", script, used.name], check=True)


def test_a_writer_that_takes_too_long_is_reported(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_store, "PATIENCE", 0.05)
    other = sqlite3.connect(ledger.name, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    for use in (lambda: pay(ledger, "q"), ledger.verify):  # being in use is nothing against a ledger
        with pytest.raises(UnreadableFile, match="in use by another process"):
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
