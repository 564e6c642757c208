"""Reference values, computed independently of this project."""

from __future__ import annotations

import csv
import math
from fractions import Fraction

from support.paths import GOLDEN


def golden_rows(name: str) -> list[dict[str, str]]:
    """Read a file of reference values; an empty one is refused, as a test over its rows could not fail."""
    with (GOLDEN / name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows, f"{name} is empty: nothing was compared"
    return rows


def golden_prior(name: str, n: int) -> list[Fraction] | None:
    """Return the prior of this name in the reference values, as their README defines it; None for the uniform one."""
    if name == "uniform":
        return None
    weights: dict[str, list[Fraction]] = {
        "tri": [Fraction(min(j, n - j) + 1) for j in range(n + 1)],
        "geo2": [Fraction(1, 2**j) for j in range(n + 1)],
        "binom": [Fraction(math.comb(n, j)) for j in range(n + 1)],
    }
    return [weight / sum(weights[name]) for weight in weights[name]]
