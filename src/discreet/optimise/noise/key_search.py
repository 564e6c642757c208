"""The search for the best table in whole numbers of keys.

It solves the program of :mod:`.programs` in whole numbers. Branch and bound alone finds poor tables if there are many
keys. So tables are first built count by count (relax and fix): the law of one count is computed in whole numbers, with
those of later counts relaxed to real numbers, and then fixed. Branch and bound over all counts starts from the best of
these tables, improves it, and proves it optimal if it can. Finally each count in turn gets the law with the least
variance that does not change delta.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ...errors import Unsupported
from ...exact.laws import Finite
from ..lp.highs import Highs, LinearModel, SparseRows, Status
from ..lp.refinement import InfeasibleProgram
from .programs import NoiseProgram, NoiseRequirements, delta_of

#: The number of keys of each error, for each count.
KeyTable = tuple[dict[int, int], ...]

#: Maximum number of nodes of branch and bound; a limit in nodes gives the same answer on every machine. It is lower for
#: tables with more unknowns than :data:`_FEW_UNKNOWNS`, where a node takes longer and proves less.
MAX_NODES = 3000

#: Numbers of unknowns that count as few (reach 5), and up to which tables are built in every order (reach 9).
_FEW_UNKNOWNS, _MODERATE_UNKNOWNS = 121, 400

#: Maximum number of nodes for the law of one count, with the others fixed or relaxed.
_NODES_PER_COUNT = 50

#: Maximum seconds of one run, in case a slow machine does not reach the number of nodes.
_MAX_SECONDS = 40.0

#: Relative difference of deltas, in keys, that the solver ignores.
_SOLVER_GAP = 1e-6


@dataclass(frozen=True)
class _Outcome:
    """The answer of the solver: the values of all variables (None without any), a lower bound, and how it ended."""

    values: Sequence[float] | None
    bound: float
    finished: bool
    infeasible: bool


class _KeyProgram:
    """The noise program in a solver for whole numbers: each count's law may be fixed, in whole keys, or relaxed."""

    def __init__(self, requirements: NoiseRequirements, keys: int) -> None:
        self.requirements, self.keys = requirements, keys
        program = NoiseProgram(requirements)
        rows, sides, unknown = program.tables()
        self.size, self.delta = len(unknown), program.delta
        self._columns = {n: {z: program.place(n, z) for z in requirements.errors(n)} for n in requirements.counts}
        self.unknowns = sum(unknown)
        nothing, right = np.zeros(self.size), np.array([float(b * keys) for b in sides])
        coefficients = SparseRows.of(
            np.cumsum([0, *(len(row) for row in rows)]),
            [j for row in rows for j in row],
            np.array([float(a) for row in rows for a in row.values()]),
        )
        self._solver = Highs({"mip_rel_gap": _SOLVER_GAP, "random_seed": 1})
        self._solver.load(LinearModel(nothing, nothing, np.full(self.size, np.inf), coefficients, right, right))

    def solve(
        self,
        whole: Collection[int],
        fixed: Mapping[int, Mapping[int, int]],
        nodes: int,
        *,
        most: float = math.inf,
        least_variance_of: int | None = None,
        start: Sequence[float] | None = None,
    ) -> _Outcome:
        """Return the least delta with the laws of ``whole`` in whole keys, those in ``fixed``, and the others relaxed.

        Parameters
        ----------
        most
            The largest delta, in keys.
        least_variance_of
            Minimise the variance of this count instead of delta.
        start
            Values of all variables to start from.
        """
        cost, lower, upper = np.zeros(self.size), np.zeros(self.size), np.full(self.size, np.inf)
        in_whole_keys = np.zeros(self.size, dtype=bool)
        lower[self.delta], upper[self.delta] = 1.0, most  # no table has a delta below one key
        if least_variance_of is None:
            cost[self.delta] = 1.0
        for n, columns in self._columns.items():
            for z, j in columns.items():
                if n in fixed:
                    lower[j] = upper[j] = fixed[n].get(z, 0)
                elif n in whole:
                    in_whole_keys[j] = True
                if n == least_variance_of:
                    cost[j] = z * z
        solver = self._solver
        solver.forget()
        solver.change_columns(cost, lower, upper, in_whole_keys)
        # the solver's presolve does not end on some programs for one count, with any limits
        solver.set_options(mip_max_nodes=nodes, presolve="choose" if least_variance_of is None else "off")
        if start is not None:
            solver.start_with(start)
        status = solver.run(seconds=_MAX_SECONDS)
        point = solver.integer_point()
        return _Outcome(point.values, point.bound, status is Status.OPTIMAL, status is Status.INFEASIBLE)

    def row(self, values: Sequence[float], count: int) -> dict[int, int]:
        return {z: round(values[j]) for z, j in self._columns[count].items()}

    def table(self, values: Sequence[float]) -> KeyTable | None:
        """Return the table of a solution in whole numbers, if it meets the requirements; else None."""
        rows = tuple(self.row(values, n) for n in self.requirements.counts)
        return rows if meets_requirements(rows, self.requirements, self.keys) else None

    def relax_and_fix(self, order: Sequence[int]) -> KeyTable | None:
        """Return the table built in this order of counts, each in whole keys with those after it relaxed."""
        fixed: dict[int, dict[int, int]] = {}
        outcome = None
        for n in order:
            outcome = self.solve({n}, fixed, _NODES_PER_COUNT)
            if outcome.values is None:
                return None
            fixed[n] = self.row(outcome.values, n)
        assert outcome is not None and outcome.values is not None
        return self.table(outcome.values)


def meets_requirements(rows: KeyTable, requirements: NoiseRequirements, keys: int) -> bool:
    """Return whether a table on keys meets the requirements: all keys used, zero bias, stay and variance in limits."""
    for n, row in zip(requirements.counts, rows, strict=True):
        bias, square = sum(z * w for z, w in row.items()), sum(z * z * w for z, w in row.items())
        if min(row.values()) < 0 or sum(row.values()) != keys or (requirements.unbiased(n) and bias):
            return False
        if requirements.variance is not None and square > requirements.variance * keys:
            return False
        if requirements.stay is not None and 0 in row and row[0] < requirements.stay * keys:
            return False
    return True


def laws_of(rows: Sequence[Mapping[int, int]]) -> tuple[Finite, ...]:
    """Return the laws of a table on keys."""
    weights = [{z: w for z, w in row.items() if w} for row in rows]
    return tuple(Finite(min(row), [row.get(z, 0) for z in range(min(row), max(row) + 1)]) for row in weights)


def value_of(rows: Sequence[Mapping[int, int]], requirements: NoiseRequirements) -> Fraction:
    """Return the delta of a table on keys at the program's E, exactly."""
    return delta_of(laws_of(rows), requirements)


def widened(rows: Sequence[Mapping[int, int]], requirements: NoiseRequirements) -> KeyTable:
    """Return a table of fewer counts and a shorter reach as one of these counts and this reach."""
    return tuple(
        {z: rows[min(n - requirements.first, len(rows) - 1)].get(z, 0) for z in requirements.errors(n)}
        for n in requirements.counts
    )


def best_table(requirements: NoiseRequirements, keys: int, known: KeyTable | None = None) -> tuple[KeyTable, bool]:
    """Return the best table of the search on this many keys, and whether it is proved optimal.

    Parameters
    ----------
    known
        A table to start from; the result is not worse.

    Raises
    ------
    InfeasibleProgram
        If no table on these keys meets the requirements.
    """
    free = _KeyProgram(requirements, keys)
    best = known
    for program, order in _ways(free, known is not None):
        if best is not None and value_of(best, requirements) * keys <= 1:
            break
        candidate = program.relax_and_fix(order)
        if candidate is not None and (best is None or value_of(candidate, requirements) < value_of(best, requirements)):
            best = candidate
    start = None
    if best is not None:
        start = free.solve((), dict(zip(requirements.counts, best, strict=True)), 1).values
    outcome = free.solve(
        requirements.counts, {}, math.ceil(MAX_NODES * min(1, _FEW_UNKNOWNS / free.unknowns) ** 2), start=start
    )
    if outcome.infeasible and best is None:
        raise InfeasibleProgram()
    improved = None if outcome.values is None else free.table(outcome.values)
    if improved is not None and (best is None or value_of(improved, requirements) < value_of(best, requirements)):
        best = improved
    if best is None:
        raise Unsupported(f"no table on {keys} keys was found.", "Allow more keys, a larger reach or a smaller stay.")
    value = float(value_of(best, requirements) * keys)
    bound = outcome.bound * (1 + _SOLVER_GAP) + _SOLVER_GAP if outcome.finished else 1 + _SOLVER_GAP
    return _with_less_variance(best, requirements, keys), value <= max(bound, 1 + _SOLVER_GAP)


def _ways(free: _KeyProgram, one_is_known: bool) -> Iterator[tuple[_KeyProgram, Sequence[int]]]:
    """Yield programs and orders of counts for building tables: all of them, or two, or none if that takes long."""
    up, requirements = free.requirements.counts, free.requirements
    even = free if requirements.symmetric or requirements.largest else _symmetric(requirements, free.keys)
    if one_is_known and free.unknowns > _FEW_UNKNOWNS:
        return
    yield even, up[::-1]
    if free.unknowns <= _MODERATE_UNKNOWNS:
        yield even, up
        if even is not free:
            yield free, up[::-1]
    if even is not free or free.unknowns > _MODERATE_UNKNOWNS:
        yield free, up


def _symmetric(requirements: NoiseRequirements, keys: int) -> _KeyProgram:
    return _KeyProgram(replace(requirements, symmetric=True), keys)


def _with_less_variance(rows: KeyTable, requirements: NoiseRequirements, keys: int) -> KeyTable:
    """Return a table with the same delta and less noise: each count in turn gets the law with the least variance.

    This matters most for a true 0, which may be biased: nothing else keeps its reports near 0.
    """
    worst = value_of(rows, requirements)
    even = not requirements.largest and laws_of(rows)[-1].symmetric
    program = _symmetric(requirements, keys) if even else _KeyProgram(requirements, keys)
    table = list(rows)
    for k, n in enumerate(requirements.counts):
        others = {m: row for m, row in zip(requirements.counts, table, strict=True) if m != n}
        limit = float(worst * keys) * (1 + 1e-12)
        outcome = program.solve({n}, others, _NODES_PER_COUNT, most=limit, least_variance_of=n)
        if outcome.values is None:
            continue
        candidate = [*table[:k], program.row(outcome.values, n), *table[k + 1 :]]
        if (
            _square(candidate[k]) < _square(table[k])
            and meets_requirements(tuple(candidate), requirements, keys)
            and value_of(candidate, requirements) <= worst
        ):
            table = candidate
    return tuple(table)


def _square(row: Mapping[int, int]) -> int:
    return sum(z * z * w for z, w in row.items())
