"""Rationals: what a number means, and bounds of e^x and log x that can be relied on."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.errors import InvalidInput, WrongType
from discreet.exact.rationals import (
    ALPHA_SLACK,
    LARGEST_ALPHA,
    alpha_from_epsilon,
    as_fraction,
    at_most_exp,
    exp_bounds,
    float_down,
    float_up,
    log_bounds,
    log_up,
    read_alpha,
    read_epsilon,
    read_integer,
    show_integer,
    simplest_between,
)
from support.grids import every_case
from support.refusals import refused
from support.tiers import examples

DIGITS = 420
SLACK = Fraction(1, 10**380)  # far below every width tested


def exp_by_decimals(x: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


def log_by_decimals(x: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).ln())


ordinary = st.fractions(-60, 60, max_denominator=10**6)
tiny = st.builds(lambda k, s: s * Fraction(1, 2**k), st.integers(10, 700), st.sampled_from([-1, 1]))
large = st.fractions(-900, 900, max_denominator=50)


@examples(150)
@given(st.one_of(ordinary, tiny, large), st.sampled_from([8, 64, 128, 500]))
@example(Fraction(0), 64)
@example(Fraction(1, 10**9), 128)
@example(Fraction(-(2**12)), 64)
def test_exp_bounds_contain_the_value_and_are_as_narrow_as_asked(x, bits):
    low, high = exp_bounds(x, bits)
    true = exp_by_decimals(x)
    assert low <= true * (1 + SLACK) and true * (1 - SLACK) <= high
    assert high - low <= true * (1 + SLACK) / 2**bits
    assert (low == high) == (x == 0)


@examples(150)
@given(
    st.one_of(
        st.fractions(Fraction(1, 10**6), 10**6).filter(bool),
        st.builds(lambda k: Fraction(2) ** k, st.integers(-900, 900)),
        st.builds(lambda k, s: 1 + s * Fraction(1, 2**k), st.integers(1, 600), st.sampled_from([-1, 1])),
    ),
    st.sampled_from([8, 64, 128, 500]),
)
def test_log_bounds_contain_the_value_and_are_as_narrow_as_asked(x, bits):
    if x <= 0:
        return
    low, high = log_bounds(x, bits)
    true = log_by_decimals(x)
    assert low <= true + SLACK and true - SLACK <= high
    assert high - low <= Fraction(1, 2**bits)
    assert (low == high) == (x == 1)


def test_log_bounds_stay_as_narrow_as_asked_at_very_many_bits():
    low, high = log_bounds(Fraction(3, 2), 8192)
    assert 0 < high - low <= Fraction(1, 2**8192)


@pytest.mark.parametrize("x", [Fraction(0), Fraction(-1)])
def test_log_refuses_what_has_no_logarithm(x):
    with refused(InvalidInput, "x"):
        log_bounds(x)


# ------------------------------------------------------------------------------------------------ simplest rationals


def simplest_by_search(low: Fraction, high: Fraction) -> int:
    """The smallest denominator with a numerator in the interval."""
    q = 1
    while math.ceil(low * q) > math.floor(high * q):
        q += 1
    return q


@examples(300)
@given(st.fractions(-4, 4, max_denominator=300), st.fractions(-4, 4, max_denominator=300))
def test_simplest_between_has_the_smallest_denominator(a, b):
    low, high = min(a, b), max(a, b)
    found = simplest_between(low, high)
    assert low <= found <= high
    assert found.denominator == simplest_by_search(low, high)


def test_simplest_between_refuses_an_empty_interval():
    with refused(InvalidInput, "low"):
        simplest_between(Fraction(2), Fraction(1))


@every_case(
    ("value", "meaning"),
    [
        (0.9, "9/10"),
        (0.1, "1/10"),
        (10 / 11, "10/11"),
        (1 / 3, "1/3"),
        (-2 / 7, "-2/7"),
        (0.0, "0"),
        (-0.0, "0"),
        (1e-3, "1/1000"),
        (3.0, "3"),
        (2.5, "5/2"),
        (np.float64(0.62), "31/50"),
        (np.float32(0.5), "1/2"),
        (np.int8(-3), "-3"),
        (7, "7"),
        ("1e-3", "1/1000"),
        ("9/10", "9/10"),
        (Decimal("0.10"), "1/10"),
        (Fraction(2, 6), "1/3"),
    ],
)
def test_as_fraction_reads_what_people_mean(value, meaning):
    assert as_fraction(value) == Fraction(meaning)


@examples(400)
@given(st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=True))
@example(5e-324)
@example(2.2250738585072014e-308)
@example(1.7976931348623157e308)
@example(9007199254740996.0)
def test_every_double_survives_the_round_trip(x):
    assert float(as_fraction(x)) == x


@examples(100)
@given(st.floats(1e-6, 1e6))
def test_no_simpler_rational_rounds_to_the_same_double(x):
    found = as_fraction(x)
    spread = Fraction(math.ulp(x))
    if found.denominator < 5000:
        for q in range(1, found.denominator):
            for p in range(math.ceil((Fraction(x) - spread) * q), math.floor((Fraction(x) + spread) * q) + 1):
                assert float(Fraction(p, q)) != x
    assert found.denominator <= Fraction(x).denominator


@every_case("x", [2.0**53 + 4, 1e22, 1e300, 3e18])
def test_whole_doubles_mean_themselves(x):
    assert as_fraction(x) == int(x)


@every_case("bad", [math.nan, math.inf, -math.inf, "nan", "inf", "ten", "", "1/0", Decimal("NaN")])
def test_as_fraction_refuses_what_is_not_finite(bad):
    with refused(InvalidInput, "size"):
        as_fraction(bad, "size")


@every_case("bad", [True, np.bool_(False), None, [1], 1j, b"1", np.array([1.0]), np.longdouble(1) / 3])
def test_as_fraction_refuses_what_is_not_a_number(bad):
    with refused(WrongType, "size"):
        as_fraction(bad, "size")


# ------------------------------------------------------------------------------------------------ privacy parameters


epsilons = st.one_of(st.fractions(Fraction(1, 1000), 20, max_denominator=1000), st.integers(1, 500).map(Fraction))


def parents(x: Fraction) -> tuple[Fraction, Fraction]:
    """The two neighbours of 0 < x < 1 in the Stern-Brocot tree; between them no denominator is smaller than x's."""
    p, q = x.numerator, x.denominator
    q1 = pow(p, -1, q) or 1
    p1 = (p * q1 - 1) // q
    return Fraction(p1, q1), Fraction(p - p1, q - q1)


@examples(100)
@given(epsilons)
@example(Fraction(1, 10**9))
@example(Fraction(500))
def test_alpha_is_the_simplest_rational_on_the_private_side(epsilon):
    alpha = alpha_from_epsilon(epsilon)
    true = exp_by_decimals(-epsilon)
    low, high = true * (1 - SLACK), true * (1 + ALPHA_SLACK) * (1 + SLACK)
    assert at_most_exp(1 / alpha, epsilon)  # alpha >= e^-eps: at least as private as asked for
    assert low <= alpha <= high
    left, right = parents(alpha)
    assert left < low and high < right


def test_every_epsilon_gives_an_alpha_that_can_be_read_back():
    for epsilon in (Fraction(1, 10**9), Fraction(1), Fraction(500)):
        alpha = read_alpha(None, epsilon)
        assert read_alpha(str(alpha), None) == alpha


@every_case("bad", [0, 1, -0.5, 1.5, "1/0", 1 - Fraction(1, 10**20), LARGEST_ALPHA + Fraction(1, 2**60)])
def test_alpha_outside_its_range_is_refused(bad):
    with pytest.raises(InvalidInput):
        read_alpha(bad, None)


@every_case("bad", [0, -1, 1e-10, 501, math.nan, math.inf])
def test_epsilon_outside_its_range_is_refused(bad):
    with refused(InvalidInput, "epsilon"):
        read_epsilon(bad)


def test_exactly_one_of_alpha_and_epsilon_is_needed():
    with refused(InvalidInput, "epsilon"):
        read_alpha(0.5, 1)
    with refused(InvalidInput, "epsilon"):
        read_alpha(None, None)


# ------------------------------------------------------------------------------------------------ deciding, rounding


@examples(60)
@given(st.fractions(-30, 30, max_denominator=1000), st.sampled_from([40, 70, 300, 900]))
def test_at_most_exp_decides_close_calls(x, bits):
    if x == 0:
        return
    low, high = exp_bounds(x, bits)
    assert at_most_exp(low, x)
    assert not at_most_exp(high, x)


def test_at_most_exp_at_zero_is_exact():
    assert at_most_exp(Fraction(1), Fraction(0))
    assert not at_most_exp(1 + Fraction(1, 10**100), Fraction(0))
    assert at_most_exp(1 + Fraction(1, 10**100), Fraction(1, 10**100))
    assert not at_most_exp(1 + Fraction(1, 10**100) + Fraction(1, 10**200), Fraction(1, 10**100))


@examples(300)
@given(st.one_of(st.fractions(), st.floats(allow_nan=False, allow_infinity=False).map(Fraction)))
@example(Fraction(1, 10**400))
@example(Fraction(-1, 10**400))
def test_float_up_and_down_are_the_nearest_doubles_on_their_side(x):
    up, down = float_up(x), float_down(x)
    assert Fraction(down) <= x <= Fraction(up)
    assert down == up if Fraction(down) == x else math.nextafter(down, math.inf) == up


def test_float_up_and_down_beyond_the_doubles():
    largest = 1.7976931348623157e308
    assert float_up(Fraction(10**400)) == math.inf and float_down(Fraction(10**400)) == largest
    assert float_up(-Fraction(10**400)) == -largest and float_down(-Fraction(10**400)) == -math.inf
    assert float_up(Fraction(largest) + 1) == math.inf


@examples(150)
@given(
    st.one_of(
        st.fractions(Fraction(1, 1000), 1000),
        st.builds(lambda k, s: 1 + s * Fraction(1, 3 * 2**k), st.integers(1, 300), st.sampled_from([-1, 1])),
    )
)
@example(Fraction(1))
@example(1 + Fraction(1, 2**200))
def test_log_up_is_above_and_within_one_unit_in_the_last_place(x):
    up = log_up(x)
    true = log_by_decimals(x)
    assert Fraction(up) >= true - SLACK
    assert Fraction(math.nextafter(math.nextafter(up, -math.inf), -math.inf)) < true or up == 0.0


@every_case("value", [0, 7, -12, 10**30, pytest.param(3**20000, id="3^20000")])
def test_integers_of_any_length_survive_a_file(value):
    assert read_integer(show_integer(value)) == value
    assert read_integer(value) == value


@every_case("bad", [1.0, None, True, "1.5", "", "0xg"])
def test_what_is_not_an_integer_is_not_read_as_one(bad):
    with refused(InvalidInput, token="whole number"):
        read_integer(bad)
