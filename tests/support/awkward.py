"""Awkward tables as programs really write them, and random questions that are accepted of them.

A table is made of rows that each keep their place, so that the same table with some rows fewer is written by the same
program with the same settings. Everything comes from one seeded generator.
"""

from __future__ import annotations

import csv
import datetime
import decimal
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from discreet.engines.base import Counting
from discreet.questions.groups import TOTAL, groups_from
from discreet.questions.question import read_question

NAN, INF = float("nan"), float("inf")
BAD = b"\xed\xa0\x80"  # half of a surrogate pair
DAY, MOMENT = datetime.date, datetime.datetime

#: Columns, their types and what stands in them. Texts are bytes, some of them not UTF-8.
POOLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "f": (pa.float64(), [NAN, INF, -INF, 0.0, -0.0, 50.0, 200.0, 250.0, 1.5, 5e-324, -1e308]),
    "f4": (pa.float32(), [NAN, INF, -INF, 0.0, -0.0, 1.5, 3e38, 7.0]),
    "i": (pa.int64(), [0, 1, 2, 3, -1, 2**53, 2**63 - 1, -(2**63)]),
    "i1": (pa.int8(), [0, 1, 127, -128]),
    "u": (pa.uint64(), [0, 1, 2**64 - 1]),
    "t": (pa.string(), [b"", b"?", b"a", b"A", b"b", "é".encode(), b"zz", b"NULL", b"1", b"nan", b"\xff", BAD]),
    "w": (pa.string(), [b"x" * 300, b"x" * 299 + b"y", b"x", b"y" * 70, b"?"]),
    "b": (pa.bool_(), [True, False]),
    "d": (pa.date32(), [DAY(1, 1, 1), DAY(1970, 1, 1), DAY(2020, 2, 29), DAY(9999, 12, 31)]),
    "m": (pa.timestamp("us"), [MOMENT(1970, 1, 1), MOMENT(2020, 2, 29, 12, 30), MOMENT(9999, 12, 31)]),
    "c": (pa.decimal128(10, 2), [decimal.Decimal("0.00"), decimal.Decimal("1.50"), decimal.Decimal("-99999999.99")]),
    "site": (pa.int32(), [0, 1, 2, 3, 4]),
    "g": (pa.string(), [b"a", b"b", b"", b"?", b"e"]),
}  # fmt: skip
PERSON: dict[str, tuple[pa.DataType, list[Any]]] = {
    "number": (pa.int64(), list(range(6))),
    "text": (pa.string(), [b"ann", b"bob", b"", b"eve", b"1", b"zoe"]),
}

Row = dict[str, Any]
#: From a generator that chooses settings to a program that writes a table into a folder.
Writer = Callable[[random.Random], "Callable[[Path, Table], Path]"]


@dataclass(frozen=True)
class Table:
    """Rows with their places, the columns' types, and how the table is written."""

    rows: tuple[tuple[int, Row], ...]
    schema: pa.Schema
    write: Callable[[Path, Table], Path]

    @staticmethod
    def of(rows: Iterable[Sequence[Any]], schema: pa.Schema, writer: Writer, seed: int = 0) -> Table:
        """A table of given rows, as a writer with settings from a seed writes it."""
        placed = tuple((place, dict(zip(schema.names, row, strict=True))) for place, row in enumerate(rows))
        return Table(placed, schema, writer(random.Random(seed)))

    def without(self, places: set[int]) -> Table:
        return Table(tuple(row for row in self.rows if row[0] not in places), self.schema, self.write)

    def only(self, places: set[int]) -> Table:
        return Table(tuple(row for row in self.rows if row[0] in places), self.schema, self.write)

    def arrow(self, part: int = 0, parts: int = 1) -> pa.Table:
        """Return the table, or one of several parts of it, as Arrow keeps it."""
        rows = [row for place, row in self.rows if place % parts == part]
        return pa.table([_array([row[field.name] for row in rows], field.type) for field in self.schema], self.schema)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if kind != pa.string():
        return pa.array(values, kind)
    raw = pa.array(values, pa.binary())  # a file's bytes need not be UTF-8, whatever its schema says
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers(), raw.null_count)


SIZES = (1, 2, 5, 12, 12, 40, 40, 200, 2000)


def random_table(chance: random.Random, writers: Sequence[Writer] | None = None, sizes: Sequence[int] = SIZES) -> Table:
    """A table as one of the writers writes it; without any, one of all."""
    writer = chance.choice(WRITERS if writers is None else writers)
    columns: dict[str, tuple[pa.DataType, list[Any]]] = {"person": PERSON[chance.choice(sorted(PERSON))], **POOLS}
    if writer not in (pyarrow, parts, in_pyarrow):  # the others refuse to write such texts, or mend them
        columns = {name: (kind, [v for v in pool if _is_utf8(v)]) for name, (kind, pool) in columns.items()}
    size = chance.choice(sizes)
    drawn = {name: _column(chance, name, pool, size) for name, (_, pool) in columns.items()}
    rows = tuple((i, {name: values[i] for name, values in drawn.items()}) for i in range(size))
    schema = pa.schema([(name, kind) for name, (kind, _) in columns.items()])
    return Table(rows, schema, writer(chance))


def _is_utf8(value: Any) -> bool:
    return not isinstance(value, bytes) or value == value.decode(errors="replace").encode()


def _column(chance: random.Random, name: str, pool: list[Any], size: int) -> list[Any]:
    """All alike, alike but for a few, without or with missing values, or anything."""
    missing = chance.choice([0, 0, 0.1, 0.5, 1 if name not in ("person", "site", "g") else 0])
    odd = [value for value in pool if value != value or not _is_utf8(value)]
    usual = chance.sample(pool, min(len(pool), chance.randint(2, 6)))
    if odd and chance.random() < 0.6:  # one value, and one that statistics leave out or compare otherwise
        usual = [chance.choice(pool), chance.choice(odd)]
    elif chance.random() < 0.5:
        usual = usual[:1]
    rare = chance.choice([0, 0, 1.5 / size])
    values: list[Any] = []
    for _ in range(size):
        if chance.random() < missing:
            values.append(None)
        else:
            values.append(chance.choice(pool if chance.random() < rare else usual))
    return values


# ------------------------------------------------------------------------------------------------ programs that write


def pyarrow(chance: random.Random) -> Callable[[Path, Table], Path]:
    options = _arrow_options(chance)

    def write(folder: Path, table: Table) -> Path:
        pq.write_table(table.arrow(), folder / "t.parquet", **options)
        return folder / "t.parquet"

    return write


def _arrow_options(chance: random.Random) -> dict[str, Any]:
    return {
        "use_dictionary": chance.choice([True, False, ["t", "g"]]),
        "write_statistics": chance.choice([True, True, False, ["f", "t"]]),
        "row_group_size": chance.choice([1, 3, 10, 100, 10**6]),
        "data_page_version": chance.choice(["1.0", "2.0"]),
        "data_page_size": chance.choice([64, 2**20]),
        "write_page_index": chance.choice([True, False]),
        "compression": chance.choice(["none", "snappy", "zstd"]),
    }


def parts(chance: random.Random) -> Callable[[Path, Table], Path]:
    options, several = _arrow_options(chance), chance.randint(2, 4)

    def write(folder: Path, table: Table) -> Path:
        (folder / "t").mkdir()
        for k in range(several):
            pq.write_table(table.arrow(k, several), folder / "t" / f"{k}.parquet", **options)
        return folder / "t"

    return write


def by_polars(chance: random.Random) -> Callable[[Path, Table], Path]:
    options: dict[str, Any] = {"statistics": chance.choice([True, True, False, "full"])}
    options["row_group_size"] = chance.choice([1, 10, 10**6])

    def write(folder: Path, table: Table) -> Path:
        frame = polars.from_arrow(table.arrow())
        assert isinstance(frame, polars.DataFrame)
        frame.write_parquet(folder / "t.parquet", **options)
        return folder / "t.parquet"

    return write


def by_pandas(chance: random.Random) -> Callable[[Path, Table], Path]:
    compression = chance.choice([None, "snappy"])

    def write(folder: Path, table: Table) -> Path:
        frame = table.arrow().to_pandas(types_mapper=pandas.ArrowDtype)
        frame.to_parquet(folder / "t.parquet", compression=compression, index=False)
        return folder / "t.parquet"

    return write


def duckdb_parquet(chance: random.Random) -> Callable[[Path, Table], Path]:
    compression, size = chance.choice(["snappy", "zstd"]), chance.choice([2048, 122880])
    options = f"FORMAT parquet, ROW_GROUP_SIZE {size}, COMPRESSION {compression}"

    def write(folder: Path, table: Table) -> Path:
        with duckdb.connect() as base:
            base.register("rows", table.arrow())
            base.execute(f"COPY (SELECT * FROM rows) TO '{folder}/t.parquet' ({options})")
        return folder / "t.parquet"

    return write


def database(chance: random.Random) -> Callable[[Path, Table], Path]:
    def write(folder: Path, table: Table) -> Path:
        with duckdb.connect(str(folder / "t.duckdb")) as base:
            base.register("rows", table.arrow())
            base.execute("CREATE TABLE t AS SELECT * FROM rows")
        return folder / "t.duckdb"

    return write


def as_csv(chance: random.Random) -> Callable[[Path, Table], Path]:
    ends, blank = chance.choice(["\n", "\r\n"]), chance.choice([0, 0.2])
    quoting: Literal[0, 1] = chance.choice([0, 1])

    def write(folder: Path, table: Table) -> Path:
        with open(folder / "t.csv", "w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file, lineterminator=ends, quoting=quoting)
            lines.writerow(table.schema.names)
            for place, row in table.rows:
                lines.writerow([v.decode() if isinstance(v, bytes) else v for v in row.values()])
                if random.Random(place).random() < blank:
                    file.write(ends)
        return folder / "t.csv"

    return write


def as_orc(chance: random.Random) -> Callable[[Path, Table], Path]:
    compression = chance.choice(["uncompressed", "zlib", "zstd"])

    def write(folder: Path, table: Table) -> Path:
        orc.write_table(table.arrow(), str(folder / "t.orc"), compression=compression)
        return folder / "t.orc"

    return write


def in_pyarrow(chance: random.Random) -> Callable[[Path, Table], Any]:
    """A table in memory, in several chunks, its texts in one of the forms that Arrow has for them."""
    kind, several = chance.choice(["string", "large_string", "string_view", "dictionary"]), chance.randint(1, 3)

    def write(folder: Path, table: Table) -> Any:
        parts = [table.arrow(k, several) for k in range(several)]
        return _with_texts(pa.concat_tables(parts), kind)

    return write


def _with_texts(table: pa.Table, kind: str) -> pa.Table:
    """A table whose columns of texts are of another type of Arrow, whatever their bytes are."""
    for place, field in enumerate(table.schema):
        if field.type == pa.string():
            column = table.column(place)
            if kind == "dictionary":
                column = pa.chunked_array([chunk.dictionary_encode() for chunk in column.chunks])
            elif kind != "string":
                column = column.cast(kind, safe=False)
            table = table.set_column(place, field.name, column)
    return table


def in_polars(chance: random.Random) -> Callable[[Path, Table], Any]:
    kind, again = chance.choice([polars.String, polars.Categorical]), chance.choice([True, False])

    def write(folder: Path, table: Table) -> Any:
        frame = polars.from_arrow(table.arrow(), rechunk=again)
        assert isinstance(frame, polars.DataFrame)
        return frame.with_columns(polars.col(polars.String).cast(kind))

    return write


def in_pandas(chance: random.Random) -> Callable[[Path, Table], Any]:
    """A frame of Arrow's types, or of pandas' own where these tell missing values from others; with any index."""
    own = {pa.string(): "str", pa.int64(): "Int64", pa.int32(): "Int32", pa.int8(): "Int8", pa.uint64(): "UInt64"}
    own |= {pa.bool_(): "boolean", pa.timestamp("us"): "datetime64[us]"}
    form, text = chance.choice(["arrow", "own"]), chance.choice(["str", "string", "category"])

    def write(folder: Path, table: Table) -> Any:
        frame = table.arrow().to_pandas(types_mapper=pandas.ArrowDtype)
        if form == "own":
            kinds = {f.name: text if own[f.type] == "str" else own[f.type] for f in table.schema if f.type in own}
            frame = frame.astype({name: "str" for name, kind in kinds.items() if kind == "category"}).astype(kinds)
        return frame.set_index(pandas.Index([0] * len(frame)))

    return write


PARQUET: tuple[Writer, ...] = (pyarrow, pyarrow, pyarrow, parts, by_polars, by_pandas, duckdb_parquet)
DATABASE: tuple[Writer, ...] = (database,)
CSV: tuple[Writer, ...] = (as_csv, as_csv)
WRITERS = (*PARQUET, *DATABASE, *CSV)


# ------------------------------------------------------------------------------------------------ questions

_LITERALS = {
    "f": ["0", "50", "200", "1.5", "-1", "1e308"],
    "f4": ["0", "1.5", "7"],
    "i": ["0", "1", "3", str(2**53 - 1)],
    "i1": ["0", "1", "127", "128"],
    "u": ["0", "1", "5"],
    "c": ["0", "1.5", "-1"],
    "site": ["0", "2", "9"],
    "t": ["''", "'?'", "'a'", "'zz'", "'é'", "'nan'", "'???'"],
    "w": ["'x'", "'y'", "'?'", f"'{'x' * 300}'"],
    "g": ["'a'", "''", "'?'"],
    "d": ["DATE '1970-01-01'", "DATE '2020-02-29'"],
    "m": ["TIMESTAMP '2020-02-29 12:30:00'", "TIMESTAMP '1970-01-01 00:00:00'"],
    "b": ["TRUE", "FALSE"],
}


def random_condition(chance: random.Random, columns: Sequence[str], deep: int = 2) -> str:
    if deep and chance.random() < 0.2:
        parts = [random_condition(chance, columns, deep - 1) for _ in range(2)]
        return f"({parts[0]}) {chance.choice(['AND', 'OR'])} ({parts[1]})"
    if chance.random() < 0.15:
        return f"NOT ({random_condition(chance, columns, 0)})"
    column = chance.choice(columns)
    some = [chance.choice(_LITERALS[column]) for _ in range(3)]
    forms = [
        f"{column} {chance.choice(['=', '<>'] if column == 'b' else ['=', '<>', '<', '<=', '>', '>='])} {some[0]}",
        f"{column} IS {chance.choice(['', 'NOT '])}NULL",
        f"{column} IS {chance.choice(['', 'NOT '])}DISTINCT FROM {some[0]}",
        f"{column} {chance.choice(['', 'NOT '])}IN ({', '.join(some)})",
        f"COALESCE({column}, {some[0]}) = {some[1]}",
    ]
    # where statistics of other rows are likeliest to decide: beyond the largest, the replacement sign, missing
    sharp = {"f": "f > 300", "f4": "f4 > 100", "t": "t = '?'", "w": "w IS NULL", "g": "g IS DISTINCT FROM 'a'"}
    if column in sharp and chance.random() < 0.3:
        return sharp[column]
    if column in ("t", "w", "g"):
        forms += [f"{column} LIKE {chance.choice(['a%', '%?%', '_', 'x%y', '%'])!r}", f"LOWER({column}) = {some[0]}"]
        forms += [f"{column} ILIKE 'A%'", f"TRIM({column}) = {some[0]}", f"TRY_CAST({column} AS DOUBLE) > 0"]
    elif column not in ("b", "d", "m"):
        forms += [f"{column} BETWEEN {some[0]} AND {some[1]}", f"TRY_CAST({column} AS VARCHAR) = 'nan'"]
        forms += [f"TRY_CAST({column} AS DOUBLE) < TRY_CAST({chance.choice(['f', 'i', 'f4'])} AS DOUBLE)"]
    return chance.choice(forms)


DOMAINS: list[dict[str, Any]] = [
    {},
    {},
    {"site": range(5)},
    {"site": [0, 3, None]},
    {"g": ["a", "", "?"]},
    {"g": ["a", "b", None]},
    {"t": ["?", "a", "", "nan"]},
    {"i": [0, 1, 2, -1]},
    {"f": [0, 2, 50, 200]},  # 1.5 is none of them
    {"b": ["true", "false"]},
    {"site": range(5), "g": ["a", "b", "?"]},
    {"site": range(40), "i1": range(3)},
]


def random_countings(chance: random.Random, several: int, key: bytes) -> list[Counting]:
    """Questions with conditions on three columns, so that some meet what is odd about a column."""
    columns = [chance.choice(["f", "f4", "t", "w"]), *chance.sample(sorted(_LITERALS), 2)]
    countings = [_random_counting(chance, columns, key) for _ in range(several)]
    return [_of_rows(one, place) for place, one in enumerate(countings)]


def _of_rows(counting: Counting, place: int) -> Counting:
    """Every third count of people is of up to four of their rows."""
    events = counting.unit != "row" and place % 3 == 0
    return replace(counting, max_rows=1 + place % 4) if events else counting


def _random_counting(chance: random.Random, columns: Sequence[str], key: bytes) -> Counting:
    unit = chance.choice(["row", "person"])
    domain = chance.choice(DOMAINS)
    counted = ["COUNT(*)"]
    for j in range(chance.choice([0, 0, 1, 2])):
        counted.append(f"COUNT_IF({random_condition(chance, columns, 1)}) AS n{j}")
    sql = f"SELECT {', '.join([*domain, *counted])} FROM t"
    if chance.random() < 0.8:
        sql += f" WHERE {random_condition(chance, columns)}"
    if domain:
        sql += f" GROUP BY {', '.join(domain)}"
    return counting(sql, domain, unit, chance.randint(1, 3), key)


def counting(sql: str, domain: dict[str, Any], unit: str, k: int, key: bytes) -> Counting:
    question = read_question(sql, unit=unit)
    groups = groups_from(domain, question.by) if domain else TOTAL
    return Counting(question, groups, unit, k, key)


def rows_of_every_kind() -> list[dict[str, Any]]:
    """Return 60 rows of seven people with a text, a decimal number, a truth value, a date and a whole number."""
    columns = zip(
        ["a", "A", "", None, "a ", "it's", "5", " 5 ", "é", "%"] * 6,
        [*map(decimal.Decimal, ("1.00", "1.50")), None, *map(decimal.Decimal, ("-2", "3"))] * 12,
        [True, False, None] * 20,
        [DAY(2020, 1, 1), None, DAY(1, 1, 1), DAY(9999, 12, 31)] * 15,
        [1, 2, None, -5, 2**40, 0] * 10,
        strict=True,
    )
    return [{"p": f"p{i % 7}", "t": t, "n": n, "b": b, "d": d, "q": q} for i, (t, n, b, d, q) in enumerate(columns)]
