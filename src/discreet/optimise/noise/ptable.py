"""``dc.design_ptable``: a p-table that carries a guarantee, on as many keys as the office has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from ...errors import InvalidInput, arg
from ...exact.integers import positive_integer
from ...exact.rationals import Number, as_fraction, bound_up, float_down, read_epsilon, text_down, text_up
from ...mechanisms.bounded import read_reach, read_stay
from ...privacy.certificate import Certificate
from ...ptables.table import PTable
from ...report import Fact, Json, Report, Result, Section, Terms, stamped
from ...wording import percent
from ..lp.refinement import InfeasibleProgram
from .bounded import (
    LARGEST_PROGRAM,
    impossible,
    read_shared_from,
    read_variance,
    refuse_hopeless_js,
    refuse_untouched_zeros,
)
from .key_rounding import best_on_keys
from .programs import NoiseRequirements, least_delta

_SKIPPED = (
    "programs that leave empty cells alone (tau-ARGUS, cellKey, ONS) do not apply the block of 0; the guarantee holds "
    "only where it is applied"
)


def design_ptable(
    epsilon: Number,
    reach: Number,
    *,
    variance: Number | None = None,
    stay: Number | None = None,
    js: int = 0,
    shared_from: int | None = None,
    keys: int = 65536,
    keep_zeros: bool = False,
    progress: Callable[[str], None] | None = None,
) -> PTable:
    """A p-table on this many keys with the least true delta at this epsilon that the search finds.

    The counts 0, 1, 2, ... have noise of their own below ``shared_from``, and one law from there on. Every count from 1
    on is unbiased; a count of 0 can only move up. What is certified is the table as it is on K keys, by the judge.

    Only delta and the limits given decide. Without ``stay`` nothing asks for the truth: a small count, and a true 0
    above all, may be published as something else most of the time. ``table.outcomes(0)`` and ``notes`` tell.

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
    shared_from
        Counts from this one on share one law; 2D if not given (with ``js`` 2D + js + 1).
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
        With ``about``: epsilon, delta (certified), delta_unrounded (the best with any probabilities), key_floor = 1/K,
        lower_bound (no table as asked for has less; proved), and proved_best: whether the search went through all
        tables on these keys and none is better. Where it did not, delta may be above the least by the distance to
        lower_bound, and less asked for may give a delta larger by so much.

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
    spread, floor = read_variance(variance), None if stay is None else read_stay(stay)
    if spread is None and floor is None:
        raise InvalidInput(
            f"give {arg('stay')} (the least probability of the truth), {arg('variance')}, or both: they limit the "
            "noise."
        )
    if D + small > LARGEST_PROGRAM:
        raise InvalidInput.must_be("reach + js", f"at most {LARGEST_PROGRAM}", D + small, argument="reach")
    refuse_hopeless_js(small, D)
    if keep_zeros:
        refuse_untouched_zeros(floor or Fraction(0), D, small)

    given = None if shared_from is None else read_shared_from(shared_from, D, small)

    def requirements(shorter: int) -> NoiseRequirements:
        shared = given or read_shared_from(None, shorter, small)
        return NoiseRequirements(eps, shorter, 0, shared, floor, at_least=True, variance=spread, js=small)

    try:
        free = least_delta(requirements(D))
    except InfeasibleProgram:
        raise impossible(requirements(D), None) from None
    try:
        found = best_on_keys(requirements, D, size, progress)
    except InfeasibleProgram:
        raise impossible(requirements(D), None, f"on {size} keys ") from None
    table = PTable(tuple(tuple(sorted(row.items())) for row in found.weights), size, layout="ptable")
    delta = table.mechanism(eps).certificate.delta
    about: dict[str, Any] = {
        "epsilon": str(eps), "delta": delta, "delta_unrounded": bound_up(free.value), "key_floor": 1 / size,
        "lower_bound": float_down(max(free.bound, Fraction(1, size))), "proved_best": found.proved,
        "designed_reach": D, "js": small,
    }  # fmt: skip
    if spread is not None:
        about["designed_variance"] = str(spread)
    if floor is not None:
        about["designed_stay"] = str(floor)
    if given is not None:
        about["shared_from"] = given
    return PTable(table.blocks, size, 1, "ptable", _rarely_true(table, D, small), about)


@dataclass(frozen=True)
class DesignedTable(Result):
    """A table that :func:`design_ptable` made, with what was proved of it and whether a better one is possible.

    The figures are those that the design put into ``about``: a table from a file has to be judged instead.
    """

    table: PTable

    @cached_property
    def certificate(self) -> Certificate:
        """What was proved, at the epsilon that was asked for."""
        return self.table.mechanism(self.table.about["epsilon"]).certificate

    def to_json(self) -> dict[str, Json]:
        """Plain JSON values, as in ``schemas/p-table-design.json``."""
        content: dict[str, Json] = {
            **self.table.about,
            "keys": self.table.keys,
            "reach": self.table.reach,
            "published_as": self.table.published_as(),
            "notes": list(self.table.notes),
            "certificate": self.certificate.to_json(),
        }
        return stamped("p-table-design", 1, content)

    def report(self) -> Report:
        """What was proved, whether a better table is possible, and what the table does to counts."""
        about, keys, made = self.table.about, self.table.keys, self.table.report()
        bound = text_down(as_fraction(about["lower_bound"]))
        found = f"the best that the search found; no table has less than {bound}"
        best = "no table on these keys is better" if about["proved_best"] else found
        least = (
            f"without keys it could be {text_up(about['delta_unrounded'])}; on {keys} keys never less than "
            f"1/{keys} = {text_up(about['key_floor'])}"
        )
        proved = Terms(
            (
                ("proved", str(self.certificate)),
                ("keys", f"{keys}: delta {text_up(about['delta'])}, {best}"),
                ("", least),
            )
        )
        asked = f"delta at epsilon {float(Fraction(about['epsilon'])):g}, proved"
        return replace(
            made,
            facts=(Fact(text_up(about["delta"], 3), asked), *made.facts[:2]),
            sections=(Section(parts=(proved,)), *made.sections),
            notes=(*made.notes, _SKIPPED),
        )


def _rarely_true(table: PTable, reach: int, js: int) -> tuple[str, ...]:
    """A note for each small count that is published as something else more often than as it is."""
    found = []
    for count in range(reach + 1):
        report, probability = table.outcomes(count)[0]
        if report != count and not 1 <= count <= js:
            own = table.law(count).probability(0)
            found.append(
                f"a true {count} is published as {report} ({percent(probability)}) more often than as {count} "
                f"({percent(own)}); ask for a larger stay probability to publish the truth more often"
            )
    return tuple(found)
