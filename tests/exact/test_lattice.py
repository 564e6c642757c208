"""Lattice: the exact law on a map, its products, its samples, its description."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput, UnreadableFile, Unsupported
from discreet.exact import lattice as module
from discreet.exact.bits import SeededBits
from discreet.exact.lattice import Lattice
from support.grids import every_case
from support.refusals import refused
from support.tiers import examples

BORDERS = ("remap", "normalise")


def weights_of(shape: tuple[int, int], seed: int = 0) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [[int(w) * 10**30 + 7 for w in row] for row in rng.integers(1, 1000, shape)]


def by_hand(weights: list[list[int]], border: str) -> list[list[Fraction]]:
    """Every displacement of the window from every cell, one at a time."""
    rows, cols = len(weights), len(weights[0])
    table = []
    for r in range(rows):
        for c in range(cols):
            mass = [0] * (rows * cols)
            for a in range(1 - rows, rows):
                for b in range(1 - cols, cols):
                    y, x = r + a, c + b
                    if border == "normalise" and not (0 <= y < rows and 0 <= x < cols):
                        continue
                    y, x = min(max(y, 0), rows - 1), min(max(x, 0), cols - 1)
                    mass[y * cols + x] += weights[abs(a)][abs(b)]
            table.append([Fraction(m, sum(mass)) for m in mass])
    return table


shapes = st.tuples(st.integers(1, 4), st.integers(1, 4)).filter(lambda s: s != (1, 1))


@examples(40)
@given(shapes, st.sampled_from(BORDERS), st.integers(0, 10**6))
def test_table_and_probability_are_every_displacement_added_up(shape, border, seed):
    weights = weights_of(shape, seed)
    kernel = Lattice.from_weights(weights, border)
    expected = by_hand(weights, border)
    table = kernel.table()
    size = shape[0] * shape[1]
    assert table.shape == kernel.shape == (size, size)
    for i in range(size):
        assert sum(table.row(i)) == table.totals[i]
        for j in range(size):
            assert table.probability(i, j) == kernel.probability(i, j) == expected[i][j]
    assert np.allclose(kernel.matrix(), np.array(expected, float), rtol=1e-14, atol=0)


def test_every_row_of_a_remapped_lattice_has_the_same_total():
    kernel = Lattice.from_weights(weights_of((5, 7)), "remap")
    assert kernel.table().common_total == kernel.total


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("shape", [(6, 7), (1, 9), (9, 1), (2, 5), (11, 4)])
def test_products_by_fourier_transform_agree_with_the_matrix(border, shape, monkeypatch):
    monkeypatch.setattr(module, "MAX_DENSE_CELLS", 0)
    kernel = Lattice.from_weights(weights_of(shape), border)
    rng = np.random.default_rng(1)
    p, v = rng.dirichlet(np.ones(kernel.size)), rng.normal(size=kernel.size)
    matrix = kernel.matrix()
    assert np.abs(kernel.forward(p) - p @ matrix).max() < 1e-14
    assert np.abs(kernel.backward(v) - matrix @ v).max() < 1e-12
    stack = rng.random((3, kernel.size))
    assert np.abs(kernel.forward(stack) - stack @ matrix).max() < 1e-12
    assert np.abs(kernel.backward(stack) - stack @ matrix.T).max() < 1e-12


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("shape", [(40, 25), (60, 3)])
def test_products_on_a_field_as_wide_as_the_law_reaches_agree_with_the_matrix(border, shape, monkeypatch):
    """Weights that fall by a hundred a step reach 8 rows, and the map is larger."""
    monkeypatch.setattr(module, "MAX_DENSE_CELLS", 0)
    weights = [[10 ** (300 - 2 * a - b) for b in range(shape[1])] for a in range(shape[0])]
    kernel = Lattice.from_weights(weights, border)
    assert kernel._convolution.reach[0] == 8
    rng = np.random.default_rng(3)
    p, v = rng.dirichlet(np.ones(kernel.size)), rng.normal(size=kernel.size)
    assert np.abs(kernel.forward(p) - p @ kernel.matrix()).max() < 1e-16
    assert np.abs(kernel.backward(v) - kernel.matrix() @ v).max() < 1e-14


def test_products_of_small_and_large_maps_agree_where_they_meet(monkeypatch):
    kernel = Lattice.from_weights(weights_of((31, 33)), "remap")
    assert kernel.size > module.MAX_DENSE_CELLS
    p = np.random.default_rng(2).dirichlet(np.ones(kernel.size))
    fast = kernel.forward(p), kernel.backward(p)
    monkeypatch.setattr(module, "MAX_DENSE_CELLS", 10**6)
    assert np.abs(fast[0] - kernel.forward(p)).max() < 1e-15
    assert np.abs(fast[1] - kernel.backward(p)).max() < 1e-15


def test_distributions_of_reports_are_never_zero_or_negative(monkeypatch):
    monkeypatch.setattr(module, "MAX_DENSE_CELLS", 0)
    weights = [[10 ** (90 - 3 * (a + b)) for b in range(15)] for a in range(15)]
    kernel = Lattice.from_weights(weights, "remap")
    p = np.zeros(kernel.size)
    p[0] = 1.0
    reports = kernel.forward(p)
    assert reports.min() > 0  # the smallest is 1e-84: far below what the transform can resolve
    assert abs(reports.sum() - 1) < 1e-14


# ------------------------------------------------------------------------------------------------ samples


def chi_square(kernel: Lattice, expected: np.ndarray, truth: int, seed: int, draws: int = 500_000) -> float:
    """The chi-square statistic of a sample, in standard deviations from its mean."""
    reports = kernel.sampler().draw(np.full(draws, truth), SeededBits(seed))
    counts = np.bincount(reports, minlength=kernel.size)
    statistic = ((counts - draws * expected) ** 2 / (draws * expected)).sum()
    freedom = kernel.size - 1
    return float((statistic - freedom) / math.sqrt(2 * freedom))


@every_case("border", BORDERS)
@every_case("truth", [0, 12, 29])
def test_samples_follow_the_law_and_not_one_that_is_a_tenth_off(border, truth):
    weights = [[2 ** (20 - 2 * a - b) for b in range(5)] for a in range(6)]
    kernel = Lattice.from_weights(weights, border)
    assert abs(chi_square(kernel, kernel.matrix()[truth], truth, seed=truth)) < 4
    wrong = [row[:] for row in weights]
    wrong[0][0] = wrong[0][0] * 11 // 10
    assert chi_square(kernel, Lattice.from_weights(wrong, border).matrix()[truth], truth, seed=truth) > 8


@pytest.mark.parametrize("border", BORDERS)
def test_one_draw_at_a_time_is_the_same_stream(border):
    kernel = Lattice.from_weights(weights_of((4, 6)), border)
    truths = np.arange(24).repeat(5)
    many = kernel.sampler().draw(truths, SeededBits(5))
    sampler, bits = kernel.sampler(), SeededBits(5)
    assert many.tolist() == [sampler.draw_one(int(t), bits) for t in truths]


def test_large_maps_are_sampled_by_displacement():
    weights = [[2 ** (80 - a - b) for b in range(40)] for a in range(40)]
    sampler = Lattice.from_weights(weights, "remap").sampler()
    reports = sampler.draw(np.full(20_000, 20 * 40 + 20), SeededBits(8))
    assert abs(np.mean(reports // 40) - 20) < 0.1 and abs(np.mean(reports % 40) - 20) < 0.1
    assert reports.min() >= 0 and reports.max() < 1600


# ------------------------------------------------------------------------------------------------ refusals, files


@pytest.mark.parametrize("border", BORDERS)
def test_description_comes_back_exactly(border):
    kernel = Lattice.from_weights(weights_of((3, 5)), border)
    again = Lattice.from_json(json.loads(json.dumps(kernel.to_json())))
    assert again.palette == kernel.palette and again.border == border
    assert np.array_equal(again.codes, kernel.codes)


def test_descriptions_with_very_long_integers_come_back():
    kernel = Lattice.from_weights([[1 << 50_000, 1]], "remap")
    assert Lattice.from_json(json.loads(json.dumps(kernel.to_json()))).palette == kernel.palette


@every_case("damage", [{"weights": None}, {"codes": [[0, 99]]}, {"border": "cut"}, {"codes": "x"}])
def test_damaged_descriptions_are_refused(damage):
    description = Lattice.from_weights([[2, 1], [1, 1]], "remap").to_json() | damage
    with refused(UnreadableFile, token="lattice"):
        Lattice.from_json(description)


@every_case("weights", [[[1]], [[1, -1]], [[0, 0]], [[1, 2], [1]], []])
def test_weights_that_are_no_distribution_are_refused(weights):
    with pytest.raises(InvalidInput):
        Lattice.from_weights(weights, "remap")


def test_what_is_too_large_is_refused_and_the_message_names_what_works():
    ones = Lattice.from_weights([[1] * 60] * 60, "normalise")
    with refused(Unsupported, token="forward"):
        ones.table()
    with refused(Unsupported, "border"):
        ones.sampler()
    with refused(Unsupported, token="forward"):
        Lattice.from_weights([[1] * 100] * 100, "remap").matrix()
