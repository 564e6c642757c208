"""How large a sum of many independent noises gets: quantiles that hold, and are nearly as small as can be.

The distribution of the sum is the true convolution, as the inverse Fourier transform of the product of characteristic
functions. Whatever doubles may have got wrong is bounded and counted as probability of exceeding: outcomes that are
not listed, sums that wrap around the transform (Chernoff's inequality), rounding. Noise too wide to be listed outcome
by outcome is listed in steps of several units; the sum of what lies within the steps is bounded by Hoeffding's
inequality.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ...exact.arrays import FloatArray
from ...exact.laws import Finite, Law
from ...exact.rationals import float_down
from .accuracy import FREE_ABOVE, Sides, mirrored, quantile

#: The transform has about this many places at most.
PLACES = 1 << 20

#: A law is listed outcome by outcome up to this many; a wider one in so many steps.
MOST_OUTCOMES, MOST_STEPS = 1 << 22, 1 << 14

#: The probability of what is not listed, on either side of a law.
UNLISTED = Fraction(1, 2**64)

#: What may be added to the probability of exceeding, for sums beyond the transform and for what lies within steps.
SPARE = 1e-11

#: Unit roundoff, and the error of one stage of a fast Fourier transform (Higham 2002, section 24.1), generously.
ROUNDOFF, STAGE = 2.0**-53, 10 * 2.0**-53


@dataclass(frozen=True)
class Part:
    """Some independent terms of a sum, all alike: ``count`` times Z, or max(Z, 0) if ``positive``."""

    law: Law
    count: int
    positive: bool = False


@dataclass(frozen=True, eq=False)
class _Listed:
    """The law of one term as ``step Y + U`` with 0 <= U < step: the weights of Y, and the mean of U."""

    start: int
    weights: FloatArray
    rest: float
    error: float  # in total variation, beside what is not listed


def moments(law: Law) -> tuple[float, float, float]:
    """The mean of the noise, of its positive part, and its standard deviation."""
    forever = np.array([FREE_ABOVE])
    upper, lower = Sides(law), Sides(mirrored(law))
    positive = float(upper.mean(forever)[0])
    mean = positive - float(lower.mean(forever)[0])
    square = float((upper.square(forever) + lower.square(forever))[0])
    return mean, positive, math.sqrt(max(0.0, square - mean * mean))


def _support(law: Law) -> tuple[int, int]:
    """Outside these lies next to nothing."""
    if isinstance(law, Finite):
        return law.support
    return -quantile(mirrored(law), UNLISTED), quantile(law, UNLISTED)


@lru_cache(maxsize=16)
def _list(law: Law, positive: bool, step: int) -> _Listed:
    low, high = _support(law)
    start = low // step
    size = high // step - start + 1
    error = 2.0**-44
    if size * step <= MOST_OUTCOMES:
        weights = law.floats(start * step, (start + size) * step - 1).reshape(size, step).sum(axis=1)
    else:
        tails = np.array([law.float_tail(k * step) for k in range(start, start + size + 1)])
        weights, error = np.maximum(tails[:-1] - tails[1:], 0.0), 8 * size * ROUNDOFF
    if positive and start < 0:
        kept = weights[-start:].copy() if size > -start else np.zeros(1)
        kept[0] += weights[:-start].sum()
        start, weights = 0, kept
    mean, mean_positive, sd = moments(law)
    within = (mean_positive if positive else mean) - step * float(weights @ (start + np.arange(len(weights))))
    rest = 0.0 if step == 1 else min(max(within + 1e-9 * (sd + step), 0.0), step - 1.0)
    return _Listed(start, weights, rest, error)


def _beyond(terms: list[tuple[_Listed, int]], spread: float, share: float) -> int:
    """A sum of Y that is exceeded with probability at most ``share``, by Chernoff's inequality.

    ``P(S > s) <= e^(-theta s) prod E e^(theta Y)`` for every theta > 0; a few of them are tried.
    """
    best = math.inf
    for factor in (0.5, 1, 2, 3, 4, 5, 6, 7, 8, 10):
        theta = factor / spread
        total = -math.log(share)
        for listed, count in terms:
            exponents = theta * (listed.start + np.arange(len(listed.weights)))
            largest = float(exponents.max())
            total += count * (largest + math.log(float(listed.weights @ np.exp(exponents - largest))))
        best = min(best, total / theta)
    return math.ceil(best + 1e-9 * abs(best)) + 1


def _reversed(listed: _Listed) -> _Listed:
    return _Listed(1 - listed.start - len(listed.weights), listed.weights[::-1], listed.rest, listed.error)


def _distribution(terms: list[tuple[_Listed, int]], places: int) -> tuple[FloatArray, float]:
    """P(sum of Y = s) at place s mod ``places``, and a bound of the error of any sum of these.

    Every output of the transform is a sum of the inputs along paths of log2(places) stages, so that it is off by at
    most STAGE log2(places) of their total; a power N multiplies that by N and by the (N-1)-th power; the inverse is
    off by as much again. A sum of entries is off by at most sqrt(places) times their Euclidean norm.
    """
    product, less = np.ones(places // 2 + 1, complex), np.ones(places // 2 + 1)
    count = sum(times for _, times in terms)
    for listed, times in terms:
        at = (listed.start + np.arange(len(listed.weights))) % places
        transform = np.fft.rfft(np.bincount(at, listed.weights, places))
        product *= transform**times
        less *= np.abs(transform) ** (times - 1)
    stages = math.log2(places)
    norm = 2 * math.sqrt(2 * float(np.sum(less**2)))  # all frequencies, and twice for good measure
    error = norm * (count * (STAGE * stages + 16 * ROUNDOFF) + STAGE * stages) + places * ROUNDOFF
    return np.fft.irfft(product, places), error


@lru_cache(maxsize=512)
def sum_quantile(parts: tuple[Part, ...], share: Fraction) -> int:
    """A whole number q with P(sum > q) <= share: the least, or nearly.

    Parameters
    ----------
    parts
        The independent terms of the sum.
    share
        How often it may be exceeded.
    """
    used = [part for part in parts if part.count]
    count = sum(part.count for part in used)
    if not count:
        return 0
    if count == 1:
        return quantile(used[0].law, share)  # at least 0, positive part or not
    spread = math.sqrt(sum(part.count * moments(part.law)[2] ** 2 for part in used))
    outcomes = max(high - low + 1 for low, high in (_support(part.law) for part in used))
    step = max(1, math.ceil(24 * spread / PLACES))
    if outcomes > MOST_OUTCOMES:
        step = max(step, -(-outcomes // MOST_STEPS))
    terms = [(_list(part.law, part.positive, step), part.count) for part in used]  # type: ignore[arg-type]
    spread = max(spread / step, 1e-3)
    above = _beyond(terms, spread, SPARE)
    below = -_beyond([(_reversed(listed), times) for listed, times in terms], spread, SPARE)
    below = min(below, above - 1)
    chances, error = _distribution(terms, 1 << (above - below + 1).bit_length())
    sums = np.arange(below, above + 1)
    exceeding = np.concatenate([np.cumsum(chances[sums[:0:-1] % len(chances)])[::-1], [0.0]])  # P(sum > s)
    error += 2 * SPARE + sum(times * (listed.error + 2 * float(UNLISTED)) for listed, times in terms)
    within = 0
    if step > 1:
        slack = (step - 1) * math.sqrt(count * math.log(1 / SPARE) / 2)
        within = math.ceil(sum(times * listed.rest for listed, times in terms) + slack)
        error += SPARE
    allowed = float_down(share)
    enough = np.flatnonzero(exceeding + error <= allowed)
    if enough.size:
        return step * int(sums[enough[0]]) + within
    spared = max(allowed - error, allowed / 2)
    return step * _beyond(terms, spread, spared) + within
