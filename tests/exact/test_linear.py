"""Systems of equations in integers: the answer is multiplied out, singular ones are refused."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.exact.linear import PRIME, Singular, solve


def _eliminated(rows: list[list[int]], right: list[int]) -> list[Fraction] | None:
    """Gauss and Jordan with fractions, as one would write it first."""
    work = [[Fraction(v) for v in [*row, b]] for row, b in zip(rows, right, strict=True)]
    for k in range(len(work)):
        pivot = next((r for r in range(k, len(work)) if work[r][k]), None)
        if pivot is None:
            return None
        work[k], work[pivot] = work[pivot], work[k]
        work[k] = [v / work[k][k] for v in work[k]]
        for r in range(len(work)):
            if r != k:
                work[r] = [v - work[r][k] * p for v, p in zip(work[r], work[k], strict=True)]
    return [row[-1] for row in work]


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(
    st.lists(st.lists(st.integers(-9, 9), min_size=n, max_size=n), min_size=n, max_size=n),
    st.lists(st.integers(-9, 9), min_size=n, max_size=n),
)))  # fmt: skip
def test_solutions_are_those_of_elimination(system):
    rows, right = system
    wanted = _eliminated(rows, right)
    matrix = np.array(rows, dtype=object)
    if wanted is None:
        with pytest.raises(Singular):
            solve(matrix, right)
    else:
        numerators, denominator = solve(matrix, right)
        assert [Fraction(v, denominator) for v in numerators] == wanted and denominator > 0


def test_long_numbers_are_solved_exactly():
    draw = random.Random(5)
    matrix = np.array([[draw.getrandbits(300) - 2**299 for _ in range(9)] for _ in range(9)], dtype=object)
    numerators, denominator = solve(matrix, [1] * 9)
    assert all(v == denominator for v in matrix.dot(np.array(numerators, dtype=object)))


def test_no_equations_have_the_empty_solution():
    assert solve(np.zeros((0, 0), dtype=object), []) == ([], 1)


def test_a_matrix_that_is_singular_modulo_the_prime_is_refused_not_guessed():
    with pytest.raises(Singular):
        solve(np.array([[PRIME]], dtype=object), [1])
