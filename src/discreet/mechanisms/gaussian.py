"""The discrete Gaussian mechanism."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidInput
from ..exact.kernels import Noise
from ..exact.laws import Gaussian
from ..exact.rationals import as_fraction
from ..mechanism import CLOSED_FORMS, Mechanism, finish
from ..spaces import Integers


def discrete_gaussian(*, sigma2: Any) -> Mechanism:
    """Discrete Gaussian noise on all integers.

    ``P(j | i) ~ exp(-(i-j)^2 / (2 sigma2))``. ``sigma2`` is the parameter of the law; its variance is slightly smaller.
    No epsilon holds with delta = 0; ``dc.verify(m).delta(epsilon)`` gives the exact delta for any epsilon, and
    rho = 1/(2 sigma2) is its zero-concentrated privacy. Irrational probabilities are sampled exactly all the same.

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
    value = as_fraction(sigma2, "sigma2")
    if value <= 0:
        raise InvalidInput(f"sigma2 must be positive; got {sigma2!r}.")
    space = Integers()
    how = "the largest ratio is unbounded; delta(epsilon) is known for every epsilon (dc.verify)"
    details = {"zcdp_rho": str(1 / (2 * value))}
    return finish(
        "discrete_gaussian", space, space, Noise(Gaussian(value)), {"sigma2": str(value)}, how=how, details=details
    )


CLOSED_FORMS["discrete_gaussian"] = lambda p: discrete_gaussian(sigma2=p["sigma2"])
