"""The pairs of truths that a notion compares, for each kind of kernel, and the evidence from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from ..errors import Unsupported, arg
from ..exact.kernels import Noise, Response
from ..exact.laws import GeometricTails
from ..exact.projective import Projective
from ..exact.rationals import at_most_exp, exp_bounds, log_bounds
from ..exact.tables import Table
from ..spaces import Labels, Space
from . import views
from .evidence import Bounds, RowPairs, column_extremes, delta_bounds
from .witness import Witness

#: Maximum work of divergences over all pairs: pairs times reports.
MAX_COMPARISONS = 2_000_000_000

#: Maximum number of truths in a table of clamped noise for the local notion.
MAX_TRUTHS = 1200

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
class PairEvidence:
    """Pairs of rows that the notion compares at the same epsilon (central and local).

    ``exact=False`` takes the float screen with its error bound instead of deciding in integers.
    """

    parts: tuple[RowPairs, ...]
    exact: bool = True
    #: For the metric notion at one distance: the epsilon of the notion is that of the pairs divided by it.
    distance: Fraction = Fraction(1)
    #: The parts whose divergence decides, if the pairs with the largest ratio are not enough.
    divergence: tuple[RowPairs, ...] | None = None

    @cached_property
    def _worst(self) -> Witness:
        return max((rows.largest_ratio for rows in self.parts), key=lambda w: w.ratio)

    def ratio_witness(self) -> Witness:
        return self._worst

    def ratio_bounds(self) -> Bounds | None:
        if not self.exact:
            screened = self._screened
            return None if screened is None else (exp_bounds(screened[0])[0], exp_bounds(screened[1])[1])
        ratio = self._worst.ratio
        return (ratio, ratio) if isinstance(ratio, Fraction) else None

    @cached_property
    def _screened(self) -> Bounds | None:
        """Bounds of the largest log ratio from floats alone."""
        screens = [rows.log_ratio_screen for rows in self.parts]
        if any(math.isinf(best) for best, _ in screens):
            return None
        low = max(Fraction(best) - Fraction(error) for best, error in screens)
        return max(low, Fraction(0)), max(Fraction(best) + Fraction(error) for best, error in screens)

    def epsilon_bounds(self) -> Bounds | None:
        if self.exact:
            ratio = self._worst.ratio
            bounds = log_bounds(ratio) if isinstance(ratio, Fraction) else None
        else:
            bounds = self._screened
        return None if bounds is None else (bounds[0] / self.distance, bounds[1] / self.distance)

    def holds(self, epsilon: Fraction) -> bool:
        if self.exact:
            ratio = self._worst.ratio
            return isinstance(ratio, Fraction) and at_most_exp(ratio, epsilon * self.distance)
        bounds = self.epsilon_bounds()
        return bounds is not None and bounds[1] <= epsilon

    @property
    def _diverging(self) -> list[RowPairs]:
        parts = list(self.parts if self.divergence is None else self.divergence)
        if not parts:
            raise Unsupported(
                "delta between any two truths needs every pair, and there are too many here.",
                f"Ask for {arg('notion', 'central')}, or for a smaller range.",
            )
        return parts

    def delta_bounds(self, epsilon: Fraction, bits: int = 128) -> tuple[Bounds, Witness | None]:
        if self.exact:
            return delta_bounds(self._diverging, epsilon * self.distance, bits)
        low, _ = exp_bounds(epsilon * self.distance, bits)
        screens = [rows.divergence_screen(low) for rows in self._diverging]
        least = max(Fraction(best) - Fraction(error) for best, error in screens)
        most = max(Fraction(best) + Fraction(error) for best, error in screens)
        return (max(least, Fraction(0)), min(most, Fraction(1))), None

    def single_event_bounds(self, epsilon: Fraction) -> Bounds:
        low, high = exp_bounds(epsilon * self.distance)
        parts = self._diverging
        return max(rows.worst_event(high) for rows in parts), max(rows.worst_event(low) for rows in parts)


@dataclass(frozen=True)
class Distances:
    """The metric notion on a line: the largest ratio per distance is that of one step; divergences need all pairs."""

    nearest: PairEvidence
    kernel: Table | Noise
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
    def _groups(self) -> list[tuple[int, RowPairs]]:
        if isinstance(self.kernel, Noise) and self.kernel.clamp != self.kernel.truths:  # reports without end
            low, high = self.kernel.truths
            assert low is not None and high is not None
            return distance_groups(views.of_noise_range(self.kernel, low, high), self.space)
        return distance_groups(views.whole(self.kernel.table()), self.space)

    def delta_bounds(self, epsilon: Fraction, bits: int = 128) -> tuple[Bounds, Witness | None]:
        return grouped_delta(self._groups, self.space.unit, epsilon, bits)

    def single_event_bounds(self, epsilon: Fraction) -> Bounds:
        return grouped_event(self._groups, self.space.unit, epsilon)


def distance_groups(view: views.View, space: Space) -> list[tuple[int, RowPairs]]:
    """Return all pairs of truths, grouped by their squared distance."""
    rows, columns = view.table.shape
    refuse_many_pairs(rows, columns)
    first, second = np.triu_indices(rows, 1)
    squared = space.squared_distance(first, second)
    order = np.argsort(squared, kind="stable")
    values, starts = np.unique(squared[order], return_index=True)
    return [
        (int(k), RowPairs(view, first[chunk], second[chunk], space.noun))
        for k, chunk in zip(values, np.split(order, starts[1:]), strict=True)
    ]


def exponent_bounds(epsilon: Fraction, unit: Fraction, squared: int, bits: int = 128) -> Bounds:
    """Return bounds of epsilon * unit * sqrt(squared)."""
    scale = 1 << (bits + 64)
    low = math.isqrt(squared * scale * scale)
    high = low if low * low == squared * scale * scale else low + 1
    return epsilon * unit * Fraction(low, scale), epsilon * unit * Fraction(high, scale)


def grouped_delta(
    groups: list[tuple[int, RowPairs]], unit: Fraction, epsilon: Fraction, bits: int
) -> tuple[Bounds, Witness | None]:
    """Return the largest divergence when truths at distance d are compared at epsilon * d."""
    worst: tuple[Bounds, Witness | None] = (_NOTHING, None)
    for squared, rows in groups:
        low, high = exponent_bounds(epsilon, unit, squared, bits)
        bounds, witness = delta_bounds([rows], low, bits)
        if high != low:
            bounds = (delta_bounds([rows], high, bits)[0][0], bounds[1])
        if bounds[1] > worst[0][1]:
            worst = bounds, witness
    return worst


def grouped_event(groups: list[tuple[int, RowPairs]], unit: Fraction, epsilon: Fraction) -> Bounds:
    """Return the largest single-report excess when truths at distance d are compared at epsilon * d."""
    low_best, high_best = _NOTHING
    for squared, rows in groups:
        low, high = exponent_bounds(epsilon, unit, squared)
        low_best = max(low_best, rows.worst_event(exp_bounds(high)[1]))
        high_best = max(high_best, rows.worst_event(exp_bounds(low)[0]))
    return low_best, high_best


def refuse_many_pairs(rows: int, columns: int) -> None:
    if rows * (rows - 1) // 2 * columns > MAX_COMPARISONS:
        raise Unsupported(
            f"comparing all pairs of {rows} truths over {columns} reports is too much work.",
            "Ask for the central notion, or for epsilon only.",
        )


# ------------------------------------------------------------------------------------------------ kinds of kernels


def of_table(table: Table, space: Space, notion: str, exact: bool) -> Evidence:
    """Return the evidence of a table."""
    view = views.whole(table)
    if isinstance(space, Labels):
        notion = "local"  # labels are all at distance one
    if notion == "local":
        rows, columns = table.shape
        extremes = RowPairs(view, *column_extremes(table), noun=space.noun)
        if rows * (rows - 1) // 2 * columns <= MAX_COMPARISONS:
            everything: tuple[RowPairs, ...] = (RowPairs(view, *np.triu_indices(rows, 1), noun=space.noun),)
        else:
            everything = ()
        return PairEvidence((extremes,), exact, divergence=everything)
    neighbours = space.neighbours()
    if neighbours is None:
        raise Unsupported(
            f"the {notion} notion needs a space with neighbours; {space.name} has none.",
            argument="notion",
            given=notion,
        )
    adjacent = PairEvidence((RowPairs(view, *neighbours, noun=space.noun),), exact)
    if notion == "central":
        return adjacent
    # On a line every pair is joined by steps of one, so the largest log ratio per unit is that of a step.
    return Distances(adjacent, table, space)


def of_response(kernel: Response | Projective, space: Space, notion: str, exact: bool) -> Evidence:
    """Return the evidence of one pair of truths: all pairs are alike. For the metric notion it is the nearest one."""
    view = views.of_response(kernel) if isinstance(kernel, Response) else views.of_projective(kernel)
    rows = RowPairs(view, np.array([0]), np.array([1]), space.noun)
    nearest = space.unit if notion == "metric" else Fraction(1)
    return PairEvidence((rows,), exact, distance=nearest)


def of_noise(kernel: Noise, space: Space, notion: str, exact: bool) -> Evidence:
    """Return the evidence of noise: views near the landmarks; for the local notion the table or the law's shape."""
    if notion == "local":
        return _noise_between_any(kernel, space, exact)
    parts = []
    for view in views.of_noise(kernel):
        lower = np.arange(len(view.truths) - 1)
        parts.append(RowPairs(view, lower, lower + 1, space.noun))
    adjacent = PairEvidence(tuple(parts), exact)
    if notion == "metric" and space.size is not None and space.size <= MAX_TRUTHS:
        return Distances(adjacent, kernel, space)
    if notion == "metric":
        return PairEvidence(tuple(parts), exact, divergence=())
    return adjacent


def _noise_between_any(kernel: Noise, space: Space, exact: bool) -> Evidence:
    low, high = kernel.truths
    if low is None or high is None:
        return Unlimited(kernel)
    if isinstance(kernel.law, GeometricTails) and not kernel.first_laws and _at_the_ends(kernel):
        return FarEnds(kernel, space)
    if high - low < MAX_TRUTHS:
        return _full_table(kernel, space, exact)
    return _out_of_reach(kernel, low, high)


def _at_the_ends(kernel: Noise) -> bool:
    """Return whether reports are clamped, if at all, to the ends of the range of truths."""
    return all(end is None or end == truth for end, truth in zip(kernel.clamp, kernel.truths, strict=True))


def _full_table(kernel: Noise, space: Space, exact: bool = True) -> PairEvidence:
    """Return the evidence of every pair of truths, for a range that is not too wide."""
    low, high = kernel.truths
    assert low is not None and high is not None
    view = views.of_noise_range(kernel, low, high)
    extremes = RowPairs(view, *column_extremes(view.table), noun=space.noun)
    every = RowPairs(view, *np.triu_indices(len(view.truths), 1), noun=space.noun)
    return PairEvidence((extremes,), exact, divergence=(every,))


def _out_of_reach(kernel: Noise, low: int, high: int) -> ImpossibleReport:
    """Return the evidence of bounded noise on a wide range: some report of one end is impossible at the other."""
    for near, far in ((low, high), (high, low)):
        for end in (*kernel.law_at(near).support, 0):
            report = near + (end or 0)
            report = report if kernel.clamp[0] is None else max(report, kernel.clamp[0])
            report = report if kernel.clamp[1] is None else min(report, kernel.clamp[1])
            p, q = kernel.probability(near, report), kernel.probability(far, report)
            if p and not q:
                return ImpossibleReport(Witness(near, far, (report,), p, q))
    raise Unsupported(
        f"comparing all pairs of {high - low + 1} truths is too much work for this noise.",
        f"Ask for {arg('notion', 'central')}, or for a smaller range.",
    )


@dataclass(frozen=True)
class ImpossibleReport:
    """The evidence of an infinite epsilon: a report of one truth that is impossible for another."""

    witness: Witness

    def ratio_bounds(self) -> None:
        return None

    def epsilon_bounds(self) -> None:
        return None

    def ratio_witness(self) -> Witness:
        return self.witness

    def holds(self, epsilon: Fraction) -> bool:
        return False

    def delta_bounds(self, epsilon: Fraction, bits: int = 128) -> tuple[Bounds, Witness | None]:
        raise _too_wide()

    def single_event_bounds(self, epsilon: Fraction) -> Bounds:
        raise _too_wide()


@dataclass(frozen=True)
class Unlimited:
    """Noise on an infinite range, between any two truths: far apart, they are distinguished almost certainly."""

    kernel: Noise

    def ratio_bounds(self) -> None:
        return None

    def epsilon_bounds(self) -> None:
        return None

    def ratio_witness(self) -> Witness:
        """Return two truths a hundred apart as an example: the ratio grows without bound with the distance."""
        low, high = self.kernel.truths
        near = low if low is not None else high - 100 if high is not None else 0
        report = near + 1  # not a clamped end
        p, q = (self.kernel.probability(truth, report) for truth in (near, near + 100))
        return Witness(near, near + 100, (report,), p, q)

    def holds(self, epsilon: Fraction) -> bool:
        return False

    def delta_bounds(self, epsilon: Fraction, bits: int = 128) -> tuple[Bounds, Witness | None]:
        return (Fraction(1), Fraction(1)), None

    def single_event_bounds(self, epsilon: Fraction) -> Bounds:
        raise Unsupported("the range has no end.", "Choose one with m.on(Counts(n)), or ask for the central notion.")


@dataclass(frozen=True)
class FarEnds:
    """Geometric noise on a range, between any two truths, in closed form.

    With f = side (1 - ratio), the probability of the noise 1, a report is given with probability atom by its own truth
    and f ratio^(k-1) by a truth k away; at a clamped end with (1 + atom)/2 and side ratio^(k-1). The largest ratio of
    each kind of report is between the nearest and the furthest truth (or the truth itself, where the atom is small).
    Powers with a million factors are compared by their logarithms.
    """

    kernel: Noise
    space: Space

    @cached_property
    def _law(self) -> GeometricTails:
        assert isinstance(self.kernel.law, GeometricTails)
        return self.kernel.law

    @cached_property
    def _ends(self) -> tuple[int, int]:
        low, high = self.kernel.truths
        assert low is not None and high is not None
        return low, high

    @cached_property
    def _candidates(self) -> list[tuple[Fraction, int]]:
        """The ratios that may be largest, as a factor and a power of 1/ratio."""
        law, span = self._law, self._ends[1] - self._ends[0]
        free = self.kernel.clamp.count(None)
        candidates = []
        if free:
            candidates.append((Fraction(1), span))  # a report beyond a free end
        if free < 2:
            candidates.append(((1 + law.atom) / 2 / law.side, span - 1))  # a clamped end
        furthest = span if free else span - 1  # for a report that is not clamped, if there is one
        if furthest:
            first = law.side * (1 - law.ratio)
            candidates += [(law.atom / first, furthest - 1), (first / law.atom, 0), (Fraction(1), furthest - 1)]
        return candidates

    @property
    def _impossible(self) -> bool:
        """True if a report is impossible only at the truth equal to it."""
        return self._law.atom == 0 and (self._ends[1] - self._ends[0] > 1 or None in self.kernel.clamp)

    def epsilon_bounds(self) -> Bounds | None:
        if self._impossible:
            return None
        step_low, step_high = log_bounds(1 / self._law.ratio, 192)
        bounds = []
        for factor, power in self._candidates:
            if factor:
                low, high = log_bounds(factor, 192)
                bounds.append((low + power * step_low, high + power * step_high))
        return max(b[0] for b in bounds), max(b[1] for b in bounds)

    def ratio_bounds(self) -> Bounds | None:
        if self._impossible:
            return None
        if self._wide:
            raise Unsupported(
                "the exact ratio between the ends of so wide a range has too many digits.",
                "Use epsilon, its logarithm.",
            )
        largest = max(factor / self._law.ratio**power for factor, power in self._candidates)
        return largest, largest

    @property
    def _wide(self) -> bool:
        return self._ends[1] - self._ends[0] >= MAX_TRUTHS

    @cached_property
    def _table(self) -> PairEvidence:
        return _full_table(self.kernel, self.space)

    def ratio_witness(self) -> Witness:
        if not self._wide:
            return self._table.ratio_witness()
        low, high = self._ends
        if self._impossible:
            report = low + 1
            return Witness(low, report, (report,), self.kernel.probability(low, report), Fraction(0))
        # The smaller probability is rounded up to a power of two rather than written out.
        far = Fraction(max(self._law.tail(high - low, 20_000)[1], 1), 1 << 20_000)
        return Witness(low, high, (low,), (1 + self._law.atom) / 2, far, at_most=self.kernel.clamp[0] is None)

    def holds(self, epsilon: Fraction) -> bool:
        bounds = self.epsilon_bounds()
        return bounds is not None and bounds[1] <= epsilon

    def delta_bounds(self, epsilon: Fraction, bits: int = 128) -> tuple[Bounds, Witness | None]:
        if self._wide:
            raise _too_wide()
        return self._table.delta_bounds(epsilon, bits)

    def single_event_bounds(self, epsilon: Fraction) -> Bounds:
        if self._wide:
            raise _too_wide()
        return self._table.single_event_bounds(epsilon)


def _too_wide() -> Unsupported:
    return Unsupported(
        "delta between any two truths of so wide a range is not offered.", f"Ask for {arg('notion', 'central')}."
    )
