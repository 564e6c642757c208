"""The geometric mechanism of a metric space: its formula, where it exists, and what it says where it does not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InvalidInput, Unsupported
from discreet.mechanisms.weighting import NoWeighting, equitable_classes, nonnegative_solution, weighting
from support.oracles import linear_minimum
from support.refusals import refused
from support.tiers import examples

alphas = st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20)


def rows(m) -> list[list[Fraction]]:
    return [[m.kernel.probability(i, j) for j in range(m.outputs.size)] for i in range(m.inputs.size)]


@given(a=alphas, n=st.integers(1, 9))
def test_on_a_line_it_is_the_truncated_geometric_mechanism(a, n):
    assert rows(dc.geometric(dc.Range(0, n), alpha=a)) == rows(dc.geometric(n, alpha=a))


@given(a=alphas, n=st.integers(3, 12))
def test_on_a_ring_all_weights_are_equal(a, n):
    m = dc.geometric(dc.Ring(n), alpha=a)
    total = sum(a ** min(k, n - k) for k in range(n))
    assert rows(m) == [[a ** min(abs(i - j), n - abs(i - j)) / total for j in range(n)] for i in range(n)]


def test_the_singular_bipartite_graph_has_one():
    space = dc.Graph([(f"a{i}", f"b{j}") for i in range(3) for j in range(3)])
    similarity = np.array([[0.5 ** space.distance(x, y) for y in space.labels] for x in space.labels])
    assert abs(np.linalg.det(similarity)) < 1e-12
    m = dc.geometric(space, alpha="1/2")
    assert m.probability("a0", "a0") == Fraction(1, 3) and m.probability("a0", "b1") == Fraction(1, 6)


@given(a=alphas, leaves=st.integers(2, 6))
def test_a_star_has_one_up_to_alpha_one_over_its_leaves_less_one(a, leaves):
    star = dc.Graph([("centre", k) for k in range(leaves)])
    if a <= Fraction(1, leaves - 1):
        mu = 1 - leaves * a / (1 + a)
        assert dc.geometric(star, alpha=a).probability("centre", "centre") == mu
    else:
        with refused(Unsupported, token="design") as caught:
            dc.geometric(star, alpha=a)
        assert "'centre'" in str(caught.value) and "exponential" in str(caught.value)


@examples(60)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.fractions(Fraction(1, 3), 3, max_denominator=3)), min_size=1, max_size=7),
    alphas,
)
def test_it_is_tight_between_all_pairs_and_adds_up(steps, a):
    """Trees with lengths: P(y|x) = mu_y a^d, and every ratio reaches its limit where mu is positive."""
    tree = dc.Graph([(k, choice % k, length) for k, (choice, length) in enumerate(steps, 1)])
    try:
        m = dc.geometric(tree, alpha=a)
    except Unsupported:
        return
    n, table = tree.size, rows(m)
    far = tree.steps
    assert all(sum(row) == 1 for row in table)
    step = Fraction(m.parameters["alpha"])
    for i in range(n):
        for j in range(n):
            for y in range(n):
                assert table[i][y] * step ** int(far[j, y]) == table[j][y] * step ** int(far[i, y])
    assert m.certificate.epsilon <= float(-math.log(a)) * (1 + 1e-9)
    assert m.certificate.epsilon == pytest.approx(-math.log(a), rel=1e-9)


@examples(60)
@given(st.integers(2, 6), st.integers(0, 10**6), alphas)
def test_it_exists_exactly_where_nonnegative_weights_do(size, seed, a):
    """Against a linear program in floats, for whole distances."""
    rng = np.random.default_rng(seed)
    far = np.triu(rng.integers(1, 4, (size, size)), 1)
    far = far + far.T
    for k in range(size):
        far = np.minimum(far, far[:, k, None] + far[None, k, :])
    similarity = float(a) ** far
    shortage = linear_minimum(
        np.r_[np.zeros(size), np.ones(2 * size)],
        A_eq=np.hstack([similarity, np.eye(size), -np.eye(size)]), b_eq=np.ones(size),
    )  # fmt: skip
    try:
        mu = weighting(far, a)
    except NoWeighting:
        assert shortage > 1e-9
    else:
        assert shortage < 1e-7 and min(mu) >= 0
        assert all(sum(m * a ** int(k) for m, k in zip(mu, row, strict=True)) == 1 for row in far)


def test_singular_systems_are_solved_exactly():
    matrix = np.array([[2, 2, 1], [2, 2, 1], [1, 1, 5]], dtype=object)
    x = nonnegative_solution(matrix)
    assert [sum(int(c) * v for c, v in zip(row, x, strict=True)) for row in matrix.tolist()] == [1, 1, 1] and min(
        x
    ) >= 0
    with pytest.raises(NoWeighting):
        nonnegative_solution(np.array([[1, 1], [2, 2]], dtype=object))


def test_values_that_look_alike_share_an_unknown():
    cube = dc.ProductSpace((dc.Counts(1),) * 5, norm="l1")
    steps = np.array([[int(cube.exact_squared_distance(i, j) ** 0.5) for j in range(32)] for i in range(32)])
    assert equitable_classes(steps).max() == 0
    line = np.abs(np.subtract.outer(range(7), range(7)))
    assert equitable_classes(line).tolist() == [0, 1, 2, 3, 2, 1, 0]


def test_on_an_l1_product_it_is_the_product():
    parts = (dc.Ring(5), dc.Range(0, 2, "0.5"), dc.Tree([None, 0, 0]))
    m = dc.geometric(dc.ProductSpace(parts, norm="l1"), alpha="1/4")
    single = [dc.geometric(part, epsilon=2 * math.log(2)) for part in parts]
    for x, y in [((0, 0, 0), (1, 0.5, 2)), ((4, 2, 1), (0, 0, 0)), ((2, 1, 1), (2, 1, 1))]:
        each = [float(one.probability(a, b)) for one, a, b in zip(single, x, y, strict=True)]
        assert float(m.probability(x, y)) == pytest.approx(math.prod(each), rel=1e-9)
    assert m.certificate.epsilon == pytest.approx(math.log(4), rel=1e-9)


@pytest.mark.parametrize("space", [
    dc.Grid(3, 3, cell=100), dc.ProductSpace((dc.Ring(5), dc.Range(0, 3)), norm="l2"),
    dc.MetricSpace.from_points({k: (3 * k, k * k % 13) for k in range(9)}), dc.Range(0, 400),
], ids=repr)  # fmt: skip
def test_rounded_tables_state_the_epsilon_that_was_judged(space):
    """Irrational distances, and too many digits: at most the epsilon asked for, and hardly less."""
    epsilon = 1 / float(space.diameter) * 4
    m = dc.geometric(space, epsilon=epsilon)
    assert m.certificate.notion == "metric" and epsilon * (1 - 1e-6) < m.certificate.epsilon <= epsilon
    assert m.certificate.details["lowered_for_rounding"] > 0
    assert dc.verify(m).epsilon == m.certificate.epsilon


def test_epsilon_is_per_unit_of_distance():
    near, far = dc.geometric(dc.Range(0, 4, "0.5"), epsilon=1), dc.geometric(dc.Range(0, 8), epsilon="0.5")
    assert rows(near) == rows(far) and near.certificate.epsilon == pytest.approx(1)
    assert dc.geometric(dc.Range(0, 8, 2), alpha="1/2").probability(0, 4) == dc.geometric(4, alpha="1/4").probability(
        0, 2
    )


def test_the_exponential_mechanism_of_a_space_keeps_its_epsilon_everywhere():
    for space in (dc.Ring(7), dc.Graph([("c", k) for k in range(6)]), dc.Grid(3, 4, cell=10), dc.Range(0, 5, "0.5")):
        m = dc.exponential(space, epsilon="0.3")
        assert m.certificate.notion == "metric" and 0 < m.certificate.epsilon <= 0.3
        i, j = space.value(0), space.value(space.size - 1)
        far = float(space.distance(i, j))
        assert float(m.probability(i, j) / m.probability(i, i)) == pytest.approx(math.exp(-0.15 * far), rel=1e-6)
    with refused(InvalidInput, "scores"):
        dc.exponential(dc.Ring(7), epsilon=1, inputs=dc.Ring(7))


def test_what_has_no_distance_has_no_geometric_mechanism():
    with refused(Unsupported):
        dc.geometric(dc.ProductSpace((dc.Ring(3), dc.Ring(3))), epsilon=1)
    with refused(InvalidInput, "n"):
        dc.geometric(dc.Integers(), epsilon=1)
    with refused(InvalidInput):
        dc.geometric(dc.Ring(3), epsilon=1, alpha="1/2")
    with refused(InvalidInput):
        dc.geometric(dc.Ring(3))
