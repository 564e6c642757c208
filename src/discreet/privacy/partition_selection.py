"""Groups not known in advance: bounded noise decides which may be named, and gives their counts.

Let Z have the truncated geometric law ``P(z) = c a^|z|`` on [-D, D], with a = e^-epsilon and
``c = (1 - a)/(1 + a - 2 a^(D+1))``. A group of n people is reported as n + Z if that is above D, and is withheld
otherwise. A group of nobody is never reported, so that groups need not be known.

**Lemma.** Between neighbouring counts the table of reports, "withheld" included, is (epsilon, delta) with
``delta = c a^D`` and no less. Adding Z to a count is: neighbouring counts share all reports but the last one of each,
where the ratio is a or 1/a, and that last one has probability c a^D. Withholding is done to the report alone. And a
count of 1 is reported with probability c a^D, a count of 0 never.

The probability that a group is named is the largest that (epsilon, delta) allows, for every n at once: it satisfies the
recursion of Desfontaines, Voss, Gipson, Mandayam, *Differentially private partition selection* (2020), as an equality.

A person who counts in k groups makes m = k draws (2k where one person is exchanged for another), whatever groups are
found. With epsilon/m each, all of them together have epsilon with ``1 - (1 - delta_1)^m``, and no less.

Where one person changes a count by up to c, as rows do, the two counts share all reports but the last c of each:
``delta_c = delta_1 (1 + a^-1 + ... + a^-(c-1))`` at c times the epsilon, with D at least c.
"""

from __future__ import annotations

from fractions import Fraction

from ..errors import InvalidInput, arg
from ..exact.laws import Finite, power_bounds, scaled
from ..exact.tables import Table

#: Largest reach of the noise: beyond it the exact weights would have millions of digits.
LARGEST_REACH = 1_000

#: Bits to which deltas are rounded up.
_BITS = 2_400


def truncated_law(alpha: Fraction, reach: int) -> Finite:
    """Return the truncated geometric law: c a^|z| for z = -D..D.

    >>> truncated_law(Fraction(1, 2), 1).weights
    (1, 2, 1)
    """
    if reach > LARGEST_REACH:
        raise InvalidInput.must_be("reach", f"at most {LARGEST_REACH:,}", reach, meaning="the largest noise")
    side = [1]
    for _ in range(reach):
        side.append(side[-1] * alpha.numerator)
    power = 1
    for z in range(reach, -1, -1):
        side[z], power = side[z] * power, power * alpha.denominator
    return Finite(-reach, [*side[:0:-1], *side])


def naming_delta(alpha: Fraction, reach: int) -> Fraction:
    """Return ``c a^D``: the probability that a group of one person is named, and the delta of one draw.

    >>> naming_delta(Fraction(1, 2), 2)
    Fraction(1, 10)
    """
    return alpha**reach * (1 - alpha) / (1 + alpha - 2 * alpha ** (reach + 1))


def naming_delta_up(alpha: Fraction, reach: int, step: int = 1) -> Fraction:
    """Return the delta of one draw that changes by up to ``step``, rounded up, so that its powers stay short.

    With a step of one it is :func:`naming_delta`. The step must not exceed the reach.

    >>> float(naming_delta_up(Fraction(1, 2), 3, 2))   # 1/22 + 2/22
    0.13636363636363635
    """
    _low, high = power_bounds(alpha, reach, _BITS)
    power = Fraction(high, 1 << _BITS)
    delta = power * (1 - alpha) / (1 + alpha - 2 * alpha * power)  # grows with the power
    if step > 1:
        low, _high = power_bounds(alpha, step, _BITS)
        delta = min(delta * (Fraction(1 << _BITS, low) - 1) / (1 / alpha - 1), Fraction(1)) if low else Fraction(1)
    exponent = 128 + max(0, delta.denominator.bit_length() - delta.numerator.bit_length())
    return Fraction(scaled(delta, exponent)[1], 1 << exponent)


def lost_by_any(delta: Fraction, draws: int) -> Fraction:
    """Return ``1 - (1 - delta)^m``, the delta of m draws together, rounded up."""
    return 1 - Fraction(power_bounds(1 - delta, draws, _BITS)[0], 1 << _BITS)


def least_reach(alpha: Fraction, delta: Fraction, draws: int, step: int = 1) -> int:
    """Return the least D for which m draws of one person have at most this delta: ``1 - (1 - delta_c)^m <= delta``.

    >>> from ..exact.rationals import read_alpha
    >>> least_reach(read_alpha(None, Fraction(1, 5)), Fraction(1, 10**8), 5)
    89
    """

    def holds(reach: int) -> bool:
        return lost_by_any(naming_delta_up(alpha, reach, step), draws) <= delta

    low, high = step - 1, step
    while not holds(high):
        low, high = high, 2 * high
        if low > LARGEST_REACH:
            raise InvalidInput(
                f"only groups of far more than {LARGEST_REACH:,} people could be named with so little epsilon for "
                "each group.",
                f"Raise {arg('epsilon')} or {arg('delta')}, or lower {arg('max_groups')}.",
                argument="epsilon",
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    if high > LARGEST_REACH:
        raise InvalidInput(
            f"a group would need a noisy count above {high:,} to be named (at most {LARGEST_REACH:,} is possible).",
            f"Raise {arg('epsilon')} or {arg('delta')}, or lower {arg('max_groups')}.",
            argument="epsilon",
        )
    return high


def keep_probabilities(alpha: Fraction, reach: int) -> list[Fraction]:
    """Return the probabilities P(Z > D - n) that groups of n = 0, 1, ... people are named, up to certainty."""
    law = truncated_law(alpha, reach)
    return [law.upper(reach - n + 1) for n in range(2 * reach + 2)]


def most_that_privacy_allows(alpha: Fraction, delta: Fraction, counts: int) -> list[Fraction]:
    """Return the largest probabilities that privacy allows, by the recursion of Desfontaines, Voss, Gipson, Mandayam.

    pi(n+1) = min(pi(n)/a + delta, 1 - a (1 - pi(n) - delta), 1).

    >>> [str(p) for p in most_that_privacy_allows(Fraction(1, 2), Fraction(1, 4), 4)]
    ['0', '1/4', '3/4', '1']
    """
    probabilities = [Fraction(0)]
    while len(probabilities) < counts:
        last = probabilities[-1]
        probabilities.append(min(last / alpha + delta, 1 - alpha * (1 - last - delta), Fraction(1)))
    return probabilities


def selection_table(alpha: Fraction, reach: int) -> Table:
    """Return the table of reports for groups of n = 0..2D+1 people: withheld (column 0), or D+1, D+2, ..., 3D+1.

    The judge checks it without the lemma: larger counts are shifts of the last one.

    >>> selection_table(Fraction(1, 2), 1).shape
    (4, 4)
    """
    law = truncated_law(alpha, reach)
    rows = []
    for n in range(2 * reach + 2):
        reports = [law.probability(y - n) for y in range(reach + 1, 3 * reach + 2)]
        rows.append([int(p * law.total) for p in (1 - sum(reports), *reports)])
    return Table.from_rows(rows)
