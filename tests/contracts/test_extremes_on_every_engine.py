"""The ends of every type on every engine and file format: one row decides neither whether a release fails nor others.

A column is refused by its type, before a row is read, or every question about it is answered whatever it holds.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.base import Counting, DiscoveredGroups, Discovering, Source
from discreet.errors import InvalidInput
from discreet.questions.groups import TOTAL
from discreet.questions.question import read_question
from support import awkward, extremes, tiers
from support.engines import ENGINES, KEY, Engine, as_replaced
from support.postgres_server import server
from support.spark_session import address, on_spark

#: Spark reads ORC too; few of the awkward tables can be written so.
ORC = Engine(
    "Spark over ORC", (on_spark(awkward.as_orc),), ENGINES[-1].open, as_replaced, ENGINES[-1].counts_by,
    refuses=True, group="spark", embedded=False,
)  # fmt: skip

#: What an engine refuses by its type. All that is not here is answered.
_TIMES = {"time ms", "time us", "time ns"}
_UNSIGNED = {"uint8", "uint16", "uint32", "uint64"}
REFUSED = {
    "DuckDB over Parquet": {"s", "ms", "ms in UTC", *_TIMES},
    "a table of pyarrow": {"ms in UTC", *_TIMES},
    "a DataFrame of polars": {"ms in UTC", *_TIMES},
    "a DataFrame of pandas": {"ms in UTC", *_TIMES},
    "Spark over Parquet": {"s", "ms", "ms in UTC"},
    "Spark over ORC": {"s", "ms", "us", "ns", "ms in UTC", "us in UTC", "ns in UTC"},
}
#: What cannot be written, or not as that type: polars has no seconds; Spark refuses files with nanoseconds or times.
NOT_STORED = {
    "DuckDB over CSV": set(extremes.COLUMNS) - {"text"},
    "Spark over CSV": set(extremes.COLUMNS) - {"text"},
    "DuckDB over its own file": {"ms in UTC"},
    "a DataFrame of polars": {"s", *_TIMES},
    "Spark over Parquet": {"ns", "ns in UTC", *_TIMES},
    "Spark over ORC": {*_UNSIGNED, *_TIMES},
}
#: Moments that fit in no format that counts them in finer units.
FINER = {"DuckDB over Parquet": {"s"}, "Spark over Parquet": {"s"}, "Spark over ORC": {"s", "ms", "ms in UTC"}}

#: Engines may write their text otherwise, and refuse to.
FLOATS = {"float32", "float64", "real", "double precision"}
#: Tested by ``make test``, on each engine but for DataFrames, which are read as tables of pyarrow are.
FAST = {
    "int64", "uint64", "float64", "text", "whole decimal", "day", "s", "ms", "us", "ns", "us in UTC", "time us",
    "double precision", "numeric", "date", "timestamp",
}  # fmt: skip

PLAIN = [(b"ann", 1, None), (b"bob", 2, None), (b"eve", 0, None), (b"eve", 1, None)]


def cases() -> list[Any]:
    found = []
    for engine in (*ENGINES, ORC):
        for name in extremes.POSTGRES if engine.name.startswith("PostgreSQL") else extremes.COLUMNS:
            slow = engine.name.startswith("a DataFrame") or name not in FAST
            marks = [*engine.marks, *([tiers.full] if slow and engine.embedded else [])]
            if name not in NOT_STORED.get(engine.name, ()):
                found.append(pytest.param(engine, name, id=f"{engine}-{name}", marks=marks))
    return found


def answers(source: Source, asked: Sequence[Counting]) -> list[Counter[Any]]:
    """Return the counts of each question, by group; those of declared groups come from one state of the data."""
    counts = iter(source.count([one for one in asked if not isinstance(one, Discovering)]))
    return [
        _by_label(source.discover(one))
        if isinstance(one, Discovering)
        else +Counter(dict(enumerate(next(counts).reshape(-1).tolist())))
        for one in asked
    ]


def _by_label(groups: DiscoveredGroups) -> Counter[Any]:
    labels = zip(groups.declared.tolist(), *(label.tolist() for label in groups.labels), strict=True)
    return Counter(dict(zip(labels, groups.counts[:, 0].tolist(), strict=True)))


def is_refused(act: Callable[..., None], *given: Any) -> bool:
    """Whether something is refused, by the schema alone."""
    try:
        act(*given)
    except InvalidInput:
        return True
    return False


@pytest.mark.parametrize(("engine", "name"), cases())
def test_a_row_at_the_end_of_a_type_counts_for_itself_alone(engine: Engine, name: str, tmp_path: Path) -> None:
    far, stored = far_rows(engine, name, tmp_path)
    whole, plain, ends = stored([*PLAIN, *far]), stored(PLAIN), stored(far)
    question = read_question("SELECT COUNT(*) FROM t WHERE site = 1", unit="row")
    (counts,) = whole.count([engine.asked(Counting(question, TOTAL, "row", 1, KEY))])  # the column is not read
    assert counts.item() == 2 + sum(place % 3 == 1 for place in range(len(far)))
    refused = is_refused(plain.check_column, engine.table, "x")
    assert refused == (name in REFUSED.get(engine.name, ()))
    if refused:
        return
    as_text = not (engine.refuses and name in FLOATS)
    made = [*extremes.countings("x", KEY, as_text), *extremes.discoverings("x", KEY, as_text)]
    made += [] if is_refused(plain.check_unit, engine.table, "x") else extremes.units("x", KEY)
    asked = list(map(engine.asked, made if engine.embedded else quick(made)))
    for source in (plain,) if engine.embedded else ():
        source.rehearse(asked)
    for counting, every, some, others in zip(
        asked, *(answers(source, asked) for source in (whole, plain, ends)), strict=True
    ):
        assert every == some + others, counting.question.text


def far_rows(
    engine: Engine, name: str, folder: Path
) -> tuple[list[tuple[Any, ...]], Callable[[Sequence[tuple[Any, ...]]], Source]]:
    """Return a row for each end of a type, and what stores rows as a table of the engine."""
    if engine.name.startswith("PostgreSQL"):
        where = server(int(engine.name.split()[1]))

        def in_database(rows: Sequence[tuple[Any, ...]]) -> Source:
            base = where.database(f"CREATE TABLE t (person text, site integer, x {name})")
            with where.connect(base) as connection, connection.cursor() as cursor:
                insert = f"INSERT INTO t VALUES (%s, %s, CAST(CAST(%s AS text) AS {name}))"
                cursor.executemany(insert.encode(), [(row[0].decode(), *row[1:]) for row in rows])
            return engine.open(where.address(base))

        return _far(extremes.POSTGRES[name]), in_database
    kind, values = extremes.COLUMNS[name]
    if name in FINER.get(engine.name, ()):
        values = [value for value in values if abs(value) < 9_000_000_000]
    schema = pa.schema({"person": pa.string(), "site": pa.int32(), "x": kind})

    def in_files(rows: Sequence[tuple[Any, ...]]) -> Source:
        return engine.store(Path(tempfile.mkdtemp(dir=folder)), rows, schema)

    return _far(values), in_files


def _far(values: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [(b"p%d" % place, place % 3, value) for place, value in enumerate(values)]


def quick(asked: Sequence[Counting]) -> list[Counting]:
    """Return a few of the questions, for an engine where each takes long: the first of each sort."""
    sorts = {(bool(one.question.by), bool(one.groups.bands), type(one), one.unit == "x"): one for one in asked[::-1]}
    return list(sorts.values())


# ------------------------------------------------------------------------------------------------ lines of CSV

#: One more line of a file with the columns person, site and x -> how many rows it is.
LINES = {
    "more fields than a parser takes": (b"p9,1," + b"," * 150_000, 1),
    "a long field": (b"p9,1," + b"x" * 1_500_000, 1),
    "a field that is too long": (b"p9,1," + b"x" * 2_500_000, 0),
    "more fields than a line may have bytes": (b"p9,1," + b"," * 2_500_000, 0),
    "a long field that is not read": (b"p9,1,x," + b"y" * 1_500_000, 1),
    "quotes": (b'p9,1,"' + b'""' * 500_000 + b'"', 1),
    "a quote inside": (b'p9,1,x"y', 1),
    "the character NUL": (b"p9,1,\0", 1),
}


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    "engine", [pytest.param(one, id=str(one), marks=one.marks) for one in ENGINES if one.name.endswith("CSV")]
)
def test_a_line_of_any_length_counts_for_itself_alone(engine: Engine, line: str, tmp_path: Path) -> None:
    content, rows = LINES[line]
    asked = [
        Counting(read_question(sql, unit=unit), TOTAL, unit, 1, KEY)
        for sql in (
            "SELECT COUNT(*) FROM t",
            "SELECT COUNT(*) FROM t WHERE site = 1",
            "SELECT COUNT(*) FROM t WHERE x = 5",
        )
        for unit in ("row", "person")
    ]
    counts = []
    for name, lines in (("without", [b"p1,1,5", b"p2,2,5"]), ("with", [b"p1,1,5", content, b"p2,2,5"])):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "t.csv").write_bytes(b"\n".join([b"person,site,x", *lines, b""]))
        path = folder / "t.csv"
        counts.append(
            [each.item() for each in engine.open(address(path) if engine.group == "spark" else path).count(asked)]
        )
    assert [more - less for less, more in zip(*counts, strict=True)] == [rows, rows, rows, rows, 0, 0]
