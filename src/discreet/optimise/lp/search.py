"""The search for a design: stages of solving, so that a request has one answer, and its proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ... import utility
from ...exact.arrays import FloatArray
from ...exact.rationals import float_down
from ...properties import PROPERTIES
from .bounds import lower_bound
from .certification import CertifiedTable, exact_vertex, repaired_table
from .program import NEGLIGIBLE, Program, Request, program_of
from .solver import InfeasibleDesign, SolverFailed, SolverSession, Vertex, variable_cost

#: Probabilities below which entries are tied to their neighbours; if one fails, the next is tried.
TIED_BELOW = (NEGLIGIBLE, 1e-11, 1e-8, 0.0)

#: Largest relative gap between cost and bound at which no other form of the program is tried.
ACCEPTED_GAP = 1e-7

#: The golden ratio spreads its multiples evenly over an interval: a weighting without accidental ties.
_GOLDEN_RATIO = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class CertifiedDesign:
    """A certified table, and a lower bound of the cost of all mechanisms that meet the request."""

    certified: CertifiedTable
    bound: float
    #: The solver's last vertex, from which neighbouring problems start.
    first: Vertex
    program: Program


def search(request: Request, epsilon: Fraction, start: CertifiedDesign | None = None) -> CertifiedDesign:
    """Solve, choose among the best, and prove.

    Raises
    ------
    InfeasibleDesign
        If no mechanism meets all requirements.
    """
    attempts: list[tuple[Program, Vertex, Vertex, float]] = []
    proofs: list[tuple[float, CertifiedDesign]] = []
    unsettled: list[tuple[float, CertifiedDesign]] = []
    forms: set[tuple[int, bool]] = set()
    failure: Exception | None = None
    for program in _programs(request):
        form = (program.reach, program.scaled)
        if form in forms:
            continue
        if not program.scaled and attempts:
            break
        forms.add(form)
        try:
            session = SolverSession(program, _warm(start, program))
            first, final, settled = stages(session)
        except (InfeasibleDesign, SolverFailed) as problem:
            # no entries were tied: that is the answer
            if program.reach == request.n and not isinstance(failure, InfeasibleDesign):
                failure = problem
            continue
        bound = _bound(session, first)
        certified = exact_vertex(program, final, epsilon)
        if certified is None and final is not first:  # fewer inequalities are held, and the choice is not settled
            settled, certified = False, exact_vertex(program, first, epsilon)
        if certified is not None:
            cost = _cost(certified, request)
            (proofs if settled else unsettled).append((cost, CertifiedDesign(certified, bound, first, program)))
            if settled and _is_close(cost, bound):
                break
        else:
            attempts.append((program, first, final, bound))
    if proofs or unsettled:
        cost, cheapest = min(proofs or unsettled, key=lambda proof: proof[0])
        bounds = [design.bound for _, design in proofs + unsettled]
        return replace(cheapest, bound=_best_bound(request, cost, bounds))
    for program, first, final, _ in attempts:
        certified = repaired_table(program, final, epsilon)
        if certified is not None:
            bound = _best_bound(request, _cost(certified, request), [attempt[3] for attempt in attempts])
            return CertifiedDesign(certified, bound, first, program)
    # without the scaling the solver may overlook small numbers: if only that program had a solution, and no table comes
    # of it, the answer for the scaled program holds
    if failure is not None and not any(program.scaled for program, *_ in attempts):
        raise failure
    raise SolverFailed(
        "an optimal mechanism was found in floating point, but no exact table near it could be proved. Ask for fewer "
        "requirements, or allow a little room in those with equality."
    )


def _bound(session: SolverSession, vertex: Vertex) -> float:
    """Return a lower bound of the cost for this request, from the dual values of the cheapest vertex."""
    program = session.program
    bound = lower_bound(program, vertex.duals, session.row_sizes, vertex.objective)
    return float_down(Fraction(bound) + program.offset)


def _is_close(cost: float, bound: float) -> bool:
    return cost - bound <= ACCEPTED_GAP * max(abs(cost), 1e-3)


def _best_bound(request: Request, cost: float, bounds: list[float]) -> float:
    """Return the best of these bounds; if none is close to the cost, also that of the program without the scaling.

    A dual value that is off by 1e-10 in a scaled program is off by 1e-10 / a^|i-j| in the probability itself, which is
    large if probabilities far from the truth need not be small.
    """
    best = max(bounds)
    if _is_close(cost, best):
        return best
    session = SolverSession(program_of(request, negligible=0.0, scaled=False))
    try:
        return max(best, _bound(session, session.minimise(variable_cost(session.program))))
    except (InfeasibleDesign, SolverFailed):
        return best


def _programs(request: Request) -> Iterator[Program]:
    """Yield the program in the forms to try: tied tails, then all free, then without the scaling.

    The last is for requirements under which probabilities cannot fall with the distance: the scaled ones then grow so
    large that the solver takes a feasible request for an infeasible one. Its answer counts if it is proved.
    """
    preferred = (PROPERTIES["RM"],)
    for negligible in TIED_BELOW:
        yield program_of(request, negligible=negligible, preferred=preferred)
    yield program_of(request, negligible=0.0, preferred=preferred, scaled=False)


def _cost(certified: CertifiedTable, request: Request) -> float:
    prior = None if request.weights is None else list(request.weights)
    return float(utility.cost(certified.table, request.loss, prior, request.weights is None))


def _warm(start: CertifiedDesign | None, program: Program) -> Vertex | None:
    """Return the last vertex of a neighbouring problem, if it has the same shape."""
    if start is None or start.program.count != program.count or len(start.first.basic_rows) != _rows(program):
        return None
    return start.first


def _rows(program: Program) -> int:
    return sum(map(len, program.pairs)) + len(program.rows)


def stages(session: SolverSession) -> tuple[Vertex, Vertex, bool]:
    """Return the cheapest vertex, the one chosen among all equally cheap ones, and whether the choice is settled.

    Symmetric ones are preferred (by the form of the program), then row monotone ones, then those with the least mean
    absolute error, then the one that a fixed generic weighting of the variables singles out. If the solver fails at a
    stage, its last vertex is equally cheap, but the choice among these depends on the solver.
    """
    program = session.program
    cost = variable_cost(program)
    first = session.minimise(cost)
    if first.unique:
        return first, first, True
    preferred = first
    try:
        session.hold(first)
        errors = _absolute_errors(program)
        preferred = session.prefer(errors) or session.minimise(errors)
        if not preferred.unique:
            session.hold(preferred)
            preferred = session.minimise(1 + np.mod(np.arange(program.count) * _GOLDEN_RATIO, 1.0))
    except (SolverFailed, InfeasibleDesign):  # it cannot be infeasible: a vertex has just met it
        return first, preferred, False
    return first, preferred, True


def _absolute_errors(program: Program) -> FloatArray:
    truths, reports = np.divmod(np.arange(program.size**2), program.size)
    cost = np.concatenate([np.abs(truths - reports) / program.size, np.zeros(len(program.auxiliary_size))])
    return variable_cost(program, cost)
