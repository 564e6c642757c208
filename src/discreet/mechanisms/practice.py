"""Common practice without a privacy guarantee, as mechanisms that the judge can examine.

Statistics offices round counts at random to a base, or suppress small ones. Both are mechanisms like any other: a
distribution of published values for each true count. Neither has a finite epsilon, because some published value is
possible for one count and impossible for the next; the judge names it.
"""

from __future__ import annotations

import numpy as np

from ..errors import InvalidInput, InWords, arg
from ..exact.integers import positive_integer
from ..exact.tables import Table
from ..mechanism import Mechanism, finish, read_count
from ..spaces import Counts, Labels

_NO_GUARANTEE = "no guarantee was designed for; the judge states what there is"

#: The published value of a suppressed count.
SUPPRESSED = "suppressed"


def random_rounding(n: object, *, base: int = 3) -> Mechanism:
    """Return unbiased random rounding of the counts 0..n to multiples of ``base``.

    A count ``k base + r`` is rounded up with probability r/base and down otherwise, so that its mean is right.
    Multiples are published as they are: a published 3 is impossible for a true 0, and certain for a true 3.

    Parameters
    ----------
    n
        The largest count, or a ``Counts`` space.
    base
        The published counts are multiples of it, at least 2.

    Examples
    --------
    >>> m = random_rounding(9, base=3)
    >>> m.probability(4, 3), m.probability(4, 6)
    (Fraction(2, 3), Fraction(1, 3))
    >>> m.certificate.epsilon
    inf
    """
    space = Counts(read_count(n))
    step = positive_integer(base, "base", least=2)
    top = -(-space.n // step) * step
    weights = np.zeros((space.size, top + 1), np.int64)
    for count in range(space.size):
        down, up = count // step * step, -(-count // step) * step
        weights[count, up] += count - down
        weights[count, down] += step - (count - down)
    kernel = Table.from_array(weights)
    return finish(
        "random_rounding", space, Counts(top), kernel, {"n": space.n, "base": step}, how=_NO_GUARANTEE, closed_form=True
    )


def suppression(n: object, *, below: int = 5) -> Mechanism:
    """Return suppression of small counts: 1..below-1 are published as "suppressed", all others unchanged.

    Nothing is random, so published values separate the counts next to the limit: delta is 1 at every epsilon.

    Parameters
    ----------
    n
        The largest count, or a ``Counts`` space.
    below
        The smallest count from 1 on that is published, at least 2.

    Examples
    --------
    >>> m = suppression(9, below=5)
    >>> m.release(3), m.release(7)
    ('suppressed', 7)
    """
    space = Counts(read_count(n))
    limit = positive_integer(below, "below", least=2)
    if limit > space.n:
        raise InvalidInput.must_be(
            "below",
            "at most n, so that some count is published",
            InWords(f"{arg('below', limit)}, {arg('n', space.n)}"),
        )
    published = Labels([SUPPRESSED, 0, *range(limit, space.size)])
    weights = np.zeros((space.size, published.size), np.int64)
    for count in range(space.size):
        weights[count, published.index(SUPPRESSED if 0 < count < limit else count)] = 1
    kernel = Table.from_array(weights)
    return finish(
        "suppression", space, published, kernel, {"n": space.n, "below": limit}, how=_NO_GUARANTEE, closed_form=True
    )
