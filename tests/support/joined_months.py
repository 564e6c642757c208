"""Two tables of the same people with a date in each row, joined by person and month, and what the reference counts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date

import numpy as np
import pyarrow as pa

from discreet.engines.base import Counting, Source
from discreet.engines.reference import Row, count_rows, read_value
from discreet.periods import Per
from discreet.questions.groups import TOTAL, groups_from
from discreet.questions.joins.clauses import RelatedTable
from discreet.questions.question import read_question
from discreet.questions.resolve.bind import bind_joins
from support import awkward
from support.joins import KEY, JoiningEngine, Pair

T = pa.schema({"person": pa.string(), "site": pa.int32(), "d": pa.date32()})
P = pa.schema({"id": pa.string(), "kind": pa.int32(), "paid": pa.date32()})
#: Ends of a year and of months, and no day.
DAYS = [date(2024, 12, 31), date(2025, 1, 1), date(2025, 1, 31), date(2025, 2, 1), date(2025, 3, 1), None]

ASKED = [
    ("SELECT COUNT(*) FROM {0}t JOIN {0}p ON t.person = p.id", 1, None, "month"),
    ("SELECT kind, COUNT(*) FROM {0}t LEFT JOIN {0}p ON t.person = p.id GROUP BY kind", 1, None, "month"),
    ("SELECT site, kind, COUNT(*), COUNT_IF(site = 1) AS n FROM {0}t JOIN {0}p ON t.person = p.id "
     "WHERE kind < 2 GROUP BY site, kind", 2, None, "quarter"),
    ("SELECT kind, COUNT(*) FROM {0}t JOIN {0}p ON t.person = p.id GROUP BY kind", 2, 2, "month"),
]  # fmt: skip
VALUES = {"kind": [0, 1, None], "site": range(3)}


def random_months(seed: int, engine: JoiningEngine) -> Pair:
    """Tables whose people, months and values meet often."""
    chance = random.Random(seed)
    rows = [
        [(f"p{chance.randrange(4)}".encode(), chance.randrange(3), chance.choice(DAYS)) for _ in range(25)]
        for _ in range(2)
    ]
    t, p = (awkward.Table.of(some, schema, engine.writers[0]) for some, schema in zip(rows, (T, P), strict=True))
    return Pair(t, p)


def countings_of(engine: JoiningEngine, source: Source) -> list[Counting]:
    """Questions of person-months of both tables."""
    made = []
    for sql, most_groups, most_rows, granularity in ASKED:
        kinds = [source.table(f"{engine.schema}{name}") for name in ("t", "p")]
        related = {f"{engine.schema}p": RelatedTable(f"{engine.schema}p", "id", kinds[1], Per(granularity, "paid"))}
        question = bind_joins(read_question(sql.format(engine.schema), unit="person"), {}, kinds[0], related, "person")
        groups = groups_from({name: VALUES[name] for name in question.by}, question.by) if question.by else TOTAL
        per = Per(granularity, "d")
        made.append(Counting(question, groups, "person", most_groups, KEY, max_rows=most_rows, per=per))
    return made


def pair_of(row: Row, unit: str, column: str, granularity: str) -> tuple[object, str] | None:
    """The person and the period of a row; None without a day."""
    day = read_value(row[column], "DATE")
    return None if day is None else (read_value(row[unit], "VARCHAR"), Per(granularity, column).period_of(day))


def expected(engine: JoiningEngine, pair: Pair, counting: Counting) -> np.ndarray:
    """The counts of rows that are joined where person and period are equal, by the plain reference."""
    assert counting.per is not None
    (joined,), granularity, rows = counting.question.tables, counting.per.granularity, []
    for row in engine.plain_rows(pair.t):
        unit = pair_of(row, "person", "d", granularity)
        theirs = [
            other for other in engine.plain_rows(pair.p)
            if unit is not None and pair_of(other, "id", "paid", granularity) == unit
        ]  # fmt: skip
        nobody = [dict.fromkeys(P.names)] if joined.join.outer else []
        rows += [{**row, **other} for other in theirs or nobody]
    return count_rows(rows, counting)


def counts(engine: JoiningEngine, pair: Pair, folder: object) -> list[tuple[Counting, np.ndarray]]:
    """The questions and their counts by an engine."""
    source = engine.open(folder, pair)  # type: ignore[arg-type]
    countings = countings_of(engine, source)
    return list(zip(countings, source.count(countings), strict=True))


def differences(engine: JoiningEngine, seed: int, folder: object) -> list[str]:
    """Where an engine has other counts than the reference."""
    pair = random_months(seed, engine)
    return [
        f"seed {seed}: {counting.question.text}" for counting, found in counts(engine, pair, folder)
        if (found != expected(engine, pair, counting)).any()
    ]  # fmt: skip


def places_of(engine: JoiningEngine, pair: Pair, unit: tuple[object, str]) -> list[set[int]]:
    """The places of one person's rows of one month in both tables."""
    return [
        {place for (place, _), row in zip(table.rows, engine.plain_rows(table), strict=True)
         if pair_of(row, *columns, "month") == unit}
        for table, columns in ((pair.t, ("person", "d")), (pair.p, ("id", "paid")))
    ]  # fmt: skip


def violations(engine: JoiningEngine, seed: int, folders: Sequence[object]) -> list[str]:
    """Where one month less of one person, in both tables at once, moves anything but what it counts alone."""
    pair = random_months(seed, engine)
    units = [pair_of(row, "person", "d", "month") for row in engine.plain_rows(pair.t)]
    unit = next(one for one in units if one is not None)
    t, p = places_of(engine, pair, unit)
    pairs = (pair, Pair(pair.t.without(t), pair.p.without(p)), Pair(pair.t.only(t), pair.p.only(p)))
    found = []
    answers = (counts(engine, one, folder) for one, folder in zip(pairs, folders, strict=True))
    for (counting, whole), (_, rest), (_, alone) in zip(*answers, strict=True):
        if counting.per is None or counting.per.granularity != "month":
            continue
        moved = whole - rest
        if (moved != alone).any() or np.abs(moved).max() > (counting.max_rows or 1):
            found.append(f"seed {seed}: {counting.question.text}")
    return found
