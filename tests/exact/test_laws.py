"""Laws of noise: their exact probabilities, and bounds that contain them."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput, WrongType
from discreet.exact.laws import Finite, Gaussian, GeometricTails, law_from, power_bounds, scaled
from support.grids import every_case
from support.refusals import refused
from support.tiers import examples

F = Fraction
TINY = Fraction(1, 10**90)  # what 100-digit decimals may be off by

unit = st.fractions(F(1, 1000), F(999, 1000), max_denominator=1000)


@given(st.fractions(0, 3), st.integers(0, 200))
def test_scaled_is_floor_and_ceiling(x, bits):
    low, high = scaled(x, bits)
    assert low <= x * 2**bits <= high <= low + 1
    assert (low == high) == ((x * 2**bits).denominator == 1)


@examples(200)
@given(unit, st.integers(0, 400), st.sampled_from([1, 16, 64, 200]))
def test_power_bounds_contain_the_power_and_are_two_units_wide_at_most(base, exponent, bits):
    low, high = power_bounds(base, exponent, bits)
    assert low <= base**exponent * 2**bits <= high
    assert high - low <= 2


# ------------------------------------------------------------------------------------------------ geometric tails


@every_case("alpha", [F(1, 2), F(9, 10), F(10, 11), F(1, 1000)])
def test_two_sided_geometric_is_the_formula(alpha):
    law = GeometricTails.two_sided(alpha)
    for z in range(-30, 31):
        assert law.probability(z) == (1 - alpha) / (1 + alpha) * alpha ** abs(z)


@pytest.mark.parametrize("root", [F(1, 2), F(3, 5), F(99, 100)])
def test_rounded_laplace_is_the_density_integrated_around_each_integer(root):
    law = GeometricTails.laplace(root)

    def cdf(half_steps: int) -> Fraction:
        """The Laplace cdf at half_steps/2: exp(-eps |x|)/2 on either side, with e^(-eps/2) = root."""
        tail = root ** abs(half_steps) / 2
        return 1 - tail if half_steps >= 0 else tail

    for z in range(-25, 26):
        assert law.probability(z) == cdf(2 * z + 1) - cdf(2 * z - 1)


@examples(100)
@given(st.fractions(0, F(99, 100), max_denominator=100), unit, st.integers(-60, 60), st.sampled_from([3, 64, 128, 300]))
def test_geometric_bounds_contain_the_exact_probabilities(atom, ratio, z, bits):
    law = GeometricTails(atom, ratio)
    exact = atom if z == 0 else (1 - atom) / 2 * (1 - ratio) * ratio ** (abs(z) - 1)
    upper = (1 - atom) / 2 * ratio ** (z - 1) if z >= 1 else 1 - (1 - atom) / 2 * ratio ** (-z)
    assert law.probability(z) == exact and law.upper(z) == upper
    for (low, high), true in ((law.mass(z, bits), exact), (law.tail(z, bits), upper)):
        assert low <= true * 2**bits <= high <= low + 3


@every_case("ratio", [F(999_999, 1_000_000), F(2**30 - 1, 2**30), F(10**9 - 1, 10**9)])
@every_case("z", [300, 4097, 10**6, 10**9])
def test_far_tails_are_bounded_without_writing_the_power_out(ratio, z):
    law = GeometricTails.two_sided(ratio)
    low, high = law.tail(z, 128)
    with localcontext() as context:
        context.prec = 100
        side = Decimal(law.side.numerator) / Decimal(law.side.denominator)
        true = Fraction(side * (Decimal(ratio.numerator) / Decimal(ratio.denominator)) ** (z - 1))
    assert low <= true * (1 + TINY) * 2**128 and true * (1 - TINY) * 2**128 <= high <= low + 3


def test_geometric_laws_add_up_to_one_and_are_symmetric():
    law = GeometricTails(F(1, 7), F(5, 8))
    assert sum(law.probability(z) for z in range(-40, 41)) + law.upper(41) * 2 == 1
    for z in range(-10, 10):
        assert law.probability(z) == law.probability(-z)
        assert law.upper(z) - law.upper(z + 1) == law.probability(z)


@every_case(
    ("atom", "ratio"),
    [(F(1), F(1, 2)), (F(-1, 2), F(1, 2)), (F(1, 2), F(0)), (F(1, 2), F(1)), (F(1, 2), 1 - F(1, 10**18))],
)
def test_geometric_tails_refuse_impossible_parameters_and_noise_beyond_64_bits(atom, ratio):
    with refused(InvalidInput, token="ratio"):
        GeometricTails(atom, ratio)


@every_case("ratio", [F(1, 2**1000), F(1, 3), F(2, 3), F(2**40 - 3, 2**41), 1 - F(1, 2**30)])
def test_geometric_floats_are_close_to_the_exact_values(ratio):
    law = GeometricTails.two_sided(ratio)
    for z, value in zip(range(-20, 21), law.floats(-20, 20), strict=True):
        exact = law.probability(z)
        assert value == pytest.approx(float(exact), rel=1e-13, abs=5e-324)
        assert law.float_tail(z) == pytest.approx(float(law.upper(z)), rel=1e-13, abs=5e-324)
    if ratio == F(2**40 - 3, 2**41):
        assert law.floats(1000, 1000)[0] == pytest.approx(float(law.probability(1000)), rel=1e-12)


# ------------------------------------------------------------------------------------------------ Gaussian


@cache
def gaussian_by_decimals(sigma2: str) -> tuple[list[Fraction], Fraction]:
    """exp(-z^2 / 2 sigma2) for z = 0, 1, ... and their sum over all integers, in 100 digits."""
    with localcontext() as context:
        context.prec = 100
        weights, z = [], 0
        while True:
            weight = (-Decimal(z * z) / (2 * Decimal(sigma2))).exp()
            if weight < Decimal("1e-98"):
                break
            weights.append(weight)
            z += 1
        return [Fraction(w) for w in weights], Fraction(2 * sum(weights) - weights[0])


@every_case("sigma2", ["0.05", "0.3", "1", "12.5", "10000"])
@every_case("bits", [16, 64, 128, 200])
def test_gaussian_bounds_contain_sums_of_decimals_and_are_narrow(sigma2, bits):
    law = Gaussian(F(sigma2))
    weights, whole = gaussian_by_decimals(sigma2)
    tails = [F(0)]
    for w in reversed(weights):
        tails.append(tails[-1] + w)
    tails.reverse()
    step = max(1, len(weights) // 40)
    for z in range(0, len(weights), step):
        for (low, high), true in (
            (law.mass(z, bits), weights[z] / whole),
            (law.mass(-z, bits), weights[z] / whole),
            (law.tail(z, bits), tails[z] / whole),
            (law.tail(1 - z, bits), 1 - tails[z] / whole),
        ):
            assert low <= (true + TINY) * 2**bits and (true - TINY) * 2**bits <= high
            assert high - low <= 2


def test_gaussian_tails_beyond_every_list_are_bounded_by_one_unit():
    law = Gaussian(F(1))
    for z in (50, 10**6):
        assert law.tail(z, 128) == (0, 1)
        low, high = law.mass(z, 128)
        assert low == 0 and high <= 1


def test_gaussian_floats_and_tails():
    law = Gaussian(F("12.5"))
    weights, whole = gaussian_by_decimals("12.5")
    values = law.floats(-30, 30)
    assert np.array_equal(values, values[::-1])
    for z in range(31):
        assert values[30 + z] == pytest.approx(float(weights[z] / whole), rel=1e-13)
        assert law.float_tail(z) == pytest.approx(float(sum(weights[z:]) / whole), rel=1e-13)
    assert values.sum() == pytest.approx(1, abs=1e-14)


@every_case("bad", [F(0), F(-1), F(1, 101), F(10**11)])
def test_gaussian_refuses_parameters_out_of_range(bad):
    with refused(InvalidInput, "sigma2"):
        Gaussian(bad)


def test_gaussian_has_no_rational_probabilities():
    with refused(InvalidInput, token="not rational"):
        Gaussian(F(1)).probability(0)


# ------------------------------------------------------------------------------------------------ finite


@examples(100)
@given(st.integers(-50, 50), st.lists(st.integers(0, 10**30), min_size=1, max_size=12).filter(any))
def test_finite_laws_are_their_weights(low, weights):
    law = Finite(low, weights)
    total = sum(weights)
    for z in range(low - 2, low + len(weights) + 2):
        inside = 0 <= z - low < len(weights)
        exact = F(weights[z - low], total) if inside else F(0)
        upper = F(sum(w for k, w in enumerate(weights) if low + k >= z), total)
        assert law.probability(z) == exact and law.upper(z) == upper
        assert law.floats(z, z)[0] == float(exact) and law.float_tail(z) == float(upper)
        assert law.mass(z, 70) == scaled(exact, 70) and law.tail(z, 70) == scaled(upper, 70)
    assert law.probability(law.low) > 0 and law.probability(law.high) > 0
    assert law.floats(low - 3, low + 15).tolist() == [float(law.probability(z)) for z in range(low - 3, low + 16)]
    assert law.symmetric == all(law.probability(z) == law.probability(-z) for z in range(-70, 71))


@pytest.mark.parametrize("bad", [[], [0, 0], [1, -1]])
def test_finite_laws_refuse_what_is_not_a_distribution(bad):
    with refused(InvalidInput, "weights"):
        Finite(0, bad)


@every_case("bad", [(0, [1.5, 2.5]), (0, ["1"]), (0.0, [1]), (0, [None])])
def test_finite_laws_refuse_floats_instead_of_cutting_them(bad):
    with refused(WrongType, "weights"):
        Finite(*bad)


# ------------------------------------------------------------------------------------------------ files


@every_case(
    "law",
    [
        GeometricTails(F(1, 7), F(5, 8)),
        Gaussian(F("12.5")),
        Finite(-2, [1, 0, 5, 10**40]),
        Finite(0, [3**20000, 1]),
    ],
    ids=["geometric", "gaussian", "finite", "huge"],
)
def test_a_law_survives_its_description(law):
    assert law_from(json.loads(json.dumps(law.to_json()))) == law


def test_unknown_laws_are_refused():
    with refused(InvalidInput, "kind", given="cauchy"):
        law_from({"law": "cauchy"})


@every_case("sigma2", ["0.05", "0.2", "9", "100"])
def test_gaussian_float_tails_keep_their_relative_precision_to_the_end(sigma2):
    law = Gaussian(F(sigma2))
    reach = int((2 * float(F(sigma2)) * 690) ** 0.5)
    for z in {1, reach // 4 + 1, reach // 2 + 1, reach}:
        with localcontext() as context:
            context.prec = 60
            width = Decimal(2) * Decimal(sigma2)
            whole = 1 + 2 * sum((-Decimal(k * k) / width).exp() for k in range(1, int(20 * float(sigma2) ** 0.5) + 9))
            terms = int(60 * float(sigma2) / z) + int(12 * float(sigma2) ** 0.5) + 9
            tail = sum((-Decimal((z + k) ** 2) / width).exp() for k in range(terms)) / whole
        assert law.float_tail(z) == pytest.approx(float(tail), rel=1e-12, abs=1e-305)
    assert law.float_tail(100 * reach + 100) == 0.0
