"""The best table on K keys: probabilities that are whole multiples of 1/K, with the least true delta.

Rounding an optimal table to K keys costs far more than 1/K: what was zero excess becomes a positive one in every line.
So nothing is rounded. The program of :mod:`.bounded_programs` is solved with whole numbers of keys as its unknowns, by
branch and bound. A table on K keys has delta >= 1/K, as its outermost report has at least one key; where the best real
table is far below that, a shorter reach is enough, and the search is over these first.

With a million keys and more a key is so little that rounding does cost next to nothing; the best real table is then
rounded, with zero bias kept, and improved key by key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import Unsupported
from ..exact.laws import Finite
from ..mechanisms.bounded import moment
from .bounded_programs import NoiseProgram, Wanted, delta_of
from .refinement import Infeasible

#: Branch and bound stops after this many nodes, so that the same question has the same answer everywhere.
NODES = 3000

#: And, on a machine so slow that this comes first, after so many seconds.
_SECONDS = 40.0

#: From this many keys on the best real table is rounded and improved step by step: the solver's numbers end there.
_FINE = 2**20

#: So many steps of improvement are taken at most.
_STEPS = 400

#: Beyond this many keys whole numbers are as fine as real ones to the solver.
_MANY = 2**40


@dataclass(frozen=True)
class Rounded:
    """Laws on K keys, their true delta at the program's E, and whether the search proved that none is better."""

    laws: tuple[Finite, ...]
    weights: tuple[dict[int, int], ...]
    value: Fraction
    proved: bool


def best_on_keys(
    wanted_for: Callable[[int], Wanted], reach: int, keys: int, progress: Callable[[str], None] | None = None
) -> Rounded:
    """The best table with noise up to ``reach`` on so many keys.

    Parameters
    ----------
    wanted_for
        What is wanted, for each reach.
    progress
        Told in a few words what is being done.
    """
    if keys > _MANY:
        raise Unsupported(f"at most 2^40 keys are searched; got {keys}.")
    best: Rounded | None = None
    problem: Unsupported | None = None
    for shorter in _reaches(wanted_for, reach, keys):
        if progress is not None:
            progress(f"noise up to {shorter} on {keys} keys")
        try:
            found = (_rounded if keys >= _FINE else _search)(wanted_for(shorter), keys)
        except Unsupported as failure:
            problem = failure
            continue
        if best is None or found.value < best.value:
            best = found
        # the search over a shorter reach proves nothing about tables that reach further
        best = replace(best, proved=found.proved and shorter == reach)
        if best.value * keys <= 1 + Fraction(1, 10**6):  # no table on these keys is better
            best = replace(best, proved=True)
            break
    if best is None:
        raise problem or Infeasible("no choice satisfies all constraints.")
    return best


def _reaches(wanted_for: Callable[[int], Wanted], reach: int, keys: int) -> list[int]:
    """The reaches to try: the shortest whose best real delta is below one key, one more, and the whole reach.

    All give way to the whole reach alone where even that is above one key.
    """
    for shorter in range(wanted_for(reach).js + 1, reach):
        try:
            least = NoiseProgram(wanted_for(shorter)).least_delta().cost
        except Unsupported:
            continue
        if least * keys <= 1:
            return list(dict.fromkeys([shorter, min(shorter + 1, reach), reach]))
    return [reach]


def _rounded(wanted: Wanted, keys: int) -> Rounded:
    """The best real table rounded to so many keys, with zero bias kept."""
    program = NoiseProgram(wanted)
    laws = program.laws_on(program.least_delta(), keys)
    if laws is None or (wanted.variance is not None and any(moment(law, 2) > wanted.variance for law in laws)):
        raise Unsupported(f"rounding to {keys} keys does not keep what is wanted.")
    weights = [{z: law.weights[z - law.low] if law.low <= z <= law.high else 0 for z in wanted.errors(n)}
               for n, law in zip(wanted.counts, laws, strict=True)]  # fmt: skip
    _improve(weights, wanted, keys)
    return _finished(weights, wanted, False)


def _finished(weights: Sequence[Mapping[int, int]], wanted: Wanted, proved: bool) -> Rounded:
    kept = tuple({z: w for z, w in row.items() if w} for row in weights)
    laws = tuple(Finite(min(row), [row.get(z, 0) for z in range(min(row), max(row) + 1)]) for row in kept)
    return Rounded(laws, kept, delta_of(laws, wanted), proved)


def _improve(weights: list[dict[int, int]], wanted: Wanted, keys: int) -> None:
    """Move single keys as long as the worst pair of counts gets better and no other becomes as bad as it was.

    Moving a key from a to a + 1 and another from b to b - 1 keeps the sum and the mean. The shared law stays symmetric:
    it is left as it is.
    """
    e, last = math.exp(float(wanted.epsilon)), len(weights) - 1
    floor = 0 if wanted.stay is None else math.ceil(wanted.stay * keys)
    ceiling = math.inf if wanted.variance is None else wanted.variance * keys

    def excess(k: int) -> float:
        """The larger of the two excesses between the counts k and k + 1, in keys."""
        here, there = weights[k], weights[min(k + 1, last)]
        down = sum(max(w - e * there.get(z - 1, 0), 0.0) for z, w in here.items())
        return max(down, sum(max(w - e * here.get(z + 1, 0), 0.0) for z, w in there.items()))

    for _ in range(_STEPS):
        values = [excess(k) for k in range(last + 1)]
        worst = max(range(last + 1), key=values.__getitem__)
        if not any(_step(weights, row, excess, values, floor, ceiling) for row in {worst, worst + 1} if row < last):
            break


def _step(
    weights: list[dict[int, int]], row: int, excess: Callable[[int], float], values: list[float], floor: int, most: Any
) -> bool:
    """One better move in this row, if there is one."""
    law, before = weights[row], max(values)
    pairs = [k for k in (row - 1, row) if k >= 0]
    for a in [z for z in law if z + 1 in law]:
        for b in [z for z in law if z - 1 in law]:
            for z, change in ((a, -1), (a + 1, 1), (b, -1), (b - 1, 1)):
                law[z] += change
            allowed = min(law.values()) >= 0 and (0 not in law or law[0] >= floor)
            if (
                allowed
                and sum(z * z * w for z, w in law.items()) <= most
                and all(excess(k) < before - 1e-3 for k in pairs)
            ):
                return True
            for z, change in ((a, 1), (a + 1, -1), (b, 1), (b - 1, -1)):
                law[z] += change
    return False


def _search(wanted: Wanted, keys: int) -> Rounded:
    """Branch and bound over whole numbers of keys."""
    import highspy

    program = NoiseProgram(wanted)
    rows, sides, unknown = program.tables()
    size = len(unknown)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = size, len(rows)
    model.col_cost_ = np.array([1.0 if j == program.delta else 0.0 for j in range(size)])
    model.col_lower_ = np.array([1.0 if j == program.delta else 0.0 for j in range(size)])  # delta is at least a key
    model.col_upper_ = np.full(size, np.inf)
    kinds = highspy.HighsVarType
    model.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in unknown]
    model.row_lower_ = model.row_upper_ = np.array([float(b * keys) for b in sides])
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.cumsum([0, *(len(row) for row in rows)]).astype(np.int32)
    model.a_matrix_.index_ = np.array([j for row in rows for j in row], np.int32)
    model.a_matrix_.value_ = np.array([float(a) for row in rows for a in row.values()])
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, setting in (
        ("output_flag", False), ("threads", 1), ("mip_rel_gap", 1e-6), ("mip_max_nodes", NODES),
        ("time_limit", _SECONDS), ("random_seed", 1),
    ):  # fmt: skip
        solver.setOptionValue(option, setting)
    solver.passModel(model)
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        raise Infeasible("no choice satisfies all constraints.")
    values = list(solver.getSolution().col_value)
    if not values or solver.getInfo().primal_solution_status != 2:  # 2: a feasible point is known
        raise Unsupported(f"no table on {keys} keys was found; allow more keys, a larger reach or a smaller stay.")
    weights = []
    for n in wanted.counts:
        row = {z: round(values[program.place(n, z)]) for z in wanted.errors(n)}
        lean = sum(z * w for z, w in row.items())
        if sum(row.values()) != keys or (wanted.unbiased(n) and lean) or min(row.values()) < 0:
            raise Unsupported(f"the search on {keys} keys did not end with whole numbers; try fewer keys.")
        weights.append(row)
    return _finished(weights, wanted, status == highspy.HighsModelStatus.kOptimal)
