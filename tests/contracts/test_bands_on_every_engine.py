"""Bands and the rest on every engine: the counts of the reference for every kind of column, and every way to choose."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.banding import BandSql
from discreet.engines.base import Counting
from discreet.engines.reference import Row, count_rows
from discreet.engines.sources import open_source
from discreet.errors import Unsupported
from discreet.questions.bands import BAND, DeclaredBands, read_bands
from discreet.questions.domains import Values, domain_values
from discreet.questions.groups import Groups
from discreet.questions.question import read_question
from support import independence
from support.engines import EMBEDDED, ENGINES, KEY, ON_SPARK, Engine
from support.postgres_server import INSTALLED, server

INF, NAN = float("inf"), float("nan")

#: Columns of every kind, with what lies on, beside and far away from the edges.
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int32(), [17, 18, 29, 30, 64, 65, -1, 0, 2**31 - 1, None]),
    "b": (pa.int64(), [17, 18, 2**53 + 1, -(2**63), 2**63 - 1, 30, 64, 65, 0, None]),
    "f": (pa.float64(), [17.999999999999996, 18.0, -0.0, INF, -INF, NAN, 29.999, 30.0, 1e308, None]),
    "m": (pa.decimal128(10, 2), [*(Decimal(c) / 100 for c in (1799, 1800, 2999, 3000, 6499, 6500, -1, 0, 150)), None]),
    "d": (pa.date32(), [date(2023, 12, 31), date(2024, 1, 1), date(2024, 1, 31), date(2024, 2, 1), date(2024, 2, 29),
                        date(2024, 3, 1), date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 15), None]),
    "t": (pa.timestamp("us"), [datetime(2023, 12, 31, 23, 59, 59, 999999), datetime(2024, 1, 1),
                               datetime(2024, 1, 31, 23, 59),
                               datetime(2024, 2, 1, 0, 0, 1), datetime(2024, 2, 29, 12), datetime(2024, 3, 1),
                               datetime(1900, 1, 1), datetime(2100, 1, 1), datetime(2024, 2, 15), None]),
    "s": (pa.string(), ["Female", "female", "Male", "", "(all others)", "*", "NULL", "Male ", "Mâle", None]),
    "n": (pa.string(), ["18", "17.5", "many", "64", "65", "-3", "1e1", "", " 30 ", None]),
}  # fmt: skip

NUMBERS = ["18,30,45,65", "..18,30,65..", "18,30,NULL,*", "..0,*", "0..100:20", "18,30,NULL", "17.5,29.5", "30..,*"]
DATES = ["month:2024-01..2024-02", "2024-01-31,2024-02-29", "..2024-01-01,2024-03-01..", "month:2024-02,*",
         "quarter:2024-Q1,NULL", "week:2024-01-29..2024-02-26,NULL,*", "year:2023..2024", "day:2024-02-29"]  # fmt: skip
TEXTS = ["Female,Male,*", "Female,NULL,*", "Male,'(none)',*"]
WHOLE = ["18,30,*", "17..19,NULL,*", "18,64,0,*"]

SCHEMA = pa.schema({"p": pa.string(), **{name: kind for name, (kind, _) in COLUMNS.items()}})


def rows() -> list[tuple[Any, ...]]:
    """Each value of each column, in several combinations; people with one to five rows."""
    pools = list(enumerate(values for _, values in COLUMNS.values()))
    return [(f"p{k % 13}" if k % 11 else None, *(pool[(k * (j + 1) + j) % 10] for j, pool in pools)) for k in range(60)]


def groups_of(**columns: Values | DeclaredBands) -> Groups:
    kinds, values, bands = [], [], []
    for one in columns.values():
        banded = isinstance(one, DeclaredBands)
        values.append(one.values() if banded else one)
        bands.append(one.bands if banded else None)
        kinds.append(BAND if banded else "integer" if isinstance(one[0], int) else "text")
    return Groups(tuple(columns), tuple(kinds), tuple(values), None, frozenset(), tuple(bands) if any(bands) else ())


def counting_of(
    unit: str, k: int, measures: str = "COUNT(*)", zeros: frozenset[int] = frozenset(), **columns: Any
) -> Counting:
    names = ", ".join(columns)
    question = read_question(f"SELECT {names}, {measures} FROM t GROUP BY {names}", unit=unit)
    groups = groups_of(**columns)
    groups = Groups(groups.columns, groups.kinds, groups.values, None, zeros, groups.bands)
    return Counting(question, groups, unit, k, KEY)


def asked() -> list[Counting]:
    made = []
    for column in "ibfmn":
        made += [counting_of("row", 1, **{column: read_bands(column, body)}) for body in NUMBERS]
    for column in "dt":
        made += [counting_of("row", 1, **{column: read_bands(column, body)}) for body in DATES]
    made += [counting_of("row", 1, s=domain_values("s", body)) for body in TEXTS]
    made += [counting_of("row", 1, i=domain_values("i", body)) for body in WHOLE]
    both = {"i": read_bands("i", "0,18,30,45,*"), "s": domain_values("s", "Female,Male,NULL,*")}
    for measures in ("COUNT(*)", "COUNT(*), COUNT_IF(b > 20) AS x", "COUNT_IF(b > 20) AS x, COUNT_IF(i < 30) AS y"):
        made += [counting_of(unit, k, measures, **both) for unit, k in (("row", 1), ("p", 1), ("p", 2), ("p", 16))]
    zeros = frozenset({0, 5, 11})
    made += [counting_of(unit, 1, "COUNT(*)", zeros, **both) for unit in ("row", "p")]
    made += [counting_of("p", k, d=read_bands("d", "day:2024-01-01..2024-05-30,*")) for k in (1, 3)]  # beyond a word
    made += [counting_of("p", k, s=domain_values("s", "Female,Male,*")) for k in (1, 2)]
    return made


@pytest.mark.parametrize("engine", EMBEDDED, ids=str)
def test_every_kind_of_column_has_the_counts_of_the_reference(engine: Engine, tmp_path: Path) -> None:
    compare(engine, asked(), tmp_path)


@pytest.mark.full
@pytest.mark.xdist_group("spark")
def test_spark_has_more_counts_of_the_reference(tmp_path: Path) -> None:
    for number, engine in enumerate(ON_SPARK):
        (tmp_path / str(number)).mkdir()
        compare(engine, asked()[number::5], tmp_path / str(number))


def compare(engine: Engine, chosen: list[Counting], tmp_path: Path) -> None:
    source = engine.store(tmp_path, rows(), SCHEMA)
    plain: list[Row] = [
        {name: engine.holds(value, kind) for name, value, kind in zip(SCHEMA.names, row, SCHEMA.types, strict=True)}
        for row in rows()
    ]
    kinds = source.table(engine.table)
    source.rehearse(list(map(engine.asked, chosen if engine in EMBEDDED else chosen[:1])))
    counted = source.count(list(map(engine.asked, chosen)))
    filled = 0
    for counting, counts in zip(chosen, counted, strict=True):
        np.testing.assert_array_equal(counts, count_rows(plain, counting), f"{counting.groups.values} of {kinds}")
        filled += bool(counts.sum())
    assert filled > 0.9 * len(chosen)


#: Bands and stars for columns of tables that were made to be awkward: NaN, infinities, the ends of every type.
NUMBERED = ("f", "f4", "i", "i1", "u", "c", "site")
AWKWARD_BODIES = ["0,1,2,100", "..0,50..", "-1,0.5,200,NULL,*", "..-5,*", "1..,NULL"]


def awkward_countings(chance: random.Random, several: int) -> list[Counting]:
    made = []
    for _ in range(several):
        number, unit = chance.choice(NUMBERED), chance.choice(["row", "person"])
        days, text = chance.choice("dm"), chance.choice(["a,b,*", "'',NULL,*", "a,'?'"])
        columns: dict[str, Any] = {number: read_bands(number, chance.choice(AWKWARD_BODIES))}
        if chance.random() < 0.5:
            columns[days] = read_bands(
                days, chance.choice(["year:2020,*", "..1970-01-02,2020-02-29..", "month:2020-02"])
            )
        if chance.random() < 0.5:
            columns["g"] = domain_values("g", text)
        measures = chance.choice(
            ["COUNT(*)", "COUNT(*), COUNT_IF(site > 1) AS a", "COUNT_IF(site > 1) AS a, COUNT_IF(b) AS b2"]
        )
        made.append(counting_of(unit, chance.randint(1, 2), measures, **columns))
    return made


def awkward_differences(engine: Engine, seeds: Sequence[int], several: int) -> list[str]:
    """Where awkward tables have other counts than the reference, or one unit moves more than its own contribution."""
    found, compared = [], 0
    for seed in seeds:
        chance = random.Random(seed)
        table = engine.random_table(chance, (5, 30))
        countings = engine.answered(table, awkward_countings(chance, several))
        whole, rows = engine.counts(table, countings), engine.plain_rows(table)
        for counting, counts in zip(countings, whole, strict=True):
            with suppress(Unsupported):  # engines may differ there
                same = (counts == count_rows(rows, counting)).all()
                compared += 1
                if not same:
                    found.append(f"seed {seed}: {counting.question.text}, {counting.groups.values}, {counting.unit}")
        found += independence.violations(chance, table, countings, engine.counts, whole)
    assert compared > 0
    return found


@pytest.mark.parametrize("engine", EMBEDDED, ids=str)
def test_no_value_of_an_awkward_table_fails_or_moves_too_much(engine: Engine) -> None:
    assert awkward_differences(engine, [1], 8) == []


@pytest.mark.full
@pytest.mark.parametrize("engine", EMBEDDED, ids=str)
def test_no_value_of_several_awkward_tables_fails_or_moves_too_much(engine: Engine) -> None:
    assert awkward_differences(engine, range(10, 12), 15) == []


@pytest.mark.full
@pytest.mark.xdist_group("spark")
def test_no_value_of_an_awkward_table_fails_on_spark() -> None:
    assert awkward_differences(ON_SPARK[0], [10], 3) == []


def test_the_suite_notices_bands_that_are_closed_on_the_right(tmp_path: Path, monkeypatch) -> None:
    written = BandSql.place
    monkeypatch.setattr(BandSql, "place", lambda self, x: written(self, x).replace(" < ", " <= "))
    with pytest.raises(AssertionError):
        compare(ENGINES[1], asked(), tmp_path)


def test_the_rest_holds_whatever_is_not_declared() -> None:
    """Worked by hand: ten values of s, of which 'Female' and 'Male' are declared."""
    plain: list[Row] = [{"s": value} for value in COLUMNS["s"][1]]
    counting = counting_of("row", 1, s=domain_values("s", "Female,Male,*"))
    assert count_rows(plain, counting).tolist() == [[1], [1], [8]]
    apart = counting_of("row", 1, s=domain_values("s", "Female,Male,NULL,*"))
    assert count_rows(plain, apart).tolist() == [[1], [1], [1], [7]]


def test_a_structural_zero_does_not_fall_into_the_rest() -> None:
    """Female at 18-29 cannot exist: such a row vanishes, and is neither (all others) nor in another band."""
    both = {"i": read_bands("i", "18,30,*"), "s": domain_values("s", "Female,*")}
    rows_of = [{"i": 20, "s": "Female"}, {"i": 20, "s": "x"}, {"i": 99, "s": "Female"}]
    assert count_rows(rows_of, counting_of("row", 1, zeros=frozenset({0}), **both))[:, 0].tolist() == [0, 1, 1, 0]
    assert count_rows(rows_of, counting_of("row", 1, **both))[:, 0].tolist() == [1, 1, 1, 0]


def test_what_is_no_number_is_in_no_band() -> None:
    plain: list[Row] = [{"f": value} for value in COLUMNS["f"][1]]
    everything = counting_of("row", 1, f=read_bands("f", "..18,30.."))
    assert count_rows(plain, everything).tolist() == [[2], [2], [2]]  # not NaN, not the infinities, not NULL


ENDS = (
    "INSERT INTO t VALUES ('Infinity', 'infinity', 'infinity'), ('-Infinity', '-infinity', '-infinity'), "
    "('NaN', '5874897-12-31', '290000-12-31 23:59:59'), (NULL, NULL, NULL), (-0.0, '0044-03-15 BC', '0044-03-15 BC'), "
    "(18, '2024-01-01', '2024-01-01 00:00:00'), (1e308, '9999-12-31', '9999-12-31 23:59:59'), "
    "(-1e308, '0001-01-01', '0001-01-01 00:00:00')"
)


@pytest.mark.parametrize("engine", ["PostgreSQL", "DuckDB"])
def test_the_ends_of_every_type_are_in_no_open_band(engine: str, tmp_path: Path) -> None:
    """Infinities, NaN and days that are no day of the years 1 to 9999: few are left."""
    if engine == "PostgreSQL":
        place = server(max(INSTALLED))
        made = place.database("CREATE TABLE t (f float8, d date, m timestamp)", ENDS)
        source, table = open_source(place.address(made)), "public.t"
    else:
        with duckdb.connect(str(tmp_path / "study.duckdb")) as base:
            base.execute("CREATE TABLE t (f DOUBLE, d DATE, m TIMESTAMP)")
            base.execute(ENDS.replace("0044-03-15 BC", "0044-03-15 (BC)"))
        source, table = open_source(tmp_path / "study.duckdb"), "t"
    for column, edge, below in (("f", "18", 2), ("d", "2024-01-01", 1), ("m", "2024-01-01", 1)):
        asked = counting_of("row", 1, **{column: read_bands(column, f"..{edge}..,NULL,*")})
        asked = replace(asked, question=replace(asked.question, table=table, qualified="." in table))
        source.rehearse([asked])
        assert source.count([asked])[0][:, 0].tolist() == [below, 2, 1, 8 - 3 - below], column
