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
from bisect import bisect_left
from fractions import Fraction

from ..errors import Unsupported
from ..exact.kernels import Noise
from ..exact.laws import Gaussian, scaled
from ..exact.rationals import exp_bounds, log_bounds
from .evidence import Bounds
from .witness import Witness

_BITS = 256


#: Maximum number of bits of the probabilities in a witness.
_MAX_WITNESS_BITS = 4096


class GaussianEvidence:
    """Bounds for ``Noise`` with a :class:`~discreet.exact.laws.Gaussian` law."""

    def __init__(self, kernel: Noise) -> None:
        assert isinstance(kernel.law, Gaussian)
        self._law = kernel.law
        low, high = kernel.clamp
        self._reach = high - low if low is not None and high is not None and kernel.truths == kernel.clamp else None
        self._start = low or 0

    def _mills(self, z: int) -> Bounds:
        """Return bounds of P(Z >= z) / P(Z = z) = sum over k >= 0 of exp(-(k^2 + 2kz)/(2 sigma2)), for z >= 1.

        Neighbouring terms have ratios exp(-(2k+1+2z)/(2 sigma2)), which shrink by exp(-1/sigma2) with every step.
        """
        work = _BITS
        low_ratio, high_ratio = (scaled(b, work)[k] for k, b in enumerate(self._exp(Fraction(-(2 * z + 1), 2))))
        low_step, high_step = (scaled(b, work)[k] for k, b in enumerate(self._exp(Fraction(-1))))
        low = high = low_sum = high_sum = 1 << work
        while high > 1 << (work // 4):
            low, high = low * low_ratio >> work, -((-high * high_ratio) >> work)
            low_ratio, high_ratio = low_ratio * low_step >> work, -((-high_ratio * high_step) >> work)
            low_sum, high_sum = low_sum + low, high_sum + high
        high_sum += -(-high * high_ratio // ((1 << work) - high_ratio))  # a geometric series from here on is larger
        return Fraction(low_sum, 1 << work), Fraction(high_sum, 1 << work)

    def _exp(self, x: Fraction) -> Bounds:
        """Return bounds of exp(x / sigma2), coarse ones where it is far below the resolution."""
        exponent = x / self._law.sigma2
        return (Fraction(0), Fraction(1, 2**1024)) if exponent < -1000 else exp_bounds(exponent, _BITS)

    def epsilon_bounds(self) -> Bounds | None:
        """Return bounds of the largest log ratio between adjacent truths; None when it is infinite.

        On 0..n the ratios of single reports grow away from the truth, and so do those of tails (the law is
        log-concave): the largest are at the ends, P(1|n-1)/P(1|n) = exp((2n-3)/(2 sigma2)) and P(0|n-1)/P(0|n), which
        is P(Z >= n-1)/P(Z >= n) = 1 + e^u/M with u = (2n-1)/(2 sigma2) and M = P(Z >= n)/P(Z = n).
        """
        n = self._reach
        if n is None:
            return None
        inner = Fraction(2 * n - 3, 2) / self._law.sigma2
        mills_low, mills_high = self._mills(n)
        small_low, small_high = self._exp(Fraction(1 - 2 * n, 2))
        u = Fraction(2 * n - 1, 2) / self._law.sigma2
        low, high = log_bounds(small_low + 1 / mills_high)[0] + u, log_bounds(small_high + 1 / mills_low)[1] + u
        return (max(inner, low), max(inner, high)) if n > 1 else (low, high)

    def ratio_bounds(self) -> Bounds | None:
        bounds = self.epsilon_bounds()
        if bounds is None:
            return None
        if bounds[1] > _MAX_WITNESS_BITS:
            raise Unsupported(
                "the largest ratio on so wide a range has too many digits.", "Use epsilon, its logarithm."
            )
        return exp_bounds(bounds[0])[0], exp_bounds(bounds[1])[1]

    def holds(self, epsilon: Fraction) -> bool:
        bounds = self.epsilon_bounds()
        return bounds is not None and bounds[1] <= epsilon

    def ratio_witness(self) -> Witness:
        n = self._reach if self._reach is not None else 10 * math.isqrt(int(self._law.sigma2) + 1)
        z = n - 1
        return self._half_line(z, truth=self._start + z)

    def delta_bounds(self, epsilon: Fraction, bits: int = _BITS) -> tuple[Bounds, Witness]:
        m = math.floor(self._law.sigma2 * epsilon + Fraction(1, 2))
        if self._reach is not None:  # half-lines of a clamped range; the value is unimodal in m
            m = min(m, self._reach - 1)
        bits = max(bits, self._enough(m + 1))
        low_ratio, high_ratio = exp_bounds(epsilon, bits)
        (a, b), (c, d) = self._law.tail(m, bits), self._law.tail(m + 1, bits)
        low, high = Fraction(a) - high_ratio * d, Fraction(b) - low_ratio * c
        scale = Fraction(1, 1 << bits)
        bounds = max(low * scale, Fraction(0)), max(high * scale, Fraction(0))
        return bounds, self._half_line(m, truth=self._start + max(m, 0))

    def _enough(self, z: int) -> int:
        """Return the number of bits that show P(Z >= z) to many digits; the usual number if it would be very large."""
        bits = _BITS + math.ceil(Fraction(3, 4) * z * z / self._law.sigma2)  # -log2 exp(-z^2/(2 sigma2)) and more
        return bits if bits <= _MAX_WITNESS_BITS else _BITS

    def single_event_bounds(self, epsilon: Fraction) -> Bounds:
        """Return bounds of max over z of g(z) = P(z) - e^eps P(z+1).

        That is p(z) (1 - exp(eps - (2z+1)/(2 sigma2))), a product of log-concave functions of z where it is positive,
        hence unimodal: bisection finds the largest.
        """
        if self._reach is not None:  # the worst half-line is then a single report, the clamped end
            return self.delta_bounds(epsilon)[0]
        low_z = math.floor(self._law.sigma2 * epsilon)  # g is not positive below
        high_z = low_z + 4 + 4 * math.isqrt(int(self._law.sigma2) + 1)
        low_z += bisect_left(range(low_z, high_z), True, key=lambda z: self._falls(z, epsilon))
        bits = self._enough(low_z + 1)
        low_ratio, high_ratio = exp_bounds(epsilon, bits)
        (a, b), (c, d) = self._law.mass(low_z, bits), self._law.mass(low_z + 1, bits)
        low, high = max(a - high_ratio * d, Fraction(0)), max(b - low_ratio * c, Fraction(0))
        return low / (1 << bits), high / (1 << bits)

    def _falls(self, z: int, epsilon: Fraction) -> bool:
        """Return whether g(z) > g(z+1) where g is positive.

        That is 1 - (1 + E) r + E r r' > 0, with r = p(z+1)/p(z) and r' the next ratio: a sum of exponentials of
        different rationals, so the sign is decided with enough bits.
        """
        first, second = -Fraction(2 * z + 1, 2) / self._law.sigma2, -Fraction(2 * z + 3, 2) / self._law.sigma2
        if epsilon + first >= 0:
            return False  # g(z) <= 0
        bits = 128
        while True:
            (r, r_up), (er, er_up), (err, err_up) = (
                exp_bounds(x, bits) for x in (first, epsilon + first, epsilon + first + second)
            )
            if 1 - r_up - er_up + err > 0:
                return True
            if 1 - r - er + err_up < 0:
                return False
            bits *= 2

    def _half_line(self, z: int, truth: int) -> Witness:
        """Return the event that the report is at most ``truth - z``, seen from this truth and from the next one."""
        bits = min(_BITS + int(2 * z * z / self._law.sigma2), _MAX_WITNESS_BITS)
        (_, high), (low, _) = self._law.tail(z, bits), self._law.tail(z + 1, bits)
        scale = 1 << bits
        # where even these bits show nothing, the smallest number they can show stands for it
        p, q = Fraction(max(high, 1), scale), Fraction(max(low, 1), scale)
        return Witness(truth, truth + 1, (truth - z,), p, q, at_most=True)
