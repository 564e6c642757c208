"""Half-widths of weighted sums of thousands of noises, of as many laws.

The bound is that of :mod:`.weighted`, computed faster. A term with weight w is *light* if all frequencies of the series
are below ``pi / w``. There its characteristic function is positive and falls, so the product over all light terms falls
too. From the first frequency on at which it is negligible, the rest of the series is left out: the sums of thousands of
terms need about fifty frequencies of several thousand.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from ...exact.arrays import BoolArray, FloatArray, IntArray
from ...exact.laws import GeometricTails, Law
from ...exact.rationals import float_down
from .accuracy import quantile
from .weighted import (
    RESERVED_PROBABILITY,
    SmoothedSeries,
    gaussian_characteristic,
    geometric_characteristic,
    geometric_log_moment,
    law_variance,
    rounded_up,
)  # fmt: skip

#: Value of the falling product from which on the series is left out. The rest of the series is at most this value times
#: the sum of ``2 / (pi k)`` over fewer than a million k, which is below ten: within ``RESERVED_PROBABILITY``.
NEGLIGIBLE = 1e-14

#: Number of frequencies, and largest number of frequencies times terms, that are worked out at once.
_MIN_FREQUENCIES, _MAX_VALUES = 32, 250_000

#: Ratio to the largest weight below which a weight is a zero that rounding in doubles has moved.
_ZERO = 1e-12

#: Standard deviations by which such weights, and rounding to 24 binary digits, may move the sum.
_ROUNDING = 1e-5

#: Parameters of Chernoff's inequality to try, in units of the best one for normal noise, or of the largest possible.
_RATIOS, _RATIOS_OF_END = np.linspace(0.3, 1.2, 37), 1 - np.geomspace(1e-6, 0.9, 60)


class _Terms(ABC):
    """Terms whose laws are of one kind.

    Attributes
    ----------
    laws
        The law of each term.
    weights, counts
        The weight of each term, and the number of noises that have it.
    """

    def __init__(self, laws: Sequence[Law], weights: FloatArray, counts: IntArray) -> None:
        self.laws, self.weights, self.counts = laws, weights, counts

    def where(self, mask: BoolArray) -> Self:
        """Return the terms of a mask."""
        return type(self)([self.laws[k] for k in np.flatnonzero(mask).tolist()], self.weights[mask], self.counts[mask])

    def characteristic(self, frequencies: FloatArray) -> FloatArray:
        """Return the characteristic function of the sum of the terms."""
        values = self._characteristic(self.weights[:, None] * frequencies)
        return np.asarray(np.prod(values ** self.counts[:, None], axis=0))

    def log_moment(self, theta: FloatArray) -> FloatArray:
        """Return ``log E exp(theta W)`` of the sum W of the terms, or an upper bound."""
        return np.asarray(self.counts @ self._log_moment(self.weights[:, None] * theta))

    @property
    @abstractmethod
    def end(self) -> float:
        """The parameter from which on the sum has no exponential moment."""

    @property
    @abstractmethod
    def falls(self) -> BoolArray:
        """Mask of the terms whose characteristic functions are positive and fall up to ``pi / weight``."""

    @abstractmethod
    def _characteristic(self, s: FloatArray) -> FloatArray:
        """Return the characteristic function of the law of each row."""

    @abstractmethod
    def _log_moment(self, s: FloatArray) -> FloatArray:
        """Return the logarithm of the exponential moment of the law of each row, or an upper bound."""


class _Geometric(_Terms):
    """Terms with geometric tails. Their characteristic functions fall from 0 to pi; some are negative there."""

    @cached_property
    def _parameters(self) -> tuple[FloatArray, FloatArray]:
        laws = [law for law in self.laws if isinstance(law, GeometricTails)]
        return np.array([[float(law.atom)] for law in laws]), np.array([[float(law.ratio)] for law in laws])

    @property
    def end(self) -> float:
        return float(np.min(-np.log(self._parameters[1][:, 0]) / self.weights))

    @property
    def falls(self) -> BoolArray:
        return np.asarray(geometric_characteristic(*self._parameters, np.array([math.pi]))[:, 0] >= 0)

    def _characteristic(self, s: FloatArray) -> FloatArray:
        return geometric_characteristic(*self._parameters, s)

    def _log_moment(self, s: FloatArray) -> FloatArray:
        return geometric_log_moment(*self._parameters, s)


class _Gaussian(_Terms):
    """Terms with discrete Gaussian noise.

    By Jacobi's triple product their characteristic functions are products of factors ``1 + 2 a cos(s) + a^2`` with
    0 < a < 1, which are positive and fall from 0 to pi.
    """

    @cached_property
    def _sigma2(self) -> FloatArray:
        return np.array([[float(law_variance(law))] for law in self.laws])

    @property
    def end(self) -> float:
        return math.inf

    @property
    def falls(self) -> BoolArray:
        return np.ones(self.weights.size, dtype=bool)

    def _characteristic(self, s: FloatArray) -> FloatArray:
        return gaussian_characteristic(self._sigma2, s)

    def _log_moment(self, s: FloatArray) -> FloatArray:
        return np.asarray(s * s * self._sigma2 / 2)  # Canonne, Kamath, Steinke 2020


@dataclass(frozen=True, eq=False)
class WeightedNoises:
    """A weighted sum of independent noises.

    Attributes
    ----------
    laws
        The laws, all symmetric: geometric tails or discrete Gaussian.
    law
        The index of the law of each term.
    weights, counts
        The positive weight of each term, and the number of noises that have it.

    Examples
    --------
    >>> laws = (GeometricTails.two_sided(Fraction(1, 2)),)
    >>> noises = WeightedNoises.of(laws, np.array([0, 0]), np.array([0.5, -0.5]), np.array([1, 3]))
    >>> noises.counts.tolist(), noises.half_width(Fraction(1, 20))
    ([4], 4.037)
    """

    laws: tuple[Law, ...]
    law: IntArray
    weights: FloatArray
    counts: IntArray

    @classmethod
    def of(cls, laws: tuple[Law, ...], law: IntArray, weights: FloatArray, counts: IntArray) -> WeightedNoises:
        """Return the sum with weights of either sign; those that agree to 24 binary digits become one term."""
        sizes = np.abs(weights)
        used = sizes > _ZERO * sizes.max(initial=0.0)
        mantissa, exponent = np.frexp(sizes[used])
        rounded, law, counts = np.ldexp(np.round(mantissa * 2**24) / 2**24, exponent), law[used], counts[used]
        order = np.lexsort((rounded, law))
        rounded, law, counts = rounded[order], law[order], counts[order]
        starts = np.flatnonzero((np.diff(law, prepend=-1) != 0) | (np.diff(rounded, prepend=-1.0) != 0))
        together = np.add.reduceat(counts, starts) if starts.size else counts
        return cls(laws, law[starts], rounded[starts], together)

    @property
    def key(self) -> tuple[bytes, bytes, bytes]:
        """What distinguishes sums of the same laws."""
        return self.law.tobytes(), self.weights.tobytes(), self.counts.tobytes()

    @cached_property
    def spread(self) -> float:
        """The standard deviation; for discrete Gaussian noise an upper bound."""
        distinct, which = np.unique(self.law, return_inverse=True)
        variances = np.array([float(law_variance(self.laws[k])) for k in distinct.tolist()])
        return math.sqrt(float((self.counts * self.weights**2) @ variances[which])) if distinct.size else 0.0

    def half_width(self, miss: Fraction) -> float:
        """Return a q that the size of the sum exceeds with probability at most ``miss``, up to four digits."""
        if not self.weights.size:
            return 0.0
        if self.counts.sum() == 1:
            return rounded_up(float(self.weights[0]) * quantile(self.laws[int(self.law[0])], miss / 2))
        allowed = float_down(miss)
        series = SmoothedSeries(self.spread, self.chernoff(RESERVED_PROBABILITY / 10))
        width = series.half_width(self._product(series), allowed) + _ROUNDING * self.spread
        return rounded_up(min(width, self.chernoff(allowed)))

    def chernoff(self, share: float) -> float:
        """Return a q that the size of the sum exceeds with probability at most ``share``, by Chernoff's inequality."""
        if not self.weights.size:
            return 0.0
        theta = math.sqrt(2 * math.log(2 / share)) / self.spread * _RATIOS
        end = min(part.end for part in self._parts)
        if end <= theta[-1]:
            theta = end * _RATIOS_OF_END
        total = np.sum([part.log_moment(theta) for part in self._parts], axis=0)
        return float(np.min((math.log(2 / share) + total) / theta)) * (1 + 1e-9)

    @cached_property
    def _parts(self) -> list[_Terms]:
        """The terms of each kind of law."""
        geometric = np.array([isinstance(self.laws[k], GeometricTails) for k in self.law.tolist()])
        kinds = [(_Geometric, geometric), (_Gaussian, ~geometric)]
        return [
            kind([self.laws[k] for k in self.law[mask].tolist()], self.weights[mask], self.counts[mask])
            for kind, mask in kinds
            if mask.any()
        ]

    def _product(self, series: SmoothedSeries) -> FloatArray:
        """Return the characteristic function of the smoothed sum at the frequencies before it is negligible."""
        frequencies = series.frequencies
        limit = math.pi / float(frequencies[-1])
        is_light = [part.falls & (part.weights <= limit) for part in self._parts]
        light = [part.where(mask) for part, mask in zip(self._parts, is_light, strict=True) if mask.any()]
        heavy = [part.where(~mask) for part, mask in zip(self._parts, is_light, strict=True) if not mask.all()]
        step = max(_MIN_FREQUENCIES, _MAX_VALUES // self.weights.size)
        products = []
        for start in range(0, frequencies.size, step):
            chunk = frequencies[start : start + step]
            falling = series.smoothing(chunk)
            for part in light:
                falling = falling * part.characteristic(chunk)
            products.append(math.prod([part.characteristic(chunk) for part in heavy], start=falling))
            if falling[-1] < NEGLIGIBLE:
                break
        return np.concatenate(products)
