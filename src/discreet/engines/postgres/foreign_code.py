"""Code in a database that is not PostgreSQL's own, refused wherever the server would run it for a question.

A function that somebody wrote can read other rows, so that one person would move the counts of all. Statements name
nothing outside ``pg_catalog`` and read every column as a type of ``pg_catalog`` (``catalogue.StoredColumn``). What is
left is refused here, by the catalogue alone:

- casts between the types that statements use, and functions and operators that were added to ``pg_catalog``: the server
  would choose them by the types of their arguments;
- functions in the expressions of indexes, extended statistics and partition keys: the planner evaluates those whose
  arguments are constants, and sorts partition bounds by the operator class of the key;
- whatever a view calls: a view is counted through its table, without that code, which would be another count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from ...errors import InvalidInput

if TYPE_CHECKING:
    import psycopg
    from psycopg.rows import TupleRow

    Connection: TypeAlias = psycopg.Connection[TupleRow]

#: First object identifier that is not assigned while a server is initialised (``FirstNormalObjectId``).
_FIRST_USER_OID = 16384

#: Types of columns that statements convert to text before anything else.
_CONVERTED_TYPES = ("varchar", "bpchar", "uuid")

#: Types of all expressions in statements.
_STATEMENT_TYPES = (
    *_CONVERTED_TYPES, "bool", "int2", "int4", "int8", "float4", "float8", "numeric", "text", "date", "timestamp",
    "timestamptz", "bit",
)  # fmt: skip

#: Common table expression of a table ($1), its partitions and all that inherit from it.
FAMILY = """
    WITH RECURSIVE family(oid) AS (
        SELECT CAST($1 AS oid)
        UNION SELECT i.inhrelid FROM pg_inherits AS i JOIN family ON i.inhparent = family.oid)"""

#: Query of all code outside ``pg_catalog`` (or added to it): the catalogue that holds it, its number and its name.
_FOREIGN_CODE = f"""
    SELECT code.catalogue, code.oid, CAST(n.nspname AS text) || '.' || CAST(code.name AS text) AS name
    FROM (SELECT CAST('pg_proc' AS regclass) AS catalogue, oid, proname AS name, pronamespace AS namespace FROM pg_proc
          UNION ALL SELECT CAST('pg_operator' AS regclass), oid, oprname, oprnamespace FROM pg_operator
          UNION ALL SELECT CAST('pg_opclass' AS regclass), oid, opcname, opcnamespace FROM pg_opclass
          UNION ALL SELECT CAST('pg_collation' AS regclass), oid, collname, collnamespace FROM pg_collation
         ) AS code JOIN pg_namespace AS n ON n.oid = code.namespace
    WHERE n.nspname <> 'pg_catalog' OR code.oid >= {_FIRST_USER_OID}"""

#: Query of what has expressions that the planner evaluates: words, catalogue, number, table, kinds of code it calls.
#: An index is never scanned, so that its operator classes and collations are not called.
_PLANNED_OBJECTS = """
    SELECT 'an index that calls' AS words, CAST('pg_class' AS regclass) AS catalogue, i.indexrelid AS oid,
           i.indrelid AS owner, ARRAY['pg_proc', 'pg_operator'] AS calls
    FROM pg_index AS i JOIN family ON i.indrelid = family.oid WHERE i.indexprs IS NOT NULL OR i.indpred IS NOT NULL
    UNION ALL
    SELECT 'extended statistics that call', CAST('pg_statistic_ext' AS regclass), s.oid, s.stxrelid,
           ARRAY['pg_proc', 'pg_operator']
    FROM pg_statistic_ext AS s JOIN family ON s.stxrelid = family.oid WHERE s.stxexprs IS NOT NULL
    UNION ALL
    SELECT 'a partition key that calls', CAST('pg_class' AS regclass), p.partrelid, p.partrelid,
           ARRAY['pg_proc', 'pg_operator', 'pg_opclass', 'pg_collation']
    FROM pg_partitioned_table AS p JOIN family ON p.partrelid = family.oid"""


def refuse_added_code(connection: Connection) -> None:
    """Refuse a database in which the server could choose code of others for what statements say.

    A cast by input and output (``WITH INOUT``) does what the server does without it, unless it is implicit and so takes
    part in the choice of operators.
    """
    cast = _first(
        connection,
        """
        SELECT format_type(s.oid, NULL), format_type(t.oid, NULL)
        FROM pg_cast AS c JOIN pg_type AS s ON s.oid = c.castsource JOIN pg_type AS t ON t.oid = c.casttarget
        WHERE c.oid >= CAST($1 AS oid) AND s.typname = ANY (CAST($2 AS text[])) AND t.typname = ANY (CAST($2 AS text[]))
              AND s.typnamespace = CAST('pg_catalog' AS regnamespace) AND t.typnamespace = s.typnamespace
              AND NOT (c.castmethod = 'i' AND (c.castcontext <> 'i' OR s.typname = ANY (CAST($3 AS text[]))))
        ORDER BY 1, 2 LIMIT 1""",
        [_FIRST_USER_OID, list(_STATEMENT_TYPES), list(_CONVERTED_TYPES)],
    )
    if cast is not None:
        source, target = cast
        raise InvalidInput(
            f"the database has a cast of its own from {source} to {target}, which would decide what is counted.",
            f"Drop it (DROP CAST ({source} AS {target});), or copy the table to another database.",
        )
    trigger = _first(
        connection,
        "SELECT CAST(evtname AS text) FROM pg_event_trigger WHERE evtevent = 'login' AND evtenabled <> 'D' LIMIT 1",
        [],
    )
    if trigger is not None:
        raise InvalidInput(
            f"the event trigger {trigger[0]} runs code in every session when it starts.",
            f"Disable it (ALTER EVENT TRIGGER {trigger[0]} DISABLE;), or copy the table to another database.",
        )
    addition = _first(
        connection,
        """
        SELECT 'function', CAST(a.proname AS text) FROM pg_proc AS a JOIN pg_proc AS b ON b.proname = a.proname
        WHERE a.oid >= CAST($1 AS oid) AND b.oid < CAST($1 AS oid) AND b.pronamespace = a.pronamespace
              AND a.pronamespace = CAST('pg_catalog' AS regnamespace)
        UNION SELECT 'operator', CAST(a.oprname AS text)
        FROM pg_operator AS a JOIN pg_operator AS b ON b.oprname = a.oprname
        WHERE a.oid >= CAST($1 AS oid) AND b.oid < CAST($1 AS oid) AND b.oprnamespace = a.oprnamespace
              AND a.oprnamespace = CAST('pg_catalog' AS regnamespace)
        ORDER BY 1, 2 LIMIT 1""",
        [_FIRST_USER_OID],
    )
    if addition is not None:
        kind, name = addition
        raise InvalidInput(
            f"the database adds the {kind} {name} to pg_catalog, where the server has its own of this name.",
            "Move it to another schema, or copy the table to another database.",
        )


def refuse_planned_code(connection: Connection, name: str, oid: int) -> None:
    """Refuse a table if planning a statement would call code of others."""
    planned = _first(
        connection,
        f"""{FAMILY}
        SELECT CAST(c.relname AS text), planned.words, code.name
        FROM ({_PLANNED_OBJECTS}) AS planned JOIN pg_class AS c ON c.oid = planned.owner
             JOIN pg_depend AS d ON d.classid = planned.catalogue AND d.objid = planned.oid AND d.objsubid = 0
             JOIN ({_FOREIGN_CODE}) AS code ON code.catalogue = d.refclassid AND code.oid = d.refobjid
        WHERE CAST(code.catalogue AS text) = ANY (planned.calls)
        ORDER BY 1, 2, 3 LIMIT 1""",
        [oid],
    )
    if planned is not None:
        part, words, code = planned
        raise InvalidInput(
            f"{name_of_part(name, part)} has {words} {code}, which is not part of PostgreSQL and would run when a "
            "question is planned.",
            "Use a copy without it.",
        )


def refuse_called_code(connection: Connection, name: str, oid: int) -> None:
    """Refuse a view that calls code of others."""
    called = _first(
        connection,
        f"""
        SELECT code.name FROM pg_rewrite AS r
             JOIN pg_depend AS d ON d.classid = CAST('pg_rewrite' AS regclass) AND d.objid = r.oid
             JOIN ({_FOREIGN_CODE}) AS code ON code.catalogue = d.refclassid AND code.oid = d.refobjid
        WHERE r.ev_class = CAST($1 AS oid) ORDER BY 1 LIMIT 1""",
        [oid],
    )
    if called is not None:
        raise InvalidInput(
            f"the view {name} calls {called[0]}, which is not part of PostgreSQL.", "Ask the question of its table."
        )


def name_of_part(name: str, part: str) -> str:
    """Return how messages call a table, or a part of it.

    >>> name_of_part("public.visits", "visits"), name_of_part("public.visits", "visits_2020")
    ('public.visits', 'visits_2020, a part of public.visits,')
    """
    return name if part == name.partition(".")[2] else f"{part}, a part of {name},"


def _first(connection: Connection, sql: str, values: Sequence[object]) -> TupleRow | None:
    return connection.execute(sql.encode(), values).fetchone()
