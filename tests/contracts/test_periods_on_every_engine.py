"""Periods on every engine: one month of one person counts for itself, by the row's own date alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines import grouping
from discreet.engines.base import Contributing, Counting, Discovering
from discreet.engines.dialect import Dialect
from discreet.engines.duckdb import counting as duckdb_counting
from discreet.engines.duckdb.dialect import DUCKDB
from discreet.engines.reference import count_rows, discover_rows, read_value
from discreet.errors import InvalidInput, Unsupported
from discreet.periods import GRANULARITIES, Per
from discreet.questions.groups import TOTAL, groups_from
from discreet.questions.question import read_question
from support import awkward
from support.engines import EMBEDDED, KEY, SMALL, Engine, every_engine
from support.refusals import refused
from support.tiers import batches

#: Columns that date a row: days, moments, and texts that are days, moments or neither.
SCHEMA = pa.schema(
    {
        "person": pa.string(), "number": pa.int64(), "d": pa.date32(), "m": pa.timestamp("us"), "s": pa.string(),
        "site": pa.int32(), "x": pa.int32(),
    }
)  # fmt: skip

#: Ends of years and weeks, the first and the last year that have periods, and days without one.
DAYS = [
    date(2024, 12, 29), date(2024, 12, 30), date(2025, 1, 1), date(2025, 1, 31), date(2025, 2, 1), date(2025, 3, 31),
    date(2025, 4, 1), date(1, 1, 1), date(9999, 12, 31), None,
]  # fmt: skip


def _row(i: int) -> tuple[Any, ...]:
    day = DAYS[(i * i + i // 3) % len(DAYS)]
    moment = None if day is None else datetime(day.year, day.month, day.day) + timedelta(hours=23, minutes=59) * (i % 2)
    text = [str(day), str(moment), "soon", None][i % 4 if day else 2 + i % 2]
    return (None if i % 11 == 0 else f"p{i % 4}", i % 5, day, moment, text, (i * 7 + i // 5) % 6, i % 3)


ROWS = [_row(i) for i in range(150)]


def asked(per: Per | None, unit: str = "person", k: int = 1, most: int | None = None, conditions: int = 1) -> Counting:
    counted = ["COUNT(*)", "COUNT_IF(x = 1) AS a", "COUNT_IF(x <> 1) AS b"][: 1 + conditions]
    question = read_question(f"SELECT site, {', '.join(counted)} FROM t WHERE x < 9 GROUP BY site", unit=unit)
    return Counting(question, groups_from({"site": range(5)}, question.by), unit, k, KEY, max_rows=most, per=per)


def plain(rows: Sequence[tuple[object, ...]]) -> list[dict[str, Any]]:
    return [dict(zip(SCHEMA.names, row, strict=True)) for row in rows]


MANY = [
    *(asked(Per(one, column)) for one in GRANULARITIES for column in ("d", "m", "s")),
    *(asked(Per("month", "d"), "number", k, most, c) for k in (1, 2, 9) for most in (None, 2) for c in (0, 2)),
]


def differences(engine: Engine, folder: Path, countings: Sequence[Counting] = MANY) -> list[str]:
    source = engine.store(folder, ROWS, SCHEMA)
    pairs = zip(countings, source.count(list(map(engine.asked, countings))), strict=True)
    return [f"{one.per} {one.unit}" for one, counts in pairs if (counts != count_rows(plain(ROWS), one)).any()]


@every_engine
def test_person_months_are_counted_by_the_rule(engine: Engine, tmp_path: Path) -> None:
    assert differences(engine, tmp_path) == []


def test_a_person_is_counted_once_in_each_month_and_a_row_without_a_month_never() -> None:
    rows = [("ann", "2025-03-01", 1), ("ann", "2025-03-31", 2), ("ann", "2025-04-01", 1), ("ann", "soon", 1)]
    rows += [("bob", None, 1), (None, "2025-03-01", 1)]  # type: ignore[list-item]
    named = [dict(zip(("person", "s", "site"), row, strict=True)) for row in rows]
    question = read_question("SELECT COUNT(*) FROM t", unit="person")
    counting = Counting(question, TOTAL, "person", 1, KEY)
    months = [count_rows(named, replace(counting, per=Per(one, "s"))).tolist() for one in ("month", "year")]
    assert (months, count_rows(named, counting).tolist()) == ([[[2]], [[1]]], [[2]])


@every_engine
def test_groups_are_discovered_by_person_and_month(engine: Engine, tmp_path: Path) -> None:
    question = read_question("SELECT site, COUNT(*), COUNT_IF(x = 1) AS a FROM t GROUP BY site", unit="person")
    counting = Discovering(question, TOTAL, "person", 1, KEY, ("site",), ("integer",), per=Per("month", "d"))
    groups = engine.store(tmp_path, ROWS, SCHEMA).discover(engine.asked(counting))  # type: ignore[arg-type]
    found = {(0, int(site)): list(map(int, row)) for site, row in zip(groups.labels[0], groups.counts, strict=True)}
    assert found == discover_rows(plain(ROWS), counting)
    assert found != discover_rows(plain(ROWS), replace(counting, per=None))


@every_engine
def test_contributions_are_those_of_person_months(engine: Engine, tmp_path: Path) -> None:
    question = read_question("SELECT site, COUNT(*) FROM t GROUP BY site", unit="person")
    groups = groups_from({"site": range(5)}, question.by)
    many = [Contributing(question, groups, "person", 1, KEY, of=of, top=3, per=Per("month", "d")) for of in
            ("groups", "rows")]  # fmt: skip
    source = engine.store(tmp_path, ROWS, SCHEMA)
    for counting, counts in zip(many, source.count(list(map(engine.asked, many))), strict=True):
        np.testing.assert_array_equal(counts, count_rows(plain(ROWS), counting))


@every_engine
def test_a_column_without_days_is_refused_before_a_row_is_read(engine: Engine, tmp_path: Path) -> None:
    if "CSV" in str(engine):
        return  # all of CSV is text
    source = engine.store(tmp_path, ROWS, SCHEMA)
    with refused(InvalidInput, argument="per"):
        source.rehearse([engine.asked(asked(Per("month", "number")))])
    source.rehearse([engine.asked(one) for one in MANY[:3]])


def test_a_row_as_the_unit_has_no_period() -> None:
    with refused(InvalidInput, argument="per"):
        asked(Per("month", "d"), "row")


# ------------------------------------------------------------------------------------------------ neighbours


def violations(engine: Engine, seeds: Sequence[int]) -> list[str]:
    """Where the rows of one person in one month change anything but what they count alone."""
    found = []
    for seed in seeds:
        chance = random.Random(seed)
        table = engine.random_table(chance, SMALL)
        people = [one for one in awkward.random_countings(chance, 12, KEY) if one.unit == "person"]
        per = [Per(chance.choice(sorted(GRANULARITIES)), chance.choice(("d", "m"))) for _ in people]
        asked_of_months = [replace(one, per=each) for one, each in zip(people, per, strict=True)]
        countings = engine.answered(table, asked_of_months)
        plain_rows = engine.plain_rows(table)
        for counting in countings[:4]:
            place = chance.randrange(len(plain_rows))
            theirs = {
                other for (other, _), row in zip(table.rows, plain_rows, strict=True)
                if unit_of(row, counting) == unit_of(plain_rows[place], counting)
            }  # fmt: skip
            whole, rest, alone = (
                engine.counts(some, [counting])[0] for some in (table, table.without(theirs), table.only(theirs))
            )
            moved = whole - rest
            if (moved != alone).any() or np.abs(moved).max(initial=0) > (counting.max_rows or 1) or (
                (moved != 0).any(axis=1).sum() > counting.max_groups
            ):  # fmt: skip
                found.append(f"seed {seed}: {counting.question.text}, {counting.per}")
            try:
                if (whole != count_rows(plain_rows, counting)).any():
                    found.append(f"seed {seed}: not the reference: {counting.question.text}, {counting.per}")
            except Unsupported:  # engines may differ here, such as on the text of a float
                continue
    return found


def unit_of(row: Any, counting: Counting) -> tuple[object, ...]:
    assert counting.per is not None
    day = read_value(row[counting.per.column], "DATE")
    return (row["person"], None if day is None else counting.per.period_of(day))


@every_engine
@pytest.mark.parametrize("batch", batches(fast=1, full=2, long=20))
def test_one_month_of_one_person_counts_for_itself(engine: Engine, batch: int) -> None:
    assert violations(engine, [batch]) == []


# ------------------------------------------------------------------------------------------------ planted faults


def of_the_person_alone(counting, kinds, dialect):
    """The fault: people are bounded as a whole, so that one month displaces another."""
    unit = grouping_unit_sql(counting, kinds, dialect)
    return replace(unit, sql=dialect.reading(counting.unit, "VARCHAR", kinds[counting.unit]))


def of_another_row(self, column, kind, granularity):
    """The fault: every row gets the month of the first row."""
    own = dialect_period(self, column, kind, granularity)
    return f"CASE WHEN {own} IS NOT NULL THEN min({own}) OVER () END"


grouping_unit_sql, dialect_period = grouping.unit_sql, Dialect.period


@pytest.mark.parametrize("fault", ["person", "row"])
def test_a_planted_fault_is_noticed(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault == "person":
        monkeypatch.setattr(duckdb_counting, "unit_sql", of_the_person_alone)
    else:
        monkeypatch.setattr(type(DUCKDB), "period", of_another_row, raising=False)
    of_months = [one for one in MANY if one.per is not None and one.per.granularity == "month" and one.max_rows is None]
    engine = next(one for one in EMBEDDED if "Parquet" in str(one))
    assert len(differences(engine, tmp_path, of_months)) > len(of_months) // 2
