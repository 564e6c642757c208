"""Speed of replacing true values by reports in Spark, against one process that does the same on one core, warm."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dc
import measure
from discreet.collect.open import open_column, write_reports
from measure import FULL, Line, Scale

CORES = 2


def lines(scale: Scale = FULL) -> Iterator[Line]:
    rows, parts = scale.pick((40_000_000, 8), (8_000, 2))
    m = dc.geometric(20, epsilon=1)
    chance = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        people, reports = folder / "people", folder / "reports.parquet"
        people.mkdir()
        for part in range(parts):
            pq.write_table(pa.table({"visits": chance.integers(0, 21, rows // parts)}), people / f"{part}.parquet")
        on_spark = open_column(f"spark:local[{CORES}]?parquet={people}", "visits")

        def spark() -> None:
            write_reports(m, on_spark, reports)
            shutil.rmtree(reports)

        def one_process() -> None:
            cores = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {min(cores)})  # of this thread and those that it starts
            try:
                write_reports(m, open_column(people, "visits"), reports)
            finally:
                os.sched_setaffinity(0, cores)
            reports.unlink()

        ours, theirs = measure.in_turn(spark, one_process, rounds=scale.pick(2, 1))
        yield measure.at_least(
            f"Spark: perturb {rows:.0e} rows, Parquet to Parquet, rows a second per core",
            f"{rows / ours / CORES:.3g}",
            f"one process {rows / theirs:.3g}",
            theirs / (ours * CORES),
            0.7,
        )
