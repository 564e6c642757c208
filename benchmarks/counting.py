"""Speed of counting tables, against the engine's own GROUP BY and COUNT(DISTINCT) on the same file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb

import discreet as dc
import measure
from discreet.engines.sources import Counting, open_source
from discreet.questions.groups import groups_from
from discreet.questions.question import read_question
from measure import FULL, Line, Scale

HEALTH = ("excellent", "very good", "good", "fair", "poor", "very poor", "bad", "unknown", "refused", "not asked")
GROUPS = {"site": range(1000), "county": range(100), "health": HEALTH, "year": range(2)}
PEOPLE = 1_000_000


def write_rows(file: Path, rows: int) -> None:
    """Write people's rows in no order: every person, site, county and state of health comes up at random."""
    with duckdb.connect() as engine:
        engine.execute(
            f"""
            COPY (SELECT CAST(hash(i) % {PEOPLE} AS BIGINT) AS person, CAST(hash(3 * i + 1) % 1000 AS INTEGER) AS site,
                         CAST(hash(5 * i + 2) % 100 AS INTEGER) AS county, CAST(hash(7 * i) % 2 AS INTEGER) AS year,
                         {list(HEALTH)}[1 + CAST(hash(11 * i + 3) % 10 AS INTEGER)] AS health
                  FROM range({rows}) AS r(i)) TO '{file}' (FORMAT parquet)
            """
        )


def count(
    address: str | Path, by: tuple[str, ...], unit: str = "row", k: int = 1, table: str = "t"
) -> Callable[[], Any]:
    """Return a call that counts the rows or people of a table of ``write_rows``, on any engine."""
    source = open_source(address)
    question = read_question(f"SELECT {', '.join(by)}, COUNT(*) FROM {table} GROUP BY {', '.join(by)}", unit=unit)
    counting = Counting(question, groups_from({name: GROUPS[name] for name in by}, by), unit, k, bytes(16))
    return lambda: source.count([counting])


def _bare(file: Path, by: tuple[str, ...], counted: str) -> Callable[[], Any]:
    engine = duckdb.connect()
    sql = f"SELECT {', '.join(by)}, count({counted}) FROM read_parquet('{file}') GROUP BY {', '.join(by)}"
    return lambda: engine.execute(sql).fetchnumpy()


def lines(scale: Scale = FULL) -> Iterator[Line]:
    rows = scale.pick(100_000_000, 20_000)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.parquet"
        write_rows(file, rows)
        for by in (("site",), ("county", "health")):
            yield _rows(file, by, rows, scale)
        yield _memory(file, rows)
        rows //= 10
        write_rows(file, rows)
        for by in (("site",), ("county", "health")):
            yield _rows_over(file, by, rows, scale)
        for by in (("site",), ("county",), ("health",), ("year",)):
            for k, target in ((1, 2.0), (3, 4.0)):
                yield _people(file, by, rows, k, target, scale)
        yield _many_groups(Path(folder), scale.pick(1_000_000, 1000))


def _many_groups(folder: Path, groups: int) -> Line:
    """Go the whole path: plan, ledger, counts, noise, error columns and the bundle on disk."""
    file = folder / "wide.parquet"
    with duckdb.connect() as engine:
        engine.execute(
            f"COPY (SELECT CAST(hash(i) % {groups} AS INTEGER) AS g FROM range({2 * groups}) r(i)) TO '{file}'"
        )
    bare = measure.seconds(_bare(file, ("g",), "*"))
    dc.Ledger.create(folder / "wide.ledger", dataset="wide", unit="row", epsilon=1)
    question = "SELECT g, COUNT(*) FROM wide GROUP BY g"
    options: dict[str, Any] = {"domain": {"g": range(groups)}, "epsilon": 1, "ledger": folder / "wide.ledger"}
    ours = measure.seconds(
        lambda: dc.release_counts(question, data=file, unit="row", out=folder / "wide_counts", **options)
    )
    what = f"release {groups:.0e} groups, bundle and all"
    return measure.at_most(what, f"{ours:.3g} s", f"bare GROUP BY {bare:.3g} s", ours / bare, 3 / bare)


def _rows(file: Path, by: tuple[str, ...], rows: int, scale: Scale) -> Line:
    ours, bare = measure.in_turn(count(file, by), _bare(file, by, "*"), rounds=scale.pick(3, 1))
    what = f"count {rows:.0e} rows by {' and '.join(by)}"
    return measure.at_most(what, f"{ours:.3g} s", f"bare GROUP BY {bare:.3g} s", ours / bare, 1.3)


def _rows_over(file: Path, by: tuple[str, ...], rows: int, scale: Scale) -> Line:
    ours, bare = measure.in_turn(count(file, by), _bare(file, by, "*"), rounds=scale.pick(5, 1))
    what = f"count {rows:.0e} rows by {' and '.join(by)}, at most 0.15 s over"
    return measure.at_most(what, f"{ours:.3g} s", f"bare GROUP BY {bare:.3g} s", ours / bare, 1 + 0.15 / bare)


def _people(file: Path, by: tuple[str, ...], rows: int, k: int, target: float, scale: Scale) -> Line:
    ours, bare = measure.in_turn(
        count(file, by, "person", k), _bare(file, by, "DISTINCT person"), rounds=scale.pick(3, 1)
    )
    what = f"bound {PEOPLE:.0e} people of {rows:.0e} rows to {k} by {by[0]}"
    return measure.at_most(what, f"{ours:.3g} s", f"COUNT(DISTINCT) {bare:.3g} s", ours / bare, target)


def _memory(file: Path, rows: int) -> Line:
    """Compare the peak memory of a process of its own with one gigabyte."""
    _, peak = measure.apart(f"import counting; counting.count({str(file)!r}, ('county', 'health'))(); result = None")
    return measure.at_most(f"memory for {rows:.0e} rows", f"{peak / 1e9:.3g} GB", "1 GB", peak / 1e9, 1.0)
