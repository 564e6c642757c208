"""Noise of limited reach: the banded model is the dense one, but for what doubles do not see."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.estimation import interior
from discreet.estimation.model.models import DenseModel
from discreet.estimation.model.problem import Group, Problem, read
from discreet.estimation.solvers import banded
from discreet.estimation.solvers.banded import LEFT_OUT, BandedModel
from discreet.exact.kernels import Noise
from discreet.exact.laws import Finite, Gaussian, GeometricTails, Law
from support.battery import truth


def dense(problem: Problem) -> DenseModel:
    model = DenseModel(problem.block(), problem.counts / problem.people)
    model.by_reports = False
    return model


def finite(rng: np.random.Generator) -> Finite:
    """Any weights, with holes and on one side of zero too."""
    weights = rng.integers(0, 50, rng.integers(1, 9)) * rng.integers(0, 2)
    return Finite(int(rng.integers(-9, 5)), [*weights.tolist(), int(rng.integers(1, 9))])


def law(rng: np.random.Generator) -> Law:
    kind = int(rng.integers(3))
    if kind == 0:
        return finite(rng)
    if kind == 1:
        return Gaussian(Fraction(math.exp(rng.uniform(-3, 6))).limit_denominator(1000))
    return GeometricTails(*(Fraction(rng.uniform(0.01, 0.95)).limit_denominator(1000) for _ in range(2)))


def group(rng: np.random.Generator, size: int) -> Group:
    """Noise by a random law, some truths with laws of their own, clamped on no side, one or both."""
    noise = law(rng)
    own = [finite(rng) for _ in range(int(rng.integers(0, 6)))] if noise.rational and rng.random() < 0.5 else []
    low, high = -int(rng.integers(0, 3)), size - 1 + int(rng.integers(-1, 3))
    clamp = (low if rng.random() < 0.5 else None, max(high, low + 1) if rng.random() < 0.5 else None)
    kernel = Noise(noise, (0, None), clamp, tuple(own))
    spread = np.arange(-30 if clamp[0] is None else clamp[0], size + 30 if clamp[1] is None else clamp[1] + 1)
    chances = Group(dc.Counts(size - 1), dc.Integers(), kernel, spread, spread, None).block()
    possible = spread[chances.max(axis=0) > 0]
    reports = np.sort(rng.choice(possible, rng.integers(1, len(possible) + 1), replace=False))
    return Group(dc.Counts(size - 1), dc.Integers(), kernel, reports, rng.integers(1, 1000, len(reports)), None)


@given(st.integers(0, 10**6))
def test_products_and_systems_are_those_of_the_whole_matrix(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 150))
    problem = Problem(tuple(group(rng, size) for _ in range(rng.integers(1, 4))))
    model, whole = BandedModel(problem), dense(problem)
    p, v = rng.dirichlet(np.ones(size)), rng.random(len(whole.q))
    assert model.possible
    assert np.allclose(model.q, whole.q, rtol=1e-15)
    assert np.allclose(model.forward(p), whole.forward(p), rtol=1e-13, atol=LEFT_OUT)
    assert np.allclose(model.backward(v), whole.backward(v), rtol=1e-13, atol=LEFT_OUT)
    weights, slacks, b = np.exp(rng.uniform(-4, 4, len(v))), np.exp(rng.uniform(-4, 4, size)), rng.normal(size=size)
    dp, du = model.newton(weights, slacks)(b)
    scale = np.abs(whole.A) @ (weights * (np.abs(dp) @ whole.A)) + slacks * np.abs(dp)
    assert np.abs(whole.A @ (weights * (dp @ whole.A)) + slacks * dp - b).max() <= 1e-11 * scale.max()
    assert np.allclose(du, dp @ whole.A, atol=1e-12 * np.abs(dp).sum())


@given(st.integers(0, 10**6))
def test_the_gap_is_that_of_the_whole_matrix_wherever_the_solver_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 150))
    problem = Problem((group(rng, size),))
    model, whole = BandedModel(problem), dense(problem)
    p = rng.dirichlet(np.full(size, 0.3)) + 1e-12
    assert interior.gap_of(model, p) == pytest.approx(interior.gap_of(whole, p), abs=1e-13, rel=1e-13)


@pytest.mark.parametrize("left_out", [1e-3, 1.0])
def test_what_may_be_missing_from_the_gap_is_bounded_and_would_be_seen(
    left_out: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With entries left out that do matter, the gap is too small, by log(1 + left_out) at most."""
    rng = np.random.default_rng(1)
    m = dc.discrete_gaussian(sigma2=25)
    problem = read(None, m, m.simulate(rng.integers(0, 101, 2000), seed=2), dc.Counts(100))
    monkeypatch.setattr(banded, "LEFT_OUT", left_out)
    model, whole = BandedModel(problem), dense(problem)
    missing = []
    for concentration in (0.1, 1, 10, 1000):
        p = rng.dirichlet(np.full(101, concentration)) + 1e-9
        missing.append(interior.gap_of(whole, p) - interior.gap_of(model, p))
    assert max(np.abs(missing)) > 1e-9
    assert max(missing) <= math.log1p(left_out)


# ------------------------------------------------------------------------------------------------ maxima


@cache
def bounded_noise(number: int) -> dc.Mechanism:
    """Designing one takes longer than estimating with it."""
    return dc.bounded_noise(*((3, 0.5, 2), (1, 0.5, 5), ("0.5", 0.5, 12))[number])


def problems(count: int, seed: int, largest: int = 300) -> Iterator[tuple[str, Problem]]:
    """Noise of every kind and width, clamped or not, reports far outside, two mechanisms at once."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        size = max(2, round(float(np.exp(rng.uniform(np.log(2), np.log(largest))))))
        sigma2 = math.exp(rng.uniform(math.log(0.04), math.log(1600)))
        epsilon = math.exp(rng.uniform(math.log(0.05), math.log(8)))
        over = dc.Counts(size - 1)
        choice = int(rng.integers(5))
        mechanisms, over_all = [], None if choice in (1, 2) else over
        if choice in (0, 4):
            mechanisms.append(dc.discrete_gaussian(sigma2=sigma2))
        if choice == 1:
            mechanisms.append(dc.discrete_gaussian(sigma2=sigma2).on(over, clamp=True))
        if choice == 2:
            mechanisms.append(dc.rounded_laplace(size - 1, epsilon=epsilon))
        if choice in (3, 4):
            mechanisms.append(bounded_noise(k % 3))
        people, kind = round(10 ** rng.uniform(0, 5)), int(rng.integers(4))
        p, data = truth(rng, size, kind), []
        for m in mechanisms:
            reports = np.asarray(m.simulate(rng.choice(size, people, p=p), seed=int(rng.integers(2**32))))
            if m is mechanisms[0] and choice in (0, 4) and rng.random() < 0.3:
                far = round(rng.uniform(0, 30) * math.sqrt(sigma2))
                reports = np.append(reports, [-far, size - 1 + far // 2])
            data.append((reports, m))
        yield f"{mechanisms} {size=} {people=} {kind=}", read(None, None, data, over_all)


@pytest.mark.parametrize("seed", range(4))
def test_the_maximum_is_that_of_the_dense_model(seed: int) -> None:
    for name, problem in problems(60, seed):
        tolerance = interior.tolerance_for(problem.people)
        whole = dense(problem)
        found, other = interior.solve(BandedModel(problem), tolerance), interior.solve(whole, tolerance)
        assert found.gap <= tolerance and found.iterations <= 30, name
        assert interior.gap_of(whole, found.p) <= 1.001 * tolerance, name
        missing = whole.q @ np.log(whole.forward(other.p)) - whole.q @ np.log(whole.forward(found.p))
        assert abs(missing) <= 1.001 * tolerance, name


def test_profiles_with_costs_are_those_of_the_dense_model() -> None:
    m = dc.discrete_gaussian(sigma2=9)
    reports = m.simulate(np.random.default_rng(3).integers(20, 180, 5000), seed=4)
    problem = read(None, m, reports, dc.Counts(200))
    for t in (-0.009, 0.009):
        costs = np.asarray(1 + t * (np.arange(201) - 100.0), np.float64)
        one, two = (interior.solve(model, 1e-10, costs) for model in (BandedModel(problem), dense(problem)))
        assert max(one.gap, two.gap) <= 1e-10
        assert one.p @ np.arange(201) == pytest.approx(two.p @ np.arange(201), abs=1e-3)


def test_reports_that_are_hardly_possible_have_narrow_windows() -> None:
    """P(report | largest truth) is 1e-200 and 1e-280: the least share of that is hardly a double, or none."""
    size, sigma2 = 400, 9
    for log10 in (200, 280):
        far = size - 1 + math.floor(math.sqrt(2 * sigma2 * (log10 - 1) * math.log(10)))
        problem = read({far: 1, 100: 500, 150: 400}, dc.discrete_gaussian(sigma2=sigma2), None, dc.Counts(size - 1))
        model = BandedModel(problem)
        assert model.possible and model.width < 100
        assert interior.solve(model, 1e-8).gap <= 1e-8


def test_a_long_range_takes_no_matrix() -> None:
    n = 20_000
    m = dc.discrete_gaussian(sigma2=16)
    values = np.clip(np.random.default_rng(5).normal(n / 2, n / 10, 20_000).astype(int), 0, n)
    model = banded.fitting(read(None, m, m.simulate(values, seed=6), dc.Counts(n)))
    assert model is not None and model.places < 200 * n
    found = interior.solve(model, 5e-8)
    assert found.gap <= 5e-8 and found.iterations <= 30
    assert abs(found.p @ np.arange(n + 1) - values.mean()) < 1


# ------------------------------------------------------------------------------------------------ the choice


def read_noise(n: int, sigma2: int, reports: list[int]) -> Problem:
    return read(None, dc.discrete_gaussian(sigma2=sigma2), reports, dc.Counts(n))


def test_it_is_chosen_where_it_is_faster() -> None:
    everywhere = list(range(500))
    assert isinstance(banded.fitting(read_noise(499, 9, everywhere)), BandedModel)
    assert banded.fitting(read_noise(499, 40**2, everywhere)) is None  # windows as wide as the range
    assert banded.fitting(read_noise(99, 1, everywhere[:100])) is None  # too few truths to pay
    assert banded.fitting(read_noise(499, 9, [5, 100, 300])) is None  # a system of three reports is smaller


def test_it_is_not_chosen_where_there_are_no_windows() -> None:
    response = dc.randomized_response(300, epsilon=1)
    assert banded.fitting(read([1] * 300, response, None, None)) is None
    m = dc.discrete_gaussian(sigma2=10**10)
    assert banded.fitting(read({-2_200_000: 1, 2_200_000: 1}, m, None, dc.Counts(300))) is None  # reports too far apart


def test_it_is_not_chosen_beyond_what_memory_and_patience_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = read_noise(499, 9, list(range(500)))
    model = banded.fitting(problem)
    assert model is not None
    for limit, value in (("MAX_STEP_WORK", model.work), ("MAX_DOUBLES", model.places)):
        with monkeypatch.context() as patch:
            patch.setattr(banded, limit, value - 1)
            assert banded.fitting(problem) is None
            patch.setattr(banded, limit, value)
            assert banded.fitting(problem) is not None
