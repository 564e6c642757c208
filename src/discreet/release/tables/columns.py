"""The columns that are published beside every count, and the flags of cells.

Three kinds of cells are told apart by the flags of SDMX (code list CL_OBS_STATUS): a noisy count, a cell that cannot
exist, and one that was suppressed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR

from ...engines.base import ROW

#: The flags of SDMX's CL_OBS_STATUS that are used, and what they mean here.
STATUS_MEANING = {
    "A": "a noisy count",
    "M": "the cell cannot exist (a structural zero, declared as a public fact): its count is 0 without noise",
    "Q": "suppressed: the noisy count was below the threshold and is not published",
}
NORMAL, IMPOSSIBLE, SUPPRESSED = STATUS_MEANING


@dataclass(frozen=True)
class ErrorColumn:
    """A column of what is known about the error of every count.

    Attributes
    ----------
    name
        Its heading.
    figure
        Which figure of :class:`~discreet.release.noise.accuracy.Accuracy` it shows.
    meaning
        What it is, for people and for release.json.
    rounding
        For a worst case: how it is rounded so that it stays true. None for whole numbers.
    of_a_cell_that_cannot_exist
        Its value there: such a count is known.
    since
        The first layout that has it. Bundles of earlier layouts, which are published, are checked without it.
    """

    name: str
    figure: str
    meaning: str
    rounding: str | None = None
    of_a_cell_that_cannot_exist: int = 0
    since: int = 1


#: What is said of every count, in the order of the columns.
ERRORS = (
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

#: What is said beside of a count whose group was found in the data.
CERTAIN = (
    ErrorColumn("certain_low", "certain_low", "the true count is never below this"),
    ErrorColumn("certain_high", "certain_high", "the true count is never above this; empty if there is no such bound"),
)


def error_meanings(columns: Iterable[ErrorColumn], unit: str) -> dict[str, str]:
    """What the columns mean for this unit: contributions of people are bounded, a row is in one group only.

    >>> error_meanings(CERTAIN[:1], "row")
    {'certain_low': 'the true count is never below this'}
    """
    bounded = "" if unit == ROW else "; the true count is the one after the contribution bound"
    return {one.name: f"{one.meaning}{bounded if one.name in ('low', 'certain_low') else ''}" for one in columns}


#: The version of a bundle's files. Version 1 has no edition in the tables; version 3 states the template of the page.
LAYOUT = 3
