"""Half-widths of a weighted sum of independent noises: upper bounds that are nearly tight.

For ``W = sum of w Z`` with symmetric noises Z, let U be a small normal variable. Since ``|W| > q`` and ``|U| <= u``
give ``|W + U| > q - u``,

    P(|W| > q) <= P(|W + U| > q - u) + P(|U| > u).

The law of ``W + U`` is smooth, and its probabilities are a Fourier series of the product of characteristic functions.
Sums beyond the period are bounded by Chernoff's inequality; rounding and truncation are added to the probability of
exceeding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ...errors import Unsupported
from ...exact.arrays import FloatArray
from ...exact.laws import Gaussian, GeometricTails, Law
from ...exact.rationals import float_down
from .accuracy import quantile

#: Standard deviation of W over that of the normal variable U, and a smaller ratio for quick results.
SMOOTHNESS, QUICK_SMOOTHNESS = 400.0, 100.0

#: The bound u, in standard deviations of U.
NORMAL_REACH = 7.0

#: Probability set aside for wrapping around, truncation and rounding.
RESERVED_PROBABILITY = 1e-10

#: Number of bisection steps for the half-width.
_BISECTIONS = 26

#: Largest number of terms times frequencies of the Fourier series; beyond, Chernoff's inequality alone gives the bound.
MAX_FOURIER_VALUES = 30_000_000


@dataclass(frozen=True)
class WeightedTerms:
    """Independent terms of a sum with the same law and weight: ``count`` times ``weight * Z``."""

    law: Law
    weight: float
    count: int


def law_variance(law: Law) -> Fraction:
    """Return the exact variance of symmetric noise; for the discrete Gaussian sigma2, an upper bound.

    >>> law_variance(GeometricTails(Fraction(1, 3), Fraction(1, 2)))
    Fraction(4, 1)
    """
    if isinstance(law, GeometricTails):
        return (1 - law.atom) * (1 + law.ratio) / (1 - law.ratio) ** 2
    if isinstance(law, Gaussian):
        return law.sigma2
    raise Unsupported(
        f"sums of {law.name} noise with weights are not worked out.", "Use geometric or discrete-gaussian."
    )


def characteristic(law: Law, s: FloatArray) -> FloatArray:
    """Return the characteristic function E cos(s Z)."""
    if isinstance(law, GeometricTails):
        return geometric_characteristic(float(law.atom), float(law.ratio), s)
    return gaussian_characteristic(float(law_variance(law)), s)


def geometric_characteristic(atom: float | FloatArray, ratio: float | FloatArray, s: FloatArray) -> FloatArray:
    """Return E cos(s Z) of geometric tails; parameters may be arrays."""
    cosine = np.cos(s)
    return np.asarray(atom + (1 - atom) * (1 - ratio) * (cosine - ratio) / (1 - 2 * ratio * cosine + ratio * ratio))


def gaussian_characteristic(sigma2: float | FloatArray, s: FloatArray) -> FloatArray:
    """Return E cos(s Z) of a discrete Gaussian; parameters may be an array."""
    folded = s - 2 * math.pi * np.round(s / (2 * math.pi))
    periods = math.ceil(9 / (2 * math.pi * math.sqrt(np.min(sigma2)))) + 1
    shifts = [2 * math.pi * k for k in range(-periods, periods + 1)]
    total = sum(np.exp(-((folded + shift) ** 2) * sigma2 / 2) for shift in shifts)
    return np.asarray(total / sum(np.exp(-(shift**2) * sigma2 / 2) for shift in shifts))


def log_moment(law: Law, s: FloatArray) -> FloatArray:
    """Return log E exp(s Z) or an upper bound; infinity where it does not exist."""
    if isinstance(law, GeometricTails):
        return geometric_log_moment(float(law.atom), float(law.ratio), s)
    return np.asarray(s * s * float(law_variance(law)) / 2)  # of a discrete Gaussian: Canonne, Kamath, Steinke 2020


def geometric_log_moment(atom: float | FloatArray, ratio: float | FloatArray, s: FloatArray) -> FloatArray:
    """Return log E exp(s Z) of geometric tails, infinity where it does not exist; parameters may be arrays."""
    up, down = np.exp(s), np.exp(-s)
    with np.errstate(divide="ignore", invalid="ignore"):
        sides = (1 - ratio) / 2 * (up / (1 - ratio * up) + down / (1 - ratio * down))
        return np.where(ratio * np.maximum(up, down) < 1, np.log(atom + (1 - atom) * sides), np.inf)


def _thetas(laws: list[tuple[Law, float]], spread: float) -> FloatArray:
    """Return the values to try in Chernoff's inequality, up to the end of the moments."""
    ends = [-math.log(float(law.ratio)) / weight for law, weight in laws if isinstance(law, GeometricTails) and weight]
    last = min([60 / spread, *ends]) * (1 - 1e-9)
    return np.asarray(last * np.concatenate([np.geomspace(1e-4, 1, 300)[:-1], 1 - np.geomspace(1e-6, 0.3, 60)]))


def chernoff(terms: tuple[WeightedTerms, ...], share: float) -> float:
    """Return a q with P(|W| > q) <= share, by Chernoff's inequality on both sides."""
    spread = _spread(terms)
    theta = _thetas([(term.law, term.weight) for term in terms], spread)
    total = sum(term.count * log_moment(term.law, theta * term.weight) for term in terms)
    return float(np.min((math.log(2 / share) + total) / theta)) * (1 + 1e-9)


def chernoff_of_variance(laws: tuple[Law, ...], variance: float, share: float) -> float:
    """Return a q with P(|W| > q) <= share for every weighted sum of these laws with this variance.

    ``log E exp(s Z) / s^2`` grows with s, and no weight exceeds ``sqrt(variance / Var Z)``. A larger variance gives a
    larger q.
    """
    if not variance:
        return 0.0
    largest = [(law, math.sqrt(variance / float(law_variance(law)))) for law in laws]  # and their largest weights
    theta = _thetas(largest, math.sqrt(variance))
    rates = [log_moment(law, theta * most) / (float(law_variance(law)) * most**2) for law, most in largest]
    total = variance * np.max(np.stack(rates), axis=0)
    return float(np.min((math.log(2 / share) + total) / theta)) * (1 + 1e-9)


def _spread(terms: tuple[WeightedTerms, ...]) -> float:
    """Return the standard deviation of W."""
    return math.sqrt(sum(term.count * term.weight**2 * float(law_variance(term.law)) for term in terms))


@dataclass(frozen=True)
class SmoothedSeries:
    """The Fourier series of the probabilities of ``W + U``.

    Attributes
    ----------
    spread
        The standard deviation of W.
    reach
        A bound that ``|W|`` exceeds with a tenth of ``RESERVED_PROBABILITY`` at most.
    smoothness
        The standard deviation of W over that of U.
    """

    spread: float
    reach: float
    smoothness: float = SMOOTHNESS

    @property
    def width(self) -> float:
        """The standard deviation of U."""
        return max(self.spread / self.smoothness, self.reach / (20 * self.smoothness))

    @property
    def period(self) -> float:
        """The period of the series."""
        return 2 * (self.reach + 10 * self.width)

    @property
    def frequencies(self) -> FloatArray:
        """The frequencies of the terms; beyond the last one the characteristic function of U is negligible."""
        spacing = 2 * math.pi / self.period
        return np.asarray(spacing * np.arange(1.0, math.ceil(7.5 / self.width / spacing) + 1), np.float64)

    def smoothing(self, frequencies: FloatArray) -> FloatArray:
        """Return the characteristic function of U."""
        return np.asarray(np.exp(-((frequencies * self.width) ** 2) / 2))

    def half_width(self, product: FloatArray, allowed: float) -> float:
        """Return a q with P(|W| > q) <= allowed, from the characteristic function of ``W + U``.

        It is given at the first frequencies; those that are left out must be negligible.
        """
        frequencies, period = self.frequencies[: product.size], self.period
        series = product * (4 / (period * frequencies))

        def exceeds(y: float) -> float:
            return 1 - 2 * y / period - float(series @ np.sin(frequencies * y)) + RESERVED_PROBABILITY

        low, high = 0.0, self.reach
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if exceeds(middle) <= allowed else (middle, high)
        return high + NORMAL_REACH * self.width


@lru_cache(maxsize=512)
def half_width(terms: tuple[WeightedTerms, ...], share: Fraction, smoothness: float = SMOOTHNESS) -> float:
    """Return the least q with P(|W| > q) <= share, or one slightly larger, rounded up to four digits.

    Parameters
    ----------
    terms
        The independent terms of W, with positive weights.
    share
        The probability of exceeding, on both sides together.
    smoothness
        A larger value narrows the half-width by a few per cent, and is slower.

    Examples
    --------
    >>> law = GeometricTails(Fraction(1, 3), Fraction(1, 2))
    >>> [half_width((WeightedTerms(law, *pair),), Fraction(1, 20)) for pair in ((1.0, 1), (0.5, 4))]
    [4.0, 4.037]
    """
    used = tuple(term for term in terms if term.count and term.weight)
    if not used:
        return 0.0
    if len(used) == 1 and used[0].count == 1:
        return rounded_up(used[0].weight * quantile(used[0].law, share / 2))
    allowed = float_down(share)
    best, spread = chernoff(used, allowed), _spread(used)
    series = SmoothedSeries(spread, chernoff(used, RESERVED_PROBABILITY / 10), smoothness)
    frequencies = series.frequencies
    if frequencies.size * len(used) > MAX_FOURIER_VALUES:
        return rounded_up(best)
    product = series.smoothing(frequencies)
    for term in used:
        product *= characteristic(term.law, frequencies * term.weight) ** term.count
    # weights are rounded to 24 binary digits, which moves W by less than 1e-5 standard deviations
    return rounded_up(min(best, series.half_width(product, allowed) + 1e-5 * spread))


def rounded_up(value: float) -> float:
    """Round up to four significant digits, so that the last digits of the machine do not show."""
    if not value:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    whole = math.ceil(value / unit - 1e-7)
    return float(f"{whole * unit:.4g}")
