"""Tables and views in the server's catalogue. No row is read; refusals depend on the schema alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import InvalidInput, SourceFailed
from ...questions.expressions import name_text
from ...sources.sql import quoted
from ..columns import DECIMAL, TIMESTAMPTZ, SourceColumn
from .foreign_code import FAMILY, name_of_part, refuse_added_code, refuse_called_code, refuse_planned_code
from .views import view_sql

if TYPE_CHECKING:
    import psycopg

#: Types of the catalogue -> kinds. Other types have an equality or a text of their own and are refused.
_KINDS = {
    "int2": "integer", "int4": "integer", "int8": "integer", "float4": "number", "float8": "number",
    "numeric": DECIMAL, "bool": "boolean", "text": "text", "varchar": "text", "bpchar": "text", "uuid": "text",
    "date": "date", "timestamp": "timestamp", "timestamptz": TIMESTAMPTZ,
}  # fmt: skip

#: Relations that a question could name besides tables and views -> why they are refused.
_REFUSED = {
    "m": "a materialised view: it holds the rows of an earlier moment, computed by a query that was not judged",
    "f": "a foreign table: another server reads it, and what that does cannot be known here",
}


@dataclass(frozen=True)
class StoredColumn(SourceColumn):
    """A column, and how it is read as a type of ``pg_catalog``.

    Attributes
    ----------
    type_
        The type it is read as; a text is compared by its bytes.
    enum
        The type in SQL if it is an enum, whose text the server's own output function gives: a cast of others could not.
    domain
        True if the type is a domain, whose operators and constraints are ignored.
    """

    type_: str = ""
    enum: str | None = None
    domain: bool = False

    def reading(self, name: str) -> str:
        """Return SQL that reads this column, of a name, and calls nothing outside ``pg_catalog``."""
        value = quoted(name)
        if self.enum is not None:
            value = f"CAST({value} AS {self.enum})" if self.domain else value
            return f'(textin(enum_out({value})) COLLATE "C")'
        if self.type_ == "text":
            return f'(CAST({value} AS text) COLLATE "C")'
        return f"CAST({value} AS {self.type_})" if self.domain else value

    @property
    def missing(self) -> str:
        """SQL of a missing value of the type it is read as."""
        return '(CAST(NULL AS text) COLLATE "C")' if self.type_ == "text" else f"CAST(NULL AS {self.type_})"


@dataclass(frozen=True)
class PostgresRelation:
    """A table, or a view with its definition."""

    schema: str
    name: str
    columns: Mapping[str, StoredColumn]
    definition: str | None

    @property
    def sql(self) -> str:
        """Its name in SQL."""
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    def rows(self, columns: Sequence[str]) -> str:
        """Return a FROM item: some columns of all rows, each read as a type of ``pg_catalog``."""
        listed = (f"{self.columns[name].reading(name)} AS {quoted(name)}" for name in columns)
        return f"(SELECT {', '.join(listed)} FROM {self.sql}) AS stored"

    def no_rows(self, columns: Sequence[str]) -> str:
        """Return a FROM item: the same columns without a row."""
        listed = (f"{self.columns[name].missing} AS {quoted(name)}" for name in columns)
        return f"(SELECT {', '.join(listed)} LIMIT 0) AS empty"


def relation_names(connection: psycopg.Connection[Any]) -> dict[str, str]:
    """Return everything that looks like a table to this role: schema.name -> its kind in the catalogue."""
    rows = connection.execute(
        b"""
        SELECT CAST(n.nspname AS text), CAST(c.relname AS text), CAST(c.relkind AS text)
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
              AND n.nspname !~ '[.]' AND has_schema_privilege(n.oid, 'USAGE')
        ORDER BY 1, 2
        """
    ).fetchall()
    return {f"{schema}.{name}": kind for schema, name, kind in rows}


def column_names(connection: psycopg.Connection[Any], relations: Sequence[str]) -> set[str]:
    """Return the names of all columns of some relations, also of those that would be refused."""
    rows = connection.execute(
        b"""
        SELECT DISTINCT CAST(a.attname AS text)
        FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname || '.' || c.relname = ANY (CAST($1 AS text[])) AND a.attnum > 0 AND NOT a.attisdropped
        """,
        [list(relations)],
    ).fetchall()
    return {name for (name,) in rows}


def case_collation(connection: psycopg.Connection[Any]) -> str | None:
    """Return the collation that maps upper and lower case of all letters one by one, of those the server has."""
    collation = connection.execute(
        b"""
        SELECT CAST(collname AS text) FROM pg_collation
        WHERE collnamespace = CAST('pg_catalog' AS regnamespace) AND collencoding IN (-1, 6)
              AND collname IN ('pg_c_utf8', 'C.utf8', 'C.UTF-8')
              AND (oid < 16384 OR collprovider = 'c' AND CAST(collctype AS text) = CAST(collname AS text))
        ORDER BY array_position(ARRAY['pg_c_utf8', 'C.utf8', 'C.UTF-8'], CAST(collname AS text)) LIMIT 1
        """
    ).fetchone()
    return None if collation is None else str(collation[0])


def lock(connection: psycopg.Connection[Any], relation: PostgresRelation) -> None:
    """Keep a table and its partitions from being altered until the session ends; reading and writing go on."""
    from psycopg.errors import InsufficientPrivilege

    if relation.definition is not None:
        return
    permitted = True
    try:
        connection.execute(f"LOCK TABLE {relation.sql} IN ACCESS SHARE MODE".encode())
    except InsufficientPrivilege:
        permitted = False
    if not permitted:
        named, role = f"{name_text(relation.schema)}.{name_text(relation.name)}", name_text(connection.info.user)
        raise SourceFailed(
            f"the role {role} may not read {named}, and nothing was spent.",
            f"Its owner can permit it: GRANT SELECT ON {named} TO {role};",
        )


def read_relation(connection: psycopg.Connection[Any], name: str) -> PostgresRelation:
    """Return a table or view as the catalogue has it now.

    Raises
    ------
    InvalidInput
        If it is refused for what it is, or is gone.
    """
    schema, _, table = name.partition(".")
    row = connection.execute(
        b"""
        SELECT c.oid, CAST(c.relkind AS text) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relname = $2
        """,
        [schema, table],
    ).fetchone()
    if row is None:
        raise InvalidInput(f"{name} is no longer there.", "Open the data again.")
    oid, kind = row
    refuse_kind(name, kind)
    _refuse_family(connection, name, oid)
    refuse_added_code(connection)
    refuse_planned_code(connection, name, oid)
    columns = _columns(connection, oid)
    if kind != "v":
        return PostgresRelation(schema, table, columns, None)
    refuse_called_code(connection, name, oid)
    definition = connection.execute(b"SELECT pg_get_viewdef(CAST($1 AS oid))", [oid]).fetchone()
    assert definition is not None
    return PostgresRelation(schema, table, columns, view_sql(name, str(definition[0])))


def refuse_kind(name: str, kind: str) -> None:
    """Refuse a relation that is neither a table nor a view."""
    if kind in _REFUSED:
        raise InvalidInput(f"{name} is {_REFUSED[kind]}.", "Ask the question of a table.")


def _refuse_family(connection: psycopg.Connection[Any], name: str, oid: int) -> None:
    """Refuse a table that, or a partition of which, is read by other rules than those of a plain table."""
    for part, kind, secured, method in connection.execute(
        f"""{FAMILY}
        SELECT CAST(c.relname AS text), CAST(c.relkind AS text), c.relrowsecurity, CAST(m.amname AS text)
        FROM family JOIN pg_class AS c ON c.oid = family.oid LEFT JOIN pg_am AS m ON m.oid = c.relam ORDER BY 1
        """.encode(),
        [oid],
    ).fetchall():
        whose = name_of_part(name, part)
        if secured:
            raise InvalidInput(
                f"{whose} has row-level security: the counts would depend on the user.",
                "Use a table without it, or a copy.",
            )
        refuse_kind(whose, kind)
        if method not in (None, "heap"):
            raise InvalidInput(
                f"{whose} is stored by the access method {method}, which may skip rows by statistics of others.",
                "Copy it to a plain table.",
            )


def _columns(connection: psycopg.Connection[Any], oid: int) -> dict[str, StoredColumn]:
    rows = connection.execute(
        b"""
        SELECT CAST(a.attname AS text), format_type(a.atttypid, a.atttypmod), CAST(t.typname AS text),
               CASE WHEN t.typtype = 'e' THEN format_type(t.oid, NULL) END, d.typtype = 'd',
               t.typnamespace = CAST('pg_catalog' AS regnamespace),
               CASE WHEN d.typtype = 'd' THEN d.typtypmod ELSE a.atttypmod END, CAST(a.attgenerated AS text),
               coalesce(l.collisdeterministic, TRUE)
        FROM pg_attribute AS a JOIN pg_type AS d ON d.oid = a.atttypid
             JOIN pg_type AS t ON t.oid = CASE WHEN d.typtype = 'd' THEN d.typbasetype ELSE d.oid END
             LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
        WHERE a.attrelid = CAST($1 AS oid) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
        """,
        [oid],
    ).fetchall()
    return {name: _column(*description) for name, *description in rows}


def _column(
    stored: str,
    type_: str,
    enum: str | None,
    domain: bool,
    builtin: bool,
    modifier: int,
    generated: str,
    deterministic: bool,
) -> StoredColumn:
    """Judge a column by its type: how it is read, and whether it can name people."""
    if generated == "v":
        return StoredColumn(stored, "other", False, "is computed when it is read, which can fail on a row")
    if not deterministic:
        return StoredColumn(stored, "other", False, "has a collation under which different texts are equal")
    if enum is not None:
        return StoredColumn(stored, "text", True, type_="text", enum=enum, domain=domain)
    if not builtin or type_ not in _KINDS:
        return StoredColumn(
            stored, "other", False, f"is stored as {stored}, which has an equality or a text of its own"
        )
    kind = _KINDS[type_]
    # 1.5 and 1.50 are equal and have two texts where the number of decimals is not fixed
    names_people = kind not in ("number", TIMESTAMPTZ) and (kind != DECIMAL or modifier >= 0)
    return StoredColumn(stored, kind, names_people, type_="text" if kind == "text" else type_, domain=domain)
