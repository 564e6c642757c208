"""Made-up counts, from which a release is simulated before any row is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ..errors import InvalidInput
from ..exact.arrays import IntArray
from ..exact.integers import is_integer
from ..questions.groups import Groups, read_sizes
from ..questions.question import Question

#: Sizes that a curator makes up: how many there are in all, or the size of each group (a CSV file, or rows).
MadeUpSizes: TypeAlias = int | str | Path | Sequence[Mapping[str, object]]

#: Number in all if no sizes are given.
USUAL_TOTAL = 10_000

#: Largest number in all.
MAX_TOTAL = 10**12

#: Seed of the spread over groups, and of the shares of conditions: the same total has the same counts.
_SPREAD_SEED = 1

#: Number of made-up values of a column whose values are found in the data.
MADE_UP_VALUES = 20


def made_up_counts(sizes: MadeUpSizes, groups: Groups, question: Question) -> IntArray:
    """Return made-up counts, a row for each group and a column for each measure.

    A total is spread unevenly over the groups that can have rows. A condition counts a part of its group.

    >>> from discreet.questions.groups import groups_from
    >>> from discreet.questions.question import read_question
    >>> sites = groups_from({"site": range(1, 4)}, ["site"])
    >>> by_site = read_question("SELECT site, COUNT(*) FROM visits GROUP BY site", unit="row")
    >>> made_up_counts(100, sites, by_site).sum().item()
    100
    """
    if isinstance(sizes, bool | float) or is_integer(sizes):
        possible = np.ones(groups.size, dtype=bool)
        possible[sorted(groups.zeros)] = False
        group_sizes = np.zeros(groups.size, dtype=np.int64)
        group_sizes[possible] = spread(read_total(sizes), int(possible.sum()))
    else:
        assert not isinstance(sizes, int)
        group_sizes = np.asarray(read_sizes(sizes, groups), dtype=np.int64)
    return parts_of(group_sizes, question)


def read_total(total: object) -> int:
    """Read the number in all."""
    if not is_integer(total) or not 0 <= int(total) <= MAX_TOTAL:  # type: ignore[call-overload]
        raise InvalidInput.must_be("sizes", f"a whole number from 0 to {MAX_TOTAL:,}, such as 10000", total)
    return int(total)  # type: ignore[call-overload,no-any-return]


def spread(total: int, parts: int) -> IntArray:
    """Return uneven whole numbers that add up to a total, always the same ones.

    >>> spread(10, 3).tolist() == spread(10, 3).tolist(), int(spread(10, 3).sum())
    (True, 10)
    """
    if not parts:
        return np.zeros(0, dtype=np.int64)
    weights = np.random.default_rng(_SPREAD_SEED).lognormal(sigma=1.2, size=parts)
    ends = np.rint(np.cumsum(weights) / weights.sum() * total).astype(np.int64)
    ends[-1] = total
    return np.asarray(np.diff(ends, prepend=0), dtype=np.int64)


def parts_of(sizes: IntArray, question: Question) -> IntArray:
    """Return the count of each group and measure: the whole size, or a part of it for a condition."""
    shares = np.random.default_rng(_SPREAD_SEED).uniform(0.2, 0.8, size=len(question.aggregates))
    columns = [
        sizes if aggregate.condition is None else np.rint(sizes * share).astype(np.int64)
        for aggregate, share in zip(question.aggregates, shares, strict=True)
    ]
    return np.stack(columns, axis=1)


def parts_within(sizes: IntArray) -> IntArray:
    """Return made-up counts within public sizes: an uneven part of each."""
    shares = np.random.default_rng(_SPREAD_SEED).uniform(0.2, 0.8, size=sizes.size)
    return np.asarray(np.rint(sizes * shares), dtype=np.int64)
