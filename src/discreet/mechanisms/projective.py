"""Projective response: many values at the error of the best encodings, with short reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

from ..errors import InvalidInput, Unsupported
from ..exact.integers import is_integer
from ..exact.projective import MAX_POINTS, Projective, is_prime, points_of
from ..exact.rationals import Number, read_alpha
from ..mechanism import Mechanism, finish
from ..spaces import Counts
from .response import randomized_response, read_finite_space

#: Maximum number of values: up to it there is always a prime whose space has at most MAX_POINTS points.
MAX_VALUES = MAX_POINTS // 2


def projective_response(
    space: object, *, epsilon: Number | None = None, alpha: Number | None = None, q: Number | None = None
) -> Mechanism:
    """Return the response for many values: its report is a point, most often one of the truth's hyperplane.

    The values are points of a projective space over the field of q elements. A report y has weight e^eps if
    ``<x, y> = 0 mod q`` and weight 1 otherwise. The variance of an estimated share is near ``4 e^eps / (e^eps - 1)^2``
    over the number of people, for any number of values; that of randomised response grows with it. With q = 2 it is
    Hadamard response.

    Parameters
    ----------
    space
        A finite space (``Counts``, ``Labels``, ``Grid``), a list of labels, or the number k >= 2 of values, which are
        then 0..k-1.
    epsilon, alpha
        Exactly one of them; alpha = e^-epsilon. The guarantee is local: it holds between any two values.
    q
        The prime. By default the one whose variance is least (:func:`least_variance`), which is near e^eps + 1.

    Returns
    -------
    Mechanism
        Its reports are numbers of points, ``Counts(K - 1)``; ``dc.estimate`` leads back to the values.

    References
    ----------
    Feldman, Nelson, Nguyen, Talwar 2022, Private frequency estimation via projective geometry.

    Examples
    --------
    >>> m = projective_response(1000, epsilon=1)
    >>> m.parameters["q"], m.outputs
    (3, Counts(n=1092))
    >>> m.certificate.notion, round(m.certificate.epsilon, 6)
    ('local', 1.0)
    """
    a = read_alpha(alpha, epsilon)
    values = read_finite_space(space)
    size = values.size or 0
    if size > MAX_VALUES:
        raise Unsupported(f"projective response takes at most {MAX_VALUES:,} values; got {size:,}.", argument="space")
    prime = least_variance(size, a) if q is None else _read_prime(q, size)
    kernel = Projective(size, prime, _coordinates(prime, size), a.denominator, a.numerator)
    parameters = {"space": values.to_json(), "alpha": str(a), "q": prime}
    return finish(
        "projective_response", values, Counts(kernel.points - 1), kernel, parameters,
        notion="local", ratio=1 / a, closed_form=True,
    )  # fmt: skip


def response(space: object, *, epsilon: Number | None = None, alpha: Number | None = None) -> Mechanism:
    """Return randomised or projective response: the one that estimates the shares of rare values with less variance.

    Randomised response is better for few values and large epsilon, projective response for many values;
    :func:`share_variance` gives the figure of either.

    Parameters
    ----------
    space, epsilon, alpha
        As for :func:`discreet.projective_response`.

    Examples
    --------
    >>> few, many = response(10, epsilon=2), response(500, epsilon=1)
    >>> few.family, round(float(share_variance(few)), 2)
    ('randomized_response', 0.38)
    >>> many.family, round(float(share_variance(many)), 2)
    ('projective_response', 3.76)
    """
    values, a = read_finite_space(space), read_alpha(alpha, epsilon)
    mechanisms = [randomized_response(values, alpha=a)]
    if (values.size or 0) <= MAX_VALUES:
        mechanisms.append(projective_response(values, alpha=a))
    return min(mechanisms, key=share_variance)


def share_variance(mechanism: Mechanism) -> Fraction:
    """Return the variance of the unbiased estimate of a rare value's share, times the number of people, exactly.

    Each value has an event: its own report under randomised response, a report in its hyperplane under projective
    response. With P and Q its probabilities for people who have the value and for others, its share is
    ``Q + p (P - Q)``, so that the variance at p = 0 is ``Q (1 - Q) / (P - Q)^2`` over the number of people.

    Parameters
    ----------
    mechanism
        A randomised or projective response.

    Examples
    --------
    >>> round(float(share_variance(randomized_response(500, epsilon=1))), 1)
    169.6
    """
    variance = mechanism.kernel.share_variance
    if variance is None:
        raise Unsupported(
            "the variance of a share is known for randomised and projective response only.", argument="mechanism"
        )
    return variance


def least_variance(size: int, alpha: Fraction) -> int:
    """Return the prime whose estimates have the least variance, among spaces of at most 2^24 points.

    With three coordinates or more the variance is least near q = e^eps + 1, and with two where q is least. A space
    needs a point for every value. So the primes at these two places are compared, exactly, for each number of
    coordinates.

    >>> [least_variance(size, Fraction(1, e)) for size, e in ((10**6, 3), (10**4, 55), (10, 8), (10**4, 10**9))]
    [5, 59, 11, 10007]
    """
    primes = {q for t in range(2, 25) for q in _candidates(size, t, 1 / alpha + 1)}
    kernels = [Projective(size, q, _coordinates(q, size), alpha.denominator, alpha.numerator) for q in sorted(primes)]
    return min(kernels, key=lambda kernel: (kernel.share_variance, kernel.points)).q


def _candidates(size: int, t: int, target: Fraction) -> Iterator[int]:
    """Yield primes around the target, of spaces with t coordinates that have enough points and not too many."""
    least, most = _least(lambda q: points_of(q, t) >= size), _least(lambda q: points_of(q, t) > MAX_POINTS) - 1
    if least > most:
        return
    nearest = min(max(math.floor(target), least), most)
    for first, step in ((nearest - 1, -1), (nearest, 1), (least, 1)):
        primes, q = 0, first
        while least <= q <= most and primes < 2:
            if is_prime(q):
                primes += 1
                yield q
            q += step


def _least(fits: Callable[[int], bool]) -> int:
    """Return the least q >= 2 that fits, where all larger ones do."""
    low, high = 1, 2
    while not fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _coordinates(q: int, size: int) -> int:
    """Return the least number of coordinates, two or more, with a point for every value."""
    return next(t for t in range(2, 64) if points_of(q, t) >= size)


def _read_prime(q: Number, size: int) -> int:
    if not is_integer(q) or not 2 <= int(q) <= MAX_POINTS or not is_prime(int(q)):
        raise InvalidInput.must_be("q", "a prime number", q, "Leave it out to have the best one chosen.")
    if points_of(int(q), _coordinates(int(q), size)) > MAX_POINTS:
        raise InvalidInput(
            f"q = {int(q)} needs a space of more than {MAX_POINTS:,} points for {size:,} values.",
            "Leave q out, or choose a smaller prime.",
            argument="q",
        )
    return int(q)
