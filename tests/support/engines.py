"""The engines that the contract suite holds to one contract. A new engine is one more entry here."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.base import Counting, Source
from discreet.engines.reference import Row
from discreet.engines.sources import open_source
from discreet.errors import InvalidInput
from support import awkward, independence, tiers
from support.postgres_server import INSTALLED
from support.postgres_tables import in_postgres
from support.spark_session import on_spark


@dataclass(frozen=True)
class Engine:
    """An engine over one kind of storage.

    Attributes
    ----------
    name
        Engine and storage.
    writers
        The programs that write its tables.
    open
        The source, from what a writer returns.
    holds
        A written value of a type as the engine holds it, in plain Python.
    counts_by
        The function that a snapshot counts by, for rehearsals as well.
    table
        What it calls the table ``t``.
    refuses
        Whether it refuses, by the schema alone, what it would answer otherwise than other engines.
    tables, questions
        How many tables the fast tests make in a batch, and how many questions they ask of each.
    group
        Tests of engines of one group run in one process, after each other.
    embedded
        Tested by ``make test``; the others need Java, or repeat one of these in another version.
    """

    name: str
    writers: tuple[awkward.Writer, ...]
    open: Callable[[Any], Source]
    holds: Callable[[Any, pa.DataType], Any]
    counts_by: str
    table: str = "t"
    refuses: bool = False
    tables: int = 8
    questions: int = 20
    group: str | None = None
    embedded: bool = True

    def __str__(self) -> str:
        return self.name

    @property
    def marks(self) -> list[pytest.MarkDecorator]:
        group = [pytest.mark.xdist_group(self.group)] if self.group else []
        return group if self.embedded else [*group, tiers.full]

    def random_table(self, chance: random.Random, sizes: tuple[int, ...] = awkward.SIZES) -> awkward.Table:
        return awkward.random_table(chance, self.writers, sizes)

    def store(self, folder: Path, rows: Any, schema: pa.Schema) -> Source:
        """Given rows as a table ``t`` of this engine."""
        table = awkward.Table.of(rows, schema, self.writers[0])
        return self.open(table.write(folder, table))

    def asked(self, counting: Counting) -> Counting:
        """What is counted of ``t``, of the table under this engine's name."""
        question = replace(counting.question.called(self.table), qualified="." in self.table)
        return replace(counting, question=question)

    def answered(self, table: awkward.Table, countings: Sequence[Counting]) -> list[Counting]:
        """The countings that this engine does not refuse for such a table, whatever rows it holds."""
        if not self.refuses:
            return list(countings)
        with tempfile.TemporaryDirectory() as folder:
            source = self.open(table.write(Path(folder), table.only(set())))
            return [counting for counting in countings if not _is_refused(source, self.asked(counting))]

    def counts(self, table: awkward.Table, countings: Sequence[Counting]) -> list[np.ndarray]:
        """The counts of a table, written for the purpose."""
        with tempfile.TemporaryDirectory() as folder:
            return self.open(table.write(Path(folder), table)).count(list(map(self.asked, countings)))

    def violations(self, seed: int, key: bytes) -> list[str]:
        """Where a table made from a seed breaks the promise that a row counts for itself; twenty questions of each."""
        chance = random.Random(seed)
        table = self.random_table(chance)
        countings = self.answered(table, awkward.random_countings(chance, 20, key))
        found = independence.violations(chance, table, countings, self.counts, self.counts(table, countings))
        return [f"seed {seed}, {words}" for words in found]

    def plain_rows(self, table: awkward.Table) -> list[Row]:
        """The rows as the engine holds them, for the reference counter."""
        return [
            {field.name: self.holds(row[field.name], field.type) for field in table.schema} for _, row in table.rows
        ]


def _is_refused(source: Source, counting: Counting) -> bool:
    try:
        source.rehearse([counting])
    except InvalidInput:
        return True
    return False


def as_stored(value: Any, kind: pa.DataType) -> Any:
    """Numbers have the width of their type; bytes that are no UTF-8 are question marks."""
    if isinstance(value, bytes):
        text, rest = "", value
        while rest:
            try:
                return text + rest.decode()
            except UnicodeDecodeError as error:
                text += rest[: error.start].decode() + "?" * (error.end - error.start)
                rest = rest[error.end :]
        return text
    return float(np.float32(value)) if value is not None and kind == pa.float32() else value


def as_replaced(value: Any, kind: pa.DataType) -> Any:
    """Bytes that are no UTF-8 are replacement signs."""
    return value.decode(errors="replace") if isinstance(value, bytes) else as_stored(value, kind)


def as_written(value: Any, kind: pa.DataType) -> str | None:
    """All of CSV is text, and an empty field is NULL."""
    text = "" if value is None else value.decode() if isinstance(value, bytes) else str(value)
    return text or None


def open_in_memory(table: Any) -> Source:
    """A table in memory, called t."""
    return open_source(table, "t")


DUCKDB_COUNT = "discreet.engines.duckdb.files.count"
ARROW_COUNT = "discreet.engines.arrow.source.count"
ENGINES = (
    Engine("DuckDB over CSV", awkward.CSV, open_source, as_written, DUCKDB_COUNT),
    Engine("DuckDB over Parquet", awkward.PARQUET, open_source, as_stored, DUCKDB_COUNT),
    Engine("DuckDB over its own file", awkward.DATABASE, open_source, as_stored, DUCKDB_COUNT),
    Engine("a table of pyarrow", (awkward.in_pyarrow,), open_in_memory, as_stored, ARROW_COUNT),
    Engine("a DataFrame of polars", (awkward.in_polars,), open_in_memory, as_stored, ARROW_COUNT),
    Engine("a DataFrame of pandas", (awkward.in_pandas,), open_in_memory, as_stored, ARROW_COUNT),
    *(
        Engine(
            f"PostgreSQL {version}",
            (in_postgres(version),),
            open_source,
            as_stored,
            "discreet.engines.postgres.source.count",
            "public.t",
            refuses=True,
            embedded=version == max(INSTALLED),
        )
        for version in INSTALLED
    ),
    *(
        Engine(
            f"Spark over {name}",
            tuple(map(on_spark, writers)),
            open_source,
            holds,
            "discreet.engines.spark.source.count",
            refuses=True,
            tables=1,
            questions=3,
            group="spark",
            embedded=False,
        )
        for name, writers, holds in (("Parquet", awkward.PARQUET, as_replaced), ("CSV", awkward.CSV, as_written))
    ),
)

#: The key that people are chosen by in contract suites, and the sizes of small tables.
KEY = bytes(range(16))
SMALL = (1, 2, 5, 12, 40)

EMBEDDED = tuple(engine for engine in ENGINES if engine.embedded)
ON_SPARK = tuple(engine for engine in ENGINES if engine.group == "spark")

#: For tests of a promise that every engine keeps.
every_engine = pytest.mark.parametrize("engine", [pytest.param(one, id=str(one), marks=one.marks) for one in ENGINES])
