"""The maximum of the likelihood: certified, by every solver, on problems of every kind."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.estimation import interior
from discreet.estimation.algebra import NumericalFailure
from discreet.estimation.model import problem
from discreet.estimation.model.models import DenseModel, GeometricModel, ResponseModel
from discreet.estimation.solvers import large, response
from discreet.estimation.solvers.likelihood import Likelihood
from support.battery import cases, structured_cases
from support.tiers import batches


def gap_by_hand(counts: np.ndarray, matrix: np.ndarray, p: np.ndarray) -> float:
    """log max_i sum_j A_ij q_j / (p A)_j, written out."""
    seen = counts > 0
    q = counts[seen] / counts.sum()
    return max(0.0, log((matrix[:, seen] @ (q / (p @ matrix[:, seen]))).max()))


def matrix_of(mechanism: object) -> np.ndarray:
    return mechanism.matrix if isinstance(mechanism, dc.Mechanism) else np.asarray(mechanism)


@pytest.mark.parametrize("seed", range(4))
def test_a_battery_of_random_problems_converges_in_at_most_30_iterations(seed: int) -> None:
    """The whole battery is a slow test; the gap is recomputed here from the matrix."""
    for name, counts, mechanism in cases(75, seed):
        e = dc.estimate(counts, mechanism, method="mle")
        assert e.converged and e.gap <= 1e-8 and e.iterations <= 30, name
        assert gap_by_hand(counts, matrix_of(mechanism), e.distribution) <= 1e-8, name
        assert e.distribution.min() >= 0 and abs(e.distribution.sum() - 1) < 1e-12, name


def test_large_problems_of_the_battery_converge() -> None:
    for name, counts, mechanism in cases(12, 100, largest=1000):
        e = dc.estimate(counts, mechanism, method="mle")
        assert e.converged and e.iterations <= 30, name


@pytest.mark.parametrize("seed", batches(fast=1, full=5))
def test_noise_without_end_maps_and_several_mechanisms_converge(seed: int) -> None:
    """The gap is recomputed here from the matrix."""
    for name, arguments in structured_cases(20, seed):
        e = dc.estimate(**arguments, method="mle")
        assert e.converged and e.gap <= 1e-8 and e.iterations <= 30, name
        problem = e._likelihood.problem
        assert gap_by_hand(problem.counts, problem.block(), e.distribution) <= 1e-8, name


def test_systems_that_lose_digits_are_solved_the_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Systems for the reports, where those are fewer than truths, have fewer digits: if they fail, those for truths."""
    m = dc.explicit_fair(40, epsilon=0.3)
    counts = np.zeros(41, np.int64)
    counts[[3, 9, 10, 20, 33]] = [100, 300, 250, 90, 60]
    expected = dc.estimate(counts, m, method="mle")
    assert expected._likelihood.model.by_reports and expected.converged

    def fails(*_: object) -> None:
        raise NumericalFailure

    monkeypatch.setattr(DenseModel, "_by_reports", fails)
    e = dc.estimate(counts, m, method="mle")
    assert e.converged and not e._likelihood.model.by_reports
    assert e.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-3)


@given(st.integers(0, 10**6))
def test_the_gap_bounds_what_any_other_distribution_gains(seed: int) -> None:
    """Jensen: loglik(r) - loglik(p) <= log max g for every r, wherever p is."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 6, 2)
    A = rng.dirichlet(np.ones(m), n)
    q = rng.dirichlet(np.ones(m))
    p, r = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
    gain = q @ np.log((r @ A) / (p @ A))
    assert gain <= interior.gap_of(DenseModel(A, q), p) + 1e-12


def test_the_gap_notices_a_distribution_that_is_not_the_maximum() -> None:
    m = dc.geometric(10, epsilon=1)
    counts = np.arange(1, 12) * 100
    likelihood = Likelihood(problem.read(counts, m, None, None))
    top = likelihood.maximum().p
    worse = 0.99 * top + 0.01 / 11
    assert likelihood.gap(top) <= 1e-8 < 1e-5 < likelihood.gap(worse)


@given(st.integers(2, 60), st.floats(1e-3, 20), st.integers(0, 10**6))
def test_randomised_response_in_closed_form_is_the_interior_points_answer(k: int, epsilon: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(rng.integers(1, 10**5), rng.dirichlet(np.full(k, 0.3)))
    q = counts / counts.sum()
    total = k - 1 + np.exp(epsilon)
    other, gain = 1 / total, np.expm1(epsilon) / total
    p = response.maximum(q, other / gain)
    model = ResponseModel(other, gain, q)
    assert interior.gap_of(model, p) <= 1e-10
    found = interior.solve(model, 1e-10)
    u, v = model.forward(p), model.forward(found.p)
    assert q @ np.log(u) >= q @ np.log(v) - 1e-10
    assert np.allclose(u, v, atol=2e-5)


def test_the_closed_form_of_randomised_response_by_hand() -> None:
    """k = 3, e^eps = 3: b = 1/2; q = (.6, .3, .1). m = 2 fails to stop, so p = (q kappa - b)+."""
    q = np.array([0.6, 0.3, 0.1])
    # m = 3: .1 (1 + 1.5) = .25 <= .5: no; m = 2: .3 * 2 = .6 > .5 * .9 = .45: yes; kappa = 2 / .9
    expected = np.array([0.6 * 2 / 0.9 - 0.5, 0.3 * 2 / 0.9 - 0.5, 0.0])
    assert np.allclose(response.maximum(q, 0.5), expected)
    e = dc.estimate([600, 300, 100], dc.randomized_response(3, alpha="1/3"), method="mle")
    assert np.allclose(e.distribution, expected) and e.iterations == 0


def test_an_inverse_without_negatives_is_the_maximum() -> None:
    """[F] proposition 3."""
    m = dc.geometric(20, epsilon=2)
    p = np.linspace(1, 2, 21)
    counts = np.rint(m.forward(p / p.sum()) * 10**9).astype(int)
    e = dc.estimate(counts, m, method="mle")
    assert e.iterations == 0 and e.gap < 1e-12
    assert np.allclose(e.distribution @ m.matrix, counts / counts.sum(), atol=1e-12)
    matrix = np.array([[0.7, 0.3], [0.2, 0.8]])
    assert dc.estimate([450, 550], matrix, method="mle").iterations == 0


@given(st.integers(2, 40), st.floats(1e-4, 15), st.integers(0, 10**6))
def test_the_banded_system_is_the_dense_one(n: int, epsilon: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(n))
    model = GeometricModel(float(np.exp(-epsilon)), q)
    K = np.exp(-epsilon * np.abs(np.subtract.outer(np.arange(n), np.arange(n))))
    weights, slacks, b = rng.uniform(0.1, 10, n), np.exp(rng.uniform(-6, 6, n)), rng.normal(size=n)
    H = K @ np.diag(weights) @ K + np.diag(slacks)
    dp, du = model.newton(weights, slacks)(b)
    assert np.allclose(H @ dp, b, atol=1e-6 * np.abs(H @ np.abs(dp)).max())
    assert np.allclose(du, K @ dp, atol=1e-8 * max(1.0, float(np.abs(K @ np.abs(dp)).max())))
    assert np.allclose(model.forward(q), K @ q)
    assert np.allclose(model.unfold(K @ q), q, atol=1e-6)


@pytest.mark.parametrize("shape", [(30, 50), (50, 30)])
def test_both_sides_of_the_dense_system_solve_it(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    model = DenseModel(rng.dirichlet(np.ones(shape[1]), shape[0]), rng.dirichlet(np.ones(shape[1])))
    A = model.A
    weights, slacks, b = rng.uniform(0.1, 10, shape[1]), rng.uniform(1e-3, 1e3, shape[0]), rng.normal(size=shape[0])
    dp, du = model.newton(weights, slacks)(b)
    assert np.allclose(A @ (weights * (dp @ A)) + slacks * dp, b, atol=1e-9)
    assert np.allclose(du, dp @ A)


def test_the_response_system_is_the_dense_one() -> None:
    rng = np.random.default_rng(2)
    model = ResponseModel(0.05, 0.5, rng.dirichlet(np.ones(11)))
    weights, slacks, b = rng.uniform(0.1, 10, 11), rng.uniform(0.01, 100, 11), rng.normal(size=11)
    A = 0.05 + 0.5 * np.eye(11)
    dp, du = model.newton(weights, slacks)(b)
    assert np.allclose((A @ np.diag(weights) @ A + np.diag(slacks)) @ dp, b)
    assert np.allclose(du, A @ dp)


def test_long_ranges_of_geometric_noise_take_no_matrix() -> None:
    n = 20_000
    m = dc.geometric(n, epsilon="0.1")
    rng = np.random.default_rng(3)
    values = np.clip(rng.normal(n / 2, n / 10, 50_000).astype(int), 0, n)
    e = dc.estimate(reports=m.simulate(values, seed=4), mechanism=m, method="mle")
    assert e.converged and e.iterations <= 30
    assert abs(e.mean() - values.mean()) < 1


# ------------------------------------------------------------------------------------------------ large problems


@pytest.mark.parametrize("border", ["remap", "normalise"])
def test_the_large_solver_finds_the_dense_ones_maximum(border: str) -> None:
    grid = dc.Grid(12, 15, cell=100.0)
    m = dc.planar_geometric(grid, epsilon="0.006", border=border)
    rng = np.random.default_rng(5)
    counts = np.bincount(m.simulate(rng.choice(grid.size, 4000, p=rng.dirichlet(np.full(grid.size, 0.1))), seed=6),
                         minlength=grid.size)  # fmt: skip
    e = dc.estimate(counts, m, method="mle")
    found = large.solve(large.StructuredModel(e.problem), 1e-9)
    assert found.gap <= 1e-9
    assert gap_by_hand(counts, m.matrix, found.p) <= 2e-9
    assert np.allclose(found.p @ m.matrix, e.distribution @ m.matrix, atol=1e-5)


def test_the_large_solver_takes_costs_like_the_dense_one() -> None:
    m = dc.geometric(60, epsilon="0.3")
    rng = np.random.default_rng(7)
    counts = rng.multinomial(5000, m.forward(rng.dirichlet(np.full(61, 0.2))))
    likelihood = Likelihood(problem.read(counts, m, None, None))
    costs = 1 + 0.01 * (np.arange(61) - 30)
    dense = likelihood.maximise(costs)
    model = large.StructuredModel(likelihood.problem)
    for start in (None, likelihood.maximum().p):
        found = large.solve(model, 1e-9, costs, start)
        assert found.gap <= 1e-9
        assert abs(found.p @ np.arange(61) - dense.p @ np.arange(61)) < 1e-3


def test_a_map_too_large_for_its_matrix_is_estimated() -> None:
    grid = dc.Grid(60, 60, cell=75.0)
    m = dc.planar_geometric(grid, epsilon="0.004")
    rng = np.random.default_rng(8)
    homes = grid.locate(*np.clip(rng.normal(2250, 600, (2, 20_000)), 0, 4499))
    e = dc.estimate(reports=m.simulate(homes, seed=9), mechanism=m, method="mle")
    assert isinstance(e._likelihood.model, large.StructuredModel)
    assert e.converged
    # the certificate holds of the exact products, whatever rows Newton's steps rounded
    counts = np.bincount(e.problem.groups[0].reports, e.problem.groups[0].counts, minlength=grid.size)
    u = m.forward(e.distribution)
    g = m.backward(np.where(counts > 0, counts / counts.sum() / u, 0.0))
    assert log(g.max()) <= 1.1e-8


@given(st.integers(0, 10**6))
def test_nonnegative_least_squares_meets_its_conditions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    X = rng.normal(size=(n, n + 2))
    H, b = X @ X.T, rng.normal(size=n)
    x = large.nonnegative(H, b, rng.random(n) < 0.5)
    gradient = H @ x - b
    assert x.min() >= 0 and gradient.min() >= -1e-7 * max(1.0, np.abs(b).max())
    assert abs(x @ gradient) <= 1e-7 * max(1.0, float(np.abs(x).max()))


def test_kernels_give_the_same_block_as_their_matrix() -> None:
    truths, reports = np.array([0, 3, 5]), np.array([1, 2, 8])
    mechanisms = [
        dc.geometric(8, epsilon=1),
        dc.rounded_laplace(8, epsilon="0.7"),
        dc.discrete_gaussian(sigma2=4).on(dc.Counts(8), clamp=True),
        dc.randomized_response(9, epsilon=1),
        dc.explicit_fair(8, epsilon=1),
        dc.planar_geometric(dc.Grid(3, 3, cell=100.0), epsilon="0.01"),
        dc.planar_geometric(dc.Grid(3, 3, cell=100.0), epsilon="0.01", border="normalise"),
        dc.planar_laplace(dc.Grid(3, 3, cell=100.0), epsilon="0.01"),
    ]
    for m in mechanisms:
        assert np.allclose(m.kernel.block(truths, reports), m.matrix[np.ix_(truths, reports)], rtol=1e-12), m
    for reports in (np.arange(8), np.array([0, 8])):
        for m in mechanisms:
            assert np.allclose(m.kernel.block(truths, reports), m.matrix[np.ix_(truths, reports)], rtol=1e-12), m


def test_a_map_with_hardly_any_noise_is_as_good_as_reported() -> None:
    grid = dc.Grid(36, 36, cell=1.0)
    m = dc.planar_geometric(grid, epsilon=20)
    counts = np.random.default_rng(1).multinomial(20_000, np.full(grid.size, 1 / grid.size))
    e = dc.estimate(counts, m, method="mle")
    assert e.converged and np.abs(e.distribution - counts / 20_000).max() < 1e-6
    assert e.iterations <= 30
