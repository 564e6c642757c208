"""Intervals of medians and percentages by the joint law of the counts: they hold for all truths, and are shorter."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.exact.laws import Law
from discreet.release.levels.quantiles import Balance, find_quantile
from discreet.release.noise import margins
from discreet.release.noise.cells import CellNoise, cell_noise
from discreet.release.noise.shares import balance_width, share_interval

LEVEL = Fraction(4, 5)


def law_of(noise: CellNoise) -> Law:
    assert noise.shift_law is not None
    return noise.shift_law


def probabilities(law: Law, most: int) -> dict[int, float]:
    return dict(zip(range(-most, most + 1), law.floats(-most, most).tolist(), strict=True))


def enumerated_misses(law: Law, truth: tuple[int, ...], most: int, misses) -> float:
    """The probability that a figure misses the truth; outcomes beyond ``most`` count as misses."""
    chances = probabilities(law, most)
    miss, total = 0.0, 0.0
    for noise in product(chances, repeat=len(truth)):
        chance = float(np.prod([chances[one] for one in noise]))
        total += chance
        miss += chance * misses([t + z for t, z in zip(truth, noise, strict=True)])
    return miss + 1 - total


@pytest.mark.parametrize("truth", [(3, 0, 2), (1, 0, 0), (5, 1, 5), (0, 2, 0)])
@pytest.mark.parametrize("share", ["1/2", "1/4"])
@pytest.mark.parametrize("output", ["signed", "clamped"])
def test_intervals_of_quantiles_hold_exactly(truth: tuple[int, ...], share: str, output: str) -> None:
    noise, q = cell_noise("geometric", epsilon=2, output=output), Fraction(share)
    cumulated = np.cumsum(truth)
    true = next(k for k, below in enumerate(cumulated) if below >= q * int(cumulated[-1]))

    def misses(reported: list[int]) -> bool:
        shown = reported if output == "signed" else [max(0, one) for one in reported]

        def balance(k: int) -> Balance:
            lower = np.arange(len(truth)) <= k
            return Balance(*margins.balance(shown, noise, None, lower, ~lower, q, (1 - LEVEL) / 2))

        found = find_quantile("age", q, range(len(truth)), balance, LEVEL)
        return not found.low <= true <= found.high

    assert enumerated_misses(law_of(noise), truth, 4, misses) <= 1 - LEVEL


@pytest.mark.parametrize("truth", [(2, 3), (0, 3)])
def test_intervals_of_shares_hold_exactly(truth: tuple[int, int]) -> None:
    law, true = law_of(cell_noise("geometric", epsilon=2)), Fraction(truth[0], sum(truth))

    def misses(reported: list[int]) -> bool:
        low, high = share_interval(law, (reported[0], 1), (reported[1], 1), 1 - LEVEL)
        return not low <= true <= high

    assert enumerated_misses(law, truth, 4, misses) <= 1 - LEVEL


@pytest.mark.parametrize(("lower", "upper", "share"), [(3, 7, "3/10"), (10, 30, "1/4"), (1, 40, "1/50")])
@pytest.mark.parametrize("mechanism", ["geometric", "discrete-gaussian"])
def test_bounds_of_balances_hold_and_are_tight(lower: int, upper: int, share: str, mechanism: str) -> None:
    """Seeded noise; bounds a fifth shorter, the negative control, do not hold."""
    options = {"epsilon": 1} if mechanism == "geometric" else {"sigma2": 4}
    law, q, miss, runs = law_of(cell_noise(mechanism, **options)), Fraction(share), Fraction(1, 20), 20_000
    chances = probabilities(law, 40)
    weights = np.array(list(chances.values()))
    random = np.random.default_rng(1)
    below, above = (
        random.choice(list(chances), size=(runs, cells), p=weights / weights.sum()).sum(axis=1)
        for cells in (lower, upper)
    )
    errors = np.abs(float(1 - q) * below - float(q) * above)
    width = float(balance_width(law, lower, upper, q, miss))
    slack = 3 * (0.05 * 0.95 / runs) ** 0.5
    assert np.mean(errors > width) <= 0.05 + slack
    assert np.mean(errors > 0.8 * width) > 0.05 + slack


def test_intervals_are_shorter_than_those_of_two_totals() -> None:
    noise = cell_noise("geometric", epsilon=1)
    part, whole = np.arange(10) < 3, np.full(10, True)
    reported = np.full(10, 1000)
    found = margins.percentage(reported, noise, None, part, whole)
    cells = margins.ReleasedCells(reported, noise, None)
    low, high = margins._share_of_enclosed(cells, part, ~part, Fraction(1, 80))
    assert found.low < found.estimate < found.high
    assert found.high - found.low < 0.7 * 100 * (high - low)
