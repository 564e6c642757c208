"""Infeasible requests: a smallest set of requirements that clash."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...errors import Conflict, named
from ...exact.arrays import FloatArray
from ...exact.rationals import text_up
from ...properties import Property
from ...requirements import resolve
from ...wording import listed
from ..lp.bounds import impossible
from ..lp.certification import exact_table
from ..lp.program import Request, program_of
from ..lp.solver import InfeasibleDesign, SolverFailed, SolverSession, variable_cost
from .members import is_met_by_a_member, meets

#: Largest n for which the message names the least possible limit: each step of the search is a linear program.
MAX_ADVISED_N = 20


def feasible(request: Request, *, private: bool = True) -> bool:
    """Return whether some mechanism meets the request, by a known mechanism or as far as floats show."""
    if is_met_by_a_member(request, private=private):
        return True
    for session, cost in _sessions(request, private):
        try:
            vertex = session.minimise(cost)
        except InfeasibleDesign:
            continue
        except SolverFailed:
            if _has_shortage(session):
                return False
            continue
        # without the scaling the solver may overlook small numbers, so its answer is checked there
        program = session.program
        table = None if program.scaled else exact_table(program, vertex)
        if program.scaled or (table is not None and meets(table, request, private=private)):
            return True
    return False


def _sessions(request: Request, private: bool) -> Iterator[tuple[SolverSession, FloatArray]]:
    """Yield the program in its two scalings, each with an objective of zero and, if that stalls, with its own.

    Without an objective all vertices are equally good, which is fast unless the solver cycles among them.
    """
    for scaled in (True, False):
        program = program_of(request, negligible=0.0, private=private, scaled=scaled)
        for cost in (np.zeros(program.count), variable_cost(program)):
            session = SolverSession(program)
            yield session, cost
            if not session.stalled:
                break


def is_proved_infeasible(request: Request, *, private: bool) -> bool:
    """Return whether a Farkas certificate proves that no mechanism meets the request.

    The solver is not trusted: its combination of the inequalities is added up again, with a bound on every rounding.
    """
    for session, cost in _sessions(request, private):
        try:
            session.minimise(cost)
        except InfeasibleDesign:
            ray = session.farkas_certificate()
            # if a distant zero makes a whole column zero, the solver's dual values overflow, and none are needed
            totals = np.zeros(session.rows)
            totals[-len(session.program.rows) :] = [row.label == "total" for row in session.program.rows]
            for duals in (totals,) if ray is None else (ray, totals):
                if impossible(session.program, duals, session.row_sizes):
                    return True
        except SolverFailed:
            if _has_shortage(session):
                return True
    for scaled in (False, True):
        if _has_shortage(SolverSession(program_of(request, negligible=0.0, private=private, scaled=scaled))):
            return True
    return False


def _has_shortage(session: SolverSession) -> bool:
    """Return whether the least shortage of a program proves it infeasible."""
    shortage = session.shortage()
    return shortage is not None and impossible(session.program, shortage, session.row_sizes)


def irreducible(request: Request) -> tuple[bool, tuple[Property, ...]]:
    """Return an infeasible set of requirements that becomes feasible without any one of them.

    Each requirement is left out in turn, and stays out if the rest still clash. Returns whether privacy is part of the
    set, and the other requirements.
    """
    remaining = list(request.requirements)
    private = feasible(replace(request, requirements=tuple(remaining)), private=False)
    for prop in request.requirements:
        fewer = tuple(p for p in remaining if p is not prop)
        if not feasible(replace(request, requirements=fewer), private=private):
            remaining = list(fewer)
    return private, tuple(remaining)


def conflict(request: Request) -> Conflict:
    """Return the error for a request that cannot be met."""
    private, clashing = irreducible(request)
    clashes = [privacy_in_words(request)] if private else []
    clashes += [f"{p.code} ({p.name})" for p in clashing]
    codes = (("privacy",) if private else ()) + tuple(p.code for p in clashing)
    hint = _advice(request, private, clashing)
    certain = is_proved_infeasible(replace(request, requirements=clashing), private=private)
    verdict = "is infeasible" if len(clashes) == 1 else "are infeasible together"
    doubt = "" if certain else " (the solver finds no mechanism; this is not a proof)"
    return Conflict(
        f"{listed(clashes)} {verdict} on the counts 0..{request.n}{doubt}.", f"{hint}.", codes, proved=certain
    )


def _advice(request: Request, private: bool, clashing: tuple[Property, ...]) -> str:
    """Return the advice of the message: the least possible limit if it is quick to compute."""
    if request.n <= MAX_ADVISED_N:
        for prop in clashing:
            if (least := least_possible(request, prop)) is not None:
                return f"The least possible is {least}: ask for that, or leave one of them out"
    advice = "Leave one of them out, or loosen one"
    if private and not request.delta and any(p.code.startswith(("support", "zeros")) for p in clashing):
        advice += f" (a probability of zero needs a {named('delta')} above 0)"
    return advice


def least_possible(request: Request, limited: Property) -> str | None:
    """Return the least feasible limit on the bias or the mean squared error, such as "mse<=3.05".

    All else in the request stays. Bisection to three digits, rounded up, as far as floats show. None for requirements
    of another kind, and if no limit helps.
    """
    largest = {"bias": Fraction(request.n), "mse": Fraction(request.n**2)}
    name, _, limit = limited.code.partition("<=")
    others = tuple(prop for prop in request.requirements if prop is not limited)
    if name not in largest or not feasible(replace(request, requirements=others)):
        return None
    low, high = Fraction(limit), largest[name]
    while high - low > high / 2000:
        middle = (low + high) / 2
        possible = feasible(replace(request, requirements=(*others, *resolve([f"{name}<={middle}"]))))
        low, high = (low, middle) if possible else (middle, high)
    return f"{name}<={text_up(float(high), 3)}"


def privacy_in_words(request: Request) -> str:
    """Return the requested privacy as the user gave it."""
    alpha = request.alpha
    words = f"alpha = {alpha}" if alpha.denominator < 10**9 else f"alpha = {float(alpha):.9g}"
    delta = f", delta = {text_up(float(Fraction(request.delta)))}" if request.delta else ""
    return f"{request.privacy_given or words}{delta} (privacy)"
