"""Where a ledger is kept: numbered events in a hash chain, and the store that keeps them.

The chain is the same in every store. An event is canonical JSON (sorted keys, no spaces, no floats) that names the hash
of the event before it; its own hash is the SHA-256 of its text. A changed, missing, added or reordered event therefore
breaks the chain. Events removed from the end do not: only a published hash, a *head*, shows that they were there.

:class:`Store` is all a ledger needs of a database; :class:`SqliteStore` is the one for a single file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from ..errors import DiscreetError, InvalidInput, UnreadableFile, WrongType

#: The version of the file's layout; kept in SQLite's ``user_version``. Format 1 has the same tables and no events that
#: tell when rows could be read first; programs that know only it must not write to a file of format 2.
FORMAT = 2
_READABLE = (1, FORMAT)

#: "dscL": marks a SQLite file as a ledger.
_APPLICATION = 0x6473634C

#: How long one process waits for another, in seconds.
PATIENCE = 60.0

#: What the first event names as the one before it.
NO_EVENT = "0" * 64


# ------------------------------------------------------------------------------------------------ the chain


def canonical_json(content: Any, *, floats: bool = False) -> str:
    """JSON text that is equal for equal content: sorted keys, no spaces, plain ASCII, and no floats unless allowed.

    >>> canonical_json({"b": [1, None], "a": "1/3"})
    '{"a":"1/3","b":[1,null]}'
    """
    _refuse_unclear(content, floats)
    try:
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise WrongType("a ledger keeps text, whole numbers, booleans, None, lists and mappings only.") from None


def _refuse_unclear(content: Any, floats: bool, depth: int = 0) -> None:
    """Other programs may spell a float otherwise, and names that are not text would become text unasked."""
    if depth > 50:
        raise InvalidInput("what a ledger keeps may be nested at most 50 deep.")
    if isinstance(content, float) and not floats:
        raise WrongType("the events of a ledger have no floats: write the number as text, such as '1/10'.")
    if content is None or isinstance(content, str | int):
        return
    if isinstance(content, dict):
        if not all(isinstance(name, str) for name in content):
            raise WrongType("the names in what a ledger keeps must be text.")
        content = content.values()
    elif not isinstance(content, list | tuple):
        return
    for value in content:
        _refuse_unclear(value, floats, depth + 1)


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class Row:
    """An event as it is stored: its place, its text, and the hash it claims."""

    number: int
    body: str
    hash: str


@dataclass(frozen=True)
class Event:
    """One entry of a ledger: "init", "reserve", "opened", "commit" or "release", with what it says.

    Attributes
    ----------
    number
        Its place in the ledger, from 1 on.
    kind, time, content
        What happened, when (UTC), and the details; fractions are text.
    previous, hash
        The links of the chain: the hash of the event before it, and its own.
    """

    number: int
    kind: str
    time: str
    content: Mapping[str, Any]
    previous: str
    hash: str

    @property
    def row(self) -> Row:
        return Row(self.number, self._body(), self.hash)

    def _body(self) -> str:
        return canonical_json(
            {
                "number": self.number,
                "kind": self.kind,
                "time": self.time,
                "content": self.content,
                "previous": self.previous,
            }
        )


def next_event(events: Sequence[Event], kind: str, time: str, content: Mapping[str, Any]) -> Event:
    """The event that would follow these."""
    previous = events[-1].hash if events else NO_EVENT
    event = Event(len(events) + 1, kind, time, content, previous, "")
    return Event(event.number, kind, time, content, previous, digest_of(event._body().encode()))


def read_chain(rows: Sequence[Row]) -> tuple[list[Event], list[str]]:
    """The events of a chain as far as it holds, and what breaks it: nothing, or one sentence."""
    events: list[Event] = []
    for place, row in enumerate(rows, start=1):
        if row.number != place:
            return events, [f"event {place} is missing; the next one there is has number {row.number}."]
        if not isinstance(row.body, str) or digest_of(row.body.encode("utf-8", "replace")) != row.hash:
            return events, [f"event {place} was altered: its hash is not that of its text."]
        event = _read_event(row)
        if event is None:
            return events, [f"event {place} is not written as this program writes events."]
        if event.previous != (events[-1].hash if events else NO_EVENT):
            return events, [f"event {place} does not follow event {place - 1}: one of them was replaced or moved."]
        events.append(event)
    return events, []


def _read_event(row: Row) -> Event | None:
    """The event of a row, or None if it is not exactly what :attr:`Event.row` writes."""
    try:
        said = json.loads(row.body)
        if set(said) != {"number", "kind", "time", "content", "previous"} or not isinstance(said["content"], dict):
            return None
        if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", said["time"], re.ASCII):
            return None
        event = Event(said["number"], said["kind"], said["time"], said["content"], said["previous"], row.hash)
        return event if event.row == row else None
    except (ValueError, TypeError, RecursionError, DiscreetError):
        return None


# ------------------------------------------------------------------------------------------------ stores


class Session(Protocol):
    """One transaction on a store. All that is read in it belongs to one moment."""

    def rows(self) -> list[Row]:
        """All events, by number."""

    def append(self, row: Row) -> None: ...

    def keep(self, content: bytes) -> str:
        """Keep a request or an answer; returns its digest, by which an event names it."""

    def content(self, digest: str) -> bytes | None:
        """What was kept under this digest, checked against it; None if it is missing or altered."""

    def secret(self) -> bytes: ...


class Store(Protocol):
    """What a ledger needs of a database.

    ``writing`` must exclude every other writer from its beginning to its end, and what was written must be durable when
    it ends; an exception inside it leaves the store as it was.
    """

    @property
    def name(self) -> str: ...

    def reading(self) -> AbstractContextManager[Session]: ...

    def writing(self) -> AbstractContextManager[Session]: ...

    def damage(self) -> list[str]:
        """What the database itself finds wrong with its file."""


_TABLES = (
    "CREATE TABLE events (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL UNIQUE)",
    "CREATE TABLE contents (digest TEXT PRIMARY KEY, size INTEGER NOT NULL, packed BLOB NOT NULL)",
    "CREATE TABLE secret (one INTEGER PRIMARY KEY CHECK (one = 1), key BLOB NOT NULL)",
)

#: A ledger is only added to. Whoever can write the file can drop these; the chain is what finds it.
_GUARDS = tuple(
    f"CREATE TRIGGER no_{verb.lower()}_of_{table} BEFORE {verb} ON {table} "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
    for table in ("events", "contents", "secret")
    for verb in ("UPDATE", "DELETE")
)


class SqliteSession:
    """A transaction on a SQLite file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self) -> list[Row]:
        return [Row(*row) for row in self._connection.execute("SELECT number, body, hash FROM events ORDER BY number")]

    def append(self, row: Row) -> None:
        self._connection.execute("INSERT INTO events VALUES (?, ?, ?)", (row.number, row.body, row.hash))

    def keep(self, content: bytes) -> str:
        digest = digest_of(content)
        packed = zlib.compress(content)
        self._connection.execute("INSERT OR IGNORE INTO contents VALUES (?, ?, ?)", (digest, len(content), packed))
        return digest

    def content(self, digest: str) -> bytes | None:
        found = self._connection.execute("SELECT size, packed FROM contents WHERE digest = ?", (digest,)).fetchone()
        if found is None:
            return None
        size, packed = found
        try:
            content = zlib.decompressobj().decompress(packed, max(int(size), 0) + 1)  # no more than it says it is
        except (zlib.error, TypeError, ValueError, OverflowError):
            return None
        return content if digest_of(content) == digest else None

    def secret(self) -> bytes:
        found = self._connection.execute("SELECT key FROM secret").fetchone()
        return bytes(found[0]) if found is not None and isinstance(found[0], bytes) else b""


class SqliteStore:
    """A ledger in one SQLite file, with a rollback journal.

    A write is on the disk when it returns (``synchronous=EXTRA``), writers take turns from their beginning
    (``BEGIN IMMEDIATE``), and a process that dies leaves a journal from which the next one restores the file: never
    delete a ``-journal`` file that lies beside a ledger. Connections live for one transaction, so an object of this
    class may be used after a fork and from several threads.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    @property
    def name(self) -> str:
        return str(self._path)

    @classmethod
    def create(cls, path: str | Path, first: Row, secret: bytes) -> SqliteStore:
        """Make a file with its first event, in one step; of several processes that try, one succeeds."""
        store = cls(path)
        try:
            # The mode keeps the key of the bounding secret; SQLite gives its journal the same one.
            os.close(os.open(store._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            raise InvalidInput(
                f"{path} exists already, and a ledger is never overwritten: what was spent stays spent. Use it; only "
                "other people have a ledger of their own, under another name."
            ) from None
        except OSError as problem:
            raise UnreadableFile(f"cannot create {path}: {problem.strerror or problem}.") from None
        try:
            with store._connected() as connection:
                connection.execute("BEGIN EXCLUSIVE")
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                for statement in (*_TABLES, *_GUARDS):
                    connection.execute(statement)
                connection.execute("INSERT INTO secret VALUES (1, ?)", (secret,))
                SqliteSession(connection).append(first)
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
        # The file is never opened by any other means: closing it would drop the locks of this process's other threads.
        try:
            address = f"file:{quote(str(self._path.absolute()))}?mode=rw"  # never creates a file
            connection = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)
        except sqlite3.Error as problem:
            raise _told(self.name, problem) from None
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA synchronous = EXTRA")
            mode = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
            if mode != "delete":
                raise UnreadableFile(
                    f"{self.name} was switched to SQLite's journal mode {mode!r} and cannot be switched back now. End "
                    "the other programs that use it."
                )
            yield connection
        except sqlite3.Error as problem:
            raise _told(self.name, problem) from None
        except UnicodeDecodeError:  # Python's reading of what SQLite says about a damaged file
            raise UnreadableFile(f"{self.name} {_BROKEN['SQLITE_CORRUPT']}") from None
        finally:
            connection.close()  # undoes an open transaction

    def _refuse_foreign(self, connection: sqlite3.Connection) -> None:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if application != _APPLICATION:
            empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            raise UnreadableFile(
                f"{self.name} is {'empty' if empty else 'a SQLite database, but not a ledger'}. A ledger is made by: "
                "discreet ledger init" + (" (if that was interrupted, delete the empty file first)." if empty else ".")
            )
        if version not in _READABLE:
            raise UnreadableFile(
                f"{self.name} is a ledger of format {version}; this program reads formats up to {FORMAT}. Upgrade "
                "discreet."
            )
        found = {row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
        if found != {*_TABLES, *_GUARDS}:
            raise UnreadableFile(
                f"{self.name} was altered: its tables or the triggers that forbid changes are not those of a ledger."
            )


class StoreUnavailable(UnreadableFile):
    """A store that cannot be reached now: in use, read-only, or on a disk that is full. Nothing is known against it."""


def _told(name: str, problem: sqlite3.Error) -> DiscreetError:
    """What SQLite found, in words that say what to do."""
    code = getattr(problem, "sqlite_errorname", "") or ""
    for start, sentence in _UNAVAILABLE.items():
        if code.startswith(start):
            return StoreUnavailable(f"{name} {sentence}")
    for start, sentence in _BROKEN.items():
        if code.startswith(start):
            return UnreadableFile(f"{name} {sentence}")
    return UnreadableFile(f"{name} cannot be used as a ledger: SQLite cannot read it.")


_UNAVAILABLE = {
    "SQLITE_BUSY": f"has been in use by another process for {PATIENCE:g} seconds. Nothing was written; try again.",
    "SQLITE_LOCKED": "is in use by another program. Nothing was written; try again.",
    "SQLITE_READONLY": "cannot be written: it, or the folder it lies in, is read-only. Nothing was written.",
    "SQLITE_PERM": "cannot be opened: permission denied.",
    "SQLITE_CANTOPEN": "cannot be opened: look at the permissions of the file and of the folder it lies in.",
    "SQLITE_FULL": "cannot be written: the disk is full. Nothing was written.",
    "SQLITE_IOERR": "cannot be read or written: the disk or the network drive fails. See discreet ledger show.",
    "SQLITE_TOOBIG": "cannot keep so large an answer: the limit is a thousand million bytes, compressed.",
}

_BROKEN = {
    "SQLITE_NOTADB": "is not a ledger. A ledger is made by: discreet ledger init.",
    "SQLITE_CORRUPT": "is damaged. Restore a copy, and compare it with the bundles: discreet ledger verify --bundle.",
    "SQLITE_CONSTRAINT": "was altered: it has rows that cannot be. See discreet ledger verify.",
}
