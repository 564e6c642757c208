"""Mixing and rounding: what makes rounding keep privacy, and that plain rounding does not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput
from discreet.exact.kernels import Noise
from discreet.exact.laws import GeometricTails
from discreet.exact.rationals import alpha_from_epsilon, at_most_exp, exp_bounds
from discreet.exact.rounding import WIDTH, mix_and_round, mixing_weight
from discreet.exact.tables import Table
from support.grids import every_case
from support.refusals import refused
from support.tiers import examples

F = Fraction


def is_private(table: Table, epsilon: Fraction) -> bool:
    """Whether q <= e^eps q' for all neighbouring rows, both ways, decided exactly."""
    for i in range(table.shape[0] - 1):
        for a, b in zip(table.row(i), table.row(i + 1), strict=True):
            if (a == 0) != (b == 0):
                return False
            if a and not (at_most_exp(F(a, b), epsilon) and at_most_exp(F(b, a), epsilon)):
                return False
    return True


def excess(table: Table, epsilon: Fraction) -> Fraction:
    """An upper bound of the largest P - e^eps P' over neighbours (0 for a private table)."""
    low, worst = exp_bounds(epsilon)[0], F(0)
    for i in range(table.shape[0] - 1):
        for j in range(table.shape[1]):
            p, q = table.probability(i, j), table.probability(i + 1, j)
            worst = max(worst, p - low * q, q - low * p)
    return worst


tables = st.tuples(st.integers(1, 5), st.integers(1, 9)).flatmap(
    lambda s: st.lists(
        st.lists(st.one_of(st.integers(0, 5), st.integers(0, 10**50)), min_size=s[1], max_size=s[1]).filter(any),
        min_size=s[0],
        max_size=s[0],
    )
)


@examples(100)
@given(tables, st.fractions(0, 1, max_denominator=10**6), st.sampled_from([8, 30, WIDTH]))
def test_rows_add_up_and_no_entry_moves_by_a_unit(rows, mixing, width):
    table = Table.from_rows(rows)
    rounded = mix_and_round(table, mixing, width)
    assert set(rounded.totals) == {2**width}
    outcomes = len(rows[0])
    for i in range(len(rows)):
        for j in range(outcomes):
            exact = ((1 - mixing) * table.probability(i, j) + mixing / outcomes) * 2**width
            assert abs(rounded.weight(i, j) - exact) < 1


@examples(60)
@given(
    st.fractions(F(1, 100), 5, max_denominator=100),
    st.integers(2, 14),
    st.integers(0, 2**32),
    st.sampled_from([20, 62]),
)
def test_mixed_random_private_mechanisms_stay_private(epsilon, outcomes, seed, width):
    """Rows built one from another by exact factors within e^+-eps, then scaled: private by construction."""
    rng = np.random.default_rng(seed)
    alpha = alpha_from_epsilon(epsilon / 2)
    row = [
        F(int(w) + 1) * alpha ** int(k)
        for w, k in zip(rng.integers(0, 9, outcomes), rng.integers(0, 60, outcomes), strict=True)
    ]
    rows = [row]
    for _ in range(3):
        row = [w * alpha ** int(k) for w, k in zip(row, rng.integers(0, 2, outcomes), strict=True)]
        rows.append(row)
    scale = math.lcm(*(w.denominator for r in rows for w in r))
    table = Table.from_rows([[int(w * scale) for w in r] for r in rows])
    assert is_private(table, epsilon)
    mixing = mixing_weight(outcomes, epsilon, F(0), width)
    if mixing <= 1:
        assert is_private(mix_and_round(table, mixing, width), epsilon)


@every_case("epsilon", ["0.01", "0.1", "1", "5"])
@every_case("n", [2, 10, 60])
def test_mixed_truncated_geometrics_stay_private(epsilon, n):
    eps = F(epsilon)
    table = Noise(GeometricTails.two_sided(alpha_from_epsilon(eps)), (0, n), (0, n)).table()
    mixing = mixing_weight(n + 1, eps, excess(table, eps))
    assert mixing < F(1, 10**9)
    assert is_private(mix_and_round(table, mixing), eps)


def test_plain_rounding_of_long_tails_is_not_private():
    """The negative control: without mixing a tail rounds to 0 beside a 1."""
    table = Noise(GeometricTails.two_sided(alpha_from_epsilon(F(1))), (0, 60), (0, 60)).table()
    assert is_private(table, F(1))
    assert not is_private(mix_and_round(table, F(0)), F(1))


def test_mechanisms_that_are_nearly_private_become_so():
    eps = F(1)
    table = Noise(GeometricTails.two_sided(alpha_from_epsilon(eps + F(1, 10**6))), (0, 20), (0, 20)).table()
    assert not is_private(table, eps)
    assert not is_private(mix_and_round(table, mixing_weight(21, eps, F(0))), eps)
    mixing = mixing_weight(21, eps, excess(table, eps))
    assert mixing < F(1, 10**4)
    assert is_private(mix_and_round(table, mixing), eps)


def test_the_weight_is_the_formula_rounded_up():
    eps, tau = F(1, 2), F(1, 10**6)
    e = math.exp(0.5)
    expected = (1e-6 + (1 + e) / 2**62) / (1e-6 + (e - 1) / 7)
    assert float(mixing_weight(7, eps, tau)) == pytest.approx(expected, rel=1e-12)
    low, high = exp_bounds(eps, 256)
    assert mixing_weight(7, eps, tau) >= (tau + (1 + low) / 2**62) / (tau + (high - 1) / 7)


def test_the_weight_is_finite_for_every_positive_epsilon():
    assert mixing_weight(2, F(1, 10**100), F(0)) > 1  # more than there is: the caller refuses


@pytest.mark.parametrize("bad", [F(-1, 10), F(11, 10)])
def test_more_than_all_or_less_than_no_noise_is_refused(bad):
    with refused(InvalidInput, "mixing"):
        mix_and_round(Table.from_rows([[1, 1]]), bad)


@every_case("n", [1, 2, 3, 4, 5, 8, 9])
def test_what_is_symmetric_stays_symmetric(n: int) -> None:
    """Ties at the last bit were broken in order, so that compare listed the exponential mechanism without S."""
    rng = np.random.default_rng(n)
    for _ in range(20):
        weights = rng.integers(1, 50, (n + 1, n + 1))
        table = Table.from_array(weights + weights[::-1, ::-1])
        rounded = mix_and_round(table, Fraction(1, 2**40))
        matrix = np.array([rounded.row(i) for i in range(n + 1)], dtype=object)
        assert (matrix == matrix[::-1, ::-1]).all()
        assert set(matrix.sum(axis=1).tolist()) == {2**62}
        for i in range(n + 1):
            mixed = [
                (1 - Fraction(1, 2**40)) * table.probability(i, j) + Fraction(1, 2**40) / (n + 1) for j in range(n + 1)
            ]
            assert all(abs(w - p * 2**62) <= 1 for w, p in zip(matrix[i], mixed, strict=True))
