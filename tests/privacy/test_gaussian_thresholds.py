"""Naming groups by discrete Gaussian noise: the proved delta against brute force, and the faults that it must catch."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidInput
from discreet.exact.laws import Gaussian
from discreet.exact.rationals import read_alpha
from discreet.privacy.gaussian_thresholds import GaussianThreshold, least_threshold
from discreet.privacy.partition_selection import least_reach, lost_by_any, naming_delta_up
from support.grids import every_case
from support.refusals import refused

#: A count that is always published, and one of nobody.
ALWAYS, NOBODY = 10**6, 0


def published(law: Gaussian, threshold: int, count: int, others: int) -> np.ndarray:
    """The law of what one group publishes, by the definition: withheld, or a report (relative to ``others``)."""
    reach = math.isqrt(int(90 * law.sigma2)) + 3
    reports = np.arange(-reach, 2 * reach + 1)
    law_of_reports = law.floats(-3 * reach, 3 * reach)[reports - (count - others) + 3 * reach]
    shown = (reports + others >= threshold) & (count > 0)
    return np.array([1 - law_of_reports[shown].sum(), *np.where(shown, law_of_reports, 0)])


def divergence(pairs: list[tuple[np.ndarray, np.ndarray]], epsilon: float) -> float:
    """The hockey-stick divergence of independent groups."""
    one, two = np.ones(1), np.ones(1)
    for here, there in pairs:
        one, two = np.outer(one, here).ravel(), np.outer(two, there).ravel()
    return float(np.maximum(one - math.exp(epsilon) * two, 0).sum())


def worst(noise: GaussianThreshold, epsilon: float, sizes: tuple[int, ...]) -> float:
    """The largest divergence over all numbers of other people in each group, changes of counts and directions."""
    law, many = Gaussian(noise.sigma2), len(noise.draws)
    steps = {1, noise.step}
    options = [(others, step) for others in sizes for step in steps]
    most = 0.0
    for groups in itertools.combinations_with_replacement(options, many):
        more = [published(law, noise.threshold, others + step, others) for others, step in groups]
        less = [published(law, noise.threshold, others, others) for others, _ in groups]
        if noise.replaced:
            for entered in itertools.combinations_with_replacement(options, many):
                new = [published(law, noise.threshold, others + step, others) for others, step in entered]
                old = [published(law, noise.threshold, others, others) for others, _ in entered]
                most = max(most, divergence([*zip(more, less, strict=True), *zip(old, new, strict=True)], epsilon))
        else:
            for one, two in ((more, less), (less, more)):
                most = max(most, divergence(list(zip(one, two, strict=True)), epsilon))
    return most


CASES = [
    ("3/2", 4, 1, False, 1), ("3/2", 4, 2, False, 1), ("2/5", 3, 2, False, 1), ("1", 3, 3, False, 1),
    ("3/2", 4, 1, True, 1), ("3", 6, 2, False, 2), ("3", 5, 1, True, 2),
]  # fmt: skip


@every_case(("sigma2", "threshold", "many", "replaced", "step"), CASES)
def test_the_proved_delta_is_that_of_brute_force(
    sigma2: str, threshold: int, many: int, replaced: bool, step: int
) -> None:
    noise = GaussianThreshold(Fraction(sigma2), threshold, (1,) * many, replaced, step)
    for epsilon in (Fraction(3, 2), Fraction(4)):
        bound = float(noise.delta_up(epsilon))
        every = worst(noise, float(epsilon), (NOBODY, 1, threshold - 1, ALWAYS) if many < 3 else (NOBODY, ALWAYS))
        assert every <= bound * (1 + 1e-9) <= every * 1.001 + 1e-12, (epsilon, every, bound)


def test_further_counts_of_a_group_join_the_shared_part() -> None:
    """A group of two counts, the first of which names it: shared, that is two Gaussians; new, one draw."""
    noise = GaussianThreshold(Fraction(2), 5, (2,))
    two = GaussianThreshold(Fraction(2), 5, (1, 1))
    epsilon = Fraction(2)
    assert noise.delta_of(0, 0, epsilon) == two.delta_of(0, 0, epsilon)
    assert noise.delta_of(1, 0, epsilon) == noise.naming_probability < two.delta_of(1, 0, epsilon)
    mixed = GaussianThreshold(Fraction(2), 5, (1, 2))
    assert mixed.delta_of(1, 0, epsilon) == GaussianThreshold(Fraction(2), 5, (2, 1)).delta_of(1, 0, epsilon)


@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_one_shared_count_is_what_the_judge_of_the_noise_says(epsilon: str) -> None:
    for sigma2 in (Fraction(7, 10), Fraction(26), Fraction(1000)):
        exact = float(dc.verify(dc.discrete_gaussian(sigma2=sigma2)).delta(Fraction(epsilon)))
        bound = float(GaussianThreshold(sigma2, 10**4, (1,)).delta_of(0, 0, Fraction(epsilon)))
        assert exact <= bound * (1 + 1e-12) <= exact * (1 + 1e-6) + 1e-20


# ------------------------------------------------------------------------------------------------ thresholds


@pytest.mark.parametrize(
    ("groups", "replaced", "threshold"), [(1, False, 31), (5, False, 69), (10, False, 99), (10, True, 139)]
)
def test_the_least_thresholds_at_epsilon_1_and_delta_1e_8(groups: int, replaced: bool, threshold: int) -> None:
    epsilon, delta = Fraction(1), Fraction(1, 10**8)
    noise = least_threshold(epsilon, delta, (1,) * groups, replaced)
    assert noise.threshold == threshold and noise.holds(epsilon, delta)
    lower = [
        GaussianThreshold(noise.sigma2 * factor, threshold - 1, noise.draws, replaced)
        for factor in (Fraction(98, 100), Fraction(1), Fraction(102, 100))
    ]
    assert not any(one.holds(epsilon, delta) for one in lower)


def test_fifty_groups_have_a_quarter_of_the_truncated_threshold() -> None:
    noise = least_threshold(Fraction(1), Fraction(1, 10**8), (1,) * 50)
    assert noise.threshold == 228 and least_reach(read_alpha(None, Fraction(1, 50)), Fraction(1, 10**8), 50) == 887


def test_more_people_groups_counts_or_rows_need_a_higher_threshold() -> None:
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    thresholds = [
        least_threshold(epsilon, delta, draws, replaced, step).threshold
        for draws, replaced, step in [
            ((1,) * 4, False, 1), ((2,) * 4, False, 1), ((2,) * 4, True, 1), ((2,) * 4, True, 3)
        ]
    ]  # fmt: skip
    assert thresholds == sorted(set(thresholds))


def test_so_little_epsilon_that_no_threshold_is_small_enough_is_refused() -> None:
    with refused(InvalidInput, "epsilon"):
        least_threshold(Fraction(1, 10**5), Fraction(1, 10**8), (1,))


# ------------------------------------------------------------------------------------------------ planted


def test_a_missing_exponent_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if one new group were named, however many a person has: T = 93, whose delta is 7 times what is claimed."""
    epsilon, delta = Fraction(1), Fraction(1, 10**8)
    with monkeypatch.context() as planted:
        planted.setattr(
            GaussianThreshold, "named_by", lambda self, draws: lost_by_any(self.naming_probability, min(draws, 1))
        )
        faulty = least_threshold.__wrapped__(epsilon, delta, (1,) * 10)
    assert faulty.threshold <= 93
    judged = GaussianThreshold(faulty.sigma2, 93, (1,) * 10)
    assert not judged.holds(epsilon, delta) and 6.9e-8 < float(judged.delta_up(epsilon)) < 7.2e-8


# ------------------------------------------------------------------------------------------------ truncated, rows


@every_case(("alpha", "reach", "step"), [("1/2", 3, 2), ("2/3", 5, 3), ("1/3", 4, 4)])
def test_truncated_noise_hides_several_rows_with_exactly_the_stated_delta(alpha: str, reach: int, step: int) -> None:
    a = Fraction(alpha)
    weights = {z: a ** abs(z) for z in range(-reach, reach + 1)}
    whole = sum(weights.values())

    def law(count: int) -> dict[int | None, Fraction]:
        shown: dict[int | None, Fraction] = {}
        for z, weight in weights.items():
            key = count + z if count + z > reach else None
            shown[key] = shown.get(key, Fraction(0)) + weight / whole
        return shown

    most = max(
        sum((max(Fraction(0), p - q.get(key, Fraction(0)) / a**step) for key, p in one.items()), Fraction(0))
        for n in range(3 * reach)
        for s in range(1, step + 1)
        for one, q in ((law(n), law(n + s)), (law(n + s), law(n)))
    )
    stated = naming_delta_up(a, reach, step)
    assert most <= stated <= most * (1 + Fraction(1, 10**30))
