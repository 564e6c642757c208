"""The judge for the discrete Gaussian, whose probabilities are irrational but known to any number of digits.

The likelihood ratio of adjacent truths, p(z)/p(z-1) = exp((1-2z)/(2 sigma2)), falls as z grows. Hence no finite epsilon
holds with delta = 0 on all integers, and for every epsilon the worst event is a half-line:

    delta(eps) = P(Z >= m) - e^eps P(Z >= m+1),    m = floor(sigma2 eps + 1/2).

(Canonne, Kamath, Steinke 2020, Theorem 7; the maximum over m of the right side, since any m is an event.)
Clamping to 0..n keeps the order of the likelihood ratios, so the worst events are half-lines still, those with m < n;
the right side rises up to its best m and falls after it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ..exact.kernels import Noise
from ..exact.laws import Gaussian, Interval
from ..exact.rationals import at_most_exp, exp_bounds, log_bounds
from .witness import Witness

_BITS = 256


class GaussianEvidence:
    """Bounds for ``Noise`` with a :class:`~discreet.exact.laws.Gaussian` law."""

    def __init__(self, kernel: Noise) -> None:
        assert isinstance(kernel.law, Gaussian)
        self._law = kernel.law
        low, high = kernel.clamp
        self._reach = high - low if low is not None and high is not None and kernel.truths == kernel.clamp else None
        self._start = low or 0

    def _relative(self, z: int, tail: bool) -> tuple[Interval, int]:
        """Bounds of P(Z >= z) or P(Z = z) with at least 64 significant bits."""
        bits = _BITS + int(2 * z * z / self._law.sigma2)
        return (self._law.tail if tail else self._law.mass)(z, bits), bits

    def ratio_bounds(self) -> tuple[Fraction, Fraction] | None:
        """Bounds of the largest ratio between adjacent truths; None when it is infinite.

        On 0..n the ratios of single reports grow away from the truth, and so do those of tails (the law is
        log-concave): the largest are at the ends, P(0|n-1)/P(0|n) and P(1|n-1)/P(1|n).
        """
        n = self._reach
        if n is None:
            return None
        best = (Fraction(1), Fraction(1))
        for z, tail in ((n - 1, True), (n - 2, False)):
            if z < 0:
                continue
            (low, high), bits = self._relative(z, tail)
            (next_low, next_high), next_bits = self._relative(z + 1, tail)
            shift = Fraction(2) ** (next_bits - bits)
            best = max(best, (shift * Fraction(low, next_high), shift * Fraction(high, next_low)))
        return best

    def epsilon_bounds(self) -> tuple[Fraction, Fraction] | None:
        bounds = self.ratio_bounds()
        return None if bounds is None else (log_bounds(bounds[0])[0], log_bounds(bounds[1])[1])

    def holds(self, epsilon: Fraction) -> bool:
        bounds = self.ratio_bounds()
        return bounds is not None and at_most_exp(bounds[1], epsilon)

    def ratio_witness(self) -> Witness:
        n = self._reach if self._reach is not None else 10 * math.isqrt(int(self._law.sigma2) + 1)
        z = n - 1
        return self._half_line(z, truth=self._start + z)

    def delta_bounds(self, epsilon: Fraction, bits: int = _BITS) -> tuple[tuple[Fraction, Fraction], Witness]:
        low_ratio, high_ratio = exp_bounds(epsilon, bits)
        m = math.floor(self._law.sigma2 * epsilon + Fraction(1, 2))
        if self._reach is not None:  # half-lines of a clamped range; the value is unimodal in m
            m = min(m, self._reach - 1)
        (a, b), (c, d) = self._law.tail(m, bits), self._law.tail(m + 1, bits)
        low, high = Fraction(a) - high_ratio * d, Fraction(b) - low_ratio * c
        scale = Fraction(1, 1 << bits)
        bounds = max(low * scale, Fraction(0)), max(high * scale, Fraction(0))
        return bounds, self._half_line(m, truth=self._start + max(m, 0))

    def single_event_bounds(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        """Bounds of max over z of P(z) - e^eps P(z+1).

        That is p(z) (1 - exp(eps - (2z+1)/(2 sigma2))), a product of log-concave functions of z where it is positive,
        hence unimodal: floats find the mode, and its neighbours make sure of it.
        """
        if self._reach is not None:  # the worst half-line is then a single report, the clamped end
            return self.delta_bounds(epsilon)[0]
        low_ratio, high_ratio = exp_bounds(epsilon, _BITS)
        centre = math.floor(self._law.sigma2 * epsilon)
        z = centre + np.arange(4 + 4 * math.isqrt(int(self._law.sigma2) + 1))
        sigma2 = float(self._law.sigma2)
        share = -np.expm1(float(epsilon) - (2 * z + 1) / (2 * sigma2))
        mode = int(z[np.argmax(-z * z / (2 * sigma2) + np.log(np.maximum(share, 1e-300)))])
        low = high = Fraction(0)
        for near in range(max(mode - 3, 0), mode + 4):
            (a, b), (c, d) = self._law.mass(near, _BITS), self._law.mass(near + 1, _BITS)
            low, high = max(low, a - high_ratio * d), max(high, b - low_ratio * c)
        return low / (1 << _BITS), high / (1 << _BITS)

    def _half_line(self, z: int, truth: int) -> Witness:
        """The event that the report is at most ``truth - z``, seen from this truth and from the next one."""
        bits = _BITS + int(2 * z * z / self._law.sigma2)
        (_, high), (low, _) = self._law.tail(z, bits), self._law.tail(z + 1, bits)
        scale = 1 << bits
        return Witness(truth, truth + 1, (truth - z,), Fraction(high, scale), Fraction(low, scale), at_most=True)
