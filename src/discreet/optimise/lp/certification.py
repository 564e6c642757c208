"""From a solver's vertex to a certified table: the exact vertex if it passes, else the repaired table.

The optimiser is not trusted. A table passes if the judge finds it private and :func:`discreet.check` finds every
requirement met, both in integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ...checking import check
from ...errors import InvalidInput, NotPrivate
from ...exact.tables import Table
from ...privacy.certificate import Certificate, certify
from ...spaces import Counts
from .interior import repaired
from .program import Program, Request
from .solver import Vertex, place_scales
from .vertex import NoVertex, Ties, fixed_values, in_rows, rational_values, ties_of

#: Bits of the fixed-point vertex that is repaired.
FIXED_BITS = 320

#: Shares of the interior mechanism that are tried, as powers of two: two to the minus this.
MIXING_EXPONENTS = (96, 64, 48, 40, 37, 34, 33, 32, 31, 30, 28, 27, 24, 21, 18, 15, 12, 10)

VERTEX, REPAIRED = "rational vertex", "mixed and rounded"


@dataclass(frozen=True, eq=False)
class CertifiedTable:
    """A table that passed, its certificate from the judge, and the kind of proof."""

    table: Table
    certificate: Certificate
    how: str
    #: The share of the interior mechanism in the mixture.
    mixing: Fraction = Fraction(0)


def prove(table: Table, request: Request, epsilon: Fraction) -> Certificate | None:
    """Return the certificate of a table if its privacy is as requested and all requirements hold; else None.

    Parameters
    ----------
    epsilon
        The epsilon to certify, at least log(1/alpha): only used together with a delta.
    """
    space = Counts(request.n)
    try:
        if request.delta:
            certificate = certify(table, space, epsilon=epsilon, delta=request.delta)
        else:
            certificate = certify(table, space, ratio=1 / request.alpha)
    except NotPrivate:
        return None
    if request.requirements and not all(check(table, request.requirements).values()):
        return None
    return certificate


def exact_vertex(program: Program, vertex: Vertex, epsilon: Fraction) -> CertifiedTable | None:
    """Return the rational vertex behind a solver's answer, if it passes."""
    table = exact_table(program, vertex)
    if table is None:
        return None
    certificate = prove(table, program.request, epsilon)
    return None if certificate is None else CertifiedTable(table, certificate, VERTEX)


def exact_table(program: Program, vertex: Vertex) -> Table | None:
    """Return the rational table that a solver's basis determines, without a proof, or None."""
    try:
        weights, _ = rational_values(ties_of(program, vertex))
        table = Table.from_rows(in_rows(program, weights))
    except (NoVertex, InvalidInput):  # not determined, or with negative entries
        return None
    return None if table.common_total is None else table.reduced()


def repaired_table(program: Program, vertex: Vertex, epsilon: Fraction) -> CertifiedTable | None:
    """Return the nearest table inside all inequalities that passes, with the smallest share mixed in."""
    rows = in_rows(program, _nearly(program, vertex))
    request = program.request
    for mixing in MIXING_EXPONENTS:
        try:
            table = repaired(
                rows, FIXED_BITS, request.alpha, mixing, mirrored=program.mirrored, fair="F" in request.codes
            )
        except InvalidInput:  # negative entries
            continue
        certificate = prove(table, request, epsilon)
        if certificate is not None:
            return CertifiedTable(table, certificate, REPAIRED, Fraction(1, 1 << mixing))
    return None


def _nearly(program: Program, vertex: Vertex) -> list[int]:
    """Return the vertex by entry in units of ``2**-FIXED_BITS``: refined if its basis determines it, else floats."""
    ties: Ties = ties_of(program, vertex)
    try:
        return fixed_values(ties, FIXED_BITS)
    except NoVertex:
        scales = place_scales(program)[: program.size**2]
        floats = vertex.values[program.variable[: program.size**2]] * scales
        return [int(Fraction(p) * (1 << FIXED_BITS)) for p in floats.tolist()]
