"""A ledger in one SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...databases.failures import Failures
from ...databases.sqlite import Mark, connect, make_private_file, read_mark, withheld, write_mark
from ...errors import InvalidInput, UnreadableFile
from ..chain import EventRow
from .base import Store, StoreSession

#: Version of the file's layout, in SQLite's ``user_version``. Format 1 records no openings; formats 1 and 2 have no
#: table of answers, and format 4 has the tables of 3, for events that state who asked. A program that knows only older
#: formats must not write to a newer file.
FORMAT = 4

#: "dscL", the application id that marks a SQLite file as a ledger.
_APPLICATION_ID = 0x6473634C

#: Largest integer of SQLite.
_LARGEST_INTEGER = 2**63 - 1

#: Seconds that a process waits for another.
LOCK_SECONDS = 60.0

_TABLES = {
    "events": "CREATE TABLE events (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL UNIQUE)",
    "contents": "CREATE TABLE contents (digest TEXT PRIMARY KEY, size INTEGER NOT NULL, packed BLOB NOT NULL)",
    "secret": "CREATE TABLE secret (one INTEGER PRIMARY KEY CHECK (one = 1), key BLOB NOT NULL)",
    "answers": "CREATE TABLE answers (key TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE)",
}


def _layout(*tables: str) -> tuple[str, ...]:
    """Return the statements that make these tables, and triggers that forbid changes.

    Rows are only added. Someone who can write the file can drop the triggers; then the chain reveals changes.
    """
    guards = (
        f"CREATE TRIGGER no_{verb.lower()}_of_{table} BEFORE {verb} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
        for table in tables
        for verb in ("UPDATE", "DELETE")
    )
    return (*(_TABLES[table] for table in tables), *guards)


#: Format -> the statements that make its tables.
_LAYOUTS = {
    1: _layout("events", "contents", "secret"),
    2: _layout("events", "contents", "secret"),
    3: _layout("events", "contents", "secret", "answers"),
    FORMAT: _layout("events", "contents", "secret", "answers"),
}


#: Error codes of SQLite -> message and advice.
_FAILURES = Failures(
    unavailable={
        "SQLITE_BUSY": (
            f"has been in use by another process for {LOCK_SECONDS:g} seconds.", "Nothing was written; try again."
        ),
        "SQLITE_LOCKED": ("is in use by another program.", "Nothing was written; try again."),
        "SQLITE_READONLY": ("cannot be written: it, or the folder it lies in, is read-only. Nothing was written.", ""),
        "SQLITE_PERM": ("cannot be opened: permission denied.", ""),
        "SQLITE_CANTOPEN": ("cannot be opened.", "Look at the permissions of the file and of the folder it lies in."),
        "SQLITE_FULL": ("cannot be written: the disk is full. Nothing was written.", "Make room, and try again."),
        "SQLITE_IOERR": (
            "cannot be read or written: the disk or the network drive fails.", "See discreet ledger show."
        ),
        "SQLITE_TOOBIG": ("cannot keep so large an answer: the limit is a thousand million bytes, compressed.", ""),
    },
    unreadable={
        "SQLITE_NOTADB": ("is not a ledger.", "A ledger is made by: discreet ledger init."),
        "SQLITE_CORRUPT": (
            "is damaged.", "Restore a copy, and compare it with the bundles: discreet ledger verify --bundle."
        ),
        "SQLITE_CONSTRAINT": ("was altered: it has rows that cannot be.", "See discreet ledger verify."),
    },
    other=lambda name, code: UnreadableFile(f"{name} cannot be used as a ledger: SQLite cannot read it."),
)  # fmt: skip


class SqliteSession(StoreSession):
    """A transaction on a SQLite file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, first: int = 1, last: int | None = None) -> list[EventRow]:
        # "all" includes numbers below 1, which only tampering can have written
        low = first if first > 1 or last is not None else -_LARGEST_INTEGER
        high = _LARGEST_INTEGER if last is None else last
        sql = "SELECT number, body, hash FROM events WHERE number BETWEEN ? AND ? ORDER BY number"
        return [EventRow(*row) for row in self._connection.execute(sql, (low, high))]

    def last_number(self) -> int:
        (number,) = self._connection.execute("SELECT max(number) FROM events").fetchone()
        return number if isinstance(number, int) else 0

    def append(self, row: EventRow) -> None:
        self._connection.execute("INSERT INTO events VALUES (?, ?, ?)", (row.number, row.body, row.hash))

    def record_answer(self, key: str, number: int) -> None:
        self._connection.execute("INSERT INTO answers VALUES (?, ?)", (key, number))

    def answer_number(self, key: str) -> int | None:
        row = self._connection.execute("SELECT number FROM answers WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        return row[0] if isinstance(row[0], int) else 0  # a text, which only tampering can have written, names no event

    def answer_count(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM answers").fetchone()[0])

    def answer_numbers(self) -> dict[str, int]:
        return dict(self._connection.execute("SELECT key, number FROM answers"))

    def put_content(self, digest: str, size: int, packed: bytes) -> None:
        self._connection.execute("INSERT OR IGNORE INTO contents VALUES (?, ?, ?)", (digest, size, packed))

    def get_content(self, digest: str) -> tuple[object, object] | None:
        row = self._connection.execute("SELECT size, packed FROM contents WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else (row[0], row[1])

    def secret(self) -> bytes:
        row = self._connection.execute("SELECT key FROM secret").fetchone()
        return bytes(row[0]) if row is not None and isinstance(row[0], bytes) else b""


class SqliteStore(Store):
    """A ledger in one SQLite file, with a rollback journal.

    A write is on the disk when it returns (``synchronous=EXTRA``), writers exclude each other from their first
    statement on (``BEGIN IMMEDIATE``), and a process that dies leaves a journal from which the next one restores the
    file: never delete the ``-journal`` file of a ledger. A connection lasts for one transaction, so that a store may
    be used after a fork and from several threads.
    """

    def __init__(self, address: str | Path) -> None:
        self._path = Path(address)

    @property
    def name(self) -> str:
        return str(self._path)

    @property
    def folder(self) -> Path:
        return self._path.parent

    def exists(self) -> bool:
        if self._path.is_dir():
            raise UnreadableFile(f"{self.name} is a folder; a ledger is a file.")
        return self._path.exists()

    @classmethod
    def create(
        cls, address: str | Path, first: EventRow, secret: bytes, fill: Callable[[StoreSession], None] | None = None
    ) -> SqliteStore:
        """Make a file with its first event, in one step; if several processes try, one succeeds."""
        store = cls(address)
        try:
            make_private_file(store._path, new=True)  # it holds the secret key
        except FileExistsError:
            raise InvalidInput(
                f"{store.name} exists already, and a ledger is never overwritten: what was spent stays spent.",
                "Use it; only other people have a ledger of their own, under another name.",
            ) from None
        except OSError as problem:
            raise UnreadableFile(f"cannot create {store.name}: {problem.strerror or problem}.") from None
        try:
            with store._connected() as connection:
                connection.execute("BEGIN EXCLUSIVE")
                write_mark(connection, Mark(_APPLICATION_ID, FORMAT))
                for statement in _LAYOUTS[FORMAT]:
                    connection.execute(statement)
                connection.execute("INSERT INTO secret VALUES (1, ?)", (secret,))
                session = SqliteSession(connection)
                session.append(first)
                if fill is not None:
                    fill(session)
                connection.execute("COMMIT")
        except BaseException:
            store._path.unlink(missing_ok=True)  # no other process knows this new file
            raise
        return store

    @contextmanager
    def reading(self) -> Iterator[StoreSession]:
        with self._connected() as connection:
            connection.execute("BEGIN")
            self._refuse_foreign(connection)
            yield SqliteSession(connection)

    @contextmanager
    def writing(self) -> Iterator[StoreSession]:
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._refuse_foreign(connection)
            yield SqliteSession(connection)
            connection.execute("COMMIT")

    def damage(self) -> list[str]:
        with self._connected() as connection:
            self._refuse_foreign(connection)
            problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(10)")]
        return [] if problems == ["ok"] else ["the file is damaged: SQLite's integrity check fails."]

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Connect for one transaction; roll back what is not committed at its end."""
        with withheld(self.name, _FAILURES):
            connection = connect(self._path, "rw", timeout=LOCK_SECONDS, settings={"synchronous": "EXTRA"})
            try:
                mode = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
                if mode != "delete":
                    raise UnreadableFile(
                        f"{self.name} was switched to SQLite's journal mode {mode!r} and cannot be switched back now.",
                        "End the other programs that use it.",
                    )
                yield connection
            finally:
                connection.close()  # rolls back an open transaction

    def _refuse_foreign(self, connection: sqlite3.Connection) -> None:
        application, version = read_mark(connection)
        if application != _APPLICATION_ID:
            empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            raise UnreadableFile(
                f"{self.name} is {'empty' if empty else 'a SQLite database, but not a ledger'}.",
                "A ledger is made by: discreet ledger init"
                + (" (if that was interrupted, delete the empty file first)." if empty else "."),
            )
        if version not in _LAYOUTS:
            raise UnreadableFile(
                f"{self.name} is a ledger of format {version}; this program reads formats up to {FORMAT}.",
                "Upgrade discreet.",
            )
        statements = {row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
        if statements != set(_LAYOUTS[version]):
            raise UnreadableFile(
                f"{self.name} was altered: its tables or the triggers that forbid changes are not those of a ledger."
            )
