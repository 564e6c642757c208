"""The error columns that are published with every count, and the flags of cells.

The flags of SDMX (code list CL_OBS_STATUS) distinguish a noisy count, a structural zero and a suppressed cell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR

from ...engines.base import ROW

#: Flag of SDMX's CL_OBS_STATUS -> its meaning here.
STATUS_MEANING = {
    "A": "a noisy count",
    "M": "the cell cannot exist (a structural zero, declared as a public fact): its count is 0 without noise",
    "Q": "suppressed: the noisy count was below the threshold and is not published",
}
NORMAL, IMPOSSIBLE, SUPPRESSED = STATUS_MEANING


@dataclass(frozen=True)
class ErrorColumn:
    """A published column on the error of every count.

    Attributes
    ----------
    name
        The heading.
    figure
        The attribute of :class:`~discreet.release.noise.accuracy.Accuracy` that it shows.
    meaning
        Its meaning, for people and for release.json.
    rounding
        The safe direction of rounding of a worst case; None for whole numbers.
    of_a_cell_that_cannot_exist
        The value for a structural zero, whose count is known.
    since
        The first layout with this column; bundles of earlier layouts are checked without it.
    """

    name: str
    figure: str
    meaning: str
    rounding: str | None = None
    of_a_cell_that_cannot_exist: int = 0
    since: int = 1


#: Error columns of every count, in order.
ERROR_COLUMNS = (
    ErrorColumn(
        "low", "low",
        "lower end of an interval that contains the true count at least as often as the stated level",
    ),
    ErrorColumn("high", "high", "upper end of that interval; an empty end means there is no bound"),
    ErrorColumn("sd", "sd", "standard deviation of the noisy count, the largest over true counts", ROUND_CEILING),
    ErrorColumn(
        "bias_low", "bias_low",
        "mean of noisy minus true count, the least over true counts up to the bound, if there is one", ROUND_FLOOR,
    ),
    ErrorColumn(
        "bias_high", "bias_high",
        "mean of noisy minus true count, the largest over true counts up to the bound, if there is one", ROUND_CEILING,
    ),
    ErrorColumn(
        "exact_probability", "exact",
        "probability that the noisy count is the true one, the least over true counts", ROUND_FLOOR, 1,
    ),
)  # fmt: skip

#: Further error columns of counts of discovered groups.
CERTAIN_COLUMNS = (
    ErrorColumn("certain_low", "certain_low", "the true count is never below this"),
    ErrorColumn("certain_high", "certain_high", "the true count is never above this; empty if there is no such bound"),
)


def error_meanings(columns: Iterable[ErrorColumn], unit: str) -> dict[str, str]:
    """Return the meaning of each column for this unit; only contributions of units other than rows are bounded.

    >>> error_meanings(CERTAIN_COLUMNS[:1], "row")
    {'certain_low': 'the true count is never below this'}
    """
    bounded = "" if unit == ROW else "; the true count is the one after the contribution bound"
    return {one.name: f"{one.meaning}{bounded if one.name in ('low', 'certain_low') else ''}" for one in columns}


#: Version of the layout of bundles. Version 1 has no edition in the tables; version 3 states the template of the page.
#: Version 4 states the total budget of the ledger, and the curator's title, publisher, source and contact; version 5
#: rounds totals that overlap in three or more ways so that they stay near their combined counts.
LAYOUT = 5
