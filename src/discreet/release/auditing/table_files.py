"""The error columns of a bundle's CSV files, held against those that are worked out again."""

from __future__ import annotations

from collections.abc import Sequence

from ..tables.columns import ErrorColumn
from ..tables.csv_text import decimal_text
from ..tables.reading import Refuted

#: Columns that are not whole numbers may differ by this from what is worked out here: six digits are written, and other
#: machines have other last digits.
_CLOSE = 2e-5


def compare_error_columns(written: str, again: str, name: str, columns: Sequence[ErrorColumn]) -> None:
    """Refuse error columns that differ; worst cases may, by the last digits of another machine."""
    for number, (one, other) in enumerate(zip(written.split("\n"), again.split("\n"), strict=True), 1):
        if one == other:
            continue
        mine, theirs = one.rsplit(",", len(columns)), other.rsplit(",", len(columns))
        whole = [k for k, column in enumerate(columns, 1) if column.rounding is None]
        if any(mine[k] != theirs[k] for k in (0, *whole)):
            raise Refuted(f"{name}, line {number}: the interval is not that of the count.")
        if not all(_close(a, b) for a, b in zip(mine[1:], theirs[1:], strict=True)):
            raise Refuted(f"{name}, line {number}: the error columns are not those of the noise.")


def _close(stated: str, found: str) -> bool:
    if stated == found or not (stated and found):
        return stated == found
    if decimal_text(float(stated)) != stated:
        return False  # another way to write a number near it
    return bool(abs(float(stated) - float(found)) <= _CLOSE * max(abs(float(found)), 1e-3))
