"""Smoothing over the graph of a space: the Laplacian, the default it makes, and numbers in steps."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.errors import Unsupported
from discreet.estimation.solvers import curves, ems
from support.refusals import refused


def test_on_a_line_the_laplacian_is_that_of_first_differences_and_nearly_the_same_prior():
    line = dc.Range(0, 29)
    laplacian, values = curves._laplacian(line, line.neighbours())
    first = np.diff(np.eye(30), axis=0)
    assert np.allclose(laplacian, first.T @ first) and values[1] == pytest.approx(10 / 30**2, rel=0.02)
    _, over_graph = curves.of_graph(line)
    _, over_line = curves.of_line(30)
    assert over_graph[1] == pytest.approx(over_line[1], rel=0.25) and over_graph.sum() == pytest.approx(30)


def test_a_ring_has_the_fourier_basis():
    """L of a ring is circulant: eigenvalues 2 - 2 cos(2 pi k / n), so curves of one wave vary most."""
    vectors, variances = curves.of_graph(dc.Ring(12))
    wave = 2 - 2 * np.cos(2 * np.pi * np.arange(12) / 12)
    inverse = 1 / np.sort(wave**2 + wave[1] * wave)[1:]
    assert np.allclose(np.sort(variances[1:]), np.sort(12 * inverse / inverse.sum()))
    assert np.allclose(vectors.T @ vectors, np.eye(12)) and np.ptp(vectors[:, 0]) < 1e-9


def test_relative_neighbours_are_pairs_without_a_value_nearer_to_both():
    rng = np.random.default_rng(5)
    points = {f"p{k}": tuple(map(int, place)) for k, place in enumerate(rng.choice(50, (25, 2)))}
    space = dc.MetricSpace.from_points(points)
    far = space._squares
    expected = [
        (i, j)
        for i in range(25)
        for j in range(i + 1, 25)
        if not any(max(far[i, k], far[k, j]) < far[i, j] for k in range(25))
    ]
    first, second = curves.relative_neighbours(space)
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == expected
    _, values = curves._laplacian(space, None)
    assert values[1] > 1e-9 * values[-1]  # a path between any two


def test_stated_edges_that_leave_values_apart_are_not_used():
    class Parts(dc.Ring):
        def neighbours(self):
            return np.array([0, 4]), np.array([1, 5])

    assert np.allclose(curves.of_graph(Parts(8))[1], curves.of_graph(dc.Ring(8))[1])


@pytest.mark.parametrize(
    "space",
    [dc.Ring(24), dc.Tree([None, *(k // 2 for k in range(29))]), dc.ProductSpace((dc.Ring(6), dc.Counts(5)), norm="l1"),
     dc.ProductSpace((dc.Counts(5), dc.Counts(5)), norm="l2")],
    ids=["ring", "tree", "l1", "l2"],
)  # fmt: skip
def test_the_default_is_nearer_than_the_maximum_where_the_population_is_smooth(space):
    here = np.arange(space.size)
    far = np.sqrt(space.squared_distance(here[:, None], here[None, :]).astype(float))
    truth = np.exp(-0.5 * (far[space.size // 3] / (0.2 * far.max())) ** 2) + 0.02
    truth /= truth.sum()
    m = dc.exponential(space, epsilon=12 / float(space.diameter))
    counts = np.random.default_rng(3).multinomial(3_000, m.forward(truth))
    default, top = dc.estimate(counts, m), dc.estimate(counts, m, method="mle")
    assert default.method == "empirical-bayes" and default.distance.explained and "Smoothed" in default.notes[0]
    off, most_off = (np.abs(e.distribution - truth).sum() for e in (default, top))
    assert off < 0.6 * most_off
    assert default.describe() and default.spikes is None


def test_few_points_that_the_reports_show_are_not_smoothed_away():
    ring = dc.Ring(24)
    truth = np.zeros(24)
    truth[[3, 11, 19]] = 0.5, 0.3, 0.2
    m = dc.geometric(ring, epsilon=1)
    e = dc.estimate(np.random.default_rng(1).multinomial(20_000, m.forward(truth)), m)
    assert np.abs(e.distribution - truth).sum() < 0.1


def test_labels_and_tuples_without_a_distance_are_not_smoothed_and_large_graphs_stop_early():
    labels = dc.Labels([f"l{k}" for k in range(10)])
    for space in (labels, dc.ProductSpace((dc.Counts(2), dc.Counts(2)))):
        m = dc.randomized_response(space, epsilon=2)
        e = dc.estimate(np.arange(1, space.size + 1), m)
        assert e.method == "mle"
        with refused(Unsupported):
            dc.estimate(np.arange(1, space.size + 1), m, method="empirical-bayes")
    ring = dc.Ring(curves.MAX_GRAPH_VALUES + 1)
    m = dc.geometric(ring, epsilon=1)
    assert dc.estimate(reports=m.simulate([5] * 200, seed=1), mechanism=m).method == "smoothed"


def test_the_default_of_few_values_does_not_advise_the_default():
    """Below 8 values the default is the maximum; a comb there is read by sums."""
    m = dc.geometric(dc.Ring(7), epsilon="0.2")
    e = dc.estimate([60, 20, 55, 21, 60, 20, 55], m)
    assert e.method == "mle" and e.spikes and "auto" not in e.describe()
    twelve = dc.geometric(dc.Ring(12), epsilon="0.2")
    comb = dc.estimate(reports=twelve.simulate(list(range(12)) * 60, seed=1), mechanism=twelve, method="mle")
    assert comb.spikes and "auto" in comb.describe()


def test_averages_of_neighbours_follow_the_edges():
    star = dc.Graph([("c", k) for k in range(3)])
    assert ems.smoothed(np.array([1.0, 0, 0, 0]), star).tolist() == pytest.approx([0.4 / 1.4, *[1 / 3 / 1.4] * 3])
    ring = dc.Ring(5)
    assert ems.smoothed(np.eye(5)[0], ring).tolist() == pytest.approx([0.5, 0.25, 0, 0, 0.25])
    line = dc.Range(0, 4)
    assert np.allclose(ems.smoothed(np.eye(5)[2], line), ems.average(np.eye(5)[2], (5,)))
    m = dc.geometric(ring, epsilon=1)
    assert dc.estimate([50, 30, 5, 5, 30], m, method="ems").method == "ems"
    labels = dc.randomized_response(list("abc"), epsilon=1)
    with refused(Unsupported):
        dc.estimate([5, 3, 2], labels, method="ems")


def test_numbers_in_steps_have_means_quantiles_and_cumulative_probabilities(tmp_path):
    """Kilowatt-hours in steps of a half: what is asked of counts can be asked of them, in their own numbers."""
    kwh = dc.Range(2, 12, step="0.5")
    rng = np.random.default_rng(2)
    steps = rng.binomial(20, 0.4, 4_000)
    m, same = dc.geometric(kwh, epsilon=2), dc.geometric(dc.Range(0, 20), epsilon=1)
    e = dc.estimate(reports=m.simulate(2 + steps / 2, seed=1), mechanism=m)
    other = dc.estimate(reports=same.simulate(steps, seed=1), mechanism=same)
    assert np.allclose(m.matrix, dc.geometric(20, epsilon=1).matrix) and e.method == other.method == "empirical-bayes"
    assert np.allclose(e.distribution, other.distribution)
    assert e.mean() == pytest.approx(2 + other.mean() / 2) and e.variance() == pytest.approx(other.variance() / 4)
    assert e.quantile(0.25) == 2 + other.quantile(0.25) / 2 and np.allclose(e.cdf(), other.cdf())
    for asked, of_counts in (("mean", "mean"), (("quantile", 0.5), ("quantile", 0.5))):
        mine, its = e.interval(asked), other.interval(of_counts)
        steps_of = [its.low, its.high, its.estimate]
        assert [mine.low, mine.high, mine.estimate] == pytest.approx([2 + x / 2 for x in steps_of])
    assert e.interval(("cdf", 4.5)).low == pytest.approx(other.interval(("cdf", 5)).low)
    assert e.interval(("range", "3.5", 6)).high == pytest.approx(other.interval(("range", 3, 8)).high)
    assert e.to_json()["quantiles"]["0.5"] == e.quantile(0.5) and "median" in e.describe()
    page = e.save(tmp_path / "kwh.html").read_text(encoding="utf-8")
    assert "8.5" in page
