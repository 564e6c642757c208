"""A table with every awkward value, for the tests of this room."""

from __future__ import annotations

import duckdb
import pytest

from support.random_conditions import KNOWN, ROWS, TABLE


@pytest.fixture(scope="module")
def engine():
    """A table with one column of each type and every awkward value of it, each beside every other sometime.

    And the same without NULLs: the optimiser knows of such columns that they have none, and must not conclude that
    their readings have none.
    """
    connection = duckdb.connect()
    for table, rows in (("rows", ROWS), ("known", KNOWN)):
        columns = [f'"{column}" {type_}' for column, (_, type_, _) in TABLE.items()]
        connection.execute(f"CREATE TABLE {table} ({', '.join(columns)}, n INTEGER)")
        for n, row in enumerate(rows):
            values = [f"CAST({row[c]} AS {type_.split(' COLLATE')[0]})" for c, (_, type_, _) in TABLE.items()]
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join(values)}, {n})")
    yield connection
    connection.close()
