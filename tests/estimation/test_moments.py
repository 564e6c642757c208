"""Intervals around unbiased estimates: weights, ends against a plain search, and coverage by adding up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

import discreet as dc
from discreet.estimation.intervals import moments
from discreet.estimation.intervals.moments import Unbiased
from support.oracles import convex_minimum

RNG = np.random.default_rng(7)
RANDOM = RNG.dirichlet(np.ones(9), 6)  # six truths, nine outputs


def unbiased(e: Any) -> Unbiased:
    return Unbiased(e.problem, e.distribution)


@pytest.mark.parametrize(
    "mechanism",
    [
        dc.geometric(5, epsilon="0.3"),
        dc.randomized_response(6, epsilon=1),
        dc.explicit_fair(5, epsilon=1),
        RANDOM,
    ],
)
def test_weights_of_reports_give_the_statistic_back(mechanism: Any) -> None:
    A = mechanism.matrix if isinstance(mechanism, dc.Mechanism) else mechanism
    f = np.array([1.0, 0, -2, 5, 0, 3])
    g = unbiased(dc.estimate(np.arange(A.shape[1]) + 3, mechanism, method="mle")).weights(f)
    assert g is not None and A @ g == pytest.approx(f, abs=1e-9)


def test_of_several_weights_those_with_the_least_variance_are_taken() -> None:
    e = dc.estimate(np.arange(9) * 7 + 30, RANDOM, method="mle")
    f = np.arange(6.0)
    g = unbiased(e).weights(f)
    u = e.distribution @ RANDOM
    assert g is not None
    for row in np.linalg.svd(RANDOM)[2][6:]:  # what can be added without changing the mean
        assert u @ (g + 0.01 * row) ** 2 > u @ g**2


def test_groups_are_put_side_by_side() -> None:
    bold, careful = dc.geometric(5, epsilon=2), dc.randomized_response(6, epsilon=1)
    e = dc.estimate([([9, 5, 7, 4, 8, 3], bold), ([2, 4, 6, 3, 3, 6], careful)], method="mle")
    f = np.array([1.0, 0, -2, 5, 0, 3])
    g = unbiased(e).weights(f)
    A = np.hstack([bold.matrix * 36 / 60, careful.matrix * 24 / 60])
    assert g is not None and A @ g == pytest.approx(f, abs=1e-9)
    assert unbiased(e).shares == pytest.approx(np.array([9, 5, 7, 4, 8, 3, 2, 4, 6, 3, 3, 6]) / 60)


def test_there_are_no_weights_where_reports_do_not_tell() -> None:
    few = dc.estimate([5, 9], [[0.7, 0.3], [0.4, 0.6], [0.1, 0.9]], method="mle")
    same = dc.estimate([5, 9, 4], [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]], method="mle")
    free = dc.estimate({-3: 2, 4: 9}, dc.discrete_gaussian(sigma2=4), over=dc.Counts(5), method="mle")
    for e in (few, same, free):
        assert unbiased(e).weights(np.arange(len(e.distribution), dtype=float)) is None
        assert e.interval(np.arange(len(e.distribution), dtype=float)).by == "profile likelihood"


def by_hand(counts: np.ndarray, g: np.ndarray, goal: float) -> tuple[float, float]:
    """The least and the largest mean of g under distributions of reports within the quantile, by a general solver."""
    people, seen = counts.sum(), counts > 0
    best = -people * stats.entropy(counts / people)

    def within(u: np.ndarray) -> tuple[float, np.ndarray]:
        """What is left of the allowed deviance, and its slopes."""
        with np.errstate(divide="ignore"):
            left = goal**2 - 2 * (best - float(counts[seen] @ np.log(u[seen])))
        return left, np.divide(2.0 * counts, u, out=np.zeros(len(u)), where=seen)

    equal, inside = (np.ones((1, len(g))), np.ones(1)), (counts + 1e-3) / (counts + 1e-3).sum()
    low, high = (sign * convex_minimum(sign * g, inside, equal, within, 1e-5) for sign in (1, -1))
    return low, high


@pytest.mark.parametrize("counts", [[40, 25, 10, 15, 30], [3, 0, 9, 4, 0], [0, 20, 0, 0, 1]])
def test_ends_are_the_outermost_means_within_the_quantile(counts: list[int]) -> None:
    k, g = np.array(counts), np.array([2.0, -1, 0.5, 0, -3])
    for goal in (1.0, 1.96, 2.8):
        found = moments.ends(k / k.sum(), g, int(k.sum()), goal)
        assert found == pytest.approx(by_hand(k, g, goal), abs=2e-5)


def test_weights_that_are_the_same_up_to_rounding_are_the_same() -> None:
    """The least weight occurred; another that is smaller by rounding alone did not."""
    q, g = np.array([0.5, 0.3, 0.2, 0.0]), np.array([1.0, 0.2, -1.0, -1.0 - 2e-16])
    assert moments.ends(q, g, 40, 1.96) == pytest.approx(moments.ends(q[:3], g[:3], 40, 1.96), rel=1e-9)


def test_a_share_has_the_binomial_likelihood_interval() -> None:
    k, n, goal = 37, 200, 1.96

    def off(u: float) -> float:
        return 2 * (stats.binom.logpmf(k, n, k / n) - stats.binom.logpmf(k, n, u)) - goal**2

    expected = (optimize.brentq(off, 1e-6, k / n), optimize.brentq(off, k / n, 1 - 1e-6))
    assert moments.ends(np.array([k, n - k]) / n, np.array([1.0, 0.0]), n, goal) == pytest.approx(expected, rel=1e-6)


def exact_coverage(m: Any, people: int, level: float, share: float) -> float:
    """The probability that the interval of P(0) holds it, by adding up over every survey of two answers."""
    k = np.arange(people + 1)
    holds = []
    for j in k.tolist():
        interval = dc.estimate([j, people - j], m, method="mle").interval(("cell", 0), level)
        holds.append(interval.low - 1e-12 <= share <= interval.high + 1e-12)
    chance = float(np.array([share, 1 - share]) @ m.matrix[:, 0])
    return float(stats.binom.pmf(k, people, chance)[np.array(holds)].sum())


def test_the_coverage_of_a_yes_or_no_question_is_nearly_nominal_for_every_share() -> None:
    """No simulation: all 151 surveys, weighted by their probabilities."""
    for epsilon in (1, 4):
        m = dc.randomized_response(2, epsilon=epsilon)
        found = [exact_coverage(m, 150, 0.95, share) for share in (0.0, 0.03, 0.1, 0.25, 0.5, 0.8, 1.0)]
        assert min(found) >= 0.94 and max(found) <= 1, found


def test_the_coverage_notices_intervals_that_are_too_short() -> None:
    """The negative control of the one above."""
    assert exact_coverage(dc.randomized_response(2, epsilon=1), 150, 0.8, 0.5) < 0.9


def test_a_mean_rests_on_the_reports_that_can_move_it() -> None:
    q, g = np.array([0.02, 0.98]), np.array([1.0, 0.0])
    assert moments.effective(q, g, 1000) == pytest.approx(20, rel=0.1)
    assert moments.effective(np.full(2, 0.5), g, 1000) == pytest.approx(1000)
    assert moments.quantile(0.95, 19.9) == pytest.approx(stats.chi2(3).ppf(0.95) ** 0.5)
    assert moments.quantile(0.95, 1e9) == pytest.approx(1.96, rel=1e-4)
    assert moments.effective(np.array([1.0]), np.array([3.0]), 5) == np.inf


def test_the_shorter_interval_is_taken() -> None:
    p = np.exp(-0.5 * ((np.arange(31) - 12) / 4) ** 2)
    p /= p.sum()
    by = {}
    for name, m in {"wide": dc.geometric(30, epsilon="0.1"), "narrow": dc.geometric(30, epsilon=1)}.items():
        e = dc.estimate(np.random.default_rng(1).multinomial(3000, m.forward(p)), m, method="mle")
        by[name] = [e.interval(statistic).by for statistic in ("mean", ("cdf", 12))]
    assert by["wide"] == ["unbiased estimate", "profile likelihood"]
    assert by["narrow"] == ["unbiased estimate", "unbiased estimate"]


def test_a_matrix_of_randomised_response_has_the_same_intervals_as_the_mechanism() -> None:
    m = dc.randomized_response(8, epsilon=2)
    counts = np.array([90, 30, 25, 28, 140, 33, 26, 31])
    for statistic in ("mean", "variance", ("cell", 4)):
        ends = [tuple(dc.estimate(counts, one, method="mle").interval(statistic)) for one in (m, m.matrix)]
        assert ends[0] == pytest.approx(ends[1], rel=1e-6)


def test_intervals_hold_what_is_possible_and_the_estimate() -> None:
    for seed in range(20):
        m = dc.randomized_response(30, epsilon=1)
        e = dc.estimate(np.random.default_rng(seed).multinomial(200, np.full(30, 1 / 30)), m, method="mle")
        for k in (0, 10, 29):
            interval = e.interval(("cell", k))
            assert 0 <= interval.low <= interval.estimate <= interval.high <= 1
        variance = e.interval("variance")
        assert 0 <= variance.low <= variance.estimate <= variance.high <= 29**2 / 4


def test_a_single_report_far_inside_rests_on_something() -> None:
    """Its third moment underflows where its square is taken first."""
    e = dc.estimate({600: 1}, dc.geometric(1200, epsilon=1), method="mle")
    low, high = e.interval("mean")
    assert low <= 600 <= high
