"""A row decides about itself and about nothing else, whatever else is in the file and whoever wrote it.

For random awkward tables and random accepted questions: with one row less, the true counts are less by what that row
counts when it is alone; with all rows of a person less, by what that person counts alone, in at most k groups; and
they equal the counts by the same SQL on a copy in memory with the engine's optimiser off.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.base import Counting
from discreet.engines.duckdb.counting import count
from discreet.engines.sources import open_source
from discreet.sources import engine as duckdb_engine
from discreet.sources.files import open_files
from support import awkward, independence
from support.tiers import batches

KEY = bytes(range(16))
QUESTIONS = 20


def counts_of(table: awkward.Table, countings: Sequence[Counting]) -> list[np.ndarray]:
    with tempfile.TemporaryDirectory() as folder:
        return open_source(table.write(Path(folder), table)).count(countings)


def counts_in_memory(table: awkward.Table, countings: list[Counting]) -> list[np.ndarray]:
    """By the same SQL, on rows that were read once, whole, without a condition, and with no optimiser at all."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as engine:
        path = table.write(Path(folder), table)
        opened, kinds = open_files(path, skip_unreadable=True), open_source(path).table("t")
        engine.execute("PRAGMA disable_optimizer")
        if path.suffix == ".duckdb":
            engine.execute(f"ATTACH '{path}' AS data (READ_ONLY)")
        columns = ", ".join(kinds)
        engine.execute(f"CREATE TABLE copied AS SELECT {columns} FROM {opened.relation('t', list(kinds))}")
        assert engine.execute("SELECT count(*) FROM copied").fetchall() == [(len(table.rows),)]
        return [count(engine, counting, "copied", kinds) for counting in countings]


def violations(seed: int) -> list[str]:
    """Where a table made from a seed breaks the promise; twenty questions are asked of each."""
    chance = random.Random(seed)
    table = awkward.random_table(chance)
    countings = awkward.random_countings(chance, QUESTIONS, KEY)
    whole, copied = counts_of(table, countings), counts_in_memory(table, countings)
    found = independence.violations(chance, table, countings, counts_of, whole)
    found += [
        f"{counting.question.text}: differs from the copy in memory"
        for counting, one, other in zip(countings, whole, copied, strict=True)
        if (one != other).any()
    ]
    return [f"seed {seed}, {words}" for words in found]


@pytest.mark.parametrize("batch", batches(fast=2, full=8, long=190))
def test_a_row_counts_for_itself_alone(batch: int) -> None:
    """A hundred cases a batch; twenty thousand in all."""
    assert [words for seed in range(5 * batch, 5 * batch + 5) for words in violations(seed)] == []


def test_the_suite_notices_an_optimiser_that_reads_statistics(monkeypatch) -> None:
    monkeypatch.setattr(duckdb_engine, "_switch_off_what_reads_statistics", lambda engine: None)
    assert any(violations(seed) for seed in range(15, 25))


# ------------------------------------------------------------------------------------------------ cases once met


def _where(file: Path, condition: str) -> int:
    source = open_source(file)
    counting = awkward.counting(f"SELECT COUNT(*) FROM t WHERE {condition}", {}, "row", 1, KEY)
    return int(source.count([counting])[0].item())


@pytest.mark.parametrize("write", ["polars", "pyarrow"])
def test_not_a_number_is_counted_whatever_the_largest_number_is(tmp_path, write) -> None:
    """NaN is above every number; statistics leave it out."""
    for more, wanted in (([], 200), ([250.0], 201)):
        values = [50.0] * 5000 + [float("nan")] * 200 + more
        if write == "polars":
            polars.DataFrame({"income": values}).write_parquet(tmp_path / "t.parquet")
        else:
            pq.write_table(pa.table({"income": values}), tmp_path / "t.parquet")
        assert _where(tmp_path / "t.parquet", "income > 200") == wanted


def test_bytes_that_are_not_utf8_are_compared_as_they_are_read(tmp_path) -> None:
    for more in ([], [b"zz"]):
        raw = pa.array([b"\xff"] * 5 + [b"a"] * 10 + more, pa.binary())
        text = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
        pq.write_table(pa.table({"x": text}), tmp_path / "t.parquet")
        assert _where(tmp_path / "t.parquet", "x = '?'") == 5


def test_missing_texts_are_told_from_equal_ones_without_a_dictionary(tmp_path) -> None:
    for more, others in (([], 40), (["w"], 41)):
        values = pa.array(["v"] * 300 + [None] * 40 + more)
        pq.write_table(pa.table({"x": values}), tmp_path / "t.parquet", use_dictionary=False)
        assert _where(tmp_path / "t.parquet", "x IS NULL") == 40
        assert _where(tmp_path / "t.parquet", "x IS DISTINCT FROM 'v'") == others
