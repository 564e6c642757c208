"""Dominating pairs: two distributions at least as easy to tell apart as any two truths of a mechanism.

The *curve* of a mechanism is ``H(E) = max over compared pairs of truths, in both directions, of sum_y (p_y - E q_y)+``,
the least delta at epsilon = log E. It is convex and falls, and it determines two distributions (P, Q) with exactly this
curve, the dominating pair: minus its slope to the right of E is ``Q(P/Q > E)``. Since every release may compare another
pair of truths in another direction, it is this pair that is composed with itself: whatever sequence of pairs the
releases compare, also when it depends on earlier reports, the product of the dominating pairs has a larger delta at
every epsilon. (Zhu, Dong, Wang 2022. Composing each pair of truths with itself and taking the worst
at the end understates delta several times: ``tests/privacy/test_composed_deltas.py`` has such a mechanism.)

Both directions make the curve symmetric, ``H(E) = 1 - E + E H(1/E)``, so E >= 1 tells everything: an atom of P with
privacy loss log P/Q = x has a twin with loss -x whose mass is e^-x times as large.

Upper bounds of H at a few points are enough: the lower convex hull of the points is nowhere below H, because H is
convex. (This is the "connect the dots" of Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022.)
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, pairwise
from typing import NamedTuple

import numpy as np

from ..errors import Unsupported
from ..exact.arrays import FloatArray
from ..exact.laws import Gaussian
from ..exact.rationals import exp_bounds, float_up, log_bounds
from ..exact.tables import Table
from .gaussian import GaussianEvidence
from .pairs import Evidence, FarEnds, PairEvidence

#: Bits of the denominators of ratios E, and of divergences, which are stored as integers.
_RATIO_BITS, _VALUE_BITS = 160, 256
_ONE = 1 << _VALUE_BITS

#: Difference of divergences that is ignored: far below the resolution of any sum of them.
_NEGLIGIBLE = _ONE >> 110

#: Maximum work for one curve: pairs of truths times reports, over all its points. Fewer points make a coarser hull.
MAX_COMPARISONS = 10_000_000

#: Maximum number of corners on the curve of the discrete Gaussian.
_MAX_CORNERS = 1000

#: Largest finite loss; a larger one counts as infinite.
_LARGEST_LOSS = 600


class Curve(NamedTuple):
    """Upper bounds of H at increasing epsilons, the first of them 0; beyond the last, H is at most its value there.

    ``gap`` is the longest stretch between two points where H is not known to be a straight line: 0 for a curve that is
    exact everywhere.
    """

    points: tuple[tuple[Fraction, Fraction], ...]
    gap: float = 0.0


@dataclass(frozen=True, eq=False)
class Pair:
    """A dominating pair, as the distribution of its privacy loss under P. Masses and losses are rounded up.

    Attributes
    ----------
    losses
        The positive losses.
    masses, mirrored
        The masses of these losses, and of the opposite ones.
    centre
        The mass of loss 0.
    infinite
        The mass of an infinite loss: reports that Q never gives.
    gap
        See :class:`Curve`.
    """

    losses: FloatArray
    masses: FloatArray
    mirrored: FloatArray
    centre: float
    infinite: float
    gap: float = 0.0


# ------------------------------------------------------------------------------------------------ the curve


def curve_points(evidence: Evidence, evaluations: int = 400) -> Curve:
    """Return upper bounds of the curve of a mechanism, exact at its corners if there are not too many of them.

    Any event S with probabilities A and B is a line A - E B below the curve, and the worst event at some E touches it
    there. Two such lines cross where a corner may be; if the curve passes through the crossing, it is one and nothing
    lies between. Otherwise the curve is looked at on both sides, where most can be gained first.

    Parameters
    ----------
    evidence
        The evidence of a verdict, for the central or the local notion.
    evaluations
        Maximum number of points at which the curve is evaluated.

    Examples
    --------
    >>> import discreet as dc
    >>> curve = curve_points(dc.verify([["3/4", "1/4"], ["1/4", "3/4"]]).evidence)
    >>> [(round(float(epsilon), 6), float(delta)) for epsilon, delta in curve.points]
    [(0.0, 0.5), (1.098612, 0.0)]
    """
    if isinstance(evidence, GaussianEvidence):
        return _gaussian_points(evidence)
    bounds = evidence.epsilon_bounds()
    if bounds is not None and bounds[1] <= _LARGEST_LOSS:
        evaluations = min(evaluations, MAX_COMPARISONS // _comparisons(evidence))
        try:
            return _Tracer(evidence, bounds[1]).trace(evaluations)
        except Unsupported:  # too many pairs: use the pure guarantee
            return guarantee_points(bounds[1])
    return _Tracer(evidence, None).trace(min(evaluations, max(16, MAX_COMPARISONS // _comparisons(evidence))))


def guarantee_points(epsilon: Fraction, delta: Fraction = Fraction(0)) -> Curve:
    """Return the largest curve that a guarantee allows: that of randomized response, with probability delta no secret.

    ``H(E) = delta + (1 - delta) (e^eps - E)+ / (e^eps + 1)``. (Kairouz, Oh, Viswanath 2015; Murtagh, Vadhan 2016.)
    """
    ratio = exp_bounds(epsilon)[1]
    top = delta + (1 - delta) * (ratio - 1) / (ratio + 1)
    return Curve(((Fraction(0), top), (epsilon, delta))) if epsilon else Curve(((Fraction(0), top),))


def _comparisons(evidence: Evidence) -> int:
    """Return the work of one look at the curve: pairs of truths times reports, more if weights are long."""
    if isinstance(evidence, PairEvidence):
        parts = evidence.parts if evidence.divergence is None else evidence.divergence
        return max(1, sum(rows._first.size * rows.view.table.shape[1] * _digits(rows.view.table) for rows in parts))
    if isinstance(evidence, FarEnds):
        low, high = evidence.kernel.truths
        return max(1, ((high or 0) - (low or 0)) ** 3 // 2)
    return 1


def _digits(table: Table) -> int:
    """Return the relative cost of long weights: one for each 512 bits."""
    return 1 + max(table.palette).bit_length() // 512


class _Look(NamedTuple):
    """The curve at one epsilon: e^epsilon, an upper bound, and the line of the worst event, scaled to integers."""

    epsilon: Fraction
    ratio: int
    value: int
    line: tuple[int, int] | None


class _Tracer:
    """The search for the corners of a curve. ``end`` is an epsilon that holds with delta = 0, or None."""

    def __init__(self, evidence: Evidence, end: Fraction | None) -> None:
        self._evidence, self._end = evidence, end
        self.looks = 0

    def trace(self, evaluations: int) -> Curve:
        if evaluations < 1:
            assert self._end is not None
            return guarantee_points(self._end)
        first = self._look(Fraction(0))
        if self._end == 0 or not first.value:
            return Curve(((Fraction(0), Fraction(first.value, _ONE)),))
        looks = [first, *self._far()]
        order = count()
        heap = [(-gap, next(order), a, b, c) for a, b in pairwise(looks) for gap, c in self._between(a, b)]
        heapq.heapify(heap)
        while heap and self.looks < evaluations:
            _, _, a, b, crossing = heapq.heappop(heap)
            middle = self._look(crossing)
            looks.append(middle)
            for left, right in ((a, middle), (middle, b)):
                for gap, c in self._between(left, right):
                    heapq.heappush(heap, (-gap, next(order), left, right, c))
        unknown = max((float(b.epsilon - a.epsilon) for _, _, a, b, _ in heap), default=0.0)
        looks.sort(key=lambda look: look.epsilon)
        return Curve(tuple((look.epsilon, Fraction(look.value, _ONE)) for look in looks), unknown)

    def _look(self, epsilon: Fraction) -> _Look:
        self.looks += 1
        (_, high), witness = self._evidence.delta_bounds(epsilon)
        value = min(_up(high, _VALUE_BITS), _ONE)
        line: tuple[int, int] | None
        if witness is not None:
            line = _up(witness.probability, _VALUE_BITS), _up(witness.other_probability, _VALUE_BITS)
        else:
            line = None if value else (0, 0)
        return _Look(epsilon, _up(exp_bounds(epsilon, _RATIO_BITS)[1], _RATIO_BITS), value, line)

    def _far(self) -> list[_Look]:
        """Return the end of the curve: the epsilon that holds, or where only reports that Q never gives are left."""
        if self._end is not None:
            return [_Look(self._end, _up(exp_bounds(self._end, _RATIO_BITS)[1], _RATIO_BITS), 0, (0, 0))]
        looks = []
        epsilon = 1
        while epsilon < _LARGEST_LOSS:
            looks.append(self._look(Fraction(epsilon)))
            last = looks[-1]
            if last.value <= _NEGLIGIBLE or (last.line is not None and last.line[1] == 0):
                break
            epsilon *= 2
        return looks

    def _between(self, a: _Look, b: _Look) -> list[tuple[float, Fraction]]:
        """Return the next epsilon between two looks, with the gain to expect; empty if the curve is straight."""
        if a.value - b.value <= _NEGLIGIBLE:
            return []
        if a.line is None or b.line is None:
            return [((a.value - b.value) / _ONE, (a.epsilon + b.epsilon) / 2)]
        (mass, other), (next_mass, next_other) = a.line, b.line
        if other <= next_other:
            return []
        crossing = Fraction(mass - next_mass, other - next_other)
        left, right = Fraction(a.ratio, 1 << _RATIO_BITS), Fraction(b.ratio, 1 << _RATIO_BITS)
        if not left < crossing < right:
            return []
        chord = a.value - (a.value - b.value) * (crossing - left) / (right - left)
        gain = chord - (mass - crossing * other)
        return [(float(gain / _ONE), log_bounds(crossing)[1])] if gain > _NEGLIGIBLE else []


def _up(x: Fraction, bits: int) -> int:
    return -((-x.numerator << bits) // x.denominator)


def _gaussian_points(evidence: GaussianEvidence) -> Curve:
    """Return the curve of the discrete Gaussian: the worst half-line moves by one at epsilon = (2m-1)/(2 sigma2).

    On a range that is clamped the half-lines end, and the curve is zero at the epsilon that holds there.
    """
    law: Gaussian = evidence._law
    bits = 224
    # P(Z >= m) is below e^(-m^2 / 2 sigma2), which at the last corner is below 2^-115
    last = math.isqrt(math.ceil(160 * law.sigma2)) + 2
    end = evidence.epsilon_bounds()
    if end is not None and evidence._reach is not None:
        last = min(last, evidence._reach - 1)
    stride = max(1, -(-last // _MAX_CORNERS))
    points = [(Fraction(0), _half_line(law, 0, Fraction(0), bits))]
    corners = list(range(1, last, stride))
    for m in [*corners, last] if last else []:
        epsilon = Fraction(2 * m - 1, 2) / law.sigma2
        points.append((epsilon, _half_line(law, m, epsilon, bits)))
    if end is not None and end[1] > points[-1][0] and last == evidence._reach - 1:  # type: ignore[operator]
        points.append((end[1], Fraction(0)))
    return Curve(tuple(points), float(stride / law.sigma2) if stride > 1 else 0.0)


def _half_line(law: Gaussian, m: int, epsilon: Fraction, bits: int) -> Fraction:
    """Return an upper bound of P(Z >= m) - e^eps P(Z >= m+1)."""
    value = law.tail(m, bits)[1] - exp_bounds(epsilon)[0] * law.tail(m + 1, bits)[0]
    return max(value, Fraction(0)) / (1 << bits)


# ------------------------------------------------------------------------------------------------ the pair


def pair_of_curve(curve: Curve) -> Pair:
    """Return the pair whose curve is the lower convex hull of these points.

    Between corners E_j and E_(j+1) the hull has slope s_j; then Q has mass s_j - s_(j-1) at the ratio E_j and P has E_j
    times as much. The rest of P has loss 0: 1 - H(1) + 2 s_0. The value at the end of the hull is an infinite loss.
    """
    ratios, values, losses = _hull(curve.points)
    slopes = [Fraction(v1 - v0, r1 - r0) for (r0, r1), (v0, v1) in zip(pairwise(ratios), pairwise(values), strict=True)]
    unit = Fraction(1 << _RATIO_BITS, _ONE)
    mirrored = [(after - before) * unit for before, after in pairwise([*slopes, Fraction(0)])]
    masses = [q * Fraction(r, 1 << _RATIO_BITS) for q, r in zip(mirrored, ratios[1:], strict=True)]
    centre = Fraction(_ONE - values[0], _ONE) + (2 * slopes[0] * unit if slopes else 0)
    return _rounded(losses[1:], masses, mirrored, max(centre, Fraction(0)), Fraction(values[-1], _ONE), curve.gap)


def pair_of_guarantee(epsilon: Fraction, delta: Fraction) -> Pair:
    """Return the pair of :func:`guarantee_points`: loss +-epsilon, and with probability delta an infinite one."""
    if epsilon > _LARGEST_LOSS:
        return _rounded([], [], [], Fraction(0), Fraction(1))
    ratio = exp_bounds(epsilon)[1]
    mirrored = (1 - delta) / (1 + exp_bounds(epsilon)[0])
    return _rounded([epsilon], [(1 - delta) * ratio / (1 + ratio)], [mirrored], Fraction(0), delta)


def _hull(points: Sequence[tuple[Fraction, Fraction]]) -> tuple[list[int], list[int], list[Fraction]]:
    """Return the lower convex hull of the points (e^epsilon, delta), in integers, and the epsilons of its corners."""
    ratios: list[int] = []
    values: list[int] = []
    losses: list[Fraction] = []
    for epsilon, delta in points:
        ratio, value = _up(exp_bounds(epsilon, _RATIO_BITS)[1], _RATIO_BITS), min(_up(delta, _VALUE_BITS), _ONE)
        if values and value >= values[-1]:  # the curve falls: the value before holds here too
            continue
        while len(values) > 1 and (values[-1] - values[-2]) * (ratio - ratios[-1]) >= (value - values[-1]) * (
            ratios[-1] - ratios[-2]
        ):
            for column in (ratios, values, losses):
                column.pop()
        ratios.append(ratio)
        values.append(value)
        losses.append(epsilon)
    return ratios, values, losses


def _rounded(
    losses: Sequence[Fraction],
    masses: Sequence[Fraction],
    mirrored: Sequence[Fraction],
    centre: Fraction,
    infinite: Fraction,
    gap: float = 0.0,
) -> Pair:
    """Return a pair in doubles, rounded up. A loss that grows by s takes s times its twin's mass to the centre.

    "Up" in :mod:`.loss_sums` says why.
    """
    x = np.array([math.nextafter(float_up(loss), math.inf) for loss in losses], float)
    q = np.array([float_up(mass) for mass in mirrored], float)
    shift = float(np.sum(q * x)) * 2.0**-50
    middle = (float_up(centre) + shift) * (1 + 2.0**-50) if centre or shift else 0.0
    return Pair(x, np.array([float_up(mass) for mass in masses], float), q, middle, float_up(infinite), gap)
