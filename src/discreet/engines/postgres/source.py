"""A PostgreSQL database, whose tables its server counts in one read-only state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...addresses import Address
from ...databases.postgres import read_parameters
from ...errors import DiscreetError, SourceFailed
from ...exact.arrays import IntArray
from ..base import Counting, DiscoveredGroups, Discovering, OccupiedGroups, Snapshot, Source
from .catalogue import PostgresRelation, case_collation, column_names, lock, read_relation, refuse_kind, relation_names
from .connection import connected
from .counting import count, discover, discovering_statement, occupied, statement
from .dialect import PostgresDialect

if TYPE_CHECKING:
    import psycopg


def open_database(address: Address) -> CountedDatabase:
    """Return the database behind an address; the connection is made by the first question."""
    return CountedDatabase(address, read_parameters(address))


class CountedDatabase(Source):
    """The tables and views of a database, named with their schemas.

    Catalogue entries are read again in every snapshot, for all relations in use: a view or table that was changed
    meanwhile is not counted.
    """

    joins_tables = True
    expands_joined_views = True

    def __init__(self, address: Address, parameters: Mapping[str, Any]) -> None:
        self._address = address
        self._parameters = parameters
        self._relations: dict[str, PostgresRelation] = {}

    @property
    def dataset(self) -> str:
        return str(self._parameters["dbname"])

    @property
    def dialect(self) -> PostgresDialect:
        return PostgresDialect(self._case_collation)

    @cached_property
    def _about(self) -> tuple[dict[str, str], str | None]:
        with self._catalogue() as connection:
            return relation_names(connection), case_collation(connection)

    @property
    def _names(self) -> dict[str, str]:
        return self._about[0]

    @property
    def _case_collation(self) -> str | None:
        return self._about[1]

    @contextmanager
    def _session(self) -> Iterator[psycopg.Connection[Any]]:
        with connected(self._address, self._parameters) as connection:
            yield connection

    @contextmanager
    def _catalogue(self) -> Iterator[psycopg.Connection[Any]]:
        """Yield a session that reads the catalogue and no row, so that the server's messages may be shown."""
        reason = None
        try:
            with self._session() as connection:
                yield connection
        except DiscreetError:
            raise
        except Exception as problem:
            reason = f"{type(problem).__name__}: {' '.join(str(problem).split())}"
        if reason is not None:
            raise SourceFailed(f"the catalogue of {self._address} cannot be read: {reason}")

    def tables(self) -> list[str]:
        return [name for name, kind in self._names.items() if kind in ("r", "p", "v")]

    def spelled(self, name: str) -> str:
        for other, kind in self._names.items():
            if other.casefold() == name.casefold():
                refuse_kind(other, kind)
        return super().spelled(name)

    def relation(self, name: str) -> PostgresRelation:
        """Return a table or view, as the catalogue had it when it was first asked about."""
        spelling = self.spelled(name)
        if spelling not in self._relations:
            with self._catalogue() as connection:
                self._relations[spelling] = read_relation(connection, spelling)
        return self._relations[spelling]

    def table(self, name: str) -> Mapping[str, str]:
        return {column: one.common_kind for column, one in self.relation(name).columns.items()}

    def column_names(self) -> set[str]:
        with self._catalogue() as connection:
            return column_names(connection, self.tables())

    def view(self, name: str) -> str | None:
        return self.relation(name).definition

    def check_unit(self, table: str, column: str) -> None:
        self.check_column(table, column)
        self.relation(table).columns[column].check_unit(column)

    def check_column(self, table: str, column: str) -> None:
        self.relation(table).columns[column].check_readable(table, column)

    def check_whole(self) -> None:
        """Do nothing: the rehearsal shows by its own statement whether the role may read."""

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        with self._session() as connection:
            for _, relation in sorted(self._relations.items()):
                lock(connection, relation)  # before the first question, with which the state is taken
            for name, relation in self._relations.items():
                if read_relation(connection, name) != relation:
                    raise SourceFailed(f"{name} was altered after it was planned for.", "Open the data again.")
            yield _OneState(self, connection)


class _OneState(Snapshot):
    """A transaction that sees one state of the database, unaffected by concurrent writes."""

    def __init__(self, source: CountedDatabase, connection: psycopg.Connection[Any]) -> None:
        self._source = source
        self._connection = connection

    def rehearse(self, counting: Counting) -> None:
        relation = self._source.relation(counting.question.table)
        kinds, dialect = _kinds(relation), self._source.dialect
        self._connection.execute(b"SELECT md5('')")  # some servers are built without it
        if isinstance(counting, Discovering):
            rows, nobody = relation.rows(counting.columns), relation.no_rows(counting.columns)
            self._explain(*discovering_statement(counting, rows, kinds, dialect))
            discover(self._connection, counting, nobody, kinds, dialect)
        else:
            self._explain(*statement(counting, self._rows_of, dialect))
            counted = occupied if counting.sparse else count
            counted(self._connection, counting, self._no_rows_of, dialect)

    def _rows_of(self, counting: Counting) -> tuple[Counting, str, Mapping[str, str]]:
        relation = self._source.relation(counting.question.table)
        return counting, relation.rows(counting.columns), _kinds(relation)

    def _no_rows_of(self, counting: Counting) -> tuple[Counting, str, Mapping[str, str]]:
        relation = self._source.relation(counting.question.table)
        return counting, relation.no_rows(counting.columns), _kinds(relation)

    def _explain(self, sql: str, values: Sequence[object]) -> None:
        """Have a statement planned, which asks for permission too."""
        self._connection.execute(f"EXPLAIN (COSTS OFF) {sql}".encode(), values)

    def count(self, counting: Counting) -> IntArray:
        return count(self._connection, counting, self._rows_of, self._source.dialect)

    def occupied(self, counting: Counting) -> OccupiedGroups:
        return occupied(self._connection, counting, self._rows_of, self._source.dialect)

    def discover(self, counting: Discovering) -> DiscoveredGroups:
        relation = self._source.relation(counting.question.table)
        rows = relation.rows(counting.columns)
        return discover(self._connection, counting, rows, _kinds(relation), self._source.dialect)

    def unchanged(self) -> bool:
        return True


def _kinds(relation: PostgresRelation) -> dict[str, str]:
    return {name: column.kind for name, column in relation.columns.items()}
