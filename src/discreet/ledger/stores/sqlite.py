"""A ledger in one SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...databases.failures import Failures
from ...databases.sqlite import Mark, connect, make_private_file, read_mark, withheld, write_mark
from ...errors import InvalidInput, UnreadableFile
from ..chain import Row
from .base import Session, Store

#: The version of the file's layout, kept in SQLite's ``user_version``. Format 1 has no events that tell when rows could
#: be read first; formats 1 and 2 have no table of answers. A program that knows only older formats must not write to
#: a newer file.
FORMAT = 3

#: "dscL": marks a SQLite file as a ledger.
_APPLICATION = 0x6473634C

#: The largest integer SQLite keeps.
_LARGEST = 2**63 - 1

#: How long one process waits for another, in seconds.
PATIENCE = 60.0

_TABLES = {
    "events": "CREATE TABLE events (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL UNIQUE)",
    "contents": "CREATE TABLE contents (digest TEXT PRIMARY KEY, size INTEGER NOT NULL, packed BLOB NOT NULL)",
    "secret": "CREATE TABLE secret (one INTEGER PRIMARY KEY CHECK (one = 1), key BLOB NOT NULL)",
    "answers": "CREATE TABLE answers (key TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE)",
}


def _layout(*tables: str) -> tuple[str, ...]:
    """The statements that make these tables, and triggers that forbid changes.

    A ledger is only added to. Whoever can write the file can drop the triggers; the chain is what finds it.
    """
    guards = (
        f"CREATE TRIGGER no_{verb.lower()}_of_{table} BEFORE {verb} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
        for table in tables
        for verb in ("UPDATE", "DELETE")
    )
    return (*(_TABLES[table] for table in tables), *guards)


#: Format -> what makes a file of it.
_LAYOUTS = {
    1: _layout("events", "contents", "secret"),
    2: _layout("events", "contents", "secret"),
    FORMAT: _layout("events", "contents", "secret", "answers"),
}


#: What SQLite finds, in words that say what to do.
_FAILURES = Failures(
    unavailable={
        "SQLITE_BUSY": (
            f"has been in use by another process for {PATIENCE:g} seconds.", "Nothing was written; try again."
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


class SqliteSession(Session):
    """A transaction on a SQLite file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, first: int = 1, last: int | None = None) -> list[Row]:
        # numbers below 1, which somebody may have written, are among "all of them"
        low = first if first > 1 or last is not None else -_LARGEST
        high = _LARGEST if last is None else last
        sql = "SELECT number, body, hash FROM events WHERE number BETWEEN ? AND ? ORDER BY number"
        found = self._connection.execute(sql, (low, high))
        return [Row(*row) for row in found]

    def last_number(self) -> int:
        (number,) = self._connection.execute("SELECT max(number) FROM events").fetchone()
        return number if isinstance(number, int) else 0

    def append(self, row: Row) -> None:
        self._connection.execute("INSERT INTO events VALUES (?, ?, ?)", (row.number, row.body, row.hash))

    def record_answer(self, key: str, number: int) -> None:
        self._connection.execute("INSERT INTO answers VALUES (?, ?)", (key, number))

    def answer_number(self, key: str) -> int | None:
        found = self._connection.execute("SELECT number FROM answers WHERE key = ?", (key,)).fetchone()
        if found is None:
            return None
        return found[0] if isinstance(found[0], int) else 0  # where somebody wrote a text, there is no such event

    def answer_count(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM answers").fetchone()[0])

    def answer_numbers(self) -> dict[str, int]:
        return dict(self._connection.execute("SELECT key, number FROM answers"))

    def put_content(self, digest: str, size: int, packed: bytes) -> None:
        self._connection.execute("INSERT OR IGNORE INTO contents VALUES (?, ?, ?)", (digest, size, packed))

    def get_content(self, digest: str) -> tuple[object, object] | None:
        found = self._connection.execute("SELECT size, packed FROM contents WHERE digest = ?", (digest,)).fetchone()
        return None if found is None else (found[0], found[1])

    def secret(self) -> bytes:
        found = self._connection.execute("SELECT key FROM secret").fetchone()
        return bytes(found[0]) if found is not None and isinstance(found[0], bytes) else b""


class SqliteStore(Store):
    """A ledger in one SQLite file, with a rollback journal.

    A write is on the disk when it returns (``synchronous=EXTRA``), writers take turns from their beginning
    (``BEGIN IMMEDIATE``), and a process that dies leaves a journal from which the next one restores the file: never
    delete a ``-journal`` file that lies beside a ledger. Connections live for one transaction, so an object of this
    class may be used after a fork and from several threads.
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
        cls, address: str | Path, first: Row, secret: bytes, fill: Callable[[Session], None] | None = None
    ) -> SqliteStore:
        """Make a file with its first event, in one step; of several processes that try, one succeeds."""
        store = cls(address)
        try:
            make_private_file(store._path, new=True)  # it holds the key of the bounding secret
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
                write_mark(connection, Mark(_APPLICATION, FORMAT))
                for statement in _LAYOUTS[FORMAT]:
                    connection.execute(statement)
                connection.execute("INSERT INTO secret VALUES (1, ?)", (secret,))
                session = SqliteSession(connection)
                session.append(first)
                if fill is not None:
                    fill(session)
                connection.execute("COMMIT")
        except BaseException:
            store._path.unlink(missing_ok=True)  # ours alone: nobody has been told of it
            raise
        return store

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with self._connected() as connection:
            connection.execute("BEGIN")
            self._refuse_foreign(connection)
            yield SqliteSession(connection)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._refuse_foreign(connection)
            yield SqliteSession(connection)
            connection.execute("COMMIT")

    def damage(self) -> list[str]:
        with self._connected() as connection:
            self._refuse_foreign(connection)
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(10)")]
        return [] if found == ["ok"] else ["the file is damaged: SQLite's integrity check fails."]

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection for one transaction; what is not committed when it ends is undone."""
        with withheld(self.name, _FAILURES):
            connection = connect(self._path, "rw", patience=PATIENCE, settings={"synchronous": "EXTRA"})
            try:
                mode = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
                if mode != "delete":
                    raise UnreadableFile(
                        f"{self.name} was switched to SQLite's journal mode {mode!r} and cannot be switched back now.",
                        "End the other programs that use it.",
                    )
                yield connection
            finally:
                connection.close()  # undoes an open transaction

    def _refuse_foreign(self, connection: sqlite3.Connection) -> None:
        application, version = read_mark(connection)
        if application != _APPLICATION:
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
        found = {row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
        if found != set(_LAYOUTS[version]):
            raise UnreadableFile(
                f"{self.name} was altered: its tables or the triggers that forbid changes are not those of a ledger."
            )
