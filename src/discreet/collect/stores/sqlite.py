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
    MAX_REWRITTEN_TRACES,
    NO_DAY,
    Batch,
    KeyDays,
    NameTaken,
    Outcome,
    ReportStore,
    StoredCollection,
    StoredToken,
    batches_to_count,
    decide,
    increments,
    next_horizon,
    refused_keys,
)

#: Version of the file's layout, kept in SQLite's ``user_version``.
FORMAT = 2

#: "dscR": marks a SQLite file as a store of reports.
_APPLICATION = 0x64736352

#: Seconds for which one thread waits for another.
LOCK_TIMEOUT_SECONDS = 30.0

#: Milliseconds to wait for readers before the log is emptied later instead.
READER_WAIT_MILLISECONDS = 100

#: Pages of the log before they are moved into the file; memory for pages of the file, in kibibytes.
MAX_LOG_PAGES, CACHE_KIBIBYTES = 16_384, 65_536

_WRITER_SETTINGS = {
    "synchronous": "FULL",
    "wal_autocheckpoint": f"{MAX_LOG_PAGES}",
    "cache_size": f"-{CACHE_KIBIBYTES}",
    "secure_delete": "ON",
    "temp_store": "MEMORY",
}

#: Number of rows that one statement looks up or inserts.
ROWS_PER_STATEMENT = 500

_LAYOUT = (
    "CREATE TABLE collections (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE mechanisms (number INTEGER PRIMARY KEY, collection TEXT NOT NULL, position INTEGER NOT NULL, "
    "UNIQUE (collection, position))",
    "CREATE TABLE counts (mechanism INTEGER NOT NULL, report INTEGER NOT NULL, times INTEGER NOT NULL, "
    "PRIMARY KEY (mechanism, report)) WITHOUT ROWID",
    # ordered by the hash of the key within its day, which does not reveal the order of arrival
    "CREATE TABLE batches (day INTEGER NOT NULL, key BLOB NOT NULL, digest BLOB NOT NULL, "
    "PRIMARY KEY (day, key)) WITHOUT ROWID",
    "CREATE TABLE tokens (name TEXT PRIMARY KEY, secret_hash BLOB NOT NULL, right TEXT NOT NULL, collection TEXT) "
    "WITHOUT ROWID",
    "CREATE TABLE horizon (one INTEGER PRIMARY KEY CHECK (one = 1), day INTEGER NOT NULL)",
)

#: Statements that migrate a store of format 1 to format 2. The days of its keys are unknown.
_SINCE_FORMAT_2 = (
    "ALTER TABLE horizon ADD COLUMN first INTEGER NOT NULL DEFAULT 0",
    # keys that were refused for their day, and that day
    "CREATE TABLE refused (key BLOB PRIMARY KEY, day INTEGER NOT NULL) WITHOUT ROWID",
)


_DAMAGED_FILE = ("is damaged, or is not a store of reports.", "Restore a copy of it.")

#: SQLite's errors, as messages with advice.
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
    unreadable={"SQLITE_NOTADB": _DAMAGED_FILE, "SQLITE_CORRUPT": _DAMAGED_FILE},
    other=lambda name, code: InvalidInput(
        f"{name} cannot be used as a store of reports ({code}).", "Name another file."
    ),
)


class SqliteReports(ReportStore):
    """Reports in one SQLite file, with a write-ahead log.

    A group of batches is on the disk when ``add`` returns (``synchronous=FULL``). Exactly one process writes: it holds
    a lock on the file ``NAME.lock`` next to the store until it ends, even by a crash. Readers see the last
    group that was written and never wait for the writer.

    The log holds every group since the store was settled, and pages hold their rows in order of arrival.
    Settling rewrites both tables and empties the log; deleted rows are overwritten (``secure_delete``).
    """

    several_writers: ClassVar[bool] = False

    def __init__(self, address: str) -> None:
        self._path = Path(address)
        self._lock_file: FileLock | None = None
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._is_settled = True

    @property
    def name(self) -> str:
        return str(self._path)

    def open(self) -> None:
        if self._path.is_dir():
            raise UnreadableFile(f"{self.name} is a folder; a store of reports is a file.")
        self._lock_file = self._take_lock()
        try:
            if not self._path.exists():
                make_private_file(self._path, new=False)  # as it holds hashes of tokens
            self._connection = self._connect("rw")
            with self._in_words():
                self._prepare(self._connection)
            self._is_settled = False  # the previous process may have been killed
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        try:
            with suppress(DiscreetError):  # the next open settles it
                self.settle()
        finally:
            with self._lock:
                if self._connection is not None:
                    self._connection.close()
                    self._connection, self._is_settled = None, True
                if self._lock_file is not None:
                    self._lock_file.close()
                    self._lock_file = None

    # ---------------------------------------------------------------- batches

    def add(self, batches: Sequence[Batch]) -> list[Outcome]:
        with self._write_transaction() as connection:
            self._is_settled = False
            days = _days(connection)
            outcomes = decide(batches, _counted_digests(connection, batches), _refused_keys(connection, batches), days)
            new = batches_to_count(batches, outcomes)
            first = min((batch.day for batch in new), default=NO_DAY)
            if first < days.first:
                connection.execute("UPDATE horizon SET first = ?", (first,))
            refused = refused_keys(batches, outcomes, days.horizon)
            connection.executemany("INSERT OR IGNORE INTO refused VALUES (?, ?)", refused)
            _insert(connection, "INSERT INTO batches VALUES", [(batch.day, batch.key, batch.digest) for batch in new])
            _insert(connection, "INSERT INTO counts VALUES", increments(new), _ADD_TO_COUNT)
        return outcomes

    def settle(self) -> None:
        if self._is_settled:
            return
        with self._write_transaction() as connection:
            _rewrite(connection, "counts", "mechanism, report")
            (rows,) = connection.execute(
                f"SELECT count(*) FROM (SELECT 1 FROM batches LIMIT {MAX_REWRITTEN_TRACES + 1})"
            ).fetchone()
            if rows <= MAX_REWRITTEN_TRACES:
                _rewrite(connection, "batches", "day, key")
        with self._lock, self._in_words():
            if self._connection is not None:
                self._is_settled = _empty_log(self._connection)

    def key_days(self) -> KeyDays:
        with self._read_transaction() as connection:
            return _days(connection)

    def forget_keys(self) -> int:
        with self._write_transaction() as connection:
            self._is_settled = False
            days = _days(connection)
            sql = "SELECT (SELECT min(day) FROM batches), (SELECT max(day) FROM batches)"
            oldest, newest = connection.execute(sql).fetchone()
            connection.execute("UPDATE horizon SET day = ?", (next_horizon(days, oldest, newest),))
            connection.execute("DELETE FROM refused WHERE day < (SELECT day FROM horizon)")
            return connection.execute("DELETE FROM batches WHERE day < (SELECT day FROM horizon)").rowcount

    def lower_horizon(self, day: int) -> None:
        with self._write_transaction() as connection:
            connection.execute("UPDATE horizon SET day = min(day, ?)", (day,))

    def check_writable(self) -> None:
        with self._write_transaction() as connection:
            connection.execute("UPDATE horizon SET day = day")

    def histogram(self, mechanism: int) -> dict[int, int]:
        # as one row: each step of a statement waits for the other threads of the process
        sql = "SELECT json_group_array(json_array(report, times)) FROM counts WHERE mechanism = ?"
        with self._read_transaction() as connection:
            (text,) = connection.execute(sql, (mechanism,)).fetchone()
        return dict(read_json(text, "the histogram"))

    # ---------------------------------------------------------------- collections

    def create_collection(self, name: str, text: str, mechanisms: int) -> StoredCollection:
        with self._write_transaction() as connection:
            if connection.execute("SELECT 1 FROM collections WHERE name = ?", (name,)).fetchone():
                raise NameTaken(f"there is a collection {name!r} already.", "Choose another name.")
            connection.execute("INSERT INTO collections VALUES (?, ?)", (name, text))
            connection.executemany(
                "INSERT INTO mechanisms (collection, position) VALUES (?, ?)", [(name, k) for k in range(mechanisms)]
            )
        collection = self.collection(name)
        assert collection is not None  # nothing is deleted
        return collection

    def collection(self, name: str) -> StoredCollection | None:
        with self._read_transaction() as connection:
            row = connection.execute("SELECT text FROM collections WHERE name = ?", (name,)).fetchone()
            sql = "SELECT number FROM mechanisms WHERE collection = ? ORDER BY position"
            numbers = tuple(number for (number,) in connection.execute(sql, (name,)))
        return None if row is None else StoredCollection(name, row[0], numbers)

    def collection_names(self) -> list[str]:
        with self._read_transaction() as connection:
            return [row[0] for row in connection.execute("SELECT name FROM collections ORDER BY name")]

    # ---------------------------------------------------------------- tokens

    def add_token(self, token: StoredToken) -> None:
        row = (token.name, token.secret_hash, token.right, token.collection)
        with self._write_transaction() as connection:
            connection.execute("INSERT INTO tokens VALUES (?, ?, ?, ?)", row)

    def token(self, name: str) -> StoredToken | None:
        with self._read_transaction() as connection:
            row = connection.execute("SELECT * FROM tokens WHERE name = ?", (name,)).fetchone()
        return None if row is None else StoredToken(*row)

    def remove_token(self, name: str) -> bool:
        with self._write_transaction() as connection:
            return connection.execute("DELETE FROM tokens WHERE name = ?", (name,)).rowcount > 0

    # ---------------------------------------------------------------- connections

    def _take_lock(self) -> FileLock:
        """Take the lock of the one writing process; the system releases it when the process ends."""
        path = self._path.with_name(f"{self._path.name}.lock")
        try:
            lock = lock_file(path)
        except OSError as problem:
            raise UnreadableFile(f"cannot create {path}: {problem.strerror or problem}.") from None
        if lock is None:
            raise StoreUnavailable(
                f"{self.name} is in use by another process.",
                "A SQLite store has one writer: stop the other service, or keep reports in PostgreSQL.",
            )
        return lock

    def _connect(self, mode: str) -> sqlite3.Connection:
        settings = _WRITER_SETTINGS if mode == "rw" else {}
        with self._in_words():
            return connect(self._path, mode, timeout=LOCK_TIMEOUT_SECONDS, settings=settings, one_thread=False)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Create the tables of an empty file; refuse a file that holds something else."""
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
    def _write_transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._in_words():
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
    def _read_transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self._connect("ro")
        try:
            with self._in_words():
                connection.execute("BEGIN")
                yield connection
        finally:
            connection.close()

    def _in_words(self) -> AbstractContextManager[None]:
        """Replace errors of SQLite by messages with advice."""
        return withheld(self.name, _FAILURES)


#: End of a statement that adds to existing counts.
_ADD_TO_COUNT = "ON CONFLICT (mechanism, report) DO UPDATE SET times = times + excluded.times"


def _insert(connection: sqlite3.Connection, start: str, rows: Sequence[tuple[object, ...]], end: str = "") -> None:
    """Insert many rows by few statements.

    Between two steps of a statement other threads of the process run: a step for each row would make the writer wait
    for the event loop hundreds of times in a group.
    """
    for first in range(0, len(rows), ROWS_PER_STATEMENT):
        portion = rows[first : first + ROWS_PER_STATEMENT]
        marks = ", ".join(["(?, ?, ?)"] * len(portion))
        connection.execute(f"{start} {marks} {end}", list(chain.from_iterable(portion)))


def _rewrite(connection: sqlite3.Connection, table: str, order: str) -> None:
    """Rewrite all rows of a table in an order, in which its pages then hold them."""
    connection.execute(f"CREATE TEMP TABLE old AS SELECT * FROM {table}")
    connection.execute(f"DELETE FROM {table}")
    connection.execute(f"INSERT INTO {table} SELECT * FROM old ORDER BY {order}")
    connection.execute("DROP TABLE old")


def _empty_log(connection: sqlite3.Connection) -> bool:
    """Move the log into the file and empty it; return False if readers prevented that."""
    connection.execute(f"PRAGMA busy_timeout = {READER_WAIT_MILLISECONDS}")  # the writer waits meanwhile
    try:
        (in_use, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(1000 * LOCK_TIMEOUT_SECONDS)}")
    return not in_use


def _days(connection: sqlite3.Connection) -> KeyDays:
    """Return the days by which keys are judged, by the clock of this computer."""
    horizon, first = connection.execute("SELECT day, first FROM horizon").fetchone()
    return KeyDays(horizon, first, keys.today())


def _counted_digests(connection: sqlite3.Connection, batches: Sequence[Batch]) -> dict[bytes, bytes]:
    """Return the keys that were counted before, with the digests of their bodies."""
    digests: dict[bytes, bytes] = {}
    for day, group in groupby(sorted(batches, key=lambda batch: batch.day), key=lambda batch: batch.day):
        for portion in _portions([batch.key for batch in group]):
            sql = f"SELECT key, digest FROM batches WHERE day = ? AND key IN ({', '.join('?' * len(portion))})"
            digests.update(connection.execute(sql, (day, *portion)))
    return digests


def _refused_keys(connection: sqlite3.Connection, batches: Sequence[Batch]) -> set[bytes]:
    """Return the keys that were refused for their day; there is rarely one."""
    if connection.execute("SELECT 1 FROM refused LIMIT 1").fetchone() is None:
        return set()
    refused: set[bytes] = set()
    for portion in _portions([batch.key for batch in batches]):
        sql = f"SELECT key FROM refused WHERE key IN ({', '.join('?' * len(portion))})"
        refused.update(row[0] for row in connection.execute(sql, portion))
    return refused


def _portions(all_keys: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Yield keys in portions that one statement looks up."""
    for start in range(0, len(all_keys), ROWS_PER_STATEMENT):
        yield all_keys[start : start + ROWS_PER_STATEMENT]
