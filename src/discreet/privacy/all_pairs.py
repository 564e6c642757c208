"""User-defined spaces under the central and the metric notion: every pair is compared, without a lemma."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ..errors import Unsupported
from ..exact.base import Kernel
from ..exact.kernels import Noise
from ..exact.laws import Gaussian
from ..exact.rationals import log_bounds
from ..spaces import Space
from . import views
from .evidence import Bounds, RowPairs
from .pairs import (
    MAX_TRUTHS,
    Evidence,
    PairEvidence,
    exponent_bounds,
    grouped_delta,
    grouped_event,
    refuse_many_pairs,
)  # fmt: skip
from .user_spaces import adjacent_pairs, distances
from .witness import Witness

#: Upper bound of the relative error of a float quotient of a log ratio and a distance.
_RATE_ERROR = 1e-12


@dataclass(frozen=True)
class AllPairs:
    """The metric notion without a lemma: every pair of truths is compared at its own distance.

    Pairs are grouped by their squared distance k. Floats rule out the groups whose log ratio per distance
    ``unit * sqrt(k)`` is not the largest; the others are decided in integers. Truths at distance 0 must have equal
    reports.
    """

    groups: tuple[tuple[int, RowPairs], ...]
    unit: Fraction
    exact: bool = True

    @cached_property
    def _worst(self) -> tuple[Bounds | None, int]:
        """Bounds of the largest log ratio per unit of distance, and the number of the group that has it."""
        rates = [(0.0, 0.0)] * len(self.groups)
        for number, (squared, rows) in enumerate(self.groups):
            best, error = rows.log_ratio_screen
            differs = rows.largest_ratio.ratio > 1 if squared == 0 else math.isinf(best)
            if differs:
                return None, number
            if squared:
                distance = float(self.unit) * math.sqrt(squared)
                rates[number] = (best - error) / distance, (best + error) / distance
        floor = max(low for low, _ in rates) * (1 - _RATE_ERROR)
        near = [number for number, (_, high) in enumerate(rates) if high >= floor and self.groups[number][0]]
        bounds = {number: self._rate(*self.groups[number]) for number in near}
        if not bounds:  # every distance is 0, and all reports are equal
            return (Fraction(0), Fraction(0)), 0
        worst = max(bounds, key=lambda number: bounds[number][0])
        return (bounds[worst][0], max(high for _, high in bounds.values())), worst

    def _rate(self, squared: int, rows: RowPairs) -> Bounds:
        """Return bounds of the largest log ratio of a group, divided by its distance."""
        if self.exact:
            ratio = rows.largest_ratio.ratio
            assert isinstance(ratio, Fraction)  # an infinite one was noticed before
            low, high = log_bounds(ratio)
        else:
            best, error = (Fraction(number) for number in rows.log_ratio_screen)
            low, high = max(best - error, Fraction(0)), best + error
        short, long = exponent_bounds(Fraction(1), self.unit, squared)
        return low / long, high / short

    def epsilon_bounds(self) -> Bounds | None:
        return self._worst[0]

    def ratio_witness(self) -> Witness:
        return self.groups[self._worst[1]][1].largest_ratio

    def ratio_bounds(self) -> Bounds | None:
        ratio = self.ratio_witness().ratio
        return (ratio, ratio) if isinstance(ratio, Fraction) else None

    def holds(self, epsilon: Fraction) -> bool:
        bounds = self.epsilon_bounds()
        return bounds is not None and bounds[1] <= epsilon

    def delta_bounds(self, epsilon: Fraction, bits: int = 128) -> tuple[Bounds, Witness | None]:
        return grouped_delta(list(self.groups), self.unit, epsilon, bits)

    def single_event_bounds(self, epsilon: Fraction) -> Bounds:
        return grouped_event(list(self.groups), self.unit, epsilon)


def of_user_space(kernel: Kernel, space: Space, notion: str, exact: bool) -> Evidence:
    """Return the evidence of a kernel over a user-defined space, central or metric, without a lemma."""
    view = _view(kernel)
    size, columns = view.table.shape
    if notion == "central":
        return PairEvidence((RowPairs(view, *adjacent_pairs(space, size), noun=space.noun),), exact)
    refuse_many_pairs(size, columns)
    unit, groups = distances(space, size)
    return AllPairs(tuple((k, RowPairs(view, i, j, space.noun)) for k, i, j in groups), unit, exact)


def _view(kernel: Kernel) -> views.View:
    """Return the table of all truths of a kernel."""
    if not isinstance(kernel, Noise):
        return views.whole(kernel.table())
    low, high = kernel.truths
    if low is None or high is None or high - low >= MAX_TRUTHS or isinstance(kernel.law, Gaussian):
        raise Unsupported(
            "this noise is judged on the spaces of this package only.",
            "Use dc.Counts(n) or dc.Integers() as they are.",
            argument="inputs",
        )
    return views.of_noise_range(kernel, low, high)
