"""Connections to PostgreSQL: addresses without passwords, and sessions that depend on no setting of the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from ..addresses import Address
from ..errors import InvalidInput, MissingExtra
from .failures import Failures, StoreUnavailable

if TYPE_CHECKING:
    import psycopg
    from psycopg.rows import TupleRow

    Connection: TypeAlias = psycopg.Connection[TupleRow]

#: SQLSTATE codes of a transaction that the server rolled back, even at COMMIT: serialisation failure, deadlock.
CONFLICTS = ("40001", "40P01")

#: Stands for the missing code of a lost connection, after which the last step may or may not have taken effect.
NO_ANSWER = "no answer"

#: Parameters that an address may set.
_PARAMETERS = frozenset({
    "user", "host", "hostaddr", "port", "dbname", "application_name", "connect_timeout", "sslmode", "sslrootcert",
    "sslcert", "sslkey", "sslcrl", "sslnegotiation", "sslcertmode", "ssl_min_protocol_version", "gssencmode",
    "channel_binding", "require_auth", "target_session_attrs", "load_balance_hosts", "passfile", "keepalives",
    "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", "krbsrvname",
})  # fmt: skip


def read_parameters(address: Address) -> dict[str, Any]:
    """Return the connection parameters of an address.

    Raises
    ------
    InvalidInput
        If it holds a password, names no database, or sets another parameter.
    """
    if _holds_password(address):
        raise InvalidInput(
            f"{address} holds a password, which the list of processes and the history of commands would show.",
            "Leave it out: keep it in ~/.pgpass, in the file that PGPASSFILE names, or in the environment as "
            "PGPASSWORD.",
        )
    driver = psycopg_driver()
    from psycopg.conninfo import conninfo_to_dict

    parameters: dict[str, Any] | None = None
    with suppress(driver.Error):  # its message could show a password
        parameters = conninfo_to_dict(f"postgresql:{address.rest}")
    if parameters is None:
        raise InvalidInput(f"{address} cannot be read.", "Write it like postgresql://user@host/study.")
    if refused := sorted(set(parameters) - _PARAMETERS):
        raise InvalidInput(f"an address may not set {refused[0]}; {address} does.", "Leave it out.")
    if not parameters.get("dbname"):
        raise InvalidInput(f"{address} names no database.", "Write it like postgresql://user@host/study.")
    if parameters["dbname"] != address.dataset:
        raise InvalidInput(f"{address} names two databases.", "Write one, as in postgresql://user@host/study.")
    return {"connect_timeout": "10", "application_name": "discreet", **parameters}


def connect(parameters: Mapping[str, Any]) -> Connection:
    """Connect without automatic transactions. The caller must withhold the server's messages."""
    driver = psycopg_driver()
    connection: Connection = driver.connect(
        **parameters, autocommit=True, prepare_threshold=None, cursor_factory=driver.RawCursor
    )
    return connection


def settings_sql(settings: Mapping[str, str]) -> str:
    """Return SQL that sets what a session depends on; a value may be a list.

    >>> settings_sql({"search_path": "pg_catalog, pg_temp", "TimeZone": "UTC"})
    "SET search_path = 'pg_catalog', 'pg_temp'; SET TimeZone = 'UTC'"
    """
    items = {name: ", ".join(f"'{item}'" for item in value.split(", ")) for name, value in settings.items()}
    return "; ".join(f"SET {name} = {listed}" for name, listed in items.items())


class PostgresDatabase:
    """The database of a store, which opens connections with the store's settings.

    Parameters
    ----------
    address
        The address, without a password.
    settings
        The settings of each session.
    failures
        The store's messages for the server's errors.
    """

    def __init__(self, address: Address, settings: Mapping[str, str], failures: Failures) -> None:
        self._parameters = read_parameters(address)
        self._settings, self._failures = settings, failures

    def connect(self, name: str) -> Connection:
        """Connect; ``name`` is the store's name in errors."""
        driver = psycopg_driver()
        connection = None
        try:
            connection = connect(self._parameters)
            connection.execute(settings_sql(self._settings).encode())
        except driver.Error:
            if connection is not None:
                connection.close()
            raise StoreUnavailable(
                f"{name} cannot be reached.", "Look at the address, the server and the role; nothing was written."
            ) from None
        return connection

    @contextmanager
    def connected(self, name: str) -> Iterator[Connection]:
        """Connect for the duration of a block; roll back what is not committed at its end."""
        connection = self.connect(name)
        try:
            with self.withheld(name):
                yield connection
        finally:
            connection.close()

    @contextmanager
    def withheld(self, name: str) -> Iterator[None]:
        """Replace errors of the server by the store's messages and advice."""
        try:
            yield
        except psycopg_driver().Error as problem:
            raise self._failures.refusal(name, problem.sqlstate or NO_ANSWER) from None


def _holds_password(address: Address) -> bool:
    """Return whether an address shows something as hidden, other than the name of a password file."""
    return "***" in str(address).replace("passfile=***", "")


def psycopg_driver() -> Any:
    """Import the driver, which the extra ``postgres`` installs."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("psycopg", "postgres") from None
    return psycopg
