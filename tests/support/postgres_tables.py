"""Awkward tables written to PostgreSQL: each in a database of the tests' own server, as ``public.t``."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa

from support import awkward
from support.postgres_server import Server, server

#: Types of Arrow -> those of PostgreSQL that hold the same values.
TYPES = {
    pa.float64(): "double precision", pa.float32(): "real", pa.int64(): "bigint", pa.int32(): "integer",
    pa.int16(): "smallint", pa.int8(): "smallint", pa.uint64(): "numeric(20, 0)", pa.string(): "text",
    pa.bool_(): "boolean",
    pa.date32(): "date", pa.timestamp("us"): "timestamp", pa.decimal128(10, 2): "numeric(10, 2)",
}  # fmt: skip

#: How many stored tables are there at a time.
SEVERAL = 3


@cache
def _databases(where: Server) -> Iterator[str]:
    """Databases in turn: making one takes a second on a busy machine."""
    return cycle([where.database(name="awkward") for _ in range(SEVERAL)])


def store(where: Server, table: awkward.Table) -> str:
    """The address of a database that holds a table, until several others were stored."""
    columns = ", ".join(f'"{field.name}" {TYPES[field.type]}' for field in table.schema)
    name = next(_databases(where))
    with where.connect(name) as base:
        base.execute(f"DROP TABLE IF EXISTS public.t; CREATE TABLE public.t ({columns})".encode())
        with base.cursor() as cursor, cursor.copy("COPY public.t FROM STDIN") as copy:
            for _, row in table.rows:
                copy.write_row([v.decode() if isinstance(v, bytes) else v for v in row.values()])
        base.execute("ANALYZE public.t")  # statistics of the very rows, which must decide nothing
    return where.address(name)


def in_postgres(version: int) -> awkward.Writer:
    def choose(chance: random.Random) -> Callable[[Path, awkward.Table], Any]:
        return lambda folder, table: store(server(version), table)

    return choose
