"""How fast tables are counted, beside the engine's own GROUP BY and COUNT(DISTINCT) on the same file."""

from __future__ import annotations

import subprocess
import sys
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
from measure import Line

HEALTH = ("excellent", "very good", "good", "fair", "poor", "very poor", "bad", "unknown", "refused", "not asked")
GROUPS = {"site": range(1000), "county": range(100), "health": HEALTH, "year": range(2)}
PEOPLE = 1_000_000


def write_rows(file: Path, rows: int) -> None:
    """People's rows in no order: every person, site, county and state of health comes up at random."""
    with duckdb.connect() as engine:
        engine.execute(
            f"""
            COPY (SELECT CAST(hash(i) % {PEOPLE} AS BIGINT) AS person, CAST(hash(3 * i + 1) % 1000 AS INTEGER) AS site,
                         CAST(hash(5 * i + 2) % 100 AS INTEGER) AS county, CAST(hash(7 * i) % 2 AS INTEGER) AS year,
                         {list(HEALTH)}[1 + CAST(hash(11 * i + 3) % 10 AS INTEGER)] AS health
                  FROM range({rows}) AS r(i)) TO '{file}' (FORMAT parquet)
            """
        )


def _ours(file: Path, by: tuple[str, ...], unit: str = "row", k: int = 1) -> Callable[[], Any]:
    source = open_source(file)
    question = read_question(f"SELECT {', '.join(by)}, COUNT(*) FROM t GROUP BY {', '.join(by)}", unit=unit)
    counting = Counting(question, groups_from({name: GROUPS[name] for name in by}, by), unit, k, bytes(16))
    return lambda: source.count([counting])


def _bare(file: Path, by: tuple[str, ...], counted: str) -> Callable[[], Any]:
    engine = duckdb.connect()
    sql = f"SELECT {', '.join(by)}, count({counted}) FROM read_parquet('{file}') GROUP BY {', '.join(by)}"
    return lambda: engine.execute(sql).fetchnumpy()


def lines(rows: int = 100_000_000) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.parquet"
        write_rows(file, rows)
        for by in (("site",), ("county", "health")):
            yield _rows(file, by, rows)
        yield _memory(file, rows)
        rows //= 10
        write_rows(file, rows)
        for by in (("site",), ("county", "health")):
            yield _rows_over(file, by, rows)
        for by in (("site",), ("county",), ("health",), ("year",)):
            for k, wanted in ((1, 2.0), (3, 4.0)):
                yield _people(file, by, rows, k, wanted)
        yield _million_groups(Path(folder))


def _million_groups(folder: Path) -> Line:
    """The whole path: plan, ledger, counts, noise, error columns and the bundle on disk."""
    file = folder / "wide.parquet"
    with duckdb.connect() as engine:
        engine.execute(f"COPY (SELECT CAST(hash(i) % 1000000 AS INTEGER) AS g FROM range(2000000) r(i)) TO '{file}'")
    bare = measure.seconds(_bare(file, ("g",), "*"))
    dc.Ledger.create(folder / "wide.ledger", dataset="wide", unit="row", epsilon=1)
    question = "SELECT g, COUNT(*) FROM wide GROUP BY g"
    options: dict[str, Any] = {"domain": {"g": range(1_000_000)}, "epsilon": 1, "ledger": folder / "wide.ledger"}
    ours = measure.seconds(
        lambda: dc.release_counts(question, data=file, unit="row", out=folder / "wide_counts", **options)
    )
    return measure.at_most(
        "release 1e6 groups, bundle and all", f"{ours:.3g} s", f"bare GROUP BY {bare:.3g} s", ours / bare, 3 / bare
    )


def _rows(file: Path, by: tuple[str, ...], rows: int) -> Line:
    ours, bare = measure.in_turn(_ours(file, by), _bare(file, by, "*"), rounds=3)
    what = f"count {rows:.0e} rows by {' and '.join(by)}"
    return measure.at_most(what, f"{ours:.3g} s", f"bare GROUP BY {bare:.3g} s", ours / bare, 1.3)


def _rows_over(file: Path, by: tuple[str, ...], rows: int) -> Line:
    ours, bare = measure.in_turn(_ours(file, by), _bare(file, by, "*"), rounds=5)
    what = f"count {rows:.0e} rows by {' and '.join(by)}, at most 0.15 s over"
    return measure.at_most(what, f"{ours:.3g} s", f"bare GROUP BY {bare:.3g} s", ours / bare, 1 + 0.15 / bare)


def _people(file: Path, by: tuple[str, ...], rows: int, k: int, wanted: float) -> Line:
    ours, bare = measure.in_turn(_ours(file, by, "person", k), _bare(file, by, "DISTINCT person"), rounds=3)
    what = f"bound {PEOPLE:.0e} people of {rows:.0e} rows to {k} by {by[0]}"
    return measure.at_most(what, f"{ours:.3g} s", f"COUNT(DISTINCT) {bare:.3g} s", ours / bare, wanted)


def _memory(file: Path, rows: int) -> Line:
    """The most memory a process of its own ever held, beside one gigabyte."""
    code = (
        "import resource, counting; from pathlib import Path; "
        f"counting._ours(Path({str(file)!r}), ('county', 'health'))(); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)"
    )
    here = Path(__file__).parent
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=here).stdout
    held = float(answer.split()[-1])
    return measure.at_most(f"memory for {rows:.0e} rows", f"{held:.3g} GB", "1 GB", held, 1.0)


if __name__ == "__main__":
    for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000_000):
        print(
            f"{line.what:60} {line.ours:>9} {line.theirs:>24} {line.ratio:6.2f} {line.wanted:8} {line.holds}",
            flush=True,
        )
