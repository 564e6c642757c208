"""delta(epsilon) against closed forms and golden values computed elsewhere."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.exact.kernels import Noise
from discreet.exact.laws import Finite
from discreet.exact.rationals import exp_bounds
from support.golden import golden_rows
from support.grids import every_case


def finite_noise(probabilities: dict[int, float]) -> SimpleNamespace:
    """Integer noise with (nearly) these probabilities, on all integers."""
    low, high = min(probabilities), max(probabilities)
    weights = [round(Fraction(probabilities[z]) * 2**200) for z in range(low, high + 1)]
    return SimpleNamespace(kernel=Noise(Finite(low, weights)), inputs=dc.Integers())


def atom_and_truncated_geometric(eta: float, reach: int, epsilon: float) -> dict[int, float]:
    """ALGORITHMS 3: an atom eta and, on each side, p_i ~ e^(-eps i), i = 1..D, of mass (1 - eta)/2."""
    side = [math.exp(-epsilon * i) for i in range(1, reach + 1)]
    scale = (1 - eta) / 2 / sum(side)
    return {0: eta, **{sign * (i + 1): scale * p for sign in (1, -1) for i, p in enumerate(side)}}


def test_golden_deltas_of_bounded_noise():
    """The mechanism with the least true delta, for every (eta, D, eps) of the figures of [S]."""
    checked = 0
    for row in golden_rows("golden_002_fig123.csv"):
        eta, reach, epsilon = float(row["eta"]), int(row["D"]), float(row["eps"])
        if row["opt_closed_form_holds"] != "True":
            continue
        noise = finite_noise(atom_and_truncated_geometric(eta, reach, epsilon))
        assert dc.verify(noise).delta(row["eps"]) == pytest.approx(float(row["opt_true"]), rel=1e-8)
        checked += 1
    assert checked > 20


def test_golden_truncated_geometric_beside_the_gaussian():
    for row in golden_rows("golden_002_fig4.csv"):
        noise = finite_noise(atom_and_truncated_geometric(float(row["eta"]), int(row["D"]), float(row["eps"])))
        assert dc.verify(noise).delta(row["eps"]) == pytest.approx(float(row["truncgeo_hs"]), rel=1e-8)


def test_a_bound_by_single_reports_is_no_guarantee():
    """[S] bounds single reports; over sets of reports delta is larger."""
    verdict = dc.verify([[0.3, 0.3, 0.2, 0.2], [0.15, 0.15, 0.35, 0.35]])
    assert verdict.single_event_delta(0) == pytest.approx(0.15)
    assert verdict.delta(0) == pytest.approx(0.3)
    assert not verdict.holds(0, 0.15)


@given(
    a=st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20),
    epsilon=st.fractions(0, 3, max_denominator=8),
)
def test_delta_of_the_two_sided_geometric_is_its_closed_form(a, epsilon):
    """P(Z >= 0) - E P(Z >= 1) = (1 - E a)/(1 + a) while E a < 1."""
    verdict = dc.verify(dc.two_sided_geometric(alpha=a))
    low, high = exp_bounds(epsilon, 300)
    least, most = (max((1 - E * a) / (1 + a), Fraction(0)) for E in (high, low))
    found = Fraction(verdict.delta(epsilon))
    assert least <= found <= most * (1 + Fraction(1, 2**51)) + Fraction(1, 2**120)


@given(k=st.integers(2, 2**31), epsilon=st.fractions(0, 6, max_denominator=8))
def test_delta_of_randomised_response_is_its_closed_form(k, epsilon):
    m = dc.randomized_response(k, alpha="1/50")
    verdict = dc.verify(m)
    low, high = exp_bounds(epsilon, 300)
    least, most = (max((50 - E) / (49 + k), Fraction(0)) for E in (high, low))
    assert least <= Fraction(verdict.delta(epsilon)) <= most * (1 + Fraction(1, 2**51)) + Fraction(1, 2**120)


@given(k=st.integers(1, 40))
def test_delta_is_zero_from_the_tight_epsilon_on_and_positive_before(k):
    m = dc.geometric(6, epsilon=Fraction(k, 10))
    verdict = dc.verify(m)
    assert verdict.delta(Fraction(k, 10)) == 0 and verdict.delta(verdict.epsilon) == 0
    assert verdict.delta(Fraction(k, 10) - Fraction(1, 10**6)) > 0


def test_epsilon_and_delta_can_be_read_back():
    """A float means its simplest rational; what the verdict gives out must hold when it is handed in again."""
    for k in range(1, 60):
        verdict = dc.verify(dc.explicit_fair(5, alpha=Fraction(k, 61)))
        assert verdict.holds(verdict.epsilon)
        for epsilon in (0.05, 0.3):
            assert verdict.holds(epsilon, verdict.delta(epsilon))


def test_the_curve_is_convex_and_falls():
    verdict = dc.verify(dc.explicit_fair(10, alpha="1/3"))
    E = np.linspace(1, 4, 31)
    curve = verdict.curve(np.log(E))
    assert (np.diff(curve) <= 0).all() and curve[-1] == 0 and curve[0] > 0
    assert (np.diff(curve, 2) >= -1e-15).all()


def test_very_large_epsilons_are_answered():
    tiny = Fraction(1, 10**400)
    verdict = dc.verify([[tiny, 1 - tiny], [1 - tiny, tiny]])
    assert 920 < verdict.epsilon < 922
    assert 0 < verdict.delta(900) < 1 and verdict.delta(922) == 0
    assert verdict.single_event_delta(900) == verdict.delta(900)
    assert dc.verify([[1, 0], [0, 1]]).delta(10_000) == 1


@every_case("clamp", [False, True])
@every_case("epsilon", ["0.1", "0.5", "0.69"])
def test_noise_that_may_leave_the_range_has_divergences_by_distance(clamp: bool, epsilon: str) -> None:
    """It was said to have too many pairs, on four counts. Held against the sums themselves, tails to 2^-60."""
    m = dc.two_sided_geometric(alpha="1/2").on(dc.Counts(3), clamp=clamp)
    reports = np.arange(-60, 64)
    law = np.array([0.5 ** abs(reports - x) / 3 for x in range(4)])
    worst = max(
        np.maximum(law[i] - np.exp(float(epsilon) * abs(i - k)) * law[k], 0).sum()
        for i in range(4)
        for k in range(4)
        if i != k
    )
    assert dc.verify(m, "metric").delta(epsilon) == pytest.approx(worst, abs=1e-12)
