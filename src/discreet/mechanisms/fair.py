"""The explicit fair mechanism of [C]: every true count is reported truly with the same probability."""

from __future__ import annotations

import numpy as np

from ..exact.rationals import Number, read_alpha
from ..exact.tables import Table, refuse_large
from ..mechanism import Mechanism, finish, read_count
from ..spaces import Counts


def explicit_fair(n: object, *, alpha: Number | None = None, epsilon: Number | None = None) -> Mechanism:
    """Return the explicit fair mechanism on 0..n: all seven properties of [C], in closed form.

    With d = |i-j| and m = min(i, n-i) for the truth i, ``P(j | i) = y a^e`` where e = d while d <= m and
    e = ceil((d + m)/2) beyond. It is symmetric, honest, monotone and fair, for every n and epsilon, and of all
    epsilon-private mechanisms it has the largest probability of truth in the worst case.

    The normaliser is ``y = (1-a)/(1+a-2a^(n/2+1))`` for even n and ``y = (1-a)/((1+a)(1-a^((n+1)/2)))`` for odd n. (The
    paper prints the even one only.)

    Parameters
    ----------
    n
        The largest count, or a ``Counts`` space.
    alpha, epsilon
        Exactly one of them; alpha = e^-epsilon.

    References
    ----------
    [C] eq. (16).

    Examples
    --------
    >>> m = explicit_fair(2, alpha="1/2")
    >>> [m.probability(x, x) for x in range(3)]
    [Fraction(1, 2), Fraction(1, 2), Fraction(1, 2)]
    """
    space = Counts(read_count(n))
    a = read_alpha(alpha, epsilon)
    refuse_large(space.size, space.size)
    truth, report = np.arange(space.size)[:, None], np.arange(space.size)[None, :]
    distance, inner = np.abs(truth - report), np.minimum(truth, space.n - truth)
    exponent = np.where(distance <= inner, distance, (distance + inner + 1) // 2)
    largest = int(exponent.max())
    numerator, denominator = a.numerator, a.denominator
    # a^e over the common denominator of all powers; every row has the same sum, so no row needs a factor of its own
    palette = [numerator**e * denominator ** (largest - e) for e in range(largest + 1)]
    kernel = Table.from_codes(palette, exponent)
    return finish("explicit_fair", space, space, kernel, {"n": space.n, "alpha": str(a)}, ratio=1 / a, closed_form=True)
