"""Signed marginals: sensitivities, least squares and variances against brute force in fractions, and the split."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.exact.arrays import Array
from discreet.privacy.relations import RELATIONS
from discreet.release.marginals.combine import MarginLeastSquares
from discreet.release.marginals.optimum import ratio_to_optimum
from discreet.release.marginals.signed import Columns, Margins, subsets
from discreet.release.marginals.split import split_budget, squared_sensitivity


def rows_of_table(margins: Margins, table: Columns) -> Array:
    """Return the rows, over all cells of the cross-table, that sum it up to a table."""
    every = list(product(*map(range, margins.sizes)))
    cells = product(*(range(margins.sizes[column]) for column in table))
    return np.array(
        [[Fraction(all(x[c] == v for c, v in zip(table, cell, strict=True))) for x in every] for cell in cells]
    )


def rows_of_marginal(margins: Margins, columns: Columns) -> Array:
    """Return the rows of a signed marginal, written from its definition."""
    every, axes, signs = list(product(*map(range, margins.sizes))), margins.axes(columns), margins.signs(columns)
    cells = product(*(range(margins.sizes[column]) for column in axes))
    return np.array(
        [
            [
                Fraction((-1) ** sum(x[c] for c in signs) * all(x[c] == v for c, v in zip(axes, cell, strict=True)))
                for x in every
            ]
            for cell in cells
        ]
    )


def solve(matrix: Array, right: Array) -> Array:
    """Return one solution of consistent equations in fractions, by elimination; unknowns without a pivot are zero."""
    rows = [[*row, *rest] for row, rest in zip(matrix.tolist(), right.tolist(), strict=True)]
    pivots, columns = [], matrix.shape[1]
    for column in range(columns):
        k = next((k for k in range(len(pivots), len(rows)) if rows[k][column]), None)
        if k is None:
            continue
        rows[len(pivots)], rows[k] = rows[k], rows[len(pivots)]
        lead = rows[len(pivots)]
        lead[:] = [value / lead[column] for value in lead]
        for other in rows:
            if other is not lead and other[column]:
                factor = other[column]
                other[:] = [value - factor * base for value, base in zip(other, lead, strict=True)]
        pivots.append(column)
    assert not any(any(row[columns:]) for row in rows[len(pivots) :]), "the equations have no solution"
    solution = np.full((columns, right.shape[1]), Fraction(0))
    for row, column in zip(rows, pivots, strict=False):
        solution[column] = row[columns:]
    return solution


def brute_force(
    margins: Margins, variances: dict[Columns, Fraction], table: Columns
) -> tuple[dict[Columns, Array], Fraction]:
    """Return the weights of all measurements in the table's least squares, and the variance of a cell."""
    blocks = {one: rows_of_marginal(margins, one) for one in variances}
    rows = np.vstack(list(blocks.values()))
    scale = np.concatenate([np.full(len(block), 1 / variances[one]) for one, block in blocks.items()])
    weighted = rows.T * scale
    estimate = rows_of_table(margins, table) @ solve(weighted @ rows, weighted)
    variance = {sum((w * w / s for w, s in zip(row, scale, strict=True)), Fraction(0)) for row in estimate}
    assert len(variance) == 1, "all cells of a table have the same variance"
    places = np.cumsum([0, *(len(block) for block in blocks.values())])
    parts = {one: estimate[:, a:b] for one, a, b in zip(blocks, places[:-1], places[1:], strict=True)}
    return parts, variance.pop()


SMALL = [
    Margins.up_to(2, (2, 3)), Margins.up_to(2, (2, 2, 2)), Margins.up_to(2, (3, 2, 4)),
    Margins((2, 3, 2), ((0, 1, 2),), (Fraction(1),)), Margins((3, 2, 3), ((0, 1), (1, 2)), (Fraction(1), Fraction(5))),
]  # fmt: skip


@pytest.mark.parametrize("margins", SMALL, ids=str)
def test_least_squares_of_each_residual_are_those_of_all_measurements(margins: Margins) -> None:
    random = np.random.default_rng(1)
    variances = {one: Fraction(int(random.integers(1, 30)), int(random.integers(1, 9))) for one in margins.residuals}
    measured = {one: random.integers(-40, 90, margins.shape(one)) for one in margins.residuals}
    solver = MarginLeastSquares(margins, variances)
    combined = solver.combine(measured)
    for table in margins.tables:
        weights, variance = brute_force(margins, variances, table)
        values = sum(part @ measured[one].ravel().astype(object) for one, part in weights.items())
        ours = combined[table]
        assert [Fraction(v, ours.denominator) for v in ours.numerators.ravel()] == list(values)
        assert ours.variance == variance


def test_without_some_measurements_the_same() -> None:
    margins = Margins.up_to(2, (2, 3, 3))
    variances = {(0, 1): Fraction(2), (0, 2): Fraction(3), (1, 2): Fraction(5, 7), (0,): Fraction(1)}
    assert MarginLeastSquares(margins, variances).variance((1, 2)) == brute_force(margins, variances, (1, 2))[1]


@given(st.lists(st.integers(2, 4), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_counts_without_noise_are_returned_as_they_are(sizes: list[int], seed: int) -> None:
    margins = Margins.up_to(2, sizes)
    counts = np.random.default_rng(seed).integers(0, 50, sizes)
    measured = {one: margins.signed(counts, one) for one in margins.residuals}
    combined = MarginLeastSquares(margins, dict.fromkeys(margins.residuals, Fraction(3))).combine(measured)
    for table, result in combined.items():
        others = tuple(column for column in range(len(sizes)) if column not in table)
        assert (result.numerators == counts.sum(axis=others).astype(object) * result.denominator).all()


def test_tables_agree_wherever_they_overlap() -> None:
    random = np.random.default_rng(2)
    margins = Margins.up_to(2, (3, 2, 4))
    variances = {one: Fraction(k + 1, 3) for k, one in enumerate(margins.residuals)}
    combined = MarginLeastSquares(margins, variances).combine(
        {one: random.integers(-9, 9, margins.shape(one)) for one in margins.residuals}
    )
    for table, result in combined.items():
        for place, column in enumerate(table):
            smaller = combined[tuple(one for one in table if one != column)]
            sums = result.numerators.sum(axis=place)
            assert np.array_equal(sums * smaller.denominator, smaller.numerators * result.denominator)


@pytest.mark.parametrize("name", RELATIONS)
def test_no_change_of_one_person_moves_a_signed_marginal_further_than_stated(name: str) -> None:
    margins = Margins.up_to(3, (2, 3, 2))
    for columns in margins.residuals:
        rows = rows_of_marginal(margins, columns)
        people = [*(rows[:, k] for k in range(rows.shape[1])), np.full(len(rows), Fraction(0))]  # one is not counted
        moves = people if name == "add-remove" else [a - b for a in people for b in people]
        assert max(sum(move * move) for move in moves) == squared_sensitivity(margins, columns, RELATIONS[name])


def best_matrix_mechanism(margins: Margins) -> float:
    """Return the sum of variances of the optimal matrix mechanism for one unit of 1 / s (arXiv 2305.08175)."""
    total = 0.0
    for residual in margins.residuals:
        shares = sum(
            float(margins.cells(table) * margins.variance_share(table, residual))
            for table in margins.tables
            if set(residual) <= set(table)
        )
        total += (shares * float(margins.residual_variance(residual))) ** 0.5
    return total**2


def only_order(order: int, sizes: tuple[int, ...]) -> Margins:
    """Return all tables of exactly this many columns."""
    tables = tuple(subsets(tuple(range(len(sizes))), order))
    return Margins(sizes, tables, (Fraction(1),) * len(tables))


def test_the_split_is_near_the_best_matrix_mechanism() -> None:
    # ratios of root mean squared errors; worst for columns of three values
    office = (2, 18, 16, 7, 9, 5, 40, 3)
    for sizes, order, ratio in [(office, 2, 1.019), (office, 3, 1.022), ((2,) * 10, 2, 1.000), ((3,) * 8, 2, 1.130)]:
        margins = only_order(order, sizes)
        split = split_budget(margins, RELATIONS["add-remove"])
        assert sum(split.shares.values()) <= 1 and 0 <= split.gap < 1e-4
        solver = MarginLeastSquares(margins, {one: 1 / share for one, share in split.shares.items()})
        total = float(sum(margins.cells(table) * solver.variance(table) for table in margins.tables))
        assert (total / best_matrix_mechanism(margins)) ** 0.5 == pytest.approx(ratio, abs=6e-4)
        assert ratio_to_optimum(solver, rho=0.5) == pytest.approx((total / best_matrix_mechanism(margins)) ** 0.5)


@pytest.mark.parametrize("sizes", [(3,) * 6, (3,) * 24, (10,) * 24, (2, 3) * 6, (2,) * 8, (4, 7, 5)])
def test_no_split_is_further_from_the_optimum_than_the_bound(sizes: tuple[int, ...]) -> None:
    margins = only_order(2, sizes)
    shares = split_budget(margins, RELATIONS["add-remove"]).shares
    ratio = ratio_to_optimum(MarginLeastSquares(margins, {one: 1 / share for one, share in shares.items()}), rho=0.5)
    bound = max(prod(n / (n - 1) for n in (sizes[j] for j in table) if n > 2) ** 0.5 for table in margins.tables)
    assert 1 - 1e-6 <= ratio <= bound * (1 + 1e-4)


@pytest.mark.parametrize("name", RELATIONS)
def test_no_other_split_is_better_by_more_than_the_gap(name: str) -> None:
    margins, relation = Margins.up_to(2, (2, 3, 5)), RELATIONS[name]
    split = split_budget(margins, relation)

    def sum_of_variances(shares: dict[Columns, Fraction]) -> Fraction:
        variances = {one: squared_sensitivity(margins, one, relation) / share for one, share in shares.items()}
        solver = MarginLeastSquares(margins, variances)
        return sum((margins.cells(table) * solver.variance(table) for table in margins.tables), Fraction(0))

    ours, random = sum_of_variances(split.shares), np.random.default_rng(3)
    paid = [one for one in margins.residuals if squared_sensitivity(margins, one, relation)]
    for _ in range(50):
        parts = random.integers(1, 1000, len(paid))
        near = {one: Fraction(int(part), int(parts.sum())) for one, part in zip(paid, parts, strict=True)}
        mixed = {one: (share + 9 * split.shares.get(one, Fraction(0))) / 10 for one, share in near.items()}
        for other in (near, mixed):
            assert float(sum_of_variances(other)) >= float(ours) * (1 - split.gap)
    assert prod(margins.sizes) > len(paid)
