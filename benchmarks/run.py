"""``make bench``: one table of ratios. A line that misses what is wanted is marked and makes the run fail."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

import battery
import composition
import counting
import design
import discovery
import estimation
import face
import judge
import ledger
import levels
import maps
import pages
import planning
import postgres
import release
import service
import spark
import spark_perturb


def main() -> int:
    table = Table(title="ours beside theirs, in one run on one core")
    for heading in ("what", "ours", "theirs", "ratio", "wanted", ""):
        table.add_column(heading, justify="right" if heading == "ratio" else "left")
    missed = 0
    for room in (
        release,
        levels,
        ledger,
        judge,
        face,
        composition,
        counting,
        discovery,
        postgres,
        service,
        pages,
        spark,
        spark_perturb,
        estimation,
        battery,
        maps,
        planning,
        design,
    ):
        for line in room.lines():
            table.add_row(
                line.what, line.ours, line.theirs, f"{line.ratio:.3g}", line.wanted, "" if line.holds else "MISSED"
            )
            missed += not line.holds
    Console(width=150).print(table)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
