"""Time to discover a million groups in the data, against the same release with declared groups.

Both go the whole path in one run: plan, ledger, counts, noise, and the answer recorded. The ratio is what is judged.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

import discreet as dc
import measure
from measure import FULL, Line, Scale

QUESTION = "SELECT g, COUNT(*) FROM wide GROUP BY g"


def write_rows(file: Path, label: str, groups: int) -> None:
    """Write rows of people in groups, of which most have a few people, each with several groups."""
    group = label.format(f"hash(7 * i + 3) % {groups}")
    with duckdb.connect() as engine:
        engine.execute(
            f"""
            COPY (SELECT CAST(hash(i) % {groups // 2} AS INTEGER) AS person, {group} AS g
                  FROM range({3 * groups}) AS r(i)) TO '{file}' (FORMAT parquet)
            """
        )


def seconds(file: Path, ledger: Path, edition: str, k: int, **options: Any) -> float:
    """Return the seconds of one release."""
    options |= {"data": file, "unit": "person", "max_groups": k, "epsilon": 1, "ledger": ledger, "edition": edition}
    return measure.seconds(lambda: dc.release_counts(QUESTION, **options))


def lines(scale: Scale = FULL) -> Iterator[Line]:
    groups = scale.pick(1_000_000, 1000)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        ledger = folder / "wide.ledger"
        dc.Ledger.create(ledger, dataset="wide", unit="person", epsilon=1000, delta="1/10")
        labels = {"texts": "'group ' || CAST({} AS VARCHAR)", "whole numbers": "CAST({} AS INTEGER)"}
        for what, label in labels.items():
            file = folder / "wide.parquet"
            write_rows(file, label, groups)
            domain = {"g": range(groups) if what != "texts" else [f"group {i}" for i in range(groups)]}
            for k in (1, 3):
                declared, discovered = [], []
                for run in range(scale.pick(2, 1)):
                    name = f"{what} {k} {run}"
                    declared.append(seconds(file, ledger, f"{name} declared", k, domain=domain))
                    discovered.append(seconds(file, ledger, f"{name} found", k, discover="g", delta="1e-8"))
                yield measure.at_most(
                    f"find {groups:.0e} groups of {what}, {k} of each person",
                    f"{min(discovered):.3g} s", f"declared {min(declared):.3g} s", min(discovered) / min(declared), 2.0,
                )  # fmt: skip
