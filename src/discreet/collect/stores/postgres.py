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

if TYPE_CHECKING:
    import psycopg
    from psycopg.rows import TupleRow

    Connection: TypeAlias = psycopg.Connection[TupleRow]
    Cursor: TypeAlias = psycopg.Cursor[TupleRow]

T = TypeVar("T")

#: Version of the tables.
FORMAT = 3

#: Name of their schema.
SCHEMA = "discreet_reports"

#: Seconds for which one writer waits for another.
LOCK_TIMEOUT_SECONDS = 30

#: Seconds for which settling waits for others, which block new batches meanwhile. It is repeated soon.
SETTLE_TIMEOUT_SECONDS = 2

_SETTINGS = {
    "search_path": "pg_catalog",
    "client_encoding": "UTF8",
    "synchronous_commit": "on",  # acknowledged batches are on the disk, under any setting of the server
    "lock_timeout": f"{LOCK_TIMEOUT_SECONDS}s",
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
    "PRIMARY KEY (mechanism, report)) WITH (fillfactor = 50)",  # free space for rows, which are updated all the time
    f"CREATE TABLE {SCHEMA}.batches (day integer NOT NULL, key bytea NOT NULL, digest bytea NOT NULL, "
    "PRIMARY KEY (day, key))",
    # batches since the store was settled: the transaction and the position of a row reveal its time
    f"CREATE TABLE {SCHEMA}.arrivals (LIKE {SCHEMA}.batches INCLUDING ALL)",
    f'CREATE TABLE {SCHEMA}.tokens (name text COLLATE "C" PRIMARY KEY, secret_hash bytea NOT NULL, '
    'granted text NOT NULL, collection text COLLATE "C")',
    f"CREATE TABLE {SCHEMA}.horizon (one integer PRIMARY KEY CHECK (one = 1), day integer NOT NULL)",
    f"INSERT INTO {SCHEMA}.horizon VALUES (1, 0)",
    f"INSERT INTO {SCHEMA}.format VALUES (2)",
)

#: Statements that migrate tables of version 2 to version 3. The days of earlier keys are unknown.
_SINCE_FORMAT_3 = (
    f"LOCK TABLE {SCHEMA}.format IN EXCLUSIVE MODE",  # one worker does it
    f"ALTER TABLE {SCHEMA}.horizon ADD COLUMN IF NOT EXISTS first integer NOT NULL DEFAULT 0",
    # keys that were refused for their day, and that day
    f"CREATE TABLE IF NOT EXISTS {SCHEMA}.refused (key bytea PRIMARY KEY, day integer NOT NULL)",
    f"UPDATE {SCHEMA}.format SET version = {FORMAT}",
)

#: SQL of the current day by the server's clock, as an ordinal, on which workers of several machines agree.
TODAY_SQL = "((now() AT TIME ZONE 'UTC')::date - DATE '0001-01-01' + 1)"


#: The server's errors, as messages with advice.
_FAILURES = Failures(
    unavailable=dict.fromkeys(
        # 58 and XX: errors of a server whose files or shared memory were lost in a crash
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
    Rows are locked in one order, so that workers cannot deadlock, and a worker waits for a key that another one is
    counting. A connection that ended is opened again for the next group; the keys of the previous group then show
    if it was counted.
    """

    several_writers: ClassVar[bool] = True

    def __init__(self, address: str) -> None:
        self._address = Address("postgresql", address)
        self._place = PostgresDatabase(self._address, _SETTINGS, _FAILURES)
        self._writer: Connection | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return str(self._address)

    def open(self) -> None:
        driver = psycopg_driver()
        with self._connection() as connection:
            exists = connection.execute(b"SELECT to_regclass($1) IS NOT NULL", [f"{SCHEMA}.format"]).fetchone()
            if not (exists and exists[0]):
                with suppress(driver.errors.DuplicateSchema, driver.errors.UniqueViolation):  # by another worker
                    connection.execute(b"BEGIN")
                    for statement in (*_LAYOUT, *_SINCE_FORMAT_3):
                        connection.execute(statement.encode())
                    connection.execute(f"UPDATE {SCHEMA}.horizon SET first = {NO_DAY}".encode())
                    connection.execute(b"COMMIT")
        with self._connection() as connection:
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
                with suppress(DiscreetError):  # the next open settles it
                    self.settle()
        finally:
            with self._lock:
                self._drop_writer()

    # ---------------------------------------------------------------- batches

    def add(self, batches: Sequence[Batch]) -> list[Outcome]:
        return self._write(lambda connection: _add(connection, batches))

    def settle(self) -> None:
        if self._write(_settle):
            driver = psycopg_driver()
            harmless = (driver.errors.InsufficientPrivilege, driver.errors.LockNotAvailable)
            with self._connection() as connection, suppress(*harmless):
                connection.execute(f"SET lock_timeout = '{SETTLE_TIMEOUT_SECONDS}s'".encode())
                for table in ("counts", "arrivals"):  # removes old row versions; the server vacuums batches itself
                    connection.execute(f"VACUUM {SCHEMA}.{table}".encode())

    def key_days(self) -> KeyDays:
        with self._connection() as connection:
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
                for table in ("arrivals", "batches")  # the order in which settling locks them
            )

        return self._write(forget)

    def lower_horizon(self, day: int) -> None:
        self._write(lambda connection: _run(connection, "UPDATE {}.horizon SET day = least(day, $1)", day))

    def check_writable(self) -> None:
        self._write(lambda connection: _run(connection, "UPDATE {}.format SET version = version"))

    def histogram(self, mechanism: int) -> dict[int, int]:
        with self._connection() as connection:
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
        collection = self.collection(name)
        assert collection is not None  # nothing is deleted
        return collection

    def collection(self, name: str) -> StoredCollection | None:
        with self._connection() as connection:
            row = _run(connection, "SELECT text FROM {}.collections WHERE name = $1", name).fetchone()
            sql = "SELECT number FROM {}.mechanisms WHERE collection = $1 ORDER BY position"
            numbers = tuple(number for (number,) in _run(connection, sql, name))
        return None if row is None else StoredCollection(name, row[0], numbers)

    def collection_names(self) -> list[str]:
        with self._connection() as connection:
            return [row[0] for row in _run(connection, "SELECT name FROM {}.collections ORDER BY name")]

    # ---------------------------------------------------------------- tokens

    def add_token(self, token: StoredToken) -> None:
        row = (token.name, token.secret_hash, token.right, token.collection)
        self._write(lambda connection: _run(connection, "INSERT INTO {}.tokens VALUES ($1, $2, $3, $4)", *row))

    def token(self, name: str) -> StoredToken | None:
        with self._connection() as connection:
            row = _run(connection, "SELECT * FROM {}.tokens WHERE name = $1", name).fetchone()
        return None if row is None else StoredToken(row[0], bytes(row[1]), row[2], row[3])

    def remove_token(self, name: str) -> bool:
        sql = "DELETE FROM {}.tokens WHERE name = $1"
        return self._write(lambda connection: _run(connection, sql, name).rowcount > 0)

    # ---------------------------------------------------------------- connections

    def _write(self, step: Callable[[Connection], T]) -> T:
        """Do a step in a transaction, and return its result once it is durable.

        A transaction that the server rolled back because of another one is repeated. If the connection ended, the step
        may have been written: a repeated request finds the rows.
        """
        with self._lock:
            return write_with_retries(lambda: self._try(step))

    def _try(self, step: Callable[[Connection], T]) -> T:
        if self._writer is None:
            self._writer = self._place.connect(self.name)
        try:
            with self._place.withheld(self.name):
                self._writer.execute(b"BEGIN ISOLATION LEVEL READ COMMITTED")
                result = step(self._writer)
                self._writer.execute(b"COMMIT")
        except BaseException:
            self._drop_writer()
            raise
        return result

    def _drop_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()  # rolls back an open transaction
            self._writer = None

    def _connection(self) -> AbstractContextManager[Connection]:
        """Return a connection for one read."""
        return self._place.connected(self.name)


def _run(connection: Connection, sql: str, *values: object) -> Cursor:
    return connection.execute(sql.replace("{}", SCHEMA).encode(), values)


def _days(connection: Connection, lock: str = "") -> KeyDays:
    """Return the days by which keys are judged, by the server's clock."""
    row = _run(connection, f"SELECT day, first, {TODAY_SQL} FROM {{}}.horizon {lock}").fetchone()
    return KeyDays(*(row or (0, 0, 0)))


def _locked_days(connection: Connection, batches: Sequence[Batch]) -> KeyDays:
    """Return the days, with their row locked until the end, so that no keys are forgotten meanwhile.

    A transaction that refuses a key for its day, or counts one of an earlier day than any before, locks the row
    exclusively: otherwise another worker could count the key that is being refused.
    """
    days = _days(connection)

    def needs_row(day: int) -> bool:
        outcome = days.judge(day)
        return day < days.first if outcome is Outcome.STORED else outcome is Outcome.WRONG_DAY and day >= days.horizon

    return _days(connection, "FOR UPDATE" if any(needs_row(batch.day) for batch in batches) else "FOR SHARE")


def _add(connection: Connection, batches: Sequence[Batch]) -> list[Outcome]:
    """Count a group in the open transaction."""
    days = _locked_days(connection, batches)
    _run(connection, "LOCK TABLE {}.arrivals IN ROW EXCLUSIVE MODE")  # so that settling moves no trace meanwhile
    sql = "SELECT key FROM {}.refused WHERE key = ANY ($1::bytea[])"
    refused = {bytes(row[0]) for row in _run(connection, sql, [batch.key for batch in batches])}
    fresh = batches_to_count(batches, decide(batches, {}, refused, days))  # each key of the group once
    columns = [[batch.day for batch in fresh], [batch.key for batch in fresh], [batch.digest for batch in fresh]]
    sql = (
        "INSERT INTO {}.arrivals SELECT * FROM unnest($1::integer[], $2::bytea[], $3::bytea[]) AS o (day, key, digest) "
        "WHERE NOT EXISTS (SELECT FROM {}.batches b WHERE b.day = o.day AND b.key = o.key) "
        "ON CONFLICT DO NOTHING RETURNING key"
    )
    new = {bytes(row[0]) for row in _run(connection, sql, *columns)}
    by_day = zip(batches, decide(batches, {}, (), days), strict=True)
    old = [b for b in fresh if b.key not in new] + [b for b, outcome in by_day if outcome is Outcome.WRONG_DAY]
    digests: dict[bytes, bytes] = {}
    if old:
        sql = " UNION ALL ".join(
            f"SELECT b.key, b.digest FROM {{}}.{table} b JOIN unnest($1::integer[], $2::bytea[]) AS o (day, key) "
            "ON b.day = o.day AND b.key = o.key"
            for table in ("batches", "arrivals")
        )
        rows = _run(connection, sql, [batch.day for batch in old], [batch.key for batch in old])
        digests = {bytes(key): bytes(digest) for key, digest in rows}
    outcomes = decide(batches, digests, refused, days)
    accepted = batches_to_count(batches, outcomes)
    first = min((batch.day for batch in accepted), default=NO_DAY)
    if first < days.first:
        _run(connection, "UPDATE {}.horizon SET first = least(first, $1)", first)
    rejected = refused_keys(batches, outcomes, days.horizon)
    if rejected:
        sql = "INSERT INTO {}.refused SELECT * FROM unnest($1::bytea[], $2::integer[]) ON CONFLICT DO NOTHING"
        _run(connection, sql, *map(list, zip(*rejected, strict=True)))
    additions = increments(accepted)
    if additions:
        sql = (
            "INSERT INTO {}.counts AS c SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) "
            "ON CONFLICT (mechanism, report) DO UPDATE SET times = c.times + excluded.times"
        )
        _run(connection, sql, *map(list, zip(*additions, strict=True)))
    return outcomes


def _settle(connection: Connection) -> bool:
    """Rewrite what arrived, in the open transaction; return False if nothing did."""
    _run(connection, f"SET LOCAL lock_timeout = '{SETTLE_TIMEOUT_SECONDS}s'")
    # wait for the groups that are being counted; the next ones wait for this
    _run(connection, "LOCK TABLE {}.arrivals IN SHARE ROW EXCLUSIVE MODE")
    if _run(connection, "SELECT FROM {}.arrivals LIMIT 1").fetchone() is None:
        return False
    sql = "SELECT count(*) FROM (SELECT FROM {}.batches LIMIT $1) AS t"
    (rows,) = _run(connection, sql, MAX_REWRITTEN_TRACES + 1).fetchone() or (0,)
    arrivals = "moved AS (DELETE FROM {}.arrivals RETURNING day, key, digest)"
    if rows <= MAX_REWRITTEN_TRACES:
        _run(
            connection,
            f"WITH {arrivals}, old AS (DELETE FROM {{}}.batches RETURNING day, key, digest) INSERT INTO {{}}.batches "
            "SELECT * FROM (SELECT * FROM moved UNION ALL SELECT * FROM old) AS t ORDER BY key",
        )
    else:
        _run(connection, f"WITH {arrivals} INSERT INTO {{}}.batches SELECT * FROM moved ORDER BY key")
    _run(
        connection,
        "WITH old AS (DELETE FROM {}.counts RETURNING mechanism, report, times) "
        "INSERT INTO {}.counts SELECT * FROM old ORDER BY mechanism, report",
    )
    return True
