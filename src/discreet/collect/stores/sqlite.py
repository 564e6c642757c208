"""Reports in one SQLite file, written by one process."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain, groupby
from pathlib import Path
from typing import ClassVar

from ...databases.failures import Failures, StoreUnavailable
from ...databases.sqlite import Mark, connect, make_private_file, read_mark, withheld, write_mark
from ...errors import DiscreetError, InvalidInput, UnreadableFile
from ...strict_json import read_json
from ...system import FileLock, lock_file
from .. import keys
from .base import (
    NO_DAY,
    REWRITTEN,
    Batch,
    KeyDays,
    NameTaken,
    Outcome,
    ReportStore,
    StoredCollection,
    StoredToken,
    decide,
    increments,
    next_horizon,
    refused_keys,
    stored,
)

#: The version of the file's layout, kept in SQLite's ``user_version``.
FORMAT = 2

#: "dscR": marks a SQLite file as a store of reports.
_APPLICATION = 0x64736352

#: How long one thread waits for another, in seconds.
PATIENCE = 30.0

#: How long readers are waited for before the log is emptied later instead, in milliseconds.
BRIEFLY = 100

#: Pages that the log may have before they go into the file, and the memory for pages of the file, in kibibytes.
CHECKPOINT, CACHE = 16_384, 65_536

_WRITER_SETTINGS = {
    "synchronous": "FULL",
    "wal_autocheckpoint": f"{CHECKPOINT}",
    "cache_size": f"-{CACHE}",
    "secure_delete": "ON",
    "temp_store": "MEMORY",
}

#: How many rows one statement looks up or inserts.
AT_ONCE = 500

_LAYOUT = (
    "CREATE TABLE collections (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE mechanisms (number INTEGER PRIMARY KEY, collection TEXT NOT NULL, position INTEGER NOT NULL, "
    "UNIQUE (collection, position))",
    "CREATE TABLE counts (mechanism INTEGER NOT NULL, report INTEGER NOT NULL, times INTEGER NOT NULL, "
    "PRIMARY KEY (mechanism, report)) WITHOUT ROWID",
    # ordered by the hash of the key within its day, which tells nothing about the order in which batches came
    "CREATE TABLE batches (day INTEGER NOT NULL, key BLOB NOT NULL, digest BLOB NOT NULL, "
    "PRIMARY KEY (day, key)) WITHOUT ROWID",
    "CREATE TABLE tokens (name TEXT PRIMARY KEY, secret_hash BLOB NOT NULL, right TEXT NOT NULL, collection TEXT) "
    "WITHOUT ROWID",
    "CREATE TABLE horizon (one INTEGER PRIMARY KEY CHECK (one = 1), day INTEGER NOT NULL)",
)

#: Statements that turn a store of format 1 into one of format 2. Which days its keys had is not known.
_SINCE_FORMAT_2 = (
    "ALTER TABLE horizon ADD COLUMN first INTEGER NOT NULL DEFAULT 0",
    # keys that were refused for their day, and that day
    "CREATE TABLE refused (key BLOB PRIMARY KEY, day INTEGER NOT NULL) WITHOUT ROWID",
)


_DAMAGED = ("is damaged, or is not a store of reports.", "Restore a copy of it.")

#: What SQLite finds, in words that say what to do.
_FAILURES = Failures(
    unavailable={
        "SQLITE_BUSY": ("is in use by another program.", "Nothing was written; try again."),
        "SQLITE_LOCKED": ("is in use by another program.", "Nothing was written; try again."),
        "SQLITE_READONLY": ("cannot be written: it, or its folder, is read-only.", "Change its permissions."),
        "SQLITE_PERM": ("cannot be opened: permission denied.", "Change its permissions."),
        "SQLITE_CANTOPEN": ("cannot be opened.", "Look at the permissions of the file and of its folder."),
        "SQLITE_FULL": ("cannot be written: the disk is full.", "Make room, and try again."),
        "SQLITE_IOERR": ("cannot be read or written: the disk fails.", "Look at the disk."),
    },
    unreadable={"SQLITE_NOTADB": _DAMAGED, "SQLITE_CORRUPT": _DAMAGED},
    other=lambda name, code: InvalidInput(
        f"{name} cannot be used as a store of reports ({code}).", "Name another file."
    ),
)


class SqliteReports(ReportStore):
    """Reports in one SQLite file, with a write-ahead log.

    A group of batches is on the disk when ``add`` returns (``synchronous=FULL``). Exactly one process writes: it holds
    a lock on the file ``NAME.lock`` beside the store for as long as it lives, whatever ends it. Readers see the last
    group that was written and never wait for the writer.

    The log holds every group since the store was settled, and pages hold their rows in the order in which they came.
    Settling writes both tables anew and empties the log; what is deleted is overwritten (``secure_delete``).
    """

    several_writers: ClassVar[bool] = False

    def __init__(self, address: str) -> None:
        self._path = Path(address)
        self._lock_file: FileLock | None = None
        self._connection: sqlite3.Connection | None = None
        self._turn = threading.Lock()
        self._settled = True

    @property
    def name(self) -> str:
        return str(self._path)

    def open(self) -> None:
        if self._path.is_dir():
            raise UnreadableFile(f"{self.name} is a folder; a store of reports is a file.")
        self._lock_file = self._take_lock()
        try:
            if not self._path.exists():
                make_private_file(self._path, new=False)  # it holds hashes of tokens
            self._connection = self._connected("rw")
            with self._in_words():
                self._prepare(self._connection)
            self._settled = False  # the process before may have been killed
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        try:
            with suppress(DiscreetError):  # whoever opens it next settles it
                self.settle()
        finally:
            with self._turn:
                if self._connection is not None:
                    self._connection.close()
                    self._connection, self._settled = None, True
                if self._lock_file is not None:
                    self._lock_file.close()
                    self._lock_file = None

    # ---------------------------------------------------------------- batches

    def add(self, batches: Sequence[Batch]) -> list[Outcome]:
        with self._writing() as connection:
            self._settled = False
            days = _days(connection)
            outcomes = decide(batches, _known(connection, batches), _refused(connection, batches), days)
            new = stored(batches, outcomes)
            first = min((one.day for one in new), default=NO_DAY)
            if first < days.first:
                connection.execute("UPDATE horizon SET first = ?", (first,))
            refused = refused_keys(batches, outcomes, days.horizon)
            connection.executemany("INSERT OR IGNORE INTO refused VALUES (?, ?)", refused)
            _insert(connection, "INSERT INTO batches VALUES", [(one.day, one.key, one.digest) for one in new])
            _insert(connection, "INSERT INTO counts VALUES", increments(new), _ADDED_UP)
        return outcomes

    def settle(self) -> None:
        if self._settled:
            return
        with self._writing() as connection:
            _write_anew(connection, "counts", "mechanism, report")
            (some,) = connection.execute(
                f"SELECT count(*) FROM (SELECT 1 FROM batches LIMIT {REWRITTEN + 1})"
            ).fetchone()
            if some <= REWRITTEN:
                _write_anew(connection, "batches", "day, key")
        with self._turn, self._in_words():
            if self._connection is not None:
                self._settled = _empty_log(self._connection)

    def key_days(self) -> KeyDays:
        with self._reading() as connection:
            return _days(connection)

    def forget_keys(self) -> int:
        with self._writing() as connection:
            self._settled = False
            days = _days(connection)
            sql = "SELECT (SELECT min(day) FROM batches), (SELECT max(day) FROM batches)"
            oldest, newest = connection.execute(sql).fetchone()
            connection.execute("UPDATE horizon SET day = ?", (next_horizon(days, oldest, newest),))
            connection.execute("DELETE FROM refused WHERE day < (SELECT day FROM horizon)")
            return connection.execute("DELETE FROM batches WHERE day < (SELECT day FROM horizon)").rowcount

    def lower_horizon(self, day: int) -> None:
        with self._writing() as connection:
            connection.execute("UPDATE horizon SET day = min(day, ?)", (day,))

    def check_writable(self) -> None:
        with self._writing() as connection:
            connection.execute("UPDATE horizon SET day = day")

    def histogram(self, mechanism: int) -> dict[int, int]:
        # as one row: each step of a statement waits for its turn among the threads of the process
        sql = "SELECT json_group_array(json_array(report, times)) FROM counts WHERE mechanism = ?"
        with self._reading() as connection:
            (found,) = connection.execute(sql, (mechanism,)).fetchone()
        return dict(read_json(found, "the histogram"))

    # ---------------------------------------------------------------- collections

    def create_collection(self, name: str, text: str, mechanisms: int) -> StoredCollection:
        with self._writing() as connection:
            if connection.execute("SELECT 1 FROM collections WHERE name = ?", (name,)).fetchone():
                raise NameTaken(f"there is a collection {name!r} already.", "Choose another name.")
            connection.execute("INSERT INTO collections VALUES (?, ?)", (name, text))
            connection.executemany(
                "INSERT INTO mechanisms (collection, position) VALUES (?, ?)", [(name, k) for k in range(mechanisms)]
            )
        found = self.collection(name)
        assert found is not None  # nothing is deleted
        return found

    def collection(self, name: str) -> StoredCollection | None:
        with self._reading() as connection:
            found = connection.execute("SELECT text FROM collections WHERE name = ?", (name,)).fetchone()
            sql = "SELECT number FROM mechanisms WHERE collection = ? ORDER BY position"
            numbers = tuple(row[0] for row in connection.execute(sql, (name,)))
        return None if found is None else StoredCollection(name, found[0], numbers)

    def collection_names(self) -> list[str]:
        with self._reading() as connection:
            return [row[0] for row in connection.execute("SELECT name FROM collections ORDER BY name")]

    # ---------------------------------------------------------------- tokens

    def add_token(self, token: StoredToken) -> None:
        row = (token.name, token.secret_hash, token.right, token.collection)
        with self._writing() as connection:
            connection.execute("INSERT INTO tokens VALUES (?, ?, ?, ?)", row)

    def token(self, name: str) -> StoredToken | None:
        with self._reading() as connection:
            found = connection.execute("SELECT * FROM tokens WHERE name = ?", (name,)).fetchone()
        return None if found is None else StoredToken(*found)

    def remove_token(self, name: str) -> bool:
        with self._writing() as connection:
            return connection.execute("DELETE FROM tokens WHERE name = ?", (name,)).rowcount > 0

    # ---------------------------------------------------------------- connections

    def _take_lock(self) -> FileLock:
        """Hold the lock of the one process that writes; the system gives it back when the process ends."""
        beside = self._path.with_name(f"{self._path.name}.lock")
        try:
            lock = lock_file(beside)
        except OSError as problem:
            raise UnreadableFile(f"cannot create {beside}: {problem.strerror or problem}.") from None
        if lock is None:
            raise StoreUnavailable(
                f"{self.name} is in use by another process.",
                "A SQLite store has one writer: stop the other service, or keep reports in PostgreSQL.",
            )
        return lock

    def _connected(self, mode: str) -> sqlite3.Connection:
        settings = _WRITER_SETTINGS if mode == "rw" else {}
        with self._in_words():
            return connect(self._path, mode, timeout=PATIENCE, settings=settings, one_thread=False)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the tables of an empty file, and refuse a file that holds something else."""
        application, version = read_mark(connection)
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != _APPLICATION and tables:
            raise UnreadableFile(f"{self.name} is a SQLite database, but not a store of reports.", "Name another file.")
        if application == _APPLICATION and version not in (1, FORMAT):
            raise UnreadableFile(
                f"{self.name} is a store of format {version}; this program reads format {FORMAT}.", "Upgrade discreet."
            )
        if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise UnreadableFile(f"{self.name} cannot have a write-ahead log.", "Keep it on a disk of this computer.")
        if (application, version) == (_APPLICATION, FORMAT):
            return
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SINCE_FORMAT_2 if application == _APPLICATION else (*_LAYOUT, *_SINCE_FORMAT_2):
            connection.execute(statement)
        if application != _APPLICATION:
            connection.execute("INSERT INTO horizon VALUES (1, 0, ?)", (NO_DAY,))
        write_mark(connection, Mark(_APPLICATION, FORMAT))
        connection.execute("COMMIT")

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._turn, self._in_words():
            connection = self._connection
            if connection is None:
                raise StoreUnavailable(f"{self.name} is closed.", "Open it first.")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        connection = self._connected("ro")
        try:
            with self._in_words():
                connection.execute("BEGIN")
                yield connection
        finally:
            connection.close()

    def _in_words(self) -> AbstractContextManager[None]:
        """Turn what SQLite says into words that say what to do."""
        return withheld(self.name, _FAILURES)


#: What becomes of a count that is there already.
_ADDED_UP = "ON CONFLICT (mechanism, report) DO UPDATE SET times = times + excluded.times"


def _insert(connection: sqlite3.Connection, start: str, rows: Sequence[tuple[object, ...]], end: str = "") -> None:
    """Insert many rows by few statements.

    Each step of a statement gives other threads of the process their turn, and has to wait for its own after it: a
    step for each row would make the writer wait for the event loop hundreds of times in a group.
    """
    for first in range(0, len(rows), AT_ONCE):
        some = rows[first : first + AT_ONCE]
        marks = ", ".join(["(?, ?, ?)"] * len(some))
        connection.execute(f"{start} {marks} {end}", list(chain.from_iterable(some)))


def _write_anew(connection: sqlite3.Connection, table: str, order: str) -> None:
    """Write all rows of a table in an order: a page holds rows in the order in which they were written."""
    connection.execute(f"CREATE TEMP TABLE old AS SELECT * FROM {table}")
    connection.execute(f"DELETE FROM {table}")
    connection.execute(f"INSERT INTO {table} SELECT * FROM old ORDER BY {order}")
    connection.execute("DROP TABLE old")


def _empty_log(connection: sqlite3.Connection) -> bool:
    """Write the log into the file and make it empty; says whether that was possible while others read."""
    connection.execute(f"PRAGMA busy_timeout = {BRIEFLY}")  # the writer waits meanwhile
    try:
        (in_use, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(1000 * PATIENCE)}")
    return not in_use


def _days(connection: sqlite3.Connection) -> KeyDays:
    """Return the days by which keys are judged, by the clock of this computer."""
    horizon, first = connection.execute("SELECT day, first FROM horizon").fetchone()
    return KeyDays(horizon, first, keys.today())


def _known(connection: sqlite3.Connection, batches: Sequence[Batch]) -> dict[bytes, bytes]:
    """Which keys were counted before, and the digests of their bodies."""
    known: dict[bytes, bytes] = {}
    for day, group in groupby(sorted(batches, key=lambda one: one.day), key=lambda one: one.day):
        for some in _some_at_once([one.key for one in group]):
            sql = f"SELECT key, digest FROM batches WHERE day = ? AND key IN ({', '.join('?' * len(some))})"
            known.update(connection.execute(sql, (day, *some)))
    return known


def _refused(connection: sqlite3.Connection, batches: Sequence[Batch]) -> set[bytes]:
    """Return the keys that were refused for their day; hardly ever is there one."""
    if connection.execute("SELECT 1 FROM refused LIMIT 1").fetchone() is None:
        return set()
    refused: set[bytes] = set()
    for some in _some_at_once([one.key for one in batches]):
        sql = f"SELECT key FROM refused WHERE key IN ({', '.join('?' * len(some))})"
        refused.update(row[0] for row in connection.execute(sql, some))
    return refused


def _some_at_once(all_keys: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Yield keys in portions that one statement looks up."""
    for start in range(0, len(all_keys), AT_ONCE):
        yield all_keys[start : start + AT_ONCE]
