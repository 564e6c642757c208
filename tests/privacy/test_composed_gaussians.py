"""Composed Gaussian noise and zero-concentrated privacy: never below the truth, in agreement with dp-accounting."""

from __future__ import annotations

import importlib
import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.errors import Unsupported
from discreet.privacy.bounds import concentrated_delta, pure_rho
from discreet.privacy.compose import compose
from support.grids import every_case
from support.refusals import refused

F = Fraction

# ------------------------------------------------------------------------------------------------ the discrete Gaussian


def gaussian_delta(sigma2: float, k: int, epsilon: float) -> float:
    """The loss of k releases depends on the sum of their noise only; summed directly (all terms are positive)."""
    reach = math.ceil(9 * math.sqrt(sigma2)) + 2
    z = np.arange(-reach, reach + 1)
    law = np.exp(-(z**2) / (2 * sigma2))
    law /= law.sum()
    total = law
    for _ in range(k - 1):
        total = np.convolve(total, law)
    sums = np.arange(total.size) - k * reach
    losses = (k - 2 * sums) / (2 * sigma2)
    return float(np.sum(total * np.maximum(0, -np.expm1(np.minimum(epsilon - losses, 0)))))


@every_case(("sigma2", "k"), [(F(1, 2), 1), (1, 3), (F(7, 3), 10), (30, 50), (100, 200), (40_000, 8)])
def test_the_discrete_gaussian_is_composed_closely_and_never_below(sigma2, k):
    m = dc.discrete_gaussian(sigma2=sigma2)
    numerical, zcdp = (compose([(m, k)], method=method) for method in ("numerical", "zcdp"))
    mean, spread = k / (2 * float(sigma2)), math.sqrt(k / float(sigma2))
    for eps in (mean * 0.3, mean, mean + spread, mean + 3 * spread):
        true = gaussian_delta(float(sigma2), k, eps)
        assert true * (1 - 1e-9) <= numerical.delta(eps) <= true * 1.005 + 1e-15
        assert zcdp.delta(eps) >= true


def test_a_clamped_gaussian_gives_away_no_more_and_on_short_ranges_less():
    free = dc.discrete_gaussian(sigma2=9)
    for n, less in ((60, False), (2, True)):
        clamped = compose([(free.on(dc.Counts(n)), 20)], method="numerical").delta(1)
        assert clamped <= compose([(free, 20)], method="numerical").delta(1) * (1 + 1e-4)
        assert (clamped < 0.9 * compose([(free, 20)], method="numerical").delta(1)) == less
    verdict = dc.verify(free.on(dc.Counts(3)))
    one = compose([verdict], method="numerical")
    for eps in ("0", "0.1", "0.2", "0.3"):
        assert verdict.delta(eps) <= one.delta(eps) + 1e-20 and one.delta(eps) <= verdict.delta(eps) + 1e-7


def test_very_wide_gaussians_are_left_to_zcdp():
    m = dc.discrete_gaussian(sigma2=10**9)
    assert compose([(m, 10)]).methods == ("zcdp",)
    with refused(Unsupported, "method"):
        compose([(m, 10)], method="numerical")


# ------------------------------------------------------------------------------------------------ zCDP


def test_rho_adds_up_and_is_converted_by_the_best_order():
    m = dc.discrete_gaussian(sigma2=50)
    plan = compose([(m, 4), dc.Privacy("0.3")], method="zcdp")
    rho = 4 / 100 + 0.3 * math.tanh(0.15)
    for eps in (0.2, 1.0, 2.0, 3.0):
        alphas = 1 + np.geomspace(1e-3, 1e3, 20_001)
        logs = (alphas - 1) * (alphas * rho - eps + np.log1p(-1 / alphas)) - np.log(alphas)
        assert plan.delta(eps) == pytest.approx(float(np.exp(logs.min())), rel=1e-5)
    assert concentrated_delta(F(0), F(1)) == 0 and concentrated_delta(F(100), F(1)) == 1
    assert concentrated_delta(F(1, 100), F(100)) > 0  # no epsilon is pure
    assert plan.epsilon(0) == math.inf


def test_the_rho_of_a_pure_guarantee_is_that_of_randomized_response():
    for eps in (0.01, 0.5, 1.0, 3.0, 10.0):
        rho = float(pure_rho(F(eps)))
        assert rho == pytest.approx(eps * math.tanh(eps / 2)) and rho <= eps**2 / 2
        for alpha in (1.0001, 1.5, 2.0, 5.0, 50.0):
            p = 1 / (1 + math.exp(-eps))
            moment = p * math.exp((alpha - 1) * eps) + (1 - p) * math.exp(-(alpha - 1) * eps)
            renyi = math.log(moment) / (alpha - 1)
            assert renyi <= alpha * rho * (1 + 1e-9)
        assert math.log(p * math.exp(1e-6 * eps) + (1 - p) * math.exp(-1e-6 * eps)) / 1e-6 == pytest.approx(rho, 1e-3)


def test_zcdp_of_approximate_releases_keeps_their_deltas():
    plan = compose([(dc.Privacy("0.1", "1e-8"), 100)], method="zcdp")
    pure = compose([(dc.Privacy("0.1"), 100)], method="zcdp")
    assert plan.delta(4) == pytest.approx(pure.delta(4) + 1e-6, rel=1e-4)


# ------------------------------------------------------------------------------------------------ dp-accounting


@pytest.fixture(scope="module")
def accounting():
    """Google's accountant, an extra: pip install 'discreet[accounting]'."""
    return importlib.import_module("dp_accounting.pld.privacy_loss_distribution")


@every_case(("sigma2", "k", "epsilon"), [(100, 1000, 15.0), (25, 40, 2.0), (400, 100, 1.0), (4, 5, 3.0)])
def test_gaussians_agree_with_dp_accounting(accounting, sigma2, k, epsilon):
    theirs = accounting.from_discrete_gaussian_mechanism(
        math.sqrt(sigma2), value_discretization_interval=1e-4, use_connect_dots=True
    ).self_compose(k)
    ours = compose([(dc.discrete_gaussian(sigma2=sigma2), k)], method="numerical").delta(epsilon)
    assert ours == pytest.approx(theirs.get_delta_for_epsilon(epsilon), rel=0.005)


@pytest.mark.parametrize(("epsilon", "k"), [(0.1, 1000), (1.0, 30), (0.5, 2)])
def test_geometric_noise_and_guarantees_agree_with_dp_accounting(accounting, epsilon, k):
    at = k * epsilon * math.tanh(epsilon / 2) + epsilon * math.sqrt(k) / 2
    laplace = accounting.from_discrete_laplace_mechanism(
        epsilon, value_discretization_interval=1e-3, use_connect_dots=True
    ).self_compose(k)
    ours = compose([(dc.two_sided_geometric(epsilon=epsilon), k)], method="numerical").delta(at)
    assert ours == pytest.approx(laplace.get_delta_for_epsilon(at), rel=0.01)


@pytest.mark.parametrize("second", [[0.2, 0.3, 0.5], [0.25, 0.25, 0.5]])
def test_tables_agree_with_dp_accounting_where_both_directions_are_alike(accounting, second):
    """symmetric=False: its default looks one way only. And it composes each direction with itself only."""
    rows = [[0.5, 0.3, 0.2], second]
    logs = [{y: math.log(p) for y, p in enumerate(row)} for row in rows]
    theirs = accounting.from_two_probability_mass_functions(
        *logs, value_discretization_interval=1e-4, symmetric=False
    ).self_compose(10)
    ours = compose([(dc.verify(rows), 10)], method="numerical")
    for eps in (0.5, 2.0, 4.0):
        assert ours.delta(eps) >= theirs.get_delta_for_epsilon(eps) * (1 - 5e-3)
        assert ours.delta(eps) <= theirs.get_delta_for_epsilon(eps) * (1.005 if second[0] == 0.2 else 1.5)


def test_the_conversion_of_zcdp_agrees_with_dp_accounting():
    rdp = importlib.import_module("dp_accounting.rdp.rdp_privacy_accountant")
    orders = [1 + x / 20 for x in range(1, 2000)]
    for rho, eps in ((0.1, 1.5), (0.5, 4.0), (0.01, 0.5)):
        theirs = rdp.compute_delta(orders, [rho * order for order in orders], eps)[0]
        assert concentrated_delta(F(rho), F(eps)) == pytest.approx(theirs, rel=1e-3)
