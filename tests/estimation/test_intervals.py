"""Intervals by profile likelihood, against a plain search over all distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.errors import InvalidInput
from discreet.estimation.intervals import intervals
from support.oracles import convex_minimum
from support.refusals import refused

M = dc.geometric(4, epsilon=1)
COUNTS = np.array([40, 25, 10, 15, 30])


def profile_by_hand(counts: np.ndarray, matrix: np.ndarray, f: np.ndarray, value: float) -> float:
    """The largest log-likelihood with f.p = value, by a general-purpose solver."""
    start = _inside(f, value)

    def above(x: np.ndarray) -> tuple[float, np.ndarray]:
        """By how much x[-1] is above the negative log-likelihood of x[:-1], counted from that of the start."""
        with np.errstate(divide="ignore", invalid="ignore"):
            chances = x[:-1] @ matrix
            gain = float(counts @ np.log(chances / (start @ matrix)))
            return gain + x[-1] - 1e3, np.append(matrix @ (counts / chances), 1.0)

    # x[-1] is 1000 more than the negative log-likelihood can be below that of the start, so that it is positive
    A = np.vstack([np.append(np.ones(len(f)), 0.0), np.append(f, 0.0)])
    lost = convex_minimum(
        np.append(np.zeros(len(f)), 1.0), np.append(start, 1001.0), (A, np.array([1.0, value])), above, 1e-3
    )
    return float(counts @ np.log(start @ matrix)) - (lost - 1e3)


def _inside(f: np.ndarray, value: float) -> np.ndarray:
    """A distribution with f.p = value, without zeros where there is one."""
    around = np.full(len(f), 1 / len(f))
    towards = np.eye(len(f))[f.argmin() if value < f.mean() else f.argmax()]
    return around + (value - f @ around) / (f @ towards - f @ around) * (towards - around)


@pytest.mark.parametrize("statistic", ["mean", ("cdf", 1), ("range", 1, 3), ("cell", 0), [0.0, 1.0, -2.0, 0.5, 3.0]])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_ends_are_where_the_profile_meets_the_quantile(statistic: object, level: float) -> None:
    e = dc.estimate(COUNTS, M, method="mle")
    x = np.arange(5)
    f = {
        "mean": x, ("cdf", 1): x <= 1, ("range", 1, 3): (x >= 1) & (x <= 3), ("cell", 0): x == 0,
    }.get(statistic if not isinstance(statistic, list) else None, statistic)  # fmt: skip
    f = np.asarray(f, float)
    estimate = e.interval(statistic, level).estimate
    assert estimate == pytest.approx(float(f @ e.distribution))
    low, high = intervals.ends(e._likelihood, e._top, f, level, 0)
    assert low < estimate < high
    allowed = stats.chi2(3).ppf(level)
    for end, outermost in ((low, f.min()), (high, f.max())):
        deviance = 2 * (e.log_likelihood - profile_by_hand(COUNTS, M.matrix, f, end))
        assert deviance == pytest.approx(allowed, rel=0.02) or (end == outermost and deviance <= allowed)


def test_quantiles_are_those_of_chi_squared() -> None:
    for level in (0.5, 0.95, 0.9999):
        for degrees in (1, 2, 3):
            assert intervals.quantile(level, degrees) ** 2 == pytest.approx(stats.chi2(degrees).ppf(level))


def test_where_the_reports_cannot_exclude_it_an_interval_reaches_the_border() -> None:
    e = dc.estimate([3, 1, 1], dc.randomized_response(3, epsilon="0.1"), method="mle")
    interval = e.interval(("cell", 1))
    assert (interval.low, interval.high) == (0.0, 1.0)


def test_intervals_are_nested_and_narrow_with_more_people() -> None:
    few, many = (dc.estimate(COUNTS * k, M, method="mle") for k in (1, 100))
    half, most = (few.interval("mean", level=level) for level in (0.5, 0.99))
    assert most.low < half.low < half.high < most.high
    assert many.interval("mean").high - many.interval("mean").low < 0.15 * (most.high - most.low)


def test_the_variance_interval_holds_every_variance_the_likelihood_allows() -> None:
    """Random distributions in the likelihood region have variances inside, and some come close to the ends."""
    e = dc.estimate(COUNTS * 5, M, method="mle")
    low, high = intervals.variance_ends(e._likelihood, e._top, np.arange(5.0), 0.95, 0)
    rng = np.random.default_rng(1)
    x, allowed = np.arange(5), stats.chi2(3).ppf(0.95) / 2
    seen = []
    for scale in np.linspace(0.001, 0.3, 6000):
        p = (1 - scale) * e.distribution + scale * rng.dirichlet(np.full(5, 0.4))
        if e.log_likelihood - COUNTS @ np.log(p @ M.matrix) * 5 <= allowed:
            seen.append(float(p @ (x - p @ x) ** 2))
    assert low <= min(seen) and max(seen) <= high
    assert min(seen) - low < 0.3 * (high - low) and high - max(seen) < 0.3 * (high - low)


def test_quantile_intervals_are_the_counts_whose_cdf_interval_leaves_them_possible() -> None:
    e = dc.estimate(COUNTS, M, method="mle")
    for q in (0.1, 0.5, 0.9):
        interval = e.interval(("quantile", q))
        ends = [e.interval(("cdf", k)) for k in range(4)]
        assert interval.low == next((k for k, end in enumerate(ends) if end.high >= q), 4)
        assert interval.high == max((k + 1 for k, end in enumerate(ends) if end.low < q), default=0)
        assert interval.low <= e.quantile(q) <= interval.high


def test_a_count_is_a_probability_times_the_people() -> None:
    e = dc.estimate(COUNTS, M, method="mle")
    share, count = e.interval(("cell", 3)), e.interval(("count", 3))
    assert count.high == pytest.approx(share.high * 120, rel=1e-3)


def test_intervals_do_not_depend_on_the_method() -> None:
    ways = [dc.estimate(COUNTS, M, method=method).interval("mean") for method in ("mle", "smoothed", "ibu")]
    assert all(w.low == pytest.approx(ways[0].low, rel=1e-3) for w in ways)


def test_intervals_by_every_solver_agree() -> None:
    """Banded, response and dense systems, and the support method, on the same problems."""
    response = dc.randomized_response(5, epsilon=1)
    for m in (M, response):
        structured, dense = dc.estimate(COUNTS, m, method="mle"), dc.estimate(COUNTS, m.matrix, method="mle")
        for statistic in ("mean", ("cdf", 2)):
            ends = [list(e.interval(statistic, surveys=0)) for e in (structured, dense)]
            assert ends[0] == pytest.approx(ends[1], rel=1e-3)


def test_a_map_has_intervals_for_its_cells() -> None:
    grid = dc.Grid(40, 40, cell=100.0)
    m = dc.planar_geometric(grid, epsilon="0.005")
    home = grid.locate(2050.0, 2050.0)
    e = dc.estimate(reports=m.simulate(np.full(3000, home), seed=2), mechanism=m, method="mle")
    block = [home + dr * 40 + dc_ for dr in range(-3, 4) for dc_ in range(-3, 4)]
    interval = e.interval(("among", block))
    assert interval.low > 0.5 and interval.high > 0.99


def test_bands_hold_the_estimate_and_simultaneous_ones_are_wider() -> None:
    e = dc.estimate(COUNTS, M, method="mle")
    each, all_ = e.band(), e.band(simultaneous=True)
    cdf = e.cdf()
    assert (each.low <= cdf + 1e-9).all() and (cdf <= each.high + 1e-9).all()
    assert (all_.low <= cdf + 1e-9).all() and (cdf <= all_.high + 1e-9).all()
    assert (all_.high - all_.low)[:-1].mean() > (each.high - each.low)[:-1].mean()
    wide = [e.interval(("cdf", k), level=1 - 0.05 / 4) for k in range(4)]
    for k in range(4):
        assert (each.low[k], each.high[k]) == tuple(e.interval(("cdf", k)))
        # where all hold at once, cumulative probabilities at one count bound those at others
        assert all_.low[k] == max(one.low for one in wide[: k + 1])
        assert all_.high[k] == min(one.high for one in wide[k:])
    assert "all counts at once" in all_.covers and "each count" in each.covers


def test_a_band_worked_out_at_a_few_counts_holds_between_them() -> None:
    m = dc.geometric(60, epsilon="0.5")
    counts = np.random.default_rng(3).multinomial(3000, m.forward(np.full(61, 1 / 61)))
    e = dc.estimate(counts, m, method="mle")
    coarse = e.band(points=8)
    for k in (7, 20, 33, 50):
        fine = e.interval(("cdf", k))
        assert coarse.low[k] <= fine.low + 1e-3 and fine.high <= coarse.high[k] + 1e-3


def test_a_rough_length_is_about_that_of_the_interval() -> None:
    for m in (dc.geometric(20, epsilon="0.5"), dc.explicit_fair(20, epsilon=1)):
        counts = np.random.default_rng(4).multinomial(3000, m.forward(np.full(21, 1 / 21)))
        e = dc.estimate(counts, m, method="mle")
        for f in (np.arange(21.0), (np.arange(21) <= 9).astype(float)):
            low, high = intervals.ends(e._likelihood, e._top, f, 0.95, 0)
            assert intervals.rough_length(e._likelihood, e._top, f, 0.95) == pytest.approx(high - low, rel=0.15)


def test_calibrated_intervals_are_asked_for_and_say_so() -> None:
    e = dc.estimate(COUNTS, dc.randomized_response(5, epsilon=1), method="mle")
    interval = e.interval("mean", surveys=19)
    assert interval.by == "calibrated profile likelihood" and interval.low < interval.estimate < interval.high
    low, high = intervals.ends(e._likelihood, e._top, np.arange(5.0), 0.95, 0)
    assert (interval.low, interval.high) != (low, high)
    with refused(InvalidInput, "surveys", given=5):
        e.interval("mean", surveys=5)


def test_bands_of_single_values_are_their_intervals() -> None:
    for m in (M, dc.randomized_response(list("abcde"), epsilon=2)):
        e = dc.estimate(COUNTS, m, method="mle")
        band, all_ = e.band(of="cells"), e.band(of="cells", simultaneous=True)
        for k in range(5):
            assert (band.low[k], band.high[k]) == tuple(e.interval(("cell", e.space.value(k))))
        assert (all_.low <= band.low).all() and (all_.high >= band.high).all() and "all values" in all_.covers
    with refused(InvalidInput, "of", given="pieces"):
        e.band(of="pieces")  # type: ignore[arg-type]


def test_an_interval_says_what_it_covers() -> None:
    interval = dc.estimate(COUNTS, M, method="mle").interval("mean")
    assert "population" in interval.covers and "measured" in interval.covers
    assert str(interval).startswith("mean: ")
    low, high = interval
    assert (low, high) == (interval.low, interval.high)


@pytest.mark.parametrize(
    "counts", [{3: 50, 4: 50}, {3: 3, 4: 2}, {3: 1, 4: 1}, {0: 2}, {0: 5}, {3: 1}, {5: 1, 6: 1, 15: 1}]
)
def test_ends_are_where_the_deviance_is_also_with_few_reports(counts: dict[int, int]) -> None:
    """With few reports the solution jumps as the cost changes: the end lies between two solutions."""
    e = dc.estimate(counts, dc.geometric(20, epsilon=0.5), method="mle")
    likelihood, top, goal = e._likelihood, e._top, intervals.quantile(0.95, intervals.DEGREES)
    x = np.arange(21.0)
    for f in (x, *((x == k).astype(float) for k in (0, 3, 10, 16, 20)), (x <= 9).astype(float)):
        for g in (f, -f):
            found = intervals.end(likelihood, top, g, goal)
            if found.p is not None:
                root = intervals.profile_root(likelihood, top, g, found.value, found.slope)
                assert root == pytest.approx(goal, rel=0.05)


def test_reports_that_no_population_explains_do_not_look_certain() -> None:
    """Intervals around unbiased estimates that lie outside of what is possible would be cut to a point."""
    zeros = dc.estimate({0: 500}, dc.geometric(20, epsilon=0.5), method="mle")
    for statistic in ("mean", "variance", ("cell", 0), ("cell", 1)):
        low, high = zeros.interval(statistic)
        assert low < high
    m = dc.randomized_response(["never", "sometimes", "often"], epsilon=1)
    low, high = dc.estimate({"never": 1000}, m, method="mle").interval(("cell", "never"))
    assert low < high == 1


def test_variance_intervals_hold_the_estimate_and_nothing_impossible() -> None:
    two = dc.estimate([3, 5], dc.geometric(1, epsilon=1), method="mle")
    assert two.interval("variance").high <= 0.25
    flat = dc.estimate([100] * 21, dc.geometric(20, epsilon="0.001"), method="mle")
    low, high = flat.interval("variance")
    assert low <= flat.variance() <= high


def test_no_variance_is_larger_than_that_of_the_two_ends() -> None:
    e = dc.estimate([110, 48, 60, 40, 42], dc.randomized_response(5, epsilon=1), method="mle")
    assert e.interval("variance", 0.9999).high <= 4
