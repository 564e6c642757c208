"""Speed of our counting in Spark, against its own GROUP BY and COUNT(DISTINCT) of the same file in one run, warm."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import measure
from counting import PEOPLE, count, write_rows
from discreet.engines.spark.session import start_session
from measure import FULL, Line, Scale

MASTER = "local[2]"


def _ours(file: Path, by: tuple[str, ...], unit: str = "row", k: int = 1) -> Callable[[], Any]:
    return count(f"spark:{MASTER}?parquet={file}", by, unit, k)


def _bare(session: Any, file: Path, by: tuple[str, ...], counted: str) -> Callable[[], Any]:
    session.read.parquet(str(file)).createOrReplaceTempView("t")
    sql = f"SELECT {', '.join(by)}, count({counted}) FROM t GROUP BY {', '.join(by)}"
    return lambda: session.sql(sql).collect()


def lines(scale: Scale = FULL) -> Iterator[Line]:
    rows = scale.pick(10_000_000, 2_000)
    session = start_session(MASTER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.parquet"
        write_rows(file, rows)
        for by in (("site",), ("county", "health")):
            ours, bare = measure.in_turn(
                _ours(file, by), _bare(session, file, by, "*"), rounds=scale.pick(15, 1)
            )  # warm: Java compiles what is run often
            what = f"Spark: count {rows:.0e} rows by {' and '.join(by)}"
            yield measure.at_most(what, f"{ours:.3g} s", f"bare GROUP BY {bare:.3g} s", ours / bare, 1.2)
        for by in scale.pick((("site",), ("county",), ("health",), ("year",)), (("site",),)):
            distinct = measure.seconds(_bare(session, file, by, "DISTINCT person"))
            for k, target in scale.pick(((1, 2.0), (3, 3.0)), ((3, 3.0),)):
                ours = measure.seconds(_ours(file, by, "person", k))
                what = f"Spark: bound {PEOPLE:.0e} people of {rows:.0e} rows to {k} by {by[0]}"
                yield measure.at_most(
                    what, f"{ours:.3g} s", f"COUNT(DISTINCT) {distinct:.3g} s", ours / distinct, target
                )
        yield from _growth(file, rows)


def _growth(file: Path, most: int) -> Iterator[Line]:
    """Compare the time of ten times the rows: at most about ten times as long."""
    before = None
    for rows in (most // 10, most):
        write_rows(file, rows)
        (taken,) = measure.in_turn(_ours(file, ("site",), "person", 1), rounds=1)
        if before is not None:
            what = f"Spark: people of {rows:.0e} rows by site"
            yield measure.at_most(what, f"{taken:.3g} s", f"a tenth of the rows {before:.3g} s", taken / before, 12)
        before = taken
