"""A mechanism that did not make the reports is noticed; the one that did is not accused."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from support.battery import structured_cases, truth


def test_the_right_mechanism_is_hardly_ever_accused() -> None:
    """Conservative: fewer alarms than one in a hundred, over sparse and smooth populations, few people and many."""
    rng = np.random.default_rng(8)
    alarms = 0
    for k in range(200):
        size = int(rng.integers(2, 60))
        m = [dc.geometric(size - 1, epsilon=0.5), dc.randomized_response(size, epsilon=2)][k % 2]
        people = rng.multinomial(int(10 ** rng.uniform(1, 5)), truth(rng, size, k % 4))
        counts = sum(rng.multinomial(n, row / row.sum()) for n, row in zip(people, m.matrix, strict=True))
        alarms += not dc.estimate(counts, m, method="mle").fit.plausible
    assert alarms <= 2


def test_noise_without_end_maps_and_groups_are_not_accused() -> None:
    assert all(dc.estimate(**arguments, method="mle").fit.plausible for _, arguments in structured_cases(40, 9))


@pytest.mark.parametrize(
    ("made", "taken"),
    [
        (dc.geometric(20, epsilon=0.5), dc.randomized_response(21, epsilon=2)),
        (dc.randomized_response(21, epsilon=3), dc.geometric(20, epsilon="0.3")),
        (dc.geometric(20, epsilon=0.5), dc.geometric(20, epsilon="0.2")),
    ],
)
def test_another_mechanism_is_noticed(made: dc.Mechanism, taken: dc.Mechanism) -> None:
    reports = made.simulate(np.repeat([3, 9], 5000), seed=2)
    assert dc.estimate(reports=reports, mechanism=made, method="mle").fit.plausible
    wrong = dc.estimate(reports=reports, mechanism=taken, method="mle")
    assert not wrong.fit.plausible and "DO NOT FIT" in str(wrong)


def test_a_range_that_is_too_small_is_noticed() -> None:
    m = dc.two_sided_geometric(epsilon=1)
    reports = m.simulate(np.repeat([2, 15], 1000), seed=3)
    assert dc.estimate(reports=reports, mechanism=m, over=dc.Counts(20), method="mle").fit.plausible
    assert not dc.estimate(reports=reports, mechanism=m, over=dc.Counts(5), method="mle").fit.plausible


def test_too_little_noise_cannot_be_told_from_a_wider_population() -> None:
    """What the test cannot see: a mechanism with less noise than was added fits, with a wider population."""
    reports = dc.geometric(20, epsilon="0.3").simulate(np.full(3000, 10), seed=4)
    assert dc.estimate(reports=reports, mechanism=dc.geometric(20, epsilon=1), method="mle").fit.plausible
