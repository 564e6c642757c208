"""Reports in a PostgreSQL database, for several workers and machines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, ClassVar, TypeAlias, TypeVar

from ...addresses import Address
from ...databases.failures import Failures, write_with_retries
from ...databases.postgres import CONFLICTS, NO_ANSWER, PostgresDatabase, psycopg_driver
from ...errors import DiscreetError, InvalidInput, UnreadableFile
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

if TYPE_CHECKING:
    import psycopg
    from psycopg.rows import TupleRow

    Connection: TypeAlias = psycopg.Connection[TupleRow]
    Cursor: TypeAlias = psycopg.Cursor[TupleRow]

T = TypeVar("T")

#: The version of the tables.
FORMAT = 3

#: The schema that holds them.
SCHEMA = "discreet_reports"

#: How long one writer waits for another, in seconds.
PATIENCE = 30

#: How long settling waits for others, in seconds: whoever counts waits behind it meanwhile. It is done again soon.
BRIEFLY = 2

_SETTINGS = {
    "search_path": "pg_catalog",
    "client_encoding": "UTF8",
    "synchronous_commit": "on",  # what is acknowledged is on the disk, whatever the server's own setting
    "lock_timeout": f"{PATIENCE}s",
    "statement_timeout": "0",
    "client_min_messages": "error",
    "bytea_output": "hex",
}

_LAYOUT = (
    f"CREATE SCHEMA {SCHEMA}",
    f"CREATE TABLE {SCHEMA}.format (version integer PRIMARY KEY)",
    f'CREATE TABLE {SCHEMA}.collections (name text COLLATE "C" PRIMARY KEY, text text NOT NULL)',
    f"CREATE TABLE {SCHEMA}.mechanisms (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
    'collection text COLLATE "C" NOT NULL, position integer NOT NULL, UNIQUE (collection, position))',
    f"CREATE TABLE {SCHEMA}.counts (mechanism bigint NOT NULL, report bigint NOT NULL, times bigint NOT NULL, "
    "PRIMARY KEY (mechanism, report)) WITH (fillfactor = 50)",  # room beside each row, which is updated all the time
    f"CREATE TABLE {SCHEMA}.batches (day integer NOT NULL, key bytea NOT NULL, digest bytea NOT NULL, "
    "PRIMARY KEY (day, key))",
    # batches since the store was settled: the transaction and the place of a row tell when it came
    f"CREATE TABLE {SCHEMA}.arrivals (LIKE {SCHEMA}.batches INCLUDING ALL)",
    f'CREATE TABLE {SCHEMA}.tokens (name text COLLATE "C" PRIMARY KEY, secret_hash bytea NOT NULL, '
    'granted text NOT NULL, collection text COLLATE "C")',
    f"CREATE TABLE {SCHEMA}.horizon (one integer PRIMARY KEY CHECK (one = 1), day integer NOT NULL)",
    f"INSERT INTO {SCHEMA}.horizon VALUES (1, 0)",
    f"INSERT INTO {SCHEMA}.format VALUES (2)",
)

#: Statements that turn tables of version 2 into those of version 3. Which days the keys had so far is not known.
_SINCE_FORMAT_3 = (
    f"LOCK TABLE {SCHEMA}.format IN EXCLUSIVE MODE",  # of several workers, one does it
    f"ALTER TABLE {SCHEMA}.horizon ADD COLUMN IF NOT EXISTS first integer NOT NULL DEFAULT 0",
    # keys that were refused for their day, and that day
    f"CREATE TABLE IF NOT EXISTS {SCHEMA}.refused (key bytea PRIMARY KEY, day integer NOT NULL)",
    f"UPDATE {SCHEMA}.format SET version = {FORMAT}",
)

#: The day it is by the server's clock, as an ordinal: workers on several machines agree on it.
TODAY = "((now() AT TIME ZONE 'UTC')::date - DATE '0001-01-01' + 1)"


#: What the server finds, in words that say what to do.
_FAILURES = Failures(
    unavailable=dict.fromkeys(
        # 58 and XX: what a server says whose files or shared memory went away with a crash
        ("08", "57", "53", "58", "XX", "55P03", "25006", "42501", NO_ANSWER),
        ("ended the connection, or refuses it now ({code}).", "Try again."),
    ),
    unreadable={},
    other=lambda name, code: InvalidInput(
        f"{name} cannot be used as a store of reports ({code}).", "Look at the server's log."
    ),
    conflicts=CONFLICTS,
)


class PostgresReports(ReportStore):
    """Reports in the schema ``discreet_reports`` of a database: ``postgresql://user@host/study``.

    Each group of batches is one transaction. Its traces wait in the table ``arrivals`` until the store is settled.
    Rows are locked in one order, so that workers never wait in a circle, and a key that another worker is just counting
    is waited for. A connection that ended is opened again for the next group: whether the group before was counted is
    then known by its keys.
    """

    several_writers: ClassVar[bool] = True

    def __init__(self, address: str) -> None:
        self._address = Address("postgresql", address)
        self._place = PostgresDatabase(self._address, _SETTINGS, _FAILURES)
        self._writer: Connection | None = None
        self._turn = threading.Lock()

    @property
    def name(self) -> str:
        return str(self._address)

    def open(self) -> None:
        driver = psycopg_driver()
        with self._connected() as connection:
            found = connection.execute(b"SELECT to_regclass($1) IS NOT NULL", [f"{SCHEMA}.format"]).fetchone()
            if not (found and found[0]):
                with suppress(driver.errors.DuplicateSchema, driver.errors.UniqueViolation):  # another worker made it
                    connection.execute(b"BEGIN")
                    for statement in (*_LAYOUT, *_SINCE_FORMAT_3):
                        connection.execute(statement.encode())
                    connection.execute(f"UPDATE {SCHEMA}.horizon SET first = {NO_DAY}".encode())
                    connection.execute(b"COMMIT")
        with self._connected() as connection:
            try:
                versions = connection.execute(f"SELECT version FROM {SCHEMA}.format".encode()).fetchall()
                if versions == [(2,)]:
                    connection.execute(b"BEGIN")
                    for statement in _SINCE_FORMAT_3:
                        connection.execute(statement.encode())
                    connection.execute(b"COMMIT")
                    versions = [(FORMAT,)]
            except driver.errors.UndefinedTable:
                raise UnreadableFile(
                    f"the schema {SCHEMA} of {self.name} is not a store of reports.", "Name another database."
                ) from None
            if versions != [(FORMAT,)]:
                raise UnreadableFile(
                    f"{self.name} is a store of another format; this program reads format {FORMAT}.",
                    "Upgrade discreet.",
                )

    def close(self) -> None:
        try:
            if self._writer is not None:
                with suppress(DiscreetError):  # whoever opens it next settles it
                    self.settle()
        finally:
            with self._turn:
                self._drop_writer()

    # ---------------------------------------------------------------- batches

    def add(self, batches: Sequence[Batch]) -> list[Outcome]:
        return self._write(lambda connection: _add(connection, batches))

    def settle(self) -> None:
        if self._write(_settle):
            driver = psycopg_driver()
            passing = (driver.errors.InsufficientPrivilege, driver.errors.LockNotAvailable)
            with self._connected() as connection, suppress(*passing):
                connection.execute(f"SET lock_timeout = '{BRIEFLY}s'".encode())
                for table in ("counts", "arrivals"):  # rows as they were before; of batches the server does it in time
                    connection.execute(f"VACUUM {SCHEMA}.{table}".encode())

    def key_days(self) -> KeyDays:
        with self._connected() as connection:
            return _days(connection)

    def forget_keys(self) -> int:
        def forget(connection: Connection) -> int:
            days = _days(connection, "FOR UPDATE")
            sql = ", ".join(
                f"{which}((SELECT {end}(day) FROM {{}}.arrivals), (SELECT {end}(day) FROM {{}}.batches))"
                for which, end in (("least", "min"), ("greatest", "max"))
            )
            oldest, newest = _run(connection, f"SELECT {sql}").fetchone() or (None, None)
            _run(connection, "UPDATE {}.horizon SET day = $1", next_horizon(days, oldest, newest))
            _run(connection, "DELETE FROM {}.refused WHERE day < (SELECT day FROM {}.horizon)")
            return sum(
                _run(connection, f"DELETE FROM {{}}.{table} WHERE day < (SELECT day FROM {{}}.horizon)").rowcount
                for table in ("arrivals", "batches")  # in the order in which settling locks them
            )

        return self._write(forget)

    def lower_horizon(self, day: int) -> None:
        self._write(lambda connection: _run(connection, "UPDATE {}.horizon SET day = least(day, $1)", day))

    def check_writable(self) -> None:
        self._write(lambda connection: _run(connection, "UPDATE {}.format SET version = version"))

    def histogram(self, mechanism: int) -> dict[int, int]:
        with self._connected() as connection:
            sql = "SELECT report, times FROM {}.counts WHERE mechanism = $1"
            return dict(_run(connection, sql, mechanism).fetchall())

    # ---------------------------------------------------------------- collections

    def create_collection(self, name: str, text: str, mechanisms: int) -> StoredCollection:
        def create(connection: Connection) -> None:
            sql = "INSERT INTO {}.collections VALUES ($1, $2) ON CONFLICT DO NOTHING"
            if not _run(connection, sql, name, text).rowcount:
                raise NameTaken(f"there is a collection {name!r} already.", "Choose another name.")
            sql = "INSERT INTO {}.mechanisms (collection, position) SELECT $1, k FROM generate_series(0, $2 - 1) k"
            _run(connection, sql, name, mechanisms)

        self._write(create)
        found = self.collection(name)
        assert found is not None  # nothing is deleted
        return found

    def collection(self, name: str) -> StoredCollection | None:
        with self._connected() as connection:
            found = _run(connection, "SELECT text FROM {}.collections WHERE name = $1", name).fetchone()
            sql = "SELECT number FROM {}.mechanisms WHERE collection = $1 ORDER BY position"
            numbers = tuple(row[0] for row in _run(connection, sql, name))
        return None if found is None else StoredCollection(name, found[0], numbers)

    def collection_names(self) -> list[str]:
        with self._connected() as connection:
            return [row[0] for row in _run(connection, "SELECT name FROM {}.collections ORDER BY name")]

    # ---------------------------------------------------------------- tokens

    def add_token(self, token: StoredToken) -> None:
        row = (token.name, token.secret_hash, token.right, token.collection)
        self._write(lambda connection: _run(connection, "INSERT INTO {}.tokens VALUES ($1, $2, $3, $4)", *row))

    def token(self, name: str) -> StoredToken | None:
        with self._connected() as connection:
            found = _run(connection, "SELECT * FROM {}.tokens WHERE name = $1", name).fetchone()
        return None if found is None else StoredToken(found[0], bytes(found[1]), found[2], found[3])

    def remove_token(self, name: str) -> bool:
        sql = "DELETE FROM {}.tokens WHERE name = $1"
        return self._write(lambda connection: _run(connection, sql, name).rowcount > 0)

    # ---------------------------------------------------------------- connections

    def _write(self, step: Callable[[Connection], T]) -> T:
        """Do a step in a transaction, and return what it returns when it is durable.

        A transaction that the server undid because of another one is done again. Where the connection ended, the step
        may have been written: whoever asks again is answered by what is there.
        """
        with self._turn:
            return write_with_retries(lambda: self._try(step))

    def _try(self, step: Callable[[Connection], T]) -> T:
        if self._writer is None:
            self._writer = self._place.connect(self.name)
        try:
            with self._place.withheld(self.name):
                self._writer.execute(b"BEGIN ISOLATION LEVEL READ COMMITTED")
                made = step(self._writer)
                self._writer.execute(b"COMMIT")
        except BaseException:
            self._drop_writer()
            raise
        return made

    def _drop_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()  # undoes an open transaction
            self._writer = None

    def _connected(self) -> AbstractContextManager[Connection]:
        """A connection for one look."""
        return self._place.connected(self.name)


def _run(connection: Connection, sql: str, *values: object) -> Cursor:
    return connection.execute(sql.replace("{}", SCHEMA).encode(), values)


def _days(connection: Connection, lock: str = "") -> KeyDays:
    """Return the days by which keys are judged, by the server's clock."""
    found = _run(connection, f"SELECT day, first, {TODAY} FROM {{}}.horizon {lock}").fetchone()
    return KeyDays(*(found or (0, 0, 0)))


def _locked_days(connection: Connection, batches: Sequence[Batch]) -> KeyDays:
    """Return the days, with their row locked until the end: keys are not forgotten meanwhile.

    Whoever refuses a key for its day, or counts one of an earlier day than any before, has the row alone: otherwise
    another worker could count the key that is being refused.
    """
    days = _days(connection)

    def needs_row(day: int) -> bool:
        judged = days.judge(day)
        return day < days.first if judged is Outcome.STORED else judged is Outcome.WRONG_DAY and day >= days.horizon

    return _days(connection, "FOR UPDATE" if any(needs_row(one.day) for one in batches) else "FOR SHARE")


def _add(connection: Connection, batches: Sequence[Batch]) -> list[Outcome]:
    """Count a group in the transaction that is open."""
    days = _locked_days(connection, batches)
    _run(connection, "LOCK TABLE {}.arrivals IN ROW EXCLUSIVE MODE")  # nor does a trace move
    sql = "SELECT key FROM {}.refused WHERE key = ANY ($1::bytea[])"
    refused = {bytes(row[0]) for row in _run(connection, sql, [one.key for one in batches])}
    alone = stored(batches, decide(batches, {}, refused, days))  # of this group, each key once
    columns = [[one.day for one in alone], [one.key for one in alone], [one.digest for one in alone]]
    sql = (
        "INSERT INTO {}.arrivals SELECT * FROM unnest($1::integer[], $2::bytea[], $3::bytea[]) AS o (day, key, digest) "
        "WHERE NOT EXISTS (SELECT FROM {}.batches b WHERE b.day = o.day AND b.key = o.key) "
        "ON CONFLICT DO NOTHING RETURNING key"
    )
    new = {bytes(row[0]) for row in _run(connection, sql, *columns)}
    judged = zip(batches, decide(batches, {}, (), days), strict=True)
    old = [one for one in alone if one.key not in new] + [one for one, made in judged if made is Outcome.WRONG_DAY]
    known: dict[bytes, bytes] = {}
    if old:
        sql = " UNION ALL ".join(
            f"SELECT b.key, b.digest FROM {{}}.{table} b JOIN unnest($1::integer[], $2::bytea[]) AS o (day, key) "
            "ON b.day = o.day AND b.key = o.key"
            for table in ("batches", "arrivals")
        )
        rows = _run(connection, sql, [one.day for one in old], [one.key for one in old])
        known = {bytes(key): bytes(digest) for key, digest in rows}
    outcomes = decide(batches, known, refused, days)
    counted = stored(batches, outcomes)
    first = min((one.day for one in counted), default=NO_DAY)
    if first < days.first:
        _run(connection, "UPDATE {}.horizon SET first = least(first, $1)", first)
    never = refused_keys(batches, outcomes, days.horizon)
    if never:
        sql = "INSERT INTO {}.refused SELECT * FROM unnest($1::bytea[], $2::integer[]) ON CONFLICT DO NOTHING"
        _run(connection, sql, *map(list, zip(*never, strict=True)))
    added = increments(counted)
    if added:
        sql = (
            "INSERT INTO {}.counts AS c SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) "
            "ON CONFLICT (mechanism, report) DO UPDATE SET times = c.times + excluded.times"
        )
        _run(connection, sql, *map(list, zip(*added, strict=True)))
    return outcomes


def _settle(connection: Connection) -> bool:
    """Write anew what came in, in the transaction that is open; says whether there was anything."""
    _run(connection, f"SET LOCAL lock_timeout = '{BRIEFLY}s'")
    # waits for the groups that are being counted; the next ones wait for this
    _run(connection, "LOCK TABLE {}.arrivals IN SHARE ROW EXCLUSIVE MODE")
    if _run(connection, "SELECT FROM {}.arrivals LIMIT 1").fetchone() is None:
        return False
    sql = "SELECT count(*) FROM (SELECT FROM {}.batches LIMIT $1) AS t"
    (rows,) = _run(connection, sql, REWRITTEN + 1).fetchone() or (0,)
    moved = "moved AS (DELETE FROM {}.arrivals RETURNING day, key, digest)"
    if rows <= REWRITTEN:
        _run(
            connection,
            f"WITH {moved}, old AS (DELETE FROM {{}}.batches RETURNING day, key, digest) INSERT INTO {{}}.batches "
            "SELECT * FROM (SELECT * FROM moved UNION ALL SELECT * FROM old) AS t ORDER BY key",
        )
    else:
        _run(connection, f"WITH {moved} INSERT INTO {{}}.batches SELECT * FROM moved ORDER BY key")
    _run(
        connection,
        "WITH old AS (DELETE FROM {}.counts RETURNING mechanism, report, times) "
        "INSERT INTO {}.counts SELECT * FROM old ORDER BY mechanism, report",
    )
    return True
