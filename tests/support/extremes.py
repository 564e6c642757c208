"""The ends of every type that a table can store, and questions that read such a column in every way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from discreet.engines.base import Counting, Discovering
from discreet.questions.bands import BAND, read_bands
from discreet.questions.groups import TOTAL, Groups, groups_from
from discreet.questions.question import read_question
from support.awkward import INF, NAN

_LEAST, _MOST = -(2**63), 2**63 - 1
#: The first and last days and moments that some engine can write, and those beside them, in microseconds and days.
_MOMENTS = [_LEAST, _LEAST + 1, _LEAST + 2, -9223372022400000001, -9223372022400000000, _MOST - 1, _MOST]
_YEAR_ONE, _YEAR_9999 = -62_135_596_800, 253_402_300_799
_DAYS = [-(2**31), 2**31 - 1, -106_751_992, 106_751_991, -719_162, -719_163, 2_932_896]
_DAY_IN_SECONDS = 86_400


def _moments(per_second: int) -> list[int]:
    scaled = [moment * per_second // 10**6 + more for moment in _MOMENTS[3:] for more in (-1, 0, 1)]
    years = [second * per_second for second in (_YEAR_ONE, _YEAR_9999)] if per_second < 10**9 else []
    return sorted({value for value in (*_MOMENTS, *scaled, *years, -1) if _LEAST <= value <= _MOST})


def _times(per_second: int, largest: int) -> list[int]:
    return [-largest - 1, -1, 0, _DAY_IN_SECONDS * per_second, _DAY_IN_SECONDS * per_second + 1, largest]


TEXTS = [
    "", " ", "9" * 400, "-" + "9" * 400, "0." + "0" * 400 + "1", "1e999999", "-1e400", "1e-99999999999", "nan", "inf",
    "-infinity", "infinity", "294247-01-10 04:00:54.775807", "290309-12-22 (BC) 00:00:00", "5881580-07-11", "epoch",
    "99999999999999-01-01", "0000-00-00", "2020-02-30", "2020-01-01 00:00:00+99:99", "0x7fffffffffffffffff", "1_000",
    "9223372036854775808", "-9223372036854775809", "\ufffd", "🙂" * 20_000, "%", "\\", "'",
]  # fmt: skip

#: What a column of a type holds: days, moments and times are the numbers that are stored for them.
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    **{
        f"{'u' * (not signed)}int{bits}": (
            getattr(pa, f"{'u' * (not signed)}int{bits}")(),
            [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] if signed else [0, 2**bits - 1],
        )
        for bits in (8, 16, 32, 64)
        for signed in (True, False)
    },
    "float32": (pa.float32(), [NAN, INF, -INF, -0.0, 3.4028234663852886e38, 1e-45]),
    "float64": (pa.float64(), [NAN, INF, -INF, -0.0, 1.7976931348623157e308, -1.7976931348623157e308, 5e-324]),
    "bool": (pa.bool_(), [True, False]),
    "text": (pa.string(), [text.encode() for text in TEXTS]),
    "whole decimal": (pa.decimal128(38, 0), [Decimal("9" * 38), Decimal("-" + "9" * 38), Decimal(2**63), Decimal(0)]),
    "fraction": (pa.decimal128(38, 38), [Decimal("0." + "9" * 38), Decimal("-0." + "9" * 38), Decimal("1E-38")]),
    "money": (pa.decimal128(10, 2), [Decimal("99999999.99"), Decimal("-99999999.99"), Decimal("0.50")]),
    "day": (pa.date32(), _DAYS),
    "s": (pa.timestamp("s"), _moments(1)),
    "ms": (pa.timestamp("ms"), _moments(1000)),
    "us": (pa.timestamp("us"), _moments(10**6)),
    "ns": (pa.timestamp("ns"), _moments(10**9)),
    "ms in UTC": (pa.timestamp("ms", "UTC"), _moments(1000)),
    "us in UTC": (pa.timestamp("us", "UTC"), _moments(10**6)),
    "ns in UTC": (pa.timestamp("ns", "UTC"), _moments(10**9)),
    "time ms": (pa.time32("ms"), _times(1000, 2**31 - 1)),
    "time us": (pa.time64("us"), _times(10**6, _MOST)),
    "time ns": (pa.time64("ns"), _times(10**9, _MOST)),
}

#: Types of PostgreSQL, and their ends in its words.
POSTGRES = {
    "smallint": ["-32768", "32767"], "integer": ["-2147483648", "2147483647"], "bigint": [str(_LEAST), str(_MOST)],
    "real": ["NaN", "Infinity", "-Infinity", "3.4e38", "1e-45", "-0"],
    "double precision": ["NaN", "Infinity", "-Infinity", "1.7e308", "5e-324", "-0"],
    "numeric": ["NaN", "Infinity", "-Infinity", "9" * 131_072, "-" + "9" * 131_072, "0." + "0" * 16_382 + "1"],
    "numeric(38,2)": ["NaN", "9" * 36 + ".99"], "numeric(1000,500)": ["9" * 500 + "." + "9" * 500],
    "boolean": ["true", "false"], "text": [*TEXTS, "9" * 5001, "." + "0" * 4990 + "1e-9999", "9" * 4990 + "e9999"],
    "varchar(5)": ["", "abcde"], "char(3)": ["", "abc"], "uuid": ["ffffffff-ffff-ffff-ffff-ffffffffffff"],
    "date": ["infinity", "-infinity", "5874897-12-31", "4713-01-01 BC", "0001-01-01", "294276-12-31", "294277-01-01"],
    "timestamp": ["infinity", "-infinity", "294276-12-31 23:59:59.999999", "4713-01-01 BC", "0001-01-01"],
    "timestamptz": ["infinity", "-infinity", "294276-12-31 23:59:59.999999+00", "4713-01-01 00:00:00+00 BC"],
}  # fmt: skip

_LITERALS = {
    "DOUBLE": "1", "BIGINT": "1", "INTEGER": "1", "BOOLEAN": "TRUE", "DATE": "DATE '2020-01-01'",
    "TIMESTAMP": "TIMESTAMP '2020-01-01 12:30:00'", "VARCHAR": "'a'",
}  # fmt: skip


def conditions(column: str, as_text: bool) -> list[str]:
    """Tests that read a column as every type; ``as_text``: also as text, and through it."""
    tests = [f"{column} IS NULL"]
    for type_, literal in _LITERALS.items():
        if type_ != "VARCHAR" or as_text:
            tests += [f"TRY_CAST({column} AS {type_}) = {literal}", f"TRY_CAST({column} AS {type_}) IS NULL"]
            tests += [f"{column} >= {literal}"] if type_ != "BOOLEAN" else []
    if as_text:
        tests += [f"TRIM(LOWER({column})) = 'a'", f"UPPER({column}) LIKE '%A%'", f"{column} ILIKE '_'"]
        tests.append(f"TRY_CAST(TRIM({column}) AS TIMESTAMP) IS NULL")
    return tests


def countings(column: str, key: bytes, as_text: bool = True) -> Iterator[Counting]:
    """Yield questions about a column of ``t``: conditions, groups and bands, of rows and of people."""
    tests = ", ".join(f"COUNT_IF({test}) AS n{place}" for place, test in enumerate(conditions(column, as_text)))
    yield Counting(read_question(f"SELECT {tests} FROM t", unit="row"), TOTAL, "row", 1, key)
    texts: tuple[Sequence[Any], ...] = (["a", "", None], [f"x{i}" for i in range(1200)]) if as_text else ()
    for unit in ("row", "person"):
        question = read_question(f"SELECT {column}, COUNT(*) FROM t GROUP BY {column}", unit=unit)
        for domain in (*texts, range(4), [1, 7, None]):
            yield Counting(question, groups_from({column: domain}, question.by), unit, 1, key)
        for body in ("..0,1..,NULL,*", "..2020-01-01,2021-01-01..,NULL,*"):
            declared = read_bands(column, body)
            groups = Groups((column,), (BAND,), (declared.values(),), None, frozenset(), (declared.bands,))
            yield Counting(question, groups, unit, 1, key)


def discoverings(column: str, key: bytes, as_text: bool = True) -> Iterator[Discovering]:
    """Yield questions whose groups are the values of a column."""
    for unit, kind in (("row", "text"), ("person", "integer")):
        if kind == "integer" or as_text:
            question = read_question(f"SELECT {column}, COUNT(*) FROM t GROUP BY {column}", unit=unit)
            yield Discovering(question, TOTAL, unit, 2, key, (column,), (kind,))


def units(column: str, key: bytes) -> list[Counting]:
    """Return questions in which a column names the person."""
    total = read_question("SELECT COUNT(*) FROM t", unit=column)
    by_site = read_question("SELECT site, COUNT(*), COUNT_IF(site = 1) AS n FROM t GROUP BY site", unit=column)
    return [
        Counting(total, TOTAL, column, 1, key),
        Counting(by_site, groups_from({"site": range(3)}, by_site.by), column, 1, key),
    ]
