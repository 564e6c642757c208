"""Intervals of medians and percentages by the joint law of the counts: they hold for all truths, and are shorter."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

import discreet as dc
from discreet.exact.laws import Law
from discreet.questions.groups import groups_from
from discreet.release.levels.combining import LevelCombination
from discreet.release.levels.quantiles import Balance, find_quantile
from discreet.release.levels.shape import Shape
from discreet.release.levels.shares import level_share_interval
from discreet.release.noise import margins
from discreet.release.noise.cells import CellNoise, cell_noise
from discreet.release.noise.shares import balance_width, share_interval
from discreet.release.noise.sums import SumTerms, sum_quantile
from support.published import BUNDLES

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


def test_intervals_of_shares_of_a_table_with_totals_hold_exactly() -> None:
    """Two groups and their total, each with noise; a test at twice the probability, the control, does not hold."""
    truth, both, unit = (2, 3), two_groups_and_their_total(), 10**4
    masks = np.array([[True], [False]]), np.array([[True], [True]])
    true, cells = Fraction(truth[0], sum(truth)), (*truth, sum(truth))

    @cache
    def interval(part: int, rest: int, miss: Fraction) -> tuple[Fraction, Fraction]:
        return level_share_interval(both, masks, (Fraction(part, unit), Fraction(rest, unit)), miss)

    def missed(reported: list[int], miss: Fraction) -> bool:
        leaves = both.leaves([np.array(reported[:2])[:, None], np.array(reported[2:])[:, None]])
        scaled = leaves[:, 0] * (unit // 10**both.digits)
        low, high = interval(int(scaled[0]), int(scaled[1]), miss)
        return not low <= true <= high

    law = both.laws[0]
    assert enumerated_misses(law, cells, 3, lambda one: missed(one, 1 - LEVEL)) <= 1 - LEVEL
    assert enumerated_misses(law, cells, 3, lambda one: missed(one, Fraction(4, 5))) > 1 - LEVEL


def two_groups_and_their_total() -> LevelCombination:
    shape = Shape(groups_from({"a": range(2)}, ["a"]), ((0,), ()))
    return LevelCombination(shape, (law_of(cell_noise("geometric", epsilon=2)),) * 2)


def test_shares_of_a_table_with_totals_are_enclosed_more_narrowly_than_two_totals() -> None:
    release = dc.verify_bundle(BUNDLES / "cube_gaussian").release
    assert release is not None
    table = release.tables[0]
    for part, whole in (({"health": "good"}, None), ({"health": "good", "site": 1}, {"site": 1})):
        found = table.percentage(part, whole)
        each = replace(table, level=(1 + table.level) / 2)
        one = each.total(part)
        rest = each.total({**part, "health": ["excellent", "fair", "poor"]})
        length = 100 * (one.high / (one.high + rest.low) - one.low / (one.low + rest.high))
        assert found.low < found.estimate < found.high and found.high - found.low < 0.92 * length
    assert table.percentage({"site": 1}, {"site": 1}).low == 100
    assert table.percentage(None, None).low == 100


@pytest.mark.parametrize("weights", [(3, 1), (1, 9), (2, 1)])
def test_quantiles_of_weighted_sums_are_those_of_the_convolution(weights: tuple[int, int]) -> None:
    """Also of positive parts, exactly: listed here outcome by outcome, tails included."""
    law = law_of(cell_noise("geometric", epsilon=1))
    parts = (SumTerms(law, 2, False, weights[0]), SumTerms(law, 2, True, weights[1]))
    chances = probabilities(law, 30)
    sums = {0: 1.0}
    for weight, positive in ((weights[0], False),) * 2 + ((weights[1], True),) * 2:
        after: dict[int, float] = {}
        for total, chance in sums.items():
            for outcome, other in chances.items():
                place = total + weight * (max(outcome, 0) if positive else outcome)
                after[place] = after.get(place, 0.0) + chance * other
        sums = after
    for share in (Fraction(1, 20), Fraction(1, 1000)):
        exceeding = {bound: sum(p for one, p in sums.items() if one > bound) for bound in range(200)}
        least = next(bound for bound, chance in exceeding.items() if chance <= share)
        assert sum_quantile(parts, share) == least


def test_quartiles_of_clamped_counts_are_enclosed_more_narrowly_than_by_two_totals() -> None:
    """Bundles of layouts before 5 keep the intervals that they publish."""
    noise, share = cell_noise("geometric", epsilon="1/5", output="clamped"), Fraction(1, 4)
    reported = np.array([40, 0, 55, 61, 0, 70, 66, 52, 31, 20])
    lower = np.arange(10) < 4
    lengths = []
    for joint in (True, False):
        _, low, high = margins.balance(reported, noise, None, lower, ~lower, share, Fraction(1, 40), joint=joint)
        lengths.append(high - low)
    assert lengths[0] < 0.9 * lengths[1]
