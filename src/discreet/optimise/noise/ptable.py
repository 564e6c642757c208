"""``dc.design_ptable``: a p-table with a guarantee, for a given number of keys."""

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
    MAX_PROGRAM_REACH,
    impossible,
    read_shared_from,
    read_variance,
    refuse_exact_zeros,
    refuse_hopeless_js,
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
    """Return a p-table on this many keys with the least true delta at this epsilon that the search finds.



    The counts 0, 1, 2, ... have separate noise below ``shared_from``, and one law from there on. Every count from 1 on
    is unbiased; a count of 0 can only move up. The judge certifies the table on K keys itself.

    Only delta and the limits decide. Without ``stay`` the truth may be rare: a small count, and especially a true 0,
    may be published as another number most of the time. See ``table.outcomes(0)`` and ``notes``.

    Parameters
    ----------
    epsilon
        The epsilon at which delta is least.
    reach
        The largest error, D in the tables of other programs.
    variance
        The largest mean square error of every count, V.
    stay
        The least probability of the truth, pstay, for every count that may be published unchanged.
    js
        Counts 1..js are never published.
    shared_from
        The count from which on counts share one law; 2D by default (with ``js`` 2D + js + 1).
    keys
        The number of keys K, such as 256, 4096, 65536, 2**32, or 10**8 for keys of eight decimals. A table on K keys
        has delta >= 1/K.
    keep_zeros
        True is refused, as zeros cannot be published unchanged: the message states the delta of that.
    progress
        Called with a few words about the current step.

    Returns
    -------
    PTable
        A table with ``about``: epsilon, delta (certified), delta_unrounded (the best with any probabilities),
        key_floor = 1/K, lower_bound (a proved lower bound for such tables), and proved_best: true if the search proved
        the table optimal on these keys. If not, delta may exceed the least by up to the distance to lower_bound, and
        weaker requirements may even give a delta larger by as much.

    Examples
    --------
    >>> table = design_ptable(1.5, 3, stay=0.5, keys=256)
    >>> table.about["delta"] == 3 / 256, table.bias, table.untouched_zeros
    (True, Fraction(0, 1), False)
    >>> table.mechanism(1.5).certificate.delta == 3 / 256
    True
    """
    eps, D, gap = read_epsilon(epsilon), read_reach(reach), positive_integer(js, "js", least=0)
    size = positive_integer(keys, "keys", least=4)
    variance_limit, floor = read_variance(variance), None if stay is None else read_stay(stay)
    if variance_limit is None and floor is None:
        raise InvalidInput(
            f"give {arg('stay')} (the least probability of the truth), {arg('variance')}, or both: they limit the "
            "noise."
        )
    if D + gap > MAX_PROGRAM_REACH:
        raise InvalidInput.must_be("reach + js", f"at most {MAX_PROGRAM_REACH}", D + gap, argument="reach")
    refuse_hopeless_js(gap, D)
    if keep_zeros:
        refuse_exact_zeros(floor or Fraction(0), D, gap)

    first_shared = None if shared_from is None else read_shared_from(shared_from, D, gap)

    def requirements(shorter: int) -> NoiseRequirements:
        shared = first_shared or read_shared_from(None, shorter, gap)
        return NoiseRequirements(eps, shorter, 0, shared, floor, at_least=True, variance=variance_limit, js=gap)

    try:
        free = least_delta(requirements(D))
    except InfeasibleProgram:
        raise impossible(requirements(D), None) from None
    try:
        answer = best_on_keys(requirements, D, size, progress)
    except InfeasibleProgram:
        raise impossible(requirements(D), None, f"on {size} keys ") from None
    table = PTable(tuple(tuple(sorted(row.items())) for row in answer.weights), size, layout="ptable")
    delta = table.mechanism(eps).certificate.delta
    about: dict[str, Any] = {
        "epsilon": str(eps), "delta": delta, "delta_unrounded": bound_up(free.value), "key_floor": 1 / size,
        "lower_bound": float_down(max(free.bound, Fraction(1, size))), "proved_best": answer.proved_best,
        "designed_reach": D, "js": gap,
    }  # fmt: skip
    if variance_limit is not None:
        about["designed_variance"] = str(variance_limit)
    if floor is not None:
        about["designed_stay"] = str(floor)
    if first_shared is not None:
        about["shared_from"] = first_shared
    return PTable(table.blocks, size, 1, "ptable", _rarely_true(table, D, gap), about)


@dataclass(frozen=True)
class DesignedTable(Result):
    """A table from :func:`design_ptable`, with its certificate and whether a better one is possible.

    The figures are those that the design put into ``about``: a table from a file must be judged instead.
    """

    table: PTable

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate at the epsilon of the design."""
        return self.table.mechanism(self.table.about["epsilon"]).certificate

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values, as in ``schemas/p-table-design.json``."""
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
        """Return the certificate, whether a better table is possible, and the effect of the table on counts."""
        about, keys, table_report = self.table.about, self.table.keys, self.table.report()
        bound = text_down(as_fraction(about["lower_bound"]))
        unproved = f"the best that the search found; no table has less than {bound}"
        best = "no table on these keys is better" if about["proved_best"] else unproved
        least = (
            f"without keys it could be {text_up(about['delta_unrounded'])}; on {keys} keys never less than "
            f"1/{keys} = {text_up(about['key_floor'])}"
        )
        proof = Terms(
            (
                ("proved", str(self.certificate)),
                ("keys", f"{keys}: delta {text_up(about['delta'])}, {best}"),
                ("", least),
            )
        )
        caption = f"delta at epsilon {float(Fraction(about['epsilon'])):g}, proved"
        return replace(
            table_report,
            facts=(Fact(text_up(about["delta"], 3), caption), *table_report.facts[:2]),
            sections=(Section(parts=(proof,)), *table_report.sections),
            notes=(*table_report.notes, _SKIPPED),
        )


def _rarely_true(table: PTable, reach: int, js: int) -> tuple[str, ...]:
    """Return a note for each small count that is published as another number more often than unchanged."""
    notes = []
    for count in range(reach + 1):
        report, probability = table.outcomes(count)[0]
        if report != count and not 1 <= count <= js:
            truth = table.law(count).probability(0)
            notes.append(
                f"a true {count} is published as {report} ({percent(probability)}) more often than as {count} "
                f"({percent(truth)}); ask for a larger stay probability to publish the truth more often"
            )
    return tuple(notes)
