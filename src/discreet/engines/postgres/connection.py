"""Connections to PostgreSQL: addresses without passwords, and sessions that read one state and depend on no setting.

Whatever a session's answer could depend on is set here: how texts, numbers and moments are written, where names are
looked up, and which shortcuts the planner takes. Tables are read row by row, without indexes and without pruning, so
that a damaged index or an old statistic decides about nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ...addresses import Address
from ...errors import InvalidInput, MissingExtra, SourceFailed, Unsupported

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
    # how long it takes, and what is said meanwhile
    "jit": "off",
    "work_mem": "256MB",
    "lock_timeout": "10s",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "client_min_messages": "error",
}

#: What an address may say beside user, host, port and database.
_PARAMETERS = frozenset({
    "user", "host", "hostaddr", "port", "dbname", "application_name", "connect_timeout", "sslmode", "sslrootcert",
    "sslcert", "sslkey", "sslcrl", "sslnegotiation", "sslcertmode", "ssl_min_protocol_version", "gssencmode",
    "channel_binding", "require_auth", "target_session_attrs", "load_balance_hosts", "passfile", "keepalives",
    "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", "krbsrvname",
})  # fmt: skip


def read_parameters(address: Address) -> dict[str, Any]:
    """What an address says about a connection.

    Raises
    ------
    InvalidInput
        If it holds a password, names no database, or says what it may not.
    """
    if _holds_password(address):
        raise InvalidInput(
            f"{address} holds a password, which the list of processes and the history of commands would show.",
            "Leave it out: keep it in ~/.pgpass, in the file that PGPASSFILE names, or in the environment as "
            "PGPASSWORD.",
        )
    driver = psycopg_driver()
    from psycopg.conninfo import conninfo_to_dict

    said: dict[str, Any] | None = None
    with suppress(driver.Error):  # whose words could show a password
        said = conninfo_to_dict(f"postgresql:{address.rest}")
    if said is None:
        raise InvalidInput(f"{address} cannot be read.", "Write it like postgresql://user@host/study.")
    if unknown := sorted(set(said) - _PARAMETERS):
        raise InvalidInput(f"an address may not set {unknown[0]}; {address} does.", "Leave it out.")
    if not said.get("dbname"):
        raise InvalidInput(f"{address} names no database.", "Write it like postgresql://user@host/study.")
    if said["dbname"] != address.dataset:
        raise InvalidInput(f"{address} names two databases.", "Write one, as in postgresql://user@host/study.")
    return {"connect_timeout": "10", "application_name": "discreet", **said}


@contextmanager
def connected(address: Address, parameters: Mapping[str, Any]) -> Iterator[psycopg.Connection[Any]]:
    """A session that reads nothing yet: what it locks is locked before its one state of the data is taken."""
    driver = psycopg_driver()
    connection: psycopg.Connection[Any] | None = None
    reason = ""
    try:
        connection = driver.connect(
            **parameters, autocommit=True, prepare_threshold=None, cursor_factory=driver.RawCursor
        )
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


def settings_sql(settings: Mapping[str, str]) -> str:
    """Return SQL that sets what a session depends on; a value may be a list.

    >>> settings_sql({"search_path": "pg_catalog, pg_temp", "TimeZone": "UTC"})
    "SET search_path = 'pg_catalog', 'pg_temp'; SET TimeZone = 'UTC'"
    """
    items = {name: ", ".join(f"'{item}'" for item in value.split(", ")) for name, value in settings.items()}
    return "; ".join(f"SET {name} = {listed}" for name, listed in items.items())


def _holds_password(address: Address) -> bool:
    """Whether something in an address is not shown; the name of a file that holds passwords is none."""
    return "***" in str(address).replace("passfile=***", "")


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


def psycopg_driver() -> Any:
    """The driver, which the extra ``postgres`` brings."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("psycopg", "postgres") from None
    return psycopg
