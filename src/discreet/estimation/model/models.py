"""Models: the products and the linear algebra of each kind of mechanism, for the solvers.

==================  ===============================================  ========================================
``DenseModel``      any matrix                                       Cholesky, of the smaller side (Woodbury)
``GeometricModel``  two-sided geometric noise, clamped to 0..n       one banded system, O(n)
``ResponseModel``   keep the value, or report any other, all alike   diagonal plus rank two, O(n)
==================  ===============================================  ========================================

Columns of A may be multiplied by any positive numbers: the factor cancels in everything a solver does (q / u, and u A).
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from ...exact.arrays import FloatArray, IntArray
from ..algebra import banded_lu, cholesky, gram, gram_of_columns, left_solve, left_times, times
from ..interior import Newton

#: Maximum number of values for which the whole matrix is faster than two recursive filters (measured).
MAX_DENSE_GEOMETRIC = 256


def _positive(q: FloatArray) -> IntArray | slice:
    return slice(None) if q.all() else np.flatnonzero(q)


class DenseModel:
    """Any matrix A, a row for each truth and a column for each observed report; every share is positive.

    Columns are divided by their largest entry: reports that are hardly possible (1e-160) would overflow in q / u.
    """

    def __init__(self, A: FloatArray, q: FloatArray) -> None:
        self.scale = A.max(axis=0)
        self.A, self.q = np.ascontiguousarray(A / self.scale), q
        #: Whether systems are solved for the reports: less work where they are fewer, and fewer digits.
        self.by_reports = 4 * A.shape[1] < 3 * len(A)
        self.seen: IntArray | slice = slice(None)
        self.size = len(A)

    def forward(self, p: FloatArray) -> FloatArray:
        return left_times(p, self.A)

    def backward(self, v: FloatArray) -> FloatArray:
        return times(self.A, v)

    def unfold(self, u: FloatArray) -> FloatArray:
        """Return u A^-1, of chances that were not divided by the largest of their column."""
        return left_solve(self.A, u / self.scale)

    def newton(self, weights: FloatArray, slacks: FloatArray) -> Newton:
        if self.by_reports:
            return self._by_reports(weights, slacks)
        system = cholesky(gram(self.A * np.sqrt(weights)), slacks)

        def solve(b: FloatArray) -> tuple[FloatArray, FloatArray]:
            dp = system(b)
            return dp, self.forward(dp)

        return solve

    def _by_reports(self, weights: FloatArray, slacks: FloatArray) -> Newton:
        """Solve for v = weights du if reports are fewer than truths: (1/weights + A' D A) v = A' D b, D = 1/slacks."""
        system = cholesky(gram_of_columns(self.A / np.sqrt(slacks)[:, None]), 1 / weights)

        def once(b: FloatArray) -> FloatArray:
            return np.asarray((b - self.backward(system(self.forward(b / slacks)))) / slacks)

        def solve(b: FloatArray) -> tuple[FloatArray, FloatArray]:
            dp = once(b)
            # b - A v cancels for the truths in the support; a second round gives the lost digits back
            dp += once(b - self.backward(weights * self.forward(dp)) - slacks * dp)
            return dp, self.forward(dp)

        return solve


class GeometricModel:
    """A = K with K_ij = a^|i-j|: geometric noise clamped to 0..n, without its column factors.

    K^-1 is tridiagonal, so p = T u / (1 - a^2) with T = tridiag(-a; 1, 1+a^2, ..., 1+a^2, 1; -a).
    """

    def __init__(self, a: float, q: FloatArray) -> None:
        self.a, self.q, self.seen = a, q, _positive(q)
        self.size = len(q)
        diagonal = np.full(self.size, 1 + a * a)
        diagonal[[0, -1]] = 1.0
        self._diagonal = diagonal
        # 1 - a^2 without cancellation
        self._one = -math.expm1(2 * math.log(a))

    @property
    def factors(self) -> FloatArray:
        """What the columns of K are multiplied by to be probabilities: (1-a)/(1+a), and 1/(1+a) at the ends."""
        factors = np.full(self.size, (1 - self.a) / (1 + self.a))
        factors[[0, -1]] = 1 / (1 + self.a)
        return factors

    @cached_property
    def _dense(self) -> FloatArray:
        powers = self.a ** np.arange(self.size)
        line = np.concatenate([powers[:0:-1], powers])
        windows = np.lib.stride_tricks.sliding_window_view(line, self.size)
        return np.ascontiguousarray(windows[::-1])

    def forward(self, p: FloatArray) -> FloatArray:
        if self.size <= MAX_DENSE_GEOMETRIC:
            return times(self._dense, p)
        from scipy.signal import lfilter

        denominator = [1.0, -self.a]
        below = lfilter([1.0], denominator, p)
        above = lfilter([0.0, self.a], denominator, p[::-1])[::-1]
        return np.asarray(below + above)

    backward = forward  # K is symmetric

    def unfold(self, u: FloatArray) -> FloatArray:
        """Return u K^-1: the distribution that makes reports exactly this likely; entries may be negative."""
        return self._tridiagonal(u) / self._one

    def _tridiagonal(self, x: FloatArray) -> FloatArray:
        result = self._diagonal * x
        result[1:] -= self.a * x[:-1]
        result[:-1] -= self.a * x[1:]
        return result

    def newton(self, weights: FloatArray, slacks: FloatArray) -> Newton:
        """Solve for 2 size interleaved unknowns (du_i, y_i) with y = -K W du, in a band of 3 + 3, with pivoting.

        Eliminating y to a system of size unknowns would be faster and lose the digits that the last steps need.
        """
        a, one, n = self.a, self._one, self.size
        shrink = 1 / (1 + one * weights)
        small, large = np.minimum(1.0, slacks), np.minimum(1.0, 1 / slacks)
        band = np.zeros((10, 2 * n), order="F")
        band[6, 0::2] = one * weights * shrink
        band[5, 1::2] = self._diagonal * shrink
        band[7, 1:-1:2] = -a * shrink[1:]
        band[3, 3::2] = -a * shrink[:-1]
        band[6, 1::2] = -one * large
        band[7, 0::2] = self._diagonal * small
        band[9, 0:-2:2] = -a * small[1:]
        band[5, 2::2] = -a * small[:-1]
        system = banded_lu(band, 3, 3)
        steep = slacks > 1

        def solve(b: FloatArray) -> tuple[FloatArray, FloatArray]:
            right = np.zeros(2 * n)
            right[1::2] = one * large * b
            both = system(right)
            du, y = both[0::2], both[1::2]
            dp = np.where(steep, (y + b) / slacks, self._tridiagonal(du) / one)
            return dp, du

        return solve


class ResponseModel:
    """A = other 11' + gain I: each false value with probability ``other``, the true one with ``other + gain``."""

    def __init__(self, other: float, gain: float, q: FloatArray) -> None:
        self.other, self.gain, self.q, self.seen = other, gain, q, _positive(q)
        self.size = len(q)

    def forward(self, p: FloatArray) -> FloatArray:
        return np.asarray(self.other * p.sum() + self.gain * p)

    backward = forward  # A is symmetric

    def newton(self, weights: FloatArray, slacks: FloatArray) -> Newton:
        """Solve H = diag(d) + w 1' + 1 w' + k 11', d = gain^2 W + Z, w = gain other W, by Woodbury with two columns."""
        g, o, W = self.gain, self.other, weights
        d = g * g * W + slacks
        w = g * o * W
        k = o * o * float(W.sum())
        U = np.stack([w + k / 2, np.ones(self.size)], axis=1)  # H - diag = U1 1' + 1 U1'
        over = U / d[:, None]
        swap = np.array([[0.0, 1.0], [1.0, 0.0]])
        small = swap + U.T @ over

        def solve(b: FloatArray) -> tuple[FloatArray, FloatArray]:
            dp = b / d - over @ left_solve(small, U.T @ (b / d))
            return dp, self.forward(dp)

        return solve
