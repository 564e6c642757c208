"""Bounded, unbiased, integer noise: the closed forms of [S], corrected.

[S] is Sadeghi, Asoodeh, Calmon, *Differentially Private Mechanisms for Count Queries*. Its noise Z for a count n has

- **P1** bounded reach: Z lies in [-min(n, D), D], so that no report is negative;
- **P2** a fixed probability of the truth: P(Z = 0) = eta, here ``stay``;
- **P3** zero bias: E[Z] = 0.

For n >= D one law serves every count. It is symmetric, eta at 0 and ``s alpha_i`` at +-i, with s = (1 - eta)/2 the mass
of one side (the paper's (14) and (15) print eta/2), E = e^epsilon, B = 1/s and C = eta/s.

Everything here is exact in a rational E that is at most e^epsilon and within 2^-96 of it (:func:`growth`). What is
proved of a law is decided by the judge at e^epsilon itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ..errors import InvalidInput, InWords
from ..exact.integers import positive_integer
from ..exact.laws import Finite
from ..exact.rationals import Number, as_fraction, exp_bounds, read_epsilon, simplest_between

#: Noise that reaches further is better served by the geometric mechanism, whose delta is zero.
LARGEST_REACH = 100


#: Largest relative gap between e^epsilon and the rational E below it. Deltas of 1e-9 need ten digits, so it is small.
_SLACK = Fraction(1, 2**96)


def growth(epsilon: Fraction) -> Fraction:
    """Return the rational with the smallest denominator just below e^epsilon: the steepest that noise may fall."""
    low, _ = exp_bounds(epsilon, 160)
    return simplest_between(max(low * (1 - _SLACK), Fraction(1)), low)


def growth_gap(epsilon: Fraction) -> Fraction:
    """Return a bound on how far :func:`growth` is below e^epsilon, and so on how much too large a delta at it is."""
    return exp_bounds(epsilon, 160)[1] - growth(epsilon)


#: Probabilities of the truth are at least this far from 0 and 1, so that linear programs in doubles can tell.
SMALLEST_STAY = Fraction(1, 10**12)


def read_stay(stay: object) -> Fraction:
    """Return the probability of reporting the truth, strictly between 0 and 1."""
    value = as_fraction(stay, "stay")
    if not 0 < value < 1:
        raise InvalidInput.must_be("stay", "strictly between 0 and 1", stay, meaning="the probability of the truth")
    if not SMALLEST_STAY <= value <= 1 - SMALLEST_STAY:
        raise InvalidInput.must_be(
            "stay", "between 1e-12 and 1 - 1e-12", InWords("another number"), meaning="the probability of the truth"
        )
    return value


def read_reach(reach: object) -> int:
    """Return the largest error D of a report."""
    value = positive_integer(reach, "reach", least=1)
    if value > LARGEST_REACH:
        raise InvalidInput.must_be(
            "reach",
            f"at most {LARGEST_REACH}",
            value,
            "For noise that reaches further, take dc.geometric: it needs no delta at all.",
            meaning="the largest error of a report",
        )
    return value


def law_of(probabilities: Mapping[int, Fraction]) -> Finite:
    """Return an exact law from the probability of each outcome."""
    low, high = min(probabilities), max(probabilities)
    scale = math.lcm(*(p.denominator for p in probabilities.values()))
    weights = [probabilities.get(z, Fraction(0)) * scale for z in range(low, high + 1)]
    law = Finite(low, [int(w) for w in weights])
    assert law.total == scale, "probabilities add up to one"
    return law


def symmetric_law(stay: Fraction, side: list[Fraction]) -> Finite:
    """Return the law with ``stay`` at zero and ``side[i - 1]`` at +i and at -i."""
    probabilities = {0: stay}
    for i, p in enumerate(side, 1):
        probabilities[i] = probabilities[-i] = p
    return law_of(probabilities)


def moment(law: Finite, power: int) -> Fraction:
    """Return E[Z^power], exactly."""
    return sum((z**power * law.probability(z) for z in range(law.low, law.high + 1)), Fraction(0))


def zeros_bound(stay: Fraction, reach: int) -> Fraction:
    """Return a lower bound of delta, at every epsilon, if zeros are published without noise: (1 + D eta)/(D + 1).

    A count of 1 with unbiased noise in [-1, D] becomes 0 with probability at most D (1 - eta)/(D + 1): every unit of
    mass at -1 must be balanced by at least 1/D above. In all other cases the published value is one that a count of 0
    without noise never has.
    """
    return (1 + reach * stay) / (reach + 1)


# ------------------------------------------------------------------------------------------------ Section III


@dataclass(frozen=True)
class PaperFormulas:
    """The results of [S] section III about counts n >= D, as printed and corrected.

    Attributes
    ----------
    epsilon, stay, reach
        The parameters epsilon, eta and D.

    Examples
    --------
    >>> s = paper_formulas("2.18", "0.8", 6)
    >>> round(float(s.crossovers[2]), 9), round(float(s.crossovers[1]), 9), s.k
    (7.886730819, 8.122898117, 3)
    >>> round(float(s.delta_star), 14), [round(float(p), 12) for p in s.side[:2]]
    (0.00494782163812, [0.089873915181, 0.009600175605])
    """

    epsilon: Fraction
    stay: Fraction
    reach: int

    @cached_property
    def factor(self) -> Fraction:
        """E, just below e^epsilon."""
        return growth(self.epsilon)

    @property
    def mass(self) -> Fraction:
        """The mass s = (1 - eta)/2 of one side."""
        return (1 - self.stay) / 2

    @property
    def odds(self) -> Fraction:
        """C = 2 eta/(1 - eta)."""
        return self.stay / self.mass

    @cached_property
    def _powers(self) -> list[Fraction]:
        return [self.factor**j for j in range(self.reach + 2)]

    @cached_property
    def _sums(self) -> list[Fraction]:
        """G_k = sum of E^j for j < k, for k = 0..D+1."""
        sums = [Fraction(0)]
        for power in self._powers[: self.reach + 1]:
            sums.append(sums[-1] + power)
        return sums

    @cached_property
    def deltas(self) -> tuple[Fraction, ...]:
        """The lower bounds delta_1..delta_(D+1) of the single-event delta: (23) and (32)."""
        power, total, side = self._powers, self._sums, self.mass
        bounds = []
        for k in range(1, self.reach + 1):
            weighted = sum((power[j] * (j + 1) for j in range(k)), Fraction(0))
            bounds.append(side * (self.odds * total[k] - power[k]) / weighted)
        bounds.append(side / sum(total[k] for k in range(1, self.reach + 1)))
        return tuple(bounds)

    @cached_property
    def crossovers(self) -> tuple[Fraction, ...]:
        """C_1..C_D of (34): delta_k >= delta_(k+1) exactly when C >= C_k. (Lemma 3 prints C_D one term short.)"""
        inner = Fraction(0)
        ratios = []
        for k in range(1, self.reach + 1):
            inner += self._sums[k]  # sum_j E^j (k - j), one k further
            ratios.append(self._sums[k + 1] / inner)
        return tuple(ratios)

    @cached_property
    def k(self) -> int:
        """The index of the largest delta_k: C_k < C <= C_(k-1) (Theorem 2)."""
        return next((k for k, crossover in enumerate(self.crossovers, 1) if crossover < self.odds), self.reach + 1)

    @property
    def printed_delta_star(self) -> Fraction:
        """delta* as Theorem 3 prints it. It is too small where stay is small: see :attr:`delta_star`."""
        return self.deltas[self.k - 1]

    @cached_property
    def _third_kind(self) -> tuple[Fraction, ...]:
        """The lower bounds missing from Theorem 3, for m = 1..D.

        The paper leaves out p(1) <= E eta + delta. With it the noise may grow from eta only so fast, alpha_i <= u_i =
        C E^i + B delta G_i, as it may fall only so fast, alpha_i <= d_i = B delta G_(D-i+1). As sum_i min(u_i, d_i)
        must be at least 1, so must sum_(i<=m) u_i + sum_(i>m) d_i for each m; m = 0 is delta_(D+1).
        """
        D, total = self.reach, self._sums
        bounds, rise, slope = [], Fraction(0), sum((total[k] for k in range(1, D + 1)), Fraction(0))
        for m in range(1, D + 1):
            rise += self._powers[m]
            slope += total[m] - total[D - m + 1]
            bounds.append(self.mass * (1 - self.odds * rise) / slope)
        return tuple(bounds)

    @cached_property
    def delta_star(self) -> Fraction:
        """The least single-event delta, corrected: the largest of all three kinds of lower bounds."""
        return max(self.printed_delta_star, *self._third_kind)

    @property
    def theorem3_holds(self) -> bool:
        return self.delta_star == self.printed_delta_star

    @property
    def bound(self) -> Fraction:
        """(2D + 1) delta*, what the paper states as the delta of differential privacy (Remark 2)."""
        return (2 * self.reach + 1) * self.printed_delta_star

    @cached_property
    def alphas(self) -> tuple[Fraction, ...]:
        """alpha*_1..alpha*_D of Definition 2: (37)-(39)."""
        D, total = self.reach, self._sums
        step = self.printed_delta_star / self.mass
        if self.k > D:
            return tuple(step * total[D - j + 1] for j in range(1, D + 1))
        alphas, last = [], self.odds
        for _ in range(self.k):
            last = (last - step) / self.factor
            alphas.append(last)
        return (*alphas, *[Fraction(0)] * (D - self.k))

    @cached_property
    def corrected_alphas(self) -> tuple[Fraction, ...]:
        """The alphas that reach the corrected delta*: those of Definition 2 wherever Theorem 3 holds."""
        if self.theorem3_holds:
            return self.alphas
        D, total, step = self.reach, self._sums, self.delta_star / self.mass
        return tuple(
            min(self.odds * self._powers[i] + step * total[i], step * total[D - i + 1]) for i in range(1, D + 1)
        )

    @property
    def side(self) -> tuple[Fraction, ...]:
        """p(1)..p(D)."""
        return tuple(self.mass * alpha for alpha in self.alphas)

    @property
    def law(self) -> Finite:
        return symmetric_law(self.stay, list(self.side))

    @property
    def variance(self) -> Fraction:
        return moment(self.law, 2)


def paper_formulas(epsilon: Number, stay: Number, reach: Number) -> PaperFormulas:
    """Return the closed forms of [S] section III at these parameters.

    Examples
    --------
    >>> round(float(paper_formulas("2.18", "0.8", 6).deltas[2]), 12)
    0.004947821638
    """
    return PaperFormulas(read_epsilon(epsilon), read_stay(stay), read_reach(reach))


# ------------------------------------------------------------------------------------------------ the least true delta


def truncated_geometric_law(epsilon: Fraction, stay: Fraction, reach: int) -> Finite:
    """Return an atom at zero and a geometric law cut off at D on either side: p(i) ~ E^-i."""
    E = growth(epsilon)
    share = (1 - stay) / 2 * (E - 1) / (E**reach - 1)
    return symmetric_law(stay, [share * E ** (reach - i) for i in range(1, reach + 1)])


def closed_form_holds(epsilon: Fraction, stay: Fraction, reach: int) -> bool:
    """Return whether the truncated geometric law has the least true delta for counts n >= D: while p(1) <= E eta."""
    E = growth(epsilon)
    return truncated_geometric_law(epsilon, stay, reach).probability(1) <= E * stay


def least_delta(epsilon: Fraction, stay: Fraction, reach: int) -> Fraction:
    """Return the least true delta for counts n >= D, where :func:`closed_form_holds`.

    It is s max(C - (E - 1), (E - 1)/(E^D - 1)).

    The first term bounds delta from below as no (p(z) - E p(z-1))+ is less than without its plus sign, and they add
    up to eta + s - E s over the half line; the second as p(D) <= delta and p(i) <= E p(i+1) + (a share of delta).
    """
    E = growth(epsilon)
    side = (1 - stay) / 2
    return side * max(stay / side - (E - 1), (E - 1) / (E**reach - 1))


def knee(epsilon: Fraction, reach: int) -> Fraction:
    """Return the stay probability with the least delta: up to it both improve together, beyond it delta rises steeply.

    Where the two terms of :func:`least_delta` meet, C = (E - 1) E^D/(E^D - 1).
    """
    E = growth(epsilon)
    ratio = (E - 1) * E**reach / (E**reach - 1)
    return ratio / (2 + ratio)


def largest_stay(epsilon: Fraction, delta: Fraction, reach: int) -> Fraction | None:
    """Return the largest stay probability whose true delta is at most this, for counts n >= D; None if none reaches it.

    Beyond the knee delta = eta - (E - 1)(1 - eta)/2, so eta = (2 delta + E - 1)/(E + 1); before it delta falls.
    """
    E = growth(epsilon)
    best = (2 * delta + E - 1) / (E + 1)
    return best if best >= knee(epsilon, reach) else None
