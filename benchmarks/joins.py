"""Speed of counting joined tables, against the engine's own join of the same files: COUNT(DISTINCT) where people are
counted, COUNT(*) where events are. The engine's query bounds nobody, so its COUNT(*) never looks at who a row is of."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb

import measure
from counting import write_rows
from discreet.engines.duckdb.files import CountedFiles, FilesTogether
from discreet.engines.sources import Counting, open_source
from discreet.questions.groups import groups_from
from discreet.questions.joins.clauses import RelatedTable
from discreet.questions.question import read_question
from discreet.questions.resolve.bind import bind_joins
from measure import FULL, Line, Scale

REGIONS = 50


def write_people(file: Path, people: int) -> None:
    """Write one row for each person, with a sex and a region."""
    with duckdb.connect() as engine:
        engine.execute(
            "COPY (SELECT i AS id, CAST(hash(i) % 2 AS INTEGER) AS sex, "
            f"CAST(hash(3 * i) % {REGIONS} AS INTEGER) AS region FROM range({people}) AS r(i)) "
            f"TO '{file}' (FORMAT parquet)"
        )


def count_joined(folder: Path, by: tuple[str, ...], k: int, max_rows: int | None = None) -> Callable[[], Any]:
    """Return a call that counts people of ``t``, or their rows, by columns of ``p``, each in at most k groups."""
    sources = {}
    for name in ("t", "p"):
        source = open_source(folder / f"{name}.parquet")
        assert isinstance(source, CountedFiles)
        sources[name] = source
    together = FilesTogether("t", sources)
    sql = f"SELECT {', '.join(by)}, COUNT(*) FROM t JOIN p ON t.person = p.id WHERE year = 1 GROUP BY {', '.join(by)}"
    related = {"p": RelatedTable("p", "id", together.table("p"))}
    question = bind_joins(read_question(sql, unit="person"), {}, together.table("t"), related, "person")
    values = {"sex": range(2), "region": range(REGIONS), "site": range(1000)}
    groups = groups_from({name: values[name] for name in by}, by)
    counting = Counting(question, groups, "person", k, bytes(16), max_rows=max_rows)
    return lambda: together.count([counting])


def _bare(folder: Path, by: tuple[str, ...], counted: str) -> Callable[[], Any]:
    engine = duckdb.connect()
    tables = f"read_parquet('{folder}/t.parquet') AS t JOIN read_parquet('{folder}/p.parquet') AS p ON t.person = p.id"
    columns = ", ".join(by)
    sql = f"SELECT {columns}, count({counted}) FROM {tables} WHERE year = 1 GROUP BY {columns}"
    return lambda: engine.execute(sql).fetchnumpy()


def lines(scale: Scale = FULL) -> Iterator[Line]:
    rows, people = scale.pick(10_000_000, 20_000), scale.pick(1_000_000, 2_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "t.parquet", rows)
        write_people(folder / "p.parquet", people)
        for by, k in ((("sex",), 1), (("region",), 1), (("region", "site"), 3)):
            call = count_joined(folder, by, k)
            ours, distinct = measure.in_turn(call, _bare(folder, by, "DISTINCT person"), rounds=scale.pick(3, 1))
            what = f"join {rows:.0e} rows with {people:.0e} people, bound to {k} by {' and '.join(by)}"
            yield measure.at_most(
                what, f"{ours:.3g} s", f"bare join, COUNT(DISTINCT) {distinct:.3g} s", ours / distinct, 5
            )
        for most, counted in ((None, "people"), (5, "rows, at most 5 of one,")):
            ours, bare = measure.in_turn(
                count_joined(folder, ("region",), 1, most), _bare(folder, ("region",), "*"), rounds=scale.pick(3, 1)
            )
            what = f"join {rows:.0e} rows with {people:.0e} people, {counted} by region, against its rows"
            yield measure.at_most(what, f"{ours:.3g} s", f"bare join, COUNT(*) {bare:.3g} s", ours / bare, 30)
