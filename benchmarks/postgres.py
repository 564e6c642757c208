"""Speed of our counting in PostgreSQL, against its own GROUP BY and COUNT(DISTINCT) on the same table in one run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg

import measure
from counting import HEALTH, PEOPLE, count
from measure import FULL, Line, Scale

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.postgres_server import Server, programs, start  # the tests' own server


def _fill(server: Server, rows: int) -> str:
    """Make a table of people's rows in no order: every person, site, county and state of health comes up at random."""
    health = ", ".join(f"'{name}'" for name in HEALTH)

    def hash_sql(seed: int, of: int) -> str:
        return f"(CAST(hashint8extended(i, {seed}) AS int8) & 9223372036854775807) % {of}"

    return server.database(
        f"""
        CREATE UNLOGGED TABLE public.t AS
        SELECT {hash_sql(1, PEOPLE)} AS person, CAST({hash_sql(2, 1000)} AS integer) AS site,
               CAST({hash_sql(3, 100)} AS integer) AS county, CAST({hash_sql(4, 2)} AS integer) AS year,
               (ARRAY[{health}])[1 + {hash_sql(5, 10)}] AS health
        FROM generate_series(1, {rows}) AS r(i)
        """,
        "VACUUM ANALYZE public.t",
        name="bench",
    )


def _bare(connection: psycopg.Connection[Any], by: tuple[str, ...], counted: str) -> Callable[[], Any]:
    sql = f"SELECT {', '.join(by)}, count({counted}) FROM public.t GROUP BY {', '.join(by)}"
    return lambda: connection.execute(sql.encode()).fetchall()


def lines(scale: Scale = FULL) -> Iterator[Line]:
    rows = scale.pick(10_000_000, 20_000)
    server = start(programs(18), shared_buffers=scale.pick("2GB", "64MB"), log_statement="none")
    try:
        name = _fill(server, rows)
        with server.connect(name) as connection:
            address = server.address(name)
            for by in (("site",), ("county", "health")):
                rows_by = count(address, by, table="public.t")
                ours, bare = measure.in_turn(rows_by, _bare(connection, by, "*"), rounds=scale.pick(3, 1))
                what = f"PostgreSQL: count {rows:.0e} rows by {' and '.join(by)}"
                yield measure.at_most(what, f"{ours:.3g} s", f"bare GROUP BY {bare:.3g} s", ours / bare, 1.3)
            for by in (("site",), ("county",), ("health",), ("year",)):
                for k, target in ((1, 2.0), (3, 3.0)):
                    people = count(address, by, "person", k, table="public.t")
                    ours, bare = measure.in_turn(people, _bare(connection, by, "DISTINCT person"), rounds=1)
                    what = f"PostgreSQL: bound {PEOPLE:.0e} people of {rows:.0e} rows to {k} by {by[0]}"
                    yield measure.at_most(what, f"{ours:.3g} s", f"COUNT(DISTINCT) {bare:.3g} s", ours / bare, target)
    finally:
        server.stop()
