"""Levels combined by least squares, against the normal equations solved in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.questions.groups import Groups, groups_from
from discreet.questions.levels import order_levels
from discreet.release.levels.combining import least_squares
from discreet.release.levels.overlapping import MAX_LEAF_ERROR, OverlappingLeastSquares
from discreet.release.levels.product import ProductLeastSquares
from discreet.release.levels.shape import Shape
from discreet.release.levels.tree import TreeLeastSquares
from support.tiers import examples

TINY = Fraction(1, 2**150)


def normal_equations(shape: Shape, variances, measured):
    """The leaves and the variances of all nodes by elimination in fractions."""
    live = np.flatnonzero(shape.live).tolist()
    rows = []
    for i in live:
        row = [
            sum(
                ((1 / v) * (nodes[i] == nodes[j]) for nodes, v in zip(shape.node_of_leaf, variances, strict=True)),
                Fraction(0),
            )
            for j in live
        ]
        right = sum(
            (
                Fraction(int(y[nodes[i], 0])) / v
                for nodes, v, y in zip(shape.node_of_leaf, variances, measured, strict=True)
            ),
            Fraction(0),
        )
        rows.append([*row, right, *(Fraction(int(i == j)) for j in live)])
    for k in range(len(live)):
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for other in range(len(live)):
            if other != k and rows[other][k]:
                factor = rows[other][k]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[k], strict=True)]
    x = [Fraction(0)] * shape.groups.size
    for place, leaf in enumerate(live):
        x[leaf] = rows[place][len(live)]
    inverse = [row[len(live) + 1 :] for row in rows]
    spreads = []
    for nodes, size in zip(shape.node_of_leaf, shape.sizes, strict=True):
        own = [Fraction(0)] * size
        for a, i in enumerate(live):
            for b, j in enumerate(live):
                if nodes[i] == nodes[j]:
                    own[nodes[i]] += inverse[a][b]
        spreads.append(own)
    return x, spreads


fractions = st.fractions(Fraction(1, 9), 30, max_denominator=12)


@st.composite
def problems(draw, chain=False):
    """Groups, levels, variances and measurements: a cross product with zeros, or a list of groups."""
    lengths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    columns = tuple("abc"[: len(lengths)])
    cells = None
    size = int(np.prod(lengths))
    if draw(st.booleans()):
        kept = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=size, unique=True))
        cells = np.stack(np.unravel_index(kept, lengths), axis=1)
        size = len(kept)
    zeros = draw(st.sets(st.integers(0, size - 1), max_size=max(0, size - 1)))
    groups = Groups(columns, ("integer",) * len(lengths), tuple(map(range, lengths)), cells, frozenset(zeros))
    everything = [one for k in range(len(lengths)) for one in combinations(range(len(lengths)), k)]
    if chain:
        order = draw(st.permutations(range(len(lengths))))
        everything = [tuple(sorted(order[:k])) for k in range(len(lengths))]
    some = draw(st.lists(st.sampled_from(everything), min_size=1))
    levels = order_levels([range(len(lengths)), *some])
    shape = Shape(groups, levels)
    variances = tuple(draw(fractions) for _ in levels)
    measured = [
        np.array(draw(st.lists(st.integers(-50, 50), min_size=n, max_size=n)), np.int64)[:, None] for n in shape.sizes
    ]
    return shape, variances, measured


def compared(solver, problem, within):
    shape, variances, measured = problem
    numerators, denominator = solver.leaves(measured)
    exact, spreads = normal_equations(shape, variances, measured)
    found = [Fraction(int(value), denominator) for value in numerators[:, 0]]
    assert all(abs(a - b) <= within for a, b in zip(found, exact, strict=True))
    floats = solver.float_leaves([one.astype(float) for one in measured])[:, 0]
    np.testing.assert_allclose(floats, np.array(exact, float), atol=1e-6)
    for own, theirs, variance in zip(solver.node_variances(), spreads, variances, strict=True):
        np.testing.assert_allclose(own, np.array(theirs, float), rtol=1e-9, atol=1e-12)
        assert max(theirs) <= variance  # never worse than the measurement itself


@examples(40)
@given(problems())
def test_any_levels_of_any_groups(problem) -> None:
    compared(OverlappingLeastSquares(*problem[:2]), problem, MAX_LEAF_ERROR)


@examples(40)
@given(problems(chain=True))
def test_trees_with_any_branches(problem) -> None:
    assert problem[0].is_tree
    compared(TreeLeastSquares(*problem[:2]), problem, TINY)


@examples(40)
@given(problems())
def test_cross_products_exactly(problem) -> None:
    shape, variances, measured = problem
    whole = Shape(Groups(shape.groups.columns, shape.groups.kinds, shape.groups.values), shape.levels)
    more = [np.resize(one, (size, 1)) for one, size in zip(measured, whole.sizes, strict=True)]
    solver = ProductLeastSquares(whole, variances)
    compared(solver, (whole, variances, more), 0)
    _, spreads = normal_equations(whole, variances, more)
    assert all(set(theirs) == {own} for own, theirs in zip(solver.level_variances(), spreads, strict=True))


def test_the_solver_that_suits_is_chosen() -> None:
    whole = groups_from({"a": range(2), "b": range(2)}, ["a", "b"])
    listed = groups_from([(0, 0), (0, 1), (1, 0)], ["a", "b"])
    ones = (Fraction(1),) * 3
    assert isinstance(least_squares(Shape(whole, ((0, 1), (0,), (1,))), ones), ProductLeastSquares)
    assert isinstance(least_squares(Shape(listed, ((0, 1), (0,), ())), ones), TreeLeastSquares)
    assert isinstance(least_squares(Shape(listed, ((0, 1), (0,), (1,))), ones), OverlappingLeastSquares)


def test_several_measures_are_combined_apart() -> None:
    shape = Shape(groups_from({"a": range(3), "b": range(2)}, ["a", "b"]), ((0, 1), (0,), ()))
    variances = (Fraction(1), Fraction(2, 3), Fraction(5))
    drawn = np.random.default_rng(3)
    measured = [drawn.integers(-9, 60, size=(n, 4)) for n in shape.sizes]
    for solver in (ProductLeastSquares, TreeLeastSquares, OverlappingLeastSquares):
        together, denominator = solver(shape, variances).leaves(measured)
        for k in range(4):
            alone, same = solver(shape, variances).leaves([one[:, k : k + 1] for one in measured])
            assert same == denominator
            gap = max(abs(int(a) - int(b)) for a, b in zip(together[:, k], alone[:, 0], strict=True))
            assert gap <= 2 * MAX_LEAF_ERROR * denominator


@pytest.mark.parametrize("solver", [ProductLeastSquares, TreeLeastSquares, OverlappingLeastSquares])
def test_numbers_beyond_64_bits_are_no_trouble(solver) -> None:
    shape = Shape(groups_from({"a": range(2)}, ["a"]), ((0,), ()))
    measured = [np.array([[2**61], [-(2**61)]]), np.array([[2**60]])]
    numerators, denominator = solver(shape, (Fraction(1), Fraction(1, 10**6))).leaves(measured)
    exact, _ = normal_equations(shape, (Fraction(1), Fraction(1, 10**6)), measured)
    assert all(
        abs(Fraction(int(a), denominator) - b) <= MAX_LEAF_ERROR for a, b in zip(numerators[:, 0], exact, strict=True)
    )
