"""Views of pages by country, project and page: 10^8 declared cells above a threshold, against a bare GROUP BY.

The data is synthetic, in the shape of a public release of page views: devices with a few views a day, popular pages
far ahead of the others. A release counts each device in up to ten groups once, with noise of rho .015 (zCDP), and
publishes noisy counts from 90 on. It goes the whole path: plan, ledger, counts, noise, and the bundle on disk.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb

import discreet as dc
import measure
from measure import FULL, Line, Scale

QUESTION = "SELECT country, project, page, COUNT(*) FROM views GROUP BY country, project, page"
DOMAIN = {"country": range(200), "project": range(50), "page": range(10_000)}
#: Ten counts of one device, each by one: sigma2 = 10 / (2 rho).
SIGMA2 = Fraction(10) / (2 * Fraction(15, 1000))


def write_rows(file: Path, rows: int) -> None:
    """Write views: three a device on average, countries, projects and pages by their popularity."""
    popular = "CAST(floor(power({}, random()) - 1) AS INTEGER)"  # about 1 / rank
    columns = {"country": popular.format(201), "project": popular.format(51), "page": popular.format(10_001)}
    selected = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    with duckdb.connect() as engine:
        engine.execute("SELECT setseed(0.5)")
        engine.execute(
            f"COPY (SELECT CAST(hash(i) % {max(rows // 3, 1)} AS BIGINT) AS device, {selected} "
            f"FROM range({rows}) AS r(i)) TO '{file}' (FORMAT parquet)"
        )


def release(folder: Path, name: str) -> int:
    """Release the table; return the number of published counts."""
    options: dict[str, Any] = {
        "unit": "device", "domain": DOMAIN, "max_groups": 10, "max_rows": 1, "suppress_below": 90,
        "mechanism": dc.discrete_gaussian(sigma2=SIGMA2), "epsilon": 2, "delta": "1e-7", "edition": name,
    }  # fmt: skip
    made = dc.release_counts(QUESTION, data=folder / "views.parquet", ledger=folder / "views.ledger",
                             out=folder / name, **options)  # fmt: skip
    return len(made.rows())


def _bare(file: Path) -> Callable[[], Any]:
    engine = duckdb.connect()
    sql = f"SELECT country, project, page, count(*) FROM read_parquet('{file}') GROUP BY ALL"
    return lambda: engine.execute(sql).fetchnumpy()


def lines(scale: Scale = FULL) -> Iterator[Line]:
    rows = scale.pick(30_000_000, 20_000)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_rows(folder / "views.parquet", rows)
        dc.Ledger.create(folder / "views.ledger", dataset="views", unit="device", epsilon=100, delta="1/1000")
        bare = measure.seconds(_bare(folder / "views.parquet"))
        ours = measure.seconds(lambda: release(folder, "first"))
        what = f"release 1e+08 declared cells of {rows:.0e} views above 90"
        yield measure.at_most(what, f"{ours:.3g} s", f"bare GROUP BY {bare:.3g} s", ours / bare, 3.0)
        code = f"import sparse, pathlib; result = sparse.release(pathlib.Path({place!r}), 'second')"
        _, peak = measure.apart(code)
        yield measure.at_most(f"memory for {rows:.0e} views", f"{peak / 1e9:.3g} GB", "2 GB", peak / 1e9, 2.0)
