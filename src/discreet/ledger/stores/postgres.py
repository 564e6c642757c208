"""A ledger in a PostgreSQL database, for several machines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...addresses import Address
from ...databases.failures import Failures
from ...databases.postgres import CONFLICTS, NO_ANSWER, PostgresPlace, psycopg_driver
from ...errors import InvalidInput, UnreadableFile
from ..chain import Row
from .base import Session, Store

if TYPE_CHECKING:
    import psycopg

#: The version of the tables.
FORMAT = 1

#: How long one writer waits for another, in seconds.
PATIENCE = 60

#: The name of the ledger where the address names none.
USUAL_NAME = "main"

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")

#: What a schema holds: tables that are only added to.
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
    "lock_timeout": f"{PATIENCE}s",
    "statement_timeout": "0",
    "client_min_messages": "error",
    "bytea_output": "hex",
    "standard_conforming_strings": "on",
}


_MAY_BE_THERE = ("ended the connection.", "What was being written may be there or not: see discreet ledger show.")

#: What the server finds, in words that say what to do.
_FAILURES = Failures(
    unavailable={
        "55P03": (f"has been in use by another process for {PATIENCE} seconds.", "Nothing was written; try again."),
        "40003": _MAY_BE_THERE,
        "40": ("undid what was being written.", "Nothing was written; try again."),
        "42501": ("cannot be used: the role lacks permission on its schema. Nothing was written.", ""),
        "25006": ("cannot be written: the server or the role is read-only. Nothing was written.", ""),
        "53": ("cannot be written: the server has no room or no connections left. Nothing was written.", ""),
        "57": _MAY_BE_THERE,
        "08": _MAY_BE_THERE,
        NO_ANSWER: _MAY_BE_THERE,
    },
    unreadable={"23": ("was altered: it has rows that cannot be.", "See discreet ledger verify.")},
    other=lambda name, code: UnreadableFile(f"{name} cannot be used as a ledger: the server refuses ({code})."),
    conflicts=CONFLICTS,
)


class PostgresSession(Session):
    """A transaction on the tables of one schema."""

    def __init__(self, connection: psycopg.Connection[Any], schema: str) -> None:
        self._connection, self._schema = connection, schema

    def _run(self, sql: str, *values: object) -> psycopg.Cursor[Any]:
        return self._connection.execute(sql.replace("{}", self._schema).encode(), values)

    def _one(self, sql: str, *values: object) -> Any:
        found = self._run(sql, *values).fetchone()
        return None if found is None else found[0]

    def rows(self, first: int = 1, last: int | None = None) -> list[Row]:
        # numbers below 1, which somebody may have written, are among "all of them"
        low = first if first > 1 or last is not None else -(2**63)
        high = 2**63 - 1 if last is None else last
        sql = "SELECT number, body, hash FROM {}.events WHERE number BETWEEN $1 AND $2 ORDER BY number"
        return [Row(*row) for row in self._run(sql, low, high)]

    def last_number(self) -> int:
        return self._one("SELECT max(number) FROM {}.events") or 0

    def append(self, row: Row) -> None:
        self._run("INSERT INTO {}.events VALUES ($1, $2, $3)", row.number, row.body, row.hash)

    def record_answer(self, key: str, number: int) -> None:
        self._run("INSERT INTO {}.answers VALUES ($1, $2)", key, number)

    def answer_number(self, key: str) -> int | None:
        found: int | None = self._one("SELECT number FROM {}.answers WHERE key = $1", key)
        return found

    def answer_count(self) -> int:
        return int(self._one("SELECT count(*) FROM {}.answers"))

    def answer_numbers(self) -> dict[str, int]:
        return dict(self._run("SELECT key, number FROM {}.answers").fetchall())

    def put_content(self, digest: str, size: int, packed: bytes) -> None:
        sql = "INSERT INTO {}.contents VALUES ($1, $2, $3) ON CONFLICT (digest) DO NOTHING"
        self._run(sql, digest, size, packed)

    def get_content(self, digest: str) -> tuple[object, object] | None:
        found = self._run("SELECT size, packed FROM {}.contents WHERE digest = $1", digest).fetchone()
        return None if found is None else (found[0], bytes(found[1]))

    def secret(self) -> bytes:
        return bytes(self._one("SELECT key FROM {}.secret") or b"")


class PostgresStore(Store):
    """A ledger in a schema of its own, ``discreet_NAME``: ``postgresql://user@host/study?ledger=NAME``.

    Writers take turns from their beginning on: each locks the events before it reads the first one, in a
    serialisable transaction that is durable when it ends; one that the server undoes for the sake of another is
    done again. Triggers forbid every change but adding; whoever owns the tables can drop them, and the chain is
    what finds it. Connections live for one transaction, so an object of this class may be used after a fork and
    from several threads.
    """

    def __init__(self, address: str | Path) -> None:
        rest, name = _split_name(str(address))
        self._address = Address("postgresql", rest)
        self._place = PostgresPlace(self._address, _SETTINGS, _FAILURES)
        self._ledger = name
        self._schema = f"discreet_{name}"

    @property
    def name(self) -> str:
        if self._ledger == USUAL_NAME:
            return str(self._address)
        return f"{self._address}{'&' if '?' in str(self._address) else '?'}ledger={self._ledger}"

    @property
    def folder(self) -> None:
        return None

    def exists(self) -> bool:
        with self._connected() as connection:
            found = connection.execute(b"SELECT to_regnamespace($1) IS NOT NULL", [self._schema]).fetchone()
        return bool(found and found[0])

    @classmethod
    def create(
        cls, address: str | Path, first: Row, secret: bytes, fill: Callable[[Session], None] | None = None
    ) -> PostgresStore:
        """Make the schema with its first event, in one transaction; of several who try, one succeeds."""
        store = cls(address)
        driver = psycopg_driver()
        taken = InvalidInput(
            f"{store.name} exists already, and a ledger is never overwritten: what was spent stays spent.",
            "Use it; only other people have a ledger of their own, under another name: add ?ledger=NAME.",
        )
        with store._connected() as connection:
            try:
                connection.execute(b"BEGIN")
                for statement in _layout(store._schema):
                    connection.execute(statement.encode())
            except (driver.errors.DuplicateSchema, driver.errors.UniqueViolation):
                raise taken from None
            connection.execute(f"INSERT INTO {store._schema}.format VALUES ({FORMAT})".encode())
            connection.execute(f"INSERT INTO {store._schema}.secret VALUES (1, $1)".encode(), [secret])
            session = PostgresSession(connection, store._schema)
            session.append(first)
            if fill is not None:
                fill(session)
            try:
                connection.execute(b"COMMIT")
            except driver.errors.UniqueViolation:
                raise taken from None
        return store

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with self._connected() as connection:
            connection.execute(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._refuse_foreign(connection)
            yield PostgresSession(connection, self._schema)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        with self._connected() as connection:
            connection.execute(b"BEGIN ISOLATION LEVEL SERIALIZABLE")
            # before anything is read: what is read then is what the writer before has left
            self._lock(connection)
            self._refuse_foreign(connection)
            yield PostgresSession(connection, self._schema)
            connection.execute(b"COMMIT")

    def damage(self) -> list[str]:
        with self.reading():
            return []  # the server checks its own pages; the chain is read by whoever asks

    # ---------------------------------------------------------------- connections

    def _connected(self) -> AbstractContextManager[psycopg.Connection[Any]]:
        """A connection for one transaction; what is not committed when it ends is undone."""
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
        found = connection.execute(b"SELECT to_regclass($1) IS NOT NULL", [f"{self._schema}.events"]).fetchone()
        return bool(found and found[0])

    def _refuse_foreign(self, connection: psycopg.Connection[Any]) -> None:
        """Refuse a schema that is not a ledger's, or whose tables and triggers are not those that were made."""
        if not self._is_there(connection):
            raise self._not_a_ledger()
        if _found_layout(connection, self._schema) != _expected_layout(self._schema):
            raise UnreadableFile(
                f"{self.name} was altered: its tables or the triggers that forbid changes are not those of a ledger."
            )
        found = connection.execute(f"SELECT version FROM {self._schema}.format".encode()).fetchall()
        if found != [(FORMAT,)]:
            version = found[0][0] if found else "none"
            raise UnreadableFile(
                f"{self.name} is a ledger of format {version}; this program reads format {FORMAT}.", "Upgrade discreet."
            )


def _split_name(rest: str) -> tuple[str, str]:
    """An address without the name of the ledger, and that name.

    >>> _split_name("//ann@host/study?sslmode=require&ledger=births")
    ('//ann@host/study?sslmode=require', 'births')
    >>> _split_name("//ann@host/study")
    ('//ann@host/study', 'main')
    """
    place, _, said = rest.partition("?")
    parts = [part for part in said.split("&") if part]
    names = [part.removeprefix("ledger=") for part in parts if part.startswith("ledger=")]
    others = "&".join(part for part in parts if not part.startswith("ledger="))
    if len(names) > 1 or not all(map(_NAME.fullmatch, names)):
        raise InvalidInput(
            "the name of a ledger has small letters, digits and underscores, up to 40, and begins with a letter.",
            "Write it like postgresql://user@host/study?ledger=births.",
        )
    return f"{place}?{others}" if others else place, names[0] if names else USUAL_NAME


# ------------------------------------------------------------------------------------------------ the layout

_REFUSE = "BEGIN RAISE EXCEPTION 'a ledger is only added to'; END"


def _layout(schema: str) -> Iterator[str]:
    """The statements that make a ledger's tables, and triggers that forbid changes."""
    yield f"CREATE SCHEMA {schema}"
    yield f"CREATE FUNCTION {schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS $${_REFUSE}$$"
    for table, columns in _TABLES.items():
        yield f"CREATE TABLE {schema}.{table} ({columns})"
        yield (
            f"CREATE TRIGGER only_added_to BEFORE UPDATE OR DELETE OR TRUNCATE ON {schema}.{table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {schema}.refuse()"
        )


#: What the catalogue says of these tables: columns, constraints, triggers (with whether they fire) and their function.
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


def _found_layout(connection: psycopg.Connection[Any], schema: str) -> set[tuple[str, ...]]:
    return set(connection.execute(_CATALOGUE.encode(), [schema]).fetchall())


def _expected_layout(schema: str) -> set[tuple[str, ...]]:
    expected: set[tuple[str, ...]] = {("function", "refuse", _REFUSE, "")}
    for table in _TABLES:
        expected |= {("column", table, *column.split(" ", 1)) for column in _COLUMNS[table]}
        expected |= {("constraint", table, rule, "") for rule in _CONSTRAINTS[table]}
        trigger = (
            f"CREATE TRIGGER only_added_to BEFORE DELETE OR UPDATE OR TRUNCATE ON {schema}.{table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {schema}.refuse()"
        )
        expected.add(("trigger", table, trigger, "O"))
    return expected
