"""The geometric mechanisms: integer noise that falls by the same factor with every step from the truth."""

from __future__ import annotations

from ..exact.integers import positive_integer
from ..exact.kernels import Noise
from ..exact.laws import GeometricTails
from ..exact.rationals import Number, log_bounds, read_alpha
from ..mechanism import Mechanism, finish, read_count
from ..privacy.partition_selection import truncated_law
from ..spaces import Counts, Integers, is_space
from .metric import metric_geometric


def geometric(n: object, *, epsilon: Number | None = None, alpha: Number | None = None) -> Mechanism:
    """Return the truncated geometric mechanism on the counts 0..n.

    Add two-sided geometric noise and move what falls outside 0..n to the nearest end. Of all epsilon-private
    mechanisms it reports the truth most often if all counts are equally likely (it minimises the L0 loss), and
    remapping its reports is optimal for every prior and every loss that grows with the error (Ghosh, Roughgarden,
    Sundararajan 2012). It favours the ends of the range: for small n and small epsilon it reports 0 and n
    more often than the truth.

    ``P(j | i) = (1-a)/(1+a) a^|i-j|`` for 0 < j < n and ``a^|i-j| / (1+a)`` for j = 0, n, with a = e^-epsilon.

    On any other finite space with a distance it is the tight mechanism ``P(y | x) = mu_y a^d(x, y)`` where it exists
    (:func:`discreet.mechanisms.metric.metric_geometric`), and epsilon is per unit of distance.

    Parameters
    ----------
    n
        The largest count, or a ``Counts`` space; or another space, such as ``Ring(24)`` or ``Graph(edges)``.
    epsilon, alpha
        Exactly one of them; alpha = e^-epsilon.

    References
    ----------
    [F] eq. (6); [C] definition 4.

    Examples
    --------
    >>> m = geometric(2, alpha="1/2")
    >>> m.probability(0, 0), m.probability(0, 1), m.probability(0, 2)
    (Fraction(2, 3), Fraction(1, 6), Fraction(1, 6))
    >>> m.certificate.ratio
    Fraction(2, 1)
    """
    if is_space(n) and not getattr(n, "is_line", False) and getattr(n, "size", None) is not None:
        return metric_geometric(n, epsilon=epsilon, alpha=alpha)
    space = Counts(read_count(n))
    a = read_alpha(alpha, epsilon)
    kernel = Noise(GeometricTails.two_sided(a), truths=(0, space.n), clamp=(0, space.n))
    return finish("geometric", space, space, kernel, {"n": space.n, "alpha": str(a)}, ratio=1 / a, closed_form=True)


def two_sided_geometric(*, epsilon: Number | None = None, alpha: Number | None = None) -> Mechanism:
    """Return two-sided geometric noise on all integers: unbiased, unbounded.

    ``P(j | i) = (1-a)/(1+a) a^|i-j|`` with a = e^-epsilon. Its variance is 2a/(1-a)^2.

    Parameters
    ----------
    epsilon, alpha
        Exactly one of them; alpha = e^-epsilon.

    Examples
    --------
    >>> two_sided_geometric(alpha="1/2").probability(10, 8)
    Fraction(1, 12)
    """
    a = read_alpha(alpha, epsilon)
    space = Integers()
    kernel = Noise(GeometricTails.two_sided(a))
    return finish("two_sided_geometric", space, space, kernel, {"alpha": str(a)}, ratio=1 / a, closed_form=True)


def bounded_geometric(reach: object, *, epsilon: Number | None = None, alpha: Number | None = None) -> Mechanism:
    """Geometric noise on all integers that never exceeds ``reach``: the noise of groups not known in advance.

    ``P(j | i) = c a^|i-j|`` for ``|i-j| <= D``, with a = e^-epsilon and c = (1-a)/(1+a-2a^(D+1)). It has epsilon with
    delta = c a^D, exactly (:mod:`discreet.privacy.partition_selection`). A count of 0 is never reported above D, so
    that only groups with a person in them can be named.

    Examples
    --------
    >>> m = bounded_geometric(2, alpha="1/2")
    >>> [str(m.probability(0, j)) for j in range(4)], round(m.certificate.delta, 9)
    (['2/5', '1/5', '1/10', '0'], 0.1)
    """
    a, largest = read_alpha(alpha, epsilon), positive_integer(reach, "reach", least=1)
    space = Integers()
    return finish(
        "bounded_geometric", space, space, Noise(truncated_law(a, largest)), {"reach": largest, "alpha": str(a)},
        epsilon=log_bounds(1 / a)[1], with_delta=True, closed_form=True,
    )  # fmt: skip
