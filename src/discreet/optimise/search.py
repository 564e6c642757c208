"""The search for a design: stages of solving, so that one request has one answer, and its proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .. import utility
from ..exact.rationals import float_down
from ..properties import PROPERTIES
from .bounds import lower_bound
from .certification import Proved, exact_vertex, repaired_table
from .program import NEGLIGIBLE, Program, Request, program_of
from .solver import Infeasible, Session, SolverFailed, Vertex, variable_cost

FloatArray = NDArray[np.float64]

#: How small probabilities may get before they are tied to their neighbours; the next is tried where one fails.
TIES = (NEGLIGIBLE, 1e-11, 1e-8, 0.0)

#: Another form of the program is tried where the answer is further than this from the bound, relatively.
CLOSE = 1e-7

#: The golden ratio spreads its multiples evenly over an interval: a weighting without accidental ties.
_GENERIC = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class Found:
    """A proved table and a number no mechanism meeting the request can cost less than."""

    proved: Proved
    bound: float
    #: Where the solver ended, for neighbouring problems to start from.
    first: Vertex
    program: Program


def search(request: Request, epsilon: Fraction, start: Found | None = None) -> Found:
    """Solve, choose among the best, and prove.

    Raises
    ------
    Infeasible
        When no mechanism meets all requirements.
    """
    attempts: list[tuple[Program, Vertex, Vertex, float]] = []
    proofs: list[tuple[float, Found]] = []
    trouble: Exception | None = None
    for program in _programs(request):
        tied = program.reach < request.n
        if attempts and tied and program.reach == attempts[-1][0].reach:
            continue
        if not program.scaled and attempts:
            break
        try:
            session = Session(program, _warm(start, program))
            first, final = stages(session)
        except (Infeasible, SolverFailed) as problem:
            if not tied and not isinstance(trouble, Infeasible):  # nothing was tied: that is the answer
                trouble = problem
            continue
        bound = float_down(
            Fraction(lower_bound(program, first.prices, session.row_sizes, first.objective)) + program.offset
        )
        proved = exact_vertex(program, final, epsilon)
        if proved is not None:
            cost = _cost(proved, request)
            proofs.append((cost, Found(proved, bound, first, program)))
            if cost - bound <= CLOSE * max(abs(cost), 1e-3):
                break
        elif program.scaled or trouble is None:
            attempts.append((program, first, final, bound))
    if proofs:
        _, cheapest = min(proofs, key=lambda proof: proof[0])
        return replace(cheapest, bound=max(found.bound for _, found in proofs))
    best = max((attempt[3] for attempt in attempts), default=0.0)
    for program, first, final, _ in attempts:
        proved = repaired_table(program, final, epsilon)
        if proved is not None:
            return Found(proved, best, first, program)
    if trouble is not None and not attempts:
        raise trouble
    raise SolverFailed(
        "an optimal mechanism was found in floating point, but no exact table near it could be proved. Ask for fewer "
        "requirements, or allow a little room in those with equality."
    )


def _programs(request: Request) -> Iterator[Program]:
    """The program in the forms to try: tied tails, then all free, then without the scaling.

    The last is for requirements under which probabilities cannot fall with the distance: the scaled ones then grow so
    large that the solver takes a request that can be met for one that cannot. What it answers counts if it is proved.
    """
    preferred = (PROPERTIES["RM"],)
    for negligible in TIES:
        yield program_of(request, negligible=negligible, preferred=preferred)
    yield program_of(request, negligible=0.0, preferred=preferred, scaled=False)


def _cost(proved: Proved, request: Request) -> float:
    prior = None if request.weights is None else list(request.weights)
    return float(utility.cost(proved.table, request.loss, prior, request.weights is None))


def _warm(start: Found | None, program: Program) -> Vertex | None:
    """Where a neighbouring problem ended, if it has the same shape."""
    if start is None or start.program.count != program.count or len(start.first.basic_rows) != _rows(program):
        return None
    return start.first


def _rows(program: Program) -> int:
    return sum(map(len, program.pairs)) + len(program.rows)


def stages(session: Session) -> tuple[Vertex, Vertex]:
    """The vertex that is cheapest, and the one that is chosen among all that are as cheap.

    Symmetric ones are preferred (the program sees to that), then row monotone ones, then those with the least mean
    absolute error, then one that a fixed generic weighting of the variables singles out.
    """
    program = session.program
    cost = variable_cost(program)
    first = session.minimise(cost)
    if first.unique:
        return first, first
    session.hold(first)
    errors = _absolute_errors(program)
    chosen = session.prefer(errors) or session.minimise(errors)
    if not chosen.unique:
        session.hold(chosen)
        chosen = session.minimise(1 + np.mod(np.arange(program.count) * _GENERIC, 1.0))
    return first, chosen


def _absolute_errors(program: Program) -> FloatArray:
    truths, reports = np.divmod(np.arange(program.size**2), program.size)
    cost = np.concatenate([np.abs(truths - reports) / program.size, np.zeros(len(program.auxiliary_size))])
    return variable_cost(program, cost)
