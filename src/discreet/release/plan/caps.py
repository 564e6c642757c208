"""Plans that count rows: what does not go with ``max_rows``, and the error of the same counts with another cap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...engines.base import ROW
from ...errors import InvalidInput, arg
from ...ledger.budget import Cost
from ...questions.question import Question
from ..protection import MAX_ROWS
from ..tables.table import TablePlan
from .request import ReleaseRequest

#: The caps that a plan compares with its own: the nearest two below it, and above it.
_LADDER = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, MAX_ROWS)


@dataclass(frozen=True)
class CapError:
    """The error and the cost of a release with another ``max_rows``.

    Attributes
    ----------
    max_rows
        The cap.
    half_width
        The largest noise, at the coverage of the plan.
    epsilon
        The epsilon of the whole release.
    """

    max_rows: int
    half_width: int
    epsilon: Fraction


def nearby_caps(max_rows: int) -> list[int]:
    """Return two caps below this one and two above it.

    >>> nearby_caps(5), nearby_caps(1)
    ([2, 3, 10, 20], [2, 3])
    """
    below, above = [cap for cap in _LADDER if cap < max_rows], [cap for cap in _LADDER if cap > max_rows]
    return [*below[-2:], *above[:2]]


def errors_of_caps(
    max_rows: int,
    coverage: Fraction,
    planned: Callable[[int], tuple[Sequence[TablePlan], Cost]],
) -> tuple[CapError, ...]:
    """Return the error with nearby caps; ``planned`` makes the tables with one. Caps without any noise are left out."""
    errors = []
    for cap in nearby_caps(max_rows):
        try:
            tables, cost = planned(cap)
        except InvalidInput:
            continue
        width = max(table.expected(coverage).half_width for table in tables)
        errors.append(CapError(cap, width, cost.epsilon))
    return tuple(errors)


def refuse_with_rows(request: ReleaseRequest, questions: Sequence[Question]) -> None:
    """Refuse what does not go with a cap on rows: people are counted there."""
    if request.max_rows is None:
        return
    without = f"Leave {arg('max_rows')} out, or ask for it in a release of its own."
    if request.unit == ROW:
        raise InvalidInput(
            f"{arg('unit', ROW)} counts every row, so {arg('max_rows', request.max_rows)} means nothing with it.",
            f"Leave it out, or name the person's column with {arg('unit', 'COLUMN')}.",
            argument="max_rows",
        )
    if request.sizes is not None:
        raise InvalidInput(
            "public sizes bound the number of people in a group, not of their rows.", without, argument="max_rows"
        )
    if any(question.quantiles for question in questions):
        raise InvalidInput("a quantile counts each unit once, in one group.", without, argument="max_rows")
    if any(aggregate.distinct for question in questions for aggregate in question.aggregates):
        raise InvalidInput(
            f"COUNT(DISTINCT {request.unit}) counts people, and {arg('max_rows')} counts rows.",
            f"Write COUNT(*), or leave {arg('max_rows')} out.",
            argument="max_rows",
        )
