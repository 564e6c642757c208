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

#: Codes by which the server says that it undid a whole transaction, also of a COMMIT: a serialisation failure, a
#: deadlock.
CONFLICTS = ("40001", "40P01")

#: In place of a code, of a connection that ended: whether the last step took effect is not known.
NO_ANSWER = "no answer"

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


def connect(parameters: Mapping[str, Any]) -> Connection:
    """Connect; transactions are begun by hand. Whoever calls this withholds what the server says."""
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


class PostgresPlace:
    """A database in which a store is kept: opens connections with the settings of the store.

    Parameters
    ----------
    address
        Where it is; it holds no password.
    settings
        What each session is set to.
    failures
        What the store says of the server's errors.
    """

    def __init__(self, address: Address, settings: Mapping[str, str], failures: Failures) -> None:
        self._parameters = read_parameters(address)
        self._settings, self._failures = settings, failures

    def connect(self, name: str) -> Connection:
        """Connect; ``name`` is what errors call the store."""
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
        """Connect for a while; what is not committed when it ends is undone."""
        connection = self.connect(name)
        try:
            with self.withheld(name):
                yield connection
        finally:
            connection.close()

    @contextmanager
    def withheld(self, name: str) -> Iterator[None]:
        """Turn what the server says into words that say what to do."""
        try:
            yield
        except psycopg_driver().Error as problem:
            raise self._failures.refusal(name, problem.sqlstate or NO_ANSWER) from None


def _holds_password(address: Address) -> bool:
    """Whether something in an address is not shown; the name of a file that holds passwords is none."""
    return "***" in str(address).replace("passfile=***", "")


def psycopg_driver() -> Any:
    """The driver, which the extra ``postgres`` brings."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("psycopg", "postgres") from None
    return psycopg
