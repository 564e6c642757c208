"""Randomised response: keep the value, or report any other one with equal probability."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..errors import InvalidInput
from ..exact.integers import is_integer
from ..exact.kernels import Response
from ..exact.rationals import Number, read_alpha
from ..mechanism import Mechanism, finish, read_count
from ..spaces import Counts, Labels, Space, completed, is_space


def randomized_response(space: object, *, epsilon: Number | None = None, alpha: Number | None = None) -> Mechanism:
    """Return k-ary randomised response on any finite space, private between any two values.

    ``P(j | i) = e^eps / (k-1+e^eps)`` for j = i and ``1 / (k-1+e^eps)`` for each other j.

    Parameters
    ----------
    space
        A finite space (``Counts``, ``Labels``, ``Grid``, ``Graph``, ...) or the number k >= 2 of values, which are then
        0..k-1.
    epsilon, alpha
        Exactly one of them; alpha = e^-epsilon. The guarantee is local: it holds between any two values.

    References
    ----------
    [F] eq. (3); Kairouz, Bonawitz, Ramage 2016.

    Examples
    --------
    >>> m = randomized_response(["yes", "no"], alpha="1/3")
    >>> m.probability("yes", "yes")
    Fraction(3, 4)
    """
    a = read_alpha(alpha, epsilon)
    values = read_finite_space(space)
    kernel = Response(values.size or 0, a.denominator, a.numerator)
    parameters = {"space": values.to_json(), "alpha": str(a)}
    return finish(
        "randomized_response", values, values, kernel, parameters, notion="local", ratio=1 / a, closed_form=True
    )


def read_finite_space(space: Any) -> Space:
    """Return a finite space, from a space, a list of labels or the number of values."""
    if is_space(space) and space.size is not None:
        return completed(space)
    if isinstance(space, list | tuple):
        return Labels(space)
    if is_integer(space) and int(space) >= 2:
        return Counts(int(space) - 1)
    raise InvalidInput.must_be("space", "a finite space or a number of values k >= 2", space)


def uniform(n: object) -> Mechanism:
    """Return the uniform mechanism on 0..n: all reports are equally likely, for every truth (epsilon = 0).

    It protects perfectly and gives no information: the baseline of [C] definition 5.

    Parameters
    ----------
    n
        The largest count, or a ``Counts`` space.

    Examples
    --------
    >>> uniform(3).probability(0, 3), uniform(3).certificate.epsilon
    (Fraction(1, 4), 0.0)
    """
    space = Counts(read_count(n))
    kernel = Response(space.size, 1, 1)
    return finish("uniform", space, space, kernel, {"n": space.n}, ratio=Fraction(1), closed_form=True)
