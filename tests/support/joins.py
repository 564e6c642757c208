"""Two awkward tables of the same people, in every engine that joins them, and random questions about both."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from discreet.engines.base import Counting, Source
from discreet.engines.duckdb.files import CountedFiles, FilesTogether
from discreet.engines.reference import Row, count_rows, read_value
from discreet.engines.sources import open_source, open_tables, open_tables_in_memory
from discreet.errors import InvalidInput, Unsupported
from discreet.questions.groups import TOTAL, groups_from
from discreet.questions.joins.clauses import RelatedTable
from discreet.questions.question import read_question
from discreet.questions.resolve.bind import bind_joins
from support import awkward, lookups
from support.engines import SMALL, as_replaced, as_stored, as_written
from support.postgres_server import INSTALLED, server
from support.postgres_tables import TYPES
from support.spark_session import on_spark

#: Columns of the second table -> those of the awkward tables that they are made like.
SECOND = {"id": "person", "pf": "f", "pt": "t", "pg": "g", "psite": "site"}


@dataclass(frozen=True)
class Pair:
    """Two tables, ``t`` and ``p``, whose columns ``person`` and ``id`` name the same people."""

    t: awkward.Table
    p: awkward.Table

    def people(self) -> list[object]:
        """Return everybody who is in one of the tables."""
        named = [row["person"] for _, row in self.t.rows] + [row["id"] for _, row in self.p.rows]
        return list(dict.fromkeys(named))

    def without(self, person: object) -> Pair:
        return Pair(
            self.t.without({place for place, row in self.t.rows if row["person"] == person}),
            self.p.without({place for place, row in self.p.rows if row["id"] == person}),
        )

    def only(self, person: object) -> Pair:
        return Pair(
            self.t.only({place for place, row in self.t.rows if row["person"] == person}),
            self.p.only({place for place, row in self.p.rows if row["id"] == person}),
        )


def random_pair(chance: random.Random, writers: Sequence[awkward.Writer], sizes: Sequence[int]) -> Pair:
    first = awkward.random_table(chance, writers, sizes)
    second = awkward.random_table(chance, writers, sizes)
    while second.schema.field("person").type != first.schema.field("person").type:
        second = awkward.random_table(chance, writers, sizes)
    schema = pa.schema([(name, second.schema.field(like).type) for name, like in SECOND.items()])
    rows = tuple((place, {name: row[like] for name, like in SECOND.items()}) for place, row in second.rows)
    return Pair(first, awkward.Table(rows, schema, second.write))


def with_repeated_rows(chance: random.Random, pair: Pair) -> Pair:
    """The same tables with up to three copies of a row of some people who are in both: events that are equal."""
    both = {str(row["person"]) for _, row in pair.t.rows} & {str(row["id"]) for _, row in pair.p.rows}
    people = chance.sample(sorted(both), min(8, len(both)))

    def repeated(table: awkward.Table, unit: str) -> awkward.Table:
        copies = []
        for person in people:
            row = chance.choice([row for _, row in table.rows if str(row[unit]) == person])
            copies += [row] * chance.randint(0, 3)
        first = 1 + max((place for place, _ in table.rows), default=0)
        return awkward.Table((*table.rows, *enumerate(copies, first)), table.schema, table.write)

    return Pair(repeated(pair.t, "person"), repeated(pair.p, "id"))


# ------------------------------------------------------------------------------------------------ engines


def _in_files(folder: Path, pair: Pair) -> Source:
    sources = {}
    for name, table in (("t", pair.t), ("p", pair.p)):
        (folder / name).mkdir()
        source = open_source(table.write(folder / name, table)).call_table(name)
        assert isinstance(source, CountedFiles)
        sources[name] = source
    return FilesTogether("t", sources)


def _in_a_database(folder: Path, pair: Pair) -> Source:
    with duckdb.connect(str(folder / "t.duckdb")) as base:
        for name, table in (("t", pair.t), ("p", pair.p)):
            base.register("rows", table.arrow())
            base.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
    return open_source(folder / "t.duckdb")


def _in_memory(folder: Path, pair: Pair) -> Source:
    return open_tables_in_memory({"t": pair.t.write(folder, pair.t), "p": pair.p.write(folder, pair.p)}, "t")


def _in_postgres(folder: Path, pair: Pair) -> Source:
    where = server(max(INSTALLED))
    name = where.database(name="pairs")
    with where.connect(name) as base:
        for table_name, table in (("t", pair.t), ("p", pair.p)):
            columns = ", ".join(f'"{field.name}" {TYPES[field.type]}' for field in table.schema)
            base.execute(f"CREATE TABLE public.{table_name} ({columns})".encode())
            with base.cursor() as cursor, cursor.copy(f"COPY public.{table_name} FROM STDIN".encode()) as copy:
                for _, row in table.rows:
                    copy.write_row([v.decode() if isinstance(v, bytes) else v for v in row.values()])
        base.execute("ANALYZE")
    return open_source(where.address(name))


def _on_spark(folder: Path, pair: Pair) -> Source:
    places = {}
    for name, table in (("t", pair.t), ("p", pair.p)):
        (folder / name).mkdir()
        places[name] = (str(table.write(folder / name, table)), None)
    return open_tables(places)


@dataclass(frozen=True)
class JoiningEngine:
    """An engine that joins tables: the programs that write them, how a pair is opened, and what a value is read as."""

    name: str
    writers: tuple[awkward.Writer, ...]
    open: Callable[[Path, Pair], Source]
    holds: Callable[[object, pa.DataType], object]
    schema: str = ""

    def __str__(self) -> str:
        return self.name

    def counts(self, pair: Pair, countings: Sequence[Counting]) -> list[np.ndarray]:
        with tempfile.TemporaryDirectory() as folder:
            return self.open(Path(folder), pair).count(countings)

    def countings(self, chance: random.Random, pair: Pair, several: int) -> list[Counting]:
        with tempfile.TemporaryDirectory() as folder:
            source = self.open(Path(folder), Pair(pair.t.only(set()), pair.p.only(set())))
            kinds = [dict(source.table(f"{self.schema}{name}")) for name in ("t", "p")]
            asked = [random_counting(chance, self.schema, *kinds) for _ in range(several)]
            return [one for one in asked if not _is_refused(source, one)]

    def plain_rows(self, table: awkward.Table) -> list[Row]:
        return [
            {field.name: self.holds(row[field.name], field.type) for field in table.schema}  # type: ignore[misc]
            for _, row in table.rows
        ]


def _is_refused(source: Source, counting: Counting) -> bool:
    try:
        source.rehearse([counting])
    except InvalidInput:
        return True
    return False


FILES = (*awkward.PARQUET, *awkward.CSV)
ENGINES = (
    JoiningEngine("DuckDB over Parquet", awkward.PARQUET, _in_files, as_stored),
    JoiningEngine("DuckDB over CSV", awkward.CSV, _in_files, as_written),
    JoiningEngine("DuckDB over its own file", (awkward.by_polars,), _in_a_database, as_stored),
    JoiningEngine("tables of pyarrow", (awkward.in_pyarrow,), _in_memory, as_stored),
    JoiningEngine("PostgreSQL", (awkward.by_polars,), _in_postgres, as_stored, "public."),
)
ON_SPARK = tuple(
    JoiningEngine(f"Spark over {name}", tuple(map(on_spark, writers)), _on_spark, holds)
    for name, writers, holds in (("Parquet", awkward.PARQUET, as_replaced), ("CSV", awkward.CSV, as_written))
)

# ------------------------------------------------------------------------------------------------ questions

KEY = bytes(range(16))
_ABOUT_P = [
    "pf > 50", "pf > 300", "pf IS NULL", "pt = 'a'", "pt IS DISTINCT FROM 'a'", "pt = '?'", "pg IN ('a', 'b')",
    "psite = 2", "pf > 300 OR pt LIKE 'a%'", "NOT (psite = 1)", "pg IS NOT NULL",
]  # fmt: skip
_DOMAINS: dict[str, list[Any]] = {
    "site": [range(5), [0, 3, None]],
    "g": [["a", "b", "?"], ["a", None], ["b", ...]],
    "pg": [["a", "b", "?"], ["a", None], ["b", ...]],
    "psite": [range(5), [0, 3, None], [2]],
    "zone": [["n", "s"], ["n", None]],
    "part": [["low", "high"]],
}


def random_counting(chance: random.Random, schema: str, kinds: dict[str, str], second: dict[str, str]) -> Counting:
    """A question about both tables, whose people are bounded."""
    by = chance.choice([[], ["pg"], ["site", "pg"], ["pg", "site"], ["psite", "g", "pg"], ["zone"], ["part", "site"]])
    side = chance.choice(["", "", "LEFT "])
    stored = [chance.choice(["f", "t", "site", "i", "g"]) for _ in range(2)]
    first, about_p = awkward.random_condition(chance, stored, 1), chance.choice(_ABOUT_P)
    test = chance.choice(["", first, about_p, f"({first}) AND ({about_p})", f"({first}) OR ({about_p})"])
    counted = ["COUNT(*)"]
    if chance.random() < 0.5:
        counted.append(f"COUNT_IF({chance.choice([first, about_p, f'({first}) OR NOT ({about_p})'])}) AS n1")
    if chance.random() < 0.2:
        counted.append(f"COUNT_IF({chance.choice(_ABOUT_P)}) AS n2")
    case = "CASE WHEN psite IN (0, 1) THEN 'low' WHEN psite = 3 THEN 'high' END AS part"
    selected = [case if column == "part" else column for column in by]
    look = " LEFT JOIN places ON p.psite = places.k" if "zone" in by else ""
    sql = f"SELECT {', '.join([*selected, *counted])} FROM {schema}t {side}JOIN {schema}p ON t.person = p.id{look}"
    sql += f" WHERE {test}" if test else ""
    sql += " GROUP BY " + ", ".join(by) if by else ""
    public = {"places": lookups.random_public_table(chance, "site")}
    related = {f"{schema}p": RelatedTable(f"{schema}p", "id", second)}
    question = bind_joins(read_question(sql, unit="person"), public, kinds, related, "person")
    domain: dict[str, Any] = {column: chance.choice(_DOMAINS[column]) for column in by}
    groups = groups_from(domain, question.by) if by else TOTAL
    return Counting(question, groups, "person", chance.randint(1, 3), KEY)


def expected(engine: JoiningEngine, pair: Pair, counting: Counting) -> np.ndarray:
    """The counts of the joined rows, by the plain reference."""
    first, second = engine.plain_rows(pair.t), engine.plain_rows(pair.p)
    nobody: Row = dict.fromkeys(SECOND)
    (joined,) = counting.question.tables
    rows = []
    for row in first:
        unit = read_value(row["person"], "VARCHAR")
        theirs = [other for other in second if unit is not None and read_value(other["id"], "VARCHAR") == unit]
        if joined.join.outer and not theirs:
            theirs = [nobody]
        rows += [{**row, **other} for other in theirs]
    return count_rows(rows, counting)


def violations(engine: JoiningEngine, chance: random.Random, pair: Pair, countings: Sequence[Counting]) -> list[str]:
    """Where one person less, in both tables at once, moves the counts by anything but what they count alone."""
    person = chance.choice(pair.people())
    whole, rest, alone = (
        engine.counts(some, countings) for some in (pair, pair.without(person), pair.only(person))
    )  # fmt: skip
    found = []
    for counting, every, others, own in zip(countings, whole, rest, alone, strict=True):
        moved = every - others
        if (moved != own).any():
            found.append(f"{counting.question.text}: one person less is not what they count alone")
        if (
            np.abs(moved).max(initial=0) > (counting.max_rows or 1)
            or (np.abs(moved).max(axis=1) > 0).sum() > counting.max_groups
        ):
            found.append(f"{counting.question.text}: one person less moves too much")
    return found


# ------------------------------------------------------------------------------------------------ batteries


def as_events(countings: Sequence[Counting]) -> list[Counting]:
    """The same questions of joined rows, with caps that cut off some people and not others."""
    return [replace(one, max_rows=(1, 2, 3, 7, 30)[place % 5]) for place, one in enumerate(countings)]


def differences(engine: JoiningEngine, seeds: Sequence[int], several: int = 12, events: bool = False) -> list[str]:
    """Where random questions of two tables have other counts than the reference has of the joined rows."""
    found, compared = [], 0
    for seed in seeds:
        chance = random.Random(seed)
        pair = random_pair(chance, engine.writers, SMALL)
        countings = engine.countings(chance, pair, several)
        if events:
            pair, countings = with_repeated_rows(chance, pair), as_events(countings)
        for counting, counts in zip(countings, engine.counts(pair, countings), strict=True):
            try:
                same = (counts == expected(engine, pair, counting)).all()
            except Unsupported:  # engines may differ here, such as on the text of a float
                continue
            compared += 1
            if not same:
                found.append(f"seed {seed}: {counting.question.text}, {counting.groups.values}, {counting.max_rows}")
    assert compared > several * len(seeds) // 4
    return found


def violations_of_seed(engine: JoiningEngine, seed: int, several: int = 12, events: bool = False) -> list[str]:
    """Where two tables made from a seed break the promise that a person counts for themselves alone."""
    chance = random.Random(seed)
    pair = random_pair(chance, engine.writers, SMALL)
    countings = engine.countings(chance, pair, several)
    if events:
        pair, countings = with_repeated_rows(chance, pair), as_events(countings)
    return [f"seed {seed}, {words}" for words in violations(engine, chance, pair, countings)]
