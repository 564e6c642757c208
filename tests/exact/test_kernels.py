"""Kernels: probability, table, matrix, forward and backward are one and the same thing, by its definition."""

from __future__ import annotations

import json
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput, Unsupported
from discreet.exact.bits import SeededBits
from discreet.exact.kernels import Noise, Response, kernel_from
from discreet.exact.laws import Finite, Gaussian, GeometricTails
from discreet.exact.tables import Table
from support.grids import every_case
from support.refusals import refused
from support.tiers import examples

F = Fraction

LAWS = {
    "two-sided": GeometricTails.two_sided(F(9, 10)),
    "steep": GeometricTails.two_sided(F(1, 10**20)),
    "Laplace": GeometricTails.laplace(F(2, 3)),
    "no atom": GeometricTails(F(0), F(1, 2)),
    "finite": Finite(-3, [1, 2, 3, 4, 3, 2, 1]),
    "lopsided": Finite(-2, [1, 0, 10**30, 4]),
    "upwards": Finite(1, [1, 5]),
    "far away": Finite(40, [1, 1]),
}
OWN = {
    "none": (),
    "two": (Finite(0, [3, 1]), Finite(-1, [1, 0, 4])),
    "many": tuple(Finite(-k, [1] * 9) for k in range(20)),
}


def by_hand(kernel: Noise, n: int) -> list[list[Fraction]]:
    """Every noise from -100 to 100, one at a time, clamped; what lies beyond goes to the ends."""
    table = []
    for x in range(n + 1):
        law = kernel.first_laws[x] if x < len(kernel.first_laws) else kernel.law
        row = [F(0)] * (n + 1)
        for z in range(-100, 101):
            row[min(max(x + z, 0), n)] += law.probability(z)
        row[n] += law.upper(101)
        row[0] += 1 - law.upper(-100)
        table.append(row)
    return table


@every_case("own", OWN)
@every_case("law", LAWS)
@every_case("n", [1, 2, 3, 11])
def test_noise_is_truth_plus_noise_clamped(law, own, n):
    kernel = Noise(LAWS[law], (0, n), (0, n), OWN[own])
    exact = by_hand(kernel, n)
    table, matrix = kernel.table(), kernel.matrix()
    for i in range(n + 1):
        assert sum(exact[i]) == 1
        for j in range(n + 1):
            assert kernel.probability(i, j) == table.probability(i, j) == exact[i][j]
            assert matrix[i, j] == pytest.approx(float(exact[i][j]), rel=1e-12, abs=0)
            assert kernel.approximate(i, j) == pytest.approx(float(exact[i][j]), rel=1e-12, abs=0)
    assert kernel.probability(0, n + 1) == kernel.probability(0, -1) == 0
    rng = np.random.default_rng(n)
    p, v = rng.dirichlet(np.ones(n + 1)), rng.normal(size=n + 1)
    given = np.array([[float(q) for q in row] for row in exact])
    before = p.copy(), v.copy()
    assert np.allclose(kernel.forward(p), p @ given, rtol=1e-12, atol=1e-300)
    assert np.allclose(kernel.backward(v), given @ v, rtol=1e-12, atol=1e-14)
    assert np.array_equal(p, before[0]) and np.array_equal(v, before[1])


@every_case("n", [1, 2, 9])
@every_case("alpha", [F(1, 2), F(10, 11)])
def test_truncated_geometric_is_the_papers_matrix(n, alpha):
    """[F] (6), [C] definition 4."""
    kernel = Noise(GeometricTails.two_sided(alpha), (0, n), (0, n))
    for i in range(n + 1):
        for j in range(n + 1):
            inside = (1 - alpha) / (1 + alpha) if 0 < j < n else 1 / (1 + alpha)
            assert kernel.probability(i, j) == inside * alpha ** abs(i - j)


@every_case("n", [1, 2, 40])
@every_case("sigma2", ["0.2", "9"])
def test_clamped_gaussian_agrees_with_sums_of_its_floats(n, sigma2):
    law = Gaussian(F(sigma2))
    kernel = Noise(law, (0, n), (0, n))
    z = np.arange(-300, 301)
    weights = np.exp(-z * z / (2 * float(F(sigma2))))
    weights /= weights.sum()
    given = np.zeros((n + 1, n + 1))
    for x in range(n + 1):
        np.add.at(given[x], np.clip(x + z, 0, n), weights)
    assert np.allclose(kernel.matrix(), given, rtol=1e-12, atol=1e-300)
    rng = np.random.default_rng(3)
    p, v = rng.dirichlet(np.ones(n + 1)), rng.normal(size=n + 1)
    assert np.allclose(kernel.forward(p), p @ given, rtol=1e-11)
    assert np.allclose(kernel.backward(v), given @ v, atol=1e-13)
    found = [[kernel.approximate(i, j) for j in range(n + 1)] for i in range(n + 1)]
    assert np.allclose(found, given, rtol=1e-11, atol=1e-300)  # relatively: also where it is 1e-100
    with refused(Unsupported, token="not rational"):
        kernel.table()


def test_long_convolutions_by_transform_agree_with_the_matrix():
    for law in (Gaussian(F(400)), Finite(-700, list(range(1, 1300)))):
        kernel = Noise(law, (0, 1500), (0, 1500))
        rng = np.random.default_rng(3)
        p, v = rng.dirichlet(np.ones(1501)), rng.normal(size=1501)
        matrix = kernel.matrix()
        assert np.abs(kernel.forward(p) - p @ matrix).max() < 1e-15
        assert np.abs(kernel.backward(v) - matrix @ v).max() < 1e-13
        assert kernel.forward(p).min() >= 0


@pytest.mark.parametrize(
    "kernel",
    [
        Noise(GeometricTails.two_sided(F(999, 1000)), (0, 10**6), (0, 10**6)),
        Noise(GeometricTails.two_sided(F(9, 10)), (0, 10**6), (0, 10**6), (Finite(0, [3, 1]), Finite(-1, [1, 1]))),
        Response(10**6 + 1, 3, 1),
    ],
    ids=["geometric", "own laws", "response"],
)
def test_a_million_counts_need_no_matrix(kernel):
    p = np.full(10**6 + 1, 1 / (10**6 + 1))
    kernel.forward(p[:]) if isinstance(kernel, Response) else None
    tracemalloc.start()
    try:
        reports, means = kernel.forward(p), kernel.backward(np.ones(10**6 + 1))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200e6
    assert abs(reports.sum() - 1) < 1e-10 and np.abs(means - 1).max() < 1e-10
    with refused(Unsupported, token="16,000,000"):
        kernel.matrix()
    with refused(Unsupported, token="16,000,000"):
        kernel.table()


def test_unbounded_noise_refuses_tables_and_names_the_way_out():
    kernel = Noise(GeometricTails.two_sided(F(1, 2)))
    for ask in (kernel.table, kernel.matrix, lambda: kernel.forward(np.ones(2)), lambda: kernel.backward(np.ones(2))):
        with refused(Unsupported, token="m.on(Counts(n), clamp=True)"):
            ask()
    assert kernel.probability(-5, -7) == F(1, 12)


def test_one_sided_clamps_and_truths_from_a_lower_end():
    kernel = Noise(GeometricTails.two_sided(F(1, 2)), (-3, None), (-3, None), (Finite(0, [1, 2]),))
    assert kernel.probability(-3, -3) == F(1, 3) and kernel.probability(-3, -2) == F(2, 3)
    assert kernel.probability(-2, -3) == F(1, 3) and kernel.probability(-2, -4) == 0
    assert kernel.probability(10, 11) == F(1, 6)
    reports = kernel.sampler().draw(np.array([-3] * 500 + [-2] * 500, np.int8), SeededBits(1))
    assert set(reports[:500].tolist()) == {-3, -2} and reports[500:].min() == -3 and reports[500:].max() > -1


def test_own_laws_reach_truths_stored_in_few_bits():
    """150 own laws and truths from -100 to 100 in one byte: neither fits in the difference of two bytes."""
    own = tuple(Finite(0, [1]) for _ in range(150))
    kernel = Noise(Finite(-1, [1, 0, 1]), (-100, 100), (-100, 100), own)
    truths = np.arange(-100, 101)
    reports = kernel.sampler().draw(truths.astype(np.int8), SeededBits(1))
    assert np.array_equal(reports[:150], truths[:150])
    assert np.array_equal(np.abs(reports - truths)[150:-1], np.ones(50))


def test_noise_refuses_impossible_shapes():
    with refused(InvalidInput, "clamp"):
        Noise(LAWS["finite"], (0, 5), (5, 5))
    with refused(InvalidInput, "first_laws"):
        Noise(LAWS["finite"], first_laws=(Finite(0, [1]),))


# ------------------------------------------------------------------------------------------------ response


@examples(50)
@given(st.integers(2, 9), st.integers(1, 10**25), st.integers(0, 10**25))
def test_response_keeps_or_replaces(size, stay, other):
    stay, other = max(stay, other), min(stay, other)
    kernel = Response(size, stay, other)
    total = stay + (size - 1) * other
    exact = [[F(stay if i == j else other, total) for j in range(size)] for i in range(size)]
    table = kernel.table()
    assert all(sum(row) == 1 for row in exact)
    for i in range(size):
        assert [table.probability(i, j) for j in range(size)] == exact[i]
        assert [kernel.probability(i, j) for j in range(size)] == exact[i]
    matrix = np.array([[float(q) for q in row] for row in exact])
    assert np.allclose(kernel.matrix(), matrix, rtol=1e-15)
    v = np.random.default_rng(size).normal(size=size)
    assert np.allclose(kernel.forward(v), v @ matrix, atol=1e-14)
    assert np.allclose(kernel.backward(v), matrix @ v, atol=1e-14)
    # what is sampled: keep, or any value alike
    keep = kernel.sampler()._keep
    assert keep + (1 - keep) / size == exact[0][0] and (1 - keep) / size == exact[0][1]


@every_case("bad", [(1, 1, 1), (2, 1, 2), (2, 0, 0), (2**31 + 1, 2, 1), (3, 1, -1)])
def test_response_refuses_impossible_parameters(bad):
    with refused(InvalidInput, token="Response("):
        Response(*bad)


# ------------------------------------------------------------------------------------------------ files


@every_case(
    "kernel",
    [
        Noise(GeometricTails.two_sided(F(9, 10)), (0, 10), (0, 10)),
        Noise(Gaussian(F(7, 3))),
        Noise(LAWS["lopsided"], (0, None), (0, None), OWN["two"]),
        Noise(LAWS["finite"], (0, 2**62), (0, 2**62)),
        Response(5, 10**30, 7),
    ],
)
def test_a_kernel_survives_its_description(kernel):
    assert kernel_from(json.loads(json.dumps(kernel.to_json()))) == kernel


def test_own_laws_that_are_not_finite_are_refused_not_dropped():
    description = Noise(LAWS["finite"], (0, 5), (0, 5), OWN["two"]).to_json()
    description["own"][0] = GeometricTails.two_sided(F(1, 2)).to_json()
    with refused(InvalidInput, given="geometric tails", allowed="finite"):
        kernel_from(description)


def test_unknown_kernels_are_refused():
    with refused(InvalidInput, "kind", given="magic"):
        kernel_from({"kernel": "magic"})
    assert isinstance(kernel_from(Table.from_rows([[1, 2]]).to_json()), Table)
