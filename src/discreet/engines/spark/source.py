"""Files and tables of Spark, counted by its executors in one listed state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ...addresses import Address
from ...errors import DiscreetError, InvalidInput, SourceFailed
from ...exact.arrays import IntArray
from ...wording import listed as in_words
from ..base import Counting, DiscoveredGroups, Discovering, OccupiedGroups, Snapshot, Source
from ..columns import SourceColumn
from .catalogue import description, files_of, refuse_temporary, sql_name, table_names, view_sql
from .counting import count, discover, occupied, query
from .dialect import SPARK, SparkDialect
from .files import File, SparkFiles, empty
from .schema import columns_of
from .session import TABLE, Place, logs_withheld, own_session, pyspark_driver, read_place, start_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def open_spark(address: Address) -> CountedSpark:
    """Return the files or the table behind an address; Spark is started by the first question."""
    place = read_place(address)
    pyspark_driver()
    return CountedSpark({place.name if place.kind == TABLE else address.dataset: place}, address.dataset)


def open_session(given: SparkSession, dataset: str) -> CountedSpark:
    """Return the tables of a given session's catalogue under the name of a ledger; the session is left as it is."""
    return CountedSpark(given, dataset)


def read_together(sources: Mapping[str, CountedSpark], dataset: str) -> CountedSpark:
    """Return tables at one cluster, each the only one of its source, as one data set that a single session reads."""
    places: dict[str, Place] = {}
    for name, source in sources.items():
        places[source.spelled(name)] = source.only_place
    masters = {place.master for place in places.values()}
    if len(masters) > 1:
        raise InvalidInput(
            f"the tables are at several clusters: {in_words(sorted(masters), 'and')}.",
            "Join tables that one of them reads.",
            argument="data",
        )
    return CountedSpark(places, dataset)


@dataclass(frozen=True)
class SparkRelation:
    """A table with its files as they were listed when it was read, or a view with its definition."""

    schema: StructType
    columns: Mapping[str, SourceColumn]
    files: SparkFiles | None
    definition: str | None
    listed: tuple[File, ...] = field(default=(), compare=False)

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each column in the dialect."""
        return {name: column.kind for name, column in self.columns.items()}


class CountedSpark(Source):
    """Tables of files and of a catalogue, each at its place; or all tables and views of a session's catalogue.

    The files of a table are listed when a snapshot is opened. All passes read the files as listed, and afterwards they
    are listed again.

    Parameters
    ----------
    where
        The place of each table by its name, all at one cluster; or a session, whose catalogue names the tables.
    dataset
        The name that the ledger binds.
    """

    joins_tables = True

    def __init__(self, where: Mapping[str, Place] | SparkSession, dataset: str) -> None:
        self._places = dict(where) if isinstance(where, Mapping) else {}
        self._given = None if isinstance(where, Mapping) else where
        self._dataset = dataset
        self.has_own_name = self._given is None
        self._relations: dict[str, SparkRelation] = {}

    @property
    def dataset(self) -> str:
        return self._dataset

    @property
    def dialect(self) -> SparkDialect:
        return SPARK

    @property
    def only_place(self) -> Place:
        """The place of the one table."""
        (place,) = self._places.values()
        return place

    @cached_property
    def session(self) -> SparkSession:
        """The session of our own, with pinned settings."""
        if self._given is not None:
            return own_session(self._given)
        return start_session(next(iter(self._places.values())).master)

    @cached_property
    def _names(self) -> list[str]:
        if self._given is None:
            return list(self._places)
        with _in_full_words(self._dataset):
            return table_names(self.session)

    def tables(self) -> list[str]:
        return list(self._names)

    def call_table(self, name: str) -> CountedSpark:
        if self._given is not None or len(self._places) != 1 or self.only_place.kind == TABLE:
            return self
        return CountedSpark({name: self.only_place}, self._dataset)

    def spelled(self, name: str) -> str:
        if self._given is not None and name not in self._relations:
            refuse_temporary(self._given, name)
        return super().spelled(name)

    def relation(self, name: str) -> SparkRelation:
        """Return a table or view, as it was when it was first asked about."""
        spelling = self.spelled(name)
        if spelling not in self._relations:
            with _in_full_words(spelling):
                self._relations[spelling] = self._read(spelling)
        return self._relations[spelling]

    def _read(self, name: str) -> SparkRelation:
        place, session = self._places.get(name), self.session
        if place is not None and place.kind != TABLE:
            files = SparkFiles(place.name, place.kind)
            listed = files.listed(session)
            schema = files.schema(session, listed)
            columns = columns_of(schema, files.unsafe_columns(session, schema, listed))
            return SparkRelation(schema, columns, files, None, listed)
        full = name if "." in name else f"{session.catalog.currentDatabase()}.{name}"
        details = description(session, full)
        schema = session.table(sql_name(full)).schema
        definition = view_sql(name, details)
        if definition is not None:
            return SparkRelation(schema, columns_of(schema, {}), None, definition)
        files = files_of(name, details)
        listed = files.listed(session)
        columns = columns_of(schema, files.unsafe_columns(session, schema, listed))
        if files.format == "csv" and any(column.kind != "text" for column in columns.values()):
            raise InvalidInput(f"{name} is stored as CSV, where all is text.", "Declare its columns as STRING.")
        if files.format == "csv" and listed and files.schema(session, listed).names != schema.names:
            raise InvalidInput(
                f"the files of {name} have other first lines than the catalogue has columns.", argument="data"
            )
        paths = {file.path.partition(":")[2].lstrip("/") for file in listed}
        known = {unquote(path).partition(":")[2].lstrip("/") for path in session.table(sql_name(full)).inputFiles()}
        if paths != known:
            raise InvalidInput(
                f"the catalogue and the folder of {name} do not have the same files.",
                "Use its folder, for example with ?parquet=.",
            )
        return SparkRelation(schema, columns, files, None, listed)

    def _read_again(self, name: str, before: SparkRelation) -> SparkRelation:
        """Return a table or view as it is now. As long as files are the same ones, so are their columns."""
        in_catalogue = self._given is not None or self._places[name].kind == TABLE
        if not in_catalogue and before.files is not None and before.files.listed(self.session) == before.listed:
            return before
        return self._read(name)

    def table(self, name: str) -> Mapping[str, str]:
        return {column: one.common_kind for column, one in self.relation(name).columns.items()}

    def view(self, name: str) -> str | None:
        return self.relation(name).definition

    def check_unit(self, table: str, column: str) -> None:
        self.check_column(table, column)
        self.relation(table).columns[column].check_unit(column)

    def check_column(self, table: str, column: str) -> None:
        self.relation(table).columns[column].check_readable(table, column)

    def check_whole(self) -> None:
        """Do nothing: listing the files for a snapshot shows what can be known."""

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        if self._given is None and not self._relations:
            self.relation(self.tables()[0])
        with logs_withheld():
            now = {name: self._read_again(name, before) for name, before in self._relations.items()}
            for name, before in self._relations.items():
                if now[name] != before:
                    raise SourceFailed(f"{name} was altered after it was planned for. Open the data again.")
            yield _ListedSnapshot(self, {name: one.listed for name, one in now.items()})

    def relist(self) -> dict[str, tuple[File, ...]]:
        """Return the files of all tables that were asked about, as they are now."""
        return {
            name: () if one.files is None else one.files.listed(self.session) for name, one in self._relations.items()
        }


class _ListedSnapshot(Snapshot):
    """Files as listed; their state is one if none was replaced, added or removed meanwhile."""

    def __init__(self, source: CountedSpark, files: Mapping[str, tuple[File, ...]]) -> None:
        self._source = source
        self._files = files

    def rehearse(self, counting: Counting) -> None:
        query(self._rows, counting)  # planned and examined, and not run
        if isinstance(counting, Discovering):
            discover(self._no_rows, counting)
        else:
            (occupied if counting.sparse else count)(self._no_rows, counting)

    def count(self, counting: Counting) -> IntArray:
        return count(self._rows, counting)

    def occupied(self, counting: Counting) -> OccupiedGroups:
        return occupied(self._rows, counting)

    def discover(self, counting: Discovering) -> DiscoveredGroups:
        return discover(self._rows, counting)

    def unchanged(self) -> bool:
        return self._source.relist() == self._files

    def _rows(self, table: str) -> tuple[DataFrame, Mapping[str, str]]:
        name = self._source.spelled(table)
        relation = self._source.relation(name)
        assert relation.files is not None
        return relation.files.rows(self._source.session, relation.schema, self._files[name]), relation.kinds

    def _no_rows(self, table: str) -> tuple[DataFrame, Mapping[str, str]]:
        relation = self._source.relation(table)
        return empty(self._source.session, relation.schema), relation.kinds


@contextmanager
def _in_full_words(name: str) -> Iterator[None]:
    """Pass on Spark's messages about names, footers and first lines: no row has been read."""
    reason = None
    try:
        with logs_withheld():
            yield
    except DiscreetError:
        raise
    except Exception as problem:
        reason = f"{type(problem).__name__}: {' '.join(str(problem).split())}"[:500]
    if reason is not None:
        raise SourceFailed(f"{name} cannot be read by Spark, and nothing was spent: {reason}")
