"""Laplace noise rounded to whole numbers, as most software adds it, with an exact integer law."""

from __future__ import annotations

from ..exact.kernels import Noise
from ..exact.laws import GeometricTails
from ..exact.rationals import Number, alpha_from_epsilon, read_epsilon
from ..mechanism import Mechanism, finish, read_count
from ..spaces import Counts, Integers


def rounded_laplace(n: object, *, epsilon: Number) -> Mechanism:
    """Return Laplace noise with scale 1/epsilon, rounded to the nearest integer and moved into 0..n.

    With b = e^(-epsilon/2) the rounded noise has ``P(0) = 1 - b`` and ``P(+-z) = (b^(2z-1) - b^(2z+1))/2``. It is
    sampled as that exact integer law: no floating-point Laplace number is ever drawn, so the attacks on those do not
    apply (Mironov 2012).

    Parameters
    ----------
    n
        The largest count, or a ``Counts`` space.
    epsilon
        The privacy between adjacent counts; the Laplace noise has scale 1/epsilon.

    References
    ----------
    [C] section II-B.

    Examples
    --------
    >>> m = rounded_laplace(10, epsilon=1)
    >>> m.certificate.epsilon <= 1
    True
    """
    space = Counts(read_count(n))
    eps = read_epsilon(epsilon)
    root = alpha_from_epsilon(eps / 2)
    kernel = Noise(GeometricTails.laplace(root), truths=(0, space.n), clamp=(0, space.n))
    parameters = {"n": space.n, "epsilon": str(eps)}
    return finish("rounded_laplace", space, space, kernel, parameters, epsilon=eps, closed_form=True)


def unbounded_laplace(*, epsilon: Number) -> Mechanism:
    """Return the noise of :func:`rounded_laplace` on all integers.

    Examples
    --------
    >>> unbounded_laplace(epsilon=1).probability(-5, -5) == unbounded_laplace(epsilon=1).probability(90, 90)
    True
    """
    return rounded_laplace(1, epsilon=epsilon).on(Integers(), clamp=False)
