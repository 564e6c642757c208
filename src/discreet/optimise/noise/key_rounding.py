"""The best table on K keys: probabilities that are whole multiples of 1/K, with the least true delta.

Rounding an optimal table to K keys costs far more than 1/K: a zero excess becomes positive in every row. So the table
is searched in whole numbers of keys instead (:mod:`.key_search`). A table on K keys has delta >= 1/K, as its outermost
report has at least one key; if the delta of the best real table is far below that, a shorter reach is enough, so
shorter reaches are searched first.

With a million keys and more, a key is so small that rounding costs almost nothing; the best real table is then rounded,
with zero bias kept, and improved key by key.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ...errors import Unsupported
from ...exact.laws import Finite
from ..lp.refinement import InfeasibleProgram
from .key_search import KeyTable, best_table, laws_of, meets_requirements, value_of, widened
from .programs import NoiseProgram, NoiseRequirements, exact_law, least_delta

#: Least number of keys for which the best real table is rounded and improved, beyond the precision of the solver.
_MIN_ROUNDED_KEYS = 2**20

#: Maximum number of steps of improvement.
_MAX_STEPS = 400

#: Maximum number of keys: beyond it the solver cannot distinguish whole numbers from real ones.
_MAX_KEYS = 2**40


@dataclass(frozen=True)
class TableOnKeys:
    """Laws on K keys, their true delta at the program's E, and whether the search proved them optimal."""

    laws: tuple[Finite, ...]
    weights: tuple[dict[int, int], ...]
    value: Fraction
    proved_best: bool


def best_on_keys(
    requirements_for: Callable[[int], NoiseRequirements],
    reach: int,
    keys: int,
    progress: Callable[[str], None] | None = None,
) -> TableOnKeys:
    """Return the best table with noise up to ``reach`` on this many keys.

    Parameters
    ----------
    requirements_for
        The requirements, for each reach.
    progress
        Called with a few words about the current step.
    """
    if keys > _MAX_KEYS:
        raise Unsupported(f"at most 2^40 keys are searched; got {keys}.", argument="keys", given=keys)
    whole = requirements_for(reach)
    best: KeyTable | None = None
    proved_best = False
    problem: Unsupported | None = None
    for shorter in _reaches(requirements_for, reach, keys):
        if progress is not None:
            progress(f"noise up to {shorter} on {keys} keys")
        requirements = requirements_for(shorter)
        try:
            if keys >= _MIN_ROUNDED_KEYS:
                table, proved_best = _round_to_keys(requirements, keys), False
            else:
                known = best if shorter == reach else None
                table, proved_best = best_table(requirements, keys, known)
        except Unsupported as failure:
            problem = failure
            continue
        table = widened(table, whole)
        if best is None or value_of(table, whole) <= value_of(best, whole):
            best = table
        if value_of(best, whole) * keys <= 1 + Fraction(1, 10**6):  # no table on these keys is better
            return _without_repeats(best, whole, True)
        proved_best = proved_best and shorter == reach  # a shorter reach proves nothing about tables that reach further
    if best is None:
        raise problem or InfeasibleProgram()
    return _without_repeats(best, whole, proved_best)


def _reaches(requirements_for: Callable[[int], NoiseRequirements], reach: int, keys: int) -> list[int]:
    """Return the reaches to try: the shortest whose best real delta is below one key, one more, and the whole reach.

    If even the whole reach is above one key, return it alone.
    """
    for shorter in range(requirements_for(reach).js + 1, reach):
        try:
            least = NoiseProgram(requirements_for(shorter)).least_delta().cost
        except Unsupported:
            continue
        if least * keys <= 1:
            return list(dict.fromkeys([shorter, min(shorter + 1, reach), reach]))
    return [reach]


def _without_repeats(rows: KeyTable, requirements: NoiseRequirements, proved_best: bool) -> TableOnKeys:
    """Return the table without errors that have no keys, and without counts whose law equals the shared one."""
    distinct = [{z: w for z, w in row.items() if w} for row in rows]
    while len(distinct) > 1 and distinct[-2] == distinct[-1]:
        distinct.pop()
    return TableOnKeys(laws_of(distinct), tuple(distinct), value_of(rows, requirements), proved_best)


# ------------------------------------------------------------------------------------------------ many keys


def _round_to_keys(requirements: NoiseRequirements, keys: int) -> KeyTable:
    """Return the best real table rounded to this many keys, with zero bias kept.

    Rounding may raise the variance above its limit by a few keys; the limit is then lowered by as much first.
    """
    limits = [requirements.variance]
    if requirements.variance is not None:
        limits += [requirements.variance - Fraction(units * requirements.reach**2, keys) for units in (2, 8, 32)]
    for limit in limits:
        tight = replace(requirements, variance=limit)
        weights = []
        for n, law in zip(requirements.counts, least_delta(tight).laws, strict=True):
            row = {z: law.probability(z) for z in requirements.errors(n)}
            near = exact_law(
                row, None, floor=requirements.stay or Fraction(0), total=keys, unbiased=requirements.unbiased(n),
                symmetric=n == requirements.shared and law.symmetric,
            )  # fmt: skip
            if near is None:
                break
            weights.append({z: int(near.probability(z) * keys) for z in row})
        if len(weights) == len(requirements.counts) and meets_requirements(tuple(weights), requirements, keys):
            _improve(weights, requirements, keys)
            return tuple(weights)
    raise Unsupported(f"rounding to {keys} keys breaks a requirement.", "Take more keys.", argument="keys")


def _improve(weights: list[dict[int, int]], requirements: NoiseRequirements, keys: int) -> None:
    """Move single keys as long as the worst pair of counts gets better and no other becomes as bad as it was.

    Moving a key from a to a + 1 and another from b to b - 1 keeps the sum and the mean. The shared law is not changed,
    so that it stays symmetric.
    """
    e, last = math.exp(float(requirements.epsilon)), len(weights) - 1
    floor = 0 if requirements.stay is None else math.ceil(requirements.stay * keys)
    ceiling = math.inf if requirements.variance is None else requirements.variance * keys

    def excess(k: int) -> float:
        """Return the larger of the two excesses between the counts k and k + 1, in keys."""
        here, there = weights[k], weights[min(k + 1, last)]
        down = sum(max(w - e * there.get(z - 1, 0), 0.0) for z, w in here.items())
        return max(down, sum(max(w - e * here.get(z + 1, 0), 0.0) for z, w in there.items()))

    for _ in range(_MAX_STEPS):
        values = [excess(k) for k in range(last + 1)]
        worst = max(range(last + 1), key=values.__getitem__)
        if not any(_step(weights, row, excess, values, floor, ceiling) for row in {worst, worst + 1} if row < last):
            break


def _step(
    weights: list[dict[int, int]],
    row: int,
    excess: Callable[[int], float],
    values: list[float],
    floor: int,
    ceiling: Any,
) -> bool:
    """Make one better move in this row if there is one, and return whether there was."""
    law, before = weights[row], max(values)
    pairs = [k for k in (row - 1, row) if k >= 0]
    for a in [z for z in law if z + 1 in law]:
        for b in [z for z in law if z - 1 in law]:
            for z, change in ((a, -1), (a + 1, 1), (b, -1), (b - 1, 1)):
                law[z] += change
            allowed = min(law.values()) >= 0 and (0 not in law or law[0] >= floor)
            if (
                allowed
                and sum(z * z * w for z, w in law.items()) <= ceiling
                and all(excess(k) < before - 1e-3 for k in pairs)
            ):
                return True
            for z, change in ((a, 1), (a + 1, -1), (b, 1), (b - 1, -1)):
                law[z] += change
    return False
