"""Closed forms that answer a request without a linear program.

========  =====================================================================================================
``GM``    the truncated geometric mechanism: the unique L0 optimum ([C] theorem 3), with the properties it has
``EM``    the explicit fair mechanism: L0 with fairness ([C] theorem 4), and the worst case of L0 with any of the seven
remap     the geometric mechanism with each report replaced by the best guess: any prior, no properties, a loss that
          never falls as the error grows (Ghosh, Roughgarden, Sundararajan 2012)
========  =====================================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from ... import losses
from ...exact.base import Kernel
from ...mechanism import Mechanism
from ...mechanisms.fair import explicit_fair
from ...mechanisms.geometric import geometric
from ...properties import is_of_the_seven
from ..improve.remapping import remap
from ..improve.structure import symmetrise
from ..lp.program import Request


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """A mechanism that is optimal by a theorem, its cost, and the theorem in words."""

    name: str
    kernel: Kernel = field(repr=False)
    cost: Fraction | float
    why: str


def geometric_codes(n: int, alpha: Fraction) -> frozenset[str]:
    """Return the properties of the geometric mechanism on 0..n ([C] lemmas 2 and 3, corrected for n = 1)."""
    codes = {"S", "RH", "RM"}
    if n >= 2 * alpha / (1 - alpha) or n == 1:
        codes.add("WH")
    if alpha <= Fraction(1, 2) or n == 1:
        codes |= {"CH", "CM"}
    if n == 1:
        codes.add("F")
    return frozenset(codes)


def closed_form(request: Request) -> ClosedForm | None:
    """Return the closed form that answers the request, if there is one."""
    n, a, codes = request.n, request.alpha, set(request.codes)
    if request.delta or not all(map(is_of_the_seven, request.requirements)):
        return None
    if request.loss == losses.L0:
        if request.uniform and codes <= geometric_codes(n, a):
            cost = 2 * a / (1 + a) * Fraction(n, n + 1)
            why = "no private mechanism reports the truth more often, and it has all properties asked for"
            return ClosedForm("GM", geometric(n, alpha=a).kernel, cost, why)
        if request.weights is None or "F" in codes:
            why = (
                "no private mechanism reports the truth more often in the worst case"
                if request.weights is None
                else "no fair private mechanism reports the truth more often"
            )
            kernel = explicit_fair(n, alpha=a).kernel
            return ClosedForm("EM", kernel, 1 - fair_diagonal(n, a), f"{why}; it has all seven")
    if request.weights is not None and not codes and request.loss.nondecreasing:
        best = remap(geometric(n, alpha=a), request.loss, list(request.weights))
        symmetric: Mechanism = symmetrise(best) if request.mirrored else best
        why = "for this loss the best use of the geometric mechanism's reports is the best of all private mechanisms"
        return ClosedForm("GM remapped", symmetric.kernel, best.cost, why)
    return None


def fair_diagonal(n: int, alpha: Fraction) -> Fraction:
    """Return the probability of truth of the explicit fair mechanism, [C] (16) and its form for odd n."""
    if n % 2 == 0:
        return (1 - alpha) / (1 + alpha - 2 * alpha ** (n // 2 + 1))
    return (1 - alpha) / ((1 + alpha) * (1 - alpha ** ((n + 1) // 2)))


def weakly_honest_cost(n: int, alpha: Fraction) -> Fraction:
    """Return the least L0 cost under weak honesty alone, in closed form (the paper says none is known).

    With y0 = 1/(n+1), y = (1-a)/(1+a) and n < 2a/(1-a): diagonal y0 inside and
    ``y0/(1-a) - (y0/y - 1)/s`` at both ends, s = 2 a^(n/2) for even n and a^((n-1)/2) + a^((n+1)/2) for odd n.
    Otherwise the geometric mechanism is weakly honest. A mixture reaches it: :func:`weakly_honest_share`.
    """
    if n >= 2 * alpha / (1 - alpha):
        return 2 * alpha / (1 + alpha) * Fraction(n, n + 1)
    guess, y = Fraction(1, n + 1), (1 - alpha) / (1 + alpha)
    s = 2 * alpha ** (n // 2) if n % 2 == 0 else alpha ** ((n - 1) // 2) + alpha ** ((n + 1) // 2)
    corner = guess / (1 - alpha) - (guess / y - 1) / s
    return 1 - (2 * corner + (n - 1) * guess) * guess


def weakly_honest_share(n: int, alpha: Fraction) -> Fraction:
    """Return the share of GM in its mixture with EM that has the least L0 cost under weak honesty.

    In both the constraint of the middle truth is tight, sum_j a^|i-j| P[j, j] = 1, so that they and their mixtures
    reach the bound; this one has the diagonal 1/(n+1) inside, the least that weak honesty allows.

    >>> weakly_honest_share(4, Fraction(9, 10))
    Fraction(551, 3645)
    """
    if n >= 2 * alpha / (1 - alpha):
        return Fraction(1)
    fair, inside = fair_diagonal(n, alpha), (1 - alpha) / (1 + alpha)
    return (fair - Fraction(1, n + 1)) / (fair - inside)
