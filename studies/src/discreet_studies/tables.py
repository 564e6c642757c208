"""Tables of exhibits: numbers that are the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from discreet.report import Json

from .study import Row

#: Digits that every processor agrees on: the last ones of a double may differ with the order of a sum.
DIGITS = 10


def significant(value: Fraction | float, digits: int = DIGITS) -> float:
    """Return a number of a table, rounded so that it is the same on every machine.

    >>> significant(Fraction(2, 3))
    0.6666666667
    """
    return float(f"{float(value):.{digits}g}")


def shortened(rows: Iterable[Mapping[str, Json]], digits: int = DIGITS) -> list[Row]:
    """Return rows whose numbers have the digits that every machine agrees on: fewer where they come from an iteration.

    >>> shortened([{"name": "one", "value": 2 / 3, "times": 3}])
    [{'name': 'one', 'value': 0.6666666667, 'times': 3}]
    """
    return [
        {key: significant(value, digits) if isinstance(value, float) else value for key, value in row.items()}
        for row in rows
    ]


def number(row: Mapping[str, Json], column: str) -> float:
    """Return a number of a row.

    >>> number({"name": "one", "times": 3}, "times")
    3.0
    """
    value = row[column]
    assert isinstance(value, int | float), f"{column} is a number"
    return float(value)
