"""Bounds of the privacy of several releases together: each is a curve, delta for every epsilon, never too low.

===========  ====================================================================================================
basic         epsilons and deltas add up
optimal       the best that follows from the (epsilon, delta) of each release alone
numerical     from the whole curve of each mechanism, by its dominating pair
zcdp          zero-concentrated privacy: rho adds up
===========  ====================================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

from ..exact.laws import power_bounds
from ..exact.rationals import exp_bounds, float_down, float_up
from .loss_sums import NO_SLACK, LossSum, Slack

#: Maximum number of releases in the closed form; beyond it the same pairs are composed numerically.
MAX_IDENTICAL = 10_000

#: Exponentials in the closed form are integers over this power of two.
_BITS = 256

_SMALLEST = math.nextafter(0.0, 1.0)


class Bound(Protocol):
    """A curve of upper bounds; ``delta_at`` takes an epsilon of at least 0. ``Basic`` is exact, the others round up."""

    @property
    def name(self) -> str: ...

    @property
    def slack(self) -> Slack: ...

    def delta_at(self, epsilon: Fraction) -> Fraction: ...


def some_secret_lost(deltas: Iterable[tuple[Fraction, int]]) -> Fraction:
    """Return the chance of at least one of these independent accidents, 1 - prod (1 - delta)^times, rounded up."""
    no_accident = Fraction(1)
    for delta, times in deltas:
        if delta and delta.denominator.bit_length() * times + no_accident.denominator.bit_length() <= 4096:
            no_accident *= (1 - delta) ** times  # few digits: exactly
        elif delta:
            no_accident = Fraction(math.floor(no_accident * power_bounds(1 - delta, times, 256)[0]), 1 << 256)
    return 1 - no_accident


@dataclass(frozen=True)
class Basic:
    """Epsilons and deltas add up. (Dwork et al. 2006; valid for every notion, also for adaptive choices.)

    Below the sum of the epsilons the curve is that of one release with the sums; the metric notion has none there.
    """

    epsilon: Fraction
    delta: Fraction
    metric: bool = False
    name: str = "basic"
    slack: Slack = NO_SLACK

    def delta_at(self, epsilon: Fraction) -> Fraction:
        if epsilon >= self.epsilon:
            return min(self.delta, Fraction(1))
        if self.metric or self.delta >= 1:
            return Fraction(1)
        missing = float_down(epsilon - self.epsilon)
        share = -math.expm1(missing) / (1 + math.exp(-float_up(self.epsilon))) * (1 + 2.0**-48)
        return min(self.delta + (1 - self.delta) * Fraction(share), Fraction(1))


class Identical:
    """The best bound for k releases that are all epsilon-private, each except with probability delta.

    The worst case is randomized response. The privacy loss of k of them is (k - 2j) epsilon with the probability
    ``C(k, j) e^((k-j) eps) / (1 + e^eps)^k`` that j of k go the other way, and

        delta'(eps') = 1 - (1-delta)^k + (1-delta)^k sum_j C(k, j) (e^((k-j) eps) - e^(eps' + j eps))+ / (1 + e^eps)^k.

    (Kairouz, Oh, Viswanath 2015, Theorem 3.3.) Computed in integers, rounded up: a larger e^eps makes it larger.
    """

    name = "optimal"

    def __init__(self, epsilon: Fraction, times: int, lost: Fraction) -> None:
        self._epsilon, self._times, self._lost = epsilon, times, lost
        self.slack = NO_SLACK

    @cached_property
    def _work(self) -> int:
        """The bits that show even the mass of the largest loss, (e^eps / (1 + e^eps))^k, to many digits."""
        return 320 + math.ceil(self._times * math.log2(1 + math.exp(-float(self._epsilon))))

    @cached_property
    def _masses(self) -> tuple[list[int], list[int]]:
        """Upper bounds of the masses of the positive losses, from the largest on, and their running sums."""
        ratio = exp_bounds(self._epsilon)[1]
        mass = power_bounds(ratio / (1 + ratio), self._times, self._work)[1]
        masses, sums = [mass], [0, mass]
        for j in range(self._times // 2):
            mass = -(-mass * (self._times - j) * ratio.denominator // ((j + 1) * ratio.numerator))
            masses.append(mass)
            sums.append(sums[-1] + mass)
        return masses, sums

    def delta_at(self, epsilon: Fraction) -> Fraction:
        # these losses are larger than epsilon: (k - 2j) eps > eps'
        larger = math.ceil((self._times - epsilon / self._epsilon) / 2)
        if larger <= 0:
            return self._lost
        masses, sums = self._masses
        shrink = math.floor(exp_bounds(-2 * self._epsilon)[0] * (1 << _BITS))
        j = larger - 1
        share = math.floor(exp_bounds(epsilon - (self._times - 2 * j) * self._epsilon)[0] * (1 << _BITS))
        less = 0
        while j >= 0 and share >> 32:  # the omitted terms would only make delta smaller
            less += masses[j] * share
            share = share * shrink >> _BITS
            j -= 1
        share_lost = Fraction((sums[larger] << _BITS) - less, 1 << (_BITS + self._work))
        return min(self._lost + (1 - self._lost) * max(share_lost, Fraction(0)), Fraction(1))


@dataclass(frozen=True)
class Concentrated:
    """Zero-concentrated privacy (zCDP) with parameter rho, except with probability ``lost`` of no privacy at all.

    delta is the least over alpha > 1 of ``exp((alpha-1)(alpha rho - eps)) / alpha * (1 - 1/alpha)^(alpha-1)``.
    (Bun, Steinke 2016; the conversion is that of Canonne, Kamath, Steinke 2020, Corollary 13.)
    """

    rho: Fraction
    lost: Fraction = Fraction(0)
    name: str = "zcdp"
    slack: Slack = NO_SLACK

    def delta_at(self, epsilon: Fraction) -> Fraction:
        return self.lost + (1 - self.lost) * Fraction(concentrated_delta(self.rho, epsilon))


def concentrated_delta(rho: Fraction, epsilon: Fraction) -> float:
    """Return the delta of rho-zCDP at this epsilon, rounded up. Any alpha gives a bound; bisection finds a good one.

    >>> round(concentrated_delta(Fraction(256, 100), Fraction(1714, 100)), 12)
    1.05e-10
    """
    if not rho:
        return 0.0
    r, eps = float_up(rho), min(float_down(epsilon), 1e12)
    low, high = 1 + 2.0**-20, max(2.0, (eps + 1) / r + 2)
    for _ in range(80):
        alpha = (low + high) / 2
        # the derivative of the logarithm grows with alpha
        if (2 * alpha - 1) * r - eps + math.log1p(-1 / alpha) < 0:
            low = alpha
        else:
            high = alpha
    alpha = high
    terms = (alpha - 1) * alpha * r, -(alpha - 1) * eps, (alpha - 1) * math.log1p(-1 / alpha), -math.log(alpha)
    exponent = sum(terms) + 2.0**-48 * (1 + sum(abs(term) for term in terms))
    return 1.0 if exponent >= 0 else max(math.exp(exponent) * (1 + 2.0**-50), _SMALLEST)  # never zero


def pure_rho(epsilon: Fraction) -> Fraction:
    """Return the rho of a pure guarantee: ``epsilon tanh(epsilon/2)``, below the epsilon^2/2 of Bun and Steinke (2016).

    The worst case is randomized response. With u = (alpha - 1/2) eps and v = eps/2 its Renyi divergence is
    ``(log cosh u - log cosh v) / (alpha - 1)``. log cosh is a concave function of its argument's square, so it is at
    most ``tanh(v) / 2v (u^2 - v^2) / (alpha - 1) = alpha eps tanh(eps/2)``.
    """
    ratio = exp_bounds(epsilon)[1]
    return epsilon * (ratio - 1) / (ratio + 1)


@dataclass(frozen=True)
class Numerical:
    """Dominating pairs composed on a grid: see :mod:`.loss_sums`."""

    total: LossSum
    name: str = "numerical"

    @property
    def slack(self) -> Slack:
        return self.total.slack

    def delta_at(self, epsilon: Fraction) -> Fraction:
        return Fraction(self.total.delta_at(epsilon))


@dataclass(frozen=True)
class Best:
    """The least of several bounds, at each epsilon."""

    bounds: Sequence[Bound]
    name: str = "best"

    @property
    def slack(self) -> Slack:
        """That of the numerical bound, if it is among them: the others have next to none."""
        return max((bound.slack for bound in self.bounds), key=lambda slack: (slack.epsilon, slack.relative))

    def delta_at(self, epsilon: Fraction) -> Fraction:
        least = Fraction(1)
        for bound in self.bounds:
            least = min(least, bound.delta_at(epsilon))
            if not least:
                break
        return least
