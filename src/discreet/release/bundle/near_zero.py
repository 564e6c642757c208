"""A hint for releases whose counts are all near zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..tables.columns import NORMAL

if TYPE_CHECKING:
    from .released import Release

#: Hint for a release whose counts are all within noise of zero.
NEAR_ZERO = (
    "All counts are within noise of zero. If you expected people here, check the spelling of the declared values, the "
    "encoding of the file, and that it is the right file."
)


def near_zero_notes(release: Release) -> tuple[str, ...]:
    """Return the hint if every count of declared groups has an interval that contains zero, and nothing otherwise.

    It is a function of the noisy counts and public numbers, so it reveals nothing more.
    """
    cells = 0
    for table in release.tables:
        noisy, errors = table.flags == NORMAL, table.errors
        if (errors["low"][noisy] > 0).any() or (errors["high"][noisy] < 0).any():
            return ()
        cells += int(noisy.sum())
    return (NEAR_ZERO,) if cells else ()
