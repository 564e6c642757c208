"""Projective response: points, hyperplanes, products and draws, against everything written out."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidInput, Unsupported
from discreet.exact.bits import ReplayBits, SeededBits
from discreet.exact.kernels import kernel_from
from discreet.exact.projective import Projective, inverses, is_prime, points_of
from support.grids import every_case
from support.refusals import refused

SPACES = [(2, 2), (2, 3), (2, 6), (3, 2), (3, 3), (3, 5), (5, 3), (7, 2), (7, 3), (53, 2), (101, 2), (53, 3)]
SMALL = [(q, t) for q, t in SPACES if points_of(q, t) < 400]


def coordinates(q: int, t: int) -> list[tuple[int, ...]]:
    """All points in order, written out: first nonzero coordinate 1, those with more zeros before it first."""
    found = [tuple(number // q**k % q for k in reversed(range(t))) for number in range(q**t)]
    return [point for point in found if any(point) and next(filter(None, point)) == 1]


def incidence(q: int, t: int) -> np.ndarray:
    points = np.array(coordinates(q, t))
    return points @ points.T % q == 0


@every_case(("q", "t"), SMALL)
def test_a_report_is_likelier_exactly_where_the_inner_product_of_the_points_is_zero(q: int, t: int) -> None:
    hits = incidence(q, t)
    kernel = Projective(len(hits), q, t, 5, 2)
    s, r = kernel.hyperplane, kernel.overlap
    assert len(hits) == kernel.points and (hits.sum(axis=1) == s).all()
    shared = hits.astype(int) @ hits
    assert (shared[~np.eye(len(hits), dtype=bool)] == r).all()
    total = 5 * s + 2 * (kernel.points - s)
    assert np.array_equal(kernel.matrix(), np.where(hits, 5 / total, 2 / total))
    assert kernel.table().probability(1, 0) == kernel.probability(1, 0) == Fraction(5 if hits[1, 0] else 2, total)
    assert kernel.own_chance == Fraction(5 * s, total) and kernel.other_chance == Fraction(5 * r + 2 * (s - r), total)


@every_case(("q", "t"), SPACES)
def test_products_are_those_with_the_matrix(q: int, t: int) -> None:
    points = points_of(q, t)
    kernel = Projective(max(2, 2 * points // 3), q, t, 7, 3)
    matrix = kernel.matrix()
    rng = np.random.default_rng(q * t)
    p, v = rng.dirichlet(np.ones(kernel.size)), rng.normal(size=points)
    assert np.allclose(kernel.forward(p), p @ matrix, rtol=1e-12, atol=1e-15)
    assert np.allclose(kernel.backward(v), matrix @ v, rtol=1e-11, atol=1e-13)


@every_case(("q", "t"), [(2, 18), (3, 11), (53, 4), (401, 3)])
def test_products_of_large_spaces_are_sums_over_hyperplanes(q: int, t: int) -> None:
    kernel = Projective(points_of(q, t), q, t, 7, 3)
    values = np.random.default_rng(1).random(kernel.points)
    sums = kernel.hyperplane_sums(values)
    for x in (0, 1, 2, q, kernel.points // 3, kernel.points - 1):
        hits = kernel.incident(np.array(x), np.arange(kernel.points))
        assert sums[x] == pytest.approx(values[hits].sum(), rel=1e-11)


@every_case(("q", "t"), SMALL)
def test_numbers_of_a_hyperplane_are_its_points_each_once(q: int, t: int) -> None:
    hits = incidence(q, t)
    kernel = Projective(len(hits), q, t, 5, 2)
    for x in range(len(hits)):
        found = kernel.in_hyperplane(np.full(kernel.hyperplane, x), np.arange(kernel.hyperplane))
        assert sorted(found.tolist()) == np.flatnonzero(hits[x]).tolist()


@every_case("q", [2, 3, 7, 53, 4093])
def test_inverses_are_inverse(q: int) -> None:
    numbers = np.arange(1, q)
    assert (inverses(numbers, q) * numbers % q == 1).all()
    assert is_prime(q) and not is_prime(q * q) and not is_prime(2 * q)


# ------------------------------------------------------------------------------------------------ draws


def report(kernel: Projective, truth: int, upper: int, lower: int, deep: list[int]) -> int:
    """By intervals of rationals: first whether from the hyperplane, then which number, each with the words it needs."""
    words = iter(deep)
    within = Fraction((kernel.inside - kernel.outside) * kernel.hyperplane, kernel.total)
    value, known = upper, 32
    while Fraction(value, 2**known) < within < Fraction(value + 1, 2**known):
        value, known = value << 64 | next(words), known + 64
    inner = Fraction(value + 1, 2**known) <= within
    size = kernel.hyperplane if inner else kernel.points
    value, known = lower, 32
    while math.floor(Fraction(value * size, 2**known)) + 1 < Fraction((value + 1) * size, 2**known):
        value, known = value << 64 | next(words), known + 64
    number = value * size >> known
    if not inner:
        return number
    return int(kernel.in_hyperplane(np.array([truth]), np.array([number]))[0])


@pytest.mark.parametrize(
    "kernel", [Projective(13, 3, 3, 5, 2), Projective(5, 2, 3, 3, 3), Projective(50, 53, 2, 2**40, 1)], ids=str
)
def test_draws_at_every_boundary(kernel: Projective) -> None:
    sampler = kernel.sampler()
    cut = math.floor(Fraction((kernel.inside - kernel.outside) * kernel.hyperplane, kernel.total) * 2**32)
    uppers = [u for u in {0, cut - 1, cut, cut + 1, 2**32 - 1} if 0 <= u < 2**32]
    edges = {j * 2**32 // size for size in (kernel.hyperplane, kernel.points) for j in range(size + 1)}
    lowers = sorted(v for e in edges for v in (e - 1, e, e + 1) if 0 <= v < 2**32)
    for truth in (0, kernel.size - 1):
        for upper in uppers:
            for lower in lowers:
                for deep in ([0, 0, 0], [2**64 - 1] * 3, [2**63, 5, 0], [0, 2**64 - 1, 0]):
                    streams = (
                        (upper << 32 | lower).to_bytes(8, "little"),
                        b"",
                        b"".join(d.to_bytes(8, "little") for d in deep),
                    )
                    expected = report(kernel, truth, upper, lower, deep)
                    assert sampler.draw(np.array([truth]), ReplayBits(*streams)).tolist() == [expected]
                    assert sampler.draw_one(truth, ReplayBits(*streams)) == expected


@pytest.mark.parametrize(("q", "t"), [(2, 4), (3, 3), (7, 2)])
def test_the_numbers_behind_a_draw_give_exactly_the_weights(q: int, t: int) -> None:
    """The mixture of a hyperplane and of all points, added up over every number it may draw."""
    kernel = Projective(points_of(q, t), q, t, 11, 4)
    within = Fraction((kernel.inside - kernel.outside) * kernel.hyperplane, kernel.total)
    for x in range(kernel.size):
        chances = [(1 - within) / kernel.points] * kernel.points
        for y in kernel.in_hyperplane(np.full(kernel.hyperplane, x), np.arange(kernel.hyperplane)).tolist():
            chances[y] += within / kernel.hyperplane
        assert chances == [kernel.probability(x, y) for y in range(kernel.points)]


def test_draws_do_not_depend_on_chunks() -> None:
    kernel = Projective(1000, 3, 7, 19, 7)
    truths = np.random.default_rng(4).integers(0, 1000, 3000)
    whole = kernel.sampler().draw(truths, SeededBits(9))
    bits = SeededBits(9)
    parts = [kernel.sampler().draw(part, bits) for part in np.split(truths, [1, 7, 2000])]
    one = SeededBits(9)
    assert np.array_equal(np.concatenate(parts), whole)
    assert [kernel.sampler().draw_one(int(x), one) for x in truths[:50]] == whole[:50].tolist()


# ------------------------------------------------------------------------------------------------ parameters


@every_case(
    "bad", [(5, 4, 3, 2, 1), (5, 2, 1, 2, 1), (8, 2, 3, 2, 1), (1, 2, 3, 2, 1), (5, 2, 3, 1, 2), (5, 2, 3, 2, 0),
            (5, 2, 25, 2, 1), (5, 2.0, 3, 2, 1), (5, 65537, 3, 2, 1)],
)  # fmt: skip
def test_impossible_parameters_are_refused(bad: tuple[int, ...]) -> None:
    with refused(InvalidInput, token="Projecti"):
        Projective(*bad)


def test_a_kernel_is_read_back_and_large_tables_are_refused() -> None:
    kernel = Projective(10**6, 3, 14, 10**30, 7)
    assert kernel_from(kernel.to_json()) == kernel
    for expand in (kernel.table, kernel.matrix):
        with refused(Unsupported, token="16,000,000"):
            expand()
