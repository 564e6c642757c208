"""Sessions of PostgreSQL that read one state of the data and depend on no setting.

Whatever a session's answer could depend on is set here: how texts, numbers and moments are written, where names are
looked up, and which shortcuts the planner takes. Tables are read row by row, without indexes and without pruning, so
that a damaged index or an old statistic decides about nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...addresses import Address
from ...databases.postgres import connect, psycopg_driver, settings_sql
from ...errors import SourceFailed, Unsupported

if TYPE_CHECKING:
    import psycopg

#: The oldest version whose planner and catalogue are known here.
OLDEST = 14

_SINCE_17 = {"transaction_timeout": "0"}

_SETTINGS = {
    # what is read
    "search_path": "pg_catalog, pg_temp",  # a session's temporary types and tables would come first, unless named last
    "row_security": "off",
    "default_transaction_read_only": "on",
    # how it is written
    "client_encoding": "UTF8",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    # what could act on anything but the row itself
    "constraint_exclusion": "off",
    "enable_partition_pruning": "off",
    "enable_indexscan": "off",
    "enable_indexonlyscan": "off",
    "enable_bitmapscan": "off",
    "enable_seqscan": "on",
    # duration and messages
    "jit": "off",
    "work_mem": "256MB",
    "lock_timeout": "10s",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "client_min_messages": "error",
}


@contextmanager
def connected(address: Address, parameters: Mapping[str, Any]) -> Iterator[psycopg.Connection[Any]]:
    """A session that reads nothing yet: what it locks is locked before its one state of the data is taken."""
    driver = psycopg_driver()
    connection: psycopg.Connection[Any] | None = None
    reason = ""
    try:
        connection = connect(parameters)
    except driver.Error as problem:  # no row has been read; the library never quotes a password
        reason = " ".join(str(problem).split())
    if connection is None:
        raise SourceFailed(f"cannot connect to {address}: {reason}")
    try:
        _refuse_other_servers(address, connection)
        settings = settings_sql(_SETTINGS | (_SINCE_17 if connection.info.server_version >= 170000 else {}))
        connection.execute(f"{settings}; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY".encode())
        yield connection
    finally:
        connection.close()  # what the server would say to an orderly end is of no use


def _refuse_other_servers(address: Address, connection: psycopg.Connection[Any]) -> None:
    version = connection.info.server_version // 10000
    if version < OLDEST:
        raise Unsupported(f"{address} is PostgreSQL {version}.", f"Use version {OLDEST} or newer.")
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise Unsupported(
            f"the database of {address} is encoded in {encoding}, where texts have other bytes.",
            "Copy it to one with ENCODING 'UTF8'.",
        )
