"""The ledger's file: files that are none, files that cannot be written, and the secret in it."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.databases.failures import StoreUnavailable
from discreet.errors import UnreadableFile
from discreet.ledger.budget import Cost
from discreet.ledger.ledger import Ledger, init_line, verify_store
from discreet.ledger.stores import sqlite as ledger_store
from discreet.ledger.stores.sqlite import SqliteStore
from support.ledgers import make, pay, tamper
from support.refusals import refused

# ------------------------------------------------------------------------------------------------ files that are none


def test_a_missing_ledger_is_refused_with_the_line_to_type(tmp_path: Path) -> None:
    path = tmp_path / "my study.ledger"
    with pytest.raises(UnreadableFile) as problem:
        Ledger.open(path, hint={"data": "data/visits.csv", "unit": "person", "epsilon": Fraction(3, 2), "delta": 0})
    line = f"discreet ledger init '{path}' --data data/visits.csv --unit person --epsilon 1.5"
    assert str(problem.value).endswith(line)
    assert not path.exists()


def test_the_line_to_type_names_what_is_unusual() -> None:
    hint = {"dataset": "v", "relation": "substitution", "delta": "1e-6", "filter": "zcdp"}
    assert init_line("l", hint) == (
        "discreet ledger init l --data v --unit COLUMN --epsilon 1 --delta 1e-6 --relation substitution --filter zcdp"
    )


@pytest.mark.parametrize(
    ("cost", "options"),
    [
        (Cost(Fraction(1)), ["--epsilon", "3"]),
        (Cost(Fraction(1, 3)), ["--epsilon", "1"]),
        (Cost(Fraction(999999, 10**7), Fraction(1, 10**6)), ["--epsilon", "0.3", "--delta", "3e-6"]),
        (Cost(Fraction("2.000000001")), ["--epsilon", "10"]),
        (Cost(Fraction(0)), ["--epsilon", "1"]),
    ],
    ids=str,
)
def test_a_missing_ledger_is_proposed_with_a_budget_for_the_life_of_the_data(
    tmp_path: Path, cost: Cost, options: list[str]
) -> None:
    """One release's cost is not a budget for life, and nobody types fractions."""
    with refused(UnreadableFile, token="all releases") as problem:
        Ledger.open(tmp_path / "l", hint={"dataset": "visits", "unit": "row", "cost": cost})
    assert "two more" in str(problem.value)
    words = shlex.split(str(problem.value).splitlines()[-1])
    assert words[words.index("--epsilon") :] == options
    assert Fraction(options[1]) >= 3 * cost.epsilon


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"site,count\n1,2\n" * 100, "not a ledger"),
        (b"SQLite format 3\0", "not a ledger"),
    ],
    ids=["empty", "csv", "cut"],
)
def test_a_file_that_is_not_a_ledger_is_refused_and_left_alone(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "x.ledger"
    file.write_bytes(content)
    with refused(UnreadableFile, token=says):
        Ledger.open(file)
    assert not verify_store(SqliteStore(file)).holds
    assert file.read_bytes() == content and list(tmp_path.iterdir()) == [file]


def test_another_database_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute("CREATE TABLE events (number, body, hash)")
    connection.close()
    with refused(UnreadableFile, token="SQLite database"):
        Ledger.open(tmp_path / "x.db")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with refused(UnreadableFile, token="folder"):
        Ledger.open(tmp_path)


def test_a_newer_format_asks_for_an_upgrade(used: Ledger) -> None:
    tamper(used, f"PRAGMA user_version = {ledger_store.FORMAT + 1}")
    for read in (lambda: Ledger.open(used.name), used.spent, lambda: pay(used, "c")):
        with refused(UnreadableFile, token="format 5 ... up to 4"):
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
        with refused(StoreUnavailable, token=f"{ledger.name} ... read-only"):
            pay(ledger, "b")
    open_folder.chmod(0o755)
    assert ledger.spent().epsilon == 1


def test_a_ledger_cannot_be_made_where_nothing_can_be_written(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    with unprivileged(), refused(UnreadableFile, token="cannot create ... Permission denied"):
        make(open_folder)
    with refused(UnreadableFile, token="cannot create ... No such file"):
        make(open_folder / "no such folder")


def test_a_creation_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_store, "_LAYOUTS", {ledger_store.FORMAT: ("CREATE nonsense",)})
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
    shown = [repr(used), repr(used.terms), json.dumps(used.terms.to_json()), repr(used.events()), repr(used.entries())]
    shown += [repr(used.verify()), str(used.recorded("a"))]
    for text in shown:
        assert key.hex() not in text and repr(key)[2:-1] not in text
