"""How fast PostgreSQL counts for us, beside its own GROUP BY and COUNT(DISTINCT) on the same table in one run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg

import measure
from counting import GROUPS, HEALTH, PEOPLE
from discreet.engines.sources import Counting, open_source
from discreet.questions.groups import groups_from
from discreet.questions.question import read_question
from measure import Line

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from postgres_server import Server, programs, start  # the tests' own server


def _fill(server: Server, rows: int) -> str:
    """People's rows in no order: every person, site, county and state of health comes up at random."""
    health = ", ".join(f"'{name}'" for name in HEALTH)

    def drawn(seed: int, of: int) -> str:
        return f"(CAST(hashint8extended(i, {seed}) AS int8) & 9223372036854775807) % {of}"

    return server.database(
        f"""
        CREATE UNLOGGED TABLE public.t AS
        SELECT {drawn(1, PEOPLE)} AS person, CAST({drawn(2, 1000)} AS integer) AS site,
               CAST({drawn(3, 100)} AS integer) AS county, CAST({drawn(4, 2)} AS integer) AS year,
               (ARRAY[{health}])[1 + {drawn(5, 10)}] AS health
        FROM generate_series(1, {rows}) AS r(i)
        """,
        "VACUUM ANALYZE public.t",
        name="bench",
    )


def _ours(address: str, by: tuple[str, ...], unit: str = "row", k: int = 1) -> Callable[[], Any]:
    source = open_source(address)
    question = read_question(f"SELECT {', '.join(by)}, COUNT(*) FROM public.t GROUP BY {', '.join(by)}", unit=unit)
    counting = Counting(question, groups_from({name: GROUPS[name] for name in by}, by), unit, k, bytes(16))
    return lambda: source.count([counting])


def _bare(connection: psycopg.Connection[Any], by: tuple[str, ...], counted: str) -> Callable[[], Any]:
    sql = f"SELECT {', '.join(by)}, count({counted}) FROM public.t GROUP BY {', '.join(by)}"
    return lambda: connection.execute(sql.encode()).fetchall()


def lines(rows: int = 10_000_000) -> Iterator[Line]:
    server = start(programs(18), shared_buffers="2GB", log_statement="none")
    try:
        name = _fill(server, rows)
        with server.connect(name) as connection:
            address = server.address(name)
            for by in (("site",), ("county", "health")):
                ours, bare = measure.in_turn(_ours(address, by), _bare(connection, by, "*"), rounds=3)
                what = f"PostgreSQL: count {rows:.0e} rows by {' and '.join(by)}"
                yield measure.at_most(what, f"{ours:.3g} s", f"bare GROUP BY {bare:.3g} s", ours / bare, 1.3)
            for by in (("site",), ("county",), ("health",), ("year",)):
                for k, wanted in ((1, 2.0), (3, 3.0)):
                    people, distinct = _ours(address, by, "person", k), _bare(connection, by, "DISTINCT person")
                    ours, bare = measure.in_turn(people, distinct, rounds=1)
                    what = f"PostgreSQL: bound {PEOPLE:.0e} people of {rows:.0e} rows to {k} by {by[0]}"
                    yield measure.at_most(what, f"{ours:.3g} s", f"COUNT(DISTINCT) {bare:.3g} s", ours / bare, wanted)
    finally:
        server.stop()


if __name__ == "__main__":
    for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000):
        print(
            f"{line.what:60} {line.ours:>9} {line.theirs:>24} {line.ratio:6.2f} {line.wanted:8} {line.holds}",
            flush=True,
        )
