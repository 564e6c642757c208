"""Methods of others and of one's own: EMS, the g-model, wavelets, and functions as ``method``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.estimation.model.problem import read
from discreet.estimation.solvers import ems, gmodel, wavelets
from discreet.estimation.solvers.likelihood import Likelihood
from support.refusals import refused

X = np.arange(41)
HUMP = np.exp(-0.5 * ((X - 15) / 5) ** 2) / np.exp(-0.5 * ((X - 15) / 5) ** 2).sum()
NOISE = dc.geometric(40, epsilon="0.3")


def drawn(mechanism: Any, truth: np.ndarray, people: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).multinomial(people, mechanism.forward(truth) / mechanism.forward(truth).sum())


# ------------------------------------------------------------------------------------------------ EMS


def smoothing_matrix(size: int) -> np.ndarray:
    """As the authors' program writes it: a binomial kernel, and two thirds and one third at the ends."""
    S = np.zeros((size, size))
    for i in range(1, size - 1):
        S[i, i - 1 : i + 2] = 0.25, 0.5, 0.25
    S[0, :2], S[-1, -2:] = (2 / 3, 1 / 3), (1 / 3, 2 / 3)
    return S


def test_ems_makes_the_updates_of_its_authors() -> None:
    counts, A, S = drawn(NOISE, HUMP, 5000), np.array(NOISE.matrix), smoothing_matrix(41)
    p, before = np.full(41, 1 / 41), -np.inf
    while True:
        u = p @ A
        value = counts @ np.log(u)
        if abs(value - before) < 1e-3:
            break
        p, before = S @ (p * (A @ (counts / u))), value
        p /= p.sum()
    e = dc.estimate(counts, NOISE, method="ems")
    assert e.method == "ems" and e.distribution == pytest.approx(p, abs=1e-9)


def test_on_maps_ems_averages_along_both_axes_and_labels_are_refused() -> None:
    p = np.random.default_rng(1).dirichlet(np.ones(12))
    table = smoothing_matrix(3) @ p.reshape(3, 4) @ smoothing_matrix(4).T
    assert ems.average(p, (3, 4)) == pytest.approx(table.ravel() / table.sum())
    places = dc.planar_geometric(dc.Grid(5, 5, cell=100.0), epsilon="0.01")
    e = dc.estimate(reports=places.simulate(list(range(25)) * 20, seed=1), mechanism=places, method="ems")
    assert e.distribution.sum() == pytest.approx(1) and e.distribution.min() > 0
    with refused(dc.errors.Unsupported, token="neighbours"):
        dc.estimate([5, 6, 7], dc.randomized_response(["a", "b", "c"], epsilon=1), method="ems")


# ------------------------------------------------------------------------------------------------ the g-model


def test_the_g_model_is_the_maximum_of_the_penalised_likelihood() -> None:
    """By slopes along the spline, and by many other coefficients."""
    counts, A = drawn(NOISE, HUMP, 5000), np.array(NOISE.matrix)
    p = dc.estimate(counts, NOISE, method="g-model").distribution
    Q = gmodel.natural_splines(41)
    a = np.linalg.lstsq(Q, np.log(p) - np.log(p).mean(), rcond=None)[0]
    assert Q @ a == pytest.approx(np.log(p) - np.log(p).mean(), abs=1e-6)  # the log is a spline

    def value(a: np.ndarray) -> float:
        q = np.exp(Q @ a - (Q @ a).max())
        return float(counts @ np.log(q / q.sum() @ A)) - float(np.linalg.norm(a))

    for step in np.random.default_rng(2).normal(0, 0.3, (300, gmodel.DEGREES)):
        assert value(a + step) < value(a)


def test_the_basis_is_cubic_inside_and_linear_at_the_ends() -> None:
    Q = gmodel.natural_splines(101)
    assert (
        Q.shape == (101, 5) and Q.sum(axis=0) == pytest.approx(0, abs=1e-9) and (Q**2).sum(axis=0) == pytest.approx(1)
    )
    bends = np.diff(Q, 2, axis=0)
    assert np.abs(bends[0]).max() < 0.1 * np.abs(bends).max() and np.abs(bends[-1]).max() < 0.1 * np.abs(bends).max()
    assert np.abs(np.diff(Q[1:19], 4, axis=0)).max() < 1e-12  # between two knots: a cubic


def test_without_information_the_g_model_is_uniform() -> None:
    m = dc.randomized_response(101, epsilon="0.1")
    e = dc.estimate(np.full(101, 5), m, method="g-model")
    assert e.distribution == pytest.approx(np.full(101, 1 / 101))


# ------------------------------------------------------------------------------------------------ wavelets


@pytest.mark.parametrize("size", [8, 9, 37, 64, 101])
def test_wavelets_are_orthonormal_and_each_scale_is_finer(size: int) -> None:
    rows = wavelets.spline_wavelets(size)
    assert rows @ rows.T == pytest.approx(np.eye(size), abs=1e-12)
    assert rows[2:] @ np.arange(size) == pytest.approx(0, abs=1e-9)  # straight lines have no wavelets


def test_coefficients_beyond_their_noise_are_kept_and_others_are_zero() -> None:
    """Where noise is next to none all is kept; on few noisy reports only the straight line is."""
    sure = dc.geometric(40, epsilon=9)
    counts = drawn(sure, HUMP, 10**7)
    e = dc.estimate(counts, sure, method="wavelet")
    assert np.abs(e.distribution - HUMP).sum() / 2 < 0.002
    flat = dc.estimate(drawn(NOISE, np.full(41, 1 / 41), 200), NOISE, method="wavelet").distribution
    assert np.abs(np.diff(flat, 2)).max() < 1e-9


def test_methods_that_need_more_are_refused_with_another() -> None:
    few = dc.geometric(3, epsilon=1)
    for method in ("g-model", "wavelet"):
        with refused(dc.errors.Unsupported, "method"):
            dc.estimate([5, 6, 7, 8], few, method=method)
    with refused(dc.errors.Unsupported, "method"):
        dc.estimate({0: 5, 3: 6}, dc.discrete_gaussian(sigma2=4), over=dc.Counts(20), method="wavelet")


@pytest.mark.parametrize("method", ["ems", "g-model", "wavelet"])
def test_they_are_estimates_like_any_other(method: str) -> None:
    e = dc.estimate(drawn(NOISE, HUMP, 20_000), NOISE, method=method)  # type: ignore[arg-type]
    top = dc.estimate(drawn(NOISE, HUMP, 20_000), NOISE, method="mle")
    assert np.abs(np.cumsum(e.distribution - HUMP)).sum() < 1.5 and e.spikes is None
    assert e.interval("mean") == top.interval("mean") and e.gap >= top.gap
    assert "Smoothed on purpose" in e.describe()


# ------------------------------------------------------------------------------------------------ functions


def updates(matrix: np.ndarray, counts: np.ndarray) -> np.ndarray:
    p = np.full(len(matrix), 1 / len(matrix))
    for _ in range(200):
        p = p * (matrix @ (counts / counts.sum() / (p @ matrix)))
    return p / p.sum()


def test_a_function_is_a_method() -> None:
    counts = drawn(NOISE, HUMP, 5000)
    counts[3] = 0  # a report that did not occur has its column too
    e, ours = dc.estimate(counts, NOISE, method=updates), dc.estimate(counts, NOISE, method="ibu", iterations=200)
    assert e.method == "custom:updates" and e.distribution == pytest.approx(ours.distribution)
    assert e.gap == pytest.approx(ours.gap) and e.log_likelihood == pytest.approx(ours.log_likelihood)
    assert e.interval("mean") == ours.interval("mean") and "(updates)" in e.describe()
    assert dc.reconstruction_loss(NOISE, HUMP, people=100, repeats=2, method=updates).method == "custom:updates"


def test_a_function_sees_all_groups_and_noise_without_end() -> None:
    seen: list[tuple[np.ndarray, np.ndarray]] = []

    def uniform(matrix: np.ndarray, counts: np.ndarray) -> np.ndarray:
        seen.append((matrix, counts))
        return np.full(len(matrix), 1 / len(matrix))

    careful, bold = dc.randomized_response(3, epsilon=1), dc.geometric(2, epsilon=1)
    dc.estimate([([40, 0, 20], careful), ([10, 20, 30], bold)], method=uniform)
    dc.estimate(reports=[-4, 2, 2, 9], mechanism=dc.discrete_gaussian(sigma2=4), over=dc.Counts(5), method=uniform)
    (matrix, counts), (wide, occurred) = seen
    assert matrix == pytest.approx(np.hstack([np.array(careful.matrix) / 2, np.array(bold.matrix) / 2]))
    assert counts.tolist() == [40, 0, 20, 10, 20, 30]
    assert wide.shape == (6, 3) and occurred.tolist() == [1, 2, 1]


def test_what_is_not_a_distribution_is_refused_and_negative_entries_are_noted() -> None:
    counts = drawn(NOISE, HUMP, 500)
    for wrong in (np.ones(41), np.ones(3) / 3, np.full(41, np.nan)):
        with refused(dc.errors.InvalidInput, "method"):
            dc.estimate(counts, NOISE, method=lambda matrix, counts, wrong=wrong: wrong)
    negative = np.full(41, 1 / 40)
    negative[0] = -1 / 40
    negative[1] = 2 / 40
    negative /= negative.sum()
    e = dc.estimate(counts, NOISE, method=lambda matrix, counts: negative)
    assert np.isnan(e.gap) and "negative" in e.notes[0] and e.to_json()["gap"] is None
    with refused(dc.errors.InvalidInput, "seed"):
        dc.estimate(counts, NOISE, method=updates, seed=1)


def test_a_function_named_like_a_method_is_not_taken_for_it() -> None:
    def mle(matrix: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return np.full(41, 1 / 41)

    e = dc.estimate(drawn(NOISE, HUMP, 500), NOISE, method=mle)
    assert e.method == "custom:mle" and not np.allclose(e.maximum, e.distribution)


# ------------------------------------------------------------------------------------------------ maps


@pytest.mark.parametrize(("people", "method"), [(200, "smoothed"), (20_000, "mle")])
def test_maps_under_randomised_response_are_the_closed_form_where_reports_suffice(people: int, method: str) -> None:
    """N gain^2 is 6 and 560: at the larger the maximum is nearer to the truth."""
    grid = dc.Grid(12, 12, cell=100.0)
    m = dc.randomized_response(grid, epsilon="3.5")
    x, y = grid.centre(np.arange(grid.size))
    truth = np.exp(-((x - 400) ** 2 + (y - 800) ** 2) / 2e4)
    e = dc.estimate(drawn(m, truth / truth.sum(), people), m)
    assert e.method == method
    if method == "mle":
        early = dc.estimate(drawn(m, truth / truth.sum(), people), m, method="smoothed")
        near, far = (dc.kantorovich(one.distribution, truth / truth.sum(), grid) for one in (e, early))
        assert near < far and "reports suffice" in e.notes[0]


def test_the_likelihood_of_a_function_has_the_problem_of_its_reports() -> None:
    e = dc.estimate(drawn(NOISE, HUMP, 500), NOISE, method=updates)
    assert isinstance(e._likelihood, Likelihood)
    assert e.problem.counts.tolist() == read(drawn(NOISE, HUMP, 500), NOISE, None, None).counts.tolist()
