"""The stratified estimate: intervals against one large problem, and against a choice that depends on the value."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.errors import Unsupported
from discreet.estimation.intervals import intervals
from support.refusals import refused

BOLD, CAREFUL = dc.geometric(6, epsilon=2), dc.explicit_fair(6, epsilon="0.5")
COUNTS = np.array([40, 22, 31, 9, 5, 14, 3]), np.array([30, 44, 25, 28, 19, 10, 12])
STATISTICS = {"mean": np.arange(7.0), "at most 2": (np.arange(7) <= 2).astype(float), "3": np.eye(7)[3]}


def both() -> dc.Stratified:
    return dc.estimate([(COUNTS[0], BOLD), (COUNTS[1], CAREFUL)], method="mle").stratified


@pytest.mark.parametrize("name", STATISTICS)
def test_strata_are_one_problem_whose_truths_are_pairs_of_a_group_and_a_value(name: str) -> None:
    f, inputs = STATISTICS[name], both()._interval_inputs
    whole = np.zeros((14, 14))
    whole[:7, :7], whole[7:, 7:] = BOLD.matrix, CAREFUL.matrix
    e = dc.estimate(np.concatenate(COUNTS), whole, method="mle")
    assert inputs.top.p == pytest.approx(e.distribution, abs=1e-4)
    by_hand = intervals.ends(e._likelihood, e._top, np.tile(f, 2), 0.95, 0)
    assert intervals.ends(inputs.likelihood, inputs.top, np.tile(f, 2), 0.95, 0) == pytest.approx(by_hand, abs=1e-3)
    assert inputs._unbiased(f, 0.95) == pytest.approx(e._interval_inputs._unbiased(np.tile(f, 2), 0.95), rel=1e-6)


def test_everything_can_be_asked_of_strata() -> None:
    e = both()
    for statistic in (
        "mean",
        "variance",
        ("cdf", 2),
        ("quantile", 0.5),
        ("cell", 3),
        ("count", 3),
        np.arange(7.0) ** 2,
    ):
        interval = e.interval(statistic)
        assert interval.low <= interval.estimate <= interval.high
    assert e.interval("mean").estimate == pytest.approx(e.mean())
    assert e.interval("variance").estimate == pytest.approx(e.variance())
    band = e.band(simultaneous=True)
    assert (band.low <= e.cdf() + 1e-9).all() and (e.cdf() <= band.high + 1e-9).all()
    with refused(Unsupported, "surveys"):
        e.interval("mean", surveys=39)


def test_one_stratum_is_the_estimate_itself() -> None:
    e = dc.estimate(COUNTS[0], BOLD, method="mle")
    for statistic in ("mean", "variance", ("cdf", 2)):
        assert tuple(e.stratified.interval(statistic)) == pytest.approx(tuple(e.interval(statistic)), rel=1e-3)


def test_strata_hold_a_truth_that_the_common_estimate_misses() -> None:
    """Those with large values chose more noise: a common distribution is wrong, and its interval too."""
    bold, careful = dc.geometric(10, epsilon=3), dc.geometric(10, epsilon="0.3")
    rng = np.random.default_rng(3)
    held = {"common": 0, "stratified": 0}
    for seed in range(20):
        low, high = rng.binomial(10, 0.2, 1000), rng.binomial(10, 0.7, 1000)
        e = dc.estimate(
            reports=[(bold.simulate(low, seed=seed), bold), (careful.simulate(high, seed=seed), careful)], method="mle"
        )
        for name, one in (("common", e), ("stratified", e.stratified)):
            interval = one.interval("mean")
            held[name] += interval.low <= 4.5 <= interval.high
    assert held["common"] == 0 and held["stratified"] >= 17


def test_a_map_in_strata_too_large_for_intervals_says_so() -> None:
    grid = dc.Grid(40, 40, cell=100.0)
    ms = [dc.planar_geometric(grid, epsilon=e) for e in ("0.005", "0.01")]
    rng = np.random.default_rng(1)
    e = dc.estimate(reports=[(m.simulate(rng.integers(0, 1600, 3000), seed=1), m) for m in ms], method="mle")
    with refused(Unsupported, token="strata"):
        e.stratified.interval(("cell", 5))
