"""dc.estimate: every way to hand in reports, every mechanism, every method, every mistake."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import ForeignValue, InvalidInput, Unsupported, WrongType
from discreet.estimation.model.problem import read
from discreet.estimation.solvers import em, smoothing
from discreet.estimation.solvers.likelihood import Likelihood
from support.paths import DATA
from support.refusals import Parts, refused

GRID = dc.Grid(3, 4, cell=100.0)

MECHANISMS: dict[str, Any] = {
    "geometric": dc.geometric(6, epsilon=1),
    "explicit_fair": dc.explicit_fair(6, epsilon=1),
    "rounded_laplace": dc.rounded_laplace(6, epsilon=1),
    "clamped_gaussian": dc.discrete_gaussian(sigma2=2).on(dc.Counts(6), clamp=True),
    "unclamped_gaussian": dc.discrete_gaussian(sigma2=2).on(dc.Counts(6), clamp=False),
    "randomized_response": dc.randomized_response(7, epsilon=1),
    "labels": dc.randomized_response(list("abcdefg"), epsilon=1),
    "exponential": dc.exponential(-np.abs(np.subtract.outer(range(7), range(7))), epsilon=2, sensitivity=1),
    "planar_geometric": dc.planar_geometric(GRID, epsilon="0.01"),
    "planar_laplace": dc.planar_laplace(GRID, epsilon="0.01", border="normalise"),
    "random_rounding": dc.random_rounding(6, base=3),
    "suppression": dc.suppression(6, below=3),
    "from_matrix": dc.from_matrix([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]]),
    "matrix": [[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]],
    "exact matrix": [["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"]],
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_can_be_estimated_from(name: str) -> None:
    m = MECHANISMS[name]
    if isinstance(m, dc.Mechanism):
        size = m.inputs.size
        truths = m.inputs.values(np.random.default_rng(0).integers(0, size, 300))
        e = dc.estimate(reports=m.simulate(truths, seed=1), mechanism=m, method="mle")
        assert e.space == m.inputs
    else:
        size = 2
        e = dc.estimate([50, 20, 30], m, method="mle")
    assert e.converged and e.distribution.shape == (size,) and abs(e.distribution.sum() - 1) < 1e-12
    assert math.isfinite(e.log_likelihood)


@pytest.mark.parametrize("name", ["geometric", "explicit_fair", "planar_geometric", "labels", "unclamped_gaussian"])
def test_from_very_many_reports_the_truth_comes_back(name: str) -> None:
    m = MECHANISMS[name]
    p = np.random.default_rng(2).dirichlet(np.ones(m.inputs.size))
    if m.outputs.size is None:
        places = np.arange(-20, 27)
        chances = np.array([sum(p[i] * m.kernel.approximate(i, int(j)) for i in range(7)) for j in places])
        counts: Any = {int(j): int(c) for j, c in zip(places, np.rint(chances * 10**12), strict=True)}
    else:
        counts = np.rint(m.forward(p) * 10**12).astype(np.int64)
    e = dc.estimate(counts, m, method="mle")
    assert np.abs(e.distribution - p).max() < 1e-3


def test_counts_a_mapping_and_raw_reports_are_the_same() -> None:
    m = dc.randomized_response(["a", "b", "c"], epsilon=1)
    reports = ["a", "b", "a", "c", "a", "b"]
    ways = [
        dc.estimate([3, 2, 1], m, method="mle"),
        dc.estimate(np.array([3, 2, 1], np.int32), m, method="mle"),
        dc.estimate({"c": 1, "a": 3, "b": 2}, m, method="mle"),
        dc.estimate({"a": 3, "b": 2, "c": 1}, m, method="mle"),
        dc.estimate(reports=reports, mechanism=m, method="mle"),
        dc.estimate(reports=pd.Series(reports, dtype=object), mechanism=m, method="mle"),
    ]
    for e in ways[1:]:
        assert np.array_equal(e.distribution, ways[0].distribution)
    assert ways[0].people == 6


def test_the_log_likelihood_is_that_of_the_reports() -> None:
    m = dc.geometric(3, epsilon=1)
    counts = np.array([5, 0, 3, 2])
    for method in ("mle", "ibu", "smoothed"):
        e = dc.estimate(counts, m, method=method)
        chances = e.distribution @ m.matrix
        assert e.log_likelihood == pytest.approx(float(counts @ np.log(chances)))
        assert e.trace[-1].log_likelihood == pytest.approx(e.log_likelihood)
        assert len(e.trace) == e.iterations + 1


def test_the_trace_of_updates_never_falls_and_its_gap_bounds_the_rest() -> None:
    m = dc.geometric(20, epsilon="0.3")
    counts = np.random.default_rng(3).multinomial(2000, np.full(21, 1 / 21))
    top = dc.estimate(counts, m, method="mle")
    e = dc.estimate(counts, m, method="ibu", iterations=200)
    values = np.array([step.log_likelihood for step in e.trace])
    assert (np.diff(values) > -1e-6).all() and e.iterations == 200
    missing = top.log_likelihood - values
    assert all(left <= step.gap * e.people + 1e-6 for left, step in zip(missing, e.trace, strict=True))


# ------------------------------------------------------------------------------------------------ without end


def test_unbounded_geometric_reports_may_be_clamped_without_loss() -> None:
    """Reports beyond 0..n have chances proportional to those of the ends, so the maximum is the same."""
    m = dc.two_sided_geometric(epsilon="0.5")
    truths = np.random.default_rng(4).binomial(20, 0.3, 4000)
    reports = m.simulate(truths, seed=5)
    assert reports.min() < 0
    e = dc.estimate(reports=reports, mechanism=m, over=dc.Counts(20), method="mle")
    clamped = dc.estimate(reports=np.clip(reports, 0, 20), mechanism=m.on(dc.Counts(20)), method="mle")
    assert np.allclose(e.distribution, clamped.distribution, atol=1e-9)
    # the matrix of all reports that occurred, unclamped
    values, counts = np.unique(reports, return_counts=True)
    A = np.array([[m.kernel.approximate(i, int(j)) for j in values] for i in range(21)])
    q = counts / counts.sum()
    assert math.log((A @ (q / (e.distribution @ A))).max()) <= 1e-7


def test_gaussian_reports_beyond_the_range_are_used_as_they_are() -> None:
    m = dc.discrete_gaussian(sigma2=9)
    truths = np.random.default_rng(6).binomial(20, 0.2, 4000)
    reports = m.simulate(truths, seed=7)
    e = dc.estimate(reports=reports, mechanism=m, over=dc.Counts(20), method="mle")
    values, counts = np.unique(reports, return_counts=True)
    A = np.array([[m.kernel.approximate(i, int(j)) for j in values] for i in range(21)])
    q = counts / counts.sum()
    assert e.converged and math.log((A @ (q / (e.distribution @ A))).max()) <= 1e-8
    assert abs(e.mean() - truths.mean()) < 0.3


def test_wide_gaussian_ranges_take_no_matrix() -> None:
    m = dc.discrete_gaussian(sigma2=400)
    truths = np.random.default_rng(8).normal(2000, 200, 20_000).astype(int)
    e = dc.estimate(reports=m.simulate(truths, seed=9), mechanism=m, over=dc.Counts(4000), method="mle")
    assert e.converged and abs(e.mean() - truths.mean()) < 2


# ------------------------------------------------------------------------------------------------ methods


def test_smoothed_beats_the_maximum_on_a_smooth_population_and_keeps_up_on_a_sparse_one() -> None:
    m = dc.geometric(100, epsilon=math.log(2) / 10)
    space = dc.Counts(100)
    x = np.arange(101)
    smooth = np.exp(-0.5 * ((x - 30) / 8) ** 2)
    sparse = np.zeros(101)
    sparse[[10, 35, 60, 90]] = 0.25
    errors = {}
    for name, p in (("smooth", smooth / smooth.sum()), ("sparse", sparse)):
        counts = np.random.default_rng(10).multinomial(100_000, m.forward(p))
        for method in ("mle", "smoothed", "ibu"):
            errors[name, method] = dc.kantorovich(dc.estimate(counts, m, method=method).distribution, p, space)
    assert errors["smooth", "smoothed"] < 0.7 * errors["smooth", "mle"]
    assert errors["sparse", "smoothed"] < 1.5 * errors["sparse", "mle"]


def test_updates_with_momentum_climb_the_likelihood_far_faster_and_stay_distributions() -> None:
    grid = dc.Grid(12, 12, cell=1.0)
    m = dc.planar_geometric(grid, epsilon=0.7)
    counts = np.random.default_rng(3).multinomial(20_000, m.forward(np.random.default_rng(4).dirichlet(np.ones(144))))
    likelihood = Likelihood(read(counts, m, None, None))
    quick, slow = em.accelerate(likelihood.model, 40), em.iterate(likelihood.model, 160)
    assert quick.p.min() >= 0 and quick.p.sum() == pytest.approx(1)
    assert likelihood.mean_log(quick.p) > likelihood.mean_log(slow.p)
    assert likelihood.gap(quick.p) == pytest.approx(quick.gap)
    *_, last = em.accelerated_path(likelihood.model, [1, 5, 40])
    assert np.array_equal(last, quick.p)


@pytest.mark.parametrize("people", [500, 20_000])
def test_on_maps_momentum_is_as_good_as_plain_updates(people: int) -> None:
    """Both stopped by cross-validation, on clusters and an empty rest; the mean of four surveys."""
    grid = dc.Grid(20, 20, cell=1.0)
    m = dc.planar_geometric(grid, epsilon=0.5)
    x, y = grid.centre(np.arange(grid.size))
    truth = sum(
        np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * s * s)) for a, b, s in ((5, 5, 2), (14, 9, 1), (10, 16, 3))
    )
    truth = truth / truth.sum()
    off = np.zeros((2, 4))
    for seed in range(4):
        counts = np.random.default_rng(seed).multinomial(people, m.forward(truth))
        likelihood = Likelihood(read(counts, m, None, None))
        with pytest.MonkeyPatch.context() as patch:
            for k, search in enumerate((smoothing.MAP_SEARCH, smoothing.PLAIN_SEARCH)):
                patch.setattr(smoothing, "search_for", lambda _, search=search: search)
                off[k, seed] = np.abs(smoothing.choose(likelihood, 0)[0].p - truth).sum() / 2
    assert off[0].mean() <= 1.05 * off[1].mean()


def test_a_large_map_is_estimated_from_one_fold_and_is_near_the_truth() -> None:
    """150 x 150 cells, 200,000 people in one smooth crowd; reports themselves are three times as far off."""
    grid = dc.Grid(150, 150, cell=1.0)
    m = dc.planar_geometric(grid, epsilon=0.4)
    x, y = grid.centre(np.arange(grid.size))
    truth = np.exp(-((x - 60) ** 2 + (y - 90) ** 2) / 800)
    truth /= truth.sum()
    counts = np.random.default_rng(5).multinomial(200_000, m.forward(truth))
    estimate = dc.estimate(counts, m, method="smoothed")
    off, raw = (np.abs(p - truth).sum() / 2 for p in (estimate.distribution, counts / 200_000))
    assert off < raw / 3
    assert "updates with momentum" in estimate.notes[0]


def test_smoothed_is_seeded_and_says_what_it_chose() -> None:
    m = dc.geometric(10, epsilon="0.3")
    counts = np.arange(11) + 30
    first, second = (dc.estimate(counts, m, method="smoothed", seed=3) for _ in range(2))
    assert np.array_equal(first.distribution, second.distribution)
    assert "Cross-validation chose" in first.notes[0]


def test_five_thousand_updates_are_not_the_maximum_and_say_so() -> None:
    """ALGORITHMS: a gap of 1-3e-4 at n = 100; for k-RR far from converged."""
    m = dc.geometric(100, epsilon=math.log(2) / 10)
    counts = np.random.default_rng(11).multinomial(100_000, m.forward(np.full(101, 1 / 101)))
    e = dc.estimate(counts, m, method="ibu")
    assert e.iterations == 5000 and not e.converged and 1e-7 < e.gap < 1e-2
    assert "did not reach the maximum" in e.notes[0]
    assert dc.estimate(counts, m, method="mle").log_likelihood > e.log_likelihood


def test_updates_start_where_they_are_told() -> None:
    m = dc.randomized_response(3, epsilon=1)
    start = [0.2, 0.3, 0.5]
    e = dc.estimate([5, 3, 2], m, method="ibu", iterations=1, start=start)
    u = np.array(start) @ m.matrix
    expected = start * (m.matrix @ (np.array([0.5, 0.3, 0.2]) / u))
    assert np.allclose(e.distribution, expected)


def test_the_inverse_states_its_negative_entries() -> None:
    m = dc.geometric(30, epsilon="0.2")
    counts = np.random.default_rng(12).multinomial(500, m.forward(np.full(31, 1 / 31)))
    e = dc.estimate(counts, m, method="inverse")
    assert e.distribution.min() < 0 and "negative" in e.notes[0] and math.isnan(e.gap) and not e.converged
    assert np.allclose(e.distribution @ m.matrix, counts / 500)
    fair = dc.explicit_fair(8, epsilon=2)
    some = np.array([5, 0, 9, 3, 2, 6, 1, 2, 2])  # a report that did not occur counts as well
    assert np.allclose(dc.estimate(some, fair, method="inverse").distribution @ fair.matrix, some / some.sum())


# ------------------------------------------------------------------------------------------------ several groups


def test_people_who_chose_different_epsilons_are_estimated_together() -> None:
    bold, careful = dc.geometric(10, epsilon=2), dc.geometric(10, epsilon="0.5")
    p = np.random.default_rng(13).dirichlet(np.ones(11))
    counts = [np.rint(m.forward(p) * n).astype(int) for m, n in ((bold, 10**8), (careful, 3 * 10**8))]
    e = dc.estimate([(counts[0], bold), (counts[1], careful)], method="mle")
    assert e.converged and np.abs(e.distribution - p).max() < 1e-3
    assert e.people == counts[0].sum() + counts[1].sum()
    assert np.abs(e.stratified.distribution - p).max() < 1e-2
    assert [one.people for one in e.stratified.strata] == [int(c.sum()) for c in counts]


def test_the_stacked_likelihood_is_the_sum_of_the_groups() -> None:
    a, b = dc.randomized_response(3, epsilon=1), dc.randomized_response(3, epsilon=3)
    e = dc.estimate([([4, 2, 1], a), ({0: 1, 2: 5}, b)], method="mle")
    by_hand = np.array([4, 2, 1]) @ np.log(e.distribution @ a.matrix)
    by_hand += np.array([1, 0, 5]) @ np.log(np.where(np.array([1, 0, 5]) > 0, e.distribution @ b.matrix, 1))
    assert e.log_likelihood == pytest.approx(by_hand)
    assert e.gap <= e.tolerance


def test_homogeneity_sees_a_choice_that_depends_on_the_value_and_not_one_that_does_not() -> None:
    bold, careful = dc.geometric(10, epsilon=2), dc.geometric(10, epsilon=1)
    rng = np.random.default_rng(14)
    low, high = rng.binomial(10, 0.3, 600), rng.binomial(10, 0.5, 600)

    def p_value(first: Any, second: Any) -> float:
        pairs = [(bold.simulate(first, seed=1), bold), (careful.simulate(second, seed=2), careful)]
        return dc.estimate(reports=pairs, method="mle").homogeneity(simulations=59, seed=1).p_value

    assert p_value(low, high) == pytest.approx(1 / 60)
    assert p_value(low[:300], low[300:]) > 0.1


def test_a_test_of_homogeneity_is_made_once() -> None:
    e = dc.estimate([([5, 9], dc.randomized_response(2, epsilon=k)) for k in (1, 2)], method="mle")
    assert e.homogeneity(simulations=9) is e.homogeneity(simulations=9)
    assert e.homogeneity(simulations=9) is not e.homogeneity(simulations=9, seed=1)


def test_a_test_of_homogeneity_needs_groups() -> None:
    with refused(Unsupported, token="homogeneity"):
        dc.estimate([5, 5], dc.randomized_response(2, epsilon=1), method="mle").homogeneity()


# ------------------------------------------------------------------------------------------------ statistics


def test_statistics_of_a_known_distribution() -> None:
    m = dc.geometric(4, epsilon=50)  # next to no noise
    e = dc.estimate([10, 20, 30, 40, 0], m, method="mle")
    assert e.mean() == pytest.approx(2.0) and e.variance() == pytest.approx(1.0)
    assert e.cdf() == pytest.approx([0.1, 0.3, 0.6, 1.0, 1.0])
    assert [e.quantile(q) for q in (0, 0.1, 0.11, 0.5, 0.6, 0.99)] == [0, 0, 1, 2, 2, 3]
    assert e.probability(1, 2) == pytest.approx(0.5)
    assert e.expected_counts() == pytest.approx([10, 20, 30, 40, 0])
    with pytest.raises(ValueError, match="read-only"):
        e.distribution[0] = 1


def test_maps_have_a_mean_place_and_labels_have_none() -> None:
    grid = dc.Grid(2, 2, cell=10.0)
    e = dc.estimate([5, 5, 0, 0], dc.randomized_response(grid, epsilon=40), method="mle")
    assert e.mean() == pytest.approx((10.0, 5.0))
    labels = dc.estimate([5, 5], dc.randomized_response(["a", "b"], epsilon=1), method="mle")
    for ask in (labels.mean, labels.variance, labels.cdf, lambda: labels.interval("mean")):
        with refused(Unsupported, token="labels"):
            ask()


def test_a_summary_says_how_good_it_is_and_what_it_covers() -> None:
    out = dc.estimate([30, 20, 10], dc.geometric(2, epsilon=1), method="mle").describe()
    for words in ("from 60 reports", "maximum likelihood", "gap", "mean", "median", "population", "measured"):
        assert words in out


def test_the_numbers_are_plain_json() -> None:

    e = dc.estimate([30, 20, 10], dc.geometric(2, epsilon=1), method="mle")
    content = json.loads(json.dumps(e.to_json()))
    assert content["converged"] and content["people"] == 60 and len(content["distribution"]) == 3


def test_real_visits_come_back() -> None:
    visits = pd.read_csv(DATA / "doctor_visits.csv.gz")
    column = next(c for c in visits.columns if visits[c].dtype.kind == "i" and 20 < visits[c].max() < 200)
    true = visits[column].to_numpy()
    m = dc.geometric(100, epsilon=1)
    e = dc.estimate(reports=m.simulate(np.minimum(true, 100), seed=15), mechanism=m, method="mle")
    shares = np.bincount(np.minimum(true, 100), minlength=101) / len(true)
    assert e.converged and dc.kantorovich(e.distribution, shares, dc.Counts(100)) < 0.2


# ------------------------------------------------------------------------------------------------ mistakes

RR = dc.randomized_response(3, epsilon=1)
FREE = dc.two_sided_geometric(epsilon=1)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"counts": [1, 2], "mechanism": RR}, InvalidInput, Parts(argument="counts", given="shape (2,)")),
        ({"counts": [1, -2, 3], "mechanism": RR}, InvalidInput, Parts(argument="counts", token="negative; number 1")),
        ({"counts": [1.0, 2.0, 3.0], "mechanism": RR}, WrongType, Parts(token="integers; got float")),
        ({"counts": [True, False, True], "mechanism": RR}, WrongType, Parts(token="boolean")),
        ({"counts": [0, 0, 0], "mechanism": RR}, InvalidInput, Parts(token="reports at all")),
        ({"counts": {}, "mechanism": RR}, InvalidInput, Parts(token="reports at all")),
        ({"reports": [], "mechanism": RR}, InvalidInput, Parts(token="reports at all")),
        ({"reports": [0, 1, 3], "mechanism": RR}, ForeignValue, Parts(token="position 2")),
        ({"reports": [0.0, 1.0], "mechanism": RR}, WrongType, Parts(token="float")),
        ({"reports": {0: 1}, "mechanism": RR}, WrongType, Parts(argument="reports", token="mapping")),
        ({"counts": {3: 1}, "mechanism": RR}, ForeignValue, Parts(token="0..2")),
        ({"counts": {0: 1.5}, "mechanism": RR}, WrongType, Parts(token="integers")),
        ({"counts": {0: -1}, "mechanism": RR}, InvalidInput, Parts(argument="counts", token="negative")),
        (
            {"counts": [1, 2, 3], "reports": [1], "mechanism": RR},
            InvalidInput,
            Parts(argument="reports", token="got both"),
        ),
        ({"mechanism": RR}, InvalidInput, Parts(argument="reports", token="got neither")),
        ({"counts": [1, 2, 3]}, InvalidInput, Parts(argument="mechanism", token="no mechanism")),
        ({"counts": []}, InvalidInput, Parts(argument="mechanism", token="no mechanism")),
        ({"counts": [1, 2, 3], "mechanism": "m.json"}, InvalidInput, Parts(argument="mechanism", given="str")),
        (
            {"counts": [1, 2, 3], "mechanism": dc.uniform(2)},
            InvalidInput,
            Parts(argument="mechanism", token="no information"),
        ),
        (
            {"counts": [1, 2], "mechanism": [[0.5, 0.5], [0.5, 0.5]]},
            InvalidInput,
            Parts(argument="mechanism", token="no information"),
        ),
        (
            {"counts": [1, 2], "mechanism": [["1/2", "1/2"], ["1/2", "1/2"]]},
            InvalidInput,
            Parts(argument="mechanism", token="no information"),
        ),
        (
            {"counts": [1, 0, 2, 0, 0, 0, 3], "mechanism": dc.random_rounding(6)},
            InvalidInput,
            Parts(argument="over", token="come from any"),
        ),
        ({"counts": {1: 2}, "mechanism": FREE}, InvalidInput, Parts(argument="over", token="over=Counts")),
        (
            {"counts": [1, 2], "mechanism": FREE, "over": dc.Counts(1)},
            InvalidInput,
            Parts(argument="reports", token="mapping"),
        ),
        ({"counts": {1: 2}, "mechanism": FREE, "over": 5}, WrongType, Parts(argument="over", given=5)),
        (
            {"counts": [1, 2, 3], "mechanism": RR, "over": dc.Counts(5)},
            InvalidInput,
            Parts(argument="over", token="drop over"),
        ),
        (
            {"reports": [99], "mechanism": dc.discrete_gaussian(sigma2=1), "over": dc.Counts(3)},
            InvalidInput,
            Parts(argument="over", token="over="),
        ),
        (
            {"counts": [1, 2, 3], "mechanism": RR, "method": "bayes"},
            InvalidInput,
            Parts(argument="method", given="bayes"),
        ),
        (
            {"counts": [1, 2, 3], "mechanism": RR, "iterations": 5},
            InvalidInput,
            Parts(argument="iterations", token="goes with method='ibu'"),
        ),
        (
            {"counts": [1, 2, 3], "mechanism": RR, "method": "ibu", "iterations": 0},
            InvalidInput,
            Parts(argument="iterations", given=0),
        ),
        (
            {"counts": [1, 2, 3], "mechanism": RR, "method": "ibu", "start": [1, 0, 0]},
            InvalidInput,
            Parts(argument="start"),
        ),
        (
            {"counts": [1, 2, 3], "mechanism": RR, "method": "ibu", "seed": 1},
            InvalidInput,
            Parts(argument="seed", token="smoothed"),
        ),
        (
            {"counts": [1, 2, 3], "mechanism": RR, "tolerance": 0.0},
            InvalidInput,
            Parts(argument="tolerance", given=0.0),
        ),
        (
            {"counts": [1, 2, 3], "mechanism": [[0.5, 0.25, 0.25], [0.2, 0.3, 0.5]], "method": "inverse"},
            Unsupported,
            Parts(argument="method", token="as many outputs"),
        ),
        (
            {"counts": [([1, 2, 3], RR), ([1, 2], dc.randomized_response(2, epsilon=1))]},
            InvalidInput,
            Parts(argument="mechanism", token="same true"),
        ),
    ],
)
def test_mistakes_are_said_clearly(arguments: dict[str, Any], error: type[Exception], words: Parts) -> None:
    with refused(error, **words):
        dc.estimate(**arguments)


@pytest.mark.parametrize(
    ("statistic", "words"),
    [
        ("median", Parts(argument="statistic", token="no statistic 'median'")),
        (("cdf",), Parts(argument="statistic", token="no statistic")),
        (("range", 2, 1), Parts(argument="statistic", token="smaller")),
        (("cdf", 9), Parts(token="0..2")),
        (("quantile", 1.5), Parts(argument="q", given=1.5)),
        ([1.0, 2.0], Parts(argument="weights", given="an array of shape (2,)")),
        ([1.0, math.nan, 2.0], Parts(argument="weights", given="NaN or infinity")),
    ],
)
def test_mistaken_statistics_are_said_clearly(statistic: Any, words: Parts) -> None:
    with refused(InvalidInput, **words):
        dc.estimate([5, 3, 2], RR, method="mle").interval(statistic)


def test_a_level_lies_between_0_and_1() -> None:
    for level in (0, 1, 95):
        with refused(InvalidInput, "level"):
            dc.estimate([5, 3, 2], RR, method="mle").interval("mean", level=level)


def test_a_series_with_labels_is_read_by_them() -> None:
    """``value_counts`` sorts by frequency: read by place, it would say something quite different."""
    m = dc.geometric(20, epsilon=0.5)
    reports = m.simulate(np.random.default_rng(0).binomial(20, 0.3, 3000), seed=1)
    counts = np.bincount(reports, minlength=21)
    expected = dc.estimate(counts, m, method="mle").distribution
    assert (dc.estimate(pd.Series(reports).value_counts(), m, method="mle").distribution == expected).all()
    assert (dc.estimate(pd.Series(counts), m, method="mle").distribution == expected).all()
    labels = dc.randomized_response(["a", "b", "c"], epsilon=1)
    named = pd.Series([5, 50, 30], index=["c", "a", "b"])
    assert (
        dc.estimate(named, labels, method="mle").distribution
        == dc.estimate([50, 30, 5], labels, method="mle").distribution
    ).all()
    with refused(InvalidInput, "counts"):
        dc.estimate(pd.Series([1, 2], index=["a", "a"]), labels, method="mle")


def test_more_true_values_than_can_be_estimated_are_refused() -> None:
    with refused(Unsupported, token="at most 10,000,000"):
        dc.estimate({1: 2}, dc.two_sided_geometric(epsilon=1), over=dc.Counts(10**11), method="mle")


def test_smoothing_refuses_what_it_cannot_do_and_does_the_rest() -> None:
    m = dc.geometric(4, epsilon=1)
    with refused(InvalidInput, "method"):
        dc.estimate([1, 0, 0, 0, 0], m, method="smoothed")
    for seed in (-1, 1.5, True):
        with refused(InvalidInput, "seed"):
            dc.estimate([9] * 5, m, method="smoothed", seed=seed)  # type: ignore[arg-type]
    e = dc.estimate([10**9] * 5, m, method="smoothed")  # more than NumPy deals into folds of one size
    assert e.distribution.sum() == pytest.approx(1)


def test_a_map_with_many_reports_has_an_inverse() -> None:
    """Its likelihood is handled by Fourier transforms, which have none; the matrix has."""
    grid = dc.Grid(30, 30, cell=150.0)
    m = dc.planar_geometric(grid, epsilon=0.01, border="normalise")
    p = np.random.default_rng(5).dirichlet(np.full(900, 3.0))
    counts = np.rint(1e13 * m.forward(p)).astype(np.int64)
    found = dc.estimate(counts, m, method="inverse")
    assert np.allclose(found.distribution, p, rtol=0, atol=1e-9)
