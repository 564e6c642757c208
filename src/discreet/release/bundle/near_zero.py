"""A hint for releases in which nothing was counted, as far as the noise shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..tables.columns import NORMAL

if TYPE_CHECKING:
    from .released import Release

#: What a release says whose counts are all within noise of zero.
NEAR_ZERO = (
    "All counts are within noise of zero. If you expected people here, check the spelling of the declared values, the "
    "encoding of the file, and that it is the right file."
)


def near_zero_notes(release: Release) -> tuple[str, ...]:
    """Return the hint if every count of declared groups has an interval that contains zero, and nothing otherwise.

    It follows from the noisy counts and public numbers alone, so it reveals nothing that they do not.
    """
    seen = 0
    for table in release.tables:
        shown, errors = table.flags == NORMAL, table.errors
        if (errors["low"][shown] > 0).any() or (errors["high"][shown] < 0).any():
            return ()
        seen += int(shown.sum())
    return (NEAR_ZERO,) if seen else ()
