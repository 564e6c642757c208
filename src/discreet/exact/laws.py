"""Exact laws of integer noise.

A law answers every question by an interval of integers over a power of two: ``tail(z, bits)`` returns ``(low, high)``
with ``low <= 2**bits P(Z >= z) <= high``. If the probability is rational, the sampler and the judge also get it as a
fraction. No law is ever rounded: callers that need more digits ask for more bits.

=================  ==========================================================================================
``GeometricTails``  P(0) = atom, P(+-z) = (1-atom)/2 (1-ratio) ratio^(z-1): two-sided geometric, rounded Laplace
``Gaussian``        P(z) ~ exp(-z^2 / 2 sigma2): the discrete Gaussian
``Finite``          any integer weights on low, low+1, ...: bounded noise, p-tables
=================  ==========================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from operator import index
from typing import Any, ClassVar, Protocol

import numpy as np

from ..errors import InvalidInput, InWords, WrongType
from .arrays import FloatArray
from .rationals import LARGEST_ALPHA, SMALLEST_ALPHA, exp_bounds, read_integer, show_integer

Interval = tuple[int, int]


class Law(Protocol):
    """The distribution of an integer Z."""

    name: ClassVar[str]
    #: True if P(Z = z) is rational for every z.
    rational: ClassVar[bool]

    @property
    def support(self) -> tuple[int | None, int | None]:
        """The least and the largest value; None for an infinite end."""

    @property
    def symmetric(self) -> bool:
        """True if Z and -Z have the same distribution."""

    def mass(self, z: int, bits: int) -> Interval:
        """Return bounds of 2^bits P(Z = z)."""

    def tail(self, z: int, bits: int) -> Interval:
        """Return bounds of 2^bits P(Z >= z)."""

    def probability(self, z: int) -> Fraction:
        """Return P(Z = z), for rational laws."""

    def upper(self, z: int) -> Fraction:
        """Return P(Z >= z), for rational laws."""

    def floats(self, low: int, high: int) -> FloatArray:
        """Return P(Z = z) for z = low..high as doubles."""

    def float_tail(self, z: int) -> float:
        """Return P(Z >= z) as a double."""

    def to_json(self) -> dict[str, Any]:
        """Return the exact parameters, as plain JSON values."""


def scaled(x: Fraction, bits: int) -> Interval:
    """Return the integers around 2^bits x (equal when it is an integer)."""
    quotient, remainder = divmod(x.numerator << bits, x.denominator)
    return quotient, quotient + (remainder > 0)


def power_bounds(base: Fraction, exponent: int, bits: int) -> Interval:
    """Return bounds of 2^bits base^exponent for 0 <= base <= 1, by repeated squaring with outward rounding."""
    return power_of_bounds(lambda work: scaled(base, work), exponent, bits)


def power_of_bounds(base: Callable[[int], Interval], exponent: int, bits: int) -> Interval:
    """Return bounds of 2^bits base^exponent, where ``base(b)`` gives bounds of 2^b times a base in [0, 1]."""
    work = bits + 2 * exponent.bit_length() + 16
    low, high = base(work)
    low_power = high_power = 1 << work
    while exponent:
        if exponent & 1:
            low_power, high_power = low_power * low >> work, -((-high_power * high) >> work)
        low, high = low * low >> work, -((-high * high) >> work)
        exponent >>= 1
    return low_power >> (work - bits), -((-high_power) >> (work - bits))


@dataclass(frozen=True)
class GeometricTails:
    """An atom at zero and geometric tails on both sides.

    ``P(Z = 0) = atom`` and ``P(Z = +-z) = (1 - atom)/2 (1 - ratio) ratio^(z-1)`` for z >= 1.
    With atom = (1-a)/(1+a) and ratio a it is the two-sided geometric; with b = e^(-eps/2), atom = 1-b and ratio b^2 it
    is the Laplace density with scale 1/eps rounded to the nearest integer.
    """

    atom: Fraction
    ratio: Fraction
    name: ClassVar[str] = "geometric tails"
    rational: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True
    support: ClassVar[tuple[None, None]] = (None, None)

    def __post_init__(self) -> None:
        if not (0 <= self.atom < 1 and SMALLEST_ALPHA <= self.ratio <= LARGEST_ALPHA):
            raise InvalidInput(
                "geometric tails need 0 <= atom < 1 and a ratio from 2^-1000 to 1 - 2^-30; "
                f"got atom={float(self.atom)!r}, ratio={float(self.ratio)!r}."
            )

    @classmethod
    def two_sided(cls, alpha: Fraction) -> GeometricTails:
        """Return the law P(Z = z) = (1 - alpha)/(1 + alpha) alpha^|z|."""
        return cls((1 - alpha) / (1 + alpha), alpha)

    @classmethod
    def laplace(cls, root: Fraction) -> GeometricTails:
        """Return the law of Laplace noise rounded to integers, with root = e^(-eps/2)."""
        return cls(1 - root, root * root)

    @property
    def side(self) -> Fraction:
        """P(Z >= 1) = P(Z <= -1)."""
        return (1 - self.atom) / 2

    def probability(self, z: int) -> Fraction:
        return self.atom if z == 0 else self.side * (1 - self.ratio) * self.ratio ** (abs(z) - 1)

    def upper(self, z: int) -> Fraction:
        return self.side * self.ratio ** (z - 1) if z >= 1 else 1 - self.upper(1 - z)

    def tail(self, z: int, bits: int) -> Interval:
        if z < 1:
            low, high = self.tail(1 - z, bits)
            return (1 << bits) - high, (1 << bits) - low
        return self.decay(self.side, z - 1, bits)

    def decay(self, factor: Fraction, steps: int, bits: int) -> Interval:
        """Return bounds of 2^bits factor ratio^steps, as narrow as possible unless the power is very long."""
        if steps * self.ratio.denominator.bit_length() <= 4096:
            return scaled(factor * self.ratio**steps, bits)
        low, high = power_bounds(self.ratio, steps, bits)
        return low * factor.numerator // factor.denominator, -(-high * factor.numerator // factor.denominator)

    def mass(self, z: int, bits: int) -> Interval:
        if z == 0:
            return scaled(self.atom, bits)
        low, high = self.tail(abs(z), bits)
        rest = 1 - self.ratio
        return low * rest.numerator // rest.denominator, -(-high * rest.numerator // rest.denominator)

    def floats(self, low: int, high: int) -> FloatArray:
        z = np.abs(np.arange(low, high + 1))
        log_ratio = float_log(self.ratio)
        # below the smallest double the probability is zero as a double
        side = float(self.side * (1 - self.ratio)) * np.exp(np.maximum((z - 1) * log_ratio, -745.2))
        return np.where(z == 0, float(self.atom), side)

    def float_tail(self, z: int) -> float:
        if z < 1:
            return 1.0 - self.float_tail(1 - z)
        return float(self.side) * math.exp(max((z - 1) * float_log(self.ratio), -745.2))

    def to_json(self) -> dict[str, Any]:
        return {"law": self.name, "atom": str(self.atom), "ratio": str(self.ratio)}


def float_log(x: Fraction) -> float:
    """Return log x as a double, accurate even if x is close to 1."""
    return math.log1p(float(x - 1)) if 2 * x > 1 else math.log(float(x))


@dataclass(frozen=True)
class Gaussian:
    """The discrete Gaussian: ``P(Z = z) = exp(-z^2 / (2 sigma2)) / sum_k exp(-k^2 / (2 sigma2))``.

    ``sigma2`` is the parameter of the density; the variance is slightly smaller. (Canonne, Kamath, Steinke 2020.)
    """

    sigma2: Fraction
    _sums: dict[int, tuple[list[int], list[int], Interval]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    name: ClassVar[str] = "discrete Gaussian"
    rational: ClassVar[bool] = False
    symmetric: ClassVar[bool] = True
    support: ClassVar[tuple[None, None]] = (None, None)

    def __post_init__(self) -> None:
        if not Fraction(1, 100) <= self.sigma2 <= 10**10:
            raise InvalidInput.must_be("sigma2", "between 0.01 and 1e10", InWords(self.sigma2))

    def _weights(self, bits: int) -> tuple[list[int], list[int], Interval]:
        """Return tail sums of the weights exp(-z^2/2 sigma2), z >= 0, as bounds over 2^work, and of their sum over Z.

        Neighbouring weights have ratios exp(-(2z+1)/2 sigma2), which themselves shrink by exp(-1/sigma2): two integer
        products per term. The list ends where a weight is below the resolution; the rest is bounded.
        """
        if bits not in self._sums:
            reach = math.isqrt(int(2 * self.sigma2 * (bits + 40))) + 2
            work = bits + 2 * reach.bit_length() + 40
            low_step, high_step = (_outward(b, work, k) for k, b in enumerate(exp_bounds(-1 / self.sigma2, work)))
            low_ratio, high_ratio = (
                _outward(b, work, k) for k, b in enumerate(exp_bounds(-1 / (2 * self.sigma2), work))
            )
            low = high = 1 << work
            lows, highs = [low], [high]
            for _ in range(reach):
                low, high = low * low_ratio >> work, -((-high * high_ratio) >> work)
                low_ratio, high_ratio = low_ratio * low_step >> work, -((-high_ratio * high_step) >> work)
                lows.append(low)
                highs.append(high)
            # beyond the list the ratios keep shrinking, so the rest is less than a geometric series
            rest = -(-high * high_ratio // ((1 << work) - high_ratio))
            low_tails, high_tails = [0] * (len(lows) + 1), [rest] * (len(lows) + 1)
            for z in range(len(lows) - 1, -1, -1):
                low_tails[z] = low_tails[z + 1] + lows[z]
                high_tails[z] = high_tails[z + 1] + highs[z]
            whole = (2 * low_tails[1] + lows[0], 2 * high_tails[1] + highs[0])
            self._sums[bits] = (low_tails, high_tails, whole)
        return self._sums[bits]

    def tail(self, z: int, bits: int) -> Interval:
        if z < 1:
            low, high = self.tail(1 - z, bits)
            return (1 << bits) - high, (1 << bits) - low
        low_tails, high_tails, (low_whole, high_whole) = self._weights(bits)
        low = low_tails[z] if z < len(low_tails) else 0
        high = high_tails[min(z, len(high_tails) - 1)]
        return (low << bits) // high_whole, -((-high << bits) // low_whole)

    def mass(self, z: int, bits: int) -> Interval:
        low_tails, high_tails, (low_whole, high_whole) = self._weights(bits)
        z = min(abs(z), len(low_tails) - 1)
        if z >= len(low_tails) - 1:
            return 0, -((-high_tails[-1] << bits) // low_whole)
        low, high = low_tails[z] - low_tails[z + 1], high_tails[z] - high_tails[z + 1]
        return (low << bits) // high_whole, -((-high << bits) // low_whole)

    def probability(self, z: int) -> Fraction:
        raise InvalidInput("probabilities of the discrete Gaussian are not rational.", "Ask for bounds.")

    upper = probability

    @cached_property
    def _normaliser(self) -> float:
        low_tails, _, (low, _) = self._weights(64)
        return low / (low_tails[0] - low_tails[1])

    def floats(self, low: int, high: int) -> FloatArray:
        z = np.arange(low, high + 1, dtype=float)
        return np.asarray(np.exp(-z * z / (2 * float(self.sigma2))) / self._normaliser)

    def float_tail(self, z: int) -> float:
        if z < 1:
            return 1.0 - self.float_tail(1 - z)
        low, high = self.tail(z, 256)
        if low >> 64:
            return (low + high) / 2 / 2**256
        terms = math.ceil(40 * self.sigma2 / z) + 1  # the rest is less than e^-40 of the first
        return float(self.floats(z, z + terms).sum())

    def to_json(self) -> dict[str, Any]:
        return {"law": self.name, "sigma2": str(self.sigma2)}


def _outward(x: Fraction, work: int, up: int) -> int:
    return scaled(x, work)[up]


@dataclass(frozen=True)
class Finite:
    """A law with any integer weights on ``low, low + 1, ...``: ``P(Z = low + k) = weights[k] / sum(weights)``."""

    low: int
    weights: tuple[int, ...]
    total: int = field(init=False)
    name: ClassVar[str] = "finite"
    rational: ClassVar[bool] = True

    def __init__(self, low: int, weights: Iterable[int]) -> None:
        try:
            start, values = index(low), tuple(index(w) for w in weights)
        except TypeError:
            raise WrongType(
                "a finite law needs integers: where it starts, and the weight of each outcome.", argument="weights"
            ) from None
        if not values or min(values) < 0 or sum(values) == 0:
            raise InvalidInput("a finite law needs nonnegative integer weights, not all zero.", argument="weights")
        first = next(k for k, w in enumerate(values) if w)
        last = max(k for k, w in enumerate(values) if w)
        object.__setattr__(self, "low", start + first)
        object.__setattr__(self, "weights", values[first : last + 1])
        object.__setattr__(self, "total", sum(values))

    @property
    def high(self) -> int:
        return self.low + len(self.weights) - 1

    @property
    def support(self) -> tuple[int, int]:
        return self.low, self.high

    @property
    def symmetric(self) -> bool:
        return self.low == -self.high and self.weights == self.weights[::-1]

    @cached_property
    def _tails(self) -> tuple[int, ...]:
        sums = [0]
        for w in reversed(self.weights):
            sums.append(sums[-1] + w)
        return tuple(reversed(sums))

    def probability(self, z: int) -> Fraction:
        return Fraction(self.weights[z - self.low], self.total) if self.low <= z <= self.high else Fraction(0)

    def upper(self, z: int) -> Fraction:
        return Fraction(self._tails[min(max(z - self.low, 0), len(self.weights))], self.total)

    def mass(self, z: int, bits: int) -> Interval:
        return scaled(self.probability(z), bits)

    def tail(self, z: int, bits: int) -> Interval:
        return scaled(self.upper(z), bits)

    def floats(self, low: int, high: int) -> FloatArray:
        values = np.zeros(max(0, high - low + 1))
        for z in range(max(low, self.low), min(high, self.high) + 1):
            values[z - low] = self.weights[z - self.low] / self.total
        return values

    def float_tail(self, z: int) -> float:
        return float(self.upper(z))

    def to_json(self) -> dict[str, Any]:
        return {"law": self.name, "low": self.low, "weights": [show_integer(w) for w in self.weights]}


def law_from(description: dict[str, Any]) -> GeometricTails | Gaussian | Finite:
    """Return the law with this description (the inverse of ``to_json``)."""
    kind = description.get("law")
    if kind == GeometricTails.name:
        return GeometricTails(Fraction(description["atom"]), Fraction(description["ratio"]))
    if kind == Gaussian.name:
        return Gaussian(Fraction(description["sigma2"]))
    if kind == Finite.name:
        return Finite(description["low"], [read_integer(w) for w in description["weights"]])
    raise InvalidInput(
        f"{kind!r} is not a law; the laws are 'geometric tails', 'discrete Gaussian', 'finite'.",
        argument="kind",
        given=kind,
    )
