"""Which pairs of truths a notion looks at, for each kind of kernel, and what they show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from ..errors import Unsupported
from ..exact.kernels import Kernel, Noise, Response
from ..exact.laws import Finite, GeometricTails
from ..exact.rationals import at_most_exp, exp_bounds, log_bounds
from ..exact.tables import Table
from ..spaces import Grid, Labels, Space
from . import views
from .evidence import Bounds, Rows, column_extremes, delta_bounds
from .witness import Witness

#: Divergences over all pairs are computed up to this many places (pairs times reports).
MOST_PLACES = 2_000_000_000

#: Tables of clamped noise are written out for the local notion up to this many truths.
MOST_TRUTHS = 1200

_NOTHING: Bounds = (Fraction(0), Fraction(0))


class Evidence(Protocol):
    """Measurements that decide about one kernel under one notion. Bounds are (low, high); None means infinite."""

    def ratio_bounds(self) -> Bounds | None: ...

    def epsilon_bounds(self) -> Bounds | None: ...

    def ratio_witness(self) -> Witness: ...

    def delta_bounds(self, epsilon: Fraction, bits: int = 128) -> tuple[Bounds, Witness | None]: ...

    def single_event_bounds(self, epsilon: Fraction) -> Bounds: ...

    def holds(self, epsilon: Fraction) -> bool: ...


@dataclass(frozen=True)
class Compared:
    """Pairs of rows that the notion compares at the same epsilon (central and local).

    ``exact=False`` takes the float screen with its error bound instead of deciding in integers.
    """

    parts: tuple[Rows, ...]
    exact: bool = True
    #: For the metric notion at one distance: the epsilon of the notion is that of the pairs divided by it.
    distance: Fraction = Fraction(1)
    #: The parts whose divergence must be looked at, where the pairs with the largest ratio are not enough.
    divergence: tuple[Rows, ...] | None = None

    @cached_property
    def _worst(self) -> Witness:
        return max((rows.largest_ratio for rows in self.parts), key=lambda w: w.ratio)

    def ratio_witness(self) -> Witness:
        return self._worst

    def ratio_bounds(self) -> Bounds | None:
        if not self.exact:
            bounds = self.epsilon_bounds()
            return None if bounds is None else (exp_bounds(bounds[0])[0], exp_bounds(bounds[1])[1])
        ratio = self._worst.ratio
        return (ratio, ratio) if isinstance(ratio, Fraction) else None

    def epsilon_bounds(self) -> Bounds | None:
        if self.exact:
            ratio = self._worst.ratio
            if not isinstance(ratio, Fraction):
                return None
            low, high = log_bounds(ratio)
            return low / self.distance, high / self.distance
        best, error = max(rows.log_ratio_screen for rows in self.parts)
        if math.isinf(best):
            return None
        return (max(Fraction(best) - Fraction(error), Fraction(0)), Fraction(best) + Fraction(error))

    def holds(self, epsilon: Fraction) -> bool:
        if self.exact:
            ratio = self._worst.ratio
            return isinstance(ratio, Fraction) and at_most_exp(ratio, epsilon * self.distance)
        bounds = self.epsilon_bounds()
        return bounds is not None and bounds[1] <= epsilon

    def delta_bounds(self, epsilon: Fraction, bits: int = 128) -> tuple[Bounds, Witness | None]:
        parts = list(self.parts if self.divergence is None else self.divergence)
        if not parts:
            raise Unsupported(
                "delta between any two truths needs every pair, and there are too many here. Ask for notion='central', "
                "or for a smaller range."
            )
        if self.exact:
            return delta_bounds(parts, epsilon * self.distance, bits)
        low, high = exp_bounds(epsilon * self.distance, bits)
        best, error = max(rows.divergence_screen(float(low)) for rows in parts)
        error += 2.0**-40 * (1 + float(high))
        return (max(Fraction(best) - Fraction(error), Fraction(0)), Fraction(best) + Fraction(error)), None

    def single_event_bounds(self, epsilon: Fraction) -> Bounds:
        parts = self.parts if self.divergence is None else self.divergence
        low, high = exp_bounds(epsilon * self.distance)
        return (
            max((rows.worst_event(high)[0] for rows in parts), default=Fraction(0)),
            max((rows.worst_event(low)[0] for rows in parts), default=Fraction(0)),
        )


@dataclass(frozen=True)
class Distances:
    """The metric notion where the largest ratio per distance is among some pairs but divergences need all of them.

    ``groups`` holds, for each squared distance k, the pairs of truths ``unit sqrt(k)`` apart.
    """

    nearest: Compared
    table: Table
    space: Space

    def ratio_bounds(self) -> Bounds | None:
        return self.nearest.ratio_bounds()

    def epsilon_bounds(self) -> Bounds | None:
        return self.nearest.epsilon_bounds()

    def ratio_witness(self) -> Witness:
        return self.nearest.ratio_witness()

    def holds(self, epsilon: Fraction) -> bool:
        return self.nearest.holds(epsilon)

    @cached_property
    def _groups(self) -> list[tuple[int, Rows]]:
        return distance_groups(self.table, self.space)

    def delta_bounds(self, epsilon: Fraction, bits: int = 128) -> tuple[Bounds, Witness | None]:
        return grouped_delta(self._groups, self.space.unit, epsilon, bits)

    def single_event_bounds(self, epsilon: Fraction) -> Bounds:
        return grouped_event(self._groups, self.space.unit, epsilon)


def distance_groups(table: Table, space: Space) -> list[tuple[int, Rows]]:
    """All pairs of truths, grouped by their squared distance."""
    rows, columns = table.shape
    _refuse_many_pairs(rows, columns)
    first, second = np.triu_indices(rows, 1)
    squared = space.squared_distance(first, second)
    order = np.argsort(squared, kind="stable")
    values, starts = np.unique(squared[order], return_index=True)
    view = views.whole(table)
    return [
        (int(k), Rows(view, first[chunk], second[chunk], space.noun))
        for k, chunk in zip(values, np.split(order, starts[1:]), strict=True)
    ]


def _exponent_bounds(epsilon: Fraction, unit: Fraction, squared: int) -> Bounds:
    """Bounds of epsilon * unit * sqrt(squared)."""
    scale = 1 << 200
    low = math.isqrt(squared * scale * scale)
    high = low if low * low == squared * scale * scale else low + 1
    return epsilon * unit * Fraction(low, scale), epsilon * unit * Fraction(high, scale)


def grouped_delta(
    groups: list[tuple[int, Rows]], unit: Fraction, epsilon: Fraction, bits: int
) -> tuple[Bounds, Witness | None]:
    """The largest divergence when truths at distance d are compared at epsilon * d."""
    worst: tuple[Bounds, Witness | None] = (_NOTHING, None)
    for squared, rows in groups:
        low, high = _exponent_bounds(epsilon, unit, squared)
        bounds, witness = delta_bounds([rows], low, bits)
        if high != low:
            bounds = (delta_bounds([rows], high, bits)[0][0], bounds[1])
        if bounds[1] > worst[0][1]:
            worst = bounds, witness
    return worst


def grouped_event(groups: list[tuple[int, Rows]], unit: Fraction, epsilon: Fraction) -> Bounds:
    """The largest single-report excess when truths at distance d are compared at epsilon * d."""
    low_best, high_best = _NOTHING
    for squared, rows in groups:
        low, high = _exponent_bounds(epsilon, unit, squared)
        low_best = max(low_best, rows.worst_event(exp_bounds(high)[1])[0])
        high_best = max(high_best, rows.worst_event(exp_bounds(low)[0])[0])
    return low_best, high_best


def _refuse_many_pairs(rows: int, columns: int) -> None:
    if rows * (rows - 1) // 2 * columns > MOST_PLACES:
        raise Unsupported(
            f"comparing all pairs of {rows} truths over {columns} reports is too much work. Ask for the central "
            "notion, or for epsilon only."
        )


# ------------------------------------------------------------------------------------------------ kinds of kernels


def of_table(table: Table, space: Space, notion: str, exact: bool) -> Evidence:
    """A table as it stands."""
    view = views.whole(table)
    rows, columns = table.shape
    neighbours = space.neighbours()
    if isinstance(space, Labels):
        notion = "local"  # labels are all at distance one
    if notion == "local":
        extremes = Rows(view, *column_extremes(table), noun=space.noun)
        if rows * (rows - 1) // 2 * columns <= MOST_PLACES:
            everything: tuple[Rows, ...] = (Rows(view, *np.triu_indices(rows, 1), noun=space.noun),)
        else:
            everything = ()
        return Compared((extremes,), exact, divergence=everything)
    if neighbours is None:
        raise Unsupported(f"the {notion} notion needs a space with neighbours; {space.name} has none.")
    adjacent = Compared((Rows(view, *neighbours, noun=space.noun),), exact)
    if notion == "central":
        return adjacent
    # On a line every pair is joined by steps of one, so the largest log ratio per unit is that of a step.
    return Distances(adjacent, table, space)


def of_response(kernel: Response, space: Space, notion: str, exact: bool) -> Evidence:
    """Any two truths look alike, so one pair tells everything; for the metric notion, the nearest pair."""
    view = views.of_response(kernel)
    rows = Rows(view, np.array([0]), np.array([1]), space.noun)
    nearest = space.unit if notion == "metric" else Fraction(1)
    return Compared((rows,), exact, distance=nearest)


def of_noise(kernel: Noise, space: Space, notion: str, exact: bool) -> Evidence:
    """Noise: by views near the landmarks; between any two truths, by the table or by the shape of the law."""
    if notion == "local":
        return _noise_between_any(kernel, space, exact)
    parts = []
    for view in views.of_noise(kernel):
        lower = np.arange(len(view.truths) - 1)
        parts.append(Rows(view, lower, lower + 1, space.noun))
    adjacent = Compared(tuple(parts), exact)
    if notion == "metric" and space.size is not None and space.size <= MOST_TRUTHS and kernel.clamp == kernel.truths:
        return Distances(adjacent, kernel.table(), space)
    if notion == "metric":
        return Compared(tuple(parts), exact, divergence=())
    return adjacent


def _noise_between_any(kernel: Noise, space: Space, exact: bool) -> Evidence:
    low, high = kernel.truths
    if low is None or high is None:
        return Unbounded()
    if high - low < MOST_TRUTHS:
        view = views.of_noise_range(kernel, low, high)
        assert view is not None
        every = np.triu_indices(len(view.truths), 1)
        extremes = Rows(view, *column_extremes(view.table), noun=space.noun)
        return Compared((extremes,), exact, divergence=(Rows(view, *every, noun=space.noun),))
    if isinstance(kernel.law, Finite) or kernel.own:
        return Unbounded(_unreachable(kernel, low, high))
    assert isinstance(kernel.law, GeometricTails)
    return FarEnds(kernel.law, low, high, kernel.clamp)


def _unreachable(kernel: Noise, low: int, high: int) -> Witness:
    """Bounded noise: the report nearest the one end cannot come from the other."""
    report = low + (kernel.law_at(low).support[1] or 0)
    p = kernel.probability(low, report)
    return Witness(low, high, (report,), p, kernel.probability(high, report))


@dataclass(frozen=True)
class Unbounded:
    """No finite epsilon: some report of one truth is impossible for another, or truths may be arbitrarily far apart."""

    witness: Witness | None = None

    def ratio_bounds(self) -> None:
        return None

    def epsilon_bounds(self) -> None:
        return None

    def ratio_witness(self) -> Witness:
        if self.witness is None:
            return Witness(0, "arbitrarily many", (0,), Fraction(1), Fraction(0))
        return self.witness

    def holds(self, epsilon: Fraction) -> bool:
        return False

    def delta_bounds(self, epsilon: Fraction, bits: int = 128) -> tuple[Bounds, Witness | None]:
        return (Fraction(1), Fraction(1)), self.witness

    def single_event_bounds(self, epsilon: Fraction) -> Bounds:
        return (Fraction(0), Fraction(1))


@dataclass(frozen=True)
class FarEnds:
    """Geometric noise on a wide range, between any two truths.

    The law falls with distance, so a report is likeliest from the nearest truth and least likely from the furthest one:
    the largest ratio is between the two ends of the range, at a report at or beyond one of them (a whole clamped
    tail), or at an interior report. Powers with a million factors are not multiplied out: logarithms are.
    """

    law: GeometricTails
    low: int
    high: int
    clamp: tuple[int | None, int | None]

    def epsilon_bounds(self) -> Bounds:
        span = self.high - self.low
        step_low, step_high = log_bounds(1 / self.law.ratio, 192)
        law = self.law
        # (probability of the nearest, its factor before the power for the furthest, the power)
        candidates = []
        if self.clamp == (self.low, self.high):
            candidates.append(((1 + law.atom) / 2 / law.side, span - 1))  # P(0 | 0) / P(0 | n), both clamped tails
            if span > 1 and law.atom:
                candidates.append((law.atom / (law.side * (1 - law.ratio)), span - 2))
        else:
            candidates.append((Fraction(1), span))  # beyond the ends: both in the tail
            if law.atom:
                candidates.append((law.atom / (law.side * (1 - law.ratio)), span - 1))
        bounds = []
        for factor, power in candidates:
            low, high = log_bounds(factor, 192)
            bounds.append((low + power * step_low, high + power * step_high))
        return max(b[0] for b in bounds), max(b[1] for b in bounds)

    def ratio_bounds(self) -> Bounds:
        raise Unsupported(
            "the exact ratio between the two ends of so wide a range has too many digits; use epsilon, its logarithm."
        )

    def ratio_witness(self) -> Witness:
        # The smaller probability is rounded up to 2^-20000 rather than written out.
        bits = min(20_000, 64 + int(float(self.epsilon_bounds()[1]) * 1.5))
        far = Fraction(max(self.law.tail(self.high - self.low, bits)[1], 1), 1 << bits)
        return Witness(self.low, self.high, (self.low,), (1 + self.law.atom) / 2, far, at_most=self.clamp[0] is None)

    def holds(self, epsilon: Fraction) -> bool:
        return self.epsilon_bounds()[1] <= epsilon

    def delta_bounds(self, epsilon: Fraction, bits: int = 128) -> tuple[Bounds, Witness | None]:
        raise Unsupported("delta between any two truths of so wide a range is not offered; ask for the central notion.")

    def single_event_bounds(self, epsilon: Fraction) -> Bounds:
        raise Unsupported("delta between any two truths of so wide a range is not offered; ask for the central notion.")


def of_map(kernel: Kernel, grid: Grid) -> Evidence:
    """Metric privacy on a map: every pair of cells, per unit of distance."""
    from .maps import MapEvidence

    return MapEvidence(kernel, grid)
