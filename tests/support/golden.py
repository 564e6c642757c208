"""Reference values, computed independently of this project."""

from __future__ import annotations

import csv

from support.paths import GOLDEN


def golden_rows(name: str) -> list[dict[str, str]]:
    """Read a file of reference values; an empty one is refused, as a test over its rows could not fail."""
    with (GOLDEN / name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows, f"{name} is empty: nothing was compared"
    return rows
