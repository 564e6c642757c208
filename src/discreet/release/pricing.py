"""The cost of a release: the judge's composition of the noise of every cell that one unit can change."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, TypeVar

from ..errors import InvalidInput, arg
from ..exact.laws import Gaussian
from ..exact.rationals import as_fraction, claimed, text_up
from ..ledger.budget import Cost
from ..mechanism import Mechanism
from ..privacy.certificate import Privacy
from ..privacy.compose import Composition, compose
from ..privacy.steps import verify_steps
from ..privacy.verify import Verdict
from .noise.cells import CellNoise
from .protection import Change


class PricedTable(Protocol):
    """A table of a plan: its noise and its sensitivities, which determine its cost."""

    @property
    def noise(self) -> CellNoise: ...

    @property
    def changes(self) -> Sequence[tuple[CellNoise, Change]]: ...


AnyPricedTable = TypeVar("AnyPricedTable", bound=PricedTable)


def composition(tables: Sequence[PricedTable], method: str = "best") -> Composition:
    """Return the privacy loss of one unit: the composition over all the cells it can change, in all tables of a plan.

    Where cells of a table have different mechanisms (for different public sizes), the unit may change any of them, so
    each counts with the weakest claim.
    """
    changes = [change for table in tables for change in table.changes]
    if method == "best" and any(_is_gaussian(noise) and not change.by_one for noise, change in changes):
        method = "zcdp"  # privacy profiles hold for a change of one; rho holds for any change
    return compose([_composed_noise(noise, change, method) for noise, change in changes], method=method)


def _composed_noise(noise: CellNoise, change: Change, method: str) -> tuple[Mechanism | Privacy | Verdict, int]:
    """Return the mechanism of one level of a table, and how often it enters the composition.

    Where a cell can change by more than one, the cost is ``l1 epsilon`` for pure noise, and ``squared_l2 rho`` for the
    discrete Gaussian (Canonne, Kamath, Steinke 2020). Other noise is judged again for all steps up to the largest one,
    where cells change alike; where they do not, it is refused.
    """
    weakest = _weakest(noise.mechanisms)
    if change.by_one:
        return weakest, change.l1
    if _is_gaussian(noise):
        return weakest, change.squared_l2 if method == "zcdp" else change.l1
    if change.cells is not None:
        return _noise_in_steps(noise, change.step or 1), change.cells
    if method == "basic":
        return weakest, change.l1
    claim = weakest.certificate if isinstance(weakest, Mechanism) else None
    if claim is None or claim.delta or math.isinf(claim.epsilon) or noise.shift_law is None:
        raise InvalidInput(
            "one unit can move a total by more than one, and this noise is judged for steps of one only.",
            f"Use geometric or discrete-gaussian, or {arg('max_groups', 1)}.",
        )
    return Privacy(epsilon=change.l1 * Fraction(claim.epsilon)), 1


def _noise_in_steps(noise: CellNoise, step: int) -> Verdict | Privacy:
    """Return the privacy of one cell that changes by at most ``step``: ``step epsilon`` if it is pure."""
    claims = [mechanism.certificate for mechanism in noise.mechanisms]
    if not any(claim.delta or math.isinf(claim.epsilon) for claim in claims):
        return Privacy(epsilon=step * max(Fraction(claim.epsilon) for claim in claims))
    if len(noise.mechanisms) > 1:
        raise InvalidInput(
            "cells of different sizes need noise without a delta where rows are counted.",
            f"Use geometric, or leave {arg('max_rows')} out.",
        )
    return _judged_for_steps(noise.mechanisms[0], step)


@lru_cache(maxsize=64)
def _judged_for_steps(mechanism: Mechanism, step: int) -> Verdict:
    return verify_steps(mechanism.kernel, mechanism.inputs, step)


def _is_gaussian(noise: CellNoise) -> bool:
    return isinstance(noise.shift_law, Gaussian)


def _weakest(mechanisms: Sequence[Mechanism]) -> Mechanism | Privacy:
    if len(mechanisms) == 1:
        return mechanisms[0]
    claims = [mechanism.certificate for mechanism in mechanisms]
    if any(math.isinf(claim.epsilon) for claim in claims):
        raise InvalidInput("cells of different sizes need mechanisms with a finite epsilon each.", argument="mechanism")
    return Privacy(
        epsilon=max(Fraction(claim.epsilon) for claim in claims), delta=max(Fraction(claim.delta) for claim in claims)
    )


def price(tables: Sequence[PricedTable], epsilon: Fraction | None, delta: Fraction) -> Cost:
    """Return the cost for the ledger: the requested epsilon, if it holds, and the delta that it needs.

    Without a requested epsilon, it is the least that holds with this delta (rounded up to six digits).
    """
    if epsilon is not None and _adds_up(tables, epsilon):
        return Cost(epsilon, Fraction(0), _rho(tables))
    together = composition(tables)
    if epsilon is None:
        least = together.epsilon(delta)
        if math.isinf(least):
            raise InvalidInput(
                f"no finite epsilon holds for this noise with delta = {float(delta):g}.",
                f"Allow a delta, for example {arg('delta', '1e-6')}.",
            )
        epsilon = as_fraction(text_up(least))
    if not together.holds(epsilon, delta):
        least = together.epsilon(delta)
        raise InvalidInput(
            f"this noise does not give epsilon = {float(epsilon):g} with delta = {float(delta):g}; the least epsilon "
            f"that is proved is {text_up(least)}.",
            "Ask for that, or for more noise.",
            argument="epsilon",
        )
    needed = Fraction(0) if together.holds(epsilon, 0) else min(delta, claimed(together.delta(epsilon)))
    return Cost(epsilon, needed if together.holds(epsilon, needed) else delta, _rho(tables))


def _adds_up(tables: Sequence[PricedTable], epsilon: Fraction) -> bool:
    """Return whether basic composition proves this epsilon with delta 0, which spares composing privacy profiles."""
    for mechanism, change in _mechanisms(tables):
        claim = mechanism.certificate
        if math.isinf(claim.epsilon) or (claim.delta and not change.by_one):
            return False  # such noise is judged again for larger steps, which may have no finite epsilon
    return composition(tables, "basic").holds(epsilon, 0)


def _mechanisms(tables: Sequence[PricedTable]) -> list[tuple[Mechanism, Change]]:
    """Return each mechanism with the change that it hides."""
    return [(one, change) for table in tables for noise, change in table.changes for one in noise.mechanisms]


def _rho(tables: Sequence[PricedTable]) -> Fraction | None:
    """Return the rho of all tables together; None if some noise is not known to have one."""
    total = Fraction(0)
    for noise, change in (change for table in tables for change in table.changes):
        rhos = [_rho_of(mechanism) for mechanism in noise.mechanisms]
        known = [rho for rho in rhos if rho is not None]
        if len(known) < len(rhos):
            return None
        total += max(known) * change.squared_l2
    return total


def _rho_of(mechanism: Mechanism) -> Fraction | None:
    """Return rho: 1/(2 sigma2) for Gaussian noise, epsilon^2/2 for pure privacy (Bun, Steinke 2016).

    It comes from the noise itself and from what the judge proved, since a mechanism's file may state anything.
    """
    noise, certificate = mechanism.kernel.noise, mechanism.certificate
    if noise is not None and isinstance(noise.law, Gaussian) and not noise.first_laws:
        return 1 / (2 * noise.law.sigma2)
    if math.isinf(certificate.epsilon) or certificate.delta:
        return None
    return Fraction(certificate.epsilon) ** 2 / 2


def weakest_noise(
    build: Callable[[Fraction], Sequence[AnyPricedTable]], epsilon: Fraction, delta: Fraction, start: Fraction
) -> Sequence[AnyPricedTable]:
    """Return the tables with the least noise that a plan's epsilon and delta allow.

    ``build(scale)`` makes the tables; a larger scale means less noise. Tight composition allows a larger scale than
    basic composition; doubling and bisection find the largest that holds, to 0.1%.
    """

    refusals: list[InvalidInput] = []

    def holds(scale: Fraction) -> bool:
        try:
            tables = build(scale)
        except InvalidInput as refusal:  # less noise than any mechanism of the family has
            refusals.append(refusal)
            return False
        return composition(tables).holds(epsilon, delta)

    low = start
    while not holds(low):
        low /= 2
        if low < start / 2**40:
            unmet = f"no sensible noise gives epsilon = {float(epsilon):g} with delta = {float(delta):g}"
            raise [*refusals, InvalidInput(f"{unmet}.", "Ask for a larger delta or epsilon.", argument="delta")][0]
    high = 2 * low
    while holds(high):
        low, high = high, 2 * high
    while high - low > low / 1000:
        middle = _four_digits((low + high) / 2)
        if not low < middle < high:
            break
        if holds(middle):
            low = middle
        else:
            high = middle
    return build(low)


def _four_digits(value: Fraction) -> Fraction:
    """Round to four significant digits, so that people can read the numbers of a plan."""
    return Fraction(f"{float(value):.4g}")
