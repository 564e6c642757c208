"""The smallest epsilon, or the largest sigma2, whose noise meets a target error.

Results are decimals of four digits, rounded to the side that meets the target; exact numbers decide whether they do.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from statistics import NormalDist

from ...errors import InvalidInput, Unsupported, call
from ...exact.integers import is_integer
from ...exact.laws import Gaussian
from ...exact.rationals import LARGEST_EPSILON, SMALLEST_EPSILON
from ...mechanism import Mechanism
from ...mechanisms.families import resolve
from ...optimise.families import FAMILIES
from ...spaces import LARGEST_INTEGER
from ...wording import plain
from .accuracy import exceeds_at_most, read_level


def _four_digits(index: int) -> Fraction:
    """Return the decimal of four digits with this index: 0 is 1.000, 9000 is 10.00, -1 is 0.9999."""
    power, digits = divmod(index, 9000)
    return (1000 + digits) * Fraction(10) ** (power - 3)


def _read_target(half_width: object, level: object) -> tuple[int, Fraction]:
    """Read the largest error, in counts, and the share of the time for which it holds."""
    if not is_integer(half_width) or not 0 <= int(half_width) <= LARGEST_INTEGER:  # type: ignore[call-overload]
        raise InvalidInput.must_be("error", "a whole number of at least 0", half_width)
    return int(half_width), read_level(level)  # type: ignore[call-overload]


def epsilon_for(name: str, half_width: int, level: object = Fraction(19, 20)) -> Fraction:
    """Return the smallest epsilon of four digits whose noise stays within ``half_width`` for a share ``level``.

    Examples
    --------
    >>> epsilon_for("geometric", 3, 0.95)
    Fraction(8319, 10000)
    """
    error, coverage = _read_target(half_width, level)
    possible = {f.cli_name: f for f in FAMILIES.offered("release") if f.unbounded and "sigma2" not in f.parameters}
    family = possible.get(plain(name))
    if family is None:
        raise Unsupported(
            f"a wanted error gives an epsilon for {' and '.join(possible)}; got {name!r}.",
            f"For the discrete Gaussian it gives sigma2; for tables use {call('dc.calibrate', 'discreet calibrate')}.",
        )
    build = resolve(family.unbounded)

    def holds(index: int) -> bool:
        noise: Mechanism = build(epsilon=_four_digits(index))
        assert noise.kernel.noise is not None
        return exceeds_at_most(noise.kernel.noise.law, error, (1 - coverage) / 2)

    first, last = -9 * 9000, 2 * 9000 + 4000  # 1e-9 and 500
    assert _four_digits(first) == SMALLEST_EPSILON and _four_digits(last) == LARGEST_EPSILON
    if not holds(last):
        raise InvalidInput(
            f"no epsilon up to 500 keeps the error within {error} so often.", "Allow a larger error.", argument="error"
        )
    if holds(first):
        return SMALLEST_EPSILON
    return _four_digits(first + 1 + bisect_left(range(first + 1, last), True, key=holds))


def sigma2_for(half_width: int, level: object = Fraction(19, 20)) -> Fraction:
    """Return the largest sigma2 of four digits whose noise stays within ``half_width`` for a share ``level``.

    Examples
    --------
    >>> sigma2_for(3, 0.95)
    Fraction(409, 125)
    """
    error, coverage = _read_target(half_width, level)

    def holds(index: int) -> bool:
        return exceeds_at_most(Gaussian(_four_digits(index)), error, (1 - coverage) / 2)

    least, most = -2 * 9000, 10 * 9000  # 0.01 and 1e10
    guess = ((error + 0.5) / NormalDist().inv_cdf(1 - float(1 - coverage) / 2)) ** 2  # from the normal law
    first, step = min(max(_index_below(guess), least), most), 1
    while first > least and not holds(first):
        first, step = max(first - step, least), 2 * step
    if not holds(first):
        raise InvalidInput(
            f"no sigma2 from 0.01 on keeps the error within {error} so often.",
            "Allow a larger error.",
            argument="error",
        )
    last, step = first + 1, 1
    while last <= most and holds(last):
        first, last, step = last, last + step, 2 * step
    last = min(last, most + 1)
    return _four_digits(first + bisect_left(range(first + 1, last), True, key=lambda index: not holds(index)))


def _index_below(value: float) -> int:
    """Return the index of the largest four-digit decimal at or below a value."""
    digits, power = f"{value:.3e}".split("e")
    return int(power) * 9000 + round(float(digits) * 1000) - 1000
