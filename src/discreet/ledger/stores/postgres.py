"""A ledger in a PostgreSQL database, for several machines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...addresses import Address
from ...databases.failures import Failures
from ...databases.postgres import CONFLICTS, NO_ANSWER, PostgresDatabase, psycopg_driver
from ...errors import InvalidInput, UnreadableFile
from ..chain import EventRow
from .base import Store, StoreSession

if TYPE_CHECKING:
    import psycopg

#: Version of the tables.
FORMAT = 1

#: Seconds that a writer waits for another.
LOCK_SECONDS = 60

#: Name of the ledger if the address gives none.
DEFAULT_LEDGER_NAME = "main"

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")

#: Tables of a schema -> their columns; rows are only added.
_TABLES = {
    "format": "version integer PRIMARY KEY",
    "events": 'number bigint PRIMARY KEY, body text COLLATE "C" NOT NULL, hash text COLLATE "C" NOT NULL UNIQUE',
    "contents": 'digest text COLLATE "C" PRIMARY KEY, size bigint NOT NULL, packed bytea NOT NULL',
    "secret": "one integer PRIMARY KEY CHECK (one = 1), key bytea NOT NULL",
    "answers": 'key text COLLATE "C" PRIMARY KEY, number bigint NOT NULL UNIQUE',
}

_SETTINGS = {
    "search_path": "pg_catalog",
    "client_encoding": "UTF8",
    "synchronous_commit": "on",
    "lock_timeout": f"{LOCK_SECONDS}s",
    "statement_timeout": "0",
    "client_min_messages": "error",
    "bytea_output": "hex",
    "standard_conforming_strings": "on",
}


_CONNECTION_LOST = ("ended the connection.", "What was being written may be there or not: see discreet ledger show.")

#: SQLSTATE codes of the server -> message and advice.
_FAILURES = Failures(
    unavailable={
        "55P03": (f"has been in use by another process for {LOCK_SECONDS} seconds.", "Nothing was written; try again."),
        "40003": _CONNECTION_LOST,
        "40": ("undid what was being written.", "Nothing was written; try again."),
        "42501": ("cannot be used: the role lacks permission on its schema. Nothing was written.", ""),
        "25006": ("cannot be written: the server or the role is read-only. Nothing was written.", ""),
        "53": ("cannot be written: the server has no room or no connections left. Nothing was written.", ""),
        "57": _CONNECTION_LOST,
        "08": _CONNECTION_LOST,
        NO_ANSWER: _CONNECTION_LOST,
    },
    unreadable={"23": ("was altered: it has rows that cannot be.", "See discreet ledger verify.")},
    other=lambda name, code: UnreadableFile(f"{name} cannot be used as a ledger: the server refuses ({code})."),
    conflicts=CONFLICTS,
)


class PostgresSession(StoreSession):
    """A transaction on the tables of one schema."""

    def __init__(self, connection: psycopg.Connection[Any], schema: str) -> None:
        self._connection, self._schema = connection, schema

    def _run(self, sql: str, *values: object) -> psycopg.Cursor[Any]:
        return self._connection.execute(sql.replace("{}", self._schema).encode(), values)

    def _one(self, sql: str, *values: object) -> Any:
        row = self._run(sql, *values).fetchone()
        return None if row is None else row[0]

    def rows(self, first: int = 1, last: int | None = None) -> list[EventRow]:
        # "all" includes numbers below 1, which only tampering can have written
        low = first if first > 1 or last is not None else -(2**63)
        high = 2**63 - 1 if last is None else last
        sql = "SELECT number, body, hash FROM {}.events WHERE number BETWEEN $1 AND $2 ORDER BY number"
        return [EventRow(*row) for row in self._run(sql, low, high)]

    def last_number(self) -> int:
        return self._one("SELECT max(number) FROM {}.events") or 0

    def append(self, row: EventRow) -> None:
        self._run("INSERT INTO {}.events VALUES ($1, $2, $3)", row.number, row.body, row.hash)

    def record_answer(self, key: str, number: int) -> None:
        self._run("INSERT INTO {}.answers VALUES ($1, $2)", key, number)

    def answer_number(self, key: str) -> int | None:
        number: int | None = self._one("SELECT number FROM {}.answers WHERE key = $1", key)
        return number

    def answer_count(self) -> int:
        return int(self._one("SELECT count(*) FROM {}.answers"))

    def answer_numbers(self) -> dict[str, int]:
        return dict(self._run("SELECT key, number FROM {}.answers").fetchall())

    def put_content(self, digest: str, size: int, packed: bytes) -> None:
        sql = "INSERT INTO {}.contents VALUES ($1, $2, $3) ON CONFLICT (digest) DO NOTHING"
        self._run(sql, digest, size, packed)

    def get_content(self, digest: str) -> tuple[object, object] | None:
        row = self._run("SELECT size, packed FROM {}.contents WHERE digest = $1", digest).fetchone()
        return None if row is None else (row[0], bytes(row[1]))

    def role(self) -> str:
        return str(self._one("SELECT CAST(session_user AS text)"))

    def secret(self) -> bytes:
        return bytes(self._one("SELECT key FROM {}.secret") or b"")


class PostgresStore(Store):
    """A ledger in a schema of its own, ``discreet_NAME``: ``postgresql://user@host/study?ledger=NAME``.

    Writers exclude each other: each locks the events before its first read, in a serialisable transaction that is
    durable when it ends; the step is repeated if the server rolls it back because of another. Triggers forbid every
    change but adding; the owner of the tables can drop them, and then the chain reveals changes. A connection lasts
    for one transaction, so that a store may be used after a fork and from several threads.
    """

    def __init__(self, address: str | Path) -> None:
        rest, name = _split_name(str(address))
        self._address = Address("postgresql", rest)
        self._place = PostgresDatabase(self._address, _SETTINGS, _FAILURES)
        self._ledger = name
        self._schema = f"discreet_{name}"

    @property
    def name(self) -> str:
        if self._ledger == DEFAULT_LEDGER_NAME:
            return str(self._address)
        return f"{self._address}{'&' if '?' in str(self._address) else '?'}ledger={self._ledger}"

    @property
    def folder(self) -> None:
        return None

    def exists(self) -> bool:
        with self._connected() as connection:
            row = connection.execute(b"SELECT to_regnamespace($1) IS NOT NULL", [self._schema]).fetchone()
        return bool(row and row[0])

    @classmethod
    def create(
        cls, address: str | Path, first: EventRow, secret: bytes, fill: Callable[[StoreSession], None] | None = None
    ) -> PostgresStore:
        """Make the schema with its first event, in one transaction; if several try, one succeeds."""
        store = cls(address)
        driver = psycopg_driver()
        refusal = InvalidInput(
            f"{store.name} exists already, and a ledger is never overwritten: what was spent stays spent.",
            "Use it; only other people have a ledger of their own, under another name: add ?ledger=NAME.",
        )
        with store._connected() as connection:
            try:
                connection.execute(b"BEGIN")
                for statement in _layout(store._schema):
                    connection.execute(statement.encode())
            except (driver.errors.DuplicateSchema, driver.errors.UniqueViolation):
                raise refusal from None
            connection.execute(f"INSERT INTO {store._schema}.format VALUES ({FORMAT})".encode())
            connection.execute(f"INSERT INTO {store._schema}.secret VALUES (1, $1)".encode(), [secret])
            session = PostgresSession(connection, store._schema)
            session.append(first)
            if fill is not None:
                fill(session)
            try:
                connection.execute(b"COMMIT")
            except driver.errors.UniqueViolation:
                raise refusal from None
        return store

    @contextmanager
    def reading(self) -> Iterator[StoreSession]:
        with self._connected() as connection:
            connection.execute(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._refuse_foreign(connection)
            yield PostgresSession(connection, self._schema)

    @contextmanager
    def writing(self) -> Iterator[StoreSession]:
        with self._connected() as connection:
            connection.execute(b"BEGIN ISOLATION LEVEL SERIALIZABLE")
            # locked before the first read, which then sees all of the previous writer's changes
            self._lock(connection)
            self._refuse_foreign(connection)
            yield PostgresSession(connection, self._schema)
            connection.execute(b"COMMIT")

    def damage(self) -> list[str]:
        with self.reading():
            return []  # the server checks its own pages; Ledger.verify checks the chain

    # ---------------------------------------------------------------- connections

    def _connected(self) -> AbstractContextManager[psycopg.Connection[Any]]:
        """Connect for one transaction; roll back what is not committed at its end."""
        return self._place.connected(self.name)

    def _lock(self, connection: psycopg.Connection[Any]) -> None:
        errors = psycopg_driver().errors
        try:
            connection.execute(f"LOCK TABLE {self._schema}.events IN EXCLUSIVE MODE".encode())
        except (errors.UndefinedTable, errors.InvalidSchemaName):
            raise self._not_a_ledger() from None

    def _not_a_ledger(self) -> UnreadableFile:
        return UnreadableFile(f"{self.name} is not a ledger.", "A ledger is made by: discreet ledger init.")

    def _is_there(self, connection: psycopg.Connection[Any]) -> bool:
        row = connection.execute(b"SELECT to_regclass($1) IS NOT NULL", [f"{self._schema}.events"]).fetchone()
        return bool(row and row[0])

    def _refuse_foreign(self, connection: psycopg.Connection[Any]) -> None:
        """Refuse a schema that is not a ledger's, or whose tables or triggers were altered."""
        if not self._is_there(connection):
            raise self._not_a_ledger()
        if _actual_layout(connection, self._schema) != _expected_layout(self._schema):
            raise UnreadableFile(
                f"{self.name} was altered: its tables or the triggers that forbid changes are not those of a ledger."
            )
        rows = connection.execute(f"SELECT version FROM {self._schema}.format".encode()).fetchall()
        if rows != [(FORMAT,)]:
            version = rows[0][0] if rows else "none"
            raise UnreadableFile(
                f"{self.name} is a ledger of format {version}; this program reads format {FORMAT}.", "Upgrade discreet."
            )


def _split_name(rest: str) -> tuple[str, str]:
    """Split an address into the address of the database and the name of the ledger.

    >>> _split_name("//ann@host/study?sslmode=require&ledger=births")
    ('//ann@host/study?sslmode=require', 'births')
    >>> _split_name("//ann@host/study")
    ('//ann@host/study', 'main')
    """
    database, _, options = rest.partition("?")
    parts = [part for part in options.split("&") if part]
    names = [part.removeprefix("ledger=") for part in parts if part.startswith("ledger=")]
    others = "&".join(part for part in parts if not part.startswith("ledger="))
    if len(names) > 1 or not all(map(_NAME.fullmatch, names)):
        raise InvalidInput(
            "the name of a ledger has small letters, digits and underscores, up to 40, and begins with a letter.",
            "Write it like postgresql://user@host/study?ledger=births.",
        )
    return f"{database}?{others}" if others else database, names[0] if names else DEFAULT_LEDGER_NAME


# ------------------------------------------------------------------------------------------------ the layout

_REFUSE = "BEGIN RAISE EXCEPTION 'a ledger is only added to'; END"


def _layout(schema: str) -> Iterator[str]:
    """Yield the statements that make a ledger's tables, and triggers that forbid changes."""
    yield f"CREATE SCHEMA {schema}"
    yield f"CREATE FUNCTION {schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS $${_REFUSE}$$"
    for table, columns in _TABLES.items():
        yield f"CREATE TABLE {schema}.{table} ({columns})"
        yield (
            f"CREATE TRIGGER only_added_to BEFORE UPDATE OR DELETE OR TRUNCATE ON {schema}.{table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {schema}.refuse()"
        )


#: Query for the layout in the catalogue: columns, constraints, triggers (and whether they are enabled), function.
_CATALOGUE = """
SELECT 'column', CAST(c.relname AS text), CAST(a.attname AS text),
       format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
 WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
   AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT 'constraint', c.relname, pg_get_constraintdef(k.oid), ''
  FROM pg_class c JOIN pg_constraint k ON k.conrelid = c.oid
 WHERE c.relnamespace = to_regnamespace($1) AND k.contype IN ('p', 'u', 'c', 'f', 'x')
UNION ALL
SELECT 'trigger', c.relname, pg_get_triggerdef(t.oid), CAST(t.tgenabled AS text)
  FROM pg_class c JOIN pg_trigger t ON t.tgrelid = c.oid
 WHERE c.relnamespace = to_regnamespace($1) AND NOT t.tgisinternal
UNION ALL
SELECT 'rule', c.relname, r.rulename, '' FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid
 WHERE c.relnamespace = to_regnamespace($1)
UNION ALL
SELECT 'policy', c.relname, '', '' FROM pg_class c
 WHERE c.relnamespace = to_regnamespace($1) AND (c.relrowsecurity OR c.relhasrules)
UNION ALL
SELECT 'function', p.proname, p.prosrc, '' FROM pg_proc p WHERE p.pronamespace = to_regnamespace($1)
"""

_COLUMNS = {
    "format": ("version integer not null",),
    "events": ("number bigint not null", "body text not null", "hash text not null"),
    "contents": ("digest text not null", "size bigint not null", "packed bytea not null"),
    "secret": ("one integer not null", "key bytea not null"),
    "answers": ("key text not null", "number bigint not null"),
}
_CONSTRAINTS = {
    "format": ("PRIMARY KEY (version)",),
    "events": ("PRIMARY KEY (number)", "UNIQUE (hash)"),
    "contents": ("PRIMARY KEY (digest)",),
    "secret": ("PRIMARY KEY (one)", "CHECK ((one = 1))"),
    "answers": ("PRIMARY KEY (key)", "UNIQUE (number)"),
}


def _actual_layout(connection: psycopg.Connection[Any], schema: str) -> set[tuple[str, ...]]:
    return set(connection.execute(_CATALOGUE.encode(), [schema]).fetchall())


def _expected_layout(schema: str) -> set[tuple[str, ...]]:
    layout: set[tuple[str, ...]] = {("function", "refuse", _REFUSE, "")}
    for table in _TABLES:
        layout |= {("column", table, *column.split(" ", 1)) for column in _COLUMNS[table]}
        layout |= {("constraint", table, rule, "") for rule in _CONSTRAINTS[table]}
        trigger = (
            f"CREATE TRIGGER only_added_to BEFORE DELETE OR UPDATE OR TRUNCATE ON {schema}.{table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {schema}.refuse()"
        )
        layout.add(("trigger", table, trigger, "O"))
    return layout
