"""Kernels: the frozen exact objects that are sampled, proved and saved.

A kernel gives the probability of each report for each truth, both by index. Six kinds cover every mechanism here:

==============  ============================================================================================
``Table``        any exact weights, row by row (:mod:`.tables`)
``Noise``        truth plus integer noise, clamped or not; separate laws for the smallest truths if needed
``Response``     keep the truth with some probability, else report any other value uniformly (k-RR, uniform)
``Lattice``      truth plus noise in two dimensions, on a map (:mod:`.lattice`)
``Projective``   points of the truth's hyperplane more often than others: many values (:mod:`.projective`)
``Product``      several of these at once, each with its own truth and report (:mod:`.products.kernel`)
==============  ============================================================================================

``forward`` and ``backward`` use the structure: O(n) for geometric noise and for response, without any matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..errors import ON_A_RANGE, InvalidInput, InWords, Unsupported
from .arrays import Array, FloatArray, IntArray
from .base import Ends, Kernel
from .bits import Bits
from .inversion import UNDECIDED
from .lattice import Lattice
from .laws import Finite, GeometricTails, Law, float_log, law_from
from .products.kernel import Product
from .projective import Projective
from .rationals import read_integer, show_integer
from .sampling import NoiseSampler, ResponseSampler, Sampler
from .tables import Table, refuse_large

#: Maximum width of reports that are computed as one range; wider ones are computed one by one.
MAX_RANGE_WIDTH = 1 << 22


# ------------------------------------------------------------------------------------------------ noise


@dataclass(frozen=True)
class Noise(Kernel):
    """The kernel of report = truth + Z, clamped to a range if one is given.

    Parameters
    ----------
    law
        The law of the noise Z for every truth without a separate law.
    truths
        The least and the largest truth; None for an infinite end.
    clamp
        Reports below the first or above the second are moved there; None for an end without a clamp.
    first_laws
        Finite laws for the smallest truths: ``first_laws[k]`` for truth ``truths[0] + k``.
    """

    law: Law
    truths: tuple[int | None, int | None] = (None, None)
    clamp: tuple[int | None, int | None] = (None, None)
    first_laws: tuple[Finite, ...] = ()
    stays_near: ClassVar[bool] = True

    def __post_init__(self) -> None:
        low, high = self.clamp
        if low is not None and high is not None and low >= high:
            raise InvalidInput(f"a clamp needs low < high; got {self.clamp}.", argument="clamp", given=self.clamp)
        if self.first_laws and not self.law.rational:
            raise InvalidInput(
                f"own laws for the smallest truths cannot stand beside the {self.law.name}.", argument="first_laws"
            )
        if self.first_laws and self.truths[0] is None:
            raise InvalidInput("own laws for the smallest truths need a smallest truth.", argument="first_laws")

    def law_at(self, truth: int) -> Law:
        """Return the law of the noise added to this truth."""
        if self.first_laws:
            assert self.truths[0] is not None
            k = truth - self.truths[0]
            if 0 <= k < len(self.first_laws):
                return self.first_laws[k]
        return self.law

    def probability(self, i: int, j: int) -> Fraction:
        law, (low, high) = self.law_at(i), self.clamp
        if (low is not None and j < low) or (high is not None and j > high):
            return Fraction(0)
        if low is not None and j == low:
            return 1 - law.upper(j - i + 1)
        if high is not None and j == high:
            return law.upper(j - i)
        return law.probability(j - i)

    @property
    def rational(self) -> bool:
        return self.law.rational

    def approximate(self, i: int, j: int) -> float:
        """Return P(report j | truth i) as a double, also if it is irrational."""
        law, (low, high) = self.law_at(i), self.clamp
        if (low is not None and j < low) or (high is not None and j > high):
            return 0.0
        if low is not None and j == low:
            return _head(law, j - i)
        if high is not None and j == high:
            return law.float_tail(j - i)
        return float(law.floats(j - i, j - i)[0])

    def _range(self, purpose: str) -> tuple[int, int]:
        """Return the number of truths and the least truth, if this is a square finite kernel."""
        if None in self.truths or self.clamp != self.truths:
            raise Unsupported(
                f"{purpose} needs finitely many counts, and this noise is unbounded.",
                f"Choose a range with {ON_A_RANGE} first.",
            )
        low, high = self.truths
        assert low is not None and high is not None
        return high - low + 1, low

    def table(self) -> Table:
        size, first = self._range("a table")
        refuse_large(size, size)
        if not self.rational:
            raise Unsupported(
                f"the probabilities of the {self.law.name} are not rational, so it has no exact table.",
                "Use its matrix of floats.",
            )
        if isinstance(self.law, GeometricTails) and not self.first_laws:
            return _geometric_table(self.law, size)
        fractions: dict[Fraction, int] = {}
        codes = np.empty((size, size), np.int32)

        def code(p: Fraction) -> int:
            return fractions.setdefault(p, len(fractions))

        shared = [code(self.law.probability(z)) for z in range(2 - size, size - 1)]  # the middle of a row, by noise
        middle = np.array(shared, np.int32)
        for x in range(size):
            law = self.law_at(first + x)
            if law is self.law:
                codes[x, 1:-1] = middle[size - 1 - x : 2 * size - 3 - x]
            else:
                codes[x, 1:-1] = [code(law.probability(y - x)) for y in range(1, size - 1)]
            codes[x, 0] = code(1 - law.upper(1 - x))
            codes[x, -1] = code(law.upper(size - 1 - x))
        denominator = math.lcm(*(p.denominator for p in fractions))
        weights = [p.numerator * (denominator // p.denominator) for p in fractions]
        return Table.from_codes(weights, codes)

    def matrix(self) -> FloatArray:
        size, first = self._range("a matrix")
        refuse_large(size, size)
        middle = self.law.floats(2 - size, size - 2)
        rows = np.empty((size, size))
        for x in range(size):
            law = self.law_at(first + x)
            shared = law is self.law
            rows[x, 1:-1] = middle[size - 1 - x : 2 * size - 3 - x] if shared else law.floats(1 - x, size - 2 - x)
            rows[x, 0] = _head(law, -x)
            rows[x, -1] = law.float_tail(size - 1 - x)
        return rows

    @cached_property
    def _end_masses(self) -> tuple[FloatArray, FloatArray]:
        """The probabilities of reports clamped to the least and to the largest one, for each truth."""
        size, _ = self._range("this")
        law = self.law
        if isinstance(law, GeometricTails):
            tails = np.concatenate([[float((1 + law.atom) / 2)], float(law.side) * _powers(law.ratio, size - 1)])
        else:
            tails = _until_zero(law.float_tail, size)
        heads = tails if law.symmetric else _until_zero(lambda k: _head(law, -k), size)
        return heads, tails[::-1]

    def forward(self, distribution: FloatArray) -> FloatArray:
        size, _ = self._range("forward")
        heads, tails = self._end_masses
        shared = np.array(distribution, float)
        shared[: len(self.first_laws)] = 0.0
        reports = np.empty(size)
        reports[1:-1] = self._convolve(shared)[1:-1]
        reports[0], reports[-1] = shared @ heads, shared @ tails
        for x, law in enumerate(self.first_laws[:size]):
            np.add.at(reports, self._reports_of(x, law), distribution[x] * law.floats(*law.support))
        return reports

    def backward(self, values: FloatArray) -> FloatArray:
        size, _ = self._range("backward")
        heads, tails = self._end_masses
        middle = np.zeros(size)
        middle[1:-1] = values[1:-1]
        means = heads * values[0] + self._convolve(middle[::-1])[::-1] + tails * values[-1]
        for x, law in enumerate(self.first_laws[:size]):
            means[x] = law.floats(*law.support) @ values[self._reports_of(x, law)]
        return np.asarray(means)

    def _reports_of(self, x: int, law: Finite) -> IntArray:
        """Return the report for each outcome of the law of a truth."""
        return np.clip(np.arange(law.low, law.high + 1) + x, 0, self._range("this")[0] - 1)

    def _convolve(self, distribution: FloatArray) -> FloatArray:
        """Return sum_x distribution[x] P(Z = y - x) for y in the range."""
        if isinstance(self.law, GeometricTails):
            from scipy.signal import lfilter

            a = float(self.law.ratio)
            step = float(self.law.side * (1 - self.law.ratio))
            below = lfilter([0.0, step], [1.0, -a], distribution)
            above = lfilter([0.0, step], [1.0, -a], distribution[::-1])[::-1]
            return np.asarray(float(self.law.atom) * distribution + below + above)
        reach = len(distribution) - 1
        weights = self.law.floats(-reach, reach)
        keep = np.flatnonzero(weights > 1e-300)
        if not keep.size:  # a finite law that leaves the range from everywhere
            return np.zeros(len(distribution))
        first, last = int(keep[0]), int(keep[-1])
        if (last - first) * len(distribution) < 1 << 20:
            whole = np.convolve(distribution, weights[first : last + 1])
        else:
            from scipy.signal import oaconvolve

            whole = oaconvolve(distribution, weights[first : last + 1])
            if distribution.min() >= 0:  # the transform leaves tiny errors on either side of zero
                np.maximum(whole, 0.0, out=whole)
        return np.asarray(np.pad(whole, (first, 2 * reach - last))[reach : 2 * reach + 1])

    def block(self, truths: IntArray, reports: IntArray) -> FloatArray:
        """Return rows from the law of the noise; reports at an end of a clamped range include all beyond it."""
        least, largest = int(reports.min()), int(reports.max())
        offsets = reports - least
        wide = largest - least > MAX_RANGE_WIDTH
        ends = [k for k, j in enumerate(reports.tolist()) if j in self.clamp]
        rows = np.empty((len(truths), len(reports)))
        for row, i in zip(rows, truths.tolist(), strict=True):
            law = self.law_at(i)
            if wide:
                row[:] = [law.floats(j - i, j - i)[0] for j in reports.tolist()]
            else:
                row[:] = law.floats(least - i, largest - i)[offsets]
            for k in ends:
                row[k] = self.approximate(i, int(reports[k]))
        return rows

    @property
    def noise(self) -> Noise:
        return self

    @property
    def geometric_ratio(self) -> Fraction | None:
        if self.first_laws or not isinstance(self.law, GeometricTails):
            return None
        return self.law.ratio if self.law == GeometricTails.two_sided(self.law.ratio) else None

    def reports_fill(self, size: int | None, ends: Ends | None) -> bool:
        return self.clamp == ends

    def sampler(self) -> Sampler:
        return _ShiftSampler(self)

    def to_json(self) -> dict[str, Any]:
        return {
            "kernel": "noise",
            "law": self.law.to_json(),
            "truths": list(self.truths),
            "clamp": list(self.clamp),
            **({"own": [law.to_json() for law in self.first_laws]} if self.first_laws else {}),
        }


def _powers(ratio: Fraction, count: int) -> FloatArray:
    """Return 1, ratio, ratio^2, ..., each correct to a few units in the last place."""
    return np.asarray(np.exp(np.maximum(np.arange(count) * float_log(ratio), -745.2)))


def _until_zero(falling: Callable[[int], float], size: int) -> FloatArray:
    """Return the values at 0, 1, ... of a function that falls until it is zero."""
    values = np.zeros(size)
    for k in range(size):
        values[k] = falling(k)
        if values[k] == 0.0:
            break
    return values


def _head(law: Law, z: int) -> float:
    """Return P(Z <= z) as a double, without subtracting nearly equal numbers (laws are symmetric or rational)."""
    return law.float_tail(-z) if law.symmetric else float(1 - law.upper(z + 1))


def _geometric_table(law: GeometricTails, size: int) -> Table:
    """Return the table of clamped geometric noise on 0..size-1, with integers only.

    Entries have the mass of their noise, the first and last columns a whole tail. All are a few fractions times a power
    of the ratio p/q, over one denominator times q^(size-2); a row is the whole law, so it adds up to that.
    """
    p, q = law.ratio.numerator, law.ratio.denominator
    step, side, whole = law.side * (1 - law.ratio), law.side, (1 + law.atom) / 2
    scale = math.lcm(step.denominator, side.denominator, whole.denominator, law.atom.denominator)
    largest_power = size - 2
    powers = [p**k * q ** (largest_power - k) for k in range(largest_power + 1)]  # ratio^k, times q^most

    def times(share: Fraction) -> int:
        return share.numerator * (scale // share.denominator)

    middle = [times(law.atom) * powers[0], *(times(step) * power for power in powers)]  # noise 0, 1, 2, ...
    tails = [times(whole) * powers[0], *(times(side) * power for power in powers)]  # at least 0, 1, 2, ...
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.int32)
    distance[:, 0] += len(middle)
    distance[:, -1] += len(middle)
    distance.flags.writeable = False
    return Table((*middle, *tails), distance, (scale * powers[0],) * size)


class _ShiftSampler:
    """The sampler of a :class:`Noise` kernel: draw the noise, add it and clamp."""

    def __init__(self, kernel: Noise) -> None:
        self._kernel = kernel
        self._low, self._high = kernel.clamp
        self._first = kernel.truths[0] or 0

    @cached_property
    def _shared(self) -> NoiseSampler:
        return NoiseSampler(self._kernel.law)

    @cached_property
    def _first_samplers(self) -> list[NoiseSampler]:
        return [NoiseSampler(law) for law in self._kernel.first_laws]

    def draw(self, truths: Array, bits: Bits) -> Array:
        noise = self._draw_mixed(truths, bits) if self._kernel.first_laws else self._shared.draw(len(truths), bits)
        reports: IntArray = noise.astype(np.int64)
        reports += truths.astype(np.int64, copy=False)
        if self._low is not None or self._high is not None:
            np.clip(reports, self._low, self._high, out=reports)
        return reports

    def _draw_mixed(self, truths: Array, bits: Bits) -> Array:
        """Return the noise of each truth by its law, with one word of the main stream each, as for a single law."""
        numbers = np.minimum(truths.astype(np.int64) - self._first, len(self._first_samplers))
        if not self._shared.by_lookup:  # a wide geometric next to separate laws: rare, and drawn one by one
            return np.array([self._sampler(k).draw_one(bits) for k in numbers.tolist()], np.int64)
        words = bits.main(len(truths), np.uint16)
        noise: IntArray = self._lookups[numbers, words].astype(np.int64)
        unsettled = np.flatnonzero(noise == UNDECIDED)
        for k, rest in zip(unsettled.tolist(), bits.extra(unsettled.size), strict=True):
            more = np.array([rest], np.uint64)
            noise[k] = self._sampler(int(numbers[k])).settle(words[k : k + 1], more, bits)[0]
        return noise

    @cached_property
    def _lookups(self) -> Array:
        return np.stack([sampler.values for sampler in [*self._first_samplers, self._shared]])

    def _sampler(self, number: int) -> NoiseSampler:
        return self._first_samplers[number] if number < len(self._first_samplers) else self._shared

    def draw_one(self, truth: int, bits: Bits) -> int:
        sampler = self._sampler(truth - self._first) if self._kernel.first_laws else self._shared
        report = truth + sampler.draw_one(bits)
        if self._low is not None and report < self._low:
            return self._low
        if self._high is not None and report > self._high:
            return self._high
        return report


# ------------------------------------------------------------------------------------------------ response


@dataclass(frozen=True)
class Response(Kernel):
    """The kernel that reports the truth with weight ``stay`` and each of ``size - 1`` other values with ``other``.

    ``P(j | i) = stay / T if i == j else other / T`` with ``T = stay + (size - 1) other`` and stay >= other >= 0.
    """

    size: int
    stay: int
    other: int
    scatters: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (2 <= self.size <= 2**31 and self.stay >= self.other >= 0 and self.stay > 0):
            raise InvalidInput(f"response needs 2 <= size <= 2**31 and stay >= other >= 0; got {self!r}.")

    @property
    def total(self) -> int:
        return self.stay + (self.size - 1) * self.other

    def probability(self, i: int, j: int) -> Fraction:
        return Fraction(self.stay if i == j else self.other, self.total)

    def table(self) -> Table:
        refuse_large(self.size, self.size)
        if self.stay == self.other:
            return Table.from_codes([1], np.zeros((self.size, self.size), np.int32))
        return Table.from_codes([self.other, self.stay], np.eye(self.size, dtype=np.int32))

    def matrix(self) -> FloatArray:
        refuse_large(self.size, self.size)
        rows = np.full((self.size, self.size), float(self.probability(0, 1)))
        np.fill_diagonal(rows, float(self.probability(0, 0)))
        return rows

    def forward(self, distribution: FloatArray) -> FloatArray:
        gain = float(Fraction(self.stay - self.other, self.total))
        return np.asarray(float(self.probability(0, 1)) * distribution.sum() + gain * distribution)

    def backward(self, values: FloatArray) -> FloatArray:
        return self.forward(values)  # the matrix is symmetric

    def block(self, truths: IntArray, reports: IntArray) -> FloatArray:
        same = truths[:, None] == reports[None, :]
        return np.where(same, float(self.probability(0, 0)), float(self.probability(0, 1)))

    @property
    def is_constant(self) -> bool:
        return self.stay == self.other

    @property
    def reaches_everything(self) -> bool:
        return self.other > 0

    @property
    def response(self) -> tuple[float, float]:
        return self.other / self.total, (self.stay - self.other) / self.total

    def unbiased_weights(self, values: FloatArray) -> FloatArray | None:
        if self.is_constant:
            return None
        other, _ = self.response
        return np.asarray((values - other * values.sum()) * (self.total / (self.stay - self.other)))

    @property
    def share_variance(self) -> Fraction | None:
        if self.is_constant:
            return None
        hit, other = Fraction(self.stay, self.total), Fraction(self.other, self.total)
        return other * (1 - other) / (hit - other) ** 2

    def reports_fill(self, size: int | None, ends: Ends | None) -> bool:
        return self.size == size

    def sampler(self) -> ResponseSampler:
        return ResponseSampler(self.size, Fraction(self.stay - self.other, self.total))

    def to_json(self) -> dict[str, Any]:
        return {
            "kernel": "response",
            "size": self.size,
            "stay": show_integer(self.stay),
            "other": show_integer(self.other),
        }


def kernel_from(description: dict[str, Any]) -> Kernel:
    """Return the kernel with this description (the inverse of ``to_json``)."""
    kind = description.get("kernel")
    if kind == "table":
        palette = [read_integer(w) for w in description["palette"]]
        codes = np.array(description["codes"])
        if codes.ndim != 2 or codes.dtype.kind != "i" or codes.min() < 0 or codes.max() >= len(palette):
            raise InvalidInput("the codes of a table must be a matrix of positions in its palette.", argument="codes")
        return Table.from_codes(palette, codes)
    if kind == "noise":
        first_laws = []
        for law in map(law_from, description.get("own", [])):
            if not isinstance(law, Finite):
                raise InvalidInput.must_be("a truth's own law", "finite", InWords(law.name))
            first_laws.append(law)
        truths, clamp = description["truths"], description["clamp"]
        return Noise(law_from(description["law"]), (truths[0], truths[1]), (clamp[0], clamp[1]), tuple(first_laws))
    if kind == "response":
        return Response(description["size"], read_integer(description["stay"]), read_integer(description["other"]))
    if kind == "lattice":
        return Lattice.from_json(description)
    if kind == "projective":
        return Projective.from_json(description)
    if kind == "product":
        sizes = tuple((truths, reports) for truths, reports in description["sizes"])
        return Product(tuple(map(kernel_from, description["parts"])), sizes)
    raise InvalidInput(
        f"{kind!r} is not a kind of kernel; the kinds are table, noise, response, lattice, projective, product.",
        argument="kind",
        given=kind,
    )
