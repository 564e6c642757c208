"""The leaderboard of estimators: ratios with two kinds of intervals, and the number of combs."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from support.paths import ROOT


@pytest.fixture(scope="module")
def battery() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        import battery

        yield battery


def made(spread: float, apart: float, surveys: int, seed: int = 1) -> Any:
    """Errors of two methods: one half of the other, with chance in every survey and differences of populations."""
    rng, settings = np.random.default_rng(seed), {}
    for population in range(8):
        shift = np.exp(apart * rng.normal())
        for size in (1, 2, 3):
            plain = np.exp(spread * rng.normal(size=(surveys, 2)))
            ours = shift / 2 * plain * np.exp(spread * rng.normal(size=(surveys, 2)))
            settings["geometric", str(population), size] = {"ours": ours, "plain": plain}
    return settings


def test_equal_ratios_have_no_interval_and_chance_widens_one_kind_only(battery: ModuleType) -> None:
    sure = battery.compare(made(0.0, 0.0, 4), "ours", "plain", 0)
    assert sure.mean == pytest.approx(0.5) and sure.by_surveys == pytest.approx((0.5, 0.5))
    chance = battery.compare(made(0.3, 0.0, 4), "ours", "plain", 0)
    assert chance.by_surveys[0] < 0.5 < chance.by_surveys[1]
    differ = battery.compare(made(0.0, 0.5, 4), "ours", "plain", 0)
    assert np.ptp(differ.by_surveys) < 1e-9 < 0.1 < np.ptp(differ.by_populations)


def test_intervals_hold_with_few_surveys(battery: ModuleType) -> None:
    """The ratio of mean errors is 1/2 on average of the logarithm; with two surveys each the interval still holds."""
    held = 0
    for seed in range(200):
        one = battery.compare(made(0.3, 0.0, 2, seed), "ours", "plain", 0)
        held += one.by_surveys[0] <= 0.5 <= one.by_surveys[1]
    assert 0.9 * 200 <= held < 200


def test_combs_are_counted_among_smooth_populations_under_noise_that_stays_near(battery: ModuleType) -> None:
    far, near = np.full((3, 2), 0.6), np.full((3, 2), 0.1)
    found = {
        ("geometric 1", "uniform", 5): {"ours": far},
        ("geometric 1", "gamma", 5): {"ours": near},
        ("k-RR 2", "uniform", 5): {"ours": far},
        ("geometric 1", "four points", 5): {"ours": far},
    }
    assert battery.combs(found, "ours") == (3, 6)
