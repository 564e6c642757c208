"""Projective response: a value is a point of a projective space, and points of its hyperplane are reported more often.

The points of the projective space with ``t`` coordinates over the prime field F_q are its lines through the origin:
``K = (q^t - 1) / (q - 1)`` of them. The hyperplane of a point x is ``S_x = {y : <x, y> = 0 mod q}``. It has
``s = (q^(t-1) - 1) / (q - 1)`` points, and any two of them share ``r = (q^(t-2) - 1) / (q - 1)``. A report in the
hyperplane of the truth has weight ``inside``, any other has weight ``outside``: two weights, and the same total for
every truth. (Feldman, Nelson, Nguyen, Talwar 2022, *Private frequency estimation via projective geometry*.)

**Numbering.** A point is normalised to first nonzero coordinate 1. Read as a number in base q it is ``q^d + rest`` with
``rest < q^d``, and its index is ``(q^d - 1) / (q - 1) + rest``. So points with fewer coordinates come first, and both
conversions take O(t).

**Products.** Whether y is in S_x depends on x and y alike, so that one transform serves both ways:
``sums[x] = sum of values[y] over y in S_x``. Points whose leading coordinate is the first are an affine space, where a
Fourier transform gives the sums over all its hyperplanes at once; the others are a projective space with a coordinate
less. O(K (t + log K)) in all, with O(K) memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..errors import InvalidInput
from .arrays import Array, BoolArray, FloatArray, IntArray
from .base import Ends, Kernel
from .bits import Bits
from .inversion import is_below, one_word
from .laws import scaled
from .rationals import read_integer, show_integer
from .sampling import straddles, uniform_below
from .tables import Table, refuse_large

#: Maximum number of points of a projective space: vectors of as many doubles take 128 MB.
MAX_POINTS = 1 << 24

#: Maximum number of values of a Fourier transform by a product with a matrix.
MAX_TRANSFORM_MATRIX = 100


def points_of(q: int, t: int) -> int:
    """Return the number of points of a projective space with t coordinates over F_q: (q^t - 1) / (q - 1).

    >>> [points_of(3, t) for t in range(4)]
    [0, 1, 4, 13]
    """
    return int((q**t - 1) // (q - 1))


def is_prime(number: int) -> bool:
    """Return whether a number is prime, by trial division: for numbers of up to 25 bits.

    >>> [k for k in range(20) if is_prime(k)]
    [2, 3, 5, 7, 11, 13, 17, 19]
    """
    if number < 4:
        return number >= 2
    return number % 2 == 1 and all(number % k for k in range(3, int(number**0.5) + 2, 2) if k < number)


def inverses(numbers: IntArray, q: int) -> IntArray:
    """Return the inverses of nonzero numbers modulo the prime q, as their (q - 2)-th powers.

    >>> inverses(np.arange(1, 7), 7).tolist()
    [1, 4, 5, 2, 3, 6]
    """
    result, power, exponent = np.ones_like(numbers), numbers % q, q - 2
    while exponent:
        if exponent & 1:
            result = result * power % q
        power, exponent = power * power % q, exponent >> 1
    return result


@dataclass(frozen=True)
class Projective(Kernel):
    """The kernel that reports points of the truth's hyperplane with weight ``inside``, others with ``outside``.

    Parameters
    ----------
    size
        The number of truths, which are the first points of the projective space.
    q, t
        The prime and the number of coordinates.
    inside, outside
        The weights, inside >= outside > 0. ``P(y | x) = inside / T if y in S_x else outside / T`` with
        ``T = inside s + outside (K - s)``.
    """

    size: int
    q: int
    t: int
    inside: int
    outside: int
    scatters: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole = all(type(number) is int for number in (self.size, self.q, self.t, self.inside, self.outside))
        small = whole and 2 <= self.q <= MAX_POINTS and 2 <= self.t <= 24 and self.points <= MAX_POINTS
        if not (small and is_prime(self.q) and 2 <= self.size <= self.points and self.inside >= self.outside > 0):
            raise InvalidInput(
                f"projective response needs a prime q, t >= 2 coordinates, at most {MAX_POINTS:,} points, no more "
                f"truths than points and inside >= outside > 0; got {self!r}."
            )

    @property
    def points(self) -> int:
        """K, the number of reports."""
        return points_of(self.q, self.t)

    @property
    def hyperplane(self) -> int:
        """s, the number of points of a hyperplane."""
        return points_of(self.q, self.t - 1)

    @property
    def overlap(self) -> int:
        """r, the number of points that two hyperplanes share."""
        return points_of(self.q, self.t - 2)

    @property
    def total(self) -> int:
        """T, the sum of the weights of every truth."""
        return self.inside * self.hyperplane + self.outside * (self.points - self.hyperplane)

    @property
    def own_chance(self) -> Fraction:
        """P, the probability of a report in the truth's own hyperplane."""
        return Fraction(self.inside * self.hyperplane, self.total)

    @property
    def other_chance(self) -> Fraction:
        """Q, the probability of a report in the hyperplane of any other point."""
        shared = self.overlap
        return Fraction(self.inside * shared + self.outside * (self.hyperplane - shared), self.total)

    # ---------------------------------------------------------------- points

    @cached_property
    def _powers(self) -> IntArray:
        return np.array([self.q**d for d in range(self.t)], np.int64)

    @cached_property
    def _firsts(self) -> IntArray:
        """The index of the first point with d coordinates after its leading one, for each d."""
        return np.array([points_of(self.q, d) for d in range(self.t)], np.int64)

    def _base_q(self, points: IntArray) -> IntArray:
        """Return points as numbers in base q, leading coordinate 1."""
        d = np.searchsorted(self._firsts, points, side="right") - 1
        return np.asarray(self._powers[d] + points - self._firsts[d])

    def _index(self, numbers: IntArray) -> IntArray:
        d = np.searchsorted(self._powers, numbers, side="right") - 1
        return np.asarray(self._firsts[d] + numbers - self._powers[d])

    def _products(self, first: IntArray, second: IntArray) -> IntArray:
        """Return the inner products modulo q of coordinates given in base q; reduced only at the end."""
        result = np.zeros(np.broadcast(first, second).shape, np.int64)
        for _ in range(self.t):
            result += (first % self.q) * (second % self.q)
            first, second = first // self.q, second // self.q
        return result % self.q

    def incident(self, truths: IntArray, reports: IntArray) -> BoolArray:
        """Return a mask of the reports that are in the hyperplane of their truth."""
        return np.asarray(self._products(self._base_q(truths), self._base_q(reports)) == 0)

    def in_hyperplane(self, truths: IntArray, numbers: IntArray) -> IntArray:
        """Return the points with these numbers (0 to s - 1) of the hyperplanes of these truths.

        The equation is solved for the coordinate at the last nonzero one of the truth, and the others are a point with
        one coordinate less. If all coordinates before it are zero the solution is zero, so that the first nonzero
        coordinate stays 1: the result is a normalised point.
        """
        truth, free = self._base_q(truths), self._base_q(numbers)
        place = np.ones_like(truth)  # q to the power of the place of the last nonzero coordinate
        for _ in range(self.t - 1):
            place = np.where(truth % (place * self.q) == 0, place * self.q, place)
        pivot = truth // place % self.q
        above, below = free // place, free % place
        solution = -self._products(truth // (place * self.q), above) * inverses(pivot, self.q) % self.q
        return self._index((above * self.q + solution) * place + below)

    # ---------------------------------------------------------------- probabilities

    def probability(self, i: int, j: int) -> Fraction:
        hit = bool(self.incident(np.array([i]), np.array([j]))[0])
        return Fraction(self.inside if hit else self.outside, self.total)

    def block(self, truths: IntArray, reports: IntArray) -> FloatArray:
        """Return P(report | truth) as doubles, a row for each of these truths and a column for each report."""
        hit = self.incident(np.asarray(truths)[:, None], np.asarray(reports)[None, :])
        return np.where(hit, self.inside / self.total, self.outside / self.total)

    def table(self) -> Table:
        refuse_large(self.size, self.points)
        hit = self.incident(np.arange(self.size)[:, None], np.arange(self.points)[None, :])
        if self.inside == self.outside:
            return Table.from_codes([1], np.zeros(hit.shape, np.int32))
        return Table.from_codes([self.outside, self.inside], hit.astype(np.int32))

    def matrix(self) -> FloatArray:
        refuse_large(self.size, self.points)
        return self.block(np.arange(self.size), np.arange(self.points))

    def forward(self, distribution: FloatArray) -> FloatArray:
        everywhere = np.zeros(self.points)
        everywhere[: self.size] = distribution
        gain = float(Fraction(self.inside - self.outside, self.total))
        return np.asarray(self.outside / self.total * distribution.sum() + gain * self.hyperplane_sums(everywhere))

    def backward(self, values: FloatArray) -> FloatArray:
        gain = float(Fraction(self.inside - self.outside, self.total))
        sums = self.hyperplane_sums(values)[: self.size]
        return np.asarray(self.outside / self.total * values.sum() + gain * sums)

    def hyperplane_sums(self, values: FloatArray) -> FloatArray:
        """Return, for every point x, the sum of these values of all points over the hyperplane of x."""
        values = np.asarray(values, float)
        sums = np.zeros(self.points)
        for m in range(1, self.t):
            _extend(sums, values, self.q, m)
        return sums

    # ---------------------------------------------------------------- structure

    @property
    def is_constant(self) -> bool:
        return self.inside == self.outside

    @property
    def reaches_everything(self) -> bool:
        return True  # outside > 0

    @property
    def hit_chances(self) -> tuple[float, float]:
        return float(self.own_chance), float(self.other_chance)

    def hit_shares(self, reports: FloatArray) -> FloatArray:
        return self.hyperplane_sums(reports)[: self.size]

    def unbiased_weights(self, values: FloatArray) -> FloatArray:
        # of values - c by the sums over hyperplanes; a constant c needs no reports, and the mean leaves least variance
        c = float(values.mean())
        everywhere = np.zeros(self.points)
        everywhere[: len(values)] = values - c
        return np.asarray(c + self.hyperplane_sums(everywhere) / float(self.own_chance - self.other_chance))

    @property
    def share_variance(self) -> Fraction:
        return self.other_chance * (1 - self.other_chance) / (self.own_chance - self.other_chance) ** 2

    def reports_fill(self, size: int | None, ends: Ends | None) -> bool:
        return self.points == size

    def sampler(self) -> ProjectiveSampler:
        return ProjectiveSampler(self)

    def to_json(self) -> dict[str, Any]:
        return {
            "kernel": "projective",
            "size": self.size,
            "q": self.q,
            "t": self.t,
            "inside": show_integer(self.inside),
            "outside": show_integer(self.outside),
        }

    @classmethod
    def from_json(cls, description: dict[str, Any]) -> Projective:
        """Return the kernel with this description (the inverse of ``to_json``)."""
        inside, outside = read_integer(description["inside"]), read_integer(description["outside"])
        return cls(description["size"], description["q"], description["t"], inside, outside)


# ------------------------------------------------------------------------------------------------ products


def _extend(sums: FloatArray, values: FloatArray, q: int, m: int) -> None:
    """Extend the sums over hyperplanes of points with m coordinates to those of points with m + 1, in place.

    The new points are (1, z) with z in F_q^m. For x = (0, P) the new points of the hyperplane are those with
    <P, z> = 0; for x = (1, l P) those with <P, z> = -1/l, and the old ones are those of P; for x = (1, 0) there is no
    new one, and all the old ones are in it.
    """
    old_points = points_of(q, m)
    old, new = sums[:old_points].copy(), sums[old_points : old_points + q**m]
    block = values[old_points : old_points + q**m]
    inverse = np.concatenate([[0], inverses(np.arange(1, q), q)])
    new[0] = values[:old_points].sum()
    spectrum = _spectrum(block, q, m) if m > 1 and block.any() else np.zeros(0, complex)
    for d in range(m):  # the points P with d coordinates after their leading one
        first, width = points_of(q, d), q**d
        before = old[first : first + width]
        if not d:
            lines = block.reshape(-1, q).sum(axis=0)[:, None]
            new[1:q] = before[0] + lines[-inverse[1:] % q, 0]
        else:
            lines = _lines(spectrum, q, d) if spectrum.size else np.zeros((q, 1))
            for factor in range(1, q):
                number = int(inverse[factor])
                row = before + lines[-number % q]
                new[factor * width : (factor + 1) * width] = row if number == 1 else row[_multiples(number, q, d)]
        sums[first : first + width] += lines[0]


def _spectrum(block: FloatArray, q: int, m: int) -> Array:
    """Return the Fourier transform of values of F_q^m in all coordinates; in the first one, its independent half.

    Small primes have many coordinates, and transforms of three numbers are slow: several coordinates at a time are
    transformed by one matrix.
    """
    if q > MAX_TRANSFORM_MATRIX:
        from scipy.fft import rfftn

        return np.asarray(rfftn(block.reshape((q,) * m), axes=(*range(1, m), 0))).ravel()
    together = 1
    while q ** (together + 1) <= MAX_TRANSFORM_MATRIX:
        together += 1
    result: Array = (_characters(q, 1)[: q // 2 + 1] @ block.reshape(q, -1)).T
    left = m - 1
    while left:  # the coordinates that were transformed move to the end, and are in order again when all were
        some = min(together, left)
        result = (_characters(q, some) @ result.reshape(q**some, -1)).T
        left -= some
    return result.ravel()


def _characters(q: int, d: int) -> Array:
    """Return the matrix of the Fourier transform of F_q^d: real for q = 2."""
    one = np.exp(-2j * np.pi / q * (np.outer(np.arange(q), np.arange(q)) % q))
    if q == 2:
        one = one.real.round()
    result = np.ones((1, 1))
    for _ in range(d):
        result = np.kron(result, one)
    return result


def _lines(spectrum: Array, q: int, d: int) -> FloatArray:
    """Return sums over the hyperplanes <P, z> = a with P = (0, ..., 0, 1, u): a row for each a, a column for each u.

    u is in F_q^d. The transform of these sums in a, at frequency k, is that of the values at k P.
    """
    half, width = q // 2 + 1, q**d
    columns = spectrum[: half * width].reshape(half, width).copy()
    columns[0] = spectrum[0]
    for k in range(2, half):
        columns[k] = columns[k][_multiples(k, q, d)]
    if q > MAX_TRANSFORM_MATRIX:
        from scipy.fft import irfft

        return np.asarray(irfft(columns, n=q, axis=0))
    twice = np.where(2 * np.arange(half) % q == 0, 1, 2) / q  # every other frequency stands for its mirror image too
    back = _characters(q, 1)[:, :half].conj() * twice
    return np.asarray(back @ columns if q == 2 else back.real @ columns.real - back.imag @ columns.imag)


def _multiples(factor: int, q: int, d: int) -> IntArray:
    """Return the number in base q of this multiple of each vector of F_q^d."""
    digit = factor * np.arange(q) % q
    numbers = np.zeros(1, np.int64)
    for e in range(d):
        numbers = (digit[:, None] * q**e + numbers).ravel()
    return numbers


# ------------------------------------------------------------------------------------------------ drawing


class ProjectiveSampler:
    """The sampler of a projective response.

    It draws a point of the truth's hyperplane with probability ``(inside - outside) s / T``, otherwise any point. Both
    are uniform, so that points of the hyperplane have weight inside and the others have weight outside. Each draw takes
    one 64-bit word: its upper half decides between the two, its lower half is the uniform number. Either half is
    extended if it does not decide.
    """

    def __init__(self, kernel: Projective) -> None:
        self._kernel = kernel
        self._within = Fraction((kernel.inside - kernel.outside) * kernel.hyperplane, kernel.total)
        self._threshold = scaled(self._within, 32)[0]

    def draw(self, truths: Array, bits: Bits) -> Array:
        kernel = self._kernel
        truths = truths.astype(np.int64, copy=False)
        words = bits.main(len(truths), np.uint64)
        upper = words >> np.uint64(32)
        within = upper < np.uint64(self._threshold)
        sizes = np.where(within, np.uint64(kernel.hyperplane), np.uint64(kernel.points))
        product = (words & np.uint64(0xFFFFFFFF)) * sizes
        points: IntArray = (product >> np.uint64(32)).astype(np.int64)
        open_ = (upper == np.uint64(self._threshold)) | straddles(product, sizes)
        for k in np.flatnonzero(open_).tolist():
            within[k], points[k] = self._settle(int(words[k]), bits)
        points[within] = kernel.in_hyperplane(truths[within], points[within])
        return points

    def draw_one(self, truth: int, bits: Bits) -> int:
        within, number = self._settle(one_word(bits, 8), bits)
        return int(self._kernel.in_hyperplane(np.array([truth]), np.array([number]))[0]) if within else number

    def _settle(self, word: int, bits: Bits) -> tuple[bool, int]:
        """Return whether the report is from the hyperplane, and its number there or among all points."""
        within, _, _ = is_below(word >> 32, 32, lambda b: scaled(self._within, b), bits)
        size = self._kernel.hyperplane if within else self._kernel.points
        return within, uniform_below(size, word & 0xFFFFFFFF, 32, bits)
