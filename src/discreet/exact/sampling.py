"""Samplers: fast draws of reports for true values, from exactly the law of the kernel.

- :class:`NoiseSampler` draws integer noise of any law of :mod:`.laws` by inversion. A geometric tail much wider than
  the 16-bit lookup is drawn digit by digit, since the digits of a geometric number are independent.
- :class:`AliasSampler` draws from rows of exact weights by the alias method (Walker 1977, Vose 1991), one word a draw,
  with thresholds that are exact rationals.
- :class:`ResponseSampler` keeps a value or replaces it by a uniform one.

The work for one draw does not grow with the size of the noise, and the memory of a chunk stays in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, IntArray
from .bits import Bits
from .inversion import UNDECIDED, Inversion, draw_independent, is_below, one_word
from .laws import GeometricTails, Interval, Law, float_log, power_of_bounds, scaled

if TYPE_CHECKING:
    from .tables import Table

#: Number of draws at a time, so that the memory of a chunk stays in the processor's cache.
DRAWS_PER_CHUNK = 1 << 16

#: Maximum number of outcomes (until less than 2^-64 is left) of geometric noise that is not drawn digit by digit.
MAX_DIRECT_OUTCOMES = 1 << 13

#: Maximum number of entries of a table whose rows are all built at once.
MAX_EAGER_ENTRIES = 1 << 17


class Sampler(Protocol):
    """A sampler of reports for true values, both as indices."""

    def draw(self, truths: Array, bits: Bits) -> Array:
        """Return one report for each of many truths (a one-dimensional array)."""

    def draw_one(self, truth: int, bits: Bits) -> int:
        """Return one report."""


# ------------------------------------------------------------------------------------------------ noise


def _unfold(k: Any) -> Any:
    """Return 0, -1, 1, -2, 2, ... for 0, 1, 2, 3, 4, ...: the outcomes of a symmetric law in order of size."""
    return ((k + 1) >> 1) * (1 - 2 * (k & 1))


class NoiseSampler:
    """The sampler of integer noise with exactly the given law."""

    def __init__(self, law: Law) -> None:
        self._law = law
        low, high = law.support
        self._low = low
        self._digits: _GeometricDigits | None = None
        if low is not None and high is not None:
            self._inversion = Inversion(self._ascending, high - low + 1)
        elif isinstance(law, GeometricTails) and _outcomes_needed(law) > MAX_DIRECT_OUTCOMES:
            self._digits = _GeometricDigits(law)
            return
        else:
            self._inversion = Inversion(self._by_size, None)
        lookup = self._inversion.lookup
        wide = np.where(lookup == UNDECIDED, UNDECIDED, self._as_noise(lookup.astype(np.int64)))
        #: the noise for each 16-bit word, or UNDECIDED
        self.values = wide.astype(np.int16 if wide.min() >= -32768 and wide.max() <= 32767 else np.int64)

    def _as_noise(self, outcome: Any) -> Any:
        return _unfold(outcome) if self._low is None else outcome + self._low

    def _ascending(self, k: int, bits: int) -> Interval:
        """Return P(outcome <= k) for the outcomes low, low + 1, ..."""
        assert self._low is not None
        low, high = self._law.tail(self._low + k + 1, bits)
        return (1 << bits) - high, (1 << bits) - low

    def _by_size(self, k: int, bits: int) -> Interval:
        """Return P(outcome <= k) for the outcomes 0, -1, 1, -2, ...: all but the two remaining tails."""
        m, law = (k + 1) >> 1, self._law
        if isinstance(law, GeometricTails):  # both tails as one number: if that is dyadic, two bounds would not meet
            low, high = (
                law.decay(law.side * (1 + law.ratio), m - 1, bits) if k & 1 else law.decay(2 * law.side, m, bits)
            )
            return (1 << bits) - high, (1 << bits) - low
        low, high = law.tail(m + 1, bits)
        other_low, other_high = law.tail(m, bits) if k & 1 else (low, high)
        return (1 << bits) - high - other_high, (1 << bits) - low - other_low

    def draw(self, size: int, bits: Bits) -> Array:
        """Return ``size`` draws, as integers of any width."""
        if self._digits is not None:
            return self._digits.draw(size, bits)
        words = bits.main(size, np.uint16)
        noise = self.values.take(words)
        open_ = noise == UNDECIDED
        if open_.any():
            unsettled = np.flatnonzero(open_)
            settled = self.settle(words[unsettled], bits.extra(unsettled.size), bits)
            if np.abs(settled).max() > 32767:
                noise = noise.astype(np.int64)
            noise[unsettled] = settled
        return noise

    @property
    def by_lookup(self) -> bool:
        """True if one 16-bit word nearly always decides, by ``values``."""
        return self._digits is None

    def settle(self, words: NDArray[np.uint16], rest: NDArray[np.uint64], bits: Bits) -> IntArray:
        """Return the noise for words that do not decide, given 64 more bits for each."""
        return np.asarray(self._as_noise(self._inversion.decide(words, rest, bits)))

    @cached_property
    def _value_list(self) -> list[int]:
        values: list[int] = self.values.tolist()
        return values

    def draw_one(self, bits: Bits) -> int:
        if self._digits is not None:
            return int(self._digits.draw(1, bits)[0])
        word = one_word(bits, 2)
        noise = self._value_list[word]
        if noise != UNDECIDED:
            return noise
        return int(self.settle(np.array([word], np.uint16), bits.extra(1), bits)[0])


def _outcomes_needed(law: GeometricTails) -> float:
    """Return the number of outcomes of the law until less than about 2^-64 is left."""
    return 2 * 45 / -float_log(law.ratio)


class _GeometricDigits:
    """A two-sided geometric number by its sign and its digits in base 256, each drawn exactly and independently.

    If P(G = g) = (1-r) r^g, then the digits of G in base B are independent, the i-th with P(d) ~ (r^(B^i))^d, and the
    number above digit m is again geometric, with ratio r^(B^m).
    """

    BASE = 256

    def __init__(self, law: GeometricTails) -> None:
        signs = (law.atom, law.atom + law.side, Fraction(1))
        parts = [Inversion(lambda k, bits: scaled(signs[k], bits), 3)]
        exponent = 1
        digits = []
        while 45 / (-float_log(law.ratio) * exponent) > MAX_DIRECT_OUTCOMES / 2:
            digits.append(Inversion(_digit(law.ratio, exponent, self.BASE), self.BASE))
            exponent *= self.BASE
        parts.append(Inversion(_digit(law.ratio, exponent, None), None))
        self._parts = parts + digits[::-1]  # the sign, the number above the digits, the digits from the highest on

    def draw(self, size: int, bits: Bits) -> IntArray:
        outcomes = draw_independent(self._parts, size, bits)
        magnitude = outcomes[:, 1].copy()
        for k in range(2, len(self._parts)):
            magnitude = magnitude * self.BASE + outcomes[:, k]
        sign = outcomes[:, 0]
        return np.where(sign == 0, 0, np.where(sign == 1, -1 - magnitude, 1 + magnitude))


def _digit(ratio: Fraction, exponent: int, base: int | None) -> Callable[[int, int], Interval]:
    """Return the cumulative law of one digit: see :func:`_digit_of_bounds`."""
    zeros = max(0, -math.frexp(float(1 - ratio))[1])
    return _digit_of_bounds(lambda bits: scaled(ratio, bits), zeros, exponent, base)


def _digit_of_bounds(
    ratio: Callable[[int], Interval], zeros: int, exponent: int, base: int | None
) -> Callable[[int, int], Interval]:
    """Return P(digit <= d) = (1 - s^(d+1)) / (1 - s^base), s = ratio^exponent; no denominator without a base.

    ``ratio(b)`` gives bounds of 2^b times the ratio, and 1 - ratio is about 2^-zeros.
    """

    def cumulative(d: int, bits: int) -> Interval:
        if base is not None and d >= base - 1:
            return 1 << bits, 1 << bits
        work = bits + 64 + zeros  # 1 - s may be as small as 1 - ratio
        one = 1 << work
        low, high = power_of_bounds(ratio, exponent * (d + 1), work)
        if base is None:
            return (one - high) >> (work - bits), -((low - one) >> (work - bits))
        whole_low, whole_high = power_of_bounds(ratio, exponent * base, work)
        return ((one - high) << bits) // (one - whole_low), -((-(one - low) << bits) // (one - whole_high))

    return cumulative


# ------------------------------------------------------------------------------------------------ rare events


class WaitingTimes:
    """The sampler of geometric numbers, P(G >= g) = ratio^g, drawn digit by digit if they can be large.

    Parameters
    ----------
    ratio
        ``ratio(b)`` gives bounds of 2^b times the ratio, which may be irrational.
    rate
        About ``1 - ratio``. It determines the number of digits and nothing else.
    end
        Numbers of ``end`` or more are reported as ``end``.
    """

    BASE = 256

    def __init__(self, ratio: Callable[[int], Interval], rate: float, end: int) -> None:
        self._ratio, self._end = ratio, end
        decay = math.inf if rate >= 1 else -math.log1p(-rate)
        reach = min(45 / decay, end) if decay else end
        exponent = 1
        while reach / exponent > MAX_DIRECT_OUTCOMES / 2:
            exponent *= self.BASE
        self._exponent = exponent
        self._beyond = -(-end // exponent)
        outcomes = self._beyond + 1 if self._beyond <= MAX_DIRECT_OUTCOMES else None
        self._above = Inversion(_digit_of_bounds(ratio, 0, exponent, None), outcomes)

    @cached_property
    def _digits(self) -> list[Inversion]:
        """The digits from the highest on. They are built when a number below the end is drawn."""
        bits = 64
        while self._ratio(bits)[1] >= 1 << bits:  # until the bounds tell the ratio from 1
            bits *= 2
        zeros = bits - ((1 << bits) - self._ratio(bits)[1]).bit_length()
        digits, exponent = [], self._exponent
        while exponent > 1:
            exponent //= self.BASE
            digits.append(Inversion(_digit_of_bounds(self._ratio, zeros, exponent, self.BASE), self.BASE))
        return digits

    def draw(self, size: int, bits: Bits) -> IntArray:
        """Return ``size`` independent numbers."""
        numbers = draw_independent([self._above], size, bits)[:, 0]
        inside = numbers < self._beyond
        if self._exponent > 1 and inside.any():
            digits = draw_independent(self._digits, int(inside.sum()), bits)
            values = numbers[inside]
            for k in range(digits.shape[1]):
                values = values * self.BASE + digits[:, k]
            numbers[inside] = values
        numbers[~inside] = self._end
        return np.minimum(numbers, self._end)


class TailSampler:
    """The sampler of noise that is at least ``least`` (from 1): the law of Z given Z >= least, exactly."""

    def __init__(self, law: Law, least: int) -> None:
        self._law, self._least = law, least

    @cached_property
    def _excess(self) -> WaitingTimes | Inversion:
        law, high = self._law, self._law.support[1]
        if isinstance(law, GeometricTails):  # what is above the threshold is geometric again
            return WaitingTimes(lambda bits: scaled(law.ratio, bits), float(1 - law.ratio), 1 << 62)
        return Inversion(self._cumulative, None if high is None else high - self._least + 1)

    @cached_property
    def _leading_zeros(self) -> int:
        """A number of bits with which the bounds of P(Z >= least) have 64 digits."""
        work = 128
        while not self._law.tail(self._least, work)[0] >> 64:
            work *= 2
        return work

    def _cumulative(self, k: int, bits: int) -> Interval:
        """Return bounds of 2^bits P(Z <= least + k given Z >= least)."""
        law, least = self._law, self._least
        if law.rational:
            return scaled(1 - law.upper(least + k + 1) / law.upper(least), bits)
        work = self._leading_zeros + bits
        low_whole, high_whole = law.tail(least, work)
        low, high = law.tail(least + k + 1, work)
        one = 1 << bits
        return one + (-high << bits) // low_whole, one - (low << bits) // high_whole

    def draw(self, size: int, bits: Bits) -> IntArray:
        """Return ``size`` independent values."""
        if isinstance(self._excess, WaitingTimes):
            return self._least + self._excess.draw(size, bits)
        return self._least + draw_independent([self._excess], size, bits)[:, 0]


# ------------------------------------------------------------------------------------------------ tables


class AliasSampler:
    """The sampler of columns of a table of exact weights.

    A row with total T is cut into 2^b columns of height T (after multiplying its weights by 2^b); each column holds
    at most two reports. A draw picks a column by b bits and one of its two reports by comparing further bits with the
    exact rational threshold inside the column.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        rows, columns = table.shape
        self._shift = max(1, (columns - 1).bit_length())
        #: the type of a draw's word: wide enough to decide nearly always
        self._word: type[np.unsignedinteger[Any]] = np.uint32 if self._shift <= 12 else np.uint64
        self._width = 32 if self._shift <= 12 else 64
        self._thresholds = np.zeros((rows, 1 << self._shift), self._word)
        self._aliases = np.zeros((rows, 1 << self._shift), np.uint32)
        self._built = np.zeros(rows, dtype=bool)
        if rows * columns <= MAX_EAGER_ENTRIES:
            for row in range(rows):
                self._build(row)

    def split(self, row: int) -> tuple[list[int], list[int], int]:
        """Return each column's exact height for its own report, the report with the rest, and the total height."""
        size = 1 << self._shift
        height = self._table.totals[row]
        heights = [w << self._shift for w in self._table.row(row)]
        heights += [0] * (size - len(heights))
        alias = list(range(size))
        small = [k for k, part in enumerate(heights) if part < height]
        large = [k for k, part in enumerate(heights) if part > height]
        while small:
            k, giver = small.pop(), large[-1]
            alias[k] = giver
            heights[giver] -= height - heights[k]
            if heights[giver] <= height:
                large.pop()
                if heights[giver] < height:
                    small.append(giver)
        return heights, alias, height

    def _build(self, row: int) -> None:
        heights, alias, height = self.split(row)
        free = self._width - self._shift
        thresholds = [0 if alias[k] == k else (part << free) // height << self._shift for k, part in enumerate(heights)]
        self._thresholds[row] = thresholds
        self._aliases[row] = alias
        self._built[row] = True

    def _prepare(self, truths: Array) -> None:
        if not self._built.all():
            for row in np.unique(truths[~self._built[truths]]).tolist():
                self._build(row)

    def draw(self, truths: Array, bits: Bits) -> Array:
        self._prepare(truths)
        word = self._word
        words = bits.main(len(truths), word)
        column = words >> word(self._width - self._shift)
        entry = np.left_shift(truths, self._shift, dtype=np.int64)
        np.add(entry, column, out=entry, dtype=np.int64, casting="unsafe")  # int64 + uint64 would be float64
        threshold = self._thresholds.ravel().take(entry)
        rest = words << word(self._shift)
        reports: Array = np.where(rest < threshold, column, self._aliases.ravel().take(entry))
        tied = rest == threshold
        if tied.any():
            for k in np.flatnonzero(tied).tolist():
                reports[k] = self._settle(int(truths[k]), int(words[k]), bits)
        return reports

    def draw_one(self, truth: int, bits: Bits) -> int:
        if not self._built[truth]:
            self._build(truth)
        word = one_word(bits, self._width // 8)
        column = word >> (self._width - self._shift)
        threshold = self._thresholds.item(truth, column)
        rest = (word << self._shift) & ((1 << self._width) - 1)
        if rest == threshold:
            return self._settle(truth, word, bits)
        return column if rest < threshold else self._aliases.item(truth, column)

    def _settle(self, row: int, word: int, bits: Bits) -> int:
        """Return the report for a word that ties with its threshold: compare further bits with the exact threshold."""
        free = self._width - self._shift
        column = word >> free
        if self._aliases.item(row, column) == column:
            return column
        heights, alias, height = self.split(row)
        exact = Fraction(heights[column], height)
        below, _, _ = is_below(word & ((1 << free) - 1), free, lambda b: scaled(exact, b), bits)
        return column if below else alias[column]


# ------------------------------------------------------------------------------------------------ response


def straddles(product: Any, size: Any) -> Any:
    """Return whether a 32-bit number times size leaves a uniform value open, as the next number gives another one."""
    return (product & np.uint64(0xFFFFFFFF)) > np.uint64(2**32) - size


def uniform_below(size: int, value: int, known_bits: int, bits: Bits) -> int:
    """Return a uniform value in 0..size-1 from the first ``known`` bits of a number, and more bits if necessary."""
    while (value * size) >> known_bits != ((value + 1) * size - 1) >> known_bits:
        value, known_bits = (value << 64) | bits.deep(), known_bits + 64
    return (value * size) >> known_bits


class ResponseSampler:
    """The sampler of a response: keep a value with probability ``keep``, else draw one of all ``size`` uniformly.

    Each draw takes one 64-bit word: its upper half decides whether to keep, its lower half is the uniform value. Either
    half is extended if it does not decide.
    """

    def __init__(self, size: int, keep: Fraction) -> None:
        self._size, self._keep = size, keep
        self._threshold = scaled(keep, 32)[0]

    def draw(self, truths: Array, bits: Bits) -> Array:
        words = bits.main(len(truths), np.uint64)
        upper = words >> np.uint64(32)
        product = (words & np.uint64(0xFFFFFFFF)) * np.uint64(self._size)
        uniform = (product >> np.uint64(32)).astype(np.int64)
        reports = np.where(upper < np.uint64(self._threshold), truths.astype(np.int64, copy=False), uniform)
        open_ = (upper == np.uint64(self._threshold)) | straddles(product, np.uint64(self._size))
        if open_.any():
            for k in np.flatnonzero(open_).tolist():
                reports[k] = self._settle(int(truths[k]), int(words[k]), bits)
        return reports

    def draw_one(self, truth: int, bits: Bits) -> int:
        return self._settle(truth, one_word(bits, 8), bits)

    def _settle(self, truth: int, word: int, bits: Bits) -> int:
        keep, _, _ = is_below(word >> 32, 32, lambda b: scaled(self._keep, b), bits)
        if keep:
            return truth
        return uniform_below(self._size, word & 0xFFFFFFFF, 32, bits)
