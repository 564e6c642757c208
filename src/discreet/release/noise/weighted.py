"""How large a weighted sum of independent noises gets: half-widths that hold, and are nearly as small as can be.

For ``W = sum of w Z`` with symmetric noises Z let U be a small normal variable. Since ``|W| > q`` and ``|U| <= u`` give
``|W + U| > q - u``,

    P(|W| > q) <= P(|W + U| > q - u) + P(|U| > u).

The law of ``W + U`` is smooth, and its probabilities are a Fourier series of the product of characteristic functions.
What lies beyond the period is bounded by Chernoff's inequality; rounding and truncation are counted as probability to
exceed.
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

#: The normal variable's standard deviation is that of W over this (or over less, to be quick), and u so many of its
#: own.
SMOOTHNESS, QUICK, REACH = 400.0, 100.0, 7.0

#: What may be added to the probability to exceed for wrapping around, truncation and rounding.
SPARE = 1e-10

#: How often the range of the half-width is halved.
_HALVINGS = 26

#: Terms times frequencies: beyond this Chernoff's inequality has to do.
MOST_VALUES = 30_000_000


@dataclass(frozen=True)
class Term:
    """Some independent terms of a sum, all alike: ``count`` times ``weight * Z``."""

    law: Law
    weight: float
    count: int


def law_variance(law: Law) -> Fraction:
    """The variance of symmetric noise, exactly; for the discrete Gaussian sigma2, which bounds it.

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
    """E cos(s Z)."""
    if isinstance(law, GeometricTails):
        atom, ratio = float(law.atom), float(law.ratio)
        cosine = np.cos(s)
        return np.asarray(atom + (1 - atom) * (1 - ratio) * (cosine - ratio) / (1 - 2 * ratio * cosine + ratio * ratio))
    sigma2 = float(law_variance(law))  # of a discrete Gaussian
    folded = s - 2 * math.pi * np.round(s / (2 * math.pi))
    far = math.ceil(9 / (2 * math.pi * math.sqrt(sigma2))) + 1
    shifts = 2 * math.pi * np.arange(-far, far + 1)
    total = sum(np.exp(-((folded + shift) ** 2) * sigma2 / 2) for shift in shifts.tolist())
    return np.asarray(total / np.exp(-(shifts**2) * sigma2 / 2).sum())


def log_moment(law: Law, s: FloatArray) -> FloatArray:
    """log E exp(s Z), or a bound above it; infinite where there is none."""
    if isinstance(law, GeometricTails):
        atom, ratio = float(law.atom), float(law.ratio)
        up, down = np.exp(s), np.exp(-s)
        with np.errstate(divide="ignore", invalid="ignore"):
            sides = (1 - ratio) / 2 * (up / (1 - ratio * up) + down / (1 - ratio * down))
            return np.where(ratio * np.maximum(up, down) < 1, np.log(atom + (1 - atom) * sides), np.inf)
    return np.asarray(s * s * float(law_variance(law)) / 2)  # of a discrete Gaussian: Canonne, Kamath, Steinke 2020


def _thetas(laws: list[tuple[Law, float]], spread: float) -> FloatArray:
    """Values to try in Chernoff's inequality, up to where moments end."""
    ends = [-math.log(float(law.ratio)) / weight for law, weight in laws if isinstance(law, GeometricTails) and weight]
    last = min([60 / spread, *ends]) * (1 - 1e-9)
    return np.asarray(last * np.concatenate([np.geomspace(1e-4, 1, 300)[:-1], 1 - np.geomspace(1e-6, 0.3, 60)]))


def chernoff(terms: tuple[Term, ...], share: float) -> float:
    """A q with P(|W| > q) <= share, by Chernoff's inequality on both sides."""
    spread = _spread(terms)
    theta = _thetas([(term.law, term.weight) for term in terms], spread)
    total = sum(term.count * log_moment(term.law, theta * term.weight) for term in terms)
    return float(np.min((math.log(2 / share) + total) / theta)) * (1 + 1e-9)


def chernoff_of_variance(laws: tuple[Law, ...], variance: float, share: float) -> float:
    """The same for every sum of weighted noises of these laws with this variance, whatever the weights are.

    ``log E exp(s Z) / s^2`` grows with s, and no weight exceeds ``sqrt(variance / Var Z)``. A variance that is larger
    than the true one gives a larger number.
    """
    if not variance:
        return 0.0
    own = [(law, math.sqrt(variance / float(law_variance(law)))) for law in laws]
    theta = _thetas(own, math.sqrt(variance))
    rates = [log_moment(law, theta * most) / (float(law_variance(law)) * most**2) for law, most in own]
    total = variance * np.max(np.stack(rates), axis=0)
    return float(np.min((math.log(2 / share) + total) / theta)) * (1 + 1e-9)


def _spread(terms: tuple[Term, ...]) -> float:
    return math.sqrt(sum(term.count * term.weight**2 * float(law_variance(term.law)) for term in terms))


@lru_cache(maxsize=512)
def half_width(terms: tuple[Term, ...], share: Fraction, smoothness: float = SMOOTHNESS) -> float:
    """A number q with P(|W| > q) <= share, rounded up to four digits: the least, or nearly.

    Parameters
    ----------
    terms
        The independent terms of W, with positive weights.
    share
        How often it may be exceeded, on both sides together.
    smoothness
        The larger, the narrower by a few per cent, and the slower.

    Examples
    --------
    >>> law = GeometricTails(Fraction(1, 3), Fraction(1, 2))
    >>> half_width((Term(law, 1.0, 1),), Fraction(1, 20)), half_width((Term(law, 0.5, 4),), Fraction(1, 20))
    (4.0, 4.037)
    """
    used = tuple(term for term in terms if term.count and term.weight)
    if not used:
        return 0.0
    if len(used) == 1 and used[0].count == 1:
        return _rounded_up(used[0].weight * quantile(used[0].law, share / 2))
    allowed = float_down(share)
    best, spread = chernoff(used, allowed), _spread(used)
    reach = chernoff(used, SPARE / 10)
    width = max(spread / smoothness, reach / (20 * smoothness))
    period = 2 * (reach + 10 * width)
    apart = 2 * math.pi / period
    frequencies: FloatArray = np.asarray(apart * np.arange(1.0, math.ceil(7.5 / width / apart) + 1), np.float64)
    if frequencies.size * len(used) > MOST_VALUES:
        return _rounded_up(best)
    product: FloatArray = np.exp(-((frequencies * width) ** 2) / 2)
    for term in used:
        product *= characteristic(term.law, frequencies * term.weight) ** term.count
    product *= 4 / (period * frequencies)

    def exceeds(y: float) -> float:
        return 1 - 2 * y / period - float(product @ np.sin(frequencies * y)) + SPARE

    low, high = 0.0, reach
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if exceeds(middle) <= allowed else (middle, high)
    # weights are rounded to 24 binary places, which moves W by less than this with all probability that matters
    return _rounded_up(min(best, high + REACH * width + 1e-5 * spread))


def _rounded_up(value: float) -> float:
    """Four significant digits, so that no machine's last digit shows."""
    if not value:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    whole = math.ceil(value / unit - 1e-7)
    return float(f"{whole * unit:.4g}")
