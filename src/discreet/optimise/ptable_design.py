"""``dc.design_ptable``: a p-table that carries a guarantee, on as many keys as the office has."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ..errors import InvalidInput
from ..exact.rationals import as_fraction, bound_up, read_epsilon
from ..mechanisms.bounded import read_reach
from ..ptables.table import PTable
from ..spaces import positive_integer
from .bounded import LARGEST_PROGRAM, impossible, refuse_hopeless_js, refuse_untouched_zeros
from .bounded_programs import Wanted, least_delta
from .key_rounding import best_on_keys
from .refinement import Infeasible

#: The sizes that offices use: a byte, ONS, two bytes, SuperSTAR's keys; and cellKey's eight decimals.
KEY_SIZES = (256, 4096, 65536, 2**32, 10**8)


def design_ptable(
    epsilon: Any,
    reach: Any,
    *,
    variance: Any = None,
    stay: Any = None,
    js: int = 0,
    keys: int = 65536,
    keep_zeros: bool = False,
    progress: Callable[[str], None] | None = None,
) -> PTable:
    """A p-table with the least true delta at this epsilon, among all tables on this many keys.

    The counts 0, 1, 2, ... have noise of their own up to twice the reach, and one law from there on. Every count from 1
    on is unbiased; a count of 0 can only move up. What is certified is the table as it is on K keys, by the judge.

    Parameters
    ----------
    epsilon
        The epsilon at which delta is least.
    reach
        The largest error, D in the tables of other programs.
    variance
        The mean square error of every count is at most this, V.
    stay
        Every count that may be published as it is, is so with at least this probability, pstay.
    js
        Counts 1..js are never published.
    keys
        The number of keys K, such as 256, 4096, 65536, 2**32, or 10**8 for keys of eight decimals. A table on K keys
        has delta >= 1/K.
    keep_zeros
        To publish zeros as they are is refused: the message states the delta that it would have.
    progress
        Told in a few words what is being done.

    Returns
    -------
    PTable
        With ``about``: epsilon, delta (proved), delta_unrounded (the best with any probabilities), key_floor = 1/K, and
        whether the search proved that no table on these keys is better.

    Examples
    --------
    >>> table = design_ptable(1.5, 3, stay=0.5, keys=256)
    >>> table.about["delta"] == 3 / 256, table.bias, table.untouched_zeros
    (True, Fraction(0, 1), False)
    >>> table.mechanism(1.5).certificate.delta == 3 / 256
    True
    """
    eps, D, small = read_epsilon(epsilon), read_reach(reach), positive_integer(js, "js", least=0)
    size = positive_integer(keys, "keys", least=4)
    spread, floor = _limit(variance, "variance"), _limit(stay, "stay")
    if spread is None and floor is None:
        raise InvalidInput(
            "give stay=... (the least probability of the truth), variance=..., or both: they limit the noise."
        )
    if floor is not None and floor >= 1:
        raise InvalidInput(f"stay is a probability below 1; got {stay!r}.")
    if D + small > LARGEST_PROGRAM:
        raise InvalidInput(f"reach + js must be at most {LARGEST_PROGRAM}; got {D + small}.")
    refuse_hopeless_js(small, D)
    if keep_zeros:
        refuse_untouched_zeros(floor or Fraction(0), D, small)

    def wanted(shorter: int) -> Wanted:
        shared = 2 * shorter + (small + 1 if small else 0)
        return Wanted(eps, shorter, 0, shared, floor, at_least=True, variance=spread, js=small)

    try:
        free = least_delta(wanted(D))
    except Infeasible:
        raise InvalidInput(impossible(wanted(D), None)) from None
    try:
        found = best_on_keys(wanted, D, size, progress)
    except Infeasible:
        raise InvalidInput(f"on {size} keys {impossible(wanted(D), None)}") from None
    table = PTable(tuple(tuple(sorted(row.items())) for row in found.weights), size, layout="ptable")
    delta = table.mechanism(eps).certificate.delta
    about: dict[str, Any] = {
        "epsilon": str(eps), "delta": delta, "delta_unrounded": bound_up(free.value), "key_floor": 1 / size,
        "proved_best": found.proved, "designed_reach": D, "js": small,
    }  # fmt: skip
    if spread is not None:
        about["designed_variance"] = str(spread)
    if floor is not None:
        about["designed_stay"] = str(floor)
    return PTable(table.blocks, size, 1, "ptable", (), about)


def _limit(value: object, name: str) -> Fraction | None:
    if value is None:
        return None
    number = as_fraction(value, name)
    if number <= 0:
        raise InvalidInput(f"{name} must be positive; got {value!r}.")
    return number
