"""Quantiles of the sum of many independent noises: upper bounds that are nearly tight.

The distribution of the sum is the exact convolution, computed as the inverse Fourier transform of the product of
characteristic functions. Every error is bounded and added to the probability of exceeding: outcomes that are not
listed, sums that wrap around the transform (Chernoff's inequality), rounding. Noise that is too wide to list by outcome
is listed in steps of several units, and the sum of the remainders within steps is bounded by Hoeffding's inequality.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ...exact.arrays import FloatArray, IntArray
from ...exact.laws import Finite, Law
from ...exact.rationals import float_down
from .accuracy import UNCLAMPED_HIGH, SideMoments, mirrored, quantile

#: Approximate largest length of the transform.
MAX_TRANSFORM_LENGTH = 1 << 20

#: Largest number of outcomes of a law that is listed by outcome, and the number of steps of a wider one.
MAX_OUTCOMES, MAX_STEPS = 1 << 22, 1 << 14

#: Probability of the outcomes that are not listed, on either side of a law.
UNLISTED_PROBABILITY = Fraction(1, 2**64)

#: Probability set aside for sums beyond the transform, and for the remainders within steps.
RESERVED_PROBABILITY = 1e-11

#: Unit roundoff, and a generous bound of the error of one stage of a fast Fourier transform (Higham 2002, sec. 24.1).
ROUNDOFF, FFT_STAGE_ERROR = 2.0**-53, 10 * 2.0**-53


@dataclass(frozen=True)
class SumTerms:
    """Independent terms of a sum with the same law: ``count`` times ``weight Z``, or ``weight max(Z, 0)``.

    The latter if ``positive``; the weight is a positive whole number.
    """

    law: Law
    count: int
    positive: bool = False
    weight: int = 1


@dataclass(frozen=True, eq=False)
class _StepLaw:
    """The law of one term as ``factor (step Y + U)`` with 0 <= U < step: the weights of Y, and the mean of U."""

    start: int
    weights: FloatArray
    rest: float
    error: float  # in total variation, not counting the unlisted outcomes
    factor: int = 1

    @property
    def outcomes(self) -> IntArray:
        """The values of ``factor Y``."""
        return self.factor * (self.start + np.arange(len(self.weights)))


def moments(law: Law) -> tuple[float, float, float]:
    """Return the mean of the noise, the mean of its positive part, and its standard deviation."""
    no_clamp = np.array([UNCLAMPED_HIGH])
    upper, lower = SideMoments(law), SideMoments(mirrored(law))
    positive = float(upper.mean(no_clamp)[0])
    mean = positive - float(lower.mean(no_clamp)[0])
    square = float((upper.square(no_clamp) + lower.square(no_clamp))[0])
    return mean, positive, math.sqrt(max(0.0, square - mean * mean))


def _support(law: Law) -> tuple[int, int]:
    """Return a range of values with negligible probability on either side."""
    if isinstance(law, Finite):
        return law.support
    return -quantile(mirrored(law), UNLISTED_PROBABILITY), quantile(law, UNLISTED_PROBABILITY)


@lru_cache(maxsize=16)
def _list_steps(law: Law, positive: bool, step: int) -> _StepLaw:
    """List the law of a term, or of its positive part, in steps of this width."""
    low, high = _support(law)
    start = low // step
    size = high // step - start + 1
    error = 2.0**-44
    if size * step <= MAX_OUTCOMES:
        weights = law.floats(start * step, (start + size) * step - 1).reshape(size, step).sum(axis=1)
    else:
        tails = np.array([law.float_tail(k * step) for k in range(start, start + size + 1)])
        weights, error = np.maximum(tails[:-1] - tails[1:], 0.0), 8 * size * ROUNDOFF
    if positive and start < 0:
        clamped = weights[-start:].copy() if size > -start else np.zeros(1)
        clamped[0] += weights[:-start].sum()
        start, weights = 0, clamped
    mean, mean_positive, sd = moments(law)
    within = (mean_positive if positive else mean) - step * float(weights @ (start + np.arange(len(weights))))
    rest = 0.0 if step == 1 else min(max(within + 1e-9 * (sd + step), 0.0), step - 1.0)
    return _StepLaw(start, weights, rest, error)


def _chernoff_quantile(terms: list[tuple[_StepLaw, int]], spread: float, share: float) -> int:
    """Return a sum of Y that is exceeded with probability at most ``share``, by Chernoff's inequality.

    ``P(S > s) <= e^(-theta s) prod E e^(theta Y)`` for every theta > 0; several are tried.
    """
    best = math.inf
    for factor in (0.5, 1, 2, 3, 4, 5, 6, 7, 8, 10):
        theta = factor / spread
        total = -math.log(share)
        for listed, count in terms:
            exponents = theta * listed.outcomes
            largest = float(exponents.max())
            total += count * (largest + math.log(float(listed.weights @ np.exp(exponents - largest))))
        best = min(best, total / theta)
    return math.ceil(best + 1e-9 * abs(best)) + 1


def _reversed(listed: _StepLaw) -> _StepLaw:
    """Return the law of -Y."""
    return replace(listed, start=1 - listed.start - len(listed.weights), weights=listed.weights[::-1])


def _distribution(terms: list[tuple[_StepLaw, int]], length: int) -> tuple[FloatArray, float]:
    """Return P(sum of Y = s) at index s mod ``length``, and a bound of the error of any sum of entries.

    Every output of the transform is a sum of the inputs along paths of log2(length) stages, so it is off by at most
    FFT_STAGE_ERROR log2(length) of their total. A power N multiplies that by N and by the (N-1)-th power. The inverse
    is off by as much again. A sum of entries is off by at most sqrt(length) times their Euclidean norm.
    """
    product, lower_powers = np.ones(length // 2 + 1, complex), np.ones(length // 2 + 1)
    count = sum(times for _, times in terms)
    for listed, times in terms:
        transform = np.fft.rfft(np.bincount(listed.outcomes % length, listed.weights, length))
        product *= transform**times
        lower_powers *= np.abs(transform) ** (times - 1)
    stages = math.log2(length)
    norm = 2 * math.sqrt(2 * float(np.sum(lower_powers**2)))  # over all frequencies, and a factor of two to spare
    error = norm * (count * (FFT_STAGE_ERROR * stages + 16 * ROUNDOFF) + FFT_STAGE_ERROR * stages) + length * ROUNDOFF
    return np.fft.irfft(product, length), error


def _spread_and_step(parts: Sequence[SumTerms]) -> tuple[float, int]:
    """Return the standard deviation of the sum, and the width of the steps in which the laws are listed."""
    spread = math.sqrt(sum(part.count * (part.weight * moments(part.law)[2]) ** 2 for part in parts))
    outcomes = max(high - low + 1 for low, high in (_support(part.law) for part in parts))
    step = max(1, math.ceil(24 * spread / MAX_TRANSFORM_LENGTH))
    return spread, step if outcomes <= MAX_OUTCOMES else max(step, -(-outcomes // MAX_STEPS))


def is_listed_by_outcome(parts: Sequence[SumTerms]) -> bool:
    """Return whether the bound of :func:`sum_quantile` is nearly tight also with weights: no outcome is rounded."""
    return not any(part.count for part in parts) or _spread_and_step(parts)[1] == 1


@lru_cache(maxsize=512)
def sum_quantile(parts: tuple[SumTerms, ...], share: Fraction) -> int:
    """Return the least whole number q with P(sum > q) <= share, or one slightly larger.

    Parameters
    ----------
    parts
        The independent terms of the sum.
    share
        The probability of exceeding.
    """
    used = [part for part in parts if part.count]
    count = sum(part.count for part in used)
    if not count:
        return 0
    if count == 1:
        return used[0].weight * quantile(used[0].law, share)  # at least 0, so the same for the positive part
    spread, step = _spread_and_step(used)
    terms = [
        (replace(_list_steps(part.law, part.positive, step), factor=part.weight), part.count)  # type: ignore[arg-type]
        for part in used
    ]
    spread = max(spread / step, 1e-3)
    above = _chernoff_quantile(terms, spread, RESERVED_PROBABILITY)
    below = -_chernoff_quantile([(_reversed(listed), times) for listed, times in terms], spread, RESERVED_PROBABILITY)
    below = min(below, above - 1)
    chances, error = _distribution(terms, 1 << (above - below + 1).bit_length())
    sums = np.arange(below, above + 1)
    exceeding = np.concatenate([np.cumsum(chances[sums[:0:-1] % len(chances)])[::-1], [0.0]])  # P(sum > s)
    unlisted = 2 * float(UNLISTED_PROBABILITY)
    error += 2 * RESERVED_PROBABILITY + sum(times * (listed.error + unlisted) for listed, times in terms)
    within = 0
    if step > 1:
        squares = sum(times * listed.factor**2 for listed, times in terms)
        slack = (step - 1) * math.sqrt(squares * math.log(1 / RESERVED_PROBABILITY) / 2)
        within = math.ceil(sum(times * listed.factor * listed.rest for listed, times in terms) + slack)
        error += RESERVED_PROBABILITY
    allowed = float_down(share)
    enough = np.flatnonzero(exceeding + error <= allowed)
    if enough.size:
        return step * int(sums[enough[0]]) + within
    return step * _chernoff_quantile(terms, spread, max(allowed - error, allowed / 2)) + within
