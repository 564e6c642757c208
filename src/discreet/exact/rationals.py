"""Rational numbers, and rational bounds of e^x and log x.

No function here rounds silently. A function whose true result is irrational returns an interval ``(low, high)`` that
contains it, as narrow as requested; a function that returns a float states the direction of rounding.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ..errors import InvalidInput, InWords, WrongType, arg

#: Types of parameters: exact ones, and floats, which stand for the simplest rational that rounds to them.
Number = int | float | str | Fraction | Decimal

#: Largest relative excess of alpha over e^-epsilon: the price of a small denominator, on the private side.
ALPHA_SLACK = Fraction(1, 2**40)

#: The range of epsilon.
SMALLEST_EPSILON = Fraction(1, 10**9)
LARGEST_EPSILON = Fraction(500)

#: The range of alpha, slightly wider than that of epsilon. Noise with a ratio closer to 1 would not fit in 64 bits.
SMALLEST_ALPHA = Fraction(1, 2**1000)
LARGEST_ALPHA = 1 - Fraction(1, 2**30)


def simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """Return the rational in [low, high] with the smallest denominator (by continued fractions)."""
    if low > high:
        raise InvalidInput(f"an interval needs low <= high; got {low} and {high}.", argument="low")
    if low <= 0 <= high:
        return Fraction(0)
    if high < 0:
        return -simplest_between(-high, -low)
    # Invariant: the answer is (h1 x + h0) / (k1 x + k0) with x the simplest rational of the current interval.
    h0, k0, h1, k1 = 0, 1, 1, 0
    a, b, c, d = low.numerator, low.denominator, high.numerator, high.denominator
    while True:
        whole = a // b
        if whole * b == a or (whole + 1) * d <= c:
            digit = whole if whole * b == a else whole + 1
            return Fraction(h1 * digit + h0, k1 * digit + k0)
        h0, k0, h1, k1 = h1, k1, h1 * whole + h0, k1 * whole + k0
        a, b, c, d = d, c - whole * d, b, a - whole * b


def as_fraction(value: object, what: str = "the number") -> Fraction:
    """Read a parameter exactly. A float means the simplest rational that rounds to that double: .9 is 9/10.

    >>> as_fraction(10 / 11), as_fraction("1/3"), as_fraction(0.1)
    (Fraction(10, 11), Fraction(1, 3), Fraction(1, 10))
    """
    if isinstance(value, bool | np.bool_):
        raise WrongType.must_be(what, "a number", InWords(f"the boolean {value!r}"))
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int | np.integer):
        return Fraction(int(value))
    if isinstance(value, float | np.float32 | np.float16):  # a long double has more digits than a double can hold
        return _float_as_fraction(float(value), what)
    if isinstance(value, str | Decimal):
        if _has_huge_exponent(str(value)):
            raise InvalidInput.must_be(what, "a number of sensible size", InWords("one with an exponent beyond 10000"))
        try:
            text = str(value).strip()
            return Fraction(text[:-1]) / 100 if text.endswith("%") else Fraction(value)
        except (ValueError, ZeroDivisionError, OverflowError):
            raise InvalidInput.must_be(what, "a finite number such as 0.9, '9/10' or '1e-3'", value) from None
    raise WrongType.must_be(what, "a number (int, float, str, Fraction)", InWords(type(value).__name__))


def _has_huge_exponent(text: str) -> bool:
    """Return whether this number has an exponent too large to compute with."""
    match = re.search(r"[eE][+-]?0*(\d+)\s*$", text)
    return match is not None and (len(match[1]) > 5 or int(match[1]) > 10_000)


@lru_cache(maxsize=1024)
def _float_as_fraction(value: float, what: str) -> Fraction:
    if not math.isfinite(value):
        raise InvalidInput.must_be(what, "a finite number", value)
    if value < 0:
        return -_float_as_fraction(-value, what)
    exact = Fraction(value)
    if exact.denominator == 1:  # beyond 2^53 many integers round to one double; it means itself
        return exact
    below, above = math.nextafter(value, 0.0), math.nextafter(value, math.inf)
    low, high = (Fraction(below) + exact) / 2, (exact + Fraction(above)) / 2
    best = simplest_between(low, high)
    # The ends of the interval round to this double only when its last bit is even.
    return best if float(best) == value else exact


# ------------------------------------------------------------------------------------------------ e^x and log x


@lru_cache(maxsize=4096)
def exp_bounds(x: Fraction, bits: int = 128) -> tuple[Fraction, Fraction]:
    """Return rationals low <= e^x <= high with ``high - low <= 2**-bits * e^x`` (equal only for x = 0).

    The argument is halved until it is below 2^-8, the Taylor series is summed in integers with both roundings, and
    the interval is squared back.
    """
    if x == 0:
        return Fraction(1), Fraction(1)
    if x < 0:
        below, above = exp_bounds(-x, bits)
        return 1 / above, 1 / below
    halvings = max(0, math.ceil(x).bit_length() + 8)
    work = bits + 2 * halvings + 16
    scale = 1 << work
    small = x / (1 << halvings)
    low_x = (small.numerator << work) // small.denominator
    high_x = low_x + 1
    low = low_term = high = high_term = scale
    k = 0
    while high_term > 1:
        k += 1
        low_term = (low_term * low_x >> work) // k
        high_term = -((-high_term * high_x >> work) // k)
        low += low_term
        high += high_term
    high += 2  # the rest is less than the last term
    for _ in range(halvings):
        low = low * low >> work
        high = -((-high * high) >> work)
    return Fraction(low, scale), Fraction(high, scale)


@lru_cache(maxsize=4096)
def log_bounds(x: Fraction, bits: int = 128) -> tuple[Fraction, Fraction]:
    """Return rationals low <= log x <= high with ``high - low <= 2**-bits`` (equal only for x = 1).

    x is written as 2^k m with m in [1, 2), and log m = 2 artanh((m-1)/(m+1)) is summed in integers.
    """
    if x <= 0:
        raise InvalidInput(f"the logarithm needs a positive number; got {x}.", argument="x", given=x)
    if x == 1:
        return Fraction(0), Fraction(0)
    k = x.numerator.bit_length() - x.denominator.bit_length()
    if x < Fraction(2) ** k:
        k -= 1
    m = x / Fraction(2) ** k
    work = bits + bits.bit_length() + abs(k).bit_length() + 16
    low, high = _log_near_one(m, work)
    if k:
        two_low, two_high = _log_two(work)
        low, high = (low + k * two_low, high + k * two_high) if k > 0 else (low + k * two_high, high + k * two_low)
    return low, high


@lru_cache(maxsize=64)
def _log_two(work: int) -> tuple[Fraction, Fraction]:
    return _log_near_one(Fraction(2), work)


def _log_near_one(m: Fraction, work: int) -> tuple[Fraction, Fraction]:
    scale = 1 << work
    t = (m - 1) / (m + 1)  # in [0, 1/3]
    low_t = (t.numerator << work) // t.denominator
    high_t = low_t + 1
    low_square, high_square = low_t * low_t >> work, -((-high_t * high_t) >> work)
    low_power, high_power, low, high, k = low_t, high_t, 0, 0, 1
    while high_power > 1 and k < 2 * work:
        low += low_power // k
        high += -(-high_power // k)
        low_power = low_power * low_square >> work
        high_power = -((-high_power * high_square) >> work)
        k += 2
    high += 2 * high_power + 1  # the rest is a geometric series with ratio at most 1/9
    return Fraction(2 * low, scale), Fraction(2 * high, scale)


def at_most_exp(ratio: Fraction, x: Fraction) -> bool:
    """Return whether ``ratio <= e^x``, decided exactly (e^x is irrational for rational x other than 0)."""
    if x == 0:
        return ratio <= 1
    if x > max(0, ratio.numerator.bit_length() - ratio.denominator.bit_length() + 1):
        return True  # e^x > 2^x >= ratio, without writing out e^x
    bits = 64
    while True:
        low, high = exp_bounds(x, bits)
        if ratio <= low:
            return True
        if ratio > high:
            return False
        bits *= 2


def float_up(x: Fraction) -> float:
    """Return the least double that is at least x (infinity above the largest double)."""
    try:
        near = float(x)
    except OverflowError:
        return math.inf if x > 0 else -1.7976931348623157e308
    return near if near == math.inf or Fraction(near) >= x else math.nextafter(near, math.inf)


def float_down(x: Fraction) -> float:
    """Return the largest double that is at most x."""
    return -float_up(-x)


def log_up(x: Fraction) -> float:
    """Return the logarithm of a positive rational as a double, rounded up (within one unit in the last place)."""
    if x == 1:
        return 0.0
    # |log x| is at least |x - 1| / max(x, 1): its leading zeros must not count as digits
    gap = x - 1
    zeros = max(0, gap.denominator.bit_length() - abs(gap.numerator).bit_length() + 1)
    return float_up(log_bounds(x, 96 + zeros)[1])


def show_integer(value: int) -> str:
    """Return an integer as text for a file: decimal, or hexadecimal if Python refuses that many decimal digits."""
    return str(value) if value.bit_length() <= 10_000 else hex(value)


def read_integer(text: object) -> int:
    """Read an integer from the text of :func:`show_integer`, or from a whole number."""
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    if not isinstance(text, str):
        raise WrongType(
            f"a whole number, or one written as text, is needed; got {type(text).__name__}.",
            "Write it like 12 or '12'.",
        )
    try:
        return int(text, 16) if text[:2] == "0x" else int(text)
    except ValueError:
        raise InvalidInput(f"a whole number is needed; got {text[:40]!r}.", "Write it like 12.") from None


def bound_up(x: Fraction) -> float:
    """Return the least double that is at least x, also when it is read back as a simple rational."""
    near = float_up(x)
    return near if math.isinf(near) or as_fraction(near) >= x else math.nextafter(near, math.inf)


def claimed(bound: float) -> Fraction:
    """Return the least claim of a bound from :func:`bound_up`: the double itself or the rational it stands for."""
    return min(Fraction(bound), as_fraction(bound))


def text_up(value: float | Fraction, digits: int = 6) -> str:
    """Return a bound for people to read, rounded up to this many significant digits.

    A rational number is shown directly: the double at or above 3/10 is above it, and would be shown as 0.300001.

    >>> text_up(0.6931471805599454), text_up(1.1, 3), text_up(2.718281828, 3)
    ('0.693148', '1.1', '2.72')
    >>> text_up(Fraction(3, 10)), text_up(bound_up(Fraction(3, 10)))
    ('0.3', '0.300001')
    """
    if not isinstance(value, Fraction) and math.isinf(value):
        return "infinity"
    exact = value if isinstance(value, Fraction) else as_fraction(float(value))  # what the double stands for
    if not exact:
        return "0"
    unit = Fraction(10) ** (Decimal(float(value)).adjusted() - digits + 1)
    return f"{float(math.ceil(exact / unit) * unit):.{digits}g}"


def text_down(value: Fraction, digits: int = 6) -> str:
    """Return a lower bound for people to read, rounded down to this many significant digits.

    >>> text_down(Fraction(2, 3)), text_down(Fraction(1, 2))
    ('0.666666', '0.5')
    """
    if value <= 0:
        return "0"
    unit = Fraction(10) ** (Decimal(float(value)).adjusted() - digits + 1)
    return f"{float(math.floor(value / unit) * unit):.{digits}g}"


def written_out(value: Fraction) -> str | None:
    """Return an exact number as text; None if it has thousands of digits (Python refuses more than 4300).

    >>> written_out(Fraction(2, 3)), written_out(Fraction(1, 10**4000))
    ('2/3', None)
    """
    return str(value) if max(abs(value.numerator), value.denominator).bit_length() < 10_000 else None


# ------------------------------------------------------------------------------------------------ privacy parameters


def read_epsilon(epsilon: object) -> Fraction:
    """Read an epsilon for which mechanisms can be built."""
    value = as_fraction(epsilon, "epsilon")
    if not SMALLEST_EPSILON <= value <= LARGEST_EPSILON:
        raise InvalidInput.must_be(
            "epsilon",
            "between 1e-9 and 500",
            epsilon,
            "Smaller means more private: 0.1 is strong, 10 protects little.",
        )
    return value


def alpha_from_epsilon(epsilon: Fraction) -> Fraction:
    """Return the smallest-denominator rational in [e^-eps, e^-eps (1 + 2^-40)]: at least as private as requested."""
    low, high = exp_bounds(-epsilon, 128 + 2 * math.ceil(epsilon))  # the denominator alone has 1.44 epsilon bits
    return simplest_between(high, low * (1 + ALPHA_SLACK))


def read_alpha(alpha: object | None, epsilon: object | None) -> Fraction:
    """Read the privacy parameter alpha = e^-epsilon, from exactly one of alpha and epsilon."""
    if (alpha is None) == (epsilon is None):
        count = "both" if alpha is not None else "neither"
        raise InvalidInput(
            f"give exactly one of {arg('epsilon')} and {arg('alpha')} (alpha = e^-epsilon); got {count}."
        )
    if alpha is None:
        return alpha_from_epsilon(read_epsilon(epsilon))
    value = as_fraction(alpha, "alpha")
    if not SMALLEST_ALPHA <= value <= LARGEST_ALPHA:
        raise InvalidInput.must_be(
            "alpha",
            "strictly between 0 and 1 (from 2^-1000 to 1 - 2^-30)",
            alpha,
            "Closer to 1 means more private.",
            meaning="e^-epsilon",
        )
    return value
