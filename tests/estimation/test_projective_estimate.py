"""From reports of projective response back to shares: the maximum, the unbiased estimate and their intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest

import discreet as dc
from discreet.estimation import fit, interior
from discreet.estimation.model.models import DenseModel
from discreet.estimation.model.problem import read
from discreet.estimation.solvers import gradients
from discreet.estimation.solvers.large import StructuredModel
from discreet.exact.projective import Projective
from support.refusals import refused


def zipf(size: int, power: float = 1.0) -> np.ndarray:
    shares = 1 / np.arange(1, size + 1) ** power
    return shares / shares.sum()


def surveyed(m: dc.Mechanism, p: np.ndarray, people: int, seed: int) -> np.ndarray:
    """How often each point is reported by so many people with values from p."""
    truths = np.random.default_rng(seed).choice(len(p), people, p=p)
    return np.bincount(m.simulate(truths, seed=seed), minlength=m.outputs.size)


@pytest.mark.parametrize(("size", "epsilon", "q"), [(300, 1, None), (300, 4, None), (200, "1/2", 2), (500, 2, 7)])
def test_gradients_reach_the_maximum_that_interior_points_do(size: int, epsilon: object, q: int | None) -> None:
    m = dc.projective_response(size, epsilon=epsilon, q=q)
    problem = read(surveyed(m, zipf(size), 20_000, 1), m, None, None)
    A, shares = problem.block(), problem.counts / problem.people
    for costs in (np.ones(size), np.random.default_rng(2).uniform(0.9, 1.1, size)):
        exact = interior.solve(DenseModel(A, shares), 1e-9, costs)
        found = gradients.solve(StructuredModel(problem), 1e-9, costs)
        assert max(exact.gap, found.gap) <= 1e-9
        slopes = A @ (shares / (found.p @ A)) / costs
        assert math.log(slopes.max() * (costs @ found.p)) == pytest.approx(found.gap, abs=1e-12)  # by the whole matrix
        one, other = (shares @ np.log(p @ A) - math.log(costs @ p) for p in (exact.p, found.p))
        assert one == pytest.approx(other, abs=2e-9)


@pytest.mark.parametrize("epsilon", [1, pytest.param(3, marks=pytest.mark.full)])
def test_many_values_are_estimated_with_a_certificate(epsilon: float) -> None:
    m = dc.projective_response(20_000, epsilon=epsilon)
    e = dc.estimate(surveyed(m, zipf(20_000), 200_000, 3), m, method="mle")
    assert isinstance(e._likelihood.model, StructuredModel) and e.converged and 'method "inverse"' in e.notes[0]
    assert e.distribution.min() >= 0 and e.distribution.sum() == pytest.approx(1)
    assert e.interval(("cell", 0)).low < zipf(20_000)[0] < e.interval(("cell", 0)).high
    assert "P(" not in e.describe() and "20,000 true counts" in e.describe()


def test_the_likeliest_of_many_labels_have_intervals() -> None:
    m = dc.projective_response([f"w{k}" for k in range(6000)], epsilon=2)
    truths = np.random.default_rng(1).choice(6000, 50_000, p=zipf(6000))
    e = dc.estimate(reports=m.simulate([f"w{k}" for k in truths], seed=1), mechanism=m, method="mle")
    first = next(line for line in e.describe().splitlines() if line.startswith("P(w0)"))
    low, high = e.interval(("cell", "w0"))
    assert low < zipf(6000)[0] < high and " to " in first


def test_a_search_that_was_stopped_says_so_and_its_gap_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, "MAX_STEPS", 2)
    m = dc.projective_response(5000, epsilon=3)
    e = dc.estimate(surveyed(m, zipf(5000), 50_000, 3), m, method="mle")
    assert not e.converged and "was not reached" in e.notes[0] and "rare" in e.notes[1]
    monkeypatch.undo()
    best = dc.estimate(surveyed(m, zipf(5000), 50_000, 3), m, method="mle")
    assert 0 < best.log_likelihood - e.log_likelihood <= e.gap * e.people * (1 + 1e-9)


# ------------------------------------------------------------------------------------------------ unbiased


@pytest.mark.parametrize(("size", "q"), [(13, 3), (30, 3), (31, 2), (40, 7), (54, 53)])
def test_the_inverse_gives_back_the_shares_from_expected_reports(size: int, q: int) -> None:
    m = dc.projective_response(size, epsilon=1, q=q)
    p = zipf(size)
    counts = np.round(m.forward(p) * 1e15).astype(np.int64)
    assert np.allclose(dc.estimate(counts, m, method="inverse").distribution, p, atol=1e-12)


@pytest.mark.parametrize(("size", "q"), [(13, 3), (30, 3), (31, 2), (40, 7)])
def test_weights_of_reports_are_unbiased_for_any_statistic(size: int, q: int) -> None:
    m = dc.projective_response(size, epsilon=1, q=q)
    e = dc.estimate(surveyed(m, zipf(size), 1000, 1), m, method="mle")
    unbiased = e._interval_inputs.unbiased[0]
    for f in (np.ones(size), np.arange(size), np.random.default_rng(1).normal(size=size)):
        weights = unbiased.weights(np.asarray(f, float))
        assert weights is not None and np.allclose(m.matrix @ weights, f, atol=1e-9)
    for x in (0, size - 1):
        found = unbiased.cells.outcomes(3.0 * np.eye(size)[x])
        assert found is not None
        hits = m.kernel.incident(np.array(x), np.arange(m.outputs.size))
        assert np.allclose(m.matrix @ np.where(hits, *found[1]), 3.0 * np.eye(size)[x], atol=1e-12)
    assert unbiased.cells.outcomes(np.ones(size)) is None


@pytest.mark.parametrize(("epsilon", "optimal"), [(1, 1.03), (2, 1.03), (4, 1.03)])
def test_the_variance_of_a_rare_value_is_the_formula_and_near_the_best_encoding(epsilon: float, optimal: float) -> None:
    """Rare values are exchangeable: their estimates in a few surveys show the variance."""
    m = dc.projective_response(2000, epsilon=epsilon)
    people, p = 20_000, np.r_[np.full(100, 0.01), np.zeros(1900)]
    squares = [
        dc.estimate(surveyed(m, p, people, seed), m, method="inverse").distribution[100:] ** 2 for seed in range(8)
    ]
    expected = float(dc.share_variance(m))
    e = math.exp(epsilon)
    assert np.mean(squares) * people == pytest.approx(expected, rel=0.03)
    assert expected <= optimal * 4 * e / (e - 1) ** 2
    assert np.mean(squares) * people < 0.5 * (2000 - 2 + e) / (e - 1) ** 2  # randomised response


def test_intervals_of_shares_hold_as_often_as_they_say() -> None:
    m, p = dc.projective_response(40, epsilon=1), zipf(40, 1.5)
    held = []
    for seed in range(60):
        e = dc.estimate(surveyed(m, p, 3000, seed), m, method="mle")
        band = e.band(of="cells")
        held.append((band.low <= p) & (p <= band.high))
        for x in (0, 7, 39):
            low, high = e.interval(("cell", x))
            assert (low, high) == pytest.approx((band.low[x], band.high[x]), abs=1e-7)
    assert 0.93 <= np.mean(held) <= 0.985
    assert np.mean(held, axis=0).min() >= 0.86


def test_an_interval_below_zero_is_moved_to_zero() -> None:
    """Two values are far below what chance would give them: their intervals keep a length, and hold zero."""
    m = dc.projective_response(13, epsilon=1, q=3)
    hits = m.kernel.incident(np.array(5), np.arange(13))
    e = dc.estimate(np.where(hits, 50, 150), m, method="mle")
    low, high = e.interval(("cell", 5))
    band = e.band(of="cells")
    assert low == band.low[5] == 0 and high > 0.01 and high == pytest.approx(band.high[5], abs=1e-7)


def test_reports_without_information_are_refused() -> None:
    m = dc.projective_response(9, epsilon=1)
    flat = dc.Mechanism(
        m.inputs, m.outputs, Projective(9, 3, 3, 1, 1), m.certificate, "projective_response", m.parameters
    )
    with refused(dc.errors.InvalidInput, "mechanism"):
        dc.estimate([1] * 13, flat, method="mle")


def test_with_many_outputs_fewer_surveys_say_that_reports_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    m = dc.projective_response(2000, epsilon=2)
    counts = surveyed(m, zipf(2000), 10_000, 4)
    every = dc.estimate(counts, m, method="mle").fit
    monkeypatch.setattr(fit, "MANY_OUTPUTS", 1000)
    few = dc.estimate(counts, m, method="mle").fit
    assert every.plausible and few.plausible and few.p_value == pytest.approx(every.p_value, abs=0.35)
    counts[7] += 5000  # a point that no population reports so often
    assert not dc.estimate(counts, m, method="mle").fit.plausible
