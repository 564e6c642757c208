"""Known mechanisms that may meet a request, checked exactly before a request is refused.

A solver that finds nothing proves nothing. Closed forms exist for every n: a request that one of them meets is never
refused, and if the solver fails altogether the cheapest of them is the answer, with an honest gap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ... import utility
from ...checking import check
from ...exact.rationals import LARGEST_ALPHA
from ...exact.tables import Table
from ...mechanisms.build import build_for_counts
from ...mechanisms.families import Family
from ..families import FAMILIES
from ..lp.certification import CertifiedTable, prove
from ..lp.program import Request

#: The kind of proof that a certificate states for a design that is a known mechanism.
KNOWN_MECHANISM = "known mechanism"

#: Violation beyond which rounding is excluded: coefficients are at most n^2, and floats err by 2^-53 of them.
CLEAR_VIOLATION = 1e-6

#: Roots of the requested alpha at which families are tried: alphas nearer to 1 are more private and flatter.
ALPHA_ROOTS = (1, 2, 4, 16)


def members(request: Request, *, private: bool = True) -> Iterator[tuple[str, Table]]:
    """Yield mechanisms on the counts 0..n, at least as private as requested, with their names; the fastest come first.

    Parameters
    ----------
    private        True if privacy is required; otherwise the truth itself is one of them.
    """
    n = request.n
    if not private:
        yield "the truth", Table.from_array(np.eye(n + 1, dtype=np.int64))
    families = FAMILIES.offered("known")
    scaled = [family for family in families if {"privacy", "epsilon"} & set(family.parameters)]
    for family in families:
        if family not in scaled:
            yield family.title, _table(family, n, request.alpha)
    yield "constant", _middle(n)
    for alpha in _alphas(request):
        for family in scaled:
            yield f"{family.short} at alpha = {alpha}", _table(family, n, alpha)
    for share in _shares_of_truth(request):
        yield f"k-RR with truth = {share}", _response(n, share)


@lru_cache(maxsize=64)
def _table(family: Family, n: int, alpha: Fraction) -> Table:
    return build_for_counts(family, n, alpha).kernel.table()


def _clearly_fails(table: Table, request: Request) -> bool:
    """Return whether floats rule a table out; the other tables are decided exactly."""
    matrix = table.matrix()
    return any(float(p.rows(request.n).excess(matrix).max()) > CLEAR_VIOLATION for p in request.requirements)


def meets(table: Table, request: Request, *, private: bool = True) -> bool:
    """Return whether a table meets all of a request, by the judge and :func:`discreet.check`."""
    if private:
        from ...exact.rationals import log_bounds

        return prove(table, request, log_bounds(1 / request.alpha)[1]) is not None
    return not request.requirements or all(check(table, request.requirements).values())


def is_met_by_a_member(request: Request, *, private: bool = True) -> bool:
    """Return whether one of the known mechanisms meets the request, which proves it feasible."""
    candidates = (table for _, table in members(request, private=private) if not _clearly_fails(table, request))
    return any(meets(table, request, private=private) for table in candidates)


def cheapest_member(request: Request, epsilon: Fraction) -> tuple[str, CertifiedTable] | None:
    """Return the known mechanism with the least cost among those that meet the request; None if none does."""
    prior = None if request.weights is None else list(request.weights)
    best: tuple[float, str, CertifiedTable] | None = None
    for name, table in members(request):
        cost = float(utility.cost(table, request.loss, prior, request.weights is None))
        if (best is not None and cost >= best[0]) or _clearly_fails(table, request):
            continue
        certificate = prove(table, request, epsilon)
        if certificate is not None:
            best = (cost, name, CertifiedTable(table, certificate, KNOWN_MECHANISM))
    return None if best is None else best[1:]


def _alphas(request: Request) -> list[Fraction]:
    """Return the requested alpha, simple ones nearer to 1, and the ratios of neighbouring reports in requirements."""
    rooted = [request.alpha] + [
        Fraction(math.ceil(1000 * float(request.alpha) ** (1 / root)), 1000) for root in ALPHA_ROOTS if root > 1
    ]
    ratios = [_ratio(p.code) for p in request.requirements]
    alphas = dict.fromkeys([*rooted, *(r for r in ratios if r is not None)])
    return [alpha for alpha in alphas if request.alpha <= alpha <= LARGEST_ALPHA]


def _ratio(code: str) -> Fraction | None:
    return Fraction(code.removeprefix("steps>=")) if code.startswith("steps>=") else None


def _shares_of_truth(request: Request) -> list[Fraction]:
    """Return the probabilities of truth in requirements that randomised response can have."""
    shares = [p.code.partition("=")[2] for p in request.requirements if p.code.startswith("truth")]
    guess = Fraction(1, request.n + 1)
    return [share for share in map(Fraction, shares) if guess <= share < 1]


def _response(n: int, share: Fraction) -> Table:
    """Return randomised response that keeps the truth with this probability."""
    truth_weight, other_weight = share.numerator * n, share.denominator - share.numerator
    common = math.gcd(truth_weight, other_weight)
    codes = np.eye(n + 1, dtype=np.int64)
    return Table.from_codes([other_weight // common, truth_weight // common], codes)


def _middle(n: int) -> Table:
    """Return the middle of the range for every truth: either of two in an even range, near every truth."""
    row = [1 if abs(2 * j - n) <= 1 else 0 for j in range(n + 1)]
    return Table.from_rows([row] * (n + 1))
