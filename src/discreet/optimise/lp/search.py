"""The search for a design: stages of solving, so that one request has one answer, and its proof."""

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
from .certification import Proved, exact_vertex, repaired_table
from .program import NEGLIGIBLE, Program, Request, program_of
from .solver import InfeasibleDesign, Session, SolverFailed, Vertex, variable_cost

#: How small probabilities may get before they are tied to their neighbours; the next is tried where one fails.
TIED_BELOW = (NEGLIGIBLE, 1e-11, 1e-8, 0.0)

#: Another form of the program is tried where the answer is further than this from the bound, relatively.
ACCEPTED_GAP = 1e-7

#: The golden ratio spreads its multiples evenly over an interval: a weighting without accidental ties.
_GOLDEN_RATIO = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class ProvedDesign:
    """A proved table and a number no mechanism meeting the request can cost less than."""

    proved: Proved
    bound: float
    #: Where the solver ended, for neighbouring problems to start from.
    first: Vertex
    program: Program


def search(request: Request, epsilon: Fraction, start: ProvedDesign | None = None) -> ProvedDesign:
    """Solve, choose among the best, and prove.

    Raises
    ------
    InfeasibleDesign
        When no mechanism meets all requirements.
    """
    attempts: list[tuple[Program, Vertex, Vertex, float]] = []
    proofs: list[tuple[float, ProvedDesign]] = []
    unsettled: list[tuple[float, ProvedDesign]] = []
    tried: set[tuple[int, bool]] = set()
    trouble: Exception | None = None
    for program in _programs(request):
        form = (program.reach, program.scaled)
        if form in tried:
            continue
        if not program.scaled and attempts:
            break
        tried.add(form)
        try:
            session = Session(program, _warm(start, program))
            first, final, settled = stages(session)
        except (InfeasibleDesign, SolverFailed) as problem:
            # nothing was tied: that is the answer
            if program.reach == request.n and not isinstance(trouble, InfeasibleDesign):
                trouble = problem
            continue
        bound = _bound(session, first)
        proved = exact_vertex(program, final, epsilon)
        if proved is None and final is not first:  # less to choose by, and fewer inequalities held on to
            settled, proved = False, exact_vertex(program, first, epsilon)
        if proved is not None:
            cost = _cost(proved, request)
            (proofs if settled else unsettled).append((cost, ProvedDesign(proved, bound, first, program)))
            if settled and _is_close(cost, bound):
                break
        else:
            attempts.append((program, first, final, bound))
    if proofs or unsettled:
        cost, cheapest = min(proofs or unsettled, key=lambda proof: proof[0])
        bounds = [found.bound for _, found in proofs + unsettled]
        return replace(cheapest, bound=_best_bound(request, cost, bounds))
    for program, first, final, _ in attempts:
        proved = repaired_table(program, final, epsilon)
        if proved is not None:
            bound = _best_bound(request, _cost(proved, request), [attempt[3] for attempt in attempts])
            return ProvedDesign(proved, bound, first, program)
    # without the scaling the solver may overlook what is small: where that was all it found, and no table comes of it,
    # what it said of the scaled program stands
    if trouble is not None and not any(program.scaled for program, *_ in attempts):
        raise trouble
    raise SolverFailed(
        "an optimal mechanism was found in floating point, but no exact table near it could be proved. Ask for fewer "
        "requirements, or allow a little room in those with equality."
    )


def _bound(session: Session, vertex: Vertex) -> float:
    """What no mechanism that meets the request costs less than, by the dual values of the cheapest vertex."""
    program = session.program
    proved = lower_bound(program, vertex.duals, session.row_sizes, vertex.objective)
    return float_down(Fraction(proved) + program.offset)


def _is_close(cost: float, bound: float) -> bool:
    return cost - bound <= ACCEPTED_GAP * max(abs(cost), 1e-3)


def _best_bound(request: Request, cost: float, bounds: list[float]) -> float:
    """The best of these bounds; where none is close to the cost, also that of the program without the scaling.

    A dual value that is off by 1e-10 in a scaled program is off by 1e-10 / a^|i-j| in the probability itself, which is
    a lot where probabilities far from the truth need not be small.
    """
    best = max(bounds)
    if _is_close(cost, best):
        return best
    session = Session(program_of(request, negligible=0.0, scaled=False))
    try:
        return max(best, _bound(session, session.minimise(variable_cost(session.program))))
    except (InfeasibleDesign, SolverFailed):
        return best


def _programs(request: Request) -> Iterator[Program]:
    """The program in the forms to try: tied tails, then all free, then without the scaling.

    The last is for requirements under which probabilities cannot fall with the distance: the scaled ones then grow so
    large that the solver takes a request that can be met for one that cannot. What it answers counts if it is proved.
    """
    preferred = (PROPERTIES["RM"],)
    for negligible in TIED_BELOW:
        yield program_of(request, negligible=negligible, preferred=preferred)
    yield program_of(request, negligible=0.0, preferred=preferred, scaled=False)


def _cost(proved: Proved, request: Request) -> float:
    prior = None if request.weights is None else list(request.weights)
    return float(utility.cost(proved.table, request.loss, prior, request.weights is None))


def _warm(start: ProvedDesign | None, program: Program) -> Vertex | None:
    """Where a neighbouring problem ended, if it has the same shape."""
    if start is None or start.program.count != program.count or len(start.first.basic_rows) != _rows(program):
        return None
    return start.first


def _rows(program: Program) -> int:
    return sum(map(len, program.pairs)) + len(program.rows)


def stages(session: Session) -> tuple[Vertex, Vertex, bool]:
    """The vertex that is cheapest, the one that is chosen among all that are as cheap, and whether that is settled.

    Symmetric ones are preferred (the program sees to that), then row monotone ones, then those with the least mean
    absolute error, then one that a fixed generic weighting of the variables singles out. Where the solver fails at
    one of these the last vertex it found is as good, and only which of the best it is has been left to chance.
    """
    program = session.program
    cost = variable_cost(program)
    first = session.minimise(cost)
    if first.unique:
        return first, first, True
    chosen = first
    try:
        session.hold(first)
        errors = _absolute_errors(program)
        chosen = session.prefer(errors) or session.minimise(errors)
        if not chosen.unique:
            session.hold(chosen)
            chosen = session.minimise(1 + np.mod(np.arange(program.count) * _GOLDEN_RATIO, 1.0))
    except (SolverFailed, InfeasibleDesign):  # infeasible it cannot be: it has just been met
        return first, chosen, False
    return first, chosen, True


def _absolute_errors(program: Program) -> FloatArray:
    truths, reports = np.divmod(np.arange(program.size**2), program.size)
    cost = np.concatenate([np.abs(truths - reports) / program.size, np.zeros(len(program.auxiliary_size))])
    return variable_cost(program, cost)
