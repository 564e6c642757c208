"""Why a request cannot be met: a smallest set of requirements that clash."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from .. import properties
from ..errors import Conflict
from ..exact.rationals import log_bounds, text_up
from ..properties import Property
from .bounds import impossible
from .certification import exact_table, prove
from .program import Program, Request, program_of
from .solver import Infeasible, Session, SolverFailed, Vertex


def feasible(request: Request, *, private: bool = True) -> bool:
    """Whether some mechanism meets the request, as far as floats can tell."""
    for scaled in (True, False):
        program = program_of(request, negligible=0.0, private=private, scaled=scaled)
        try:
            vertex = Session(program).minimise(np.zeros(program.count))
        except (Infeasible, SolverFailed):
            continue
        # without the scaling the solver may overlook what is small, so there it is not taken at its word
        if scaled or _stands(program, vertex, private):
            return True
    return False


def _stands(program: Program, vertex: Vertex, private: bool) -> bool:
    """Whether the exact table behind a vertex has everything that was asked for."""
    table = exact_table(program, vertex)
    if table is None:
        return False
    request = program.request
    if private:
        return prove(table, request, log_bounds(1 / request.alpha)[1]) is not None
    return not request.requirements or all(properties.check(table, request.requirements).values())


def proved(request: Request, *, private: bool) -> bool:
    """Whether a combination of the inequalities contradicts itself: then no mechanism meets the request.

    The solver's word is not taken for it: its combination is added up again, with a bound on every rounding.
    """
    for scaled in (True, False):
        session = Session(program_of(request, negligible=0.0, private=private, scaled=scaled))
        try:
            session.minimise(np.zeros(session.program.count))
        except Infeasible:
            found = session.contradiction()
            # where a zero far out makes all of a column zero, the solver's prices overflow, and none are needed
            totals = np.zeros(session.rows)
            totals[-len(session.program.rows) :] = [row.label == "total" for row in session.program.rows]
            for prices in (totals,) if found is None else (found, totals):
                if impossible(session.program, prices, session.row_sizes):
                    return True
        except SolverFailed:
            continue
    return False


def irreducible(request: Request) -> tuple[bool, tuple[Property, ...]]:
    """A set of requirements that no mechanism meets, though one meets them with any one left out.

    Each requirement is left out in turn, for good if the rest still clash. Returns whether privacy is part of the set,
    and the others.
    """
    kept = list(request.requirements)
    private = feasible(replace(request, requirements=tuple(kept)), private=False)
    for prop in request.requirements:
        fewer = tuple(p for p in kept if p is not prop)
        if not feasible(replace(request, requirements=fewer), private=private):
            kept = list(fewer)
    return private, tuple(kept)


def conflict(request: Request) -> Conflict:
    """The error for a request that cannot be met."""
    private, clashing = irreducible(request)
    named = [privacy_in_words(request)] if private else []
    named += [f"{p.code} ({p.name})" for p in clashing]
    codes = (("privacy",) if private else ()) + tuple(p.code for p in clashing)
    hint = "Leave one of them out or loosen it"
    if private and not request.delta and any(p.code.startswith(("support", "zeros")) for p in clashing):
        hint += "; a probability of zero is only private with a delta above 0"
    certain = proved(replace(request, requirements=clashing), private=private)
    verdict = "has" if certain else "was found that has"
    doubt = "" if certain else " (The solver finds none; that there is none is not proved.)"
    return Conflict(
        f"no mechanism on the counts 0..{request.n} {verdict} all of these together: {'; '.join(named)}.{doubt} "
        f"Any one of them can be had without the others. {hint}.",
        codes,
        proved=certain,
    )


def privacy_in_words(request: Request) -> str:
    alpha = request.alpha
    shown = str(alpha) if alpha.denominator < 10**9 else format(float(alpha), ".9g")
    delta = f", delta = {text_up(float(Fraction(request.delta)))}" if request.delta else ""
    return f"alpha = {shown}{delta} (privacy)"
