"""Planar mechanisms: what the designer builds, what the judge of maps finds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput
from discreet.exact.bits import SeededBits
from discreet.exact.lattice import Lattice
from discreet.exact.tables import Table
from discreet.mechanisms import planar
from discreet.mechanisms.planar import geometric_kernel, laplace_kernel, planar_geometric, planar_laplace
from discreet.privacy.lattice import TOLERANCE, metric_lattice, metric_table
from discreet.privacy.mixtures import mixture_bound
from discreet.spaces import Counts, Grid
from support.grids import every_case
from support.oracles import plane_integral
from support.refusals import Parts, refused
from support.tiers import examples

KERNELS = (geometric_kernel, laplace_kernel)
BORDERS = ("remap", "normalise")
PAPER = Grid(30, 30, cell=150.0)  # [A]'s square
PAPER_EPSILON = Fraction("0.00398441")


# ------------------------------------------------------------------------------------------------ the weights


def shares(kernel: Lattice) -> np.ndarray:
    """The probability of every displacement up to sign."""
    return np.array([[w / kernel.total for w in row] for row in kernel.weights.tolist()])


@every_case(("rows", "cols", "step"), [(4, 6, "0.5"), (1, 5, "0.8"), (2, 2, "1.5"), (3, 3, "6")])
def test_remapped_geometric_is_a_large_lattice_clamped(rows, cols, step):
    kernel = geometric_kernel(Grid(rows, cols, cell=1), Fraction(step), "remap")
    far = 4 + int(45 / float(step))
    lattice = np.arange(-far, far + 1)
    law = np.exp(-float(step) * (1 - 2.0**-24) * np.hypot.outer(lattice, lattice))
    law /= law.sum()
    expected = np.zeros((rows * cols, rows * cols))
    for x in range(rows * cols):
        r, c = divmod(x, cols)
        to_row, to_col = np.clip(r + lattice, 0, rows - 1), np.clip(c + lattice, 0, cols - 1)
        np.add.at(expected[x], to_row[:, None] * cols + to_col[None, :], law)
    assert np.abs(kernel.matrix() / expected - 1).max() < 1e-12


@every_case("step", [0.005, 0.6, 5.0, 50.0])
def test_laplace_mass_before_lumping_is_one(step):
    """Cells, strips and corner of a quadrant, each as often as it occurs, against 2 pi / kappa^2."""
    grid = Grid(6, 9, cell=1)
    rows, cols = (planar._intervals(n, planar._extent(grid, step, n - 0.5), step) for n in (6, 9))
    factor, nearest = planar._masses(rows, cols, step)
    factor[0, 0], nearest[0, 0] = planar._own_cell(step), 0.0
    times = np.outer(*(np.where(np.arange(n + 1) == 0, 1, 2) for n in (6, 9)))
    total = (times * factor * np.exp(-step * nearest)).sum()
    assert abs(total * step**2 / (2 * math.pi) - 1) < 1e-13


@pytest.mark.parametrize("step", ["0.05", "0.6", "10"])
def test_laplace_cells_are_the_integral_of_the_density(step):
    kernel = laplace_kernel(Grid(6, 6, cell=1), Fraction(step), "normalise")
    kappa = float(step)

    def integral(a: int, b: int) -> float:
        def density(y: float, x: float) -> float:
            return math.exp(-kappa * math.hypot(x, y))

        halves = [(a - 0.5, a), (a, a + 0.5)]
        columns = [(b - 0.5, b), (b, b + 0.5)]
        return sum(plane_integral(density, h, c, 1e-10) for h in halves for c in columns)

    weights = kernel.weights
    own = integral(0, 0)
    for a, b in [(0, 1), (1, 1), (2, 0), (5, 3)]:
        assert weights[a, b] / weights[0, 0] == pytest.approx(integral(a, b) / own, rel=1e-8)
    assert planar._own_cell(kappa) == pytest.approx(own, rel=1e-8)


def test_remapped_laplace_lumps_strips_and_corners_whole():
    """A 3 x 3 map: the lumps are what is left of known masses, so they add up to one and agree with a larger map."""
    small = shares(laplace_kernel(Grid(3, 3, cell=1), Fraction("0.7"), "remap"))
    large = shares(laplace_kernel(Grid(9, 9, cell=1), Fraction("0.7"), "remap"))
    assert np.allclose(small[:2, :2], large[:2, :2], rtol=1e-12, atol=0)
    assert np.allclose(small[2, :2], large[2:, :2].sum(0), rtol=1e-12, atol=0)
    assert small[2, 2] == pytest.approx(large[2:, 2:].sum(), rel=1e-12)


def test_weights_far_out_keep_their_relative_precision():
    kernel = geometric_kernel(Grid(1, 60, cell=1), Fraction(20), "normalise")
    ratio = Fraction(kernel.weights[0, 58], kernel.weights[0, 59])  # two of the weights near e^-1180
    assert math.log(ratio) == pytest.approx(20, rel=1e-13)


@pytest.mark.parametrize("kernel", KERNELS)
def test_square_maps_are_symmetric_in_rows_and_columns(kernel):
    codes = kernel(Grid(7, 7, cell=1), Fraction("0.3"), "remap").codes
    assert np.array_equal(codes, codes.T)


# ------------------------------------------------------------------------------------------------ the judge


MAPS = [(2, 2, 1.0, "0.3"), (1, 9, 2.0, "0.1"), (5, 3, 10.0, "0.05"), (8, 8, 150.0, "0.004"), (4, 6, 1.0, "30")]


@every_case("make", KERNELS)
@every_case(("rows", "cols", "cell", "epsilon"), [*MAPS, (9, 1, 1.0, "0.005"), (12, 12, 1.0, "0.005")])
def test_remapped_noise_keeps_the_epsilon_asked_for(make, rows, cols, cell, epsilon):
    grid, rate = Grid(rows, cols, cell=cell), Fraction(epsilon)
    kernel = make(grid, rate, "remap")
    assert Fraction(metric_lattice(kernel, grid).upper) <= rate
    assert Fraction(metric_table(kernel.table(), grid).upper) <= rate


@every_case("border", BORDERS)
@every_case("make", KERNELS)
@every_case(("rows", "cols", "cell", "epsilon"), MAPS)
def test_both_judges_agree(make, border, rows, cols, cell, epsilon):
    grid = Grid(rows, cols, cell=cell)
    kernel = make(grid, Fraction(epsilon), border)
    table = metric_table(kernel.table(), grid)
    for tolerance in (0.0, TOLERANCE):
        lattice = metric_lattice(kernel, grid, tolerance)
        assert table.lower <= lattice.upper <= table.upper * (1 + tolerance + 1e-11)
        assert table.lower * (1 - 1e-11) <= lattice.lower <= table.upper


def by_hand(table: Table, grid: Grid | Counts) -> float:
    """The definition, in a loop."""
    worst, (rows, columns) = 0.0, table.shape
    for i in range(rows):
        for k in range(rows):
            if i != k:
                for j in range(columns):
                    p, q = table.probability(i, j), table.probability(k, j)
                    if p and not q:
                        return math.inf
                    if p:
                        worst = max(worst, math.log(p / q) / grid.distance(i, k))
    return worst


shapes = st.tuples(st.integers(1, 3), st.integers(1, 3)).filter(lambda s: s != (1, 1))


@examples(60)
@given(shapes, st.data())
def test_metric_table_is_the_definition(shape, data):
    grid = Grid(*shape, cell=2.5)
    weight = st.integers(1, 50) if data.draw(st.booleans()) else st.sampled_from([0, 1, 10**40])
    row = st.lists(weight, min_size=3, max_size=3).filter(any)
    table = Table.from_rows([data.draw(row) for _ in range(grid.size)])
    found = metric_table(table, grid)
    assert found.lower <= found.upper
    assert found.upper == pytest.approx(by_hand(table, grid), rel=1e-12, abs=1e-11)
    i, k, j = found.witness
    if math.isfinite(found.upper):
        assert found.upper - found.lower <= 1e-11
        rate = math.log(table.probability(i, j) / table.probability(k, j)) / grid.distance(i, k)
        assert rate == pytest.approx(found.lower, rel=1e-12, abs=1e-11)
    else:
        assert table.weight(i, j) > 0 == table.weight(k, j)


@examples(60)
@given(st.tuples(st.integers(1, 4), st.integers(1, 4)).filter(lambda s: s != (1, 1)), st.data())
def test_metric_lattice_is_the_definition_for_any_weights(shape, data):
    grid = Grid(*shape, cell=1)
    border = data.draw(st.sampled_from(BORDERS))
    zeros = data.draw(st.booleans())
    weight = st.sampled_from([0, 1, 3, 10**30]) if zeros else st.integers(1, 60)
    weights = [[data.draw(weight) for _ in range(shape[1])] for _ in range(shape[0])]
    if zeros:
        weights[0][0] = 5
    kernel = Lattice.from_weights(weights, border)
    found = metric_lattice(kernel, grid, tolerance=0.0)
    expected = by_hand(kernel.table(), grid)
    assert found.upper == pytest.approx(expected, rel=1e-9, abs=1e-9)
    i, k, j = found.witness
    if math.isinf(expected):
        assert kernel.probability(i, j) > 0 == kernel.probability(k, j)
    else:
        rate = math.log(kernel.probability(i, j) / kernel.probability(k, j)) / grid.distance(i, k)
        assert rate == pytest.approx(found.lower, rel=1e-9, abs=1e-9)
        assert found.lower <= expected * (1 + 1e-12) <= found.upper * (1 + 1e-11) + 1e-15


def test_skipped_steps_are_bounded_whatever_the_weights():
    """Rough random weights on a larger map: the bound with pruning contains the maximum without."""
    rng = np.random.default_rng(4)
    grid = Grid(9, 12, cell=1)
    for _ in range(5):
        kernel = Lattice.from_weights(rng.integers(1000, 1010, (9, 12)), "remap")
        exact = metric_table(kernel.table(), grid)
        for tolerance in (0.0, 1e-3, 0.3):
            found = metric_lattice(kernel, grid, tolerance)
            assert exact.lower <= found.upper <= exact.upper * (1 + tolerance + 1e-10)


@pytest.mark.parametrize(("margin", "excess"), [(3, 1.0686), (5, 1.0231), (10, 1.00146)])
def test_a_cut_tail_is_found(margin, excess):
    """The lattice cut some cells outside the map and renormalised per true cell: not the epsilon it was made with."""
    epsilon = 0.004
    n, inside = 30, np.arange(30)
    outside = np.arange(-margin, n + margin)
    square = (inside[:, None] - outside) ** 2
    distance = np.sqrt(square[:, None, :, None] + square[None, :, None, :])
    weights = (np.exp(-epsilon * 150 * distance) * 2.0**52).astype(np.int64).reshape(n * n, len(outside), -1)
    starts = [0, *range(margin + 1, margin + n)]
    clamped = np.add.reduceat(np.add.reduceat(weights, starts, 1), starts, 2)
    found = metric_table(Table.from_array(clamped.reshape(n * n, -1)), PAPER)
    assert found.upper / epsilon == pytest.approx(excess, abs=1e-4)
    assert found.upper == pytest.approx(found.lower, rel=1e-12)


def test_normalising_costs_half_of_epsilon_again_at_the_setting_of_the_paper():
    kernel = geometric_kernel(PAPER, PAPER_EPSILON, "normalise")
    found = metric_table(kernel.table(), PAPER)
    assert found.lower / float(PAPER_EPSILON) == pytest.approx(1.53, abs=0.006)
    assert metric_lattice(kernel, PAPER).upper == pytest.approx(found.upper, rel=1e-7)


def test_remapping_keeps_epsilon_at_the_setting_of_the_paper():
    for make in KERNELS:
        kernel = make(PAPER, PAPER_EPSILON, "remap")
        found = metric_table(kernel.table(), PAPER)
        assert Fraction(found.upper) <= PAPER_EPSILON
        assert found.upper > 0.9999 * float(PAPER_EPSILON)


def test_weights_off_by_a_billionth_of_epsilon_would_be_noticed():
    """A negative control for the structural judge: one weight changed by little more than the slack."""
    grid, epsilon = Grid(20, 20, cell=1), Fraction("0.5")
    kernel = geometric_kernel(grid, epsilon, "remap")
    weights = kernel.weights.copy()
    weights[5, 7] += weights[5, 7] // 10**6
    assert metric_lattice(Lattice.from_weights(weights, "remap"), grid).lower > float(epsilon)


def test_lattice_without_the_longest_displacements_is_not_private():
    weights = geometric_kernel(Grid(9, 9, cell=1), Fraction("0.5"), "remap").weights.copy()
    weights[6:] = weights[:, 6:] = 0
    found = metric_lattice(Lattice.from_weights(weights, "remap"), Grid(9, 9, cell=1))
    assert found.upper == found.lower == math.inf


@every_case(("rows", "cols", "step"), [(3, 3, "2"), (12, 9, "0.3"), (7, 40, "0.02"), (25, 25, "0.6")])
def test_the_comparison_with_exponentials_finds_the_epsilon_of_the_search(rows, cols, step):
    kernel, grid = geometric_kernel(Grid(rows, cols, cell=1), Fraction(step), "remap"), Grid(rows, cols, cell=1)
    searched, bound = metric_lattice(kernel, grid, tolerance=0.0), mixture_bound(kernel)
    assert searched.lower <= bound <= searched.upper * (1 + 1e-9)


@examples(40)
@given(st.tuples(st.integers(3, 7), st.integers(3, 7)), st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 0.01, 0.5]))
def test_the_comparison_with_exponentials_bounds_any_weights(shape, seed, size):
    """Weights moved at random by up to ``size``: the bound is never below the least epsilon."""
    kernel = geometric_kernel(Grid(*shape, cell=1), Fraction("0.4"), "remap")
    moved = np.random.default_rng(seed).uniform(1 - size, 1 + size, shape)
    weights = [
        [int(w * Fraction(m)) for w, m in zip(*row, strict=True)] for row in zip(kernel.weights, moved, strict=True)
    ]
    changed = Lattice.from_weights(weights, "remap")
    bound = mixture_bound(changed)
    if bound is not None:
        assert bound >= metric_table(changed.table(), Grid(*shape, cell=1)).lower


def test_the_comparison_with_exponentials_notices_a_tail_that_is_cut():
    """A negative control: the last column without the displacements beyond it."""
    grid = Grid(20, 20, cell=1)
    weights = geometric_kernel(grid, Fraction("0.5"), "remap").weights.copy()
    assert mixture_bound(Lattice.from_weights(weights, "remap")) <= 0.5
    weights[:, -1] -= weights[:, -1] // 10**6
    assert mixture_bound(Lattice.from_weights(weights, "remap")) > 0.5 + 1e-6 / 2


def test_maps_of_a_million_cells_are_built_and_proved():
    grid = Grid(1000, 1000, cell=50.0)
    found = planar_geometric(grid, epsilon=0.004).certificate
    assert 0.004 * (1 - 1e-7) < found.epsilon <= 0.004


@pytest.mark.parametrize("make", KERNELS)
def test_large_maps_are_built_and_proved_without_a_table(make):
    grid, epsilon = Grid(200, 150, cell=150.0), Fraction("0.004")
    kernel = make(grid, epsilon, "remap")
    found = metric_lattice(kernel, grid)
    assert Fraction(found.upper) <= epsilon
    assert found.lower > 0.99999 * float(epsilon)


def test_the_judge_refuses_another_map():
    kernel = geometric_kernel(Grid(3, 4, cell=1), Fraction(1), "remap")
    with refused(InvalidInput, "grid"):
        metric_lattice(kernel, Grid(4, 3, cell=1))
    with refused(InvalidInput, "space"):
        metric_table(kernel.table(), Grid(4, 4, cell=1))


# ------------------------------------------------------------------------------------------------ the families


@pytest.mark.parametrize("family", [planar_geometric, planar_laplace])
def test_certificates_state_the_verified_epsilon(family):
    grid = Grid(10, 8, cell=100.0)
    kept = family(grid, epsilon=0.005).certificate
    assert kept.notion == "metric" and kept.epsilon <= 0.005
    wider = family(grid, epsilon=0.005, border="normalise").certificate
    assert 0.005 < wider.epsilon <= 0.01


def test_reports_are_cells_and_near_ones_are_likelier():
    m = planar_geometric(PAPER, epsilon=0.004)
    centre = 15 * 30 + 15
    reports = m.simulate(np.full(50_000, centre), seed=3)
    counts = np.bincount(reports, minlength=900)
    assert counts.argmax() == centre and abs(counts[centre] / 50_000 - m.probability(centre, centre)) < 0.01
    assert 0 <= m.release(0) < 900


@pytest.mark.parametrize("make", KERNELS)
def test_samples_of_planar_noise_follow_it_and_not_one_a_tenth_wider(make):
    grid, draws = Grid(6, 6, cell=1), 300_000
    kernel = make(grid, Fraction("0.7"), "remap")
    counts = np.bincount(kernel.sampler().draw(np.full(draws, 8), SeededBits(11)), minlength=36)

    def statistic(law: Lattice) -> float:
        expected = draws * law.matrix()[8]
        return float(((counts - expected) ** 2 / expected).sum())

    assert statistic(kernel) < 70  # 35 degrees of freedom: 70 has probability 4e-4
    assert statistic(make(grid, Fraction("0.63"), "remap")) > 500


@every_case(
    ("arguments", "words"),
    [
        ({"epsilon": 1e-5}, Parts(argument="epsilon", given="0.001 (1e-05 per metre times 100 m)")),
        ({"epsilon": 1.0}, Parts(argument="epsilon", given="100 (1 per metre times 100 m)")),
        ({"epsilon": 0.01, "border": "cut"}, Parts(argument="border", given="cut")),
        ({"epsilon": math.nan}, Parts(argument="epsilon")),
        ({"epsilon": -1}, Parts(argument="epsilon")),
    ],
)
def test_impossible_parameters_are_refused_with_advice(arguments, words):
    with refused(InvalidInput, **words):
        planar_geometric(Grid(5, 5, cell=100.0), **arguments)
    with refused(InvalidInput, **words):
        planar_laplace(Grid(5, 5, cell=100.0), **arguments)


def test_another_space_is_refused():
    with refused(InvalidInput, "grid"):
        planar_geometric(Counts(5), epsilon=1)  # type: ignore[arg-type]


def test_weights_too_large_for_memory_are_refused():
    with refused(InvalidInput, "grid"):
        planar_geometric(Grid(2000, 2000, cell=1), epsilon=20)
