"""Many tables at once on every engine: one record of each person, chosen by the same rule."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.margins.counting import CountingTables
from discreet.engines.margins.reference import count_tables_of_rows
from discreet.questions.domains import REST
from discreet.questions.groups import ColumnValues
from discreet.questions.question import read_question
from support.engines import KEY, Engine, every_engine

SCHEMA = pa.schema({"person": pa.string(), "number": pa.int64(), "sex": pa.string(), "site": pa.int32(),
                    "job": pa.string(), "x": pa.int32()})  # fmt: skip

ROWS: list[tuple[Any, ...]] = [
    (
        None if i % 13 == 0 else f"p{i % 17}", i % 7, ["f", "m", "x"][i * i % 3 if i % 5 else 0], (i * 7 + i // 5) % 6,
        ["cook", "smith", None, "baker"][(i // 3) % 4], i % 4,
    )
    for i in range(160)
]  # fmt: skip

VALUES = ColumnValues(
    ("sex", "site", "job"), ("text", "integer", "text"), (("f", "m"), range(1, 5), ("cook", None, REST))
)

SETS = ((), (1,), (0, 1), (0, 2), (1, 2), (0, 1, 2))


def asked(unit: str, sets: Sequence[tuple[int, ...]] = SETS) -> CountingTables:
    question = read_question("SELECT sex, site, job, COUNT(*) FROM t WHERE x < 3 GROUP BY sex, site, job", unit=unit)
    return CountingTables(question, VALUES, unit, 1, KEY, sets=tuple(sets))


def differences(engine: Engine, folder: Path, rows: list[tuple[Any, ...]] = ROWS) -> list[str]:
    countings = [asked(unit) for unit in ("person", "number", "row")]
    source = engine.store(folder, rows, SCHEMA)
    plain = [dict(zip(SCHEMA.names, row, strict=True)) for row in ROWS]
    pairs = zip(countings, source.count(list(map(engine.asked, countings))), strict=True)
    return [one.unit for one, counts in pairs if (counts != count_tables_of_rows(plain, one)).any()]


@every_engine
def test_many_tables_are_counted_by_the_rule(engine: Engine, tmp_path: Path) -> None:
    assert differences(engine, tmp_path) == []


@pytest.mark.parametrize("row", [("p1", 1, "f", 1, "cook", 1)])
def test_a_row_more_is_noticed(row: tuple[Any, ...], tmp_path: Path) -> None:
    from support.engines import EMBEDDED

    engine = EMBEDDED[0] if not hasattr(EMBEDDED[0], "values") else EMBEDDED[0].values[0]
    assert "row" in differences(engine, tmp_path, [*ROWS, row])
