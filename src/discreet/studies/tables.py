"""Tables of exhibits: numbers that are the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..report import Json
from .study import Row

#: Digits that every processor agrees on: the last ones of a double may differ with the order of a sum.
DIGITS = 10


def short(value: float) -> float:
    """A number with the digits that every machine agrees on.

    >>> short(1 / 3), short(0.1 + 0.2)
    (0.3333333333, 0.3)
    """
    return float(f"{value:.{DIGITS}g}")


def shortened(rows: Iterable[Mapping[str, Json]]) -> list[Row]:
    """Rows whose numbers are short.

    >>> shortened([{"name": "one", "value": 2 / 3, "times": 3}])
    [{'name': 'one', 'value': 0.6666666667, 'times': 3}]
    """
    return [{key: short(value) if isinstance(value, float) else value for key, value in row.items()} for row in rows]
