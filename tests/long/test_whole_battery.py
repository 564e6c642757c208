"""The whole battery, and the largest problems: slow."""

from __future__ import annotations

import resource

import numpy as np
import pytest

import discreet as dc
from support.battery import cases, structured_cases


@pytest.mark.parametrize("seed", range(10))
def test_three_thousand_random_problems_converge_in_at_most_30_iterations(seed: int) -> None:
    for name, counts, mechanism in cases(290, 1000 + seed):
        e = dc.estimate(counts, mechanism, method="mle")
        assert e.converged and e.gap <= 1e-8 and e.iterations <= 30, name


@pytest.mark.parametrize("seed", range(2))
def test_the_largest_of_the_battery_have_a_thousand_values(seed: int) -> None:
    for name, counts, mechanism in cases(50, 2000 + seed, largest=1000):
        e = dc.estimate(counts, mechanism, method="mle")
        assert e.converged and e.gap <= 1e-8 and e.iterations <= 30, name


@pytest.mark.parametrize("seed", range(4))
def test_noise_without_end_maps_and_several_mechanisms_converge(seed: int) -> None:
    for name, arguments in structured_cases(150, 3000 + seed):
        e = dc.estimate(**arguments, method="mle")
        assert e.converged and e.gap <= 1e-8 and e.iterations <= 30, name


def test_a_million_values() -> None:
    n = 10**6
    m = dc.geometric(n - 1, epsilon=np.log(2) / 10)
    values = np.clip(np.random.default_rng(1).normal(n / 2, n / 8, 10**6).astype(int), 0, n - 1)
    e = dc.estimate(reports=m.simulate(values, seed=2), mechanism=m, tolerance=1e-8, method="mle")
    assert e.converged and e.gap <= 1e-8 and e.iterations <= 30
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2e6  # kilobytes


@pytest.mark.parametrize("epsilon", ["0.001", "0.004", "0.02"])
def test_a_map_of_300_by_300_cells(epsilon: str) -> None:
    grid = dc.Grid(300, 300, cell=15.0)
    m = dc.planar_geometric(grid, epsilon=epsilon)
    rng = np.random.default_rng(3)
    centres, shares = rng.uniform(0, 4500, (30, 2)), rng.dirichlet(np.ones(30))
    places = centres[rng.choice(30, 100_000, p=shares)] + rng.normal(0, 150, (100_000, 2))
    homes = grid.locate(*np.clip(places, 0, 4499).T)
    e = dc.estimate(reports=m.simulate(homes, seed=4), mechanism=m, tolerance=1e-6, method="mle")
    assert e.converged and e.gap <= 1e-6
