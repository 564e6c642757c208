"""The default estimate: as smooth as the reports allow, never far from what they say without a word about it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.estimation import automatic
from discreet.estimation.model.problem import read
from discreet.estimation.solvers import evidence
from discreet.estimation.solvers.evidence import Kind
from discreet.estimation.solvers.likelihood import Likelihood
from support.paths import DATA
from support.refusals import refused

X = np.arange(101)


def visits() -> np.ndarray:
    import pandas as pd

    return np.minimum(pd.read_csv(DATA / "doctor_visits.csv.gz")["doctor_visits"].to_numpy(), 100)


def drawn(mechanism: Any, truth: np.ndarray, people: int, seed: int) -> np.ndarray:
    chances = mechanism.forward(truth / truth.sum())
    return np.random.default_rng(seed).multinomial(people, chances / chances.sum())


def normal(mean: float, spread: float) -> np.ndarray:
    p = np.exp(-0.5 * ((X - mean) / spread) ** 2)
    return p / p.sum()


# ------------------------------------------------------------------------------------------------ what it is for


def test_real_visits_have_no_gaps_and_come_nearer_to_the_truth_than_the_maximum() -> None:
    true = visits()
    m = dc.geometric(100, epsilon="0.1")
    reports = m.simulate(true, seed=1)
    shares = np.bincount(true, minlength=101) / len(true)
    e, top = (dc.estimate(reports=reports, mechanism=m, method=method) for method in ("auto", "mle"))
    assert e.method == "empirical-bayes" and e.distribution[:8].min() > 0.01 and top.distribution[:8].min() < 1e-6
    near, far = (dc.kantorovich(one.distribution, shares, dc.Counts(100)) for one in (e, top))
    assert near < 0.6 * far
    assert e.interval("mean") == top.interval("mean")  # intervals assume nothing of the method
    assert e.notes[0] == "Smoothed as far as the reports allow: a smooth curve makes these reports likeliest."


@pytest.mark.parametrize(
    ("truth", "kind"),
    [
        (normal(50, 12), Kind()),
        (np.isin(X, (10, 35, 60, 90)) * 1.0, Kind(30.0)),
        (0.55 * (X == 0) + 0.45 * normal(30, 12), Kind(atom=True)),
    ],
)
def test_what_stands_out_is_seen(truth: np.ndarray, kind: Kind) -> None:
    m = dc.geometric(100, epsilon="0.3")
    found = evidence.smooth(read(drawn(m, truth, 100_000, 3), m, None, None))
    assert (found.kind.single > 0, found.kind.atom) == (kind.single > 0, kind.atom)


# ------------------------------------------------------------------------------------------------ the mathematics


def log_posterior(matrix: np.ndarray, counts: np.ndarray, sigma: np.ndarray, theta: np.ndarray) -> float:
    p = np.exp(theta - theta.max())
    p /= p.sum()
    return float(counts @ np.log(p @ matrix)) - float(theta @ np.linalg.solve(sigma, theta)) / 2


def covariance(size: int, kind: Kind, deviation: float) -> np.ndarray:
    """By the definition: the inverse of P without the constant, scaled to a mean variance of deviation squared."""
    first, second = np.diff(np.eye(size), axis=0), np.diff(np.eye(size), 2, axis=0)
    values, vectors = np.linalg.eigh(second.T @ second + (10 / size**2) * first.T @ first)
    inverse = 1 / values[1:]
    of_curve = deviation**2 * size * inverse / inverse.sum() + kind.single
    made = (vectors[:, 1:] * of_curve) @ vectors[:, 1:].T + np.full((size, size), 1 / size)
    made[0, 0] += evidence.ATOM_VARIANCE * kind.atom
    return made


@pytest.mark.parametrize("kind", [Kind(), Kind(3.0), Kind(atom=True)])
@pytest.mark.parametrize("deviation", [1.0, 3.0])
def test_the_climb_ends_at_the_maximum_of_the_posterior_with_laplaces_evidence(
    kind: Kind, deviation: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By slopes, steps in all directions and determinants of matrices that are written out."""
    monkeypatch.setattr(evidence, "NEGLIGIBLE_VARIANCE", 1e-12)
    size, m = 12, dc.geometric(11, epsilon="0.5")
    counts = drawn(m, np.array([9, 5, 4, 3, 2, 2, 1, 1, 1, 1, 1, 1.0]), 3000, 1)
    reports = evidence._Reports(read(counts, m, None, None))
    prior = evidence._prior(reports, kind, deviation)
    found = evidence._climb(reports, prior, np.zeros(prior.S.shape[1]), 1e-12)
    sigma, matrix = covariance(size, kind, deviation), np.array(m.matrix)
    assert np.allclose(prior.S @ prior.S.T, sigma)
    reached = log_posterior(matrix, counts, sigma, found.theta)
    p, people = found.p, counts.sum()
    u = p @ matrix
    slope = p * (matrix @ (counts / u)) - people * p - np.linalg.solve(sigma, found.theta)
    assert np.abs(slope).max() < 1e-3
    for step in np.random.default_rng(1).normal(0, 0.05, (200, size)):
        assert log_posterior(matrix, counts, sigma, found.theta + step) < reached
    J = p[:, None] * matrix - np.outer(p, u)
    H = (J * (people / u)) @ J.T + np.linalg.inv(sigma)
    laplace = reached - np.linalg.slogdet(sigma)[1] / 2 - np.linalg.slogdet(H)[1] / 2
    assert found.score == pytest.approx(laplace, abs=1e-6)


@pytest.mark.parametrize("n", [1000, 10_000])
def test_many_counts_are_put_into_bins_and_spread_again(n: int) -> None:
    m = dc.geometric(n, epsilon="0.02")
    x = np.arange(n + 1)
    truth = np.exp(-0.5 * ((x - 0.4 * n) / (0.1 * n)) ** 2)
    truth /= truth.sum()
    e = dc.estimate(drawn(m, truth, 20_000, 1), m)
    assert e.method == "empirical-bayes" and "bins" in e.notes[0]
    assert e.distribution.sum() == pytest.approx(1) and e.distribution.min() > 0
    low, high = e.interval("mean")
    assert low <= e.mean() <= high
    assert np.abs(e.distribution - truth).sum() / 2 < 0.1
    steps = np.abs(np.diff(np.log(e.distribution[int(0.2 * n) : int(0.6 * n)])))
    assert steps.max() < 30 / n  # no stairs: the truth has 20 / n


# ------------------------------------------------------------------------------------------------ the certificate


def test_the_distance_from_the_maximum_is_certified() -> None:
    m = dc.geometric(30, epsilon="0.4")
    for seed in range(5):
        counts = drawn(m, normal(12, 4)[:31], 2000, seed)
        e, top = dc.estimate(counts, m), dc.estimate(counts, m, method="mle", tolerance=1e-13)
        assert e.distance is not None and e.distance.explained
        assert e.distance.deviance >= 2 * (top.log_likelihood - e.log_likelihood) - 1e-6
        assert e.gap == pytest.approx(e.distance.deviance / (2 * 2000))
        assert e.maximum == pytest.approx(top.distribution, abs=1e-3)


def test_where_no_smooth_distribution_fits_the_maximum_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: with an estimate that is wrong on purpose, no survey is as far."""
    m = dc.geometric(30, epsilon="0.4")
    counts = drawn(m, normal(12, 4)[:31], 2000, 1)
    wrong = evidence.Smoothed(np.full(31, 1 / 31), Kind(), 0.1, 0.0, 31)
    monkeypatch.setattr(evidence, "smooth", lambda problem: wrong)
    e = dc.estimate(counts, m)
    assert e.method == "mle" and e.converged and e.distance is not None and not e.distance.explained
    assert e.notes[0].startswith("No smooth distribution fits the reports") and e.distance.surveys == 99


def test_the_maximum_of_a_survey_is_solved_once_where_no_smooth_distribution_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    m = dc.geometric(30, epsilon="0.4")
    counts = drawn(m, normal(12, 4)[:31], 2000, 1)
    wrong = evidence.Smoothed(np.full(31, 1 / 31), Kind(), 0.1, 0.0, 31)
    monkeypatch.setattr(evidence, "smooth", lambda problem: wrong)
    solved: list[list[int]] = []
    maximum = Likelihood.maximum

    def counted(likelihood: Likelihood) -> Any:
        solved.append(np.asarray(likelihood.problem.groups[0].counts).tolist())
        return maximum(likelihood)

    monkeypatch.setattr(Likelihood, "maximum", counted)
    e = dc.estimate(counts, m)
    assert e.method == "mle" and solved.count(np.asarray(e.problem.groups[0].counts).tolist()) == 1


def test_surveys_from_the_estimate_itself_seldom_contradict_it() -> None:
    """The truth is as smooth as can be: of forty surveys the maximum is shown in at most one."""
    m = dc.geometric(20, epsilon="0.5")
    shown = [dc.estimate(drawn(m, normal(8, 3)[:21], 800, seed), m).method for seed in range(40)]
    assert shown.count("mle") <= 1


# ------------------------------------------------------------------------------------------------ other values


@pytest.mark.parametrize(
    ("made", "method", "words"),
    [
        (lambda: dc.randomized_response(["a", "b", "c"], epsilon=1), "mle", "no order"),
        (lambda: dc.geometric(6, epsilon=1), "mle", "With 7 values there is nothing to smooth"),
        (lambda: dc.planar_geometric(dc.Grid(5, 5, cell=100.0), epsilon="0.01"), "smoothed", "Cross-validation"),
        (lambda: dc.geometric(7, epsilon=1), "empirical-bayes", "Smoothed as far"),
    ],
)
def test_what_was_chosen_and_why_is_the_first_note(made: Any, method: str, words: str) -> None:
    m = made()
    reports = m.simulate([m.inputs.value(k % m.inputs.size) for k in range(500)], seed=1)
    e = dc.estimate(reports=reports, mechanism=m)
    assert e.method == method and words in e.notes[0]


def test_too_many_counts_are_not_smoothed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automatic, "MAX_SMOOTHED_VALUES", 20)
    m = dc.geometric(30, epsilon=1)
    e = dc.estimate(reports=[3, 4, 4, 5], mechanism=m)
    assert e.method == "mle" and "would take long" in e.notes[0]
    with refused(dc.errors.Unsupported, "method"):
        dc.estimate(reports=[3, 4, 4, 5], mechanism=m, method="empirical-bayes")


@pytest.mark.parametrize("people", [1, 2, 7])
def test_few_reports_are_answered_too(people: int) -> None:
    e = dc.estimate(reports=[3] * people, mechanism=dc.geometric(30, epsilon=1))
    assert e.distribution.sum() == pytest.approx(1) and e.distribution.min() >= 0


def test_noise_without_end_and_several_mechanisms_are_smoothed_too() -> None:
    truths = np.random.default_rng(1).binomial(40, 0.3, 3000)
    wide, narrow = dc.two_sided_geometric(epsilon="0.2"), dc.two_sided_geometric(epsilon=1)
    over = dc.Counts(40)
    pairs = [(wide.simulate(truths[:1500], seed=1), wide), (narrow.simulate(truths[1500:], seed=2), narrow)]
    e = dc.estimate(reports=pairs, over=over)
    assert e.method == "empirical-bayes" and abs(e.mean() - 12) < 1
    far = dc.estimate(reports=np.append(pairs[0][0], [400, -300]), mechanism=wide, over=over)
    assert math.isfinite(far.log_likelihood) and far.distribution.sum() == pytest.approx(1)


def test_the_same_reports_give_the_same_estimate() -> None:
    m = dc.geometric(30, epsilon="0.4")
    counts = drawn(m, normal(12, 4)[:31], 2000, 1)
    assert np.array_equal(dc.estimate(counts, m).distribution, dc.estimate(counts, m).distribution)


# ------------------------------------------------------------------------------------------------ combs


def combs(price: float | None, monkeypatch: pytest.MonkeyPatch) -> int:
    """Count the estimates of a binomial population by 12 small noisy surveys that are far off in total variation."""
    truth = np.array([math.comb(100, k) * 0.2**k * 0.8 ** (100 - k) for k in range(101)])
    m = dc.geometric(100, epsilon="0.1")
    with monkeypatch.context() as patch:
        if price is not None:
            patch.setattr(Kind, "price", lambda kind, people: price if kind != Kind() else 0.0)
        found = [evidence.smooth(read(drawn(m, truth, 1000, seed), m, None, None)).p for seed in range(12)]
    return sum(np.abs(p - truth).sum() / 2 > 0.5 for p in found)


def test_a_smooth_population_hardly_becomes_a_comb(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: single deviations at the price of 1 that they had make combs of the same surveys."""
    assert combs(None, monkeypatch) <= 1 < 3 <= combs(1.0, monkeypatch)


def test_the_price_of_single_deviations_is_that_of_a_parameter() -> None:
    assert Kind().price(1000) == 0.0 and Kind(atom=True).price(10**6) == 1.0
    assert Kind(3.0).price(1000) == pytest.approx(1 + math.log(1000) / 2) and Kind(3.0).price(1) == 1.0
