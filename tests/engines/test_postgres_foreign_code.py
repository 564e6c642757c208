"""Code that others own in a PostgreSQL database: a question never runs it, or is refused before anything is spent.

Every function of the hostile schema ``evil`` writes to the server's log when it is called, and answers by the number of
rows in the table, so that one added person would move all counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import discreet as dc
from discreet.addresses import read_address
from discreet.databases.postgres import read_parameters
from discreet.engines.base import Counting, Discovering
from discreet.engines.postgres import catalogue
from discreet.engines.postgres.connection import connected
from discreet.engines.postgres.counting import discovering_statement, statement
from discreet.engines.postgres.source import CountedDatabase
from discreet.engines.sources import open_source
from discreet.errors import InvalidInput
from support.countings import counting
from support.postgres_questions import refusal
from support.postgres_server import Server, server
from support.refusals import refused

CALLED = "FOREIGN CODE WAS CALLED"

#: More than this many rows in the table, and the hostile functions answer differently.
TURNING_POINT = 10


def function(name: str, arguments: str, returns: str, few: str, many: str, volatility: str = "STABLE") -> str:
    """Return SQL of a hostile function: one answer while the table has few rows, and another afterwards."""
    return (
        f"CREATE FUNCTION {name}({arguments}) RETURNS {returns} LANGUAGE plpgsql {volatility} AS $$ "
        f"DECLARE n bigint; BEGIN RAISE LOG '{CALLED}: {name}'; SELECT count(*) INTO n FROM public.t; "
        f"IF n > {TURNING_POINT} THEN RETURN {many}; END IF; RETURN {few}; END $$"
    )


MOOD = (
    "CREATE SCHEMA evil",
    "CREATE TYPE mood AS ENUM ('good', 'bad')",
    "CREATE TABLE t (person text, mood mood)",
    "INSERT INTO t SELECT 'p' || i, 'good' FROM generate_series(1, 10) AS i",
)
ADDED = "INSERT INTO t VALUES ('new', 'bad')"


def counts(data: str, countings: Sequence[Counting]) -> list[list[list[int]]]:
    source = open_source(data)
    source.rehearse(countings)
    return [counted.tolist() for counted in source.count(countings)]


def calls(pg: Server, start: int) -> list[str]:
    """Return the lines of the server's log, from a place on, that say that a hostile function was called."""
    return [
        line for line in pg.log[start:].splitlines() if "LOG:" in line and CALLED in line and "statement:" not in line
    ]


# ------------------------------------------------------------------------------------------------ casts of enums


@pytest.mark.parametrize("version", [18, 16])
@pytest.mark.parametrize("context", ["", "AS ASSIGNMENT", "AS IMPLICIT"])
def test_a_cast_that_reads_the_table_does_not_move_the_counts_of_others(version: int, context: str) -> None:
    """The attack: [10, 0] became [0, 11] when one person came."""
    pg = server(version)
    name = pg.database(
        *MOOD,
        function("evil.mood_text", "mood", "text", "'good'::text", "'bad'::text"),
        f"CREATE CAST (mood AS text) WITH FUNCTION evil.mood_text(mood) {context}",
    )
    by_mood = "SELECT mood, COUNT(*) FROM public.t GROUP BY mood"
    asked = [
        counting(by_mood, mood=["good", "bad"]),
        counting(by_mood, "person", 1, mood=["good", "bad"]),
        counting("SELECT COUNT_IF(mood = 'good'), COUNT_IF(mood = 'bad') FROM public.t"),
        counting("SELECT COUNT_IF(mood LIKE 'g%'), COUNT_IF(mood IN ('bad', 'worse')) FROM public.t", "person"),
    ]
    start, data = len(pg.log), pg.address(name)
    before = counts(data, asked)
    with pg.connect(name) as base:
        base.execute(ADDED.encode())
    after = counts(data, asked)
    assert before == [[[10], [0]], [[10], [0]], [[10, 0]], [[10, 0]]]
    assert after == [[[10], [1]], [[10], [1]], [[10, 1]], [[10, 1]]]
    assert calls(pg, start) == []


@pytest.mark.parametrize(
    "target", ["varchar", "bpchar", "bool", "int4", "int8", "float8", "numeric", "date", "timestamp"]
)
@pytest.mark.parametrize("reading", ["DOUBLE", "BIGINT", "BOOLEAN", "DATE", "TIMESTAMP", "VARCHAR"])
def test_no_reading_of_an_enum_calls_a_cast(pg: Server, target: str, reading: str) -> None:
    name = f"casts_to_{target}"
    with pg.connect() as base:
        there = base.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
    if there is None:
        made = pg.database(
            *MOOD,
            function("evil.convert", "mood", target, "NULL", "NULL"),
            f"CREATE CAST (mood AS {target}) WITH FUNCTION evil.convert(mood) AS IMPLICIT",
        )
        with pg.connect() as base:
            base.execute(f'ALTER DATABASE "{made}" RENAME TO {name}'.encode())
    start = len(pg.log)
    literal = {"DATE": "DATE '2020-01-01'", "TIMESTAMP": "TIMESTAMP '2020-01-01 00:00:00'", "VARCHAR": "'good'"}
    test = f"TRY_CAST(mood AS {reading}) = {literal.get(reading, 'TRUE' if reading == 'BOOLEAN' else '1')}"
    asked = [
        counting(f"SELECT COUNT(*) FROM public.t WHERE {test}"),
        counting("SELECT COUNT(mood) FROM public.t WHERE LOWER(mood) = 'good'"),
        counting("SELECT COUNT(*) FROM public.t", "mood"),
    ]
    assert counts(pg.address(name), asked) == [[[10 if reading == "VARCHAR" else 0]], [[10]], [[1]]]
    assert calls(pg, start) == []


def test_an_enum_as_the_unit_or_as_discovered_groups_calls_nothing(pg: Server) -> None:
    name = pg.database(
        *MOOD,
        function("evil.mood_text", "mood", "text", "'good'::text", "'bad'::text"),
        "CREATE CAST (mood AS text) WITH FUNCTION evil.mood_text(mood) AS IMPLICIT",
        ADDED,
    )
    start = len(pg.log)
    question = counting("SELECT mood, COUNT(*) FROM public.t GROUP BY mood", mood=["good"]).question
    total = counting("SELECT COUNT(*) FROM public.t")
    for unit in ("row", "person", "mood"):
        asked = Discovering(question, total.groups, unit, 1, total.key, label_columns=("mood",), kinds=("text",))
        source = open_source(pg.address(name))
        source.rehearse([asked])
        found = source.discover(asked)
        assert dict(zip(found.labels[0], found.counts[:, 0].tolist(), strict=True)) == (
            {"good": 1, "bad": 1} if unit == "mood" else {"good": 10, "bad": 1}
        )
    assert calls(pg, start) == []


def test_operator_classes_of_an_enum_are_not_called(pg: Server) -> None:
    hostile = [
        function(f"evil.{name}", "mood, mood", "boolean", few, "TRUE", "IMMUTABLE")
        for name, few in (("eq", "FALSE"), ("lt", "TRUE"), ("le", "TRUE"), ("ge", "FALSE"), ("gt", "FALSE"))
    ]
    operators = [
        f"CREATE OPERATOR evil.{sign} (LEFTARG = mood, RIGHTARG = mood, FUNCTION = evil.{name}, HASHES, MERGES)"
        if sign == "="
        else f"CREATE OPERATOR evil.{sign} (LEFTARG = mood, RIGHTARG = mood, FUNCTION = evil.{name})"
        for sign, name in (("=", "eq"), ("<", "lt"), ("<=", "le"), (">=", "ge"), (">", "gt"))
    ]
    listed = "OPERATOR 1 evil.<, OPERATOR 2 evil.<=, OPERATOR 3 evil.=, OPERATOR 4 evil.>=, OPERATOR 5 evil.>"
    name = pg.database(
        *MOOD, *hostile, *operators,
        function("evil.compare", "mood, mood", "integer", "1", "0", "IMMUTABLE"),
        function("evil.hash", "mood", "integer", "1", "2", "IMMUTABLE"),
        f"CREATE OPERATOR CLASS evil.sorted DEFAULT FOR TYPE mood USING btree AS {listed}, "
        "FUNCTION 1 evil.compare(mood, mood)",
        "CREATE OPERATOR CLASS evil.hashed DEFAULT FOR TYPE mood USING hash AS OPERATOR 1 evil.=, "
        "FUNCTION 1 evil.hash(mood)",
    )  # fmt: skip
    data, start = pg.address(name), len(pg.log)
    asked = [
        counting("SELECT mood, COUNT(*) FROM public.t GROUP BY mood", unit, 1, mood=["good", "bad"])
        for unit in ("row", "person", "mood")
    ]
    assert counts(data, asked) == [[[10], [0]], [[10], [0]], [[1], [0]]]
    with pg.connect(name) as base:
        base.execute(ADDED.encode())
    assert counts(data, asked) == [[[10], [1]], [[10], [1]], [[1], [1]]]
    assert calls(pg, start) == []


# ------------------------------------------------------------------------------------------------ every type at once

EVERY_TYPE = {
    "enum": "mood", "domain_of_enum": "feeling", "word": "word", "number": "whole", "exact": "money_like",
    "day": "day", "moment": "moment", "flag": "flag", "varying": "varchar(9)", "padded": "char(9)", "plain": "text",
    "own_collation": "text COLLATE evil.own", "id": "uuid", "small": "int2", "large": "int8", "real": "float4",
    "double": "float8", "fixed": "numeric(8, 2)", "stamp": "timestamp", "zoned": "timestamptz", "truth": "bool",
}  # fmt: skip
BASES = {
    "word": "text",
    "whole": "integer",
    "money_like": "numeric(9, 2)",
    "day": "date",
    "moment": "timestamp",
    "flag": "boolean",
}
TEXTS = ("enum", "domain_of_enum", "word", "varying", "padded", "plain", "own_collation", "id")
NUMBERS = ("number", "exact", "small", "large", "real", "double", "fixed")


@pytest.fixture(scope="module", params=[18, 16])
def hostile(request: pytest.FixtureRequest) -> tuple[Server, str]:
    """A database with domains that test, casts of an enum, and functions and operators of the names in statements."""
    pg = server(request.param)
    domains = [
        line
        for name, base in BASES.items()
        for line in (
            function(f"evil.tests_{name}", base.partition("(")[0], "boolean", "TRUE", "FALSE"),
            f"CREATE DOMAIN {name} AS {base} CHECK (evil.tests_{name}(VALUE))",
        )
    ]
    same = [
        (type_, sign)
        for type_ in ("text", "int4", "int8", "mood", "word", "whole")
        for sign in ("=", "<", "~", "~~", "||")
    ]
    operators = [
        line
        for number, (type_, sign) in enumerate(same)
        for line in (
            function(f"evil.op_{number}", f"{type_}, {type_}", "boolean", "TRUE", "FALSE", "IMMUTABLE"),
            f"CREATE OPERATOR evil.{sign} (LEFTARG = {type_}, RIGHTARG = {type_}, FUNCTION = evil.op_{number})",
        )
    ]
    functions = [
        function(f"evil.{name}", arguments, returns, few, few, "IMMUTABLE")
        for name, arguments, returns, few in (
            ("md5", "text", "text", "'ffffffffffffffff'"), ("lower", "text", "text", "'good'"),
            ("btrim", "text, text", "text", "'1'"), ("replace", "text, text, text", "text", "'x'"),
            ("length", "text", "integer", "1"), ("abs", "float8", "float8", "1"),
            ("cardinality", "int8[]", "integer", "1"),
        )
    ]  # fmt: skip
    name = pg.database(
        "CREATE SCHEMA evil", "CREATE TYPE mood AS ENUM ('good', 'bad')",
        "CREATE TABLE t ()", *domains,
        "CREATE DOMAIN feeling AS mood", 'CREATE COLLATION evil.own FROM "C"',
        function("evil.mood_text", "mood", "text", "'good'::text", "'bad'::text"),
        "CREATE CAST (mood AS text) WITH FUNCTION evil.mood_text(mood) AS IMPLICIT",
        *operators, *functions,
        "ALTER TABLE t ADD COLUMN person text",
        *(f"ALTER TABLE t ADD COLUMN {column} {type_}" for column, type_ in EVERY_TYPE.items()),
    )  # fmt: skip
    with pg.connect(name) as base:
        base.execute(f'ALTER DATABASE "{name}" SET search_path = evil, public'.encode())
        for number in range(1, TURNING_POINT + 1):
            _insert(base, f"p{number}", "good")
    return pg, name


def _insert(base: Any, person: str, mood: str) -> None:
    values = {
        "enum": f"'{mood}'", "domain_of_enum": f"'{mood}'", "word": f"'{mood}'", "varying": f"'{mood}'",
        "padded": f"'{mood}'", "plain": f"'{mood}'", "own_collation": f"'{mood}'",
        "id": f"'00000000-0000-0000-0000-{'1' if mood == 'good' else '2':0>12}'",
        "day": "'2020-01-01'", "moment": "'2020-01-01'", "stamp": "'2020-01-01'", "zoned": "'2020-01-01 00:00:00+00'",
        "flag": "TRUE", "truth": "TRUE",
    }  # fmt: skip
    listed = ", ".join(values.get(column, "1" if mood == "good" else "2") for column in EVERY_TYPE)
    base.execute(f"INSERT INTO public.t (person, {', '.join(EVERY_TYPE)}) VALUES ('{person}', {listed})".encode())


def _battery() -> list[Counting]:
    every = []
    for column in TEXTS:
        ends = (
            ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"]
            if column == "id"
            else ["good", "bad"]
        )
        by = f"SELECT {column}, COUNT(*) FROM public.t GROUP BY {column}"
        every += [counting(by, unit, 1, **{column: ends}) for unit in ("row", "person")]
        every += [counting(f"SELECT COUNT_IF({column} = '{ends[0]}'), COUNT_IF({column} = '{ends[1]}') FROM public.t")]
    for column in NUMBERS:
        every += [counting(f"SELECT COUNT_IF({column} = 1), COUNT_IF({column} = 2) FROM public.t")]
        by = f"SELECT {column}, COUNT(*) FROM public.t GROUP BY {column}"
        every += [counting(by, unit, 1, **{column: [1, 2]}) for unit in ("row", "person")]
    return every


def _flat_counts(data: str, countings: Sequence[Counting]) -> list[list[int]]:
    return [[cell for row in table for cell in row] for table in counts(data, countings)]


def test_whatever_a_column_is_one_person_moves_the_counts_by_themselves(hostile: tuple[Server, str]) -> None:
    pg, name = hostile
    data, asked, start = pg.address(name), _battery(), len(pg.log)
    assert _flat_counts(data, asked) == [[TURNING_POINT, 0]] * len(asked)
    assert calls(pg, start) == []
    with pg.connect(name) as base:
        base.execute("SET search_path = pg_catalog, public")
        for domain in BASES:
            base.execute(f"ALTER DOMAIN {domain} DROP CONSTRAINT {domain}_check".encode())
        _insert(base, "new", "bad")
        for domain in BASES:  # now they refuse every value
            test = f"CHECK (evil.tests_{domain}(VALUE)) NOT VALID"
            base.execute(f"ALTER DOMAIN {domain} ADD CONSTRAINT {domain}_check {test}".encode())
    start = len(pg.log)
    assert _flat_counts(data, asked) == [[TURNING_POINT, 1]] * len(asked)
    assert calls(pg, start) == []


READINGS = {
    "VARCHAR": "'1'", "DOUBLE": "1", "BIGINT": "1", "INTEGER": "1", "BOOLEAN": "TRUE", "DATE": "DATE '2020-01-01'",
    "TIMESTAMP": "TIMESTAMP '2020-01-01 00:00:00'",
}  # fmt: skip


def _statements(source: CountedDatabase) -> list[str]:
    """Return the statements of all readings of all columns, with groups, conditions, units and discovery."""
    relation, dialect, written = source.relation("public.t"), source.dialect, []
    kinds = {name: column.kind for name, column in relation.columns.items()}
    floats = ("real", "double")
    asked = _battery()
    for column in EVERY_TYPE:
        tests = [
            f"TRY_CAST({column} AS {type_}) = {literal}"
            for type_, literal in READINGS.items()
            if not (type_ == "VARCHAR" and column in floats)
        ]
        tests += [f"{column} IS NULL"]
        tests += [] if column in floats else [f"TRIM(TRY_CAST({column} AS VARCHAR)) LIKE 'a%'"]
        tests += [f"LOWER({column}) = 'a'", f"{column} > 'b'", f"{column} ILIKE 'A%'"] if column in TEXTS else []
        where = [counting(f"SELECT COUNT(*) FROM public.t WHERE {test}") for test in tests]
        asked += where + [replace(one, unit="person") for one in where]
        if source.relation("public.t").columns[column].names_people:
            asked += [counting("SELECT COUNT(*) FROM public.t", column)]
            found = counting(f"SELECT {column}, COUNT(*) FROM public.t GROUP BY {column}", **{column: ["a"]})
            total = counting("SELECT COUNT(*) FROM public.t").groups
            asked += [
                Discovering(found.question, total, unit, 1, found.key, label_columns=(column,), kinds=("text",))
                for unit in ("row", "person")
            ]
    for one in asked:
        if isinstance(one, Discovering):
            written.append(discovering_statement(one, relation.rows(one.columns), kinds, dialect)[0])
        else:
            rows_of = lambda part: (part, relation.rows(part.columns), kinds)  # noqa: E731
            written.append(statement(one, rows_of, dialect)[0])
    return written


def test_the_server_itself_says_that_statements_depend_on_nothing_but_the_table(hostile: tuple[Server, str]) -> None:
    """The oracle: the dependencies that the server records for a view of each statement.

    It records every function, operator, cast function, collation and type that is not its own.
    """
    pg, name = hostile
    source = open_source(pg.address(name))
    assert isinstance(source, CountedDatabase)
    with pg.connect(name) as base:
        base.execute("SET search_path = pg_catalog, pg_temp")

        def dependencies(sql: str) -> set[tuple[str, str]]:
            base.execute(f"CREATE TEMP VIEW judged AS {sql}".encode())
            found = base.execute(
                "SELECT c.relname::text, pg_describe_object(d.refclassid, d.refobjid, 0) "
                "FROM pg_depend AS d JOIN pg_class AS c ON c.oid = d.refclassid "
                "WHERE d.classid = 'pg_rewrite'::regclass AND d.deptype = 'n' AND d.objid = "
                "(SELECT oid FROM pg_rewrite WHERE ev_class = 'pg_temp.judged'::regclass)"
            ).fetchall()
            base.execute("DROP VIEW pg_temp.judged")
            return set(found)

        assert any("evil.mood_text" in what for _, what in dependencies("SELECT CAST(enum AS text) FROM public.t"))
        statements = _statements(source)
        assert len(statements) > 300
        case = ("pg_collation", f'collation "{source.dialect.case_collation}"')  # named without a schema: in pg_catalog
        allowed = {("pg_class", "table public.t"), ("pg_type", "type public.mood"), case}
        for sql in statements:
            without_values = re.sub(r"CAST\(\$[0-9]+ AS ([a-z0-9]+(\[\])?)\)", r"CAST(NULL AS \1)", sql)
            assert dependencies(without_values) <= allowed, sql


# ------------------------------------------------------------------------------------------------ names and the session


def test_a_temporary_type_or_table_of_the_session_is_not_taken_for_one_of_the_server(
    pg: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool that hands sessions on leaves temporary objects behind, as here a trigger, which is refused by itself."""
    monkeypatch.setattr(catalogue, "refuse_added_code", lambda connection: None)
    name = pg.database(
        *MOOD,
        function("evil.tests", "bigint", "boolean", "TRUE", "FALSE"),
        "CREATE FUNCTION evil.enter() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF current_setting('application_name') = 'discreet' THEN "
        "CREATE DOMAIN pg_temp.int8 AS bigint CHECK (evil.tests(VALUE)); "
        "CREATE DOMAIN pg_temp.text AS pg_catalog.text; "
        "CREATE TEMP TABLE pg_class AS SELECT * FROM pg_catalog.pg_class WHERE FALSE; END IF; END $$",
        "CREATE EVENT TRIGGER entering ON login EXECUTE FUNCTION evil.enter()",
    )
    data, start = pg.address(name), len(pg.log)
    asked = [
        counting("SELECT mood, COUNT(*) FROM public.t GROUP BY mood", unit, 1, mood=["good", "bad"])
        for unit in ("row", "person")
    ]
    assert counts(data, asked) == [[[10], [0]], [[10], [0]]]
    with pg.connect(name) as base:
        base.execute(ADDED.encode())
    assert counts(data, asked) == [[[10], [1]], [[10], [1]]]
    assert calls(pg, start) == []


def test_a_collation_that_was_added_to_the_server_s_own_schema_is_not_used() -> None:
    pg = server(16)
    name = pg.database(
        "CREATE TABLE t (x text)", "INSERT INTO t VALUES ('É')", 'CREATE COLLATION pg_catalog.pg_c_utf8 FROM "C"'
    )
    assert counts(pg.address(name), [counting("SELECT COUNT(*) FROM public.t WHERE LOWER(x) = 'é'")]) == [[[1]]]


# ------------------------------------------------------------------------------------------------ refused by schema

ONE = "SELECT COUNT(*) FROM public.t"
TABLE = ("CREATE SCHEMA evil", "CREATE TABLE t (x integer, y text)")
FUNCTIONS = (
    function("evil.number", "integer", "integer", "$1", "0", "IMMUTABLE"),
    function("evil.test", "integer", "boolean", "TRUE", "FALSE", "IMMUTABLE"),
    function("evil.compare", "integer, integer", "integer", "btint4cmp($1, $2)", "0", "IMMUTABLE"),
    function("evil.compare", "text, text", "boolean", "$1 LIKE $2", "TRUE", "IMMUTABLE"),
    "CREATE OPERATOR evil.<-> (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.compare)",
    "CREATE OPERATOR CLASS evil.ordered FOR TYPE integer USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, "
    "OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 evil.compare(integer, integer)",
    'CREATE COLLATION evil.own FROM "C"',
)
SPLIT = "CREATE TABLE split (x integer, y text) PARTITION BY"


@pytest.mark.parametrize(
    ("table", "statements", "words"),
    [
        ("t", ["CREATE INDEX ON t ((x + evil.number(1)))"], "an index that calls evil.number"),
        ("t", ["CREATE INDEX ON t (x) WHERE evil.test(1)"], "an index that calls evil.test"),
        ("t", ["CREATE INDEX ON t ((y OPERATOR(evil.<->) 'a'))"], "an index that calls evil.<->"),
        ("t", ["CREATE STATISTICS s ON (x + evil.number(1)), y FROM t"], "extended statistics that call evil.number"),
        ("t", ["CREATE TABLE child () INHERITS (t)", "CREATE INDEX ON child ((evil.number(1)))"],
         "child, a part of public.t, has an index that calls evil.number"),
        ("split", [f"{SPLIT} LIST ((x + evil.number(1)))"], "a partition key that calls evil.number"),
        ("split", [f"{SPLIT} RANGE (x evil.ordered)"], "a partition key that calls evil.ordered"),
        ("split", [f"{SPLIT} RANGE (y COLLATE evil.own)"], "a partition key that calls evil.own"),
        ("t", ["CREATE TABLE child () INHERITS (t)", "ALTER TABLE child ENABLE ROW LEVEL SECURITY",
               "CREATE POLICY p ON child USING (evil.test(x))"], "child, a part of public.t, has row-level security"),
    ],
)  # fmt: skip
def test_what_the_planner_would_call_is_refused_and_not_called(
    pg: Server, table: str, statements: list[str], words: str
) -> None:
    """The planner evaluates functions of constants in the expressions of indexes, statistics and partition keys."""
    data, start = pg.address(pg.database(*TABLE, *FUNCTIONS, *statements)), len(pg.log)
    assert words in refusal(data, f"SELECT COUNT(*) FROM public.{table}")
    assert calls(pg, start) == []


def test_indexes_and_statistics_of_the_server_s_own_functions_are_fine(pg: Server) -> None:
    name = pg.database(
        *TABLE, *FUNCTIONS, "INSERT INTO t VALUES (1, 'a')",
        "CREATE INDEX ON t (lower(y)) WHERE x > abs(-1)", "CREATE STATISTICS s ON (x + abs(-1)), y FROM t",
        "CREATE INDEX ON t (x evil.ordered)", "CREATE INDEX ON t (y COLLATE evil.own)",
        "ALTER TABLE t ADD CHECK (evil.test(1)), ALTER x SET DEFAULT evil.number(1)",
        "CREATE TABLE parts (x integer) PARTITION BY LIST (abs(x))",
        "CREATE TABLE one PARTITION OF parts FOR VALUES IN (1)", "INSERT INTO parts VALUES (-1)",
    )  # fmt: skip
    start = len(pg.log)
    asked = [counting(f"SELECT COUNT(*) FROM public.{table} WHERE x < 3") for table in ("t", "parts")]
    assert counts(pg.address(name), asked) == [[[1]], [[1]]]
    assert calls(pg, start) == []


def test_an_index_that_calls_foreign_code_stops_what_was_planned_before(pg: Server) -> None:
    name = pg.database(*TABLE, *FUNCTIONS)
    source, asked = open_source(pg.address(name)), counting(ONE)
    source.rehearse([asked])
    with pg.connect(name) as base:
        base.execute("CREATE INDEX ON t ((x + evil.number(1)))")
    start = len(pg.log)
    with refused(InvalidInput, token="evil.number"):
        source.rehearse([asked])
    assert calls(pg, start) == []


@pytest.mark.parametrize(
    ("source", "target", "how", "accepted"),
    [
        ("date", "text", "WITH FUNCTION evil.convert(date)", False),
        ("uuid", "text", "WITH FUNCTION evil.convert(uuid)", False),
        ("text", "numeric", "WITH FUNCTION evil.convert(text)", False),
        ("integer", "text", "WITH FUNCTION evil.convert(integer) AS IMPLICIT", False),
        ("text", "bit", "WITH FUNCTION evil.convert(text)", False),
        ("text", "numeric", "WITHOUT FUNCTION", False),
        ("integer", "text", "WITH INOUT AS IMPLICIT", False),
        # these do what the server does without them
        ("integer", "text", "WITH INOUT AS ASSIGNMENT", True),
        ("varchar", "uuid", "WITH INOUT AS IMPLICIT", True),
        ("varchar", "jsonb", "WITH INOUT AS IMPLICIT", True),
        ("mood", "text", "WITH INOUT AS IMPLICIT", True),
    ],
)
def test_casts_between_the_server_s_own_types_are_refused(
    pg: Server, source: str, target: str, how: str, accepted: bool
) -> None:
    data = pg.address(
        pg.database(
            *MOOD,
            *([function("evil.convert", source, target, "NULL", "NULL")] if "evil" in how else []),
            f"CREATE CAST ({source} AS {target}) {how}",
        )
    )
    start = len(pg.log)
    if accepted:
        assert counts(data, [counting("SELECT COUNT(*) FROM public.t WHERE mood = 'good'", "person")]) == [[[10]]]
    else:
        assert f"a cast of its own from {source} to {target}" in refusal(data, ONE)
    assert calls(pg, start) == []


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (["CREATE FUNCTION pg_catalog.enum_out(mood) RETURNS cstring LANGUAGE internal AS 'enum_out'"],
         "the function enum_out to pg_catalog"),
        ([function("pg_catalog.width_bucket", "int8, int8[]", "integer", "1", "0")],
         "the function width_bucket to pg_catalog"),
        ([function("evil.same", "bigint, integer", "bigint", "0", "1"),
          "CREATE OPERATOR pg_catalog.% (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = evil.same)"],
         "the operator % to pg_catalog"),
    ],
)  # fmt: skip
def test_additions_to_the_server_s_own_schema_are_refused(pg: Server, statements: list[str], words: str) -> None:
    data, start = pg.address(pg.database(*MOOD, *statements)), len(pg.log)
    assert words in refusal(data, ONE)
    assert calls(pg, start) == []


def test_code_that_runs_when_a_session_starts_is_refused(pg: Server) -> None:
    """It could read the table, and fail in the session that counts, after the budget was reserved."""
    name = pg.database(
        *MOOD,
        "CREATE FUNCTION evil.entered() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE LOG 'in'; END $$",
        "CREATE EVENT TRIGGER entered ON login EXECUTE FUNCTION evil.entered()",
    )
    assert "the event trigger entered" in refusal(pg.address(name), ONE)


def test_a_database_s_time_limits_do_not_end_a_counting(pg: Server) -> None:
    name = pg.database(*MOOD)
    limits = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
    with pg.connect() as base:
        limits += ["transaction_timeout"] if base.info.server_version >= 170000 else []
        for limit in limits:
            base.execute(f"ALTER DATABASE {name} SET {limit} = '700ms'".encode())
    address = read_address(pg.address(name))
    with connected(address, read_parameters(address)) as session:
        stated = {limit: session.execute(f"SHOW {limit}".encode()).fetchone() for limit in limits}
    assert all(value != ("700ms",) for value in stated.values()), stated


def test_new_names_in_the_server_s_own_schema_do_no_harm(pg: Server) -> None:
    name = pg.database(*MOOD, function("pg_catalog.citus_like", "integer", "integer", "1", "0"))
    assert counts(pg.address(name), [counting(ONE)]) == [[[10]]]


@pytest.mark.parametrize(
    ("view", "words"),
    [
        ("SELECT person FROM t WHERE evil.test(1)", "calls evil.test"),
        ("SELECT person FROM t WHERE person OPERATOR(evil.<->) 'a'", "calls evil.<->"),
        ("SELECT person FROM t WHERE mood::text = 'good'", "calls evil.mood_text"),
        ("SELECT person FROM t WHERE person COLLATE evil.own = 'a'", "calls evil.own"),
        ("SELECT person, evil.number(1) AS n FROM t", "calls evil.number"),
    ],
)
def test_a_view_that_calls_foreign_code_is_refused_and_not_called(pg: Server, view: str, words: str) -> None:
    name = pg.database(
        *MOOD, *FUNCTIONS,
        function("evil.mood_text", "mood", "text", "'good'::text", "'bad'::text"),
        "CREATE CAST (mood AS text) WITH FUNCTION evil.mood_text(mood)",
        f"CREATE VIEW v AS {view}",
    )  # fmt: skip
    start = len(pg.log)
    assert f"the view public.v {words}" in refusal(pg.address(name), "SELECT COUNT(*) FROM public.v")
    assert calls(pg, start) == []


def test_a_view_over_a_table_is_refused_for_what_the_table_is(pg: Server) -> None:
    name = pg.database(
        *TABLE, *FUNCTIONS,
        "CREATE TABLE safe (x integer)", "ALTER TABLE safe ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY p ON safe USING (evil.test(x))", "CREATE VIEW over_safe AS SELECT x FROM safe",
        "CREATE TABLE computed (x integer, twice integer GENERATED ALWAYS AS (x + x) VIRTUAL)",
        "CREATE VIEW over_computed AS SELECT twice FROM computed",
        "CREATE TABLE indexed (x integer)", "CREATE INDEX ON indexed ((x + evil.number(1)))",
        "CREATE VIEW over_indexed AS SELECT x FROM indexed",
    )  # fmt: skip
    data, start = pg.address(name), len(pg.log)
    assert "row-level security" in refusal(data, "SELECT COUNT(*) FROM public.over_safe")
    assert "computed when it is read" in refusal(data, "SELECT COUNT(twice) FROM public.over_computed")
    assert "calls evil.number" in refusal(data, "SELECT COUNT(*) FROM public.over_indexed")
    assert calls(pg, start) == []


def test_types_that_others_made_are_refused(pg: Server) -> None:
    name = pg.database(
        "CREATE SCHEMA evil",
        "CREATE TYPE evil.word",
        "CREATE FUNCTION evil.word_in(cstring) RETURNS evil.word LANGUAGE internal STRICT AS 'textin'",
        "CREATE FUNCTION evil.word_out(evil.word) RETURNS cstring LANGUAGE internal STRICT AS 'textout'",
        "CREATE TYPE evil.word (INPUT = evil.word_in, OUTPUT = evil.word_out, LIKE = text)",
        "CREATE TYPE evil.text AS (a integer)", "CREATE TYPE evil.span AS RANGE (SUBTYPE = integer)",
        "CREATE TYPE evil.mood AS ENUM ('good')", "CREATE DOMAIN evil.inner_domain AS text",
        "CREATE DOMAIN evil.outer_domain AS evil.inner_domain", "CREATE DOMAIN evil.of_word AS evil.word",
        "CREATE TABLE t (base evil.word, composite evil.text, span evil.span, moods evil.mood[], "
        "nested evil.outer_domain, of_word evil.of_word)",
    )  # fmt: skip
    for column in ("base", "composite", "span", "moods", "nested", "of_word"):
        for sql in (f"SELECT COUNT({column}) FROM public.t", f"SELECT COUNT(*) FROM public.t WHERE {column} = 'a'"):
            assert f"'{column}' of public.t" in refusal(pg.address(name), sql)
        assert f"'{column}' of public.t" in refusal(pg.address(name), ONE, column)


def test_nothing_is_spent_on_a_database_that_is_refused(pg: Server, tmp_path) -> None:
    name = pg.database(*TABLE, *FUNCTIONS, "CREATE INDEX ON t ((x + evil.number(1)))")
    book = dc.Ledger.create(tmp_path / "l", dataset=name, unit="row", epsilon=1)
    with refused(InvalidInput, token="evil.number"):
        dc.release_counts(ONE, data=pg.address(name), unit="row", epsilon=1, ledger=book)
    assert book.spent().epsilon == 0
