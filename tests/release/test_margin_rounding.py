"""Margins rounded for people: each table adds up, and the sentence on the rest is true."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from discreet.exact.arrays import Array
from discreet.questions.groups import groups_from
from discreet.release.marginals.combine import MarginLeastSquares
from discreet.release.marginals.rounding import (
    disagreement_in_words,
    largest_disagreements,
    rounded_table,
)
from discreet.release.marginals.signed import Columns, Margins, subsets

SIZES = (3, 2, 4, 3)


def combined_and_rounded(order: int, smallest: int, seed: int = 5) -> tuple[dict[Columns, Array], dict[Columns, Array]]:
    """Return the combined tables in fractions, and the rounded ones, for cells of about this many people."""
    random, margins = np.random.default_rng(seed), Margins.up_to(order, SIZES)
    counts = random.integers(smallest, smallest + 60, SIZES)
    variances = dict.fromkeys(margins.residuals, Fraction(9))
    solver = MarginLeastSquares(margins, variances)
    combined = solver.combine(
        {one: margins.signed(counts, one) + random.integers(-5, 6, margins.shape(one)) for one in variances}
    )
    exact, rounded = {}, {}
    for table, one in combined.items():
        names = [f"c{k}" for k in table]
        groups = groups_from({name: range(SIZES[k]) for name, k in zip(names, table, strict=True)}, names)
        errors = {
            places: float(solver.variance(tuple(table[k] for k in places))) ** 0.5
            for places in subsets(tuple(range(len(table))))
        }
        whole = rounded_table(groups, one.numerators.reshape(-1), one.denominator, errors)
        exact[table] = one.numerators * Fraction(1, one.denominator)
        rounded[table] = whole.reshape(one.numerators.shape)
    return exact, rounded


def test_rounded_tables_of_two_columns_add_up_and_every_total_is_adjacent() -> None:
    exact, rounded = combined_and_rounded(2, smallest=20)
    for table, cells in rounded.items():
        assert (cells >= 0).all()
        for part in subsets(table):
            summed = tuple(axis for axis, column in enumerate(table) if column not in part)
            distance = np.abs(cells.sum(axis=summed) - np.asarray(exact[table]).sum(axis=summed))
            assert (np.asarray(distance) < 1).all(), "each count and each total is next to the combined one"
    assert max(largest_disagreements(rounded).values()) <= 1


def test_tables_of_three_columns_stay_within_a_standard_error_of_their_totals() -> None:
    exact, rounded = combined_and_rounded(3, smallest=20)
    for table, cells in rounded.items():
        assert (cells >= 0).all() and (np.abs(cells - np.asarray(exact[table]).astype(float)) <= 4).all()
        assert abs(int(cells.sum()) - np.asarray(exact[()]).astype(float)) <= 0.5


@pytest.mark.parametrize("smallest", [0, 20])
def test_the_stated_disagreement_is_the_largest_of_any_two_tables(smallest: int) -> None:
    _, rounded = combined_and_rounded(2, smallest)
    stated = largest_disagreements(rounded)
    for first, second in combinations(rounded, 2):
        shared = tuple(sorted(set(first) & set(second)))
        sums = [
            rounded[table].sum(axis=tuple(axis for axis, column in enumerate(table) if column not in shared))
            for table in (first, second)
        ]
        assert np.abs(np.asarray(sums[0] - sums[1])).max() <= stated[shared]
    assert max(stated.values()) > 0, "rounding apart shows"
    assert f"up to {max(stated.values())} between" in disagreement_in_words(list(stated.values()))
