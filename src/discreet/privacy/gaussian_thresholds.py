"""Groups not known in advance, with discrete Gaussian noise: a group is named if its noisy count is at least T.

A person makes draws: one for each group they are counted in. The draw of a group with nobody else in it is new: without
the person the group is not there, so it cannot be named. All other draws are shared. Let Z be the noise, c the largest
change of a count by one person, and q = P(c + Z < T).

**Theorem.** Let two tables differ in one person, with j new draws and k counts of shared draws. With D_k(eps) the delta
of k discrete Gaussians that are shifted by c, in the direction in which the person is there

    delta(eps) = 1 - q^j (1 - D_k(eps + j log 1/q)),

and ``D_k(eps - j log 1/q)`` in the other. A person who is replaced by another, i of whose draws were new, has
``1 - q^j (1 - D_k(eps + (j - i) log 1/q))``. The release has the largest of these over all j (and i).

*Proof.* The noise of different counts is independent. A new draw names its group with probability 1 - q at most, which
is impossible without the person: an infinite loss. Otherwise nothing is published of it, which is certain without the
person: the loss is log q, or -log q in the other direction. A change below c names the group less often; that is the
same report, forgotten with some probability, so its loss is smaller. What is published of a shared draw follows from
its noisy counts. As the noise is log-concave, the worst events for a shift are half-lines, whose probability under the
shifted law falls with the shift: a change of c is the worst. Independent losses add up. QED

The losses of k shifted Gaussians are those of one sum S of k draws of Z: ``(k c^2 + 2 c S) / (2 sigma2)``. The masses
of S are bounded from above (:mod:`.loss_sums`), so that every delta here is an upper bound. The maximum is taken over
blocks of j and i, each bounded by its worst corner, which are halved until the bound is proved.

Adding up the delta of k Gaussians and that of all names would be a larger bound. Leaving out the exponent j would be
wrong: at 10 groups, epsilon 1 and delta 1e-8 it accepts T = 93, which has a delta of 7.1e-8.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, count
from statistics import NormalDist

import numpy as np

from ..errors import InvalidInput, arg
from ..exact.laws import Gaussian, scaled
from ..exact.rationals import float_up, log_bounds
from .loss_sums import LossSum
from .partition_selection import lost_by_any

#: Largest threshold: hardly any group would be named beyond it.
LARGEST_THRESHOLD = 10_000

#: Bits of the masses of the noise, and of the probability that a group is named.
_BITS = 320

#: Standard deviations of the noise beyond which its mass, less than 2^-90, counts as infinite loss.
_FAR = 12

#: Bits of the step of the grid, so that its points are exact doubles.
_STEP_BITS = 30

#: Points on which the distribution of a sum is kept, and least number of those of one draw on a coarser grid.
_POINTS, _DRAW_POINTS = 4096, 512

#: Part of delta that a search leaves free, so that a judge who adds in another order comes to the same verdict.
_RESERVE = Fraction(1, 2**20)

#: Significant digits of the variance that a search returns.
_DIGITS = 6


@dataclass(frozen=True)
class GaussianThreshold:
    """Discrete Gaussian noise that names groups, and the draws that one person can change.

    Attributes
    ----------
    sigma2
        The parameter of the noise, the same for all counts.
    threshold
        T: a group is named if its noisy count is at least T.
    draws
        For each draw of one person, the number of counts of its group that they can change: the first one names it.
    replaced
        True if one person is replaced by another, whose draws come on top; False if one comes or leaves.
    step
        c, the largest change of a count by one person.

    Examples
    --------
    >>> gaussian = GaussianThreshold(Fraction(262), 100, (1,) * 10)
    >>> gaussian.holds(Fraction(1), Fraction(1, 10**8))
    True
    """

    sigma2: Fraction
    threshold: int
    draws: tuple[int, ...]
    replaced: bool = False
    step: int = 1

    @cached_property
    def naming_probability(self) -> Fraction:
        """1 - q, rounded up: the probability that a group with nobody but one person is named."""
        high = Gaussian(self.sigma2).tail(self.threshold - self.step, _BITS)[1]
        bits = 128 + max(0, _BITS - high.bit_length())
        return Fraction(scaled(Fraction(high, 1 << _BITS), bits)[1], 1 << bits)

    def named_by(self, draws: int) -> Fraction:
        """Return ``1 - q^draws``, rounded up: the probability that any of these new draws names its group."""
        return lost_by_any(self.naming_probability, draws)

    @cached_property
    def _silence(self) -> tuple[Fraction, Fraction]:
        """Bounds of log 1/q, the loss of a group that is not named."""
        low, high = log_bounds(1 / (1 - self.naming_probability), 192)
        exact_low = Gaussian(self.sigma2).tail(self.threshold - self.step, _BITS)[0]
        return min(low, Fraction(exact_low, 1 << _BITS)), high  # log 1/q >= 1 - q

    @cached_property
    def _remaining(self) -> tuple[int, ...]:
        """For each number of draws that are taken away, the largest number of counts of the others."""
        whole = sum(self.draws) * (2 if self.replaced else 1)
        order = sorted((*self.draws, *(self.draws if self.replaced else ())))
        return tuple(whole - taken for taken in accumulate(order, initial=0))

    def delta_of(self, new: int, gone: int, epsilon: Fraction) -> Fraction:
        """Return an upper bound of delta where so many draws are new, and so many are gone in the other table."""
        return self._block(range(new, new + 1), range(gone, gone + 1), epsilon)

    def _block(self, new: range, gone: range, epsilon: Fraction) -> Fraction:
        """Return an upper bound of delta over all these numbers of new draws and of draws that are gone."""
        silent = new[0] - gone[-1]
        shift = silent * self._silence[0 if silent > 0 else 1]
        shared = _shifted_delta(self.sigma2, self.step, self._remaining[new[0] + gone[0]], epsilon + shift)
        named = self.named_by(new[-1])
        return named + (1 - named) * Fraction(shared)

    def delta_up(self, epsilon: Fraction, enough: Fraction = Fraction(-1)) -> Fraction:
        """Return an upper bound of delta, the largest over all numbers of new draws.

        The search ends where the bound is at most ``enough``, before it is as small as it could be.
        """
        every, order = range(len(self.draws) + 1), count()
        blocks = [(every, every)] if self.replaced else [(every, every[:1]), (every[:1], every)]
        heap = [(-self._block(*block, epsilon), next(order), block) for block in blocks]
        heapq.heapify(heap)
        while True:
            bound, _, block = heap[0]
            if -bound <= enough or max(map(len, block)) == 1:
                return -bound
            heapq.heappop(heap)
            for half in _halves(block):
                heapq.heappush(heap, (-self._block(*half, epsilon), next(order), half))

    def holds(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Return whether (epsilon, delta) is proved."""
        return self.threshold > self.step and self.delta_up(epsilon, delta) <= delta


def _halves(block: tuple[range, range]) -> Iterator[tuple[range, range]]:
    """Yield the two halves of a block, along its longer side."""
    new, gone = block
    if len(new) >= len(gone):
        middle = (len(new) + 1) // 2
        yield new[:middle], gone
        yield new[middle:], gone
    else:
        middle = (len(gone) + 1) // 2
        yield new, gone[:middle]
        yield new, gone[middle:]


# ------------------------------------------------------------------------------------------------ the shared part


def _shifted_delta(sigma2: Fraction, step: int, number: int, epsilon: Fraction) -> float:
    """Return an upper bound of the delta of so many discrete Gaussians that are shifted by ``step``."""
    if not number:
        return 0.0 if epsilon >= 0 else 1.0
    rest = epsilon - Fraction(number * step * step) / (2 * sigma2)
    rest -= max(-rest, 0) / 2 ** (_STEP_BITS - 2)  # only losses of positive sums are rounded up
    return _sum_of_draws(sigma2, step, number).delta_at(rest)


@lru_cache(maxsize=256)
def _sum_of_draws(sigma2: Fraction, step: int, number: int) -> LossSum:
    """Return the distribution of ``step / sigma2`` times the sum of so many draws, rounded up."""
    one = _one_draw(sigma2, step)
    wanted = 2 * _FAR * step * math.sqrt(number / float(sigma2)) / _POINTS
    grid = one.step * 2.0 ** max(0, math.floor(math.log2(wanted / one.step)))
    coarsest = one.step * 2.0 ** max(0, math.floor(math.log2(one.masses.size / _DRAW_POINTS)))
    return one.on(min(grid, coarsest)).times(number, grid)


@lru_cache(maxsize=16)
def _one_draw(sigma2: Fraction, step: int) -> LossSum:
    """Return the distribution of ``step / sigma2`` times one draw, on a grid that is not finer than need be."""
    law = Gaussian(sigma2)
    reach = math.isqrt(int(_FAR**2 * sigma2)) + 2
    side = [float_up(Fraction(law.mass(z, _BITS)[1], 1 << _BITS)) for z in range(reach + 1)]
    far = float_up(Fraction(law.tail(reach + 1, _BITS)[1], 1 << _BITS))
    masses = np.array([*side[:0:-1], *side])
    masses[0] += 2 * far  # moved up; more than rounding could take away
    mantissa, exponent = math.frexp(float_up(step / sigma2))
    width = math.ldexp(math.ceil(math.ldexp(mantissa, _STEP_BITS)), exponent - _STEP_BITS)
    one = LossSum(width, -reach, masses, 2 * far)
    return one.on(width * 2.0 ** max(0, math.ceil(math.log2(masses.size / _POINTS))))


# ------------------------------------------------------------------------------------------------ the least threshold


@lru_cache(maxsize=64)
def least_threshold(
    epsilon: Fraction, delta: Fraction, draws: tuple[int, ...], replaced: bool = False, step: int = 1
) -> GaussianThreshold:
    """Return the noise with the least threshold that this epsilon and delta allow, with the least variance for it.

    Less noise has a lower threshold; so the variance is the least with which the shared draws alone have delta.

    >>> least_threshold(Fraction(1), Fraction(1, 10**8), (1,) * 10).threshold
    99
    """
    aim = delta * (1 - _RESERVE)
    least = _least_sigma2(epsilon, aim, sum(draws) * (2 if replaced else 1), step)
    lowest = _threshold(least, len(draws), aim, step)
    best: GaussianThreshold | None = None
    for factor in ("1", "1.002", "1.01", "1.03", "1.1", "1.3"):
        sigma2 = _round_up(least * Fraction(factor))
        threshold = _threshold(sigma2, len(draws), aim, step)
        while threshold <= LARGEST_THRESHOLD and (best is None or threshold < best.threshold):
            noise = GaussianThreshold(sigma2, threshold, draws, replaced, step)
            if noise.holds(epsilon, aim):
                best = noise
            threshold += 1
        if best is not None and best.threshold == lowest:
            break
    if best is None:
        raise _too_little(LARGEST_THRESHOLD)
    return best


def _too_little(threshold: int) -> InvalidInput:
    return InvalidInput(
        f"a group would need a noisy count above {threshold:,} to be named, with so little epsilon for each count.",
        f"Raise {arg('epsilon')} or {arg('delta')}, or lower {arg('max_groups')}.",
        argument="epsilon",
    )


def _threshold(sigma2: Fraction, draws: int, delta: Fraction, step: int) -> int:
    """Return the least T for which all draws of one person, were they new, name a group with at most this delta."""

    def holds(threshold: int) -> bool:
        return GaussianThreshold(sigma2, threshold, (1,) * draws, step=step).named_by(draws) <= delta

    low, high = step, step + 1
    while not holds(high):
        low, high = high, step + 2 * (high - step)
        if low > LARGEST_THRESHOLD:
            raise _too_little(LARGEST_THRESHOLD)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _least_sigma2(epsilon: Fraction, delta: Fraction, number: int, step: int) -> Fraction:
    """Return about the least sigma2 with which so many shifted Gaussians are proved to have this delta.

    The search starts at the answer for continuous noise, which is close; what it returns is proved.
    """
    start = _round_up(Fraction(_continuous_sigma2(float(epsilon), float(delta), number, step)) * (1 + _RESERVE))
    start = max(start, Fraction(1, 10))
    if start > LARGEST_THRESHOLD**2:
        raise _too_little(LARGEST_THRESHOLD)

    def holds(sigma2: Fraction) -> bool:
        return _shifted_delta(sigma2, step, number, epsilon) <= delta

    if holds(start):
        return start
    low, growth = start, Fraction(1, 10**5)
    while not holds(high := _round_up(start * (1 + growth))):
        low, growth = high, 4 * growth
        if high > LARGEST_THRESHOLD**2:
            raise _too_little(LARGEST_THRESHOLD)
    for _ in range(6):
        middle = _round_up((low + high) / 2)
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _continuous_sigma2(epsilon: float, delta: float, number: int, step: int) -> float:
    """Return the variance at which the sum of so many continuous Gaussians has this delta (Balle, Wang 2018)."""
    normal = NormalDist()

    def lost(shift: float) -> float:
        far = epsilon / shift
        return normal.cdf(shift / 2 - far) - math.exp(min(epsilon, 700.0)) * normal.cdf(-shift / 2 - far)

    low, high = 1e-6, 100.0
    for _ in range(80):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if lost(middle) > delta else (middle, high)
    return number * step * step / low**2


def _round_up(value: Fraction) -> Fraction:
    """Return the value with few significant digits, rounded up."""
    digits = _DIGITS - 1 - math.floor(math.log10(value))
    scale = Fraction(10) ** digits
    return Fraction(math.ceil(value * scale)) / scale
