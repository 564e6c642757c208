"""The discrete Gaussian mechanism."""

from __future__ import annotations

import math

from ..errors import InvalidInput, InWords, WrongType, arg
from ..exact.kernels import Noise
from ..exact.laws import Gaussian
from ..exact.rationals import Number, as_fraction
from ..mechanism import Mechanism, finish
from ..spaces import Integers


def discrete_gaussian(*, sigma2: Number | None = None, variance: Number | None = None) -> Mechanism:
    """Return the discrete Gaussian mechanism on all integers.

    ``P(j | i) ~ exp(-(i-j)^2 / (2 sigma2))``. ``sigma2`` is the parameter of the law; its variance is slightly smaller.
    No epsilon holds with delta = 0; ``dc.verify(m).delta(epsilon)`` gives the exact delta for any epsilon, and
    rho = 1/(2 sigma2) is its zero-concentrated privacy. Its probabilities are irrational, and are sampled exactly.

    Parameters
    ----------
    sigma2
        The parameter of the law.
    variance
        The variance of the noise, instead of sigma2. Below 1 the two differ much: .2 needs sigma2 = .2394.

    References
    ----------
    Canonne, Kamath, Steinke 2020.

    Examples
    --------
    >>> m = discrete_gaussian(sigma2=4)
    >>> m.certificate.epsilon
    inf
    >>> m.certificate.details["zcdp_rho"]
    '1/8'
    """
    if sigma2 is None and variance is None:
        raise WrongType(
            f"give exactly one of {arg('sigma2')} (the parameter of the law) and {arg('variance')}; got neither."
        )
    if sigma2 is not None and variance is not None:
        raise InvalidInput(
            f"give exactly one of {arg('sigma2')} (the parameter of the law) and {arg('variance')}; got both."
        )
    name, parameter = ("sigma2", sigma2) if variance is None else ("variance", variance)
    value = as_fraction(parameter, name)
    if value <= 0:
        raise InvalidInput.must_be(name, "positive", parameter)
    if variance is not None:
        value = as_fraction(matched_sigma2(float(value)))
    space = Integers()
    how = "the largest ratio is unbounded; delta(epsilon) is known for every epsilon (dc.verify)"
    details = {"zcdp_rho": str(1 / (2 * value))}
    kernel, parameters = Noise(Gaussian(value)), {"sigma2": str(value)}
    return finish("discrete_gaussian", space, space, kernel, parameters, how=how, details=details, closed_form=True)


def law_variance(sigma2: float) -> float:
    """Return the variance of the discrete Gaussian with this parameter.

    Above 4 it is sigma2 up to 1e-30 (Poisson summation: the difference is about 8 pi^2 sigma2^2 exp(-2 pi^2 sigma2)).
    """
    if sigma2 > 4:
        return sigma2
    terms = [math.exp(-z * z / (2 * sigma2)) for z in range(1, 100)]
    return 2 * sum(z * z * w for z, w in enumerate(terms, 1)) / (1 + 2 * sum(terms))


def matched_sigma2(variance: float) -> float:
    """Return the parameter of the discrete Gaussian with this variance, by bisection: the variance grows with it."""
    low, high = 1e-3, max(2 * variance, 1.0)
    if law_variance(low) > variance:
        raise InvalidInput.must_be("variance", "at least 1e-200", InWords(f"{variance:g}, which is hardly any noise"))
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if law_variance(middle) < variance else (low, middle)
    return high
