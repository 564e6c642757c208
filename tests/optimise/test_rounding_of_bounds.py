"""Prices that prove what is false: rounding in sums with many terms at one place."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.optimise.lp.bounds import UNIT, impossible
from discreet.optimise.lp.program import Request, program_of
from discreet.optimise.lp.solver import assemble
from discreet.properties import PROPERTIES


@pytest.mark.full
def test_prices_that_vanish_in_a_sum_prove_nothing() -> None:
    """The uniform mechanism meets this request, so no prices may say that nothing does.

    In column honesty a diagonal place is the first of n pairs. It costs 1 to begin with; n - 1 prices of a quarter of a
    unit in the last place vanish one by one, and a price of 1 leaves nothing. What is charged for each of them is a
    share of what is left, which is nothing, and not of what was there.
    """
    n = 300
    size = n + 1
    weights = tuple(Fraction(k + 1, size * (size + 1) // 2) for k in range(size))
    requirements = (PROPERTIES["CH"], dc.requirements.truth(exactly=Fraction(1, size)))
    request = Request(n, 1 - Fraction(1, 2**60), dc.losses.L1, weights, requirements)
    assert all(dc.check(dc.uniform(n), requirements).values())

    program = program_of(request, negligible=0.0, scaled=False)
    sizes = assemble(program)[3]
    one, other = n - 1, n
    prices, start = np.zeros(len(sizes)), 0
    for block in program.pairs:
        mine, truth = prices[start : start + len(block)], block.first // size
        first, second = block.first, block.second
        if block.label == "CH":
            for i, k in ((one, other), (other, one)):
                chosen = (truth == i) & (second % size < one)
                mine[chosen] = 0.24 * UNIT
                mine[(truth == i) & (second % size == k)] = 1 + 40 * UNIT
        else:
            for i, k in ((one, other), (other, one)):
                mine[(first == k * size + i) & (second == i * size + i)] = 1.0
        start += len(block)
    for r, row in enumerate(program.rows):
        if row.label.startswith("truth=") and int(row.places[0]) in (one * (size + 1), other * (size + 1)):
            prices[start + r] = -66 * UNIT
    assert not impossible(program, prices, sizes)
