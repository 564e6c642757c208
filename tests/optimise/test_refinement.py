"""Linear programs to many digits: the exact optimum, a proved bound, and what cannot be."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.optimise.lp.refinement import BITS, ExactProgram, InfeasibleProgram, solve_exactly
from support.oracles import linear_minimum
from support.tiers import examples


def test_the_optimum_of_a_small_program_to_all_digits():
    """min x + y, x + 3y >= 1, 3x + y >= 1: both are 1/4."""
    program = ExactProgram()
    x, y = program.variable(), program.variable()
    program.at_most({x: -1, y: -3}, -1)
    program.at_most({x: -3, y: -1}, -1)
    program.minimise({x: 1, y: 1})
    found = program.solve()
    assert abs(found.cost - Fraction(1, 2)) < Fraction(1, 2 ** (BITS - 8))
    assert found.bound <= Fraction(1, 2) and Fraction(1, 2) - found.bound < Fraction(1, 2 ** (BITS - 8))


def test_tiny_optima_keep_their_digits():
    """Chains p_i <= E p_(i+1) down to 1e-21: far below what a float solver calls zero."""
    E, size = Fraction(11, 1), 20
    program = ExactProgram()
    p = [program.variable(11.0**-k) for k in range(size)]
    program.equal(dict.fromkeys(p, 1), 1)
    for near, far in itertools.pairwise(p):
        program.at_most({near: 1, far: -E})
    program.minimise({p[-1]: 1})
    exact = Fraction(1) / sum(E**k for k in range(size))
    found = program.solve()
    assert float(found.cost / exact) == pytest.approx(1, rel=1e-14) and found.cost < Fraction(1, 10**19)
    assert float(found.bound / exact) == pytest.approx(1, rel=1e-14)


def test_what_cannot_be_is_said():
    program = ExactProgram()
    x = program.variable()
    program.at_most({x: 1}, 1)
    program.at_most({x: -1}, -2)
    program.minimise({x: 1})
    with pytest.raises(InfeasibleProgram):
        program.solve()


@given(st.data())
@examples(25)
def test_random_programs_agree_with_another_solver_and_with_their_bound(data):
    rows, columns = data.draw(st.integers(1, 5)), data.draw(st.integers(2, 6))
    number = st.integers(-9, 9)
    A = np.array(
        data.draw(st.lists(st.lists(number, min_size=columns, max_size=columns), min_size=rows, max_size=rows))
    )
    point = np.array(data.draw(st.lists(st.integers(0, 4), min_size=columns, max_size=columns)), float)
    point /= max(point.sum(), 1)
    b = A @ point + np.array(data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)))
    c = np.array(data.draw(st.lists(number, min_size=columns, max_size=columns)))
    program = ExactProgram()
    x = [program.variable() for _ in range(columns)]
    for row, side in zip(A.tolist(), b.tolist(), strict=True):
        if any(row):
            program.at_most(dict(zip(x, row, strict=True)), Fraction(side))
    program.at_most(dict.fromkeys(x, 1), 1)
    program.minimise(dict(zip(x, c.tolist(), strict=True)))
    if not c.any():
        return
    found = program.solve()
    other = linear_minimum(c, A_ub=np.vstack([A, np.ones(columns)]), b_ub=[*b, 1])
    assert float(found.cost) == pytest.approx(other, abs=1e-9)
    assert found.bound <= found.cost + Fraction(1, 2**200)
    assert float(found.bound) == pytest.approx(float(found.cost), abs=1e-9)


def test_equations_of_very_different_size_are_solved_together():
    """Residuals are measured in one unit, or rows with small denominators would be forgotten."""
    big = Fraction(1, 10**30)
    system = [{0: Fraction(1), 1: Fraction(1)}, {0: big, 1: -2 * big}]
    found = solve_exactly(system, [Fraction(1), Fraction(0)], np.array([1.0, 1e-30]), np.ones(2))
    assert found is not None
    assert abs(found[0] - Fraction(2, 3)) < Fraction(1, 2**300) and abs(found[1] - Fraction(1, 3)) < Fraction(1, 2**300)


def test_singular_equations_have_no_answer():
    system = [{0: Fraction(1), 1: Fraction(1)}, {0: Fraction(2), 1: Fraction(2)}]
    assert solve_exactly(system, [Fraction(1), Fraction(2)], np.ones(2), np.ones(2)) is None
